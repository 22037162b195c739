#include "common/machine.h"
#include "common/buffer.h"
#include "common/file.h"
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
