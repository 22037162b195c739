/* Answers of workers, right ones and forged ones: what is refused changes nothing and leaves no file. */
#include "bench.h"
#include "common/file.h"
#include "loom_test.h"
#include <unistd.h>

static int64_t merged(const bench *b) {
    return loom_ledger_count(b->stage->ledger, LOOM_BLOCK_MERGED);
}

static size_t pieces(const bench *b) {
    return b->stage->outputs[0].pieces.n + b->stage->outputs[1].pieces.n;
}

static void check_end(bench *b) {
    bench_run(b, BENCH_TO_THE_END);
    LOOM_CHECK(b->job->ending);
    LOOM_CHECK_EQ_INT(merged(b), BENCH_BLOCKS);
    LOOM_CHECK(b->job->slots[1] && b->job->slots[2]);
    LOOM_CHECK_EQ_INT(bench_files(b), 2);
}

LOOM_TEST(tasks, a_job_runs_to_its_end_and_leaves_nothing) {
    bench *b = bench_create(LOOM_STAGE_TRAVERSAL);
    LOOM_CHECK_EQ_INT(loom_ledger_count(b->stage->ledger, LOOM_BLOCK_LEASED), 4);
    check_end(b);
    LOOM_CHECK_EQ_INT(b->stage->releases, 0);
    loom_job_end_acknowledged(b->job);
    b->job = NULL;
    LOOM_CHECK_EQ_INT(bench_files(b), 0);
    bench_destroy(b);
}

/* ---- forged deltas ---- */

typedef void (*forge)(bench *b, answer *a, const loom_task *task);

typedef enum becomes {
    IGNORED, /* not an answer to any task: nothing changes */
    FENCED,  /* the epoch's blocks are free again, and the job goes on */
    FAILED,  /* a worker that does not keep to the protocol */
} becomes;

static void unknown_task(bench *b, answer *a, const loom_task *task) {
    (void)b, (void)task;
    a->done.task += 1000;
}
static void stale_epoch(bench *b, answer *a, const loom_task *task) {
    (void)b, (void)task;
    a->epoch.counter += 1000;
}
static void earlier_incarnation(bench *b, answer *a, const loom_task *task) {
    (void)b, (void)task;
    a->epoch.incarnation--;
}
static void another_job(bench *b, answer *a, const loom_task *task) {
    (void)b, (void)task;
    a->done.job++;
}
static void another_run(bench *b, answer *a, const loom_task *task) {
    (void)b, (void)task;
    a->done.run++;
}
static int64_t other_workers_block(const bench *b, const loom_task *task) {
    loom_ledger_run run;
    for (size_t i = 0; loom_ledger_run_at(b->stage->ledger, i, &run); i++) {
        if (run.state == LOOM_BLOCK_FOLDED && run.owner != task->epoch.counter) return run.stretch.first;
    }
    loom_test_fail(__FILE__, __LINE__, "the other worker has nothing");
}
static void add_run(answer *a, int64_t first, int64_t n) {
    size_t k = a->done.n_blocks++;
    wire__block_run__init(&a->runs[k]);
    a->runs[k].first = (uint64_t)first;
    a->runs[k].n = (uint64_t)n;
    a->run_list[k] = &a->runs[k];
}
static void another_ones_block(bench *b, answer *a, const loom_task *task) {
    int64_t first = other_workers_block(b, task);
    add_run(a, first, 1);
    answer_part(b, a, task->worker, 1, first, 1);
}
static void a_block_twice(bench *b, answer *a, const loom_task *task) {
    add_run(a, (int64_t)a->runs[0].first, 1);
    answer_part(b, a, task->worker, 1, (int64_t)a->runs[0].first, 1);
}
static void a_block_is_missing(bench *b, answer *a, const loom_task *task) {
    (void)b, (void)task;
    a->runs[0].n--;
    a->parts[1].n_blocks--;
}
static void blocks_that_are_not_there(bench *b, answer *a, const loom_task *task) {
    (void)b, (void)task;
    a->runs[0].n = UINT64_MAX;
}
static void an_empty_run(bench *b, answer *a, const loom_task *task) {
    (void)b, (void)task;
    add_run(a, 0, 0);
}
static void no_part_of_the_unordered_one(bench *b, answer *a, const loom_task *task) {
    (void)b, (void)task;
    unlink(a->paths[0]);
    a->part_list[0] = a->part_list[--a->done.n_parts];
}
static void two_parts_of_the_unordered_one(bench *b, answer *a, const loom_task *task) {
    answer_part(b, a, task->worker, 0, 0, 1);
}
static void no_part_of_the_ordered_one(bench *b, answer *a, const loom_task *task) {
    (void)b, (void)task;
    while (a->done.n_parts > 1) unlink(a->paths[--a->done.n_parts]);
}
static void a_part_of_no_output(bench *b, answer *a, const loom_task *task) {
    answer_part(b, a, task->worker, 2, 0, 1);
}
/* As many blocks in parts as in the delta, but one of them twice and another not at all. */
static void parts_that_overlap(bench *b, answer *a, const loom_task *task) {
    int64_t first = (int64_t)a->runs[0].first;
    a->parts[1].n_blocks--;
    answer_part(b, a, task->worker, 1, first, 1);
}
static void a_file_that_is_not_there(bench *b, answer *a, const loom_task *task) {
    (void)b, (void)task;
    unlink(a->paths[a->done.n_parts - 1]);
}
static void a_file_outside(bench *b, answer *a, const loom_task *task) {
    (void)task;
    unlink(a->paths[1]);
    snprintf(a->paths[1], sizeof a->paths[1], "%s/outside", b->folder);
    LOOM_OK(loom_file_write(a->paths[1], "8 bytes.", 8, false));
}
static void a_value_that_makes_no_sense(bench *b, answer *a, const loom_task *task) {
    (void)b, (void)task;
    a->objects[1].bytes = 7;
}

