/* What the text forms of core and of lifted IR share. Private to compiler/ir. */
#ifndef LOOM_IR_PRINT_H
#define LOOM_IR_PRINT_H

#include "common/dtype.h"
#include <stdio.h>

/* With as many digits as tell it from every other value of its type. */
void loom_print_scalar(FILE *to, loom_dtype type, loom_scalar s);

#endif
