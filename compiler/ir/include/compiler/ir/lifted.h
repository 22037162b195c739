/* Lifted IR: what vectorise makes of a function over arrays, what fuse and schedule transform, what codegen turns to
 * LLVM.
 *
 * An operation is an INDEX SPACE (a list of axes, outermost first; the chunk axis, where there is one, first) and a
 * scalar BODY evaluated at each point. No pass erases an axis: flattening is a schedule. A VALUE is one scalar leaf: a
 * dtype and a list of axes. A value that does not depend on an axis does not have it: "avoided" is simply the absence
 * of the chunk axis. A Weft value of nested arrays of tuples in a context of lifted axes is a set of values, each with
 * those context axes that it depends on, followed by its own axes.
 *
 * Representation of a value in the chunk: AVOIDED (no chunk axis), REGULAR (chunk axis, all others regular), IRREGULAR
 * (some axis of kind SEGMENTED). REPLICATED (rows that are referred to) is none of a value: what refers to rows of
 * another goes into those who use it (compiler/fuse/src/rules.c).
 *
 * SEGMENTED AXES. Where an axis is segmented, the axes before it in the same list are those of its lengths, in the same
 * order: so the place of a point is a fold over its indices, p = 0; p = p * extent + i along a regular axis,
 * p = offsets[p] + i along a segmented one. Storage is dense. Lengths over fewer axes are repeated into lengths of
 * their own where a list has more (at most one for each row of what is computed there).
 *
 * EXPRESSIONS form one table; arguments have smaller indices. A BLOCK is a list of expressions with parameters and
 * results (ranges nest as in core). Blocks are evaluated strictly except the blocks of IF, FOR and WHILE.
 */
#ifndef LOOM_COMPILER_IR_LIFTED_H
#define LOOM_COMPILER_IR_LIFTED_H

#include "common/arena.h"
#include "common/dtype.h"
#include "compiler/ir/core.h"
#include "compiler/ir/force.h"
#include "compiler/ir/prim.h"

typedef uint32_t loom_axis_id, loom_lvalue_id, loom_lexpr_id, loom_lblock_id, loom_lop_id, loom_lsite_id;

typedef enum loom_axis_kind {
    LOOM_AXIS_CHUNK,     /* elements of the chunk */
    LOOM_AXIS_CONST,     /* extent */
    LOOM_AXIS_INPUT,     /* extent of axis `level` of input value `value` (the chunk not counted) */
    LOOM_AXIS_SCALAR,    /* i64 value `value`, which has no axes */
    LOOM_AXIS_SEGMENTED, /* lengths (i64 value over exactly the axes before it), offsets (their exclusive sums) and
                            total */
} loom_axis_kind;

typedef struct loom_axis {
    loom_axis_kind kind;
    int64_t extent;
    loom_lvalue_id value; /* INPUT, SCALAR */
    uint32_t level;
    bool part;   /* SCALAR: indices number some of the elements; which ones is not told here, so errors name none */
    bool tested; /* INPUT, SCALAR: rows that nothing proves to be of one length; the plan is for those that are */
    loom_lvalue_id lengths, offsets, total; /* SEGMENTED */
} loom_axis;

typedef enum loom_lsource {
    LOOM_LV_INPUT,    /* leaf `leaf` of input slot `index`; `carried`: another one for each chunk, of the same shape */
    LOOM_LV_COLUMN,   /* leaf `leaf` of stream `index`, chunk axis first */
    LOOM_LV_CONSTANT, /* leaf `leaf` of stream `index`, constant in the segment */
    LOOM_LV_FIRST,    /* i64, stream position of the chunk's first element */
    LOOM_LV_OP,       /* result of an operation */
    LOOM_LV_STATE,    /* state of a LOOP inside its body */
} loom_lsource;

typedef enum loom_rep {
    LOOM_REP_AVOIDED,
    LOOM_REP_REGULAR,
    LOOM_REP_REPLICATED,
    LOOM_REP_IRREGULAR
} loom_rep;

