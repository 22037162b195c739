/* The loop of gridloomd: starts, hands messages to those whose business they are, stops. */
#include "daemon.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/log.h"
#include "proto/wire.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Between ticks: silence, deadlines and progress are looked at. */
#define TICK_MS 250
/* What is still queued for peers when the daemon stops may take so long. */
#define LINGER_MS 200

uint64_t loom_daemon_next_id(loom_daemon *d) {
    return ++d->next_id;
}

loom_status *loom_daemon_send_packet(loom_daemon *d, const loom_peer_id *to, loom_packet *packet) {
    loom_status *status = loom_packet_check(packet);
    if (status || !d->socket) {
        loom_packet_destroy(packet);
    } else {
        loom_socket_send(d->socket, to->bytes, to->length, packet);
    }
    return status;
}

void loom_daemon_send(loom_daemon *d, const loom_peer_id *to, Wire__Message *message) {
    loom_status *status = loom_daemon_send_packet(d, to, loom_packet_create(message));
    if (status) loom_log_status(LOOM_LOG_ERROR, status); /* a message of fixed size: not possible */
}

/* ---- the scheduler's turn ---- */

static void on_busy(uv_idle_t *idle) {
    (void)idle; /* keeps the loop from blocking until the check handler has run */
}

void loom_daemon_changed(loom_daemon *d) {
    d->changed = true;
    if (!d->stopping) uv_idle_start(&d->busy, on_busy);
}

static void on_check(uv_check_t *check) {
    loom_daemon *d = check->data;
    uv_idle_stop(&d->busy);
    if (!d->changed || d->stopping) return;
    d->changed = false;
    loom_schedule(d);
}

/* ---- requests of clients ---- */

static void on_cancel(loom_daemon *d, const loom_incoming *in) {
    const Wire__Cancel *cancel = in->message->cancel;
    loom_job *job = loom_job_find(d, cancel->job);
    Wire__CancelReply reply = WIRE__CANCEL_REPLY__INIT;
    reply.ticket = cancel->ticket;
    reply.found = job && !job->ending;
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_CANCEL_REPLY;
    message.cancel_reply = &reply;
    loom_daemon_send(d, &(loom_peer_id){in->identity, in->identity_length}, &message);
    if (reply.found) loom_job_fail(job, loom_error(LOOM_E_CANCELLED, "the job was cancelled"));
}

static Wire__WorkerInfo worker_info(const loom_worker *w, double now) {
    Wire__WorkerInfo info = WIRE__WORKER_INFO__INIT;
    info.worker = w->id;
    info.pid = w->pid;
    info.host = w->host;
    info.target = w->target;
    info.threads = w->threads;
    info.memory = w->memory;
    info.busy = w->tasks.n > 0;
    info.seconds = now - w->since;
    info.blocks = w->blocks;
    return info;
}

static void on_status(loom_daemon *d, const loom_incoming *in) {
    double now = loom_seconds();
    Wire__StatusReply reply = WIRE__STATUS_REPLY__INIT;
    reply.ticket = in->message->status_request->ticket;
    reply.incarnation = d->incarnation;
    reply.seconds = now - d->started;
    loom_arena *arena = loom_arena_create(0);
    reply.jobs = LOOM_NEW_ARRAY(arena, Wire__Progress *, d->jobs.n + 1);
    for (size_t i = 0; i < d->jobs.n; i++) {
        const loom_job *job = d->jobs.at[i];
        if (job->ending) continue;
        Wire__Progress *p = reply.jobs[reply.n_jobs++] = LOOM_NEW(arena, Wire__Progress);
        loom_job_fill_progress(job, p);
    }
    reply.n_workers = d->workers.n;
    reply.workers = LOOM_NEW_ARRAY(arena, Wire__WorkerInfo *, d->workers.n + 1);
    for (size_t i = 0; i < d->workers.n; i++) {
        reply.workers[i] = LOOM_NEW(arena, Wire__WorkerInfo);
        *reply.workers[i] = worker_info(d->workers.at[i], now);
    }
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_STATUS_REPLY;
    message.status_reply = &reply;
    const loom_peer_id to = {in->identity, in->identity_length};
    /* Thousands of jobs do not fit: then the first half of them is told, and so on. */
    loom_status *status;
    while ((status = loom_daemon_send_packet(d, &to, loom_packet_create(&message)))) {
        loom_log_status(LOOM_LOG_WARN, loom_status_note(status, "so `status` is told of a part of the jobs only"));
        if (reply.n_jobs + reply.n_workers == 0) break;
        reply.n_jobs /= 2;
        reply.n_workers /= 2;
    }
    loom_arena_destroy(arena);
}

