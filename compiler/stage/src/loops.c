/* Conditions and loops around traversals, as loops whose state is a tuple with the test in field 0.
 *
 *   loop s = s0 for i < n do f       => while (0 < n, 0, s0) ...  (go, i, s) -> (i + 1 < n, i + 1, f)
 *   loop s = s0 while p s do f       => while (p s0, s0) ...      (go, s) -> let s' = f in (p s', s')
 *   if c then A else B               => let a = while (c, nothing) ... -> (false, A)     in if c then a else B
 *                                       where only A traverses; likewise B; where both do,
 *                                       while (!c, a) ... -> (false, B)
 *
 * A state that is a tuple is one field for each of its own. Cost: a while loop's test is there twice.
 */
#include "normaliser.h"

/* ---- loops in normal form ---- */

normal_loop normalise_open_loop(normaliser *z, const loom_node_id *init, uint32_t n, loom_span span) {
    loom_program *to = z->to;
    loom_type_id *types = LOOM_NEW_ARRAY(z->arena, loom_type_id, n);
    for (uint32_t i = 0; i < n; i++) types[i] = to->nodes[init[i]].type;
    normal_loop loop = {.type = loom_type_tuple(to, n, types, NULL)};
    loop.node = normalise_build(to, LOOM_OP_TUPLE, loop.type, init, n, NULL, 0, 0, span);
    loop.test = loom_build_open(to, 1, &loop.type, span);
    loom_build_close(to, loop.test, normalise_field(z, &loop, loom_build_param(to, loop.test, 0), 0, span));
    loop.step = loom_build_open(to, 1, &loop.type, span);
    loop.state = loom_build_param(to, loop.step, 0);
    return loop;
}

void normalise_close_loop(normaliser *z, normal_loop *loop, const loom_node_id *next, loom_span span) {
    loom_program *to = z->to;
    uint32_t n = to->types[loop->type].n_fields;
    loom_build_close(to, loop->step, normalise_build(to, LOOM_OP_TUPLE, loop->type, next, n, NULL, 0, 0, span));
    loom_body_id bodies[2] = {loop->test, loop->step};
    loop->node = normalise_build(to, LOOM_OP_LOOP_WHILE, loop->type, &loop->node, 1, bodies, 2, 0, span);
}

loom_node_id normalise_field(normaliser *z, const normal_loop *loop, loom_node_id of, uint32_t i, loom_span span) {
    return normalise_build(z->to, LOOM_OP_PROJECT, z->to->types[loop->type].fields[i], &of, 1, NULL, 0, i, span);
}

loom_node_id normalise_nothing(normaliser *z, loom_type_id type, loom_span span) {
    loom_program *to = z->to;
    const loom_type t = to->types[type];
    if (t.kind == LOOM_T_SCALAR) return loom_build_const(to, t.dtype, (loom_scalar){.c = {0, 0}}, span);
    if (t.kind == LOOM_T_ARRAY) {
        loom_node_id operands[2] = {loom_build_i64(to, 0, span), normalise_nothing(z, t.element, span)};
        return normalise_build(to, LOOM_OP_REPLICATE, type, operands, 2, NULL, 0, 0, span);
    }
    loom_node_id *fields = LOOM_NEW_ARRAY(z->arena, loom_node_id, t.n_fields + 1);
    for (uint32_t i = 0; i < t.n_fields; i++) fields[i] = normalise_nothing(z, t.fields[i], span);
    return normalise_build(to, LOOM_OP_TUPLE, type, fields, t.n_fields, NULL, 0, 0, span);
}

bool normalise_has_arrays(const loom_program *p, loom_type_id type) {
    const loom_type *t = &p->types[type];
    bool any = t->kind == LOOM_T_ARRAY;
    for (uint32_t i = 0; t->kind == LOOM_T_TUPLE && i < t->n_fields && !any; i++)
        any = normalise_has_arrays(p, t->fields[i]);
    return any;
}

