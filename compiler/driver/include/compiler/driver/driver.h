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
#include "compiler/syntax/syntax.h"

/* Fills the reply; everything it points to lives in the arena, except `error`, which the caller frees. */
void loom_driver_compile(loom_arena *arena, const loom_compile_request *request, loom_compile_reply *reply);

typedef struct loom_explain_request {
    const char *stage; /* ast core simplified stages shapes lifted fused schedule llvm plan */
    const char *entry; /* NULL: main, or the only one */
    const loom_source_file *files;
    size_t n_files;
    const char *target; /* NULL: this machine */
} loom_explain_request;

/* Prints what the compiler makes of a program. No data is at hand, so array extents that types leave open are taken to
 * be LOOM_EXPLAIN_EXTENT: more than what is specialised on, so that they stay symbolic. */
#define LOOM_EXPLAIN_EXTENT 100
LOOM_MUST_USE loom_status *loom_driver_explain(loom_arena *arena, const loom_explain_request *request,
                                               loom_diagnostics *diagnostics, FILE *to);
/* Names of stages for help, separated by spaces. */
extern const char *const loom_explain_stages;

#endif
