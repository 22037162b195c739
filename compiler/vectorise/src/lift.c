/* Operation mode: core nodes as operations over index spaces.
 *
 *     map f xs      : the outermost own axis of xs becomes a level of the context while f is translated, and an own
 * axis again afterwards; what does not depend on it never gets it generate n f  : the same with a new axis; the index
 * is the axis itself scalar nodes, conditionals, scalar loops: one COMPUTE whose body is made in expression mode what
 * moves elements: delayed, then one COMPUTE over the result's axes
 */
#include "vec.h"

typedef struct node_call {
    frame *frame;
    loom_node_id id;
} node_call;

static bool build_node(vec *v, void *argument, val *result) {
    node_call *c = argument;
    return expr_node(v, c->frame, c->id, result);
}

bool by_expressions(vec *v, frame *f, loom_node_id id, val *result) {
    node_call c = {f, id};
    return emit_compute(v, &v->p->nodes[id], build_node, &c, result);
}

static void unbind_all(vec *v, val *x, uint32_t level, loom_axis_id axis) {
    leaf *at;
    val y = leaves_of(v, x->n, &at);
    for (uint32_t i = 0; i < x->n; i++) at[i] = unbind_level(v, &x->at[i], level, axis);
    *x = y;
}

static bool lift_map(vec *v, frame *f, const loom_node *n, val *result) {
    val *ops;
    extent e;
    if (!operands(v, f, n, &ops) || !common_length(v, n, ops, n->n_operands, &e)) return false;
    uint32_t level = v->depth;
    if (!push_level(v, n, e.axis)) return false;
    val *args = LOOM_NEW_ARRAY(v->scratch, val, (size_t)n->n_operands + 1);
    for (uint32_t i = 0; i < n->n_operands; i++) {
        leaf *at;
        args[i] = leaves_of(v, ops[i].n, &at);
        for (uint32_t k = 0; k < ops[i].n; k++) at[k] = bind_level(v, &ops[i].at[k], level);
    }
    bool ok = lift_body(v, loom_node_body(v->p, n, 0), args, f, result);
    v->depth = level;
    if (ok) unbind_all(v, result, level, e.axis);
    return ok;
}

static bool lift_generate(vec *v, frame *f, const loom_node *n, val *result) {
    val *ops, args[LOOM_MAX_DEPTH];
    extent e[LOOM_MAX_DEPTH];
    uint32_t level = v->depth, k = n->n_operands;
    if (!operands(v, f, n, &ops)) return false;
    for (uint32_t i = 0; i < k; i++) {
        if (!as_extent(v, n, &ops[i].at[0], &e[i])) return false;
    }
    for (uint32_t i = 0; i < k; i++) {
        leaf *at;
        if (!push_level(v, n, e[i].axis)) return false;
        args[i] = leaves_of(v, 1, &at);
        at[0] = axis_leaf(e[i].axis, level + i);
    }
    bool ok = lift_body(v, loom_node_body(v->p, n, 0), args, f, result);
    v->depth = level;
    for (uint32_t i = k; ok && i > 0; i--) unbind_all(v, result, level + i - 1, e[i - 1].axis);
    return ok;
}

bool lift_fft(vec *v, frame *f, loom_node_id id, val *result) {
    const loom_node *n = &v->p->nodes[id];
    val x;
    loom_lvalue_id from;
    if (!operand(v, f, n, 0, &x)) return false;
    leaf y = x.at[0];
    uint64_t mask = level_mask(v, &y);
    if (chunk_among(v, y.own, y.n_own)) return refuse(v, n, "an fft along the stream");
    if (!canonical(v, n, &y, mask, &from)) return false;
    op_axes axes = order_axes(v, mask, v->depth);
    for (uint32_t i = 0; i < y.n_own; i++) {
        axes.level[axes.n] = v->depth + i;
        axes.axis[axes.n++] = y.own[i].axis;
    }
    loom_lvalue_id made = new_value(v, n, y.dtype, &axes);
    loom_lop op = plain_op(v, n, LOOM_LO_FFT, &axes);
    op.n_args = op.n_results = 1;
    op.args = &from;
    op.results = &made;
    op.fft_rank = y.n_own;
    op.inverse = n->aux == 1;
    loom_lifted_op(v->l, op);
    leaf *at;
    *result = leaves_of(v, 1, &at);
    at[0] = result_leaf(v, made, &axes, y.n_own, y.own);
    return true;
}

/* ---- assert and claim ---- */

static bool build_condition(vec *v, void *argument, val *result) {
    (void)v;
    *result = *(val *)argument;
    return true;
}

static bool lift_assert(vec *v, frame *f, const loom_node *n, val *result) {
    val condition;
    if (!operand(v, f, n, 0, &condition) || !operand(v, f, n, 1, result)) return false;
    return emit_check(v, n, build_condition, &condition, "assertion failed", NULL);
}

typedef struct claim_check {
    leaf size;
    extent actual;
    const extent *outer;
    uint32_t n_outer;
} claim_check;

