#include "device/cpu/machine.h"
#include "common/buffer.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Processors' worth of time that the quota allows, rounded up; INT_MAX without a quota. */
static int quota_cpus(void) {
    char *text = loom_machine_group("cpu.max");
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
