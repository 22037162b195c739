/* Session: how a command runs jobs. Starts a private daemon and workers (embedded), or connects to a running daemon;
 * submits jobs, serves the blocks of their streams, waits, reports progress, fetches results; asks for status and
 * workers, cancels.
 *
 *     loom_session *session;
 *     LOOM_TRY(loom_session_open(&(loom_session_options){.workers = 2}, &session));
 *     loom_job_result *result = NULL;
 *     loom_status *status = loom_session_run(session, &job, &result);
 *     ... use result->value ...
 *     loom_job_result_free(result);
 *     loom_session_close(session);
 *
 * THREADS. A session has a thread of its own (sockets, children, signals) and one that reads sources. The functions
 * here are called from one thread at a time, usually main; callbacks run on the thread that is inside
 * loom_session_wait. While a job runs, its sources are read by the session's reading thread, one call at a time: the
 * caller does not touch them between submit and the end of wait.
 *
 * LIFETIME. What a description points to (program, values, sources) must live until the job's wait has returned or the
 * session is closed. The session takes references to values, never ownership of sources. A value is written once for
 * all jobs that are given it while the caller has it; it is let go, and its file removed, when a job begins or ends
 * after the caller has let it go.
 *
 * SIGNALS. While a session is open it handles those of common/signals.h: the first one cancels running jobs, so that
 * loom_session_wait returns LOOM_E_CANCELLED (and waits begun later do at once); loom_session_interrupted tells a
 * command that is between two waits. A second one takes daemon, workers and temporary folders down and ends the process
 * as the signal would have. Children never outlive the process, whatever kills it.
 *
 * FILES. Sockets, the daemon's store and spooled objects are in private folders (0700), under TMPDIR and, for bulk data
 * where it has room, /dev/shm; removed at loom_session_close and on signals. After SIGKILL the daemon removes them.
 */
#ifndef LOOM_SESSION_SESSION_H
#define LOOM_SESSION_SESSION_H

#include "common/status.h"
#include "common/value.h"
#include "io/source.h"
#include <stdbool.h>

typedef struct loom_session loom_session;

typedef struct loom_session_options {
    const char *connect; /* endpoint of a running daemon ("ipc:///run/gridloom/control"); NULL: embedded */
    int workers;         /* embedded: worker processes; 0: one */
    int threads;         /* embedded: threads of each worker; 0: all cores shared evenly among them */
    uint64_t memory; /* embedded: bytes of buffers of each worker; 0: three quarters of the machine's, shared evenly */
    const char *spill;      /* embedded: whether streams are spilled, as gridloomd --spill; NULL: auto */
    const char *binaries;   /* folder of gridloomd, gridloom-worker, gridloom-compile; NULL: that of the running
                               executable,   or $GRIDLOOM_BIN */
    double connect_timeout; /* seconds until a daemon that does not answer is LOOM_E_UNAVAILABLE; 0: 10 */
    /* Called once by loom_session_open where the daemon that is named has not answered for a second; it waits `seconds`
     * more. NULL is fine. */
    void (*waiting)(const char *endpoint, double seconds);
    bool own_cache;  /* embedded: an empty cache of object code, gone with the session */
    bool insecure;   /* tcp:// endpoints are refused unless this is said aloud */
    bool no_signals; /* leave signals alone (tests, libraries) */
} loom_session_options;

/* Returns when the daemon has answered; workers may still be starting (a job waits for them). Errors: UNAVAILABLE, OS,
 * CONFIG (executables not found), CANTCREATE (no temporary folder). */
LOOM_MUST_USE loom_status *loom_session_open(const loom_session_options *options, loom_session **session);
/* Cancels what runs, takes an embedded daemon and its workers down (within 2 s), removes folders. NULL is fine. Values
 * of results stay valid. */
void loom_session_close(loom_session *session);
/* The folder of object code that embedded daemons share, malloc'ed; NULL where there is no home for it. */
char *loom_session_cache(void);
bool loom_session_interrupted(const loom_session *session); /* a signal has come. Any thread. */

/* ---- jobs ---- */

typedef struct loom_job_progress {
    const char *stage; /* label of what runs, or of what ran last, for people; "": nothing has run yet */
    uint32_t stage_index, n_stages;
    int64_t blocks_done, blocks_total;     /* of the running traversal; total 0: not a traversal */
    int64_t elements_done, elements_total; /* likewise */
    double elements_per_second;            /* over the last seconds; 0: not known yet */
    double seconds_left; /* of the running traversal; negative: not known. Counts down between blocks */
    double seconds;      /* since the job was submitted */
    uint32_t workers;    /* registered now; 0: the job waits for one */
    int64_t releases;    /* blocks leased again so far */
} loom_job_progress;

