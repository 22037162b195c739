/* Permute, scatter, gather, backpermute: elements that move to or come from computed places. */
#include "eval.h"
#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* The element of an array of type `t` at an index path that is inside (a new reference). */
static slot element_at_path(evaluation *ev, const type_info *t, const array *a, const int64_t *path, uint32_t levels) {
    slot at = element_at(&ev->heap, t->element, a->leaves, path[0]);
    for (uint32_t k = 1; k < levels; k++) {
        t = t->element;
        array *row = at.array;
        at = element_at(&ev->heap, t->element, row->leaves, path[k]);
        object_unref(&ev->heap, &row->head);
    }
    return at;
}

/* The outer d levels as one (a new reference); only of a dense column. */
static column *flat_view(evaluation *ev, column *c, uint32_t d) {
    int64_t extents[LOOM_MAX_DEPTH + 2] = {1};
    for (uint32_t k = 0; k < d; k++) extents[0] *= c->at[k].extent;
    for (uint32_t k = d; k < c->depth; k++) extents[k - d + 1] = c->at[k].extent;
    return column_dense(&ev->heap, c->dtype, c->depth - d + 1, extents, object_ref(c->buffer), c->data);
}

/* ---- permute and scatter ---- */

typedef struct spread {
    evaluation *ev;
    const loom_node *n;
    uint32_t rank;
    loom_body_id op;       /* LOOM_NONE: scatter */
    const type_info *type; /* of the target */
    const type_info *element;
    array *target;  /* writable */
    column *direct; /* the target's only column where it is dense with scalar elements, writable; else NULL */
} spread;

static loom_status *put_direct(const spread *s, const int64_t *path, slot value) {
    column *c = s->direct;
    int64_t at = 0;
    for (uint32_t k = 0; k < s->rank; k++) at = at * c->at[k].extent + path[k];
    char *to = c->data + (size_t)at * s->element->size;
    s->ev->heap.moved++;
    if (s->op != LOOM_NONE) {
        slot old = {.raw = {0}};
        memcpy(old.raw, to, s->element->size);
        LOOM_TRY(apply2(s->ev, s->op, old, value, &value));
    }
    memcpy(to, value.raw, s->element->size);
    return NULL;
}

/* Takes the reference to `value`. */
static loom_status *put(const spread *s, const int64_t *path, slot value) {
    evaluation *ev = s->ev;
    LOOM_TRY(count_turn(ev, s->n, 1));
    if (!path_inside(s->target->leaves[0], path, s->rank, NULL, NULL)) {
        slot_unref(&ev->heap, s->element, value);
        return NULL;
    }
    if (s->direct) return put_direct(s, path, value);
    if (s->op != LOOM_NONE) {
        slot old = element_at_path(ev, s->type, s->target, path, s->rank);
        LOOM_TRY(apply2(ev, s->op, old, value, &value));
    }
    LOOM_TRY(array_update(ev, s->type, s->target, path, s->rank, value));
    slot_unref(&ev->heap, s->element, value);
    return NULL;
}

static loom_status *spread_flat(const spread *s, column *const *places, column *const *values) {
    int64_t path[LOOM_MAX_DEPTH + 1];
    for (int64_t i = 0; i < places[0]->length; i++) {
        for (uint32_t k = 0; k < s->rank; k++) path[k] = ((const int64_t *)(const void *)places[k]->data)[i];
        LOOM_TRY(at_element(s->ev, i, put(s, path, element_at(&s->ev->heap, s->element, values, i))));
    }
    return NULL;
}

static bool all_dense(column *const *leaves, uint32_t n) {
    for (uint32_t k = 0; k < n; k++) {
        if (!leaves[k]->dense) return false;
    }
    return true;
}

/* Columns that stand in for those of places and values: rows, or flat views. */
typedef struct level {
    buffer *memory;
    column **places, **values;
} level;

