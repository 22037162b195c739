/* Loops that take elements off the ends of an array in their state, and change it in no other way.
 *
 *     loop (q, s) = (xs, 0) while length q > 0 do (tail q, s + q[0])
 *     ->  loop (from, to, s) = (0, length xs, 0) while length xs[from:to] > 0 do
 *             let q = xs[from:to] in (from + 1, to, s + q[0])
 * and q = xs[from:to] behind it. What reads q reads xs, and nothing is moved; where that was all that the state had of
 * arrays, the loop is one of scalars. Elements may be taken off under conditions, whose branches give such states, or
 * such arrays. Slices are checked where they stand, as ever; xs[from:to] is in range by what was checked.
 *
 * Not where elements would turn apart: what a loop has from around is gathered for those that still turn, all of xs
 * each turn. Then the loop is lifted as it is.
 *
 * Bodies are written behind those of the program, as in halves.c.
 */
#include "vec.h"
#include "writing.h"

typedef struct window {
    loom_node_id from, to;
} window;

typedef struct role role;

typedef struct writer {
    loom_program *p;
    loom_arena *scratch;
    loom_node loop;
    loom_body body;     /* a copy: tables move as they grow */
    loom_node_id state; /* its parameter */
    pen pen;
    loom_type_id pair, old_type, new_type;
    bool tuple;           /* the state is one, rather than an array alone */
    uint32_t n_fields;    /* of it, or 1 */
    bool *is_window;      /* by field */
    loom_node_id *arrays; /* by field: what it is a window of */
    loom_node_id *map;    /* by node of the program: what stands for it; itself but for nodes of the loop */
    loom_body_id *inner;  /* by node of the body: the innermost body around it inside of it, or LOOM_NONE */
    role *roles;          /* by node of the body */
    window *windows;      /* by node of the body, as written */
    loom_node_id *states; /* likewise: new states */
    loom_node_id new_state;
} writer;

static loom_node_id selected(const writer *w, loom_node_id condition, loom_node_id a, loom_node_id b) {
    loom_node_id operands[3] = {condition, a, b};
    return loom_build_node(w->p, LOOM_OP_PRIM, LOOM_PRIM_SELECT, w->pen.i64, operands, 3, NULL, 0, 0, w->loop.span);
}

static bool in_body(const writer *w, loom_node_id id) {
    return id >= w->body.first && id < w->body.end;
}

static uint32_t place(const writer *w, loom_node_id id) {
    return id - w->body.first;
}

static const loom_node *node_of(const writer *w, loom_node_id id) {
    return &w->p->nodes[id];
}

static const loom_body *branch_of(const writer *w, loom_node_id id, uint32_t k) {
    return loom_node_body(w->p, node_of(w, id), k);
}

/* ---- what the loop does to its state ---- */

/* What a node of the body is. */
struct role {
    uint32_t window; /* the field that it is a part of, from some element to another; LOOM_NONE where it is none */
    bool sliced;     /* and not all of it */
    bool used;       /* by others than what gives it on as a state */
    bool state;      /* a state, all windows of which are parts of what they were */
};

static role *role_of(const writer *w, loom_node_id id) {
    return &w->roles[place(w, id)];
}

/* A branch that gives a node from around gives what others may have too. */
static void find_uses(writer *w) {
    for (loom_node_id id = w->body.first; id < w->body.end; id++) {
        const loom_node *n = node_of(w, id);
        for (uint32_t i = 0; i < n->n_operands; i++) {
            if (in_body(w, loom_operand(w->p, n, i))) role_of(w, loom_operand(w->p, n, i))->used = true;
        }
        for (uint32_t i = 0; i < n->n_bodies; i++) {
            const loom_body *b = loom_node_body(w->p, n, i);
            bool own = n->op == LOOM_OP_IF && b->result >= b->first && b->result < b->end;
            if (!own && in_body(w, b->result)) role_of(w, b->result)->used = true;
        }
    }
}

