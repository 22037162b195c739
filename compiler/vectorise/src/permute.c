/* permute and scatter.
 *
 *     permute op dest is xs  ->  PERMUTE over (context axes, axes of `is`, element axes): body = the place (indices,
 * then the element axes' own index) and the value The node that is the chunk function's result for an output of kind
 * PERMUTE goes straight into that output's accumulator; its dest is a fill with the neutral element and is never made.
 *
 *     scatter dest is xs     ->  the same with the operator (a, x) -> x: places get what goes there in source order, so
 * the last one stays
 *
 * Rows that differ in length: place.c.
 */
#include "place.h"

/* Inside the levels of the units around it, a unit is compared only where there are rows: an array without rows agrees
 * with any other about what is in them. */
static bool compare_units(vec *v, const loom_node *n, const val *is, const val *xs, space *s) {
    for (uint32_t k = 0; k < s->n_units; k++) {
        if (k && !vec_push_level(v, n, s->units[k - 1])) return false;
        s->units[k] = vec_own_as_level(v, is->at[0].own[k], s->depth);
        for (uint32_t i = 0; i < xs->n; i++) {
            if (xs->at[i].n_own < s->n_units) return vec_refuse(v, n, "values nested less than their indices");
            extent e = vec_own_as_level(v, xs->at[i].own[k], s->depth);
            if (!vec_unify(v, n, s->units[k], e, vec_trap(v, n, LOOM_TRAP_LENGTHS, 0), &s->units[k])) return false;
        }
    }
    return true;
}

static bool unit_axes(vec *v, const loom_node *n, const val *is, const val *xs, space *s) {
    s->n_units = is->at[0].n_own;
    uint32_t depth = v->depth;
    bool ok = compare_units(v, n, is, xs, s);
    v->depth = depth;
    return ok;
}

static bool inner_axes(vec *v, const loom_node *n, const val *dest, const val *xs, uint32_t rank, space *s) {
    const leaf *d = &dest->at[0];
    s->n_inner = d->n_own - rank;
    for (uint32_t i = 0; i < dest->n; i++) {
        const leaf *x = &xs->at[i], *y = &dest->at[i];
        if (y->n_own != d->n_own || x->n_own != s->n_units + s->n_inner) {
            return vec_refuse(v, n, "a permute whose elements join arrays of different shapes");
        }
        for (uint32_t k = 0; k < d->n_own; k++) {
            if (!vec_same_extent(v, d->own[k], y->own[k]))
                return vec_refuse(v, n, "a permute onto arrays of different shapes");
        }
        for (uint32_t k = 0; k < s->n_inner; k++) {
            extent e = x->own[s->n_units + k];
            s->loose = s->loose || vec_is_segmented(v, e) || !vec_same_extent(v, d->own[rank + k], e);
        }
    }
    return true;
}

static bool push_space(vec *v, const loom_node *n, const space *s, const leaf *dest, uint32_t rank) {
    for (uint32_t k = 0; k < s->n_units; k++) {
        if (!vec_push_level(v, n, s->units[k])) return false;
    }
    for (uint32_t k = 0; k < s->n_inner; k++) {
        if (!vec_push_level(v, n, dest->own[rank + k])) return false;
    }
    return true;
}

/* What goes nowhere need not reach as far as the target's elements do. */
static bool at_point(vec *v, const space *s, leaf x, loom_lexpr_id *e) {
    uint32_t k = 0;
    for (; x.n_own && (k < s->n_units || !s->loose); k++) x = vec_bind_level(v, &x, s->depth + k);
    if (!x.n_own) return vec_to_expr(v, &x, e);
    for (; x.n_own; k++) {
        val whole = {1, &x}, element;
        if (!vec_pull(v, NULL, &whole,
                      (index_step){.at = vec_x_axis(v, s->depth + k), .checked = true, .site = LOOM_NONE}, &element))
            return false;
        x = element.at[0];
    }
    return vec_load_or_const(v, &x, vec_zero_scalar(), e);
}

static bool build_points(vec *v, const space *s, const val *is, const val *xs, loom_lexpr_id *results) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < is->n; i++) {
        if (!at_point(v, s, is->at[i], &results[at++])) return false;
    }
    for (uint32_t k = 0; k < s->n_inner; k++) results[at++] = vec_x_axis(v, s->depth + s->n_units + k);
    for (uint32_t i = 0; i < xs->n; i++) {
        if (!at_point(v, s, xs->at[i], &results[at++])) return false;
    }
    return true;
}

