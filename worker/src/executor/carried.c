/* States that go from chunk to chunk (graph.h, "CHAINS"). They are inputs of the stage whose value is another one each
 * time: here they are put in place of what the slot holds. */
#include "common/buffer.h"
#include "executor/run.h"
#include <inttypes.h>
#include <stdlib.h>

void loom_run_keep_initial(loom_run *run) {
    const loom_graph_stage *stage = run->stage;
    run->initial = loom_xcalloc((size_t)stage->n_carried + 1, sizeof *run->initial);
    for (uint32_t i = 0; i < stage->n_carried; i++) {
        loom_value *value = run->inputs[stage->carried[i].input];
        if (value) run->initial[i] = loom_value_ref(value);
    }
}

void loom_run_forget_initial(loom_run *run) {
    for (uint32_t i = 0; run->initial && i < run->stage->n_carried; i++) loom_value_unref(run->initial[i]);
    free(run->initial);
    run->initial = NULL;
}

static void set_state(loom_run *run, uint32_t i, loom_value *value) {
    loom_value **input = &run->inputs[run->stage->carried[i].input], *before = *input;
    *input = loom_value_ref(value);
    loom_value_unref(before);
}

void loom_run_carry(loom_run *run, uint32_t output, loom_value *value) {
    for (uint32_t i = 0; i < run->stage->n_carried; i++) {
        if (run->stage->carried[i].output == output) set_state(run, i, value);
    }
}

loom_value **loom_run_save_states(const loom_run *run) {
    const loom_graph_stage *stage = run->stage;
    if (!loom_stage_is_chained(stage)) return NULL;
    loom_value **saved = loom_xcalloc((size_t)stage->n_carried + 1, sizeof *saved);
    for (uint32_t i = 0; i < stage->n_carried; i++) saved[i] = loom_value_ref(run->inputs[stage->carried[i].input]);
    return saved;
}

void loom_run_end_block(loom_run *run, loom_value **saved, bool failed) {
    for (uint32_t i = 0; saved && i < run->stage->n_carried; i++) {
        if (failed) set_state(run, i, saved[i]);
        loom_value_unref(saved[i]);
    }
    free(saved);
}

loom_status *loom_run_bind_states(loom_run *run) {
    const loom_engine *engine = run->engine;
    for (uint32_t i = 0; i < engine->n_bound && loom_stage_is_chained(run->stage); i++) {
        const loom_plan_buffer *b = &engine->plan->buffers[engine->bound[i]];
        for (uint32_t k = 0; k < run->stage->n_carried && b->storage == LOOM_STORE_INPUT; k++) {
            if (run->stage->carried[k].input == b->source) LOOM_TRY(loom_run_bind_input(run, engine->bound[i]));
        }
    }
    return NULL;
}

/* What a worker has handed over is data from outside to the next one. */
static loom_status *check_state(const loom_run *run, uint32_t i, const loom_value *value) {
    const loom_graph_slot *slot = &run->graph->slots[run->stage->inputs[run->stage->carried[i].input]];
    bool same = value->n_leaves == slot->n_leaves;
    for (uint32_t l = 0; same && l < slot->n_leaves; l++) {
        same = value->leaves[l].dtype == slot->leaves[l].dtype && value->leaves[l].depth == slot->leaves[l].depth;
    }
    return same ? NULL : loom_error(LOOM_E_PROTOCOL, "a state of '%s' of another type", slot->name);
}

loom_status *loom_run_begin(loom_run *run, int64_t block, loom_value *const *states) {
    run->carried_at = -1;
    for (uint32_t i = 0; i < run->stage->n_carried; i++) {
        loom_value *value = states ? states[i] : run->initial[i];
        LOOM_TRY(check_state(run, i, value));
        set_state(run, i, value);
    }
    run->carried_at = block;
    return NULL;
}

loom_status *loom_run_check_place(const loom_run *run, int64_t block) {
    if (!loom_stage_is_chained(run->stage) || run->carried_at == block) return NULL;
    return loom_error(LOOM_E_INTERNAL, "block %" PRId64 " of a chain that stands before block %" PRId64, block,
                      run->carried_at);
}
