/* A stage instance. Private to the worker; the public face is worker/executor.h.
 *
 * Partial results live as values in `outputs`: a compiled PERMUTE's accumulator is one whose memory the kernels write,
 * a FOLD's partial result is joined in place by the plan's combining kernel; an interpreted stage's are replaced by
 * what its merge function gives. Everything a block contributes except permutes is first kept aside and joined only
 * when the whole block has gone well.
 */
#ifndef LOOM_WORKER_RUN_H
#define LOOM_WORKER_RUN_H

#include "common/arena.h"
#include "compiler/ir/core.h"
#include "executor/engine.h"

/* Blocks [first, first + n) and their partial result. */
typedef struct loom_piece {
    int64_t first, n;
    loom_value *value;
} loom_piece;

typedef struct loom_pieces {
    loom_piece *at; /* ascending */
    size_t count, capacity;
} loom_pieces;

typedef struct loom_run_output {
    loom_output_kind kind;
    loom_merge_order order;
    bool in_place; /* kernels accumulate into its value: compiled PERMUTE */
    loom_pieces pieces;
} loom_run_output;

struct loom_run {
    loom_executor *executor;
    loom_arena *arena;
    const loom_graph *graph; /* copy: the run's stage and all slots */
    const loom_graph_stage *stage;
    const loom_program *program; /* decoded when first needed */
    const void *program_bytes;
    size_t program_length;
    loom_engine *engine;               /* NULL: interpreted */
    bool prepared;                     /* actions before chunk_begin have run */
    loom_engine *tested;               /* of the plan for rows of one length, or NULL; see tested.c */
    bool tested_prepared, tested_lost; /* lost: it could not be prepared */
    loom_run_time *times;              /* of both engines, and `interpreted`; filled when asked for */
    bool inputs_may_go;
    loom_value **inputs;    /* by stage input; of those that are carried, the present state */
    loom_value **initial;   /* by carried state: what the stage's input holds */
    int64_t carried_at;     /* the block before which the states stand; -1: not known */
    loom_value **constants; /* by stream; NULL where there are none */
    loom_run_output *outputs;
    loom_value **empties; /* by output: what a stream without blocks gives, once it was asked for; NULL */
    loom_pieces blocks;   /* maximal runs of blocks folded; no values */
    bool spoilt;
    bool half_joined; /* of the present block some outputs have a chunk that others lack: it cannot be tried again */
    loom_run_time interpreted; /* time of interpreted functions */
    uint64_t peak;             /* see loom_run_peak */
};

/* ---- outputs.c ---- */
bool loom_output_ordered(const loom_run_output *output);
/* Takes the contents of an output's buffers as a value, named as the graph's slot: RESULT memory is handed over, other
 * memory copied. */
LOOM_MUST_USE loom_status *loom_run_take_output(loom_run *run, uint32_t output, loom_value **value);
/* Accumulators of in-place outputs, made where there are none and bound to the plan's buffers. */
LOOM_MUST_USE loom_status *loom_run_bind_accumulators(loom_run *run);
/* The neutral partial result of an in-place output. */
LOOM_MUST_USE loom_status *loom_run_new_accumulator(loom_run *run, uint32_t output, loom_value **value);
uint64_t loom_value_bytes(const loom_value *value);
/* Splits a result (o1, ..., ok) into one value per output, by the leaves of their slots. Consumes `result`. */
LOOM_MUST_USE loom_status *loom_run_split(loom_run *run, loom_value *result, loom_value **outputs);
/* May the data of this value be overwritten: one owner, and memory that is this process's own. */
bool loom_value_is_ours(const loom_value *value);

/* ---- pieces.c ---- */
/* Enters the partial result of blocks [first, first + n), which it takes. Where order matters: as a piece of its own,
 * joined with those that it touches (what is collected: only when it is handed over). Elsewhere: joined to the one
 * piece there is; value NULL: the blocks are in there already. */
LOOM_MUST_USE loom_status *loom_run_add(loom_run *run, uint32_t output, int64_t first, int64_t n, loom_value *value);
LOOM_MUST_USE loom_status *loom_run_add_blocks(loom_run *run, int64_t first, int64_t n);
bool loom_run_has_blocks(const loom_run *run, int64_t first, int64_t n);
void loom_pieces_clear(loom_pieces *pieces);

/* ---- spill.c ---- */
/* What an output of kind SPILL keeps of a chunk: *batches, a list for each element, becomes these and the columns of
 * the streams. */
LOOM_MUST_USE loom_status *loom_run_spill(const loom_run *run, loom_value *const *streams, loom_value **batches);
/* Bytes of it, and of what is made of it when it is handed over. */
uint64_t loom_run_spilled_bytes(const loom_value *kept);
/* What was kept, in order of the batches: what is handed over. LOOM_E_LIMIT where both take more than `most` bytes. */
LOOM_MUST_USE loom_status *loom_run_sort_spilled(const loom_value *kept, uint64_t most, loom_value **sorted);

