/* Windows as elements come: what is open, what is counted, and keys that are too far off. */
#include "compiler/ir/windows.h"
#include "compiler/ir/core.h"
#include "loom_test.h"

static int64_t taken(loom_windows *w, const int64_t *keys, int64_t n) {
    int64_t open;
    LOOM_OK(loom_windows_take(w, keys, n, &open));
    return open;
}
#define TAKE(w, ...)                                                                                                   \
    taken((w), (const int64_t[]){__VA_ARGS__}, (int64_t)(sizeof(const int64_t[]){__VA_ARGS__} / sizeof(int64_t)))

LOOM_TEST(ir_windows, close_by_lag) {
    loom_windows w = loom_windows_begin(2);
    LOOM_CHECK_EQ_INT(loom_windows_total(&w), 0);
    LOOM_CHECK_EQ_INT(TAKE(&w, 0), 0);
    LOOM_CHECK_EQ_INT(TAKE(&w, 2), 0);
    LOOM_CHECK_EQ_INT(loom_windows_closed(&w), 0); /* 2 is not beyond 0 by more than 2 */
    LOOM_CHECK_EQ_INT(TAKE(&w, 5), 0);
    LOOM_CHECK_EQ_INT(loom_windows_closed(&w), 3);
    LOOM_CHECK_EQ_INT(TAKE(&w, 4), 3);
    LOOM_CHECK_EQ_INT(loom_windows_closed(&w), 3); /* the newest key stands */
    LOOM_CHECK_EQ_INT(loom_windows_total(&w), 6);
}

LOOM_TEST(ir_windows, each_element_is_counted_once) {
    loom_windows w = loom_windows_begin(0);
    taken(&w, NULL, 0);      /* outside */
    TAKE(&w, -1, INT64_MIN); /* outside */
    TAKE(&w, 7, 1);          /* its own key closes nothing to it */
    TAKE(&w, 7, 1);          /* in 7, late for 1 */
    TAKE(&w, 6, 6, -3);      /* late */
    TAKE(&w, -3, 8);         /* in 8 */
    LOOM_CHECK_EQ_INT(w.counts.received, 6);
    LOOM_CHECK_EQ_INT(w.counts.used, 3);
    LOOM_CHECK_EQ_INT(w.counts.partly, 1);
    LOOM_CHECK_EQ_INT(w.counts.late, 1);
    LOOM_CHECK_EQ_INT(w.counts.outside, 2);
    loom_window_counts sum = w.counts;
    loom_window_counts_add(&sum, &w.counts);
    LOOM_CHECK(sum.received == 12 && sum.used == 6 && sum.partly == 2 && sum.late == 2 && sum.outside == 4);
}

LOOM_TEST(ir_windows, a_key_too_far_off_changes_nothing) {
    loom_windows w = loom_windows_begin(0);
    int64_t open, first = LOOM_MAX_KEY_STEP, far[] = {3, INT64_MAX};
    LOOM_FAILS(loom_windows_take(&w, &first, 1, &open), LOOM_E_RUNTIME);
    TAKE(&w, LOOM_MAX_KEY_STEP - 1);
    TAKE(&w, 2 * LOOM_MAX_KEY_STEP - 1);
    LOOM_FAILS(loom_windows_take(&w, far, 2, &open), LOOM_E_RUNTIME);
    LOOM_CHECK_EQ_INT(w.newest, 2 * LOOM_MAX_KEY_STEP - 1);
    LOOM_CHECK_EQ_INT(w.counts.received, 2);
}

LOOM_TEST(ir_windows, no_lag_is_too_long) {
    loom_windows w = loom_windows_begin(LOOM_MAX_LAG);
    for (int64_t k = 0; k < 8; k++) TAKE(&w, k * LOOM_MAX_KEY_STEP);
    LOOM_CHECK_EQ_INT(loom_windows_closed(&w), 0);
    LOOM_CHECK_EQ_INT(TAKE(&w, 0), 0);
}
