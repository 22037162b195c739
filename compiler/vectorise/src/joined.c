/* Folds and scans that put rows one behind the other.
 *
 *     fold (++) ne xs               ->  ne ++ flatten xs
 *     fold1 (++) xs                 ->  flatten xs
 *     scan (++) ne xs               ->  let all = ne ++ flatten xs
 *                                       in map (\k -> all[:length ne + k]) (scan (+) 0 (map length xs))
 *     scan_right (++) ne xs         ->  let all = flatten xs ++ ne
 *                                       in map (\k -> all[k:]) (scan_ex (+) 0 (map length xs))
 *
 * Where the operator puts something between the two, the same each time (\x y -> x ++ [0] ++ y), that stands before
 * each row of xs, or behind it. Each result is a part of one array, so it is a reference. Cost: the elements of xs,
 * once, and those of the result where they are stored.
 *
 * Bodies are written behind those of the program, as in halves.c.
 */
#include "vec.h"
#include "writing.h"

enum {
    MOST_PARTS = 16
};
typedef struct writer {
    loom_program *p;
    loom_node fold;
    loom_body op; /* copies: tables move as they grow */
    pen pen;
    loom_type_id array, row;
    loom_node_id *map;
    loom_node_id parts[MOST_PARTS]; /* what the operator joins, its operands first and last */
    uint32_t n_parts;
    loom_node_id between; /* as written; LOOM_NONE where there is nothing */
} writer;

static loom_node_id joined(const writer *w, loom_node_id a, loom_node_id b) {
    loom_node_id operands[2] = {a, b};
    return pen_node(&w->pen, LOOM_OP_CONCAT, w->row, 2, operands, 0);
}

static loom_node_id added(const writer *w, loom_node_id a, loom_node_id b) {
    return pen_prim(&w->pen, LOOM_PRIM_ADD, w->pen.i64, a, b);
}

/* ---- the operator ---- */

static bool in_op(const writer *w, loom_node_id id) {
    return id >= w->op.first && id < w->op.end;
}

static bool add_parts(writer *w, loom_node_id id) {
    const loom_node *n = &w->p->nodes[id];
    if (in_op(w, id) && n->op == LOOM_OP_CONCAT) {
        for (uint32_t i = 0; i < n->n_operands; i++) {
            if (!add_parts(w, loom_operand(w->p, n, i))) return false;
        }
        return true;
    }
    if (w->n_parts == MOST_PARTS) return false;
    w->parts[w->n_parts++] = id;
    return true;
}

/* Beside what it joins, the operator may only make what costs nothing and cannot fail: it is made if there are rows or
 * not. */
static bool is_plain(const writer *w, const loom_node *n) {
    switch ((loom_op)n->op) {
    case LOOM_OP_PRIM:
    case LOOM_OP_CONST:
    case LOOM_OP_CONVERT:
    case LOOM_OP_ARRAY:
        if (!loom_node_cannot_fail(w->p, n)) return false;
        break;
    case LOOM_OP_CONCAT: return true;
    default: return false;
    }
    for (uint32_t i = 0; i < n->n_operands; i++) {
        loom_node_id x = loom_operand(w->p, n, i);
        if (x == w->op.first || x == w->op.first + 1) return false;
        if (in_op(w, x) && w->p->nodes[x].op == LOOM_OP_CONCAT) return false;
    }
    return true;
}

static bool only_joins(writer *w) {
    loom_node_id a = w->op.first, b = a + 1;
    for (loom_node_id id = a + 2; id < w->op.end; id++) {
        if (!is_plain(w, &w->p->nodes[id])) return false;
    }
    if (!add_parts(w, w->op.result) || w->n_parts < 2 || w->parts[0] != a || w->parts[w->n_parts - 1] != b)
        return false;
    for (uint32_t i = 1; i + 1 < w->n_parts; i++) {
        if (w->parts[i] == a || w->parts[i] == b) return false;
    }
    return true;
}

static void write_between(writer *w) {
    w->between = LOOM_NONE;
    for (loom_node_id id = w->op.first + 2; id < w->op.end; id++) {
        if (w->p->nodes[id].op != LOOM_OP_CONCAT) loom_copy_node(w->p, w->p, id, w->map);
    }
    for (uint32_t i = 1; i + 1 < w->n_parts; i++) {
        loom_node_id x = w->map[w->parts[i]];
        w->between = i == 1 ? x : joined(w, w->between, x);
    }
    pen_forget(&w->op, w->map);
}

/* ---- what is written ---- */

/* Each row with what stands between two. */
static loom_node_id with_between(const writer *w, loom_node_id xs, bool behind) {
    if (w->between == LOOM_NONE) return xs;
    loom_body_id body = pen_open(&w->pen, 1, &w->row);
    loom_node_id x = loom_build_param(w->p, body, 0);
    loom_build_close(w->p, body, behind ? joined(w, x, w->between) : joined(w, w->between, x));
    return pen_map(&w->pen, w->row, xs, body);
}

