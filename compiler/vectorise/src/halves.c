/* Folds and scans by halves: of operators that are no scalar operation at each place of their operands, and neither
 * join rows (joined.c) nor give one of two (winner.c).
 *
 *     fold op ne xs  ->  loop ys = xs while length ys > 1 do
 *                            let n = length ys / 2 * 2
 *                            in map op ys[0:n:2] ys[1:n:2] ++ ys[n:]
 *                        then op ne of the one that is left, or ne where there is none
 * Neighbours are joined, so the operator need be associative only. All pairs of a turn, and of all elements around, are
 * joined at once, as the body of a map: whatever a map may hold the operator may do. Cost: the operator as often as
 * the fold has it, and one copy for each turn of what is joined.
 *
 *     scan op ne xs  ->  loop (levels, ys) = ([], xs) while length ys > 1 do (levels ++ [ys], ys joined as above)
 *                        then loop pre = [ne] over the levels from the last to the first, ys, do
 *                            let odd = map op pre[0:length ys / 2] ys[0:n:2]
 *                            in generate (length ys) (\\i -> if i is even then pre[i / 2] else odd[i / 2])
 *                        then map op pre xs: pre are the results of an exclusive scan
 * From the right: of the reversed array, with the operands of op in each other's place. Cost: the operator three times
 * for each element; a copy of all levels for each turn.
 *
 * The core has no name for this while programs are analysed: a fold is a fold, and most of them are reductions. So such
 * bodies are written behind those of the program when it comes to be vectorised; their maps have the fold's own
 * operator for their body. So are all others that are found better than what the program says (window.c too), here.
 */
#include "vec.h"
#include "writing.h"

typedef struct writer {
    loom_program *p;
    pen pen;
    loom_type_id array, element;
    loom_body_id op;
    bool swapped; /* its operands */
} writer;

static loom_node_id joined(const writer *w, loom_node_id a, loom_node_id b) {
    loom_node_id operands[2] = {w->swapped ? b : a, w->swapped ? a : b};
    return loom_build_node(w->p, LOOM_OP_MAP, 0, w->array, operands, 2, &w->op, 1, 0, w->pen.span);
}

static loom_node_id range_of(const writer *w, loom_node_id xs, loom_node_id from, loom_node_id to) {
    loom_node_id operands[3] = {xs, from, to};
    return pen_node(&w->pen, LOOM_OP_SLICE, w->array, 3, operands, SLICE_FROM | SLICE_TO);
}

static loom_node_id every_other(const writer *w, loom_node_id xs, int64_t from, loom_node_id to) {
    loom_node_id operands[4] = {xs, pen_int(&w->pen, from), to, pen_int(&w->pen, 2)};
    return pen_node(&w->pen, LOOM_OP_SLICE, w->array, 4, operands, SLICE_FROM | SLICE_TO | SLICE_STEP);
}

static loom_node_id at(const writer *w, loom_type_id type, loom_node_id xs, loom_node_id i) {
    loom_node_id operands[2] = {xs, i};
    return pen_node(&w->pen, LOOM_OP_INDEX, type, 2, operands, 0);
}

static loom_node_id concatenated(const writer *w, loom_type_id type, loom_node_id xs, loom_node_id ys) {
    loom_node_id operands[2] = {xs, ys};
    return pen_node(&w->pen, LOOM_OP_CONCAT, type, 2, operands, 0);
}

static loom_node_id is_more(const writer *w, loom_node_id a, int64_t b) {
    return pen_prim(&w->pen, LOOM_PRIM_GT, w->pen.truth, a, pen_int(&w->pen, b));
}

/* The largest even number up to it. */
static loom_node_id even_part(const writer *w, loom_node_id length) {
    loom_node_id odd = pen_prim(&w->pen, LOOM_PRIM_BAND, w->pen.i64, length, pen_int(&w->pen, 1));
    return pen_prim(&w->pen, LOOM_PRIM_SUB, w->pen.i64, length, odd);
}

static loom_node_id neighbours_joined(const writer *w, loom_node_id ys) {
    loom_node_id length = pen_length(&w->pen, ys), end = even_part(w, length);
    loom_node_id pairs = joined(w, every_other(w, ys, 0, end), every_other(w, ys, 1, end));
    return concatenated(w, w->array, pairs, range_of(w, ys, end, length));
}

/* All elements as one, or none where there is none. */
static loom_node_id halved(const writer *w, loom_node_id xs) {
    loom_body_id bodies[2];
    bodies[0] = pen_open(&w->pen, 1, &w->array);
    loom_build_close(w->p, bodies[0], is_more(w, pen_length(&w->pen, loom_build_param(w->p, bodies[0], 0)), 1));
    bodies[1] = pen_open(&w->pen, 1, &w->array);
    loom_build_close(w->p, bodies[1], neighbours_joined(w, loom_build_param(w->p, bodies[1], 0)));
    return loom_build_node(w->p, LOOM_OP_LOOP_WHILE, 0, w->array, &xs, 1, bodies, 2, 0, w->pen.span);
}

