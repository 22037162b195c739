#include "device/cpu/machine.h"
#include "common/buffer.h"
#include "common/file.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Files of /sys/fs/cgroup hold one line of numbers. */
#define CGROUP_FILE_BYTES 4096

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

/* The control group's file `name`: of the process's own group (version 2), else of the root, which is what a container
 * sees of itself. */
static char *read_cgroup(const char *name) {
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

/* Processors' worth of time that the quota allows, rounded up; INT_MAX without a quota. */
static int quota_cpus(void) {
    char *text = read_cgroup("cpu.max");
    long long quota = 0, period = 0;
    int cpus = INT_MAX;
    if (text && sscanf(text, "%lld %lld", &quota, &period) == 2 && quota > 0 && period > 0) {
        long long whole = quota / period + (quota % period != 0);
        cpus = whole < INT_MAX ? (int)whole : INT_MAX;
    }
    free(text);
    return cpus;
}

/* The mask is asked for with growing sizes: the kernel's may be wider than cpu_set_t. */
static loom_status *allowed_cpus(loom_machine *machine) {
    for (int width = CPU_SETSIZE; width <= 1 << 20; width *= 2) {
        size_t bytes = CPU_ALLOC_SIZE(width);
        cpu_set_t *set = CPU_ALLOC(width);
        if (!set) return loom_error(LOOM_E_MEMORY, "no memory for a mask of %d processors", width);
        if (sched_getaffinity(0, bytes, set) == 0) {
            machine->cpus = loom_xcalloc((size_t)CPU_COUNT_S(bytes, set) + 1, sizeof *machine->cpus);
            for (int c = 0; c < width; c++) {
                if (CPU_ISSET_S(c, bytes, set)) machine->cpus[machine->n_cpus++] = c;
            }
            CPU_FREE(set);
            return NULL;
        }
        int errnum = errno;
        CPU_FREE(set);
        if (errnum != EINVAL) return loom_error_errno(LOOM_E_OS, errnum, "cannot learn which processors may be used");
    }
    return loom_error(LOOM_E_OS, "cannot learn which processors may be used");
}

loom_status *loom_machine_create(loom_machine **machine) {
    loom_machine *made = loom_xcalloc(1, sizeof *made);
    loom_status *status = allowed_cpus(made);
    if (status) {
        loom_machine_destroy(made);
        return status;
    }
    int quota = quota_cpus();
    made->usable = made->n_cpus < quota ? made->n_cpus : quota;
    *machine = made;
    return NULL;
}

void loom_machine_destroy(loom_machine *machine) {
    if (!machine) return;
    free(machine->cpus);
    free(machine);
}

uint64_t loom_machine_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : (uint64_t)1 << 30;
    char *text = read_cgroup("memory.max");
    unsigned long long limit;
    if (text && sscanf(text, "%llu", &limit) == 1 && limit < bytes) bytes = limit;
    free(text);
    return bytes;
}