static role of_branches(const writer *w, loom_node_id id) {
    loom_node_id x = branch_of(w, id, 0)->result, y = branch_of(w, id, 1)->result;
    role made = {.window = LOOM_NONE};
    if (!in_body(w, x) || !in_body(w, y)) return made;
    const role *a = role_of(w, x), *b = role_of(w, y);
    if (a->window == b->window) made.window = a->window;
    made.sliced = a->sliced || b->sliced;
    return made;
}

static void find_windows(writer *w) {
    for (loom_node_id id = w->body.first; id < w->body.end; id++) {
        const loom_node *n = node_of(w, id);
        role made = {.window = LOOM_NONE}, *to = role_of(w, id);
        loom_node_id x = n->n_operands ? loom_operand(w->p, n, 0) : LOOM_NONE;
        bool whole_steps = !(n->aux & ~(uint32_t)(SLICE_FROM | SLICE_TO));
        if (id == w->state && !w->tuple) made.window = 0;
        if (n->op == LOOM_OP_PROJECT && x == w->state) made.window = n->aux;
        if (n->op == LOOM_OP_IF) made = of_branches(w, id);
        if (n->op == LOOM_OP_SLICE && whole_steps && in_body(w, x)) {
            made.window = role_of(w, x)->window;
            made.sliced = true;
        }
        to->window = made.window;
        to->sliced = made.sliced;
    }
}

/* Whether the node is a state whose field f is a part of what it was. sliced: and maybe not all of it. */
static bool keeps_window(const writer *w, loom_node_id id, uint32_t f, bool *sliced) {
    const loom_node *n = node_of(w, id);
    if (!in_body(w, id)) return false;
    loom_node_id x = id;
    if (w->tuple) {
        if (id == w->state) return true;
        if (n->op == LOOM_OP_IF && !role_of(w, id)->used) { /* so its branches' are its own: a tree */
            return keeps_window(w, branch_of(w, id, 0)->result, f, sliced) &&
                   keeps_window(w, branch_of(w, id, 1)->result, f, sliced);
        }
        if (n->op != LOOM_OP_TUPLE) return false;
        x = loom_operand(w->p, n, f);
    }
    if (!in_body(w, x) || role_of(w, x)->window != f) return false;
    *sliced = *sliced || role_of(w, x)->sliced;
    return true;
}

/* The nodes that the state comes of, where they are IFs. */
static void mark_states(const writer *w, loom_node_id id) {
    if (!w->tuple || node_of(w, id)->op != LOOM_OP_IF) return;
    role_of(w, id)->state = true;
    mark_states(w, branch_of(w, id, 0)->result);
    mark_states(w, branch_of(w, id, 1)->result);
}

static bool judge(writer *w) {
    bool any = false;
    find_uses(w);
    find_windows(w);
    for (uint32_t f = 0; f < w->n_fields; f++) {
        loom_type_id type = w->tuple ? w->p->types[w->old_type].fields[f] : w->old_type;
        bool sliced = false;
        if (w->p->types[type].kind != LOOM_T_ARRAY) continue;
        w->is_window[f] = keeps_window(w, w->body.result, f, &sliced) && sliced;
        any = any || w->is_window[f];
    }
    if (any) mark_states(w, w->body.result);
    return any;
}

/* ---- states, old and new ---- */

static loom_type_id new_type(const writer *w) {
    loom_type_id *fields = LOOM_NEW_ARRAY(w->scratch, loom_type_id, 2 * (size_t)w->n_fields);
    uint32_t n = 0;
    for (uint32_t f = 0; f < w->n_fields; f++) {
        if (!w->is_window[f]) {
            fields[n++] = w->p->types[w->old_type].fields[f];
            continue;
        }
        fields[n++] = w->pen.i64;
        fields[n++] = w->pen.i64;
    }
    return loom_type_tuple(w->p, n, fields, NULL);
}

/* Where the field, or the first of its two, stands in the new state. */
static uint32_t new_place(const writer *w, uint32_t f) {
    uint32_t n = f;
    for (uint32_t i = 0; i < f; i++) n += w->is_window[i];
    return n;
}

