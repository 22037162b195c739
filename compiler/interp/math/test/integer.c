#include "compiler/interp/math/loom_math.h"
#include "loom_test.h"

LOOM_TEST(math_integer, division_in_four_forms) {
    LOOM_CHECK_EQ_INT(loom_math_floordiv_i32(-7, 2), -4);
    LOOM_CHECK_EQ_INT(loom_math_floordiv_i32(7, -2), -4);
    LOOM_CHECK_EQ_INT(loom_math_floormod_i32(-7, 2), 1);
    LOOM_CHECK_EQ_INT(loom_math_floormod_i32(7, -2), -1);
    LOOM_CHECK_EQ_INT(loom_math_quot_i32(-7, 2), -3);
    LOOM_CHECK_EQ_INT(loom_math_rem_i32(-7, 2), -1);
    LOOM_CHECK_EQ_INT(loom_math_rem_i32(7, -2), 1);
    LOOM_CHECK_EQ_INT(loom_math_floordiv_i8(INT8_MIN, -1), INT8_MIN);
    LOOM_CHECK_EQ_INT(loom_math_quot_i16(INT16_MIN, -1), INT16_MIN);
    LOOM_CHECK_EQ_INT(loom_math_floordiv_i32(INT32_MIN, -1), INT32_MIN);
    LOOM_CHECK_EQ_INT(loom_math_floordiv_i64(INT64_MIN, -1), INT64_MIN);
    LOOM_CHECK_EQ_INT(loom_math_floormod_i64(INT64_MIN, -1), 0);
    LOOM_CHECK_EQ_INT(loom_math_quot_i64(5, 0), 0);
    LOOM_CHECK_EQ_INT(loom_math_floordiv_u8(250, 7), 35);
    LOOM_CHECK_EQ_INT(loom_math_floormod_u64(10, 0), 0);
    for (int a = -128; a < 128; a++) {
        for (int b = -128; b < 128; b++) {
            if (b == 0) continue;
            int floored = (int)floor((double)a / b);
            LOOM_CHECK_EQ_INT(loom_math_floordiv_i8((int8_t)a, (int8_t)b), (int8_t)floored);
            LOOM_CHECK_EQ_INT(loom_math_floormod_i8((int8_t)a, (int8_t)b), (int8_t)(a - b * floored));
            LOOM_CHECK_EQ_INT(loom_math_quot_i8((int8_t)a, (int8_t)b), (int8_t)(a / b));
        }
    }
}

LOOM_TEST(math_integer, shifts) {
    LOOM_CHECK_EQ_INT(loom_math_shl_i32(1, 31), INT32_MIN);
    LOOM_CHECK_EQ_INT(loom_math_shl_i32(1, 32), 0);
    LOOM_CHECK_EQ_INT(loom_math_shr_i32(-8, 1), -4);
    LOOM_CHECK_EQ_INT(loom_math_shr_i32(-8, 100), -1);
    LOOM_CHECK_EQ_INT(loom_math_shr_i32(8, 100), 0);
    LOOM_CHECK_EQ_INT(loom_math_lshr_i32(-1, 28), 15);
    LOOM_CHECK_EQ_INT(loom_math_lshr_i8(-1, 4), 15);
    LOOM_CHECK_EQ_INT(loom_math_lshr_i64(-1, 64), 0);
    LOOM_CHECK_EQ_INT(loom_math_shl_u8(255, 4), 240);
    LOOM_CHECK_EQ_INT(loom_math_shr_u8(255, 8), 0);
    LOOM_CHECK(loom_math_shl_u64(1, 63) == UINT64_C(1) << 63);
}

