/* What workers say of spilled elements, and when a spill is given up. */
#include "bench.h"
#include "common/buffer.h"
#include "common/file.h"
#include "loom_test.h"
#include "proto/value_codec.h"

/* ---- what a part says ---- */

typedef struct said {
    Wire__TaskPart part;
    Wire__Object object;
    Wire__Value value;
    Wire__Leaf leaf, *leaves[1];
    int64_t extents[1];
    uint64_t bytes[1];
    uint64_t batches[3], counts[3];
} said;

static void say(said *s, int64_t elements) {
    memset(s, 0, sizeof *s);
    wire__task_part__init(&s->part);
    wire__object__init(&s->object);
    wire__value__init(&s->value);
    wire__leaf__init(&s->leaf);
    s->extents[0] = elements;
    s->leaf.name = (char *)"batch";
    s->leaf.dtype = LOOM_I64;
    s->leaf.extents = s->extents;
    s->leaf.n_extents = 1;
    s->leaves[0] = &s->leaf;
    s->value.leaves = s->leaves;
    s->bytes[0] = 8 * (uint64_t)elements;
    s->value.column_bytes = s->bytes;
    s->value.n_leaves = s->value.n_column_bytes = 1;
    s->object.value = &s->value;
    s->part.object = &s->object;
    s->part.batches = s->batches;
    s->part.counts = s->counts;
    s->part.n_batches = s->part.n_counts = 3;
    for (uint64_t i = 0; i < 3; i++) {
        s->batches[i] = 2 * i;
        s->counts[i] = i + 1;
    }
}

LOOM_TEST(spills, a_part_says_how_many_elements_each_batch_has) {
    said s;
    say(&s, 6);
    LOOM_OK(loom_spilled_check(&s.part));
#define REFUSED(change)                                                                                                \
    do {                                                                                                               \
        say(&s, 6);                                                                                                    \
        change;                                                                                                        \
        LOOM_FAILS(loom_spilled_check(&s.part), LOOM_E_PROTOCOL);                                                      \
    } while (0)
    REFUSED(s.extents[0] = 5);
    REFUSED(s.extents[0] = 7);
    REFUSED(s.extents[0] = -1);
    REFUSED(s.value.n_leaves = 0);
    REFUSED(s.part.n_counts = 2);
    REFUSED(s.batches[1] = 0);
    REFUSED(s.batches[2] = 1);
    REFUSED(s.batches[2] = UINT64_MAX);
    REFUSED(s.counts[1] = 0);
    REFUSED(s.counts[2] = UINT64_MAX - 2);
    say(&s, 0);
    s.part.n_batches = s.part.n_counts = 0;
    LOOM_OK(loom_spilled_check(&s.part)); /* none of its elements is for any batch */
}

/* ---- blocks of a batch ---- */

static loom_spilled spilled_of(uint32_t segment, size_t n, const uint64_t *batches, const uint64_t *counts) {
    loom_spilled s = {.object = loom_xcalloc(1, sizeof *s.object), .n_batches = n};
    s.object->references = 1;
    s.segments = loom_xcalloc(2, sizeof *s.segments);
    s.segments[1] = s.class = segment;
    s.batches = loom_xcalloc(n + 1, sizeof *s.batches);
    s.counts = loom_xcalloc(n + 1, sizeof *s.counts);
    memcpy(s.batches, batches, n * sizeof *batches);
    memcpy(s.counts, counts, n * sizeof *counts);
    return s;
}

LOOM_TEST(spills, blocks_of_a_batch_are_cut_by_object) {
    static const uint32_t spilled_streams[] = {4, 7}, read_streams[] = {7};
    const loom_graph_stage stage = {.n_streams = 2, .streams = spilled_streams};
    loom_spilled *at = loom_xcalloc(3, sizeof *at);
    at[0] = spilled_of(5, 2, (const uint64_t[]){0, 3}, (const uint64_t[]){2, 25});
    at[1] = spilled_of(6, 1, (const uint64_t[]){1}, (const uint64_t[]){9});
    at[2] = spilled_of(5, 3, (const uint64_t[]){0, 1, 3}, (const uint64_t[]){1, 1, 10});
    loom_held_object *object = loom_spill_create(&stage, true, 7, at, 3);
    loom_arena *arena = loom_arena_create(0);
    const Wire__Stream stream = WIRE__STREAM__INIT, *streams[] = {&stream};
    loom_blocks *b;
    LOOM_OK(loom_spill_blocks(arena, object->spill, 3, read_streams, streams, 1, 10, &b));
    LOOM_CHECK_EQ_INT(b->n_elements, 35);
    LOOM_CHECK_EQ_INT(b->n_blocks, 4);
    LOOM_CHECK_EQ_INT(b->n_cuts, 2);
    LOOM_CHECK_EQ_INT(b->cuts[0].row, 2);
    LOOM_CHECK(b->cuts[0].object == at[0].object && b->cuts[1].object == at[2].object);
    LOOM_CHECK_EQ_INT(b->cuts[1].row, 2);
    LOOM_CHECK_EQ_INT(b->cuts[1].first, 25);
    LOOM_CHECK_EQ_INT(b->cuts[0].class, b->cuts[1].class);
    LOOM_CHECK_EQ_INT(b->n_classes, 2);
    LOOM_CHECK_EQ_INT(b->classes[b->cuts[0].class].segments[0], 5);
    LOOM_OK(loom_spill_blocks(arena, object->spill, 2, read_streams, streams, 1, 10, &b));
    LOOM_CHECK_EQ_INT(b->n_blocks, 0); /* of which a plan still tells what is made of it */
    LOOM_CHECK_EQ_INT(b->n_classes, 2);
    LOOM_FAILS(loom_spill_blocks(arena, object->spill, 3, (const uint32_t[]){5}, streams, 1, 10, &b), LOOM_E_INTERNAL);
    loom_held_object_unref(object);
    loom_arena_destroy(arena);
}

