/* Target machine, module, optimisation and object code. All use of LLVM as a compiler is here; the other files only
 * build IR. */
#include "gen.h"
#include "mathlink.h"
#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void initialise(void) {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    /* Innermost loops of a compiled program are often short and run millions of times: over channels, or the cells of a
     * kernel. Below 16 turns LLVM does without vectors wherever these would need a test at run time. */
    const char *const options[] = {"gridloom", "-vectorizer-min-trip-count=4"};
    LLVMParseCommandLineOptions(2, options, NULL);
}

static loom_status *split_target(loom_gen *g, const char *target) {
    const char *first = strchr(target, ';'), *second = first ? strchr(first + 1, ';') : NULL;
    if (!second) return loom_error(LOOM_E_CONFIG, "target \"%s\": expected \"triple;cpu;features\"", target);
    g->triple = loom_arena_strndup(g->arena, target, (size_t)(first - target));
    g->cpu = loom_arena_strndup(g->arena, first + 1, (size_t)(second - first - 1));
    g->features = loom_arena_strdup(g->arena, second + 1);
    return NULL;
}

static loom_status *open_machine(loom_gen *g) {
    LLVMTargetRef target;
    char *message = NULL;
    if (LLVMGetTargetFromTriple(g->triple, &target, &message)) {
        loom_status *status = loom_error(LOOM_E_CONFIG, "target \"%s\": %s", g->triple, message);
        LLVMDisposeMessage(message);
        return status;
    }
    /* Position independent, so that data and code may lie anywhere in the process that links the object. */
    g->machine = LLVMCreateTargetMachine(target, g->triple, g->cpu, g->features, LLVMCodeGenLevelAggressive,
                                         LLVMRelocPIC, LLVMCodeModelSmall);
    return g->machine ? NULL : loom_error(LOOM_E_CONFIG, "target \"%s\" is not supported", g->triple);
}

static void make_types(loom_gen *g) {
    LLVMContextRef c = g->context;
    g->i1 = LLVMInt1TypeInContext(c);
    g->i8 = LLVMInt8TypeInContext(c);
    g->i16 = LLVMInt16TypeInContext(c);
    g->i32 = LLVMInt32TypeInContext(c);
    g->i64 = LLVMInt64TypeInContext(c);
    g->f32 = LLVMFloatTypeInContext(c);
    g->f64 = LLVMDoubleTypeInContext(c);
    g->ptr = LLVMPointerTypeInContext(c, 0);
    g->none = LLVMVoidTypeInContext(c);
    /* loom_kernel_frame, loom_kernel_runtime, loom_kernel_error of plan.h */
    LLVMTypeRef frame[] = {g->ptr, g->ptr, g->ptr, g->ptr, g->ptr, g->ptr, g->ptr, g->ptr};
    LLVMTypeRef runtime[] = {g->ptr, g->ptr};
    LLVMTypeRef error[] = {g->i64, g->i32, g->i32, g->i64, g->i64};
    g->frame_type = LLVMStructTypeInContext(c, frame, 8, 0);
    g->runtime_type = LLVMStructTypeInContext(c, runtime, 2, 0);
    g->error_type = LLVMStructTypeInContext(c, error, 5, 0);
    g->md_scope = LLVMGetMDKindIDInContext(c, "alias.scope", 11);
    g->md_noalias = LLVMGetMDKindIDInContext(c, "noalias", 7);
    g->md_invariant = LLVMGetMDKindIDInContext(c, "invariant.load", 14);
    g->md_align = LLVMGetMDKindIDInContext(c, "align", 5);
    g->empty_md = LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, NULL, 0));
    LLVMMetadataRef align = LLVMValueAsMetadata(LLVMConstInt(g->i64, 64, 0));
    g->align64_md = LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, &align, 1));
}

loom_status *loom_gen_open(loom_gen *g, const char *target) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialise);
    LOOM_TRY(split_target(g, target));
    LOOM_TRY(open_machine(g));
    g->context = LLVMContextCreate();
    g->module = LLVMModuleCreateWithNameInContext("stage", g->context);
    LLVMSetTarget(g->module, g->triple);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(g->machine);
    LLVMSetModuleDataLayout(g->module, layout);
    LLVMDisposeTargetData(layout);
    make_types(g);
    return NULL;
}

void loom_gen_close(loom_gen *g) {
    if (g->module) LLVMDisposeModule(g->module);
    if (g->context) LLVMContextDispose(g->context);
    if (g->machine) LLVMDisposeTargetMachine(g->machine);
}

LLVMTypeRef loom_gen_type(const loom_gen *g, loom_dtype dtype) {
    switch (dtype) {
    case LOOM_BOOL: return g->i1;
    case LOOM_I8:
    case LOOM_U8: return g->i8;
    case LOOM_I16:
    case LOOM_U16: return g->i16;
    case LOOM_I32:
    case LOOM_U32: return g->i32;
    case LOOM_I64:
    case LOOM_U64: return g->i64;
    case LOOM_F32:
    case LOOM_C64: return g->f32;
    default: return g->f64;
    }
}

LLVMTypeRef loom_gen_memory(const loom_gen *g, loom_dtype dtype) {
    return dtype == LOOM_BOOL ? g->i8 : loom_gen_type(g, dtype);
}

void loom_gen_attribute(const loom_gen *g, LLVMValueRef function, const char *name) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(g->context, kind, 0));
}

LLVMValueRef loom_gen_intrinsic(const loom_gen *g, const char *name, LLVMTypeRef type, LLVMTypeRef *function_type) {
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    *function_type = LLVMIntrinsicGetType(g->context, id, &type, 1);
    return LLVMGetIntrinsicDeclaration(g->module, id, &type, 1);
}

