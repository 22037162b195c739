/* Inside of a session.
 *
 * Three threads: the caller's; the session's, which runs the loop with sockets, children and signals; the reader's,
 * which reads sources. Invariants:
 *  - What callers want of the loop is done by loom_session_call: a function that runs on the session's thread while the
 *    caller waits. What happened comes back as fields of jobs and questions, under `lock`, with `changed` signalled.
 *  - A job is made and freed by callers only. While it is in `jobs` the session's thread may look at it.
 *  - Objects of arguments (`given`) are the callers' alone.
 *  - The reader touches a job's sources only between taking one of its requests (under lock, `reading` set) and giving
 *    the answer; a job that ends is `closed` first and waits until `reading` is another one.
 */
#ifndef LOOM_SESSION_IMPL_H
#define LOOM_SESSION_IMPL_H

#include "common/signals.h"
#include "control.pb-c.h"
#include "proto/packet.h"
#include "proto/socket.h"
#include "rate.h"
#include "session/session.h"
#include <pthread.h>
#include <stdatomic.h>

#define LOOM_SESSION_BEAT_MS 1000
/* A daemon that is silent for so long has been stopped or lost. */
#define LOOM_SESSION_PATIENCE 15.0
/* Until a status or cancel request is given up. */
#define LOOM_SESSION_ANSWER 5.0
/* After a signal, until a job that does not end by itself is left. */
#define LOOM_SESSION_CANCEL 2.0
/* At close, until children are killed. */
#define LOOM_SESSION_CLOSE 1.8
/* An embedded worker that ends by itself is started again so often, all workers together. */
#define LOOM_SESSION_RESTARTS 3

typedef struct loom_session_part {
    struct loom_session_part *next;
    uint64_t first_block;
    loom_value *value;
    loom_status *status; /* of mapping it */
} loom_session_part;

typedef struct loom_session_job {
    struct loom_session_job *next;
    uint64_t ticket, job; /* job: 0 until the daemon has said it */
    const loom_job_description *description;
    loom_job_description copy;
    double submitted;
    bool closed; /* its sources are not to be read any more */
    bool ended;
    loom_status *status;      /* of the end */
    loom_job_result *result;  /* NULL on failure */
    loom_session_part *parts; /* to be given to the caller */
    loom_value **joined;      /* parts of a stream without a callback */
    size_t n_joined, joined_capacity;
    loom_job_progress progress;
    char *stage;
    bool progressed;
    loom_rate rate;
    double read_seconds; /* of the reader */
    int64_t served;      /* elements that it has sent */
    struct loom_argument **arguments;
    uint32_t n_arguments;
} loom_session_job;

typedef struct loom_question {
    struct loom_question *next;
    uint64_t ticket;
    bool answered, found;
    loom_daemon_info *info;
} loom_question;

typedef struct loom_child {
    loom_session *session;
    uv_process_t process;
    bool running, is_worker;
    char **arguments;
} loom_child;

struct loom_session {
    loom_session_options options;
    char *endpoint, *serve_endpoint;
    char *folder, *shm; /* temporary; shm may be NULL */
    int locks[2];       /* of the two; -1: none */
    char *arguments;    /* folder of argument objects */
    char *binaries;
    struct loom_argument *given; /* to jobs: arguments.c */
    uint64_t instance, sequence;

    /* What callers hold back. Signals are held while folders are there and nobody listens: before the session's thread
     * does, and after it has stopped to. */
    sigset_t held_otherwise;
    pthread_t thread, reader;
    bool thread_started, reader_started;
    uv_loop_t loop;
    uv_async_t called;
    uv_timer_t beat, closing_timer;
    uv_signal_t signals[LOOM_STOP_SIGNALS];
    int n_signals;
    void *zmq;
    loom_socket *control, *serve;
    loom_child **children;
    size_t n_children;
    int restarts;
    double last_reply, last_beat, closing_since;
    atomic_int interrupted; /* number of the signal */
    double interrupted_at;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* under lock */
    uint64_t next_ticket;
    bool welcome, closing, loop_ended;
    loom_status *failed; /* why no job can go on */
    struct loom_call *calls;
    loom_session_job *jobs;
    loom_question *questions;

    struct loom_server *server;
};

/* A function for the session's thread; returns when it has run there. */
void loom_session_call(loom_session *s, void (*function)(loom_session *s, void *argument), void *argument);
void loom_session_send(loom_session *s, Wire__Message *message);
/* All jobs end with this (taken). Session's thread. */
void loom_session_fail(loom_session *s, loom_status *status);
void loom_session_say_hello(loom_session *s);

/* embed.c */
LOOM_MUST_USE loom_status *loom_embed_prepare(loom_session *s); /* folders, endpoint */
LOOM_MUST_USE loom_status *loom_embed_start(loom_session *s);   /* session's thread */
void loom_embed_signal(loom_session *s, int number);            /* to all children */
bool loom_embed_any_running(const loom_session *s);
void loom_embed_remove(loom_session *s); /* folders */

/* jobs.c: session's thread */
void loom_jobs_message(loom_session *s, loom_incoming *in);
void loom_jobs_cancel_all(loom_session *s);

void loom_jobs_free_all(loom_session *s); /* after all threads have ended: jobs that nobody waited for */

/* arguments.c: caller's thread. An argument is that of a value; jobs take and leave it. */
typedef struct loom_argument loom_argument;
LOOM_MUST_USE loom_status *loom_argument_take(loom_session *s, loom_value *value, loom_argument **argument);
const char *loom_argument_object(const loom_argument *argument, uint64_t *bytes); /* the object's path */
void loom_argument_leave(loom_session *s, loom_argument *argument);
void loom_arguments_free_all(loom_session *s); /* their files go with the folders */

/* describe.c: caller's thread */
LOOM_MUST_USE loom_status *loom_describe_source(loom_arena *arena, loom_source *source, uint32_t param,
                                                Wire__Stream **stream, double *bytes_per_element);
int64_t loom_choose_block(int64_t wanted, double bytes_per_element, int64_t n_elements);

/* serve.c */
LOOM_MUST_USE loom_status *loom_server_create(loom_session *s);     /* session's thread */
void loom_server_stop(loom_session *s);                             /* session's thread: the reader ends */
void loom_server_destroy(loom_session *s);                          /* after both threads have ended */
void loom_server_flush(loom_session *s);                            /* session's thread: what the reader made is sent */
void loom_server_close_job(loom_session *s, loom_session_job *job); /* caller: returns when the reader has left it */

#endif
