/* Sequences, as finite lists. What they share with arrays is in mapping.c and permute.c; here: enumerate, reduce,
 * group, and the random splits by which the laws of reduce_seq and fold_seq are tested. */
#include "eval.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t next_random(evaluation *ev) { /* xorshift64 */
    ev->random ^= ev->random << 13;
    ev->random ^= ev->random >> 7;
    return ev->random ^= ev->random << 17;
}

static loom_status *eval_enumerate(evaluation *ev, const loom_node *n, slot *result) {
    const array *a = operand(ev, n, 0).array;
    builder positions;
    char *room = NULL;
    builder_start(&positions, &ev->heap, LOOM_I64, 1, a->length);
    if (a->length) LOOM_TRY(builder_scalars(&positions, a->length, &room));
    for (int64_t i = 0; i < a->length; i++) memcpy(room + 8 * i, &i, 8);
    array *made = array_make(&ev->heap, type_of_id(ev, n->type)->element);
    LOOM_TRY(builder_end(&positions, &made->leaves[0]));
    for (uint32_t k = 0; k < a->n_leaves; k++) made->leaves[k + 1] = object_ref(a->leaves[k]);
    result->array = array_seal(made);
    return NULL;
}

/* ---- splits ---- */

/* Elements [from, to) as an array of its own. */
static loom_status *stretch(evaluation *ev, const type_info *element, const array *a, int64_t from, int64_t to,
                            array **made) {
    array *part = array_make(&ev->heap, element);
    for (uint32_t k = 0; k < a->n_leaves; k++) {
        builder b;
        builder_start(&b, &ev->heap, a->leaves[k]->dtype, a->leaves[k]->depth, to - from);
        LOOM_TRY(builder_range(&b, a->leaves[k], from, to - from, 1));
        LOOM_TRY(builder_end(&b, &part->leaves[k]));
    }
    *made = array_seal(part);
    return NULL;
}

/* Stretches that a random walk cuts [0, length) into: about four, some of them empty. */
static int64_t next_cut(evaluation *ev, int64_t at, int64_t length) {
    int64_t most = length / 3 + 1, step = (int64_t)(next_random(ev) % (uint64_t)(most + 1));
    return at + step < length ? at + step : length;
}

typedef struct difference {
    double largest; /* magnitude in the values */
    double apart;   /* largest difference of floats */
    bool other;     /* integers or shapes differ */
} difference;

static void compare_scalars(loom_dtype t, const char *a, const char *b, int64_t n, difference *d) {
    size_t size = loom_dtype_size(t);
    if (!loom_dtype_is_float(loom_dtype_real(t))) {
        d->other = d->other || (n && memcmp(a, b, (size_t)n * size) != 0);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        loom_scalar x = loom_scalar_load(t, a + (size_t)i * size), y = loom_scalar_load(t, b + (size_t)i * size);
        for (int part = 0; part < (loom_dtype_is_complex(t) ? 2 : 1); part++) {
            double p = loom_dtype_is_complex(t) ? x.c[part] : x.f, q = loom_dtype_is_complex(t) ? y.c[part] : y.f;
            if (isnan(p) && isnan(q)) continue;
            if (isinf(p) || isinf(q) || isnan(p) || isnan(q)) {
                d->other = d->other || p != q;
                continue;
            }
            d->largest = fmax(d->largest, fmax(fabs(p), fabs(q)));
            d->apart = fmax(d->apart, fabs(p - q));
        }
    }
}

static void compare_columns(const column *a, const column *b, difference *d) {
    if (a->length != b->length) {
        d->other = true;
    } else if (a->dense && b->dense) {
        if (column_same_shape(a, b, a->depth)) {
            compare_scalars(a->dtype, a->data, b->data, a->length * a->stride, d);
        } else {
            d->other = true;
        }
    }
}

static void compare_rows(evaluation *ev, column *a, column *b, difference *d) {
    if (a->length != b->length || (a->dense && b->dense)) {
        compare_columns(a, b, d);
        return;
    }
    for (int64_t i = 0; i < a->length; i++) {
        column *x = column_row(&ev->heap, a, i), *y = column_row(&ev->heap, b, i);
        compare_rows(ev, x, y, d);
        object_unref(&ev->heap, &x->head);
        object_unref(&ev->heap, &y->head);
    }
}

