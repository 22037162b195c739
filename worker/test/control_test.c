/* Loops, conditionals, sizes computed by kernels, transforms; array stages. */
#include "support.h"
#include <pthread.h>
#include <unistd.h>

static const loom_dtype i64_1[] = {LOOM_I64};
static const uint32_t zero_depth[] = {0};

/* run(n) = loop (m, count) while m != 1 do (if odd m then 3 m + 1 else m / 2, count + 1); the counter is the result. */
static plan_builder *collatz_plan(bool count_turns) {
    plan_builder *b = plan_new(LOOM_STAGE_ARRAY);
    plan_param(b, false, "n", 1, (const char *[]){""}, i64_1, zero_depth);
    static const loom_dtype types[] = {LOOM_I64, LOOM_I64, LOOM_I64, LOOM_I64, LOOM_BOOL, LOOM_BOOL};
    static const char *const names[] = {"n", "state", "next", "counter", "more", "odd"};
    for (uint32_t i = 0; i < 6; i++) {
        plan_buffer(b, names[i], types[i],
                    i == 0             ? LOOM_STORE_INPUT
                    : i == 3 || i == 1 ? LOOM_STORE_RESULT
                                       : LOOM_STORE_TEMP,
                    0, 0, 0, NULL);
        if (i) plan_alloc(b, i);
    }
    plan_run(b, "collatz_start", LOOM_NO_EXTENT);
    uint32_t at = b->plan.n_actions;
    loom_plan_action *loop = plan_act(b, LOOM_ACT_LOOP, "loop");
    loop->buffer = 3;
    if (count_turns) loop->extent = plan_extent(b, LOOM_EXTENT_CONST, 5);
    plan_run(b, "collatz_test", LOOM_NO_EXTENT);
    if (!count_turns) plan_act(b, LOOM_ACT_BREAK, "test")->buffer = 4;
    plan_run(b, "collatz_is_odd", LOOM_NO_EXTENT);
    loom_plan_action *branch = plan_act(b, LOOM_ACT_IF, "if");
    branch->buffer = 5;
    branch->n_inner = branch->n_else = 1;
    plan_run(b, "collatz_odd", LOOM_NO_EXTENT);
    plan_run(b, "collatz_even", LOOM_NO_EXTENT);
    loom_plan_action *swap = plan_act(b, LOOM_ACT_SWAP, "swap");
    swap->buffer = 1;
    swap->buffer2 = 2;
    loop->n_inner = b->plan.n_actions - at - 1;
    uint32_t result = count_turns ? 1 : 3;
    plan_output(b, LOOM_OUT_VALUE, LOOM_ORDER_ANY, 1, &result, LOOM_NO_KERNEL, NULL);
    return b;
}

static int64_t run_scalar(plan_builder *b, int64_t n) {
    loom_executor *executor = executor_of(2, 64 << 20);
    loom_value *input, *output;
    input = value_of("", LOOM_I64, 0, NULL, &n);
    loom_run *run;
    LOOM_OK(plan_create(b, executor, &input, NULL, &run));
    LOOM_OK(loom_run_array(run, NULL, NULL, &output));
    int64_t result = *(int64_t *)output->leaves[0].data;
    loom_value_unref(output);
    loom_value_unref(input);
    loom_run_destroy(run);
    loom_executor_destroy(executor);
    return result;
}

LOOM_TEST(control, loops_until_the_test_fails) {
    plan_builder *b = collatz_plan(false);
    LOOM_CHECK_EQ_INT(run_scalar(b, 1), 0);
    LOOM_CHECK_EQ_INT(run_scalar(b, 6), 8);
    LOOM_CHECK_EQ_INT(run_scalar(b, 27), 111);
    plan_free(b);
}

LOOM_TEST(control, loops_a_number_of_times) {
    plan_builder *b = collatz_plan(true);
    LOOM_CHECK_EQ_INT(run_scalar(b, 6), 8); /* 6 3 10 5 16 8 */
    plan_free(b);
}

static void *cancel_soon(void *executor) {
    usleep(20000);
    for (int i = 0; i < 200; i++) {
        loom_executor_cancel(executor);
        usleep(1000);
    }
    return NULL;
}

