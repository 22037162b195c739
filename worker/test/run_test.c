/* Runs of hand-made plans: reductions, maps, errors, memory. */
#include "kernels.h"
#include "support.h"

static const loom_dtype f32_2[] = {LOOM_F32, LOOM_F32}, f64_2[] = {LOOM_F64, LOOM_F64};
static const uint32_t ones[] = {1, 1, 1, 1};

/* entry dotp (xs: seq f32) (ys: seq f32) = fold_seq (+) 0 (zip_with_seq (*) xs ys) */
static plan_builder *dot_plan(void) {
    plan_builder *b = plan_new(LOOM_STAGE_TRAVERSAL);
    plan_param(b, true, "xs", 1, (const char *[]){""}, f32_2, ones);
    plan_param(b, true, "ys", 1, (const char *[]){""}, f32_2, ones);
    uint32_t chunk = plan_extent(b, LOOM_EXTENT_CHUNK, 0);
    plan_buffer(b, "xs", LOOM_F32, LOOM_STORE_COLUMN, 0, 0, 1, &chunk);
    plan_buffer(b, "ys", LOOM_F32, LOOM_STORE_COLUMN, 1, 0, 1, &chunk);
    uint32_t sum = plan_buffer(b, "sum", LOOM_F32, LOOM_STORE_RESULT, 0, 0, 0, NULL);
    uint32_t combine = plan_kernel(b, "add_f32");
    plan_alloc(b, sum);
    loom_plan_action *a = plan_act(b, LOOM_ACT_REDUCE, "sum of products");
    a->kernel = plan_kernel(b, "dot_reduce");
    a->kernel2 = combine;
    a->extent = chunk;
    a->n_buffers = 1;
    a->buffers = memcpy(LOOM_NEW(b->arena, uint32_t), &sum, sizeof sum);
    plan_output(b, LOOM_OUT_FOLD, LOOM_ORDER_ANY, 1, &sum, combine, NULL);
    return b;
}

static float only_f32(const loom_delta *delta) {
    LOOM_CHECK_EQ_INT(delta->n_parts, 1);
    LOOM_CHECK_EQ_INT(delta->parts[0].outputs[0]->leaves[0].dtype, LOOM_F32);
    return *(float *)delta->parts[0].outputs[0]->leaves[0].data;
}

static float dot_of(int threads, int64_t n, int64_t block) {
    plan_builder *b = dot_plan();
    loom_executor *executor = executor_of(threads, 64 << 20);
    loom_run *run;
    LOOM_OK(plan_create(b, executor, NULL, NULL, &run));
    float *x = calloc((size_t)n + 1, 4), *y = calloc((size_t)n + 1, 4);
    for (int64_t i = 0; i < n; i++) x[i] = (float)(i % 7), y[i] = (float)(i % 5);
    int64_t number = 0;
    for (int64_t from = 0; from < n || number == 0; from += block, number++) {
        int64_t count = n - from < block ? n - from : block;
        loom_value *streams[2] = {column_of("", LOOM_F32, count, x + from), column_of("", LOOM_F32, count, y + from)};
        LOOM_OK(loom_run_fold(run, streams, number, 1, from));
        loom_value_unref(streams[0]);
        loom_value_unref(streams[1]);
    }
    loom_delta *delta;
    LOOM_OK(loom_run_take_delta(run, &delta));
    LOOM_CHECK_EQ_INT(delta->parts[0].n_blocks, number);
    float sum = only_f32(delta);
    loom_run_destroy(run);
    loom_executor_destroy(executor);
    /* A delta may outlive both. */
    LOOM_CHECK_NEAR(only_f32(delta), sum, 0);
    loom_delta_destroy(delta);
    plan_free(b);
    free(x);
    free(y);
    return sum;
}

