/* Programs over endless sequences: compiler/stage/endless.h has the rewriting rules.
 *
 * A sequence made of the endless one has a *root*: the node that decides how many elements it has, which is the
 * parameter, a filter or the windows. Sequences of one root have their elements at the same places, in every stretch,
 * so they can be visited together; those of different roots cannot. Positions (enumerate_seq) are known where the root
 * is the parameter or the windows: elements and groups are counted.
 *
 * Worked example: main (s: seq f64) = map_seq (* 2) (group_seq forever keys s body)
 *   prepare s at = map_seq (\x -> (x, keys x)) s
 *   finish s at  = map_seq (* 2) (group_seq at[1] (\(x, open) -> map (\k -> if k < open then -1 else k - at[0]) (keys
 * x)) s (\k ys -> body (at[0] + k) (map_seq (.0) ys)))
 */
#include "compiler/stage/endless.h"
#include "compiler/ir/prim.h"
#include "compiler/stage/stage.h"
#include "normaliser.h"
#include "scope.h"

typedef struct cutter {
    loom_arena *arena;
    const loom_program *p; /* simplified: one function without calls */
    const loom_scope *scope;
    loom_body_id entry;
    loom_node_id param, windows; /* windows: LOOM_NONE where there are none */
    loom_node_id *root;          /* by node: of the endless sequence that it is, LOOM_NONE where it is none */
    /* of the program that is being made */
    loom_program *to;
    loom_node_id *map;
    loom_node_id at; /* its last parameter */
} cutter;

/* ---- what goes ---- */

static loom_status *refuse(const cutter *c, loom_node_id n, const char *why, const char *hint) {
    const loom_node *node = &c->p->nodes[n];
    const char *file = node->span.file < c->p->n_files ? c->p->files[node->span.file].name : "?";
    loom_status *status = loom_error_at(LOOM_E_DATA, file, node->span, "%s %s", loom_op_table[node->op].name, why);
    return loom_status_note(status, "hint: %s", hint);
}

/* The first endless sequence that a node uses, in its operands or bodies; LOOM_NONE: none. */
static loom_node_id endless_use(const cutter *c, loom_node_id n, bool bodies_only) {
    const loom_node *node = &c->p->nodes[n];
    for (uint32_t i = 0; i < node->n_bodies; i++) {
        loom_node_id *uses;
        uint32_t count = loom_scope_body_uses(c->p, c->arena, loom_node_body(c->p, node, i), &uses);
        for (uint32_t k = 0; k < count; k++)
            if (c->root[uses[k]] != LOOM_NONE) return uses[k];
    }
    for (uint32_t i = 0; !bodies_only && i < node->n_operands; i++)
        if (c->root[loom_operand(c->p, node, i)] != LOOM_NONE) return loom_operand(c->p, node, i);
    return LOOM_NONE;
}

static loom_status *visit_together(cutter *c, loom_node_id n) {
    const loom_node *node = &c->p->nodes[n];
    loom_node_id root = c->root[loom_operand(c->p, node, 0)];
    for (uint32_t i = 1; i < node->n_operands; i++) {
        if (c->root[loom_operand(c->p, node, i)] == root) continue;
        return refuse(
            c, n, "visits an endless sequence together with one that need not be as long",
            "both are to be made of the endless sequence, by map_seq and zip_with_seq from the same filter_seq "
            "or group_seq on");
    }
    c->root[n] = root;
    return NULL;
}

static loom_status *open_windows(cutter *c, loom_node_id n) {
    if (!loom_group_is_forever(&c->p->nodes[n]))
        return refuse(c, n, "has a number of groups, none of which is complete before an endless sequence ends",
                      "`group_seq forever` closes groups as it goes on");
    if (c->windows != LOOM_NONE)
        return refuse(c, n, "is a second grouping of one endless sequence", "a program has one; keys may be of both");
    c->windows = c->root[n] = n;
    return NULL;
}

