/* loom_interp_prim and loom_interp_convert at the edges of every type. */
#include "helper.h"
#include "loom_test.h"

static loom_scalar prim1(loom_prim p, loom_dtype t, loom_scalar a) {
    loom_dtype types[3] = {t, t, t};
    loom_scalar r;
    LOOM_OK(loom_interp_prim((uint16_t)p, types, (loom_scalar[]){a, a, a}, &r));
    return r;
}

static loom_scalar prim2(loom_prim p, loom_dtype t, loom_scalar a, loom_scalar b) {
    loom_dtype types[3] = {t, t, t};
    loom_scalar r;
    LOOM_OK(loom_interp_prim((uint16_t)p, types, (loom_scalar[]){a, b, b}, &r));
    return r;
}

static void fails(loom_prim p, loom_dtype t, loom_scalar a, loom_scalar b, const char *part) {
    loom_dtype types[3] = {t, t, t};
    loom_scalar r;
    loom_status *status = loom_interp_prim((uint16_t)p, types, (loom_scalar[]){a, b, b}, &r);
    LOOM_CHECK_HAS(loom_status_message(status), part);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_RUNTIME);
    loom_status_free(status);
}

#define I(x)           ((loom_scalar){.i = (x)})
#define U(x)           ((loom_scalar){.u = (x)})
#define F(x)           ((loom_scalar){.f = (x)})
#define C(x, y)        ((loom_scalar){.c = {(x), (y)}})
#define OP(p, t, a, b) prim2(LOOM_PRIM_##p, LOOM_##t, (a), (b))
#define OP1(p, t, a)   prim1(LOOM_PRIM_##p, LOOM_##t, (a))

LOOM_TEST(interp_prim, integers_wrap) {
    static const loom_dtype types[] = {LOOM_I8, LOOM_I16, LOOM_I32, LOOM_I64};
    for (int k = 0; k < 4; k++) {
        loom_dtype t = types[k];
        int64_t most = (int64_t)(UINT64_MAX >> (65 - 8 * loom_dtype_size(t))), least = -most - 1;
        LOOM_CHECK_EQ_INT(prim2(LOOM_PRIM_ADD, t, I(most), I(1)).i, least);
        LOOM_CHECK_EQ_INT(prim2(LOOM_PRIM_SUB, t, I(least), I(1)).i, most);
        LOOM_CHECK_EQ_INT(prim2(LOOM_PRIM_MUL, t, I(most), I(2)).i, -2);
        LOOM_CHECK_EQ_INT(prim1(LOOM_PRIM_NEG, t, I(least)).i, least);
        LOOM_CHECK_EQ_INT(prim1(LOOM_PRIM_ABS, t, I(least)).i, least);
        LOOM_CHECK_EQ_INT(prim2(LOOM_PRIM_FLOORDIV, t, I(least), I(-1)).i, least);
        LOOM_CHECK_EQ_INT(prim2(LOOM_PRIM_QUOT, t, I(least), I(-1)).i, least);
        LOOM_CHECK_EQ_INT(prim2(LOOM_PRIM_FLOORMOD, t, I(least), I(-1)).i, 0);
        LOOM_CHECK_EQ_INT(prim2(LOOM_PRIM_REM, t, I(least), I(-1)).i, 0);
        LOOM_CHECK_EQ_INT(prim2(LOOM_PRIM_FLOORDIV, t, I(-7), I(2)).i, -4);
        LOOM_CHECK_EQ_INT(prim2(LOOM_PRIM_FLOORMOD, t, I(-7), I(2)).i, 1);
        LOOM_CHECK_EQ_INT(prim2(LOOM_PRIM_QUOT, t, I(-7), I(2)).i, -3);
        LOOM_CHECK_EQ_INT(prim2(LOOM_PRIM_REM, t, I(-7), I(2)).i, -1);
        int64_t bits = 8 * (int64_t)loom_dtype_size(t);
        LOOM_CHECK_EQ_INT(prim2(LOOM_PRIM_SHL, t, I(1), I(bits - 1)).i, least);
        LOOM_CHECK_EQ_INT(prim2(LOOM_PRIM_SHL, t, I(1), I(bits)).i, 0);
        LOOM_CHECK_EQ_INT(prim2(LOOM_PRIM_SHR, t, I(-4), I(1)).i, -2);
        LOOM_CHECK_EQ_INT(prim2(LOOM_PRIM_SHR, t, I(-4), I(bits + 1)).i, -1);
        LOOM_CHECK_EQ_INT(prim2(LOOM_PRIM_LSHR, t, I(-1), I(bits - 1)).i, 1);
        LOOM_CHECK_EQ_INT(prim2(LOOM_PRIM_LSHR, t, I(-1), I(bits)).i, 0);
        LOOM_CHECK_EQ_INT(prim2(LOOM_PRIM_MIN, t, I(least), I(most)).i, least);
        LOOM_CHECK_EQ_INT(prim2(LOOM_PRIM_MAX, t, I(least), I(most)).i, most);
        LOOM_CHECK_EQ_INT(prim1(LOOM_PRIM_SGN, t, I(least)).i, -1);
        LOOM_CHECK_EQ_INT(prim1(LOOM_PRIM_POPC, t, I(-1)).i, bits);
        LOOM_CHECK_EQ_INT(prim1(LOOM_PRIM_CLZ, t, I(1)).i, bits - 1);
        LOOM_CHECK_EQ_INT(prim1(LOOM_PRIM_CTZ, t, I(0)).i, bits);
        LOOM_CHECK_EQ_INT(prim1(LOOM_PRIM_BNOT, t, I(0)).i, -1);
        LOOM_CHECK_EQ_INT(prim2(LOOM_PRIM_BXOR, t, I(5), I(-1)).i, -6);
        LOOM_CHECK(prim2(LOOM_PRIM_LT, t, I(least), I(most)).b);
        fails(LOOM_PRIM_FLOORDIV, t, I(1), I(0), "division by zero");
        fails(LOOM_PRIM_FLOORMOD, t, I(1), I(0), "division by zero");
        fails(LOOM_PRIM_QUOT, t, I(1), I(0), "division by zero");
        fails(LOOM_PRIM_REM, t, I(1), I(0), "division by zero");
        fails(LOOM_PRIM_SHL, t, I(1), I(-1), "negative");
        fails(LOOM_PRIM_SHR, t, I(1), I(-1), "negative");
        fails(LOOM_PRIM_LSHR, t, I(1), I(-1), "negative");
    }
}

