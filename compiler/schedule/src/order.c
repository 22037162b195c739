/* Rules.
 * An operation is PER CHUNK if it loops over the chunk, reads a column, the chunk's position or extent, or a value that
 * is per chunk, or makes part of an output that the chunk folds in. The others are done once a segment. An array stage
 * has no chunk: all of its operations are "per chunk" and run once. Among the per-chunk ones: as long as an operation
 * that is diagonal in the chunk axis is ready and may join the run, it is taken; so runs are as long as dependences let
 * them be. It may join if it reads what the run makes at its own element only. A CHECK stays before everything that
 * stood behind it, since that may rely on it.
 *
 * Example: a = f(x), s = fold + a, b = g(a), permute b becomes [a, b] [s] [permute]. Cost: operations times
 * dependences. */
#include "order.h"
#include "compiler/plan/graph.h"
#include "compiler/schedule/reads.h"
#include "hoist.h"
#include <string.h>

typedef struct edge {
    loom_lop_id after;
    uint32_t next; /* edge from the same operation, or LOOM_NONE */
} edge;

typedef struct orderer {
    loom_lifted *l;
    loom_arena *arena;
    loom_lop_id *parent;
    bool *per_chunk; /* per operation */
    bool *done;
    uint32_t *pending;   /* per operation: how many it waits for */
    uint32_t *last_edge; /* per operation: last edge from it */
    LOOM_VEC(edge) edges;
    uint32_t *run;                 /* per operation: the run it was put in, or LOOM_NONE */
    LOOM_VEC(loom_lop_id) order;   /* of operations that stand in no other */
    LOOM_VEC(loom_region) regions; /* first and end count entries of `order` until operations are renumbered */
} orderer;

bool loom_schedule_diagonal(const loom_lifted *l, loom_lop_id id) {
    const loom_lop *op = &l->ops[id];
    if (!op->n_axes || l->axes[op->axes[0]].kind != LOOM_AXIS_CHUNK) return false;
    /* Strips have scratch of a size that is known for each element. */
    if (loom_lifted_any_segmented(l, op->n_axes, op->axes)) return false;
    if (op->dense) return false; /* its results have no elements of the chunk */
    switch (op->kind) {
    case LOOM_LO_COMPUTE:
    case LOOM_LO_CHECK: return true;
    case LOOM_LO_REDUCE:
    case LOOM_LO_SCAN: return op->reduce != 0;
    case LOOM_LO_PERMUTE: return op->n_context > 0;
    case LOOM_LO_FFT: return op->n_axes > op->fft_rank;
    default: return false;
    }
}

static loom_lop_id outermost(const orderer *o, loom_lop_id id) {
    while (o->parent[id] != LOOM_NONE) id = o->parent[id];
    return id;
}

/* ---- what depends on the chunk ---- */

typedef struct chunk_use {
    const orderer *o;
    bool found;
} chunk_use;

static bool axis_is_per_chunk(const orderer *o, loom_axis_id id) {
    const loom_axis *axis = &o->l->axes[id];
    if (axis->kind == LOOM_AXIS_CHUNK) return true;
    if (axis->kind == LOOM_AXIS_SEGMENTED) return o->per_chunk[outermost(o, o->l->values[axis->offsets].op)];
    if (axis->kind != LOOM_AXIS_INPUT && axis->kind != LOOM_AXIS_SCALAR) return false;
    const loom_lvalue *v = &o->l->values[axis->value];
    return v->source == LOOM_LV_COLUMN || v->source == LOOM_LV_FIRST || v->carried ||
           (v->source == LOOM_LV_OP && o->per_chunk[outermost(o, v->op)]);
}

static void value_use(void *context, loom_lvalue_id id) {
    chunk_use *use = context;
    const loom_lvalue *v = &use->o->l->values[id];
    use->found |= v->source == LOOM_LV_COLUMN || v->source == LOOM_LV_FIRST || v->carried;
    use->found |= v->source == LOOM_LV_OP && use->o->per_chunk[outermost(use->o, v->op)];
}

static bool block_uses_chunk(const orderer *o, loom_lblock_id block) {
    if (block == LOOM_NONE) return false;
    for (loom_lexpr_id e = o->l->blocks[block].first; e < o->l->blocks[block].end; e++) {
        if (o->l->exprs[e].kind == LOOM_LX_EXTENT && axis_is_per_chunk(o, o->l->exprs[e].aux)) return true;
    }
    return false;
}

static bool makes_output(const loom_lifted *l, loom_lop_id id) {
    for (uint32_t o = 0; o < l->n_outputs; o++) {
        for (uint32_t i = 0; l->outputs[o].values && i < l->outputs[o].n_leaves; i++) {
            loom_lvalue_id v = l->outputs[o].values[i];
            if (v != LOOM_NONE && l->values[v].source == LOOM_LV_OP && l->values[v].op == id) return true;
        }
    }
    return l->ops[id].kind == LOOM_LO_PERMUTE && l->ops[id].output != LOOM_NONE;
}

