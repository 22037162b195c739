#include "weft.h"
#include "compiler/interp/interp.h"
#include "compiler/stage/stage.h"
#include "compiler/syntax/syntax.h"

loom_status *(*weft_fuse)(loom_lifted *lifted);

/* ---- arguments ---- */

static double pattern(int64_t i, loom_dtype t) {
    int64_t k = (i * 37 + 11) % 101;
    if (t == LOOM_BOOL) return k % 2 ? 1 : 0;
    return loom_dtype_is_integer(t) ? (double)(k % 13) : (double)k / 8 - 5;
}

static void store(loom_leaf *leaf, int64_t i, double re, double im) {
    loom_scalar s = {.c = {re, im}};
    if (leaf->dtype == LOOM_BOOL) s.b = re != 0;
    if (loom_dtype_is_integer(leaf->dtype)) s.i = (int64_t)re;
    loom_scalar_store(leaf->dtype, s, (char *)leaf->data + (size_t)i * loom_dtype_size(leaf->dtype));
}

typedef struct levels {
    uint32_t depth;
    int64_t extents[LOOM_MAX_DEPTH], *lengths[LOOM_MAX_DEPTH], lists;
} levels;

static void add_lengths(levels *s, int64_t length, int64_t at) {
    int64_t *all = s->lengths[s->depth];
    s->lengths[s->depth] = loom_xrealloc(all, (size_t)(at + 1) * sizeof *all);
    s->lengths[s->depth][at] = length;
}

/* After "x" or the type: an extent, or lengths in brackets, one for each list so far. */
static const char *parse_level(const char *at, levels *s) {
    char *end;
    int64_t below = 0;
    if (*at != '[') {
        s->extents[s->depth] = strtoll(at, &end, 10);
        s->lists *= s->extents[s->depth++];
        return end;
    }
    for (int64_t i = 0; i < s->lists; i++) {
        int64_t length = strtoll(at + 1, &end, 10);
        add_lengths(s, length, i);
        below += length;
        at = end;
    }
    if (!s->lists) at++;
    LOOM_CHECK(*at == ']');
    s->extents[s->depth++] = LOOM_IRREGULAR;
    s->lists = below;
    return at + 1;
}

static void make_leaf(loom_leaf *leaf, const char *name, loom_dtype t, const levels *s) {
    LOOM_OK(loom_leaf_init(leaf, name, t, 1, &s->lists, UINT64_C(1) << 28));
    leaf->depth = s->depth;
    int64_t lists = 1;
    for (uint32_t k = 0; k < s->depth; k++) {
        leaf->extents[k] = lists ? s->extents[k] : 0;
        leaf->n_lengths[k] = lists;
        if (s->extents[k] == LOOM_IRREGULAR) {
            leaf->extents[k] = LOOM_IRREGULAR;
            leaf->lengths[k] = s->lengths[k] ? s->lengths[k] : loom_xcalloc(1, sizeof(int64_t));
            int64_t below = 0;
            for (int64_t i = 0; i < lists; i++) below += leaf->lengths[k][i];
            lists = below;
        } else {
            lists *= leaf->extents[k];
        }
    }
}

static const char *parse_leaf(const char *at, loom_leaf *leaf, const char *name, bool *constant) {
    char type[8] = "";
    levels s = {.lists = 1};
    int n = 0;
    while (*at == ' ') at++;
    *constant = *at == '!';
    if (*constant) at++;
    LOOM_CHECK(sscanf(at, "%7[a-z0-9]%n", type, &n) == 1);
    at += n;
    loom_dtype t;
    LOOM_CHECK(loom_dtype_parse(type, &t));
    while (*at == ' ' || *at == 'x') {
        at++;
        if ((*at < '0' || *at > '9') && *at != '[') break;
        at = parse_level(at, &s);
    }
    make_leaf(leaf, name, t, &s);
    while (*at == ' ') at++;
    bool given = *at == '=';
    if (given) at++;
    int64_t period = *constant && s.extents[0] ? leaf->n_data / s.extents[0] : leaf->n_data;
    for (int64_t i = 0; i < leaf->n_data; i++) {
        double x = pattern(i % period, t);
        if (given) {
            char *end;
            x = strtod(at, &end);
            at = end;
        }
        store(leaf, i, x, pattern(i + 50, t));
    }
    while (*at == ' ') at++;
    return at;
}

