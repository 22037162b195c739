/* group_seq in batches of groups that fit into memory: the source is traversed again for each batch.
 *
 *   group_seq n keys s body, consumed by fold_seq and from_seq alone, through map_seq
 *     => loop (k, m, results) = (0, min b n, those of no group) while k < n:
 *          the consumers over groups [k, k + m), joined to what earlier batches gave
 *   and, where the stream can be partitioned by batch, with the number of the turn (spill.c)
 *   with b groups a batch: as many as the memory for groups holds, at least one, and spread evenly over the batches.
 *
 * Where all groups fit, the loop makes one turn. Cost: n / b traversals; each looks at all elements, and permute drops
 * early what has no place in the batch. Nor are batches larger than is worth it: memory that is used for the first time
 * costs (0.1 to 2 s a GB were measured: the system clears it, and may have to get it from a hypervisor first), while
 * the next batch has it again for nothing. Of N bytes of groups in batches of B that is B / m + N / B t, with a
 * traversal of t seconds and m bytes a second for new memory: least at B = sqrt(N t m). The bytes of a group are those
 * of its accumulators, as the program computes them from its own sizes when it runs.
 *
 * Worked example: 120 w-planes of 687 MB in 12 GiB: 8 in a batch, 15 traversals.
 */
#include "compiler/ir/trap.h"
#include "normaliser.h"

typedef struct batching {
    normaliser *z;
    loom_node_id group;
    loom_node_id spill; /* of to: the group's stream by batch; LOOM_NONE: it is not partitioned */
    loom_body_id scope;
    bool *chain;    /* by node of from: the group's sequence, or map_seq over it */
    bool *consumer; /* by node of from */
    LOOM_VEC(loom_node_id) chains, consumers;
} batching;

static bool reads(const batching *b, const loom_node *n, bool *all) {
    const loom_program *p = b->z->from;
    bool any = false;
    *all = true;
    for (uint32_t i = 0; i < n->n_operands; i++) {
        loom_node_id x = loom_operand(p, n, i);
        if (b->chain[x])
            any = true;
        else if (loom_scope_is_seq(p, x))
            *all = false;
    }
    return any;
}

/* Whether all that reads the groups' sequence is of the kinds that go by batches. */
static bool find_consumers(batching *b) {
    const loom_program *p = b->z->from;
    const loom_body *body = &p->bodies[b->scope];
    b->chain[b->group] = true;
    for (loom_node_id n = b->group + 1; n < body->end; n++) {
        const loom_node *node = &p->nodes[n];
        bool all;
        if (!reads(b, node, &all)) continue;
        if (!all || b->z->scope->owner[n] != b->scope) return false;
        if (node->op == LOOM_OP_SEQ_MAP) {
            b->chain[n] = true;
            LOOM_PUSH(b->z->arena, b->chains, n);
        } else if (node->op == LOOM_OP_SEQ_FOLD || node->op == LOOM_OP_SEQ_FROM) {
            b->consumer[n] = true;
            LOOM_PUSH(b->z->arena, b->consumers, n);
        } else {
            return false;
        }
    }
    return b->consumers.count > 0 && !b->chain[body->result];
}

/* Nodes of the scope that node n needs, itself and its bodies. */
static uint32_t needs_of(const batching *b, loom_node_id n, loom_node_id **needs) {
    uint32_t count = loom_scope_uses(b->z->from, b->z->arena, n, needs), kept = 0;
    loom_node_id first = b->z->from->bodies[b->scope].first;
    for (uint32_t i = 0; i < count; i++)
        if ((*needs)[i] >= first) (*needs)[kept++] = (*needs)[i];
    return kept;
}

/* One consumer needs what another one gives: they cannot share a loop. */
static bool depend_on_each_other(const batching *b) {
    const loom_program *p = b->z->from;
    bool *tainted = LOOM_NEW_ARRAY(b->z->arena, bool, p->n_nodes + 1);
    for (loom_node_id n = b->group; n < p->bodies[b->scope].end; n++) {
        if (b->z->scope->owner[n] != b->scope) continue;
        loom_node_id *needs;
        uint32_t count = needs_of(b, n, &needs);
        bool found = false;
        for (uint32_t i = 0; i < count; i++) found = found || tainted[needs[i]];
        if (found && (b->consumer[n] || b->chain[n])) return true;
        tainted[n] = found || b->consumer[n];
    }
    return false;
}

