/* The one set of scalar functions: the interpreter calls them, generated code inlines them (loom_math_bitcode), so both
 * give the same bits on every target.
 *
 * NAMES. loom_math_<primitive in lower case>_<type>: f32 and f64 for floats (loom_math_exp_f32), i8 ... u64 for
 * integers (loom_math_floordiv_i32), loom_math_to_<integer>_<float> for conversions (loom_math_to_i32_f64). Complex
 * functions are cmul cdiv csqrt cexp cis cabs arg with the suffix of their parts: loom_math_cdiv_f64(ar, ai, br, bi,
 * &re, &im). ACCURACY. Within 2 units in the last place of the exact value (most within 1), see test/accuracy.c for
 * what is held; sin, cos, tan, cis, cexp for arguments to 2^45 (trig.h). Subnormals, infinities and NaN as C's annex F
 * says, but for the sign of a NaN. SPEED. Selects instead of branches, no calls but those that are one instruction on
 * targets that have it (sqrt, fma, floor, ceil, trunc, rint), so loops over them vectorise; only fmod and integer pow
 * loop. Never compiled with -ffast-math or contraction: fused multiply-adds are written out. Threads: pure functions.
 */
#ifndef LOOM_MATH_H
#define LOOM_MATH_H

#include "compiler/interp/math/basics.h"
#include "compiler/interp/math/complex.h"
#include "compiler/interp/math/explog.h"
#include "compiler/interp/math/integer.h"
#include "compiler/interp/math/trig.h"

#endif
