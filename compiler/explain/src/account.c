/* What each node is and costs.
 *
 * COST. A node is evaluated once for each point of the bodies around it: of a map as often as its array has elements,
 * of an operator of a fold once for each that it joins, of loops and branches once. Extents that are constants are
 * taken as they are, those of flattened and joined arrays follow from what these are made of, others are as the sizes
 * say, and the stream's own is 1: so costs are those of one element of the stream. */
#include "compiler/ir/prim.h"
#include "flat.h"
#include "losses.h"
#include <math.h>

typedef struct accounting {
    loom_arena *arena;
    const loom_program *program; /* as given */
    const char *entry;
    loom_lifting_sizes sizes;
    explain_stages stages;
    loom_account *account;
} accounting;

/* One stage. */
typedef struct costs {
    const accounting *a;
    const loom_program *p;
    const loom_body *body; /* of its function */
    const loom_shapes *shapes;
    loom_body_id *owner;
    double *times;      /* by body: evaluations */
    double *flops;      /* by body: of its nodes */
    uint32_t *indent;   /* by body */
    uint32_t n_streams; /* descriptors of the levels along the stream */
    uint32_t *streams;
    LOOM_VEC(double) made; /* by descriptor: an extent that follows from others; 0: it does not */
} costs;

/* ---- extents ---- */

static double extent(const costs *c, loom_node_id id, uint32_t leaf, uint32_t level) {
    loom_shape_level l = loom_shapes_level(c->shapes, id, leaf, level);
    if (l.constant >= 0) return (double)l.constant;
    for (uint32_t i = 0; i < c->n_streams; i++) {
        if (l.descriptor == c->streams[i]) return 1;
    }
    if (l.descriptor < c->made.count && c->made.at[l.descriptor] > 0) return c->made.at[l.descriptor];
    return (double)c->a->sizes.extent;
}

static double points(const costs *c, loom_node_id id, uint32_t leaf, uint32_t depth) {
    double n = 1;
    for (uint32_t k = 0; k < depth; k++) n *= extent(c, id, leaf, k);
    return n;
}

/* Elements of an array along its outer `depth` levels; of one without leaves nothing is known. */
static double elements(const costs *c, loom_node_id id, uint32_t depth) {
    loom_type_leaf *leaves;
    uint32_t n = loom_type_leaves(c->p, c->a->arena, c->p->nodes[id].type, &leaves);
    if (!n) return (double)c->a->sizes.extent;
    return points(c, id, 0, leaves[0].depth < depth ? leaves[0].depth : depth);
}

static double bytes_of(const costs *c, loom_node_id id) {
    loom_type_leaf *leaves;
    uint32_t n = loom_type_leaves(c->p, c->a->arena, c->p->nodes[id].type, &leaves);
    double bytes = 0;
    for (uint32_t i = 0; i < n; i++) {
        bytes += (double)loom_dtype_size(leaves[i].dtype) * points(c, id, i, leaves[i].depth);
    }
    return bytes;
}

/* Descriptors of extents stand for numbers that are not known, but what they are made of is. An operand comes before.
 */
static void find_made(costs *c) {
    for (loom_node_id id = c->body->first; id < c->body->end; id++) {
        const loom_node *n = &c->p->nodes[id];
        double size = 0;
        loom_type_leaf *leaves;
        if (n->op == LOOM_OP_FLATTEN) size = elements(c, loom_operand(c->p, n, 0), 2);
        for (uint32_t i = 0; n->op == LOOM_OP_CONCAT && i < n->n_operands; i++)
            size += elements(c, loom_operand(c->p, n, i), 1);
        if (size <= 0 || !loom_type_leaves(c->p, c->a->arena, n->type, &leaves)) continue;
        loom_shape_level l = loom_shapes_level(c->shapes, id, 0, 0);
        if (l.constant >= 0 || l.descriptor == LOOM_NO_DESCRIPTOR) continue;
        while (c->made.count <= l.descriptor) LOOM_PUSH(c->a->arena, c->made, 0);
        c->made.at[l.descriptor] = size;
    }
}