/* ---- a stage that spills ---- */

/* The bench's stage, which is under way, as one that spills: slot 2 tells what that saves. The other stage waits, and
 * the job with it. */
static bench *create(double saves) {
    bench *b = bench_create_with_reader(LOOM_STAGE_TRAVERSAL);
    b->read[0] = 3;
    b->outputs[0] = (loom_graph_output){LOOM_OUT_SPILL, LOOM_ORDER_ADJACENT, 1, LOOM_NONE_FUNCTION};
    b->graph_stages[0].n_outputs = 1;
    b->graph_stages[0].saves = 2;
    b->stage->ordered = true;
    loom_value *value;
    LOOM_OK(loom_value_create(1, &value));
    LOOM_OK(loom_leaf_init(&value->leaves[0], "", LOOM_F64, 0, NULL, 64));
    *(double *)value->leaves[0].data = saves;
    loom_object object;
    const char *folder = b->d.spools[0];
    LOOM_OK(loom_object_write(&folder, 1, UINT64_MAX, value, &object));
    loom_arena *arena = loom_arena_create(0);
    Wire__Object wire = WIRE__OBJECT__INIT;
    wire.path = object.path;
    wire.bytes = object.bytes;
    wire.value = loom_wire_value(arena, value);
    LOOM_OK(loom_held_object_create(&wire, &b->job->slots[2]));
    b->job->slots[2]->owned = true;
    b->job->slot_uses[2] = 2;
    loom_arena_destroy(arena);
    loom_value_unref(value);
    free(object.path);
    return b;
}

/* All elements of its blocks, `times` times. */
static void answer_spilled(bench *b, answer *a, said *s, const loom_task *task, uint64_t times) {
    answer_begin(a, task);
    answer_delta(b, a, task);
    for (size_t i = 1; i < a->done.n_blocks; i++)
        answer_part(b, a, task->worker, 0, (int64_t)a->runs[i].first, (int64_t)a->runs[i].n);
    for (size_t i = 0; i < a->done.n_parts; i++) {
        say(&s[i], (int64_t)(times * 10 * a->parts[i].n_blocks));
        s[i].part.n_batches = s[i].part.n_counts = 1;
        s[i].counts[0] = (uint64_t)s[i].extents[0];
        a->parts[i].batches = s[i].batches;
        a->parts[i].counts = s[i].counts;
        a->parts[i].n_batches = a->parts[i].n_counts = 1;
        a->objects[i].value = &s[i].value;
        a->objects[i].bytes = s[i].bytes[0];
    }
    a->done.handover = 0.001;
    a->done.has_handover = true;
}

static loom_task *next_delta(const bench *b) {
    for (int i = 0; i < 2; i++) {
        loom_task *task = bench_task(b->workers[i], WIRE__TASK_KIND__DELTA);
        if (task) return task;
    }
    return NULL;
}

/* Each worker took a second to read 100 elements. */
static void run_to_deltas(bench *b) {
    bench_run(b, WIRE__TASK_KIND__DELTA);
    for (size_t i = 0; i < b->stage->seats.n; i++) ((loom_seat *)b->stage->seats.at[i])->rate = 100;
}

static const loom_spill *spill_of(const bench *b) {
    return b->job->ending || !b->job->slots[1] ? NULL : b->job->slots[1]->spill;
}

static void check_given_up(bench *b) {
    LOOM_CHECK_EQ_INT(b->stage->state, LOOM_STAGE_DONE);
    LOOM_CHECK(b->job->slots[1] && b->job->slots[1]->spill && !b->job->slots[1]->spill->made);
    LOOM_CHECK_EQ_INT(b->workers[0]->tasks.n + b->workers[1]->tasks.n, 0);
    LOOM_CHECK_EQ_INT(bench_files(b), 1); /* what tells what it saves */
}