/* 0 is its own half: the loop never ends. */
LOOM_TEST(control, cancel_ends_an_endless_loop) {
    plan_builder *b = collatz_plan(false);
    loom_executor *executor = executor_of(2, 64 << 20);
    int64_t n = 0;
    loom_value *input = value_of("", LOOM_I64, 0, NULL, &n), *output;
    loom_run *run;
    LOOM_OK(plan_create(b, executor, &input, NULL, &run));
    pthread_t thread;
    pthread_create(&thread, NULL, cancel_soon, executor);
    LOOM_FAILS(loom_run_array(run, NULL, NULL, &output), LOOM_E_CANCELLED);
    pthread_join(thread, NULL);
    loom_value_unref(input);
    loom_run_destroy(run);
    loom_executor_destroy(executor);
    plan_free(b);
}

/* run(n) = map (\i -> i * i) (iota (n - 3)) */
static plan_builder *squares_plan(void) {
    plan_builder *b = plan_new(LOOM_STAGE_ARRAY);
    plan_param(b, false, "n", 1, (const char *[]){""}, i64_1, zero_depth);
    plan_buffer(b, "n", LOOM_I64, LOOM_STORE_INPUT, 0, 0, 0, NULL);
    uint32_t size = plan_extent_of(b, LOOM_EXTENT_SCALAR, 2, 0);
    uint32_t squares = plan_buffer(b, "squares", LOOM_I64, LOOM_STORE_RESULT, 0, 0, 1, &size);
    uint32_t scalar = plan_buffer(b, "size", LOOM_I64, LOOM_STORE_TEMP, 0, 0, 0, NULL);
    plan_alloc(b, scalar);
    plan_run(b, "minus_three", LOOM_NO_EXTENT);
    plan_alloc(b, squares);
    plan_run(b, "write_squares", size);
    plan_act(b, LOOM_ACT_FREE, "free")->buffer = scalar;
    plan_output(b, LOOM_OUT_VALUE, LOOM_ORDER_ANY, 1, &squares, LOOM_NO_KERNEL, NULL);
    return b;
}

static loom_status *squares(loom_executor *executor, plan_builder *b, int64_t n, loom_value **output) {
    loom_value *input = value_of("", LOOM_I64, 0, NULL, &n);
    loom_run *run;
    LOOM_OK(plan_create(b, executor, &input, NULL, &run));
    loom_value_unref(input);
    loom_status *status = loom_run_array(run, NULL, NULL, output);
    loom_run_destroy(run);
    return status;
}

LOOM_TEST(control, sizes_may_be_computed) {
    plan_builder *b = squares_plan();
    loom_executor *executor = executor_of(3, 1 << 20);
    loom_value *output;
    LOOM_OK(squares(executor, b, 5003, &output));
    LOOM_CHECK_EQ_INT(output->leaves[0].extents[0], 5000);
    for (int64_t i = 0; i < 5000; i++) LOOM_CHECK_EQ_INT(((int64_t *)output->leaves[0].data)[i], i * i);
    loom_value_unref(output);
    LOOM_OK(squares(executor, b, 3, &output));
    LOOM_CHECK_EQ_INT(output->leaves[0].n_data, 0);
    loom_value_unref(output);
    loom_status *status = squares(executor, b, 1, &output);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_RUNTIME);
    LOOM_CHECK_STR(loom_status_message(status), "an array of negative size: -2");
    loom_status_free(status);
    status = squares(executor, b, 1 << 20, &output);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_MEMORY);
    LOOM_CHECK_HAS(loom_status_message(status), "an array of the program needs 8.0 MiB");
    loom_status_free(status);
    LOOM_FAILS(squares(executor, b, INT64_MAX, &output), LOOM_E_MEMORY);
    loom_executor_destroy(executor);
    plan_free(b);
}

/* ---- transforms ---- */

static const loom_dtype c128_1[] = {LOOM_C128};
static const uint32_t two_deep[] = {2};

