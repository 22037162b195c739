/* Loops of expressions whose loads are in range in all turns.
 *
 * Rule. In an innermost FOR, a checked load that every turn makes, at an index x, p or p + x, with p the counter and x
 * not changing in the loop, is in range in all turns if it is in the first and in the last. Both are looked at before
 * the loop. Example, the sum of the cells under a kernel: for p in 0..n: s = s + kernel[p] * cells[y, x + p]
 *  => if n > 0 && n <= #kernel && y < #cells && x < #row && x + n - 1 < #row then (the loop without checks) else the
 * loop. Cost: the loop is there twice. See gen.h.
 *
 * Rule. So are loads of a FOR with one innermost FOR in it, whose number of turns does not change, at x, p + x or q + x
 * with p and q the counters and x not changing in either: looked at once for both. Example, the sum of the cells under
 * a box: for i in 0..m: for j in 0..n: s = s + cells[y + i, x + j].
 *
 * Rule. Such a load whose first index moves with a loop around, in a row that is short, reads a small box of a large
 * array, slice by slice; hardware does not foresee where the next slice's part of it begins. So each row asks for the
 * row that lies one further along the first axis. Example: a visibility predicted from 10 x 10 x 10 cells of planes
 * that take 2 GB, in double precision: 14.5 s for 10 million without, 9.9 s with it; no gain where the planes are in a
 * cache, which is therefore looked at first. */
#include "gen.h"

/* Rows of more bytes are followed by hardware. */
#define MOST_ROW_BYTES 512
/* Arrays of fewer bytes stay in a second-level cache. */
#define LEAST_ARRAY_BYTES ((int64_t)4 << 20)

typedef struct ranged {
    loom_fn *fn;
    const loom_lexpr *loop, *inner; /* inner: NULL where `loop` is the innermost */
    loom_lblock_id body, inner_body;
    const loom_lblock *block;
    bool *fixed;      /* per expression of the body: does not change in the loop, and may be built before it */
    LLVMValueRef all; /* i1: what was looked at so far is in range */
} ranged;

static bool is_innermost(const loom_lifted *l, const loom_lblock *b) {
    for (loom_lexpr_id e = b->first; e < b->end; e++) {
        if (l->exprs[e].kind == LOOM_LX_FOR || l->exprs[e].kind == LOOM_LX_WHILE) return false;
    }
    return true;
}

static bool is_inside(const ranged *r, loom_lexpr_id e) {
    return e >= r->block->first && e < r->block->end;
}

/* In every turn, of one or the other. */
static bool is_of_loops(const ranged *r, loom_lexpr_id e) {
    return r->fn->g->owner[e] == r->body || (r->inner && r->fn->g->owner[e] == r->inner_body);
}

static bool is_fixed(const ranged *r, loom_lexpr_id e) {
    return !is_inside(r, e) || r->fixed[e - r->block->first];
}

static void find_fixed(ranged *r) {
    const loom_lifted *l = r->fn->g->l;
    r->fixed = LOOM_NEW_ARRAY(r->fn->g->arena, bool, (size_t)(r->block->end - r->block->first) + 1);
    for (loom_lexpr_id id = r->block->first; id < r->block->end; id++) {
        const loom_lexpr *e = &l->exprs[id];
        bool plain = e->kind == LOOM_LX_CONST || e->kind == LOOM_LX_AXIS || e->kind == LOOM_LX_EXTENT ||
                     e->kind == LOOM_LX_CONVERT || (e->kind == LOOM_LX_PRIM && e->site == LOOM_NONE) ||
                     (e->kind == LOOM_LX_LOAD && e->mode == LOOM_LOAD_PROVEN);
        plain = plain && is_of_loops(r, id);
        for (uint32_t i = 0; i < e->n_args; i++) plain = plain && is_fixed(r, loom_lifted_arg(l, e, i));
        r->fixed[id - r->block->first] = plain;
    }
}

static bool is_counter(const ranged *r, loom_lexpr_id e) {
    const loom_lexpr *x = &r->fn->g->l->exprs[e];
    return x->kind == LOOM_LX_PARAM && x->aux == 0 && is_inside(r, e) && is_of_loops(r, e);
}

