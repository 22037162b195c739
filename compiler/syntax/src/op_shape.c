/* Operations on shapes, transforms, and the few that are about nothing in particular. */
#include "ops.h"

/* transpose, flatten: two outer levels. */
syn_node *loom_syn_op_levels(const syn_call *c) {
    syn_elab *e = c->e;
    syn_node *xs = loom_syn_arg(c, 0);
    syn_ty *element = loom_syn_ty_var(e, 0);
    element->no_seq = true;
    if (!loom_syn_arg_type(c, xs, loom_syn_ty_arrays(e, element, 2), 0) || loom_syn_is_poison(xs->type))
        return loom_syn_op_poison(c);
    syn_ty *type = c->variant == LOOM_OP_FLATTEN ? loom_syn_ty_array(e, element) : xs->type;
    return loom_syn_node1(e, (loom_op)c->variant, type, xs, c->span);
}

syn_node *loom_syn_op_unflatten(const syn_call *c) {
    syn_elab *e = c->e;
    syn_node *n = loom_syn_arg_i64(c, 0), *m = loom_syn_arg_i64(c, 1), *xs = loom_syn_arg(c, 2);
    syn_ty *element = loom_syn_arg_array(c, xs, 2);
    return loom_syn_node3(e, LOOM_OP_UNFLATTEN, loom_syn_ty_arrays(e, element, 2), n, m, xs, c->span);
}

static syn_node *reshaped(const syn_call *c, syn_node *n, syn_node *m, syn_node *xs) {
    syn_node *made = loom_syn_node3(c->e, LOOM_OP_UNFLATTEN, loom_syn_ty_array(c->e, xs->type), n, m, xs, c->span);
    made->aux = 1; /* how an error names it */
    return made;
}

/* `reshape n xs`, `reshape (n, m) xs`, `reshape (n, m, k) xs`: all elements of xs, in order. */
syn_node *loom_syn_op_reshape(const syn_call *c) {
    syn_elab *e = c->e;
    syn_ty *i64 = e->scalars[LOOM_I64];
    syn_node *shape = loom_syn_arg(c, 0), *xs = loom_syn_arg(c, 1);
    if (loom_syn_is_poison(loom_syn_arg_array(c, xs, 1))) return loom_syn_op_poison(c);
    syn_ty *t = loom_syn_ty(shape->type);
    uint32_t k = t->kind == TY_TUPLE ? t->n : 1;
    if (k < 1 || k > 3) {
        loom_syn_error(e, LOOM_W_RANK, c->span, NULL, "`%s` takes one to three sizes, found %u", c->name, k);
        return loom_syn_op_poison(c);
    }
    syn_node *sizes[3];
    for (uint32_t i = 0; i < k; i++) {
        sizes[i] = t->kind == TY_TUPLE ? loom_syn_project(e, shape, i, c->span) : shape;
        if (!loom_syn_arg_type(c, sizes[i], i64, 0)) return loom_syn_op_poison(c);
    }
    for (uint32_t rank = loom_syn_rank(xs->type, NULL); rank > 1; rank--) {
        xs = loom_syn_node1(e, LOOM_OP_FLATTEN, loom_syn_ty(xs->type)->element, xs, c->span);
    }
    if (k == 1) {
        syn_node *claim = loom_syn_node2(e, LOOM_OP_CLAIM, xs->type, xs, sizes[0], c->span);
        claim->aux = 1;
        return claim;
    }
    if (k == 2) return reshaped(c, sizes[0], sizes[1], xs);
    syn_node *outer = loom_syn_prim(e, LOOM_PRIM_MUL, i64, 2, sizes, c->span);
    return reshaped(c, sizes[0], sizes[1], reshaped(c, outer, sizes[2], xs));
}

syn_node *loom_syn_op_concat(const syn_call *c) {
    syn_node *a = loom_syn_arg(c, 0), *b = loom_syn_arg(c, 1);
    if (loom_syn_is_poison(loom_syn_arg_array(c, a, 0)) || !loom_syn_arg_type(c, b, a->type, 1))
        return loom_syn_op_poison(c);
    return loom_syn_node2(c->e, LOOM_OP_CONCAT, a->type, a, b, c->span);
}

