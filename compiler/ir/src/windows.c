#include "compiler/ir/windows.h"
#include "compiler/ir/core.h"
#include <inttypes.h>

loom_status *loom_windows_take(loom_windows *w, const int64_t *keys, int64_t n, int64_t *open) {
    int64_t closed = loom_windows_closed(w), newest = w->newest;
    bool in = false, late = false;
    for (int64_t i = 0; i < n; i++) {
        in = in || keys[i] >= closed;
        late = late || (keys[i] >= 0 && keys[i] < closed);
        if (keys[i] > newest) newest = keys[i];
    }
    if (newest > w->newest && (uint64_t)newest - (uint64_t)w->newest > (uint64_t)LOOM_MAX_KEY_STEP) {
        char before[64] = "no key has come before";
        if (w->newest >= 0) snprintf(before, sizeof before, "the greatest key before it is %" PRId64, w->newest);
        return loom_status_note(
            loom_error(LOOM_E_RUNTIME,
                       "group_seq forever: element %" PRId64 " has the key %" PRId64 ", and %s; the limit is %" PRId64
                       " groups more",
                       w->counts.received, newest, before, LOOM_MAX_KEY_STEP),
            "hint: groups are numbered from 0, and empty ones come out too: subtract where the first begins; leave out "
            "elements whose keys are damaged with filter_seq");
    }
    w->newest = newest;
    w->counts.received++;
    w->counts.used += in;
    w->counts.partly += in && late;
    w->counts.late += !in && late;
    w->counts.outside += !in && !late;
    *open = closed;
    return NULL;
}

void loom_window_counts_add(loom_window_counts *sum, const loom_window_counts *more) {
    sum->received += more->received;
    sum->used += more->used;
    sum->partly += more->partly;
    sum->late += more->late;
    sum->outside += more->outside;
}
