/* Real processes, stand-ins for compiler and executor (fake.h): is every element taken exactly once, in its place,
 * whatever happens to workers, daemon and client? */
#include "common/buffer.h"
#include "common/clock.h"
#include "common/file.h"
#include "compiler/ir/core.h"
#include "compiler/ir/force.h"
#include "fake.h"
#include "loom_test.h"
#include "session/session.h"
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

extern char **environ;

/* ---- jobs ---- */

static char *binaries(void) {
    const char *bin = getenv("GRIDLOOM_BIN");
    return loom_xprintf("%s/fake", bin ? bin : ".");
}

/* Any program that passes the scan: the stand-in looks at the entry's name alone. */
static char *program_bytes(size_t *length) {
    loom_arena *arena = loom_arena_create(0);
    loom_program *p = loom_program_create(arena);
    loom_span span = {0};
    loom_body_id body = loom_build_open(p, 0, NULL, span);
    loom_build_close(p, body, loom_build_i64(p, 1, span));
    loom_build_function(p, "main", body, true, NULL);
    char *bytes;
    LOOM_OK(loom_program_encode(p, &bytes, length));
    loom_arena_destroy(arena);
    return bytes;
}

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

static void on_progress(void *context, const loom_job_progress *p) {
    job *j = context;
    j->progressed++;
    j->last = *p;
    j->last.stage = NULL;
    if (j->n_victims && p->blocks_done > 0 && p->blocks_done < p->blocks_total) {
        kill((pid_t)j->victims[--j->n_victims], SIGKILL);
    }
}

static loom_status *on_stream(void *context, loom_value *elements) {
    job *j = context;
    if (j->refuse) return loom_error(LOOM_E_IO, "the sink is full");
    const uint64_t *y = elements->leaves[0].data;
    for (int64_t i = 0; i < elements->leaves[0].n_data; i++) {
        LOOM_CHECK(j->streamed < j->n && y[i] == j->x[j->streamed] + 1);
        j->streamed++;
    }
    return NULL;
}

static loom_value *list_of(const uint64_t *x, int64_t n) {
    loom_value *v;
    LOOM_OK(loom_value_create(1, &v));
    LOOM_OK(loom_leaf_init(&v->leaves[0], "", LOOM_U64, 1, &n, UINT64_MAX));
    if (n) memcpy(v->leaves[0].data, x, (size_t)n * sizeof *x);
    return v;
}

/* `bad`: numbers of elements that are FAKE_BAD, ended by -1; may be NULL. */
static void make_job(job *j, const char *entry, int64_t n, int64_t block, const int64_t *bad, uint64_t what) {
    memset(j, 0, sizeof *j);
    j->n = n;
    j->x = loom_xcalloc((size_t)n + 1, sizeof *j->x);
    uint64_t seed = 88172645463325252u;
    for (int64_t i = 0; i < n; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        j->x[i] = seed >> 20;
    }
    for (; bad && *bad >= 0; bad++) j->x[*bad] = what;
    bool all = strcmp(entry, "stream") != 0 && strcmp(entry, "whole") != 0;
    uint32_t stream = all ? 1 : 0;
    if (all) {
        LOOM_OK(loom_value_create(1, &j->arguments[0]));
        LOOM_OK(loom_leaf_init(&j->arguments[0]->leaves[0], "", LOOM_F64, 0, NULL, 64));
        *(double *)j->arguments[0]->leaves[0].data = 1.5;
    }
    loom_value *v = list_of(j->x, n);
    LOOM_OK(loom_source_value(v, &j->sources[stream]));
    loom_value_unref(v);
    size_t length;
    j->program = program_bytes(&length);
    j->d = (loom_job_description){.name = "test",
                                  .program = j->program,
                                  .program_length = length,
                                  .entry = entry,
                                  .n_params = all ? 2 : 1,
                                  .arguments = j->arguments,
                                  .sources = j->sources,
                                  .block = block,
                                  .progress = on_progress,
                                  .context = j};
}

static void free_job(job *j) {
    for (int i = 0; i < 2; i++) {
        loom_value_unref(j->arguments[i]);
        loom_source_destroy(j->sources[i]);
    }
    free(j->program);
    free(j->x);
}

static uint64_t u64_at(const loom_value *v, const char *name) {
    const loom_leaf *leaf = loom_value_find(v, name);
    LOOM_CHECK(leaf);
    return *(uint64_t *)leaf->data;
}

static void check_all(const job *j, const loom_job_result *r) {
    uint64_t sum = 0, a = 1, b = 0;
    for (int64_t i = 0; i < j->n; i++) {
        sum += j->x[i];
        a *= 2 * j->x[i] + 1;
        b = (2 * j->x[i] + 1) * b + j->x[i];
    }
    LOOM_CHECK(r->value);
    LOOM_CHECK(u64_at(r->value, "0") == sum);
    LOOM_CHECK(u64_at(r->value, "1.a") == a);
    LOOM_CHECK(u64_at(r->value, "1.b") == b);
    const loom_leaf *list = loom_value_find(r->value, "2");
    LOOM_CHECK_EQ_INT(list->n_data, j->n);
    for (int64_t i = 0; i < j->n; i++) LOOM_CHECK_NEAR(((double *)list->data)[i], (double)j->x[i] * 3, 0);
    LOOM_CHECK_EQ_INT(r->elements, j->n);
    LOOM_CHECK_EQ_INT(r->traversals, 1);
    LOOM_CHECK_EQ_INT(r->blocks_lost, 0);
}

