/* Distance from the exact value in units in the last place, over many points, against the C library's long double
 * functions (64-bit mantissa). The bounds are what loom_math.h promises. */
#include "compiler/interp/math/loom_math.h"
#include "loom_test.h"

#if LOOM_TEST_SANITIZED
#define POINTS 20000
#else
#define POINTS 400000
#endif

static uint64_t state = 88172645463325252u;
static uint64_t next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}
static double uniform(double a, double b) {
    return a + (b - a) * ((double)(next() >> 11) * 0x1p-53);
}
static double positive(double a, double b) {
    return exp2(uniform(log2(a), log2(b)));
}
static double either(double a, double b) {
    return next() & 1 ? positive(a, b) : -positive(a, b);
}

static double distance(long double exact, double got, int digits, int least) {
    if (isnan(exact) || isnan(got)) return isnan(exact) && isnan(got) ? 0 : 1e9;
    long double most = digits == 53 ? 0x1p1024L : 0x1p128L;
    if (fabsl(exact) >= most || isinf(got)) return isinf(got) && (exact > 0) == (got > 0) ? 0 : 1e9;
    int e = exact == 0 ? least : ilogbl(exact);
    return (double)(fabsl(exact - (long double)got) / ldexpl(1, (e < least ? least : e) - digits + 1));
}

#define HOLDS(name, bound, x_, y_)                                                                                     \
    do {                                                                                                               \
        if (worst <= (bound)) break;                                                                                   \
        fprintf(stderr, "%s: %.3f units at %.17g %.17g\n", name, worst, x_, y_);                                       \
        LOOM_CHECK(worst <= (bound));                                                                                  \
    } while (0)

static void unary(const char *name, double (*f)(double), long double (*g)(long double), double (*point)(void),
                  double bound) {
    double worst = 0, at = 0;
    for (int i = 0; i < POINTS; i++) {
        double x = point(), d = distance(g((long double)x), f(x), 53, -1022);
        if (d > worst) at = x, worst = d;
    }
    HOLDS(name, bound, at, 0.0);
}

static void unary_f32(const char *name, float (*f)(float), long double (*g)(long double), double (*point)(void),
                      double bound) {
    double worst = 0, at = 0;
    for (int i = 0; i < POINTS; i++) {
        float x = (float)point();
        double d = distance(g((long double)x), (double)f(x), 24, -126);
        if (d > worst) at = (double)x, worst = d;
    }
    HOLDS(name, bound, at, 0.0);
}

static void binary(const char *name, double (*f)(double, double), long double (*g)(long double, long double),
                   double (*first)(void), double (*second)(void), double bound) {
    double worst = 0, at = 0, and = 0;
    for (int i = 0; i < POINTS; i++) {
        double x = first(), y = second(), d = distance(g((long double)x, (long double)y), f(x, y), 53, -1022);
        if (d > worst) at = x, and = y, worst = d;
    }
    HOLDS(name, bound, at, and);
}

static void binary_f32(const char *name, float (*f)(float, float), long double (*g)(long double, long double),
                       double (*first)(void), double (*second)(void), double bound) {
    double worst = 0, at = 0, and = 0;
    for (int i = 0; i < POINTS; i++) {
        float x = (float)first(), y = (float)second();
        double d = distance(g((long double)x, (long double)y), (double)f(x, y), 24, -126);
        if (d > worst) at = (double)x, and = (double)y, worst = d;
    }
    HOLDS(name, bound, at, and);
}

static double to_one(void) {
    return uniform(-1, 1);
}
static double to_ten(void) {
    return uniform(-10, 10);
}
static double to_22(void) {
    return uniform(-22, 22);
}
static double to_740(void) {
    return uniform(-746, 711);
}
static double to_100(void) {
    return uniform(-105, 90);
}
static double near_one(void) {
    return uniform(0.5, 2);
}
static double wide(void) {
    return either(1e-320, 1e308);
}
static double wide_positive(void) {
    return positive(1e-320, 1e308);
}
static double wide_f32(void) {
    return either(1e-45, 3e38);
}
static double wide_positive_f32(void) {
    return positive(1e-45, 3e38);
}
static double small(void) {
    return either(1e-300, 1);
}
static double angle(void) {
    return either(1e-9, 1e9);
}
static double far_angle(void) {
    return either(1e9, 0x1p45);
}
static double quarter_turns(void) {
    return (double)(next() % 100000000) * 1.5707963267948966;
}
static double exponent(void) {
    return uniform(-1000, 1000);
}
static double cubes(void) {
    return uniform(-3, 3);
}
static double whole(void) {
    return floor(uniform(-200, 200));
}

