/* Order of operations: what does not depend on the chunk first, then runs of operations diagonal in the chunk. Private.
 */
#ifndef LOOM_SCHEDULE_ORDER_H
#define LOOM_SCHEDULE_ORDER_H

#include "compiler/ir/lifted.h"

/* Puts the operations in order, renumbers them, and fills l->regions: maximal runs, all FLAT so far. */
void loom_schedule_order(loom_lifted *l, loom_arena *scratch);
/* Chunk axis first, and nothing reduced, scanned or permuted along it. */
bool loom_schedule_diagonal(const loom_lifted *l, loom_lop_id op);

#endif
