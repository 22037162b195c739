#include "common/value.h"
#include "loom_test.h"

enum {
    PLENTY = 1 << 20
};

static int64_t *copy_of(const int64_t *from, size_t n) {
    int64_t *copy = malloc((n ? n : 1) * sizeof *copy);
    if (n) memcpy(copy, from, n * sizeof *copy);
    return copy;
}

/* One column "x" of i32 counting from `first`, regular. */
static loom_value *regular(uint32_t depth, const int64_t *extents, int32_t first) {
    loom_value *v;
    LOOM_OK(loom_value_create(1, &v));
    LOOM_OK(loom_leaf_init(&v->leaves[0], "x", LOOM_I32, depth, extents, PLENTY));
    for (int64_t i = 0; i < v->leaves[0].n_data; i++) ((int32_t *)v->leaves[0].data)[i] = first + (int32_t)i;
    return v;
}

/* One column "x" of i32: n lists of the given lengths, holding 0, 1, 2, ... */
static loom_value *ragged(int64_t n, const int64_t *lengths) {
    loom_value *v;
    LOOM_OK(loom_value_create(1, &v));
    loom_leaf *leaf = &v->leaves[0];
    *leaf = (loom_leaf){.name = strdup("x"), .dtype = LOOM_I32, .depth = 2};
    leaf->extents[0] = n;
    leaf->extents[1] = LOOM_IRREGULAR;
    leaf->n_lengths[0] = 1;
    leaf->n_lengths[1] = n;
    leaf->lengths[1] = copy_of(lengths, (size_t)n);
    for (int64_t i = 0; i < n; i++) leaf->n_data += lengths[i];
    int32_t *data = malloc(((size_t)leaf->n_data + 1) * sizeof *data);
    for (int32_t i = 0; i < leaf->n_data; i++) data[i] = i;
    leaf->data = data;
    return v;
}

static int32_t at(const loom_value *v, int64_t i) {
    return ((const int32_t *)v->leaves[0].data)[i];
}

LOOM_TEST(value, bytes_of_checks_the_product) {
    uint64_t bytes = 7;
    LOOM_OK(loom_bytes_of(LOOM_C128, 0, NULL, &bytes));
    LOOM_CHECK_EQ_INT(bytes, 16);
    LOOM_OK(loom_bytes_of(LOOM_F32, 3, (int64_t[]){3, 4, 5}, &bytes));
    LOOM_CHECK_EQ_INT(bytes, 240);
    LOOM_OK(loom_bytes_of(LOOM_U8, 2, (int64_t[]){INT64_MAX, 1}, &bytes));
    LOOM_CHECK_EQ_INT(bytes, INT64_MAX);
    /* No rows: the product is 0 whatever the others are. */
    LOOM_OK(loom_bytes_of(LOOM_F64, 3, (int64_t[]){INT64_MAX, INT64_MAX, 0}, &bytes));
    LOOM_CHECK_EQ_INT(bytes, 0);
    bytes = 7;
    LOOM_FAILS(loom_bytes_of(LOOM_U16, 2, (int64_t[]){INT64_MAX, 1}, &bytes), LOOM_E_LIMIT);
    LOOM_FAILS(loom_bytes_of(LOOM_F64, 2, (int64_t[]){3037000500, 3037000500}, &bytes), LOOM_E_LIMIT);
    LOOM_FAILS(loom_bytes_of(LOOM_F64, 2, (int64_t[]){3, -1}, &bytes), LOOM_E_DATA);
    LOOM_FAILS(loom_bytes_of(LOOM_F64, 2, (int64_t[]){0, -1}, &bytes), LOOM_E_DATA);
    LOOM_FAILS(loom_bytes_of((loom_dtype)77, 0, NULL, &bytes), LOOM_E_DATA);
    LOOM_CHECK_EQ_INT(bytes, 7);
}

LOOM_TEST(value, depth_has_a_limit) {
    int64_t ones[LOOM_MAX_DEPTH + 1];
    for (int k = 0; k <= LOOM_MAX_DEPTH; k++) ones[k] = 1;
    uint64_t bytes;
    LOOM_OK(loom_bytes_of(LOOM_F64, LOOM_MAX_DEPTH, ones, &bytes));
    LOOM_FAILS(loom_bytes_of(LOOM_F64, LOOM_MAX_DEPTH + 1, ones, &bytes), LOOM_E_LIMIT);
    loom_leaf leaf = {.depth = 99};
    LOOM_FAILS(loom_leaf_init(&leaf, "x", LOOM_F64, LOOM_MAX_DEPTH + 1, ones, PLENTY), LOOM_E_LIMIT);
    LOOM_CHECK_EQ_INT(leaf.depth, 99);
    loom_value *v = regular(LOOM_MAX_DEPTH, ones, 0);
    LOOM_OK(loom_value_check(v));
    v->leaves[0].depth = LOOM_MAX_DEPTH + 1;
    LOOM_FAILS(loom_value_check(v), LOOM_E_LIMIT);
    loom_value_unref(v);
}