static loom_node_id seen_through(const writer *w, uint32_t f, window x) {
    loom_node_id operands[3] = {w->arrays[f], x.from, x.to};
    return pen_node(&w->pen, LOOM_OP_SLICE, node_of(w, w->arrays[f])->type, 3, operands,
                    SLICE_FROM | SLICE_TO | VEC_SLICE_IN_RANGE);
}

/* What the program has for a state. windows: NULL, or by field what is found. */
static loom_node_id old_state(const writer *w, loom_node_id state, window *windows) {
    loom_node_id *fields = LOOM_NEW_ARRAY(w->scratch, loom_node_id, w->n_fields);
    for (uint32_t f = 0; f < w->n_fields; f++) {
        uint32_t at = new_place(w, f);
        fields[f] = pen_field(&w->pen, state, at);
        if (!w->is_window[f]) continue;
        window x = {fields[f], pen_field(&w->pen, state, at + 1)};
        if (windows) windows[f] = x;
        fields[f] = seen_through(w, f, x);
    }
    return w->tuple ? pen_node(&w->pen, LOOM_OP_TUPLE, w->old_type, w->n_fields, fields, 0) : fields[0];
}

/* values, windows: by field. */
static loom_node_id state_of(const writer *w, const loom_node_id *values, const window *windows) {
    loom_node_id *fields = LOOM_NEW_ARRAY(w->scratch, loom_node_id, 2 * (size_t)w->n_fields);
    uint32_t n = 0;
    for (uint32_t f = 0; f < w->n_fields; f++) {
        if (!w->is_window[f]) {
            fields[n++] = values[f];
            continue;
        }
        fields[n++] = windows[f].from;
        fields[n++] = windows[f].to;
    }
    return pen_node(&w->pen, LOOM_OP_TUPLE, w->new_type, n, fields, 0);
}

/* ---- the body ---- */

/* The state that a node of the body is, as written. */
static loom_node_id next_state(const writer *w, loom_node_id id) {
    const loom_node *n = node_of(w, id);
    if (!w->tuple) return state_of(w, NULL, &w->windows[place(w, id)]);
    if (id == w->state) return w->new_state;
    if (n->op == LOOM_OP_IF) return w->states[place(w, id)];
    loom_node_id *values = LOOM_NEW_ARRAY(w->scratch, loom_node_id, w->n_fields);
    window *windows = LOOM_NEW_ARRAY(w->scratch, window, w->n_fields);
    for (uint32_t f = 0; f < w->n_fields; f++) {
        loom_node_id x = loom_operand(w->p, n, f);
        values[f] = w->map[x];
        if (w->is_window[f]) windows[f] = w->windows[place(w, x)];
    }
    return state_of(w, values, windows);
}

static void copy_nodes(writer *w, const loom_body *b, loom_body_id inner);

/* An IF, of states or of windows. */
static void copy_branches(writer *w, loom_node_id id, uint32_t f) {
    const loom_node n = *node_of(w, id);
    loom_node_id condition = w->map[loom_operand(w->p, &n, 0)];
    loom_body_id bodies[2];
    for (uint32_t k = 0; k < 2; k++) {
        loom_body_id inner = w->p->body_refs[n.first_body + k];
        const loom_body b = w->p->bodies[inner];
        bodies[k] = loom_build_open(w->p, 0, NULL, n.span);
        copy_nodes(w, &b, inner);
        loom_node_id result;
        if (f == LOOM_NONE) {
            result = next_state(w, b.result);
        } else {
            window x = w->windows[place(w, b.result)];
            result = pen_node(&w->pen, LOOM_OP_TUPLE, w->pair, 2, (loom_node_id[]){x.from, x.to}, 0);
        }
        loom_build_close(w->p, bodies[k], result);
    }
    loom_type_id type = f == LOOM_NONE ? w->new_type : w->pair;
    loom_node_id made = loom_build_node(w->p, LOOM_OP_IF, 0, type, &condition, 1, bodies, 2, 0, n.span);
    if (f == LOOM_NONE) {
        w->states[place(w, id)] = made;
    } else {
        window x = {pen_field(&w->pen, made, 0), pen_field(&w->pen, made, 1)};
        w->windows[place(w, id)] = x;
        w->map[id] = seen_through(w, f, x);
    }
}

