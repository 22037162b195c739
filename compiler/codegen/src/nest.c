/* Loop nests over the index space of one operation.
 *
 * Rules. COMPUTE: loops in the order of the axes; each expression at the outermost loop that fixes all axes it depends
 * on; where a load runs across the last two, in tiles of these (tile.c). REDUCE: without axes inside the
 * reduced one, accumulators in registers (LLVM makes vectors of them, additions may be reordered); with such axes, a
 * row of accumulators in memory and the inner axes innermost, so that strides stay 1. SCAN: the scanned axis innermost,
 * running values in registers. PERMUTE with context: one after another, in order; to distinct places: in any order. A
 * nest is entered only if no loop of it is empty: what is hoisted may then trap exactly when the program would have.
 *
 * Segmented axes. Their bounds are known when the axes before them are; what stands outside of such a loop is built
 * where the list at hand has elements, or, if it depends on no axis, where any list has. A COMPUTE or CHECK is divided
 * by elements and not by lists, since these may be very unlike: a range of elements begins in the list that a search in
 * the offsets finds.
 *
 * Example: result[i] = sum over j of a[i, j] * b[i] becomes
 *     for i in [from, to): t = load b[i]; s = 0; for j: s = s + load a[i, j] * t; store result[i] = s
 */
#include "nest.h"
#include <math.h>
#include <string.h>

static const loom_cut *cut_of(const nest *N, uint32_t position) {
    for (uint32_t i = 0; i < N->n_cuts; i++) {
        if (N->cuts[i].position == position) return &N->cuts[i];
    }
    return NULL;
}

LLVMValueRef loom_nest_lower(const nest *N, uint32_t position) {
    const loom_cut *cut = cut_of(N, position);
    if (cut) return cut->from;
    return position == N->bounds->position ? N->bounds->from : loom_fn_i64(N->fn, 0);
}

LLVMValueRef loom_nest_upper(const nest *N, uint32_t position) {
    const loom_cut *cut = cut_of(N, position);
    if (cut) return cut->to;
    if (position == N->bounds->position) return N->bounds->to;
    loom_fn *fn = N->fn;
    loom_axis_id axis = N->op->axes[position];
    if (!loom_gen_is_segmented(fn->g, axis)) return loom_fn_extent(fn, axis);
    return loom_fn_length(fn, axis, loom_fn_list(fn, position, N->op->axes, fn->axis));
}

static bool is_segmented(const nest *N, uint32_t position) {
    return loom_gen_is_segmented(N->fn->g, N->op->axes[position]);
}

/* i1: the axis has elements, in some list; NULL where that is known. */
static LLVMValueRef has_elements(const nest *N, uint32_t position) {
    if (position != N->bounds->position && is_segmented(N, position)) {
        LLVMValueRef total = loom_fn_extent(N->fn, N->op->axes[position]);
        return LLVMBuildICmp(N->fn->b, LLVMIntSGT, total, loom_fn_i64(N->fn, 0), "");
    }
    const loom_axis *axis = &N->fn->g->l->axes[N->op->axes[position]];
    if (position != N->bounds->position && axis->kind == LOOM_AXIS_CONST && axis->extent > 0) return NULL;
    return LLVMBuildICmp(N->fn->b, LLVMIntSLT, loom_nest_lower(N, position), loom_nest_upper(N, position), "");
}

/* Branches on all given axes having elements. Returns the block for the case that one has none, or NULL. */
static LLVMBasicBlockRef guard(nest *N, const uint32_t *positions, uint32_t n) {
    LLVMValueRef all = NULL;
    for (uint32_t i = 0; i < n; i++) {
        LLVMValueRef some = has_elements(N, positions[i]);
        if (some) all = all ? LLVMBuildAnd(N->fn->b, all, some, "") : some;
    }
    if (!all) return NULL;
    LLVMBasicBlockRef full = loom_fn_block(N->fn, "full"), empty = loom_fn_block(N->fn, "empty");
    LLVMBuildCondBr(N->fn->b, all, full, empty);
    LLVMPositionBuilderAtEnd(N->fn->b, full);
    return empty;
}

static void go_on(loom_fn *fn, LLVMBasicBlockRef at) {
    if (!at) return;
    LLVMBuildBr(fn->b, at);
    LLVMPositionBuilderAtEnd(fn->b, at);
}

static void reduce_into_memory(nest *N, uint64_t known);

/* Whether a loop further in may be empty though the guard of the nest has been passed. */
static bool may_be_empty(const nest *N, uint32_t level, uint32_t end) {
    if (N->rows) return true;
    for (uint32_t i = level; i < end; i++) {
        if (is_segmented(N, N->order[i])) return true;
    }
    return false;
}

/* Goes on where there are elements; returns where there are none. */
static LLVMBasicBlockRef skip_if_empty(loom_fn *fn, LLVMValueRef lo, LLVMValueRef hi) {
    LLVMBasicBlockRef some = loom_fn_block(fn, "some"), none = loom_fn_block(fn, "none");
    LLVMBuildCondBr(fn->b, LLVMBuildICmp(fn->b, LLVMIntSLT, lo, hi, ""), some, none);
    LLVMPositionBuilderAtEnd(fn->b, some);
    return none;
}

