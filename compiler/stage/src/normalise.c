/* Normal form: permute_seq with neutral destinations here; group_seq in group.c and batch.c, group_map_seq in
 * group_map.c and group_map_batch.c; conditions and loops around traversals in loops.c.
 *
 *   permute_seq op dest is xs            => zip_with op dest (permute_seq op (neutral like dest) is xs)
 *        unless dest is neutral already; `zip_with op` elementwise over dest's indexed levels
 *
 * Cost: linear. Papers: WEFT.md "Sequences".
 */
#include "normalise.h"
#include "normaliser.h"
#include "operator.h"
#include <string.h>

/* Of what a worker may use, the part that groups may: the rest is for chunks in flight, transforms and images. Rounded
 * up: 0 would stand for "no limit". */
#define MEMORY_FOR_GROUPS(memory) ((memory) / 2 + (memory) % 2)

loom_node_id normalise_refuse(normaliser *z, const loom_node *n, const char *why) {
    if (!z->remark) {
        const char *file = n->span.line && n->span.file < z->from->n_files ? z->from->files[n->span.file].name : "?";
        z->remark = loom_arena_printf(z->arena, "%s:%u: %s: %s", file, n->span.line, loom_op_table[n->op].name, why);
    }
    return LOOM_NONE;
}

loom_node_id normalise_build(loom_program *p, loom_op op, loom_type_id type, const loom_node_id *operands, uint32_t n,
                             const loom_body_id *bodies, uint32_t n_bodies, uint32_t aux, loom_span span) {
    return loom_build_node(p, op, 0, type, operands, n, bodies, n_bodies, aux, span);
}

loom_node_id normalise_prim(loom_program *p, loom_prim prim, loom_node_id a, loom_node_id b, loom_span span) {
    loom_node_id operands[2] = {a, b};
    loom_type_id type = loom_type_scalar(p, prim == LOOM_PRIM_LT ? LOOM_BOOL : LOOM_I64);
    return loom_build_node(p, LOOM_OP_PRIM, prim, type, operands, 2, NULL, 0, 0, span);
}

/* ---- permute with a destination of its own ---- */

loom_node_id normalise_combine(normaliser *z, loom_body_id op, uint32_t r, loom_node_id a, loom_node_id b,
                               loom_span span) {
    loom_program *to = z->to;
    if (r == 0) {
        loom_node_id arguments[2] = {a, b};
        return loom_copy_body(to, z->from, op, arguments, z->map);
    }
    loom_type_id type = to->nodes[a].type, element = to->types[type].element;
    loom_type_id types[2] = {element, element};
    loom_body_id body = loom_build_open(to, 2, types, span);
    loom_node_id inner =
        normalise_combine(z, op, r - 1, loom_build_param(to, body, 0), loom_build_param(to, body, 1), span);
    loom_build_close(to, body, inner);
    loom_node_id operands[2] = {a, b};
    return normalise_build(to, LOOM_OP_MAP, type, operands, 2, &body, 1, 0, span);
}

static loom_node_id permute(normaliser *z, const loom_node *n) {
    const loom_program *p = z->from;
    loom_body_id op = p->body_refs[n->first_body];
    loom_node_id dest = z->map[loom_operand(p, n, 0)];
    loom_node_id operands[3] = {dest, z->map[loom_operand(p, n, 1)], z->map[loom_operand(p, n, 2)]};
    bool neutral = loom_operator_is_neutral_fill(z->scope, op, loom_operand(p, n, 0));
    if (!neutral) {
        operands[0] = loom_operator_neutral(z->to, z->scope, op, dest);
        if (operands[0] == LOOM_NONE)
            return normalise_refuse(z, n, "its operator is not made of built-in commutative ones");
    }
    loom_body_id body = loom_copy_as_body(z->to, p, op, z->map);
    loom_type_id type = loom_copy_type(z->to, p, n->type);
    loom_node_id folded = normalise_build(z->to, LOOM_OP_SEQ_PERMUTE, type, operands, 3, &body, 1, n->aux, n->span);
    return neutral ? folded : normalise_combine(z, op, n->aux, dest, folded, n->span);
}

