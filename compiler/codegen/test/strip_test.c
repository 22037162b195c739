/* Strips against flat schedules; transforms; loops and branches; scans; errors. */
#include "builder.h"
#include "compiler/schedule/schedule.h"
#include "loom_test.h"
#include "run.h"
#include <complex.h>

enum {
    M = 4,
    N = 50
};

/* spectrum = ifft(fft(xs) * fft(xs)), then summed over the rows of each element and scaled: circular convolution. */
static machine convolution(builder *b, uint32_t force) {
    loom_axis_id n = b_chunk(b), s = b_const(b, M);
    loom_lvalue_id xs = b_column(b, 0, LOOM_C128, AXES(n, s, s));
    loom_lvalue_id f = b_made(b, LOOM_C128, "f", AXES(n, s, s)), p = b_made(b, LOOM_C128, "p", AXES(n, s, s)),
                   c = b_made(b, LOOM_C128, "c", AXES(n, s, s));
    loom_lvalue_id rows = b_made(b, LOOM_C128, "rows", AXES(n, s)), out = b_made(b, LOOM_C128, "out", AXES(n, s));
    b_fft(b, xs, f, 2, false);
    b_begin(b);
    loom_lexpr_id v = LOAD(b, f, b_axis(b, 0), b_axis(b, 1), b_axis(b, 2));
    b_compute(b, AXES(n, s, s), b_end(b, 0, NULL, RESULTS(b_prim(b, LOOM_PRIM_MUL, v, v))), 1, &p);
    b_fft(b, p, c, 2, true);
    b_begin(b);
    loom_lblock_id body = b_end(b, 0, NULL, RESULTS(LOAD(b, c, b_axis(b, 0), b_axis(b, 1), b_axis(b, 2))));
    b_reduce(b, AXES(n, s, s), 1, body, b_operator(b, LOOM_PRIM_ADD, LOOM_C128), b_neutral(b, LOOM_C128, 0), 1, &rows);
    b_begin(b);
    loom_lexpr_id r = LOAD(b, rows, b_axis(b, 0), b_axis(b, 1));
    b_compute(b, AXES(n, s), b_end(b, 0, NULL, RESULTS(b_prim(b, LOOM_PRIM_ADD, r, r))), 1, &out);
    b_output(b, LOOM_OUT_COLLECT, out, LOOM_NONE);
    b->l->force = force;
    LOOM_OK(loom_schedule(b->l));
    return m_open(b->arena, b->l);
}

static void check_convolution(uint32_t force) {
    builder b = b_open(LOOM_STAGE_TRAVERSAL);
    machine m = convolution(&b, force);
    double complex xs[N][M][M];
    for (int c = 0; c < N; c++) {
        for (int i = 0; i < M; i++) {
            for (int j = 0; j < M; j++) xs[c][i][j] = (c * 3 + i * 5 + j * j) % 7 + I * ((c + i * j) % 3);
        }
    }
    m_bind(&m, LOOM_STORE_COLUMN, 0, xs);
    m.piece = 13;
    m_run(&m, N);
    const double complex *got = m_output(&m, 0);
    for (int c = 0; c < N; c++) {
        for (int j = 0; j < M; j++) {
            double complex sum = 0;
            for (int i = 0; i < M; i++) {
                for (int a = 0; a < M; a++) {
                    for (int k = 0; k < M; k++) sum += xs[c][a][k] * xs[c][(i - a + M) % M][(j - k + M) % M];
                }
            }
            LOOM_CHECK_NEAR(cabs(got[c * M + j] - 2 * sum), 0, 1e-9 * 1000);
        }
    }
    uint32_t kernels = 0;
    for (uint32_t i = 0; i < m.plan->n_actions; i++) kernels += m.plan->actions[i].kind == LOOM_ACT_KERNEL;
    LOOM_CHECK_EQ_INT(kernels, force == LOOM_FORCE_STRIP ? 1 : 3);
    m_close(&m);
    loom_arena_destroy(b.arena);
}

LOOM_TEST(strip, convolution) {
    check_convolution(LOOM_FORCE_STRIP);
}

LOOM_TEST(strip, convolution_flat) {
    check_convolution(LOOM_FORCE_FLAT);
}