LOOM_TEST(run, dot_product) {
    LOOM_CHECK_NEAR(dot_of(1, 0, 10), 0, 0);
    LOOM_CHECK_NEAR(dot_of(1, 7, 3), 3 + 4 + 9 + 16 + 5 - 5 + 0, 100);
    for (int threads = 1; threads <= 4; threads++) {
        float want = 0;
        int64_t n = 5000;
        for (int64_t i = 0; i < n; i++) want += (float)(i % 7 * (i % 5));
        LOOM_CHECK_NEAR(dot_of(threads, n, 5000), want, 0);
        LOOM_CHECK_NEAR(dot_of(threads, n, 999), want, 0);
    }
}

LOOM_TEST(run, empty_and_merged_dot_product) {
    plan_builder *b = dot_plan();
    loom_executor *executor = executor_of(2, 64 << 20);
    loom_run *run;
    LOOM_OK(plan_create(b, executor, NULL, NULL, &run));
    loom_value *empty, *two, *merged;
    LOOM_OK(loom_run_empty(run, 0, &empty));
    LOOM_CHECK_NEAR(*(float *)empty->leaves[0].data, 0, 0);
    LOOM_CHECK_STR(empty->leaves[0].name, "");
    float number = 2.5f;
    two = value_of("", LOOM_F32, 0, NULL, &number);
    LOOM_OK(loom_run_merge(run, 0, empty, two, &merged));
    LOOM_CHECK(merged == empty); /* the only reference: reused */
    LOOM_CHECK_NEAR(*(float *)merged->leaves[0].data, 2.5, 0);
    loom_value_unref(empty);
    /* A second reference: `a` must not change. */
    loom_value *sum;
    loom_value_ref(two);
    LOOM_OK(loom_run_merge(run, 0, two, merged, &sum));
    LOOM_CHECK(sum != two);
    LOOM_CHECK_NEAR(*(float *)two->leaves[0].data, 2.5, 0);
    LOOM_CHECK_NEAR(*(float *)sum->leaves[0].data, 5, 0);
    loom_value_unref(sum);
    loom_value_unref(two);
    loom_value_unref(two);
    loom_value_unref(merged);
    loom_run_destroy(run);
    loom_executor_destroy(executor);
    plan_free(b);
}

/* ---- maps that are collected ---- */

static plan_builder *map_plan(const char *kernel, loom_output_kind kind) {
    plan_builder *b = plan_new(LOOM_STAGE_TRAVERSAL);
    plan_param(b, true, "xs", 1, (const char *[]){"x"}, f64_2, ones);
    uint32_t chunk = plan_extent(b, LOOM_EXTENT_CHUNK, 0);
    plan_buffer(b, "x", LOOM_F64, LOOM_STORE_COLUMN, 0, 0, 1, &chunk);
    uint32_t y = plan_buffer(b, "y", LOOM_F64, LOOM_STORE_RESULT, 0, 0, 1, &chunk);
    plan_buffer(b, "first", LOOM_I64, LOOM_STORE_FIRST, 0, 0, 0, NULL);
    plan_alloc(b, y);
    plan_run(b, kernel, chunk);
    plan_output(b, kind, LOOM_ORDER_ADJACENT, 1, &y, LOOM_NO_KERNEL, NULL);
    plan_site(b, "root of {a} at {b}", 7);
    plan_site(b, "{a} is too large", 8);
    return b;
}

static loom_status *fold_column(loom_run *run, const double *x, int64_t n, int64_t block, int64_t first) {
    loom_value *column = column_of("x", LOOM_F64, n, x);
    loom_status *status = loom_run_fold(run, &column, block, 1, first);
    loom_value_unref(column);
    return status;
}

