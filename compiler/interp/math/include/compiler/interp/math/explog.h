/* Exponentials, logarithms, powers and hyperbolic functions. Included by loom_math.h alone.
 *
 * exp: x = k ln 2 + r with |r| <= ln 2 / 2; the product k * ln2_hi is exact in the fused operation, so r is too, but
 * for its last bit. The Taylor series goes to r^14. log: as in FreeBSD's msun (e_log.c, Sun Microsystems 1993, freely
 * distributable), m in [sqrt(1/2), sqrt(2)), s = f / (2 + f). pow: logarithm and product as pairs of doubles.
 */
#ifndef LOOM_MATH_EXPLOG_H
#define LOOM_MATH_EXPLOG_H

#include "compiler/interp/math/basics.h"

#define LOOM_LOG2E    0x1.71547652b82fep0
#define LOOM_LN2_HI   0x1.62e42fefa39efp-1
#define LOOM_LN2_LO   0x1.abc9e3b39803fp-56
#define LOOM_EXP_MOST 1100.0 /* beyond it exp is 0 or infinite and k would leave its range */

/* (e^r - 1 - r) / r^2 for |r| <= 0.36. */
LOOM_MATH_PART double lm_exp_tail(double r) {
    double s = r * r;
    double even = lm_fma(s, 0x1.93974a8c07c9dp-37 /* 1/14! */, 0x1.1eed8eff8d898p-29 /* 1/12! */);
    double odd = lm_fma(s, 0x1.6124613a86d09p-33 /* 1/13! */, 0x1.ae64567f544e4p-26 /* 1/11! */);
    even = lm_fma(s, even, 0x1.27e4fb7789f5cp-22 /* 1/10! */);
    odd = lm_fma(s, odd, 0x1.71de3a556c734p-19 /* 1/9! */);
    even = lm_fma(s, even, 0x1.a01a01a01a01ap-16 /* 1/8! */);
    odd = lm_fma(s, odd, 0x1.a01a01a01a01ap-13 /* 1/7! */);
    even = lm_fma(s, even, 0x1.6c16c16c16c17p-10 /* 1/6! */);
    odd = lm_fma(s, odd, 0x1.1111111111111p-7 /* 1/5! */);
    even = lm_fma(s, even, 0x1.5555555555555p-5 /* 1/4! */);
    odd = lm_fma(s, odd, 0x1.5555555555555p-3 /* 1/3! */);
    even = lm_fma(s, even, 0.5);
    return lm_fma(r, odd, even);
}

typedef struct lm_reduced {
    double r, lo; /* r + lo = x - k ln 2 */
    int64_t k;
} lm_reduced;

/* x is held within what exp can tell apart; a NaN stays one. */
LOOM_MATH_PART lm_reduced lm_exp_reduce(double x) {
    double held = x > LOOM_EXP_MOST ? LOOM_EXP_MOST : x;
    held = held < -LOOM_EXP_MOST ? -LOOM_EXP_MOST : held;
    double shifted = held * LOOM_LOG2E + LOOM_MAGIC64, n = shifted - LOOM_MAGIC64;
    double r = lm_fma(-n, LOOM_LN2_HI, held);
    int64_t k = (int64_t)(lm_bits(shifted) - 0x4338000000000000);
    k = x != x ? 0 : k;
    return (lm_reduced){r, -n * LOOM_LN2_LO, k};
}

/* e^x * 2^more */
LOOM_MATH_PART double lm_exp_scaled(double x, int64_t more) {
    lm_reduced d = lm_exp_reduce(x);
    double r = d.r + d.lo;
    return lm_scale(1.0 + lm_fma(r * r, lm_exp_tail(r), r), d.k + more);
}

LOOM_MATH double loom_math_exp_f64(double x) {
    return lm_exp_scaled(x, 0);
}

