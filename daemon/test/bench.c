#include "bench.h"
#include "common/clock.h"
#include "common/file.h"
#include "loom_test.h"
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static void describe(bench *b, loom_stage_kind kind, bool reader) {
    wire__stream__init(&b->stream);
    wire__segment__init(&b->segment);
    wire__stream_shape__init(&b->shape);
    b->segments[0] = &b->segment;
    b->shapes[0] = &b->shape;
    b->stream.n_elements = 10 * BENCH_BLOCKS;
    b->stream.n_segments = b->stream.n_shapes = 1;
    b->stream.segments = b->segments;
    b->stream.shapes = b->shapes;
    bool traversal = kind == LOOM_STAGE_TRAVERSAL;
    loom_output_kind output = traversal ? LOOM_OUT_FOLD : LOOM_OUT_VALUE;
    for (uint32_t i = 0; i < 2; i++) {
        b->outputs[i] = (loom_graph_output){.kind = output,
                                            .order = i ? LOOM_ORDER_ADJACENT : LOOM_ORDER_ANY,
                                            .slot = 1 + i,
                                            .merge = LOOM_NONE_FUNCTION};
    }
    b->graph_stages[0] = (loom_graph_stage){.kind = kind, .n_outputs = 2, .outputs = b->outputs, .label = "stage"};
    b->read[0] = 1;
    b->read_output =
        (loom_graph_output){.kind = traversal ? LOOM_OUT_VALUE : LOOM_OUT_FOLD, .slot = 3, .merge = LOOM_NONE_FUNCTION};
    b->graph_stages[1] = (loom_graph_stage){.kind = traversal ? LOOM_STAGE_ARRAY : LOOM_STAGE_TRAVERSAL,
                                            .n_inputs = 1,
                                            .inputs = b->read,
                                            .n_outputs = 1,
                                            .outputs = &b->read_output,
                                            .label = "reader"};
    b->slots[0] = (loom_graph_slot){.name = "xs", .stream = true};
    b->slots[1] = b->slots[2] = b->slots[3] = (loom_graph_slot){.name = "made"};
    loom_graph_stage *traverses = &b->graph_stages[traversal ? 0 : 1];
    traverses->n_streams = 1;
    traverses->streams = b->traversed;
    b->graph = (loom_graph){
        .n_params = 1, .n_slots = 3, .slots = b->slots, .n_stages = 1, .stages = b->graph_stages, .result = 1};
    if (reader) b->graph.n_slots = 4, b->graph.n_stages = 2, b->graph.result = 3;
}

static void add_plan(bench *b, loom_job_stage *stage) {
    loom_job_plan *plan = loom_xcalloc(1, sizeof *plan);
    *plan = (loom_job_plan){.run = loom_daemon_next_id(&b->d), .stage = stage, .ready = true, .interpret = true};
    plan->target = loom_xstrdup("target");
    loom_list_add(&stage->plans, plan);
}

static void make_job(bench *b) {
    loom_job *job = b->job = loom_xcalloc(1, sizeof *job);
    job->daemon = &b->d;
    job->id = ++b->d.next_job;
    job->name = loom_xstrdup("job");
    job->entry = loom_xstrdup("");
    job->serve = loom_xstrdup("ipc:///nowhere");
    job->client = &b->client;
    job->block = 10;
    job->arena = loom_arena_create(0);
    job->program = loom_xstrdup("");
    job->graph_bytes = loom_xstrdup("");
    job->n_arguments = 1;
    b->streams[0] = &b->stream;
    job->streams = b->streams;
    job->slots = LOOM_NEW_ARRAY(job->arena, loom_held_object *, b->graph.n_slots);
    job->graph = &b->graph;
    b->stage = job->stages = loom_xcalloc(b->graph.n_stages, sizeof *job->stages);
    for (uint32_t i = 0; i < b->graph.n_stages; i++) {
        job->stages[i] = (loom_job_stage){.job = job, .index = i, .graph = &b->graph_stages[i]};
        add_plan(b, &job->stages[i]);
    }
    loom_job_prepare_slots(job);
    job->slot_readers[2] = 1; /* so that it is kept too */
    loom_list_add(&b->d.jobs, job);
    LOOM_OK(loom_store_job(b->d.store, job->id, job->name));
}

