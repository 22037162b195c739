/* The table of foreign functions, and what types each has. */
#include "compiler/ir/foreign.h"
#include <string.h>

const loom_foreign_info loom_foreign_table[LOOM_FOREIGNS] = {
#define X(name, text, types, op, aux, shape, elements)                                                                 \
    [LOOM_FOREIGN_##name] = {text, types, LOOM_OP_##op, aux, shape, elements},
    LOOM_FOREIGN_FUNCTIONS(X)
#undef X
};

loom_foreign loom_foreign_find(const char *name) {
    for (uint32_t i = LOOM_FOREIGN_NONE + 1; i < LOOM_FOREIGNS; i++)
        if (strcmp(loom_foreign_table[i].name, name) == 0) return (loom_foreign)i;
    return LOOM_FOREIGN_NONE;
}

static bool is_array_of_complex(const loom_program *p, loom_type_id t) {
    if (p->types[t].kind != LOOM_T_ARRAY) return false;
    const loom_type *element = &p->types[p->types[t].element];
    return element->kind == LOOM_T_SCALAR && loom_dtype_is_complex(element->dtype);
}

bool loom_foreign_fits(const loom_program *p, loom_foreign foreign, uint32_t n_params, const loom_type_id *params,
                       loom_type_id result) {
    switch (foreign) {
    case LOOM_FOREIGN_DFT: return n_params == 1 && params[0] == result && is_array_of_complex(p, result);
    case LOOM_FOREIGN_NONE:
    case LOOM_FOREIGNS: break;
    }
    return false;
}
