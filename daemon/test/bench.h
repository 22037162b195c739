/* A daemon without a socket, with one job over 16 blocks and two workers: tests forge what workers answer.
 * Output 0 of its stage merges in any order, output 1 with neighbours only. A second stage may read output 0. */
#ifndef LOOM_DAEMON_TEST_BENCH_H
#define LOOM_DAEMON_TEST_BENCH_H

#include "daemon.h"

enum {
    BENCH_BLOCKS = 16,
    BENCH_RUNS = 8
};

typedef struct bench {
    loom_daemon d;
    char *folder;
    loom_client client;
    loom_job *job; /* NULL once it was destroyed */
    loom_job_stage *stage;
    loom_worker *workers[2];
    Wire__Stream stream;
    Wire__Segment segment, *segments[1];
    Wire__StreamShape shape, *shapes[1];
    const Wire__Stream *streams[1];
    loom_graph graph;
    loom_graph_slot slots[4];
    loom_graph_stage graph_stages[2];
    loom_graph_output outputs[2], read_output;
    loom_graph_carried carried[1];
    uint32_t traversed[1], read[1];
    uint64_t files_made;
} bench;

/* kind: LOOM_STAGE_TRAVERSAL or _ARRAY. The stage runs. */
bench *bench_create(loom_stage_kind kind);
/* The same, and a stage of the other kind, which reads output 0: its own is the result. */
bench *bench_create_with_reader(loom_stage_kind kind);
/* Of a traversal that carries output 0, with output 1 beside it; workers hand over after each lease. */
bench *bench_create_chained(void);
void bench_destroy(bench *b);
loom_worker *bench_hello(bench *b, uint64_t instance); /* also anew, under the same identity */
size_t bench_files(const bench *b);                    /* in all spool folders */

/* An answer, right to begin with. */
typedef struct answer {
    Wire__TaskDone done;
    Wire__Epoch epoch;
    Wire__TaskPart parts[2 * BENCH_RUNS], *part_list[2 * BENCH_RUNS];
    Wire__Object objects[2 * BENCH_RUNS];
    char paths[2 * BENCH_RUNS][256];
    Wire__BlockRun runs[BENCH_RUNS], *run_list[BENCH_RUNS];
} answer;
void answer_begin(answer *a, const loom_task *task);
/* Writes a file into the worker's folder. */
void answer_part(bench *b, answer *a, const loom_worker *w, uint32_t output, int64_t first, int64_t n);
/* Part i is no file, but stays with the worker. */
void answer_stays(answer *a, size_t i);
/* Blocks of the task's epoch with their parts. */
void answer_delta(bench *b, answer *a, const loom_task *task);
void answer_right(bench *b, answer *a, const loom_task *task); /* whatever its kind */

loom_task *bench_task(const loom_worker *w, Wire__TaskKind kind); /* the first; NULL: none */
/* Answers everything rightly until only tasks of kind `until` are left, or the job has ended. */
void bench_run(bench *b, Wire__TaskKind until);
#define BENCH_TO_THE_END ((Wire__TaskKind) - 1)

#endif
