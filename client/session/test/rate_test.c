#include "loom_test.h"
#include "rate.h"

LOOM_TEST(rate, nothing_is_known_before_the_first_jump) {
    loom_rate r = {0};
    LOOM_CHECK(loom_rate_seconds_left(&r, 0, 100) < 0);
    loom_rate_add(&r, 1, 0);
    loom_rate_add(&r, 3, 0);
    LOOM_CHECK_NEAR(loom_rate_per_second(&r, 3), 0, 0);
    LOOM_CHECK(loom_rate_seconds_left(&r, 3, 100) < 0);
    loom_rate_add(&r, 5, 10);
    LOOM_CHECK_NEAR(loom_rate_per_second(&r, 5), 2.5, 1e-12);
    LOOM_CHECK_NEAR(loom_rate_seconds_left(&r, 5, 100), 36, 1e-12);
}

LOOM_TEST(rate, counts_down_between_jumps) {
    loom_rate r = {0};
    double before = 1e9;
    for (int t = 0; t <= 400; t++) { /* four times a second; a block of 10 elements every five seconds */
        double now = t / 4.0;
        loom_rate_add(&r, now, t / 20 * 10);
        double left = loom_rate_seconds_left(&r, now, 200);
        if (t < 20) {
            LOOM_CHECK(left < 0);
        } else {
            LOOM_CHECK_NEAR(left, 100 - now, 1e-9);
            LOOM_CHECK(left < before);
            before = left;
        }
    }
}

LOOM_TEST(rate, two_blocks_at_nearly_the_same_time) {
    loom_rate r = {0};
    loom_rate_add(&r, 0, 0);
    loom_rate_add(&r, 10, 1);
    loom_rate_add(&r, 10.25, 2);
    LOOM_CHECK_NEAR(loom_rate_per_second(&r, 10.25), 2 / 10.25, 1e-12);
    LOOM_CHECK(loom_rate_per_second(&r, 20) > 0);
    LOOM_CHECK_NEAR(loom_rate_per_second(&r, 30), 0, 0); /* long overdue */
    LOOM_CHECK(loom_rate_seconds_left(&r, 30, 100) < 0);
}

LOOM_TEST(rate, of_the_last_jumps_of_this_traversal) {
    loom_rate r = {0};
    for (int t = 0; t <= 100; t++) loom_rate_add(&r, t, t < 50 ? t : 50 + 4 * (t - 50));
    LOOM_CHECK_NEAR(loom_rate_per_second(&r, 100), 4, 1e-12);
    loom_rate_add(&r, 101, 0); /* another traversal */
    LOOM_CHECK_NEAR(loom_rate_per_second(&r, 101), 0, 0);
    loom_rate_add(&r, 102, 5);
    LOOM_CHECK_NEAR(loom_rate_per_second(&r, 102), 5, 1e-12);
    loom_rate_reset(&r);
    LOOM_CHECK_NEAR(loom_rate_per_second(&r, 102), 0, 0);
}
