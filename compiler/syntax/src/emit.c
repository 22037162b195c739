/* The end of an instance: defaults for what is still open, then provisional nodes become nodes of the program. Nodes
 * that nothing uses and that cannot fail are left out; primitives are chosen by the types their operands now have. */
#include "elab.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- defaults ---- */

static loom_dtype default_of(const syn_ty *t) {
    static const loom_dtype order[] = {LOOM_I32, LOOM_F64, LOOM_I64, LOOM_F32, LOOM_C128, LOOM_C64, LOOM_U64,
                                       LOOM_U32, LOOM_I16, LOOM_U16, LOOM_I8,  LOOM_U8,   LOOM_BOOL};
    if (t->counter && (t->mask & SYN_BIT(LOOM_I64))) return LOOM_I64;
    if (t->literal == 2 && (t->mask & SYN_BIT(LOOM_F64))) return LOOM_F64;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (t->mask & SYN_BIT(order[i])) return order[i];
    }
    return LOOM_I32;
}

static void out_of_range(syn_elab *e, const syn_node *n, loom_dtype t) {
    const char *hint = n->literal == LIT_INT ? "a suffix gives it another type, as in 5i64" : NULL;
    if (n->literal == LIT_INT) {
        loom_syn_error(e, LOOM_W_OUT_OF_RANGE, n->span, hint, "%s%llu is out of range for %s", n->negative ? "-" : "",
                       (unsigned long long)n->integer, loom_dtype_name(t));
    } else {
        loom_syn_error(e, LOOM_W_OUT_OF_RANGE, n->span, hint, "%s%g is out of range for %s", n->negative ? "-" : "",
                       n->real, loom_dtype_name(t));
    }
}

static bool integer_fits(const syn_node *n, loom_dtype t) {
    unsigned bits = (unsigned)(8 * loom_dtype_size(t));
    if (loom_dtype_is_unsigned(t)) return !(n->negative && n->integer) && (bits == 64 || n->integer >> bits == 0);
    uint64_t limit = (uint64_t)1 << (bits - 1);
    return n->negative ? n->integer <= limit : n->integer < limit;
}

static void check_literal(syn_elab *e, const syn_node *n) {
    syn_ty *t = loom_syn_ty(n->type);
    if (t->kind != TY_SCALAR || t->dtype == LOOM_BOOL || n->literal == LIT_CONSTANT) return;
    loom_dtype real = loom_dtype_real(t->dtype);
    if (loom_dtype_is_integer(t->dtype)) {
        if (!integer_fits(n, t->dtype)) out_of_range(e, n, t->dtype);
    } else if (!isfinite(n->real) || (real == LOOM_F32 && n->real > (double)FLT_MAX)) {
        out_of_range(e, n, t->dtype);
    }
}

void loom_syn_defaults(syn_elab *e, syn_frame *frame) {
    for (size_t i = 0; i < frame->literals.count; i++) {
        syn_ty *t = loom_syn_ty(frame->literals.at[i]->type);
        if (t->kind == TY_VAR && t->literal) loom_syn_unify(e, t, e->scalars[default_of(t)]);
    }
    for (size_t i = 0; i < frame->constraints.count; i++) loom_syn_unsolved(e, frame->constraints.at[i]);
    for (size_t i = 0; i < frame->literals.count; i++) check_literal(e, frame->literals.at[i]);
}

/* ---- what is used ---- */

static bool is_silent(const syn_node *n) {
    switch (n->op) {
    case LOOM_OP_CONST:
    case LOOM_OP_PROJECT:
    case LOOM_OP_TUPLE:
    case LOOM_OP_LENGTH:
    case LOOM_OP_DIM:
    case LOOM_OP_UNZIP:
    case LOOM_OP_FLATTEN:
    case LOOM_OP_CONVERT: return true;
    case LOOM_OP_PRIM: return !loom_prim_table[n->prim].can_trap && n->prim != LOOM_PRIM_DIV;
    default: return false;
    }
}

