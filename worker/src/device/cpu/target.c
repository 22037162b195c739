#include "common/buffer.h"
#include "worker/executor.h"
#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <pthread.h>

static char *target;

static void find_target(void) {
    char *triple = LLVMGetDefaultTargetTriple();
    char *cpu = LLVMGetHostCPUName();
    char *features = LLVMGetHostCPUFeatures();
    target = loom_xprintf("%s;%s;%s", triple, cpu, features);
    LLVMDisposeMessage(features);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(triple);
}

const char *loom_worker_target(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_target);
    return target;
}
