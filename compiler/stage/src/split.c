/* Split: from one function with streams to stages that know arrays only.
 *
 * Every node of the entry gets a LEVEL: the number of traversals that must have ended before it can be computed. A
 * consumer (fold_seq, permute_seq, reduce_seq, from_seq of a stream) of level t reads its stream in traversal t; its
 * value is there at level t + 1. Consumers of one level and of connected streams share a traversal (WEFT.md
 * "Traversals"). Between traversals t - 1 and t stands array stage t.
 *
 * Where a node is computed: stages are made from the last one back; each asks for what it needs. A value of an earlier
 * level that is cheap (scalar arithmetic, tuples, fills) is computed again where it is needed; any other becomes an
 * output of the array stage of its level and travels in a slot.
 *
 * Sequences become arrays inside a stage's function: map_seq => map, fold_seq => fold, permute_seq => permute,
 * filter_seq => filter, rows xs => xs, a stream parameter => the chunk's column. A sequence made from an array (rows
 * xs) is an array from the start and belongs to array stages.
 *
 * scan_seq and chain_seq have a state that goes from chunk to chunk: a traversal with one of them carries it (graph.h,
 * "CHAINS"). What they begin with is a value of an earlier stage, in a slot; a chain's consumer gives the last state, a
 * scan is a sequence as any other, and each traversal that needs it makes it anew.
 *
 * A spilled sequence (core.h) is traversed by itself: who else reads the stream wants all of it. What it reads of a
 * spill and which batch are no inputs of its stage but stand in the graph, for the coordinator.
 *
 * A loop with traversals inside (normalise.h) is a REGION with levels of its own, and so is the entry. In the region
 * around it the loop is like a consumer: one level later its results are there, which travel in slots, as does the
 * state from turn to turn. A region sees the nodes of those around it.
 *
 * Cost: linear in nodes times stages. Papers: 002 section 4 (sequences to chunks), 001 for nothing.
 */
#include "split.h"
#include "compiler/ir/prim.h"
#include "splitter.h"
#include <string.h>

static bool refuse(splitter *s, loom_node_id id, const char *why) {
    const loom_node *n = &s->p->nodes[id];
    const char *file = n->span.line && n->span.file < s->p->n_files ? s->p->files[n->span.file].name : "?";
    if (!s->remark)
        s->remark = loom_arena_printf(s->arena, "%s:%u: %s: %s", file, n->span.line, loom_op_table[n->op].name, why);
    return false;
}

static bool is_consumer(const splitter *s, loom_node_id n) {
    const loom_node *node = &s->p->nodes[n];
    switch (node->op) {
    case LOOM_OP_SEQ_FOLD:
    case LOOM_OP_SEQ_REDUCE:
    case LOOM_OP_SEQ_CHAIN:
    case LOOM_OP_SEQ_PERMUTE: return s->stream[loom_operand(s->p, node, 1)];
    case LOOM_OP_SEQ_FROM: return s->stream[loom_operand(s->p, node, 0)];
    case LOOM_OP_SEQ_SPILL: return s->stream[loom_operand(s->p, node, 1)];
    default: return false;
    }
}

/* ---- dependencies, streams, levels ---- */
static uint32_t find_root(splitter *s, uint32_t n) {
    while (s->root[n] != n) n = s->root[n] = s->root[s->root[n]];
    return n;
}

/* ---- regions ---- */

bool split_is_field(const splitter *s, loom_node_id n, split_field *field) {
    const loom_node *node = &s->p->nodes[n];
    if (node->op != LOOM_OP_PROJECT) return false;
    loom_node_id x = loom_operand(s->p, node, 0);
    for (uint32_t r = 1; r < s->regions.count; r++) {
        const split_region *region = &s->regions.at[r];
        bool result = x == region->loop;
        if (!result && x != s->p->bodies[region->body].first) continue;
        *field = (split_field){r, node->aux, result};
        return true;
    }
    return false;
}

loom_node_id split_init(const splitter *s, uint32_t region, uint32_t i) {
    const loom_node *loop = &s->p->nodes[s->regions.at[region].loop];
    return loom_operand(s->p, &s->p->nodes[loom_operand(s->p, loop, 0)], i);
}

loom_node_id split_next(const splitter *s, uint32_t region, uint32_t i) {
    const loom_body *b = &s->p->bodies[s->regions.at[region].body];
    return loom_operand(s->p, &s->p->nodes[b->result], i);
}

