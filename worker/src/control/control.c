/* The main thread of a worker: what the daemon says becomes items of the queue; what the working thread made is sent.
 */
#include "control/control.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/machine.h"
#include "compiler/plan/plan.h"
#include "control/kept.h"
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define JOB_ARENA  ((size_t)256 << 20)
#define PLAN_ARENA ((size_t)512 << 20)

static void send_message(loom_control *c, Wire__Message *message) {
    loom_socket_send(c->socket, NULL, 0, loom_packet_create(message));
}

/* ---- the queue ---- */

static void enqueue(loom_control *c, loom_item *item) {
    pthread_mutex_lock(&c->lock);
    *c->queue_end = item;
    c->queue_end = &item->next;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

static loom_work_job *find_job(loom_control *c, uint64_t id) {
    for (loom_work_job *job = c->jobs; job; job = job->next) {
        if (job->id == id) return job;
    }
    return NULL;
}

static loom_work_run *find_run(loom_control *c, uint64_t id) {
    for (loom_work_run *run = c->runs; run; run = run->next) {
        if (run->id == id) return run;
    }
    return NULL;
}

/* ---- registration and beats ---- */

static void say_hello(loom_control *c) {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    Wire__Hello hello = WIRE__HELLO__INIT;
    hello.role = WIRE__ROLE__WORKER;
    hello.pid = getpid();
    hello.host = host;
    hello.has_threads = hello.has_memory = hello.has_instance = true;
    hello.threads = (uint32_t)c->options.threads;
    hello.memory = c->memory;
    hello.target = (char *)loom_worker_target();
    hello.instance = c->instance;
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_HELLO;
    message.hello = &hello;
    send_message(c, &message);
    c->hello_sequence = c->sequence;
}

static void close_job(loom_control *c, loom_work_job *job) {
    loom_item *item = loom_xcalloc(1, sizeof *item);
    item->kind = LOOM_ITEM_CLOSE_JOB;
    item->job = job;
    for (loom_work_job **at = &c->jobs; *at; at = &(*at)->next) {
        if (*at != job) continue;
        *at = job->next;
        break;
    }
    for (loom_work_run **at = &c->runs; *at;) {
        loom_work_run *run = *at;
        if (run->job != job) {
            at = &run->next;
            continue;
        }
        *at = run->next;
        run->next = item->runs;
        item->runs = run;
    }
    loom_feed_close(job->feed);
    job->feed = NULL;
    loom_kept_forget(c, job);
    pthread_mutex_lock(&c->lock);
    job->closed = true;
    if (c->working && c->working->job == job) loom_executor_cancel(c->executor);
    pthread_mutex_unlock(&c->lock);
    enqueue(c, item);
}

/* The daemon does not know us: it was restarted, or gave us up. What we hold is of no use to anybody. */
static void register_anew(loom_control *c) {
    while (c->jobs) close_job(c, c->jobs);
    c->registered = false;
    say_hello(c);
}

static void on_welcome(loom_control *c, const Wire__Welcome *welcome) {
    c->registered = true;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->n_spools; i++) free(c->spools[i]);
    c->spools = loom_xrealloc(c->spools, (welcome->n_spools + 1) * sizeof *c->spools);
    for (size_t i = 0; i < welcome->n_spools; i++) c->spools[i] = loom_xstrdup(welcome->spools[i]);
    c->n_spools = welcome->n_spools;
    pthread_mutex_unlock(&c->lock);
    loom_log(LOOM_LOG_INFO, "registered as worker %" PRIu64, welcome->peer);
}

/* Whether the working thread and those of the executor live. Under lock. */
static void look_for_life(loom_control *c) {
    struct timespec all, own;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &all);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own);
    double others = (double)(all.tv_sec - own.tv_sec) + 1e-9 * (double)(all.tv_nsec - own.tv_nsec);
    if (c->waiting || others - c->busy_seconds >= LOOM_BUSY_SECONDS) c->signs++;
    c->busy_seconds = others;
    bool leaving = c->working && c->working->kind == LOOM_ITEM_TASK && c->working->job->closed;
    c->stuck_beats = leaving ? c->stuck_beats + 1 : 0;
}

