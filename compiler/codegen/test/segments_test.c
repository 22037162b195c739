/* Rows that differ in length: hand-built operations against loops in C, divided anywhere. */
#include "builder.h"
#include "loom_test.h"
#include "run.h"
#include <string.h>

enum {
    ROWS = 6, /* 3, 0, 9, 0, 1, 2 */
    LISTS = 15
};
static const int64_t rows_of[ROWS] = {3, 0, 9, 0, 1, 2};
static const int64_t lists_of[LISTS] = {2, 0, 1, 4, 0, 0, 0, 3, 1, 1, 20, 0, 2, 0, 5};

static loom_lvalue_id lengths_of(builder *b, uint32_t level, const loom_axis_id *axes) {
    loom_lvalue_id v = b_column(b, 0, LOOM_I64, axes);
    b->l->values[v].lengths_of = level;
    return v;
}

static void bind(machine *m, int64_t *rows, int64_t *lists, double *data) {
    for (uint32_t k = 0; k < m->plan->n_buffers; k++) {
        const loom_plan_buffer *x = &m->plan->buffers[k];
        if (x->storage == LOOM_STORE_COLUMN)
            m->data[k] = x->lengths_of == 1 ? (void *)rows : x->lengths_of ? (void *)lists : data;
    }
}

/* Of x [chunk, rows, lists]: each element with its indices; its square, where indices do not matter; sums of lists,
 * and of the sums of lists that are not empty: rows of which some are. */
LOOM_TEST(segments, levels) {
    builder b = b_open(LOOM_STAGE_TRAVERSAL);
    loom_axis_id c = b_chunk(&b);
    loom_lvalue_id rows = lengths_of(&b, 1, AXES(c));
    loom_axis_id r = b_segments(&b, rows, AXES(c));
    loom_lvalue_id lists = lengths_of(&b, 2, AXES(c, r));
    loom_axis_id s = b_segments(&b, lists, AXES(c, r));
    loom_lvalue_id x = b_column(&b, 0, LOOM_F64, AXES(c, r, s)), placed = b_made(&b, LOOM_F64, "placed", AXES(c, r, s)),
                   square = b_made(&b, LOOM_F64, "square", AXES(c, r, s)),
                   sums = b_made(&b, LOOM_F64, "sums", AXES(c, r)), most = b_made(&b, LOOM_F64, "most", AXES(c));
    b_begin(&b);
    loom_lexpr_id i = b_axis(&b, 0), j = b_axis(&b, 1), k = b_axis(&b, 2), e = LOAD(&b, x, i, j, k);
    loom_lexpr_id index = b_prim(&b, LOOM_PRIM_ADD, b_prim(&b, LOOM_PRIM_MUL, i, b_i64(&b, 10000)),
                                 b_prim(&b, LOOM_PRIM_ADD, b_prim(&b, LOOM_PRIM_MUL, j, b_i64(&b, 100)), k));
    e = b_prim(&b, LOOM_PRIM_ADD, e, b_convert(&b, LOOM_F64, index));
    b_compute(&b, AXES(c, r, s), b_end(&b, 0, NULL, RESULTS(e)), 1, &placed);
    b_begin(&b);
    i = b_axis(&b, 0), j = b_axis(&b, 1), k = b_axis(&b, 2), e = LOAD(&b, x, i, j, k);
    b_compute(&b, AXES(c, r, s), b_end(&b, 0, NULL, RESULTS(b_prim(&b, LOOM_PRIM_MUL, e, e))), 1, &square);
    b_begin(&b);
    i = b_axis(&b, 0), j = b_axis(&b, 1), k = b_axis(&b, 2);
    loom_lblock_id body = b_end(&b, 0, NULL, RESULTS(LOAD(&b, x, i, j, k)));
    b_reduce(&b, AXES(c, r, s), 2, body, b_operator(&b, LOOM_PRIM_ADD, LOOM_F64), b_neutral(&b, LOOM_F64, 0), 1, &sums);
    b_begin(&b);
    i = b_axis(&b, 0), j = b_axis(&b, 1);
    body = b_end(&b, 0, NULL, RESULTS(LOAD(&b, sums, i, j)));
    b_reduce(&b, AXES(c, r), 1, body, b_operator(&b, LOOM_PRIM_MAX, LOOM_F64), b_neutral(&b, LOOM_F64, -1), 1, &most);
    b_output(&b, LOOM_OUT_COLLECT, placed, LOOM_NONE);
    b_output(&b, LOOM_OUT_COLLECT, square, LOOM_NONE);
    b_output(&b, LOOM_OUT_COLLECT, sums, LOOM_NONE);
    b_output(&b, LOOM_OUT_COLLECT, most, LOOM_NONE);
    LOOM_OK(loom_lifted_check(b.l));
    machine m = m_open(b.arena, b.l);
    double data[64];
    int64_t all_rows[ROWS], all_lists[LISTS], n = 0;
    for (int t = 0; t < 64; t++) data[t] = t * 0.5 - 3;
    memcpy(all_rows, rows_of, sizeof rows_of);
    memcpy(all_lists, lists_of, sizeof lists_of);
    bind(&m, all_rows, all_lists, data);
    for (m.piece = 1; m.piece < 50; m.piece += 3) {
        m_run(&m, ROWS);
        LOOM_CHECK(!m.error.raised);
        const double *y = m_output(&m, 0), *z = m_output(&m, 1), *sum = m_output(&m, 2), *max = m_output(&m, 3);
        int64_t list = 0;
        n = 0;
        for (int64_t p = 0; p < ROWS; p++) {
            double largest = -1;
            for (int64_t q = 0; q < rows_of[p]; q++, list++) {
                double total = 0;
                for (int64_t t = 0; t < lists_of[list]; t++, n++) {
                    LOOM_CHECK_NEAR(y[n], data[n] + (double)(p * 10000 + q * 100 + t), 0);
                    LOOM_CHECK_NEAR(z[n], data[n] * data[n], 0);
                    total += data[n];
                }
                LOOM_CHECK_NEAR(sum[list], total, 1e-12);
                largest = total > largest ? total : largest;
            }
            LOOM_CHECK_NEAR(max[p], largest, 1e-12);
        }
        LOOM_CHECK_EQ_INT(list, LISTS);
    }
    /* Rows, and no elements. */
    memset(all_lists, 0, sizeof all_lists);
    m_run(&m, ROWS);
    for (int t = 0; t < LISTS; t++) LOOM_CHECK_NEAR(((double *)m_output(&m, 2))[t], 0, 0);
    m_close(&m);
    loom_arena_destroy(b.arena);
}

