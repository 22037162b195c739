/* stencil: every element made from its neighbours, as a generate whose body reads the array at places beside its own.
 *
 *     stencil #clamp (\w -> w[-1] + w[1]) xs
 *     generate (length xs) (\i -> xs[max 0 (min (n - 1) (i - 1))] + xs[max 0 (min (n - 1) (i + 1))])
 *
 * A window is known at compile time only: where the array is, and the index of the element being made. Its rank, which
 * is that of the generate, is the number of indices that it is read with. An axis with the literal offset 0 needs no
 * arithmetic. What lies outside comes from index arithmetic too (prelude, window_...), so a read never fails; a
 * constant takes the place of the element read at the nearest edge.
 */
#include "ops.h"
#include <string.h>

struct syn_window {
    syn_node *array;
    syn_boundary boundary;
    syn_node *constant;
    syn_node *places[LOOM_SYN_MAX_WINDOW], *extents[LOOM_SYN_MAX_WINDOW];
    uint32_t rank; /* 0: not read yet */
    syn_ty *element;
};

static const char *const names[] = {"clamp", "mirror", "wrap", "constant"};
static const char *const forms = "boundaries are #clamp, #mirror, #wrap and (#constant c)";

syn_value *loom_syn_boundary(syn_elab *e, const syn_exp *x) {
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], x->name->text) != 0) continue;
        syn_value *v = loom_syn_value(e, V_BOUNDARY);
        v->boundary = (syn_boundary)i;
        return v;
    }
    loom_syn_error(e, LOOM_W_BOUNDARY, x->span, forms, "there is no boundary `#%s`", x->name->text);
    return loom_syn_node_value(e, loom_syn_poison(e, x->span));
}

/* ---- reading ---- */

static syn_node *call(syn_elab *e, const char *name, syn_node *a, syn_node *b, loom_span span) {
    syn_node *args[2] = {a, b};
    return loom_syn_need_node(e, loom_syn_call_named(e, name, b ? 2 : 1, args, span), span, "an index");
}

static bool is_literal(const syn_node *n, uint64_t most) {
    return n->op == LOOM_OP_CONST && n->literal == LIT_INT && n->integer <= most;
}

/* The place that an offset leads to on an axis, maybe outside. A sum that cannot overflow, whatever the offset. */
static syn_node *shifted(syn_elab *e, const syn_window *w, uint32_t axis, syn_node *offset, loom_span span) {
    syn_node *n = w->extents[axis];
    if (!is_literal(offset, INT32_MAX)) {
        switch (w->boundary) {
        case SYN_CLAMP:
        case SYN_CONSTANT: offset = call(e, "window_within", n, offset, span); break;
        case SYN_MIRROR:
            offset = loom_syn_prim(e, LOOM_PRIM_FLOORMOD, e->scalars[LOOM_I64], 2,
                                   (syn_node *[]){offset, call(e, "window_period", n, NULL, span)}, span);
            break;
        case SYN_WRAP:
            offset = loom_syn_prim(e, LOOM_PRIM_FLOORMOD, e->scalars[LOOM_I64], 2, (syn_node *[]){offset, n}, span);
            break;
        }
    }
    return loom_syn_prim(e, LOOM_PRIM_ADD, e->scalars[LOOM_I64], 2, (syn_node *[]){w->places[axis], offset}, span);
}

static syn_node *inside(syn_elab *e, syn_node *at, syn_node *n, loom_span span) {
    syn_ty *boolean = e->scalars[LOOM_BOOL];
    syn_node *from = loom_syn_prim(e, LOOM_PRIM_GE, boolean, 2, (syn_node *[]){at, loom_syn_i64(e, 0, span)}, span);
    syn_node *to = loom_syn_prim(e, LOOM_PRIM_LT, boolean, 2, (syn_node *[]){at, n}, span);
    return loom_syn_prim(e, LOOM_PRIM_AND, boolean, 2, (syn_node *[]){from, to}, span);
}

