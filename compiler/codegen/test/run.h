/* Runs a plan in this process on one thread: links the object as a worker does (symbols from an allow-list) and
 * performs the actions one after another, with transforms by the definition. A second reading of plan.h, beside the
 * worker's. */
#ifndef LOOM_CODEGEN_TEST_RUN_H
#define LOOM_CODEGEN_TEST_RUN_H

#include "compiler/codegen/codegen.h"

typedef struct machine {
    const loom_plan *plan;
    void **kernels;
    void **data;    /* per buffer */
    size_t *filled; /* per buffer: bytes that were appended */
    int64_t *extents;
    int64_t chunk;
    loom_kernel_error error;
    loom_kernel_frame frame;
    loom_kernel_work work; /* of the last run */
    void *scratch;
    void *jit;
    int64_t piece; /* length of the pieces of ranges and reductions */
} machine;

/* "triple;cpu;features" of this machine. */
const char *host_target(void);
/* Compiles code that counts its work, checks and links. Text of the optimised module goes to standard error where
 * LOOM_TEST_IR is set. */
machine m_open(loom_arena *arena, const loom_lifted *l);
/* Binds the memory of the only buffer with this storage, source and leaf 0. */
void m_bind(machine *m, loom_storage storage, uint32_t source, void *data);
/* Extents of kind INPUT of that buffer, level by level, are set first by this. */
void m_extent(machine *m, loom_storage storage, uint32_t source, uint32_t level, int64_t extent);
void m_run(machine *m, int64_t chunk);
/* Memory of leaf 0 of an output. */
void *m_output(machine *m, uint32_t output);
void m_close(machine *m);

#endif
