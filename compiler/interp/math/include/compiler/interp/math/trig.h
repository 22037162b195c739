/* Circular functions and their inverses. Included by loom_math.h alone.
 *
 * sin, cos: x = n pi/2 + r with pi/2 in three parts of 53 bits. n * part1 is exact in the fused operation and so is the
 * difference; the second product is carried as a pair, so that r + tail has 53 right bits even next to a multiple of
 * pi/2. LIMIT: |x| <= 2^45, where a unit in the last place is 0.008 rad. Beyond it a double no longer says which phase
 * is meant and the result is NaN, so that nobody takes it for one. (A slow path for large arguments would be a branch,
 * and a loop with that branch does not vectorise.) The polynomials are those of FreeBSD's msun (Sun Microsystems 1993,
 * freely distributable).
 */
#ifndef LOOM_MATH_TRIG_H
#define LOOM_MATH_TRIG_H

#include "compiler/interp/math/basics.h"

#define LOOM_TRIG_LIMIT 0x1p45
#define LOOM_PIO2_1     0x1.921fb54442d18p0
#define LOOM_PIO2_2     0x1.1a62633145c07p-54
#define LOOM_PIO2_3     -0x1.f1976b7ed8fbcp-110

typedef struct lm_angle {
    double r, tail;
    uint64_t quadrant; /* modulo 4 in its low bits */
} lm_angle;

LOOM_MATH_PART lm_angle lm_reduce_angle(double x) {
    double shifted = x * 0x1.45f306dc9c883p-1 + LOOM_MAGIC64, n = shifted - LOOM_MAGIC64;
    double r0 = lm_fma(-n, LOOM_PIO2_1, x);
    lm_pair p = lm_two_product(n, LOOM_PIO2_2);
    lm_pair d = lm_two_sum(r0, -p.hi);
    double tail = lm_fma(-n, LOOM_PIO2_3, d.lo - p.lo);
    return (lm_angle){d.hi, tail, lm_bits(shifted)};
}

LOOM_MATH_PART double lm_sin_kernel(double x, double y) {
    double z = x * x, w = z * z, v = z * x;
    double r = 8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * 2.75573137070700676789e-06) +
               z * w * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10);
    return x - ((z * (0.5 * y - v * r) - y) - v * -1.66666666666666324348e-01);
}

LOOM_MATH_PART double lm_cos_kernel(double x, double y) {
    double z = x * x, w = z * z, hz = 0.5 * z, one = 1.0 - hz;
    double r =
        z * (4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * 2.48015872894767294178e-05)) +
        w * w * (-2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11));
    return one + (((1.0 - one) - hz) + (z * r - x * y));
}

LOOM_MATH_PART void lm_sincos(double x, double *sine, double *cosine) {
    lm_angle a = lm_reduce_angle(x);
    double s = lm_sin_kernel(a.r, a.tail), c = lm_cos_kernel(a.r, a.tail);
    bool swap = a.quadrant & 1, known = lm_abs(x) <= LOOM_TRIG_LIMIT;
    double sn = swap ? c : s, cs = swap ? s : c;
    sn = lm_from_bits(lm_bits(sn) ^ (a.quadrant & 2) << 62);
    cs = lm_from_bits(lm_bits(cs) ^ ((a.quadrant + 1) & 2) << 62);
    *sine = known ? sn : LOOM_NAN64;
    *cosine = known ? cs : LOOM_NAN64;
}

LOOM_MATH double loom_math_sin_f64(double x) {
    double s, c;
    lm_sincos(x, &s, &c);
    return s;
}

LOOM_MATH double loom_math_cos_f64(double x) {
    double s, c;
    lm_sincos(x, &s, &c);
    return c;
}

LOOM_MATH double loom_math_tan_f64(double x) {
    double s, c;
    lm_sincos(x, &s, &c);
    return s / c;
}

LOOM_MATH void loom_math_cis_f64(double x, double *re, double *im) {
    lm_sincos(x, im, re);
}

