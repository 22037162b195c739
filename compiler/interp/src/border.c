/* Values from and to the outside (common/value.h), where lists are data and lengths. */
#include "eval.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- in ---- */

typedef struct reader {
    evaluation *ev;
    const loom_value *value;
    uint32_t next; /* leaf */
    const char *name;
} reader;

/* Place of the lists of one level in a leaf: the next list and the next scalar. */
typedef struct position {
    int64_t list[LOOM_MAX_DEPTH];
    int64_t scalar;
} position;

static bool regular_below(const loom_leaf *leaf, uint32_t level) {
    for (uint32_t k = level; k < leaf->depth; k++) {
        if (leaf->extents[k] == LOOM_IRREGULAR) return false;
    }
    return true;
}

static int64_t next_length(const loom_leaf *leaf, uint32_t level, position *at) {
    int64_t list = at->list[level]++;
    return leaf->lengths[level] ? leaf->lengths[level][list] : leaf->extents[level];
}

/* The next list of `level`. Where all below is regular it is a view of the caller's memory. */
static loom_status *read_column(reader *r, const loom_leaf *leaf, uint32_t level, position *at, buffer *data,
                                column **made) {
    heap *h = &r->ev->heap;
    int64_t length = next_length(leaf, level, at);
    char *here = leaf->n_data ? (char *)leaf->data + (size_t)at->scalar * loom_dtype_size(leaf->dtype) : leaf->data;
    if (regular_below(leaf, level + 1)) {
        int64_t extents[LOOM_MAX_DEPTH] = {length}, scalars = length;
        for (uint32_t k = level + 1; k < leaf->depth; k++) {
            extents[k - level] = leaf->extents[k];
            scalars *= leaf->extents[k];
        }
        at->scalar += scalars;
        *made = column_dense(h, leaf->dtype, leaf->depth - level, extents, object_ref(data), here);
        return NULL;
    }
    if (length == 0) {
        *made = column_empty(h, leaf->dtype, leaf->depth - level);
        return NULL;
    }
    column *c;
    LOOM_TRY(column_rows(h, leaf->dtype, leaf->depth - level, length, &c));
    for (int64_t i = 0; i < length; i++) LOOM_TRY(read_column(r, leaf, level + 1, at, data, &c->at[i].row));
    *made = c;
    return NULL;
}

static loom_status *next_leaf(reader *r, loom_dtype dtype, uint32_t depth, const loom_leaf **leaf) {
    if (r->next >= r->value->n_leaves) {
        return loom_error(LOOM_E_DATA, "argument %s has %" PRIu32 " columns, more are expected", r->name,
                          r->value->n_leaves);
    }
    *leaf = &r->value->leaves[r->next++];
    if ((*leaf)->dtype != dtype || (*leaf)->depth != depth) {
        return loom_error(LOOM_E_DATA,
                          "argument %s: column \"%s\" is %s under %" PRIu32 " array levels, expected %s under %" PRIu32,
                          r->name, (*leaf)->name ? (*leaf)->name : "", loom_dtype_name((*leaf)->dtype), (*leaf)->depth,
                          loom_dtype_name(dtype), depth);
    }
    return NULL;
}

/* Do columns of tuples agree in length where they share levels? `t` is the element type at this depth. */
static loom_status *check_shapes(const reader *r, const type_info *t, column *const *leaves, uint32_t levels) {
    if (t->kind == LOOM_T_ARRAY) return check_shapes(r, t->element, leaves, levels + 1);
    for (uint32_t f = 0; t->kind == LOOM_T_TUPLE && f < t->n_fields; f++) {
        LOOM_TRY(check_shapes(r, t->fields[f], leaves + t->first_leaf[f], levels));
        if (!column_same_shape(leaves[0], leaves[t->first_leaf[f]], levels)) {
            return loom_error(LOOM_E_DATA, "argument %s: the columns of one array differ in length", r->name);
        }
    }
    return NULL;
}

