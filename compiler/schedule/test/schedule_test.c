/* Order of operations, regions, what lives in strips, slices of an outer axis. What the code for them computes is
 * tested in codegen and driver. */
#include "builder.h"
#include "compiler/schedule/reads.h"
#include "compiler/schedule/schedule.h"
#include "loom_test.h"

/* result = value + value over the value's axes. */
static loom_lvalue_id twice(builder *b, loom_lvalue_id from, const char *name) {
    loom_lvalue v = b->l->values[from];
    loom_axis_id axes[8];
    loom_lexpr_id indices[8];
    for (uint32_t i = 0; i < v.n_axes; i++) axes[i] = v.axes[i];
    axes[v.n_axes] = LOOM_NONE;
    loom_lvalue_id to = b_made(b, v.dtype, name, axes);
    b_begin(b);
    for (uint32_t i = 0; i < v.n_axes; i++) indices[i] = b_axis(b, i);
    indices[v.n_axes] = LOOM_NONE;
    loom_lexpr_id x = b_load(b, from, LOOM_LOAD_PROVEN, LOOM_NONE, indices);
    b_compute(b, axes, b_end(b, 0, NULL, RESULTS(b_prim(b, LOOM_PRIM_ADD, x, x))), 1, &to);
    return to;
}

static loom_lvalue_id sum_of(builder *b, loom_lvalue_id from, const loom_axis_id *axes, loom_lblock_id add) {
    loom_lvalue_id s = b_made(b, LOOM_F32, "sum", NO_AXES);
    b_begin(b);
    loom_lblock_id body = b_end(b, 0, NULL, RESULTS(LOAD(b, from, b_axis(b, 0))));
    b_reduce(b, axes, 0, body, add, b_neutral(b, LOOM_F32, 0), 1, &s);
    b_output(b, LOOM_OUT_FOLD, s, add);
    return s;
}

static const char *maker(const builder *b, loom_lop_id op) {
    return b->l->values[b->l->ops[op].results[0]].name;
}

/* a = x + x, sum a, b = a + a, t = table + table, collect b: the table's first, then a and b in one strip, then the
 * sum. */
LOOM_TEST(schedule, regions) {
    builder b = b_open(LOOM_STAGE_TRAVERSAL);
    loom_axis_id n = b_chunk(&b), four = b_const(&b, 4);
    loom_lvalue_id x = b_column(&b, 0, LOOM_F32, AXES(n)), table = b_input(&b, 0, LOOM_F32, AXES(four));
    loom_lblock_id add = b_operator(&b, LOOM_PRIM_ADD, LOOM_F32);
    loom_lvalue_id a = twice(&b, x, "a");
    sum_of(&b, a, AXES(n), add);
    loom_lvalue_id c = twice(&b, a, "c"), d = twice(&b, c, "d");
    twice(&b, table, "t");
    b_output(&b, LOOM_OUT_COLLECT, d, LOOM_NONE);
    LOOM_OK(loom_schedule(b.l));
    LOOM_OK(loom_lifted_check(b.l));
    LOOM_CHECK_EQ_INT(b.l->n_regions, 3);
    LOOM_CHECK(!b.l->regions[0].per_chunk && b.l->regions[1].per_chunk && b.l->regions[2].per_chunk);
    LOOM_CHECK_STR(maker(&b, 0), "t");
    LOOM_CHECK_STR(maker(&b, 1), "a");
    LOOM_CHECK_STR(maker(&b, 3), "d");
    LOOM_CHECK_STR(maker(&b, 4), "sum");
    LOOM_CHECK_EQ_INT(b.l->regions[1].schedule, LOOM_SCHEDULE_STRIP);
    /* a is read by the sum, d leaves; c stays on chip. */
    LOOM_CHECK(!b.l->values[a].strip && b.l->values[c].strip && !b.l->values[d].strip);
    loom_arena_destroy(b.arena);
}