/* Normal form: the state is a tuple made at once, of which field 0 is the test. */
static bool is_normal_loop(const splitter *s, const loom_node *n) {
    const loom_program *p = s->p;
    if (n->op != LOOM_OP_LOOP_WHILE || p->nodes[loom_operand(p, n, 0)].op != LOOM_OP_TUPLE) return false;
    const loom_body *test = loom_node_body(p, n, 0), *step = loom_node_body(p, n, 1);
    const loom_node *t = &p->nodes[test->result], *next = &p->nodes[step->result];
    return t->op == LOOM_OP_PROJECT && t->aux == 0 && loom_operand(p, t, 0) == test->first && next->op == LOOM_OP_TUPLE;
}

static bool find_regions(splitter *s, loom_body_id body, uint32_t parent, loom_node_id loop) {
    const loom_program *p = s->p;
    const loom_body *b = &p->bodies[body];
    uint32_t r = (uint32_t)s->regions.count;
    split_region region = {.body = body, .loop = loop, .parent = parent};
    if (loop != LOOM_NONE) region.n_state = p->types[p->nodes[loop].type].n_fields;
    LOOM_PUSH(s->arena, s->regions, region);
    for (uint32_t i = 0; i < b->n_params; i++) s->region_of[b->first + i] = r;
    for (loom_node_id n = loom_scope_first(s->scope, body); n != LOOM_NONE; n = loom_scope_next(s->scope, body, n)) {
        const loom_node *node = &p->nodes[n];
        s->region_of[n] = r;
        if (node->op == LOOM_OP_SEQ_MAP || node->op == LOOM_OP_SEQ_FILTER || !loom_scope_has_seq(p, node)) continue;
        if (!is_normal_loop(s, node)) return refuse(s, n, "a traversal inside it that cannot be cut out");
        if (!find_regions(s, p->body_refs[node->first_body + 1], r, n)) return false;
    }
    return true;
}

static bool is_region_loop(const splitter *s, loom_node_id n) {
    for (uint32_t r = 1; r < s->regions.count; r++)
        if (s->regions.at[r].loop == n) return true;
    return false;
}

/* The state of a loop and its result are used field by field. */
static bool uses_are_fields(splitter *s, loom_node_id n) {
    const loom_node *node = &s->p->nodes[n];
    for (uint32_t i = 0; i < s->n_deps[n]; i++) {
        loom_node_id d = s->deps[n][i];
        for (uint32_t r = 1; r < s->regions.count; r++) {
            const split_region *region = &s->regions.at[r];
            if (d != region->loop && d != s->p->bodies[region->body].first) continue;
            if (node->op != LOOM_OP_PROJECT) return refuse(s, n, "the state of a loop with traversals as a whole");
        }
    }
    return true;
}

/* Where elements stand: in a block their number is known, in a stream that is filtered it is not until all blocks
 * before are. So filtered streams have no positions, and cannot be zipped with others block by block. */
static bool places(splitter *s, loom_node_id n) {
    const loom_program *p = s->p;
    const loom_node *node = &p->nodes[n];
    loom_node_id filter = LOOM_NONE;
    bool any = false;
    for (uint32_t i = 0; i < node->n_operands; i++) {
        loom_node_id x = loom_operand(p, node, i);
        if (!s->stream[x]) continue;
        if (any && s->filter[x] != filter) return refuse(s, n, "zips a stream that is filtered with another one");
        any = true;
        filter = s->filter[x];
    }
    if (node->op == LOOM_OP_SEQ_ENUMERATE && filter != LOOM_NONE)
        return refuse(s, n, "numbers a stream that is filtered");
    bool sparse = node->op == LOOM_OP_SEQ_FILTER || node->op == LOOM_OP_SEQ_SPILLED;
    s->filter[n] = sparse ? n : filter;
    return true;
}

/* What a stage is told of a spill: the spill itself, and a batch that has a slot of its own. */
static bool reads_a_spill(const splitter *s, const loom_node *node) {
    split_field field;
    loom_node_id spill = loom_operand(s->p, node, 1);
    return s->p->nodes[spill].op == LOOM_OP_SEQ_SPILL && is_consumer(s, spill) &&
           split_is_field(s, loom_operand(s->p, node, 2), &field);
}

/* Half of what a tuple holds is for a stage's roots. */
static bool counts_scan(splitter *s, loom_node_id n) {
    loom_type_leaf *list;
    s->n_scans++;
    s->scan_leaves += loom_type_leaves(s->p, s->arena, s->p->types[s->p->nodes[n].type].element, &list);
    return s->n_scans <= LOOM_MAX_TUPLE / 2 && s->scan_leaves <= LOOM_MAX_LEAVES / 2;
}

