#include "proto/value_codec.h"
#include "common/buffer.h"
#include "common/limits.h"
#include <stdlib.h>
#include <string.h>

uint64_t loom_value_wire_bytes(const loom_value *value) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        const loom_leaf *leaf = &value->leaves[i];
        bytes += (uint64_t)leaf->n_data * loom_dtype_size(leaf->dtype);
        for (uint32_t k = 0; k < leaf->depth; k++) {
            if (leaf->extents[k] == LOOM_IRREGULAR) bytes += (uint64_t)leaf->n_lengths[k] * sizeof(int64_t);
        }
    }
    return bytes;
}

/* ---- header ---- */

static size_t columns_of(const loom_leaf *leaf) {
    size_t n = 1;
    for (uint32_t k = 0; k < leaf->depth; k++) n += leaf->extents[k] == LOOM_IRREGULAR;
    return n;
}

Wire__Value *loom_wire_value(loom_arena *arena, const loom_value *value) {
    Wire__Value *wire = LOOM_NEW(arena, Wire__Value);
    wire__value__init(wire);
    wire->n_leaves = value->n_leaves;
    wire->leaves = LOOM_NEW_ARRAY(arena, Wire__Leaf *, value->n_leaves);
    size_t n_columns = 0;
    for (uint32_t i = 0; i < value->n_leaves; i++) n_columns += columns_of(&value->leaves[i]);
    wire->column_bytes = LOOM_NEW_ARRAY(arena, uint64_t, n_columns);
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        loom_leaf *leaf = &value->leaves[i];
        Wire__Leaf *w = wire->leaves[i] = LOOM_NEW(arena, Wire__Leaf);
        wire__leaf__init(w);
        w->name = leaf->name;
        w->dtype = (uint32_t)leaf->dtype;
        w->n_extents = leaf->depth;
        w->extents = leaf->extents;
        for (uint32_t k = 0; k < leaf->depth; k++) {
            if (leaf->extents[k] != LOOM_IRREGULAR) continue;
            wire->column_bytes[wire->n_column_bytes++] = (uint64_t)leaf->n_lengths[k] * sizeof(int64_t);
        }
        wire->column_bytes[wire->n_column_bytes++] = (uint64_t)leaf->n_data * loom_dtype_size(leaf->dtype);
    }
    return wire;
}

static loom_status *check_leaf(const Wire__Leaf *leaf, size_t *columns) {
    if (leaf->dtype >= LOOM_DTYPES) {
        return loom_error(LOOM_E_PROTOCOL, "column '%.64s' has unknown element type %u", leaf->name, leaf->dtype);
    }
    if (strlen(leaf->name) > LOOM_MAX_NAME) return loom_error(LOOM_E_LIMIT, "the name of a column is too long");
    if (leaf->n_extents > LOOM_MAX_DEPTH) {
        return loom_error(LOOM_E_LIMIT, "column '%s' has %zu array levels, the limit is %d", leaf->name,
                          leaf->n_extents, LOOM_MAX_DEPTH);
    }
    *columns += 1;
    for (size_t k = 0; k < leaf->n_extents; k++) {
        if (leaf->extents[k] < LOOM_IRREGULAR) {
            return loom_error(LOOM_E_PROTOCOL, "column '%s' has a negative extent", leaf->name);
        }
        *columns += leaf->extents[k] == LOOM_IRREGULAR;
    }
    return NULL;
}

loom_status *loom_wire_value_check(const Wire__Value *wire, size_t *n_columns, uint64_t *bytes) {
    if (wire->n_leaves > LOOM_MAX_VALUE_LEAVES) {
        return loom_error(LOOM_E_LIMIT, "a value has %zu columns, the limit is %u", wire->n_leaves,
                          LOOM_MAX_VALUE_LEAVES);
    }
    size_t columns = 0;
    for (size_t i = 0; i < wire->n_leaves; i++) LOOM_TRY(check_leaf(wire->leaves[i], &columns));
    if (columns != wire->n_column_bytes) {
        return loom_error(LOOM_E_PROTOCOL, "a value announces %zu columns where its types have %zu",
                          wire->n_column_bytes, columns);
    }
    uint64_t sum = 0;
    for (size_t i = 0; i < columns; i++) {
        if (wire->column_bytes[i] > INT64_MAX || __builtin_add_overflow(sum, wire->column_bytes[i], &sum)) {
            return loom_error(LOOM_E_LIMIT, "a value is larger than 2^63 bytes");
        }
    }
    *n_columns = columns;
    *bytes = sum;
    return NULL;
}

/* ---- a value over columns in memory ---- */

typedef struct holder {
    void (*release)(void *owner);
    void *owner;
    void **copies; /* of columns that were not aligned */
    size_t n_copies;
} holder;

static void release_holder(loom_value *value) {
    holder *h = value->owner;
    for (uint32_t i = 0; i < value->n_leaves; i++) free(value->leaves[i].name);
    for (size_t i = 0; i < h->n_copies; i++) free(h->copies[i]);
    free(h->copies);
    if (h->release) h->release(h->owner);
    free(h);
}

/* The column itself, or a copy of it that is aligned to `alignment`. An empty column is NULL: some have no address. */
static loom_status *aligned(holder *h, const loom_column *column, size_t alignment, void **at) {
    if (column->length == 0) {
        *at = NULL;
        return NULL;
    }
    if ((uintptr_t)column->data % alignment == 0) {
        *at = (void *)column->data;
        return NULL;
    }
    void *copy = malloc(column->length);
    if (!copy)
        return loom_error(LOOM_E_MEMORY, "no memory for a column of %llu bytes", (unsigned long long)column->length);
    memcpy(copy, column->data, column->length);
    h->copies[h->n_copies++] = copy;
    *at = copy;
    return NULL;
}

