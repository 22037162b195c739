/* A program run stage by stage through the interpreter, its streams cut into blocks, must give what the interpreter
 * gives for the whole program. That is the meaning of "split", so it is what is tested. */
#include "common/buffer.h"
#include "compiler/interp/interp.h"
#include "compiler/stage/stage.h"
#include "compiler/syntax/syntax.h"
#include "loom_test.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct fixture {
    loom_arena *arena;
    loom_program *program, *staged;
    loom_graph *graph;
} fixture;

static fixture open_text(const char *text, uint64_t memory) {
    fixture f = {.arena = loom_arena_create(0)};
    loom_source_file file = {"test.weft", text, strlen(text)};
    loom_diagnostics d = {0};
    loom_status *status = loom_syntax_compile(f.arena, &file, 1, &d, &f.program);
    if (status) loom_diagnostics_print(&d, &file, 1, stderr);
    LOOM_OK(status);
    loom_stage_request q = {
        .program = f.program, .entry = NULL, .memory = memory, .traversal = memory ? UINT64_C(1) << 40 : 0};
    LOOM_OK(loom_stage_split(f.arena, &q, &f.staged, &f.graph));
    return f;
}

static loom_value *vector(loom_dtype t, int64_t n, const double *from) {
    loom_value *v = NULL;
    LOOM_OK(loom_value_create(1, &v));
    LOOM_OK(loom_leaf_init(&v->leaves[0], "", t, 1, &n, UINT64_MAX));
    for (int64_t i = 0; i < n; i++) {
        loom_scalar s = {.f = from[i]};
        if (loom_dtype_is_signed(t)) s.i = (int64_t)from[i];
        loom_scalar_store(t, s, (char *)v->leaves[0].data + (size_t)i * loom_dtype_size(t));
    }
    return v;
}

static loom_value *scalar(loom_dtype t, double x) {
    loom_value *v = NULL;
    LOOM_OK(loom_value_create(1, &v));
    LOOM_OK(loom_leaf_init(&v->leaves[0], "", t, 0, NULL, UINT64_MAX));
    loom_scalar s = {.f = x};
    if (loom_dtype_is_signed(t)) s.i = (int64_t)x;
    loom_scalar_store(t, s, v->leaves[0].data);
    return v;
}

/* Output j of a function's result tuple: its leaves are named "j" or "j.rest". */
static loom_value *output_of(const loom_value *tuple, uint32_t j) {
    char prefix[16];
    int length = snprintf(prefix, sizeof prefix, "%u", j);
    uint32_t n = 0, first = 0;
    for (uint32_t i = 0; i < tuple->n_leaves; i++) {
        const char *name = tuple->leaves[i].name;
        if (strncmp(name, prefix, (size_t)length) == 0 && (name[length] == 0 || name[length] == '.')) {
            if (n++ == 0) first = i;
        }
    }
    loom_value *v = NULL;
    LOOM_OK(loom_value_create(n, &v));
    for (uint32_t i = 0; i < n; i++) {
        const loom_leaf *from = &tuple->leaves[first + i];
        loom_leaf *to = &v->leaves[i];
        *to = *from;
        const char *rest = from->name + length;
        to->name = strdup(*rest == '.' ? rest + 1 : rest);
        size_t bytes = (size_t)from->n_data * loom_dtype_size(from->dtype);
        to->data = malloc(bytes + 1);
        memcpy(to->data, from->data, bytes);
        for (uint32_t k = 0; k < from->depth; k++)
            if (from->lengths[k]) {
                to->lengths[k] = malloc((size_t)from->n_lengths[k] * sizeof(int64_t) + 1);
                memcpy(to->lengths[k], from->lengths[k], (size_t)from->n_lengths[k] * sizeof(int64_t));
            }
    }
    return v;
}

/* Numbers of the elements that are for a batch. */
static int64_t rows_of(const loom_value *lists, int64_t batch, int64_t *rows) {
    const loom_leaf *leaf = &lists->leaves[0];
    const int64_t *b = leaf->data;
    int64_t n = 0;
    for (int64_t i = 0; i < leaf->extents[0]; i++) {
        bool in = false;
        int64_t length = leaf->extents[1] == LOOM_IRREGULAR ? leaf->lengths[1][i] : leaf->extents[1];
        for (int64_t k = 0; k < length; k++) in = *b++ == batch || in;
        if (in) rows[n++] = i;
    }
    return n;
}

/* Elements of a spilled stage's streams: those of its batch alone, every other time; else all. */
static loom_value *elements_of(const loom_graph_stage *s, loom_value *const *slots, loom_value *stream, int64_t block) {
    if (!s->spilled || block % 2) return loom_value_ref(stream);
    int64_t rows[64];
    int64_t n = rows_of(slots[s->spilled], *(const int64_t *)slots[s->batch]->leaves[0].data, rows);
    loom_value *some = NULL;
    LOOM_OK(loom_value_gather(stream, rows, n, &some));
    return some;
}