void loom_nest_loops(nest *N, uint32_t level, uint32_t end, uint64_t known, loom_nest_code inner) {
    loom_fn *fn = N->fn;
    if (N->body != LOOM_NONE && (known == 0 || !may_be_empty(N, level, end))) loom_block_build(fn, N->body, known);
    if (level == end) {
        inner(N, known);
        return;
    }
    uint32_t position = N->order[level];
    LLVMValueRef lo = loom_nest_lower(N, position), hi = loom_nest_upper(N, position);
    LLVMBasicBlockRef none = is_segmented(N, position) ? skip_if_empty(fn, lo, hi) : NULL;
    if (none && N->body != LOOM_NONE && !may_be_empty(N, level + 1, end)) loom_block_build(fn, N->body, known);
    bool innermost =
        level + 1 == end && N->body != LOOM_NONE && (inner == loom_nest_point || inner == reduce_into_memory);
    bool deferred = innermost && loom_defer_open(fn, N->body, position);
    loom_loop loop;
    loom_loop_open(fn, &loop, lo, hi, NULL);
    loop.elementwise = innermost && inner == loom_nest_point;
    fn->axis[position] = loop.index;
    if (position == 0) fn->element = loop.index;
    loom_nest_loops(N, level + 1, end, known | (uint64_t)1 << position, inner);
    if (position == 0) fn->element = NULL;
    loom_loop_close(fn, &loop);
    if (deferred) loom_defer_close(fn, N->body, known, position, lo, hi);
    go_on(fn, none);
}

static void order_all(nest *N) {
    N->n = N->op->n_axes;
    for (uint32_t i = 0; i < N->n; i++) N->order[i] = i;
}

/* All axes but `last`, then that one. */
static void order_last(nest *N, uint32_t last) {
    N->n = 0;
    for (uint32_t i = 0; i < N->op->n_axes; i++) {
        if (i != last) N->order[N->n++] = i;
    }
    N->order[N->n++] = last;
}

static const loom_place *result_place(nest *N, uint32_t j) {
    return N->bounds->partial ? &N->bounds->partial[j] : loom_fn_place(N->fn, N->op->results[j]);
}

/* Offset of the point in result j, whose axes are those of the operation without `skip`; of a sliced one in the slice.
 */
static LLVMValueRef result_offset(nest *N, uint32_t j, uint32_t skip) {
    loom_fn *fn = N->fn;
    LLVMValueRef indices[LOOM_LIFTED_MAX_AXES + 1];
    uint32_t n = 0;
    if (N->op->sliced) {
        const loom_place *into = loom_fn_place(fn, N->op->into);
        indices[n++] = loom_fn_load(fn, LOOM_I64, into->base, loom_fn_i64(fn, 0), into->scope, into->constant).re;
    }
    for (uint32_t i = 0; i < N->op->n_axes; i++) {
        if (i != skip) indices[n++] = fn->axis[i];
    }
    if (N->op->dense) return fn->flat ? fn->flat : loom_fn_list(fn, n, N->op->axes, indices);
    if (!N->bounds->partial) return loom_fn_offset(fn, N->op->results[j], indices);
    LLVMValueRef offset = n ? indices[0] : loom_fn_i64(fn, 0);
    const loom_lvalue *v = &fn->g->l->values[N->op->results[j]];
    for (uint32_t i = 1; i < n; i++) {
        offset = LLVMBuildNSWMul(fn->b, offset, loom_fn_extent(fn, v->axes[i]), "");
        offset = LLVMBuildNSWAdd(fn->b, offset, indices[i], "");
    }
    return offset;
}

static loom_dtype result_dtype(const nest *N, uint32_t j) {
    return N->fn->g->l->values[N->op->results[j]].dtype;
}

/* What a range has of a row: the row's, if it begins in the range. */
static void store_row(nest *N, uint32_t j, uint32_t skip, loom_sv value) {
    loom_fn *fn = N->fn;
    const loom_place *place = result_place(N, j), *head = &N->bounds->head[j];
    LLVMValueRef zero = loom_fn_i64(fn, 0),
                 begun = LLVMBuildICmp(fn->b, LLVMIntSGT, N->cuts[N->n_cuts - 1].from, zero, "");
    LLVMValueRef offset = LLVMBuildSelect(fn->b, begun, zero, result_offset(N, j, skip), "");
    LLVMValueRef base = LLVMBuildSelect(fn->b, begun, head->base, place->base, "");
    loom_fn_store(fn, result_dtype(N, j), base, offset, place->scope, value);
}

static void store_result(nest *N, uint32_t j, uint32_t skip, loom_sv value) {
    if (N->bounds->head) {
        store_row(N, j, skip, value);
        return;
    }
    const loom_place *place = result_place(N, j);
    loom_count_store(N->fn, N->op->results[j]);
    loom_fn_store(N->fn, result_dtype(N, j), place->base, result_offset(N, j, skip), place->scope, value);
}

static loom_sv *scalars(const nest *N, size_t n) {
    return LOOM_NEW_ARRAY(N->fn->g->arena, loom_sv, n + 1);
}

