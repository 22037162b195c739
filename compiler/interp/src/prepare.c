/* What is worked out about a program before it runs: which nodes make up a body, where a value is used for the last
 * time (so that it can be changed in place or given back), and which bodies are scalar all through.
 *
 * Last uses: a body is walked backwards. A value may be moved out of its node only if the node belongs to the innermost
 * body that runs more than once for one run of what is around it (functions, loops and element-wise bodies do; the
 * branches of an if do not, so that `if c then xs with [i] = v else xs` changes xs in place).
 */
#include "eval.h"

/* ---- types ---- */

static void fill_leaves(type_info *info) {
    uint32_t at = 0;
    if (info->kind == LOOM_T_SCALAR || (info->kind == LOOM_T_TUPLE && info->n_fields == 0)) {
        info->leaf_dtypes[0] = info->kind == LOOM_T_SCALAR ? info->dtype : LOOM_BOOL;
        info->leaf_depths[0] = 0;
    } else if (info->kind == LOOM_T_ARRAY) {
        for (; at < info->n_leaves; at++) {
            info->leaf_dtypes[at] = info->element->leaf_dtypes[at];
            info->leaf_depths[at] = info->element->leaf_depths[at] + 1;
        }
    } else {
        for (uint32_t f = 0; f < info->n_fields; f++) {
            info->first_leaf[f] = at;
            for (uint32_t k = 0; k < info->fields[f]->n_leaves; k++, at++) {
                info->leaf_dtypes[at] = info->fields[f]->leaf_dtypes[k];
                info->leaf_depths[at] = info->fields[f]->leaf_depths[k];
            }
        }
    }
}

const type_info *type_of_id(evaluation *ev, loom_type_id id) {
    if (ev->types[id]) return ev->types[id];
    const loom_type *t = &ev->program->types[id];
    type_info *info = LOOM_NEW(ev->arena, type_info);
    info->kind = t->kind == LOOM_T_SEQ ? LOOM_T_ARRAY : t->kind;
    info->is_object = t->kind != LOOM_T_SCALAR;
    info->dtype = t->dtype;
    info->size = t->kind == LOOM_T_SCALAR ? (uint32_t)loom_dtype_size(t->dtype) : 0;
    info->n_leaves = 1;
    if (info->kind == LOOM_T_ARRAY) {
        info->element = type_of_id(ev, t->element);
        info->n_leaves = info->element->n_leaves;
    }
    if (info->kind == LOOM_T_TUPLE) {
        info->n_fields = t->n_fields;
        info->fields = LOOM_NEW_ARRAY(ev->arena, const type_info *, t->n_fields ? t->n_fields : 1);
        info->first_leaf = LOOM_NEW_ARRAY(ev->arena, uint32_t, t->n_fields ? t->n_fields : 1);
        for (uint32_t f = 0; f < t->n_fields; f++) {
            info->fields[f] = type_of_id(ev, t->fields[f]);
            info->n_leaves = (f ? info->n_leaves : 0) + info->fields[f]->n_leaves;
        }
    }
    info->leaf_dtypes = LOOM_NEW_ARRAY(ev->arena, loom_dtype, info->n_leaves);
    info->leaf_depths = LOOM_NEW_ARRAY(ev->arena, uint32_t, info->n_leaves);
    fill_leaves(info);
    ev->types[id] = info;
    return info;
}

/* ---- nodes of bodies ---- */

static bool is_object_node(const loom_program *p, loom_node_id id) {
    return p->types[p->nodes[id].type].kind != LOOM_T_SCALAR;
}

/* Nodes of each body in order, without parameters; and those whose values are objects, with parameters. */
static void list_nodes(evaluation *ev, const loom_body_id *owner) {
    const loom_program *p = ev->program;
    uint32_t *counts = LOOM_NEW_ARRAY(ev->arena, uint32_t, 2 * (size_t)p->n_bodies + 2);
    uint32_t *objects = counts + p->n_bodies;
    for (loom_node_id id = 0; id < p->n_nodes; id++) {
        counts[owner[id]] += p->nodes[id].op != LOOM_OP_PARAM;
        objects[owner[id]] += is_object_node(p, id);
    }
    loom_node_id *nodes = LOOM_NEW_ARRAY(ev->arena, loom_node_id, 2 * (size_t)p->n_nodes + 1);
    for (loom_body_id b = 0; b < p->n_bodies; b++) {
        ev->bodies[b].nodes = nodes;
        nodes += counts[b];
        ev->bodies[b].objects = nodes;
        nodes += objects[b];
    }
    for (loom_node_id id = 0; id < p->n_nodes; id++) {
        body_code *code = &ev->bodies[owner[id]];
        if (p->nodes[id].op != LOOM_OP_PARAM) ((loom_node_id *)code->nodes)[code->n_nodes++] = id;
        if (is_object_node(p, id)) ((loom_node_id *)code->objects)[code->n_objects++] = id;
    }
}

/* ---- last uses ---- */

typedef struct use_walk {
    evaluation *ev;
    const loom_program *p;
    bool *live;                       /* by node: used further on */
    uint32_t *flagged;                /* by node: the operand entry + 1 marked as its last use */
    LOOM_VEC(loom_node_id) made_live; /* in order, so that what one branch did can be undone for the other */
} use_walk;

static void use(use_walk *w, loom_node_id id) {
    if (w->live[id]) return;
    w->live[id] = true;
    LOOM_PUSH(w->ev->arena, w->made_live, id);
}

