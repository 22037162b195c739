/* Hoisting through gathers (DESIGN 4.1), for transforms, which cost most.
 *
 * Rule. In a traversal, let p[c, rest] be computed from a table T that does not depend on the chunk, and let p depend
 * on c only through the row T[i[c]], i a column. Then p[c, rest] = q[i[c], rest] with q[r, rest] = p's body on row r,
 * and fft p = (fft q)[i[c]]: p = f(T[i[c], ..]) over [chunk, rest]; s = fft p; ... s[c, ..] ...
 *  -> q = f(T[r, ..]) over [rows, rest];     t = fft q; ... t[i[c], ..] ...
 * q and t do not depend on the chunk, so they are made once a segment; what stays per element is an index. The index is
 * checked where t is read, with the site of the load from T. Conditions of p do not look at the row, so what can trap
 * in q traps for every row alike, and did so before. Only where the number of rows and their size are known and the
 * result is small (LOOM_MAX_HOISTED_BYTES).
 *
 * Example: AW-gridding transforms padded kernels akern[v.a1], akern[v.a2], wkern[v.wbin] for every visibility; with
 * this rule all 64 + 32 kernels once, and three transforms a visibility remain of six. Cost: linear in the operations
 * for each transform. */
#include "hoist.h"
#include "clone.h"
#include "compiler/plan/graph.h"
#include "compiler/schedule/reads.h"
#include <string.h>

/* What the transformed table may take: it lives as long as the segment, beside the accumulators. */
#define LOOM_MAX_HOISTED_BYTES 268435456.0

typedef struct hoister {
    loom_lifted *l;
    loom_arena *arena;
    loom_lop_id *parent;
    loom_lvalue_id column; /* i */
    loom_axis_id rows;     /* T's first axis */
    loom_lsite_id site;
    loom_lvalue_id from, to; /* fft p, fft q */
} hoister;

void loom_schedule_set_ops(loom_lifted *l, const loom_lop *ops, uint32_t n) {
    loom_lop *table = LOOM_NEW_ARRAY(l->arena, loom_lop, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) {
        loom_lop *op = &table[i];
        *op = ops[i];
        for (uint32_t j = 0; j < op->n_results; j++) l->values[op->results[j]].op = i;
        if (op->kind != LOOM_LO_LOOP && op->kind != LOOM_LO_IF) continue;
        uint32_t inner = op->inner_end - op->inner_first,
                 other = op->kind == LOOM_LO_IF ? op->else_end - op->else_first : 0;
        op->inner_first = i - inner - other;
        op->inner_end = op->else_first = op->inner_first + inner;
        op->else_end = i;
    }
    l->ops = table;
    l->n_ops = n;
    l->cap_ops = n + 1;
}

/* ---- whether the rule applies ---- */

static bool is_load_of_own_element(const hoister *h, const loom_lexpr *e) {
    const loom_lvalue *v = &h->l->values[e->aux];
    if (e->kind != LOOM_LX_LOAD || v->source != LOOM_LV_COLUMN || v->dtype != LOOM_I64 || v->n_axes != 1) return false;
    const loom_lexpr *index = &h->l->exprs[loom_lifted_arg(h->l, e, 0)];
    return index->kind == LOOM_LX_AXIS && index->aux == 0;
}

static bool is_table(const hoister *h, loom_lvalue_id id) {
    const loom_lvalue *v = &h->l->values[id];
    return (v->source == LOOM_LV_INPUT || v->source == LOOM_LV_CONSTANT) && v->n_axes >= 1 &&
           h->l->axes[v->axes[0]].kind == LOOM_AXIS_CONST;
}

/* Per expression of the body: 1 if it is the element's index (axis 0), 2 if it is the row number i[c], 4 if it depends
 * on the row. */
enum {
    ELEMENT = 1,
    ROW_NUMBER = 2,
    ROW = 4
};