/* The neutral element, where there is one, before what is left: the first of the two that are there. */
static loom_node_id joined_to(const writer *w, loom_node_id ne, loom_node_id ys) {
    loom_node_id operands[2] = {pen_length(&w->pen, ys), ne};
    loom_node_id first = joined(w, pen_node(&w->pen, LOOM_OP_REPLICATE, w->array, 2, operands, 0), ys);
    return concatenated(w, w->array, first, pen_node(&w->pen, LOOM_OP_ARRAY, w->array, 1, &ne, 0));
}

static writer writer_of(loom_program *p, const loom_node *n, uint32_t array_operand) {
    loom_type_id array = p->nodes[loom_operand(p, n, array_operand)].type;
    return (writer){.p = p,
                    .pen = pen_of(p, n->span),
                    .array = array,
                    .element = p->types[array].element,
                    .op = p->body_refs[n->first_body]};
}

/* A body with the fold's operands for parameters. */
static loom_body_id write_fold(loom_program *p, loom_node_id id) {
    const loom_node n = p->nodes[id];
    bool first = n.op == LOOM_OP_FOLD1;
    writer w = writer_of(p, &n, first ? 0 : 1);
    loom_type_id types[2] = {w.element, w.array};
    loom_body_id body = loom_build_open(p, first ? 1 : 2, first ? &w.array : types, n.span);
    loom_node_id ne = loom_build_param(p, body, 0), result = halved(&w, loom_build_param(p, body, first ? 0 : 1));
    if (!first) result = joined_to(&w, ne, result);
    loom_build_close(p, body, at(&w, w.element, result, pen_int(&w.pen, 0)));
    return body;
}

/* ---- scans ---- */

/* All arrays that are joined further, the first of them first. */
static loom_node_id levels_of(const writer *w, loom_type_id levels, loom_node_id xs) {
    loom_type_id state = loom_type_tuple(w->p, 2, (loom_type_id[]){levels, w->array}, NULL);
    loom_node_id none[2] = {pen_int(&w->pen, 0), xs}, start[2], next[2];
    loom_body_id bodies[2];
    start[0] = pen_node(&w->pen, LOOM_OP_REPLICATE, levels, 2, none, 0);
    start[1] = xs;
    bodies[0] = pen_open(&w->pen, 1, &state);
    loom_node_id ys = pen_field(&w->pen, loom_build_param(w->p, bodies[0], 0), 1);
    loom_build_close(w->p, bodies[0], is_more(w, pen_length(&w->pen, ys), 1));
    bodies[1] = pen_open(&w->pen, 1, &state);
    next[0] = pen_field(&w->pen, loom_build_param(w->p, bodies[1], 0), 0);
    ys = pen_field(&w->pen, loom_build_param(w->p, bodies[1], 0), 1);
    next[0] = concatenated(w, levels, next[0], pen_node(&w->pen, LOOM_OP_ARRAY, levels, 1, &ys, 0));
    next[1] = neighbours_joined(w, ys);
    loom_build_close(w->p, bodies[1], pen_node(&w->pen, LOOM_OP_TUPLE, state, 2, next, 0));
    loom_node_id first = pen_node(&w->pen, LOOM_OP_TUPLE, state, 2, start, 0);
    loom_node_id loop = loom_build_node(w->p, LOOM_OP_LOOP_WHILE, 0, state, &first, 1, bodies, 2, 0, w->pen.span);
    return pen_field(&w->pen, loop, 0);
}

/* even[i / 2] or odd[i / 2] */
static loom_node_id interleaved(const writer *w, loom_node_id length, loom_node_id even, loom_node_id odd) {
    loom_body_id body = pen_open(&w->pen, 1, &w->pen.i64), branches[2];
    loom_node_id i = loom_build_param(w->p, body, 0),
                 half = pen_prim(&w->pen, LOOM_PRIM_SHR, w->pen.i64, i, pen_int(&w->pen, 1));
    loom_node_id is_odd = is_more(w, pen_prim(&w->pen, LOOM_PRIM_BAND, w->pen.i64, i, pen_int(&w->pen, 1)), 0);
    branches[0] = pen_open(&w->pen, 0, NULL);
    loom_build_close(w->p, branches[0], at(w, w->element, odd, half));
    branches[1] = pen_open(&w->pen, 0, NULL);
    loom_build_close(w->p, branches[1], at(w, w->element, even, half));
    loom_build_close(w->p, body, pen_if(&w->pen, w->element, is_odd, branches));
    return loom_build_node(w->p, LOOM_OP_GENERATE, 0, w->array, &length, 1, &body, 1, 0, w->pen.span);
}

