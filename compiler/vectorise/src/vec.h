/* Inside the vectoriser: how a core value stands in a lifted context.
 *
 * CONTEXT. `levels[0..depth)` are the axes around the present node, outermost first: one per enclosing map or generate.
 * LEAF. A core value is the list of its scalar leaves (loom_type_leaves order; tuples vanish, zip and unzip cost
 * nothing). A leaf has its own axes (`own`) and a *source* for each axis of what it stands on: a level of the context,
 * one of its own axes, or (inside the body of an operation) an expression. A level that no source names is avoided; an
 * own axis that no source names is replicated. So mapping, transposing, replicating and indexing by an axis rename
 * sources and make no operation. DELAYED. An array operation that moves elements (slice, gather, concat, ...) makes
 * PULL leaves: a closure from an index to the element. Outside of operations they are made manifest at once, as one
 * COMPUTE; inside the body of an operation they stay closures, so that scalar code under a conditional or in a loop may
 * use any of them.
 *
 * Two modes: outside of operations (`in_op` false) a node makes operations (lift.c); inside, it makes expressions of
 * the operation under construction (scalar.c). All functions return false when a value cannot be regular; the reason is
 * then in `remark`. Whoever tries something else first rolls back to a mark.
 */
#ifndef LOOM_VECTORISE_VEC_H
#define LOOM_VECTORISE_VEC_H

#include "compiler/interp/interp.h"
#include "compiler/ir/trap.h"
#include "compiler/vectorise/vectorise.h"
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define MAX_LEVELS LOOM_LIFTED_MAX_AXES
/* Known extents and loop counts up to this become constants (DESIGN 4.7): code for them may be unrolled. */
#define SPECIALISE 64

typedef enum source_kind {
    FROM_LEVEL,
    FROM_OWN,
    FROM_EXPR
} source_kind;
typedef enum source_range {
    IN_RANGE,
    IN_RANGE_HERE, /* under the condition of the block that it is used in, and there only */
    ANY_RANGE,     /* may be out of range */
} source_range;
typedef struct source {
    uint8_t kind;
    uint8_t range; /* FROM_EXPR */
    uint32_t at;
} source;

/* An own axis: an axis, or an expression of the operation under construction, or (both LOOM_NONE) not known before the
 * axes before it have been indexed. Which of its lengths counts, where the axis is segmented, is told by `sources`, one
 * for each axis of the lengths, as for a leaf; the own axes that they name are those of the leaf that has the extent.
 */
typedef struct extent {
    loom_axis_id axis;
    loom_lexpr_id expr;
    const source *sources;
} extent;

/* A level of the context. */
typedef struct level {
    loom_axis_id axis;
    const uint32_t *parents; /* SEGMENTED: the levels that its lengths run over, by their axes */
    bool hidden;             /* another level stands for its points: nothing names it (part.c) */
} level;

typedef enum leaf_kind {
    LEAF_CONST,  /* imm */
    LEAF_VALUE,  /* lifted value `id` */
    LEAF_AXIS,   /* the index along a level or an own axis (`at`) */
    LEAF_EXTENT, /* the extent of axis `id` */
    LEAF_EXPR,   /* expression `id` of the operation under construction */
    LEAF_PULL,   /* leaf `id` of what `closure` gives */
    LEAF_ELEM, /* operand of an elementwise operator, parameter `id` (an expression); `at.at` levels are indexed already
                */
    LEAF_BAD,  /* cannot be used; `why` */
} leaf_kind;

typedef struct leaf {
    uint8_t kind;
    bool known; /* `imm` is its value in this specialisation */
    loom_dtype dtype;
    uint32_t id;
    loom_scalar imm;
    source at;
    const source *sources; /* VALUE: one per axis */
    loom_lsite_id site;    /* VALUE: for checked sources */
    uint32_t n_own;
    const extent *own;
    struct closure *closure;
    const char *why;
} leaf;

typedef struct val {
    uint32_t n;
    const leaf *at;
} val;

/* One evaluation of a body. Where `nodes` is there, it holds values of these nodes, in ascending order, instead: what
 * bodies inside of it have from around, in another context. */
