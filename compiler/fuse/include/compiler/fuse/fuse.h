/* Fusion: rewrites lifted IR in place (in its arena): producers are inlined into the bodies that load from them where
 * that repeats no work worth naming; unused operations go; equal operations merge. Rules at the top of fuse.c. */
#ifndef LOOM_COMPILER_FUSE_FUSE_H
#define LOOM_COMPILER_FUSE_FUSE_H
#include "compiler/ir/lifted.h"
LOOM_MUST_USE loom_status *loom_fuse(loom_lifted *lifted);
#endif