/* ---- COMPUTE and CHECK ---- */

void loom_nest_point(nest *N, uint64_t known) {
    (void)known;
    for (uint32_t j = 0; j < N->op->n_results; j++) store_result(N, j, LOOM_NONE, loom_block_result(N->fn, N->body, j));
}

static void check_point(nest *N, uint64_t known) {
    (void)known;
    loom_fn *fn = N->fn;
    const loom_lblock *body = &fn->g->l->blocks[N->body];
    LLVMValueRef number[2] = {NULL, NULL};
    for (uint32_t i = 1; i < body->n_results && i < 3; i++) number[i - 1] = loom_block_result(fn, N->body, i).re;
    LLVMValueRef bad = LLVMBuildNot(fn->b, loom_block_result(fn, N->body, 0).re, "");
    loom_fn_raise_if(fn, bad, N->op->site, number[0], number[1]);
}

/* ---- a range of elements of all lists ---- */

/* The indices of list number `list` along the axes [0, n). */
static void find_indices(nest *N, uint32_t n, LLVMValueRef list) {
    loom_fn *fn = N->fn;
    const loom_axis_id *axes = N->op->axes;
    for (uint32_t i = n; i-- > 0;) {
        if (i == 0) {
            fn->axis[0] = list;
        } else if (is_segmented(N, i)) {
            LLVMValueRef outer = loom_fn_find_list(fn, axes[i], loom_fn_lists(fn, i, axes), list);
            fn->axis[i] = LLVMBuildNSWSub(fn->b, list, loom_fn_first(fn, axes[i], outer), "");
            list = outer;
        } else {
            LLVMValueRef extent = loom_fn_extent(fn, axes[i]);
            fn->axis[i] = LLVMBuildURem(fn->b, list, extent, "");
            list = LLVMBuildUDiv(fn->b, list, extent, "");
        }
    }
}

static LLVMValueRef least(loom_fn *fn, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildSelect(fn->b, LLVMBuildICmp(fn->b, LLVMIntSLT, a, b, ""), a, b, "");
}

static LLVMValueRef most(loom_fn *fn, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildSelect(fn->b, LLVMBuildICmp(fn->b, LLVMIntSGT, a, b, ""), a, b, "");
}

/* What list number `list` has of the range, along the divided axis and those inside it. */
static void part_of_list(nest *N, LLVMValueRef list, loom_nest_code inner) {
    loom_fn *fn = N->fn;
    uint32_t s = N->bounds->position;
    loom_axis_id axis = N->op->axes[s];
    LLVMValueRef first = loom_fn_first(fn, axis, list),
                 next = loom_fn_first(fn, axis, LLVMBuildNSWAdd(fn->b, list, loom_fn_i64(fn, 1), ""));
    LLVMValueRef from = most(fn, N->bounds->from, first), to = least(fn, N->bounds->to, next);
    LLVMBasicBlockRef none = skip_if_empty(fn, from, to);
    find_indices(N, s, list);
    fn->element = fn->axis[0];
    nest part = *N;
    part.n = 0;
    if (!N->bounds->head) {
        for (uint32_t i = s; i < N->op->n_axes; i++) part.order[part.n++] = i;
    }
    part.cuts[part.n_cuts++] =
        (loom_cut){s, LLVMBuildNSWSub(fn->b, from, first, ""), LLVMBuildNSWSub(fn->b, to, first, "")};
    loom_nest_loops(&part, 0, part.n, ((uint64_t)1 << s) - 1, inner);
    fn->element = NULL;
    go_on(fn, none);
}

static void element_nest(nest *N, loom_nest_code inner) {
    loom_fn *fn = N->fn;
    uint32_t s = N->bounds->position;
    loom_axis_id axis = N->op->axes[s];
    LLVMValueRef lists = loom_fn_lists(fn, s, N->op->axes);
    LLVMValueRef begin = loom_fn_find_list(fn, axis, lists, N->bounds->from);
    LLVMValueRef last = LLVMBuildNSWSub(fn->b, N->bounds->to, loom_fn_i64(fn, 1), "");
    LLVMValueRef end = loom_fn_find_list(fn, axis, lists, last);
    loom_block_build(fn, N->body, 0);
    loom_loop loop;
    loom_loop_open(fn, &loop, begin, LLVMBuildNSWAdd(fn->b, end, loom_fn_i64(fn, 1), ""), NULL);
    part_of_list(N, loop.index, inner);
    loom_loop_close(fn, &loop);
}

/* Whether all that the body does with indices is to read values over the same axes at its own point, and nothing can
 * fail: then lists do not matter. */