LOOM_TEST(run, collects_by_runs_of_blocks) {
    plan_builder *b = map_plan("square_plus_position", LOOM_OUT_COLLECT);
    loom_executor *executor = executor_of(2, 64 << 20);
    loom_run *run;
    LOOM_OK(plan_create(b, executor, NULL, NULL, &run));
    double x[] = {1, 2, 3};
    /* Blocks of three elements, out of order: 4, 0, 5, 1; the runs are 0-1 and 4-5. */
    static const int64_t order[] = {4, 0, 5, 1};
    for (int i = 0; i < 4; i++) LOOM_OK(fold_column(run, x, 3, order[i], 3 * order[i]));
    LOOM_CHECK_EQ_INT(loom_run_collected_bytes(run), 12 * 8);
    LOOM_FAILS(fold_column(run, x, 3, 5, 15), LOOM_E_INTERNAL);
    loom_delta *delta;
    LOOM_OK(loom_run_take_delta(run, &delta));
    LOOM_CHECK_EQ_INT(delta->n_parts, 2);
    for (int p = 0; p < 2; p++) {
        LOOM_CHECK_EQ_INT(delta->parts[p].first_block, 4 * p);
        LOOM_CHECK_EQ_INT(delta->parts[p].n_blocks, 2);
        const loom_leaf *leaf = &delta->parts[p].outputs[0]->leaves[0];
        LOOM_CHECK_EQ_INT(leaf->extents[0], 6);
        for (int i = 0; i < 6; i++) {
            LOOM_CHECK_NEAR(((double *)leaf->data)[i], x[i % 3] * x[i % 3] + 12 * p + i, 0);
        }
    }
    loom_delta_destroy(delta);
    LOOM_OK(loom_run_take_delta(run, &delta));
    LOOM_CHECK_EQ_INT(delta->n_parts, 0);
    loom_delta_destroy(delta);
    LOOM_OK(fold_column(run, x, 3, 5, 15)); /* a new accumulator: the block may come again */
    loom_run_destroy(run);
    loom_executor_destroy(executor);
    plan_free(b);
}

LOOM_TEST(run, names_the_least_element_that_fails) {
    plan_builder *b = map_plan("checked_root", LOOM_OUT_COLLECT);
    loom_executor *executor = executor_of(4, 64 << 20);
    loom_run *run;
    LOOM_OK(plan_create(b, executor, NULL, NULL, &run));
    int64_t n = 10000;
    double *x = calloc((size_t)n, sizeof *x);
    LOOM_OK(fold_column(run, x, n, 0, 0));
    x[9000] = -1;
    x[777] = 2000;
    x[5000] = -3;
    loom_status *status = fold_column(run, x, n, 1, n);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_RUNTIME);
    LOOM_CHECK_STR(loom_status_message(status), "2000 is too large");
    LOOM_CHECK_STR(loom_status_file(status), "test.weft");
    LOOM_CHECK_EQ_INT(loom_status_span(status).line, 8);
    LOOM_CHECK_STR(loom_status_note_at(status, 0), "hint: look closer");
    LOOM_CHECK_STR(loom_status_note_at(status, 1), "at element 10777 of the stream");
    LOOM_CHECK_STR(loom_status_note_at(status, 2), "in block 1");
    loom_status_free(status);
    x[777] = 0;
    status = fold_column(run, x, n, 1, n);
    LOOM_CHECK_STR(loom_status_message(status), "root of -3 at 5000");
    loom_status_free(status);
    /* Nothing of the failing block is inside, and the run goes on. */
    LOOM_CHECK(!loom_run_is_spoilt(run));
    x[5000] = x[9000] = 4;
    LOOM_OK(fold_column(run, x, n, 1, n));
    loom_delta *delta;
    LOOM_OK(loom_run_take_delta(run, &delta));
    LOOM_CHECK_EQ_INT(delta->parts[0].outputs[0]->leaves[0].extents[0], 2 * n);
    loom_delta_destroy(delta);
    free(x);
    loom_run_destroy(run);
    loom_executor_destroy(executor);
    plan_free(b);
}

/* ---- memory ---- */

