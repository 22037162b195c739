/* Building columns element by element: dense while the elements' shapes agree, rows from the first that differs on. */
#include "value.h"
#include <assert.h>
#include <string.h>

void builder_start(builder *b, heap *h, loom_dtype dtype, uint32_t depth, int64_t expected) {
    *b = (builder){.heap = h, .dtype = dtype, .depth = depth, .capacity = expected > 0 ? expected : 8};
    b->size = loom_dtype_size(dtype);
    b->stride = 1;
}

static loom_status *room_bytes(const builder *b, int64_t elements, uint64_t *bytes) {
    return loom_bytes_of(b->dtype, 2, (int64_t[]){elements, b->stride}, bytes);
}

static int64_t doubled(int64_t n) {
    return n > INT64_MAX / 2 ? INT64_MAX : 2 * n;
}

/* Room for `more` elements in the dense buffer. */
static loom_status *reserve(builder *b, int64_t more) {
    if (b->buffer && b->capacity - b->count >= more) return NULL;
    int64_t wanted = b->buffer ? doubled(b->capacity) : b->capacity;
    if (wanted - b->count < more) wanted = b->count + more;
    uint64_t bytes;
    buffer *fresh;
    LOOM_TRY(room_bytes(b, wanted, &bytes));
    LOOM_TRY(buffer_create(b->heap, bytes, &fresh));
    if (b->buffer) {
        memcpy(fresh->data, b->buffer->data, (size_t)(b->count * b->stride) * b->size);
        object_unref(b->heap, &b->buffer->head);
    }
    b->buffer = fresh;
    b->capacity = wanted;
    return NULL;
}

loom_status *builder_scalars(builder *b, int64_t n, char **room) {
    LOOM_TRY(reserve(b, n));
    *room = b->buffer->data + (size_t)b->count * b->size;
    b->count += n;
    b->heap->moved += (uint64_t)n;
    return NULL;
}

loom_status *builder_scalar(builder *b, const void *scalar) {
    char *room;
    LOOM_TRY(builder_scalars(b, 1, &room));
    memcpy(room, scalar, b->size);
    return NULL;
}

/* Room for `capacity` rows, in a buffer so that an error leaves nothing behind. */
static loom_status *grow_rows(builder *b, int64_t capacity) {
    buffer *fresh;
    uint64_t bytes; /* of more rows than can be counted in bytes: what no machine has */
    if (__builtin_mul_overflow((uint64_t)capacity, sizeof(column *), &bytes)) bytes = INT64_MAX;
    LOOM_TRY(buffer_create(b->heap, bytes, &fresh));
    if (b->rows) {
        memcpy(fresh->data, b->rows->data, (size_t)b->count * sizeof(column *));
        object_unref(b->heap, &b->rows->head);
    }
    b->rows = fresh;
    b->capacity = capacity;
    return NULL;
}

static column **rows_of(const builder *b) {
    return (column **)(void *)b->rows->data;
}

/* Shapes differ: what is in the dense buffer becomes views of it. */
static loom_status *to_rows(builder *b) {
    LOOM_TRY(grow_rows(b, b->capacity > b->count ? b->capacity : b->count + 1));
    if (b->count == 0) return NULL;
    int64_t extents[LOOM_MAX_DEPTH + 2] = {b->count};
    for (uint32_t k = 0; k < b->shape->depth; k++) extents[k + 1] = b->shape->at[k].extent;
    column *whole = column_dense(b->heap, b->dtype, b->depth, extents, b->buffer, b->buffer->data);
    for (int64_t i = 0; i < b->count; i++) rows_of(b)[i] = column_row(b->heap, whole, i);
    object_unref(b->heap, &whole->head);
    b->buffer = NULL;
    return NULL;
}

static loom_status *push_row(builder *b, column *row) {
    if (b->count == b->capacity) LOOM_TRY(grow_rows(b, doubled(b->capacity)));
    rows_of(b)[b->count++] = object_ref(row);
    b->heap->moved += (uint64_t)column_scalars(row);
    b->heap->lists += 1 + (uint64_t)column_lists(row);
    return NULL;
}