LOOM_MATH float loom_math_exp_f32(float x) {
    float held = x > 140.0f ? 140.0f : x;
    held = held < -140.0f ? -140.0f : held;
    float shifted = held * 0x1.715476p0f + LOOM_MAGIC32, n = shifted - LOOM_MAGIC32;
    float r = lm_fmaf(-n, 0x1.62e43p-1f, held);
    r = lm_fmaf(-n, -0x1.05c610p-29f, r);
    float s = r * r;
    float even = lm_fmaf(s, 0x1.6c16c2p-10f, 0x1.555556p-5f);
    float odd = lm_fmaf(s, lm_fmaf(s, 0x1.a01a02p-13f, 0x1.111112p-7f), 0x1.555556p-3f);
    even = lm_fmaf(s, even, 0.5f);
    int32_t k = (int32_t)(lm_bitsf(shifted) - 0x4b400000);
    k = x != x ? 0 : k;
    return lm_scalef(1.0f + lm_fmaf(s, lm_fmaf(r, odd, even), r), k);
}

/* e^x - 1 */
LOOM_MATH_PART double lm_expm1(double x) {
    lm_reduced d = lm_exp_reduce(x > 709.0 ? 709.0 : x < -60.0 ? -60.0 : x);
    double r = d.r + d.lo, lost = (d.r - r) + d.lo;
    double e = r + lm_fma(r * r, lm_exp_tail(r), lost);
    double scale = lm_from_bits((uint64_t)(d.k + 1023) << 52);
    return d.k == 0 ? e : lm_fma(scale, e, scale - 1.0);
}

/* ---- logarithms ---- */

typedef struct lm_split {
    double f; /* x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2) */
    double e;
} lm_split;

LOOM_MATH_PART lm_split lm_log_split(double x) {
    bool tiny = x < 0x1p-1022;
    uint64_t bits = lm_bits(tiny ? x * 0x1p54 : x);
    uint64_t above = bits - 0x3fe6a09e667f3bcd; /* of sqrt(1/2) */
    int64_t k = (int64_t)above >> 52;
    double m = lm_from_bits(bits - ((uint64_t)k << 52));
    return (lm_split){m - 1.0, lm_small_to_double(k) - (tiny ? 54.0 : 0.0)};
}

/* What a logarithm is where x is not an ordinary positive number. */
LOOM_MATH_PART double lm_log_special(double x, double ordinary) {
    double odd = x == 0 ? -LOOM_INF64 : x < 0 ? LOOM_NAN64 : x; /* +inf, NaN */
    return x > 0 && x < LOOM_INF64 ? ordinary : odd;
}

/* log(1 + f) = f - f^2/2 + s (f^2/2 + R), s = f / (2 + f) */
LOOM_MATH_PART double lm_log_r(double z) {
    double w = z * z;
    double t1 = w * lm_fma(w, lm_fma(w, 1.531383769920937332e-01, 2.222219843214978396e-01), 3.999999999940941908e-01);
    double t2 = lm_fma(w, lm_fma(w, 1.479819860511658591e-01, 1.818357216161805012e-01), 2.857142874366239149e-01);
    return t1 + z * lm_fma(w, t2, 6.666666666666735130e-01);
}

LOOM_MATH double loom_math_log_f64(double x) {
    lm_split v = lm_log_split(x);
    double s = v.f / (2.0 + v.f), half = 0.5 * v.f * v.f;
    double r = lm_log_r(s * s);
    /* ln 2 as 33 bits and the rest, so that e * hi is exact. */
    double y = v.e * 6.93147180369123816490e-01 - ((half - (s * (half + r) + v.e * 1.90821492927058770002e-10)) - v.f);
    return lm_log_special(x, y);
}

/* log2 and log10: f - f^2/2 with its low half cut off, so that the product with 1/ln is exact in its leading part. */
LOOM_MATH_PART double lm_log_base(double x, double inv_hi, double inv_lo, double unit_hi, double unit_lo) {
    lm_split v = lm_log_split(x);
    double s = v.f / (2.0 + v.f), half = 0.5 * v.f * v.f, r = lm_log_r(s * s);
    double hi = lm_from_bits(lm_bits(v.f - half) & 0xffffffff00000000);
    double lo = ((v.f - hi) - half) + s * (half + r);
    double val_hi = hi * inv_hi;
    double val_lo = v.e * unit_lo + (lo + hi) * inv_lo + lo * inv_hi;
    double y = v.e * unit_hi;
    lm_pair sum = lm_two_sum(y, val_hi);
    return lm_log_special(x, (val_lo + sum.lo) + sum.hi);
}

