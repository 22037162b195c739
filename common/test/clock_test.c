#include "common/clock.h"
#include "loom_test.h"
#include <time.h>

LOOM_TEST(clock, monotonic_goes_forward) {
    double before = loom_seconds();
    struct timespec nap = {0, 2000000};
    nanosleep(&nap, NULL);
    double passed = loom_seconds() - before;
    LOOM_CHECK(passed >= 0.002 && passed < 60);
}

LOOM_TEST(clock, wall_is_since_1970) {
    LOOM_CHECK_NEAR(loom_wall_seconds(), (double)time(NULL), 2);
}
