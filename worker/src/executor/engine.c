#include "executor/engine.h"
#include "common/buffer.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 64

/* ---- creation ---- */

static loom_status *link_kernels(loom_engine *engine, const void *object, size_t length) {
    const loom_plan *plan = engine->plan;
    engine->kernels = loom_xcalloc((size_t)plan->n_kernels + 1, sizeof *engine->kernels);
    if (plan->n_kernels == 0) return NULL;
    const char **symbols = loom_xcalloc(plan->n_kernels, sizeof *symbols);
    for (uint32_t k = 0; k < plan->n_kernels; k++) symbols[k] = plan->kernels[k].symbol;
    loom_status *status = loom_object_link(object, length, symbols, plan->n_kernels, engine->kernels, &engine->object);
    free(symbols);
    return status;
}

static void set_up_extents(loom_engine *engine) {
    const loom_plan *plan = engine->plan;
    engine->extents = loom_xcalloc((size_t)plan->n_extents + 1, sizeof *engine->extents);
    engine->scalar_extents = loom_xcalloc((size_t)plan->n_extents + 1, sizeof *engine->scalar_extents);
    for (uint32_t e = 0; e < plan->n_extents; e++) {
        if (plan->extents[e].kind == LOOM_EXTENT_CONST) engine->extents[e] = plan->extents[e].value;
        bool computed = plan->extents[e].kind == LOOM_EXTENT_SCALAR || plan->extents[e].kind == LOOM_EXTENT_SEGMENTED;
        if (computed) engine->scalar_extents[engine->n_scalar_extents++] = e;
    }
}

/* Zeroed; small. */
static void *aligned_small(size_t alignment, size_t bytes) {
    void *data = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (!data) {
        fprintf(stderr, "gridloom: no memory for %zu bytes\n", bytes);
        abort();
    }
    return memset(data, 0, bytes);
}

_Static_assert(sizeof(atomic_bool) == 1, "kernels read a byte");

static void set_up_threads(loom_engine *engine) {
    engine->n_threads = loom_pool_threads(engine->executor->pool);
    engine->threads = aligned_small(_Alignof(loom_thread), (size_t)engine->n_threads * sizeof *engine->threads);
    for (int t = 0; t < engine->n_threads; t++) {
        loom_thread *thread = &engine->threads[t];
        thread->frame = (loom_kernel_frame){.buffers = engine->data,
                                            .extents = engine->extents,
                                            .error = &thread->error,
                                            .runtime = &loom_engine_runtime,
                                            .executor = engine,
                                            .work = &thread->work,
                                            .stop = (const volatile unsigned char *)&engine->executor->cancelled};
    }
}

/* Actions with equal labels share an entry. */
static uint32_t time_of(loom_engine *engine, const char *label) {
    for (size_t t = 0; t < engine->n_times; t++) {
        if (strcmp(engine->times[t].label, label) == 0) return (uint32_t)t;
    }
    engine->times[engine->n_times].label = label;
    return (uint32_t)engine->n_times++;
}

static void set_up_times(loom_engine *engine) {
    const loom_plan *plan = engine->plan;
    engine->actions = loom_xcalloc((size_t)plan->n_actions + 1, sizeof *engine->actions);
    engine->times = loom_xcalloc((size_t)plan->n_actions + 1, sizeof *engine->times);
    for (uint32_t a = 0; a < plan->n_actions; a++) {
        const char *label = plan->actions[a].label;
        engine->actions[a].time = time_of(engine, label ? label : "");
    }
}

/* ---- the order of binding ---- */

/* What tells an extent is bound before whoever has it: lengths before what is in their rows, so by the number of levels
 * whose rows may differ; among equals those first that INPUT extents refer to. */