LOOM_TEST(math_integer, counts) {
    LOOM_CHECK_EQ_INT(loom_math_popc_i8(-1), 8);
    LOOM_CHECK_EQ_INT(loom_math_popc_i64(-1), 64);
    LOOM_CHECK_EQ_INT(loom_math_clz_i8(1), 7);
    LOOM_CHECK_EQ_INT(loom_math_clz_i32(0), 32);
    LOOM_CHECK_EQ_INT(loom_math_clz_u64(0), 64);
    LOOM_CHECK_EQ_INT(loom_math_clz_i16(-1), 0);
    LOOM_CHECK_EQ_INT(loom_math_ctz_i32(8), 3);
    LOOM_CHECK_EQ_INT(loom_math_ctz_u16(0), 16);
    LOOM_CHECK_EQ_INT(loom_math_abs_i8(INT8_MIN), INT8_MIN);
    LOOM_CHECK_EQ_INT(loom_math_sgn_i64(-5), -1);
    LOOM_CHECK_EQ_INT(loom_math_sgn_u8(5), 1);
}

LOOM_TEST(math_integer, powers) {
    LOOM_CHECK_EQ_INT(loom_math_pow_i32(3, 4), 81);
    LOOM_CHECK_EQ_INT(loom_math_pow_i32(-2, 31), INT32_MIN);
    LOOM_CHECK_EQ_INT(loom_math_pow_i32(2, 32), 0);
    LOOM_CHECK_EQ_INT(loom_math_pow_i64(0, 0), 1);
    LOOM_CHECK_EQ_INT(loom_math_pow_i32(1, -5), 1);
    LOOM_CHECK_EQ_INT(loom_math_pow_i32(-1, -5), -1);
    LOOM_CHECK_EQ_INT(loom_math_pow_i32(2, -1), 0);
    LOOM_CHECK_EQ_INT(loom_math_pow_u8(3, 5), 243);
    LOOM_CHECK_EQ_INT(loom_math_pow_u8(3, 6), 729 & 255);
}

LOOM_TEST(math_integer, conversions_saturate) {
    double inf = (double)INFINITY, not = (double)NAN;
    LOOM_CHECK_EQ_INT(loom_math_to_i8_f64(127.9), 127);
    LOOM_CHECK_EQ_INT(loom_math_to_i8_f64(128.0), 127);
    LOOM_CHECK_EQ_INT(loom_math_to_i8_f64(-128.9), -128);
    LOOM_CHECK_EQ_INT(loom_math_to_i8_f64(-1000), -128);
    LOOM_CHECK_EQ_INT(loom_math_to_i32_f64(inf), INT32_MAX);
    LOOM_CHECK_EQ_INT(loom_math_to_i32_f64(-inf), INT32_MIN);
    LOOM_CHECK_EQ_INT(loom_math_to_i32_f64(not), INT32_MIN);
    LOOM_CHECK_EQ_INT(loom_math_to_i64_f64(0x1p63), INT64_MAX);
    LOOM_CHECK_EQ_INT(loom_math_to_i64_f64(-0x1p63), INT64_MIN);
    LOOM_CHECK_EQ_INT(loom_math_to_i64_f64(not), INT64_MIN);
    LOOM_CHECK_EQ_INT(loom_math_to_u8_f64(-0.9), 0);
    LOOM_CHECK_EQ_INT(loom_math_to_u8_f64(not), 0);
    LOOM_CHECK_EQ_INT(loom_math_to_u8_f64(255.9), 255);
    LOOM_CHECK_EQ_INT(loom_math_to_u8_f64(256), 255);
    LOOM_CHECK(loom_math_to_u64_f64(inf) == UINT64_MAX);
    LOOM_CHECK(loom_math_to_u64_f64(0x1p63) == UINT64_C(1) << 63);
    LOOM_CHECK_EQ_INT(loom_math_to_i32_f32(2147483520.0f), 2147483520);
    LOOM_CHECK_EQ_INT(loom_math_to_i32_f32(2147483648.0f), INT32_MAX);
    LOOM_CHECK_EQ_INT(loom_math_to_i16_f32(-40000.0f), INT16_MIN);
    LOOM_CHECK_EQ_INT(loom_math_to_i64_f32(NAN), INT64_MIN);
    LOOM_CHECK_EQ_INT(loom_math_to_i64_f64(-1.9), -1);
}