syn_node *loom_syn_op_reverse(const syn_call *c) {
    syn_node *xs = loom_syn_arg(c, 0);
    if (loom_syn_is_poison(loom_syn_arg_array(c, xs, 0))) return loom_syn_op_poison(c);
    return loom_syn_node1(c->e, LOOM_OP_REVERSE, xs->type, xs, c->span);
}

syn_node *loom_syn_op_rotate(const syn_call *c) {
    syn_node *r = loom_syn_arg_i64(c, 0), *xs = loom_syn_arg(c, 1);
    if (loom_syn_is_poison(loom_syn_arg_array(c, xs, 1))) return loom_syn_op_poison(c);
    return loom_syn_node2(c->e, LOOM_OP_ROTATE, xs->type, r, xs, c->span);
}

syn_node *loom_syn_op_length(const syn_call *c) {
    syn_node *xs = loom_syn_arg(c, 0);
    if (loom_syn_is_poison(loom_syn_arg_array(c, xs, 0))) return loom_syn_op_poison(c);
    return loom_syn_node1(c->e, LOOM_OP_LENGTH, c->e->scalars[LOOM_I64], xs, c->span);
}

/* All extents as a tuple (one alone: as itself); claims that rows agree. */
syn_node *loom_syn_op_extent(const syn_call *c) {
    syn_elab *e = c->e;
    syn_ty *i64 = e->scalars[LOOM_I64];
    syn_node *xs = loom_syn_arg(c, 0);
    if (loom_syn_is_poison(loom_syn_arg_array(c, xs, 0))) return loom_syn_op_poison(c);
    uint32_t rank = loom_syn_rank(xs->type, NULL);
    if (rank == 1) return loom_syn_node1(e, LOOM_OP_LENGTH, i64, xs, c->span);
    if (rank > 31) return loom_syn_op_poison(c);
    syn_node *operands[32] = {xs}, *parts[32];
    uint32_t mask = 0;
    for (uint32_t k = 1; k < rank; k++) {
        operands[k] = loom_syn_node1(e, LOOM_OP_DIM, i64, xs, c->span);
        operands[k]->aux = k;
        mask |= 1u << k;
    }
    syn_node *claimed = loom_syn_node(e, LOOM_OP_CLAIM, xs->type, rank, operands, c->span);
    claimed->aux = mask;
    for (uint32_t k = 0; k < rank; k++) {
        parts[k] = loom_syn_node1(e, k ? LOOM_OP_DIM : LOOM_OP_LENGTH, i64, claimed, c->span);
        parts[k]->aux = k;
    }
    return loom_syn_tuple(e, rank, parts, c->span);
}

syn_node *loom_syn_op_fft(const syn_call *c) {
    syn_node *xs = loom_syn_arg(c, 0);
    loom_syn_constrain(c->e, C_TRANSFORM, xs->type, NULL, NULL, c->span);
    syn_node *n = loom_syn_node1(c->e, LOOM_OP_FFT, xs->type, xs, c->span);
    n->aux = c->variant;
    return n;
}

syn_node *loom_syn_op_assert(const syn_call *c) {
    syn_node *condition = loom_syn_arg(c, 0), *value = loom_syn_arg(c, 1);
    if (!loom_syn_arg_type(c, condition, c->e->scalars[LOOM_BOOL], 0)) return loom_syn_op_poison(c);
    if (!loom_syn_forbid_seq(c->e, value->type)) {
        loom_syn_error(c->e, LOOM_W_SEQ_PART, c->span, "assert something about a value made from it",
                       "`assert` cannot guard a sequence");
        return loom_syn_op_poison(c);
    }
    syn_node *n = loom_syn_node2(c->e, LOOM_OP_ASSERT, value->type, condition, value, c->span);
    n->aux = c->variant;
    return n;
}

/* like y x: x converted to the type of y. */
syn_node *loom_syn_op_like(const syn_call *c) {
    syn_elab *e = c->e;
    syn_node *y = loom_syn_arg(c, 0), *x = loom_syn_arg(c, 1);
    if (!loom_syn_need_mask(e, LOOM_W_OPERAND, y->type, SYN_SCALARS, c->span, "argument 1 of `%s`", c->name) ||
        !loom_syn_need_mask(e, LOOM_W_OPERAND, x->type, SYN_SCALARS, c->span, "argument 2 of `%s`", c->name)) {
        return loom_syn_op_poison(c);
    }
    return loom_syn_node1(e, LOOM_OP_CONVERT, y->type, x, c->span);
}
