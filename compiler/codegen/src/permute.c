/* PERMUTE as inspector and executor (DESIGN 4.10).
 *
 * Rules. The index space is split into UNITS (leading axes) and a PATCH (trailing axes): an axis belongs to the patch
 * if every index is base + axis, base - axis or free of it, it moves along one level of the target at most, and it
 * alone does; its extent is constant, so that a patch is a rectangle of constant size at a base. Trailing levels of the
 * target that are indexed by a loop over just that level are not indexed at all: they are elements. INSPECT evaluates
 * the bases with the patch axes at 0; EXECUTE is given units in the order the runtime chose and runs the body over
 * their patches: without tests where the patch is inside the target, with clipped loops else. What depends on the unit
 * alone is evaluated before the patch's loops.
 *
 * Example (convolution gridding): axes [chunk][15][15], indices (y[c] + i - 7, x[c] + j - 7) and value v[c] * k[i, j]:
 * units are the elements of the chunk, the patch covers [base, base + 15) in both levels. Worst case (a histogram):
 * every point is a unit with a patch of one cell.
 */
#include "gen.h"

/* Larger patches make poor units: a unit is the piece of work that goes to one thread. */
#define LOOM_MAX_PATCH_EXTENT 4096
#define LOOM_MAX_PATCH_POINTS 65536

enum {
    NOT_LINEAR = 2
};

/* Coefficient of the axis in an index: -1, 0, 1 or NOT_LINEAR. */
static int coefficient(const loom_gen *g, loom_lexpr_id id, uint32_t position) {
    const loom_lexpr *e = &g->l->exprs[id];
    if (!(g->mask[id] & (uint64_t)1 << position)) return 0;
    if (e->kind == LOOM_LX_AXIS) return 1;
    if (e->kind != LOOM_LX_PRIM || e->dtype != LOOM_I64 || (e->prim != LOOM_PRIM_ADD && e->prim != LOOM_PRIM_SUB))
        return NOT_LINEAR;
    int a = coefficient(g, loom_lifted_arg(g->l, e, 0), position),
        b = coefficient(g, loom_lifted_arg(g->l, e, 1), position);
    if (a == NOT_LINEAR || b == NOT_LINEAR) return NOT_LINEAR;
    int sum = e->prim == LOOM_PRIM_ADD ? a + b : a - b;
    return sum < -1 || sum > 1 ? NOT_LINEAR : sum;
}

/* The level that the axis moves along (LOOM_NONE: none); false if it cannot be part of a patch. */
static bool moves_along(const loom_gen *g, const loom_lop *op, uint32_t position, uint32_t *level, int *sign) {
    const loom_lblock *body = &g->l->blocks[op->body];
    *level = LOOM_NONE;
    *sign = 0;
    for (uint32_t d = 0; d < op->rank; d++) {
        int c = coefficient(g, body->results[d], position);
        if (c == NOT_LINEAR || (c && *level != LOOM_NONE)) return false;
        if (!c) continue;
        *level = d;
        *sign = c;
    }
    return true;
}

/* Whether level d is indexed by exactly the loop at `position` over that level. */
static bool is_element_level(const loom_gen *g, const loom_lop *op, uint32_t d, uint32_t position) {
    const loom_lexpr *e = &g->l->exprs[g->l->blocks[op->body].results[d]];
    return e->kind == LOOM_LX_AXIS && e->aux == position && op->axes[position] == op->target_axes[op->n_context + d];
}

static bool joins_patch(const loom_gen *g, const loom_lop *op, uint32_t position, uint32_t level, double *points) {
    const loom_axis *axis = &g->l->axes[op->axes[position]];
    if (axis->kind != LOOM_AXIS_CONST)
        return level != LOOM_NONE && level > 0 && is_element_level(g, op, level, position);
    *points *= (double)axis->extent;
    return axis->extent > 0 && axis->extent <= LOOM_MAX_PATCH_EXTENT && *points <= LOOM_MAX_PATCH_POINTS;
}

