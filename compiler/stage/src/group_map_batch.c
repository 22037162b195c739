/* group_map_seq in batches of groups that fit into memory: the source is traversed again for each batch.
 *
 *   group_map_seq n keys op ne s body
 *     => let (k, m, before) = loop (k, m, before) = (0, min b n, [ne]) while k + m < n:
 *          (k + m, min b (n - k - m), from_seq (what groups [k, k + m) give to each element, joined to `before`))
 *        in what groups [k, k + m) give to each element, joined to `before`
 *   with b groups a batch: as many as the memory for groups holds (batch.c).
 *
 * The last batch is no turn of the loop: its traversal is the one in which the result's consumers are, whatever they
 * are, and in which a result that streams out streams out complete. An element's contributions are joined to what it
 * has of earlier batches, not batch to batch, so they are joined in the same order as with all groups resident: the
 * results are the same to the last bit.
 *
 * Where all groups fit, the loop makes no turn. Cost: n / b traversals, and between them an array with one row an
 * element, which workers read as a file. The bytes of a group are those of its tables, computed from the program's own
 * extents: where these cannot be told without making a table, one is made.
 *
 * Worked example: prediction from an image on 120 w-planes of 340 MB in 8 GiB: 11 planes a batch, 11 traversals.
 */
#include "group.h"
#include <string.h>

/* ---- what the tables of a group take ---- */

typedef struct sizes {
    normaliser *z;
    loom_node_id *copy; /* by node of from: its value for group 0 at the place of the loop; LOOM_NONE: not there yet */
} sizes;

/* A node that no parameter of a body inside the group's is needed for. */
static loom_node_id copied(sizes *s, loom_node_id x) {
    const loom_program *p = s->z->from;
    if (s->copy[x] != LOOM_NONE) return s->copy[x];
    if (p->nodes[x].op == LOOM_OP_PARAM) return LOOM_NONE;
    loom_node_id *uses;
    uint32_t n = loom_scope_uses(p, s->z->arena, x, &uses);
    for (uint32_t i = 0; i < n; i++)
        if (copied(s, uses[i]) == LOOM_NONE) return LOOM_NONE;
    return s->copy[x] = loom_copy_node(s->z->to, p, x, s->copy);
}

static loom_node_id ask(sizes *s, loom_node_id x, uint32_t level, loom_span span) {
    loom_program *to = s->z->to;
    loom_node_id value = copied(s, x);
    if (value == LOOM_NONE) return LOOM_NONE;
    loom_op op = level == 0 ? LOOM_OP_LENGTH : LOOM_OP_DIM;
    return normalise_build(to, op, loom_type_scalar(to, LOOM_I64), &value, 1, NULL, 0, level, span);
}

/* An extent of x, by what x is made of; LOOM_NONE where it depends on the element of an array. */
static loom_node_id extent(sizes *s, loom_node_id x, uint32_t level, loom_span span) {
    const loom_program *p = s->z->from;
    for (;;) {
        const loom_node *n = &p->nodes[x];
        if (s->copy[x] != LOOM_NONE) return ask(s, x, level, span);
        switch (n->op) {
        case LOOM_OP_GENERATE:
            if (level < n->n_operands) return copied(s, loom_operand(p, n, level));
            level -= n->n_operands;
            x = loom_node_body(p, n, 0)->result;
            continue;
        case LOOM_OP_REPLICATE:
            if (level == 0) return copied(s, loom_operand(p, n, 0));
            level--;
            x = loom_operand(p, n, 1);
            continue;
        case LOOM_OP_MAP:
            x = level == 0 ? loom_operand(p, n, 0) : loom_node_body(p, n, 0)->result;
            if (level > 0) level--;
            continue;
        case LOOM_OP_FFT: x = loom_operand(p, n, 0); continue;
        default: return ask(s, x, level, span);
        }
    }
}

static loom_node_id table_bytes(sizes *s, loom_node_id x, loom_span span) {
    const loom_program *p = s->z->from;
    loom_type_id type = p->nodes[x].type;
    uint32_t levels = 0;
    for (; p->types[type].kind == LOOM_T_ARRAY; type = p->types[type].element) levels++;
    if (!levels) return normalise_value_bytes(s->z, copied(s, x), span);
    int64_t each = normalise_element_bytes(p, type);
    if (!each) return LOOM_NONE;
    loom_node_id bytes = loom_build_i64(s->z->to, each, span);
    for (uint32_t k = 0; k < levels; k++) {
        loom_node_id e = extent(s, x, k, span);
        if (e == LOOM_NONE) e = ask(s, x, k, span);
        bytes = normalise_prim(s->z->to, LOOM_PRIM_MUL, bytes, e, span);
    }
    return bytes;
}