/* Where the slice begins and ends in the array. One that is outside has been raised by then, which ends the program
 * but not always at once: until then it is empty, so that what comes of it lies in the array, and most loops end. */
static window sliced(const writer *w, window x, loom_node_id slice) {
    const loom_node n = *node_of(w, slice);
    loom_type_id truth = w->pen.truth;
    loom_node_id zero = pen_int(&w->pen, 0), length = pen_prim(&w->pen, LOOM_PRIM_SUB, w->pen.i64, x.to, x.from);
    loom_node_id from = zero, to = length, inside = LOOM_NONE;
    uint32_t at = 1;
    if (n.aux & SLICE_FROM) from = w->map[loom_operand(w->p, &n, at++)];
    if (n.aux & SLICE_TO) to = w->map[loom_operand(w->p, &n, at)];
    inside = pen_prim(&w->pen, LOOM_PRIM_AND, truth, pen_prim(&w->pen, LOOM_PRIM_GE, truth, from, zero),
                      pen_prim(&w->pen, LOOM_PRIM_LE, truth, from, to));
    if (n.aux & SLICE_TO)
        inside = pen_prim(&w->pen, LOOM_PRIM_AND, truth, inside, pen_prim(&w->pen, LOOM_PRIM_LE, truth, to, length));
    window y = {selected(w, inside, pen_prim(&w->pen, LOOM_PRIM_ADD, w->pen.i64, x.from, from), x.to), x.to};
    if (n.aux & SLICE_TO) y.to = selected(w, inside, pen_prim(&w->pen, LOOM_PRIM_ADD, w->pen.i64, x.from, to), x.to);
    return y;
}

/* The slice as it stands, for its checks and for who else reads it, and its ends. */
static void copy_slice(writer *w, loom_node_id id) {
    window x = w->windows[place(w, loom_operand(w->p, node_of(w, id), 0))];
    loom_copy_node(w->p, w->p, id, w->map);
    w->windows[place(w, id)] = sliced(w, x, id);
}

static void copy_nodes(writer *w, const loom_body *b, loom_body_id inner) {
    for (loom_node_id id = b->first + b->n_params; id < b->end; id++) {
        if (w->inner[place(w, id)] != inner) continue;
        uint32_t f = role_of(w, id)->window;
        if (f != LOOM_NONE && !w->is_window[f]) f = LOOM_NONE;
        loom_op op = (loom_op)node_of(w, id)->op;
        if (op == LOOM_OP_IF && (f != LOOM_NONE || role_of(w, id)->state)) {
            copy_branches(w, id, f);
        } else if (op == LOOM_OP_SLICE && f != LOOM_NONE) {
            copy_slice(w, id);
        } else {
            loom_copy_node(w->p, w->p, id, w->map);
        }
    }
}

static loom_body_id write_body(writer *w, bool counted) {
    loom_type_id types[2] = {w->pen.i64, w->new_type};
    loom_body_id body = pen_open(&w->pen, counted ? 2 : 1, counted ? types : &w->new_type);
    window *windows = LOOM_NEW_ARRAY(w->scratch, window, w->n_fields);
    w->new_state = loom_build_param(w->p, body, counted ? 1 : 0);
    if (counted) w->map[w->body.first] = loom_build_param(w->p, body, 0);
    w->map[w->state] = old_state(w, w->new_state, windows);
    if (!w->tuple) w->windows[place(w, w->state)] = windows[0];
    for (loom_node_id id = w->body.first; w->tuple && id < w->body.end; id++) { /* projections of the state */
        const loom_node *n = node_of(w, id);
        if (n->op == LOOM_OP_PROJECT && loom_operand(w->p, n, 0) == w->state && w->is_window[n->aux]) {
            w->windows[place(w, id)] = windows[n->aux];
        }
    }
    copy_nodes(w, &w->body, LOOM_NONE);
    loom_build_close(w->p, body, next_state(w, w->body.result));
    pen_forget(&w->body, w->map);
    return body;
}

