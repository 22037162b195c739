/* Sums of rows of sums, several numbers at a time.
 *
 * Rule. In s = fold + over i of B(i) * (fold + over j of X(i, j)), B a product of numbers that do not depend on j, the
 * inner fold's turns few and their number known, and X made of loads along j and of what does not depend on j: one
 * vector has X(i, .) whole, is multiplied by B(i) and added to a vector of sums over i, whose elements are added when
 * the rows are done. Folds may be reordered, for their operators are associative (docs/language.md). It takes that all
 * loads are in range in all turns, which is looked at before; else the folds are done as they stand.
 *
 * Example, a value interpolated from 10 x 10 cells, sum_i v[i] * (sum_j u[j] * cells[y + i, x + j]), c128:
 *     S, 20 f64, = 0; for i: S += v[i] * ((u0 u0 u1 u1 ...) * cells[y + i, x .. x + 9]); sum of S's even, odd
 * elements Cost: the code of both. Of predictions at 1e-7 this took a third of the time off. */
#include "compiler/ir/prim.h"
#include "gen.h"

/* Turns of an inner fold that become elements of one vector: 32 numbers, four registers of the widest. */
#define MOST_TURNS 16
/* Of the widest registers there are; where they are narrower a vector is several. */
#define VECTOR_BYTES 64

typedef struct sums {
    loom_fn *fn;
    loom_lexpr_id id;
    const loom_lexpr *outer, *inner;
    loom_lblock_id rows, row;    /* their bodies */
    loom_lexpr_id term, summand; /* what a turn of the outer, of the inner one adds */
    bool *fixed;                 /* per expression of `rows`: changes in neither */
    bool *runs;                  /* per expression of `rows`: depends on the inner counter */
    bool *has_inner;             /* per expression of `rows`: the inner sum, or depends on it */
    uint32_t turns;              /* of the inner one */
} sums;

static const loom_lexpr *expr(const sums *s, loom_lexpr_id id) {
    return &s->fn->g->l->exprs[id];
}

static loom_lexpr_id arg(const sums *s, loom_lexpr_id id, uint32_t i) {
    return loom_lifted_arg(s->fn->g->l, expr(s, id), i);
}

static bool is_inside(const sums *s, loom_lexpr_id id) {
    const loom_lblock *b = &s->fn->g->l->blocks[s->rows];
    return id >= b->first && id < b->end;
}

static bool is_fixed(const sums *s, loom_lexpr_id id) {
    return !is_inside(s, id) || s->fixed[id - s->fn->g->l->blocks[s->rows].first];
}

static bool runs(const sums *s, loom_lexpr_id id) {
    return is_inside(s, id) && s->runs[id - s->fn->g->l->blocks[s->rows].first];
}

static bool has_inner(const sums *s, loom_lexpr_id id) {
    return is_inside(s, id) && s->has_inner[id - s->fn->g->l->blocks[s->rows].first];
}

static bool is_param(const sums *s, loom_lexpr_id id, loom_lblock_id block, uint32_t number) {
    return expr(s, id)->kind == LOOM_LX_PARAM && expr(s, id)->aux == number && s->fn->g->owner[id] == block;
}

static bool is_number(loom_dtype t) {
    return loom_dtype_is_float(t) || loom_dtype_is_complex(t);
}

/* A fold with + of one state: *summand is what a turn adds to it. */
static bool is_sum(const sums *s, loom_lexpr_id id, loom_lexpr_id *summand) {
    const loom_lexpr *e = expr(s, id);
    if (e->kind != LOOM_LX_FOR || e->mode != LOOM_FOR_FOLD || e->n_args != 2 || !is_number(e->dtype)) return false;
    loom_lblock_id body = e->blocks[0];
    loom_lexpr_id result = s->fn->g->l->blocks[body].results[0];
    if (expr(s, result)->kind != LOOM_LX_PRIM || expr(s, result)->prim != LOOM_PRIM_ADD) return false;
    loom_lexpr_id a = arg(s, result, 0), b = arg(s, result, 1);
    if (is_param(s, a, body, 1) == is_param(s, b, body, 1)) return false;
    *summand = is_param(s, a, body, 1) ? b : a;
    return true;
}

static bool is_zero(const sums *s, loom_lexpr_id id) {
    const loom_lexpr *e = expr(s, id);
    static const loom_scalar zero;
    return e->kind == LOOM_LX_CONST && loom_lifted_same_scalar(e->dtype, &e->imm, &zero);
}