static void mark(syn_elab *e, const syn_body *body) {
    body->result->used = true;
    for (size_t i = body->nodes.count; i-- > 0;) {
        syn_node *n = body->nodes.at[i];
        loom_syn_step(e);
        if (!n->used && is_silent(n)) continue;
        n->used = true;
        for (uint32_t k = 0; k < n->n_operands; k++) n->operands[k]->used = true;
        for (uint32_t k = 0; k < n->n_bodies; k++) mark(e, n->bodies[k]);
    }
}

/* ---- constants ---- */

static double named_constant(const syn_node *n, loom_dtype real) {
    const char *name = n->field->text;
    if (strcmp(name, "pi") == 0) return M_PI;
    if (strcmp(name, "e") == 0) return M_E;
    if (strcmp(name, "nan") == 0) return NAN;
    if (strcmp(name, "epsilon") == 0) return real == LOOM_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
    return strcmp(name, "lowest") == 0 ? -INFINITY : INFINITY;
}

static loom_scalar integer_bound(loom_dtype t, bool highest) {
    loom_scalar s = {.u = 0};
    unsigned bits = (unsigned)(8 * loom_dtype_size(t));
    if (loom_dtype_is_signed(t)) {
        int64_t most = (int64_t)(UINT64_MAX >> (65 - bits));
        s.i = highest ? most : -most - 1;
    } else if (highest) {
        s.u = UINT64_MAX >> (64 - bits);
    }
    return s;
}

static loom_scalar scalar_of(const syn_node *n, loom_dtype t) {
    loom_scalar s = {.c = {0, 0}};
    if (t == LOOM_BOOL) {
        s.b = n->integer != 0;
        return s;
    }
    if (loom_dtype_is_integer(t)) {
        if (n->literal == LIT_CONSTANT) return integer_bound(t, strcmp(n->field->text, "highest") == 0);
        s.u = n->negative ? 0 - n->integer : n->integer;
        return s;
    }
    loom_dtype real = loom_dtype_real(t);
    double value = n->literal == LIT_CONSTANT ? named_constant(n, real) : n->negative ? -n->real : n->real;
    if (real == LOOM_F32) value = (double)(float)value;
    if (loom_dtype_is_complex(t)) {
        s.c[0] = value;
    } else {
        s.f = value;
    }
    return s;
}

/* A value of any type, for the element that an empty array does not have. */
static loom_node_id any_value(syn_elab *e, syn_ty *t, loom_span span) {
    loom_program *p = e->program;
    loom_syn_step(e);
    t = loom_syn_ty(t);
    loom_type_id type = loom_syn_core_type(e, t);
    if (t->kind == TY_SCALAR) return loom_build_const(p, t->dtype, (loom_scalar){.c = {0, 0}}, span);
    if (t->kind == TY_ARRAY) {
        loom_node_id operands[2] = {loom_build_i64(p, 0, span), any_value(e, t->element, span)};
        return loom_build_node(p, LOOM_OP_REPLICATE, 0, type, operands, 2, NULL, 0, 0, span);
    }
    loom_node_id *parts = LOOM_NEW_ARRAY(e->arena, loom_node_id, t->n ? t->n : 1);
    for (uint32_t i = 0; i < t->n; i++) parts[i] = any_value(e, t->fields[i], span);
    return loom_build_node(p, LOOM_OP_TUPLE, 0, type, parts, t->n, NULL, 0, 0, span);
}

/* ---- nodes ---- */

static loom_prim chosen_prim(const syn_node *n) {
    syn_ty *t = loom_syn_ty(n->operands[0]->type);
    loom_dtype d = t->dtype;
    switch ((loom_prim)n->prim) {
    case LOOM_PRIM_DIV: return loom_dtype_is_integer(d) ? LOOM_PRIM_FLOORDIV : LOOM_PRIM_DIV;
    case LOOM_PRIM_FLOORMOD: return loom_dtype_is_float(d) ? LOOM_PRIM_FMOD : LOOM_PRIM_FLOORMOD;
    case LOOM_PRIM_ABS: return loom_dtype_is_complex(d) ? LOOM_PRIM_CABS : LOOM_PRIM_ABS;
    case LOOM_PRIM_EXP: return loom_dtype_is_complex(d) ? LOOM_PRIM_CEXP : LOOM_PRIM_EXP;
    case LOOM_PRIM_SQRT: return loom_dtype_is_complex(d) ? LOOM_PRIM_CSQRT : LOOM_PRIM_SQRT;
    case LOOM_PRIM_NOT:
    case LOOM_PRIM_BNOT: return d == LOOM_BOOL ? LOOM_PRIM_NOT : LOOM_PRIM_BNOT;
    default: return (loom_prim)n->prim;
    }
}

