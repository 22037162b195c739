/* Work of what the executor does itself, in the terms in which code counts its own (docs/architecture.md, "Work and
 * space"). Transforms inside of kernels and copies that a permute makes count themselves, where they are made. */
#include "executor/engine.h"

void loom_engine_count(loom_engine *engine, loom_counted what, uint64_t n) {
    engine->threads[0].work.done[what] += n;
}

void loom_engine_take_work(loom_engine *engine, loom_kernel_work *to) {
    for (int t = 0; t < engine->n_threads; t++) {
        loom_kernel_work *from = &engine->threads[t].work;
        for (uint32_t c = 0; c < LOOM_COUNTED; c++) to->done[c] += from->done[c];
        *from = (loom_kernel_work){0};
    }
}

void loom_count_fft(loom_kernel_work *work, const loom_fft *fft, int64_t batch) {
    uint64_t n = (uint64_t)loom_fft_elements(fft), all = n * (uint64_t)batch;
    if (all == 0) return;
    work->done[LOOM_COUNTED_EVALUATIONS] += 5 * all * (63 - (uint64_t)__builtin_clzll(n));
    work->done[LOOM_COUNTED_MOVED] += all;
}

/* As the interpreter counts it: for each scalar of the keys the logarithm of the list's length. */
static void count_sort(loom_engine *engine, const loom_plan_action *action) {
    const loom_plan_buffer *to = &engine->plan->buffers[action->buffer];
    uint64_t n = (uint64_t)loom_engine_elements(engine, action->buffer), work = 0;
    uint32_t last = to->extents[to->n_extents - 1];
    bool rows = engine->plan->extents[last].kind == LOOM_EXTENT_SEGMENTED;
    int64_t lists = !rows ? 1 : n ? loom_engine_elements(engine, action->buffer2) : 0;
    const int64_t *offsets = rows ? engine->data[action->buffer2] : NULL;
    for (int64_t i = 0; i < lists; i++) {
        uint64_t length = (uint64_t)(rows ? offsets[i + 1] - offsets[i] : engine->extents[last]);
        work += (rows ? length : n) * (length > 1 ? 64 - (uint64_t)__builtin_clzll(length - 1) : 1);
    }
    loom_engine_count(engine, LOOM_COUNTED_EVALUATIONS, work * action->n_buffers);
    loom_engine_count(engine, LOOM_COUNTED_MOVED, n);
}

void loom_engine_count_action(loom_engine *engine, const loom_plan_action *action) {
    switch (action->kind) {
    case LOOM_ACT_COPY:
    case LOOM_ACT_FILL:
    case LOOM_ACT_APPEND:
        loom_engine_count(engine, LOOM_COUNTED_MOVED, (uint64_t)loom_engine_elements(engine, action->buffer));
        break;
    case LOOM_ACT_OFFSETS:
        loom_engine_count(engine, LOOM_COUNTED_DESCRIPTORS, (uint64_t)loom_engine_elements(engine, action->buffer));
        break;
    case LOOM_ACT_SORT: count_sort(engine, action); break;
    default: break;
    }
}
