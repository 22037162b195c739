/* Entry of the vectoriser: parameters of the stage's function become values, its results outputs. See vec.h for the
 * method. Rules: lift.c (outside of operations), scalar.c (inside), delayed.c and delay.c (what moves elements),
 * reduce.c, permute.c, filter.c and choose.c (elements that are chosen), flatten.c, segment.c (rows that differ in
 * length), tested.c (rows that a test finds to be of one), control.c with split.c, part.c and turns.c (conditionals and
 * loops).
 *
 * Worked example, averages over a regular stream: columns xss [chunk][m]
 *     map (\xs -> sum xs / f32 (length xs)) xss
 * o0: reduce i1 over [i0: chunk, i1: m] -> v1 [chunk]      sum under the map: chunk is a level, m the reduced axis
 * o1: compute over [] -> v2                                length xs is an extent: it has no chunk axis
 * o2: compute over [i0: chunk] -> v3 = v1[i0] / v2[]
 */
#include "compiler/plan/graph.h"
#include "vec.h"

typedef struct param_fill {
    vec *v;
    loom_lsource source;
    uint32_t index;
    const loom_leaf_shape *shapes; /* of its leaves */
    const loom_value *known;
    const char *name;              /* of the function's parameter: for printing */
    const char *known_as;          /* to the user */
    const loom_graph_leaf *leaves; /* names */
    uint32_t at;                   /* the next leaf */
    leaf *out;
    extent own[LOOM_MAX_DEPTH];
    const char *bad;
    bool carried; /* from chunk to chunk */
} param_fill;

static bool is_stream(const param_fill *p) {
    return p->source == LOOM_LV_COLUMN;
}

static const char *leaf_of(const param_fill *p, const char *name, uint32_t i) {
    const char *below = p->leaves ? p->leaves[i].name : "";
    return below && *below ? loom_arena_printf(p->v->arena, "%s.%s", name, below) : name;
}

static const char *leaf_name(const param_fill *p, uint32_t i) {
    return leaf_of(p, p->name, i);
}

static void fill_leaf(param_fill *p, const loom_type *type, uint32_t depth) {
    vec *v = p->v;
    uint32_t i = p->at++;
    leaf *x = &p->out[i];
    extent *own = LOOM_NEW_ARRAY(v->scratch, extent, (size_t)depth + 1);
    loom_axis_id axes[LOOM_MAX_DEPTH];
    for (uint32_t k = 0; k < depth; k++) {
        own[k] = p->own[k];
        axes[k] = own[k].axis;
    }
    *x = (leaf){.kind = LEAF_VALUE, .dtype = type->dtype, .n_own = depth, .own = own, .site = LOOM_NONE};
    if (p->bad) {
        x->kind = LEAF_BAD;
        x->why = p->bad;
        return;
    }
    bool constant = is_stream(p) && p->shapes[i].constant;
    uint32_t skip = constant ? 1 : 0;
    x->id = loom_lifted_value(v->l, (loom_lvalue){.dtype = type->dtype,
                                                  .source = constant ? LOOM_LV_CONSTANT : p->source,
                                                  .index = p->index,
                                                  .leaf = i,
                                                  .n_axes = depth - skip,
                                                  .axes = axes + skip,
                                                  .op = LOOM_NONE,
                                                  .carried = p->carried,
                                                  .name = leaf_name(p, i)});
    source *s = LOOM_NEW_ARRAY(v->scratch, source, (size_t)depth + 1);
    for (uint32_t k = skip; k < depth; k++) s[k - skip] = (source){FROM_OWN, IN_RANGE, k};
    x->sources = s;
    if (depth == 0 && p->known && i < p->known->n_leaves && p->known->leaves[i].depth == 0) {
        x->known = true;
        x->imm = loom_scalar_load(type->dtype, p->known->leaves[i].data);
    }
}

/* Extent of level `depth` of leaf i of the parameter. The shape of a constant field does not have the chunk's level. */
static int64_t shape_extent(const param_fill *p, uint32_t i, uint32_t depth) {
    bool constant = is_stream(p) && p->shapes[i].constant;
    return p->shapes[i].extents[depth - (constant ? 1 : 0)];
}

static extent of_axis(loom_axis_id axis) {
    return (extent){.axis = axis, .expr = LOOM_NONE};
}