static void check_scan(loom_scan_kind kind, uint32_t position) {
    builder b = b_open(LOOM_STAGE_TRAVERSAL);
    loom_axis_id n = b_chunk(&b), s = b_const(&b, M), t = b_const(&b, 3);
    loom_lvalue_id xs = b_column(&b, 0, LOOM_F64, AXES(n, s, t)),
                   out[2] = {b_made(&b, LOOM_F64, "scan", AXES(n, s, t))};
    out[1] = position == 2 ? b_made(&b, LOOM_F64, "total", AXES(n, s)) : b_made(&b, LOOM_F64, "total", AXES(n, t));
    b_begin(&b);
    loom_lop op = loom_lifted_empty(LOOM_LO_SCAN);
    op.body = b_end(&b, 0, NULL, RESULTS(LOAD(&b, xs, b_axis(&b, 0), b_axis(&b, 1), b_axis(&b, 2))));
    op.combine = b_operator(&b, LOOM_PRIM_ADD, LOOM_F64);
    op.ne = b_neutral(&b, LOOM_F64, 0);
    op.n_axes = 3;
    op.axes = AXES(n, s, t);
    op.reduce = position;
    op.scan = kind;
    op.n_results = kind == LOOM_SCAN_TOTAL ? 2 : 1;
    op.results = out;
    loom_lifted_op(b.l, op);
    b_output(&b, LOOM_OUT_COLLECT, out[0], LOOM_NONE);
    if (kind == LOOM_SCAN_TOTAL) b_output(&b, LOOM_OUT_COLLECT, out[1], LOOM_NONE);
    machine m = m_open(b.arena, b.l);
    double in[N * M * 3];
    for (int i = 0; i < N * M * 3; i++) in[i] = (i * 7) % 13;
    m_bind(&m, LOOM_STORE_COLUMN, 0, in);
    m_run(&m, N);
    const double *got = m_output(&m, 0);
    int stride = position == 2 ? 1 : 3, length = position == 2 ? 3 : M;
    for (int i = 0; i < N * M * 3; i++) {
        int at = i / stride % length, row = i - at * stride;
        double sum = 0;
        int from = kind == LOOM_SCAN_RIGHT ? at : 0, to = kind == LOOM_SCAN_RIGHT       ? length
                                                          : kind == LOOM_SCAN_INCLUSIVE ? at + 1
                                                                                        : at;
        for (int k = from; k < to; k++) sum += in[row + k * stride];
        LOOM_CHECK_NEAR(got[i], sum, 0);
        if (kind != LOOM_SCAN_TOTAL || at + 1 < length) continue;
        const double *totals = m_output(&m, 1);
        LOOM_CHECK_NEAR(totals[position == 2 ? i / 3 : i / (M * 3) * 3 + i % 3], sum + in[i], 0);
    }
    m_close(&m);
    loom_arena_destroy(b.arena);
}

LOOM_TEST(scan, kinds) {
    for (uint32_t position = 1; position <= 2; position++) {
        check_scan(LOOM_SCAN_INCLUSIVE, position);
        check_scan(LOOM_SCAN_EXCLUSIVE, position);
        check_scan(LOOM_SCAN_RIGHT, position);
        check_scan(LOOM_SCAN_TOTAL, position);
    }
}

/* Two states that change places each turn, one of which grows, until the count is reached: fibonacci over arrays. */
LOOM_TEST(control, loop_with_count) {
    builder b = b_open(LOOM_STAGE_ARRAY);
    loom_axis_id n = b_const(&b, 3);
    loom_lvalue_id x = b_input(&b, 0, LOOM_I64, AXES(n)), y = b_input(&b, 1, LOOM_I64, AXES(n)),
                   turns = b_input(&b, 2, LOOM_I64, NO_AXES);
    loom_lvalue_id state[2] = {b_value(&b, LOOM_LV_STATE, 0, LOOM_I64, "a", AXES(n)),
                               b_value(&b, LOOM_LV_STATE, 0, LOOM_I64, "b", AXES(n))};
    loom_lvalue_id sum = b_made(&b, LOOM_I64, "sum", AXES(n)),
                   result[2] = {b_made(&b, LOOM_I64, "ra", AXES(n)), b_made(&b, LOOM_I64, "rb", AXES(n))};
    b_begin(&b);
    loom_lexpr_id i = b_axis(&b, 0);
    loom_lop add = loom_lifted_empty(LOOM_LO_COMPUTE);
    add.body = b_end(&b, 0, NULL, RESULTS(b_prim(&b, LOOM_PRIM_ADD, LOAD(&b, state[0], i), LOAD(&b, state[1], i))));
    add.n_axes = 1;
    add.axes = AXES(n);
    add.n_results = 1;
    add.results = &sum;
    add.inner = true;
    loom_lop_id first = loom_lifted_op(b.l, add);
    loom_lop loop = loom_lifted_empty(LOOM_LO_LOOP);
    loop.inner_first = first;
    loop.inner_end = first + 1;
    loop.n_args = 1;
    loop.args = &turns;
    loop.n_states = 2;
    loop.initial = (const loom_lvalue_id[]){x, y};
    loop.state = state;
    loop.next = (const loom_lvalue_id[]){state[1], sum};
    loop.n_results = 2;
    loop.results = result;
    loom_lifted_op(b.l, loop);
    b_output(&b, LOOM_OUT_VALUE, result[0], LOOM_NONE);
    b_output(&b, LOOM_OUT_VALUE, result[1], LOOM_NONE);
    machine m = m_open(b.arena, b.l);
    int64_t xs[3] = {0, 1, 5}, ys[3] = {1, 1, 2}, count = 10;
    m_bind(&m, LOOM_STORE_INPUT, 0, xs);
    m_bind(&m, LOOM_STORE_INPUT, 1, ys);
    m_bind(&m, LOOM_STORE_INPUT, 2, &count);
    m_run(&m, 1);
    for (int k = 0; k < 3; k++) {
        int64_t a = xs[k], c = ys[k];
        for (int t = 0; t < count; t++) {
            int64_t next = a + c;
            a = c;
            c = next;
        }
        LOOM_CHECK_EQ_INT(((int64_t *)m_output(&m, 0))[k], a);
        LOOM_CHECK_EQ_INT(((int64_t *)m_output(&m, 1))[k], c);
    }
    m_close(&m);
    loom_arena_destroy(b.arena);
}

