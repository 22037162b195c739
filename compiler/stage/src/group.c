/* group_seq with its groups, or a stretch of them, resident.
 *
 * e is an element of s, K = keys(e), k a group.
 *
 *   group_seq n keys s (\k ys -> body)   => rows (generate n (\k -> body[c_1 := a_1[k], ...]))
 *        for every consumer c_j of ys in body, with a_j made from s in one traversal:
 *     permute_seq op dest(k) (is from e) (xs from e)
 *        => a_j = permute_seq op (generate n (\k -> neutral like dest(k)))
 *                   (map_seq (\e -> map (\k -> is with k before each index) K') s)
 *                   (map_seq (\e -> map (\k -> xs) K') s)
 *     fold_seq op ne (x from e)
 *        => a_j = permute_seq op (replicate n neutral) (map_seq (\e -> K') s) (map_seq (\e -> map (\k -> x) K') s)
 *   where "from e" are chains of map_seq over ys, applied to e; K' is K with repeats replaced by -1 (an index outside,
 * so that permute drops them: a set visits once), and is K itself when K is `generate m (\j -> x + j)`. Of the stretch
 * of m groups from k0 on, k stands at place k - k0 of a_j; the others' places are outside and are dropped too.
 *   Where the body may fail, or take long, it is asked of groups of the stretch alone: x is `if k is one of them then x
 * else nothing`. Of numbers nothing is a zero, and all stays regular; of arrays it is an empty one. Not where K is that
 * generate and x has arrays: rows would differ in length, in the inner loop of imaging. There what fails for a key that
 * is no group may be told; permutes that make their values where they put them do not.
 *
 * Worked example: planes of w-gridding. `permute_seq (+) blank (map_seq (spots p) ys) (map_seq (patch p k) ys)` under
 * group_seq becomes one permute_seq onto [n][y][x] whose source has one more nesting level, the element's planes.
 * Cost: linear. Papers: WEFT.md "Sequences"; the group axis is the extra parallel axis of papers/002 section 4.
 */
#include "group.h"
#include "operator.h"
#include <string.h>

/* Whether a body inside the group's uses what is only known once the group has been traversed. */
static bool uses_results(const normaliser *z, const group *g, const loom_body *body) {
    loom_node_id first = z->from->bodies[g->body].first, *uses;
    uint32_t n = loom_scope_body_uses(z->from, z->arena, body, &uses);
    for (uint32_t i = 0; i < n; i++)
        if (uses[i] > first && !g->independent[uses[i] - first]) return true;
    return false;
}

/* Emits, in the open body, the value that stream node `x` of the group body has for element `e` and group `k`. */
loom_node_id group_element(normaliser *z, group *g, loom_node_id x, loom_node_id e, loom_node_id k) {
    const loom_program *p = z->from;
    const loom_body *body = &p->bodies[g->body];
    if (x == body->first + 1) return e;
    const loom_node *n = &p->nodes[x];
    if (n->op != LOOM_OP_SEQ_MAP) {
        return normalise_refuse(z, n, "inside group_seq only map_seq may stand between the group and what consumes it");
    }
    if (uses_results(z, g, loom_node_body(p, n, 0))) {
        return normalise_refuse(z, n, "inside group_seq one consumer depends on the result of another");
    }
    loom_node_id *arguments = LOOM_NEW_ARRAY(z->arena, loom_node_id, n->n_operands + 1);
    for (uint32_t i = 0; i < n->n_operands; i++) {
        arguments[i] = group_element(z, g, loom_operand(p, n, i), e, k);
        if (arguments[i] == LOOM_NONE) return LOOM_NONE;
    }
    return loom_copy_body(z->to, p, p->body_refs[n->first_body], arguments, g->copy);
}

