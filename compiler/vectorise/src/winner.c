/* Folds and scans whose operator gives one of its operands, whole: the longest row, the record with the largest key.
 *
 *     fold (\a b -> if k a >= k b then a else b) ne xs
 *     ->  best = fold (\s t -> if s.0 >= t.0 then s else t) (k ne, -1) (map (\x i -> (k x, i)) xs (iota (length xs)))
 *         if best.1 < 0 then ne else xs[best.1]
 * What is joined are numbers of elements, and beside them *keys*: scalars that the operator finds in one of its
 * operands alone. They are found once for each element, by a map, and the operator is one on scalars. A scan is a scan
 * of the same, and a map that looks the elements up.
 *
 * Keys are found whether the operator gets to them or not. So one that stands under a condition has to be cheap and
 * must not fail, and one that may fail has to be found of both operands always: every element is one of them at some
 * time, and the neutral element is where there is any element.
 *
 * Where the operator looks at both operands in other ways (rows in lexicographic order), it finds them by their
 * numbers:
 *     best = fold (\i j -> let a = if i < 0 then ne else xs[i] let b = xs[j] in if p a b then i else j) -1 (iota ...)
 * Cost: the operator as often as the fold has it; no element is moved but the one that is left, or those of a scan.
 *
 * Bodies are written behind those of the program, as in halves.c.
 */
#include "vec.h"
#include "writing.h"

enum {
    MOST_NODES = 1000, /* of an operator: some of what is asked here takes time by its square */
    MOST_KEYS = 64,    /* each is a state of a reduction */
    MOST_STEPS = 20000 /* of comparisons between expressions, which are trees here */
};

enum {
    LEFT = 1,
    RIGHT = 2,
    BOTH = LEFT | RIGHT
};

typedef LOOM_VEC(loom_node_id) node_list;

typedef struct key {
    loom_node_id node; /* one that finds it */
    uint8_t always;    /* sides of which it is found whatever holds */
    bool fails;        /* it may */
} key;

typedef struct winner {
    loom_program *p;
    loom_arena *scratch;
    loom_node fold;
    loom_body op; /* copies: tables move as they grow */
    pen pen;
    loom_type_id array, element, state;
    bool by_keys, neutral, swapped;
    loom_node_id *map;   /* by node of the program: what stands for it; itself but for nodes of the operator */
    uint8_t *sides;      /* by node of the operator: the operands that it depends on */
    loom_body_id *inner; /* the innermost body around it inside of the operator, or LOOM_NONE */
    uint32_t *key_of;    /* key + 1, or 0 */
    loom_node_id *state_of;
    key keys[MOST_KEYS];
    uint32_t n_keys, steps;
    /* By node of the operator, once asked for: what was found before anything is written holds while it is. */
    loom_node_id *wholes;
    uint8_t *chosen;
    loom_node_id ne, xs; /* parameters of the body that is written */
} winner;

static loom_node_id compared(const winner *w, loom_prim prim, loom_node_id a, int64_t b) {
    return pen_prim(&w->pen, prim, w->pen.truth, a, pen_int(&w->pen, b));
}

/* ---- what the operator is ---- */

static bool in_op(const winner *w, loom_node_id id) {
    return id >= w->op.first && id < w->op.end;
}

static uint32_t place(const winner *w, loom_node_id id) {
    return id - w->op.first;
}

static bool is_operand(const winner *w, loom_node_id id) {
    return id == w->op.first || id == w->op.first + 1;
}

static const loom_node *node_of(const winner *w, loom_node_id id) {
    return &w->p->nodes[id];
}

static void add_free(const winner *w, const loom_body *b, loom_node_id id, node_list *uses) {
    if (id < b->first || id >= b->end) LOOM_PUSH(w->scratch, *uses, id);
}

