/* Sorts of regular rows and of rows that differ in length, by keys of one and of two scalars. */
#include "common/buffer.h"
#include "support.h"
#include <math.h>

typedef struct rows {
    int64_t n_rows, n;
    int64_t *begin; /* n_rows + 1 */
    float *first;
    int8_t *second;
} rows;

/* Few values, so that there are ties; both zeros and NaN among them. */
static rows make_rows(int64_t n_rows, const int64_t *lengths, int64_t length, uint64_t seed) {
    rows r = {.n_rows = n_rows, .begin = loom_xcalloc((size_t)n_rows + 1, sizeof(int64_t))};
    for (int64_t i = 0; i < n_rows; i++) r.begin[i + 1] = r.begin[i] + (lengths ? lengths[i] : length);
    r.n = r.begin[n_rows];
    r.first = loom_xcalloc((size_t)r.n + 1, sizeof *r.first);
    r.second = loom_xcalloc((size_t)r.n + 1, sizeof *r.second);
    static const float odd[] = {NAN, -NAN, 0, -0.0F, INFINITY, -INFINITY};
    for (int64_t i = 0; i < r.n; i++) {
        uint64_t at = random_next(&seed);
        r.first[i] = at % 4 == 0 ? odd[at / 4 % 6] : (float)((double)(at / 8 % 4001) - 2000) / 8;
        r.second[i] = (int8_t)(at >> 56);
    }
    return r;
}

static void free_rows(rows *r) {
    free(r->begin);
    free(r->first);
    free(r->second);
}

/* A stage whose output is the places of each row's elements, sorted by `n_keys` scalars. */
static plan_builder *sort_plan(bool ragged, int64_t length, uint32_t n_keys) {
    plan_builder *b = plan_new(LOOM_STAGE_TRAVERSAL);
    static const loom_dtype types[] = {LOOM_F32, LOOM_I8};
    static const uint32_t depths[] = {2, 2};
    plan_param(b, true, "s", 2, (const char *[]){"a", "b"}, types, depths);
    uint32_t extents[2] = {plan_extent(b, LOOM_EXTENT_CHUNK, 0)}, offsets = LOOM_NO_EXTENT;
    if (ragged) {
        uint32_t lengths = plan_buffer(b, "lengths", LOOM_I64, LOOM_STORE_COLUMN, 0, 0, 1, extents);
        offsets = plan_buffer(b, "offsets", LOOM_I64, LOOM_STORE_TEMP, 0, 0, 1, extents);
        uint32_t total = plan_buffer(b, "total", LOOM_I64, LOOM_STORE_TEMP, 0, 0, 0, NULL);
        b->buffers[lengths].lengths_of = 1;
        b->buffers[offsets].offsets = true;
        extents[1] = plan_extent_of(b, LOOM_EXTENT_SEGMENTED, total, 0);
        b->extents[extents[1]].lengths = lengths;
        plan_alloc(b, offsets);
        plan_alloc(b, total);
        loom_plan_action *a = plan_act(b, LOOM_ACT_OFFSETS, "offsets");
        a->buffer = lengths;
        a->buffer2 = offsets;
        a->n_buffers = 1;
        a->buffers = memcpy(LOOM_NEW(b->arena, uint32_t), &total, sizeof total);
    } else {
        extents[1] = plan_extent(b, LOOM_EXTENT_CONST, length);
    }
    uint32_t *keys = LOOM_NEW_ARRAY(b->arena, uint32_t, 2);
    keys[0] = plan_buffer(b, "a", LOOM_F32, LOOM_STORE_COLUMN, 0, 0, 2, extents);
    keys[1] = plan_buffer(b, "b", LOOM_I8, LOOM_STORE_COLUMN, 0, 1, 2, extents);
    uint32_t places = plan_buffer(b, "places", LOOM_I64, LOOM_STORE_RESULT, 0, 0, 2, extents);
    plan_alloc(b, places);
    loom_plan_action *a = plan_act(b, LOOM_ACT_SORT, "sort");
    a->n_buffers = n_keys;
    a->buffers = keys;
    a->buffer = places;
    a->buffer2 = offsets;
    plan_output(b, LOOM_OUT_COLLECT, LOOM_ORDER_ADJACENT, 1, &places, LOOM_NO_KERNEL, NULL);
    return b;
}

static void make_ragged(loom_leaf *leaf, const rows *r) {
    leaf->extents[1] = LOOM_IRREGULAR;
    leaf->n_lengths[0] = 1;
    leaf->n_lengths[1] = r->n_rows;
    leaf->lengths[1] = loom_xcalloc((size_t)r->n_rows + 1, sizeof(int64_t));
    for (int64_t i = 0; i < r->n_rows; i++) leaf->lengths[1][i] = r->begin[i + 1] - r->begin[i];
}

static void add_column(loom_value *v, uint32_t i, const char *name, loom_dtype type, const rows *r, const void *data,
                       bool ragged) {
    loom_leaf *leaf = &v->leaves[i];
    LOOM_OK(loom_leaf_init(leaf, name, type, 1, &r->n, UINT64_MAX));
    if (r->n) memcpy(leaf->data, data, (size_t)r->n * loom_dtype_size(type));
    leaf->depth = 2;
    leaf->extents[0] = r->n_rows;
    leaf->extents[1] = r->n_rows ? r->n / r->n_rows : 0;
    if (ragged) make_ragged(leaf, r);
}

