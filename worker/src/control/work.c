/* The working thread: takes items in order, calls the executor, leaves packets for the main thread. */
#include "common/buffer.h"
#include "common/clock.h"
#include "common/log.h"
#include "control/control.h"
#include "control/results.h"
#include "proto/value_codec.h"
#include "proto/wire.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void wake(loom_control *c) {
    uv_async_send(&c->woken);
}

/* ---- freeing ---- */

void loom_item_free(loom_item *item) {
    while (item->chunks) {
        loom_chunk *chunk = item->chunks;
        item->chunks = chunk->next;
        loom_chunk_free(chunk, item->n_streams);
    }
    for (size_t i = 0; i < item->n_objects; i++) free(item->objects[i]);
    free(item->objects);
    loom_value_unref(item->elements);
    free(item->lengths);
    free(item->may_stay);
    free(item);
}

static void destroy_run(loom_work_run *run) {
    if (!run->run) return;
    *run->made_at = run->next_made;
    if (run->next_made) run->next_made->made_at = run->made_at;
    loom_run_destroy(run->run);
    run->run = NULL;
}

void loom_work_run_free(loom_work_run *run) {
    destroy_run(run);
    for (uint32_t i = 0; i < run->n_inputs; i++) free(run->inputs[i].path);
    for (uint32_t i = 0; i < run->n_streams; i++) loom_value_unref(run->constants[i]);
    for (size_t i = 0; i < run->n_reported; i++) free((char *)run->reported[i].label);
    loom_status_free(run->broken);
    free(run->folded);
    free(run->reported);
    free(run->inputs);
    free(run->constants);
    free(run->has_constants);
    free(run->segments);
    free(run->plan);
    free(run->object);
    free(run);
}

void loom_work_job_free(loom_work_job *job) {
    for (uint32_t i = 0; i < job->n_params; i++) {
        if (job->sources[i]) loom_source_destroy(job->sources[i]);
        free(job->descriptions[i]);
    }
    free(job->sources);
    free(job->descriptions);
    free(job->program);
    loom_arena_destroy(job->arena);
    free(job);
}

/* ---- what a run needs ---- */

static const loom_graph_stage *stage_of(const loom_work_run *run) {
    return &run->job->graph->stages[run->stage];
}

static loom_status *source_of(loom_work_run *run, uint32_t stream, loom_source **source) {
    uint32_t param = stage_of(run)->streams[stream];
    loom_work_job *job = run->job;
    *source = NULL;
    if (!job->descriptions[param]) return NULL;
    if (!job->sources[param]) LOOM_TRY(loom_source_open(job->descriptions[param], &job->sources[param]));
    *source = job->sources[param];
    return NULL;
}

/* Constants that are served arrive by the main thread; those of files are read here. */
static loom_status *gather_constants(loom_control *c, loom_work_run *run) {
    pthread_mutex_lock(&c->lock);
    c->waiting = true;
    while (run->constants_pending && !run->closed && !run->job->closed && !c->stopping)
        pthread_cond_wait(&c->changed, &c->lock);
    c->waiting = false;
    /* Kept: every task of the run fails for the same reason. */
    loom_status *status = loom_status_copy(run->broken);
    if (!status && run->constants_pending) status = loom_error(LOOM_E_CANCELLED, "cancelled");
    pthread_mutex_unlock(&c->lock);
    for (uint32_t i = 0; run->segments && i < run->n_streams && !status; i++) {
        loom_source *source;
        if (!run->has_constants[i] || run->constants[i]) continue;
        status = source_of(run, i, &source);
        if (!status && source) status = loom_source_constants(source, run->segments[i], &run->constants[i]);
    }
    return status;
}

static void unref_all(loom_value **values, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) loom_value_unref(values[i]);
    free(values);
}

static loom_status *open_inputs(loom_control *c, const loom_work_run *run, loom_value ***inputs) {
    *inputs = loom_xcalloc((size_t)run->n_inputs + 1, sizeof **inputs);
    loom_status *status = NULL;
    for (uint32_t i = 0; i < run->n_inputs && !status; i++) status = loom_input_open(c, &run->inputs[i], &(*inputs)[i]);
    if (status) unref_all(*inputs, run->n_inputs);
    return status;
}

