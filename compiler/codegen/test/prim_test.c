/* Every scalar primitive and every conversion on pairs of awkward values: generated code against the interpreter, bit
 * by bit (any NaN is as good as another). */
#include "builder.h"
#include "compiler/interp/interp.h"
#include "loom_test.h"
#include "run.h"

enum {
    MOST = 40
};

static uint32_t awkward(loom_dtype t, loom_scalar *to) {
    static const double reals[] = {
        0,     -0.0,  1,          -1,       0.5, -0.5, 1.5,          2.5,           -2.5,      3,     -7,
        0.1,   1e-3,  -1e-3,      100,      1e6, -1e6, 2147483648.0, -2147483649.0, 1e19,      -1e19, 1e30,
        1e-30, 1e-40, 3.14159265, 0.785398, 700, -700, 90,           INFINITY,      -INFINITY, NAN};
    static const int64_t integers[] = {0,
                                       1,
                                       -1,
                                       2,
                                       -2,
                                       3,
                                       7,
                                       -7,
                                       8,
                                       31,
                                       32,
                                       63,
                                       64,
                                       127,
                                       128,
                                       -128,
                                       255,
                                       256,
                                       32767,
                                       -32768,
                                       65535,
                                       2147483647,
                                       -2147483648ll,
                                       INT64_MAX,
                                       INT64_MIN};
    uint32_t n = 0;
    if (t == LOOM_BOOL) {
        to[n++] = (loom_scalar){.u = 0};
        to[n++] = (loom_scalar){.u = 1};
    } else if (loom_dtype_is_integer(t)) {
        for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
            char bytes[16];
            loom_scalar_store(t, (loom_scalar){.i = integers[i]}, bytes);
            to[n++] = loom_scalar_load(t, bytes);
        }
    } else if (loom_dtype_is_float(t)) {
        for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
            to[n++] = (loom_scalar){.f = t == LOOM_F32 ? (double)(float)reals[i] : reals[i]};
    } else {
        for (int i = 0; i < MOST; i++) {
            double re = reals[i * 5 % 28], im = reals[i * 3 % 28];
            to[n++] = t == LOOM_C64 ? (loom_scalar){.c = {(double)(float)re, (double)(float)im}}
                                    : (loom_scalar){.c = {re, im}};
        }
    }
    return n;
}

