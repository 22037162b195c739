/* From text to results: each program is compiled stage by stage, with and without fusion, flat and in strips, run in
 * this process on values made up from its types, and compared with the evaluator of lifted IR, which knows nothing of
 * schedules or of LLVM. */
#include "compiler/fuse/fuse.h"
#include "compiler/schedule/schedule.h"
#include "compiler/stage/stage.h"
#include "compiler/syntax/syntax.h"
#include "compiler/vectorise/eval.h"
#include "compiler/vectorise/vectorise.h"
#include "loom_test.h"
#include "programs.h"
#include "run.h"

/* Elements of the streams; extents of everything inside, and the numbers that may be indices or sizes. */
static int64_t count, extent;

typedef struct subject {
    loom_arena *arena;
    const char *name;
    loom_program *staged;
    loom_graph *graph;
    uint32_t stage;
    loom_value **slots; /* values so far: arguments are made up, what stages make is what the evaluator says */
    loom_value **inputs, **streams;
    loom_leaf_shape *shapes;
    uint32_t n_shapes;
} subject;

static uint64_t random_state = 1;

static uint32_t next_random(uint32_t below) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % below;
}

static loom_scalar random_scalar(loom_dtype t, uint32_t depth) {
    double a = (double)next_random(33) / 4 - 4, b = (double)next_random(33) / 4 - 4;
    if (t == LOOM_BOOL) return (loom_scalar){.b = next_random(2)};
    if (t == LOOM_I64) return (loom_scalar){.i = depth ? (int64_t)next_random((uint32_t)extent) : extent};
    if (loom_dtype_is_integer(t))
        return (loom_scalar){.i = loom_dtype_is_signed(t) ? (int64_t)next_random(100) - 50 : (int64_t)next_random(100)};
    if (loom_dtype_is_float(t)) return (loom_scalar){.f = a};
    return (loom_scalar){.c = {a, b}};
}

static loom_value *make_value(const loom_graph_slot *g) {
    loom_value *v;
    LOOM_OK(loom_value_create(g->n_leaves, &v));
    for (uint32_t i = 0; i < g->n_leaves; i++) {
        int64_t extents[LOOM_MAX_DEPTH];
        const loom_graph_leaf *leaf = &g->leaves[i];
        for (uint32_t k = 0; k < leaf->depth; k++) extents[k] = g->stream && k == 0 ? count : extent;
        LOOM_OK(loom_leaf_init(&v->leaves[i], leaf->name, leaf->dtype, leaf->depth, extents, 1 << 24));
        for (int64_t e = 0; e < v->leaves[i].n_data; e++) {
            char *to = (char *)v->leaves[i].data + (size_t)e * loom_dtype_size(leaf->dtype);
            loom_scalar_store(leaf->dtype, random_scalar(leaf->dtype, leaf->depth), to);
        }
    }
    return v;
}

static loom_value *value_of(subject *s, uint32_t slot) {
    const loom_graph_slot *g = &s->graph->slots[slot];
    loom_value *v = s->slots[slot];
    if (!v) v = s->slots[slot] = make_value(g);
    for (uint32_t i = 0; i < v->n_leaves; i++) {
        int64_t *shape = LOOM_NEW_ARRAY(s->arena, int64_t, LOOM_MAX_DEPTH);
        memcpy(shape, v->leaves[i].extents, sizeof v->leaves[i].extents);
        if (g->stream) shape[0] = -2;
        s->shapes[s->n_shapes++] = (loom_leaf_shape){v->leaves[i].depth, shape, false};
    }
    return v;
}

static void make_values(subject *s) {
    const loom_graph_stage *stage = &s->graph->stages[s->stage];
    s->inputs = LOOM_NEW_ARRAY(s->arena, loom_value *, stage->n_inputs + 1);
    s->streams = LOOM_NEW_ARRAY(s->arena, loom_value *, stage->n_streams + 1);
    s->shapes = LOOM_NEW_ARRAY(s->arena, loom_leaf_shape, 1000);
    s->n_shapes = 0;
    for (uint32_t i = 0; i < stage->n_inputs; i++) s->inputs[i] = value_of(s, stage->inputs[i]);
    for (uint32_t i = 0; i < stage->n_streams; i++) s->streams[i] = value_of(s, stage->streams[i]);
}