loom_worker *bench_hello(bench *b, uint64_t instance) {
    Wire__Hello hello = WIRE__HELLO__INIT;
    hello.role = WIRE__ROLE__WORKER;
    hello.pid = 4711;
    hello.host = (char *)"another.host";
    hello.target = (char *)"target";
    hello.instance = instance;
    hello.has_instance = true;
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_HELLO;
    message.hello = &hello;
    unsigned char identity = (unsigned char)instance;
    loom_incoming in = {.identity = &identity, .identity_length = 1, .message = &message};
    loom_peer_hello(&b->d, &in);
    loom_worker *w = loom_worker_of(&b->d, &in);
    LOOM_CHECK(w && w->n_folders == 1);
    return w;
}

static void chain(bench *b) {
    b->outputs[0].kind = LOOM_OUT_CHAIN;
    b->graph_stages[0].n_carried = 1;
    b->graph_stages[0].carried = b->carried;
    b->d.options.handover = 1e-9;
}

static bench *create(loom_stage_kind kind, bool reader, bool chained) {
    bench *b = loom_xcalloc(1, sizeof *b);
    loom_daemon *d = &b->d;
    b->folder = loom_xstrdup("/tmp/loom-bench-XXXXXX");
    LOOM_CHECK(mkdtemp(b->folder));
    uv_loop_init(&d->loop);
    uv_idle_init(&d->loop, &d->busy);
    LOOM_OK(loom_store_open(b->folder, false, &d->store, &d->incarnation));
    d->spools[d->n_spools++] = loom_xprintf("%s/objects", b->folder);
    LOOM_OK(loom_make_directories(d->spools[0], 0700));
    b->client = (loom_client){.daemon = d, .id = 1, .instance = 99, .last_seen = loom_seconds()};
    loom_list_add(&d->clients, &b->client);
    for (uint64_t i = 0; i < 2; i++) b->workers[i] = bench_hello(b, i + 1);
    describe(b, kind, reader);
    if (chained) chain(b);
    make_job(b);
    loom_job_advance(b->job);
    loom_schedule(d);
    return b;
}

bench *bench_create(loom_stage_kind kind) {
    return create(kind, false, false);
}

bench *bench_create_with_reader(loom_stage_kind kind) {
    return create(kind, true, false);
}

bench *bench_create_chained(void) {
    return create(LOOM_STAGE_TRAVERSAL, false, true);
}

void bench_destroy(bench *b) {
    loom_daemon *d = &b->d;
    if (b->job) loom_job_destroy(b->job);
    while (d->workers.n) loom_worker_lost(d->workers.at[0], "the test ends");
    LOOM_CHECK_EQ_INT(bench_files(b), 0);
    uv_close((uv_handle_t *)&d->busy, NULL);
    uv_run(&d->loop, UV_RUN_DEFAULT);
    uv_loop_close(&d->loop);
    loom_list_free(&d->workers);
    loom_list_free(&d->clients);
    loom_list_free(&d->jobs);
    loom_store_close(d->store);
    free(d->spools[0]);
    loom_remove_tree(b->folder);
    free(b->folder);
    free(b);
}

static size_t count_files(const char *folder) {
    size_t n = 0;
    DIR *dir = opendir(folder);
    LOOM_CHECK(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        if (e->d_name[0] == '.') continue;
        char *path = loom_xprintf("%s/%s", folder, e->d_name);
        n += e->d_type == DT_DIR ? count_files(path) : 1;
        free(path);
    }
    closedir(dir);
    return n;
}

size_t bench_files(const bench *b) {
    return count_files(b->d.spools[0]);
}

/* ---- answers ---- */

void answer_begin(answer *a, const loom_task *task) {
    memset(a, 0, sizeof *a);
    wire__task_done__init(&a->done);
    wire__epoch__init(&a->epoch);
    a->epoch.incarnation = task->epoch.incarnation;
    a->epoch.counter = task->epoch.counter;
    a->done.task = task->id;
    a->done.job = task->stage->job->id;
    a->done.run = task->plan->run;
    a->done.epoch = &a->epoch;
    a->done.parts = a->part_list;
    a->done.blocks = a->run_list;
}

