/* Rows that differ in length through hand-made plans: what is bound, cut into chunks, handed out, and refused. */
#include "common/buffer.h"
#include "support.h"

/* [][]f32 with rows of the given lengths. */
static void add_rows(loom_value *value, uint32_t i, const char *name, int64_t rows, const int64_t *lengths, int64_t n,
                     const float *data) {
    loom_leaf *leaf = &value->leaves[i];
    LOOM_OK(loom_leaf_init(leaf, name, LOOM_F32, 1, &n, 1 << 24));
    if (n) memcpy(leaf->data, data, (size_t)n * sizeof *data);
    leaf->depth = 2;
    leaf->extents[0] = rows;
    leaf->extents[1] = LOOM_IRREGULAR;
    leaf->n_lengths[0] = 1;
    leaf->n_lengths[1] = rows;
    leaf->lengths[1] = loom_xcalloc((size_t)rows + 1, sizeof(int64_t));
    if (rows) memcpy(leaf->lengths[1], lengths, (size_t)rows * sizeof(int64_t));
}

typedef struct case_ {
    plan_builder *b;
    uint32_t lengths, offsets, total, rows, other, result;
    loom_executor *executor;
    loom_run *run;
} case_;

/* The stream's column a as it is, by way of its offsets; its column b has the same rows. */
static case_ open_case(void) {
    case_ c = {.b = plan_new(LOOM_STAGE_TRAVERSAL)};
    static const loom_dtype types[] = {LOOM_F32, LOOM_F32};
    static const uint32_t depths[] = {2, 2};
    plan_param(c.b, true, "s", 2, (const char *[]){"a", "b"}, types, depths);
    uint32_t extents[2] = {plan_extent(c.b, LOOM_EXTENT_CHUNK, 0)};
    c.lengths = plan_buffer(c.b, "lengths", LOOM_I64, LOOM_STORE_COLUMN, 0, 0, 1, extents);
    c.offsets = plan_buffer(c.b, "offsets", LOOM_I64, LOOM_STORE_TEMP, 0, 0, 1, extents);
    c.total = plan_buffer(c.b, "total", LOOM_I64, LOOM_STORE_TEMP, 0, 0, 0, NULL);
    c.b->buffers[c.lengths].lengths_of = 1;
    c.b->buffers[c.offsets].offsets = true;
    extents[1] = plan_extent_of(c.b, LOOM_EXTENT_SEGMENTED, c.total, 0);
    c.b->extents[extents[1]].lengths = c.lengths;
    c.rows = plan_buffer(c.b, "a", LOOM_F32, LOOM_STORE_COLUMN, 0, 0, 2, extents);
    c.other = plan_buffer(c.b, "b", LOOM_F32, LOOM_STORE_COLUMN, 0, 1, 2, extents);
    c.result = plan_buffer(c.b, "r", LOOM_F32, LOOM_STORE_RESULT, 0, 0, 2, extents);
    plan_alloc(c.b, c.offsets);
    plan_alloc(c.b, c.total);
    loom_plan_action *a = plan_act(c.b, LOOM_ACT_OFFSETS, "offsets");
    a->buffer = c.lengths;
    a->buffer2 = c.offsets;
    a->n_buffers = 1;
    a->buffers = memcpy(LOOM_NEW(c.b->arena, uint32_t), &c.total, sizeof c.total);
    plan_alloc(c.b, c.result);
    a = plan_act(c.b, LOOM_ACT_COPY, "copy");
    a->buffer = c.rows;
    a->buffer2 = c.result;
    plan_output(c.b, LOOM_OUT_COLLECT, LOOM_ORDER_ADJACENT, 1, &c.result, LOOM_NO_KERNEL, NULL);
    return c;
}

static void start(case_ *c, uint64_t memory) {
    c->executor = executor_of(2, memory);
    LOOM_OK(plan_create(c->b, c->executor, NULL, NULL, &c->run));
}

static void close_case(case_ *c) {
    loom_run_destroy(c->run);
    loom_executor_destroy(c->executor);
    plan_free(c->b);
}

static loom_status *fold(case_ *c, loom_value *block) {
    loom_status *status = loom_run_fold(c->run, &block, 0, 1, 0);
    loom_value_unref(block);
    return status;
}

static loom_value *block_of(int64_t rows, const int64_t *a, int64_t n_a, const int64_t *b, int64_t n_b,
                            const float *data) {
    loom_value *v;
    LOOM_OK(loom_value_create(2, &v));
    add_rows(v, 0, "a", rows, a, n_a, data);
    add_rows(v, 1, "b", rows, b, n_b, data);
    return v;
}

static const float numbers[] = {1, 2, 3, 4, 5, 6, 7, 8};

static void expect_rows(case_ *c, int64_t rows, const int64_t *lengths, int64_t n, const float *data) {
    loom_delta *delta;
    LOOM_OK(loom_run_take_delta(c->run, &delta));
    LOOM_CHECK_EQ_INT(delta->n_parts, 1);
    LOOM_OK(loom_value_check(delta->parts[0].outputs[0]));
    const loom_leaf *leaf = &delta->parts[0].outputs[0]->leaves[0];
    LOOM_CHECK_EQ_INT(leaf->extents[0], rows);
    LOOM_CHECK_EQ_INT(leaf->n_data, n);
    for (int64_t i = 0; i < rows; i++) {
        LOOM_CHECK_EQ_INT(leaf->lengths[1] ? leaf->lengths[1][i] : leaf->extents[1], lengths[i]);
    }
    for (int64_t i = 0; i < n; i++) LOOM_CHECK_NEAR(((const float *)leaf->data)[i], data[i], 0);
    loom_delta_destroy(delta);
}

