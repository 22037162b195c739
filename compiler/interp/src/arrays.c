/* Operations on arrays that run no body: making, indexing, slicing, updating, claims, zip and unzip. */
#include "eval.h"
#include <assert.h>
#include <inttypes.h>
#include <string.h>

static loom_status *out_of_range(const evaluation *ev, const loom_node *n, int64_t i, int64_t length) {
    return fail_trap(ev, n, LOOM_TRAP_INDEX, 0, i, length);
}

/* ---- claims and extents ---- */

/* A list at `level` whose length is not `wanted`: its length, or -1 if all have it. */
static int64_t other_length(const column *c, uint32_t level, int64_t wanted) {
    if (level == 0) return c->length == wanted ? -1 : c->length;
    if (c->dense) {
        for (uint32_t k = 0; k < level; k++) {
            if (c->at[k].extent == 0) return -1; /* no lists there */
        }
        return c->at[level].extent == wanted ? -1 : c->at[level].extent;
    }
    for (int64_t i = 0; i < c->length; i++) {
        int64_t other = other_length(c->at[i].row, level - 1, wanted);
        if (other >= 0) return other;
    }
    return -1;
}

static loom_status *eval_claim(evaluation *ev, const loom_node *n, slot *result) {
    const array *a = operand(ev, n, 0).array;
    uint32_t claim = 1;
    for (uint32_t level = 0; level < 32; level++) {
        if (!(n->aux >> level & 1)) continue;
        int64_t wanted = operand_i64(ev, n, claim), other = other_length(a->leaves[0], level, wanted);
        if (other >= 0) return fail_trap(ev, n, LOOM_TRAP_CLAIM, claim - 1, other, wanted);
        claim++;
    }
    *result = take_operand(ev, n, 0);
    return NULL;
}

/* Extent of a level, by first rows. */
static int64_t extent_of(const column *c, uint32_t level) {
    for (; level > 0; level--) {
        if (c->dense) return c->at[level].extent;
        if (c->length == 0) return 0;
        c = c->at[0].row;
    }
    return c->length;
}

/* ---- making ---- */

static loom_status *eval_literal(evaluation *ev, const loom_node *n, slot *result) {
    array_builder b;
    LOOM_TRY(array_builder_start(&b, &ev->heap, type_of_id(ev, n->type)->element, n->n_operands));
    for (uint32_t i = 0; i < n->n_operands; i++) LOOM_TRY(array_builder_add(&b, operand(ev, n, i)));
    return array_builder_end(&b, &result->array);
}

#define FILL(T)                                                                                                        \
    do {                                                                                                               \
        T *at = (T *)(void *)room;                                                                                     \
        for (int64_t i = 0; i < count; i++) at[i] = (T)i;                                                              \
    } while (0)

static loom_status *eval_iota(evaluation *ev, const loom_node *n, slot *result) {
    int64_t count = operand_i64(ev, n, 0);
    if (count < 0) return fail_trap(ev, n, LOOM_TRAP_COUNT, 0, count, 0);
    array_builder b;
    const type_info *element = type_of_id(ev, n->type)->element;
    LOOM_TRY(array_builder_start(&b, &ev->heap, element, count));
    char *room = NULL;
    if (count) LOOM_TRY(builder_scalars(b.leaves, count, &room));
    switch (element->size) {
    case 1: FILL(int8_t); break;
    case 2: FILL(int16_t); break;
    case 4: FILL(int32_t); break;
    default: FILL(int64_t);
    }
    return array_builder_end(&b, &result->array);
}

static loom_status *eval_replicate(evaluation *ev, const loom_node *n, slot *result) {
    int64_t count = operand_i64(ev, n, 0);
    if (count < 0) return fail_trap(ev, n, LOOM_TRAP_COUNT, 0, count, 0);
    array_builder b;
    LOOM_TRY(array_builder_start(&b, &ev->heap, type_of_id(ev, n->type)->element, count));
    LOOM_TRY(array_builder_repeat(&b, operand(ev, n, 1), count));
    return array_builder_end(&b, &result->array);
}

