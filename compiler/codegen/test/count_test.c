/* Code that counts its work: what runs, where it was put, and nothing else. */
#include "builder.h"
#include "loom_test.h"
#include "run.h"

enum {
    N = 100,
    M = 7
};

static void expect_work(const machine *m, uint64_t evaluations, uint64_t moved, uint64_t descriptors) {
    LOOM_CHECK_EQ_INT(m->work.done[LOOM_COUNTED_EVALUATIONS], evaluations);
    LOOM_CHECK_EQ_INT(m->work.done[LOOM_COUNTED_MOVED], moved);
    LOOM_CHECK_EQ_INT(m->work.done[LOOM_COUNTED_DESCRIPTORS], descriptors);
}

/* y[i, j] = exp(x[i]) * table[j]: the exponential once for each i. */
LOOM_TEST(count, what_leaves_a_loop_counts_outside) {
    builder b = b_open(LOOM_STAGE_TRAVERSAL);
    loom_axis_id n = b_chunk(&b), columns = b_const(&b, M);
    loom_lvalue_id x = b_column(&b, 0, LOOM_F64, AXES(n)), table = b_input(&b, 0, LOOM_F64, AXES(columns)),
                   y = b_made(&b, LOOM_F64, "y", AXES(n, columns));
    b_begin(&b);
    loom_lexpr_id e = b_prim(&b, LOOM_PRIM_EXP, LOAD(&b, x, b_axis(&b, 0)), LOOM_NONE);
    e = b_prim(&b, LOOM_PRIM_MUL, e, LOAD(&b, table, b_axis(&b, 1)));
    b_compute(&b, AXES(n, columns), b_end(&b, 0, NULL, RESULTS(e)), 1, &y);
    b_output(&b, LOOM_OUT_COLLECT, y, LOOM_NONE);
    machine m = m_open(b.arena, b.l);
    double *xs = aligned_alloc(64, 896), values[M] = {0};
    for (int k = 0; k < N; k++) xs[k] = 0.01 * k;
    m_bind(&m, LOOM_STORE_COLUMN, 0, xs);
    m_bind(&m, LOOM_STORE_INPUT, 0, values);
    for (m.piece = 3; m.piece < 200; m.piece += 60) {
        m_run(&m, N);
        expect_work(&m, (uint64_t)(N * loom_prim_table[LOOM_PRIM_EXP].work + N * M), (uint64_t)N * M, 0);
    }
    m_close(&m);
    free(xs);
    loom_arena_destroy(b.arena);
}

/* y[i] = if x[i] < 10 then exp(x[i]) else -x[i]: the branch that is taken. */
LOOM_TEST(count, branches_count_where_they_are_taken) {
    builder b = b_open(LOOM_STAGE_TRAVERSAL);
    loom_axis_id n = b_chunk(&b);
    loom_lvalue_id x = b_column(&b, 0, LOOM_F64, AXES(n)), y = b_made(&b, LOOM_F64, "y", AXES(n));
    b_begin(&b);
    loom_lexpr_id v = LOAD(&b, x, b_axis(&b, 0)), small = b_prim(&b, LOOM_PRIM_LT, v, b_real(&b, LOOM_F64, 10));
    loom_lexpr_id first = b.l->n_exprs, yes = b_prim(&b, LOOM_PRIM_EXP, v, LOOM_NONE);
    loom_lexpr choice = {.kind = LOOM_LX_IF, .dtype = LOOM_F64, .site = LOOM_NONE};
    choice.blocks[0] = loom_lifted_block(b.l, first, 0, NULL, 1, &yes);
    first = b.l->n_exprs;
    loom_lexpr_id no = b_prim(&b, LOOM_PRIM_NEG, v, LOOM_NONE);
    choice.blocks[1] = loom_lifted_block(b.l, first, 0, NULL, 1, &no);
    loom_lexpr_id e = loom_lifted_expr(b.l, choice, &small, 1);
    b_compute(&b, AXES(n), b_end(&b, 0, NULL, RESULTS(e)), 1, &y);
    b_output(&b, LOOM_OUT_COLLECT, y, LOOM_NONE);
    LOOM_OK(loom_lifted_check(b.l));
    machine m = m_open(b.arena, b.l);
    double *xs = aligned_alloc(64, 896);
    for (int k = 0; k < N; k++) xs[k] = k;
    m_bind(&m, LOOM_STORE_COLUMN, 0, xs);
    m_run(&m, N);
    expect_work(&m, (uint64_t)(N + 10 * loom_prim_table[LOOM_PRIM_EXP].work + 90), N, 0);
    m_close(&m);
    free(xs);
    loom_arena_destroy(b.arena);
}

/* Lengths that are made are entries of descriptors; sums of a reduction are evaluations, its results are moved. */
LOOM_TEST(count, lengths_and_reductions) {
    builder b = b_open(LOOM_STAGE_TRAVERSAL);
    loom_axis_id n = b_chunk(&b);
    loom_lvalue_id x = b_column(&b, 0, LOOM_I64, AXES(n)), lengths = b_made(&b, LOOM_I64, "lengths", AXES(n)),
                   sums = b_made(&b, LOOM_I64, "sums", AXES(n));
    b_begin(&b);
    loom_lexpr_id e = b_prim(&b, LOOM_PRIM_ADD, LOAD(&b, x, b_axis(&b, 0)), b_i64(&b, 1));
    b_compute(&b, AXES(n), b_end(&b, 0, NULL, RESULTS(e)), 1, &lengths);
    loom_axis_id rows = b_segments(&b, lengths, AXES(n));
    b_begin(&b);
    loom_lblock_id body = b_end(&b, 0, NULL, RESULTS(b_axis(&b, 1)));
    loom_lblock_id add = b_operator(&b, LOOM_PRIM_ADD, LOOM_I64);
    b_reduce(&b, AXES(n, rows), 1, body, add, b_neutral(&b, LOOM_I64, 0), 1, &sums);
    b_output(&b, LOOM_OUT_COLLECT, sums, LOOM_NONE);
    machine m = m_open(b.arena, b.l);
    int64_t *xs = aligned_alloc(64, 896), elements = 0;
    for (int k = 0; k < N; k++) elements += (xs[k] = k % 5) + 1;
    m_bind(&m, LOOM_STORE_COLUMN, 0, xs);
    m.piece = elements; /* parts of rows are joined, which counts too */
    m_run(&m, N);
    LOOM_CHECK_EQ_INT(((int64_t *)m_output(&m, 0))[4], 10);
    expect_work(&m, (uint64_t)(N + elements), N, N);
    m_close(&m);
    free(xs);
    loom_arena_destroy(b.arena);
}
