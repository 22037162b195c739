/* Executor: runs stages on this machine. Synchronous; the worker's control loop calls it on a thread of its own.
 *
 * An executor owns pinned threads, FFT plans and memory pools. A stage instance (loom_run) holds one accumulator per
 * output; blocks are folded into it; a delta takes the accumulator's content out and starts an empty one.
 * Compiled and interpreted stages look the same from outside. What would not fit the memory is refused when the run is
 * created, with a message that says how much it needs.
 * Threads: one call at a time per executor, except loom_executor_cancel (any thread).
 */
#ifndef LOOM_WORKER_EXECUTOR_H
#define LOOM_WORKER_EXECUTOR_H

#include "common/status.h"
#include "common/value.h"
#include "compiler/plan/compile.h"

typedef struct loom_executor loom_executor;
typedef struct loom_run loom_run;

typedef struct loom_executor_options {
    int threads;       /* 0: all cores this process may use */
    uint64_t memory;   /* bytes for buffers; 0: three quarters of the machine's */
    const char *cache; /* folder for what takes long to find out about this machine; NULL: none */
    /* Frees what loom_executor_lend was asked for, so many bytes or all, and returns it. Any thread; NULL: nothing is
     * lent. */
    void (*reclaim)(void *context, uint64_t bytes);
    void *context;
} loom_executor_options;

LOOM_MUST_USE loom_status *loom_executor_create(const loom_executor_options *options, loom_executor **executor);
void loom_executor_destroy(loom_executor *executor);
/* Bytes in buffers and values of its memory, of that which the options allow. */
uint64_t loom_executor_used(const loom_executor *executor);
/* So many bytes of the caller's own count as used until they are returned or wanted. False: there is no room. Any
 * thread. */
bool loom_executor_lend(loom_executor *executor, uint64_t bytes);
void loom_executor_return(loom_executor *executor, uint64_t bytes);
/* The running call returns LOOM_E_CANCELLED soon. Has no effect on later calls. A fold that was cancelled may have
 * spoilt the accumulator (see loom_run_is_spoilt). */
void loom_executor_cancel(loom_executor *executor);

/* "triple;cpu;features" of this machine, for the compile request. Static string. */
const char *loom_worker_target(void);

typedef struct loom_run_description {
    const void *program;
    size_t program_length; /* staged program (for interpreted functions and whole programs) */
    const loom_graph *graph;
    uint32_t stage;
    bool interpret;
    const void *plan;
    size_t plan_length; /* not interpret: */
    const void *object;
    size_t object_length;
    loom_value *const *inputs; /* by stage input; the run takes references */
    bool inputs_may_go;        /* by loom_run_move_inputs: short chunks for lack of memory are refused until then */
    uint32_t n_constants;
    loom_value *const *constants; /* per stream: the segment's constant fields (leaves with names), or NULL */
    struct loom_run *content;     /* another run of the stage, whose accumulator moves to this one; NULL: none */
} loom_run_description;

LOOM_MUST_USE loom_status *loom_run_create(loom_executor *executor, const loom_run_description *description,
                                           loom_run **run);
void loom_run_destroy(loom_run *run);
/* All that is in the accumulator of another run of the same stage (for another class of segments), which is then empty,
 * as this one was. */
void loom_run_take_content(loom_run *run, loom_run *from);
/* The same inputs, which are elsewhere now; takes references, also where it fails. NULL: they stay where they are. */
LOOM_MUST_USE loom_status *loom_run_move_inputs(loom_run *run, loom_value *const *inputs);

/* Folds one block (or several adjacent ones in one go) into the accumulator. streams[s]: the elements of stream s, all
 * of equal count; `first`: stream position of the first one; `block`: number of the (first) block, for errors and
 * order. COLLECT and STREAM outputs are kept by block. A block whose buffers do not fit the memory is processed in
 * several chunks. On an error nothing of the block is in the accumulator, unless the error came after a permute had
 * begun to write to it (an error inside the permute itself, of what came after it, or in a later chunk of the same
 * block): then the accumulator is spoilt, and must be emptied by loom_run_drop; a delta of its epoch is not to be had.
 */
