/* fft.
 *
 *     fft xs, xs [c, y, x]  ->  FFT of rank 2 over [c, y, x]
 * Rows that differ in length: along the last axis, each row by itself. Of arrays whose extents differ, one axis after
 * the other, each as the last one: xs [c, s, t] -> [c, t, s], FFT of rank 1 -> [c, s, t], FFT of rank 1. The rows of
 * one array are of one length, so that the axes may be turned.
 */
#include "vec.h"

/* Over the last `rank` own axes of the leaf. */
static bool transform(vec *v, const loom_node *n, leaf *x, uint32_t rank) {
    uint64_t mask = vec_level_mask(v, x);
    loom_lvalue_id from;
    op_axes axes;
    if (!vec_canonical(v, n, x, mask, &from)) return false;
    if (!vec_value_axes(v, n, mask, x->n_own, x->own, &axes)) return false;
    loom_lvalue_id made = vec_new_value(v, n, x->dtype, &axes);
    loom_lop op = vec_plain_op(v, n, LOOM_LO_FFT, &axes);
    op.n_args = op.n_results = 1;
    op.args = &from;
    op.results = &made;
    op.fft_rank = rank;
    op.inverse = n->aux == 1;
    loom_lifted_op(v->l, op);
    *x = vec_result_leaf(v, made, &axes, x->n_own, x->own);
    return true;
}

/* The first own axis behind the others. No extent depends on another own axis. */
static leaf turned(vec *v, const leaf *x) {
    uint32_t n = x->n_own;
    leaf y = *x;
    extent *own = LOOM_NEW_ARRAY(v->scratch, extent, n);
    for (uint32_t k = 0; k < n; k++) own[k] = x->own[(k + 1) % n];
    y.own = own;
    if (y.kind == LEAF_AXIS && y.at.kind == FROM_OWN) y.at.at = (y.at.at + n - 1) % n;
    if (y.kind != LEAF_VALUE) return y;
    uint32_t n_axes = v->l->values[y.id].n_axes;
    source *s = LOOM_NEW_ARRAY(v->scratch, source, (size_t)n_axes + 1);
    for (uint32_t i = 0; i < n_axes; i++) {
        s[i] = x->sources[i];
        if (s[i].kind == FROM_OWN) s[i].at = (s[i].at + n - 1) % n;
    }
    y.sources = s;
    return y;
}

bool vec_lift_fft(vec *v, frame *f, loom_node_id id, val *result) {
    const loom_node *n = &v->p->nodes[id];
    val x;
    leaf *at;
    if (!vec_operand(v, f, n, 0, &x)) return false;
    leaf y = x.at[0];
    if (vec_chunk_among(v, y.own, y.n_own)) return vec_refuse(v, n, "an fft along the stream");
    for (uint32_t k = 1; k < y.n_own; k++) {
        if (vec_depends_on_own(v, y.own[k], k)) {
            return vec_refuse(v, n, "an fft along more than one axis, of rows that may differ in length");
        }
    }
    *result = vec_leaves_of(v, 1, &at);
    if (vec_any_segmented(v, y.own, y.n_own)) {
        for (uint32_t k = 0; k < y.n_own; k++) {
            y = turned(v, &y);
            if (!transform(v, n, &y, 1)) return false;
        }
    } else if (!transform(v, n, &y, y.n_own)) {
        return false;
    }
    at[0] = y;
    return true;
}
