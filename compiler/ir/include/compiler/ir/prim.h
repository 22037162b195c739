/* Scalar primitives. One table serves type rules, interpreter, code generation and documentation.
 *
 * X(NAME, text, arity, class): the operand types and result type by class:
 *   NUM2   (t, t) -> t for integers, floats, complex      INT2  (t, t) -> t integers
 *   NUM1   t -> t                                          INT1  t -> t integers
 *   REAL2  (t, t) -> t integers and floats (min, max)      FLT1/FLT2/FLT3 on floats, -> same
 *   CMP    (t, t) -> bool, integers, floats, bool          EQ    (t, t) -> bool, any scalar
 *   BOOL1, BOOL2                                           FC1   t -> t floats and complex
 *   CREAL  c64 -> f32, c128 -> f64                         CMAKE (f, f) -> complex    SCALE (f, c) -> c
 *   ISF    float or complex -> bool                        ICNT  integer -> i32 (popc clz ctz)
 *   CISF   f -> complex (cis)
 * Meaning as WEFT.md: integers wrap; FLOORDIV/FLOORMOD are `/` and `%` of integers (towards minus infinity), QUOT/REM
 * `//` and `%%`; division by zero is an error; INT_MIN / -1 wraps; shifts by the width or more give 0 or the sign,
 * negative ones are errors; min, max put NaN last. FMA(a, b, c) = a*b + c rounded once: never formed by the code
 * generator on its own.
 */
#ifndef LOOM_COMPILER_IR_PRIM_H
#define LOOM_COMPILER_IR_PRIM_H

#include "common/dtype.h"
#include <stdbool.h>

#define LOOM_PRIMS(X)                                                                                                  \
    X(ADD, "+", 2, NUM2)                                                                                               \
    X(SUB, "-", 2, NUM2)                                                                                               \
    X(MUL, "*", 2, NUM2)                                                                                               \
    X(DIV, "/", 2, NUM2 /* floats, complex */)                                                                         \
    X(FLOORDIV, "idiv", 2, INT2)                                                                                       \
    X(FLOORMOD, "%", 2, INT2)                                                                                          \
    X(QUOT, "//", 2, INT2)                                                                                             \
    X(REM, "%%", 2, INT2)                                                                                              \
    X(FMOD, "fmod", 2, FLT2 /* Weft % on floats: sign of the divisor, as floor */)                                     \
    X(POW, "**", 2, REAL2)                                                                                             \
    X(NEG, "neg", 1, NUM1)                                                                                             \
    X(ABS, "abs", 1, NUM1 /* complex: see CABS */)                                                                     \
    X(SGN, "sgn", 1, NUM1)                                                                                             \
    X(MIN, "min", 2, REAL2)                                                                                            \
    X(MAX, "max", 2, REAL2)                                                                                            \
    X(FMA, "fma", 3, FLT3)                                                                                             \
    X(EQ, "==", 2, EQ)                                                                                                 \
    X(NE, "!=", 2, EQ)                                                                                                 \
    X(LT, "<", 2, CMP)                                                                                                 \
    X(LE, "<=", 2, CMP)                                                                                                \
    X(GT, ">", 2, CMP)                                                                                                 \
    X(GE, ">=", 2, CMP)                                                                                                \
    X(AND, "&&", 2, BOOL2 /* strict: both sides already evaluated */)                                                  \
    X(OR, "||", 2, BOOL2)                                                                                              \
    X(NOT, "!", 1, BOOL1)                                                                                              \
    X(BAND, "&", 2, INT2)                                                                                              \
    X(BOR, "|", 2, INT2)                                                                                               \
    X(BXOR, "^", 2, INT2)                                                                                              \
    X(BNOT, "~", 1, INT1)                                                                                              \
    X(SHL, "<<", 2, INT2)                                                                                              \
    X(SHR, ">>", 2, INT2 /* arithmetic for signed */)                                                                  \
    X(LSHR, ">>>", 2, INT2)                                                                                            \
    X(POPC, "popc", 1, ICNT)                                                                                           \
    X(CLZ, "clz", 1, ICNT)                                                                                             \
    X(CTZ, "ctz", 1, ICNT)                                                                                             \
    X(SIN, "sin", 1, FLT1)                                                                                             \
    X(COS, "cos", 1, FLT1)                                                                                             \
    X(TAN, "tan", 1, FLT1)                                                                                             \
    X(ASIN, "asin", 1, FLT1)                                                                                           \
    X(ACOS, "acos", 1, FLT1)                                                                                           \
    X(ATAN, "atan", 1, FLT1)                                                                                           \
    X(ATAN2, "atan2", 2, FLT2)                                                                                         \
    X(SINH, "sinh", 1, FLT1)                                                                                           \
    X(COSH, "cosh", 1, FLT1)                                                                                           \
    X(TANH, "tanh", 1, FLT1)                                                                                           \
    X(EXP, "exp", 1, FLT1 /* floats only */)                                                                           \
    X(LOG, "log", 1, FLT1)                                                                                             \
    X(LOG2, "log2", 1, FLT1)                                                                                           \
    X(LOG10, "log10", 1, FLT1)                                                                                         \
    X(SQRT, "sqrt", 1, FLT1)                                                                                           \
    X(HYPOT, "hypot", 2, FLT2)                                                                                         \
    X(FLOOR, "floor", 1, FLT1)                                                                                         \
    X(CEIL, "ceil", 1, FLT1)                                                                                           \
    X(ROUND, "round", 1, FLT1 /* half to even */)                                                                      \
    X(TRUNC, "trunc", 1, FLT1)                                                                                         \
    X(IS_NAN, "is_nan", 1, ISF)                                                                                        \
    X(IS_FINITE, "is_finite", 1, ISF)                                                                                  \
    X(RE, "re", 1, CREAL)                                                                                              \
    X(IM, "im", 1, CREAL)                                                                                              \
    X(CABS, "cabs", 1, CREAL)                                                                                          \
    X(ARG, "arg", 1, CREAL)                                                                                            \
    X(CONJ, "conj", 1, NUM1)                                                                                           \
    X(COMPLEX, "complex", 2, CMAKE)                                                                                    \
    X(SCALE, "scale", 2, SCALE)                                                                                        \
    X(CIS, "cis", 1, CISF)                                                                                             \
    X(CSQRT, "csqrt", 1, FC1)                                                                                          \
    X(CEXP, "cexp", 1, FC1)                                                                                            \
    X(SELECT, "select", 3, NUM2 /* (bool, t, t) -> t; both sides already evaluated; any scalar t */)