static loom_status *level_open(const spread *s, level *l) {
    LOOM_TRY(buffer_create(&s->ev->heap, (s->rank + s->element->n_leaves) * sizeof(column *), &l->memory));
    l->places = (column **)(void *)l->memory->data;
    l->values = l->places + s->rank;
    return NULL;
}

static void level_clear(const spread *s, const level *l) {
    for (uint32_t k = 0; k < s->rank; k++) object_unref(&s->ev->heap, &l->places[k]->head);
    for (uint32_t k = 0; k < s->element->n_leaves; k++) object_unref(&s->ev->heap, &l->values[k]->head);
}

/* Places and values nested d levels deep. */
static loom_status *spread_nested(const spread *s, column *const *places, column *const *values, uint32_t d) {
    if (d == 1) return spread_flat(s, places, values);
    heap *h = &s->ev->heap;
    level l;
    LOOM_TRY(level_open(s, &l));
    if (all_dense(places, s->rank) && all_dense(values, s->element->n_leaves)) {
        for (uint32_t k = 0; k < s->rank; k++) l.places[k] = flat_view(s->ev, places[k], d);
        for (uint32_t k = 0; k < s->element->n_leaves; k++) l.values[k] = flat_view(s->ev, values[k], d);
        LOOM_TRY(spread_flat(s, l.places, l.values));
        level_clear(s, &l);
    } else {
        for (int64_t i = 0; i < places[0]->length; i++) {
            for (uint32_t k = 0; k < s->rank; k++) l.places[k] = column_row(h, places[k], i);
            for (uint32_t k = 0; k < s->element->n_leaves; k++) l.values[k] = column_row(h, values[k], i);
            LOOM_TRY(at_element(s->ev, i, spread_nested(s, l.places, l.values, d - 1)));
            level_clear(s, &l);
        }
    }
    object_unref(h, &l.memory->head);
    return NULL;
}

static loom_status *eval_spread(evaluation *ev, const loom_node *n, bool combines, slot *result) {
    spread s = {.ev = ev, .n = n, .rank = n->aux, .op = combines ? body_of(ev, n, 0) : LOOM_NONE};
    s.type = s.element = operand_type(ev, n, 0);
    for (uint32_t k = 0; k < s.rank; k++) s.element = s.element->element;
    uint32_t d = 0;
    for (const type_info *t = operand_type(ev, n, 1); t->kind == LOOM_T_ARRAY; t = t->element) d++;
    array *places = operand(ev, n, 1).array, *values = operand(ev, n, 2).array;
    if (!column_same_shape(places->leaves[0], values->leaves[0], d)) {
        return fail_trap(ev, n, LOOM_TRAP_LENGTHS, 0, places->length, values->length);
    }
    LOOM_TRY(array_writable(ev, s.type->element, take_operand(ev, n, 0).array, &s.target));
    const column *c = s.target->leaves[0];
    if (s.element->kind == LOOM_T_SCALAR && c->dense && c->depth == s.rank) {
        LOOM_TRY(column_writable(ev, s.target->leaves[0], &s.target->leaves[0]));
        s.direct = s.target->leaves[0];
    }
    LOOM_TRY(spread_nested(&s, places->leaves, values->leaves, d));
    result->array = s.target;
    return NULL;
}

/* ---- gather ---- */

static loom_status *gather_flat(evaluation *ev, const loom_node *n, column *from, const column *places, column **made) {
    builder b;
    const int64_t *at = (const int64_t *)(const void *)places->data;
    builder_start(&b, &ev->heap, from->dtype, from->depth, places->length);
    for (int64_t i = 0; i < places->length; i++) {
        if (at[i] < 0 || at[i] >= from->length) {
            return fail_trap(ev, n, LOOM_TRAP_INDEX, 0, at[i], from->length);
        }
        LOOM_TRY(builder_element(&b, from, at[i]));
    }
    return builder_end(&b, made);
}