LOOM_TEST(interp_prim, unsigned_integers) {
    static const loom_dtype types[] = {LOOM_U8, LOOM_U16, LOOM_U32, LOOM_U64};
    for (int k = 0; k < 4; k++) {
        loom_dtype t = types[k];
        uint64_t bits = 8 * loom_dtype_size(t), most = UINT64_MAX >> (64 - bits);
        LOOM_CHECK(prim2(LOOM_PRIM_ADD, t, U(most), U(1)).u == 0);
        LOOM_CHECK(prim2(LOOM_PRIM_SUB, t, U(0), U(1)).u == most);
        LOOM_CHECK(prim2(LOOM_PRIM_MUL, t, U(most), U(most)).u == 1);
        LOOM_CHECK(prim1(LOOM_PRIM_NEG, t, U(1)).u == most);
        LOOM_CHECK(prim2(LOOM_PRIM_FLOORDIV, t, U(most), U(2)).u == most / 2);
        LOOM_CHECK(prim2(LOOM_PRIM_FLOORMOD, t, U(most), U(2)).u == 1);
        LOOM_CHECK(prim2(LOOM_PRIM_MAX, t, U(most), U(1)).u == most);
        LOOM_CHECK(prim2(LOOM_PRIM_GT, t, U(most), U(1)).b);
        LOOM_CHECK(prim2(LOOM_PRIM_SHR, t, U(most), U(bits - 1)).u == 1);
        LOOM_CHECK(prim2(LOOM_PRIM_SHL, t, U(1), U(bits)).u == 0);
        LOOM_CHECK(prim2(LOOM_PRIM_SHL, t, U(3), U(bits - 1)).u == UINT64_C(1) << (bits - 1));
        LOOM_CHECK(prim1(LOOM_PRIM_BNOT, t, U(0)).u == most);
        LOOM_CHECK_EQ_INT(prim1(LOOM_PRIM_CLZ, t, U(most)).i, 0);
        fails(LOOM_PRIM_REM, t, U(1), U(0), "division by zero");
    }
}

LOOM_TEST(interp_prim, powers_of_integers) {
    LOOM_CHECK_EQ_INT(OP(POW, I32, I(3), I(4)).i, 81);
    LOOM_CHECK_EQ_INT(OP(POW, I32, I(2), I(40)).i, 0);
    LOOM_CHECK_EQ_INT(OP(POW, I8, I(-1), I(-3)).i, -1);
    LOOM_CHECK_EQ_INT(OP(POW, I64, I(7), I(-1)).i, 0);
    LOOM_CHECK_EQ_INT(OP(POW, U8, U(3), U(6)).i, 217);
}

