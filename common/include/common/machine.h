/* What this process may use of the machine. Threads: any. */
#ifndef LOOM_COMMON_MACHINE_H
#define LOOM_COMMON_MACHINE_H

#include "common/status.h"
#include <stdint.h>

/* Bytes of memory: all there is, or what the control group of a container or batch job allows where that is less. */
uint64_t loom_machine_memory(void);
/* Bytes for the buffers of each of `workers` workers on this machine, where no user says how many: three quarters of
 * all, shared evenly. 0 counts as 1. */
uint64_t loom_machine_worker_memory(unsigned workers);
/* The control group's file `name` ("cpu.max"): of the process's own group (version 2), else of the root, which is what
 * a container sees of itself. NULL where there is none; the caller frees. */
char *loom_machine_group(const char *name);

/* What `ulimit -v` allows this process and those that it starts, in bytes; 0: no limit. */
uint64_t loom_machine_address_space(void);
/* For programs that start others, or open many files: raises the limit of open files as far as this user may.
 * LOOM_E_OS, with a hint, where it or the address space is too small for anything to come of it. */
LOOM_MUST_USE loom_status *loom_machine_check_limits(void);

#endif