static loom_status *eval_zip(evaluation *ev, const loom_node *n, slot *result) {
    const type_info *element = type_of_id(ev, n->type)->element;
    array *zipped = array_make(&ev->heap, element);
    int64_t length = operand(ev, n, 0).array->length;
    for (uint32_t i = 0; i < n->n_operands; i++) {
        const array *a = operand(ev, n, i).array;
        if (a->length != length) return fail_trap(ev, n, LOOM_TRAP_LENGTHS, 0, length, a->length);
        for (uint32_t k = 0; k < a->n_leaves; k++) {
            zipped->leaves[element->first_leaf[i] + k] = object_ref(a->leaves[k]);
        }
    }
    result->array = array_seal(zipped);
    return NULL;
}

static loom_status *eval_unzip(evaluation *ev, const loom_node *n, slot *result) {
    const array *a = operand(ev, n, 0).array;
    const type_info *element = operand_type(ev, n, 0)->element;
    tuple *t = tuple_make(&ev->heap, type_of_id(ev, n->type));
    for (uint32_t f = 0; f < element->n_fields; f++) {
        array *part = array_make(&ev->heap, element->fields[f]);
        for (uint32_t k = 0; k < part->n_leaves; k++)
            part->leaves[k] = object_ref(a->leaves[element->first_leaf[f] + k]);
        t->at[f].array = array_seal(part);
    }
    result->tuple = t;
    return NULL;
}

/* ---- reading ---- */

/* Scalars of dense columns are read where they are; else level by level. */
static loom_status *eval_index(evaluation *ev, const loom_node *n, slot *result) {
    array *a = operand(ev, n, 0).array;
    const type_info *type = operand_type(ev, n, 0);
    uint32_t levels = n->n_operands - 1;
    const column *c = a->leaves[0];
    int64_t i = operand_i64(ev, n, 1);
    if (i < 0 || i >= a->length) return out_of_range(ev, n, i, a->length);
    if (a->n_leaves == 1 && c->dense && c->depth == levels) {
        for (uint32_t k = 1; k < levels; k++) {
            int64_t next = operand_i64(ev, n, k + 1);
            if (next < 0 || next >= c->at[k].extent) return out_of_range(ev, n, next, c->at[k].extent);
            i = i * c->at[k].extent + next;
        }
        size_t size = scalar_size(c);
        memcpy(result->raw, c->data + (size_t)i * size, size);
        return NULL;
    }
    slot at = element_at(&ev->heap, type->element, a->leaves, i);
    for (uint32_t k = 1; k < levels; k++) {
        type = type->element;
        array *row = at.array;
        i = operand_i64(ev, n, k + 1);
        if (i < 0 || i >= row->length) return out_of_range(ev, n, i, row->length);
        at = element_at(&ev->heap, type->element, row->leaves, i);
        object_unref(&ev->heap, &row->head);
    }
    *result = at;
    return NULL;
}

typedef struct range {
    int64_t from, count, step;
} range;

/* As Futhark: from and to within [0, n] (descending: [-1, n - 1]), in the direction of step. */
static loom_status *slice_range(evaluation *ev, const loom_node *n, int64_t length, range *r) {
    uint32_t next = 1;
    int64_t given[3] = {0, 0, 0};
    for (uint32_t k = 0; k < 3; k++) {
        if (n->aux >> k & 1) given[k] = operand_i64(ev, n, next++);
    }
    int64_t step = n->aux & 4 ? given[2] : 1;
    if (step == 0) return fail_trap(ev, n, LOOM_TRAP_SLICE_STEP, 0, 0, 0);
    int64_t from = n->aux & 1 ? given[0] : step > 0 ? 0 : length - 1;
    int64_t to = n->aux & 2 ? given[1] : step > 0 ? length : -1;
    bool down = step < 0, ordered = down ? to >= -1 && to <= from : from >= 0 && from <= to;
    if (!ordered) return fail_trap(ev, n, LOOM_TRAP_SLICE_ORDER, down, from, to);
    if (down ? from >= length : to > length) {
        return fail_trap(ev, n, LOOM_TRAP_SLICE_END, down, down ? from : to, length);
    }
    uint64_t span = step > 0 ? (uint64_t)(to - from) : (uint64_t)(from - to);
    uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    *r = (range){from, (int64_t)((span + stride - 1) / stride), step};
    return NULL;
}

