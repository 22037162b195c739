/* Bits, roundings and comparisons on which the functions of loom_math.h stand. Included by it alone. */
#ifndef LOOM_MATH_BASICS_H
#define LOOM_MATH_BASICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a function of this library is: inline here; loom_math.c and the bitcode make it external. */
#ifndef LOOM_MATH
#define LOOM_MATH static inline __attribute__((unused))
#endif
/* What only other functions of this library call. */
#define LOOM_MATH_PART static inline __attribute__((always_inline, unused))

#define LOOM_NAN64     ((double)__builtin_nan(""))
#define LOOM_INF64     ((double)__builtin_inf())
#define LOOM_NAN32     __builtin_nanf("")
#define LOOM_INF32     __builtin_inff()

LOOM_MATH_PART uint64_t lm_bits(double x) {
    union {
        double f;
        uint64_t u;
    } v = {.f = x};
    return v.u;
}
LOOM_MATH_PART double lm_from_bits(uint64_t u) {
    union {
        uint64_t u;
        double f;
    } v = {.u = u};
    return v.f;
}
LOOM_MATH_PART uint32_t lm_bitsf(float x) {
    union {
        float f;
        uint32_t u;
    } v = {.f = x};
    return v.u;
}
LOOM_MATH_PART float lm_from_bitsf(uint32_t u) {
    union {
        uint32_t u;
        float f;
    } v = {.u = u};
    return v.f;
}

LOOM_MATH_PART double lm_abs(double x) {
    return lm_from_bits(lm_bits(x) & 0x7fffffffffffffff);
}
LOOM_MATH_PART float lm_absf(float x) {
    return lm_from_bitsf(lm_bitsf(x) & 0x7fffffff);
}
/* |x| with the sign of s. */
LOOM_MATH_PART double lm_copysign(double x, double s) {
    return lm_from_bits((lm_bits(x) & 0x7fffffffffffffff) | (lm_bits(s) & 0x8000000000000000));
}
/* x with its sign flipped where that of s is set. */
LOOM_MATH_PART double lm_mulsign(double x, double s) {
    return lm_from_bits(lm_bits(x) ^ (lm_bits(s) & 0x8000000000000000));
}

LOOM_MATH_PART double lm_fma(double a, double b, double c) {
    return __builtin_fma(a, b, c);
}
LOOM_MATH_PART float lm_fmaf(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
}

/* Adding 1.5 * 2^52 rounds to the nearest integer, ties to even, and leaves it in the low bits: needs no rounding
 * instruction and no call on any target. For |x| < 2^51. */
#define LOOM_MAGIC64 0x1.8p52
#define LOOM_MAGIC32 0x1.8p23f

/* An integer of less than 2^51 as a double, without the conversion that few vector units have. */
LOOM_MATH_PART double lm_small_to_double(int64_t k) {
    return lm_from_bits(0x4338000000000000 + (uint64_t)k) - LOOM_MAGIC64;
}

/* x * 2^k for |k| < 2000, rounded once also where the result is subnormal: in two steps, the first of them exact for
 * x near 1. */
LOOM_MATH_PART double lm_scale(double x, int64_t k) {
    uint64_t half = ((uint64_t)(k + 4096) >> 1) - 2048, rest = (uint64_t)k - half;
    return x * lm_from_bits((half + 1023) << 52) * lm_from_bits((rest + 1023) << 52);
}
LOOM_MATH_PART float lm_scalef(float x, int32_t k) {
    uint32_t half = ((uint32_t)(k + 512) >> 1) - 256, rest = (uint32_t)k - half;
    return x * lm_from_bitsf((half + 127) << 23) * lm_from_bitsf((rest + 127) << 23);
}

/* A number as the unevaluated sum hi + lo, |lo| at most half a unit in the last place of hi. */
typedef struct lm_pair {
    double hi, lo;
} lm_pair;

LOOM_MATH_PART lm_pair lm_two_sum(double a, double b) {
    double s = a + b, t = s - a;
    return (lm_pair){s, (a - (s - t)) + (b - t)};
}
LOOM_MATH_PART lm_pair lm_fast_two_sum(double a, double b) { /* |a| >= |b| or a == 0 */
    double s = a + b;
    return (lm_pair){s, b - (s - a)};
}
LOOM_MATH_PART lm_pair lm_two_product(double a, double b) {
    double p = a * b;
    return (lm_pair){p, lm_fma(a, b, -p)};
}
LOOM_MATH_PART lm_pair lm_pair_add(lm_pair a, lm_pair b) {
    lm_pair s = lm_two_sum(a.hi, b.hi);
    return lm_fast_two_sum(s.hi, s.lo + (a.lo + b.lo));
}
LOOM_MATH_PART lm_pair lm_pair_mul(lm_pair a, lm_pair b) {
    lm_pair p = lm_two_product(a.hi, b.hi);
    return lm_fast_two_sum(p.hi, p.lo + lm_fma(a.hi, b.lo, a.lo * b.hi));
}

#endif