static void compare_slots(evaluation *ev, const type_info *t, slot a, slot b, difference *d) {
    if (t->kind == LOOM_T_SCALAR) {
        compare_scalars(t->dtype, a.raw, b.raw, 1, d);
    } else if (t->kind == LOOM_T_TUPLE) {
        for (uint32_t f = 0; f < t->n_fields; f++) compare_slots(ev, t->fields[f], a.tuple->at[f], b.tuple->at[f], d);
    } else {
        for (uint32_t k = 0; k < t->n_leaves; k++) compare_rows(ev, a.array->leaves[k], b.array->leaves[k], d);
    }
}

/* Floats may differ by rounding: a hundred-thousandth of the largest magnitude, as differential tests allow. */
#define LAW_TOLERANCE 1e-5

loom_status *check_law(evaluation *ev, const loom_node *n, const type_info *t, slot a, slot b, const char *broken,
                       const char *hint) {
    difference d = {0};
    compare_slots(ev, t, a, b, &d);
    if (!d.other && d.apart <= LAW_TOLERANCE * d.largest) return NULL;
    return loom_status_note(fail(ev, n, LOOM_TRAP_CODE_LAW, "%s", broken), "hint: %s", hint);
}

/* ---- fold_seq and reduce_seq ---- */

static loom_status *fold_whole(evaluation *ev, const loom_node *n, slot start, slot *result) {
    const array *a = operand(ev, n, 1).array;
    return fold_range(ev, body_of(ev, n, 0), operand_type(ev, n, 1)->element, a, 0, a->length, start, result);
}

/* Stretches folded on their own from the neutral element, neighbours combined, the earlier on the left. */
static loom_status *fold_split(evaluation *ev, const loom_node *n, slot *result) {
    const array *a = operand(ev, n, 1).array;
    const type_info *element = operand_type(ev, n, 1)->element;
    loom_body_id op = body_of(ev, n, 0);
    slot ne = operand(ev, n, 0), acc = slot_ref(element, ne);
    for (int64_t at = 0; at < a->length;) {
        int64_t to = next_cut(ev, at, a->length);
        slot part;
        LOOM_TRY(fold_range(ev, op, element, a, at, to, slot_ref(element, ne), &part));
        LOOM_TRY(apply2(ev, op, acc, part, &acc));
        at = to;
    }
    *result = acc;
    return NULL;
}

static loom_status *step_range(evaluation *ev, const loom_node *n, int64_t from, int64_t to, slot acc, slot *result) {
    array *part;
    LOOM_TRY(stretch(ev, operand_type(ev, n, 1)->element, operand(ev, n, 1).array, from, to, &part));
    return apply2(ev, body_of(ev, n, 0), acc, (slot){.array = part}, result);
}

static loom_status *reduce_whole(evaluation *ev, const loom_node *n, slot *result) {
    slot chunk = operand(ev, n, 1);
    chunk.array->head.references++;
    return apply2(ev, body_of(ev, n, 0), slot_ref(type_of_id(ev, n->type), operand(ev, n, 0)), chunk, result);
}

/* At each cut either step goes on from the accumulator, or a new accumulator is merged in. */
static loom_status *reduce_split(evaluation *ev, const loom_node *n, slot *result) {
    const type_info *type = type_of_id(ev, n->type);
    int64_t length = operand(ev, n, 1).array->length;
    slot zero = operand(ev, n, 0), acc = slot_ref(type, zero);
    for (int64_t at = 0; at < length;) {
        int64_t to = next_cut(ev, at, length);
        if (next_random(ev) >> 40 & 1) {
            slot part;
            LOOM_TRY(step_range(ev, n, at, to, slot_ref(type, zero), &part));
            LOOM_TRY(apply2(ev, body_of(ev, n, 1), acc, part, &acc));
        } else {
            LOOM_TRY(step_range(ev, n, at, to, acc, &acc));
        }
        at = to;
    }
    *result = acc;
    return NULL;
}