/* `content`: a run that has what is in the accumulator, or NULL. */
static loom_status *create_run(loom_control *c, loom_work_run *run, const loom_work_run *content) {
    LOOM_TRY(gather_constants(c, run));
    loom_value **inputs;
    LOOM_TRY(open_inputs(c, run, &inputs));
    loom_run_description description = {.program = run->job->program,
                                        .program_length = run->job->program_length,
                                        .graph = run->job->graph,
                                        .stage = run->stage,
                                        .interpret = run->interpret,
                                        .plan = run->plan,
                                        .plan_length = run->plan_length,
                                        .object = run->object,
                                        .object_length = run->object_length,
                                        .inputs = inputs,
                                        .inputs_may_go = loom_inputs_stay(c, run),
                                        .n_constants = run->n_streams,
                                        .constants = run->constants,
                                        .content = content ? content->run : NULL};
    loom_status *status = loom_run_create(c->executor, &description, &run->run);
    unref_all(inputs, run->n_inputs);
    if (status) return status;
    run->next_made = c->made;
    run->made_at = &c->made;
    if (c->made) c->made->made_at = &run->next_made;
    c->made = run;
    return NULL;
}

static bool wants_memory(const loom_status *status) {
    return loom_status_code(status) == LOOM_E_MEMORY;
}

static loom_status *move_inputs(loom_control *c, loom_work_run *run) {
    loom_value **inputs;
    LOOM_TRY(open_inputs(c, run, &inputs));
    loom_status *status = loom_run_move_inputs(run->run, inputs);
    unref_all(inputs, run->n_inputs);
    return status;
}

void loom_work_move_inputs(loom_control *c, uint64_t resident) {
    for (loom_work_run *run = c->made; run; run = run->next_made) {
        if (!loom_is_input(run, resident)) continue;
        loom_status *status = move_inputs(c, run);
        if (!status) continue;
        loom_log_status(LOOM_LOG_WARN, status); /* it goes on with what is in memory, in chunks as short as need be */
        loom_status_free(loom_run_move_inputs(run->run, NULL));
    }
}

/* Whether memory was what lacked, and inputs of the run that had stayed in it have made room. Then frees the status. */
static bool has_room_now(loom_control *c, const loom_work_run *run, loom_status *status) {
    if (!wants_memory(status) || !loom_residents_write(c, run, true)) return false;
    loom_status_free(status);
    return true;
}

/* What computes; where there is none yet it is made. */
static loom_status *ready_run(loom_control *c, loom_work_run *run) {
    loom_status *status = run->run ? NULL : create_run(c, run, NULL);
    return has_room_now(c, run, status) ? create_run(c, run, NULL) : status;
}

static void forget_times(loom_work_run *run) {
    for (size_t i = 0; i < run->n_reported; i++) free((char *)run->reported[i].label);
    free(run->reported);
    run->reported = NULL;
    run->n_reported = 0;
}

/* Neighbours in time are mostly neighbours in the stream. */
static void note_folded(loom_work_run *run, int64_t first, int64_t n) {
    if (n == 0) return;
    loom_folded *last = run->n_folded ? &run->folded[run->n_folded - 1] : NULL;
    if (last && last->first + last->n == first) {
        last->n += n;
        return;
    }
    if (run->n_folded == run->folded_capacity) {
        run->folded_capacity = run->folded_capacity ? 2 * run->folded_capacity : 16;
        run->folded = loom_xrealloc(run->folded, run->folded_capacity * sizeof *run->folded);
    }
    run->folded[run->n_folded++] = (loom_folded){first, n};
}

static void drop_run(loom_work_run *run) {
    run->n_folded = 0;
    destroy_run(run);
    run->epoch.counter = 0;
    forget_times(run);
}

/* A spoilt accumulator begins anew, so that an earlier block of the epoch can still be tried and its own error named.
 * The daemon refuses a delta that lacks blocks the epoch has folded, so what is gone cannot be missed. */
static void forget_content(loom_work_run *run) {
    loom_run_drop(run->run);
    run->n_folded = 0;
}

static bool same_epoch(const Wire__Epoch *a, const Wire__Epoch *b) {
    return a->incarnation == b->incarnation && a->counter == b->counter;
}

/* ---- one accumulator for all classes of segments ---- */

static bool same_stage(const loom_work_run *a, const loom_work_run *b) {
    return a->job == b->job && a->stage == b->stage;
}

