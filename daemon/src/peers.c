/* Workers and clients: greeting, beats, death. A peer is known by the identity that ZeroMQ gave its connection and,
 * over reconnections, by the random number it chose for itself. */
#include "common/clock.h"
#include "common/file.h"
#include "common/log.h"
#include "daemon.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool same(const loom_peer_id *peer, const unsigned char *identity, size_t length) {
    return peer->length == length && memcmp(peer->bytes, identity, length) == 0;
}

static void set_peer(loom_peer_id *peer, const loom_incoming *in) {
    free(peer->bytes);
    peer->bytes = loom_xmalloc(in->identity_length + 1);
    memcpy(peer->bytes, in->identity, in->identity_length);
    peer->length = in->identity_length;
}

loom_worker *loom_worker_of(loom_daemon *d, const loom_incoming *in) {
    for (size_t i = 0; i < d->workers.n; i++) {
        loom_worker *w = d->workers.at[i];
        if (!same(&w->peer, in->identity, in->identity_length)) continue;
        w->last_seen = loom_seconds();
        return w;
    }
    return NULL;
}

loom_client *loom_client_of(loom_daemon *d, const loom_incoming *in) {
    for (size_t i = 0; i < d->clients.n; i++) {
        loom_client *c = d->clients.at[i];
        if (!same(&c->peer, in->identity, in->identity_length)) continue;
        c->last_seen = loom_seconds();
        return c;
    }
    return NULL;
}

static void worker_died(loom_worker *w, const char *why) {
    const loom_task *task = w->tasks.n ? w->tasks.at[0] : NULL;
    loom_job *job = task && task->began > task->stage->job->last_death ? task->stage->job : NULL;
    int deaths = job ? job->deaths + 1 : 0;
    loom_worker_lost(w, why);
    if (!job) return;
    job->last_death = loom_seconds();
    job->deaths = deaths; /* this one once, though a value may have been lost with the worker */
    if (job->deaths < LOOM_JOB_DEATHS) return;
    loom_job_fail(job,
                  loom_status_note(loom_error(LOOM_E_UNAVAILABLE,
                                              "%d workers have ended at this job, one after the other, and nothing "
                                              "was finished in between",
                                              job->deaths),
                                   "hint: their own logs say why: memory, or an input that is damaged"));
}

static void on_worker_died(void *user) {
    worker_died(user, "its process ended");
}

static void on_client_died(void *user) {
    loom_client_lost(user, "its process ended");
}

static const char *text_or(const char *text, const char *otherwise) {
    return text ? text : otherwise;
}

/* A process number means something on its own host only. */
static bool is_here(const Wire__Hello *hello) {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    return strcmp(host, hello->host) == 0;
}

/* A folder in each spool, named by the worker's number, which is its own: nothing that an earlier life of the process
 * still writes gets there. */
static void make_folders(loom_worker *w) {
    const loom_daemon *d = w->daemon;
    for (size_t i = 0; i < d->n_spools; i++) {
        char *folder = loom_xprintf("%s/w%" PRIu64, d->spools[i], w->id);
        if (mkdir(folder, 0700) == 0) {
            w->folders[w->n_folders++] = folder;
            continue;
        }
        loom_log(LOOM_LOG_ERROR, "cannot make %s: %s", folder, strerror(errno));
        free(folder);
    }
}

static loom_worker *greet_worker(loom_daemon *d, const loom_incoming *in, const Wire__Hello *hello) {
    for (size_t i = 0; i < d->workers.n; i++) {
        loom_worker *w = d->workers.at[i];
        if (w->instance != hello->instance) continue;
        /* It says Hello again because it lost touch: it has dropped what it held, so what was lent to it is free. */
        loom_worker_lost(w, "it registered anew");
        break;
    }
    loom_worker *w = loom_xcalloc(1, sizeof *w);
    w->daemon = d;
    w->id = loom_daemon_next_id(d);
    w->instance = hello->instance;
    set_peer(&w->peer, in);
    w->pid = hello->pid;
    w->host = loom_xstrdup(hello->host);
    w->target = loom_xstrdup(text_or(hello->target, ""));
    w->threads = hello->threads;
    w->memory = hello->memory;
    w->since = w->last_seen = loom_seconds();
    make_folders(w);
    if (is_here(hello)) w->watch = loom_death_watch_create(&d->loop, w->pid, on_worker_died, w);
    loom_list_add(&d->workers, w);
    loom_log(LOOM_LOG_INFO, "worker %" PRIu64 " (process %" PRId64 ", %u threads) registered", w->id, w->pid,
             w->threads);
    return w;
}

static uint64_t greet_client(loom_daemon *d, const loom_incoming *in, const Wire__Hello *hello) {
    for (size_t i = 0; i < d->clients.n; i++) {
        loom_client *c = d->clients.at[i];
        if (c->instance != hello->instance) continue;
        set_peer(&c->peer, in); /* the connection was made anew; its jobs go on */
        c->last_seen = loom_seconds();
        return c->id;
    }
    loom_client *c = loom_xcalloc(1, sizeof *c);
    c->daemon = d;
    c->id = loom_daemon_next_id(d);
    c->instance = hello->instance;
    set_peer(&c->peer, in);
    c->pid = hello->pid;
    c->last_seen = loom_seconds();
    if (is_here(hello)) c->watch = loom_death_watch_create(&d->loop, c->pid, on_client_died, c);
    loom_list_add(&d->clients, c);
    return c->id;
}

