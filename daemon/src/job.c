/* A job: submitted, planned, its stages started as their inputs come, ended. */
#include "common/clock.h"
#include "common/limits.h"
#include "common/log.h"
#include "compiler/ir/core.h"
#include "compiler/ir/force.h"
#include "daemon.h"
#include "proto/value_codec.h"
#include "proto/wire.h"
#include <assert.h>
#include <inttypes.h>

/* Memory of a job's description and graph: both are bounded on the wire. */
#define JOB_ARENA ((size_t)256 << 20)
/* Parameters of an entry: each costs the client an option of its command line. */
#define MAX_PARAMETERS 1024

loom_job *loom_job_find(loom_daemon *d, uint64_t id) {
    for (size_t i = 0; i < d->jobs.n; i++) {
        loom_job *job = d->jobs.at[i];
        if (job->id == id) return job;
    }
    return NULL;
}

static void add_once(loom_list *texts, const char *text) {
    for (size_t i = 0; i < texts->n; i++) {
        if (strcmp(texts->at[i], text) == 0) return;
    }
    if (texts->n >= LOOM_MAX_REMARKS) return;
    loom_list_add(texts, loom_xprintf("%.*s", LOOM_MAX_REMARK_BYTES, text));
}

static void free_texts(loom_list *texts) {
    for (size_t i = 0; i < texts->n; i++) free(texts->at[i]);
    loom_list_free(texts);
}

void loom_job_remark(loom_job *job, const char *text) {
    add_once(&job->remarks, text);
}

void loom_job_warn(loom_job *job, const char *text) {
    add_once(&job->remarks, text);
    add_once(&job->warnings, text);
}

Wire__Interpreted *loom_job_interprets(loom_job *job, const char *remark) {
    for (size_t i = 0; i < job->interpreted.n; i++) {
        Wire__Interpreted *known = job->interpreted.at[i];
        if (strncmp(known->why, remark, LOOM_MAX_REMARK_BYTES) == 0) return known;
    }
    if (job->interpreted.n >= LOOM_MAX_REMARKS) return NULL;
    Wire__Interpreted *made = LOOM_NEW(job->arena, Wire__Interpreted);
    wire__interpreted__init(made);
    made->why = loom_arena_printf(job->arena, "%.*s", LOOM_MAX_REMARK_BYTES, remark);
    loom_list_add(&job->interpreted, made);
    return made;
}

/* ---- submission ---- */

static loom_status *check_submission(const Wire__Submit *s) {
    if (strlen(s->entry) > LOOM_MAX_NAME || strlen(s->name) > LOOM_MAX_NAME) {
        return loom_error(LOOM_E_LIMIT, "a name of more than %u bytes", LOOM_MAX_NAME);
    }
    if (s->n_arguments > MAX_PARAMETERS) {
        return loom_error(LOOM_E_LIMIT, "an entry with %zu parameters, the limit is %d", s->n_arguments,
                          MAX_PARAMETERS);
    }
    LOOM_TRY(loom_force_check(s->force));
    if (s->block == 0 || s->block > INT64_MAX) return loom_error(LOOM_E_PROTOCOL, "a block without elements");
    for (size_t i = 0; i < s->n_streams; i++) {
        const Wire__Stream *stream = s->streams[i];
        if (stream->param >= s->n_arguments || s->arguments[stream->param]->object) {
            return loom_error(LOOM_E_PROTOCOL, "a stream for a parameter that is none");
        }
        LOOM_TRY(loom_stream_check(stream));
    }
    return NULL;
}

static loom_status *take_arguments(loom_job *job, const Wire__Submit *s) {
    job->n_arguments = s->n_arguments;
    job->slots = LOOM_NEW_ARRAY(job->arena, loom_held_object *, s->n_arguments + 1);
    job->streams = LOOM_NEW_ARRAY(job->arena, const Wire__Stream *, s->n_arguments + 1);
    for (size_t i = 0; i < s->n_streams; i++) job->streams[s->streams[i]->param] = s->streams[i];
    for (size_t i = 0; i < s->n_arguments; i++) {
        if (s->arguments[i]->object) {
            LOOM_TRY(loom_held_object_create(s->arguments[i]->object, &job->slots[i]));
        } else if (!job->streams[i]) {
            return loom_error(LOOM_E_PROTOCOL, "parameter %zu has neither a value nor a stream", i + 1);
        }
    }
    return NULL;
}

