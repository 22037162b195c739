/* Building lifted IR: tables that grow in the arena. */
#include "compiler/ir/lifted.h"
#include <assert.h>
#include <string.h>

loom_lifted *loom_lifted_create(loom_arena *arena, const loom_program *program) {
    loom_lifted *l = LOOM_NEW(arena, loom_lifted);
    l->arena = arena;
    l->program = program;
    return l;
}

static void *grow(loom_lifted *l, const void *old, uint32_t count, uint32_t *cap, uint32_t more, size_t size) {
    assert(more < UINT32_MAX / 2 - count);
    uint32_t wanted = *cap ? 2 * *cap : 16;
    while (wanted < count + more) wanted *= 2;
    *cap = wanted;
    return loom_arena_grow(l->arena, old, count, wanted, size);
}

#define RESERVE(l, table, count, cap, more)                                                                            \
    do {                                                                                                               \
        if ((l)->cap - (l)->count < (more))                                                                            \
            (l)->table = grow((l), (l)->table, (l)->count, &(l)->cap, (more), sizeof *(l)->table);                     \
    } while (0)

static void *copy(loom_lifted *l, const void *from, uint32_t count, size_t size) {
    if (!count) return NULL;
    void *to = loom_arena_array(l->arena, count, size);
    memcpy(to, from, count * size);
    return to;
}

static bool same_axis(const loom_axis *a, const loom_axis *b) {
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case LOOM_AXIS_CHUNK: return true;
    case LOOM_AXIS_CONST: return a->extent == b->extent;
    case LOOM_AXIS_INPUT: return a->value == b->value && a->level == b->level;
    case LOOM_AXIS_SCALAR: return a->value == b->value;
    case LOOM_AXIS_SEGMENTED: return a->lengths == b->lengths && a->offsets == b->offsets;
    }
    return false;
}

loom_axis_id loom_lifted_axis(loom_lifted *l, loom_axis axis) {
    for (uint32_t i = 0; i < l->n_axes; i++) {
        if (same_axis(&l->axes[i], &axis)) return i;
    }
    RESERVE(l, axes, n_axes, cap_axes, 1);
    l->axes[l->n_axes] = axis;
    return l->n_axes++;
}

bool loom_lifted_any_segmented(const loom_lifted *l, uint32_t n_axes, const loom_axis_id *axes) {
    for (uint32_t i = 0; i < n_axes; i++) {
        if (l->axes[axes[i]].kind == LOOM_AXIS_SEGMENTED) return true;
    }
    return false;
}

bool loom_lifted_is_tested(const loom_lifted *l) {
    for (loom_axis_id a = 0; a < l->n_axes; a++) {
        if (l->axes[a].tested) return true;
    }
    return false;
}

loom_axis_id loom_lifted_const_axis(loom_lifted *l, int64_t extent) {
    return loom_lifted_axis(l, (loom_axis){.kind = LOOM_AXIS_CONST, .extent = extent, .value = LOOM_NONE});
}

static loom_rep representation(const loom_lifted *l, const loom_lvalue *v) {
    loom_rep rep = LOOM_REP_AVOIDED;
    for (uint32_t i = 0; i < v->n_axes; i++) {
        if (l->axes[v->axes[i]].kind == LOOM_AXIS_SEGMENTED) return LOOM_REP_IRREGULAR;
        if (l->axes[v->axes[i]].kind == LOOM_AXIS_CHUNK) rep = LOOM_REP_REGULAR;
    }
    return rep;
}

loom_lvalue_id loom_lifted_value(loom_lifted *l, loom_lvalue value) {
    RESERVE(l, values, n_values, cap_values, 1);
    value.axes = copy(l, value.axes, value.n_axes, sizeof *value.axes);
    value.rep = representation(l, &value);
    l->values[l->n_values] = value;
    return l->n_values++;
}

loom_lexpr_id loom_lifted_expr(loom_lifted *l, loom_lexpr expr, const loom_lexpr_id *args, uint32_t n_args) {
    RESERVE(l, exprs, n_exprs, cap_exprs, 1);
    RESERVE(l, args, n_args, cap_args, n_args);
    expr.first_arg = l->n_args;
    expr.n_args = n_args;
    for (uint32_t i = 0; i < n_args; i++) {
        assert(args[i] < l->n_exprs);
        l->args[l->n_args++] = args[i];
    }
    l->exprs[l->n_exprs] = expr;
    return l->n_exprs++;
}

loom_lblock_id loom_lifted_block(loom_lifted *l, loom_lexpr_id first, uint32_t n_params, const loom_dtype *params,
                                 uint32_t n_results, const loom_lexpr_id *results) {
    RESERVE(l, blocks, n_blocks, cap_blocks, 1);
    l->blocks[l->n_blocks] = (loom_lblock){.first = first,
                                           .end = l->n_exprs,
                                           .n_params = n_params,
                                           .params = copy(l, params, n_params, sizeof *params),
                                           .n_results = n_results,
                                           .results = copy(l, results, n_results, sizeof *results)};
    return l->n_blocks++;
}

loom_lop_id loom_lifted_op(loom_lifted *l, loom_lop op) {
    RESERVE(l, ops, n_ops, cap_ops, 1);
    op.axes = copy(l, op.axes, op.n_axes, sizeof *op.axes);
    op.results = copy(l, op.results, op.n_results, sizeof *op.results);
    op.args = copy(l, op.args, op.n_args, sizeof *op.args);
    op.dest = op.dest ? copy(l, op.dest, op.n_results, sizeof *op.dest) : NULL;
    op.target_axes = copy(l, op.target_axes, op.n_target_axes, sizeof *op.target_axes);
    op.initial = copy(l, op.initial, op.n_states, sizeof *op.initial);
    op.state = copy(l, op.state, op.n_states, sizeof *op.state);
    op.next = copy(l, op.next, op.n_states, sizeof *op.next);
    op.collected = copy(l, op.collected, op.n_collected, sizeof *op.collected);
    op.then_results = op.then_results ? copy(l, op.then_results, op.n_results, sizeof *op.then_results) : NULL;
    op.else_results = op.else_results ? copy(l, op.else_results, op.n_results, sizeof *op.else_results) : NULL;
    for (uint32_t i = 0; i < op.n_results; i++) l->values[op.results[i]].op = l->n_ops;
    l->ops[l->n_ops] = op;
    return l->n_ops++;
}

loom_lsite_id loom_lifted_site(loom_lifted *l, loom_span span, const char *format, const char *hint) {
    RESERVE(l, sites, n_sites, cap_sites, 1);
    l->sites[l->n_sites] = (loom_lsite){.span = span, .format = format, .hint = hint};
    return l->n_sites++;
}

uint32_t loom_lifted_results(const loom_lifted *l, const loom_lexpr *e) {
    switch (e->kind) {
    case LOOM_LX_IF: return l->blocks[e->blocks[0]].n_results;
    case LOOM_LX_FOR: return e->n_args - 1;
    case LOOM_LX_WHILE: return e->n_args;
    default: return 1;
    }
}
