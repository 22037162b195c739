#include "common/buffer.h"
#include "common/file.h"
#include "io/npy.h"
#include "io/source.h"
#include "loom_test.h"
#include <unistd.h>

static char *folder(void) {
    char *path = loom_xstrdup("/tmp/loom-source-test-XXXXXX");
    LOOM_CHECK(mkdtemp(path));
    return path;
}

static char *save(const char *at, const char *name, loom_dtype dtype, uint32_t depth, const int64_t *extents,
                  const void *data) {
    char *path = loom_xprintf("%s/%s.npy", at, name);
    LOOM_OK(loom_npy_write(path, dtype, depth, extents, data));
    return path;
}

static void drop(char *path) {
    loom_remove_tree(path);
    free(path);
}

LOOM_TEST(source, columns_and_constants) {
    char *at = folder();
    double u[6] = {0, 1, 2, 3, 4, 5}, freq[2] = {10, 20};
    bool flag[12] = {1, 0, 1};
    char *a = save(at, "u\t%", LOOM_F64, 1, (int64_t[]){6}, u),
         *b = save(at, "f", LOOM_BOOL, 2, (int64_t[]){6, 2}, flag),
         *c = save(at, "freq", LOOM_F64, 1, (int64_t[]){2}, freq);
    loom_npy_column columns[] = {{"u", a, NULL, false, LOOM_F64, 0},
                                 {"flag", b, NULL, false, LOOM_BOOL, 1},
                                 {"freq", c, NULL, true, LOOM_F64, 1}};
    loom_source *first, *source;
    LOOM_OK(loom_source_npy(columns, 3, &first));
    LOOM_CHECK(first->worker_can_open && !strchr(first->description, '\n'));
    LOOM_OK(loom_source_open(first->description, &source));
    loom_source_destroy(first);
    LOOM_CHECK_EQ_INT(source->n_elements, 6);
    loom_value *value, *constants;
    LOOM_OK(loom_source_read(source, 2, 3, &value));
    LOOM_OK(loom_source_constants(source, 0, &constants));
    loom_source_destroy(source); /* values outlive their source */
    LOOM_OK(loom_value_check(value));
    LOOM_OK(loom_value_check(constants));
    LOOM_CHECK_NEAR(((const double *)loom_value_find(value, "u")->data)[0], 2.0, 0);
    LOOM_CHECK_EQ_INT(loom_value_find(value, "flag")->extents[1], 2);
    LOOM_CHECK(!loom_value_find(value, "freq"));
    LOOM_CHECK_NEAR(((const double *)loom_value_find(constants, "freq")->data)[1], 20.0, 0);
    loom_value_unref(value);
    loom_value_unref(constants);
    free(a);
    free(b);
    free(c);
    drop(at);
}

/* 3000 lists, so that several remembered starts are used. */
LOOM_TEST(source, irregular_columns) {
    enum {
        N = 3000
    };
    char *at = folder();
    static int64_t lengths[N];
    static int32_t values[4 * N];
    int64_t total = 0;
    for (int64_t i = 0; i < N; i++) {
        lengths[i] = i % 4;
        for (int64_t k = 0; k < lengths[i]; k++) values[total++] = (int32_t)i;
    }
    char *v = save(at, "v", LOOM_I32, 1, &total, values), *l = save(at, "l", LOOM_I64, 1, (int64_t[]){N}, lengths);
    loom_npy_column column = {"", v, l, false, LOOM_I32, 1};
    loom_source *source;
    LOOM_OK(loom_source_npy(&column, 1, &source));
    for (int64_t first = 0; first < N; first += 613) {
        int64_t count = N - first < 613 ? N - first : 613, k = 0;
        loom_value *block;
        LOOM_OK(loom_source_read(source, first, count, &block));
        LOOM_OK(loom_value_check(block));
        const loom_leaf *leaf = &block->leaves[0];
        LOOM_CHECK_EQ_INT(leaf->extents[1], LOOM_IRREGULAR);
        for (int64_t i = 0; i < count; i++) {
            for (int64_t j = 0; j < leaf->lengths[1][i]; j++)
                LOOM_CHECK_EQ_INT(((int32_t *)leaf->data)[k++], first + i);
        }
        loom_value_unref(block);
    }
    loom_source_destroy(source);
    total -= 1;
    char *shorter = save(at, "s", LOOM_I32, 1, &total, values);
    column.values = shorter;
    LOOM_FAILS(loom_source_npy(&column, 1, &source), LOOM_E_DATA);
    lengths[5] = -1;
    char *bad = save(at, "b", LOOM_I64, 1, (int64_t[]){N}, lengths);
    column.values = v;
    column.lengths = bad;
    LOOM_FAILS(loom_source_npy(&column, 1, &source), LOOM_E_DATA);
    free(v);
    free(l);
    free(shorter);
    free(bad);
    drop(at);
}

