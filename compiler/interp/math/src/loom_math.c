/* The functions of loom_math.h as external symbols, for callers that cannot inline. */
#define LOOM_MATH
#pragma clang diagnostic ignored "-Wmissing-prototypes"
#include "compiler/interp/math/loom_math.h"
