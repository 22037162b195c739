/* Axes whose extent differs from row to row.
 *
 * A level or own axis of this kind stands on lengths, a value over other levels and axes. The lists of axes of
 * operations and values hold a segmented axis behind exactly the axes of its lengths (lifted.h); a context may have
 * more between or before, say a map around that the rows do not depend on:
 *
 *     map (\k -> map (map (* k)) rows) ks  ->  levels k, c, s;  lengths of s over c;  result over [k, c, s']
 *
 * Then the lengths are repeated over the axes that there are, s' has these, and a value over them is as dense as any.
 */
#include "vec.h"

static uint32_t n_parents(const vec *v, loom_axis_id axis) {
    const loom_axis *a = &v->l->axes[axis];
    return a->kind == LOOM_AXIS_SEGMENTED ? v->l->values[a->lengths].n_axes : 0;
}

uint32_t vec_n_sources(const vec *v, extent e) {
    return e.axis == LOOM_NONE ? 0 : n_parents(v, e.axis);
}

bool vec_is_segmented(const vec *v, extent e) {
    return e.axis != LOOM_NONE && v->l->axes[e.axis].kind == LOOM_AXIS_SEGMENTED;
}

bool vec_any_segmented(const vec *v, const extent *own, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (vec_is_segmented(v, own[i])) return true;
    }
    return false;
}

bool vec_depends_on_own(const vec *v, extent e, uint32_t n) {
    for (uint32_t i = 0; i < vec_n_sources(v, e); i++) {
        if (e.sources[i].kind == FROM_OWN && e.sources[i].at < n) return true;
    }
    return false;
}

bool vec_same_rows(const vec *v, extent a, extent b) {
    if (a.axis == LOOM_NONE || b.axis == LOOM_NONE || n_parents(v, a.axis) != n_parents(v, b.axis)) return false;
    for (uint32_t i = 0; i < n_parents(v, a.axis); i++) {
        if (a.sources[i].kind != b.sources[i].kind || a.sources[i].at != b.sources[i].at) return false;
    }
    return true;
}

bool vec_is_settled(const vec *v, extent e) {
    if (e.axis == LOOM_NONE) return false;
    for (uint32_t i = 0; i < n_parents(v, e.axis); i++) {
        if (e.sources[i].kind == FROM_EXPR) return false;
    }
    return true;
}

extent vec_level_extent(vec *v, uint32_t at) {
    const level *l = &v->levels[at];
    extent e = {.axis = l->axis, .expr = LOOM_NONE};
    uint32_t n = n_parents(v, l->axis);
    source *s = LOOM_NEW_ARRAY(v->scratch, source, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) s[i] = (source){FROM_LEVEL, IN_RANGE, l->parents[i]};
    e.sources = s;
    return e;
}

bool vec_is_level(const vec *v, uint32_t at, extent e) {
    const level *l = &v->levels[at];
    if (e.axis != l->axis) return false;
    for (uint32_t i = 0; i < n_parents(v, e.axis); i++) {
        if (e.sources[i].kind != FROM_LEVEL || e.sources[i].at != l->parents[i]) return false;
    }
    return true;
}

uint64_t vec_parent_mask(const vec *v, uint32_t at) {
    uint64_t mask = 0;
    for (uint32_t i = 0; i < n_parents(v, v->levels[at].axis); i++) mask |= UINT64_C(1) << v->levels[at].parents[i];
    return mask;
}

/* Parents are levels further out. */
uint64_t vec_close_mask(const vec *v, uint64_t mask) {
    for (uint32_t i = v->depth; i-- > 0;) {
        if (mask >> i & 1) mask |= vec_parent_mask(v, i);
    }
    return mask;
}

/* ---- levels ---- */

