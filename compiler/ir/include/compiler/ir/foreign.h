/* Functions that a program declares `foreign`: the system has a version of its own, and the body in the program is the
 * meaning, which the interpreter runs on the program as it was written. loom_simplify puts an operation of the core in
 * place of a call.
 *
 * X(NAME, text, types, op, aux, shape, elements): op and aux, the operation; shape, the argument whose shape the result
 * has, whatever the elements of the arguments; elements: 1 if the result's elements depend on those of the arguments.
 */
#ifndef LOOM_IR_FOREIGN_H
#define LOOM_IR_FOREIGN_H

#include "compiler/ir/core.h"

#define LOOM_FOREIGN_FUNCTIONS(X) X(DFT, "dft", "[n]c64 -> [n]c64, or [n]c128 -> [n]c128", FFT, 0, 0, 1)

typedef enum loom_foreign {
    LOOM_FOREIGN_NONE, /* the body is all there is */
#define X(name, text, types, op, aux, shape, elements) LOOM_FOREIGN_##name,
    LOOM_FOREIGN_FUNCTIONS(X)
#undef X
    LOOM_FOREIGNS
} loom_foreign;

typedef struct loom_foreign_info {
    const char *name, *types;
    loom_op op;
    uint32_t aux;
    uint32_t shape_of; /* a parameter */
    bool elements_depend;
} loom_foreign_info;
extern const loom_foreign_info loom_foreign_table[LOOM_FOREIGNS];

/* LOOM_FOREIGN_NONE: not known. */
loom_foreign loom_foreign_find(const char *name);
/* Are these the types of the system's version? */
bool loom_foreign_fits(const loom_program *p, loom_foreign foreign, uint32_t n_params, const loom_type_id *params,
                       loom_type_id result);

#endif