/* Is a row of these extents like those before? The first decides. */
static bool fits(builder *b, const column *c, uint32_t first_level) {
    if (b->rows || !c->dense) return false;
    for (uint32_t k = 0; k < b->shape->depth; k++) {
        if (b->shape->at[k].extent != c->at[first_level + k].extent) return false;
    }
    return true;
}

static void set_shape(builder *b, column *row) {
    b->shape = object_ref(row);
    b->stride = row->length * row->stride;
    b->lists = 1 + column_lists(row);
}

/* Rows like those before, which are in the buffer now. */
static void count_alike(builder *b, int64_t n) {
    b->count += n;
    b->heap->moved += (uint64_t)(n * b->stride);
    b->heap->lists += (uint64_t)n * (uint64_t)b->lists;
}

loom_status *builder_row(builder *b, column *row) {
    assert(row->depth + 1 == b->depth);
    if (!b->shape && !b->rows && row->dense) set_shape(b, row);
    if (b->shape && fits(b, row, 0)) {
        LOOM_TRY(reserve(b, 1));
        size_t bytes = (size_t)b->stride * b->size;
        if (bytes) memcpy(b->buffer->data + (size_t)b->count * bytes, row->data, bytes);
        count_alike(b, 1);
        return NULL;
    }
    if (!b->rows) LOOM_TRY(to_rows(b));
    return push_row(b, row);
}

loom_status *builder_element(builder *b, column *from, int64_t i) {
    if (b->depth == 1) return builder_scalar(b, from->data + (size_t)i * b->size);
    if (b->shape && fits(b, from, 1)) {
        LOOM_TRY(reserve(b, 1));
        size_t bytes = (size_t)b->stride * b->size;
        if (bytes) memcpy(b->buffer->data + (size_t)b->count * bytes, from->data + (size_t)i * bytes, bytes);
        count_alike(b, 1);
        return NULL;
    }
    column *row = column_row(b->heap, from, i);
    loom_status *status = builder_row(b, row);
    object_unref(b->heap, &row->head);
    return status;
}

/* Rows without scalars cost nothing, however many there are. */
static bool weightless(builder *b, const column *like, uint32_t first_level, int64_t n) {
    if (!b->shape || !b->buffer || b->stride != 0 || n > INT64_MAX - b->count || !fits(b, like, first_level))
        return false;
    if (b->capacity - b->count < n) b->capacity = b->count + n;
    count_alike(b, n);
    return true;
}

loom_status *builder_range(builder *b, column *from, int64_t first, int64_t count, int64_t step) {
    if (b->depth == 1 && step == 1 && count > 0) {
        char *room;
        LOOM_TRY(builder_scalars(b, count, &room));
        memcpy(room, from->data + (size_t)first * b->size, (size_t)count * b->size);
        return NULL;
    }
    for (int64_t i = 0; i < count; i++) {
        LOOM_TRY(builder_element(b, from, first + i * step));
        if (from->dense && b->depth > 1 && weightless(b, from, 1, count - i - 1)) break;
    }
    return NULL;
}

/* What is there is copied behind itself, twice as much each time. */
static void fill(char *room, const void *scalar, size_t size, size_t bytes) {
    memcpy(room, scalar, size);
    for (size_t done = size; done < bytes;) {
        size_t more = done < bytes - done ? done : bytes - done;
        memcpy(room + done, room, more);
        done += more;
    }
}

static loom_status *repeat_scalar(builder *b, const void *scalar, int64_t n) {
    char *room;
    if (n == 0) return NULL;
    LOOM_TRY(builder_scalars(b, n, &room));
    fill(room, scalar, b->size, (size_t)n * b->size);
    return NULL;
}

loom_status *builder_repeat(builder *b, const void *scalar, column *row, int64_t n) {
    if (!row) return repeat_scalar(b, scalar, n);
    for (int64_t i = 0; i < n; i++) {
        LOOM_TRY(builder_row(b, row));
        if (row->dense && weightless(b, row, 0, n - i - 1)) break;
    }
    return NULL;
}