/* The nodes that it is made of, those that its bodies have from around among them. */
static node_list uses_of(const winner *w, loom_node_id id) {
    node_list uses = {0};
    const loom_node *n = node_of(w, id);
    for (uint32_t i = 0; i < n->n_operands; i++) LOOM_PUSH(w->scratch, uses, loom_operand(w->p, n, i));
    for (uint32_t k = 0; k < n->n_bodies; k++) {
        const loom_body *b = loom_node_body(w->p, n, k);
        for (loom_node_id x = b->first; x < b->end; x++) {
            const loom_node *y = node_of(w, x);
            for (uint32_t i = 0; i < y->n_operands; i++) add_free(w, b, loom_operand(w->p, y, i), &uses);
            for (uint32_t i = 0; i < y->n_bodies; i++) add_free(w, b, loom_node_body(w->p, y, i)->result, &uses);
        }
        add_free(w, b, b->result, &uses);
    }
    return uses;
}

static void find_sides(winner *w) {
    for (loom_node_id id = w->op.first; id < w->op.end; id++) {
        node_list uses = uses_of(w, id);
        if (is_operand(w, id)) w->sides[place(w, id)] = id == w->op.first ? LEFT : RIGHT;
        for (size_t i = 0; i < uses.count; i++) {
            if (in_op(w, uses.at[i])) w->sides[place(w, id)] |= w->sides[place(w, uses.at[i])];
        }
    }
}

/* ---- which operand it gives ---- */

enum {
    MOST_FIELDS = 16 /* within each other */
};
typedef struct path {
    loom_node_id root;
    uint32_t n, at[MOST_FIELDS];
} path;

/* Fields in the tuple that the path leads to, or 0. */
static uint32_t fields_at(const winner *w, const path *x) {
    const loom_type *type = &w->p->types[node_of(w, x->root)->type];
    for (uint32_t i = 0; i < x->n; i++) type = &w->p->types[type->fields[x->at[i]]];
    return type->kind == LOOM_T_TUPLE ? type->n_fields : 0;
}

static bool find_path(winner *w, loom_node_id id, path *x) {
    const loom_node *n = node_of(w, id);
    if (++w->steps > MOST_STEPS) return false;
    *x = (path){.root = id};
    if (!in_op(w, id)) return true;
    if (n->op == LOOM_OP_PROJECT) {
        if (!find_path(w, loom_operand(w->p, n, 0), x) || x->n == MOST_FIELDS) return false;
        x->at[x->n++] = n->aux;
    }
    if (n->op != LOOM_OP_TUPLE || n->n_operands == 0) return true;
    path first;
    for (uint32_t i = 0; i < n->n_operands; i++) {
        path y;
        if (!find_path(w, loom_operand(w->p, n, i), &y) || y.n == 0 || y.at[y.n - 1] != i) return true;
        y.n--;
        if (i == 0) first = y;
        bool same = y.root == first.root && y.n == first.n;
        for (uint32_t k = 0; same && k < y.n; k++) same = y.at[k] == first.at[k];
        if (!same) return true;
    }
    if (fields_at(w, &first) == n->n_operands) *x = first;
    return true;
}

/* What a tuple is made of all fields of, and so on; the node itself where it is none. */
static loom_node_id whole(winner *w, loom_node_id id) {
    path x;
    if (!in_op(w, id)) return id;
    loom_node_id *known = &w->wholes[place(w, id)];
    if (*known == LOOM_NONE) *known = find_path(w, id, &x) && x.n == 0 ? x.root : id;
    return *known;
}

enum {
    CHOSEN = 1,
    NOT_CHOSEN
};

/* One of the operands, on whatever conditions. */
static bool is_chosen(winner *w, loom_node_id id) {
    id = whole(w, id);
    if (is_operand(w, id)) return true;
    const loom_node n = *node_of(w, id);
    if (!in_op(w, id) || n.op != LOOM_OP_IF) return false;
    uint8_t *known = &w->chosen[place(w, id)];
    if (!*known) {
        bool both =
            is_chosen(w, loom_node_body(w->p, &n, 0)->result) && is_chosen(w, loom_node_body(w->p, &n, 1)->result);
        *known = both ? CHOSEN : NOT_CHOSEN;
    }
    return *known == CHOSEN;
}

/* ---- keys ---- */