/* The chunk's inputs: states are what the chunk before has made of them. */
static void inputs_of(const loom_graph_stage *s, loom_value *const *slots, loom_value *const *acc,
                      loom_value **inputs) {
    for (uint32_t i = 0; i < s->n_inputs; i++) inputs[i] = slots[s->inputs[i]];
    for (uint32_t c = 0; c < s->n_carried; c++) {
        if (acc[s->carried[c].output]) inputs[s->carried[c].input] = acc[s->carried[c].output];
    }
}

static void traverse(const fixture *f, const loom_graph_stage *s, loom_value **slots, loom_value **all, int64_t block) {
    loom_value *streams[32] = {0};
    for (uint32_t i = 0; i < s->n_streams; i++)
        streams[s->streams[i]] = elements_of(s, slots, all[s->streams[i]], block);
    int64_t n = streams[s->streams[0]]->leaves[0].extents[0];
    loom_value **acc = calloc(s->n_outputs, sizeof *acc);
    for (int64_t from = 0; from < n || from == 0; from += block) {
        int64_t to = from + block < n ? from + block : n;
        loom_value *arguments[32];
        uint32_t k = s->n_inputs;
        inputs_of(s, slots, acc, arguments);
        loom_value *first = scalar(LOOM_I64, (double)from);
        arguments[k++] = first;
        for (uint32_t i = 0; i < s->n_streams; i++)
            LOOM_OK(loom_value_slice(streams[s->streams[i]], from, to, &arguments[k++]));
        loom_value *result = NULL;
        LOOM_OK(loom_interp_call(f->staged, s->function, arguments, NULL, &result, NULL));
        for (uint32_t i = s->n_inputs; i < k; i++) loom_value_unref(arguments[i]);
        for (uint32_t j = 0; j < s->n_outputs; j++) {
            loom_value *part = output_of(result, j), *joined = NULL;
            if (!acc[j]) {
                acc[j] = part;
                continue;
            }
            if (s->outputs[j].kind == LOOM_OUT_CHAIN) {
                joined = loom_value_ref(part);
            } else if (s->outputs[j].merge == LOOM_NONE_FUNCTION) {
                loom_value *parts[2] = {acc[j], part};
                LOOM_OK(loom_value_concat(parts, 2, &joined));
            } else {
                loom_value *both[34];
                inputs_of(s, slots, acc, both);
                both[s->n_inputs] = acc[j], both[s->n_inputs + 1] = part;
                LOOM_OK(loom_interp_call(f->staged, s->outputs[j].merge, both, NULL, &joined, NULL));
            }
            loom_value_unref(acc[j]);
            loom_value_unref(part);
            acc[j] = joined;
        }
        loom_value_unref(result);
    }
    for (uint32_t j = 0; j < s->n_outputs; j++) slots[s->outputs[j].slot] = acc[j];
    for (uint32_t i = 0; i < s->n_streams; i++) loom_value_unref(streams[s->streams[i]]);
    free(acc);
}

typedef struct run {
    const fixture *f;
    loom_value **arguments, **slots;
    int64_t block;
    uint32_t turns; /* of all loops */
} run;

static void set_slot(run *r, uint32_t slot, loom_value *v) {
    loom_value_unref(r->slots[slot]);
    r->slots[slot] = v;
}

static void run_stage(run *r, uint32_t i) {
    const loom_graph_stage *s = &r->f->graph->stages[i];
    LOOM_CHECK(s->kind != LOOM_STAGE_WHOLE);
    for (uint32_t j = 0; j < s->n_outputs; j++) set_slot(r, s->outputs[j].slot, NULL);
    if (s->kind == LOOM_STAGE_TRAVERSAL) {
        traverse(r->f, s, r->slots, r->arguments, r->block);
        return;
    }
    loom_value **in = calloc(s->n_inputs + 1, sizeof *in), *result = NULL;
    for (uint32_t k = 0; k < s->n_inputs; k++) in[k] = r->slots[s->inputs[k]];
    LOOM_OK(loom_interp_call(r->f->staged, s->function, in, NULL, &result, NULL));
    for (uint32_t j = 0; j < s->n_outputs; j++) set_slot(r, s->outputs[j].slot, output_of(result, j));
    loom_value_unref(result);
    free(in);
}

static void copy_slots(run *r, const uint32_t *from, const uint32_t *to, uint32_t n) {
    loom_value *values[32];
    for (uint32_t i = 0; i < n; i++) values[i] = loom_value_ref(r->slots[from[i]]);
    for (uint32_t i = 0; i < n; i++) set_slot(r, to[i], values[i]);
}

