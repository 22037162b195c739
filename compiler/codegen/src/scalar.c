/* Scalar primitives and conversions as LLVM IR, with the meaning of WEFT.md: integers wrap, division and shifts are
 * checked, minimum and maximum put NaN last, floats are strict. No fast-math flag is set here; fused multiply-add comes
 * from FMA alone. */
#include "gen.h"
#include <ctype.h>
#include <math.h>
#include <string.h>

static unsigned bits_of(loom_dtype dtype) {
    return dtype == LOOM_BOOL ? 1 : (unsigned)(8 * loom_dtype_size(dtype));
}

loom_sv loom_sv_const(const loom_fn *fn, loom_dtype dtype, loom_scalar value) {
    LLVMTypeRef type = loom_gen_type(fn->g, dtype);
    if (dtype == LOOM_BOOL) return (loom_sv){LLVMConstInt(type, value.b, 0), NULL};
    if (loom_dtype_is_integer(dtype)) return (loom_sv){LLVMConstInt(type, value.u, 0), NULL};
    if (loom_dtype_is_float(dtype)) return (loom_sv){LLVMConstReal(type, value.f), NULL};
    return (loom_sv){LLVMConstReal(type, value.c[0]), LLVMConstReal(type, value.c[1])};
}

loom_sv loom_sv_select(loom_fn *fn, LLVMValueRef condition, loom_sv a, loom_sv b) {
    loom_sv r = {LLVMBuildSelect(fn->b, condition, a.re, b.re, ""), NULL};
    if (a.im) r.im = LLVMBuildSelect(fn->b, condition, a.im, b.im, "");
    return r;
}

/* ---- helpers ---- */

static LLVMValueRef integer(loom_fn *fn, loom_dtype dtype, int64_t value) {
    return LLVMConstInt(loom_gen_type(fn->g, dtype), (unsigned long long)value, 1);
}

static LLVMValueRef real(loom_fn *fn, loom_dtype dtype, double value) {
    return LLVMConstReal(loom_gen_type(fn->g, dtype), value);
}

static LLVMValueRef intrinsic(loom_fn *fn, const char *name, const LLVMValueRef *args, unsigned n) {
    LLVMTypeRef type;
    LLVMValueRef f = loom_gen_intrinsic(fn->g, name, LLVMTypeOf(args[0]), &type);
    LLVMValueRef copy[4];
    memcpy(copy, args, n * sizeof *copy);
    return LLVMBuildCall2(fn->b, type, f, copy, n, "");
}

static const char *const prim_names[LOOM_PRIM_COUNT] = {
#define X(name, text, arity, class) [LOOM_PRIM_##name] = #name,
    LOOM_PRIMS(X)
#undef X
};

/* The function loom_math_<name>_<type> of the library of scalar functions. */
static LLVMValueRef library_function(loom_fn *fn, const char *name, loom_dtype dtype, LLVMTypeRef type) {
    char symbol[64];
    snprintf(symbol, sizeof symbol, "loom_math_%s_%s", name, loom_dtype_name(dtype));
    for (char *c = symbol; *c; c++) *c = (char)tolower((unsigned char)*c);
    LLVMValueRef f = LLVMGetNamedFunction(fn->g->module, symbol);
    return f ? f : LLVMAddFunction(fn->g->module, symbol, type);
}

/* Where nothing is vectorised a call is as good as the function's code, and smaller. */
static void keep_call(const loom_fn *fn, LLVMValueRef call) {
    if (!fn->rare) return;
    unsigned kind = LLVMGetEnumAttributeKindForName("noinline", 8);
    LLVMAttributeRef attribute = LLVMCreateEnumAttribute(fn->g->context, kind, 0);
    LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attribute);
}

static LLVMValueRef library(loom_fn *fn, loom_prim prim, loom_dtype dtype, const LLVMValueRef *args, unsigned n) {
    LLVMTypeRef parameters[3], scalar = loom_gen_type(fn->g, dtype);
    LLVMValueRef copy[3];
    for (unsigned i = 0; i < n; i++) {
        parameters[i] = scalar;
        copy[i] = args[i];
    }
    LLVMTypeRef type = LLVMFunctionType(scalar, parameters, n, 0);
    LLVMValueRef call = LLVMBuildCall2(fn->b, type, library_function(fn, prim_names[prim], dtype, type), copy, n, "");
    keep_call(fn, call);
    return call;
}