static bool is_cheap(const loom_node *n) {
    switch ((loom_op)n->op) {
    case LOOM_OP_PRIM: return loom_prim_table[n->prim].work <= 1;
    case LOOM_OP_PARAM:
    case LOOM_OP_CONST:
    case LOOM_OP_CONVERT:
    case LOOM_OP_TUPLE:
    case LOOM_OP_PROJECT:
    case LOOM_OP_LENGTH:
    case LOOM_OP_DIM: return true;
    default: return false;
    }
}

/* Marks all that the marked nodes are made of. */
static void mark_needed(const winner *w, bool *needed) {
    for (loom_node_id id = w->op.end; id-- > w->op.first;) {
        if (!needed[place(w, id)]) continue;
        node_list uses = uses_of(w, id);
        for (size_t i = 0; i < uses.count; i++) {
            if (in_op(w, uses.at[i])) needed[place(w, uses.at[i])] = true;
        }
    }
}

static void judge(const winner *w, loom_node_id id, bool *fails, bool *cheap) {
    bool *needed = LOOM_NEW_ARRAY(w->scratch, bool, (size_t)(w->op.end - w->op.first));
    needed[place(w, id)] = true;
    mark_needed(w, needed);
    *fails = false;
    *cheap = true;
    for (loom_node_id x = w->op.first; x < w->op.end; x++) {
        if (!needed[place(w, x)]) continue;
        const loom_node *n = node_of(w, x);
        *fails = *fails || !loom_node_cannot_fail(w->p, n);
        *cheap = *cheap && is_cheap(n);
        for (uint32_t k = 0; k < n->n_bodies; k++) {
            const loom_body *b = loom_node_body(w->p, n, k);
            for (loom_node_id y = b->first; y < b->end; y++)
                *fails = *fails || !loom_node_cannot_fail(w->p, node_of(w, y));
        }
    }
}

static bool same_expression(winner *w, loom_node_id a, loom_node_id b);

/* Bodies are ranges: nodes of the two at the same place are the same. */
static bool same_body(winner *w, const loom_body *a, const loom_body *b);

static bool same_operand(winner *w, const loom_body *a, const loom_body *b, loom_node_id x, loom_node_id y) {
    if (x >= a->first && x < a->end) return y - b->first == x - a->first;
    return (y < b->first || y >= b->end) && same_expression(w, x, y);
}

static bool same_kind(const winner *w, const loom_node *x, const loom_node *y) {
    if (x->op != y->op || x->prim != y->prim || x->type != y->type || x->n_operands != y->n_operands) return false;
    if (x->n_bodies != y->n_bodies) return false;
    if (x->op != LOOM_OP_CONST) return x->aux == y->aux;
    return loom_lifted_same_scalar(w->p->types[x->type].dtype, &w->p->constants[x->aux], &w->p->constants[y->aux]);
}

static bool same_body(winner *w, const loom_body *a, const loom_body *b) {
    if (a->end - a->first != b->end - b->first || a->n_params != b->n_params) return false;
    for (uint32_t i = 0; i < a->end - a->first; i++) {
        const loom_node *x = node_of(w, a->first + i), *y = node_of(w, b->first + i);
        if (++w->steps > MOST_STEPS || !same_kind(w, x, y)) return false;
        for (uint32_t k = 0; k < x->n_operands; k++) {
            if (!same_operand(w, a, b, loom_operand(w->p, x, k), loom_operand(w->p, y, k))) return false;
        }
        for (uint32_t k = 0; k < x->n_bodies; k++) {
            const loom_body *c = loom_node_body(w->p, x, k), *d = loom_node_body(w->p, y, k);
            bool same = c->first - a->first == d->first - b->first && c->end - a->first == d->end - b->first;
            if (!same || c->n_params != d->n_params || !same_operand(w, a, b, c->result, d->result)) return false;
        }
    }
    return same_operand(w, a, b, a->result, b->result);
}