/* Stages [first, end), of the loops those from number `loop` on. */
static void run_stages(run *r, uint32_t first, uint32_t end, uint32_t loop) {
    const loom_graph *g = r->f->graph;
    for (uint32_t i = first; i < end;) {
        while (loop < g->n_loops && g->loops[loop].first < i) loop++;
        if (loop == g->n_loops || g->loops[loop].first != i) {
            run_stage(r, i++);
            continue;
        }
        const loom_graph_loop *l = &g->loops[loop++];
        copy_slots(r, l->init, l->current, l->n_state);
        while (*(const bool *)r->slots[l->current[0]]->leaves[0].data) {
            r->turns++;
            run_stages(r, l->first, l->end, loop);
            copy_slots(r, l->next, l->current, l->n_state);
        }
        copy_slots(r, l->current, l->result, l->n_state);
        i = l->end;
    }
}

static loom_value *run_staged(const fixture *f, loom_value **arguments, int64_t block, uint32_t *turns) {
    run r = {.f = f, .arguments = arguments, .block = block};
    r.slots = calloc(f->graph->n_slots, sizeof *r.slots);
    for (uint32_t i = 0; i < f->graph->n_params; i++) r.slots[i] = arguments[i];
    run_stages(&r, 0, f->graph->n_stages, 0);
    loom_value *result = loom_value_ref(r.slots[f->graph->result]);
    for (uint32_t i = f->graph->n_params; i < f->graph->n_slots; i++) loom_value_unref(r.slots[i]);
    free(r.slots);
    *turns = r.turns;
    return result;
}

static void check_same(const loom_value *a, const loom_value *b) {
    LOOM_CHECK_EQ_INT(a->n_leaves, b->n_leaves);
    for (uint32_t i = 0; i < a->n_leaves; i++) {
        const loom_leaf *x = &a->leaves[i], *y = &b->leaves[i];
        LOOM_CHECK_EQ_INT(x->n_data, y->n_data);
        LOOM_CHECK_EQ_INT(x->depth, y->depth);
        size_t size = loom_dtype_size(x->dtype);
        for (int64_t k = 0; k < x->n_data && k < y->n_data; k++) {
            loom_scalar p = loom_scalar_load(x->dtype, (char *)x->data + (size_t)k * size);
            loom_scalar q = loom_scalar_load(y->dtype, (char *)y->data + (size_t)k * size);
            if (loom_dtype_is_float(x->dtype))
                LOOM_CHECK_NEAR(p.f, q.f, 1e-9 * (1 + fabs(q.f)));
            else if (loom_dtype_is_complex(x->dtype))
                LOOM_CHECK(fabs(p.c[0] - q.c[0]) + fabs(p.c[1] - q.c[1]) < 1e-9 * (1 + fabs(q.c[0])));
            else
                LOOM_CHECK_EQ_INT(p.i, q.i);
        }
    }
}

/* Turns made in the last run. */
static uint32_t judge_with(const char *text, loom_value **arguments, uint32_t n_stages, uint64_t memory) {
    fixture f = open_text(text, memory);
    if (n_stages) LOOM_CHECK_EQ_INT(f.graph->n_stages, n_stages);
    uint32_t entry = (uint32_t)(loom_program_entry(f.program, NULL) - f.program->functions), turns = 0;
    loom_value *want = NULL;
    LOOM_OK(loom_interp_call(f.program, entry, arguments, NULL, &want, NULL));
    for (int64_t block = 1; block < 12; block += 3) {
        loom_value *got = run_staged(&f, arguments, block, &turns);
        check_same(got, want);
        loom_value_unref(got);
    }
    loom_value_unref(want);
    loom_arena_destroy(f.arena);
    return turns;
}

static void judge(const char *text, loom_value **arguments, uint32_t n_stages) {
    judge_with(text, arguments, n_stages, 0);
    judge_with(text, arguments, 0, 1);
}

static const double numbers[10] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3};

LOOM_TEST(stage, dotp) {
    loom_value *a[2] = {vector(LOOM_F64, 10, numbers), vector(LOOM_F64, 10, numbers)};
    judge("entry main (xs: seq f64) (ys: seq f64) : f64 = fold_seq (+) 0 (zip_with_seq (*) xs ys)", a, 1);
    loom_value_unref(a[0]), loom_value_unref(a[1]);
}

LOOM_TEST(stage, two_consumers_share_a_traversal) {
    loom_value *a[1] = {vector(LOOM_F64, 10, numbers)};
    judge("entry main (xs: seq f64) : (f64, f64) = (fold_seq (+) 0 xs, fold_seq f64.max (-f64.inf) xs)", a, 2);
    loom_value_unref(a[0]);
}

