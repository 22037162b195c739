#include "writing.h"

pen pen_of(loom_program *p, loom_span span) {
    return (pen){p, span, loom_type_scalar(p, LOOM_I64), loom_type_scalar(p, LOOM_BOOL)};
}

loom_node_id pen_node(const pen *w, loom_op op, loom_type_id type, uint32_t n, const loom_node_id *operands,
                      uint32_t aux) {
    return loom_build_node(w->p, op, 0, type, operands, n, NULL, 0, aux, w->span);
}

loom_node_id pen_int(const pen *w, int64_t i) {
    return loom_build_i64(w->p, i, w->span);
}

loom_node_id pen_prim(const pen *w, loom_prim prim, loom_type_id type, loom_node_id a, loom_node_id b) {
    loom_node_id operands[2] = {a, b};
    return loom_build_node(w->p, LOOM_OP_PRIM, prim, type, operands, 2, NULL, 0, 0, w->span);
}

loom_node_id pen_length(const pen *w, loom_node_id xs) {
    return pen_node(w, LOOM_OP_LENGTH, w->i64, 1, &xs, 0);
}

loom_node_id pen_field(const pen *w, loom_node_id tuple, uint32_t i) {
    return pen_node(w, LOOM_OP_PROJECT, w->p->types[w->p->nodes[tuple].type].fields[i], 1, &tuple, i);
}

loom_body_id pen_open(const pen *w, uint32_t n, const loom_type_id *types) {
    return loom_build_open(w->p, n, types, w->span);
}

loom_node_id pen_if(const pen *w, loom_type_id type, loom_node_id condition, const loom_body_id *branches) {
    return loom_build_node(w->p, LOOM_OP_IF, 0, type, &condition, 1, branches, 2, 0, w->span);
}

loom_node_id pen_map(const pen *w, loom_type_id element, loom_node_id xs, loom_body_id body) {
    return loom_build_node(w->p, LOOM_OP_MAP, 0, loom_type_array(w->p, element), &xs, 1, &body, 1, 0, w->span);
}

/* Outer bodies first: nodes stand behind their bodies. */
void pen_find_inner(const loom_program *p, const loom_body *b, loom_body_id *inner) {
    for (loom_node_id id = b->first; id < b->end; id++) inner[id - b->first] = LOOM_NONE;
    for (loom_node_id id = b->end; id-- > b->first;) {
        const loom_node *n = &p->nodes[id];
        for (uint32_t k = 0; k < n->n_bodies; k++) {
            loom_body_id x = p->body_refs[n->first_body + k];
            for (loom_node_id i = p->bodies[x].first; i < p->bodies[x].end; i++) inner[i - b->first] = x;
        }
    }
}

void pen_forget(const loom_body *b, loom_node_id *map) {
    for (loom_node_id id = b->first; id < b->end; id++) map[id] = id;
}
