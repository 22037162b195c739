/* The actions of a plan, in order. */
#include "common/buffer.h"
#include "common/clock.h"
#include "executor/engine.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A loop over indices that takes less than this in all is not worth waking threads for. */
#define SERIAL_NS 30000.0
/* What a range should take at least, so that taking the next one costs little beside it; and at most, since a
 * cancelled chunk ends between two ranges. Before a kernel's speed is known it gets FIRST_RANGES for each thread. */
#define RANGE_NS      20000.0
#define LONGEST_NS    50e6
#define FIRST_RANGES  64
#define RANGES_THREAD 8

loom_status *loom_engine_cancelled(const loom_engine *engine) {
    if (!atomic_load_explicit(&engine->executor->cancelled, memory_order_relaxed)) return NULL;
    return loom_error(LOOM_E_CANCELLED, "cancelled");
}

/* ---- extents that kernels compute ---- */

/* Which action writes which buffer is not told, so every scalar extent is read again after every action: a handful of
 * loads. A value that is not there yet is whatever the buffer held; it is looked at only when an action uses it. */
static void read_scalar_extents(loom_engine *engine) {
    for (uint32_t i = 0; i < engine->n_scalar_extents; i++) {
        uint32_t e = engine->scalar_extents[i];
        const int64_t *scalar = engine->data[engine->plan->extents[e].buffer];
        if (!scalar || *scalar == engine->extents[e]) continue;
        engine->extents[e] = *scalar;
        engine->ffts_stale = true;
    }
}

/* Of rows that differ in length there is no one shape. */
bool loom_engine_fft_shape(const loom_engine *engine, uint32_t f, loom_fft_shape *shape) {
    const loom_plan_fft *fft = &engine->plan->ffts[f];
    if (engine->plan->extents[fft->extents[0]].kind == LOOM_EXTENT_SEGMENTED) return false;
    *shape = (loom_fft_shape){.dtype = fft->dtype, .inverse = fft->inverse, .rank = fft->rank};
    for (uint32_t d = 0; d < fft->rank; d++) {
        shape->extents[d] = engine->extents[fft->extents[d]];
        if (shape->extents[d] < 1) return false;
    }
    return true;
}

static loom_status *find_ffts(loom_engine *engine) {
    if (!engine->ffts_stale) return NULL;
    for (uint32_t f = 0; f < engine->plan->n_ffts; f++) {
        loom_fft_shape shape;
        engine->ffts[f] = NULL;
        if (!loom_engine_fft_shape(engine, f, &shape)) continue;
        loom_status *status = loom_ffts_get(engine->executor->ffts, &shape, &engine->ffts[f]);
        /* A length that is not final yet may be absurd; who uses it asks again and reports. */
        loom_status_free(status);
    }
    engine->ffts_stale = false;
    return NULL;
}

/* ---- single actions ---- */

/* What an array is to the user: names of buffers are the compiler's own. The first action with a label after its
 * allocation is the one that it is made for. */
static const char *purpose(const loom_plan *plan, uint32_t at) {
    for (uint32_t i = at; i < plan->n_actions; i++) {
        if (plan->actions[i].label) return plan->actions[i].label;
    }
    return NULL;
}

/* To the user just another array that does not fit. */
static loom_status *beyond_all_memory(loom_status *status) {
    loom_status *made = loom_error(LOOM_E_MEMORY, "%s", loom_status_message(status));
    loom_status_free(status);
    return loom_status_note(made, "hint: no --memory is enough for it: let the program make less at once");
}

static loom_status *allocate(loom_engine *engine, uint32_t at, uint32_t b) {
    const loom_plan_buffer *buffer = &engine->plan->buffers[b];
    for (uint32_t k = 0; k < buffer->n_extents; k++) {
        int64_t extent;
        LOOM_TRY(loom_engine_extent(engine, buffer->extents[k], &extent));
    }
    uint64_t bytes;
    loom_memory *memory = engine->executor->memory;
    loom_memory_give(memory, &engine->blocks[b]);
    engine->data[b] = NULL;
    loom_status *status = loom_engine_size(engine, b, &bytes);
    if (!status) status = loom_memory_take(memory, bytes, "an array of the program", &engine->blocks[b]);
    if (loom_status_code(status) == LOOM_E_LIMIT) status = beyond_all_memory(status);
    const char *label = status ? purpose(engine->plan, at) : NULL;
    if (label) loom_status_note(status, "needed for %s", label);
    LOOM_TRY(status);
    engine->data[b] = engine->blocks[b].data;
    engine->of_chunk[b] = engine->in_chunk;
    engine->filled[b] = 0;
    /* A size that is read before its kernel has written it is 0 and not what was there before. */
    if (buffer->n_extents == 0) memset(engine->data[b], 0, 16);
    return NULL;
}

