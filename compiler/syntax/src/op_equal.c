/* Equality of tuples, records and arrays, as Futhark's: part by part; arrays of unequal length differ. */
#include "elab.h"

static syn_node *equal(syn_elab *e, syn_node *a, syn_node *b, loom_span span);

static syn_node *both(syn_elab *e, syn_node *x, syn_node *y, loom_span span) {
    return loom_syn_prim(e, LOOM_PRIM_AND, e->scalars[LOOM_BOOL], 2, (syn_node *[]){x, y}, span);
}

static syn_node *equal_tuples(syn_elab *e, syn_node *a, syn_node *b, const syn_ty *type, loom_span span) {
    syn_node *all = NULL;
    for (uint32_t i = 0; i < type->n; i++) {
        syn_node *part = equal(e, loom_syn_project(e, a, i, span), loom_syn_project(e, b, i, span), span);
        all = all ? both(e, all, part, span) : part;
    }
    return all ? all : loom_syn_bool(e, true, span);
}

/* if length a == length b then fold (&&) true (map2 equal a b) else false */
static syn_node *equal_arrays(syn_elab *e, syn_node *a, syn_node *b, syn_ty *element, loom_span span) {
    syn_ty *boolean = e->scalars[LOOM_BOOL], *i64 = e->scalars[LOOM_I64];
    syn_node *lengths[2] = {loom_syn_node1(e, LOOM_OP_LENGTH, i64, a, span),
                            loom_syn_node1(e, LOOM_OP_LENGTH, i64, b, span)};
    syn_node *same_length = loom_syn_prim(e, LOOM_PRIM_EQ, boolean, 2, lengths, span);
    syn_body *compare = loom_syn_open(e, B_BRANCH, 0, NULL, span);
    syn_ty *types[2] = {element, element};
    syn_body *each = loom_syn_open(e, B_ARRAY, 2, types, span);
    loom_syn_close(e, each, equal(e, each->params[0], each->params[1], span));
    syn_node *map = loom_syn_node2(e, LOOM_OP_MAP, loom_syn_ty_array(e, boolean), a, b, span);
    loom_syn_set_bodies(e, map, each, NULL);
    syn_ty *booleans[2] = {boolean, boolean};
    syn_node *yes = loom_syn_bool(e, true, span);
    syn_body *and = loom_syn_open(e, B_ARRAY, 2, booleans, span);
    loom_syn_close(e, and, both(e, and->params[0], and->params[1], span));
    syn_node *fold = loom_syn_node2(e, LOOM_OP_FOLD, boolean, yes, map, span);
    loom_syn_set_bodies(e, fold, and, NULL);
    loom_syn_close(e, compare, fold);
    syn_body *differ = loom_syn_open(e, B_BRANCH, 0, NULL, span);
    loom_syn_close(e, differ, loom_syn_bool(e, false, span));
    syn_node *n = loom_syn_node1(e, LOOM_OP_IF, boolean, same_length, span);
    loom_syn_set_bodies(e, n, compare, differ);
    return n;
}

static syn_node *equal(syn_elab *e, syn_node *a, syn_node *b, loom_span span) {
    syn_ty *t = loom_syn_ty(a->type);
    if (t->kind == TY_TUPLE) return equal_tuples(e, a, b, t, span);
    if (t->kind == TY_ARRAY) return equal_arrays(e, a, b, t->element, span);
    return loom_syn_prim_call(e, LOOM_PRIM_EQ, LOOM_DTYPES, 2, (syn_node *[]){a, b}, NULL, span);
}

syn_node *loom_syn_equal(syn_elab *e, bool negated, syn_node *a, syn_node *b, loom_span span) {
    const char *left = loom_syn_ty_text(e, a->type), *right = loom_syn_ty_text(e, b->type);
    if (!loom_syn_unify(e, a->type, b->type)) {
        loom_syn_error(e, LOOM_W_SIDES, span, NULL, "both sides of `%s` must have one type, found %s and %s",
                       negated ? "!=" : "==", left, right);
        return loom_syn_poison(e, span);
    }
    /* An error, told before, is like any type: that of the other side is not this one's. */
    if (loom_syn_ty(a->type)->kind == TY_POISON || loom_syn_ty(b->type)->kind == TY_POISON)
        return loom_syn_poison(e, span);
    syn_node *same = equal(e, a, b, span);
    return negated ? loom_syn_prim(e, LOOM_PRIM_NOT, e->scalars[LOOM_BOOL], 1, &same, span) : same;
}