typedef struct frame {
    loom_node_id first, end;
    val *vals;
    struct frame *up;
    uint32_t n_nodes;
    const loom_node_id *nodes;
} frame;

typedef enum closure_kind {
    PULL_BODY, /* map: body over elements of operands; generate: body over indices */
    PULL_SLICE,
    PULL_REVERSE,
    PULL_ROTATE,
    PULL_GATHER,
    PULL_BACKPERMUTE,
    PULL_ARRAY,
    PULL_CONCAT,
    PULL_UPDATE,
    PULL_TRANSPOSE,
    PULL_FLATTEN,
    PULL_UNFLATTEN,
    PULL_CONSTANT, /* replicate */
    PULL_EITHER,   /* one of two, by a condition */
} closure_kind;

typedef struct index_step {
    loom_lexpr_id at;
    bool checked;
    loom_lsite_id site;
    bool here; /* in range under the condition of the present block, and there only: of what is manifest */
} index_step;
/* A value to be had inside a block: `base`, or what a body without parameters gives, or some of its leaves; indexed by
 * `path`. */
typedef struct thunk {
    val base;
    const loom_body *body; /* or NULL */
    struct frame *frame;
    const uint32_t *pick; /* numbers of leaves; NULL: all */
    uint32_t n_pick;
    uint32_t n_path;
    const index_step *path;
} thunk;

typedef struct closure {
    closure_kind kind;
    const loom_node *node;
    struct frame *frame;
    const val *operands;
    uint32_t n_operands;
    const extent *extents; /* of operands or of the result, by kind */
    const val *shape;      /* ARRAY, CONCAT, UPDATE: what all parts have in common */
    uint32_t n_bound, n_wanted;
    const index_step *bound;
    loom_lexpr_id condition;
    thunk either[2];
    bool beside_scalars; /* EITHER: bodies that are evaluated for an array give scalars too */
    bool checked;        /* operands are indexed with checks, though the index is in range of the result */
    bool proven;         /* GATHER: its indices are in range */
    loom_lsite_id site;
    uint32_t loop_depth;
    /* The last element pulled, while the block in which it was made is open. */
    index_step memo_at;
    uint32_t memo_block, memo_serial;
    val memo;
} closure;

typedef struct mark {
    uint32_t n_axes, n_values, n_exprs, n_args, n_blocks, n_ops, n_sites, n_shared, n_equal, n_segments, n_tests;
} mark;

typedef struct leaf_type {
    loom_dtype dtype;
    uint32_t depth;
} leaf_type;

typedef struct own_nodes {
    uint32_t first, count;
} own_nodes;

typedef struct vec {
    loom_arena *arena, *scratch;
    const loom_vectorise_request *request;
    const loom_program *p;
    loom_lifted *l;
    level levels[MAX_LEVELS];
    uint32_t depth;
    uint32_t mapped; /* the innermost level of a map or generate in the present part, + 1; 0: none */
    bool in_op;
    bool elementwise; /* the body of an elementwise operator is being evaluated: only parameters and constants */
    const loom_lexpr_id *point; /* elementwise: the indices of the point */
    uint32_t n_point;
    uint32_t loop_depth;     /* FOR and WHILE around the present expression */
    LOOM_VEC(uint32_t) open; /* serial numbers of the open blocks of expressions */
    uint32_t serial;
    const char *remark;
    bool lost; /* an extent was asked for outside of the rows that it differs between: nothing made since can be used */
    uint64_t steps, max_steps;
    /* per body: its own nodes, without those of inner bodies */
    own_nodes *own;
    loom_node_id *own_list;
    uint32_t *heavy;              /* by node: array operations among the nodes before it */
    uint32_t *leaf_counts;        /* by type */
    const leaf_type **leaf_types; /* by type, made when asked for */
    /* operations by hash of their content, for sharing; a stack, undone by marks */
    LOOM_VEC(struct shared) shared;
    uint32_t *shared_heads;
    LOOM_VEC(struct equal_axes) equal;
    LOOM_VEC(loom_axis_id) segments; /* segmented axes in scope */
    LOOM_VEC(struct tested_rows) tests;
    uint32_t inner_depth;   /* LOOPs and IFs around, outside of operations */
    struct target *targets; /* PERMUTE nodes that are results */
    uint32_t n_targets;
    /* By node: folds and scans in other words (halves.c), of which the first one that can be lifted is taken. */
    uint32_t n_written;
    struct written *written;
} vec;