loom_status *builder_end(builder *b, column **made) {
    if (b->rows) {
        column *c;
        LOOM_TRY(column_rows(b->heap, b->dtype, b->depth, b->count, &c));
        for (int64_t i = 0; i < b->count; i++) c->at[i].row = rows_of(b)[i];
        object_unref(b->heap, &b->rows->head);
        *made = c;
    } else if (b->count == 0) {
        if (b->buffer) object_unref(b->heap, &b->buffer->head);
        *made = column_empty(b->heap, b->dtype, b->depth);
    } else {
        int64_t extents[LOOM_MAX_DEPTH + 2] = {b->count};
        for (uint32_t k = 1; k < b->depth; k++) extents[k] = b->shape->at[k - 1].extent;
        *made = column_dense(b->heap, b->dtype, b->depth, extents, b->buffer, b->buffer->data);
    }
    if (b->shape) object_unref(b->heap, &b->shape->head);
    *b = (builder){.heap = b->heap};
    return NULL;
}

loom_status *array_builder_start(array_builder *b, heap *h, const type_info *element, int64_t expected) {
    b->heap = h;
    b->element = element;
    b->many = NULL;
    b->leaves = &b->one;
    if (element->n_leaves > 1) {
        LOOM_TRY(buffer_create(h, element->n_leaves * sizeof(builder), &b->many));
        b->leaves = (builder *)(void *)b->many->data;
    }
    for (uint32_t i = 0; i < element->n_leaves; i++) {
        builder_start(&b->leaves[i], h, element->leaf_dtypes[i], element->leaf_depths[i] + 1, expected);
    }
    return NULL;
}

static loom_status *add(builder *leaves, const type_info *t, slot value) {
    if (t->kind == LOOM_T_SCALAR) return builder_scalar(leaves, value.raw);
    if (t->kind == LOOM_T_TUPLE) {
        const bool nothing = false;
        if (t->n_fields == 0) return builder_scalar(leaves, &nothing);
        for (uint32_t f = 0; f < t->n_fields; f++) {
            LOOM_TRY(add(leaves + t->first_leaf[f], t->fields[f], value.tuple->at[f]));
        }
        return NULL;
    }
    for (uint32_t i = 0; i < t->n_leaves; i++) LOOM_TRY(builder_row(&leaves[i], value.array->leaves[i]));
    return NULL;
}

loom_status *array_builder_add(array_builder *b, slot value) {
    return add(b->leaves, b->element, value);
}

static loom_status *repeat(builder *leaves, const type_info *t, slot value, int64_t n) {
    const bool nothing = false;
    if (t->kind == LOOM_T_SCALAR) return builder_repeat(leaves, value.raw, NULL, n);
    if (t->kind == LOOM_T_TUPLE && t->n_fields == 0) return builder_repeat(leaves, &nothing, NULL, n);
    for (uint32_t f = 0; t->kind == LOOM_T_TUPLE && f < t->n_fields; f++) {
        LOOM_TRY(repeat(leaves + t->first_leaf[f], t->fields[f], value.tuple->at[f], n));
    }
    for (uint32_t i = 0; t->kind == LOOM_T_ARRAY && i < t->n_leaves; i++) {
        LOOM_TRY(builder_repeat(&leaves[i], NULL, value.array->leaves[i], n));
    }
    return NULL;
}

loom_status *array_builder_repeat(array_builder *b, slot value, int64_t n) {
    return repeat(b->leaves, b->element, value, n);
}

loom_status *array_builder_end(array_builder *b, array **made) {
    array *a = array_make(b->heap, b->element);
    for (uint32_t i = 0; i < a->n_leaves; i++) LOOM_TRY(builder_end(&b->leaves[i], &a->leaves[i]));
    if (b->many) object_unref(b->heap, &b->many->head);
    *made = array_seal(a);
    return NULL;
}
