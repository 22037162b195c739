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
    return vec_expr_node(v, c->frame, c->id, result);
}

bool vec_by_expressions(vec *v, frame *f, loom_node_id id, val *result) {
    node_call c = {f, id};
    return vec_emit_compute(v, &v->p->nodes[id], build_node, &c, result);
}

static void unbind_all(vec *v, val *x, uint32_t level, extent e) {
    leaf *at;
    val y = vec_leaves_of(v, x->n, &at);
    for (uint32_t i = 0; i < x->n; i++) at[i] = vec_unbind_level(v, &x->at[i], level, e);
    *x = y;
}

static bool lift_map(vec *v, frame *f, const loom_node *n, val *result) {
    val *ops;
    extent e;
    if (!vec_operands(v, f, n, &ops) || !vec_common_length(v, n, ops, n->n_operands, &e)) return false;
    uint32_t level = v->depth, mapped = v->mapped;
    if (!vec_push_level(v, n, e)) return false;
    v->mapped = v->depth;
    val *args = LOOM_NEW_ARRAY(v->scratch, val, (size_t)n->n_operands + 1);
    for (uint32_t i = 0; i < n->n_operands; i++) {
        leaf *at;
        args[i] = vec_leaves_of(v, ops[i].n, &at);
        for (uint32_t k = 0; k < ops[i].n; k++) at[k] = vec_bind_level(v, &ops[i].at[k], level);
    }
    bool ok = vec_lift_body(v, loom_node_body(v->p, n, 0), args, f, result);
    v->depth = level;
    v->mapped = mapped;
    if (ok) unbind_all(v, result, level, e);
    return ok;
}

static bool lift_generate(vec *v, frame *f, const loom_node *n, val *result) {
    val *ops, args[LOOM_MAX_DEPTH];
    extent e[LOOM_MAX_DEPTH];
    uint32_t level = v->depth, mapped = v->mapped, k = n->n_operands;
    if (!vec_operands(v, f, n, &ops)) return false;
    for (uint32_t i = 0; i < k; i++) {
        if (!vec_as_extent(v, n, &ops[i].at[0], &e[i])) return false;
    }
    for (uint32_t i = 0; i < k; i++) {
        leaf *at;
        if (!vec_push_level(v, n, e[i])) return false;
        args[i] = vec_leaves_of(v, 1, &at);
        at[0] = vec_axis_leaf(e[i].axis, level + i);
    }
    v->mapped = v->depth;
    bool ok = vec_lift_body(v, loom_node_body(v->p, n, 0), args, f, result);
    v->depth = level;
    v->mapped = mapped;
    for (uint32_t i = k; ok && i > 0; i--) unbind_all(v, result, level + i - 1, e[i - 1]);
    return ok;
}