LOOM_TEST(interp_prim, floats) {
    double inf = (double)INFINITY, not = (double)NAN;
    LOOM_CHECK(OP(MIN, F64, F(not), F(1)).f == 1 && OP(MIN, F32, F(1), F(not)).f == 1);
    LOOM_CHECK(isnan(OP(MAX, F64, F(not), F(1)).f) && isnan(OP(MAX, F32, F(1), F(not)).f));
    LOOM_CHECK(OP(DIV, F64, F(1), F(0)).f == inf && isnan(OP(DIV, F32, F(0), F(0)).f));
    LOOM_CHECK(OP(ADD, F32, F(16777216), F(1)).f == 16777216);
    LOOM_CHECK(OP(ADD, F64, F(16777216), F(1)).f == 16777217);
    LOOM_CHECK(OP(FMOD, F64, F(-5.5), F(2)).f == 0.5 && OP(FMOD, F32, F(5.5), F(-2)).f == -0.5);
    LOOM_CHECK(OP1(ROUND, F64, F(2.5)).f == 2 && OP1(ROUND, F32, F(-3.5)).f == -4);
    LOOM_CHECK(OP1(FLOOR, F64, F(-0.5)).f == -1 && OP1(CEIL, F32, F(0.5)).f == 1 && OP1(TRUNC, F64, F(-1.5)).f == -1);
    LOOM_CHECK(OP1(ABS, F32, F(-2)).f == 2 && OP1(SGN, F64, F(-3)).f == -1 && isnan(OP1(SGN, F64, F(not)).f));
    LOOM_CHECK(OP1(IS_NAN, F64, F(not)).b && !OP1(IS_NAN, F32, F(inf)).b && !OP1(IS_FINITE, F32, F(inf)).b);
    LOOM_CHECK(!OP(EQ, F64, F(not), F(not)).b && OP(NE, F64, F(not), F(not)).b && !OP(LE, F32, F(not), F(1)).b);
    LOOM_CHECK(OP(POW, F64, F(2), F(-2)).f == 0.25 && isnan(OP(POW, F32, F(-2), F(0.5)).f));
    LOOM_CHECK_NEAR(OP1(EXP, F64, F(1)).f, exp(1.0), 1e-15);
    LOOM_CHECK_NEAR(OP(ATAN2, F64, F(1), F(-1)).f, atan2(1, -1), 1e-15);
    LOOM_CHECK(OP(HYPOT, F64, F(3), F(4)).f == 5);
}

LOOM_TEST(interp_prim, fma_rounds_once) {
    loom_dtype f64s[3] = {LOOM_F64, LOOM_F64, LOOM_F64}, f32s[3] = {LOOM_F32, LOOM_F32, LOOM_F32};
    loom_scalar r;
    double e = 0x1p-30;
    LOOM_OK(loom_interp_prim(LOOM_PRIM_FMA, f64s, (loom_scalar[]){F(1 + e), F(1 - e), F(-1)}, &r));
    LOOM_CHECK(r.f == -e * e);
    e = 0x1p-13;
    LOOM_OK(loom_interp_prim(LOOM_PRIM_FMA, f32s, (loom_scalar[]){F(1 + e), F(1 - e), F(-1)}, &r));
    LOOM_CHECK(r.f == -e * e);
}

LOOM_TEST(interp_prim, complex_numbers) {
    loom_scalar r = OP(MUL, C128, C(1, 2), C(3, -1));
    LOOM_CHECK(r.c[0] == 5 && r.c[1] == 5);
    r = OP(DIV, C64, C(5, 5), C(3, -1));
    LOOM_CHECK(r.c[0] == 1 && r.c[1] == 2);
    r = OP1(CONJ, C64, C(1, 2));
    LOOM_CHECK(r.c[0] == 1 && r.c[1] == -2);
    LOOM_CHECK(OP1(RE, C128, C(1, 2)).f == 1 && OP1(IM, C64, C(1, 2)).f == 2 && OP1(CABS, C128, C(3, -4)).f == 5);
    LOOM_CHECK(OP(EQ, C64, C(1, 2), C(1, 2)).b && OP(NE, C128, C(1, 2), C(1, 3)).b);
    loom_scalar s;
    LOOM_OK(loom_interp_prim(LOOM_PRIM_SCALE, (loom_dtype[]){LOOM_F32, LOOM_C64}, (loom_scalar[]){F(2), C(1, -3)}, &s));
    LOOM_CHECK(s.c[0] == 2 && s.c[1] == -6);
    s = OP(COMPLEX, F64, F(1), F(2));
    LOOM_CHECK(s.c[0] == 1 && s.c[1] == 2);
    s = OP1(CIS, F32, F(0));
    LOOM_CHECK(s.c[0] == 1 && s.c[1] == 0);
    s = OP1(CSQRT, C128, C(-4, 0));
    LOOM_CHECK(s.c[0] == 0 && s.c[1] == 2);
    LOOM_CHECK(OP1(IS_NAN, C64, C((double)NAN, 0)).b && !OP1(IS_FINITE, C128, C(0, (double)INFINITY)).b);
}

