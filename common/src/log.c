#include "common/log.h"
#include "common/buffer.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const level_names[] = {"error", "warn", "info", "debug"};
static const char *_Atomic program_name;
static atomic_int current_level = LOOM_LOG_WARN;

/* The wrong way round for input and output: reading or printing is an error, as it would be if they were closed. */
static void open_standard_streams(void) {
    static const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)!open("/dev/null", modes[fd]);
    }
}

void loom_log_init(const char *program) {
    open_standard_streams();
    atomic_store(&program_name, program);
    const char *wanted = getenv("GRIDLOOM_LOG");
    for (int i = 0; wanted && i <= LOOM_LOG_DEBUG; i++) {
        if (strcmp(wanted, level_names[i]) == 0) atomic_store(&current_level, i);
    }
}

void loom_log_set_level(loom_level level) {
    atomic_store(&current_level, (int)level);
}

bool loom_log_enabled(loom_level level) {
    return (int)level <= atomic_load_explicit(&current_level, memory_order_relaxed);
}

static void write_all(const char *at, size_t n) {
    while (n) {
        ssize_t done = write(STDERR_FILENO, at, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return; /* nowhere left to say it */
        at += done;
        n -= (size_t)done;
    }
}

/* One write per line, so that lines of several processes and threads do not mix. */
static void put_line(loom_level level, const char *message) {
    struct timespec now;
    struct tm t;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &t);
    const char *program = atomic_load(&program_name);
    char *line = NULL;
    int n = asprintf(&line, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ %s[%d] %s: %s\n", t.tm_year + 1900, t.tm_mon + 1,
                     t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, now.tv_nsec / 1000000, program ? program : "gridloom",
                     (int)getpid(), level_names[level], message);
    if (n < 0) return;
    /* "One line a message": a message that brings line ends of its own (from outside, perhaps) has them replaced. */
    for (int i = 0; i < n - 1; i++) {
        if (line[i] == '\n' || line[i] == '\r') line[i] = ' ';
    }
    loom_printable(line);
    write_all(line, (size_t)n);
    free(line);
}

void loom_log(loom_level level, const char *format, ...) {
    if (!loom_log_enabled(level)) return;
    int saved = errno;
    char *message = NULL;
    va_list arguments;
    va_start(arguments, format);
    int n = vasprintf(&message, format, arguments);
    va_end(arguments);
    if (n >= 0) {
        put_line(level, message);
        free(message);
    }
    errno = saved;
}

void loom_log_status(loom_level level, loom_status *status) {
    if (status && loom_log_enabled(level)) {
        char *text = loom_status_text(status);
        loom_log(level, "%s", text ? text : loom_status_message(status));
        free(text);
    }
    loom_status_free(status);
}
