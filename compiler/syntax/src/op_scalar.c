/* Scalar primitives: names, type rules by class (prim.h), conversions and constants. Which of several primitives an
 * overloaded operator becomes (`/` on integers, `abs` on complex numbers) is decided at emission, when types are known.
 */
#include "elab.h"
#include <string.h>

bool loom_syn_scalar_function(const char *name, loom_prim *prim) {
    static const struct {
        const char *name;
        loom_prim prim;
    } names[] = {{"sin", LOOM_PRIM_SIN},
                 {"cos", LOOM_PRIM_COS},
                 {"tan", LOOM_PRIM_TAN},
                 {"asin", LOOM_PRIM_ASIN},
                 {"acos", LOOM_PRIM_ACOS},
                 {"atan", LOOM_PRIM_ATAN},
                 {"atan2", LOOM_PRIM_ATAN2},
                 {"sinh", LOOM_PRIM_SINH},
                 {"cosh", LOOM_PRIM_COSH},
                 {"tanh", LOOM_PRIM_TANH},
                 {"exp", LOOM_PRIM_EXP},
                 {"log", LOOM_PRIM_LOG},
                 {"log2", LOOM_PRIM_LOG2},
                 {"log10", LOOM_PRIM_LOG10},
                 {"sqrt", LOOM_PRIM_SQRT},
                 {"hypot", LOOM_PRIM_HYPOT},
                 {"floor", LOOM_PRIM_FLOOR},
                 {"ceil", LOOM_PRIM_CEIL},
                 {"round", LOOM_PRIM_ROUND},
                 {"trunc", LOOM_PRIM_TRUNC},
                 {"is_nan", LOOM_PRIM_IS_NAN},
                 {"isnan", LOOM_PRIM_IS_NAN},
                 {"is_finite", LOOM_PRIM_IS_FINITE},
                 {"re", LOOM_PRIM_RE},
                 {"im", LOOM_PRIM_IM},
                 {"arg", LOOM_PRIM_ARG},
                 {"conj", LOOM_PRIM_CONJ},
                 {"complex", LOOM_PRIM_COMPLEX},
                 {"scale", LOOM_PRIM_SCALE},
                 {"cis", LOOM_PRIM_CIS},
                 {"abs", LOOM_PRIM_ABS},
                 {"sgn", LOOM_PRIM_SGN},
                 {"signum", LOOM_PRIM_SGN},
                 {"min", LOOM_PRIM_MIN},
                 {"max", LOOM_PRIM_MAX},
                 {"fma", LOOM_PRIM_FMA},
                 {"mad", LOOM_PRIM_FMA},
                 {"popc", LOOM_PRIM_POPC},
                 {"clz", LOOM_PRIM_CLZ},
                 {"ctz", LOOM_PRIM_CTZ},
                 {"neg", LOOM_PRIM_NEG},
                 {"not", LOOM_PRIM_NOT},
                 {"pow", LOOM_PRIM_POW}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i].name) == 0) {
            *prim = names[i].prim;
            return true;
        }
    }
    return false;
}

/* The types an operand may have: by class, with what overloading adds. */
static syn_mask operand_mask(loom_prim prim) {
    switch (prim) {
    case LOOM_PRIM_FLOORMOD: return SYN_REALS;
    case LOOM_PRIM_NOT: return SYN_INTEGERS | SYN_BIT(LOOM_BOOL);
    case LOOM_PRIM_SGN: return SYN_REALS;
    case LOOM_PRIM_CONJ: return SYN_COMPLEX;
    case LOOM_PRIM_EXP:
    case LOOM_PRIM_SQRT: return SYN_FLOATS | SYN_COMPLEX;
    default: break;
    }
    switch (loom_prim_table[prim].class) {
    case LOOM_PC_NUM2:
    case LOOM_PC_NUM1: return SYN_NUMBERS;
    case LOOM_PC_INT2:
    case LOOM_PC_INT1:
    case LOOM_PC_ICNT: return SYN_INTEGERS;
    case LOOM_PC_REAL2: return SYN_REALS;
    case LOOM_PC_CMP: return SYN_REALS | SYN_BIT(LOOM_BOOL);
    case LOOM_PC_EQ: return SYN_SCALARS;
    case LOOM_PC_BOOL1:
    case LOOM_PC_BOOL2: return SYN_BIT(LOOM_BOOL);
    case LOOM_PC_CREAL: return SYN_COMPLEX;
    case LOOM_PC_ISF:
    case LOOM_PC_FC1: return SYN_FLOATS | SYN_COMPLEX;
    default: return SYN_FLOATS;
    }
}

static bool is_complex(const syn_ty *t) {
    return t->kind == TY_SCALAR ? loom_dtype_is_complex(t->dtype)
                                : t->kind == TY_VAR && t->mask && !(t->mask & ~SYN_COMPLEX);
}