/* ---- how often ---- */

static double evaluations(const costs *c, loom_node_id id) {
    const loom_node *n = &c->p->nodes[id];
    switch ((loom_op)n->op) {
    case LOOM_OP_MAP:
    case LOOM_OP_SEQ_MAP:
    case LOOM_OP_FILTER:
    case LOOM_OP_SEQ_FILTER:
    case LOOM_OP_FOLD1: return elements(c, loom_operand(c->p, n, 0), 1);
    case LOOM_OP_FOLD:
    case LOOM_OP_SCAN:
    case LOOM_OP_SEQ_FOLD:
    case LOOM_OP_SEQ_SCAN:
    case LOOM_OP_SEQ_CHAIN: return elements(c, loom_operand(c->p, n, 1), 1);
    case LOOM_OP_GENERATE: return elements(c, id, n->n_operands);
    case LOOM_OP_BACKPERMUTE: return elements(c, id, loom_node_body(c->p, n, 0)->n_params);
    case LOOM_OP_PERMUTE:
    case LOOM_OP_SEQ_PERMUTE: return elements(c, loom_operand(c->p, n, 2), LOOM_MAX_TYPE_NESTING);
    case LOOM_OP_SEQ_GROUP:
    case LOOM_OP_SEQ_GROUP_MAP: return elements(c, loom_operand(c->p, n, n->n_operands - 1), 1);
    default: return 1;
    }
}

/* Of the node itself, each time. */
static double own_flops(const costs *c, loom_node_id id) {
    const loom_node *n = &c->p->nodes[id];
    double m;
    switch ((loom_op)n->op) {
    case LOOM_OP_PRIM: return loom_prim_table[n->prim].work;
    case LOOM_OP_CONVERT: return 1;
    case LOOM_OP_FFT: m = elements(c, id, LOOM_MAX_TYPE_NESTING); return 5 * m * log2(m > 1 ? m : 2);
    case LOOM_OP_SORT: m = elements(c, id, 1); return m * log2(m > 1 ? m : 2);
    default: return 0;
    }
}

static void count_evaluations(costs *c) {
    for (loom_node_id id = c->body->end; id-- > c->body->first;) {
        const loom_node *n = &c->p->nodes[id];
        for (uint32_t i = 0; i < n->n_bodies; i++) {
            loom_body_id b = c->p->body_refs[n->first_body + i];
            c->times[b] = c->times[c->owner[id]] * evaluations(c, id);
            c->indent[b] = c->indent[c->owner[id]] + 1;
        }
    }
}

static double flops_of(costs *c, loom_node_id id) {
    const loom_node *n = &c->p->nodes[id];
    double flops = own_flops(c, id) * c->times[c->owner[id]];
    for (uint32_t i = 0; i < n->n_bodies; i++) flops += c->flops[c->p->body_refs[n->first_body + i]];
    c->flops[c->owner[id]] += flops;
    return flops;
}

static costs open_costs(const accounting *a, uint32_t stage, const loom_shapes *shapes) {
    const loom_graph_stage *g = &a->stages.graph->stages[stage];
    const loom_program *p = a->stages.staged;
    loom_body_id body = p->functions[g->function].body;
    costs c = {.a = a, .p = p, .body = &p->bodies[body], .shapes = shapes};
    c.owner = loom_program_owners(p, a->arena);
    c.times = LOOM_NEW_ARRAY(a->arena, double, (size_t)p->n_bodies + 1);
    c.flops = LOOM_NEW_ARRAY(a->arena, double, (size_t)p->n_bodies + 1);
    c.indent = LOOM_NEW_ARRAY(a->arena, uint32_t, (size_t)p->n_bodies + 1);
    c.streams = LOOM_NEW_ARRAY(a->arena, uint32_t, (size_t)c.body->n_params + 1);
    c.times[body] = 1;
    for (uint32_t i = 0; i < c.body->n_params; i++) {
        loom_node_id id = c.body->first + i;
        bool traversed = g->kind == LOOM_STAGE_TRAVERSAL && i > g->n_inputs; /* `first` stands between */
        loom_type_leaf *leaves;
        if (!traversed && p->types[p->nodes[id].type].kind != LOOM_T_SEQ) continue;
        if (!loom_type_leaves(p, a->arena, p->nodes[id].type, &leaves)) continue;
        c.streams[c.n_streams++] = loom_shapes_level(shapes, id, 0, 0).descriptor;
    }
    find_made(&c);
    count_evaluations(&c);
    return c;
}

