/* Building programs: tables that grow in the program's arena, bodies opened and closed like brackets. */
#include "compiler/ir/prim.h"
#include "program_impl.h"
#include <assert.h>
#include <string.h>

loom_program *loom_program_create(loom_arena *arena) {
    loom_program_impl *impl = LOOM_NEW(arena, loom_program_impl);
    impl->program.arena = arena;
    return &impl->program;
}

void *loom_ir_grow(loom_program *p, const void *old, uint32_t count, uint32_t *cap, uint32_t more, size_t size) {
    assert(more < UINT32_MAX - count);
    uint64_t wanted = *cap ? 2 * (uint64_t)*cap : 16;
    if (wanted < (uint64_t)count + more) wanted = (uint64_t)count + more;
    if (wanted > UINT32_MAX) wanted = UINT32_MAX;
    void *grown = loom_arena_grow(p->arena, old, count, wanted, size);
    *cap = (uint32_t)wanted;
    return grown;
}

static loom_node_id add_node(loom_program *p, loom_node node) {
    LOOM_IR_RESERVE(p, nodes, n_nodes, cap_nodes, 1);
    p->nodes[p->n_nodes] = node;
    return p->n_nodes++;
}

loom_body_id loom_build_open(loom_program *p, uint32_t n_params, const loom_type_id *types, loom_span span) {
    LOOM_IR_RESERVE(p, bodies, n_bodies, cap_bodies, 1);
    loom_body_id body = p->n_bodies++;
    p->bodies[body] = (loom_body){.first = p->n_nodes, .end = LOOM_NONE, .n_params = n_params, .result = LOOM_NONE};
    for (uint32_t i = 0; i < n_params; i++) {
        add_node(p, (loom_node){.op = LOOM_OP_PARAM, .type = types[i], .aux = i, .span = span});
    }
    return body;
}

loom_node_id loom_build_param(const loom_program *p, loom_body_id body, uint32_t position) {
    assert(body < p->n_bodies && position < p->bodies[body].n_params);
    return p->bodies[body].first + position;
}

void loom_build_close(loom_program *p, loom_body_id body, loom_node_id result) {
    assert(body < p->n_bodies && p->bodies[body].end == LOOM_NONE && result < p->n_nodes);
    p->bodies[body].end = p->n_nodes;
    p->bodies[body].result = result;
}

loom_node_id loom_build_node(loom_program *p, loom_op op, uint32_t prim, loom_type_id type,
                             const loom_node_id *operands, uint32_t n_operands, const loom_body_id *bodies,
                             uint32_t n_bodies, uint32_t aux, loom_span span) {
    assert(op < LOOM_OPS && type < p->n_types);
    loom_node node = {.op = (uint16_t)op,
                      .prim = (uint16_t)prim,
                      .type = type,
                      .first_operand = p->n_operands,
                      .n_operands = n_operands,
                      .first_body = p->n_body_refs,
                      .n_bodies = n_bodies,
                      .aux = aux,
                      .span = span};
    LOOM_IR_RESERVE(p, operands, n_operands, cap_operands, n_operands);
    for (uint32_t i = 0; i < n_operands; i++) {
        assert(operands[i] < p->n_nodes);
        p->operands[p->n_operands++] = operands[i];
    }
    LOOM_IR_RESERVE(p, body_refs, n_body_refs, cap_body_refs, n_bodies);
    for (uint32_t i = 0; i < n_bodies; i++) {
        assert(bodies[i] < p->n_bodies && p->bodies[bodies[i]].end != LOOM_NONE);
        p->body_refs[p->n_body_refs++] = bodies[i];
    }
    return add_node(p, node);
}

loom_node_id loom_build_const(loom_program *p, loom_dtype dtype, loom_scalar value, loom_span span) {
    LOOM_IR_RESERVE(p, constants, n_constants, cap_constants, 1);
    p->constants[p->n_constants++] = value;
    loom_type_id type = loom_type_scalar(p, dtype);
    return loom_build_node(p, LOOM_OP_CONST, 0, type, NULL, 0, NULL, 0, p->n_constants - 1, span);
}

loom_node_id loom_build_i64(loom_program *p, int64_t value, loom_span span) {
    return loom_build_const(p, LOOM_I64, (loom_scalar){.i = value}, span);
}

