/* group_map_seq with its groups, or a batch of them, resident; in batches in group_map_batch.c.
 *
 * e is an element of s, K = keys(e), k a group; t_i are the values that the functions given to map_seq use of what the
 * body makes of k alone.
 *
 *   group_map_seq n keys op ne s (\k ys -> zs)
 *        => T_i = generate n (\k -> t_i)                                         -- array steps
 *           map_seq (\e -> fold op ne (map (\k -> if 0 <= k < n then zs(e)[t_i := T_i[k]] else ne) K')) s
 *   of groups [k0, k0 + m), what those before them gave being [b]: T_i = generate m (\j -> t_i(k0 + j)), and
 *           map_seq (\(i, e) -> fold op b[i] (...)) (enumerate_seq s)
 *   where zs(e) is the chain of map_seq over ys, applied to e, and K' is K as a set in ascending order. Values that
 * scalar arithmetic makes of k are made again for each element.
 *
 * Worked example: degridding. `\k ys -> let plane = transform k in map_seq (sum_of_cells plane) ys` makes all planes
 * first, then visits the stream once; an element reads the planes around it.
 * Cost: nodes of the group's body times tables; keys of unknown order are sorted by counting, their number squared.
 */
#include "group.h"
#include "operator.h"
#include <string.h>

static bool is_scalar_work(const loom_program *p, loom_node_id n) {
    switch (p->nodes[n].op) {
    case LOOM_OP_CONST:
    case LOOM_OP_PRIM:
    case LOOM_OP_CONVERT:
    case LOOM_OP_TUPLE:
    case LOOM_OP_PROJECT: return true;
    default: return false;
    }
}

/* Nodes of the group's own body that a node and its bodies use. */
static void mark_uses(const group_tables *t, loom_node_id n, bool *used) {
    const loom_body *b = &t->z->from->bodies[t->g.body];
    loom_node_id *uses;
    uint32_t count = loom_scope_uses(t->z->from, t->z->arena, n, &uses);
    for (uint32_t i = 0; i < count; i++)
        if (uses[i] >= b->first) used[uses[i] - b->first] = true;
}

static bool depends_on_group(const group_tables *t, loom_node_id n) {
    const loom_body *b = &t->z->from->bodies[t->g.body];
    loom_node_id *uses;
    uint32_t count = loom_scope_uses(t->z->from, t->z->arena, n, &uses);
    for (uint32_t i = 0; i < count; i++)
        if (uses[i] >= b->first && t->depends[uses[i] - b->first]) return true;
    return false;
}

/* What the chain uses, through scalar work; what depends on k. */
static const bool *find_used(group_tables *t) {
    const loom_program *p = t->z->from;
    const loom_body *b = &p->bodies[t->g.body];
    bool *used = LOOM_NEW_ARRAY(t->z->arena, bool, b->end - b->first + 1);
    t->depends = LOOM_NEW_ARRAY(t->z->arena, bool, b->end - b->first + 1);
    t->depends[0] = true;
    for (loom_node_id m = loom_scope_first(t->z->scope, t->g.body); m != LOOM_NONE;
         m = loom_scope_next(t->z->scope, t->g.body, m)) {
        t->depends[m - b->first] = depends_on_group(t, m);
        if (p->nodes[m].op == LOOM_OP_SEQ_MAP) mark_uses(t, m, used);
    }
    for (loom_node_id m = b->end; m-- > b->first + b->n_params;) {
        if (t->z->scope->owner[m] == t->g.body && used[m - b->first] && !loom_scope_is_seq(p, m) &&
            is_scalar_work(p, m))
            mark_uses(t, m, used);
    }
    return used;
}

/* Independent nodes up to `until`, for group k, into the open body. */
static void copy_for(group_tables *t, loom_node_id until, loom_node_id k) {
    normaliser *z = t->z;
    const loom_body *b = &z->from->bodies[t->g.body];
    memcpy(t->g.copy, z->map, z->from->n_nodes * sizeof *t->g.copy);
    t->g.copy[b->first] = k;
    for (loom_node_id n = loom_scope_first(z->scope, t->g.body); n != LOOM_NONE && n <= until;
         n = loom_scope_next(z->scope, t->g.body, n))
        if (t->g.independent[n - b->first]) loom_copy_node(z->to, z->from, n, t->g.copy);
}