bool *group_independent_nodes(normaliser *z, const group *g) {
    const loom_body *b = &z->from->bodies[g->body];
    bool *yes = LOOM_NEW_ARRAY(z->arena, bool, b->end - b->first + 1);
    for (loom_node_id n = loom_scope_first(z->scope, g->body); n != LOOM_NONE;
         n = loom_scope_next(z->scope, g->body, n)) {
        loom_node_id *uses;
        uint32_t count = loom_scope_uses(z->from, z->arena, n, &uses);
        bool ok = !loom_scope_is_seq(z->from, n);
        for (uint32_t i = 0; i < count; i++)
            ok = ok && (uses[i] <= b->first || (uses[i] >= b->first + 2 && yes[uses[i] - b->first]));
        yes[n - b->first] = ok;
    }
    return yes;
}

/* Copies them into the open body, for group k, as far as they stand before `until`. */
static void copy_independent(normaliser *z, group *g, loom_node_id until, loom_node_id k) {
    const loom_body *b = &z->from->bodies[g->body];
    memcpy(g->copy, z->map, z->from->n_nodes * sizeof *g->copy);
    g->copy[b->first] = k;
    for (loom_node_id n = loom_scope_first(z->scope, g->body); n != LOOM_NONE && n < until;
         n = loom_scope_next(z->scope, g->body, n))
        if (g->independent[n - b->first]) loom_copy_node(z->to, z->from, n, g->copy);
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
        return normalise_build(p, LOOM_OP_MAP, loom_type_array(p, p->nodes[inner].type), &is, 1, &body, 1, 0, span);
    }
    loom_node_id *parts = LOOM_NEW_ARRAY(z->arena, loom_node_id, r + 1);
    loom_type_id *types = LOOM_NEW_ARRAY(z->arena, loom_type_id, r + 1);
    parts[0] = k;
    types[0] = i64;
    for (uint32_t i = 0; i < r; i++) {
        types[i + 1] = i64;
        parts[i + 1] =
            t.kind == LOOM_T_SCALAR ? is : normalise_build(p, LOOM_OP_PROJECT, i64, &is, 1, NULL, 0, i, span);
    }
    return normalise_build(p, LOOM_OP_TUPLE, loom_type_tuple(p, r + 1, types, NULL), parts, r + 1, NULL, 0, 0, span);
}

static loom_node_id places_of(normaliser *z, const group *g, loom_node_id keys, loom_span span) {
    if (g->first == LOOM_NONE) return keys;
    loom_type_id i64 = loom_type_scalar(z->to, LOOM_I64);
    loom_body_id body = loom_build_open(z->to, 1, &i64, span);
    loom_build_close(z->to, body, group_place(z, g, loom_build_param(z->to, body, 0), span));
    return normalise_build(z->to, LOOM_OP_MAP, loom_type_array(z->to, i64), &keys, 1, &body, 1, 0, span);
}

/* Whether the body of the group is to be asked of no other group than those of the stretch: see above. */
static bool is_guarded(const normaliser *z, const group *g, loom_node_id chain, bool ascend) {
    const loom_program *p = z->from;
    const loom_body *b = &p->bodies[g->body];
    bool harmless = true;
    for (loom_node_id n = b->first; n < b->end && harmless; n++)
        harmless = loom_scope_is_harmless(p, &p->nodes[n]) || loom_scope_has_seq(p, &p->nodes[n]);
    if (harmless) return false;
    return !ascend || !normalise_has_arrays(p, p->types[p->nodes[chain].type].element);
}

