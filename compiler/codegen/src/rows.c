/* Neighbouring actions that go by rows.
 *
 * Rule. COMPUTEs divided along their first axis and transforms of one axis, one after the other, make a ROWS node if
 * one of them is a transform and of a buffer that one of them writes and another one touches each takes, at index x of
 * its first axis, the part at x of the buffer's first level alone. Then a few rows at a time go through all of them. A
 * temporary that only they touch need not be there whole: each thread has room for a few rows, which stay in its cache.
 *
 * Example: lines[x, i] = a[at[i], x]; fft over i; out[x, y] += lines[x, of[y]] with 4096 lines of 6144 c64 writes 200
 * MB of lines to memory and reads them twice; by rows, 8 lines of a thread take 400 KB of its cache. (Seen, with the
 * transform along the other axis: 126 ms a plane before, 108 then.)
 *
 * Whether the rows of all are as many is known when they run; where they are not, they run one after the other. */
#include "actions.h"
#include "compiler/schedule/reads.h"

/* How an operation uses a buffer. */
typedef struct use {
    const loom_gen *g;
    uint32_t buffer;
    bool reads, writes;
    bool own; /* at x of its first axis, what is at x of the buffer alone */
} use;

static bool loads_own_row(const loom_gen *g, const loom_lop *op, loom_lvalue_id value) {
    const loom_lblock *body = &g->l->blocks[op->body];
    for (loom_lexpr_id e = body->first; e < body->end; e++) {
        const loom_lexpr *x = &g->l->exprs[e];
        if (x->kind != LOOM_LX_LOAD || x->aux != value) continue;
        if (g->l->values[value].n_axes == 0) return false;
        const loom_lexpr *index = &g->l->exprs[loom_lifted_arg(g->l, x, 0)];
        if (index->kind != LOOM_LX_AXIS || index->aux != 0) return false;
    }
    return true;
}

typedef struct reading {
    use *use;
    const loom_lop *op;
} reading;

static void note_read(void *context, loom_lvalue_id value) {
    reading *r = context;
    const loom_gen *g = r->use->g;
    if (g->value_buffer[value] != r->use->buffer) return;
    r->use->reads = true;
    if (r->op->kind == LOOM_LO_COMPUTE) r->use->own = r->use->own && loads_own_row(g, r->op, value);
}

static use use_of(const loom_gen *g, loom_lop_id id, uint32_t buffer) {
    const loom_lop *op = &g->l->ops[id];
    use u = {.g = g, .buffer = buffer, .own = true};
    loom_lifted_reads(g->l, id, note_read, &(reading){&u, op});
    for (uint32_t j = 0; j < op->n_results; j++) {
        if (g->value_buffer[op->results[j]] != buffer) continue;
        u.writes = true;
        u.own = u.own && !op->sliced;
    }
    return u;
}

static bool goes_by_rows(const loom_gen *g, const node *n) {
    if (n->op == LOOM_NONE) return false;
    const loom_lop *op = &g->l->ops[n->op];
    if (op->kind == LOOM_LO_FFT) return op->fft_rank == 1 && op->n_axes >= 2;
    return op->kind == LOOM_LO_COMPUTE && op->n_axes >= 1;
}

static bool may_go_together(const loom_gen *g, const node *a, const node *b) {
    for (uint32_t buffer = 0; buffer < g->buffers.count; buffer++) {
        if (!a->touched[buffer] || !b->touched[buffer]) continue;
        use x = use_of(g, a->op, buffer), y = use_of(g, b->op, buffer);
        if ((x.writes || y.writes) && !(x.own && y.own)) return false;
    }
    return true;
}

/* Nodes from `begin` on that go together; 0: there are not two of them, or none is a transform. */
static size_t count_together(const planner *p, const node_list *list, size_t begin) {
    const loom_gen *g = p->g;
    size_t n = 0;
    bool transforms = false;
    for (; begin + n < list->count; n++) {
        const node *next = list->at[begin + n];
        if (!goes_by_rows(g, next) || next->per_chunk != list->at[begin]->per_chunk) break;
        bool fits = true;
        for (size_t i = 0; i < n && fits; i++) fits = may_go_together(g, list->at[begin + i], next);
        if (!fits) break;
        transforms = transforms || g->l->ops[next->op].kind == LOOM_LO_FFT;
    }
    return transforms && n >= 2 ? n : 0;
}

