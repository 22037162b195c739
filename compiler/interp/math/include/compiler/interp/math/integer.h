/* Integers: division in Weft's four forms, shifts, powers, counts, and conversion from floats. Included by loom_math.h
 * alone.
 *
 * Division by zero and negative shifts are errors that the caller has seen to; what these functions return then is 0,
 * so that a lane that was masked off does no harm. INT_MIN / -1 wraps. Conversions saturate; NaN gives the least value.
 */
#ifndef LOOM_MATH_INTEGER_H
#define LOOM_MATH_INTEGER_H

#include "compiler/interp/math/basics.h"

#define LOOM_MATH_SIGNED(T, U, NAME, BITS)                                                                             \
    LOOM_MATH T loom_math_quot_##NAME(T a, T b) {                                                                      \
        T d = b == 0 || b == -1 ? 1 : b, q = (T)(a / d);                                                               \
        return b == 0 ? 0 : b == -1 ? (T)((U)0 - (U)a) : q;                                                            \
    }                                                                                                                  \
    LOOM_MATH T loom_math_rem_##NAME(T a, T b) {                                                                       \
        T d = b == 0 || b == -1 ? 1 : b;                                                                               \
        return (T)(a % d);                                                                                             \
    }                                                                                                                  \
    LOOM_MATH T loom_math_floordiv_##NAME(T a, T b) {                                                                  \
        T q = loom_math_quot_##NAME(a, b), r = loom_math_rem_##NAME(a, b);                                             \
        return r != 0 && (r < 0) != (b < 0) ? (T)(q - 1) : q;                                                          \
    }                                                                                                                  \
    LOOM_MATH T loom_math_floormod_##NAME(T a, T b) {                                                                  \
        T r = loom_math_rem_##NAME(a, b);                                                                              \
        return r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r;                                                          \
    }                                                                                                                  \
    LOOM_MATH T loom_math_shl_##NAME(T a, T n) {                                                                       \
        return (U)n >= BITS ? 0 : (T)((U)a << ((U)n & (BITS - 1)));                                                    \
    }                                                                                                                  \
    LOOM_MATH T loom_math_shr_##NAME(T a, T n) {                                                                       \
        return (T)(a >> ((U)n >= BITS ? BITS - 1 : n));                                                                \
    }                                                                                                                  \
    LOOM_MATH T loom_math_lshr_##NAME(T a, T n) {                                                                      \
        return (U)n >= BITS ? 0 : (T)((U)a >> ((U)n & (BITS - 1)));                                                    \
    }                                                                                                                  \
    LOOM_MATH T loom_math_abs_##NAME(T a) {                                                                            \
        return a < 0 ? (T)((U)0 - (U)a) : a;                                                                           \
    }                                                                                                                  \
    LOOM_MATH T loom_math_sgn_##NAME(T a) {                                                                            \
        return (T)((a > 0) - (a < 0));                                                                                 \
    }                                                                                                                  \
    /* By squaring, wrapping; a negative exponent is 1/a^n towards zero. */                                            \
    LOOM_MATH T loom_math_pow_##NAME(T a, T n) {                                                                       \
        U r = 1, square = (U)a;                                                                                        \
        for (U m = n < 0 ? 0 : (U)n; m; m = (U)(m >> 1)) {                                                             \
            r = m & 1 ? (U)((uint64_t)r * (uint64_t)square) : r;                                                       \
            square = (U)((uint64_t)square * (uint64_t)square);                                                         \
        }                                                                                                              \
        T inverse = a == 1 ? 1 : a == -1 ? (T)(n & 1 ? -1 : 1) : 0;                                                    \
        return n < 0 ? inverse : (T)r;                                                                                 \
    }                                                                                                                  \
    LOOM_MATH_COUNTS(T, U, NAME, BITS)

