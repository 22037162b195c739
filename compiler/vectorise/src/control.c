/* Conditionals and loops outside of operations.
 *
 * if:
 *   - scalars, or a condition that differs between elements: one COMPUTE with an IF inside (scalar.c);
 *   - where a branch needs memory, the elements are split (split.c);
 *   - the condition is the same for all, and a branch has array operations: an IF operation.
 *
 * loop:
 *   - scalar state: one COMPUTE with a FOR or WHILE inside; each element may take its own number of turns;
 *   - state with arrays, the same number of turns for all: a LOOP operation;
 *   - a few known turns whose state changes its shape: the turns one after the other;
 *   - elements that differ in the number of turns, or a state that changes its shape: turns.c.
 *
 * The context axes of a LOOP's states are iterated to a fixed point: a state that meets an axis on any turn has it from
 * the start. Only then the test is judged: one that depends on an element after any number of turns is not uniform.
 */
#include "vec.h"

enum {
    UNROLL = 16
}; /* turns; each is code of its own */

void vec_open_inner(vec *v) {
    v->inner_depth++;
}

void vec_close_inner(vec *v, mark m) {
    v->inner_depth--;
    vec_close_scope(v, m);
}

static bool outlives(const vec *v, extent e, mark m) {
    if (e.axis == LOOM_NONE) return false;
    const loom_axis *a = &v->l->axes[e.axis];
    if (a->kind == LOOM_AXIS_SEGMENTED) return a->total < m.n_values;
    return a->kind != LOOM_AXIS_SCALAR || a->value < m.n_values;
}

/* Values made by vec_canonical, whose own axes are therefore known. */
static leaf *own_shaped(vec *v, const val *x, const loom_lvalue_id *values, const uint64_t *masks, val *result) {
    leaf *at;
    *result = vec_leaves_of(v, x->n, &at);
    for (uint32_t i = 0; i < x->n; i++) {
        op_axes axes;
        if (!vec_value_axes(v, NULL, masks[i], x->at[i].n_own, x->at[i].own, &axes)) v->lost = true;
        at[i] = vec_result_leaf(v, values[i], &axes, x->at[i].n_own, x->at[i].own);
    }
    return at;
}

/* ---- if ---- */

typedef struct branches {
    const loom_node *node;
    frame *frame;
    uint64_t *masks;
    loom_lvalue_id *values[2];
    loom_lop_id begin[3];
    val shape;
} branches;

/* One branch as inner operations; its results get the axes in `masks`, grown by their own. */
static bool lift_branch(vec *v, branches *b, uint32_t side) {
    mark m = vec_mark_here(v);
    val x;
    b->begin[side] = v->l->n_ops;
    vec_open_inner(v);
    bool ok = vec_lift_body(v, loom_node_body(v->p, b->node, side), NULL, b->frame, &x);
    for (uint32_t i = 0; ok && i < x.n; i++) {
        if (x.at[i].kind == LEAF_BAD) ok = vec_refuse(v, b->node, "%s", x.at[i].why);
        b->masks[i] |= vec_level_mask(v, &x.at[i]);
        for (uint32_t k = 0; ok && k < x.at[i].n_own; k++) {
            bool same = side == 0 || vec_same_extent(v, x.at[i].own[k], b->shape.at[i].own[k]);
            if (!same || !outlives(v, x.at[i].own[k], m)) {
                ok = vec_refuse(v, b->node, "branches whose arrays may differ in shape");
            }
        }
        ok = ok && vec_canonical(v, b->node, &x.at[i], b->masks[i], &b->values[side][i]);
    }
    vec_close_inner(v, m);
    if (side == 0) b->shape = x;
    return ok;
}

