#ifndef LOOM_COMMON_CLOCK_H
#define LOOM_COMMON_CLOCK_H
/* Monotonic seconds since an arbitrary point; wall clock in seconds since 1970. */
double loom_seconds(void);
double loom_wall_seconds(void);
#endif
