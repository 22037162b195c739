/* What the checker of plans refuses. */
#include "loom_test.h"
#include "sample_plan.h"

/* Prepares the sample plan, which must pass, changes one thing of it and expects refusal. */
#define REFUSED_OF(prepare, change)                                                                                    \
    do {                                                                                                               \
        loom_arena *arena = loom_arena_create(0);                                                                      \
        loom_plan *p = sample_plan(arena);                                                                             \
        loom_plan_action *actions = loom_arena_grow(arena, p->actions, p->n_actions, p->n_actions, sizeof *actions);   \
        loom_plan_buffer *buffers = loom_arena_grow(arena, p->buffers, p->n_buffers, p->n_buffers, sizeof *buffers);   \
        loom_plan_output *outputs = loom_arena_grow(arena, p->outputs, p->n_outputs, p->n_outputs, sizeof *outputs);   \
        uint32_t extents[3] = {0};                                                                                     \
        (void)extents;                                                                                                 \
        p->actions = actions;                                                                                          \
        p->buffers = buffers;                                                                                          \
        p->outputs = outputs;                                                                                          \
        prepare;                                                                                                       \
        LOOM_OK(loom_plan_check(p));                                                                                   \
        change;                                                                                                        \
        LOOM_FAILS(loom_plan_check(p), LOOM_E_DATA);                                                                   \
        loom_arena_destroy(arena);                                                                                     \
    } while (0)
#define REFUSED(change) REFUSED_OF((void)0, change)

LOOM_TEST(plan_check, indices) {
    static const uint32_t touched[] = {0, 8};
    REFUSED_OF((actions[1].touched = touched, actions[1].n_touched = 1), actions[1].n_touched = 2);
    REFUSED(actions[0].buffer = 8);
    REFUSED(actions[1].kernel = 5);
    REFUSED(actions[1].extent = 4);
    REFUSED(actions[4].fft = 1);
    REFUSED(p->chunk_begin = 14);
    REFUSED(outputs[0].combine = 17);
}

LOOM_TEST(plan_check, code_without_its_plan) {
    REFUSED(p->tested_length = 0);
}

static loom_plan_extent *extents_of(loom_arena *arena, loom_plan *p) {
    loom_plan_extent *copy = loom_arena_grow(arena, p->extents, p->n_extents, p->n_extents, sizeof *copy);
    p->extents = copy;
    return copy;
}

static loom_plan_fft *ffts_of(loom_arena *arena, loom_plan *p) {
    loom_plan_fft *copy = loom_arena_grow(arena, p->ffts, p->n_ffts, p->n_ffts, sizeof *copy);
    p->ffts = copy;
    return copy;
}

static loom_plan_kernel *kernels_of(loom_arena *arena, loom_plan *p) {
    loom_plan_kernel *copy = loom_arena_grow(arena, p->kernels, p->n_kernels, p->n_kernels, sizeof *copy);
    p->kernels = copy;
    return copy;
}

/* Rows that differ in length: buffers 4 to 7, extent 3, actions 7 to 12. */
LOOM_TEST(plan_check, segments) {
    static const uint32_t wide[] = {0, 1, 3}, alone[] = {3}, rows[] = {0, 3}, chunk[] = {0}, none[] = {6, 6};
    REFUSED(extents_of(arena, p)[3].lengths = 8);
    REFUSED(extents_of(arena, p)[3].lengths = 0); /* no numbers */
    REFUSED(extents_of(arena, p)[3].lengths = 5); /* offsets are no lengths */
    REFUSED(extents_of(arena, p)[3].buffer = 8);
    REFUSED(extents_of(arena, p)[3].buffer = 4);     /* not one number */
    REFUSED(buffers[6].storage = LOOM_STORE_RESULT); /* it would leave before it is read for the last time */
    REFUSED((buffers[7].extents = wide, buffers[7].n_extents = 3)); /* lengths over fewer levels than are before */
    REFUSED((buffers[7].extents = alone, buffers[7].n_extents = 1));
    REFUSED(buffers[7].storage = LOOM_STORE_INPUT); /* lengths of another place */
    REFUSED(buffers[7].source = 1);
    REFUSED(buffers[7].storage = LOOM_STORE_ACCUMULATOR);
    REFUSED(buffers[4].lengths_of = 2);
    REFUSED(buffers[4].lengths_of = 0);
    REFUSED(buffers[0].lengths_of = 2); /* of data */
    REFUSED(buffers[4].offsets = true);
    REFUSED(buffers[6].offsets = true);
    REFUSED(buffers[5].offsets = false);
    REFUSED(buffers[5].extents = &wide[1]); /* not as many as lengths */
    REFUSED(actions[9].buffer = 8);
    REFUSED(actions[9].buffer = 7);
    REFUSED(actions[9].buffer2 = 4);
    REFUSED(actions[9].buffer2 = 3);
    REFUSED((actions[9].buffers = chunk));
    REFUSED((actions[9].buffers = none, actions[9].n_buffers = 2));
    REFUSED(actions[9].n_buffers = 0);
    REFUSED(actions[7].buffer = 3); /* offsets that are not there */
    REFUSED(actions[1].extent = 3);
    REFUSED(ffts_of(arena, p)[0].extents = alone);
    REFUSED(kernels_of(arena, p)[2].scratch_extent = 3);
    REFUSED(actions[5].unit_extents = alone);
    REFUSED((actions[10].kind = LOOM_ACT_LOOP, actions[10].buffer = LOOM_NO_EXTENT));
    REFUSED((buffers[2].extents = rows)); /* a target */
}

