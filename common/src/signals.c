#include "common/signals.h"
#include <pthread.h>

const int loom_stop_signals[LOOM_STOP_SIGNALS] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU};

bool loom_signal_is_ignored(int number) {
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN;
}

void loom_signals_hold(sigset_t *before) {
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < LOOM_STOP_SIGNALS; i++) sigaddset(&set, loom_stop_signals[i]);
    pthread_sigmask(SIG_BLOCK, &set, before);
}

void loom_signals_restore(const sigset_t *before) {
    pthread_sigmask(SIG_SETMASK, before, NULL);
}