typedef enum loom_prim {
#define X(name, text, arity, class) LOOM_PRIM_##name,
    LOOM_PRIMS(X)
#undef X
    LOOM_PRIM_COUNT
} loom_prim;

typedef enum loom_prim_class {
    LOOM_PC_NUM2,
    LOOM_PC_NUM1,
    LOOM_PC_INT2,
    LOOM_PC_INT1,
    LOOM_PC_REAL2,
    LOOM_PC_FLT1,
    LOOM_PC_FLT2,
    LOOM_PC_FLT3,
    LOOM_PC_CMP,
    LOOM_PC_EQ,
    LOOM_PC_BOOL1,
    LOOM_PC_BOOL2,
    LOOM_PC_FC1,
    LOOM_PC_CREAL,
    LOOM_PC_CMAKE,
    LOOM_PC_SCALE,
    LOOM_PC_ISF,
    LOOM_PC_ICNT,
    LOOM_PC_CISF
} loom_prim_class;

typedef struct loom_prim_info {
    const char *name;
    int arity;
    loom_prim_class class;
    bool can_trap; /* integer division, shifts by negatives */
    int work;      /* evaluations counted by the cost model; 1 for arithmetic, about 20 for exp */
} loom_prim_info;
extern const loom_prim_info loom_prim_table[LOOM_PRIM_COUNT];

/* What one evaluation counts as. A choice between values that are there counts nothing, as `if` does not: compiled code
 * makes one of an `if` whose branches cost little, and these are counted, both. */
static inline uint64_t loom_prim_counted(loom_prim prim) {
    return prim == LOOM_PRIM_SELECT ? 0 : (uint64_t)loom_prim_table[prim].work;
}

/* Result type of a primitive on these operand types, or LOOM_DTYPES if it does not apply. */
loom_dtype loom_prim_result(loom_prim prim, const loom_dtype *operands);
/* Neutral element of a built-in commutative, associative operator (+ * min max && || & | ^) at a type; false if the
 * primitive is none. */
bool loom_prim_neutral(loom_prim prim, loom_dtype type, loom_scalar *neutral);

#endif
