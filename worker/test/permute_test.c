/* PERMUTE: right against serial sums, the same bits for any number of threads, for many sizes. */
#include "kernels.h"
#include "support.h"

static const loom_dtype place_types[] = {LOOM_I64, LOOM_I64, LOOM_F32};
static const uint32_t ones[] = {1, 1, 1};
static const char *const place_names[] = {"v", "u", "value"};

typedef struct places {
    int64_t n;
    int64_t *v, *u;
    float *value;
} places;

/* Around the middle, at the edges, outside, dropped. `integer`: values whose sums are exact in any order. */
static places make_places(int64_t n, int64_t g, bool integer, uint64_t seed) {
    places p = {n, calloc((size_t)n + 1, 8), calloc((size_t)n + 1, 8), calloc((size_t)n + 1, 4)};
    for (int64_t i = 0; i < n; i++) {
        double spread = i % 3 ? 1.2 : 0.1;
        p.v[i] = (int64_t)((0.5 + spread * (random_unit(&seed) - 0.5)) * (double)g);
        p.u[i] = (int64_t)((0.5 + spread * (random_unit(&seed) - 0.5)) * (double)g);
        p.value[i] = integer ? (float)(random_next(&seed) % 4) : (float)random_unit(&seed);
        if (i % 17 == 5) p.v[i] = -PATCH_LEFT - 1;
        if (i % 19 == 5) p.u[i] = g + PATCH_LEFT;
        if (i % 23 == 7) p.v[i] = LOOM_DROPPED;
        if (i % 29 == 7) p.u[i] = INT64_MAX;
    }
    return p;
}

static void free_places(places *p) {
    free(p->v);
    free(p->u);
    free(p->value);
}

static loom_value *column_of_places(const places *p, int64_t from, int64_t n) {
    loom_value *column = column_of("v", LOOM_I64, n, p->v + from);
    column = value_add(column, "u", LOOM_I64, 1, &n, p->u + from);
    return value_add(column, "value", LOOM_F32, 1, &n, p->value + from);
}

/* `payload`: PAYLOAD numbers per element are collected too, by two outputs of one buffer: the second one is a copy. */
#define PAYLOAD 1000
static plan_builder *grid_plan_with(int64_t rows, int64_t columns, const char *execute, bool payload) {
    plan_builder *b = plan_new(LOOM_STAGE_TRAVERSAL);
    plan_param(b, true, "vis", 3, place_names, place_types, ones);
    uint32_t chunk = plan_extent(b, LOOM_EXTENT_CHUNK, 0);
    uint32_t extents[2] = {plan_extent(b, LOOM_EXTENT_CONST, rows), plan_extent(b, LOOM_EXTENT_CONST, columns)};
    for (uint32_t i = 0; i < 3; i++) plan_buffer(b, place_names[i], place_types[i], LOOM_STORE_COLUMN, 0, i, 1, &chunk);
    uint32_t grid = plan_buffer(b, "grid", LOOM_F32, LOOM_STORE_ACCUMULATOR, 0, 0, 2, extents);
    uint32_t wide[2] = {chunk, plan_extent(b, LOOM_EXTENT_CONST, PAYLOAD)}, filled = 0;
    if (payload) {
        filled = plan_buffer(b, "payload", LOOM_F32, LOOM_STORE_RESULT, 0, 0, 2, wide);
        plan_alloc(b, filled);
        plan_act(b, LOOM_ACT_FILL, "payload")->buffer = filled;
    }
    loom_plan_action *a = plan_act(b, LOOM_ACT_PERMUTE, "gridding");
    a->kernel = plan_kernel(b, "convolve_inspect");
    a->kernel2 = plan_kernel(b, execute);
    a->n_buffers = 1;
    a->buffers = memcpy(LOOM_NEW(b->arena, uint32_t), &grid, sizeof grid);
    a->n_units = 1;
    a->unit_extents = memcpy(LOOM_NEW(b->arena, uint32_t), &chunk, sizeof chunk);
    a->rank = 2;
    static const int64_t lower[] = {-PATCH_LEFT, -PATCH_LEFT}, upper[] = {PATCH - PATCH_LEFT, PATCH - PATCH_LEFT};
    a->lower = lower;
    a->upper = upper;
    plan_output(b, LOOM_OUT_PERMUTE, LOOM_ORDER_ANY, 1, &grid, plan_kernel(b, "add_f32"), NULL);
    plan_site(b, "negative value {a}", 3);
    for (int i = 0; i < 2 && payload; i++) {
        plan_output(b, LOOM_OUT_COLLECT, LOOM_ORDER_ADJACENT, 1, &filled, LOOM_NO_KERNEL, NULL);
    }
    return b;
}