static loom_status *gather_column(evaluation *ev, const loom_node *n, column *from, column *places, column **made) {
    if (places->dense) {
        column *flat_places = flat_view(ev, places, places->depth), *flat;
        int64_t extents[LOOM_MAX_DEPTH + 1];
        for (uint32_t k = 0; k < places->depth; k++) extents[k] = places->at[k].extent;
        LOOM_TRY(gather_flat(ev, n, from, flat_places, &flat));
        LOOM_TRY(column_nest(ev, flat, places->depth, extents, made));
        object_unref(&ev->heap, &flat->head);
        object_unref(&ev->heap, &flat_places->head);
        return NULL;
    }
    builder b;
    builder_start(&b, &ev->heap, from->dtype, from->depth + places->depth - 1, places->length);
    for (int64_t i = 0; i < places->length; i++) {
        column *row;
        LOOM_TRY(at_element(ev, i, gather_column(ev, n, from, places->at[i].row, &row)));
        LOOM_TRY(builder_row(&b, row));
        object_unref(&ev->heap, &row->head);
    }
    return builder_end(&b, made);
}

static loom_status *eval_gather(evaluation *ev, const loom_node *n, slot *result) {
    const array *from = operand(ev, n, 0).array, *places = operand(ev, n, 1).array;
    array *made = array_make(&ev->heap, type_of_id(ev, n->type)->element);
    for (uint32_t k = 0; k < from->n_leaves; k++) {
        LOOM_TRY(gather_column(ev, n, from->leaves[k], places->leaves[0], &made->leaves[k]));
    }
    result->array = array_seal(made);
    return NULL;
}

/* ---- backpermute ---- */

typedef struct fetch {
    evaluation *ev;
    const loom_node *n;
    uint32_t rank, source_rank;
    const type_info *type, *source_type, *element;
    array *target, *source;
} fetch;

static bool source_path(const fetch *f, slot place, const type_info *place_type, int64_t *path) {
    for (uint32_t k = 0; k < f->source_rank; k++) {
        path[k] = place_type->kind == LOOM_T_TUPLE ? place.tuple->at[k].i64 : place.i64;
    }
    return path_inside(f->source->leaves[0], path, f->source_rank, NULL, NULL);
}

static loom_status *fetch_one(const fetch *f, const int64_t *path) {
    evaluation *ev = f->ev;
    loom_body_id body = body_of(ev, f->n, 0);
    const type_info *place_type = type_of(ev, ev->program->bodies[body].result);
    int64_t from[LOOM_MAX_DEPTH + 1];
    slot place;
    for (uint32_t k = 0; k < f->rank; k++) set_param(ev, body, k, (slot){.i64 = path[k]});
    LOOM_TRY(eval_body(ev, body, &place));
    bool inside = source_path(f, place, place_type, from);
    slot_unref(&ev->heap, place_type, place);
    if (!inside) return NULL;
    slot value = element_at_path(ev, f->source_type, f->source, from, f->source_rank);
    LOOM_TRY(array_update(ev, f->type, f->target, path, f->rank, value));
    slot_unref(&ev->heap, f->element, value);
    return NULL;
}

/* All index paths of the target, whatever its shape; `c` is its first column below the path so far. */
static loom_status *fetch_nested(const fetch *f, const column *c, int64_t *path, uint32_t level) {
    for (int64_t i = 0; i < c->length; i++) {
        path[level] = i;
        if (level + 1 == f->rank) {
            LOOM_TRY(at_element(f->ev, i, fetch_one(f, path)));
            continue;
        }
        column *row = column_row(&f->ev->heap, (column *)c, i);
        loom_status *status = fetch_nested(f, row, path, level + 1);
        object_unref(&f->ev->heap, &row->head);
        LOOM_TRY(at_element(f->ev, i, status));
    }
    return NULL;
}