/* Below 0: x before y, by what sorts promise. */
static int compare(const rows *r, uint32_t n_keys, int64_t x, int64_t y) {
    float a = r->first[x], b = r->first[y];
    if (isnan(a) != isnan(b)) return isnan(a) ? 1 : -1;
    if (!isnan(a) && (a < b || a > b)) return a < b ? -1 : 1;
    return n_keys < 2 ? 0 : r->second[x] - r->second[y];
}

static void check_sorted(const rows *r, uint32_t n_keys, const int64_t *places) {
    bool *seen = loom_xcalloc((size_t)r->n + 1, sizeof *seen);
    for (int64_t i = 0; i < r->n_rows; i++) {
        int64_t begin = r->begin[i], n = r->begin[i + 1] - begin;
        int64_t wrong = 0;
        for (int64_t k = 0; k < n; k++) {
            int64_t at = places[begin + k];
            LOOM_CHECK(at >= 0 && at < n);
            wrong += seen[begin + at];
            seen[begin + at] = true;
            if (k == 0) continue;
            int64_t before = places[begin + k - 1];
            int order = compare(r, n_keys, begin + before, begin + at);
            wrong += order > 0 || (order == 0 && before > at);
        }
        LOOM_CHECK_EQ_INT(wrong, 0);
    }
    free(seen);
}

static void sort_rows(rows r, bool ragged, int threads) {
    for (uint32_t n_keys = 1; n_keys <= 2; n_keys++) {
        plan_builder *b = sort_plan(ragged, r.n_rows ? r.n / r.n_rows : 0, n_keys);
        LOOM_OK(loom_plan_check(&b->plan));
        loom_executor *executor = executor_of(threads, (uint64_t)256 << 20);
        loom_run *run;
        LOOM_OK(plan_create(b, executor, NULL, NULL, &run));
        loom_value *v;
        LOOM_OK(loom_value_create(2, &v));
        add_column(v, 0, "a", LOOM_F32, &r, r.first, ragged);
        add_column(v, 1, "b", LOOM_I8, &r, r.second, ragged);
        LOOM_OK(loom_run_fold(run, &v, 0, 1, 0));
        loom_value_unref(v);
        loom_delta *delta;
        LOOM_OK(loom_run_take_delta(run, &delta));
        const loom_leaf *leaf = &delta->parts[0].outputs[0]->leaves[0];
        LOOM_CHECK_EQ_INT(leaf->n_data, r.n);
        check_sorted(&r, n_keys, (const int64_t *)(const void *)leaf->data);
        loom_delta_destroy(delta);
        loom_run_destroy(run);
        loom_executor_destroy(executor);
        plan_free(b);
    }
    free_rows(&r);
}

LOOM_TEST(sort, regular_rows) {
    static const int64_t lengths[] = {0, 1, 2, 11, 12, 13, 24, 25, 100, 199, 200, 1000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        sort_rows(make_rows(37, NULL, lengths[i], i), false, 2);
}

/* As long as one thread sorts, one more, and many pieces. */
LOOM_TEST(sort, long_rows) {
    static const int64_t lengths[] = {32768, 32769, 65537, 250001};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        sort_rows(make_rows(2, NULL, lengths[i], i), false, 1 + (int)i);
    }
}

LOOM_TEST(sort, rows_that_differ) {
    static const int64_t mixed[] = {0, 5, 90000, 1, 0, 32768, 32769, 30, 0}, none[] = {0, 0, 0}, large[] = {70000};
    sort_rows(make_rows(9, mixed, 0, 1), true, 3);
    sort_rows(make_rows(3, none, 0, 2), true, 3);
    sort_rows(make_rows(1, large, 0, 3), true, 2);
}

/* What is needed beside the buffers is of the same account: told in advance where the size is known, else found out. */
LOOM_TEST(sort, beyond_memory) {
    static const int64_t large[] = {1 << 20};
    loom_executor *executor = executor_of(2, (uint64_t)20 << 20);
    loom_run *run;
    plan_builder *b = sort_plan(false, large[0], 1);
    LOOM_FAILS(plan_create(b, executor, NULL, NULL, &run), LOOM_E_MEMORY);
    plan_free(b);
    rows r = make_rows(1, large, 0, 5);
    b = sort_plan(true, 0, 1);
    LOOM_OK(plan_create(b, executor, NULL, NULL, &run));
    loom_value *v;
    LOOM_OK(loom_value_create(2, &v));
    add_column(v, 0, "a", LOOM_F32, &r, r.first, true);
    add_column(v, 1, "b", LOOM_I8, &r, r.second, true);
    LOOM_FAILS(loom_run_fold(run, &v, 0, 1, 0), LOOM_E_MEMORY);
    loom_value_unref(v);
    loom_run_destroy(run);
    loom_executor_destroy(executor);
    plan_free(b);
    free_rows(&r);
}