static loom_status *look_at(cutter *c, loom_node_id n) {
    const loom_node *node = &c->p->nodes[n];
    if (endless_use(c, n, false) == LOOM_NONE) return NULL;
    bool inside = endless_use(c, n, true) != LOOM_NONE;
    switch (inside ? LOOM_OPS : (loom_op)node->op) {
    case LOOM_OP_SEQ_MAP: return visit_together(c, n);
    case LOOM_OP_SEQ_FILTER: c->root[n] = n; return NULL;
    case LOOM_OP_SEQ_ENUMERATE: {
        loom_node_id root = c->root[loom_operand(c->p, node, 0)];
        if (root != c->param && root != c->windows)
            return refuse(c, n, "counts the elements that a filter leaves of an endless sequence",
                          "count before the filter, or in windows");
        c->root[n] = root;
        return NULL;
    }
    case LOOM_OP_SEQ_SCAN:
        return refuse(c, n, "over an endless sequence is not there", "sums of windows: `group_seq forever`");
    case LOOM_OP_SEQ_GROUP: return open_windows(c, n);
    default: break;
    }
    return refuse(
        c, n, "reads an endless sequence to its end, which does not come",
        "windows have ends: `group_seq forever keys s (\\k ys -> ...)`; what ends can be saved to a file and given "
        "as that");
}

static loom_status *analyse(cutter *c) {
    const loom_body *b = &c->p->bodies[c->entry];
    c->root = LOOM_NEW_ARRAY(c->arena, loom_node_id, c->p->n_nodes + 1);
    for (uint32_t i = 0; i < c->p->n_nodes; i++) c->root[i] = LOOM_NONE;
    c->root[c->param] = c->param;
    for (loom_node_id n = loom_scope_first(c->scope, c->entry); n != LOOM_NONE;
         n = loom_scope_next(c->scope, c->entry, n))
        LOOM_TRY(look_at(c, n));
    if (c->root[b->result] != LOOM_NONE) return NULL;
    return loom_status_note(loom_error(LOOM_E_DATA, "the result of the entry is not made of its endless sequence"),
                            "hint: the result is a sequence of what is made of elements or windows, and streams out");
}

/* ---- building ---- */

static loom_node_id build(cutter *c, loom_op op, loom_type_id type, const loom_node_id *operands, uint32_t n,
                          const loom_body_id *body, uint32_t aux, loom_span span) {
    return normalise_build(c->to, op, type, operands, n, body, body ? 1 : 0, aux, span);
}

static loom_type_id type_of(const cutter *c, loom_node_id n) {
    return c->to->nodes[n].type;
}

/* at[i] */
static loom_node_id given(cutter *c, int64_t i, loom_span span) {
    loom_node_id operands[2] = {c->at, loom_build_i64(c->to, i, span)};
    return build(c, LOOM_OP_INDEX, loom_type_scalar(c->to, LOOM_I64), operands, 2, NULL, 0, span);
}

static loom_node_id field(cutter *c, loom_node_id tuple, uint32_t i, loom_span span) {
    return build(c, LOOM_OP_PROJECT, c->to->types[type_of(c, tuple)].fields[i], &tuple, 1, NULL, i, span);
}

static loom_node_id pair(cutter *c, loom_node_id a, loom_node_id b, loom_span span) {
    loom_node_id parts[2] = {a, b};
    loom_type_id types[2] = {type_of(c, a), type_of(c, b)};
    return build(c, LOOM_OP_TUPLE, loom_type_tuple(c->to, 2, types, NULL), parts, 2, NULL, 0, span);
}

/* A map_seq whose body is open: its parameter; closed with what becomes of that. */
typedef struct open_map {
    loom_node_id s, x;
    loom_body_id body;
} open_map;

static open_map open_map_seq(cutter *c, loom_node_id s, loom_span span) {
    loom_type_id element = c->to->types[type_of(c, s)].element;
    loom_body_id body = loom_build_open(c->to, 1, &element, span);
    return (open_map){s, loom_build_param(c->to, body, 0), body};
}

static loom_node_id close_map_seq(cutter *c, const open_map *m, loom_node_id result, loom_span span) {
    loom_build_close(c->to, m->body, result);
    return build(c, LOOM_OP_SEQ_MAP, loom_type_seq(c->to, type_of(c, result)), &m->s, 1, &m->body, 0, span);
}

/* Positions of a stretch begin at 0: to each is added how many elements, or groups, came before. */
static loom_node_id shifted_positions(cutter *c, loom_node_id enumerated, loom_span span) {
    loom_node_id before = given(c, 0, span);
    open_map m = open_map_seq(c, enumerated, span);
    loom_node_id i = normalise_prim(c->to, LOOM_PRIM_ADD, field(c, m.x, 0, span), before, span);
    return close_map_seq(c, &m, pair(c, i, field(c, m.x, 1, span), span), span);
}

