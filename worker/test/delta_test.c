/* Deltas of folds whose operator does not commute: one partial result per maximal run, earlier ones on the left. */
#include "support.h"

static const loom_dtype i64_2[] = {LOOM_I64, LOOM_I64};
static const uint32_t ones[] = {1, 1};

static plan_builder *affine_plan(void) {
    plan_builder *b = plan_new(LOOM_STAGE_TRAVERSAL);
    plan_param(b, true, "maps", 2, (const char *[]){"a", "b"}, i64_2, ones);
    uint32_t chunk = plan_extent(b, LOOM_EXTENT_CHUNK, 0), results[2];
    plan_buffer(b, "a", LOOM_I64, LOOM_STORE_COLUMN, 0, 0, 1, &chunk);
    plan_buffer(b, "b", LOOM_I64, LOOM_STORE_COLUMN, 0, 1, 1, &chunk);
    results[0] = plan_buffer(b, "p", LOOM_I64, LOOM_STORE_TEMP, 0, 0, 0, NULL);
    results[1] = plan_buffer(b, "q", LOOM_I64, LOOM_STORE_RESULT, 0, 0, 0, NULL);
    plan_alloc(b, results[0]);
    plan_alloc(b, results[1]);
    loom_plan_action *a = plan_act(b, LOOM_ACT_REDUCE, "compose");
    a->kernel = plan_kernel(b, "affine_reduce");
    a->kernel2 = plan_kernel(b, "affine_combine");
    a->extent = chunk;
    a->n_buffers = 2;
    a->buffers = memcpy(LOOM_NEW_ARRAY(b->arena, uint32_t, 2), results, sizeof results);
    plan_output(b, LOOM_OUT_FOLD, LOOM_ORDER_ADJACENT, 2, results, a->kernel2, NULL);
    return b;
}

typedef struct affine {
    uint64_t p, q;
} affine;

static affine serial(const uint64_t *a, const uint64_t *b, int64_t from, int64_t to) {
    affine r = {1, 0};
    for (int64_t i = from; i < to; i++) {
        r.p = a[i] * r.p;
        r.q = a[i] * r.q + b[i];
    }
    return r;
}

static void check_affine(const loom_value *value, affine want) {
    LOOM_CHECK_EQ_INT(value->n_leaves, 2);
    LOOM_CHECK_STR(value->leaves[1].name, "1");
    LOOM_CHECK(*(uint64_t *)value->leaves[0].data == want.p);
    LOOM_CHECK(*(uint64_t *)value->leaves[1].data == want.q);
}

LOOM_TEST(delta, adjacent_blocks_merge_in_order) {
    enum {
        BLOCKS = 24,
        LENGTH = 1000
    };
    uint64_t *a = calloc(BLOCKS * LENGTH, 8), *c = calloc(BLOCKS * LENGTH, 8), seed = 9;
    for (int i = 0; i < BLOCKS * LENGTH; i++) a[i] = random_next(&seed) | 1, c[i] = random_next(&seed);
    plan_builder *b = affine_plan();
    for (int round = 0; round < 6; round++) {
        loom_executor *executor = executor_of(1 + round % 3, 64 << 20);
        loom_run *run;
        LOOM_OK(plan_create(b, executor, NULL, NULL, &run));
        bool in[BLOCKS] = {false};
        for (int k = 0; k < 40; k++) {
            int block = (int)(random_next(&seed) % BLOCKS);
            int64_t n = LENGTH;
            if (in[block]) continue;
            in[block] = true;
            loom_value *column = column_of("a", LOOM_I64, n, a + block * LENGTH);
            column = value_add(column, "b", LOOM_I64, 1, &n, c + block * LENGTH);
            LOOM_OK(loom_run_fold(run, &column, block, 1, block * LENGTH));
            loom_value_unref(column);
        }
        loom_delta *delta;
        LOOM_OK(loom_run_take_delta(run, &delta));
        size_t part = 0;
        for (int block = 0; block < BLOCKS;) {
            int end = block;
            while (end < BLOCKS && in[end]) end++;
            if (end == block) {
                block++;
                continue;
            }
            LOOM_CHECK(part < delta->n_parts);
            LOOM_CHECK_EQ_INT(delta->parts[part].first_block, block);
            LOOM_CHECK_EQ_INT(delta->parts[part].n_blocks, end - block);
            check_affine(delta->parts[part].outputs[0], serial(a, c, block * LENGTH, end * LENGTH));
            part++;
            block = end;
        }
        LOOM_CHECK_EQ_INT(part, delta->n_parts);
        if (delta->n_parts >= 2) {
            /* Merging keeps the earlier on the left. */
            loom_value *merged;
            const loom_delta_part *x = &delta->parts[0], *y = &delta->parts[1];
            affine l = serial(a, c, x->first_block * LENGTH, (x->first_block + x->n_blocks) * LENGTH);
            affine r = serial(a, c, y->first_block * LENGTH, (y->first_block + y->n_blocks) * LENGTH);
            LOOM_OK(loom_run_merge(run, 0, x->outputs[0], y->outputs[0], &merged));
            check_affine(merged, (affine){r.p * l.p, r.p * l.q + r.q});
            loom_value_unref(merged);
        }
        loom_delta_destroy(delta);
        loom_run_destroy(run);
        loom_executor_destroy(executor);
    }
    plan_free(b);
    free(a);
    free(c);
}
