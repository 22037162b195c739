/* Invariants of a socket in the loop:
 *  - whenever the loop is about to block, either ZMQ_EVENTS was read since the last send or receive and shows nothing
 *    that can be done, or the idle handle is active;
 *  - a packet is in exactly one place: the queue, or ZeroMQ's hands;
 *  - after close() no callback of the user runs; the structure is freed when the last of the four handles has closed.
 */
#include "proto/socket.h"
#include "common/buffer.h"
#include "common/log.h"
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>

typedef struct queued {
    struct queued *next;
    loom_packet *packet;
    size_t frame; /* next one to send; the identity counts as one of a ROUTER's frames */
    size_t identity_length;
    unsigned char identity[];
} queued;

struct loom_socket {
    loom_socket_options options;
    void *zmq;
    bool router;
    char *endpoint; /* DEALER: connected to */
    uv_poll_t poll;
    uv_prepare_t prepare;
    uv_check_t check;
    uv_idle_t idle;
    int open_handles;
    bool closing;
    int depth; /* of handlers on the stack: the structure may not go before they return */
    queued *first, **last;
    size_t n_queued;
    zmq_msg_t *frames; /* of the message being received */
    size_t n_frames, capacity;
    bool too_many; /* frames: the rest of this message is dropped */
};

/* libzmq 4.3.4 aborts the process (session_base.cpp:260) where a connection breaks while its pipe is being closed
 * without lingering and a message of several frames was half sent: what is left of it can no longer be read away. So
 * none is closed like that, neither here nor when a connection is made anew. */
#define LEAST_LINGER_MS 100

/* And sometimes, after the same, zmq_ctx_term never returns. */
#define TERM_SECONDS 2

static void *term_context(void *context) {
    zmq_ctx_term(context);
    return NULL;
}

void loom_zmq_end(void *context) {
    pthread_t thread;
    struct timespec until;
    if (!context || pthread_create(&thread, NULL, term_context, context)) return;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += TERM_SECONDS;
    if (pthread_timedjoin_np(thread, NULL, &until)) pthread_detach(thread);
}

/* ---- endpoints ---- */

loom_status *loom_endpoint_check(const char *endpoint, bool insecure) {
    if (strncmp(endpoint, "ipc://", 6) == 0) {
        size_t length = strlen(endpoint + 6);
        size_t limit = sizeof((struct sockaddr_un *)NULL)->sun_path - 1;
        if (length == 0) return loom_error(LOOM_E_CONFIG, "endpoint %s names no path", endpoint);
        if (length <= limit) return NULL;
        return loom_status_note(loom_error(LOOM_E_CONFIG, "the path of %s has %zu bytes, a socket's has at most %zu",
                                           endpoint, length, limit),
                                "hint: choose a shorter folder (for private daemons: TMPDIR)");
    }
    if (strncmp(endpoint, "inproc://", 9) == 0) return NULL;
    if (strncmp(endpoint, "tcp://", 6) == 0) {
        if (insecure) return NULL;
        return loom_status_note(loom_error(LOOM_E_DENIED, "endpoint %s would let anybody in who reaches it", endpoint),
                                "hint: use ipc://PATH, or say --insecure if the network is trusted");
    }
    return loom_error(LOOM_E_CONFIG, "endpoint %s is neither ipc:// nor tcp://", endpoint);
}

/* ---- sending ---- */

typedef enum sent {
    SENT,
    LATER,
    UNREACHABLE
} sent;

static sent send_frame(loom_socket *s, zmq_msg_t *frame, bool more) {
    for (;;) {
        if (zmq_msg_send(frame, s->zmq, ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0)) >= 0) return SENT;
        if (errno == EINTR) continue;
        return errno == EAGAIN ? LATER : UNREACHABLE;
    }
}

/* The first frame decides: what follows it goes to the same pipe and is not refused by a healthy library. */
static sent send_packet(loom_socket *s, queued *q) {
    if (s->router && q->frame == 0) {
        zmq_msg_t identity;
        if (zmq_msg_init_size(&identity, q->identity_length)) return UNREACHABLE;
        memcpy(zmq_msg_data(&identity), q->identity, q->identity_length);
        sent how = send_frame(s, &identity, true);
        if (how != SENT) {
            zmq_msg_close(&identity);
            return how;
        }
    }
    for (; q->frame < q->packet->n; q->frame++) {
        sent how = send_frame(s, &q->packet->frames[q->frame], q->frame + 1 < q->packet->n);
        if (how != SENT) return how;
    }
    return SENT;
}

