/* Rules. e is an element of s, K = keys(e), k a group.
 *
 *   permute_seq op dest is xs            => zip_with op dest (permute_seq op (neutral like dest) is xs)
 *        unless dest is neutral already; `zip_with op` elementwise over dest's indexed levels
 *   group_seq n keys s (\k ys -> body)   => rows (generate n (\k -> body[c_1 := a_1[k], ...]))
 *        for every consumer c_j of ys in body, with a_j made from s in one traversal:
 *     permute_seq op dest(k) (is from e) (xs from e)
 *        => a_j = permute_seq op (generate n (\k -> neutral like dest(k)))
 *                   (map_seq (\e -> map (\k -> is with k before each index) K') s)
 *                   (map_seq (\e -> map (\k -> xs) K') s)
 *     fold_seq op ne (x from e)
 *        => a_j = permute_seq op (replicate n neutral) (map_seq (\e -> K') s) (map_seq (\e -> map (\k -> x) K') s)
 *   where "from e" are chains of map_seq over ys, applied to e; K' is K with repeats replaced by -1 (an index outside,
 * so that permute drops them: a set visits once), and is K itself when K is `generate m (\j -> x + j)`.
 *
 * Worked example: planes of w-gridding. `permute_seq (+) blank (map_seq (spots p) ys) (map_seq (patch p k) ys)` under
 * group_seq becomes one permute_seq onto [n][y][x] whose source has one more nesting level, the element's planes.
 * Cost: linear. Papers: WEFT.md "Sequences"; the group axis is the extra parallel axis of papers/002 section 4.
 */
#include "normalise.h"
#include "common/buffer.h"
#include "compiler/ir/prim.h"
#include "operator.h"
#include "scope.h"
#include <string.h>

typedef struct normaliser {
    loom_arena *arena;
    const loom_program *from;
    loom_program *to;
    const loom_scope *scope;
    loom_node_id *map;
    loom_body_id entry;
    const char *remark;
} normaliser;

static void *refuse(normaliser *z, const loom_node *n, const char *why) {
    if (!z->remark) {
        const char *file = n->span.line && n->span.file < z->from->n_files ? z->from->files[n->span.file].name : "?";
        z->remark = loom_arena_printf(z->arena, "%s:%u: %s: %s", file, n->span.line, loom_op_table[n->op].name, why);
    }
    return NULL;
}

static bool is_seq(const loom_program *p, loom_node_id n) {
    return p->types[p->nodes[n].type].kind == LOOM_T_SEQ;
}

static loom_node_id build(loom_program *p, loom_op op, loom_type_id type, const loom_node_id *operands, uint32_t n,
                          const loom_body_id *bodies, uint32_t n_bodies, uint32_t aux, loom_span span) {
    return loom_build_node(p, op, 0, type, operands, n, bodies, n_bodies, aux, span);
}

/* ---- permute with a destination of its own ---- */

/* zip_with^r op a b, over r array levels. */
static loom_node_id combine_levels(normaliser *z, loom_body_id op, uint32_t r, loom_node_id a, loom_node_id b,
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
        combine_levels(z, op, r - 1, loom_build_param(to, body, 0), loom_build_param(to, body, 1), span);
    loom_build_close(to, body, inner);
    loom_node_id operands[2] = {a, b};
    return build(to, LOOM_OP_MAP, type, operands, 2, &body, 1, 0, span);
}

static loom_node_id permute(normaliser *z, const loom_node *n) {
    const loom_program *p = z->from;
    loom_body_id op = p->body_refs[n->first_body];
    loom_node_id dest = z->map[loom_operand(p, n, 0)];
    loom_node_id operands[3] = {dest, z->map[loom_operand(p, n, 1)], z->map[loom_operand(p, n, 2)]};
    bool neutral = loom_operator_is_neutral_fill(z->scope, op, loom_operand(p, n, 0));
    if (!neutral) {
        operands[0] = loom_operator_neutral(z->to, z->scope, op, dest);
        if (operands[0] == LOOM_NONE) {
            refuse(z, n, "its operator is not made of built-in commutative ones");
            return LOOM_NONE;
        }
    }
    loom_body_id body = loom_copy_as_body(z->to, p, op, z->map);
    loom_type_id type = loom_copy_type(z->to, p, n->type);
    loom_node_id folded = build(z->to, LOOM_OP_SEQ_PERMUTE, type, operands, 3, &body, 1, n->aux, n->span);
    return neutral ? folded : combine_levels(z, op, n->aux, dest, folded, n->span);
}

