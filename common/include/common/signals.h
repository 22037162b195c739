/* The signals that ask a command to end: SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2 (batch systems send them
 * before their limit) and SIGXCPU. Commands treat them alike; one that is ignored when the process starts, as SIGHUP
 * under nohup, stays so. SIGPIPE and SIGXFSZ are errors of a write, not signals, where a program ignores them.
 * Threads: any. */
#ifndef LOOM_COMMON_SIGNALS_H
#define LOOM_COMMON_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#define LOOM_STOP_SIGNALS 7
extern const int loom_stop_signals[LOOM_STOP_SIGNALS];

bool loom_signal_is_ignored(int number);
/* While held, they wait in this thread. Holds nest in the sense that *before is restored. */
void loom_signals_hold(sigset_t *before);
void loom_signals_restore(const sigset_t *before);

#endif