/* Trailing levels that are element levels; the first level stays indexed, as a permute without an index is none. */
static uint32_t indexed_levels(const loom_gen *g, const loom_lop *op, const loom_patch *patch) {
    uint32_t rank = op->rank;
    while (rank > 1) {
        bool element = false;
        for (uint32_t p = patch->n_units; p < op->n_axes; p++) {
            element |= patch->level[p] == rank - 1 && is_element_level(g, op, rank - 1, p);
        }
        if (!element) break;
        rank--;
    }
    return rank;
}

static uint32_t patch_begin(const loom_gen *g, const loom_lop *op, loom_patch *patch) {
    bool taken[LOOM_LIFTED_MAX_AXES] = {false};
    double points = 1;
    uint32_t p = op->n_axes;
    for (; p > 0; p--) {
        uint32_t level;
        int sign;
        if (!moves_along(g, op, p - 1, &level, &sign)) break;
        if (level != LOOM_NONE && taken[level]) break;
        if (!joins_patch(g, op, p - 1, level, &points)) break;
        if (level != LOOM_NONE) taken[level] = true;
        patch->level[p - 1] = level;
        patch->sign[p - 1] = sign;
    }
    return p;
}

void loom_permute_analyse(const loom_gen *g, loom_lop_id id, loom_patch *patch) {
    const loom_lop *op = &g->l->ops[id];
    *patch = (loom_patch){.level = LOOM_NEW_ARRAY(g->arena, uint32_t, (size_t)op->n_axes + 1),
                          .sign = LOOM_NEW_ARRAY(g->arena, int, (size_t)op->n_axes + 1),
                          .lower = LOOM_NEW_ARRAY(g->arena, int64_t, (size_t)op->rank + 1),
                          .upper = LOOM_NEW_ARRAY(g->arena, int64_t, (size_t)op->rank + 1)};
    patch->n_units = patch_begin(g, op, patch);
    patch->rank = indexed_levels(g, op, patch);
    /* An axis of unknown extent can be in the patch only along an element level. */
    for (uint32_t p = op->n_axes; p-- > patch->n_units;) {
        bool constant = g->l->axes[op->axes[p]].kind == LOOM_AXIS_CONST;
        if (constant || (patch->level[p] != LOOM_NONE && patch->level[p] >= patch->rank)) continue;
        patch->n_units = p + 1;
        patch->rank = indexed_levels(g, op, patch);
        p = op->n_axes;
    }
    for (uint32_t d = 0; d < patch->rank; d++) patch->upper[d] = 1;
    for (uint32_t p = patch->n_units; p < op->n_axes; p++) {
        uint32_t d = patch->level[p];
        if (d == LOOM_NONE || d >= patch->rank) continue;
        int64_t extent = g->l->axes[op->axes[p]].extent;
        patch->lower[d] = patch->sign[p] > 0 ? 0 : 1 - extent;
        patch->upper[d] = patch->sign[p] > 0 ? extent : 1;
    }
}

static uint64_t unit_mask(const loom_patch *patch) {
    return ((uint64_t)1 << patch->n_units) - 1;
}

/* Indices of the unit's axes, from its row-major number. */
static void decode_unit(loom_fn *fn, const loom_lop *op, uint32_t n_units, LLVMValueRef unit) {
    for (uint32_t p = n_units; p-- > 0;) {
        if (p == 0) {
            fn->axis[p] = unit;
            break;
        }
        LLVMValueRef extent = loom_fn_extent(fn, op->axes[p]);
        fn->axis[p] = LLVMBuildURem(fn->b, unit, extent, "");
        unit = LLVMBuildUDiv(fn->b, unit, extent, "");
    }
    fn->element = n_units ? fn->axis[0] : NULL;
}

static LLVMValueRef target_extent(loom_fn *fn, const loom_lop *op, uint32_t level) {
    return loom_fn_extent(fn, op->target_axes[op->n_context + level]);
}

/* ---- INSPECT ---- */

