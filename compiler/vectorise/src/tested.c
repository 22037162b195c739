/* Rows that nothing proves to be of one length, taken to be (papers/000 section 10.1).
 *
 * Where the request asks for it, rows of a stream have an extent of their own in each chunk (vectorise.c), and lengths
 * that scalars give become one number:
 *     map (\k -> sum (map f (iota k))) ks
 *     ->  most = reduce max ks;  check k == most, for each k;  what follows has rows of `most` elements
 * No rows: then most is 0. The check stands before what relies on it, and an error that it raises is seen by nobody:
 * the executor then runs the plan for rows that differ (worker/src/executor/tested.c).
 *
 * What a filter leaves stays a list of lengths, and so does what is made inside of loops: there the test would come
 * late, after work for nothing. Neither is anything computed tested in a stage that changes an accumulator in place,
 * which cannot be undone. Cost: each length is read twice. */
#include "vec.h"

bool vec_any_tested(const vec *v, const extent *own, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (own[i].axis != LOOM_NONE && v->l->axes[own[i].axis].tested) return true;
    }
    return false;
}

/* The value at the point of an operation over its axes. */
static loom_lexpr_id load_own(vec *v, loom_lvalue_id value) {
    uint32_t n = v->l->values[value].n_axes;
    loom_lexpr_id *index = LOOM_NEW_ARRAY(v->scratch, loom_lexpr_id, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) index[i] = vec_x_axis(v, i);
    loom_lexpr e = vec_plain_expr(LOOM_LX_LOAD, LOOM_I64);
    e.aux = value;
    e.mode = LOOM_LOAD_PROVEN;
    return loom_lifted_expr(v->l, e, index, n);
}

static loom_lblock_id max_block(vec *v) {
    loom_dtype types[2] = {LOOM_I64, LOOM_I64};
    open_block b = vec_block_open(v);
    loom_lexpr_id max = vec_x_prim2(v, LOOM_PRIM_MAX, vec_x_param(v, LOOM_I64, 0), vec_x_param(v, LOOM_I64, 1));
    return vec_block_close(v, b, 2, types, 1, &max);
}

/* The greatest along the last axis. */
static loom_lvalue_id greatest_of_last(vec *v, const loom_node *n, loom_lvalue_id value) {
    const loom_lvalue like = v->l->values[value];
    op_axes axes = {.n = like.n_axes}, rest = {.n = like.n_axes - 1};
    memcpy(axes.axis, like.axes, axes.n * sizeof *like.axes);
    memcpy(rest.axis, like.axes, rest.n * sizeof *like.axes);
    loom_lop op = vec_plain_op(v, n, LOOM_LO_REDUCE, &axes);
    op.reduce = rest.n;
    vec_op_begin(v);
    open_block b = vec_block_open(v);
    loom_lexpr_id own = load_own(v, value), zero;
    op.body = vec_block_close(v, b, 0, NULL, 1, &own);
    b = vec_block_open(v);
    zero = vec_x_int(v, 0);
    op.ne = vec_block_close(v, b, 0, NULL, 1, &zero);
    op.combine = max_block(v);
    vec_op_end(v);
    op.builtin = vec_builtin_of(v, op.combine);
    loom_lvalue_id made = vec_new_value(v, n, LOOM_I64, &rest);
    op.n_results = 1;
    op.results = &made;
    loom_lifted_op(v->l, op);
    return made;
}

static void check_all(vec *v, const loom_node *n, loom_lvalue_id lengths, loom_lvalue_id most) {
    const loom_lvalue like = v->l->values[lengths];
    op_axes axes = {.n = like.n_axes};
    memcpy(axes.axis, like.axes, axes.n * sizeof *like.axes);
    loom_lop op = vec_plain_op(v, n, LOOM_LO_CHECK, &axes);
    vec_op_begin(v);
    open_block b = vec_block_open(v);
    loom_lexpr_id results[3];
    results[1] = load_own(v, lengths);
    results[2] = load_own(v, most);
    results[0] = vec_x_prim2(v, LOOM_PRIM_EQ, results[1], results[2]);
    op.body = vec_block_close(v, b, 0, NULL, 3, results);
    vec_op_end(v);
    op.site = loom_lifted_site(v->l, op.span, "rows of {a} elements and of {b}", NULL);
    loom_lifted_op(v->l, op);
}

bool vec_tested_extent(const vec *v, const leaf *lengths, extent *e) {
    for (size_t i = 0; lengths->kind == LEAF_VALUE && i < v->tests.count; i++) {
        if (v->tests.at[i].lengths != lengths->id) continue;
        *e = (extent){.axis = v->tests.at[i].axis, .expr = LOOM_NONE};
        return true;
    }
    return false;
}

bool vec_row_extent(vec *v, const loom_node *n, const leaf *lengths, extent *e) {
    if (vec_tested_extent(v, lengths, e)) return true;
    *e = (extent){.axis = LOOM_NONE, .expr = LOOM_NONE};
    bool rows = lengths->kind == LEAF_VALUE && v->l->values[lengths->id].n_axes && !lengths->known;
    if (!rows || !v->request->tested || v->inner_depth || v->n_targets) {
        *e = vec_count_extent(v, lengths);
        return true;
    }
    loom_lvalue_id most = lengths->id;
    while (v->l->values[most].n_axes) most = greatest_of_last(v, n, most);
    check_all(v, n, lengths->id, most);
    tested_rows made = {lengths->id,
                        loom_lifted_axis(v->l, (loom_axis){.kind = LOOM_AXIS_SCALAR, .value = most, .tested = true})};
    LOOM_PUSH(v->scratch, v->tests, made);
    e->axis = made.axis;
    return true;
}
