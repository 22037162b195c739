/* The checker of typed core. What it guarantees, and everything later relies on without looking again:
 *   1. every index in every table is in range, every operand stands before its node, in the same body or one around it;
 *   2. bodies nest, each begins with its parameters, each but a function's is used by exactly one node, of the body
 *      around it and after it; functions call only functions of smaller index;
 *   3. nesting, through calls too, is at most LOOM_MAX_BODY_NESTING, types are at most LOOM_MAX_TYPE_NESTING deep with
 * at most LOOM_MAX_LEAVES leaves under at most LOOM_MAX_DEPTH levels;
 *   4. the type of each node follows from its operands and bodies;
 *   5. the bodies of LIFTED use nothing from around;
 *   6. sequences stand only where WEFT.md allows them, and no function given to an array operation traverses one.
 * Cost: linear in the table but for one sort of the bodies. No recursion.
 */
#include "check.h"
#include "common/value.h"
#include "compiler/ir/foreign.h"
#include <stdlib.h>
#include <string.h>

loom_status *loom_check_fail(const loom_program *p, loom_node_id id, loom_code code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char text[1000];
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const loom_node *n = &p->nodes[id];
    const char *op = n->op < LOOM_OPS ? loom_op_table[n->op].name : "?";
    if (n->op == LOOM_OP_PRIM && n->prim < LOOM_PRIM_COUNT) op = loom_prim_table[n->prim].name;
    if (n->span.line == 0 || n->span.file >= p->n_files) return loom_error(code, "core %%%u (%s): %s", id, op, text);
    return loom_error_at(code, p->files[n->span.file].name, n->span, "core %%%u (%s): %s", id, op, text);
}

/* ---- types ---- */

static loom_status *check_type(const loom_program *p, loom_type_id id) {
    const loom_type *t = &p->types[id];
    const loom_type_facts *f = loom_type_facts_of(p, id);
    if (t->kind == LOOM_T_TUPLE && t->n_fields > LOOM_MAX_TUPLE) {
        return loom_error(LOOM_E_LIMIT, "a tuple type has %u fields, at most %d are allowed", t->n_fields,
                          LOOM_MAX_TUPLE);
    }
    if (f->nesting > LOOM_MAX_TYPE_NESTING) {
        return loom_error(LOOM_E_LIMIT, "a type is nested %u deep, at most %d is allowed", f->nesting,
                          LOOM_MAX_TYPE_NESTING);
    }
    if (f->leaves > LOOM_MAX_LEAVES || f->parts > 4 * LOOM_MAX_LEAVES) {
        return loom_error(LOOM_E_LIMIT, "the type %s has %u scalar leaves, at most %d are allowed",
                          loom_type_text(p, id), f->leaves, LOOM_MAX_LEAVES);
    }
    if (f->levels > LOOM_MAX_DEPTH) {
        return loom_error(LOOM_E_LIMIT, "the type %s has %u array levels, at most %d are allowed",
                          loom_type_text(p, id), f->levels, LOOM_MAX_DEPTH);
    }
    bool inner_seq = f->has_seq && (t->kind != LOOM_T_SEQ || loom_type_has_seq(p, t->element));
    if (inner_seq) {
        return loom_error(LOOM_E_TYPE, "a sequence stands inside another type: %s", loom_type_text(p, id));
    }
    return NULL;
}

loom_status *loom_check_types_table(const loom_program *p) {
    for (loom_type_id id = 0; id < p->n_types; id++) LOOM_TRY(check_type(p, id));
    return NULL;
}

/* ---- structure ---- */

