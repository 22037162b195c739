/* Constraints that wait until a type is known: fields of records, parts of complex numbers, absolute values,
 * transforms, what is sorted by. One is looked at when it is made and whenever a variable it mentions is bound, so
 * information flows in any order. */
#include "elab.h"
#include <string.h>

int loom_syn_find_field(syn_ty *t, const syn_name *name) {
    if (t->kind != TY_TUPLE) return -1;
    if (t->shape) {
        for (uint32_t i = 0; i < t->n; i++) {
            if (t->shape->names[i] == name) return (int)i;
        }
        return -1;
    }
    uint64_t place = 0;
    for (const char *c = name->text; *c; c++) {
        if (*c < '0' || *c > '9' || place > LOOM_MAX_TUPLE) return -1;
        place = place * 10 + (uint64_t)(*c - '0');
    }
    return place < t->n ? (int)place : -1;
}

static const char *fields_text(syn_elab *e, syn_ty *t) {
    if (t->kind == TY_ARRAY) {
        return loom_arena_printf(e->arena, "it is an array: use `map (.field)`, or index it first");
    }
    if (t->kind == TY_SEQ) return "it is a sequence: `map_seq (.field) s` is that of its fields";
    if (t->kind == TY_SCALAR && loom_dtype_is_complex(t->dtype))
        return "the parts of a complex number are `re z`, `im z`";
    if (t->kind == TY_SCALAR || t->kind == TY_VAR) return "it is a single value: records and tuples have fields";
    if (t->kind != TY_TUPLE) return NULL;
    if (!t->shape) return loom_arena_printf(e->arena, "it has %u components, from .0", t->n);
    const char *text = "it has the fields";
    for (uint32_t i = 0; i < t->n && i < 12; i++) {
        text = loom_arena_printf(e->arena, "%s%s %s", text, i ? "," : "", t->shape->names[i]->text);
    }
    return t->n > 12 ? loom_arena_printf(e->arena, "%s, ...", text) : text;
}

static bool try_field(syn_elab *e, syn_constraint *c) {
    syn_ty *t = loom_syn_ty(c->a);
    if (t->kind == TY_POISON) {
        loom_syn_unify(e, c->b, e->poison);
        return true;
    }
    if (t->kind == TY_VAR && !t->mask) return false;
    int place = loom_syn_find_field(t, c->name);
    if (place < 0) {
        loom_syn_error_at(e, LOOM_W_NO_FIELD, c->site, c->span, fields_text(e, t), "no field `%s` in %s", c->name->text,
                          loom_syn_ty_text(e, t));
        loom_syn_unify(e, c->b, e->poison);
    } else if (!loom_syn_unify(e, c->b, t->fields[place])) {
        loom_syn_error_at(e, LOOM_W_FIELD_TYPE, c->site, c->span, "convert it where it is used: `f64 r.x`",
                          "field `%s` has type %s, but %s is needed", c->name->text,
                          loom_syn_ty_text(e, t->fields[place]), loom_syn_ty_text(e, c->b));
    }
    return true;
}

/* What the sets of both sides allow each other. */
static syn_mask complex_of(syn_mask real) {
    return ((real & SYN_BIT(LOOM_F32)) ? SYN_BIT(LOOM_C64) : 0u) |
           ((real & SYN_BIT(LOOM_F64)) ? SYN_BIT(LOOM_C128) : 0u);
}

static syn_mask real_of(syn_mask complex) {
    return ((complex & SYN_BIT(LOOM_C64)) ? SYN_BIT(LOOM_F32) : 0u) |
           ((complex & SYN_BIT(LOOM_C128)) ? SYN_BIT(LOOM_F64) : 0u);
}

static syn_mask mask_of(syn_ty *t) {
    t = loom_syn_ty(t);
    if (t->kind == TY_VAR) return t->mask ? t->mask : SYN_SCALARS;
    return t->kind == TY_SCALAR ? SYN_BIT(t->dtype) : 0;
}

static bool try_real(syn_elab *e, syn_constraint *c) {
    if (loom_syn_is_poison(c->a) || loom_syn_is_poison(c->b)) return true;
    bool possible =
        loom_syn_restrict(e, c->a, complex_of(mask_of(c->b))) && loom_syn_restrict(e, c->b, real_of(mask_of(c->a)));
    if (!possible) {
        loom_syn_error_at(e, LOOM_W_COMPLEX_PARTS, c->site, c->span, "the parts of a c64 are f32, those of a c128 f64",
                          "%s does not go with %s", loom_syn_ty_text(e, c->b), loom_syn_ty_text(e, c->a));
        return true;
    }
    return loom_syn_ty(c->a)->kind != TY_VAR && loom_syn_ty(c->b)->kind != TY_VAR;
}