/* Rows that differ in length: their lengths come with the first leaf that has them, for all that share the level. */
static extent rows_axis(param_fill *p, uint32_t depth) {
    vec *v = p->v;
    loom_axis_id axes[LOOM_MAX_DEPTH];
    source *s = LOOM_NEW_ARRAY(v->scratch, source, (size_t)depth + 1);
    for (uint32_t k = 0; k < depth; k++) {
        axes[k] = p->own[k].axis;
        s[k] = (source){FROM_OWN, IN_RANGE, k};
    }
    loom_lvalue lengths = {.dtype = LOOM_I64,
                           .source = p->source,
                           .index = p->index,
                           .leaf = p->at,
                           .lengths_of = depth,
                           .n_axes = depth,
                           .axes = axes,
                           .op = LOOM_NONE,
                           .carried = p->carried,
                           .name = leaf_name(p, p->at)};
    leaf x = {.kind = LEAF_VALUE, .dtype = LOOM_I64, .sources = s, .site = LOOM_NONE};
    x.id = loom_lifted_value(v->l, lengths);
    return vec_segments(v, &x);
}

/* Extent of a level that the leaves from `at` on share, by their shapes. */
static extent level_axis(param_fill *p, uint32_t depth, uint32_t n_below) {
    vec *v = p->v;
    if (is_stream(p) && depth == 0) return of_axis(loom_lifted_axis(v->l, (loom_axis){.kind = LOOM_AXIS_CHUNK}));
    int64_t extent = shape_extent(p, p->at, depth);
    bool constant = is_stream(p) && p->shapes[p->at].constant, same = true;
    for (uint32_t i = 1; i < n_below; i++) {
        same = same && (is_stream(p) && p->shapes[p->at + i].constant) == constant;
        if (shape_extent(p, p->at + i, depth) != extent) extent = LOOM_IRREGULAR;
    }
    if (vec_forces(v, LOOM_FORCE_IRREGULAR) && depth > 0 && !constant && same) extent = LOOM_IRREGULAR;
    bool rows = extent < 0 && depth > 0 && !constant && same;
    bool tested = rows && is_stream(p) && v->request->tested;
    if (rows && !tested) return rows_axis(p, depth);
    if (tested) {
        return of_axis(loom_lifted_axis(
            v->l, (loom_axis){.kind = LOOM_AXIS_INPUT, .value = v->l->n_values, .level = depth - 1, .tested = true}));
    }
    if (extent < 0) {
        p->bad = vec_copy_text(v, "%s is irregular: its rows differ in length",
                               leaf_of(p, p->known_as && *p->known_as ? p->known_as : p->name, p->at));
        return of_axis(loom_lifted_const_axis(v->l, 0));
    }
    if (extent <= vec_most_constant(v)) return of_axis(loom_lifted_const_axis(v->l, extent));
    uint32_t level = depth - (is_stream(p) ? 1 : 0);
    return of_axis(
        loom_lifted_axis(v->l, (loom_axis){.kind = LOOM_AXIS_INPUT, .value = v->l->n_values, .level = level}));
}

static void fill_type(param_fill *p, loom_type_id id, uint32_t depth) {
    const loom_type *type = &p->v->p->types[id];
    const char *bad = p->bad;
    switch (type->kind) {
    case LOOM_T_SCALAR: fill_leaf(p, type, depth); return;
    case LOOM_T_TUPLE:
        for (uint32_t i = 0; i < type->n_fields; i++) fill_type(p, type->fields[i], depth);
        return;
    case LOOM_T_ARRAY:
    case LOOM_T_SEQ: break;
    }
    uint32_t below = vec_leaf_count(p->v, type->element);
    if (below == 0) return;
    assert(depth < LOOM_MAX_DEPTH && "the checker lets no type through that is nested deeper");
    p->own[depth] = level_axis(p, depth, below);
    fill_type(p, type->element, depth + 1);
    p->bad = bad;
}

static val make_param(param_fill *p, loom_type_id type) {
    val x = vec_leaves_of(p->v, vec_leaf_count(p->v, type), &p->out);
    fill_type(p, type, 0);
    return x;
}

/* ---- parameters ---- */

typedef struct stage_args {
    const loom_graph_stage *stage;
    const loom_function *function;
    const loom_body *body;
    val *args; /* one per parameter */
} stage_args;

static loom_type_id param_type(const vec *v, const stage_args *s, uint32_t i) {
    return v->p->nodes[s->body->first + i].type;
}

