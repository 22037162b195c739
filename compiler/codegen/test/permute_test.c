/* PERMUTE: gridding with patches inside, at edges and outside; histograms; scatter; permutes that have a destination.
 */
#include "builder.h"
#include "loom_test.h"
#include "run.h"
#include <complex.h>

static loom_lop permute_op(const loom_axis_id *axes, uint32_t n_axes, loom_lblock_id body, loom_lblock_id combine,
                           uint32_t rank, const loom_axis_id *target) {
    loom_lop op = loom_lifted_empty(LOOM_LO_PERMUTE);
    op.n_axes = n_axes;
    op.axes = axes;
    op.body = body;
    op.combine = combine;
    op.rank = op.n_target_axes = rank;
    op.target_axes = target;
    return op;
}

enum {
    S = 5,
    G = 19
};

/* grid[y + i - 2, x + 2 - j] += v * k[i, j] with a column for each of y, x, v and an input k. */
static loom_lifted *gridding(builder *b) {
    loom_axis_id n = b_chunk(b), s = b_const(b, S), g = b_const(b, G);
    loom_lvalue_id y = b_column(b, 0, LOOM_I64, AXES(n)), x = b_column(b, 1, LOOM_I64, AXES(n)),
                   v = b_column(b, 2, LOOM_C64, AXES(n));
    loom_lvalue_id k = b_input(b, 0, LOOM_F32, AXES(s, s));
    b_begin(b);
    loom_lexpr_id c = b_axis(b, 0), i = b_axis(b, 1), j = b_axis(b, 2), two = b_i64(b, 2);
    loom_lexpr_id row = b_prim(b, LOOM_PRIM_SUB, b_prim(b, LOOM_PRIM_ADD, LOAD(b, y, c), i), two);
    loom_lexpr_id column = b_prim(b, LOOM_PRIM_SUB, b_prim(b, LOOM_PRIM_ADD, LOAD(b, x, c), two), j);
    loom_lexpr_id value = b_prim(b, LOOM_PRIM_SCALE, LOAD(b, k, i, j), LOAD(b, v, c));
    loom_lblock_id body = b_end(b, 0, NULL, RESULTS(row, column, value));
    loom_lblock_id add = b_operator(b, LOOM_PRIM_ADD, LOOM_C64);
    uint32_t out = b_accumulator(b, LOOM_C64, AXES(g, g), add);
    loom_lop op = permute_op(AXES(n, s, s), 3, body, add, 2, AXES(g, g));
    op.output = out;
    loom_lifted_op(b->l, op);
    return b->l;
}

LOOM_TEST(permute, gridding) {
    builder b = b_open(LOOM_STAGE_TRAVERSAL);
    machine m = m_open(b.arena, gridding(&b));
    const loom_plan_action *a = NULL;
    for (uint32_t i = 0; i < m.plan->n_actions; i++) {
        if (m.plan->actions[i].kind == LOOM_ACT_PERMUTE) a = &m.plan->actions[i];
    }
    LOOM_CHECK(a && a->rank == 2 && a->n_units == 1);
    LOOM_CHECK(a->lower[0] == 0 && a->upper[0] == S && a->lower[1] == 1 - S && a->upper[1] == 1);
    enum {
        N = 400
    };
    int64_t ys[N], xs[N];
    float complex vs[N], expected[G * G] = {0};
    float k[S * S];
    for (int i = 0; i < S * S; i++) k[i] = (float)(i % 7) - 2.5f;
    for (int c = 0; c < N; c++) {
        ys[c] = (c * 37) % 31 - 6;
        xs[c] = (c * 23) % 29 - 5;
        if (c == 7) ys[c] = INT64_MIN;
        if (c == 8) xs[c] = INT64_MAX;
        vs[c] = (float)(c % 11) - 3 + I * (float)(c % 5);
        for (int i = 0; i < S && c != 7 && c != 8; i++) {
            for (int j = 0; j < S; j++) {
                int64_t r = ys[c] + i - 2, q = xs[c] + 2 - j;
                if (r >= 0 && r < G && q >= 0 && q < G) expected[r * G + q] += vs[c] * k[i * S + j];
            }
        }
    }
    m_bind(&m, LOOM_STORE_COLUMN, 0, ys);
    m_bind(&m, LOOM_STORE_COLUMN, 1, xs);
    m_bind(&m, LOOM_STORE_COLUMN, 2, vs);
    m_bind(&m, LOOM_STORE_INPUT, 0, k);
    m_run(&m, N);
    const float complex *grid = m_output(&m, 0);
    for (int i = 0; i < G * G; i++) LOOM_CHECK_NEAR((double)cabsf(grid[i] - expected[i]), 0, 1e-3);
    m_close(&m);
    loom_arena_destroy(b.arena);
}