static const struct {
    const char *name;
    forge forge;
    becomes becomes;
} forged[] = {
    {"unknown task", unknown_task, IGNORED},
    {"stale epoch", stale_epoch, IGNORED},
    {"earlier incarnation", earlier_incarnation, IGNORED},
    {"another job", another_job, IGNORED},
    {"another run", another_run, IGNORED},
    {"a block of another worker's lease", another_ones_block, FENCED},
    {"a folded block is missing", a_block_is_missing, FENCED},
    {"a block twice", a_block_twice, FAILED},
    {"blocks that are not there", blocks_that_are_not_there, FAILED},
    {"a run without blocks", an_empty_run, FAILED},
    {"no part of the unordered output", no_part_of_the_unordered_one, FAILED},
    {"two parts of the unordered output", two_parts_of_the_unordered_one, FAILED},
    {"no part of the ordered output", no_part_of_the_ordered_one, FAILED},
    {"a part of no output", a_part_of_no_output, FAILED},
    {"parts that overlap", parts_that_overlap, FAILED},
    {"a file that is not there", a_file_that_is_not_there, FAILED},
    {"a file outside the folder", a_file_outside, FAILED},
    {"an object smaller than its value", a_value_that_makes_no_sense, FAILED},
};

LOOM_TEST(tasks, a_forged_delta_changes_nothing) {
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        fprintf(stderr, "delta: %s\n", forged[i].name);
        bench *b = bench_create(LOOM_STAGE_TRAVERSAL);
        bench_run(b, WIRE__TASK_KIND__DELTA);
        loom_task *task = bench_task(b->workers[0], WIRE__TASK_KIND__DELTA);
        int64_t held = loom_ledger_held(b->stage->ledger, task->epoch);
        LOOM_CHECK(held > 0);
        loom_epoch epoch = task->epoch;
        answer a;
        answer_right(b, &a, task);
        forged[i].forge(b, &a, task);
        loom_task_done(&b->d, b->workers[0], &a.done);
        loom_ledger_verify(b->stage->ledger);
        LOOM_CHECK_EQ_INT(merged(b), 0);
        LOOM_CHECK_EQ_INT(pieces(b), 0);
        LOOM_CHECK_EQ_INT(bench_files(b), 0);
        LOOM_CHECK_EQ_INT(b->job->ending, forged[i].becomes == FAILED);
        LOOM_CHECK_EQ_INT(b->stage->releases, forged[i].becomes == IGNORED ? 0 : held);
        LOOM_CHECK_EQ_INT(loom_ledger_is_current(b->stage->ledger, epoch), forged[i].becomes == IGNORED);
        if (!b->job->ending) {
            loom_schedule(&b->d);
            check_end(b);
        }
        bench_destroy(b);
    }
}