static loom_status *check_request(const vec *v, const stage_args *s) {
    uint32_t streams = s->stage->kind == LOOM_STAGE_TRAVERSAL ? s->stage->n_streams : 0;
    uint32_t params = s->stage->n_inputs + (s->stage->kind == LOOM_STAGE_TRAVERSAL ? 1 + streams : 0), leaves = 0;
    if (s->body->n_params != params) {
        return loom_error(LOOM_E_INTERNAL, "stage function %s has %u parameters, its stage %u", s->function->name,
                          s->body->n_params, params);
    }
    for (uint32_t i = 0; i < params; i++) {
        if (i == s->stage->n_inputs) continue; /* first */
        leaves += vec_leaf_count(v, param_type(v, s, i));
    }
    if (v->request->n_shapes != leaves) {
        return loom_error(LOOM_E_INTERNAL, "%u shapes for a stage with %u leaves", v->request->n_shapes, leaves);
    }
    return NULL;
}

/* Whether input i is a state that goes from chunk to chunk. */
static bool is_carried(const loom_graph_stage *stage, uint32_t i) {
    for (uint32_t k = 0; k < stage->n_carried; k++) {
        if (stage->carried[k].input == i) return true;
    }
    return false;
}

static void make_args(vec *v, stage_args *s) {
    const loom_vectorise_request *r = v->request;
    const loom_graph_stage *stage = s->stage;
    uint32_t at = 0, n = 0;
    for (uint32_t i = 0; i < stage->n_inputs; i++) {
        param_fill p = {.v = v, .source = LOOM_LV_INPUT, .index = i, .shapes = r->shapes + at};
        p.carried = is_carried(stage, i);
        p.known = r->known && !p.carried ? r->known[i] : NULL;
        p.name = s->function->param_names[n];
        p.leaves = r->graph->slots[stage->inputs[i]].leaves;
        p.known_as = r->graph->slots[stage->inputs[i]].name;
        s->args[n] = make_param(&p, param_type(v, s, n));
        at += s->args[n++].n;
    }
    if (stage->kind != LOOM_STAGE_TRAVERSAL) return;
    leaf *first;
    s->args[n] = vec_leaves_of(v, 1, &first);
    loom_lvalue_id id = loom_lifted_value(
        v->l, (loom_lvalue){.dtype = LOOM_I64, .source = LOOM_LV_FIRST, .op = LOOM_NONE, .name = "first"});
    first[0] = (leaf){.kind = LEAF_VALUE, .dtype = LOOM_I64, .id = id, .site = LOOM_NONE};
    n++;
    for (uint32_t i = 0; i < stage->n_streams; i++) {
        param_fill p = {.v = v, .source = LOOM_LV_COLUMN, .index = i, .shapes = r->shapes + at};
        p.name = s->function->param_names[n];
        p.leaves = r->graph->slots[stage->streams[i]].leaves;
        p.known_as = r->graph->slots[stage->streams[i]].name;
        s->args[n] = make_param(&p, param_type(v, s, n));
        at += s->args[n++].n;
    }
}

/* ---- outputs ---- */

/* The nodes that give the outputs: operands of the tuple at the end. */
static const loom_node *result_tuple(const vec *v, const stage_args *s) {
    const loom_node *n = &v->p->nodes[s->body->result];
    return n->op == LOOM_OP_TUPLE && n->n_operands == s->stage->n_outputs ? n : NULL;
}

static void find_targets(vec *v, const stage_args *s) {
    const loom_node *tuple = result_tuple(v, s);
    v->targets = LOOM_NEW_ARRAY(v->scratch, target, (size_t)s->stage->n_outputs + 1);
    for (uint32_t j = 0; tuple && j < s->stage->n_outputs; j++) {
        const loom_node *n = &v->p->nodes[loom_operand(v->p, tuple, j)];
        if (s->stage->outputs[j].kind != LOOM_OUT_PERMUTE || n->op != LOOM_OP_PERMUTE) continue;
        v->targets[v->n_targets++] = (target){n, j, false};
    }
}

static loom_lvalue_id *describe_output(vec *v, const loom_graph_output *g, const val *x, loom_loutput *o) {
    const loom_graph_slot *slot = &v->request->graph->slots[g->slot];
    const char **names = LOOM_NEW_ARRAY(v->arena, const char *, (size_t)x->n + 1);
    loom_dtype *types = LOOM_NEW_ARRAY(v->arena, loom_dtype, (size_t)x->n + 1);
    loom_lvalue_id *values = LOOM_NEW_ARRAY(v->arena, loom_lvalue_id, (size_t)x->n + 1);
    for (uint32_t i = 0; i < x->n; i++) {
        names[i] = i < slot->n_leaves ? loom_arena_strdup(v->arena, slot->leaves[i].name) : "";
        types[i] = i < slot->n_leaves ? slot->leaves[i].dtype : x->at[i].dtype;
        values[i] = LOOM_NONE;
    }
    o->kind = g->kind;
    o->order = g->order;
    o->n_leaves = x->n;
    o->names = names;
    o->dtypes = types;
    o->values = values;
    return values;
}