/* Bodies + 1, or 0: with numbers of elements (winner.c) or as one array (joined.c), by halves; and with the ends of
 * arrays (window.c). */
typedef struct written {
    loom_body_id direct, halves, window;
    bool together; /* a loop with ends of arrays: not where elements turn apart */
} written;

/* aux of an INDEX that the vectoriser writes: in range where it is evaluated, and maybe nowhere else. */
#define VEC_INDEX_IN_RANGE 1
/* The same of a SLICE, beside its other bits: it lies in its array. */
#define VEC_SLICE_IN_RANGE 8

typedef struct shared {
    uint64_t hash;
    loom_lop_id op;
    uint32_t next;
} shared;
typedef struct equal_axes {
    loom_axis_id a, b;
} equal_axes;
/* Lengths, and the axis of the one length that they all are. */
typedef struct tested_rows {
    loom_lvalue_id lengths;
    loom_axis_id axis;
} tested_rows;
typedef struct target {
    const loom_node *node;
    uint32_t output;
    bool done;
} target;

/* What tests choose (compiler/ir/force.h). */
static inline bool vec_forces(const vec *v, uint32_t force) {
    return (v->request->force & force) != 0;
}
/* The largest known extent or number of turns that becomes a constant. */
static inline int64_t vec_most_constant(const vec *v) {
    return vec_forces(v, LOOM_FORCE_SYMBOLIC) ? -1 : SPECIALISE;
}

/* table.c */
mark vec_mark_here(const vec *v);
void vec_roll_back(vec *v, mark m);
void vec_close_scope(vec *v, mark m); /* forgets what may not be shared beyond a scope; keeps the tables */
void vec_prepare_tables(vec *v);
frame *vec_new_frame(vec *v, const loom_body *b, frame *up);
val *vec_slot(frame *f, loom_node_id node);
val vec_leaves_of(vec *v, uint32_t n, leaf **at);
uint32_t vec_leaf_count(const vec *v, loom_type_id type);
const leaf_type *vec_leaf_types(vec *v, loom_type_id type);
bool vec_refuse(vec *v, const loom_node *n, const char *format, ...) LOOM_PRINTF(3, 4);
bool vec_operand(vec *v, frame *f, const loom_node *n, uint32_t i, val *out); /* refuses BAD leaves */
bool vec_operands(vec *v, frame *f, const loom_node *n, val **out);
bool vec_count_step(vec *v, const loom_node *n);

/* leaf.c */
leaf vec_const_leaf(loom_dtype t, loom_scalar s);
leaf vec_int_leaf(int64_t i);
leaf vec_axis_leaf(loom_axis_id axis, uint32_t level);
leaf vec_extent_leaf(const vec *v, extent e);
bool vec_is_view(const leaf *x);  /* renaming sources suffices: no expression, no closure */
bool vec_is_scalar(const val *x); /* no leaf has own axes */
bool vec_is_int(const leaf *x, int64_t *value);
bool vec_is_unknown(extent e);
bool vec_same_extent(const vec *v, extent a, extent b);
leaf vec_bind_level(vec *v, const leaf *x, uint32_t level);             /* own axis 0 becomes the level */
leaf vec_unbind_level(vec *v, const leaf *x, uint32_t level, extent e); /* and back; e: of the level */
leaf vec_drop_own(vec *v, const leaf *x, index_step at); /* the own axes without the first, which is indexed */
leaf vec_replicate_leaf(vec *v, const leaf *x, extent e);
leaf vec_transpose_leaf(vec *v, const leaf *x, extent outer);
leaf vec_with_own(vec *v, const leaf *x, uint32_t k, extent e);
/* The leaf with other sources in place of those that are levels. */
typedef source (*level_source)(void *argument, uint32_t level);
leaf vec_with_levels(vec *v, const leaf *x, level_source to, void *argument);
uint64_t vec_level_mask(const vec *v, const leaf *x);
bool vec_maybe_empty(const vec *v, loom_axis_id axis);