static void inspect_unit(loom_fn *fn, const loom_lop *op, const loom_patch *patch, LLVMValueRef unit) {
    LLVMBuilderRef B = fn->b;
    decode_unit(fn, op, patch->n_units, unit);
    for (uint32_t p = patch->n_units; p < op->n_axes; p++) fn->axis[p] = loom_fn_i64(fn, 0);
    loom_block_reset(fn, op->body, NULL);
    loom_block_build(fn, op->body, ~(uint64_t)0);
    LLVMValueRef from = loom_fn_param(fn, 1),
                 at = LLVMBuildNSWMul(B, LLVMBuildNSWSub(B, unit, from, ""), loom_fn_i64(fn, patch->rank), "");
    LLVMValueRef outside = LLVMConstInt(fn->g->i1, 0, 0), base[LOOM_LIFTED_MAX_AXES];
    for (uint32_t d = 0; d < patch->rank; d++) {
        base[d] = loom_block_result(fn, op->body, d).re;
        /* base + lower >= extent or base + upper <= 0, written so that no base overflows */
        LLVMValueRef end = LLVMBuildNSWSub(B, target_extent(fn, op, d), loom_fn_i64(fn, patch->lower[d]), "");
        LLVMValueRef after = LLVMBuildICmp(B, LLVMIntSGE, base[d], end, "");
        LLVMValueRef before = LLVMBuildICmp(B, LLVMIntSLE, base[d], loom_fn_i64(fn, -patch->upper[d]), "");
        outside = LLVMBuildOr(B, outside, LLVMBuildOr(B, after, before, ""), "");
    }
    for (uint32_t d = 0; d < patch->rank; d++) {
        LLVMValueRef place = LLVMBuildNSWAdd(B, at, loom_fn_i64(fn, d), ""), value = base[d];
        if (d == 0) value = LLVMBuildSelect(B, outside, loom_fn_i64(fn, LOOM_DROPPED), value, "");
        loom_fn_store(fn, LOOM_I64, loom_fn_param(fn, 3), place, fn->n_scopes - 1, (loom_sv){value, NULL});
    }
}

uint32_t loom_gen_inspect(loom_gen *g, loom_lop_id id, const loom_patch *patch, bool *touched) {
    const loom_lop *op = &g->l->ops[id];
    uint32_t kernel = loom_gen_kernel(g, "inspect");
    loom_fn fn;
    LLVMTypeRef parameters[] = {g->i64, g->i64, g->ptr};
    loom_fn_open(g, &fn, g->kernels.at[kernel].symbol, parameters, 3);
    loom_fn_new_scope(&fn);
    fn.op = id;
    fn.wanted = loom_block_needs(g, op->body, 0, patch->rank, false);
    loom_loop loop;
    loom_loop_open(&fn, &loop, loom_fn_param(&fn, 1), loom_fn_param(&fn, 2), NULL);
    inspect_unit(&fn, op, patch, loop.index);
    loom_loop_close(&fn, &loop);
    loom_fn_close(&fn);
    loom_fn_add_touched(&fn, touched);
    return kernel;
}

/* ---- EXECUTE ---- */

typedef struct execution {
    loom_fn *fn;
    const loom_lop *op;
    const loom_patch *patch;
    uint32_t order[LOOM_LIFTED_MAX_AXES], n; /* patch axes, outermost loop first */
    LLVMValueRef base[LOOM_LIFTED_MAX_AXES];
    loom_place *target;
    const loom_dtype *dtype;
    uint32_t k;
    bool clipped;
} execution;

/* Axes that move along no level first, in their order (of several writers the last wins); then by level, so that the
 * innermost loop runs along the target's rows. */
static void order_patch(execution *x) {
    for (uint32_t p = x->patch->n_units; p < x->op->n_axes; p++) {
        if (x->patch->level[p] == LOOM_NONE) x->order[x->n++] = p;
    }
    for (uint32_t d = 0; d < x->op->rank; d++) {
        for (uint32_t p = x->patch->n_units; p < x->op->n_axes; p++) {
            if (x->patch->level[p] == d) x->order[x->n++] = p;
        }
    }
}

static bool is_indexed(const execution *x, uint32_t position) {
    return x->patch->level[position] != LOOM_NONE && x->patch->level[position] < x->patch->rank;
}

static LLVMValueRef extreme(loom_fn *fn, bool least, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildSelect(fn->b, LLVMBuildICmp(fn->b, least ? LLVMIntSLT : LLVMIntSGT, a, b, ""), a, b, "");
}

