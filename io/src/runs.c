#include "runs.h"
#include <inttypes.h>
#include <stdlib.h>

loom_status *loom_runs_add(loom_runs *runs, int64_t row, int64_t count) {
    loom_run *last = runs->n ? &runs->at[runs->n - 1] : NULL;
    if (last && last->row + last->count == row) {
        last->count += count;
        runs->n_rows += count;
        return NULL;
    }
    if (runs->n == runs->capacity) {
        int64_t capacity = runs->capacity ? 2 * runs->capacity : 16;
        loom_run *at = realloc(runs->at, (size_t)capacity * sizeof *at);
        if (at) runs->at = at;
        int64_t *starts = realloc(runs->starts, (size_t)capacity * sizeof *starts);
        if (starts) runs->starts = starts;
        if (!at || !starts) return loom_error(LOOM_E_MEMORY, "no memory for a list of %" PRId64 " rows", capacity);
        runs->capacity = capacity;
    }
    runs->at[runs->n] = (loom_run){row, count};
    runs->starts[runs->n++] = runs->n_rows;
    runs->n_rows += count;
    return NULL;
}

int64_t loom_last_begin(const int64_t *starts, int64_t n, int64_t at) {
    int64_t low = 0, high = n;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (starts[middle] <= at) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

loom_status *loom_runs_cut(const loom_runs *runs, int64_t first, int64_t count, loom_run **cut, int64_t *n) {
    int64_t low = loom_last_begin(runs->starts, runs->n, first);
    int64_t end = low;
    while (end < runs->n && runs->starts[end] < first + count) end++;
    loom_run *made = malloc((size_t)(end - low + 1) * sizeof *made);
    if (!made) return loom_error(LOOM_E_MEMORY, "out of memory");
    int64_t filled = 0;
    for (int64_t r = low; r < end && count > 0; r++) {
        int64_t skip = first - runs->starts[r], left = runs->at[r].count - skip;
        int64_t take = left < count ? left : count;
        made[filled++] = (loom_run){runs->at[r].row + skip, take};
        first += take;
        count -= take;
    }
    *cut = made;
    *n = filled;
    return NULL;
}

void loom_runs_free(loom_runs *runs) {
    free(runs->at);
    free(runs->starts);
    *runs = (loom_runs){0};
}
