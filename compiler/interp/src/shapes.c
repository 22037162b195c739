/* Operations that rearrange elements: transpose, flatten, unflatten, concat, reverse, rotate. Each works on one column
 * at a time. */
#include "eval.h"
#include <inttypes.h>
#include <string.h>

/* ---- transpose ---- */

/* Blocks of `bytes` from n rows of m to m rows of n. */
static void transpose_dense(char *to, const char *from, int64_t n, int64_t m, size_t bytes) {
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < m; k++)
            memcpy(to + (size_t)(k * n + i) * bytes, from + (size_t)(i * m + k) * bytes, bytes);
    }
}

static loom_status *transpose_column(evaluation *ev, column *c, int64_t m, column **made) {
    if (c->length == 0 || m == 0) {
        *made = column_empty(&ev->heap, c->dtype, c->depth);
        return NULL;
    }
    if (c->dense) {
        int64_t extents[LOOM_MAX_DEPTH + 2] = {m, c->length}, inner = c->stride / m;
        for (uint32_t k = 2; k < c->depth; k++) extents[k] = c->at[k].extent;
        LOOM_TRY(column_fresh(&ev->heap, c->dtype, c->depth, extents, made));
        size_t bytes = (size_t)inner * scalar_size(c);
        if (bytes) transpose_dense((*made)->data, c->data, c->length, m, bytes);
        return NULL;
    }
    builder outer;
    builder_start(&outer, &ev->heap, c->dtype, c->depth, m);
    for (int64_t k = 0; k < m; k++) {
        builder inner;
        column *row;
        builder_start(&inner, &ev->heap, c->dtype, c->depth - 1, c->length);
        for (int64_t i = 0; i < c->length; i++) LOOM_TRY(builder_element(&inner, c->at[i].row, k));
        LOOM_TRY(builder_end(&inner, &row));
        LOOM_TRY(builder_row(&outer, row));
        object_unref(&ev->heap, &row->head);
    }
    return builder_end(&outer, made);
}

/* However it goes about it: each scalar moves once. */
static loom_status *transpose_counted(evaluation *ev, column *c, int64_t m, column **made) {
    uint64_t moved = ev->heap.moved, lists = ev->heap.lists;
    LOOM_TRY(transpose_column(ev, c, m, made));
    ev->heap.moved = moved + (uint64_t)column_scalars(*made);
    ev->heap.lists = lists + (uint64_t)column_lists(*made);
    return NULL;
}

static loom_status *eval_transpose(evaluation *ev, const loom_node *n, const array *a, column **leaves) {
    const column *c = a->leaves[0];
    int64_t m = c->dense ? c->at[1].extent : c->length ? c->at[0].row->length : 0;
    for (int64_t i = 1; !c->dense && i < c->length; i++) {
        if (c->at[i].row->length == m) continue;
        loom_status *status =
            fail(ev, n, LOOM_TRAP_CODE_ROWS_DIFFER,
                 "transpose of rows that differ: row 0 has %" PRId64 " elements, row %" PRId64 " has %" PRId64, m, i,
                 c->at[i].row->length);
        return loom_status_note(status, "hint: only an array whose rows agree in length has columns");
    }
    for (uint32_t k = 0; k < a->n_leaves; k++) LOOM_TRY(transpose_counted(ev, a->leaves[k], m, &leaves[k]));
    return NULL;
}

/* ---- flatten and unflatten ---- */

static loom_status *flatten_column(evaluation *ev, column *c, column **made) {
    if (c->dense) {
        int64_t extents[LOOM_MAX_DEPTH + 2] = {c->length * c->at[1].extent};
        for (uint32_t k = 2; k < c->depth; k++) extents[k - 1] = c->at[k].extent;
        *made = column_dense(&ev->heap, c->dtype, c->depth - 1, extents, object_ref(c->buffer), c->data);
        ev->heap.moved += (uint64_t)column_scalars(*made);
        ev->heap.lists += (uint64_t)column_lists(*made);
        return NULL;
    }
    builder b;
    int64_t total = 0;
    for (int64_t i = 0; i < c->length; i++) total += c->at[i].row->length;
    builder_start(&b, &ev->heap, c->dtype, c->depth - 1, total);
    for (int64_t i = 0; i < c->length; i++) LOOM_TRY(builder_range(&b, c->at[i].row, 0, c->at[i].row->length, 1));
    return builder_end(&b, made);
}

loom_status *column_nest(evaluation *ev, column *c, uint32_t rank, const int64_t *extents, column **made) {
    if (c->length > 0) {
        uint64_t lists = 1;
        for (uint32_t k = 0; k + 1 < rank; k++) ev->heap.lists += lists *= (uint64_t)extents[k];
        return column_split(&ev->heap, c, rank, extents, made);
    }
    int64_t shape[LOOM_MAX_DEPTH + 4] = {0};
    for (uint32_t k = 0; k < rank; k++) shape[k] = extents[k];
    return column_fresh(&ev->heap, c->dtype, c->depth + rank - 1, shape, made);
}