/* ---- nodes ---- */

/* How the values are kept that operations were made for, by node: 0: there are none, else 1 + the worst
 * representation. */
static uint8_t *kept_by_node(loom_arena *arena, const loom_lifted *l, uint32_t n_nodes) {
    uint8_t *worst = LOOM_NEW_ARRAY(arena, uint8_t, (size_t)n_nodes + 1);
    for (loom_lop_id i = 0; l && i < l->n_ops; i++) {
        const loom_lop *op = &l->ops[i];
        for (uint32_t j = 0; op->node != LOOM_NONE && j < op->n_results; j++) {
            const loom_lvalue *v = &l->values[op->results[j]];
            bool chunk = v->n_axes && l->axes[v->axes[0]].kind == LOOM_AXIS_CHUNK;
            loom_shape_rep rep = loom_lifted_any_segmented(l, v->n_axes, v->axes) ? LOOM_SHAPE_IRREGULAR
                                 : chunk                                          ? LOOM_SHAPE_REGULAR
                                                                                  : LOOM_SHAPE_AVOIDED;
            if (1 + rep > worst[op->node]) worst[op->node] = (uint8_t)(1 + rep);
        }
    }
    return worst;
}

/* What is irregular unless rows turn out to be of one length. */
static bool is_tested(const loom_account_stage *s, uint8_t kept, uint8_t kept_tested) {
    return s->tested && kept == 1 + LOOM_SHAPE_IRREGULAR && kept_tested != 1 + LOOM_SHAPE_IRREGULAR;
}

/* Without a stream the maps of the stage take the place of the chunk: what depends on their elements is regular. */
static const char *kept_as(const loom_account_node *n, uint8_t kept, bool traversal) {
    if (!kept) return "";
    loom_shape_rep rep = (loom_shape_rep)(kept - 1);
    if (!traversal && rep == LOOM_SHAPE_AVOIDED && n->regularity != LOOM_SHAPE_AVOIDED) rep = LOOM_SHAPE_REGULAR;
    return explain_regularities[rep];
}

static const char **names_of_parameters(const accounting *a, const loom_graph_stage *g, uint32_t n) {
    const loom_graph *graph = a->stages.graph;
    const char **names = LOOM_NEW_ARRAY(a->arena, const char *, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) names[i] = "";
    for (uint32_t i = 0; i < g->n_inputs && i < n; i++) names[i] = graph->slots[g->inputs[i]].name;
    for (uint32_t i = 0; i < g->n_streams && g->n_inputs + 1 + i < n; i++) {
        names[g->n_inputs + 1 + i] = graph->slots[g->streams[i]].name;
    }
    return names;
}

static loom_account_node account_node(costs *c, loom_node_id id, loom_shape_reasons *reasons) {
    const loom_node *n = &c->p->nodes[id];
    loom_account_node a = {.node = id};
    a.indent = c->indent[c->owner[id]];
    a.level = loom_shapes_depth(c->shapes, id);
    a.what = n->op == LOOM_OP_PRIM ? loom_prim_table[n->prim].name : loom_op_table[n->op].name;
    a.shape = loom_shapes_text(c->shapes, id);
    a.regularity = loom_shapes_rep(c->shapes, id);
    a.bytes = bytes_of(c, id) * c->times[c->owner[id]];
    a.flops = flops_of(c, id);
    a.irregular = loom_shapes_irregular_because(reasons, id, &a.reason);
    a.differs = loom_shapes_differs_because(c->shapes, id, &a.chooser);
    return a;
}

