/* Jobs of a session: what callers ask for, what the daemon says of them. */
#include "common/buffer.h"
#include "common/clock.h"
#include "common/limits.h"
#include "common/log.h"
#include "impl.h"
#include "proto/value_codec.h"
#include "proto/wire.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- from the daemon: session's thread, lock held where jobs change ---- */

static loom_session_job *find_job(loom_session *s, uint64_t id) {
    for (loom_session_job *job = s->jobs; job; job = job->next) {
        if (job->job == id && !job->ended) return job;
    }
    return NULL;
}

static void on_submitted(loom_session *s, const Wire__Submitted *m) {
    for (loom_session_job *job = s->jobs; job; job = job->next) {
        if (job->ticket == m->ticket) job->job = m->job;
    }
}

/* Between two stages none runs: the one that ended is shown until the next begins. */
static bool no_stage(const Wire__Progress *m) {
    return !m->stage[0] && m->stage_index == 0 && m->blocks_total == 0;
}

static void on_progress(loom_session *s, const Wire__Progress *m) {
    loom_session_job *job = find_job(s, m->job);
    if (!job) return;
    loom_job_progress *p = &job->progress;
    p->n_stages = m->n_stages;
    p->workers = m->workers;
    p->releases = m->releases;
    job->progressed = true;
    if (job->stage && no_stage(m)) return;
    double now = loom_seconds();
    if (!job->stage || strcmp(job->stage, m->stage) != 0 || p->stage_index != m->stage_index) {
        free(job->stage);
        job->stage = loom_xstrdup(m->stage);
        loom_rate_reset(&job->rate);
    }
    loom_rate_add(&job->rate, now, m->elements_done);
    p->stage_index = m->stage_index;
    p->blocks_done = m->blocks_done;
    p->blocks_total = m->blocks_total;
    p->elements_done = m->elements_done;
    p->elements_total = m->elements_total;
    p->elements_per_second = loom_rate_per_second(&job->rate, now);
    p->seconds_left = loom_rate_seconds_left(&job->rate, now, m->elements_total);
}

static void on_part(loom_session *s, const Wire__Part *m) {
    loom_session_job *job = find_job(s, m->job);
    if (!job) return;
    loom_session_part *part = loom_xcalloc(1, sizeof *part);
    part->first_block = m->first_block;
    part->status = loom_object_map(m->object->path, &part->value);
    loom_session_part **at = &job->parts;
    while (*at) at = &(*at)->next;
    *at = part;
}

static char **copy_texts(char *const *texts, size_t n) {
    char **copies = loom_xcalloc(n + 1, sizeof *copies);
    for (size_t i = 0; i < n; i++) copies[i] = loom_xstrdup(texts[i]);
    return copies;
}

static void free_texts(char **texts, size_t n) {
    for (size_t i = 0; i < n; i++) free(texts[i]);
    free(texts);
}

static loom_job_result *take_result(const Wire__JobEnd *m) {
    loom_job_result *r = loom_xcalloc(1, sizeof *r);
    r->releases = m->releases;
    r->elements = m->elements;
    r->traversals = m->traversals;
    r->peak_bytes = m->peak;
    r->seconds.traversal = m->traversal;
    r->seconds.array = m->array;
    r->seconds.handover = m->handover;
    r->seconds.wait = m->wait;
    r->seconds.compile = m->compile;
    r->times = loom_xcalloc(m->n_times + 1, sizeof *r->times);
    for (size_t i = 0; i < m->n_times; i++) {
        r->times[r->n_times++] = (loom_job_time){.label = loom_xstrdup(m->times[i]->label),
                                                 .seconds = m->times[i]->seconds,
                                                 .calls = m->times[i]->calls,
                                                 .bytes = m->times[i]->bytes,
                                                 .evaluations = m->times[i]->evaluations,
                                                 .moved = m->times[i]->moved,
                                                 .descriptors = m->times[i]->descriptors};
    }
    r->remarks = copy_texts(m->remarks, r->n_remarks = m->n_remarks);
    r->warnings = copy_texts(m->warnings, r->n_warnings = m->n_warnings);
    r->interpreted = loom_xcalloc(m->n_interpreted + 1, sizeof *r->interpreted);
    for (size_t i = 0; i < m->n_interpreted; i++) {
        r->interpreted[r->n_interpreted++] =
            (loom_job_interpreted){loom_xstrdup(m->interpreted[i]->why), m->interpreted[i]->seconds};
    }
    return r;
}