loom_status *array_nest(evaluation *ev, const type_info *element, array *flat, uint32_t rank, const int64_t *extents,
                        array **made) {
    array *nested = array_make(&ev->heap, element);
    for (uint32_t k = 0; k < flat->n_leaves; k++) {
        LOOM_TRY(column_nest(ev, flat->leaves[k], rank, extents, &nested->leaves[k]));
    }
    *made = array_seal(nested);
    return NULL;
}

static loom_status *eval_unflatten(evaluation *ev, const loom_node *n, slot *result) {
    int64_t extents[2] = {operand_i64(ev, n, 0), operand_i64(ev, n, 1)}, product;
    const array *a = operand(ev, n, 2).array;
    for (int k = 0; k < 2; k++) {
        if (extents[k] < 0) return fail_trap(ev, n, LOOM_TRAP_COUNT, 0, extents[k], 0);
    }
    if (__builtin_mul_overflow(extents[0], extents[1], &product))
        return fail_trap(ev, n, LOOM_TRAP_TOO_MANY, 0, extents[0], extents[1]);
    if (product != a->length) return fail_trap(ev, n, LOOM_TRAP_UNFLATTEN, 0, product, a->length);
    for (uint32_t k = 0; k < a->n_leaves; k++) ev->heap.moved += (uint64_t)column_scalars(a->leaves[k]);
    return array_nest(ev, type_of_id(ev, n->type)->element, operand(ev, n, 2).array, 2, extents, &result->array);
}

/* ---- end to end, backwards, around ---- */

static loom_status *concat_column(evaluation *ev, const loom_node *n, uint32_t leaf, column **made) {
    builder b;
    int64_t total = 0;
    for (uint32_t i = 0; i < n->n_operands; i++) total += operand(ev, n, i).array->length;
    const column *first = operand(ev, n, 0).array->leaves[leaf];
    builder_start(&b, &ev->heap, first->dtype, first->depth, total);
    for (uint32_t i = 0; i < n->n_operands; i++) {
        array *a = operand(ev, n, i).array;
        LOOM_TRY(builder_range(&b, a->leaves[leaf], 0, a->length, 1));
    }
    return builder_end(&b, made);
}

static loom_status *reverse_column(evaluation *ev, column *c, column **made) {
    builder b;
    builder_start(&b, &ev->heap, c->dtype, c->depth, c->length);
    LOOM_TRY(builder_range(&b, c, c->length - 1, c->length, -1));
    return builder_end(&b, made);
}

static loom_status *rotate_column(evaluation *ev, column *c, int64_t by, column **made) {
    builder b;
    int64_t start = c->length ? by % c->length : 0;
    start += start < 0 ? c->length : 0;
    builder_start(&b, &ev->heap, c->dtype, c->depth, c->length);
    LOOM_TRY(builder_range(&b, c, start, c->length - start, 1));
    LOOM_TRY(builder_range(&b, c, 0, start, 1));
    return builder_end(&b, made);
}

loom_status *array_reverse(evaluation *ev, const type_info *element, const array *a, array **made) {
    array *reversed = array_make(&ev->heap, element);
    for (uint32_t k = 0; k < a->n_leaves; k++) LOOM_TRY(reverse_column(ev, a->leaves[k], &reversed->leaves[k]));
    *made = array_seal(reversed);
    return NULL;
}

loom_status *array_pick(evaluation *ev, const type_info *element, const array *a, const column *positions,
                        array **made) {
    const int64_t *at = (const int64_t *)(const void *)positions->data;
    array *picked = array_make(&ev->heap, element);
    for (uint32_t k = 0; k < a->n_leaves; k++) {
        builder b;
        builder_start(&b, &ev->heap, a->leaves[k]->dtype, a->leaves[k]->depth, positions->length);
        for (int64_t i = 0; i < positions->length; i++) LOOM_TRY(builder_element(&b, a->leaves[k], at[i]));
        LOOM_TRY(builder_end(&b, &picked->leaves[k]));
    }
    *made = array_seal(picked);
    return NULL;
}

loom_status *eval_shape_op(evaluation *ev, loom_node_id id, slot *result) {
    const loom_node *n = &ev->program->nodes[id];
    if (n->op == LOOM_OP_UNFLATTEN) return eval_unflatten(ev, n, result);
    const array *a = operand(ev, n, n->op == LOOM_OP_ROTATE ? 1 : 0).array;
    array *made = array_make(&ev->heap, type_of_id(ev, n->type)->element);
    if (n->op == LOOM_OP_TRANSPOSE) LOOM_TRY(eval_transpose(ev, n, a, made->leaves));
    for (uint32_t k = 0; k < a->n_leaves && n->op != LOOM_OP_TRANSPOSE; k++) {
        column *c = a->leaves[k];
        switch ((loom_op)n->op) {
        case LOOM_OP_FLATTEN: LOOM_TRY(flatten_column(ev, c, &made->leaves[k])); break;
        case LOOM_OP_CONCAT: LOOM_TRY(concat_column(ev, n, k, &made->leaves[k])); break;
        case LOOM_OP_REVERSE: LOOM_TRY(reverse_column(ev, c, &made->leaves[k])); break;
        default: LOOM_TRY(rotate_column(ev, c, operand_i64(ev, n, 0), &made->leaves[k]));
        }
    }
    result->array = array_seal(made);
    return NULL;
}