/* Functions with a complex result write its parts through two pointers, which inlining turns into registers. */
static loom_sv complex_library(loom_fn *fn, const char *name, loom_dtype part, const LLVMValueRef *args, unsigned n) {
    loom_gen *g = fn->g;
    LLVMTypeRef parameters[6], scalar = loom_gen_type(g, part);
    LLVMValueRef copy[6];
    for (unsigned i = 0; i < n; i++) {
        parameters[i] = scalar;
        copy[i] = args[i];
    }
    for (unsigned i = n; i < n + 2; i++) {
        parameters[i] = g->ptr;
        copy[i] = LLVMBuildAlloca(fn->entry, scalar, "");
    }
    LLVMTypeRef type = LLVMFunctionType(g->none, parameters, n + 2, 0);
    keep_call(fn, LLVMBuildCall2(fn->b, type, library_function(fn, name, part, type), copy, n + 2, ""));
    return (loom_sv){LLVMBuildLoad2(fn->b, scalar, copy[n], ""), LLVMBuildLoad2(fn->b, scalar, copy[n + 1], "")};
}

static LLVMValueRef is_nan(loom_fn *fn, LLVMValueRef x) {
    return LLVMBuildFCmp(fn->b, LLVMRealUNO, x, x, "");
}

static LLVMValueRef is_finite(loom_fn *fn, LLVMValueRef x) {
    LLVMValueRef magnitude = intrinsic(fn, "llvm.fabs", &x, 1);
    return LLVMBuildFCmp(fn->b, LLVMRealOLT, magnitude, LLVMConstReal(LLVMTypeOf(x), __builtin_inf()), "");
}

/* ---- integers ---- */

/* Quotient and remainder towards zero; `b` is neither 0 nor, signed, -1 where the machine's instruction runs. */
static void divide(loom_fn *fn, loom_dtype t, LLVMValueRef a, LLVMValueRef b, loom_lsite_id site,
                   LLVMValueRef *quotient, LLVMValueRef *remainder) {
    LLVMBuilderRef B = fn->b;
    bool is_signed = loom_dtype_is_signed(t);
    LLVMValueRef zero = integer(fn, t, 0), one = integer(fn, t, 1);
    LLVMValueRef is_zero = LLVMBuildICmp(B, LLVMIntEQ, b, zero, "");
    loom_fn_raise_if(fn, is_zero, site, a, b);
    LLVMValueRef safe = LLVMBuildSelect(B, is_zero, one, b, "");
    if (!is_signed) {
        *quotient = LLVMBuildUDiv(B, a, safe, "");
        *remainder = LLVMBuildURem(B, a, safe, "");
        return;
    }
    LLVMValueRef is_minus = LLVMBuildICmp(B, LLVMIntEQ, b, integer(fn, t, -1), "");
    safe = LLVMBuildSelect(B, is_minus, one, safe, "");
    LLVMValueRef q = LLVMBuildSDiv(B, a, safe, ""), r = LLVMBuildSRem(B, a, safe, "");
    *quotient = LLVMBuildSelect(B, is_minus, LLVMBuildSub(B, zero, a, ""), q, "");
    *remainder = LLVMBuildSelect(B, is_minus, zero, r, "");
}

static LLVMValueRef division(loom_fn *fn, loom_prim prim, loom_dtype t, LLVMValueRef a, LLVMValueRef b,
                             loom_lsite_id site) {
    LLVMBuilderRef B = fn->b;
    LLVMValueRef q, r, zero = integer(fn, t, 0);
    divide(fn, t, a, b, site, &q, &r);
    if (prim == LOOM_PRIM_QUOT) return q;
    if (prim == LOOM_PRIM_REM) return r;
    if (!loom_dtype_is_signed(t)) return prim == LOOM_PRIM_FLOORDIV ? q : r;
    LLVMValueRef opposite = LLVMBuildICmp(B, LLVMIntSLT, LLVMBuildXor(B, r, b, ""), zero, "");
    LLVMValueRef down = LLVMBuildAnd(B, LLVMBuildICmp(B, LLVMIntNE, r, zero, ""), opposite, "");
    if (prim == LOOM_PRIM_FLOORDIV) return LLVMBuildSelect(B, down, LLVMBuildSub(B, q, integer(fn, t, 1), ""), q, "");
    return LLVMBuildSelect(B, down, LLVMBuildAdd(B, r, b, ""), r, "");
}