static void set_up_bound(loom_engine *engine) {
    const loom_plan *plan = engine->plan;
    uint8_t *turn = loom_xcalloc((size_t)plan->n_buffers + 1, sizeof *turn);
    for (uint32_t b = 0; b < plan->n_buffers; b++) {
        const loom_plan_buffer *buffer = &plan->buffers[b];
        turn[b] = 1;
        for (uint32_t k = 0; k < buffer->n_extents; k++) {
            turn[b] = (uint8_t)(turn[b] + 2 * (plan->extents[buffer->extents[k]].kind == LOOM_EXTENT_SEGMENTED));
        }
    }
    for (uint32_t e = 0; e < plan->n_extents; e++) {
        if (plan->extents[e].kind == LOOM_EXTENT_INPUT) turn[plan->extents[e].buffer] &= 0xfe;
    }
    engine->bound = loom_xcalloc((size_t)plan->n_buffers + 1, sizeof *engine->bound);
    uint8_t last = 0;
    for (uint32_t b = 0; b < plan->n_buffers; b++) last = turn[b] > last ? turn[b] : last;
    for (uint8_t t = 0; t <= last; t++) {
        for (uint32_t b = 0; b < plan->n_buffers; b++) {
            bool comes = plan->buffers[b].storage <= LOOM_STORE_CONSTANT;
            if (comes && turn[b] == t) engine->bound[engine->n_bound++] = b;
        }
    }
    free(turn);
}

loom_status *loom_engine_create(loom_executor *executor, const loom_plan *plan, const void *object, size_t length,
                                loom_engine **engine) {
    loom_engine *made = loom_xcalloc(1, sizeof *made);
    made->executor = executor;
    made->plan = plan;
    made->data = loom_xcalloc((size_t)plan->n_buffers + 1, sizeof *made->data);
    made->blocks = loom_xcalloc((size_t)plan->n_buffers + 1, sizeof *made->blocks);
    made->filled = loom_xcalloc((size_t)plan->n_buffers + 1, sizeof *made->filled);
    made->of_chunk = loom_xcalloc((size_t)plan->n_buffers + 1, sizeof *made->of_chunk);
    made->lists = loom_xcalloc((size_t)plan->n_buffers + 1, sizeof *made->lists);
    made->per_element = loom_xcalloc((size_t)plan->n_extents + 1, sizeof *made->per_element);
    for (uint32_t e = 0; e < plan->n_extents; e++) made->per_element[e] = -1;
    made->ffts = loom_xcalloc((size_t)plan->n_ffts + 1, sizeof *made->ffts);
    made->ffts_stale = true;
    made->first = aligned_small(ALIGNMENT, sizeof *made->first);
    set_up_extents(made);
    set_up_bound(made);
    set_up_threads(made);
    set_up_times(made);
    for (uint32_t b = 0; b < plan->n_buffers; b++) {
        if (plan->buffers[b].storage == LOOM_STORE_FIRST) made->data[b] = made->first;
    }
    loom_status *status = link_kernels(made, object, length);
    if (status) {
        loom_engine_destroy(made);
        return status;
    }
    *engine = made;
    return NULL;
}

void loom_engine_destroy(loom_engine *engine) {
    if (!engine) return;
    loom_memory *memory = engine->executor->memory;
    for (uint32_t b = 0; b < engine->plan->n_buffers; b++) loom_memory_give(memory, &engine->blocks[b]);
    for (int t = 0; t < engine->n_threads; t++) loom_memory_give(memory, &engine->threads[t].scratch);
    loom_object_destroy(engine->object);
    free(engine->first);
    free(engine->kernels);
    free(engine->ffts);
    free(engine->extents);
    free(engine->bound);
    free(engine->scalar_extents);
    free(engine->data);
    free(engine->blocks);
    free(engine->filled);
    free(engine->of_chunk);
    free(engine->lists);
    free(engine->per_element);
    free(engine->threads);
    free(engine->actions);
    free(engine->times);
    free(engine);
}

/* ---- extents and sizes ---- */

loom_status *loom_engine_extent(loom_engine *engine, uint32_t extent, int64_t *value) {
    if (extent == LOOM_NO_EXTENT) {
        *value = 1;
        return NULL;
    }
    int64_t e = engine->extents[extent];
    if (e < 0) {
        /* Where a kernel has raised, the size came of a harmless value and that error is the one to name. */
        LOOM_TRY(loom_engine_raised(engine));
        return loom_error(LOOM_E_RUNTIME, "an array of negative size: %" PRId64, e);
    }
    *value = e;
    return NULL;
}