static loom_status *check_ranges(const loom_program *p) {
    for (loom_node_id id = 0; id < p->n_nodes; id++) {
        const loom_node *n = &p->nodes[id];
        if (n->op >= LOOM_OPS) return loom_error(LOOM_E_DATA, "core %%%u: operation %u does not exist", id, n->op);
        if (n->type >= p->n_types) return loom_check_fail(p, id, LOOM_E_DATA, "type %u does not exist", n->type);
        if (n->first_operand > p->n_operands || n->n_operands > p->n_operands - n->first_operand ||
            n->first_body > p->n_body_refs || n->n_bodies > p->n_body_refs - n->first_body) {
            return loom_check_fail(p, id, LOOM_E_DATA, "operands or bodies lie outside their table");
        }
        const loom_op_info *op = &loom_op_table[n->op];
        if ((op->n_operands >= 0 && n->n_operands != (uint32_t)op->n_operands) ||
            n->n_bodies != (uint32_t)op->n_bodies) {
            return loom_check_fail(p, id, LOOM_E_DATA, "%u operands and %u bodies, expected %d and %d", n->n_operands,
                                   n->n_bodies, op->n_operands, op->n_bodies);
        }
        for (uint32_t i = 0; i < n->n_operands; i++) {
            if (loom_operand(p, n, i) >= id) {
                return loom_check_fail(p, id, LOOM_E_DATA, "operand %u does not stand before it", i);
            }
        }
        for (uint32_t i = 0; i < n->n_bodies; i++) {
            if (p->body_refs[n->first_body + i] >= p->n_bodies) {
                return loom_check_fail(p, id, LOOM_E_DATA, "body %u does not exist", p->body_refs[n->first_body + i]);
            }
        }
    }
    return NULL;
}

/* Who uses which body; each has exactly one user, a function or a node after its end. */
static loom_status *find_users(const loom_program *p, loom_structure *s) {
    const uint32_t unused = LOOM_NONE;
    memset(s->user, 0xff, (size_t)p->n_bodies * sizeof *s->user);
    memset(s->function, 0xff, (size_t)p->n_bodies * sizeof *s->function);
    for (loom_body_id b = 0; b < p->n_bodies; b++) {
        const loom_body *body = &p->bodies[b];
        if (body->end > p->n_nodes || body->first > body->end || body->n_params > body->end - body->first) {
            return loom_error(LOOM_E_DATA,
                              "core body %u: its range [%u, %u) is not in the table or too short for its "
                              "%u parameters",
                              b, body->first, body->end, body->n_params);
        }
    }
    for (uint32_t f = 0; f < p->n_functions; f++) {
        loom_body_id b = p->functions[f].body;
        if (b >= p->n_bodies || s->function[b] != unused) {
            return loom_error(LOOM_E_DATA, "core function %u: its body does not exist or belongs to another function",
                              f);
        }
        s->function[b] = f;
    }
    for (loom_node_id id = 0; id < p->n_nodes; id++) {
        const loom_node *n = &p->nodes[id];
        for (uint32_t i = 0; i < n->n_bodies; i++) {
            loom_body_id b = p->body_refs[n->first_body + i];
            if (s->user[b] != unused || s->function[b] != unused || p->bodies[b].end > id) {
                return loom_check_fail(p, id, LOOM_E_DATA, "body %u has another user or does not stand before the node",
                                       b);
            }
            s->user[b] = id;
            s->user_position[b] = i;
        }
    }
    for (loom_body_id b = 0; b < p->n_bodies; b++) {
        if (s->user[b] == unused && s->function[b] == unused)
            return loom_error(LOOM_E_DATA, "core body %u has no user", b);
    }
    return NULL;
}

typedef struct body_place {
    loom_node_id first, end;
    loom_body_id id;
} body_place;