LOOM_TEST(math_accuracy, exponentials) {
    unary("exp", loom_math_exp_f64, expl, to_740, 1.05);
    unary("exp near 0", loom_math_exp_f64, expl, small, 1.05);
    unary_f32("exp f32", loom_math_exp_f32, expl, to_100, 1.2);
    unary("sinh", loom_math_sinh_f64, sinhl, to_740, 2.2);
    unary("sinh near 0", loom_math_sinh_f64, sinhl, small, 2.2);
    unary("sinh below 1", loom_math_sinh_f64, sinhl, to_one, 2.2);
    unary("cosh", loom_math_cosh_f64, coshl, to_740, 1.7);
    unary("cosh below 10", loom_math_cosh_f64, coshl, to_ten, 1.7);
    unary("tanh", loom_math_tanh_f64, tanhl, to_22, 2.5);
    unary("tanh below 1", loom_math_tanh_f64, tanhl, to_one, 2.5);
    unary("tanh near 0", loom_math_tanh_f64, tanhl, small, 2.5);
    unary_f32("sinh f32", loom_math_sinh_f32, sinhl, to_100, 0.6);
    unary_f32("cosh f32", loom_math_cosh_f32, coshl, to_100, 0.6);
    unary_f32("tanh f32", loom_math_tanh_f32, tanhl, to_ten, 0.6);
}

LOOM_TEST(math_accuracy, logarithms) {
    unary("log", loom_math_log_f64, logl, wide_positive, 1.0);
    unary("log near 1", loom_math_log_f64, logl, near_one, 1.0);
    unary("log2", loom_math_log2_f64, log2l, wide_positive, 1.0);
    unary("log2 near 1", loom_math_log2_f64, log2l, near_one, 1.0);
    unary("log10", loom_math_log10_f64, log10l, wide_positive, 1.0);
    unary("log10 near 1", loom_math_log10_f64, log10l, near_one, 1.0);
    unary_f32("log f32", loom_math_log_f32, logl, wide_positive_f32, 1.0);
    unary_f32("log f32 near 1", loom_math_log_f32, logl, near_one, 1.0);
    unary_f32("log2 f32", loom_math_log2_f32, log2l, wide_positive_f32, 0.6);
    unary_f32("log10 f32", loom_math_log10_f32, log10l, near_one, 0.6);
}

LOOM_TEST(math_accuracy, circular) {
    unary("sin", loom_math_sin_f64, sinl, to_ten, 1.0);
    unary("sin to 1e9", loom_math_sin_f64, sinl, angle, 1.0);
    unary("sin to 2^45", loom_math_sin_f64, sinl, far_angle, 1.0);
    unary("sin at quarter turns", loom_math_sin_f64, sinl, quarter_turns, 1.0);
    unary("cos", loom_math_cos_f64, cosl, to_ten, 1.0);
    unary("cos to 1e9", loom_math_cos_f64, cosl, angle, 1.0);
    unary("cos to 2^45", loom_math_cos_f64, cosl, far_angle, 1.0);
    unary("cos at quarter turns", loom_math_cos_f64, cosl, quarter_turns, 1.0);
    unary("tan", loom_math_tan_f64, tanl, to_ten, 2.5);
    unary("tan to 1e9", loom_math_tan_f64, tanl, angle, 2.5);
    unary_f32("sin f32", loom_math_sin_f32, sinl, angle, 0.6);
    unary_f32("cos f32", loom_math_cos_f32, cosl, angle, 0.6);
    unary_f32("tan f32", loom_math_tan_f32, tanl, angle, 0.6);
}