static loom_status *eval_splittable(evaluation *ev, const loom_node *n, slot *result) {
    const type_info *type = type_of_id(ev, n->type);
    bool fold = n->op == LOOM_OP_SEQ_FOLD;
    slot whole, split;
    if (fold) {
        LOOM_TRY(fold_whole(ev, n, ev->random ? slot_ref(type, operand(ev, n, 0)) : take_operand(ev, n, 0), &whole));
    } else {
        LOOM_TRY(reduce_whole(ev, n, &whole));
    }
    if (!ev->random) {
        *result = whole;
        return NULL;
    }
    LOOM_TRY(fold ? fold_split(ev, n, &split) : reduce_split(ev, n, &split));
    LOOM_TRY(check_law(ev, n, type, whole, split, "the result depends on how the stream is cut into chunks",
                       n->op == LOOM_OP_SEQ_FOLD
                           ? "the operator must be associative, with its neutral element"
                           : "step (step z xs) ys must be step z (xs ++ ys), and merge (step z xs) (step zero ys) the "
                             "same"));
    slot_unref(&ev->heap, type, whole);
    *result = split;
    return NULL;
}

/* ---- scan_seq ---- */

/* The last value is what a fold of all elements gives, however they are cut. */
static loom_status *eval_scan(evaluation *ev, loom_node_id id, slot *result) {
    const loom_node *n = &ev->program->nodes[id];
    const type_info *element = operand_type(ev, n, 1)->element;
    int64_t length = operand(ev, n, 1).array->length;
    slot split;
    if (!ev->random || length == 0) return eval_mapping_op(ev, id, result);
    LOOM_TRY(fold_split(ev, n, &split));
    LOOM_TRY(eval_mapping_op(ev, id, result));
    slot last = element_at(&ev->heap, element, result->array->leaves, length - 1);
    LOOM_TRY(check_law(ev, n, element, last, split, "the result depends on how the stream is cut into chunks",
                       "the operator must be associative, with its neutral element; `chain_seq` takes any step"));
    slot_unref(&ev->heap, element, last);
    slot_unref(&ev->heap, element, split);
    return NULL;
}

/* ---- chain_seq ---- */

/* The step is no operator: nothing is added up as a tree, and a turn begins where the one before has ended. */
static loom_status *eval_chain(evaluation *ev, const loom_node *n, slot *result) {
    const array *a = operand(ev, n, 1).array;
    const type_info *element = operand_type(ev, n, 1)->element;
    slot state = take_operand(ev, n, 0);
    for (int64_t i = 0; i < a->length; i++) {
        LOOM_TRY(count_turn(ev, n, 1));
        slot x = element_at(&ev->heap, element, a->leaves, i);
        LOOM_TRY(at_element(ev, i, apply2(ev, body_of(ev, n, 0), state, x, &state)));
    }
    *result = state;
    return NULL;
}

/* ---- group_seq ---- */

typedef struct membership {
    int64_t group, position;
} membership;