/* The factor of a product that has the inner sum in it; LOOM_NONE: it is no such product. */
static loom_lexpr_id inner_factor(const sums *s, loom_lexpr_id id) {
    const loom_lexpr *e = expr(s, id);
    if (e->kind != LOOM_LX_PRIM || !is_inside(s, id)) return LOOM_NONE;
    bool product = e->prim == LOOM_PRIM_SCALE || (e->prim == LOOM_PRIM_MUL && loom_dtype_is_float(e->dtype));
    if (!product) return LOOM_NONE;
    loom_lexpr_id a = arg(s, id, 0), b = arg(s, id, 1);
    bool in_a = has_inner(s, a), in_b = has_inner(s, b);
    if (in_a == in_b || (in_a && e->prim == LOOM_PRIM_SCALE)) return LOOM_NONE;
    return in_a ? a : b;
}

/* The one fold in the outer's body; LOOM_NONE: there is none, or more. */
static loom_lexpr_id only_fold(sums *s) {
    const loom_lifted *l = s->fn->g->l;
    const loom_lblock *b = &l->blocks[s->rows];
    s->has_inner = LOOM_NEW_ARRAY(s->fn->g->arena, bool, (size_t)(b->end - b->first) + 1);
    loom_lexpr_id found = LOOM_NONE;
    for (loom_lexpr_id id = b->first; id < b->end; id++) {
        const loom_lexpr *e = &l->exprs[id];
        bool has = e->kind == LOOM_LX_FOR;
        if (has && found != LOOM_NONE) return LOOM_NONE;
        if (has) found = id;
        if (e->kind == LOOM_LX_IF || e->kind == LOOM_LX_WHILE || e->kind == LOOM_LX_CHECK) return LOOM_NONE;
        for (uint32_t i = 0; i < e->n_args; i++) has = has || has_inner(s, loom_lifted_arg(l, e, i));
        s->has_inner[id - b->first] = has;
    }
    return found;
}

/* Follows the outer summand to the inner sum. */
static bool find_inner(sums *s) {
    loom_lexpr_id found = only_fold(s);
    if (found == LOOM_NONE || s->fn->g->owner[found] != s->rows || !is_sum(s, found, &s->summand)) return false;
    s->inner = expr(s, found);
    s->row = s->inner->blocks[0];
    loom_lexpr_id at = s->term;
    while (at != found && at != LOOM_NONE) at = inner_factor(s, at);
    return at == found && expr(s, found)->dtype == s->outer->dtype && is_zero(s, arg(s, found, 1));
}

static bool find_turns(sums *s) {
    loom_lexpr_id count = loom_lifted_arg(s->fn->g->l, s->inner, 0);
    const loom_lexpr *e = expr(s, count);
    int64_t n = 0;
    if (e->kind == LOOM_LX_CONST) {
        n = e->imm.i;
    } else {
        LLVMValueRef value = is_inside(s, count) ? NULL : s->fn->memo[count].re;
        if (!value || !LLVMIsAConstantInt(value)) return false;
        n = LLVMConstIntGetSExtValue(value);
    }
    s->turns = n >= 1 && n <= MOST_TURNS ? (uint32_t)n : 0;
    return s->turns > 0;
}

static void find_facts(sums *s) {
    const loom_lifted *l = s->fn->g->l;
    const loom_lblock *b = &l->blocks[s->rows];
    size_t n = (size_t)(b->end - b->first) + 1;
    s->fixed = LOOM_NEW_ARRAY(s->fn->g->arena, bool, n);
    s->runs = LOOM_NEW_ARRAY(s->fn->g->arena, bool, n);
    for (loom_lexpr_id id = b->first; id < b->end; id++) {
        const loom_lexpr *e = &l->exprs[id];
        bool plain = e->kind == LOOM_LX_CONST || e->kind == LOOM_LX_AXIS || e->kind == LOOM_LX_EXTENT ||
                     e->kind == LOOM_LX_CONVERT || (e->kind == LOOM_LX_PRIM && e->site == LOOM_NONE) ||
                     (e->kind == LOOM_LX_LOAD && e->mode == LOOM_LOAD_PROVEN);
        bool in_row = e->kind == LOOM_LX_PARAM && s->fn->g->owner[id] == s->row;
        for (uint32_t i = 0; i < e->n_args; i++) {
            loom_lexpr_id a = loom_lifted_arg(l, e, i);
            plain = plain && is_fixed(s, a);
            in_row = in_row || runs(s, a);
        }
        s->fixed[id - b->first] = plain;
        s->runs[id - b->first] = in_row;
    }
}

