/* Stages on the lower rungs of the ladder: their functions evaluated by the interpreter. */
#include "common/buffer.h"
#include "common/clock.h"
#include "compiler/interp/interp.h"
#include "executor/run.h"
#include <stdlib.h>
#include <string.h>

loom_status *loom_run_program(loom_run *run) {
    if (run->program) return NULL;
    if (!run->program_bytes || run->program_length == 0) {
        return loom_error(LOOM_E_INTERNAL, "%s needs the interpreter and came without its program",
                          run->stage->label ? run->stage->label : "the stage");
    }
    loom_program *program;
    LOOM_TRY(loom_program_decode(run->arena, run->program_bytes, run->program_length, &program));
    run->program = program;
    return NULL;
}

/* `first`, `count`: the stretch of the stream that the arguments hold; count 0: none. */
static loom_status *call(loom_run *run, uint32_t f, loom_value *const *arguments, int64_t first, int64_t count,
                         loom_value **result) {
    LOOM_TRY(loom_run_program(run));
    if (f >= run->program->n_functions) {
        return loom_error(LOOM_E_INTERNAL, "function %u of a program that has %u", f, run->program->n_functions);
    }
    loom_interp_options options = {.memory_limit = loom_memory_budget(run->executor->memory),
                                   .cancel = &run->executor->cancelled,
                                   .stream_first = first,
                                   .stream_count = count};
    double start = loom_seconds();
    loom_interp_counters work = {0};
    loom_status *status = loom_interp_call(run->program, f, arguments, &options, result, &work);
    run->interpreted.work.done[LOOM_COUNTED_EVALUATIONS] += work.scalar_evaluations;
    run->interpreted.work.done[LOOM_COUNTED_MOVED] += work.elements_moved;
    run->interpreted.work.done[LOOM_COUNTED_DESCRIPTORS] += work.descriptors;
    uint64_t peak = loom_memory_used(run->executor->memory) + work.peak_bytes;
    if (peak > run->peak) run->peak = peak;
    run->interpreted.seconds += loom_seconds() - start;
    run->interpreted.calls++;
    return status;
}

static loom_status *call_stretch(loom_run *run, uint32_t f, loom_value *const *more, uint32_t n, int64_t first,
                                 int64_t count, loom_value **result) {
    uint32_t n_inputs = run->stage->n_inputs;
    loom_value **arguments = loom_xcalloc((size_t)n_inputs + n + 1, sizeof *arguments);
    for (uint32_t i = 0; i < n_inputs; i++) arguments[i] = run->inputs[i];
    for (uint32_t i = 0; i < n; i++) arguments[n_inputs + i] = more[i];
    loom_status *status = call(run, f, arguments, first, count, result);
    free(arguments);
    return status;
}

loom_status *loom_run_call(loom_run *run, uint32_t f, loom_value *const *more, uint32_t n, loom_value **result) {
    return call_stretch(run, f, more, n, 0, 0, result);
}

/* more[0] is the position, then one column value per stream. */
static loom_status *interpret_columns(loom_run *run, loom_value *const *streams, int64_t first, loom_value **more,
                                      loom_value **outputs) {
    LOOM_TRY(loom_value_i64(first, &more[0]));
    for (uint32_t s = 0; s < run->stage->n_streams; s++) LOOM_TRY(loom_run_column(run, s, streams[s], &more[1 + s]));
    int64_t count = 0;
    if (run->stage->n_streams) LOOM_TRY(loom_run_count(run, 0, streams[0], &count));
    loom_value *result;
    LOOM_TRY(call_stretch(run, run->stage->function, more, 1 + run->stage->n_streams, first, count, &result));
    return loom_run_split(run, result, outputs);
}

loom_status *loom_run_interpret_chunk(loom_run *run, loom_value *const *streams, int64_t first, loom_value **outputs) {
    uint32_t n = run->stage->n_streams;
    loom_value **more = loom_xcalloc((size_t)n + 2, sizeof *more);
    loom_status *status = interpret_columns(run, streams, first, more, outputs);
    for (uint32_t i = 0; i < n + 1; i++) loom_value_unref(more[i]);
    free(more);
    return status;
}

