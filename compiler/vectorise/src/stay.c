/* States of loops that stay where they are, while elements end (turns.c).
 *
 * Rule. An array of a state is an update of itself if the body makes the next one of it by updates, scatter, permute,
 * choices between such and loops over such, as the operations of the body show. If its shape is kept besides, the rows
 * of all elements stay in one value from the start of the loop to its end, each at the number of its element:
 *
 *     number [t]: of those that turn;  row j of element t is whole[number[t], j]
 *     whole' = whole with what the body makes at (number[t], j), a permute to distinct places
 * An element that ends leaves its row as it is, and no turn looks at it again; so there is nothing to collect, and
 * nothing to put in order. That the permute writes few places of each row is found later, when the body has become one
 * with it (schedule/src/updates.c); until then it writes whole rows of those that turn.
 *
 * What is made anew each turn is better off with the others: memory then is that of those that turn.
 */
#include "turns.h"

/* ---- what a body changes ---- */

typedef struct root {
    vec_root kind;
    uint32_t leaf; /* of the state */
} root;

typedef struct walk {
    vec *v;
    const loom_body *body;
    loom_node_id state; /* the parameter */
    root **found;       /* by node of the body, once looked at */
} walk;

static const root *roots_of(walk *w, loom_node_id id);

static root changed(root r) {
    return r.kind == ROOT_SAME ? (root){ROOT_CHANGED, r.leaf} : r;
}

static root either(root a, root b) {
    if (a.kind == ROOT_OTHER || b.kind == ROOT_OTHER || a.leaf != b.leaf) return (root){ROOT_OTHER, 0};
    return a.kind == ROOT_CHANGED ? a : b;
}

static void roots_of_tuple(walk *w, const loom_node *n, root *out) {
    const loom_program *p = w->v->p;
    for (uint32_t i = 0; i < n->n_operands; i++) {
        loom_node_id x = loom_operand(p, n, i);
        uint32_t k = vec_leaf_count(w->v, p->nodes[x].type);
        if (k) memcpy(out, roots_of(w, x), k * sizeof *out);
        out += k;
    }
}

static void roots_of_field(walk *w, const loom_node *n, root *out, uint32_t count) {
    const loom_program *p = w->v->p;
    loom_node_id tuple = loom_operand(p, n, 0);
    const loom_type *t = &p->types[p->nodes[tuple].type];
    uint32_t skip = 0;
    for (uint32_t i = 0; i < n->aux; i++) skip += vec_leaf_count(w->v, t->fields[i]);
    if (count) memcpy(out, roots_of(w, tuple) + skip, count * sizeof *out);
}

static void roots_of_loop(walk *w, const loom_node *n, root *out, uint32_t count) {
    bool counted = n->op == LOOM_OP_LOOP_FOR;
    const root *initial = roots_of(w, loom_operand(w->v->p, n, counted ? 1 : 0));
    const vec_root *turn = vec_state_roots(w->v, loom_node_body(w->v->p, n, counted ? 0 : 1), counted ? 1 : 0, count);
    for (uint32_t k = 0; k < count; k++) {
        if (turn[k] != ROOT_OTHER) out[k] = turn[k] == ROOT_CHANGED ? changed(initial[k]) : initial[k];
    }
}

static void roots_of_node(walk *w, const loom_node *n, root *out, uint32_t count) {
    const loom_program *p = w->v->p;
    const root *a, *b;
    switch (n->op) {
    case LOOM_OP_TUPLE: roots_of_tuple(w, n, out); return;
    case LOOM_OP_PROJECT: roots_of_field(w, n, out, count); return;
    case LOOM_OP_UPDATE:
    case LOOM_OP_SCATTER:
    case LOOM_OP_PERMUTE:
        a = roots_of(w, loom_operand(p, n, 0));
        for (uint32_t k = 0; k < count; k++) out[k] = changed(a[k]);
        return;
    case LOOM_OP_ASSERT: /* as changed: what fails is made with it */
        a = roots_of(w, loom_operand(p, n, 1));
        for (uint32_t k = 0; k < count; k++) out[k] = changed(a[k]);
        return;
    case LOOM_OP_IF:
        a = roots_of(w, loom_node_body(p, n, 0)->result);
        b = roots_of(w, loom_node_body(p, n, 1)->result);
        for (uint32_t k = 0; k < count; k++) out[k] = either(a[k], b[k]);
        return;
    case LOOM_OP_LOOP_FOR:
    case LOOM_OP_LOOP_WHILE: roots_of_loop(w, n, out, count); return;
    default: return;
    }
}