LOOM_MATH double loom_math_log2_f64(double x) {
    return lm_log_base(x, 1.44269504072144627571e+00, 1.67517131648865118353e-10, 1.0, 0.0);
}

LOOM_MATH double loom_math_log10_f64(double x) {
    return lm_log_base(x, 4.34294481878168880939e-01, 2.50829467116452752298e-11, 3.01029995663611771306e-01,
                       3.69423907715893078616e-13);
}

LOOM_MATH float loom_math_log_f32(float x) {
    bool tiny = x < 0x1p-126f;
    uint32_t bits = lm_bitsf(tiny ? x * 0x1p25f : x), above = bits - 0x3f3504f3;
    int32_t k = (int32_t)above >> 23;
    float f = lm_from_bitsf(bits - ((uint32_t)k << 23)) - 1.0f, e = (float)k - (tiny ? 25.0f : 0.0f);
    float s = f / (2.0f + f), z = s * s, w = z * z, half = 0.5f * f * f;
    float t1 = w * lm_fmaf(w, 0xf89e26.0p-26f, 0xccce13.0p-25f);
    float r = t1 + z * lm_fmaf(w, 0x91e9ee.0p-25f, 0xaaaaaa.0p-24f);
    float y = e * 6.9313812256e-01f - ((half - (s * (half + r) + e * 9.0580006145e-06f)) - f);
    float odd = x == 0 ? -LOOM_INF32 : x < 0 ? LOOM_NAN32 : x;
    return x > 0 && x < LOOM_INF32 ? y : odd;
}

LOOM_MATH float loom_math_log2_f32(float x) {
    return (float)loom_math_log2_f64((double)x);
}
LOOM_MATH float loom_math_log10_f32(float x) {
    return (float)loom_math_log10_f64((double)x);
}

/* ---- powers ---- */

/* log x for x > 0 as a pair, to about 2^-68 relative: 2 atanh(q), q = (m - 1) / (m + 1). */
LOOM_MATH_PART lm_pair lm_log_pair(double x) {
    lm_split v = lm_log_split(x);
    double d = v.f + 2.0, d_lo = v.f - (d - 2.0);
    double hi = v.f / d;
    lm_pair q = {hi, (lm_fma(-hi, d, v.f) - hi * d_lo) / d};
    lm_pair z = lm_pair_mul(q, q);
    double t = 2.0 / 27.0;
    t = lm_fma(t, z.hi, 2.0 / 25.0);
    t = lm_fma(t, z.hi, 2.0 / 23.0);
    t = lm_fma(t, z.hi, 2.0 / 21.0);
    t = lm_fma(t, z.hi, 2.0 / 19.0);
    t = lm_fma(t, z.hi, 2.0 / 17.0);
    t = lm_fma(t, z.hi, 2.0 / 15.0);
    t = lm_fma(t, z.hi, 2.0 / 13.0);
    t = lm_fma(t, z.hi, 2.0 / 11.0);
    t = lm_fma(t, z.hi, 2.0 / 9.0);
    t = lm_fma(t, z.hi, 2.0 / 7.0);
    /* 2/5 and 2/3 with their low halves */
    lm_pair c = lm_pair_add((lm_pair){0x1.999999999999ap-2, -0x1.999999999999ap-57}, lm_two_product(t, z.hi));
    c = lm_pair_add((lm_pair){0x1.5555555555555p-1, 0x1.5555555555555p-55}, lm_pair_mul(c, z));
    lm_pair cubic = lm_pair_mul(lm_pair_mul(z, q), c);
    lm_pair e = lm_two_product(v.e, LOOM_LN2_HI);
    e = lm_fast_two_sum(e.hi, lm_fma(v.e, LOOM_LN2_LO, e.lo));
    return lm_pair_add(lm_pair_add(e, (lm_pair){2 * q.hi, 2 * q.lo}), cubic);
}

