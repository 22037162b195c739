/* Workers that come, go, fall silent and come back. */
#include "bench.h"
#include "common/clock.h"
#include "common/file.h"
#include "loom_test.h"
#include <sys/stat.h>

static bool is_there(const char *path) {
    struct stat info;
    return stat(path, &info) == 0;
}

LOOM_TEST(peers, a_lost_workers_files_go_with_it) {
    bench *b = bench_create(LOOM_STAGE_TRAVERSAL);
    bench_run(b, WIRE__TASK_KIND__DELTA);
    loom_worker *w = b->workers[0];
    loom_task *task = bench_task(w, WIRE__TASK_KIND__DELTA);
    int64_t held = loom_ledger_held(b->stage->ledger, task->epoch);
    answer a;
    answer_right(b, &a, task); /* written, and the worker is killed before it says so */
    LOOM_CHECK(bench_files(b) > 0);
    char *folder = loom_xstrdup(w->folders[0]);
    loom_worker_lost(w, "killed");
    LOOM_CHECK_EQ_INT(bench_files(b), 0);
    LOOM_CHECK(!is_there(folder));
    LOOM_CHECK_EQ_INT(b->stage->releases, held);
    LOOM_CHECK_EQ_INT(loom_ledger_count(b->stage->ledger, LOOM_BLOCK_FREE), held);
    free(folder);
    loom_schedule(&b->d);
    bench_run(b, BENCH_TO_THE_END);
    LOOM_CHECK(b->job->ending && b->job->slots[1]);
    bench_destroy(b);
}

LOOM_TEST(peers, a_worker_that_registers_anew_has_nothing_and_another_folder) {
    bench *b = bench_create(LOOM_STAGE_TRAVERSAL);
    loom_task *task = bench_task(b->workers[0], WIRE__TASK_KIND__FOLD);
    answer a;
    answer_begin(&a, task);
    answer_part(b, &a, b->workers[0], 0, 0, 1);
    char *folder = loom_xstrdup(b->workers[0]->folders[0]);
    loom_worker *anew = b->workers[0] = bench_hello(b, 1);
    LOOM_CHECK_EQ_INT(anew->tasks.n, 0);
    LOOM_CHECK(!is_there(folder) && is_there(anew->folders[0]) && strcmp(folder, anew->folders[0]) != 0);
    LOOM_CHECK(b->stage->releases > 0);
    loom_schedule(&b->d);
    loom_task_done(&b->d, anew, &a.done); /* of its earlier life */
    LOOM_CHECK_EQ_INT(loom_ledger_count(b->stage->ledger, LOOM_BLOCK_FOLDED), 0);
    free(folder);
    bench_run(b, BENCH_TO_THE_END);
    LOOM_CHECK(b->job->ending && b->job->slots[1]);
    bench_destroy(b);
}

LOOM_TEST(peers, who_falls_silent_is_gone_whatever_it_did) {
    static const Wire__TaskKind kinds[] = {WIRE__TASK_KIND__FOLD, WIRE__TASK_KIND__DELTA, WIRE__TASK_KIND__MERGE};
    for (size_t i = 0; i < 3; i++) {
        bench *b = bench_create(LOOM_STAGE_TRAVERSAL);
        bench_run(b, kinds[i]);
        loom_worker *w = b->workers[0];
        if (!bench_task(w, kinds[i])) w = b->workers[1];
        LOOM_CHECK(bench_task(w, kinds[i]));
        loom_peers_check(&b->d);
        LOOM_CHECK_EQ_INT(b->d.workers.n, 2);
        w->last_seen -= LOOM_BEAT_SECONDS * LOOM_BEATS_MISSED + 1;
        loom_peers_check(&b->d);
        LOOM_CHECK_EQ_INT(b->d.workers.n, 1);
        LOOM_CHECK(b->stage->releases > 0);
        loom_ledger_verify(b->stage->ledger);
        loom_schedule(&b->d);
        bench_run(b, BENCH_TO_THE_END);
        LOOM_CHECK(b->job->ending && b->job->slots[1]);
        bench_destroy(b);
    }
}

/* A worker whose beats come but whose threads do nothing; one that computes, however long, is left alone. */
LOOM_TEST(peers, who_is_stuck_is_gone_whatever_it_did) {
    static const Wire__TaskKind kinds[] = {WIRE__TASK_KIND__FOLD, WIRE__TASK_KIND__DELTA, WIRE__TASK_KIND__MERGE,
                                           WIRE__TASK_KIND__ARRAY};
    for (size_t i = 0; i < 4; i++) {
        bool array = kinds[i] == WIRE__TASK_KIND__ARRAY;
        bench *b = bench_create(array ? LOOM_STAGE_ARRAY : LOOM_STAGE_TRAVERSAL);
        bench_run(b, kinds[i]);
        loom_worker *w = bench_task(b->workers[0], kinds[i]) ? b->workers[0] : b->workers[1];
        loom_task *task = w->tasks.at[0];
        LOOM_CHECK_EQ_INT(task->kind, kinds[i]);
        Wire__TaskBeat beat = WIRE__TASK_BEAT__INIT;
        beat.task = task->id;
        for (beat.signs = 1; beat.signs < 3; beat.signs++) {
            task->progressed -= LOOM_LEASE_DEADLINE + 1;
            loom_task_progress(w, &beat);
            loom_peers_check(&b->d);
            LOOM_CHECK_EQ_INT(b->d.workers.n, 2);
        }
        loom_epoch epoch = task->epoch;
        beat.signs = 2;
        task->progressed -= LOOM_LEASE_DEADLINE + 1;
        loom_task_progress(w, &beat);
        loom_peers_check(&b->d);
        LOOM_CHECK_EQ_INT(b->d.workers.n, 1);
        LOOM_CHECK(b->stage->releases > 0);
        LOOM_CHECK(array || !loom_ledger_is_current(b->stage->ledger, epoch));
        loom_schedule(&b->d);
        bench_run(b, BENCH_TO_THE_END);
        LOOM_CHECK(b->job->ending && b->job->slots[1]);
        bench_destroy(b);
    }
}
