/* What can be proven of i64 expressions.
 *
 * A form is constant + sum of factor * term. An axis lies in 0 .. extent - 1; an extent is at least 0, and at least 1
 * if the operation has that axis (no point exists otherwise). To prove f >= c the axes are replaced by the end at which
 * f is least, then the extents by their least values. Where that fails, one fact is subtracted and it is tried again:
 * from facts i >= 0, 2 - i >= 0 follows 0 <= i < 3.
 *
 * Arithmetic wraps in the program. Sums and multiples are therefore taken apart only where they are made of axes,
 * extents and constants, which nothing that ends can make overflow; any other expression is one opaque term, known
 * through facts about that very expression alone.
 */
#include "rewrite.h"

#define MOST_FACTOR   ((int64_t)1 << 20)
#define MOST_CONSTANT ((int64_t)1 << 40)

static bool add_term(form *f, term_kind kind, uint32_t id, int64_t factor) {
    for (uint32_t i = 0; i < f->n; i++) {
        term *t = &f->terms[i];
        if (t->kind != kind || t->id != id) continue;
        t->factor += factor;
        bool ok = t->factor <= MOST_FACTOR && t->factor >= -MOST_FACTOR;
        if (t->factor == 0) *t = f->terms[--f->n];
        return ok;
    }
    if (f->n == MAX_FORM || factor > MOST_FACTOR || factor < -MOST_FACTOR) return false;
    if (factor) f->terms[f->n++] = (term){(uint8_t)kind, id, factor};
    return true;
}

static bool add_constant(form *f, int64_t c) {
    if (c > MOST_CONSTANT || c < -MOST_CONSTANT) return false;
    f->constant += c;
    return f->constant <= MOST_CONSTANT && f->constant >= -MOST_CONSTANT;
}

/* The scalar behind an extent: through the check that it is not negative. */
static bool add_extent(const rewrite *r, form *f, loom_axis_id axis, int64_t factor) {
    const loom_axis *a = &r->l->axes[axis];
    if (a->kind == LOOM_AXIS_CONST) return add_constant(f, a->extent * factor);
    return add_term(f, TERM_EXTENT, axis, factor);
}

/* Made of axes, extents and constants only. */
static bool is_plain(const rewrite *r, loom_lexpr_id id, uint32_t depth) {
    const loom_lexpr *e = &r->l->exprs[id];
    loom_scalar c;
    switch ((loom_lexpr_kind)e->kind) {
    case LOOM_LX_CONST: return e->dtype == LOOM_I64 && e->imm.i <= MOST_CONSTANT && e->imm.i >= -MOST_CONSTANT;
    case LOOM_LX_AXIS:
    case LOOM_LX_EXTENT: return true;
    case LOOM_LX_PRIM: break;
    default: return false;
    }
    if (depth == 0 || e->dtype != LOOM_I64) return false;
    loom_lexpr_id a = loom_lifted_arg(r->l, e, 0), b = e->n_args > 1 ? loom_lifted_arg(r->l, e, 1) : a;
    switch ((loom_prim)e->prim) {
    case LOOM_PRIM_NEG:
    case LOOM_PRIM_ADD:
    case LOOM_PRIM_SUB: return is_plain(r, a, depth - 1) && is_plain(r, b, depth - 1);
    case LOOM_PRIM_MUL:
        return (fuse_const_of(r, a, &c) || fuse_const_of(r, b, &c)) && c.i <= MOST_FACTOR && c.i >= -MOST_FACTOR &&
               is_plain(r, a, depth - 1) && is_plain(r, b, depth - 1);
    default: return false;
    }
}

static bool take_apart(const rewrite *r, loom_lexpr_id id, int64_t factor, form *f) {
    const loom_lexpr *e = &r->l->exprs[id];
    loom_scalar c;
    if (factor > MOST_FACTOR || factor < -MOST_FACTOR) return false;
    if (e->kind == LOOM_LX_CONST) return add_constant(f, e->imm.i * factor);
    if (e->kind == LOOM_LX_AXIS) return add_term(f, TERM_AXIS, e->aux, factor);
    if (e->kind == LOOM_LX_EXTENT) return add_extent(r, f, e->aux, factor);
    loom_lexpr_id a = loom_lifted_arg(r->l, e, 0), b = e->n_args > 1 ? loom_lifted_arg(r->l, e, 1) : a;
    switch ((loom_prim)e->prim) {
    case LOOM_PRIM_ADD: return take_apart(r, a, factor, f) && take_apart(r, b, factor, f);
    case LOOM_PRIM_SUB: return take_apart(r, a, factor, f) && take_apart(r, b, -factor, f);
    case LOOM_PRIM_NEG: return take_apart(r, a, -factor, f);
    default: break;
    }
    if (fuse_const_of(r, a, &c)) return take_apart(r, b, factor * c.i, f);
    return fuse_const_of(r, b, &c) && take_apart(r, a, factor * c.i, f);
}

