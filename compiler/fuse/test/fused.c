/* Runs the tests of the vectoriser with fusion in between: what is fused must compute the same. */
#include "compiler/fuse/fuse.h"
#include "../../vectorise/test/weft.h"

__attribute__((constructor)) static void with_fusion(void) {
    weft_fuse = loom_fuse;
}