static void patch_bounds(const execution *x, uint32_t position, LLVMValueRef *lo, LLVMValueRef *hi) {
    loom_fn *fn = x->fn;
    LLVMBuilderRef B = fn->b;
    *lo = loom_fn_i64(fn, 0);
    *hi = loom_fn_extent(fn, x->op->axes[position]);
    if (!x->clipped || !is_indexed(x, position)) return;
    uint32_t d = x->patch->level[position];
    LLVMValueRef extent = target_extent(fn, x->op, d), base = x->base[d], one = loom_fn_i64(fn, 1),
                 zero = loom_fn_i64(fn, 0);
    if (x->patch->sign[position] > 0) {
        *lo = extreme(fn, false, *lo, LLVMBuildNSWSub(B, zero, base, ""));
        *hi = extreme(fn, true, *hi, LLVMBuildNSWSub(B, extent, base, ""));
    } else {
        *lo = extreme(fn, false, *lo, LLVMBuildNSWSub(B, LLVMBuildNSWAdd(B, base, one, ""), extent, ""));
        *hi = extreme(fn, true, *hi, LLVMBuildNSWAdd(B, base, one, ""));
    }
}

/* Row-major offset of the point in the target. */
static LLVMValueRef target_offset(const execution *x) {
    loom_fn *fn = x->fn;
    LLVMBuilderRef B = fn->b;
    LLVMValueRef offset = NULL;
    for (uint32_t d = 0; d < x->op->rank; d++) {
        LLVMValueRef index = d < x->patch->rank ? x->base[d] : loom_fn_i64(fn, 0);
        for (uint32_t i = 0; i < x->n; i++) {
            uint32_t p = x->order[i];
            if (x->patch->level[p] != d) continue;
            index = x->patch->sign[p] > 0 ? LLVMBuildNSWAdd(B, index, fn->axis[p], "")
                                          : LLVMBuildNSWSub(B, index, fn->axis[p], "");
        }
        if (offset) offset = LLVMBuildNSWMul(B, offset, target_extent(fn, x->op, d), "");
        offset = offset ? LLVMBuildNSWAdd(B, offset, index, "") : index;
    }
    return offset;
}

static void execute_point(const execution *x) {
    loom_fn *fn = x->fn;
    LLVMValueRef offset = target_offset(x);
    loom_sv *args = LOOM_NEW_ARRAY(fn->g->arena, loom_sv, 2 * (size_t)x->k + 1),
            *next = LOOM_NEW_ARRAY(fn->g->arena, loom_sv, (size_t)x->k + 1);
    for (uint32_t j = 0; j < x->k; j++) {
        args[j] = loom_fn_load(fn, x->dtype[j], x->target[j].base, offset, x->target[j].scope, false);
        args[x->k + j] = loom_block_result(fn, x->op->body, x->op->rank + j);
    }
    loom_operator_eval(fn, x->op->combine, args, false, next);
    for (uint32_t j = 0; j < x->k; j++)
        loom_fn_store(fn, x->dtype[j], x->target[j].base, offset, x->target[j].scope, next[j]);
}

static void execute_loops(const execution *x, uint32_t level, uint64_t known) {
    loom_fn *fn = x->fn;
    loom_block_build(fn, x->op->body, known);
    if (level == x->n) {
        execute_point(x);
        return;
    }
    uint32_t position = x->order[level];
    LLVMValueRef lo, hi;
    patch_bounds(x, position, &lo, &hi);
    bool deferred = level + 1 == x->n && loom_defer_open(fn, x->op->body, position);
    loom_loop loop;
    loom_loop_open(fn, &loop, lo, hi, NULL);
    fn->axis[position] = loop.index;
    execute_loops(x, level + 1, known | (uint64_t)1 << position);
    loom_loop_close(fn, &loop);
    if (deferred) loom_defer_close(fn, x->op->body, known, position, lo, hi);
}