/* The counter that an index of the form p + x has. */
static loom_lexpr_id counter_of(const ranged *r, loom_lexpr_id index) {
    if (is_counter(r, index)) return index;
    loom_lexpr_id a = loom_lifted_arg(r->fn->g->l, &r->fn->g->l->exprs[index], 0);
    return is_counter(r, a) ? a : loom_lifted_arg(r->fn->g->l, &r->fn->g->l->exprs[index], 1);
}

/* Whether the index is x, p or p + x; x is LOOM_NONE for p alone. */
static bool has_form(const ranged *r, loom_lexpr_id index, bool *runs, loom_lexpr_id *x) {
    const loom_lifted *l = r->fn->g->l;
    const loom_lexpr *e = &l->exprs[index];
    *runs = !is_fixed(r, index);
    *x = *runs ? LOOM_NONE : index;
    if (!*runs || is_counter(r, index)) return true;
    if (e->kind != LOOM_LX_PRIM || e->prim != LOOM_PRIM_ADD || !is_of_loops(r, index)) return false;
    loom_lexpr_id a = loom_lifted_arg(l, e, 0), b = loom_lifted_arg(l, e, 1);
    *x = is_counter(r, a) ? b : a;
    return (is_counter(r, a) || is_counter(r, b)) && is_fixed(r, *x);
}

static bool is_ranged_load(const ranged *r, loom_lexpr_id id) {
    const loom_lexpr *e = &r->fn->g->l->exprs[id];
    return is_of_loops(r, id) && e->kind == LOOM_LX_LOAD && e->mode == LOOM_LOAD_CHECKED &&
           r->fn->g->l->values[e->aux].rep != LOOM_REP_IRREGULAR;
}

static bool find_index(const ranged *r, loom_lexpr_id id, uint32_t i, bool *runs, loom_lexpr_id *x) {
    const loom_lexpr *e = &r->fn->g->l->exprs[id];
    loom_lexpr_id index = loom_lifted_arg(r->fn->g->l, e, i);
    const loom_lvalue *v = &r->fn->g->l->values[e->aux];
    return !loom_load_is_own_axis(r->fn, index, v->axes[i]) && has_form(r, index, runs, x);
}

/* Loads of the loop of which an index moves with the counter; of those, where `known` is false, that were not looked at
 * further out. */
static bool has_ranged_loads(const ranged *r, bool known) {
    for (loom_lexpr_id id = r->block->first; id < r->block->end; id++) {
        if (!is_ranged_load(r, id)) continue;
        for (uint32_t i = 0; i < r->fn->g->l->values[r->fn->g->l->exprs[id].aux].n_axes; i++) {
            bool runs;
            loom_lexpr_id x;
            bool already = r->fn->ranged[id] & (uint64_t)1 << i;
            if ((known || !already) && find_index(r, id, i, &runs, &x) && runs) return true;
        }
    }
    return false;
}

/* What does not change in the loop, once it is known that there is a turn. */
static void build_fixed(ranged *r) {
    loom_block_reset(r->fn, r->body, NULL);
    for (loom_lexpr_id id = r->block->first; id < r->block->end; id++) {
        if (r->fixed[id - r->block->first] && !r->fn->memo[id].re) loom_expr_build(r->fn, id);
    }
}

static void also(ranged *r, LLVMValueRef condition) {
    r->all = r->all ? LLVMBuildAnd(r->fn->b, r->all, condition, "") : condition;
}

static void look_at(ranged *r, loom_lexpr_id id, uint32_t i) {
    loom_fn *fn = r->fn;
    bool runs;
    loom_lexpr_id x;
    if (!find_index(r, id, i, &runs, &x)) return;
    LLVMValueRef n = loom_fn_extent(fn, fn->g->l->values[fn->g->l->exprs[id].aux].axes[i]);
    LLVMValueRef first = x == LOOM_NONE ? loom_fn_i64(fn, 0) : fn->memo[x].re;
    also(r, LLVMBuildICmp(fn->b, LLVMIntULT, first, n, ""));
    if (!runs) return;
    loom_lexpr_id index = loom_lifted_arg(fn->g->l, &fn->g->l->exprs[id], i);
    bool of_inner = r->inner && fn->g->owner[counter_of(r, index)] == r->inner_body;
    LLVMValueRef turns = fn->memo[loom_lifted_arg(fn->g->l, of_inner ? r->inner : r->loop, 0)].re;
    LLVMValueRef last = LLVMBuildAdd(fn->b, first, LLVMBuildSub(fn->b, turns, loom_fn_i64(fn, 1), ""), "");
    also(r, LLVMBuildICmp(fn->b, LLVMIntULT, last, n, ""));
}

