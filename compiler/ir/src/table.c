/* The tables of operations and of scalar primitives, and the type rules of primitives. */
#include "compiler/ir/core.h"
#include "compiler/ir/prim.h"
#include <math.h>

const loom_op_info loom_op_table[LOOM_OPS] = {
#define X(name, text, operands, bodies, steps, note) [LOOM_OP_##name] = {text, operands, bodies, steps, note},
    LOOM_CORE_OPS(X)
#undef X
};

#define IN(name, from, to) (LOOM_PRIM_##name >= LOOM_PRIM_##from && LOOM_PRIM_##name <= LOOM_PRIM_##to)
#define IS(name, other)    (LOOM_PRIM_##name == LOOM_PRIM_##other)
#define TRAPS(name)        (IN(name, FLOORDIV, REM) || IN(name, SHL, LSHR))
/* In additions: what a vectorised version costs on a current core, to a factor of two. */
#define WORK(name)                                                                                                     \
    ((IN(name, SIN, LOG10) || IS(name, CIS) || IS(name, CEXP) || IS(name, ARG))         ? 20                           \
     : (IS(name, POW))                                                                  ? 40                           \
     : (IS(name, DIV) || IN(name, FLOORDIV, FMOD) || IS(name, SQRT) || IS(name, CSQRT)) ? 8                            \
     : (IS(name, HYPOT) || IS(name, CABS))                                              ? 12                           \
                                                                                        : 1)

const loom_prim_info loom_prim_table[LOOM_PRIM_COUNT] = {
#define X(name, text, arity, class) [LOOM_PRIM_##name] = {text, arity, LOOM_PC_##class, TRAPS(name), WORK(name)},
    LOOM_PRIMS(X)
#undef X
};

static bool is_number(loom_dtype t) {
    return loom_dtype_is_integer(t) || loom_dtype_is_float(t) || loom_dtype_is_complex(t);
}

/* Same type on both sides of an operator of class NUM2; DIV has no integers (those are FLOORDIV and QUOT). */
static loom_dtype num2_result(loom_prim prim, const loom_dtype *t) {
    if (prim == LOOM_PRIM_SELECT) return t[0] == LOOM_BOOL && t[1] == t[2] ? t[1] : LOOM_DTYPES;
    if (t[0] != t[1] || !is_number(t[0])) return LOOM_DTYPES;
    return prim == LOOM_PRIM_DIV && loom_dtype_is_integer(t[0]) ? LOOM_DTYPES : t[0];
}

static loom_dtype num1_result(loom_prim prim, loom_dtype t) {
    if (prim == LOOM_PRIM_CONJ) return loom_dtype_is_complex(t) ? t : LOOM_DTYPES;
    if (prim == LOOM_PRIM_ABS || prim == LOOM_PRIM_SGN)
        return is_number(t) && !loom_dtype_is_complex(t) ? t : LOOM_DTYPES;
    return is_number(t) ? t : LOOM_DTYPES;
}

static loom_dtype complex_of(loom_dtype real) {
    return real == LOOM_F32 ? LOOM_C64 : LOOM_C128;
}