/* ---- sessions ---- */

static loom_session *open_session(int workers, const char *delay) {
    setenv("GRIDLOOM_FAKE_DELAY", delay, 1);
    char *bin = binaries();
    loom_session_options options = {.workers = workers, .threads = 1, .memory = 1 << 28, .binaries = bin};
    loom_session *s;
    LOOM_OK(loom_session_open(&options, &s));
    free(bin);
    return s;
}

static loom_session *connect_session(const char *endpoint) {
    loom_session_options options = {.connect = endpoint, .no_signals = true};
    loom_session *s;
    LOOM_OK(loom_session_open(&options, &s));
    return s;
}

static int64_t a_worker(loom_session *s, size_t index) {
    double until = loom_seconds() + 20;
    while (loom_seconds() < until) {
        loom_daemon_info *info;
        LOOM_OK(loom_session_status(s, &info));
        int64_t pid = info->n_workers > index ? info->workers[index].pid : 0;
        loom_daemon_info_free(info);
        if (pid) return pid;
        usleep(20000);
    }
    LOOM_CHECK(!"a worker registers");
    return 0;
}

static void run_all(int workers, int64_t n, int64_t block) {
    loom_session *s = open_session(workers, "0");
    job j;
    make_job(&j, "all", n, block, NULL, 0);
    loom_job_result *r;
    LOOM_OK(loom_session_run(s, &j.d, &r));
    loom_session_close(s);
    check_all(&j, r);
    LOOM_CHECK_EQ_INT(r->releases, 0);
    LOOM_CHECK_EQ_INT(r->n_remarks, 1);
    LOOM_CHECK_STR(r->remarks[0], "a remark");
    LOOM_CHECK(n == 0 || r->n_times >= 1);
    loom_job_result_free(r);
    free_job(&j);
}

/* ---- plain runs ---- */

LOOM_TEST(session, one_worker) {
    run_all(1, 100000, 1000);
}

LOOM_TEST(session, three_workers) {
    run_all(3, 200000, 100);
}

LOOM_TEST(session, one_block) {
    run_all(2, 10, 100);
}

LOOM_TEST(session, chosen_blocks) {
    run_all(2, 1000000, 0);
}

LOOM_TEST(session, an_empty_stream) {
    run_all(1, 0, 10);
}

LOOM_TEST(session, several_jobs_one_after_the_other_and_at_once) {
    loom_session *s = open_session(2, "100");
    job jobs[4];
    uint64_t ids[4];
    for (int i = 0; i < 4; i++) {
        make_job(&jobs[i], "all", 5000 + i, 100, NULL, 0);
        LOOM_OK(loom_session_submit(s, &jobs[i].d, &ids[i]));
    }
    for (int i = 3; i >= 0; i--) {
        loom_job_result *r;
        LOOM_OK(loom_session_wait(s, ids[i], &r));
        check_all(&jobs[i], r);
        loom_job_result_free(r);
    }
    loom_job_result *r;
    LOOM_FAILS(loom_session_wait(s, ids[0], &r), LOOM_E_USAGE);
    LOOM_OK(loom_session_run(s, &jobs[0].d, &r));
    check_all(&jobs[0], r);
    loom_job_result_free(r);
    loom_session_close(s);
    for (int i = 0; i < 4; i++) free_job(&jobs[i]);
}

LOOM_TEST(session, streams_out_in_order) {
    loom_session *s = open_session(3, "200");
    job j;
    make_job(&j, "stream", 30000, 100, NULL, 0);
    j.d.stream = on_stream;
    loom_job_result *r;
    LOOM_OK(loom_session_run(s, &j.d, &r));
    LOOM_CHECK_EQ_INT(j.streamed, j.n);
    LOOM_CHECK(!r->value);
    loom_job_result_free(r);
    j.d.stream = NULL;
    LOOM_OK(loom_session_run(s, &j.d, &r));
    LOOM_CHECK_EQ_INT(r->value->leaves[0].n_data, j.n);
    for (int64_t i = 0; i < j.n; i++) LOOM_CHECK(((uint64_t *)r->value->leaves[0].data)[i] == j.x[i] + 1);
    loom_job_result_free(r);
    j.d.stream = on_stream;
    j.refuse = true;
    LOOM_FAILS(loom_session_run(s, &j.d, &r), LOOM_E_IO);
    loom_session_close(s);
    free_job(&j);
}

LOOM_TEST(session, an_empty_stream_streams_out_as_nothing) {
    loom_session *s = open_session(1, "0");
    job j;
    make_job(&j, "stream", 0, 100, NULL, 0);
    loom_job_result *r;
    LOOM_OK(loom_session_run(s, &j.d, &r));
    LOOM_CHECK(r->value);
    LOOM_CHECK_EQ_INT(r->value->leaves[0].n_data, 0);
    loom_job_result_free(r);
    loom_session_close(s);
    free_job(&j);
}

