/* What comes back from workers: blocks folded, deltas, merges, values. Everything is checked against the ledger and the
 * task it answers before anything changes; what is refused is removed from the spool. */
#include "common/clock.h"
#include "common/log.h"
#include "daemon.h"
#include "proto/wire.h"
#include <inttypes.h>
#include <unistd.h>

/* ---- objects from workers ---- */

static void unref_all(loom_held_object **objects, size_t n) {
    for (size_t i = 0; i < n; i++) loom_held_object_unref(objects[i]);
    free(objects);
}

/* Only with these does anybody remember that a value is gone when its worker is. */
static loom_status *take_object(const loom_task *task, const Wire__Object *wire, loom_held_object **object) {
    loom_worker *w = task->worker;
    bool may = task->kind == WIRE__TASK_KIND__DELTA || task->kind == WIRE__TASK_KIND__ARRAY;
    if (wire->has_resident && may) return loom_held_object_resident(wire, w, object);
    return loom_held_object_adopt(wire, w->folders, w->n_folders, loom_daemon_next_id(w->daemon), object);
}

/* The objects of all parts, or none: then what was moved is gone, and the rest is where it was. */
static loom_status *take_objects(const loom_task *task, const Wire__TaskDone *done, loom_held_object ***taken) {
    loom_held_object **objects = loom_xcalloc(done->n_parts + 1, sizeof *objects);
    for (size_t i = 0; i < done->n_parts; i++) {
        loom_status *status = take_object(task, done->parts[i]->object, &objects[i]);
        if (!status) continue;
        unref_all(objects, i);
        return status;
    }
    *taken = objects;
    return NULL;
}

/* What was accepted has moved out of the worker's folder; whatever else an answer names there goes. */
static void discard(const loom_worker *w, const Wire__TaskDone *done) {
    for (size_t i = 0; i < done->n_parts; i++) {
        const char *path = done->parts[i]->object->path;
        if (loom_folder_of(path, w->folders, w->n_folders)) unlink(path);
    }
}

/* ---- pieces ---- */

void loom_piece_free(loom_piece *piece) {
    loom_held_object_unref(piece->object);
    loom_spilled_clear(&piece->spilled);
    free(piece);
}

static void insert_piece(loom_list *pieces, loom_piece *piece) {
    loom_list_add(pieces, piece);
    for (size_t i = pieces->n - 1; i > 0; i--) {
        const loom_piece *before = pieces->at[i - 1];
        if (before->stretch.first <= piece->stretch.first) break;
        pieces->at[i] = pieces->at[i - 1];
        pieces->at[i - 1] = piece;
    }
}

/* ---- stages ---- */

void loom_stage_check_done(loom_job_stage *stage) {
    if (stage->deferred.worker) return;
    for (uint32_t i = 0; i < stage->graph->n_outputs; i++) {
        const loom_stage_output *o = &stage->outputs[i];
        if (stage->graph->outputs[i].kind == LOOM_OUT_STREAM) {
            bool empty = stage->blocks->n_blocks == 0; /* one part without elements tells the shape of nothing */
            if (o->next_part < stage->blocks->n_blocks || o->unacknowledged || (empty && !o->done)) return;
        } else if (!o->done) {
            return;
        }
    }
    loom_job_stage_done(stage);
}

void loom_stage_set_slot(loom_job_stage *stage, uint32_t output, loom_held_object *object) {
    stage->outputs[output].done = true;
    stage->outputs[output].bytes = object->bytes;
    loom_job_slot(stage->job, stage->graph->outputs[output].slot, object);
}

void loom_stage_set_slots(loom_job_stage *stage, const Wire__TaskDone *done, loom_held_object **objects) {
    for (size_t i = 0; i < done->n_parts; i++) {
        uint32_t output = done->parts[i]->output;
        if (stage->outputs[output].done) {
            loom_held_object_unref(objects[i]); /* it was made before, when another value was lost */
        } else {
            loom_stage_set_slot(stage, output, objects[i]);
        }
    }
    free(objects);
}

