#include "executor/object.h"
#include "common/buffer.h"
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct loom_object {
    LLVMOrcLLJITRef jit;
};

/* What generated code may call. The code generator emits its own scalar functions; these are what LLVM itself puts in
 * place of its intrinsics: copies and fills of unknown length, and roundings where the processor has no instruction for
 * them. */
static const struct {
    const char *name;
    void *address;
} allowed[] = {
    {"memcpy", (void *)(uintptr_t)memcpy},
    {"memset", (void *)(uintptr_t)memset},
    {"memmove", (void *)(uintptr_t)memmove},
    {"fma", (void *)(uintptr_t)(double (*)(double, double, double))fma},
    {"fmaf", (void *)(uintptr_t)(float (*)(float, float, float))fmaf},
    {"floor", (void *)(uintptr_t)(double (*)(double))floor},
    {"floorf", (void *)(uintptr_t)(float (*)(float))floorf},
    {"ceil", (void *)(uintptr_t)(double (*)(double))ceil},
    {"ceilf", (void *)(uintptr_t)(float (*)(float))ceilf},
    {"trunc", (void *)(uintptr_t)(double (*)(double))trunc},
    {"truncf", (void *)(uintptr_t)(float (*)(float))truncf},
    {"rint", (void *)(uintptr_t)(double (*)(double))rint},
    {"rintf", (void *)(uintptr_t)(float (*)(float))rintf},
    {"fmod", (void *)(uintptr_t)(double (*)(double, double))fmod},
    {"fmodf", (void *)(uintptr_t)(float (*)(float, float))fmodf},
};
enum {
    N_ALLOWED = sizeof allowed / sizeof *allowed
};

static void initialise(void) {
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
}

static loom_status *from_llvm(LLVMErrorRef error, const char *what) {
    char *message = LLVMGetErrorMessage(error);
    loom_status *status = loom_error(LOOM_E_DATA, "%s: %s", what, message);
    LLVMDisposeErrorMessage(message);
    return status;
}

/* Failed lookups are also reported here, on standard error by default; they come back as a status. */
static void swallow(void *context, LLVMErrorRef error) {
    (void)context;
    LLVMConsumeError(error);
}

static loom_status *define_allowed(LLVMOrcLLJITRef jit, LLVMOrcJITDylibRef library) {
    LLVMOrcCSymbolMapPair pairs[N_ALLOWED];
    for (int i = 0; i < N_ALLOWED; i++) {
        pairs[i].Name = LLVMOrcLLJITMangleAndIntern(jit, allowed[i].name);
        pairs[i].Sym.Address = (LLVMOrcExecutorAddress)(uintptr_t)allowed[i].address;
        pairs[i].Sym.Flags =
            (LLVMJITSymbolFlags){LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable, 0};
    }
    LLVMErrorRef error = LLVMOrcJITDylibDefine(library, LLVMOrcAbsoluteSymbols(pairs, N_ALLOWED));
    return error ? from_llvm(error, "cannot define the symbols that kernels may use") : NULL;
}

typedef struct lookup {
    LLVMOrcLLJITRef jit;
    const char *const *symbols;
    uint32_t n;
    void **addresses;
    loom_status *status;
} lookup;

/* The pairs come in any order. */
static void looked_up(LLVMErrorRef error, LLVMOrcCSymbolMapPairs pairs, size_t n_pairs, void *context) {
    lookup *l = context;
    if (error) {
        l->status = from_llvm(error, "cannot link the compiled kernels");
        return;
    }
    for (size_t p = 0; p < n_pairs; p++) {
        const char *name = LLVMOrcSymbolStringPoolEntryStr(pairs[p].Name);
        for (uint32_t i = 0; i < l->n; i++) {
            if (strcmp(name, l->symbols[i]) == 0) l->addresses[i] = (void *)(uintptr_t)pairs[p].Sym.Address;
        }
    }
}

/* Each name once: the same kernel may stand in a plan several times, a lookup set must not hold duplicates. */
static uint32_t unique_names(LLVMOrcLLJITRef jit, const char *const *symbols, uint32_t n,
                             LLVMOrcCLookupSetElement *set) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool seen = false;
        for (uint32_t k = 0; k < i && !seen; k++) seen = strcmp(symbols[k], symbols[i]) == 0;
        if (seen) continue;
        set[count].Name = LLVMOrcLLJITMangleAndIntern(jit, symbols[i]);
        set[count++].LookupFlags = LLVMOrcSymbolLookupFlagsRequiredSymbol;
    }
    return count;
}

static loom_status *find(LLVMOrcLLJITRef jit, LLVMOrcJITDylibRef library, const char *const *symbols, uint32_t n,
                         void **addresses) {
    LLVMOrcCLookupSetElement *set = loom_xcalloc((size_t)n + 1, sizeof *set);
    uint32_t count = unique_names(jit, symbols, n, set);
    lookup l = {.jit = jit, .symbols = symbols, .n = n, .addresses = addresses};
    LLVMOrcCJITDylibSearchOrderElement order = {library, LLVMOrcJITDylibLookupFlagsMatchExportedSymbolsOnly};
    if (count) {
        LLVMOrcExecutionSessionLookup(LLVMOrcLLJITGetExecutionSession(jit), LLVMOrcLookupKindStatic, &order, 1, set,
                                      count, looked_up, &l);
    }
    free(set);
    return l.status;
}

static loom_status *add_object(LLVMOrcLLJITRef jit, LLVMOrcJITDylibRef library, const void *bytes, size_t length) {
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(bytes, length, "kernels");
    LLVMErrorRef error = LLVMOrcLLJITAddObjectFile(jit, library, buffer);
    return error ? from_llvm(error, "the compiled kernels are not an object file for this machine") : NULL;
}

loom_status *loom_object_link(const void *bytes, size_t length, const char *const *symbols, uint32_t n,
                              void **addresses, loom_object **object) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialise);
    LLVMOrcLLJITRef jit;
    LLVMErrorRef error = LLVMOrcCreateLLJIT(&jit, NULL);
    if (error) return from_llvm(error, "cannot start the linker for kernels");
    LLVMOrcExecutionSessionRef session = LLVMOrcLLJITGetExecutionSession(jit);
    LLVMOrcExecutionSessionSetErrorReporter(session, swallow, NULL);
    LLVMOrcJITDylibRef library = LLVMOrcExecutionSessionCreateBareJITDylib(session, "kernels");
    loom_status *status = define_allowed(jit, library);
    if (!status) status = add_object(jit, library, bytes, length);
    if (!status) status = find(jit, library, symbols, n, addresses);
    loom_object *made = loom_xcalloc(1, sizeof *made);
    made->jit = jit;
    if (status) {
        loom_object_destroy(made);
        return status;
    }
    *object = made;
    return NULL;
}

void loom_object_destroy(loom_object *object) {
    if (!object) return;
    LLVMErrorRef error = LLVMOrcDisposeLLJIT(object->jit);
    if (error) LLVMConsumeError(error);
    free(object);
}