static void send_beat(loom_control *c) {
    Wire__Beat beat = WIRE__BEAT__INIT;
    beat.sequence = ++c->sequence;
    Wire__TaskBeat task = WIRE__TASK_BEAT__INIT, *list[1] = {&task};
    pthread_mutex_lock(&c->lock);
    look_for_life(c);
    if (c->working && c->working->kind == LOOM_ITEM_TASK) {
        task.signs = c->signs;
        task.task = c->working->task;
        task.blocks = (uint64_t)atomic_load(&c->working->folded);
        beat.n_tasks = 1;
        beat.tasks = list;
    }
    /* A cancellation may have come between two calls of the executor, which forgets it at the next one. */
    if (c->working && (c->stopping || (c->working->job && c->working->job->closed))) loom_executor_cancel(c->executor);
    pthread_mutex_unlock(&c->lock);
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_BEAT;
    message.beat = &beat;
    send_message(c, &message);
}

static void on_beat(uv_timer_t *timer) {
    loom_control *c = timer->data;
    /* A process that was stopped for a while has not listened: that is not the daemon's silence. */
    double now = loom_seconds();
    if (c->last_beat > 0 && now - c->last_beat > 3 * LOOM_BEAT_MS / 1000.0) c->last_reply = now;
    c->last_beat = now;
    double silent = now - c->last_reply;
    if (c->options.parent && getppid() != c->options.parent) {
        loom_control_stop(c, "its parent ended");
        return;
    }
    if (silent > LOOM_DAEMON_PATIENCE) {
        loom_control_stop(c, "the daemon is gone");
        return;
    }
    if (!c->registered && !c->told_waiting && !c->options.parent) {
        c->told_waiting = true;
        loom_log(LOOM_LOG_WARN, "waiting for a daemon at %s, %.0f s at most", c->options.connect,
                 LOOM_DAEMON_PATIENCE - silent);
    }
    send_beat(c);
    loom_feed_check(c);
    if (c->stuck_beats >= LOOM_STUCK_BEATS) {
        c->anew = true;
        loom_control_stop(c, "the executor does not leave a job that has ended: beginning anew");
    }
}

static void on_beat_reply(loom_control *c, const Wire__BeatReply *reply) {
    /* A reply to a beat from before the last Hello says nothing of what that Hello brought about. */
    if (!reply->known && reply->sequence > c->hello_sequence) register_anew(c);
}

/* ---- jobs and runs ---- */

static char *copy_frame(zmq_msg_t *frame, size_t *length) {
    *length = zmq_msg_size(frame);
    char *copy = loom_xmalloc(*length + 1);
    memcpy(copy, zmq_msg_data(frame), *length);
    return copy;
}

static void on_open_job(loom_control *c, loom_incoming *in) {
    const Wire__OpenJob *open = in->message->open_job;
    if (in->n_frames != 2 || find_job(c, open->job)) return;
    loom_work_job *job = loom_xcalloc(1, sizeof *job);
    job->id = open->job;
    job->arena = loom_arena_create(JOB_ARENA);
    loom_status *status =
        loom_graph_decode(job->arena, zmq_msg_data(&in->frames[1]), zmq_msg_size(&in->frames[1]), &job->graph);
    if (!status) status = loom_graph_check(job->graph);
    if (status) {
        loom_log_status(LOOM_LOG_ERROR, status);
        loom_arena_destroy(job->arena);
        free(job);
        return;
    }
    job->program = copy_frame(&in->frames[0], &job->program_length);
    job->n_params = job->graph->n_params;
    job->descriptions = loom_xcalloc((size_t)job->n_params + 1, sizeof *job->descriptions);
    job->sources = loom_xcalloc((size_t)job->n_params + 1, sizeof(loom_source *));
    for (size_t i = 0; i < open->n_streams; i++) {
        const Wire__OpenStream *s = open->streams[i];
        if (s->param < job->n_params && s->description) {
            free(job->descriptions[s->param]);
            job->descriptions[s->param] = loom_xstrdup(s->description);
        }
    }
    job->feed = loom_feed_create(c, job, open->serve);
    job->next = c->jobs;
    c->jobs = job;
}

/* How many blocks may be computed on in one go: a quarter of the memory for what is alive. */
static int64_t blocks_in_memory(const loom_control *c, const loom_work_run *run, int64_t block) {
    if (run->interpret) return 1;
    loom_arena *arena = loom_arena_create(PLAN_ARENA);
    loom_plan *plan;
    double each = 0;
    loom_status *status = loom_plan_decode(arena, run->plan, run->plan_length, &plan);
    if (!status) each = plan->bytes_per_element;
    loom_status_free(status); /* the executor says what is wrong with it */
    loom_arena_destroy(arena);
    each += run->bytes_per_element;
    double blocks = each > 0 ? (double)c->memory / 4 / (each * (double)block) : 1e6;
    return blocks < 1 ? 1 : blocks > 1e6 ? (int64_t)1e6 : (int64_t)blocks;
}