static LLVMValueRef shift(loom_fn *fn, loom_prim prim, loom_dtype t, LLVMValueRef a, LLVMValueRef n,
                          loom_lsite_id site) {
    LLVMBuilderRef B = fn->b;
    unsigned width = bits_of(t);
    LLVMValueRef zero = integer(fn, t, 0), last = integer(fn, t, width - 1);
    if (loom_dtype_is_signed(t)) loom_fn_raise_if(fn, LLVMBuildICmp(B, LLVMIntSLT, n, zero, ""), site, n, NULL);
    LLVMValueRef beyond = LLVMBuildICmp(B, LLVMIntUGT, n, last, "");
    LLVMValueRef safe = LLVMBuildSelect(B, beyond, last, n, "");
    if (prim == LOOM_PRIM_SHR && loom_dtype_is_signed(t)) return LLVMBuildAShr(B, a, safe, "");
    LLVMValueRef shifted = prim == LOOM_PRIM_SHL ? LLVMBuildShl(B, a, safe, "") : LLVMBuildLShr(B, a, safe, "");
    return LLVMBuildSelect(B, beyond, zero, shifted, "");
}

static LLVMValueRef bit_count(loom_fn *fn, loom_prim prim, loom_dtype t, LLVMValueRef a) {
    LLVMValueRef args[] = {a, LLVMConstInt(fn->g->i1, 0, 0)};
    LLVMValueRef n = prim == LOOM_PRIM_POPC ? intrinsic(fn, "llvm.ctpop", args, 1)
                                            : intrinsic(fn, prim == LOOM_PRIM_CLZ ? "llvm.ctlz" : "llvm.cttz", args, 2);
    return bits_of(t) > 32 ? LLVMBuildTrunc(fn->b, n, fn->g->i32, "")
                           : LLVMBuildZExtOrBitCast(fn->b, n, fn->g->i32, "");
}

static LLVMValueRef compare_integers(loom_fn *fn, loom_prim prim, loom_dtype t, LLVMValueRef a, LLVMValueRef b) {
    bool s = loom_dtype_is_signed(t);
    LLVMIntPredicate p = prim == LOOM_PRIM_EQ   ? LLVMIntEQ
                         : prim == LOOM_PRIM_NE ? LLVMIntNE
                         : prim == LOOM_PRIM_LT ? (s ? LLVMIntSLT : LLVMIntULT)
                         : prim == LOOM_PRIM_LE ? (s ? LLVMIntSLE : LLVMIntULE)
                         : prim == LOOM_PRIM_GT ? (s ? LLVMIntSGT : LLVMIntUGT)
                                                : (s ? LLVMIntSGE : LLVMIntUGE);
    return LLVMBuildICmp(fn->b, p, a, b, "");
}

