/* Runs the tests of the vectoriser with fusion in between: what is fused must compute the same. */
#include "../../vectorise/test/weft.h"
#include "compiler/fuse/fuse.h"

__attribute__((constructor)) static void with_fusion(void) {
    weft_fuse = loom_fuse;
}
