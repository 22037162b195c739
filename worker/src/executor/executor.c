#include "common/buffer.h"
#include "device/cpu/machine.h"
#include "executor/engine.h"
#include <stdlib.h>

static loom_status *set_up(loom_executor *executor, const loom_executor_options *options) {
    uint64_t memory = options->memory ? options->memory : loom_machine_worker_memory(1);
    executor->memory = loom_memory_create(memory);
    loom_memory_set_reclaim(executor->memory, options->reclaim, options->context);
    LOOM_TRY(loom_pool_create(options->threads, &executor->pool));
    executor->ffts = loom_ffts_create(executor->pool, options->cache);
    return NULL;
}

loom_status *loom_executor_create(const loom_executor_options *options, loom_executor **executor) {
    loom_executor *made = loom_xcalloc(1, sizeof *made);
    loom_status *status = set_up(made, options);
    if (status) {
        loom_executor_destroy(made);
        return status;
    }
    *executor = made;
    return NULL;
}

void loom_executor_destroy(loom_executor *executor) {
    if (!executor) return;
    loom_ffts_destroy(executor->ffts);
    loom_pool_destroy(executor->pool);
    loom_memory_unref(executor->memory);
    free(executor);
}

uint64_t loom_executor_used(const loom_executor *executor) {
    return loom_memory_used(executor->memory);
}

bool loom_executor_lend(loom_executor *executor, uint64_t bytes) {
    return loom_memory_lend(executor->memory, bytes);
}

void loom_executor_return(loom_executor *executor, uint64_t bytes) {
    loom_memory_return(executor->memory, bytes);
}

void loom_executor_cancel(loom_executor *executor) {
    atomic_store_explicit(&executor->cancelled, true, memory_order_relaxed);
}
