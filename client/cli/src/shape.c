#include "shape.h"
#include "common/buffer.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN (-2) /* no list has been at this level */

typedef struct levels {
    int64_t extents[LOOM_MAX_DEPTH];
} levels;

struct cli_shape {
    uint32_t n_leaves;
    levels *leaves; /* NULL before the first value */
};

cli_shape *cli_shape_create(void) {
    return loom_xcalloc(1, sizeof(cli_shape));
}

void cli_shape_free(cli_shape *shape) {
    if (!shape) return;
    free(shape->leaves);
    free(shape);
}

static void begin(cli_shape *shape, uint32_t n_leaves) {
    shape->n_leaves = n_leaves;
    shape->leaves = loom_xcalloc((size_t)n_leaves + 1, sizeof *shape->leaves);
    for (uint32_t i = 0; i < n_leaves; i++)
        for (uint32_t k = 0; k < LOOM_MAX_DEPTH; k++) shape->leaves[i].extents[k] = UNKNOWN;
}

/* What a level with `lists` lists is, given what it was in the values before. */
static int64_t meet(int64_t known, int64_t extent, int64_t lists) {
    if (lists == 0 || known == extent) return known;
    return known == UNKNOWN ? extent : LOOM_IRREGULAR;
}

/* What this level of the leaf is to be; `outer` is the one before it. Of nothing inner extents are 0. */
static int64_t wanted(const loom_leaf *leaf, uint32_t k, int64_t known, int64_t outer) {
    if (leaf->extents[k] == LOOM_IRREGULAR || known == LOOM_IRREGULAR) return LOOM_IRREGULAR;
    return known == UNKNOWN || outer == 0 ? leaf->extents[k] : known;
}

/* Takes a leaf into account; whether its form is another one than it is to be. */
static bool look(levels *known, const loom_leaf *leaf) {
    bool differs = false;
    int64_t lists = loom_leaf_length(leaf, 0, 0), outer = lists;
    for (uint32_t k = 1; k < leaf->depth; k++) {
        known->extents[k] = meet(known->extents[k], leaf->extents[k], lists);
        outer = wanted(leaf, k, known->extents[k], outer);
        differs = differs || outer != leaf->extents[k];
        lists = loom_leaf_count_within(leaf, k, lists);
    }
    return differs;
}

/* What a view has of its own: lengths. */
typedef struct lent {
    loom_value *from;
    size_t n, capacity;
    int64_t **lengths;
} lent;

static void release_lent(loom_value *value) {
    lent *l = value->owner;
    for (size_t i = 0; i < l->n; i++) free(l->lengths[i]);
    free(l->lengths);
    loom_value_unref(l->from);
    free(l);
}

static loom_status *make_lengths(lent *l, const loom_leaf *from, int64_t n, int64_t each, int64_t **made) {
    size_t bytes;
    int64_t *lengths = NULL;
    if (!__builtin_mul_overflow((size_t)n, sizeof *lengths, &bytes)) lengths = malloc(bytes ? bytes : 1);
    if (!lengths) return loom_error(LOOM_E_MEMORY, "no memory for %" PRId64 " lengths of '%s'", n, from->name);
    for (int64_t i = 0; i < n; i++) lengths[i] = each;
    if (l->n == l->capacity) {
        l->capacity = l->capacity ? 2 * l->capacity : 8;
        l->lengths = loom_xrealloc(l->lengths, l->capacity * sizeof *l->lengths);
    }
    *made = l->lengths[l->n++] = lengths;
    return NULL;
}

static loom_status *give_form(lent *l, const levels *known, const loom_leaf *from, loom_leaf *to) {
    *to = *from;
    int64_t lists = loom_leaf_length(from, 0, 0);
    for (uint32_t k = 1; k < from->depth; k++) {
        to->extents[k] = wanted(from, k, known->extents[k], to->extents[k - 1]);
        to->n_lengths[k] = lists;
        if (to->extents[k] == LOOM_IRREGULAR && from->extents[k] != LOOM_IRREGULAR)
            LOOM_TRY(make_lengths(l, from, lists, from->extents[k], &to->lengths[k]));
        lists = loom_leaf_count_within(from, k, lists);
    }
    return NULL;
}

static loom_status *make_view(const cli_shape *shape, loom_value *value, loom_value **view) {
    loom_value *made;
    LOOM_TRY(loom_value_create(value->n_leaves, &made));
    lent *l = loom_xcalloc(1, sizeof *l);
    l->from = loom_value_ref(value);
    made->owner = l;
    made->release = release_lent;
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        loom_status *status = give_form(l, &shape->leaves[i], &value->leaves[i], &made->leaves[i]);
        if (!status) continue;
        loom_value_unref(made);
        return status;
    }
    *view = made;
    return NULL;
}

loom_status *cli_shape_settle(cli_shape *shape, loom_value *value, loom_value **settled) {
    if (!shape->leaves) begin(shape, value->n_leaves);
    if (value->n_leaves != shape->n_leaves)
        return loom_error(LOOM_E_INTERNAL, "%" PRIu32 " columns in a stream of %" PRIu32, value->n_leaves,
                          shape->n_leaves);
    bool differs = false;
    for (uint32_t i = 0; i < value->n_leaves; i++) differs = look(&shape->leaves[i], &value->leaves[i]) || differs;
    if (differs) return make_view(shape, value, settled);
    *settled = loom_value_ref(value);
    return NULL;
}