static int by_group(const void *a, const void *b) {
    const membership *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

/* Who is in which group: pairs of (group, position), as columns of one builder each two scalars long. `windows`: groups
 * that go on for ever; else `groups` of them. */
static loom_status *find_members(evaluation *ev, const loom_node *n, uint32_t sequence, int64_t groups,
                                 loom_windows *windows, column **made) {
    const array *a = operand(ev, n, sequence).array;
    const type_info *element = operand_type(ev, n, sequence)->element;
    builder b;
    builder_start(&b, &ev->heap, LOOM_I64, 1, 2 * a->length);
    for (int64_t i = 0; i < a->length; i++) {
        slot keys;
        LOOM_TRY(at_element(ev, i, apply1(ev, body_of(ev, n, 0), element_at(&ev->heap, element, a->leaves, i), &keys)));
        const int64_t *key = (const int64_t *)(const void *)keys.array->leaves[0]->data;
        int64_t least = 0, end = groups;
        if (windows) {
            LOOM_TRY(loom_windows_take(windows, key, keys.array->length, &least));
            end = loom_windows_total(windows);
        }
        for (int64_t k = 0; k < keys.array->length; k++) {
            membership m = {key[k], i};
            char *room;
            if (m.group < least || m.group >= end) continue;
            LOOM_TRY(builder_scalars(&b, 2, &room));
            memcpy(room, &m, sizeof m);
        }
        object_unref(&ev->heap, &keys.array->head);
    }
    return builder_end(&b, made);
}

/* Positions of the members of `group` from *next on, each once. */
static loom_status *members_of(evaluation *ev, const membership *m, int64_t count, int64_t group, int64_t *next,
                               column **made) {
    builder b;
    builder_start(&b, &ev->heap, LOOM_I64, 1, 0);
    int64_t before = -1;
    for (; *next < count && m[*next].group == group; ++*next) {
        if (m[*next].position != before) LOOM_TRY(builder_scalar(&b, &m[*next].position));
        before = m[*next].position;
    }
    return builder_end(&b, made);
}

static loom_status *eval_group(evaluation *ev, const loom_node *n, slot *result) {
    bool forever = loom_group_is_forever(n);
    int64_t groups = operand_i64(ev, n, 0), next = 0;
    if (groups < 0)
        return fail(ev, n, LOOM_TRAP_CODE_GROUPS, "group_seq with %" PRId64 " groups, expected 0 or more", groups);
    const array *a = operand(ev, n, 1).array;
    column *pairs;
    loom_windows windows = loom_windows_begin(loom_group_lag(n));
    LOOM_TRY(find_members(ev, n, 1, groups, forever ? &windows : NULL, &pairs));
    if (forever) {
        groups = loom_windows_total(&windows);
        loom_window_counts_add(&ev->windows, &windows.counts);
    }
    membership *m = (membership *)(void *)pairs->data;
    int64_t count = pairs->length / 2;
    if (count) qsort(m, (size_t)count, sizeof *m, by_group);
    array_builder sink;
    /* With room for all results, so that more than there is memory for are not begun. */
    LOOM_TRY(place_error(ev, n, array_builder_start(&sink, &ev->heap, type_of_id(ev, n->type)->element, groups)));
    uint64_t before = ev->steps, deepest = before;
    for (int64_t k = 0; k < groups; k++) {
        column *positions;
        slot ys, made;
        ev->steps = before;
        LOOM_TRY(count_turn(ev, n, 1));
        LOOM_TRY(members_of(ev, m, count, k, &next, &positions));
        LOOM_TRY(array_pick(ev, operand_type(ev, n, 1)->element, a, positions, &ys.array));
        object_unref(&ev->heap, &positions->head);
        LOOM_TRY(at_element(ev, k, apply2(ev, body_of(ev, n, 1), (slot){.i64 = k}, ys, &made)));
        LOOM_TRY(array_builder_add(&sink, made));
        slot_unref(&ev->heap, sink.element, made);
        if (ev->steps > deepest) deepest = ev->steps;
    }
    ev->steps = deepest;
    object_unref(&ev->heap, &pairs->head);
    return array_builder_end(&sink, &result->array);
}

/* Adds what group k made of its members to what they have had from groups before it. */
static loom_status *add_contributions(evaluation *ev, const loom_node *n, const column *positions, const array *zs,
                                      slot *sums) {
    const type_info *element = operand_type(ev, n, 1);
    const int64_t *at = (const int64_t *)(const void *)positions->data;
    if (zs->length != positions->length)
        return fail(ev, n, LOOM_TRAP_CODE_GROUP_MEMBERS, "%" PRId64 " elements made of a group of %" PRId64, zs->length,
                    positions->length);
    for (int64_t i = 0; i < zs->length; i++) {
        slot z = element_at(&ev->heap, element, zs->leaves, i), sum = sums[at[i]];
        LOOM_TRY(at_element(ev, at[i], apply2(ev, body_of(ev, n, 1), sum, z, &sums[at[i]])));
    }
    return NULL;
}

/* By groups, as group_seq; each member's sum so far is a slot. */
static loom_status *eval_group_map(evaluation *ev, const loom_node *n, slot *result) {
    int64_t groups = operand_i64(ev, n, 0), next = 0;
    if (groups < 0)
        return fail(ev, n, LOOM_TRAP_CODE_GROUPS, "group_map_seq with %" PRId64 " groups, expected 0 or more", groups);
    const array *a = operand(ev, n, 2).array;
    const type_info *element = operand_type(ev, n, 1);
    column *pairs, *room;
    LOOM_TRY(find_members(ev, n, 2, groups, NULL, &pairs));
    membership *m = (membership *)(void *)pairs->data;
    int64_t count = pairs->length / 2;
    if (count) qsort(m, (size_t)count, sizeof *m, by_group);
    builder b;
    char *bytes = NULL;
    int64_t words = (int64_t)(sizeof(slot) / sizeof(int64_t));
    builder_start(&b, &ev->heap, LOOM_I64, 1, words * a->length);
    if (a->length) LOOM_TRY(builder_scalars(&b, words * a->length, &bytes));
    LOOM_TRY(builder_end(&b, &room));
    slot *sums = (slot *)(void *)room->data;
    for (int64_t i = 0; i < a->length; i++) sums[i] = slot_ref(element, operand(ev, n, 1));
    uint64_t before = ev->steps, deepest = before;
    while (next < count) {
        int64_t k = m[next].group; /* those that nobody is in make nothing */
        column *positions;
        slot ys, zs;
        ev->steps = before;
        LOOM_TRY(count_turn(ev, n, 1));
        LOOM_TRY(members_of(ev, m, count, k, &next, &positions));
        LOOM_TRY(array_pick(ev, operand_type(ev, n, 2)->element, a, positions, &ys.array));
        LOOM_TRY(at_element(ev, k, apply2(ev, body_of(ev, n, 2), (slot){.i64 = k}, ys, &zs)));
        LOOM_TRY(add_contributions(ev, n, positions, zs.array, sums));
        object_unref(&ev->heap, &zs.array->head);
        object_unref(&ev->heap, &positions->head);
        if (ev->steps > deepest) deepest = ev->steps;
    }
    ev->steps = deepest;
    array_builder sink;
    LOOM_TRY(array_builder_start(&sink, &ev->heap, element, a->length));
    for (int64_t i = 0; i < a->length; i++) {
        LOOM_TRY(array_builder_add(&sink, sums[i]));
        slot_unref(&ev->heap, element, sums[i]);
    }
    object_unref(&ev->heap, &pairs->head);
    object_unref(&ev->heap, &room->head);
    return array_builder_end(&sink, &result->array);
}

loom_status *eval_sequence_op(evaluation *ev, loom_node_id id, slot *result) {
    const loom_node *n = &ev->program->nodes[id];
    switch ((loom_op)n->op) {
    case LOOM_OP_SEQ_ROWS:
    case LOOM_OP_SEQ_FROM:
    case LOOM_OP_SEQ_SPILLED: *result = take_operand(ev, n, 0); return NULL;
    case LOOM_OP_SEQ_SPILL: *result = take_operand(ev, n, 1); return NULL;
    case LOOM_OP_SEQ_MAP:
    case LOOM_OP_SEQ_FILTER: return eval_mapping_op(ev, id, result);
    case LOOM_OP_SEQ_SCAN: return eval_scan(ev, id, result);
    case LOOM_OP_SEQ_ENUMERATE: return eval_enumerate(ev, n, result);
    case LOOM_OP_SEQ_PERMUTE: return eval_permute_op(ev, id, result);
    case LOOM_OP_SEQ_FOLD:
    case LOOM_OP_SEQ_REDUCE: return eval_splittable(ev, n, result);
    case LOOM_OP_SEQ_CHAIN: return eval_chain(ev, n, result);
    case LOOM_OP_SEQ_GROUP_MAP: return eval_group_map(ev, n, result);
    default: return eval_group(ev, n, result);
    }
}
