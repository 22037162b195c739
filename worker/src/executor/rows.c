/* ROWS: a few rows at a time through several actions.
 *
 * Ranges of rows are dealt out to threads; a thread takes its range block by block through all actions. Buffers that
 * are there inside alone have room for a block of each thread: its kernels see a table of buffers in which their bases
 * are moved back by the rows before the block, so that they index as if all rows were there.
 *
 * A block is as many rows as fill half of a second-level cache, and whole lines of memory of what is read across rows
 * (a kernel that gathers columns reads a line of each row of its source for 8 c64).
 *
 * Where an error is raised all is done again action by action, so that it is the one that comes first in the program.
 */
#include "common/buffer.h"
#include "executor/engine.h"
#include <stdlib.h>
#include <string.h>

/* Half of the smaller second-level caches of servers, as for strips. */
#define BLOCK_BYTES ((uint64_t)512 << 10)
/* c64 in a line of memory. */
#define LEAST_ROWS 8
/* Rows of a range: neighbouring lines of what is read across, which hardware fetches in pairs. */
#define RANGE_ROWS    64
#define RANGES_THREAD 4
#define ALIGNMENT     64

typedef struct step {
    const loom_plan_action *action;
    loom_kernel_range kernel; /* or */
    loom_fft *fft;
    int64_t batch; /* transforms in a row */
} step;

typedef struct rows_job {
    loom_engine *engine;
    const loom_plan_action *action;
    uint32_t n_steps;
    step *steps;
    int64_t n, block;                   /* rows, of a block */
    uint64_t *row_bytes, *offset, room; /* of the buffers inside; where their rows are in a thread's room; of one */
    char *memory;
    void **tables; /* [thread][buffer]; NULL: the engine's own will do */
} rows_job;

/* The number of rows, if it is the same for all. */
static loom_status *count_rows(loom_engine *engine, const loom_plan_action *action, int64_t *n, bool *same) {
    *same = true;
    for (uint32_t i = 0; i < action->n_units; i++) {
        int64_t rows;
        LOOM_TRY(loom_engine_extent(engine, action->unit_extents[i], &rows));
        *same = *same && (i == 0 || rows == *n);
        *n = rows;
    }
    return NULL;
}

static loom_status *bytes_of_row(const loom_engine *engine, uint32_t buffer, int64_t n, uint64_t *bytes) {
    LOOM_TRY(loom_engine_size(engine, buffer, bytes));
    *bytes = n > 0 ? *bytes / (uint64_t)n : 0;
    return NULL;
}

/* Rows of a block: a multiple of LEAST_ROWS that leaves every buffer aligned. */
static int64_t block_of(uint64_t bytes_of_all, const uint64_t *row_bytes, uint32_t n_buffers) {
    int64_t unit = LEAST_ROWS;
    for (uint32_t i = 0; i < n_buffers; i++) {
        while ((uint64_t)unit * row_bytes[i] % ALIGNMENT) unit *= 2;
    }
    uint64_t fit = bytes_of_all ? BLOCK_BYTES / bytes_of_all : BLOCK_BYTES;
    int64_t blocks = (int64_t)(fit / (uint64_t)unit);
    return unit * (blocks > 0 ? blocks : 1);
}

/* The room of the buffers inside, and the length of a block, by which that of what is transformed counts too. */
static loom_status *lay_out(rows_job *r) {
    const loom_plan_action *action = r->action;
    uint64_t all = 0;
    for (uint32_t i = 0; i < action->n_buffers; i++) {
        LOOM_TRY(bytes_of_row(r->engine, action->buffers[i], r->n, &r->row_bytes[i]));
        all += r->row_bytes[i];
    }
    for (uint32_t i = 0; i < r->n_steps && action->n_buffers == 0; i++) {
        if (action[i + 1].kind != LOOM_ACT_FFT) continue;
        uint64_t bytes;
        LOOM_TRY(bytes_of_row(r->engine, action[i + 1].buffer2, r->n, &bytes));
        if (bytes > all) all = bytes;
    }
    r->block = block_of(all, r->row_bytes, action->n_buffers);
    for (uint32_t i = 0; i < action->n_buffers; i++) {
        uint64_t bytes;
        r->offset[i] = r->room;
        if (__builtin_mul_overflow(r->row_bytes[i], (uint64_t)r->block, &bytes) ||
            __builtin_add_overflow(r->room, bytes, &r->room)) {
            return loom_error(LOOM_E_LIMIT, "rows of more than 2^63 bytes");
        }
    }
    return NULL;
}

static loom_status *find_step(rows_job *r, uint32_t i) {
    loom_engine *engine = r->engine;
    const loom_plan_action *action = &r->action[i + 1];
    step *s = &r->steps[i];
    s->action = action;
    if (action->kind == LOOM_ACT_KERNEL) {
        s->kernel = (loom_kernel_range)(uintptr_t)engine->kernels[action->kernel];
        return loom_engine_scratch(engine, action->kernel);
    }
    loom_fft_shape shape;
    int64_t elements = loom_engine_elements(engine, action->buffer);
    if (elements == 0 || !loom_engine_fft_shape(engine, action->fft, &shape)) return NULL;
    s->batch = elements / r->n / shape.extents[0];
    LOOM_TRY(loom_ffts_get(engine->executor->ffts, &shape, &s->fft));
    loom_fft_expect(s->fft, r->n * s->batch);
    return NULL;
}