/* ---- group_seq ---- */

typedef struct group {
    const loom_node *node;
    loom_body_id keys, body; /* of from */
    loom_node_id n, source;  /* of to */
    loom_node_id *copy;      /* private map for nodes of the group body that are copied several times */
    const bool *independent; /* by node of the group body: see independent_nodes */
} group;

/* Whether a body inside the group's uses what is only known once the group has been traversed. */
static bool uses_results(const normaliser *z, const group *g, const loom_body *body) {
    const loom_program *p = z->from;
    loom_node_id first = p->bodies[g->body].first;
    for (loom_node_id m = body->first; m <= body->end; m++) {
        bool last = m == body->end;
        const loom_node *n = &p->nodes[m];
        for (uint32_t i = 0; i < (last ? 1 : n->n_operands); i++) {
            loom_node_id d = last ? body->result : loom_operand(p, n, i);
            if (d > first && d < body->first && !g->independent[d - first]) return true;
        }
        for (uint32_t i = 0; !last && i < n->n_bodies; i++) {
            loom_node_id d = loom_node_body(p, n, i)->result;
            if (d > first && d < body->first && !g->independent[d - first]) return true;
        }
    }
    return false;
}

/* Emits, in the open body, the value that stream node `x` of the group body has for element `e` and group `k`. */
static loom_node_id element_of(normaliser *z, group *g, loom_node_id x, loom_node_id e, loom_node_id k) {
    const loom_program *p = z->from;
    const loom_body *body = &p->bodies[g->body];
    if (x == body->first + 1) return e;
    const loom_node *n = &p->nodes[x];
    if (n->op != LOOM_OP_SEQ_MAP) {
        refuse(z, n, "inside group_seq only map_seq may stand between the group and what consumes it");
        return LOOM_NONE;
    }
    if (uses_results(z, g, loom_node_body(p, n, 0))) {
        refuse(z, n, "inside group_seq one consumer depends on the result of another");
        return LOOM_NONE;
    }
    loom_node_id *arguments = LOOM_NEW_ARRAY(z->arena, loom_node_id, n->n_operands + 1);
    for (uint32_t i = 0; i < n->n_operands; i++) {
        arguments[i] = element_of(z, g, loom_operand(p, n, i), e, k);
        if (arguments[i] == LOOM_NONE) return LOOM_NONE;
    }
    return loom_copy_body(z->to, p, p->body_refs[n->first_body], arguments, g->copy);
}

/* Array (not stream) nodes of the group body that the bodies of a consumer's chain use, copied into the open body: they
 * may depend on k. Everything of the body before `until` that is no stream and depends on no stream. */
static bool *independent_nodes(normaliser *z, const group *g) {
    const loom_program *p = z->from;
    const loom_body *b = &p->bodies[g->body];
    bool *yes = LOOM_NEW_ARRAY(z->arena, bool, b->end - b->first + 1);
    for (loom_node_id n = loom_scope_first(z->scope, g->body); n != LOOM_NONE;
         n = loom_scope_next(z->scope, g->body, n)) {
        const loom_node *node = &p->nodes[n];
        bool ok = !is_seq(p, n);
        loom_node_id start = n;
        for (uint32_t i = 0; i < node->n_bodies; i++)
            if (loom_node_body(p, node, i)->first < start) start = loom_node_body(p, node, i)->first;
        for (loom_node_id m = start; m <= n && ok; m++)
            for (uint32_t i = 0; i < p->nodes[m].n_operands && ok; i++) {
                loom_node_id d = loom_operand(p, &p->nodes[m], i);
                if (d == b->first + 1) ok = false;
                if (d >= b->first + 2 && d < start) ok = yes[d - b->first];
            }
        yes[n - b->first] = ok;
    }
    return yes;
}