LOOM_TEST(tasks, a_repeated_delta_and_one_of_another_worker_change_nothing) {
    bench *b = bench_create(LOOM_STAGE_TRAVERSAL);
    bench_run(b, WIRE__TASK_KIND__DELTA);
    loom_task *task = bench_task(b->workers[0], WIRE__TASK_KIND__DELTA);
    int64_t held = loom_ledger_held(b->stage->ledger, task->epoch);
    answer a, again;
    answer_right(b, &a, task);
    answer_right(b, &again, task);
    loom_task_done(&b->d, b->workers[1], &a.done); /* it is not its lease; nor does it remove another one's files */
    LOOM_CHECK_EQ_INT(merged(b), 0);
    size_t parts = a.done.n_parts;
    LOOM_CHECK_EQ_INT(bench_files(b), 2 * parts);
    loom_task_done(&b->d, b->workers[0], &a.done);
    LOOM_CHECK_EQ_INT(merged(b), held);
    LOOM_CHECK_EQ_INT(bench_files(b), 2 * parts);
    loom_task_done(&b->d, b->workers[0], &again.done);
    LOOM_CHECK_EQ_INT(merged(b), held);
    LOOM_CHECK_EQ_INT(bench_files(b), parts);
    loom_task_done(&b->d, NULL, &again.done);
    loom_schedule(&b->d);
    check_end(b);
    bench_destroy(b);
}

LOOM_TEST(tasks, what_the_store_refuses_changes_nothing) {
    bench *b = bench_create(LOOM_STAGE_TRAVERSAL);
    bench_run(b, WIRE__TASK_KIND__DELTA);
    loom_task *task = bench_task(b->workers[0], WIRE__TASK_KIND__DELTA);
    loom_stretch block = {other_workers_block(b, task), 1};
    answer a;
    answer_right(b, &a, task);
    /* The store has had a delta of this epoch already. */
    LOOM_OK(loom_store_delta(b->d.store, b->job->id, b->stage->instance, task->epoch, 1, &block, 1, NULL, 0));
    loom_task_done(&b->d, b->workers[0], &a.done);
    LOOM_CHECK(b->job->ending);
    LOOM_CHECK_EQ_INT(merged(b), 0);
    LOOM_CHECK_EQ_INT(pieces(b), 0);
    LOOM_CHECK_EQ_INT(bench_files(b), 0);
    bench_destroy(b);
}

/* ---- the other kinds ---- */

LOOM_TEST(tasks, a_merge_with_too_many_results_leaves_nothing) {
    for (int parts = 0; parts <= 2; parts += 2) {
        bench *b = bench_create(LOOM_STAGE_TRAVERSAL);
        bench_run(b, WIRE__TASK_KIND__MERGE);
        loom_task *task = bench_task(b->workers[0], WIRE__TASK_KIND__MERGE);
        size_t before = bench_files(b), n = pieces(b);
        answer a;
        answer_begin(&a, task);
        for (int i = 0; i < parts; i++) answer_part(b, &a, b->workers[0], 0, 0, 0);
        loom_task_done(&b->d, b->workers[0], &a.done);
        LOOM_CHECK(b->job->ending);
        LOOM_CHECK_EQ_INT(pieces(b), n);
        LOOM_CHECK_EQ_INT(bench_files(b), before);
        bench_destroy(b);
    }
}

LOOM_TEST(tasks, an_array_stage_gives_all_outputs_or_none) {
    for (int way = 0; way < 4; way++) {
        bench *b = bench_create(LOOM_STAGE_ARRAY);
        loom_task *task = b->stage->running;
        LOOM_CHECK(task);
        answer a;
        answer_right(b, &a, task);
        if (way == 0) a.parts[1].output = 0;
        if (way == 1) a.parts[1].output = 2;
        if (way == 2) unlink(a.paths[1]);
        loom_task_done(&b->d, task->worker, &a.done);
        LOOM_CHECK(b->job->ending);
        bool right = way == 3;
        LOOM_CHECK_EQ_INT(b->job->slots[1] != NULL, right);
        LOOM_CHECK_EQ_INT(b->job->slots[2] != NULL, right);
        LOOM_CHECK_EQ_INT(bench_files(b), right ? 2 : 0);
        bench_destroy(b);
    }
}