/* ---- what may be in a vector ---- */

/* x + the counter of a fold, x fixed (LOOM_NONE: nothing); or x. *block: whose counter, LOOM_NONE: of none. */
static bool index_form(const sums *s, loom_lexpr_id id, loom_lblock_id *block, loom_lexpr_id *x) {
    *block = LOOM_NONE;
    *x = id;
    if (is_fixed(s, id)) return true;
    *x = LOOM_NONE;
    *block = s->fn->g->owner[id];
    if (is_param(s, id, s->rows, 0) || is_param(s, id, s->row, 0)) return true;
    const loom_lexpr *e = expr(s, id);
    if (e->kind != LOOM_LX_PRIM || e->prim != LOOM_PRIM_ADD || e->dtype != LOOM_I64) return false;
    for (uint32_t i = 0; i < 2; i++) {
        loom_lexpr_id counter = arg(s, id, i), other = arg(s, id, 1 - i);
        bool of_rows = is_param(s, counter, s->rows, 0), of_row = is_param(s, counter, s->row, 0);
        if ((!of_rows && !of_row) || !is_fixed(s, other)) continue;
        *block = of_rows ? s->rows : s->row;
        *x = other;
        return true;
    }
    return false;
}

/* Every load of the folds that is looked at: its indices are of a form whose range is known. */
static bool loads_fit(const sums *s, loom_lexpr_id id) {
    const loom_lexpr *e = expr(s, id);
    if (e->kind != LOOM_LX_LOAD || is_fixed(s, id)) return e->kind != LOOM_LX_PRIM || e->site == LOOM_NONE;
    uint32_t n = s->fn->g->l->values[e->aux].n_axes;
    if (e->mode == LOOM_LOAD_DEFAULT || n == 0) return false;
    for (uint32_t i = 0; i < n; i++) {
        loom_lblock_id block;
        loom_lexpr_id x;
        if (!index_form(s, arg(s, id, i), &block, &x)) return false;
        if (block == s->row && i + 1 < n) return false;
    }
    return true;
}

/* Whether an expression that depends on the inner counter is of a kind that vectors have. */
static bool is_lanes(const sums *s, loom_lexpr_id id) {
    const loom_lexpr *e = expr(s, id);
    if (!runs(s, id)) return true;
    if (!is_number(e->dtype)) return false;
    if (e->kind == LOOM_LX_LOAD) {
        loom_lblock_id block;
        loom_lexpr_id x;
        uint32_t last = s->fn->g->l->values[e->aux].n_axes - 1;
        return index_form(s, arg(s, id, last), &block, &x) && block == s->row;
    }
    if (e->kind == LOOM_LX_CONVERT) {
        loom_dtype from = expr(s, arg(s, id, 0))->dtype;
        bool same = loom_dtype_is_complex(from) == loom_dtype_is_complex(e->dtype) && is_number(from);
        return same && is_lanes(s, arg(s, id, 0));
    }
    if (e->kind != LOOM_LX_PRIM) return false;
    bool real = loom_dtype_is_float(e->dtype);
    bool known = e->prim == LOOM_PRIM_SCALE || e->prim == LOOM_PRIM_ADD || e->prim == LOOM_PRIM_SUB ||
                 (e->prim == LOOM_PRIM_MUL && real);
    return known && is_lanes(s, arg(s, id, 0)) && is_lanes(s, arg(s, id, 1));
}

/* What has been added up so far is used for nothing else. */
static bool states_are_sums_alone(const sums *s) {
    const loom_lifted *l = s->fn->g->l;
    const loom_lblock *b = &l->blocks[s->rows];
    for (loom_lexpr_id id = b->first; id < b->end; id++) {
        if (id == b->results[0] || id == l->blocks[s->row].results[0]) continue;
        for (uint32_t i = 0; i < l->exprs[id].n_args; i++) {
            loom_lexpr_id a = loom_lifted_arg(l, &l->exprs[id], i);
            if (is_param(s, a, s->rows, 1) || is_param(s, a, s->row, 1)) return false;
        }
    }
    return true;
}

