#include "common/machine.h"
#include "common/buffer.h"
#include "common/file.h"
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Files of /sys/fs/cgroup hold one line of numbers. */
#define CGROUP_FILE_BYTES 4096
/* Of a MeasurementSet some twenty tables are open at a time, and the daemon has a few files for each process. */
#define LEAST_FILES  64
#define ENOUGH_FILES 1024
/* Libraries, threads' stacks, and some room to work in. */
#define LEAST_ADDRESS_SPACE ((uint64_t)384 << 20)

static char *read_small(const char *path) {
    char *text;
    size_t length;
    loom_status *status = loom_file_read(path, CGROUP_FILE_BYTES, &text, &length);
    if (status) {
        loom_status_free(status);
        return NULL;
    }
    return text;
}

char *loom_machine_group(const char *name) {
    char *text = NULL;
    char *self = read_small("/proc/self/cgroup");
    char *line = self ? strstr(self, "0::/") : NULL;
    if (line) {
        char *group = line + strlen("0::");
        group[strcspn(group, "\n")] = 0;
        char *path = loom_xprintf("/sys/fs/cgroup%s/%s", group, name);
        text = read_small(path);
        free(path);
    }
    free(self);
    if (text) return text;
    char *path = loom_xprintf("/sys/fs/cgroup/%s", name);
    text = read_small(path);
    free(path);
    return text;
}

uint64_t loom_machine_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : (uint64_t)1 << 30;
    char *text = loom_machine_group("memory.max");
    unsigned long long limit;
    if (text && sscanf(text, "%llu", &limit) == 1 && limit < bytes) bytes = limit;
    free(text);
    return bytes;
}

uint64_t loom_machine_worker_memory(unsigned workers) {
    return loom_machine_memory() / 4 * 3 / (workers ? workers : 1);
}

uint64_t loom_machine_address_space(void) {
    struct rlimit r;
    return getrlimit(RLIMIT_AS, &r) == 0 && r.rlim_cur != RLIM_INFINITY ? (uint64_t)r.rlim_cur : 0;
}

loom_status *loom_machine_check_limits(void) {
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < ENOUGH_FILES && r.rlim_cur < r.rlim_max) {
        r.rlim_cur = r.rlim_max < ENOUGH_FILES ? r.rlim_max : ENOUGH_FILES;
        (void)!setrlimit(RLIMIT_NOFILE, &r);
    }
    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < LEAST_FILES) {
        return loom_status_note(
            loom_error(LOOM_E_OS, "a process may have %llu files open: too few", (unsigned long long)r.rlim_cur),
            "hint: ulimit -n %d is plenty", ENOUGH_FILES);
    }
    uint64_t room = loom_machine_address_space();
    if (room && room < LEAST_ADDRESS_SPACE) {
        return loom_status_note(loom_error(LOOM_E_OS,
                                           "the address space of a process is limited to %llu MiB: too little",
                                           (unsigned long long)(room >> 20)),
                                "hint: ulimit -v unlimited, and --memory for what workers may take");
    }
    return NULL;
}
