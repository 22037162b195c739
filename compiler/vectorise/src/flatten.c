/* flatten of rows that differ in length: the elements in the order in which they are, under one axis whose extent is
 * the sum of the lengths; under maps, of the lengths of each element's own rows.
 *
 *     flatten xs, xs [c, a, s]  ->  total[c] = sum over a of lengths[c, a];  a dense compute over [c, a, s] of values
 * over [c, f], f the segmented axis of the totals
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

/* The axis of all elements of the rows. */
static bool total_axis(vec *v, const loom_node *n, const extent *own, extent *e) {
    uint32_t level = v->depth;
    row_length r = {vec_own_as_level(v, own[1], level)};
    val made;
    leaf total, *at;
    bool ok = vec_push_level(v, n, own[0]) && vec_emit_compute(v, n, build_length, &r, &made);
    v->depth = level;
    if (!ok) return false;
    val lengths = vec_leaves_of(v, 1, &at);
    at[0] = vec_unbind_level(v, &made.at[0], level, own[0]);
    if (!vec_lift_sums(v, n, &lengths, own[0], NULL, &total)) return false;
    *e = vec_count_extent(v, &total);
    return true;
}

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

bool vec_lift_flatten(vec *v, const loom_node *n, const val *xs, val *result) {
    val made = *xs;
    leaf *at;
    extent total;
    if (!vec_materialise(v, n, &made)) return false;
    *result = vec_leaves_of(v, made.n, &at);
    for (uint32_t i = 0; i < made.n; i++) {
        const leaf *x = &made.at[i];
        if (vec_chunk_among(v, x->own, x->n_own) || vec_any_segmented(v, x->own + 2, x->n_own - 2)) {
            return vec_refuse(
                v, n, "a flatten of rows that differ in length, with more such rows inside or along the stream");
        }
        if (i == 0 && !total_axis(v, n, x->own, &total)) return false;
        if (!vec_same_extent(v, x->own[0], made.at[0].own[0]) || !vec_same_extent(v, x->own[1], made.at[0].own[1])) {
            return vec_refuse(v, n, "a flatten of rows whose parts may differ in length");
        }
        extent *own = LOOM_NEW_ARRAY(v->scratch, extent, (size_t)x->n_own);
        own[0] = total;
        if (x->n_own > 2) memcpy(own + 1, x->own + 2, (x->n_own - 2) * sizeof *own);
        if (!flatten_leaf(v, n, x, own, &at[i])) return false;
    }
    return true;
}
