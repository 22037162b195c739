/* One slice of an outer axis at a time. Private; rules in slices.c. */
#ifndef LOOM_SCHEDULE_SLICES_H
#define LOOM_SCHEDULE_SLICES_H

#include "compiler/ir/lifted.h"

/* Rewrites groups of operations of an array stage that share an outer axis into loops over it. `always`: also where it
 * does not pay. */
void loom_schedule_slices(loom_lifted *l, loom_arena *scratch, bool always);

#endif