static loom_status *begin(loom_job *job, loom_incoming *in, const Wire__Submit *s) {
    LOOM_TRY(check_submission(s));
    LOOM_TRY(take_arguments(job, s));
    if (in->n_frames != 1) return loom_error(LOOM_E_PROTOCOL, "a job without a program");
    const void *program = zmq_msg_data(&in->frames[0]);
    size_t length = zmq_msg_size(&in->frames[0]);
    LOOM_TRY(loom_program_scan(program, length));
    LOOM_TRY(loom_store_job(job->daemon->store, job->id, job->name));
    job->program = loom_xmalloc(length + 1);
    memcpy(job->program, program, length);
    job->program_length = length;
    return NULL;
}

/* The submission outlives its message. */
static loom_status *copy_submission(loom_job *job, const Wire__Submit *from) {
    size_t size = wire__submit__get_packed_size(from);
    uint8_t *bytes = LOOM_NEW_ARRAY(job->arena, uint8_t, size + 1);
    wire__submit__pack(from, bytes);
    ProtobufCMessage *message;
    LOOM_TRY(loom_wire_unpack(&wire__submit__descriptor, job->arena, bytes, size, &loom_wire_header_limits, &message));
    job->submit = (Wire__Submit *)message;
    return NULL;
}

void loom_job_submit(loom_daemon *d, loom_client *client, loom_incoming *in) {
    const Wire__Submit *s = in->message->submit;
    loom_job *job = loom_xcalloc(1, sizeof *job);
    job->daemon = d;
    job->id = ++d->next_job;
    job->client = client;
    job->name = loom_xstrdup(s->name);
    job->entry = loom_xstrdup(s->entry);
    job->serve = loom_xstrdup(s->serve);
    job->debug = s->debug;
    job->count_work = s->count_work;
    job->force = s->force;
    job->block = (int64_t)s->block;
    job->submitted = loom_seconds();
    job->arena = loom_arena_create(JOB_ARENA);
    loom_list_add(&d->jobs, job);

    Wire__Submitted submitted = WIRE__SUBMITTED__INIT;
    submitted.ticket = s->ticket;
    submitted.job = job->id;
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_SUBMITTED;
    message.submitted = &submitted;
    loom_daemon_send(d, &client->peer, &message);

    loom_status *status = copy_submission(job, s);
    if (!status) status = begin(job, in, job->submit);
    if (status) loom_job_fail(job, status);
    loom_daemon_changed(d);
}

/* ---- stages ---- */

bool loom_stage_has_inputs(const loom_job_stage *stage) {
    for (uint32_t i = 0, slot; loom_stage_reads(stage->graph, i, &slot); i++) {
        if (!stage->job->slots[slot]) return false;
    }
    return true;
}

static loom_status *number_blocks(loom_job_stage *stage) {
    loom_job *job = stage->job;
    const loom_graph_stage *g = stage->graph;
    const Wire__Stream **streams = LOOM_NEW_ARRAY(stage->arena, const Wire__Stream *, g->n_streams + 1);
    for (uint32_t i = 0; i < g->n_streams; i++) streams[i] = job->streams[g->streams[i]];
    const loom_spill *spill = loom_spill_of(stage);
    if (spill) {
        uint64_t batch;
        LOOM_TRY(loom_spill_batch(stage, &batch));
        return loom_spill_blocks(stage->arena, spill, batch, g->streams, streams, g->n_streams, job->block,
                                 &stage->blocks);
    }
    return loom_blocks_create(stage->arena, streams, g->n_streams, job->block, &stage->blocks);
}

static loom_status *start_traversal(loom_job_stage *stage) {
    stage->arena = loom_arena_create(JOB_ARENA);
    jmp_buf guard;
    loom_arena_set_guard(stage->arena, &guard);
    if (setjmp(guard)) {
        loom_arena_set_guard(stage->arena, NULL);
        return loom_error(LOOM_E_LIMIT, "the stream has too many segments to be numbered");
    }
    loom_status *status = number_blocks(stage);
    loom_arena_set_guard(stage->arena, NULL);
    if (status) return status;
    stage->ledger = loom_ledger_create(stage->blocks->n_blocks);
    stage->fail_block = stage->blocks->n_blocks;
    return NULL;
}