static const root *roots_of(walk *w, loom_node_id id) {
    const loom_node *n = &w->v->p->nodes[id];
    uint32_t count = vec_leaf_count(w->v, n->type);
    bool inside = id >= w->body->first && id < w->body->end;
    root **at = inside ? &w->found[id - w->body->first] : NULL;
    if (at && *at) return *at;
    root *made = LOOM_NEW_ARRAY(w->v->scratch, root, (size_t)count + 1); /* all other */
    if (id == w->state) {
        for (uint32_t k = 0; k < count; k++) made[k] = (root){ROOT_SAME, k};
    } else if (inside) {
        roots_of_node(w, n, made, count);
    }
    if (at) *at = made;
    return made;
}

const vec_root *vec_state_roots(vec *v, const loom_body *body, uint32_t state, uint32_t n_leaves) {
    walk w = {.v = v, .body = body, .state = body->first + state};
    w.found = LOOM_NEW_ARRAY(v->scratch, root *, (size_t)(body->end - body->first) + 1);
    vec_root *out = LOOM_NEW_ARRAY(v->scratch, vec_root, (size_t)n_leaves + 1);
    const root *next = roots_of(&w, body->result);
    for (uint32_t k = 0; k < n_leaves; k++) out[k] = next[k].leaf == k ? next[k].kind : ROOT_OTHER;
    return out;
}

/* ---- the value ---- */

bool vec_stay_start(vec *v, const turns *t, slot *s, const leaf *x, uint32_t level, loom_lvalue_id *value) {
    uint64_t mask = UINT64_C(1) << level;
    op_axes axes;
    if (!vec_copy_value(v, t->node, x, mask, value)) return false;
    if (!vec_value_axes(v, t->node, mask, x->n_own, x->own, &axes)) return false;
    leaf rows = vec_result_leaf(v, *value, &axes, x->n_own, x->own);
    s->whole = vec_unbind_level(v, &rows, level, vec_level_extent(v, level));
    return true;
}

leaf vec_stay_whole(const slot *s, loom_lvalue_id id) {
    leaf x = s->whole;
    x.id = id;
    return x;
}

/* (a, x) -> x */
static loom_lblock_id replaced(vec *v, loom_dtype t) {
    loom_lexpr_id first = v->l->n_exprs, x;
    vec_op_begin(v);
    x = vec_x_param(v, t, 1);
    vec_op_end(v);
    return loom_lifted_block(v->l, first, 2, (loom_dtype[]){t, t}, 1, &x);
}

/* The place of each point, and what is put there. */
static bool build_put(vec *v, const leaf *x, const leaf *number, uint32_t depth, loom_lexpr_id *results) {
    leaf y = *x;
    if (!vec_to_expr(v, number, &results[0])) return false;
    for (uint32_t k = 0; k < x->n_own; k++) {
        results[1 + k] = vec_x_axis(v, depth + k);
        y = vec_bind_level(v, &y, depth + k);
    }
    return vec_to_expr(v, &y, &results[1 + x->n_own]);
}

bool vec_stay_next(vec *v, const turns *t, const slot *s, loom_lvalue_id state, const leaf *x, const leaf *number,
                   uint32_t level, loom_lvalue_id *next) {
    uint32_t depth = v->depth;
    uint64_t mask = UINT64_C(1) << level;
    const loom_lvalue whole = v->l->values[state];
    loom_lblock_id combine = replaced(v, s->whole.dtype);
    loom_lexpr_id first = v->l->n_exprs, results[MAX_LEVELS + 2];
    bool ok = vec_push_own(v, t->node, x->own, x->n_own);
    if (ok) {
        vec_op_begin(v);
        ok = build_put(v, x, number, depth, results);
        vec_op_end(v);
    }
    if (!ok) {
        v->depth = depth;
        return false;
    }
    loom_lblock_id body = loom_lifted_block(v->l, first, 0, NULL, x->n_own + 2, results);
    loom_lexpr_id end = v->l->n_exprs;
    for (uint32_t k = 0; k < x->n_own; k++) mask |= UINT64_C(1) << (depth + k);
    op_axes axes = vec_order_axes(v, mask, depth);
    v->depth = depth;
    vec_place_axes(v, first, end, &axes);
    loom_lop op = vec_plain_op(v, t->node, LOOM_LO_PERMUTE, &axes);
    op_axes target = {.n = whole.n_axes};
    memcpy(target.axis, whole.axes, whole.n_axes * sizeof *whole.axes);
    *next = vec_new_value(v, t->node, whole.dtype, &target);
    op.body = body;
    op.combine = combine;
    op.distinct = true; /* no element has two numbers */
    op.rank = op.n_target_axes = target.n;
    op.target_axes = target.axis;
    op.n_results = 1;
    op.results = next;
    op.dest = &state;
    loom_lifted_op(v->l, op);
    return true;
}