LOOM_TEST(session, whole_programs_pull_their_stream) {
    loom_session *s = open_session(2, "10");
    job j;
    make_job(&j, "whole", 12345, 100, NULL, 0);
    loom_job_result *r;
    LOOM_OK(loom_session_run(s, &j.d, &r));
    uint64_t sum = 0;
    for (int64_t i = 0; i < j.n; i++) sum += j.x[i];
    LOOM_CHECK(*(uint64_t *)r->value->leaves[0].data == sum);
    loom_job_result_free(r);
    loom_session_close(s);
    free_job(&j);
}

/* ---- errors ---- */

LOOM_TEST(session, the_least_error_is_named) {
    loom_session *s = open_session(3, "300");
    job j;
    int64_t bad[] = {17777, 9001, 15000, -1};
    make_job(&j, "all", 20000, 100, bad, FAKE_BAD);
    loom_job_result *r;
    loom_status *status = loom_session_run(s, &j.d, &r);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_RUNTIME);
    LOOM_CHECK_HAS(loom_status_message(status), "element 9001 ");
    loom_status_free(status);
    loom_session_close(s);
    free_job(&j);
}

LOOM_TEST(session, an_error_of_the_program_has_its_place) {
    loom_session *s = open_session(1, "0");
    job j;
    make_job(&j, "nonsense", 10, 10, NULL, 0);
    loom_job_result *r;
    loom_status *status = loom_session_run(s, &j.d, &r);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_TYPE);
    LOOM_CHECK_STR(loom_status_file(status), "fake.weft");
    LOOM_CHECK_EQ_INT(loom_status_span(status).column, 2);
    loom_status_free(status);
    j.d.entry = "crash";
    status = loom_session_run(s, &j.d, &r);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_INTERNAL);
    LOOM_CHECK_HAS(loom_status_message(status), "signal 6");
    loom_status_free(status);
    j.d.entry = "stream"; /* which has one parameter */
    LOOM_FAILS(loom_session_run(s, &j.d, &r), LOOM_E_USAGE);
    loom_session_close(s);
    free_job(&j);
}

LOOM_TEST(session, what_is_no_program_is_refused) {
    loom_session *s = open_session(1, "0");
    job j;
    make_job(&j, "all", 10, 10, NULL, 0);
    j.d.program = "nonsense";
    j.d.program_length = 8;
    loom_job_result *r;
    loom_status *status = loom_session_run(s, &j.d, &r);
    LOOM_CHECK(status != NULL);
    loom_status_free(status);
    loom_session_close(s);
    free_job(&j);
}

LOOM_TEST(session, choices_that_are_none_are_refused) {
    loom_session *s = open_session(1, "0");
    const uint32_t sets[] = {LOOM_FORCE_END, LOOM_FORCE_FLAT | LOOM_FORCE_STRIP};
    for (size_t i = 0; i < 2; i++) {
        job j;
        make_job(&j, "all", 10, 10, NULL, 0);
        j.d.force = sets[i];
        loom_job_result *r;
        loom_status *status = loom_session_run(s, &j.d, &r);
        LOOM_CHECK_HAS(loom_status_message(status), "forced");
        loom_status_free(status);
        free_job(&j);
    }
    loom_session_close(s);
}

LOOM_TEST(session, executables_that_are_not_there) {
    loom_session_options options = {.binaries = "/nonexistent-folder"};
    loom_session *s;
    LOOM_FAILS(loom_session_open(&options, &s), LOOM_E_CONFIG);
    options = (loom_session_options){.connect = "ipc:///nonexistent-folder/x", .connect_timeout = 0.5};
    LOOM_FAILS(loom_session_open(&options, &s), LOOM_E_UNAVAILABLE);
    options = (loom_session_options){.connect = "tcp://127.0.0.1:5555"};
    LOOM_FAILS(loom_session_open(&options, &s), LOOM_E_DENIED);
}

/* ---- deaths ---- */

typedef struct killer {
    loom_session *session;
    int64_t pid;
    int signal;
    double after;
} killer;

static void *kill_later(void *argument) {
    killer *k = argument;
    usleep((useconds_t)(k->after * 1e6));
    kill((pid_t)k->pid, k->signal);
    return NULL;
}

static void run_with_death(int workers, int deaths) {
    loom_session *s = open_session(workers, "2000");
    job j;
    make_job(&j, "all", 100000, 100, NULL, 0); /* 1000 blocks of 2 ms */
    for (int i = 0; i < deaths; i++) j.victims[i] = a_worker(s, (size_t)i);
    j.n_victims = deaths;
    loom_job_result *r;
    LOOM_OK(loom_session_run(s, &j.d, &r));
    LOOM_CHECK_EQ_INT(j.n_victims, 0);
    check_all(&j, r);
    LOOM_CHECK(r->releases >= 1);
    loom_job_result_free(r);
    loom_session_close(s);
    free_job(&j);
}

LOOM_TEST(session, one_of_two_workers_is_killed) {
    run_with_death(2, 1);
}