static loom_value *parse_value(const char *text, bool *constant) {
    uint32_t n = 1;
    for (const char *c = text; *c; c++) n += *c == ';';
    loom_value *v;
    LOOM_OK(loom_value_create(n, &v));
    for (uint32_t i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        if (n == 1) name[0] = 0;
        text = parse_leaf(text, &v->leaves[i], name, &constant[i]);
        LOOM_CHECK(*text == (i + 1 < n ? ';' : 0));
        text++;
    }
    return v;
}

/* ---- stages ---- */

typedef struct machine {
    const weft_case *c;
    loom_arena *arena;
    loom_program *program;
    loom_graph *graph;
    loom_value *slots[64];
    bool constant[8][64]; /* by parameter and leaf */
    loom_lifted *last;
    weft_outcome outcome;
    uint32_t tested, equal; /* stages that have code for rows of one length; where it gave the result */
} machine;

static loom_leaf_shape *shapes_of(machine *m, const loom_graph_stage *s, uint32_t *n) {
    loom_leaf_shape *shapes = LOOM_NEW_ARRAY(m->arena, loom_leaf_shape, 512);
    *n = 0;
    for (uint32_t i = 0; i < s->n_inputs + s->n_streams; i++) {
        bool stream = i >= s->n_inputs;
        uint32_t slot = stream ? s->streams[i - s->n_inputs] : s->inputs[i];
        const loom_value *v = m->slots[slot];
        for (uint32_t k = 0; k < v->n_leaves; k++) {
            const loom_leaf *leaf = &v->leaves[k];
            bool constant = stream && m->constant[slot][k];
            int64_t *extents = LOOM_NEW_ARRAY(m->arena, int64_t, leaf->depth + 1);
            for (uint32_t d = 0; d < leaf->depth; d++)
                extents[d] = leaf->lengths[d] ? LOOM_IRREGULAR : leaf->extents[d];
            if (stream) extents[0] = -2;
            uint32_t skip = constant ? 1 : 0;
            shapes[(*n)++] = (loom_leaf_shape){leaf->depth - skip, extents + skip, constant};
        }
    }
    return shapes;
}

static loom_lifted *vectorise(machine *m, uint32_t stage, bool tested, const char **remark) {
    const loom_graph_stage *s = &m->graph->stages[stage];
    loom_vectorise_request r = {.program = m->program, .graph = m->graph, .stage = stage, .tested = tested};
    loom_lifted *l = NULL;
    loom_value **known = LOOM_NEW_ARRAY(m->arena, loom_value *, s->n_inputs + 1);
    for (uint32_t i = 0; i < s->n_inputs; i++) {
        bool scalar = m->c->known;
        for (uint32_t k = 0; k < m->slots[s->inputs[i]]->n_leaves; k++)
            scalar = scalar && !m->slots[s->inputs[i]]->leaves[k].depth;
        known[i] = scalar ? m->slots[s->inputs[i]] : NULL;
    }
    r.known = known;
    r.shapes = shapes_of(m, s, &r.n_shapes);
    LOOM_OK(loom_vectorise(m->arena, &r, &l, remark));
    if (!l) return NULL;
    if (getenv("LOOM_SHOW")) loom_lifted_print(l, stdout);
    LOOM_OK(loom_lifted_check(l));
    if (!weft_fuse) return l;
    LOOM_OK(weft_fuse(l));
    if (getenv("LOOM_SHOW")) {
        printf("---- fused\n");
        loom_lifted_print(l, stdout);
    }
    LOOM_OK(loom_lifted_check(l));
    return l;
}

static loom_status *interpret(machine *m, uint32_t stage, loom_value **result) {
    const loom_graph_stage *s = &m->graph->stages[stage];
    loom_value *arguments[80], *first = parse_value("i64 = 100", (bool[1]){false});
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_inputs; i++) arguments[n++] = m->slots[s->inputs[i]];
    if (s->kind == LOOM_STAGE_TRAVERSAL) arguments[n++] = first;
    for (uint32_t i = 0; i < s->n_streams && s->kind == LOOM_STAGE_TRAVERSAL; i++)
        arguments[n++] = m->slots[s->streams[i]];
    loom_status *status = loom_interp_call(m->program, s->function, arguments, NULL, result, NULL);
    loom_value_unref(first);
    return status;
}