/* segment.c: axes whose extent differs from row to row */
/* One for each axis of its lengths; 0 where it is not segmented. */
uint32_t vec_n_sources(const vec *v, extent e);
bool vec_is_segmented(const vec *v, extent e);
bool vec_any_segmented(const vec *v, const extent *own, uint32_t n);
/* Own axes whose extent depends on one of the first n. */
bool vec_depends_on_own(const vec *v, extent e, uint32_t n);
/* The extent of the level. */
extent vec_level_extent(vec *v, uint32_t level);
bool vec_is_level(const vec *v, uint32_t level, extent e);
/* The extent of an own axis where the own axes before it are the levels from `base` on. */
extent vec_own_as_level(vec *v, extent e, uint32_t base);
/* Known, and no expression stands in it. */
bool vec_is_settled(const vec *v, extent e);
/* Axis of the lengths that a leaf without own axes is, or that it is along `own` (its own axes). */
extent vec_segments(vec *v, const leaf *lengths);
/* The same of lengths that have one already. */
extent vec_segments_of(vec *v, const leaf *lengths);
/* Whether the extents are those of the same rows of lengths over as many axes. */
bool vec_same_rows(const vec *v, extent a, extent b);
/* The mask with all levels that extents of levels in it depend on. */
uint64_t vec_close_mask(const vec *v, uint64_t mask);
uint64_t vec_parent_mask(const vec *v, uint32_t level);
loom_lexpr_id vec_x_total(vec *v, loom_axis_id axis);

/* tested.c: rows that are taken to be of one length */
/* The axis of lengths that are computed, not negative: tested where the request asks for it, else vec_count_extent. */
bool vec_row_extent(vec *v, const loom_node *n, const leaf *lengths, extent *e);
/* The leaf is lengths that were tested: their axis. */
bool vec_tested_extent(const vec *v, const leaf *lengths, extent *e);
bool vec_any_tested(const vec *v, const extent *own, uint32_t n);

/* emit.c: expressions and operations */
loom_lexpr_id vec_x_const(vec *v, loom_dtype t, loom_scalar s);
loom_lexpr_id vec_x_int(vec *v, int64_t i);
loom_lexpr_id vec_x_axis(vec *v, uint32_t level);
loom_lexpr_id vec_x_prim(vec *v, loom_prim prim, loom_dtype t, const loom_lexpr_id *args, loom_lsite_id site);
loom_lexpr_id vec_x_prim2(vec *v, loom_prim prim, loom_lexpr_id a,
                          loom_lexpr_id b); /* i64 or bool result, cannot trap */
loom_lexpr_id vec_x_extent(vec *v, extent e);
loom_lexpr_id vec_x_param(vec *v, loom_dtype t, uint32_t position);
loom_lexpr_id vec_x_check(vec *v, loom_lexpr_id condition, loom_lexpr_id value, const loom_lexpr_id *numbers,
                          uint32_t n_numbers, loom_lsite_id site);
loom_lexpr_id vec_x_result(vec *v, loom_lexpr_id of, loom_dtype t, uint32_t i, uint32_t n);
bool vec_to_expr(vec *v, const leaf *x, loom_lexpr_id *e); /* a scalar leaf */
/* The same; where an index of a load that may be out of range is, the constant. */
bool vec_load_or_const(vec *v, const leaf *x, loom_scalar otherwise, loom_lexpr_id *e);
/* The load that was made last as one of what is there, or `otherwise`. */
loom_lexpr_id vec_default_load(vec *v, loom_lexpr_id id, loom_lexpr_id otherwise);
leaf vec_expr_leaf(const vec *v, loom_lexpr_id e);
val vec_one(vec *v, loom_lexpr_id e); /* that leaf alone */
typedef struct open_block {
    loom_lexpr_id first;
} open_block;
open_block vec_block_open(vec *v);
loom_lblock_id vec_block_close(vec *v, open_block b, uint32_t n_params, const loom_dtype *params, uint32_t n,
                               const loom_lexpr_id *results);