static bool is_per_chunk(const orderer *o, loom_lop_id id) {
    const loom_lop *op = &o->l->ops[id];
    chunk_use use = {o, o->l->stage_kind != LOOM_STAGE_TRAVERSAL || makes_output(o->l, id)};
    for (uint32_t i = 0; i < op->n_axes; i++) use.found |= axis_is_per_chunk(o, op->axes[i]);
    loom_lifted_reads(o->l, id, value_use, &use);
    return use.found || block_uses_chunk(o, op->body) || block_uses_chunk(o, op->ne);
}

/* In order, for an operation reads what stands before it; what is inside a loop counts for the loop. */
static void find_per_chunk(orderer *o) {
    o->per_chunk = LOOM_NEW_ARRAY(o->arena, bool, (size_t)o->l->n_ops + 1);
    for (loom_lop_id id = 0; id < o->l->n_ops; id++) {
        bool found = is_per_chunk(o, id);
        o->per_chunk[id] |= found;
        if (found) o->per_chunk[outermost(o, id)] = true;
    }
    for (loom_lop_id id = 0; id < o->l->n_ops; id++) o->per_chunk[id] = o->per_chunk[outermost(o, id)];
}

/* ---- dependences ---- */

static void depend(orderer *o, loom_lop_id before, loom_lop_id after) {
    if (before == after) return;
    edge e = {after, o->last_edge[before]};
    LOOM_PUSH(o->arena, o->edges, e);
    o->last_edge[before] = (uint32_t)o->edges.count - 1;
    o->pending[after]++;
}

typedef struct user {
    orderer *o;
    loom_lop_id top;
} user;

static void value_needed(void *context, loom_lvalue_id id) {
    user *u = context;
    const loom_lvalue *v = &u->o->l->values[id];
    if (v->source == LOOM_LV_OP) depend(u->o, outermost(u->o, v->op), u->top);
}

static void axis_needed(user *u, loom_axis_id id) {
    loom_lvalue_id needs[3];
    uint32_t n = loom_axis_needs(u->o->l, id, needs);
    for (uint32_t i = 0; i < n; i++) value_needed(u, needs[i]);
}

static void block_needs(user *u, loom_lblock_id block) {
    const loom_lifted *l = u->o->l;
    if (block == LOOM_NONE) return;
    for (loom_lexpr_id e = l->blocks[block].first; e < l->blocks[block].end; e++) {
        if (l->exprs[e].kind == LOOM_LX_EXTENT) axis_needed(u, l->exprs[e].aux);
        if (l->exprs[e].kind != LOOM_LX_LOAD) continue;
        const loom_lvalue *v = &l->values[l->exprs[e].aux];
        for (uint32_t i = 0; i < v->n_axes; i++) axis_needed(u, v->axes[i]);
    }
}

static void find_dependences(orderer *o) {
    loom_lop_id last_check[2] = {LOOM_NONE, LOOM_NONE}; /* per phase */
    for (loom_lop_id id = 0; id < o->l->n_ops; id++) {
        const loom_lop *op = &o->l->ops[id];
        user u = {o, outermost(o, id)};
        loom_lifted_reads(o->l, id, value_needed, &u);
        for (uint32_t i = 0; i < op->n_axes; i++) axis_needed(&u, op->axes[i]);
        for (uint32_t j = 0; j < op->n_results; j++) {
            const loom_lvalue *v = &o->l->values[op->results[j]];
            for (uint32_t i = 0; i < v->n_axes; i++) axis_needed(&u, v->axes[i]);
        }
        for (uint32_t i = 0; i < op->n_target_axes; i++) axis_needed(&u, op->target_axes[i]);
        block_needs(&u, op->body);
        block_needs(&u, op->ne);
        if (o->parent[id] != LOOM_NONE) continue;
        loom_lop_id *check = &last_check[o->per_chunk[id]];
        if (*check != LOOM_NONE) depend(o, *check, id);
        if (op->kind == LOOM_LO_CHECK) *check = id;
    }
}

/* ---- order ---- */

