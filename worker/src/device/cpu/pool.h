/* Thread pool: pinned threads and a parallel loop over ranges.
 *
 * The calling thread works as thread 0; threads 1 .. n-1 belong to the pool. Where as many threads are asked for as
 * there are usable processors each pool thread is pinned to one; with fewer the scheduler places them, because several
 * workers on one machine would otherwise sit on the same processors.
 *
 * Threads: one loop at a time; the bodies of a loop run at once on disjoint ranges. What loop bodies wrote is visible
 * to the caller when loom_pool_for returns, and what the caller wrote before to them.
 */
#ifndef LOOM_WORKER_DEVICE_CPU_POOL_H
#define LOOM_WORKER_DEVICE_CPU_POOL_H

#include "common/status.h"
#include <stdatomic.h>
#include <stdbool.h>

typedef struct loom_pool loom_pool;

/* threads: 0 for all usable processors. */
LOOM_MUST_USE loom_status *loom_pool_create(int threads, loom_pool **pool);
void loom_pool_destroy(loom_pool *pool); /* NULL is fine; no loop may run */
int loom_pool_threads(const loom_pool *pool);

/* Body of a loop: handles [from, to) on thread number `thread`. */
typedef void (*loom_pool_body)(void *context, int thread, int64_t from, int64_t to);

/* Runs body over [0, n) in ranges of `grain` (the last may be shorter), each taken by the next free thread. Range k is
 * always [k grain, (k + 1) grain). No new range is begun once *stop is true (NULL: never). Returns when all begun
 * ranges are done. A loop of one range runs on the caller without waking anybody. */
void loom_pool_for(loom_pool *pool, int64_t n, int64_t grain, const atomic_bool *stop, loom_pool_body body,
                   void *context);

#endif
