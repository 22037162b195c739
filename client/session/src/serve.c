/* Serving blocks to workers: a ROUTER in the session's loop takes requests, the reader's thread reads them from sources
 * one at a time, the loop sends the answers. A peer is served as far as its credit goes; of several peers the one that
 * asked first. */
#include "common/buffer.h"
#include "common/clock.h"
#include "common/limits.h"
#include "common/log.h"
#include "impl.h"
#include "proto/value_codec.h"
#include "proto/wire.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Requests that wait: a worker has a few open ones per run; more is a peer gone wrong. */
#define MAX_REQUESTS 4096

typedef struct peer {
    struct peer *next;
    unsigned char *identity;
    size_t length;
    uint64_t sent, credit; /* bytes since the connection began */
} peer;

typedef struct fetch {
    struct fetch *next;
    peer *from;
    uint64_t job, ticket;
    uint32_t *params;
    size_t n_params;
    uint64_t first, count;
    bool constants;
} fetch;

typedef struct answer {
    struct answer *next;
    peer *to;
    loom_packet *packet;
} answer;

struct loom_server {
    peer *peers;            /* under lock: list and credits */
    fetch *requests, **end; /* under lock */
    size_t n_requests;
    answer *answers, **answers_end;  /* under lock */
    const loom_session_job *reading; /* under lock */
    bool stopping;
};

/* ---- requests: session's thread ---- */

static peer *peer_of(struct loom_server *server, const loom_incoming *in) {
    for (peer *p = server->peers; p; p = p->next) {
        if (p->length == in->identity_length && memcmp(p->identity, in->identity, p->length) == 0) return p;
    }
    peer *p = loom_xcalloc(1, sizeof *p);
    p->length = in->identity_length;
    p->identity = loom_xmalloc(p->length + 1);
    memcpy(p->identity, in->identity, p->length);
    p->next = server->peers;
    server->peers = p;
    return p;
}

static bool is_waiting(const struct loom_server *server, const peer *from, uint64_t ticket) {
    for (const fetch *f = server->requests; f; f = f->next) {
        if (f->from == from && f->ticket == ticket) return true;
    }
    return false;
}

static void enter(loom_session *s, const loom_incoming *in) {
    struct loom_server *server = s->server;
    const Wire__Fetch *wire = in->message->fetch;
    peer *from = peer_of(server, in);
    if (wire->credit > from->credit) from->credit = wire->credit;
    if (is_waiting(server, from, wire->ticket) || server->n_requests >= MAX_REQUESTS) return;
    fetch *f = loom_xcalloc(1, sizeof *f);
    *f = (fetch){.from = from, .job = wire->job, .ticket = wire->ticket, .n_params = wire->n_params};
    f->first = wire->first;
    f->count = wire->count;
    f->constants = wire->constants;
    f->params = loom_xcalloc(wire->n_params + 1, sizeof *f->params);
    if (wire->n_params) memcpy(f->params, wire->params, wire->n_params * sizeof *f->params);
    *server->end = f;
    server->end = &f->next;
    server->n_requests++;
}

static void on_message(void *user, loom_incoming *in) {
    loom_session *s = user;
    if (in->message->body_case == WIRE__MESSAGE__BODY_FETCH) {
        pthread_mutex_lock(&s->lock);
        enter(s, in);
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
    } else {
        loom_log(LOOM_LOG_WARN, "a message that is not a request for blocks");
    }
    loom_incoming_destroy(in);
}

void loom_server_flush(loom_session *s) {
    struct loom_server *server = s->server;
    if (!server) return;
    pthread_mutex_lock(&s->lock);
    answer *list = server->answers;
    server->answers = NULL;
    server->answers_end = &server->answers;
    pthread_mutex_unlock(&s->lock);
    while (list) {
        answer *a = list;
        list = a->next;
        if (s->serve) {
            loom_socket_send(s->serve, a->to->identity, a->to->length, a->packet);
        } else {
            loom_packet_destroy(a->packet);
        }
        free(a);
    }
}

/* ---- reading: reader's thread ---- */

static loom_session_job *open_job(loom_session *s, uint64_t id) {
    for (loom_session_job *job = s->jobs; job; job = job->next) {
        if (job->job == id && !job->closed) return job;
    }
    return NULL;
}

static void free_fetch(fetch *f) {
    free(f->params);
    free(f);
}

/* The first request whose peer has credit. With lock. */
static fetch *take_request(struct loom_server *server) {
    for (fetch **at = &server->requests; *at; at = &(*at)->next) {
        fetch *f = *at;
        if (f->from->sent >= f->from->credit) continue;
        *at = f->next;
        if (server->end == &f->next) server->end = at;
        server->n_requests--;
        return f;
    }
    return NULL;
}

/* A run of elements that may cross segments, as only whole programs ask for: read by segment, and joined. */
static loom_status *read_across(loom_source *source, int64_t first, int64_t count, loom_value **value) {
    loom_value *joined = NULL;
    for (uint32_t s = 0; s < source->n_segments; s++) {
        int64_t from = source->segment_first[s] > first ? source->segment_first[s] : first;
        int64_t end = source->segment_first[s + 1] < first + count ? source->segment_first[s + 1] : first + count;
        if (from >= end) continue;
        loom_value *part;
        loom_status *status = loom_source_read(source, from, end - from, &part);
        if (!status && joined) {
            loom_value *two[] = {joined, part}, *both = NULL;
            status = loom_value_concat(two, 2, &both);
            loom_value_unref(part);
            if (!status) {
                loom_value_unref(joined);
                joined = both;
            }
        } else if (!status) {
            joined = part;
        }
        if (status) {
            loom_value_unref(joined);
            return status;
        }
    }
    *value = joined;
    return NULL;
}

