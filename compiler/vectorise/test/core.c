#include "core.h"

loom_status *(*test_fuse)(loom_lifted *lifted);

loom_type_id test_type(const loom_program *p, loom_node_id node) {
    return p->nodes[node].type;
}

loom_type_id test_array(loom_program *p, loom_type_id element, uint32_t depth) {
    for (; depth; depth--) element = loom_type_array(p, element);
    return element;
}

loom_node_id test_prim(loom_program *p, loom_prim prim, const loom_node_id *args, uint32_t n) {
    loom_dtype types[3];
    for (uint32_t i = 0; i < n; i++) types[i] = p->types[test_type(p, args[i])].dtype;
    loom_dtype t = loom_prim_result(prim, types);
    LOOM_CHECK(t != LOOM_DTYPES);
    return loom_build_node(p, LOOM_OP_PRIM, prim, loom_type_scalar(p, t), args, n, NULL, 0, 0, NOWHERE);
}

loom_body_id test_operator(loom_program *p, loom_prim prim, loom_type_id t) {
    loom_body_id b = OPEN(p, t, t);
    loom_node_id args[2] = {P(p, b, 0), P(p, b, 1)};
    loom_build_close(p, b, test_prim(p, prim, args, 2));
    return b;
}

loom_body_id test_lifted_operator(loom_program *p, loom_prim prim, loom_type_id t, uint32_t depth) {
    if (depth == 0) return test_operator(p, prim, t);
    loom_type_id type = test_array(p, t, depth);
    loom_body_id b = OPEN(p, type, type);
    loom_body_id inner = test_lifted_operator(p, prim, t, depth - 1);
    loom_build_close(p, b, NB(p, MAP, type, 0, inner, P(p, b, 0), P(p, b, 1)));
    return b;
}

loom_node_id test_tuple(loom_program *p, const loom_node_id *parts, uint32_t n) {
    loom_type_id types[16];
    for (uint32_t i = 0; i < n; i++) types[i] = test_type(p, parts[i]);
    return loom_build_node(p, LOOM_OP_TUPLE, 0, loom_type_tuple(p, n, types, NULL), parts, n, NULL, 0, 0, NOWHERE);
}

/* ---- values ---- */

static loom_value *new_value(loom_dtype t, uint32_t depth, const int64_t *extents) {
    loom_value *v;
    LOOM_OK(loom_value_create(1, &v));
    LOOM_OK(loom_leaf_init(&v->leaves[0], "", t, depth, extents, UINT64_C(1) << 30));
    return v;
}

loom_value *value_f64(uint32_t depth, const int64_t *extents, const double *data) {
    loom_value *v = new_value(LOOM_F64, depth, extents);
    double *to = v->leaves[0].data;
    for (int64_t i = 0; i < v->leaves[0].n_data; i++) to[i] = data ? data[i] : (double)((i * 37 + 11) % 101) / 10 - 3;
    return v;
}

loom_value *value_i64(uint32_t depth, const int64_t *extents, const int64_t *data) {
    loom_value *v = new_value(LOOM_I64, depth, extents);
    int64_t *to = v->leaves[0].data;
    for (int64_t i = 0; i < v->leaves[0].n_data; i++) to[i] = data ? data[i] : (i * 7 + 3) % 11;
    return v;
}

loom_value *value_c128(uint32_t depth, const int64_t *extents, unsigned seed) {
    loom_value *v = new_value(LOOM_C128, depth, extents);
    double *to = v->leaves[0].data;
    for (int64_t i = 0; i < 2 * v->leaves[0].n_data; i++) {
        seed = seed * 1664525u + 1013904223u;
        to[i] = (double)(seed >> 8) / (1 << 24) - 0.5;
    }
    return v;
}

loom_value *value_join(loom_value **parts, uint32_t n) {
    uint32_t leaves = 0;
    loom_value *v;
    for (uint32_t i = 0; i < n; i++) leaves += parts[i]->n_leaves;
    LOOM_OK(loom_value_create(leaves, &v));
    leaves = 0;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < parts[i]->n_leaves; k++) {
            const loom_leaf *from = &parts[i]->leaves[k];
            char name[32];
            snprintf(name, sizeof name, "%u", leaves);
            LOOM_OK(
                loom_leaf_init(&v->leaves[leaves], name, from->dtype, from->depth, from->extents, UINT64_C(1) << 30));
            if (from->n_data)
                memcpy(v->leaves[leaves].data, from->data, (size_t)from->n_data * loom_dtype_size(from->dtype));
            leaves++;
        }
    }
    return v;
}

/* ---- stages ---- */

test_stage test_begin(void) {
    test_stage s = {.arena = loom_arena_create(0)};
    s.program = loom_program_create(s.arena);
    return s;
}