static bool match(loom_fn *fn, loom_lexpr_id id, sums *s) {
    *s = (sums){.fn = fn, .id = id, .outer = &fn->g->l->exprs[id]};
    s->rows = s->outer->blocks[0];
    if (fn->rare || !is_sum(s, id, &s->term) || !find_inner(s) || !find_turns(s)) return false;
    if (!states_are_sums_alone(s)) return false;
    find_facts(s);
    const loom_lblock *b = &fn->g->l->blocks[s->rows];
    for (loom_lexpr_id e = b->first; e < b->end; e++) {
        if (!loads_fit(s, e)) return false;
    }
    return runs(s, s->summand) && is_lanes(s, s->summand);
}

/* ---- building ---- */

/* Scalars: what does not depend on the inner counter, and what it is made of. */
static loom_sv scalar(sums *s, loom_lexpr_id id) {
    loom_fn *fn = s->fn;
    if (fn->memo[id].re) return fn->memo[id];
    for (uint32_t i = 0; i < expr(s, id)->n_args; i++) scalar(s, arg(s, id, i));
    loom_expr_build(fn, id);
    return fn->memo[id];
}

static void also(loom_fn *fn, LLVMValueRef *all, LLVMValueRef condition) {
    *all = *all ? LLVMBuildAnd(fn->b, *all, condition, "") : condition;
}

static void look_at(sums *s, loom_lexpr_id id, uint32_t i, LLVMValueRef *all) {
    loom_fn *fn = s->fn;
    const loom_lvalue *v = &fn->g->l->values[expr(s, id)->aux];
    loom_lblock_id block;
    loom_lexpr_id x;
    if (loom_load_is_own_axis(fn, arg(s, id, i), v->axes[i])) return;
    index_form(s, arg(s, id, i), &block, &x);
    LLVMValueRef n = loom_fn_extent(fn, v->axes[i]);
    LLVMValueRef first = x == LOOM_NONE ? loom_fn_i64(fn, 0) : scalar(s, x).re;
    also(fn, all, LLVMBuildICmp(fn->b, LLVMIntULT, first, n, ""));
    if (block == LOOM_NONE) return;
    LLVMValueRef turns =
        block == s->row ? loom_fn_i64(fn, s->turns) : fn->memo[loom_lifted_arg(fn->g->l, s->outer, 0)].re;
    LLVMValueRef last = LLVMBuildAdd(fn->b, first, LLVMBuildSub(fn->b, turns, loom_fn_i64(fn, 1), ""), "");
    also(fn, all, LLVMBuildICmp(fn->b, LLVMIntULT, last, n, ""));
}

static bool is_checked(const sums *s, loom_lexpr_id id) {
    return expr(s, id)->kind == LOOM_LX_LOAD && expr(s, id)->mode == LOOM_LOAD_CHECKED;
}

LLVMBasicBlockRef loom_sums_open(loom_fn *fn, loom_lexpr_id id) {
    sums s;
    if (!match(fn, id, &s)) return NULL;
    const loom_lblock *b = &fn->g->l->blocks[s.rows];
    LLVMBasicBlockRef look = loom_fn_block(fn, "look"), vectors = loom_fn_block(fn, "vectors"),
                      checked = loom_fn_block(fn, "checked");
    LLVMValueRef turns = fn->memo[loom_lifted_arg(fn->g->l, s.outer, 0)].re, all = NULL;
    LLVMBuildCondBr(fn->b, LLVMBuildICmp(fn->b, LLVMIntSGT, turns, loom_fn_i64(fn, 0), ""), look, checked);
    LLVMPositionBuilderAtEnd(fn->b, look);
    loom_block_reset(fn, s.rows, NULL);
    for (loom_lexpr_id e = b->first; e < b->end; e++) {
        if (!is_checked(&s, e)) continue;
        for (uint32_t i = 0; i < fn->g->l->values[expr(&s, e)->aux].n_axes; i++) look_at(&s, e, i, &all);
    }
    if (all) {
        LLVMBuildCondBr(fn->b, all, vectors, checked);
    } else {
        LLVMBuildBr(fn->b, vectors);
    }
    LLVMPositionBuilderAtEnd(fn->b, checked);
    return vectors;
}

/* Turns [from, from + n) of the inner fold, n a power of two: what one register holds, or part of one. */
typedef struct chunk {
    uint32_t from, n;
} chunk;

static uint32_t lanes_of(loom_dtype t, chunk c) {
    return loom_dtype_is_complex(t) ? 2 * c.n : c.n;
}

