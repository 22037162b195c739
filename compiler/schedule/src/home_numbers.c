/* Which element a row is of, and how long it is: numbers that are the same, though they are found in different ways. */
#include "homes_impl.h"

/* Axes of as many points: a count that was copied is the same. */
bool home_same_count(const home *x, loom_axis_id a, loom_axis_id b) {
    const loom_axis *axis = &x->l->axes[a];
    if (a == b) return true;
    if (axis->kind != LOOM_AXIS_SCALAR || x->l->values[axis->value].source != LOOM_LV_OP) return false;
    const loom_lop *op = &x->l->ops[x->l->values[axis->value].op];
    if (op->kind != LOOM_LO_COMPUTE || op->n_axes) return false;
    const loom_lexpr *e = expr(x, result_of_body(x, op, number_of(op, axis->value)));
    return e->kind == LOOM_LX_EXTENT && home_same_count(x, e->aux, b);
}

/* An expression in whose place of axis 0 another stands; NULL: the axis itself. */
typedef struct term {
    loom_lexpr_id id;
    const struct term *at;
} term;

static term head(const home *x, term t) {
    while (t.at && expr(x, t.id)->kind == LOOM_LX_AXIS && expr(x, t.id)->aux == 0) t = *t.at;
    return t;
}

/* What the COMPUTE along one axis, whose result is loaded, has there. */
static bool expand(const home *x, const term *index, loom_lvalue_id value, term *t) {
    const loom_lvalue *v = &x->l->values[value];
    if (v->source != LOOM_LV_OP || v->n_axes != 1) return false;
    const loom_lop *op = &x->l->ops[v->op];
    uint32_t j = number_of(op, value);
    if (op->kind != LOOM_LO_COMPUTE || op->dense || op->sliced || op->blank || j == op->n_results) return false;
    *t = (term){result_of_body(x, op, j), index};
    return true;
}

static bool same_number(const home *x, term a, term b, uint32_t depth);

static bool same_arguments(const home *x, term a, term b, uint32_t depth) {
    const loom_lexpr *p = expr(x, a.id), *q = expr(x, b.id);
    if (p->n_args != q->n_args) return false;
    for (uint32_t i = 0; i < p->n_args; i++) {
        term m = {loom_lifted_arg(x->l, p, i), a.at}, n = {loom_lifted_arg(x->l, q, i), b.at};
        if (!same_number(x, m, n, depth - 1)) return false;
    }
    return true;
}

/* Whether the two are the same number, seen through what finds it. */
static bool same_number(const home *x, term a, term b, uint32_t depth) {
    a = head(x, a);
    b = head(x, b);
    const loom_lexpr *p = expr(x, a.id), *q = expr(x, b.id);
    if (depth == 0) return false;
    bool load_a = p->kind == LOOM_LX_LOAD && p->mode == LOOM_LOAD_PROVEN,
         load_b = q->kind == LOOM_LX_LOAD && q->mode == LOOM_LOAD_PROVEN;
    if (load_a && load_b && p->aux == q->aux) return same_arguments(x, a, b, depth);
    if (load_a && p->n_args == 1) {
        term index = {loom_lifted_arg(x->l, p, 0), a.at}, t;
        if (expand(x, &index, p->aux, &t)) return same_number(x, t, b, depth - 1);
    }
    if (load_b && q->n_args == 1) {
        term index = {loom_lifted_arg(x->l, q, 0), b.at}, t;
        if (expand(x, &index, q->aux, &t)) return same_number(x, a, t, depth - 1);
    }
    if (p->kind != q->kind || p->dtype != q->dtype) return false;
    if (p->kind == LOOM_LX_AXIS) return !a.at && !b.at && p->aux == q->aux;
    if (p->kind == LOOM_LX_CONST) return loom_lifted_same_scalar(p->dtype, &p->imm, &q->imm);
    return p->kind == LOOM_LX_PRIM && p->prim == q->prim && same_arguments(x, a, b, depth);
}

bool home_is_number(const home *x, loom_lexpr_id a, loom_lexpr_id b) {
    return same_number(x, (term){a, NULL}, (term){b, NULL}, 24);
}

/* Whether the expression is the state at (number(t), j). */
bool home_is_taken(const home *x, loom_lexpr_id id) {
    const loom_lexpr *e = expr(x, id);
    return e->kind == LOOM_LX_LOAD && e->mode == LOOM_LOAD_PROVEN && e->aux == x->whole &&
           home_is_number(x, loom_lifted_arg(x->l, e, 0), x->number) && is_own(x, e, 1);
}

/* Whether i64 over t are the lengths of the state's rows, by the number. */
static bool same_lengths(const home *x, loom_lvalue_id lengths, loom_lvalue_id of_whole) {
    term row = {x->number, NULL}, a, b;
    return expand(x, NULL, lengths, &a) && expand(x, &row, of_whole, &b) && same_number(x, a, b, 24);
}

/* Whether values over these axes have the state's rows, of t. */
bool home_has_rows(const home *x, uint32_t n, const loom_axis_id *axes) {
    const loom_lvalue *w = &x->l->values[x->whole];
    if (n != w->n_axes || !home_same_count(x, axes[0], x->axis)) return false;
    for (uint32_t i = 1; i < n; i++) {
        const loom_axis *a = &x->l->axes[axes[i]], *b = &x->l->axes[w->axes[i]];
        if (axes[i] == w->axes[i] && a->kind != LOOM_AXIS_SEGMENTED) continue;
        bool rows = i == 1 && a->kind == LOOM_AXIS_SEGMENTED && b->kind == LOOM_AXIS_SEGMENTED;
        if (!rows || !same_lengths(x, a->lengths, b->lengths)) return false;
    }
    return true;
}

/* Whether something in the body may fail, or need not end: then it is evaluated, whoever uses what it gives. */
bool home_may_fail(const home *x, const loom_lop *op) {
    const loom_lblock *b = &x->l->blocks[op->body];
    for (loom_lexpr_id id = b->first; id < b->end; id++) {
        const loom_lexpr *e = expr(x, id);
        if (e->kind == LOOM_LX_CHECK || e->kind == LOOM_LX_WHILE) return true;
        if (e->kind == LOOM_LX_LOAD && e->mode == LOOM_LOAD_CHECKED) return true;
        if (e->kind == LOOM_LX_PRIM && loom_prim_table[e->prim].can_trap) return true;
    }
    return false;
}
