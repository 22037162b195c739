/* Slots and loops of a job: how long values are kept, and turns.
 *
 * A value is kept as long as somebody will read it. Readers in the loop (or none) in which the slot is filled are
 * counted one by one; a loop further inside, whose turns nobody knows, counts as one reader that is done when the loop
 * is. What a loop passes from turn to turn the loop itself holds.
 */
#include "common/log.h"
#include "daemon.h"
#include <assert.h>
#include <inttypes.h>

/* The loop that stands directly in the body of `around` and has `loop` in it; `around` itself if that is `loop`. */
static uint32_t child_towards(const loom_job *job, uint32_t loop, uint32_t around) {
    while (loop != around && job->loop_of_loop[loop] != around) loop = job->loop_of_loop[loop];
    return loop;
}

/* Something in the body of `loop` reads a slot. */
static void add_reader(loom_job *job, uint32_t slot, uint32_t loop) {
    uint32_t home = job->loop_of_slot[slot];
    if (loop == home) {
        job->slot_readers[slot]++;
        return;
    }
    loom_job_loop *holder = &job->loops[child_towards(job, loop, home)];
    for (size_t i = 0; i < holder->n_held; i++) {
        if (holder->held[i] == slot) return;
    }
    holder->held = loom_xrealloc(holder->held, (holder->n_held + 1) * sizeof *holder->held);
    holder->held[holder->n_held++] = slot;
    job->slot_readers[slot]++;
}

/* Slots that are filled and read once in each turn, by a stage of the same loop and nobody else. */
static void find_sole_readers(loom_job *job) {
    const loom_graph *g = job->graph;
    job->sole_reader = loom_xcalloc((size_t)g->n_slots + 1, sizeof *job->sole_reader);
    for (uint32_t s = 0; s < g->n_slots; s++) job->sole_reader[s] = LOOM_NONE_STAGE;
    for (uint32_t i = 0; i < g->n_stages; i++) {
        const loom_graph_stage *stage = &g->stages[i];
        for (uint32_t k = 0; k < stage->n_inputs; k++) {
            uint32_t slot = stage->inputs[k];
            if (job->slot_readers[slot] == 1 && job->loop_of_slot[slot] == job->loop_of_stage[i])
                job->sole_reader[slot] = i;
        }
    }
}

void loom_job_prepare_slots(loom_job *job) {
    const loom_graph *g = job->graph;
    job->loop_of_stage = loom_graph_loop_of_stages(g, job->arena);
    job->loop_of_loop = loom_graph_loop_of_loops(g, job->arena);
    job->loop_of_slot = loom_graph_loop_of_slots(g, job->arena);
    job->slot_readers = loom_xcalloc((size_t)g->n_slots + 1, sizeof *job->slot_readers);
    job->slot_uses = loom_xcalloc((size_t)g->n_slots + 1, sizeof *job->slot_uses);
    job->loops = loom_xcalloc((size_t)g->n_loops + 1, sizeof *job->loops);
    for (uint32_t i = 0; i < g->n_stages; i++) {
        for (uint32_t k = 0, slot; loom_stage_reads(&g->stages[i], k, &slot); k++)
            add_reader(job, slot, job->loop_of_stage[i]);
    }
    for (uint32_t l = 0; l < g->n_loops; l++) {
        job->loops[l].graph = &g->loops[l];
        job->loops[l].state = LOOM_NEW_ARRAY(job->arena, loom_held_object *, (size_t)g->loops[l].n_state + 1);
        for (uint32_t i = 0; i < g->loops[l].n_state; i++) {
            add_reader(job, g->loops[l].init[i], job->loop_of_loop[l]);
            add_reader(job, g->loops[l].next[i], l);
        }
    }
    if (!g->result_is_stream) add_reader(job, g->result, LOOM_NONE_LOOP);
    find_sole_readers(job);
    memcpy(job->slot_uses, job->slot_readers, g->n_params * sizeof *job->slot_uses);
}

void loom_job_slot(loom_job *job, uint32_t slot, loom_held_object *object) {
    assert(!job->slots[slot]);
    loom_status *status = object->path ? loom_store_slot(job->daemon->store, job->id, slot, object->path) : NULL;
    if (status) loom_log_status(LOOM_LOG_WARN, status);
    job->slot_uses[slot] = job->slot_readers[slot];
    if (job->slot_uses[slot] == 0) {
        loom_held_object_unref(object); /* nobody reads it */
        return;
    }
    job->slots[slot] = object;
}

void loom_job_use_slot(loom_job *job, uint32_t slot, uint32_t loop) {
    if (job->loop_of_slot[slot] != loop) return; /* the loop around has it until it is done */
    if (--job->slot_uses[slot] > 0) return;
    loom_held_object_unref(job->slots[slot]);
    job->slots[slot] = NULL;
}

void loom_job_lose_slot(loom_job *job, uint32_t slot) {
    job->slot_uses[slot] = 0;
    loom_held_object_unref(job->slots[slot]);
    job->slots[slot] = NULL;
}

/* ---- turns ---- */

static bool slots_ready(const loom_job *job, const uint32_t *slots, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (!job->slots[slots[i]]) return false;
    }
    return true;
}

bool loom_job_is_active(const loom_job *job, uint32_t loop) {
    return loop == LOOM_NONE_LOOP || job->loops[loop].phase == LOOM_LOOP_TURNING;
}