static bool is_flat(const nest *N) {
    const loom_lifted *l = N->fn->g->l;
    const loom_lop *op = N->op;
    const loom_lblock *b = &l->blocks[N->body];
    uint32_t n_axes = 0, n_indices = 0;
    if (op->kind != LOOM_LO_COMPUTE || op->sliced) return false;
    for (loom_lexpr_id id = b->first; id < b->end; id++) {
        const loom_lexpr *e = &l->exprs[id];
        if (e->site != LOOM_NONE || e->kind == LOOM_LX_WHILE || e->kind == LOOM_LX_FOR || e->kind == LOOM_LX_IF)
            return false;
        uint32_t axes_among = 0;
        for (uint32_t i = 0; i < e->n_args; i++) axes_among += l->exprs[loom_lifted_arg(l, e, i)].kind == LOOM_LX_AXIS;
        n_axes += axes_among;
        if (e->kind != LOOM_LX_LOAD || !l->values[e->aux].n_axes) continue;
        const loom_lvalue *v = &l->values[e->aux];
        if (e->mode != LOOM_LOAD_PROVEN || v->n_axes != op->n_axes ||
            memcmp(v->axes, op->axes, v->n_axes * sizeof *v->axes) != 0)
            return false;
        for (uint32_t i = 0; i < v->n_axes; i++) {
            const loom_lexpr *index = &l->exprs[loom_lifted_arg(l, e, i)];
            if (index->kind != LOOM_LX_AXIS || index->aux != i) return false;
        }
        n_indices += axes_among;
    }
    for (uint32_t i = 0; i < b->n_results; i++) n_axes += l->exprs[b->results[i]].kind == LOOM_LX_AXIS;
    return n_axes == n_indices;
}

/* One loop over the elements of the range, however many lists there are. */
static void flat_nest(nest *N) {
    loom_fn *fn = N->fn;
    LLVMValueRef from = N->bounds->from, to = N->bounds->to;
    for (uint32_t i = N->bounds->position + 1; i < N->op->n_axes; i++) {
        LLVMValueRef extent = loom_fn_extent(fn, N->op->axes[i]);
        from = LLVMBuildNSWMul(fn->b, from, extent, "");
        to = LLVMBuildNSWMul(fn->b, to, extent, "");
    }
    loom_block_build(fn, N->body, 0);
    loom_loop loop;
    loom_loop_open(fn, &loop, from, to, NULL);
    loop.elementwise = true;
    fn->flat = loop.index;
    for (uint32_t i = 0; i < N->op->n_axes; i++) fn->axis[i] = loom_fn_i64(fn, 0); /* looked at by nobody */
    loom_block_build(fn, N->body, ~(uint64_t)0);
    loom_nest_point(N, 0);
    fn->flat = NULL;
    loom_loop_close(fn, &loop);
}

static void whole_nest(nest *N, loom_nest_code inner) {
    order_all(N);
    loom_block_reset(N->fn, N->body, NULL);
    LLVMBasicBlockRef empty = guard(N, N->order, N->n);
    if (N->bounds->position != LOOM_NONE && is_segmented(N, N->bounds->position) && is_flat(N)) {
        flat_nest(N);
        go_on(N->fn, empty);
        return;
    }
    if (N->bounds->position != LOOM_NONE && is_segmented(N, N->bounds->position)) {
        element_nest(N, inner);
        go_on(N->fn, empty);
        return;
    }
    if (inner == loom_nest_point && loom_tile_fits(N)) {
        loom_nest_loops(N, 0, N->n - 2, 0, loom_tile);
    } else {
        loom_nest_loops(N, 0, N->n, 0, inner);
    }
    go_on(N->fn, empty);
}

/* ---- REDUCE ---- */

static void store_neutral(nest *N, uint64_t known) {
    (void)known;
    uint32_t k = N->op->n_results;
    loom_sv *neutral = scalars(N, k);
    loom_block_eval(N->fn, N->op->ne, NULL, false, neutral);
    for (uint32_t j = 0; j < k; j++) store_result(N, j, N->op->reduce, neutral[j]);
}

/* The reduced axis is the innermost: accumulators in registers. */
static void reduce_row(nest *N, uint64_t known) {
    loom_fn *fn = N->fn;
    uint32_t k = N->op->n_results, r = N->op->reduce;
    loom_sv *acc = scalars(N, k), *args = scalars(N, 2 * (size_t)k), *next = scalars(N, k), *start = scalars(N, k);
    loom_block_eval(fn, N->op->ne, NULL, false, start);
    memcpy(acc, start, k * sizeof *acc);
    LLVMValueRef lo = loom_nest_lower(N, r), hi = loom_nest_upper(N, r);
    LLVMBasicBlockRef none = is_segmented(N, r) ? skip_if_empty(fn, lo, hi) : NULL;
    if (none) loom_block_build(fn, N->body, known);
    bool deferred = loom_defer_open(fn, N->body, r);
    loom_loop loop;
    loom_loop_open(fn, &loop, lo, hi, NULL);
    fn->axis[r] = loop.index;
    if (r == 0) fn->element = loop.index;
    for (uint32_t j = 0; j < k; j++) args[j] = acc[j] = loom_loop_carry(fn, &loop, result_dtype(N, j), acc[j]);
    loom_block_build(fn, N->body, known | (uint64_t)1 << r);
    for (uint32_t j = 0; j < k; j++) args[k + j] = loom_block_result(fn, N->body, j);
    loom_operator_eval(fn, N->op->combine, args, true, next);
    loom_operator_extremes(fn, N->op->combine, start, args, next);
    for (uint32_t j = 0; j < k; j++) loom_loop_next(fn, &loop, acc[j], next[j]);
    if (r == 0) fn->element = NULL;
    loom_loop_close(fn, &loop);
    if (deferred) loom_defer_close(fn, N->body, known, r, lo, hi);
    for (uint32_t j = 0; j < k; j++) store_result(N, j, r, acc[j]);
    if (!none) return;
    LLVMBasicBlockRef after = loom_fn_block(fn, "row");
    LLVMBuildBr(fn->b, after);
    LLVMPositionBuilderAtEnd(fn->b, none);
    for (uint32_t j = 0; j < k; j++) store_result(N, j, r, start[j]);
    go_on(fn, after);
}