/* Dense target and source with elements of equal shape: all places first, then copies. */
static bool simple(const fetch *f) {
    for (uint32_t k = 0; k < f->target->n_leaves; k++) {
        const column *t = f->target->leaves[k], *s = f->source->leaves[k];
        if (!t->dense || !s->dense || t->length == 0 || s->length == 0) return false;
        for (uint32_t i = 0; i < t->depth - f->rank; i++) {
            if (t->at[f->rank + i].extent != s->at[f->source_rank + i].extent) return false;
        }
    }
    return true;
}

static void copy_elements(const fetch *f, const array *places, const column *from, column *to) {
    int64_t scalars = 1;
    for (uint32_t k = f->rank; k < to->depth; k++) scalars *= to->at[k].extent;
    size_t bytes = (size_t)scalars * scalar_size(to);
    for (int64_t i = 0; i < places->length; i++) {
        int64_t at = 0;
        bool inside = true;
        for (uint32_t k = 0; k < f->source_rank && inside; k++) {
            int64_t index = ((const int64_t *)(const void *)places->leaves[k]->data)[i], extent = from->at[k].extent;
            inside = index >= 0 && index < extent;
            at = at * extent + index;
        }
        if (inside && bytes) memcpy(to->data + (size_t)i * bytes, from->data + (size_t)at * bytes, bytes);
        if (inside) f->ev->heap.moved += (uint64_t)scalars;
    }
}

static loom_status *fetch_simple(const fetch *f) {
    evaluation *ev = f->ev;
    int64_t extents[LOOM_MAX_DEPTH + 1], total = 1;
    for (uint32_t k = 0; k < f->rank; k++) {
        extents[k] = f->target->leaves[0]->at[k].extent;
        total *= extents[k];
    }
    array *places;
    LOOM_TRY(generate_flat(ev, body_of(ev, f->n, 0), f->rank, extents, total, &places));
    for (uint32_t k = 0; k < f->target->n_leaves; k++) {
        column *c = f->target->leaves[k];
        f->target->leaves[k] = NULL;
        LOOM_TRY(column_writable(ev, c, &f->target->leaves[k]));
        copy_elements(f, places, f->source->leaves[k], f->target->leaves[k]);
    }
    object_unref(&ev->heap, &places->head);
    return NULL;
}

static loom_status *eval_backpermute(evaluation *ev, const loom_node *n, slot *result) {
    fetch f = {.ev = ev, .n = n, .rank = n->aux, .type = operand_type(ev, n, 0), .source_type = operand_type(ev, n, 1)};
    const type_info *place = type_of(ev, ev->program->bodies[body_of(ev, n, 0)].result);
    f.source_rank = place->kind == LOOM_T_TUPLE ? place->n_fields : 1;
    f.element = f.type;
    for (uint32_t k = 0; k < f.rank; k++) f.element = f.element->element;
    f.source = operand(ev, n, 1).array;
    LOOM_TRY(array_writable(ev, f.type->element, take_operand(ev, n, 0).array, &f.target));
    int64_t path[LOOM_MAX_DEPTH + 1];
    if (simple(&f)) {
        LOOM_TRY(fetch_simple(&f));
    } else {
        column *shape = object_ref(f.target->leaves[0]); /* the columns change under the walk */
        LOOM_TRY(fetch_nested(&f, shape, path, 0));
        object_unref(&ev->heap, &shape->head);
    }
    result->array = f.target;
    return NULL;
}

loom_status *eval_permute_op(evaluation *ev, loom_node_id id, slot *result) {
    const loom_node *n = &ev->program->nodes[id];
    switch ((loom_op)n->op) {
    case LOOM_OP_PERMUTE:
    case LOOM_OP_SEQ_PERMUTE: return eval_spread(ev, n, true, result);
    case LOOM_OP_SCATTER: return eval_spread(ev, n, false, result);
    case LOOM_OP_GATHER: return eval_gather(ev, n, result);
    default: return eval_backpermute(ev, n, result);
    }
}
