/* What operations of lifted IR read and which enclose which: facts that schedule and codegen share. */
#ifndef LOOM_COMPILER_SCHEDULE_READS_H
#define LOOM_COMPILER_SCHEDULE_READS_H

#include "compiler/ir/lifted.h"

/* Calls f for every value that an operation reads, loads of its blocks included; LOOP and IF: what they read
 * themselves, not what the operations inside them do. A value that is read several times is told several times. */
void loom_lifted_reads(const loom_lifted *l, loom_lop_id op, void (*f)(void *context, loom_lvalue_id value),
                       void *context);
/* The values that an axis stands on, made before whatever has it; how many. */
uint32_t loom_axis_needs(const loom_lifted *l, loom_axis_id axis, loom_lvalue_id needs[3]);
/* Per operation: the LOOP or IF in whose body it stands, or LOOM_NONE. In the given arena. */
loom_lop_id *loom_lifted_parents(const loom_lifted *l, loom_arena *arena);

#endif