static void reduce_into_memory(nest *N, uint64_t known) {
    (void)known;
    loom_fn *fn = N->fn;
    uint32_t k = N->op->n_results, r = N->op->reduce;
    loom_sv *args = scalars(N, 2 * (size_t)k), *next = scalars(N, k);
    for (uint32_t j = 0; j < k; j++) {
        const loom_place *place = result_place(N, j);
        args[j] = loom_fn_load(fn, result_dtype(N, j), place->base, result_offset(N, j, r), place->scope, false);
        args[k + j] = loom_block_result(fn, N->body, j);
    }
    loom_operator_eval(fn, N->op->combine, args, false, next);
    for (uint32_t j = 0; j < k; j++) store_result(N, j, r, next[j]);
}

/* Axes inside the reduced one: neutral elements first, then rows are combined into memory. */
static void reduce_rows(nest *N, uint64_t known) {
    uint32_t r = N->op->reduce, n = N->op->n_axes;
    loom_lblock_id body = N->body;
    uint32_t inner[LOOM_LIFTED_MAX_AXES], n_inner = 0;
    for (uint32_t i = r + 1; i < n; i++) inner[n_inner++] = i;
    nest fill = *N;
    fill.body = LOOM_NONE;
    fill.rows = false;
    for (uint32_t i = 0; i < n_inner; i++) fill.order[i] = inner[i];
    loom_nest_loops(&fill, 0, n_inner, known, store_neutral);
    nest rows = *N;
    rows.body = body;
    rows.rows = false;
    rows.order[0] = r;
    for (uint32_t i = 0; i < n_inner; i++) rows.order[i + 1] = inner[i];
    loom_nest_loops(&rows, 0, n_inner + 1, known, reduce_into_memory);
}

/* Elements of rows, whichever these are: each row that has any in the range is reduced by itself. */
static void reduce_elements(nest *N) {
    loom_block_reset(N->fn, N->body, NULL);
    element_nest(N, reduce_row);
}

static void fill_rows(nest *N) {
    order_last(N, N->op->reduce);
    N->body = LOOM_NONE;
    LLVMBasicBlockRef nothing = guard(N, N->order, N->n - 1);
    loom_nest_loops(N, 0, N->n - 1, 0, store_neutral);
    go_on(N->fn, nothing);
}

static void reduce_nest(nest *N) {
    loom_fn *fn = N->fn;
    uint32_t r = N->op->reduce;
    loom_block_reset(fn, N->body, NULL);
    order_last(N, r);
    LLVMBasicBlockRef nothing = guard(N, N->order, N->n - 1); /* no results at all */
    LLVMBasicBlockRef none = guard(N, &r, 1);                 /* results, but nothing to reduce */
    bool inner = r + 1 < N->op->n_axes;
    /* Levels: the axes outside of the reduced one; with no axis inside these are all others. */
    nest outer = *N;
    outer.rows = is_segmented(N, r);
    for (uint32_t i = 0; i < r; i++) outer.order[i] = i;
    loom_nest_loops(&outer, 0, r, 0, inner ? reduce_rows : reduce_row);
    if (none) {
        LLVMBasicBlockRef after = loom_fn_block(fn, "reduced");
        LLVMBuildBr(fn->b, after);
        LLVMPositionBuilderAtEnd(fn->b, none);
        nest fill = *N;
        fill.body = LOOM_NONE;
        loom_nest_loops(&fill, 0, N->n - 1, 0, store_neutral);
        go_on(fn, after);
    }
    go_on(fn, nothing);
}

/* ---- SCAN ---- */

static void scan_row(nest *N, uint64_t known) {
    loom_fn *fn = N->fn;
    const loom_lop *op = N->op;
    bool total = op->scan == LOOM_SCAN_TOTAL, right = op->scan == LOOM_SCAN_RIGHT;
    bool exclusive = total || op->scan == LOOM_SCAN_EXCLUSIVE;
    uint32_t k = total ? op->n_results / 2 : op->n_results, r = op->reduce;
    loom_sv *acc = scalars(N, k), *args = scalars(N, 2 * (size_t)k), *next = scalars(N, k);
    loom_block_eval(fn, op->ne, NULL, false, acc);
    LLVMValueRef hi = loom_nest_upper(N, r);
    loom_loop loop;
    loom_loop_open(fn, &loop, loom_nest_lower(N, r), hi, NULL);
    fn->axis[r] =
        right ? LLVMBuildNSWSub(fn->b, LLVMBuildNSWSub(fn->b, hi, loom_fn_i64(fn, 1), ""), loop.index, "") : loop.index;
    if (r == 0) fn->element = fn->axis[r];
    for (uint32_t j = 0; j < k; j++) acc[j] = loom_loop_carry(fn, &loop, result_dtype(N, j), acc[j]);
    loom_block_build(fn, op->body, known | (uint64_t)1 << r);
    for (uint32_t j = 0; j < k; j++) {
        args[right ? k + j : j] = acc[j];
        args[right ? j : k + j] = loom_block_result(fn, op->body, j);
    }
    loom_block_eval(fn, op->combine, args, false, next);
    for (uint32_t j = 0; j < k; j++) store_result(N, j, LOOM_NONE, exclusive ? acc[j] : next[j]);
    for (uint32_t j = 0; j < k; j++) loom_loop_next(fn, &loop, acc[j], next[j]);
    if (r == 0) fn->element = NULL;
    loom_loop_close(fn, &loop);
    for (uint32_t j = 0; total && j < k; j++) store_result(N, k + j, r, acc[j]);
}