static void act_free(loom_engine *engine, uint32_t b) {
    loom_memory_give(engine->executor->memory, &engine->blocks[b]);
    engine->data[b] = NULL;
    engine->of_chunk[b] = false;
}

static void act_break(loom_engine *engine, const loom_plan_action *action, bool *left) {
    *left = !*(const unsigned char *)engine->data[action->buffer];
    for (uint32_t i = 0; *left && i < action->n_buffers; i++) act_free(engine, action->buffers[i]);
}

static void act_swap(loom_engine *engine, uint32_t a, uint32_t b) {
    void *data = engine->data[a];
    loom_block block = engine->blocks[a];
    bool of_chunk = engine->of_chunk[a];
    uint64_t filled = engine->filled[a];
    engine->data[a] = engine->data[b];
    engine->blocks[a] = engine->blocks[b];
    engine->of_chunk[a] = engine->of_chunk[b];
    engine->filled[a] = engine->filled[b];
    engine->data[b] = data;
    engine->blocks[b] = block;
    engine->of_chunk[b] = of_chunk;
    engine->filled[b] = filled;
}

static loom_status *act_alloc(loom_engine *engine, uint32_t at) {
    return allocate(engine, at, engine->plan->actions[at].buffer);
}

typedef struct range_job {
    loom_engine *engine;
    loom_kernel_range kernel;
} range_job;

static void range_body(void *context, int thread, int64_t from, int64_t to) {
    const range_job *r = context;
    r->kernel(&r->engine->threads[thread].frame, from, to);
}

/* Length of the ranges of a loop over n indices. Ranges have no influence on results. */
static int64_t grain_of(const loom_engine *engine, const loom_action_state *state, int64_t n) {
    if (state->ns_per_index > 0 && state->ns_per_index * (double)n < SERIAL_NS) return n;
    bool known = state->ns_per_index > 0;
    int64_t grain = n / ((int64_t)engine->n_threads * (known ? RANGES_THREAD : FIRST_RANGES));
    if (known) {
        double least = RANGE_NS / state->ns_per_index, most = LONGEST_NS / state->ns_per_index;
        if (least > (double)grain) grain = least < (double)n ? (int64_t)least : n;
        if (most < (double)grain) grain = (int64_t)most;
    }
    /* Whole vectors and strips, as long as there are ranges enough. */
    if (grain > 512) grain = grain / 256 * 256;
    return grain > 0 ? grain : 1;
}

static loom_status *act_kernel(loom_engine *engine, const loom_plan_action *action, loom_action_state *state) {
    LOOM_TRY(loom_engine_scratch(engine, action->kernel));
    int64_t n;
    LOOM_TRY(loom_engine_extent(engine, action->extent, &n));
    if (n == 0) return NULL;
    range_job r = {.engine = engine, .kernel = (loom_kernel_range)(uintptr_t)engine->kernels[action->kernel]};
    double start = loom_seconds();
    int64_t grain = grain_of(engine, state, n);
    loom_pool_for(engine->executor->pool, n, grain, &engine->executor->cancelled, range_body, &r);
    LOOM_TRY(loom_engine_cancelled(engine)); /* what was done says nothing of what all of it takes */
    /* Of one thread, about: a serial loop has one, a parallel one all. */
    double ns = (loom_seconds() - start) * 1e9 / (double)n * (grain < n ? engine->n_threads : 1);
    state->ns_per_index = state->ns_per_index > 0 ? 0.75 * state->ns_per_index + 0.25 * ns : ns;
    return NULL;
}