LOOM_TEST(segments, rows_go_through) {
    static const int64_t unlike[] = {2, 0, 5, 1}, alike[] = {2, 2, 2, 2}, none[] = {0, 0, 0, 0};
    const int64_t *all[] = {unlike, alike, none};
    for (int i = 0; i < 3; i++) {
        case_ c = open_case();
        start(&c, 64 << 20);
        int64_t n = i < 2 ? 8 : 0;
        LOOM_OK(fold(&c, block_of(4, all[i], n, all[i], n, numbers)));
        expect_rows(&c, 4, all[i], n, numbers);
        close_case(&c);
    }
}

/* A value has one form: rows of one length are regular. */
LOOM_TEST(segments, equal_rows_are_regular) {
    static const int64_t alike[] = {2, 2};
    case_ c = open_case();
    start(&c, 64 << 20);
    LOOM_OK(fold(&c, block_of(2, alike, 4, alike, 4, numbers)));
    loom_delta *delta;
    LOOM_OK(loom_run_take_delta(c.run, &delta));
    LOOM_CHECK(!delta->parts[0].outputs[0]->leaves[0].lengths[1]);
    loom_delta_destroy(delta);
    close_case(&c);
}

/* No rows, and so no lengths. */
LOOM_TEST(segments, no_rows_come) {
    case_ c = open_case();
    start(&c, 64 << 20);
    loom_value *v = block_of(0, NULL, 0, NULL, 0, numbers);
    for (int i = 0; i < 2; i++) {
        free(v->leaves[i].lengths[1]);
        v->leaves[i].lengths[1] = NULL;
    }
    LOOM_OK(fold(&c, v));
    expect_rows(&c, 0, NULL, 0, numbers);
    close_case(&c);
}

/* Regular rows may come where the plan was made for others. */
LOOM_TEST(segments, regular_rows_come) {
    static const int64_t two[] = {3, 2}, lengths[] = {2, 2, 2};
    case_ c = open_case();
    start(&c, 64 << 20);
    loom_value *v = value_of("a", LOOM_F32, 2, two, numbers);
    v = value_add(v, "b", LOOM_F32, 2, two, numbers);
    LOOM_OK(fold(&c, v));
    expect_rows(&c, 3, lengths, 6, numbers);
    close_case(&c);
}

/* With little memory a block goes through in several chunks, which begin in the middle of the data. */
LOOM_TEST(segments, several_chunks) {
    enum {
        ROWS = 40000
    };
    int64_t *lengths = loom_xcalloc(ROWS, sizeof *lengths), n = 0;
    for (int64_t i = 0; i < ROWS; i++) n += lengths[i] = i % 7 == 3 ? 40 : i % 3;
    float *data = loom_xcalloc((size_t)n, sizeof *data);
    for (int64_t i = 0; i < n; i++) data[i] = (float)(i % 1000);
    case_ c = open_case();
    start(&c, 1 << 20);
    loom_value *v;
    LOOM_OK(loom_value_create(2, &v));
    add_rows(v, 0, "a", ROWS, lengths, n, data);
    add_rows(v, 1, "b", ROWS, lengths, n, data);
    LOOM_OK(fold(&c, v));
    const loom_run_time *times;
    size_t n_times = loom_run_times(c.run, &times);
    for (size_t i = 0; i < n_times; i++) LOOM_CHECK(strcmp(times[i].label, "copy") != 0 || times[i].calls > 1);
    expect_rows(&c, ROWS, lengths, n, data);
    close_case(&c);
    free(lengths);
    free(data);
}

LOOM_TEST(segments, rows_that_disagree) {
    static const int64_t a[] = {2, 0, 1}, b[] = {1, 1, 1}, fewer[] = {2, 1};
    case_ c = open_case();
    start(&c, 64 << 20);
    LOOM_FAILS(fold(&c, block_of(3, a, 3, b, 3, numbers)), LOOM_E_DATA);
    loom_value *v;
    LOOM_OK(loom_value_create(2, &v));
    add_rows(v, 0, "a", 3, a, 3, numbers);
    add_rows(v, 1, "b", 2, fewer, 3, numbers);
    LOOM_FAILS(fold(&c, v), LOOM_E_DATA);
    close_case(&c);
}

/* Lengths that say more than there is, or nonsense, never lead anywhere. */
LOOM_TEST(segments, lengths_that_lie) {
    static const int64_t more[] = {2, 9}, negative[] = {4, -2}, huge[] = {INT64_MAX, 2};
    const int64_t *all[] = {more, negative, huge};
    for (int i = 0; i < 3; i++) {
        case_ c = open_case();
        start(&c, 64 << 20);
        LOOM_FAILS(fold(&c, block_of(2, all[i], 3, all[i], 3, numbers)), LOOM_E_DATA);
        close_case(&c);
    }
}

/* A plan whose rows have other lengths than it has elements. */
LOOM_TEST(segments, totals_that_lie) {
    static const int64_t lengths[] = {2, 1};
    case_ c = open_case();
    uint32_t alone = plan_buffer(c.b, "alone", LOOM_I64, LOOM_STORE_TEMP, 0, 0, 0, NULL);
    plan_alloc(c.b, alone); /* 0 */
    c.b->extents[c.b->buffers[c.rows].extents[1]].buffer = alone;
    start(&c, 64 << 20);
    LOOM_FAILS(fold(&c, block_of(2, lengths, 3, lengths, 3, numbers)), LOOM_E_INTERNAL);
    close_case(&c);
}