/* As few as there can be. */
static uint32_t cut(const sums *s, chunk *chunks) {
    uint32_t n = 0, most = (uint32_t)(VECTOR_BYTES / loom_dtype_size(s->outer->dtype));
    for (uint32_t from = 0; from < s->turns;) {
        uint32_t width = most;
        while (width > s->turns - from) width /= 2;
        chunks[n++] = (chunk){from, width};
        from += width;
    }
    return n;
}

static LLVMValueRef shuffled(const sums *s, LLVMValueRef v, uint32_t n, uint32_t (*from)(uint32_t i, uint32_t k),
                             uint32_t k) {
    LLVMValueRef index[2 * MOST_TURNS];
    for (uint32_t i = 0; i < n; i++) index[i] = LLVMConstInt(s->fn->g->i32, from(i, k), 0);
    return LLVMBuildShuffleVector(s->fn->b, v, LLVMGetPoison(LLVMTypeOf(v)), LLVMConstVector(index, n), "");
}

static uint32_t divided(uint32_t i, uint32_t k) {
    return i / k;
}

static uint32_t in_turn(uint32_t i, uint32_t k) {
    return i % k;
}

static uint32_t shifted(uint32_t i, uint32_t k) {
    return i + k;
}

static LLVMValueRef spread(const sums *s, loom_sv x, uint32_t lanes) {
    uint32_t parts = x.im ? 2 : 1;
    LLVMValueRef v = LLVMGetPoison(LLVMVectorType(LLVMTypeOf(x.re), lanes));
    v = LLVMBuildInsertElement(s->fn->b, v, x.re, LLVMConstInt(s->fn->g->i32, 0, 0), "");
    if (x.im) v = LLVMBuildInsertElement(s->fn->b, v, x.im, LLVMConstInt(s->fn->g->i32, 1, 0), "");
    return shuffled(s, v, lanes, in_turn, parts);
}

static LLVMValueRef load_lanes(sums *s, loom_lexpr_id id, chunk c) {
    loom_fn *fn = s->fn;
    const loom_lexpr *e = expr(s, id);
    uint32_t last = fn->g->l->values[e->aux].n_axes - 1;
    LLVMValueRef indices[LOOM_LIFTED_MAX_AXES], first = loom_fn_i64(fn, c.from);
    for (uint32_t i = 0; i < last; i++) indices[i] = scalar(s, arg(s, id, i)).re;
    loom_lblock_id block;
    loom_lexpr_id x;
    index_form(s, arg(s, id, last), &block, &x);
    indices[last] = x == LOOM_NONE ? first : LLVMBuildNSWAdd(fn->b, scalar(s, x).re, first, "");
    const loom_place *place = loom_fn_place(fn, e->aux);
    return loom_fn_load_lanes(fn, e->dtype, place, loom_fn_offset(fn, e->aux, indices), c.n);
}

static LLVMValueRef lanes(sums *s, loom_lexpr_id id, chunk c) {
    loom_fn *fn = s->fn;
    const loom_lexpr *e = expr(s, id);
    uint32_t n = lanes_of(e->dtype, c);
    if (!runs(s, id)) return spread(s, scalar(s, id), n);
    if (e->kind == LOOM_LX_LOAD) return load_lanes(s, id, c);
    LLVMValueRef a = lanes(s, arg(s, id, 0), c);
    if (e->kind == LOOM_LX_CONVERT)
        return LLVMBuildFPCast(fn->b, a, LLVMVectorType(loom_gen_type(fn->g, e->dtype), n), "");
    LLVMValueRef b = lanes(s, arg(s, id, 1), c);
    switch (e->prim) {
    case LOOM_PRIM_ADD: return LLVMBuildFAdd(fn->b, a, b, "");
    case LOOM_PRIM_SUB: return LLVMBuildFSub(fn->b, a, b, "");
    case LOOM_PRIM_SCALE: return LLVMBuildFMul(fn->b, shuffled(s, a, n, divided, 2), b, "");
    default: return LLVMBuildFMul(fn->b, a, b, "");
    }
}