static void walk_body(use_walk *w, loom_body_id body, loom_node_id owned_from);

static void walk_branches(use_walk *w, const loom_node *n, loom_node_id owned_from) {
    size_t mark = w->made_live.count;
    walk_body(w, w->p->body_refs[n->first_body], owned_from);
    size_t used = w->made_live.count - mark;
    loom_node_id *first = LOOM_NEW_ARRAY(w->ev->arena, loom_node_id, used ? used : 1);
    for (size_t i = 0; i < used; i++) {
        first[i] = w->made_live.at[mark + i];
        w->live[first[i]] = false;
    }
    w->made_live.count = mark;
    walk_body(w, w->p->body_refs[n->first_body + 1], owned_from);
    for (size_t i = 0; i < used; i++) use(w, first[i]);
}

/* Uses of one node, last to first: its bodies run after its operands are fetched. */
static void walk_node(use_walk *w, loom_node_id id, loom_node_id owned_from) {
    const loom_node *n = &w->p->nodes[id];
    if (n->op == LOOM_OP_IF) {
        walk_branches(w, n, owned_from);
    } else {
        for (uint32_t i = 0; i < n->n_bodies; i++) {
            loom_body_id b = w->p->body_refs[n->first_body + i];
            walk_body(w, b, w->p->bodies[b].first);
        }
    }
    for (uint32_t i = n->n_operands; i-- > 0;) {
        loom_node_id operand = loom_operand(w->p, n, i);
        if (!w->live[operand] && operand >= owned_from && is_object_node(w->p, operand)) {
            w->ev->last[n->first_operand + i] = true;
            w->ev->any_last[id] = true;
            w->flagged[operand] = n->first_operand + i + 1;
        } else if (w->flagged[operand] > n->first_operand + i) {
            w->ev->last[w->flagged[operand] - 1] = false; /* given twice to one node: neither is moved */
            w->flagged[operand] = 0;
        }
        use(w, operand);
    }
}

/* Nesting of bodies is limited by the checker, so recursion is. */
static void walk_body(use_walk *w, loom_body_id body, loom_node_id owned_from) {
    const loom_body *b = &w->p->bodies[body];
    body_code *code = &w->ev->bodies[body];
    bool own = b->result >= b->first;
    code->result_is_last = !own && !w->live[b->result] && b->result >= owned_from && is_object_node(w->p, b->result);
    use(w, b->result);
    for (uint32_t i = code->n_nodes; i-- > 0;) walk_node(w, code->nodes[i], owned_from);
}

/* ---- bodies of one primitive ---- */

static void find_operator(evaluation *ev, loom_body_id body) {
    const loom_program *p = ev->program;
    const loom_body *b = &p->bodies[body];
    body_code *code = &ev->bodies[body];
    code->single = LOOM_PRIM_COUNT;
    if (b->n_params != 2 || code->n_nodes != 1 || code->nodes[0] != b->result) return;
    const loom_node *n = &p->nodes[b->result];
    if (n->op != LOOM_OP_PRIM || n->n_operands != 2 || loom_prim_table[n->prim].can_trap) return;
    loom_node_id x = loom_operand(p, n, 0), y = loom_operand(p, n, 1);
    if (!(x == b->first && y == b->first + 1) && !(x == b->first + 1 && y == b->first)) return;
    code->single = n->prim;
    code->single_swaps = x != b->first;
}

/* Operations whose first body may be run by strips. */
static bool runs_on_elements(loom_op op) {
    switch (op) {
    case LOOM_OP_MAP:
    case LOOM_OP_GENERATE:
    case LOOM_OP_FILTER:
    case LOOM_OP_BACKPERMUTE:
    case LOOM_OP_SEQ_MAP:
    case LOOM_OP_SEQ_FILTER: return true;
    default: return false;
    }
}

void evaluation_prepare(evaluation *ev) {
    const loom_program *p = ev->program;
    ev->types = LOOM_NEW_ARRAY(ev->arena, const type_info *, (size_t)p->n_types + 1);
    ev->bodies = LOOM_NEW_ARRAY(ev->arena, body_code, (size_t)p->n_bodies + 1);
    ev->last = LOOM_NEW_ARRAY(ev->arena, bool, (size_t)p->n_operands + 1);
    ev->any_last = LOOM_NEW_ARRAY(ev->arena, bool, (size_t)p->n_nodes + 1);
    ev->env = LOOM_NEW_ARRAY(ev->arena, slot, (size_t)p->n_nodes + 1);
    list_nodes(ev, loom_program_owners(p, ev->arena));
    use_walk w = {.ev = ev, .p = p};
    w.live = LOOM_NEW_ARRAY(ev->arena, bool, (size_t)p->n_nodes + 1);
    w.flagged = LOOM_NEW_ARRAY(ev->arena, uint32_t, (size_t)p->n_nodes + 1);
    for (uint32_t f = 0; f < p->n_functions; f++) {
        loom_body_id body = p->functions[f].body;
        walk_body(&w, body, p->bodies[body].first);
        w.made_live.count = 0;
    }
    for (loom_body_id b = 0; b < p->n_bodies; b++) find_operator(ev, b);
    for (loom_node_id id = 0; id < p->n_nodes; id++) {
        if (!runs_on_elements((loom_op)p->nodes[id].op)) continue;
        loom_body_id b = p->body_refs[p->nodes[id].first_body];
        ev->bodies[b].strip = strip_prepare(ev, b);
    }
}
