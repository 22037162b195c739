/* Scalar primitives and conversions as loops over plain arrays: what a strip runs, and, with n = 1, what a scalar runs.
 * The functions themselves are those of loom_math. */
#include "compiler/interp/math/loom_math.h"
#include "eval.h"
#include <string.h>

typedef struct c64 {
    float re, im;
} c64;
typedef struct c128 {
    double re, im;
} c128;

#define OPS     const void *pa, const void *pb, const void *pc
#define UNUSED3 (void)pa, (void)pb, (void)pc

/* K1, K2, K3: kernels of one, two, three operands; x, y, z are the operands' elements. */
#define K1(NAME, R, A, E)                                                                                              \
    static void k_##NAME(size_t n, void *out, OPS) {                                                                   \
        UNUSED3;                                                                                                       \
        R *o = out;                                                                                                    \
        const A *a = pa;                                                                                               \
        for (size_t i = 0; i < n; i++) {                                                                               \
            A x = a[i];                                                                                                \
            o[i] = (E);                                                                                                \
        }                                                                                                              \
    }
#define K2(NAME, R, A, B, E)                                                                                           \
    static void k_##NAME(size_t n, void *out, OPS) {                                                                   \
        UNUSED3;                                                                                                       \
        R *o = out;                                                                                                    \
        const A *a = pa;                                                                                               \
        const B *b = pb;                                                                                               \
        for (size_t i = 0; i < n; i++) {                                                                               \
            A x = a[i];                                                                                                \
            B y = b[i];                                                                                                \
            o[i] = (E);                                                                                                \
        }                                                                                                              \
    }
#define K3(NAME, R, A, B, C, E)                                                                                        \
    static void k_##NAME(size_t n, void *out, OPS) {                                                                   \
        UNUSED3;                                                                                                       \
        R *o = out;                                                                                                    \
        const A *a = pa;                                                                                               \
        const B *b = pb;                                                                                               \
        const C *c = pc;                                                                                               \
        for (size_t i = 0; i < n; i++) {                                                                               \
            A x = a[i];                                                                                                \
            B y = b[i];                                                                                                \
            C z = c[i];                                                                                                \
            o[i] = (E);                                                                                                \
        }                                                                                                              \
    }

/* ---- integers; sums and products are formed in 64 bits, so that they wrap ---- */