void loom_stage_take_piece(loom_job_stage *stage, uint32_t output) {
    loom_list *pieces = &stage->outputs[output].pieces;
    loom_piece *piece = pieces->at[0];
    loom_list_remove(pieces, piece);
    loom_stage_set_slot(stage, output, loom_held_object_ref(piece->object));
    loom_piece_free(piece);
    loom_stage_check_done(stage);
}

void loom_stage_send_parts(loom_job_stage *stage) {
    loom_job *job = stage->job;
    for (uint32_t i = 0; i < stage->graph->n_outputs; i++) {
        loom_stage_output *o = &stage->outputs[i];
        if (stage->graph->outputs[i].kind != LOOM_OUT_STREAM) continue;
        for (size_t k = 0; k < o->pieces.n && job->client; k++) {
            loom_piece *piece = o->pieces.at[k];
            if (piece->busy) continue; /* sent, not acknowledged */
            if (piece->stretch.first != o->next_part) break;
            Wire__Object object;
            loom_held_object_wire(piece->object, &object);
            Wire__Part part = WIRE__PART__INIT;
            part.job = job->id;
            part.first_block = (uint64_t)piece->stretch.first;
            part.n_blocks = (uint64_t)piece->stretch.n;
            part.object = &object;
            Wire__Message message = WIRE__MESSAGE__INIT;
            message.body_case = WIRE__MESSAGE__BODY_PART;
            message.part = &part;
            loom_status *status =
                loom_daemon_send_packet(job->daemon, &job->client->peer, loom_packet_create(&message));
            if (status) {
                loom_job_fail(job, loom_status_note(status, "in a part of the result: it has too many columns"));
                return;
            }
            piece->busy = true;
            o->next_part += piece->stretch.n;
            o->unacknowledged++;
        }
    }
}

void loom_stage_part_acknowledged(loom_job *job, uint64_t first_block) {
    for (uint32_t s = 0; job->graph && s < job->graph->n_stages; s++) {
        loom_job_stage *stage = &job->stages[s];
        for (uint32_t i = 0; stage->outputs && i < stage->graph->n_outputs; i++) {
            loom_stage_output *o = &stage->outputs[i];
            loom_piece *piece = o->pieces.n ? o->pieces.at[0] : NULL;
            if (stage->graph->outputs[i].kind != LOOM_OUT_STREAM || !piece || !piece->busy) continue;
            if ((uint64_t)piece->stretch.first != first_block) continue;
            loom_list_remove(&o->pieces, piece);
            loom_piece_free(piece);
            o->unacknowledged--;
            if (stage->state == LOOM_STAGE_RUNNING) loom_stage_check_done(stage);
            loom_daemon_changed(job->daemon);
            return;
        }
    }
}

void loom_stage_fence(loom_job_stage *stage, loom_epoch epoch, const loom_job_plan *plan, loom_worker *worker) {
    int64_t freed;
    loom_ledger_fence(stage->ledger, epoch, &freed);
    stage->releases += freed;
    if (freed) {
        /* Not of note where the job ends with an error; a worker that is still there has told its own. */
        bool expected = worker || stage->error || stage->job->ending;
        loom_log(expected ? LOOM_LOG_INFO : LOOM_LOG_WARN, "job %" PRIu64 ": %" PRId64 " blocks are free again",
                 stage->job->id, freed);
    }
    if (!worker) return;
    Wire__Epoch wire = WIRE__EPOCH__INIT;
    wire.incarnation = epoch.incarnation;
    wire.counter = epoch.counter;
    Wire__Drop drop = WIRE__DROP__INIT;
    drop.job = stage->job->id;
    drop.run = plan->run;
    drop.epoch = &wire;
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_DROP;
    message.drop = &drop;
    loom_daemon_send(stage->job->daemon, &worker->peer, &message);
}

/* ---- FOLD ---- */

