/* Printer and checker of lifted IR, on a small example: what is right passes, each thing made wrong is found. */
#include "compiler/ir/lifted.h"
#include "loom_test.h"

typedef struct sample {
    loom_arena *arena;
    loom_lifted *l;
    loom_lop_id compute, reduce;
} sample;

static loom_lexpr expr(loom_lexpr_kind kind, loom_dtype t, uint32_t aux) {
    return (loom_lexpr){
        .kind = (uint8_t)kind, .dtype = t, .aux = aux, .site = LOOM_NONE, .blocks = {LOOM_NONE, LOOM_NONE}};
}

static loom_lop operation(loom_lop_kind kind, const loom_axis_id *axes, uint32_t n) {
    loom_lop op = loom_lifted_empty(kind);
    op.axes = axes;
    op.n_axes = n;
    return op;
}

static loom_lblock_id plus_block(loom_lifted *l) {
    loom_lexpr_id first = l->n_exprs, args[2], sum;
    loom_dtype types[2] = {LOOM_F32, LOOM_F32};
    args[0] = loom_lifted_expr(l, expr(LOOM_LX_PARAM, LOOM_F32, 0), NULL, 0);
    args[1] = loom_lifted_expr(l, expr(LOOM_LX_PARAM, LOOM_F32, 1), NULL, 0);
    loom_lexpr e = expr(LOOM_LX_PRIM, LOOM_F32, LOOM_NONE);
    e.prim = LOOM_PRIM_ADD;
    sum = loom_lifted_expr(l, e, args, 2);
    return loom_lifted_block(l, first, 2, types, 1, &sum);
}

/* y[i] = x[i] * x[i]; s = sum y */
static sample make(void) {
    sample s = {.arena = loom_arena_create(0)};
    loom_lifted *l = s.l = loom_lifted_create(s.arena, NULL);
    loom_axis_id chunk = loom_lifted_axis(l, (loom_axis){.kind = LOOM_AXIS_CHUNK});
    loom_lvalue x = {
        .dtype = LOOM_F32, .source = LOOM_LV_COLUMN, .n_axes = 1, .axes = &chunk, .op = LOOM_NONE, .name = "xs"};
    loom_lvalue_id xs = loom_lifted_value(l, x);
    x.source = LOOM_LV_OP;
    loom_lvalue_id ys = loom_lifted_value(l, x);
    x.n_axes = 0;
    loom_lvalue_id sum = loom_lifted_value(l, x);

    loom_lexpr_id first = l->n_exprs, i = loom_lifted_expr(l, expr(LOOM_LX_AXIS, LOOM_I64, 0), NULL, 0);
    loom_lexpr_id load = loom_lifted_expr(l, expr(LOOM_LX_LOAD, LOOM_F32, xs), &i, 1);
    loom_lexpr times = expr(LOOM_LX_PRIM, LOOM_F32, LOOM_NONE);
    times.prim = LOOM_PRIM_MUL;
    loom_lexpr_id square = loom_lifted_expr(l, times, (loom_lexpr_id[]){load, load}, 2);
    loom_lop o = operation(LOOM_LO_COMPUTE, &chunk, 1);
    o.body = loom_lifted_block(l, first, 0, NULL, 1, &square);
    o.n_results = 1;
    o.results = &ys;
    s.compute = loom_lifted_op(l, o);

    first = l->n_exprs;
    i = loom_lifted_expr(l, expr(LOOM_LX_AXIS, LOOM_I64, 0), NULL, 0);
    load = loom_lifted_expr(l, expr(LOOM_LX_LOAD, LOOM_F32, ys), &i, 1);
    o = operation(LOOM_LO_REDUCE, &chunk, 1);
    o.body = loom_lifted_block(l, first, 0, NULL, 1, &load);
    first = l->n_exprs;
    loom_lexpr_id zero = loom_lifted_expr(l, expr(LOOM_LX_CONST, LOOM_F32, LOOM_NONE), NULL, 0);
    o.ne = loom_lifted_block(l, first, 0, NULL, 1, &zero);
    o.combine = plus_block(l);
    o.n_results = 1;
    o.results = &sum;
    s.reduce = loom_lifted_op(l, o);

    loom_loutput *out = LOOM_NEW(s.arena, loom_loutput);
    loom_lvalue_id *values = LOOM_NEW(s.arena, loom_lvalue_id);
    *values = sum;
    *out = (loom_loutput){.kind = 0, .n_leaves = 1, .values = values, .combine = plus_block(l)};
    l->outputs = out;
    l->n_outputs = 1;
    return s;
}