typedef struct loom_lvalue {
    loom_dtype dtype;
    loom_lsource source;
    uint32_t index, leaf;
    uint32_t lengths_of; /* INPUT, COLUMN: not the data but the lengths of this level of the leaf; 0: the data */
    uint32_t n_axes;
    const loom_axis_id *axes;
    loom_rep rep;
    loom_lop_id op;   /* producer, for OP */
    const char *name; /* for printing */
    loom_span span;
    bool carried;
    bool strip; /* set by schedule: lives in a strip's scratch, never in memory of the chunk */
} loom_lvalue;

typedef enum loom_lexpr_kind {
    LOOM_LX_CONST,   /* imm */
    LOOM_LX_AXIS,    /* i64: index along position aux of the operation's axes */
    LOOM_LX_PARAM,   /* parameter aux of the enclosing block */
    LOOM_LX_EXTENT,  /* i64: extent of axis `aux` (axis id) */
    LOOM_LX_LOAD,    /* value aux at indices args[0..n_axes): mode says what happens outside */
    LOOM_LX_PRIM,    /* prim on args; site for those that can trap */
    LOOM_LX_CONVERT, /* args[0] to dtype */
    LOOM_LX_IF,      /* args[0]; blocks[0], blocks[1]: results of the taken one */
    LOOM_LX_FOR,   /* args[0] = count, args[1..] = initial state; blocks[0](i, state...) -> state...; mode: LOOM_FOR_ */
    LOOM_LX_WHILE, /* args = initial state; blocks[0](state...) -> bool; blocks[1](state...) -> state... */
    LOOM_LX_RESULT, /* result aux of args[0] (IF, FOR, WHILE with several) */
    LOOM_LX_CHECK,  /* args[0] = condition, args[1] = value; optional args[2], args[3]: numbers for the message; site */
} loom_lexpr_kind;

typedef enum loom_load_mode {
    LOOM_LOAD_PROVEN,  /* in range, proven */
    LOOM_LOAD_CHECKED, /* out of range raises `site` (with index and extent) and gives 0 */
    LOOM_LOAD_DEFAULT, /* out of range gives the last argument (padding, cropping) */
} loom_load_mode;

typedef enum loom_for_mode {
    LOOM_FOR_LOOP, /* as written */
    LOOM_FOR_FOLD, /* the turns are joined to the state by an operator that is associative */
} loom_for_mode;

typedef struct loom_lexpr {
    uint8_t kind, mode;
    loom_dtype dtype; /* of the (first) result */
    uint16_t prim;
    uint32_t first_arg, n_args; /* into args */
    uint32_t aux;
    loom_lblock_id blocks[2];
    loom_lsite_id site;
    loom_scalar imm;
    loom_span span;
} loom_lexpr;

/* Expressions [first, end) belong to the block, including those of inner blocks, which come before the expression that
 * uses them. An inner block may use expressions of outer ones that come before it. */
typedef struct loom_lblock {
    loom_lexpr_id first, end;
    uint32_t n_params;
    const loom_dtype *params; /* LOOM_LX_PARAM expressions refer to the innermost enclosing block */
    uint32_t n_results;
    const loom_lexpr_id *results;
} loom_lblock;

