/* permute and scatter of rows that differ in length, and onto such rows.
 *
 *     permute op dest is xs, dest [a, s]  ->  dest as one axis [f]; numbers [a, s], the number in f of each place;
 * is' [m, t] = numbers[is[m], t], or -1 where that is outside; a permute of rank 1 of xs [m, t], its units one behind
 * the other; the result under the axes of dest again. All but the permute are dense operations.
 * An element that goes somewhere is compared with the row that is there: op, which zips them, would fail.
 *
 *     scatter dest is xs                  ->  last [a] = the greatest number of a unit that goes to a, or -1: a permute
 * of i64; result[a] = xs[last[a]], or dest[a]: rows are referred to, and may have any length
 */
#include "place.h"

bool vec_flatten_once(vec *v, const loom_node *n, val *x) {
    val flat;
    if (!vec_delay_flatten(v, n, x, &flat) || !vec_materialise(v, n, &flat)) return false;
    *x = flat;
    return true;
}

/* ---- the shape of what is put ---- */

typedef struct row_check {
    const placing *p;
    const space *s;
    uint32_t k;
    extent row; /* of the element along inner axis k, under the levels of the units and of the axes before it */
} row_check;

static bool place_of(vec *v, const placing *p, const space *s, uint32_t i, loom_lexpr_id *e) {
    leaf x = p->is->at[i];
    for (uint32_t k = 0; x.n_own; k++) x = vec_bind_level(v, &x, s->depth + k);
    return vec_to_expr(v, &x, e);
}

static index_step uncertain(loom_lexpr_id e) {
    return (index_step){.at = e, .checked = true, .site = LOOM_NONE};
}

static bool build_row_check(vec *v, void *argument, val *result) {
    const row_check *c = argument;
    const space *s = c->s;
    leaf there = c->p->dest->at[0], *at;
    loom_lexpr_id outside = vec_x_const(v, LOOM_BOOL, (loom_scalar){.b = false}), e;
    for (uint32_t i = 0; i < c->p->rank; i++) {
        if (!place_of(v, c->p, s, i, &e)) return false;
        loom_lexpr_id below = vec_x_prim2(v, LOOM_PRIM_LT, e, vec_x_int(v, 0));
        loom_lexpr_id above = vec_x_prim2(v, LOOM_PRIM_GE, e, vec_x_extent(v, there.own[0]));
        outside = vec_x_prim2(v, LOOM_PRIM_OR, outside, vec_x_prim2(v, LOOM_PRIM_OR, below, above));
        there = vec_drop_own(v, &there, uncertain(e));
    }
    for (uint32_t k = 0; k < c->k; k++) {
        there = vec_drop_own(v, &there, uncertain(vec_x_axis(v, s->depth + s->n_units + k)));
    }
    loom_lexpr_id a = vec_x_extent(v, there.own[0]), b = vec_x_extent(v, c->row);
    *result = vec_leaves_of(v, 3, &at);
    at[0] = vec_expr_leaf(v, vec_x_prim2(v, LOOM_PRIM_OR, outside, vec_x_prim2(v, LOOM_PRIM_EQ, a, b)));
    at[1] = vec_expr_leaf(v, a);
    at[2] = vec_expr_leaf(v, b);
    return true;
}

static bool push_units(vec *v, const loom_node *n, const space *s) {
    for (uint32_t k = 0; k < s->n_units; k++) {
        if (!vec_push_level(v, n, s->units[k])) return false;
    }
    return true;
}

/* Leaves of the elements that differ in shape from each other would be different arrays. */
static bool one_shape(vec *v, const placing *p, const space *s) {
    for (uint32_t i = 1; i < p->xs->n; i++) {
        for (uint32_t k = s->n_units; k < p->xs->at[0].n_own; k++) {
            if (vec_same_extent(v, p->xs->at[i].own[k], p->xs->at[0].own[k])) continue;
            return vec_refuse(v, p->node, "a permute whose elements join arrays of different shapes");
        }
    }
    return true;
}

/* What fails of the operator: one that zips its operands has a map. */
static const loom_node *zip_of(const vec *v, const loom_node *n) {
    const loom_body *op = loom_node_body(v->p, n, 0);
    for (loom_node_id i = op->first; i < op->end; i++) {
        if (v->p->nodes[i].op == LOOM_OP_MAP) return &v->p->nodes[i];
    }
    return n;
}