/* Blocks of a task up to (not including) number `upto` of it are folded. */
static void note_folded(loom_task *task, uint64_t blocks) {
    int64_t upto = blocks < (uint64_t)task->stretch.n ? (int64_t)blocks : task->stretch.n;
    if (upto <= task->folded) return;
    loom_stretch done = {task->stretch.first + task->folded, upto - task->folded};
    loom_status *status = loom_ledger_folded(task->stage->ledger, task->epoch, done);
    if (status) {
        loom_log_status(LOOM_LOG_WARN, status); /* fenced meanwhile: the answer changes nothing */
        return;
    }
    task->folded = upto;
    task->worker->blocks += done.n;
    task->progressed = loom_seconds();
}

void loom_task_progress(loom_worker *w, const Wire__TaskBeat *beat) {
    for (size_t i = 0; i < w->tasks.n; i++) {
        loom_task *task = w->tasks.at[i];
        if (task->id != beat->task) continue;
        if (task->kind == WIRE__TASK_KIND__FOLD) note_folded(task, beat->blocks);
        if (task->signs == beat->signs) continue;
        task->signs = beat->signs;
        task->progressed = loom_seconds();
    }
}

/* An output that another one, which was lost with its worker, has outlived. */
static bool any_done(const loom_job_stage *stage) {
    for (uint32_t i = 0; i < stage->graph->n_outputs; i++) {
        if (stage->outputs[i].done) return true;
    }
    return false;
}

static void fold_failed(loom_task *task, const Wire__TaskDone *done) {
    loom_job_stage *stage = task->stage;
    int64_t at = done->has_failed_block ? (int64_t)done->failed_block : task->stretch.first + task->folded;
    if (at < task->stretch.first || at >= task->stretch.first + task->stretch.n) at = task->stretch.first;
    note_folded(task, (uint64_t)(at - task->stretch.first));
    loom_status *back = loom_ledger_give_back(stage->ledger, task->epoch, task->stretch);
    if (back) loom_log_status(LOOM_LOG_DEBUG, back);
    task->seat->next = -1;
    /* What was fenced is folded again, by whoever has the right states; its errors will come again. */
    if (!loom_ledger_is_current(stage->ledger, task->epoch)) return;
    if (done->status->code == LOOM_E_CANCELLED) return; /* a worker that is going: another one takes it */
    if (loom_stage_spills(stage)) {
        loom_spill_give_up(stage, done->status->message);
        return;
    }
    if (loom_spill_of(stage) && !any_done(stage)) {
        loom_spill_read_all(stage);
        return;
    }
    if (at < stage->fail_block) {
        loom_status_free(stage->error);
        stage->error = loom_wire_status_restore(done->status);
        stage->fail_block = at;
    }
}

static void note_collected(loom_seat *seat, const loom_task *task, uint64_t bytes) {
    double each = bytes > seat->collected ? (double)(bytes - seat->collected) / (double)task->stretch.n : 0;
    if (each > seat->collects) seat->collects = each;
    seat->collected = bytes;
}

static void fold_done(loom_task *task, const Wire__TaskDone *done) {
    loom_seat *seat = task->seat;
    if (done->status) {
        fold_failed(task, done);
        return;
    }
    note_folded(task, (uint64_t)task->stretch.n);
    if (seat->open && seat->epoch.counter == task->epoch.counter) note_collected(seat, task, done->collected);
    double seconds = done->compute + done->wait;
    if (seconds > 1e-4) {
        double rate = (double)loom_blocks_count(task->stage->blocks, task->stretch) / seconds;
        seat->rate = seat->rate > 0 ? 0.5 * (seat->rate + rate) : rate;
    }
}

/* ---- DELTA ---- */

/* Where order matters the parts of an output are its delta's blocks, cut anyhow. */
static loom_status *check_ordered(const Wire__TaskDone *done, uint32_t output) {
    uint64_t blocks = 0, parts = 0;
    for (size_t i = 0; i < done->n_blocks; i++) blocks += done->blocks[i]->n;
    for (size_t i = 0; i < done->n_parts; i++) {
        const Wire__TaskPart *part = done->parts[i];
        if (part->output != output) continue;
        parts += part->n_blocks;
        bool found = false;
        for (size_t k = 0; k < done->n_blocks && !found; k++) {
            const Wire__BlockRun *run = done->blocks[k];
            found = part->first_block >= run->first && part->first_block - run->first <= run->n &&
                    part->n_blocks <= run->n - (part->first_block - run->first);
        }
        if (!found) return loom_error(LOOM_E_PROTOCOL, "a delta with a part of blocks that are not in it");
        for (size_t k = 0; k < i; k++) {
            const Wire__TaskPart *other = done->parts[k];
            if (other->output != output || other->first_block >= part->first_block + part->n_blocks ||
                part->first_block >= other->first_block + other->n_blocks) {
                continue;
            }
            return loom_error(LOOM_E_PROTOCOL, "a delta with two parts of one block");
        }
    }
    if (blocks != parts) return loom_error(LOOM_E_PROTOCOL, "a delta whose parts do not cover its blocks");
    return NULL;
}