static void copy_independent(normaliser *z, group *g, loom_node_id until, loom_node_id k) {
    const loom_body *b = &z->from->bodies[g->body];
    memcpy(g->copy, z->map, z->from->n_nodes * sizeof *g->copy);
    g->copy[b->first] = k;
    for (loom_node_id n = loom_scope_first(z->scope, g->body); n != LOOM_NONE && n < until;
         n = loom_scope_next(z->scope, g->body, n))
        if (g->independent[n - b->first]) loom_copy_node(z->to, z->from, n, g->copy);
}

/* Whether the keys are surely distinct: generate m (\j -> x + j), x from outside. */
static bool distinct_keys(const loom_scope *s, loom_body_id keys) {
    const loom_program *p = s->program;
    const loom_node *n = &p->nodes[p->bodies[keys].result];
    if (n->op != LOOM_OP_GENERATE || n->n_operands != 1) return false;
    const loom_body *b = loom_node_body(p, n, 0);
    const loom_node *r = &p->nodes[b->result];
    if (r->op != LOOM_OP_PRIM || r->prim != LOOM_PRIM_ADD) return false;
    loom_node_id x = loom_operand(p, r, 0), y = loom_operand(p, r, 1);
    return (x == b->first && y < b->first) || (y == b->first && x < b->first);
}

/* keys with repeats replaced by -1: imap (\j k -> if any earlier equals k then -1 else k). */
static loom_node_id without_repeats(normaliser *z, loom_node_id keys, loom_span span) {
    loom_program *p = z->to;
    loom_type_id i64 = loom_type_scalar(p, LOOM_I64), boolean = loom_type_scalar(p, LOOM_BOOL);
    loom_type_id array = loom_type_array(p, i64);
    loom_node_id m = build(p, LOOM_OP_LENGTH, i64, &keys, 1, NULL, 0, 0, span);
    loom_body_id body = loom_build_open(p, 1, &i64, span);
    loom_node_id j = loom_build_param(p, body, 0), at[2] = {keys, j};
    loom_node_id k = build(p, LOOM_OP_INDEX, i64, at, 2, NULL, 0, 0, span);
    loom_node_id start = loom_build_const(p, LOOM_BOOL, (loom_scalar){.b = false}, span);
    loom_type_id types[2] = {i64, boolean};
    loom_body_id turn = loom_build_open(p, 2, types, span);
    loom_node_id earlier_at[2] = {keys, loom_build_param(p, turn, 0)};
    loom_node_id earlier = build(p, LOOM_OP_INDEX, i64, earlier_at, 2, NULL, 0, 0, span);
    loom_node_id same_operands[2] = {earlier, k};
    loom_node_id same = loom_build_node(p, LOOM_OP_PRIM, LOOM_PRIM_EQ, boolean, same_operands, 2, NULL, 0, 0, span);
    loom_node_id or_operands[2] = {loom_build_param(p, turn, 1), same};
    loom_node_id either = loom_build_node(p, LOOM_OP_PRIM, LOOM_PRIM_OR, boolean, or_operands, 2, NULL, 0, 0, span);
    loom_build_close(p, turn, either);
    loom_node_id loop_operands[2] = {j, start};
    loom_node_id repeated = build(p, LOOM_OP_LOOP_FOR, boolean, loop_operands, 2, &turn, 1, 0, span);
    loom_node_id select[3] = {repeated, loom_build_i64(p, -1, span), k};
    loom_node_id kept = loom_build_node(p, LOOM_OP_PRIM, LOOM_PRIM_SELECT, i64, select, 3, NULL, 0, 0, span);
    loom_build_close(p, body, kept);
    return build(p, LOOM_OP_GENERATE, array, &m, 1, &body, 1, 0, span);
}