bool group_is_table(const group_tables *t, loom_node_id n) {
    uint32_t at = n - t->z->from->bodies[t->g.body].first;
    return t->used[at] && t->g.independent[at] && !is_scalar_work(t->z->from, n);
}

static void make_tables(group_tables *t) {
    normaliser *z = t->z;
    const loom_program *p = z->from;
    const loom_body *b = &p->bodies[t->g.body];
    loom_type_id i64 = loom_type_scalar(z->to, LOOM_I64);
    t->table = LOOM_NEW_ARRAY(z->arena, loom_node_id, b->end - b->first + 1);
    for (uint32_t i = 0; i < b->end - b->first; i++) t->table[i] = LOOM_NONE;
    for (loom_node_id n = loom_scope_first(z->scope, t->g.body); n != LOOM_NONE;
         n = loom_scope_next(z->scope, t->g.body, n)) {
        uint32_t at = n - b->first;
        if (!group_is_table(t, n)) continue;
        loom_span span = p->nodes[n].span;
        if (!t->depends[at]) {
            copy_for(t, n, loom_build_i64(z->to, 0, span));
            t->table[at] = t->g.copy[n];
            continue;
        }
        loom_body_id each = loom_build_open(z->to, 1, &i64, span);
        copy_for(t, n, group_at(z, &t->g, loom_build_param(z->to, each, 0), span));
        loom_build_close(z->to, each, t->g.copy[n]);
        loom_type_id type = loom_type_array(z->to, loom_copy_type(z->to, p, p->nodes[n].type));
        t->table[at] = normalise_build(z->to, LOOM_OP_GENERATE, type, &t->g.n, 1, &each, 1, 0, span);
    }
}

/* zs(e) for group k at `place`, in the open body. */
static loom_node_id contribution(group_tables *t, loom_node_id e, loom_node_id k, loom_node_id place) {
    normaliser *z = t->z;
    const loom_program *p = z->from;
    const loom_body *b = &p->bodies[t->g.body];
    memcpy(t->g.copy, z->map, p->n_nodes * sizeof *t->g.copy);
    t->g.copy[b->first] = k;
    for (loom_node_id n = loom_scope_first(z->scope, t->g.body); n != LOOM_NONE;
         n = loom_scope_next(z->scope, t->g.body, n)) {
        uint32_t at = n - b->first;
        if (!t->used[at] || !t->g.independent[at]) continue;
        if (t->table[at] == LOOM_NONE) {
            loom_copy_node(z->to, p, n, t->g.copy);
        } else if (t->depends[at]) {
            loom_node_id operands[2] = {t->table[at], place};
            loom_type_id type = loom_copy_type(z->to, p, p->nodes[n].type);
            t->g.copy[n] = normalise_build(z->to, LOOM_OP_INDEX, type, operands, 2, NULL, 0, 0, p->nodes[n].span);
        } else {
            t->g.copy[n] = t->table[at];
        }
    }
    return group_element(z, &t->g, b->result, e, k);
}

/* map (\k -> if ... then zs(e) else ne) K' */
static loom_node_id contributions(group_tables *t, loom_node_id e, loom_node_id keys, loom_node_id ne, loom_span span) {
    loom_program *p = t->z->to;
    loom_type_id i64 = loom_type_scalar(p, LOOM_I64), type = p->nodes[ne].type;
    loom_body_id each = loom_build_open(p, 1, &i64, span);
    loom_node_id k = loom_build_param(p, each, 0), place = group_place(t->z, &t->g, k, span);
    loom_node_id here = group_is_resident(t->z, &t->g, place, span);
    loom_body_id branches[2];
    branches[0] = loom_build_open(p, 0, NULL, span);
    loom_node_id made = contribution(t, e, k, place);
    if (made == LOOM_NONE) return LOOM_NONE;
    loom_build_close(p, branches[0], made);
    branches[1] = loom_build_open(p, 0, NULL, span);
    loom_build_close(p, branches[1], ne);
    loom_build_close(p, each, normalise_build(p, LOOM_OP_IF, type, &here, 1, branches, 2, 0, span));
    return normalise_build(p, LOOM_OP_MAP, loom_type_array(p, type), &keys, 1, &each, 1, 0, span);
}

static loom_node_id keys_of(group_tables *t, loom_node_id e, loom_span span) {
    normaliser *z = t->z;
    memcpy(t->g.copy, z->map, z->from->n_nodes * sizeof *t->g.copy);
    loom_node_id keys = loom_copy_body(z->to, z->from, t->g.keys, &e, t->g.copy);
    if (group_keys_ascend(z->scope, t->g.keys)) return keys;
    return group_sorted_keys(z, group_without_repeats(z, keys, span), span);
}