/* The run of the stage that has what is in an epoch; NULL: there is none. */
static loom_work_run *holder_of(const loom_control *c, const loom_work_run *run, const Wire__Epoch *epoch) {
    for (loom_work_run *other = c->made; other; other = other->next_made) {
        if (other->epoch.counter && same_stage(other, run) && same_epoch(&other->epoch, epoch)) return other;
    }
    return NULL;
}

/* What was fenced while nobody asked for it: of other epochs, as there is one at a time. */
static void drop_stale(loom_control *c, const loom_work_run *run, const Wire__Epoch *epoch) {
    bool shared = loom_stage_adds_up(stage_of(run));
    for (loom_work_run *other = c->made, *next; other; other = next) {
        next = other->next_made;
        bool its = other == run || (shared && same_stage(other, run));
        if (its && other->epoch.counter && !same_epoch(&other->epoch, epoch)) drop_run(other);
    }
}

/* The blocks of `from` are in `run` now, and count as its own. */
static void move_folded(loom_work_run *from, loom_work_run *run) {
    free(run->folded);
    run->folded = from->folded;
    run->n_folded = from->n_folded;
    run->folded_capacity = from->folded_capacity;
    from->folded = NULL;
    from->n_folded = from->folded_capacity = 0;
    from->epoch.counter = 0;
}

/* Where memory lacks beside the accumulator, or the run cannot be made, what was in there is lost with it: then the
 * daemon misses its blocks. */
static loom_status *make_with_content(loom_control *c, loom_work_run *run, loom_work_run *from) {
    loom_status *status = create_run(c, run, from);
    if (status) {
        forget_content(from);
        from->epoch.counter = 0;
        return status;
    }
    move_folded(from, run);
    return NULL;
}

/* The run, with all that is in the epoch. */
static loom_status *ready_for(loom_control *c, loom_work_run *run, const Wire__Epoch *epoch) {
    drop_stale(c, run, epoch);
    loom_work_run *from = holder_of(c, run, epoch);
    if (!from || from == run) {
        LOOM_TRY(ready_run(c, run));
    } else if (run->run) {
        loom_run_take_content(run->run, from->run);
        move_folded(from, run);
    } else {
        LOOM_TRY(make_with_content(c, run, from));
    }
    run->epoch = *epoch;
    return NULL;
}

/* ---- answers ---- */

/* What was done since the last report. */
static void report_work(Wire__Time *t, const loom_kernel_work *now, loom_kernel_work *before) {
    t->evaluations = now->done[LOOM_COUNTED_EVALUATIONS] - before->done[LOOM_COUNTED_EVALUATIONS];
    t->moved = now->done[LOOM_COUNTED_MOVED] - before->done[LOOM_COUNTED_MOVED];
    t->descriptors = now->done[LOOM_COUNTED_DESCRIPTORS] - before->done[LOOM_COUNTED_DESCRIPTORS];
    t->has_evaluations = t->has_moved = t->has_descriptors = true;
    *before = *now;
}

/* Seconds by label since the last report. */
static void add_times(loom_outcome *o, loom_work_run *run) {
    if (!run->run) return;
    o->done.peak = loom_run_peak(run->run);
    o->done.has_peak = true;
    const loom_run_time *times;
    size_t n = loom_run_times(run->run, &times);
    o->done.times = LOOM_NEW_ARRAY(o->arena, Wire__Time *, n);
    for (size_t i = 0; i < n; i++) {
        if (i == run->n_reported) {
            run->reported = loom_xrealloc(run->reported, (i + 1) * sizeof *run->reported);
            run->reported[run->n_reported++] = (loom_run_time){.label = loom_xstrdup(times[i].label)};
        }
        loom_run_time *before = &run->reported[i];
        if (times[i].calls == before->calls) continue;
        Wire__Time *t = o->done.times[o->done.n_times++] = LOOM_NEW(o->arena, Wire__Time);
        wire__time__init(t);
        t->label = loom_arena_strdup(o->arena, times[i].label);
        t->seconds = times[i].seconds - before->seconds;
        t->calls = times[i].calls - before->calls;
        t->bytes = times[i].bytes - before->bytes;
        t->has_bytes = true;
        report_work(t, &times[i].work, &before->work);
        before->seconds = times[i].seconds;
        before->calls = times[i].calls;
        before->bytes = times[i].bytes;
    }
}