static bool classify(hoister *h, const loom_lblock *b, loom_lexpr_id id, uint8_t *class) {
    const loom_lifted *l = h->l;
    const loom_lexpr *e = &l->exprs[id];
    uint8_t args = 0, *own = &class[id - b->first];
    for (uint32_t i = 0; i < e->n_args; i++) args |= class[loom_lifted_arg(l, e, i) - b->first];
    switch ((loom_lexpr_kind)e->kind) {
    case LOOM_LX_AXIS: *own = e->aux == 0 ? ELEMENT : 0; return true;
    case LOOM_LX_LOAD:
        if (is_load_of_own_element(h, e)) {
            *own = ROW_NUMBER;
            return h->column == LOOM_NONE || h->column == e->aux ? (h->column = e->aux, true) : false;
        }
        if (args & (ELEMENT | ROW)) return false;
        if (!(args & ROW_NUMBER)) return l->values[e->aux].n_axes == 0 || is_table(h, e->aux);
        /* A row of the table: its number is the first index and no other. */
        for (uint32_t i = 1; i < e->n_args; i++) {
            if (class[loom_lifted_arg(l, e, i) - b->first]) return false;
        }
        if (!is_table(h, e->aux) || (h->rows != LOOM_NONE && h->rows != l->values[e->aux].axes[0])) return false;
        h->rows = l->values[e->aux].axes[0];
        if (e->mode == LOOM_LOAD_CHECKED) h->site = e->site;
        *own = ROW;
        return e->mode != LOOM_LOAD_DEFAULT;
    case LOOM_LX_IF:
        for (uint32_t k = 0; k < 2; k++) {
            const loom_lblock *x = &l->blocks[e->blocks[k]];
            for (uint32_t r = 0; r < x->n_results; r++) {
                if (x->results[r] >= b->first && x->results[r] < b->end) *own |= class[x->results[r] - b->first];
            }
        }
        return args == 0 && !(*own & (ELEMENT | ROW_NUMBER));
    case LOOM_LX_FOR:
    case LOOM_LX_WHILE:
    case LOOM_LX_CHECK: return false;
    case LOOM_LX_PRIM:
        if (loom_prim_table[e->prim].can_trap && args) return false;
        break;
    default: break;
    }
    *own = args;
    return !(args & (ELEMENT | ROW_NUMBER));
}

/* Whether p's body depends on the element through a row of a table alone. */
static bool reads_one_row(hoister *h, const loom_lop *op) {
    const loom_lblock *b = &h->l->blocks[op->body];
    uint8_t *class = LOOM_NEW_ARRAY(h->arena, uint8_t, (size_t)(b->end - b->first) + 1);
    h->column = h->rows = h->site = LOOM_NONE;
    for (loom_lexpr_id e = b->first; e < b->end; e++) {
        for (uint32_t i = 0; i < h->l->exprs[e].n_args; i++) {
            loom_lexpr_id arg = loom_lifted_arg(h->l, &h->l->exprs[e], i);
            if (arg < b->first || arg >= b->end) return false;
        }
        if (!classify(h, b, e, class)) return false;
    }
    return h->column != LOOM_NONE && h->rows != LOOM_NONE;
}

static bool is_small(const hoister *h, const loom_lvalue *v) {
    double bytes = (double)loom_dtype_size(v->dtype) * (double)h->l->axes[h->rows].extent;
    for (uint32_t i = 1; i < v->n_axes; i++) {
        if (h->l->axes[v->axes[i]].kind != LOOM_AXIS_CONST) return false;
        bytes *= (double)h->l->axes[v->axes[i]].extent;
    }
    return bytes > 0 && bytes <= LOOM_MAX_HOISTED_BYTES;
}

typedef struct readers {
    const hoister *h;
    loom_lvalue_id value;
    loom_lop_id op;
    uint32_t count;
    bool unfit;
} readers;

static void count_reader(void *context, loom_lvalue_id value) {
    readers *r = context;
    if (value != r->value) return;
    r->count++;
    const loom_lop *op = &r->h->l->ops[r->op];
    r->unfit |= op->body == LOOM_NONE || r->h->parent[r->op] != LOOM_NONE;
}

/* Whether all that read the transform do so in bodies, at their own element of the chunk. */
static bool read_by_element(const hoister *h, loom_lvalue_id value) {
    const loom_lifted *l = h->l;
    readers r = {.h = h, .value = value};
    for (r.op = 0; r.op < l->n_ops; r.op++) {
        loom_lifted_reads(l, r.op, count_reader, &r);
        const loom_lop *op = &l->ops[r.op];
        if (op->body == LOOM_NONE) continue;
        for (loom_lexpr_id e = l->blocks[op->body].first; e < l->blocks[op->body].end; e++) {
            const loom_lexpr *x = &l->exprs[e];
            if (x->kind != LOOM_LX_LOAD || x->aux != value) continue;
            const loom_lexpr *index = &l->exprs[loom_lifted_arg(l, x, 0)];
            if (index->kind != LOOM_LX_AXIS || index->aux != 0) return false;
            r.count--;
        }
    }
    for (uint32_t o = 0; o < l->n_outputs; o++) {
        for (uint32_t i = 0; l->outputs[o].values && i < l->outputs[o].n_leaves; i++)
            r.unfit |= l->outputs[o].values[i] == value;
    }
    return !r.unfit && r.count == 0; /* every reading was such a load */
}