/* A function gives one tuple. */
LOOM_TEST(stage, more_consumers_than_a_tuple_has_fields) {
    loom_buffer text = {0};
    loom_buffer_text(&text, "entry main (xs: seq f64) : f64 =\n");
    for (int i = 0; i < 1100; i++) loom_buffer_printf(&text, "let s%d = fold_seq (+) 0 (map_seq (* %d) xs)\n", i, i);
    for (int i = 1; i < 1100; i++) loom_buffer_printf(&text, "let s%d = s%d + s%d\n", i, i - 1, i);
    loom_buffer_text(&text, "in s1099");
    loom_value *a[1] = {vector(LOOM_F64, 10, numbers)};
    fixture f = open_text(text.data, 0);
    LOOM_CHECK_EQ_INT(f.graph->n_stages, 3); /* two traversals, and what adds up */
    uint32_t turns;
    loom_value *got = run_staged(&f, a, 10, &turns);
    LOOM_CHECK_NEAR(*(const double *)got->leaves[0].data, 39.0 * 1099 * 1100 / 2, 1e-3);
    loom_value_unref(got);
    loom_value_unref(a[0]);
    loom_arena_destroy(f.arena);
    loom_buffer_free(&text);
}

LOOM_TEST(stage, more_columns_than_a_tuple_has) {
    loom_buffer text = {0};
    loom_buffer_text(&text, "entry main (xs: seq (i64");
    for (int i = 1; i < 1000; i++) loom_buffer_text(&text, ", i64");
    loom_buffer_text(&text, ")) : i64 =\n");
    for (int i = 0; i < 5; i++)
        loom_buffer_printf(&text, "let s%d = from_seq (filter_seq (\\e -> e.0 > %d) xs)\n", i, i);
    loom_buffer_text(&text, "in s0[0].1 + s1[0].1 + s2[0].1 + s3[0].1 + s4[0].1");
    fixture f = open_text(text.data, 0);
    LOOM_CHECK_EQ_INT(f.graph->n_stages, 3);
    loom_arena_destroy(f.arena);
    loom_buffer_free(&text);
}

LOOM_TEST(stage, second_traversal_depends_on_the_first) {
    loom_value *a[1] = {vector(LOOM_F64, 10, numbers)};
    judge("entry main (xs: seq f64) : f64 = let m = fold_seq (+) 0 xs in fold_seq (+) 0 (map_seq (\\x -> (x - m) * (x "
          "- m)) xs)",
          a, 2);
    loom_value_unref(a[0]);
}

LOOM_TEST(stage, operator_that_only_associates) {
    loom_value *a[1] = {vector(LOOM_I64, 10, numbers)};
    judge("entry main (xs: seq i64) : (i64, i64) = fold_seq (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (map_seq "
          "(\\x -> (2, x)) xs)",
          a, 0);
    loom_value_unref(a[0]);
}

LOOM_TEST(stage, permute_with_a_destination_of_its_own) {
    loom_value *a[2] = {vector(LOOM_I64, 7, numbers), vector(LOOM_I64, 10, numbers)};
    judge("entry main (dest: []i64) (xs: seq i64) : []i64 = permute_seq (+) dest (map_seq (% 9) xs) (map_seq (* 2) xs)",
          a, 0);
    loom_value_unref(a[0]), loom_value_unref(a[1]);
}

static const char groups[] =
    "entry main (n: i64) (xs: seq i64) : i64 =\n"
    "  group_seq n (\\x -> [x % 3, x % 3 + 1, x]) xs (\\k ys ->\n"
    "    let h = permute_seq (+) (replicate 5 1) (map_seq (\\y -> y % 5) ys) (map_seq (\\y -> y "
    "* k) ys)\n"
    "    in sum h * fold_seq (+) 0 (map_seq (\\y -> y + k) ys))\n"
    "  |> fold_seq (+) 0";

LOOM_TEST(stage, groups_are_resident) {
    loom_value *a[2] = {scalar(LOOM_I64, 4), vector(LOOM_I64, 10, numbers)};
    judge(groups, a, 0);
    loom_value_unref(a[0]), loom_value_unref(a[1]);
}

/* What is made of a group's results goes on in bodies: a branch that is one, a constant function. */
LOOM_TEST(stage, results_of_groups_in_bodies) {
    loom_value *a[2] = {scalar(LOOM_I64, 4), vector(LOOM_I64, 10, numbers)};
    judge("entry main (n: i64) (xs: seq i64) : i64 =\n"
          "  group_seq n (\\x -> [x % 4]) xs (\\k ys ->\n"
          "    let t = fold_seq (+) 0 ys\n"
          "    let w = if k > 0 then t else 1\n"
          "    in w + sum (map (\\_i -> t) (iota k)) + fold_seq i64.max 0 ys)\n"
          "  |> fold_seq (+) 0",
          a, 0);
    loom_value_unref(a[0]), loom_value_unref(a[1]);
}