/* f32: reduced in double precision, where shorter polynomials do. */
LOOM_MATH_PART void lm_sincosf(float x, double *sine, double *cosine) {
    double xd = (double)x, shifted = xd * 0x1.45f306dc9c883p-1 + LOOM_MAGIC64, n = shifted - LOOM_MAGIC64;
    double r = lm_fma(-n, LOOM_PIO2_2, lm_fma(-n, LOOM_PIO2_1, xd)), z = r * r;
    double s = lm_fma(z, lm_fma(z, lm_fma(z, 0x1.71de3a556c734p-19, -0x1.a01a01a01a01ap-13), 0x1.1111111111111p-7),
                      -0x1.5555555555555p-3);
    double c = lm_fma(z, lm_fma(z, lm_fma(z, -0x1.27e4fb7789f5cp-22, 0x1.a01a01a01a01ap-16), -0x1.6c16c16c16c17p-10),
                      0x1.5555555555555p-5);
    s = r * lm_fma(z, s, 1.0); /* keeps -0 */
    c = lm_fma(z, lm_fma(z, c, -0.5), 1.0);
    uint64_t quadrant = lm_bits(shifted);
    bool swap = quadrant & 1, known = lm_abs(xd) <= LOOM_TRIG_LIMIT;
    double sn = lm_from_bits(lm_bits(swap ? c : s) ^ (quadrant & 2) << 62);
    double cs = lm_from_bits(lm_bits(swap ? s : c) ^ ((quadrant + 1) & 2) << 62);
    *sine = known ? sn : LOOM_NAN64;
    *cosine = known ? cs : LOOM_NAN64;
}

LOOM_MATH float loom_math_sin_f32(float x) {
    double s, c;
    lm_sincosf(x, &s, &c);
    return (float)s;
}

LOOM_MATH float loom_math_cos_f32(float x) {
    double s, c;
    lm_sincosf(x, &s, &c);
    return (float)c;
}

LOOM_MATH float loom_math_tan_f32(float x) {
    double s, c;
    lm_sincosf(x, &s, &c);
    return (float)(s / c);
}

LOOM_MATH void loom_math_cis_f32(float x, float *re, float *im) {
    double s, c;
    lm_sincosf(x, &s, &c);
    *re = (float)c;
    *im = (float)s;
}

/* ---- inverses ---- */

/* atan(num / den) for num, den >= 0, not both 0 or infinite: reduced about 0, 1/2, 1, 3/2 or infinity before the one
 * division. */
LOOM_MATH_PART double lm_atan_ratio(double num, double den) {
    bool a = num < 0.4375 * den, b = num < 0.6875 * den, c = num < 1.1875 * den, d = num < 2.4375 * den;
    double top = a ? num : b ? 2.0 * num - den : c ? num - den : d ? num - 1.5 * den : -den;
    double low = a ? den : b ? 2.0 * den + num : c ? num + den : d ? den + 1.5 * num : num;
    double hi = a   ? 0.0
                : b ? 4.63647609000806093515e-01
                : c ? 7.85398163397448278999e-01
                : d ? 9.82793723247329054082e-01
                    : 1.57079632679489655800e+00;
    double lo = a   ? 0.0
                : b ? 2.26987774529616870924e-17
                : c ? 3.06161699786838301793e-17
                : d ? 1.39033110312309984516e-17
                    : 6.12323399573676603587e-17;
    double t = top / low, z = t * t, w = z * z;
    double s1 = 1.62858201153657823623e-02;
    s1 = 4.97687799461593236017e-02 + w * s1;
    s1 = 6.66107313738753120669e-02 + w * s1;
    s1 = 9.09088713343650656196e-02 + w * s1;
    s1 = 1.42857142725034663711e-01 + w * s1;
    s1 = z * (3.33333333333329318027e-01 + w * s1);
    double s2 = -3.65315727442169155270e-02;
    s2 = -5.83357013379057348645e-02 + w * s2;
    s2 = -7.69187620504482999495e-02 + w * s2;
    s2 = -1.11111104054623557880e-01 + w * s2;
    s2 = w * (-1.99999999998764832476e-01 + w * s2);
    return hi - ((t * (s1 + s2) - lo) - t);
}

LOOM_MATH double loom_math_atan_f64(double x) {
    double a = lm_abs(x), r = lm_atan_ratio(a, 1.0);
    r = a == LOOM_INF64 ? LOOM_PIO2_1 : r;
    return lm_copysign(a == a ? r : a, x);
}

