/* A block through a compiled plan, in one chunk or, where memory is short, in several. */
#include "common/buffer.h"
#include "executor/run.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Chunks shorter than the block are multiples of this, so that their columns stay aligned. */
#define CHUNK_UNIT 64
/* Chunks are not cut below this but for lack of memory: their parallel loops would be too short. */
#define LEAST_CHUNK 2048

static const char *leaf_name(const loom_run *run, uint32_t slot, uint32_t leaf) {
    const loom_graph_slot *s = &run->graph->slots[slot];
    return leaf < s->n_leaves ? s->leaves[leaf].name : NULL;
}

static loom_status *no_leaf(const loom_run *run, uint32_t buffer, const char *what) {
    const loom_plan_buffer *b = &run->engine->plan->buffers[buffer];
    return loom_error(LOOM_E_INTERNAL, "plan wants leaf %u of %s %u ('%s'), which there is not", b->leaf, what,
                      b->source, b->name);
}

loom_status *loom_run_bind_input(loom_run *run, uint32_t buffer) {
    const loom_plan_buffer *b = &run->engine->plan->buffers[buffer];
    if (b->source >= run->stage->n_inputs) return no_leaf(run, buffer, "input");
    const loom_value *input = run->inputs[b->source];
    if (!input || b->leaf >= input->n_leaves) return no_leaf(run, buffer, "input");
    return loom_engine_bind(run->engine, buffer, &input->leaves[b->leaf], 0, -1);
}

static loom_status *bind_constant(loom_run *run, uint32_t buffer) {
    const loom_plan_buffer *b = &run->engine->plan->buffers[buffer];
    if (b->source >= run->stage->n_streams) return no_leaf(run, buffer, "stream");
    const char *name = leaf_name(run, run->stage->streams[b->source], b->leaf);
    const loom_value *constants = run->constants[b->source];
    const loom_leaf *leaf = name && constants ? loom_value_find(constants, name) : NULL;
    if (!leaf) return no_leaf(run, buffer, "the constants of stream");
    return loom_engine_bind(run->engine, buffer, leaf, 0, -1);
}

loom_status *loom_run_bind_fixed(loom_run *run) {
    const loom_engine *engine = run->engine;
    for (uint32_t i = 0; i < engine->n_bound; i++) {
        loom_storage storage = engine->plan->buffers[engine->bound[i]].storage;
        if (storage == LOOM_STORE_INPUT) LOOM_TRY(loom_run_bind_input(run, engine->bound[i]));
        if (storage == LOOM_STORE_CONSTANT) LOOM_TRY(bind_constant(run, engine->bound[i]));
    }
    return NULL;
}

static loom_status *bind_column(loom_run *run, uint32_t buffer, loom_value *const *streams, int64_t from,
                                int64_t count) {
    const loom_plan_buffer *b = &run->engine->plan->buffers[buffer];
    if (b->source >= run->stage->n_streams) return no_leaf(run, buffer, "stream");
    const char *name = leaf_name(run, run->stage->streams[b->source], b->leaf);
    if (!name) return no_leaf(run, buffer, "stream");
    const loom_leaf *leaf = loom_value_find(streams[b->source], name);
    if (leaf && run->engine == run->tested) return loom_run_bind_tested(run, buffer, leaf, from, count);
    if (leaf) return loom_engine_bind(run->engine, buffer, leaf, from, count);
    const loom_value *constants = run->constants[b->source];
    leaf = constants ? loom_value_find(constants, name) : NULL;
    if (!leaf) return no_leaf(run, buffer, "stream");
    return loom_engine_bind_repeated(run->engine, buffer, leaf, count);
}

static loom_status *bind_columns(loom_run *run, loom_value *const *streams, int64_t from, int64_t count) {
    const loom_engine *engine = run->engine;
    for (uint32_t i = 0; i < engine->n_bound; i++) {
        if (engine->plan->buffers[engine->bound[i]].storage != LOOM_STORE_COLUMN) continue;
        LOOM_TRY(bind_column(run, engine->bound[i], streams, from, count));
    }
    return NULL;
}

/* ---- memory ---- */

static uint64_t available(const loom_run *run) {
    uint64_t budget = loom_memory_budget(run->executor->memory), used = loom_memory_used(run->executor->memory);
    return used < budget ? budget - used : 0;
}