/* Sets the rank at the first read. */
static bool has_rank(syn_elab *e, syn_window *w, uint32_t n, loom_span span) {
    if (n > LOOM_SYN_MAX_WINDOW) {
        loom_syn_error(e, LOOM_W_WINDOW_AXES, span, NULL, "a window has one to %d axes, found %u indices",
                       LOOM_SYN_MAX_WINDOW, n);
        return false;
    }
    if (w->rank && w->rank != n) {
        loom_syn_error(e, LOOM_W_WINDOW_AXES, span,
                       "a stencil has as many axes as its window has indices, the same number at each read",
                       "a window that is read with %u ind%s is read with %u here", w->rank,
                       w->rank == 1 ? "ex" : "ices", n);
        return false;
    }
    if (w->rank) return w->element != e->poison;
    w->rank = n;
    w->element = loom_syn_ty_var(e, 0);
    w->element->no_seq = true;
    if (loom_syn_unify(e, w->array->type, loom_syn_ty_arrays(e, w->element, n))) {
        if (!w->constant || loom_syn_need_type(e, LOOM_W_BOUNDARY_VALUE, w->constant->type, w->element,
                                               w->constant->span, "constant around the array, against its elements")) {
            return true;
        }
        w->element = e->poison;
        return false;
    }
    loom_syn_error(e, LOOM_W_WINDOW_AXES, span, NULL, "%u ind%s need%s a window over that many axes, found one over %s",
                   n, n == 1 ? "ex" : "ices", n == 1 ? "s" : "", loom_syn_ty_text(e, w->array->type));
    w->element = e->poison;
    return false;
}

syn_node *loom_syn_window_read(syn_elab *e, syn_window *w, uint32_t n, syn_value *const *places, const syn_index *index,
                               loom_span span) {
    for (uint32_t i = 0; i < n; i++) {
        if (!index[i].slice) continue;
        loom_syn_error(e, LOOM_W_WINDOW_SLICE, index[i].span, "`map (\\d -> w[d]) (-1...1)` reads several",
                       "a window has no slices");
        return loom_syn_poison(e, span);
    }
    if (!has_rank(e, w, n, span)) return loom_syn_poison(e, span);
    static const char *const bring_in[] = {"window_clamp", "window_mirror", "window_wrap", "window_clamp"};
    syn_node *operands[LOOM_SYN_MAX_WINDOW + 1] = {w->array}, *is_inside = NULL;
    for (uint32_t i = 0; i < n; i++) {
        syn_node *offset = places[3 * (size_t)i]->node;
        operands[i + 1] = w->places[i];
        if (is_literal(offset, 0)) continue;
        syn_node *at = shifted(e, w, i, offset, span);
        operands[i + 1] = call(e, bring_in[w->boundary], w->extents[i], at, span);
        if (w->boundary != SYN_CONSTANT) continue;
        syn_node *here = inside(e, at, w->extents[i], span);
        is_inside =
            is_inside ? loom_syn_prim(e, LOOM_PRIM_AND, e->scalars[LOOM_BOOL], 2, (syn_node *[]){is_inside, here}, span)
                      : here;
    }
    syn_node *value = loom_syn_node(e, LOOM_OP_INDEX, w->element, n + 1, operands, span);
    if (!is_inside) return value;
    syn_body *yes = loom_syn_open(e, B_BRANCH, 0, NULL, span);
    loom_syn_close(e, yes, value);
    syn_body *no = loom_syn_open(e, B_BRANCH, 0, NULL, span);
    loom_syn_close(e, no, w->constant);
    syn_node *chosen = loom_syn_node1(e, LOOM_OP_IF, w->element, is_inside, span);
    loom_syn_set_bodies(e, chosen, yes, no);
    return chosen;
}

/* ---- the operation ---- */