static LLVMValueRef integer_prim(loom_fn *fn, loom_prim prim, loom_dtype t, const loom_sv *args, loom_lsite_id site) {
    LLVMBuilderRef B = fn->b;
    LLVMValueRef a = args[0].re, b = loom_prim_table[prim].arity > 1 ? args[1].re : NULL, zero = integer(fn, t, 0);
    bool s = loom_dtype_is_signed(t);
    switch (prim) {
    case LOOM_PRIM_ADD: return LLVMBuildAdd(B, a, b, "");
    case LOOM_PRIM_SUB: return LLVMBuildSub(B, a, b, "");
    case LOOM_PRIM_MUL: return LLVMBuildMul(B, a, b, "");
    case LOOM_PRIM_FLOORDIV:
    case LOOM_PRIM_FLOORMOD:
    case LOOM_PRIM_QUOT:
    case LOOM_PRIM_REM: return division(fn, prim, t, a, b, site);
    case LOOM_PRIM_POW: {
        LLVMValueRef both[2] = {a, b};
        return library(fn, prim, t, both, 2);
    }
    case LOOM_PRIM_NEG: return LLVMBuildSub(B, zero, a, "");
    case LOOM_PRIM_ABS:
        return s ? LLVMBuildSelect(B, LLVMBuildICmp(B, LLVMIntSLT, a, zero, ""), LLVMBuildSub(B, zero, a, ""), a, "")
                 : a;
    case LOOM_PRIM_SGN: {
        LLVMValueRef positive = LLVMBuildICmp(B, s ? LLVMIntSGT : LLVMIntNE, a, zero, "");
        LLVMValueRef r = LLVMBuildZExtOrBitCast(B, positive, LLVMTypeOf(a), "");
        return s ? LLVMBuildSub(B, r,
                                LLVMBuildZExtOrBitCast(B, LLVMBuildICmp(B, LLVMIntSLT, a, zero, ""), LLVMTypeOf(a), ""),
                                "")
                 : r;
    }
    case LOOM_PRIM_MIN: return LLVMBuildSelect(B, LLVMBuildICmp(B, s ? LLVMIntSLT : LLVMIntULT, a, b, ""), a, b, "");
    case LOOM_PRIM_MAX: return LLVMBuildSelect(B, LLVMBuildICmp(B, s ? LLVMIntSGT : LLVMIntUGT, a, b, ""), a, b, "");
    case LOOM_PRIM_BAND:
    case LOOM_PRIM_AND: return LLVMBuildAnd(B, a, b, "");
    case LOOM_PRIM_BOR:
    case LOOM_PRIM_OR: return LLVMBuildOr(B, a, b, "");
    case LOOM_PRIM_BXOR: return LLVMBuildXor(B, a, b, "");
    case LOOM_PRIM_BNOT:
    case LOOM_PRIM_NOT: return LLVMBuildNot(B, a, "");
    case LOOM_PRIM_SHL:
    case LOOM_PRIM_SHR:
    case LOOM_PRIM_LSHR: return shift(fn, prim, t, a, b, site);
    case LOOM_PRIM_POPC:
    case LOOM_PRIM_CLZ:
    case LOOM_PRIM_CTZ: return bit_count(fn, prim, t, a);
    case LOOM_PRIM_EQ:
    case LOOM_PRIM_NE:
    case LOOM_PRIM_LT:
    case LOOM_PRIM_LE:
    case LOOM_PRIM_GT:
    case LOOM_PRIM_GE: return compare_integers(fn, prim, t, a, b);
    default: loom_gen_fail(fn->g, "primitive %s of integers", loom_prim_table[prim].name); return a;
    }
}

/* ---- floats ---- */

static LLVMValueRef float_compare(loom_fn *fn, loom_prim prim, LLVMValueRef a, LLVMValueRef b) {
    LLVMRealPredicate p = prim == LOOM_PRIM_EQ   ? LLVMRealOEQ
                          : prim == LOOM_PRIM_NE ? LLVMRealUNE
                          : prim == LOOM_PRIM_LT ? LLVMRealOLT
                          : prim == LOOM_PRIM_LE ? LLVMRealOLE
                          : prim == LOOM_PRIM_GT ? LLVMRealOGT
                                                 : LLVMRealOGE;
    return LLVMBuildFCmp(fn->b, p, a, b, "");
}

/* NaN counts as the greatest: min(x, NaN) = x, max(x, NaN) = NaN. */
static LLVMValueRef float_extreme(loom_fn *fn, bool least, LLVMValueRef a, LLVMValueRef b) {
    LLVMBuilderRef B = fn->b;
    LLVMValueRef before = LLVMBuildFCmp(B, least ? LLVMRealOLT : LLVMRealOGT, a, b, "");
    return LLVMBuildSelect(B, LLVMBuildOr(B, before, is_nan(fn, least ? b : a), ""), a, b, "");
}

/* The same over a loop, in a form that is vectorised as it stands: equal but for the sign of a zero, of which the loop
 * meets several in an order that is its own. `acc` is no NaN where `least`, so that one in x is dropped. */