static void scan_nest(nest *N) {
    loom_fn *fn = N->fn;
    loom_block_reset(fn, N->body, NULL);
    order_last(N, N->op->reduce);
    LLVMBasicBlockRef nothing = guard(N, N->order, N->n - 1);
    /* Where there may be nothing to scan the body must not be evaluated, so it is built inside the row alone. */
    const loom_axis *axis = &fn->g->l->axes[N->op->axes[N->op->reduce]];
    if (axis->kind != LOOM_AXIS_CONST || axis->extent <= 0) N->body = LOOM_NONE;
    loom_nest_loops(N, 0, N->n - 1, 0, scan_row);
    go_on(fn, nothing);
}

/* ---- PERMUTE with context, or to places that are all distinct, or along some axes ---- */

/* The extent of the target along axis i, in the row that the indices before it have come to. */
static LLVMValueRef target_extent(nest *N, uint32_t i, const LLVMValueRef *indices) {
    loom_fn *fn = N->fn;
    const loom_lop *op = N->op;
    if (!loom_gen_is_segmented(fn->g, op->target_axes[i])) return loom_fn_extent(fn, op->target_axes[i]);
    return loom_fn_length(fn, op->target_axes[i], loom_fn_list(fn, i, op->target_axes, indices));
}

/* Copies dest into the results: loops over the target's own axes. */
static void copy_dest(nest *N) {
    loom_fn *fn = N->fn;
    const loom_lop *op = N->op;
    for (uint32_t j = 0; j < op->n_results; j++) {
        LLVMValueRef count = loom_fn_i64(fn, 1), indices[LOOM_LIFTED_MAX_AXES];
        for (uint32_t i = 0; i < op->n_context; i++) indices[i] = fn->axis[i];
        for (uint32_t i = op->n_context; i < op->n_target_axes; i++) {
            count = LLVMBuildNSWMul(fn->b, count, target_extent(N, i, indices), "");
            indices[i] = loom_fn_i64(fn, 0);
        }
        const loom_place *to = loom_fn_place(fn, op->results[j]), *from = loom_fn_place(fn, op->dest[j]);
        LLVMValueRef to_row = loom_fn_offset(fn, op->results[j], indices),
                     from_row = loom_fn_offset(fn, op->dest[j], indices);
        loom_dtype dtype = result_dtype(N, j);
        loom_loop loop;
        loom_loop_open(fn, &loop, loom_fn_i64(fn, 0), count, NULL);
        LLVMValueRef from_at = LLVMBuildNSWAdd(fn->b, from_row, loop.index, ""),
                     to_at = LLVMBuildNSWAdd(fn->b, to_row, loop.index, "");
        loom_sv value = loom_fn_load(fn, dtype, from->base, from_at, from->scope, from->constant);
        loom_count_store(fn, op->results[j]);
        loom_fn_store(fn, dtype, to->base, to_at, to->scope, value);
        loom_loop_close(fn, &loop);
    }
}

static void go_where(loom_fn *fn, LLVMValueRef *inside, LLVMBasicBlockRef on) {
    LLVMBasicBlockRef in = loom_fn_block(fn, "in");
    LLVMBuildCondBr(fn->b, *inside, in, on);
    LLVMPositionBuilderAtEnd(fn->b, in);
    *inside = NULL;
}

