/* Rows that differ in length: lengths that come in with a leaf, offsets, and whether leaves that share a level agree.
 */
#include "common/buffer.h"
#include "executor/engine.h"
#include <inttypes.h>
#include <string.h>

/* ---- lists of a leaf ---- */

static loom_status *too_few(const loom_leaf *leaf) {
    return loom_error(LOOM_E_DATA, "column '%s' has fewer elements than its lengths say", leaf->name ? leaf->name : "");
}

static loom_status *sum_lengths(const loom_leaf *leaf, uint32_t k, int64_t from, int64_t count, int64_t *sum) {
    if (from < 0 || count < 0 || from > leaf->n_lengths[k] || count > leaf->n_lengths[k] - from) return too_few(leaf);
    *sum = 0;
    for (int64_t i = from; i < from + count; i++) {
        int64_t length = leaf->lengths[k][i];
        if (length < 0 || __builtin_add_overflow(*sum, length, sum)) return too_few(leaf);
    }
    return NULL;
}

static loom_status *lists_below(const loom_leaf *leaf, uint32_t k, loom_lists *l) {
    if (leaf->extents[k] == LOOM_IRREGULAR) {
        LOOM_TRY(sum_lengths(leaf, k, 0, l->begin[k], &l->begin[k + 1]));
        return sum_lengths(leaf, k, l->begin[k], l->count[k], &l->count[k + 1]);
    }
    if (leaf->extents[k] < 0 || __builtin_mul_overflow(l->begin[k], leaf->extents[k], &l->begin[k + 1]) ||
        __builtin_mul_overflow(l->count[k], leaf->extents[k], &l->count[k + 1]))
        return too_few(leaf);
    return NULL;
}

loom_status *loom_leaf_lists(const loom_leaf *leaf, int64_t from, int64_t count, loom_lists *l) {
    *l = (loom_lists){.count = {1}};
    for (uint32_t k = 0; k < leaf->depth; k++) {
        LOOM_TRY(lists_below(leaf, k, l));
        if (k > 0 || count < 0) continue;
        if (from < 0 || from > l->count[1] || count > l->count[1] - from) return too_few(leaf);
        l->begin[1] = from;
        l->count[1] = count;
    }
    int64_t begin = l->begin[leaf->depth];
    if (begin > leaf->n_data || l->count[leaf->depth] > leaf->n_data - begin) return too_few(leaf);
    return NULL;
}

void loom_leaf_lengths(const loom_leaf *leaf, uint32_t k, int64_t begin, int64_t count, int64_t *to) {
    if (leaf->extents[k] == LOOM_IRREGULAR) {
        if (count) memcpy(to, leaf->lengths[k] + begin, (size_t)count * sizeof *to);
        return;
    }
    for (int64_t i = 0; i < count; i++) to[i] = leaf->extents[k];
}

/* ---- whether rows agree ---- */

static bool as_long(const loom_leaf *leaf, uint32_t k, int64_t begin, int64_t count, const int64_t *lengths) {
    if (!count) return true;
    if (leaf->extents[k] == LOOM_IRREGULAR) {
        const int64_t *own = leaf->lengths[k] + begin;
        return own == lengths || memcmp(own, lengths, (size_t)count * sizeof *lengths) == 0;
    }
    for (int64_t i = 0; i < count; i++) {
        if (lengths[i] != leaf->extents[k]) return false;
    }
    return true;
}

loom_status *loom_engine_match_rows(const loom_engine *engine, uint32_t buffer, const loom_leaf *leaf,
                                    const loom_lists *l, uint32_t first, int64_t copies) {
    const loom_plan *plan = engine->plan;
    const loom_plan_buffer *b = &plan->buffers[buffer];
    for (uint32_t i = first; i < b->n_extents; i++) {
        const loom_plan_extent *e = &plan->extents[b->extents[i]];
        if (e->kind != LOOM_EXTENT_SEGMENTED) continue;
        uint32_t k = i - first;
        const int64_t *lengths = engine->data[e->lengths];
        int64_t n = l->count[k], all;
        bool same = !__builtin_mul_overflow(n, copies, &all) && all == engine->lists[e->lengths];
        for (int64_t c = 0; same && c < copies && n; c++) same = as_long(leaf, k, l->begin[k], n, lengths + c * n);
        if (same) continue;
        return loom_error(LOOM_E_DATA, "'%s' has rows of other lengths than '%s'", b->name,
                          plan->buffers[e->lengths].name);
    }
    return NULL;
}

/* ---- offsets ---- */

void loom_engine_expect(loom_engine *engine, uint32_t lengths, double per_element) {
    for (uint32_t e = 0; e < engine->plan->n_extents; e++) {
        const loom_plan_extent *x = &engine->plan->extents[e];
        if (x->kind == LOOM_EXTENT_SEGMENTED && x->lengths == lengths) engine->per_element[e] = per_element;
    }
}

static int64_t chunk_length(const loom_engine *engine) {
    for (uint32_t e = 0; e < engine->plan->n_extents; e++) {
        if (engine->plan->extents[e].kind == LOOM_EXTENT_CHUNK) return engine->extents[e];
    }
    return 0;
}

loom_status *loom_engine_offsets(loom_engine *engine, const loom_plan_action *action) {
    const loom_plan_buffer *from = &engine->plan->buffers[action->buffer];
    const int64_t *lengths = engine->data[action->buffer];
    int64_t *offsets = engine->data[action->buffer2], sum = 0;
    int64_t n = loom_engine_elements(engine, action->buffer);
    bool comes = from->storage == LOOM_STORE_INPUT || from->storage == LOOM_STORE_COLUMN;
    if (comes && engine->lists[action->buffer] != n) {
        return loom_error(LOOM_E_INTERNAL, "plan counts %" PRId64 " rows of '%s', there are %" PRId64, n, from->name,
                          engine->lists[action->buffer]);
    }
    for (int64_t i = 0; i < n; i++) {
        offsets[i] = sum;
        if (lengths[i] < 0) return loom_error(LOOM_E_RUNTIME, "an array of negative size: %" PRId64, lengths[i]);
        if (__builtin_add_overflow(sum, lengths[i], &sum)) {
            return loom_error(LOOM_E_MEMORY, "rows of more than 2^63 elements together");
        }
    }
    for (int64_t i = 0; i < LOOM_OFFSETS_MORE; i++) offsets[n + i] = sum;
    *(int64_t *)engine->data[action->buffers[0]] = sum;
    int64_t elements = chunk_length(engine);
    if (engine->in_chunk && elements > 0) {
        loom_engine_expect(engine, action->buffer, (double)sum / (double)elements);
    }
    return NULL;
}
