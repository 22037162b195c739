/* Array stages and folds of arrays: inputs, copies and fills, large partial results, errors inside loops. */
#include "support.h"

static const loom_dtype f64_1[] = {LOOM_F64}, i64_1[] = {LOOM_I64};
static const uint32_t one[] = {1}, two[] = {2}, zero_depth[] = {0};

/* entry sums [m] (rows: seq ([m]f64)) : [m]f64 = fold_seq (zip_with (+)) (replicate m 0) rows */
static plan_builder *row_sums(loom_merge_order order) {
    plan_builder *b = plan_new(LOOM_STAGE_TRAVERSAL);
    plan_param(b, true, "rows", 1, (const char *[]){""}, f64_1, two);
    uint32_t extents[2] = {plan_extent(b, LOOM_EXTENT_CHUNK, 0), plan_extent_of(b, LOOM_EXTENT_INPUT, 0, 1)};
    plan_buffer(b, "x", LOOM_F64, LOOM_STORE_COLUMN, 0, 0, 2, extents);
    uint32_t sum = plan_buffer(b, "sum", LOOM_F64, LOOM_STORE_RESULT, 0, 0, 1, &extents[1]);
    plan_alloc(b, sum);
    loom_plan_action *a = plan_act(b, LOOM_ACT_REDUCE, "sum of rows");
    a->kernel = plan_kernel(b, "rows_reduce");
    a->kernel2 = plan_kernel(b, "add_f64");
    a->extent = extents[0];
    a->n_buffers = 1;
    a->buffers = memcpy(LOOM_NEW(b->arena, uint32_t), &sum, sizeof sum);
    plan_output(b, LOOM_OUT_FOLD, order, 1, &sum, a->kernel2, NULL);
    return b;
}

static loom_value *sums_of(plan_builder *b, const double *x, int64_t n, int64_t m, int threads, uint64_t memory) {
    loom_executor *executor = executor_of(threads, memory);
    loom_run *run;
    LOOM_OK(plan_create(b, executor, NULL, NULL, &run));
    loom_value *column = value_of("", LOOM_F64, 2, (int64_t[]){n, m}, x);
    LOOM_OK(loom_run_fold(run, &column, 0, 1, 0));
    loom_value_unref(column);
    loom_delta *delta;
    LOOM_OK(loom_run_take_delta(run, &delta));
    loom_value *sums = loom_value_ref(delta->parts[0].outputs[0]);
    loom_delta_destroy(delta);
    loom_run_destroy(run);
    loom_executor_destroy(executor);
    return sums;
}

LOOM_TEST(array, folds_of_arrays) {
    static const int64_t sizes[][2] = {{1, 1}, {1000, 3}, {37, 5000}, {3, 200000}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int64_t n = sizes[s][0], m = sizes[s][1];
        double *x = calloc((size_t)(n * m), sizeof *x), *want = calloc((size_t)m, sizeof *want);
        for (int64_t i = 0; i < n * m; i++) x[i] = (double)(i % 13), want[i % m] += x[i];
        plan_builder *b = row_sums(s % 2 ? LOOM_ORDER_ADJACENT : LOOM_ORDER_ANY);
        for (int threads = 1; threads <= 3; threads++) {
            loom_value *sums = sums_of(b, x, n, m, threads, (uint64_t)1 << 30);
            LOOM_CHECK_EQ_INT(sums->leaves[0].extents[0], m);
            LOOM_CHECK(memcmp(sums->leaves[0].data, want, (size_t)m * 8) == 0);
            loom_value_unref(sums);
        }
        plan_free(b);
        free(x);
        free(want);
    }
}

/* 2 MiB for rows of 1000: the column is copied in pieces, their sums are joined. */
LOOM_TEST(array, folds_in_several_chunks) {
    int64_t n = 1000, m = 1000;
    double *x = calloc((size_t)(n * m), sizeof *x), *want = calloc((size_t)m, sizeof *want);
    for (int64_t i = 0; i < n * m; i++) x[i] = (double)(i % 13), want[i % m] += x[i];
    plan_builder *b = row_sums(LOOM_ORDER_ANY);
    loom_value *sums = sums_of(b, x, n, m, 2, 2 << 20);
    LOOM_CHECK(memcmp(sums->leaves[0].data, want, (size_t)m * 8) == 0);
    loom_value_unref(sums);
    plan_free(b);
    free(x);
    free(want);
}

