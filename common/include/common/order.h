/* The order that sorts have: every scalar that has one becomes a word of 64 bits whose order as an unsigned number is
 * that of the scalar. Integers by their offset, floats by their bits: both zeros are one, and NaN, whatever its sign
 * and payload, is the largest. So comparing is the same for all types.
 */
#ifndef LOOM_COMMON_ORDER_H
#define LOOM_COMMON_ORDER_H

#include "common/dtype.h"
#include <string.h>

#define LOOM_ORDER_TOP ((uint64_t)1 << 63)

static inline uint64_t loom_order_signed(int64_t value) {
    return (uint64_t)value ^ LOOM_ORDER_TOP;
}

/* f32 as well: each is an f64. */
static inline uint64_t loom_order_float(double value) {
    double one_zero = value == 0 ? 0 : value;
    uint64_t bits;
    memcpy(&bits, &one_zero, sizeof bits);
    uint64_t word = bits & LOOM_ORDER_TOP ? ~bits : bits | LOOM_ORDER_TOP;
    return value != value ? UINT64_MAX : word;
}

/* Not of complex numbers: they have no order. */
static inline uint64_t loom_order_word(loom_dtype type, loom_scalar value) {
    if (type == LOOM_BOOL) return value.b;
    if (loom_dtype_is_unsigned(type)) return value.u;
    return loom_dtype_is_integer(type) ? loom_order_signed(value.i) : loom_order_float(value.f);
}

#endif