bool vec_lift_sort(vec *v, frame *f, loom_node_id id, val *result) {
    const loom_node *n = &v->p->nodes[id];
    val keys;
    extent e;
    op_axes axes;
    if (!vec_operand(v, f, n, 0, &keys) || !vec_common_length(v, n, &keys, 1, &e)) return false;
    if (vec_chunk_among(v, &e, 1)) return vec_refuse(v, n, "a sort along the stream");
    leaf *by;
    val y = vec_leaves_of(v, keys.n, &by);
    loom_lvalue_id *from = LOOM_NEW_ARRAY(v->scratch, loom_lvalue_id, keys.n);
    uint64_t mask = 0;
    for (uint32_t i = 0; i < y.n; i++) {
        by[i] = vec_with_own(v, &keys.at[i], 0, e);
        mask |= vec_level_mask(v, &by[i]);
    }
    for (uint32_t i = 0; i < y.n; i++) {
        if (!vec_canonical(v, n, &by[i], mask, &from[i])) return false;
    }
    if (!vec_value_axes(v, n, mask, 1, &e, &axes)) return false;
    loom_lvalue_id made = vec_new_value(v, n, LOOM_I64, &axes);
    loom_lop op = vec_plain_op(v, n, LOOM_LO_SORT, &axes);
    op.n_args = y.n;
    op.args = from;
    op.n_results = 1;
    op.results = &made;
    loom_lifted_op(v->l, op);
    extent *own = LOOM_NEW(v->scratch, extent);
    *own = e;
    leaf *at;
    *result = vec_leaves_of(v, 1, &at);
    at[0] = vec_result_leaf(v, made, &axes, 1, own);
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
    if (!vec_operand(v, f, n, 0, &condition) || !vec_operand(v, f, n, 1, result)) return false;
    if (loom_assertion_counts(n->aux)) {
        leaf *at, holds = condition.at[0];
        condition = vec_leaves_of(v, 2, &at);
        at[0] = holds;
        at[1] = result->at[0];
    }
    return vec_emit_check(v, n, build_condition, &condition, vec_trap(v, n, LOOM_TRAP_ASSERT, 0));
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
    loom_lexpr_id size, actual = vec_x_extent(v, c->actual);
    leaf *at;
    if (!vec_to_expr(v, &c->size, &size)) return false;
    loom_lexpr_id ok = vec_x_prim2(v, LOOM_PRIM_EQ, actual, size);
    for (uint32_t k = 0; k < c->n_outer; k++) {
        if (!vec_maybe_empty(v, c->outer[k].axis)) continue;
        loom_lexpr_id none = vec_x_prim2(v, LOOM_PRIM_EQ, vec_x_extent(v, c->outer[k]), vec_x_int(v, 0));
        ok = vec_x_prim2(v, LOOM_PRIM_OR, ok, none);
    }
    *result = vec_leaves_of(v, 3, &at);
    at[0] = vec_expr_leaf(v, ok);
    at[1] = vec_expr_leaf(v, actual);
    at[2] = vec_expr_leaf(v, size);
    return true;
}

static bool avoided(const vec *v, const leaf *x) {
    return x->kind == LEAF_CONST || x->kind == LEAF_EXTENT ||
           (x->kind == LEAF_VALUE && v->l->values[x->id].n_axes == 0);
}

/* A claim about rows that may differ in length holds for each of them. */
static bool claim_rows(vec *v, const loom_node *n, const leaf *size, const extent *own, uint32_t k,
                       loom_trap_text text) {
    uint32_t depth = v->depth;
    claim_check c = {*size, vec_own_as_level(v, own[k], depth), own, 0};
    bool ok = vec_push_own(v, n, own, k) && vec_emit_check(v, n, build_claim, &c, text);
    v->depth = depth;
    return ok;
}

/* Claim number `claim` of the node, about level `k`. */
static bool claim_level(vec *v, const loom_node *n, uint32_t claim, const leaf *size, uint32_t k, val *x) {
    loom_trap_text text = vec_trap(v, n, LOOM_TRAP_CLAIM, claim);
    const extent *own = x->at[0].own;
    extent claimed = own[k];
    if (avoided(v, size)) {
        if (!vec_as_extent(v, n, size, &claimed)) return false;
        if (vec_same_extent(v, claimed, own[k])) return true;
    }
    if (vec_depends_on_own(v, own[k], k)) return claim_rows(v, n, size, own, k, text);
    bool empty = false;
    for (uint32_t i = 0; i < k; i++) empty = empty || vec_maybe_empty(v, own[i].axis);
    if (!empty && !vec_same_extent(v, claimed, own[k])) {
        if (!vec_unify(v, n, own[k], claimed, text, &claimed)) return false;
    } else {
        claim_check c = {*size, own[k], own, k};
        if (!vec_emit_check(v, n, build_claim, &c, text)) return false;
        if (vec_unguarded(v, 0)) return true; /* the check may be skipped: the array keeps its own extent */
    }
    /* From here on the array has the claimed axis: equal sizes become the same axis. */
    leaf *at;
    val y = vec_leaves_of(v, x->n, &at);
    for (uint32_t i = 0; i < x->n; i++) at[i] = vec_with_own(v, &x->at[i], k, claimed);
    *x = y;
    return true;
}

