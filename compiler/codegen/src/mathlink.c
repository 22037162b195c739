#include "mathlink.h"
#include "compiler/interp/math/bitcode.h"
#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>
#include <string.h>

static const char prefix[] = "loom_math_";

static bool uses_library(const loom_gen *g) {
    for (LLVMValueRef f = LLVMGetFirstFunction(g->module); f; f = LLVMGetNextFunction(f)) {
        if (strncmp(LLVMGetValueName(f), prefix, sizeof prefix - 1) == 0) return true;
    }
    return false;
}

/* What was linked belongs to this module alone, so that what is inlined everywhere disappears. */
static loom_status *make_internal(const loom_gen *g) {
    for (LLVMValueRef f = LLVMGetFirstFunction(g->module); f; f = LLVMGetNextFunction(f)) {
        const char *name = LLVMGetValueName(f);
        if (strncmp(name, prefix, sizeof prefix - 1) != 0) continue;
        if (LLVMIsDeclaration(f)) return loom_error(LOOM_E_INTERNAL, "the library of scalar functions has no %s", name);
        LLVMSetLinkage(f, LLVMInternalLinkage);
    }
    return NULL;
}

loom_status *loom_math_link(loom_gen *g) {
    if (!uses_library(g)) return NULL;
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRange((const char *)loom_math_bitcode, loom_math_bitcode_size, "loom_math", 0);
    LLVMModuleRef library;
    bool failed = LLVMParseBitcodeInContext2(g->context, buffer, &library);
    LLVMDisposeMemoryBuffer(buffer);
    if (failed) return loom_error(LOOM_E_INTERNAL, "the library of scalar functions cannot be read");
    LLVMSetTarget(library, g->triple);
    LLVMSetDataLayout(library, LLVMGetDataLayoutStr(g->module));
    if (LLVMLinkModules2(g->module, library))
        return loom_error(LOOM_E_INTERNAL, "the library of scalar functions cannot be linked");
    return make_internal(g);
}
