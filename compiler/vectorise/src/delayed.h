/* Shared by delayed.c (what closures give) and delay.c (how they are made). */
#ifndef LOOM_VECTORISE_DELAYED_H
#define LOOM_VECTORISE_DELAYED_H

#include "vec.h"

closure *vec_new_closure(vec *v, closure_kind kind, const loom_node *n, frame *f, const val *ops, uint32_t n_ops);
val vec_closure_leaves(vec *v, closure *c, const val *like, uint32_t drop, const extent *new_own, uint32_t n_new);
bool vec_pull_closure(vec *v, closure *c, index_step at, val *element);

#endif
