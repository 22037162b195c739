/* Sums of a few numbers, several at a time.
 *
 * Rule. A fold + over j of X(j), its turns few and their number known, X made of loads along j and of what does not
 * depend on j, has all of X in vectors, whose elements are then added up, halves upon halves. Folds may be reordered,
 * for their operators are associative (docs/language.md); X itself, and what is done with the sum, is as written.
 *
 * Example, a row of a value that is interpolated, sum_j u[j] * cells[y, x + j] with 10 c128: what two registers of the
 * widest and half of one hold, (u0 u0 u1 u1 ...) * cells[y, x .. x + 9]; then the second is added to the first, the
 * upper half of that and the third to the lower one, and one number to the other.
 *
 * Cost: none; where loads are checked it is the code for the case that they are in range in all turns (ranged.c). Of
 * predictions at 1e-7 this took a seventh of the time off. */
#include "compiler/ir/prim.h"
#include "gen.h"

/* Turns that become elements of vectors: 32 numbers, four registers of the widest. */
#define MOST_TURNS 16
/* Of the widest registers there are; where they are narrower a vector is several. */
#define VECTOR_BYTES 64

typedef struct sums {
    loom_fn *fn;
    const loom_lexpr *loop;
    loom_lblock_id body;
    loom_lexpr_id summand; /* what a turn adds */
    bool *runs;            /* per expression of the body: depends on the counter */
    uint32_t turns;
} sums;

static const loom_lexpr *expr(const sums *s, loom_lexpr_id id) {
    return &s->fn->g->l->exprs[id];
}

static loom_lexpr_id arg(const sums *s, loom_lexpr_id id, uint32_t i) {
    return loom_lifted_arg(s->fn->g->l, expr(s, id), i);
}

static bool is_inside(const sums *s, loom_lexpr_id id) {
    const loom_lblock *b = &s->fn->g->l->blocks[s->body];
    return id >= b->first && id < b->end;
}

static bool runs(const sums *s, loom_lexpr_id id) {
    return is_inside(s, id) && s->runs[id - s->fn->g->l->blocks[s->body].first];
}

static bool is_param(const sums *s, loom_lexpr_id id, uint32_t number) {
    return is_inside(s, id) && expr(s, id)->kind == LOOM_LX_PARAM && expr(s, id)->aux == number &&
           s->fn->g->owner[id] == s->body;
}

static bool is_number(loom_dtype t) {
    return loom_dtype_is_float(t) || loom_dtype_is_complex(t);
}

/* One state, to which a turn adds something, and which is used for nothing else. */
static bool is_sum(sums *s) {
    const loom_lblock *b = &s->fn->g->l->blocks[s->body];
    if (s->loop->mode != LOOM_FOR_FOLD || s->loop->n_args != 2 || !is_number(s->loop->dtype)) return false;
    loom_lexpr_id result = b->results[0];
    if (!is_inside(s, result) || expr(s, result)->kind != LOOM_LX_PRIM || expr(s, result)->prim != LOOM_PRIM_ADD)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        if (is_param(s, arg(s, result, i), 1)) s->summand = arg(s, result, 1 - i);
    }
    for (loom_lexpr_id id = b->first; id < b->end; id++) {
        for (uint32_t i = 0; i < expr(s, id)->n_args && id != result; i++) {
            if (is_param(s, arg(s, id, i), 1)) return false;
        }
    }
    return s->summand != LOOM_NONE && !is_param(s, s->summand, 1);
}

static bool find_turns(sums *s) {
    LLVMValueRef value = s->fn->memo[loom_lifted_arg(s->fn->g->l, s->loop, 0)].re;
    if (!value || !LLVMIsAConstantInt(value)) return false;
    int64_t n = LLVMConstIntGetSExtValue(value);
    s->turns = n >= 1 && n <= MOST_TURNS ? (uint32_t)n : 0;
    return s->turns > 0;
}

/* Which expressions depend on the counter; false if the body has control or checks in it. */
static bool find_runs(sums *s) {
    const loom_lifted *l = s->fn->g->l;
    const loom_lblock *b = &l->blocks[s->body];
    s->runs = LOOM_NEW_ARRAY(s->fn->g->arena, bool, (size_t)(b->end - b->first) + 1);
    for (loom_lexpr_id id = b->first; id < b->end; id++) {
        const loom_lexpr *e = &l->exprs[id];
        if (s->fn->g->owner[id] != s->body || e->kind == LOOM_LX_CHECK || e->kind == LOOM_LX_IF ||
            e->kind == LOOM_LX_FOR || e->kind == LOOM_LX_WHILE) {
            return false;
        }
        bool in_row = e->kind == LOOM_LX_PARAM;
        for (uint32_t i = 0; i < e->n_args; i++) in_row = in_row || runs(s, loom_lifted_arg(l, e, i));
        s->runs[id - b->first] = in_row;
    }
    return true;
}

/* ---- what may be in a vector ---- */

/* The counter (*x is LOOM_NONE), or the counter + *x, which does not depend on it. */
static bool goes_along(const sums *s, loom_lexpr_id index, loom_lexpr_id *x) {
    *x = LOOM_NONE;
    if (is_param(s, index, 0)) return true;
    const loom_lexpr *e = expr(s, index);
    if (e->kind != LOOM_LX_PRIM || e->prim != LOOM_PRIM_ADD) return false;
    for (uint32_t i = 0; i < 2; i++) {
        if (!is_param(s, arg(s, index, i), 0) || runs(s, arg(s, index, 1 - i))) continue;
        *x = arg(s, index, 1 - i);
        return true;
    }
    return false;
}

