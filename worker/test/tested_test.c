/* A plan for rows of one length beside one for rows that differ: which of them runs, and that nothing else can be told.
 * The first gives rows of sevens, the second its column, so that one sees which it was. */
#include "common/buffer.h"
#include "support.h"
#include <string.h>

typedef struct pair {
    plan_builder *regular, *any;
    loom_executor *executor;
    loom_run *run;
    char *bytes;
} pair;

static plan_builder *new_plan(void) {
    plan_builder *b = plan_new(LOOM_STAGE_TRAVERSAL);
    plan_param(b, true, "s", 2, (const char *[]){"a", "b"}, (loom_dtype[]){LOOM_F32, LOOM_F32}, (uint32_t[]){2, 2});
    return b;
}

/* Rows of the column by its lengths. */
static plan_builder *plan_for_any(void) {
    plan_builder *b = new_plan();
    uint32_t extents[2] = {plan_extent(b, LOOM_EXTENT_CHUNK, 0)};
    uint32_t lengths = plan_buffer(b, "lengths", LOOM_I64, LOOM_STORE_COLUMN, 0, 0, 1, extents);
    uint32_t offsets = plan_buffer(b, "offsets", LOOM_I64, LOOM_STORE_TEMP, 0, 0, 1, extents);
    uint32_t total = plan_buffer(b, "total", LOOM_I64, LOOM_STORE_TEMP, 0, 0, 0, NULL);
    b->buffers[lengths].lengths_of = 1;
    b->buffers[offsets].offsets = true;
    extents[1] = plan_extent_of(b, LOOM_EXTENT_SEGMENTED, total, 0);
    b->extents[extents[1]].lengths = lengths;
    uint32_t rows = plan_buffer(b, "a", LOOM_F32, LOOM_STORE_COLUMN, 0, 0, 2, extents);
    uint32_t result = plan_buffer(b, "r", LOOM_F32, LOOM_STORE_RESULT, 0, 0, 2, extents);
    plan_alloc(b, offsets);
    plan_alloc(b, total);
    loom_plan_action *a = plan_act(b, LOOM_ACT_OFFSETS, "offsets");
    a->buffer = lengths;
    a->buffer2 = offsets;
    a->n_buffers = 1;
    a->buffers = memcpy(LOOM_NEW(b->arena, uint32_t), &total, sizeof total);
    plan_alloc(b, result);
    a = plan_act(b, LOOM_ACT_COPY, "copy");
    a->buffer = rows;
    a->buffer2 = result;
    plan_output(b, LOOM_OUT_COLLECT, LOOM_ORDER_ADJACENT, 1, &result, LOOM_NO_KERNEL, NULL);
    return b;
}

/* Both columns have rows of one length. `fails`: in the end. */
static plan_builder *plan_for_regular(bool fails) {
    plan_builder *b = new_plan();
    uint32_t extents[2] = {plan_extent(b, LOOM_EXTENT_CHUNK, 0), plan_extent_of(b, LOOM_EXTENT_INPUT, 0, 1)};
    plan_buffer(b, "a", LOOM_F32, LOOM_STORE_COLUMN, 0, 0, 2, extents);
    uint32_t other = plan_buffer(b, "b", LOOM_F32, LOOM_STORE_COLUMN, 0, 1, 2, extents);
    uint32_t result = plan_buffer(b, "r", LOOM_F32, LOOM_STORE_RESULT, 0, 0, 2, extents);
    plan_alloc(b, result);
    loom_plan_action *a = plan_act(b, LOOM_ACT_COPY, "copy of one length");
    a->buffer = other;
    a->buffer2 = result;
    a = plan_act(b, LOOM_ACT_FILL, "fill");
    a->buffer = result;
    a->value.f = 7;
    if (fails) {
        uint32_t scalar = plan_buffer(b, "n", LOOM_I64, LOOM_STORE_TEMP, 0, 0, 0, NULL);
        uint32_t negative = plan_extent_of(b, LOOM_EXTENT_SCALAR, scalar, 0);
        uint32_t large = plan_buffer(b, "x", LOOM_F32, LOOM_STORE_TEMP, 0, 0, 1, &negative);
        plan_alloc(b, scalar);
        a = plan_act(b, LOOM_ACT_FILL, "minus one");
        a->buffer = scalar;
        a->value.i = -1;
        plan_alloc(b, large);
    }
    plan_output(b, LOOM_OUT_COLLECT, LOOM_ORDER_ADJACENT, 1, &result, LOOM_NO_KERNEL, NULL);
    return b;
}

static loom_status *create(pair *p) {
    size_t length;
    LOOM_OK(loom_plan_encode(&p->regular->plan, &p->bytes, &length));
    p->any->plan.tested = p->bytes;
    p->any->plan.tested_length = length;
    p->executor = executor_of(2, 64 << 20);
    return plan_create(p->any, p->executor, NULL, NULL, &p->run);
}

static pair open_pair(bool fails) {
    pair p = {plan_for_regular(fails), plan_for_any(), NULL, NULL, NULL};
    LOOM_OK(create(&p));
    return p;
}

static void close_pair(pair *p) {
    loom_run_destroy(p->run);
    loom_executor_destroy(p->executor);
    plan_free(p->regular);
    plan_free(p->any);
    free(p->bytes);
}

