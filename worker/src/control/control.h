/* The worker process around the executor.
 *
 * Two threads. The main thread runs the loop: it talks to the daemon, sends beats while the other one computes, and
 * pulls blocks ahead of time. The working thread takes items from a queue, in order, and calls the executor.
 *
 * Invariants:
 *  - Items are queued by the main thread and leave the queue by the working thread only, which frees them. A job's or
 *    run's memory is freed by the working thread too, by a CLOSE item that stands behind everything that uses it; the
 *    main thread forgets the job before it queues that item. `closed` of a job tells the working thread to skip its
 * items.
 *  - Everything both threads see is under `lock`: the queue, an item's chunks, a run's constants, `closed`, `stopping`.
 *    `changed` is signalled when any of it changes in a way that the working thread may wait for; `woken` (uv_async)
 *    when the main thread should look: a chunk was consumed, a packet is ready to be sent.
 *  - So are `kept` and `kept_bytes` (kept.h). The memory's own lock is taken inside of this one and never around it:
 * who takes a block asks for what is lent (loom_kept_reclaim) without holding it.
 *  - An accumulator belongs to one epoch. Work of another epoch begins with an empty one.
 */
#ifndef LOOM_WORKER_CONTROL_H
#define LOOM_WORKER_CONTROL_H

#include "common/arena.h"
#include "io/source.h"
#include "proto/packet.h"
#include "proto/socket.h"
#include "worker/executor.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define LOOM_BEAT_MS 1000
/* Pieces of streams that have been asked for or have arrived: one is computed on while two are on their way. */
#define LOOM_CHUNKS_AHEAD 3
/* A piece that is served: small enough that the first one is there soon, large enough that its message costs nothing.
 */
#define LOOM_SERVED_CHUNK_BYTES ((double)(16 << 20))
/* The first one of a lease is this part of that; each later one as large as all before it together, at most. */
#define LOOM_FIRST_CHUNKS 8
/* Bytes that the serving side may send beyond what was used: as credits, so that a slow worker slows nobody. */
#define LOOM_FETCH_WINDOW ((uint64_t)192 << 20)
/* A request without an answer is made again: a connection may have been lost with it. The server ignores repetitions.
 */
#define LOOM_FETCH_PATIENCE 30.0
/* A daemon that is away for longer is not coming back. */
#define LOOM_DAEMON_PATIENCE 300.0
/* Processor time that threads other than the main one take between two beats when they do anything: far more than
 * ZeroMQ's own costs, far less than a kernel. */
#define LOOM_BUSY_SECONDS 0.005
/* Beats in which the working thread does not leave a task whose job is closed: then it is stuck, as in a loop without
 * end that was compiled, and the process begins anew. What it has of other jobs is done again; longer than making a
 * plan for an FFT or giving gigabytes back takes. */
#define LOOM_STUCK_BEATS 15
/* From the wish to stop to the end of the process, whatever the executor does: so many looks, so far apart. */
#define LOOM_STOP_LOOKS 75
#define LOOM_STOP_MS    20

typedef struct loom_control_options {
    const char *connect, *cache;
    int threads;
    uint64_t memory;
    int64_t parent; /* process to end with; 0: none */
    bool insecure;
    char **command; /* of this process, to begin it anew */
} loom_control_options;

LOOM_MUST_USE loom_status *loom_control_run(const loom_control_options *options);

typedef struct loom_control loom_control;
typedef struct loom_resident loom_resident;
typedef struct loom_kept loom_kept;

/* ---- jobs and runs ---- */

typedef struct loom_work_job {
    struct loom_work_job *next;
    uint64_t id;
    bool closed; /* under lock */
    loom_arena *arena;
    char *program;
    size_t program_length;
    loom_graph *graph;
    uint32_t n_params;
    char **descriptions;    /* by parameter; NULL: served, or not a stream */
    loom_source **sources;  /* opened by the working thread */
    struct loom_feed *feed; /* main thread; NULL when closed */
} loom_work_job;

typedef struct loom_work_input {
    char *path;
    uint64_t resident; /* not 0: instead of the path, what stays here under this number (results.h) */
} loom_work_input;

typedef struct loom_folded {
    int64_t first, n;
} loom_folded;

typedef struct loom_work_run {
    struct loom_work_run *next;
    uint64_t id;
    loom_work_job *job;
    uint32_t stage;
    bool interpret;
    char *plan, *object;
    size_t plan_length, object_length;
    uint32_t n_inputs, n_streams;
    loom_work_input *inputs;
    uint32_t *segments; /* by stream; NULL: an empty stream */
    bool *has_constants;
    loom_value **constants;     /* under lock until none is pending */
    uint32_t constants_pending; /* under lock */
    loom_status *broken;        /* under lock: constants could not be had */
    double bytes_per_element;
    int64_t chunk_blocks; /* under lock; 0: not known yet */
    bool closed;          /* under lock: the daemon has done with it */
    /* working thread */
    loom_run *run;
    struct loom_work_run *next_made, **made_at; /* in `made` of the control, if `run` is there */
    Wire__Epoch epoch;                          /* of what is in the accumulator; counter 0: nothing */
    loom_folded *folded;                        /* blocks in it, as they came */
    size_t n_folded, folded_capacity;
    loom_run_time *reported;
    size_t n_reported;
} loom_work_run;