/* What a node of the loop needs from around it is there before it. */
static bool ensure_needs_of(batching *b, loom_node_id n) {
    normaliser *z = b->z;
    loom_node_id *needs;
    uint32_t count = needs_of(b, n, &needs);
    for (uint32_t i = 0; i < count; i++) {
        loom_node_id d = needs[i];
        if (z->map[d] != LOOM_NONE || b->chain[d]) continue;
        if (!ensure_needs_of(b, d)) return false;
        z->map[d] = normalise_node(z, d);
        if (z->map[d] == LOOM_NONE) return false;
    }
    return true;
}

static bool ensure_needs(batching *b) {
    bool ok = ensure_needs_of(b, b->group);
    for (size_t i = 0; i < b->chains.count && ok; i++) ok = ensure_needs_of(b, b->chains.at[i]);
    for (size_t i = 0; i < b->consumers.count && ok; i++) ok = ensure_needs_of(b, b->consumers.at[i]);
    return ok;
}

loom_node_id normalise_ceil_div(loom_program *p, loom_node_id a, loom_node_id b, loom_span span) {
    loom_node_id one = loom_build_i64(p, 1, span);
    b = normalise_prim(p, LOOM_PRIM_MAX, b, one, span);
    loom_node_id up = normalise_prim(p, LOOM_PRIM_SUB, normalise_prim(p, LOOM_PRIM_ADD, a, b, span), one, span);
    return normalise_prim(p, LOOM_PRIM_FLOORDIV, up, b, span);
}

/* Bytes of new memory that take as long as reading one byte of the stream and looking at it: 2 GB against 0.5 GB a
 * second. */
#define BYTES_WORTH_A_BYTE 4.0
/* Batches that take no more are no matter. */
#define LEAST_BATCH_BYTES ((int64_t)512 << 20)

static loom_node_id unary(loom_program *p, loom_op op, loom_prim prim, loom_dtype dtype, loom_node_id a,
                          loom_span span) {
    return loom_build_node(p, op, prim, loom_type_scalar(p, dtype), &a, 1, NULL, 0, 0, span);
}

/* Groups of the batch that costs least, B / bytes above. */
static loom_node_id worthwhile(const normaliser *z, loom_node_id n, loom_node_id bytes, loom_span span) {
    loom_program *p = z->to;
    double each = BYTES_WORTH_A_BYTE * ((double)z->traversal + TRAVERSAL_BYTES);
    loom_node_id f[3] = {unary(p, LOOM_OP_CONVERT, 0, LOOM_F64, n, span),
                         unary(p, LOOM_OP_CONVERT, 0, LOOM_F64, bytes, span),
                         loom_build_const(p, LOOM_F64, (loom_scalar){.f = each}, span)};
    loom_type_id type = loom_type_scalar(p, LOOM_F64);
    loom_node_id ratio[2] = {f[0], f[1]};
    ratio[0] = loom_build_node(p, LOOM_OP_PRIM, LOOM_PRIM_DIV, type, ratio, 2, NULL, 0, 0, span);
    ratio[1] = f[2];
    ratio[0] = loom_build_node(p, LOOM_OP_PRIM, LOOM_PRIM_MUL, type, ratio, 2, NULL, 0, 0, span);
    loom_node_id root = unary(p, LOOM_OP_PRIM, LOOM_PRIM_SQRT, LOOM_F64, ratio[0], span);
    loom_node_id least = normalise_prim(p, LOOM_PRIM_FLOORDIV, loom_build_i64(p, LEAST_BATCH_BYTES, span), bytes, span);
    loom_node_id most =
        normalise_prim(p, LOOM_PRIM_MAX, unary(p, LOOM_OP_CONVERT, 0, LOOM_I64, root, span), least, span);
    return normalise_prim(p, LOOM_PRIM_MAX, most, loom_build_i64(p, 1, span), span);
}

loom_node_id normalise_batch_size(normaliser *z, loom_node_id n, loom_node_id bytes, loom_span span) {
    loom_program *p = z->to;
    loom_node_id one = loom_build_i64(p, 1, span);
    uint64_t memory = z->memory < INT64_MAX ? z->memory : INT64_MAX;
    bytes = normalise_prim(p, LOOM_PRIM_MAX, bytes, one, span);
    loom_node_id most = normalise_prim(p, LOOM_PRIM_FLOORDIV, loom_build_i64(p, (int64_t)memory, span), bytes, span);
    if (z->traversal) {
        loom_node_id some = normalise_prim(p, LOOM_PRIM_MAX, n, loom_build_i64(p, 0, span), span);
        most = normalise_prim(p, LOOM_PRIM_MIN, most, worthwhile(z, some, bytes, span), span);
    }
    return normalise_ceil_div(p, n, normalise_ceil_div(p, n, most, span), span);
}

