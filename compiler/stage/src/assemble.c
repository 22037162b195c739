/* From needs to functions and graph: each stage's chunk or run function, the merges of its outputs, slots, loops. */
#include "compiler/ir/prim.h"
#include "operator.h"
#include "split.h"
#include "splitter.h"
#include <string.h>

/* ---- building the functions ---- */
typedef struct emitter {
    splitter *s;
    loom_program *to;
    loom_node_id *map;
    loom_node_id first;   /* node of to: stream position of the chunk */
    loom_node_id *states; /* by scan_seq and chain_seq of a stream: node of to, what the chunk begins with */
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

/* A loop that steps from element to element. */
static loom_node_id chain(emitter *e, loom_node_id id) {
    const loom_program *p = e->s->p;
    const loom_node *n = &p->nodes[id];
    loom_program *to = e->to;
    loom_node_id initial = e->states[id], xs = e->map[loom_operand(p, n, 1)];
    if (initial == LOOM_NONE) initial = e->map[loom_operand(p, n, 0)];
    loom_type_id i64 = loom_type_scalar(to, LOOM_I64), state = loom_copy_type(to, p, n->type);
    loom_node_id length = loom_build_node(to, LOOM_OP_LENGTH, 0, i64, &xs, 1, NULL, 0, 0, n->span);
    loom_body_id turn = loom_build_open(to, 2, (loom_type_id[]){i64, state}, n->span);
    loom_node_id place[2] = {xs, loom_build_param(to, turn, 0)};
    loom_type_id element = to->types[to->nodes[xs].type].element;
    loom_node_id x = loom_build_node(to, LOOM_OP_INDEX, 0, element, place, 2, NULL, 0, 0, n->span);
    loom_node_id arguments[2] = {loom_build_param(to, turn, 1), x};
    loom_build_close(to, turn, loom_copy_body(to, p, p->body_refs[n->first_body], arguments, e->map));
    loom_node_id operands[2] = {length, initial};
    return loom_build_node(to, LOOM_OP_LOOP_FOR, 0, state, operands, 2, &turn, 1, 0, n->span);
}

/* A scan of the chunk, behind the state that the chunk begins with: each of its values is combined with that. */
static loom_node_id behind_state(emitter *e, loom_node_id id, loom_node_id scanned) {
    const loom_program *p = e->s->p;
    const loom_node *n = &p->nodes[id];
    loom_program *to = e->to;
    loom_type_id type = to->nodes[scanned].type, element = to->types[type].element;
    loom_body_id each = loom_build_open(to, 1, &element, n->span);
    loom_node_id arguments[2] = {e->states[id], loom_build_param(to, each, 0)};
    loom_build_close(to, each, loom_copy_body(to, p, p->body_refs[n->first_body], arguments, e->map));
    return loom_build_node(to, LOOM_OP_MAP, 0, type, &scanned, 1, &each, 1, 0, n->span);
}

/* What the next chunk begins with: the last value, or the same state where there is none. */
static loom_node_id state_behind(const emitter *e, loom_node_id id) {
    const loom_node *n = &e->s->p->nodes[id];
    loom_program *to = e->to;
    loom_node_id values = e->map[id];
    loom_type_id i64 = loom_type_scalar(to, LOOM_I64), boolean = loom_type_scalar(to, LOOM_BOOL);
    loom_type_id type = to->types[to->nodes[values].type].element;
    loom_node_id length = loom_build_node(to, LOOM_OP_LENGTH, 0, i64, &values, 1, NULL, 0, 0, n->span);
    loom_node_id none[2] = {length, loom_build_i64(to, 0, n->span)};
    loom_node_id empty = loom_build_node(to, LOOM_OP_PRIM, LOOM_PRIM_EQ, boolean, none, 2, NULL, 0, 0, n->span);
    loom_body_id branches[2];
    branches[0] = loom_build_open(to, 0, NULL, n->span);
    loom_build_close(to, branches[0], e->states[id]);
    branches[1] = loom_build_open(to, 0, NULL, n->span);
    loom_node_id one[2] = {length, loom_build_i64(to, 1, n->span)};
    loom_node_id at[2] = {values, loom_build_node(to, LOOM_OP_PRIM, LOOM_PRIM_SUB, i64, one, 2, NULL, 0, 0, n->span)};
    loom_build_close(to, branches[1], loom_build_node(to, LOOM_OP_INDEX, 0, type, at, 2, NULL, 0, 0, n->span));
    return loom_build_node(to, LOOM_OP_IF, 0, type, &empty, 1, branches, 2, 0, n->span);
}

static loom_node_id emit(emitter *e, loom_node_id id) {
    const loom_program *p = e->s->p;
    const loom_node *n = &p->nodes[id];
    loom_op op;
    switch (n->op) {
    case LOOM_OP_SEQ_ROWS:
    case LOOM_OP_SEQ_FROM:
    case LOOM_OP_SEQ_SPILLED: return e->map[loom_operand(p, n, 0)];
    case LOOM_OP_SEQ_SPILL: return e->map[loom_operand(p, n, 1)];
    case LOOM_OP_SEQ_ENUMERATE: return enumerate(e, n);
    case LOOM_OP_SEQ_REDUCE: {
        loom_node_id arguments[2] = {e->map[loom_operand(p, n, 0)], e->map[loom_operand(p, n, 1)]};
        return loom_copy_body(e->to, p, p->body_refs[n->first_body], arguments, e->map);
    }
    case LOOM_OP_SEQ_CHAIN: return chain(e, id);
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
    loom_node_id made =
        loom_build_node(e->to, op, n->prim, array_type(e, n->type), operands, n->n_operands, &body, 1, n->aux, n->span);
    return e->states[id] == LOOM_NONE ? made : behind_state(e, id, made);
}

static void emit_needed(emitter *e, const bool *needed) {
    const splitter *s = e->s;
    const loom_body *b = &s->p->bodies[s->entry];
    for (loom_node_id n = b->first; n < b->end; n++)
        if (s->region_of[n] != LOOM_NONE && s->p->nodes[n].op != LOOM_OP_PARAM && needed[n]) e->map[n] = emit(e, n);
}

typedef struct graph_build {
    splitter *s;
    loom_program *to;
    LOOM_VEC(loom_graph_slot) slots;
    LOOM_VEC(loom_graph_stage) stages;
    LOOM_VEC(loom_graph_loop) loops;
    LOOM_VEC(bool) in_loop; /* by slot */
    bool looping;           /* slots added now are filled in a loop */
    uint32_t *slot_of;      /* by node of a region */
} graph_build;

/* The slot that holds the value of a node: one of those that stages give, or a field of a loop's state. */
static uint32_t slot_of(const graph_build *g, loom_node_id n) {
    split_field field;
    if (!split_is_field(g->s, n, &field)) return g->slot_of[n];
    const split_region *r = &g->s->regions.at[field.region];
    return field.result ? r->result[field.index] : r->current[field.index];
}

/* For a value of the node's type; `stream`: for a stream parameter, which has no value. */
static uint32_t add_slot(graph_build *g, const char *name, loom_node_id node, bool stream) {
    const loom_program *p = g->s->p;
    loom_type_leaf *leaves;
    uint32_t n = loom_type_leaves(p, g->s->arena, p->nodes[node].type, &leaves);
    loom_graph_leaf *copies = LOOM_NEW_ARRAY(g->s->arena, loom_graph_leaf, n + 1);
    for (uint32_t i = 0; i < n; i++) copies[i] = (loom_graph_leaf){leaves[i].name, leaves[i].dtype, leaves[i].depth};
    loom_graph_slot slot = {name, stream, n, copies};
    LOOM_PUSH(g->s->arena, g->slots, slot);
    LOOM_PUSH(g->s->arena, g->in_loop, g->looping);
    return (uint32_t)g->slots.count - 1;
}

/* Opens a function whose parameters are the stage's inputs and then `extra` types; fills the map for the inputs. */
static loom_body_id open_function(graph_build *g, emitter *e, const uint32_t *inputs, uint32_t n_inputs,
                                  const loom_type_id *extra, uint32_t n_extra) {
    splitter *s = g->s;
    loom_type_id *types = LOOM_NEW_ARRAY(s->arena, loom_type_id, n_inputs + n_extra + 1);
    loom_node_id *nodes = LOOM_NEW_ARRAY(s->arena, loom_node_id, n_inputs + 1);
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
    e.states = LOOM_NEW_ARRAY(g->s->arena, loom_node_id, g->s->p->n_nodes + 1);
    for (uint32_t i = 0; i < g->s->p->n_nodes; i++) e.map[i] = e.states[i] = LOOM_NONE;
    return e;
}

/* What the i-th chain of the stage begins with. */
static loom_node_id chain_start(const graph_build *g, const stage_need *t, size_t i) {
    return loom_operand(g->s->p, &g->s->p->nodes[t->chains.at[i]], 0);
}

/* Parameters for the states that a stage carries, which stand behind its other inputs; room for `more`. */
static loom_type_id *state_types(graph_build *g, emitter *e, const stage_need *t, uint32_t more) {
    loom_type_id *types = LOOM_NEW_ARRAY(g->s->arena, loom_type_id, t->chains.count + more + 1);
    for (size_t i = 0; i < t->chains.count; i++) types[i] = array_type(e, g->s->p->nodes[chain_start(g, t, i)].type);
    return types;
}

/* merge_j(inputs..., a, b): the operator's (or the merge) body alone. */
static uint32_t merge_function(graph_build *g, const stage_need *t, const uint32_t *inputs, uint32_t n_inputs,
                               loom_node_id c, const char *name) {
    splitter *s = g->s;
    const loom_node *n = &s->p->nodes[c];
    emitter e = new_emitter(g);
    loom_type_id type = array_type(&e, n->type), *types = state_types(g, &e, t, 2);
    uint32_t n_states = (uint32_t)t->chains.count;
    types[n_states] = types[n_states + 1] = type;
    loom_body_id body = open_function(g, &e, inputs, n_inputs, types, n_states + 2);
    /* Free nodes of the operator: whatever of the stage does not depend on the stream. */
    bool *needed = LOOM_NEW_ARRAY(s->arena, bool, s->p->n_nodes + 1);
    const loom_body *b = &s->p->bodies[s->entry];
    uint32_t which = n->op == LOOM_OP_SEQ_REDUCE ? 1 : 0;
    loom_node_id *uses;
    uint32_t n_uses = loom_scope_body_uses(s->p, s->arena, loom_node_body(s->p, n, which), &uses);
    for (uint32_t i = 0; i < n_uses; i++) needed[uses[i]] = true;
    for (loom_node_id m = b->end; m-- > b->first;) {
        if (s->region_of[m] == LOOM_NONE) continue;
        if (!needed[m] || t->boundary[m] || s->stream[m] || s->p->nodes[m].op == LOOM_OP_PARAM) {
            needed[m] = false;
            continue;
        }
        for (uint32_t i = 0; i < s->n_deps[m]; i++) needed[s->deps[m][i]] = true;
    }
    emit_needed(&e, needed);
    loom_node_id a = loom_build_param(g->to, body, n_inputs + n_states),
                 second = loom_build_param(g->to, body, n_inputs + n_states + 1), result;
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
    loom_graph_output o = {.merge = LOOM_NONE_FUNCTION, .order = LOOM_ORDER_ADJACENT};
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
    case LOOM_OP_SEQ_SPILL: o.kind = LOOM_OUT_SPILL; break;
    case LOOM_OP_SEQ_CHAIN: o.kind = LOOM_OUT_CHAIN; break;
    default: o.kind = LOOM_OUT_STREAM; break;
    }
    if (!loom_is_collected(o.kind) && o.kind != LOOM_OUT_CHAIN)
        o.merge = merge_function(g, t, inputs, n_inputs, c, name);
    return o;
}

/* ---- what changes from turn to turn ---- */

typedef struct extents_search {
    const loom_program *p;
    bool *decides; /* by node: an extent depends on its value */
} extents_search;

static void mark_operand(extents_search *x, const loom_node *n, uint32_t i) {
    x->decides[loom_operand(x->p, n, i)] = true;
}

/* Operands of `n` that are extents of what it makes, or numbers of turns. */
static void mark_extents(extents_search *x, const loom_node *n) {
    switch (n->op) {
    case LOOM_OP_GENERATE:
    case LOOM_OP_IOTA:
        for (uint32_t i = 0; i < n->n_operands; i++) mark_operand(x, n, i);
        break;
    case LOOM_OP_REPLICATE:
    case LOOM_OP_LOOP_FOR: mark_operand(x, n, 0); break;
    case LOOM_OP_UNFLATTEN:
        mark_operand(x, n, 0);
        mark_operand(x, n, 1);
        break;
    case LOOM_OP_SLICE:
        for (uint32_t i = 1; i < n->n_operands; i++) mark_operand(x, n, i);
        break;
    default: break;
    }
}

/* Whatever a node that decides is made of decides too, except where only its shape is asked. */
static void mark_sources(extents_search *x, loom_node_id id) {
    const loom_node *n = &x->p->nodes[id];
    if (n->op == LOOM_OP_DIM || n->op == LOOM_OP_LENGTH) return;
    for (uint32_t i = 0; i < n->n_operands; i++) mark_operand(x, n, i);
    for (uint32_t i = 0; i < n->n_bodies; i++) {
        const loom_body *b = loom_node_body(x->p, n, i);
        x->decides[b->result] = true;
        for (loom_node_id m = b->first; m < b->end; m++) x->decides[m] = true;
    }
}

/* A parameter of a body inside: whoever has the body gives it its value. */
static void mark_owners(extents_search *x, const loom_body *function) {
    for (loom_node_id id = function->first; id < function->end; id++) {
        const loom_node *n = &x->p->nodes[id];
        bool wanted = false;
        for (uint32_t i = 0; i < n->n_bodies; i++) {
            const loom_body *b = loom_node_body(x->p, n, i);
            for (uint32_t k = 0; k < b->n_params; k++) wanted = wanted || x->decides[b->first + k];
        }
        if (wanted) x->decides[id] = true;
    }
}

/* Inputs filled in a loop differ from turn to turn, and with them what would be compiled in; only those that extents
 * depend on have to be known. A state that is carried is another one in each chunk. */
static void find_varying(graph_build *g, loom_graph_stage *stage) {
    loom_arena *arena = g->s->arena;
    const loom_body *b = &g->to->bodies[g->to->functions[stage->function].body];
    extents_search x = {.p = g->to, .decides = LOOM_NEW_ARRAY(arena, bool, g->to->n_nodes + 1)};
    for (loom_node_id n = b->first; n < b->end; n++) mark_extents(&x, &g->to->nodes[n]);
    for (bool changed = true; changed;) {
        uint32_t before = 0, after = 0;
        for (loom_node_id n = b->first; n < b->end; n++) before += x.decides[n];
        mark_owners(&x, b);
        for (loom_node_id n = b->end; n-- > b->first;)
            if (x.decides[n]) mark_sources(&x, n);
        for (loom_node_id n = b->first; n < b->end; n++) after += x.decides[n];
        changed = after != before;
    }
    LOOM_VEC(uint32_t) varying = {0};
    for (uint32_t i = 0; i < stage->n_inputs; i++) {
        bool carried = i >= stage->n_inputs - stage->n_carried;
        if (carried || (g->in_loop.at[stage->inputs[i]] && !x.decides[b->first + i])) LOOM_PUSH(arena, varying, i);
    }
    stage->n_varying = (uint32_t)varying.count;
    stage->varying = varying.at;
}

static const char *place(const splitter *s, loom_node_id n) {
    const loom_node *node = &s->p->nodes[n];
    if (!node->span.line || node->span.file >= s->p->n_files) return loom_op_table[node->op].name;
    return loom_arena_printf(s->arena, "%s (%s:%u)", loom_op_table[node->op].name, s->p->files[node->span.file].name,
                             node->span.line);
}

/* The how-manieth of its kind a stage added now is, for people: turns of a loop do not count. */
static uint32_t number_of(const graph_build *g, loom_stage_kind kind) {
    uint32_t n = 0;
    for (size_t i = 0; i < g->stages.count; i++) n += g->stages.at[i].kind == kind;
    return n;
}

static void tell_of_spills(const graph_build *g, const stage_need *t, loom_graph_stage *stage) {
    const loom_program *p = g->s->p;
    const loom_node *root = &p->nodes[t->roots.at[0]];
    if (root->op == LOOM_OP_SEQ_SPILL) stage->saves = slot_of(g, loom_operand(p, root, 0));
    if (t->spilled == LOOM_NONE) return;
    const loom_node *spilled = &p->nodes[t->spilled];
    stage->spilled = slot_of(g, loom_operand(p, spilled, 1));
    stage->batch = slot_of(g, loom_operand(p, spilled, 2));
}

/* What the function gives: its roots, and behind them the states of scans; a chain is a root itself. */
static loom_node_id *stage_results(graph_build *g, const stage_need *t, const emitter *e, uint32_t *n) {
    loom_node_id *results = LOOM_NEW_ARRAY(g->s->arena, loom_node_id, t->roots.count + t->chains.count + 1);
    *n = 0;
    for (size_t i = 0; i < t->roots.count; i++) results[(*n)++] = e->map[t->roots.at[i]];
    for (size_t i = 0; i < t->chains.count; i++) {
        if (g->s->p->nodes[t->chains.at[i]].op == LOOM_OP_SEQ_SCAN) results[(*n)++] = state_behind(e, t->chains.at[i]);
    }
    return results;
}

/* The states among the stage's inputs and outputs; outputs for those of scans. */
static void carry_states(graph_build *g, const stage_need *t, loom_graph_stage *stage, loom_graph_output *outputs) {
    loom_arena *arena = g->s->arena;
    loom_graph_carried *carried = LOOM_NEW_ARRAY(arena, loom_graph_carried, t->chains.count + 1);
    uint32_t next = (uint32_t)t->roots.count;
    for (uint32_t i = 0; i < t->chains.count; i++) {
        uint32_t output = 0;
        if (g->s->p->nodes[t->chains.at[i]].op == LOOM_OP_SEQ_SCAN) {
            output = next++;
            const char *name = loom_arena_printf(arena, "stage %zu output %u", g->stages.count, output);
            outputs[output] = (loom_graph_output){LOOM_OUT_CHAIN, LOOM_ORDER_ADJACENT,
                                                  add_slot(g, name, chain_start(g, t, i), false), LOOM_NONE_FUNCTION};
        } else {
            while (t->roots.at[output] != t->chains.at[i]) output++;
        }
        carried[i] = (loom_graph_carried){stage->n_inputs - (uint32_t)t->chains.count + i, output};
    }
    stage->n_carried = (uint32_t)t->chains.count;
    stage->carried = carried;
}

static void build_stage(graph_build *g, stage_need *t) {
    splitter *s = g->s;
    const loom_body *b = &s->p->bodies[s->entry];
    LOOM_VEC(uint32_t) inputs = {0}, slots = {0}, streams = {0}, stream_nodes = {0};
    for (loom_node_id n = b->first; n < b->end; n++) {
        if (t->boundary[n]) {
            LOOM_PUSH(s->arena, inputs, n);
            LOOM_PUSH(s->arena, slots, slot_of(g, n));
        } else if (n < b->first + b->n_params && s->stream[n] && t->needed[n]) {
            LOOM_PUSH(s->arena, stream_nodes, n);
            LOOM_PUSH(s->arena, streams, g->slot_of[n]);
        }
    }
    emitter e = new_emitter(g);
    uint32_t n_inputs = (uint32_t)inputs.count, n_streams = (uint32_t)streams.count;
    uint32_t n_states = (uint32_t)t->chains.count, first = n_inputs + n_states;
    bool traversal = t->kind == LOOM_STAGE_TRAVERSAL;
    loom_type_id *extra = state_types(g, &e, t, n_streams + 1);
    extra[n_states] = loom_type_scalar(g->to, LOOM_I64);
    for (uint32_t i = 0; i < n_streams; i++)
        extra[n_states + 1 + i] = array_type(&e, s->p->nodes[stream_nodes.at[i]].type);
    loom_body_id body = open_function(g, &e, inputs.at, n_inputs, extra, n_states + (traversal ? 1 + n_streams : 0));
    for (uint32_t i = 0; i < n_states; i++) {
        e.states[t->chains.at[i]] = loom_build_param(g->to, body, n_inputs + i);
        LOOM_PUSH(s->arena, slots, slot_of(g, chain_start(g, t, i)));
    }
    if (traversal) {
        e.first = loom_build_param(g->to, body, first);
        for (uint32_t i = 0; i < n_streams; i++)
            e.map[stream_nodes.at[i]] = loom_build_param(g->to, body, first + 1 + i);
    }
    emit_needed(&e, t->needed);
    uint32_t n_roots = (uint32_t)t->roots.count, n_out;
    loom_node_id *results = stage_results(g, t, &e, &n_out);
    loom_graph_stage stage = {.kind = t->kind,
                              .n_inputs = first,
                              .inputs = slots.at,
                              .n_streams = n_streams,
                              .streams = streams.at,
                              .n_outputs = n_out};
    const char *name = loom_arena_printf(s->arena, "%s_%zu", traversal ? "chunk" : "run", g->stages.count);
    close_function(g, body, results, n_out, name, &stage.function);
    loom_graph_output *outputs = LOOM_NEW_ARRAY(s->arena, loom_graph_output, n_out + 1);
    for (uint32_t i = 0; i < n_roots; i++) {
        loom_node_id root = t->roots.at[i];
        outputs[i] = traversal ? output_of(g, t, root, inputs.at, n_inputs)
                               : (loom_graph_output){LOOM_OUT_VALUE, LOOM_ORDER_ANY, 0, LOOM_NONE_FUNCTION};
        outputs[i].slot =
            add_slot(g, loom_arena_printf(s->arena, "stage %zu output %u", g->stages.count, i), root, false);
        if (g->slot_of[root] == LOOM_NONE) g->slot_of[root] = outputs[i].slot;
    }
    carry_states(g, t, &stage, outputs);
    stage.outputs = outputs;
    if (t->region != 0 || n_states) find_varying(g, &stage);
    tell_of_spills(g, t, &stage);
    stage.label = loom_arena_printf(s->arena, "%s %u: %s%s", traversal ? "traversal" : "array stage",
                                    number_of(g, t->kind), place(s, t->roots.at[0]), n_states ? ", in order" : "");
    t->index = (uint32_t)g->stages.count;
    LOOM_PUSH(s->arena, g->stages, stage);
}

/* ---- stages and loops in order ---- */

static void build_region(graph_build *g, uint32_t r);

static void build_loop(graph_build *g, uint32_t q) {
    splitter *s = g->s;
    split_region *r = &s->regions.at[q];
    size_t at = g->loops.count, n = r->n_state;
    uint32_t *init = LOOM_NEW_ARRAY(s->arena, uint32_t, n + 1), *next = LOOM_NEW_ARRAY(s->arena, uint32_t, n + 1);
    r->current = LOOM_NEW_ARRAY(s->arena, uint32_t, n + 1);
    r->result = LOOM_NEW_ARRAY(s->arena, uint32_t, n + 1);
    bool around = g->looping;
    loom_graph_loop loop = {.first = (uint32_t)g->stages.count, .n_state = r->n_state};
    for (uint32_t i = 0; i < n; i++) init[i] = slot_of(g, split_init(s, q, i));
    g->looping = true;
    for (uint32_t i = 0; i < n; i++) {
        const char *name = loom_arena_printf(s->arena, "loop %zu state %u", at, i);
        r->current[i] = add_slot(g, name, split_init(s, q, i), false);
    }
    LOOM_PUSH(s->arena, g->loops, loop); /* before those inside it */
    build_region(g, q);
    g->looping = around;
    for (uint32_t i = 0; i < n; i++) {
        const char *name = loom_arena_printf(s->arena, "loop %zu result %u", at, i);
        next[i] = slot_of(g, split_next(s, q, i));
        r->result[i] = add_slot(g, name, split_init(s, q, i), false);
    }
    loop.end = (uint32_t)g->stages.count;
    loop.init = init, loop.next = next, loop.current = r->current, loop.result = r->result;
    loop.label = loom_arena_printf(s->arena, "loop over traversals: %s", place(s, r->loop));
    g->loops.at[at] = loop;
}

/* Array stages before traversals and loops of the same level. */
static void build_region(graph_build *g, uint32_t r) {
    splitter *s = g->s;
    for (uint32_t level = 0; level <= s->regions.at[r].max_level; level++)
        for (int pass = 0; pass < 2; pass++) {
            for (size_t i = 0; i < s->stages.count; i++) {
                stage_need *t = &s->stages.at[i];
                if (t->region == r && t->level == level && (t->kind == LOOM_STAGE_TRAVERSAL) == (pass == 1))
                    build_stage(g, t);
            }
            for (uint32_t q = 1; q < s->regions.count && pass == 1; q++) {
                const split_region *inner = &s->regions.at[q];
                if (inner->parent == r && inner->demanded && s->level[inner->loop] == level + 1) build_loop(g, q);
            }
        }
}

static loom_graph_slot *param_slots(graph_build *g, const loom_function *f) {
    const loom_body *b = &g->s->p->bodies[f->body];
    for (uint32_t i = 0; i < b->n_params; i++) {
        const char *name = f->param_names ? f->param_names[i] : loom_arena_printf(g->s->arena, "%u", i);
        g->slot_of[b->first + i] = add_slot(g, name, b->first + i, loom_scope_is_seq(g->s->p, b->first + i));
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
    out->n_loops = (uint32_t)g->loops.count;
    out->loops = g->loops.at;
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

void loom_split_assemble(splitter *s, const loom_function *f, loom_program **staged, loom_graph **graph) {
    loom_node_id result = s->p->bodies[f->body].result;
    graph_build g = start_graph(s);
    param_slots(&g, f);
    build_region(&g, 0);
    uint32_t slot = slot_of(&g, result);
    /* A parameter that is the result as it is has been copied by a stage: its slot is not the parameter's. */
    for (size_t i = 0; i < s->stages.count && s->p->nodes[result].op == LOOM_OP_PARAM; i++)
        for (size_t j = 0; j < s->stages.at[i].roots.count; j++)
            if (s->stages.at[i].roots.at[j] == result) slot = g.stages.at[s->stages.at[i].index].outputs[j].slot;
    seal(&g, s->p->bodies[f->body].n_params, slot, s->stream[result], graph);
    *staged = g.to;
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
        if (loom_scope_is_seq(p, b->first + i))
            LOOM_PUSH(arena, streams, i);
        else
            LOOM_PUSH(arena, inputs, i);
    }
    loom_graph_output *o = LOOM_NEW(arena, loom_graph_output);
    *o = (loom_graph_output){LOOM_OUT_VALUE, LOOM_ORDER_ANY, add_slot(&g, "result", b->result, false),
                             LOOM_NONE_FUNCTION};
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