static void permute_point(nest *N, uint64_t known) {
    (void)known;
    loom_fn *fn = N->fn;
    const loom_lop *op = N->op;
    uint32_t k = op->n_results;
    LLVMValueRef indices[LOOM_LIFTED_MAX_AXES], inside = NULL;
    LLVMBasicBlockRef on = loom_fn_block(fn, "on");
    for (uint32_t i = 0; i < op->n_context; i++) indices[i] = fn->axis[i];
    for (uint32_t d = 0; d < op->rank; d++) indices[op->n_context + d] = loom_block_result(fn, N->body, d).re;
    for (uint32_t i = op->n_context; i < op->n_target_axes; i++) {
        /* Which row it is, is known inside of the axes before it. */
        if (inside && loom_gen_is_segmented(fn->g, op->target_axes[i])) go_where(fn, &inside, on);
        LLVMValueRef in = LLVMBuildICmp(fn->b, LLVMIntULT, indices[i], target_extent(N, i, indices), "");
        inside = inside ? LLVMBuildAnd(fn->b, inside, in, "") : in;
    }
    go_where(fn, &inside, on);
    loom_sv *args = scalars(N, 2 * (size_t)k), *next = scalars(N, k);
    for (uint32_t j = 0; j < k; j++) {
        const loom_place *place = loom_fn_place(fn, op->results[j]);
        LLVMValueRef offset = loom_fn_offset(fn, op->results[j], indices);
        args[j] = loom_fn_load(fn, result_dtype(N, j), place->base, offset, place->scope, false);
        args[k + j] = loom_block_result(fn, N->body, op->rank + j);
    }
    loom_block_eval(fn, op->combine, args, false, next);
    for (uint32_t j = 0; j < k; j++) {
        const loom_place *place = loom_fn_place(fn, op->results[j]);
        loom_count_store(fn, op->results[j]);
        loom_fn_store(fn, result_dtype(N, j), place->base, loom_fn_offset(fn, op->results[j], indices), place->scope,
                      next[j]);
    }
    go_on(fn, on);
}

static void permute_context(nest *N, uint64_t known) {
    if (N->op->n_context) copy_dest(N); /* else an action has done that */
    nest inner = *N;
    inner.n = 0;
    for (uint32_t i = N->op->n_context; i < N->op->n_axes; i++) inner.order[inner.n++] = i;
    loom_block_reset(N->fn, N->op->body, NULL);
    inner.body = N->op->body;
    LLVMBasicBlockRef empty = guard(&inner, inner.order, inner.n);
    loom_nest_loops(&inner, 0, inner.n, known, permute_point);
    go_on(N->fn, empty);
}

static void permute_nest(nest *N) {
    order_all(N);
    N->body = LOOM_NONE;
    LLVMBasicBlockRef nothing = guard(N, N->order, N->op->n_context);
    loom_nest_loops(N, 0, N->op->n_context, 0, permute_context);
    go_on(N->fn, nothing);
}

/* ---- entry points ---- */

void loom_nest(loom_fn *fn, loom_lop_id id, const loom_bounds *bounds) {
    const loom_lop *op = &fn->g->l->ops[id];
    nest N = {.fn = fn, .op = op, .bounds = bounds, .body = op->body};
    fn->op = id;
    fn->element = NULL;
    switch (op->kind) {
    case LOOM_LO_COMPUTE: whole_nest(&N, loom_nest_point); break;
    case LOOM_LO_CHECK: whole_nest(&N, check_point); break;
    case LOOM_LO_REDUCE: (bounds->neutral ? fill_rows : bounds->head ? reduce_elements : reduce_nest)(&N); break;
    case LOOM_LO_SCAN: scan_nest(&N); break;
    case LOOM_LO_PERMUTE: permute_nest(&N); break;
    default: loom_gen_fail(fn->g, "operation %u has no loop nest", id);
    }
    fn->op = LOOM_NONE;
    fn->element = NULL;
}

/* Extents below this are not worth dividing among threads. */
#define LOOM_DIVIDED_EXTENT 16
/* Where an extent is not known it is taken to be this. */
#define LOOM_ASSUMED_EXTENT 256

static double extent_of(const loom_gen *g, loom_axis_id axis) {
    const loom_axis *a = &g->l->axes[axis];
    return a->kind == LOOM_AXIS_CONST ? (double)a->extent : LOOM_ASSUMED_EXTENT;
}

uint32_t loom_nest_divided(const loom_gen *g, loom_lop_id id) {
    const loom_lop *op = &g->l->ops[id];
    bool ordered = op->kind == LOOM_LO_PERMUTE && (op->n_context || !op->distinct);
    uint32_t end = !ordered ? op->n_axes : op->n_apart ? op->n_apart : op->n_context, best = LOOM_NONE;
    double largest = 1;
    bool by_elements = op->kind == LOOM_LO_COMPUTE || op->kind == LOOM_LO_CHECK;
    for (uint32_t i = end; by_elements && i-- > 0;) {
        if (loom_gen_is_segmented(g, op->axes[i])) return i;
    }
    for (uint32_t i = 0; i < end; i++) {
        if (loom_gen_is_segmented(g, op->axes[i])) continue;
        if ((op->kind == LOOM_LO_REDUCE || op->kind == LOOM_LO_SCAN) && i == op->reduce) continue;
        double n = extent_of(g, op->axes[i]);
        if (n >= LOOM_DIVIDED_EXTENT) return i;
        if (n > largest) {
            largest = n;
            best = i;
        }
    }
    return best;
}

static double times_of(const loom_gen *g, const loom_lexpr *loop) {
    if (loop->kind == LOOM_LX_WHILE) return LOOM_ASSUMED_EXTENT;
    const loom_lexpr *count = &g->l->exprs[loom_lifted_arg(g->l, loop, 0)];
    return count->kind == LOOM_LX_CONST ? fmax(0, (double)count->imm.i) : LOOM_ASSUMED_EXTENT;
}