static bool same_real(double a, double b) {
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static bool same(loom_dtype t, loom_scalar a, loom_scalar b) {
    if (t == LOOM_BOOL) return a.b == b.b;
    if (loom_dtype_is_integer(t)) return a.u == b.u;
    if (loom_dtype_is_float(t)) return same_real(a.f, b.f);
    return same_real(a.c[0], b.c[0]) && same_real(a.c[1], b.c[1]);
}

typedef struct one {
    loom_prim prim; /* LOOM_PRIM_COUNT: a conversion */
    loom_dtype types[3], result;
} one;

typedef struct suite {
    builder b;
    loom_axis_id n;
    one tests[160];
    uint32_t count;
    loom_lvalue_id column[3];
    loom_dtype dtype[3];
    uint32_t n_columns;
} suite;

static void add_test(suite *s, one t, uint32_t arity, const uint32_t *columns) {
    builder *b = &s->b;
    loom_lvalue_id out = b_made(b, t.result, "out", AXES(s->n));
    b_begin(b);
    loom_lexpr_id i = b_axis(b, 0), args[3];
    for (uint32_t k = 0; k < arity; k++) args[k] = LOAD(b, s->column[columns[k]], i);
    loom_lexpr e = {.kind = t.prim == LOOM_PRIM_COUNT ? LOOM_LX_CONVERT : LOOM_LX_PRIM,
                    .prim = (uint16_t)t.prim,
                    .dtype = t.result,
                    .site = LOOM_NONE};
    loom_lexpr_id r = loom_lifted_expr(b->l, e, args, arity);
    b_compute(b, AXES(s->n), b_end(b, 0, NULL, RESULTS(r)), 1, &out);
    b_output(b, LOOM_OUT_COLLECT, out, LOOM_NONE);
    s->tests[s->count++] = t;
}

/* Tests of all primitives on (t, t, t), and where the first operand has another type on (first, t, t). */
static void add_prims(suite *s, loom_dtype first) {
    loom_dtype t = s->dtype[1], types[3] = {first, t, t};
    uint32_t columns[3] = {first == t ? 1 : 0, 2, 1};
    for (int p = 0; p < LOOM_PRIM_COUNT; p++) {
        bool mixed = p == LOOM_PRIM_SELECT || p == LOOM_PRIM_SCALE;
        if (mixed != (first != t)) continue;
        loom_dtype result = loom_prim_result((loom_prim)p, types);
        if (result == LOOM_DTYPES) continue;
        add_test(s, (one){.prim = (loom_prim)p, .types = {types[0], types[1], types[2]}, .result = result},
                 (uint32_t)loom_prim_table[p].arity, columns);
    }
}

static void run_suite(suite *s) {
    loom_scalar values[3][MOST];
    uint32_t n[3];
    for (int k = 0; k < 3; k++) n[k] = awkward(s->dtype[k], values[k]);
    int64_t total = (int64_t)n[1] * n[2];
    void *data[3];
    machine m = m_open(s->b.arena, s->b.l);
    for (uint32_t k = 0; k < 3; k++) {
        size_t size = loom_dtype_size(s->dtype[k]);
        data[k] = calloc((size_t)total + 8, size);
        for (int64_t i = 0; i < total; i++) {
            int64_t at = k == 0 ? i * 7 % n[0] : k == 1 ? i % n[1] : i / n[1];
            loom_scalar_store(s->dtype[k], values[k][at], (char *)data[k] + (size_t)i * size);
        }
        m_bind(&m, LOOM_STORE_COLUMN, k, data[k]);
    }
    m.piece = 1000000;
    m_run(&m, total);
    for (uint32_t t = 0; t < s->count; t++) {
        const one *test = &s->tests[t];
        for (int64_t i = 0; i < total; i++) {
            loom_scalar in[3], expected,
                got =
                    loom_scalar_load(test->result, (char *)m_output(&m, t) + (size_t)i * loom_dtype_size(test->result));
            bool first_is_other = test->types[0] != test->types[1];
            for (uint32_t k = 0; k < 3; k++) {
                uint32_t c = k == 0 ? (first_is_other ? 0 : 1) : k == 1 ? 2 : 1;
                in[k] = loom_scalar_load(s->dtype[c], (char *)data[c] + (size_t)i * loom_dtype_size(s->dtype[c]));
            }
            loom_status *status = test->prim == LOOM_PRIM_COUNT
                                      ? loom_interp_convert(test->types[0], in[0], test->result, &expected)
                                      : loom_interp_prim((uint16_t)test->prim, test->types, in, &expected);
            if (status) {
                loom_status_free(status);
                continue;
            }
            if (!same(test->result, got, expected)) {
                loom_test_fail(__FILE__, __LINE__,
                               "%s of %s (%a %a, %lld; %a %a, %lld): got %a %a, %lld, expected %a %a, %lld",
                               test->prim == LOOM_PRIM_COUNT ? "conversion" : loom_prim_table[test->prim].name,
                               loom_dtype_name(test->types[1]), in[0].c[0], in[0].c[1], (long long)in[0].i, in[1].c[0],
                               in[1].c[1], (long long)in[1].i, got.c[0], got.c[1], (long long)got.i, expected.c[0],
                               expected.c[1], (long long)expected.i);
            }
        }
    }
    m_close(&m);
    for (int k = 0; k < 3; k++) free(data[k]);
}

static void open_suite(suite *s, loom_dtype first, loom_dtype t) {
    *s = (suite){.b = b_open(LOOM_STAGE_TRAVERSAL), .dtype = {first, t, t}};
    s->n = b_chunk(&s->b);
    for (uint32_t k = 0; k < 3; k++) s->column[k] = b_column(&s->b, k, s->dtype[k], AXES(s->n));
}

LOOM_TEST(prims, alike) {
    for (loom_dtype t = LOOM_BOOL; t < LOOM_DTYPES; t++) {
        suite s;
        open_suite(&s, LOOM_BOOL, t);
        add_prims(&s, t);
        if (t != LOOM_BOOL) add_prims(&s, LOOM_BOOL); /* SELECT */
        run_suite(&s);
        loom_arena_destroy(s.b.arena);
    }
}

LOOM_TEST(prims, scale) {
    for (int wide = 0; wide < 2; wide++) {
        suite s;
        open_suite(&s, wide ? LOOM_F64 : LOOM_F32, wide ? LOOM_C128 : LOOM_C64);
        add_prims(&s, s.dtype[0]);
        LOOM_CHECK_EQ_INT(s.count, 1);
        run_suite(&s);
        loom_arena_destroy(s.b.arena);
    }
}

LOOM_TEST(prims, conversions) {
    for (loom_dtype t = LOOM_BOOL; t < LOOM_DTYPES; t++) {
        suite s;
        open_suite(&s, LOOM_BOOL, t);
        for (loom_dtype to = LOOM_BOOL; to < LOOM_DTYPES; to++) {
            if (loom_dtype_is_complex(t) && !loom_dtype_is_complex(to)) continue;
            add_test(&s, (one){.prim = LOOM_PRIM_COUNT, .types = {t, t, t}, .result = to}, 1, (const uint32_t[]){1});
        }
        run_suite(&s);
        loom_arena_destroy(s.b.arena);
    }
}
