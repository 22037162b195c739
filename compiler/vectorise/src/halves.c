/* Folds by halves: of operators that are no scalar operation at each place of their operands, as those that join rows
 * (++) or choose one of two.
 *
 *     fold op ne xs  ->  loop ys = xs while length ys > 1 do
 *                            let n = length ys / 2 * 2
 *                            in map op ys[0:n:2] ys[1:n:2] ++ ys[n:]
 *                        then op ne of the one that is left, or ne where there is none
 * Neighbours are joined, so the operator need be associative only. All pairs of a turn, and of all elements around, are
 * joined at once, as the body of a map: whatever a map may hold the operator may do. Cost: the operator as often as
 * the fold has it, and one copy for each turn of what is joined.
 *
 * The core has no name for this while programs are analysed: a fold is a fold, and most of them are reductions. So such
 * bodies are written behind those of the program when it comes to be vectorised; their maps have the fold's own
 * operator for their body.
 */
#include "vec.h"

typedef struct writer {
    loom_program *p;
    loom_span span;
    loom_type_id i64, array, element;
    loom_body_id op;
} writer;

static loom_node_id write(const writer *w, loom_op op, loom_type_id type, uint32_t n, const loom_node_id *operands,
                          uint32_t aux) {
    return loom_build_node(w->p, op, 0, type, operands, n, NULL, 0, aux, w->span);
}

static loom_node_id arithmetic(const writer *w, loom_prim prim, loom_type_id type, loom_node_id a, loom_node_id b) {
    loom_node_id operands[2] = {a, b};
    return loom_build_node(w->p, LOOM_OP_PRIM, prim, type, operands, 2, NULL, 0, 0, w->span);
}

static loom_node_id number(const writer *w, int64_t i) {
    return loom_build_i64(w->p, i, w->span);
}

static loom_node_id joined(const writer *w, loom_node_id a, loom_node_id b) {
    loom_node_id operands[2] = {a, b};
    return loom_build_node(w->p, LOOM_OP_MAP, 0, w->array, operands, 2, &w->op, 1, 0, w->span);
}

static loom_body_id more_than_one(const writer *w) {
    loom_body_id test = loom_build_open(w->p, 1, &w->array, w->span);
    loom_node_id ys = loom_build_param(w->p, test, 0);
    loom_node_id length = write(w, LOOM_OP_LENGTH, w->i64, 1, &ys, 0);
    loom_type_id truth = loom_type_scalar(w->p, LOOM_BOOL);
    loom_build_close(w->p, test, arithmetic(w, LOOM_PRIM_GT, truth, length, number(w, 1)));
    return test;
}

static loom_body_id neighbours_joined(const writer *w) {
    enum {
        FROM = 1,
        TO = 2,
        STEP = 4
    };
    loom_body_id turn = loom_build_open(w->p, 1, &w->array, w->span);
    loom_node_id ys = loom_build_param(w->p, turn, 0), two = number(w, 2);
    loom_node_id length = write(w, LOOM_OP_LENGTH, w->i64, 1, &ys, 0);
    loom_node_id odd = arithmetic(w, LOOM_PRIM_BAND, w->i64, length, number(w, 1));
    loom_node_id end = arithmetic(w, LOOM_PRIM_SUB, w->i64, length, odd);
    loom_node_id left[4] = {ys, number(w, 0), end, two}, right[4] = {ys, number(w, 1), end, two}, rest[2] = {ys, end};
    loom_node_id both[2];
    left[0] = write(w, LOOM_OP_SLICE, w->array, 4, left, FROM | TO | STEP);
    right[0] = write(w, LOOM_OP_SLICE, w->array, 4, right, FROM | TO | STEP);
    both[0] = joined(w, left[0], right[0]);
    both[1] = write(w, LOOM_OP_SLICE, w->array, 2, rest, FROM);
    loom_build_close(w->p, turn, write(w, LOOM_OP_CONCAT, w->array, 2, both, 0));
    return turn;
}

/* All elements as one, or none where there is none. */
static loom_node_id halved(const writer *w, loom_node_id xs) {
    loom_body_id bodies[2];
    bodies[0] = more_than_one(w);
    bodies[1] = neighbours_joined(w);
    return loom_build_node(w->p, LOOM_OP_LOOP_WHILE, 0, w->array, &xs, 1, bodies, 2, 0, w->span);
}

/* The neutral element, where there is one, before what is left: the first of the two that are there. */
static loom_node_id joined_to(const writer *w, loom_node_id ne, loom_node_id ys) {
    loom_node_id operands[2], length = write(w, LOOM_OP_LENGTH, w->i64, 1, &ys, 0);
    operands[0] = length;
    operands[1] = ne;
    operands[0] = joined(w, write(w, LOOM_OP_REPLICATE, w->array, 2, operands, 0), ys);
    operands[1] = write(w, LOOM_OP_ARRAY, w->array, 1, &ne, 0);
    return write(w, LOOM_OP_CONCAT, w->array, 2, operands, 0);
}

/* A body with the fold's operands for parameters. */
static loom_body_id write_fold(loom_program *p, loom_node_id id) {
    const loom_node n = p->nodes[id];
    bool first = n.op == LOOM_OP_FOLD1;
    loom_type_id array = p->nodes[loom_operand(p, &n, first ? 0 : 1)].type;
    writer w = {p, n.span, loom_type_scalar(p, LOOM_I64), array, p->types[array].element, p->body_refs[n.first_body]};
    loom_type_id types[2] = {w.element, array};
    loom_body_id body = loom_build_open(p, first ? 1 : 2, first ? &array : types, n.span);
    loom_node_id result[2], ne = loom_build_param(p, body, 0);
    result[0] = halved(&w, loom_build_param(p, body, first ? 0 : 1));
    if (!first) result[0] = joined_to(&w, ne, result[0]);
    result[1] = number(&w, 0);
    loom_build_close(p, body, write(&w, LOOM_OP_INDEX, w.element, 2, result, 0));
    return body;
}

static bool joins_arrays(const loom_program *p, const loom_node *n) {
    if (n->op != LOOM_OP_FOLD && n->op != LOOM_OP_FOLD1) return false;
    return loom_type_levels(p, n->type) > 0;
}

void vec_write_halves(vec *v, const loom_body *stage) {
    const loom_program *from = v->p;
    loom_program *to = NULL;
    for (loom_node_id id = stage->first; id < stage->end; id++) {
        if (!joins_arrays(from, &from->nodes[id])) continue;
        if (!to) {
            to = loom_program_clone(v->scratch, from);
            v->halves = LOOM_NEW_ARRAY(v->scratch, loom_body_id, (size_t)from->n_nodes + 1);
        }
        v->halves[id] = write_fold(to, id) + 1;
    }
    if (to) v->p = to;
}

bool vec_lift_halves(vec *v, frame *f, loom_node_id id, val *result) {
    const loom_node *n = &v->p->nodes[id];
    val *operands;
    if (!v->halves || id >= v->request->program->n_nodes || !v->halves[id]) return false;
    return vec_operands(v, f, n, &operands) && vec_lift_body(v, &v->p->bodies[v->halves[id] - 1], operands, f, result);
}
