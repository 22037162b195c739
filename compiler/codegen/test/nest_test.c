/* COMPUTE and REDUCE: hand-built operations against loops in C. */
#include "builder.h"
#include "loom_test.h"
#include "run.h"

LOOM_TEST(nest, dot_product) {
    builder b = b_open(LOOM_STAGE_TRAVERSAL);
    loom_axis_id n = b_chunk(&b);
    loom_lvalue_id x = b_column(&b, 0, LOOM_F32, AXES(n)), y = b_column(&b, 1, LOOM_F32, AXES(n)),
                   s = b_made(&b, LOOM_F32, "dot", NO_AXES);
    b_begin(&b);
    loom_lexpr_id i = b_axis(&b, 0);
    loom_lblock_id body = b_end(&b, 0, NULL, RESULTS(b_prim(&b, LOOM_PRIM_MUL, LOAD(&b, x, i), LOAD(&b, y, i))));
    loom_lblock_id add = b_operator(&b, LOOM_PRIM_ADD, LOOM_F32);
    b_reduce(&b, AXES(n), 0, body, add, b_neutral(&b, LOOM_F32, 0), 1, &s);
    b_output(&b, LOOM_OUT_FOLD, s, add);
    machine m = m_open(b.arena, b.l);
    enum {
        N = 1024
    };
    float *xs = aligned_alloc(64, N * 4), *ys = aligned_alloc(64, N * 4);
    double expected = 0;
    for (int k = 0; k < N; k++) {
        xs[k] = (float)(k % 17) - 5;
        ys[k] = (float)(k % 13);
        expected += (double)xs[k] * (double)ys[k];
    }
    m_bind(&m, LOOM_STORE_COLUMN, 0, xs);
    m_bind(&m, LOOM_STORE_COLUMN, 1, ys);
    m.piece = 300;
    m_run(&m, N);
    LOOM_CHECK_NEAR((double)*(float *)m_output(&m, 0), expected, 1e-6 * fabs(expected));
    m_run(&m, 0);
    LOOM_CHECK_NEAR((double)*(float *)m_output(&m, 0), 0, 0);
    m_close(&m);
    free(xs);
    free(ys);
    loom_arena_destroy(b.arena);
}

/* Reductions by operators that are written alike have one kernel to combine pieces; one by another operator has its
 * own. */
LOOM_TEST(nest, alike_operators_share_a_kernel) {
    enum {
        N = 100,
        SUMS = 3
    };
    builder b = b_open(LOOM_STAGE_TRAVERSAL);
    loom_axis_id n = b_chunk(&b);
    loom_lvalue_id x = b_column(&b, 0, LOOM_F64, AXES(n));
    for (int k = 0; k < SUMS; k++) {
        loom_lvalue_id s = b_made(&b, LOOM_F64, "s", NO_AXES);
        b_begin(&b);
        loom_lexpr_id i = b_axis(&b, 0), factor = b_real(&b, LOOM_F64, k + 1);
        loom_lblock_id body = b_end(&b, 0, NULL, RESULTS(b_prim(&b, LOOM_PRIM_MUL, LOAD(&b, x, i), factor)));
        loom_lblock_id join = b_operator(&b, k == 1 ? LOOM_PRIM_MAX : LOOM_PRIM_ADD, LOOM_F64);
        b_reduce(&b, AXES(n), 0, body, join, b_neutral(&b, LOOM_F64, 0), 1, &s);
        b_output(&b, LOOM_OUT_FOLD, s, join);
    }
    machine m = m_open(b.arena, b.l);
    uint32_t combine[SUMS], found = 0;
    for (uint32_t i = 0; i < m.plan->n_actions; i++) {
        if (m.plan->actions[i].kind == LOOM_ACT_REDUCE && found < SUMS) combine[found++] = m.plan->actions[i].kernel2;
    }
    LOOM_CHECK_EQ_INT(found, SUMS);
    LOOM_CHECK(combine[0] == combine[2] && combine[0] != combine[1]);
    LOOM_CHECK(m.plan->outputs[0].combine == combine[0] && m.plan->outputs[2].combine == combine[0]);
    double *xs = aligned_alloc(64, 64 * 13);
    for (int k = 0; k < N; k++) xs[k] = k;
    m_bind(&m, LOOM_STORE_COLUMN, 0, xs);
    m.piece = 30;
    m_run(&m, N);
    LOOM_CHECK_NEAR(*(double *)m_output(&m, 0), 4950, 0);
    LOOM_CHECK_NEAR(*(double *)m_output(&m, 1), 198, 0);
    LOOM_CHECK_NEAR(*(double *)m_output(&m, 2), 3 * 4950, 0);
    m_close(&m);
    free(xs);
    loom_arena_destroy(b.arena);
}