/* hist[key[i] % 8] += 1: the index is no sum of a base and an axis, so each point is a unit. */
LOOM_TEST(permute, histogram) {
    builder b = b_open(LOOM_STAGE_TRAVERSAL);
    loom_axis_id n = b_chunk(&b), four = b_const(&b, 4), bins = b_const(&b, 8);
    loom_lvalue_id key = b_column(&b, 0, LOOM_I64, AXES(n, four));
    b_begin(&b);
    loom_lexpr_id k = LOAD(&b, key, b_axis(&b, 0), b_axis(&b, 1));
    loom_lblock_id body = b_end(&b, 0, NULL, RESULTS(b_prim(&b, LOOM_PRIM_FLOORMOD, k, b_i64(&b, 9)), b_i64(&b, 1)));
    loom_lblock_id add = b_operator(&b, LOOM_PRIM_ADD, LOOM_I64);
    loom_lop op = permute_op(AXES(n, four), 2, body, add, 1, AXES(bins));
    op.output = b_accumulator(&b, LOOM_I64, AXES(bins), add);
    loom_lifted_op(b.l, op);
    machine m = m_open(b.arena, b.l);
    enum {
        N = 100
    };
    int64_t keys[N * 4], expected[9] = {0};
    for (int i = 0; i < N * 4; i++) {
        keys[i] = (int64_t)i * i % 23 - 9;
        expected[((keys[i] % 9) + 9) % 9]++;
    }
    m_bind(&m, LOOM_STORE_COLUMN, 0, keys);
    m_run(&m, N);
    for (int i = 0; i < 8; i++) LOOM_CHECK_EQ_INT(((int64_t *)m_output(&m, 0))[i], expected[i]);
    m_close(&m);
    loom_arena_destroy(b.arena);
}

/* An array stage: dest with rows of elements, where the last writer of a row wins; the element level is not indexed. */
LOOM_TEST(permute, scatter_rows) {
    builder b = b_open(LOOM_STAGE_ARRAY);
    loom_axis_id four = b_const(&b, 4), six = b_const(&b, 6);
    loom_lvalue_id dest = b_input(&b, 0, LOOM_F64, AXES(four, six)), places = b_input(&b, 1, LOOM_I64, AXES(six));
    loom_lvalue_id result = b_made(&b, LOOM_F64, "scattered", AXES(four, six));
    b_begin(&b);
    loom_lexpr_id i = b_axis(&b, 0), e = b_axis(&b, 1);
    loom_lexpr_id value =
        b_convert(&b, LOOM_F64, b_prim(&b, LOOM_PRIM_ADD, b_prim(&b, LOOM_PRIM_MUL, i, b_i64(&b, 10)), e));
    loom_lblock_id body = b_end(&b, 0, NULL, RESULTS(LOAD(&b, places, i), e, value));
    b_begin(&b);
    (void)b_param(&b, LOOM_F64, 0);
    loom_lblock_id last = b_end(&b, 2, (const loom_dtype[]){LOOM_F64, LOOM_F64}, RESULTS(b_param(&b, LOOM_F64, 1)));
    loom_lop op = permute_op(AXES(six, six), 2, body, last, 2, AXES(four, six));
    op.n_results = 1;
    op.results = &result;
    op.dest = &dest;
    loom_lifted_op(b.l, op);
    b_output(&b, LOOM_OUT_VALUE, result, LOOM_NONE);
    machine m = m_open(b.arena, b.l);
    double old[4 * 6];
    int64_t where[6] = {1, 3, 1, -1, 9, 3};
    for (int k = 0; k < 24; k++) old[k] = -1;
    m_bind(&m, LOOM_STORE_INPUT, 0, old);
    m_bind(&m, LOOM_STORE_INPUT, 1, where);
    m_run(&m, 1);
    const double *got = m_output(&m, 0);
    for (int r = 0; r < 4; r++) {
        for (int k = 0; k < 6; k++) LOOM_CHECK_NEAR(got[r * 6 + k], r == 1 ? 20 + k : r == 3 ? 50 + k : -1, 0);
    }
    LOOM_CHECK_NEAR(old[6], -1, 0);
    m_close(&m);
    loom_arena_destroy(b.arena);
}

