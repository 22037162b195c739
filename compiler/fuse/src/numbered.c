/* The number of an element among those that were chosen, looked up, is the element.
 *
 *     from = permute i at (c[i] ? place(i) : -1), each at a place of its own:   from[place(t)] = t where c[t] holds
 *
 * Where a condition has been split (vectorise/src/split.c), what a branch has from around is gathered by `from`, and
 * what it makes is taken from place(t): without this rule each element would find its own row by way of its number,
 * once for each condition around. Cost: the size of the two expressions, for each load of such a value. */
#include "rewrite.h"

enum {
    DEEPEST = 8 /* of the expressions that are compared: flags and sums, loaded or computed from some */
};

typedef struct unifier {
    const rewrite *r;
    loom_lexpr_id element; /* what the permute's index stands for; LOOM_NONE: not known yet */
} unifier;

/* Whether `made`, of the permute's body, is `here` with the element for the index. */
static bool unify(unifier *u, loom_lexpr_id made, loom_lexpr_id here, uint32_t depth) {
    const loom_lifted *l = u->r->l;
    const loom_lexpr *a = &l->exprs[made], *b = &l->exprs[here];
    if (a->kind == LOOM_LX_AXIS) {
        if (u->element == LOOM_NONE) u->element = here;
        return u->element == here;
    }
    if (depth == 0 || a->kind != b->kind || a->dtype != b->dtype || a->n_args != b->n_args) return false;
    switch ((loom_lexpr_kind)a->kind) {
    case LOOM_LX_CONST: return loom_lifted_same_scalar(a->dtype, &a->imm, &b->imm);
    case LOOM_LX_EXTENT: return a->aux == b->aux;
    case LOOM_LX_LOAD:
        if (a->aux != b->aux || a->mode != LOOM_LOAD_PROVEN || b->mode != LOOM_LOAD_PROVEN) return false;
        break;
    case LOOM_LX_PRIM:
        if (a->prim != b->prim) return false;
        break;
    default: return false;
    }
    for (uint32_t i = 0; i < a->n_args; i++) {
        if (!unify(u, loom_lifted_arg(l, a, i), loom_lifted_arg(l, b, i), depth - 1)) return false;
    }
    return true;
}

static bool is_minus_one(const rewrite *r, loom_lexpr_id e) {
    loom_scalar c;
    return r->l->exprs[e].dtype == LOOM_I64 && fuse_const_of(r, e, &c) && c.i == -1;
}

/* A permute of the numbers of its points: into lists of those chosen, each once, the later value in place of the
 * earlier. */
static bool numbers_points(const rewrite *r, const loom_lop *op) {
    if (op->kind != LOOM_LO_PERMUTE || !op->distinct || !op->covers || op->n_axes != 1 || op->rank != 1 ||
        op->n_context || op->n_results != 1 || op->output != LOOM_NONE)
        return false;
    const loom_lblock *body = &r->l->blocks[op->body], *combine = &r->l->blocks[op->combine];
    if (body->n_results != 2 || r->l->exprs[body->results[1]].kind != LOOM_LX_AXIS) return false;
    const loom_lexpr *kept = &r->l->exprs[combine->results[0]];
    return kept->kind == LOOM_LX_PARAM && kept->aux == 1;
}

static bool is_assumed(const rewrite *r, unifier *u, loom_lexpr_id condition, bool holds) {
    const loom_lexpr *e = &r->l->exprs[condition];
    if (e->kind == LOOM_LX_PRIM && e->prim == LOOM_PRIM_NOT)
        return is_assumed(r, u, loom_lifted_arg(r->l, e, 0), !holds);
    for (uint32_t i = 0; i < r->n_conditions; i++) {
        unifier with = *u;
        if (r->conditions[i].holds == holds && unify(&with, condition, r->conditions[i].expr, DEEPEST)) return true;
    }
    return false;
}

loom_lexpr_id fuse_own_number(const rewrite *r, loom_lvalue_id value, loom_lexpr_id index) {
    loom_lop_id maker = r->l->values[value].op;
    if (r->l->force & LOOM_FORCE_SPLIT) return LOOM_NONE; /* or nothing would be left of what is asked for */
    if (maker == LOOM_NONE || maker >= r->l->n_ops || !numbers_points(r, &r->l->ops[maker])) return LOOM_NONE;
    const loom_lexpr *place = &r->l->exprs[r->l->blocks[r->l->ops[maker].body].results[0]];
    if (place->kind != LOOM_LX_PRIM || place->prim != LOOM_PRIM_SELECT) return LOOM_NONE;
    for (uint32_t k = 0; k < 2; k++) {
        unifier u = {r, LOOM_NONE};
        if (!is_minus_one(r, loom_lifted_arg(r->l, place, 2 - k))) continue;
        if (!unify(&u, loom_lifted_arg(r->l, place, 1 + k), index, DEEPEST) || u.element == LOOM_NONE) continue;
        if (is_assumed(r, &u, loom_lifted_arg(r->l, place, 0), k == 0)) return u.element;
    }
    return LOOM_NONE;
}