/* Elements of one column; a stretch of a dense one is a view. */
static loom_status *slice_column(evaluation *ev, column *c, range r, column **made) {
    if (c->dense && r.step == 1 && r.count > 0) {
        int64_t extents[LOOM_MAX_DEPTH + 2] = {r.count};
        for (uint32_t k = 1; k < c->depth; k++) extents[k] = c->at[k].extent;
        char *data = c->data + (size_t)(r.from * c->stride) * scalar_size(c);
        *made = column_dense(&ev->heap, c->dtype, c->depth, extents, object_ref(c->buffer), data);
        ev->heap.moved += (uint64_t)column_scalars(*made);
        ev->heap.lists += (uint64_t)column_lists(*made);
        return NULL;
    }
    builder b;
    builder_start(&b, &ev->heap, c->dtype, c->depth, r.count);
    LOOM_TRY(builder_range(&b, c, r.from, r.count, r.count > 1 ? r.step : 1));
    return builder_end(&b, made);
}

static loom_status *eval_slice(evaluation *ev, const loom_node *n, slot *result) {
    const array *a = operand(ev, n, 0).array;
    range r;
    LOOM_TRY(slice_range(ev, n, a->length, &r));
    array *part = array_make(&ev->heap, operand_type(ev, n, 0)->element);
    for (uint32_t k = 0; k < a->n_leaves; k++) LOOM_TRY(slice_column(ev, a->leaves[k], r, &part->leaves[k]));
    result->array = array_seal(part);
    return NULL;
}

/* ---- updating ---- */

/* The value that goes into one column: a scalar or a column of fewer levels. */
typedef struct piece {
    const void *scalar;
    column *row;
} piece;

static bool shape_fits(const column *c, uint32_t level, const column *row) {
    if (!row->dense || !c->dense) return false;
    for (uint32_t k = 0; k < row->depth; k++) {
        if (c->at[level + k].extent != row->at[k].extent) return false;
    }
    return true;
}

/* A column of the same contents that may be written: `c` itself, or a copy. Takes a reference, gives one. */
loom_status *column_writable(evaluation *ev, column *c, column **made) {
    *made = c;
    if (column_unique(c)) return NULL;
    if (c->dense) {
        int64_t extents[LOOM_MAX_DEPTH + 2];
        for (uint32_t k = 0; k < c->depth; k++) extents[k] = c->at[k].extent;
        LOOM_TRY(column_fresh(&ev->heap, c->dtype, c->depth, extents, made));
        size_t bytes = (size_t)(c->length * c->stride) * scalar_size(c);
        if (bytes) memcpy((*made)->data, c->data, bytes);
        ev->heap.moved += (uint64_t)(c->length * c->stride);
    } else {
        LOOM_TRY(column_rows(&ev->heap, c->dtype, c->depth, c->length, made));
        for (int64_t i = 0; i < c->length; i++) (*made)->at[i].row = object_ref(c->at[i].row);
    }
    object_unref(&ev->heap, &c->head);
    return NULL;
}

/* The same lists as rows, writable. */
static loom_status *as_rows(evaluation *ev, column *c, column **made) {
    *made = c;
    if (!c->dense) return NULL;
    LOOM_TRY(column_rows(&ev->heap, c->dtype, c->depth, c->length, made));
    for (int64_t i = 0; i < c->length; i++) (*made)->at[i].row = column_row(&ev->heap, c, i);
    object_unref(&ev->heap, &c->head);
    return NULL;
}

/* Writes at an index path that has been checked; takes the reference to `c`. */
static loom_status *update_column(evaluation *ev, column *c, const int64_t *path, uint32_t levels, piece value,
                                  column **made) {
    bool dense = c->dense && (value.scalar || shape_fits(c, levels, value.row));
    if (dense) {
        LOOM_TRY(column_writable(ev, c, &c));
        int64_t at = 0, scalars = 1;
        for (uint32_t k = 0; k < levels; k++) at = at * c->at[k].extent + path[k];
        for (uint32_t k = levels; k < c->depth; k++) scalars *= c->at[k].extent;
        size_t bytes = (size_t)scalars * scalar_size(c);
        if (bytes) memcpy(c->data + (size_t)at * bytes, value.scalar ? value.scalar : value.row->data, bytes);
        ev->heap.moved += (uint64_t)scalars;
        *made = c;
        return NULL;
    }
    LOOM_TRY(as_rows(ev, c, &c));
    LOOM_TRY(column_writable(ev, c, &c));
    column **row = &c->at[path[0]].row;
    if (levels == 1) {
        object_unref(&ev->heap, &(*row)->head);
        *row = object_ref(value.row);
    } else {
        LOOM_TRY(update_column(ev, *row, path + 1, levels - 1, value, row));
    }
    *made = c;
    return NULL;
}