static loom_lexpr *of_kind(const sample *s, loom_lexpr_kind kind, uint32_t nth) {
    for (uint32_t i = 0; i < s->l->n_exprs; i++) {
        if (s->l->exprs[i].kind == kind && nth-- == 0) return &s->l->exprs[i];
    }
    return NULL;
}

LOOM_TEST(lifted, prints) {
    sample s = make();
    LOOM_OK(loom_lifted_check(s.l));
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    loom_lifted_print(s.l, to);
    fclose(to);
    LOOM_CHECK_HAS(text, "v0: f32 [chunk] = column 0.0 xs\n");
    LOOM_CHECK_HAS(text, "o0: compute over [i0: chunk] -> v1: f32 [chunk]\n");
    LOOM_CHECK_HAS(text, "  e1: f32 = load v0[e0]\n");
    LOOM_CHECK_HAS(text, "o1: reduce i0 over [i0: chunk] -> v2: f32 []\n");
    LOOM_CHECK_HAS(text, "  combine (p0: f32, p1: f32)\n");
    LOOM_CHECK_HAS(text, "output 0: fold v2\n");
    free(text);
    loom_arena_destroy(s.arena);
}

LOOM_TEST(lifted, axes_are_shared) {
    sample s = make();
    LOOM_CHECK_EQ_INT(loom_lifted_const_axis(s.l, 15), loom_lifted_const_axis(s.l, 15));
    LOOM_CHECK(loom_lifted_const_axis(s.l, 15) != loom_lifted_const_axis(s.l, 16));
    loom_arena_destroy(s.arena);
}

#define WRONG(name, change)                                                                                            \
    LOOM_TEST(lifted, name) {                                                                                          \
        sample s = make();                                                                                             \
        loom_lifted *l = s.l;                                                                                          \
        LOOM_OK(loom_lifted_check(l));                                                                                 \
        change;                                                                                                        \
        LOOM_FAILS(loom_lifted_check(l), LOOM_E_INTERNAL);                                                             \
        loom_arena_destroy(s.arena);                                                                                   \
    }

WRONG(load_of_nothing, of_kind(&s, LOOM_LX_LOAD, 0)->aux = 99)
WRONG(load_before_it_is_made, of_kind(&s, LOOM_LX_LOAD, 0)->aux = 2)
WRONG(load_of_another_type, of_kind(&s, LOOM_LX_LOAD, 0)->dtype = LOOM_F64)
WRONG(load_without_index, of_kind(&s, LOOM_LX_LOAD, 0)->n_args = 0)
WRONG(load_checked_without_site, of_kind(&s, LOOM_LX_LOAD, 0)->mode = LOOM_LOAD_CHECKED)
WRONG(axis_beyond, of_kind(&s, LOOM_LX_AXIS, 0)->aux = 1)
WRONG(argument_after_use, l->args[of_kind(&s, LOOM_LX_PRIM, 0)->first_arg] = l->n_exprs - 1)
WRONG(argument_of_another_block, l->args[of_kind(&s, LOOM_LX_LOAD, 1)->first_arg] = 0)
WRONG(primitive_type, of_kind(&s, LOOM_LX_PRIM, 0)->prim = LOOM_PRIM_LT)
WRONG(parameter_beyond, of_kind(&s, LOOM_LX_PARAM, 0)->aux = 2)
WRONG(combine_not_closed, of_kind(&s, LOOM_LX_PARAM, 0)->kind = LOOM_LX_EXTENT; of_kind(&s, LOOM_LX_EXTENT, 0)->aux = 0;
      of_kind(&s, LOOM_LX_EXTENT, 0)->dtype = LOOM_I64)
WRONG(reduced_axis_beyond, l->ops[s.reduce].reduce = 1)
WRONG(result_with_the_reduced_axis, l->values[2].n_axes = 1; l->values[2].axes = l->values[1].axes)
WRONG(result_made_twice, l->ops[s.reduce].results = l->ops[s.compute].results)
WRONG(scalar_extent_of_an_array, l->axes[0].kind = LOOM_AXIS_SCALAR; l->axes[0].value = 0)
WRONG(block_beyond, l->blocks[l->ops[s.compute].body].end = 999)
WRONG(output_not_made, ((loom_lvalue_id *)(uintptr_t)l->outputs[0].values)[0] = 77)
WRONG(loop_that_holds_itself, l->ops[s.reduce].kind = LOOM_LO_LOOP; l->ops[s.reduce].inner_end = 1)