LOOM_TEST(math_accuracy, inverses) {
    unary("asin", loom_math_asin_f64, asinl, to_one, 1.0);
    unary("asin near 0", loom_math_asin_f64, asinl, small, 1.0);
    unary("acos", loom_math_acos_f64, acosl, to_one, 1.0);
    unary("acos near 0", loom_math_acos_f64, acosl, small, 1.0);
    unary("atan", loom_math_atan_f64, atanl, to_ten, 1.0);
    unary("atan wide", loom_math_atan_f64, atanl, wide, 1.0);
    binary("atan2", loom_math_atan2_f64, atan2l, to_one, to_one, 1.6);
    binary("atan2 wide", loom_math_atan2_f64, atan2l, wide, wide, 1.6);
    unary_f32("asin f32", loom_math_asin_f32, asinl, to_one, 0.6);
    unary_f32("acos f32", loom_math_acos_f32, acosl, to_one, 0.6);
    unary_f32("atan f32", loom_math_atan_f32, atanl, to_ten, 0.6);
    binary_f32("atan2 f32", loom_math_atan2_f32, atan2l, wide_f32, wide_f32, 0.6);
}

LOOM_TEST(math_accuracy, powers_and_roots) {
    binary("pow", loom_math_pow_f64, powl, wide_positive, cubes, 1.0);
    binary("pow near 1", loom_math_pow_f64, powl, near_one, exponent, 1.0);
    binary("pow of integers", loom_math_pow_f64, powl, to_ten, whole, 1.0);
    binary_f32("pow f32", loom_math_pow_f32, powl, wide_positive_f32, cubes, 0.6);
    binary_f32("pow f32 of integers", loom_math_pow_f32, powl, to_ten, whole, 0.6);
    binary("hypot", loom_math_hypot_f64, hypotl, to_one, to_one, 1.1);
    binary("hypot wide", loom_math_hypot_f64, hypotl, wide, wide, 1.1);
    binary_f32("hypot f32", loom_math_hypot_f32, hypotl, wide_f32, wide_f32, 0.6);
}

/* Complex functions to a few units of the larger part. */
LOOM_TEST(math_accuracy, complex_numbers) {
    for (int i = 0; i < POINTS / 4; i++) {
        double a = to_ten(), b = to_ten(), c = either(1e-150, 1e150), d = c * to_ten(), re, im;
        loom_math_cdiv_f64(a, b, c, d, &re, &im);
        long double n = (long double)c * c + (long double)d * d, size = hypotl(a, b) / sqrtl(n);
        LOOM_CHECK(fabsl(re - ((long double)a * c + (long double)b * d) / n) <= 4e-16L * size);
        LOOM_CHECK(fabsl(im - ((long double)b * c - (long double)a * d) / n) <= 4e-16L * size);
        loom_math_csqrt_f64(a, b, &re, &im);
        LOOM_CHECK(hypot(re * re - im * im - a, 2 * re * im - b) <= 1e-15 * hypot(a, b));
        LOOM_CHECK(re >= 0 && (im >= 0) == (b >= 0));
        loom_math_cexp_f64(a, b, &re, &im);
        LOOM_CHECK(fabsl(re - expl(a) * cosl(b)) <= 4e-16L * expl(a) &&
                   fabsl(im - expl(a) * sinl(b)) <= 4e-16L * expl(a));
    }
}

/* x = q y + r, 0 <= r / y < 1, against the C library's exact remainder. */
LOOM_TEST(math_accuracy, floored_remainder) {
    for (int i = 0; i < POINTS; i++) {
        double x = i & 1 ? wide() : either(1e-3, 1e6), y = i & 2 ? wide() : either(1e-3, 1e3);
        double want = fmod(x, y), got = loom_math_fmod_f64(x, y);
        if (want != 0 && (x < 0) != (y < 0)) want += y;
        if (got != want) fprintf(stderr, "%.17g %% %.17g: %.17g, expected %.17g\n", x, y, got, want);
        LOOM_CHECK(got == want);
    }
}
