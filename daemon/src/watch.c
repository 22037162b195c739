/* A descriptor of a process becomes readable when the process ends: no waiting for missed beats on the same host. Where
 * the kernel has none (before 5.3), or the process is of another host or user, beats alone tell. */
#include "common/buffer.h"
#include "daemon.h"
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct loom_death_watch {
    uv_poll_t poll;
    int fd;
    void (*died)(void *user);
    void *user;
} loom_death_watch;

static void on_closed(uv_handle_t *handle) {
    loom_death_watch *watch = handle->data;
    close(watch->fd);
    free(watch);
}

static void on_readable(uv_poll_t *poll, int status, int events) {
    loom_death_watch *watch = poll->data;
    (void)status;
    (void)events;
    uv_poll_stop(poll);
    watch->died(watch->user); /* destroys the watch */
}

struct loom_death_watch *loom_death_watch_create(uv_loop_t *loop, int64_t pid, void (*died)(void *user), void *user) {
    if (pid <= 1 || pid > INT32_MAX) return NULL;
    int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    if (fd < 0) return NULL;
    loom_death_watch *watch = loom_xcalloc(1, sizeof *watch);
    *watch = (loom_death_watch){.fd = fd, .died = died, .user = user};
    if (uv_poll_init(loop, &watch->poll, fd) < 0) {
        close(fd);
        free(watch);
        return NULL;
    }
    watch->poll.data = watch;
    uv_poll_start(&watch->poll, UV_READABLE, on_readable);
    return watch;
}

void loom_death_watch_kill(struct loom_death_watch *watch) {
    if (watch) syscall(SYS_pidfd_send_signal, watch->fd, SIGKILL, NULL, 0);
}

void loom_death_watch_destroy(struct loom_death_watch *watch) {
    if (watch) uv_close((uv_handle_t *)&watch->poll, on_closed);
}