/* A segmented extent stands for all before it. */
static uint32_t gather_extents(const loom_engine *engine, uint32_t buffer, int64_t extents[LOOM_MAX_DEPTH]) {
    const loom_plan_buffer *b = &engine->plan->buffers[buffer];
    uint32_t n = 0;
    for (uint32_t k = 0; k < b->n_extents; k++) {
        if (engine->plan->extents[b->extents[k]].kind == LOOM_EXTENT_SEGMENTED) n = 0;
        extents[n++] = engine->extents[b->extents[k]];
    }
    return n;
}

loom_status *loom_engine_size(const loom_engine *engine, uint32_t buffer, uint64_t *bytes) {
    const loom_plan_buffer *b = &engine->plan->buffers[buffer];
    int64_t extents[LOOM_MAX_DEPTH];
    if (b->n_extents > LOOM_MAX_DEPTH)
        return loom_error(LOOM_E_LIMIT, "buffer '%s' has %u axes", b->name, b->n_extents);
    uint32_t n = gather_extents(engine, buffer, extents);
    LOOM_TRY(loom_bytes_of(b->dtype, n, extents, bytes));
    uint64_t more = b->offsets ? LOOM_OFFSETS_MORE * loom_dtype_size(b->dtype) : 0;
    if (*bytes > INT64_MAX - more) return loom_error(LOOM_E_LIMIT, "buffer '%s' is too large", b->name);
    *bytes += more;
    return NULL;
}

/* Of a buffer that is there, so that its size has been checked. */
int64_t loom_engine_elements(const loom_engine *engine, uint32_t buffer) {
    int64_t n = 1, extents[LOOM_MAX_DEPTH];
    uint32_t levels = gather_extents(engine, buffer, extents);
    for (uint32_t k = 0; k < levels; k++) n *= extents[k];
    return n;
}

void loom_engine_set_chunk(loom_engine *engine, int64_t count) {
    for (uint32_t e = 0; e < engine->plan->n_extents; e++) {
        if (engine->plan->extents[e].kind == LOOM_EXTENT_CHUNK) engine->extents[e] = count;
    }
    engine->ffts_stale = true;
}

/* ---- binding ---- */

static loom_status *check_leaf(const loom_engine *engine, uint32_t buffer, const loom_leaf *leaf, bool column) {
    const loom_plan_buffer *b = &engine->plan->buffers[buffer];
    if (leaf->dtype != b->dtype || leaf->depth + !column != b->n_extents + !column || leaf->depth != b->n_extents) {
        return loom_error(LOOM_E_DATA, "'%s' is %s with %u levels; the stage was compiled for %s with %u", b->name,
                          loom_dtype_name(leaf->dtype), leaf->depth, loom_dtype_name(b->dtype), b->n_extents);
    }
    return NULL;
}

/* Levels that the stage was compiled for as regular. */
static loom_status *check_regular(const loom_engine *engine, uint32_t buffer, const loom_leaf *leaf, uint32_t first) {
    const loom_plan_buffer *b = &engine->plan->buffers[buffer];
    for (uint32_t i = first; i < b->n_extents; i++) {
        bool rows = engine->plan->extents[b->extents[i]].kind == LOOM_EXTENT_SEGMENTED;
        if (rows || leaf->extents[i - first] != LOOM_IRREGULAR) continue;
        return loom_error(LOOM_E_DATA, "'%s' is irregular; the stage was compiled for rows of equal length", b->name);
    }
    return NULL;
}

/* INPUT extents that refer to this buffer take the leaf's extents; all others that the buffer has must agree with it.
 * Where an array has no rows the inner extents are 0 and say nothing. */