void test_end(test_stage *s) {
    loom_arena_destroy(s->arena);
}

static loom_graph_slot make_slot(test_stage *s, loom_type_id type, const char *name, bool stream) {
    loom_type_leaf *leaves;
    uint32_t n = loom_type_leaves(s->program, s->arena, type, &leaves);
    loom_graph_leaf *out = LOOM_NEW_ARRAY(s->arena, loom_graph_leaf, n + 1);
    for (uint32_t i = 0; i < n; i++) out[i] = (loom_graph_leaf){leaves[i].name, leaves[i].dtype, leaves[i].depth};
    return (loom_graph_slot){name, stream, n, out};
}

static void make_graph(test_stage *s, const test_call *c) {
    const loom_program *p = s->program;
    const loom_body *b = &p->bodies[p->functions[c->function].body];
    loom_graph *g = LOOM_NEW(s->arena, loom_graph);
    loom_graph_stage *stage = LOOM_NEW(s->arena, loom_graph_stage);
    bool chunk = c->n_streams > 0;
    uint32_t params = c->n_inputs + c->n_streams, n_slots = params + c->n_outputs;
    loom_graph_slot *slots = LOOM_NEW_ARRAY(s->arena, loom_graph_slot, n_slots + 1);
    uint32_t *inputs = LOOM_NEW_ARRAY(s->arena, uint32_t, params + 1), *streams = inputs + c->n_inputs;
    for (uint32_t i = 0; i < params; i++) {
        uint32_t at = i < c->n_inputs ? i : i + 1;
        slots[i] = make_slot(s, p->nodes[b->first + at].type, "p", i >= c->n_inputs);
        inputs[i] = i;
    }
    loom_graph_output *outputs = LOOM_NEW_ARRAY(s->arena, loom_graph_output, c->n_outputs + 1);
    const loom_type *tuple = &p->types[p->nodes[b->result].type];
    for (uint32_t j = 0; j < c->n_outputs; j++) {
        slots[params + j] = make_slot(s, tuple->fields[j], "o", false);
        outputs[j] = (loom_graph_output){.kind = c->kinds[j], .slot = params + j, .finish = LOOM_NONE_FUNCTION};
        outputs[j].merge = c->merges ? c->merges[j] : LOOM_NONE_FUNCTION;
    }
    *stage = (loom_graph_stage){.kind = chunk ? LOOM_STAGE_TRAVERSAL : LOOM_STAGE_ARRAY,
                                .function = c->function,
                                .n_inputs = c->n_inputs,
                                .inputs = inputs,
                                .n_streams = c->n_streams,
                                .streams = streams,
                                .n_outputs = c->n_outputs,
                                .outputs = outputs,
                                .label = "test"};
    *g = (loom_graph){.n_params = params, .n_slots = n_slots, .slots = slots, .n_stages = 1, .stages = stage};
    s->graph = g;
}

static loom_leaf_shape *make_shapes(test_stage *s, const test_call *c, uint32_t *n) {
    uint32_t count = 0, params = c->n_inputs + c->n_streams;
    for (uint32_t i = 0; i < params; i++) count += c->arguments[i]->n_leaves;
    loom_leaf_shape *shapes = LOOM_NEW_ARRAY(s->arena, loom_leaf_shape, count + 1);
    *n = 0;
    for (uint32_t i = 0; i < params; i++) {
        for (uint32_t k = 0; k < c->arguments[i]->n_leaves; k++) {
            const loom_leaf *leaf = &c->arguments[i]->leaves[k];
            int64_t *extents = LOOM_NEW_ARRAY(s->arena, int64_t, leaf->depth + 1);
            for (uint32_t d = 0; d < leaf->depth; d++) extents[d] = leaf->extents[d];
            bool stream = i >= c->n_inputs;
            if (stream) extents[0] = -2;
            shapes[(*n)++] =
                (loom_leaf_shape){leaf->depth, extents, stream && c->constant && c->constant[i - c->n_inputs]};
        }
    }
    return shapes;
}