static bool if_operation(vec *v, frame *f, const loom_node *n, const leaf *condition, val *result) {
    uint32_t count = vec_leaf_count(v, n->type);
    branches b = {.node = n, .frame = f, .masks = LOOM_NEW_ARRAY(v->scratch, uint64_t, (size_t)count + 1)};
    loom_lvalue_id test, *made = LOOM_NEW_ARRAY(v->scratch, loom_lvalue_id, (size_t)count + 1);
    for (int i = 0; i < 2; i++) b.values[i] = LOOM_NEW_ARRAY(v->scratch, loom_lvalue_id, (size_t)count + 1);
    if (!vec_canonical(v, n, condition, 0, &test)) return false;
    mark m = vec_mark_here(v);
    for (bool settled = false; !settled;) {
        vec_roll_back(v, m);
        uint64_t *then_masks = LOOM_NEW_ARRAY(v->scratch, uint64_t, (size_t)count + 1);
        if (!lift_branch(v, &b, 0)) return false;
        if (count) memcpy(then_masks, b.masks, count * sizeof *then_masks);
        if (!lift_branch(v, &b, 1)) return false;
        settled = count == 0 || memcmp(then_masks, b.masks, count * sizeof *then_masks) == 0;
    }
    b.begin[2] = v->l->n_ops;
    op_axes none = {.n = 0};
    loom_lop op = vec_plain_op(v, n, LOOM_LO_IF, &none);
    for (uint32_t i = 0; i < count; i++) {
        const loom_lvalue like = v->l->values[b.values[0][i]];
        op_axes axes = {.n = like.n_axes};
        if (like.n_axes) memcpy(axes.axis, like.axes, like.n_axes * sizeof *like.axes);
        made[i] = vec_new_value(v, n, like.dtype, &axes);
    }
    op.n_args = 1;
    op.args = &test;
    op.n_results = count;
    op.results = made;
    op.then_results = b.values[0];
    op.else_results = b.values[1];
    op.inner_first = b.begin[0];
    op.inner_end = op.else_first = b.begin[1];
    op.else_end = b.begin[2];
    own_shaped(v, &b.shape, made, b.masks, result);
    loom_lifted_op(v->l, op);
    return true;
}

bool vec_lift_if(vec *v, frame *f, loom_node_id id, val *result) {
    const loom_node *n = &v->p->nodes[id];
    const loom_body *a = loom_node_body(v->p, n, 0), *b = loom_node_body(v->p, n, 1);
    val condition;
    if (!vec_operand(v, f, n, 0, &condition)) return false;
    const leaf *c = &condition.at[0];
    if (c->known) return vec_lift_body(v, c->imm.b ? a : b, NULL, f, result);
    bool uniform = vec_level_mask(v, c) == 0, arrays = vec_has_arrays(v, a) || vec_has_arrays(v, b);
    mark m = vec_mark_here(v);
    if (vec_forces(v, LOOM_FORCE_SPLIT)) {
        if (vec_split_if(v, f, n, c, result)) return true;
        vec_roll_back(v, m);
    }
    if (uniform && arrays) {
        if (if_operation(v, f, n, c, result)) return true;
        const char *remark = v->remark;
        vec_roll_back(v, m);
        if (vec_by_expressions(v, f, id, result)) return true;
        vec_roll_back(v, m);
        if (vec_split_if(v, f, n, c, result)) return true;
        v->remark = remark;
        return false;
    }
    if (vec_by_expressions(v, f, id, result)) return true;
    vec_roll_back(v, m);
    if (uniform && if_operation(v, f, n, c, result)) return true;
    vec_roll_back(v, m);
    return vec_split_if(v, f, n, c, result);
}

/* ---- loops ---- */

typedef struct loop_build {
    const loom_node *node;
    frame *frame;
    val initial;
    uint64_t *masks;
    loom_lvalue_id *before, *state, *next;
    loom_lvalue_id counter, test, count;
    loom_lop_id first;
    bool grown;
} loop_build;

/* Under a map that may be empty, a loop that names no axis of it must not turn at all. */
static bool loop_test(vec *v, loop_build *b, val *states) {
    val made;
    if (!vec_lift_body(v, loom_node_body(v->p, b->node, 0), states, b->frame, &made)) return false;
    leaf test = made.at[0];
    if (vec_level_mask(v, &test)) return vec_refuse(v, b->node, "a loop whose test differs between elements");
    uint64_t used = 0;
    for (uint32_t i = 0; i < b->initial.n; i++) used |= b->masks[i];
    return vec_guard_flag(v, b->node, used, 0, &test) && vec_canonical(v, b->node, &test, 0, &b->test);
}

static void new_states(vec *v, loop_build *b, val *states) {
    for (uint32_t i = 0; i < b->initial.n; i++) {
        loom_lvalue like = v->l->values[b->before[i]];
        like.source = LOOM_LV_STATE;
        like.op = LOOM_NONE;
        b->state[i] = loom_lifted_value(v->l, like);
    }
    own_shaped(v, &b->initial, b->state, b->masks, states);
}

