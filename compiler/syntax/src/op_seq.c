/* Sequence operations. None may stand in a function given to an array operation or to another sequence operation,
 * except in the body of group_seq. */
#include "compiler/ir/trap.h"
#include "ops.h"

static bool allowed_here(const syn_call *c) {
    c->e->frame->uses_seq = true;
    if (!loom_syn_inside_operation(c->e)) return true;
    loom_syn_error(c->e, LOOM_W_SEQ_INSIDE, c->span, "make the sequence's result a value outside of it, and use that",
                   "`%s` cannot stand in a function given to an operation", c->name);
    return false;
}

syn_ty *loom_syn_arg_seq(const syn_call *c, syn_node *node, uint32_t i) {
    syn_elab *e = c->e;
    syn_ty *t = loom_syn_ty(node->type);
    if (t->kind == TY_SEQ) return t->element;
    if (t->kind == TY_POISON) return t;
    syn_ty *element = loom_syn_ty_var(e, 0);
    element->no_seq = true;
    if (t->kind == TY_VAR && loom_syn_arg_type(c, node, loom_syn_ty_seq(e, element), i)) return element;
    if (t->kind != TY_VAR) {
        const char *form = loom_syn_builtin_form(c->name);
        const char *hint = t->kind == TY_ARRAY ? "`rows xs` makes a sequence of an array" : NULL;
        if (form) hint = loom_arena_printf(e->arena, "`%s`%s%s", form, hint ? "; " : "", hint ? hint : "");
        loom_syn_error(e, LOOM_W_NOT_A_SEQ, loom_syn_argument_place(e, c->args[i], c->span), hint,
                       "argument %u of `%s`: expected a sequence, found %s", i + 1, c->name, loom_syn_ty_text(e, t));
    }
    return e->poison;
}

syn_node *loom_syn_op_rows(const syn_call *c) {
    syn_node *xs = loom_syn_arg(c, 0);
    syn_ty *element = loom_syn_arg_array(c, xs, 0);
    if (!allowed_here(c) || loom_syn_is_poison(element)) return loom_syn_op_poison(c);
    return loom_syn_node1(c->e, LOOM_OP_SEQ_ROWS, loom_syn_ty_seq(c->e, element), xs, c->span);
}

syn_node *loom_syn_op_map_seq(const syn_call *c) {
    syn_elab *e = c->e;
    uint32_t k = c->n - 1;
    if (!allowed_here(c)) return loom_syn_op_poison(c);
    uint32_t missing = loom_syn_arity(e, c->args[0]);
    if (missing > k) {
        loom_syn_error(e, LOOM_W_ARITY, c->span, "`zip_with_seq f s t` takes one element from each sequence",
                       "the function given to `%s` takes %u arguments, not %u", c->name, missing, k);
        return loom_syn_op_poison(c);
    }
    syn_node **seqs = LOOM_NEW_ARRAY(e->arena, syn_node *, k);
    syn_ty **elements = LOOM_NEW_ARRAY(e->arena, syn_ty *, k);
    for (uint32_t i = 0; i < k; i++) {
        seqs[i] = loom_syn_arg(c, i + 1);
        elements[i] = loom_syn_arg_seq(c, seqs[i], i + 1);
    }
    syn_body *body = loom_syn_arg_body(c, B_STREAM, 0, k, elements);
    syn_node *n = loom_syn_node(e, LOOM_OP_SEQ_MAP, loom_syn_ty_seq(e, body->result->type), k, seqs, c->span);
    loom_syn_set_bodies(e, n, body, NULL);
    return n;
}