/* k put before every index of `is` (i64 or tuple of r i64, nested in arrays). */
static loom_node_id prefix_index(normaliser *z, loom_node_id k, loom_node_id is, uint32_t r, loom_span span) {
    loom_program *p = z->to;
    loom_type_id i64 = loom_type_scalar(p, LOOM_I64);
    const loom_type t = p->types[p->nodes[is].type];
    if (t.kind == LOOM_T_ARRAY) {
        loom_body_id body = loom_build_open(p, 1, &t.element, span);
        loom_node_id inner = prefix_index(z, k, loom_build_param(p, body, 0), r, span);
        loom_build_close(p, body, inner);
        return build(p, LOOM_OP_MAP, loom_type_array(p, p->nodes[inner].type), &is, 1, &body, 1, 0, span);
    }
    loom_node_id *parts = LOOM_NEW_ARRAY(z->arena, loom_node_id, r + 1);
    loom_type_id *types = LOOM_NEW_ARRAY(z->arena, loom_type_id, r + 1);
    parts[0] = k;
    types[0] = i64;
    for (uint32_t i = 0; i < r; i++) {
        types[i + 1] = i64;
        parts[i + 1] = t.kind == LOOM_T_SCALAR ? is : build(p, LOOM_OP_PROJECT, i64, &is, 1, NULL, 0, i, span);
    }
    return build(p, LOOM_OP_TUPLE, loom_type_tuple(p, r + 1, types, NULL), parts, r + 1, NULL, 0, 0, span);
}

/* map_seq (\e -> map (\k -> value(e, k)) K') s. which: 0 the keys themselves, 1 prefixed index of chain, 2 value of
 * chain. */
static loom_node_id spread(normaliser *z, group *g, loom_node_id consumer, loom_node_id chain, int which, uint32_t r) {
    loom_program *p = z->to;
    loom_span span = z->from->nodes[consumer].span;
    loom_type_id i64 = loom_type_scalar(p, LOOM_I64);
    loom_type_id element = p->types[p->nodes[g->source].type].element;
    loom_body_id body = loom_build_open(p, 1, &element, span);
    loom_node_id e = loom_build_param(p, body, 0);
    memcpy(g->copy, z->map, z->from->n_nodes * sizeof *g->copy);
    loom_node_id keys = loom_copy_body(p, z->from, g->keys, &e, g->copy);
    if (!distinct_keys(z->scope, g->keys)) keys = without_repeats(z, keys, span);
    loom_node_id result = keys;
    if (which != 0) {
        loom_body_id inner = loom_build_open(p, 1, &i64, span);
        loom_node_id k = loom_build_param(p, inner, 0);
        copy_independent(z, g, consumer, k);
        loom_node_id v = element_of(z, g, chain, e, k);
        if (v == LOOM_NONE) return LOOM_NONE;
        if (which == 1) v = prefix_index(z, k, v, r, span);
        loom_build_close(p, inner, v);
        result = build(p, LOOM_OP_MAP, loom_type_array(p, p->nodes[v].type), &keys, 1, &inner, 1, 0, span);
    }
    loom_build_close(p, body, result);
    return build(p, LOOM_OP_SEQ_MAP, loom_type_seq(p, p->nodes[result].type), &g->source, 1, &body, 1, 0, span);
}