/* i1: the whole patch is inside, or (clipped) part of it in every level, and element levels are not empty. */
static LLVMValueRef patch_inside(const execution *x, bool whole) {
    loom_fn *fn = x->fn;
    LLVMBuilderRef B = fn->b;
    LLVMValueRef all = LLVMConstInt(fn->g->i1, 1, 0), zero = loom_fn_i64(fn, 0);
    for (uint32_t d = 0; d < x->patch->rank; d++) {
        LLVMValueRef low = LLVMBuildNSWAdd(B, x->base[d], loom_fn_i64(fn, x->patch->lower[d]), "");
        LLVMValueRef high = LLVMBuildNSWAdd(B, x->base[d], loom_fn_i64(fn, x->patch->upper[d]), "");
        LLVMValueRef extent = target_extent(fn, x->op, d);
        LLVMValueRef a =
            whole ? LLVMBuildICmp(B, LLVMIntSGE, low, zero, "") : LLVMBuildICmp(B, LLVMIntSGT, high, zero, "");
        LLVMValueRef b =
            whole ? LLVMBuildICmp(B, LLVMIntSLE, high, extent, "") : LLVMBuildICmp(B, LLVMIntSLT, low, extent, "");
        all = LLVMBuildAnd(B, all, LLVMBuildAnd(B, a, b, ""), "");
    }
    for (uint32_t d = x->patch->rank; d < x->op->rank; d++) {
        all = LLVMBuildAnd(B, all, LLVMBuildICmp(B, LLVMIntSGT, target_extent(fn, x->op, d), zero, ""), "");
    }
    return all;
}

/* Units come in the order of the target, which is no order for what they read: each asks early for what a later one
 * reads. Of 10 million samples gridded with kernels of 6 x 6 x 6 a seventh of all time went into one such load. */
#define LOOKAHEAD 8
/* Longer rows are followed by hardware. */
#define MOST_ROW_BYTES 512

/* Indices that a unit's first point reads at, if they can be had without evaluating the body. */
static bool plain_indices(const execution *x, loom_lexpr_id id, LLVMValueRef *indices) {
    const loom_lifted *l = x->fn->g->l;
    const loom_lexpr *e = &l->exprs[id];
    for (uint32_t i = 0; i < l->values[e->aux].n_axes; i++) {
        const loom_lexpr *index = &l->exprs[loom_lifted_arg(l, e, i)];
        if (index->kind == LOOM_LX_AXIS) {
            indices[i] = index->aux < x->patch->n_units ? x->fn->axis[index->aux] : loom_fn_i64(x->fn, 0);
        } else if (index->kind == LOOM_LX_CONST) {
            indices[i] = loom_fn_i64(x->fn, index->imm.i);
        } else {
            return false;
        }
    }
    return true;
}

/* Bytes that a patch reads from there on: a row, where its last loop runs along one. */
static int64_t bytes_read(const execution *x, loom_lexpr_id id) {
    const loom_lifted *l = x->fn->g->l;
    const loom_lexpr *e = &l->exprs[id];
    const loom_lvalue *v = &l->values[e->aux];
    int64_t bytes = (int64_t)loom_dtype_size(v->dtype);
    const loom_lexpr *last = &l->exprs[loom_lifted_arg(l, e, v->n_axes - 1)];
    if (last->kind != LOOM_LX_AXIS || last->aux < x->patch->n_units) return bytes;
    const loom_axis *axis = &l->axes[x->op->axes[last->aux]];
    return axis->kind == LOOM_AXIS_CONST && axis->extent <= MOST_ROW_BYTES / bytes ? axis->extent * bytes : bytes;
}

static bool depends_on_unit(const execution *x, loom_lexpr_id id) {
    const loom_gen *g = x->fn->g;
    return g->l->exprs[id].kind == LOOM_LX_LOAD && g->owner[id] == x->op->body && x->fn->wanted[id] &&
           g->mask[id] & unit_mask(x->patch);
}

static void prefetch_unit(const execution *x, LLVMValueRef number, LLVMValueRef count) {
    loom_fn *fn = x->fn;
    const loom_lblock *body = &fn->g->l->blocks[x->op->body];
    LLVMValueRef indices[LOOM_LIFTED_MAX_AXES];
    LLVMValueRef ahead = LLVMBuildNSWAdd(fn->b, number, loom_fn_i64(fn, LOOKAHEAD), "");
    ahead = extreme(fn, true, ahead, LLVMBuildNSWSub(fn->b, count, loom_fn_i64(fn, 1), ""));
    LLVMValueRef unit = loom_fn_load(fn, LOOM_I64, loom_fn_param(fn, 1), ahead, fn->n_scopes - 1, true).re;
    decode_unit(fn, x->op, x->patch->n_units, unit);
    for (loom_lexpr_id id = body->first; id < body->end; id++) {
        if (!depends_on_unit(x, id) || !plain_indices(x, id, indices)) continue;
        loom_lvalue_id value = fn->g->l->exprs[id].aux;
        LLVMValueRef size = loom_fn_i64(fn, (int64_t)loom_dtype_size(fn->g->l->values[value].dtype));
        LLVMValueRef at = LLVMBuildNSWMul(fn->b, loom_fn_offset(fn, value, indices), size, "");
        loom_fn_prefetch(fn, loom_fn_place(fn, value)->base, at, bytes_read(x, id));
    }
}