/* What comes in for a column; NULL: the buffer is none, or it is a constant of the stream. */
static const loom_leaf *column_leaf(const loom_run *run, const loom_plan_buffer *b, loom_value *const *streams) {
    if (b->storage != LOOM_STORE_COLUMN || b->source >= run->stage->n_streams) return NULL;
    const char *name = leaf_name(run, run->stage->streams[b->source], b->leaf);
    return name ? loom_value_find(streams[b->source], name) : NULL;
}

static uint64_t per_element(uint64_t bytes, const loom_leaf *leaf) {
    return bytes / (uint64_t)leaf->extents[0] + (bytes % (uint64_t)leaf->extents[0] != 0);
}

/* Of the lengths of level k: as many as there are lists; what is regular is written out. */
static uint64_t lengths_bytes(const loom_leaf *leaf, uint32_t k) {
    int64_t lists = leaf->n_data;
    if (leaf->extents[k] == LOOM_IRREGULAR) lists = leaf->n_lengths[k];
    for (uint32_t i = k; i < leaf->depth && leaf->extents[k] != LOOM_IRREGULAR; i++) {
        if (leaf->extents[i] > 0) lists /= leaf->extents[i];
    }
    return per_element((uint64_t)lists * sizeof(int64_t), leaf);
}

/* Bytes per element of the columns that will be copied: unaligned ones, and constants repeated. Where the block is cut,
 * rows that differ in length begin anywhere. */
static uint64_t copied_bytes(const loom_run *run, loom_value *const *streams, bool cut) {
    const loom_plan *plan = run->engine->plan;
    uint64_t bytes = 0;
    for (uint32_t b = 0; b < plan->n_buffers; b++) {
        const loom_plan_buffer *buffer = &plan->buffers[b];
        const loom_leaf *leaf = column_leaf(run, buffer, streams);
        if (!leaf || leaf->depth <= buffer->lengths_of || leaf->depth == 0 || leaf->extents[0] <= 0) continue;
        const void *from = buffer->lengths_of ? leaf->lengths[buffer->lengths_of] : leaf->data;
        bool anywhere = cut && !loom_leaf_is_regular(leaf);
        if (from && !anywhere && loom_engine_is_aligned(from)) continue;
        bytes += buffer->lengths_of ? lengths_bytes(leaf, buffer->lengths_of)
                                    : per_element((uint64_t)leaf->n_data * loom_dtype_size(leaf->dtype), leaf);
    }
    return bytes;
}

/* Bytes of buffers that a chunk may take without need: what it writes first has to be cleared by the system, which
 * costs as much as using it, and buffers that are used again at once are still in caches. Accumulators that are larger
 * are passed over in each chunk, so then chunks are longer. */
#define CHUNK_BYTES ((uint64_t)96 << 20)

static loom_status *accumulator_bytes(const loom_run *run, bool those_made, uint64_t *bytes);

static uint64_t worth_taking(const loom_run *run) {
    uint64_t bytes = 0;
    loom_status_free(accumulator_bytes(run, true, &bytes));
    return bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
}

/* Rows of the columns' levels for each element, on the average. */
static void expect_rows(loom_run *run, loom_value *const *streams) {
    const loom_plan *plan = run->engine->plan;
    for (uint32_t b = 0; b < plan->n_buffers; b++) {
        const loom_plan_buffer *buffer = &plan->buffers[b];
        if (!buffer->lengths_of) continue;
        const loom_leaf *leaf = column_leaf(run, buffer, streams);
        if (!leaf || leaf->depth <= buffer->lengths_of || leaf->extents[0] <= 0) continue;
        int64_t below = leaf->n_data;
        for (uint32_t k = leaf->depth - 1; k > buffer->lengths_of; k--) {
            if (leaf->extents[k] == LOOM_IRREGULAR) below = leaf->n_lengths[k];
            if (leaf->extents[k] > 0) below /= leaf->extents[k];
        }
        loom_engine_expect(run->engine, b, (double)below / (double)leaf->extents[0]);
    }
}

/* The longest chunk, halving from `count`, whose buffers fit beside the accumulators and are worth taking. `first`:
 * nothing of the block is in the accumulators yet. */