/* The merge function's body as a block over the leaves; the program cannot stay compiled where it is not elementwise.
 */
static bool merge_block(vec *v, const stage_args *s, const loom_graph_output *g, const val *x, loom_loutput *o) {
    const loom_body *b = &v->p->bodies[v->p->functions[g->merge].body];
    const loom_node *n = &v->p->nodes[s->body->result];
    uint32_t *group = LOOM_NEW_ARRAY(v->scratch, uint32_t, (size_t)x->n + 1);
    for (uint32_t i = 0; i < x->n; i++) {
        group[i] = i;
        bool same = x->at[i].n_own == x->at[0].n_own;
        for (uint32_t k = 0; same && k < x->at[i].n_own; k++)
            same = vec_same_extent(v, x->at[i].own[k], x->at[0].own[k]);
        if (!same) return vec_refuse(v, n, "partial results whose parts differ in shape");
    }
    return vec_combine_merge(v, n, b, s->args, s->stage->n_inputs, x->at, x->n, group, &o->combine);
}

static bool fold_output(vec *v, const stage_args *s, const loom_graph_output *g, const val *x, loom_loutput *o) {
    loom_scalar *neutral = LOOM_NEW_ARRAY(v->arena, loom_scalar, (size_t)x->n + 1);
    loom_axis_id *axes = LOOM_NEW_ARRAY(v->arena, loom_axis_id, LOOM_MAX_DEPTH);
    if (x->n == 0 || g->merge == LOOM_NONE_FUNCTION) return vec_refuse(v, NULL, "a fold without a result to merge");
    for (uint32_t i = 0; i < x->n; i++) {
        if (vec_any_segmented(v, x->at[i].own, x->at[i].n_own)) {
            return vec_refuse(v, NULL, "partial results whose rows may differ in length");
        }
        if (vec_any_tested(v, x->at[i].own, x->at[i].n_own)) {
            return vec_refuse(v, NULL, "partial results whose size may differ from chunk to chunk");
        }
    }
    if (!merge_block(v, s, g, x, o)) return false;
    uint16_t builtin = vec_builtin_of(v, o->combine);
    for (uint32_t i = 0; i < x->n; i++) {
        if (builtin != LOOM_PRIM_COUNT) loom_prim_neutral((loom_prim)builtin, x->at[i].dtype, &neutral[i]);
    }
    for (uint32_t k = 0; k < x->at[0].n_own; k++) axes[k] = x->at[0].own[k].axis;
    o->n_axes = x->at[0].n_own;
    o->axes = axes;
    o->neutral = neutral;
    return true;
}

/* One for each element of the stream, or for each that a filter has kept. */
static bool is_chunk(const vec *v, const leaf *x) {
    if (!x->n_own || x->own[0].axis == LOOM_NONE) return false;
    loom_axis_kind kind = v->l->axes[x->own[0].axis].kind;
    return kind == LOOM_AXIS_CHUNK || kind == LOOM_AXIS_SCALAR;
}

/* Values that outputs take over must be made by an operation and belong to one output only. */
static bool output_value(vec *v, const loom_node *n, const leaf *x, bool collect, const bool *taken,
                         loom_lvalue_id *out) {
    if (x->kind == LEAF_BAD) return vec_refuse(v, n, "%s", x->why);
    if (collect && !is_chunk(v, x)) return vec_refuse(v, n, "a result that is not one element for each of the stream");
    if (!vec_canonical(v, n, x, 0, out)) return false;
    bool inner_chunk = x->n_own > 1 && vec_chunk_among(v, x->own + 1, x->n_own - 1);
    if (inner_chunk || (!collect && vec_chunk_among(v, x->own, x->n_own))) {
        return vec_refuse(v, n, "a result whose extent is that of a chunk");
    }
    if (v->l->values[*out].source == LOOM_LV_OP && !(*out < v->l->n_values && taken[*out])) return true;
    return vec_copy_value(v, n, x, 0, out);
}

/* The next chunk runs by the same plan, so the next state has the shape of the one before. */
static bool keeps_shape(vec *v, const stage_args *s, const loom_node *n, uint32_t output, const val *x) {
    for (uint32_t k = 0; k < s->stage->n_carried; k++) {
        if (s->stage->carried[k].output != output) continue;
        const val *before = &s->args[s->stage->carried[k].input];
        for (uint32_t i = 0; i < x->n; i++) {
            if (x->at[i].kind == LEAF_BAD) return vec_refuse(v, n, "%s", x->at[i].why);
            bool same = x->at[i].n_own == before->at[i].n_own;
            for (uint32_t d = 0; same && d < x->at[i].n_own; d++)
                same = vec_known_equal(v, x->at[i].own[d], before->at[i].own[d]);
            if (!same) return vec_refuse(v, n, "a state that may change its shape from chunk to chunk");
        }
    }
    return true;
}