/* Evaluations of one run through a block, in additions. */
static double block_work(const loom_gen *g, loom_lblock_id id) {
    const loom_lblock *block = &g->l->blocks[id];
    double work = 0;
    for (loom_lexpr_id e = block->first; e < block->end; e++) {
        const loom_lexpr *x = &g->l->exprs[e];
        if (g->owner[e] != id) continue; /* counted with the expression that has the block */
        switch (x->kind) {
        case LOOM_LX_PRIM: work += loom_prim_table[x->prim].work; break;
        case LOOM_LX_LOAD: work += 1; break;
        case LOOM_LX_IF: work += fmax(block_work(g, x->blocks[0]), block_work(g, x->blocks[1])); break;
        case LOOM_LX_FOR: work += times_of(g, x) * block_work(g, x->blocks[0]); break;
        case LOOM_LX_WHILE: work += times_of(g, x) * (block_work(g, x->blocks[0]) + block_work(g, x->blocks[1])); break;
        default: break;
        }
    }
    return work;
}

double loom_gen_cost(const loom_gen *g, loom_lop_id id, uint32_t position) {
    const loom_lop *op = &g->l->ops[id];
    double points = 1, work = 1;
    bool elements = position != LOOM_NONE && loom_gen_is_segmented(g, op->axes[position]);
    for (uint32_t i = 0; i < op->n_axes; i++) {
        if (elements ? i > position : i != position) points *= extent_of(g, op->axes[i]);
    }
    const double per_unit = 0.25; /* nanoseconds of one addition in a vectorised loop, loads included */
    if (op->kind == LOOM_LO_FFT) return points * 20 * per_unit;
    if (op->kind == LOOM_LO_SORT) return points * 100 * per_unit;
    if (op->body == LOOM_NONE) return points * per_unit;
    work += block_work(g, op->body);
    return points * work * per_unit;
}

/* Whether the block has a line that an error would name. */
static bool can_fail(const loom_lifted *l, const loom_lblock *b) {
    for (loom_lexpr_id id = b->first; id < b->end; id++) {
        if (l->exprs[id].site != LOOM_NONE) return true;
    }
    return false;
}

/* The kernel of an operator that is written alike, or LOOM_NONE. There are few operators, however many reductions. */
static uint32_t alike_combine(const loom_gen *g, loom_lblock_id combine) {
    if (can_fail(g->l, &g->l->blocks[combine])) return LOOM_NONE;
    for (size_t i = 0; i < g->combined.count; i++) {
        if (loom_lifted_same_block(g->l, combine, g->combined.at[i])) return g->combine_kernel[g->combined.at[i]];
    }
    return LOOM_NONE;
}

uint32_t loom_gen_combine(loom_gen *g, loom_lblock_id combine) {
    if (g->combine_kernel[combine] == LOOM_NONE) g->combine_kernel[combine] = alike_combine(g, combine);
    if (g->combine_kernel[combine] != LOOM_NONE) return g->combine_kernel[combine];
    LOOM_PUSH(g->arena, g->combined, combine);
    uint32_t kernel = g->combine_kernel[combine] = loom_gen_kernel(g, "combine"), n = g->l->blocks[combine].n_results;
    const loom_dtype *dtypes = g->l->blocks[combine].params;
    loom_fn fn;
    LLVMTypeRef parameters[] = {g->ptr, g->ptr, g->i64, g->i64};
    loom_fn_open(g, &fn, g->kernels.at[kernel].symbol, parameters, 4);
    LLVMValueRef *base[2];
    for (uint32_t side = 0; side < 2; side++) {
        base[side] = LOOM_NEW_ARRAY(g->arena, LLVMValueRef, (size_t)n + 1);
        for (uint32_t j = 0; j < n; j++) {
            LLVMValueRef index = loom_fn_i64(&fn, j);
            LLVMValueRef address = LLVMBuildInBoundsGEP2(fn.entry, g->ptr, loom_fn_param(&fn, 1 + side), &index, 1, "");
            base[side][j] = LLVMBuildLoad2(fn.entry, g->ptr, address, "");
        }
    }
    uint32_t scope = fn.n_scopes;
    fn.n_scopes += 2 * n;
    loom_sv *args = LOOM_NEW_ARRAY(g->arena, loom_sv, 2 * (size_t)n + 1),
            *next = LOOM_NEW_ARRAY(g->arena, loom_sv, (size_t)n + 1);
    loom_loop loop;
    loom_loop_open(&fn, &loop, loom_fn_param(&fn, 3), loom_fn_param(&fn, 4), NULL);
    for (uint32_t j = 0; j < n; j++) {
        args[j] = loom_fn_load(&fn, dtypes[j], base[0][j], loop.index, scope + j, false);
        args[n + j] = loom_fn_load(&fn, dtypes[j], base[1][j], loop.index, scope + n + j, false);
    }
    loom_block_eval(&fn, combine, args, false, next);
    loom_count(&fn, LOOM_COUNTED_MOVED, n);
    for (uint32_t j = 0; j < n; j++) loom_fn_store(&fn, dtypes[j], base[0][j], loop.index, scope + j, next[j]);
    loom_loop_close(&fn, &loop);
    loom_fn_close(&fn);
    return kernel;
}