/* The places of buffer 7's rows, to buffer 3. */
static void sort_rows(loom_plan_action *actions, loom_plan_buffer *buffers) {
    static const uint32_t rows[] = {0, 3}, keys[] = {7};
    buffers[3].dtype = LOOM_I64;
    buffers[3].extents = rows;
    actions[2].buffer = 5;
    actions[3].kind = LOOM_ACT_ALLOC;
    actions[3].buffer = 6;
    actions[4] = actions[9];
    actions[5].kind = LOOM_ACT_ALLOC;
    actions[5].buffer = 3;
    actions[6] = (loom_plan_action){.kind = LOOM_ACT_SORT, .buffer = 3, .buffer2 = 5, .n_buffers = 1, .buffers = keys};
    actions[7] = (loom_plan_action){.kind = LOOM_ACT_FREE, .buffer = 3};
    actions[8] = actions[9] = actions[10];
}

LOOM_TEST(plan_check, sorts) {
    static const uint32_t column[] = {0}, beyond[] = {8}, offsets[] = {5}, itself[] = {3};
    REFUSED_OF(sort_rows(actions, buffers), actions[6].buffer = 8);
    REFUSED_OF(sort_rows(actions, buffers), actions[6].buffer = 7); /* comes from outside */
    REFUSED_OF(sort_rows(actions, buffers), actions[6].buffer2 = 8);
    REFUSED_OF(sort_rows(actions, buffers), actions[6].buffer2 = 4); /* lengths are no offsets */
    REFUSED_OF(sort_rows(actions, buffers), actions[6].buffer2 = LOOM_NO_EXTENT);
    REFUSED_OF(sort_rows(actions, buffers), actions[6].n_buffers = 0);
    REFUSED_OF(sort_rows(actions, buffers), actions[6].buffers = column); /* of another size */
    REFUSED_OF(sort_rows(actions, buffers), actions[6].buffers = beyond);
    REFUSED_OF(sort_rows(actions, buffers), actions[6].buffers = offsets);
    REFUSED_OF(sort_rows(actions, buffers), actions[6].buffers = itself);
    REFUSED_OF(sort_rows(actions, buffers), buffers[3].dtype = LOOM_F64);
    REFUSED_OF(sort_rows(actions, buffers), buffers[7].dtype = LOOM_C64);
}

/* Buffer 3, over rows or with one element for each, made by what is put in place of the sort. */
static void of_rows(loom_plan_action *actions, loom_plan_buffer *buffers, loom_plan_action made, loom_dtype dtype,
                    uint32_t n_extents) {
    sort_rows(actions, buffers);
    buffers[3].dtype = dtype;
    buffers[3].n_extents = n_extents;
    actions[6] = made;
}

LOOM_TEST(plan_check, transforms_of_rows) {
    static const uint32_t alone[] = {3}, offsets[] = {5}, lengths[] = {4}, beyond[] = {8};
    const loom_plan_action fft = {
        .kind = LOOM_ACT_FFT, .fft = 0, .buffer = 3, .buffer2 = 3, .n_buffers = 1, .buffers = offsets};
#define ROWS (ffts_of(arena, p)[0].extents = alone, of_rows(actions, buffers, fft, LOOM_C64, 2))
    REFUSED_OF(ROWS, actions[6].n_buffers = 0);
    REFUSED_OF(ROWS, actions[6].buffers = lengths);
    REFUSED_OF(ROWS, actions[6].buffers = beyond);
    REFUSED_OF(ROWS, buffers[3].n_extents = 1);
#undef ROWS
    REFUSED((actions[4].n_buffers = 1, actions[4].buffers = offsets)); /* of rows of one length */
}