static plan_builder *grid_plan(int64_t rows, int64_t columns, const char *execute) {
    return grid_plan_with(rows, columns, execute, false);
}

/* Grids all places in blocks of `block`; the grid of the delta. */
static loom_value *grid_of(plan_builder *b, const places *p, int threads, int64_t block) {
    loom_executor *executor = executor_of(threads, (uint64_t)1 << 30);
    loom_run *run;
    LOOM_OK(plan_create(b, executor, NULL, NULL, &run));
    int64_t number = 0;
    for (int64_t from = 0; from < p->n || number == 0; from += block, number++) {
        int64_t n = p->n - from < block ? p->n - from : block;
        loom_value *column = column_of_places(p, from, n);
        LOOM_OK(loom_run_fold(run, &column, number, 1, from));
        loom_value_unref(column);
    }
    loom_delta *delta;
    LOOM_OK(loom_run_take_delta(run, &delta));
    loom_value *grid = loom_value_ref(delta->parts[0].outputs[0]);
    loom_delta_destroy(delta);
    loom_run_destroy(run);
    loom_executor_destroy(executor);
    return grid;
}

static void grid_serially(const places *p, int64_t rows, int64_t columns, float *grid) {
    for (int64_t i = 0; i < p->n; i++) {
        if (p->v[i] == LOOM_DROPPED || p->u[i] > columns + PATCH) continue;
        for (int64_t y = 0; y < PATCH; y++) {
            for (int64_t x = 0; x < PATCH; x++) {
                int64_t r = p->v[i] + y - PATCH_LEFT, c = p->u[i] + x - PATCH_LEFT;
                if (r < 0 || r >= rows || c < 0 || c >= columns) continue;
                grid[r * columns + c] += p->value[i] * (float)(1 + y * PATCH + x);
            }
        }
    }
}

static void check_grid(int64_t rows, int64_t columns, int64_t n) {
    int64_t g = rows > columns ? rows : columns;
    places exact = make_places(n, g, true, 3), rough = make_places(n, g, false, 4);
    plan_builder *b = grid_plan(rows, columns, "convolve_execute");
    float *want = calloc((size_t)(rows * columns) + 1, sizeof *want);
    grid_serially(&exact, rows, columns, want);
    loom_value *first = NULL;
    for (int threads = 1; threads <= 4; threads++) {
        loom_value *grid = grid_of(b, &exact, threads, n > 1000 ? n / 3 : n);
        LOOM_CHECK_EQ_INT(grid->leaves[0].n_data, rows * columns);
        LOOM_CHECK(memcmp(grid->leaves[0].data, want, (size_t)(rows * columns) * 4) == 0);
        loom_value_unref(grid);
        grid = grid_of(b, &rough, threads, n);
        if (first) {
            LOOM_CHECK(memcmp(grid->leaves[0].data, first->leaves[0].data, (size_t)(rows * columns) * 4) == 0);
            loom_value_unref(grid);
        } else {
            first = grid;
        }
    }
    loom_value_unref(first);
    free(want);
    free_places(&exact);
    free_places(&rough);
    plan_free(b);
}

LOOM_TEST(permute, grids_of_many_sizes) {
    static const int64_t sizes[][3] = {{1, 1, 100},      {1, 300, 500},    {300, 1, 500},     {3, 4, 200},
                                       {5, 5, 200},      {6, 17, 0},       {6, 17, 1},        {64, 64, 5000},
                                       {257, 100, 5000}, {100, 257, 5000}, {1000, 999, 9000}, {2048, 2048, 20000}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) check_grid(sizes[i][0], sizes[i][1], sizes[i][2]);
}

/* ---- planes, two targets ---- */