void test_vectorise(test_stage *s, const test_call *c) {
    LOOM_OK(loom_program_check(s->program));
    make_graph(s, c);
    loom_vectorise_request r = {.program = s->program, .graph = s->graph};
    loom_value **known = LOOM_NEW_ARRAY(s->arena, loom_value *, c->n_inputs + 1);
    for (uint32_t i = 0; i < c->n_inputs; i++) {
        bool scalar = c->known;
        for (uint32_t k = 0; k < c->arguments[i]->n_leaves; k++)
            scalar = scalar && c->arguments[i]->leaves[k].depth == 0;
        known[i] = scalar ? c->arguments[i] : NULL;
    }
    r.known = known;
    r.shapes = make_shapes(s, c, &r.n_shapes);
    LOOM_OK(loom_vectorise(s->arena, &r, &s->lifted, &s->remark));
    if (!s->lifted) return;
    if (getenv("LOOM_SHOW")) loom_lifted_print(s->lifted, stdout);
    LOOM_OK(loom_lifted_check(s->lifted));
    if (!test_fuse) return;
    LOOM_OK(test_fuse(s->lifted));
    if (getenv("LOOM_SHOW")) {
        printf("---- fused\n");
        loom_lifted_print(s->lifted, stdout);
    }
    LOOM_OK(loom_lifted_check(s->lifted));
}

static loom_status *run_lifted(const test_stage *s, const test_call *c, loom_value **outputs) {
    loom_lifted_arguments a = {.inputs = c->arguments, .columns = c->arguments + c->n_inputs, .first = c->first};
    if (c->n_streams) a.count = c->arguments[c->n_inputs]->leaves[0].extents[0];
    return loom_lifted_eval(s->lifted, &a, outputs);
}

static loom_status *run_core(const test_stage *s, const test_call *c, loom_value **result) {
    loom_value *arguments[32], *first = value_i64(0, NULL, &c->first);
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n_inputs + c->n_streams; i++) {
        if (i == c->n_inputs) arguments[n++] = first;
        arguments[n++] = c->arguments[i];
    }
    loom_status *status = loom_interp_call(s->program, c->function, arguments, NULL, result, NULL);
    loom_value_unref(first);
    return status;
}

static void same_leaf(const loom_leaf *a, const loom_leaf *b, uint32_t j, double tolerance) {
    LOOM_CHECK_EQ_INT(a->dtype, b->dtype);
    LOOM_CHECK_EQ_INT(a->depth, b->depth);
    for (uint32_t k = 0; k < a->depth; k++) LOOM_CHECK_EQ_INT(a->extents[k], b->extents[k]);
    LOOM_CHECK_EQ_INT(a->n_data, b->n_data);
    size_t size = loom_dtype_size(a->dtype);
    for (int64_t i = 0; i < a->n_data; i++) {
        loom_scalar x = loom_scalar_load(a->dtype, (const char *)a->data + (size_t)i * size);
        loom_scalar y = loom_scalar_load(b->dtype, (const char *)b->data + (size_t)i * size);
        bool complex = loom_dtype_is_complex(a->dtype), real = loom_dtype_is_float(a->dtype);
        bool same = complex                 ? fabs(x.c[0] - y.c[0]) + fabs(x.c[1] - y.c[1]) <= tolerance
                    : real                  ? fabs(x.f - y.f) <= tolerance || (isnan(x.f) && isnan(y.f)) || x.f == y.f
                    : a->dtype == LOOM_BOOL ? x.b == y.b
                                            : x.i == y.i;
        if (!same) {
            loom_test_fail(__FILE__, __LINE__, "output leaf %u element %lld: %g (%lld), expected %g (%lld)", j,
                           (long long)i, x.f, (long long)x.i, y.f, (long long)y.i);
        }
    }
}

void test_agree(test_stage *s, const test_call *c, double tolerance) {
    loom_value *outputs[16], *expected;
    test_vectorise(s, c);
    if (!s->lifted) loom_test_fail(__FILE__, __LINE__, "refused: %s", s->remark);
    LOOM_OK(run_core(s, c, &expected));
    LOOM_OK(run_lifted(s, c, outputs));
    uint32_t at = 0;
    for (uint32_t j = 0; j < c->n_outputs; j++) {
        for (uint32_t k = 0; k < outputs[j]->n_leaves; k++, at++) {
            same_leaf(&outputs[j]->leaves[k], &expected->leaves[at], at, tolerance);
        }
        loom_value_unref(outputs[j]);
    }
    LOOM_CHECK_EQ_INT(at, expected->n_leaves);
    loom_value_unref(expected);
}

void test_both_fail(test_stage *s, const test_call *c) {
    loom_value *outputs[16], *result;
    test_vectorise(s, c);
    if (!s->lifted) loom_test_fail(__FILE__, __LINE__, "refused: %s", s->remark);
    LOOM_FAILS(run_core(s, c, &result), LOOM_E_RUNTIME);
    LOOM_FAILS(run_lifted(s, c, outputs), LOOM_E_RUNTIME);
}

uint32_t test_count_ops(const loom_lifted *l, loom_lop_kind kind) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n_ops; i++) n += l->ops[i].kind == kind;
    return n;
}

char *test_printed(const loom_lifted *l) {
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    loom_lifted_print(l, to);
    fclose(to);
    return text;
}
