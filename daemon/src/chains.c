/* Stages that carry states from block to block (graph.h, "CHAINS"): their blocks are folded in order, by one worker.
 *
 * The worker that has the states goes on with them from lease to lease, whether or not what it has folded was accepted
 * in between; `chain` is its seat. Where another one has to go on (that one is gone, or the next block is of another
 * class of segments, which is another plan's) everything that was leased must have been accepted or fenced before, and
 * the new one is given the states that the last accepted delta has left. So an epoch whose delta is refused takes those
 * behind it with it.
 *
 * An output of kind CHAIN has one piece: the blocks from the first on that are accepted, and the state behind them.
 */
#include "common/log.h"
#include "daemon.h"
#include <inttypes.h>

static const loom_piece *state_of(const loom_job_stage *stage, uint32_t i) {
    const loom_list *pieces = &stage->outputs[stage->graph->carried[i].output].pieces;
    return pieces->n ? pieces->at[0] : NULL;
}

/* Blocks in front of it are accepted. */
static int64_t accepted_end(const loom_job_stage *stage) {
    const loom_piece *piece = state_of(stage, 0);
    return piece ? piece->stretch.first + piece->stretch.n : 0;
}

static bool folds(const loom_job_stage *stage, const loom_task *task) {
    return task->stage == stage && (task->kind == WIRE__TASK_KIND__FOLD || task->kind == WIRE__TASK_KIND__DELTA);
}

static bool is_in_flight(const loom_job_stage *stage) {
    for (size_t i = 0; i < stage->seats.n; i++) {
        if (((const loom_seat *)stage->seats.at[i])->open) return true;
    }
    for (size_t i = 0; i < stage->job->tasks.n; i++) {
        if (folds(stage, stage->job->tasks.at[i])) return true;
    }
    return false;
}

bool loom_chain_next(loom_job_stage *stage, const loom_worker *w, int64_t *next) {
    const loom_seat *seat = stage->chain;
    /* Forgotten: whoever goes on, that seat too, is told the states (loom_chain_lease). */
    if (seat && (!seat->worker || seat->next < 0)) seat = stage->chain = NULL;
    if (seat && seat->worker == w) {
        *next = seat->next;
        return true;
    }
    if (is_in_flight(stage)) return false;
    *next = accepted_end(stage);
    return true;
}

bool loom_chain_may_lease(loom_job_stage *stage, const loom_seat *seat) {
    if (stage->chain == seat) return true;
    return !is_in_flight(stage); /* else it waits until what the other plan has folded is handed over */
}

void loom_chain_lease(loom_task *task) {
    task->begins = task->stage->chain != task->seat;
    task->stage->chain = task->seat;
}

size_t loom_chain_states(const loom_task *task, Wire__Object *objects) {
    const loom_job_stage *stage = task->stage;
    if (!task->begins || !accepted_end(stage)) return 0;
    for (uint32_t i = 0; i < stage->graph->n_carried; i++)
        loom_held_object_wire(state_of(stage, i)->object, &objects[i]);
    return stage->graph->n_carried;
}

void loom_chain_fence(loom_job_stage *stage) {
    loom_list *tasks = &stage->job->tasks;
    for (size_t i = 0; i < tasks->n; i++) {
        const loom_task *task = tasks->at[i];
        if (folds(stage, task)) loom_stage_fence(stage, task->epoch, task->plan, task->worker);
    }
    for (size_t i = 0; i < stage->seats.n; i++) {
        loom_seat *seat = stage->seats.at[i];
        if (seat->open && seat->worker) loom_stage_fence(stage, seat->epoch, seat->plan, seat->worker);
        seat->open = false;
        seat->next = -1;
    }
    stage->chain = NULL;
}

loom_status *loom_chain_check(const loom_job_stage *stage, const Wire__TaskDone *done) {
    if (!loom_stage_is_chained(stage->graph) || !done->n_blocks) return NULL;
    if (done->n_blocks != 1 || (int64_t)done->blocks[0]->first != accepted_end(stage))
        return loom_error(LOOM_E_DENIED, "a delta of a chain that does not go on at block %" PRId64,
                          accepted_end(stage));
    for (uint32_t i = 0; i < stage->graph->n_carried; i++) {
        size_t parts = 0;
        for (size_t k = 0; k < done->n_parts; k++) parts += done->parts[k]->output == stage->graph->carried[i].output;
        if (parts != 1) return loom_error(LOOM_E_PROTOCOL, "a delta of a chain with %zu states of one", parts);
    }
    return NULL;
}

loom_status *loom_chain_take(loom_job_stage *stage, loom_piece *piece, uint32_t output) {
    loom_list *pieces = &stage->outputs[output].pieces;
    loom_piece *before = pieces->n ? pieces->at[0] : NULL;
    loom_status *status = NULL;
    if (before) {
        loom_stored_piece stored = {output, {0, piece->stretch.first + piece->stretch.n}, piece->object->path};
        status = loom_store_merge(stage->job->daemon->store, stage->job->id, stage->instance, before->object->path,
                                  piece->object->path, &stored);
        piece->stretch = stored.stretch;
        loom_list_remove(pieces, before);
        loom_piece_free(before);
    }
    loom_list_add(pieces, piece);
    return status;
}