bool vec_push_level(vec *v, const loom_node *n, extent e) {
    if (v->depth == MAX_LEVELS) return vec_refuse(v, n, "maps are nested more than %d deep", MAX_LEVELS);
    uint32_t count = n_parents(v, e.axis);
    uint32_t *parents = LOOM_NEW_ARRAY(v->scratch, uint32_t, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        if (e.sources[i].kind != FROM_LEVEL) return vec_refuse(v, n, "rows that are chosen by an index");
        parents[i] = e.sources[i].at;
    }
    v->levels[v->depth++] = (level){.axis = e.axis, .parents = parents};
    return true;
}

extent vec_own_as_level(vec *v, extent e, uint32_t base) {
    uint32_t n = vec_n_sources(v, e);
    source *s = LOOM_NEW_ARRAY(v->scratch, source, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) {
        s[i] = e.sources[i];
        if (s[i].kind == FROM_OWN) s[i] = (source){FROM_LEVEL, IN_RANGE, base + s[i].at};
    }
    e.sources = s;
    return e;
}

bool vec_push_own(vec *v, const loom_node *n, const extent *own, uint32_t n_own) {
    uint32_t base = v->depth;
    for (uint32_t k = 0; k < n_own; k++) {
        if (!vec_push_level(v, n, vec_own_as_level(v, own[k], base))) return false;
    }
    return true;
}

/* ---- axes ---- */

/* The axis of some lengths: their offsets are made once. */
static loom_axis_id axis_of_lengths(vec *v, loom_lvalue_id lengths) {
    for (size_t i = 0; i < v->segments.count; i++) {
        if (v->l->axes[v->segments.at[i]].lengths == lengths) return v->segments.at[i];
    }
    const loom_lvalue like = v->l->values[lengths];
    op_axes axes = {.n = like.n_axes}, none = {.n = 0};
    memcpy(axes.axis, like.axes, like.n_axes * sizeof *like.axes);
    loom_lvalue_id made[2] = {vec_new_value(v, NULL, LOOM_I64, &axes), vec_new_value(v, NULL, LOOM_I64, &none)};
    loom_lop op = vec_plain_op(v, NULL, LOOM_LO_OFFSETS, &axes);
    op.span = like.span;
    op.n_args = 1;
    op.args = &lengths;
    op.n_results = 2;
    op.results = made;
    loom_lifted_op(v->l, op);
    loom_axis a = {.kind = LOOM_AXIS_SEGMENTED, .lengths = lengths, .offsets = made[0], .total = made[1]};
    loom_axis_id axis = loom_lifted_axis(v->l, a);
    LOOM_PUSH(v->scratch, v->segments, axis);
    return axis;
}

extent vec_segments_of(vec *v, const leaf *lengths) {
    assert(lengths->kind == LEAF_VALUE);
    return (extent){axis_of_lengths(v, lengths->id), LOOM_NONE, lengths->sources};
}

extent vec_segments(vec *v, const leaf *lengths) {
    assert(!v->in_op);
    return vec_segments_of(v, lengths);
}

loom_lexpr_id vec_x_total(vec *v, loom_axis_id axis) {
    loom_lexpr e = vec_plain_expr(LOOM_LX_LOAD, LOOM_I64);
    e.aux = v->l->axes[axis].total;
    e.mode = LOOM_LOAD_PROVEN;
    return loom_lifted_expr(v->l, e, NULL, 0);
}

/* ---- the axes of operations and values ---- */

static uint32_t position_of(const op_axes *axes, uint32_t n, uint32_t at) {
    uint32_t p = 0;
    while (p < n && axes->level[p] != at) p++;
    assert(p < n && "an axis stands behind those that its lengths have");
    return p;
}

/* The axis in place of a segmented one whose lengths are not over exactly the axes [0, n): the same lengths, for each
 * point of these. */