LOOM_TEST(tasks, an_answer_with_an_error_leaves_no_file) {
    bench *b = bench_create(LOOM_STAGE_ARRAY);
    loom_task *task = b->stage->running;
    Wire__Status failed = WIRE__STATUS__INIT;
    failed.code = LOOM_E_IO;
    failed.message = (char *)"the disk is full";
    answer a;
    answer_right(b, &a, task);
    a.done.status = &failed;
    loom_task_done(&b->d, task->worker, &a.done);
    LOOM_CHECK(b->job->ending);
    LOOM_CHECK_EQ_INT(bench_files(b), 0);
    bench_destroy(b);
}

LOOM_TEST(tasks, the_least_failing_block_ends_the_job) {
    bench *b = bench_create(LOOM_STAGE_TRAVERSAL);
    Wire__Status failed = WIRE__STATUS__INIT;
    failed.code = LOOM_E_DATA;
    failed.message = (char *)"index 7 is outside";
    loom_task *high = bench_task(b->workers[1], WIRE__TASK_KIND__FOLD);
    loom_task *low = bench_task(b->workers[0], WIRE__TASK_KIND__FOLD);
    LOOM_CHECK(high->stretch.first > low->stretch.first);
    answer a;
    answer_begin(&a, high);
    a.done.status = &failed;
    a.done.has_failed_block = true;
    a.done.failed_block = UINT64_MAX; /* outside its lease: taken for the first block of it */
    int64_t first = high->stretch.first;
    loom_task_done(&b->d, b->workers[1], &a.done);
    loom_schedule(&b->d);
    LOOM_CHECK(!b->job->ending);
    LOOM_CHECK_EQ_INT(b->stage->fail_block, first);
    bench_run(b, BENCH_TO_THE_END);
    LOOM_CHECK(b->job->ending);
    LOOM_CHECK(!b->job->slots[1]);
    bench_destroy(b);
}

/* What is collected is handed over when it takes a part of the worker's memory, not before. */
LOOM_TEST(tasks, much_that_is_collected_is_handed_over) {
    for (int much = 0; much < 2; much++) {
        bench *b = bench_create(LOOM_STAGE_TRAVERSAL);
        b->outputs[1].kind = LOOM_OUT_COLLECT;
        loom_worker *w = b->workers[0];
        w->memory = 100 * LOOM_COLLECTED_SHARE;
        loom_task *fold = bench_task(w, WIRE__TASK_KIND__FOLD);
        answer a;
        answer_right(b, &a, fold);
        a.done.has_collected = true;
        a.done.collected = much ? 101 : 100;
        loom_task_done(&b->d, w, &a.done);
        loom_schedule(&b->d);
        LOOM_CHECK_EQ_INT(bench_task(w, WIRE__TASK_KIND__DELTA) != NULL, much);
        check_end(b);
        bench_destroy(b);
    }
}

/* A lease is no longer than what may be collected in it: 100 bytes are one block of 60. */
LOOM_TEST(tasks, leases_are_as_long_as_what_may_be_collected) {
    bench *b = bench_create(LOOM_STAGE_TRAVERSAL);
    b->outputs[1].kind = LOOM_OUT_COLLECT;
    loom_worker *w = b->workers[0];
    w->memory = 100 * LOOM_COLLECTED_SHARE;
    loom_task *fold = bench_task(w, WIRE__TASK_KIND__FOLD);
    fold->seat->rate = 1e9;
    answer a;
    answer_right(b, &a, fold);
    a.done.has_collected = true;
    a.done.collected = 60;
    loom_task_done(&b->d, w, &a.done);
    loom_schedule(&b->d);
    loom_task *last = w->tasks.at[w->tasks.n - 1];
    LOOM_CHECK_EQ_INT(last->kind, WIRE__TASK_KIND__FOLD);
    LOOM_CHECK_EQ_INT(last->stretch.n, 1);
    check_end(b);
    bench_destroy(b);
}

/* ---- values that stay with their worker ---- */

static size_t may_stay(const loom_task *delta) {
    uint32_t outputs[2];
    return loom_resident_outputs(delta, outputs);
}

/* One worker has folded everything; its answer, in which output 0 stays with it, is not given yet. */
static bench *with_all_at_one_worker(answer *a) {
    bench *b = bench_create_with_reader(LOOM_STAGE_TRAVERSAL);
    loom_worker_lost(b->workers[1], "the test wants one");
    bench_run(b, WIRE__TASK_KIND__DELTA);
    loom_task *task = bench_task(b->workers[0], WIRE__TASK_KIND__DELTA);
    LOOM_CHECK_EQ_INT(loom_ledger_held(b->stage->ledger, task->epoch), BENCH_BLOCKS);
    answer_right(b, a, task);
    answer_stays(a, 0);
    b->stage->releases = 0;
    return b;
}