/* Elsewhere one part has them all. */
static loom_status *check_unordered(const Wire__TaskDone *done, uint32_t output) {
    size_t parts = 0;
    for (size_t i = 0; i < done->n_parts; i++) parts += done->parts[i]->output == output;
    if (parts == (done->n_blocks ? 1 : 0)) return NULL;
    return loom_error(LOOM_E_PROTOCOL, "a delta of %zu runs of blocks with %zu parts of output %u", done->n_blocks,
                      parts, output);
}

static loom_status *check_parts(const loom_job_stage *stage, const Wire__TaskDone *done) {
    const uint64_t n_blocks = (uint64_t)stage->blocks->n_blocks;
    for (size_t i = 0; i < done->n_blocks; i++) {
        const Wire__BlockRun *run = done->blocks[i];
        if (run->n > 0 && run->first <= n_blocks && run->n <= n_blocks - run->first) continue;
        return loom_error(LOOM_E_PROTOCOL, "a delta with blocks that are not there");
    }
    for (size_t i = 0; i < done->n_parts; i++) {
        const Wire__TaskPart *part = done->parts[i];
        if (part->output >= stage->graph->n_outputs || part->first_block > n_blocks ||
            part->n_blocks > n_blocks - part->first_block) {
            return loom_error(LOOM_E_PROTOCOL, "a delta with a part of no output, or of blocks that are not there");
        }
        if (stage->graph->outputs[part->output].kind == LOOM_OUT_SPILL) LOOM_TRY(loom_spilled_check(part));
    }
    for (uint32_t o = 0; o < stage->graph->n_outputs; o++) {
        const loom_graph_output *output = &stage->graph->outputs[o];
        bool ordered = loom_merges_in_order(output->kind, output->order);
        LOOM_TRY(ordered ? check_ordered(done, o) : check_unordered(done, o));
    }
    return NULL;
}

static loom_status *store_delta(const loom_job_stage *stage, loom_epoch epoch, uint64_t delta,
                                const loom_stretch *blocks, const Wire__TaskDone *done,
                                loom_held_object *const *objects) {
    loom_stored_piece *pieces = loom_xcalloc(done->n_parts + 1, sizeof *pieces);
    for (size_t i = 0; i < done->n_parts; i++) {
        const Wire__TaskPart *part = done->parts[i];
        pieces[i] =
            (loom_stored_piece){part->output, {(int64_t)part->first_block, (int64_t)part->n_blocks}, objects[i]->path};
    }
    loom_status *status = loom_store_delta(stage->job->daemon->store, stage->job->id, stage->instance, epoch, delta,
                                           blocks, done->n_blocks, pieces, done->n_parts);
    free(pieces);
    return status;
}

static uint64_t *copy_numbers(const uint64_t *from, size_t n) {
    uint64_t *copy = loom_xcalloc(n + 1, sizeof *copy);
    if (n) memcpy(copy, from, n * sizeof *copy);
    return copy;
}

static void note_batches(const Wire__TaskPart *part, loom_spilled *spilled) {
    if (!part->n_batches) return;
    spilled->n_batches = part->n_batches;
    spilled->batches = copy_numbers(part->batches, part->n_batches);
    spilled->counts = copy_numbers(part->counts, part->n_counts);
}

/* Takes the references. An output that is done already was read before another one, which had stayed with a worker, was
 * lost. */
