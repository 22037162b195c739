#include "common/clock.h"
#include <time.h>

static double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double loom_seconds(void) {
    return seconds_of(CLOCK_MONOTONIC);
}

double loom_wall_seconds(void) {
    return seconds_of(CLOCK_REALTIME);
}