static void start_stage(loom_job_stage *stage) {
    const loom_graph_stage *g = stage->graph;
    stage->state = LOOM_STAGE_RUNNING;
    stage->instance = ++stage->job->n_instances;
    stage->started = loom_seconds();
    stage->outputs = loom_xcalloc(g->n_outputs + 1, sizeof *stage->outputs);
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        const loom_graph_output *o = &g->outputs[i];
        stage->streams_out = stage->streams_out || o->kind == LOOM_OUT_STREAM;
        stage->ordered = stage->ordered || loom_merges_in_order(o->kind, o->order);
    }
    bool wanted = true;
    loom_status *status = loom_stage_spills(stage) ? loom_spill_is_wanted(stage, &wanted) : NULL;
    if (!status && wanted && g->kind == LOOM_STAGE_TRAVERSAL) status = start_traversal(stage);
    if (status) {
        loom_job_fail(stage->job, status);
    } else if (!wanted) {
        loom_spill_give_up(stage, NULL);
    }
}

static void send_end(loom_job *job, loom_status *status);

static bool start_stages(loom_job *job) {
    bool started = false;
    for (uint32_t i = 0; i < job->graph->n_stages && !job->ending; i++) {
        loom_job_stage *stage = &job->stages[i];
        if (stage->state != LOOM_STAGE_PENDING || !loom_job_is_active(job, job->loop_of_stage[i])) continue;
        if (!loom_stage_has_inputs(stage)) continue;
        start_stage(stage);
        started = true;
    }
    return started;
}

void loom_job_advance(loom_job *job) {
    if (job->ending || !job->graph) return;
    do {
        start_stages(job);
    } while (!job->ending && loom_job_advance_loops(job));
    if (job->ending) return;
    bool all_done = loom_job_loops_done(job);
    for (uint32_t i = 0; i < job->graph->n_stages; i++) all_done = all_done && job->stages[i].state == LOOM_STAGE_DONE;
    if (all_done) {
        send_end(job, NULL);
    } else {
        loom_daemon_changed(job->daemon);
    }
}

static void add_to_totals(const loom_job_stage *stage, loom_job_totals *t);
static void note_pace(loom_job_stage *stage);

void loom_job_stage_done(loom_job_stage *stage) {
    loom_job *job = stage->job;
    stage->state = LOOM_STAGE_DONE;
    loom_log(LOOM_LOG_INFO, "job %" PRIu64 ": stage %u (%s) done in %.3f s", job->id, stage->index,
             stage->graph->label ? stage->graph->label : "", loom_seconds() - stage->started);
    for (size_t i = 0; i < stage->plans.n; i++) loom_plan_close(stage->plans.at[i]);
    add_to_totals(stage, &job->totals);
    if (stage->ledger) note_pace(stage);
    uint32_t loop = job->loop_of_stage[stage->index];
    for (uint32_t i = 0, slot; loom_stage_reads(stage->graph, i, &slot); i++) loom_job_use_slot(job, slot, loop);
    loom_deferred_settle(job);
    loom_job_send_progress(job);
    loom_job_advance(job);
}

/* ---- progress ---- */

static const loom_job_stage *running_stage(const loom_job *job) {
    const loom_job_stage *found = NULL;
    for (uint32_t i = 0; job->graph && i < job->graph->n_stages; i++) {
        if (job->stages[i].state != LOOM_STAGE_RUNNING) continue;
        if (job->stages[i].deferred.worker) continue; /* its work is done: its reader runs */
        if (!found || job->stages[i].graph->kind == LOOM_STAGE_TRAVERSAL) found = &job->stages[i];
    }
    return found;
}

static int64_t releases_of(const loom_job *job) {
    int64_t n = job->totals.releases;
    for (uint32_t i = 0; job->graph && i < job->graph->n_stages; i++)
        n += job->stages[i].state == LOOM_STAGE_RUNNING ? job->stages[i].releases : 0;
    return n;
}