LOOM_MATH double loom_math_atan2_f64(double y, double x) {
    double ay = lm_abs(y), ax = lm_abs(x);
    bool both_infinite = ay == LOOM_INF64 && ax == LOOM_INF64, both_zero = ay == 0.0 && ax == 0.0;
    /* Scaled so that neither 2.4375 * den nor den + 1.5 * num overflows, nor small ones lose bits. */
    double scale = ay > 0x1p1000 || ax > 0x1p1000 ? 0x1p-100 : ay < 0x1p-900 && ax < 0x1p-900 ? 0x1p100 : 1.0;
    double num = both_infinite ? 1.0
                 : both_zero   ? 0.0
                               : ay * scale,
           den = both_infinite || both_zero ? 1.0 : ax * scale;
    double r = lm_atan_ratio(num, den);
    r = num == LOOM_INF64 ? LOOM_PIO2_1 : den == LOOM_INF64 ? 0.0 : r;
    /* pi - r with the low half of pi */
    r = lm_bits(x) >> 63 ? 3.1415926535897931160e+00 - (r - 1.2246467991473531772e-16) : r;
    return x != x || y != y ? LOOM_NAN64 : lm_copysign(r, y);
}

LOOM_MATH_PART double lm_asin_ratio(double z) {
    double p = 7.91534994289814532176e-04 + z * 3.47933107596021167570e-05;
    p = -4.00555345006794114027e-02 + z * p;
    p = 2.01212532134862925881e-01 + z * p;
    p = -3.25565818622400915405e-01 + z * p;
    p = z * (1.66666666666666657415e-01 + z * p);
    double q = -6.88283971605453293030e-01 + z * 7.70381505559019352791e-02;
    q = 2.02094576023350569471e+00 + z * q;
    q = -2.40339491173441421878e+00 + z * q;
    return p / (1.0 + z * q);
}

LOOM_MATH double loom_math_asin_f64(double x) {
    double a = lm_abs(x);
    bool small = a < 0.5;
    double z = small ? x * x : 0.5 * (1.0 - a), r = lm_asin_ratio(z), s = __builtin_sqrt(small ? 0.25 : z);
    /* pi/2 - 2 (s + s r), s split so that its square is exact */
    double f = lm_from_bits(lm_bits(s) & 0xffffffff00000000), c = s + f == 0.0 ? 0.0 : (z - f * f) / (s + f);
    double large =
        LOOM_PIO2_1 * 0.5 - (2.0 * s * r - (6.123233995736766036e-17 - 2.0 * c) - (LOOM_PIO2_1 * 0.5 - 2.0 * f));
    double y = small ? a + a * r : large;
    return lm_copysign(a <= 1.0 ? y : LOOM_NAN64, x);
}

LOOM_MATH double loom_math_acos_f64(double x) {
    double a = lm_abs(x);
    bool small = a < 0.5, negative = x < 0.0;
    double z = small ? x * x : 0.5 * (1.0 - a), r = lm_asin_ratio(z), s = __builtin_sqrt(small ? 0.25 : z);
    double f = lm_from_bits(lm_bits(s) & 0xffffffff00000000), c = s + f == 0.0 ? 0.0 : (z - f * f) / (s + f);
    double near_zero = LOOM_PIO2_1 - (x - (6.123233995736766036e-17 - x * r));
    double low = 2.0 * (LOOM_PIO2_1 - (s + (r * s - 6.123233995736766036e-17)));
    double high = 2.0 * (f + (r * s + c));
    double y = small ? near_zero : negative ? low : high;
    return a <= 1.0 ? y : LOOM_NAN64;
}

LOOM_MATH float loom_math_atan_f32(float x) {
    return (float)loom_math_atan_f64((double)x);
}
LOOM_MATH float loom_math_atan2_f32(float y, float x) {
    return (float)loom_math_atan2_f64((double)y, (double)x);
}
LOOM_MATH float loom_math_asin_f32(float x) {
    return (float)loom_math_asin_f64((double)x);
}
LOOM_MATH float loom_math_acos_f32(float x) {
    return (float)loom_math_acos_f64((double)x);
}

#endif
