/* Operations that run a body on elements: map, generate, fold, scan, filter; sequences use the same functions, being
 * lists here. Steps are counted as parallel depth: of a map, those of its deepest element and one more. */
#include "eval.h"
#include <inttypes.h>

/* Elements run by strips at most; smaller runs are not worth the preparation. */
#define LEAST_STRIP 4
/* Arrays of one map that strips take; more are mapped one by one. */
#define MOST_INPUTS 16

/* ---- map ---- */

static loom_status *map_one(evaluation *ev, const loom_node *n, loom_body_id body, int64_t i, array_builder *sink) {
    slot made;
    for (uint32_t k = 0; k < n->n_operands; k++) {
        const type_info *element = operand_type(ev, n, k)->element;
        set_param(ev, body, k, element_at(&ev->heap, element, operand(ev, n, k).array->leaves, i));
    }
    LOOM_TRY(eval_body(ev, body, &made));
    LOOM_TRY(array_builder_add(sink, made));
    slot_unref(&ev->heap, sink->element, made);
    return NULL;
}

/* The body on all elements of the node's arrays; by strips as far as that goes, the rest one by one. */
static loom_status *map_all(evaluation *ev, const loom_node *n, loom_body_id body, int64_t length,
                            array_builder *sink) {
    int64_t i = 0;
    if (ev->bodies[body].strip && length >= LEAST_STRIP && n->n_operands <= MOST_INPUTS) {
        strip_input inputs[MOST_INPUTS];
        for (uint32_t k = 0; k < n->n_operands; k++) inputs[k] = (strip_input){operand(ev, n, k).array->leaves, 1, 1};
        LOOM_TRY(strip_all(ev, body, inputs, length, sink, &i));
    }
    uint64_t before = ev->steps, deepest = before;
    for (; i < length; i++) {
        ev->steps = before;
        LOOM_TRY(count_turn(ev, n, 1));
        LOOM_TRY(at_element(ev, i, map_one(ev, n, body, i, sink)));
        if (ev->steps > deepest) deepest = ev->steps;
    }
    ev->steps = deepest;
    return NULL;
}

static loom_status *eval_map(evaluation *ev, const loom_node *n, slot *result) {
    int64_t length = operand(ev, n, 0).array->length;
    for (uint32_t k = 1; k < n->n_operands; k++) {
        int64_t other = operand(ev, n, k).array->length;
        if (other == length) continue;
        return fail_trap(ev, n, LOOM_TRAP_LENGTHS, 0, length, other);
    }
    array_builder sink;
    LOOM_TRY(array_builder_start(&sink, &ev->heap, type_of_id(ev, n->type)->element, length));
    LOOM_TRY(map_all(ev, n, body_of(ev, n, 0), length, &sink));
    return array_builder_end(&sink, &result->array);
}

/* ---- generate ---- */

static loom_status *generate_one(evaluation *ev, loom_body_id body, uint32_t rank, const int64_t *extents, int64_t i,
                                 array_builder *sink) {
    slot made;
    int64_t rest = i;
    for (uint32_t k = rank; k-- > 0;) {
        set_param(ev, body, k, (slot){.i64 = rest % extents[k]});
        rest /= extents[k];
    }
    LOOM_TRY(eval_body(ev, body, &made));
    LOOM_TRY(array_builder_add(sink, made));
    slot_unref(&ev->heap, sink->element, made);
    return NULL;
}

static loom_status *generate_all(evaluation *ev, loom_body_id body, uint32_t rank, const int64_t *extents,
                                 int64_t total, array_builder *sink) {
    int64_t i = 0, repeat = 1;
    if (ev->bodies[body].strip && total >= LEAST_STRIP) {
        strip_input inputs[LOOM_MAX_DEPTH];
        for (uint32_t k = rank; k-- > 0;) {
            inputs[k] = (strip_input){NULL, repeat, extents[k]};
            repeat *= extents[k];
        }
        LOOM_TRY(strip_all(ev, body, inputs, total, sink, &i));
    }
    uint64_t before = ev->steps, deepest = before;
    for (; i < total; i++) {
        ev->steps = before;
        LOOM_TRY(count_turn(ev, &ev->program->nodes[ev->program->bodies[body].result], 1));
        LOOM_TRY(at_element(ev, i, generate_one(ev, body, rank, extents, i, sink)));
        if (ev->steps > deepest) deepest = ev->steps;
    }
    ev->steps = deepest;
    return NULL;
}

loom_status *generate_flat(evaluation *ev, loom_body_id body, uint32_t rank, const int64_t *extents, int64_t total,
                           array **made) {
    array_builder sink;
    LOOM_TRY(array_builder_start(&sink, &ev->heap, type_of(ev, ev->program->bodies[body].result), total));
    LOOM_TRY(generate_all(ev, body, rank, extents, total, &sink));
    return array_builder_end(&sink, made);
}