uint32_t loom_build_function(loom_program *p, const char *name, loom_body_id body, bool entry,
                             const char *const *param_names) {
    uint32_t n = p->bodies[body].n_params;
    const char **names = LOOM_NEW_ARRAY(p->arena, const char *, n ? n : 1);
    for (uint32_t i = 0; i < n; i++) {
        names[i] = param_names ? loom_arena_strdup(p->arena, param_names[i]) : loom_arena_printf(p->arena, "a%u", i);
    }
    LOOM_IR_RESERVE(p, functions, n_functions, cap_functions, 1);
    p->functions[p->n_functions] =
        (loom_function){.name = loom_arena_strdup(p->arena, name), .body = body, .entry = entry, .param_names = names};
    return p->n_functions++;
}

/* Division fails by 0 alone, a shift by a negative number. */
static bool prim_cannot_fail(const loom_program *p, const loom_node *n) {
    if (!loom_prim_table[n->prim].can_trap) return true;
    const loom_node *by = n->n_operands == 2 ? &p->nodes[loom_operand(p, n, 1)] : NULL;
    return by && by->op == LOOM_OP_CONST && p->constants[by->aux].i > 0;
}

/* FLATTEN and CONCAT are not among them: they may have more elements than can be counted. */
bool loom_node_cannot_fail(const loom_program *p, const loom_node *n) {
    switch ((loom_op)n->op) {
    case LOOM_OP_PRIM: return prim_cannot_fail(p, n);
    case LOOM_OP_MAP:
    case LOOM_OP_ZIP: return n->n_operands == 1; /* of several, lengths may differ */
    case LOOM_OP_REPLICATE: {
        const loom_node *count = &p->nodes[loom_operand(p, n, 0)];
        return count->op == LOOM_OP_CONST && p->constants[count->aux].i >= 0;
    }
    case LOOM_OP_PARAM:
    case LOOM_OP_CONST:
    case LOOM_OP_CONVERT:
    case LOOM_OP_TUPLE:
    case LOOM_OP_PROJECT:
    case LOOM_OP_IF:
    case LOOM_OP_ARRAY:
    case LOOM_OP_LENGTH:
    case LOOM_OP_DIM:
    case LOOM_OP_UNZIP:
    case LOOM_OP_FOLD:
    case LOOM_OP_SCAN:
    case LOOM_OP_FILTER:
    case LOOM_OP_REVERSE:
    case LOOM_OP_LOOP_FOR: return true;
    default: return false;
    }
}

const loom_function *loom_program_entry(const loom_program *p, const char *name) {
    const loom_function *only = NULL;
    uint32_t entries = 0;
    for (uint32_t i = 0; i < p->n_functions; i++) {
        const loom_function *f = &p->functions[i];
        if (!f->entry) continue;
        if (strcmp(f->name, name ? name : "main") == 0) return f;
        only = f;
        entries++;
    }
    return !name && entries == 1 ? only : NULL;
}

bool loom_program_set_lag(loom_program *p, int64_t lag) {
    bool any = false;
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        if (!loom_group_is_forever(&p->nodes[i])) continue;
        p->nodes[i].aux = (uint32_t)(lag + 1);
        any = true;
    }
    return any;
}

/* Backwards with the stack of bodies around the present node. No two bodies that have nodes end at the same place: the
 * user of the inner one would have to stand after its end and before the outer one's. */
loom_body_id *loom_program_owners(const loom_program *p, loom_arena *arena) {
    loom_body_id *owner = LOOM_NEW_ARRAY(arena, loom_body_id, (size_t)p->n_nodes + 1);
    loom_body_id *ending = LOOM_NEW_ARRAY(arena, loom_body_id, (size_t)p->n_nodes + 1);
    loom_body_id open[LOOM_MAX_BODY_NESTING + 1];
    uint32_t n_open = 0;
    for (loom_body_id b = 0; b < p->n_bodies; b++) {
        if (p->bodies[b].first < p->bodies[b].end) ending[p->bodies[b].end] = b + 1;
    }
    for (loom_node_id id = p->n_nodes; id-- > 0;) {
        if (ending[id + 1]) {
            assert(n_open <= LOOM_MAX_BODY_NESTING);
            open[n_open++] = ending[id + 1] - 1;
        }
        owner[id] = open[n_open - 1];
        while (n_open && p->bodies[open[n_open - 1]].first == id) n_open--;
    }
    return owner;
}