/* The turns add what the loop starts with, which is made before it and nowhere else used. */
LOOM_TEST(control, loop_reads_its_start) {
    builder b = b_open(LOOM_STAGE_ARRAY);
    loom_axis_id n = b_const(&b, 3);
    loom_lvalue_id x = b_input(&b, 0, LOOM_I64, AXES(n)), turns = b_input(&b, 1, LOOM_I64, NO_AXES);
    loom_lvalue_id start = b_made(&b, LOOM_I64, "start", AXES(n)), sum = b_made(&b, LOOM_I64, "sum", AXES(n)),
                   result = b_made(&b, LOOM_I64, "result", AXES(n)),
                   state = b_value(&b, LOOM_LV_STATE, 0, LOOM_I64, "s", AXES(n));
    b_begin(&b);
    loom_lexpr_id i = b_axis(&b, 0);
    b_compute(&b, AXES(n), b_end(&b, 0, NULL, RESULTS(b_prim(&b, LOOM_PRIM_MUL, LOAD(&b, x, i), b_i64(&b, 2)))), 1,
              &start);
    b_begin(&b);
    i = b_axis(&b, 0);
    loom_lop_id first = b_compute(
        &b, AXES(n), b_end(&b, 0, NULL, RESULTS(b_prim(&b, LOOM_PRIM_ADD, LOAD(&b, state, i), LOAD(&b, start, i)))), 1,
        &sum);
    loom_lop loop = loom_lifted_empty(LOOM_LO_LOOP);
    loop.inner_first = first;
    loop.inner_end = first + 1;
    loop.n_args = 1;
    loop.args = &turns;
    loop.n_states = loop.n_results = 1;
    loop.initial = &start;
    loop.state = &state;
    loop.next = &sum;
    loop.results = &result;
    loom_lifted_op(b.l, loop);
    b_output(&b, LOOM_OUT_VALUE, result, LOOM_NONE);
    machine m = m_open(b.arena, b.l);
    int64_t xs[3] = {0, 1, 5}, count = 3;
    m_bind(&m, LOOM_STORE_INPUT, 0, xs);
    m_bind(&m, LOOM_STORE_INPUT, 1, &count);
    m_run(&m, 1);
    for (int k = 0; k < 3; k++) LOOM_CHECK_EQ_INT(((int64_t *)m_output(&m, 0))[k], 2 * xs[k] * (count + 1));
    m_close(&m);
    loom_arena_destroy(b.arena);
}