/* Each list by itself; neighbours of one length as one batch. */
static loom_status *fft_of_rows(loom_engine *engine, const loom_plan_action *action) {
    const loom_plan_fft *fft = &engine->plan->ffts[action->fft];
    const int64_t *offsets = engine->data[action->buffers[0]];
    int64_t n_lists = loom_engine_elements(engine, action->buffers[0]);
    size_t element = loom_dtype_size(fft->dtype);
    for (int64_t list = 0, end; list < n_lists; list = end) {
        loom_fft_shape shape = {.dtype = fft->dtype, .inverse = fft->inverse, .rank = 1};
        shape.extents[0] = offsets[list + 1] - offsets[list];
        for (end = list + 1; end < n_lists && offsets[end + 1] - offsets[end] == shape.extents[0];) end++;
        if (shape.extents[0] == 0) continue;
        loom_fft *made;
        LOOM_TRY(loom_ffts_get(engine->executor->ffts, &shape, &made));
        size_t at = (size_t)offsets[list] * element;
        LOOM_TRY(loom_fft_run(made, (const char *)engine->data[action->buffer] + at,
                              (char *)engine->data[action->buffer2] + at, end - list, &engine->executor->cancelled));
        loom_count_fft(&engine->threads[0].work, made, end - list);
        LOOM_TRY(loom_engine_cancelled(engine));
    }
    return NULL;
}

static loom_status *act_fft(loom_engine *engine, const loom_plan_action *action) {
    loom_fft_shape shape;
    int64_t elements = loom_engine_elements(engine, action->buffer), one = 1;
    if (elements > 0 && action->n_buffers) return fft_of_rows(engine, action);
    if (elements == 0 || !loom_engine_fft_shape(engine, action->fft, &shape)) return NULL;
    for (uint32_t d = 0; d < shape.rank; d++) one *= shape.extents[d];
    loom_fft *fft;
    LOOM_TRY(loom_ffts_get(engine->executor->ffts, &shape, &fft));
    LOOM_TRY(loom_fft_run(fft, engine->data[action->buffer], engine->data[action->buffer2], elements / one,
                          &engine->executor->cancelled));
    loom_count_fft(&engine->threads[0].work, fft, elements / one);
    return loom_engine_cancelled(engine);
}

static loom_status *act_copy(loom_engine *engine, const loom_plan_action *action) {
    uint64_t from, to;
    LOOM_TRY(loom_engine_size(engine, action->buffer, &from));
    LOOM_TRY(loom_engine_size(engine, action->buffer2, &to));
    if (from != to) {
        return loom_error(LOOM_E_INTERNAL, "plan copies a buffer of %" PRIu64 " bytes to one of %" PRIu64, from, to);
    }
    loom_engine_copy(engine->executor, engine->data[action->buffer], engine->data[action->buffer2], from);
    return NULL;
}

/* Storage for `bytes` more behind what is there: twice as much as before, where that suffices and memory does. */
static loom_status *make_room(loom_engine *engine, uint32_t b, uint64_t bytes) {
    loom_memory *memory = engine->executor->memory;
    loom_block *block = &engine->blocks[b], larger = {0};
    uint64_t need = engine->filled[b] + bytes, twice = block->bytes <= INT64_MAX / 2 ? 2 * block->bytes : block->bytes;
    if (need < bytes || need > INT64_MAX) return loom_error(LOOM_E_LIMIT, "what a loop gives is too large");
    if (need <= block->bytes) return NULL;
    loom_status *status = loom_memory_take(memory, need > twice ? need : twice, "what a loop gives", &larger);
    if (status && twice > need) {
        loom_status_free(status);
        status = loom_memory_take(memory, need, "what a loop gives", &larger);
    }
    if (status) return status;
    loom_engine_copy(engine->executor, engine->data[b], larger.data, engine->filled[b]);
    loom_memory_give(memory, block);
    *block = larger;
    engine->data[b] = larger.data;
    return NULL;
}

static loom_status *act_append(loom_engine *engine, const loom_plan_action *action) {
    uint64_t bytes, *filled = &engine->filled[action->buffer2];
    LOOM_TRY(loom_engine_size(engine, action->buffer, &bytes));
    LOOM_TRY(make_room(engine, action->buffer2, bytes));
    char *to = engine->data[action->buffer2];
    loom_engine_copy(engine->executor, engine->data[action->buffer], to + *filled, bytes);
    *filled += bytes;
    return NULL;
}

/* ---- control ---- */

static loom_status *run_actions(loom_engine *engine, uint32_t from, uint32_t to, int nesting, bool *left);

