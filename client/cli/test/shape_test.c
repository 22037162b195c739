/* Extents that differ from value to value are irregular from then on; what is in the values stays. */
#include "../src/shape.h"
#include "loom_test.h"
#include <stdlib.h>
#include <string.h>

static loom_value *regular(uint32_t depth, const int64_t *extents) {
    loom_value *v;
    LOOM_OK(loom_value_create(1, &v));
    LOOM_OK(loom_leaf_init(&v->leaves[0], "x", LOOM_I64, depth, extents, UINT64_MAX));
    for (int64_t i = 0; i < v->leaves[0].n_data; i++) ((int64_t *)v->leaves[0].data)[i] = i;
    return v;
}

static loom_value *irregular(const int64_t *lengths, int64_t n) {
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) sum += lengths[i];
    loom_value *v = regular(1, &sum);
    loom_leaf *leaf = &v->leaves[0];
    leaf->depth = 2;
    leaf->extents[0] = n;
    leaf->extents[1] = LOOM_IRREGULAR;
    leaf->n_lengths[1] = n;
    leaf->lengths[1] = calloc((size_t)n + 1, sizeof(int64_t));
    if (n) memcpy(leaf->lengths[1], lengths, (size_t)n * sizeof *lengths);
    return v;
}

/* Takes the value; the extents of levels 1 and 2 that it gets. */
static void settles(cli_shape *shape, loom_value *value, int64_t first, int64_t second) {
    loom_value *settled;
    LOOM_OK(cli_shape_settle(shape, value, &settled));
    LOOM_OK(loom_value_check(settled));
    const loom_leaf *had = &value->leaves[0], *has = &settled->leaves[0];
    LOOM_CHECK_EQ_INT(has->extents[0], had->extents[0]);
    LOOM_CHECK_EQ_INT(has->extents[1], first);
    if (has->depth > 2) LOOM_CHECK_EQ_INT(has->extents[2], second);
    LOOM_CHECK_EQ_INT(has->n_data, had->n_data);
    LOOM_CHECK(has->data == had->data);
    int64_t lists = has->extents[0];
    for (uint32_t k = 1; k < has->depth; k++) {
        for (int64_t i = 0; i < lists; i++) LOOM_CHECK_EQ_INT(loom_leaf_length(has, k, i), loom_leaf_length(had, k, i));
        lists = loom_leaf_count_within(had, k, lists);
    }
    loom_value_unref(value);
    loom_value_unref(settled);
}

LOOM_TEST(shape, same_extents_stay) {
    cli_shape *shape = cli_shape_create();
    for (int64_t n = 1; n < 5; n++) settles(shape, regular(3, (int64_t[]){n, 4, 2}), 4, 2);
    cli_shape_free(shape);
}

LOOM_TEST(shape, others_become_irregular_for_good) {
    cli_shape *shape = cli_shape_create();
    settles(shape, regular(3, (int64_t[]){1, 4, 2}), 4, 2);
    settles(shape, regular(3, (int64_t[]){1, 5, 2}), LOOM_IRREGULAR, 2);
    settles(shape, regular(3, (int64_t[]){3, 4, 2}), LOOM_IRREGULAR, 2);
    settles(shape, regular(3, (int64_t[]){3, 4, 3}), LOOM_IRREGULAR, LOOM_IRREGULAR);
    settles(shape, regular(3, (int64_t[]){2, 4, 2}), LOOM_IRREGULAR, LOOM_IRREGULAR);
    cli_shape_free(shape);
    shape = cli_shape_create();
    settles(shape, irregular((int64_t[]){2, 3}, 2), LOOM_IRREGULAR, 0);
    settles(shape, regular(2, (int64_t[]){3, 2}), LOOM_IRREGULAR, 0);
    cli_shape_free(shape);
}

LOOM_TEST(shape, nothing_says_nothing) {
    cli_shape *shape = cli_shape_create();
    settles(shape, regular(3, (int64_t[]){0, 0, 0}), 0, 0);
    settles(shape, regular(3, (int64_t[]){2, 4, 2}), 4, 2);
    settles(shape, regular(3, (int64_t[]){0, 0, 0}), 0, 0);
    settles(shape, regular(3, (int64_t[]){1, 0, 0}), LOOM_IRREGULAR, 2); /* without lists inside: 2 as before */
    settles(shape, regular(3, (int64_t[]){0, 0, 0}), LOOM_IRREGULAR, 2);
    settles(shape, regular(3, (int64_t[]){1, 4, 2}), LOOM_IRREGULAR, 2);
    cli_shape_free(shape);
}

LOOM_TEST(shape, other_columns_are_refused) {
    cli_shape *shape = cli_shape_create();
    settles(shape, regular(2, (int64_t[]){1, 4}), 4, 0);
    loom_value *none, *settled;
    LOOM_OK(loom_value_create(0, &none));
    LOOM_FAILS(cli_shape_settle(shape, none, &settled), LOOM_E_INTERNAL);
    loom_value_unref(none);
    cli_shape_free(shape);
}
