/* Array operations that move elements: renamed sources where that suffices, closures otherwise. The same code serves
 * both modes: what differs (a check as an operation or as an expression, an extent as an axis or as an expression) is
 * in extent.c and emit.c. */
#include "delayed.h"

bool vec_is_delayed(loom_op op) {
    switch (op) {
    case LOOM_OP_ARRAY:
    case LOOM_OP_INDEX:
    case LOOM_OP_SLICE:
    case LOOM_OP_UPDATE:
    case LOOM_OP_GATHER:
    case LOOM_OP_BACKPERMUTE:
    case LOOM_OP_TRANSPOSE:
    case LOOM_OP_FLATTEN:
    case LOOM_OP_UNFLATTEN:
    case LOOM_OP_CONCAT:
    case LOOM_OP_REVERSE:
    case LOOM_OP_ROTATE:
    case LOOM_OP_REPLICATE: return true;
    default: return false;
    }
}

/* ---- conditions that must hold ---- */

/* What must hold, by its error. INDEX: 0 <= lower < size; SLICE_ORDER: 0 <= lower <= upper; SLICE_END: upper <= size.
 */
typedef struct range_check {
    loom_trap trap;
    uint32_t detail;
    leaf lower, upper, size;
    leaf shown[2]; /* the numbers of the message */
} range_check;

static loom_lexpr_id range_holds(vec *v, const range_check *r, loom_lexpr_id low, loom_lexpr_id high,
                                 loom_lexpr_id size) {
    if (r->trap == LOOM_TRAP_SLICE_END) return vec_x_prim2(v, LOOM_PRIM_LE, high, size);
    loom_lexpr_id from = vec_x_prim2(v, LOOM_PRIM_GE, low, vec_x_int(v, 0));
    loom_lexpr_id to =
        r->trap == LOOM_TRAP_INDEX ? vec_x_prim2(v, LOOM_PRIM_LT, low, size) : vec_x_prim2(v, LOOM_PRIM_LE, low, high);
    return vec_x_prim2(v, LOOM_PRIM_AND, from, to);
}

static bool build_range(vec *v, void *argument, val *result) {
    range_check *r = argument;
    loom_lexpr_id low, high, size, shown;
    leaf *at;
    if (!vec_to_expr(v, &r->lower, &low) || !vec_to_expr(v, &r->upper, &high) || !vec_to_expr(v, &r->size, &size))
        return false;
    *result = vec_leaves_of(v, 3, &at);
    at[0] = vec_expr_leaf(v, range_holds(v, r, low, high, size));
    for (uint32_t i = 0; i < 2; i++) {
        if (!vec_to_expr(v, &r->shown[i], &shown)) return false;
        at[1 + i] = vec_expr_leaf(v, shown);
    }
    return true;
}

static bool range_known(const range_check *r) {
    int64_t low, high, size;
    if (r->trap != LOOM_TRAP_SLICE_END && (!vec_is_int(&r->lower, &low) || low < 0)) return false;
    if (r->trap != LOOM_TRAP_SLICE_ORDER && !vec_is_int(&r->size, &size)) return false;
    if (r->trap == LOOM_TRAP_INDEX) return low < size;
    if (!vec_is_int(&r->upper, &high)) return false;
    return r->trap == LOOM_TRAP_SLICE_ORDER ? low <= high : high <= size;
}

/* True in *proven where nothing is left to check at run time. */
static bool check_range(vec *v, const loom_node *n, range_check *r, bool *proven) {
    *proven = range_known(r);
    if (*proven) return true;
    if (!v->in_op) {
        *proven = !vec_unguarded(v, 0); /* an operation that stands before its users, and not skipped */
        return vec_emit_check(v, n, build_range, r, vec_trap(v, n, r->trap, r->detail));
    }
    val x;
    if (!build_range(v, r, &x)) return false;
    loom_lexpr_id numbers[2] = {x.at[1].id, x.at[2].id};
    vec_x_check(v, x.at[0].id, numbers[0], numbers, 2, vec_site(v, n, r->trap, r->detail));
    return true;
}

/* ---- closures over one array ---- */