/* ---- values as fields ---- */

typedef struct fields {
    loom_type_id type; /* of to: of the value they are of */
    bool tuple;
    uint32_t n;
} fields;

static fields fields_of(const normaliser *z, loom_type_id type) {
    const loom_type *t = &z->to->types[type];
    bool tuple = t->kind == LOOM_T_TUPLE;
    return (fields){type, tuple, tuple ? t->n_fields : 1};
}

static void take_apart(normaliser *z, const fields *f, loom_node_id value, loom_node_id *to, loom_span span) {
    if (!f->tuple) {
        to[0] = value;
        return;
    }
    for (uint32_t i = 0; i < f->n; i++) {
        to[i] = normalise_build(z->to, LOOM_OP_PROJECT, z->to->types[f->type].fields[i], &value, 1, NULL, 0, i, span);
    }
}

static loom_node_id put_together(normaliser *z, const fields *f, const loom_node_id *from, loom_span span) {
    if (!f->tuple) return from[0];
    return normalise_build(z->to, LOOM_OP_TUPLE, f->type, from, f->n, NULL, 0, 0, span);
}

/* The value whose fields are `of`'s from number `at` on. */
static loom_node_id from_state(normaliser *z, const normal_loop *loop, const fields *f, loom_node_id of, uint32_t at,
                               loom_span span) {
    loom_node_id *parts = LOOM_NEW_ARRAY(z->arena, loom_node_id, f->n + 1);
    for (uint32_t i = 0; i < f->n; i++) parts[i] = normalise_field(z, loop, of, at + i, span);
    return put_together(z, f, parts, span);
}

/* ---- the three ---- */

static loom_node_id for_loop(normaliser *z, const loom_node *n) {
    loom_program *to = z->to;
    loom_node_id count = z->map[loom_operand(z->from, n, 0)], start = z->map[loom_operand(z->from, n, 1)];
    loom_node_id zero = loom_build_i64(to, 0, n->span);
    fields f = fields_of(z, loom_copy_type(to, z->from, n->type));
    loom_node_id *state = LOOM_NEW_ARRAY(z->arena, loom_node_id, f.n + 2);
    state[0] = normalise_prim(to, LOOM_PRIM_LT, zero, count, n->span);
    state[1] = zero;
    take_apart(z, &f, start, state + 2, n->span);
    normal_loop loop = normalise_open_loop(z, state, f.n + 2, n->span);
    loom_node_id arguments[2] = {normalise_field(z, &loop, loop.state, 1, n->span),
                                 from_state(z, &loop, &f, loop.state, 2, n->span)};
    loom_node_id next = normalise_inline(z, z->from->body_refs[n->first_body], arguments);
    if (next == LOOM_NONE) return LOOM_NONE;
    state[1] = normalise_prim(to, LOOM_PRIM_ADD, arguments[0], loom_build_i64(to, 1, n->span), n->span);
    state[0] = normalise_prim(to, LOOM_PRIM_LT, state[1], count, n->span);
    take_apart(z, &f, next, state + 2, n->span);
    normalise_close_loop(z, &loop, state, n->span);
    return from_state(z, &loop, &f, loop.node, 2, n->span);
}

static loom_node_id while_loop(normaliser *z, const loom_node *n) {
    const loom_body_id test = z->from->body_refs[n->first_body], step = z->from->body_refs[n->first_body + 1];
    loom_node_id start = z->map[loom_operand(z->from, n, 0)];
    fields f = fields_of(z, loom_copy_type(z->to, z->from, n->type));
    loom_node_id *state = LOOM_NEW_ARRAY(z->arena, loom_node_id, f.n + 1);
    state[0] = normalise_inline(z, test, &start);
    if (state[0] == LOOM_NONE) return LOOM_NONE;
    take_apart(z, &f, start, state + 1, n->span);
    normal_loop loop = normalise_open_loop(z, state, f.n + 1, n->span);
    loom_node_id now = from_state(z, &loop, &f, loop.state, 1, n->span);
    loom_node_id next = normalise_inline(z, step, &now);
    state[0] = next == LOOM_NONE ? LOOM_NONE : normalise_inline(z, test, &next);
    if (state[0] == LOOM_NONE) return LOOM_NONE;
    take_apart(z, &f, next, state + 1, n->span);
    normalise_close_loop(z, &loop, state, n->span);
    return from_state(z, &loop, &f, loop.node, 1, n->span);
}