/* Elements of blocks that are in an accumulator or further. */
static int64_t elements_done(const loom_job_stage *stage, int64_t blocks) {
    const loom_blocks *b = stage->blocks;
    if (blocks >= b->n_blocks) return b->n_elements;
    return b->n_blocks ? (int64_t)((double)b->n_elements * ((double)blocks / (double)b->n_blocks)) : 0;
}

void loom_job_fill_progress(const loom_job *job, Wire__Progress *p) {
    wire__progress__init(p);
    const loom_job_stage *stage = running_stage(job);
    p->job = job->id;
    p->name = job->name;
    p->seconds = loom_seconds() - job->submitted;
    p->workers = (uint32_t)job->daemon->workers.n;
    p->state = job->ending ? 3 : !job->graph ? 0 : p->workers ? 2 : 1;
    p->stage = (char *)"";
    p->n_stages = job->graph ? job->graph->n_stages : 0;
    p->releases = releases_of(job);
    if (!stage) return;
    p->stage = (char *)(stage->graph->label ? stage->graph->label : "");
    p->stage_index = stage->index;
    if (!stage->ledger) return;
    p->blocks_total = stage->blocks->n_blocks;
    p->elements_total = stage->blocks->n_elements;
    p->blocks_done = p->blocks_total - loom_ledger_count(stage->ledger, LOOM_BLOCK_FREE) -
                     loom_ledger_count(stage->ledger, LOOM_BLOCK_LEASED);
    p->elements_done = elements_done(stage, p->blocks_done);
}

void loom_job_send_progress(loom_job *job) {
    /* Of many that wait, for a client that is stopped, the later ones tell nothing new. */
    if (!job->client || job->ending || loom_socket_queued(job->daemon->socket) > LOOM_PROGRESS_QUEUED) return;
    Wire__Progress progress;
    loom_job_fill_progress(job, &progress);
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_PROGRESS;
    message.progress = &progress;
    loom_daemon_send(job->daemon, &job->client->peer, &message);
}

/* ---- the end ---- */

static double larger(double a, double b) {
    return a > b ? a : b;
}

/* Per stage the worker that took longest: its seats are summed over classes of segments. */
static void add_traversal(const loom_job_stage *stage, loom_job_totals *t) {
    double compute = 0, wait = 0, handover = 0;
    for (size_t i = 0; i < stage->seats.n; i++) {
        const loom_seat *a = stage->seats.at[i];
        double c = 0, w = 0, h = 0;
        for (size_t k = 0; k < stage->seats.n; k++) {
            const loom_seat *b = stage->seats.at[k];
            if (a != b && (!a->worker || a->worker != b->worker)) continue;
            c += b->compute;
            w += b->wait;
            h += b->handover;
        }
        compute = larger(compute, c);
        wait = larger(wait, w);
        handover = larger(handover, h);
    }
    t->traversal += compute;
    t->wait += wait;
    t->handover += handover;
    int64_t left =
        loom_ledger_count(stage->ledger, LOOM_BLOCK_FREE) + loom_ledger_count(stage->ledger, LOOM_BLOCK_LEASED);
    t->elements += elements_done(stage, stage->blocks->n_blocks - left); /* a spill may have been given up */
    t->traversals++;
}

/* For the next turn. */
static void note_pace(loom_job_stage *stage) {
    double seconds = 0, bytes = 0;
    for (size_t i = 0; i < stage->seats.n; i++) {
        const loom_seat *seat = stage->seats.at[i];
        seconds += seat->compute + seat->wait;
    }
    for (uint32_t i = 0; i < stage->graph->n_outputs; i++) {
        if (loom_is_added_up(stage->graph->outputs[i].kind)) bytes += (double)stage->outputs[i].bytes;
    }
    if (stage->blocks->n_elements) stage->pace = (loom_pace){seconds / (double)stage->blocks->n_elements, bytes};
}

static void add_to_totals(const loom_job_stage *stage, loom_job_totals *t) {
    if (stage->ledger) add_traversal(stage, t);
    t->array += stage->array_seconds;
    t->handover += stage->handover_seconds;
    t->releases += stage->releases;
}