static void on_submit(loom_daemon *d, loom_incoming *in) {
    loom_client *client = loom_client_of(d, in);
    if (client) loom_job_submit(d, client, in);
}

/* A job may be answered for by its own client only. */
static loom_job *job_of_client(loom_daemon *d, const loom_incoming *in, uint64_t id) {
    loom_job *job = loom_job_find(d, id);
    return job && job->client && job->client == loom_client_of(d, in) ? job : NULL;
}

static void on_bye(loom_daemon *d, const loom_incoming *in) {
    loom_worker *w = loom_worker_of(d, in);
    if (w) {
        loom_worker_lost(w, in->message->bye->reason);
        return;
    }
    loom_client *c = loom_client_of(d, in);
    if (c) loom_client_lost(c, in->message->bye->reason);
}

static void dispatch(loom_daemon *d, loom_incoming *in) {
    const Wire__Message *m = in->message;
    loom_job *job;
    switch (m->body_case) {
    case WIRE__MESSAGE__BODY_HELLO: loom_peer_hello(d, in); break;
    case WIRE__MESSAGE__BODY_BEAT: loom_peer_beat(d, in); break;
    case WIRE__MESSAGE__BODY_BYE: on_bye(d, in); break;
    case WIRE__MESSAGE__BODY_SUBMIT: on_submit(d, in); break;
    case WIRE__MESSAGE__BODY_CANCEL: on_cancel(d, in); break;
    case WIRE__MESSAGE__BODY_STATUS_REQUEST: on_status(d, in); break;
    case WIRE__MESSAGE__BODY_TASK_DONE: loom_task_done(d, loom_worker_of(d, in), m->task_done); break;
    case WIRE__MESSAGE__BODY_PART_ACK:
        job = job_of_client(d, in, m->part_ack->job);
        if (job) loom_stage_part_acknowledged(job, m->part_ack->first_block);
        break;
    case WIRE__MESSAGE__BODY_JOB_END_ACK:
        job = job_of_client(d, in, m->job_end_ack->job);
        if (job) loom_job_end_acknowledged(job);
        break;
    default: loom_log(LOOM_LOG_WARN, "a message that is not for the daemon"); break;
    }
}

static void on_message(void *user, loom_incoming *in) {
    loom_daemon *d = user;
    if (!d->stopping) dispatch(d, in);
    loom_incoming_destroy(in);
}

static void on_unreachable(void *user, const unsigned char *identity, size_t length) {
    loom_daemon *d = user;
    if (!d->stopping) loom_peer_unreachable(d, identity, length);
}

/* ---- stopping ---- */

static void say_bye(loom_daemon *d, const loom_peer_id *to) {
    Wire__Bye bye = WIRE__BYE__INIT;
    bye.reason = (char *)"the daemon is stopping";
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_BYE;
    message.bye = &bye;
    loom_daemon_send(d, to, &message);
}

static void close_handle(void *handle) {
    if (!uv_is_closing(handle)) uv_close(handle, NULL);
}

static void unwatch(struct loom_death_watch **watch) {
    loom_death_watch_destroy(*watch);
    *watch = NULL;
}