LOOM_TEST(value, leaf_init_zeroes_and_counts) {
    loom_value *v;
    LOOM_OK(loom_value_create(2, &v));
    LOOM_OK(loom_leaf_init(&v->leaves[0], "p.n", LOOM_F32, 2, (int64_t[]){3, 4}, 48));
    LOOM_FAILS(loom_leaf_init(&v->leaves[1], "q", LOOM_F32, 2, (int64_t[]){3, 4}, 47), LOOM_E_LIMIT);
    LOOM_OK(loom_leaf_init(&v->leaves[1], "q", LOOM_BOOL, 0, NULL, 1));
    LOOM_CHECK_EQ_INT(v->leaves[0].n_data, 12);
    LOOM_CHECK_EQ_INT(v->leaves[0].n_lengths[0], 1);
    LOOM_CHECK_EQ_INT(v->leaves[0].n_lengths[1], 3);
    for (int i = 0; i < 12; i++) LOOM_CHECK(((float *)v->leaves[0].data)[i] == 0);
    LOOM_CHECK_EQ_INT(v->leaves[1].n_data, 1);
    LOOM_OK(loom_value_check(v));
    LOOM_CHECK(loom_value_find(v, "q") == &v->leaves[1]);
    LOOM_CHECK(loom_value_find(v, "p") == NULL);
    loom_value_unref(v);
}

LOOM_TEST(value, extents_inside_nothing_are_zero) {
    loom_value *v = regular(3, (int64_t[]){2, 0, 5}, 0);
    LOOM_CHECK_EQ_INT(v->leaves[0].extents[0], 2);
    LOOM_CHECK_EQ_INT(v->leaves[0].extents[1], 0);
    LOOM_CHECK_EQ_INT(v->leaves[0].extents[2], 0);
    LOOM_OK(loom_value_check(v));
    v->leaves[0].extents[2] = 5;
    LOOM_FAILS(loom_value_check(v), LOOM_E_DATA);
    loom_value_unref(v);
}

static int released;
static void release_counting(loom_value *value) {
    (void)value;
    released++;
}

LOOM_TEST(value, references) {
    loom_value *v;
    released = 0;
    LOOM_OK(loom_value_create(1, &v));
    v->leaves[0].name = (char *)"borrowed";
    v->release = release_counting;
    LOOM_CHECK(loom_value_ref(v) == v);
    loom_value_unref(v);
    LOOM_CHECK_EQ_INT(released, 0);
    loom_value_unref(v);
    LOOM_CHECK_EQ_INT(released, 1);
    loom_value_unref(NULL);
}

/* Breaks one field of a good value at a time; each must be found. */
LOOM_TEST(value, check_finds_every_disagreement) {
    int64_t lengths[] = {2, 0, 3};
    loom_value *v = ragged(3, lengths);
    loom_leaf *leaf = &v->leaves[0], good = *leaf;
    LOOM_OK(loom_value_check(v));
    LOOM_CHECK(!loom_leaf_is_regular(leaf));

    leaf->n_data = 6;
    LOOM_FAILS(loom_value_check(v), LOOM_E_DATA);
    *leaf = good;
    leaf->extents[0] = 4;
    LOOM_FAILS(loom_value_check(v), LOOM_E_DATA);
    *leaf = good;
    leaf->extents[0] = -7;
    LOOM_FAILS(loom_value_check(v), LOOM_E_DATA);
    *leaf = good;
    leaf->n_lengths[1] = 2;
    LOOM_FAILS(loom_value_check(v), LOOM_E_DATA);
    *leaf = good;
    leaf->lengths[1] = NULL;
    LOOM_FAILS(loom_value_check(v), LOOM_E_DATA);
    *leaf = good;
    leaf->extents[1] = 2; /* regular, yet with lengths */
    LOOM_FAILS(loom_value_check(v), LOOM_E_DATA);
    *leaf = good;
    leaf->dtype = (loom_dtype)13;
    LOOM_FAILS(loom_value_check(v), LOOM_E_DATA);
    *leaf = good;
    leaf->data = NULL;
    LOOM_FAILS(loom_value_check(v), LOOM_E_DATA);
    *leaf = good;
    leaf->name = NULL;
    LOOM_FAILS(loom_value_check(v), LOOM_E_DATA);
    *leaf = good;
    leaf->lengths[1][1] = -1;
    LOOM_FAILS(loom_value_check(v), LOOM_E_DATA);
    leaf->lengths[1][0] = leaf->lengths[1][1] = INT64_MAX;
    LOOM_FAILS(loom_value_check(v), LOOM_E_LIMIT);
    loom_value_unref(v);
}

