#include "executor/run.h"
#include "common/buffer.h"
#include "executor/copy_graph.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Memory for plan, graph and program of one stage: beyond the largest program that is accepted, decoded. */
#define RUN_ARENA_BYTES ((size_t)4 << 30)

/* ---- creation ---- */

/* What the plan makes is what the graph of stages expects: values are handed on by it. */
static loom_status *check_plan_output(const loom_run *run, const loom_plan *plan, uint32_t j) {
    const loom_plan_output *made = &plan->outputs[j];
    const loom_graph_output *wanted = &run->stage->outputs[j];
    const loom_graph_slot *slot = &run->graph->slots[wanted->slot];
    bool same = made->kind == wanted->kind && made->order == wanted->order && made->n_leaves == slot->n_leaves;
    for (uint32_t l = 0; same && l < made->n_leaves; l++) {
        const loom_plan_buffer *b = &plan->buffers[made->buffers[l]];
        same = b->dtype == slot->leaves[l].dtype && b->n_extents == slot->leaves[l].depth &&
               strcmp(made->names[l], slot->leaves[l].name) == 0;
    }
    return same ? NULL : loom_error(LOOM_E_DATA, "output %u of the plan is not what its stage makes", j);
}

static loom_status *check_plan(const loom_run *run, const loom_plan *plan) {
    if (plan->kind != run->stage->kind) return loom_error(LOOM_E_DATA, "the plan is of another kind than its stage");
    if (plan->n_outputs != run->stage->n_outputs) {
        return loom_error(LOOM_E_DATA, "the plan has %u outputs, its stage %u", plan->n_outputs, run->stage->n_outputs);
    }
    for (uint32_t j = 0; j < plan->n_outputs; j++) LOOM_TRY(check_plan_output(run, plan, j));
    if (strcmp(plan->target, loom_worker_target()) != 0) {
        return loom_status_note(loom_error(LOOM_E_DATA, "the plan was compiled for another kind of machine"),
                                "for %s; this worker is %s", plan->target, loom_worker_target());
    }
    return NULL;
}

/* The other plan, for rows of one length. */
static loom_status *open_tested(loom_run *run, const loom_plan *of) {
    loom_plan *plan;
    if (!of->tested_length) return NULL;
    LOOM_TRY(loom_plan_decode(run->arena, of->tested, of->tested_length, &plan));
    LOOM_TRY(check_plan(run, plan));
    if (plan->tested_length) return loom_error(LOOM_E_DATA, "a plan for rows of one length in another one");
    return loom_engine_create(run->executor, plan, of->tested_object, of->tested_object_length, &run->tested);
}

static loom_status *set_up_engine(loom_run *run, const loom_run_description *d) {
    loom_plan *plan;
    LOOM_TRY(loom_plan_decode(run->arena, d->plan, d->plan_length, &plan));
    LOOM_TRY(loom_plan_check(plan));
    LOOM_TRY(check_plan(run, plan));
    LOOM_TRY(loom_engine_create(run->executor, plan, d->object, d->object_length, &run->engine));
    LOOM_TRY(open_tested(run, plan));
    run->times = loom_xcalloc(run->engine->n_times + (run->tested ? run->tested->n_times : 0) + 1, sizeof *run->times);
    for (uint32_t j = 0; j < plan->n_outputs; j++) {
        run->outputs[j].in_place = plan->outputs[j].kind == LOOM_OUT_PERMUTE;
    }
    return NULL;
}

static void keep_values(loom_run *run, const loom_run_description *d) {
    run->inputs_may_go = d->inputs_may_go;
    uint32_t n_inputs = run->stage->n_inputs, n_streams = run->stage->n_streams;
    run->inputs = loom_xcalloc((size_t)n_inputs + 1, sizeof *run->inputs);
    run->constants = loom_xcalloc((size_t)n_streams + 1, sizeof *run->constants);
    for (uint32_t i = 0; i < n_inputs && d->inputs; i++) {
        if (d->inputs[i]) run->inputs[i] = loom_value_ref(d->inputs[i]);
    }
    for (uint32_t s = 0; s < n_streams && s < d->n_constants && d->constants; s++) {
        if (d->constants[s]) run->constants[s] = loom_value_ref(d->constants[s]);
    }
}