LOOM_TEST(residents, a_value_that_stays_is_read_where_it_is) {
    answer a;
    bench *b = with_all_at_one_worker(&a);
    LOOM_CHECK_EQ_INT(may_stay(bench_task(b->workers[0], WIRE__TASK_KIND__DELTA)), 1);
    b->stage->outputs[0].done = true; /* had it been read, and another one been lost */
    LOOM_CHECK_EQ_INT(may_stay(bench_task(b->workers[0], WIRE__TASK_KIND__DELTA)), 0);
    b->stage->outputs[0].done = false;
    bench_hello(b, 3); /* another one, which does not have it */
    loom_task_done(&b->d, b->workers[0], &a.done);
    loom_schedule(&b->d);
    LOOM_CHECK_EQ_INT(merged(b), 0); /* it is not accepted yet */
    LOOM_CHECK_EQ_INT(b->stage->state, LOOM_STAGE_RUNNING);
    LOOM_CHECK(b->job->slots[1] && b->job->slots[2]);
    loom_task *read = bench_task(b->workers[0], WIRE__TASK_KIND__ARRAY);
    LOOM_CHECK(read && read->stage == &b->job->stages[1]);
    bench_run(b, BENCH_TO_THE_END);
    LOOM_CHECK_EQ_INT(merged(b), BENCH_BLOCKS);
    LOOM_CHECK_EQ_INT(b->stage->state, LOOM_STAGE_DONE);
    LOOM_CHECK(!b->job->slots[1] && b->job->slots[2] && b->job->slots[3]);
    LOOM_CHECK_EQ_INT(bench_files(b), 2);
    LOOM_CHECK_EQ_INT(b->stage->releases, 0);
    bench_destroy(b);
}

/* Before the array stage has begun, or while it runs. */
LOOM_TEST(residents, what_stayed_with_a_dead_worker_is_made_again) {
    for (int begun = 0; begun < 2; begun++) {
        answer a;
        bench *b = with_all_at_one_worker(&a);
        loom_worker *other = bench_hello(b, 3);
        loom_task_done(&b->d, b->workers[0], &a.done);
        if (begun) loom_schedule(&b->d);
        loom_held_object *kept = b->job->slots[2];
        loom_worker_lost(b->workers[0], "the test wants it");
        LOOM_CHECK_EQ_INT(b->stage->releases, BENCH_BLOCKS);
        LOOM_CHECK_EQ_INT(loom_ledger_count(b->stage->ledger, LOOM_BLOCK_FREE), BENCH_BLOCKS);
        LOOM_CHECK(!b->job->slots[1] && b->job->slots[2] == kept);
        LOOM_CHECK_EQ_INT(b->job->stages[1].state, LOOM_STAGE_PENDING);
        LOOM_CHECK_EQ_INT(b->job->deaths, 1); /* so that nothing stays with the next one */
        if (begun) b->job->deaths = 0;
        loom_schedule(&b->d);
        bench_run(b, WIRE__TASK_KIND__DELTA);
        loom_task *again = bench_task(other, WIRE__TASK_KIND__DELTA);
        answer_right(b, &a, again);
        if (begun) answer_stays(&a, 0); /* it may stay once more */
        loom_task_done(&b->d, other, &a.done);
        loom_schedule(&b->d);
        bench_run(b, BENCH_TO_THE_END);
        LOOM_CHECK(b->job->ending);
        LOOM_CHECK_EQ_INT(merged(b), BENCH_BLOCKS);
        LOOM_CHECK(!b->job->slots[1] && b->job->slots[2] == kept && b->job->slots[3]);
        LOOM_CHECK_EQ_INT(bench_files(b), 2);
        bench_destroy(b);
    }
}

/* Else workers that die of reading it would add it up again and again. */
LOOM_TEST(residents, after_a_death_nothing_stays) {
    answer a;
    bench *b = with_all_at_one_worker(&a);
    loom_task *task = bench_task(b->workers[0], WIRE__TASK_KIND__DELTA);
    b->job->deaths = 1;
    LOOM_CHECK_EQ_INT(may_stay(task), 0);
    b->job->deaths = 0;
    loom_task_done(&b->d, b->workers[0], &a.done);
    b->job->deaths = 5;
    loom_schedule(&b->d);
    LOOM_CHECK_EQ_INT(b->job->deaths, 5); /* nothing has been finished */
    bench_run(b, BENCH_TO_THE_END);
    LOOM_CHECK_EQ_INT(b->job->deaths, 0);
    bench_destroy(b);
}