/* Bytes of what depends on the group; LOOM_NONE where they cannot be told. *any: whether anything does. */
static loom_node_id group_bytes(const group_tables *t, bool *any) {
    normaliser *z = t->z;
    const loom_body *b = &z->from->bodies[t->g.body];
    loom_span span = t->g.node->span;
    sizes s = {.z = z, .copy = LOOM_NEW_ARRAY(z->arena, loom_node_id, z->from->n_nodes + 1)};
    memcpy(s.copy, z->map, z->from->n_nodes * sizeof *s.copy);
    for (loom_node_id n = b->first; n < b->end; n++) s.copy[n] = LOOM_NONE; /* of an earlier copy */
    s.copy[b->first] = loom_build_i64(z->to, 0, span);
    loom_node_id sum = s.copy[b->first];
    *any = false;
    for (loom_node_id n = loom_scope_first(z->scope, t->g.body); n != LOOM_NONE;
         n = loom_scope_next(z->scope, t->g.body, n)) {
        if (!t->depends[n - b->first] || !group_is_table(t, n)) continue;
        *any = true;
        loom_node_id bytes = table_bytes(&s, n, span);
        if (bytes == LOOM_NONE) return LOOM_NONE;
        sum = normalise_prim(z->to, LOOM_PRIM_ADD, sum, bytes, span);
    }
    return sum;
}

/* ---- the loop ---- */

/* Elements have places in the stream that can be told before it is read: nothing filters them. */
static bool places_are_known(const normaliser *z, loom_node_id group) {
    const loom_program *p = z->from;
    bool *asked = LOOM_NEW_ARRAY(z->arena, bool, group + 1);
    asked[loom_operand(p, &p->nodes[group], 2)] = true;
    for (loom_node_id n = group; n-- > 0;) {
        if (!asked[n]) continue;
        const loom_node *node = &p->nodes[n];
        if (node->op == LOOM_OP_SEQ_FILTER) return false;
        for (uint32_t i = 0; i < node->n_operands; i++)
            if (loom_scope_is_seq(p, loom_operand(p, node, i))) asked[loom_operand(p, node, i)] = true;
    }
    return true;
}

enum {
    GO,
    FIRST,
    COUNT,
    BEFORE,
    FIELDS
};

static loom_node_id array_of(normaliser *z, loom_node_id sequence, loom_span span) {
    loom_program *to = z->to;
    loom_type_id type = loom_type_array(to, to->types[to->nodes[sequence].type].element);
    return normalise_build(to, LOOM_OP_SEQ_FROM, type, &sequence, 1, NULL, 0, 0, span);
}

/* `k + m < n`, the rest after k + m, and k + m, for batches of `size`. */
static void next_batch(normaliser *z, loom_node_id k, loom_node_id m, loom_node_id n, loom_node_id size,
                       loom_node_id *state, loom_span span) {
    loom_program *to = z->to;
    state[FIRST] = normalise_prim(to, LOOM_PRIM_ADD, k, m, span);
    state[COUNT] =
        normalise_prim(to, LOOM_PRIM_MIN, size, normalise_prim(to, LOOM_PRIM_SUB, n, state[FIRST], span), span);
    loom_node_id end = normalise_prim(to, LOOM_PRIM_ADD, state[FIRST], state[COUNT], span);
    state[GO] = normalise_prim(to, LOOM_PRIM_LT, end, n, span);
}

static loom_node_id in_batches(group_tables *t, loom_node_id bytes) {
    normaliser *z = t->z;
    loom_program *to = z->to;
    loom_span span = t->g.node->span;
    loom_node_id n = t->g.n, size = normalise_batch_size(z, n, bytes, span), zero = loom_build_i64(to, 0, span);
    loom_node_id fill[2] = {loom_build_i64(to, 1, span), z->map[loom_operand(z->from, t->g.node, 1)]};
    loom_type_id rows = loom_type_array(to, to->nodes[fill[1]].type);
    loom_node_id state[FIELDS];
    next_batch(z, zero, zero, n, size, state, span);
    state[BEFORE] = normalise_build(to, LOOM_OP_REPLICATE, rows, fill, 2, NULL, 0, 0, span);
    normal_loop loop = normalise_open_loop(z, state, FIELDS, span);
    t->g.first = normalise_field(z, &loop, loop.state, FIRST, span);
    t->g.n = normalise_field(z, &loop, loop.state, COUNT, span);
    loom_node_id given = group_map_elements(t, normalise_field(z, &loop, loop.state, BEFORE, span));
    if (given == LOOM_NONE) return LOOM_NONE;
    next_batch(z, t->g.first, t->g.n, n, size, state, span);
    state[BEFORE] = array_of(z, given, span);
    normalise_close_loop(z, &loop, state, span);
    t->g.first = normalise_field(z, &loop, loop.node, FIRST, span);
    t->g.n = normalise_field(z, &loop, loop.node, COUNT, span);
    return group_map_elements(t, normalise_field(z, &loop, loop.node, BEFORE, span));
}

loom_node_id normalise_group_map(normaliser *z, loom_node_id group) {
    group_tables t = group_open_tables(z, &z->from->nodes[group]);
    if (!z->memory) return group_map_elements(&t, LOOM_NONE);
    bool any;
    loom_node_id bytes = group_bytes(&t, &any);
    if (!any) return group_map_elements(&t, LOOM_NONE);
    const char *why = bytes == LOOM_NONE            ? "what a group takes is not known"
                      : !places_are_known(z, group) ? "elements of its sequence are filtered out"
                                                    : NULL;
    if (!why) return in_batches(&t, bytes);
    normalise_note_resident(z, group, why);
    return group_map_elements(&t, LOOM_NONE);
}