LOOM_MUST_USE loom_status *loom_run_fold(loom_run *run, loom_value *const *streams, int64_t block, int64_t n_blocks,
                                         int64_t first);

/* A stage that carries states from chunk to chunk: its next block is `block`, before which they are these, in the order
 * of the stage's `carried` (takes references); NULL: those of its inputs. Needed where the blocks do not go on where
 * the last one ended, or something was dropped; a run begins before block 0. */
LOOM_MUST_USE loom_status *loom_run_begin(loom_run *run, int64_t block, loom_value *const *states);

/* True after a fold that left part of a failing block in the accumulator: folding and taking a delta are then refused.
 */
bool loom_run_is_spoilt(const loom_run *run);
/* Empties the accumulator: what was folded since the last delta is gone. The run can be used on. */
void loom_run_drop(loom_run *run);

/* A delta: content of the accumulator, one value per output. If an output is ordered (FOLD and REDUCE with
 * ORDER_ADJACENT, COLLECT, STREAM) there is one part per maximal run of blocks, ascending; outputs that merge in any
 * order stand in part 0 alone and are NULL in the others. Without ordered outputs there is one part; first_block is
 * then the least block and n_blocks the number of blocks, which need not be adjacent. No blocks: no parts. Values may
 * outlive run and executor. */
typedef struct loom_delta_part {
    int64_t first_block, n_blocks;
    loom_value **outputs; /* n_outputs; NULL if empty */
} loom_delta_part;
typedef struct loom_delta {
    uint32_t n_outputs;
    size_t n_parts;
    loom_delta_part *parts;
} loom_delta;
LOOM_MUST_USE loom_status *loom_run_take_delta(loom_run *run, loom_delta **delta);
void loom_delta_destroy(loom_delta *delta);
/* Elements [from, from + count) of what an output of kind SPILL gave, as those of the streams in `slots` of the graph:
 * streams[i] of slots[i]. Copied. */
LOOM_MUST_USE loom_status *loom_spill_read(const loom_value *spilled, int64_t from, int64_t count,
                                           const uint32_t *slots, uint32_t n_streams, loom_value **streams);
/* Bytes of what COLLECT, STREAM and SPILL outputs hold: they grow with each block. */
uint64_t loom_run_collected_bytes(const loom_run *run);

/* merge_j: joins two partial results of output j (a is the earlier one). *merged has a reference of its own; it is `a`
 * itself, changed, where the caller's reference to a is the only one and its memory this process's own (not a mapped
 * file). */
LOOM_MUST_USE loom_status *loom_run_merge(loom_run *run, uint32_t output, loom_value *a, loom_value *b,
                                          loom_value **merged);
/* The value of an output of a stream without blocks: the neutral partial result. */
LOOM_MUST_USE loom_status *loom_run_empty(loom_run *run, uint32_t output, loom_value **value);

/* ARRAY and WHOLE stages. For WHOLE, `pull` gives block after block of all streams, NULL for one that has ended. */
typedef loom_status *(*loom_pull)(void *context, int64_t block, loom_value **streams /* n_streams */, bool *end);
LOOM_MUST_USE loom_status *loom_run_array(loom_run *run, loom_pull pull, void *context,
                                          loom_value **outputs /* n_outputs */);

/* Seconds spent by action label since creation; for --json and profiles. Bytes: sizes of the arrays that the actions
 * read and write, each once a call; 0 of what is interpreted. Joining what blocks gave is not in `work`: how often that
 * is done says nothing of the program. */
typedef struct loom_run_time {
    const char *label;
    double seconds;
    uint64_t calls, bytes;
    loom_kernel_work work; /* of compiled code only where it was made to count */
} loom_run_time;
size_t loom_run_times(const loom_run *run, const loom_run_time **times);
/* Most bytes that a call has had out at a time since creation; what is lent, and values of the interpreter, included.
 */
uint64_t loom_run_peak(const loom_run *run);

#endif