/* A group takes 6 numbers, and half the memory is for groups. */
LOOM_TEST(stage, groups_in_batches) {
    loom_value *a[2] = {scalar(LOOM_I64, 7), vector(LOOM_I64, 10, numbers)};
    LOOM_CHECK_EQ_INT(judge_with(groups, a, 0, 1), 7);
    LOOM_CHECK_EQ_INT(judge_with(groups, a, 0, 2 * 2 * 48), 4); /* of 2, 2, 2, 1 */
    LOOM_CHECK_EQ_INT(judge_with(groups, a, 0, 2 * 5 * 48), 2);
    LOOM_CHECK_EQ_INT(judge_with(groups, a, 0, 2 * 7 * 48), 1);
    LOOM_CHECK_EQ_INT(judge_with(groups, a, 0, UINT64_MAX), 1);
    loom_value_unref(a[0]);
    a[0] = scalar(LOOM_I64, 0);
    LOOM_CHECK_EQ_INT(judge_with(groups, a, 0, 1), 0);
    loom_value_unref(a[0]), loom_value_unref(a[1]);
}

/* Stages that read a batch of what another one spilled. */
static uint32_t spilled_stages(const char *text) {
    fixture f = open_text(text, 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < f.graph->n_stages; i++) {
        n += f.graph->stages[i].spilled != 0;
        if (f.graph->stages[i].saves) LOOM_CHECK_EQ_INT(f.graph->stages[i].outputs[0].kind, LOOM_OUT_SPILL);
    }
    loom_arena_destroy(f.arena);
    return n;
}

LOOM_TEST(stage, batches_are_spilled) {
    loom_value *a[2] = {scalar(LOOM_I64, 7), vector(LOOM_I64, 10, numbers)};
    LOOM_CHECK_EQ_INT(spilled_stages(groups), 1);
    /* Streams that are zipped and filtered; keys that repeat and are out of range; two sequences of groups. */
    const char *text = "entry main (n: i64) (xs: seq i64) (ys: seq i64) : (i64, []i64) =\n"
                       "  let zs = filter_seq (\\z -> z != 5) (zip_with_seq (\\x y -> x * 10 + y) xs ys)\n"
                       "  let a = group_seq n (\\z -> [z % 3, z % 3, z - 30]) zs (\\k s -> k * fold_seq (+) 0 s)\n"
                       "  let b = group_seq (n + 2) (\\z -> [z % 9]) zs (\\k s -> k + fold_seq i64.max 0 s)\n"
                       "  in (fold_seq (+) 0 a, from_seq b)";
    loom_value *b[3] = {a[0], a[1], vector(LOOM_I64, 10, numbers)};
    LOOM_CHECK_EQ_INT(spilled_stages(text), 2);
    judge_with(text, b, 0, 1);
    /* Elements that are numbered have to keep their places. */
    const char *numbered = "entry main (n: i64) (xs: seq i64) : i64 =\n"
                           "  group_seq n (\\(i, x) -> [x % 4]) (enumerate_seq xs) (\\k s ->\n"
                           "    fold_seq (+) 0 (map_seq (\\(i, x) -> i * x + k) s))\n"
                           "  |> fold_seq (+) 0";
    LOOM_CHECK_EQ_INT(spilled_stages(numbered), 0);
    judge_with(numbered, a, 0, 1);
    loom_value_unref(a[0]), loom_value_unref(a[1]), loom_value_unref(b[2]);
}

/* What is interpreted whole is sent as it is, and programs from outside have no spills. */
LOOM_TEST(stage, whole_programs_have_no_spills) {
    fixture f = open_text("entry main (n: i64) (xs: seq i64) : (i64, []i64) =\n"
                          "  (group_seq n (\\x -> [x % 4]) xs (\\k ys -> k + fold_seq (+) 0 ys) |> fold_seq (+) 0,\n"
                          "   from_seq (group_seq 2 (\\x -> [x]) xs (\\k ys -> length (from_seq ys))))",
                          1);
    LOOM_CHECK_EQ_INT(f.graph->n_stages, 1);
    LOOM_CHECK_EQ_INT(f.graph->stages[0].kind, LOOM_STAGE_WHOLE);
    char *bytes;
    size_t length;
    loom_program *back;
    LOOM_OK(loom_program_encode(f.staged, &bytes, &length));
    LOOM_OK(loom_program_decode(f.arena, bytes, length, &back));
    free(bytes);
    loom_arena_destroy(f.arena);
}

