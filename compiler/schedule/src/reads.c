#include "compiler/schedule/reads.h"

uint32_t loom_axis_needs(const loom_lifted *l, loom_axis_id id, loom_lvalue_id needs[3]) {
    const loom_axis *axis = &l->axes[id];
    if (axis->kind == LOOM_AXIS_SCALAR) {
        needs[0] = axis->value;
        return 1;
    }
    if (axis->kind != LOOM_AXIS_SEGMENTED) return 0;
    needs[0] = axis->lengths;
    needs[1] = axis->offsets;
    needs[2] = axis->total;
    return 3;
}

static void block_reads(const loom_lifted *l, loom_lblock_id block, void (*f)(void *, loom_lvalue_id), void *context) {
    if (block == LOOM_NONE) return;
    for (loom_lexpr_id e = l->blocks[block].first; e < l->blocks[block].end; e++) {
        if (l->exprs[e].kind == LOOM_LX_LOAD) f(context, l->exprs[e].aux);
    }
}

static void value_reads(const loom_lvalue_id *values, uint32_t n, void (*f)(void *, loom_lvalue_id), void *context) {
    for (uint32_t i = 0; values && i < n; i++) {
        if (values[i] != LOOM_NONE) f(context, values[i]);
    }
}

void loom_lifted_reads(const loom_lifted *l, loom_lop_id id, void (*f)(void *, loom_lvalue_id), void *context) {
    const loom_lop *op = &l->ops[id];
    value_reads(op->args, op->n_args, f, context);
    switch (op->kind) {
    case LOOM_LO_LOOP:
        value_reads(op->initial, op->n_states, f, context);
        value_reads(op->next, op->n_states, f, context);
        value_reads(op->collected, op->n_collected, f, context);
        value_reads(&op->test, 1, f, context);
        return;
    case LOOM_LO_IF:
        value_reads(op->then_results, op->n_results, f, context);
        value_reads(op->else_results, op->n_results, f, context);
        return;
    case LOOM_LO_FFT:
    case LOOM_LO_OFFSETS:
    case LOOM_LO_SORT: return;
    case LOOM_LO_COMPUTE:
        if (op->sliced) {
            value_reads(op->dest, op->n_results, f, context);
            value_reads(&op->into, 1, f, context);
        }
        break;
    case LOOM_LO_PERMUTE:
        if (op->output == LOOM_NONE) value_reads(op->dest, op->n_results, f, context);
        break;
    case LOOM_LO_REDUCE:
    case LOOM_LO_SCAN: block_reads(l, op->ne, f, context); break;
    default: break;
    }
    block_reads(l, op->body, f, context);
}

loom_lop_id *loom_lifted_parents(const loom_lifted *l, loom_arena *arena) {
    loom_lop_id *parent = LOOM_NEW_ARRAY(arena, loom_lop_id, (size_t)l->n_ops + 1);
    for (loom_lop_id i = 0; i < l->n_ops; i++) parent[i] = LOOM_NONE;
    /* Inner ones first: an operation stands behind what is inside it. */
    for (loom_lop_id id = 0; id < l->n_ops; id++) {
        const loom_lop *op = &l->ops[id];
        if (op->kind != LOOM_LO_LOOP && op->kind != LOOM_LO_IF) continue;
        for (loom_lop_id i = op->inner_first; i < op->inner_end; i++) {
            if (parent[i] == LOOM_NONE) parent[i] = id;
        }
        for (loom_lop_id i = op->else_first; op->kind == LOOM_LO_IF && i < op->else_end; i++) {
            if (parent[i] == LOOM_NONE) parent[i] = id;
        }
    }
    return parent;
}