static loom_lifted *lift(subject *s, bool fuse) {
    const loom_graph_stage *stage = &s->graph->stages[s->stage];
    loom_vectorise_request request = {.program = s->staged,
                                      .graph = s->graph,
                                      .stage = s->stage,
                                      .shapes = s->shapes,
                                      .n_shapes = s->n_shapes,
                                      .known = LOOM_NEW_ARRAY(s->arena, loom_value *, stage->n_inputs + 1)};
    loom_lifted *l = NULL;
    const char *remark = NULL;
    LOOM_OK(loom_vectorise(s->arena, &request, &l, &remark));
    if (!l) {
        fprintf(stderr, "%s stage %u is not vectorised: %s\n", s->name, s->stage, remark);
        return NULL;
    }
    LOOM_OK(loom_lifted_check(l));
    if (fuse) LOOM_OK(loom_fuse(l));
    LOOM_OK(loom_lifted_check(l));
    return l;
}

static void bind(machine *m, const subject *s) {
    for (uint32_t b = 0; b < m->plan->n_buffers; b++) {
        const loom_plan_buffer *x = &m->plan->buffers[b];
        static int64_t first = 0;
        if (x->storage == LOOM_STORE_INPUT) m->data[b] = s->inputs[x->source]->leaves[x->leaf].data;
        if (x->storage == LOOM_STORE_COLUMN) m->data[b] = s->streams[x->source]->leaves[x->leaf].data;
        if (x->storage == LOOM_STORE_FIRST) m->data[b] = &first;
    }
    for (uint32_t e = 0; e < m->plan->n_extents; e++) {
        const loom_plan_extent *x = &m->plan->extents[e];
        if (x->kind != LOOM_EXTENT_INPUT) continue;
        const loom_plan_buffer *b = &m->plan->buffers[x->buffer];
        const loom_value *v = b->storage == LOOM_STORE_INPUT ? s->inputs[b->source] : s->streams[b->source];
        m->extents[e] = v->leaves[b->leaf].extents[x->level];
    }
}

static bool near(loom_dtype t, loom_scalar a, loom_scalar b) {
    double tolerance = loom_dtype_real(t) == LOOM_F32 ? 2e-4 : 1e-9;
    if (t == LOOM_BOOL) return a.b == b.b;
    if (loom_dtype_is_integer(t)) return a.u == b.u;
    if (loom_dtype_is_float(t))
        return (isnan(a.f) && isnan(b.f)) || a.f == b.f || fabs(a.f - b.f) <= tolerance * (1 + fabs(b.f));
    return fabs(a.c[0] - b.c[0]) <= tolerance * 100 && fabs(a.c[1] - b.c[1]) <= tolerance * 100;
}

static void compare(const subject *s, const machine *m, uint32_t o, const loom_value *expected) {
    for (uint32_t i = 0; i < expected->n_leaves; i++) {
        const loom_leaf *leaf = &expected->leaves[i];
        const char *got = m->data[m->plan->outputs[o].buffers[i]];
        for (int64_t e = 0; e < leaf->n_data; e++) {
            size_t at = (size_t)e * loom_dtype_size(leaf->dtype);
            loom_scalar a = loom_scalar_load(leaf->dtype, got + at),
                        b = loom_scalar_load(leaf->dtype, (const char *)leaf->data + at);
            if (!near(leaf->dtype, a, b)) {
                loom_test_fail(__FILE__, __LINE__,
                               "%s stage %u output %u leaf %u element %lld: got %g %g (%lld), expected %g %g (%lld)",
                               s->name, s->stage, o, i, (long long)e, a.c[0], a.c[1], (long long)a.i, b.c[0], b.c[1],
                               (long long)b.i);
            }
        }
    }
}