LOOM_TEST(stage, batches_collected) {
    loom_value *a[2] = {scalar(LOOM_I64, 5), vector(LOOM_I64, 10, numbers)};
    const char *text =
        "entry main (n: i64) (xs: seq i64) : ([]i64, i64, i64) =\n"
        "  let gs = group_seq n (\\x -> [x, x - 1]) xs (\\k ys -> k + fold_seq (+) 0 ys)\n"
        "  let m = fold_seq i64.max 0 xs\n"
        "  in (from_seq (map_seq (* 2) gs), fold_seq (\\a b -> (a + b) % (m + 1000)) 0 gs, fold_seq i64.max (-5) gs)";
    judge_with(text, a, 0, 0);
    LOOM_CHECK_EQ_INT(judge_with(text, a, 0, 48), 2); /* 3 groups, then 2 */
    LOOM_CHECK_EQ_INT(judge_with(text, a, 0, 1), 5);
    loom_value_unref(a[0]), loom_value_unref(a[1]);
}

/* What one consumer gives another one needs: the groups stay resident. */
LOOM_TEST(stage, batches_that_depend_on_each_other) {
    loom_value *a[2] = {scalar(LOOM_I64, 5), vector(LOOM_I64, 10, numbers)};
    const char *text = "entry main (n: i64) (xs: seq i64) : i64 =\n"
                       "  let gs = group_seq n (\\x -> [x]) xs (\\k ys -> k + fold_seq (+) 0 ys)\n"
                       "  let m = fold_seq i64.max 0 gs\n"
                       "  in fold_seq (+) 0 (map_seq (\\g -> g * m) gs)";
    LOOM_CHECK_EQ_INT(judge_with(text, a, 0, 1), 0);
    loom_value_unref(a[0]), loom_value_unref(a[1]);
}

LOOM_TEST(stage, contributions_of_groups) {
    loom_value *a[2] = {scalar(LOOM_I64, 7), vector(LOOM_I64, 10, numbers)};
    judge("entry main (n: i64) (xs: seq i64) : ([]i64, i64) =\n"
          "  let ys = group_map_seq n (\\x -> [x % 3 + 1, x % 3, x, x, x - 6]) (\\a b -> (a + b) % 1009) 0 xs (\\k ys "
          "->\n"
          "    let t = generate 5 (\\i -> i * k)\n"
          "    let c = replicate 3 n\n"
          "    let zs = map_seq (\\y -> t[y % 5] + k * k + c[2]) ys\n"
          "    in zip_with_seq (\\y z -> z + y * k) ys zs)\n"
          "  in (from_seq ys, fold_seq (+) 0 ys)",
          a, 0);
    judge("entry main (n: i64) (xs: seq i64) : []i64 =\n"
          "  from_seq (group_map_seq n (\\x -> generate 3 (\\j -> x + j - 2)) (+) 0 xs (\\k ys -> map_seq (* k) ys))",
          a, 0);
    loom_value_unref(a[0]);
    a[0] = scalar(LOOM_I64, 0);
    judge("entry main (n: i64) (xs: seq i64) : []i64 =\n"
          "  from_seq (group_map_seq n (\\x -> [x]) (+) 0 xs (\\k ys -> map_seq (* k) ys))",
          a, 0);
    loom_value_unref(a[0]), loom_value_unref(a[1]);
}

/* A group's table takes 24 numbers; the last batch is no turn of the loop. What the groups give to an element is joined
 * in the same order, however they are batched: the operator says in which. */
LOOM_TEST(stage, contributions_in_batches) {
    loom_value *a[2] = {scalar(LOOM_I64, 7), vector(LOOM_I64, 10, numbers)};
    const char *text = "entry main (n: i64) (xs: seq i64) : ([]i64, i64, i64) =\n"
                       "  let zs = group_map_seq n (\\x -> [x, 6, x - 3, 0]) (\\(a, b) (c, d) -> (a * c, b * c + d)) "
                       "(1, 0) xs (\\k ys ->\n"
                       "    let t = generate (2 * n - 8) (\\i -> let m = n - 3 in generate m (\\j -> i + j * k))\n"
                       "    in map_seq (\\y -> (2, y + t[y % 6, 2])) ys)\n"
                       "  let both = zip_with_seq (\\(a, b) x -> 1000 * a + 10 * b + x) zs xs\n"
                       "  in (from_seq both, fold_seq i64.max 0 both, fold_seq (+) 0 (map_seq (\\x -> x * x) xs))";
    LOOM_CHECK_EQ_INT(judge_with(text, a, 0, 0), 0);
    LOOM_CHECK_EQ_INT(judge_with(text, a, 0, 1), 6);
    LOOM_CHECK_EQ_INT(judge_with(text, a, 0, 2 * 2 * 192), 3); /* of 2, 2, 2, 1 */
    LOOM_CHECK_EQ_INT(judge_with(text, a, 0, 2 * 5 * 192), 1);
    LOOM_CHECK_EQ_INT(judge_with(text, a, 0, 2 * 7 * 192), 0);
    LOOM_CHECK_EQ_INT(judge_with(text, a, 0, UINT64_MAX), 0);
    loom_value_unref(a[0]), loom_value_unref(a[1]);
}

