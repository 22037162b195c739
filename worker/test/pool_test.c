#include "device/cpu/pool.h"
#include "loom_test.h"

typedef struct marks {
    int64_t n;
    atomic_int *seen;
    atomic_bool stop;
    int64_t stop_at;
    atomic_llong calls;
} marks;

static void mark(void *context, int thread, int64_t from, int64_t to) {
    marks *m = context;
    (void)thread;
    atomic_fetch_add(&m->calls, 1);
    for (int64_t i = from; i < to; i++) atomic_fetch_add(&m->seen[i], 1);
    if (from >= m->stop_at) atomic_store(&m->stop, true);
}

static void each_once(int threads, int64_t n, int64_t grain) {
    loom_pool *pool;
    LOOM_OK(loom_pool_create(threads, &pool));
    LOOM_CHECK_EQ_INT(loom_pool_threads(pool), threads);
    marks m = {.n = n, .seen = calloc((size_t)n + 1, sizeof *m.seen), .stop_at = INT64_MAX};
    loom_pool_for(pool, n, grain, NULL, mark, &m);
    for (int64_t i = 0; i < n; i++) LOOM_CHECK_EQ_INT(atomic_load(&m.seen[i]), 1);
    LOOM_CHECK_EQ_INT(atomic_load(&m.calls), (n + grain - 1) / grain);
    free(m.seen);
    loom_pool_destroy(pool);
}

LOOM_TEST(pool, covers_each_index_once) {
    for (int threads = 1; threads <= 5; threads++) {
        each_once(threads, 0, 1);
        each_once(threads, 1, 1);
        each_once(threads, 1000, 1);
        each_once(threads, 1000, 7);
        each_once(threads, 1000, 5000);
    }
}

static void add_to(void *context, int thread, int64_t from, int64_t to) {
    (void)thread;
    int64_t *x = context;
    for (int64_t i = from; i < to; i++) x[i] += i;
}

/* Plain memory: what one loop wrote the next one reads, on whichever thread. */
LOOM_TEST(pool, many_short_loops) {
    loom_pool *pool;
    LOOM_OK(loom_pool_create(4, &pool));
    int64_t x[64] = {0};
    for (int k = 0; k < 2000; k++) loom_pool_for(pool, 64, 1 + k % 9, NULL, add_to, x);
    for (int64_t i = 0; i < 64; i++) LOOM_CHECK_EQ_INT(x[i], 2000 * i);
    loom_pool_destroy(pool);
}

LOOM_TEST(pool, stops_when_told) {
    loom_pool *pool;
    LOOM_OK(loom_pool_create(3, &pool));
    int64_t n = 100000;
    marks m = {.n = n, .seen = calloc((size_t)n, sizeof *m.seen), .stop_at = 10};
    loom_pool_for(pool, n, 1, &m.stop, mark, &m);
    LOOM_CHECK(atomic_load(&m.calls) < n);
    free(m.seen);
    loom_pool_destroy(pool);
}

LOOM_TEST(pool, refuses_absurd_numbers_of_threads) {
    loom_pool *pool;
    LOOM_FAILS(loom_pool_create(-1, &pool), LOOM_E_CONFIG);
    LOOM_FAILS(loom_pool_create(4097, &pool), LOOM_E_CONFIG);
}
