/* Copying bodies and nodes between programs (or within one). A body is a contiguous range of the table, nested bodies
 * and all, so a copy is the same range shifted: no recursion, and a nested body's place is its old one plus the shift.
 */
#include "program_impl.h"
#include <assert.h>
#include <string.h>

/* Types of `from` seen lately, so that a long body does not intern the same types over and over. */
typedef struct type_cache {
    loom_type_id from[64], to[64];
} type_cache;

static loom_type_id copy_type(loom_program *to, const loom_program *from, loom_type_id type) {
    const loom_type *t = &from->types[type];
    switch (t->kind) {
    case LOOM_T_SCALAR: return loom_type_scalar(to, t->dtype);
    case LOOM_T_ARRAY: return loom_type_array(to, copy_type(to, from, t->element));
    case LOOM_T_SEQ: return loom_type_seq(to, copy_type(to, from, t->element));
    case LOOM_T_TUPLE: break;
    }
    loom_type_id *fields = LOOM_NEW_ARRAY(to->arena, loom_type_id, t->n_fields ? t->n_fields : 1);
    for (uint32_t i = 0; i < t->n_fields; i++) fields[i] = copy_type(to, from, t->fields[i]);
    return loom_type_tuple(to, t->n_fields, fields, t->names);
}

loom_type_id loom_copy_type(loom_program *to, const loom_program *from, loom_type_id type) {
    return to == from ? type : copy_type(to, from, type);
}

static loom_type_id cached_type(loom_program *to, const loom_program *from, type_cache *cache, loom_type_id type) {
    if (to == from) return type;
    uint32_t at = type % 64;
    if (cache->from[at] != type + 1) {
        cache->to[at] = copy_type(to, from, type);
        cache->from[at] = type + 1;
    }
    return cache->to[at];
}

/* `shift` (modulo 2^32) is what a nested body's place moves by. */
static void copy_one(loom_program *to, const loom_program *from, type_cache *cache, loom_node_id id, uint32_t shift,
                     loom_node_id *map) {
    const loom_node node = from->nodes[id]; /* by value: `to` may be `from`, whose table may move */
    loom_node copy = node;
    copy.type = cached_type(to, from, cache, node.type);
    copy.first_operand = to->n_operands;
    LOOM_IR_RESERVE(to, operands, n_operands, cap_operands, node.n_operands);
    for (uint32_t i = 0; i < node.n_operands; i++) {
        loom_node_id operand = map[from->operands[node.first_operand + i]];
        assert(operand < to->n_nodes);
        to->operands[to->n_operands++] = operand;
    }
    copy.first_body = to->n_body_refs;
    LOOM_IR_RESERVE(to, body_refs, n_body_refs, cap_body_refs, node.n_bodies);
    LOOM_IR_RESERVE(to, bodies, n_bodies, cap_bodies, node.n_bodies);
    for (uint32_t i = 0; i < node.n_bodies; i++) {
        loom_body body = from->bodies[from->body_refs[node.first_body + i]];
        assert(map[body.result] < to->n_nodes);
        to->body_refs[to->n_body_refs++] = to->n_bodies;
        to->bodies[to->n_bodies++] = (loom_body){body.first + shift, body.end + shift, body.n_params, map[body.result]};
    }
    if (node.op == LOOM_OP_CONST) {
        loom_scalar value = from->constants[node.aux];
        LOOM_IR_RESERVE(to, constants, n_constants, cap_constants, 1);
        copy.aux = to->n_constants;
        to->constants[to->n_constants++] = value;
    }
    LOOM_IR_RESERVE(to, nodes, n_nodes, cap_nodes, 1);
    to->nodes[to->n_nodes] = copy;
    map[id] = to->n_nodes++;
}

static void copy_range(loom_program *to, const loom_program *from, type_cache *cache, loom_node_id first,
                       loom_node_id end, loom_node_id *map) {
    uint32_t shift = to->n_nodes - first;
    for (loom_node_id id = first; id < end; id++) copy_one(to, from, cache, id, shift, map);
}