/* Elements that are filtered have no places that could be told: all groups are resident. */
LOOM_TEST(stage, contributions_to_filtered_elements) {
    loom_value *a[1] = {vector(LOOM_I64, 10, numbers)};
    const char *text = "entry main (xs: seq i64) : []i64 =\n"
                       "  from_seq (group_map_seq 3 (\\x -> [x, x - 1]) (+) 0 (filter_seq (< 4) xs) (\\k ys ->\n"
                       "    let t = generate 4 (\\i -> i * k) in map_seq (\\y -> t[y]) ys))";
    LOOM_CHECK_EQ_INT(judge_with(text, a, 0, 1), 0);
    loom_value_unref(a[0]);
}

LOOM_TEST(stage, loops_around_traversals) {
    loom_value *a[1] = {vector(LOOM_F64, 10, numbers)};
    const char *means = "entry main (xs: seq f64) : (f64, f64) =\n"
                        "  loop (m, s) = (0.0, 1.0) for i < 4 do\n"
                        "    let w = fold_seq (+) 0 (map_seq (\\x -> f64.exp (-(x - m) * (x - m) / s)) xs)\n"
                        "    let t = fold_seq (+) 0 (map_seq (\\x -> x * f64.exp (-(x - m) * (x - m) / s)) xs)\n"
                        "    in (t / w, s + f64.i64 i)";
    LOOM_CHECK_EQ_INT(judge_with(means, a, 0, 0), 4);
    const char *nested = "entry main (xs: seq f64) : f64 =\n"
                         "  let top = fold_seq f64.max 0 xs\n"
                         "  in loop a = 1.0 while a < top * fold_seq (+) 0 xs do\n"
                         "       loop b = a for j < 2 do b + top + fold_seq (+) 0 (map_seq (\\x -> x + a) xs)";
    judge(nested, a, 0);
    loom_value_unref(a[0]);
}

LOOM_TEST(stage, conditions_around_traversals) {
    const char *text = "entry main (c: bool) (xs: seq f64) : (f64, [4]f64) =\n"
                       "  let h = if c then permute_seq (+) (replicate 4 0) (map_seq (\\x -> i64.f64 x % 4) xs) xs\n"
                       "          else replicate 4 1\n"
                       "  in (if !c then fold_seq (+) 0 (map_seq (* h[1]) xs) else h[0], h)";
    for (int c = 0; c < 2; c++) {
        loom_value *a[2] = {scalar(LOOM_BOOL, 0), vector(LOOM_F64, 10, numbers)};
        *(bool *)a[0]->leaves[0].data = c;
        LOOM_CHECK_EQ_INT(judge_with(text, a, 0, 0), 1); /* of the two loops */
        loom_value_unref(a[0]), loom_value_unref(a[1]);
    }
}

LOOM_TEST(stage, both_branches_traverse) {
    const char *text = "entry main (c: bool) (xs: seq f64) : (f64, f64) =\n"
                       "  if c then (fold_seq (+) 0 xs, 1) else (2, fold_seq f64.max 0 xs)";
    for (int c = 0; c < 2; c++) {
        loom_value *a[2] = {scalar(LOOM_BOOL, 0), vector(LOOM_F64, 10, numbers)};
        *(bool *)a[0]->leaves[0].data = c;
        LOOM_CHECK_EQ_INT(judge_with(text, a, 0, 0), 1);
        loom_value_unref(a[0]), loom_value_unref(a[1]);
    }
}

/* The numbers of a batch vary, how many there are does not: it is in extents. */
LOOM_TEST(stage, what_varies) {
    fixture f = open_text(groups, 1);
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    loom_graph_print(f.graph, to);
    fclose(to);
    LOOM_CHECK_HAS(text, "loop 0 state 1 (varies)\n");
    LOOM_CHECK_HAS(text, "loop 0 state 2\n  ");
    free(text);
    loom_arena_destroy(f.arena);
}

/* Traversals are counted through, those in a loop too. */
LOOM_TEST(stage, labels) {
    fixture f = open_text("entry main (xs: seq f64) : f64 =\n"
                          "  let t = fold_seq (+) 0 xs\n"
                          "  in loop a = t for i < 3 do a + fold_seq (+) 0 (map_seq (* a) xs)",
                          0);
    for (uint32_t i = 0, traversals = 0; i < f.graph->n_stages; i++) {
        const loom_graph_stage *s = &f.graph->stages[i];
        if (s->kind != LOOM_STAGE_TRAVERSAL) continue;
        char begin[24];
        snprintf(begin, sizeof begin, "traversal %u: fold_seq", traversals++);
        LOOM_CHECK_HAS(s->label, begin);
    }
    loom_arena_destroy(f.arena);
}