static loom_status *check_inputs(const loom_run *run) {
    for (uint32_t i = 0; i < run->stage->n_inputs; i++) {
        const loom_graph_slot *slot = &run->graph->slots[run->stage->inputs[i]];
        if (!run->inputs[i]) return loom_error(LOOM_E_INTERNAL, "input '%s' has no value", slot->name);
        if (run->inputs[i]->n_leaves != slot->n_leaves) {
            return loom_error(LOOM_E_DATA, "input '%s' has %u columns, expected %u", slot->name,
                              run->inputs[i]->n_leaves, slot->n_leaves);
        }
    }
    return NULL;
}

/* Kept for functions that are interpreted later (merge): decoding waits until one is called. */
static void keep_program(loom_run *run, const loom_run_description *d) {
    if (!d->program || d->program_length == 0) return;
    void *copy = loom_arena_alloc(run->arena, d->program_length);
    memcpy(copy, d->program, d->program_length);
    run->program_bytes = copy;
    run->program_length = d->program_length;
}

static loom_status *set_up(loom_run *run, const loom_run_description *d) {
    if (d->stage >= d->graph->n_stages)
        return loom_error(LOOM_E_INTERNAL, "stage %u of %u", d->stage, d->graph->n_stages);
    run->graph = loom_copy_graph(run->arena, d->graph, d->stage);
    run->stage = &run->graph->stages[0];
    const char *what = run->stage->label;
    run->interpreted.label = what ? loom_arena_printf(run->arena, "interpreted, %s", what) : "interpreted";
    run->outputs = loom_xcalloc((size_t)run->stage->n_outputs + 1, sizeof *run->outputs);
    for (uint32_t j = 0; j < run->stage->n_outputs; j++) {
        run->outputs[j].kind = run->stage->outputs[j].kind;
        run->outputs[j].order = run->stage->outputs[j].order;
    }
    keep_values(run, d);
    keep_program(run, d);
    LOOM_TRY(check_inputs(run));
    loom_run_keep_initial(run);
    if (d->content) loom_run_take_content(run, d->content);
    bool interpret = d->interpret || run->stage->kind == LOOM_STAGE_WHOLE;
    LOOM_TRY(interpret ? loom_run_program(run) : set_up_engine(run, d));
    return run->engine ? loom_run_prepare(run) : NULL;
}

loom_status *loom_run_create(loom_executor *executor, const loom_run_description *description, loom_run **run) {
    atomic_store_explicit(&executor->cancelled, false, memory_order_relaxed);
    loom_run *made = loom_xcalloc(1, sizeof *made);
    made->executor = executor;
    made->arena = loom_arena_create(RUN_ARENA_BYTES);
    jmp_buf guard;
    loom_status *status;
    if (setjmp(guard) == 0) {
        loom_arena_set_guard(made->arena, &guard);
        status = set_up(made, description);
    } else {
        status = loom_error(LOOM_E_LIMIT, "a stage's plan and program need more than %zu bytes", RUN_ARENA_BYTES);
    }
    loom_arena_set_guard(made->arena, NULL);
    if (status) {
        loom_run_destroy(made);
        return status;
    }
    *run = made;
    return NULL;
}

/* A state is no longer what the stage's input holds. */
static bool is_carried_on(const loom_run *run, uint32_t input) {
    for (uint32_t i = 0; i < run->stage->n_carried; i++) {
        if (run->stage->carried[i].input == input) return run->inputs[input] != run->initial[i];
    }
    return false;
}

static void move_initial(loom_run *run, loom_value *const *inputs) {
    for (uint32_t i = 0; i < run->stage->n_carried; i++) {
        loom_value *before = run->initial[i];
        run->initial[i] = loom_value_ref(inputs[run->stage->carried[i].input]);
        loom_value_unref(before);
    }
}

loom_status *loom_run_move_inputs(loom_run *run, loom_value *const *inputs) {
    run->inputs_may_go = false;
    loom_run_forget_empties(run);
    if (!inputs) return NULL;
    for (uint32_t i = 0; i < run->stage->n_inputs; i++) {
        loom_value *before = run->inputs[i];
        if (is_carried_on(run, i)) continue;
        run->inputs[i] = loom_value_ref(inputs[i]);
        loom_value_unref(before);
    }
    move_initial(run, inputs);
    return run->engine ? loom_run_bind_moved(run) : NULL;
}

