/* The program with its calls as versions.c has decided them: every live node, and a generate with calls as maps. */
#include "versions_impl.h"

/* ---- building ---- */

loom_node_id versions_make(chooser *c, loom_op op, loom_type_id type, const loom_node_id *operands, uint32_t n,
                           const loom_body_id *bodies, uint32_t n_bodies, uint32_t aux, loom_span span) {
    return loom_build_node(c->to, op, 0, type, operands, n, bodies, n_bodies, aux, span);
}

loom_node_id versions_make1(chooser *c, loom_op op, loom_type_id type, loom_node_id x, uint32_t aux, loom_span span) {
    return versions_make(c, op, type, &x, 1, NULL, 0, aux, span);
}

loom_type_id versions_type_of(const chooser *c, loom_node_id id) {
    return c->to->nodes[id].type;
}

loom_type_id versions_copied_type(chooser *c, loom_node_id id) {
    return loom_copy_type(c->to, c->from, c->from->nodes[id].type);
}

loom_type_id versions_i64(chooser *c) {
    return loom_type_scalar(c->to, LOOM_I64);
}

loom_node_id versions_length_of(chooser *c, loom_node_id x, loom_span span) {
    return versions_make1(c, LOOM_OP_LENGTH, versions_i64(c), x, 0, span);
}

/* The live nodes of a body into the innermost open one, its parameters replaced. */
loom_node_id versions_inlined(chooser *c, loom_body_id body, const loom_node_id *args) {
    const loom_body b = c->from->bodies[body];
    for (uint32_t i = 0; i < b.n_params; i++) c->map[b.first + i] = args[i];
    for (uint32_t i = c->first_own[body]; i < c->first_own[body + 1]; i++) {
        loom_node_id id = c->own[i];
        if (c->live[id] && c->from->nodes[id].op != LOOM_OP_PARAM) c->map[id] = versions_emit_node(c, id);
    }
    return c->map[b.result];
}

loom_node_id *versions_params_of(chooser *c, loom_body_id open, uint32_t n) {
    loom_node_id *params = LOOM_NEW_ARRAY(c->arena, loom_node_id, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) params[i] = loom_build_param(c->to, open, i);
    return params;
}

/* Opens a body with the parameters of one of `from`. */
loom_body_id versions_open_like(chooser *c, loom_body_id body, loom_node_id **params) {
    const loom_body b = c->from->bodies[body];
    loom_type_id *types = LOOM_NEW_ARRAY(c->arena, loom_type_id, (size_t)b.n_params + 1);
    for (uint32_t i = 0; i < b.n_params; i++) types[i] = versions_copied_type(c, b.first + i);
    loom_span span = b.n_params ? c->from->nodes[b.first].span : (loom_span){0};
    loom_body_id open = loom_build_open(c->to, b.n_params, types, span);
    *params = versions_params_of(c, open, b.n_params);
    return open;
}

static loom_body_id emit_body(chooser *c, loom_body_id body) {
    loom_node_id *params;
    loom_body_id copy = versions_open_like(c, body, &params);
    loom_build_close(c->to, copy, versions_inlined(c, body, params));
    return copy;
}

/* ---- generate as map ---- */

static loom_node_id map_over_iotas(chooser *c, const loom_node *n, const loom_node_id *extents, loom_node_id *indices,
                                   uint32_t level) {
    loom_body_id body = c->from->body_refs[n->first_body];
    if (level == n->n_operands) return versions_inlined(c, body, indices);
    loom_type_id element = versions_i64(c);
    loom_node_id places = versions_make1(c, LOOM_OP_IOTA, loom_type_array(c->to, element), extents[level], 0, n->span);
    loom_body_id open = loom_build_open(c->to, 1, &element, n->span);
    indices[level] = loom_build_param(c->to, open, 0);
    loom_node_id result = map_over_iotas(c, n, extents, indices, level + 1);
    loom_build_close(c->to, open, result);
    return versions_make(c, LOOM_OP_MAP, loom_type_array(c->to, versions_type_of(c, result)), &places, 1, &open, 1, 0,
                         n->span);
}

static loom_node_id as_map(chooser *c, const loom_node *n) {
    loom_node_id extents[LOOM_MAX_DEPTH], indices[LOOM_MAX_DEPTH];
    for (uint32_t i = 0; i < n->n_operands; i++) extents[i] = c->map[loom_operand(c->from, n, i)];
    c->open = true;
    return map_over_iotas(c, n, extents, indices, 0);
}

/* ---- all nodes ---- */

loom_node_id versions_emit_node(chooser *c, loom_node_id id) {
    const loom_node *n = &c->from->nodes[id];
    loom_node_id *operands = LOOM_NEW_ARRAY(c->arena, loom_node_id, (size_t)n->n_operands + 1);
    for (uint32_t i = 0; i < n->n_operands; i++) operands[i] = c->map[loom_operand(c->from, n, i)];
    if (n->op == LOOM_OP_LIFTED && c->verdict[id] == BODY) {
        return versions_inlined(c, c->from->body_refs[n->first_body], operands);
    }
    if (n->op == LOOM_OP_LIFTED) c->open = true;
    if (c->becomes_map[id]) return as_map(c, n);
    if (c->splits[id]) return versions_split_map(c, id);
    if (n->op == LOOM_OP_CONST) {
        return loom_build_const(c->to, c->from->types[n->type].dtype, c->from->constants[n->aux], n->span);
    }
    loom_body_id *bodies = LOOM_NEW_ARRAY(c->arena, loom_body_id, (size_t)n->n_bodies + 1);
    for (uint32_t i = 0; i < n->n_bodies; i++) bodies[i] = emit_body(c, c->from->body_refs[n->first_body + i]);
    return loom_build_node(c->to, (loom_op)n->op, n->prim, versions_copied_type(c, id), operands, n->n_operands, bodies,
                           n->n_bodies, n->aux, n->span);
}

loom_body_id versions_emit_decided(chooser *c, loom_body_id from) {
    const loom_body b = c->from->bodies[from];
    loom_node_id *params;
    loom_body_id body = versions_open_like(c, from, &params);
    for (uint32_t i = 0; i < b.n_params; i++) c->to->nodes[params[i]].span = c->from->nodes[b.first + i].span;
    loom_build_close(c->to, body, versions_inlined(c, from, params));
    return body;
}