static bool same_peer(const queued *a, const queued *b) {
    return a->identity_length == b->identity_length && memcmp(a->identity, b->identity, a->identity_length) == 0;
}

/* Takes a queued packet out of the list. */
static void unlink_queued(loom_socket *s, queued **place) {
    queued *q = *place;
    *place = q->next;
    if (s->last == &q->next) s->last = place;
    s->n_queued--;
}

static void free_queued(queued *q) {
    loom_packet_destroy(q->packet);
    free(q);
}

/* Peers that turned out to be full in this turn: their later messages wait too, so that order is kept per peer. */
#define MAX_FULL 16

static void flush(loom_socket *s) {
    const queued *full[MAX_FULL];
    int n_full = 0;
    queued **place = &s->first;
    /* Messages that wait behind a full peer are passed over, not counted: others' may stand behind them. */
    for (int n = 0; *place && !s->closing && n < LOOM_SOCKET_BURST;) {
        queued *q = *place;
        bool waits = false;
        for (int i = 0; i < n_full; i++) waits = waits || same_peer(full[i], q);
        n += !waits;
        sent how = waits ? LATER : send_packet(s, q);
        if (how == LATER) {
            /* In the middle of a message nothing else may be sent. */
            if (!s->router || q->frame > 0 || n_full == MAX_FULL) return;
            if (!waits) full[n_full++] = q;
            place = &q->next;
            continue;
        }
        unlink_queued(s, place);
        if (how == UNREACHABLE && s->options.on_unreachable) {
            s->options.on_unreachable(s->options.user, q->identity, q->identity_length);
            place = &s->first; /* the callback may have changed the list */
            n_full = 0;
        }
        free_queued(q);
    }
}

void loom_socket_forget(loom_socket *s, const unsigned char *identity, size_t length) {
    for (queued **place = s ? &s->first : NULL; place && *place;) {
        queued *q = *place;
        if (q->frame == 0 && q->identity_length == length && memcmp(q->identity, identity, length) == 0) {
            unlink_queued(s, place);
            free_queued(q);
        } else {
            place = &q->next;
        }
    }
}

/* ---- peers that do not read ---- */

/* The peer with most messages in the queue: one of them; NULL: none waits. */
static const queued *fullest(const loom_socket *s) {
    struct {
        const queued *first;
        size_t n;
    } *peers = NULL;
    size_t n = 0, capacity = 0, most = 0;
    for (const queued *q = s->first; q; q = q->next) {
        size_t i = 0;
        while (i < n && !same_peer(peers[i].first, q)) i++;
        if (i == n) {
            if (n == capacity) {
                capacity = capacity ? 2 * capacity : 16;
                peers = loom_xrealloc(peers, capacity * sizeof *peers);
            }
            peers[n].first = q;
            peers[n++].n = 0;
        }
        peers[i].n++;
        if (peers[i].n > peers[most].n) most = i;
    }
    const queued *found = n ? peers[most].first : NULL;
    free(peers);
    return found;
}

/* The queue is full by one who does not read: that one is given up, with what waits for it, and nobody else. A DEALER's
 * only peer sees a new connection, whose other end it does not know. */
static void give_up_fullest(loom_socket *s) {
    const queued *q = fullest(s);
    if (!q) return;
    size_t length = q->identity_length;
    unsigned char *identity = loom_xmalloc(length + 1);
    memcpy(identity, q->identity, length);
    loom_log(LOOM_LOG_ERROR, "a peer does not read: it is given up");
    loom_socket_forget(s, identity, length);
    if (s->router && s->options.on_unreachable) {
        s->options.on_unreachable(s->options.user, identity, length);
    } else if (s->endpoint && zmq_disconnect(s->zmq, s->endpoint) == 0 && zmq_connect(s->zmq, s->endpoint) < 0) {
        loom_log(LOOM_LOG_ERROR, "cannot connect to %s: %s", s->endpoint, zmq_strerror(errno));
    }
    free(identity);
}

static void wake(loom_socket *s);

void loom_socket_send(loom_socket *s, const unsigned char *identity, size_t length, loom_packet *packet) {
    if (s->closing) {
        loom_packet_destroy(packet);
        return;
    }
    queued *q = loom_xmalloc(sizeof *q + length);
    *q = (queued){.packet = packet, .identity_length = length};
    if (length) memcpy(q->identity, identity, length);
    *s->last = q;
    s->last = &q->next;
    s->n_queued++;
    /* Sent from the check handler, not here: a callback that finds a peer gone must not run inside its caller. */
    wake(s);
}

size_t loom_socket_queued(const loom_socket *s) {
    return s ? s->n_queued : 0;
}