static loom_status *eval_lifted(machine *m, uint32_t stage, const loom_lifted *l, loom_value *const *columns,
                                loom_value **outputs) {
    const loom_graph_stage *s = &m->graph->stages[stage];
    loom_value *inputs[64];
    for (uint32_t i = 0; i < s->n_inputs; i++) inputs[i] = m->slots[s->inputs[i]];
    loom_lifted_arguments a = {.inputs = inputs, .columns = columns, .first = 100};
    if (s->n_streams) a.count = columns[0]->leaves[0].extents[0];
    return loom_lifted_eval(l, &a, outputs);
}

static loom_status *run_lifted(machine *m, uint32_t stage, const loom_lifted *l, loom_value **outputs) {
    const loom_graph_stage *s = &m->graph->stages[stage];
    loom_value *columns[64];
    for (uint32_t i = 0; i < s->n_streams; i++) columns[i] = m->slots[s->streams[i]];
    return eval_lifted(m, stage, l, columns, outputs);
}

static bool near(loom_scalar x, loom_scalar y, loom_dtype t, double tolerance) {
    if (loom_dtype_is_complex(t))
        return fabs(x.c[0] - y.c[0]) + fabs(x.c[1] - y.c[1]) <= tolerance * (1 + fabs(y.c[0]) + fabs(y.c[1]));
    if (loom_dtype_is_float(t))
        return x.f == y.f || (isnan(x.f) && isnan(y.f)) || fabs(x.f - y.f) <= tolerance * (1 + fabs(y.f));
    return t == LOOM_BOOL ? x.b == y.b : x.i == y.i;
}

static void same_leaf(const machine *m, const loom_leaf *a, const loom_leaf *b) {
    const char *name = m->c->name;
    if (a->dtype != b->dtype || a->depth != b->depth)
        loom_test_fail(__FILE__, __LINE__, "%s: leaf %s of another type", name, b->name);
    int64_t lists = 1;
    for (uint32_t k = 0; k < a->depth; k++) {
        int64_t below = 0;
        for (int64_t i = 0; i < lists; i++) {
            int64_t x = a->lengths[k] ? a->lengths[k][i] : a->extents[k];
            int64_t y = b->lengths[k] ? b->lengths[k][i] : b->extents[k];
            below += y;
            if (x == y) continue;
            loom_test_fail(__FILE__, __LINE__, "%s: extent %u of %s is %lld, expected %lld (list %lld)", name, k,
                           b->name, (long long)x, (long long)y, (long long)i);
        }
        lists = below;
    }
    LOOM_CHECK_EQ_INT(a->n_data, b->n_data);
    size_t size = loom_dtype_size(a->dtype);
    for (int64_t i = 0; i < a->n_data; i++) {
        loom_scalar x = loom_scalar_load(a->dtype, (const char *)a->data + (size_t)i * size);
        loom_scalar y = loom_scalar_load(b->dtype, (const char *)b->data + (size_t)i * size);
        if (!near(x, y, a->dtype, m->c->tolerance)) {
            loom_test_fail(__FILE__, __LINE__, "%s: element %lld of %s is %.17g (%lld), expected %.17g (%lld)", name,
                           (long long)i, b->name, x.f, (long long)x.i, y.f, (long long)y.i);
        }
    }
}

/* Leaves [from, from + n) of a tuple's value as a value of their own. */
static loom_value *part(const loom_value *v, uint32_t from, uint32_t n) {
    loom_value *x;
    LOOM_OK(loom_value_create(n, &x));
    for (uint32_t i = 0; i < n; i++) {
        const loom_leaf *leaf = &v->leaves[from + i];
        levels s = {.depth = leaf->depth, .lists = leaf->n_data};
        for (uint32_t k = 0; k < leaf->depth; k++) {
            s.extents[k] = leaf->extents[k];
            for (int64_t j = 0; leaf->lengths[k] && j < leaf->n_lengths[k]; j++) {
                s.lengths[k] = loom_xrealloc(s.lengths[k], (size_t)(j + 1) * sizeof(int64_t));
                s.lengths[k][j] = leaf->lengths[k][j];
            }
        }
        make_leaf(&x->leaves[i], leaf->name, leaf->dtype, &s);
        if (leaf->n_data) memcpy(x->leaves[i].data, leaf->data, (size_t)leaf->n_data * loom_dtype_size(leaf->dtype));
    }
    return x;
}

