/* What gridloomd and gridloom-compile say to each other: one request on standard input, one reply on standard output,
 * each a 8-byte little-endian length and that many bytes of protobuf (compile.proto). The child is exec'd with limits
 * on CPU time, memory and output; a crash or a timeout is an error message for the job. */
#ifndef LOOM_COMPILER_PLAN_COMPILE_H
#define LOOM_COMPILER_PLAN_COMPILE_H

#include "compiler/plan/plan.h"

/* What is said where the arena of a compilation is out. */
#define LOOM_COMPILE_EXHAUSTED "the program needs more memory to compile than the compiler may use"

typedef enum loom_compile_what {
    LOOM_COMPILE_GRAPH, /* program + entry + known arguments -> staged program and graph */
    LOOM_COMPILE_STAGE, /* staged program + stage + shapes -> plan and object, or "interpret" with a remark */
} loom_compile_what;

/* What is known of one leaf that enters a stage. */
typedef struct loom_leaf_shape {
    uint32_t depth;
    const int64_t *extents; /* LOOM_IRREGULAR where not constant; for a stream's leaf the first one (the chunk) is -2 */
    bool constant;          /* stream leaf: constant in the segment (then without chunk axis) */
} loom_leaf_shape;

typedef struct loom_compile_request {
    loom_compile_what what;
    const void *program;
    size_t program_length; /* GRAPH: as submitted; STAGE: the staged program */
    const char *entry;     /* GRAPH */
    /* GRAPH: arguments[i] for each parameter, NULL where not known (streams, large arrays).
     * STAGE: values of input slots that are known and small (scalars), NULL otherwise. */
    uint32_t n_arguments;
    loom_value *const *arguments;
    const void *graph;
    size_t graph_length; /* STAGE: loom_graph_encode */
    uint32_t stage;      /* STAGE */
    /* STAGE: shapes of the leaves of each input slot, then of each stream, in order. */
    uint32_t n_shapes;
    const loom_leaf_shape *shapes;
    const char *target; /* "triple;cpu;features" of the worker, from loom_worker_target() */
    const char *cache;  /* folder of the object cache, or NULL */
    bool debug;         /* checkers after each pass */
    bool count_work;    /* STAGE: code that counts what it does, loom_kernel_work */
    uint64_t memory;    /* GRAPH: bytes a worker may use, see loom_stage_request; 0: not limited */
    uint64_t traversal; /* GRAPH: bytes of all streams, see loom_stage_request; 0: not known */
    uint32_t force;     /* LOOM_FORCE_*, what tests choose in place of the compiler */
} loom_compile_request;

typedef struct loom_compile_reply {
    loom_status *error; /* NULL if all went well (owned by the reply) */
    const void *program;
    size_t program_length; /* GRAPH: staged program */
    const void *graph;
    size_t graph_length; /* GRAPH */
    bool interpret;      /* STAGE: not compiled; run the stage's functions in the interpreter */
    const void *plan;
    size_t plan_length; /* STAGE */
    const void *object;
    size_t object_length; /* STAGE: ELF relocatable */
    bool cached;
    double seconds;
    uint32_t n_remarks;
    const char *const *remarks;
} loom_compile_reply;

LOOM_MUST_USE loom_status *loom_compile_request_encode(const loom_compile_request *r, char **bytes, size_t *length);
LOOM_MUST_USE loom_status *loom_compile_request_decode(loom_arena *arena, const void *bytes, size_t length,
                                                       loom_compile_request **r);
LOOM_MUST_USE loom_status *loom_compile_reply_encode(const loom_compile_reply *r, char **bytes, size_t *length);
LOOM_MUST_USE loom_status *loom_compile_reply_decode(loom_arena *arena, const void *bytes, size_t length,
                                                     loom_compile_reply **r);

/* The program is the largest part; arguments are small ones. */
#define LOOM_MAX_COMPILE_BYTES ((size_t)256 << 20)

/* A compiler that fails by itself (a defect, a limit, no memory, no process) costs speed, not the job: the stage is
 * interpreted, and a remark says why. What is wrong with the program is the job's error, and with `debug` so is the
 * compiler's. */
static inline bool loom_compile_steps_down(const loom_status *error, bool debug) {
    loom_code code = loom_status_code(error);
    return !debug && (code == LOOM_E_INTERNAL || code == LOOM_E_LIMIT || code == LOOM_E_MEMORY || code == LOOM_E_OS);
}

#endif