/* x[at[i], 1], in range or not: of rows that are there and long enough. */
LOOM_TEST(segments, checked_loads) {
    builder b = b_open(LOOM_STAGE_TRAVERSAL);
    loom_axis_id c = b_chunk(&b);
    loom_lvalue_id rows = lengths_of(&b, 1, AXES(c));
    loom_axis_id r = b_segments(&b, rows, AXES(c));
    loom_lvalue_id x = b_column(&b, 0, LOOM_F64, AXES(c, r)), at = b_column(&b, 1, LOOM_I64, AXES(c)),
                   checked = b_made(&b, LOOM_F64, "checked", AXES(c)), padded = b_made(&b, LOOM_F64, "padded", AXES(c));
    loom_lsite_id site = b_site(&b, "index {a} of {b}");
    for (int side = 0; side < 2; side++) {
        b_begin(&b);
        loom_lexpr_id i = b_axis(&b, 0), row = LOAD(&b, at, i), one = b_i64(&b, 1), e;
        if (side == 0) e = b_load(&b, x, LOOM_LOAD_CHECKED, site, (loom_lexpr_id[]){row, one, LOOM_NONE});
        if (side == 1)
            e = b_load(&b, x, LOOM_LOAD_DEFAULT, LOOM_NONE,
                       (loom_lexpr_id[]){row, one, b_real(&b, LOOM_F64, -7), LOOM_NONE});
        b_compute(&b, AXES(c), b_end(&b, 0, NULL, RESULTS(e)), 1, side ? &padded : &checked);
    }
    b_output(&b, LOOM_OUT_COLLECT, checked, LOOM_NONE);
    b_output(&b, LOOM_OUT_COLLECT, padded, LOOM_NONE);
    LOOM_OK(loom_lifted_check(b.l));
    machine m = m_open(b.arena, b.l);
    double data[15];
    int64_t all_rows[ROWS], places[ROWS] = {0, 2, 5, 2, 0, 5};
    for (int t = 0; t < 15; t++) data[t] = t;
    memcpy(all_rows, rows_of, sizeof rows_of);
    bind(&m, all_rows, NULL, data);
    m_bind(&m, LOOM_STORE_COLUMN, 1, places);
    m_run(&m, ROWS);
    LOOM_CHECK(!m.error.raised);
    static const double expected[] = {1, 4, 14, 4, 1, 14};
    for (int t = 0; t < ROWS; t++) LOOM_CHECK_NEAR(((double *)m_output(&m, 0))[t], expected[t], 0);
    static const int64_t wrong[] = {4, 1, -1, ROWS, INT64_MAX, INT64_MIN}, length[] = {1, 0, ROWS, ROWS, ROWS, ROWS};
    for (int t = 0; t < ROWS; t++) {
        places[3] = wrong[t];
        m_run(&m, ROWS);
        LOOM_CHECK_EQ_INT(m.error.raised, 1);
        LOOM_CHECK_EQ_INT(m.error.element, 3);
        LOOM_CHECK_EQ_INT(m.error.a, t < 2 ? 1 : wrong[t]);
        LOOM_CHECK_EQ_INT(m.error.b, length[t]);
    }
    m_close(&m);
    loom_arena_destroy(b.arena);
}