/* run (table: [][]f64) = (copy of the doubled first row, nines like it, the table) */
LOOM_TEST(array, copies_fills_and_inputs_as_results) {
    plan_builder *b = plan_new(LOOM_STAGE_ARRAY);
    plan_param(b, false, "table", 1, (const char *[]){""}, f64_1, two);
    uint32_t rows = plan_extent_of(b, LOOM_EXTENT_INPUT, 0, 0), m = plan_extent_of(b, LOOM_EXTENT_INPUT, 0, 1);
    uint32_t table = plan_buffer(b, "table", LOOM_F64, LOOM_STORE_INPUT, 0, 0, 2, (uint32_t[]){rows, m});
    uint32_t row = plan_buffer(b, "row", LOOM_F64, LOOM_STORE_TEMP, 0, 0, 1, &m);
    uint32_t copy = plan_buffer(b, "copy", LOOM_F64, LOOM_STORE_RESULT, 0, 0, 1, &m);
    uint32_t nines = plan_buffer(b, "nines", LOOM_F64, LOOM_STORE_RESULT, 0, 0, 1, &m);
    plan_alloc(b, row);
    plan_alloc(b, copy);
    plan_alloc(b, nines);
    plan_run(b, "first_row", m);
    loom_plan_action *a = plan_act(b, LOOM_ACT_COPY, "copy");
    a->buffer = row;
    a->buffer2 = copy;
    a = plan_act(b, LOOM_ACT_FILL, "fill");
    a->buffer = nines;
    a->value.f = 9;
    plan_act(b, LOOM_ACT_FREE, "free")->buffer = row;
    plan_output(b, LOOM_OUT_VALUE, LOOM_ORDER_ANY, 1, &copy, LOOM_NO_KERNEL, NULL);
    plan_output(b, LOOM_OUT_VALUE, LOOM_ORDER_ANY, 1, &nines, LOOM_NO_KERNEL, NULL);
    plan_output(b, LOOM_OUT_VALUE, LOOM_ORDER_ANY, 1, &table, LOOM_NO_KERNEL, NULL);
    plan_output(b, LOOM_OUT_VALUE, LOOM_ORDER_ANY, 1, &copy, LOOM_NO_KERNEL, NULL);
    loom_executor *executor = executor_of(2, 64 << 20);
    int64_t n = 1000;
    double *x = calloc((size_t)(2 * n), sizeof *x);
    for (int64_t i = 0; i < 2 * n; i++) x[i] = (double)i;
    loom_value *input = value_of("", LOOM_F64, 2, (int64_t[]){2, n}, x), *outputs[4];
    loom_run *run;
    LOOM_OK(plan_create(b, executor, &input, NULL, &run));
    loom_value_unref(input);
    for (int again = 0; again < 2; again++) {
        LOOM_OK(loom_run_array(run, NULL, NULL, outputs));
        for (int64_t i = 0; i < n; i++) {
            LOOM_CHECK_NEAR(((double *)outputs[0]->leaves[0].data)[i], 2 * x[i], 0);
            LOOM_CHECK_NEAR(((double *)outputs[1]->leaves[0].data)[i], 9, 0);
            LOOM_CHECK_NEAR(((double *)outputs[3]->leaves[0].data)[i], 2 * x[i], 0);
        }
        LOOM_CHECK(memcmp(outputs[2]->leaves[0].data, x, (size_t)(2 * n) * 8) == 0);
        for (int j = 0; j < 4; j++) loom_value_unref(outputs[j]);
    }
    free(x);
    loom_run_destroy(run);
    loom_executor_destroy(executor);
    plan_free(b);
}

