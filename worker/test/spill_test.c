/* Elements in order of their batches, and back. */
#include "executor/run.h"
#include "support.h"

/* Six elements with three batches each (-1: none), a column of slot 2 and one of slot 12. */
static loom_value *kept(void) {
    static const int64_t batches[6][3] = {{1, 1, 2}, {-1, -1, -1}, {0, 1, -1}, {300, 300, 0}, {2, 1, 2}, {1, -1, 1}};
    static const float x[6] = {0, 1, 2, 3, 4, 5};
    static const double y[6][2] = {{0, 0.5}, {1, 1.5}, {2, 2.5}, {3, 3.5}, {4, 4.5}, {5, 5.5}};
    loom_value *v = value_of("batch", LOOM_I64, 2, (const int64_t[]){6, 3}, batches);
    v = value_add(v, "2/x", LOOM_F32, 1, (const int64_t[]){6}, x);
    return value_add(v, "12/y.z", LOOM_F64, 2, (const int64_t[]){6, 2}, y);
}

LOOM_TEST(spill, elements_stand_by_batch_in_order_once_each) {
    static const int64_t batch[] = {0, 0, 1, 1, 1, 1, 2, 2, 300}, row[] = {2, 3, 0, 2, 4, 5, 0, 4, 3};
    loom_value *v = kept(), *sorted;
    LOOM_OK(loom_run_sort_spilled(v, UINT64_MAX, &sorted));
    LOOM_OK(loom_value_check(sorted));
    LOOM_CHECK_EQ_INT(sorted->n_leaves, 3);
    /* 144 bytes of lists and 120 of columns, and these are written eleven sixths times again. */
    loom_value *none;
    LOOM_FAILS(loom_run_sort_spilled(v, 483, &none), LOOM_E_LIMIT);
    LOOM_OK(loom_run_sort_spilled(v, 484, &none));
    loom_value_unref(none);
    LOOM_CHECK_EQ_INT(sorted->leaves[0].extents[0], 9);
    for (int i = 0; i < 9; i++) {
        LOOM_CHECK_EQ_INT(((int64_t *)sorted->leaves[0].data)[i], batch[i]);
        LOOM_CHECK_NEAR(((float *)sorted->leaves[1].data)[i], (double)row[i], 0);
        LOOM_CHECK_NEAR(((double *)sorted->leaves[2].data)[2 * i + 1], (double)row[i] + 0.5, 0);
    }
    loom_value *streams[2];
    LOOM_OK(loom_spill_read(sorted, 2, 4, (const uint32_t[]){12, 2}, 2, streams));
    LOOM_CHECK(streams[0]->n_leaves == 1 && strcmp(streams[0]->leaves[0].name, "y.z") == 0);
    LOOM_CHECK(streams[1]->n_leaves == 1 && strcmp(streams[1]->leaves[0].name, "x") == 0);
    for (int i = 0; i < 4; i++) LOOM_CHECK_NEAR(((float *)streams[1]->leaves[0].data)[i], (double)row[i + 2], 0);
    loom_value_unref(streams[0]);
    loom_value_unref(streams[1]);
    LOOM_FAILS(loom_spill_read(sorted, 6, 4, (const uint32_t[]){2}, 1, streams), LOOM_E_INTERNAL);
    LOOM_FAILS(loom_spill_read(sorted, -1, 1, (const uint32_t[]){2}, 1, streams), LOOM_E_PROTOCOL);
    LOOM_FAILS(loom_spill_read(sorted, 1, INT64_MAX, (const uint32_t[]){2}, 1, streams), LOOM_E_PROTOCOL);
    loom_value_unref(sorted);
    loom_value_unref(v);
}

/* What an interpreted stage gives: lists of different lengths. */
LOOM_TEST(spill, lists_of_batches_may_differ_in_length) {
    static const int64_t flat[] = {7, 0, 7, 1, 7};
    loom_value *v = value_of("batch", LOOM_I64, 1, (const int64_t[]){5}, flat), *sorted;
    loom_leaf *lists = &v->leaves[0];
    lists->depth = 2;
    lists->extents[0] = 3;
    lists->extents[1] = LOOM_IRREGULAR;
    lists->n_lengths[1] = 3;
    lists->lengths[1] = malloc(3 * sizeof(int64_t));
    memcpy(lists->lengths[1], (const int64_t[]){2, 0, 3}, 3 * sizeof(int64_t));
    v = value_add(v, "0/", LOOM_I32, 1, (const int64_t[]){3}, (const int32_t[]){10, 11, 12});
    LOOM_OK(loom_run_sort_spilled(v, UINT64_MAX, &sorted));
    static const int32_t want[] = {10, 12, 10, 12};
    LOOM_CHECK_EQ_INT(sorted->leaves[1].n_data, 4);
    for (int i = 0; i < 4; i++) LOOM_CHECK_EQ_INT(((int32_t *)sorted->leaves[1].data)[i], want[i]);
    loom_value_unref(sorted);
    loom_value_unref(v);
    v = value_of("x", LOOM_F64, 1, (const int64_t[]){1}, (const double[]){1});
    LOOM_FAILS(loom_run_sort_spilled(v, UINT64_MAX, &sorted), LOOM_E_INTERNAL);
    loom_value_unref(v);
}