typedef struct op_axes {
    uint32_t n;
    uint32_t level[MAX_LEVELS];
    loom_axis_id axis[MAX_LEVELS];
} op_axes;
typedef bool (*builder)(vec *v, void *argument, val *result);
/* Runs `build` inside an operation and makes what it gives manifest: COMPUTE operations, or views where those suffice.
 */
bool vec_emit_compute(vec *v, const loom_node *n, builder build, void *argument, val *result);
/* The own axes of the first leaf that `build` gives, and nothing else of it. */
bool vec_emit_extents(vec *v, const loom_node *n, builder build, void *argument, const extent **own);
bool vec_materialise(vec *v, const loom_node *n, val *x);
/* The value whose axes are exactly the context levels in `mask` (the chunk first), then the own axes in order. */
bool vec_canonical(vec *v, const loom_node *n, const leaf *x, uint64_t mask, loom_lvalue_id *value);
/* The same, always by an operation of its own. */
bool vec_copy_value(vec *v, const loom_node *n, const leaf *x, uint64_t mask, loom_lvalue_id *value);
/* A COMPUTE that reads all elements of a leaf, over the levels in `mask` and its own axes; without results yet. */
bool vec_read_all(vec *v, const loom_node *n, const leaf *x, uint64_t mask, loom_lop *op, op_axes *axes);
bool vec_chunk_among(const vec *v, const extent *own, uint32_t n);
bool vec_emit_check(vec *v, const loom_node *n, builder build, void *argument, loom_trap_text text);
/* Levels of the context that are not in `used` and may be empty; and the condition that none of them is. */
/* Of a flag over the levels `here`: it holds only where those that may be empty, but for what `used` has to do with,
 * are not. */
bool vec_guard_flag(vec *v, const loom_node *n, uint64_t used, uint64_t here, leaf *flag);
uint64_t vec_unguarded(const vec *v, uint64_t used);
loom_lexpr_id vec_guard_condition(vec *v, uint64_t mask, uint64_t used);
/* Whether that condition says of rows that differ in length too what it should. */
bool vec_guard_is_exact(vec *v, uint64_t mask, uint64_t used);
#define VEC_UNLIKE_ROWS "what may fail inside of rows of two kinds that differ in length, and depends on neither"
void vec_op_begin(vec *v);                     /* from here expressions are made ... */
void vec_op_end(vec *v);                       /* ... to here */
void vec_forget_exprs(vec *v, mark m);         /* roll back expressions, blocks and sites, but not axes */
bool vec_is_free(const vec *v, const leaf *x); /* a view that names no expression */
uint64_t vec_used_levels(const vec *v, loom_lexpr_id first);
/* Levels from n_fixed on keep their order. Segmented axes become those of all axes before them; this may make
 * operations, and so expressions: blocks that are under construction are to be closed before. */
op_axes vec_order_axes(vec *v, uint64_t mask, uint32_t n_fixed);
/* The same with the own axes of a leaf behind them; refuses what cannot be known. */
bool vec_value_axes(vec *v, const loom_node *n, uint64_t mask, uint32_t n_own, const extent *own, op_axes *axes);
void vec_place_axes(vec *v, loom_lexpr_id first, loom_lexpr_id end, const op_axes *axes); /* AXIS: level to position */
leaf vec_result_leaf(vec *v, loom_lvalue_id value, const op_axes *axes, uint32_t n_own, const extent *own);
/* The value of an i64 expression over some axes, whose AXIS name positions; made once. */
loom_lvalue_id vec_share_compute(vec *v, loom_lexpr_id first, const op_axes *axes, loom_lexpr_id e);
loom_lop vec_plain_op(const vec *v, const loom_node *n, loom_lop_kind kind, const op_axes *axes);
loom_lvalue_id vec_new_value(vec *v, const loom_node *n, loom_dtype t, const op_axes *axes); /* of the next operation */
loom_lexpr vec_plain_expr(loom_lexpr_kind kind, loom_dtype t);
bool vec_push_level(vec *v, const loom_node *n, extent e);
/* Own axes [0, n_own) of a leaf as levels behind the present ones. */
bool vec_push_own(vec *v, const loom_node *n, const extent *own, uint32_t n_own);