/* The outer summand: the row's, times the factors around it. */
static LLVMValueRef weighted(sums *s, loom_lexpr_id id, chunk c) {
    if (expr(s, id) == s->inner) return lanes(s, s->summand, c);
    loom_lexpr_id row = inner_factor(s, id), factor = arg(s, id, row == arg(s, id, 0) ? 1 : 0);
    LLVMValueRef sum = weighted(s, row, c);
    return LLVMBuildFMul(s->fn->b, spread(s, scalar(s, factor), lanes_of(s->outer->dtype, c)), sum, "");
}

/* All numbers of the chunks, the widest first: halves upon halves. */
static loom_sv add_up(const sums *s, const chunk *chunks, const loom_sv *sum, uint32_t n) {
    LLVMBuilderRef B = s->fn->b;
    bool complex = loom_dtype_is_complex(s->outer->dtype);
    LLVMValueRef v = sum[0].re, one = LLVMConstInt(s->fn->g->i32, 1, 0), zero = LLVMConstInt(s->fn->g->i32, 0, 0);
    for (uint32_t width = chunks[0].n, next = 1;;) {
        for (; next < n && chunks[next].n == width; next++) v = LLVMBuildFAdd(B, v, sum[next].re, "");
        if (width == 1) break;
        width /= 2;
        uint32_t half = complex ? 2 * width : width;
        v = LLVMBuildFAdd(B, shuffled(s, v, half, shifted, 0), shuffled(s, v, half, shifted, half), "");
    }
    return (loom_sv){LLVMBuildExtractElement(B, v, zero, ""), complex ? LLVMBuildExtractElement(B, v, one, "") : NULL};
}

/* All indices of the loads have been looked at, or have not. */
static void mark(sums *s, uint64_t indices) {
    const loom_lblock *b = &s->fn->g->l->blocks[s->rows];
    for (loom_lexpr_id e = b->first; e < b->end; e++) {
        if (is_checked(s, e)) s->fn->ranged[e] = indices;
    }
}

/* What the row's body uses of the outer one's, for the loads that are asked for early. */
static void build_around_row(sums *s) {
    const loom_lblock *b = &s->fn->g->l->blocks[s->row];
    for (loom_lexpr_id e = b->first; e < b->end; e++) {
        for (uint32_t i = 0; i < expr(s, e)->n_args; i++) {
            loom_lexpr_id a = arg(s, e, i);
            if (a < b->first || a >= b->end) scalar(s, a);
        }
    }
}

loom_sv loom_sums_build(loom_fn *fn, loom_lexpr_id id) {
    sums s;
    if (!match(fn, id, &s)) {
        loom_gen_fail(fn->g, "expression %u is no sum of sums", id);
        return loom_sv_const(fn, fn->g->l->exprs[id].dtype, (loom_scalar){0});
    }
    loom_dtype real = loom_dtype_real(s.outer->dtype);
    loom_sv initial = fn->memo[loom_lifted_arg(fn->g->l, s.outer, 1)], sum[MOST_TURNS];
    chunk chunks[MOST_TURNS];
    uint32_t n = cut(&s, chunks);
    loom_sv *params = LOOM_NEW_ARRAY(fn->g->arena, loom_sv, 2);
    loom_loop loop;
    loom_loop_open(fn, &loop, loom_fn_i64(fn, 0), fn->memo[loom_lifted_arg(fn->g->l, s.outer, 0)].re, NULL);
    for (uint32_t k = 0; k < n; k++) {
        LLVMTypeRef type = LLVMVectorType(loom_gen_type(fn->g, real), lanes_of(s.outer->dtype, chunks[k]));
        sum[k] = loom_loop_carry(fn, &loop, real, (loom_sv){LLVMConstNull(type), NULL});
    }
    params[0] = (loom_sv){loop.index, NULL};
    loom_block_reset(fn, s.rows, params);
    mark(&s, ~(uint64_t)0);
    build_around_row(&s);
    loom_ranged_prefetch(fn, (loom_lexpr_id)(s.inner - fn->g->l->exprs));
    for (uint32_t k = 0; k < n; k++) {
        LLVMValueRef next = LLVMBuildFAdd(fn->b, sum[k].re, weighted(&s, s.term, chunks[k]), "");
        loom_loop_next(fn, &loop, sum[k], (loom_sv){next, NULL});
    }
    loom_loop_close(fn, &loop);
    mark(&s, 0);
    loom_sv total = add_up(&s, chunks, sum, n);
    total.re = LLVMBuildFAdd(fn->b, initial.re, total.re, "");
    if (total.im) total.im = LLVMBuildFAdd(fn->b, initial.im, total.im, "");
    return total;
}