/* `turns` times x behind what is there, in a place for three. */
static plan_builder *repeated_thrice(int64_t turns) {
    plan_builder *b = plan_new(LOOM_STAGE_ARRAY);
    plan_param(b, false, "x", 1, (const char *[]){""}, f64_1, one);
    uint32_t n = plan_extent(b, LOOM_EXTENT_CONST, 2), all = plan_extent(b, LOOM_EXTENT_CONST, 6);
    uint32_t count = plan_extent(b, LOOM_EXTENT_CONST, turns);
    uint32_t x = plan_buffer(b, "x", LOOM_F64, LOOM_STORE_INPUT, 0, 0, 1, &n);
    uint32_t made = plan_buffer(b, "made", LOOM_F64, LOOM_STORE_RESULT, 0, 0, 1, &all);
    plan_alloc(b, made);
    loom_plan_action *loop = plan_act(b, LOOM_ACT_LOOP, "loop");
    loop->extent = count;
    loop->buffer = LOOM_NO_EXTENT;
    loop->n_inner = 1;
    loom_plan_action *append = plan_act(b, LOOM_ACT_APPEND, "append");
    append->buffer = x;
    append->buffer2 = made;
    plan_output(b, LOOM_OUT_VALUE, LOOM_ORDER_ANY, 1, &made, LOOM_NO_KERNEL, NULL);
    return b;
}

LOOM_TEST(array, turns_append) {
    for (int64_t turns = 3; turns <= 4; turns++) {
        plan_builder *b = repeated_thrice(turns);
        loom_executor *executor = executor_of(1, 64 << 20);
        double x[2] = {1, 2};
        loom_value *input = value_of("", LOOM_F64, 1, (int64_t[]){2}, x), *output;
        loom_run *run;
        LOOM_OK(plan_create(b, executor, &input, NULL, &run));
        loom_value_unref(input);
        for (int again = 0; again < 2 && turns == 3; again++) {
            LOOM_OK(loom_run_array(run, NULL, NULL, &output));
            for (int i = 0; i < 6; i++) LOOM_CHECK_NEAR(((double *)output->leaves[0].data)[i], x[i % 2], 0);
            loom_value_unref(output);
        }
        if (turns > 3) LOOM_FAILS(loom_run_array(run, NULL, NULL, &output), LOOM_E_INTERNAL);
        loom_run_destroy(run);
        loom_executor_destroy(executor);
        plan_free(b);
    }
}

/* A loop without end in which turn 4 raises: it ends there. */
LOOM_TEST(array, an_error_ends_a_loop) {
    plan_builder *b = plan_new(LOOM_STAGE_ARRAY);
    plan_param(b, false, "n", 1, (const char *[]){""}, i64_1, zero_depth);
    plan_buffer(b, "n", LOOM_I64, LOOM_STORE_INPUT, 0, 0, 0, NULL);
    plan_buffer(b, "unused", LOOM_I64, LOOM_STORE_TEMP, 0, 0, 0, NULL);
    plan_buffer(b, "unused", LOOM_I64, LOOM_STORE_TEMP, 0, 0, 0, NULL);
    uint32_t counter = plan_buffer(b, "counter", LOOM_I64, LOOM_STORE_RESULT, 0, 0, 0, NULL);
    plan_alloc(b, counter);
    loom_plan_action *loop = plan_act(b, LOOM_ACT_LOOP, "loop");
    loop->buffer = counter;
    loop->n_inner = 1;
    plan_run(b, "raise_at_four", LOOM_NO_EXTENT);
    plan_output(b, LOOM_OUT_VALUE, LOOM_ORDER_ANY, 1, &counter, LOOM_NO_KERNEL, NULL);
    plan_site(b, "turn {a}", 12);
    loom_executor *executor = executor_of(1, 64 << 20);
    int64_t n = 0;
    loom_value *input = value_of("", LOOM_I64, 0, NULL, &n), *output;
    loom_run *run;
    LOOM_OK(plan_create(b, executor, &input, NULL, &run));
    loom_value_unref(input);
    loom_status *status = loom_run_array(run, NULL, NULL, &output);
    LOOM_CHECK_STR(loom_status_message(status), "turn 4");
    LOOM_CHECK_EQ_INT(loom_status_span(status).line, 12);
    loom_status_free(status);
    loom_run_destroy(run);
    loom_executor_destroy(executor);
    plan_free(b);
}
