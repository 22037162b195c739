/* REDUCE: the axis is cut into pieces, each reduced by one thread into a partial result, and the partial results are
 * combined from left to right. Where the cuts are follows from the extents and the plan alone, so that the result is
 * the same for any number of threads.
 *
 * Rows that differ in length: all elements of all rows are one axis, cut where rows begin. A long row is cut too, where
 * its own length says, so that its result does not depend on the rows around it. What a piece has of a row that has
 * begun before is its partial result, and is combined into that row's. */
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
/* What a row takes at least that is cut. */
#define LONG_ROW_NS 100000.0
/* Bytes of all partial results together: where the result is a large array pieces get fewer and larger. */
#define PARTIAL_BYTES ((uint64_t)64 << 20)

typedef struct reduce_plan {
    int64_t n, piece, pieces;
    uint64_t partial_bytes; /* of one piece, leaves aligned */
} reduce_plan;

static uint64_t aligned(uint64_t bytes) {
    return (bytes + 63) / 64 * 64;
}

static bool is_of_rows(const loom_engine *engine, const loom_plan_action *action) {
    return action->extent != LOOM_NO_EXTENT && engine->plan->extents[action->extent].kind == LOOM_EXTENT_SEGMENTED;
}

static reduce_plan plan_pieces(const loom_engine *engine, const loom_plan_action *action, int64_t n) {
    reduce_plan r = {.n = n};
    bool rows = is_of_rows(engine, action);
    for (uint32_t i = 0; i < action->n_buffers; i++) {
        uint64_t bytes = 0;
        if (!rows) loom_status_free(loom_engine_size(engine, action->buffers[i], &bytes));
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

/* Elements of the pieces that long rows are cut into: of the plan alone. */
static int64_t row_piece(const loom_plan_action *action) {
    double length = LONG_ROW_NS / (action->cost > 0 ? action->cost : 1);
    return length < MIN_PIECE ? MIN_PIECE : (int64_t)length;
}

/* Rows that are not long come together in pieces of about this length; then no long one is among them. */
static int64_t rows_piece(const loom_plan_action *action, const reduce_plan *r) {
    int64_t most = row_piece(action);
    return r->piece < most ? r->piece : most;
}

/* More pieces than these are not made: any two neighbours are longer than a piece, or are the end of a long row and
 * what comes before or behind it. */
static int64_t most_row_pieces(const loom_plan_action *action, const reduce_plan *r) {
    return r->n == 0 ? 0 : 2 * (r->n / rows_piece(action, r)) + 4 * (r->n / row_piece(action)) + 4;
}

uint64_t loom_engine_reduce_bytes(const loom_engine *engine, const loom_plan_action *action) {
    int64_t n = action->extent == LOOM_NO_EXTENT ? 1 : engine->extents[action->extent];
    if (n < 0) n = 0;
    reduce_plan r = plan_pieces(engine, action, n);
    int64_t held = is_of_rows(engine, action) ? most_row_pieces(action, &r) : r.pieces - 1;
    return held > 0 ? loom_memory_rounded((uint64_t)held * r.partial_bytes) : 0;
}

typedef struct reduce_job {
    loom_engine *engine;
    loom_kernel_reduce kernel;
    reduce_plan plan;
    uint32_t n_leaves;
    void **partial; /* [piece][leaf] */
    int64_t *cuts;  /* of rows: where pieces begin, and the end behind them; else NULL */
} reduce_job;

static void reduce_body(void *context, int thread, int64_t from, int64_t to) {
    const reduce_job *r = context;
    for (int64_t p = from; p < to; p++) {
        int64_t first = r->cuts ? r->cuts[p] : p * r->plan.piece, end = r->plan.n;
        if (r->cuts) {
            end = r->cuts[p + 1];
        } else if (end - first > r->plan.piece) {
            end = first + r->plan.piece;
        }
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

/* The row that element `at` is one of. */
static int64_t row_of(const int64_t *offsets, int64_t n_rows, int64_t at) {
    int64_t low = 0, high = n_rows; /* offsets[low] <= at < offsets[high] */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (offsets[middle] <= at) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Where the piece ends that begins at `at`: where a row begins that is not long, or at a cut of a long one. */
static int64_t piece_end(const reduce_job *r, const int64_t *offsets, int64_t n_rows, int64_t at, int64_t cut,
                         int64_t together) {
    int64_t row = row_of(offsets, n_rows, at), end = offsets[row + 1];
    if (end - offsets[row] > cut) return end - at > cut ? at + cut : end;
    if (r->plan.n - at <= together) return r->plan.n;
    int64_t last = offsets[row_of(offsets, n_rows, at + together)];
    return last > at ? last : end;
}

static void cut_rows(reduce_job *r, const loom_plan_action *action) {
    const int64_t *offsets = r->engine->data[action->buffer];
    int64_t n_rows = loom_engine_elements(r->engine, action->buffer);
    int64_t cut = row_piece(action), together = rows_piece(action, &r->plan), at = 0;
    r->cuts = loom_xcalloc((size_t)most_row_pieces(action, &r->plan) + 1, sizeof *r->cuts);
    for (r->plan.pieces = 0; at < r->plan.n; at = r->cuts[r->plan.pieces]) {
        r->cuts[++r->plan.pieces] = piece_end(r, offsets, n_rows, at, cut, together);
    }
}

/* What begins in the row that it is one of is not partial. */
static void join_rows(reduce_job *r, const loom_plan_action *action) {
    const loom_engine *engine = r->engine;
    const int64_t *offsets = engine->data[action->buffer];
    int64_t n_rows = loom_engine_elements(engine, action->buffer);
    void **into = loom_xcalloc(r->n_leaves, sizeof *into);
    for (int64_t p = 1; p < r->plan.pieces; p++) {
        int64_t row = row_of(offsets, n_rows, r->cuts[p]);
        if (offsets[row] == r->cuts[p]) continue;
        for (uint32_t i = 0; i < r->n_leaves; i++) {
            size_t element = loom_dtype_size(engine->plan->buffers[action->buffers[i]].dtype);
            into[i] = (char *)engine->data[action->buffers[i]] + (size_t)row * element;
        }
        loom_engine_combine(r->engine, action->kernel2, into, &r->partial[(size_t)p * r->n_leaves], 1);
    }
    free(into);
}

static loom_status *reduce_pieces_of_rows(reduce_job *r, const loom_plan_action *action) {
    loom_memory *memory = r->engine->executor->memory;
    size_t results = (size_t)r->plan.pieces * r->n_leaves;
    loom_block block = {0};
    LOOM_TRY(loom_memory_take(memory, (uint64_t)results * aligned(1), "a reduction's partial results", &block));
    r->partial = loom_xcalloc(results + 1, sizeof *r->partial);
    for (size_t i = 0; i < results; i++) r->partial[i] = (char *)block.data + i * aligned(1);
    loom_pool_for(r->engine->executor->pool, r->plan.pieces, 1, &r->engine->executor->cancelled, reduce_body, r);
    loom_status *status = loom_engine_cancelled(r->engine);
    if (!status) join_rows(r, action);
    free(r->partial);
    loom_memory_give(memory, &block);
    return status;
}

/* Rows hold their neutral elements: of those without elements nothing is to be done. */
static loom_status *reduce_rows(reduce_job *r, const loom_plan_action *action) {
    if (r->plan.n == 0) return NULL;
    cut_rows(r, action);
    loom_status *status = reduce_pieces_of_rows(r, action);
    free(r->cuts);
    return status;
}

loom_status *loom_engine_reduce(loom_engine *engine, const loom_plan_action *action) {
    LOOM_TRY(loom_engine_scratch(engine, action->kernel));
    int64_t n;
    LOOM_TRY(loom_engine_extent(engine, action->extent, &n));
    reduce_job r = {.engine = engine, .n_leaves = action->n_buffers, .plan = plan_pieces(engine, action, n)};
    r.kernel = (loom_kernel_reduce)(uintptr_t)engine->kernels[action->kernel];
    if (is_of_rows(engine, action)) return reduce_rows(&r, action);
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