static loom_axis_id repeated(vec *v, loom_axis_id axis, const op_axes *axes, uint32_t n, const uint32_t *at) {
    const loom_axis a = v->l->axes[axis];
    uint32_t m = v->l->values[a.lengths].n_axes;
    loom_lexpr_id first = v->l->n_exprs, *index = LOOM_NEW_ARRAY(v->scratch, loom_lexpr_id, (size_t)m + 1);
    for (uint32_t i = 0; i < m; i++) index[i] = vec_x_axis(v, at[i]);
    loom_lexpr e = vec_plain_expr(LOOM_LX_LOAD, LOOM_I64);
    e.aux = a.lengths;
    e.mode = LOOM_LOAD_PROVEN;
    loom_lexpr_id load = loom_lifted_expr(v->l, e, index, m);
    op_axes before = *axes;
    before.n = n;
    return axis_of_lengths(v, vec_share_compute(v, first, &before, load));
}

/* Parents of axis i by level, where own axes have the levels from depth on. */
static const uint32_t *parents_of(vec *v, const op_axes *axes, uint32_t i, const extent *own, uint32_t base) {
    uint32_t l = axes->level[i];
    if (!own || l < base) return v->levels[l].parents;
    uint32_t n = n_parents(v, axes->axis[i]);
    uint32_t *parents = LOOM_NEW_ARRAY(v->scratch, uint32_t, (size_t)n + 1);
    for (uint32_t k = 0; k < n; k++) {
        const source *s = &own[l - base].sources[k];
        parents[k] = s->kind == FROM_OWN ? base + s->at : s->at;
    }
    return parents;
}

static void settle(vec *v, op_axes *axes, const extent *own, uint32_t base) {
    for (uint32_t i = 0; i < axes->n; i++) {
        uint32_t n = n_parents(v, axes->axis[i]);
        if (!n) continue;
        const loom_lvalue *lengths = &v->l->values[v->l->axes[axes->axis[i]].lengths];
        const uint32_t *parents = parents_of(v, axes, i, own, base);
        uint32_t *at = LOOM_NEW_ARRAY(v->scratch, uint32_t, (size_t)n + 1);
        bool same = n == i;
        for (uint32_t k = 0; k < n; k++) {
            at[k] = position_of(axes, i, parents[k]);
            same = same && at[k] == k && lengths->axes[k] == axes->axis[k];
        }
        if (!same) axes->axis[i] = repeated(v, axes->axis[i], axes, i, at);
    }
}

static op_axes ordered(const vec *v, uint64_t mask, uint32_t n_fixed) {
    op_axes a = {.n = 0};
    mask = vec_close_mask(v, mask);
    for (int chunk = 1; chunk >= 0; chunk--) {
        for (uint32_t i = 0; i < MAX_LEVELS && i < n_fixed; i++) {
            if (!(mask >> i & 1)) continue;
            if ((v->l->axes[v->levels[i].axis].kind == LOOM_AXIS_CHUNK) != (chunk == 1)) continue;
            a.level[a.n] = i;
            a.axis[a.n++] = v->levels[i].axis;
        }
    }
    for (uint32_t i = n_fixed; i < MAX_LEVELS; i++) {
        if (!(mask >> i & 1)) continue;
        a.level[a.n] = i;
        a.axis[a.n++] = v->levels[i].axis;
    }
    return a;
}

op_axes vec_order_axes(vec *v, uint64_t mask, uint32_t n_fixed) {
    op_axes a = ordered(v, mask, n_fixed);
    settle(v, &a, NULL, 0);
    return a;
}

bool vec_value_axes(vec *v, const loom_node *n, uint64_t mask, uint32_t n_own, const extent *own, op_axes *axes) {
    *axes = ordered(v, mask, v->depth);
    for (uint32_t k = 0; k < n_own; k++) {
        if (!vec_is_settled(v, own[k])) return vec_refuse(v, n, "an inner extent that is not known here");
        if (axes->n == MAX_LEVELS) return vec_refuse(v, n, "maps are nested more than %d deep", MAX_LEVELS);
        axes->level[axes->n] = v->depth + k;
        axes->axis[axes->n++] = own[k].axis;
    }
    settle(v, axes, own, v->depth);
    return true;
}
