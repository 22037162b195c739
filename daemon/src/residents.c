/* Values that stay with the worker that made them.
 *
 * Mostly one worker has folded all of a traversal, and the array stage that reads the result runs there too: then what
 * was added up need not be written for it to be read again. So it is with what an array stage hands to a traversal that
 * one worker will fold. The daemon says which outputs may stay: those that one stage of the same turn reads, an array
 * stage where the epoch is the whole result of a traversal, a short traversal where an array stage runs and there is no
 * other worker.
 *
 * Such an answer is not accepted when it comes. Its values fill their slots, so that their reader starts, at that
 * worker alone; once all of them have been read (the array stage has answered, the traversal is done) it is. A worker
 * that dies in between loses what it had made, as if it had never handed it over: the epoch is fenced or the array
 * stage runs again, and the reader waits for its input. A traversal keeps what has been merged of it meanwhile. Values
 * of the same answer that were files stay as they are: each output has every block in it once, whether or not another
 * one was made twice.
 */
#include "common/log.h"
#include "daemon.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

static bool is_traversal(const loom_job_stage *stage) {
    return stage->graph->kind == LOOM_STAGE_TRAVERSAL;
}

/* What is streamed out goes to the client, and what is collected grows with the stream: these are written. */
bool loom_is_added_up(loom_output_kind kind) {
    return kind == LOOM_OUT_FOLD || kind == LOOM_OUT_REDUCE || kind == LOOM_OUT_PERMUTE;
}

/* The stage that reads the output, where that is all that does and is of the other kind. */
static loom_job_stage *sole_reader(const loom_job_stage *stage, uint32_t output) {
    uint32_t number = stage->job->sole_reader[stage->graph->outputs[output].slot];
    if (number == LOOM_NONE_STAGE) return NULL;
    loom_job_stage *reader = &stage->job->stages[number];
    loom_stage_kind other = is_traversal(stage) ? LOOM_STAGE_ARRAY : LOOM_STAGE_TRAVERSAL;
    return reader->graph->kind == other ? reader : NULL;
}

static bool is_whole_delta(const loom_task *task) {
    const loom_job_stage *stage = task->stage;
    return !stage->streams_out && loom_ledger_held(stage->ledger, task->epoch) == stage->blocks->n_blocks;
}

/* How many times as long an element may take as one of the job's other traversals did, which are mostly looks at the
 * data before the work. */
#define MORE_WORK 10

/* The traversal is over soon: a worker that comes meanwhile can have no part in it. By the turn before, or by what the
 * job's other traversals took; where nothing is known it may take days. */
static bool is_short(const loom_job_stage *traversal) {
    const loom_job *job = traversal->job;
    const loom_job_totals *t = &job->totals;
    double each = traversal->pace.seconds;
    if (!(each > 0) && t->elements > 0) each = MORE_WORK * (t->traversal + t->wait) / (double)t->elements;
    double n = 0;
    for (uint32_t i = 0; i < traversal->graph->n_streams; i++) {
        n = fmax(n, (double)job->streams[traversal->graph->streams[i]]->n_elements);
    }
    return each > 0 && each * n <= LOOM_RESIDENT_SECONDS;
}

/* Nobody else could help; and what the stage has read itself must be there to be read again. */
static bool may_stay_for(const loom_task *task, const loom_job_stage *traversal) {
    if (loom_spill_of(traversal)) return false; /* it may have to begin anew, with another run */
    return task->worker->daemon->workers.n == 1 && !loom_resident_worker(task->stage) && is_short(traversal);
}

/* Once a worker has died at a job, or with a value of it, what the next one makes is written, so that it need not be
 * made again and again. What is done already was read before another value was lost: nobody wants it again. All that a
 * stage reads in memory has to be in the memory of one worker. */
static bool may_stay(const loom_task *task, uint32_t output) {
    const loom_job_stage *stage = task->stage, *reader = sole_reader(stage, output);
    if (!reader || stage->job->deaths || stage->outputs[output].done) return false;
    if (loom_stage_is_chained(stage->graph)) return false; /* what comes next begins with what was accepted */
    if (reader->reads_at && reader->reads_at != task->worker) return false;
    if (!is_traversal(stage)) return may_stay_for(task, reader);
    return loom_is_added_up(stage->graph->outputs[output].kind) && is_whole_delta(task);
}

size_t loom_resident_outputs(const loom_task *task, uint32_t *outputs) {
    size_t n = 0;
    for (uint32_t i = 0; i < task->stage->graph->n_outputs; i++) {
        if (may_stay(task, i)) outputs[n++] = i;
    }
    return n;
}

void loom_resident_promise(const loom_task *task) {
    for (uint32_t i = 0; i < task->stage->graph->n_outputs; i++) {
        if (may_stay(task, i)) sole_reader(task->stage, i)->reads_at = task->worker;
    }
}

/* Of a delta. */
static loom_status *check_whole(const loom_job_stage *stage, const Wire__TaskDone *done) {
    uint64_t n_blocks = 0;
    for (size_t i = 0; i < done->n_blocks; i++) n_blocks += done->blocks[i]->n;
    if (!stage->streams_out && done->n_parts == stage->graph->n_outputs &&
        n_blocks == (uint64_t)stage->blocks->n_blocks) {
        return NULL;
    }
    return loom_error(LOOM_E_PROTOCOL, "a delta with values that stay with its worker is not the whole result");
}

