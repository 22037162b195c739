#include "passes.h"
#include "common/buffer.h"
#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

loom_status *loom_driver_passes(loom_arena *arena, const loom_vectorise_request *request, const char *target,
                                loom_pass last, bool check, bool count, bool want_text, loom_lifted **lifted,
                                const char **remark, loom_code_result *code) {
    LOOM_TRY(loom_lifting(arena, request, last, check, lifted, remark));
    if (!*lifted || last != LOOM_PASS_CODEGEN) return NULL;
    return loom_codegen(arena, *lifted, target, count, want_text, code);
}

loom_status *loom_driver_tested(loom_arena *arena, const loom_vectorise_request *request, const char *target,
                                loom_pass last, bool check, bool count, bool want_text, const loom_lifted *lifted,
                                loom_lifted **tested, const char **remark, loom_code_result *code) {
    LOOM_TRY(loom_lifting_tested(arena, request, last, check, lifted, tested, remark));
    if (!*tested || last != LOOM_PASS_CODEGEN) return NULL;
    return loom_codegen(arena, *tested, target, count, want_text, code);
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