static uint64_t context_of(const vec *v, const placing *p) {
    uint64_t mask = 0;
    for (uint32_t i = 0; i < p->dest->n; i++) mask |= vec_level_mask(v, &p->dest->at[i]);
    for (uint32_t i = 0; i < p->is->n; i++) mask |= vec_level_mask(v, &p->is->at[i]);
    for (uint32_t i = 0; i < p->xs->n; i++) mask |= vec_level_mask(v, &p->xs->at[i]);
    return mask;
}

/* Only the first axis behind a context may be segmented. */
static bool onto_rows(const vec *v, const placing *p) {
    const leaf *dest = &p->dest->at[0];
    uint32_t free_axes = p->context ? 1 : 0;
    return dest->n_own > free_axes && vec_any_segmented(v, dest->own + free_axes, dest->n_own - free_axes);
}

static bool make_permute(vec *v, placing *p, const space *s, leaf *out) {
    uint32_t depth = v->depth, n_values = p->xs->n;
    const leaf *dest = &p->dest->at[0];
    loom_lexpr_id first = v->l->n_exprs;
    loom_lexpr_id *results = LOOM_NEW_ARRAY(v->scratch, loom_lexpr_id, (size_t)n_values + LOOM_MAX_DEPTH + p->is->n);
    if (onto_rows(v, p)) return vec_refuse(v, p->node, "a permute onto rows that may differ in length");
    if (!push_space(v, p->node, s, dest, p->rank)) {
        v->depth = depth;
        return false;
    }
    vec_op_begin(v);
    bool ok = build_points(v, s, p->is, p->xs, results);
    vec_op_end(v);
    if (!ok) {
        v->depth = depth;
        return false;
    }
    loom_lblock_id body = loom_lifted_block(v->l, first, 0, NULL, dest->n_own + n_values, results);
    loom_lexpr_id end = v->l->n_exprs;
    uint64_t own = 0;
    for (uint32_t i = depth; i < v->depth; i++) own |= UINT64_C(1) << i;
    op_axes axes = vec_order_axes(v, p->context | own, depth), target;
    v->depth = depth;
    if (!vec_value_axes(v, p->node, p->context, dest->n_own, dest->own, &target)) return false;
    uint32_t n_context = target.n - dest->n_own;
    if (!n_context && loom_lifted_any_segmented(v->l, axes.n, axes.axis)) {
        return vec_refuse(v, p->node, "a permute of rows that may differ in length");
    }
    vec_place_axes(v, first, end, &axes);
    loom_lop op = vec_plain_op(v, p->node, LOOM_LO_PERMUTE, &axes);
    op.body = body;
    op.combine = p->combine;
    op.distinct = p->distinct;
    op.covers = p->covers;
    op.rank = dest->n_own;
    op.output = p->output;
    op.builtin = p->builtin;
    op.n_context = n_context;
    op.n_target_axes = target.n;
    op.target_axes = target.axis;
    loom_lvalue_id *values = LOOM_NEW_ARRAY(v->scratch, loom_lvalue_id, (size_t)n_values + 1);
    if (p->output == LOOM_NONE) {
        op.n_results = n_values;
        op.dest = p->onto;
        for (uint32_t i = 0; i < n_values; i++) {
            values[i] = vec_new_value(v, p->node, v->l->values[p->onto[i]].dtype, &target);
            out[i] = vec_result_leaf(v, values[i], &target, dest->n_own, dest->own);
        }
        op.results = values;
    }
    loom_lifted_op(v->l, op);
    return true;
}

/* ---- permute ---- */

static bool is_target(const vec *v, const loom_node *n) {
    for (uint32_t i = 0; i < v->n_targets; i++) {
        if (v->targets[i].node == n && v->depth == 0 && v->inner_depth == 0) return true;
    }
    return false;
}

static bool output_of(vec *v, const placing *p, uint32_t number) {
    loom_loutput *o = &v->l->outputs[number];
    const leaf *d = &p->dest->at[0];
    loom_axis_id *axes = LOOM_NEW_ARRAY(v->arena, loom_axis_id, (size_t)d->n_own + 1);
    loom_scalar *neutral = LOOM_NEW_ARRAY(v->arena, loom_scalar, (size_t)p->dest->n + 1);
    for (uint32_t k = 0; k < d->n_own; k++) axes[k] = d->own[k].axis;
    for (uint32_t i = 0; i < p->dest->n; i++) {
        if (p->dest->at[i].kind != LEAF_CONST) {
            return vec_refuse(v, p->node, "a permute whose neutral element is not a constant");
        }
        neutral[i] = p->dest->at[i].imm;
    }
    o->n_axes = d->n_own;
    o->axes = axes;
    o->neutral = neutral;
    o->combine = p->combine;
    return true;
}

