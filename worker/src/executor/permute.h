/* The two ways of a PERMUTE action. Private to executor/. */
#ifndef LOOM_WORKER_PERMUTE_H
#define LOOM_WORKER_PERMUTE_H

#include "executor/engine.h"

/* Whether copies of the target pay (permute_small.c). Depends on extents and plan alone. */
bool loom_engine_permute_is_small(const loom_engine *engine, const loom_plan_action *action, int64_t units);
LOOM_MUST_USE loom_status *loom_engine_permute_small(loom_engine *engine, const loom_plan_action *action,
                                                     int64_t units);
uint64_t loom_engine_permute_small_bytes(loom_engine *engine, const loom_plan_action *action, int64_t units);

#endif
