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
 * Cost: linear in nodes times stages. Papers: 002 section 4 (sequences to chunks), 001 for nothing.
 */
#include "split.h"
#include "compiler/ir/prim.h"
#include "operator.h"
#include "scope.h"
#include <string.h>

typedef struct stage_need {
    loom_stage_kind kind;
    uint32_t level;
    uint32_t streams;             /* TRAVERSAL: representative of its connected streams */
    LOOM_VEC(loom_node_id) roots; /* nodes of the entry that it makes: consumers, or heavy array values */
    bool *needed;                 /* by node: computed in this stage */
    bool *boundary;               /* by node: comes in through a slot */
} stage_need;

typedef struct splitter {
    loom_arena *arena;
    const loom_program *p;
    loom_scope *scope;
    loom_body_id entry;
    uint32_t *level;
    loom_node_id **deps; /* by node of the entry: other entry nodes it uses, directly or from its bodies */
    uint32_t *n_deps;
    bool *stream;   /* sequence that comes from a stream parameter */
    uint32_t *root; /* union-find over stream parameters (by node) */
    uint32_t max_level;
    LOOM_VEC(stage_need) stages;
    const char *remark;
} splitter;

static bool is_seq(const loom_program *p, loom_node_id n) {
    return p->types[p->nodes[n].type].kind == LOOM_T_SEQ;
}

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
    case LOOM_OP_SEQ_PERMUTE: return s->stream[loom_operand(s->p, node, 1)];
    case LOOM_OP_SEQ_FROM: return s->stream[loom_operand(s->p, node, 0)];
    default: return false;
    }
}

/* ---- dependencies, streams, levels ---- */
static void find_deps(splitter *s, loom_node_id n) {
    const loom_program *p = s->p;
    const loom_node *node = &p->nodes[n];
    LOOM_VEC(loom_node_id) found = {0};
    loom_node_id start = n;
    for (uint32_t i = 0; i < node->n_bodies; i++)
        if (loom_node_body(p, node, i)->first < start) start = loom_node_body(p, node, i)->first;
    for (uint32_t i = 0; i < node->n_operands; i++) LOOM_PUSH(s->arena, found, loom_operand(p, node, i));
    for (uint32_t i = 0; i < node->n_bodies; i++)
        if (loom_node_body(p, node, i)->result < start) LOOM_PUSH(s->arena, found, loom_node_body(p, node, i)->result);
    for (loom_node_id m = start; m < n; m++) {
        const loom_node *inner = &p->nodes[m];
        for (uint32_t i = 0; i < inner->n_operands; i++)
            if (loom_operand(p, inner, i) < start) LOOM_PUSH(s->arena, found, loom_operand(p, inner, i));
        for (uint32_t i = 0; i < inner->n_bodies; i++)
            if (loom_node_body(p, inner, i)->result < start)
                LOOM_PUSH(s->arena, found, loom_node_body(p, inner, i)->result);
    }
    s->deps[n] = found.at;
    s->n_deps[n] = (uint32_t)found.count;
}

static uint32_t find_root(splitter *s, uint32_t n) {
    while (s->root[n] != n) n = s->root[n] = s->root[s->root[n]];
    return n;
}