static val one_closure(vec *v, closure_kind kind, const loom_node *n, const val *ops, uint32_t n_ops, extent own0) {
    closure *c = vec_new_closure(v, kind, n, NULL, ops, n_ops);
    return vec_closure_leaves(v, c, &ops[0], 1, &own0, 1);
}

static bool has_length(vec *v, const loom_node *n, const val *x, extent *e) {
    if (x->n == 0) return vec_refuse(v, n, "an array of empty tuples");
    *e = x->at[0].own[0];
    if (vec_is_unknown(*e)) return vec_refuse(v, n, "an inner extent that is not known here");
    return true;
}

static val one_leaf(vec *v, leaf x) {
    leaf *at;
    val y = vec_leaves_of(v, 1, &at);
    at[0] = x;
    return y;
}

/* Ascending: 0 <= from <= to <= size. Descending: -1 <= to <= from < size, that is the same of to + 1 and from + 1. */
static bool check_slice(vec *v, const loom_node *n, const leaf *from, const leaf *to, const leaf *size, bool down,
                        bool *proven) {
    range_check r = {LOOM_TRAP_SLICE_ORDER, down, *from, *to, *size, {*from, *to}};
    if (down) {
        leaf one = vec_int_leaf(1);
        if (!vec_scalar_prim(v, n, LOOM_PRIM_ADD, to, &one, &r.lower)) return false;
        if (!vec_scalar_prim(v, n, LOOM_PRIM_ADD, from, &one, &r.upper)) return false;
    }
    bool ordered;
    if (!check_range(v, n, &r, &ordered)) return false;
    r.trap = LOOM_TRAP_SLICE_END;
    r.shown[0] = down ? *from : *to;
    r.shown[1] = *size;
    if (!check_range(v, n, &r, proven)) return false;
    *proven = *proven && ordered;
    return true;
}

static bool delay_slice(vec *v, const loom_node *n, const val *ops, val *result) {
    extent e, length;
    if (!has_length(v, n, &ops[0], &e)) return false;
    leaf size = vec_extent_leaf(v, e);
    uint32_t at = 1;
    leaf from = vec_int_leaf(0), to = size, by = vec_int_leaf(1);
    bool has_from = n->aux & 1, has_to = n->aux & 2, has_step = n->aux & 4;
    const leaf *given_from = has_from ? &ops[at++].at[0] : NULL;
    const leaf *given_to = has_to ? &ops[at++].at[0] : NULL;
    if (has_step) by = ops[at].at[0];
    int64_t step;
    if (!vec_is_int(&by, &step) || step == 0) return vec_refuse(v, n, "a slice whose step is not a constant");
    if (step < 0) {
        leaf one = vec_int_leaf(1);
        if (!vec_scalar_prim(v, n, LOOM_PRIM_SUB, &size, &one, &from)) return false;
        to = vec_int_leaf(-1);
    }
    if (given_from) from = *given_from;
    if (given_to) to = *given_to;
    bool proven = (n->aux & VEC_SLICE_IN_RANGE) != 0;
    if (!proven && !check_slice(v, n, &from, &to, &size, step < 0, &proven)) return false;
    if (!vec_slice_extent(v, n, &from, &to, step, &length)) return false;
    val *parts = LOOM_NEW_ARRAY(v->scratch, val, 3);
    parts[0] = ops[0];
    parts[1] = one_leaf(v, from);
    parts[2] = one_leaf(v, vec_int_leaf(step));
    closure *c = vec_new_closure(v, PULL_SLICE, n, NULL, parts, 3);
    /* A check in the same operation raises and goes on: what follows must stay in memory by itself. */
    c->checked = !proven;
    if (c->checked) c->site = vec_site(v, n, LOOM_TRAP_INDEX, 0);
    *result = vec_closure_leaves(v, c, &ops[0], 1, &length, 1);
    return true;
}

/* What depends on the levels before cannot be compared: these are other rows. */
static bool same_inner(const vec *v, const leaf *a, uint32_t from_a, const leaf *b, uint32_t from_b) {
    for (uint32_t i = 0; from_a + i < a->n_own; i++) {
        extent x = a->own[from_a + i], y = b->own[from_b + i];
        if (!vec_same_extent(v, x, y) || vec_is_segmented(v, x)) return false;
    }
    return true;
}