void loom_run_destroy(loom_run *run) {
    if (!run) return;
    uint32_t n_outputs = run->stage ? run->stage->n_outputs : 0;
    for (uint32_t j = 0; run->outputs && j < n_outputs; j++) loom_pieces_clear(&run->outputs[j].pieces);
    if (run->stage) loom_run_forget_empties(run);
    for (uint32_t i = 0; run->inputs && i < run->stage->n_inputs; i++) loom_value_unref(run->inputs[i]);
    if (run->stage) loom_run_forget_initial(run);
    for (uint32_t s = 0; run->constants && s < run->stage->n_streams; s++) loom_value_unref(run->constants[s]);
    loom_pieces_clear(&run->blocks);
    loom_engine_destroy(run->engine);
    loom_engine_destroy(run->tested);
    free(run->times);
    free(run->outputs);
    free(run->empties);
    free(run->inputs);
    free(run->constants);
    loom_arena_destroy(run->arena);
    free(run);
}

void loom_run_take_content(loom_run *run, loom_run *from) {
    for (uint32_t j = 0; j < run->stage->n_outputs && j < from->stage->n_outputs; j++) {
        loom_pieces_clear(&run->outputs[j].pieces);
        run->outputs[j].pieces = from->outputs[j].pieces;
        from->outputs[j].pieces = (loom_pieces){0};
    }
    loom_pieces_clear(&run->blocks);
    run->blocks = from->blocks;
    from->blocks = (loom_pieces){0};
    run->spoilt = from->spoilt;
    from->spoilt = false;
}

/* ---- folding ---- */

static loom_status *check_streams(const loom_run *run, loom_value *const *streams, int64_t *count) {
    for (uint32_t s = 0; s < run->stage->n_streams; s++) {
        int64_t n;
        LOOM_TRY(loom_run_count(run, s, streams[s], &n));
        if (s > 0 && n != *count) {
            return loom_error(LOOM_E_DATA, "streams of unequal length: '%s' has %" PRId64 " elements, '%s' %" PRId64,
                              run->graph->slots[run->stage->streams[0]].name, *count,
                              run->graph->slots[run->stage->streams[s]].name, n);
        }
        *count = n;
    }
    return NULL;
}

/* From here on the block is inside. Joining by the interpreter can fail, and then some outputs have the block and
 * others not: the accumulator is spoilt. */
static loom_status *commit(loom_run *run, int64_t block, int64_t n_blocks, loom_value **pending) {
    for (uint32_t j = 0; j < run->stage->n_outputs; j++) {
        loom_value *value = pending[j];
        pending[j] = NULL;
        loom_status *status = loom_run_add(run, j, block, n_blocks, value);
        if (status) {
            run->spoilt = true;
            return status;
        }
    }
    return loom_run_add_blocks(run, block, n_blocks);
}

static loom_status *fold(loom_run *run, loom_value *const *streams, int64_t block, int64_t n_blocks, int64_t first,
                         loom_value **pending) {
    int64_t count = 0;
    LOOM_TRY(check_streams(run, streams, &count));
    if (run->engine) {
        LOOM_TRY(loom_run_compiled(run, streams, count, first, pending));
    } else {
        LOOM_TRY(loom_run_interpret_chunk(run, streams, first, pending));
        for (uint32_t j = 0; j < run->stage->n_outputs; j++) loom_run_carry(run, j, pending[j]);
    }
    for (uint32_t j = 0; j < run->stage->n_outputs; j++) {
        if (run->stage->outputs[j].kind == LOOM_OUT_SPILL) LOOM_TRY(loom_run_spill(run, streams, &pending[j]));
    }
    return commit(run, block, n_blocks, pending);
}

/* Between the two, what is out counts for the run. */
static void begin_peak(loom_run *run) {
    (void)loom_memory_take_peak(run->executor->memory);
}

static void end_peak(loom_run *run) {
    uint64_t peak = loom_memory_take_peak(run->executor->memory);
    if (peak > run->peak) run->peak = peak;
}

uint64_t loom_run_peak(const loom_run *run) {
    return run->peak;
}

static loom_status *spoilt(void) {
    return loom_error(LOOM_E_INTERNAL, "the accumulator holds part of a block that failed and must be dropped");
}

