/* Stages whose states go from block to block: who folds which block, with which states, whatever becomes of workers and
 * of what they hand over. */
#include "bench.h"
#include "loom_test.h"

static int64_t merged(const bench *b) {
    return loom_ledger_count(b->stage->ledger, LOOM_BLOCK_MERGED);
}

static bool is_of_chain(const loom_task *task) {
    return task->kind == WIRE__TASK_KIND__FOLD || task->kind == WIRE__TASK_KIND__DELTA;
}

/* The worker that has leases; there is never more than one. */
static loom_worker *holder(const bench *b) {
    loom_worker *found = NULL;
    for (size_t i = 0; i < b->job->tasks.n; i++) {
        const loom_task *task = b->job->tasks.at[i];
        if (!is_of_chain(task)) continue;
        LOOM_CHECK(!found || found == task->worker);
        found = task->worker;
    }
    return found;
}

static void answer_rightly(bench *b, const loom_task *task) {
    answer a;
    answer_right(b, &a, task);
    loom_task_done(&b->d, task->worker, &a.done);
    loom_schedule(&b->d);
    loom_ledger_verify(b->stage->ledger);
}

/* Answers what the holder has, in order, until so many blocks are merged; looks at each lease before. Counts those that
 * begin with states. */
static int run_chain(bench *b, int64_t blocks) {
    int begun = 0;
    while (!b->job->ending && merged(b) < blocks) {
        loom_worker *w = holder(b);
        if (!w) break;
        const loom_task *task = w->tasks.at[0];
        if (task->kind == WIRE__TASK_KIND__FOLD && task->begins) {
            Wire__Object state;
            begun++;
            LOOM_CHECK_EQ_INT(task->stretch.first, merged(b));                 /* behind all that is accepted, */
            LOOM_CHECK_EQ_INT(loom_chain_states(task, &state), merged(b) > 0); /* with its state */
        }
        answer_rightly(b, task);
    }
    return begun;
}

static void check_end(bench *b) {
    run_chain(b, BENCH_BLOCKS);
    bench_run(b, BENCH_TO_THE_END);
    LOOM_CHECK(b->job->ending);
    LOOM_CHECK_EQ_INT(merged(b), BENCH_BLOCKS);
    LOOM_CHECK(b->job->slots[1] && b->job->slots[2]);
    LOOM_CHECK_EQ_INT(bench_files(b), 2); /* of states only the last one is left */
}

LOOM_TEST(chains, one_worker_goes_on_with_its_states) {
    bench *b = bench_create_chained();
    const loom_worker *w = holder(b);
    LOOM_CHECK_EQ_INT(run_chain(b, BENCH_BLOCKS), 1);
    LOOM_CHECK(w);
    check_end(b);
    LOOM_CHECK_EQ_INT(b->stage->releases, 0);
    bench_destroy(b);
}

LOOM_TEST(chains, another_worker_begins_behind_what_was_accepted) {
    bench *b = bench_create_chained();
    run_chain(b, 3);
    int64_t before = merged(b);
    LOOM_CHECK(before >= 3 && before < BENCH_BLOCKS);
    loom_worker *w = holder(b);
    LOOM_CHECK(w);
    loom_worker_lost(w, "the test says so");
    loom_schedule(&b->d);
    LOOM_CHECK(holder(b) && holder(b) != w);
    LOOM_CHECK_EQ_INT(merged(b), before);
    LOOM_CHECK_EQ_INT(run_chain(b, BENCH_BLOCKS), 1);
    check_end(b);
    bench_destroy(b);
}

/* The next DELTA of the holder, with what comes before it answered; NULL: there is none. */
static loom_task *next_delta(bench *b) {
    for (loom_worker *w; (w = holder(b));) {
        loom_task *task = w->tasks.at[0];
        if (task->kind == WIRE__TASK_KIND__DELTA) return task;
        answer_rightly(b, task);
    }
    return NULL;
}

LOOM_TEST(chains, what_was_made_of_a_refused_state_is_not_accepted) {
    bench *b = bench_create_chained();
    run_chain(b, 2);
    loom_task *task = next_delta(b);
    LOOM_CHECK(task && task->worker->tasks.n > 1); /* a lease of the next epoch is out already */
    int64_t before = merged(b);
    loom_task *later = task->worker->tasks.at[1];
    loom_epoch epoch = later->epoch;
    answer a;
    answer_begin(&a, task);
    Wire__Status status = WIRE__STATUS__INIT;
    status.code = LOOM_E_CANCELLED;
    status.message = (char *)"cancelled";
    a.done.status = &status;
    loom_task_done(&b->d, task->worker, &a.done);
    LOOM_CHECK(!b->job->ending);
    LOOM_CHECK_EQ_INT(merged(b), before);
    LOOM_CHECK(!loom_ledger_is_current(b->stage->ledger, epoch));
    LOOM_CHECK_EQ_INT(loom_ledger_count(b->stage->ledger, LOOM_BLOCK_FREE), BENCH_BLOCKS - before);
    loom_schedule(&b->d);
    LOOM_CHECK_EQ_INT(run_chain(b, BENCH_BLOCKS), 1);
    check_end(b);
    bench_destroy(b);
}

LOOM_TEST(chains, an_error_of_a_fenced_lease_is_not_the_jobs) {
    bench *b = bench_create_chained();
    loom_task *task = next_delta(b);
    LOOM_CHECK(task && task->worker->tasks.n > 1);
    loom_task *later = task->worker->tasks.at[1];
    LOOM_CHECK_EQ_INT(later->kind, WIRE__TASK_KIND__FOLD);
    loom_worker *w = task->worker;
    answer a;
    Wire__Status status = WIRE__STATUS__INIT;
    status.code = LOOM_E_CANCELLED;
    status.message = (char *)"cancelled";
    answer_begin(&a, task);
    a.done.status = &status;
    loom_task_done(&b->d, w, &a.done);
    answer_begin(&a, later);
    status.code = LOOM_E_RUNTIME;
    a.done.status = &status;
    loom_task_done(&b->d, w, &a.done);
    LOOM_CHECK(!b->stage->error && b->stage->fail_block == BENCH_BLOCKS);
    loom_schedule(&b->d);
    check_end(b);
    bench_destroy(b);
}

LOOM_TEST(chains, a_delta_has_one_run_and_one_state) {
    for (int way = 0; way < 2; way++) {
        bench *b = bench_create_chained();
        const loom_task *task = next_delta(b);
        LOOM_CHECK(task);
        answer a;
        answer_right(b, &a, task);
        if (way == 0) answer_part(b, &a, task->worker, 0, 0, 0); /* a second state, of nothing */
        if (way == 1) a.parts[0].output = 1, a.parts[1].output = 0, a.parts[1].n_blocks = 0; /* of no block */
        loom_task_done(&b->d, task->worker, &a.done);
        LOOM_CHECK_EQ_INT(merged(b), 0);
        LOOM_CHECK_EQ_INT(bench_files(b), 0);
        LOOM_CHECK(b->job->ending);
        bench_destroy(b);
    }
}