LOOM_TEST(value, check_refuses_overflowing_counts_and_odd_bools) {
    loom_value *v = regular(2, (int64_t[]){1, 1}, 0);
    v->leaves[0].extents[0] = v->leaves[0].extents[1] = (int64_t)1 << 32;
    LOOM_FAILS(loom_value_check(v), LOOM_E_LIMIT);
    v->leaves[0].extents[0] = 1;
    v->leaves[0].extents[1] = v->leaves[0].n_data = (int64_t)1 << 62;
    LOOM_FAILS(loom_value_check(v), LOOM_E_LIMIT);
    v->leaves[0].extents[1] = v->leaves[0].n_data = 1;
    v->leaves[0].dtype = LOOM_BOOL;
    *(unsigned char *)v->leaves[0].data = 2;
    LOOM_FAILS(loom_value_check(v), LOOM_E_DATA);
    loom_value_unref(v);
}

LOOM_TEST(value, slice_of_regular) {
    loom_value *v = regular(3, (int64_t[]){5, 2, 3}, 0), *s;
    LOOM_OK(loom_value_slice(v, 1, 3, &s));
    LOOM_OK(loom_value_check(s));
    LOOM_CHECK_EQ_INT(s->leaves[0].extents[0], 2);
    LOOM_CHECK_EQ_INT(s->leaves[0].extents[2], 3);
    LOOM_CHECK_EQ_INT(s->leaves[0].n_data, 12);
    for (int i = 0; i < 12; i++) LOOM_CHECK_EQ_INT(at(s, i), 6 + i);
    loom_value_unref(s);
    LOOM_OK(loom_value_slice(v, 5, 5, &s));
    LOOM_OK(loom_value_check(s));
    LOOM_CHECK_EQ_INT(s->leaves[0].n_data, 0);
    LOOM_CHECK_EQ_INT(s->leaves[0].extents[1], 0);
    loom_value_unref(s);
    LOOM_FAILS(loom_value_slice(v, 2, 6, &s), LOOM_E_INTERNAL);
    LOOM_FAILS(loom_value_slice(v, -1, 2, &s), LOOM_E_INTERNAL);
    LOOM_FAILS(loom_value_slice(v, 3, 2, &s), LOOM_E_INTERNAL);
    loom_value_unref(v);
}

LOOM_TEST(value, slice_of_irregular) {
    int64_t lengths[] = {2, 0, 3, 1};
    loom_value *v = ragged(4, lengths), *s;
    LOOM_OK(loom_value_slice(v, 1, 4, &s));
    LOOM_OK(loom_value_check(s));
    LOOM_CHECK_EQ_INT(s->leaves[0].n_data, 4);
    LOOM_CHECK_EQ_INT(s->leaves[0].lengths[1][0], 0);
    LOOM_CHECK_EQ_INT(s->leaves[0].lengths[1][1], 3);
    for (int i = 0; i < 4; i++) LOOM_CHECK_EQ_INT(at(s, i), 2 + i);
    loom_value_unref(s);
    loom_value_unref(v);
}

static void check_same(const loom_value *a, const loom_value *b) {
    for (uint32_t i = 0; i < a->n_leaves; i++) {
        const loom_leaf *x = &a->leaves[i], *y = &b->leaves[i];
        LOOM_CHECK_STR(x->name, y->name);
        LOOM_CHECK_EQ_INT(x->n_data, y->n_data);
        LOOM_CHECK(memcmp(x->data, y->data, (size_t)x->n_data * loom_dtype_size(x->dtype)) == 0);
        for (uint32_t k = 0; k < x->depth; k++) {
            LOOM_CHECK_EQ_INT(x->extents[k], y->extents[k]);
            if (x->extents[k] != LOOM_IRREGULAR) continue;
            LOOM_CHECK(memcmp(x->lengths[k], y->lengths[k], (size_t)x->n_lengths[k] * sizeof(int64_t)) == 0);
        }
    }
}