LOOM_TEST(run, halves_the_chunk_until_it_fits) {
    plan_builder *b = map_plan("square_plus_position", LOOM_OUT_STREAM);
    int64_t n = 300001;
    double *x = calloc((size_t)n, sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = (double)(i % 11);
    /* Column and result take 2.4 MB each; the second budget holds them only in pieces. */
    static const uint64_t budgets[] = {64 << 20, 2 << 20};
    for (int k = 0; k < 2; k++) {
        loom_executor *executor = executor_of(2, budgets[k]);
        loom_run *run;
        LOOM_OK(plan_create(b, executor, NULL, NULL, &run));
        LOOM_OK(fold_column(run, x, n, 0, 0));
        loom_delta *delta;
        LOOM_OK(loom_run_take_delta(run, &delta));
        const double *y = delta->parts[0].outputs[0]->leaves[0].data;
        for (int64_t i = 0; i < n; i++) LOOM_CHECK_NEAR(y[i], x[i] * x[i] + (double)i, 0);
        loom_delta_destroy(delta);
        loom_run_destroy(run);
        loom_executor_destroy(executor);
    }
    free(x);
    plan_free(b);
}

/* ---- constants and inputs ---- */

static const char *const x_and_scale[] = {"x", "scale"};

LOOM_TEST(run, constant_fields_are_bound_without_the_chunk) {
    plan_builder *b = plan_new(LOOM_STAGE_TRAVERSAL);
    plan_param(b, true, "xs", 2, x_and_scale, f64_2, (uint32_t[]){1, 2});
    uint32_t chunk = plan_extent(b, LOOM_EXTENT_CHUNK, 0), m = plan_extent_of(b, LOOM_EXTENT_INPUT, 2, 0);
    plan_buffer(b, "x", LOOM_F64, LOOM_STORE_COLUMN, 0, 0, 1, &chunk);
    uint32_t y = plan_buffer(b, "y", LOOM_F64, LOOM_STORE_RESULT, 0, 0, 1, &chunk);
    plan_buffer(b, "scale", LOOM_F64, LOOM_STORE_CONSTANT, 0, 1, 1, &m);
    plan_alloc(b, y);
    static const uint32_t touched[] = {0, 1, 2}; /* x, y: three numbers, scale: two */
    loom_plan_action *action = plan_run(b, "scale_by_constant", chunk);
    action->touched = touched;
    action->n_touched = 3;
    plan_output(b, LOOM_OUT_COLLECT, LOOM_ORDER_ADJACENT, 1, &y, LOOM_NO_KERNEL, NULL);
    loom_executor *executor = executor_of(2, 64 << 20);
    double scale[] = {3, 4}, x[] = {1, 2, 5};
    loom_value *constants = column_of("scale", LOOM_F64, 2, scale);
    loom_run *run;
    LOOM_FAILS(plan_create(b, executor, NULL, NULL, &run), LOOM_E_INTERNAL);
    LOOM_OK(plan_create(b, executor, NULL, &constants, &run));
    loom_value_unref(constants);
    LOOM_OK(fold_column(run, x, 3, 0, 0));
    loom_delta *delta;
    LOOM_OK(loom_run_take_delta(run, &delta));
    LOOM_CHECK_NEAR(((double *)delta->parts[0].outputs[0]->leaves[0].data)[2], 15, 0);
    loom_delta_destroy(delta);
    const loom_run_time *times;
    size_t n = loom_run_times(run, &times);
    LOOM_CHECK_EQ_INT(n, 3);
    LOOM_CHECK_STR(times[1].label, "scale_by_constant");
    LOOM_CHECK_EQ_INT(times[1].calls, 1);
    LOOM_CHECK_EQ_INT(times[1].bytes, 8 * (3 + 3 + 2));
    loom_run_destroy(run);
    loom_executor_destroy(executor);
    plan_free(b);
}

LOOM_TEST(run, refuses_streams_that_do_not_fit) {
    plan_builder *b = dot_plan();
    loom_executor *executor = executor_of(1, 64 << 20);
    loom_run *run;
    LOOM_OK(plan_create(b, executor, NULL, NULL, &run));
    float x[4] = {0};
    loom_value *streams[2] = {column_of("", LOOM_F32, 4, x), column_of("", LOOM_F32, 3, x)};
    loom_status *status = loom_run_fold(run, streams, 0, 1, 0);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_DATA);
    LOOM_CHECK_HAS(loom_status_message(status), "'xs' has 4 elements, 'ys' 3");
    loom_status_free(status);
    loom_value_unref(streams[1]);
    double d[4] = {0};
    streams[1] = column_of("", LOOM_F64, 4, d);
    LOOM_FAILS(loom_run_fold(run, streams, 0, 1, 0), LOOM_E_DATA);
    loom_value_unref(streams[0]);
    loom_value_unref(streams[1]);
    loom_run_destroy(run);
    loom_executor_destroy(executor);
    plan_free(b);
}

