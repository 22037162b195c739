/* PERMUTE onto a small target: a histogram, a table of counts, the grid of a narrow field.
 *
 * Tiles would leave most threads idle, and where the target stays in a cache sorting gains nothing. Instead the units
 * are cut into pieces, each accumulated in the units' order into a copy of the target that starts as the neutral
 * element; the copies are then combined into the target in the order of the pieces. Where the cuts are depends on the
 * number of units and the target alone: the same bits for any number of threads. Possible where the target is the
 * accumulator of whole outputs, whose neutral elements and combining kernels are known. Cost: inspection and the kernel
 * per unit, no sort; a copy filled and combined per piece.
 */
#include "common/buffer.h"
#include "executor/engine.h"
#include "executor/permute.h"
#include <stdlib.h>
#include <string.h>

/* Bytes of a target that is small: half of a second-level cache of today. */
#define SMALL_BYTES ((uint64_t)512 << 10)
/* Units per piece at least, and bytes of the target for each of them: what filling and combining a copy costs is then a
 * small part of what its units cost. */
#define PIECE_UNITS    8192
#define BYTES_PER_UNIT 8
/* Pieces at least, so that threads have something to do; beyond a first-level cache more, for sorting costs less than
 * idle threads. */
#define MIN_PIECES       2
#define MIN_LARGE_PIECES 8
#define LARGE_BYTES      ((uint64_t)16 << 10)
/* Pieces at most: twice the threads of a large machine. */
#define MAX_PIECES 256
/* Units inspected and executed at a time. */
#define STRETCH 1024

typedef struct small_job {
    loom_engine *engine;
    const loom_plan_action *action;
    int64_t units, piece;
    uint64_t copy_bytes, thread_bytes;
    char *copies;  /* [piece][copy_bytes] */
    char *threads; /* [thread][thread_bytes]: buffer table, units, bases */
} small_job;

static uint64_t aligned(uint64_t bytes) {
    return (bytes + 63) / 64 * 64;
}

static uint64_t buffer_bytes(const loom_engine *engine, uint32_t buffer) {
    uint64_t bytes = 0;
    loom_status_free(loom_engine_size(engine, buffer, &bytes));
    return bytes;
}

/* The output that target i belongs to and is leaf *leaf of. */
static const loom_plan_output *output_of(const loom_engine *engine, uint32_t buffer, uint32_t *leaf) {
    for (uint32_t j = 0; j < engine->plan->n_outputs; j++) {
        const loom_plan_output *o = &engine->plan->outputs[j];
        for (uint32_t i = 0; i < o->n_leaves; i++) {
            *leaf = i;
            if (o->buffers[i] == buffer) return o;
        }
    }
    return NULL;
}

static bool is_target(const loom_plan_action *action, uint32_t buffer) {
    for (uint32_t i = 0; i < action->n_buffers; i++) {
        if (action->buffers[i] == buffer) return true;
    }
    return false;
}

/* A combining kernel takes all leaves of its output, so all must be targets here. */
static bool is_whole_output(const loom_plan_action *action, const loom_plan_output *o) {
    if (!o || o->kind != LOOM_OUT_PERMUTE || o->combine == LOOM_NO_KERNEL || !o->neutral) return false;
    for (uint32_t i = 0; i < o->n_leaves; i++) {
        if (!is_target(action, o->buffers[i])) return false;
    }
    return true;
}

static int64_t least_piece(uint64_t bytes) {
    int64_t units = (int64_t)(bytes / BYTES_PER_UNIT);
    return units > PIECE_UNITS ? units : PIECE_UNITS;
}

bool loom_engine_permute_is_small(const loom_engine *engine, const loom_plan_action *action, int64_t units) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < action->n_buffers; i++) {
        uint32_t leaf;
        if (!is_whole_output(action, output_of(engine, action->buffers[i], &leaf))) return false;
        bytes += aligned(buffer_bytes(engine, action->buffers[i]));
        if (bytes > SMALL_BYTES) return false;
    }
    return units >= (bytes > LARGE_BYTES ? MIN_LARGE_PIECES : MIN_PIECES) * least_piece(bytes);
}

/* ---- copies ---- */

static void *copy_at(const small_job *s, int64_t piece, uint32_t target) {
    char *at = s->copies + (uint64_t)piece * s->copy_bytes;
    for (uint32_t i = 0; i < target; i++) at += aligned(buffer_bytes(s->engine, s->action->buffers[i]));
    return at;
}

/* `bytes` of copies of one element, each step twice as many as the one before. */
static void fill(char *to, size_t bytes, const unsigned char *element, size_t size) {
    if (bytes == 0) return;
    memcpy(to, element, size);
    for (size_t done = size; done < bytes; done *= 2) memcpy(to + done, to, done < bytes - done ? done : bytes - done);
}

static void fill_copy(const small_job *s, int64_t piece, void **table, loom_kernel_work *work) {
    for (uint32_t i = 0; i < s->action->n_buffers; i++) {
        uint32_t buffer = s->action->buffers[i], leaf;
        const loom_plan_output *o = output_of(s->engine, buffer, &leaf);
        loom_dtype dtype = s->engine->plan->buffers[buffer].dtype;
        size_t size = loom_dtype_size(dtype);
        unsigned char element[16];
        char *copy = copy_at(s, piece, i);
        loom_scalar_store(dtype, o->neutral[leaf], element);
        fill(copy, (size_t)loom_engine_elements(s->engine, buffer) * size, element, size);
        work->done[LOOM_COUNTED_MOVED] += (uint64_t)loom_engine_elements(s->engine, buffer);
        table[buffer] = copy;
    }
}