LOOM_TEST(value, a_view_is_a_slice_and_outlives_its_value) {
    int64_t lengths[] = {2, 0, 3, 1};
    for (int which = 0; which < 2; which++) {
        loom_value *v = which ? ragged(4, lengths) : regular(3, (int64_t[]){4, 2, 3}, 5), *s, *w;
        for (int64_t from = 0; from <= 4; from++) {
            for (int64_t to = from; to <= 4; to++) {
                LOOM_OK(loom_value_slice(v, from, to, &s));
                LOOM_OK(loom_value_view(v, from, to, &w));
                LOOM_OK(loom_value_check(w));
                check_same(s, w);
                loom_value_unref(s);
                loom_value_unref(w);
            }
        }
        LOOM_FAILS(loom_value_view(v, 2, 5, &w), LOOM_E_INTERNAL);
        LOOM_OK(loom_value_view(v, 2, 4, &w));
        LOOM_OK(loom_value_slice(v, 2, 4, &s));
        loom_value_unref(v);
        check_same(s, w);
        loom_value_unref(s);
        loom_value_unref(w);
    }
}

LOOM_TEST(value, scalars_are_not_sliced) {
    loom_value *v = regular(0, NULL, 3), *s;
    LOOM_FAILS(loom_value_slice(v, 0, 0, &s), LOOM_E_INTERNAL);
    LOOM_FAILS(loom_value_concat(&v, 1, &s), LOOM_E_INTERNAL);
    LOOM_FAILS(loom_value_concat(&v, 0, &s), LOOM_E_INTERNAL);
    loom_value_unref(v);
}

LOOM_TEST(value, concat_of_regular) {
    loom_value *a = regular(2, (int64_t[]){1, 3}, 0), *b = regular(2, (int64_t[]){2, 3}, 3), *j;
    loom_value *none = regular(2, (int64_t[]){0, 0}, 0);
    LOOM_OK(loom_value_concat((loom_value *[]){none, a, none, b}, 4, &j));
    LOOM_OK(loom_value_check(j));
    LOOM_CHECK(loom_leaf_is_regular(&j->leaves[0]));
    LOOM_CHECK_EQ_INT(j->leaves[0].extents[0], 3);
    LOOM_CHECK_EQ_INT(j->leaves[0].extents[1], 3);
    for (int i = 0; i < 9; i++) LOOM_CHECK_EQ_INT(at(j, i), i);
    loom_value_unref(j);
    loom_value_unref(a);
    loom_value_unref(b);
    loom_value_unref(none);
}

LOOM_TEST(value, concat_becomes_irregular) {
    loom_value *a = regular(2, (int64_t[]){2, 2}, 0), *b = regular(2, (int64_t[]){1, 3}, 4), *j;
    LOOM_OK(loom_value_concat((loom_value *[]){a, b}, 2, &j));
    LOOM_OK(loom_value_check(j));
    LOOM_CHECK_EQ_INT(j->leaves[0].extents[1], LOOM_IRREGULAR);
    LOOM_CHECK_EQ_INT(j->leaves[0].n_lengths[1], 3);
    LOOM_CHECK_EQ_INT(j->leaves[0].lengths[1][1], 2);
    LOOM_CHECK_EQ_INT(j->leaves[0].lengths[1][2], 3);
    for (int i = 0; i < 7; i++) LOOM_CHECK_EQ_INT(at(j, i), i);
    loom_value_unref(j);
    loom_value_unref(a);
    loom_value_unref(b);
}

/* Three levels, the middle one ragged in one part only: the innermost stays regular. */
LOOM_TEST(value, concat_keeps_inner_levels_regular) {
    loom_value *a = regular(3, (int64_t[]){1, 2, 2}, 0), *b = regular(3, (int64_t[]){1, 1, 2}, 4), *j, *s;
    LOOM_OK(loom_value_concat((loom_value *[]){a, b}, 2, &j));
    LOOM_OK(loom_value_check(j));
    LOOM_CHECK_EQ_INT(j->leaves[0].extents[1], LOOM_IRREGULAR);
    LOOM_CHECK_EQ_INT(j->leaves[0].extents[2], 2);
    LOOM_OK(loom_value_slice(j, 1, 2, &s));
    LOOM_OK(loom_value_check(s));
    LOOM_CHECK_EQ_INT(s->leaves[0].n_data, 2);
    LOOM_CHECK_EQ_INT(at(s, 0), 4);
    loom_value_unref(s);
    loom_value_unref(j);
    loom_value_unref(a);
    loom_value_unref(b);
}