/* ---- receiving ---- */

static void drop_frames(loom_socket *s) {
    for (size_t i = 0; i < s->n_frames; i++) zmq_msg_close(&s->frames[i]);
    s->n_frames = 0;
}

static void report_broken(loom_socket *s, loom_status *status) {
    if (s->options.on_broken) {
        s->options.on_broken(s->options.user, status);
    } else {
        loom_log_status(LOOM_LOG_WARN, status);
    }
}

static void deliver(loom_socket *s) {
    if (s->too_many) {
        s->too_many = false;
        drop_frames(s);
        report_broken(s, loom_error(LOOM_E_LIMIT, "a message has more than %u frames", LOOM_MAX_FRAMES));
        return;
    }
    loom_incoming *incoming;
    size_t n = s->n_frames;
    s->n_frames = 0;
    loom_status *status = loom_incoming_create(s->frames, n, s->router, &incoming);
    if (status) {
        report_broken(s, status);
    } else {
        s->options.on_message(s->options.user, incoming);
    }
}

/* One frame; false when there is none now. */
static bool receive_frame(loom_socket *s) {
    zmq_msg_t frame;
    zmq_msg_init(&frame);
    if (zmq_msg_recv(&frame, s->zmq, ZMQ_DONTWAIT) < 0) {
        zmq_msg_close(&frame);
        return errno == EINTR;
    }
    bool more = zmq_msg_more(&frame);
    if (s->n_frames >= LOOM_MAX_FRAMES) {
        s->too_many = true;
        zmq_msg_close(&frame);
    } else {
        if (s->n_frames == s->capacity) {
            s->capacity = s->capacity ? 2 * s->capacity : 16;
            s->frames = loom_xrealloc(s->frames, s->capacity * sizeof *s->frames);
        }
        s->frames[s->n_frames++] = frame; /* a zmq_msg_t may be moved as long as only one copy is used */
    }
    if (!more) deliver(s);
    return true;
}

/* ---- the loop ---- */

static int events_of(loom_socket *s) {
    int events = 0;
    size_t size = sizeof events;
    if (zmq_getsockopt(s->zmq, ZMQ_EVENTS, &events, &size) < 0) return 0;
    return events;
}

static bool work_stands(loom_socket *s) {
    int events = events_of(s);
    return (events & ZMQ_POLLIN) || (s->first && (events & ZMQ_POLLOUT));
}

static void on_idle(uv_idle_t *handle) {
    (void)handle; /* its being active is its purpose: the loop does not block */
}

static void wake(loom_socket *s) {
    if (!s->closing) uv_idle_start(&s->idle, on_idle);
}

static void on_poll(uv_poll_t *handle, int status, int events) {
    (void)handle, (void)status, (void)events; /* the check handler looks */
}

static void on_prepare(uv_prepare_t *handle) {
    loom_socket *s = handle->data;
    if (work_stands(s)) wake(s);
}

static void release(loom_socket *s);

static void on_check(uv_check_t *handle) {
    loom_socket *s = handle->data;
    uv_idle_stop(&s->idle);
    s->depth++;
    flush(s);
    for (int n = 0; !s->closing && n < LOOM_SOCKET_BURST && (events_of(s) & ZMQ_POLLIN);) {
        if (!receive_frame(s)) break;
        n += s->n_frames == 0;
    }
    if (!s->closing) flush(s);
    if (!s->closing && s->n_queued > LOOM_SOCKET_QUEUE_MESSAGES) give_up_fullest(s);
    s->depth--;
    release(s);
}

/* ---- life ---- */

static loom_status *set(void *zmq, int option, int64_t value) {
    int narrow = (int)value;
    int rc = option == ZMQ_MAXMSGSIZE ? zmq_setsockopt(zmq, option, &value, sizeof value)
                                      : zmq_setsockopt(zmq, option, &narrow, sizeof narrow);
    return rc < 0 ? loom_error(LOOM_E_OS, "setting option %d of a socket: %s", option, zmq_strerror(errno)) : NULL;
}

static loom_status *set_all(void *zmq, const loom_socket_options *options) {
    const struct {
        int option;
        int64_t value;
    } table[] = {
        {ZMQ_LINGER, LEAST_LINGER_MS},
        {ZMQ_IMMEDIATE, 1},
        {ZMQ_MAXMSGSIZE, options->max_frame},
        {ZMQ_HANDSHAKE_IVL, 5000},
        {ZMQ_RECONNECT_IVL, 10},
        {ZMQ_RECONNECT_IVL_MAX, 1000},
        {ZMQ_SNDHWM, 64},
        {ZMQ_RCVHWM, 64},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) LOOM_TRY(set(zmq, table[i].option, table[i].value));
    return options->type == ZMQ_ROUTER ? set(zmq, ZMQ_ROUTER_MANDATORY, 1) : NULL;
}