static void stop(loom_daemon *d, const char *why) {
    if (d->stopping) return;
    loom_log(LOOM_LOG_INFO, "stopping: %s", why);
    for (size_t i = d->jobs.n; i > 0; i--) {
        loom_job *job = d->jobs.at[i - 1];
        if (!job->ending)
            loom_job_fail(job,
                          loom_status_note(loom_error(LOOM_E_UNAVAILABLE, "the daemon is stopping"), LOOM_RUN_AGAIN));
        loom_job_destroy(job);
    }
    for (size_t i = 0; i < d->workers.n; i++) say_bye(d, &((loom_worker *)d->workers.at[i])->peer);
    for (size_t i = 0; i < d->clients.n; i++) say_bye(d, &((loom_client *)d->clients.at[i])->peer);
    d->stopping = true;
    loom_socket_close(d->socket, LINGER_MS);
    d->socket = NULL;
    loom_compile_pool_destroy(d->compilers);
    d->compilers = NULL;
    unwatch(&d->parent);
    for (size_t i = 0; i < d->workers.n; i++) unwatch(&((loom_worker *)d->workers.at[i])->watch);
    for (size_t i = 0; i < d->clients.n; i++) unwatch(&((loom_client *)d->clients.at[i])->watch);
    close_handle(&d->tick);
    close_handle(&d->scheduler);
    close_handle(&d->busy);
    close_handle(&d->signals[0]);
    close_handle(&d->signals[1]);
}

static void on_signal(uv_signal_t *handle, int number) {
    stop(handle->data, strsignal(number));
}

static void on_parent_died(void *user) {
    loom_daemon *d = user;
    d->orphaned = true;
    stop(d, "its parent ended");
}

static void on_tick(uv_timer_t *timer) {
    loom_daemon *d = timer->data;
    double now = loom_seconds();
    /* After a stop of this process everybody's beats are still in the socket: they are not late. */
    bool late = now - d->last_tick > LOOM_BEAT_SECONDS * 2;
    d->last_tick = now;
    if (d->options.parent && getppid() != d->options.parent) {
        on_parent_died(d);
        return;
    }
    for (size_t i = 0; late && i < d->workers.n; i++) ((loom_worker *)d->workers.at[i])->last_seen = now;
    for (size_t i = 0; late && i < d->clients.n; i++) ((loom_client *)d->clients.at[i])->last_seen = now;
    loom_peers_check(d);
    for (size_t i = 0; i < d->jobs.n; i++) loom_job_send_progress(d->jobs.at[i]);
    loom_daemon_changed(d);
}

/* ---- starting ---- */

/* One daemon a folder. The lock goes with the process, however it ends. */
static loom_status *lock_folder(const char *folder, int *fd) {
    char *path = loom_xprintf("%s/lock", folder);
    int f = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    loom_status *status = NULL;
    if (f < 0) {
        status = loom_error_errno(LOOM_E_CANTCREATE, errno, "cannot open %s", path);
    } else if (flock(f, LOCK_EX | LOCK_NB) < 0) {
        status = loom_error(LOOM_E_UNAVAILABLE, "another daemon uses %s", folder);
        close(f);
    }
    free(path);
    if (!status) *fd = f;
    return status;
}

/* <folder>/objects, empty: objects of an earlier life belong to jobs that have ended with it. */
static loom_status *make_spool(loom_daemon *d, const char *folder) {
    char *objects = loom_xprintf("%s/objects", folder);
    loom_remove_tree(objects);
    loom_status *status = loom_make_directories(objects, 0700);
    char *real = status ? NULL : realpath(objects, NULL);
    if (!status && !real) status = loom_error_errno(LOOM_E_CANTCREATE, errno, "cannot make %s", objects);
    if (real) d->spools[d->n_spools++] = real;
    free(objects);
    return status;
}