/* Cutting anywhere and joining again gives the value back. */
LOOM_TEST(value, concat_undoes_slice) {
    int64_t lengths[] = {2, 0, 3, 1, 5};
    loom_value *v = ragged(5, lengths);
    for (int64_t cut = 0; cut <= 5; cut++) {
        loom_value *a, *b, *j;
        LOOM_OK(loom_value_slice(v, 0, cut, &a));
        LOOM_OK(loom_value_slice(v, cut, 5, &b));
        LOOM_OK(loom_value_concat((loom_value *[]){a, b}, 2, &j));
        LOOM_OK(loom_value_check(j));
        LOOM_CHECK_EQ_INT(j->leaves[0].n_data, 11);
        for (int i = 0; i < 11; i++) LOOM_CHECK_EQ_INT(at(j, i), i);
        for (int i = 0; i < 5; i++) LOOM_CHECK_EQ_INT(j->leaves[0].lengths[1][i], lengths[i]);
        loom_value_unref(a);
        loom_value_unref(b);
        loom_value_unref(j);
    }
    loom_value_unref(v);
}

LOOM_TEST(value, concat_wants_the_same_columns) {
    loom_value *a = regular(1, (int64_t[]){2}, 0), *b = regular(2, (int64_t[]){2, 1}, 0), *j;
    LOOM_FAILS(loom_value_concat((loom_value *[]){a, b}, 2, &j), LOOM_E_INTERNAL);
    loom_value_unref(b);
    b = regular(1, (int64_t[]){2}, 0);
    b->leaves[0].name[0] = 'y';
    LOOM_FAILS(loom_value_concat((loom_value *[]){a, b}, 2, &j), LOOM_E_INTERNAL);
    loom_value_unref(a);
    loom_value_unref(b);
}

/* Row i of the gathered value is row rows[i] of the other, whatever its levels are. */
static void check_gathered(const loom_value *v, const int64_t *rows, int64_t n) {
    loom_value *g;
    LOOM_OK(loom_value_gather(v, rows, n, &g));
    LOOM_OK(loom_value_check(g));
    for (int64_t i = 0; i < n; i++) {
        loom_value *a, *b;
        LOOM_OK(loom_value_slice(v, rows[i], rows[i] + 1, &a));
        LOOM_OK(loom_value_slice(g, i, i + 1, &b));
        LOOM_CHECK_EQ_INT(a->leaves[0].n_data, b->leaves[0].n_data);
        for (int64_t k = 0; k < a->leaves[0].n_data; k++) LOOM_CHECK_EQ_INT(at(a, k), at(b, k));
        for (uint32_t k = 1; k < v->leaves[0].depth; k++) {
            LOOM_CHECK_EQ_INT(a->leaves[0].extents[k], b->leaves[0].extents[k]);
            for (int64_t l = 0; a->leaves[0].lengths[k] && l < a->leaves[0].n_lengths[k]; l++)
                LOOM_CHECK_EQ_INT(a->leaves[0].lengths[k][l], b->leaves[0].lengths[k][l]);
        }
        loom_value_unref(a);
        loom_value_unref(b);
    }
    loom_value_unref(g);
}

/* [5][2][irregular]. */
static loom_value *ragged_inside(void) {
    const int64_t lengths[10] = {1, 0, 2, 2, 0, 0, 3, 1, 0, 4};
    loom_value *v = ragged(10, lengths);
    loom_leaf *leaf = &v->leaves[0];
    leaf->depth = 3;
    leaf->extents[0] = 5;
    leaf->extents[1] = 2;
    leaf->extents[2] = LOOM_IRREGULAR;
    leaf->lengths[2] = leaf->lengths[1];
    leaf->lengths[1] = NULL;
    leaf->n_lengths[1] = 5;
    leaf->n_lengths[2] = 10;
    return v;
}

LOOM_TEST(value, gather_takes_rows_in_any_order) {
    static const int64_t rows[] = {4, 0, 1, 2, 2, 2, 3, 0};
    int64_t lengths[] = {2, 0, 3, 1, 5};
    loom_value *values[] = {regular(1, (int64_t[]){5}, 3), regular(3, (int64_t[]){5, 2, 3}, 3), ragged(5, lengths),
                            ragged_inside(), regular(2, (int64_t[]){5, 0}, 0)};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        for (int64_t n = 0; n <= 8; n++) check_gathered(values[i], rows, n);
        loom_value *g;
        LOOM_FAILS(loom_value_gather(values[i], (int64_t[]){0, 5}, 2, &g), LOOM_E_INTERNAL);
        LOOM_FAILS(loom_value_gather(values[i], (int64_t[]){-1}, 1, &g), LOOM_E_INTERNAL);
        loom_value_unref(values[i]);
    }
    loom_value *scalar = regular(0, NULL, 1), *g;
    LOOM_FAILS(loom_value_gather(scalar, rows, 1, &g), LOOM_E_INTERNAL);
    loom_value_unref(scalar);
}