/* ---- whole programs ---- */

typedef struct pulled {
    size_t count, capacity;
    loom_value **blocks; /* [block][stream], as columns */
} pulled;

static void free_pulled(pulled *p, uint32_t n_streams) {
    for (size_t i = 0; i < p->count * n_streams; i++) loom_value_unref(p->blocks[i]);
    free(p->blocks);
}

/* One block: the values that `pull` gives become columns with all leaves; a stream that has ended has none. */
static loom_status *pull_block(loom_run *run, loom_pull pull, void *context, pulled *p, bool *end) {
    uint32_t n = run->stage->n_streams;
    loom_value **streams = loom_xcalloc((size_t)n + 1, sizeof *streams);
    loom_status *status = pull(context, (int64_t)p->count, streams, end);
    if (!status && !*end) {
        if (p->count == p->capacity) {
            p->capacity = p->capacity ? 2 * p->capacity : 16;
            p->blocks = loom_xrealloc(p->blocks, (p->capacity * n + 1) * sizeof *p->blocks);
        }
        loom_value **row = p->blocks + p->count * n;
        memset(row, 0, n * sizeof *row);
        p->count++;
        for (uint32_t s = 0; s < n && !status; s++) {
            if (streams[s]) status = loom_run_column(run, s, streams[s], &row[s]);
        }
    }
    for (uint32_t s = 0; s < n; s++) loom_value_unref(streams[s]);
    free(streams);
    return status;
}

static loom_status *join_stream(loom_run *run, const pulled *p, uint32_t s, loom_value **whole) {
    uint32_t n = run->stage->n_streams;
    loom_value **parts = loom_xcalloc(p->count + 1, sizeof *parts);
    size_t n_parts = 0;
    for (size_t b = 0; b < p->count; b++) {
        if (p->blocks[b * n + s]) parts[n_parts++] = p->blocks[b * n + s];
    }
    loom_status *status = n_parts ? loom_value_concat(parts, n_parts, whole) : loom_run_empty_column(run, s, whole);
    free(parts);
    return status;
}

/* Arguments by parameter: slot i is the entry's parameter i, an input or a stream. */
static loom_status *call_entry(loom_run *run, loom_value *const *wholes, loom_value **outputs) {
    uint32_t n = run->graph->n_params;
    loom_value **arguments = loom_xcalloc((size_t)n + 1, sizeof *arguments);
    for (uint32_t i = 0; i < run->stage->n_inputs; i++) {
        if (run->stage->inputs[i] < n) arguments[run->stage->inputs[i]] = run->inputs[i];
    }
    for (uint32_t s = 0; s < run->stage->n_streams; s++) {
        if (run->stage->streams[s] < n) arguments[run->stage->streams[s]] = wholes[s];
    }
    loom_status *status = NULL;
    for (uint32_t i = 0; i < n && !status; i++) {
        if (!arguments[i]) status = loom_error(LOOM_E_INTERNAL, "parameter %u of the program has no value", i);
    }
    loom_value *result;
    if (!status) status = call(run, run->stage->function, arguments, 0, 0, &result);
    free(arguments);
    if (status) return status;
    return loom_run_split(run, result, outputs);
}

loom_status *loom_run_interpret_whole(loom_run *run, loom_pull pull, void *context, loom_value **outputs) {
    uint32_t n = run->stage->n_streams;
    pulled p = {0};
    loom_status *status = NULL;
    for (bool end = n == 0; !end && !status;) status = pull_block(run, pull, context, &p, &end);
    loom_value **wholes = loom_xcalloc((size_t)n + 1, sizeof *wholes);
    for (uint32_t s = 0; s < n && !status; s++) status = join_stream(run, &p, s, &wholes[s]);
    free_pulled(&p, n);
    if (!status) status = call_entry(run, wholes, outputs);
    for (uint32_t s = 0; s < n; s++) loom_value_unref(wholes[s]);
    free(wholes);
    return status;
}
