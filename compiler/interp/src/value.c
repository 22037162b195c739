/* Objects, columns and arrays of the interpreter. */
#include "value.h"
#include "common/buffer.h"
#include "common/machine.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- heap ---- */

void heap_init(heap *h, uint64_t limit) {
    *h = (heap){.limit = limit};
    h->first.previous = h->first.next = &h->first;
}

void heap_free(heap *h) {
    for (object *o = h->first.next, *next; o != &h->first; o = next) {
        next = o->next;
        free(o);
    }
    h->first.previous = h->first.next = &h->first;
    h->alive = 0;
}

loom_status *heap_over(const heap *h, uint64_t wanted) {
    loom_status *status = loom_error(
        LOOM_E_MEMORY, "memory of the evaluation: %llu bytes are alive and %llu more are needed, the limit is %llu",
        (unsigned long long)h->alive, (unsigned long long)wanted, (unsigned long long)h->limit);
    return loom_status_note(status, "hint: let the program make less at once, or give workers more (--memory)");
}

static void link_object(heap *h, object *o, object_kind kind, size_t bytes) {
    *o = (object){.previous = &h->first, .next = h->first.next, .bytes = bytes, .references = 1, .kind = kind};
    h->first.next->previous = o;
    h->first.next = o;
    h->alive += bytes;
}

#define BUFFER_HEADER ((sizeof(buffer) + 15) / 16 * 16)

/* Bytes of scalars, or of references to lists, that are in the object itself. */
static uint64_t held_by(const object *o) {
    if (o->kind == OBJECT_BUFFER) return o->bytes > BUFFER_HEADER ? o->bytes - BUFFER_HEADER : 0;
    const column *c = (const column *)o;
    return o->kind == OBJECT_COLUMN && !c->dense ? (uint64_t)c->length * sizeof c->at[0] : 0;
}

static void hold(heap *h, const object *o) {
    h->held += held_by(o);
    if (h->held > h->peak) h->peak = h->held;
}

static void *small_object(heap *h, object_kind kind, size_t bytes) {
    object *o = loom_xmalloc(bytes);
    link_object(h, o, kind, bytes);
    return o;
}

static void release_parts(heap *h, object *o) {
    switch (o->kind) {
    case OBJECT_BUFFER: break;
    case OBJECT_COLUMN: {
        column *c = (column *)o;
        if (c->dense) {
            object_unref(h, &c->buffer->head);
        } else {
            for (int64_t i = 0; i < c->length; i++) {
                if (c->at[i].row) object_unref(h, &c->at[i].row->head);
            }
        }
        break;
    }
    case OBJECT_ARRAY: {
        array *a = (array *)o;
        for (uint32_t i = 0; i < a->n_leaves; i++) object_unref(h, &a->leaves[i]->head);
        break;
    }
    case OBJECT_TUPLE: {
        tuple *t = (tuple *)o;
        for (uint32_t i = 0; i < t->type->n_fields; i++) slot_unref(h, t->type->fields[i], t->at[i]);
        break;
    }
    }
}

/* Nesting of values is that of types, which is limited, so recursion is. */
void object_release(heap *h, object *o) {
    h->held -= held_by(o);
    release_parts(h, o);
    o->previous->next = o->next;
    o->next->previous = o->previous;
    h->alive -= o->bytes;
    free(o);
}

/* ---- buffers ---- */

#define LARGE_BUFFER (UINT64_C(1) << 30) /* from here on it pays to ask what the machine has */

loom_status *buffer_create(heap *h, uint64_t bytes, buffer **made) {
    if (h->limit && (bytes > h->limit || h->alive > h->limit - bytes)) return heap_over(h, bytes);
    /* More than the machine has is not asked for: a kernel that promises it would end the process later. */
    bool absurd = bytes >= LARGE_BUFFER && bytes > loom_machine_memory();
    buffer *b = absurd ? NULL : malloc(BUFFER_HEADER + (size_t)bytes);
    if (!b) return loom_error(LOOM_E_MEMORY, "no memory for an array of %llu bytes", (unsigned long long)bytes);
    link_object(h, &b->head, OBJECT_BUFFER, BUFFER_HEADER + (size_t)bytes);
    b->external = false;
    b->data = (char *)b + BUFFER_HEADER;
    hold(h, &b->head);
    *made = b;
    return NULL;
}