static leaf with_unknown(vec *v, leaf x, uint32_t from) {
    for (uint32_t k = from; k < x.n_own; k++)
        x = vec_with_own(v, &x, k, (extent){.axis = LOOM_NONE, .expr = LOOM_NONE});
    return x;
}

/* The shape of the first part, from own axis `from` on as far as all parts have it. */
static const val *common_shape(vec *v, const val *ops, uint32_t n_ops, uint32_t from) {
    leaf *at;
    val *shape = LOOM_NEW(v->scratch, val);
    *shape = vec_leaves_of(v, ops[0].n, &at);
    for (uint32_t k = 0; k < ops[0].n; k++) {
        at[k] = ops[0].at[k];
        bool same = true;
        for (uint32_t i = 1; i < n_ops; i++) same = same && same_inner(v, &ops[0].at[k], from, &ops[i].at[k], from);
        if (!same) at[k] = with_unknown(v, at[k], from);
    }
    return shape;
}

static bool delay_array(vec *v, const loom_node *n, const val *ops, val *result) {
    extent *e = LOOM_NEW(v->scratch, extent);
    *e = (extent){.axis = loom_lifted_const_axis(v->l, n->n_operands), .expr = LOOM_NONE};
    closure *c = vec_new_closure(v, PULL_ARRAY, n, NULL, ops, n->n_operands);
    c->extents = e;
    c->shape = common_shape(v, ops, n->n_operands, 0);
    *result = vec_closure_leaves(v, c, c->shape, 0, e, 1);
    return true;
}

static bool delay_concat(vec *v, const loom_node *n, const val *ops, val *result) {
    extent *extents = LOOM_NEW_ARRAY(v->scratch, extent, (size_t)n->n_operands + 1);
    leaf total = vec_int_leaf(0);
    for (uint32_t i = 0; i < n->n_operands; i++) {
        if (!has_length(v, n, &ops[i], &extents[i + 1])) return false;
        leaf length = vec_extent_leaf(v, extents[i + 1]);
        if (i == 0) total = length;
        if (i && !vec_join_extents(v, n, LOOM_PRIM_ADD, &total, &length, &total)) return false;
    }
    if (!vec_as_extent(v, n, &total, &extents[0])) return false;
    closure *c = vec_new_closure(v, PULL_CONCAT, n, NULL, ops, n->n_operands);
    c->extents = extents;
    c->shape = common_shape(v, ops, n->n_operands, 1);
    *result = vec_closure_leaves(v, c, c->shape, 1, extents, 1);
    return true;
}

static bool delay_update(vec *v, const loom_node *n, const val *ops, val *result) {
    uint32_t k = n->n_operands - 2;
    leaf *shaped;
    val *shape = LOOM_NEW(v->scratch, val);
    *shape = vec_leaves_of(v, ops[0].n, &shaped);
    for (uint32_t i = 0; i < ops[0].n; i++) {
        bool same = same_inner(v, &ops[0].at[i], k, &ops[1].at[i], 0);
        shaped[i] = same ? ops[0].at[i] : with_unknown(v, ops[0].at[i], k);
    }
    for (uint32_t i = 0; i < k && ops[0].n; i++) {
        extent e = ops[0].at[0].own[i];
        if (vec_is_unknown(e) || vec_depends_on_own(v, e, i)) {
            return vec_refuse(v, n, "an inner extent that is not known here");
        }
        leaf at = ops[2 + i].at[0], size = vec_extent_leaf(v, e);
        range_check r = {LOOM_TRAP_INDEX, 0, at, at, size, {at, size}};
        bool proven;
        if (!check_range(v, n, &r, &proven)) return false;
    }
    closure *c = vec_new_closure(v, PULL_UPDATE, n, NULL, ops, n->n_operands);
    c->n_wanted = k;
    c->shape = shape;
    *result = vec_closure_leaves(v, c, shape, 0, NULL, 0);
    return true;
}

static bool delay_gather(vec *v, const loom_node *n, const val *ops, val *result) {
    const leaf *index = &ops[1].at[0];
    closure *c = vec_new_closure(v, PULL_GATHER, n, NULL, ops, 2);
    *result = vec_closure_leaves(v, c, &ops[0], 1, index->own, index->n_own);
    return true;
}

