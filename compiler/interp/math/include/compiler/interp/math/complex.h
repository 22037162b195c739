/* Roots, remainders and complex numbers. Included by loom_math.h alone. Complex functions take real and imaginary parts
 * and write through pointers, which vanish when inlined. */
#ifndef LOOM_MATH_COMPLEX_H
#define LOOM_MATH_COMPLEX_H

#include "compiler/interp/math/explog.h"
#include "compiler/interp/math/trig.h"

LOOM_MATH double loom_math_sqrt_f64(double x) {
    return __builtin_sqrt(x);
}
LOOM_MATH float loom_math_sqrt_f32(float x) {
    return __builtin_sqrtf(x);
}
LOOM_MATH double loom_math_fma_f64(double a, double b, double c) {
    return __builtin_fma(a, b, c);
}
LOOM_MATH float loom_math_fma_f32(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
}
LOOM_MATH double loom_math_floor_f64(double x) {
    return __builtin_floor(x);
}
LOOM_MATH float loom_math_floor_f32(float x) {
    return __builtin_floorf(x);
}
LOOM_MATH double loom_math_ceil_f64(double x) {
    return __builtin_ceil(x);
}
LOOM_MATH float loom_math_ceil_f32(float x) {
    return __builtin_ceilf(x);
}
LOOM_MATH double loom_math_trunc_f64(double x) {
    return __builtin_trunc(x);
}
LOOM_MATH float loom_math_trunc_f32(float x) {
    return __builtin_truncf(x);
}
LOOM_MATH double loom_math_round_f64(double x) {
    return __builtin_rint(x);
} /* to even; nobody changes the mode */
LOOM_MATH float loom_math_round_f32(float x) {
    return __builtin_rintf(x);
}
LOOM_MATH double loom_math_abs_f64(double x) {
    return lm_abs(x);
}
LOOM_MATH float loom_math_abs_f32(float x) {
    return lm_absf(x);
}

/* NaN counts as greater than all: min drops it, max keeps it. */
LOOM_MATH double loom_math_min_f64(double a, double b) {
    return a < b || b != b ? a : b;
}
LOOM_MATH float loom_math_min_f32(float a, float b) {
    return a < b || b != b ? a : b;
}
LOOM_MATH double loom_math_max_f64(double a, double b) {
    return a > b || a != a ? a : b;
}
LOOM_MATH float loom_math_max_f32(float a, float b) {
    return a > b || a != a ? a : b;
}
LOOM_MATH double loom_math_sgn_f64(double x) {
    return x > 0 ? 1.0 : x < 0 ? -1.0 : x;
}
LOOM_MATH float loom_math_sgn_f32(float x) {
    return x > 0 ? 1.0f : x < 0 ? -1.0f : x;
}
LOOM_MATH bool loom_math_is_nan_f64(double x) {
    return x != x;
}
LOOM_MATH bool loom_math_is_nan_f32(float x) {
    return x != x;
}
LOOM_MATH bool loom_math_is_finite_f64(double x) {
    return lm_abs(x) < LOOM_INF64;
}
LOOM_MATH bool loom_math_is_finite_f32(float x) {
    return lm_absf(x) < LOOM_INF32;
}

/* sqrt(x^2 + y^2), scaled by a power of two where squares would overflow or vanish. */
LOOM_MATH double loom_math_hypot_f64(double x, double y) {
    double a = lm_abs(x), b = lm_abs(y), most = a > b ? a : b, least = a > b ? b : a;
    bool large = most > 0x1p500, small = most < 0x1p-450;
    double scale = large ? 0x1p-600 : small ? 0x1p600 : 1.0, back = large ? 0x1p600 : small ? 0x1p-600 : 1.0;
    double p = most * scale, q = least * scale;
    double h = __builtin_sqrt(lm_fma(p, p, q * q)) * back;
    h = a == LOOM_INF64 || b == LOOM_INF64 ? LOOM_INF64 : h;
    return a == LOOM_INF64 || b == LOOM_INF64 || (a == a && b == b) ? h : LOOM_NAN64;
}
LOOM_MATH float loom_math_hypot_f32(float x, float y) {
    double a = (double)x, b = (double)y;
    float h = (float)__builtin_sqrt(a * a + b * b);
    return lm_absf(x) == LOOM_INF32 || lm_absf(y) == LOOM_INF32 ? LOOM_INF32 : h;
}

/* The exponent of x > 0, also where x is subnormal. */
LOOM_MATH_PART int64_t lm_exponent(double x) {
    bool tiny = x < 0x1p-1022;
    return (int64_t)(lm_bits(tiny ? x * 0x1p54 : x) >> 52) - (tiny ? 1077 : 1023);
}

/* x - y floor(x / y), exact but for the last addition, with the sign of y: Weft's `%` on floats. Long division, about
 * 50 bits a turn; one turn wherever the quotient is below 2^50. */
