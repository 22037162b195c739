/* What this process may use of the machine: processors (affinity mask, control group quota) and memory (control group
 * limit).
 *
 * Threads: any.
 */
#ifndef LOOM_WORKER_DEVICE_CPU_MACHINE_H
#define LOOM_WORKER_DEVICE_CPU_MACHINE_H

#include "common/status.h"
#include <sched.h>

typedef struct loom_machine {
    int n_cpus; /* processors in the affinity mask */
    int *cpus;  /* their numbers, ascending */
    int usable; /* n_cpus, or fewer where the control group has a quota of processor time */
} loom_machine;

LOOM_MUST_USE loom_status *loom_machine_create(loom_machine **machine);
void loom_machine_destroy(loom_machine *machine); /* NULL is fine */
/* Bytes of memory that this process could have: the machine's, or its control group's if that is less. */
uint64_t loom_machine_memory(void);

#endif
