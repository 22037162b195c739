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

/* How an operation uses a buffer that it touches. */
typedef struct use {
    uint32_t buffer;
    bool reads, writes;
    bool own; /* at x of its first axis, what is at x of the buffer alone */
} use;

typedef LOOM_VEC(use) use_list;

typedef struct reading {
    const loom_gen *g;
    use_list uses;
    use **of_buffer; /* NULL: not touched */
} reading;

static bool is_of_own_row(const loom_gen *g, const loom_lexpr *load) {
    if (g->l->values[load->aux].n_axes == 0) return false;
    const loom_lexpr *index = &g->l->exprs[loom_lifted_arg(g->l, load, 0)];
    return index->kind == LOOM_LX_AXIS && index->aux == 0;
}

static use *use_of_value(const reading *r, loom_lvalue_id value) {
    uint32_t buffer = r->g->value_buffer[value];
    return buffer < r->g->buffers.count ? r->of_buffer[buffer] : NULL;
}

static void note_read(void *context, loom_lvalue_id value) {
    use *u = use_of_value(context, value);
    if (u) u->reads = true;
}

static void note_loads(const reading *r, const loom_lop *op) {
    const loom_lblock *body = &r->g->l->blocks[op->body];
    for (loom_lexpr_id e = body->first; e < body->end; e++) {
        const loom_lexpr *x = &r->g->l->exprs[e];
        use *u = x->kind == LOOM_LX_LOAD ? use_of_value(r, x->aux) : NULL;
        if (u) u->own = u->own && is_of_own_row(r->g, x);
    }
}

/* `of_buffer` is all NULL before and after. */
static use_list find_uses(const loom_gen *g, const node *n, use **of_buffer) {
    const loom_lop *op = &g->l->ops[n->op];
    reading r = {.g = g, .of_buffer = of_buffer};
    for (uint32_t b = 0; b < g->buffers.count; b++) {
        if (n->touched[b]) LOOM_PUSH(g->arena, r.uses, ((use){.buffer = b, .own = true}));
    }
    for (size_t i = 0; i < r.uses.count; i++) of_buffer[r.uses.at[i].buffer] = &r.uses.at[i];
    loom_lifted_reads(g->l, n->op, note_read, &r);
    if (op->kind == LOOM_LO_COMPUTE) note_loads(&r, op);
    for (uint32_t j = 0; j < op->n_results; j++) {
        use *u = use_of_value(&r, op->results[j]);
        if (!u) continue;
        u->writes = true;
        u->own = u->own && !op->sliced;
    }
    for (size_t i = 0; i < r.uses.count; i++) of_buffer[r.uses.at[i].buffer] = NULL;
    return r.uses;
}

static bool goes_by_rows(const loom_gen *g, const node *n) {
    if (n->op == LOOM_NONE) return false;
    const loom_lop *op = &g->l->ops[n->op];
    if (op->kind == LOOM_LO_FFT) return op->fft_rank == 1 && op->n_axes >= 2;
    return op->kind == LOOM_LO_COMPUTE && op->n_axes >= 1;
}

/* ---- nodes that go together ---- */

/* Of a buffer, how many operations of the run so far do what. */
typedef struct tally {
    int64_t all, writers, others; /* others: that touch not their own rows alone */
    int64_t writing_others;
} tally;

/* A run of nodes that go together, [begin, end) of a list. Nodes join it at its end and leave it at its begin, each
 * once, so that finding all runs of a list takes time in proportion to what its nodes touch. */
typedef struct run {
    const loom_gen *g;
    const node_list *list;
    const use_list *uses; /* per node of the list */
    size_t begin, end;
    int64_t transforms;
    tally *of_buffer;
} run;

static void count_node(run *r, size_t at, int by) {
    for (size_t i = 0; i < r->uses[at].count; i++) {
        const use *u = &r->uses[at].at[i];
        tally *t = &r->of_buffer[u->buffer];
        t->all += by;
        t->writers += u->writes ? by : 0;
        t->others += u->own ? 0 : by;
        t->writing_others += u->writes && !u->own ? by : 0;
    }
    r->transforms += r->g->l->ops[r->list->at[at]->op].kind == LOOM_LO_FFT ? by : 0;
}

/* Whether the node at `at` goes together with all of the run. */
static bool fits(const run *r, size_t at) {
    const node *n = r->list->at[at];
    if (!goes_by_rows(r->g, n) || n->per_chunk != r->list->at[r->begin]->per_chunk) return false;
    for (size_t i = 0; i < r->uses[at].count; i++) {
        const use *u = &r->uses[at].at[i];
        const tally *t = &r->of_buffer[u->buffer];
        if (u->writes ? (u->own ? t->others : t->all) : (u->own ? t->writing_others : t->writers)) return false;
    }
    return true;
}

/* Nodes from `begin` on that go together; 0: there are not two of them, or none is a transform. What goes together from
 * one node on does so from the next one on too, so the end never moves back. */
