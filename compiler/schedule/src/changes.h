/* What an operation changes of values that it otherwise leaves as they are. Private; rules in changes.c. */
#ifndef LOOM_SCHEDULE_CHANGES_H
#define LOOM_SCHEDULE_CHANGES_H

#include "compiler/ir/lifted.h"

/* Points whose indices along some axes are given. */
typedef struct loom_change {
    uint64_t fixed;             /* positions of these axes */
    const loom_lexpr_id *index; /* by position: the index, in the operation's body */
    bool *of;                   /* per result: whether it is another than `base` there */
} loom_change;

typedef struct loom_changes {
    const loom_lifted *l;
    loom_arena *arena;
    const loom_lop *op;
    const loom_lvalue_id *base; /* per result: what it is at all other points */
    LOOM_VEC(loom_change) places;
    bool traps;       /* the body has what may fail, and fails alike at all points */
    bool traps_there; /* and what points of places alone look at */
    const uint8_t *class;
    /* Per expression of the body, which others share: the result + 1 for which it has been found to keep what it is
     * of, and the number of the condition that has asked it. */
    uint32_t *kept, *asked, n_asked;
} loom_changes;

/* Target index d of an operation that finds_changes knows: a COMPUTE's own, or what the PERMUTE's body gives. */
static inline bool loom_schedule_is_put(const loom_lop *op) {
    return op->kind == LOOM_LO_PERMUTE;
}

/* Whether all that the COMPUTE makes, or the PERMUTE puts, differs from values that are there at some such points
 * alone, and its body may be evaluated at these, in whatever order and number, if there are points at all. */
bool loom_schedule_finds_changes(loom_changes *c);

/* Whether the combine block is (a..., x...) -> x... */
bool loom_schedule_replaces(const loom_lifted *l, loom_lblock_id combine);
/* The block that does, for n results of the types of these values. */
loom_lblock_id loom_schedule_replacing(loom_lifted *l, loom_arena *scratch, uint32_t n, const loom_lvalue_id *values);
/* Equal as they are written. */
bool loom_schedule_same(const loom_lifted *l, loom_lexpr_id a, loom_lexpr_id b);
/* Found anywhere without failing: loads whose index may be outside get a default; `divides`: and what divides by 0
 * divides by 1. */
bool loom_schedule_is_simple(const loom_lifted *l, loom_lexpr_id id, uint32_t depth, bool divides);
/* A division of i64, which fails where the divisor is 0. */
bool loom_schedule_divides(const loom_lexpr *e);
/* Places are numbers of elements, by their numbers. */
#define DEEPEST_PLACE 12

/* Whether the expression of the body stands on an index of these positions. */
bool loom_schedule_depends_on(const loom_changes *c, loom_lexpr_id id, uint64_t positions);
/* The same of all positions that places fix, what stands in inner blocks too. */
bool loom_schedule_differs(const loom_changes *c, loom_lexpr_id id);
/* Whether it is a condition for what is looked at, and differs so. */
bool loom_schedule_is_condition(const loom_changes *c, loom_lexpr_id id);

#endif