typedef enum loom_lop_kind {
    LOOM_LO_COMPUTE, /* results[j][point] = body result j; see `sliced` */
    LOOM_LO_REDUCE,  /* axes = index space with the reduced axis at position `reduce`; results have the other axes. body
                        gives  the contribution, combine(acc..., x...) joins, ne (block without params, over the other
                        axes) starts */
    LOOM_LO_SCAN, /* along position `reduce`; results have all axes (EXCLUSIVE, INCLUSIVE, RIGHT); TOTAL gives also the
                     total */
    LOOM_LO_PERMUTE, /* body results: r indices (i64), then one value per target leaf; combine as REDUCE. target:
                        accumulator output `output` (then no results), or values `dest` that are copied into the results
                        first */
    LOOM_LO_FFT,     /* args[0] over its last `rank` axes, or the rows of a segmented one, each by itself; results[0] */
    LOOM_LO_LOOP,    /* uniform: count (scalar value args[0], or none) and/or test; inner operations; see states */
    LOOM_LO_IF,    /* scalar bool value args[0]; then_ops, else_ops; results[j] = then_results[j] or else_results[j] */
    LOOM_LO_CHECK, /* body gives a bool (and two numbers): false raises `site` */
    LOOM_LO_OFFSETS, /* args[0]: lengths; results[0]: their exclusive sums in row-major order, over the same axes, with
                        the total behind them, twice; results[1]: the total. A negative length is an error */
    LOOM_LO_SORT,    /* args: scalars of the keys, the first counts most; results[0]: i64, for each list along the last
                        axis the places of its elements in ascending order; stable, NaN last */
} loom_lop_kind;

typedef struct loom_lop {
    loom_lop_kind kind;
    uint32_t n_axes;
    const loom_axis_id *axes;
    uint32_t n_results;
    const loom_lvalue_id *results;
    uint32_t n_args;
    const loom_lvalue_id *args; /* FFT, LOOP, IF, OFFSETS, SORT */
    loom_lblock_id body, combine, ne;
    uint32_t reduce;
    loom_scan_kind scan;
    /* PERMUTE */
    uint32_t rank;              /* r */
    uint32_t output;            /* or LOOM_NONE */
    const loom_lvalue_id *dest; /* one per target leaf, when output is LOOM_NONE */
    /* COMPUTE in a loop: results have one more axis, the outermost. They are `dest`, states of the loop that nothing
     * else in it reads, but for the slice at `into` (i64). In place: the rest is not touched. */
    bool sliced;
    loom_lvalue_id into;
    /* COMPUTE: results are states of a loop at its start, each point of which a turn sets before anything reads it.
     * They need memory, but nobody need set them. */
    bool blank;
    /* COMPUTE: results have as many points as the operation, in the same order, under other axes (rows that differ in
     * length, one behind the other; all points of some levels). */
    bool dense;
    uint32_t n_target_axes;
    const loom_axis_id *target_axes; /* axes of the target (r indexed ones first, after context axes) */
    uint32_t n_context;              /* leading axes of the index space that the target has too (segmented permute) */
    bool distinct; /* no two points go to the same place of the target: they need not be put in order */
    /* The same of points that differ along one of the first axes, where the others go one after the other. */
    uint32_t n_apart;
    bool covers;      /* rank 1, distinct: each point of the target is the place of one point */
    uint16_t builtin; /* combine is this primitive (commutative, known neutral), else LOOM_PRIM_COUNT */
    /* FFT */
    uint32_t fft_rank;
    bool inverse;
    /* LOOP and IF: operations [inner_first, inner_end) in loom_lifted.ops stand before this one */
    loom_lop_id inner_first, inner_end, else_first, else_end;
    uint32_t n_states;
    const loom_lvalue_id *initial, *state, *next; /* values: before, inside (LV_STATE), after one turn */
    /* LOOP: values inside, whose elements of all turns, one behind the other along the outermost axis, are the results
     * behind those of the states. */
    uint32_t n_collected;
    const loom_lvalue_id *collected;
    loom_lvalue_id counter, test; /* counter: i64 LV_STATE or LOOM_NONE; test: bool value inside, or LOOM_NONE:
                                     the loop ends when it is false at the start of a turn */
    const loom_lvalue_id *then_results, *else_results;
    loom_lsite_id site;
    loom_span span;
    loom_node_id node; /* of the stage's program: what it was made for; LOOM_NONE: no single one */
    bool inner;        /* belongs to the body of a LOOP or IF */
} loom_lop;

typedef struct loom_lsite {
    loom_span span;
    const char *format, *hint;
} loom_lsite;