/* Streams: a sequence made of one is one; zipping joins their traversals. */
static bool classify(splitter *s, loom_node_id n) {
    const loom_program *p = s->p;
    const loom_node *node = &p->nodes[n];
    bool any = false, arrays = false;
    uint32_t root = LOOM_NONE;
    for (uint32_t i = 0; i < node->n_operands; i++) {
        loom_node_id x = loom_operand(p, node, i);
        if (!loom_scope_is_seq(p, x)) continue;
        if (!s->stream[x]) {
            arrays = true;
            continue;
        }
        any = true;
        uint32_t r = find_root(s, s->root[x]);
        if (root != LOOM_NONE && r != root) s->root[r] = root;
        if (root == LOOM_NONE) root = r;
    }
    if (any && arrays) return refuse(s, n, "zips a stream with the rows of an array");
    if (!places(s, n)) return false;
    if (node->op == LOOM_OP_SEQ_SCAN && any && !counts_scan(s, n))
        return refuse(s, n, "more states than one traversal carries");
    s->stream[n] = any && loom_scope_is_seq(p, n);
    bool alone = node->op == LOOM_OP_SEQ_SPILL || node->op == LOOM_OP_SEQ_SPILLED; /* in a traversal of its own */
    s->root[n] = any && !alone ? root : n;
    if (node->op == LOOM_OP_SEQ_SPILL && !any) return refuse(s, n, "of no stream");
    if (node->op == LOOM_OP_SEQ_SPILLED && !reads_a_spill(s, node)) return refuse(s, n, "of what is no spill");
    uint32_t level = 0;
    for (uint32_t i = 0; i < s->n_deps[n]; i++) {
        loom_node_id d = s->deps[n][i];
        if (s->region_of[d] == s->region_of[n] && s->level[d] > level) level = s->level[d];
    }
    s->level[n] = level + (is_consumer(s, n) || is_region_loop(s, n) ? 1 : 0);
    split_region *region = &s->regions.at[s->region_of[n]];
    if (s->level[n] > region->max_level) region->max_level = s->level[n];
    return uses_are_fields(s, n);
}

static bool analyse(splitter *s) {
    const loom_program *p = s->p;
    uint32_t n_nodes = p->n_nodes;
    s->level = LOOM_NEW_ARRAY(s->arena, uint32_t, n_nodes + 1);
    s->deps = LOOM_NEW_ARRAY(s->arena, loom_node_id *, n_nodes + 1);
    s->n_deps = LOOM_NEW_ARRAY(s->arena, uint32_t, n_nodes + 1);
    s->stream = LOOM_NEW_ARRAY(s->arena, bool, n_nodes + 1);
    s->root = LOOM_NEW_ARRAY(s->arena, uint32_t, n_nodes + 1);
    s->region_of = LOOM_NEW_ARRAY(s->arena, uint32_t, n_nodes + 1);
    s->filter = LOOM_NEW_ARRAY(s->arena, loom_node_id, n_nodes + 1);
    for (uint32_t i = 0; i < n_nodes; i++) s->region_of[i] = s->filter[i] = LOOM_NONE;
    if (!find_regions(s, s->entry, LOOM_NONE, LOOM_NONE)) return false;
    const loom_body *b = &p->bodies[s->entry];
    for (loom_node_id n = b->first; n < b->end; n++) {
        if (s->region_of[n] == LOOM_NONE) continue;
        s->root[n] = n;
        if (p->nodes[n].op == LOOM_OP_PARAM) {
            s->stream[n] = n < b->first + b->n_params && loom_scope_is_seq(p, n);
            continue;
        }
        s->n_deps[n] = loom_scope_uses(p, s->arena, n, &s->deps[n]);
        if (!classify(s, n)) return false;
    }
    return true;
}

/* ---- what is computed where ---- */

/* Scalar work that is repeated rather than sent: no array operations, no loops. */
static bool is_cheap(const splitter *s, loom_node_id n) {
    const loom_program *p = s->p;
    const loom_node *node = &p->nodes[n];
    switch (node->op) {
    case LOOM_OP_CONST:
    case LOOM_OP_PRIM:
    case LOOM_OP_CONVERT:
    case LOOM_OP_TUPLE:
    case LOOM_OP_PROJECT:
    case LOOM_OP_DIM:
    case LOOM_OP_LENGTH:
    case LOOM_OP_INDEX:
    case LOOM_OP_CLAIM:
    case LOOM_OP_ASSERT:
    case LOOM_OP_IOTA:
    case LOOM_OP_REPLICATE:
    case LOOM_OP_SEQ_ROWS: return true;
    case LOOM_OP_GENERATE: { /* a fill only: a table is worth a slot */
        loom_op op = (loom_op)p->nodes[loom_node_body(p, node, 0)->result].op;
        return op == LOOM_OP_CONST || op == LOOM_OP_REPLICATE;
    }
    case LOOM_OP_IF: {
        const loom_body *first = loom_node_body(p, node, 0);
        for (loom_node_id m = first->first; m < n; m++) {
            loom_op op = (loom_op)p->nodes[m].op;
            if (op != LOOM_OP_PARAM && !is_cheap(s, m)) return false;
        }
        return true;
    }
    default: return false;
    }
}