static loom_packet *pack_outcome(const loom_item *item, loom_outcome *o) {
    o->done.task = item->task;
    o->done.job = item->job->id;
    o->done.run = item->run->id;
    o->done.epoch = (Wire__Epoch *)&item->epoch;
    o->done.has_compute = o->done.has_handover = o->done.has_wait = true;
    o->done.status = loom_wire_status(o->arena, o->status);
    o->done.n_parts = o->parts.count;
    o->done.parts = o->parts.at;
    o->done.n_blocks = o->blocks.count;
    o->done.blocks = o->blocks.at;
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_TASK_DONE;
    message.task_done = &o->done;
    return loom_packet_create(&message);
}

static void send_outcome(loom_control *c, const loom_item *item, loom_outcome *o) {
    loom_packet *packet = pack_outcome(item, o);
    loom_status *refused = loom_packet_check(packet);
    if (refused) {
        loom_packet_destroy(packet);
        loom_results_take_back(c, o);
        loom_status_free(o->status);
        o->status = loom_status_note(refused, "in the answer to a task: it has too many parts or columns");
        packet = pack_outcome(item, o);
    }
    pthread_mutex_lock(&c->lock);
    if (c->n_outbox == c->outbox_capacity) {
        c->outbox_capacity = c->outbox_capacity ? 2 * c->outbox_capacity : 8;
        c->outbox = loom_xrealloc(c->outbox, c->outbox_capacity * sizeof(loom_packet *));
    }
    c->outbox[c->n_outbox++] = packet;
    pthread_mutex_unlock(&c->lock);
    wake(c);
}

/* ---- blocks ---- */

/* Under the lock: what comes of the task nobody waits for. */
static bool is_unwanted(const loom_control *c, const loom_item *item) {
    return c->stopping || item->job->closed || item->run->closed;
}

/* The next chunk of an item when it is there. NULL: the job was closed, or there are no more. */
static loom_chunk *wait_chunk(loom_control *c, loom_item *item, loom_outcome *o) {
    double before = loom_seconds();
    pthread_mutex_lock(&c->lock);
    c->waiting = true;
    while (!is_unwanted(c, item) && !(item->chunks && item->chunks->ready) &&
           (item->chunks || item->planned < item->n_blocks)) {
        pthread_cond_wait(&c->changed, &c->lock);
    }
    c->waiting = false;
    loom_chunk *chunk = item->chunks;
    if (is_unwanted(c, item)) chunk = NULL;
    if (chunk) item->chunks = chunk->next;
    pthread_mutex_unlock(&c->lock);
    o->done.wait += loom_seconds() - before;
    wake(c); /* one more may be asked for */
    return chunk;
}

/* Cancelled is what the daemon tries again elsewhere, so nothing else may be called that. */
static loom_status *no_chunk(loom_control *c, const loom_item *item) {
    pthread_mutex_lock(&c->lock);
    bool cancelled = is_unwanted(c, item);
    pthread_mutex_unlock(&c->lock);
    if (cancelled) return loom_error(LOOM_E_CANCELLED, "cancelled");
    return loom_error(LOOM_E_INTERNAL, "the blocks of a task do not add up to its elements");
}

/* Streams of a whole program end one by one; of a traversal, together. */
static int64_t elements_asked(const loom_item *item, const loom_chunk *chunk, uint32_t stream) {
    if (!item->lengths || item->lengths[stream] - chunk->first >= chunk->count) return chunk->count;
    return item->lengths[stream] > chunk->first ? item->lengths[stream] - chunk->first : 0;
}

static loom_status *read_spilled(loom_item *item, loom_chunk *chunk) {
    if (!item->elements) LOOM_TRY(loom_object_map(item->objects[0], &item->elements));
    return loom_spill_read(item->elements, item->spilled + (chunk->first - item->first), chunk->count,
                           stage_of(item->run)->streams, item->run->n_streams, chunk->values);
}

/* Streams that are files of this host are read here. */
static loom_status *read_local(loom_item *item, loom_chunk *chunk) {
    loom_work_run *run = item->run;
    if (item->spilled >= 0) return read_spilled(item, chunk);
    for (uint32_t i = 0; i < run->n_streams; i++) {
        loom_source *source;
        LOOM_TRY(source_of(run, i, &source));
        if (!source) continue;
        int64_t count = elements_asked(item, chunk, i);
        if (count > 0) LOOM_TRY(loom_source_read(source, chunk->first, count, &chunk->values[i]));
    }
    return NULL;
}

