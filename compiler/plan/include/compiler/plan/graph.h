/* Graph of stages: what the coordinator schedules. A leaf of the compiler: data structure, codec, printer, checker.
 *
 * SLOTS hold the values that flow between stages: slot i < n_params is the entry's i-th parameter (streams have a slot
 * too, which never holds a value); then one slot for each output of each stage, in order. Each slot is one loom_value.
 * The program's result is slot `result`.
 */
#ifndef LOOM_COMPILER_PLAN_GRAPH_H
#define LOOM_COMPILER_PLAN_GRAPH_H

#include "common/arena.h"
#include "common/dtype.h"
#include "common/status.h"

typedef enum loom_stage_kind {
    LOOM_STAGE_TRAVERSAL, /* over blocks of the streams: chunk, merge, finish functions */
    LOOM_STAGE_ARRAY,     /* run function */
    LOOM_STAGE_WHOLE, /* the entry itself, interpreted by one worker that pulls the streams; run function = the entry */
} loom_stage_kind;

typedef enum loom_output_kind {
    LOOM_OUT_FOLD,    /* chunk gives a partial result; merge(a, b) joins two */
    LOOM_OUT_PERMUTE, /* the same, elementwise onto a target; finish combines the destination in */
    LOOM_OUT_REDUCE,  /* reduce_seq: as FOLD */
    LOOM_OUT_COLLECT, /* one element (or run of elements) a stream element; joined in stream order (from_seq) */
    LOOM_OUT_STREAM,  /* as COLLECT, but leaves for the sink as it comes: the entry's result is seq b */
    LOOM_OUT_VALUE,   /* of an ARRAY or WHOLE stage */
} loom_output_kind;

typedef enum loom_merge_order {
    LOOM_ORDER_ANY,      /* built-in commutative operator, or permute */
    LOOM_ORDER_ADJACENT, /* associative: only neighbours merge, the earlier on the left */
} loom_merge_order;

typedef struct loom_graph_leaf {
    const char *name;
    loom_dtype dtype;
    uint32_t depth;
} loom_graph_leaf;

typedef struct loom_graph_output {
    loom_output_kind kind;
    loom_merge_order order;
    uint32_t slot;
    uint32_t merge, finish; /* function indices in the staged program; LOOM_NONE_FUNCTION if not needed */
} loom_graph_output;
#define LOOM_NONE_FUNCTION UINT32_MAX

typedef struct loom_graph_stage {
    loom_stage_kind kind;
    uint32_t function; /* chunk or run */
    uint32_t n_inputs;
    const uint32_t *inputs; /* slots, in the order of the function's first parameters */
    uint32_t n_streams;
    const uint32_t *streams; /* stream parameters (slots) traversed, one column parameter each, after `first` */
    uint32_t n_outputs;
    const loom_graph_output *outputs;
    bool needs_order;  /* a function depends on `first` beyond COLLECT */
    const char *label; /* for people: "traversal 1: permute_seq (image.weft:40)" */
} loom_graph_stage;

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
    uint32_t result;                /* slot */
    bool result_is_stream;          /* it comes in parts and is never held in the slot */
    uint32_t n_remarks;
    const char *const *remarks;
} loom_graph;

LOOM_MUST_USE loom_status *loom_graph_check(const loom_graph *graph);
LOOM_MUST_USE loom_status *loom_graph_encode(const loom_graph *graph, char **bytes, size_t *length);
LOOM_MUST_USE loom_status *loom_graph_decode(loom_arena *arena, const void *bytes, size_t length, loom_graph **graph);
void loom_graph_print(const loom_graph *graph, FILE *to);

#endif
