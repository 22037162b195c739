/* Real processes, stand-ins for compiler and executor (fake.h): is every element taken exactly once, in its place,
 * whatever happens to workers? */
#include "common/buffer.h"
#include "common/clock.h"
#include "compiler/ir/force.h"
#include "jobs.h"
#include "loom_test.h"
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

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
