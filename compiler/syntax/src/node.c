/* Provisional nodes and bodies. Every node goes to the end of the innermost open body. */
#include "elab.h"
#include <string.h>

syn_node *loom_syn_node(syn_elab *e, loom_op op, syn_ty *type, uint32_t n, syn_node *const *operands, loom_span span) {
    loom_syn_step(e);
    if (++e->n_nodes > LOOM_SYN_MAX_PROVISIONAL) {
        loom_syn_limit(e, LOOM_W_OPERATIONS, span, loom_syn_growth_hint(e),
                       "the text expands to more than %u operations", LOOM_SYN_MAX_PROVISIONAL);
    }
    syn_node *node = LOOM_NEW(e->arena, syn_node);
    node->op = (uint16_t)op;
    node->type = type;
    node->span = loom_syn_place(e, span);
    node->id = LOOM_NONE;
    node->n_operands = n;
    if (n) {
        node->operands = LOOM_NEW_ARRAY(e->arena, syn_node *, n);
        memcpy(node->operands, operands, n * sizeof *operands);
    }
    LOOM_PUSH(e->arena, e->body->nodes, node);
    return node;
}

syn_node *loom_syn_node0(syn_elab *e, loom_op op, syn_ty *type, loom_span span) {
    return loom_syn_node(e, op, type, 0, NULL, span);
}

syn_node *loom_syn_node1(syn_elab *e, loom_op op, syn_ty *type, syn_node *a, loom_span span) {
    return loom_syn_node(e, op, type, 1, (syn_node *[]){a}, span);
}

syn_node *loom_syn_node2(syn_elab *e, loom_op op, syn_ty *type, syn_node *a, syn_node *b, loom_span span) {
    return loom_syn_node(e, op, type, 2, (syn_node *[]){a, b}, span);
}

syn_node *loom_syn_node3(syn_elab *e, loom_op op, syn_ty *type, syn_node *a, syn_node *b, syn_node *c, loom_span span) {
    return loom_syn_node(e, op, type, 3, (syn_node *[]){a, b, c}, span);
}

void loom_syn_set_bodies(syn_elab *e, syn_node *n, syn_body *first, syn_body *second) {
    n->n_bodies = second ? 2 : 1;
    n->bodies = LOOM_NEW_ARRAY(e->arena, syn_body *, n->n_bodies);
    n->bodies[0] = first;
    if (second) n->bodies[1] = second;
}

syn_node *loom_syn_prim(syn_elab *e, loom_prim prim, syn_ty *type, uint32_t n, syn_node *const *operands,
                        loom_span span) {
    syn_node *node = loom_syn_node(e, LOOM_OP_PRIM, type, n, operands, span);
    node->prim = (uint16_t)prim;
    return node;
}

syn_node *loom_syn_poison(syn_elab *e, loom_span span) {
    return loom_syn_node0(e, LOOM_OP_CONST, e->poison, span);
}

syn_node *loom_syn_literal(syn_elab *e, syn_literal kind, uint64_t integer, double real, bool negative, syn_ty *type,
                           loom_span span) {
    syn_node *node = loom_syn_node0(e, LOOM_OP_CONST, type, span);
    node->literal = (uint8_t)kind;
    node->integer = integer;
    node->real = real;
    node->negative = negative;
    LOOM_PUSH(e->arena, e->frame->literals, node);
    return node;
}

syn_node *loom_syn_i64(syn_elab *e, int64_t value, loom_span span) {
    bool negative = value < 0;
    uint64_t magnitude = negative ? 0 - (uint64_t)value : (uint64_t)value;
    return loom_syn_literal(e, LIT_INT, magnitude, (double)magnitude, negative, e->scalars[LOOM_I64], span);
}

syn_node *loom_syn_bool(syn_elab *e, bool value, loom_span span) {
    return loom_syn_literal(e, LIT_INT, value, value, false, e->scalars[LOOM_BOOL], span);
}