static loom_status *match_extents(loom_engine *engine, uint32_t buffer, const loom_leaf *leaf, int64_t outer) {
    const loom_plan *plan = engine->plan;
    const loom_plan_buffer *b = &plan->buffers[buffer];
    for (uint32_t e = 0; e < plan->n_extents; e++) {
        const loom_plan_extent *x = &plan->extents[e];
        if (x->kind != LOOM_EXTENT_INPUT || x->buffer != buffer || x->level >= leaf->depth) continue;
        int64_t value = x->level == 0 && outer >= 0 ? outer : leaf->extents[x->level];
        if (engine->extents[e] != value) engine->ffts_stale = true;
        engine->extents[e] = value;
    }
    for (uint32_t k = 0; k < b->n_extents; k++) {
        if (plan->extents[b->extents[k]].kind == LOOM_EXTENT_SEGMENTED) continue;
        int64_t have = k == 0 && outer >= 0 ? outer : leaf->extents[k];
        if (leaf->n_data > 0 && have != engine->extents[b->extents[k]]) {
            return loom_error(LOOM_E_DATA,
                              "'%s' has extent %" PRId64 " at level %u; the stage was compiled for %" PRId64, b->name,
                              have, k, engine->extents[b->extents[k]]);
        }
    }
    return NULL;
}

bool loom_engine_is_aligned(const void *data) {
    return (uintptr_t)data % ALIGNMENT == 0;
}

static loom_status *own_copy(loom_engine *engine, uint32_t buffer, const void *from, uint64_t bytes, uint64_t copies) {
    loom_memory *memory = engine->executor->memory;
    uint64_t total;
    if (__builtin_mul_overflow(bytes, copies, &total)) {
        return loom_error(LOOM_E_LIMIT, "'%s' is too large", engine->plan->buffers[buffer].name);
    }
    LOOM_TRY(loom_memory_take(memory, total, engine->plan->buffers[buffer].name, &engine->blocks[buffer]));
    char *to = engine->blocks[buffer].data;
    for (uint64_t i = 0; i < copies && bytes; i++) loom_engine_copy(engine->executor, from, to + i * bytes, bytes);
    engine->data[buffer] = to;
    return NULL;
}

/* `copies` times the lengths of the buffer's level. */
static loom_status *bind_lengths(loom_engine *engine, uint32_t buffer, const loom_leaf *leaf, const loom_lists *lists,
                                 uint32_t k, int64_t copies) {
    loom_memory *memory = engine->executor->memory;
    int64_t n = lists->count[k], all;
    uint64_t bytes;
    if (__builtin_mul_overflow(n, copies, &all)) {
        return loom_error(LOOM_E_LIMIT, "'%s' is too large", engine->plan->buffers[buffer].name);
    }
    engine->lists[buffer] = all;
    loom_memory_give(memory, &engine->blocks[buffer]);
    const int64_t *own = n && leaf->extents[k] == LOOM_IRREGULAR ? leaf->lengths[k] + lists->begin[k] : NULL;
    if (own && copies == 1 && n && loom_engine_is_aligned(own)) {
        engine->data[buffer] = (void *)(uintptr_t)own;
        return NULL;
    }
    LOOM_TRY(loom_bytes_of(LOOM_I64, 1, &all, &bytes));
    LOOM_TRY(loom_memory_take(memory, bytes, engine->plan->buffers[buffer].name, &engine->blocks[buffer]));
    int64_t *to = engine->data[buffer] = engine->blocks[buffer].data;
    for (int64_t c = 0; c < copies && n; c++) loom_leaf_lengths(leaf, k, lists->begin[k], n, to + c * n);
    return NULL;
}