LOOM_TEST(source, mismatches_are_named) {
    char *at = folder();
    double x[4] = {0};
    char *a = save(at, "a", LOOM_F64, 1, (int64_t[]){4}, x), *b = save(at, "b", LOOM_F64, 1, (int64_t[]){3}, x);
    loom_source *source;
    loom_npy_column wrong_type = {"x", a, NULL, false, LOOM_F32, 0}, wrong_depth = {"x", a, NULL, false, LOOM_F64, 1};
    loom_npy_column two[] = {{"x", a, NULL, false, LOOM_F64, 0}, {"y", b, NULL, false, LOOM_F64, 0}};
    loom_npy_column constant = {"x", a, NULL, true, LOOM_F64, 1};
    LOOM_FAILS(loom_source_npy(&wrong_type, 1, &source), LOOM_E_DATA);
    LOOM_FAILS(loom_source_npy(&wrong_depth, 1, &source), LOOM_E_DATA);
    LOOM_FAILS(loom_source_npy(two, 2, &source), LOOM_E_DATA);
    LOOM_FAILS(loom_source_npy(&constant, 1, &source), LOOM_E_USAGE);
    LOOM_FAILS(loom_source_open("served 3", &source), LOOM_E_PROTOCOL);
    LOOM_FAILS(loom_source_open("npy1\t1\tx", &source), LOOM_E_PROTOCOL);
    LOOM_FAILS(loom_source_open("npy1\t99999999999", &source), LOOM_E_PROTOCOL);
    free(a);
    free(b);
    drop(at);
}

LOOM_TEST(source, a_file_that_changed_is_refused) {
    char *at = folder();
    double x[4] = {0};
    char *a = save(at, "a", LOOM_F64, 1, (int64_t[]){4}, x);
    loom_npy_column column = {"x", a, NULL, false, LOOM_F64, 0};
    loom_source *source, *again;
    LOOM_OK(loom_source_npy(&column, 1, &source));
    free(save(at, "a", LOOM_F64, 1, (int64_t[]){3}, x));
    LOOM_FAILS(loom_source_open(source->description, &again), LOOM_E_DATA);
    loom_source_destroy(source);
    free(a);
    drop(at);
}

/* ---- values and blocks ---- */

static loom_value *numbers(int64_t n) {
    loom_value *value;
    LOOM_OK(loom_value_create(1, &value));
    LOOM_OK(loom_leaf_init(&value->leaves[0], "", LOOM_I64, 1, &n, 1 << 20));
    for (int64_t i = 0; i < n; i++) ((int64_t *)value->leaves[0].data)[i] = i;
    return value;
}

LOOM_TEST(source, value_in_memory) {
    loom_value *value = numbers(10), *part, *constants;
    loom_source *source;
    LOOM_OK(loom_source_value(value, &source));
    loom_value_unref(value);
    LOOM_OK(loom_source_read(source, 7, 3, &part));
    LOOM_CHECK_EQ_INT(((int64_t *)part->leaves[0].data)[0], 7);
    LOOM_OK(loom_source_constants(source, 0, &constants));
    LOOM_CHECK(!constants);
    LOOM_FAILS(loom_source_read(source, 7, 4, &part), LOOM_E_PROTOCOL);
    LOOM_FAILS(loom_source_read(source, -1, 1, &part), LOOM_E_PROTOCOL);
    LOOM_FAILS(loom_source_read(source, 1, INT64_MAX, &part), LOOM_E_PROTOCOL);
    loom_value_unref(part);
    loom_source_destroy(source);
}