/* What the turns have appended is as much as the buffers have from here on. */
static loom_status *check_appended(const loom_engine *engine, uint32_t from, uint32_t to) {
    for (uint32_t at = from; at < to; at++) {
        const loom_plan_action *action = &engine->plan->actions[at];
        uint64_t bytes;
        if (action->kind != LOOM_ACT_APPEND || !engine->data[action->buffer2]) continue;
        LOOM_TRY(loom_engine_size(engine, action->buffer2, &bytes));
        if (bytes == engine->filled[action->buffer2]) continue;
        return loom_error(LOOM_E_INTERNAL, "the turns of a loop give %" PRIu64 " bytes, not %" PRIu64,
                          engine->filled[action->buffer2], bytes);
    }
    return NULL;
}

static loom_status *act_loop(loom_engine *engine, uint32_t at, int nesting) {
    const loom_plan_action *action = &engine->plan->actions[at];
    int64_t count = INT64_MAX;
    if (action->extent != LOOM_NO_EXTENT) count = engine->extents[action->extent]; /* below 0: no turns */
    bool left = false;
    for (int64_t turn = 0; turn < count && !left; turn++) {
        if (action->buffer < engine->plan->n_buffers && engine->data[action->buffer]) {
            *(int64_t *)engine->data[action->buffer] = turn;
            read_scalar_extents(engine);
        }
        LOOM_TRY(run_actions(engine, at + 1, at + 1 + action->n_inner, nesting + 1, &left));
        if (action->extent != LOOM_NO_EXTENT) loom_engine_count(engine, LOOM_COUNTED_EVALUATIONS, 2);
        /* What follows from wrong values need not end. */
        LOOM_TRY(loom_engine_raised(engine));
    }
    return check_appended(engine, at + 1, at + 1 + action->n_inner);
}

static loom_status *act_if(loom_engine *engine, uint32_t at, int nesting, bool *left) {
    const loom_plan_action *action = &engine->plan->actions[at];
    const unsigned char *condition = engine->data[action->buffer];
    uint32_t inner = at + 1, other = inner + action->n_inner;
    if (*condition) return run_actions(engine, inner, other, nesting + 1, left);
    return run_actions(engine, other, other + action->n_else, nesting + 1, left);
}

static loom_status *act_rows(loom_engine *engine, uint32_t at, int nesting) {
    const loom_plan_action *action = &engine->plan->actions[at];
    bool done, left = false;
    loom_status *raised = NULL, *status = NULL;
    LOOM_TRY(loom_engine_rows(engine, action, &done, &raised));
    engine->rows_apart = !done;
    if (done) return NULL;
    for (uint32_t i = 0; i < action->n_buffers && !status; i++) status = allocate(engine, at, action->buffers[i]);
    if (!status) status = run_actions(engine, at + 1, at + 1 + action->n_inner, nesting + 1, &left);
    for (uint32_t i = 0; i < action->n_buffers; i++) act_free(engine, action->buffers[i]);
    if (!status || !raised) {
        loom_status_free(raised);
        return status;
    }
    /* There was no memory to find out more. */
    loom_status_free(status);
    return raised;
}

static loom_status *missing(const loom_engine *engine, uint32_t b) {
    if (b >= engine->plan->n_buffers || engine->data[b]) return NULL;
    const char *name = engine->plan->buffers[b].name;
    return loom_error(LOOM_E_INTERNAL, "plan uses buffer %u ('%s') before it is there", b, name ? name : "");
}

/* Buffers that the executor itself touches must be there; what kernels touch is the code generator's word. */
static loom_status *check_present(const loom_engine *engine, const loom_plan_action *action) {
    switch (action->kind) {
    case LOOM_ACT_FFT:
    case LOOM_ACT_APPEND:
    case LOOM_ACT_COPY: LOOM_TRY(missing(engine, action->buffer)); return missing(engine, action->buffer2);
    case LOOM_ACT_OFFSETS:
        LOOM_TRY(missing(engine, action->buffer));
        LOOM_TRY(missing(engine, action->buffer2));
        return missing(engine, action->buffers[0]);
    case LOOM_ACT_SORT:
        LOOM_TRY(missing(engine, action->buffer));
        LOOM_TRY(missing(engine, action->buffer2));
        for (uint32_t i = 0; i < action->n_buffers; i++) LOOM_TRY(missing(engine, action->buffers[i]));
        return NULL;
    case LOOM_ACT_FILL:
    case LOOM_ACT_BREAK:
    case LOOM_ACT_IF: return missing(engine, action->buffer);
    case LOOM_ACT_REDUCE:
    case LOOM_ACT_PERMUTE:
        for (uint32_t i = 0; i < action->n_buffers; i++) LOOM_TRY(missing(engine, action->buffers[i]));
        return NULL;
    default: return NULL;
    }
}