/* The one loop in the loop's body, if it is innermost and its number of turns is known before both. */
static bool find_inner(ranged *r) {
    const loom_lifted *l = r->fn->g->l;
    loom_lexpr_id found = LOOM_NONE;
    for (loom_lexpr_id e = r->block->first; e < r->block->end; e++) {
        if (l->exprs[e].kind == LOOM_LX_WHILE || (l->exprs[e].kind == LOOM_LX_FOR && found != LOOM_NONE)) return false;
        if (l->exprs[e].kind == LOOM_LX_FOR) found = e;
    }
    if (found == LOOM_NONE || r->fn->g->owner[found] != r->body) return false;
    r->inner = &l->exprs[found];
    r->inner_body = r->inner->blocks[0];
    loom_lexpr_id count = loom_lifted_arg(l, r->inner, 0);
    return !is_inside(r, count) && r->fn->memo[count].re;
}

static bool open_ranged(loom_fn *fn, loom_lexpr_id id, bool known, ranged *r) {
    const loom_lifted *l = fn->g->l;
    *r = (ranged){.fn = fn, .loop = &l->exprs[id], .body = l->exprs[id].blocks[0]};
    r->block = &l->blocks[r->body];
    if (fn->rare || (!is_innermost(l, r->block) && !find_inner(r))) return false;
    find_fixed(r);
    return has_ranged_loads(r, known);
}

LLVMBasicBlockRef loom_ranged_open(loom_fn *fn, loom_lexpr_id id) {
    ranged r;
    if (!open_ranged(fn, id, false, &r)) return NULL;
    LLVMBasicBlockRef look = loom_fn_block(fn, "look"), in_range = loom_fn_block(fn, "ranged"),
                      checked = loom_fn_block(fn, "checked");
    LLVMValueRef turns = fn->memo[loom_lifted_arg(fn->g->l, r.loop, 0)].re;
    LLVMValueRef some = LLVMBuildICmp(fn->b, LLVMIntSGT, turns, loom_fn_i64(fn, 0), "");
    if (r.inner) {
        LLVMValueRef inner = fn->memo[loom_lifted_arg(fn->g->l, r.inner, 0)].re;
        some = LLVMBuildAnd(fn->b, some, LLVMBuildICmp(fn->b, LLVMIntSGT, inner, loom_fn_i64(fn, 0), ""), "");
    }
    LLVMBuildCondBr(fn->b, some, look, checked);
    LLVMPositionBuilderAtEnd(fn->b, look);
    build_fixed(&r);
    for (loom_lexpr_id e = r.block->first; e < r.block->end; e++) {
        if (!is_ranged_load(&r, e)) continue;
        for (uint32_t i = 0; i < fn->g->l->values[fn->g->l->exprs[e].aux].n_axes; i++) look_at(&r, e, i);
    }
    LLVMBuildCondBr(fn->b, r.all, in_range, checked);
    LLVMPositionBuilderAtEnd(fn->b, checked);
    return in_range;
}

bool loom_ranged_is_known(loom_fn *fn, loom_lexpr_id id) {
    ranged r;
    return open_ranged(fn, id, true, &r) && !has_ranged_loads(&r, false);
}

static void mark(loom_fn *fn, loom_lexpr_id id, bool ranged_now) {
    ranged r;
    if (!open_ranged(fn, id, true, &r)) return;
    for (loom_lexpr_id e = r.block->first; e < r.block->end; e++) {
        fn->ranged[e] = 0;
        if (!ranged_now || !is_ranged_load(&r, e)) continue;
        loom_fn_note_expr(fn, e);
        for (uint32_t i = 0; i < fn->g->l->values[fn->g->l->exprs[e].aux].n_axes; i++) {
            bool runs;
            loom_lexpr_id x;
            if (find_index(&r, e, i, &runs, &x)) fn->ranged[e] |= (uint64_t)1 << i;
        }
    }
}

void loom_ranged_mark(loom_fn *fn, loom_lexpr_id id) {
    mark(fn, id, true);
}

void loom_ranged_close(loom_fn *fn, loom_lexpr_id id) {
    mark(fn, id, false);
}