/* Who serves a stream is not trusted to have sent what was asked for. */
static loom_status *check_streams(const loom_item *item, const loom_chunk *chunk) {
    for (uint32_t i = 0; i < item->run->n_streams; i++) {
        int64_t asked = elements_asked(item, chunk, i);
        const loom_value *value = chunk->values[i];
        if (!value && asked > 0) return loom_error(LOOM_E_DATA, "a stream ended before its announced length");
        for (uint32_t k = 0; value && k < value->n_leaves; k++) {
            const loom_leaf *leaf = &value->leaves[k];
            if (leaf->depth == 0)
                return loom_error(LOOM_E_PROTOCOL, "a block's column '%s' has no elements", leaf->name);
            int64_t n = loom_leaf_length(leaf, 0, 0);
            if (n == asked) continue;
            return loom_error(LOOM_E_PROTOCOL, "a block has %" PRId64 " elements, %" PRId64 " were asked for", n,
                              asked);
        }
    }
    return NULL;
}

/* Where memory is out for several blocks in one go they are folded one by one, and so are those that come after. */
static loom_status *fold_singly(loom_control *c, loom_item *item, const loom_chunk *chunk, int64_t *folded) {
    loom_work_run *run = item->run;
    pthread_mutex_lock(&c->lock);
    run->chunk_blocks = 1;
    pthread_mutex_unlock(&c->lock);
    loom_value **slices = loom_xcalloc((size_t)run->n_streams + 1, sizeof *slices);
    loom_status *status = NULL;
    for (*folded = 0; *folded < chunk->n_blocks && !status;) {
        int64_t from = *folded * item->block;
        int64_t to = from + item->block < chunk->count ? from + item->block : chunk->count;
        for (uint32_t i = 0; i < run->n_streams && !status; i++) {
            status = loom_value_slice(chunk->values[i], from, to, &slices[i]);
        }
        if (!status) status = loom_run_fold(run->run, slices, chunk->first_block + *folded, 1, chunk->first + from);
        for (uint32_t i = 0; i < run->n_streams; i++) {
            loom_value_unref(slices[i]);
            slices[i] = NULL;
        }
        if (!status) ++*folded;
    }
    free(slices);
    return status;
}

/* All of the chunk's blocks in one go. */
static loom_status *fold_whole(loom_control *c, loom_work_run *run, const loom_chunk *chunk) {
    loom_status *status = loom_run_fold(run->run, chunk->values, chunk->first_block, chunk->n_blocks, chunk->first);
    if (loom_run_is_spoilt(run->run) || !has_room_now(c, run, status)) return status;
    return loom_run_fold(run->run, chunk->values, chunk->first_block, chunk->n_blocks, chunk->first);
}

static loom_status *fold_chunk(loom_control *c, loom_item *item, loom_chunk *chunk, loom_outcome *o) {
    if (chunk->status) {
        loom_status *status = chunk->status;
        chunk->status = NULL;
        return status;
    }
    LOOM_TRY(read_local(item, chunk));
    LOOM_TRY(check_streams(item, chunk));
    loom_work_run *run = item->run;
    double before = loom_seconds();
    int64_t folded = 0;
    loom_status *status = fold_whole(c, run, chunk);
    if (!status) {
        folded = chunk->n_blocks;
    } else if (wants_memory(status) && chunk->n_blocks > 1 && !loom_run_is_spoilt(run->run)) {
        loom_status_free(status);
        status = fold_singly(c, item, chunk, &folded);
    }
    o->done.compute += loom_seconds() - before;
    note_folded(run, chunk->first_block, folded);
    atomic_fetch_add(&item->folded, folded);
    if (loom_run_is_spoilt(run->run)) forget_content(run);
    return status;
}

/* The states that another lease has left. */
static loom_status *begin_chain(loom_item *item) {
    uint32_t n = (uint32_t)item->n_objects;
    if (n == 0) return loom_run_begin(item->run->run, item->first_block, NULL);
    loom_value **states = loom_xcalloc((size_t)n + 1, sizeof *states);
    loom_status *status = NULL;
    for (uint32_t i = 0; i < n && !status; i++) status = loom_object_map(item->objects[i], &states[i]);
    if (!status) status = loom_run_begin(item->run->run, item->first_block, states);
    unref_all(states, n);
    return status;
}