loom_status *loom_run_fold(loom_run *run, loom_value *const *streams, int64_t block, int64_t n_blocks, int64_t first) {
    atomic_store_explicit(&run->executor->cancelled, false, memory_order_relaxed);
    if (run->stage->kind != LOOM_STAGE_TRAVERSAL) return loom_error(LOOM_E_INTERNAL, "a block for an array stage");
    if (run->spoilt) return spoilt();
    if (n_blocks < 1 || loom_run_has_blocks(run, block, n_blocks)) {
        return loom_error(LOOM_E_INTERNAL, "block %" PRId64 " is in the accumulator already", block);
    }
    LOOM_TRY(loom_run_check_place(run, block));
    loom_value **pending = loom_xcalloc((size_t)run->stage->n_outputs + 1, sizeof *pending);
    loom_value **states = loom_run_save_states(run);
    begin_peak(run);
    loom_status *status = fold(run, streams, block, n_blocks, first, pending);
    end_peak(run);
    loom_run_end_block(run, states, status != NULL);
    if (!status) run->carried_at = block + n_blocks;
    for (uint32_t j = 0; j < run->stage->n_outputs; j++) loom_value_unref(pending[j]);
    free(pending);
    return status ? loom_status_note(status, "in block %" PRId64, block) : NULL;
}

bool loom_run_is_spoilt(const loom_run *run) {
    return run->spoilt;
}

void loom_run_drop(loom_run *run) {
    for (uint32_t j = 0; j < run->stage->n_outputs; j++) loom_pieces_clear(&run->outputs[j].pieces);
    loom_pieces_clear(&run->blocks);
    run->spoilt = false;
    run->carried_at = -1;
}

uint64_t loom_run_collected_bytes(const loom_run *run) {
    uint64_t bytes = 0;
    for (uint32_t j = 0; j < run->stage->n_outputs; j++) {
        const loom_pieces *p = &run->outputs[j].pieces;
        loom_output_kind kind = run->stage->outputs[j].kind;
        if (!loom_is_collected(kind)) continue;
        for (size_t i = 0; i < p->count; i++) {
            const loom_value *value = p->at[i].value;
            if (value) bytes += kind == LOOM_OUT_SPILL ? loom_run_spilled_bytes(value) : loom_value_bytes(value);
        }
    }
    return bytes;
}

/* ---- deltas ---- */

void loom_delta_destroy(loom_delta *delta) {
    if (!delta) return;
    for (size_t p = 0; p < delta->n_parts; p++) {
        for (uint32_t j = 0; j < delta->n_outputs; j++) loom_value_unref(delta->parts[p].outputs[j]);
        free(delta->parts[p].outputs);
    }
    free(delta->parts);
    free(delta);
}

/* The pieces of an ordered output that lie in one run of blocks, as one value. Takes them out of the output. */
static loom_status *take_run(loom_run *run, uint32_t output, const loom_piece *blocks, loom_value **value) {
    loom_pieces *p = &run->outputs[output].pieces;
    size_t n = 0;
    while (n < p->count && p->at[n].first < blocks->first + blocks->n) n++;
    if (n == 0) return NULL;
    loom_value **parts = loom_xcalloc(n, sizeof *parts);
    for (size_t i = 0; i < n; i++) parts[i] = p->at[i].value;
    loom_status *status = NULL;
    if (n == 1) {
        *value = parts[0];
    } else {
        status = loom_value_concat(parts, n, value);
    }
    free(parts);
    if (status) return status;
    for (size_t i = 0; i < n && n > 1; i++) loom_value_unref(p->at[i].value);
    memmove(p->at, p->at + n, (p->count - n) * sizeof *p->at);
    p->count -= n;
    return NULL;
}

/* What is spilled may take this part of the memory while it is handed over: more is better read again. */
#define SPILL_SHARE 4

static loom_status *sort_part(const loom_run *run, loom_value **value) {
    loom_value *sorted;
    if (!*value) return NULL;
    LOOM_TRY(loom_run_sort_spilled(*value, loom_memory_budget(run->executor->memory) / SPILL_SHARE, &sorted));
    loom_value_unref(*value);
    *value = sorted;
    return NULL;
}

static loom_status *fill_part(loom_run *run, loom_delta_part *part, const loom_piece *blocks, bool first_part) {
    part->first_block = blocks->first;
    part->n_blocks = blocks->n;
    for (uint32_t j = 0; j < run->stage->n_outputs; j++) {
        loom_run_output *output = &run->outputs[j];
        if (loom_output_ordered(output)) {
            LOOM_TRY(take_run(run, j, blocks, &part->outputs[j]));
            if (output->kind == LOOM_OUT_SPILL) LOOM_TRY(sort_part(run, &part->outputs[j]));
        } else if (first_part && output->pieces.count) {
            part->outputs[j] = output->pieces.at[0].value;
            output->pieces.count = 0;
        }
    }
    return NULL;
}