/* A value of its own, made inside the body, or the state itself: then storage may be swapped after a turn. */
static bool next_value(vec *v, loop_build *b, const leaf *x, uint32_t i, mark m) {
    if (!vec_canonical(v, b->node, x, b->masks[i], &b->next[i])) return false;
    if (b->next[i] == b->state[i]) return true;
    bool own = b->next[i] >= m.n_values && v->l->values[b->next[i]].source == LOOM_LV_OP;
    for (uint32_t k = 0; k < i; k++) own = own && b->next[k] != b->next[i];
    return own || vec_copy_value(v, b->node, x, b->masks[i], &b->next[i]);
}

static bool loop_body(vec *v, loop_build *b, val *states, mark m) {
    bool counted = b->node->op == LOOM_OP_LOOP_FOR;
    val args[2], next;
    leaf *at;
    args[0] = vec_leaves_of(v, 1, &at);
    if (counted) {
        b->counter =
            loom_lifted_value(v->l, (loom_lvalue){.dtype = LOOM_I64, .source = LOOM_LV_STATE, .op = LOOM_NONE});
        at[0] = (leaf){.kind = LEAF_VALUE, .dtype = LOOM_I64, .id = b->counter, .site = LOOM_NONE};
    }
    args[1] = *states;
    if (!vec_lift_body(v, loom_node_body(v->p, b->node, counted ? 0 : 1), counted ? args : states, b->frame, &next))
        return false;
    for (uint32_t i = 0; i < next.n; i++) {
        const leaf *x = &next.at[i], *s = &b->initial.at[i];
        if (x->kind == LEAF_BAD) return vec_refuse(v, b->node, "%s", x->why);
        for (uint32_t k = 0; k < x->n_own; k++) {
            if (!vec_same_extent(v, x->own[k], s->own[k]))
                return vec_refuse(v, b->node, "a loop whose state may change its shape");
        }
        uint64_t mask = vec_level_mask(v, x);
        b->grown = b->grown || (mask & ~b->masks[i]);
        b->masks[i] |= mask;
        if (!b->grown && !next_value(v, b, x, i, m)) return false;
    }
    return true;
}

/* One attempt with the axes in `masks`; `grown` tells that they did not suffice. */
static bool try_loop(vec *v, loop_build *b) {
    val states;
    b->grown = false;
    for (uint32_t i = 0; i < b->initial.n; i++) {
        if (!vec_canonical(v, b->node, &b->initial.at[i], b->masks[i], &b->before[i])) return false;
    }
    mark m = vec_mark_here(v);
    b->first = v->l->n_ops;
    b->counter = b->test = LOOM_NONE;
    vec_open_inner(v);
    new_states(v, b, &states);
    bool ok = b->node->op == LOOM_OP_LOOP_FOR || loop_test(v, b, &states);
    ok = ok && loop_body(v, b, &states, m);
    vec_close_inner(v, m);
    return ok;
}

static bool loop_count(vec *v, loop_build *b) {
    val count;
    if (b->node->op != LOOM_OP_LOOP_FOR) return true;
    if (!vec_operand(v, b->frame, b->node, 0, &count)) return false;
    if (vec_level_mask(v, &count.at[0]))
        return vec_refuse(v, b->node, "a loop whose number of turns differs between elements");
    return vec_canonical(v, b->node, &count.at[0], 0, &b->count);
}