bool vec_lift_choice(vec *v, const loom_node *n, const val *xs, const val *from, val *result) {
    val *ops = LOOM_NEW_ARRAY(v->scratch, val, 2);
    ops[0] = *xs;
    ops[1] = *from;
    if (!delay_gather(v, n, ops, result)) return false;
    for (uint32_t i = 0; i < result->n; i++) result->at[i].closure->proven = true;
    return vec_materialise(v, n, result);
}

static bool delay_backpermute(vec *v, frame *f, const loom_node *n, const val *ops, val *result) {
    uint32_t r = n->aux, levels = vec_leaf_count(v, v->p->nodes[loom_node_body(v->p, n, 0)->result].type);
    for (uint32_t i = 0; i < ops[0].n; i++) {
        if (!same_inner(v, &ops[0].at[i], r, &ops[1].at[i], levels)) {
            return vec_refuse(v, n, "a backpermute whose rows may differ in length");
        }
    }
    closure *c = vec_new_closure(v, PULL_BACKPERMUTE, n, f, ops, 2);
    c->n_wanted = r;
    *result = vec_closure_leaves(v, c, &ops[0], 0, NULL, 0);
    return true;
}

/* An array without rows has no columns either. */
static bool transposed_extent(vec *v, const loom_node *n, const val *x, extent *outer) {
    leaf columns;
    if (x->n == 0) return vec_refuse(v, n, "an array of empty tuples");
    return vec_dim_leaf(v, n, &x->at[0], 1, &columns) && vec_as_extent(v, n, &columns, outer);
}

static bool all_views(const val *x) {
    for (uint32_t i = 0; i < x->n; i++) {
        if (!vec_is_view(&x->at[i])) return false;
    }
    return true;
}

static bool delay_transpose(vec *v, const loom_node *n, const val *ops, val *result) {
    extent e[2];
    if (!transposed_extent(v, n, &ops[0], &e[0])) return false;
    e[1] = ops[0].at[0].own[0];
    if (all_views(&ops[0])) {
        leaf *at;
        *result = vec_leaves_of(v, ops[0].n, &at);
        for (uint32_t i = 0; i < ops[0].n; i++) at[i] = vec_transpose_leaf(v, &ops[0].at[i], e[0]);
        return true;
    }
    extent *extents = LOOM_NEW_ARRAY(v->scratch, extent, 2);
    memcpy(extents, e, sizeof e);
    closure *c = vec_new_closure(v, PULL_TRANSPOSE, n, NULL, ops, 1);
    c->n_wanted = 2;
    c->extents = extents;
    *result = vec_closure_leaves(v, c, &ops[0], 2, extents, 2);
    return true;
}

bool vec_delay_flatten(vec *v, const loom_node *n, const val *ops, val *result) {
    extent outer, total;
    leaf product;
    if (!has_length(v, n, &ops[0], &outer)) return false;
    if (vec_is_unknown(ops[0].at[0].own[1])) return vec_refuse(v, n, "an inner extent that is not known here");
    if (vec_depends_on_own(v, ops[0].at[0].own[1], 1)) {
        if (v->in_op)
            return vec_refuse(v, n, "a flatten of rows that may differ in length, for an element or a condition");
        return vec_lift_flatten(v, n, &ops[0], result);
    }
    leaf rows = vec_extent_leaf(v, outer), columns = vec_extent_leaf(v, ops[0].at[0].own[1]);
    if (!vec_join_extents(v, n, LOOM_PRIM_MUL, &rows, &columns, &product)) return false;
    if (!vec_as_extent(v, n, &product, &total)) return false;
    closure *c = vec_new_closure(v, PULL_FLATTEN, n, NULL, ops, 1);
    *result = vec_closure_leaves(v, c, &ops[0], 2, &total, 1);
    return true;
}

typedef struct product_check {
    leaf product, size;
} product_check;

static bool build_product(vec *v, void *argument, val *result) {
    product_check *c = argument;
    loom_lexpr_id a, b;
    leaf *at;
    if (!vec_to_expr(v, &c->product, &a) || !vec_to_expr(v, &c->size, &b)) return false;
    *result = vec_leaves_of(v, 3, &at);
    at[0] = vec_expr_leaf(v, vec_x_prim2(v, LOOM_PRIM_EQ, a, b));
    at[1] = vec_expr_leaf(v, a);
    at[2] = vec_expr_leaf(v, b);
    return true;
}