syn_node *loom_syn_project(syn_elab *e, syn_node *tuple, uint32_t place, loom_span span) {
    if (tuple->op == LOOM_OP_TUPLE) return tuple->operands[place];
    syn_ty *t = loom_syn_ty(tuple->type);
    if (t->kind != TY_TUPLE) return loom_syn_poison(e, span);
    syn_node *n = loom_syn_node1(e, LOOM_OP_PROJECT, t->fields[place], tuple, span);
    n->aux = place;
    return n;
}

syn_node *loom_syn_tuple_of(syn_elab *e, syn_ty *type, syn_node *const *parts, loom_span span) {
    for (uint32_t i = 0; i < type->n; i++) {
        if (!loom_syn_forbid_seq(e, parts[i]->type)) {
            loom_syn_error(e, LOOM_W_SEQ_PART, parts[i]->span,
                           "pass sequences as parameters of their own, or use `from_seq`",
                           "a sequence may not stand in a tuple or record");
            return loom_syn_poison(e, span);
        }
    }
    return loom_syn_node(e, LOOM_OP_TUPLE, type, type->n, parts, span);
}

syn_node *loom_syn_tuple(syn_elab *e, uint32_t n, syn_node *const *parts, loom_span span) {
    syn_ty **types = LOOM_NEW_ARRAY(e->arena, syn_ty *, n ? n : 1);
    for (uint32_t i = 0; i < n; i++) types[i] = parts[i]->type;
    return loom_syn_tuple_of(e, loom_syn_ty_tuple(e, n, types), parts, span);
}

static syn_node *param(syn_elab *e, const syn_body *body, syn_ty *type, uint32_t place) {
    syn_node *p = LOOM_NEW(e->arena, syn_node);
    *p = (syn_node){.op = LOOM_OP_PARAM, .type = type, .aux = place, .span = body->span, .id = LOOM_NONE};
    return p;
}

syn_body *loom_syn_open(syn_elab *e, syn_body_kind kind, uint32_t n_params, syn_ty *const *types, loom_span span) {
    syn_body *body = LOOM_NEW(e->arena, syn_body);
    body->kind = kind;
    body->outer = kind == B_FUNCTION ? NULL : e->body;
    body->depth = body->outer ? body->outer->depth + 1 : 1;
    if (body->depth > LOOM_SYN_MAX_BODIES) {
        loom_syn_limit(e, LOOM_W_BODIES, span, "`flatten` arrays first, or take the inner ones out of the outer",
                       "operations nested more than %u levels deep", LOOM_SYN_MAX_BODIES);
    }
    body->span = loom_syn_place(e, span);
    body->n_params = n_params;
    body->params = LOOM_NEW_ARRAY(e->arena, syn_node *, n_params ? n_params : 1);
    for (uint32_t i = 0; i < n_params; i++) body->params[i] = param(e, body, types[i], i);
    e->body = body;
    return body;
}

syn_node *loom_syn_add_param(syn_elab *e, syn_body *body, syn_ty *type) {
    uint32_t n = body->n_params;
    syn_node **params = LOOM_NEW_ARRAY(e->arena, syn_node *, (size_t)n + 1);
    if (n) memcpy(params, body->params, n * sizeof *params);
    params[n] = param(e, body, type, n);
    body->params = params;
    body->n_params = n + 1;
    return params[n];
}

void loom_syn_close(syn_elab *e, syn_body *body, syn_node *result) {
    for (size_t i = 0; i < body->of_element.count; i++) {
        body->of_element.at[i]->node = NULL; /* it is of this body, and the next element's is another */
        body->of_element.at[i]->binder = NULL;
    }
    body->result = result;
    e->body = body->outer;
}

bool loom_syn_inside_operation(const syn_elab *e) {
    for (const syn_body *b = e->body; b; b = b->outer) {
        if (b->kind == B_ARRAY || b->kind == B_STREAM) return true;
    }
    return false;
}
