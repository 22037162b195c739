/* Blocks that stay after they have been folded, because the stream will be traversed again: then nobody need read and
 * send them a second time. They are messages as they came. What they take is lent of the executor's memory, a part of
 * it at most, and given up where that is wanted for something else; so this changes how long a job takes, never what it
 * gives or how much memory it may use.
 *
 * The first ones that came are kept, not the last: who reads the same again and again and has no room for all of it
 * gains most so.
 *
 * Threads: any, under the lock of the control, but for what takes it itself.
 */
#ifndef LOOM_WORKER_KEPT_H
#define LOOM_WORKER_KEPT_H

#include "control/control.h"

/* Of the executor's memory, at most this part is lent. */
#define LOOM_KEPT_SHARE 4

/* Elements [first, first + count) of the served streams of a run have come: values by stream, NULL for those that are
 * not served. They are kept if a later stage, or the same one again, will read them and there is room. */
void loom_kept_add(loom_control *c, const loom_work_run *run, int64_t first, int64_t count, loom_value *const *values);
/* How many elements there are from `first` on, of all served streams of the run, without a gap in one value. */
int64_t loom_kept_reach(const loom_control *c, const loom_work_run *run, int64_t first);
/* Those elements, at most as many as there are: references of their own into values[stream]. On an error some are NULL.
 */
void loom_kept_get(const loom_control *c, const loom_work_run *run, int64_t first, int64_t count, loom_value **values,
                   loom_status **status);
/* All of a job; takes the lock. */
void loom_kept_forget(loom_control *c, const loom_work_job *job);
/* For the executor: frees so many bytes, or all there are; takes the lock. */
void loom_kept_reclaim(void *control, uint64_t bytes);

#endif