static int compare_places(const void *x, const void *y) {
    const body_place *a = x, *b = y;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    if (a->end != b->end) return a->end > b->end ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Sweeps over the table with the stack of bodies around the present node. Empty bodies (a branch that names an outer
 * value) own no node and are looked at afterwards. */
static loom_status *find_owners(const loom_program *p, loom_arena *scratch, loom_structure *s) {
    body_place *places = LOOM_NEW_ARRAY(scratch, body_place, (size_t)p->n_bodies + 1);
    loom_body_id *open = LOOM_NEW_ARRAY(scratch, loom_body_id, LOOM_MAX_BODY_NESTING);
    uint32_t n_places = 0, next = 0, n_open = 0;
    for (loom_body_id b = 0; b < p->n_bodies; b++) {
        if (p->bodies[b].first < p->bodies[b].end)
            places[n_places++] = (body_place){p->bodies[b].first, p->bodies[b].end, b};
    }
    qsort(places, n_places, sizeof *places, compare_places);
    for (loom_node_id id = 0; id < p->n_nodes; id++) {
        while (n_open && p->bodies[open[n_open - 1]].end <= id) n_open--;
        for (; next < n_places && places[next].first == id; next++) {
            loom_body_id b = places[next].id;
            if (n_open == LOOM_MAX_BODY_NESTING) {
                return loom_check_fail(p, id, LOOM_E_LIMIT, "nested more than %d deep", LOOM_MAX_BODY_NESTING);
            }
            if (n_open && places[next].end > p->bodies[open[n_open - 1]].end) {
                return loom_error(LOOM_E_DATA, "core body %u overlaps body %u", b, open[n_open - 1]);
            }
            s->parent[b] = n_open ? open[n_open - 1] : LOOM_NONE;
            open[n_open++] = b;
            s->nesting[b] = n_open;
        }
        if (!n_open) return loom_check_fail(p, id, LOOM_E_DATA, "stands outside all bodies");
        s->owner[id] = open[n_open - 1];
        const loom_body *owner = &p->bodies[s->owner[id]];
        uint32_t position = id - owner->first;
        bool is_param = p->nodes[id].op == LOOM_OP_PARAM;
        if (is_param != (position < owner->n_params) || (is_param && p->nodes[id].aux != position)) {
            return loom_check_fail(p, id, LOOM_E_DATA, "a body begins with its parameters, and nothing else is one");
        }
    }
    return NULL;
}

static bool contains(const loom_program *p, loom_body_id body, loom_node_id id) {
    return p->bodies[body].first <= id && id < p->bodies[body].end;
}

static loom_status *check_body_places(const loom_program *p, loom_structure *s) {
    for (loom_body_id b = 0; b < p->n_bodies; b++) {
        const loom_body *body = &p->bodies[b];
        bool empty = body->first == body->end;
        if (s->user[b] == LOOM_NONE) {
            if (empty || s->parent[b] != LOOM_NONE || body->result >= body->end || s->owner[body->result] != b) {
                return loom_error(LOOM_E_DATA,
                                  "core body %u of function %u is empty, nested or without a result of its own", b,
                                  s->function[b]);
            }
            continue;
        }
        loom_body_id around = s->owner[s->user[b]];
        if ((!empty && s->parent[b] != around) || body->first < p->bodies[around].first + p->bodies[around].n_params) {
            return loom_check_fail(p, s->user[b], LOOM_E_DATA, "its body %u does not lie in the body around it", b);
        }
        s->parent[b] = around;
        bool own = body->result < body->end && body->result >= body->first && s->owner[body->result] == b;
        bool outer = body->result < body->first && contains(p, s->owner[body->result], s->user[b]);
        if (!own && !outer)
            return loom_check_fail(p, s->user[b], LOOM_E_DATA, "the result of its body %u is not in scope", b);
    }
    return NULL;
}

/* Function and nesting of every body, from the outside in: parents of non-empty bodies begin no later than they do. */
static void spread_functions(const loom_program *p, loom_structure *s) {
    for (loom_node_id id = p->n_nodes; id-- > 0;) {
        const loom_node *n = &p->nodes[id];
        for (uint32_t i = 0; i < n->n_bodies; i++) {
            loom_body_id b = p->body_refs[n->first_body + i];
            s->function[b] = s->function[s->owner[id]];
            s->nesting[b] = s->nesting[s->owner[id]] + 1;
            s->closed[b] = n->op == LOOM_OP_LIFTED ? p->bodies[b].first : s->closed[s->owner[id]];
        }
    }
}

/* Bodies that are closed use nothing from around. (Functions lie apart, so scopes see to theirs.) */
static loom_status *check_closed(const loom_program *p, const loom_structure *s) {
    for (loom_node_id id = 0; id < p->n_nodes; id++) {
        const loom_node *n = &p->nodes[id];
        loom_node_id first = s->closed[s->owner[id]];
        for (uint32_t i = 0; i < n->n_operands; i++) {
            if (loom_operand(p, n, i) < first) {
                return loom_check_fail(p, id, LOOM_E_DATA, "operand %u is from outside of a lifted function", i);
            }
        }
        for (uint32_t i = 0; i < n->n_bodies; i++) {
            loom_body_id b = p->body_refs[n->first_body + i];
            if (p->bodies[b].result < s->closed[b]) {
                return loom_check_fail(p, id, LOOM_E_DATA, "the result of its body %u is from outside", i);
            }
        }
    }
    return NULL;
}

loom_status *loom_check_structure(const loom_program *p, loom_arena *scratch, loom_structure *s) {
    if (p->n_nodes > LOOM_MAX_NODES || p->n_bodies > LOOM_MAX_NODES || p->n_functions > LOOM_MAX_NODES) {
        return loom_error(LOOM_E_LIMIT,
                          "the program has %u nodes, %u bodies and %u functions; at most %u of each are allowed",
                          p->n_nodes, p->n_bodies, p->n_functions, LOOM_MAX_NODES);
    }
    size_t n_bodies = (size_t)p->n_bodies + 1;
    s->owner = LOOM_NEW_ARRAY(scratch, loom_body_id, (size_t)p->n_nodes + 1);
    s->user = LOOM_NEW_ARRAY(scratch, loom_node_id, n_bodies);
    s->user_position = LOOM_NEW_ARRAY(scratch, uint32_t, n_bodies);
    s->parent = LOOM_NEW_ARRAY(scratch, loom_body_id, n_bodies);
    s->function = LOOM_NEW_ARRAY(scratch, uint32_t, n_bodies);
    s->nesting = LOOM_NEW_ARRAY(scratch, uint32_t, n_bodies);
    s->closed = LOOM_NEW_ARRAY(scratch, loom_node_id, n_bodies);
    LOOM_TRY(check_ranges(p));
    LOOM_TRY(find_users(p, s));
    LOOM_TRY(find_owners(p, scratch, s));
    LOOM_TRY(check_body_places(p, s));
    spread_functions(p, s);
    for (loom_node_id id = 0; id < p->n_nodes; id++) {
        const loom_node *n = &p->nodes[id];
        for (uint32_t i = 0; i < n->n_operands; i++) {
            if (!contains(p, s->owner[loom_operand(p, n, i)], id)) {
                return loom_check_fail(p, id, LOOM_E_DATA, "operand %u is not in scope", i);
            }
        }
    }
    return check_closed(p, s);
}

/* ---- calls and sequences ---- */

/* Is `body` given to an operation that runs it on elements, so that no sequence may be traversed in it? */
static bool on_elements(const loom_program *p, const loom_structure *s, loom_body_id body) {
    if (s->user[body] == LOOM_NONE) return false;
    switch ((loom_op)p->nodes[s->user[body]].op) {
    case LOOM_OP_IF:
    case LOOM_OP_LOOP_FOR:
    case LOOM_OP_LOOP_WHILE: return false;
    case LOOM_OP_SEQ_GROUP: return s->user_position[body] == 0;
    case LOOM_OP_SEQ_GROUP_MAP: return s->user_position[body] != 2;
    default: return true;
    }
}

typedef struct function_facts {
    uint32_t nesting; /* deepest, through calls */
    bool traverses;   /* has an operation on sequences, through calls */
} function_facts;

/* Functions in the order of their indices, so that those called are known. `elements` by body: under an operation that
 * runs it on elements. */
static loom_status *check_foreign(const loom_program *p, uint32_t f, loom_arena *scratch) {
    const loom_function *fn = &p->functions[f];
    const loom_body *b = &p->bodies[fn->body];
    if (fn->foreign == LOOM_FOREIGN_NONE) return NULL;
    if (fn->foreign >= LOOM_FOREIGNS)
        return loom_error(LOOM_E_DATA, "core function %u: foreign function %u does not exist", f, fn->foreign);
    loom_type_id *params = LOOM_NEW_ARRAY(scratch, loom_type_id, (size_t)b->n_params + 1);
    for (uint32_t i = 0; i < b->n_params; i++) params[i] = p->nodes[b->first + i].type;
    if (loom_foreign_fits(p, (loom_foreign)fn->foreign, b->n_params, params, p->nodes[b->result].type)) return NULL;
    const loom_foreign_info *known = &loom_foreign_table[fn->foreign];
    return loom_error(LOOM_E_TYPE, "core function %u: the foreign function `%s` is %s", f, known->name, known->types);
}

static loom_status *check_function(const loom_program *p, const loom_structure *s, uint32_t f, function_facts *facts,
                                   const bool *elements) {
    const loom_body *body = &p->bodies[p->functions[f].body];
    for (loom_node_id id = body->first; id < body->end; id++) {
        const loom_node *n = &p->nodes[id];
        bool traverses = n->op >= LOOM_OP_SEQ_ROWS;
        uint32_t nesting = s->nesting[s->owner[id]];
        if (n->op == LOOM_OP_CALL) {
            if (n->aux >= f)
                return loom_check_fail(p, id, LOOM_E_DATA, "calls function %u, which does not stand before", n->aux);
            traverses = facts[n->aux].traverses;
            nesting += facts[n->aux].nesting;
        }
        if (traverses && elements[s->owner[id]]) {
            return loom_status_note(
                loom_check_fail(p, id, LOOM_E_TYPE, "a function that runs on elements traverses a sequence"),
                "hint: make an array of the sequence with from_seq outside, or use an array operation");
        }
        if (nesting > LOOM_MAX_BODY_NESTING) {
            return loom_check_fail(p, id, LOOM_E_LIMIT, "nested more than %d deep through calls",
                                   LOOM_MAX_BODY_NESTING);
        }
        if (nesting > facts[f].nesting) facts[f].nesting = nesting;
        facts[f].traverses = facts[f].traverses || traverses;
    }
    return NULL;
}

static loom_status *check_functions(const loom_program *p, loom_arena *scratch, const loom_structure *s) {
    bool *elements = LOOM_NEW_ARRAY(scratch, bool, (size_t)p->n_bodies + 1);
    function_facts *facts = LOOM_NEW_ARRAY(scratch, function_facts, (size_t)p->n_functions + 1);
    for (loom_node_id id = p->n_nodes; id-- > 0;) {
        const loom_node *n = &p->nodes[id];
        for (uint32_t i = 0; i < n->n_bodies; i++) {
            loom_body_id b = p->body_refs[n->first_body + i];
            elements[b] = elements[s->owner[id]] || on_elements(p, s, b);
        }
    }
    for (uint32_t f = 0; f < p->n_functions; f++) {
        LOOM_TRY(check_foreign(p, f, scratch));
        LOOM_TRY(check_function(p, s, f, facts, elements));
    }
    return NULL;
}

static loom_status *check_all(const loom_program *p, loom_arena *scratch) {
    loom_structure s = {0};
    LOOM_TRY(loom_check_types_table(p));
    LOOM_TRY(loom_check_structure(p, scratch, &s));
    for (loom_node_id id = 0; id < p->n_nodes; id++) LOOM_TRY(loom_check_node(p, id));
    return check_functions(p, scratch, &s);
}

/* Messages are written in the program's arena; a guard of our own makes running out of it an error of this call, so
 * that the scratch memory is given back. */
loom_status *loom_program_check(const loom_program *p) {
    loom_arena *scratch = loom_arena_create(0);
    jmp_buf guard;
    jmp_buf *outer = loom_arena_set_guard(p->arena, &guard);
    loom_status *status;
    if (setjmp(guard) == 0) {
        status = check_all(p, scratch);
    } else {
        status = loom_error(LOOM_E_LIMIT, "checking the program needs more memory than its budget");
    }
    loom_arena_set_guard(p->arena, outer);
    loom_arena_destroy(scratch);
    return status;
}
