/* States of loops of which a turn changes few elements. Private; rules in updates.c. */
#ifndef LOOM_SCHEDULE_UPDATES_H
#define LOOM_SCHEDULE_UPDATES_H

#include "compiler/ir/lifted.h"

void loom_schedule_updates(loom_lifted *l, loom_arena *scratch);

#endif