static loom_status *update_leaves(evaluation *ev, column **leaves, const type_info *t, const int64_t *path,
                                  uint32_t levels, slot value) {
    if (t->kind == LOOM_T_TUPLE) {
        for (uint32_t f = 0; f < t->n_fields; f++) {
            LOOM_TRY(update_leaves(ev, leaves + t->first_leaf[f], t->fields[f], path, levels, value.tuple->at[f]));
        }
        return NULL;
    }
    for (uint32_t k = 0; k < t->n_leaves; k++) {
        piece p = {t->kind == LOOM_T_SCALAR ? value.raw : NULL,
                   t->kind == LOOM_T_SCALAR ? NULL : value.array->leaves[k]};
        column *c = leaves[k];
        leaves[k] = NULL;
        LOOM_TRY(update_column(ev, c, path, levels, p, &leaves[k]));
    }
    return NULL;
}

loom_status *array_writable(evaluation *ev, const type_info *element, array *a, array **made) {
    *made = a;
    if (a->head.references == 1) return NULL;
    *made = array_make(&ev->heap, element);
    for (uint32_t k = 0; k < a->n_leaves; k++) (*made)->leaves[k] = object_ref(a->leaves[k]);
    array_seal(*made);
    object_unref(&ev->heap, &a->head);
    return NULL;
}

loom_status *array_update(evaluation *ev, const type_info *target, array *a, const int64_t *path, uint32_t levels,
                          slot value) {
    const type_info *element = target;
    for (uint32_t k = 0; k < levels; k++) element = element->element;
    return update_leaves(ev, a->leaves, element, path, levels, value);
}

bool path_inside(const column *c, const int64_t *path, uint32_t levels, uint32_t *level, int64_t *length) {
    for (uint32_t k = 0; k < levels; k++) {
        int64_t extent = c->dense ? c->at[k].extent : c->length;
        if (path[k] < 0 || path[k] >= extent) {
            if (level) *level = k;
            if (length) *length = extent;
            return false;
        }
        if (!c->dense) {
            if (k + 1 == levels) return true;
            return path_inside(c->at[path[k]].row, path + k + 1, levels - k - 1, level, length);
        }
    }
    return true;
}

static loom_status *eval_update(evaluation *ev, const loom_node *n, slot *result) {
    const type_info *type = operand_type(ev, n, 0);
    uint32_t levels = n->n_operands - 2;
    int64_t path[LOOM_MAX_DEPTH + 1], length = 0;
    for (uint32_t k = 0; k < levels; k++) path[k] = operand_i64(ev, n, k + 2);
    array *a = operand(ev, n, 0).array;
    for (uint32_t k = 1; k <= levels; k++) {
        if (!path_inside(a->leaves[0], path, k, NULL, &length)) return out_of_range(ev, n, path[k - 1], length);
    }
    slot value = operand(ev, n, 1);
    a = take_operand(ev, n, 0).array;
    LOOM_TRY(array_writable(ev, type->element, a, &a));
    LOOM_TRY(array_update(ev, type, a, path, levels, value));
    result->array = a;
    return NULL;
}

loom_status *eval_array_op(evaluation *ev, loom_node_id id, slot *result) {
    const loom_node *n = &ev->program->nodes[id];
    switch ((loom_op)n->op) {
    case LOOM_OP_CLAIM: return eval_claim(ev, n, result);
    case LOOM_OP_DIM: result->i64 = extent_of(operand(ev, n, 0).array->leaves[0], n->aux); return NULL;
    case LOOM_OP_LENGTH: result->i64 = operand(ev, n, 0).array->length; return NULL;
    case LOOM_OP_ARRAY: return eval_literal(ev, n, result);
    case LOOM_OP_IOTA: return eval_iota(ev, n, result);
    case LOOM_OP_REPLICATE: return eval_replicate(ev, n, result);
    case LOOM_OP_ZIP: return eval_zip(ev, n, result);
    case LOOM_OP_UNZIP: return eval_unzip(ev, n, result);
    case LOOM_OP_INDEX: return eval_index(ev, n, result);
    case LOOM_OP_SLICE: return eval_slice(ev, n, result);
    default: return eval_update(ev, n, result);
    }
}