buffer *buffer_external(heap *h, void *data) {
    buffer *b = small_object(h, OBJECT_BUFFER, sizeof *b);
    b->external = true;
    b->data = data;
    return b;
}

/* ---- columns ---- */

column *column_dense(heap *h, loom_dtype dtype, uint32_t depth, const int64_t *extents, buffer *b, char *data) {
    column *c = small_object(h, OBJECT_COLUMN, sizeof *c + depth * sizeof c->at[0]);
    c->dtype = dtype;
    c->depth = depth;
    c->dense = true;
    c->length = extents[0];
    c->buffer = b;
    c->data = data;
    c->stride = 1;
    bool any = true;
    for (uint32_t k = 0; k < depth; k++) {
        c->at[k].extent = any ? extents[k] : 0;
        any = any && extents[k] != 0;
        if (k > 0) c->stride *= c->at[k].extent;
    }
    return c;
}

loom_status *column_fresh(heap *h, loom_dtype dtype, uint32_t depth, const int64_t *extents, column **made) {
    uint64_t bytes;
    buffer *b;
    LOOM_TRY(loom_bytes_of(dtype, depth, extents, &bytes));
    LOOM_TRY(buffer_create(h, bytes, &b));
    *made = column_dense(h, dtype, depth, extents, b, b->data);
    return NULL;
}

loom_status *column_rows(heap *h, loom_dtype dtype, uint32_t depth, int64_t length, column **made) {
    assert(depth > 1);
    column *c;
    if (length > INT64_MAX / 16) return loom_error(LOOM_E_MEMORY, "an array of %lld rows", (long long)length);
    size_t bytes = sizeof *c + (size_t)length * sizeof c->at[0];
    if (h->limit && (bytes > h->limit || h->alive > h->limit - bytes)) return heap_over(h, bytes);
    c = malloc(bytes);
    if (!c) return loom_error(LOOM_E_MEMORY, "no memory for an array of %lld rows", (long long)length);
    link_object(h, &c->head, OBJECT_COLUMN, bytes);
    c->dtype = dtype;
    c->depth = depth;
    c->dense = false;
    c->length = length;
    c->stride = 0;
    c->buffer = NULL;
    c->data = NULL;
    for (int64_t i = 0; i < length; i++) c->at[i].row = NULL;
    hold(h, &c->head);
    *made = c;
    return NULL;
}

column *column_empty(heap *h, loom_dtype dtype, uint32_t depth) {
    const int64_t zeros[LOOM_MAX_DEPTH + 1] = {0};
    buffer *b = small_object(h, OBJECT_BUFFER, BUFFER_HEADER);
    b->external = false;
    b->data = (char *)b + BUFFER_HEADER;
    return column_dense(h, dtype, depth, zeros, b, b->data);
}

column *column_row(heap *h, column *c, int64_t i) {
    assert(c->depth > 1 && i >= 0 && i < c->length);
    if (!c->dense) return object_ref(c->at[i].row);
    int64_t extents[LOOM_MAX_DEPTH + 1];
    for (uint32_t k = 1; k < c->depth; k++) extents[k - 1] = c->at[k].extent;
    char *data = c->data + (size_t)(i * c->stride) * scalar_size(c);
    return column_dense(h, c->dtype, c->depth - 1, extents, object_ref(c->buffer), data);
}

loom_status *column_split(heap *h, column *c, uint32_t n, const int64_t *extents, column **made) {
    if (n == 1) {
        *made = object_ref(c);
        return NULL;
    }
    if (c->dense) {
        int64_t all[LOOM_MAX_DEPTH + 4];
        for (uint32_t k = 0; k < n; k++) all[k] = extents[k];
        for (uint32_t k = 1; k < c->depth; k++) all[n + k - 1] = c->at[k].extent;
        *made = column_dense(h, c->dtype, c->depth + n - 1, all, object_ref(c->buffer), c->data);
        return NULL;
    }
    /* Irregular below: the outer of the new levels become rows of rows. */
    int64_t inner = c->length / extents[0];
    column *outer, *part;
    LOOM_TRY(column_rows(h, c->dtype, c->depth + n - 1, extents[0], &outer));
    for (int64_t i = 0; i < extents[0]; i++) {
        LOOM_TRY(column_rows(h, c->dtype, c->depth, inner, &part));
        for (int64_t k = 0; k < inner; k++) part->at[k].row = object_ref(c->at[i * inner + k].row);
        LOOM_TRY(column_split(h, part, n - 1, extents + 1, &outer->at[i].row));
        object_unref(h, &part->head);
    }
    *made = outer;
    return NULL;
}