/* The groups of an element of (element, open): those that had closed before it came are outside. */
static loom_body_id window_keys(cutter *c, const loom_node *n, loom_type_id element, loom_node_id from) {
    loom_span span = n->span;
    loom_type_id i64 = loom_type_scalar(c->to, LOOM_I64);
    loom_body_id body = loom_build_open(c->to, 1, &element, span);
    loom_node_id x = loom_build_param(c->to, body, 0), e = field(c, x, 0, span), open = field(c, x, 1, span);
    loom_node_id keys = loom_copy_body(c->to, c->p, c->p->body_refs[n->first_body], &e, c->map);
    loom_body_id each = loom_build_open(c->to, 1, &i64, span);
    loom_node_id k = loom_build_param(c->to, each, 0);
    loom_node_id choice[3] = {normalise_prim(c->to, LOOM_PRIM_LT, k, open, span), loom_build_i64(c->to, -1, span),
                              normalise_prim(c->to, LOOM_PRIM_SUB, k, from, span)};
    loom_build_close(c->to, each,
                     loom_build_node(c->to, LOOM_OP_PRIM, LOOM_PRIM_SELECT, i64, choice, 3, NULL, 0, 0, span));
    loom_build_close(c->to, body, build(c, LOOM_OP_MAP, loom_type_array(c->to, i64), &keys, 1, &each, 0, span));
    return body;
}

static loom_body_id window_body(cutter *c, const loom_node *n, loom_type_id element, loom_node_id from) {
    loom_span span = n->span;
    loom_type_id types[2] = {loom_type_scalar(c->to, LOOM_I64), loom_type_seq(c->to, element)};
    loom_body_id body = loom_build_open(c->to, 2, types, span);
    open_map m = open_map_seq(c, loom_build_param(c->to, body, 1), span);
    loom_node_id ys = close_map_seq(c, &m, field(c, m.x, 0, span), span);
    loom_node_id k = normalise_prim(c->to, LOOM_PRIM_ADD, loom_build_param(c->to, body, 0), from, span);
    loom_node_id arguments[2] = {k, ys};
    loom_build_close(c->to, body, loom_copy_body(c->to, c->p, c->p->body_refs[n->first_body + 1], arguments, c->map));
    return body;
}

/* The windows as groups at[0], at[0] + 1, ... of what `finish` is given. */
static loom_node_id windows(cutter *c, const loom_node *n) {
    loom_node_id s = c->map[c->param], from = given(c, 0, n->span), operands[2] = {given(c, 1, n->span), s};
    loom_type_id element = c->to->types[type_of(c, s)].element;
    loom_body_id bodies[2];
    bodies[0] = window_keys(c, n, element, from);
    bodies[1] = window_body(c, n, element, from);
    loom_type_id made = type_of(c, c->to->bodies[bodies[1]].result);
    return normalise_build(c->to, LOOM_OP_SEQ_GROUP, loom_type_seq(c->to, made), operands, 2, bodies, 2, 0, n->span);
}

static void need_body(const cutter *c, const loom_node *node, uint32_t i, bool *needed) {
    loom_node_id *uses;
    uint32_t count = loom_scope_body_uses(c->p, c->arena, loom_node_body(c->p, node, i), &uses);
    for (uint32_t k = 0; k < count; k++) needed[uses[k]] = true;
}

/* By node: adds what the needed ones of the entry's own need; of the windows all but the sequence. */
static void add_needs(const cutter *c, bool *needed) {
    const loom_body *b = &c->p->bodies[c->entry];
    for (loom_node_id n = b->end; n-- > b->first;) {
        if (!needed[n] || c->scope->owner[n] != c->entry) continue;
        const loom_node *node = &c->p->nodes[n];
        for (uint32_t i = 0; i < node->n_operands; i++)
            if (n != c->windows) needed[loom_operand(c->p, node, i)] = true;
        for (uint32_t i = 0; i < node->n_bodies; i++) need_body(c, node, i, needed);
    }
}

static void copy_needed(cutter *c, bool *needed) {
    add_needs(c, needed);
    for (loom_node_id n = loom_scope_first(c->scope, c->entry); n != LOOM_NONE;
         n = loom_scope_next(c->scope, c->entry, n)) {
        if (!needed[n]) continue;
        const loom_node *node = &c->p->nodes[n];
        if (n == c->windows) {
            c->map[n] = windows(c, node);
            continue;
        }
        loom_copy_node(c->to, c->p, n, c->map);
        if (node->op == LOOM_OP_SEQ_ENUMERATE && c->root[n] != LOOM_NONE)
            c->map[n] = shifted_positions(c, c->map[n], node->span);
    }
}