static loom_status *add_pieces(loom_job_stage *stage, const Wire__TaskDone *done, loom_held_object **objects) {
    loom_status *status = NULL;
    for (size_t i = 0; i < done->n_parts; i++) {
        const Wire__TaskPart *part = done->parts[i];
        if (stage->outputs[part->output].done) {
            loom_held_object_unref(objects[i]);
            continue;
        }
        loom_piece *piece = loom_xcalloc(1, sizeof *piece);
        *piece = (loom_piece){.stretch = {(int64_t)part->first_block, (int64_t)part->n_blocks}, .object = objects[i]};
        note_batches(part, &piece->spilled);
        if (stage->graph->outputs[part->output].kind == LOOM_OUT_CHAIN) {
            loom_status *not_stored = loom_chain_take(stage, piece, part->output);
            if (!status) {
                status = not_stored;
            } else {
                loom_status_free(not_stored);
            }
        } else {
            insert_piece(&stage->outputs[part->output].pieces, piece);
        }
    }
    return status;
}

/* First everything that may be refused, none of which changes anything but where files are; then store, ledger and
 * pieces together. */
static loom_status *accept_blocks(loom_task *task, const Wire__TaskDone *done, const loom_stretch *blocks) {
    loom_job_stage *stage = task->stage;
    loom_held_object **objects;
    size_t n_residents;
    LOOM_TRY(loom_ledger_check_delta(stage->ledger, task->epoch, blocks, done->n_blocks));
    LOOM_TRY(loom_chain_check(stage, done));
    LOOM_TRY(loom_resident_check(task, done, &n_residents));
    LOOM_TRY(take_objects(task, done, &objects));
    if (n_residents) {
        loom_stage_defer(task, blocks, done, objects);
        return NULL;
    }
    uint64_t delta = loom_daemon_next_id(stage->job->daemon);
    loom_status *status = store_delta(stage, task->epoch, delta, blocks, done, objects);
    if (status) {
        unref_all(objects, done->n_parts);
        return status;
    }
    loom_ledger_accept(stage->ledger, task->epoch, blocks, done->n_blocks, delta);
    status = add_pieces(stage, done, objects);
    free(objects);
    return status;
}

static loom_status *accept_delta(loom_task *task, const Wire__TaskDone *done) {
    LOOM_TRY(check_parts(task->stage, done));
    loom_stretch *blocks = loom_xcalloc(done->n_blocks + 1, sizeof *blocks);
    for (size_t i = 0; i < done->n_blocks; i++) {
        blocks[i] = (loom_stretch){(int64_t)done->blocks[i]->first, (int64_t)done->blocks[i]->n};
    }
    loom_status *status = accept_blocks(task, done, blocks);
    free(blocks);
    return status;
}

/* A delta that is refused, or could not be made, frees the blocks of its epoch. */
static void delta_done(loom_task *task, const Wire__TaskDone *done) {
    loom_job_stage *stage = task->stage;
    task->seat->last_handover = done->handover;
    loom_status *status = done->status ? loom_wire_status_restore(done->status) : accept_delta(task, done);
    if (!status) {
        if (done->n_blocks && !stage->deferred.worker) stage->job->deaths = 0;
        if (stage->streams_out) {
            loom_stage_send_parts(stage);
            loom_stage_check_done(stage);
        }
        if (loom_stage_spills(stage)) loom_spill_judge(stage);
        return;
    }
    loom_stage_fence(stage, task->epoch, task->plan, task->worker);
    if (loom_stage_is_chained(stage->graph)) loom_chain_fence(stage);
    loom_code code = loom_status_code(status);
    if (code == LOOM_E_CANCELLED || code == LOOM_E_DENIED) {
        loom_log_status(LOOM_LOG_WARN, status);
    } else if (done->status && loom_stage_spills(stage)) {
        loom_spill_give_up(stage, loom_status_message(status)); /* no room for it, most likely */
        loom_status_free(status);
    } else {
        loom_job_fail(stage->job, status);
    }
}

/* ---- MERGE, EMPTY, ARRAY, WHOLE ---- */