static void of_an_output_that_nobody_reads(answer *a) {
    answer_stays(a, 1);
}
static void without_a_number(answer *a) {
    a->objects[0].resident = 0;
}
static void in_a_file_too(answer *a) {
    snprintf(a->paths[0], sizeof a->paths[0], "/tmp/nothing");
}
static void too_small(answer *a) {
    a->objects[0].bytes = LOOM_SMALL_VALUE_BYTES;
}
LOOM_TEST(residents, a_value_that_may_not_stay_changes_nothing) {
    static void (*const forge_stay[])(answer *) = {of_an_output_that_nobody_reads, without_a_number, in_a_file_too,
                                                   too_small};
    for (size_t i = 0; i < sizeof forge_stay / sizeof *forge_stay; i++) {
        answer a;
        bench *b = with_all_at_one_worker(&a);
        forge_stay[i](&a);
        loom_task_done(&b->d, b->workers[0], &a.done);
        LOOM_CHECK(b->job->ending);
        LOOM_CHECK_EQ_INT(merged(b), 0);
        LOOM_CHECK(!b->job->slots[1] && !b->job->slots[2]);
        LOOM_CHECK_EQ_INT(bench_files(b), 0);
        bench_destroy(b);
    }
}

/* All that a stage reads in memory is in the memory of one worker, and nothing stays of a part of the blocks. */
LOOM_TEST(residents, values_stay_with_one_worker_or_none) {
    answer a;
    bench *b = with_all_at_one_worker(&a);
    b->job->stages[1].reads_at = bench_hello(b, 3);
    LOOM_CHECK_EQ_INT(may_stay(bench_task(b->workers[0], WIRE__TASK_KIND__DELTA)), 0);
    loom_task_done(&b->d, b->workers[0], &a.done);
    LOOM_CHECK(b->job->ending && !b->job->slots[1]);
    bench_destroy(b);
    b = bench_create_with_reader(LOOM_STAGE_TRAVERSAL);
    bench_run(b, WIRE__TASK_KIND__DELTA);
    loom_task *task = bench_task(b->workers[0], WIRE__TASK_KIND__DELTA);
    LOOM_CHECK(loom_ledger_held(b->stage->ledger, task->epoch) < BENCH_BLOCKS);
    LOOM_CHECK_EQ_INT(may_stay(task), 0);
    answer_right(b, &a, task);
    answer_stays(&a, 0);
    loom_task_done(&b->d, b->workers[0], &a.done);
    LOOM_CHECK(b->job->ending && !b->job->slots[1]);
    LOOM_CHECK_EQ_INT(bench_files(b), 0);
    bench_destroy(b);
}

/* One worker, number 1, runs an array stage of which a traversal reads output 0. */
static loom_task *array_for_a_traversal(bench **b) {
    *b = bench_create_with_reader(LOOM_STAGE_ARRAY);
    LOOM_CHECK_EQ_INT(may_stay((*b)->stage->running), 0); /* there are two */
    loom_worker_lost((*b)->workers[0], "the test wants one");
    (*b)->job->stages[1].pace.seconds = 1e-6;
    loom_schedule(&(*b)->d);
    LOOM_CHECK((*b)->stage->running);
    return (*b)->stage->running;
}

static int64_t merged_by_reader(const bench *b) {
    return loom_ledger_count(b->job->stages[1].ledger, LOOM_BLOCK_MERGED);
}

