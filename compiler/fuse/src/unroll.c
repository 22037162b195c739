/* Reductions along a constant axis of at most SHORT elements become COMPUTE operations: the elements are joined one
 * after the other in the body. A nest of two or four points is not worth its loop, and what stands around can fuse.
 *
 *     reduce i2 over [c, h, i2: 2]  body x[c, h, i2], start 0, +   ->   compute over [c, h]  (0 + x[c, h, 0]) + x[c, h,
 * 1]
 *
 * Runs once, before the first round: bodies are small then. */
#include "rewrite.h"

enum {
    SHORT = 4,
    SMALL = 64, /* expressions of a body worth repeating */
};

typedef struct unroller {
    loom_lifted *l;
    loom_arena *scratch;
    const loom_lop *op;
    int64_t index; /* of the reduced axis */
} unroller;

/* Copies [b.first, b.end) to the end of the table; parameters become `params`. Returns where each expression went. */
static loom_lexpr_id *append(unroller *u, loom_lblock_id id, const loom_lexpr_id *params) {
    loom_lifted *l = u->l;
    const loom_lblock b = l->blocks[id];
    loom_lexpr_id *map = LOOM_NEW_ARRAY(u->scratch, loom_lexpr_id, (size_t)(b.end - b.first) + 1);
    for (loom_lexpr_id i = b.first; i < b.end; i++) {
        loom_lexpr e = l->exprs[i];
        loom_lexpr_id *args = LOOM_NEW_ARRAY(u->scratch, loom_lexpr_id, (size_t)e.n_args + 1);
        for (uint32_t k = 0; k < e.n_args; k++) args[k] = map[loom_lifted_arg(l, &e, k) - b.first];
        if (e.kind == LOOM_LX_PARAM) {
            map[i - b.first] = params[e.aux];
            continue;
        }
        if (e.kind == LOOM_LX_AXIS && e.aux == u->op->reduce) {
            e.kind = LOOM_LX_CONST;
            e.imm = (loom_scalar){.i = u->index};
        } else if (e.kind == LOOM_LX_AXIS && e.aux > u->op->reduce) {
            e.aux--;
        }
        map[i - b.first] = loom_lifted_expr(l, e, args, e.n_args);
    }
    return map;
}

static bool is_simple(const loom_lifted *l, loom_lblock_id id) {
    const loom_lblock *b = &l->blocks[id];
    if (b->end - b->first > SMALL) return false;
    for (loom_lexpr_id i = b->first; i < b->end; i++) {
        loom_lexpr_kind kind = (loom_lexpr_kind)l->exprs[i].kind;
        if (kind == LOOM_LX_IF || kind == LOOM_LX_FOR || kind == LOOM_LX_WHILE || kind == LOOM_LX_RESULT) return false;
    }
    return true;
}

static bool can_unroll(const loom_lifted *l, const loom_lop *o) {
    if (o->kind != LOOM_LO_REDUCE) return false;
    const loom_axis *a = &l->axes[o->axes[o->reduce]];
    return a->kind == LOOM_AXIS_CONST && a->extent <= SHORT && is_simple(l, o->body) && is_simple(l, o->ne) &&
           is_simple(l, o->combine);
}

static void take(unroller *u, loom_lblock_id id, const loom_lexpr_id *map, loom_lexpr_id *to) {
    const loom_lblock *b = &u->l->blocks[id];
    for (uint32_t i = 0; i < b->n_results; i++) to[i] = map[b->results[i] - b->first];
}

static void unroll(loom_lifted *l, loom_arena *scratch, loom_lop_id id) {
    loom_lop o = l->ops[id];
    unroller u = {.l = l, .scratch = scratch, .op = &o};
    uint32_t n = o.n_results;
    int64_t extent = l->axes[o.axes[o.reduce]].extent;
    loom_lexpr_id first = l->n_exprs, *params = LOOM_NEW_ARRAY(scratch, loom_lexpr_id, 2 * (size_t)n + 1);
    take(&u, o.ne, append(&u, o.ne, NULL), params);
    for (u.index = 0; u.index < extent; u.index++) {
        take(&u, o.body, append(&u, o.body, NULL), params + n);
        loom_lexpr_id *joined = LOOM_NEW_ARRAY(scratch, loom_lexpr_id, (size_t)n + 1);
        take(&u, o.combine, append(&u, o.combine, params), joined);
        memcpy(params, joined, n * sizeof *params);
    }
    loom_axis_id *axes = LOOM_NEW_ARRAY(l->arena, loom_axis_id, o.n_axes);
    uint32_t n_axes = 0;
    for (uint32_t i = 0; i < o.n_axes; i++) {
        if (i != o.reduce) axes[n_axes++] = o.axes[i];
    }
    loom_lop *to = &l->ops[id];
    to->kind = LOOM_LO_COMPUTE;
    to->axes = axes;
    to->n_axes = n_axes;
    to->body = loom_lifted_block(l, first, 0, NULL, n, params);
    to->ne = to->combine = LOOM_NONE;
    to->reduce = 0;
    to->builtin = LOOM_PRIM_COUNT;
}

void fuse_unroll(loom_lifted *l) {
    loom_arena *scratch = loom_arena_create(0);
    for (loom_lop_id id = 0; id < l->n_ops; id++) {
        if (can_unroll(l, &l->ops[id])) unroll(l, scratch, id);
    }
    loom_arena_destroy(scratch);
}