static void on_end(loom_session *s, const Wire__JobEnd *m) {
    loom_session_job *job = find_job(s, m->job);
    if (job) {
        loom_job_result *result = take_result(m);
        loom_status *status = loom_wire_status_restore(m->status);
        if (!status && m->result) status = loom_object_map(m->result->path, &result->value);
        result->seconds.total = loom_seconds() - job->submitted;
        result->seconds.read = job->read_seconds;
        result->served = job->served;
        if (status) {
            loom_job_result_free(result);
            result = NULL;
        }
        job->status = status;
        job->result = result;
        job->ended = true;
    }
    Wire__JobEndAck ack = WIRE__JOB_END_ACK__INIT;
    ack.job = m->job;
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_JOB_END_ACK;
    message.job_end_ack = &ack;
    loom_session_send(s, &message);
}

/* ---- status and cancel ---- */

static loom_question *find_question(loom_session *s, uint64_t ticket) {
    for (loom_question *q = s->questions; q; q = q->next) {
        if (q->ticket == ticket) return q;
    }
    return NULL;
}

static void on_cancel_reply(loom_session *s, const Wire__CancelReply *m) {
    loom_question *q = find_question(s, m->ticket);
    if (!q) return;
    q->found = m->found;
    q->answered = true;
}

static loom_job_info job_info(const Wire__Progress *p) {
    return (loom_job_info){.job = p->job,
                           .name = loom_xstrdup(p->name),
                           .stage = loom_xstrdup(p->stage),
                           .state = p->state <= LOOM_JOB_ENDING ? (loom_job_state)p->state : LOOM_JOB_RUNNING,
                           .stage_index = p->stage_index,
                           .n_stages = p->n_stages,
                           .blocks_done = p->blocks_done,
                           .blocks_total = p->blocks_total,
                           .elements_done = p->elements_done,
                           .elements_total = p->elements_total,
                           .releases = p->releases,
                           .seconds = p->seconds};
}

static loom_worker_info worker_info(const Wire__WorkerInfo *w) {
    return (loom_worker_info){.worker = w->worker,
                              .pid = w->pid,
                              .host = loom_xstrdup(w->host),
                              .target = loom_xstrdup(w->target),
                              .threads = w->threads,
                              .memory = w->memory,
                              .busy = w->busy,
                              .seconds = w->seconds,
                              .blocks = w->blocks};
}

static void on_status(loom_session *s, const Wire__StatusReply *m) {
    loom_question *q = find_question(s, m->ticket);
    if (!q || q->answered) return;
    loom_daemon_info *info = loom_xcalloc(1, sizeof *info);
    info->incarnation = m->incarnation;
    info->seconds = m->seconds;
    info->jobs = loom_xcalloc(m->n_jobs + 1, sizeof *info->jobs);
    for (size_t i = 0; i < m->n_jobs; i++) info->jobs[info->n_jobs++] = job_info(m->jobs[i]);
    info->workers = loom_xcalloc(m->n_workers + 1, sizeof *info->workers);
    for (size_t i = 0; i < m->n_workers; i++) info->workers[info->n_workers++] = worker_info(m->workers[i]);
    q->info = info;
    q->answered = true;
}