/* Whether the operation reads values of the run at its own element of the chunk only. */
static bool reads_own_element(const orderer *o, loom_lop_id id, uint32_t run) {
    const loom_lifted *l = o->l;
    const loom_lop *op = &l->ops[id];
    if (op->body == LOOM_NONE) return true; /* a transform, of the element's own arrays */
    for (loom_lexpr_id e = l->blocks[op->body].first; e < l->blocks[op->body].end; e++) {
        const loom_lexpr *x = &l->exprs[e];
        if (x->kind != LOOM_LX_LOAD) continue;
        const loom_lvalue *v = &l->values[x->aux];
        if (v->source != LOOM_LV_OP || o->run[outermost(o, v->op)] != run) continue;
        if (!v->n_axes || l->axes[v->axes[0]].kind != LOOM_AXIS_CHUNK) return false;
        const loom_lexpr *index = &l->exprs[loom_lifted_arg(l, x, 0)];
        if (index->kind != LOOM_LX_AXIS || index->aux != 0) return false;
    }
    return true;
}

/* The first operation that is ready; `run`: only one that may join this run. */
static loom_lop_id next_ready(const orderer *o, bool per_chunk, uint32_t run) {
    for (loom_lop_id id = 0; id < o->l->n_ops; id++) {
        if (o->parent[id] != LOOM_NONE || o->done[id] || o->per_chunk[id] != per_chunk || o->pending[id]) continue;
        if (run == LOOM_NONE || (loom_schedule_diagonal(o->l, id) && reads_own_element(o, id, run))) return id;
    }
    return LOOM_NONE;
}

static void take(orderer *o, loom_lop_id id, uint32_t run) {
    o->done[id] = true;
    o->run[id] = run;
    for (uint32_t e = o->last_edge[id]; e != LOOM_NONE; e = o->edges.at[e].next) o->pending[o->edges.at[e].after]--;
    LOOM_PUSH(o->arena, o->order, id);
    o->regions.at[o->regions.count - 1].end = (uint32_t)o->order.count;
}

static void open_region(orderer *o, bool per_chunk) {
    uint32_t at = (uint32_t)o->order.count;
    loom_region region = {.first = at, .end = at, .schedule = LOOM_SCHEDULE_FLAT, .strip = 0, .per_chunk = per_chunk};
    LOOM_PUSH(o->arena, o->regions, region);
}

static void order_phase(orderer *o, bool per_chunk) {
    bool mixed = false; /* the open region holds operations that are not diagonal, and takes more of them */
    for (loom_lop_id id; (id = next_ready(o, per_chunk, LOOM_NONE)) != LOOM_NONE;) {
        bool diagonal = loom_schedule_diagonal(o->l, id);
        if (diagonal || !mixed) open_region(o, per_chunk);
        mixed = !diagonal;
        uint32_t run = (uint32_t)o->regions.count - 1;
        take(o, id, run);
        while (diagonal && (id = next_ready(o, per_chunk, run)) != LOOM_NONE) take(o, id, run);
    }
}

/* ---- renumbering ---- */

static void renumber(orderer *o) {
    loom_lifted *l = o->l;
    loom_lop *ops = LOOM_NEW_ARRAY(o->arena, loom_lop, (size_t)l->n_ops + 1);
    uint32_t n = 0;
    uint32_t *begin = LOOM_NEW_ARRAY(o->arena, uint32_t, o->order.count + 1);
    for (size_t i = 0; i < o->order.count; i++) {
        begin[i] = n;
        for (loom_lop_id id = 0; id <= o->order.at[i]; id++) {
            if (outermost(o, id) != o->order.at[i]) continue;
            ops[n++] = l->ops[id];
        }
    }
    begin[o->order.count] = n;
    loom_schedule_set_ops(l, ops, n);
    l->regions = LOOM_NEW_ARRAY(l->arena, loom_region, o->regions.count + 1);
    l->n_regions = (uint32_t)o->regions.count;
    for (uint32_t r = 0; r < l->n_regions; r++) {
        l->regions[r] = o->regions.at[r];
        l->regions[r].first = begin[l->regions[r].first];
        l->regions[r].end = begin[l->regions[r].end];
    }
}

void loom_schedule_order(loom_lifted *l, loom_arena *scratch) {
    orderer o = {.l = l,
                 .arena = scratch,
                 .parent = loom_lifted_parents(l, scratch),
                 .done = LOOM_NEW_ARRAY(scratch, bool, (size_t)l->n_ops + 1),
                 .run = LOOM_NEW_ARRAY(scratch, uint32_t, (size_t)l->n_ops + 1)};
    o.pending = LOOM_NEW_ARRAY(scratch, uint32_t, (size_t)l->n_ops + 1);
    o.last_edge = LOOM_NEW_ARRAY(scratch, uint32_t, (size_t)l->n_ops + 1);
    memset(o.run, 0xff, l->n_ops * sizeof *o.run);
    memset(o.last_edge, 0xff, l->n_ops * sizeof *o.last_edge);
    find_per_chunk(&o);
    find_dependences(&o);
    order_phase(&o, false);
    order_phase(&o, true);
    renumber(&o);
}