static loom_status *eval_generate(evaluation *ev, const loom_node *n, slot *result) {
    uint32_t rank = n->n_operands;
    int64_t extents[3] = {1, 1, 1}, total = 1;
    for (uint32_t k = 0; k < rank; k++) {
        extents[k] = operand_i64(ev, n, k);
        if (extents[k] < 0) return fail_trap(ev, n, LOOM_TRAP_COUNT, 0, extents[k], 0);
        if (__builtin_mul_overflow(total, extents[k], &total))
            return fail(ev, n, LOOM_TRAP_CODE_COUNT, "generate of more than 2^63 elements");
    }
    array *flat;
    LOOM_TRY(generate_flat(ev, body_of(ev, n, 0), rank, extents, total, &flat));
    LOOM_TRY(array_nest(ev, type_of_id(ev, n->type)->element, flat, rank, extents, &result->array));
    object_unref(&ev->heap, &flat->head);
    return NULL;
}

/* ---- folds and scans ---- */

typedef struct folding {
    evaluation *ev;
    loom_body_id op;
    const type_info *element;
    const array *a;
    uint64_t before, deepest; /* steps */
} folding;

/* Sums of floats lose as much as their number of terms times the rounding of one: of more than this they are added up
 * as a tree of stretches, as compiled code adds up partial sums. The operator may be taken to be associative. */
#define STRETCH 512

static bool rounds(const type_info *t) {
    if (t->kind == LOOM_T_SCALAR) return loom_dtype_is_float(t->dtype) || loom_dtype_is_complex(t->dtype);
    if (t->kind == LOOM_T_ARRAY) return rounds(t->element);
    bool any = false;
    for (uint32_t i = 0; t->kind == LOOM_T_TUPLE && i < t->n_fields; i++) any = any || rounds(t->fields[i]);
    return any;
}

/* `acc op x`, where x has element i in it, at the first place. */
static loom_status *fold_one(folding *f, int64_t i, slot acc, slot x, slot *result) {
    evaluation *ev = f->ev;
    ev->steps = f->before;
    LOOM_TRY(count_turn(ev, &ev->program->nodes[ev->program->bodies[f->op].result], 1));
    LOOM_TRY(at_element(ev, i, apply2(ev, f->op, acc, x, result)));
    if (ev->steps > f->deepest) f->deepest = ev->steps;
    return NULL;
}

static loom_status *fold_stretch(folding *f, int64_t from, int64_t to, slot start, slot *result) {
    slot acc = start;
    for (int64_t i = from; i < to; i++)
        LOOM_TRY(fold_one(f, i, acc, element_at(&f->ev->heap, f->element, f->a->leaves, i), &acc));
    *result = acc;
    return NULL;
}

/* As deep as the logarithm of the length. */
static loom_status *fold_tree(folding *f, int64_t from, int64_t to, slot *result) {
    if (to - from <= STRETCH)
        return fold_stretch(f, from + 1, to, element_at(&f->ev->heap, f->element, f->a->leaves, from), result);
    int64_t half = STRETCH;
    while (2 * half < to - from) half *= 2;
    slot left, right;
    LOOM_TRY(fold_tree(f, from, from + half, &left));
    LOOM_TRY(fold_tree(f, from + half, to, &right));
    return fold_one(f, from + half, left, right, result);
}

loom_status *fold_range(evaluation *ev, loom_body_id op, const type_info *element, const array *a, int64_t from,
                        int64_t to, slot start, slot *result) {
    folding f = {ev, op, element, a, ev->steps, ev->steps};
    if (to - from > STRETCH && rounds(element)) {
        slot rest;
        LOOM_TRY(fold_tree(&f, from, to, &rest));
        LOOM_TRY(fold_one(&f, from, start, rest, result));
    } else {
        LOOM_TRY(fold_stretch(&f, from, to, start, result));
    }
    /* As a balanced tree: depth of the operator times the logarithm of the length. */
    uint64_t levels = to - from > 1 ? 64 - (uint64_t)__builtin_clzll((uint64_t)(to - from) - 1) : 1;
    ev->steps = f.before + (f.deepest - f.before) * levels;
    return NULL;
}

static loom_status *eval_fold(evaluation *ev, const loom_node *n, slot *result) {
    const array *a = operand(ev, n, 1).array;
    const type_info *element = operand_type(ev, n, 1)->element;
    return fold_range(ev, body_of(ev, n, 0), element, a, 0, a->length, take_operand(ev, n, 0), result);
}