static void transform(const rows_job *r, const step *s, void *const *data, int64_t from, int64_t to,
                      loom_kernel_work *work) {
    if (!s->fft) return;
    uint32_t in = s->action->buffer, out = s->action->buffer2;
    uint64_t row =
        (uint64_t)s->batch * (uint64_t)loom_fft_elements(s->fft) * loom_dtype_size(r->engine->plan->buffers[in].dtype);
    loom_fft_strip(s->fft, (char *)data[in] + (uint64_t)from * row, (char *)data[out] + (uint64_t)from * row,
                   (to - from) * s->batch);
    loom_count_fft(work, s->fft, (to - from) * s->batch);
}

/* Bases of the buffers inside, for a block that begins at row `from`. As numbers, since they point nowhere. */
static void move_bases(const rows_job *r, void **table, int thread, int64_t from) {
    for (uint32_t i = 0; i < r->action->n_buffers; i++) {
        uintptr_t room = (uintptr_t)r->memory + (uint64_t)thread * r->room + r->offset[i];
        table[r->action->buffers[i]] = (void *)(room - (uint64_t)from * r->row_bytes[i]);
    }
}

static void rows_body(void *context, int thread, int64_t begin, int64_t end) {
    const rows_job *r = context;
    loom_thread *self = &r->engine->threads[thread];
    void **table = r->tables + (size_t)thread * r->engine->plan->n_buffers;
    loom_kernel_frame frame = self->frame;
    frame.buffers = table;
    for (int64_t from = begin; from < end; from += r->block) {
        int64_t to = end - from < r->block ? end : from + r->block;
        move_bases(r, table, thread, from);
        for (uint32_t i = 0; i < r->n_steps && !self->error.raised; i++) {
            if (r->steps[i].kernel) {
                r->steps[i].kernel(&frame, from, to);
            } else {
                transform(r, &r->steps[i], table, from, to, &self->work);
            }
        }
    }
}

static void run_blocks(rows_job *r) {
    loom_engine *engine = r->engine;
    uint32_t n_buffers = engine->plan->n_buffers;
    r->tables = loom_xcalloc((size_t)engine->n_threads * n_buffers + 1, sizeof *r->tables);
    for (int t = 0; t < engine->n_threads; t++) {
        memcpy(r->tables + (size_t)t * n_buffers, engine->data, n_buffers * sizeof *engine->data);
    }
    int64_t grain = r->n / ((int64_t)engine->n_threads * RANGES_THREAD);
    if (grain > RANGE_ROWS) grain = RANGE_ROWS;
    grain = (grain + r->block - 1) / r->block * r->block;
    loom_pool_for(engine->executor->pool, r->n, grain > 0 ? grain : r->block, &engine->executor->cancelled, rows_body,
                  r);
    free(r->tables);
}

static loom_status *by_blocks(rows_job *r) {
    LOOM_TRY(lay_out(r));
    for (uint32_t i = 0; i < r->n_steps; i++) LOOM_TRY(find_step(r, i));
    loom_block block;
    loom_memory *memory = r->engine->executor->memory;
    LOOM_TRY(loom_memory_take(memory, r->room * (uint64_t)r->engine->n_threads, "rows of a program's arrays", &block));
    r->memory = block.data;
    run_blocks(r);
    loom_memory_give(memory, &block);
    return loom_engine_cancelled(r->engine);
}

loom_status *loom_engine_rows(loom_engine *engine, const loom_plan_action *action, bool *done, loom_status **raised) {
    rows_job r = {.engine = engine, .action = action, .n_steps = action->n_inner};
    LOOM_TRY(count_rows(engine, action, &r.n, done));
    if (!*done || r.n == 0) return NULL;
    r.steps = loom_xcalloc(r.n_steps, sizeof *r.steps);
    r.row_bytes = loom_xcalloc((size_t)action->n_buffers + 1, sizeof *r.row_bytes);
    r.offset = loom_xcalloc((size_t)action->n_buffers + 1, sizeof *r.offset);
    loom_status *status = by_blocks(&r);
    free(r.steps);
    free(r.row_bytes);
    free(r.offset);
    if (status || !loom_engine_has_raised(engine)) return status;
    *raised = loom_engine_raised(engine);
    *done = false;
    return NULL;
}

uint64_t loom_engine_rows_bytes(const loom_engine *engine, const loom_plan_action *action) {
    uint64_t *row_bytes = loom_xcalloc((size_t)action->n_buffers + 1, sizeof *row_bytes), all = 0, room;
    for (uint32_t i = 0; i < action->n_buffers; i++) {
        int64_t n = engine->extents[action->unit_extents[action->n_inner + i]];
        loom_status_free(bytes_of_row(engine, action->buffers[i], n, &row_bytes[i]));
        all += row_bytes[i];
    }
    int64_t block = block_of(all, row_bytes, action->n_buffers);
    free(row_bytes);
    if (__builtin_mul_overflow(all, (uint64_t)block * (uint64_t)engine->n_threads, &room)) return UINT64_MAX;
    return loom_memory_rounded(room < UINT64_MAX / 2 ? room : UINT64_MAX / 2);
}