LOOM_TEST(session, the_only_worker_is_killed_and_started_again) {
    run_with_death(1, 1);
}

LOOM_TEST(session, all_of_three_workers_are_killed) {
    run_with_death(3, 3);
}

/* What becomes of a job in which one element is such. */
static loom_status *run_with(uint64_t element, int workers) {
    loom_session *s = open_session(workers, "0");
    job j;
    int64_t bad[] = {500, -1};
    make_job(&j, "all", 1000, 100, bad, element);
    loom_job_result *r;
    loom_status *status = loom_session_run(s, &j.d, &r);
    loom_session_close(s);
    free_job(&j);
    return status;
}

LOOM_TEST(session, a_job_that_kills_its_workers_ends) {
    loom_status *status = run_with(FAKE_DEADLY, 1);
    LOOM_CHECK_HAS(loom_status_message(status), "signal 9");
    LOOM_FAILS(status, LOOM_E_UNAVAILABLE);
}

/* Not started again: it would meet the same input. */
LOOM_TEST(session, a_worker_that_meets_damaged_input_ends_the_job) {
    LOOM_FAILS(run_with(FAKE_DAMAGED, 2), LOOM_E_DATA);
}

/* Stopped for longer than its beats may fail, then alive again: what it held was done by the other, once. */
LOOM_TEST(session, a_revived_worker_changes_nothing) {
    loom_session *s = open_session(2, "8000");
    job j;
    make_job(&j, "all", 120000, 100, NULL, 0); /* 1200 blocks of 8 ms: some 5 s for two */
    int64_t pid = a_worker(s, 0);
    a_worker(s, 1);
    killer stop = {s, pid, SIGSTOP, 0.5}, go = {s, pid, SIGCONT, 7.0};
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, kill_later, &stop);
    pthread_create(&threads[1], NULL, kill_later, &go);
    loom_job_result *r;
    LOOM_OK(loom_session_run(s, &j.d, &r));
    check_all(&j, r);
    LOOM_CHECK(r->releases >= 1);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    loom_job_result_free(r);
    loom_session_close(s);
    free_job(&j);
}

/* ---- a daemon of its own ---- */

typedef struct site {
    char *folder, *endpoint, *bin;
    const char *handover; /* seconds */
    pid_t daemon;
} site;

static pid_t spawn(const char *bin, const char *name, const char *const *arguments) {
    char *path = loom_xprintf("%s/%s", bin, name);
    char *argv[10] = {path};
    for (int i = 0; arguments[i]; i++) argv[i + 1] = (char *)arguments[i];
    pid_t pid;
    LOOM_CHECK(posix_spawn(&pid, path, NULL, NULL, argv, environ) == 0);
    free(path);
    return pid;
}

static void start_daemon(site *t) {
    char *store = loom_xprintf("%s/store", t->folder);
    const char *handover = t->handover ? t->handover : "60";
    t->daemon = spawn(t->bin, "gridloomd",
                      (const char *[]){"--listen", t->endpoint, "--store", store, "--handover", handover, NULL});
    free(store);
}

static pid_t start_worker(const site *t) {
    return spawn(t->bin, "gridloom-worker",
                 (const char *[]){"--connect", t->endpoint, "--threads", "1", "--memory", "268435456", NULL});
}

static void open_site_with(site *t, const char *delay, const char *handover) {
    t->handover = handover;
    setenv("GRIDLOOM_FAKE_DELAY", delay, 1);
    t->folder = loom_xstrdup("/tmp/loom-site-XXXXXX");
    LOOM_CHECK(mkdtemp(t->folder));
    t->endpoint = loom_xprintf("ipc://%s/control", t->folder);
    t->bin = binaries();
    start_daemon(t);
}

static void open_site(site *t, const char *delay) {
    open_site_with(t, delay, NULL);
}

/* Ends a process with a signal; it must go within two seconds. */
static int end_process(pid_t pid, int number) {
    kill(pid, number);
    double until = loom_seconds() + (getenv("LOOM_SLOW") ? 10 : 2);
    int how;
    while (waitpid(pid, &how, WNOHANG) == 0) {
        LOOM_CHECK(loom_seconds() < until);
        usleep(2000);
    }
    return how;
}

