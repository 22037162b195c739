/* Small programs that several tests of typed core look at. */
#ifndef LOOM_IR_TEST_SAMPLES_H
#define LOOM_IR_TEST_SAMPLES_H

#include "compiler/ir/core.h"
#include "compiler/ir/prim.h"

#define NOWHERE ((loom_span){0})

/* A node without bodies: N(p, op, type, aux, operands...). */
#define N(p, op, type, aux, ...)                                                                                       \
    loom_build_node((p), LOOM_OP_##op, 0, (type), (loom_node_id[]){__VA_ARGS__},                                       \
                    sizeof((loom_node_id[]){__VA_ARGS__}) / sizeof(loom_node_id), NULL, 0, (aux), NOWHERE)
/* A node with one body. */
#define NB(p, op, type, aux, body, ...)                                                                                \
    loom_build_node((p), LOOM_OP_##op, 0, (type), (loom_node_id[]){__VA_ARGS__},                                       \
                    sizeof((loom_node_id[]){__VA_ARGS__}) / sizeof(loom_node_id), (loom_body_id[]){body}, 1, (aux),    \
                    NOWHERE)
#define PRIM(p, prim, type, ...)                                                                                       \
    loom_build_node((p), LOOM_OP_PRIM, LOOM_PRIM_##prim, (type), (loom_node_id[]){__VA_ARGS__},                        \
                    sizeof((loom_node_id[]){__VA_ARGS__}) / sizeof(loom_node_id), NULL, 0, 0, NOWHERE)

/* A body of one primitive of two parameters: (t, t) -> t. */
loom_body_id sample_operator(loom_program *p, loom_prim prim, loom_type_id t);

/* entry sum (xs: []f32) : f32 = fold (+) 0 xs */
loom_program *sample_sum(loom_arena *arena);
/* Tuples, records, loops, branches with outer results, sequences, groups, calls, several files: one of everything. */
loom_program *sample_mixed(loom_arena *arena);

#endif