LOOM_TEST(source, blocks_cross_no_segment) {
    loom_value *a = numbers(10), *b = numbers(9);
    loom_source *s[2];
    LOOM_OK(loom_source_value(a, &s[0]));
    LOOM_OK(loom_source_value(a, &s[1]));
    int64_t bounds[3] = {0, 5, 10};
    free(s[1]->segment_first);
    s[1]->segment_first = malloc(sizeof bounds);
    memcpy(s[1]->segment_first, bounds, sizeof bounds);
    s[1]->n_segments = 2;
    loom_block_info *blocks;
    int64_t n;
    LOOM_OK(loom_source_blocks(s, 2, 4, &blocks, &n));
    LOOM_CHECK_EQ_INT(n, 4);
    LOOM_CHECK_EQ_INT(blocks[1].count, 1);
    LOOM_CHECK_EQ_INT(blocks[2].first, 5);
    free(blocks);
    LOOM_OK(loom_source_blocks(s + 1, 1, 100, &blocks, &n));
    LOOM_CHECK_EQ_INT(n, 2);
    LOOM_CHECK_EQ_INT(blocks[1].segment, 1);
    free(blocks);
    LOOM_FAILS(loom_source_blocks(s, 2, 0, &blocks, &n), LOOM_E_USAGE);
    loom_source_destroy(s[1]);
    LOOM_OK(loom_source_value(b, &s[1]));
    LOOM_FAILS(loom_source_blocks(s, 2, 4, &blocks, &n), LOOM_E_DATA);
    loom_source_destroy(s[0]);
    loom_source_destroy(s[1]);
    loom_value_unref(a);
    loom_value_unref(b);
}

LOOM_TEST(source, bytes_of_elements_are_those_of_the_largest) {
    loom_value *v, *none = numbers(0);
    LOOM_OK(loom_value_create(1, &v)); /* rows of 1, 1, 100 and 2 numbers: segments of none, two, one and one */
    LOOM_OK(loom_leaf_init(&v->leaves[0], "", LOOM_F64, 1, (int64_t[]){104}, UINT64_MAX));
    int64_t lengths[4] = {1, 1, 100, 2}, bounds[5] = {0, 0, 2, 3, 4};
    loom_leaf *leaf = &v->leaves[0];
    leaf->depth = 2;
    leaf->extents[0] = leaf->n_lengths[1] = 4;
    leaf->extents[1] = LOOM_IRREGULAR;
    leaf->lengths[1] = malloc(sizeof lengths);
    memcpy(leaf->lengths[1], lengths, sizeof lengths);
    loom_source *s;
    LOOM_OK(loom_source_value(v, &s));
    free(s->segment_first);
    s->segment_first = malloc(sizeof bounds);
    memcpy(s->segment_first, bounds, sizeof bounds);
    s->n_segments = 4;
    double bytes;
    LOOM_OK(loom_source_element_bytes(s, &bytes));
    LOOM_CHECK_NEAR(bytes, 808, 0);
    loom_source_destroy(s);
    LOOM_OK(loom_source_value(none, &s));
    LOOM_OK(loom_source_element_bytes(s, &bytes));
    LOOM_CHECK_NEAR(bytes, 0, 0);
    loom_source_destroy(s);
    loom_value_unref(v);
    loom_value_unref(none);
}

LOOM_TEST(source, a_part_has_its_own_numbers) {
    char *at = folder();
    double u[6] = {0, 1, 2, 3, 4, 5}, freq[2] = {10, 20};
    char *a = save(at, "u", LOOM_F64, 1, (int64_t[]){6}, u), *b = save(at, "freq", LOOM_F64, 1, (int64_t[]){2}, freq);
    loom_npy_column columns[] = {{"u", a, NULL, false, LOOM_F64, 0}, {"freq", b, NULL, true, LOOM_F64, 1}};
    loom_source *whole, *part;
    LOOM_OK(loom_source_npy(columns, 2, &whole));
    LOOM_FAILS(loom_source_part(whole, 4, 3, &part), LOOM_E_INTERNAL);
    LOOM_OK(loom_source_part(whole, 2, 3, &part));
    LOOM_CHECK_EQ_INT(part->n_elements, 3);
    loom_value *value, *constants;
    LOOM_OK(loom_source_read(part, 1, 2, &value));
    LOOM_OK(loom_source_constants(part, 0, &constants));
    LOOM_FAILS(loom_source_read(part, 2, 2, &value), LOOM_E_PROTOCOL);
    LOOM_CHECK_NEAR(((const double *)value->leaves[0].data)[0], 3.0, 0);
    LOOM_CHECK_NEAR(((const double *)constants->leaves[0].data)[1], 20.0, 0);
    loom_value_unref(value);
    loom_value_unref(constants);
    loom_source_destroy(part);
    LOOM_OK(loom_source_part(whole, 6, 0, &part)); /* nothing has a shape too */
    LOOM_CHECK_EQ_INT(part->n_segments, 1);
    loom_source_destroy(part);
    loom_source_destroy(whole);
    free(a);
    free(b);
    drop(at);
}
