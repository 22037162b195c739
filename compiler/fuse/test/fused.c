/* Runs the tests of the vectoriser with fusion in between: what is fused must compute the same. */
#include "compiler/fuse/fuse.h"
#include "core.h"

__attribute__((constructor)) static void with_fusion(void) {
    test_fuse = loom_fuse;
}