group_tables group_open_tables(normaliser *z, const loom_node *n) {
    const loom_program *p = z->from;
    group_tables t = {.z = z};
    t.g = (group){.node = n, .keys = p->body_refs[n->first_body], .body = p->body_refs[n->first_body + 2]};
    t.g.first = LOOM_NONE;
    t.g.n = z->map[loom_operand(p, n, 0)];
    t.g.source = z->map[loom_operand(p, n, 2)];
    t.g.copy = LOOM_NEW_ARRAY(z->arena, loom_node_id, p->n_nodes + 1);
    t.g.independent = group_independent_nodes(z, &t.g);
    t.used = find_used(&t);
    return t;
}

/* What earlier groups gave to element i: before the first group, `before` is one row, of the neutral element. */
static loom_node_id given_before(const group_tables *t, loom_node_id before, loom_node_id i, loom_span span) {
    loom_program *to = t->z->to;
    loom_type_id boolean = loom_type_scalar(to, LOOM_BOOL), i64 = loom_type_scalar(to, LOOM_I64);
    loom_node_id zero = loom_build_i64(to, 0, span), pair[2] = {t->g.first, zero};
    loom_node_id none = loom_build_node(to, LOOM_OP_PRIM, LOOM_PRIM_EQ, boolean, pair, 2, NULL, 0, 0, span);
    loom_node_id select[3] = {none, zero, i};
    loom_node_id row = loom_build_node(to, LOOM_OP_PRIM, LOOM_PRIM_SELECT, i64, select, 3, NULL, 0, 0, span);
    loom_node_id operands[2] = {before, row};
    return normalise_build(to, LOOM_OP_INDEX, to->types[to->nodes[before].type].element, operands, 2, NULL, 0, 0, span);
}

/* What an element has of the groups resident, joined to `start`. */
static loom_node_id joined(group_tables *t, loom_node_id e, loom_node_id ne, loom_node_id start, loom_span span) {
    normaliser *z = t->z;
    loom_node_id operands[2] = {start, contributions(t, e, keys_of(t, e, span), ne, span)};
    if (operands[1] == LOOM_NONE) return LOOM_NONE;
    memcpy(t->g.copy, z->map, z->from->n_nodes * sizeof *t->g.copy);
    loom_body_id combine = loom_copy_as_body(z->to, z->from, z->from->body_refs[t->g.node->first_body + 1], t->g.copy);
    return normalise_build(z->to, LOOM_OP_FOLD, z->to->nodes[ne].type, operands, 2, &combine, 1, 0, span);
}

loom_node_id group_map_elements(group_tables *t, loom_node_id before) {
    normaliser *z = t->z;
    loom_program *to = z->to;
    const loom_node *n = t->g.node;
    make_tables(t);
    loom_node_id ne = z->map[loom_operand(z->from, n, 1)], source = t->g.source;
    loom_type_id element = to->types[to->nodes[source].type].element, visited = element;
    if (before != LOOM_NONE) {
        loom_type_id pair[2] = {loom_type_scalar(to, LOOM_I64), element};
        visited = loom_type_tuple(to, 2, pair, NULL);
        source =
            normalise_build(to, LOOM_OP_SEQ_ENUMERATE, loom_type_seq(to, visited), &source, 1, NULL, 0, 0, n->span);
    }
    loom_body_id body = loom_build_open(to, 1, &visited, n->span);
    loom_node_id e = loom_build_param(to, body, 0), start = ne;
    if (before != LOOM_NONE) {
        loom_node_id i =
            normalise_build(to, LOOM_OP_PROJECT, loom_type_scalar(to, LOOM_I64), &e, 1, NULL, 0, 0, n->span);
        e = normalise_build(to, LOOM_OP_PROJECT, element, &e, 1, NULL, 0, 1, n->span);
        start = given_before(t, before, i, n->span);
    }
    loom_node_id made = joined(t, e, ne, start, n->span);
    if (made == LOOM_NONE) return LOOM_NONE;
    loom_build_close(to, body, made);
    return normalise_build(to, LOOM_OP_SEQ_MAP, loom_type_seq(to, to->nodes[ne].type), &source, 1, &body, 1, 0,
                           n->span);
}