static loom_node_id flattened(const writer *w, loom_node_id xs) {
    return pen_node(&w->pen, LOOM_OP_FLATTEN, w->row, 1, &xs, 0);
}

static loom_node_id lengths_of(const writer *w, loom_node_id xs) {
    loom_body_id body = pen_open(&w->pen, 1, &w->row);
    loom_build_close(w->p, body, pen_length(&w->pen, loom_build_param(w->p, body, 0)));
    return pen_map(&w->pen, w->pen.i64, xs, body);
}

static loom_node_id sums_of(const writer *w, loom_node_id numbers, loom_scan_kind kind) {
    loom_type_id types[2] = {w->pen.i64, w->pen.i64};
    loom_body_id body = pen_open(&w->pen, 2, types);
    loom_build_close(w->p, body, added(w, loom_build_param(w->p, body, 0), loom_build_param(w->p, body, 1)));
    loom_node_id operands[2] = {pen_int(&w->pen, 0), numbers};
    return loom_build_node(w->p, LOOM_OP_SCAN, 0, loom_type_array(w->p, w->pen.i64), operands, 2, &body, 1, kind,
                           w->fold.span);
}

/* all[:first + k], or all[k:] where `first` is LOOM_NONE */
static loom_node_id parts_of(const writer *w, loom_node_id all, loom_node_id sums, loom_node_id first) {
    loom_body_id body = pen_open(&w->pen, 1, &w->pen.i64);
    loom_node_id k = loom_build_param(w->p, body, 0), operands[2] = {all, k};
    if (first != LOOM_NONE) operands[1] = added(w, first, k);
    uint32_t ends = first != LOOM_NONE ? SLICE_TO : SLICE_FROM;
    loom_build_close(w->p, body, pen_node(&w->pen, LOOM_OP_SLICE, w->row, 2, operands, ends | VEC_SLICE_IN_RANGE));
    return pen_map(&w->pen, w->row, sums, body);
}

static loom_node_id write_scan(const writer *w, loom_node_id ne, loom_node_id xs) {
    if (w->fold.aux == LOOM_SCAN_RIGHT) {
        loom_node_id rows = with_between(w, xs, true), all = joined(w, flattened(w, rows), ne);
        return parts_of(w, all, sums_of(w, lengths_of(w, rows), LOOM_SCAN_EXCLUSIVE), LOOM_NONE);
    }
    loom_node_id rows = with_between(w, xs, false), all = joined(w, ne, flattened(w, rows));
    bool inclusive = w->fold.aux == LOOM_SCAN_INCLUSIVE;
    loom_node_id sums = sums_of(w, lengths_of(w, rows), inclusive ? LOOM_SCAN_INCLUSIVE : LOOM_SCAN_EXCLUSIVE);
    loom_node_id both[2] = {parts_of(w, all, sums, pen_length(&w->pen, ne)), all};
    return w->fold.aux == LOOM_SCAN_TOTAL ? pen_node(&w->pen, LOOM_OP_TUPLE, w->fold.type, 2, both, 0) : both[0];
}

/* Of one row at least. */
static loom_node_id write_fold1(const writer *w, loom_node_id xs) {
    loom_node_id all = flattened(w, with_between(w, xs, false));
    if (w->between == LOOM_NONE) return all;
    loom_node_id operands[2] = {all, pen_length(&w->pen, w->between)};
    return pen_node(&w->pen, LOOM_OP_SLICE, w->row, 2, operands, SLICE_FROM | VEC_SLICE_IN_RANGE);
}

bool vec_write_joined(loom_program *p, loom_node_id id, loom_node_id *map, loom_body_id *body) {
    const loom_node n = p->nodes[id];
    bool neutral = n.op != LOOM_OP_FOLD1;
    loom_type_id array = p->nodes[loom_operand(p, &n, neutral ? 1 : 0)].type, row = p->types[array].element;
    writer w = {.p = p,
                .fold = n,
                .op = *loom_node_body(p, &n, 0),
                .pen = pen_of(p, n.span),
                .array = array,
                .row = row,
                .map = map};
    if (p->types[row].kind != LOOM_T_ARRAY || !only_joins(&w)) return false;
    loom_type_id types[2] = {row, array};
    *body = loom_build_open(p, neutral ? 2 : 1, neutral ? types : &array, n.span);
    loom_node_id ne = loom_build_param(p, *body, 0), xs = loom_build_param(p, *body, neutral ? 1 : 0), result;
    write_between(&w);
    if (n.op == LOOM_OP_SCAN) {
        result = write_scan(&w, ne, xs);
    } else if (neutral) {
        result = joined(&w, ne, flattened(&w, with_between(&w, xs, false)));
    } else {
        result = write_fold1(&w, xs);
    }
    loom_build_close(p, *body, result);
    return true;
}