/* One branch as a turn that is made if `go`; fields[1...] hold what there is without it, and then what there is. */
static bool branch(normaliser *z, const loom_node *n, uint32_t which, loom_node_id go, const fields *f,
                   loom_node_id *state) {
    state[0] = go;
    normal_loop loop = normalise_open_loop(z, state, f->n + 1, n->span);
    loom_node_id value = normalise_inline(z, z->from->body_refs[n->first_body + which], NULL);
    if (value == LOOM_NONE) return false;
    state[0] = loom_build_const(z->to, LOOM_BOOL, (loom_scalar){.b = false}, n->span);
    take_apart(z, f, value, state + 1, n->span);
    normalise_close_loop(z, &loop, state, n->span);
    for (uint32_t i = 0; i < f->n; i++) state[i + 1] = normalise_field(z, &loop, loop.node, i + 1, n->span);
    return true;
}

static bool traverses(const normaliser *z, const loom_node *n, uint32_t which) {
    loom_node one = *n;
    one.first_body += which;
    one.n_bodies = 1;
    return loom_scope_has_seq(z->from, &one);
}

/* The branch that does not traverse beside what the other one gave. */
static loom_node_id choose(normaliser *z, const loom_node *n, uint32_t plain, loom_node_id other) {
    loom_program *to = z->to;
    loom_node_id c = z->map[loom_operand(z->from, n, 0)];
    loom_body_id bodies[2];
    for (uint32_t i = 0; i < 2; i++) {
        bodies[i] = loom_build_open(to, 0, NULL, n->span);
        loom_node_id value = i == plain ? normalise_inline(z, z->from->body_refs[n->first_body + i], NULL) : other;
        if (value == LOOM_NONE) return LOOM_NONE;
        loom_build_close(to, bodies[i], value);
    }
    return normalise_build(to, LOOM_OP_IF, to->nodes[other].type, &c, 1, bodies, 2, 0, n->span);
}

static loom_node_id condition(normaliser *z, const loom_node *n) {
    loom_program *to = z->to;
    loom_node_id c = z->map[loom_operand(z->from, n, 0)];
    loom_node_id otherwise =
        loom_build_node(to, LOOM_OP_PRIM, LOOM_PRIM_NOT, loom_type_scalar(to, LOOM_BOOL), &c, 1, NULL, 0, 0, n->span);
    fields f = fields_of(z, loom_copy_type(to, z->from, n->type));
    loom_node_id *state = LOOM_NEW_ARRAY(z->arena, loom_node_id, f.n + 1);
    take_apart(z, &f, normalise_nothing(z, f.type, n->span), state + 1, n->span);
    bool first = traverses(z, n, 0), second = traverses(z, n, 1);
    if (first && !branch(z, n, 0, c, &f, state)) return LOOM_NONE;
    if (second && !branch(z, n, 1, otherwise, &f, state)) return LOOM_NONE;
    loom_node_id made = put_together(z, &f, state + 1, n->span);
    return first && second ? made : choose(z, n, first ? 1 : 0, made);
}

loom_node_id normalise_control(normaliser *z, loom_node_id id) {
    const loom_node *n = &z->from->nodes[id];
    switch (n->op) {
    case LOOM_OP_IF: return condition(z, n);
    case LOOM_OP_LOOP_FOR: return for_loop(z, n);
    case LOOM_OP_LOOP_WHILE: return while_loop(z, n);
    default: return normalise_refuse(z, n, "a traversal inside a function given to it");
    }
}
