/* Why a value is not regular.
 *
 * A node whose extents differ has taken that over from another node (an operand, the result of a body, what a
 * parameter is bound to) or makes it itself. From the node that is asked about the way is followed back as long as what
 * it comes from has extents that differ; the last one on it made them differ, by the rule of its operation.
 *
 * Worked example:  map (\r -> map (* 2) (filter (> 0) r)) a
 * The result's rows come from the inner map, its rows from the filter, whose argument r has the same length for every
 * element: so the filter is the reason. Cost: all nodes on a way have the same reason, so each is visited once. */
#include "shapes.h"

struct loom_shape_reasons {
    const loom_shapes *s;
    loom_node_id *user; /* by body: the node whose body it is, LOOM_NONE for those of functions */
    uint32_t *visited;  /* by node: on which way, from 1 */
    uint32_t way;
    loom_node_id *after; /* by node that was visited: the next one on its way, or itself */
    loom_node_id *cause; /* by node that was visited: the one that made its extents differ */
};
typedef loom_shape_reasons tracer;

/* Some extent differs, between elements or between rows. */
static bool differs(const loom_shapes *s, loom_node_id id) {
    const aval *x = &s->of_node[id];
    if (!x->at) return true; /* nothing is known */
    for (uint32_t i = 0; i < x->n; i++) {
        for (uint32_t k = 0; k < x->at[i].depth; k++) {
            if (x->at[i].dims[k].levels || x->at[i].dims[k].own) return true;
        }
    }
    return false;
}

static bool depends(const loom_shapes *s, loom_node_id id) {
    const aval *x = &s->of_node[id];
    return !x->at || shapes_all(x) != 0;
}

static bool open_to(const tracer *t, loom_node_id id) {
    return t->visited[id] != t->way && differs(t->s, id);
}

/* The first of the node's operands, from `first` on, that an extent may come from. */
static loom_node_id from_operands(const tracer *t, const loom_node *n, uint32_t first) {
    for (uint32_t i = first; i < n->n_operands; i++) {
        loom_node_id x = loom_operand(t->s->p, n, i);
        if (open_to(t, x)) return x;
    }
    return LOOM_NONE;
}

static loom_node_id from_bodies(const tracer *t, const loom_node *n) {
    for (uint32_t i = 0; i < n->n_bodies; i++) {
        loom_node_id x = loom_node_body(t->s->p, n, i)->result;
        if (open_to(t, x)) return x;
    }
    return LOOM_NONE;
}

/* The operand that is the state of a loop, or the start of a fold, before the first turn. */
static loom_node_id initial_of(const loom_shapes *s, const loom_node *n) {
    return loom_operand(s->p, n, n->op == LOOM_OP_LOOP_FOR ? 1 : 0);
}

/* What a body's parameter is bound to. */
static loom_node_id from_parameter(const tracer *t, loom_node_id id) {
    const loom_shapes *s = t->s;
    loom_body_id body = s->owner[id];
    loom_node_id user = t->user[body];
    if (user == LOOM_NONE) return LOOM_NONE;
    const loom_node *n = &s->p->nodes[user];
    uint32_t position = id - s->p->bodies[body].first;
    loom_node_id x = LOOM_NONE;
    switch ((loom_op)n->op) {
    case LOOM_OP_LOOP_FOR:
    case LOOM_OP_LOOP_WHILE: x = initial_of(s, n); break;
    case LOOM_OP_FOLD:
    case LOOM_OP_SEQ_FOLD:
    case LOOM_OP_SCAN:
    case LOOM_OP_SEQ_SCAN:
    case LOOM_OP_SEQ_REDUCE:
    case LOOM_OP_SEQ_CHAIN: x = loom_operand(s->p, n, position ? 1 : 0); break;
    case LOOM_OP_FOLD1: x = loom_operand(s->p, n, 0); break;
    case LOOM_OP_SEQ_GROUP:
    case LOOM_OP_SEQ_GROUP_MAP: x = loom_operand(s->p, n, n->n_operands - 1); break;
    default:
        if (position < n->n_operands) x = loom_operand(s->p, n, position);
        break;
    }
    /* A state that only its own turns change comes from the loop. */
    return x != LOOM_NONE && open_to(t, x) ? x : user;
}

/* Extents are numbers among the operands: they make them differ where they depend on an element. */
static bool sizes_depend(const loom_shapes *s, const loom_node *n) {
    uint32_t first = 0, end = n->n_operands;
    switch ((loom_op)n->op) {
    case LOOM_OP_GENERATE:
    case LOOM_OP_IOTA: break;
    case LOOM_OP_REPLICATE: end = 1; break;
    case LOOM_OP_UNFLATTEN: end = 2; break;
    case LOOM_OP_SLICE: first = 1; break;
    default: return false;
    }
    for (uint32_t i = first; i < end; i++) {
        if (depends(s, loom_operand(s->p, n, i))) return true;
    }
    return false;
}