LOOM_TEST(interp_prim, bools_and_select) {
    loom_scalar yes = {.b = true}, no = {.b = false}, r;
    LOOM_CHECK(OP(AND, BOOL, yes, yes).b && !OP(AND, BOOL, yes, no).b && OP(OR, BOOL, no, yes).b &&
               OP1(NOT, BOOL, no).b);
    LOOM_CHECK(OP(LT, BOOL, no, yes).b && OP(EQ, BOOL, no, no).b);
    LOOM_OK(loom_interp_prim(LOOM_PRIM_SELECT, (loom_dtype[]){LOOM_BOOL, LOOM_C64, LOOM_C64},
                             (loom_scalar[]){no, C(1, 2), C(3, 4)}, &r));
    LOOM_CHECK(r.c[0] == 3 && r.c[1] == 4);
}

/* Every primitive on every combination of equal types either does not apply, by the table, or has a value. */
LOOM_TEST(interp_prim, all_primitives_on_all_types) {
    int applied = 0;
    for (int p = 0; p < LOOM_PRIM_COUNT; p++) {
        for (int t = 0; t < LOOM_DTYPES; t++) {
            loom_dtype types[3] = {(loom_dtype)t, (loom_dtype)t, (loom_dtype)t};
            if (p == LOOM_PRIM_SELECT) types[0] = LOOM_BOOL;
            if (p == LOOM_PRIM_SCALE) types[0] = loom_dtype_real((loom_dtype)t);
            loom_scalar one[3], r;
            for (int i = 0; i < 3; i++) LOOM_OK(loom_interp_convert(LOOM_I32, I(1), types[i], &one[i]));
            loom_status *status = loom_interp_prim((uint16_t)p, types, one, &r);
            LOOM_CHECK((status == NULL) == (loom_prim_result((loom_prim)p, types) != LOOM_DTYPES));
            applied += status == NULL;
            loom_status_free(status);
        }
    }
    LOOM_CHECK_EQ_INT(applied, 376);
}

static loom_scalar convert(loom_dtype from, loom_scalar x, loom_dtype to) {
    loom_scalar r;
    LOOM_OK(loom_interp_convert(from, x, to, &r));
    return r;
}

LOOM_TEST(interp_convert, saturates_and_wraps) {
    double inf = (double)INFINITY, not = (double)NAN;
    LOOM_CHECK_EQ_INT(convert(LOOM_F64, F(1e30), LOOM_I32).i, INT32_MAX);
    LOOM_CHECK_EQ_INT(convert(LOOM_F64, F(-inf), LOOM_I64).i, INT64_MIN);
    LOOM_CHECK_EQ_INT(convert(LOOM_F64, F(not), LOOM_I64).i, INT64_MIN);
    LOOM_CHECK_EQ_INT(convert(LOOM_F32, F(not), LOOM_I8).i, -128);
    LOOM_CHECK_EQ_INT(convert(LOOM_F32, F(not), LOOM_U16).i, 0);
    LOOM_CHECK_EQ_INT(convert(LOOM_F64, F(-1.9), LOOM_I16).i, -1);
    LOOM_CHECK_EQ_INT(convert(LOOM_F64, F(300), LOOM_U8).i, 255);
    LOOM_CHECK_EQ_INT(convert(LOOM_I64, I(300), LOOM_U8).i, 44);
    LOOM_CHECK_EQ_INT(convert(LOOM_I32, I(-1), LOOM_I64).i, -1);
    LOOM_CHECK(convert(LOOM_I32, I(-1), LOOM_U64).u == UINT64_MAX);
    LOOM_CHECK(convert(LOOM_U64, U(UINT64_MAX), LOOM_F64).f == 0x1p64);
    LOOM_CHECK(convert(LOOM_F64, F(0.1), LOOM_F32).f == (double)0.1f);
    LOOM_CHECK(convert(LOOM_I64, I(3), LOOM_C64).c[0] == 3);
    LOOM_CHECK(convert(LOOM_C64, C(1, 2), LOOM_C128).c[1] == 2);
    LOOM_CHECK(convert(LOOM_F64, F(not), LOOM_BOOL).b && !convert(LOOM_I8, I(0), LOOM_BOOL).b);
    LOOM_CHECK_EQ_INT(convert(LOOM_BOOL, (loom_scalar){.b = true}, LOOM_I16).i, 1);
    loom_scalar r;
    loom_status *status = loom_interp_convert(LOOM_C64, C(1, 2), LOOM_F32, &r);
    LOOM_CHECK_HAS(loom_status_message(status), "no conversion");
    loom_status_free(status);
}