loom_node_id loom_copy_body(loom_program *to, const loom_program *from, loom_body_id body,
                            const loom_node_id *arguments, loom_node_id *map) {
    const loom_body b = from->bodies[body];
    type_cache cache = {0};
    for (uint32_t i = 0; i < b.n_params; i++) map[b.first + i] = arguments[i];
    copy_range(to, from, &cache, b.first + b.n_params, b.end, map);
    assert(map[b.result] < to->n_nodes);
    return map[b.result];
}

loom_body_id loom_copy_as_body(loom_program *to, const loom_program *from, loom_body_id body, loom_node_id *map) {
    const loom_body b = from->bodies[body];
    type_cache cache = {0};
    LOOM_IR_RESERVE(to, bodies, n_bodies, cap_bodies, 1);
    loom_body_id copy = to->n_bodies++;
    to->bodies[copy] = (loom_body){.first = to->n_nodes, .end = LOOM_NONE, .n_params = b.n_params, .result = LOOM_NONE};
    copy_range(to, from, &cache, b.first, b.end, map);
    assert(map[b.result] < to->n_nodes);
    loom_build_close(to, copy, map[b.result]);
    return copy;
}

loom_node_id loom_copy_node(loom_program *to, const loom_program *from, loom_node_id node, loom_node_id *map) {
    const loom_node n = from->nodes[node];
    assert(n.op != LOOM_OP_PARAM);
    type_cache cache = {0};
    loom_body_id *bodies = LOOM_NEW_ARRAY(to->arena, loom_body_id, n.n_bodies ? n.n_bodies : 1);
    for (uint32_t i = 0; i < n.n_bodies; i++) {
        bodies[i] = loom_copy_as_body(to, from, from->body_refs[n.first_body + i], map);
    }
    loom_node_id *operands = LOOM_NEW_ARRAY(to->arena, loom_node_id, n.n_operands ? n.n_operands : 1);
    for (uint32_t i = 0; i < n.n_operands; i++) operands[i] = map[from->operands[n.first_operand + i]];
    loom_type_id type = cached_type(to, from, &cache, n.type);
    if (n.op == LOOM_OP_CONST) {
        map[node] = loom_build_const(to, from->types[n.type].dtype, from->constants[n.aux], n.span);
    } else {
        map[node] =
            loom_build_node(to, (loom_op)n.op, n.prim, type, operands, n.n_operands, bodies, n.n_bodies, n.aux, n.span);
    }
    return map[node];
}

#define COPY_TABLE(to, from, table, count, cap)                                                                        \
    do {                                                                                                               \
        if ((from)->count == 0) break;                                                                                 \
        LOOM_IR_RESERVE(to, table, count, cap, (from)->count);                                                         \
        memcpy((to)->table, (from)->table, (from)->count * sizeof *(to)->table);                                       \
        (to)->count = (from)->count;                                                                                   \
    } while (0)

loom_program *loom_program_clone(loom_arena *arena, const loom_program *from) {
    loom_program *to = loom_program_create(arena);
    for (loom_type_id t = 0; t < from->n_types; t++) { /* parts of a type come before it, and have their numbers */
        const loom_type *type = &from->types[t];
        switch (type->kind) {
        case LOOM_T_SCALAR: loom_type_scalar(to, type->dtype); break;
        case LOOM_T_ARRAY: loom_type_array(to, type->element); break;
        case LOOM_T_SEQ: loom_type_seq(to, type->element); break;
        case LOOM_T_TUPLE: loom_type_tuple(to, type->n_fields, type->fields, type->names); break;
        }
    }
    assert(to->n_types == from->n_types);
    COPY_TABLE(to, from, nodes, n_nodes, cap_nodes);
    COPY_TABLE(to, from, operands, n_operands, cap_operands);
    COPY_TABLE(to, from, bodies, n_bodies, cap_bodies);
    COPY_TABLE(to, from, body_refs, n_body_refs, cap_body_refs);
    COPY_TABLE(to, from, constants, n_constants, cap_constants);
    COPY_TABLE(to, from, functions, n_functions, cap_functions);
    COPY_TABLE(to, from, files, n_files, cap_files);
    return to;
}
