/* Rows of a file that belong to one segment, as runs of adjacent rows in the order of the file. Threads: one at a time;
 * immutable once built. */
#ifndef LOOM_IO_RUNS_H
#define LOOM_IO_RUNS_H

#include "common/status.h"

typedef struct loom_run {
    int64_t row, count;
} loom_run;

typedef struct loom_runs {
    loom_run *at;
    int64_t *starts; /* element of the segment at which run i begins */
    int64_t n, capacity, n_rows;
} loom_runs;

/* Of n ascending numbers (n >= 1) the last that is `at` or less; the first where none is. */
int64_t loom_last_begin(const int64_t *starts, int64_t n, int64_t at);
/* Appends one row, or `count` adjacent ones; rows come in ascending order. */
LOOM_MUST_USE loom_status *loom_runs_add(loom_runs *runs, int64_t row, int64_t count);
/* Elements [first, first + count) of the segment as runs of the file; malloc'ed. */
LOOM_MUST_USE loom_status *loom_runs_cut(const loom_runs *runs, int64_t first, int64_t count, loom_run **cut,
                                         int64_t *n);
void loom_runs_free(loom_runs *runs);

#endif