#define LOOM_MATH_UNSIGNED(U, NAME, BITS)                                                                              \
    LOOM_MATH U loom_math_quot_##NAME(U a, U b) {                                                                      \
        U d = b == 0 ? 1 : b;                                                                                          \
        return b == 0 ? 0 : (U)(a / d);                                                                                \
    }                                                                                                                  \
    LOOM_MATH U loom_math_rem_##NAME(U a, U b) {                                                                       \
        U d = b == 0 ? 1 : b;                                                                                          \
        return (U)(a % d);                                                                                             \
    }                                                                                                                  \
    LOOM_MATH U loom_math_floordiv_##NAME(U a, U b) {                                                                  \
        return loom_math_quot_##NAME(a, b);                                                                            \
    }                                                                                                                  \
    LOOM_MATH U loom_math_floormod_##NAME(U a, U b) {                                                                  \
        return loom_math_rem_##NAME(a, b);                                                                             \
    }                                                                                                                  \
    LOOM_MATH U loom_math_shl_##NAME(U a, U n) {                                                                       \
        return n >= BITS ? 0 : (U)((uint64_t)a << (n & (BITS - 1)));                                                   \
    }                                                                                                                  \
    LOOM_MATH U loom_math_shr_##NAME(U a, U n) {                                                                       \
        return n >= BITS ? 0 : (U)(a >> (n & (BITS - 1)));                                                             \
    }                                                                                                                  \
    LOOM_MATH U loom_math_lshr_##NAME(U a, U n) {                                                                      \
        return loom_math_shr_##NAME(a, n);                                                                             \
    }                                                                                                                  \
    LOOM_MATH U loom_math_abs_##NAME(U a) {                                                                            \
        return a;                                                                                                      \
    }                                                                                                                  \
    LOOM_MATH U loom_math_sgn_##NAME(U a) {                                                                            \
        return (U)(a > 0);                                                                                             \
    }                                                                                                                  \
    LOOM_MATH U loom_math_pow_##NAME(U a, U n) {                                                                       \
        U r = 1;                                                                                                       \
        for (; n; n = (U)(n >> 1)) {                                                                                   \
            r = n & 1 ? (U)((uint64_t)r * (uint64_t)a) : r;                                                            \
            a = (U)((uint64_t)a * (uint64_t)a);                                                                        \
        }                                                                                                              \
        return r;                                                                                                      \
    }                                                                                                                  \
    LOOM_MATH_COUNTS(U, U, NAME, BITS)

/* Counted in 64 bits; zero has as many leading and trailing zeros as its type has bits. */
#define LOOM_MATH_COUNTS(T, U, NAME, BITS)                                                                             \
    LOOM_MATH int32_t loom_math_popc_##NAME(T a) {                                                                     \
        return __builtin_popcountll((U)a);                                                                             \
    }                                                                                                                  \
    LOOM_MATH int32_t loom_math_clz_##NAME(T a) {                                                                      \
        return (U)a ? __builtin_clzll((U)a) - (64 - BITS) : BITS;                                                      \
    }                                                                                                                  \
    LOOM_MATH int32_t loom_math_ctz_##NAME(T a) {                                                                      \
        return (U)a ? __builtin_ctzll((U)a) : BITS;                                                                    \
    }

LOOM_MATH_SIGNED(int8_t, uint8_t, i8, 8)
LOOM_MATH_SIGNED(int16_t, uint16_t, i16, 16)
LOOM_MATH_SIGNED(int32_t, uint32_t, i32, 32)
LOOM_MATH_SIGNED(int64_t, uint64_t, i64, 64)
LOOM_MATH_UNSIGNED(uint8_t, u8, 8)
LOOM_MATH_UNSIGNED(uint16_t, u16, 16)
LOOM_MATH_UNSIGNED(uint32_t, u32, 32)
LOOM_MATH_UNSIGNED(uint64_t, u64, 64)

/* LOW is the least value of T, ABOVE the first float beyond its greatest; both are powers of two or zero, so exact. */
#define LOOM_MATH_TO(T, NAME, LOW, GREATEST, ABOVE)                                                                    \
    LOOM_MATH T loom_math_to_##NAME##_f64(double x) {                                                                  \
        T in = (T)(x >= (double)(LOW) && x < ABOVE ? x : 0.0);                                                         \
        return x >= ABOVE ? GREATEST : x >= (double)(LOW) ? in : LOW;                                                  \
    }                                                                                                                  \
    LOOM_MATH T loom_math_to_##NAME##_f32(float x) {                                                                   \
        T in = (T)(x >= (float)(LOW) && x < (float)ABOVE ? x : 0.0f);                                                  \
        return x >= (float)ABOVE ? GREATEST : x >= (float)(LOW) ? in : LOW;                                            \
    }

LOOM_MATH_TO(int8_t, i8, INT8_MIN, INT8_MAX, 0x1p7)
LOOM_MATH_TO(int16_t, i16, INT16_MIN, INT16_MAX, 0x1p15)
LOOM_MATH_TO(int32_t, i32, INT32_MIN, INT32_MAX, 0x1p31)
LOOM_MATH_TO(int64_t, i64, INT64_MIN, INT64_MAX, 0x1p63)
LOOM_MATH_TO(uint8_t, u8, 0, UINT8_MAX, 0x1p8)
LOOM_MATH_TO(uint16_t, u16, 0, UINT16_MAX, 0x1p16)
LOOM_MATH_TO(uint32_t, u32, 0, UINT32_MAX, 0x1p32)
LOOM_MATH_TO(uint64_t, u64, 0, UINT64_MAX, 0x1p64)

#endif
