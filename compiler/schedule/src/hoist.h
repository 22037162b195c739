/* Transforms of gathered rows, made once for the rows. Private; rules in hoist.c. */
#ifndef LOOM_SCHEDULE_HOIST_H
#define LOOM_SCHEDULE_HOIST_H

#include "compiler/ir/lifted.h"

void loom_schedule_hoist(loom_lifted *l, loom_arena *scratch);
/* Makes these the operations of l: what stands inside a LOOP or IF right before it, in order. Renumbers what refers to
 * positions. */
void loom_schedule_set_ops(loom_lifted *l, const loom_lop *ops, uint32_t n);

#endif
