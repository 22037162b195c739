/* Limits that several folders share. A limit that one folder owns stands in that folder; every one is a named constant
 * with its reason, is checked before memory is taken, and has a test that goes one beyond it. */
#ifndef LOOM_COMMON_LIMITS_H
#define LOOM_COMMON_LIMITS_H

#include <stdint.h>

/* A block of a stream: the unit of leases and losses. Large enough that its message costs nothing beside its data,
 * small enough that three in flight per worker fit anywhere and a lost lease costs little work. One larger element is a
 * block of its own. */
#define LOOM_MAX_BLOCK_BYTES ((uint64_t)64 << 20)

/* Bytes of a dotted name of a column, a program's entry or an argument, without the NUL. */
#define LOOM_MAX_NAME 255u

/* A Weft source text. The programs that ship are below 64 KiB; generated ones may be longer. */
#define LOOM_MAX_SOURCE_BYTES ((uint64_t)16 << 20)

/* Header frame of a message. Bulk data travels in frames of its own, so headers stay small. */
#define LOOM_MAX_HEADER_BYTES ((uint64_t)1 << 20)

/* Threads of one worker: beyond the largest single machine of today, and what one `--threads` with a digit too many
 * must not exceed. */
#define LOOM_MAX_THREADS 4096

#endif