static loom_status *choose_length(loom_run *run, loom_value *const *streams, bool first, int64_t count,
                                  int64_t *length) {
    const loom_plan *plan = run->engine->plan;
    uint64_t have = available(run), need, copied = copied_bytes(run, streams, !first);
    uint64_t worth = worth_taking(run);
    expect_rows(run, streams);
    int64_t n = count, pieces = 1;
    for (;;) {
        need = loom_engine_peak(run->engine, plan->chunk_begin, plan->n_actions, n);
        uint64_t columns = copied ? loom_memory_rounded((uint64_t)n * copied) : 0;
        need = need > UINT64_MAX - columns ? UINT64_MAX : need + columns;
        if ((need <= have && (need <= worth || n <= LEAST_CHUNK)) || n <= 1) break;
        if (first && n <= LEAST_CHUNK && run->inputs_may_go) break; /* who called can make room */
        if (pieces == 1) copied = copied_bytes(run, streams, true);
        pieces *= 2;
        n = count / pieces;
        /* Rounded up, so that the last piece is not longer than the others and finds their buffers. */
        if (n > CHUNK_UNIT) n = (n / CHUNK_UNIT + 1) * CHUNK_UNIT;
    }
    if (need > have) {
        char text[4][32];
        return loom_status_note(
            loom_error(LOOM_E_MEMORY, "one element of %s needs %s of buffers; %s of the worker's %s are free",
                       run->stage->label ? run->stage->label : "the stage", loom_bytes_text((double)need, text[0]),
                       loom_bytes_text((double)have, text[1]),
                       loom_bytes_text((double)loom_memory_budget(run->executor->memory), text[2])),
            "hint: give the worker more memory (--memory)");
    }
    *length = n;
    return NULL;
}

/* Accumulators as they would be made now; with or without those that there are. */
static loom_status *accumulator_bytes(const loom_run *run, bool those_made, uint64_t *bytes) {
    *bytes = 0;
    for (uint32_t j = 0; j < run->stage->n_outputs; j++) {
        if (!run->outputs[j].in_place || (!those_made && run->outputs[j].pieces.count)) continue;
        const loom_plan_output *o = &run->engine->plan->outputs[j];
        for (uint32_t i = 0; i < o->n_leaves; i++) {
            uint64_t leaf;
            LOOM_TRY(loom_engine_size(run->engine, o->buffers[i], &leaf));
            if (__builtin_add_overflow(*bytes, loom_memory_rounded(leaf), bytes)) *bytes = UINT64_MAX;
        }
    }
    return NULL;
}

/* Said before anything runs: a job that cannot fit should not find out after an hour. */
static loom_status *refuse_if_too_large(loom_run *run) {
    const loom_plan *plan = run->engine->plan;
    uint64_t accumulators, have = available(run);
    LOOM_TRY(accumulator_bytes(run, false, &accumulators));
    uint32_t from = plan->kind == LOOM_STAGE_TRAVERSAL ? plan->chunk_begin : 0;
    uint64_t buffers = loom_engine_peak(run->engine, from, plan->n_actions, 1);
    if (accumulators <= have && buffers <= have - accumulators) return NULL;
    char text[4][32];
    return loom_status_note(
        loom_error(LOOM_E_MEMORY, "%s needs %s (accumulators %s, buffers %s at least); the worker has %s free",
                   run->stage->label ? run->stage->label : "the stage",
                   loom_bytes_text((double)(accumulators > UINT64_MAX - buffers ? UINT64_MAX : accumulators + buffers),
                                   text[0]),
                   loom_bytes_text((double)accumulators, text[1]), loom_bytes_text((double)buffers, text[2]),
                   loom_bytes_text((double)have, text[3])),
        "hint: give the worker more memory (--memory) or make the target smaller");
}

/* ---- running ---- */

loom_status *loom_run_start_engine(loom_run *run) {
    loom_engine *engine = run->engine;
    LOOM_TRY(loom_run_bind_fixed(run));
    engine->in_chunk = false;
    if (engine->plan->kind != LOOM_STAGE_TRAVERSAL) return NULL;
    return loom_engine_run(engine, 0, engine->plan->chunk_begin);
}

loom_status *loom_run_prepare(loom_run *run) {
    if (run->prepared) return NULL;
    LOOM_TRY(loom_run_start_engine(run));
    LOOM_TRY(refuse_if_too_large(run));
    run->prepared = true;
    return NULL;
}

/* What the chunk gave. Nothing has changed where that fails for lack of memory. */
static loom_status *take_outputs(loom_run *run, loom_value **made) {
    for (uint32_t j = 0; j < run->stage->n_outputs; j++) {
        if (!run->outputs[j].in_place) LOOM_TRY(loom_run_take_output(run, j, &made[j]));
    }
    return NULL;
}

