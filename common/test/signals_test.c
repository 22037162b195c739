#include "common/signals.h"
#include "loom_test.h"
#include <unistd.h>

static volatile sig_atomic_t came;

static void on_signal(int number) {
    came = number;
}

LOOM_TEST(signals, wait_while_held) {
    for (int i = 0; i < LOOM_STOP_SIGNALS; i++) {
        sigset_t first, second;
        LOOM_CHECK(!loom_signal_is_ignored(loom_stop_signals[i]));
        signal(loom_stop_signals[i], on_signal);
        came = 0;
        loom_signals_hold(&first);
        loom_signals_hold(&second);
        LOOM_CHECK_EQ_INT(kill(getpid(), loom_stop_signals[i]), 0);
        loom_signals_restore(&second);
        LOOM_CHECK_EQ_INT(came, 0);
        loom_signals_restore(&first);
        LOOM_CHECK_EQ_INT(came, loom_stop_signals[i]);
        signal(loom_stop_signals[i], SIG_IGN);
        LOOM_CHECK(loom_signal_is_ignored(loom_stop_signals[i]));
        signal(loom_stop_signals[i], SIG_DFL);
    }
}
