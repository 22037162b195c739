/* Links the library of scalar functions (bitcode) into the module, so that its functions are inlined and vectorised. */
#ifndef LOOM_CODEGEN_MATHLINK_H
#define LOOM_CODEGEN_MATHLINK_H
#include "gen.h"
LOOM_MUST_USE loom_status *loom_math_link(loom_gen *g);
#endif