/* The same of either operand: each is made of one of them. */
static bool same_expression(winner *w, loom_node_id a, loom_node_id b) {
    if (a == b) return true;
    if (!in_op(w, a) || !in_op(w, b) || ++w->steps > MOST_STEPS) return false;
    if (is_operand(w, a) || is_operand(w, b)) return is_operand(w, a) && is_operand(w, b);
    const loom_node *x = node_of(w, a), *y = node_of(w, b);
    if (x->op == LOOM_OP_PARAM || !same_kind(w, x, y)) return false;
    for (uint32_t i = 0; i < x->n_operands; i++) {
        if (!same_expression(w, loom_operand(w->p, x, i), loom_operand(w->p, y, i))) return false;
    }
    for (uint32_t i = 0; i < x->n_bodies; i++) {
        if (!same_body(w, loom_node_body(w->p, x, i), loom_node_body(w->p, y, i))) return false;
    }
    return true;
}

static bool add_key(winner *w, loom_node_id id, bool always) {
    bool fails, cheap;
    uint32_t k = 0;
    if (w->key_of[place(w, id)] == 0) {
        while (k < w->n_keys && !same_expression(w, w->keys[k].node, id)) k++;
        if (k == MOST_KEYS) return false;
        if (k == w->n_keys) w->keys[w->n_keys++] = (key){.node = id};
        w->key_of[place(w, id)] = k + 1;
    }
    key *x = &w->keys[w->key_of[place(w, id)] - 1];
    judge(w, id, &fails, &cheap);
    x->fails = fails;
    if (always) x->always |= w->sides[place(w, id)];
    return always || (cheap && !fails);
}

static bool is_one_sided(const winner *w, loom_node_id id) {
    uint8_t sides = w->sides[place(w, id)];
    return sides == LEFT || sides == RIGHT;
}

/* What the operator needs beside numbers of elements: a key, or what is made of keys. */
static bool need(winner *w, loom_node_id id, bool always) {
    if (!in_op(w, id) || w->sides[place(w, id)] == 0) return true;
    if (!is_one_sided(w, id)) return !is_chosen(w, id);
    return w->p->types[node_of(w, id)->type].kind == LOOM_T_SCALAR && add_key(w, id, always);
}

static bool need_of_body(winner *w, const loom_body *b, loom_body_id inner, bool always);

static bool need_of_branches(winner *w, loom_node_id id, bool always) {
    const loom_node *n = node_of(w, id);
    bool chosen = is_chosen(w, id);
    if (!need(w, loom_operand(w->p, n, 0), always)) return false;
    for (uint32_t k = 0; k < 2; k++) {
        const loom_body *b = loom_node_body(w->p, n, k);
        if (!need_of_body(w, b, w->p->body_refs[n->first_body + k], false)) return false;
        if (!chosen && !need(w, b->result, false)) return false;
    }
    return true;
}

/* inner: the number of the body, LOOM_NONE for the operator's own. */
static bool need_of_body(winner *w, const loom_body *b, loom_body_id inner, bool always) {
    for (loom_node_id id = b->first + b->n_params; id < b->end; id++) {
        if (w->inner[place(w, id)] != inner) continue;
        bool branches = node_of(w, id)->op == LOOM_OP_IF;
        if (is_one_sided(w, id)) {
            if (branches && is_chosen(w, id)) return false; /* of one operand and the same: nothing to choose by */
            continue;
        }
        if (branches) {
            if (!need_of_branches(w, id, always)) return false;
            continue;
        }
        if (is_chosen(w, id)) continue;
        node_list uses = uses_of(w, id);
        for (size_t i = 0; i < uses.count; i++) {
            if (!need(w, uses.at[i], always)) return false;
        }
    }
    return true;
}

static bool has_keys(winner *w) {
    if (!need_of_body(w, &w->op, LOOM_NONE, true)) return false;
    for (uint32_t k = 0; k < w->n_keys; k++) {
        if (w->keys[k].fails && w->keys[k].always != BOTH) return false;
    }
    return w->steps <= MOST_STEPS;
}

/* ---- what is written ---- */