LLVMValueRef loom_float_extreme_step(loom_fn *fn, bool least, LLVMValueRef acc, LLVMValueRef x) {
    LLVMValueRef args[2] = {acc, x};
    if (!least) return intrinsic(fn, "llvm.maximum", args, 2);
    LLVMValueRef most = LLVMConstReal(LLVMTypeOf(x), __builtin_inf());
    args[1] = LLVMBuildSelect(fn->b, is_nan(fn, x), most, x, "");
    return intrinsic(fn, "llvm.minimum", args, 2);
}

static LLVMValueRef float_sign(loom_fn *fn, loom_dtype t, LLVMValueRef a) {
    LLVMBuilderRef B = fn->b;
    LLVMValueRef zero = real(fn, t, 0);
    LLVMValueRef r = LLVMBuildSelect(B, LLVMBuildFCmp(B, LLVMRealOLT, a, zero, ""), real(fn, t, -1), a, "");
    return LLVMBuildSelect(B, LLVMBuildFCmp(B, LLVMRealOGT, a, zero, ""), real(fn, t, 1), r, "");
}

static loom_sv float_prim(loom_fn *fn, loom_prim prim, loom_dtype t, const loom_sv *args) {
    LLVMBuilderRef B = fn->b;
    LLVMValueRef v[3] = {args[0].re};
    unsigned n = (unsigned)loom_prim_table[prim].arity;
    for (unsigned i = 1; i < n; i++) v[i] = args[i].re;
    switch (prim) {
    case LOOM_PRIM_ADD: return (loom_sv){LLVMBuildFAdd(B, v[0], v[1], ""), NULL};
    case LOOM_PRIM_SUB: return (loom_sv){LLVMBuildFSub(B, v[0], v[1], ""), NULL};
    case LOOM_PRIM_MUL: return (loom_sv){LLVMBuildFMul(B, v[0], v[1], ""), NULL};
    case LOOM_PRIM_DIV: return (loom_sv){LLVMBuildFDiv(B, v[0], v[1], ""), NULL};
    case LOOM_PRIM_NEG: return (loom_sv){LLVMBuildFNeg(B, v[0], ""), NULL};
    case LOOM_PRIM_ABS: return (loom_sv){intrinsic(fn, "llvm.fabs", v, 1), NULL};
    case LOOM_PRIM_SGN: return (loom_sv){float_sign(fn, t, v[0]), NULL};
    case LOOM_PRIM_MIN:
    case LOOM_PRIM_MAX: return (loom_sv){float_extreme(fn, prim == LOOM_PRIM_MIN, v[0], v[1]), NULL};
    case LOOM_PRIM_FMA: return (loom_sv){intrinsic(fn, "llvm.fma", v, 3), NULL};
    case LOOM_PRIM_SQRT:
    case LOOM_PRIM_CSQRT: return (loom_sv){intrinsic(fn, "llvm.sqrt", v, 1), NULL};
    case LOOM_PRIM_FLOOR: return (loom_sv){intrinsic(fn, "llvm.floor", v, 1), NULL};
    case LOOM_PRIM_CEIL: return (loom_sv){intrinsic(fn, "llvm.ceil", v, 1), NULL};
    case LOOM_PRIM_ROUND: return (loom_sv){intrinsic(fn, "llvm.roundeven", v, 1), NULL};
    case LOOM_PRIM_TRUNC: return (loom_sv){intrinsic(fn, "llvm.trunc", v, 1), NULL};
    case LOOM_PRIM_IS_NAN: return (loom_sv){is_nan(fn, v[0]), NULL};
    case LOOM_PRIM_IS_FINITE: return (loom_sv){is_finite(fn, v[0]), NULL};
    case LOOM_PRIM_EQ:
    case LOOM_PRIM_NE:
    case LOOM_PRIM_LT:
    case LOOM_PRIM_LE:
    case LOOM_PRIM_GT:
    case LOOM_PRIM_GE: return (loom_sv){float_compare(fn, prim, v[0], v[1]), NULL};
    case LOOM_PRIM_COMPLEX: return (loom_sv){v[0], v[1]};
    case LOOM_PRIM_CIS: return complex_library(fn, "cis", t, v, 1);
    case LOOM_PRIM_CEXP: return (loom_sv){library(fn, LOOM_PRIM_EXP, t, v, 1), NULL};
    case LOOM_PRIM_SCALE: /* real times complex */
        return (loom_sv){LLVMBuildFMul(B, v[0], args[1].re, ""), LLVMBuildFMul(B, v[0], args[1].im, "")};
    default: return (loom_sv){library(fn, prim, t, v, n), NULL};
    }
}