/* Units in rows that differ in length are put one behind the other: the order stays. */
static bool flatten_units(vec *v, const loom_node *n, val *is, val *xs) {
    space s = {.depth = v->depth};
    bool rows = false;
    for (uint32_t k = 1; is->n && k < is->at[0].n_own; k++) rows = rows || vec_depends_on_own(v, is->at[0].own[k], k);
    if (!rows) return true;
    if (!unit_axes(v, n, is, xs, &s) || !vec_flatten_once(v, n, is) || !vec_flatten_once(v, n, xs)) return false;
    return flatten_units(v, n, is, xs);
}

/* All targets that are outputs: the chunk's part is combined into these. */
static bool onto_outputs(vec *v, placing *p, const space *s, leaf *out) {
    const loom_node *n = p->node;
    for (uint32_t i = 0; i < p->dest->n; i++) {
        out[i] = (leaf){.kind = LEAF_BAD, .n_own = p->dest->at[i].n_own, .own = p->dest->at[i].own};
        out[i].why = "a permuted result that is used again";
    }
    for (uint32_t i = 0; i < v->n_targets; i++) {
        if (v->targets[i].node != n) continue;
        p->output = v->targets[i].output;
        v->targets[i].done = true;
        if (!output_of(v, p, p->output) || !make_permute(v, p, s, out)) return false;
    }
    return true;
}

static bool onto_values(vec *v, placing *p, const space *s, leaf *out) {
    loom_lvalue_id *onto = LOOM_NEW_ARRAY(v->scratch, loom_lvalue_id, (size_t)p->dest->n + 1);
    for (uint32_t i = 0; i < p->dest->n; i++) {
        if (!vec_canonical(v, p->node, &p->dest->at[i], p->context, &onto[i])) return false;
    }
    p->onto = onto;
    return make_permute(v, p, s, out);
}

bool vec_permute_values(vec *v, placing *p, leaf *out) {
    const loom_node *n = p->node;
    space s = {.depth = v->depth};
    val is = *p->is, xs = *p->xs, flat_dest, flat_is, flat_xs;
    if (!flatten_units(v, n, &is, &xs)) return false;
    p->is = &is;
    p->xs = &xs;
    if (!unit_axes(v, n, &is, &xs, &s) || !inner_axes(v, n, p->dest, &xs, p->rank, &s)) return false;
    if (s.loose && (!p->zips || !vec_check_placed_rows(v, p, &s))) {
        return p->zips ? false
                       : vec_refuse(v, n, "a permute whose elements may differ in shape from those of its target");
    }
    p->context = context_of(v, p);
    bool target = is_target(v, n);
    if (!onto_rows(v, p)) return target ? onto_outputs(v, p, &s, out) : onto_values(v, p, &s, out);
    if (target) return vec_refuse(v, n, "partial results whose rows may differ in length");
    placing flat = *p;
    if (!vec_flat_places(v, p, &s, &flat_dest, &flat_is, &flat_xs)) return false;
    flat.dest = &flat_dest;
    flat.rank = 1;
    space t = {.depth = v->depth};
    if (!flatten_units(v, n, &flat_is, &flat_xs) || !unit_axes(v, n, &flat_is, &flat_xs, &t)) return false;
    flat.is = &flat_is;
    flat.xs = &flat_xs;
    flat.context = context_of(v, &flat);
    return onto_values(v, &flat, &t, out) && vec_unflatten_places(v, p, flat.context, out);
}