bool fuse_linear(const rewrite *r, loom_lexpr_id id, int64_t factor, form *f) {
    if (is_plain(r, id, 16)) return take_apart(r, id, factor, f);
    return add_term(f, TERM_EXPR, id, factor);
}

static bool has_axis(const rewrite *r, loom_axis_id axis) {
    for (uint32_t i = 0; r->op && i < r->op->n_axes; i++) {
        if (r->op->axes[i] == axis && i != r->skipped_axis) return true;
    }
    return false;
}

/* Least value of the form, if it has one. */
static bool least_value(const rewrite *r, form f, int64_t *least) {
    for (uint32_t i = 0; i < f.n;) {
        term t = f.terms[i];
        if (t.kind != TERM_AXIS) {
            i++;
            continue;
        }
        f.terms[i] = f.terms[--f.n];
        if (t.factor > 0) continue;
        if (!add_extent(r, &f, r->op->axes[t.id], t.factor) || !add_constant(&f, -t.factor)) return false;
        i = 0;
    }
    *least = f.constant;
    for (uint32_t i = 0; i < f.n; i++) {
        if (f.terms[i].kind != TERM_EXTENT || f.terms[i].factor < 0) return false;
        if (has_axis(r, f.terms[i].id)) *least += f.terms[i].factor;
    }
    return true;
}

static bool minus(form *f, const form *g) {
    bool ok = add_constant(f, -g->constant);
    for (uint32_t i = 0; ok && i < g->n; i++) ok = add_term(f, g->terms[i].kind, g->terms[i].id, -g->terms[i].factor);
    return ok;
}

bool fuse_at_least(const rewrite *r, const form *f, int64_t least) {
    int64_t value;
    if (least_value(r, *f, &value) && value >= least) return true;
    for (uint32_t i = 0; i < r->n_facts; i++) {
        form g = *f;
        if (minus(&g, &r->facts[i]) && least_value(r, g, &value) && value >= least) return true;
    }
    return false;
}

static void add_fact(rewrite *r, const form *f) {
    if (r->n_facts < MAX_FACTS) r->facts[r->n_facts++] = *f;
}

/* a - b >= least */
static void add_difference(rewrite *r, loom_lexpr_id a, loom_lexpr_id b, int64_t least) {
    form f = {.constant = 0};
    if (fuse_linear(r, a, 1, &f) && fuse_linear(r, b, -1, &f) && add_constant(&f, -least)) add_fact(r, &f);
}

static void assume_order(rewrite *r, loom_prim prim, loom_lexpr_id a, loom_lexpr_id b) {
    switch (prim) {
    case LOOM_PRIM_GE: add_difference(r, a, b, 0); break;
    case LOOM_PRIM_GT: add_difference(r, a, b, 1); break;
    case LOOM_PRIM_LE: add_difference(r, b, a, 0); break;
    case LOOM_PRIM_LT: add_difference(r, b, a, 1); break;
    case LOOM_PRIM_EQ:
        add_difference(r, a, b, 0);
        add_difference(r, b, a, 0);
        break;
    default: break;
    }
}

static loom_prim opposite(loom_prim prim) {
    switch (prim) {
    case LOOM_PRIM_GE: return LOOM_PRIM_LT;
    case LOOM_PRIM_GT: return LOOM_PRIM_LE;
    case LOOM_PRIM_LE: return LOOM_PRIM_GT;
    case LOOM_PRIM_LT: return LOOM_PRIM_GE;
    case LOOM_PRIM_NE: return LOOM_PRIM_EQ;
    default: return LOOM_PRIM_COUNT;
    }
}

void fuse_assume(rewrite *r, loom_lexpr_id condition, bool holds) {
    const loom_lexpr *e = &r->l->exprs[condition];
    if (r->n_conditions < MAX_FACTS) {
        r->conditions[r->n_conditions].expr = condition;
        r->conditions[r->n_conditions++].holds = holds;
    }
    if (e->kind != LOOM_LX_PRIM) return;
    loom_lexpr_id a = loom_lifted_arg(r->l, e, 0), b = e->n_args > 1 ? loom_lifted_arg(r->l, e, 1) : a;
    if (e->prim == (holds ? LOOM_PRIM_AND : LOOM_PRIM_OR)) {
        fuse_assume(r, a, holds);
        fuse_assume(r, b, holds);
    } else if (e->prim == LOOM_PRIM_NOT) {
        fuse_assume(r, a, !holds);
    } else if (r->l->exprs[a].dtype == LOOM_I64) {
        assume_order(r, holds ? (loom_prim)e->prim : opposite((loom_prim)e->prim), a, b);
    }
}