bool column_unique(const column *c) {
    if (c->head.references != 1) return false;
    return !c->dense || (c->buffer->head.references == 1 && !c->buffer->external);
}

int64_t column_scalars(const column *c) {
    if (c->dense) return c->length * c->stride;
    int64_t n = 0;
    for (int64_t i = 0; i < c->length; i++) n += column_scalars(c->at[i].row);
    return n;
}

int64_t column_lists(const column *c) {
    int64_t n = 0, here = 1;
    if (c->dense) {
        for (uint32_t k = 0; k + 1 < c->depth; k++) n += here *= c->at[k].extent;
        return n;
    }
    for (int64_t i = 0; i < c->length; i++) n += 1 + column_lists(c->at[i].row);
    return n;
}

/* Extent of a dense column's level, for lists that exist. */
static bool dense_same(const column *a, const column *b, uint32_t levels) {
    for (uint32_t k = 0; k < levels; k++) {
        if (a->at[k].extent != b->at[k].extent) return false;
        if (a->at[k].extent == 0) return true;
    }
    return true;
}

static bool rows_same(const column *a, const column *b, uint32_t levels);

/* Dense `d` from its level `level` on against any column. */
static bool dense_against(const column *d, uint32_t level, const column *c, uint32_t levels) {
    if (d->at[level].extent != c->length) return false;
    if (levels == 1) return true;
    if (c->dense) {
        for (uint32_t k = 1; k < levels && c->at[k - 1].extent; k++) {
            if (d->at[level + k].extent != c->at[k].extent) return false;
        }
        return true;
    }
    for (int64_t i = 0; i < c->length; i++) {
        if (!dense_against(d, level + 1, c->at[i].row, levels - 1)) return false;
    }
    return true;
}

static bool rows_same(const column *a, const column *b, uint32_t levels) {
    for (int64_t i = 0; i < a->length; i++) {
        if (!column_same_shape(a->at[i].row, b->at[i].row, levels)) return false;
    }
    return true;
}

bool column_same_shape(const column *a, const column *b, uint32_t levels) {
    if (levels == 0) return true;
    if (a->length != b->length) return false;
    if (levels == 1) return true;
    if (a->dense && b->dense) return dense_same(a, b, levels);
    if (a->dense) return dense_against(a, 0, b, levels);
    if (b->dense) return dense_against(b, 0, a, levels);
    return rows_same(a, b, levels - 1);
}

/* ---- arrays and tuples ---- */

array *array_make(heap *h, const type_info *element) {
    array *a = small_object(h, OBJECT_ARRAY, sizeof *a + element->n_leaves * sizeof a->leaves[0]);
    a->n_leaves = element->n_leaves;
    a->length = 0;
    for (uint32_t i = 0; i < a->n_leaves; i++) a->leaves[i] = NULL;
    return a;
}

array *array_seal(array *a) {
    a->length = a->leaves[0]->length;
    return a;
}

tuple *tuple_make(heap *h, const type_info *type) {
    tuple *t = small_object(h, OBJECT_TUPLE, sizeof *t + type->n_fields * sizeof t->at[0]);
    t->type = type;
    return t;
}

slot element_at(heap *h, const type_info *t, column *const *leaves, int64_t i) {
    slot s = {.i64 = 0};
    switch (t->kind) {
    case LOOM_T_SCALAR: memcpy(s.raw, leaves[0]->data + (size_t)i * t->size, t->size); break;
    case LOOM_T_TUPLE:
        s.tuple = tuple_make(h, t);
        for (uint32_t f = 0; f < t->n_fields; f++) {
            s.tuple->at[f] = element_at(h, t->fields[f], leaves + t->first_leaf[f], i);
        }
        break;
    default:
        s.array = array_make(h, t->element);
        for (uint32_t k = 0; k < t->n_leaves; k++) s.array->leaves[k] = column_row(h, leaves[k], i);
        array_seal(s.array);
    }
    return s;
}