static loom_status *read_array(reader *r, const type_info *t, slot *made) {
    array *a = array_make(&r->ev->heap, t->element);
    for (uint32_t k = 0; k < t->n_leaves; k++) {
        const loom_leaf *leaf;
        position at = {{0}, 0};
        LOOM_TRY(next_leaf(r, t->leaf_dtypes[k], t->leaf_depths[k], &leaf));
        buffer *data = buffer_external(&r->ev->heap, leaf->data);
        LOOM_TRY(read_column(r, leaf, 0, &at, data, &a->leaves[k]));
        object_unref(&r->ev->heap, &data->head);
    }
    made->array = array_seal(a);
    return check_shapes(r, t->element, a->leaves, 1);
}

static bool has_unit(const type_info *t) {
    if (t->kind == LOOM_T_ARRAY) return has_unit(t->element);
    if (t->kind == LOOM_T_SCALAR) return false;
    for (uint32_t f = 0; f < t->n_fields; f++) {
        if (has_unit(t->fields[f])) return true;
    }
    return t->n_fields == 0;
}

static loom_status *read_slot(reader *r, const type_info *t, slot *made) {
    *made = (slot){.raw = {0}};
    if (t->kind == LOOM_T_SCALAR) {
        const loom_leaf *leaf;
        LOOM_TRY(next_leaf(r, t->dtype, 0, &leaf));
        memcpy(made->raw, leaf->data, t->size);
        return NULL;
    }
    if (t->kind == LOOM_T_ARRAY) {
        if (has_unit(t)) return loom_error(LOOM_E_DATA, "argument %s: arrays of () have no columns", r->name);
        return read_array(r, t, made);
    }
    tuple *whole = tuple_make(&r->ev->heap, t);
    for (uint32_t f = 0; f < t->n_fields; f++) LOOM_TRY(read_slot(r, t->fields[f], &whole->at[f]));
    made->tuple = whole;
    return NULL;
}

loom_status *value_in(evaluation *ev, loom_type_id type, const char *name, const loom_value *value, slot *made) {
    reader r = {.ev = ev, .value = value, .name = name};
    LOOM_TRY(loom_value_check(value));
    LOOM_TRY(read_slot(&r, type_of_id(ev, type), made));
    if (r.next < value->n_leaves) {
        return loom_error(LOOM_E_DATA, "argument %s has %" PRIu32 " columns, expected %" PRIu32, name, value->n_leaves,
                          r.next);
    }
    return NULL;
}

/* ---- out ---- */

/* What is known of each level of a column: number of lists, common length (LOOM_IRREGULAR where they differ). */
typedef struct survey {
    int64_t lists[LOOM_MAX_DEPTH], length[LOOM_MAX_DEPTH];
    int64_t scalars;
} survey;

static void see_lists(survey *s, uint32_t level, int64_t lists, int64_t length) {
    if (lists == 0) return;
    bool first = s->lists[level] == 0;
    s->lists[level] += lists;
    if (first) {
        s->length[level] = length;
    } else if (s->length[level] != length) {
        s->length[level] = LOOM_IRREGULAR;
    }
}

static void look(survey *s, const column *c, uint32_t level) {
    if (!c->dense) {
        see_lists(s, level, 1, c->length);
        for (int64_t i = 0; i < c->length; i++) look(s, c->at[i].row, level + 1);
        return;
    }
    int64_t lists = 1;
    for (uint32_t k = 0; k < c->depth; k++) {
        see_lists(s, level + k, lists, c->at[k].extent);
        lists *= c->at[k].extent;
    }
    s->scalars += lists;
}

typedef struct writer {
    loom_leaf *leaf;
    char *data;
} writer;

static void put_length(loom_leaf *leaf, uint32_t level, int64_t lists, int64_t length) {
    for (int64_t i = 0; leaf->lengths[level] && i < lists; i++) leaf->lengths[level][leaf->n_lengths[level]++] = length;
}

static void write_column(writer *w, const column *c, uint32_t level) {
    if (!c->dense) {
        put_length(w->leaf, level, 1, c->length);
        for (int64_t i = 0; i < c->length; i++) write_column(w, c->at[i].row, level + 1);
        return;
    }
    int64_t lists = 1;
    for (uint32_t k = 0; k < c->depth; k++) {
        put_length(w->leaf, level + k, lists, c->at[k].extent);
        lists *= c->at[k].extent;
    }
    size_t bytes = (size_t)lists * scalar_size(c);
    if (bytes) memcpy(w->data, c->data, bytes);
    w->data += bytes;
}