static const char *wanted_hint(loom_prim prim, syn_ty *t) {
    t = loom_syn_ty(t);
    loom_prim_class class = loom_prim_table[prim].class;
    if (t->kind == TY_ARRAY) return "use `map` or `zip_with` to work on the elements of arrays";
    if (t->kind == TY_SEQ) return "use `map_seq` or `zip_with_seq` to work on the elements of sequences";
    bool power = (t->kind == TY_SCALAR && loom_dtype_is_float(t->dtype)) ||
                 (t->kind == TY_VAR && t->mask && !(t->mask & (SYN_INTEGERS | SYN_BIT(LOOM_BOOL))));
    if (prim == LOOM_PRIM_BXOR && power) return "`^` is exclusive or; a power is written `x ** 2`";
    if ((class == LOOM_PC_CMP || class == LOOM_PC_REAL2) && is_complex(t))
        return "complex numbers have no order: compare `abs z`, `re z` or `im z`";
    if (class == LOOM_PC_CMP && t->kind == TY_TUPLE) return "compare the fields one by one";
    if (class == LOOM_PC_FLT1 && t->kind == TY_SCALAR && loom_dtype_is_integer(t->dtype)) return "convert it: `f64 x`";
    bool bits = !(operand_mask(prim) & SYN_FLOATS) && (operand_mask(prim) & SYN_INTEGERS);
    if (bits && t->kind == TY_SCALAR && loom_dtype_is_float(t->dtype)) return "convert it: `i64 x`";
    return NULL;
}

static bool check_operand(syn_elab *e, loom_prim prim, syn_node *x, syn_mask mask, const char *name, loom_span span) {
    if (loom_syn_restrict(e, x->type, mask)) return true;
    loom_syn_error(e, LOOM_W_OPERAND, span, wanted_hint(prim, x->type), "`%s` needs %s, found %s", name,
                   loom_syn_mask_text(mask), loom_syn_ty_text(e, x->type));
    return false;
}

/* An integer, or the counter of a loop, whose type is still open. */
static bool is_whole(const syn_ty *t) {
    if (t->kind == TY_SCALAR) return loom_dtype_is_integer(t->dtype);
    return t->kind == TY_VAR && t->mask && !(t->mask & ~SYN_INTEGERS);
}

/* A literal with a fraction, whose type is still open, is an f64 as far as an integer beside it is concerned, and an
 * open integer an i64. */
static loom_dtype type_beside(const syn_ty *t, const syn_ty *other) {
    if (t->kind == TY_SCALAR) return t->dtype;
    if (is_whole(t)) return LOOM_I64;
    bool fraction = t->kind == TY_VAR && t->mask && !(t->mask & SYN_INTEGERS) && (t->mask & SYN_BIT(LOOM_F64));
    return fraction && is_whole(other) ? LOOM_F64 : LOOM_DTYPES;
}

/* To the wider of both. */
static const char *conversion_hint(syn_elab *e, const syn_ty *t, const syn_ty *u) {
    loom_dtype a = type_beside(t, u), b = type_beside(u, t);
    if (a == LOOM_DTYPES || b == LOOM_DTYPES) return NULL;
    loom_dtype wider = a > b ? a : b;
    if (wider == LOOM_BOOL) return NULL;
    return loom_arena_printf(e->arena, "nothing is converted by itself: write `%s x`", loom_dtype_name(wider));
}

/* All operands of one type. */
static bool check_alike(syn_elab *e, loom_prim prim, uint32_t n, syn_node *const *args, const char *name,
                        loom_span span) {
    syn_mask mask = operand_mask(prim);
    for (uint32_t i = 0; i < n; i++) {
        if (!check_operand(e, prim, args[i], mask, name, span)) return false;
    }
    for (uint32_t i = 1; i < n; i++) {
        const char *left = loom_syn_ty_text(e, args[0]->type), *right = loom_syn_ty_text(e, args[i]->type);
        if (loom_syn_unify(e, args[0]->type, args[i]->type)) continue;
        syn_ty *t = loom_syn_ty(args[0]->type), *u = loom_syn_ty(args[i]->type);
        const char *hint = conversion_hint(e, t, u);
        loom_syn_error(e, LOOM_W_SIDES, span, hint, "both sides of `%s` must have one type, found %s and %s", name,
                       left, right);
        return false;
    }
    return true;
}

/* (real, complex) pairs: re, im, arg, complex, cis, scale. */
static syn_node *complex_call(syn_elab *e, loom_prim prim, uint32_t n, syn_node *const *args, const char *name,
                              loom_span span) {
    loom_prim_class class = loom_prim_table[prim].class;
    if (class == LOOM_PC_SCALE) {
        if (!check_operand(e, prim, args[0], SYN_FLOATS, name, span) ||
            !check_operand(e, prim, args[1], SYN_COMPLEX, name, span)) {
            return loom_syn_poison(e, span);
        }
        loom_syn_constrain(e, C_REAL, args[1]->type, args[0]->type, NULL, span);
        return loom_syn_prim(e, prim, args[1]->type, n, args, span);
    }
    if (!check_alike(e, prim, n, args, name, span)) return loom_syn_poison(e, span);
    bool takes_complex = class == LOOM_PC_CREAL;
    syn_ty *result = loom_syn_ty_var(e, takes_complex ? SYN_FLOATS : SYN_COMPLEX);
    loom_syn_constrain(e, C_REAL, takes_complex ? args[0]->type : result, takes_complex ? result : args[0]->type, NULL,
                       span);
    return loom_syn_prim(e, prim, result, n, args, span);
}