static void fill_statistics(const loom_job *job, Wire__JobEnd *end) {
    end->releases = releases_of(job);
    end->compile = job->compile_seconds;
    loom_job_totals t = job->totals;
    for (uint32_t i = 0; job->graph && i < job->graph->n_stages; i++) {
        if (job->stages[i].state == LOOM_STAGE_RUNNING) add_to_totals(&job->stages[i], &t);
    }
    end->traversal = t.traversal;
    end->wait = t.wait;
    end->array = t.array;
    end->handover = t.handover;
    end->elements = t.elements;
    end->traversals = t.traversals;
    end->peak = job->peak;
    end->has_peak = true;
    end->n_times = job->times.n;
    end->times = (Wire__Time **)job->times.at;
    end->n_remarks = job->remarks.n;
    end->remarks = (char **)job->remarks.at;
    end->n_interpreted = job->interpreted.n;
    end->interpreted = (Wire__Interpreted **)job->interpreted.at;
    end->n_warnings = job->warnings.n;
    end->warnings = (char **)job->warnings.at;
}

static void close_on_workers(loom_job *job) {
    Wire__CloseJob close = WIRE__CLOSE_JOB__INIT;
    close.job = job->id;
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_CLOSE_JOB;
    message.close_job = &close;
    for (size_t i = 0; i < job->daemon->workers.n; i++) {
        loom_worker *w = job->daemon->workers.at[i];
        for (uint32_t s = 0; job->graph && s < job->graph->n_stages; s++) {
            for (size_t k = 0; k < job->stages[s].plans.n; k++) {
                loom_list_remove(&w->open_runs, job->stages[s].plans.at[k]);
            }
        }
        if (loom_list_remove(&w->open_jobs, job)) loom_daemon_send(job->daemon, &w->peer, &message);
    }
}

static loom_status *try_end(const loom_job *job, const loom_status *status, bool statistics) {
    Wire__JobEnd end = WIRE__JOB_END__INIT;
    Wire__Object object;
    end.job = job->id;
    end.status = loom_wire_status(job->arena, status);
    const loom_held_object *result = job->graph && !status ? job->slots[job->graph->result] : NULL;
    if (result) {
        loom_held_object_wire(result, &object);
        end.result = &object;
    }
    fill_statistics(job, &end);
    if (!statistics) end.n_times = end.n_remarks = end.n_warnings = end.n_interpreted = 0;
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_JOB_END;
    message.job_end = &end;
    return loom_daemon_send_packet(job->daemon, &job->client->peer, loom_packet_create(&message));
}

/* Where times and remarks do not fit beside the result's columns they are left out; where not even that fits, that is
 * the end that is told. */
static void tell_end(const loom_job *job, const loom_status *status) {
    loom_status *refused = try_end(job, status, true);
    if (!refused) return;
    loom_status_free(refused);
    refused = try_end(job, status, false);
    if (!refused) return;
    loom_status *less =
        status ? loom_error(loom_status_code(status), "%.1000s", loom_status_message(status))
               : loom_error(LOOM_E_LIMIT, "the result has too many columns: %s", loom_status_message(refused));
    loom_status_free(refused);
    refused = try_end(job, less, false);
    if (refused) loom_log_status(LOOM_LOG_ERROR, refused);
    loom_status_free(less);
}

/* Takes `status`. The job stays, with its result, until the client has said that it got it. */
static void send_end(loom_job *job, loom_status *status) {
    loom_daemon *d = job->daemon;
    job->ending = true;
    loom_compile_pool_cancel(job->compiling);
    job->compiling = NULL;
    for (uint32_t i = 0; job->graph && i < job->graph->n_stages; i++) {
        for (size_t k = 0; k < job->stages[i].plans.n; k++) loom_plan_stop(job->stages[i].plans.at[k]);
    }
    close_on_workers(job);
    while (job->tasks.n) loom_task_drop(job->tasks.at[job->tasks.n - 1]);
    loom_log(LOOM_LOG_INFO, "job %" PRIu64 " (%s) ended after %.3f s: %s", job->id, job->name,
             loom_seconds() - job->submitted, status ? loom_status_message(status) : "done");
    loom_status *stored = loom_store_end(d->store, job->id, status ? loom_code_name(loom_status_code(status)) : "done");
    if (stored) loom_log_status(LOOM_LOG_WARN, stored);
    if (job->client) {
        tell_end(job, status);
        job->end_sent = true;
    }
    loom_status_free(status);
    loom_daemon_changed(d); /* the sweep of the scheduler frees jobs that nobody waits for */
}