static void take_state(loom_job *job, loom_job_loop *loop, const uint32_t *slots, uint32_t reader) {
    loom_held_object **fresh = loom_xcalloc((size_t)loop->graph->n_state + 1, sizeof *fresh);
    for (uint32_t i = 0; i < loop->graph->n_state; i++) fresh[i] = loom_held_object_ref(job->slots[slots[i]]);
    for (uint32_t i = 0; i < loop->graph->n_state; i++) {
        loom_job_use_slot(job, slots[i], reader);
        loom_held_object_unref(loop->state[i]);
        loop->state[i] = fresh[i];
    }
    free(fresh);
}

static void give_state(loom_job *job, const loom_job_loop *loop, const uint32_t *slots) {
    for (uint32_t i = 0; i < loop->graph->n_state; i++)
        loom_job_slot(job, slots[i], loom_held_object_ref(loop->state[i]));
}

static void finish_loop(loom_job *job, uint32_t l) {
    loom_job_loop *loop = &job->loops[l];
    loop->phase = LOOM_LOOP_DONE;
    for (uint32_t s = loop->graph->first; s < loop->graph->end; s++) job->stages[s].state = LOOM_STAGE_DONE;
    for (uint32_t m = l + 1; m < job->graph->n_loops && job->graph->loops[m].first < loop->graph->end; m++)
        job->loops[m].phase = LOOM_LOOP_DONE; /* of loops inside that no turn was made of */
    give_state(job, loop, loop->graph->result);
    for (uint32_t i = 0; i < loop->graph->n_state; i++) {
        loom_held_object_unref(loop->state[i]);
        loop->state[i] = NULL;
    }
    for (size_t i = 0; i < loop->n_held; i++) loom_job_use_slot(job, loop->held[i], job->loop_of_loop[l]);
    if (loop->turns) {
        loom_log(LOOM_LOG_INFO, "job %" PRIu64 ": %s done after %" PRId64 " turns", job->id,
                 loop->graph->label ? loop->graph->label : "a loop", loop->turns);
    }
}

/* With the state as it stands: one more turn, or the end. */
static void turn_or_finish(loom_job *job, uint32_t l) {
    loom_job_loop *loop = &job->loops[l];
    loom_value *go;
    loom_status *status = loom_held_object_small_value(loop->state[0], &go);
    if (status) {
        loom_job_fail(job, status);
        return;
    }
    if (!go || go->n_leaves != 1 || go->leaves[0].dtype != LOOM_BOOL || go->leaves[0].n_data != 1) {
        loom_value_unref(go);
        loom_job_fail(job, loom_error(LOOM_E_PROTOCOL, "the condition of a loop is no truth value"));
        return;
    }
    bool again = *(const bool *)go->leaves[0].data;
    loom_value_unref(go);
    if (!again) {
        finish_loop(job, l);
        return;
    }
    loop->phase = LOOM_LOOP_TURNING;
    loop->turns++;
    for (uint32_t s = loop->graph->first; s < loop->graph->end; s++) loom_job_stage_reset(&job->stages[s]);
    for (uint32_t m = l + 1; m < job->graph->n_loops && job->graph->loops[m].first < loop->graph->end; m++)
        job->loops[m].phase = LOOM_LOOP_WAITING;
    give_state(job, loop, loop->graph->current);
}

static bool turn_is_over(const loom_job *job, uint32_t l) {
    const loom_job_loop *loop = &job->loops[l];
    for (uint32_t s = loop->graph->first; s < loop->graph->end; s++) {
        if (job->stages[s].state != LOOM_STAGE_DONE) return false;
    }
    for (uint32_t m = l + 1; m < job->graph->n_loops && job->graph->loops[m].first < loop->graph->end; m++) {
        if (job->loops[m].phase != LOOM_LOOP_DONE) return false;
    }
    return slots_ready(job, loop->graph->next, loop->graph->n_state);
}

bool loom_job_advance_loops(loom_job *job) {
    bool changed = false;
    for (uint32_t l = job->graph->n_loops; l-- > 0 && !job->ending;) { /* inner ones first */
        loom_job_loop *loop = &job->loops[l];
        uint32_t around = job->loop_of_loop[l];
        if (loop->phase == LOOM_LOOP_WAITING && loom_job_is_active(job, around) &&
            slots_ready(job, loop->graph->init, loop->graph->n_state)) {
            take_state(job, loop, loop->graph->init, around);
            turn_or_finish(job, l);
            changed = true;
        } else if (loop->phase == LOOM_LOOP_TURNING && turn_is_over(job, l)) {
            take_state(job, loop, loop->graph->next, l);
            turn_or_finish(job, l);
            changed = true;
        }
    }
    return changed;
}

bool loom_job_loops_done(const loom_job *job) {
    for (uint32_t l = 0; l < job->graph->n_loops; l++) {
        if (job->loops[l].phase != LOOM_LOOP_DONE) return false;
    }
    return true;
}

void loom_job_free_loops(loom_job *job) {
    for (uint32_t l = 0; job->loops && l < job->graph->n_loops; l++) {
        for (uint32_t i = 0; i < job->loops[l].graph->n_state; i++) loom_held_object_unref(job->loops[l].state[i]);
        free(job->loops[l].held);
    }
    free(job->loops);
    free(job->slot_readers);
    free(job->sole_reader);
    free(job->slot_uses);
}