LOOM_TEST(residents, a_traversal_reads_what_stays_of_an_array_stage) {
    bench *b;
    loom_task *task = array_for_a_traversal(&b);
    LOOM_CHECK_EQ_INT(may_stay(task), 1);
    b->job->stages[1].pace.seconds = 1e6; /* others that come should have a part in it */
    LOOM_CHECK_EQ_INT(may_stay(task), 0);
    b->job->stages[1].pace.seconds = 0; /* nothing is known of it, nor of others */
    LOOM_CHECK_EQ_INT(may_stay(task), 0);
    b->job->totals = (loom_job_totals){.traversal = 1, .elements = 1000000};
    LOOM_CHECK_EQ_INT(may_stay(task), 1);
    loom_worker *other = bench_hello(b, 3);
    answer a;
    answer_right(b, &a, task);
    answer_stays(&a, 0);
    loom_task_done(&b->d, b->workers[1], &a.done);
    loom_schedule(&b->d);
    LOOM_CHECK_EQ_INT(b->stage->state, LOOM_STAGE_RUNNING); /* it is not accepted yet, */
    LOOM_CHECK(!b->stage->running);                         /* nor run again, */
    LOOM_CHECK_EQ_INT(other->tasks.n, 0);                   /* and the traversal is one worker's */
    LOOM_CHECK(bench_task(b->workers[1], WIRE__TASK_KIND__FOLD));
    bench_run(b, BENCH_TO_THE_END);
    LOOM_CHECK(b->job->ending);
    LOOM_CHECK_EQ_INT(merged_by_reader(b), BENCH_BLOCKS);
    LOOM_CHECK_EQ_INT(b->stage->state, LOOM_STAGE_DONE);
    LOOM_CHECK(!b->job->slots[1] && b->job->slots[2] && b->job->slots[3]);
    LOOM_CHECK_EQ_INT(bench_files(b), 2);
    bench_destroy(b);
}

/* The traversal keeps what has been handed over of it, and waits. */
LOOM_TEST(residents, an_array_stage_runs_again_when_its_value_is_lost) {
    bench *b;
    loom_task *task = array_for_a_traversal(&b);
    loom_worker *w = b->workers[1], *other = bench_hello(b, 3);
    const loom_job_stage *reader = &b->job->stages[1];
    answer a;
    answer_right(b, &a, task);
    answer_stays(&a, 0);
    loom_task_done(&b->d, w, &a.done);
    b->d.options.handover = 1e-9; /* after each lease */
    loom_schedule(&b->d);
    bench_run(b, WIRE__TASK_KIND__DELTA);
    answer_right(b, &a, bench_task(w, WIRE__TASK_KIND__DELTA));
    loom_task_done(&b->d, w, &a.done);
    loom_schedule(&b->d);
    int64_t before = merged_by_reader(b);
    LOOM_CHECK(before > 0 && before < BENCH_BLOCKS);
    LOOM_CHECK(bench_task(w, WIRE__TASK_KIND__FOLD));
    loom_held_object *kept = b->job->slots[2];
    loom_worker_lost(w, "the test wants it");
    loom_schedule(&b->d);
    LOOM_CHECK(!b->job->slots[1] && b->job->slots[2] == kept);
    LOOM_CHECK_EQ_INT(b->job->deaths, 1);
    LOOM_CHECK_EQ_INT(other->tasks.n, 1);
    LOOM_CHECK(b->stage->running && b->stage->running->worker == other);
    LOOM_CHECK_EQ_INT(may_stay(b->stage->running), 0); /* so that it is not lost again and again */
    LOOM_CHECK_EQ_INT(merged_by_reader(b), before);
    LOOM_CHECK_EQ_INT(loom_ledger_count(reader->ledger, LOOM_BLOCK_FREE), BENCH_BLOCKS - before);
    bench_run(b, BENCH_TO_THE_END);
    LOOM_CHECK(b->job->ending);
    LOOM_CHECK_EQ_INT(merged_by_reader(b), BENCH_BLOCKS);
    LOOM_CHECK(!b->job->slots[1] && b->job->slots[2] == kept && b->job->slots[3]);
    LOOM_CHECK_EQ_INT(bench_files(b), 2);
    bench_destroy(b);
}

/* A traversal of which the turn before is known: what its help saves against what its hand-over takes. */
LOOM_TEST(tasks, a_worker_joins_where_it_saves_time) {
    for (int worth = 0; worth < 2; worth++) {
        bench *b = bench_create_with_reader(LOOM_STAGE_ARRAY);
        loom_job_stage *reader = &b->job->stages[1];
        reader->pace = (loom_pace){.seconds = worth ? 1 : 1e-6, .bytes = 1e9};
        bench_run(b, WIRE__TASK_KIND__FOLD);
        loom_worker *first = b->workers[0]->tasks.n ? b->workers[0] : b->workers[1];
        loom_worker *other = first == b->workers[0] ? b->workers[1] : b->workers[0];
        LOOM_CHECK(bench_task(first, WIRE__TASK_KIND__FOLD));
        LOOM_CHECK_EQ_INT(bench_task(other, WIRE__TASK_KIND__FOLD) != NULL, worth);
        if (!worth) { /* where the only one is gone the other one does it all */
            loom_worker_lost(first, "the test wants it");
            loom_schedule(&b->d);
            LOOM_CHECK(bench_task(other, WIRE__TASK_KIND__FOLD));
        }
        bench_run(b, BENCH_TO_THE_END);
        LOOM_CHECK(b->job->ending);
        LOOM_CHECK_EQ_INT(merged_by_reader(b), BENCH_BLOCKS);
        LOOM_CHECK(reader->pace.bytes > 0 && reader->pace.bytes < 1e9); /* of this turn */
        bench_destroy(b);
    }
}