static loom_status *merge_done(loom_task *task, const Wire__TaskDone *done) {
    loom_job_stage *stage = task->stage;
    loom_held_object **objects;
    if (done->n_parts != 1) return loom_error(LOOM_E_PROTOCOL, "a merge with %zu results", done->n_parts);
    LOOM_TRY(take_objects(task, done, &objects));
    loom_piece *a = task->a, *b = task->b;
    loom_stretch both = {a->stretch.first, a->stretch.n + b->stretch.n};
    loom_stored_piece stored = {task->output, both, objects[0]->path};
    loom_status *status = loom_store_merge(stage->job->daemon->store, stage->job->id, stage->instance, a->object->path,
                                           b->object->path, &stored);
    if (status) {
        unref_all(objects, 1);
        return status;
    }
    loom_piece *made = loom_xcalloc(1, sizeof *made);
    *made = (loom_piece){.stretch = both, .object = objects[0]};
    free(objects);
    task->a = task->b = NULL;
    loom_list *pieces = &stage->outputs[task->output].pieces;
    loom_list_remove(pieces, a);
    loom_list_remove(pieces, b);
    loom_piece_free(a);
    loom_piece_free(b);
    insert_piece(pieces, made);
    return NULL;
}

static loom_status *empty_done(loom_task *task, const Wire__TaskDone *done) {
    loom_job_stage *stage = task->stage;
    loom_stage_output *output = &stage->outputs[task->output];
    loom_held_object **objects;
    if (done->n_parts != 1) return loom_error(LOOM_E_PROTOCOL, "an empty output with %zu values", done->n_parts);
    LOOM_TRY(take_objects(task, done, &objects));
    loom_held_object *object = objects[0];
    free(objects);
    if (stage->graph->outputs[task->output].kind == LOOM_OUT_STREAM) {
        loom_piece *piece = loom_xcalloc(1, sizeof *piece);
        piece->object = object;
        insert_piece(&output->pieces, piece);
        output->done = true;
        loom_stage_send_parts(stage);
        return NULL;
    }
    loom_stage_set_slot(stage, task->output, object);
    return NULL;
}

static loom_status *check_array(const loom_job_stage *stage, const Wire__TaskDone *done) {
    if (done->n_parts != stage->graph->n_outputs) {
        return loom_error(LOOM_E_PROTOCOL, "an array stage of %u outputs gave %zu", stage->graph->n_outputs,
                          done->n_parts);
    }
    for (size_t i = 0; i < done->n_parts; i++) {
        bool twice = done->parts[i]->output >= stage->graph->n_outputs;
        for (size_t k = 0; k < i; k++) twice = twice || done->parts[k]->output == done->parts[i]->output;
        if (twice) return loom_error(LOOM_E_PROTOCOL, "an array stage gave an output twice, or one that it has not");
    }
    return NULL;
}

static loom_status *array_done(loom_task *task, const Wire__TaskDone *done) {
    loom_held_object **objects;
    size_t n_residents;
    LOOM_TRY(check_array(task->stage, done));
    LOOM_TRY(loom_resident_check(task, done, &n_residents));
    LOOM_TRY(take_objects(task, done, &objects));
    if (n_residents) {
        loom_stage_defer(task, NULL, done, objects);
        return NULL;
    }
    loom_stage_set_slots(task->stage, done, objects);
    return NULL;
}

static void value_done(loom_task *task, const Wire__TaskDone *done) {
    loom_job_stage *stage = task->stage;
    loom_status *status = loom_wire_status_restore(done->status);
    if (!status && task->kind == WIRE__TASK_KIND__MERGE) {
        status = merge_done(task, done);
    } else if (!status && task->kind == WIRE__TASK_KIND__EMPTY) {
        status = empty_done(task, done);
    } else if (!status) {
        status = array_done(task, done);
    }
    if (!done->status && !stage->deferred.worker) stage->job->deaths = 0;
    if (!status) return;
    if (loom_status_code(status) == LOOM_E_CANCELLED) {
        loom_log_status(LOOM_LOG_DEBUG, status); /* a worker that is going */
        return;
    }
    loom_job_fail(stage->job, status);
}

