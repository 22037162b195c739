/* Schedule: cuts the operations into regions (maximal runs diagonal in the chunk axis) and chooses flat or strip for
 * each, by cost; marks values that live in a strip's scratch alone. What lifted->force says of schedules, tests decide.
 */
#ifndef LOOM_COMPILER_SCHEDULE_SCHEDULE_H
#define LOOM_COMPILER_SCHEDULE_SCHEDULE_H
#include "compiler/ir/lifted.h"
LOOM_MUST_USE loom_status *loom_schedule(loom_lifted *lifted);
#endif
