/* Compiled to bitcode alone. Weak becomes linkonce_odr on the way (CMakeLists.txt): C has no word for that. */
#define LOOM_MATH __attribute__((weak, always_inline))
#pragma clang diagnostic ignored "-Wmissing-prototypes"
#include "compiler/interp/math/loom_math.h"
