/* Memory of an executor: blocks of 64-byte aligned memory under one budget.
 *
 * A block that is given back is kept for the next request of about its size, because a chunk's buffers come again with
 * the next chunk and fresh pages cost more than the work on them; kept blocks are released to the system as soon as
 * they stand in the way of a request. Large blocks are mapped, aligned to huge pages and advised to use them.
 *
 * Threads: any. Ownership: reference-counted, because values handed to the caller hold blocks and may outlive the
 * executor.
 */
#ifndef LOOM_WORKER_DEVICE_CPU_MEMORY_H
#define LOOM_WORKER_DEVICE_CPU_MEMORY_H

#include "common/status.h"
#include <stdbool.h>

typedef struct loom_memory loom_memory;
typedef struct loom_block {
    void *data;     /* NULL: no block */
    uint64_t bytes; /* capacity */
    bool fresh;     /* straight from the system: all zero, and not there yet */
} loom_block;

loom_memory *loom_memory_create(uint64_t budget);
loom_memory *loom_memory_ref(loom_memory *memory);
void loom_memory_unref(loom_memory *memory); /* NULL is fine */

/* A block of at least `bytes`. Where the budget would be exceeded: LOOM_E_MEMORY with a message that says how much
 * `what` needs and how much there is. */
LOOM_MUST_USE loom_status *loom_memory_take(loom_memory *memory, uint64_t bytes, const char *what, loom_block *block);
void loom_memory_give(loom_memory *memory, loom_block *block); /* leaves none; no block is fine */

/* Memory of the caller's own, as messages that it keeps because they may be wanted again: charged to the budget while
 * nothing else wants that. False: there is no room. */
bool loom_memory_lend(loom_memory *memory, uint64_t bytes);
void loom_memory_return(loom_memory *memory, uint64_t bytes);
/* `reclaim` is called by whoever takes a block that what is lent stands in the way of, on its thread and without a
 * lock: to free and return so many bytes or, where there are not as many, all. Set before other threads know the
 * memory. */
typedef void (*loom_reclaim)(void *context, uint64_t bytes);
void loom_memory_set_reclaim(loom_memory *memory, loom_reclaim reclaim, void *context);

uint64_t loom_memory_budget(const loom_memory *memory);
uint64_t loom_memory_used(const loom_memory *memory); /* in blocks that are out; what is kept or lent does
                                                       * not count */
/* The most that was used since the last call, or since the memory was made. */
uint64_t loom_memory_take_peak(loom_memory *memory);
/* What a request of `bytes` is charged. */
uint64_t loom_memory_rounded(uint64_t bytes);

#endif
