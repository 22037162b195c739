#include "rate.h"
#include <string.h>

/* Less time between the first point and the last tells nothing. */
#define SHORTEST 0.2
/* A jump that is later than this many usual ones, and this many seconds, is not to be counted on. */
#define OVERDUE         2.5
#define OVERDUE_SECONDS 2.0

void loom_rate_reset(loom_rate *rate) {
    rate->n = 0;
}

void loom_rate_add(loom_rate *rate, double now, int64_t elements) {
    if (rate->n && elements < rate->points[rate->n - 1].elements) rate->n = 0;
    if (rate->n && elements == rate->points[rate->n - 1].elements) return;
    if (rate->n == LOOM_RATE_POINTS) {
        memmove(rate->points, rate->points + 1, (LOOM_RATE_POINTS - 1) * sizeof *rate->points);
        rate->n--;
    }
    rate->points[rate->n].at = now;
    rate->points[rate->n++].elements = elements;
}

double loom_rate_per_second(const loom_rate *rate, double now) {
    if (rate->n < 2) return 0;
    double first = rate->points[0].at, last = rate->points[rate->n - 1].at, seconds = last - first;
    double patience = OVERDUE * seconds / (double)(rate->n - 1);
    if (patience < OVERDUE_SECONDS) patience = OVERDUE_SECONDS;
    if (seconds < SHORTEST || now - last > patience) return 0;
    return (double)(rate->points[rate->n - 1].elements - rate->points[0].elements) / seconds;
}

double loom_rate_seconds_left(const loom_rate *rate, double now, int64_t total) {
    double speed = loom_rate_per_second(rate, now);
    if (speed <= 0) return -1;
    return (double)(total - rate->points[rate->n - 1].elements) / speed - (now - rate->points[rate->n - 1].at);
}