void loom_peer_hello(loom_daemon *d, loom_incoming *in) {
    const Wire__Hello *hello = in->message->hello;
    Wire__Welcome welcome = WIRE__WELCOME__INIT;
    welcome.incarnation = d->incarnation;
    if (hello->role == WIRE__ROLE__WORKER) {
        loom_worker *w = greet_worker(d, in, hello);
        welcome.peer = w->id;
        welcome.n_spools = w->n_folders;
        welcome.spools = w->folders;
    } else {
        welcome.peer = greet_client(d, in, hello);
    }
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_WELCOME;
    message.welcome = &welcome;
    loom_daemon_send(d, &(loom_peer_id){in->identity, in->identity_length}, &message);
    loom_daemon_changed(d);
}

void loom_peer_beat(loom_daemon *d, loom_incoming *in) {
    const Wire__Beat *beat = in->message->beat;
    loom_worker *w = loom_worker_of(d, in);
    Wire__BeatReply reply = WIRE__BEAT_REPLY__INIT;
    reply.sequence = beat->sequence;
    reply.known = w || loom_client_of(d, in);
    for (size_t i = 0; w && i < beat->n_tasks; i++) loom_task_progress(w, beat->tasks[i]);
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_BEAT_REPLY;
    message.beat_reply = &reply;
    loom_daemon_send(d, &(loom_peer_id){in->identity, in->identity_length}, &message);
}

void loom_worker_lost(loom_worker *w, const char *why) {
    loom_daemon *d = w->daemon;
    loom_log(w->tasks.n ? LOOM_LOG_WARN : LOOM_LOG_INFO, "worker %" PRIu64 " (process %" PRId64 ") is gone: %s", w->id,
             w->pid, why);
    loom_list_remove(&d->workers, w);
    loom_socket_forget(d->socket, w->peer.bytes, w->peer.length);
    while (w->tasks.n) {
        loom_task *task = w->tasks.at[w->tasks.n - 1];
        if (task->kind == WIRE__TASK_KIND__DELTA) {
            loom_stage_fence(task->stage, task->epoch, task->plan, NULL);
        } else if (task->kind != WIRE__TASK_KIND__FOLD) {
            task->stage->releases++;
        }
        loom_task_drop(task);
    }
    for (size_t i = 0; i < d->jobs.n; i++) {
        loom_job *job = d->jobs.at[i];
        for (uint32_t s = 0; job->graph && s < job->graph->n_stages; s++) {
            loom_job_stage *stage = &job->stages[s];
            for (size_t k = 0; k < stage->seats.n; k++) {
                loom_seat *seat = stage->seats.at[k];
                if (seat->worker != w) continue;
                if (seat->open) loom_stage_fence(stage, seat->epoch, seat->plan, NULL);
                seat->worker = NULL;
                seat->open = false;
                seat->next = -1;
            }
        }
    }
    loom_deferred_lost(w);
    for (size_t i = 0; i < w->n_folders; i++) {
        loom_remove_tree(w->folders[i]); /* what it wrote and nobody has accepted */
        free(w->folders[i]);
    }
    loom_death_watch_destroy(w->watch);
    loom_list_free(&w->tasks);
    loom_list_free(&w->open_jobs);
    loom_list_free(&w->open_runs);
    free(w->peer.bytes);
    free(w->host);
    free(w->target);
    free(w);
    loom_daemon_changed(d);
}

/* A worker that does not answer any more. One of this daemon's own parent is ended, so that its parent, who sees only
 * deaths, starts it again; others may come back and say Hello. */
static void give_up(loom_worker *w, const char *why) {
    if (w->daemon->options.parent) loom_death_watch_kill(w->watch);
    worker_died(w, why);
}

void loom_client_lost(loom_client *c, const char *why) {
    loom_daemon *d = c->daemon;
    loom_log(LOOM_LOG_INFO, "client of process %" PRId64 " is gone: %s", c->pid, why);
    loom_list_remove(&d->clients, c);
    loom_socket_forget(d->socket, c->peer.bytes, c->peer.length);
    for (size_t i = 0; i < d->jobs.n; i++) {
        loom_job *job = d->jobs.at[i];
        if (job->client == c) job->client = NULL; /* the scheduler's sweep ends it */
    }
    loom_death_watch_destroy(c->watch);
    free(c->peer.bytes);
    free(c);
    loom_daemon_changed(d);
}

void loom_peer_unreachable(loom_daemon *d, const unsigned char *identity, size_t length) {
    for (size_t i = 0; i < d->workers.n; i++) {
        loom_worker *w = d->workers.at[i];
        if (!same(&w->peer, identity, length)) continue;
        give_up(w, "its connection is gone");
        return;
    }
    /* A client may be connecting anew under another identity: only silence or its death end it. */
}

static void check_deadlines(loom_daemon *d, double now) {
    for (size_t i = 0; i < d->workers.n; i++) {
        loom_worker *w = d->workers.at[i];
        loom_task *task = w->tasks.n ? w->tasks.at[0] : NULL;
        if (!task || now - task->progressed < LOOM_LEASE_DEADLINE) continue;
        give_up(w, "it sends beats and does nothing");
        return; /* the list has changed; the next tick goes on */
    }
}

void loom_peers_check(loom_daemon *d) {
    double now = loom_seconds(), patience = LOOM_BEAT_SECONDS * LOOM_BEATS_MISSED;
    for (size_t i = d->workers.n; i > 0; i--) {
        loom_worker *w = d->workers.at[i - 1];
        if (now - w->last_seen > patience) give_up(w, "it fell silent");
    }
    for (size_t i = d->clients.n; i > 0; i--) {
        loom_client *c = d->clients.at[i - 1];
        /* One whose process is watched may be stopped for as long as its user likes. */
        if (!c->watch && now - c->last_seen > 4 * patience) loom_client_lost(c, "it fell silent");
    }
    check_deadlines(d, now);
}