/* extent.c */
extent vec_count_extent(vec *v, const leaf *x); /* not negative, whoever sees to that */
/* The product (MUL) or the sum (ADD) of two extents; one of more than 2^63 is an error of the program. */
bool vec_join_extents(vec *v, const loom_node *n, loom_prim prim, const leaf *a, const leaf *b, leaf *joined);
/* The product of extents as they are: no error, and 2^63 - 1 where it is more, for which nobody has memory. */
bool vec_multiply_points(vec *v, const loom_node *n, const leaf *a, const leaf *b, leaf *product);
bool vec_as_extent(vec *v, const loom_node *n, const leaf *x, extent *e);
bool vec_unify(vec *v, const loom_node *n, extent a, extent b, loom_trap_text text, extent *e);
bool vec_common_length(vec *v, const loom_node *n, const val *xs, uint32_t n_xs, extent *e);
bool vec_scalar_prim(vec *v, const loom_node *n, loom_prim prim, const leaf *a, const leaf *b, leaf *result);
bool vec_slice_extent(vec *v, const loom_node *n, const leaf *from, const leaf *to, int64_t step, extent *e);
bool vec_known_equal(const vec *v, extent a, extent b);
bool vec_dim_leaf(vec *v, const loom_node *n, const leaf *x, uint32_t level, leaf *result);
bool vec_evaluate_prim(loom_prim prim, const leaf *args, uint32_t n, loom_scalar *result);

/* delayed.c */
bool vec_pull(vec *v, const loom_node *n, const val *x, index_step at, val *element);
bool vec_pull_path(vec *v, const loom_node *n, val x, const index_step *path, uint32_t n_path, val *element);
index_step vec_at_expr(loom_lexpr_id e);
/* Operations that move elements: views where possible, PULL leaves else. False with no remark: not such an operation.
 */
bool vec_is_delayed(loom_op op);
bool vec_delay(vec *v, frame *f, const loom_node *n, val *result);
/* flatten, of whatever rows. */
bool vec_delay_flatten(vec *v, const loom_node *n, const val *x, val *result);
/* The same, manifest, in place of the array. */
bool vec_flatten_once(vec *v, const loom_node *n, val *x);
bool vec_delay_body(vec *v, frame *f, const loom_node *n, const val *args, uint32_t n_args, val *result);
/* What a body without parameters gives, evaluated and forgotten: its extents, as far as axes. */
bool vec_probe_body(vec *v, const loom_body *b, frame *f, val *x);
bool vec_either(vec *v, const loom_node *n, loom_lexpr_id condition, const thunk *a, const thunk *b, const val *like,
                val *result);
bool vec_index_value(vec *v, const loom_node *n, const val *x, const leaf *index, val *element);
bool vec_indexes_by_levels(const vec *v, const loom_node *n, const val *ops);

/* scalar.c: expression mode */
bool vec_expr_node(vec *v, frame *f, loom_node_id id, val *result);
bool vec_expr_body(vec *v, const loom_body *b, const val *args, frame *up, val *result);
bool vec_simple_node(vec *v, frame *f, const loom_node *n, val *result, bool *done); /* views, alike in both modes */

/* lift.c: operation mode */
bool vec_lift_node(vec *v, frame *f, loom_node_id id, val *result);
bool vec_lift_body(vec *v, const loom_body *b, const val *args, frame *up, val *result);
bool vec_has_arrays(const vec *v, const loom_body *b); /* operations worth a nest of their own */
bool vec_by_expressions(vec *v, frame *f, loom_node_id id,
                        val *result); /* the node as the body of COMPUTE operations */