LOOM_TEST(spills, what_was_written_is_the_slots) {
    bench *b = create(10);
    answer a;
    said s[2 * BENCH_RUNS];
    loom_task *task;
    for (run_to_deltas(b); (task = next_delta(b)); loom_schedule(&b->d)) {
        answer_spilled(b, &a, s, task, 1);
        loom_task_done(&b->d, task->worker, &a.done);
    }
    LOOM_CHECK_EQ_INT(b->stage->state, LOOM_STAGE_DONE);
    const loom_held_object *object = b->job->slots[1];
    LOOM_CHECK(object && object->spill && object->spill->made && object->spill->n > 0);
    uint64_t elements = 0;
    for (size_t i = 0; i < object->spill->n; i++) elements += object->spill->at[i].counts[0];
    LOOM_CHECK_EQ_INT(elements, 10 * BENCH_BLOCKS);
    bench_destroy(b);
}

LOOM_TEST(spills, it_is_given_up_where_it_costs_more_than_it_saves) {
    static const struct {
        loom_spill_policy policy;
        uint64_t times;
        bool given_up;
    } cases[] = {{LOOM_SPILL_AUTO, 2, false}, {LOOM_SPILL_AUTO, 4, true}, {LOOM_SPILL_ALWAYS, 4, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t times = cases[i].times;
        bench *b = create(2); /* 3 traversals instead of it */
        b->d.options.spill = cases[i].policy;
        run_to_deltas(b);
        loom_task *task = next_delta(b);
        answer a;
        said s[2 * BENCH_RUNS];
        answer_spilled(b, &a, s, task, times);
        loom_task_done(&b->d, task->worker, &a.done);
        if (cases[i].given_up) {
            check_given_up(b);
        } else {
            LOOM_CHECK_EQ_INT(b->stage->state, LOOM_STAGE_RUNNING);
        }
        LOOM_CHECK(!spill_of(b) || !spill_of(b)->made);
        bench_destroy(b);
    }
}

LOOM_TEST(spills, it_is_given_up_where_the_disk_has_no_room_whatever_is_said) {
    bench *b = create(10);
    b->d.options.spill = LOOM_SPILL_ALWAYS;
    run_to_deltas(b);
    loom_task *task = next_delta(b);
    answer a;
    said s[2 * BENCH_RUNS];
    answer_spilled(b, &a, s, task, 1);
    loom_task_done(&b->d, task->worker, &a.done);
    LOOM_CHECK_EQ_INT(b->stage->state, LOOM_STAGE_RUNNING);
    loom_piece *piece = b->stage->outputs[0].pieces.at[0];
    piece->object->bytes = UINT64_MAX / 2;
    loom_spill_judge(b->stage);
    check_given_up(b);
    bench_destroy(b);
}

LOOM_TEST(spills, whether_it_is_wanted) {
    static const struct {
        double saves;
        loom_spill_policy policy;
        bool wanted;
    } cases[] = {{10, LOOM_SPILL_AUTO, true},
                 {10, LOOM_SPILL_ALWAYS, true},
                 {10, LOOM_SPILL_NEVER, false},
                 {0, LOOM_SPILL_AUTO, false},
                 {0, LOOM_SPILL_ALWAYS, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench *b = create(cases[i].saves);
        b->d.options.spill = cases[i].policy;
        bool wanted = !cases[i].wanted;
        LOOM_OK(loom_spill_is_wanted(b->stage, &wanted));
        LOOM_CHECK_EQ_INT(wanted, cases[i].wanted);
        bench_destroy(b);
    }
}

static void answer_error(bench *b, const loom_task *task, loom_code code, const char *message) {
    answer a;
    answer_begin(&a, task);
    Wire__Status status = WIRE__STATUS__INIT;
    status.code = code;
    status.message = (char *)message;
    a.done.status = &status;
    loom_task_done(&b->d, task->worker, &a.done);
}

/* A full disk, say. */
LOOM_TEST(spills, it_is_given_up_where_it_cannot_be_written) {
    bench *b = create(10);
    run_to_deltas(b);
    loom_task *task = next_delta(b);
    answer_error(b, task, LOOM_E_IO, "no room");
    LOOM_CHECK(!b->job->ending);
    check_given_up(b);
    bench_destroy(b);
}

/* Whose error it is shows when the element is met by who reads it. */
LOOM_TEST(spills, it_is_given_up_where_an_element_fails) {
    bench *b = create(10);
    loom_task *task = bench_task(b->workers[0], WIRE__TASK_KIND__FOLD);
    LOOM_CHECK(task);
    answer_error(b, task, LOOM_E_RUNTIME, "an index outside");
    LOOM_CHECK(!b->job->ending);
    check_given_up(b);
    bench_destroy(b);
}

LOOM_TEST(spills, a_part_that_makes_no_sense_ends_the_job) {
    bench *b = create(10);
    run_to_deltas(b);
    loom_task *task = next_delta(b);
    answer a;
    said s[2 * BENCH_RUNS];
    answer_spilled(b, &a, s, task, 1);
    s[0].counts[0]++;
    loom_task_done(&b->d, task->worker, &a.done);
    LOOM_CHECK(b->job->ending);
    LOOM_CHECK_EQ_INT(bench_files(b), 1);
    bench_destroy(b);
}
