/* The programs of WEFT.md, as stages in core. */
#include "core.h"

static uint32_t merge_prim(loom_program *p, loom_prim prim, loom_type_id t) {
    return loom_build_function(p, "merge", test_operator(p, prim, t), false, NULL);
}

/* chunk(first, xs, ys) = (fold (+) 0 (map (*) xs ys)) */
LOOM_TEST(programs, dotp) {
    test_stage s = test_begin();
    loom_program *p = s.program;
    loom_type_id f = loom_type_scalar(p, LOOM_F64), a = loom_type_array(p, f), i = loom_type_scalar(p, LOOM_I64);
    uint32_t merge = merge_prim(p, LOOM_PRIM_ADD, f);
    loom_body_id b = OPEN(p, i, a, a);
    loom_body_id times = test_operator(p, LOOM_PRIM_MUL, f);
    loom_node_id products = NB(p, MAP, a, 0, times, P(p, b, 1), P(p, b, 2)), zero = F(p, 0);
    loom_body_id plus = test_operator(p, LOOM_PRIM_ADD, f);
    loom_node_id sum = NB(p, FOLD, f, 0, plus, zero, products);
    loom_build_close(p, b, test_tuple(p, &sum, 1));
    uint32_t chunk = loom_build_function(p, "chunk", b, false, NULL);
    loom_value *args[2] = {value_f64(1, (int64_t[]){7}, NULL), value_f64(1, (int64_t[]){7}, NULL)};
    test_agree(&s, &(test_call){chunk, 0, 2, 1, args, (loom_output_kind[]){LOOM_OUT_FOLD}, &merge}, 1e-12);
    LOOM_CHECK_EQ_INT(test_count_ops(s.lifted, LOOM_LO_REDUCE), 1);
    for (int k = 0; k < 2; k++) loom_value_unref(args[k]);
    test_end(&s);
}

/* chunk(x, first, mat) = (map (\row -> fold (+) 0 (map (*) row x)) mat) */
LOOM_TEST(programs, mvm) {
    test_stage s = test_begin();
    loom_program *p = s.program;
    loom_type_id f = loom_type_scalar(p, LOOM_F64), a = loom_type_array(p, f), i = loom_type_scalar(p, LOOM_I64);
    loom_body_id b = OPEN(p, a, i, loom_type_array(p, a));
    loom_body_id row = OPEN(p, a);
    loom_body_id times = test_operator(p, LOOM_PRIM_MUL, f);
    loom_node_id products = NB(p, MAP, a, 0, times, P(p, row, 0), P(p, b, 0)), zero = F(p, 0);
    loom_body_id plus = test_operator(p, LOOM_PRIM_ADD, f);
    loom_build_close(p, row, NB(p, FOLD, f, 0, plus, zero, products));
    loom_node_id all = NB(p, MAP, a, 0, row, P(p, b, 2));
    loom_build_close(p, b, test_tuple(p, &all, 1));
    uint32_t chunk = loom_build_function(p, "chunk", b, false, NULL);
    loom_value *args[2] = {value_f64(1, (int64_t[]){70}, NULL), value_f64(2, (int64_t[]){5, 70}, NULL)};
    test_agree(&s, &(test_call){chunk, 1, 1, 1, args, (loom_output_kind[]){LOOM_OUT_COLLECT}}, 1e-12);
    LOOM_CHECK_EQ_INT(test_count_ops(s.lifted, LOOM_LO_CHECK), 1);
    for (int k = 0; k < 2; k++) loom_value_unref(args[k]);
    test_end(&s);
}