/* The accumulator a_j of a consumer, over all groups. */
static loom_node_id group_consumer(normaliser *z, group *g, loom_node_id c) {
    const loom_program *p = z->from;
    loom_program *to = z->to;
    const loom_node *n = &p->nodes[c];
    loom_body_id op = p->body_refs[n->first_body];
    loom_type_id i64 = loom_type_scalar(to, LOOM_I64), type = loom_copy_type(to, p, n->type);
    bool fold = n->op == LOOM_OP_SEQ_FOLD;
    if ((!fold && n->op != LOOM_OP_SEQ_PERMUTE) || !loom_operator_builtin(z->scope, op)) {
        refuse(
            z, n,
            "inside group_seq only permute_seq and fold_seq with built-in commutative operators become one traversal");
        return LOOM_NONE;
    }
    /* neutral destination of one group, then of all */
    loom_node_id dest = loom_operand(p, n, 0);
    const loom_body *b = &p->bodies[g->body];
    if (dest >= b->first && !g->independent[dest - b->first] && dest != b->first) {
        refuse(z, n, "the destination depends on the group's own elements");
        return LOOM_NONE;
    }
    loom_body_id each = loom_build_open(to, 1, &i64, n->span);
    copy_independent(z, g, c, loom_build_param(to, each, 0));
    loom_node_id neutral = loom_operator_is_neutral_fill(z->scope, op, dest)
                               ? g->copy[dest]
                               : loom_operator_neutral(to, z->scope, op, g->copy[dest]);
    if (neutral == LOOM_NONE) {
        refuse(z, n, "the shape of its destination is not known");
        return LOOM_NONE;
    }
    loom_build_close(to, each, neutral);
    loom_node_id operands[3];
    operands[0] = build(to, LOOM_OP_GENERATE, loom_type_array(to, type), &g->n, 1, &each, 1, 0, n->span);
    uint32_t r = fold ? 0 : n->aux;
    operands[1] = spread(z, g, c, loom_operand(p, n, 1), fold ? 0 : 1, r);
    operands[2] = operands[1] == LOOM_NONE ? LOOM_NONE : spread(z, g, c, loom_operand(p, n, fold ? 1 : 2), 2, r);
    if (operands[2] == LOOM_NONE) return LOOM_NONE;
    memcpy(g->copy, z->map, p->n_nodes * sizeof *g->copy);
    loom_body_id body = loom_copy_as_body(to, p, op, g->copy);
    return build(to, LOOM_OP_SEQ_PERMUTE, loom_type_array(to, type), operands, 3, &body, 1, r + 1, n->span);
}

static loom_node_id group_rest(normaliser *z, group *g, const loom_node_id *accumulators) {
    const loom_program *p = z->from;
    loom_program *to = z->to;
    const loom_body *b = &p->bodies[g->body];
    loom_type_id i64 = loom_type_scalar(to, LOOM_I64);
    loom_span span = g->node->span;
    loom_body_id each = loom_build_open(to, 1, &i64, span);
    loom_node_id k = loom_build_param(to, each, 0);
    memcpy(g->copy, z->map, p->n_nodes * sizeof *g->copy);
    g->copy[b->first] = k;
    for (loom_node_id n = loom_scope_first(z->scope, g->body); n != LOOM_NONE;
         n = loom_scope_next(z->scope, g->body, n)) {
        if (is_seq(p, n)) continue;
        if (accumulators[n - b->first] == LOOM_NONE) {
            loom_copy_node(to, p, n, g->copy);
            continue;
        }
        const loom_node *c = &p->nodes[n];
        loom_node_id at[2] = {accumulators[n - b->first], k};
        loom_node_id value = build(to, LOOM_OP_INDEX, loom_copy_type(to, p, c->type), at, 2, NULL, 0, 0, c->span);
        loom_body_id op = p->body_refs[c->first_body];
        loom_node_id dest = loom_operand(p, c, 0);
        if (!loom_operator_is_neutral_fill(z->scope, op, dest)) {
            loom_node_id *saved = z->map;
            z->map = g->copy;
            value = combine_levels(z, op, c->aux, g->copy[dest], value, c->span);
            z->map = saved;
        }
        g->copy[n] = value;
    }
    loom_node_id result = g->copy[b->result];
    loom_build_close(to, each, result);
    loom_type_id array = loom_type_array(to, to->nodes[result].type);
    loom_node_id all = build(to, LOOM_OP_GENERATE, array, &g->n, 1, &each, 1, 0, span);
    return build(to, LOOM_OP_SEQ_ROWS, loom_type_seq(to, to->nodes[result].type), &all, 1, NULL, 0, 0, span);
}

