/* REDUCE: the axis is cut into pieces, each reduced by one thread into a partial result, and the partial results are
 * combined from left to right. Where the cuts are follows from the extents and the plan alone, so that the result is
 * the same for any number of threads. */
#include "common/buffer.h"
#include "executor/engine.h"
#include <stdlib.h>
#include <string.h>

/* Pieces at most: twice the threads of a large machine. */
#define MAX_PIECES 256
/* Indices per piece at least, where the plan does not know their cost: keeps kernels in their vector body. */
#define MIN_PIECE 64
/* What a piece should take at least. */
#define PIECE_NS 20000.0
/* Bytes of all partial results together: where the result is a large array pieces get fewer and larger. */
#define PARTIAL_BYTES ((uint64_t)64 << 20)

typedef struct reduce_plan {
    int64_t n, piece, pieces;
    uint64_t partial_bytes; /* of one piece, leaves aligned */
} reduce_plan;

static uint64_t aligned(uint64_t bytes) {
    return (bytes + 63) / 64 * 64;
}

static reduce_plan plan_pieces(const loom_engine *engine, const loom_plan_action *action, int64_t n) {
    reduce_plan r = {.n = n};
    for (uint32_t i = 0; i < action->n_buffers; i++) {
        uint64_t bytes = 0;
        loom_status_free(loom_engine_size(engine, action->buffers[i], &bytes));
        r.partial_bytes += aligned(bytes ? bytes : 1);
    }
    int64_t most = (int64_t)(PARTIAL_BYTES / r.partial_bytes);
    if (most > MAX_PIECES) most = MAX_PIECES;
    if (most < 1 || action->kernel2 == LOOM_NO_KERNEL) most = 1;
    double least = action->cost > 0 ? PIECE_NS / action->cost : MIN_PIECE;
    r.piece = n / most + (n % most != 0);
    if ((double)r.piece < least) r.piece = least < (double)n ? (int64_t)least + 1 : n;
    if (r.piece < 1) r.piece = 1;
    r.pieces = n / r.piece + (n % r.piece != 0);
    return r;
}

uint64_t loom_engine_reduce_bytes(const loom_engine *engine, const loom_plan_action *action) {
    int64_t n = action->extent == LOOM_NO_EXTENT ? 1 : engine->extents[action->extent];
    if (n < 0) n = 0;
    reduce_plan r = plan_pieces(engine, action, n);
    return r.pieces > 1 ? loom_memory_rounded((uint64_t)(r.pieces - 1) * r.partial_bytes) : 0;
}

typedef struct reduce_job {
    loom_engine *engine;
    loom_kernel_reduce kernel;
    reduce_plan plan;
    uint32_t n_leaves;
    void **partial; /* [piece][leaf] */
} reduce_job;

static void reduce_body(void *context, int thread, int64_t from, int64_t to) {
    const reduce_job *r = context;
    for (int64_t p = from; p < to; p++) {
        int64_t first = p * r->plan.piece, end = r->plan.n - first < r->plan.piece ? r->plan.n : first + r->plan.piece;
        r->kernel(&r->engine->threads[thread].frame, first, end, &r->partial[(size_t)p * r->n_leaves]);
    }
}

/* Piece 0 goes straight to the result buffers, the others to one block. */
static void lay_out(reduce_job *r, const loom_plan_action *action, char *at) {
    for (uint32_t i = 0; i < r->n_leaves; i++) r->partial[i] = r->engine->data[action->buffers[i]];
    for (int64_t p = 1; p < r->plan.pieces; p++) {
        for (uint32_t i = 0; i < r->n_leaves; i++) {
            uint64_t bytes = (uint64_t)loom_engine_elements(r->engine, action->buffers[i]) *
                             loom_dtype_size(r->engine->plan->buffers[action->buffers[i]].dtype);
            r->partial[(size_t)p * r->n_leaves + i] = at;
            at += aligned(bytes ? bytes : 1);
        }
    }
}

static void join(reduce_job *r, const loom_plan_action *action) {
    int64_t elements = r->n_leaves ? loom_engine_elements(r->engine, action->buffers[0]) : 0;
    for (int64_t p = 1; p < r->plan.pieces; p++) {
        loom_engine_combine(r->engine, action->kernel2, r->partial, &r->partial[(size_t)p * r->n_leaves], elements);
    }
}

loom_status *loom_engine_reduce(loom_engine *engine, const loom_plan_action *action) {
    LOOM_TRY(loom_engine_scratch(engine, action->kernel));
    int64_t n;
    LOOM_TRY(loom_engine_extent(engine, action->extent, &n));
    reduce_job r = {.engine = engine, .n_leaves = action->n_buffers, .plan = plan_pieces(engine, action, n)};
    r.kernel = (loom_kernel_reduce)(uintptr_t)engine->kernels[action->kernel];
    /* An empty axis gives the neutral element: one call with an empty range. */
    if (r.plan.pieces == 0) r.plan.pieces = 1;
    loom_block block = {0};
    if (r.plan.pieces > 1) {
        LOOM_TRY(loom_memory_take(engine->executor->memory, (uint64_t)(r.plan.pieces - 1) * r.plan.partial_bytes,
                                  "a reduction's partial results", &block));
    }
    r.partial = loom_xcalloc((size_t)r.plan.pieces * r.n_leaves + 1, sizeof *r.partial);
    lay_out(&r, action, block.data);
    loom_pool_for(engine->executor->pool, r.plan.pieces, 1, &engine->executor->cancelled, reduce_body, &r);
    loom_status *status = loom_engine_cancelled(engine);
    if (!status) join(&r, action);
    free(r.partial);
    loom_memory_give(engine->executor->memory, &block);
    return status;
}