static loom_status *account_stage(const accounting *a, uint32_t index, loom_account_stage *to) {
    const loom_graph_stage *g = &a->stages.graph->stages[index];
    const loom_shapes *shapes = explain_shapes(a->arena, &a->stages, index, &a->sizes);
    loom_lifted *lifted;
    to->per_element = g->kind == LOOM_STAGE_TRAVERSAL;
    LOOM_TRY(explain_flat(a->arena, &a->stages, index, &a->sizes, &lifted, &to->remark));
    uint32_t n_nodes = a->stages.staged->n_nodes;
    uint64_t *steps = LOOM_NEW_ARRAY(a->arena, uint64_t, (size_t)n_nodes + 1);
    if (lifted) to->steps = explain_count(a->arena, lifted, steps).all;
    loom_lifted *tested;
    LOOM_TRY(explain_tested(a->arena, &a->stages, index, &a->sizes, lifted, &tested, &to->not_tested));
    to->tested = tested != NULL;
    if (tested) to->untested = loom_lifting_irregular(tested);
    uint8_t *kept = kept_by_node(a->arena, lifted, n_nodes);
    uint8_t *kept_tested = kept_by_node(a->arena, tested, n_nodes);
    costs c = open_costs(a, index, shapes);
    loom_shape_reasons *reasons = loom_shapes_reasons(shapes, a->arena);
    loom_account_node *nodes = LOOM_NEW_ARRAY(a->arena, loom_account_node, (size_t)(c.body->end - c.body->first) + 1);
    for (loom_node_id id = c.body->first; id < c.body->end; id++) {
        loom_account_node *n = &nodes[to->n_nodes++];
        *n = account_node(&c, id, reasons);
        n->kept = is_tested(to, kept[id], kept_tested[id]) ? "tested" : kept_as(n, kept[id], to->per_element);
        n->steps = steps[id];
        if (*n->kept) to->bytes += n->bytes;
        if (c.owner[id] == (loom_body_id)(c.body - c.p->bodies)) to->flops += n->flops;
    }
    to->label = g->label ? g->label : "";
    to->nodes = nodes;
    to->n_parameters = c.body->n_params;
    to->first_stream = to->per_element ? g->n_inputs + 1 : c.body->n_params;
    to->parameters = names_of_parameters(a, g, c.body->n_params);
    return NULL;
}

static loom_status *make(void *context) {
    accounting *a = context;
    LOOM_TRY(explain_split(a->arena, a->program, a->entry, &a->stages));
    LOOM_TRY(explain_versions(a->arena, &a->stages, &a->sizes));
    const loom_graph *g = a->stages.graph;
    loom_version_notes remarks = a->stages.versions;
    for (uint32_t i = 0; i < g->n_remarks; i++) LOOM_PUSH(a->arena, remarks, g->remarks[i]);
    loom_account_stage *stages = LOOM_NEW_ARRAY(a->arena, loom_account_stage, (size_t)g->n_stages + 1);
    for (uint32_t s = 0; s < g->n_stages; s++) LOOM_TRY(account_stage(a, s, &stages[s]));
    a->account = LOOM_NEW(a->arena, loom_account);
    *a->account = (loom_account){.program = a->stages.staged,
                                 .entry = loom_program_entry(a->program, a->entry)->name,
                                 .sizes = a->sizes,
                                 .n_stages = g->n_stages,
                                 .stages = stages,
                                 .n_remarks = (uint32_t)remarks.count,
                                 .remarks = remarks.at};
    return NULL;
}

loom_status *loom_account_make(loom_arena *arena, const loom_program *program, const char *entry,
                               const loom_lifting_sizes *sizes, loom_account **account) {
    accounting a = {.arena = arena, .program = program, .entry = entry, .sizes = *sizes};
    LOOM_TRY(loom_arena_guarded(arena, make, &a, LOOM_COMPILE_EXHAUSTED));
    *account = a.account;
    return NULL;
}