/* halves.c: folds and scans whose operator is not elementwise */
void vec_write_halves(vec *v, const loom_body *stage);
/* False without a remark where there is no such form of it. */
bool vec_lift_halves(vec *v, frame *f, loom_node_id id, val *result);

/* window.c: loops that take elements off the ends of arrays in their states. As for vec_write_winner; loop: that of the
 * ends. */
bool vec_write_window(loom_arena *scratch, loom_program *p, loom_node_id id, loom_node_id *map, loom_body_id *body,
                      loom_node_id *loop);
/* In these words, where there are any; false without a remark else. */
bool vec_lift_window(vec *v, frame *f, loom_node_id id, val *result);
bool vec_expr_window(vec *v, frame *f, loom_node_id id, val *result);
bool vec_turns_together(const vec *v, const loom_node *n);

/* joined.c: folds and scans that put rows one behind the other. As for vec_write_winner. */
bool vec_write_joined(loom_program *p, loom_node_id id, loom_node_id *map, loom_body_id *body);

/* winner.c: folds and scans whose operator gives one of its operands. The body has the operands of the node for
 * parameters; fold: that of the numbers, inside of it. map: by node of the program, each itself. */
bool vec_write_winner(loom_arena *scratch, loom_program *p, loom_node_id id, loom_node_id *map, loom_body_id *body,
                      loom_node_id *fold);

/* reduce.c, permute.c, control.c */
bool vec_lift_fold(vec *v, frame *f, loom_node_id id, val *result);
bool vec_lift_scan(vec *v, frame *f, loom_node_id id, val *result);
/* The operator body as a closed block over the states of `group` (indices into `like`); refuses what is not
 * elementwise. */
bool vec_combine_block(vec *v, const loom_node *n, const loom_body *op, frame *up, const leaf *like, uint32_t n_like,
                       const uint32_t *group, uint32_t n_group, loom_lblock_id *block);
bool vec_combine_merge(vec *v, const loom_node *n, const loom_body *merge, const val *inputs, uint32_t n_inputs,
                       const leaf *like, uint32_t n_like, const uint32_t *group, loom_lblock_id *block);
uint16_t vec_builtin_of(const vec *v, loom_lblock_id combine);
/* Whether the operator, whose block is `combine`, can make nothing but an error of operands that differ in shape. */
bool vec_zips(const vec *v, const loom_body *op, loom_lblock_id combine);
/* (a, x) -> prim a x, on i64 */
loom_lblock_id vec_prim_block(vec *v, loom_prim prim);
bool vec_lift_permute(vec *v, frame *f, loom_node_id id, val *result);
bool vec_lift_scatter(vec *v, frame *f, loom_node_id id, val *result);
bool vec_lift_fft(vec *v, frame *f, loom_node_id id, val *result);
bool vec_lift_sort(vec *v, frame *f, loom_node_id id, val *result);
bool vec_lift_filter(vec *v, frame *f, loom_node_id id, val *result);
/* Exclusive sums of an i64 array along its axis, and the total; sums: NULL where the total alone is wanted. */
bool vec_lift_sums(vec *v, const loom_node *n, const val *numbers, extent length, leaf *sums, leaf *total);
/* The array with i at places[i], where that is not negative: all places in [0, count) are told once. */
bool vec_lift_compaction(vec *v, const loom_node *n, const val *places, extent length, extent count, val *from);
/* Rows that differ in length, one behind the other. */
bool vec_lift_flatten(vec *v, const loom_node *n, const val *xs, val *result);
/* xs[from[i]], where from is known to be in range. */
bool vec_lift_choice(vec *v, const loom_node *n, const val *xs, const val *from, val *result);
/* The place of each true flag among them, and how many there are. */
bool vec_lift_places(vec *v, const loom_node *n, const leaf *flag, extent length, leaf *place, leaf *count);
/* from[place[i]] = i where the flag is `which`: over an axis of `count` elements. */
bool vec_lift_chosen(vec *v, const loom_node *n, const leaf *flag, const leaf *place, bool which, extent length,
                     extent count, val *from);