static bool applies(hoister *h, loom_lop_id fft) {
    const loom_lifted *l = h->l;
    const loom_lop *op = &l->ops[fft];
    if (op->kind != LOOM_LO_FFT || h->parent[fft] != LOOM_NONE || op->n_axes <= op->fft_rank) return false;
    if (l->axes[op->axes[0]].kind != LOOM_AXIS_CHUNK) return false;
    if (loom_lifted_any_segmented(l, op->n_axes, op->axes)) return false;
    const loom_lvalue *p = &l->values[op->args[0]];
    if (p->source != LOOM_LV_OP || h->parent[p->op] != LOOM_NONE || l->ops[p->op].kind != LOOM_LO_COMPUTE ||
        l->ops[p->op].n_results != 1)
        return false;
    return reads_one_row(h, &l->ops[p->op]) && is_small(h, p) && read_by_element(h, op->results[0]);
}

/* ---- rewriting ---- */

static loom_lexpr_id make(hoister *h, loom_lexpr e, const loom_lexpr_id *args, uint32_t n) {
    return loom_lifted_expr(h->l, e, args, n);
}

/* In q's body the row number is the index along the rows. */
static loom_lexpr_id row_expr(void *context, loom_lexpr_id id, loom_lexpr e, loom_lexpr_id *args, uint32_t n) {
    hoister *h = context;
    (void)id;
    if (is_load_of_own_element(h, &e))
        return make(h, (loom_lexpr){.kind = LOOM_LX_AXIS, .dtype = LOOM_I64, .aux = 0, .site = LOOM_NONE}, NULL, 0);
    return make(h, e, args, n);
}

/* In a reader's body s[c, ..] becomes t[i[c], ..], with i[c] checked and made harmless. */
static loom_lexpr_id reader_expr(void *context, loom_lexpr_id id, loom_lexpr e, loom_lexpr_id *args, uint32_t n) {
    hoister *h = context;
    (void)id;
    if (e.kind != LOOM_LX_LOAD || e.aux != h->from) return make(h, e, args, n);
    const loom_lexpr plain = {.dtype = LOOM_I64, .site = LOOM_NONE, .span = e.span};
    loom_lexpr load = plain, low = plain, bound = plain, check = plain, select = plain;
    load.kind = LOOM_LX_LOAD;
    load.mode = LOOM_LOAD_PROVEN;
    load.aux = h->column;
    low.kind = bound.kind = LOOM_LX_CONST;
    bound.imm.i = h->l->axes[h->rows].extent;
    loom_lexpr_id row = make(h, load, args, 1), zero = make(h, low, NULL, 0), rows = make(h, bound, NULL, 0);
    loom_lexpr compare = {
        .kind = LOOM_LX_PRIM, .dtype = LOOM_BOOL, .prim = LOOM_PRIM_GE, .site = LOOM_NONE, .span = e.span};
    loom_lexpr_id not_below = make(h, compare, (loom_lexpr_id[]){row, zero}, 2);
    compare.prim = LOOM_PRIM_LT;
    loom_lexpr_id below = make(h, compare, (loom_lexpr_id[]){row, rows}, 2);
    compare.prim = LOOM_PRIM_AND;
    loom_lexpr_id inside = make(h, compare, (loom_lexpr_id[]){not_below, below}, 2);
    if (h->site != LOOM_NONE) {
        check.kind = LOOM_LX_CHECK;
        check.site = h->site;
        row = make(h, check, (loom_lexpr_id[]){inside, row, row, rows}, 4);
    }
    select.kind = LOOM_LX_PRIM;
    select.prim = LOOM_PRIM_SELECT;
    args[0] = make(h, select, (loom_lexpr_id[]){inside, row, zero}, 3);
    e.aux = h->to;
    return make(h, e, args, n);
}

static loom_lblock_id rewrite_block(hoister *h, loom_lblock_id block,
                                    loom_lexpr_id (*replace)(void *, loom_lexpr_id, loom_lexpr, loom_lexpr_id *,
                                                             uint32_t)) {
    const loom_lblock b = h->l->blocks[block];
    loom_lexpr_id first = h->l->n_exprs, *results = LOOM_NEW_ARRAY(h->arena, loom_lexpr_id, (size_t)b.n_results + 1);
    loom_clone_block(&(loom_clone){.l = h->l, .scratch = h->arena, .replace = replace, .context = h}, block, results);
    return loom_lifted_block(h->l, first, 0, NULL, b.n_results, results);
}