/* ---- all ---- */

static const char *end_of_label(const char *label) {
    size_t length = strlen(label);
    if (length <= LOOM_MAX_LABEL) return label;
    label += length - LOOM_MAX_LABEL;
    while (((unsigned char)*label & 0xc0) == 0x80) label++; /* inside of a character */
    return label;
}

static void add_times(loom_job *job, const Wire__TaskDone *done) {
    if (done->peak > job->peak) job->peak = done->peak;
    for (size_t i = 0; i < done->n_times; i++) {
        Wire__Time *found = NULL;
        const char *label = end_of_label(done->times[i]->label);
        for (size_t k = 0; k < job->times.n && !found; k++) {
            Wire__Time *known = job->times.at[k];
            if (strcmp(known->label, label) == 0) found = known;
        }
        if (!found && job->times.n >= LOOM_MAX_TIMES) return;
        if (!found) {
            found = LOOM_NEW(job->arena, Wire__Time);
            wire__time__init(found);
            found->label = loom_arena_strdup(job->arena, label);
            found->has_bytes = found->has_evaluations = found->has_moved = found->has_descriptors = true;
            loom_list_add(&job->times, found);
        }
        found->seconds += done->times[i]->seconds;
        found->calls += done->times[i]->calls;
        found->bytes += done->times[i]->bytes;
        found->evaluations += done->times[i]->evaluations;
        found->moved += done->times[i]->moved;
        found->descriptors += done->times[i]->descriptors;
    }
}

static void add_seconds(loom_task *task, const Wire__TaskDone *done) {
    loom_job_stage *stage = task->stage;
    if (task->plan->slow) task->plan->slow->seconds += done->compute;
    if (task->seat) {
        task->seat->compute += done->compute;
        task->seat->handover += done->handover;
        task->seat->wait += done->wait;
        return;
    }
    double compute = task->kind == WIRE__TASK_KIND__MERGE ? 0 : done->compute;
    stage->array_seconds += compute;
    stage->handover_seconds += done->handover + done->compute - compute;
}

static loom_task *find_task(const loom_worker *w, uint64_t id) {
    for (size_t i = 0; i < w->tasks.n; i++) {
        loom_task *task = w->tasks.at[i];
        if (task->id == id) return task;
    }
    return NULL;
}

/* Numbers of tasks begin anew with each life of the daemon: an answer is this task's only if job, run and epoch (which
 * has the incarnation in it) are its own too. */
static loom_task *answered_task(const loom_worker *w, const Wire__TaskDone *done) {
    loom_task *task = find_task(w, done->task);
    bool same = task && done->job == task->stage->job->id && done->run == task->plan->run &&
                done->epoch->incarnation == task->epoch.incarnation && done->epoch->counter == task->epoch.counter;
    return same ? task : NULL;
}

static void take_answer(loom_task *task, const Wire__TaskDone *done) {
    loom_worker *w = task->worker;
    loom_job_stage *stage = task->stage;
    add_times(stage->job, done);
    add_seconds(task, done);
    switch (task->kind) {
    case WIRE__TASK_KIND__FOLD: fold_done(task, done); break;
    case WIRE__TASK_KIND__DELTA: delta_done(task, done); break;
    default: value_done(task, done); break;
    }
    /* The job may have failed above, and its tasks are gone with it. */
    if (!find_task(w, done->task)) return;
    bool value = task->kind == WIRE__TASK_KIND__EMPTY || stage->graph->kind != LOOM_STAGE_TRAVERSAL;
    loom_task_drop(task);
    if (w->tasks.n) ((loom_task *)w->tasks.at[0])->progressed = loom_seconds(); /* it begins only now */
    if (value && stage->state == LOOM_STAGE_RUNNING && !done->status) loom_stage_check_done(stage);
}

void loom_task_done(loom_daemon *d, loom_worker *w, const Wire__TaskDone *done) {
    if (!w) return; /* given up: its folder is gone */
    loom_task *task = answered_task(w, done);
    if (task) take_answer(task, done); /* else late: dropped meanwhile */
    discard(w, done);
    loom_daemon_changed(d);
}