static bool difference_at_least(const rewrite *r, loom_lexpr_id a, loom_lexpr_id b, int64_t least) {
    form f = {.constant = 0};
    return fuse_linear(r, a, 1, &f) && fuse_linear(r, b, -1, &f) && fuse_at_least(r, &f, least);
}

int fuse_decide(const rewrite *r, loom_prim prim, loom_lexpr_id a, loom_lexpr_id b) {
    if (r->l->exprs[a].dtype != LOOM_I64) return -1;
    switch (prim) {
    case LOOM_PRIM_GE: return difference_at_least(r, a, b, 0) ? 1 : difference_at_least(r, b, a, 1) ? 0 : -1;
    case LOOM_PRIM_GT: return difference_at_least(r, a, b, 1) ? 1 : difference_at_least(r, b, a, 0) ? 0 : -1;
    case LOOM_PRIM_LE: return fuse_decide(r, LOOM_PRIM_GE, b, a);
    case LOOM_PRIM_LT: return fuse_decide(r, LOOM_PRIM_GT, b, a);
    case LOOM_PRIM_EQ:
    case LOOM_PRIM_NE: {
        int yes = prim == LOOM_PRIM_EQ;
        if (a == b) return yes;
        if (difference_at_least(r, a, b, 1) || difference_at_least(r, b, a, 1)) return !yes;
        return difference_at_least(r, a, b, 0) && difference_at_least(r, b, a, 0) ? yes : -1;
    }
    default: return -1;
    }
}

/* In range of the segment only where the indices before it are those of the point: then it is the point's own. */
static bool is_own_segment(const rewrite *r, const loom_lexpr_id *index, const loom_axis_id *axes, uint32_t i) {
    for (uint32_t k = 0; k <= i; k++) {
        const loom_lexpr *e = &r->l->exprs[index[k]];
        if (e->kind != LOOM_LX_AXIS || e->aux != k || k >= r->op->n_axes || r->op->axes[k] != axes[k] ||
            k == r->skipped_axis)
            return false;
    }
    return true;
}

static bool in_range(const rewrite *r, loom_lexpr_id index, loom_axis_id axis) {
    form low = {.constant = 0}, high = {.constant = 0};
    return fuse_linear(r, index, 1, &low) && fuse_at_least(r, &low, 0) && add_extent(r, &high, axis, 1) &&
           fuse_linear(r, index, -1, &high) && fuse_at_least(r, &high, 1);
}

/* A place that a sort gives, of the list that the indices before name: the sorted axis is the one it is to index. */
static bool is_place_of_sort(const rewrite *r, const loom_lexpr_id *index, const loom_axis_id *axes, uint32_t i) {
    const loom_lexpr *e = &r->l->exprs[index[i]];
    if (e->kind != LOOM_LX_LOAD || e->mode != LOOM_LOAD_PROVEN || e->site != LOOM_NONE) return false;
    const loom_lvalue *places = &r->l->values[e->aux];
    if (places->op == LOOM_NONE || r->l->ops[places->op].kind != LOOM_LO_SORT) return false;
    if (places->axes[places->n_axes - 1] != axes[i]) return false;
    if (r->l->axes[axes[i]].kind != LOOM_AXIS_SEGMENTED) return true;
    for (uint32_t k = 0; k < i; k++) { /* the axes before are those of its lengths, in both */
        if (loom_lifted_arg(r->l, e, k) != index[k]) return false;
    }
    return true;
}

bool fuse_load_in_range(const rewrite *r, loom_lvalue_id value, const loom_lexpr_id *index) {
    const loom_lvalue *v = &r->l->values[value];
    for (uint32_t i = 0; i < v->n_axes; i++) {
        bool segmented = r->l->axes[v->axes[i]].kind == LOOM_AXIS_SEGMENTED;
        if (is_place_of_sort(r, index, v->axes, i)) continue;
        if (segmented ? !is_own_segment(r, index, v->axes, i) : !in_range(r, index[i], v->axes[i])) return false;
    }
    return true;
}