static void irregular_leaf(loom_leaf *leaf, const char *name, int64_t rows, const int64_t *lengths) {
    *leaf = (loom_leaf){.name = loom_xstrdup(name), .dtype = LOOM_F32, .depth = 2, .extents = {rows, LOOM_IRREGULAR}};
    leaf->n_lengths[0] = 1;
    leaf->n_lengths[1] = rows;
    leaf->lengths[1] = loom_xcalloc((size_t)rows + 1, sizeof(int64_t));
    memcpy(leaf->lengths[1], lengths, (size_t)rows * sizeof(int64_t));
    for (int64_t i = 0; i < rows; i++) leaf->n_data += lengths[i];
    float *data = leaf->data = loom_xcalloc((size_t)leaf->n_data + 1, sizeof(float));
    for (int64_t i = 0; i < leaf->n_data; i++) data[i] = (float)i;
}

static loom_status *fold(pair *p, int64_t block, const int64_t *a, const int64_t *b) {
    loom_value *v;
    LOOM_OK(loom_value_create(2, &v));
    irregular_leaf(&v->leaves[0], "a", 3, a);
    irregular_leaf(&v->leaves[1], "b", 3, b);
    loom_status *status = loom_run_fold(p->run, &v, block, 1, 3 * block);
    loom_value_unref(v);
    return status;
}

/* The result: rows of these lengths, of sevens or counted from 0 in each block. */
static void expect(pair *p, int n, const int64_t *const *lengths, const bool *sevens) {
    loom_delta *delta;
    LOOM_OK(loom_run_take_delta(p->run, &delta));
    LOOM_CHECK_EQ_INT(delta->n_parts, 1);
    const loom_value *value = delta->parts[0].outputs[0];
    LOOM_OK(loom_value_check(value));
    const loom_leaf *leaf = &value->leaves[0];
    const float *at = leaf->data;
    LOOM_CHECK_EQ_INT(leaf->extents[0], 3 * n);
    for (int b = 0; b < n; b++) {
        float next = 0;
        for (int i = 0; i < 3; i++) {
            LOOM_CHECK_EQ_INT(loom_leaf_length(leaf, 1, 3 * b + i), lengths[b][i]);
            for (int64_t k = 0; k < lengths[b][i]; k++) LOOM_CHECK_NEAR(*at++, sevens[b] ? 7 : next++, 0);
        }
    }
    LOOM_CHECK_EQ_INT(leaf->n_data, at - (const float *)leaf->data);
    loom_delta_destroy(delta);
}

static const int64_t twos[] = {2, 2, 2}, fives[] = {5, 5, 5}, mixed[] = {1, 4, 1}, none[] = {0, 0, 0};

LOOM_TEST(tested, each_block_by_its_rows) {
    pair p = open_pair(false);
    LOOM_OK(fold(&p, 0, twos, twos));
    LOOM_OK(fold(&p, 1, mixed, mixed));
    LOOM_OK(fold(&p, 2, fives, fives));
    LOOM_OK(fold(&p, 3, none, none));
    expect(&p, 4, (const int64_t *const[]){twos, mixed, fives, none}, (bool[]){true, false, true, true});
    close_pair(&p);
}

/* Each column has rows of one length, but they share a level and do not agree: the plan for any rows looks at one. */
LOOM_TEST(tested, columns_do_not_agree) {
    pair p = open_pair(false);
    LOOM_OK(fold(&p, 0, twos, fives));
    expect(&p, 1, (const int64_t *const[]){twos}, (bool[]){false});
    close_pair(&p);
}

/* What the one plan fails of is forgotten, and the other one runs. */
LOOM_TEST(tested, failure_is_forgotten) {
    pair p = open_pair(true);
    LOOM_OK(fold(&p, 0, twos, twos));
    LOOM_OK(fold(&p, 1, mixed, mixed));
    expect(&p, 2, (const int64_t *const[]){twos, mixed}, (bool[]){false, false});
    close_pair(&p);
}

LOOM_TEST(tested, regular_form) {
    static const int64_t shape[] = {3, 2};
    static const float data[6] = {0};
    pair p = open_pair(false);
    loom_value *v = value_add(value_of("a", LOOM_F32, 2, shape, data), "b", LOOM_F32, 2, shape, data);
    LOOM_OK(loom_run_fold(p.run, &v, 0, 1, 0));
    loom_value_unref(v);
    expect(&p, 1, (const int64_t *const[]){twos}, (bool[]){true});
    close_pair(&p);
}

/* Time spent by either is told. */
LOOM_TEST(tested, times_of_both) {
    pair p = open_pair(false);
    LOOM_OK(fold(&p, 0, twos, twos));
    LOOM_OK(fold(&p, 1, mixed, mixed));
    const loom_run_time *times;
    size_t n = loom_run_times(p.run, &times);
    uint64_t of_any = 0, of_regular = 0;
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(times[i].label, "copy")) of_any += times[i].calls;
        if (!strcmp(times[i].label, "copy of one length")) of_regular += times[i].calls;
    }
    LOOM_CHECK_EQ_INT(of_any, 1);
    LOOM_CHECK_EQ_INT(of_regular, 1);
    close_pair(&p);
}

/* Not one in the other, and nothing that is no plan of the stage. */
LOOM_TEST(tested, refused) {
    pair p = {plan_for_regular(false), plan_for_any(), NULL, NULL, NULL};
    p.regular->plan.tested = "";
    p.regular->plan.tested_length = 1;
    LOOM_FAILS(create(&p), LOOM_E_DATA);
    close_pair(&p);
    pair q = {plan_for_regular(false), plan_for_any(), NULL, NULL, NULL};
    q.regular->outputs[0].order = LOOM_ORDER_ANY;
    LOOM_FAILS(create(&q), LOOM_E_DATA);
    close_pair(&q);
}