/* In the open body: `if k is one of the groups then value(e, k) else nothing`. */
static loom_node_id guarded_element(normaliser *z, group *g, loom_node_id consumer, loom_node_id chain, loom_node_id e,
                                    loom_node_id k, loom_span span) {
    loom_program *p = z->to;
    loom_node_id here = group_is_resident(z, g, group_place(z, g, k, span), span);
    loom_body_id branches[2];
    branches[0] = loom_build_open(p, 0, NULL, span);
    copy_independent(z, g, consumer, k);
    loom_node_id v = group_element(z, g, chain, e, k);
    if (v == LOOM_NONE) return LOOM_NONE;
    loom_type_id type = p->nodes[v].type;
    loom_build_close(p, branches[0], v);
    branches[1] = loom_build_open(p, 0, NULL, span);
    loom_build_close(p, branches[1], normalise_nothing(z, type, span));
    return normalise_build(p, LOOM_OP_IF, type, &here, 1, branches, 2, 0, span);
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
    bool ascend = group_keys_ascend(z->scope, g->keys);
    if (!ascend) keys = group_without_repeats(z, keys, span);
    loom_node_id result = which == 0 ? places_of(z, g, keys, span) : keys;
    if (which != 0) {
        loom_body_id inner = loom_build_open(p, 1, &i64, span);
        loom_node_id k = loom_build_param(p, inner, 0);
        bool guarded = is_guarded(z, g, chain, ascend);
        if (!guarded) copy_independent(z, g, consumer, k);
        loom_node_id v =
            guarded ? guarded_element(z, g, consumer, chain, e, k, span) : group_element(z, g, chain, e, k);
        if (v == LOOM_NONE) return LOOM_NONE;
        if (which == 1) v = prefix_index(z, group_place(z, g, k, span), v, r, span);
        loom_build_close(p, inner, v);
        result = normalise_build(p, LOOM_OP_MAP, loom_type_array(p, p->nodes[v].type), &keys, 1, &inner, 1, 0, span);
    }
    loom_build_close(p, body, result);
    return normalise_build(p, LOOM_OP_SEQ_MAP, loom_type_seq(p, p->nodes[result].type), &g->source, 1, &body, 1, 0,
                           span);
}

/* What the accumulator of consumer c begins with for group k: neutral, shaped like its destination. */
static loom_node_id neutral_of(normaliser *z, group *g, loom_node_id c, loom_node_id k) {
    const loom_node *n = &z->from->nodes[c];
    loom_body_id op = z->from->body_refs[n->first_body];
    loom_node_id dest = loom_operand(z->from, n, 0);
    copy_independent(z, g, c, k);
    if (loom_operator_is_neutral_fill(z->scope, op, dest)) return g->copy[dest];
    return loom_operator_neutral(z->to, z->scope, op, g->copy[dest]);
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
        return normalise_refuse(
            z, n,
            "inside group_seq only permute_seq and fold_seq with built-in commutative operators become one traversal");
    }
    /* neutral destination of one group, then of all */
    loom_node_id dest = loom_operand(p, n, 0);
    const loom_body *b = &p->bodies[g->body];
    if (dest >= b->first && !g->independent[dest - b->first] && dest != b->first) {
        return normalise_refuse(z, n, "the destination depends on the group's own elements");
    }
    loom_body_id each = loom_build_open(to, 1, &i64, n->span);
    loom_node_id neutral = neutral_of(z, g, c, group_at(z, g, loom_build_param(to, each, 0), n->span));
    if (neutral == LOOM_NONE) {
        return normalise_refuse(z, n, "the shape of its destination is not known");
    }
    loom_build_close(to, each, neutral);
    loom_node_id operands[3];
    operands[0] = normalise_build(to, LOOM_OP_GENERATE, loom_type_array(to, type), &g->n, 1, &each, 1, 0, n->span);
    uint32_t r = fold ? 0 : n->aux;
    operands[1] = spread(z, g, c, loom_operand(p, n, 1), fold ? 0 : 1, r);
    operands[2] = operands[1] == LOOM_NONE ? LOOM_NONE : spread(z, g, c, loom_operand(p, n, fold ? 1 : 2), 2, r);
    if (operands[2] == LOOM_NONE) return LOOM_NONE;
    memcpy(g->copy, z->map, p->n_nodes * sizeof *g->copy);
    loom_body_id body = loom_copy_as_body(to, p, op, g->copy);
    return normalise_build(to, LOOM_OP_SEQ_PERMUTE, loom_type_array(to, type), operands, 3, &body, 1, r + 1, n->span);
}