typedef struct loom_job_description {
    const char *name;    /* for status; NULL: the entry's */
    const void *program; /* loom_program_encode */
    size_t program_length;
    const char *entry;            /* NULL: main, or the only entry */
    uint32_t n_params;            /* of the entry; exactly one of arguments[i], sources[i] is not NULL */
    loom_value *const *arguments; /* leaves named as in common/value.h and graph.h ("" for a plain array or scalar) */
    loom_source *const *sources;
    int64_t block;   /* elements in a block; 0: chosen by size. Blocks are at most LOOM_MAX_BLOCK_BYTES */
    bool debug;      /* compiler checks its IRs after every pass */
    bool count_work; /* compiled code counts what it does */
    uint32_t force;  /* LOOM_FORCE_* (compiler/ir/force.h): what tests choose in place of the compiler */
    /* Called from wait about four times a second and at the end of each stage; NULL: no. */
    void (*progress)(void *context, const loom_job_progress *progress);
    /* Where the result is a stream: called from wait with the elements (outermost level) as they come, in stream order,
     * each once; the job does not run ahead by more than a few blocks. An error cancels the job and is what wait
     * returns. The value is the session's: take a reference to keep it. NULL: the parts are joined into result->value.
     */
    loom_status *(*stream)(void *context, loom_value *elements);
    void *context;
    double timeout; /* seconds that loom_session_wait waits, then the job is cancelled; 0: for ever */
} loom_job_description;

typedef struct loom_job_time {
    const char *label;
    double seconds;
    uint64_t calls, bytes; /* of arrays that were read and written */
    /* With count_work; of what is interpreted, always. See docs/architecture.md, "Work and space". */
    uint64_t evaluations, moved, descriptors;
} loom_job_time;

/* A stage that was not compiled. */
typedef struct loom_job_interpreted {
    char *why;      /* one of the remarks */
    double seconds; /* of workers */
} loom_job_interpreted;

typedef struct loom_job_result {
    loom_value *value;   /* NULL where the result was streamed out */
    int64_t releases;    /* blocks leased again after a worker was lost */
    int64_t blocks_lost; /* blocks that never made it into the result (policy fail: always 0) */
    int64_t elements;    /* stream elements traversed, summed over traversals, each counted once */
    int64_t served;      /* of these, read and sent by this process: workers keep what they need again, or open files */
    uint32_t traversals;
    /* Seconds. `traversal`: folding blocks, per stage that of the busiest worker; `array`: array stages and the
     * finishing of traversals; `handover`: writing and merging partial results; `wait`: workers waiting for blocks, per
     * stage that of the worker that waited longest; `read`: reading sources here; `compile`: something was planned
     * or compiled, however much at once; `total`: submit to result. They overlap, so they do not add up to the total.
     */
    struct {
        double traversal, array, handover, wait, read, compile, total;
    } seconds;
    uint64_t peak_bytes; /* that a run of a stage had out at a time, at most */
    size_t n_times;      /* by label of action, summed over workers */
    loom_job_time *times;
    size_t n_remarks; /* of the compiler: what was not vectorised, and why */
    char **remarks;
    size_t n_warnings; /* those of the remarks that a user is to see unasked: what made the job slow, though its program
                          could be compiled */
    char **warnings;
    size_t n_interpreted;
    loom_job_interpreted *interpreted;
} loom_job_result;

/* Sends a job off. *job is its number at the daemon. Fails at once only for what the session sees itself (sources that
 * cannot be read, no daemon); what the daemon or the program finds comes from wait. */
LOOM_MUST_USE loom_status *loom_session_submit(loom_session *session, const loom_job_description *description,
                                               uint64_t *job);
/* Until the job has ended. Errors of the program carry their place in the source text. On an error *result is
 * untouched. */
LOOM_MUST_USE loom_status *loom_session_wait(loom_session *session, uint64_t job, loom_job_result **result);
/* submit and wait. */
LOOM_MUST_USE loom_status *loom_session_run(loom_session *session, const loom_job_description *description,
                                            loom_job_result **result);
void loom_job_result_free(loom_job_result *result); /* NULL is fine */
/* For a command of several jobs, whose *total begins as zeros from calloc: numbers and seconds add up, times by their
 * label; the largest peak; each remark once. The value of `total` is left as it is. */
void loom_job_result_add(loom_job_result *total, const loom_job_result *job);

/* ---- what a daemon is doing ---- */

typedef enum loom_job_state {
    LOOM_JOB_COMPILING,
    LOOM_JOB_WAITING,
    LOOM_JOB_RUNNING,
    LOOM_JOB_ENDING
} loom_job_state;
typedef struct loom_job_info {
    uint64_t job;
    char *name, *stage; /* stage: label of what runs, "" if none */
    loom_job_state state;
    uint32_t stage_index, n_stages;
    int64_t blocks_done, blocks_total, elements_done, elements_total, releases;
    double seconds; /* since submitted */
} loom_job_info;
typedef struct loom_worker_info {
    uint64_t worker;
    int64_t pid;
    char *host, *target; /* target: "triple;cpu;features" */
    uint32_t threads;
    uint64_t memory;
    bool busy;
    double seconds; /* since registered */
    int64_t blocks; /* folded since registered */
} loom_worker_info;
typedef struct loom_daemon_info {
    uint64_t incarnation; /* how many times this store's daemon was started */
    double seconds;       /* since started */
    size_t n_jobs;
    loom_job_info *jobs;
    size_t n_workers;
    loom_worker_info *workers;
} loom_daemon_info;

/* UNAVAILABLE when no answer comes within five seconds. */
LOOM_MUST_USE loom_status *loom_session_status(loom_session *session, loom_daemon_info **info);
void loom_daemon_info_free(loom_daemon_info *info); /* NULL is fine */
const char *loom_job_state_name(loom_job_state state);
/* Cancels a job, of this session or another. NOINPUT if there is no such job. */
LOOM_MUST_USE loom_status *loom_session_cancel(loom_session *session, uint64_t job);

#endif
