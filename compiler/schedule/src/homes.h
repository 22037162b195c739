/* Rows that are put into a state are made there. Private; rules in homes.c. */
#ifndef LOOM_SCHEDULE_HOMES_H
#define LOOM_SCHEDULE_HOMES_H

#include "compiler/ir/lifted.h"

void loom_schedule_homes(loom_lifted *l, loom_arena *scratch);

#endif
