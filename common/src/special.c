#include "special.h"
#include "common/signals.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

/* How long a signal may go unnoticed. */
#define PATIENCE_MS 100

/* The signal is taken: that it came is told by the status of what it ended. One that is ignored waits too, held. */
static bool is_asked_to_end(void) {
    static atomic_bool asked;
    const struct timespec now = {0};
    sigset_t wanted;
    sigemptyset(&wanted);
    for (int i = 0; i < LOOM_STOP_SIGNALS; i++) {
        if (!loom_signal_is_ignored(loom_stop_signals[i])) sigaddset(&wanted, loom_stop_signals[i]);
    }
    if (sigtimedwait(&wanted, NULL, &now) > 0) atomic_store(&asked, true);
    return atomic_load(&asked);
}

/* Until there may be room, or no reason to wait any more: then false. */
static bool wait_for(int fd) {
    struct pollfd p = {fd, POLLOUT, 0};
    poll(&p, fd >= 0, PATIENCE_MS);
    if (!is_asked_to_end()) return true;
    errno = ECANCELED;
    return false;
}

static int fd_of(const void *cookie) {
    return (int)(intptr_t)cookie;
}

/* stdio takes what is not written whole for an error. */
static ssize_t write_all(void *cookie, const char *data, size_t length) {
    size_t done = 0;
    while (done < length) {
        ssize_t n = write(fd_of(cookie), data + done, length - done);
        if (n >= 0) {
            done += (size_t)n;
        } else if (errno != EINTR && (errno != EAGAIN || !wait_for(fd_of(cookie)))) {
            return 0;
        }
    }
    return (ssize_t)done;
}

static int close_fd(void *cookie) {
    return close(fd_of(cookie));
}

FILE *loom_special_open(const char *path, bool is_pipe) {
    int fd;
    /* By name, so that not waiting is of this open file alone: /dev/stdout too is opened anew, not shared. A pipe that
     * nobody has open to read is there later, perhaps. */
    while ((fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) < 0) {
        if (errno != EINTR && (errno != ENXIO || !is_pipe || !wait_for(-1))) return NULL;
    }
    cookie_io_functions_t functions = {.write = write_all, .close = close_fd};
    FILE *file = fopencookie((void *)(intptr_t)fd, "w", functions);
    if (!file) {
        int why = errno;
        close(fd);
        errno = why;
    }
    return file;
}