static loom_status *check_run(const loom_incoming *in, const loom_work_job *job) {
    const Wire__OpenRun *open = in->message->open_run;
    if (open->stage >= job->graph->n_stages || in->n_frames != (open->interpret ? 0u : 2u)) {
        return loom_error(LOOM_E_PROTOCOL, "a run of no stage");
    }
    const loom_graph_stage *stage = &job->graph->stages[open->stage];
    if (open->n_inputs != stage->n_inputs || (open->n_segments && open->n_segments != stage->n_streams) ||
        open->n_has_constants != open->n_segments) {
        return loom_error(LOOM_E_PROTOCOL, "a run that does not fit its stage");
    }
    return NULL;
}

static void on_open_run(loom_control *c, loom_incoming *in) {
    const Wire__OpenRun *open = in->message->open_run;
    loom_work_job *job = find_job(c, open->job);
    if (!job || find_run(c, open->run)) return;
    loom_status *status = check_run(in, job);
    if (status) {
        loom_log_status(LOOM_LOG_ERROR, status);
        return;
    }
    loom_work_run *run = loom_xcalloc(1, sizeof *run);
    run->id = open->run;
    run->job = job;
    run->stage = open->stage;
    run->interpret = open->interpret;
    run->n_streams = job->graph->stages[open->stage].n_streams;
    if (!open->interpret) {
        run->plan = copy_frame(&in->frames[0], &run->plan_length);
        run->object = copy_frame(&in->frames[1], &run->object_length);
    }
    run->n_inputs = (uint32_t)open->n_inputs;
    run->inputs = loom_xcalloc((size_t)run->n_inputs + 1, sizeof *run->inputs);
    for (uint32_t i = 0; i < run->n_inputs; i++) {
        run->inputs[i] = (loom_work_input){loom_xstrdup(open->inputs[i]->path), open->inputs[i]->resident};
    }
    run->constants = loom_xcalloc((size_t)run->n_streams + 1, sizeof(loom_value *));
    run->has_constants = loom_xcalloc((size_t)run->n_streams + 1, sizeof *run->has_constants);
    if (open->n_segments) {
        run->segments = loom_xcalloc((size_t)run->n_streams + 1, sizeof *run->segments);
        memcpy(run->segments, open->segments, open->n_segments * sizeof *run->segments);
        for (uint32_t i = 0; i < run->n_streams; i++) run->has_constants[i] = open->has_constants[i];
    }
    run->bytes_per_element = open->bytes_per_element;
    wire__epoch__init(&run->epoch);
    run->next = c->runs;
    c->runs = run;
    loom_feed_constants(c, run);
}