static loom_lvalue_id over_rows(hoister *h, loom_lvalue_id like, loom_axis_id *axes) {
    loom_lvalue v = h->l->values[like];
    memcpy(axes, v.axes, v.n_axes * sizeof *axes);
    axes[0] = h->rows;
    v.axes = axes;
    v.op = LOOM_NONE;
    return loom_lifted_value(h->l, v);
}

static const loom_lvalue_id *keep(hoister *h, loom_lvalue_id value) {
    loom_lvalue_id *at = LOOM_NEW(h->l->arena, loom_lvalue_id);
    *at = value;
    return at;
}

static void rewrite(hoister *h, loom_lop_id fft) {
    loom_lifted *l = h->l;
    loom_lop transform = l->ops[fft];
    loom_lop_id maker = l->values[transform.args[0]].op;
    loom_lop compute = l->ops[maker];
    loom_axis_id *axes = LOOM_NEW_ARRAY(l->arena, loom_axis_id, (size_t)transform.n_axes + 1);
    loom_lvalue_id q = over_rows(h, transform.args[0], axes);
    h->from = transform.results[0];
    h->to = over_rows(h, h->from, axes);
    compute.axes = transform.axes = axes;
    compute.body = rewrite_block(h, compute.body, row_expr);
    compute.results = transform.args = keep(h, q);
    transform.results = keep(h, h->to);
    loom_lop *ops = LOOM_NEW_ARRAY(h->arena, loom_lop, (size_t)l->n_ops + 2);
    uint32_t n = 0;
    for (loom_lop_id id = 0; id < l->n_ops; id++) {
        loom_lop op = l->ops[id];
        if (id == maker) {
            ops[n++] = compute;
            ops[n++] = transform;
        }
        if (id == fft) continue;
        readers r = {.h = h, .value = h->from, .op = id};
        loom_lifted_reads(l, id, count_reader, &r);
        if (r.count) op.body = rewrite_block(h, op.body, reader_expr);
        ops[n++] = op;
    }
    loom_schedule_set_ops(l, ops, n);
}

/* Makers of arguments of transforms that are gone may be read by nobody now. */
static void drop_unread(loom_lifted *l, loom_arena *scratch) {
    loom_lop *ops = LOOM_NEW_ARRAY(scratch, loom_lop, (size_t)l->n_ops + 1);
    hoister h = {.l = l, .parent = loom_lifted_parents(l, scratch)};
    uint32_t n = 0;
    for (loom_lop_id id = 0; id < l->n_ops; id++) {
        readers r = {.h = &h, .value = l->ops[id].n_results == 1 ? l->ops[id].results[0] : LOOM_NONE};
        for (r.op = 0; r.op < l->n_ops; r.op++) loom_lifted_reads(l, r.op, count_reader, &r);
        bool output = r.value == LOOM_NONE;
        for (uint32_t o = 0; o < l->n_outputs; o++) {
            for (uint32_t i = 0; l->outputs[o].values && i < l->outputs[o].n_leaves; i++)
                output |= l->outputs[o].values[i] == r.value;
        }
        for (loom_axis_id a = 0; a < l->n_axes; a++) {
            loom_lvalue_id needs[3];
            uint32_t k = loom_axis_needs(l, a, needs);
            while (k) output |= needs[--k] == r.value;
        }
        bool plain = l->ops[id].kind == LOOM_LO_COMPUTE && h.parent[id] == LOOM_NONE;
        if (r.count || output || !plain) ops[n++] = l->ops[id];
    }
    loom_schedule_set_ops(l, ops, n);
}

void loom_schedule_hoist(loom_lifted *l, loom_arena *scratch) {
    if (l->stage_kind != LOOM_STAGE_TRAVERSAL) return;
    bool any = false;
    for (loom_lop_id id = 0; id < l->n_ops; id++) {
        hoister h = {.l = l, .arena = scratch, .parent = loom_lifted_parents(l, scratch)};
        if (!applies(&h, id)) continue;
        rewrite(&h, id);
        any = true;
        id = LOOM_NONE; /* numbers have changed: from the start */
    }
    if (any) drop_unread(l, scratch);
}