static plan_builder *planes_plan(int64_t planes, int64_t g) {
    plan_builder *b = plan_new(LOOM_STAGE_TRAVERSAL);
    plan_param(b, true, "vis", 3, place_names, place_types, ones);
    uint32_t chunk = plan_extent(b, LOOM_EXTENT_CHUNK, 0), targets[2];
    uint32_t extents[3] = {plan_extent(b, LOOM_EXTENT_CONST, planes), plan_extent(b, LOOM_EXTENT_CONST, g),
                           plan_extent(b, LOOM_EXTENT_CONST, g)};
    for (uint32_t i = 0; i < 3; i++) plan_buffer(b, place_names[i], place_types[i], LOOM_STORE_COLUMN, 0, i, 1, &chunk);
    targets[0] = plan_buffer(b, "image", LOOM_F32, LOOM_STORE_ACCUMULATOR, 0, 0, 3, extents);
    targets[1] = plan_buffer(b, "psf", LOOM_F64, LOOM_STORE_ACCUMULATOR, 0, 0, 3, extents);
    loom_plan_action *a = plan_act(b, LOOM_ACT_PERMUTE, "gridding");
    a->kernel = plan_kernel(b, "planes_inspect");
    a->kernel2 = plan_kernel(b, "planes_execute");
    a->n_buffers = 2;
    a->buffers = memcpy(LOOM_NEW_ARRAY(b->arena, uint32_t, 2), targets, sizeof targets);
    uint32_t units[2] = {chunk, extents[0]};
    a->n_units = 2;
    a->unit_extents = memcpy(LOOM_NEW_ARRAY(b->arena, uint32_t, 2), units, sizeof units);
    a->rank = 3;
    static const int64_t lower[] = {0, -PATCH_LEFT, -PATCH_LEFT}, upper[] = {1, PATCH - PATCH_LEFT, PATCH - PATCH_LEFT};
    a->lower = lower;
    a->upper = upper;
    loom_scalar neutral[2] = {{.f = 1.5}, {.f = 0}};
    plan_output(b, LOOM_OUT_PERMUTE, LOOM_ORDER_ANY, 1, &targets[0], plan_kernel(b, "add_f32"), &neutral[0]);
    plan_output(b, LOOM_OUT_PERMUTE, LOOM_ORDER_ANY, 1, &targets[1], plan_kernel(b, "add_f64"), &neutral[1]);
    return b;
}

LOOM_TEST(permute, planes_with_two_targets) {
    int64_t planes = 7, g = 130;
    places p = make_places(6000, g, false, 8);
    for (int64_t i = 0; i < p.n; i++) {
        if (p.v[i] == LOOM_DROPPED) p.v[i] = 3;
    }
    plan_builder *b = planes_plan(planes, g);
    loom_delta *deltas[4];
    for (int t = 0; t < 4; t++) {
        loom_executor *executor = executor_of(t + 1, (uint64_t)1 << 30);
        loom_run *run;
        LOOM_OK(plan_create(b, executor, NULL, NULL, &run));
        loom_value *column = column_of_places(&p, 0, p.n);
        LOOM_OK(loom_run_fold(run, &column, 0, 1, 0));
        loom_value_unref(column);
        LOOM_OK(loom_run_take_delta(run, &deltas[t]));
        loom_run_destroy(run);
        loom_executor_destroy(executor);
        for (int j = 0; j < 2; j++) {
            const loom_leaf *leaf = &deltas[t]->parts[0].outputs[j]->leaves[0],
                            *first = &deltas[0]->parts[0].outputs[j]->leaves[0];
            LOOM_CHECK(memcmp(leaf->data, first->data, (size_t)leaf->n_data * loom_dtype_size(leaf->dtype)) == 0);
        }
    }
    /* The neutral element is where nothing was added. */
    double lowest = 1e9;
    const float *image = deltas[0]->parts[0].outputs[0]->leaves[0].data;
    for (int64_t i = 0; i < planes * g * g; i++) lowest = (double)image[i] < lowest ? (double)image[i] : lowest;
    LOOM_CHECK_NEAR(lowest, 1.5, 0);
    for (int t = 0; t < 4; t++) loom_delta_destroy(deltas[t]);
    free_places(&p);
    plan_free(b);
}

/* ---- histograms ---- */