/* Outputs, as in loom_graph_output. FOLD, REDUCE: `values` are the chunk's partial result (no chunk axis); combine:
 * block over (acc..., x...) elementwise over values of equal axes. PERMUTE: target of a PERMUTE operation: axes,
 * dtypes, neutral. */
typedef struct loom_loutput {
    uint32_t kind, order; /* loom_output_kind, loom_merge_order */
    uint32_t n_leaves;
    const char *const *names;
    const loom_dtype *dtypes;
    const loom_lvalue_id *values; /* PERMUTE: LOOM_NONE each */
    uint32_t n_axes;
    const loom_axis_id *axes; /* PERMUTE, FOLD: axes of all leaves */
    const loom_scalar *neutral;
    loom_lblock_id combine;
} loom_loutput;

typedef enum loom_schedule_kind {
    LOOM_SCHEDULE_FLAT,
    LOOM_SCHEDULE_STRIP
} loom_schedule_kind;
typedef struct loom_region {
    loom_lop_id first, end;
    loom_schedule_kind schedule;
    int64_t strip;
    bool per_chunk;
} loom_region;

typedef struct loom_lifted {
    loom_arena *arena;
    const loom_program *program; /* for names of files */
    uint32_t stage_kind;         /* loom_stage_kind */
    uint32_t force;              /* LOOM_FORCE_*: for tests */
    loom_axis *axes;
    uint32_t n_axes, cap_axes;
    loom_lvalue *values;
    uint32_t n_values, cap_values;
    loom_lexpr *exprs;
    uint32_t n_exprs, cap_exprs;
    loom_lexpr_id *args;
    uint32_t n_args, cap_args;
    loom_lblock *blocks;
    uint32_t n_blocks, cap_blocks;
    loom_lop *ops;
    uint32_t n_ops, cap_ops;
    loom_lsite *sites;
    uint32_t n_sites, cap_sites;
    loom_loutput *outputs;
    uint32_t n_outputs;
    loom_region *regions;
    uint32_t n_regions; /* filled by schedule */
} loom_lifted;

loom_lifted *loom_lifted_create(loom_arena *arena, const loom_program *program);

/* Building (vectoriser, fusion, tests). Arrays given to these are copied into the arena. A block's expressions are
 * those made between a reading of `n_exprs` and loom_lifted_block, inner blocks first. */
loom_axis_id loom_lifted_axis(loom_lifted *l, loom_axis axis); /* equal axes have equal ids */
loom_axis_id loom_lifted_const_axis(loom_lifted *l, int64_t extent);
loom_lvalue_id loom_lifted_value(loom_lifted *l, loom_lvalue value);
loom_lexpr_id loom_lifted_expr(loom_lifted *l, loom_lexpr expr, const loom_lexpr_id *args, uint32_t n_args);
loom_lblock_id loom_lifted_block(loom_lifted *l, loom_lexpr_id first, uint32_t n_params, const loom_dtype *params,
                                 uint32_t n_results, const loom_lexpr_id *results);
loom_lop_id loom_lifted_op(loom_lifted *l,
                           loom_lop op); /* sets `op` of its results; blocks that it has not are LOOM_NONE */
/* An operation of the kind with nothing in it: to be filled, and added by loom_lifted_op. */
static inline loom_lop loom_lifted_empty(loom_lop_kind kind) {
    return (loom_lop){.kind = kind,
                      .body = LOOM_NONE,
                      .combine = LOOM_NONE,
                      .ne = LOOM_NONE,
                      .output = LOOM_NONE,
                      .builtin = LOOM_PRIM_COUNT,
                      .counter = LOOM_NONE,
                      .test = LOOM_NONE,
                      .site = LOOM_NONE,
                      .node = LOOM_NONE};
}
loom_lsite_id loom_lifted_site(loom_lifted *l, loom_span span, const char *format, const char *hint);
static inline loom_lexpr_id loom_lifted_arg(const loom_lifted *l, const loom_lexpr *e, uint32_t i) {
    return l->args[e->first_arg + i];
}
/* Number of results of an expression (IF, FOR, WHILE may have several, or none: then dtype is bool and it has no use).
 */