static loom_status *eval_fold1(evaluation *ev, const loom_node *n, slot *result) {
    const array *a = operand(ev, n, 0).array;
    const type_info *element = operand_type(ev, n, 0)->element;
    if (a->length == 0) return fail_trap(ev, n, LOOM_TRAP_EMPTY, 0, 0, 0);
    slot first = element_at(&ev->heap, element, a->leaves, 0);
    return fold_range(ev, body_of(ev, n, 0), element, a, 1, a->length, first, result);
}

static loom_status *scan_array(evaluation *ev, const loom_node *n, loom_scan_kind kind, slot *result) {
    loom_body_id op = body_of(ev, n, 0);
    const array *a = operand(ev, n, 1).array;
    const type_info *element = operand_type(ev, n, 1)->element;
    bool exclusive = kind == LOOM_SCAN_EXCLUSIVE || kind == LOOM_SCAN_TOTAL, right = kind == LOOM_SCAN_RIGHT;
    slot acc = take_operand(ev, n, 0);
    array_builder sink;
    LOOM_TRY(array_builder_start(&sink, &ev->heap, element, a->length));
    uint64_t before = ev->steps, deepest = before;
    for (int64_t k = 0; k < a->length; k++) {
        int64_t i = right ? a->length - 1 - k : k;
        if (exclusive) LOOM_TRY(array_builder_add(&sink, acc));
        slot x = element_at(&ev->heap, element, a->leaves, i);
        ev->steps = before;
        LOOM_TRY(count_turn(ev, n, 1));
        LOOM_TRY(at_element(ev, i, right ? apply2(ev, op, x, acc, &acc) : apply2(ev, op, acc, x, &acc)));
        if (ev->steps > deepest) deepest = ev->steps;
        if (!exclusive) LOOM_TRY(array_builder_add(&sink, acc));
    }
    uint64_t levels = a->length > 1 ? 64 - (uint64_t)__builtin_clzll((uint64_t)a->length - 1) : 1;
    ev->steps = before + (deepest - before) * levels;
    LOOM_TRY(array_builder_end(&sink, &result->array));
    if (right) {
        array *backwards = result->array;
        LOOM_TRY(array_reverse(ev, element, backwards, &result->array));
        object_unref(&ev->heap, &backwards->head);
    }
    if (kind != LOOM_SCAN_TOTAL) {
        slot_unref(&ev->heap, element, acc);
        return NULL;
    }
    tuple *t = tuple_make(&ev->heap, type_of_id(ev, n->type));
    t->at[0].array = result->array;
    t->at[1] = acc;
    result->tuple = t;
    return NULL;
}

/* ---- filter ---- */

static loom_status *positions_of(evaluation *ev, const array *flags, column **positions) {
    const bool *keep = (const bool *)flags->leaves[0]->data;
    builder kept;
    builder_start(&kept, &ev->heap, LOOM_I64, 1, 0);
    for (int64_t i = 0; i < flags->length; i++) {
        if (keep[i]) LOOM_TRY(builder_scalar(&kept, &i));
    }
    return builder_end(&kept, positions);
}

static loom_status *eval_filter(evaluation *ev, const loom_node *n, slot *result) {
    loom_body_id body = body_of(ev, n, 0);
    const array *a = operand(ev, n, 0).array;
    array_builder sink;
    array *flags;
    column *positions;
    LOOM_TRY(array_builder_start(&sink, &ev->heap, type_of(ev, ev->program->bodies[body].result), a->length));
    LOOM_TRY(map_all(ev, n, body, a->length, &sink));
    LOOM_TRY(array_builder_end(&sink, &flags));
    LOOM_TRY(positions_of(ev, flags, &positions));
    LOOM_TRY(array_pick(ev, operand_type(ev, n, 0)->element, a, positions, &result->array));
    object_unref(&ev->heap, &positions->head);
    object_unref(&ev->heap, &flags->head);
    return NULL;
}

loom_status *eval_mapping_op(evaluation *ev, loom_node_id id, slot *result) {
    const loom_node *n = &ev->program->nodes[id];
    switch ((loom_op)n->op) {
    case LOOM_OP_MAP:
    case LOOM_OP_SEQ_MAP: return eval_map(ev, n, result);
    case LOOM_OP_GENERATE: return eval_generate(ev, n, result);
    case LOOM_OP_FOLD:
    case LOOM_OP_SEQ_FOLD: return eval_fold(ev, n, result);
    case LOOM_OP_FOLD1: return eval_fold1(ev, n, result);
    case LOOM_OP_SCAN: return scan_array(ev, n, (loom_scan_kind)n->aux, result);
    case LOOM_OP_SEQ_SCAN: return scan_array(ev, n, LOOM_SCAN_INCLUSIVE, result);
    default: return eval_filter(ev, n, result);
    }
}
