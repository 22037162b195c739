/* A daemon and workers that were started apart, as a site has them: sessions and workers come, go and are killed, and
 * the daemon too; peers send noise. */
#include "common/buffer.h"
#include "common/clock.h"
#include "common/file.h"
#include "jobs.h"
#include "loom_test.h"
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

extern char **environ;

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