loom_dtype loom_prim_result(loom_prim prim, const loom_dtype *t) {
    const loom_dtype none = LOOM_DTYPES;
    if ((unsigned)prim >= LOOM_PRIM_COUNT) return none;
    switch (loom_prim_table[prim].class) {
    case LOOM_PC_NUM2: return num2_result(prim, t);
    case LOOM_PC_NUM1: return num1_result(prim, t[0]);
    case LOOM_PC_INT2: return t[0] == t[1] && loom_dtype_is_integer(t[0]) ? t[0] : none;
    case LOOM_PC_INT1: return loom_dtype_is_integer(t[0]) ? t[0] : none;
    case LOOM_PC_REAL2: return t[0] == t[1] && (loom_dtype_is_integer(t[0]) || loom_dtype_is_float(t[0])) ? t[0] : none;
    case LOOM_PC_FLT1: return loom_dtype_is_float(t[0]) ? t[0] : none;
    case LOOM_PC_FLT2: return t[0] == t[1] && loom_dtype_is_float(t[0]) ? t[0] : none;
    case LOOM_PC_FLT3: return t[0] == t[1] && t[1] == t[2] && loom_dtype_is_float(t[0]) ? t[0] : none;
    case LOOM_PC_CMP: return t[0] == t[1] && !loom_dtype_is_complex(t[0]) ? LOOM_BOOL : none;
    case LOOM_PC_EQ: return t[0] == t[1] ? LOOM_BOOL : none;
    case LOOM_PC_BOOL1: return t[0] == LOOM_BOOL ? LOOM_BOOL : none;
    case LOOM_PC_BOOL2: return t[0] == LOOM_BOOL && t[1] == LOOM_BOOL ? LOOM_BOOL : none;
    case LOOM_PC_FC1: return loom_dtype_is_float(t[0]) || loom_dtype_is_complex(t[0]) ? t[0] : none;
    case LOOM_PC_CREAL: return loom_dtype_is_complex(t[0]) ? loom_dtype_real(t[0]) : none;
    case LOOM_PC_CMAKE: return t[0] == t[1] && loom_dtype_is_float(t[0]) ? complex_of(t[0]) : none;
    case LOOM_PC_SCALE: return loom_dtype_is_complex(t[1]) && t[0] == loom_dtype_real(t[1]) ? t[1] : none;
    case LOOM_PC_ISF: return loom_dtype_is_float(t[0]) || loom_dtype_is_complex(t[0]) ? LOOM_BOOL : none;
    case LOOM_PC_ICNT: return loom_dtype_is_integer(t[0]) ? LOOM_I32 : none;
    case LOOM_PC_CISF: return loom_dtype_is_float(t[0]) ? complex_of(t[0]) : none;
    }
    return none;
}

static unsigned bits_of(loom_dtype t) {
    return (unsigned)(8 * loom_dtype_size(t));
}

static loom_scalar integer_bound(loom_dtype t, bool greatest) {
    loom_scalar s = {.u = 0};
    if (loom_dtype_is_signed(t)) {
        int64_t most = (int64_t)(UINT64_MAX >> (65 - bits_of(t)));
        s.i = greatest ? most : -most - 1;
    } else {
        s.u = greatest ? UINT64_MAX >> (64 - bits_of(t)) : 0;
    }
    return s;
}

static loom_scalar number(loom_dtype t, int value) {
    loom_scalar s = {.c = {0, 0}};
    if (loom_dtype_is_integer(t)) {
        s.i = value;
    } else if (loom_dtype_is_complex(t)) {
        s.c[0] = value;
    } else {
        s.f = value;
    }
    return s;
}

bool loom_prim_neutral(loom_prim prim, loom_dtype type, loom_scalar *neutral) {
    loom_dtype operands[3] = {type, type, type};
    if (prim == LOOM_PRIM_SELECT || loom_prim_result(prim, operands) != type) return false;
    switch (prim) {
    case LOOM_PRIM_ADD: *neutral = number(type, 0); return true;
    case LOOM_PRIM_MUL: *neutral = number(type, 1); return true;
    /* NaN counts as the last of all, so that min(inf, NaN) is inf and inf is not neutral for a NaN; the sums over
     * [NaN] alone differ. NaN is neutral: min(NaN, x) = x. max(x, NaN) = NaN absorbs, and -inf is neutral. */
    case LOOM_PRIM_MIN:
        *neutral = loom_dtype_is_float(type) ? (loom_scalar){.f = (double)NAN} : integer_bound(type, true);
        return true;
    case LOOM_PRIM_MAX:
        *neutral = loom_dtype_is_float(type) ? (loom_scalar){.f = -HUGE_VAL} : integer_bound(type, false);
        return true;
    case LOOM_PRIM_AND: *neutral = (loom_scalar){.b = true}; return true;
    case LOOM_PRIM_OR: *neutral = (loom_scalar){.b = false}; return true;
    case LOOM_PRIM_BAND:
        *neutral = loom_dtype_is_signed(type) ? (loom_scalar){.i = -1} : integer_bound(type, true);
        return true;
    case LOOM_PRIM_BOR:
    case LOOM_PRIM_BXOR: *neutral = (loom_scalar){.u = 0}; return true;
    default: return false;
    }
}