static loom_node_id comes_from(const tracer *t, loom_node_id id) {
    const loom_node *n = &t->s->p->nodes[id];
    if (n->op == LOOM_OP_PARAM) return from_parameter(t, id);
    if (n->op == LOOM_OP_CALL || sizes_depend(t->s, n)) return LOOM_NONE;
    loom_node_id x = LOOM_NONE;
    switch ((loom_op)n->op) {
    case LOOM_OP_FILTER:
    case LOOM_OP_SEQ_FILTER:
    case LOOM_OP_SEQ_GROUP: return LOOM_NONE;
    case LOOM_OP_LOOP_FOR:
    case LOOM_OP_LOOP_WHILE: x = initial_of(t->s, n); return open_to(t, x) ? x : from_bodies(t, n);
    case LOOM_OP_PERMUTE:
    case LOOM_OP_SEQ_PERMUTE:
    case LOOM_OP_SCATTER:
    case LOOM_OP_BACKPERMUTE:
    case LOOM_OP_INDEX:
    case LOOM_OP_UPDATE: x = loom_operand(t->s->p, n, 0); return open_to(t, x) ? x : LOOM_NONE;
    default: break;
    }
    x = from_bodies(t, n);
    return x == LOOM_NONE ? from_operands(t, n, 0) : x;
}

static void name_rule(const loom_shapes *s, loom_node_id id, loom_shape_reason *r) {
    const loom_node *n = &s->p->nodes[id];
    r->node = id;
    switch ((loom_op)n->op) {
    case LOOM_OP_PARAM:
        r->rule = "Input";
        r->text = "rows of the input may differ in length";
        return;
    case LOOM_OP_FILTER:
    case LOOM_OP_SEQ_FILTER:
        r->rule = "Filter";
        r->text = "how many elements stay depends on their values";
        return;
    case LOOM_OP_GENERATE:
    case LOOM_OP_IOTA:
    case LOOM_OP_REPLICATE:
    case LOOM_OP_UNFLATTEN:
        r->rule = "Generate";
        r->text = "the extent is a number that depends on the element";
        return;
    case LOOM_OP_SLICE:
        r->rule = "Slice";
        r->text = "the bounds depend on the element";
        return;
    case LOOM_OP_IF:
        r->rule = "If-Shape";
        r->text = "the branches may differ in shape, and which is taken depends on the element";
        return;
    case LOOM_OP_LOOP_FOR:
    case LOOM_OP_LOOP_WHILE:
        r->rule = "Loop-Shape";
        r->text = "turns change the shape of the state, and how many there are depends on the element";
        return;
    case LOOM_OP_ARRAY:
    case LOOM_OP_CONCAT:
        r->rule = "Rows";
        r->text = "the rows that are put together may differ in length";
        return;
    case LOOM_OP_SEQ_GROUP:
    case LOOM_OP_SEQ_GROUP_MAP:
        r->rule = "Group";
        r->text = "how many elements a group has depends on their keys";
        return;
    case LOOM_OP_INDEX:
    case LOOM_OP_GATHER:
        r->rule = "Index";
        r->text = "which row is read depends on the element, and rows may differ in length";
        return;
    default:
        r->rule = "Shape";
        r->text = "nothing is known of the extents";
        return;
    }
}

loom_shape_reasons *loom_shapes_reasons(const loom_shapes *s, loom_arena *arena) {
    const loom_program *p = s->p;
    tracer *t = LOOM_NEW(arena, tracer);
    t->s = s;
    t->user = LOOM_NEW_ARRAY(arena, loom_node_id, (size_t)p->n_bodies + 1);
    t->visited = LOOM_NEW_ARRAY(arena, uint32_t, (size_t)p->n_nodes + 1);
    t->after = LOOM_NEW_ARRAY(arena, loom_node_id, (size_t)p->n_nodes + 1);
    t->cause = LOOM_NEW_ARRAY(arena, loom_node_id, (size_t)p->n_nodes + 1);
    for (uint32_t b = 0; b < p->n_bodies; b++) t->user[b] = LOOM_NONE;
    for (loom_node_id id = 0; id < p->n_nodes; id++) {
        const loom_node *n = &p->nodes[id];
        for (uint32_t i = 0; i < n->n_bodies; i++) t->user[p->body_refs[n->first_body + i]] = id;
        t->cause[id] = LOOM_NONE;
    }
    return t;
}

bool loom_shapes_irregular_because(loom_shape_reasons *t, loom_node_id node, loom_shape_reason *reason) {
    if (!differs(t->s, node)) return false;
    loom_node_id at = node, next = node, cause = LOOM_NONE;
    t->way++;
    while (next != LOOM_NONE && cause == LOOM_NONE) {
        at = next;
        t->visited[at] = t->way;
        cause = t->cause[at];
        next = comes_from(t, at);
        t->after[at] = next == LOOM_NONE ? at : next;
        if (next != LOOM_NONE && t->visited[next] == t->way) cause = next; /* it goes round in a loop */
    }
    if (cause == LOOM_NONE) cause = at;
    for (loom_node_id id = node; t->cause[id] == LOOM_NONE; id = t->after[id]) t->cause[id] = cause;
    name_rule(t->s, cause, reason);
    return true;
}

bool loom_shapes_differs_because(const loom_shapes *s, loom_node_id node, loom_shape_reason *reason) {
    const loom_node *n = &s->p->nodes[node];
    if (loom_shapes_uniform(s, node)) return false;
    switch ((loom_op)n->op) {
    case LOOM_OP_IF:
        *reason = (loom_shape_reason){"If", "which branch is taken depends on the element", loom_operand(s->p, n, 0)};
        return true;
    case LOOM_OP_LOOP_FOR:
        *reason =
            (loom_shape_reason){"Loop", "how many turns there are depends on the element", loom_operand(s->p, n, 0)};
        return true;
    case LOOM_OP_LOOP_WHILE:
        *reason = (loom_shape_reason){"While", "whether there is another turn depends on the element",
                                      loom_node_body(s->p, n, 0)->result};
        return true;
    default: return false;
    }
}
