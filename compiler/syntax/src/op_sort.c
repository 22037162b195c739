/* sort and sort_by: keys are sorted for their places, and the elements then move once. */
#include "ops.h"

static syn_node *in_order_of(const syn_call *c, syn_node *xs, syn_node *keys) {
    syn_elab *e = c->e;
    loom_syn_constrain(e, C_KEY, loom_syn_ty(keys->type)->element, NULL, NULL, c->span);
    syn_node *places = loom_syn_node1(e, LOOM_OP_SORT, loom_syn_ty_array(e, e->scalars[LOOM_I64]), keys, c->span);
    return loom_syn_node2(e, LOOM_OP_GATHER, xs->type, xs, places, c->span);
}

syn_node *loom_syn_op_sort(const syn_call *c) {
    syn_node *xs = loom_syn_arg(c, 0);
    if (loom_syn_is_poison(loom_syn_arg_array(c, xs, 0))) return loom_syn_op_poison(c);
    return in_order_of(c, xs, xs);
}

syn_node *loom_syn_op_sort_by(const syn_call *c) {
    syn_node *xs = loom_syn_arg(c, 1);
    syn_ty *element = loom_syn_arg_array(c, xs, 1);
    if (loom_syn_is_poison(element)) return loom_syn_op_poison(c);
    syn_body *body = loom_syn_arg_body(c, B_ARRAY, 0, 1, &element);
    syn_node *keys = loom_syn_node1(c->e, LOOM_OP_MAP, loom_syn_ty_array(c->e, body->result->type), xs, c->span);
    loom_syn_set_bodies(c->e, keys, body, NULL);
    return in_order_of(c, xs, keys);
}