/* chunk(first, xss) = (map (\xs -> fold (+) 0 xs / f64 (length xs)) xss) */
LOOM_TEST(programs, averages) {
    test_stage s = test_begin();
    loom_program *p = s.program;
    loom_type_id f = loom_type_scalar(p, LOOM_F64), a = loom_type_array(p, f), i = loom_type_scalar(p, LOOM_I64);
    loom_body_id b = OPEN(p, i, loom_type_array(p, a));
    loom_body_id row = OPEN(p, a);
    loom_node_id zero = F(p, 0);
    loom_body_id plus = test_operator(p, LOOM_PRIM_ADD, f);
    loom_node_id sum = NB(p, FOLD, f, 0, plus, zero, P(p, row, 0));
    loom_node_id length = N(p, LENGTH, i, 0, P(p, row, 0));
    loom_node_id count = N(p, CONVERT, f, 0, length);
    loom_build_close(p, row, PRIM(p, DIV, sum, count));
    loom_node_id all = NB(p, MAP, a, 0, row, P(p, b, 1));
    loom_build_close(p, b, test_tuple(p, &all, 1));
    uint32_t chunk = loom_build_function(p, "chunk", b, false, NULL);
    loom_value *args[1] = {value_f64(2, (int64_t[]){3, 80}, NULL)};
    test_agree(&s, &(test_call){chunk, 0, 1, 1, args, (loom_output_kind[]){LOOM_OUT_COLLECT}}, 1e-12);
    loom_value_unref(args[0]);
    test_end(&s);
}

/* ---- AW-gridding with kernels of K x K in transforms of M x M ---- */

enum {
    K = 3,
    M = 8,
    G = 12
};

typedef struct aw_types {
    loom_type_id i, c, row, patch, at, places;
} aw_types;

static loom_node_id c128(loom_program *p, double re, double im) {
    return loom_build_const(p, LOOM_C128, (loom_scalar){.c = {re, im}}, NOWHERE);
}

static loom_node_id pad(loom_program *p, const aw_types *t, loom_node_id k) {
    loom_node_id row = N(p, REPLICATE, t->row, 0, I(p, M), c128(p, 0, 0));
    loom_node_id blank = N(p, REPLICATE, t->patch, 0, I(p, M), row);
    loom_body_id b = OPEN(p, t->i, t->i);
    loom_build_close(p, b, test_tuple(p, (loom_node_id[]){P(p, b, 0), P(p, b, 1)}, 2));
    return NB(p, BACKPERMUTE, t->patch, 2, b, blank, k);
}

static loom_node_id crop(loom_program *p, const aw_types *t, loom_node_id f) {
    loom_node_id k = I(p, K);
    loom_body_id b = OPEN(p, t->i, t->i);
    loom_node_id y = PRIM(p, ADD, P(p, b, 0), I(p, K / 2)), x = PRIM(p, ADD, P(p, b, 1), I(p, K / 2));
    loom_build_close(p, b, N(p, INDEX, t->c, 0, f, y, x));
    return NB(p, GENERATE, t->patch, 0, b, k, k);
}

static loom_node_id convolve(loom_program *p, const aw_types *t, loom_node_id a, loom_node_id b) {
    loom_node_id fa = N(p, FFT, t->patch, 0, pad(p, t, a)), fb = N(p, FFT, t->patch, 0, pad(p, t, b));
    loom_body_id rows = test_lifted_operator(p, LOOM_PRIM_MUL, t->c, 1);
    loom_node_id product = NB(p, MAP, t->patch, 0, rows, fa, fb);
    return crop(p, t, N(p, FFT, t->patch, 1, product));
}

/* patch v = map (map (* vis)) (convolve wkern[wbin] (convolve akern[a1] akern[a2])) */
static loom_body_id patch_body(loom_program *p, const aw_types *t, loom_type_id sample, loom_node_id akern,
                               loom_node_id wkern) {
    loom_body_id b = OPEN(p, sample);
    loom_node_id v = P(p, b, 0);
    loom_node_id w = N(p, INDEX, t->patch, 0, wkern, N(p, PROJECT, t->i, 2, v));
    loom_node_id a1 = N(p, INDEX, t->patch, 0, akern, N(p, PROJECT, t->i, 3, v));
    loom_node_id a2 = N(p, INDEX, t->patch, 0, akern, N(p, PROJECT, t->i, 4, v));
    loom_node_id vis = N(p, PROJECT, t->c, 5, v);
    loom_node_id kernel = convolve(p, t, w, convolve(p, t, a1, a2));
    loom_body_id rows = OPEN(p, t->row);
    loom_body_id one = OPEN(p, t->c);
    loom_build_close(p, one, PRIM(p, MUL, P(p, one, 0), vis));
    loom_build_close(p, rows, NB(p, MAP, t->row, 0, one, P(p, rows, 0)));
    loom_build_close(p, b, NB(p, MAP, t->patch, 0, rows, kernel));
    return b;
}

