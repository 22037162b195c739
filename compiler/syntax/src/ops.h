/* One function for each operation of the language: checks its arguments, opens and closes the bodies of its functions,
 * makes the node. They share the helpers below. */
#ifndef LOOM_SYNTAX_OPS_H
#define LOOM_SYNTAX_OPS_H

#include "elab.h"

/* Argument i as a value of run time. */
syn_node *loom_syn_arg(const syn_call *c, uint32_t i);
/* Argument i as an array (or sequence): returns the element type, poison after an error. */
syn_ty *loom_syn_arg_array(const syn_call *c, syn_node *node, uint32_t i);
syn_ty *loom_syn_arg_seq(const syn_call *c, syn_node *node, uint32_t i);
/* Argument i must have this type. */
bool loom_syn_arg_type(const syn_call *c, syn_node *node, syn_ty *type, uint32_t i);
syn_node *loom_syn_arg_i64(const syn_call *c, uint32_t i);
/* The body that applies argument i to n parameters of these types. */
syn_body *loom_syn_arg_body(const syn_call *c, syn_body_kind kind, uint32_t i, uint32_t n, syn_ty *const *types);
/* Closes a body with this result, which may not be a sequence. */
void loom_syn_close_arg_body(const syn_call *c, syn_body *body, syn_node *result);
/* The body of an operator a -> a -> a. */
syn_body *loom_syn_arg_operator(const syn_call *c, syn_body_kind kind, uint32_t i, syn_ty *type);
/* Where indices point: nesting and number of components of `is`, checked against dest and xs (argument numbers from
 * `first`). False after an error. */
typedef struct syn_targets {
    uint32_t rank; /* levels of dest that are indexed */
    syn_ty *element;
} syn_targets;
bool loom_syn_targets(const syn_call *c, uint32_t first, syn_node *dest, syn_ty *is, syn_ty *xs, syn_targets *targets);
static inline syn_node *loom_syn_op_poison(const syn_call *c) {
    return loom_syn_poison(c->e, c->span);
}

#define X(name) syn_node *loom_syn_op_##name(const syn_call *c);
X(map)
X(flatmap)
X(zip)
X(unzip)
X(iota)
X(replicate)
X(generate)
X(tabulate)
X(fold)
X(fold1)
X(scan)
X(filter)
X(permute)
X(scatter)
X(gather)
X(backpermute)
X(sort)
X(sort_by)
X(stencil)
X(levels)
X(unflatten)
X(reshape)
X(concat)
X(reverse)
X(rotate)
X(length)
X(extent)
X(fft)
X(assert)
X(like)
X(rows)
X(map_seq)
X(filter_seq)
X(enumerate_seq)
X(scan_seq)
X(fold_seq)
X(chain_seq)
X(permute_seq)
X(reduce_seq)
X(from_seq)
X(group_seq)
X(group_map_seq)
#undef X

#endif