/* Leases of the run may be at work or wait for blocks, which nobody wants any more: of a stage that was given up. */
static void stop_using(loom_control *c, loom_work_run *run) {
    pthread_mutex_lock(&c->lock);
    run->closed = true;
    if (c->working && c->working->run == run) loom_executor_cancel(c->executor);
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

static void on_close_run(loom_control *c, const Wire__CloseRun *close) {
    for (loom_work_run **at = &c->runs; *at; at = &(*at)->next) {
        loom_work_run *run = *at;
        if (run->id != close->run) continue;
        *at = run->next;
        stop_using(c, run);
        loom_feed_forget(run);
        loom_item *item = loom_xcalloc(1, sizeof *item);
        item->kind = LOOM_ITEM_CLOSE_RUN;
        item->job = run->job;
        item->run = run;
        enqueue(c, item);
        return;
    }
}

static void on_drop(loom_control *c, const Wire__Drop *drop) {
    loom_work_run *run = find_run(c, drop->run);
    if (!run) return;
    loom_item *item = loom_xcalloc(1, sizeof *item);
    item->kind = LOOM_ITEM_DROP;
    item->job = run->job;
    item->run = run;
    item->epoch = *drop->epoch;
    enqueue(c, item);
}

/* ---- tasks ---- */

static void refuse_task(loom_control *c, const Wire__Task *task, const char *why) {
    Wire__Status status = WIRE__STATUS__INIT;
    status.code = LOOM_E_INTERNAL;
    status.message = (char *)why;
    Wire__TaskDone done = WIRE__TASK_DONE__INIT;
    done.task = task->task;
    done.job = task->job;
    done.run = task->run;
    done.epoch = task->epoch;
    done.status = &status;
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_TASK_DONE;
    message.task_done = &done;
    send_message(c, &message);
}

/* A whole program visits the blocks of all its streams, to the end of the longest. */
static void plan_whole(loom_item *item, const Wire__Task *task) {
    item->lengths = loom_xcalloc(task->n_lengths + 1, sizeof *item->lengths);
    for (size_t i = 0; i < task->n_lengths; i++) {
        item->lengths[i] = (int64_t)task->lengths[i];
        if (item->lengths[i] > item->count) item->count = item->lengths[i];
    }
    item->n_blocks = item->count ? (item->count - 1) / item->block + 1 : 0;
}

static bool task_makes_sense(const Wire__Task *task, const loom_work_run *run) {
    const loom_graph_stage *stage = &run->job->graph->stages[run->stage];
    if (task->block == 0 || task->block > INT64_MAX) return false;
    size_t states = stage->n_carried;
    if (task->begins ? task->n_objects != 0 && task->n_objects != states : task->n_objects > 2) return false;
    if ((task->kind == WIRE__TASK_KIND__MERGE || task->kind == WIRE__TASK_KIND__EMPTY) &&
        task->output >= stage->n_outputs) {
        return false;
    }
    if (task->kind == WIRE__TASK_KIND__MERGE && task->n_objects != 2) return false;
    for (size_t i = 0; i < task->n_resident; i++) {
        if (task->resident[i] >= stage->n_outputs) return false;
    }
    for (size_t i = 0; i < task->n_lengths; i++) {
        if (task->lengths[i] > INT64_MAX) return false;
    }
    if (task->kind == WIRE__TASK_KIND__WHOLE) return task->n_lengths == stage->n_streams;
    if (task->has_spilled && (task->kind != WIRE__TASK_KIND__FOLD || task->n_objects != 1)) return false;
    if (task->begins && (task->kind != WIRE__TASK_KIND__FOLD || !loom_stage_is_chained(stage))) return false;
    if (task->has_spilled && task->spilled > INT64_MAX - task->count) return false;
    if (task->kind != WIRE__TASK_KIND__FOLD) return true;
    return task->n_blocks > 0 && task->count > 0 && task->first <= INT64_MAX &&
           task->count <= INT64_MAX - task->first && task->first_block <= INT64_MAX &&
           task->n_blocks <= INT64_MAX - task->first_block && task->n_blocks - 1 <= (task->count - 1) / task->block;
}

static void on_task(loom_control *c, const Wire__Task *task) {
    loom_work_run *run = find_run(c, task->run);
    if (!run || !task_makes_sense(task, run)) {
        refuse_task(c, task, run ? "a task that makes no sense" : "a task of an unknown run");
        return;
    }
    uint32_t n_outputs = run->job->graph->stages[run->stage].n_outputs;
    loom_item *item = loom_xcalloc(1, sizeof *item);
    item->kind = LOOM_ITEM_TASK;
    item->what = task->kind;
    item->task = task->task;
    item->job = run->job;
    item->run = run;
    item->n_streams = run->n_streams;
    item->epoch = *task->epoch;
    item->first_block = (int64_t)task->first_block;
    item->n_blocks = (int64_t)task->n_blocks;
    item->first = (int64_t)task->first;
    item->count = (int64_t)task->count;
    item->block = (int64_t)task->block;
    item->output = task->output;
    item->spilled = task->has_spilled ? (int64_t)task->spilled : -1;
    if (task->kind == WIRE__TASK_KIND__WHOLE) plan_whole(item, task);
    if (task->kind == WIRE__TASK_KIND__DELTA || task->kind == WIRE__TASK_KIND__ARRAY) {
        item->may_stay = loom_xcalloc((size_t)n_outputs + 1, sizeof *item->may_stay);
        for (size_t i = 0; i < task->n_resident; i++) item->may_stay[task->resident[i]] = true;
    }
    item->begins = task->begins;
    item->objects = loom_xcalloc(task->n_objects + 1, sizeof *item->objects);
    for (size_t i = 0; i < task->n_objects; i++)
        item->objects[item->n_objects++] = loom_xstrdup(task->objects[i]->path);
    pthread_mutex_lock(&c->lock);
    bool known = run->chunk_blocks != 0;
    pthread_mutex_unlock(&c->lock);
    if (!known) {
        int64_t blocks = blocks_in_memory(c, run, item->block);
        pthread_mutex_lock(&c->lock);
        run->chunk_blocks = blocks;
        pthread_mutex_unlock(&c->lock);
    }
    enqueue(c, item);
    loom_feed_ahead(c);
}

/* ---- messages ---- */

static void on_message(void *user, loom_incoming *in) {
    loom_control *c = user;
    const Wire__Message *m = in->message;
    loom_work_job *job;
    c->last_reply = loom_seconds();
    switch (m->body_case) {
    case WIRE__MESSAGE__BODY_WELCOME: on_welcome(c, m->welcome); break;
    case WIRE__MESSAGE__BODY_BEAT_REPLY: on_beat_reply(c, m->beat_reply); break;
    case WIRE__MESSAGE__BODY_OPEN_JOB: on_open_job(c, in); break;
    case WIRE__MESSAGE__BODY_CLOSE_JOB:
        job = find_job(c, m->close_job->job);
        if (job) close_job(c, job);
        break;
    case WIRE__MESSAGE__BODY_OPEN_RUN: on_open_run(c, in); break;
    case WIRE__MESSAGE__BODY_CLOSE_RUN: on_close_run(c, m->close_run); break;
    case WIRE__MESSAGE__BODY_TASK: on_task(c, m->task); break;
    case WIRE__MESSAGE__BODY_DROP: on_drop(c, m->drop); break;
    case WIRE__MESSAGE__BODY_BYE:
        if (c->options.parent) {
            loom_control_stop(c, m->bye->reason);
        } else {
            /* Of a daemon that others start again: what it lent is void, the next one will hear from us. */
            while (c->jobs) close_job(c, c->jobs);
        }
        break;
    default: loom_log(LOOM_LOG_WARN, "a message that is not for a worker"); break;
    }
    loom_incoming_destroy(in);
}

static void on_woken(uv_async_t *async) {
    loom_control *c = async->data;
    pthread_mutex_lock(&c->lock);
    loom_packet **packets = c->outbox;
    size_t n = c->n_outbox;
    c->outbox = NULL;
    c->n_outbox = c->outbox_capacity = 0;
    bool ended = c->thread_ended;
    pthread_mutex_unlock(&c->lock);
    for (size_t i = 0; i < n; i++) {
        if (c->socket) {
            loom_socket_send(c->socket, NULL, 0, packets[i]);
        } else {
            loom_packet_destroy(packets[i]);
        }
    }
    free(packets);
    if (!ended) {
        loom_feed_ahead(c);
        return;
    }
    uv_close((uv_handle_t *)&c->stop_timer, NULL);
    uv_close((uv_handle_t *)&c->woken, NULL);
}

/* ---- stopping ---- */

/* The same process with nothing in it, under the same number, which whoever started it knows. */
static void begin_anew(const loom_control *c) {
    (void)close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    execv("/proc/self/exe", c->options.command);
    loom_log(LOOM_LOG_ERROR, "cannot begin anew: %s", strerror(errno));
}

static void on_stop_timer(uv_timer_t *timer) {
    loom_control *c = timer->data;
    /* Looks are counted, not seconds: where the machine stood still, the executor has had no time either. */
    if (++c->stop_looks > LOOM_STOP_LOOKS) {
        pthread_mutex_lock(&c->lock);
        bool computes = c->working != NULL;
        pthread_mutex_unlock(&c->lock);
        /* One that only frees what a job had (gigabytes take seconds) leaves that to the system. */
        if (computes && !c->anew) loom_log(LOOM_LOG_WARN, "the executor does not stop: ending anyway");
        if (c->anew) {
            begin_anew(c);
            _exit(EXIT_FAILURE);
        }
        _exit(0);
    }
    pthread_mutex_lock(&c->lock);
    if (c->working) loom_executor_cancel(c->executor);
    pthread_mutex_unlock(&c->lock);
}

void loom_control_stop(loom_control *c, const char *why) {
    if (c->stops) return;
    loom_log(LOOM_LOG_INFO, "stopping: %s", why);
    c->stops = true;
    Wire__Bye bye = WIRE__BYE__INIT;
    bye.reason = (char *)"it stops";
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_BYE;
    message.bye = &bye;
    send_message(c, &message);
    while (c->jobs) close_job(c, c->jobs);
    loom_socket_close(c->socket, 100);
    c->socket = NULL;
    uv_timer_stop(&c->beat);
    uv_close((uv_handle_t *)&c->beat, NULL);
    for (int i = 0; i < 2; i++) uv_close((uv_handle_t *)&c->signals[i], NULL);
    pthread_mutex_lock(&c->lock);
    c->stopping = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    uv_timer_start(&c->stop_timer, on_stop_timer, 0, LOOM_STOP_MS);
}

static void on_signal(uv_signal_t *handle, int number) {
    loom_control *c = handle->data;
    c->anew = false; /* also where that was under way */
    loom_control_stop(c, strsignal(number));
}

/* ---- starting ---- */

static loom_status *start_thread(loom_control *c) {
    loom_executor_options options = {.threads = c->options.threads,
                                     .memory = c->options.memory,
                                     .cache = c->options.cache,
                                     .reclaim = loom_kept_reclaim,
                                     .context = c};
    LOOM_TRY(loom_executor_create(&options, &c->executor));
    /* Signals are the loop's. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&c->thread, NULL, loom_work_thread, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc ? loom_error_errno(LOOM_E_OS, rc, "cannot start a thread") : NULL;
}

static void prepare_handles(loom_control *c) {
    uv_timer_init(&c->loop, &c->beat);
    uv_timer_init(&c->loop, &c->stop_timer);
    c->beat.data = c->stop_timer.data = c;
    uv_timer_start(&c->beat, on_beat, LOOM_BEAT_MS, LOOM_BEAT_MS);
    static const int numbers[] = {SIGINT, SIGTERM};
    for (int i = 0; i < 2; i++) {
        uv_signal_init(&c->loop, &c->signals[i]);
        c->signals[i].data = c;
        uv_signal_start(&c->signals[i], on_signal, numbers[i]);
    }
}

static loom_status *start(loom_control *c, bool *thread) {
    LOOM_TRY(start_thread(c));
    *thread = true;
    c->zmq = zmq_ctx_new();
    if (!c->zmq) return loom_error(LOOM_E_OS, "cannot make a ZeroMQ context: %s", zmq_strerror(errno));
    loom_socket_options options = {.context = c->zmq,
                                   .type = ZMQ_DEALER,
                                   .max_frame = LOOM_MAX_CONTROL_FRAME,
                                   .on_message = on_message,
                                   .user = c};
    LOOM_TRY(loom_socket_create(&c->loop, &options, &c->socket));
    LOOM_TRY(loom_socket_connect(c->socket, c->options.connect, c->options.insecure));
    prepare_handles(c);
    say_hello(c);
    return NULL;
}

static void release(loom_control *c) {
    while (c->queue) {
        loom_item *item = c->queue;
        c->queue = item->next;
        loom_item_free(item);
    }
    for (size_t i = 0; i < c->n_outbox; i++) loom_packet_destroy(c->outbox[i]);
    free(c->outbox);
    for (size_t i = 0; i < c->n_spools; i++) free(c->spools[i]);
    free(c->spools);
    loom_executor_destroy(c->executor);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->changed);
}

/* What start had made when it failed. */
static void unwind(loom_control *c, bool thread) {
    pthread_mutex_lock(&c->lock);
    c->stopping = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    if (thread) pthread_join(c->thread, NULL);
    loom_socket_close(c->socket, 0);
    uv_close((uv_handle_t *)&c->woken, NULL);
    uv_run(&c->loop, UV_RUN_DEFAULT);
}

loom_status *loom_control_run(const loom_control_options *options) {
    LOOM_TRY(loom_endpoint_check(options->connect, options->insecure));
    loom_control c = {.options = *options, .last_reply = loom_seconds()};
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    /* Nobody is left for whom it could end in order; one that is stopped would not see a SIGTERM. */
    if (options->parent) prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (c.options.threads == 0) c.options.threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    c.memory = options->memory;
    if (!c.memory) c.memory = loom_machine_worker_memory(1);
    if (getrandom(&c.instance, sizeof c.instance, 0) != sizeof c.instance) c.instance = (uint64_t)getpid();
    c.queue_end = &c.queue;
    pthread_mutex_init(&c.lock, NULL);
    pthread_cond_init(&c.changed, NULL);
    uv_loop_init(&c.loop);
    uv_async_init(&c.loop, &c.woken, on_woken);
    c.woken.data = &c;
    bool thread = false;
    loom_status *status = start(&c, &thread);
    if (status) {
        unwind(&c, thread);
    } else {
        uv_run(&c.loop, UV_RUN_DEFAULT);
        pthread_join(c.thread, NULL);
    }
    release(&c);
    loom_zmq_end(c.zmq);
    uv_loop_close(&c.loop);
    if (c.anew) begin_anew(&c);
    return status;
}