/* Argument 1. False after an error. */
static bool take_boundary(const syn_call *c, syn_window *w) {
    syn_elab *e = c->e;
    const syn_value *v = c->args[0];
    if (v->kind == V_BOUNDARY && loom_syn_arity(e, v) == 0) {
        w->boundary = v->boundary;
        if (v->n_args) w->constant = loom_syn_need_node(e, v->args[0], c->span, "the constant around an array");
        return true;
    }
    bool open = v->kind == V_NODE && (e->frame->open || loom_syn_is_poison(v->node->type));
    if (open) return false; /* a def that nobody calls, or told */
    loom_span place = loom_syn_argument_place(e, v, c->span);
    if (v->kind == V_BOUNDARY) {
        loom_syn_error(e, LOOM_W_BOUNDARY_VALUE, place, "write `(#constant 0)`", "`#%s` needs a value",
                       names[v->boundary]);
    } else {
        loom_syn_error(e, LOOM_W_BOUNDARY, place, forms, "argument 1 of `%s`: expected a boundary, found %s", c->name,
                       v->kind == V_NODE ? loom_syn_ty_text(e, v->node->type) : "a function");
    }
    return false;
}

/* Extents by first rows; nothing is claimed yet, since the rank is not known. */
static void take_extents(const syn_call *c, syn_window *w) {
    for (uint32_t k = 0; k < LOOM_SYN_MAX_WINDOW; k++) {
        loom_op op = k ? LOOM_OP_DIM : LOOM_OP_LENGTH;
        w->extents[k] = loom_syn_node1(c->e, op, c->e->scalars[LOOM_I64], w->array, c->span);
        w->extents[k]->aux = k;
    }
}

/* The extents again, once rows are known to agree in length. */
static void claim_extents(const syn_call *c, syn_window *w) {
    if (w->rank == 1) return;
    syn_node *operands[LOOM_SYN_MAX_WINDOW] = {w->array};
    uint32_t mask = 0;
    for (uint32_t k = 1; k < w->rank; k++) {
        operands[k] = w->extents[k];
        mask |= 1u << k;
    }
    w->array = loom_syn_node(c->e, LOOM_OP_CLAIM, w->array->type, w->rank, operands, c->span);
    w->array->aux = mask;
    take_extents(c, w);
}

/* A window that is never read has all axes of the array that are known. */
static void settle_rank(const syn_call *c, syn_window *w) {
    if (w->rank) return;
    w->rank = loom_syn_rank(w->array->type, NULL);
    if (w->rank > LOOM_SYN_MAX_WINDOW) w->rank = LOOM_SYN_MAX_WINDOW;
    if (w->rank == 0) w->rank = 1; /* of a type that is open */
    w->element = c->e->poison;
}

syn_node *loom_syn_op_stencil(const syn_call *c) {
    syn_elab *e = c->e;
    syn_window *w = LOOM_NEW(e->arena, syn_window);
    w->array = loom_syn_arg(c, 2);
    if (!take_boundary(c, w) || loom_syn_is_poison(loom_syn_arg_array(c, w->array, 2))) return loom_syn_op_poison(c);
    take_extents(c, w);
    syn_ty *i64 = e->scalars[LOOM_I64], *types[LOOM_SYN_MAX_WINDOW] = {i64, i64, i64};
    syn_body *body = loom_syn_open(e, B_ARRAY, LOOM_SYN_MAX_WINDOW, types, c->span);
    memcpy(w->places, body->params, sizeof w->places);
    syn_value *window = loom_syn_value(e, V_WINDOW);
    window->window = w;
    syn_value *made = loom_syn_apply(e, c->args[1], 1, &window, c->span);
    loom_syn_close_arg_body(c, body,
                            loom_syn_need_node(e, made, c->span, "the result of a function given to `stencil`"));
    settle_rank(c, w);
    body->n_params = w->rank; /* only these were read */
    claim_extents(c, w);
    syn_ty *type = loom_syn_ty_arrays(e, body->result->type, w->rank);
    syn_node *n = loom_syn_node(e, LOOM_OP_GENERATE, type, w->rank, w->extents, c->span);
    loom_syn_set_bodies(e, n, body, NULL);
    return n;
}