LOOM_TEST(schedule, forced_flat) {
    builder b = b_open(LOOM_STAGE_TRAVERSAL);
    loom_axis_id n = b_chunk(&b);
    loom_lvalue_id c = twice(&b, twice(&b, b_column(&b, 0, LOOM_F32, AXES(n)), "a"), "c");
    b_output(&b, LOOM_OUT_COLLECT, c, LOOM_NONE);
    b.l->force = LOOM_FORCE_FLAT;
    LOOM_OK(loom_schedule(b.l));
    LOOM_CHECK_EQ_INT(b.l->regions[0].schedule, LOOM_SCHEDULE_FLAT);
    LOOM_CHECK(!b.l->values[b.l->ops[0].results[0]].strip);
    loom_arena_destroy(b.arena);
}

/* Reading a neighbour's element ends the run: it may lie in another strip. */
LOOM_TEST(schedule, neighbours) {
    builder b = b_open(LOOM_STAGE_TRAVERSAL);
    loom_axis_id n = b_chunk(&b);
    loom_lvalue_id a = twice(&b, b_column(&b, 0, LOOM_F32, AXES(n)), "a"), c = b_made(&b, LOOM_F32, "c", AXES(n));
    b_begin(&b);
    loom_lexpr_id last = b_prim(&b, LOOM_PRIM_SUB, b_extent(&b, n), b_i64(&b, 1));
    loom_lexpr_id mirrored = b_prim(&b, LOOM_PRIM_SUB, last, b_axis(&b, 0));
    b_compute(&b, AXES(n), b_end(&b, 0, NULL, RESULTS(LOAD(&b, a, mirrored))), 1, &c);
    b_output(&b, LOOM_OUT_COLLECT, c, LOOM_NONE);
    b.l->force = LOOM_FORCE_STRIP;
    LOOM_OK(loom_schedule(b.l));
    LOOM_CHECK_EQ_INT(b.l->n_regions, 2);
    LOOM_CHECK(!b.l->values[a].strip);
    loom_arena_destroy(b.arena);
}

/* Transforms of planes that are added up: one plane at a time; where planes are small only if told so. */
static uint32_t loops_over_planes(int64_t side, uint32_t force) {
    builder b = b_open(LOOM_STAGE_ARRAY);
    loom_axis_id k = b_const(&b, 20), y = b_const(&b, side);
    loom_lvalue_id g = b_input(&b, 0, LOOM_C64, AXES(k, y, y)), a = twice(&b, g, "a"),
                   f = b_made(&b, LOOM_C64, "f", AXES(k, y, y));
    b_fft(&b, a, f, 2, false);
    loom_lvalue_id image = b_made(&b, LOOM_C64, "image", AXES(y, y));
    loom_lblock_id add = b_operator(&b, LOOM_PRIM_ADD, LOOM_C64);
    b_begin(&b);
    loom_lblock_id body = b_end(&b, 0, NULL, RESULTS(LOAD(&b, f, b_axis(&b, 0), b_axis(&b, 1), b_axis(&b, 2))));
    b_reduce(&b, AXES(k, y, y), 0, body, add, b_neutral(&b, LOOM_C64, 0), 1, &image);
    b_output(&b, LOOM_OUT_VALUE, image, LOOM_NONE);
    b.l->force = force;
    LOOM_OK(loom_schedule(b.l));
    LOOM_OK(loom_lifted_check(b.l));
    loom_lop_id *parent = loom_lifted_parents(b.l, b.arena);
    uint32_t loops = 0;
    for (loom_lop_id i = 0; i < b.l->n_ops; i++) {
        loops += b.l->ops[i].kind == LOOM_LO_LOOP;
        if (b.l->ops[i].kind == LOOM_LO_FFT && loops == 0 && parent[i] != LOOM_NONE)
            LOOM_CHECK_EQ_INT(b.l->values[b.l->ops[i].results[0]].n_axes, 2);
    }
    loom_arena_destroy(b.arena);
    return loops;
}