/* ---- merge.c ---- */
/* Joins b to a, a the earlier; consumes both. */
LOOM_MUST_USE loom_status *loom_run_join(loom_run *run, uint32_t output, loom_value *a, loom_value *b,
                                         loom_value **joined);

/* What is kept of loom_run_empty: it holds for the inputs that there were. */
void loom_run_forget_empties(loom_run *run);

/* ---- interpret.c ---- */
LOOM_MUST_USE loom_status *loom_run_program(loom_run *run); /* decodes it if it is not yet */
/* Calls function `f` with the stage's inputs and then `n` more arguments. */
LOOM_MUST_USE loom_status *loom_run_call(loom_run *run, uint32_t f, loom_value *const *more, uint32_t n,
                                         loom_value **result);
/* Evaluates the stage's function on a chunk: outputs[0..n_outputs). */
LOOM_MUST_USE loom_status *loom_run_interpret_chunk(loom_run *run, loom_value *const *streams, int64_t first,
                                                    loom_value **outputs);
LOOM_MUST_USE loom_status *loom_run_interpret_whole(loom_run *run, loom_pull pull, void *context, loom_value **outputs);

/* ---- columns.c ---- */
/* The elements of stream `s` as the interpreter wants them: all leaves of the slot in order, constant fields repeated.
 */
LOOM_MUST_USE loom_status *loom_run_column(loom_run *run, uint32_t s, loom_value *elements, loom_value **column);
/* A column value without elements. */
LOOM_MUST_USE loom_status *loom_run_empty_column(loom_run *run, uint32_t s, loom_value **column);
/* Elements of a stream's value: the extent of the outermost level, alike in all leaves. */
LOOM_MUST_USE loom_status *loom_run_count(const loom_run *run, uint32_t s, const loom_value *elements, int64_t *count);
LOOM_MUST_USE loom_status *loom_value_i64(int64_t number, loom_value **value);

/* ---- carried.c ---- */
/* The inputs that are carried, as they are at first. */
void loom_run_keep_initial(loom_run *run);
void loom_run_forget_initial(loom_run *run);
/* The next chunk begins with what output `output` of this one is, if that is carried. */
void loom_run_carry(loom_run *run, uint32_t output, loom_value *value);
/* References to the present states, to go back to (takes them) where a block fails. NULL: there are none. */
loom_value **loom_run_save_states(const loom_run *run);
void loom_run_end_block(loom_run *run, loom_value **saved, bool failed);
/* The block is the one before which the states stand. */
LOOM_MUST_USE loom_status *loom_run_check_place(const loom_run *run, int64_t block);
/* Binds the states to the plan's buffers: once a chunk. */
LOOM_MUST_USE loom_status *loom_run_bind_states(loom_run *run);

/* ---- chunk.c ---- */
LOOM_MUST_USE loom_status *loom_run_bind_input(loom_run *run, uint32_t buffer);
/* Inputs and constants: what holds whatever the chunk is. */
LOOM_MUST_USE loom_status *loom_run_bind_fixed(loom_run *run);
/* Binds inputs and runs the actions before chunk_begin, once. */
LOOM_MUST_USE loom_status *loom_run_prepare(loom_run *run);
/* Inputs and constants of the present engine, then its actions before chunk_begin. */
LOOM_MUST_USE loom_status *loom_run_start_engine(loom_run *run);
/* Runs one block through the plan, in as many chunks as memory asks for; pending[j] gets the partial result of output j
 * (NULL for in-place ones). */
LOOM_MUST_USE loom_status *loom_run_compiled(loom_run *run, loom_value *const *streams, int64_t count, int64_t first,
                                             loom_value **pending);

/* ---- tested.c ---- */
/* Runs with the engine for rows of one length in place of the other. *begun is set by `execute` once an accumulator or
 * a result has changed: what fails before that leaves *done false and no error, and is to be run as ever. */
typedef loom_status *(*loom_run_execute)(loom_run *run, void *context, bool *begun);
LOOM_MUST_USE loom_status *loom_run_try_tested(loom_run *run, loom_run_execute execute, void *context, bool *done);
/* Inputs that have moved, for both engines. */
LOOM_MUST_USE loom_status *loom_run_bind_moved(loom_run *run);
/* Binds elements of a column for rows of one length; an error where they are not. */
LOOM_MUST_USE loom_status *loom_run_bind_tested(loom_run *run, uint32_t buffer, const loom_leaf *leaf, int64_t from,
                                                int64_t count);

#endif
