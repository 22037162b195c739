/* Graph of stages: what the coordinator schedules. A leaf of the compiler: data structure, codec, printer, checker.
 *
 * SLOTS hold the values that flow between stages: slot i < n_params is the entry's i-th parameter (streams have a slot
 * too, which never holds a value); then, in the order of the stages, the state that a loop beginning there passes from
 * turn to turn, the outputs of the stage, and the results of loops that end there. Each slot is one loom_value. The
 * program's result is slot `result`.
 *
 * LOOPS are stretches of stages that run again and again, each turn an instance of its own: conditionals around
 * traversals (a turn or none), loops of the program, batches of groups. They nest. A turn begins while the first state
 * is true; a slot that a body fills is seen inside the body only, what leaves it is in `result`.
 */
#ifndef LOOM_COMPILER_PLAN_GRAPH_H
#define LOOM_COMPILER_PLAN_GRAPH_H

#include "common/arena.h"
#include "common/dtype.h"
#include "common/status.h"

typedef enum loom_stage_kind {
    LOOM_STAGE_TRAVERSAL, /* over blocks of the streams: chunk and merge functions */
    LOOM_STAGE_ARRAY,     /* run function */
    LOOM_STAGE_WHOLE, /* the entry itself, interpreted by one worker that pulls the streams; run function = the entry */
} loom_stage_kind;

typedef enum loom_output_kind {
    LOOM_OUT_FOLD,    /* chunk gives a partial result; merge(a, b) joins two */
    LOOM_OUT_PERMUTE, /* the same, elementwise onto a target filled with the neutral element */
    LOOM_OUT_REDUCE,  /* reduce_seq: as FOLD */
    LOOM_OUT_COLLECT, /* one element (or run of elements) a stream element; joined in stream order (from_seq) */
    LOOM_OUT_STREAM,  /* as COLLECT, but leaves for the sink as it comes: the entry's result is seq b */
    LOOM_OUT_VALUE,   /* of an ARRAY or WHOLE stage */
    LOOM_OUT_SPILL,   /* the batches that each element is for ([]i64): the elements are written out by batch */
    LOOM_OUT_CHAIN,   /* the state behind the chunk, with which the next one begins: CHAINS, below */
} loom_output_kind;

typedef enum loom_merge_order {
    LOOM_ORDER_ANY,      /* built-in commutative operator, or permute */
    LOOM_ORDER_ADJACENT, /* associative: only neighbours merge, the earlier on the left */
} loom_merge_order;

/* Whether what such an output gathers grows with the stream. */
static inline bool loom_is_collected(loom_output_kind kind) {
    return kind == LOOM_OUT_COLLECT || kind == LOOM_OUT_STREAM || kind == LOOM_OUT_SPILL;
}

/* Whether the pieces of such an output become one. */
static inline bool loom_is_merged(loom_output_kind kind) {
    return kind != LOOM_OUT_STREAM && kind != LOOM_OUT_SPILL && kind != LOOM_OUT_CHAIN;
}

/* Whether partial results of such an output merge with neighbours only, the earlier on the left. */
static inline bool loom_merges_in_order(loom_output_kind kind, loom_merge_order order) {
    if (loom_is_collected(kind) || kind == LOOM_OUT_CHAIN) return true;
    return kind != LOOM_OUT_PERMUTE && order == LOOM_ORDER_ADJACENT;
}

typedef struct loom_graph_leaf {
    const char *name;
    loom_dtype dtype;
    uint32_t depth;
} loom_graph_leaf;

typedef struct loom_graph_output {
    loom_output_kind kind;
    loom_merge_order order;
    uint32_t slot;
    uint32_t merge; /* function in the staged program; LOOM_NONE_FUNCTION if not needed */
} loom_graph_output;
#define LOOM_NONE_FUNCTION UINT32_MAX

typedef struct loom_graph_carried {
    uint32_t input, output; /* positions in the stage */
} loom_graph_carried;

