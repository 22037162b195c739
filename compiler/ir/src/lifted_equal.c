/* Equality of blocks of lifted IR, by how they are written: relative places of expressions, the same kinds, constants
 * bit by bit. Sites differ in their numbers, but not in whether there is one. */
#include "compiler/ir/lifted.h"
#include <string.h>

bool loom_lifted_same_scalar(loom_dtype t, const loom_scalar *a, const loom_scalar *b) {
    uint64_t x[2] = {0, 0}, y[2] = {0, 0};
    loom_scalar_store(t, *a, x);
    loom_scalar_store(t, *b, y);
    return x[0] == y[0] && x[1] == y[1];
}

static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

uint64_t loom_lifted_hash_scalar(loom_dtype t, const loom_scalar *s) {
    uint64_t x[2] = {0, 0};
    loom_scalar_store(t, *s, x);
    return mix(x[0], x[1]);
}

uint64_t loom_lifted_hash_block(const loom_lifted *l, loom_lblock_id id, uint64_t h) {
    if (id == LOOM_NONE) return mix(h, 1);
    const loom_lblock *b = &l->blocks[id];
    h = mix(h, b->end - b->first);
    for (loom_lexpr_id i = b->first; i < b->end; i++) {
        const loom_lexpr *e = &l->exprs[i];
        h = mix(h, (uint64_t)e->kind << 48 ^ (uint64_t)e->mode << 40 ^ (uint64_t)e->prim << 8 ^ e->dtype);
        h = mix(h, e->aux);
        if (e->kind == LOOM_LX_CONST) h = mix(h, loom_lifted_hash_scalar(e->dtype, &e->imm));
        for (uint32_t k = 0; k < e->n_args; k++) h = mix(h, loom_lifted_arg(l, e, k) - b->first);
    }
    return h;
}

/* x0, y0: where the outermost blocks that are compared begin. */
static bool same_frame(const loom_lifted *l, loom_lblock_id x, loom_lexpr_id x0, loom_lblock_id y, loom_lexpr_id y0) {
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

static bool same_expr(const loom_lifted *l, const loom_lexpr *a, loom_lexpr_id a0, const loom_lexpr *b,
                      loom_lexpr_id b0) {
    if (a->kind != b->kind || a->mode != b->mode || a->dtype != b->dtype || a->prim != b->prim || a->aux != b->aux ||
        a->n_args != b->n_args || (a->site == LOOM_NONE) != (b->site == LOOM_NONE)) {
        return false;
    }
    if (a->kind == LOOM_LX_CONST && !loom_lifted_same_scalar(a->dtype, &a->imm, &b->imm)) return false;
    for (uint32_t k = 0; k < a->n_args; k++) {
        if (loom_lifted_arg(l, a, k) - a0 != loom_lifted_arg(l, b, k) - b0) return false;
    }
    return same_frame(l, a->blocks[0], a0, b->blocks[0], b0) && same_frame(l, a->blocks[1], a0, b->blocks[1], b0);
}

bool loom_lifted_same_block(const loom_lifted *l, loom_lblock_id x, loom_lblock_id y) {
    if (x == LOOM_NONE || y == LOOM_NONE) return x == y;
    loom_lexpr_id x0 = l->blocks[x].first, y0 = l->blocks[y].first;
    if (!same_frame(l, x, x0, y, y0)) return false;
    for (uint32_t i = 0; x0 + i < l->blocks[x].end; i++) {
        if (!same_expr(l, &l->exprs[x0 + i], x0, &l->exprs[y0 + i], y0)) return false;
    }
    return true;
}