/* Jobs end by themselves, not by the state of the connection: that may be well again before a waiter looks at it. */
static void end_all(loom_session *s, const char *why) {
    for (loom_session_job *job = s->jobs; job; job = job->next) {
        if (job->ended) continue;
        job->status = loom_status_note(loom_error(LOOM_E_UNAVAILABLE, "%s", why), LOOM_RUN_AGAIN);
        job->ended = true;
    }
}

static void on_beat_reply(loom_session *s, const Wire__BeatReply *m) {
    if (m->known || !s->welcome) return;
    s->welcome = false;
    end_all(s, "the daemon was restarted, or gave this client up");
    loom_session_say_hello(s);
}

static void on_bye(loom_session *s, const Wire__Bye *m) {
    end_all(s, m->reason);
    char *reason = loom_xstrdup(m->reason);
    pthread_mutex_unlock(&s->lock);
    loom_session_fail(s, loom_status_note(loom_error(LOOM_E_UNAVAILABLE, "%s", reason), LOOM_RUN_AGAIN));
    pthread_mutex_lock(&s->lock);
    free(reason);
}

void loom_jobs_message(loom_session *s, loom_incoming *in) {
    const Wire__Message *m = in->message;
    pthread_mutex_lock(&s->lock);
    s->last_reply = loom_seconds();
    switch (m->body_case) {
    case WIRE__MESSAGE__BODY_WELCOME:
        s->welcome = true;
        loom_status_free(s->failed); /* of an earlier daemon: this one is there */
        s->failed = NULL;
        break;
    case WIRE__MESSAGE__BODY_BEAT_REPLY: on_beat_reply(s, m->beat_reply); break;
    case WIRE__MESSAGE__BODY_BYE: on_bye(s, m->bye); break;
    case WIRE__MESSAGE__BODY_SUBMITTED: on_submitted(s, m->submitted); break;
    case WIRE__MESSAGE__BODY_PROGRESS: on_progress(s, m->progress); break;
    case WIRE__MESSAGE__BODY_PART: on_part(s, m->part); break;
    case WIRE__MESSAGE__BODY_JOB_END: on_end(s, m->job_end); break;
    case WIRE__MESSAGE__BODY_CANCEL_REPLY: on_cancel_reply(s, m->cancel_reply); break;
    case WIRE__MESSAGE__BODY_STATUS_REPLY: on_status(s, m->status_reply); break;
    default: loom_log(LOOM_LOG_WARN, "a message that is not for a client"); break;
    }
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static void send_cancel(loom_session *s, uint64_t job, uint64_t ticket) {
    Wire__Cancel cancel = WIRE__CANCEL__INIT;
    cancel.ticket = ticket;
    cancel.job = job;
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_CANCEL;
    message.cancel = &cancel;
    loom_session_send(s, &message);
}

void loom_jobs_cancel_all(loom_session *s) {
    pthread_mutex_lock(&s->lock);
    for (loom_session_job *job = s->jobs; job; job = job->next) {
        if (!job->ended && job->job) send_cancel(s, job->job, 0);
    }
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

/* ---- submitting: caller's thread ---- */

typedef struct submission {
    loom_session_job *job;
    loom_packet *packet;
} submission;

static void do_submit(loom_session *s, void *argument) {
    submission *sub = argument;
    pthread_mutex_lock(&s->lock);
    sub->job->next = s->jobs;
    s->jobs = sub->job;
    pthread_mutex_unlock(&s->lock);
    loom_socket_send(s->control, NULL, 0, sub->packet);
}

static loom_status *describe_argument(loom_session *s, loom_arena *arena, loom_value *value, loom_session_job *job,
                                      Wire__Argument *wire) {
    loom_argument *argument;
    LOOM_TRY(loom_argument_take(s, value, &argument));
    job->arguments[job->n_arguments++] = argument;
    wire->object = LOOM_NEW(arena, Wire__Object);
    wire__object__init(wire->object);
    wire->object->path = loom_arena_strdup(arena, loom_argument_object(argument, &wire->object->bytes));
    wire->object->value = loom_wire_value(arena, value);
    return NULL;
}

static loom_status *describe_params(loom_session *s, loom_arena *arena, loom_session_job *job, Wire__Submit *wire) {
    const loom_job_description *d = job->description;
    job->arguments = loom_xcalloc(d->n_params + 1, sizeof(loom_argument *));
    wire->arguments = LOOM_NEW_ARRAY(arena, Wire__Argument *, d->n_params);
    wire->streams = LOOM_NEW_ARRAY(arena, Wire__Stream *, d->n_params);
    double bytes = 0;
    int64_t longest = 0;
    for (uint32_t i = 0; i < d->n_params; i++) {
        Wire__Argument *argument = wire->arguments[wire->n_arguments++] = LOOM_NEW(arena, Wire__Argument);
        wire__argument__init(argument);
        loom_value *value = d->arguments ? d->arguments[i] : NULL;
        loom_source *source = d->sources ? d->sources[i] : NULL;
        if (!value == !source) return loom_error(LOOM_E_USAGE, "parameter %u needs a value or a stream", i + 1);
        if (value) {
            LOOM_TRY(describe_argument(s, arena, value, job, argument));
            continue;
        }
        double each;
        LOOM_TRY(loom_describe_source(arena, source, i, &wire->streams[wire->n_streams], &each));
        wire->n_streams++;
        bytes += each;
        if (source->n_elements > longest) longest = source->n_elements;
    }
    wire->block = (uint64_t)loom_choose_block(d->block, bytes, longest);
    return NULL;
}

/* A header that would be refused is refused here, in words about the job. */
static loom_status *pack_submit(const loom_job_description *d, Wire__Submit *wire, loom_packet **packet) {
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_SUBMIT;
    message.submit = wire;
    *packet = loom_packet_create(&message);
    loom_packet_add_copy(*packet, d->program, d->program_length);
    loom_status *refused = loom_packet_check(*packet);
    if (!refused) return NULL;
    loom_packet_destroy(*packet);
    loom_status *status =
        loom_error(LOOM_E_LIMIT, "the job's streams have too many segments or columns to be described in %llu bytes",
                   (unsigned long long)LOOM_MAX_HEADER_BYTES);
    loom_status_note(status, "%s", loom_status_message(refused));
    loom_status_free(refused);
    return status;
}

static loom_status *check_alive(loom_session *s) {
    pthread_mutex_lock(&s->lock);
    loom_status *status = NULL;
    if (s->failed) {
        status = loom_error(loom_status_code(s->failed), "%s", loom_status_message(s->failed));
    } else if (loom_session_interrupted(s)) {
        status = loom_error(LOOM_E_CANCELLED, "interrupted");
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

static loom_session_job *make_job(loom_session *s, const loom_job_description *d) {
    loom_session_job *job = loom_xcalloc(1, sizeof *job);
    pthread_mutex_lock(&s->lock);
    job->ticket = ++s->next_ticket;
    pthread_mutex_unlock(&s->lock);
    job->copy = *d;
    job->description = &job->copy;
    job->submitted = loom_seconds();
    job->progress.seconds_left = -1;
    return job;
}

static void free_job(loom_session_job *job) {
    for (size_t i = 0; i < job->n_joined; i++) loom_value_unref(job->joined[i]);
    free(job->joined);
    free(job->arguments);
    while (job->parts) {
        loom_session_part *part = job->parts;
        job->parts = part->next;
        loom_value_unref(part->value);
        loom_status_free(part->status);
        free(part);
    }
    loom_status_free(job->status);
    loom_job_result_free(job->result);
    free(job->stage);
    free(job);
}

static void leave_arguments(loom_session *s, loom_session_job *job) {
    while (job->n_arguments) loom_argument_leave(s, job->arguments[--job->n_arguments]);
}

static loom_status *submit_job(loom_session *s, loom_arena *arena, loom_session_job *job) {
    const loom_job_description *d = job->description;
    Wire__Submit wire = WIRE__SUBMIT__INIT;
    wire.ticket = job->ticket;
    wire.entry = (char *)(d->entry ? d->entry : "");
    wire.name = loom_arena_printf(arena, "%.*s", (int)LOOM_MAX_NAME, d->name ? d->name : wire.entry);
    wire.serve = s->serve_endpoint;
    wire.debug = d->debug;
    wire.count_work = d->count_work;
    wire.has_count_work = true;
    wire.has_force = d->force != 0;
    wire.force = d->force;
    LOOM_TRY(describe_params(s, arena, job, &wire));
    loom_packet *packet;
    LOOM_TRY(pack_submit(d, &wire, &packet));
    loom_session_call(s, do_submit, &(submission){job, packet});
    return NULL;
}

static loom_status *submit(loom_session *s, const loom_job_description *d, loom_session_job **made) {
    LOOM_TRY(check_alive(s));
    if (d->n_params && strlen(d->entry ? d->entry : "") > LOOM_MAX_NAME) {
        return loom_error(LOOM_E_LIMIT, "an entry's name of more than %u bytes", LOOM_MAX_NAME);
    }
    loom_session_job *job = make_job(s, d);
    loom_arena *arena = loom_arena_create(0);
    loom_status *status = submit_job(s, arena, job);
    loom_arena_destroy(arena);
    if (!status) {
        *made = job;
        return NULL;
    }
    leave_arguments(s, job);
    free_job(job);
    return status;
}

/* ---- waiting: caller's thread ---- */

static void wait_a_moment(loom_session *s, double seconds) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    long nanoseconds = until.tv_nsec + (long)(seconds * 1e9);
    until.tv_sec += nanoseconds / 1000000000;
    until.tv_nsec = nanoseconds % 1000000000;
    pthread_cond_timedwait(&s->changed, &s->lock, &until);
}

static loom_status *session_failure(const loom_session *s) {
    loom_status *status = loom_error(loom_status_code(s->failed), "%s", loom_status_message(s->failed));
    for (size_t i = 0; i < loom_status_notes(s->failed); i++) {
        loom_status_note(status, "%s", loom_status_note_at(s->failed, i));
    }
    return status;
}

void loom_jobs_free_all(loom_session *s) {
    while (s->jobs) {
        loom_session_job *job = s->jobs;
        s->jobs = job->next;
        free_job(job);
    }
}

/* On the session's thread, which may be looking at the list. */
static void do_unlink(loom_session *s, void *argument) {
    pthread_mutex_lock(&s->lock);
    for (loom_session_job **at = &s->jobs; *at; at = &(*at)->next) {
        if (*at != argument) continue;
        *at = (*at)->next;
        break;
    }
    pthread_mutex_unlock(&s->lock);
}

/* Nothing looks at the job any more when this returns. */
static void drop_job(loom_session *s, loom_session_job *job) {
    loom_server_close_job(s, job);
    loom_session_call(s, do_unlink, job);
    leave_arguments(s, job);
    free_job(job);
}

loom_status *loom_session_submit(loom_session *s, const loom_job_description *description, uint64_t *job) {
    loom_session_job *made;
    LOOM_TRY(submit(s, description, &made));
    loom_status *status = NULL;
    pthread_mutex_lock(&s->lock);
    while (!made->job && !made->ended && !s->failed && !loom_session_interrupted(s)) wait_a_moment(s, 0.5);
    if (!made->job && made->ended) {
        status = made->status;
        made->status = NULL;
    } else if (!made->job) {
        status = s->failed ? session_failure(s) : loom_error(LOOM_E_CANCELLED, "interrupted");
    }
    if (!status) *job = made->job;
    pthread_mutex_unlock(&s->lock);
    if (status) drop_job(s, made);
    return status;
}

typedef struct acknowledgement {
    uint64_t job, first_block;
} acknowledgement;

static void do_acknowledge(loom_session *s, void *argument) {
    const acknowledgement *a = argument;
    Wire__PartAck ack = WIRE__PART_ACK__INIT;
    ack.job = a->job;
    ack.first_block = a->first_block;
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_PART_ACK;
    message.part_ack = &ack;
    loom_session_send(s, &message);
}

static loom_status *take_part(loom_session *s, loom_session_job *job, loom_session_part *part) {
    loom_status *status = part->status;
    part->status = NULL;
    if (!status && job->description->stream) {
        status = job->description->stream(job->description->context, part->value);
    } else if (!status) {
        if (job->n_joined == job->joined_capacity) {
            job->joined_capacity = job->joined_capacity ? 2 * job->joined_capacity : 16;
            job->joined = loom_xrealloc(job->joined, job->joined_capacity * sizeof *job->joined);
        }
        job->joined[job->n_joined++] = loom_value_ref(part->value);
    }
    if (!status) loom_session_call(s, do_acknowledge, &(acknowledgement){job->job, part->first_block});
    loom_value_unref(part->value);
    free(part);
    return status;
}

static void report_progress(loom_session *s, loom_session_job *job) {
    loom_job_progress p = job->progress;
    char *stage = loom_xstrdup(job->stage ? job->stage : "");
    job->progressed = false;
    pthread_mutex_unlock(&s->lock);
    p.stage = stage;
    p.seconds = loom_seconds() - job->submitted;
    if (job->description->progress) job->description->progress(job->description->context, &p);
    free(stage);
    pthread_mutex_lock(&s->lock);
}

/* What the caller's callback refused cancels the job; its end is not waited for long. */
static loom_status *cancelled_by(loom_session *s, loom_session_job *job, loom_status *why) {
    loom_status_free(loom_session_cancel(s, job->job));
    return why;
}

static bool is_late(const loom_session_job *job) {
    double most = job->description->timeout;
    return most > 0 && loom_seconds() - job->submitted > most;
}

/* With lock held; lets it go for callbacks. */
static loom_status *wait_for_end(loom_session *s, loom_session_job *job) {
    for (;;) {
        if (job->parts) {
            loom_session_part *part = job->parts;
            job->parts = part->next;
            pthread_mutex_unlock(&s->lock);
            loom_status *status = take_part(s, job, part);
            if (status) status = cancelled_by(s, job, status);
            pthread_mutex_lock(&s->lock);
            if (status) return status;
        } else if (job->ended) {
            loom_status *status = job->status;
            job->status = NULL;
            return status;
        } else if (s->failed) {
            return session_failure(s);
        } else if (job->progressed) {
            report_progress(s, job);
        } else if (is_late(job)) {
            pthread_mutex_unlock(&s->lock);
            loom_status *late = loom_error(LOOM_E_LIMIT, "took more than %g s", job->description->timeout);
            late = cancelled_by(s, job, late);
            pthread_mutex_lock(&s->lock);
            return late;
        } else {
            bool interrupted = loom_session_interrupted(s);
            if (interrupted && loom_seconds() - s->interrupted_at > LOOM_SESSION_CANCEL) {
                return loom_error(LOOM_E_CANCELLED, "interrupted");
            }
            wait_a_moment(s, interrupted ? 0.1 : 0.9);
        }
    }
}

static loom_status *join_parts(loom_session_job *job) {
    if (job->n_joined == 0 || job->result->value) return NULL;
    return loom_value_concat(job->joined, job->n_joined, &job->result->value);
}

loom_status *loom_session_wait(loom_session *s, uint64_t id, loom_job_result **result) {
    pthread_mutex_lock(&s->lock);
    loom_session_job *job = s->jobs;
    while (job && job->job != id) job = job->next;
    if (!job) {
        pthread_mutex_unlock(&s->lock);
        return loom_error(LOOM_E_USAGE, "job %" PRIu64 " was not submitted by this session, or was waited for", id);
    }
    loom_status *status = wait_for_end(s, job);
    pthread_mutex_unlock(&s->lock);
    if (!status) status = join_parts(job);
    if (!status && !job->result->value && !job->description->stream) {
        status = loom_error(LOOM_E_INTERNAL, "the daemon sent no result");
    }
    if (!status) {
        *result = job->result;
        job->result = NULL;
    }
    drop_job(s, job);
    return status;
}

loom_status *loom_session_run(loom_session *s, const loom_job_description *description, loom_job_result **result) {
    uint64_t job;
    LOOM_TRY(loom_session_submit(s, description, &job));
    return loom_session_wait(s, job, result);
}

void loom_job_result_free(loom_job_result *r) {
    if (!r) return;
    loom_value_unref(r->value);
    for (size_t i = 0; i < r->n_times; i++) free((char *)r->times[i].label);
    free(r->times);
    free_texts(r->remarks, r->n_remarks);
    free_texts(r->warnings, r->n_warnings);
    for (size_t i = 0; i < r->n_interpreted; i++) free(r->interpreted[i].why);
    free(r->interpreted);
    free(r);
}

/* ---- status and cancel: caller's thread ---- */

typedef struct asking {
    loom_question *question;
    uint64_t job;
    bool cancel;
} asking;

static void do_ask(loom_session *s, void *argument) {
    asking *a = argument;
    pthread_mutex_lock(&s->lock);
    a->question->ticket = ++s->next_ticket | (uint64_t)1 << 62;
    a->question->next = s->questions;
    s->questions = a->question;
    pthread_mutex_unlock(&s->lock);
    if (a->cancel) {
        send_cancel(s, a->job, a->question->ticket);
        return;
    }
    Wire__StatusRequest request = WIRE__STATUS_REQUEST__INIT;
    request.ticket = a->question->ticket;
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_STATUS_REQUEST;
    message.status_request = &request;
    loom_session_send(s, &message);
}

static void remove_question(loom_session *s, const loom_question *question) {
    for (loom_question **at = &s->questions; *at; at = &(*at)->next) {
        if (*at != question) continue;
        *at = question->next;
        return;
    }
}

static loom_status *ask(loom_session *s, asking *a) {
    loom_session_call(s, do_ask, a);
    double until = loom_seconds() + LOOM_SESSION_ANSWER;
    pthread_mutex_lock(&s->lock);
    while (!a->question->answered && !s->failed && loom_seconds() < until) wait_a_moment(s, 0.2);
    remove_question(s, a->question);
    loom_status *status = NULL;
    if (!a->question->answered) {
        status = s->failed ? session_failure(s) : loom_error(LOOM_E_UNAVAILABLE, "%s does not answer", s->endpoint);
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

loom_status *loom_session_status(loom_session *s, loom_daemon_info **info) {
    loom_question q = {0};
    LOOM_TRY(ask(s, &(asking){.question = &q}));
    *info = q.info;
    return NULL;
}

loom_status *loom_session_cancel(loom_session *s, uint64_t job) {
    loom_question q = {0};
    LOOM_TRY(ask(s, &(asking){.question = &q, .job = job, .cancel = true}));
    return q.found ? NULL : loom_error(LOOM_E_NOINPUT, "there is no job %" PRIu64, job);
}

void loom_daemon_info_free(loom_daemon_info *info) {
    if (!info) return;
    for (size_t i = 0; i < info->n_jobs; i++) {
        free(info->jobs[i].name);
        free(info->jobs[i].stage);
    }
    for (size_t i = 0; i < info->n_workers; i++) {
        free(info->workers[i].host);
        free(info->workers[i].target);
    }
    free(info->jobs);
    free(info->workers);
    free(info);
}

const char *loom_job_state_name(loom_job_state state) {
    static const char *const names[] = {"compiling", "waiting", "running", "ending"};
    return (unsigned)state < sizeof names / sizeof *names ? names[state] : "unknown";
}
