#include "common/order.h"
#include "loom_test.h"
#include <math.h>

static uint64_t word(loom_dtype type, loom_scalar s) {
    return loom_order_word(type, s);
}

LOOM_TEST(order, integers) {
    LOOM_CHECK(word(LOOM_BOOL, (loom_scalar){.b = false}) < word(LOOM_BOOL, (loom_scalar){.b = true}));
    static const int64_t ascending[] = {INT64_MIN, -129, -1, 0, 1, 128, INT64_MAX};
    for (size_t i = 1; i < sizeof ascending / sizeof *ascending; i++) {
        loom_scalar a = {.i = ascending[i - 1]}, b = {.i = ascending[i]};
        LOOM_CHECK(word(LOOM_I64, a) < word(LOOM_I64, b));
        LOOM_CHECK(word(LOOM_I32, a) < word(LOOM_I32, b));
    }
    LOOM_CHECK(word(LOOM_U64, (loom_scalar){.u = 1}) < word(LOOM_U64, (loom_scalar){.u = UINT64_MAX}));
    LOOM_CHECK(word(LOOM_U64, (loom_scalar){.u = INT64_MAX}) < word(LOOM_U64, (loom_scalar){.u = UINT64_MAX}));
}

LOOM_TEST(order, floats) {
    static const double ascending[] = {-INFINITY, -1e300, -1, -0x1p-1074, 0, 0x1p-1074, 1, 1.5, 1e300, INFINITY, NAN};
    for (size_t i = 1; i < sizeof ascending / sizeof *ascending; i++) {
        LOOM_CHECK(loom_order_float(ascending[i - 1]) < loom_order_float(ascending[i]));
    }
    LOOM_CHECK(loom_order_float(-0.0) == loom_order_float(0.0));
    LOOM_CHECK(loom_order_float(NAN) == loom_order_float(-NAN));
    LOOM_CHECK(word(LOOM_F32, (loom_scalar){.f = -1.5}) == loom_order_float(-1.5));
}