static double *histogram(int64_t bins, int64_t n, const int64_t *bin, const double *weight, int threads) {
    plan_builder *b = plan_new(LOOM_STAGE_TRAVERSAL);
    plan_param(b, true, "xs", 2, (const char *[]){"bin", "weight"}, (loom_dtype[]){LOOM_I64, LOOM_F64}, ones);
    uint32_t chunk = plan_extent(b, LOOM_EXTENT_CHUNK, 0), cells = plan_extent(b, LOOM_EXTENT_CONST, bins);
    plan_buffer(b, "bin", LOOM_I64, LOOM_STORE_COLUMN, 0, 0, 1, &chunk);
    plan_buffer(b, "weight", LOOM_F64, LOOM_STORE_COLUMN, 0, 1, 1, &chunk);
    uint32_t target = plan_buffer(b, "bins", LOOM_F64, LOOM_STORE_ACCUMULATOR, 0, 0, 1, &cells);
    loom_plan_action *a = plan_act(b, LOOM_ACT_PERMUTE, "histogram");
    a->kernel = plan_kernel(b, "histogram_inspect");
    a->kernel2 = plan_kernel(b, "histogram_execute");
    a->n_buffers = 1;
    a->buffers = memcpy(LOOM_NEW(b->arena, uint32_t), &target, sizeof target);
    a->n_units = 1;
    a->unit_extents = memcpy(LOOM_NEW(b->arena, uint32_t), &chunk, sizeof chunk);
    a->rank = 1;
    static const int64_t lower[] = {0}, upper[] = {1};
    a->lower = lower;
    a->upper = upper;
    plan_output(b, LOOM_OUT_PERMUTE, LOOM_ORDER_ANY, 1, &target, plan_kernel(b, "add_f64"), NULL);
    loom_executor *executor = executor_of(threads, (uint64_t)1 << 30);
    loom_run *run;
    LOOM_OK(plan_create(b, executor, NULL, NULL, &run));
    loom_value *column = value_add(column_of("bin", LOOM_I64, n, bin), "weight", LOOM_F64, 1, &n, weight);
    LOOM_OK(loom_run_fold(run, &column, 0, 1, 0));
    loom_value_unref(column);
    loom_delta *delta;
    LOOM_OK(loom_run_take_delta(run, &delta));
    double *result = malloc((size_t)bins * sizeof *result + 1);
    memcpy(result, delta->parts[0].outputs[0]->leaves[0].data, (size_t)bins * sizeof *result);
    loom_delta_destroy(delta);
    loom_run_destroy(run);
    loom_executor_destroy(executor);
    plan_free(b);
    return result;
}

LOOM_TEST(permute, histograms) {
    /* 12000: by pieces though it is larger than a first-level cache. */
    static const int64_t sizes[] = {1, 2, 10, 1000, 12000, 3000000};
    int64_t n = 200000;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int64_t bins = sizes[s], *bin = calloc((size_t)n, 8);
        double *weight = calloc((size_t)n, 8), *want = calloc((size_t)bins, 8);
        uint64_t seed = 2 + s;
        for (int64_t i = 0; i < n; i++) {
            bin[i] = i % 41 ? (int64_t)(random_next(&seed) % (uint64_t)bins) : (i % 2 ? -1 : bins);
            weight[i] = random_unit(&seed);
            if (bin[i] >= 0 && bin[i] < bins) want[bin[i]] += weight[i];
        }
        double *first = histogram(bins, n, bin, weight, 1);
        for (int threads = 2; threads <= 3; threads++) {
            double *got = histogram(bins, n, bin, weight, threads);
            LOOM_CHECK(memcmp(got, first, (size_t)bins * 8) == 0);
            free(got);
        }
        /* Onto a large target cells are added to in the units' order, as the serial loop does; small ones by
         * pieces. */
        for (int64_t i = 0; i < bins; i++) LOOM_CHECK_NEAR(first[i], want[i], bins <= 12000 ? 1e-13 * want[i] : 0);
        free(first);
        free(bin);
        free(weight);
        free(want);
    }
}

/* ---- errors and memory ---- */

/* The permute goes well, and then there is no memory for another output: the block is half inside. */
LOOM_TEST(permute, no_memory_after_the_permute_spoils_the_accumulator) {
    plan_builder *b = grid_plan_with(64, 64, "convolve_execute", true);
    static const uint64_t budgets[] = {64 << 20, 6 << 20};
    places p = make_places(1000, 64, true, 7);
    loom_value *column = column_of_places(&p, 0, p.n);
    for (int k = 0; k < 2; k++) {
        loom_executor *executor = executor_of(1, budgets[k]);
        loom_run *run;
        LOOM_OK(plan_create(b, executor, NULL, NULL, &run));
        if (k == 0) {
            LOOM_OK(loom_run_fold(run, &column, 0, 1, 0));
        } else {
            LOOM_FAILS(loom_run_fold(run, &column, 0, 1, 0), LOOM_E_MEMORY);
        }
        LOOM_CHECK_EQ_INT(loom_run_is_spoilt(run), k);
        loom_run_destroy(run);
        loom_executor_destroy(executor);
    }
    loom_value_unref(column);
    free_places(&p);
    plan_free(b);
}