static void string_attribute(const loom_gen *g, LLVMValueRef function, const char *name, const char *value) {
    LLVMAttributeRef attribute =
        LLVMCreateStringAttribute(g->context, name, (unsigned)strlen(name), value, (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attribute);
}

/* Every function, those of the math library too, gets the processor of the target: functions are inlined and vectorised
 * only into callers with the same features. */
static void set_processor(const loom_gen *g) {
    bool wide = strstr(g->features, "+avx512f") != NULL;
    for (LLVMValueRef f = LLVMGetFirstFunction(g->module); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f)) continue;
        string_attribute(g, f, "target-cpu", g->cpu);
        string_attribute(g, f, "target-features", g->features);
        string_attribute(g, f, "no-builtins", "");
        if (wide) string_attribute(g, f, "prefer-vector-width", "512");
        loom_gen_attribute(g, f, "nounwind");
    }
}

static loom_status *verify(const loom_gen *g, const char *when) {
    char *message = NULL;
    loom_status *status = NULL;
    if (LLVMVerifyModule(g->module, LLVMReturnStatusAction, &message)) {
        status = loom_error(LOOM_E_INTERNAL, "code generation made a malformed module (%s): %.2000s", when, message);
    }
    LLVMDisposeMessage(message);
    return status;
}

static loom_status *run_passes(const loom_gen *g, const char *passes) {
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMPassBuilderOptionsSetLoopVectorization(options, 1);
    LLVMPassBuilderOptionsSetSLPVectorization(options, 1);
    LLVMPassBuilderOptionsSetLoopInterleaving(options, 1);
    LLVMPassBuilderOptionsSetLoopUnrolling(options, 1);
    LLVMErrorRef error = LLVMRunPasses(g->module, passes, g->machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (!error) return NULL;
    char *message = LLVMGetErrorMessage(error);
    loom_status *status = loom_error(LOOM_E_INTERNAL, "optimisation failed: %s", message);
    LLVMDisposeErrorMessage(message);
    return status;
}

/* Functions of more instructions, as built, are made with less effort: for the others, vectors and more are worth their
 * time, which is in proportion to the code. For very large ones it grows with the square, and what is in them, branches
 * of thousands of cases mostly, is slower when all of it is made for all lanes of a vector. The largest kernels of
 * programs that are not generated have some 1100. */
#define LOOM_LARGE_FUNCTION 4000

static bool is_large(LLVMValueRef f) {
    size_t n = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b)) {
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            if (++n > LOOM_LARGE_FUNCTION) return true;
        }
    }
    return false;
}

static void set_passed_over(const loom_gen *g, LLVMValueRef f, bool passed_over) {
    static const char *const names[] = {"optnone", "noinline"}; /* the one is not allowed without the other */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unsigned kind = LLVMGetEnumAttributeKindForName(names[i], strlen(names[i]));
        if (passed_over) {
            loom_gen_attribute(g, f, names[i]);
        } else {
            LLVMRemoveEnumAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind);
        }
    }
}

/* The large functions are passed over first, then the others; no pass stands between code and object code. All of them
 * are called by the executor, or once a strip: none loses by not being inlined. */
static loom_status *optimise(const loom_gen *g) {
    LOOM_VEC(LLVMValueRef) large = {0};
    for (LLVMValueRef f = LLVMGetFirstFunction(g->module); f; f = LLVMGetNextFunction(f)) {
        if (!LLVMIsDeclaration(f) && is_large(f)) LOOM_PUSH(g->arena, large, f);
    }
    for (size_t i = 0; i < large.count; i++) set_passed_over(g, large.at[i], true);
    LOOM_TRY(run_passes(g, "default<O3>"));
    if (!large.count) return NULL;
    LOOM_VEC(LLVMValueRef) done = {0};
    for (LLVMValueRef f = LLVMGetFirstFunction(g->module); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f)) continue;
        unsigned kind = LLVMGetEnumAttributeKindForName("optnone", strlen("optnone"));
        bool was_large = LLVMGetEnumAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind) != NULL;
        if (!was_large) LOOM_PUSH(g->arena, done, f);
        set_passed_over(g, f, !was_large);
    }
    LOOM_TRY(run_passes(g, "default<O1>"));
    for (LLVMValueRef f = LLVMGetFirstFunction(g->module); f; f = LLVMGetNextFunction(f)) {
        if (!LLVMIsDeclaration(f)) set_passed_over(g, f, false);
    }
    return NULL;
}

static loom_status *emit_object(const loom_gen *g, loom_code_result *result) {
    LLVMMemoryBufferRef buffer;
    char *message = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(g->machine, g->module, LLVMObjectFile, &message, &buffer)) {
        loom_status *status = loom_error(LOOM_E_INTERNAL, "no object code: %s", message);
        LLVMDisposeMessage(message);
        return status;
    }
    result->object_length = LLVMGetBufferSize(buffer);
    result->object = loom_xmalloc(result->object_length);
    memcpy(result->object, LLVMGetBufferStart(buffer), result->object_length);
    LLVMDisposeMemoryBuffer(buffer);
    return NULL;
}

loom_status *loom_gen_emit(loom_gen *g, bool want_text, loom_code_result *result) {
#ifdef LOOM_DEBUG_CHECKS
    LOOM_TRY(verify(g, "as built"));
#endif
    LOOM_TRY(loom_math_link(g));
    set_processor(g);
    LOOM_TRY(verify(g, "linked"));
    LOOM_TRY(optimise(g));
    if (want_text) {
        char *text = LLVMPrintModuleToString(g->module);
        result->llvm_text = loom_xstrdup(text);
        LLVMDisposeMessage(text);
    }
    return emit_object(g, result);
}