LOOM_TEST(plan_check, reductions_of_rows) {
    static const uint32_t sums[] = {3}, whole[] = {5};
    const loom_plan_action reduce = {
        .kind = LOOM_ACT_REDUCE, .kernel = 0, .kernel2 = 1, .extent = 3, .buffer = 5, .n_buffers = 1, .buffers = sums};
#define ROWS of_rows(actions, buffers, reduce, LOOM_F32, 1)
    REFUSED_OF(ROWS, actions[6].buffer = 4); /* lengths are no offsets */
    REFUSED_OF(ROWS, actions[6].buffer = 8);
    REFUSED_OF(ROWS, actions[6].buffers = whole);
    REFUSED_OF(ROWS, buffers[3].n_extents = 2);
    REFUSED_OF(ROWS, buffers[3].n_extents = 0);
    REFUSED_OF(ROWS, actions[6].kernel2 = LOOM_NO_KERNEL);
#undef ROWS
}

/* What turns give, one behind the other: buffer 7's elements behind those of the grid's rows. */
static void append_columns(loom_plan_action *actions, loom_plan_buffer *buffers) {
    buffers[3].dtype = LOOM_F32;
    actions[4] = (loom_plan_action){.kind = LOOM_ACT_APPEND, .buffer = 0, .buffer2 = 3};
    static const uint32_t extents[] = {1, 2};
    buffers[3].extents = extents;
}

LOOM_TEST(plan_check, appends) {
    static const uint32_t wide[] = {1, 1};
    REFUSED_OF(append_columns(actions, buffers), actions[4].buffer = 8);
    REFUSED_OF(append_columns(actions, buffers), actions[4].buffer2 = 8);
    REFUSED_OF(append_columns(actions, buffers), actions[4].buffer2 = 0);          /* comes from outside */
    REFUSED_OF(append_columns(actions, buffers), actions[4].buffer = 4);           /* of another type */
    REFUSED_OF(append_columns(actions, buffers), buffers[3].extents = wide);       /* of another size */
    REFUSED_OF(append_columns(actions, buffers), buffers[3].n_extents = 1);        /* of another rank */
    REFUSED_OF(append_columns(actions, buffers), actions[4].kind = LOOM_ACT_COPY); /* the outermost extent counts */
}

/* An output of rows: its lengths are computed, and must be there at the end. */
static void put_rows_out(loom_plan_action *actions, loom_plan_buffer *buffers, loom_plan_output *outputs) {
    static const uint32_t rows[] = {0, 3};
    buffers[1].extents = rows;
    buffers[1].n_extents = 2;
    buffers[4].storage = buffers[7].storage = LOOM_STORE_TEMP;
    buffers[4].lengths_of = 0;
    outputs[0].kind = LOOM_OUT_COLLECT;
    outputs[0].combine = LOOM_NO_KERNEL;
    actions[2].buffer = 4;
    actions[4] = actions[6] = actions[3];
}

LOOM_TEST(plan_check, rows_out) {
    REFUSED_OF(put_rows_out(actions, buffers, outputs), actions[11].buffer = 4);
    REFUSED_OF(put_rows_out(actions, buffers, outputs), outputs[0].kind = LOOM_OUT_FOLD);
    REFUSED_OF(put_rows_out(actions, buffers, outputs), outputs[0].kind = LOOM_OUT_REDUCE);
}

LOOM_TEST(plan_check, life_of_buffers) {
    REFUSED(actions[2].buffer = 1);  /* allocated twice, and buffer 3 never */
    REFUSED(actions[6].buffer = 1);  /* an output is freed */
    REFUSED(actions[0].buffer = 0);  /* columns are not allocated */
    REFUSED(actions[4].buffer2 = 2); /* fft between unlike buffers */
    REFUSED(outputs[1].buffers = outputs[0].buffers);
}

LOOM_TEST(plan_check, targets) {
    static const uint32_t narrow[] = {1, 2}, two[] = {2, 1};
    REFUSED(({
        actions[5].n_buffers = 2; /* another size for the second target */
        actions[5].buffers = two;
        buffers[1] = (loom_plan_buffer){"other", LOOM_C64, LOOM_STORE_ACCUMULATOR, 1, 0, 2, narrow, 0, false};
        actions[0] = (loom_plan_action){.kind = LOOM_ACT_FILL, .buffer = 1};
        actions[1] = actions[3];
        p->n_outputs = 0;
    }));
    REFUSED(actions[5].rank = 17);
    REFUSED((actions[0] = (loom_plan_action){.kind = LOOM_ACT_FILL, .buffer = 0})); /* a column is not ours */
}

