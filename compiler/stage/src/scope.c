#include "scope.h"
#include <stdlib.h>

typedef struct range {
    uint32_t length;
    loom_body_id body;
} range;

static int longest_first(const void *a, const void *b) {
    const range *x = a, *y = b;
    if (x->length != y->length) return x->length < y->length ? 1 : -1;
    return x->body < y->body ? -1 : x->body > y->body;
}

loom_scope *loom_scope_create(loom_arena *arena, const loom_program *p) {
    loom_scope *s = LOOM_NEW(arena, loom_scope);
    s->program = p;
    s->owner = LOOM_NEW_ARRAY(arena, loom_body_id, p->n_nodes + 1);
    s->parent = LOOM_NEW_ARRAY(arena, loom_body_id, p->n_bodies + 1);
    for (uint32_t i = 0; i < p->n_nodes; i++) s->owner[i] = LOOM_NONE;
    for (uint32_t i = 0; i < p->n_bodies; i++) s->parent[i] = LOOM_NONE;
    /* Longer ranges first, so that inner bodies overwrite outer ones. */
    range *order = LOOM_NEW_ARRAY(arena, range, p->n_bodies + 1);
    for (uint32_t i = 0; i < p->n_bodies; i++) order[i] = (range){p->bodies[i].end - p->bodies[i].first, i};
    qsort(order, p->n_bodies, sizeof *order, longest_first);
    for (uint32_t k = 0; k < p->n_bodies; k++) {
        const loom_body *b = &p->bodies[order[k].body];
        for (loom_node_id n = b->first; n < b->end; n++) s->owner[n] = order[k].body;
    }
    for (uint32_t n = 0; n < p->n_nodes; n++) {
        const loom_node *node = &p->nodes[n];
        for (uint32_t i = 0; i < node->n_bodies; i++) s->parent[p->body_refs[node->first_body + i]] = s->owner[n];
    }
    return s;
}

static loom_node_id seek(const loom_scope *s, loom_body_id body, loom_node_id n) {
    const loom_body *b = &s->program->bodies[body];
    while (n < b->end) {
        loom_body_id inner = s->owner[n];
        if (inner == body) return n;
        while (s->parent[inner] != body) inner = s->parent[inner];
        n = s->program->bodies[inner].end;
    }
    return LOOM_NONE;
}

loom_node_id loom_scope_first(const loom_scope *s, loom_body_id body) {
    const loom_body *b = &s->program->bodies[body];
    return seek(s, body, b->first + b->n_params);
}

loom_node_id loom_scope_next(const loom_scope *s, loom_body_id body, loom_node_id node) {
    return seek(s, body, node + 1);
}

typedef LOOM_VEC(loom_node_id) node_list;

/* What nodes [start, end) use of those before start. */
static void uses_of_range(const loom_program *p, loom_arena *arena, loom_node_id start, loom_node_id end,
                          node_list *found) {
    for (loom_node_id m = start; m < end; m++) {
        const loom_node *n = &p->nodes[m];
        for (uint32_t i = 0; i < n->n_operands; i++)
            if (loom_operand(p, n, i) < start) LOOM_PUSH(arena, *found, loom_operand(p, n, i));
        for (uint32_t i = 0; i < n->n_bodies; i++)
            if (loom_node_body(p, n, i)->result < start) LOOM_PUSH(arena, *found, loom_node_body(p, n, i)->result);
    }
}

uint32_t loom_scope_body_uses(const loom_program *p, loom_arena *arena, const loom_body *body, loom_node_id **uses) {
    node_list found = {0};
    uses_of_range(p, arena, body->first, body->end, &found);
    if (body->result < body->first) LOOM_PUSH(arena, found, body->result);
    *uses = found.at;
    return (uint32_t)found.count;
}

uint32_t loom_scope_uses(const loom_program *p, loom_arena *arena, loom_node_id node, loom_node_id **uses) {
    const loom_node *n = &p->nodes[node];
    loom_node_id start = node;
    for (uint32_t i = 0; i < n->n_bodies; i++)
        if (loom_node_body(p, n, i)->first < start) start = loom_node_body(p, n, i)->first;
    node_list found = {0};
    uses_of_range(p, arena, start, node + 1, &found);
    *uses = found.at;
    return (uint32_t)found.count;
}

bool loom_scope_is_seq(const loom_program *p, loom_node_id n) {
    return p->types[p->nodes[n].type].kind == LOOM_T_SEQ;
}

bool loom_scope_has_seq(const loom_program *p, const loom_node *n) {
    for (uint32_t i = 0; i < n->n_bodies; i++) {
        const loom_body *b = loom_node_body(p, n, i);
        for (loom_node_id m = b->first; m < b->end; m++) {
            if (loom_scope_is_seq(p, m)) return true;
            for (uint32_t j = 0; j < p->nodes[m].n_operands; j++)
                if (loom_scope_is_seq(p, loom_operand(p, &p->nodes[m], j))) return true;
        }
        if (loom_scope_is_seq(p, b->result)) return true;
    }
    return false;
}

/* Elements of an array that is made whether it is needed or not. */
#define FEW 65536

bool loom_scope_is_harmless(const loom_program *p, const loom_node *n) {
    if (!loom_node_cannot_fail(p, n)) return false;
    switch ((loom_op)n->op) {
    case LOOM_OP_REPLICATE: return p->constants[p->nodes[loom_operand(p, n, 0)].aux].i <= FEW;
    case LOOM_OP_FILTER: /* of another length in each group */
    case LOOM_OP_LOOP_FOR: /* as long as its number of turns says */ return false;
    default: return true;
    }
}
