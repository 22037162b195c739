/* The groups of `group_seq forever`, as elements come: which are closed, and what became of each element. One rule for
 * the interpreter, which has all elements at once, and for who runs an endless sequence.
 *
 * The newest key is the greatest that has come. A group is closed once it is less than the newest key by more than the
 * lag, and at the end of the sequence; groups 0 up to the newest key come out, empty ones too. An element belongs to
 * those of its keys that were open before it came: its own keys close no group to it. Negative keys count for nothing.
 * Threads: none of its own. Cost: linear in the keys.
 */
#ifndef LOOM_COMPILER_IR_WINDOWS_H
#define LOOM_COMPILER_IR_WINDOWS_H

#include "common/status.h"
#include <stdint.h>

/* received = used + late + outside. */
typedef struct loom_window_counts {
    int64_t received;
    int64_t used;    /* in a group at least */
    int64_t partly;  /* of these: too late for other groups of theirs */
    int64_t late;    /* too late for all of its groups */
    int64_t outside; /* without a key that is not negative */
} loom_window_counts;

typedef struct loom_windows {
    int64_t lag;
    int64_t newest; /* -1: no key has come */
    loom_window_counts counts;
} loom_windows;

static inline loom_windows loom_windows_begin(int64_t lag) {
    return (loom_windows){.lag = lag, .newest = -1};
}
/* Groups below are closed. */
static inline int64_t loom_windows_closed(const loom_windows *w) {
    return w->newest > w->lag ? w->newest - w->lag : 0;
}
/* How many groups there are if nothing more comes. */
static inline int64_t loom_windows_total(const loom_windows *w) {
    return w->newest + 1;
}
/* The next element. It belongs to groups of `keys` that are *open or greater. A key that is greater than the newest one
 * by more than LOOM_MAX_KEY_STEP is an error, with nothing changed. */
LOOM_MUST_USE loom_status *loom_windows_take(loom_windows *w, const int64_t *keys, int64_t n, int64_t *open);
void loom_window_counts_add(loom_window_counts *sum, const loom_window_counts *more);

#endif
