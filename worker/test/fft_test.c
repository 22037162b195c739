/* Transforms against sums written down directly, in all forms: small and large, batched, in place, in strips. */
#include "fft/fft.h"
#include "support.h"
#include <complex.h>

typedef struct shape_case {
    uint32_t rank;
    int64_t extents[4];
    int64_t batch;
} shape_case;

static int64_t elements_of(const loom_fft_shape *s) {
    int64_t n = 1;
    for (uint32_t d = 0; d < s->rank; d++) n *= s->extents[d];
    return n;
}

static double complex get(loom_dtype dtype, const void *data, int64_t i) {
    if (dtype == LOOM_C128) return ((const double *)data)[2 * i] + I * ((const double *)data)[2 * i + 1];
    return (double)((const float *)data)[2 * i] + I * (double)((const float *)data)[2 * i + 1];
}

/* One output element: the sum over all inputs of one transform. */
static double complex direct(const loom_fft_shape *s, const void *in, int64_t first, int64_t k) {
    int64_t n = elements_of(s);
    double complex sum = 0;
    for (int64_t j = 0; j < n; j++) {
        double turns = 0;
        int64_t a = j, b = k;
        for (uint32_t d = s->rank; d-- > 0;) {
            int64_t e = s->extents[d];
            turns += (double)((a % e) * (b % e) % e) / (double)e;
            a /= e;
            b /= e;
        }
        sum += get(s->dtype, in, first + j) * cexp((s->inverse ? 2 : -2) * M_PI * I * turns);
    }
    return s->inverse ? sum / (double)n : sum;
}

static void fill_random(loom_dtype dtype, void *data, int64_t n, uint64_t seed) {
    for (int64_t i = 0; i < 2 * n; i++) {
        double x = random_unit(&seed) - 0.5;
        if (dtype == LOOM_C128) {
            ((double *)data)[i] = x;
        } else {
            ((float *)data)[i] = (float)x;
        }
    }
}

/* A sample of outputs, or all of them if they are few. */
static void compare(const loom_fft_shape *s, const void *in, const void *out, int64_t batch) {
    int64_t n = elements_of(s), total = n * batch;
    int64_t step = n > 4096 ? total / 7 : total > 64 ? total / 64 : 1;
    double scale = s->inverse ? 1.0 / sqrt((double)n) : sqrt((double)n);
    double tolerance = (s->dtype == LOOM_C128 ? 1e-13 : 1e-5) * scale;
    for (int64_t i = 0; i < total; i += step) {
        double complex want = direct(s, in, i / n * n, i % n), got = get(s->dtype, out, i);
        LOOM_CHECK_NEAR(creal(got), creal(want), tolerance);
        LOOM_CHECK_NEAR(cimag(got), cimag(want), tolerance);
    }
}

static void check_shape(loom_ffts *ffts, const shape_case *c, loom_dtype dtype, bool inverse) {
    loom_fft_shape s = {.dtype = dtype, .inverse = inverse, .rank = c->rank};
    memcpy(s.extents, c->extents, sizeof c->extents);
    int64_t total = elements_of(&s) * c->batch;
    size_t bytes = (size_t)total * loom_dtype_size(dtype);
    char *in = aligned_alloc(64, (bytes + 127) / 64 * 64), *out = aligned_alloc(64, (bytes + 127) / 64 * 64);
    char *copy = malloc(bytes);
    fill_random(dtype, in, total, 5);
    memcpy(copy, in, bytes);
    loom_fft *fft;
    LOOM_OK(loom_ffts_get(ffts, &s, &fft));
    LOOM_OK(loom_fft_run(fft, in, out, c->batch, NULL));
    LOOM_CHECK(memcmp(in, copy, bytes) == 0);
    compare(&s, in, out, c->batch);
    loom_fft_strip(fft, in, out, c->batch);
    compare(&s, in, out, c->batch);
    LOOM_OK(loom_fft_run(fft, in, in, c->batch, NULL));
    compare(&s, copy, in, c->batch);
    /* Neither aligned: what a kernel's strip may hand over. */
    size_t element = loom_dtype_size(dtype), off = element == 8 ? 8 : 0;
    memcpy(in + off, copy, bytes);
    loom_fft_strip(fft, in + off, out, c->batch);
    compare(&s, copy, out, c->batch);
    free(in);
    free(out);
    free(copy);
}

static const shape_case shapes[] = {
    {0, {0}, 3},        {1, {1}, 4},           {1, {2}, 100},      {1, {3}, 17},
    {1, {13}, 70},      {1, {1024}, 3},        {2, {15, 15}, 9},   {2, {32, 32}, 20},
    {2, {1, 32}, 2},    {3, {3, 5, 7}, 11},    {2, {257, 300}, 1}, {2, {300, 257}, 2},
    {2, {256, 256}, 1}, {3, {4, 129, 130}, 1}, {2, {70000, 2}, 1}, {2, {2, 70001}, 1},
};

LOOM_TEST(fft, agrees_with_direct_sums) {
    loom_pool *pool;
    LOOM_OK(loom_pool_create(3, &pool));
    loom_ffts *ffts = loom_ffts_create(pool, NULL);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int v = 0; v < 4; v++) check_shape(ffts, &shapes[i], v & 1 ? LOOM_C64 : LOOM_C128, v & 2);
    }
    loom_ffts_destroy(ffts);
    loom_pool_destroy(pool);
}

LOOM_TEST(fft, does_not_depend_on_threads) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        loom_fft_shape s = {.dtype = LOOM_C64, .inverse = true, .rank = shapes[i].rank};
        memcpy(s.extents, shapes[i].extents, sizeof shapes[i].extents);
        int64_t total = elements_of(&s) * shapes[i].batch;
        size_t bytes = ((size_t)total * 8 + 63) / 64 * 64;
        char *in = aligned_alloc(64, bytes), *out[2];
        fill_random(LOOM_C64, in, total, 6);
        for (int k = 0; k < 2; k++) {
            loom_pool *pool;
            LOOM_OK(loom_pool_create(k ? 5 : 1, &pool));
            loom_ffts *ffts = loom_ffts_create(pool, NULL);
            loom_fft *fft;
            LOOM_OK(loom_ffts_get(ffts, &s, &fft));
            out[k] = aligned_alloc(64, bytes);
            LOOM_OK(loom_fft_run(fft, in, out[k], shapes[i].batch, NULL));
            loom_ffts_destroy(ffts);
            loom_pool_destroy(pool);
        }
        LOOM_CHECK(memcmp(out[0], out[1], (size_t)total * 8) == 0);
        free(in);
        free(out[0]);
        free(out[1]);
    }
}

LOOM_TEST(fft, refuses_impossible_lengths) {
    loom_pool *pool;
    LOOM_OK(loom_pool_create(1, &pool));
    loom_ffts *ffts = loom_ffts_create(pool, NULL);
    loom_fft *fft;
    LOOM_FAILS(loom_ffts_get(ffts, &(loom_fft_shape){.dtype = LOOM_C64, .rank = 1, .extents = {0}}, &fft),
               LOOM_E_LIMIT);
    LOOM_FAILS(loom_ffts_get(
                   ffts, &(loom_fft_shape){.dtype = LOOM_C64, .rank = 1, .extents = {LOOM_FFT_MAX_EXTENT + 1}}, &fft),
               LOOM_E_LIMIT);
    LOOM_FAILS(loom_ffts_get(ffts, &(loom_fft_shape){.dtype = LOOM_F64, .rank = 1, .extents = {4}}, &fft),
               LOOM_E_INTERNAL);
    loom_ffts_destroy(ffts);
    loom_pool_destroy(pool);
}