static bool is_known(syn_elab *e, const syn_node *n) {
    if (loom_syn_ground(e, n->type)) return true;
    loom_syn_error(e, LOOM_W_OPEN_TYPE, n->span, "annotate it, as in (x: f32)", "the type of this stays open: %s",
                   loom_syn_ty_text(e, n->type));
    return false;
}

static bool same_scalar(syn_ty *a, syn_ty *b) {
    a = loom_syn_ty(a);
    b = loom_syn_ty(b);
    return a->kind == TY_SCALAR && b->kind == TY_SCALAR && a->dtype == b->dtype;
}

/* Nodes that are not one node of the program of the same kind. */
static bool emit_special(syn_elab *e, syn_node *n) {
    loom_program *p = e->program;
    if (n->op == LOOM_OP_CONST) {
        loom_dtype d = loom_syn_ty(n->type)->dtype;
        n->id = loom_build_const(p, d, scalar_of(n, d), n->span);
        return true;
    }
    if (n->op == LOOM_OP_CONVERT && same_scalar(n->type, n->operands[0]->type)) {
        n->id = n->operands[0]->id;
        return true;
    }
    if (n->op == LOOM_OP_ARRAY && n->n_operands == 0) {
        n->id = any_value(e, n->type, n->span);
        return true;
    }
    return false;
}

static loom_body_id emit_body(syn_elab *e, syn_body *body);

static bool emit_node(syn_elab *e, syn_node *n) {
    if (!is_known(e, n)) return false;
    e->at = n->span;
    if (emit_special(e, n)) return true;
    loom_node_id *operands = LOOM_NEW_ARRAY(e->arena, loom_node_id, n->n_operands ? n->n_operands : 1);
    loom_body_id *bodies = LOOM_NEW_ARRAY(e->arena, loom_body_id, n->n_bodies ? n->n_bodies : 1);
    for (uint32_t i = 0; i < n->n_operands; i++) operands[i] = n->operands[i]->id;
    for (uint32_t i = 0; i < n->n_bodies; i++) {
        bodies[i] = emit_body(e, n->bodies[i]);
        if (bodies[i] == LOOM_NONE) return false;
    }
    uint32_t aux = n->aux;
    if (n->op == LOOM_OP_PROJECT && n->field) {
        aux = (uint32_t)loom_syn_find_field(loom_syn_ty(n->operands[0]->type), n->field);
    }
    loom_prim prim = n->op == LOOM_OP_PRIM ? chosen_prim(n) : 0;
    n->id = loom_build_node(e->program, (loom_op)n->op, prim, loom_syn_core_type(e, n->type), operands, n->n_operands,
                            bodies, n->n_bodies, aux, n->span);
    return true;
}

static loom_body_id emit_body(syn_elab *e, syn_body *body) {
    loom_type_id *types = LOOM_NEW_ARRAY(e->arena, loom_type_id, body->n_params ? body->n_params : 1);
    for (uint32_t i = 0; i < body->n_params; i++) {
        if (!is_known(e, body->params[i])) return LOOM_NONE;
        e->at = body->params[i]->span;
        types[i] = loom_syn_core_type(e, body->params[i]->type);
    }
    loom_body_id id = loom_build_open(e->program, body->n_params, types, body->span);
    for (uint32_t i = 0; i < body->n_params; i++) {
        body->params[i]->id = loom_build_param(e->program, id, i);
        e->program->nodes[body->params[i]->id].span = body->params[i]->span;
    }
    for (size_t i = 0; i < body->nodes.count; i++) {
        if (body->nodes.at[i]->used && !emit_node(e, body->nodes.at[i])) return LOOM_NONE;
    }
    loom_build_close(e->program, id, body->result->id);
    return id;
}

loom_body_id loom_syn_emit(syn_elab *e, syn_body *body) {
    if (e->c->diagnostics->any_error) return LOOM_NONE;
    mark(e, body);
    return emit_body(e, body);
}