static loom_status *fill_leaf(holder *h, loom_leaf *leaf, const Wire__Leaf *wire, const loom_column **column) {
    leaf->name = loom_xstrdup(wire->name);
    leaf->dtype = (loom_dtype)wire->dtype;
    leaf->depth = (uint32_t)wire->n_extents;
    int64_t lists = 1;
    for (uint32_t k = 0; k < leaf->depth; k++) {
        leaf->extents[k] = wire->extents[k];
        leaf->n_lengths[k] = lists;
        if (leaf->extents[k] != LOOM_IRREGULAR) {
            if (__builtin_mul_overflow(lists, leaf->extents[k], &lists)) {
                return loom_error(LOOM_E_LIMIT, "column '%s' has more than 2^63 elements", leaf->name);
            }
            continue;
        }
        const loom_column *lengths = (*column)++;
        if (lengths->length % sizeof(int64_t)) {
            return loom_error(LOOM_E_PROTOCOL, "the lengths of column '%s' are not whole numbers", leaf->name);
        }
        leaf->n_lengths[k] = (int64_t)(lengths->length / sizeof(int64_t));
        LOOM_TRY(aligned(h, lengths, sizeof(int64_t), (void **)&leaf->lengths[k]));
        lists = 0;
        for (int64_t i = 0; i < leaf->n_lengths[k]; i++) {
            if (leaf->lengths[k][i] < 0 || __builtin_add_overflow(lists, leaf->lengths[k][i], &lists)) {
                return loom_error(LOOM_E_PROTOCOL, "column '%s' has impossible lengths", leaf->name);
            }
        }
    }
    const loom_column *data = (*column)++;
    size_t size = loom_dtype_size(leaf->dtype);
    if (data->length % size) {
        return loom_error(LOOM_E_PROTOCOL, "column '%s' has a broken last element", leaf->name);
    }
    leaf->n_data = (int64_t)(data->length / size);
    return aligned(h, data, loom_dtype_size(loom_dtype_real(leaf->dtype)), &leaf->data);
}

static loom_status *build(const Wire__Value *wire, const loom_column *columns, size_t n_columns, loom_value *value) {
    size_t announced;
    uint64_t bytes;
    LOOM_TRY(loom_wire_value_check(wire, &announced, &bytes));
    if (announced != n_columns) {
        return loom_error(LOOM_E_PROTOCOL, "a value of %zu columns came with %zu", announced, n_columns);
    }
    for (size_t i = 0; i < n_columns; i++) {
        if (columns[i].length != wire->column_bytes[i]) {
            return loom_error(LOOM_E_PROTOCOL, "column %zu of a value has %llu bytes, announced were %llu", i,
                              (unsigned long long)columns[i].length, (unsigned long long)wire->column_bytes[i]);
        }
    }
    const loom_column *next = columns;
    for (size_t i = 0; i < wire->n_leaves; i++) {
        LOOM_TRY(fill_leaf(value->owner, &value->leaves[i], wire->leaves[i], &next));
    }
    return loom_value_check(value);
}

loom_status *loom_value_over(const Wire__Value *wire, const loom_column *columns, size_t n_columns,
                             void (*release)(void *owner), void *owner, loom_value **value) {
    loom_value *made;
    loom_status *status = wire->n_leaves > LOOM_MAX_VALUE_LEAVES
                              ? loom_error(LOOM_E_LIMIT, "a value has %zu columns, the limit is %u", wire->n_leaves,
                                           LOOM_MAX_VALUE_LEAVES)
                              : loom_value_create((uint32_t)wire->n_leaves, &made);
    if (status) {
        if (release) release(owner);
        return status;
    }
    holder *h = loom_xcalloc(1, sizeof *h);
    *h = (holder){.release = release, .owner = owner};
    h->copies = loom_xcalloc(n_columns + 1, sizeof *h->copies);
    made->owner = h;
    made->release = release_holder;
    status = build(wire, columns, n_columns, made);
    if (status) {
        loom_value_unref(made);
        return status;
    }
    *value = made;
    return NULL;
}

/* ---- over message frames ---- */

typedef struct frame_owner {
    size_t n;
    zmq_msg_t frames[];
} frame_owner;

static void release_frames(void *owner) {
    frame_owner *f = owner;
    for (size_t i = 0; i < f->n; i++) zmq_msg_close(&f->frames[i]);
    free(f);
}

loom_status *loom_value_over_frames(const Wire__Value *wire, zmq_msg_t *frames, size_t n_frames, loom_value **value) {
    frame_owner *owner = loom_xcalloc(1, sizeof *owner + n_frames * sizeof *owner->frames);
    loom_column *columns = loom_xcalloc(n_frames + 1, sizeof *columns);
    for (size_t i = 0; i < n_frames; i++) {
        zmq_msg_init(&owner->frames[i]);
        zmq_msg_move(&owner->frames[i], &frames[i]);
        owner->n++;
        columns[i] = (loom_column){zmq_msg_data(&owner->frames[i]), zmq_msg_size(&owner->frames[i])};
    }
    loom_status *status = loom_value_over(wire, columns, n_frames, release_frames, owner, value);
    free(columns);
    return status;
}