LOOM_TEST(run, refuses_a_plan_for_another_machine) {
    plan_builder *b = dot_plan();
    b->plan.target = "z80-unknown-cpm;z80;";
    loom_executor *executor = executor_of(1, 64 << 20);
    loom_run *run;
    LOOM_FAILS(plan_create(b, executor, NULL, NULL, &run), LOOM_E_DATA);
    loom_executor_destroy(executor);
    plan_free(b);
}

/* What a plan makes is handed on by the graph: kind, order, names and types of the outputs must be the same. */
LOOM_TEST(run, refuses_a_plan_for_another_stage) {
    static const char *const other[] = {"other"};
    for (int change = 0; change < 5; change++) {
        plan_builder *b = dot_plan();
        loom_executor *executor = executor_of(1, 64 << 20);
        loom_run *run = NULL;
        loom_plan_output *out = &b->outputs[0];
        loom_graph_leaf *leaves = LOOM_NEW(b->arena, loom_graph_leaf);
        loom_graph_slot *slot = &b->slots[b->graph.n_slots - 1];
        *leaves = slot->leaves[0];
        slot->leaves = leaves;
        if (change == 0) out->kind = LOOM_OUT_REDUCE;
        if (change == 1) out->order = out->order == LOOM_ORDER_ANY ? LOOM_ORDER_ADJACENT : LOOM_ORDER_ANY;
        if (change == 2) out->names = other;
        if (change == 3) leaves->dtype = LOOM_C64;
        if (change == 4) leaves->depth++;
        LOOM_FAILS(plan_create(b, executor, NULL, NULL, &run), LOOM_E_DATA);
        loom_executor_destroy(executor);
        plan_free(b);
    }
}

/* ---- the same partial results for any number of threads ---- */

LOOM_TEST(run, reductions_have_the_same_bits_for_any_number_of_threads) {
    int64_t n = 123457;
    float *x = calloc((size_t)n, 4), *y = calloc((size_t)n, 4), sums[4];
    uint64_t seed = 1;
    for (int64_t i = 0; i < n; i++) x[i] = (float)random_unit(&seed), y[i] = (float)random_unit(&seed) - 0.5f;
    plan_builder *b = dot_plan();
    for (int threads = 1; threads <= 4; threads++) {
        loom_executor *executor = executor_of(threads, 64 << 20);
        loom_run *run;
        LOOM_OK(plan_create(b, executor, NULL, NULL, &run));
        loom_value *streams[2] = {column_of("", LOOM_F32, n, x), column_of("", LOOM_F32, n, y)};
        LOOM_OK(loom_run_fold(run, streams, 0, 1, 0));
        loom_value_unref(streams[0]);
        loom_value_unref(streams[1]);
        loom_delta *delta;
        LOOM_OK(loom_run_take_delta(run, &delta));
        sums[threads - 1] = only_f32(delta);
        loom_delta_destroy(delta);
        loom_run_destroy(run);
        loom_executor_destroy(executor);
        LOOM_CHECK(sums[threads - 1] == sums[0]);
    }
    free(x);
    free(y);
    plan_free(b);
}