static loom_node_id group_seq(normaliser *z, const loom_node *n) {
    const loom_program *p = z->from;
    group g = {.node = n, .keys = p->body_refs[n->first_body], .body = p->body_refs[n->first_body + 1]};
    g.n = z->map[loom_operand(p, n, 0)];
    g.source = z->map[loom_operand(p, n, 1)];
    g.copy = LOOM_NEW_ARRAY(z->arena, loom_node_id, p->n_nodes + 1);
    const loom_body *b = &p->bodies[g.body];
    if (p->types[p->nodes[b->result].type].kind == LOOM_T_SEQ) {
        refuse(z, n, "the result of a group is a sequence");
        return LOOM_NONE;
    }
    g.independent = independent_nodes(z, &g);
    loom_node_id *accumulators = LOOM_NEW_ARRAY(z->arena, loom_node_id, b->end - b->first + 1);
    for (uint32_t i = 0; i < b->end - b->first; i++) accumulators[i] = LOOM_NONE;
    for (loom_node_id c = loom_scope_first(z->scope, g.body); c != LOOM_NONE;
         c = loom_scope_next(z->scope, g.body, c)) {
        const loom_node *node = &p->nodes[c];
        bool consumes = false;
        for (uint32_t i = 0; i < node->n_operands; i++) consumes |= is_seq(p, loom_operand(p, node, i));
        if (!consumes || is_seq(p, c)) continue;
        accumulators[c - b->first] = group_consumer(z, &g, c);
        if (accumulators[c - b->first] == LOOM_NONE) return LOOM_NONE;
    }
    return group_rest(z, &g, accumulators);
}

/* Whether a stream occurs inside the bodies of a node that is not group_seq: traversals under conditions and loops. */
static bool streams_inside(const loom_program *p, const loom_node *n) {
    for (uint32_t i = 0; i < n->n_bodies; i++) {
        const loom_body *b = loom_node_body(p, n, i);
        for (loom_node_id m = b->first; m < b->end; m++) {
            if (is_seq(p, m)) return true;
            for (uint32_t j = 0; j < p->nodes[m].n_operands; j++)
                if (is_seq(p, loom_operand(p, &p->nodes[m], j))) return true;
        }
        if (is_seq(p, b->result)) return true;
    }
    return false;
}

loom_status *loom_normalise(loom_arena *arena, const loom_program *p, loom_program **out, const char **remark) {
    *out = NULL;
    loom_program *to = loom_program_create(arena);
    to->files = p->files;
    to->n_files = p->n_files;
    const loom_function *f = &p->functions[0];
    const loom_body b = p->bodies[f->body];
    normaliser z = {.arena = arena, .from = p, .to = to, .scope = loom_scope_create(arena, p), .entry = f->body};
    z.map = LOOM_NEW_ARRAY(arena, loom_node_id, p->n_nodes + 1);
    loom_type_id *types = LOOM_NEW_ARRAY(arena, loom_type_id, b.n_params + 1);
    for (uint32_t i = 0; i < b.n_params; i++) types[i] = loom_copy_type(to, p, p->nodes[b.first + i].type);
    loom_body_id body = loom_build_open(to, b.n_params, types, (loom_span){0});
    for (uint32_t i = 0; i < b.n_params; i++) {
        z.map[b.first + i] = loom_build_param(to, body, i);
        to->nodes[z.map[b.first + i]].span = p->nodes[b.first + i].span;
    }
    for (loom_node_id n = loom_scope_first(z.scope, f->body); n != LOOM_NONE;
         n = loom_scope_next(z.scope, f->body, n)) {
        const loom_node *node = &p->nodes[n];
        if (node->op == LOOM_OP_SEQ_GROUP) {
            z.map[n] = group_seq(&z, node);
        } else if (streams_inside(p, node)) {
            refuse(&z, node, "a traversal under a conditional or a loop");
            z.map[n] = LOOM_NONE;
        } else if (node->op == LOOM_OP_SEQ_PERMUTE) {
            z.map[n] = permute(&z, node);
        } else {
            loom_copy_node(to, p, n, z.map);
        }
        if (z.map[n] == LOOM_NONE) {
            *remark = z.remark;
            return NULL;
        }
    }
    loom_build_close(to, body, z.map[b.result]);
    loom_build_function(to, f->name, body, f->entry, f->param_names);
    *out = to;
    return loom_program_check(to);
}
