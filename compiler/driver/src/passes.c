#include "passes.h"
#include "common/buffer.h"
#include "compiler/fuse/fuse.h"
#include "compiler/schedule/schedule.h"
#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

static loom_status *checked(const loom_lifted *l, bool check, const char *pass) {
    if (!check) return NULL;
    return loom_status_note(loom_lifted_check(l), "after the pass %s", pass);
}

loom_status *loom_driver_passes(loom_arena *arena, const loom_vectorise_request *request, const char *target,
                                loom_pass last, bool check, bool want_text, loom_lifted **lifted, const char **remark,
                                loom_code_result *code) {
#ifdef LOOM_DEBUG_CHECKS
    check = true;
#endif
    loom_lifted *l = NULL;
    LOOM_TRY(loom_vectorise(arena, request, &l, remark));
    *lifted = l;
    if (!l) return NULL;
    LOOM_TRY(checked(l, check, "vectorise"));
    if (last == LOOM_PASS_VECTORISE) return NULL;
    if (l->n_exprs > LOOM_PASSES_MAX_EXPRS) {
        *lifted = NULL;
        *remark = loom_arena_printf(arena, "%u operations on scalars, and more than %u take long to compile",
                                    l->n_exprs, LOOM_PASSES_MAX_EXPRS);
        return NULL;
    }
    LOOM_TRY(loom_fuse(l));
    LOOM_TRY(checked(l, check, "fuse"));
    if (last == LOOM_PASS_FUSE) return NULL;
    LOOM_TRY(loom_schedule(l, -1));
    LOOM_TRY(checked(l, check, "schedule"));
    if (last == LOOM_PASS_SCHEDULE) return NULL;
    return loom_codegen(arena, l, target, want_text, code);
}

char *loom_driver_llvm(void) {
    unsigned major, minor, patch;
    LLVMGetVersion(&major, &minor, &patch);
    return loom_xprintf("LLVM %u.%u.%u", major, minor, patch);
}

char *loom_driver_host(void) {
    char *triple = LLVMGetDefaultTargetTriple(), *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
    char *target = loom_xprintf("%s;%s;%s", triple, cpu, features);
    LLVMDisposeMessage(triple);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    return target;
}