/* Along the last level of its array, and in range: proven, or looked at before the loop. */
static bool is_row(const sums *s, loom_lexpr_id id) {
    const loom_lexpr *e = expr(s, id);
    const loom_lvalue *v = &s->fn->g->l->values[e->aux];
    loom_lexpr_id x;
    if (e->mode == LOOM_LOAD_DEFAULT || v->n_axes == 0) return false;
    for (uint32_t i = 0; i + 1 < v->n_axes; i++) {
        if (runs(s, arg(s, id, i))) return false;
    }
    return goes_along(s, arg(s, id, v->n_axes - 1), &x);
}

static bool is_lanes(const sums *s, loom_lexpr_id id) {
    const loom_lexpr *e = expr(s, id);
    if (!runs(s, id)) return true;
    if (!is_number(e->dtype)) return false;
    if (e->kind == LOOM_LX_LOAD) return is_row(s, id);
    if (e->kind == LOOM_LX_CONVERT) {
        loom_dtype from = expr(s, arg(s, id, 0))->dtype;
        bool same = is_number(from) && loom_dtype_is_complex(from) == loom_dtype_is_complex(e->dtype);
        return same && is_lanes(s, arg(s, id, 0));
    }
    if (e->kind != LOOM_LX_PRIM) return false;
    bool known = e->prim == LOOM_PRIM_SCALE || e->prim == LOOM_PRIM_ADD || e->prim == LOOM_PRIM_SUB ||
                 (e->prim == LOOM_PRIM_MUL && loom_dtype_is_float(e->dtype));
    return known && is_lanes(s, arg(s, id, 0)) && is_lanes(s, arg(s, id, 1));
}

/* No load of the body is left to be checked in the loop, and nothing in it can trap. */
static bool nothing_is_checked(const sums *s) {
    const loom_lblock *b = &s->fn->g->l->blocks[s->body];
    for (loom_lexpr_id id = b->first; id < b->end; id++) {
        const loom_lexpr *e = expr(s, id);
        if (e->kind == LOOM_LX_PRIM && e->site != LOOM_NONE) return false;
        if (e->kind != LOOM_LX_LOAD || e->mode != LOOM_LOAD_CHECKED) continue;
        const loom_lvalue *v = &s->fn->g->l->values[e->aux];
        if (v->rep == LOOM_REP_IRREGULAR) return false;
        for (uint32_t i = 0; i < v->n_axes; i++) {
            bool known =
                s->fn->ranged[id] & (uint64_t)1 << i || loom_load_is_own_axis(s->fn, arg(s, id, i), v->axes[i]);
            if (!known) return false;
        }
    }
    return true;
}

static bool match(loom_fn *fn, loom_lexpr_id id, sums *s) {
    *s = (sums){.fn = fn, .loop = &fn->g->l->exprs[id], .summand = LOOM_NONE};
    s->body = s->loop->blocks[0];
    return !fn->rare && is_sum(s) && find_turns(s) && find_runs(s) && nothing_is_checked(s) && runs(s, s->summand) &&
           is_lanes(s, s->summand);
}

/* ---- building ---- */

/* What does not depend on the counter, and what it is made of. */
static loom_sv scalar(sums *s, loom_lexpr_id id) {
    loom_fn *fn = s->fn;
    if (fn->memo[id].re) return fn->memo[id];
    for (uint32_t i = 0; i < expr(s, id)->n_args; i++) scalar(s, arg(s, id, i));
    loom_expr_build(fn, id);
    return fn->memo[id];
}

/* Turns [from, from + n), n a power of two: what one register holds, or part of one. */
typedef struct chunk {
    uint32_t from, n;
} chunk;

static uint32_t lanes_of(loom_dtype t, chunk c) {
    return loom_dtype_is_complex(t) ? 2 * c.n : c.n;
}

/* As few as there can be. */
static uint32_t cut(const sums *s, chunk *chunks) {
    uint32_t n = 0, most = (uint32_t)(VECTOR_BYTES / loom_dtype_size(s->loop->dtype));
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
    loom_lexpr_id x;
    (void)goes_along(s, arg(s, id, last), &x);
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

/* All numbers of the chunks, the widest first: halves upon halves. */
static loom_sv add_up(const sums *s, const chunk *chunks, const loom_sv *sum, uint32_t n) {
    LLVMBuilderRef B = s->fn->b;
    bool complex = loom_dtype_is_complex(s->loop->dtype);
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

/* Of the turns, and what does not depend on the counter where it is built. */
static void count_turns(const sums *s) {
    const loom_lblock *b = &s->fn->g->l->blocks[s->body];
    for (loom_lexpr_id id = b->first; id < b->end; id++) {
        if (runs(s, id)) loom_count_expr(s->fn, expr(s, id), s->turns);
    }
}

bool loom_sums_build(loom_fn *fn, loom_lexpr_id id, loom_sv *result) {
    sums s;
    if (!match(fn, id, &s)) return false;
    loom_sv initial = fn->memo[loom_lifted_arg(fn->g->l, s.loop, 1)], sum[MOST_TURNS];
    chunk chunks[MOST_TURNS];
    uint32_t n = cut(&s, chunks);
    loom_block_reset(fn, s.body, NULL);
    count_turns(&s);
    for (uint32_t k = 0; k < n; k++) sum[k] = (loom_sv){lanes(&s, s.summand, chunks[k]), NULL};
    loom_sv total = add_up(&s, chunks, sum, n);
    result->re = LLVMBuildFAdd(fn->b, initial.re, total.re, "");
    result->im = total.im ? LLVMBuildFAdd(fn->b, initial.im, total.im, "") : NULL;
    return true;
}