static bool lift_claim(vec *v, frame *f, const loom_node *n, val *result) {
    val size;
    if (!vec_operand(v, f, n, 0, result)) return false;
    if (result->n == 0) return true;
    for (uint32_t k = 0, i = 1; i < n->n_operands; k++) {
        if (!(n->aux >> k & 1)) continue;
        if (!vec_operand(v, f, n, i, &size) || !claim_level(v, n, i - 1, &size.at[0], k, result)) return false;
        i++;
    }
    return true;
}

/* ---- nodes ---- */

static bool lift_moved(vec *v, frame *f, loom_node_id id, val *result) {
    const loom_node *n = &v->p->nodes[id];
    val *ops;
    if (!vec_operands(v, f, n, &ops)) return false;
    if (n->op == LOOM_OP_INDEX && !vec_indexes_by_levels(v, n, ops)) return vec_by_expressions(v, f, id, result);
    return vec_delay(v, f, n, result) && vec_materialise(v, n, result);
}

static bool lift_node(vec *v, frame *f, loom_node_id id, val *result) {
    const loom_node *n = &v->p->nodes[id];
    bool done;
    val *ops;
    if (!vec_count_step(v, n) || !vec_simple_node(v, f, n, result, &done)) return false;
    if (done) return true;
    switch ((loom_op)n->op) {
    case LOOM_OP_PRIM:
    case LOOM_OP_CONVERT: return vec_by_expressions(v, f, id, result);
    case LOOM_OP_IF: return vec_lift_if(v, f, id, result);
    case LOOM_OP_LOOP_FOR:
    case LOOM_OP_LOOP_WHILE: return vec_lift_loop(v, f, id, result);
    case LOOM_OP_ASSERT: return lift_assert(v, f, n, result);
    case LOOM_OP_CLAIM: return lift_claim(v, f, n, result);
    case LOOM_OP_MAP: return lift_map(v, f, n, result);
    case LOOM_OP_GENERATE: return lift_generate(v, f, n, result);
    case LOOM_OP_FOLD:
    case LOOM_OP_FOLD1: return vec_lift_fold(v, f, id, result);
    case LOOM_OP_SCAN: return vec_lift_scan(v, f, id, result);
    case LOOM_OP_PERMUTE: return vec_lift_permute(v, f, id, result);
    case LOOM_OP_SCATTER: return vec_lift_scatter(v, f, id, result);
    case LOOM_OP_FFT: return vec_lift_fft(v, f, id, result);
    case LOOM_OP_SORT: return vec_lift_sort(v, f, id, result);
    case LOOM_OP_FILTER: return vec_lift_filter(v, f, id, result);
    case LOOM_OP_CALL:
        return vec_operands(v, f, n, &ops) &&
               vec_lift_body(v, &v->p->bodies[v->p->functions[n->aux].body], ops, NULL, result);
    case LOOM_OP_LIFTED:
        return vec_operands(v, f, n, &ops) && vec_lift_body(v, loom_node_body(v->p, n, 0), ops, NULL, result);
    default: break;
    }
    if (vec_is_delayed((loom_op)n->op)) return lift_moved(v, f, id, result);
    return vec_refuse(v, n, "%s makes an array whose length depends on its elements", loom_op_table[n->op].name);
}

bool vec_lift_node(vec *v, frame *f, loom_node_id id, val *result) {
    if (!lift_node(v, f, id, result)) return false;
    return !v->lost || vec_refuse(v, &v->p->nodes[id], "the extent of rows that may differ in length");
}

bool vec_lift_body(vec *v, const loom_body *b, const val *args, frame *up, val *result) {
    frame *f = vec_new_frame(v, b, up);
    const own_nodes *own = &v->own[b - v->p->bodies];
    for (uint32_t i = 0; i < b->n_params; i++) f->vals[i] = args[i];
    for (uint32_t i = 0; i < own->count; i++) {
        loom_node_id id = v->own_list[own->first + i];
        if (!vec_lift_node(v, f, id, &f->vals[id - b->first])) return false;
    }
    *result = *vec_slot(f, b->result);
    return true;
}