static loom_node_id group_rest(normaliser *z, group *g, const loom_node_id *accumulators) {
    const loom_program *p = z->from;
    loom_program *to = z->to;
    const loom_body *b = &p->bodies[g->body];
    loom_type_id i64 = loom_type_scalar(to, LOOM_I64);
    loom_span span = g->node->span;
    loom_body_id each = loom_build_open(to, 1, &i64, span);
    loom_node_id place = loom_build_param(to, each, 0);
    memcpy(g->copy, z->map, p->n_nodes * sizeof *g->copy);
    g->copy[b->first] = group_at(z, g, place, span);
    for (loom_node_id n = loom_scope_first(z->scope, g->body); n != LOOM_NONE;
         n = loom_scope_next(z->scope, g->body, n)) {
        if (loom_scope_is_seq(p, n)) continue;
        if (accumulators[n - b->first] == LOOM_NONE) {
            loom_copy_node(to, p, n, g->copy);
            continue;
        }
        const loom_node *c = &p->nodes[n];
        loom_node_id at[2] = {accumulators[n - b->first], place};
        loom_node_id value =
            normalise_build(to, LOOM_OP_INDEX, loom_copy_type(to, p, c->type), at, 2, NULL, 0, 0, c->span);
        loom_body_id op = p->body_refs[c->first_body];
        loom_node_id dest = loom_operand(p, c, 0);
        if (!loom_operator_is_neutral_fill(z->scope, op, dest)) {
            loom_node_id *saved = z->map;
            z->map = g->copy;
            value = normalise_combine(z, op, c->aux, g->copy[dest], value, c->span);
            z->map = saved;
        }
        g->copy[n] = value;
    }
    loom_node_id result = g->copy[b->result];
    loom_build_close(to, each, result);
    loom_type_id array = loom_type_array(to, to->nodes[result].type);
    loom_node_id all = normalise_build(to, LOOM_OP_GENERATE, array, &g->n, 1, &each, 1, 0, span);
    return normalise_build(to, LOOM_OP_SEQ_ROWS, loom_type_seq(to, to->nodes[result].type), &all, 1, NULL, 0, 0, span);
}

/* Consumers of the group's own sequence, in the group's body. */
static bool consumes(const loom_program *p, loom_node_id c) {
    const loom_node *node = &p->nodes[c];
    bool any = false;
    for (uint32_t i = 0; i < node->n_operands; i++) any = any || loom_scope_is_seq(p, loom_operand(p, node, i));
    return any && !loom_scope_is_seq(p, c);
}

/* A node of the group's body whose bodies read the group's sequence, or one made of it: a condition or loop around
 * consumers. Its traversals are its own, of that group alone: there is no one traversal for all groups. */
static loom_node_id guarded_traversal(const normaliser *z, loom_body_id body) {
    const loom_program *p = z->from;
    for (loom_node_id n = loom_scope_first(z->scope, body); n != LOOM_NONE; n = loom_scope_next(z->scope, body, n))
        if (!loom_scope_is_seq(p, n) && loom_scope_has_seq(p, &p->nodes[n])) return n;
    return LOOM_NONE;
}

static group open_group(normaliser *z, const loom_node *n) {
    const loom_program *p = z->from;
    group g = {.node = n, .keys = p->body_refs[n->first_body], .body = p->body_refs[n->first_body + 1]};
    g.first = LOOM_NONE;
    g.source = z->map[loom_operand(p, n, 1)];
    g.copy = LOOM_NEW_ARRAY(z->arena, loom_node_id, p->n_nodes + 1);
    g.independent = group_independent_nodes(z, &g);
    return g;
}

loom_node_id normalise_group(normaliser *z, const loom_node *n, loom_node_id first, loom_node_id count) {
    const loom_program *p = z->from;
    group g = open_group(z, n);
    g.first = first;
    g.n = count;
    const loom_body *b = &p->bodies[g.body];
    if (p->types[p->nodes[b->result].type].kind == LOOM_T_SEQ)
        return normalise_refuse(z, n, "the result of a group is a sequence");
    loom_node_id guarded = guarded_traversal(z, g.body);
    if (guarded != LOOM_NONE)
        return normalise_refuse(z, &p->nodes[guarded],
                                "inside group_seq no condition or loop may stand around a traversal");
    loom_node_id *accumulators = LOOM_NEW_ARRAY(z->arena, loom_node_id, b->end - b->first + 1);
    for (uint32_t i = 0; i < b->end - b->first; i++) accumulators[i] = LOOM_NONE;
    for (loom_node_id c = loom_scope_first(z->scope, g.body); c != LOOM_NONE;
         c = loom_scope_next(z->scope, g.body, c)) {
        if (!consumes(p, c)) continue;
        accumulators[c - b->first] = group_consumer(z, &g, c);
        if (accumulators[c - b->first] == LOOM_NONE) return LOOM_NONE;
    }
    return group_rest(z, &g, accumulators);
}