/* All keys of x, and its number, as a state. */
static loom_node_id state_with(winner *w, loom_node_id x, loom_node_id index) {
    loom_node_id fields[MOST_KEYS + 1];
    bool *needed = LOOM_NEW_ARRAY(w->scratch, bool, (size_t)(w->op.end - w->op.first));
    for (uint32_t k = 0; k < w->n_keys; k++) needed[place(w, w->keys[k].node)] = true;
    mark_needed(w, needed);
    w->map[w->op.first] = w->map[w->op.first + 1] = x;
    for (loom_node_id id = w->op.first + 2; id < w->op.end; id++) {
        if (needed[place(w, id)]) loom_copy_node(w->p, w->p, id, w->map);
    }
    for (uint32_t k = 0; k < w->n_keys; k++) fields[k] = w->map[w->keys[k].node];
    fields[w->n_keys] = index;
    pen_forget(&w->op, w->map);
    return pen_node(&w->pen, LOOM_OP_TUPLE, w->state, w->n_keys + 1, fields, 0);
}

/* The same without having found any. */
static loom_node_id state_without(winner *w, loom_node_id index) {
    loom_node_id fields[MOST_KEYS + 1];
    for (uint32_t k = 0; k < w->n_keys; k++) {
        loom_dtype t = w->p->types[node_of(w, w->keys[k].node)->type].dtype;
        fields[k] = loom_build_const(w->p, t, vec_zero_scalar(), w->fold.span);
    }
    fields[w->n_keys] = index;
    return pen_node(&w->pen, LOOM_OP_TUPLE, w->state, w->n_keys + 1, fields, 0);
}

/* Where a key may fail it is found only if there are more than so many elements: then the operator finds it. */
static loom_node_id state_of(winner *w, loom_node_id x, loom_node_id index, int64_t more_than, loom_node_id length) {
    loom_body_id bodies[2];
    bool fails = false;
    for (uint32_t k = 0; k < w->n_keys; k++) fails = fails || w->keys[k].fails;
    if (!fails || more_than < 0) return state_with(w, x, index);
    loom_node_id some = compared(w, LOOM_PRIM_GT, length, more_than);
    bodies[0] = pen_open(&w->pen, 0, NULL);
    loom_build_close(w->p, bodies[0], state_with(w, x, index));
    bodies[1] = pen_open(&w->pen, 0, NULL);
    loom_build_close(w->p, bodies[1], state_without(w, index));
    return pen_if(&w->pen, w->state, some, bodies);
}

static loom_node_id element_at(const winner *w, loom_node_id i) {
    loom_node_id operands[2] = {w->xs, i};
    return pen_node(&w->pen, LOOM_OP_INDEX, w->element, 2, operands, VEC_INDEX_IN_RANGE);
}

/* The element, or the neutral one. */
static loom_node_id looked_up(const winner *w, loom_node_id i, bool neutral) {
    loom_body_id bodies[2];
    if (!neutral) return element_at(w, i);
    loom_node_id none = compared(w, LOOM_PRIM_LT, i, 0);
    bodies[0] = pen_open(&w->pen, 0, NULL);
    loom_build_close(w->p, bodies[0], w->ne);
    bodies[1] = pen_open(&w->pen, 0, NULL);
    loom_build_close(w->p, bodies[1], element_at(w, i));
    return pen_if(&w->pen, w->element, none, bodies);
}

static loom_node_id winner_of(winner *w, loom_node_id state) {
    return looked_up(w, w->by_keys ? pen_field(&w->pen, state, w->n_keys) : state, w->neutral);
}

/* As a value: not only as what another choice may give. */
static bool is_used(winner *w, loom_node_id id) {
    for (loom_node_id x = id + 1; x < w->op.end; x++) {
        const loom_node *n = node_of(w, x);
        for (uint32_t i = 0; i < n->n_operands; i++) {
            if (loom_operand(w->p, n, i) == id) return true;
        }
        for (uint32_t i = 0; i < n->n_bodies; i++) {
            if (loom_node_body(w->p, n, i)->result == id && !is_chosen(w, x)) return true;
        }
    }
    return false;
}

static void copy_body(winner *w, const loom_body *b, loom_body_id inner);