#define INTEGER(T, N)                                                                                                  \
    K2(add_##N, T, T, T, (T)((uint64_t)x + (uint64_t)y))                                                               \
    K2(sub_##N, T, T, T, (T)((uint64_t)x - (uint64_t)y))                                                               \
    K2(mul_##N, T, T, T, (T)((uint64_t)x * (uint64_t)y))                                                               \
    K2(floordiv_##N, T, T, T, loom_math_floordiv_##N(x, y))                                                            \
    K2(floormod_##N, T, T, T, loom_math_floormod_##N(x, y))                                                            \
    K2(quot_##N, T, T, T, loom_math_quot_##N(x, y))                                                                    \
    K2(rem_##N, T, T, T, loom_math_rem_##N(x, y))                                                                      \
    K2(pow_##N, T, T, T, loom_math_pow_##N(x, y))                                                                      \
    K1(neg_##N, T, T, (T)(0 - (uint64_t)x))                                                                            \
    K1(abs_##N, T, T, loom_math_abs_##N(x))                                                                            \
    K1(sgn_##N, T, T, loom_math_sgn_##N(x))                                                                            \
    K2(min_##N, T, T, T, x < y ? x : y)                                                                                \
    K2(max_##N, T, T, T, x > y ? x : y)                                                                                \
    K2(band_##N, T, T, T, (T)(x & y))                                                                                  \
    K2(bor_##N, T, T, T, (T)(x | y))                                                                                   \
    K2(bxor_##N, T, T, T, (T)(x ^ y))                                                                                  \
    K1(bnot_##N, T, T, (T)~x)                                                                                          \
    K2(shl_##N, T, T, T, loom_math_shl_##N(x, y))                                                                      \
    K2(shr_##N, T, T, T, loom_math_shr_##N(x, y))                                                                      \
    K2(lshr_##N, T, T, T, loom_math_lshr_##N(x, y))                                                                    \
    K1(popc_##N, int32_t, T, loom_math_popc_##N(x))                                                                    \
    K1(clz_##N, int32_t, T, loom_math_clz_##N(x))                                                                      \
    K1(ctz_##N, int32_t, T, loom_math_ctz_##N(x))

/* ---- floats ---- */

#define M1(P, T, N) K1(P##_##N, T, T, loom_math_##P##_##N(x))
#define M2(P, T, N) K2(P##_##N, T, T, T, loom_math_##P##_##N(x, y))
#define FLOATING(T, N)                                                                                                 \
    K2(add_##N, T, T, T, x + y)                                                                                        \
    K2(sub_##N, T, T, T, x - y)                                                                                        \
    K2(mul_##N, T, T, T, x *y)                                                                                         \
    K2(div_##N, T, T, T, x / y)                                                                                        \
    K1(neg_##N, T, T, -x)                                                                                              \
    K3(fma_##N, T, T, T, T, loom_math_fma_##N(x, y, z))                                                                \
    K1(is_nan_##N, bool, T, loom_math_is_nan_##N(x))                                                                   \
    K1(is_finite_##N, bool, T, loom_math_is_finite_##N(x))                                                             \
    M2(fmod, T, N)                                                                                                     \
    M2(pow, T, N)                                                                                                      \
    M2(min, T, N)                                                                                                      \
    M2(max, T, N)                                                                                                      \
    M2(atan2, T, N)                                                                                                    \
    M2(hypot, T, N)                                                                                                    \
    M1(abs, T, N)                                                                                                      \
    M1(sgn, T, N)                                                                                                      \
    M1(sin, T, N)                                                                                                      \
    M1(cos, T, N)                                                                                                      \
    M1(tan, T, N)                                                                                                      \
    M1(asin, T, N)                                                                                                     \
    M1(acos, T, N)                                                                                                     \
    M1(atan, T, N)                                                                                                     \
    M1(sinh, T, N)                                                                                                     \
    M1(cosh, T, N)                                                                                                     \
    M1(tanh, T, N)                                                                                                     \
    M1(exp, T, N)                                                                                                      \
    M1(log, T, N)                                                                                                      \
    M1(log2, T, N)                                                                                                     \
    M1(log10, T, N)                                                                                                    \
    M1(sqrt, T, N)                                                                                                     \
    M1(floor, T, N)                                                                                                    \
    M1(ceil, T, N)                                                                                                     \
    M1(round, T, N)                                                                                                    \
    M1(trunc, T, N)

/* ---- complex numbers: C a pair of F ---- */

#define COMPLEX_HELPERS(C, F, S)                                                                                       \
    static C mul_##C(C x, C y) {                                                                                       \
        C r;                                                                                                           \
        loom_math_cmul_##S(x.re, x.im, y.re, y.im, &r.re, &r.im);                                                      \
        return r;                                                                                                      \
    }                                                                                                                  \
    static C div_##C(C x, C y) {                                                                                       \
        C r;                                                                                                           \
        loom_math_cdiv_##S(x.re, x.im, y.re, y.im, &r.re, &r.im);                                                      \
        return r;                                                                                                      \
    }                                                                                                                  \
    static C sqrt_##C(C x) {                                                                                           \
        C r;                                                                                                           \
        loom_math_csqrt_##S(x.re, x.im, &r.re, &r.im);                                                                 \
        return r;                                                                                                      \
    }                                                                                                                  \
    static C exp_##C(C x) {                                                                                            \
        C r;                                                                                                           \
        loom_math_cexp_##S(x.re, x.im, &r.re, &r.im);                                                                  \
        return r;                                                                                                      \
    }                                                                                                                  \
    static C cis_##C(F x) {                                                                                            \
        C r;                                                                                                           \
        loom_math_cis_##S(x, &r.re, &r.im);                                                                            \
        return r;                                                                                                      \
    }
COMPLEX_HELPERS(c64, float, f32)
COMPLEX_HELPERS(c128, double, f64)

#define COMPLEX(C, F, S)                                                                                               \
    K2(add_##C, C, C, C, ((C){x.re + y.re, x.im + y.im}))                                                              \
    K2(sub_##C, C, C, C, ((C){x.re - y.re, x.im - y.im}))                                                              \
    K2(mul_##C, C, C, C, mul_##C(x, y))                                                                                \
    K2(div_##C, C, C, C, div_##C(x, y))                                                                                \
    K1(neg_##C, C, C, ((C){-x.re, -x.im}))                                                                             \
    K1(conj_##C, C, C, ((C){x.re, -x.im}))                                                                             \
    K1(re_##C, F, C, x.re)                                                                                             \
    K1(im_##C, F, C, x.im)                                                                                             \
    K1(cabs_##C, F, C, loom_math_cabs_##S(x.re, x.im))                                                                 \
    K1(arg_##C, F, C, loom_math_arg_##S(x.re, x.im))                                                                   \
    K1(csqrt_##C, C, C, sqrt_##C(x))                                                                                   \
    K1(cexp_##C, C, C, exp_##C(x))                                                                                     \
    K1(is_nan_##C, bool, C, loom_math_is_nan_##S(x.re) || loom_math_is_nan_##S(x.im))                                  \
    K1(is_finite_##C, bool, C, loom_math_is_finite_##S(x.re) && loom_math_is_finite_##S(x.im))                         \
    K2(scale_##C, C, F, C, ((C){x * y.re, x * y.im}))                                                                  \
    K2(complex_##S, C, F, F, ((C){x, y}))                                                                              \
    K1(cis_##S, C, F, cis_##C(x))                                                                                      \
    K2(eq_##C, bool, C, C, x.re == y.re && x.im == y.im)                                                               \
    K2(ne_##C, bool, C, C, x.re != y.re || x.im != y.im)

/* ---- comparisons and selection ---- */

#define COMPARED(T, N)                                                                                                 \
    K2(eq_##N, bool, T, T, x == y)                                                                                     \
    K2(ne_##N, bool, T, T, x != y)                                                                                     \
    K2(lt_##N, bool, T, T, x < y)                                                                                      \
    K2(le_##N, bool, T, T, x <= y)                                                                                     \
    K2(gt_##N, bool, T, T, x > y)                                                                                      \
    K2(ge_##N, bool, T, T, x >= y)
#define SELECTED(T, N) K3(select_##N, T, bool, T, T, x ? y : z)

#define INTEGERS(X)                                                                                                    \
    X(int8_t, i8)                                                                                                      \
    X(int16_t, i16)                                                                                                    \
    X(int32_t, i32)                                                                                                    \
    X(int64_t, i64)                                                                                                    \
    X(uint8_t, u8)                                                                                                     \
    X(uint16_t, u16)                                                                                                   \
    X(uint32_t, u32)                                                                                                   \
    X(uint64_t, u64)
#define FLOATS(X)                                                                                                      \
    X(float, f32)                                                                                                      \
    X(double, f64)

INTEGERS(INTEGER)
FLOATS(FLOATING)
COMPLEX(c64, float, f32)
COMPLEX(c128, double, f64)
COMPARED(bool, b8)
INTEGERS(COMPARED)
FLOATS(COMPARED)
SELECTED(bool, b8)
INTEGERS(SELECTED)
FLOATS(SELECTED)
SELECTED(c64, c64)
SELECTED(c128, c128)
K2(and_b8, bool, bool, bool, x &&y)
K2(or_b8, bool, bool, bool, x || y)
K1(not_b8, bool, bool, !x)
/* exp, sqrt of class FC1 on floats */
K1(csqrt_f32, float, float, loom_math_sqrt_f32(x))
K1(csqrt_f64, double, double, loom_math_sqrt_f64(x))
K1(cexp_f32, float, float, loom_math_exp_f32(x))
K1(cexp_f64, double, double, loom_math_exp_f64(x))

/* ---- the table: by primitive and type of the last operand ---- */

#define ROW_INTEGERS(P)                                                                                                \
    [LOOM_I8] = k_##P##_i8, [LOOM_I16] = k_##P##_i16, [LOOM_I32] = k_##P##_i32, [LOOM_I64] = k_##P##_i64,              \
    [LOOM_U8] = k_##P##_u8, [LOOM_U16] = k_##P##_u16, [LOOM_U32] = k_##P##_u32, [LOOM_U64] = k_##P##_u64
#define ROW_FLOATS(P)  [LOOM_F32] = k_##P##_f32, [LOOM_F64] = k_##P##_f64
#define ROW_COMPLEX(P) [LOOM_C64] = k_##P##_c64, [LOOM_C128] = k_##P##_c128
#define ROW_BOOL(P)    [LOOM_BOOL] = k_##P##_b8
#define F(NAME, P)     [LOOM_PRIM_##NAME] = {ROW_FLOATS(P)}
#define I(NAME, P)     [LOOM_PRIM_##NAME] = {ROW_INTEGERS(P)}
#define C(NAME, P)     [LOOM_PRIM_##NAME] = {ROW_COMPLEX(P)}
#define IF(NAME, P)    [LOOM_PRIM_##NAME] = {ROW_INTEGERS(P), ROW_FLOATS(P)}
#define IFC(NAME, P)   [LOOM_PRIM_##NAME] = {ROW_INTEGERS(P), ROW_FLOATS(P), ROW_COMPLEX(P)}
#define FC(NAME, P)    [LOOM_PRIM_##NAME] = {ROW_FLOATS(P), ROW_COMPLEX(P)}
#define BIF(NAME, P)   [LOOM_PRIM_##NAME] = {ROW_BOOL(P), ROW_INTEGERS(P), ROW_FLOATS(P)}
#define ALL(NAME, P)   [LOOM_PRIM_##NAME] = {ROW_BOOL(P), ROW_INTEGERS(P), ROW_FLOATS(P), ROW_COMPLEX(P)}

static kernel *const kernels[LOOM_PRIM_COUNT][LOOM_DTYPES] = {
    IFC(ADD, add),
    IFC(SUB, sub),
    IFC(MUL, mul),
    FC(DIV, div),
    I(FLOORDIV, floordiv),
    I(FLOORMOD, floormod),
    I(QUOT, quot),
    I(REM, rem),
    F(FMOD, fmod),
    IF(POW, pow),
    IFC(NEG, neg),
    IF(ABS, abs),
    IF(SGN, sgn),
    IF(MIN, min),
    IF(MAX, max),
    F(FMA, fma),
    ALL(EQ, eq),
    ALL(NE, ne),
    BIF(LT, lt),
    BIF(LE, le),
    BIF(GT, gt),
    BIF(GE, ge),
    [LOOM_PRIM_AND] = {ROW_BOOL(and)},
    [LOOM_PRIM_OR] = {ROW_BOOL(or)},
    [LOOM_PRIM_NOT] = {ROW_BOOL(not)},
    I(BAND, band),
    I(BOR, bor),
    I(BXOR, bxor),
    I(BNOT, bnot),
    I(SHL, shl),
    I(SHR, shr),
    I(LSHR, lshr),
    I(POPC, popc),
    I(CLZ, clz),
    I(CTZ, ctz),
    F(SIN, sin),
    F(COS, cos),
    F(TAN, tan),
    F(ASIN, asin),
    F(ACOS, acos),
    F(ATAN, atan),
    F(ATAN2, atan2),
    F(SINH, sinh),
    F(COSH, cosh),
    F(TANH, tanh),
    F(EXP, exp),
    F(LOG, log),
    F(LOG2, log2),
    F(LOG10, log10),
    F(SQRT, sqrt),
    F(HYPOT, hypot),
    F(FLOOR, floor),
    F(CEIL, ceil),
    F(ROUND, round),
    F(TRUNC, trunc),
    FC(IS_NAN, is_nan),
    FC(IS_FINITE, is_finite),
    C(RE, re),
    C(IM, im),
    C(CABS, cabs),
    C(ARG, arg),
    C(CONJ, conj),
    F(COMPLEX, complex),
    C(SCALE, scale),
    F(CIS, cis),
    FC(CSQRT, csqrt),
    FC(CEXP, cexp),
    ALL(SELECT, select),
};

kernel *prim_kernel(uint16_t prim, loom_dtype type) {
    return kernels[prim][type];
}

/* ---- failures ---- */

#define FIRST(T, CONDITION)                                                                                            \
    do {                                                                                                               \
        const T *y = b;                                                                                                \
        for (size_t i = 0; i < n; i++) {                                                                               \
            if (CONDITION) return (int64_t)i;                                                                          \
        }                                                                                                              \
        return -1;                                                                                                     \
    } while (0)

static int64_t first_zero(size_t size, size_t n, const void *b) {
    switch (size) {
    case 1: FIRST(uint8_t, y[i] == 0);
    case 2: FIRST(uint16_t, y[i] == 0);
    case 4: FIRST(uint32_t, y[i] == 0);
    default: FIRST(uint64_t, y[i] == 0);
    }
}

static int64_t first_negative(size_t size, size_t n, const void *b) {
    switch (size) {
    case 1: FIRST(int8_t, y[i] < 0);
    case 2: FIRST(int16_t, y[i] < 0);
    case 4: FIRST(int32_t, y[i] < 0);
    default: FIRST(int64_t, y[i] < 0);
    }
}

int64_t prim_failure(uint16_t prim, loom_dtype type, size_t n, const void *b, const char **what) {
    if (!loom_prim_table[prim].can_trap) return -1;
    if (prim == LOOM_PRIM_SHL || prim == LOOM_PRIM_SHR || prim == LOOM_PRIM_LSHR) {
        *what = "shift by a negative number";
        return loom_dtype_is_signed(type) ? first_negative(loom_dtype_size(type), n, b) : -1;
    }
    *what = "division by zero";
    return first_zero(loom_dtype_size(type), n, b);
}

/* ---- conversions ---- */

#define CONVERT_PLAIN(T, N, FROM, FN)     K1(FROM##_to_##N, T, FN, (T)x)
#define CONVERT_SATURATED(T, N, FROM, FN) K1(FROM##_to_##N, T, FN, loom_math_to_##N##_##FROM(x))

/* From `FROM` (type FN) to everything; INTEGRAL says how integers come about. */
#define FROM_REAL(FN, FROM, INTEGRAL)                                                                                  \
    K1(FROM##_to_b8, bool, FN, x != 0)                                                                                 \
    INTEGRAL(int8_t, i8, FROM, FN)                                                                                     \
    INTEGRAL(int16_t, i16, FROM, FN)                                                                                   \
    INTEGRAL(int32_t, i32, FROM, FN)                                                                                   \
    INTEGRAL(int64_t, i64, FROM, FN)                                                                                   \
    INTEGRAL(uint8_t, u8, FROM, FN)                                                                                    \
    INTEGRAL(uint16_t, u16, FROM, FN)                                                                                  \
    INTEGRAL(uint32_t, u32, FROM, FN)                                                                                  \
    INTEGRAL(uint64_t, u64, FROM, FN)                                                                                  \
    K1(FROM##_to_f32, float, FN, (float)x)                                                                             \
    K1(FROM##_to_f64, double, FN, (double)x)                                                                           \
    K1(FROM##_to_c64, c64, FN, ((c64){(float)x, 0}))                                                                   \
    K1(FROM##_to_c128, c128, FN, ((c128){(double)x, 0}))
#define FROM_INTEGER(T, N) FROM_REAL(T, N, CONVERT_PLAIN)
#define FROM_FLOAT(T, N)   FROM_REAL(T, N, CONVERT_SATURATED)
FROM_REAL(bool, b8, CONVERT_PLAIN)
INTEGERS(FROM_INTEGER)
FLOATS(FROM_FLOAT)
K1(c64_to_c64, c64, c64, x)
K1(c64_to_c128, c128, c64, ((c128){(double)x.re, (double)x.im}))
K1(c128_to_c64, c64, c128, ((c64){(float)x.re, (float)x.im}))
K1(c128_to_c128, c128, c128, x)

#define TO(FROM, N) k_##FROM##_to_##N
#define ROW_FROM(FROM)                                                                                                 \
    {TO(FROM, b8),  TO(FROM, i8),  TO(FROM, i16), TO(FROM, i32), TO(FROM, i64), TO(FROM, u8),  TO(FROM, u16),          \
     TO(FROM, u32), TO(FROM, u64), TO(FROM, f32), TO(FROM, f64), TO(FROM, c64), TO(FROM, c128)}

static kernel *const conversions[LOOM_DTYPES][LOOM_DTYPES] = {
    ROW_FROM(b8),
    ROW_FROM(i8),
    ROW_FROM(i16),
    ROW_FROM(i32),
    ROW_FROM(i64),
    ROW_FROM(u8),
    ROW_FROM(u16),
    ROW_FROM(u32),
    ROW_FROM(u64),
    ROW_FROM(f32),
    ROW_FROM(f64),
    [LOOM_C64] = {[LOOM_C64] = k_c64_to_c64, [LOOM_C128] = k_c64_to_c128},
    [LOOM_C128] = {[LOOM_C64] = k_c128_to_c64, [LOOM_C128] = k_c128_to_c128},
};

kernel *convert_kernel(loom_dtype from, loom_dtype to) {
    return conversions[from][to];
}

/* ---- single scalars, for callers outside ---- */

loom_status *loom_interp_prim(uint16_t prim, const loom_dtype *types, const loom_scalar *operands,
                              loom_scalar *result) {
    loom_dtype of = prim < LOOM_PRIM_COUNT ? loom_prim_result((loom_prim)prim, types) : LOOM_DTYPES;
    if (of == LOOM_DTYPES) return loom_error(LOOM_E_INTERNAL, "primitive %u does not apply to these types", prim);
    const int arity = loom_prim_table[prim].arity;
    loom_dtype last = types[arity - 1];
    slot raw[3], out; /* aligned for any scalar */
    for (int i = 0; i < arity; i++) loom_scalar_store(types[i], operands[i], raw[i].raw);
    const char *what;
    if (prim_failure(prim, last, 1, raw[1].raw, &what) == 0) return loom_error(LOOM_E_RUNTIME, "%s", what);
    kernels[prim][last](1, out.raw, raw[0].raw, raw[1].raw, raw[2].raw);
    *result = loom_scalar_load(of, out.raw);
    return NULL;
}

loom_status *loom_interp_convert(loom_dtype from, loom_scalar value, loom_dtype to, loom_scalar *result) {
    kernel *k = from < LOOM_DTYPES && to < LOOM_DTYPES ? conversions[from][to] : NULL;
    if (!k) {
        return loom_error(LOOM_E_INTERNAL, "no conversion from %s to %s", loom_dtype_name(from), loom_dtype_name(to));
    }
    slot raw, out;
    loom_scalar_store(from, value, raw.raw);
    k(1, out.raw, raw.raw, NULL, NULL);
    *result = loom_scalar_load(to, out.raw);
    return NULL;
}