/* To places that are all distinct: no pair of kernels that put points in order, but one that is divided anywhere. */
LOOM_TEST(permute, distinct_places) {
    enum {
        N = 100,
        TARGET = 60
    };
    builder b = b_open(LOOM_STAGE_ARRAY);
    loom_axis_id n = b_const(&b, N), target = b_const(&b, TARGET);
    loom_lvalue_id dest = b_input(&b, 0, LOOM_I64, AXES(target)), places = b_input(&b, 1, LOOM_I64, AXES(n));
    loom_lvalue_id result = b_made(&b, LOOM_I64, "from", AXES(target));
    b_begin(&b);
    loom_lexpr_id i = b_axis(&b, 0);
    loom_lblock_id body = b_end(&b, 0, NULL, RESULTS(LOAD(&b, places, i), i));
    b_begin(&b);
    (void)b_param(&b, LOOM_I64, 0);
    loom_lblock_id last = b_end(&b, 2, (const loom_dtype[]){LOOM_I64, LOOM_I64}, RESULTS(b_param(&b, LOOM_I64, 1)));
    loom_lop op = permute_op(AXES(n), 1, body, last, 1, AXES(target));
    op.n_results = 1;
    op.results = &result;
    op.dest = &dest;
    op.distinct = true;
    loom_lifted_op(b.l, op);
    b_output(&b, LOOM_OUT_VALUE, result, LOOM_NONE);
    LOOM_OK(loom_lifted_check(b.l));
    machine m = m_open(b.arena, b.l);
    for (uint32_t a = 0; a < m.plan->n_actions; a++) LOOM_CHECK(m.plan->actions[a].kind != LOOM_ACT_PERMUTE);
    int64_t old[TARGET], where[N];
    for (int k = 0; k < TARGET; k++) old[k] = -7;
    for (int k = 0; k < N; k++) where[k] = k % 2 ? -1 : (k / 2 * 7) % 50 + 5;
    where[98] = INT64_MAX;
    m_bind(&m, LOOM_STORE_INPUT, 0, old);
    m_bind(&m, LOOM_STORE_INPUT, 1, where);
    for (m.piece = 1; m.piece < 200; m.piece += 33) {
        int64_t expected[TARGET];
        for (int k = 0; k < TARGET; k++) expected[k] = -7;
        for (int k = 0; k < 98; k += 2) expected[where[k]] = k;
        m_run(&m, 1);
        for (int k = 0; k < TARGET; k++) LOOM_CHECK_EQ_INT(((int64_t *)m_output(&m, 0))[k], expected[k]);
        LOOM_CHECK_EQ_INT(m.work.done[LOOM_COUNTED_MOVED], 49);
    }
    m_close(&m);
    loom_arena_destroy(b.arena);
}

/* With context: a histogram of each element of the chunk. */
LOOM_TEST(permute, segmented) {
    builder b = b_open(LOOM_STAGE_TRAVERSAL);
    loom_axis_id n = b_chunk(&b), ten = b_const(&b, 10), bins = b_const(&b, 3);
    loom_lvalue_id key = b_column(&b, 0, LOOM_I64, AXES(n, ten)), zero = b_made(&b, LOOM_I64, "zero", AXES(n, bins));
    loom_lvalue_id result = b_made(&b, LOOM_I64, "hist", AXES(n, bins));
    b_begin(&b);
    loom_lblock_id zeros = b_end(&b, 0, NULL, RESULTS(b_i64(&b, 100)));
    b_compute(&b, AXES(n, bins), zeros, 1, &zero);
    b_begin(&b);
    loom_lexpr_id k = LOAD(&b, key, b_axis(&b, 0), b_axis(&b, 1));
    loom_lblock_id body = b_end(&b, 0, NULL, RESULTS(k, b_i64(&b, 1)));
    loom_lop op = permute_op(AXES(n, ten), 2, body, b_operator(&b, LOOM_PRIM_ADD, LOOM_I64), 1, AXES(n, bins));
    op.n_context = 1;
    op.n_target_axes = 2;
    op.n_results = 1;
    op.results = &result;
    op.dest = &zero;
    loom_lifted_op(b.l, op);
    b_output(&b, LOOM_OUT_COLLECT, result, LOOM_NONE);
    machine m = m_open(b.arena, b.l);
    enum {
        N = 20
    };
    int64_t keys[N * 10];
    for (int i = 0; i < N * 10; i++) keys[i] = (i * 7 + i / 10) % 5 - 1;
    m_bind(&m, LOOM_STORE_COLUMN, 0, keys);
    m_run(&m, N);
    const int64_t *got = m_output(&m, 0);
    for (int c = 0; c < N; c++) {
        int64_t expected[3] = {100, 100, 100};
        for (int i = 0; i < 10; i++) {
            int64_t at = keys[c * 10 + i];
            if (at >= 0 && at < 3) expected[at]++;
        }
        for (int h = 0; h < 3; h++) LOOM_CHECK_EQ_INT(got[c * 3 + h], expected[h]);
    }
    m_close(&m);
    loom_arena_destroy(b.arena);
}