static bool delay_unflatten(vec *v, const loom_node *n, const val *ops, val *result) {
    loom_trap_text text = vec_trap(v, n, LOOM_TRAP_UNFLATTEN, 0);
    extent *extents = LOOM_NEW_ARRAY(v->scratch, extent, 2), length;
    const val *array = &ops[2];
    if (!has_length(v, n, array, &length)) return false;
    product_check c = {.size = vec_extent_leaf(v, length)};
    if (!vec_as_extent(v, n, &ops[0].at[0], &extents[0]) || !vec_as_extent(v, n, &ops[1].at[0], &extents[1]))
        return false;
    leaf rows = vec_extent_leaf(v, extents[0]), columns = vec_extent_leaf(v, extents[1]);
    if (!vec_join_extents(v, n, LOOM_PRIM_MUL, &rows, &columns, &c.product)) return false;
    int64_t product, size;
    bool proven = vec_is_int(&c.product, &product) && vec_is_int(&c.size, &size) && product == size;
    if (!proven && !v->in_op && !vec_emit_check(v, n, build_product, &c, text)) return false;
    closure *d = vec_new_closure(v, PULL_UNFLATTEN, n, NULL, array, 1);
    if (!proven && !v->in_op && vec_unguarded(v, 0)) {
        d->checked = true;
        d->site = vec_site(v, n, LOOM_TRAP_UNFLATTEN, 0);
    }
    if (!proven && v->in_op) {
        val x;
        if (!build_product(v, &c, &x)) return false;
        loom_lexpr_id numbers[2] = {x.at[1].id, x.at[2].id};
        d->checked = true;
        d->site = vec_site(v, n, LOOM_TRAP_UNFLATTEN, 0);
        vec_x_check(v, x.at[0].id, numbers[0], numbers, 2, d->site);
    }
    d->n_wanted = 2;
    d->extents = extents;
    *result = vec_closure_leaves(v, d, array, 1, extents, 2);
    return true;
}

static bool delay_replicate(vec *v, const loom_node *n, const val *ops, val *result) {
    extent e;
    if (!vec_as_extent(v, n, &ops[0].at[0], &e)) return false;
    leaf *at;
    *result = vec_leaves_of(v, ops[1].n, &at);
    closure *c = vec_new_closure(v, PULL_CONSTANT, n, NULL, &ops[1], 1);
    val pulled = vec_closure_leaves(v, c, &ops[1], 0, &e, 1);
    for (uint32_t i = 0; i < ops[1].n; i++) {
        const leaf *x = &ops[1].at[i];
        at[i] = vec_is_view(x) || x->kind == LEAF_EXPR ? vec_replicate_leaf(v, x, e) : pulled.at[i];
    }
    return true;
}

static bool delay_same_length(vec *v, closure_kind kind, const loom_node *n, const val *ops, val *result) {
    extent e;
    if (!has_length(v, n, &ops[0], &e)) return false;
    *result = one_closure(v, kind, n, ops, n->n_operands, e);
    return true;
}

/* ---- indexing ---- */

static bool index_proven(const vec *v, const leaf *index, extent e) {
    int64_t i;
    if (index->kind == LEAF_AXIS && index->at.kind == FROM_LEVEL) return vec_is_level(v, index->at.at, e);
    if (!vec_is_int(index, &i) || e.axis == LOOM_NONE) return false;
    return v->l->axes[e.axis].kind == LOOM_AXIS_CONST && i >= 0 && i < v->l->axes[e.axis].extent;
}

static bool is_manifest(const val *x) {
    bool views = true;
    for (uint32_t i = 0; i < x->n; i++) views = views && vec_is_view(&x->at[i]);
    return views;
}