loom_status *loom_socket_create(uv_loop_t *loop, const loom_socket_options *options, loom_socket **socket) {
    void *zmq = zmq_socket(options->context, options->type);
    if (!zmq) return loom_error(LOOM_E_OS, "cannot make a socket: %s", zmq_strerror(errno));
    loom_status *status = set_all(zmq, options);
    int fd;
    size_t size = sizeof fd;
    if (!status && zmq_getsockopt(zmq, ZMQ_FD, &fd, &size) < 0) {
        status = loom_error(LOOM_E_OS, "a socket has no descriptor: %s", zmq_strerror(errno));
    }
    if (status) {
        zmq_close(zmq);
        return status;
    }
    loom_socket *s = loom_xcalloc(1, sizeof *s);
    *s = (loom_socket){.options = *options, .zmq = zmq, .router = options->type == ZMQ_ROUTER, .open_handles = 4};
    s->last = &s->first;
    uv_poll_init(loop, &s->poll, fd);
    uv_prepare_init(loop, &s->prepare);
    uv_check_init(loop, &s->check);
    uv_idle_init(loop, &s->idle);
    s->poll.data = s->prepare.data = s->check.data = s->idle.data = s;
    uv_poll_start(&s->poll, UV_READABLE, on_poll);
    uv_prepare_start(&s->prepare, on_prepare);
    uv_check_start(&s->check, on_check);
    *socket = s;
    return NULL;
}

/* Dead links are found by heartbeats of the transport where links can die unseen. Not on one host, where the kernel
 * tells: there they only do harm, since in ZeroMQ 4.3.4 one that is due on a connection that has just failed with its
 * input stopped ends the process (seen after a stop and continuation of a client). */
static loom_status *set_heartbeats(loom_socket *s, const char *endpoint) {
    if (strncmp(endpoint, "tcp://", 6) != 0) return NULL;
    LOOM_TRY(set(s->zmq, ZMQ_HEARTBEAT_IVL, 2000));
    LOOM_TRY(set(s->zmq, ZMQ_HEARTBEAT_TIMEOUT, 15000));
    return set(s->zmq, ZMQ_HEARTBEAT_TTL, 15000);
}

loom_status *loom_socket_bind(loom_socket *s, const char *endpoint, bool insecure) {
    LOOM_TRY(loom_endpoint_check(endpoint, insecure));
    LOOM_TRY(set_heartbeats(s, endpoint));
    if (zmq_bind(s->zmq, endpoint) < 0) {
        return loom_error(LOOM_E_UNAVAILABLE, "cannot listen on %s: %s", endpoint, zmq_strerror(errno));
    }
    return NULL;
}

loom_status *loom_socket_connect(loom_socket *s, const char *endpoint, bool insecure) {
    LOOM_TRY(loom_endpoint_check(endpoint, insecure));
    LOOM_TRY(set_heartbeats(s, endpoint));
    if (zmq_connect(s->zmq, endpoint) < 0) {
        return loom_error(LOOM_E_UNAVAILABLE, "cannot connect to %s: %s", endpoint, zmq_strerror(errno));
    }
    free(s->endpoint);
    s->endpoint = loom_xstrdup(endpoint);
    return NULL;
}

static void release(loom_socket *s) {
    if (!s->closing || s->open_handles || s->depth) return;
    free(s->frames);
    free(s->endpoint);
    free(s);
}

static void on_closed(uv_handle_t *handle) {
    loom_socket *s = handle->data;
    s->open_handles--;
    release(s);
}

void loom_socket_close(loom_socket *s, int linger_ms) {
    if (!s || s->closing) return;
    if (linger_ms < LEAST_LINGER_MS) linger_ms = LEAST_LINGER_MS;
    bool going = true;
    for (queued *q; (q = s->first);) {
        going = going && send_packet(s, q) != LATER;
        unlink_queued(s, &s->first);
        free_queued(q);
    }
    s->closing = true;
    drop_frames(s);
    uv_poll_stop(&s->poll);
    uv_close((uv_handle_t *)&s->poll, on_closed);
    uv_close((uv_handle_t *)&s->prepare, on_closed);
    uv_close((uv_handle_t *)&s->check, on_closed);
    uv_close((uv_handle_t *)&s->idle, on_closed);
    zmq_setsockopt(s->zmq, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
    zmq_close(s->zmq);
}