loom_status *loom_engine_bind(loom_engine *engine, uint32_t buffer, const loom_leaf *leaf, int64_t from,
                              int64_t count) {
    const loom_plan_buffer *b = &engine->plan->buffers[buffer];
    loom_lists lists;
    if (!b->lengths_of) LOOM_TRY(check_leaf(engine, buffer, leaf, count >= 0));
    if (b->lengths_of && leaf->depth <= b->lengths_of) {
        return loom_error(LOOM_E_DATA, "'%s' has fewer levels than the stage was compiled for", b->name);
    }
    LOOM_TRY(check_regular(engine, buffer, leaf, 0));
    LOOM_TRY(match_extents(engine, buffer, leaf, count));
    LOOM_TRY(loom_leaf_lists(leaf, from, count, &lists));
    LOOM_TRY(loom_engine_match_rows(engine, buffer, leaf, &lists, 0, 1));
    if (b->lengths_of) return bind_lengths(engine, buffer, leaf, &lists, b->lengths_of, 1);
    const char *data = leaf->data;
    uint64_t size = loom_dtype_size(leaf->dtype), bytes = (uint64_t)lists.count[leaf->depth] * size;
    if (bytes) data += (uint64_t)lists.begin[leaf->depth] * size;
    loom_memory_give(engine->executor->memory, &engine->blocks[buffer]);
    if (data && loom_engine_is_aligned(data)) {
        engine->data[buffer] = (void *)(uintptr_t)data;
        return NULL;
    }
    return own_copy(engine, buffer, data, bytes, 1);
}

loom_status *loom_engine_bind_repeated(loom_engine *engine, uint32_t buffer, const loom_leaf *leaf, int64_t count) {
    const loom_plan_buffer *b = &engine->plan->buffers[buffer];
    bool fits =
        b->lengths_of ? leaf->depth + 1 > b->lengths_of : leaf->dtype == b->dtype && leaf->depth + 1 == b->n_extents;
    if (!fits) return loom_error(LOOM_E_DATA, "constant field '%s' does not fit the stage as compiled", b->name);
    LOOM_TRY(check_regular(engine, buffer, leaf, 1));
    loom_lists lists;
    LOOM_TRY(loom_leaf_lists(leaf, 0, -1, &lists));
    LOOM_TRY(loom_engine_match_rows(engine, buffer, leaf, &lists, 1, count));
    if (b->lengths_of) return bind_lengths(engine, buffer, leaf, &lists, b->lengths_of - 1, count);
    for (uint32_t k = 0; k < leaf->depth; k++) {
        if (engine->plan->extents[b->extents[k + 1]].kind == LOOM_EXTENT_SEGMENTED) continue;
        if (leaf->n_data > 0 && engine->extents[b->extents[k + 1]] != leaf->extents[k]) {
            return loom_error(LOOM_E_DATA, "constant field '%s' has another size than the stage was compiled for",
                              b->name);
        }
    }
    loom_memory_give(engine->executor->memory, &engine->blocks[buffer]);
    return own_copy(engine, buffer, leaf->data, (uint64_t)leaf->n_data * loom_dtype_size(leaf->dtype), (uint64_t)count);
}

void loom_engine_end_chunk(loom_engine *engine) {
    for (uint32_t b = 0; b < engine->plan->n_buffers; b++) {
        if (!engine->of_chunk[b] && engine->plan->buffers[b].storage != LOOM_STORE_COLUMN) continue;
        loom_memory_give(engine->executor->memory, &engine->blocks[b]);
        engine->data[b] = NULL;
        engine->of_chunk[b] = false;
    }
    engine->in_chunk = false;
    engine->accumulating = false;
}

/* ---- scratch ---- */

uint64_t loom_engine_scratch_bytes(const loom_engine *engine, uint32_t kernel) {
    const loom_plan_kernel *k = &engine->plan->kernels[kernel];
    if (k->scratch_kind == 0) return k->scratch;
    int64_t extent = engine->extents[k->scratch_extent];
    uint64_t more;
    if (extent < 0 || __builtin_mul_overflow((uint64_t)extent, k->scratch_per, &more) ||
        __builtin_add_overflow(more, k->scratch, &more)) {
        return UINT64_MAX;
    }
    return more;
}