/* ---- what a group takes ---- */

int64_t normalise_element_bytes(const loom_program *p, loom_type_id type) {
    const loom_type *t = &p->types[type];
    if (t->kind == LOOM_T_SCALAR) return (int64_t)loom_dtype_size(t->dtype);
    int64_t bytes = 0;
    for (uint32_t i = 0; t->kind == LOOM_T_TUPLE && i < t->n_fields; i++) {
        int64_t field = normalise_element_bytes(p, t->fields[i]);
        if (!field) return 0;
        bytes += field;
    }
    return bytes;
}

loom_node_id normalise_value_bytes(normaliser *z, loom_node_id x, loom_span span) {
    loom_program *to = z->to;
    loom_type_id i64 = loom_type_scalar(to, LOOM_I64), type = to->nodes[x].type;
    const loom_type t = to->types[type];
    if (t.kind == LOOM_T_TUPLE) {
        loom_node_id sum = loom_build_i64(to, 0, span);
        for (uint32_t i = 0; i < t.n_fields; i++) {
            loom_node_id field = normalise_build(to, LOOM_OP_PROJECT, t.fields[i], &x, 1, NULL, 0, i, span);
            loom_node_id bytes = normalise_value_bytes(z, field, span);
            if (bytes == LOOM_NONE) return LOOM_NONE;
            sum = normalise_prim(to, LOOM_PRIM_ADD, sum, bytes, span);
        }
        return sum;
    }
    uint32_t levels = 0;
    for (; to->types[type].kind == LOOM_T_ARRAY; type = to->types[type].element) levels++;
    int64_t each = normalise_element_bytes(to, type);
    if (!each) return LOOM_NONE;
    loom_node_id bytes = loom_build_i64(to, each, span);
    for (uint32_t k = 0; k < levels; k++) {
        loom_op op = k == 0 ? LOOM_OP_LENGTH : LOOM_OP_DIM;
        loom_node_id extent = normalise_build(to, op, i64, &x, 1, NULL, 0, k, span);
        bytes = normalise_prim(to, LOOM_PRIM_MUL, bytes, extent, span);
    }
    return bytes;
}

loom_node_id normalise_group_bytes(normaliser *z, const loom_node *n) {
    const loom_program *p = z->from;
    group g = open_group(z, n);
    loom_node_id sum = loom_build_i64(z->to, 0, n->span), zero = loom_build_i64(z->to, 0, n->span);
    for (loom_node_id c = loom_scope_first(z->scope, g.body); c != LOOM_NONE;
         c = loom_scope_next(z->scope, g.body, c)) {
        if (!consumes(p, c)) continue;
        const loom_node *node = &p->nodes[c];
        bool known = (node->op == LOOM_OP_SEQ_FOLD || node->op == LOOM_OP_SEQ_PERMUTE) &&
                     loom_operator_builtin(z->scope, p->body_refs[node->first_body]);
        loom_node_id dest = known ? loom_operand(p, node, 0) : LOOM_NONE, first = p->bodies[g.body].first;
        if (!known || (dest > first && !g.independent[dest - first])) return LOOM_NONE;
        loom_node_id neutral = neutral_of(z, &g, c, zero);
        loom_node_id bytes = neutral == LOOM_NONE ? LOOM_NONE : normalise_value_bytes(z, neutral, n->span);
        if (bytes == LOOM_NONE) return LOOM_NONE;
        sum = normalise_prim(z->to, LOOM_PRIM_ADD, sum, bytes, n->span);
    }
    return sum;
}