/* Streams: a sequence made of one is one; zipping joins their traversals. */
static bool classify(splitter *s, loom_node_id n) {
    const loom_program *p = s->p;
    const loom_node *node = &p->nodes[n];
    bool any = false, arrays = false;
    uint32_t root = LOOM_NONE;
    for (uint32_t i = 0; i < node->n_operands; i++) {
        loom_node_id x = loom_operand(p, node, i);
        if (!is_seq(p, x)) continue;
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
    if (node->op == LOOM_OP_SEQ_SCAN && any) return refuse(s, n, "a chained scan is not cut into blocks");
    s->stream[n] = any && is_seq(p, n);
    s->root[n] = any ? root : n;
    uint32_t level = 0;
    for (uint32_t i = 0; i < s->n_deps[n]; i++)
        if (s->level[s->deps[n][i]] > level) level = s->level[s->deps[n][i]];
    s->level[n] = level + (is_consumer(s, n) ? 1 : 0);
    if (s->level[n] > s->max_level) s->max_level = s->level[n];
    return true;
}

static bool analyse(splitter *s) {
    const loom_program *p = s->p;
    uint32_t n_nodes = p->n_nodes;
    s->level = LOOM_NEW_ARRAY(s->arena, uint32_t, n_nodes + 1);
    s->deps = LOOM_NEW_ARRAY(s->arena, loom_node_id *, n_nodes + 1);
    s->n_deps = LOOM_NEW_ARRAY(s->arena, uint32_t, n_nodes + 1);
    s->stream = LOOM_NEW_ARRAY(s->arena, bool, n_nodes + 1);
    s->root = LOOM_NEW_ARRAY(s->arena, uint32_t, n_nodes + 1);
    const loom_body *b = &p->bodies[s->entry];
    for (uint32_t i = 0; i < b->n_params; i++) {
        s->root[b->first + i] = b->first + i;
        s->stream[b->first + i] = is_seq(p, b->first + i);
    }
    for (loom_node_id n = loom_scope_first(s->scope, s->entry); n != LOOM_NONE;
         n = loom_scope_next(s->scope, s->entry, n)) {
        find_deps(s, n);
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

static stage_need *stage_for(splitter *s, loom_stage_kind kind, uint32_t level, uint32_t streams) {
    for (size_t i = 0; i < s->stages.count; i++) {
        stage_need *t = &s->stages.at[i];
        if (t->kind == kind && t->level == level && (kind == LOOM_STAGE_ARRAY || t->streams == streams)) return t;
    }
    stage_need t = {.kind = kind, .level = level, .streams = streams};
    t.needed = LOOM_NEW_ARRAY(s->arena, bool, s->p->n_nodes + 1);
    t.boundary = LOOM_NEW_ARRAY(s->arena, bool, s->p->n_nodes + 1);
    LOOM_PUSH(s->arena, s->stages, t);
    return &s->stages.at[s->stages.count - 1];
}

static void add_root(splitter *s, stage_need *t, loom_node_id n) {
    for (size_t i = 0; i < t->roots.count; i++)
        if (t->roots.at[i] == n) return;
    LOOM_PUSH(s->arena, t->roots, n);
}

/* Level of the consumer's traversal. */
static uint32_t traversal_of(const splitter *s, loom_node_id consumer) {
    return s->level[consumer] - 1;
}

/* Marks what stage `at` needs for its roots; asks earlier stages for what it cannot or should not compute itself. */
static void demand(splitter *s, size_t at) {
    const loom_program *p = s->p;
    const loom_body *b = &p->bodies[s->entry];
    stage_need here = s->stages.at[at];
    for (size_t i = 0; i < here.roots.count; i++) here.needed[here.roots.at[i]] = true;
    for (loom_node_id n = b->end; n-- > b->first;) {
        if (!here.needed[n]) continue;
        bool own_root = false;
        for (size_t i = 0; i < here.roots.count; i++) own_root |= here.roots.at[i] == n;
        bool param = n < b->first + b->n_params;
        bool elsewhere = false;
        if (param) {
            elsewhere = !s->stream[n];
        } else if (is_consumer(s, n)) {
            elsewhere = !own_root || here.kind != LOOM_STAGE_TRAVERSAL;
            if (elsewhere)
                add_root(s, stage_for(s, LOOM_STAGE_TRAVERSAL, traversal_of(s, n), find_root(s, s->root[n])), n);
        } else if (!s->stream[n] && !is_cheap(s, n) &&
                   (s->level[n] < here.level || here.kind == LOOM_STAGE_TRAVERSAL)) {
            elsewhere = true;
            add_root(s, stage_for(s, LOOM_STAGE_ARRAY, s->level[n], 0), n);
        }
        if (elsewhere) {
            here.needed[n] = false;
            here.boundary[n] = true;
        } else if (!param) {
            for (uint32_t i = 0; i < s->n_deps[n]; i++) here.needed[s->deps[n][i]] = true;
        }
    }
}

/* ---- building the functions ---- */
typedef struct emitter {
    splitter *s;
    loom_program *to;
    loom_node_id *map;
    loom_node_id first; /* node of to: stream position of the chunk */
} emitter;

static loom_type_id array_type(emitter *e, loom_type_id from) {
    const loom_type *t = &e->s->p->types[from];
    if (t->kind == LOOM_T_SEQ) return loom_type_array(e->to, loom_copy_type(e->to, e->s->p, t->element));
    return loom_copy_type(e->to, e->s->p, from);
}

static loom_node_id enumerate(emitter *e, const loom_node *n) {
    loom_program *to = e->to;
    loom_node_id xs = e->map[loom_operand(e->s->p, n, 0)];
    loom_type_id i64 = loom_type_scalar(to, LOOM_I64), ints = loom_type_array(to, i64);
    loom_node_id length = loom_build_node(to, LOOM_OP_LENGTH, 0, i64, &xs, 1, NULL, 0, 0, n->span);
    loom_body_id body = loom_build_open(to, 1, &i64, n->span);
    loom_node_id operands[2] = {loom_build_param(to, body, 0), e->first};
    loom_node_id at = operands[0];
    if (e->first != LOOM_NONE)
        at = loom_build_node(to, LOOM_OP_PRIM, LOOM_PRIM_ADD, i64, operands, 2, NULL, 0, 0, n->span);
    loom_build_close(to, body, at);
    loom_node_id zip[2] = {loom_build_node(to, LOOM_OP_GENERATE, 0, ints, &length, 1, &body, 1, 0, n->span), xs};
    return loom_build_node(to, LOOM_OP_ZIP, 0, array_type(e, n->type), zip, 2, NULL, 0, 0, n->span);
}

static loom_node_id emit(emitter *e, loom_node_id id) {
    const loom_program *p = e->s->p;
    const loom_node *n = &p->nodes[id];
    loom_op op;
    switch (n->op) {
    case LOOM_OP_SEQ_ROWS:
    case LOOM_OP_SEQ_FROM: return e->map[loom_operand(p, n, 0)];
    case LOOM_OP_SEQ_ENUMERATE: return enumerate(e, n);
    case LOOM_OP_SEQ_REDUCE: {
        loom_node_id arguments[2] = {e->map[loom_operand(p, n, 0)], e->map[loom_operand(p, n, 1)]};
        return loom_copy_body(e->to, p, p->body_refs[n->first_body], arguments, e->map);
    }
    case LOOM_OP_SEQ_MAP: op = LOOM_OP_MAP; break;
    case LOOM_OP_SEQ_FILTER: op = LOOM_OP_FILTER; break;
    case LOOM_OP_SEQ_FOLD: op = LOOM_OP_FOLD; break;
    case LOOM_OP_SEQ_PERMUTE: op = LOOM_OP_PERMUTE; break;
    case LOOM_OP_SEQ_SCAN: op = LOOM_OP_SCAN; break;
    default: return loom_copy_node(e->to, p, id, e->map);
    }
    loom_node_id *operands = LOOM_NEW_ARRAY(e->s->arena, loom_node_id, n->n_operands + 1);
    for (uint32_t i = 0; i < n->n_operands; i++) operands[i] = e->map[loom_operand(p, n, i)];
    loom_body_id body = loom_copy_as_body(e->to, p, p->body_refs[n->first_body], e->map);
    return loom_build_node(e->to, op, n->prim, array_type(e, n->type), operands, n->n_operands, &body, 1, n->aux,
                           n->span);
}

static void emit_needed(emitter *e, const bool *needed) {
    const splitter *s = e->s;
    for (loom_node_id n = loom_scope_first(s->scope, s->entry); n != LOOM_NONE;
         n = loom_scope_next(s->scope, s->entry, n))
        if (needed[n]) e->map[n] = emit(e, n);
}

typedef struct graph_build {
    splitter *s;
    loom_program *to;
    LOOM_VEC(loom_graph_slot) slots;
    LOOM_VEC(loom_graph_stage) stages;
    uint32_t *slot_of; /* by node of the entry */
} graph_build;

/* For a value of the node's type; `stream`: for a stream parameter, which has no value. */
static uint32_t add_slot(graph_build *g, const char *name, loom_node_id node, bool stream) {
    const loom_program *p = g->s->p;
    loom_type_leaf *leaves;
    uint32_t n = loom_type_leaves(p, g->s->arena, p->nodes[node].type, &leaves);
    loom_graph_leaf *copies = LOOM_NEW_ARRAY(g->s->arena, loom_graph_leaf, n + 1);
    for (uint32_t i = 0; i < n; i++) copies[i] = (loom_graph_leaf){leaves[i].name, leaves[i].dtype, leaves[i].depth};
    loom_graph_slot slot = {name, stream, n, copies};
    LOOM_PUSH(g->s->arena, g->slots, slot);
    return (uint32_t)g->slots.count - 1;
}

/* Opens a function whose parameters are the stage's inputs and then `extra` types; fills the map for the inputs. */
static loom_body_id open_function(graph_build *g, emitter *e, const stage_need *t, const uint32_t *inputs,
                                  uint32_t n_inputs, const loom_type_id *extra, uint32_t n_extra) {
    splitter *s = g->s;
    loom_type_id *types = LOOM_NEW_ARRAY(s->arena, loom_type_id, n_inputs + n_extra + 1);
    loom_node_id *nodes = LOOM_NEW_ARRAY(s->arena, loom_node_id, n_inputs + 1);
    (void)t;
    for (uint32_t i = 0; i < n_inputs; i++) {
        nodes[i] = inputs[i];
        types[i] = array_type(e, s->p->nodes[nodes[i]].type);
    }
    for (uint32_t i = 0; i < n_extra; i++) types[n_inputs + i] = extra[i];
    loom_body_id body = loom_build_open(g->to, n_inputs + n_extra, types, (loom_span){0});
    for (uint32_t i = 0; i < n_inputs; i++) {
        e->map[nodes[i]] = loom_build_param(g->to, body, i);
        g->to->nodes[e->map[nodes[i]]].span = s->p->nodes[nodes[i]].span;
    }
    return body;
}

static void close_function(graph_build *g, loom_body_id body, loom_node_id *results, uint32_t n, const char *name,
                           uint32_t *function) {
    loom_type_id *types = LOOM_NEW_ARRAY(g->s->arena, loom_type_id, n + 1);
    for (uint32_t i = 0; i < n; i++) types[i] = g->to->nodes[results[i]].type;
    loom_node_id tuple = loom_build_node(g->to, LOOM_OP_TUPLE, 0, loom_type_tuple(g->to, n, types, NULL), results, n,
                                         NULL, 0, 0, (loom_span){0});
    loom_build_close(g->to, body, tuple);
    *function = loom_build_function(g->to, name, body, true, NULL);
}

static emitter new_emitter(graph_build *g) {
    emitter e = {.s = g->s, .to = g->to, .first = LOOM_NONE};
    e.map = LOOM_NEW_ARRAY(g->s->arena, loom_node_id, g->s->p->n_nodes + 1);
    for (uint32_t i = 0; i < g->s->p->n_nodes; i++) e.map[i] = LOOM_NONE;
    return e;
}

/* Marks the nodes from around a body that it uses. */
static void need_free_nodes(const splitter *s, const loom_body *body, bool *needed) {
    const loom_program *p = s->p;
    if (body->result < body->first) needed[body->result] = true;
    for (loom_node_id m = body->first; m < body->end; m++) {
        const loom_node *inner = &p->nodes[m];
        for (uint32_t i = 0; i < inner->n_operands; i++)
            if (loom_operand(p, inner, i) < body->first) needed[loom_operand(p, inner, i)] = true;
        for (uint32_t i = 0; i < inner->n_bodies; i++)
            if (loom_node_body(p, inner, i)->result < body->first) needed[loom_node_body(p, inner, i)->result] = true;
    }
}

/* merge_j(inputs..., a, b): the operator's (or the merge) body alone. */
static uint32_t merge_function(graph_build *g, const stage_need *t, const uint32_t *inputs, uint32_t n_inputs,
                               loom_node_id c, const char *name) {
    splitter *s = g->s;
    const loom_node *n = &s->p->nodes[c];
    emitter e = new_emitter(g);
    loom_type_id type = array_type(&e, n->type), types[2] = {type, type};
    loom_body_id body = open_function(g, &e, t, inputs, n_inputs, types, 2);
    /* Free nodes of the operator: whatever of the stage does not depend on the stream. */
    bool *needed = LOOM_NEW_ARRAY(s->arena, bool, s->p->n_nodes + 1);
    const loom_body *b = &s->p->bodies[s->entry];
    uint32_t which = n->op == LOOM_OP_SEQ_REDUCE ? 1 : 0;
    need_free_nodes(s, loom_node_body(s->p, n, which), needed);
    for (loom_node_id m = b->end; m-- > b->first;) {
        if (!needed[m] || t->boundary[m] || s->stream[m] || m < b->first + b->n_params) {
            needed[m] = false;
            continue;
        }
        for (uint32_t i = 0; i < s->n_deps[m]; i++) needed[s->deps[m][i]] = true;
    }
    emit_needed(&e, needed);
    loom_node_id a = loom_build_param(g->to, body, n_inputs), second = loom_build_param(g->to, body, n_inputs + 1),
                 result;
    loom_node_id arguments[2] = {a, second};
    if (n->op == LOOM_OP_SEQ_PERMUTE) {
        /* elementwise over the indexed levels */
        loom_body_id op = s->p->body_refs[n->first_body];
        loom_type_id level_type[LOOM_MAX_TYPE_NESTING];
        loom_body_id opened[LOOM_MAX_TYPE_NESTING];
        loom_node_id pair[LOOM_MAX_TYPE_NESTING][2];
        uint32_t r = n->aux;
        level_type[0] = type;
        pair[0][0] = a, pair[0][1] = second;
        for (uint32_t k = 0; k < r; k++) {
            level_type[k + 1] = g->to->types[level_type[k]].element;
            loom_type_id both[2] = {level_type[k + 1], level_type[k + 1]};
            opened[k] = loom_build_open(g->to, 2, both, n->span);
            pair[k + 1][0] = loom_build_param(g->to, opened[k], 0);
            pair[k + 1][1] = loom_build_param(g->to, opened[k], 1);
        }
        result = loom_copy_body(g->to, s->p, op, pair[r], e.map);
        for (uint32_t k = r; k-- > 0;) {
            loom_build_close(g->to, opened[k], result);
            result = loom_build_node(g->to, LOOM_OP_MAP, 0, level_type[k], pair[k], 2, &opened[k], 1, 0, n->span);
        }
    } else {
        result = loom_copy_body(g->to, s->p, s->p->body_refs[n->first_body + which], arguments, e.map);
    }
    loom_build_close(g->to, body, result);
    return loom_build_function(g->to, name, body, true, NULL);
}

static loom_graph_output output_of(graph_build *g, const stage_need *t, loom_node_id c, const uint32_t *inputs,
                                   uint32_t n_inputs) {
    splitter *s = g->s;
    const loom_node *n = &s->p->nodes[c];
    loom_graph_output o = {.merge = LOOM_NONE_FUNCTION, .finish = LOOM_NONE_FUNCTION, .order = LOOM_ORDER_ADJACENT};
    const char *name = loom_arena_printf(s->arena, "merge_%u", g->to->n_functions);
    switch (n->op) {
    case LOOM_OP_SEQ_FOLD:
        o.kind = LOOM_OUT_FOLD;
        if (loom_operator_builtin(s->scope, s->p->body_refs[n->first_body])) o.order = LOOM_ORDER_ANY;
        break;
    case LOOM_OP_SEQ_REDUCE: o.kind = LOOM_OUT_REDUCE; break;
    case LOOM_OP_SEQ_PERMUTE:
        o.kind = LOOM_OUT_PERMUTE;
        o.order = LOOM_ORDER_ANY;
        break;
    case LOOM_OP_SEQ_FROM: o.kind = LOOM_OUT_COLLECT; break;
    default: o.kind = LOOM_OUT_STREAM; break;
    }
    if (o.kind != LOOM_OUT_COLLECT && o.kind != LOOM_OUT_STREAM)
        o.merge = merge_function(g, t, inputs, n_inputs, c, name);
    return o;
}

static const char *place(const splitter *s, loom_node_id n) {
    const loom_node *node = &s->p->nodes[n];
    if (!node->span.line || node->span.file >= s->p->n_files) return loom_op_table[node->op].name;
    return loom_arena_printf(s->arena, "%s (%s:%u)", loom_op_table[node->op].name, s->p->files[node->span.file].name,
                             node->span.line);
}

static void build_stage(graph_build *g, const stage_need *t) {
    splitter *s = g->s;
    const loom_body *b = &s->p->bodies[s->entry];
    LOOM_VEC(uint32_t) inputs = {0}, slots = {0}, streams = {0}, stream_nodes = {0};
    for (loom_node_id n = b->first; n < b->end; n++) {
        if (t->boundary[n]) {
            LOOM_PUSH(s->arena, inputs, n);
            LOOM_PUSH(s->arena, slots, g->slot_of[n]);
        } else if (n < b->first + b->n_params && s->stream[n] && t->needed[n]) {
            LOOM_PUSH(s->arena, stream_nodes, n);
            LOOM_PUSH(s->arena, streams, g->slot_of[n]);
        }
    }
    emitter e = new_emitter(g);
    uint32_t n_inputs = (uint32_t)inputs.count, n_streams = (uint32_t)streams.count;
    bool traversal = t->kind == LOOM_STAGE_TRAVERSAL;
    loom_type_id *extra = LOOM_NEW_ARRAY(s->arena, loom_type_id, n_streams + 2);
    extra[0] = loom_type_scalar(g->to, LOOM_I64);
    for (uint32_t i = 0; i < n_streams; i++) extra[i + 1] = array_type(&e, s->p->nodes[stream_nodes.at[i]].type);
    loom_body_id body = open_function(g, &e, t, inputs.at, n_inputs, extra, traversal ? 1 + n_streams : 0);
    if (traversal) {
        e.first = loom_build_param(g->to, body, n_inputs);
        for (uint32_t i = 0; i < n_streams; i++)
            e.map[stream_nodes.at[i]] = loom_build_param(g->to, body, n_inputs + 1 + i);
    }
    emit_needed(&e, t->needed);
    uint32_t n_out = (uint32_t)t->roots.count;
    loom_node_id *results = LOOM_NEW_ARRAY(s->arena, loom_node_id, n_out + 1);
    for (uint32_t i = 0; i < n_out; i++) results[i] = e.map[t->roots.at[i]];
    loom_graph_stage stage = {
        .kind = t->kind, .n_inputs = n_inputs, .inputs = slots.at, .n_streams = n_streams, .streams = streams.at};
    const char *name = loom_arena_printf(s->arena, "%s_%zu", traversal ? "chunk" : "run", g->stages.count);
    close_function(g, body, results, n_out, name, &stage.function);
    loom_graph_output *outputs = LOOM_NEW_ARRAY(s->arena, loom_graph_output, n_out + 1);
    for (uint32_t i = 0; i < n_out; i++) {
        loom_node_id root = t->roots.at[i];
        outputs[i] =
            traversal ? output_of(g, t, root, inputs.at, n_inputs)
                      : (loom_graph_output){LOOM_OUT_VALUE, LOOM_ORDER_ANY, 0, LOOM_NONE_FUNCTION, LOOM_NONE_FUNCTION};
        outputs[i].slot =
            add_slot(g, loom_arena_printf(s->arena, "stage %zu output %u", g->stages.count, i), root, false);
        if (g->slot_of[root] == LOOM_NONE) g->slot_of[root] = outputs[i].slot;
    }
    stage.n_outputs = n_out;
    stage.outputs = outputs;
    stage.label = loom_arena_printf(s->arena, "%s %u: %s", traversal ? "traversal" : "array stage", t->level,
                                    place(s, t->roots.at[0]));
    LOOM_PUSH(s->arena, g->stages, stage);
}

static bool comes_before(const stage_need *a, const stage_need *b) {
    if (a->level != b->level) return a->level < b->level;
    return a->kind == LOOM_STAGE_ARRAY && b->kind != LOOM_STAGE_ARRAY;
}

static void order_stages(splitter *s) {
    stage_need *at = s->stages.at;
    for (size_t i = 1; i < s->stages.count; i++)
        for (size_t j = i; j > 0 && comes_before(&at[j], &at[j - 1]); j--) {
            stage_need swap = at[j];
            at[j] = at[j - 1];
            at[j - 1] = swap;
        }
}

static void demand_all(splitter *s) {
    /* From the last level back; within a level the traversal (which reads array values of its level) before the array
     * stage. */
    for (uint32_t level = s->max_level + 1; level-- > 0;)
        for (int pass = 0; pass < 2; pass++)
            for (size_t i = 0; i < s->stages.count; i++) {
                bool traversal = s->stages.at[i].kind == LOOM_STAGE_TRAVERSAL;
                if (s->stages.at[i].level == level && traversal == (pass == 0)) demand(s, i);
            }
}

static loom_graph_slot *param_slots(graph_build *g, const loom_function *f) {
    const loom_body *b = &g->s->p->bodies[f->body];
    for (uint32_t i = 0; i < b->n_params; i++) {
        const char *name = f->param_names ? f->param_names[i] : loom_arena_printf(g->s->arena, "%u", i);
        g->slot_of[b->first + i] = add_slot(g, name, b->first + i, is_seq(g->s->p, b->first + i));
    }
    return g->slots.at;
}

static void seal(graph_build *g, uint32_t n_params, uint32_t result, bool stream, loom_graph **graph) {
    loom_graph *out = LOOM_NEW(g->s->arena, loom_graph);
    out->n_params = n_params;
    out->n_slots = (uint32_t)g->slots.count;
    out->slots = g->slots.at;
    out->n_stages = (uint32_t)g->stages.count;
    out->stages = g->stages.at;
    out->result = result;
    out->result_is_stream = stream;
    *graph = out;
}

static graph_build start_graph(splitter *s) {
    graph_build g = {.s = s, .to = loom_program_create(s->arena)};
    g.to->files = s->p->files;
    g.to->n_files = s->p->n_files;
    g.slot_of = LOOM_NEW_ARRAY(s->arena, uint32_t, s->p->n_nodes + 1);
    for (uint32_t i = 0; i < s->p->n_nodes; i++) g.slot_of[i] = LOOM_NONE;
    return g;
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
    const loom_body *b = &p->bodies[f->body];
    loom_node_id result = b->result;
    bool stream = s.stream[result];
    if (stream) {
        add_root(&s, stage_for(&s, LOOM_STAGE_TRAVERSAL, s.level[result], find_root(&s, s.root[result])), result);
    } else if (is_consumer(&s, result)) {
        add_root(&s, stage_for(&s, LOOM_STAGE_TRAVERSAL, traversal_of(&s, result), find_root(&s, s.root[result])),
                 result);
    } else {
        add_root(&s, stage_for(&s, LOOM_STAGE_ARRAY, s.level[result], 0), result);
    }
    demand_all(&s);
    order_stages(&s);
    graph_build g = start_graph(&s);
    param_slots(&g, f);
    for (size_t i = 0; i < s.stages.count; i++) build_stage(&g, &s.stages.at[i]);
    seal(&g, b->n_params, 0, stream, graph);
    for (size_t i = 0; i < s.stages.count; i++)
        for (size_t j = 0; j < s.stages.at[i].roots.count; j++)
            if (s.stages.at[i].roots.at[j] == result) (*graph)->result = g.stages.at[i].outputs[j].slot;
    *staged = g.to;
    LOOM_TRY(loom_program_check(g.to));
    return loom_graph_check(*graph);
}

loom_status *loom_split_whole(loom_arena *arena, const loom_program *p, uint32_t f, const char *remark,
                              loom_program **staged, loom_graph **graph) {
    const loom_function *fn = &p->functions[f];
    const loom_body *b = &p->bodies[fn->body];
    splitter s = {.arena = arena, .p = p, .entry = fn->body};
    graph_build g = start_graph(&s);
    param_slots(&g, fn);
    LOOM_VEC(uint32_t) inputs = {0}, streams = {0};
    for (uint32_t i = 0; i < b->n_params; i++) {
        if (is_seq(p, b->first + i))
            LOOM_PUSH(arena, streams, i);
        else
            LOOM_PUSH(arena, inputs, i);
    }
    loom_graph_output *o = LOOM_NEW(arena, loom_graph_output);
    *o = (loom_graph_output){LOOM_OUT_VALUE, LOOM_ORDER_ANY, add_slot(&g, "result", b->result, false),
                             LOOM_NONE_FUNCTION, LOOM_NONE_FUNCTION};
    loom_graph_stage stage = {.kind = LOOM_STAGE_WHOLE,
                              .function = f,
                              .n_inputs = (uint32_t)inputs.count,
                              .inputs = inputs.at,
                              .n_streams = (uint32_t)streams.count,
                              .streams = streams.at,
                              .n_outputs = 1,
                              .outputs = o,
                              .label = loom_arena_printf(arena, "whole program, interpreted: %s", fn->name)};
    LOOM_PUSH(arena, g.stages, stage);
    seal(&g, b->n_params, o->slot, false, graph); /* a sequence too comes as one value, at the end */
    const char **remarks = LOOM_NEW_ARRAY(arena, const char *, 1);
    remarks[0] = loom_arena_printf(arena, "interpreted by one worker: %s", remark);
    (*graph)->n_remarks = 1;
    (*graph)->remarks = remarks;
    *staged = (loom_program *)p;
    return loom_graph_check(*graph);
}