/* All blocks are inside, and the client has not taken all parts yet. */
LOOM_TEST(residents, what_has_been_read_need_not_be_made_again) {
    bench *b;
    loom_task *task = array_for_a_traversal(&b);
    loom_worker *w = b->workers[1], *other = bench_hello(b, 3);
    b->read_output.kind = LOOM_OUT_STREAM;
    b->graph.result_is_stream = true;
    answer a;
    answer_right(b, &a, task);
    answer_stays(&a, 0);
    loom_task_done(&b->d, w, &a.done);
    loom_schedule(&b->d);
    bench_run(b, BENCH_TO_THE_END);
    loom_job_stage *reader = &b->job->stages[1];
    for (int64_t first = 0; first < BENCH_BLOCKS; first++) {
        if (reader->outputs[0].unacknowledged == 1 && merged_by_reader(b) == BENCH_BLOCKS) break;
        loom_stage_part_acknowledged(b->job, (uint64_t)first);
        loom_schedule(&b->d);
        bench_run(b, BENCH_TO_THE_END);
    }
    LOOM_CHECK_EQ_INT(merged_by_reader(b), BENCH_BLOCKS);
    LOOM_CHECK(!b->job->ending && reader->outputs[0].unacknowledged == 1 && b->stage->deferred.worker == w);
    loom_worker_lost(w, "the test wants it");
    loom_schedule(&b->d);
    LOOM_CHECK_EQ_INT(other->tasks.n, 0);
    LOOM_CHECK_EQ_INT(b->stage->state, LOOM_STAGE_DONE);
    const loom_piece *last = reader->outputs[0].pieces.at[0];
    loom_stage_part_acknowledged(b->job, (uint64_t)last->stretch.first);
    LOOM_CHECK(b->job->ending);
    LOOM_CHECK(!b->job->slots[1]);
    bench_destroy(b);
}

LOOM_TEST(residents, of_an_array_stage_too_only_what_was_allowed_stays) {
    static void (*const forge_stay[])(answer *) = {of_an_output_that_nobody_reads, without_a_number, in_a_file_too,
                                                   too_small};
    for (size_t i = 0; i < sizeof forge_stay / sizeof *forge_stay; i++) {
        bench *b;
        loom_task *task = array_for_a_traversal(&b);
        answer a;
        answer_right(b, &a, task);
        answer_stays(&a, 0);
        forge_stay[i](&a);
        loom_task_done(&b->d, b->workers[1], &a.done);
        LOOM_CHECK(b->job->ending);
        LOOM_CHECK(!b->job->slots[1] && !b->job->slots[2]);
        LOOM_CHECK_EQ_INT(bench_files(b), 0);
        bench_destroy(b);
    }
}

/* Of other tasks nobody would see that it is gone with its worker. */
LOOM_TEST(residents, values_stay_for_a_reader_only) {
    static const Wire__TaskKind kinds[] = {WIRE__TASK_KIND__MERGE, WIRE__TASK_KIND__ARRAY};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        bool array = kinds[i] == WIRE__TASK_KIND__ARRAY;
        bench *b = bench_create(array ? LOOM_STAGE_ARRAY : LOOM_STAGE_TRAVERSAL);
        bench_run(b, kinds[i]);
        loom_task *task = array ? b->stage->running : bench_task(b->workers[0], kinds[i]);
        size_t before = bench_files(b);
        answer a;
        answer_right(b, &a, task);
        answer_stays(&a, 0);
        loom_task_done(&b->d, task->worker, &a.done);
        LOOM_CHECK(b->job->ending && !b->job->slots[1]);
        LOOM_CHECK_EQ_INT(bench_files(b), before);
        bench_destroy(b);
    }
}