static bool make_outputs(vec *v, const stage_args *s, const val *result) {
    const loom_node *tuple = result_tuple(v, s), *end = &v->p->nodes[s->body->result];
    const loom_type *type = &v->p->types[end->type];
    uint32_t at = 0, k = s->stage->n_outputs;
    bool *taken = NULL;
    uint32_t n_taken = 0;
    for (uint32_t j = 0; j < k; j++) {
        const loom_graph_output *g = &s->stage->outputs[j];
        loom_loutput *o = &v->l->outputs[j];
        loom_type_id t = type->kind == LOOM_T_TUPLE && type->n_fields == k ? type->fields[j] : end->type;
        val x = {vec_leaf_count(v, t), result->at + at};
        const loom_node *n = tuple ? &v->p->nodes[loom_operand(v->p, tuple, j)] : end;
        at += x.n;
        loom_lvalue_id *values = describe_output(v, g, &x, o);
        if (g->kind == LOOM_OUT_PERMUTE) {
            bool done = false;
            for (uint32_t i = 0; i < v->n_targets; i++)
                done = done || (v->targets[i].output == j && v->targets[i].done);
            if (!done) return vec_refuse(v, n, "a permuted result that is not a permute of the stream");
            continue;
        }
        bool fold = g->kind == LOOM_OUT_FOLD || g->kind == LOOM_OUT_REDUCE;
        if (fold && !fold_output(v, s, g, &x, o)) return false;
        if (g->kind == LOOM_OUT_CHAIN && !keeps_shape(v, s, n, j, &x)) return false;
        bool collect = loom_is_collected(g->kind);
        for (uint32_t i = 0; i < x.n; i++) {
            uint32_t room = v->l->n_values + 2;
            taken = loom_arena_grow(v->scratch, taken, n_taken, room, sizeof *taken);
            n_taken = room;
            loom_lvalue_id made;
            if (!output_value(v, n, &x.at[i], collect, taken, &made)) return false;
            if (made < n_taken) taken[made] = true;
            values[i] = made;
        }
    }
    return true;
}

/* ---- entry ---- */

static loom_status *run(vec *v, stage_args *s, bool *ok) {
    LOOM_TRY(check_request(v, s));
    s->args = LOOM_NEW_ARRAY(v->scratch, val, (size_t)s->body->n_params + 1);
    v->l->stage_kind = s->stage->kind;
    v->l->n_outputs = s->stage->n_outputs;
    v->l->outputs = LOOM_NEW_ARRAY(v->arena, loom_loutput, (size_t)s->stage->n_outputs + 1);
    for (uint32_t j = 0; j < s->stage->n_outputs; j++) v->l->outputs[j].combine = LOOM_NONE;
    make_args(v, s);
    find_targets(v, s);
    val result;
    *ok = vec_lift_body(v, s->body, s->args, NULL, &result) && make_outputs(v, s, &result);
    if (*ok && v->lost) *ok = vec_refuse(v, NULL, "the extent of rows that may differ in length");
    return NULL;
}

loom_status *loom_vectorise(loom_arena *arena, const loom_vectorise_request *request, loom_lifted **lifted,
                            const char **remark) {
    const loom_graph_stage *stage = &request->graph->stages[request->stage];
    const loom_function *function = &request->program->functions[stage->function];
    if (stage->kind == LOOM_STAGE_WHOLE) {
        *lifted = NULL;
        *remark = "the whole entry is one stage";
        return NULL;
    }
    vec v = {.arena = arena, .scratch = loom_arena_create(0), .request = request, .p = request->program};
    stage_args s = {.stage = stage, .function = function, .body = &request->program->bodies[function->body]};
    bool ok = false;
    v.l = loom_lifted_create(arena, request->program);
    v.l->force = request->force;
    vec_write_halves(&v, s.body);
    s.body = &v.p->bodies[function->body];
    vec_prepare_tables(&v);
    loom_status *status = run(&v, &s, &ok);
    loom_arena_destroy(v.scratch);
    if (status) return status;
    *lifted = ok ? v.l : NULL;
    *remark = ok ? NULL : v.remark;
#ifdef LOOM_DEBUG_CHECKS
    if (ok) return loom_lifted_check(v.l);
#endif
    return NULL;
}
