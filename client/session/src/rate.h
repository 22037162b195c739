/* How fast a traversal goes, from what is told of it now and then. Its count grows in jumps, a block at a time, so only
 * the jumps are points of the line; between two of them the estimate counts down. Threads: one at a time. */
#ifndef LOOM_SESSION_RATE_H
#define LOOM_SESSION_RATE_H

#include <stddef.h>
#include <stdint.h>

#define LOOM_RATE_POINTS 24

typedef struct loom_rate {
    struct {
        double at;
        int64_t elements;
    } points[LOOM_RATE_POINTS]; /* the first: when the traversal was first told of */
    size_t n;
} loom_rate;

/* A new traversal: nothing is known. */
void loom_rate_reset(loom_rate *rate);
/* `elements` are done at time `now`, in seconds; fewer than before are those of a new traversal. */
void loom_rate_add(loom_rate *rate, double now, int64_t elements);
/* Elements a second; 0: not known, as before the first jump, or when the next one is long overdue. */
double loom_rate_per_second(const loom_rate *rate, double now);
/* Until `total` are done; negative: not known. */
double loom_rate_seconds_left(const loom_rate *rate, double now, int64_t total);

#endif