static bool has_root(const stage_need *t, loom_node_id n) {
    for (size_t i = 0; i < t->roots.count; i++)
        if (t->roots.at[i] == n) return true;
    return false;
}

/* A stage gives its roots as a tuple. What no tuple holds is made by several, which traverse the stream one after the
 * other. */
static bool is_room_for(const splitter *s, const stage_need *t, uint32_t leaves) {
    return t->roots.count + s->n_scans < LOOM_MAX_TUPLE && t->n_leaves + leaves + s->scan_leaves <= LOOM_MAX_LEAVES;
}

/* The one that makes n, or may make it beside what it makes. */
static stage_need *stage_for(splitter *s, loom_stage_kind kind, uint32_t region, uint32_t level, uint32_t streams,
                             loom_node_id n, uint32_t leaves) {
    stage_need *with_room = NULL;
    for (size_t i = 0; i < s->stages.count; i++) {
        stage_need *t = &s->stages.at[i];
        bool alike = t->kind == kind && t->region == region && t->level == level &&
                     (kind == LOOM_STAGE_ARRAY || t->streams == streams);
        if (alike && has_root(t, n)) return t;
        if (alike && is_room_for(s, t, leaves)) with_room = t;
    }
    if (with_room) return with_room;
    stage_need t = {.kind = kind, .region = region, .level = level, .streams = streams, .spilled = LOOM_NONE};
    t.needed = LOOM_NEW_ARRAY(s->arena, bool, s->p->n_nodes + 1);
    t.boundary = LOOM_NEW_ARRAY(s->arena, bool, s->p->n_nodes + 1);
    LOOM_PUSH(s->arena, s->stages, t);
    return &s->stages.at[s->stages.count - 1];
}

static void add_root(splitter *s, loom_stage_kind kind, uint32_t level, uint32_t streams, loom_node_id n) {
    loom_type_leaf *list;
    uint32_t leaves = loom_type_leaves(s->p, s->arena, s->p->nodes[n].type, &list);
    stage_need *t = stage_for(s, kind, s->region_of[n], level, streams, n, leaves);
    if (has_root(t, n)) return;
    LOOM_PUSH(s->arena, t->roots, n);
    t->n_leaves += leaves;
}

/* Somebody reads the value of node n from a slot: who makes it is told. */
static void want(splitter *s, loom_node_id n) {
    split_field field;
    if (split_is_field(s, n, &field)) {
        if (field.result) s->regions.at[field.region].demanded = true;
    } else if (is_consumer(s, n)) {
        add_root(s, LOOM_STAGE_TRAVERSAL, s->level[n] - 1, find_root(s, s->root[n]), n);
    } else if (s->p->nodes[n].op != LOOM_OP_PARAM) {
        add_root(s, LOOM_STAGE_ARRAY, s->level[n], 0, n);
    }
}

/* Its state comes in by a slot of its own, whatever else of the stage reads what it begins with. */
static void need_chain(splitter *s, stage_need *here, loom_node_id n) {
    const loom_node *node = &s->p->nodes[n];
    loom_node_id *uses;
    uint32_t n_uses = loom_scope_body_uses(s->p, s->arena, loom_node_body(s->p, node, 0), &uses);
    for (uint32_t i = 0; i < n_uses; i++) here->needed[uses[i]] = true;
    here->needed[loom_operand(s->p, node, 1)] = true;
    if (node->op == LOOM_OP_SEQ_SCAN) here->needed[loom_operand(s->p, node, 0)] = true; /* the neutral element */
    want(s, loom_operand(s->p, node, 0));
    LOOM_PUSH(s->arena, here->chains, n);
}

/* Of a stream: over the rows of an array they are array operations. */
static bool carries_state(const splitter *s, loom_node_id n) {
    const loom_node *node = &s->p->nodes[n];
    if (node->op != LOOM_OP_SEQ_SCAN && node->op != LOOM_OP_SEQ_CHAIN) return false;
    return s->stream[loom_operand(s->p, node, 1)];
}

