/* The flat schedule of a stage, which is what is counted. Private to explain. */
#ifndef LOOM_EXPLAIN_FLAT_H
#define LOOM_EXPLAIN_FLAT_H

#include "compiler/explain/explain.h"

/* A program cut into stages, nothing of its arguments known. */
typedef struct explain_stages {
    loom_program *staged;
    loom_graph *graph;
    loom_version_notes versions; /* explain_versions */
} explain_stages;
LOOM_MUST_USE loom_status *explain_split(loom_arena *arena, const loom_program *program, const char *entry,
                                         explain_stages *stages);

/* Calls of lifted functions as they are decided for such sizes. */
LOOM_MUST_USE loom_status *explain_versions(loom_arena *arena, explain_stages *stages, const loom_lifting_sizes *sizes);

/* *lifted: the stage's operations, each of which runs over all of its index space; NULL with *remark where the stage is
 * interpreted. */
LOOM_MUST_USE loom_status *explain_flat(loom_arena *arena, const explain_stages *stages, uint32_t stage,
                                        const loom_lifting_sizes *sizes, loom_lifted **lifted, const char **remark);
/* The same for rows that a test finds to be of one length; `lifted` is what explain_flat made, or NULL. *tested: NULL
 * where there is no such version; *remark then says why, or is NULL. */
LOOM_MUST_USE loom_status *explain_tested(loom_arena *arena, const explain_stages *stages, uint32_t stage,
                                          const loom_lifting_sizes *sizes, const loom_lifted *lifted,
                                          loom_lifted **tested, const char **remark);
typedef struct explain_steps {
    uint64_t all;
    uint64_t avoided; /* of them, those over no elements of the stream: made once for all */
} explain_steps;
/* Steps of all operations; of_node, unless NULL, by node of the stage's program: those made for it are added. */
explain_steps explain_count(loom_arena *arena, const loom_lifted *lifted, uint64_t *of_node);
/* Shapes of a stage's function under such sizes. */
loom_shapes *explain_shapes(loom_arena *arena, const explain_stages *stages, uint32_t stage,
                            const loom_lifting_sizes *sizes);

#endif