/* ---- complex numbers ---- */

static loom_sv complex_product(loom_fn *fn, loom_sv a, loom_sv b) {
    LLVMBuilderRef B = fn->b;
    LLVMValueRef re = LLVMBuildFSub(B, LLVMBuildFMul(B, a.re, b.re, ""), LLVMBuildFMul(B, a.im, b.im, ""), "");
    LLVMValueRef im = LLVMBuildFAdd(B, LLVMBuildFMul(B, a.re, b.im, ""), LLVMBuildFMul(B, a.im, b.re, ""), "");
    return (loom_sv){re, im};
}

static loom_sv complex_prim(loom_fn *fn, loom_prim prim, loom_dtype t, const loom_sv *args) {
    LLVMBuilderRef B = fn->b;
    loom_sv a = args[0], b = loom_prim_table[prim].arity > 1 ? args[1] : args[0];
    LLVMValueRef parts[4] = {a.re, a.im, b.re, b.im};
    loom_dtype r = loom_dtype_real(t);
    switch (prim) {
    case LOOM_PRIM_ADD: return (loom_sv){LLVMBuildFAdd(B, a.re, b.re, ""), LLVMBuildFAdd(B, a.im, b.im, "")};
    case LOOM_PRIM_SUB: return (loom_sv){LLVMBuildFSub(B, a.re, b.re, ""), LLVMBuildFSub(B, a.im, b.im, "")};
    case LOOM_PRIM_MUL: return complex_product(fn, a, b);
    case LOOM_PRIM_DIV: return complex_library(fn, "cdiv", r, parts, 4);
    case LOOM_PRIM_NEG: return (loom_sv){LLVMBuildFNeg(B, a.re, ""), LLVMBuildFNeg(B, a.im, "")};
    case LOOM_PRIM_CONJ: return (loom_sv){a.re, LLVMBuildFNeg(B, a.im, "")};
    case LOOM_PRIM_RE: return (loom_sv){a.re, NULL};
    case LOOM_PRIM_IM: return (loom_sv){a.im, NULL};
    case LOOM_PRIM_CABS: return (loom_sv){library(fn, prim, r, parts, 2), NULL};
    case LOOM_PRIM_ARG: return (loom_sv){library(fn, prim, r, parts, 2), NULL};
    case LOOM_PRIM_CEXP: return complex_library(fn, "cexp", r, parts, 2);
    case LOOM_PRIM_CSQRT: return complex_library(fn, "csqrt", r, parts, 2);
    case LOOM_PRIM_EQ:
        return (loom_sv){LLVMBuildAnd(B, float_compare(fn, prim, a.re, b.re), float_compare(fn, prim, a.im, b.im), ""),
                         NULL};
    case LOOM_PRIM_NE:
        return (loom_sv){LLVMBuildOr(B, float_compare(fn, prim, a.re, b.re), float_compare(fn, prim, a.im, b.im), ""),
                         NULL};
    case LOOM_PRIM_IS_NAN: return (loom_sv){LLVMBuildOr(B, is_nan(fn, a.re), is_nan(fn, a.im), ""), NULL};
    case LOOM_PRIM_IS_FINITE: return (loom_sv){LLVMBuildAnd(B, is_finite(fn, a.re), is_finite(fn, a.im), ""), NULL};
    default: loom_gen_fail(fn->g, "primitive %s of complex numbers", loom_prim_table[prim].name); return a;
    }
}

loom_sv loom_sv_prim(loom_fn *fn, loom_prim prim, loom_dtype operand, loom_dtype result, const loom_sv *args,
                     loom_lsite_id site) {
    (void)result;
    if (prim == LOOM_PRIM_SELECT) return loom_sv_select(fn, args[0].re, args[1], args[2]);
    if (loom_dtype_is_complex(operand)) return complex_prim(fn, prim, operand, args);
    if (loom_dtype_is_float(operand)) return float_prim(fn, prim, operand, args);
    return (loom_sv){integer_prim(fn, prim, operand, args, site), NULL};
}