static loom_body_id write_test(writer *w) {
    const loom_body_id test = w->p->body_refs[w->loop.first_body];
    const loom_body b = w->p->bodies[test];
    loom_body_id body = pen_open(&w->pen, 1, &w->new_type);
    loom_node_id state = old_state(w, loom_build_param(w->p, body, 0), NULL);
    loom_node_id result = loom_copy_body(w->p, w->p, test, &state, w->map);
    loom_build_close(w->p, body, result);
    pen_forget(&b, w->map);
    return body;
}

/* ---- the loop ---- */

static loom_node_id first_state(writer *w, loom_node_id initial) {
    loom_node_id *values = LOOM_NEW_ARRAY(w->scratch, loom_node_id, w->n_fields);
    window *windows = LOOM_NEW_ARRAY(w->scratch, window, w->n_fields);
    for (uint32_t f = 0; f < w->n_fields; f++) {
        values[f] = w->tuple ? pen_field(&w->pen, initial, f) : initial;
        if (!w->is_window[f]) continue;
        w->arrays[f] = values[f];
        windows[f].from = pen_int(&w->pen, 0);
        windows[f].to = pen_length(&w->pen, values[f]);
    }
    return state_of(w, values, windows);
}

/* A body with the loop's operands for parameters. */
static loom_body_id write_loop(writer *w, bool counted, loom_node_id *loop) {
    loom_type_id types[2] = {w->pen.i64, w->old_type};
    loom_body_id body = pen_open(&w->pen, counted ? 2 : 1, counted ? types : &w->old_type), bodies[2];
    loom_node_id operands[2] = {loom_build_param(w->p, body, 0)}, *at = operands + (counted ? 1 : 0);
    uint32_t n = 0;
    *at = first_state(w, loom_build_param(w->p, body, counted ? 1 : 0));
    if (!counted) bodies[n++] = write_test(w);
    bodies[n++] = write_body(w, counted);
    *loop = loom_build_node(w->p, (loom_op)w->loop.op, 0, w->new_type, operands, counted ? 2 : 1, bodies, n, 0,
                            w->loop.span);
    loom_build_close(w->p, body, old_state(w, *loop, NULL));
    return body;
}

bool vec_write_window(loom_arena *scratch, loom_program *p, loom_node_id id, loom_node_id *map, loom_body_id *body,
                      loom_node_id *loop) {
    const loom_node n = p->nodes[id];
    bool counted = n.op == LOOM_OP_LOOP_FOR;
    writer w = {.p = p,
                .scratch = scratch,
                .loop = n,
                .body = *loom_node_body(p, &n, counted ? 0 : 1),
                .pen = pen_of(p, n.span),
                .old_type = n.type,
                .tuple = p->types[n.type].kind == LOOM_T_TUPLE,
                .map = map};
    uint32_t size = w.body.end - w.body.first;
    w.state = w.body.first + (counted ? 1 : 0);
    w.n_fields = w.tuple ? p->types[n.type].n_fields : 1;
    if ((!w.tuple && p->types[n.type].kind != LOOM_T_ARRAY)) return false;
    w.is_window = LOOM_NEW_ARRAY(scratch, bool, (size_t)w.n_fields + 1);
    w.roles = LOOM_NEW_ARRAY(scratch, role, size);
    if (!judge(&w)) return false;
    w.arrays = LOOM_NEW_ARRAY(scratch, loom_node_id, w.n_fields);
    w.inner = LOOM_NEW_ARRAY(scratch, loom_body_id, size);
    w.windows = LOOM_NEW_ARRAY(scratch, window, size);
    w.states = LOOM_NEW_ARRAY(scratch, loom_node_id, size);
    w.pair = loom_type_tuple(p, 2, (loom_type_id[]){w.pen.i64, w.pen.i64}, NULL);
    w.new_type = new_type(&w);
    pen_find_inner(p, &w.body, w.inner);
    *body = write_loop(&w, counted, loop);
    return true;
}