syn_node *loom_syn_op_filter_seq(const syn_call *c) {
    syn_elab *e = c->e;
    syn_node *s = loom_syn_arg(c, 1);
    syn_ty *element = loom_syn_arg_seq(c, s, 1);
    if (!allowed_here(c)) return loom_syn_op_poison(c);
    syn_body *body = loom_syn_arg_body(c, B_STREAM, 0, 1, &element);
    loom_syn_need_type(e, LOOM_W_CONDITION, body->result->type, e->scalars[LOOM_BOOL],
                       loom_syn_argument_place(e, c->args[0], c->span), "result of the function given to `%s`",
                       c->name);
    syn_node *n = loom_syn_node1(e, LOOM_OP_SEQ_FILTER, s->type, s, c->span);
    loom_syn_set_bodies(e, n, body, NULL);
    return n;
}

syn_node *loom_syn_op_enumerate_seq(const syn_call *c) {
    syn_elab *e = c->e;
    syn_node *s = loom_syn_arg(c, 0);
    syn_ty *element = loom_syn_arg_seq(c, s, 0);
    if (!allowed_here(c)) return loom_syn_op_poison(c);
    syn_ty *pair = loom_syn_ty_tuple(e, 2, (syn_ty *[]){e->scalars[LOOM_I64], element});
    return loom_syn_node1(e, LOOM_OP_SEQ_ENUMERATE, loom_syn_ty_seq(e, pair), s, c->span);
}

static syn_node *fold_or_scan(const syn_call *c, loom_op op) {
    syn_elab *e = c->e;
    syn_node *ne = loom_syn_arg(c, 1), *s = loom_syn_arg(c, 2);
    syn_ty *element = loom_syn_arg_seq(c, s, 2);
    if (!allowed_here(c)) return loom_syn_op_poison(c);
    if (!loom_syn_need_type(e, LOOM_W_NEUTRAL, ne->type, element, loom_syn_argument_place(e, c->args[1], c->span),
                            "neutral element of `%s`, against the sequence's elements", c->name)) {
        return loom_syn_op_poison(c);
    }
    syn_body *body = loom_syn_arg_operator(c, B_STREAM, 0, element);
    syn_node *n = loom_syn_node2(e, op, op == LOOM_OP_SEQ_FOLD ? element : s->type, ne, s, c->span);
    loom_syn_set_bodies(e, n, body, NULL);
    return n;
}

syn_node *loom_syn_op_scan_seq(const syn_call *c) {
    return fold_or_scan(c, LOOM_OP_SEQ_SCAN);
}

syn_node *loom_syn_op_fold_seq(const syn_call *c) {
    return fold_or_scan(c, LOOM_OP_SEQ_FOLD);
}

syn_node *loom_syn_op_permute_seq(const syn_call *c) {
    syn_elab *e = c->e;
    syn_node *dest = loom_syn_arg(c, 1), *is = loom_syn_arg(c, 2), *xs = loom_syn_arg(c, 3);
    syn_ty *index = loom_syn_arg_seq(c, is, 2), *value = loom_syn_arg_seq(c, xs, 3);
    syn_targets targets;
    if (!allowed_here(c) || loom_syn_is_poison(index) || loom_syn_is_poison(value)) return loom_syn_op_poison(c);
    if (!loom_syn_targets(c, 1, dest, index, value, &targets)) return loom_syn_op_poison(c);
    syn_body *body = loom_syn_arg_operator(c, B_STREAM, 0, targets.element);
    syn_node *n = loom_syn_node3(e, LOOM_OP_SEQ_PERMUTE, dest->type, dest, is, xs, c->span);
    n->aux = targets.rank;
    loom_syn_set_bodies(e, n, body, NULL);
    return n;
}

static bool has_plain_state(const syn_call *c, syn_ty *state) {
    if (loom_syn_forbid_seq(c->e, state)) return true;
    loom_syn_error(c->e, LOOM_W_SEQ_PART, c->span, NULL, "an accumulator cannot be a sequence");
    return false;
}