LOOM_TEST(stage, collected_and_filtered) {
    loom_value *a[1] = {vector(LOOM_I64, 10, numbers)};
    judge("entry main (xs: seq i64) : []i64 = from_seq (map_seq (* 3) (filter_seq (> 2) xs))", a, 1);
    loom_value_unref(a[0]);
}

/* A stage has the system's own function, not the body, which is another one here. */
LOOM_TEST(stage, foreign_functions) {
    fixture f = open_text("foreign def dft [n] (xs: [n]c64) : [n]c64 = map (* 2) xs\n"
                          "entry main (s: seq c64) : []c64 = dft (from_seq s)",
                          0);
    uint32_t transforms = 0;
    for (loom_node_id n = 0; n < f.staged->n_nodes; n++) {
        transforms += f.staged->nodes[n].op == LOOM_OP_FFT;
        LOOM_CHECK(f.staged->nodes[n].op != LOOM_OP_MAP && f.staged->nodes[n].op != LOOM_OP_CALL);
    }
    LOOM_CHECK_EQ_INT(transforms, 1);
    loom_arena_destroy(f.arena);
}

LOOM_TEST(stage, positions_in_the_stream) {
    loom_value *a[1] = {vector(LOOM_I64, 10, numbers)};
    judge("entry main (xs: seq i64) : i64 = fold_seq (+) 0 (map_seq (\\(i, x) -> i * x) (enumerate_seq xs))", a, 1);
    loom_value_unref(a[0]);
}

/* Over the rows of an array chain_seq is a loop, and need not be interpreted. */
LOOM_TEST(stage, chain_of_rows) {
    loom_value *a[2] = {vector(LOOM_I64, 10, numbers), vector(LOOM_I64, 10, numbers)};
    judge("entry main (xs: []i64) (s: seq i64) : (i64, []i64) =\n"
          "  let n = fold_seq (+) 0 s\n"
          "  in (chain_seq n (\\state x -> state * 3 - x) (map_seq (* 2) (rows xs)),\n"
          "      chain_seq [n] (\\seen (i, x) -> if x > i then seen ++ [x] else seen) (enumerate_seq (rows xs)))",
          a, 3);
    loom_value_unref(a[0]), loom_value_unref(a[1]);
}

static void check_whole(const char *text, const char *remark) {
    fixture f = open_text(text, 1);
    LOOM_CHECK_EQ_INT(f.graph->n_stages, 1);
    LOOM_CHECK(f.graph->stages[0].kind == LOOM_STAGE_WHOLE);
    LOOM_CHECK_EQ_INT(f.graph->n_remarks, 1);
    LOOM_CHECK_HAS(f.graph->remarks[0], remark);
    loom_arena_destroy(f.arena);
}

/* What a chain of a stream begins with is in a slot, and so is each scan's state; a filter may leave a block nothing.
 */
LOOM_TEST(stage, chains_of_streams) {
    loom_value *a[2] = {vector(LOOM_I64, 10, numbers), scalar(LOOM_I64, 7)};
    judge("entry main (xs: seq i64) (k: i64) : i64 = chain_seq k (-) (map_seq (* 2) xs)", a, 1);
    judge("entry main (xs: seq i64) (k: i64) : i64 = loop a = k for i < 3 do chain_seq a (\\a x -> a * 3 - x) xs", a,
          3);
    judge("entry main (xs: seq i64) (k: i64) : (i64, []i64, i64) =\n"
          "  let ys = scan_seq (+) 0 (filter_seq (> 4) xs)\n"
          "  let seen = chain_seq [] (\\seen y -> if y % 2 == 0 then seen ++ [y] else seen) ys\n"
          "  in (chain_seq (length seen) (\\s (i, x) -> s * 31 + i * x) (enumerate_seq xs), seen,\n"
          "      k + fold_seq (+) 0 (scan_seq i64.max 0 (map_seq (* k) ys)))",
          a, 5);
    loom_value_unref(a[0]), loom_value_unref(a[1]);
}

LOOM_TEST(stage, chains_in_groups_are_not_cut) {
    check_whole("entry main (xs: seq i64) : []i64 =\n"
                "  from_seq (group_seq 3 (\\x -> [x]) xs (\\k ys -> chain_seq k (-) ys))",
                "chain_seq: inside group_seq only permute_seq and fold_seq");
}

LOOM_TEST(stage, whole_program_where_it_cannot_be_cut) {
    fixture f =
        open_text("entry main (xs: seq i64) : i64 = fold_seq (+) 0 (zip_with_seq (+) xs (filter_seq (> 1) xs))", 0);
    LOOM_CHECK_EQ_INT(f.graph->n_stages, 1);
    LOOM_CHECK(f.graph->stages[0].kind == LOOM_STAGE_WHOLE);
    LOOM_CHECK_EQ_INT(f.graph->n_remarks, 1);
    loom_arena_destroy(f.arena);
}