LOOM_TEST(plan_check, unknown_kinds) {
    REFUSED(outputs[0].kind = (loom_output_kind)(LOOM_OUT_VALUE + 1));
    REFUSED(p->kind = LOOM_STAGE_WHOLE);
    REFUSED(buffers[1].storage = (loom_storage)(LOOM_STORE_RESULT + 1));
    REFUSED(actions[3].kind = (loom_action_kind)(LOOM_ACT_ROWS + 1));
}

/* As deep as the limit is accepted, one more is not. */
LOOM_TEST(plan_check, nesting_limit) {
    for (uint32_t depth = LOOM_PLAN_MAX_NESTING; depth <= LOOM_PLAN_MAX_NESTING + 1; depth++) {
        loom_arena *arena = loom_arena_create(0);
        loom_plan *p = sample_plan(arena);
        loom_plan_action *actions = LOOM_NEW_ARRAY(arena, loom_plan_action, depth + 1);
        for (uint32_t i = 0; i < depth; i++) {
            actions[i] =
                (loom_plan_action){.kind = LOOM_ACT_LOOP, .extent = 1, .buffer = LOOM_NO_EXTENT, .n_inner = depth - i};
        }
        actions[depth] = (loom_plan_action){.kind = LOOM_ACT_KERNEL, .kernel = 2, .extent = 0};
        p->actions = actions;
        p->n_actions = depth + 1;
        p->chunk_begin = 0;
        p->n_outputs = 0;
        if (depth > LOOM_PLAN_MAX_NESTING) {
            LOOM_FAILS(loom_plan_check(p), LOOM_E_DATA);
        } else {
            LOOM_OK(loom_plan_check(p));
        }
        loom_arena_destroy(arena);
    }
}

/* The sample's kernel and transform by rows, over a buffer that is there inside alone. */
static void into_rows(loom_plan *p, loom_plan_action *actions, const uint32_t *extents) {
    static const uint32_t inside[] = {3};
    loom_plan_action kernel = actions[3], fft = actions[4], permute = actions[5];
    actions[2] = (loom_plan_action){
        .kind = LOOM_ACT_ROWS, .n_inner = 2, .n_buffers = 1, .buffers = inside, .n_units = 3, .unit_extents = extents};
    actions[3] = kernel;
    actions[4] = fft;
    actions[5] = permute;
    p->n_actions = 6;
}

#define ROWS_REFUSED(change) REFUSED_OF(into_rows(p, actions, extents), change)

LOOM_TEST(plan_check, rows) {
    ROWS_REFUSED(actions[2].n_inner = 4);                         /* beyond the end */
    ROWS_REFUSED(actions[2].n_inner = 3);                         /* a permute has no rows */
    ROWS_REFUSED(actions[2].n_inner = 0);                         /* of nothing */
    ROWS_REFUSED(actions[2].n_units = 2);                         /* an extent is missing */
    ROWS_REFUSED(extents[1] = 3);                                 /* there is none */
    ROWS_REFUSED(actions[3].extent = LOOM_NO_EXTENT);             /* a kernel that is not divided */
    ROWS_REFUSED(actions[2].n_buffers = 0);                       /* the transform's buffer is not there */
    ROWS_REFUSED(actions[2].n_else = 1);                          /* no branch */
    ROWS_REFUSED((actions[1] = (loom_plan_action){.buffer = 3})); /* allocated already */
    ROWS_REFUSED((actions[5] = (loom_plan_action){.kind = LOOM_ACT_FREE, .buffer = 3})); /* gone with the rows */
}

LOOM_TEST(plan_check, nesting) {
    REFUSED(actions[1].n_inner = 1);
    REFUSED(
        (actions[3] = (loom_plan_action){.kind = LOOM_ACT_LOOP, .extent = 1, .buffer = LOOM_NO_EXTENT, .n_inner = 4}));
    REFUSED((actions[3] = (loom_plan_action){.kind = LOOM_ACT_BREAK, .buffer = 1}));
}

/* A loop that is left frees what is alive there, and nothing else. */
LOOM_TEST(plan_check, left_loops) {
    static const uint32_t dead[] = {3}, input[] = {0};
    loom_plan_action loop = {.kind = LOOM_ACT_LOOP, .extent = LOOM_NO_EXTENT, .buffer = LOOM_NO_EXTENT, .n_inner = 1};
    loom_plan_action leave = {.kind = LOOM_ACT_BREAK, .buffer = 1, .n_buffers = 1, .buffers = dead};
    REFUSED((actions[2] = loop, actions[3] = leave));
    leave.buffers = input;
    REFUSED((actions[2] = loop, actions[3] = leave));
}