static loom_status *run_one(loom_engine *engine, uint32_t at, int nesting, bool *left) {
    const loom_plan_action *action = &engine->plan->actions[at];
    LOOM_TRY(check_present(engine, action));
    switch (action->kind) {
    case LOOM_ACT_ALLOC: return act_alloc(engine, at);
    case LOOM_ACT_FREE: act_free(engine, action->buffer); return NULL;
    case LOOM_ACT_KERNEL: return act_kernel(engine, action, &engine->actions[at]);
    case LOOM_ACT_REDUCE: return loom_engine_reduce(engine, action);
    case LOOM_ACT_FFT: return act_fft(engine, action);
    case LOOM_ACT_PERMUTE: return loom_engine_permute(engine, action);
    case LOOM_ACT_COPY: return act_copy(engine, action);
    case LOOM_ACT_APPEND: return act_append(engine, action);
    case LOOM_ACT_FILL:
        loom_engine_fill(engine->executor, engine->plan->buffers[action->buffer].dtype, action->value,
                         engine->data[action->buffer], loom_engine_elements(engine, action->buffer));
        return NULL;
    case LOOM_ACT_LOOP: return act_loop(engine, at, nesting);
    case LOOM_ACT_BREAK: act_break(engine, action, left); return NULL;
    case LOOM_ACT_IF: return act_if(engine, at, nesting, left);
    case LOOM_ACT_SWAP: act_swap(engine, action->buffer, action->buffer2); return NULL;
    case LOOM_ACT_ROWS: return act_rows(engine, at, nesting);
    case LOOM_ACT_OFFSETS: return loom_engine_offsets(engine, action);
    case LOOM_ACT_SORT: return loom_engine_sort(engine, action);
    }
    return loom_error(LOOM_E_INTERNAL, "plan has an action of unknown kind %d", (int)action->kind);
}

static uint64_t bytes_touched(const loom_engine *engine, const loom_plan_action *action) {
    uint64_t all = 0, bytes;
    for (uint32_t i = 0; i < action->n_touched; i++) {
        loom_status *unknown = loom_engine_size(engine, action->touched[i], &bytes);
        if (!unknown) all += bytes;
        loom_status_free(unknown);
    }
    return all;
}

static void note_time(loom_engine *engine, uint32_t at, double seconds) {
    const loom_plan_action *action = &engine->plan->actions[at];
    loom_run_time *time = &engine->times[engine->actions[at].time];
    time->calls++;
    loom_engine_count_action(engine, action);
    loom_engine_take_work(engine, &time->work);
    /* What is inside is noted by itself. */
    bool apart = action->kind == LOOM_ACT_LOOP || action->kind == LOOM_ACT_IF ||
                 (action->kind == LOOM_ACT_ROWS && engine->rows_apart);
    if (apart) return;
    time->seconds += seconds;
    time->bytes += bytes_touched(engine, action);
}

static loom_status *run_actions(loom_engine *engine, uint32_t from, uint32_t to, int nesting, bool *left) {
    if (nesting > LOOM_PLAN_MAX_NESTING)
        return loom_error(LOOM_E_LIMIT, "plan nests more than %d loops", LOOM_PLAN_MAX_NESTING);
    for (uint32_t at = from; at < to && !*left;) {
        const loom_plan_action *action = &engine->plan->actions[at];
        LOOM_TRY(loom_engine_cancelled(engine));
        LOOM_TRY(find_ffts(engine));
        double start = loom_seconds();
        LOOM_TRY(run_one(engine, at, nesting, left));
        /* What follows may rely on what a kernel has checked; the caller names the error. */
        if (loom_engine_has_raised(engine)) return NULL;
        read_scalar_extents(engine);
        note_time(engine, at, loom_seconds() - start);
        at += 1 + action->n_inner + action->n_else;
    }
    return NULL;
}

loom_status *loom_engine_run(loom_engine *engine, uint32_t from, uint32_t to) {
    bool left = false;
    engine->raised_element = -1;
    read_scalar_extents(engine); /* of inputs, and of states that another chunk has made */
    loom_status *status = run_actions(engine, from, to, 0, &left);
    /* An error of the program explains any other failure: it is named instead. */
    loom_status *raised = loom_engine_raised(engine);
    if (raised) {
        loom_status_free(status);
        return raised;
    }
    return status;
}