static void keep_outputs(machine *m, uint32_t stage, const loom_value *result) {
    const loom_graph_stage *s = &m->graph->stages[stage];
    uint32_t at = 0;
    for (uint32_t j = 0; j < s->n_outputs; j++) {
        uint32_t slot = s->outputs[j].slot, n = m->graph->slots[slot].n_leaves;
        loom_value *x = part(result, at, n);
        at += n;
        m->slots[slot] = x;
    }
}

static void compare(machine *m, uint32_t stage, const loom_value *expected, loom_value **outputs) {
    uint32_t at = 0;
    for (uint32_t j = 0; j < m->graph->stages[stage].n_outputs; j++) {
        for (uint32_t k = 0; k < outputs[j]->n_leaves; k++)
            same_leaf(m, &outputs[j]->leaves[k], &expected->leaves[at++]);
        loom_value_unref(outputs[j]);
    }
}

/* The column as one whose rows have one length; false where they have several. The data stays where it is. */
static bool as_regular(const machine *m, const loom_value *column, loom_value *regular) {
    *regular = *column;
    regular->leaves = LOOM_NEW_ARRAY(m->arena, loom_leaf, column->n_leaves + 1);
    for (uint32_t i = 0; i < column->n_leaves; i++) {
        loom_leaf *leaf = &regular->leaves[i];
        *leaf = column->leaves[i];
        for (uint32_t k = 1; k < leaf->depth; k++) {
            if (!leaf->lengths[k]) continue;
            leaf->extents[k] = leaf->n_lengths[k] ? leaf->lengths[k][0] : 0;
            for (int64_t j = 1; j < leaf->n_lengths[k]; j++) {
                if (leaf->lengths[k][j] != leaf->extents[k]) return false;
            }
            leaf->lengths[k] = NULL;
        }
    }
    return true;
}

/* The code for rows that a test finds to be of one length, if there is any: it fails, or gives the same. */
static void run_tested(machine *m, uint32_t stage, const loom_value *expected) {
    const loom_graph_stage *s = &m->graph->stages[stage];
    const char *remark;
    loom_lifted *l = vectorise(m, stage, true, &remark);
    loom_value regular[64], *columns[64], *outputs[64];
    if (!l || !loom_lifted_is_tested(l)) return;
    m->tested++;
    for (uint32_t i = 0; i < s->n_streams; i++) {
        if (!as_regular(m, m->slots[s->streams[i]], &regular[i])) return;
        columns[i] = &regular[i];
    }
    loom_status *status = eval_lifted(m, stage, l, columns, outputs);
    if (loom_status_code(status) == LOOM_E_INTERNAL) {
        loom_test_fail(__FILE__, __LINE__, "%s: rows of one length: %s", m->c->text, loom_status_text(status));
    }
    if (!status && !expected) loom_test_fail(__FILE__, __LINE__, "%s: rows of one length do not fail", m->c->text);
    if (!status) compare(m, stage, expected, outputs);
    m->equal += !status;
    loom_status_free(status);
}

static void check_text(const machine *m, const char *text) {
    if (m->c->contains && !strstr(text, m->c->contains)) {
        loom_test_fail(__FILE__, __LINE__, "%s: \"%s\" is not in:\n%s", m->c->name, m->c->contains, text);
    }
}

static void check_printed(const machine *m, const loom_lifted *l) {
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    loom_lifted_print(l, to);
    fclose(to);
    check_text(m, text);
    free(text);
}