bool vec_check_placed_rows(vec *v, const placing *p, const space *s) {
    const leaf *x = &p->xs->at[0];
    const loom_node *zip = zip_of(v, p->node);
    uint32_t depth = v->depth;
    bool ok = one_shape(v, p, s) && push_units(v, p->node, s);
    for (uint32_t k = 0; ok && k < s->n_inner; k++) {
        row_check c = {p, s, k, vec_own_as_level(v, x->own[s->n_units + k], depth)};
        ok = vec_emit_check(v, zip, build_row_check, &c, vec_trap(v, zip, LOOM_TRAP_LENGTHS, 0)) &&
             vec_push_level(v, p->node, c.row);
    }
    v->depth = depth;
    return ok;
}

/* ---- places along one axis ---- */

bool vec_unflatten_places(vec *v, const placing *p, uint64_t context, leaf *out) {
    const leaf *like = &p->dest->at[0];
    for (uint32_t i = 0; i < p->dest->n; i++) {
        op_axes axes;
        loom_lvalue_id value;
        if (!vec_value_axes(v, p->node, context, like->n_own, like->own, &axes)) return false;
        if (!vec_dense_value(v, p->node, &out[i], context, &axes, &value)) return false;
        out[i] = vec_result_leaf(v, value, &axes, like->n_own, like->own);
    }
    return true;
}

typedef struct numbering {
    const placing *p;
    const space *s;
    leaf numbers;
} numbering;

static bool build_number(vec *v, void *argument, val *result) {
    const numbering *b = argument;
    leaf x = b->numbers;
    loom_lexpr_id e;
    for (uint32_t i = 0; i < b->p->rank; i++) {
        if (!place_of(v, b->p, b->s, i, &e)) return false;
        x = vec_drop_own(v, &x, uncertain(e));
    }
    for (uint32_t k = 0; x.n_own; k++) {
        x = vec_drop_own(v, &x, uncertain(vec_x_axis(v, b->s->depth + b->s->n_units + k)));
    }
    if (!vec_load_or_const(v, &x, (loom_scalar){.i = -1}, &e)) return false;
    *result = vec_one(v, e);
    return true;
}

/* The number of each place of the target. */
static bool number_places(vec *v, const placing *p, extent flat, leaf *numbers) {
    extent *own = LOOM_NEW(v->scratch, extent);
    uint64_t mask = vec_level_mask(v, &p->dest->at[0]);
    *own = flat;
    *numbers = vec_axis_leaf(flat.axis, 0);
    numbers->at = (source){FROM_OWN, IN_RANGE, 0};
    numbers->n_own = 1;
    numbers->own = own;
    placing one = *p;
    val dest = {1, p->dest->at};
    one.dest = &dest;
    return vec_unflatten_places(v, &one, mask | vec_level_mask(v, numbers), numbers);
}

bool vec_flat_places(vec *v, const placing *p, const space *s, val *dest, val *is, val *xs) {
    uint32_t depth = v->depth, n = s->n_units + s->n_inner;
    const leaf *x = &p->xs->at[0];
    extent *levels = LOOM_NEW_ARRAY(v->scratch, extent, (size_t)n + 1);
    leaf *index, *at;
    val made;
    *dest = *p->dest;
    while (dest->at[0].n_own > 1) {
        if (!vec_flatten_once(v, p->node, dest)) return false;
    }
    numbering b = {.p = p, .s = s};
    if (!one_shape(v, p, s) || !number_places(v, p, dest->at[0].own[0], &b.numbers)) return false;
    for (uint32_t k = 0; k < n; k++) {
        levels[k] = k < s->n_units ? s->units[k] : vec_own_as_level(v, x->own[k], depth);
    }
    bool ok = true;
    for (uint32_t k = 0; ok && k < n; k++) ok = vec_push_level(v, p->node, levels[k]);
    ok = ok && vec_emit_compute(v, p->node, build_number, &b, &made);
    v->depth = depth;
    if (!ok) return false;
    *is = vec_leaves_of(v, 1, &index);
    index[0] = made.at[0];
    for (uint32_t k = n; k > 0; k--) index[0] = vec_unbind_level(v, &index[0], depth + k - 1, levels[k - 1]);
    *xs = vec_leaves_of(v, p->xs->n, &at);
    for (uint32_t i = 0; i < xs->n; i++) {
        at[i] = p->xs->at[i];
        for (uint32_t k = 0; k < n; k++) at[i] = vec_with_own(v, &at[i], k, index[0].own[k]);
    }
    return true;
}

/* ---- scatter ---- */

typedef struct row_choice {
    const placing *p;
    const val *xs;
    leaf last;
    uint32_t depth;
} row_choice;