static loom_status *allocate(evaluation *ev, uint64_t bytes, void *made) {
    if (ev->heap.limit && bytes > ev->heap.limit) return heap_over(&ev->heap, bytes);
    void *p = calloc(1, bytes ? bytes : 1);
    if (!p) return loom_error(LOOM_E_MEMORY, "no memory for a result of %llu bytes", (unsigned long long)bytes);
    memcpy(made, &p, sizeof p);
    return NULL;
}

static loom_status *write_leaf(evaluation *ev, loom_leaf *leaf, const char *name, loom_dtype dtype, const column *c) {
    survey s = {{0}, {0}, 0};
    look(&s, c, 0);
    int64_t extents[LOOM_MAX_DEPTH];
    bool regular = true, any = true;
    for (uint32_t k = 0; k < c->depth; k++) {
        extents[k] = any ? s.length[k] : 0;
        regular = regular && extents[k] != LOOM_IRREGULAR;
        any = any && extents[k] != 0;
    }
    uint64_t bytes = (uint64_t)s.scalars * loom_dtype_size(dtype);
    leaf->name = NULL;
    LOOM_TRY(allocate(ev, strlen(name) + 1, &leaf->name));
    memcpy(leaf->name, name, strlen(name));
    leaf->dtype = dtype;
    leaf->depth = c->depth;
    LOOM_TRY(allocate(ev, bytes, &leaf->data));
    leaf->n_data = s.scalars;
    for (uint32_t k = 0; k < c->depth; k++) {
        leaf->extents[k] = extents[k];
        leaf->n_lengths[k] = 0;
        if (extents[k] == LOOM_IRREGULAR) LOOM_TRY(allocate(ev, (uint64_t)s.lists[k] * 8, &leaf->lengths[k]));
    }
    writer w = {leaf, leaf->data};
    write_column(&w, c, 0);
    for (uint32_t k = 0; k < c->depth; k++) leaf->n_lengths[k] = s.lists[k];
    return NULL;
}

static loom_status *write_slot(evaluation *ev, const type_info *t, slot s, const loom_type_leaf *types,
                               loom_leaf *leaves, uint32_t *next) {
    if (t->kind == LOOM_T_SCALAR) {
        loom_leaf *leaf = &leaves[*next];
        LOOM_TRY(loom_leaf_init(leaf, types[*next].name, t->dtype, 0, NULL, UINT64_MAX));
        memcpy(leaf->data, s.raw, t->size);
        ++*next;
        return NULL;
    }
    if (t->kind == LOOM_T_TUPLE) {
        for (uint32_t f = 0; f < t->n_fields; f++)
            LOOM_TRY(write_slot(ev, t->fields[f], s.tuple->at[f], types, leaves, next));
        return NULL;
    }
    if (has_unit(t)) return loom_error(LOOM_E_DATA, "a result that is an array of () has no columns");
    for (uint32_t k = 0; k < t->n_leaves; k++, ++*next) {
        LOOM_TRY(write_leaf(ev, &leaves[*next], types[*next].name, t->leaf_dtypes[k], s.array->leaves[k]));
    }
    return NULL;
}

typedef struct named_leaves {
    uint32_t n;
    loom_type_leaf *at;
} named_leaves;

/* Kept: an observed evaluation asks for each value. */
static const named_leaves *leaves_of(evaluation *ev, loom_type_id type) {
    if (!ev->leaves) ev->leaves = LOOM_NEW_ARRAY(ev->arena, named_leaves, ev->program->n_types);
    named_leaves *l = &ev->leaves[type];
    if (!l->at) l->n = loom_type_leaves(ev->program, ev->arena, type, &l->at);
    return l;
}

loom_status *value_out(evaluation *ev, loom_type_id type, slot s, loom_value **made) {
    const named_leaves *leaves = leaves_of(ev, type);
    uint32_t next = 0;
    loom_value *value;
    LOOM_TRY(loom_value_create(leaves->n, &value));
    loom_status *status = write_slot(ev, type_of_id(ev, type), s, leaves->at, value->leaves, &next);
    if (status) {
        loom_value_unref(value);
        return status;
    }
    *made = value;
    return NULL;
}
