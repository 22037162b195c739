/* Scopes: which body a node belongs to, and walking the nodes of one body in order without those of inner bodies. */
#ifndef LOOM_STAGE_SCOPE_H
#define LOOM_STAGE_SCOPE_H

#include "compiler/ir/core.h"

typedef struct loom_scope {
    const loom_program *program;
    loom_body_id *owner;  /* by node: the innermost body around it, LOOM_NONE where there is none */
    loom_body_id *parent; /* by body: the body around it, LOOM_NONE for a function's */
} loom_scope;

loom_scope *loom_scope_create(loom_arena *arena, const loom_program *program);
/* First node of a body after its parameters, then the next, LOOM_NONE at the end. */
loom_node_id loom_scope_first(const loom_scope *s, loom_body_id body);
loom_node_id loom_scope_next(const loom_scope *s, loom_body_id body, loom_node_id node);
/* Nodes from before a body that it uses, and those from before a node and its bodies that these use; a node may occur
 * more than once. In `arena`. */
uint32_t loom_scope_body_uses(const loom_program *program, loom_arena *arena, const loom_body *body,
                              loom_node_id **uses);
uint32_t loom_scope_uses(const loom_program *program, loom_arena *arena, loom_node_id node, loom_node_id **uses);
/* Whether a node's value is a sequence; whether one occurs inside its bodies: a traversal under a condition, in a loop.
 */
bool loom_scope_is_seq(const loom_program *program, loom_node_id node);
bool loom_scope_has_seq(const loom_program *program, const loom_node *node);
/* Whether the operation gives its result whatever it is given, in time and memory that what it is given has; its bodies
 * are looked at by themselves. */
bool loom_scope_is_harmless(const loom_program *program, const loom_node *node);

#endif