/* while x < limit { x = x * 2 }, then a branch on the result. */
LOOM_TEST(control, loop_with_test_and_branch) {
    builder b = b_open(LOOM_STAGE_ARRAY);
    loom_lvalue_id x = b_input(&b, 0, LOOM_I64, NO_AXES), limit = b_input(&b, 1, LOOM_I64, NO_AXES);
    loom_lvalue_id state = b_value(&b, LOOM_LV_STATE, 0, LOOM_I64, "x", NO_AXES),
                   test = b_made(&b, LOOM_BOOL, "test", NO_AXES);
    loom_lvalue_id twice = b_made(&b, LOOM_I64, "twice", NO_AXES), grown = b_made(&b, LOOM_I64, "grown", NO_AXES);
    loom_lvalue_id even = b_made(&b, LOOM_BOOL, "even", NO_AXES), less = b_made(&b, LOOM_I64, "less", NO_AXES),
                   result = b_made(&b, LOOM_I64, "result", NO_AXES);
    b_begin(&b);
    loom_lop_id first =
        b_compute(&b, NO_AXES,
                  b_end(&b, 0, NULL, RESULTS(b_prim(&b, LOOM_PRIM_LT, LOAD0(&b, state), LOAD0(&b, limit)))), 1, &test);
    b_begin(&b);
    b_compute(&b, NO_AXES, b_end(&b, 0, NULL, RESULTS(b_prim(&b, LOOM_PRIM_MUL, LOAD0(&b, state), b_i64(&b, 2)))), 1,
              &twice);
    loom_lop loop = loom_lifted_empty(LOOM_LO_LOOP);
    loop.inner_first = first;
    loop.inner_end = first + 2;
    loop.n_states = loop.n_results = 1;
    loop.initial = &x;
    loop.state = &state;
    loop.next = &twice;
    loop.results = &grown;
    loop.test = test;
    loom_lifted_op(b.l, loop);
    b_begin(&b);
    loom_lexpr_id high = b_prim(&b, LOOM_PRIM_GT, LOAD0(&b, grown), b_i64(&b, 100));
    b_compute(&b, NO_AXES, b_end(&b, 0, NULL, RESULTS(high)), 1, &even);
    b_begin(&b);
    first =
        b_compute(&b, NO_AXES, b_end(&b, 0, NULL, RESULTS(b_prim(&b, LOOM_PRIM_SUB, LOAD0(&b, grown), b_i64(&b, 100)))),
                  1, &less);
    loom_lop branch = loom_lifted_empty(LOOM_LO_IF);
    branch.inner_first = first;
    branch.inner_end = branch.else_first = branch.else_end = first + 1;
    branch.n_args = branch.n_results = 1;
    branch.args = &even;
    branch.results = &result;
    branch.then_results = &less;
    branch.else_results = &grown;
    loom_lifted_op(b.l, branch);
    b_output(&b, LOOM_OUT_VALUE, result, LOOM_NONE);
    machine m = m_open(b.arena, b.l);
    for (int64_t top = 1; top < 400; top += 37) {
        int64_t start = 3, expected = 3;
        while (expected < top) expected *= 2;
        m_bind(&m, LOOM_STORE_INPUT, 0, &start);
        m_bind(&m, LOOM_STORE_INPUT, 1, &top);
        m_run(&m, 1);
        LOOM_CHECK_EQ_INT(*(int64_t *)m_output(&m, 0), expected > 100 ? expected - 100 : expected);
    }
    m_close(&m);
    loom_arena_destroy(b.arena);
}

/* A checked gather: the least element's error is named, and the element, the index and the extent with it. */
LOOM_TEST(errors, index) {
    builder b = b_open(LOOM_STAGE_TRAVERSAL);
    loom_axis_id n = b_chunk(&b);
    loom_lvalue_id is = b_column(&b, 0, LOOM_I64, AXES(n)), table = b_input(&b, 0, LOOM_F32, AXES(b_const(&b, 8))),
                   out = b_made(&b, LOOM_F32, "out", AXES(n));
    loom_lsite_id site = b_site(&b, "index {a} is not below {b}");
    b_begin(&b);
    loom_lexpr_id index[] = {LOAD(&b, is, b_axis(&b, 0)), LOOM_NONE};
    b_compute(&b, AXES(n), b_end(&b, 0, NULL, RESULTS(b_load(&b, table, LOOM_LOAD_CHECKED, site, index))), 1, &out);
    b_output(&b, LOOM_OUT_COLLECT, out, LOOM_NONE);
    machine m = m_open(b.arena, b.l);
    int64_t at[100];
    float values[8] = {0, 1, 4, 9, 16, 25, 36, 49};
    for (int i = 0; i < 100; i++) at[i] = i % 8;
    m_bind(&m, LOOM_STORE_COLUMN, 0, at);
    m_bind(&m, LOOM_STORE_INPUT, 0, values);
    m_run(&m, 100);
    LOOM_CHECK(!m.error.raised);
    for (int i = 0; i < 100; i++) LOOM_CHECK_NEAR((double)((float *)m_output(&m, 0))[i], (i % 8) * (i % 8), 0);
    at[77] = -1;
    at[60] = 8;
    at[61] = 9;
    m_run(&m, 100);
    LOOM_CHECK(m.error.raised && m.error.element == 60 && m.error.a == 8 && m.error.b == 8 && m.error.site == site);
    m_close(&m);
    loom_arena_destroy(b.arena);
}