/* A kernel that is too large to be made with all effort, beside one that is not. */
LOOM_TEST(nest, a_large_body) {
    enum {
        N = 100,
        STEPS = 6000
    };
    builder b = b_open(LOOM_STAGE_TRAVERSAL);
    loom_axis_id n = b_chunk(&b);
    loom_lvalue_id x = b_column(&b, 0, LOOM_I64, AXES(n)), large = b_made(&b, LOOM_I64, "large", AXES(n)),
                   small = b_made(&b, LOOM_I64, "small", NO_AXES);
    b_begin(&b);
    loom_lexpr_id at = LOAD(&b, x, b_axis(&b, 0)), y = at;
    for (int k = 0; k < STEPS; k++)
        y = b_prim(&b, k % 2 ? LOOM_PRIM_MUL : LOOM_PRIM_SUB, y, k % 3 ? at : b_i64(&b, k | 1));
    loom_lblock_id body = b_end(&b, 0, NULL, RESULTS(y));
    b_compute(&b, AXES(n), body, 1, &large);
    b_begin(&b);
    loom_lblock_id sum = b_end(&b, 0, NULL, RESULTS(LOAD(&b, x, b_axis(&b, 0)))),
                   add = b_operator(&b, LOOM_PRIM_ADD, LOOM_I64);
    b_reduce(&b, AXES(n), 0, sum, add, b_neutral(&b, LOOM_I64, 0), 1, &small);
    b_output(&b, LOOM_OUT_COLLECT, large, LOOM_NONE);
    b_output(&b, LOOM_OUT_FOLD, small, add);
    machine m = m_open(b.arena, b.l);
    int64_t *xs = aligned_alloc(64, 64 * 13);
    for (int k = 0; k < N; k++) xs[k] = 2 * k + 1;
    m_bind(&m, LOOM_STORE_COLUMN, 0, xs);
    m_run(&m, N);
    const int64_t *got = m_output(&m, 0);
    for (int k = 0; k < N; k++) {
        uint64_t want = (uint64_t)xs[k];
        for (uint64_t s = 0; s < STEPS; s++) {
            uint64_t with = s % 3 ? (uint64_t)xs[k] : s | 1;
            want = s % 2 ? want * with : want - with;
        }
        LOOM_CHECK((uint64_t)got[k] == want);
    }
    LOOM_CHECK_EQ_INT(*(int64_t *)m_output(&m, 1), N * N);
    m_close(&m);
    free(xs);
    loom_arena_destroy(b.arena);
}

/* result[x, i] = table[i, at[x]]: read across, so it goes in tiles; sides that are no multiple of a tile's, rows
 * divided anywhere. Of errors the least row's, and in it the first, is told. */
LOOM_TEST(nest, reads_across) {
    enum {
        ROWS = 37,
        COLUMNS = 21,
        WIDTH = 50
    };
    builder b = b_open(LOOM_STAGE_TRAVERSAL);
    loom_axis_id n = b_chunk(&b), columns = b_const(&b, COLUMNS), width = b_const(&b, WIDTH);
    loom_lvalue_id at = b_column(&b, 0, LOOM_I64, AXES(n)), table = b_input(&b, 0, LOOM_F32, AXES(columns, width)),
                   out = b_made(&b, LOOM_F32, "out", AXES(n, columns));
    loom_lsite_id site = b_site(&b, "index {a} is not below {b}");
    b_begin(&b);
    loom_lexpr_id index[] = {b_axis(&b, 1), LOAD(&b, at, b_axis(&b, 0)), LOOM_NONE};
    loom_lblock_id body = b_end(&b, 0, NULL, RESULTS(b_load(&b, table, LOOM_LOAD_CHECKED, site, index)));
    b_compute(&b, AXES(n, columns), body, 1, &out);
    b_output(&b, LOOM_OUT_COLLECT, out, LOOM_NONE);
    machine m = m_open(b.arena, b.l);
    int64_t *places = aligned_alloc(64, 64 * sizeof *places);
    float *values = aligned_alloc(64, (COLUMNS * WIDTH * sizeof *values + 63) / 64 * 64);
    for (int k = 0; k < ROWS; k++) places[k] = k * 7 % WIDTH;
    for (int k = 0; k < COLUMNS * WIDTH; k++) values[k] = (float)k;
    m_bind(&m, LOOM_STORE_COLUMN, 0, places);
    m_bind(&m, LOOM_STORE_INPUT, 0, values);
    m.piece = 11;
    m_run(&m, ROWS);
    LOOM_CHECK(!m.error.raised);
    int wrong = 0;
    for (int x = 0; x < ROWS; x++) {
        for (int i = 0; i < COLUMNS; i++)
            wrong += ((float *)m_output(&m, 0))[x * COLUMNS + i] != values[i * WIDTH + places[x]];
    }
    LOOM_CHECK_EQ_INT(wrong, 0);
    places[5] = WIDTH + 3;
    places[3] = WIDTH + 1;
    m_run(&m, 0);
    LOOM_CHECK(!m.error.raised);
    m_run(&m, ROWS);
    LOOM_CHECK(m.error.raised && m.error.element == 3 && m.error.a == WIDTH + 1 && m.error.site == site);
    m_close(&m);
    free(places);
    free(values);
    loom_arena_destroy(b.arena);
}

