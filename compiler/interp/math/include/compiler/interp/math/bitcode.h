/* The functions of loom_math.h as LLVM bitcode (version 19, no target, no target features, each always_inline and
 * linkonce_odr), for the code generator to link into what it generates. Embedded at build time. */
#ifndef LOOM_MATH_BITCODE_H
#define LOOM_MATH_BITCODE_H

#include <stddef.h>

extern const unsigned char loom_math_bitcode[];
extern const size_t loom_math_bitcode_size;

#endif