static loom_status *fold(loom_control *c, loom_item *item, loom_outcome *o) {
    loom_work_run *run = item->run;
    LOOM_TRY(ready_for(c, run, &item->epoch));
    if (item->begins) LOOM_TRY(begin_chain(item));
    while (atomic_load(&item->folded) < item->n_blocks) {
        loom_chunk *chunk = wait_chunk(c, item, o);
        if (!chunk) return no_chunk(c, item);
        loom_status *status = fold_chunk(c, item, chunk, o);
        loom_chunk_free(chunk, run->n_streams);
        o->done.has_collected = true;
        o->done.collected = loom_run_collected_bytes(run->run);
        if (status) {
            o->done.has_failed_block = true;
            o->done.failed_block = (uint64_t)(item->first_block + atomic_load(&item->folded));
            return status;
        }
    }
    return NULL;
}

/* ---- deltas, merges, values ---- */

/* How many elements there are of each batch: they stand in order. */
static loom_status *put_spilled(loom_control *c, const loom_delta_part *from, uint32_t output, loom_value *value,
                                loom_outcome *o) {
    LOOM_TRY(loom_results_add_on_disk(c, o, output, from->first_block, from->n_blocks, value));
    Wire__TaskPart *part = o->parts.at[o->parts.count - 1];
    const int64_t *batch = value->leaves[0].data;
    int64_t n = value->leaves[0].n_data, batches = 0;
    for (int64_t i = 0; i < n; i++) batches += i == 0 || batch[i] != batch[i - 1];
    part->batches = LOOM_NEW_ARRAY(o->arena, uint64_t, (size_t)batches);
    part->counts = LOOM_NEW_ARRAY(o->arena, uint64_t, (size_t)batches);
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || batch[i] != batch[i - 1]) part->batches[part->n_batches++] = (uint64_t)batch[i];
        part->counts[part->n_batches - 1]++;
    }
    part->n_counts = part->n_batches;
    return NULL;
}

/* Where order matters an output without content for some blocks still has a place there. */
static loom_status *put_part(loom_control *c, const loom_item *item, const loom_delta_part *part, uint32_t output,
                             loom_outcome *o) {
    loom_work_run *run = item->run;
    loom_value *value = part->outputs[output];
    if (value && item->may_stay[output]) {
        return loom_results_keep(c, o, item->job, output, part->first_block, part->n_blocks, value);
    }
    const loom_graph_output *to = &stage_of(run)->outputs[output];
    if (value && to->kind == LOOM_OUT_SPILL) return put_spilled(c, part, output, value, o);
    if (value) return loom_results_add(c, o, output, part->first_block, part->n_blocks, value);
    if (!loom_merges_in_order(to->kind, to->order)) return NULL;
    loom_value *empty;
    LOOM_TRY(loom_run_empty(run->run, output, &empty));
    loom_status *status = loom_results_add(c, o, output, part->first_block, part->n_blocks, empty);
    loom_value_unref(empty);
    return status;
}

static loom_status *write_delta(loom_control *c, loom_item *item, const loom_delta *delta, loom_outcome *o) {
    for (size_t p = 0; p < delta->n_parts; p++) {
        for (uint32_t j = 0; j < delta->n_outputs; j++) {
            LOOM_TRY(put_part(c, item, &delta->parts[p], j, o));
        }
    }
    return NULL;
}