loom_status *loom_resident_check(const loom_task *task, const Wire__TaskDone *done, size_t *n) {
    const loom_job_stage *stage = task->stage;
    *n = 0;
    for (size_t i = 0; i < done->n_parts; i++) {
        if (!done->parts[i]->object->has_resident) continue;
        uint32_t output = done->parts[i]->output;
        const loom_job_stage *reader = sole_reader(stage, output);
        bool allowed = reader && reader->reads_at == task->worker && !stage->outputs[output].done &&
                       (!is_traversal(stage) || loom_is_added_up(stage->graph->outputs[output].kind));
        if (!allowed) return loom_error(LOOM_E_PROTOCOL, "an answer with a value that may not stay with its worker");
        ++*n;
    }
    return *n && is_traversal(stage) ? check_whole(stage, done) : NULL;
}

const loom_worker *loom_resident_worker(const loom_job_stage *stage) {
    for (uint32_t i = 0; i < stage->graph->n_inputs; i++) {
        const loom_held_object *object = stage->job->slots[stage->graph->inputs[i]];
        if (object && object->worker) return object->worker;
    }
    return NULL;
}

void loom_stage_defer(const loom_task *task, const loom_stretch *blocks, const Wire__TaskDone *done,
                      loom_held_object **objects) {
    loom_job_stage *stage = task->stage;
    loom_deferred *d = &stage->deferred;
    *d = (loom_deferred){.worker = task->worker, .epoch = task->epoch, .n_blocks = blocks ? done->n_blocks : 0};
    d->blocks = loom_xcalloc(d->n_blocks + 1, sizeof *d->blocks);
    if (blocks) memcpy(d->blocks, blocks, d->n_blocks * sizeof *d->blocks);
    loom_stage_set_slots(stage, done, objects);
    loom_job_advance(stage->job);
}

void loom_deferred_clear(loom_deferred *deferred) {
    free(deferred->blocks);
    *deferred = (loom_deferred){0};
}

/* Whether a value of the stage is still to be read where it is. */
static bool is_unread(const loom_job_stage *stage) {
    for (uint32_t i = 0; i < stage->graph->n_outputs; i++) {
        const loom_held_object *object = stage->job->slots[stage->graph->outputs[i].slot];
        if (object && object->worker) return true;
    }
    return false;
}

static loom_status *accept_whole(loom_job_stage *stage) {
    loom_job *job = stage->job;
    const loom_deferred *d = &stage->deferred;
    LOOM_TRY(loom_ledger_check_delta(stage->ledger, d->epoch, d->blocks, d->n_blocks));
    uint64_t delta = loom_daemon_next_id(job->daemon);
    LOOM_TRY(loom_store_delta(job->daemon->store, job->id, stage->instance, d->epoch, delta, d->blocks, d->n_blocks,
                              NULL, 0));
    loom_ledger_accept(stage->ledger, d->epoch, d->blocks, d->n_blocks, delta);
    return NULL;
}

void loom_deferred_settle(loom_job *job) {
    for (uint32_t i = 0; i < job->graph->n_stages && !job->ending; i++) {
        loom_job_stage *stage = &job->stages[i];
        if (!stage->deferred.worker || is_unread(stage)) continue;
        loom_status *status = is_traversal(stage) ? accept_whole(stage) : NULL;
        loom_deferred_clear(&stage->deferred);
        if (status) {
            loom_job_fail(job, status);
        } else {
            loom_stage_check_done(stage);
        }
    }
}

/* A traversal of which every block is inside has read its inputs, though parts of the result may still be on their way.
 */
static bool has_read(const loom_job_stage *reader) {
    if (!is_traversal(reader) || reader->state != LOOM_STAGE_RUNNING || reader->blocks->n_blocks == 0) return false;
    if (!loom_ledger_complete(reader->ledger)) return false;
    for (uint32_t i = 0; i < reader->graph->n_outputs; i++) {
        bool merges = loom_is_merged(reader->graph->outputs[i].kind) && reader->outputs[i].pieces.n > 1;
        if (merges) return false;
    }
    return true;
}

static void lose(loom_job_stage *stage) {
    loom_job *job = stage->job;
    bool any = false;
    for (uint32_t i = 0; i < stage->graph->n_outputs; i++) {
        uint32_t slot = stage->graph->outputs[i].slot;
        loom_held_object *object = job->slots[slot];
        if (!object || object->worker != stage->deferred.worker) continue;
        loom_job_stage *reader = &job->stages[job->sole_reader[slot]];
        if (has_read(reader)) {
            object->worker = NULL;
            continue;
        }
        any = true;
        loom_job_lose_slot(job, slot);
        stage->outputs[i].done = false;
        if (!is_traversal(reader)) loom_job_stage_unstart(reader);
    }
    if (!any) {
        loom_deferred_settle(job);
        return;
    }
    loom_log(LOOM_LOG_INFO, "job %" PRIu64 ": what stage %u had made is gone with its worker", job->id, stage->index);
    if (is_traversal(stage)) {
        loom_stage_fence(stage, stage->deferred.epoch, NULL, NULL);
    } else {
        stage->releases++;
    }
    loom_deferred_clear(&stage->deferred);
    /* It may have had no task that a death is counted by: it was waiting for a plan. */
    if (!job->deaths) job->deaths = 1;
}

void loom_deferred_lost(const loom_worker *worker) {
    for (size_t i = 0; i < worker->daemon->jobs.n; i++) {
        loom_job *job = worker->daemon->jobs.at[i];
        for (uint32_t s = 0; job->graph && !job->ending && s < job->graph->n_stages; s++) {
            if (job->stages[s].deferred.worker == worker) lose(&job->stages[s]);
            if (job->stages[s].reads_at == worker) job->stages[s].reads_at = NULL;
        }
    }
}
