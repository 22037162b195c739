/* What a program keeps beside its public face: the table that interns types, and facts about each type that are cheap
 * to compute when it is made and would cost a walk (exponential for hostile types) later. Private to compiler/ir. */
#ifndef LOOM_IR_PROGRAM_IMPL_H
#define LOOM_IR_PROGRAM_IMPL_H

#include "compiler/ir/core.h"
#include "compiler/ir/prim.h"

/* All counts saturate at UINT32_MAX: a chain of 40 pairs has 2^40 leaves. */
typedef struct loom_type_facts {
    uint32_t nesting; /* types on the longest path down, 1 for a scalar */
    uint32_t leaves;  /* scalar leaves */
    uint32_t parts;   /* types in the tree, every occurrence counted */
    uint32_t levels;  /* most [] and seq levels above a leaf */
    bool has_seq;
} loom_type_facts;

typedef struct loom_program_impl {
    loom_program program; /* first, so that a pointer to one is a pointer to the other */
    loom_type_facts *facts;
    uint32_t cap_facts;
    uint32_t *slots; /* open addressing; type id + 1, or 0 */
    uint32_t n_slots;
} loom_program_impl;

static inline const loom_type_facts *loom_type_facts_of(const loom_program *p, loom_type_id type) {
    return &((const loom_program_impl *)(const void *)p)->facts[type];
}

/* Makes room for one more element of a growing table in the program's arena. */
#define LOOM_IR_RESERVE(p, table, count, cap, more)                                                                    \
    do {                                                                                                               \
        if ((p)->cap - (p)->count < (more))                                                                            \
            (p)->table = loom_ir_grow((p), (p)->table, (p)->count, &(p)->cap, (more), sizeof *(p)->table);             \
    } while (0)
void *loom_ir_grow(loom_program *p, const void *old, uint32_t count, uint32_t *cap, uint32_t more, size_t size);

#endif