static bool same_folder(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static loom_status *make_spools(loom_daemon *d) {
    const char *spool = d->options.spool, *store = d->options.store;
    d->made_spool = spool && access(spool, F_OK) < 0;
    if (spool) LOOM_TRY(loom_make_directories(spool, 0700));
    if (spool && !same_folder(spool, store)) {
        LOOM_TRY(lock_folder(spool, &d->spool_lock));
        LOOM_TRY(make_spool(d, spool));
    }
    return make_spool(d, store);
}

static loom_status *open_store(loom_daemon *d) {
    d->made_store = access(d->options.store, F_OK) < 0;
    LOOM_TRY(loom_make_directories(d->options.store, 0700));
    LOOM_TRY(lock_folder(d->options.store, &d->store_lock));
    LOOM_TRY(make_spools(d));
    LOOM_TRY(loom_store_open(d->options.store, !d->options.parent, &d->store, &d->incarnation));
    LOOM_TRY(loom_store_last_job(d->store, &d->next_job));
    int64_t abandoned;
    LOOM_TRY(loom_store_abandon(d->store, &abandoned));
    if (abandoned) loom_log(LOOM_LOG_WARN, "%" PRId64 " jobs ended with the last daemon", abandoned);
    d->cache = d->options.cache ? loom_xstrdup(d->options.cache) : loom_xprintf("%s/cache", d->options.store);
    return loom_make_directories(d->cache, 0700);
}

/* A socket in the file system stays when its owner ends. It goes with the daemon, unless it is another one's by then.
 */
static void note_socket_file(loom_daemon *d) {
    struct stat info;
    bool file = strncmp(d->options.listen, "ipc://", 6) == 0 && stat(d->options.listen + 6, &info) == 0;
    d->socket_inode = file ? info.st_ino : 0;
}

static void remove_socket_file(const loom_daemon *d) {
    struct stat info;
    if (!d->socket_inode) return;
    const char *path = d->options.listen + 6;
    if (stat(path, &info) == 0 && info.st_ino == d->socket_inode && S_ISSOCK(info.st_mode)) unlink(path);
}

/* Binding takes over a socket file whoever listens there: one that answers is left alone, one left behind removed. */
static loom_status *check_socket_file(const char *endpoint) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat info;
    if (strncmp(endpoint, "ipc://", 6) != 0) return NULL;
    const char *path = endpoint + 6;
    size_t length = strlen(path);
    if (length >= sizeof address.sun_path || stat(path, &info) < 0) return NULL; /* binding tells what is wrong */
    if (!S_ISSOCK(info.st_mode)) return loom_error(LOOM_E_CANTCREATE, "%s is there and is no socket", path);
    memcpy(address.sun_path, path, length + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return loom_error_errno(LOOM_E_OS, errno, "cannot make a socket");
    bool connected = connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    int why = errno;
    close(fd);
    if (connected || why == EAGAIN) { /* EAGAIN: it listens, but its queue is full */
        return loom_status_note(loom_error(LOOM_E_UNAVAILABLE, "another daemon listens on %s", endpoint),
                                "hint: stop it first, or listen elsewhere");
    }
    if (why != ECONNREFUSED) return loom_error_errno(LOOM_E_UNAVAILABLE, why, "cannot listen on %s", endpoint);
    if (unlink(path) < 0 && errno != ENOENT) {
        return loom_error_errno(LOOM_E_CANTCREATE, errno, "cannot remove the socket left at %s", path);
    }
    return NULL;
}

static loom_status *listen_on(loom_daemon *d) {
    d->zmq = zmq_ctx_new();
    if (!d->zmq) return loom_error(LOOM_E_OS, "cannot make a ZeroMQ context: %s", zmq_strerror(errno));
    loom_socket_options options = {.context = d->zmq,
                                   .type = ZMQ_ROUTER,
                                   .max_frame = LOOM_MAX_CONTROL_FRAME,
                                   .on_message = on_message,
                                   .on_unreachable = on_unreachable,
                                   .user = d};
    LOOM_TRY(loom_socket_create(&d->loop, &options, &d->socket));
    LOOM_TRY(loom_socket_bind(d->socket, d->options.listen, d->options.insecure));
    note_socket_file(d);
    return NULL;
}

static loom_status *start(loom_daemon *d) {
    LOOM_TRY(loom_endpoint_check(d->options.listen, d->options.insecure));
    LOOM_TRY(check_socket_file(d->options.listen));
    LOOM_TRY(open_store(d));
    char *compiler = loom_xprintf("%s/gridloom-compile", d->options.binaries);
    d->compilers = loom_compile_pool_create(&d->loop, compiler, &loom_compile_default_limits, 2);
    free(compiler);
    LOOM_TRY(listen_on(d));
    if (d->options.parent) d->parent = loom_death_watch_create(&d->loop, d->options.parent, on_parent_died, d);
    loom_log(LOOM_LOG_INFO, "listening on %s, incarnation %" PRIu64, d->options.listen, d->incarnation);
    return NULL;
}

static void prepare_handles(loom_daemon *d) {
    uv_timer_init(&d->loop, &d->tick);
    uv_check_init(&d->loop, &d->scheduler);
    uv_idle_init(&d->loop, &d->busy);
    d->tick.data = d->scheduler.data = d->busy.data = d;
    uv_timer_start(&d->tick, on_tick, TICK_MS, TICK_MS);
    uv_check_start(&d->scheduler, on_check);
    static const int numbers[] = {SIGINT, SIGTERM};
    for (int i = 0; i < 2; i++) {
        uv_signal_init(&d->loop, &d->signals[i]);
        d->signals[i].data = d;
        uv_signal_start(&d->signals[i], on_signal, numbers[i]);
    }
}

/* One that could not start leaves what was there before; another's lock says that the folder is not ours after all. */
static void remove_new_folders(const loom_daemon *d) {
    if (d->made_spool && d->spool_lock >= 0) loom_remove_tree(d->options.spool);
    if (d->made_store && d->store_lock >= 0) loom_remove_tree(d->options.store);
}

static void release(loom_daemon *d) {
    for (size_t i = d->workers.n; i > 0; i--) loom_worker_lost(d->workers.at[i - 1], "the daemon stops");
    for (size_t i = d->clients.n; i > 0; i--) loom_client_lost(d->clients.at[i - 1], "the daemon stops");
    uv_run(&d->loop, UV_RUN_DEFAULT); /* close callbacks */
    loom_list_free(&d->workers);
    loom_list_free(&d->clients);
    loom_list_free(&d->jobs);
    loom_zmq_end(d->zmq);
    loom_store_close(d->store);
    uv_loop_close(&d->loop);
    for (size_t i = 0; i < d->n_spools; i++) {
        loom_remove_tree(d->spools[i]);
        free(d->spools[i]);
    }
    if (d->spool_lock >= 0) close(d->spool_lock);
    if (d->store_lock >= 0) close(d->store_lock);
    free(d->cache);
}

loom_status *loom_daemon_run(const loom_daemon_options *options) {
    loom_daemon d = {.options = *options,
                     .store_lock = -1,
                     .spool_lock = -1,
                     .started = loom_seconds(),
                     .last_tick = loom_seconds()};
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    umask(077);
    uv_loop_init(&d.loop);
    prepare_handles(&d);
    loom_status *status = start(&d);
    if (status) stop(&d, "it could not start");
    uv_run(&d.loop, UV_RUN_DEFAULT);
    bool orphaned = d.orphaned;
    if (status) remove_new_folders(&d);
    release(&d);
    remove_socket_file(&d);
    for (size_t i = 0; orphaned && i < options->n_scratch; i++) loom_remove_tree(options->scratch[i]);
    return status;
}