bool vec_lift_if(vec *v, frame *f, loom_node_id id, val *result);
bool vec_lift_loop(vec *v, frame *f, loom_node_id id, val *result);

/* ---- part.c: some of the points of the context, under a level of their own ---- */

/* All points of some levels, in order, under one axis. */
typedef struct points {
    uint64_t mask;
    op_axes axes; /* of the levels */
    extent all;
    leaf index[MAX_LEVELS]; /* by level, where there are several: its index at all points, an array */
} points;
/* The number of points of some axes. */
bool vec_count_points(vec *v, const loom_node *n, uint32_t n_axes, const loom_axis_id *axes, leaf *count);
/* All of the leaf, over the levels in `mask`, in order under other axes of as many points. */
bool vec_dense_value(vec *v, const loom_node *n, const leaf *x, uint64_t mask, const op_axes *to,
                     loom_lvalue_id *value);
bool vec_all_points(vec *v, const loom_node *n, uint64_t mask, points *p);
/* A scalar over levels of the points, as an array of all of them; and back. */
bool vec_points_array(vec *v, const loom_node *n, const points *p, const leaf *x, leaf *array);
bool vec_points_scalar(vec *v, const loom_node *n, const points *p, const leaf *array, leaf *x);

/* What an extent was before it was seen in a part. */
typedef struct seen_extent {
    extent before, here;
} seen_extent;
typedef struct part {
    uint64_t mask;   /* levels that `level` stands for */
    uint32_t depth;  /* of the context around */
    uint32_t mapped; /* likewise */
    uint32_t level;
    leaf index[MAX_LEVELS];       /* by level of the mask: its index at each point of the part */
    uint32_t renamed[MAX_LEVELS]; /* levels with rows that depend on those: the levels that stand for them */
    uint64_t moved;               /* which ones these are */
    uint64_t hidden;
    bool alone; /* of no levels: one point or none. What comes from around is inside of it all the same */
    LOOM_VEC(seen_extent) extents;
} part;
/* Inside there is a level more, of the points all[from[i]]; the levels of the points are hidden. */
bool vec_part_enter(vec *v, const loom_node *n, const points *all, const val *from, part *p);
void vec_part_leave(vec *v, const part *p);
/* Values of the context around, inside of the part. */
bool vec_part_see(vec *v, const loom_node *n, part *p, const val *x, val *seen);
/* All that the body has from around; and as it is seen inside. */
frame *vec_outer_values(vec *v, const loom_body *b, frame *f);
bool vec_part_frame(vec *v, const loom_node *n, part *p, const frame *outer, frame **inside);
/* The own axes of a value of the context around, as they are inside. */
bool vec_part_extents(vec *v, const loom_node *n, part *p, const leaf *x, const extent **own);
/* Leaves made inside, for an operation of the context around: the expression is the place of the point in the part.
 * IN_RANGE_HERE: where some points have none. */
leaf vec_part_leaf(vec *v, const part *p, const leaf *x, loom_lexpr_id place, source_range range);
/* The extent that is seen as this one inside, or one that is not known. */
extent vec_part_extent(const vec *v, const part *p, extent e);

/* turns.c: a loop that differs between elements, with a state or a body that needs memory. */
bool vec_lift_turns(vec *v, frame *f, const loom_node *n, const val *initial, val *result);

/* Around the operations of a LOOP or IF. */
void vec_open_inner(vec *v);
void vec_close_inner(vec *v, mark m);

/* split.c: a condition that differs between elements, with branches that need memory. */
bool vec_split_if(vec *v, frame *f, const loom_node *n, const leaf *condition, val *result);

loom_scalar vec_zero_scalar(void);
/* What is said of an error at the node, and a place that raises it. `detail` as loom_trap_describe has it. */
loom_trap_text vec_trap(vec *v, const loom_node *n, loom_trap trap, uint32_t detail);
loom_lsite_id vec_site(vec *v, const loom_node *n, loom_trap trap, uint32_t detail);
const char *vec_copy_text(vec *v, const char *format, ...) LOOM_PRINTF(2, 3);

#endif