/* ---- all nodes ---- */

loom_node_id normalise_node(normaliser *z, loom_node_id n) {
    const loom_program *p = z->from;
    const loom_node *node = &p->nodes[n];
    if (loom_group_is_forever(node))
        return normalise_refuse(
            z, node,
            "`forever` goes by stretches of a stream only where the entry gives out what is made of its groups; here "
            "late elements are left out and not counted");
    if (node->op == LOOM_OP_SEQ_GROUP) {
        bool failed = false;
        if (z->memory && normalise_batches(z, n, &failed)) return failed ? LOOM_NONE : z->map[n];
        return normalise_group(z, node, LOOM_NONE, z->map[loom_operand(p, node, 0)]);
    }
    if (node->op == LOOM_OP_SEQ_GROUP_MAP) return normalise_group_map(z, n);
    if (loom_scope_has_seq(p, node)) return normalise_control(z, n);
    if (node->op == LOOM_OP_SEQ_PERMUTE) return permute(z, node);
    return loom_copy_node(z->to, p, n, z->map);
}

loom_node_id normalise_inline(normaliser *z, loom_body_id body, const loom_node_id *arguments) {
    const loom_body b = z->from->bodies[body];
    for (loom_node_id n = b.first; n < b.end; n++) z->map[n] = LOOM_NONE; /* of an earlier copy */
    for (uint32_t i = 0; i < b.n_params; i++) z->map[b.first + i] = arguments[i];
    for (loom_node_id n = loom_scope_first(z->scope, body); n != LOOM_NONE; n = loom_scope_next(z->scope, body, n)) {
        if (z->map[n] != LOOM_NONE) continue; /* an earlier node has asked for it */
        loom_node_id copy = normalise_node(z, n);
        if (copy == LOOM_NONE) return LOOM_NONE;
        z->map[n] = copy;
    }
    return z->map[b.result];
}

loom_status *loom_normalise(loom_arena *arena, const loom_program *p, uint64_t memory, uint64_t traversal,
                            loom_program **out, const char **remark, loom_notes *notes) {
    *out = NULL;
    loom_program *to = loom_program_create(arena);
    to->files = p->files;
    to->n_files = p->n_files;
    const loom_function *f = &p->functions[0];
    const loom_body b = p->bodies[f->body];
    normaliser z = {.arena = arena, .from = p, .to = to, .scope = loom_scope_create(arena, p)};
    z.memory = MEMORY_FOR_GROUPS(memory);
    z.traversal = traversal;
    z.map = LOOM_NEW_ARRAY(arena, loom_node_id, p->n_nodes + 1);
    for (uint32_t i = 0; i < p->n_nodes; i++) z.map[i] = LOOM_NONE;
    loom_type_id *types = LOOM_NEW_ARRAY(arena, loom_type_id, b.n_params + 1);
    loom_node_id *params = LOOM_NEW_ARRAY(arena, loom_node_id, b.n_params + 1);
    for (uint32_t i = 0; i < b.n_params; i++) types[i] = loom_copy_type(to, p, p->nodes[b.first + i].type);
    loom_body_id body = loom_build_open(to, b.n_params, types, (loom_span){0});
    for (uint32_t i = 0; i < b.n_params; i++) {
        params[i] = loom_build_param(to, body, i);
        to->nodes[params[i]].span = p->nodes[b.first + i].span; /* where a size comes from, for messages */
    }
    loom_node_id result = normalise_inline(&z, f->body, params);
    if (result == LOOM_NONE) {
        *remark = z.remark;
        return NULL;
    }
    *notes = (loom_notes){(uint32_t)z.notes.count, z.notes.at};
    loom_build_close(to, body, result);
    loom_build_function(to, f->name, body, f->entry, f->param_names);
    *out = to;
    return loom_program_check(to);
}