/* Transforms of planes of which a part is kept: one plane at a time, each written into its place. */
LOOM_TEST(schedule, kept_slices) {
    builder b = b_open(LOOM_STAGE_ARRAY);
    loom_axis_id k = b_const(&b, 20), y = b_const(&b, 1024);
    loom_lvalue_id g = b_input(&b, 0, LOOM_C64, AXES(k, y, y)), a = twice(&b, g, "a"),
                   f = b_made(&b, LOOM_C64, "f", AXES(k, y, y));
    b_fft(&b, a, f, 2, false);
    loom_lvalue_id kept = twice(&b, f, "kept");
    b_output(&b, LOOM_OUT_VALUE, kept, LOOM_NONE);
    LOOM_OK(loom_schedule(b.l));
    LOOM_OK(loom_lifted_check(b.l));
    const loom_lop *loop = &b.l->ops[b.l->values[kept].op];
    LOOM_CHECK_EQ_INT(loop->kind, LOOM_LO_LOOP);
    LOOM_CHECK_EQ_INT(loop->n_states, 1);
    const loom_lop *slice = &b.l->ops[b.l->values[loop->next[0]].op];
    LOOM_CHECK(slice->sliced && slice->into == loop->counter && slice->dest[0] == loop->state[0]);
    LOOM_CHECK_EQ_INT(slice->n_axes, 2);
    LOOM_CHECK_EQ_INT(b.l->values[loop->next[0]].n_axes, 3);
    LOOM_CHECK(b.l->ops[b.l->values[loop->initial[0]].op].blank);
    ((loom_lop *)(uintptr_t)slice)->sliced = false; /* then something would have to set it */
    loom_status *status = loom_lifted_check(b.l);
    LOOM_CHECK(status);
    loom_status_free(status);
    loom_arena_destroy(b.arena);
}

/* What is kept is read by a sum of the same planes as well: it is no slice then, and both need all of it. */
LOOM_TEST(schedule, kept_and_summed) {
    builder b = b_open(LOOM_STAGE_ARRAY);
    loom_axis_id k = b_const(&b, 20), y = b_const(&b, 1024);
    loom_lvalue_id g = b_input(&b, 0, LOOM_C64, AXES(k, y, y)), f = b_made(&b, LOOM_C64, "f", AXES(k, y, y));
    b_fft(&b, g, f, 2, false);
    loom_lvalue_id kept = twice(&b, f, "kept"), image = b_made(&b, LOOM_C64, "image", AXES(y, y));
    loom_lblock_id add = b_operator(&b, LOOM_PRIM_ADD, LOOM_C64);
    b_begin(&b);
    loom_lblock_id body = b_end(&b, 0, NULL, RESULTS(LOAD(&b, kept, b_axis(&b, 0), b_axis(&b, 1), b_axis(&b, 2))));
    b_reduce(&b, AXES(k, y, y), 0, body, add, b_neutral(&b, LOOM_C64, 0), 1, &image);
    b_output(&b, LOOM_OUT_VALUE, kept, LOOM_NONE);
    b_output(&b, LOOM_OUT_VALUE, image, LOOM_NONE);
    LOOM_OK(loom_schedule(b.l));
    LOOM_OK(loom_lifted_check(b.l));
    LOOM_CHECK(!b.l->ops[b.l->values[kept].op].sliced);
    loom_arena_destroy(b.arena);
}

LOOM_TEST(schedule, slices) {
    LOOM_CHECK_EQ_INT(loops_over_planes(1024, 0), 1);
    LOOM_CHECK_EQ_INT(loops_over_planes(8, 0), 0);
    LOOM_CHECK_EQ_INT(loops_over_planes(8, LOOM_FORCE_STRIP), 1);
    LOOM_CHECK_EQ_INT(loops_over_planes(1024, LOOM_FORCE_FLAT), 0);
}