void loom_job_fail(loom_job *job, loom_status *status) {
    if (job->ending) {
        loom_status_free(status);
        return;
    }
    send_end(job, status);
}

void loom_job_end_acknowledged(loom_job *job) {
    if (job->ending) loom_job_destroy(job);
}

/* What an instance of the stage has; plans are not its own. */
static void clear_stage(loom_job_stage *stage) {
    loom_deferred_clear(&stage->deferred);
    loom_arena_destroy(stage->arena);
    loom_ledger_destroy(stage->ledger);
    for (size_t i = 0; i < stage->seats.n; i++) free(stage->seats.at[i]);
    loom_list_free(&stage->seats);
    stage->chain = NULL;
    for (uint32_t i = 0; stage->outputs && i < stage->graph->n_outputs; i++) {
        for (size_t k = 0; k < stage->outputs[i].pieces.n; k++) {
            loom_piece_free(stage->outputs[i].pieces.at[k]);
        }
        loom_list_free(&stage->outputs[i].pieces);
    }
    free(stage->outputs);
    loom_status_free(stage->error);
}

static void destroy_stage(loom_job_stage *stage) {
    clear_stage(stage);
    for (size_t i = 0; i < stage->plans.n; i++) loom_plan_destroy(stage->plans.at[i]);
    for (size_t i = 0; i < stage->spare.n; i++) loom_plan_destroy(stage->spare.at[i]);
    loom_list_free(&stage->plans);
    loom_list_free(&stage->spare);
}

void loom_job_stage_unstart(loom_job_stage *stage) {
    if (stage->state != LOOM_STAGE_RUNNING) return;
    free(stage->outputs);
    stage->outputs = NULL;
    stage->state = LOOM_STAGE_PENDING;
    stage->reads_at = NULL;
}

void loom_job_drop_tasks(const loom_job_stage *stage) {
    for (size_t i = stage->job->tasks.n; i > 0; i--) {
        loom_task *task = stage->job->tasks.at[i - 1];
        if (task->stage == stage) loom_task_drop(task);
    }
}

/* Its last instance is done, or there was none. A task that a worker has not answered, though what it was lent for is
 * there, is dropped. Plans are kept for the next instance, the last few of them. */
void loom_job_stage_reset(loom_job_stage *stage) {
    loom_job_drop_tasks(stage);
    loom_list plans = stage->plans, spare = stage->spare;
    for (size_t i = 0; i < plans.n; i++) {
        loom_plan_stop(plans.at[i]);
        loom_list_add(&spare, plans.at[i]);
    }
    loom_list_free(&plans);
    while (spare.n > LOOM_SPARE_PLANS) {
        loom_job_plan *oldest = spare.at[0];
        loom_list_remove(&spare, oldest);
        loom_plan_destroy(oldest);
    }
    clear_stage(stage);
    *stage = (loom_job_stage){
        .job = stage->job, .index = stage->index, .graph = stage->graph, .spare = spare, .pace = stage->pace};
}

void loom_job_destroy(loom_job *job) {
    loom_daemon *d = job->daemon;
    if (!job->ending) {
        loom_compile_pool_cancel(job->compiling);
        close_on_workers(job);
        while (job->tasks.n) loom_task_drop(job->tasks.at[job->tasks.n - 1]);
        loom_status *stored = loom_store_end(d->store, job->id, "its client went");
        if (stored) loom_log_status(LOOM_LOG_WARN, stored);
    }
    loom_list_remove(&d->jobs, job);
    for (uint32_t i = 0; job->graph && i < job->graph->n_stages; i++) destroy_stage(&job->stages[i]);
    loom_job_free_loops(job);
    size_t n_slots = job->graph ? job->graph->n_slots : job->n_arguments;
    for (size_t i = 0; job->slots && i < n_slots; i++) loom_held_object_unref(job->slots[i]);
    free_texts(&job->remarks);
    free_texts(&job->warnings);
    loom_list_free(&job->interpreted);
    loom_list_free(&job->times);
    loom_list_free(&job->tasks);
    free(job->stages);
    free(job->program);
    free(job->graph_bytes);
    free(job->name);
    free(job->entry);
    free(job->serve);
    loom_arena_destroy(job->arena);
    free(job);
}