/* ---- pieces ---- */

/* Inspects a stretch, leaves out what is dropped, executes the rest. */
static void run_stretch(const small_job *s, const loom_kernel_frame *inspecting, const loom_kernel_frame *frame,
                        int64_t *units, int64_t *bases, int64_t from, int64_t to) {
    loom_kernel_inspect inspect = (loom_kernel_inspect)(uintptr_t)s->engine->kernels[s->action->kernel];
    loom_kernel_execute execute = (loom_kernel_execute)(uintptr_t)s->engine->kernels[s->action->kernel2];
    uint32_t rank = s->action->rank;
    int64_t n = 0;
    inspect(inspecting, from, to, bases);
    for (int64_t u = from; u < to; u++) {
        const int64_t *base = bases + (u - from) * rank;
        if (base[0] == LOOM_DROPPED) continue;
        units[n] = u;
        memmove(bases + n * rank, base, rank * sizeof *base);
        n++;
    }
    if (n) execute(frame, units, n, bases);
}

static void piece_body(void *context, int thread, int64_t from, int64_t to) {
    const small_job *s = context;
    loom_thread *t = &s->engine->threads[thread];
    char *mine = s->threads + (uint64_t)thread * s->thread_bytes;
    void **table = (void **)mine;
    size_t table_bytes = (size_t)aligned(s->engine->plan->n_buffers * sizeof *table);
    int64_t *units = (int64_t *)(mine + table_bytes), *bases = units + STRETCH;
    loom_kernel_frame frame = t->frame;
    memcpy(table, s->engine->data, s->engine->plan->n_buffers * sizeof *table);
    frame.buffers = table;
    for (int64_t p = from; p < to; p++) {
        fill_copy(s, p, table, &t->work);
        int64_t end = (p + 1) * s->piece < s->units ? (p + 1) * s->piece : s->units;
        for (int64_t u = p * s->piece; u < end; u += STRETCH) {
            if (atomic_load_explicit(&s->engine->executor->cancelled, memory_order_relaxed)) return;
            run_stretch(s, &t->frame, &frame, units, bases, u, end - u < STRETCH ? end : u + STRETCH);
        }
    }
}

/* target[output] = target op copy of piece p, for every output once. */
static void combine_piece(const small_job *s, int64_t piece) {
    for (uint32_t i = 0; i < s->action->n_buffers; i++) {
        uint32_t leaf;
        const loom_plan_output *o = output_of(s->engine, s->action->buffers[i], &leaf);
        if (leaf != 0) continue;
        void **into = loom_xcalloc(o->n_leaves, sizeof *into), **from = loom_xcalloc(o->n_leaves, sizeof *from);
        for (uint32_t k = 0; k < o->n_leaves; k++) {
            into[k] = s->engine->data[o->buffers[k]];
            for (uint32_t t = 0; t < s->action->n_buffers; t++) {
                if (s->action->buffers[t] == o->buffers[k]) from[k] = copy_at(s, piece, t);
            }
        }
        loom_engine_combine(s->engine, o->combine, into, from, loom_engine_elements(s->engine, o->buffers[0]));
        free(into);
        free(from);
    }
}

static small_job set_up(loom_engine *engine, const loom_plan_action *action, int64_t units, int64_t *pieces) {
    small_job s = {.engine = engine, .action = action, .units = units};
    for (uint32_t i = 0; i < action->n_buffers; i++) s.copy_bytes += aligned(buffer_bytes(engine, action->buffers[i]));
    s.piece = least_piece(s.copy_bytes);
    if (units / s.piece >= MAX_PIECES) s.piece = units / MAX_PIECES + 1;
    *pieces = (units + s.piece - 1) / s.piece;
    s.thread_bytes =
        aligned(engine->plan->n_buffers * sizeof(void *)) + aligned(STRETCH * (1 + (uint64_t)action->rank) * 8);
    return s;
}

uint64_t loom_engine_permute_small_bytes(loom_engine *engine, const loom_plan_action *action, int64_t units) {
    int64_t pieces;
    small_job s = set_up(engine, action, units, &pieces);
    return loom_memory_rounded((uint64_t)pieces * s.copy_bytes + (uint64_t)engine->n_threads * s.thread_bytes);
}

/* The copies keep the accumulator clean until all pieces have gone well. */
loom_status *loom_engine_permute_small(loom_engine *engine, const loom_plan_action *action, int64_t units) {
    int64_t pieces;
    small_job s = set_up(engine, action, units, &pieces);
    loom_block block;
    LOOM_TRY(loom_memory_take(engine->executor->memory,
                              (uint64_t)pieces * s.copy_bytes + (uint64_t)engine->n_threads * s.thread_bytes,
                              "copies of a permute's target", &block));
    s.copies = block.data;
    s.threads = s.copies + (uint64_t)pieces * s.copy_bytes;
    loom_pool_for(engine->executor->pool, pieces, 1, &engine->executor->cancelled, piece_body, &s);
    loom_status *status = loom_engine_cancelled(engine);
    if (!status) status = loom_engine_raised(engine);
    if (!status) {
        engine->accumulating = true;
        for (int64_t p = 0; p < pieces; p++) combine_piece(&s, p);
    }
    loom_memory_give(engine->executor->memory, &block);
    return status;
}
