/* flatten of rows that differ in length: the elements in the order in which they are, under one axis whose extent is
 * the sum of the lengths; under maps, of the lengths of each element's own rows.
 *
 *     flatten xs, xs [c, a, s]  ->  total[c] = sum over a of lengths[c, a];  a dense compute over [c, a, s] of values
 * over [c, f], f the segmented axis of the totals
 *
 * Rows in rows: t, segmented over (a, s), has the same lengths over f, which are flattened as any other leaf; so what
 * is [c, a, s, t] becomes [c, f, t'], level by level from the outside in.
 */
#include "vec.h"

typedef struct row_length {
    extent row; /* under the level of the rows */
} row_length;

static bool build_length(vec *v, void *argument, val *result) {
    const row_length *r = argument;
    *result = vec_one(v, vec_x_extent(v, r->row));
    return true;
}

/* How many elements each row has, along the axis of the rows. */
static bool row_lengths(vec *v, const loom_node *n, const extent *own, val *lengths) {
    uint32_t level = v->depth;
    row_length r = {vec_own_as_level(v, own[1], level)};
    val made;
    leaf *at;
    bool ok = vec_push_level(v, n, own[0]) && vec_emit_compute(v, n, build_length, &r, &made);
    v->depth = level;
    if (!ok) return false;
    *lengths = vec_leaves_of(v, 1, &at);
    at[0] = vec_unbind_level(v, &made.at[0], level, own[0]);
    return true;
}

typedef struct total_check {
    leaf total, all;
} total_check;

/* Sums of lengths are parts of the sum of all, for which the executor looks whether it is too large. It does so where
 * that is read. */
static bool build_total(vec *v, void *argument, val *result) {
    const total_check *c = argument;
    loom_lexpr_id total, all;
    if (!vec_to_expr(v, &c->total, &total) || !vec_to_expr(v, &c->all, &all)) return false;
    loom_lexpr_id args[3] = {vec_x_prim2(v, LOOM_PRIM_LE, total, all), total, vec_x_int(v, INT64_MAX)};
    *result = vec_one(v, vec_x_prim(v, LOOM_PRIM_SELECT, LOOM_I64, args, LOOM_NONE));
    return true;
}

/* The axis of all elements of the rows. */
static bool total_axis(vec *v, const loom_node *n, const extent *own, extent *e) {
    val lengths, made;
    total_check c;
    if (!row_lengths(v, n, own, &lengths) || !vec_lift_sums(v, n, &lengths, own[0], NULL, &c.total)) return false;
    if (!vec_is_segmented(v, own[1])) return vec_refuse(v, n, "an inner extent that is not known here");
    c.all = (leaf){.kind = LEAF_VALUE, .dtype = LOOM_I64, .id = v->l->axes[own[1].axis].total, .site = LOOM_NONE};
    if (!vec_emit_compute(v, n, build_total, &c, &made)) return false;
    *e = vec_count_extent(v, &made.at[0]);
    return true;
}

/* The leaf, whose own axes are `own` when the first two are one. */
static bool flatten_leaf(vec *v, const loom_node *n, const leaf *x, const extent *own, leaf *out) {
    uint32_t n_own = x->n_own - 1;
    leaf like = *x;
    like.n_own = n_own;
    like.own = own;
    uint64_t mask = vec_level_mask(v, x) | vec_level_mask(v, &like);
    op_axes flat;
    loom_lvalue_id value;
    if (!vec_value_axes(v, n, mask, n_own, own, &flat) || !vec_dense_value(v, n, x, mask, &flat, &value)) return false;
    *out = vec_result_leaf(v, value, &flat, n_own, own);
    return true;
}

/* Own axis k of the leaf, behind the first two, when these are one; `own` has the axes before it, as they are then. */
static bool inner_extent(vec *v, const loom_node *n, const leaf *x, uint32_t k, const extent *own, extent *e) {
    leaf lengths = vec_extent_leaf(v, x->own[k]), flat;
    if (!vec_depends_on_own(v, x->own[k], k)) {
        *e = x->own[k];
        return true;
    }
    lengths.n_own = k;
    lengths.own = x->own;
    if (!flatten_leaf(v, n, &lengths, own, &flat)) return false;
    flat.n_own = 0;
    *e = vec_count_extent(v, &flat);
    return true;
}

static bool same_axes(const vec *v, const leaf *x, const leaf *y, uint32_t n) {
    for (uint32_t k = 0; k < n; k++) {
        if (!vec_same_extent(v, x->own[k], y->own[k])) return false;
    }
    return true;
}

/* The own axes of leaf i behind the first: leaves that share theirs share them afterwards. */
static bool inner_extents(vec *v, const loom_node *n, const val *xs, uint32_t i, extent **owns) {
    const leaf *x = &xs->at[i];
    for (uint32_t k = 2; k < x->n_own; k++) {
        uint32_t j = 0;
        while (j < i && (xs->at[j].n_own <= k || !same_axes(v, x, &xs->at[j], k + 1))) j++;
        if (j < i) {
            owns[i][k - 1] = owns[j][k - 1];
        } else if (!inner_extent(v, n, x, k, owns[i], &owns[i][k - 1])) {
            return false;
        }
    }
    return true;
}

/* The leaves with the same axes in front: they are parts of the same rows, whoever found their lengths. */
static bool common_rows(vec *v, const loom_node *n, val *xs) {
    uint32_t level = v->depth;
    leaf *at, *inner, rows = vec_int_leaf(0);
    val bound = vec_leaves_of(v, xs->n, &inner), made = vec_leaves_of(v, xs->n, &at);
    extent outer, row;
    if (!vec_common_length(v, n, xs, 1, &outer)) return false;
    bool ok = vec_push_level(v, n, outer);
    for (uint32_t i = 0; ok && i < xs->n; i++) inner[i] = vec_bind_level(v, &xs->at[i], level);
    ok = ok && vec_common_length(v, n, &bound, 1, &row);
    v->depth = level;
    if (!ok) return false;
    rows.n_own = 1;
    rows.own = &row;
    rows = vec_unbind_level(v, &rows, level, outer);
    for (uint32_t i = 0; i < xs->n; i++) {
        at[i] = vec_with_own(v, &xs->at[i], 0, rows.own[0]);
        at[i] = vec_with_own(v, &at[i], 1, rows.own[1]);
    }
    *xs = made;
    return true;
}

bool vec_lift_flatten(vec *v, const loom_node *n, const val *xs, val *result) {
    val made = *xs;
    leaf *at;
    extent total;
    if (!vec_materialise(v, n, &made)) return false;
    for (uint32_t i = 0; i < made.n; i++) {
        if (vec_chunk_among(v, made.at[i].own + 1, made.at[i].n_own - 1)) {
            return vec_refuse(v, n, "a flatten of rows that differ in length, along the stream");
        }
    }
    if (!common_rows(v, n, &made) || !total_axis(v, n, made.at[0].own, &total)) return false;
    *result = vec_leaves_of(v, made.n, &at);
    extent **owns = LOOM_NEW_ARRAY(v->scratch, extent *, (size_t)made.n + 1);
    for (uint32_t i = 0; i < made.n; i++) {
        owns[i] = LOOM_NEW_ARRAY(v->scratch, extent, (size_t)made.at[i].n_own);
        owns[i][0] = total;
        if (!inner_extents(v, n, &made, i, owns)) return false;
        if (!flatten_leaf(v, n, &made.at[i], owns[i], &at[i])) return false;
    }
    return true;
}