/* result[k, x, i] = table[k, i, x] + more[at[x, i]]: tiles within a loop. Of errors of the same element the first in
 * the order of the axes is told, though another comes first tile by tile. */
LOOM_TEST(nest, tiles_inside) {
    enum {
        ROWS = 70,
        COLUMNS = 45,
        WIDTH = 9
    };
    builder b = b_open(LOOM_STAGE_TRAVERSAL);
    loom_axis_id n = b_chunk(&b), rows = b_const(&b, ROWS), columns = b_const(&b, COLUMNS), width = b_const(&b, WIDTH);
    loom_lvalue_id table = b_column(&b, 0, LOOM_F64, AXES(n, columns, rows)),
                   at = b_input(&b, 0, LOOM_I64, AXES(rows, columns)), more = b_input(&b, 1, LOOM_F64, AXES(width)),
                   out = b_made(&b, LOOM_F64, "out", AXES(n, rows, columns));
    loom_lsite_id site = b_site(&b, "index {a} is not below {b}");
    b_begin(&b);
    loom_lexpr_id k = b_axis(&b, 0), x = b_axis(&b, 1), i = b_axis(&b, 2), index[] = {LOAD(&b, at, x, i), LOOM_NONE},
                  other = b_load(&b, more, LOOM_LOAD_CHECKED, site, index);
    loom_lblock_id body = b_end(&b, 0, NULL, RESULTS(b_prim(&b, LOOM_PRIM_ADD, LOAD(&b, table, k, i, x), other)));
    b_compute(&b, AXES(n, rows, columns), body, 1, &out);
    b_output(&b, LOOM_OUT_COLLECT, out, LOOM_NONE);
    machine m = m_open(b.arena, b.l);
    enum {
        CHUNK = 3,
        POINTS = ROWS * COLUMNS
    };
    double *values = aligned_alloc(64, (CHUNK * POINTS * sizeof *values + 63) / 64 * 64);
    _Alignas(64) double others[WIDTH];
    int64_t(*places)[COLUMNS] = aligned_alloc(64, (sizeof(int64_t[ROWS][COLUMNS]) + 63) / 64 * 64);
    for (int p = 0; p < CHUNK * POINTS; p++) values[p] = p;
    for (int p = 0; p < WIDTH; p++) others[p] = p * 0.125;
    for (int p = 0; p < POINTS; p++) places[p / COLUMNS][p % COLUMNS] = p % WIDTH;
    m_bind(&m, LOOM_STORE_COLUMN, 0, values);
    m_bind(&m, LOOM_STORE_INPUT, 0, places);
    m_bind(&m, LOOM_STORE_INPUT, 1, others);
    m_run(&m, CHUNK);
    LOOM_CHECK(!m.error.raised);
    int wrong = 0;
    for (int p = 0; p < CHUNK * POINTS; p++) {
        int row = p / COLUMNS % ROWS, column = p % COLUMNS;
        double want = values[p / POINTS * POINTS + column * ROWS + row] + others[p % POINTS % WIDTH];
        wrong += ((double *)m_output(&m, 0))[p] < want || ((double *)m_output(&m, 0))[p] > want;
    }
    LOOM_CHECK_EQ_INT(wrong, 0);
    places[5][2] = WIDTH + 1;
    places[3][COLUMNS - 1] = -2;
    m_run(&m, CHUNK);
    LOOM_CHECK(m.error.raised && m.error.element == 0 && m.error.a == -2 && m.error.site == site);
    m_close(&m);
    free(values);
    free(places);
    loom_arena_destroy(b.arena);
}