/* An IF: of the states, where it chooses between operands, else of what it gives. */
static void copy_branches(winner *w, loom_node_id id) {
    const loom_node n = *node_of(w, id);
    bool chosen = is_chosen(w, id);
    loom_node_id condition = w->map[loom_operand(w->p, &n, 0)], made;
    loom_body_id bodies[2];
    for (uint32_t k = 0; k < 2; k++) {
        loom_body_id inner = w->p->body_refs[n.first_body + k];
        const loom_body b = w->p->bodies[inner];
        bodies[k] = pen_open(&w->pen, 0, NULL);
        copy_body(w, &b, inner);
        loom_build_close(w->p, bodies[k], chosen ? w->state_of[place(w, whole(w, b.result))] : w->map[b.result]);
    }
    made = pen_if(&w->pen, chosen ? w->state : n.type, condition, bodies);
    if (chosen) {
        w->state_of[place(w, id)] = made;
        if (!w->by_keys && is_used(w, id)) w->map[id] = winner_of(w, made);
    } else {
        w->map[id] = made;
    }
}

static void copy_body(winner *w, const loom_body *b, loom_body_id inner) {
    for (loom_node_id id = b->first + b->n_params; id < b->end; id++) {
        if (w->inner[place(w, id)] != inner || (w->by_keys && is_one_sided(w, id))) continue;
        bool branches = node_of(w, id)->op == LOOM_OP_IF && (w->by_keys || is_chosen(w, id));
        if (branches) {
            copy_branches(w, id);
        } else if (!w->by_keys || !is_chosen(w, id)) {
            loom_copy_node(w->p, w->p, id, w->map);
        }
    }
}

/* The operator on states. */
static loom_body_id write_operator(winner *w) {
    loom_type_id types[2] = {w->state, w->state};
    loom_body_id body = pen_open(&w->pen, 2, types);
    for (uint32_t k = 0; k < 2; k++) {
        loom_node_id s = loom_build_param(w->p, body, k);
        w->state_of[k] = s;
        if (!w->by_keys) {
            w->map[w->op.first + k] = looked_up(w, s, w->neutral && k == (w->swapped ? 1 : 0));
            continue;
        }
        for (loom_node_id id = w->op.first; id < w->op.end; id++) {
            uint32_t x = w->key_of[place(w, id)];
            if (x && w->sides[place(w, id)] == (k ? RIGHT : LEFT)) w->map[id] = pen_field(&w->pen, s, x - 1);
        }
    }
    copy_body(w, &w->op, LOOM_NONE);
    loom_build_close(w->p, body, w->state_of[place(w, whole(w, w->op.result))]);
    pen_forget(&w->op, w->map);
    return body;
}

/* States of all elements. */
static loom_node_id write_states(winner *w, loom_node_id length) {
    loom_node_id places = pen_node(&w->pen, LOOM_OP_IOTA, loom_type_array(w->p, w->pen.i64), 1, &length, 0);
    if (!w->by_keys) return places;
    loom_type_id types[2] = {w->element, w->pen.i64};
    loom_node_id operands[2] = {w->xs, places};
    loom_body_id body = pen_open(&w->pen, 2, types);
    loom_node_id x = loom_build_param(w->p, body, 0), i = loom_build_param(w->p, body, 1);
    loom_build_close(w->p, body, state_of(w, x, i, w->neutral ? -1 : 1, length));
    return loom_build_node(w->p, LOOM_OP_MAP, 0, loom_type_array(w->p, w->state), operands, 2, &body, 1, 0,
                           w->fold.span);
}

/* The fold or scan of the states. */
static loom_node_id write_fold(winner *w) {
    loom_node_id length = pen_length(&w->pen, w->xs), operands[2], *at = operands;
    if (w->neutral) {
        loom_node_id none = pen_int(&w->pen, -1);
        *at++ = w->by_keys ? state_of(w, w->ne, none, 0, length) : none;
    }
    *at++ = write_states(w, length);
    loom_body_id op = write_operator(w);
    loom_type_id type = w->state, all = loom_type_array(w->p, w->state);
    if (w->fold.op == LOOM_OP_SCAN) type = all;
    if (w->fold.op == LOOM_OP_SCAN && w->fold.aux == LOOM_SCAN_TOTAL) {
        type = loom_type_tuple(w->p, 2, (loom_type_id[]){all, w->state}, NULL);
    }
    return loom_build_node(w->p, (loom_op)w->fold.op, 0, type, operands, (uint32_t)(at - operands), &op, 1, w->fold.aux,
                           w->fold.span);
}