LOOM_TEST(permute, an_error_in_the_executing_half_spoils_the_accumulator) {
    plan_builder *b = grid_plan(64, 64, "convolve_execute_checked");
    loom_executor *executor = executor_of(2, (uint64_t)1 << 30);
    loom_run *run;
    LOOM_OK(plan_create(b, executor, NULL, NULL, &run));
    places p = make_places(1000, 64, true, 5);
    loom_value *column = column_of_places(&p, 0, p.n);
    LOOM_OK(loom_run_fold(run, &column, 0, 1, 0));
    loom_value_unref(column);
    p.value[500] = p.value[600] = -2;
    p.v[500] = p.u[500] = p.v[600] = p.u[600] = 10;
    column = column_of_places(&p, 0, p.n);
    loom_status *status = loom_run_fold(run, &column, 1, 1, 1000);
    LOOM_CHECK_STR(loom_status_message(status), "negative value -2");
    LOOM_CHECK_STR(loom_status_note_at(status, 1), "at element 1500 of the stream");
    loom_status_free(status);
    LOOM_CHECK(loom_run_is_spoilt(run));
    loom_delta *delta;
    LOOM_FAILS(loom_run_take_delta(run, &delta), LOOM_E_INTERNAL);
    LOOM_FAILS(loom_run_fold(run, &column, 2, 1, 2000), LOOM_E_INTERNAL);
    loom_run_drop(run);
    loom_value_unref(column);
    p.value[500] = p.value[600] = 2;
    column = column_of_places(&p, 0, p.n);
    LOOM_OK(loom_run_fold(run, &column, 1, 1, 1000));
    loom_value_unref(column);
    LOOM_OK(loom_run_take_delta(run, &delta));
    float *want = calloc(64 * 64, sizeof *want);
    grid_serially(&p, 64, 64, want);
    LOOM_CHECK(memcmp(want, delta->parts[0].outputs[0]->leaves[0].data, 64 * 64 * 4) == 0);
    free(want);
    loom_delta_destroy(delta);
    free_places(&p);
    loom_run_destroy(run);
    loom_executor_destroy(executor);
    plan_free(b);
}

LOOM_TEST(permute, a_target_that_does_not_fit_is_refused_at_the_start) {
    plan_builder *b = grid_plan(8192, 8192, "convolve_execute");
    loom_executor *executor = executor_of(1, 100 << 20);
    loom_run *run;
    loom_status *status = plan_create(b, executor, NULL, NULL, &run);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_MEMORY);
    LOOM_CHECK_HAS(loom_status_message(status), "accumulators 256.0 MiB");
    LOOM_CHECK_HAS(loom_status_message(status), "the worker has 100.0 MiB free");
    loom_status_free(status);
    loom_executor_destroy(executor);
    plan_free(b);
}

LOOM_TEST(permute, neutral_grid_and_merge) {
    plan_builder *b = grid_plan(100, 100, "convolve_execute");
    loom_executor *executor = executor_of(2, (uint64_t)1 << 30);
    loom_run *run;
    LOOM_OK(plan_create(b, executor, NULL, NULL, &run));
    loom_value *empty, *merged;
    LOOM_OK(loom_run_empty(run, 0, &empty));
    for (int i = 0; i < 10000; i++) LOOM_CHECK_NEAR(((float *)empty->leaves[0].data)[i], 0, 0);
    places p = make_places(1000, 100, true, 5);
    loom_value *column = column_of_places(&p, 0, p.n);
    LOOM_OK(loom_run_fold(run, &column, 0, 1, 0));
    loom_value_unref(column);
    loom_delta *delta;
    LOOM_OK(loom_run_take_delta(run, &delta));
    LOOM_OK(loom_run_merge(run, 0, empty, delta->parts[0].outputs[0], &merged));
    loom_value_unref(empty);
    LOOM_CHECK(memcmp(merged->leaves[0].data, delta->parts[0].outputs[0]->leaves[0].data, 40000) == 0);
    loom_value_unref(merged);
    loom_delta_destroy(delta);
    free_places(&p);
    loom_run_destroy(run);
    loom_executor_destroy(executor);
    plan_free(b);
}