uint32_t loom_lifted_results(const loom_lifted *l, const loom_lexpr *e);

/* Equality of blocks that stand by themselves, as they are written; blocks may be LOOM_NONE. Constants by bits. */
bool loom_lifted_same_block(const loom_lifted *l, loom_lblock_id a, loom_lblock_id b);
uint64_t loom_lifted_hash_block(const loom_lifted *l, loom_lblock_id block, uint64_t seed);
bool loom_lifted_same_scalar(loom_dtype type, const loom_scalar *a, const loom_scalar *b);
uint64_t loom_lifted_hash_scalar(loom_dtype type, const loom_scalar *s);

/* Whether one of the axes is segmented. */
bool loom_lifted_any_segmented(const loom_lifted *l, uint32_t n_axes, const loom_axis_id *axes);
/* Whether it is for rows that a test finds to be of one length: some axis is tested. */
bool loom_lifted_is_tested(const loom_lifted *l);

/* Printer (`explain --stage lifted|fused|schedule`) and checker (after every pass in debug builds). */
void loom_lifted_print(const loom_lifted *l, FILE *to);
LOOM_MUST_USE loom_status *loom_lifted_check(const loom_lifted *l);

/* What the checker guarantees and consumers rely on, beside indices in range, types and scoping:
 *  - AXIS: `aux` counts positions of the operation's whole list of axes, in `ne` and for REDUCE and SCAN too; `ne` does
 * not use the reduced one. `combine` is closed: parameters, constants and constant extents only.
 *  - The value of an IF, FOR or WHILE with one or more results is its first result; RESULT gives any of them.
 *  - CHECK (the expression) is an effect: it is evaluated wherever its block is, used or not. A CHECK operation stands
 * before what relies on it (PROVEN loads over extents it compares): the run must end between them when it raised.
 *  - LOOP: the inner operations that make `test` stand before all others of the body. States before it may be extents
 *    of a state's axes: it may have another size after each turn. Then the initial, next and last value have the
 *    initial, next and last value of those states for extents.
 *  - PERMUTE: `rank` indices name a place on *all* own axes of the target (element axes are indexed too), so that
 *    n_target_axes = n_context + rank. `dest` values have exactly the target axes, in order.
 *  - REDUCE with `scan` unused; SCAN results 0..k-1 are the scanned leaves; for TOTAL results k..2k-1, without the
 * axis, the totals.
 *  - FFT: the argument's last fft_rank axes are transformed; axes = all axes of the result; argument and result are
 * distinct.
 *  - SORT: keys and result have all axes; the last one is not the chunk.
 *  - SEGMENTED: the list that has the axis begins with the axes of its lengths and nothing else; its offsets and total
 *    are those that OFFSETS makes of its lengths. No EXTENT names it: its length at a point is a load. The reduced axis
 *    of REDUCE and SCAN is not before a segmented one. Transformed and indexed axes are regular, but for a single one
 *    that is transformed, the last one that a PERMUTE with context indexes, and those of a PERMUTE to values whose
 *    points need not be put in order.
 *  - Site LOOM_NONE: cannot trap, or is known not to.
 *  - A PROVEN load with a site is in range under the conditions around it only: it may not be moved out from under its
 * IF or FOR. It raises nothing. Without a site it is in range at every point of the operation.
 *  - The chunk has at least one element: a traversal's operations, also those that do not name the chunk, are not run
 * for an empty stream. Other axes may be empty; what an empty map would not do does not fail.
 *  - Values of outputs are made by operations, and no two outputs name the same value.
 */
#define LOOM_LIFTED_MAX_AXES                                                                                           \
    64 /* of one operation; index sets are 64-bit masks, values have LOOM_MAX_DEPTH own axes                           \
        */

#endif
