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

uint64_t fuse_hash_op(const rewrite *r, const loom_lop *o) {
    uint64_t h = mix(o->kind, (uint64_t)o->n_results << 32 ^ o->reduce);
    for (uint32_t i = 0; i < o->n_axes; i++) h = mix(h, o->axes[i]);
    for (uint32_t i = 0; i < o->n_args; i++) h = mix(h, o->args[i]);
    h = loom_lifted_hash_block(r->l, o->body, h);
    h = loom_lifted_hash_block(r->l, o->ne, h);
    return loom_lifted_hash_block(r->l, o->combine, h) | 1;
}

static bool same_op(const rewrite *r, const loom_lop *a, const loom_lop *b) {
    if (a->kind != b->kind || a->n_axes != b->n_axes || a->n_results != b->n_results || a->n_args != b->n_args)
        return false;
    /* What is stored in another form is another value. */
    if (a->dense || b->dense || a->sliced || b->sliced || a->blank != b->blank) return false;
    if (a->reduce != b->reduce || a->scan != b->scan || a->fft_rank != b->fft_rank || a->inverse != b->inverse)
        return false;
    for (uint32_t i = 0; i < a->n_axes; i++) {
        if (a->axes[i] != b->axes[i]) return false;
    }
    for (uint32_t i = 0; i < a->n_args; i++) {
        if (a->args[i] != b->args[i]) return false;
    }
    return loom_lifted_same_block(r->l, a->body, b->body) && loom_lifted_same_block(r->l, a->ne, b->ne) &&
           loom_lifted_same_block(r->l, a->combine, b->combine);
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
    bool kind = o->kind == LOOM_LO_COMPUTE || o->kind == LOOM_LO_REDUCE || o->kind == LOOM_LO_SCAN ||
                o->kind == LOOM_LO_FFT || o->kind == LOOM_LO_SORT;
    for (uint32_t i = 0; i < o->n_results && kind; i++) kind = !r->pinned[o->results[i]];
    if (!kind) return LOOM_NONE;
    for (uint32_t i = r->heads_equal[hash & 1023]; i; i = r->next_equal[i - 1]) {
        const loom_lop *other = &r->l->ops[i - 1];
        if (r->op_hash[i - 1] != hash || !is_within(r, scope, r->scope_of[r->old_number[i - 1]])) continue;
        if (same_op(r, other, o)) return i - 1;
    }
    return LOOM_NONE;
}