enum {
    GO,
    FIRST,
    COUNT,
    RESULTS
};

static void initial(const batching *b, loom_node_id n, loom_node_id size, loom_node_id *state) {
    normaliser *z = b->z;
    const loom_program *p = z->from;
    loom_span span = p->nodes[b->group].span;
    loom_node_id zero = loom_build_i64(z->to, 0, span);
    state[GO] = normalise_prim(z->to, LOOM_PRIM_LT, zero, n, span);
    state[FIRST] = zero;
    state[COUNT] = normalise_prim(z->to, LOOM_PRIM_MIN, size, n, span);
    for (size_t i = 0; i < b->consumers.count; i++) {
        const loom_node *c = &p->nodes[b->consumers.at[i]];
        state[RESULTS + i] = c->op == LOOM_OP_SEQ_FOLD ? z->map[loom_operand(p, c, 0)]
                                                       : normalise_nothing(z, loom_copy_type(z->to, p, c->type), span);
    }
}

/* Groups [first, first + count), which are batch number `batch`. */
static loom_node_id groups_of_batch(const batching *b, loom_node_id first, loom_node_id count, loom_node_id batch) {
    normaliser *z = b->z;
    const loom_node *n = &z->from->nodes[b->group];
    if (b->spill == LOOM_NONE) return normalise_group(z, n, first, count);
    loom_node_id at = loom_operand(z->from, n, 1), source = z->map[at];
    z->map[at] = normalise_spilled(z, n, b->spill, batch);
    loom_node_id groups = normalise_group(z, n, first, count);
    z->map[at] = source;
    return groups;
}

/* The consumers over one batch, each joined to what it gave before. */
static bool turn(const batching *b, loom_node_id groups, const loom_node_id *before, loom_node_id *after) {
    normaliser *z = b->z;
    const loom_program *p = z->from;
    if (groups == LOOM_NONE) return false;
    z->map[b->group] = groups;
    for (size_t i = 0; i < b->chains.count; i++) loom_copy_node(z->to, p, b->chains.at[i], z->map);
    for (size_t i = 0; i < b->consumers.count; i++) {
        const loom_node *c = &p->nodes[b->consumers.at[i]];
        loom_node_id pair[2] = {before[i], loom_copy_node(z->to, p, b->consumers.at[i], z->map)};
        after[i] = c->op == LOOM_OP_SEQ_FOLD ? loom_copy_body(z->to, p, p->body_refs[c->first_body], pair, z->map)
                                             : normalise_build(z->to, LOOM_OP_CONCAT, z->to->nodes[pair[0]].type, pair,
                                                               2, NULL, 0, 0, c->span);
    }
    return true;
}

/* Results that take no more are no trouble, however little a worker is given. */
#define LEAST_ROOM (UINT64_C(64) << 20)

/* n, where the results that are kept of so many groups fit into a worker's memory: else an error, before the first
 * traversal. Of arrays in results only their lengths are known. */
static loom_node_id that_fit(const batching *b, loom_node_id n, loom_span span) {
    normaliser *z = b->z;
    const loom_program *p = z->from;
    uint64_t bytes = 0, room = z->memory < INT64_MAX / 2 ? 2 * z->memory : INT64_MAX;
    if (room < LEAST_ROOM) room = LEAST_ROOM;
    for (size_t i = 0; i < b->consumers.count; i++) {
        const loom_node *c = &p->nodes[b->consumers.at[i]];
        if (c->op != LOOM_OP_SEQ_FROM) continue;
        int64_t each = normalise_element_bytes(p, p->types[c->type].element);
        bytes += each ? (uint64_t)each : sizeof(int64_t);
    }
    if (!bytes || bytes >> (32 - LOOM_ASSERT_BYTES_SHIFT)) return n;
    loom_node_id most = loom_build_i64(z->to, (int64_t)(room / bytes), span);
    loom_node_id above = normalise_prim(z->to, LOOM_PRIM_LT, most, n, span), operands[2];
    operands[0] = loom_build_node(z->to, LOOM_OP_PRIM, LOOM_PRIM_NOT, loom_type_scalar(z->to, LOOM_BOOL), &above, 1,
                                  NULL, 0, 0, span);
    operands[1] = n;
    uint32_t what = LOOM_ASSERT_GROUPS_FIT | (uint32_t)bytes << LOOM_ASSERT_BYTES_SHIFT;
    return normalise_build(z->to, LOOM_OP_ASSERT, z->to->nodes[n].type, operands, 2, NULL, 0, what, span);
}