/* What stands before each element, joined. Of no elements: of one. */
static loom_node_id before_each(const writer *w, loom_node_id ne, loom_node_id xs) {
    loom_type_id all = loom_type_array(w->p, w->array);
    loom_type_id state = loom_type_tuple(w->p, 2, (loom_type_id[]){w->array, w->pen.i64}, NULL);
    loom_node_id levels = levels_of(w, all, xs), start[2], next[2];
    start[0] = pen_node(&w->pen, LOOM_OP_ARRAY, w->array, 1, &ne, 0);
    start[1] = pen_length(&w->pen, levels);
    loom_body_id bodies[2];
    bodies[0] = pen_open(&w->pen, 1, &state);
    loom_build_close(w->p, bodies[0], is_more(w, pen_field(&w->pen, loom_build_param(w->p, bodies[0], 0), 1), 0));
    bodies[1] = pen_open(&w->pen, 1, &state);
    loom_node_id pre = pen_field(&w->pen, loom_build_param(w->p, bodies[1], 0), 0);
    next[1] = pen_field(&w->pen, loom_build_param(w->p, bodies[1], 0), 1);
    next[1] = pen_prim(&w->pen, LOOM_PRIM_SUB, w->pen.i64, next[1], pen_int(&w->pen, 1));
    loom_node_id ys = at(w, w->array, levels, next[1]), length = pen_length(&w->pen, ys), end = even_part(w, length);
    loom_node_id pairs = pen_prim(&w->pen, LOOM_PRIM_SHR, w->pen.i64, end, pen_int(&w->pen, 1));
    loom_node_id odd = joined(w, range_of(w, pre, pen_int(&w->pen, 0), pairs), every_other(w, ys, 0, end));
    next[0] = interleaved(w, length, pre, odd);
    loom_build_close(w->p, bodies[1], pen_node(&w->pen, LOOM_OP_TUPLE, state, 2, next, 0));
    loom_node_id first = pen_node(&w->pen, LOOM_OP_TUPLE, state, 2, start, 0);
    loom_node_id loop = loom_build_node(w->p, LOOM_OP_LOOP_WHILE, 0, state, &first, 1, bodies, 2, 0, w->pen.span);
    return pen_field(&w->pen, loop, 0);
}

static loom_node_id reversed(const writer *w, loom_node_id xs) {
    return pen_node(&w->pen, LOOM_OP_REVERSE, w->array, 1, &xs, 0);
}

/* A body with the scan's operands for parameters. */
static loom_body_id write_scan(loom_program *p, loom_node_id id) {
    const loom_node n = p->nodes[id];
    writer w = writer_of(p, &n, 1);
    loom_type_id types[2] = {w.element, w.array};
    loom_body_id body = loom_build_open(p, 2, types, n.span);
    loom_node_id ne = loom_build_param(p, body, 0), xs = loom_build_param(p, body, 1), length = pen_length(&w.pen, xs);
    bool right = n.aux == LOOM_SCAN_RIGHT;
    w.swapped = right;
    if (right) xs = reversed(&w, xs);
    loom_node_id result = range_of(&w, before_each(&w, ne, xs), pen_int(&w.pen, 0), length);
    if (n.aux == LOOM_SCAN_TOTAL) {
        loom_node_id all = pen_node(&w.pen, LOOM_OP_ARRAY, w.array, 1, &ne, 0), both[2] = {result};
        all = concatenated(&w, w.array, all, joined(&w, result, xs));
        both[1] = at(&w, w.element, all, length);
        result = pen_node(&w.pen, LOOM_OP_TUPLE, n.type, 2, both, 0);
    } else if (n.aux != LOOM_SCAN_EXCLUSIVE) {
        result = joined(&w, result, xs);
    }
    if (right) result = reversed(&w, result);
    loom_build_close(p, body, result);
    return body;
}

/* A scan keeps arrays of arrays of what it scans. */
static bool joins_arrays(const loom_program *p, const loom_node *n) {
    if (n->op == LOOM_OP_FOLD || n->op == LOOM_OP_FOLD1) return loom_type_levels(p, n->type) > 0;
    if (n->op != LOOM_OP_SCAN) return false;
    uint32_t levels = loom_type_levels(p, p->nodes[loom_operand(p, n, 0)].type);
    return levels > 0 && levels + 2 <= LOOM_MAX_DEPTH;
}

typedef struct writing {
    vec *v;
    loom_program *to;
    loom_node_id *map; /* winner.c */
    uint32_t n_map;
} writing;