/* An array without rows satisfies any claim about them. */
static bool build_claim(vec *v, void *argument, val *result) {
    claim_check *c = argument;
    loom_lexpr_id size, actual = x_extent(v, c->actual);
    leaf *at;
    if (!to_expr(v, &c->size, &size)) return false;
    loom_lexpr_id ok = x_prim2(v, LOOM_PRIM_EQ, actual, size);
    for (uint32_t k = 0; k < c->n_outer; k++) {
        if (!maybe_empty(v, c->outer[k].axis)) continue;
        loom_lexpr_id none = x_prim2(v, LOOM_PRIM_EQ, x_extent(v, c->outer[k]), x_int(v, 0));
        ok = x_prim2(v, LOOM_PRIM_OR, ok, none);
    }
    *result = leaves_of(v, 3, &at);
    at[0] = expr_leaf(v, ok);
    at[1] = expr_leaf(v, actual);
    at[2] = expr_leaf(v, size);
    return true;
}

static bool avoided(const vec *v, const leaf *x) {
    return x->kind == LEAF_CONST || x->kind == LEAF_EXTENT ||
           (x->kind == LEAF_VALUE && v->l->values[x->id].n_axes == 0);
}

static bool claim_level(vec *v, const loom_node *n, const leaf *size, uint32_t k, val *x) {
    static const char *const format = "size claim: {a} elements, {b} expected";
    const extent *own = x->at[0].own;
    extent claimed = own[k];
    if (avoided(v, size)) {
        if (!as_extent(v, n, size, &claimed)) return false;
        if (same_extent(claimed, own[k])) return true;
    }
    bool empty = false;
    for (uint32_t i = 0; i < k; i++) empty = empty || maybe_empty(v, own[i].axis);
    if (!empty && !same_extent(claimed, own[k])) {
        if (!unify(v, n, own[k], claimed, format, NULL, &claimed)) return false;
    } else {
        claim_check c = {*size, own[k], own, k};
        if (!emit_check(v, n, build_claim, &c, format, NULL)) return false;
    }
    /* From here on the array has the claimed axis: equal sizes become the same axis. */
    leaf *at;
    val y = leaves_of(v, x->n, &at);
    for (uint32_t i = 0; i < x->n; i++) at[i] = with_own(v, &x->at[i], k, claimed);
    *x = y;
    return true;
}

static bool lift_claim(vec *v, frame *f, const loom_node *n, val *result) {
    val size;
    if (!operand(v, f, n, 0, result)) return false;
    if (result->n == 0) return true;
    for (uint32_t k = 0, i = 1; i < n->n_operands; k++) {
        if (!(n->aux >> k & 1)) continue;
        if (!operand(v, f, n, i++, &size) || !claim_level(v, n, &size.at[0], k, result)) return false;
    }
    return true;
}

/* ---- nodes ---- */

static bool lift_moved(vec *v, frame *f, loom_node_id id, val *result) {
    const loom_node *n = &v->p->nodes[id];
    val *ops;
    if (!operands(v, f, n, &ops)) return false;
    if (n->op == LOOM_OP_INDEX && !indexes_by_levels(v, n, ops)) return by_expressions(v, f, id, result);
    return delay(v, f, n, result) && materialise(v, n, result);
}

bool lift_node(vec *v, frame *f, loom_node_id id, val *result) {
    const loom_node *n = &v->p->nodes[id];
    bool done;
    val *ops;
    if (!count_step(v, n) || !simple_node(v, f, n, result, &done)) return false;
    if (done) return true;
    switch ((loom_op)n->op) {
    case LOOM_OP_PRIM:
    case LOOM_OP_CONVERT: return by_expressions(v, f, id, result);
    case LOOM_OP_IF: return lift_if(v, f, id, result);
    case LOOM_OP_LOOP_FOR:
    case LOOM_OP_LOOP_WHILE: return lift_loop(v, f, id, result);
    case LOOM_OP_ASSERT: return lift_assert(v, f, n, result);
    case LOOM_OP_CLAIM: return lift_claim(v, f, n, result);
    case LOOM_OP_MAP: return lift_map(v, f, n, result);
    case LOOM_OP_GENERATE: return lift_generate(v, f, n, result);
    case LOOM_OP_FOLD:
    case LOOM_OP_FOLD1: return lift_fold(v, f, id, result);
    case LOOM_OP_SCAN: return lift_scan(v, f, id, result);
    case LOOM_OP_PERMUTE: return lift_permute(v, f, id, result);
    case LOOM_OP_SCATTER: return lift_scatter(v, f, id, result);
    case LOOM_OP_FFT: return lift_fft(v, f, id, result);
    case LOOM_OP_CALL:
        return operands(v, f, n, &ops) && lift_body(v, &v->p->bodies[v->p->functions[n->aux].body], ops, NULL, result);
    default: break;
    }
    if (is_delayed((loom_op)n->op)) return lift_moved(v, f, id, result);
    return refuse(v, n, "%s makes an array whose length depends on its elements", loom_op_table[n->op].name);
}

bool lift_body(vec *v, const loom_body *b, const val *args, frame *up, val *result) {
    frame *f = new_frame(v, b, up);
    const own_nodes *own = &v->own[b - v->p->bodies];
    for (uint32_t i = 0; i < b->n_params; i++) f->vals[i] = args[i];
    for (uint32_t i = 0; i < own->count; i++) {
        loom_node_id id = v->own_list[own->first + i];
        if (!lift_node(v, f, id, &f->vals[id - b->first])) return false;
    }
    *result = *slot(f, b->result);
    return true;
}