static bool make_loop(batching *b, loom_node_id n, loom_node_id bytes) {
    normaliser *z = b->z;
    loom_span span = z->from->nodes[b->group].span;
    size_t results = b->consumers.count, batch = RESULTS + results, fields = batch;
    loom_node_id *state = LOOM_NEW_ARRAY(z->arena, loom_node_id, fields + 1);
    loom_node_id *before = LOOM_NEW_ARRAY(z->arena, loom_node_id, results);
    n = that_fit(b, n, span);
    loom_node_id size = normalise_batch_size(z, n, bytes, span);
    initial(b, n, size, state);
    if (z->traversal && normalise_can_spill(z, b->group)) {
        b->spill = normalise_spill(z, &z->from->nodes[b->group], n, size);
        state[fields++] = loom_build_i64(z->to, 0, span);
    }
    normal_loop loop = normalise_open_loop(z, state, (uint32_t)fields, span);
    loom_node_id first = normalise_field(z, &loop, loop.state, FIRST, span);
    loom_node_id count = normalise_field(z, &loop, loop.state, COUNT, span), number = LOOM_NONE;
    if (b->spill != LOOM_NONE) number = normalise_field(z, &loop, loop.state, (uint32_t)batch, span);
    for (size_t i = 0; i < results; i++)
        before[i] = normalise_field(z, &loop, loop.state, (uint32_t)(RESULTS + i), span);
    if (!turn(b, groups_of_batch(b, first, count, number), before, state + RESULTS)) return false;
    state[FIRST] = normalise_prim(z->to, LOOM_PRIM_ADD, first, count, span);
    state[GO] = normalise_prim(z->to, LOOM_PRIM_LT, state[FIRST], n, span);
    loom_node_id left = normalise_prim(z->to, LOOM_PRIM_SUB, n, state[FIRST], span);
    state[COUNT] = normalise_prim(z->to, LOOM_PRIM_MIN, size, left, span);
    if (b->spill != LOOM_NONE)
        state[batch] = normalise_prim(z->to, LOOM_PRIM_ADD, number, loom_build_i64(z->to, 1, span), span);
    normalise_close_loop(z, &loop, state, span);
    for (size_t i = 0; i < results; i++)
        z->map[b->consumers.at[i]] = normalise_field(z, &loop, loop.node, (uint32_t)(RESULTS + i), span);
    for (size_t i = 0; i < b->chains.count; i++) z->map[b->chains.at[i]] = loop.node; /* nobody reads them any more */
    z->map[b->group] = loop.node;
    return true;
}

void normalise_note_resident(normaliser *z, loom_node_id group, const char *why) {
    const loom_node *n = &z->from->nodes[group];
    const char *file = n->span.line && n->span.file < z->from->n_files ? z->from->files[n->span.file].name : "?";
    const char *note = loom_arena_printf(z->arena, "%s:%u: %s: all groups are in memory at once: %s", file,
                                         n->span.line, loom_op_table[n->op].name, why);
    LOOM_PUSH(z->arena, z->notes, note);
}

static bool all_resident(normaliser *z, loom_node_id group, const char *why) {
    normalise_note_resident(z, group, why);
    return false;
}

bool normalise_batches(normaliser *z, loom_node_id group, bool *failed) {
    const loom_program *p = z->from;
    batching b = {.z = z, .group = group, .spill = LOOM_NONE, .scope = z->scope->owner[group]};
    b.chain = LOOM_NEW_ARRAY(z->arena, bool, p->n_nodes + 1);
    b.consumer = LOOM_NEW_ARRAY(z->arena, bool, p->n_nodes + 1);
    const char *why = !find_consumers(&b)        ? "what reads its results is not fold_seq and from_seq alone"
                      : depend_on_each_other(&b) ? "one of its readers needs what another one gives"
                                                 : NULL;
    if (why) return all_resident(z, group, why);
    *failed = !ensure_needs(&b);
    if (*failed) return true;
    loom_node_id bytes = normalise_group_bytes(z, &p->nodes[group]);
    if (bytes == LOOM_NONE) return all_resident(z, group, "what a group takes is not known");
    *failed = !make_loop(&b, z->map[loom_operand(p, &p->nodes[group], 0)], bytes);
    return true;
}