/* ---- the next slice ---- */

/* The first turn's indices of a load in range, all that does not change in the loop being built; false: it has another
 * form. */
static bool first_indices(const ranged *r, loom_lexpr_id id, LLVMValueRef *indices) {
    const loom_lifted *l = r->fn->g->l;
    const loom_lexpr *e = &l->exprs[id];
    for (uint32_t i = 0; i < l->values[e->aux].n_axes; i++) {
        bool runs;
        loom_lexpr_id x;
        if (!has_form(r, loom_lifted_arg(l, e, i), &runs, &x) || (i == 0 && runs)) return false;
        indices[i] = x == LOOM_NONE ? loom_fn_i64(r->fn, 0) : r->fn->memo[x].re;
    }
    return true;
}

/* Bytes that the loop reads of one row; 0: not known, or not along a row. */
static int64_t row_bytes(const ranged *r, loom_lexpr_id id) {
    const loom_lifted *l = r->fn->g->l;
    const loom_lexpr *e = &l->exprs[id];
    const loom_lvalue *v = &l->values[e->aux];
    LLVMValueRef turns = r->fn->memo[loom_lifted_arg(l, r->loop, 0)].re;
    if (!LLVMIsAConstantInt(turns) || is_fixed(r, loom_lifted_arg(l, e, v->n_axes - 1))) return 0;
    int64_t n = LLVMConstIntGetSExtValue(turns), size = (int64_t)loom_dtype_size(v->dtype);
    return n > 0 && n <= MOST_ROW_BYTES / size ? n * size : 0;
}

/* The first index changes in a loop over an axis of the operation other than its first, which numbers elements. */
static bool goes_by_slices(const ranged *r, loom_lexpr_id id) {
    const loom_lifted *l = r->fn->g->l;
    const loom_lexpr *e = &l->exprs[id];
    return l->values[e->aux].n_axes >= 3 && r->fn->g->mask[loom_lifted_arg(l, e, 0)] & ~(uint64_t)1;
}

/* i1, for the whole function: the array is larger than a cache. Of an array without elements the product may wrap. */
static LLVMValueRef is_large(loom_fn *fn, const loom_lvalue *v) {
    LLVMValueRef bytes = loom_fn_i64(fn, (int64_t)loom_dtype_size(v->dtype));
    for (uint32_t i = 0; i < v->n_axes; i++) bytes = LLVMBuildMul(fn->entry, bytes, loom_fn_extent(fn, v->axes[i]), "");
    return LLVMBuildICmp(fn->entry, LLVMIntSGT, bytes, loom_fn_i64(fn, LEAST_ARRAY_BYTES), "");
}

static void prefetch_next_row(ranged *r, loom_lexpr_id id) {
    loom_fn *fn = r->fn;
    loom_lvalue_id array = fn->g->l->exprs[id].aux;
    const loom_lvalue *v = &fn->g->l->values[array];
    LLVMValueRef indices[LOOM_LIFTED_MAX_AXES];
    int64_t bytes = row_bytes(r, id);
    if (!bytes || !goes_by_slices(r, id) || !first_indices(r, id, indices)) return;
    LLVMBasicBlockRef large = loom_fn_block(fn, "large"), on = loom_fn_block(fn, "on");
    LLVMBuildCondBr(fn->b, is_large(fn, v), large, on);
    LLVMPositionBuilderAtEnd(fn->b, large);
    indices[0] = LLVMBuildAdd(fn->b, indices[0], loom_fn_i64(fn, 1), "");
    LLVMValueRef base = loom_fn_place(fn, array)->base, offset = loom_fn_offset(fn, array, indices);
    offset = LLVMBuildMul(fn->b, offset, loom_fn_i64(fn, (int64_t)loom_dtype_size(v->dtype)), "");
    loom_fn_prefetch(fn, base, offset, bytes);
    LLVMBuildBr(fn->b, on);
    LLVMPositionBuilderAtEnd(fn->b, on);
}

void loom_ranged_prefetch(loom_fn *fn, loom_lexpr_id id) {
    ranged r;
    if (!open_ranged(fn, id, true, &r) || r.inner) return;
    build_fixed(&r);
    for (loom_lexpr_id e = r.block->first; e < r.block->end; e++) {
        if (is_ranged_load(&r, e)) prefetch_next_row(&r, e);
    }
}