/* ---- loops whose states change their size ---- */

typedef struct shrinking {
    loom_arena *arena;
    loom_lifted *l;
    loom_lvalue_id *next, *results, *collected;
    loom_lop_id loop;
    loom_axis_id turning;
} shrinking;

static loom_lvalue_id i64_over(loom_lifted *l, loom_lsource source, uint32_t n_axes, const loom_axis_id *axes) {
    return loom_lifted_value(
        l, (loom_lvalue){.dtype = LOOM_I64, .source = source, .n_axes = n_axes, .axes = axes, .op = l->n_ops});
}

static loom_axis_id as_many_as(loom_lifted *l, loom_lvalue_id count) {
    return loom_lifted_axis(l, (loom_axis){.kind = LOOM_AXIS_SCALAR, .value = count});
}

/* A constant at each point of the axes. */
static loom_lvalue_id constant_over(loom_lifted *l, uint32_t n_axes, const loom_axis_id *axes, bool inner) {
    loom_lexpr_id e = loom_lifted_expr(
        l, (loom_lexpr){.kind = LOOM_LX_CONST, .dtype = LOOM_I64, .site = LOOM_NONE, .imm = {.i = 3}}, NULL, 0);
    loom_lvalue_id value = i64_over(l, LOOM_LV_OP, n_axes, axes);
    loom_lop op = {.kind = LOOM_LO_COMPUTE,
                   .n_axes = n_axes,
                   .axes = axes,
                   .n_results = 1,
                   .results = &value,
                   .output = LOOM_NONE,
                   .combine = LOOM_NONE,
                   .ne = LOOM_NONE,
                   .inner = inner,
                   .site = LOOM_NONE};
    op.body = loom_lifted_block(l, e, 0, NULL, 1, &e);
    loom_lifted_op(l, op);
    return value;
}

/* k = 3, x over k; three times: k' = 3, x' over k', which is collected too. */
static shrinking make_shrinking(void) {
    shrinking s = {.arena = loom_arena_create(0)};
    loom_lifted *l = s.l = loom_lifted_create(s.arena, NULL);
    loom_lvalue_id *initial = LOOM_NEW_ARRAY(s.arena, loom_lvalue_id, 2),
                   *state = LOOM_NEW_ARRAY(s.arena, loom_lvalue_id, 2);
    s.next = LOOM_NEW_ARRAY(s.arena, loom_lvalue_id, 2);
    s.results = LOOM_NEW_ARRAY(s.arena, loom_lvalue_id, 3);
    initial[0] = constant_over(l, 0, NULL, false);
    loom_axis_id axis = as_many_as(l, initial[0]), nine = loom_lifted_const_axis(l, 9);
    initial[1] = constant_over(l, 1, &axis, false);
    loom_lop op = loom_lifted_empty(LOOM_LO_LOOP);
    op.n_args = 1;
    op.args = initial;
    op.inner_first = l->n_ops;
    state[0] = i64_over(l, LOOM_LV_STATE, 0, NULL);
    s.turning = as_many_as(l, state[0]);
    state[1] = i64_over(l, LOOM_LV_STATE, 1, &s.turning);
    s.next[0] = constant_over(l, 0, NULL, true);
    axis = as_many_as(l, s.next[0]);
    s.next[1] = constant_over(l, 1, &axis, true);
    s.results[0] = i64_over(l, LOOM_LV_OP, 0, NULL);
    axis = as_many_as(l, s.results[0]);
    s.results[1] = i64_over(l, LOOM_LV_OP, 1, &axis);
    s.results[2] = i64_over(l, LOOM_LV_OP, 1, &nine);
    op.n_results = 3;
    op.results = s.results;
    op.n_states = 2;
    op.initial = initial;
    op.state = state;
    op.next = s.next;
    op.n_collected = 1;
    op.collected = &s.next[1];
    op.inner_end = l->n_ops;
    s.loop = loom_lifted_op(l, op);
    return s;
}

#define WRONG_SIZES(name, change)                                                                                      \
    LOOM_TEST(lifted, name) {                                                                                          \
        shrinking s = make_shrinking();                                                                                \
        loom_lifted *l = s.l;                                                                                          \
        LOOM_OK(loom_lifted_check(l));                                                                                 \
        change;                                                                                                        \
        LOOM_FAILS(loom_lifted_check(l), LOOM_E_INTERNAL);                                                             \
        loom_arena_destroy(s.arena);                                                                                   \
    }

