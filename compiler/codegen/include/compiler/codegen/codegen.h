/* Code generation: scheduled lifted IR -> plan and relocatable object for a target, through the LLVM 19 C API. Only
 * ever runs in gridloom-compile (LLVM may end the process). */
#ifndef LOOM_COMPILER_CODEGEN_CODEGEN_H
#define LOOM_COMPILER_CODEGEN_CODEGEN_H
#include "compiler/ir/lifted.h"
#include "compiler/plan/plan.h"
typedef struct loom_code_result {
    loom_plan *plan;
    char *object;
    size_t object_length; /* malloc'ed */
    char *llvm_text;      /* if asked for; malloc'ed */
} loom_code_result;
/* `count`: the code counts its work as it goes (loom_kernel_work). */
LOOM_MUST_USE loom_status *loom_codegen(loom_arena *arena, const loom_lifted *lifted, const char *target, bool count,
                                        bool want_text, loom_code_result *result);
#endif
