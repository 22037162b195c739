/* Shared by the parts of the checker. Private to compiler/ir. */
#ifndef LOOM_IR_CHECK_H
#define LOOM_IR_CHECK_H

#include "program_impl.h"

/* What the scan of bodies finds out: whose node is whose. */
typedef struct loom_structure {
    loom_body_id *owner;     /* by node: the innermost body around it */
    loom_node_id *user;      /* by body: the node that uses it, LOOM_NONE for a function's */
    uint32_t *user_position; /* by body: which of the user's bodies it is */
    loom_body_id *parent;    /* by body: the body around it, LOOM_NONE for a function's */
    uint32_t *function;      /* by body: index of the function that it is part of */
    uint32_t *nesting;       /* by body: 1 for a function's */
    loom_node_id *closed;    /* by body: the first node that it may use, of the closed body around it */
} loom_structure;

/* An error about node `id`: "file:line:col: core %id (op): ...". */
LOOM_MUST_USE loom_status *loom_check_fail(const loom_program *p, loom_node_id id, loom_code code, const char *format,
                                           ...) LOOM_PRINTF(4, 5);

LOOM_MUST_USE loom_status *loom_check_types_table(const loom_program *p);
LOOM_MUST_USE loom_status *loom_check_structure(const loom_program *p, loom_arena *scratch, loom_structure *s);
/* The node's type against its operands and bodies; ranges and scopes have been checked. */
LOOM_MUST_USE loom_status *loom_check_node(const loom_program *p, loom_node_id id);

#endif