/* Joins what this chunk gave, which it takes, to what the block's earlier chunks gave. */
static loom_status *join_outputs(loom_run *run, loom_value **made, loom_value **pending) {
    for (uint32_t j = 0; j < run->stage->n_outputs; j++) {
        loom_value *value = made[j], *earlier = pending[j];
        if (run->outputs[j].in_place) continue;
        made[j] = NULL;
        loom_run_carry(run, j, value);
        pending[j] = earlier ? NULL : value;
        if (earlier) LOOM_TRY(loom_run_join(run, j, earlier, value, &pending[j]));
    }
    return NULL;
}

static loom_status *take_pending(loom_run *run, loom_value **pending) {
    uint32_t n = run->stage->n_outputs;
    loom_value **made = loom_xcalloc((size_t)n + 1, sizeof *made);
    loom_status *status = take_outputs(run, made);
    if (!status) {
        status = join_outputs(run, made, pending);
        run->half_joined = status != NULL;
    }
    for (uint32_t j = 0; j < n; j++) loom_value_unref(made[j]);
    free(made);
    return status;
}

/* A chunk to be run by whichever engine. */
typedef struct chunk {
    loom_value *const *streams;
    int64_t from, count, first;
    loom_value **pending;
} chunk;

static loom_status *run_bound(loom_run *run, const chunk *c, bool *begun) {
    loom_engine *engine = run->engine;
    const loom_plan *plan = engine->plan;
    LOOM_TRY(loom_run_bind_states(run));
    LOOM_TRY(bind_columns(run, c->streams, c->from, c->count));
    LOOM_TRY(loom_run_bind_accumulators(run));
    engine->in_chunk = true;
    loom_status *status = loom_engine_run(engine, plan->chunk_begin, plan->n_actions);
    if (status && engine->raised_element >= 0) {
        loom_status_note(status, "at element %" PRId64 " of the stream", *engine->first + engine->raised_element);
    }
    *begun = !status || engine->accumulating;
    if (!status) status = take_pending(run, c->pending);
    /* Whatever failed, in the permute or after it: the accumulator may hold the chunk. */
    if (status && engine->accumulating) run->spoilt = true;
    return status;
}

static loom_status *run_by_engine(loom_run *run, void *context, bool *begun) {
    const chunk *c = context;
    *run->engine->first = c->first + c->from;
    loom_engine_set_chunk(run->engine, c->count);
    loom_status *status = run_bound(run, c, begun);
    loom_engine_end_chunk(run->engine);
    return status;
}

static loom_status *run_chunk(loom_run *run, loom_value *const *streams, int64_t from, int64_t count, int64_t first,
                              loom_value **pending) {
    chunk c = {streams, from, count, first, pending};
    bool done = false, begun = false;
    if (count > 0) LOOM_TRY(loom_run_try_tested(run, run_by_engine, &c, &done));
    return done ? NULL : run_by_engine(run, &c, &begun);
}

static bool any_in_place(const loom_run *run) {
    for (uint32_t j = 0; j < run->stage->n_outputs; j++) {
        if (run->outputs[j].in_place) return true;
    }
    return false;
}

/* Lengths that are computed are known when they have been: a chunk that was too long for memory may be tried again. */
static bool is_too_long(const loom_run *run, const loom_status *status, int64_t n) {
    return loom_status_code(status) == LOOM_E_MEMORY && n > 1 && !run->spoilt && !run->half_joined &&
           !run->inputs_may_go;
}

loom_status *loom_run_compiled(loom_run *run, loom_value *const *streams, int64_t count, int64_t first,
                               loom_value **pending) {
    LOOM_TRY(loom_run_prepare(run));
    LOOM_TRY(loom_run_bind_accumulators(run));
    int64_t length = count, from = 0;
    run->half_joined = false;
    do {
        int64_t left = count - from;
        loom_status *status = NULL;
        /* Asked for each chunk: inner extents of the columns are known once the first has been bound. */
        if (left > 0) status = choose_length(run, streams, from == 0, left, &length);
        int64_t n = length < left ? length : left;
        if (!status) status = run_chunk(run, streams, from, n, first, pending);
        while (is_too_long(run, status, n)) {
            loom_status_free(status);
            n /= 2;
            status = run_chunk(run, streams, from, n, first, pending);
        }
        if (status) {
            if (from > 0 && any_in_place(run)) run->spoilt = true;
            return status;
        }
        from += n;
    } while (from < count);
    return NULL;
}