static void run_variant(subject *s, bool fuse, uint32_t force) {
    const loom_graph_stage *stage = &s->graph->stages[s->stage];
    loom_lifted *judge = lift(s, false), *l = judge ? lift(s, fuse) : NULL;
    if (!l) return;
    loom_value **expected = LOOM_NEW_ARRAY(s->arena, loom_value *, judge->n_outputs + 1);
    loom_lifted_arguments arguments = {.inputs = s->inputs, .columns = s->streams, .first = 0, .count = count};
    loom_status *status = loom_lifted_eval(judge, &arguments, expected);
    l->force = force;
    LOOM_OK(loom_schedule(l));
    LOOM_OK(loom_lifted_check(l));
    if (getenv("LOOM_TEST_IR")) loom_lifted_print(l, stderr);
    machine m = m_open(s->arena, l);
    bind(&m, s);
    m.piece = 10;
    m_run(&m, stage->kind == LOOM_STAGE_TRAVERSAL ? count : 1);
    if ((status != NULL) != (m.error.raised != 0)) {
        loom_test_fail(__FILE__, __LINE__, "%s stage %u: evaluator says %s, code %s (site %u)", s->name, s->stage,
                       status ? loom_status_message(status) : "nothing", m.error.raised ? "raised" : "nothing",
                       m.error.site);
    }
    for (uint32_t o = 0; !status && o < judge->n_outputs; o++) {
        compare(s, &m, o, expected[o]);
        loom_value **slot = &s->slots[stage->outputs[o].slot];
        loom_value_unref(*slot);
        *slot = expected[o];
    }
    loom_status_free(status);
    m_close(&m);
}

static void run_stage(subject *s) {
    const loom_graph_stage *stage = &s->graph->stages[s->stage];
    LOOM_CHECK(stage->kind != LOOM_STAGE_WHOLE);
    make_values(s);
    for (int fuse = 0; fuse < 2; fuse++) {
        run_variant(s, fuse, LOOM_FORCE_FLAT);
        run_variant(s, fuse, LOOM_FORCE_STRIP);
    }
}

static void run_program(const char *name, const char *text) {
    subject s = {.arena = loom_arena_create(0), .name = name};
    loom_source_file file = {.name = name, .text = text, .length = strlen(text)};
    loom_diagnostics diagnostics = {0};
    loom_program *program;
    loom_status *status = loom_syntax_compile(s.arena, &file, 1, &diagnostics, &program);
    if (status) loom_diagnostics_print(&diagnostics, &file, 1, stderr);
    LOOM_OK(status);
    loom_value **none = LOOM_NEW_ARRAY(s.arena, loom_value *, 100);
    loom_stage_request split = {.program = program, .entry = "main", .arguments = none, .specialise = true};
    LOOM_OK(loom_stage_split(s.arena, &split, &s.staged, &s.graph));
    s.slots = LOOM_NEW_ARRAY(s.arena, loom_value *, s.graph->n_slots + 1);
    for (s.stage = 0; s.stage < s.graph->n_stages; s.stage++) run_stage(&s);
    for (uint32_t i = 0; i < s.graph->n_slots; i++) loom_value_unref(s.slots[i]);
    loom_arena_destroy(s.arena);
}

static void run_programs(int64_t elements, int64_t inner) {
    count = elements;
    extent = inner;
    const char *only = getenv("LOOM_TEST_PROGRAM");
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (only && strcmp(only, programs[i][0]) != 0) continue;
        run_program(programs[i][0], programs[i][1]);
    }
}

LOOM_TEST(compile, programs) {
    run_programs(37, 4);
}

LOOM_TEST(compile, larger_elements) {
    run_programs(11, 33);
}

LOOM_TEST(compile, empty_streams) {
    run_programs(0, 4);
}

LOOM_TEST(compile, one_element) {
    run_programs(1, 1);
}