/* place v = generate (K, K) (\i j -> (y + i - K/2, x + j - K/2)) */
static loom_body_id place_body(loom_program *p, const aw_types *t, loom_type_id sample) {
    loom_body_id b = OPEN(p, sample);
    loom_node_id v = P(p, b, 0), y = N(p, PROJECT, t->i, 0, v), x = N(p, PROJECT, t->i, 1, v), k = I(p, K);
    loom_body_id g = OPEN(p, t->i, t->i);
    loom_node_id py = PRIM(p, SUB, PRIM(p, ADD, y, P(p, g, 0)), I(p, K / 2));
    loom_node_id px = PRIM(p, SUB, PRIM(p, ADD, x, P(p, g, 1)), I(p, K / 2));
    loom_build_close(p, g, test_tuple(p, (loom_node_id[]){py, px}, 2));
    loom_build_close(p, b, NB(p, GENERATE, t->places, 0, g, k, k));
    return b;
}

static uint32_t awgrid(loom_program *p, uint32_t *merge) {
    aw_types t = {.i = loom_type_scalar(p, LOOM_I64), .c = loom_type_scalar(p, LOOM_C128)};
    t.row = loom_type_array(p, t.c);
    t.patch = loom_type_array(p, t.row);
    t.at = loom_type_tuple(p, 2, (loom_type_id[]){t.i, t.i}, NULL);
    t.places = test_array(p, t.at, 2);
    loom_type_id sample = loom_type_tuple(p, 6, (loom_type_id[]){t.i, t.i, t.i, t.i, t.i, t.c}, NULL);
    loom_type_id stack = loom_type_array(p, t.patch);
    *merge = loom_build_function(p, "merge", test_lifted_operator(p, LOOM_PRIM_ADD, t.c, 2), false, NULL);
    loom_body_id b = OPEN(p, stack, stack, t.i, t.i, loom_type_array(p, sample));
    loom_node_id g = P(p, b, 2);
    loom_node_id row = N(p, REPLICATE, t.row, 0, g, c128(p, 0, 0));
    loom_node_id dest = N(p, REPLICATE, t.patch, 0, g, row);
    loom_body_id place = place_body(p, &t, sample);
    loom_node_id places = NB(p, MAP, loom_type_array(p, t.places), 0, place, P(p, b, 4));
    loom_body_id patch = patch_body(p, &t, sample, P(p, b, 0), P(p, b, 1));
    loom_node_id patches = NB(p, MAP, stack, 0, patch, P(p, b, 4));
    loom_body_id plus = test_operator(p, LOOM_PRIM_ADD, t.c);
    loom_node_id grid = NB(p, PERMUTE, t.patch, 2, plus, dest, places, patches);
    loom_build_close(p, b, test_tuple(p, &grid, 1));
    return loom_build_function(p, "chunk", b, false, NULL);
}

LOOM_TEST(programs, awgrid) {
    test_stage s = test_begin();
    uint32_t merge, chunk = awgrid(s.program, &merge);
    int64_t n = 4, size = G;
    loom_value *columns[6], *args[4];
    for (int k = 0; k < 5; k++) {
        int64_t data[4];
        for (int64_t i = 0; i < n; i++) data[i] = k < 2 ? (i * 5 + 7 * k) % (G + 2) - 1 : (i + k) % 2;
        columns[k] = value_i64(1, &n, data);
    }
    columns[5] = value_c128(1, &n, 5);
    args[0] = value_c128(3, (int64_t[]){2, K, K}, 1);
    args[1] = value_c128(3, (int64_t[]){2, K, K}, 2);
    args[2] = value_i64(0, NULL, &size);
    args[3] = value_join(columns, 6);
    test_agree(&s, &(test_call){chunk, 3, 1, 1, args, (loom_output_kind[]){LOOM_OUT_PERMUTE}, &merge}, 1e-12);
    LOOM_CHECK_EQ_INT(test_count_ops(s.lifted, LOOM_LO_PERMUTE), 1);
    LOOM_CHECK_EQ_INT(test_count_ops(s.lifted, LOOM_LO_FFT), 6);
    for (int k = 0; k < 6; k++) loom_value_unref(columns[k]);
    for (int k = 0; k < 4; k++) loom_value_unref(args[k]);
    test_end(&s);
}