bool vec_index_value(vec *v, const loom_node *n, const val *x, const leaf *index, val *element) {
    index_step step = {.site = LOOM_NONE};
    if (x->n == 0) return vec_refuse(v, n, "an array of empty tuples");
    extent e = x->at[0].own[0];
    if (x->at[0].kind == LEAF_ELEM) { /* in range or not elementwise */
        if (!vec_to_expr(v, index, &step.at)) return false;
        return vec_pull(v, n, x, step, element);
    }
    if (n->op == LOOM_OP_INDEX && n->aux == VEC_INDEX_IN_RANGE && is_manifest(x)) {
        step.here = true;
        return vec_to_expr(v, index, &step.at) && vec_pull(v, n, x, step, element);
    }
    step.checked = !index_proven(v, index, e);
    for (uint32_t i = 1; i < x->n; i++) step.checked = step.checked || !vec_same_extent(v, e, x->at[i].own[0]);
    if (!vec_to_expr(v, index, &step.at)) return false;
    if (step.checked) {
        step.site = vec_site(v, n, LOOM_TRAP_INDEX, 0);
        /* Loads check by themselves, where there are any: a row has none if it is empty. */
        bool loads = x->at[0].kind == LEAF_VALUE;
        for (uint32_t i = 1; i < x->at[0].n_own; i++) loads = loads && !vec_depends_on_own(v, x->at[0].own[i], 1);
        if (!loads) {
            if (vec_is_unknown(e)) {
                return vec_refuse(v, n, "an inner extent that is not known here");
            }
            loom_lexpr_id size = vec_x_extent(v, e), low = vec_x_prim2(v, LOOM_PRIM_GE, step.at, vec_x_int(v, 0));
            loom_lexpr_id ok = vec_x_prim2(v, LOOM_PRIM_AND, low, vec_x_prim2(v, LOOM_PRIM_LT, step.at, size));
            vec_x_check(v, ok, step.at, (loom_lexpr_id[]){step.at, size}, 2, step.site);
        }
    }
    return vec_pull(v, n, x, step, element);
}

static bool by_level(const vec *v, const val *x, uint32_t k, const leaf *index) {
    if (index->kind != LEAF_AXIS || index->at.kind != FROM_LEVEL || index->dtype != LOOM_I64) return false;
    for (uint32_t i = 0; i < x->n; i++) {
        if (!vec_is_free(v, &x->at[i]) || !vec_is_level(v, index->at.at, x->at[i].own[k])) return false;
    }
    return true;
}

/* xs[i] under the map that i comes from: the element by another name. */
bool vec_indexes_by_levels(const vec *v, const loom_node *n, const val *ops) {
    for (uint32_t i = 1; i < n->n_operands; i++) {
        if (!by_level(v, &ops[0], i - 1, &ops[i].at[0])) return false;
    }
    return ops[0].n > 0;
}

static bool delay_index(vec *v, const loom_node *n, const val *ops, val *result) {
    val x = ops[0];
    if (!v->elementwise && vec_indexes_by_levels(v, n, ops)) {
        for (uint32_t i = 1; i < n->n_operands; i++) {
            leaf *at;
            val y = vec_leaves_of(v, x.n, &at);
            for (uint32_t k = 0; k < x.n; k++) at[k] = vec_bind_level(v, &x.at[k], ops[i].at[0].at.at);
            x = y;
        }
        *result = x;
        return true;
    }
    for (uint32_t i = 1; i < n->n_operands; i++) {
        if (!vec_index_value(v, n, &x, &ops[i].at[0], &x)) return false;
    }
    *result = x;
    return true;
}

bool vec_delay(vec *v, frame *f, const loom_node *n, val *result) {
    val *ops;
    if (!vec_operands(v, f, n, &ops)) return false;
    switch ((loom_op)n->op) {
    case LOOM_OP_ARRAY: return delay_array(v, n, ops, result);
    case LOOM_OP_INDEX: return delay_index(v, n, ops, result);
    case LOOM_OP_SLICE: return delay_slice(v, n, ops, result);
    case LOOM_OP_UPDATE: return delay_update(v, n, ops, result);
    case LOOM_OP_GATHER: return delay_gather(v, n, ops, result);
    case LOOM_OP_BACKPERMUTE: return delay_backpermute(v, f, n, ops, result);
    case LOOM_OP_TRANSPOSE: return delay_transpose(v, n, ops, result);
    case LOOM_OP_FLATTEN: return vec_delay_flatten(v, n, ops, result);
    case LOOM_OP_UNFLATTEN: return delay_unflatten(v, n, ops, result);
    case LOOM_OP_CONCAT: return delay_concat(v, n, ops, result);
    case LOOM_OP_REVERSE: return delay_same_length(v, PULL_REVERSE, n, ops, result);
    case LOOM_OP_ROTATE: {
        val *swapped = LOOM_NEW_ARRAY(v->scratch, val, 2);
        swapped[0] = ops[1];
        swapped[1] = ops[0];
        return delay_same_length(v, PULL_ROTATE, n, swapped, result);
    }
    case LOOM_OP_REPLICATE: return delay_replicate(v, n, ops, result);
    default: return vec_refuse(v, n, "%s cannot be delayed", loom_op_table[n->op].name);
    }
}