LOOM_MATH_PART double lm_pow_positive(double x, double y) {
    lm_pair l = lm_log_pair(x), p = lm_two_product(l.hi, y);
    double lo = lm_fma(l.lo, y, p.lo);
    double far = p.hi > LOOM_EXP_MOST ? LOOM_EXP_MOST : p.hi < -LOOM_EXP_MOST ? -LOOM_EXP_MOST : p.hi;
    lm_reduced d = lm_exp_reduce(far);
    d.lo += far == p.hi ? lo : 0.0;
    double r = d.r + d.lo, lost = (d.r - r) + d.lo;
    double tail = lm_fma(r * r, lm_exp_tail(r), lost);
    lm_pair one = lm_fast_two_sum(1.0, r);
    return lm_scale(one.hi + (one.lo + tail), d.k);
}

LOOM_MATH double loom_math_pow_f64(double x, double y) {
    double ax = lm_abs(x), ay = lm_abs(y);
    double whole = __builtin_trunc(y), half = 0.5 * whole;
    bool is_integer = whole == y, is_odd = is_integer && ay < 0x1p53 && __builtin_trunc(half) != half;
    double r = lm_pow_positive(ax, y);
    bool huge = (ax > 1.0) == (y > 0.0); /* of a base or exponent that is zero or infinite */
    double edge = ax == 1.0 ? 1.0 : huge ? LOOM_INF64 : 0.0;
    r = ax == 0.0 || ax == LOOM_INF64 || ay == LOOM_INF64 ? edge : r;
    r = is_odd && lm_bits(x) >> 63 ? -r : r;
    r = x < 0.0 && ax != LOOM_INF64 && !is_integer ? LOOM_NAN64 : r;
    r = x != x || y != y ? LOOM_NAN64 : r;
    return y == 0.0 || x == 1.0 ? 1.0 : r;
}

/* In double precision throughout, where a plain logarithm is precise enough: |y log x| < 104 loses 7 bits of 29. */
LOOM_MATH float loom_math_pow_f32(float x, float y) {
    double ax = (double)lm_absf(x), yd = (double)y, ay = lm_abs(yd);
    double whole = __builtin_trunc(yd), half = 0.5 * whole;
    bool is_integer = whole == yd, is_odd = is_integer && ay < 0x1p53 && __builtin_trunc(half) != half;
    double r = loom_math_exp_f64(loom_math_log_f64(ax) * yd);
    bool huge = (ax > 1.0) == (yd > 0.0);
    double edge = ax == 1.0 ? 1.0 : huge ? LOOM_INF64 : 0.0;
    r = ax == 0.0 || ax == LOOM_INF64 || ay == LOOM_INF64 ? edge : r;
    r = is_odd && lm_bitsf(x) >> 31 ? -r : r;
    r = x < 0.0f && ax != LOOM_INF64 && !is_integer ? LOOM_NAN64 : r;
    r = x != x || y != y ? LOOM_NAN64 : r;
    return y == 0.0f || x == 1.0f ? 1.0f : (float)r;
}

/* ---- hyperbolic functions ---- */

LOOM_MATH double loom_math_sinh_f64(double x) {
    double a = lm_abs(x), e = lm_expm1(a);
    double small = 0.5 * (e + e / (e + 1.0)), large = lm_exp_scaled(a, -1);
    return lm_copysign(a > 40.0 ? large : a == a ? small : a, x);
}

LOOM_MATH double loom_math_cosh_f64(double x) {
    double a = lm_abs(x), e = loom_math_exp_f64(a);
    double small = 0.5 * (e + 1.0 / e), large = lm_exp_scaled(a, -1);
    return a > 40.0 ? large : small;
}

LOOM_MATH double loom_math_tanh_f64(double x) {
    double a = lm_abs(x), e = lm_expm1(2.0 * (a > 40.0 ? 40.0 : a));
    return lm_copysign(a == a ? e / (e + 2.0) : a, x);
}

LOOM_MATH float loom_math_sinh_f32(float x) {
    return (float)loom_math_sinh_f64((double)x);
}
LOOM_MATH float loom_math_cosh_f32(float x) {
    return (float)loom_math_cosh_f64((double)x);
}
LOOM_MATH float loom_math_tanh_f32(float x) {
    return (float)loom_math_tanh_f64((double)x);
}

#endif