/* The parameter of the program that a stream of the run's stage is. */
static inline uint32_t loom_run_param(const loom_work_run *run, uint32_t stream) {
    return run->job->graph->stages[run->stage].streams[stream];
}

/* Whether a client serves a stream; else the worker opens it itself. */
static inline bool loom_run_is_served(const loom_work_run *run, uint32_t stream) {
    return !run->job->descriptions[loom_run_param(run, stream)];
}

/* ---- items ---- */

typedef struct loom_chunk {
    struct loom_chunk *next;
    uint64_t ticket;
    int64_t first_block, n_blocks, first, count;
    bool ready;
    loom_value **values; /* by stream; NULL where the working thread reads itself */
    loom_status *status;
} loom_chunk;

typedef enum loom_item_kind {
    LOOM_ITEM_TASK,
    LOOM_ITEM_DROP, /* the accumulator of `epoch` */
    LOOM_ITEM_CLOSE_RUN,
    LOOM_ITEM_CLOSE_JOB, /* with all its runs */
} loom_item_kind;

typedef struct loom_item {
    struct loom_item *next;
    loom_item_kind kind;
    Wire__TaskKind what;
    uint64_t task;
    loom_work_job *job;
    loom_work_run *run;
    loom_work_run *runs; /* CLOSE_JOB */
    Wire__Epoch epoch;
    int64_t first_block, n_blocks, first, count, block;
    uint32_t output;
    bool *may_stay; /* DELTA, ARRAY: by output */
    char **objects;
    size_t n_objects;
    int64_t *lengths;     /* WHOLE: by stream */
    int64_t spilled;      /* FOLD: objects[0] has the elements, from this one on; -1: they are read from the streams */
    loom_value *elements; /* that object's; working thread */
    bool begins;          /* FOLD: of a chain, with the states in `objects`, or as its inputs are */
    atomic_llong folded;
    uint32_t n_streams; /* of chunks */
    /* under lock */
    loom_chunk *chunks; /* in order, those not consumed */
    int64_t planned;    /* blocks for which there was a chunk */
} loom_item;

struct loom_control {
    loom_control_options options;
    uv_loop_t loop;
    uv_async_t woken;
    uv_timer_t beat, stop_timer;
    uv_signal_t signals[2];
    void *zmq;
    loom_socket *socket;
    uint64_t instance, sequence;
    uint64_t hello_sequence; /* of the last beat before the last Hello */
    bool registered, told_waiting;
    double last_reply, last_beat;
    double busy_seconds; /* processor time of the other threads, at the last beat */
    uint64_t signs;      /* of life: beats before which they were busy or waited for blocks */
    int stuck_beats;
    loom_work_job *jobs; /* main thread */
    loom_work_run *runs;
    uint64_t next_ticket;
    bool stops, anew; /* ends; and is to begin anew */
    int stop_looks;

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* under lock */
    loom_item *queue, **queue_end; /* the first one may be at work */
    loom_item *working;
    loom_packet **outbox;
    size_t n_outbox, outbox_capacity;
    char **spools;
    size_t n_spools;
    loom_kept *kept; /* blocks for another traversal (kept.h) */
    uint64_t kept_bytes;
    bool waiting; /* the working thread, for what a client serves */
    bool stopping, thread_ended;

    /* working thread */
    loom_work_run *made; /* runs that have a `run` */
    loom_resident *residents;
    uint64_t last_resident;

    loom_executor *executor; /* made before the thread starts */
    uint64_t memory;
};

/* ---- control.c: main thread ---- */
void loom_control_stop(loom_control *c, const char *why);

/* ---- feed.c: main thread ---- */
/* A connection to the client that serves a job's blocks. Made when first needed. */
struct loom_feed *loom_feed_create(loom_control *c, loom_work_job *job, const char *endpoint);
void loom_feed_close(struct loom_feed *feed);
void loom_feed_forget(const loom_work_run *run); /* answers to its requests are not wanted any more */
void loom_feed_constants(loom_control *c, loom_work_run *run);
/* Asks for blocks of queued items, as far ahead as is allowed. */
void loom_feed_ahead(loom_control *c);
void loom_feed_check(loom_control *c); /* every beat: what has not been answered is asked again */
void loom_chunk_free(loom_chunk *chunk, uint32_t n_streams);

/* ---- work.c: working thread ---- */
void *loom_work_thread(void *control);
void loom_item_free(loom_item *item);
void loom_work_run_free(loom_work_run *run);
/* Runs that have what stayed here under this number as an input go on with it where it is now. */
void loom_work_move_inputs(loom_control *c, uint64_t resident);
void loom_work_job_free(loom_work_job *job);

#endif