/* ---- map and generate in expression mode ---- */

/* Inner extents are those of the element at some index; evaluated and forgotten. */
static void probe_inner(vec *v, const loom_node *n, const val *x, val *shaped, uint32_t outer) {
    bool nested = false;
    for (uint32_t i = 0; i < x->n; i++) nested = nested || x->at[i].n_own > outer;
    if (!nested || v->elementwise) return;
    mark m = vec_mark_here(v);
    const char *remark = v->remark;
    val element;
    leaf *at;
    index_step path[LOOM_MAX_DEPTH];
    open_block b = vec_block_open(v);
    for (uint32_t i = 0; i < outer; i++) path[i] = vec_at_expr(vec_x_int(v, 0));
    bool ok = vec_pull_path(v, n, *x, path, outer, &element);
    vec_block_close(v, b, 0, NULL, 0, NULL);
    vec_forget_exprs(v, m);
    v->remark = remark;
    if (!ok) return;
    *shaped = vec_leaves_of(v, x->n, &at);
    for (uint32_t i = 0; i < x->n; i++) {
        at[i] = x->at[i];
        for (uint32_t k = outer; k < x->at[i].n_own; k++) {
            extent e = element.at[i].own[k - outer];
            if (vec_is_settled(v, e)) at[i] = vec_with_own(v, &at[i], k, e);
        }
    }
}

static val typed_shape(vec *v, loom_type_id type) {
    const leaf_type *types = vec_leaf_types(v, type);
    leaf *at;
    val x = vec_leaves_of(v, vec_leaf_count(v, type), &at);
    for (uint32_t i = 0; i < x.n; i++) {
        extent *own = LOOM_NEW_ARRAY(v->scratch, extent, (size_t)types[i].depth + 1);
        for (uint32_t k = 0; k < types[i].depth; k++) own[k] = (extent){.axis = LOOM_NONE, .expr = LOOM_NONE};
        at[i] =
            (leaf){.kind = LEAF_PULL, .dtype = types[i].dtype, .n_own = types[i].depth, .own = own, .site = LOOM_NONE};
    }
    return x;
}

bool vec_delay_body(vec *v, frame *f, const loom_node *n, const val *args, uint32_t n_args, val *result) {
    extent *own = LOOM_NEW_ARRAY(v->scratch, extent, (size_t)n->n_operands + 1);
    val *shape = LOOM_NEW(v->scratch, val);
    *shape = typed_shape(v, n->type);
    closure *c = vec_new_closure(v, PULL_BODY, n, f, args, n_args);
    uint32_t outer = 1;
    if (n->op == LOOM_OP_GENERATE) {
        outer = c->n_wanted = n->n_operands;
        for (uint32_t i = 0; i < outer; i++) {
            if (!vec_as_extent(v, n, &args[i].at[0], &own[i])) return false;
        }
        c->operands = shape;
        c->n_operands = 1;
    } else {
        if (!vec_common_length(v, n, args, n_args, &own[0])) return false;
        for (uint32_t i = 0; i < n_args; i++) {
            for (uint32_t k = 0; k < args[i].n; k++) {
                bool equal = args[i].at[k].kind == LEAF_ELEM || vec_known_equal(v, own[0], args[i].at[k].own[0]);
                c->checked = c->checked || !equal;
            }
        }
        if (c->checked) c->site = vec_site(v, n, LOOM_TRAP_INDEX, 0);
    }
    val x = vec_closure_leaves(v, c, shape, outer, own, outer);
    *result = x;
    probe_inner(v, n, &x, result, outer);
    return true;
}