static int by_first(const void *a, const void *b) {
    const loom_folded *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* As maximal runs of blocks, which is how an ordered output's parts are cut. */
static void list_blocks(loom_work_run *run, loom_outcome *o) {
    size_t n = 0;
    if (run->n_folded) qsort(run->folded, run->n_folded, sizeof *run->folded, by_first);
    for (size_t i = 0; i < run->n_folded; i++) {
        if (n && run->folded[n - 1].first + run->folded[n - 1].n == run->folded[i].first) {
            run->folded[n - 1].n += run->folded[i].n;
        } else {
            run->folded[n++] = run->folded[i];
        }
    }
    run->n_folded = n;
    for (size_t i = 0; i < run->n_folded; i++) {
        Wire__BlockRun *blocks = LOOM_NEW(o->arena, Wire__BlockRun);
        wire__block_run__init(blocks);
        blocks->first = (uint64_t)run->folded[i].first;
        blocks->n = (uint64_t)run->folded[i].n;
        LOOM_PUSH(o->arena, o->blocks, blocks);
    }
    run->n_folded = 0;
}

static loom_status *hand_over(loom_control *c, loom_item *item, loom_outcome *o) {
    loom_work_run *run = item->run;
    if (!run->run || !same_epoch(&run->epoch, &item->epoch)) {
        return loom_error(LOOM_E_DENIED, "there is nothing of this epoch");
    }
    double before = loom_seconds();
    loom_delta *delta;
    LOOM_TRY(loom_run_take_delta(run->run, &delta));
    run->epoch.counter = 0;
    list_blocks(run, o);
    loom_status *status = write_delta(c, item, delta, o);
    loom_delta_destroy(delta);
    o->done.handover += loom_seconds() - before;
    return status;
}

/* What is collected is written one after the other, without a copy in memory: there may be as much as the stream is
 * long. */
static loom_status *merge_mapped(loom_control *c, loom_item *item, loom_value *const *pair, loom_outcome *o) {
    if (stage_of(item->run)->outputs[item->output].kind == LOOM_OUT_COLLECT)
        return loom_results_join(c, o, item->output, 0, 0, pair, 2);
    loom_value *merged;
    double before = loom_seconds();
    LOOM_TRY(loom_run_merge(item->run->run, item->output, pair[0], pair[1], &merged));
    o->done.compute += loom_seconds() - before;
    loom_status *status = loom_results_add(c, o, item->output, 0, 0, merged);
    loom_value_unref(merged);
    return status;
}

static loom_status *merge(loom_control *c, loom_item *item, loom_outcome *o) {
    loom_value *pair[2] = {NULL, NULL};
    loom_status *status = loom_object_map(item->objects[0], &pair[0]);
    if (!status) status = loom_object_map(item->objects[1], &pair[1]);
    double before = loom_seconds(), computed = o->done.compute;
    if (!status) status = merge_mapped(c, item, pair, o);
    o->done.handover += loom_seconds() - before - (o->done.compute - computed);
    loom_value_unref(pair[0]);
    loom_value_unref(pair[1]);
    return status;
}

static loom_status *empty(loom_control *c, loom_item *item, loom_outcome *o) {
    loom_value *value;
    double before = loom_seconds();
    LOOM_TRY(loom_run_empty(item->run->run, item->output, &value));
    o->done.compute += loom_seconds() - before;
    before = loom_seconds();
    loom_status *status = loom_results_add(c, o, item->output, 0, 0, value);
    o->done.handover += loom_seconds() - before;
    loom_value_unref(value);
    return status;
}

typedef struct puller {
    loom_control *control;
    loom_item *item;
    loom_outcome *outcome;
} puller;

static loom_status *take_pulled(puller *p, loom_chunk *chunk, loom_value **streams) {
    if (chunk->status) {
        loom_status *status = chunk->status;
        chunk->status = NULL;
        return status;
    }
    LOOM_TRY(read_local(p->item, chunk));
    LOOM_TRY(check_streams(p->item, chunk));
    for (uint32_t i = 0; i < p->item->run->n_streams; i++) {
        streams[i] = chunk->values[i];
        chunk->values[i] = NULL;
    }
    return NULL;
}

static loom_status *pull(void *context, int64_t block, loom_value **streams, bool *end) {
    puller *p = context;
    *end = block >= p->item->n_blocks;
    if (*end) return NULL;
    loom_chunk *chunk = wait_chunk(p->control, p->item, p->outcome);
    if (!chunk) return no_chunk(p->control, p->item);
    loom_status *status = take_pulled(p, chunk, streams);
    loom_chunk_free(chunk, p->item->run->n_streams);
    return status;
}

/* What stays must leave room for who reads it. */
static loom_status *put_output(loom_control *c, const loom_item *item, uint32_t output, loom_value *value,
                               loom_outcome *o) {
    bool stays = item->may_stay && item->may_stay[output] && loom_executor_used(c->executor) <= c->memory / 4 * 3;
    return stays ? loom_results_keep(c, o, item->job, output, 0, 0, value)
                 : loom_results_add(c, o, output, 0, 0, value);
}

static loom_status *try_array(loom_control *c, loom_item *item, loom_outcome *o) {
    loom_work_run *run = item->run;
    if (!run->run) LOOM_TRY(create_run(c, run, NULL));
    uint32_t n = stage_of(run)->n_outputs;
    loom_value **outputs = loom_xcalloc((size_t)n + 1, sizeof *outputs);
    puller p = {c, item, o};
    double before = loom_seconds();
    loom_status *status = loom_run_array(run->run, pull, &p, outputs);
    o->done.compute += loom_seconds() - before - o->done.wait;
    before = loom_seconds();
    for (uint32_t i = 0; i < n && !status; i++) status = put_output(c, item, i, outputs[i], o);
    o->done.handover += loom_seconds() - before;
    unref_all(outputs, n);
    return status;
}

static loom_status *array(loom_control *c, loom_item *item, loom_outcome *o) {
    loom_status *status = try_array(c, item, o);
    if (wants_memory(status)) drop_run(item->run);
    if (!has_room_now(c, item->run, status)) return status;
    loom_results_take_back(c, o);
    return try_array(c, item, o);
}

/* ---- items ---- */

static loom_status *do_task(loom_control *c, loom_item *item, loom_outcome *o) {
    switch (item->what) {
    case WIRE__TASK_KIND__FOLD: return fold(c, item, o);
    case WIRE__TASK_KIND__DELTA: return hand_over(c, item, o);
    default: break;
    }
    if (item->what == WIRE__TASK_KIND__ARRAY || item->what == WIRE__TASK_KIND__WHOLE) return array(c, item, o);
    LOOM_TRY(ready_run(c, item->run));
    return item->what == WIRE__TASK_KIND__MERGE ? merge(c, item, o) : empty(c, item, o);
}

static void run_task(loom_control *c, loom_item *item) {
    loom_outcome o = {.arena = loom_arena_create(0)};
    wire__task_done__init(&o.done);
    loom_residents_write(c, item->run, false);
    o.status = do_task(c, item, &o);
    if (o.status) loom_results_take_back(c, &o); /* of half a result nobody has any use */
    add_times(&o, item->run);
    /* A traversal's buffers make room for who reads what stays; what has been read goes at once. Values stay of a whole
     * traversal only, so with these it has read its inputs too. */
    bool read = (item->what == WIRE__TASK_KIND__ARRAY || o.kept) && !o.status && loom_residents_read(c, item->run);
    if (read || o.kept) drop_run(item->run);
    send_outcome(c, item, &o);
    loom_status_free(o.status);
    loom_arena_destroy(o.arena);
}

static void do_item(loom_control *c, loom_item *item, bool skip) {
    switch (item->kind) {
    case LOOM_ITEM_TASK:
        if (!skip) run_task(c, item);
        break;
    case LOOM_ITEM_DROP: {
        loom_work_run *holder = holder_of(c, item->run, &item->epoch);
        if (holder) drop_run(holder);
        break;
    }
    case LOOM_ITEM_CLOSE_RUN:
        loom_residents_read(c, item->run);
        loom_work_run_free(item->run);
        break;
    case LOOM_ITEM_CLOSE_JOB:
        loom_residents_forget(c, item->job);
        while (item->runs) {
            loom_work_run *run = item->runs;
            item->runs = run->next;
            loom_work_run_free(run);
        }
        loom_work_job_free(item->job);
        break;
    }
}

/* Takes the first item for working; it stays in the queue meanwhile, so that its chunks can be planned. */
static loom_item *begin_item(loom_control *c, bool *skip) {
    pthread_mutex_lock(&c->lock);
    while (!c->queue && !c->stopping) pthread_cond_wait(&c->changed, &c->lock);
    loom_item *item = c->queue;
    c->working = item;
    *skip = c->stopping || (item && (item->job->closed || (item->kind == LOOM_ITEM_TASK && item->run->closed)));
    pthread_mutex_unlock(&c->lock);
    return item;
}

static void end_item(loom_control *c, loom_item *item) {
    pthread_mutex_lock(&c->lock);
    c->working = NULL;
    c->queue = item->next;
    if (!c->queue) c->queue_end = &c->queue;
    pthread_mutex_unlock(&c->lock);
}

void *loom_work_thread(void *control) {
    loom_control *c = control;
    for (;;) {
        bool skip;
        loom_item *item = begin_item(c, &skip);
        if (!item) break; /* stopping, and nothing is left to be freed */
        /* A closed job's memory goes with this item, so the main thread must not look at it as the one at work. */
        if (item->kind != LOOM_ITEM_TASK) {
            end_item(c, item);
            do_item(c, item, skip);
        } else {
            do_item(c, item, skip);
            end_item(c, item);
        }
        loom_item_free(item);
    }
    pthread_mutex_lock(&c->lock);
    c->thread_ended = true;
    pthread_mutex_unlock(&c->lock);
    wake(c);
    return NULL;
}