loom_status *loom_engine_scratch(loom_engine *engine, uint32_t kernel) {
    uint64_t bytes = loom_engine_scratch_bytes(engine, kernel);
    for (int t = 0; t < engine->n_threads; t++) {
        loom_thread *thread = &engine->threads[t];
        if (bytes > thread->scratch.bytes) {
            loom_memory_give(engine->executor->memory, &thread->scratch);
            thread->frame.scratch = NULL;
            LOOM_TRY(loom_memory_take(engine->executor->memory, bytes, "the scratch of a thread", &thread->scratch));
            thread->frame.scratch = thread->scratch.data;
        }
    }
    return NULL;
}

/* ---- what a chunk needs ---- */

static uint64_t add(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Bytes of one action besides the buffers: workspace, counted while it runs. */
static uint64_t workspace(const loom_engine *engine, const loom_plan_action *action) {
    switch (action->kind) {
    case LOOM_ACT_REDUCE: return loom_engine_reduce_bytes(engine, action);
    case LOOM_ACT_PERMUTE: return loom_engine_permute_bytes(engine, action);
    case LOOM_ACT_ROWS: return loom_engine_rows_bytes(engine, action);
    case LOOM_ACT_SORT: return loom_engine_sort_bytes(engine, action);
    default: return 0;
    }
}

static uint64_t scratch_of(const loom_engine *engine, const loom_plan_action *action) {
    uint64_t most = 0;
    if (action->kind == LOOM_ACT_KERNEL || action->kind == LOOM_ACT_REDUCE || action->kind == LOOM_ACT_PERMUTE) {
        most = loom_engine_scratch_bytes(engine, action->kernel);
    }
    if (action->kind == LOOM_ACT_PERMUTE) {
        uint64_t second = loom_engine_scratch_bytes(engine, action->kernel2);
        if (second > most) most = second;
    }
    return most;
}

uint64_t loom_engine_peak(const loom_engine *engine, uint32_t from, uint32_t to, int64_t count) {
    const loom_plan *plan = engine->plan;
    /* The chunk's length is put in place for the sum only. */
    loom_engine probe = *engine;
    probe.extents = loom_xcalloc((size_t)plan->n_extents + 1, sizeof *probe.extents);
    for (uint32_t e = 0; e < plan->n_extents; e++) {
        probe.extents[e] = plan->extents[e].kind == LOOM_EXTENT_CHUNK ? count : engine->extents[e];
        if (plan->extents[e].kind == LOOM_EXTENT_SEGMENTED && engine->per_element[e] >= 0) {
            double expected = engine->per_element[e] * (double)count;
            probe.extents[e] = expected < 0x1p62 ? (int64_t)expected + 1 : INT64_MAX / 2;
        }
    }
    uint64_t *sizes = loom_xcalloc((size_t)plan->n_buffers + 1, sizeof *sizes);
    uint64_t live = 0, peak = 0, scratch = 0;
    for (uint32_t a = from; a < to; a++) {
        const loom_plan_action *action = &plan->actions[a];
        uint64_t bytes = 0;
        if (action->kind == LOOM_ACT_ALLOC) {
            loom_status *status = loom_engine_size(&probe, action->buffer, &bytes);
            if (status) bytes = loom_status_code(status) == LOOM_E_LIMIT ? UINT64_MAX - (1u << 22) : 0;
            loom_status_free(status);
            live = add(live - sizes[action->buffer], loom_memory_rounded(bytes));
            sizes[action->buffer] = loom_memory_rounded(bytes);
        }
        if (action->kind == LOOM_ACT_FREE) {
            live -= sizes[action->buffer];
            sizes[action->buffer] = 0;
        }
        uint64_t now = add(live, workspace(&probe, action));
        if (now > peak) peak = now;
        uint64_t per_thread = scratch_of(&probe, action);
        if (per_thread > scratch) scratch = per_thread;
    }
    free(sizes);
    free(probe.extents);
    uint64_t have = engine->threads[0].scratch.bytes;
    if (scratch > have) {
        uint64_t more = loom_memory_rounded(scratch < UINT64_MAX / 4096 ? scratch : UINT64_MAX / 4096);
        peak = add(peak, (more - have) * (uint64_t)engine->n_threads);
    }
    return peak;
}