WRONG_SIZES(next_state_of_the_old_size, l->values[s.next[1]].axes = &s.turning)
WRONG_SIZES(last_state_of_another_size, l->values[s.results[1]].axes = l->values[s.results[2]].axes)
WRONG_SIZES(collected_in_another_rank, l->values[s.results[2]].n_axes = 0)
WRONG_SIZES(collected_of_another_type, l->values[s.results[2]].dtype = LOOM_F64)
WRONG_SIZES(collected_without_result, l->ops[s.loop].n_results = 2)
WRONG_SIZES(collected_before_it_is_made, ((loom_lvalue_id *)(uintptr_t)l->ops[s.loop].collected)[0] = s.results[0])

/* ---- rows that differ in length ---- */

typedef struct segments {
    loom_arena *arena;
    loom_lifted *l;
    loom_axis_id chunk, rows;
    loom_lvalue_id lengths, offsets, total, ys;
    loom_lop_id make, compute;
} segments;

/* y[i, j] = x[i, j] over rows of a stream; `between`: with one more axis, of which the lengths know nothing. */
static segments make_segments_with(bool between) {
    segments s = {.arena = loom_arena_create(0)};
    loom_lifted *l = s.l = loom_lifted_create(s.arena, NULL);
    s.chunk = loom_lifted_axis(l, (loom_axis){.kind = LOOM_AXIS_CHUNK});
    loom_lvalue v = {.dtype = LOOM_I64,
                     .source = LOOM_LV_COLUMN,
                     .lengths_of = 1,
                     .n_axes = 1,
                     .axes = &s.chunk,
                     .op = LOOM_NONE,
                     .name = "xs"};
    s.lengths = loom_lifted_value(l, v);
    v.source = LOOM_LV_OP;
    v.lengths_of = 0;
    s.offsets = loom_lifted_value(l, v);
    v.n_axes = 0;
    s.total = loom_lifted_value(l, v);
    loom_lop o = operation(LOOM_LO_OFFSETS, &s.chunk, 1);
    o.n_args = 1;
    o.args = &s.lengths;
    o.n_results = 2;
    o.results = (loom_lvalue_id[]){s.offsets, s.total};
    s.make = loom_lifted_op(l, o);
    loom_axis a = {.kind = LOOM_AXIS_SEGMENTED, .lengths = s.lengths, .offsets = s.offsets, .total = s.total};
    s.rows = loom_lifted_axis(l, a);
    loom_axis_id axes[3] = {s.chunk, s.rows};
    uint32_t n = between ? 3 : 2;
    if (between) {
        axes[1] = loom_lifted_const_axis(l, 2);
        axes[2] = s.rows;
    }
    v = (loom_lvalue){.dtype = LOOM_F32, .source = LOOM_LV_COLUMN, .n_axes = n, .axes = axes, .op = LOOM_NONE};
    loom_lvalue_id xs = loom_lifted_value(l, v);
    v.source = LOOM_LV_OP;
    s.ys = loom_lifted_value(l, v);
    loom_lexpr_id first = l->n_exprs, index[3];
    for (uint32_t i = 0; i < n; i++) index[i] = loom_lifted_expr(l, expr(LOOM_LX_AXIS, LOOM_I64, i), NULL, 0);
    loom_lexpr_id load = loom_lifted_expr(l, expr(LOOM_LX_LOAD, LOOM_F32, xs), index, n);
    o = operation(LOOM_LO_COMPUTE, axes, n);
    o.body = loom_lifted_block(l, first, 0, NULL, 1, &load);
    o.n_results = 1;
    o.results = &s.ys;
    s.compute = loom_lifted_op(l, o);
    loom_loutput *out = LOOM_NEW(s.arena, loom_loutput);
    loom_lvalue_id *values = LOOM_NEW(s.arena, loom_lvalue_id);
    *values = s.ys;
    *out = (loom_loutput){.kind = 3, .n_leaves = 1, .values = values, .combine = LOOM_NONE};
    l->outputs = out;
    l->n_outputs = 1;
    return s;
}

static segments make_segments(void) {
    return make_segments_with(false);
}

LOOM_TEST(lifted, segments_behind_other_axes) {
    segments s = make_segments_with(true);
    LOOM_FAILS(loom_lifted_check(s.l), LOOM_E_INTERNAL);
    loom_arena_destroy(s.arena);
}