LOOM_MATH double loom_math_fmod_f64(double x, double y) {
    double a = lm_abs(x), b = lm_abs(y);
    if (!(a < LOOM_INF64) || b == 0.0 || b != b) return LOOM_NAN64;
    while (a >= b && b < LOOM_INF64) {
        int64_t k = lm_exponent(a) - lm_exponent(b) - 50;
        double part = k > 0 ? lm_scale(b, k) : b; /* no larger than a, and exact */
        a = lm_fma(-__builtin_trunc(a / part), part, a);
        a = a < 0 ? a + part : a;
    }
    double r = lm_copysign(a, x);
    return a != 0.0 && (x < 0) != (y < 0) ? r + y : a == 0.0 ? lm_copysign(0.0, y) : r;
}
/* The quotient of two floats has at most 277 bits; their remainder is exact in double precision. */
LOOM_MATH float loom_math_fmod_f32(float x, float y) {
    return (float)loom_math_fmod_f64((double)x, (double)y);
}

LOOM_MATH double loom_math_cabs_f64(double re, double im) {
    return loom_math_hypot_f64(re, im);
}
LOOM_MATH float loom_math_cabs_f32(float re, float im) {
    return loom_math_hypot_f32(re, im);
}
LOOM_MATH double loom_math_arg_f64(double re, double im) {
    return loom_math_atan2_f64(im, re);
}
LOOM_MATH float loom_math_arg_f32(float re, float im) {
    return loom_math_atan2_f32(im, re);
}

/* Products are two roundings a part, nothing fused: what vector code without our help does too. */
LOOM_MATH void loom_math_cmul_f64(double ar, double ai, double br, double bi, double *re, double *im) {
    *re = ar * br - ai * bi;
    *im = ar * bi + ai * br;
}
LOOM_MATH void loom_math_cmul_f32(float ar, float ai, float br, float bi, float *re, float *im) {
    *re = ar * br - ai * bi;
    *im = ar * bi + ai * br;
}

/* The divisor is brought near 1 by a power of two, so that its square neither overflows nor vanishes. */
LOOM_MATH void loom_math_cdiv_f64(double ar, double ai, double br, double bi, double *re, double *im) {
    double c = lm_abs(br), d = lm_abs(bi), most = c > d ? c : d;
    uint64_t exponent = lm_bits(most) >> 52;
    exponent = exponent < 1 ? 1 : exponent > 2045 ? 2045 : exponent;
    double scale = lm_from_bits((2046 - exponent) << 52);
    c = br * scale;
    d = bi * scale;
    double norm = c * c + d * d;
    *re = (ar * c + ai * d) / norm * scale;
    *im = (ai * c - ar * d) / norm * scale;
}
LOOM_MATH void loom_math_cdiv_f32(float ar, float ai, float br, float bi, float *re, float *im) {
    double a = (double)ar, b = (double)ai, c = (double)br, d = (double)bi, norm = c * c + d * d;
    *re = (float)((a * c + b * d) / norm);
    *im = (float)((b * c - a * d) / norm);
}

LOOM_MATH void loom_math_csqrt_f64(double re, double im, double *out_re, double *out_im) {
    double a = lm_abs(re), b = lm_abs(im), most = a > b ? a : b;
    bool large = most > 0x1p1000, small = most < 0x1p-900;
    double scale = large ? 0x1p-4 : small ? 0x1p200 : 1.0, back = large ? 0x1p2 : small ? 0x1p-100 : 1.0;
    double p = a * scale, q = im * scale;
    double t = __builtin_sqrt(0.5 * (p + loom_math_hypot_f64(p, q)));
    double u = t == 0.0 ? 0.0 : 0.5 * q / t;
    double r = re >= 0.0 ? t : lm_abs(u), i = re >= 0.0 ? u : lm_copysign(t, im);
    bool infinite = b == LOOM_INF64;
    *out_re = infinite ? LOOM_INF64 : r * back;
    *out_im = infinite ? im : lm_bits(im) << 1 == 0 && re >= 0.0 ? im : i * back;
}
LOOM_MATH void loom_math_csqrt_f32(float re, float im, float *out_re, float *out_im) {
    double r, i;
    loom_math_csqrt_f64((double)re, (double)im, &r, &i);
    *out_re = (float)r;
    *out_im = (float)i;
}

LOOM_MATH void loom_math_cexp_f64(double re, double im, double *out_re, double *out_im) {
    double e = loom_math_exp_f64(re), s, c;
    lm_sincos(im, &s, &c);
    *out_re = e * c;
    *out_im = im == 0.0 ? im : e * s;
}
LOOM_MATH void loom_math_cexp_f32(float re, float im, float *out_re, float *out_im) {
    double e = loom_math_exp_f64((double)re), s, c;
    lm_sincosf(im, &s, &c);
    *out_re = (float)(e * c);
    *out_im = im == 0.0f ? im : (float)(e * s);
}

#endif
