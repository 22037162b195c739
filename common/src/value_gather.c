/* Elements of a value picked by number. */
#include "common/value.h"
#include <stdlib.h>
#include <string.h>

static loom_status *no_memory(const loom_leaf *leaf) {
    return loom_error(LOOM_E_MEMORY, "no memory for elements of column '%s'", leaf->name);
}

/* Lists of one level that belong to list i of the level before: [starts[i], starts[i + 1]). In place of starts: of
 * every list equally many. */
typedef struct level_lists {
    int64_t *starts;
    int64_t each;
} level_lists;

static int64_t start_of(const level_lists *l, int64_t list) {
    return l->starts ? l->starts[list] : list * l->each;
}

/* Of level k of a leaf with n lists there. */
static loom_status *open_level(const loom_leaf *leaf, uint32_t k, int64_t n, level_lists *l) {
    *l = (level_lists){.each = leaf->extents[k]};
    if (leaf->extents[k] != LOOM_IRREGULAR) return NULL;
    l->starts = malloc(((size_t)n + 1) * sizeof *l->starts);
    if (!l->starts) return no_memory(leaf);
    l->starts[0] = 0;
    for (int64_t i = 0; i < n; i++) l->starts[i + 1] = l->starts[i] + leaf->lengths[k][i];
    return NULL;
}

typedef struct gathering {
    const loom_leaf *from;
    const int64_t *rows;
    int64_t n;
    /* Of the rows, at the level that is being looked at: lists [first[i], end[i]). */
    int64_t *first, *end;
} gathering;

/* What rows have of a column of numbers of `size` bytes, one after another. Rows that follow each other go in one. */
static loom_status *copy_rows(const gathering *g, const void *from, size_t size, void **to, int64_t *count) {
    int64_t total = 0;
    for (int64_t i = 0; i < g->n; i++) {
        if (__builtin_add_overflow(total, g->end[i] - g->first[i], &total)) total = INT64_MAX;
    }
    uint64_t bytes;
    if (__builtin_mul_overflow((uint64_t)total, size, &bytes) || bytes > INT64_MAX)
        return loom_error(LOOM_E_LIMIT, "elements of column '%s' take more than 2^63 bytes", g->from->name);
    char *at = malloc(bytes ? bytes : 1);
    *to = at;
    *count = total;
    if (!at) return no_memory(g->from);
    for (int64_t i = 0; i < g->n;) {
        int64_t first = g->first[i], end = g->end[i];
        for (i++; i < g->n && g->first[i] == end; i++) end = g->end[i];
        size_t length = (size_t)(end - first) * size;
        if (length) memcpy(at, (const char *)from + (size_t)first * size, length);
        at += length;
    }
    return NULL;
}

static loom_status *gather_levels(gathering *g, loom_leaf *to) {
    const loom_leaf *from = g->from;
    int64_t lists = loom_leaf_length(from, 0, 0), mine = g->n;
    for (uint32_t k = 1; k < from->depth; k++) {
        level_lists l;
        LOOM_TRY(open_level(from, k, lists, &l));
        loom_status *status = NULL;
        to->n_lengths[k] = mine;
        to->extents[k] = mine ? from->extents[k] : 0;
        if (from->extents[k] == LOOM_IRREGULAR) {
            to->extents[k] = LOOM_IRREGULAR;
            status = copy_rows(g, from->lengths[k], sizeof(int64_t), (void **)&to->lengths[k], &to->n_lengths[k]);
        }
        mine = 0;
        for (int64_t i = 0; i < g->n && !status; i++) {
            g->first[i] = start_of(&l, g->first[i]);
            g->end[i] = start_of(&l, g->end[i]);
            mine += g->end[i] - g->first[i];
        }
        lists = start_of(&l, lists);
        free(l.starts);
        LOOM_TRY(status);
    }
    return copy_rows(g, from->data, loom_dtype_size(from->dtype), &to->data, &to->n_data);
}

static loom_status *gather_leaf(const loom_leaf *from, const int64_t *rows, int64_t n, loom_leaf *to) {
    *to = (loom_leaf){.name = strdup(from->name), .dtype = from->dtype, .depth = from->depth};
    to->extents[0] = n;
    to->n_lengths[0] = 1;
    size_t size = ((size_t)n + 1) * sizeof(int64_t);
    gathering g = {.from = from, .rows = rows, .n = n, .first = malloc(size), .end = malloc(size)};
    loom_status *status = to->name && g.first && g.end ? NULL : no_memory(from);
    for (int64_t i = 0; i < n && !status; i++) {
        g.first[i] = rows[i];
        g.end[i] = rows[i] + 1;
    }
    if (!status) status = gather_levels(&g, to);
    free(g.first);
    free(g.end);
    return status;
}

static loom_status *check_rows(const loom_leaf *leaf, const int64_t *rows, int64_t n) {
    if (leaf->depth == 0) return loom_error(LOOM_E_INTERNAL, "elements of scalar '%s'", leaf->name);
    int64_t length = loom_leaf_length(leaf, 0, 0);
    for (int64_t i = 0; i < n; i++) {
        if (rows[i] >= 0 && rows[i] < length) continue;
        return loom_error(LOOM_E_INTERNAL, "element %lld of '%s', which has %lld", (long long)rows[i], leaf->name,
                          (long long)length);
    }
    return NULL;
}

loom_status *loom_value_gather(const loom_value *value, const int64_t *rows, int64_t n, loom_value **gathered) {
    for (uint32_t i = 0; i < value->n_leaves; i++) LOOM_TRY(check_rows(&value->leaves[i], rows, n));
    loom_value *made;
    LOOM_TRY(loom_value_create(value->n_leaves, &made));
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        loom_status *status = gather_leaf(&value->leaves[i], rows, n, &made->leaves[i]);
        if (status) {
            loom_value_unref(made);
            return status;
        }
    }
    *gathered = made;
    return NULL;
}
