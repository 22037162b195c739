/* The processors that this process may use: affinity mask, control group quota. Memory: common/machine.h.
 *
 * Threads: any.
 */
#ifndef LOOM_WORKER_DEVICE_CPU_MACHINE_H
#define LOOM_WORKER_DEVICE_CPU_MACHINE_H

#include "common/machine.h"
#include "common/status.h"
#include <sched.h>

typedef struct loom_machine {
    int n_cpus; /* processors in the affinity mask */
    int *cpus;  /* their numbers, ascending */
    int usable; /* n_cpus, or fewer where the control group has a quota of processor time */
} loom_machine;

LOOM_MUST_USE loom_status *loom_machine_create(loom_machine **machine);
void loom_machine_destroy(loom_machine *machine); /* NULL is fine */

#endif