/* A number. */
static Wire__Value *header(void) {
    static Wire__Leaf leaf, *leaves[1] = {&leaf};
    static uint64_t bytes[1] = {8};
    static Wire__Value value;
    wire__leaf__init(&leaf);
    leaf.name = (char *)"";
    leaf.dtype = LOOM_F64;
    wire__value__init(&value);
    value.n_leaves = value.n_column_bytes = 1;
    value.leaves = leaves;
    value.column_bytes = bytes;
    return &value;
}

void answer_part(bench *b, answer *a, const loom_worker *w, uint32_t output, int64_t first, int64_t n) {
    size_t i = a->done.n_parts++;
    LOOM_CHECK(i < 2 * BENCH_RUNS);
    snprintf(a->paths[i], sizeof a->paths[i], "%s/%" PRIu64 ".made", w->folders[0], ++b->files_made);
    LOOM_OK(loom_file_write(a->paths[i], "8 bytes.", 8, false));
    wire__object__init(&a->objects[i]);
    a->objects[i].path = a->paths[i];
    a->objects[i].bytes = 8;
    a->objects[i].value = header();
    wire__task_part__init(&a->parts[i]);
    a->parts[i].output = output;
    a->parts[i].first_block = (uint64_t)first;
    a->parts[i].n_blocks = (uint64_t)n;
    a->parts[i].object = &a->objects[i];
    a->part_list[i] = &a->parts[i];
}

void answer_stays(answer *a, size_t i) {
    unlink(a->paths[i]);
    a->paths[i][0] = '\0';
    a->objects[i].bytes = 2 * LOOM_SMALL_VALUE_BYTES;
    a->objects[i].has_resident = true;
    a->objects[i].resident = 7;
}

void answer_delta(bench *b, answer *a, const loom_task *task) {
    loom_ledger_run run;
    for (size_t i = 0; loom_ledger_run_at(task->stage->ledger, i, &run); i++) {
        if (run.state != LOOM_BLOCK_FOLDED || run.owner != task->epoch.counter) continue;
        size_t k = a->done.n_blocks++;
        LOOM_CHECK(k < BENCH_RUNS);
        wire__block_run__init(&a->runs[k]);
        a->runs[k].first = (uint64_t)run.stretch.first;
        a->runs[k].n = (uint64_t)run.stretch.n;
        a->run_list[k] = &a->runs[k];
        if (k == 0) answer_part(b, a, task->worker, 0, run.stretch.first, run.stretch.n);
        if (task->stage->graph->n_outputs > 1) answer_part(b, a, task->worker, 1, run.stretch.first, run.stretch.n);
    }
}

void answer_right(bench *b, answer *a, const loom_task *task) {
    answer_begin(a, task);
    switch (task->kind) {
    case WIRE__TASK_KIND__FOLD: break;
    case WIRE__TASK_KIND__DELTA: answer_delta(b, a, task); break;
    case WIRE__TASK_KIND__MERGE:
    case WIRE__TASK_KIND__EMPTY: answer_part(b, a, task->worker, task->output, 0, 0); break;
    default:
        for (uint32_t i = 0; i < task->stage->graph->n_outputs; i++) answer_part(b, a, task->worker, i, 0, 0);
        break;
    }
}

/* ---- running ---- */

loom_task *bench_task(const loom_worker *w, Wire__TaskKind kind) {
    for (size_t i = 0; i < w->tasks.n; i++) {
        loom_task *task = w->tasks.at[i];
        if (task->kind == kind) return task;
    }
    return NULL;
}

static loom_task *other_task(const bench *b, Wire__TaskKind than) {
    for (size_t i = 0; i < b->d.workers.n; i++) {
        const loom_worker *w = b->d.workers.at[i];
        for (size_t k = 0; k < w->tasks.n; k++) {
            loom_task *task = w->tasks.at[k];
            if (task->kind != than) return task;
        }
    }
    return NULL;
}

void bench_run(bench *b, Wire__TaskKind until) {
    loom_task *task;
    while (!b->job->ending && (task = other_task(b, until))) {
        answer a;
        answer_right(b, &a, task);
        loom_task_done(&b->d, task->worker, &a.done);
        loom_schedule(&b->d);
        if (b->stage->ledger) loom_ledger_verify(b->stage->ledger);
    }
}
