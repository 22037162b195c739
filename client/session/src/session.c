/* A session's thread and life. */
#include "session/session.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "common/log.h"
#include "impl.h"
#include "proto/wire.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

typedef struct loom_call {
    struct loom_call *next;
    void (*function)(loom_session *s, void *argument);
    void *argument;
    bool done;
} loom_call;

/* ---- calls ---- */

void loom_session_call(loom_session *s, void (*function)(loom_session *s, void *argument), void *argument) {
    loom_call call = {.function = function, .argument = argument};
    pthread_mutex_lock(&s->lock);
    loom_call **at = &s->calls;
    while (*at) at = &(*at)->next;
    *at = &call;
    uv_async_send(&s->called);
    while (!call.done) pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

static void on_called(uv_async_t *async) {
    loom_session *s = async->data;
    loom_server_flush(s);
    for (;;) {
        pthread_mutex_lock(&s->lock);
        loom_call *call = s->calls;
        if (call) s->calls = call->next;
        pthread_mutex_unlock(&s->lock);
        if (!call) return;
        call->function(s, call->argument);
        pthread_mutex_lock(&s->lock);
        call->done = true;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
    }
}

/* ---- what runs on the session's thread ---- */

void loom_session_send(loom_session *s, Wire__Message *message) {
    if (s->control) loom_socket_send(s->control, NULL, 0, loom_packet_create(message));
}

void loom_session_fail(loom_session *s, loom_status *status) {
    pthread_mutex_lock(&s->lock);
    if (s->failed || s->closing) {
        loom_status_free(status);
    } else {
        s->failed = status;
    }
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

void loom_session_say_hello(loom_session *s) {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    Wire__Hello hello = WIRE__HELLO__INIT;
    hello.role = WIRE__ROLE__CLIENT;
    hello.pid = getpid();
    hello.host = host;
    hello.has_instance = true;
    hello.instance = s->instance;
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_HELLO;
    message.hello = &hello;
    loom_session_send(s, &message);
}

static void on_message(void *user, loom_incoming *in) {
    loom_jobs_message(user, in);
    loom_incoming_destroy(in);
}

static void on_beat(uv_timer_t *timer) {
    loom_session *s = timer->data;
    Wire__Beat beat = WIRE__BEAT__INIT;
    beat.sequence = ++s->sequence;
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_BEAT;
    message.beat = &beat;
    double now = loom_seconds();
    pthread_mutex_lock(&s->lock);
    bool welcome = s->welcome;
    /* A process that was stopped for a while has not listened: that is not the daemon's silence. */
    if (s->last_beat > 0 && now - s->last_beat > 3 * LOOM_SESSION_BEAT_MS / 1000.0) s->last_reply = now;
    s->last_beat = now;
    bool silent = welcome && now - s->last_reply > LOOM_SESSION_PATIENCE;
    pthread_mutex_unlock(&s->lock);
    if (welcome) loom_session_send(s, &message);
    if (!silent) return;
    loom_session_fail(s, loom_status_note(loom_error(LOOM_E_UNAVAILABLE, "%s does not answer any more", s->endpoint),
                                          LOOM_RUN_AGAIN));
}

/* The second signal does not wait for anybody. */
static _Noreturn void end_process(loom_session *s, int number) {
    loom_embed_signal(s, SIGKILL);
    loom_embed_remove(s);
    signal(number, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    kill(getpid(), number);
    _exit(128 + number);
}

static void on_signal(uv_signal_t *handle, int number) {
    loom_session *s = handle->data;
    if (loom_session_interrupted(s)) end_process(s, number);
    pthread_mutex_lock(&s->lock);
    s->interrupted_at = loom_seconds();
    pthread_mutex_unlock(&s->lock);
    atomic_store(&s->interrupted, number);
    loom_jobs_cancel_all(s);
}

bool loom_session_interrupted(const loom_session *s) {
    return atomic_load(&s->interrupted) != 0;
}

/* ---- closing: session's thread ---- */

static void end_loop(loom_session *s) {
    uv_close((uv_handle_t *)&s->closing_timer, NULL);
    uv_close((uv_handle_t *)&s->called, NULL);
}

static void on_closing(uv_timer_t *timer) {
    loom_session *s = timer->data;
    if (!loom_embed_any_running(s)) {
        end_loop(s);
    } else if (loom_seconds() - s->closing_since > LOOM_SESSION_CLOSE) {
        loom_embed_signal(s, SIGKILL);
    }
}

static void do_close(loom_session *s, void *unused) {
    (void)unused;
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    pthread_mutex_unlock(&s->lock);
    s->closing_since = loom_seconds();
    Wire__Bye bye = WIRE__BYE__INIT;
    bye.reason = (char *)"the client has ended";
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_BYE;
    message.bye = &bye;
    loom_session_send(s, &message);
    loom_embed_signal(s, SIGTERM);
    loom_server_stop(s);
    loom_socket_close(s->control, 100);
    s->control = NULL;
    uv_close((uv_handle_t *)&s->beat, NULL);
    sigset_t before; /* the thread ends with them held */
    loom_signals_hold(&before);
    for (int i = 0; i < s->n_signals; i++) uv_close((uv_handle_t *)&s->signals[i], NULL);
    uv_timer_start(&s->closing_timer, on_closing, 0, 5);
}

/* ---- the thread ---- */

static loom_status *connect_control(loom_session *s) {
    loom_socket_options options = {.context = s->zmq,
                                   .type = ZMQ_DEALER,
                                   .max_frame = LOOM_MAX_CONTROL_FRAME,
                                   .on_message = on_message,
                                   .user = s};
    LOOM_TRY(loom_socket_create(&s->loop, &options, &s->control));
    return loom_socket_connect(s->control, s->endpoint, s->options.insecure);
}

static void start_handles(loom_session *s) {
    uv_timer_init(&s->loop, &s->beat);
    uv_timer_init(&s->loop, &s->closing_timer);
    s->beat.data = s->closing_timer.data = s;
    uv_timer_start(&s->beat, on_beat, LOOM_SESSION_BEAT_MS, LOOM_SESSION_BEAT_MS);
    for (int i = 0; i < LOOM_STOP_SIGNALS && !s->options.no_signals; i++) {
        if (loom_signal_is_ignored(loom_stop_signals[i])) continue;
        uv_signal_t *handle = &s->signals[s->n_signals++];
        uv_signal_init(&s->loop, handle);
        handle->data = s;
        uv_signal_start(handle, on_signal, loom_stop_signals[i]);
    }
}

static loom_status *start(loom_session *s) {
    if (!s->options.connect) LOOM_TRY(loom_embed_start(s));
    LOOM_TRY(connect_control(s));
    return loom_server_create(s);
}

static void *session_thread(void *session) {
    loom_session *s = session;
    start_handles(s);
    loom_signals_restore(&s->held_otherwise);
    loom_status *status = start(s);
    if (status) {
        loom_session_fail(s, status);
    } else {
        loom_session_say_hello(s);
    }
    uv_run(&s->loop, UV_RUN_DEFAULT);
    return NULL;
}

/* ---- life: caller's thread ---- */

/* Without an answer for this long, the caller is told. */
#define SILENCE 1.0

static loom_status *wait_for_welcome(loom_session *s) {
    double patience = s->options.connect_timeout > 0 ? s->options.connect_timeout : 10;
    double since = loom_seconds(), until = since + patience;
    bool told = !s->options.connect || !s->options.waiting;
    pthread_mutex_lock(&s->lock);
    while (!s->welcome && !s->failed && !loom_session_interrupted(s) && loom_seconds() < until) {
        struct timespec moment;
        clock_gettime(CLOCK_MONOTONIC, &moment);
        moment.tv_nsec += 100000000;
        if (moment.tv_nsec >= 1000000000) {
            moment.tv_sec++;
            moment.tv_nsec -= 1000000000;
        }
        pthread_cond_timedwait(&s->changed, &s->lock, &moment);
        if (told || s->welcome || s->failed || loom_seconds() < since + SILENCE) continue;
        told = true;
        s->options.waiting(s->endpoint, until - loom_seconds());
    }
    loom_status *status = NULL;
    if (s->failed) {
        status = s->failed;
        s->failed = NULL;
    } else if (loom_session_interrupted(s)) {
        status = loom_error(LOOM_E_CANCELLED, "interrupted");
    } else if (!s->welcome) {
        status = loom_error(LOOM_E_UNAVAILABLE, "%s does not answer", s->endpoint);
        loom_status_note(status, s->options.connect ? "hint: is gridloomd running there?"
                                                    : "hint: GRIDLOOM_LOG=info shows what it does");
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

static loom_status *set_up(loom_session *s) {
    LOOM_TRY(loom_embed_prepare(s));
    s->zmq = zmq_ctx_new();
    if (!s->zmq) return loom_error(LOOM_E_OS, "cannot make a ZeroMQ context: %s", zmq_strerror(errno));
    uv_loop_init(&s->loop);
    uv_async_init(&s->loop, &s->called, on_called);
    s->called.data = s;
    int rc = pthread_create(&s->thread, NULL, session_thread, s);
    if (rc) return loom_error_errno(LOOM_E_OS, rc, "cannot start a thread");
    s->thread_started = true;
    return wait_for_welcome(s);
}

loom_status *loom_session_open(const loom_session_options *options, loom_session **session) {
    loom_session *s = loom_xcalloc(1, sizeof *s);
    s->options = *options;
    s->locks[0] = s->locks[1] = -1;
    signal(SIGPIPE, SIG_IGN);
    if (getrandom(&s->instance, sizeof s->instance, 0) != sizeof s->instance) s->instance = (uint64_t)getpid();
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&s->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    loom_signals_hold(&s->held_otherwise);
    loom_status *status = set_up(s);
    loom_signals_restore(&s->held_otherwise);
    if (status) {
        loom_session_close(s);
        return status;
    }
    *session = s;
    return NULL;
}

static void free_children(loom_session *s) {
    for (size_t i = 0; i < s->n_children; i++) {
        loom_child *child = s->children[i];
        for (size_t k = 0; child->arguments && child->arguments[k]; k++) free(child->arguments[k]);
        free(child->arguments);
        free(child);
    }
    free(s->children);
}

void loom_session_close(loom_session *s) {
    if (!s) return;
    sigset_t before;
    loom_signals_hold(&before);
    if (s->thread_started) {
        loom_session_call(s, do_close, NULL);
        pthread_join(s->thread, NULL);
        if (s->reader_started) pthread_join(s->reader, NULL);
        loom_server_destroy(s);
        uv_loop_close(&s->loop);
    }
    loom_zmq_end(s->zmq);
    loom_embed_remove(s);
    free_children(s);
    loom_status_free(s->failed);
    loom_jobs_free_all(s);
    loom_arguments_free_all(s);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->changed);
    free(s->endpoint);
    free(s->serve_endpoint);
    free(s->folder);
    free(s->shm);
    free(s->arguments);
    free(s->binaries);
    free(s);
    loom_signals_restore(&before);
}
