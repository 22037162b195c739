/* The bitcode as bytes of the program. */
#include "compiler/interp/math/bitcode.h"

__asm__(".section .rodata\n"
        ".global loom_math_bitcode\n"
        ".balign 16\n"
        "loom_math_bitcode:\n"
        ".incbin \"" LOOM_MATH_BITCODE_FILE "\"\n"
        ".global loom_math_bitcode_end\n"
        "loom_math_bitcode_end:\n"
        ".balign 8\n"
        ".global loom_math_bitcode_size\n"
        "loom_math_bitcode_size:\n"
        ".quad loom_math_bitcode_end - loom_math_bitcode\n"
        ".text\n");