/* reduce_seq zero step merge s: step takes a chunk as an array. */
syn_node *loom_syn_op_reduce_seq(const syn_call *c) {
    syn_elab *e = c->e;
    syn_node *zero = loom_syn_arg(c, 0), *s = loom_syn_arg(c, 3);
    syn_ty *element = loom_syn_arg_seq(c, s, 3);
    if (!allowed_here(c)) return loom_syn_op_poison(c);
    if (!has_plain_state(c, zero->type)) return loom_syn_op_poison(c);
    syn_ty *types[2] = {zero->type, loom_syn_ty_array(e, element)};
    syn_body *step = loom_syn_arg_body(c, B_STREAM, 1, 2, types);
    loom_syn_need_type(e, LOOM_W_OPERATOR, step->result->type, zero->type, c->span,
                       "result of the step of `%s`, against its zero", c->name);
    syn_body *merge = loom_syn_arg_operator(c, B_STREAM, 2, zero->type);
    syn_node *n = loom_syn_node2(e, LOOM_OP_SEQ_REDUCE, zero->type, zero, s, c->span);
    loom_syn_set_bodies(e, n, step, merge);
    return n;
}

/* chain_seq init step s: in the order of s, so the step need not be associative, nor the state be of the elements'
 * type. */
syn_node *loom_syn_op_chain_seq(const syn_call *c) {
    syn_elab *e = c->e;
    syn_node *init = loom_syn_arg(c, 0), *s = loom_syn_arg(c, 2);
    syn_ty *element = loom_syn_arg_seq(c, s, 2);
    if (!allowed_here(c)) return loom_syn_op_poison(c);
    if (!has_plain_state(c, init->type)) return loom_syn_op_poison(c);
    syn_ty *types[2] = {init->type, element};
    syn_body *step = loom_syn_arg_body(c, B_STREAM, 1, 2, types);
    loom_syn_need_type(e, LOOM_W_OPERATOR, step->result->type, init->type, c->span,
                       "result of the step of `%s`, against its initial state", c->name);
    syn_node *n = loom_syn_node2(e, LOOM_OP_SEQ_CHAIN, init->type, init, s, c->span);
    loom_syn_set_bodies(e, n, step, NULL);
    return n;
}

syn_node *loom_syn_op_from_seq(const syn_call *c) {
    syn_node *s = loom_syn_arg(c, 0);
    syn_ty *element = loom_syn_arg_seq(c, s, 0);
    if (!allowed_here(c) || loom_syn_is_poison(element)) return loom_syn_op_poison(c);
    return loom_syn_node1(c->e, LOOM_OP_SEQ_FROM, loom_syn_ty_array(c->e, element), s, c->span);
}

/* Argument 1: the keys of an element, a set. */
static syn_body *keys_body(const syn_call *c, syn_ty *element) {
    syn_elab *e = c->e;
    syn_body *keys = loom_syn_arg_body(c, B_STREAM, 1, 1, &element);
    syn_ty *found = loom_syn_ty(keys->result->type);
    loom_syn_need_type_hint(e, LOOM_W_KEYS, found, loom_syn_ty_array(e, e->scalars[LOOM_I64]),
                            loom_syn_argument_place(e, c->args[1], c->span),
                            found->kind == TY_ARRAY ? NULL : "a key alone is the set `[k]`", "keys of `%s`", c->name);
    return keys;
}

/* Argument 0: how many groups there are, not less than 0. */
static syn_node *group_count(const syn_call *c, loom_assertion what) {
    syn_elab *e = c->e;
    syn_node *n = loom_syn_arg_i64(c, 0), *zero = loom_syn_i64(e, 0, c->span), *pair[2] = {zero, n};
    syn_node *enough = loom_syn_prim(e, LOOM_PRIM_LE, e->scalars[LOOM_BOOL], 2, pair, c->span);
    syn_node *counted = loom_syn_node2(e, LOOM_OP_ASSERT, n->type, enough, n, c->span);
    counted->aux = what;
    return counted;
}