static loom_node_id write_lookups(winner *w, loom_node_id states) {
    loom_body_id body = pen_open(&w->pen, 1, &w->state);
    loom_build_close(w->p, body, winner_of(w, loom_build_param(w->p, body, 0)));
    return pen_map(&w->pen, w->element, states, body);
}

static loom_node_id write_result(winner *w, loom_node_id joined) {
    if (w->fold.op != LOOM_OP_SCAN) return winner_of(w, joined);
    if (w->fold.aux != LOOM_SCAN_TOTAL) return write_lookups(w, joined);
    loom_node_id both[2] = {write_lookups(w, pen_field(&w->pen, joined, 0)),
                            winner_of(w, pen_field(&w->pen, joined, 1))};
    return pen_node(&w->pen, LOOM_OP_TUPLE, w->fold.type, 2, both, 0);
}

/* A body with the fold's operands for parameters. */
static loom_body_id write_body(winner *w, loom_node_id *fold) {
    loom_type_id types[2] = {w->element, w->array}, fields[MOST_KEYS + 1];
    w->state = w->pen.i64;
    if (w->by_keys) {
        for (uint32_t k = 0; k < w->n_keys; k++) fields[k] = node_of(w, w->keys[k].node)->type;
        fields[w->n_keys] = w->pen.i64;
        w->state = loom_type_tuple(w->p, w->n_keys + 1, fields, NULL);
    }
    loom_body_id body = pen_open(&w->pen, w->neutral ? 2 : 1, w->neutral ? types : &w->array);
    w->ne = loom_build_param(w->p, body, 0);
    w->xs = loom_build_param(w->p, body, w->neutral ? 1 : 0);
    *fold = write_fold(w);
    loom_build_close(w->p, body, write_result(w, *fold));
    return body;
}

bool vec_write_winner(loom_arena *scratch, loom_program *p, loom_node_id id, loom_node_id *map, loom_body_id *body,
                      loom_node_id *fold) {
    const loom_node n = p->nodes[id];
    bool neutral = n.op != LOOM_OP_FOLD1;
    loom_type_id array = p->nodes[loom_operand(p, &n, neutral ? 1 : 0)].type;
    winner w = {.p = p,
                .scratch = scratch,
                .fold = n,
                .op = *loom_node_body(p, &n, 0),
                .pen = pen_of(p, n.span),
                .array = array,
                .element = p->types[array].element,
                .neutral = neutral,
                .swapped = n.op == LOOM_OP_SCAN && n.aux == LOOM_SCAN_RIGHT,
                .map = map};
    uint32_t size = w.op.end - w.op.first;
    if (size > MOST_NODES) return false;
    w.sides = LOOM_NEW_ARRAY(scratch, uint8_t, size);
    w.inner = LOOM_NEW_ARRAY(scratch, loom_body_id, size);
    w.key_of = LOOM_NEW_ARRAY(scratch, uint32_t, size);
    w.state_of = LOOM_NEW_ARRAY(scratch, loom_node_id, size);
    w.chosen = LOOM_NEW_ARRAY(scratch, uint8_t, size);
    w.wholes = LOOM_NEW_ARRAY(scratch, loom_node_id, size);
    memset(w.wholes, 0xff, size * sizeof *w.wholes);
    pen_find_inner(p, &w.op, w.inner);
    find_sides(&w);
    if (!is_chosen(&w, w.op.result)) return false;
    w.by_keys = has_keys(&w);
    w.steps = 0;
    if (!w.by_keys) memset(w.key_of, 0, size * sizeof *w.key_of);
    *body = write_body(&w, fold);
    return true;
}
