/* The tree of actions under construction: actions.c, and rows.c for actions that go row by row. */
#ifndef LOOM_CODEGEN_ACTIONS_H
#define LOOM_CODEGEN_ACTIONS_H

#include "gen.h"

struct node;
typedef LOOM_VEC(struct node *) node_list;

typedef struct node {
    loom_plan_action action;
    bool *touched;                  /* per buffer, those of the children included */
    node_list inner, otherwise;     /* LOOP, IF, ROWS */
    LOOM_VEC(uint32_t) made, freed; /* buffers, before and after it */
    LOOM_VEC(uint32_t) left;        /* BREAK: what is freed where the loop is left */
    bool per_chunk;
    loom_lop_id op; /* of which it is all, divided along its first axis if it is divided; else LOOM_NONE */
} node;

typedef struct planner {
    loom_gen *g;
    loom_plan *plan;
    bool per_chunk; /* of the operation being lowered */
    bool *kept;     /* per buffer: an output's, never freed */
    bool *in_rows;  /* per buffer: there inside of a ROWS node alone, never allocated */
    loom_plan_output *outputs;
    uint32_t *state_copy; /* per value that is a loop's state: the buffer its next value is copied to, or LOOM_NONE */
} planner;

/* ---- rows.c ---- */
/* Puts neighbours of the tree that may go by rows into ROWS nodes. */
void loom_gen_rows(planner *p, node_list *list);

#endif