static void close_site(site *t) {
    int how = end_process(t->daemon, SIGTERM);
    LOOM_CHECK(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    loom_remove_tree(t->folder);
    free(t->folder);
    free(t->endpoint);
    free(t->bin);
}

typedef struct running {
    loom_session *session;
    job *job;
    loom_job_result *result;
    loom_status *status;
} running;

static void *run_job(void *argument) {
    running *r = argument;
    r->status = loom_session_run(r->session, &r->job->d, &r->result);
    return NULL;
}

/* Until the one job is in the middle of its traversal. */
static void wait_for_blocks(loom_session *s) {
    double until = loom_seconds() + 30;
    for (bool there = false; !there;) {
        LOOM_CHECK(loom_seconds() < until);
        loom_daemon_info *info;
        LOOM_OK(loom_session_status(s, &info));
        there = info->n_jobs == 1 && info->jobs[0].blocks_done > 0;
        loom_daemon_info_free(info);
        usleep(10000);
    }
}

LOOM_TEST(site, a_job_waits_for_workers) {
    site t;
    open_site(&t, "2000");
    loom_session *s = connect_session(t.endpoint), *other = connect_session(t.endpoint);
    job j;
    make_job(&j, "all", 50000, 100, NULL, 0);
    running r = {s, &j, NULL, NULL};
    pthread_t thread;
    pthread_create(&thread, NULL, run_job, &r);
    usleep(300000);
    pid_t first = start_worker(&t);
    wait_for_blocks(other);
    int how = end_process(first, SIGKILL);
    LOOM_CHECK(WIFSIGNALED(how));
    usleep(300000);
    pid_t second = start_worker(&t);
    pthread_join(thread, NULL);
    LOOM_OK(r.status);
    check_all(&j, r.result);
    LOOM_CHECK(r.result->releases >= 1);
    LOOM_CHECK(j.progressed > 0);
    loom_job_result_free(r.result);
    loom_session_close(s);
    loom_session_close(other);
    how = end_process(second, SIGTERM);
    LOOM_CHECK(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    free_job(&j);
    close_site(&t);
}

/* Accumulators change hands many times in the middle of the traversal, and a worker dies too. */
LOOM_TEST(site, frequent_handovers) {
    site t;
    open_site_with(&t, "1000", "0.05");
    loom_session *s = connect_session(t.endpoint);
    pid_t workers[3] = {start_worker(&t), start_worker(&t), start_worker(&t)};
    for (size_t i = 0; i < 3; i++) a_worker(s, i);
    job j;
    make_job(&j, "all", 200000, 100, NULL, 0);
    j.victims[0] = workers[1];
    j.n_victims = 1;
    loom_job_result *r;
    LOOM_OK(loom_session_run(s, &j.d, &r));
    check_all(&j, r);
    LOOM_CHECK(r->releases >= 1);
    loom_job_result_free(r);
    loom_session_close(s);
    for (int i = 0; i < 3; i++) end_process(workers[i], SIGTERM);
    free_job(&j);
    close_site(&t);
}

LOOM_TEST(site, status_and_cancel_by_another_session) {
    site t;
    open_site(&t, "5000");
    loom_session *s = connect_session(t.endpoint), *other = connect_session(t.endpoint);
    pid_t worker = start_worker(&t);
    job j;
    make_job(&j, "all", 500000, 100, NULL, 0);
    running r = {s, &j, NULL, NULL};
    pthread_t thread;
    pthread_create(&thread, NULL, run_job, &r);
    loom_daemon_info *info = NULL;
    double until = loom_seconds() + 20;
    do {
        loom_daemon_info_free(info);
        usleep(20000);
        LOOM_OK(loom_session_status(other, &info));
    } while (!(info->n_jobs == 1 && info->jobs[0].blocks_done > 0) && loom_seconds() < until);
    LOOM_CHECK_EQ_INT(info->n_jobs, 1);
    LOOM_CHECK_STR(info->jobs[0].name, "test");
    LOOM_CHECK_STR(info->jobs[0].stage, "traversal");
    LOOM_CHECK_EQ_INT(info->jobs[0].blocks_total, 5000);
    LOOM_CHECK_EQ_INT(info->n_workers, 1);
    LOOM_CHECK_EQ_INT(info->workers[0].pid, worker);
    LOOM_CHECK(info->workers[0].busy);
    LOOM_FAILS(loom_session_cancel(other, 4711), LOOM_E_NOINPUT);
    LOOM_OK(loom_session_cancel(other, info->jobs[0].job));
    loom_daemon_info_free(info);
    pthread_join(thread, NULL);
    LOOM_FAILS(r.status, LOOM_E_CANCELLED);
    /* The worker is free for the next one. */
    job k;
    make_job(&k, "all", 1000, 100, NULL, 0);
    loom_job_result *result;
    LOOM_OK(loom_session_run(other, &k.d, &result));
    check_all(&k, result);
    loom_job_result_free(result);
    loom_session_close(s);
    loom_session_close(other);
    end_process(worker, SIGTERM);
    free_job(&j);
    free_job(&k);
    close_site(&t);
}

static bool has_jobs(loom_session *s) {
    loom_daemon_info *info;
    LOOM_OK(loom_session_status(s, &info));
    bool any = info->n_jobs > 0;
    loom_daemon_info_free(info);
    return any;
}

/* Whoever starts workers at a site starts them again and again: a job that kills each of them ends all the same. */
LOOM_TEST(site, a_job_that_kills_each_worker_ends) {
    site t;
    open_site(&t, "0");
    loom_session *s = connect_session(t.endpoint);
    job j;
    int64_t bad[] = {500, -1};
    make_job(&j, "all", 1000, 100, bad, FAKE_DEADLY);
    running r = {s, &j, NULL, NULL};
    pthread_t thread;
    pthread_create(&thread, NULL, run_job, &r);
    while (!has_jobs(s)) usleep(10000);
    int deaths = 0;
    for (bool there = true; there && deaths < 40;) {
        int how = 0;
        pid_t worker = start_worker(&t), dead = 0;
        while (there && (dead = waitpid(worker, &how, WNOHANG)) == 0) {
            there = has_jobs(s);
            usleep(20000);
        }
        LOOM_CHECK(!dead || (WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL));
        if (dead) deaths++;
        if (!dead) end_process(worker, SIGTERM);
    }
    LOOM_CHECK(deaths >= 8 && deaths < 40);
    pthread_join(thread, NULL);
    LOOM_CHECK_HAS(loom_status_message(r.status), "8 workers");
    LOOM_FAILS(r.status, LOOM_E_UNAVAILABLE);
    loom_session_close(s);
    free_job(&j);
    close_site(&t);
}

/* A daemon that is killed and started again: jobs end with an error, workers and clients find the new one. */
LOOM_TEST(site, the_daemon_is_killed_and_started_again) {
    site t;
    open_site(&t, "2000");
    loom_session *s = connect_session(t.endpoint);
    pid_t worker = start_worker(&t);
    a_worker(s, 0);
    job j;
    make_job(&j, "all", 500000, 100, NULL, 0);
    running r = {s, &j, NULL, NULL};
    pthread_t thread;
    pthread_create(&thread, NULL, run_job, &r);
    usleep(500000);
    end_process(t.daemon, SIGKILL);
    start_daemon(&t);
    pthread_join(thread, NULL);
    LOOM_CHECK_HAS(loom_status_note_at(r.status, 0), "run again");
    LOOM_FAILS(r.status, LOOM_E_UNAVAILABLE);
    /* The same session goes on with the new daemon. */
    job k;
    make_job(&k, "all", 1000, 100, NULL, 0);
    loom_job_result *result;
    LOOM_OK(loom_session_run(s, &k.d, &result));
    check_all(&k, result);
    loom_job_result_free(result);
    loom_daemon_info *info;
    LOOM_OK(loom_session_status(s, &info));
    LOOM_CHECK_EQ_INT(info->incarnation, 2);
    loom_daemon_info_free(info);
    loom_session_close(s);
    end_process(worker, SIGTERM);
    free_job(&j);
    free_job(&k);
    close_site(&t);
}

LOOM_TEST(site, everything_ends_within_two_seconds_with_traffic_in_flight) {
    site t;
    open_site(&t, "500");
    loom_session *s = connect_session(t.endpoint);
    pid_t workers[2] = {start_worker(&t), start_worker(&t)};
    job j;
    make_job(&j, "all", 2000000, 100, NULL, 0);
    running r = {s, &j, NULL, NULL};
    pthread_t thread;
    pthread_create(&thread, NULL, run_job, &r);
    a_worker(s, 1);
    usleep(700000);
    int how = end_process(workers[0], SIGTERM);
    LOOM_CHECK(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    how = end_process(t.daemon, SIGTERM);
    LOOM_CHECK(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    pthread_join(thread, NULL);
    LOOM_CHECK_HAS(loom_status_note_at(r.status, 0), "run again");
    LOOM_FAILS(r.status, LOOM_E_UNAVAILABLE);
    how = end_process(workers[1], SIGTERM);
    LOOM_CHECK(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    double before = loom_seconds();
    loom_session_close(s);
    LOOM_CHECK(loom_seconds() - before < 2);
    free_job(&j);
    start_daemon(&t);
    usleep(100000);
    close_site(&t);
}

/* A client that dies takes its jobs with it. */
LOOM_TEST(site, jobs_of_a_client_that_has_gone_end) {
    site t;
    open_site(&t, "2000");
    loom_session *s = connect_session(t.endpoint), *other = connect_session(t.endpoint);
    pid_t worker = start_worker(&t);
    job j;
    make_job(&j, "all", 500000, 100, NULL, 0);
    uint64_t id;
    LOOM_OK(loom_session_submit(s, &j.d, &id));
    loom_session_close(s);
    double until = loom_seconds() + 20;
    size_t left = 1;
    while (left && loom_seconds() < until) {
        loom_daemon_info *info;
        LOOM_OK(loom_session_status(other, &info));
        left = info->n_jobs;
        loom_daemon_info_free(info);
        usleep(20000);
    }
    LOOM_CHECK_EQ_INT(left, 0);
    loom_session_close(other);
    end_process(worker, SIGTERM);
    free_job(&j);
    close_site(&t);
}

/* ---- wrong bytes ---- */

/* A peer that sends noise, and well-formed messages with bytes changed, to the daemon. */
static void *send_noise(void *argument) {
    const char *endpoint = argument;
    void *context = zmq_ctx_new();
    void *socket = zmq_socket(context, ZMQ_DEALER);
    int linger = 0;
    zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
    LOOM_CHECK(zmq_connect(socket, endpoint) == 0);
    static const struct {
        const char *bytes;
        size_t n;
    } seeds[] = {
        {"\x08\x01\x12\x0e\x08\x01\x10\x05\x1a\x01h\x20\x02\x28\x40\x32\x00\x38\x07", 18},   /* Hello of a worker */
        {"\x08\x01\x12\x07\x08\x00\x10\x05\x1a\x01h", 11},                                   /* Hello of a client */
        {"\x08\x01\x22\x08\x08\x01\x12\x04\x08\x03\x10\x05", 12},                            /* Beat with a task */
        {"\x08\x01\x52\x12\x08\x01\x12\x01n\x1a\x01m\x22\x00\x30\x05\x3a\x01s\x40\x00", 20}, /* Submit */
        {"\x08\x01\x92\x02\x0c\x08\x01\x10\x01\x18\x01\x22\x04\x08\x01\x10\x01", 17},        /* TaskDone */
        {"\x08\x01\x92\x01\x04\x08\x01\x10\x01", 9},                                         /* Cancel */
        {"\x08\x01\x32\x03\x0a\x01x", 7},                                                    /* Bye */
    };
    uint64_t seed = 4711;
    for (int i = 0; i < 20000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        size_t which = (seed >> 33) % (sizeof seeds / sizeof *seeds + 1);
        char bytes[64];
        size_t n = 20;
        if (which < sizeof seeds / sizeof *seeds) {
            n = seeds[which].n;
            memcpy(bytes, seeds[which].bytes, n);
            if (seed >> 60 > 3) bytes[(seed >> 20) % n] ^= (char)(1 << (seed >> 40) % 8);
        } else {
            for (size_t k = 0; k < n; k++) bytes[k] = (char)(seed >> k);
        }
        bool more = seed >> 58 == 0;
        zmq_send(socket, bytes, n, ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0));
        if (more) zmq_send(socket, bytes, 3, ZMQ_DONTWAIT);
        if (i % 64 == 0) usleep(1000);
    }
    zmq_close(socket);
    zmq_ctx_term(context);
    return NULL;
}

LOOM_TEST(site, noise_on_the_control_socket_changes_nothing) {
    site t;
    setenv("GRIDLOOM_LOG", "error", 1); /* each refused message is a warning */
    open_site(&t, "500");
    loom_session *s = connect_session(t.endpoint);
    pid_t worker = start_worker(&t);
    a_worker(s, 0);
    pthread_t noise[2];
    for (int i = 0; i < 2; i++) pthread_create(&noise[i], NULL, send_noise, t.endpoint);
    job j;
    make_job(&j, "all", 100000, 100, NULL, 0);
    loom_job_result *r;
    LOOM_OK(loom_session_run(s, &j.d, &r));
    check_all(&j, r);
    loom_job_result_free(r);
    for (int i = 0; i < 2; i++) pthread_join(noise[i], NULL);
    LOOM_OK(loom_session_run(s, &j.d, &r));
    check_all(&j, r);
    loom_job_result_free(r);
    loom_session_close(s);
    end_process(worker, SIGTERM);
    free_job(&j);
    close_site(&t);
}

/* ---- leaving nothing behind ---- */

static int count_entries(const char *folder) {
    DIR *d = opendir(folder);
    if (!d) return 0;
    int n = 0;
    for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

LOOM_TEST(session, leaves_no_process_and_no_folder) {
    char *folder = loom_xstrdup("/tmp/loom-leaves-XXXXXX");
    LOOM_CHECK(mkdtemp(folder));
    setenv("TMPDIR", folder, 1);
    loom_session *s = open_session(2, "2000");
    job j;
    make_job(&j, "all", 500000, 100, NULL, 0);
    uint64_t id;
    LOOM_OK(loom_session_submit(s, &j.d, &id));
    int64_t pids[2] = {a_worker(s, 0), a_worker(s, 1)};
    usleep(300000);
    LOOM_CHECK_EQ_INT(count_entries(folder), 1);
    double before = loom_seconds();
    loom_session_close(s); /* in the middle of a job */
    LOOM_CHECK(loom_seconds() - before < (getenv("LOOM_SLOW") ? 10 : 2.5));
    LOOM_CHECK_EQ_INT(count_entries(folder), 0);
    for (int i = 0; i < 2; i++) LOOM_CHECK(kill((pid_t)pids[i], 0) != 0);
    unsetenv("TMPDIR");
    loom_remove_tree(folder);
    free(folder);
    free_job(&j);
}

/* Objects of arguments that this process has written, wherever sessions keep theirs. */
static int64_t count_arguments(void) {
    const char *temporary = getenv("TMPDIR");
    const char *places[2] = {"/dev/shm", temporary ? temporary : "/tmp"};
    int64_t n = 0;
    for (int i = 0; i < 2; i++) {
        char *pattern = loom_xprintf("%s/gridloom-*/arguments/%ld-*.obj", places[i], (long)getpid());
        glob_t found;
        if (glob(pattern, 0, NULL, &found) == 0) {
            n += (int64_t)found.gl_pathc;
            globfree(&found);
        }
        free(pattern);
    }
    return n;
}

LOOM_TEST(session, what_jobs_are_given_is_written_once_and_removed) {
    loom_session *s = open_session(1, "0");
    job a, b;
    make_job(&a, "all", 1000, 100, NULL, 0);
    make_job(&b, "all", 1000, 100, NULL, 0);
    for (int i = 0; i < 3; i++) {
        loom_job_result *r;
        LOOM_OK(loom_session_run(s, &a.d, &r));
        check_all(&a, r);
        loom_job_result_free(r);
        LOOM_CHECK_EQ_INT(count_arguments(), 1);
    }
    uint64_t id;
    LOOM_OK(loom_session_submit(s, &b.d, &id)); /* has an argument of its own */
    LOOM_CHECK_EQ_INT(count_arguments(), 2);
    loom_job_result *r;
    LOOM_OK(loom_session_wait(s, id, &r));
    loom_job_result_free(r);
    free_job(&b);
    a.d.sources = NULL; /* a job that is refused leaves what it took */
    LOOM_FAILS(loom_session_submit(s, &a.d, &id), LOOM_E_USAGE);
    free_job(&a);
    make_job(&b, "all", 10, 10, NULL, 0);
    LOOM_OK(loom_session_run(s, &b.d, &r));
    loom_job_result_free(r);
    LOOM_CHECK_EQ_INT(count_arguments(), 1);
    free_job(&b);
    loom_session_close(s);
}

static char *make_old(const char *folder, const char *name, const char *content, long age) {
    char *path = loom_xprintf("%s/%s", folder, name);
    LOOM_OK(loom_make_directories(path, 0700));
    char *inside = loom_xprintf("%s/%s", path, content);
    if (*content) LOOM_OK(loom_file_write(inside, "", 0, false));
    struct timespec times[2] = {{.tv_sec = time(NULL) - age}, {.tv_sec = time(NULL) - age}};
    LOOM_CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
    free(inside);
    return path;
}

/* What a killed client of a public daemon left is removed by the next one, once it is old enough; what no session made
 * is not, whatever its name. */
LOOM_TEST(session, folders_of_dead_sessions_are_swept) {
    static const struct {
        const char *name, *content;
        long age;
        bool goes;
    } folders[] = {{"gridloom-old", "owner", 1000, true},    {"gridloom-young", "owner", 1, false},
                   {"gridloom-begun", "", 1000, false},      {"gridloom-empty", "", 10000, true},
                   {"gridloom-left", "serve", 10000, true},  {"gridloom-user", "notes.txt", 10000, false},
                   {"gridloom-held", "owner", 10000, false}, {"other-old", "owner", 10000, false}};
    char *folder = loom_xstrdup("/tmp/loom-sweep-XXXXXX"), *paths[8];
    LOOM_CHECK(mkdtemp(folder));
    for (int i = 0; i < 8; i++) paths[i] = make_old(folder, folders[i].name, folders[i].content, folders[i].age);
    char *lock = loom_xprintf("%s/owner", paths[6]);
    int held = open(lock, O_RDWR | O_CLOEXEC);
    LOOM_CHECK_EQ_INT(flock(held, LOCK_EX), 0);
    setenv("TMPDIR", folder, 1);
    loom_session_close(open_session(1, "0"));
    unsetenv("TMPDIR");
    for (int i = 0; i < 8; i++) {
        if ((access(paths[i], F_OK) != 0) != folders[i].goes) fprintf(stderr, "%s\n", folders[i].name);
        LOOM_CHECK_EQ_INT(access(paths[i], F_OK) != 0, folders[i].goes);
        free(paths[i]);
    }
    close(held);
    free(lock);
    loom_remove_tree(folder);
    free(folder);
}

LOOM_TEST(session, a_signal_cancels) {
    loom_session *s = open_session(1, "2000");
    job j;
    make_job(&j, "all", 500000, 100, NULL, 0);
    a_worker(s, 0);
    killer k = {s, getpid(), SIGINT, 0.5};
    pthread_t thread;
    pthread_create(&thread, NULL, kill_later, &k);
    loom_job_result *r;
    LOOM_FAILS(loom_session_run(s, &j.d, &r), LOOM_E_CANCELLED);
    pthread_join(thread, NULL);
    LOOM_CHECK(loom_session_interrupted(s));
    LOOM_FAILS(loom_session_run(s, &j.d, &r), LOOM_E_CANCELLED);
    loom_session_close(s);
    free_job(&j);
}

/* The client is killed outright: daemon and workers go by themselves, folders too. */
LOOM_TEST(session, after_the_clients_death_nothing_is_left) {
    char *folder = loom_xstrdup("/tmp/loom-orphan-XXXXXX");
    LOOM_CHECK(mkdtemp(folder));
    setenv("TMPDIR", folder, 1);
    int tell[2];
    LOOM_CHECK(pipe(tell) == 0);
    pid_t child = fork(); /* before any session of this process */
    if (child == 0) {
        loom_session *s = open_session(1, "2000");
        int64_t pid = a_worker(s, 0);
        if (write(tell[1], &pid, sizeof pid) != sizeof pid) _exit(1);
        pause();
    }
    int64_t pid;
    LOOM_CHECK(read(tell[0], &pid, sizeof pid) == sizeof pid);
    end_process(child, SIGKILL);
    double until = loom_seconds() + 10;
    while ((count_entries(folder) || kill((pid_t)pid, 0) == 0) && loom_seconds() < until) usleep(20000);
    LOOM_CHECK_EQ_INT(count_entries(folder), 0);
    LOOM_CHECK(kill((pid_t)pid, 0) != 0);
    unsetenv("TMPDIR");
    loom_remove_tree(folder);
    free(folder);
}