/* y = map fft xs as an action, or inside a kernel. */
static plan_builder *transform_plan(bool strip) {
    plan_builder *b = plan_new(LOOM_STAGE_TRAVERSAL);
    plan_param(b, true, "xs", 1, (const char *[]){""}, c128_1, two_deep);
    uint32_t extents[2] = {plan_extent(b, LOOM_EXTENT_CHUNK, 0), plan_extent_of(b, LOOM_EXTENT_INPUT, 0, 1)};
    uint32_t x = plan_buffer(b, "x", LOOM_C128, LOOM_STORE_COLUMN, 0, 0, 2, extents);
    uint32_t y = plan_buffer(b, "y", LOOM_C128, LOOM_STORE_RESULT, 0, 0, 2, extents);
    uint32_t *length = memcpy(LOOM_NEW(b->arena, uint32_t), &extents[1], sizeof *length);
    b->ffts[b->plan.n_ffts++] = (loom_plan_fft){.dtype = LOOM_C128, .rank = 1, .extents = length};
    plan_alloc(b, y);
    if (strip) {
        plan_run(b, "strip_transform", extents[0]);
    } else {
        loom_plan_action *a = plan_act(b, LOOM_ACT_FFT, "fft");
        a->buffer = x;
        a->buffer2 = y;
    }
    plan_output(b, LOOM_OUT_COLLECT, LOOM_ORDER_ADJACENT, 1, &y, LOOM_NO_KERNEL, NULL);
    return b;
}

LOOM_TEST(control, transforms_as_actions_and_inside_kernels) {
    enum {
        N = 500,
        M = 12
    };
    double *x = calloc(2 * N * M, sizeof *x);
    for (int i = 0; i < N; i++) x[2 * (i * M + i % M)] = 1; /* a peak at i mod M */
    for (int strip = 0; strip < 2; strip++) {
        plan_builder *b = transform_plan(strip);
        loom_executor *executor = executor_of(2, 64 << 20);
        loom_run *run;
        LOOM_OK(plan_create(b, executor, NULL, NULL, &run));
        loom_value *column = value_of("", LOOM_C128, 2, (int64_t[]){N, M}, x);
        LOOM_OK(loom_run_fold(run, &column, 0, 1, 0));
        loom_value_unref(column);
        loom_delta *delta;
        LOOM_OK(loom_run_take_delta(run, &delta));
        const double *y = delta->parts[0].outputs[0]->leaves[0].data;
        for (int i = 0; i < N; i++) {
            for (int k = 0; k < M; k++) {
                double turn = -2 * M_PI * (double)(i % M * k) / M;
                LOOM_CHECK_NEAR(y[2 * (i * M + k)], cos(turn), 1e-14);
                LOOM_CHECK_NEAR(y[2 * (i * M + k) + 1], sin(turn), 1e-14);
            }
        }
        loom_delta_destroy(delta);
        loom_run_destroy(run);
        loom_executor_destroy(executor);
        plan_free(b);
    }
    free(x);
}

/* A kernel cannot return an error: what it may not transform is raised, and its result never used. */
LOOM_TEST(control, a_transform_inside_a_kernel_without_a_plan_is_an_error) {
    static const int64_t lengths[] = {2, -3};
    double x[8] = {0};
    for (int k = 0; k < 2; k++) {
        plan_builder *b = transform_plan(true);
        uint32_t length = plan_buffer(b, "length", LOOM_I64, LOOM_STORE_RESULT, 0, 0, 0, NULL);
        *(uint32_t *)b->ffts[0].extents = plan_extent_of(b, LOOM_EXTENT_SCALAR, length, 0);
        loom_plan_action kernel = b->actions[--b->plan.n_actions];
        plan_alloc(b, length);
        loom_plan_action *fill = plan_act(b, LOOM_ACT_FILL, "length");
        fill->buffer = length;
        fill->value.i = lengths[k];
        b->actions[b->plan.n_actions++] = kernel;
        loom_executor *executor = executor_of(1, 64 << 20);
        loom_run *run;
        LOOM_OK(plan_create(b, executor, NULL, NULL, &run));
        loom_value *column = value_of("", LOOM_C128, 2, (int64_t[]){2, 2}, x);
        loom_status *status = loom_run_fold(run, &column, 0, 1, 0);
        LOOM_CHECK_EQ_INT(loom_status_code(status), k ? LOOM_E_RUNTIME : LOOM_OK);
        if (k) LOOM_CHECK_HAS(loom_status_message(status), "negative size: -3");
        loom_status_free(status);
        loom_value_unref(column);
        loom_run_destroy(run);
        loom_executor_destroy(executor);
        plan_free(b);
    }
}
