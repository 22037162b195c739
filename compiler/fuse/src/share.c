/* Equal operations: the same kind over the same axes with the same bodies, in scopes one of which holds the other. The
 * later one goes, its results become other names of the earlier one's. (Bodies are equal when they are written alike:
 * emission has brought them into one form.) */
#include "rewrite.h"

loom_lop_id *fuse_find_scopes(const loom_lifted *l, loom_arena *arena) {
    loom_lop_id *scope = LOOM_NEW_ARRAY(arena, loom_lop_id, (size_t)l->n_ops + 1);
    for (uint32_t i = 0; i < l->n_ops; i++) scope[i] = LOOM_NONE;
    for (loom_lop_id id = l->n_ops; id > 0; id--) {
        const loom_lop *o = &l->ops[id - 1];
        if (o->kind != LOOM_LO_LOOP && o->kind != LOOM_LO_IF) continue;
        for (loom_lop_id i = o->inner_first; i < o->inner_end; i++) scope[i] = 2 * (id - 1);
        for (loom_lop_id i = o->else_first; o->kind == LOOM_LO_IF && i < o->else_end; i++) scope[i] = 2 * (id - 1) + 1;
    }
    return scope;
}

static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 31;
}

static uint64_t bits(const loom_lexpr *e) {
    return e->dtype == LOOM_BOOL ? e->imm.b : e->imm.u;
}

static uint64_t hash_block(const loom_lifted *l, loom_lblock_id id, uint64_t h) {
    if (id == LOOM_NONE) return h;
    const loom_lblock *b = &l->blocks[id];
    h = mix(h, b->end - b->first);
    for (loom_lexpr_id i = b->first; i < b->end; i++) {
        const loom_lexpr *e = &l->exprs[i];
        h = mix(h, (uint64_t)e->kind << 48 ^ (uint64_t)e->mode << 40 ^ (uint64_t)e->prim << 8 ^ e->dtype);
        h = mix(h, e->aux);
        if (e->kind == LOOM_LX_CONST) h = mix(h, bits(e));
        for (uint32_t k = 0; k < e->n_args; k++) h = mix(h, loom_lifted_arg(l, e, k) - b->first);
    }
    return h;
}

uint64_t fuse_hash_op(const rewrite *r, const loom_lop *o) {
    uint64_t h = mix(o->kind, (uint64_t)o->n_results << 32 ^ o->reduce);
    for (uint32_t i = 0; i < o->n_axes; i++) h = mix(h, o->axes[i]);
    for (uint32_t i = 0; i < o->n_args; i++) h = mix(h, o->args[i]);
    h = hash_block(r->l, o->body, h);
    h = hash_block(r->l, o->ne, h);
    return hash_block(r->l, o->combine, h) | 1;
}

static bool same_block(const loom_lifted *l, loom_lblock_id x, loom_lexpr_id x0, loom_lblock_id y, loom_lexpr_id y0) {
    if (x == LOOM_NONE || y == LOOM_NONE) return x == y;
    const loom_lblock *a = &l->blocks[x], *b = &l->blocks[y];
    if (a->first - x0 != b->first - y0 || a->end - x0 != b->end - y0) return false;
    if (a->n_params != b->n_params || a->n_results != b->n_results) return false;
    for (uint32_t i = 0; i < a->n_params; i++) {
        if (a->params[i] != b->params[i]) return false;
    }
    for (uint32_t i = 0; i < a->n_results; i++) {
        if (a->results[i] - x0 != b->results[i] - y0) return false;
    }
    return true;
}

static bool same_const(const loom_lexpr *a, const loom_lexpr *b) {
    if (a->kind != LOOM_LX_CONST) return true;
    if (loom_dtype_is_complex(a->dtype)) return memcmp(a->imm.c, b->imm.c, sizeof a->imm.c) == 0;
    return bits(a) == bits(b);
}

static bool same_expr(const loom_lifted *l, const loom_lexpr *a, loom_lexpr_id a0, const loom_lexpr *b,
                      loom_lexpr_id b0) {
    if (a->kind != b->kind || a->mode != b->mode || a->dtype != b->dtype || a->prim != b->prim || a->aux != b->aux ||
        a->n_args != b->n_args || (a->site == LOOM_NONE) != (b->site == LOOM_NONE) || !same_const(a, b)) {
        return false;
    }
    for (uint32_t k = 0; k < a->n_args; k++) {
        if (loom_lifted_arg(l, a, k) - a0 != loom_lifted_arg(l, b, k) - b0) return false;
    }
    return same_block(l, a->blocks[0], a0, b->blocks[0], b0) && same_block(l, a->blocks[1], a0, b->blocks[1], b0);
}

static bool same_body(const loom_lifted *l, loom_lblock_id x, loom_lblock_id y) {
    if (x == LOOM_NONE || y == LOOM_NONE) return x == y;
    loom_lexpr_id x0 = l->blocks[x].first, y0 = l->blocks[y].first;
    if (!same_block(l, x, x0, y, y0)) return false;
    for (uint32_t i = 0; x0 + i < l->blocks[x].end; i++) {
        if (!same_expr(l, &l->exprs[x0 + i], x0, &l->exprs[y0 + i], y0)) return false;
    }
    return true;
}

static bool same_op(const rewrite *r, const loom_lop *a, const loom_lop *b) {
    if (a->kind != b->kind || a->n_axes != b->n_axes || a->n_results != b->n_results || a->n_args != b->n_args)
        return false;
    if (a->reduce != b->reduce || a->scan != b->scan || a->fft_rank != b->fft_rank || a->inverse != b->inverse)
        return false;
    for (uint32_t i = 0; i < a->n_axes; i++) {
        if (a->axes[i] != b->axes[i]) return false;
    }
    for (uint32_t i = 0; i < a->n_args; i++) {
        if (a->args[i] != b->args[i]) return false;
    }
    return same_body(r->l, a->body, b->body) && same_body(r->l, a->ne, b->ne) &&
           same_body(r->l, a->combine, b->combine);
}

/* Scopes are numbered by old operations: the one around a scope is that of its LOOP or IF. */
static bool is_within(const rewrite *r, loom_lop_id inner, loom_lop_id outer) {
    for (;;) {
        if (inner == outer) return true;
        if (inner == LOOM_NONE) return false;
        inner = r->scope_of[inner / 2];
    }
}

loom_lop_id fuse_find_equal(const rewrite *r, const loom_lop *o, loom_lop_id scope, uint64_t hash) {
    bool kind =
        o->kind == LOOM_LO_COMPUTE || o->kind == LOOM_LO_REDUCE || o->kind == LOOM_LO_SCAN || o->kind == LOOM_LO_FFT;
    for (uint32_t i = 0; i < o->n_results && kind; i++) kind = !r->pinned[o->results[i]];
    if (!kind) return LOOM_NONE;
    for (uint32_t i = r->heads_equal[hash & 1023]; i; i = r->next_equal[i - 1]) {
        const loom_lop *other = &r->l->ops[i - 1];
        if (r->op_hash[i - 1] != hash || !is_within(r, scope, r->scope_of[r->old_number[i - 1]])) continue;
        if (same_op(r, other, o)) return i - 1;
    }
    return LOOM_NONE;
}