static void execute_unit(execution *x, LLVMValueRef number) {
    loom_fn *fn = x->fn;
    uint32_t scope = fn->n_scopes - 1;
    LLVMValueRef unit = loom_fn_load(fn, LOOM_I64, loom_fn_param(fn, 1), number, scope, true).re;
    decode_unit(fn, x->op, x->patch->n_units, unit);
    for (uint32_t d = 0; d < x->patch->rank; d++) {
        LLVMValueRef at = LLVMBuildNSWMul(fn->b, number, loom_fn_i64(fn, x->patch->rank), "");
        at = LLVMBuildNSWAdd(fn->b, at, loom_fn_i64(fn, d), "");
        x->base[d] = loom_fn_load(fn, LOOM_I64, loom_fn_param(fn, 3), at, scope, true).re;
    }
    LLVMBasicBlockRef some = loom_fn_block(fn, "some"), inside = loom_fn_block(fn, "inside"),
                      edge = loom_fn_block(fn, "edge");
    LLVMBasicBlockRef next = loom_fn_block(fn, "next");
    LLVMBuildCondBr(fn->b, patch_inside(x, false), some, next);
    LLVMPositionBuilderAtEnd(fn->b, some);
    loom_block_reset(fn, x->op->body, NULL);
    loom_block_build(fn, x->op->body, unit_mask(x->patch));
    LLVMBuildCondBr(fn->b, patch_inside(x, true), inside, edge);
    for (int clipped = 0; clipped < 2; clipped++) {
        LLVMPositionBuilderAtEnd(fn->b, clipped ? edge : inside);
        x->clipped = clipped;
        loom_block_forget(fn, x->op->body, unit_mask(x->patch));
        execute_loops(x, 0, unit_mask(x->patch));
        LLVMBuildBr(fn->b, next);
    }
    LLVMPositionBuilderAtEnd(fn->b, next);
}

uint32_t loom_gen_execute(loom_gen *g, loom_lop_id id, const loom_patch *patch, const uint32_t *targets,
                          bool *touched) {
    const loom_lop *op = &g->l->ops[id];
    uint32_t kernel = loom_gen_kernel(g, "execute");
    loom_fn fn;
    LLVMTypeRef parameters[] = {g->ptr, g->i64, g->ptr};
    loom_fn_open(g, &fn, g->kernels.at[kernel].symbol, parameters, 3);
    loom_fn_new_scope(&fn);
    fn.op = id;
    execution x = {.fn = &fn, .op = op, .patch = patch, .k = g->l->blocks[op->body].n_results - op->rank};
    loom_dtype *dtypes = LOOM_NEW_ARRAY(g->arena, loom_dtype, (size_t)x.k + 1);
    x.target = LOOM_NEW_ARRAY(g->arena, loom_place, (size_t)x.k + 1);
    for (uint32_t j = 0; j < x.k; j++) {
        dtypes[j] = g->buffers.at[targets[j]].dtype;
        x.target[j] = loom_fn_buffer(&fn, targets[j]);
    }
    x.dtype = dtypes;
    fn.wanted = loom_block_needs(g, op->body, op->rank, op->rank + x.k, true);
    order_patch(&x);
    loom_loop loop;
    loom_loop_open(&fn, &loop, loom_fn_i64(&fn, 0), loom_fn_param(&fn, 2), NULL);
    prefetch_unit(&x, loop.index, loom_fn_param(&fn, 2));
    execute_unit(&x, loop.index);
    loom_loop_close(&fn, &loop);
    loom_fn_close(&fn);
    loom_fn_add_touched(&fn, touched);
    return kernel;
}