static bool any_ordered(const loom_run *run) {
    for (uint32_t j = 0; j < run->stage->n_outputs; j++) {
        if (loom_output_ordered(&run->outputs[j])) return true;
    }
    return false;
}

loom_status *loom_run_take_delta(loom_run *run, loom_delta **delta) {
    if (run->spoilt) return spoilt();
    loom_delta *made = loom_xcalloc(1, sizeof *made);
    made->n_outputs = run->stage->n_outputs;
    bool ordered = any_ordered(run);
    made->n_parts = ordered ? run->blocks.count : run->blocks.count > 0;
    made->parts = loom_xcalloc(made->n_parts + 1, sizeof *made->parts);
    for (size_t p = 0; p < made->n_parts; p++) {
        made->parts[p].outputs = loom_xcalloc((size_t)made->n_outputs + 1, sizeof *made->parts[p].outputs);
    }
    loom_piece all = {0};
    if (made->n_parts && !ordered) {
        all.first = run->blocks.at[0].first;
        for (size_t i = 0; i < run->blocks.count; i++) all.n += run->blocks.at[i].n;
    }
    loom_status *status = NULL;
    for (size_t p = 0; p < made->n_parts && !status; p++) {
        status = fill_part(run, &made->parts[p], ordered ? &run->blocks.at[p] : &all, p == 0);
    }
    if (status) {
        /* Part of the content has left. */
        run->spoilt = true;
        loom_delta_destroy(made);
        return status;
    }
    loom_pieces_clear(&run->blocks);
    *delta = made;
    return NULL;
}

/* ---- array stages ---- */

static loom_status *array_by_engine(loom_run *run, void *context, bool *begun) {
    loom_engine *engine = run->engine;
    loom_value **outputs = context;
    engine->in_chunk = true;
    loom_engine_set_chunk(engine, 0);
    loom_status *status = loom_engine_run(engine, 0, engine->plan->n_actions);
    *begun = !status;
    for (uint32_t j = 0; j < run->stage->n_outputs && !status; j++) status = loom_run_take_output(run, j, &outputs[j]);
    loom_engine_end_chunk(engine);
    return status;
}

static loom_status *compiled_array(loom_run *run, loom_value **outputs) {
    bool done, begun;
    LOOM_TRY(loom_run_try_tested(run, array_by_engine, outputs, &done));
    return done ? NULL : array_by_engine(run, outputs, &begun);
}

static loom_status *interpreted_array(loom_run *run, loom_value **outputs) {
    loom_value *result;
    LOOM_TRY(loom_run_call(run, run->stage->function, NULL, 0, &result));
    return loom_run_split(run, result, outputs);
}

loom_status *loom_run_array(loom_run *run, loom_pull pull, void *context, loom_value **outputs) {
    atomic_store_explicit(&run->executor->cancelled, false, memory_order_relaxed);
    uint32_t n = run->stage->n_outputs;
    loom_value **made = loom_xcalloc((size_t)n + 1, sizeof *made);
    loom_status *status;
    begin_peak(run);
    if (run->stage->kind == LOOM_STAGE_WHOLE) {
        status = loom_run_interpret_whole(run, pull, context, made);
    } else if (run->stage->kind == LOOM_STAGE_TRAVERSAL) {
        status = loom_error(LOOM_E_INTERNAL, "a traversal run as an array stage");
    } else {
        status = run->engine ? compiled_array(run, made) : interpreted_array(run, made);
    }
    end_peak(run);
    for (uint32_t j = 0; j < n; j++) {
        if (status) {
            loom_value_unref(made[j]);
        } else {
            outputs[j] = made[j];
        }
    }
    free(made);
    return status;
}

/* ---- times ---- */

size_t loom_run_times(const loom_run *run, const loom_run_time **times) {
    if (!run->engine) {
        *times = &run->interpreted;
        return 1;
    }
    size_t n = run->engine->n_times, more = run->tested ? run->tested->n_times : 0;
    memcpy(run->times, run->engine->times, n * sizeof *run->times);
    if (more) memcpy(run->times + n, run->tested->times, more * sizeof *run->times);
    run->times[n + more] = run->interpreted;
    *times = run->times;
    return n + more + 1;
}
