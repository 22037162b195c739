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