/* True where the run ended here, as expected. */
static bool run_stage(machine *m, uint32_t stage) {
    const weft_case *c = m->c;
    const char *remark = "";
    bool last = stage + 1 == m->graph->n_stages;
    loom_value *expected, *outputs[64];
    loom_lifted *l = vectorise(m, stage, false, &remark);
    if (!l && c->expect == WEFT_REFUSED) {
        check_text(m, remark);
        return true;
    }
    if (!l && getenv("LOOM_REMARKS")) fprintf(stderr, "remark: %s\n", remark);
    if (!l && c->expect == WEFT_ANY) {
        m->outcome = WEFT_WAS_REFUSED;
        return true;
    }
    if (!l) loom_test_fail(__FILE__, __LINE__, "%s: stage %u refused: %s", c->name, stage, remark);
    if (last && c->expect == WEFT_REFUSED) loom_test_fail(__FILE__, __LINE__, "%s: not refused", c->name);
    if (last && c->expect == WEFT_SAME) check_printed(m, l);
    m->last = l;
    loom_status *status = interpret(m, stage, &expected);
    if (status && c->expect == WEFT_FAILS) {
        if (getenv("LOOM_SHOW")) loom_status_print(status, stdout);
        loom_status_free(status);
        status = run_lifted(m, stage, l, outputs);
        if (!status) loom_test_fail(__FILE__, __LINE__, "%s: did not fail", c->name);
        run_tested(m, stage, NULL);
        if (getenv("LOOM_SHOW")) loom_status_print(status, stdout);
        LOOM_FAILS(status, LOOM_E_RUNTIME);
        return true;
    }
    if (status && c->expect == WEFT_ANY) {
        m->outcome = WEFT_HAD_FAILED;
        loom_status_free(status);
        status = run_lifted(m, stage, l, outputs);
        if (loom_status_code(status) == LOOM_E_INTERNAL) {
            loom_test_fail(__FILE__, __LINE__, "%s: %s", c->text, loom_status_text(status));
        }
        for (uint32_t j = 0; j < m->graph->stages[stage].n_outputs && !status; j++) loom_value_unref(outputs[j]);
        loom_status_free(status);
        return true;
    }
    LOOM_OK(status);
    status = run_lifted(m, stage, l, outputs);
    if (status) loom_test_fail(__FILE__, __LINE__, "%s: stage %u: %s", c->name, stage, loom_status_text(status));
    compare(m, stage, expected, outputs);
    run_tested(m, stage, expected);
    keep_outputs(m, stage, expected);
    loom_value_unref(expected);
    if (last && c->expect == WEFT_FAILS) loom_test_fail(__FILE__, __LINE__, "%s: nothing failed", c->name);
    return false;
}

static void run_all(machine *m) {
    const weft_case *c = m->c;
    m->arena = loom_arena_create(0);
    loom_source_file file = {c->name, c->text, strlen(c->text)};
    loom_diagnostics d = {0};
    loom_program *program;
    if (getenv("LOOM_SHOW")) printf("==== %s\n", c->name);
    loom_status *status = loom_syntax_compile(m->arena, &file, 1, &d, &program);
    if (status) loom_diagnostics_print(&d, &file, 1, stderr);
    LOOM_OK(status);
    uint32_t n = 0;
    for (; n < 8 && c->arguments[n]; n++) m->slots[n] = parse_value(c->arguments[n], m->constant[n]);
    loom_stage_request q = {.program = program};
    LOOM_OK(loom_stage_split(m->arena, &q, &m->program, &m->graph));
    if (getenv("LOOM_CORE")) loom_program_print(m->program, stdout);
    LOOM_CHECK_EQ_INT(n, m->graph->n_params);
    for (uint32_t i = 0; i < m->graph->n_stages; i++) {
        if (run_stage(m, i)) break;
    }
    for (uint32_t i = 0; i < 64; i++) loom_value_unref(m->slots[i]);
    bool all = m->tested && m->equal == m->tested;
    if ((c->tested == WEFT_TESTED && !all) || (c->tested == WEFT_NOT_TESTED && m->tested) ||
        (c->tested == WEFT_TESTED_IN_VAIN && (!m->tested || m->equal))) {
        loom_test_fail(__FILE__, __LINE__, "%s: %u stages are tested, %u of them find rows of one length", c->name,
                       m->tested, m->equal);
    }
}

weft_outcome weft_run(const weft_case *c) {
    machine m = {.c = c};
    run_all(&m);
    loom_arena_destroy(m.arena);
    return m.outcome;
}

loom_lifted *weft_lifted(const weft_case *c, loom_arena **arena) {
    machine m = {.c = c};
    run_all(&m);
    *arena = m.arena;
    return m.last;
}

uint32_t weft_count(const loom_lifted *l, loom_lop_kind kind) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n_ops; i++) n += l->ops[i].kind == kind;
    return n;
}