/* The T of T.f is the type of what f works on; where f makes a complex number of floats, T may be either. */
static void apply_qualifier(syn_elab *e, loom_prim prim, loom_dtype at, uint32_t n, syn_node *const *args,
                            const char *name, loom_span span) {
    loom_prim_class class = loom_prim_table[prim].class;
    bool part = class == LOOM_PC_CMAKE || class == LOOM_PC_CISF || class == LOOM_PC_SCALE;
    syn_ty *want = e->scalars[part ? loom_dtype_real(at) : at];
    if (n) loom_syn_need_type(e, LOOM_W_AT_TYPE, args[0]->type, want, span, "`%s.%s`", loom_dtype_name(at), name);
}

static bool is_compound(syn_ty *t) {
    t = loom_syn_ty(t);
    return t->kind == TY_TUPLE || t->kind == TY_ARRAY;
}

syn_node *loom_syn_prim_call(syn_elab *e, loom_prim prim, loom_dtype at, uint32_t n, syn_node *const *args,
                             const char *name, loom_span span) {
    if (!name) name = prim == LOOM_PRIM_DIV ? "/" : loom_prim_table[prim].name;
    if (at != LOOM_DTYPES) apply_qualifier(e, prim, at, n, args, name, span);
    switch (loom_prim_table[prim].class) {
    case LOOM_PC_CREAL:
    case LOOM_PC_CMAKE:
    case LOOM_PC_CISF:
    case LOOM_PC_SCALE: return complex_call(e, prim, n, args, name, span);
    default: break;
    }
    bool equality = prim == LOOM_PRIM_EQ || prim == LOOM_PRIM_NE;
    if (equality && (is_compound(args[0]->type) || is_compound(args[1]->type))) {
        return loom_syn_equal(e, prim == LOOM_PRIM_NE, args[0], args[1], span);
    }
    if (!check_alike(e, prim, n, args, name, span)) return loom_syn_poison(e, span);
    syn_ty *type = args[0]->type;
    switch (loom_prim_table[prim].class) {
    case LOOM_PC_CMP:
    case LOOM_PC_EQ:
    case LOOM_PC_ISF: type = e->scalars[LOOM_BOOL]; break;
    case LOOM_PC_ICNT: type = e->scalars[LOOM_I32]; break;
    default: break;
    }
    if (prim == LOOM_PRIM_ABS) {
        type = loom_syn_ty_var(e, SYN_REALS);
        loom_syn_constrain(e, C_ABS, args[0]->type, type, NULL, span);
    }
    return loom_syn_prim(e, prim, type, n, args, span);
}

syn_node *loom_syn_convert(syn_elab *e, loom_dtype to, loom_dtype from, syn_node *x, loom_span span) {
    if (from != LOOM_DTYPES) {
        syn_ty *t = loom_syn_ty(x->type);
        const char *hint = t->kind == TY_SCALAR
                               ? loom_arena_printf(e->arena, "`%s.%s` converts from %s", loom_dtype_name(to),
                                                   loom_dtype_name(t->dtype), loom_dtype_name(t->dtype))
                               : NULL;
        loom_syn_need_type_hint(e, LOOM_W_AT_TYPE, x->type, e->scalars[from], span, hint, "`%s.%s`",
                                loom_dtype_name(to), loom_dtype_name(from));
    }
    if (!loom_syn_need_mask(e, LOOM_W_OPERAND, x->type, SYN_SCALARS, span, "`%s`", loom_dtype_name(to)))
        return loom_syn_poison(e, span);
    return loom_syn_node1(e, LOOM_OP_CONVERT, e->scalars[to], x, span);
}

/* ---- constants ---- */

syn_node *loom_syn_constant(syn_elab *e, syn_name *name, loom_dtype at, loom_span span) {
    const char *t = name->text;
    bool real = strcmp(t, "pi") == 0 || strcmp(t, "inf") == 0 || strcmp(t, "nan") == 0;
    bool bound = strcmp(t, "highest") == 0 || strcmp(t, "lowest") == 0; /* of a float: the infinities */
    bool qualified = strcmp(t, "e") == 0 || strcmp(t, "epsilon") == 0;
    if (!real && !bound && !(qualified && at != LOOM_DTYPES)) return NULL;
    syn_mask mask = bound ? SYN_REALS : SYN_FLOATS;
    syn_ty *type = at == LOOM_DTYPES ? loom_syn_ty_var(e, mask) : e->scalars[at];
    if (at == LOOM_DTYPES) {
        type->literal = 2;
    } else if (!(mask & SYN_BIT(at))) {
        loom_syn_error(e, LOOM_W_NO_QUALIFIED, span, NULL, "there is no `%s.%s`", loom_dtype_name(at), t);
        return loom_syn_poison(e, span);
    }
    syn_node *n = loom_syn_literal(e, LIT_CONSTANT, 0, 0, false, type, span);
    n->field = name;
    return n;
}
