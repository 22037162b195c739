/* What a task has made: objects in files, or values that stay in this worker's memory until a stage reads them here.
 *
 * A value may stay where the daemon said so, and stays while the worker has nothing else to do than to read it: before
 * any other task it is written into a file, which takes its place under the same number, also in runs that have begun
 * to read it. So what stays never stands in anybody's way; at worst it is written a little later than it would have
 * been.
 *
 * Threads: the working thread's.
 */
#ifndef LOOM_WORKER_RESULTS_H
#define LOOM_WORKER_RESULTS_H

#include "common/arena.h"
#include "control/control.h"

/* What became of a task, on its way into a message. */
typedef struct loom_outcome {
    loom_arena *arena;
    Wire__TaskDone done;
    LOOM_VEC(Wire__TaskPart *) parts;
    LOOM_VEC(Wire__BlockRun *) blocks;
    bool kept; /* a value stays: what else the run has makes room for its reader */
    loom_status *status;
} loom_outcome;

/* The value as an object of the answer: with blocks [first, first + n) inside. */
LOOM_MUST_USE loom_status *loom_results_add(loom_control *c, loom_outcome *o, uint32_t output, int64_t first, int64_t n,
                                            loom_value *value);
/* The same of what is as long as a stream: in a folder that is not memory, where there is one. */
LOOM_MUST_USE loom_status *loom_results_add_on_disk(loom_control *c, loom_outcome *o, uint32_t output, int64_t first,
                                                    int64_t n, loom_value *value);
/* What `values` are one after another. */
LOOM_MUST_USE loom_status *loom_results_join(loom_control *c, loom_outcome *o, uint32_t output, int64_t first,
                                             int64_t n, loom_value *const *values, size_t n_values);
/* A value that may stay: it does if it is large enough to be worth it, else it is written. */
LOOM_MUST_USE loom_status *loom_results_keep(loom_control *c, loom_outcome *o, const loom_work_job *job,
                                             uint32_t output, int64_t first, int64_t n, loom_value *value);
/* Nobody will be told of the parts. */
void loom_results_take_back(loom_control *c, loom_outcome *o);

bool loom_is_input(const loom_work_run *run, uint64_t resident);
bool loom_inputs_stay(loom_control *c, const loom_work_run *run); /* one is still in memory */
LOOM_MUST_USE loom_status *loom_input_open(loom_control *c, const loom_work_input *input, loom_value **value);
/* Values that stay go into files: those that are inputs of `run`, or those that are not. Whether there was one. Where
 * that fails, the error is its reader's. */
bool loom_residents_write(loom_control *c, const loom_work_run *run, bool inputs);
bool loom_residents_read(loom_control *c, const loom_work_run *run);   /* the run has: they go; whether there was one */
void loom_residents_forget(loom_control *c, const loom_work_job *job); /* all of a job */

#endif
