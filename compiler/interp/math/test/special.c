/* Infinities, NaN, zeros and the ends of ranges, as C's annex F has them. */
#include "compiler/interp/math/loom_math.h"
#include "loom_test.h"

#define INF ((double)INFINITY)
#define NOT ((double)NAN)

static bool same(double a, double b) {
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}
#define IS(got, want)                                                                                                  \
    do {                                                                                                               \
        double got_ = (double)(got), want_ = (double)(want);                                                           \
        if (!same(got_, want_)) fprintf(stderr, "%s = %.17g, expected %.17g\n", #got, got_, want_);                    \
        LOOM_CHECK(same(got_, want_));                                                                                 \
    } while (0)

static const double odd_ones[] = {0.0,     -0.0,      1.0,   -1.0,   0.5,        -0.5,   2.0,
                                  -2.0,    3.0,       -3.0,  1e300,  -1e300,     1e-300, 5e-324,
                                  -5e-324, 0x1p-1022, 709.0, -745.0, 0x1p52 + 1, 0x1p53, 1.7976931348623157e308,
                                  1e19};
#define ODD (sizeof odd_ones / sizeof *odd_ones)

#define BOTH(name, x, want)                                                                                            \
    IS(loom_math_##name##_f64(x), want);                                                                               \
    IS(loom_math_##name##_f32((float)(x)), (float)(want))

LOOM_TEST(math_special, one_argument) {
    BOTH(exp, 0.0, 1.0);
    BOTH(exp, -0.0, 1.0);
    BOTH(exp, INF, INF);
    BOTH(exp, -INF, 0.0);
    BOTH(exp, NOT, NOT);
    BOTH(exp, 1e30, INF);
    BOTH(exp, -1e30, 0.0);
    BOTH(log, 1.0, 0.0);
    BOTH(log, 0.0, -INF);
    BOTH(log, -0.0, -INF);
    BOTH(log, -1.0, NOT);
    BOTH(log, INF, INF);
    BOTH(log, -INF, NOT);
    BOTH(log, NOT, NOT);
    BOTH(log2, 0.0, -INF);
    BOTH(log2, 1024.0, 10.0);
    BOTH(log2, INF, INF);
    BOTH(log10, -1.0, NOT);
    BOTH(log10, 1000.0, 3.0);
    BOTH(sin, 0.0, 0.0);
    BOTH(sin, -0.0, -0.0);
    BOTH(sin, INF, NOT);
    BOTH(sin, NOT, NOT);
    BOTH(cos, -0.0, 1.0);
    BOTH(cos, -INF, NOT);
    BOTH(tan, -0.0, -0.0);
    BOTH(tan, INF, NOT);
    BOTH(asin, -0.0, -0.0);
    BOTH(asin, 1.5, NOT);
    BOTH(asin, 1.0, M_PI / 2);
    BOTH(asin, -1.0, -M_PI / 2);
    BOTH(acos, 1.0, 0.0);
    BOTH(acos, -1.0, M_PI);
    BOTH(acos, -1.5, NOT);
    BOTH(acos, NOT, NOT);
    BOTH(atan, INF, M_PI / 2);
    BOTH(atan, -INF, -M_PI / 2);
    BOTH(atan, -0.0, -0.0);
    BOTH(atan, NOT, NOT);
    BOTH(sinh, -0.0, -0.0);
    BOTH(sinh, -INF, -INF);
    BOTH(sinh, NOT, NOT);
    BOTH(cosh, -INF, INF);
    BOTH(cosh, NOT, NOT);
    BOTH(cosh, 0.0, 1.0);
    BOTH(tanh, INF, 1.0);
    BOTH(tanh, -INF, -1.0);
    BOTH(tanh, -0.0, -0.0);
    BOTH(tanh, NOT, NOT);
    BOTH(sqrt, -1.0, NOT);
    BOTH(sqrt, -0.0, -0.0);
    BOTH(floor, -0.5, -1.0);
    BOTH(ceil, 0.5, 1.0);
    BOTH(round, 2.5, 2.0);
    BOTH(round, 3.5, 4.0);
    BOTH(trunc, -1.5, -1.0);
    BOTH(sgn, -3.0, -1.0);
    BOTH(sgn, -0.0, -0.0);
    BOTH(sgn, NOT, NOT);
    LOOM_CHECK(isnan(loom_math_sin_f64(0x1p46)) && isnan(loom_math_cos_f32(1e20f)));
    LOOM_CHECK(loom_math_is_nan_f64(NOT) && !loom_math_is_nan_f32(1.0f));
    LOOM_CHECK(!loom_math_is_finite_f64(INF) && !loom_math_is_finite_f32(NAN) && loom_math_is_finite_f64(-1e308));
}

LOOM_TEST(math_special, pow_and_atan2_as_the_c_library) {
    double values[ODD + 3];
    memcpy(values, odd_ones, sizeof odd_ones);
    values[ODD] = INF;
    values[ODD + 1] = -INF;
    values[ODD + 2] = NOT;
    for (size_t i = 0; i < ODD + 3; i++) {
        for (size_t k = 0; k < ODD + 3; k++) {
            double x = values[i], y = values[k], a = pow(x, y), b = loom_math_pow_f64(x, y);
            if (!same(a, b) && !(fabs(a - b) <= 3e-16 * fabs(a)))
                fprintf(stderr, "pow %g %g: %g, expected %g\n", x, y, b, a);
            LOOM_CHECK(same(a, b) || fabs(a - b) <= 3e-16 * fabs(a));
            float xf = (float)x, yf = (float)y, af = powf(xf, yf), bf = loom_math_pow_f32(xf, yf);
            LOOM_CHECK(same((double)af, (double)bf) || fabsf(af - bf) <= 2e-7f * fabsf(af));
            a = atan2(x, y);
            b = loom_math_atan2_f64(x, y);
            if (!same(a, b) && !(fabs(a - b) <= 4e-16 * fabs(a)))
                fprintf(stderr, "atan2 %g %g: %g, expected %g\n", x, y, b, a);
            LOOM_CHECK(same(a, b) || fabs(a - b) <= 4e-16 * fabs(a));
            a = hypot(x, y);
            b = loom_math_hypot_f64(x, y);
            if (!same(a, b) && !(fabs(a - b) <= 3e-16 * fabs(a)))
                fprintf(stderr, "hypot %g %g: %g, expected %g\n", x, y, b, a);
            LOOM_CHECK(same(a, b) || fabs(a - b) <= 3e-16 * fabs(a));
        }
    }
}

LOOM_TEST(math_special, nan_is_last) {
    IS(loom_math_min_f64(NOT, 1.0), 1.0);
    IS(loom_math_min_f64(1.0, NOT), 1.0);
    IS(loom_math_max_f64(NOT, 1.0), NOT);
    IS(loom_math_max_f64(1.0, NOT), NOT);
    IS(loom_math_min_f32(NAN, -INFINITY), -INF);
    IS(loom_math_max_f32(INFINITY, NAN), NOT);
    IS(loom_math_min_f64(NOT, NOT), NOT);
    IS(loom_math_max_f64(2.0, 3.0), 3.0);
}

LOOM_TEST(math_special, remainder) {
    IS(loom_math_fmod_f64(5.5, 2.0), 1.5);
    IS(loom_math_fmod_f64(-5.5, 2.0), 0.5);
    IS(loom_math_fmod_f64(5.5, -2.0), -0.5);
    IS(loom_math_fmod_f64(-5.5, -2.0), -1.5);
    IS(loom_math_fmod_f64(-4.0, 2.0), 0.0);
    IS(loom_math_fmod_f64(1.0, 0.0), NOT);
    IS(loom_math_fmod_f64(INF, 1.0), NOT);
    IS(loom_math_fmod_f64(1.0, INF), 1.0);
    IS(loom_math_fmod_f32(7.0f, 3.0f), 1.0);
}

LOOM_TEST(math_special, complex_numbers) {
    double re, im;
    loom_math_csqrt_f64(-4.0, 0.0, &re, &im);
    IS(re, 0.0);
    IS(im, 2.0);
    loom_math_csqrt_f64(-4.0, -0.0, &re, &im);
    IS(im, -2.0);
    loom_math_csqrt_f64(0.0, 0.0, &re, &im);
    IS(re, 0.0);
    IS(im, 0.0);
    loom_math_csqrt_f64(1e308, 1e308, &re, &im);
    LOOM_CHECK(fabs(re / 1.0986841134678098e154 - 1) < 1e-15);
    loom_math_cdiv_f64(1.0, 1.0, 1e308, 1e308, &re, &im);
    IS(re, 1e-308);
    IS(im, 0.0);
    loom_math_cdiv_f64(1.0, 0.0, 0.0, 0.0, &re, &im);
    LOOM_CHECK(!isfinite(re));
    loom_math_cdiv_f64(1e-290, 0.0, 1e-290, 0.0, &re, &im);
    IS(re, 1.0);
    loom_math_cexp_f64(1.0, 0.0, &re, &im);
    IS(im, 0.0);
    loom_math_cis_f64(0.0, &re, &im);
    IS(re, 1.0);
    IS(im, 0.0);
    IS(loom_math_arg_f64(-1.0, 0.0), M_PI);
    IS(loom_math_cabs_f64(3.0, -4.0), 5.0);
}