/* Marks what node n, computed in the stage, is made of. */
static void need_sources(splitter *s, stage_need *here, loom_node_id n) {
    const loom_node *node = &s->p->nodes[n];
    if (carries_state(s, n)) {
        need_chain(s, here, n);
        return;
    }
    if (node->op == LOOM_OP_SEQ_SPILLED) {
        here->spilled = n;
        here->needed[loom_operand(s->p, node, 0)] = true;
        want(s, loom_operand(s->p, node, 1));
        want(s, loom_operand(s->p, node, 2));
    } else if (node->op == LOOM_OP_SEQ_SPILL) {
        here->needed[loom_operand(s->p, node, 1)] = true;
        want(s, loom_operand(s->p, node, 0));
    } else {
        for (uint32_t i = 0; i < s->n_deps[n]; i++) here->needed[s->deps[n][i]] = true;
    }
}

/* Marks what stage `at` needs for its roots; asks earlier stages for what it cannot or should not compute itself. */
static void demand(splitter *s, size_t at) {
    const loom_program *p = s->p;
    const loom_body *b = &p->bodies[s->entry];
    stage_need here = s->stages.at[at];
    here.chains.count = 0;
    for (size_t i = 0; i < here.roots.count; i++) here.needed[here.roots.at[i]] = true;
    for (loom_node_id n = b->end; n-- > b->first;) {
        if (!here.needed[n]) continue;
        bool own_root = false;
        for (size_t i = 0; i < here.roots.count; i++) own_root |= here.roots.at[i] == n;
        bool param = s->p->nodes[n].op == LOOM_OP_PARAM;
        bool elsewhere = false;
        split_field field;
        if (param) {
            elsewhere = !s->stream[n];
        } else if (split_is_field(s, n, &field)) {
            elsewhere = true;
        } else if (is_consumer(s, n)) {
            elsewhere = !own_root || here.kind != LOOM_STAGE_TRAVERSAL;
        } else if (!s->stream[n] && !is_cheap(s, n)) {
            bool earlier = s->region_of[n] != here.region || s->level[n] < here.level;
            elsewhere = earlier || here.kind == LOOM_STAGE_TRAVERSAL;
        }
        if (elsewhere) {
            want(s, n);
            here.needed[n] = false;
            here.boundary[n] = true;
        } else if (!param) {
            need_sources(s, &here, n);
        }
    }
    s->stages.at[at].spilled = here.spilled;
    s->stages.at[at].chains = here.chains;
}

/* All that the stages of a region need. From the last level back; within a level traversals and loops (which read array
 * values of their level) before the array stage. */
static void demand_region(splitter *s, uint32_t r) {
    if (r != 0) {
        for (uint32_t i = 0; i < s->regions.at[r].n_state; i++) {
            want(s, split_init(s, r, i));
            want(s, split_next(s, r, i));
        }
    }
    for (uint32_t level = s->regions.at[r].max_level + 1; level-- > 0;)
        for (int pass = 0; pass < 2; pass++) {
            for (size_t i = 0; i < s->stages.count; i++) {
                const stage_need *t = &s->stages.at[i];
                bool traversal = t->kind == LOOM_STAGE_TRAVERSAL;
                if (t->region == r && t->level == level && traversal == (pass == 0)) demand(s, i);
            }
            for (uint32_t q = 1; q < s->regions.count && pass == 0; q++) {
                const split_region *inner = &s->regions.at[q];
                if (inner->parent == r && inner->demanded && s->level[inner->loop] == level + 1) demand_region(s, q);
            }
        }
}

loom_status *loom_split(loom_arena *arena, const loom_program *p, loom_program **staged, loom_graph **graph,
                        const char **remark) {
    *staged = NULL;
    const loom_function *f = &p->functions[0];
    splitter s = {.arena = arena, .p = p, .scope = loom_scope_create(arena, p), .entry = f->body};
    if (!analyse(&s)) {
        *remark = s.remark;
        return NULL;
    }
    loom_node_id result = p->bodies[f->body].result;
    split_field field;
    if (s.stream[result]) {
        add_root(&s, LOOM_STAGE_TRAVERSAL, s.level[result], find_root(&s, s.root[result]), result);
    } else if (is_consumer(&s, result) || split_is_field(&s, result, &field)) {
        want(&s, result);
    } else { /* a parameter too: the result is a value of a stage */
        add_root(&s, LOOM_STAGE_ARRAY, s.level[result], 0, result);
    }
    demand_region(&s, 0);
    loom_split_assemble(&s, f, staged, graph);
    LOOM_TRY(loom_program_check(*staged));
    return loom_graph_check(*graph);
}
