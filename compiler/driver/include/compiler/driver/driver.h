/* Driver: from a compile request to a reply, and `gridloom explain`.
 *
 * The list of passes of a compile is loom_driver_compile's two functions and readable there. What is wrong with a
 * program is an error of the reply; what is merely not compiled (or fails inside the compiler) gives a reply that says
 * to interpret the stage, with a remark. Only gridloom-compile and tests link this: LLVM may end the process. Threads:
 * a call uses only its arena; LLVM contexts are not shared.
 */
#ifndef LOOM_COMPILER_DRIVER_DRIVER_H
#define LOOM_COMPILER_DRIVER_DRIVER_H

#include "compiler/plan/compile.h"
#include "compiler/schedule/lifting.h"
#include "compiler/syntax/syntax.h"

/* Fills the reply; everything it points to lives in the arena, except `error`, which the caller frees. */
void loom_driver_compile(loom_arena *arena, const loom_compile_request *request, loom_compile_reply *reply);

typedef struct loom_explain_request {
    const char *stage; /* one of loom_explain_stages */
    const char *entry; /* NULL: main, or the only one */
    const loom_source_file *files;
    size_t n_files;
    const char *target;       /* NULL: this machine */
    loom_lifting_sizes sizes; /* no data is at hand: what is assumed of inputs */
    uint32_t force;           /* LOOM_FORCE_*, for stages after `shapes` */
} loom_explain_request;

/* More than what is specialised on, so that such extents stay symbolic. */
#define LOOM_EXPLAIN_EXTENT  100
#define LOOM_EXPLAIN_LARGEST 1e9 /* a row of more is no row; products of such extents stay in 64 bits */
/* Prints what the compiler makes of a program. */
LOOM_MUST_USE loom_status *loom_driver_explain(loom_arena *arena, const loom_explain_request *request,
                                               loom_diagnostics *diagnostics, FILE *to);
/* Names of stages for help, separated by spaces. */
extern const char *const loom_explain_stages;

#endif