static bool try_abs(syn_elab *e, syn_constraint *c) {
    syn_mask mask = mask_of(c->a);
    if (loom_syn_is_poison(c->a)) return loom_syn_unify(e, c->b, e->poison) || true;
    if (!(mask & SYN_COMPLEX)) {
        if (!loom_syn_unify(e, c->a, c->b)) {
            loom_syn_error_at(e, LOOM_W_COMPLEX_PARTS, c->site, c->span, NULL, "the absolute value of %s is not %s",
                              loom_syn_ty_text(e, c->a), loom_syn_ty_text(e, c->b));
        }
        return true;
    }
    if (mask & ~SYN_COMPLEX) return false;
    c->kind = C_REAL;
    return try_real(e, c);
}

static bool try_transform(syn_elab *e, syn_constraint *c) {
    syn_ty *leaf = NULL;
    uint32_t rank = loom_syn_rank(c->a, &leaf);
    if (leaf->kind == TY_POISON) return true;
    if (leaf->kind == TY_VAR && !leaf->mask) return false;
    if (rank == 0 || !loom_syn_restrict(e, leaf, SYN_COMPLEX)) {
        loom_syn_error_at(e, LOOM_W_TRANSFORM, c->site, c->span, "convert the elements: `map (map c128) xs`",
                          "a Fourier transform needs an array of complex numbers, found %s", loom_syn_ty_text(e, c->a));
    }
    return true;
}

static const char *no_order_hint(const syn_ty *t) {
    if (t->kind == TY_SCALAR) return "complex numbers have no order: `sort_by abs xs`";
    if (t->kind == TY_ARRAY) return "say which element counts: `sort_by (\\x -> x[0]) xs`";
    return "keys are numbers, truth values, and tuples of those";
}

/* Fields are constraints of their own, since each may be open. */
static bool try_key(syn_elab *e, syn_constraint *c) {
    syn_ty *t = loom_syn_ty(c->a);
    if (t->kind == TY_POISON) return true;
    if (t->kind == TY_VAR && !t->mask) return false;
    if (t->kind == TY_TUPLE && t->n > 0) {
        for (uint32_t i = 0; i < t->n; i++) {
            loom_syn_step(e);
            loom_syn_constrain(e, C_KEY, t->fields[i], NULL, NULL, c->span);
        }
        return true;
    }
    bool scalar = t->kind == TY_VAR || t->kind == TY_SCALAR;
    if (!scalar || !loom_syn_restrict(e, t, SYN_REALS | SYN_BIT(LOOM_BOOL))) {
        loom_syn_error_at(e, LOOM_W_KEY_ORDER, c->site, c->span, no_order_hint(t),
                          "a key to sort by has no order: found %s", loom_syn_ty_text(e, t));
    }
    return true;
}

bool loom_syn_try_constraint(syn_elab *e, syn_constraint *c) {
    switch (c->kind) {
    case C_FIELD: return try_field(e, c);
    case C_REAL: return try_real(e, c);
    case C_ABS: return try_abs(e, c);
    case C_TRANSFORM: return try_transform(e, c);
    case C_KEY: return try_key(e, c);
    }
    return true;
}

static void put_in_list(syn_constraint *c, syn_ty *t) {
    c->on = t;
    c->next_watch = t->watch;
    if (!t->watch) t->watch_end = &c->next_watch;
    t->watch = c;
}

/* A constraint may watch two variables, and a list has one link: each variable watches a copy. Solving it twice does no
 * harm. */
static void watch(syn_elab *e, const syn_constraint *c, syn_ty *t) {
    loom_syn_rank(t, &t);
    if (t->kind != TY_VAR) return;
    syn_constraint *copy = LOOM_NEW(e->arena, syn_constraint);
    *copy = *c;
    put_in_list(copy, t);
    LOOM_PUSH(e->arena, e->frame->constraints, copy);
}

void loom_syn_watch_again(syn_elab *e, syn_constraint *c) {
    (void)e;
    if (loom_syn_ty(c->on)->kind == TY_VAR) return; /* still in its list */
    syn_ty *leaf = NULL;
    loom_syn_rank(c->on, &leaf);
    if (leaf->kind == TY_VAR) put_in_list(c, leaf);
}

void loom_syn_constrain(syn_elab *e, syn_constraint_kind kind, syn_ty *a, syn_ty *b, syn_name *name, loom_span span) {
    syn_constraint *c = LOOM_NEW(e->arena, syn_constraint);
    *c = (syn_constraint){.kind = kind, .a = a, .b = b, .name = name, .span = span, .site = e->site};
    if (loom_syn_try_constraint(e, c)) return;
    watch(e, c, a);
    if (b && kind != C_FIELD) watch(e, c, b);
}

void loom_syn_unsolved(syn_elab *e, syn_constraint *c) {
    if (c->done || loom_syn_try_constraint(e, c)) return;
    switch (c->kind) {
    case C_FIELD:
        loom_syn_error_at(e, LOOM_W_OPEN_USE, c->site, c->span, "annotate the parameter with its record type",
                          "cannot tell which record `.%s` belongs to", c->name->text);
        return;
    case C_TRANSFORM:
        loom_syn_error_at(e, LOOM_W_OPEN_USE, c->site, c->span, "annotate the array",
                          "cannot tell what is transformed");
        return;
    default: return; /* defaults have settled numbers */
    }
}