static loom_status *read_one(const loom_session_job *job, const fetch *f, uint32_t param, loom_value **value) {
    const loom_job_description *d = job->description;
    loom_source *source = param < d->n_params && d->sources ? d->sources[param] : NULL;
    if (!source) return loom_error(LOOM_E_PROTOCOL, "a block was asked of parameter %u, which is no stream", param);
    if (f->constants) {
        if (f->first >= source->n_segments) return loom_error(LOOM_E_PROTOCOL, "a segment that is not there");
        return loom_source_constants(source, (uint32_t)f->first, value);
    }
    uint64_t n = (uint64_t)source->n_elements;
    uint64_t first = f->first < n ? f->first : n, count = f->count < n - first ? f->count : n - first;
    if (count == 0) return NULL; /* this stream has ended before the others */
    return read_across(source, (int64_t)first, (int64_t)count, value);
}

static loom_packet *pack_block(loom_arena *arena, const fetch *f, loom_value *const *values,
                               const loom_status *status) {
    Wire__Block block = WIRE__BLOCK__INIT;
    block.ticket = f->ticket;
    block.status = loom_wire_status(arena, status);
    if (!status) {
        block.n_values = f->n_params;
        block.values = LOOM_NEW_ARRAY(arena, Wire__Value *, f->n_params);
        static const loom_value nothing;
        for (size_t i = 0; i < f->n_params; i++) {
            block.values[i] = loom_wire_value(arena, values[i] ? values[i] : &nothing);
        }
    }
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_BLOCK;
    message.block = &block;
    loom_packet *packet = loom_packet_create(&message);
    for (size_t i = 0; i < f->n_params && !status; i++) {
        if (values[i]) loom_packet_add_columns(packet, values[i]);
    }
    return packet;
}

static loom_packet *answer_packet(const loom_session_job *job, const fetch *f) {
    loom_arena *arena = loom_arena_create(0);
    loom_value **values = loom_xcalloc(f->n_params + 1, sizeof *values);
    loom_status *status = job ? NULL : loom_error(LOOM_E_CANCELLED, "the job has ended");
    for (size_t i = 0; i < f->n_params && !status; i++) status = read_one(job, f, f->params[i], &values[i]);
    loom_packet *packet = pack_block(arena, f, values, status);
    if (!status && (status = loom_packet_check(packet))) {
        loom_packet_destroy(packet);
        loom_status_note(status, "in a block of a stream: it has too many columns");
        packet = pack_block(arena, f, values, status);
    }
    for (size_t i = 0; i < f->n_params; i++) loom_value_unref(values[i]);
    free(values);
    loom_status_free(status);
    loom_arena_destroy(arena);
    return packet;
}

static void *read_thread(void *session) {
    loom_session *s = session;
    struct loom_server *server = s->server;
    pthread_mutex_lock(&s->lock);
    while (!server->stopping) {
        fetch *f = take_request(server);
        if (!f) {
            pthread_cond_wait(&s->changed, &s->lock);
            continue;
        }
        loom_session_job *job = open_job(s, f->job);
        server->reading = job;
        pthread_mutex_unlock(&s->lock);
        double before = loom_seconds();
        loom_packet *packet = answer_packet(job, f);
        answer *a = loom_xcalloc(1, sizeof *a);
        *a = (answer){.to = f->from, .packet = packet};
        pthread_mutex_lock(&s->lock);
        if (job) {
            job->read_seconds += loom_seconds() - before;
            if (!f->constants) job->served += (int64_t)f->count;
        }
        server->reading = NULL;
        f->from->sent += packet->bytes;
        *server->answers_end = a;
        server->answers_end = &a->next;
        free_fetch(f);
        pthread_cond_broadcast(&s->changed);
        uv_async_send(&s->called);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- life ---- */

loom_status *loom_server_create(loom_session *s) {
    loom_socket_options options = {.context = s->zmq,
                                   .type = ZMQ_ROUTER,
                                   .max_frame = (int64_t)LOOM_MAX_HEADER_BYTES,
                                   .on_message = on_message,
                                   .user = s};
    LOOM_TRY(loom_socket_create(&s->loop, &options, &s->serve));
    LOOM_TRY(loom_socket_bind(s->serve, s->serve_endpoint, false));
    struct loom_server *server = loom_xcalloc(1, sizeof *server);
    server->end = &server->requests;
    server->answers_end = &server->answers;
    s->server = server;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&s->reader, NULL, read_thread, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc) return loom_error_errno(LOOM_E_OS, rc, "cannot start a thread");
    s->reader_started = true;
    return NULL;
}

void loom_server_stop(loom_session *s) {
    if (!s->server) return;
    pthread_mutex_lock(&s->lock);
    s->server->stopping = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    loom_socket_close(s->serve, 0);
    s->serve = NULL;
}

void loom_server_destroy(loom_session *s) {
    struct loom_server *server = s->server;
    if (!server) return;
    while (server->requests) {
        fetch *f = server->requests;
        server->requests = f->next;
        free_fetch(f);
    }
    while (server->answers) {
        answer *a = server->answers;
        server->answers = a->next;
        loom_packet_destroy(a->packet);
        free(a);
    }
    while (server->peers) {
        peer *p = server->peers;
        server->peers = p->next;
        free(p->identity);
        free(p);
    }
    free(server);
    s->server = NULL;
}

void loom_server_close_job(loom_session *s, loom_session_job *job) {
    pthread_mutex_lock(&s->lock);
    job->closed = true;
    while (s->server && s->server->reading == job) pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
}