/* The entry's parameters, the endless one with elements of type `element`, and `at` behind them. */
static loom_body_id open_entry(cutter *c, loom_type_id element, const char ***names) {
    const loom_body *b = &c->p->bodies[c->entry];
    loom_type_id *types = LOOM_NEW_ARRAY(c->arena, loom_type_id, b->n_params + 1);
    *names = LOOM_NEW_ARRAY(c->arena, const char *, b->n_params + 1);
    for (uint32_t i = 0; i < b->n_params; i++) {
        types[i] = loom_copy_type(c->to, c->p, c->p->nodes[b->first + i].type);
        if (b->first + i == c->param) types[i] = loom_type_seq(c->to, element);
        (*names)[i] = c->p->functions[0].param_names[i];
    }
    types[b->n_params] = loom_type_array(c->to, loom_type_scalar(c->to, LOOM_I64));
    (*names)[b->n_params] = "at";
    loom_body_id body = loom_build_open(c->to, b->n_params + 1, types, (loom_span){0});
    for (uint32_t i = 0; i < b->n_params; i++) {
        c->map[b->first + i] = loom_build_param(c->to, body, i);
        c->to->nodes[c->map[b->first + i]].span = c->p->nodes[b->first + i].span;
    }
    c->at = loom_build_param(c->to, body, b->n_params);
    return body;
}

static void begin_program(cutter *c) {
    c->to = loom_program_create(c->arena);
    c->to->files = c->p->files;
    c->to->n_files = c->p->n_files;
    c->map = LOOM_NEW_ARRAY(c->arena, loom_node_id, c->p->n_nodes + 1);
    for (uint32_t i = 0; i < c->p->n_nodes; i++) c->map[i] = LOOM_NONE;
}

static loom_status *end_program(cutter *c, loom_body_id body, loom_node_id result, const char *const *names) {
    loom_build_close(c->to, body, result);
    loom_build_function(c->to, "main", body, true, names);
    return loom_program_check(c->to);
}

static loom_status *prepare(cutter *c, loom_program **made) {
    begin_program(c);
    const char **names;
    loom_type_id element = c->p->types[c->p->nodes[c->param].type].element;
    loom_body_id body = open_entry(c, loom_copy_type(c->to, c->p, element), &names);
    const loom_node *group = c->windows == LOOM_NONE ? NULL : &c->p->nodes[c->windows];
    loom_node_id last = group ? loom_operand(c->p, group, 1) : c->p->bodies[c->entry].result;
    bool *needed = LOOM_NEW_ARRAY(c->arena, bool, c->p->n_nodes + 1);
    needed[last] = true;
    if (group) need_body(c, group, 0, needed);
    copy_needed(c, needed);
    loom_node_id result = c->map[last];
    if (group) {
        open_map m = open_map_seq(c, result, group->span);
        loom_node_id keys = loom_copy_body(c->to, c->p, c->p->body_refs[group->first_body], &m.x, c->map);
        result = close_map_seq(c, &m, pair(c, m.x, keys, group->span), group->span);
    }
    *made = c->to;
    return end_program(c, body, result, names);
}

static loom_status *finish(cutter *c, loom_program **made) {
    begin_program(c);
    const char **names;
    loom_node_id before = loom_operand(c->p, &c->p->nodes[c->windows], 1);
    loom_type_id types[2] = {loom_copy_type(c->to, c->p, c->p->types[c->p->nodes[before].type].element),
                             loom_type_scalar(c->to, LOOM_I64)};
    loom_body_id body = open_entry(c, loom_type_tuple(c->to, 2, types, NULL), &names);
    loom_node_id last = c->p->bodies[c->entry].result;
    bool *needed = LOOM_NEW_ARRAY(c->arena, bool, c->p->n_nodes + 1);
    needed[last] = true;
    copy_needed(c, needed);
    *made = c->to;
    return end_program(c, body, c->map[last], names);
}

loom_status *loom_endless_split(loom_arena *arena, const loom_program *program, uint32_t f, uint32_t param,
                                loom_endless *endless) {
    loom_program *p;
    LOOM_TRY(loom_simplify_one(arena, program, f, &p));
    cutter c = {.arena = arena, .p = p, .scope = loom_scope_create(arena, p), .entry = p->functions[0].body};
    c.param = p->bodies[c.entry].first + param;
    c.windows = LOOM_NONE;
    LOOM_TRY(analyse(&c));
    *endless = (loom_endless){0};
    LOOM_TRY(prepare(&c, &endless->prepare));
    if (c.windows == LOOM_NONE) return NULL;
    endless->lag = loom_group_lag(&p->nodes[c.windows]);
    return finish(&c, &endless->finish);
}