bool vec_lift_permute(vec *v, frame *f, loom_node_id id, val *result) {
    const loom_node *n = &v->p->nodes[id];
    const loom_body *op = loom_node_body(v->p, n, 0);
    val dest, is, xs;
    if (!vec_operand(v, f, n, 0, &dest) || !vec_operand(v, f, n, 1, &is) || !vec_operand(v, f, n, 2, &xs)) return false;
    if (dest.n == 0) return vec_refuse(v, n, "a permute of empty tuples");
    placing p = {.node = n, .dest = &dest, .is = &is, .xs = &xs, .rank = n->aux, .output = LOOM_NONE};
    uint32_t *group = LOOM_NEW_ARRAY(v->scratch, uint32_t, (size_t)dest.n + 1);
    leaf *like = LOOM_NEW_ARRAY(v->scratch, leaf, (size_t)dest.n + 1), *out;
    for (uint32_t i = 0; i < dest.n; i++) {
        group[i] = i;
        like[i] = dest.at[i];
        for (uint32_t k = 0; k < p.rank; k++)
            like[i] = vec_drop_own(v, &like[i], (index_step){.at = LOOM_NONE, .site = LOOM_NONE});
    }
    if (!vec_combine_block(v, n, op, f, like, dest.n, group, dest.n, &p.combine)) return false;
    p.builtin = vec_builtin_of(v, p.combine);
    p.zips = vec_zips(v, op, p.combine);
    *result = vec_leaves_of(v, dest.n, &out);
    return vec_permute_values(v, &p, out);
}

/* (a..., x...) -> x... */
static loom_lblock_id replaced(vec *v, const val *xs) {
    uint32_t n = xs->n;
    loom_dtype *types = LOOM_NEW_ARRAY(v->scratch, loom_dtype, 2 * (size_t)n);
    loom_lexpr_id *results = LOOM_NEW_ARRAY(v->scratch, loom_lexpr_id, n);
    for (uint32_t i = 0; i < n; i++) types[i] = types[n + i] = xs->at[i].dtype;
    vec_op_begin(v);
    open_block b = vec_block_open(v);
    for (uint32_t i = 0; i < n; i++) results[i] = vec_x_param(v, types[i], n + i);
    loom_lblock_id block = vec_block_close(v, b, 2 * n, types, n, results);
    vec_op_end(v);
    return block;
}

bool vec_lift_compaction(vec *v, const loom_node *n, const val *places, extent length, extent count, val *from) {
    leaf *dest_at, *index_at, *out, zero = vec_int_leaf(0);
    val dest = vec_leaves_of(v, 1, &dest_at), index = vec_leaves_of(v, 1, &index_at);
    space s = {.depth = v->depth, .n_units = 1, .units = {length}};
    dest_at[0] = vec_replicate_leaf(v, &zero, count);
    index_at[0] = vec_axis_leaf(length.axis, 0);
    index_at[0].at = (source){FROM_OWN, IN_RANGE, 0};
    index_at[0].n_own = 1;
    index_at[0].own = s.units;
    placing p = {.node = n, .dest = &dest, .is = places, .xs = &index, .rank = 1, .output = LOOM_NONE};
    p.distinct = p.covers = true; /* places are sums of flags */
    loom_lvalue_id onto;
    p.combine = replaced(v, &index);
    p.builtin = LOOM_PRIM_COUNT;
    p.context = context_of(v, &p);
    if (!vec_canonical(v, n, &dest_at[0], p.context, &onto)) return false;
    p.onto = &onto;
    *from = vec_leaves_of(v, 1, &out);
    extent *own = LOOM_NEW(v->scratch, extent);
    *own = count;
    if (!make_permute(v, &p, &s, out)) return false;
    out[0].own = own;
    return true;
}

/* ---- scatter ---- */

/* Elements of one shape. */
static bool scatter_values(vec *v, placing *p, const space *s, val *result) {
    leaf *out;
    p->context = context_of(v, p);
    p->builtin = LOOM_PRIM_COUNT;
    p->combine = replaced(v, p->xs);
    *result = vec_leaves_of(v, p->dest->n, &out);
    return onto_values(v, p, s, out);
}

bool vec_lift_scatter(vec *v, frame *f, loom_node_id id, val *result) {
    const loom_node *n = &v->p->nodes[id];
    val dest, is, xs;
    space s = {.depth = v->depth};
    if (!vec_operand(v, f, n, 0, &dest) || !vec_operand(v, f, n, 1, &is) || !vec_operand(v, f, n, 2, &xs)) return false;
    if (dest.n == 0) return vec_refuse(v, n, "a scatter of empty tuples");
    if (!flatten_units(v, n, &is, &xs)) return false;
    placing p = {.node = n, .dest = &dest, .is = &is, .xs = &xs, .rank = n->aux, .output = LOOM_NONE};
    if (!unit_axes(v, n, &is, &xs, &s)) return false;
    bool alike = inner_axes(v, n, &dest, &xs, p.rank, &s) && !s.loose;
    p.context = context_of(v, &p);
    return alike && !onto_rows(v, &p) ? scatter_values(v, &p, &s, result) : vec_scatter_rows(v, &p, result);
}
