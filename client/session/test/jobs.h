/* What tests of sessions share: jobs for the stand-ins (fake.h) with what their results must be, and sessions over
 * those. Threads: functions only. */
#ifndef LOOM_SESSION_TEST_JOBS_H
#define LOOM_SESSION_TEST_JOBS_H

#include "fake.h"
#include "session/session.h"
#include <sys/types.h>

typedef struct job {
    loom_job_description d;
    loom_value *arguments[2];
    loom_source *sources[2];
    char *program;
    uint64_t *x;
    int64_t n;
    int progressed;
    loom_job_progress last;
    int64_t streamed;
    bool refuse;
    int64_t victims[3]; /* killed one after the other while blocks are being folded */
    int n_victims;
} job;

typedef struct killer {
    loom_session *session;
    int64_t pid;
    int signal;
    double after;
} killer;

/* Where the stand-ins are; the caller frees. */
char *binaries(void);
/* `bad`: numbers of elements that are FAKE_BAD, ended by -1; may be NULL. */
void make_job(job *j, const char *entry, int64_t n, int64_t block, const int64_t *bad, uint64_t what);
void free_job(job *j);
/* That a result of `all` has each element once, in its place. */
void check_all(const job *j, const loom_job_result *r);
/* delay: microseconds that a block takes. */
loom_session *open_session(int workers, const char *delay);
loom_session *connect_session(const char *endpoint);
/* Process of the worker registered at that place; waits for one. */
int64_t a_worker(loom_session *s, size_t index);
/* For a thread: a signal to `pid` after some seconds. */
void *kill_later(void *argument);
/* Ends a process with a signal; it must go within two seconds. */
int end_process(pid_t pid, int number);
/* Sink of a `job`: elements of `stream`, in order. */
loom_status *on_stream(void *context, loom_value *elements);

#endif