typedef struct loom_graph_stage {
    loom_stage_kind kind;
    uint32_t function; /* chunk or run */
    uint32_t n_inputs;
    const uint32_t *inputs; /* slots, in the order of the function's first parameters */
    uint32_t n_streams;
    const uint32_t *streams; /* stream parameters (slots) traversed, one column parameter each, after `first` */
    uint32_t n_outputs;
    const loom_graph_output *outputs;
    uint32_t n_varying;
    const uint32_t *varying; /* positions of inputs whose value is another one each turn: not to be compiled in */
    const char *label;       /* for people: "traversal 1: permute_seq (image.weft:40)" */
    /* SPILLS. A stage whose only output is of kind SPILL writes the elements of its streams out by batch, those of
     * later stages `spilled` by that slot then read only those of `batch`. It need not: slot `saves` (f64) tells how
     * many traversals less of the stream that makes, and where writing costs more, those stages read all; what they do
     * with elements of other batches is nothing. 0, which is a parameter's slot: none. */
    uint32_t saves;
    uint32_t spilled, batch; /* what the output gave; an i64 */
    /* CHAINS. A traversal that carries states from chunk to chunk goes over its blocks in order, one worker at a time:
     * the first chunk finds in the input what its slot holds, each later one what the one before has made as the
     * output, which is of kind CHAIN; the last is the slot's value. Each output of that kind stands here once. */
    uint32_t n_carried;
    const loom_graph_carried *carried;
} loom_graph_stage;

/* Number i of the slots that the stage reads: its inputs, then those that steer it. False: there are no more. */
static inline bool loom_stage_reads(const loom_graph_stage *stage, uint32_t i, uint32_t *slot) {
    if (i < stage->n_inputs) {
        *slot = stage->inputs[i];
        return true;
    }
    const uint32_t steering[] = {stage->saves, stage->spilled, stage->batch};
    i -= stage->n_inputs;
    for (uint32_t k = 0; k < sizeof steering / sizeof *steering; k++) {
        *slot = steering[k];
        if (*slot && i-- == 0) return true;
    }
    return false;
}

static inline bool loom_stage_is_chained(const loom_graph_stage *stage) {
    return stage->n_carried > 0;
}

/* Whether blocks of all classes of segments go into one accumulator of a worker. Not so what is collected: its parts
 * are of one class each; nor where states are carried, which are handed over where the class changes. */
static inline bool loom_stage_adds_up(const loom_graph_stage *stage) {
    for (uint32_t i = 0; i < stage->n_outputs; i++) {
        if (loom_is_collected(stage->outputs[i].kind)) return false;
    }
    return !loom_stage_is_chained(stage);
}

typedef struct loom_graph_loop {
    uint32_t first, end; /* stages of the body, at least one; those of loops inside it too */
    uint32_t n_state;    /* at least one: state 0, a bool, says whether a turn (another turn) is made */
    const uint32_t *init, *current, *next, *result; /* slots, n_state each: before the first turn; seen by the body;
                                                       what the body leaves for the next turn; after the last one */
    const char *label;                              /* for people: "loop over traversals: while (image.weft:300)" */
} loom_graph_loop;

typedef struct loom_graph_slot {
    const char *name; /* parameter name or "stage 2 output 0" */
    bool stream;
    uint32_t n_leaves;
    const loom_graph_leaf *leaves; /* of the value; for a stream, of its element with one level more */
} loom_graph_slot;

typedef struct loom_graph {
    uint32_t n_params;
    uint32_t n_slots;
    const loom_graph_slot *slots;
    uint32_t n_stages;
    const loom_graph_stage *stages; /* in an order in which inputs come before uses */
    uint32_t n_loops;
    const loom_graph_loop *loops; /* by first stage, the outer before the inner */
    uint32_t result;              /* slot */
    bool result_is_stream;        /* it comes in parts and is never held in the slot */
    uint32_t n_remarks;
    const char *const *remarks;
} loom_graph;

/* The innermost loop around each stage, LOOM_NONE_LOOP where there is none; and the loop around each loop. In `arena`.
 */
#define LOOM_NONE_LOOP        UINT32_MAX
#define LOOM_MAX_LOOP_NESTING 64 /* a slot is looked up through the loops around it; nobody writes as many */
uint32_t *loom_graph_loop_of_stages(const loom_graph *graph, loom_arena *arena);
uint32_t *loom_graph_loop_of_loops(const loom_graph *graph, loom_arena *arena);
/* The innermost loop whose body fills each slot (or whose turn: `current`); LOOM_NONE_LOOP where there is none. */
uint32_t *loom_graph_loop_of_slots(const loom_graph *graph, loom_arena *arena);
LOOM_MUST_USE loom_status *loom_graph_check(const loom_graph *graph);
LOOM_MUST_USE loom_status *loom_graph_encode(const loom_graph *graph, char **bytes, size_t *length);
LOOM_MUST_USE loom_status *loom_graph_decode(loom_arena *arena, const void *bytes, size_t length, loom_graph **graph);
void loom_graph_print(const loom_graph *graph, FILE *to);

/* A stage takes some hundred bytes, a slot's leaves some ten each; this is a million of them. */
#define LOOM_MAX_GRAPH_BYTES ((size_t)16 << 20)

#endif
