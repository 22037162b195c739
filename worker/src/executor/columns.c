/* Streams' elements as values with all leaves of the element type. */
#include "common/buffer.h"
#include "executor/run.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const loom_graph_slot *stream_slot(const loom_run *run, uint32_t s) {
    return &run->graph->slots[run->stage->streams[s]];
}

loom_status *loom_run_count(const loom_run *run, uint32_t s, const loom_value *elements, int64_t *count) {
    const char *stream = stream_slot(run, s)->name;
    for (uint32_t i = 0; i < elements->n_leaves; i++) {
        const loom_leaf *leaf = &elements->leaves[i];
        if (leaf->depth == 0)
            return loom_error(LOOM_E_DATA, "stream '%s': column '%s' has no elements axis", stream, leaf->name);
        int64_t n = loom_leaf_length(leaf, 0, 0);
        if (i > 0 && n != *count) {
            return loom_error(LOOM_E_DATA, "stream '%s': column '%s' has %" PRId64 " elements, others have %" PRId64,
                              stream, leaf->name, n, *count);
        }
        *count = n;
    }
    if (elements->n_leaves == 0) return loom_error(LOOM_E_DATA, "stream '%s': a block without columns", stream);
    return NULL;
}

loom_status *loom_value_i64(int64_t number, loom_value **value) {
    loom_value *made;
    LOOM_TRY(loom_value_create(1, &made));
    loom_status *status = loom_leaf_init(&made->leaves[0], "", LOOM_I64, 0, NULL, sizeof number);
    if (status) {
        loom_value_unref(made);
        return status;
    }
    memcpy(made->leaves[0].data, &number, sizeof number);
    *value = made;
    return NULL;
}

/* A column value borrows what the block has and owns what it repeats. */
typedef struct column_owner {
    loom_value *elements;
    bool *owned; /* per leaf: data and lengths are malloc'ed here */
} column_owner;

static void release_column(loom_value *value) {
    column_owner *owner = value->owner;
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        loom_leaf *leaf = &value->leaves[i];
        free(leaf->name);
        if (!owner->owned[i]) continue;
        free(leaf->data);
        for (uint32_t k = 0; k < LOOM_MAX_DEPTH; k++) free(leaf->lengths[k]);
    }
    loom_value_unref(owner->elements);
    free(owner->owned);
    free(owner);
}

static loom_status *too_often(const char *name) {
    return loom_error(LOOM_E_LIMIT, "constant field '%s', once per element, is larger than 2^63 bytes", name);
}

static loom_status *repeat(const void *from, int64_t n, size_t size, int64_t count, const char *name, void **to) {
    int64_t bytes;
    if (__builtin_mul_overflow(n, (int64_t)size, &bytes) || __builtin_mul_overflow(bytes, count, &bytes)) {
        return too_often(name);
    }
    char *copy = malloc(bytes ? (size_t)bytes : 1);
    if (!copy) return loom_error(LOOM_E_MEMORY, "no memory for constant field '%s', once per element", name);
    size_t one = (size_t)n * size;
    for (int64_t i = 0; i < count && one; i++) memcpy(copy + (size_t)i * one, from, one);
    *to = copy;
    return NULL;
}

/* `count` copies of a constant leaf, one level deeper. */
static loom_status *repeat_leaf(const loom_leaf *constant, int64_t count, loom_leaf *leaf) {
    if (constant->depth + 1 > LOOM_MAX_DEPTH)
        return loom_error(LOOM_E_LIMIT, "constant field '%s' is too deep", constant->name);
    leaf->dtype = constant->dtype;
    leaf->depth = constant->depth + 1;
    leaf->extents[0] = count;
    leaf->n_lengths[0] = 1;
    if (__builtin_mul_overflow(constant->n_data, count, &leaf->n_data)) return too_often(constant->name);
    for (uint32_t k = 0; k < constant->depth; k++) {
        leaf->extents[k + 1] = count ? constant->extents[k] : 0;
        if (__builtin_mul_overflow(constant->n_lengths[k], count, &leaf->n_lengths[k + 1])) {
            return too_often(constant->name);
        }
        if (!constant->lengths[k]) continue;
        leaf->extents[k + 1] = LOOM_IRREGULAR;
        LOOM_TRY(repeat(constant->lengths[k], constant->n_lengths[k], sizeof(int64_t), count, constant->name,
                        (void **)&leaf->lengths[k + 1]));
    }
    return repeat(constant->data, constant->n_data, loom_dtype_size(constant->dtype), count, constant->name,
                  &leaf->data);
}

static loom_status *check_column(const loom_graph_slot *slot, const loom_graph_leaf *want, const loom_leaf *leaf) {
    if (leaf->dtype == want->dtype && leaf->depth == want->depth) return NULL;
    return loom_error(LOOM_E_DATA, "stream '%s': column '%s' is %s with %u levels, expected %s with %u", slot->name,
                      want->name, loom_dtype_name(leaf->dtype), leaf->depth, loom_dtype_name(want->dtype), want->depth);
}

static loom_status *fill_column(loom_run *run, uint32_t s, loom_value *elements, int64_t count, loom_value *column) {
    const loom_graph_slot *slot = stream_slot(run, s);
    column_owner *owner = column->owner;
    for (uint32_t i = 0; i < slot->n_leaves; i++) {
        const loom_graph_leaf *want = &slot->leaves[i];
        loom_leaf *leaf = &column->leaves[i];
        const loom_leaf *have = loom_value_find(elements, want->name);
        const loom_leaf *constant = run->constants[s] ? loom_value_find(run->constants[s], want->name) : NULL;
        if (have) {
            *leaf = *have;
            leaf->name = NULL;
        } else if (constant) {
            owner->owned[i] = true;
            LOOM_TRY(repeat_leaf(constant, count, leaf));
        } else {
            return loom_error(LOOM_E_DATA, "stream '%s' has no column '%s'", slot->name, want->name);
        }
        leaf->name = loom_xstrdup(want->name);
        LOOM_TRY(check_column(slot, want, leaf));
    }
    return NULL;
}

loom_status *loom_run_column(loom_run *run, uint32_t s, loom_value *elements, loom_value **column) {
    int64_t count = 0;
    LOOM_TRY(loom_run_count(run, s, elements, &count));
    uint32_t n = stream_slot(run, s)->n_leaves;
    loom_value *made;
    LOOM_TRY(loom_value_create(n, &made));
    column_owner *owner = loom_xcalloc(1, sizeof *owner);
    owner->elements = loom_value_ref(elements);
    owner->owned = loom_xcalloc((size_t)n + 1, sizeof *owner->owned);
    made->owner = owner;
    made->release = release_column;
    loom_status *status = fill_column(run, s, elements, count, made);
    if (status) {
        loom_value_unref(made);
        return status;
    }
    *column = made;
    return NULL;
}

loom_status *loom_run_empty_column(loom_run *run, uint32_t s, loom_value **column) {
    const loom_graph_slot *slot = stream_slot(run, s);
    static const int64_t nothing[LOOM_MAX_DEPTH];
    loom_value *made;
    LOOM_TRY(loom_value_create(slot->n_leaves, &made));
    for (uint32_t i = 0; i < slot->n_leaves; i++) {
        const loom_graph_leaf *leaf = &slot->leaves[i];
        loom_status *status = loom_leaf_init(&made->leaves[i], leaf->name, leaf->dtype, leaf->depth, nothing, 0);
        if (status) {
            loom_value_unref(made);
            return status;
        }
    }
    *column = made;
    return NULL;
}