/* group_seq n keys s (\k ys -> body): sequences may be worked on in the body. `forever` has a lag of 0 here: how late
 * elements may be is the source's matter (loom_group_set_lag). */
syn_node *loom_syn_op_group_seq(const syn_call *c) {
    syn_elab *e = c->e;
    bool forever = c->args[0]->kind == V_FOREVER;
    syn_node *n = forever ? loom_syn_i64(e, 0, c->span) : group_count(c, LOOM_ASSERT_GROUPS), *s = loom_syn_arg(c, 2);
    syn_ty *element = loom_syn_arg_seq(c, s, 2), *i64 = e->scalars[LOOM_I64];
    if (!allowed_here(c) || loom_syn_is_poison(element)) return loom_syn_op_poison(c);
    syn_body *keys = keys_body(c, element);
    syn_ty *types[2] = {i64, loom_syn_ty_seq(e, element)};
    syn_body *group = loom_syn_arg_body(c, B_GROUP, 3, 2, types);
    syn_node *node = loom_syn_node2(e, LOOM_OP_SEQ_GROUP, loom_syn_ty_seq(e, group->result->type), n, s, c->span);
    node->aux = forever ? 1 : 0;
    loom_syn_set_bodies(e, node, keys, group);
    return node;
}

/* What is made of a group has an element for each of the group: map_seq and zip_with_seq alone see to that. */
static bool is_mapped_group(const syn_node *n, const syn_node *ys) {
    if (n == ys) return true;
    if (n->op != LOOM_OP_SEQ_MAP) return false;
    for (uint32_t i = 0; i < n->n_operands; i++) {
        if (!is_mapped_group(n->operands[i], ys)) return false;
    }
    return true;
}

/* group_map_seq n keys op ne s (\k ys -> zs): an element's contributions, combined in ascending k. */
syn_node *loom_syn_op_group_map_seq(const syn_call *c) {
    syn_elab *e = c->e;
    syn_node *n = group_count(c, LOOM_ASSERT_GROUPS_MAP), *ne = loom_syn_arg(c, 3), *s = loom_syn_arg(c, 4);
    syn_ty *element = loom_syn_arg_seq(c, s, 4), *i64 = e->scalars[LOOM_I64];
    if (!allowed_here(c) || loom_syn_is_poison(element)) return loom_syn_op_poison(c);
    syn_body *keys = keys_body(c, element);
    syn_ty *types[2] = {i64, loom_syn_ty_seq(e, element)};
    syn_body *group = loom_syn_open(e, B_GROUP, 2, types, c->span);
    loom_syn_close(e, group, loom_syn_apply_nodes(e, c->args[5], 2, group->params, c->span));
    if (loom_syn_is_poison(group->result->type)) return loom_syn_op_poison(c);
    if (!loom_syn_need_type(e, LOOM_W_GROUP_RESULT, group->result->type, loom_syn_ty_seq(e, ne->type), c->span,
                            "what `%s` makes of a group, against a sequence of its neutral element", c->name))
        return loom_syn_op_poison(c);
    if (!is_mapped_group(group->result, group->params[1])) {
        loom_syn_error(e, LOOM_W_GROUP_RESULT, group->span, "an element that gives nothing gives the neutral element",
                       "what `%s` makes of a group is not made of it by `map_seq` and `zip_with_seq` alone", c->name);
        return loom_syn_op_poison(c);
    }
    syn_body *op = loom_syn_arg_operator(c, B_STREAM, 2, ne->type);
    syn_node *operands[3] = {n, ne, s};
    syn_node *node = loom_syn_node(e, LOOM_OP_SEQ_GROUP_MAP, loom_syn_ty_seq(e, ne->type), 3, operands, c->span);
    loom_syn_set_bodies(e, node, keys, op);
    node->bodies = loom_arena_grow(e->arena, node->bodies, 2, 3, sizeof *node->bodies);
    node->bodies[node->n_bodies++] = group;
    return node;
}