static struct written *written_of(writing *w, loom_node_id id) {
    vec *v = w->v;
    if (id >= v->n_written) {
        uint32_t n = w->to->n_nodes + w->to->n_nodes / 2;
        v->written = loom_arena_grow(v->scratch, v->written, v->n_written, n, sizeof *v->written);
        v->n_written = n;
    }
    return &v->written[id];
}

static void make_map(writing *w) {
    if (w->n_map >= w->to->n_nodes) return;
    uint32_t n = w->to->n_nodes + w->to->n_nodes / 2;
    w->map = loom_arena_grow(w->v->scratch, w->map, w->n_map, n, sizeof *w->map);
    for (; w->n_map < n; w->n_map++) w->map[w->n_map] = w->n_map;
}

static bool is_loop(const loom_node *n) {
    return n->op == LOOM_OP_LOOP_FOR || n->op == LOOM_OP_LOOP_WHILE;
}

static loom_body_id written_by_halves(loom_program *p, loom_node_id id) {
    return p->nodes[id].op == LOOM_OP_SCAN ? write_scan(p, id) : write_fold(p, id);
}

static void write_node(writing *w, loom_node_id id) {
    loom_body_id body;
    loom_node_id fold;
    make_map(w);
    if (is_loop(&w->to->nodes[id])) {
        if (!vec_write_window(w->v->scratch, w->to, id, w->map, &body, &fold)) return;
        written_of(w, id)->window = body + 1;
        written_of(w, fold)->together = true;
        return;
    }
    if (vec_write_joined(w->to, id, w->map, &body)) {
        written_of(w, id)->direct = body + 1;
    } else if (vec_write_winner(w->v->scratch, w->to, id, w->map, &body, &fold)) {
        written_of(w, id)->direct = body + 1;
        body = written_by_halves(w->to, fold);
        written_of(w, fold)->halves = body + 1;
    }
    body = written_by_halves(w->to, id);
    written_of(w, id)->halves = body + 1;
}

/* A slice in a loop with arrays in its state: window.c has a look. */
static bool has_window(const loom_program *p, const loom_node *n) {
    if (!is_loop(n) || loom_type_levels(p, n->type) == 0) return false;
    const loom_body *b = loom_node_body(p, n, n->n_bodies - 1);
    for (loom_node_id id = b->first; id < b->end; id++) {
        if (p->nodes[id].op == LOOM_OP_SLICE) return true;
    }
    return false;
}

void vec_write_halves(vec *v, const loom_body *stage) {
    const loom_program *from = v->p;
    writing w = {.v = v};
    for (loom_node_id id = stage->first; id < stage->end; id++) {
        if (!joins_arrays(from, &from->nodes[id]) && !has_window(from, &from->nodes[id])) continue;
        if (!w.to) w.to = loom_program_clone(v->scratch, from);
        write_node(&w, id);
    }
    if (!w.to) return;
    /* And those inside of operators that were copied, which are smaller than what they were copied from. */
    uint32_t most = 4 * from->n_nodes + 100000;
    for (loom_node_id id = from->n_nodes; id < w.to->n_nodes && w.to->n_nodes < most; id++) {
        if (joins_arrays(w.to, &w.to->nodes[id]) || has_window(w.to, &w.to->nodes[id])) write_node(&w, id);
    }
    v->p = w.to;
}

static bool lift_written(vec *v, frame *f, loom_node_id id, loom_body_id body, val *result) {
    val *operands;
    return vec_operands(v, f, &v->p->nodes[id], &operands) &&
           vec_lift_body(v, &v->p->bodies[body - 1], operands, f, result);
}

bool vec_lift_halves(vec *v, frame *f, loom_node_id id, val *result) {
    if (id >= v->n_written || !v->written[id].halves) return false;
    mark m = vec_mark_here(v);
    if (v->written[id].direct && lift_written(v, f, id, v->written[id].direct, result)) return true;
    vec_roll_back(v, m);
    return lift_written(v, f, id, v->written[id].halves, result);
}

static bool has_words(const vec *v, loom_node_id id) {
    return id < v->n_written && v->written[id].window;
}

bool vec_lift_window(vec *v, frame *f, loom_node_id id, val *result) {
    return has_words(v, id) && lift_written(v, f, id, v->written[id].window, result);
}

bool vec_expr_window(vec *v, frame *f, loom_node_id id, val *result) {
    val *operands;
    return has_words(v, id) && vec_operands(v, f, &v->p->nodes[id], &operands) &&
           vec_expr_body(v, &v->p->bodies[v->written[id].window - 1], operands, f, result);
}

bool vec_turns_together(const vec *v, const loom_node *n) {
    uint32_t id = (uint32_t)(n - v->p->nodes);
    return id < v->n_written && v->written[id].together;
}