static size_t count_together(run *r, size_t begin) {
    while (r->begin < begin) {
        if (r->begin < r->end) count_node(r, r->begin, -1);
        r->begin++;
    }
    if (r->end < begin) r->end = begin;
    while (r->end < r->list->count && fits(r, r->end)) count_node(r, r->end++, 1);
    size_t n = r->end - r->begin;
    return r->transforms && n >= 2 ? n : 0;
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

/* What the nodes of a run do with a buffer, in their order. */
typedef struct inside {
    uint32_t n;
    bool read_first; /* before one of them has written it, or not by its own rows */
} inside;

static void find_inside(const run *r, inside *of_buffer) {
    for (size_t at = r->begin; at < r->end; at++) {
        for (size_t i = 0; i < r->uses[at].count; i++) {
            const use *u = &r->uses[at].at[i];
            inside *b = &of_buffer[u->buffer];
            if (!u->own || (!b->n && (!u->writes || u->reads))) b->read_first = true;
            b->n++;
        }
    }
}

static bool is_inside_alone(const planner *p, uint32_t buffer, const inside *b, const uint32_t *touches) {
    const loom_plan_buffer *of = &p->g->buffers.at[buffer];
    if (of->storage != LOOM_STORE_TEMP || p->kept[buffer] || of->n_extents < 1) return false;
    return b->n > 0 && !b->read_first && b->n == touches[buffer];
}

static uint32_t rows_of(const loom_gen *g, const node *n) {
    return g->axis_extent[g->l->ops[n->op].axes[0]];
}

static node *put_together(planner *p, const run *r, const uint32_t *touches) {
    loom_gen *g = p->g;
    node *const *nodes = r->list->at + r->begin;
    size_t n = r->end - r->begin;
    node *rows = LOOM_NEW(g->arena, node);
    uint32_t *buffers = LOOM_NEW_ARRAY(g->arena, uint32_t, g->buffers.count + 1), n_buffers = 0;
    rows->action.kind = LOOM_ACT_ROWS;
    rows->action.extent = rows->action.buffer = rows->action.buffer2 = LOOM_NO_EXTENT;
    rows->action.label = loom_arena_printf(g->arena, "rows of %zu operations, %s", n, nodes[0]->action.label);
    rows->touched = LOOM_NEW_ARRAY(g->arena, bool, g->buffers.count + 1);
    rows->per_chunk = nodes[0]->per_chunk;
    rows->op = LOOM_NONE;
    inside *of_buffer = LOOM_NEW_ARRAY(g->arena, inside, g->buffers.count + 1);
    find_inside(r, of_buffer);
    for (uint32_t b = 0; b < g->buffers.count; b++) {
        rows->touched[b] = of_buffer[b].n > 0;
        if (!is_inside_alone(p, b, &of_buffer[b], touches)) continue;
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

/* Tables per buffer, clean between lists. */
typedef struct tables {
    uint32_t *touches; /* leaves of the whole tree; filled once */
    use **of_buffer;
    tally *tallies;
} tables;

static bool has_transform(const loom_gen *g, const node_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        if (goes_by_rows(g, list->at[i]) && g->l->ops[list->at[i]->op].kind == LOOM_LO_FFT) return true;
    }
    return false;
}

static void put_list_together(planner *p, node_list *list, const tables *t) {
    const loom_gen *g = p->g;
    use_list *uses = LOOM_NEW_ARRAY(g->arena, use_list, list->count + 1);
    run r = {.g = g, .list = list, .uses = uses, .of_buffer = t->tallies};
    node_list made = {0};
    for (size_t i = 0; i < list->count; i++) {
        if (goes_by_rows(g, list->at[i])) uses[i] = find_uses(g, list->at[i], t->of_buffer);
    }
    for (size_t i = 0; i < list->count;) {
        size_t count = count_together(&r, i);
        node *n = count ? put_together(p, &r, t->touches) : list->at[i];
        LOOM_PUSH(g->arena, made, n);
        i += count ? count : 1;
    }
    count_together(&r, list->count);
    *list = made;
}

static void put_all_together(planner *p, node_list *list, const tables *t) {
    for (size_t i = 0; i < list->count; i++) {
        put_all_together(p, &list->at[i]->inner, t);
        put_all_together(p, &list->at[i]->otherwise, t);
    }
    if (has_transform(p->g, list)) put_list_together(p, list, t);
}

void loom_gen_rows(planner *p, node_list *list) {
    const loom_gen *g = p->g;
    if (g->l->stage_kind != LOOM_STAGE_ARRAY) return; /* what goes by elements goes in strips */
    if (g->l->force & LOOM_FORCE_FLAT) return;
    size_t n = g->buffers.count + 1;
    tables t = {LOOM_NEW_ARRAY(g->arena, uint32_t, n), LOOM_NEW_ARRAY(g->arena, use *, n),
                LOOM_NEW_ARRAY(g->arena, tally, n)};
    count_touches(g, list, t.touches);
    put_all_together(p, list, &t);
}