/* ---- buffers that are there inside alone ---- */

static void count_touches(const loom_gen *g, const node_list *list, uint32_t *touches) {
    for (size_t i = 0; i < list->count; i++) {
        const node *n = list->at[i];
        bool leaf = !n->inner.count && !n->otherwise.count;
        for (uint32_t b = 0; leaf && b < g->buffers.count; b++) touches[b] += n->touched[b];
        if (!leaf && n->action.buffer < g->buffers.count) touches[n->action.buffer]++;
        count_touches(g, &n->inner, touches);
        count_touches(g, &n->otherwise, touches);
    }
}

static bool is_inside_alone(const planner *p, node *const *nodes, size_t n, uint32_t buffer, const uint32_t *touches) {
    const loom_gen *g = p->g;
    const loom_plan_buffer *b = &g->buffers.at[buffer];
    if (b->storage != LOOM_STORE_TEMP || p->kept[buffer] || b->n_extents < 1) return false;
    uint32_t here = 0;
    for (size_t i = 0; i < n; i++) {
        if (!nodes[i]->touched[buffer]) continue;
        use u = use_of(g, nodes[i]->op, buffer);
        if (!u.own || (!here && (!u.writes || u.reads))) return false;
        here++;
    }
    return here > 0 && here == touches[buffer];
}

static uint32_t rows_of(const loom_gen *g, const node *n) {
    return g->axis_extent[g->l->ops[n->op].axes[0]];
}

static node *put_together(planner *p, node *const *nodes, size_t n, const uint32_t *touches) {
    loom_gen *g = p->g;
    node *rows = LOOM_NEW(g->arena, node);
    uint32_t *buffers = LOOM_NEW_ARRAY(g->arena, uint32_t, g->buffers.count + 1), n_buffers = 0;
    rows->action.kind = LOOM_ACT_ROWS;
    rows->action.extent = rows->action.buffer = rows->action.buffer2 = LOOM_NO_EXTENT;
    rows->action.label = loom_arena_printf(g->arena, "rows of %zu operations, %s", n, nodes[0]->action.label);
    rows->touched = LOOM_NEW_ARRAY(g->arena, bool, g->buffers.count + 1);
    rows->per_chunk = nodes[0]->per_chunk;
    rows->op = LOOM_NONE;
    for (uint32_t b = 0; b < g->buffers.count; b++) {
        for (size_t i = 0; i < n; i++) rows->touched[b] |= nodes[i]->touched[b];
        if (!rows->touched[b] || !is_inside_alone(p, nodes, n, b, touches)) continue;
        p->in_rows[b] = true;
        buffers[n_buffers++] = b;
    }
    uint32_t *extents = LOOM_NEW_ARRAY(g->arena, uint32_t, n + n_buffers + 1);
    for (size_t i = 0; i < n; i++) {
        LOOM_PUSH(g->arena, rows->inner, nodes[i]);
        rows->action.cost += nodes[i]->action.cost;
        extents[i] = rows_of(g, nodes[i]);
    }
    for (uint32_t i = 0; i < n_buffers; i++) extents[n + i] = g->buffers.at[buffers[i]].extents[0];
    rows->action.n_units = (uint32_t)n + n_buffers;
    rows->action.unit_extents = extents;
    rows->action.n_buffers = n_buffers;
    rows->action.buffers = buffers;
    return rows;
}

static void put_all_together(planner *p, node_list *list, const uint32_t *touches) {
    node_list made = {0};
    for (size_t i = 0; i < list->count;) {
        node *n = list->at[i];
        put_all_together(p, &n->inner, touches);
        put_all_together(p, &n->otherwise, touches);
        size_t count = count_together(p, list, i);
        if (count) n = put_together(p, list->at + i, count, touches);
        LOOM_PUSH(p->g->arena, made, n);
        i += count ? count : 1;
    }
    *list = made;
}

void loom_gen_rows(planner *p, node_list *list) {
    if (p->g->l->stage_kind != LOOM_STAGE_ARRAY) return; /* what goes by elements goes in strips */
    if (p->g->l->force & LOOM_FORCE_FLAT) return;
    uint32_t *touches = LOOM_NEW_ARRAY(p->g->arena, uint32_t, p->g->buffers.count + 1);
    count_touches(p->g, list, touches);
    put_all_together(p, list, touches);
}