static bool loop_operation(vec *v, frame *f, const loom_node *n, const val *initial, val *result) {
    loop_build b = {.node = n, .frame = f, .initial = *initial, .count = LOOM_NONE};
    uint32_t count = initial->n;
    b.masks = LOOM_NEW_ARRAY(v->scratch, uint64_t, (size_t)count + 1);
    b.before = LOOM_NEW_ARRAY(v->scratch, loom_lvalue_id, (size_t)count + 1);
    b.state = LOOM_NEW_ARRAY(v->scratch, loom_lvalue_id, (size_t)count + 1);
    b.next = LOOM_NEW_ARRAY(v->scratch, loom_lvalue_id, (size_t)count + 1);
    loom_lvalue_id *made = LOOM_NEW_ARRAY(v->scratch, loom_lvalue_id, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) b.masks[i] = vec_level_mask(v, &initial->at[i]);
    if (!loop_count(v, &b)) return false;
    mark m = vec_mark_here(v);
    do {
        vec_roll_back(v, m);
        if (!try_loop(v, &b)) return false;
    } while (b.grown);
    op_axes none = {.n = 0};
    loom_lop op = vec_plain_op(v, n, LOOM_LO_LOOP, &none);
    for (uint32_t i = 0; i < count; i++) {
        loom_lvalue like = v->l->values[b.state[i]];
        like.source = LOOM_LV_OP;
        made[i] = loom_lifted_value(v->l, like);
    }
    op.n_args = b.count != LOOM_NONE ? 1 : 0;
    op.args = &b.count;
    op.n_results = op.n_states = count;
    op.results = made;
    op.initial = b.before;
    op.state = b.state;
    op.next = b.next;
    op.counter = b.counter;
    op.test = b.test;
    op.inner_first = b.first;
    op.inner_end = v->l->n_ops;
    loom_lifted_op(v->l, op);
    own_shaped(v, initial, made, b.masks, result);
    return true;
}

/* A few turns, one after the other: the state may change its shape from turn to turn. */
static bool unrolled(vec *v, frame *f, const loom_node *n, int64_t count, val state, val *result) {
    for (int64_t i = 0; i < count; i++) {
        leaf *at;
        val args[2] = {vec_leaves_of(v, 1, &at), state};
        at[0] = vec_int_leaf(i);
        if (!vec_lift_body(v, loom_node_body(v->p, n, 0), args, f, &state)) return false;
    }
    *result = state;
    return true;
}

static bool may_unroll(const vec *v, frame *f, const loom_node *n, int64_t *count) {
    if (n->op != LOOM_OP_LOOP_FOR) return false;
    const leaf *c = &vec_slot(f, loom_operand(v->p, n, 0))->at[0];
    *count = c->imm.i;
    return c->kind != LEAF_BAD && c->known && *count <= UNROLL;
}

static bool array_loop(vec *v, frame *f, const loom_node *n, const val *initial, val *result) {
    mark m = vec_mark_here(v);
    int64_t count;
    if (loop_operation(v, f, n, initial, result)) return true;
    if (!may_unroll(v, f, n, &count)) return false;
    vec_roll_back(v, m);
    return unrolled(v, f, n, count, *initial, result);
}

/* In one of the ways in which all elements turn together, or each by itself. */
static bool uniform_loop(vec *v, frame *f, loom_node_id id, const val *initial, val *result) {
    const loom_node *n = &v->p->nodes[id];
    bool arrays = false, scalar = vec_is_scalar(initial);
    for (uint32_t i = 0; i < n->n_bodies; i++) arrays = arrays || vec_has_arrays(v, loom_node_body(v->p, n, i));
    mark m = vec_mark_here(v);
    if (scalar && (v->depth || !arrays)) {
        if (vec_by_expressions(v, f, id, result)) return true;
        vec_roll_back(v, m);
        return loop_operation(v, f, n, initial, result);
    }
    if (array_loop(v, f, n, initial, result)) return true;
    if (!scalar) return false;
    const char *remark = v->remark;
    vec_roll_back(v, m);
    if (vec_by_expressions(v, f, id, result)) return true;
    v->remark = remark;
    return false;
}

bool vec_lift_loop(vec *v, frame *f, loom_node_id id, val *result) {
    const loom_node *n = &v->p->nodes[id];
    val initial;
    if (!vec_operand(v, f, n, n->op == LOOM_OP_LOOP_FOR ? 1 : 0, &initial)) return false;
    mark m = vec_mark_here(v);
    if (vec_forces(v, LOOM_FORCE_COMPACT)) {
        if (vec_lift_turns(v, f, n, &initial, result)) return true;
        vec_roll_back(v, m);
    }
    if (vec_lift_window(v, f, id, result)) return true;
    vec_roll_back(v, m);
    if (uniform_loop(v, f, id, &initial, result)) return true;
    if (vec_turns_together(v, n)) return false;
    vec_roll_back(v, m);
    return vec_lift_turns(v, f, n, &initial, result);
}