LOOM_TEST(lifted, prints_segments) {
    segments s = make_segments();
    LOOM_OK(loom_lifted_check(s.l));
    LOOM_CHECK_EQ_INT(s.l->values[s.ys].rep, LOOM_REP_IRREGULAR);
    LOOM_CHECK_EQ_INT(loom_lifted_axis(s.l, s.l->axes[s.rows]), s.rows);
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    loom_lifted_print(s.l, to);
    fclose(to);
    LOOM_CHECK_HAS(text, "v0: i64 [chunk] = column 0.0 xs, lengths of level 1\n");
    LOOM_CHECK_HAS(text, "o0: offsets v0 over [i0: chunk] -> v1: i64 [chunk], v2: i64 []\n");
    LOOM_CHECK_HAS(text, "o1: compute over [i0: chunk, i1: lengths v0]");
    free(text);
    loom_arena_destroy(s.arena);
}

#define WRONG_SEGMENTS(name, change)                                                                                   \
    LOOM_TEST(lifted, name) {                                                                                          \
        segments s = make_segments();                                                                                  \
        LOOM_OK(loom_lifted_check(s.l));                                                                               \
        change;                                                                                                        \
        LOOM_FAILS(loom_lifted_check(s.l), LOOM_E_INTERNAL);                                                           \
        loom_arena_destroy(s.arena);                                                                                   \
    }

WRONG_SEGMENTS(segments_of_nothing, s.l->axes[s.rows].lengths = 99)
WRONG_SEGMENTS(segments_of_other_lengths, s.l->axes[s.rows].lengths = s.offsets)
WRONG_SEGMENTS(segments_of_other_offsets, s.l->axes[s.rows].offsets = s.lengths)
WRONG_SEGMENTS(segments_of_other_totals, s.l->axes[s.rows].total = s.lengths)
WRONG_SEGMENTS(segments_before_offsets, s.l->ops[s.make].args = &s.ys)
WRONG_SEGMENTS(segments_of_floats, s.l->values[s.lengths].dtype = LOOM_F64)
WRONG_SEGMENTS(segments_without_a_total, s.l->ops[s.make].n_results = 1)
WRONG_SEGMENTS(segments_alone, (s.l->ops[s.compute].axes = &s.rows, s.l->ops[s.compute].n_axes = 1))
WRONG_SEGMENTS(segments_have_no_extent, (s.l->exprs[1].kind = LOOM_LX_EXTENT, s.l->exprs[1].aux = s.rows))
WRONG_SEGMENTS(segments_around_a_reduction, (s.l->ops[s.compute].kind = LOOM_LO_REDUCE, s.l->ops[s.compute].reduce = 0))
WRONG_SEGMENTS(segments_transformed, (s.l->ops[s.compute].kind = LOOM_LO_FFT, s.l->ops[s.compute].fft_rank = 1,
                                      s.l->ops[s.compute].n_args = 1, s.l->ops[s.compute].args = &s.lengths))

/* Each row's places, as keys sort them. */
static void put_sort(segments *s) {
    loom_lop *o = &s->l->ops[s->compute];
    loom_lvalue_id *key = LOOM_NEW(s->arena, loom_lvalue_id);
    for (*key = 0; s->l->values[*key].source != LOOM_LV_COLUMN || s->l->values[*key].lengths_of; ++*key) {}
    o->kind = LOOM_LO_SORT;
    o->body = LOOM_NONE;
    o->n_args = 1;
    o->args = key;
    s->l->values[s->ys].dtype = LOOM_I64;
}

LOOM_TEST(lifted, prints_sorts) {
    segments s = make_segments();
    put_sort(&s);
    LOOM_OK(loom_lifted_check(s.l));
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    loom_lifted_print(s.l, to);
    fclose(to);
    LOOM_CHECK_HAS(text, "o1: sort v3 over [i0: chunk, i1: lengths v0] -> v4: i64");
    free(text);
    loom_arena_destroy(s.arena);
}

WRONG_SEGMENTS(sort_to_floats, (put_sort(&s), s.l->values[s.ys].dtype = LOOM_F64))
WRONG_SEGMENTS(sort_by_nothing, (put_sort(&s), s.l->ops[s.compute].n_args = 0))
WRONG_SEGMENTS(sort_by_itself, (put_sort(&s), s.l->ops[s.compute].args = &s.ys))
WRONG_SEGMENTS(sort_by_numbers_of_rows, (put_sort(&s), s.l->ops[s.compute].args = &s.lengths))
WRONG_SEGMENTS(sort_by_complex, (put_sort(&s), s.l->values[s.l->ops[s.compute].args[0]].dtype = LOOM_C64))
WRONG_SEGMENTS(sort_along_the_chunk, (put_sort(&s), s.l->ops[s.compute].n_axes = 1))