static leaf shape_of_element(vec *v, const leaf *dest, const leaf *x, uint32_t rank) {
    leaf like = {.kind = LEAF_PULL, .dtype = dest->dtype, .n_own = dest->n_own - rank, .site = LOOM_NONE};
    extent *own = LOOM_NEW_ARRAY(v->scratch, extent, (size_t)like.n_own + 1);
    for (uint32_t k = 0; k < like.n_own; k++) {
        extent a = dest->own[rank + k], b = x->own[1 + k];
        bool same = !vec_is_segmented(v, a) && vec_is_settled(v, a) && vec_same_extent(v, a, b);
        own[k] = same ? a : (extent){.axis = LOOM_NONE, .expr = LOOM_NONE};
    }
    like.own = own;
    return like;
}

static bool build_row_choice(vec *v, void *argument, val *result) {
    const row_choice *c = argument;
    const placing *p = c->p;
    loom_lexpr_id last;
    leaf *shape, place = c->last;
    for (uint32_t k = 0; place.n_own; k++) place = vec_bind_level(v, &place, c->depth + k);
    if (!vec_to_expr(v, &place, &last)) return false;
    loom_lexpr_id put = vec_x_prim2(v, LOOM_PRIM_GE, last, vec_x_int(v, 0));
    index_step *from = LOOM_NEW(v->scratch, index_step), *path = LOOM_NEW_ARRAY(v->scratch, index_step, p->rank);
    *from = (index_step){.at = last, .checked = true, .site = vec_site(v, p->node, LOOM_TRAP_INDEX, 0)};
    for (uint32_t k = 0; k < p->rank; k++) path[k] = vec_at_expr(vec_x_axis(v, c->depth + k));
    thunk a = {.base = *c->xs, .n_path = 1, .path = from}, b = {.base = *p->dest, .n_path = p->rank, .path = path};
    val like = vec_leaves_of(v, p->dest->n, &shape);
    for (uint32_t i = 0; i < like.n; i++) {
        shape[i] = shape_of_element(v, &p->dest->at[i], &c->xs->at[i], p->rank);
    }
    return vec_either(v, p->node, put, &a, &b, &like, result);
}

/* The number of the last unit that goes to each place. */
static bool find_last(vec *v, const placing *p, leaf *last) {
    leaf *dest_at, *index_at, none = vec_int_leaf(-1);
    val dest = vec_leaves_of(v, 1, &dest_at), index = vec_leaves_of(v, 1, &index_at);
    const leaf *target = &p->dest->at[0], *unit = &p->is->at[0];
    leaf outer = *target;
    outer.n_own = p->rank;
    dest_at[0] = none;
    dest_at[0].n_own = p->rank;
    dest_at[0].own = outer.own;
    index_at[0] = vec_axis_leaf(unit->own[0].axis, 0);
    index_at[0].at = (source){FROM_OWN, IN_RANGE, 0};
    index_at[0].n_own = 1;
    index_at[0].own = unit->own;
    placing q = {.node = p->node, .dest = &dest, .is = p->is, .xs = &index, .rank = p->rank, .output = LOOM_NONE};
    q.combine = vec_prim_block(v, LOOM_PRIM_MAX);
    q.builtin = LOOM_PRIM_MAX;
    return vec_permute_values(v, &q, last);
}

bool vec_scatter_rows(vec *v, const placing *p, val *result) {
    val is = *p->is, xs = *p->xs;
    while (is.at[0].n_own > 1) {
        if (!vec_flatten_once(v, p->node, &is) || !vec_flatten_once(v, p->node, &xs)) return false;
    }
    placing q = *p;
    q.is = &is;
    row_choice c = {.p = &q, .xs = &xs, .depth = v->depth};
    if (!find_last(v, &q, &c.last)) return false;
    uint32_t depth = v->depth;
    const extent *own = p->dest->at[0].own;
    extent levels[LOOM_MAX_DEPTH];
    bool ok = true;
    for (uint32_t k = 0; ok && k < p->rank; k++) {
        levels[k] = vec_own_as_level(v, own[k], depth);
        ok = vec_push_level(v, p->node, levels[k]);
    }
    val made;
    leaf *at;
    ok = ok && vec_emit_compute(v, p->node, build_row_choice, &c, &made);
    v->depth = depth;
    if (!ok) return false;
    *result = vec_leaves_of(v, made.n, &at);
    for (uint32_t i = 0; i < made.n; i++) {
        at[i] = made.at[i];
        for (uint32_t k = p->rank; k > 0; k--) at[i] = vec_unbind_level(v, &at[i], depth + k - 1, levels[k - 1]);
    }
    return true;
}
