/* What halves.c, joined.c, winner.c and window.c write their bodies with: nodes of the core, with the span of the fold
 * or loop that they stand for. Private. */
#ifndef LOOM_VECTORISE_WRITING_H
#define LOOM_VECTORISE_WRITING_H

#include "compiler/ir/core.h"
#include "compiler/ir/prim.h"

typedef struct pen {
    loom_program *p;
    loom_span span;
    loom_type_id i64, truth;
} pen;

/* The optional operands of a SLICE that are there (its aux). */
enum {
    SLICE_FROM = 1,
    SLICE_TO = 2,
    SLICE_STEP = 4
};

pen pen_of(loom_program *p, loom_span span);
/* A node without bodies. */
loom_node_id pen_node(const pen *w, loom_op op, loom_type_id type, uint32_t n, const loom_node_id *operands,
                      uint32_t aux);
loom_node_id pen_int(const pen *w, int64_t i);
loom_node_id pen_prim(const pen *w, loom_prim prim, loom_type_id type, loom_node_id a, loom_node_id b);
loom_node_id pen_length(const pen *w, loom_node_id xs);
loom_node_id pen_field(const pen *w, loom_node_id tuple, uint32_t i);
loom_body_id pen_open(const pen *w, uint32_t n, const loom_type_id *types);
loom_node_id pen_if(const pen *w, loom_type_id type, loom_node_id condition, const loom_body_id *branches);
/* Of one array; `element`: what the body gives. */
loom_node_id pen_map(const pen *w, loom_type_id element, loom_node_id xs, loom_body_id body);

/* By node of the body: the innermost body around it that is inside of it, or LOOM_NONE. */
void pen_find_inner(const loom_program *p, const loom_body *b, loom_body_id *inner);
/* Where nodes of the body were mapped to copies: to themselves again. */
void pen_forget(const loom_body *b, loom_node_id *map);

#endif
