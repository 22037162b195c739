/* What is known of an operator given to fold, permute and their sequence forms. */
#ifndef LOOM_STAGE_OPERATOR_H
#define LOOM_STAGE_OPERATOR_H

#include "compiler/ir/core.h"
#include "scope.h"

/* True if the body (a, b) is, leaf by leaf, a built-in commutative operator with a known neutral element: a primitive
 * on scalars, a tuple of such, an elementwise map of such over arrays. */
bool loom_operator_builtin(const loom_scope *s, loom_body_id op);
/* Builds, in the innermost open body of `to`, the neutral element of a builtin operator as a value shaped like `like`:
 * a node of `to` (arrays take its extents). Returns LOOM_NONE if the operator is not builtin. */
loom_node_id loom_operator_neutral(loom_program *to, const loom_scope *s, loom_body_id op, loom_node_id like);
/* True if node x of the program is an array filled with the operator's neutral element (replicate, generate of
 * constants). */
bool loom_operator_is_neutral_fill(const loom_scope *s, loom_body_id op, loom_node_id x);

#endif