/* ---- conversions ---- */

/* Saturates; NaN gives the least value. What the conversion gives outside of its range (poison) is not chosen: unlike
 * the intrinsics that saturate, this becomes a few vector instructions. */
static LLVMValueRef float_to_integer(loom_fn *fn, loom_dtype to, LLVMValueRef value) {
    LLVMTypeRef type = loom_gen_type(fn->g, to), real = LLVMTypeOf(value);
    bool is_signed = loom_dtype_is_signed(to);
    unsigned bits = bits_of(to);
    uint64_t ones = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    LLVMValueRef least = LLVMConstInt(type, is_signed ? (uint64_t)1 << (bits - 1) : 0, 0);
    LLVMValueRef most = LLVMConstInt(type, is_signed ? ones >> 1 : ones, 0);
    double half = ldexp(1, (int)bits - 1);
    LLVMValueRef inside = is_signed ? LLVMBuildFPToSI(fn->b, value, type, "") : LLVMBuildFPToUI(fn->b, value, type, "");
    LLVMValueRef below = LLVMBuildFCmp(fn->b, LLVMRealULT, value, LLVMConstReal(real, is_signed ? -half : 0), "");
    LLVMValueRef above = LLVMBuildFCmp(fn->b, LLVMRealOGE, value, LLVMConstReal(real, is_signed ? half : 2 * half), "");
    return LLVMBuildSelect(fn->b, above, most, LLVMBuildSelect(fn->b, below, least, inside, ""), "");
}

static LLVMValueRef integer_to_integer(loom_fn *fn, loom_dtype from, loom_dtype to, LLVMValueRef value) {
    LLVMTypeRef type = loom_gen_type(fn->g, to);
    if (bits_of(to) < bits_of(from)) return LLVMBuildTrunc(fn->b, value, type, "");
    if (bits_of(to) == bits_of(from)) return value;
    return loom_dtype_is_signed(from) ? LLVMBuildSExt(fn->b, value, type, "") : LLVMBuildZExt(fn->b, value, type, "");
}

static LLVMValueRef to_real(loom_fn *fn, loom_dtype from, loom_dtype to, LLVMValueRef value) {
    LLVMTypeRef type = loom_gen_type(fn->g, to);
    if (loom_dtype_is_float(from)) {
        if (from == to) return value;
        return from == LOOM_F32 ? LLVMBuildFPExt(fn->b, value, type, "") : LLVMBuildFPTrunc(fn->b, value, type, "");
    }
    return loom_dtype_is_signed(from) ? LLVMBuildSIToFP(fn->b, value, type, "")
                                      : LLVMBuildUIToFP(fn->b, value, type, "");
}

loom_sv loom_sv_convert(loom_fn *fn, loom_dtype from, loom_dtype to, loom_sv value) {
    if (from == to) return value;
    if (loom_dtype_is_complex(to)) {
        loom_dtype part = loom_dtype_real(to);
        if (loom_dtype_is_complex(from)) {
            loom_dtype source = loom_dtype_real(from);
            return (loom_sv){to_real(fn, source, part, value.re), to_real(fn, source, part, value.im)};
        }
        return (loom_sv){to_real(fn, from, part, value.re), real(fn, part, 0)};
    }
    if (loom_dtype_is_complex(from)) return loom_sv_convert(fn, loom_dtype_real(from), to, (loom_sv){value.re, NULL});
    if (loom_dtype_is_float(to)) return (loom_sv){to_real(fn, from, to, value.re), NULL};
    if (to == LOOM_BOOL) {
        if (loom_dtype_is_float(from))
            return (loom_sv){LLVMBuildFCmp(fn->b, LLVMRealUNE, value.re, real(fn, from, 0), ""), NULL};
        return (loom_sv){LLVMBuildICmp(fn->b, LLVMIntNE, value.re, integer(fn, from, 0), ""), NULL};
    }
    if (loom_dtype_is_float(from)) return (loom_sv){float_to_integer(fn, to, value.re), NULL};
    return (loom_sv){integer_to_integer(fn, from, to, value.re), NULL};
}
