/* Values inside the interpreter.
 *
 * A *slot* holds a scalar in its own bytes or a reference to an object; which of the two follows from the type. An
 * array is a bundle of *columns*, one for each scalar leaf of its element type (a leafless type counts as one bool, so
 * that its arrays have a length). A column is a nested list of scalars: dense (extents, row-major data, shared buffer)
 * or rows (one column each); columns of one level are always dense. Columns of one array agree in length at the levels
 * they share.
 *
 * Objects are reference-counted, immutable while shared, and changed in place where a reference is the only one. All
 * objects of an evaluation are in one list, so an error may leave references behind: the end of the evaluation frees
 * all. Sizes are checked against the memory limit before a buffer is allocated; small objects are counted and looked at
 * once per node.
 */
#ifndef LOOM_INTERP_VALUE_H
#define LOOM_INTERP_VALUE_H

#include "common/value.h"
#include "compiler/ir/core.h"

typedef enum object_kind {
    OBJECT_BUFFER,
    OBJECT_COLUMN,
    OBJECT_ARRAY,
    OBJECT_TUPLE
} object_kind;

typedef struct object {
    struct object *previous, *next;
    size_t bytes;
    uint32_t references;
    object_kind kind;
} object;

typedef struct buffer {
    object head;
    bool external; /* memory of the caller's: never written */
    char *data;
} buffer;

typedef struct column {
    object head;
    loom_dtype dtype;
    uint32_t depth; /* levels, at least 1 */
    bool dense;
    int64_t length; /* of the outermost level */
    int64_t stride; /* dense: scalars of one element of the outermost level */
    buffer *buffer; /* dense */
    char *data;     /* dense: first scalar, in the buffer */
    union {
        int64_t extent;     /* dense: one for each level; where one is 0 so are those after it */
        struct column *row; /* else: one for each element, of depth - 1 levels */
    } at[];
} column;

typedef struct array {
    object head;
    int64_t length;
    uint32_t n_leaves;
    column *leaves[];
} array;

typedef union slot {
    char raw[16]; /* a scalar as in memory: float in the first four bytes, ... */
    bool b;
    int64_t i64;
    double f64;
    object *object;
    array *array;
    struct tuple *tuple;
} slot;

/* What the interpreter needs of a type. */
typedef struct type_info {
    loom_type_kind kind; /* SEQ is treated as ARRAY */
    bool is_object;
    loom_dtype dtype;
    uint32_t size; /* of a scalar, bytes */
    uint32_t n_leaves;
    uint32_t n_fields;
    const struct type_info *element;
    const struct type_info **fields;
    uint32_t *first_leaf;    /* of each field */
    loom_dtype *leaf_dtypes; /* as columns of an array of this type */
    uint32_t *leaf_depths;   /* levels below that array: 0 for a scalar */
} type_info;

typedef struct tuple {
    object head;
    const type_info *type;
    slot at[];
} tuple;

typedef struct heap {
    object first;          /* of the list of all objects; not one itself */
    uint64_t alive, limit; /* bytes; limit 0: none */
    uint64_t moved;        /* scalars that became part of arrays */
    uint64_t lists;        /* lists that became elements of arrays */
    uint64_t held, peak;   /* bytes of scalars and references to lists: now, and at most */
} heap;

void heap_init(heap *h, uint64_t limit);
void heap_free(heap *h);
static inline bool heap_exhausted(const heap *h) {
    return h->limit && h->alive > h->limit;
}
loom_status *heap_over(const heap *h, uint64_t wanted);

void object_release(heap *h, object *o); /* the last reference is gone */
static inline void object_unref(heap *h, object *o) {
    if (o && --o->references == 0) object_release(h, o);
}
static inline void *object_ref(void *o) {
    ((object *)o)->references++;
    return o;
}
static inline slot slot_ref(const type_info *t, slot s) {
    if (t->is_object) s.object->references++;
    return s;
}
static inline void slot_unref(heap *h, const type_info *t, slot s) {
    if (t->is_object) object_unref(h, s.object);
}

LOOM_MUST_USE loom_status *buffer_create(heap *h, uint64_t bytes, buffer **made); /* contents undefined */
buffer *buffer_external(heap *h, void *data);

/* A dense column over a buffer, whose reference it takes; extents after a 0 become 0. */
column *column_dense(heap *h, loom_dtype dtype, uint32_t depth, const int64_t *extents, buffer *b, char *data);
LOOM_MUST_USE loom_status *column_fresh(heap *h, loom_dtype dtype, uint32_t depth, const int64_t *extents,
                                        column **made);
/* With rows to be filled in. */
LOOM_MUST_USE loom_status *column_rows(heap *h, loom_dtype dtype, uint32_t depth, int64_t length, column **made);
column *column_empty(heap *h, loom_dtype dtype, uint32_t depth);
column *column_row(heap *h, column *c, int64_t i); /* a new reference */
/* The same lists in another grouping of the outermost level: its length is the product of the first n of `extents`. */
LOOM_MUST_USE loom_status *column_split(heap *h, column *c, uint32_t n, const int64_t *extents, column **made);
bool column_unique(const column *c); /* may be written in place */
int64_t column_scalars(const column *c);
int64_t column_lists(const column *c); /* at all levels below its own */
/* Do two columns have the same lengths at the outer `levels` levels? */
bool column_same_shape(const column *a, const column *b, uint32_t levels);
static inline size_t scalar_size(const column *c) {
    return loom_dtype_size(c->dtype);
}

array *array_make(heap *h, const type_info *element); /* leaves to be filled in, then array_seal */
array *array_seal(array *a);
tuple *tuple_make(heap *h, const type_info *type);

/* Element i of the columns of an array of `t` (a new reference). */
slot element_at(heap *h, const type_info *t, column *const *leaves, int64_t i);

/* Builds one column element by element. Dense as long as elements have equal shapes. */
typedef struct builder {
    heap *heap;
    loom_dtype dtype;
    uint32_t depth;                         /* of the column to be */
    int64_t count, capacity, stride, lists; /* stride, lists: of an element, where all are alike */
    column *shape;                          /* dense rows: an element, for its extents */
    buffer *buffer;
    struct buffer *rows; /* of column *; not NULL once shapes differ */
    size_t size;
} builder;

void builder_start(builder *b, heap *h, loom_dtype dtype, uint32_t depth, int64_t expected);
LOOM_MUST_USE loom_status *builder_scalar(builder *b, const void *scalar);
LOOM_MUST_USE loom_status *builder_row(builder *b, column *row); /* borrows */
LOOM_MUST_USE loom_status *builder_element(builder *b, column *from, int64_t i);
LOOM_MUST_USE loom_status *builder_range(builder *b, column *from, int64_t first, int64_t count, int64_t step);
/* The same value n times. */
LOOM_MUST_USE loom_status *builder_repeat(builder *b, const void *scalar, column *row, int64_t n);
/* Room for n more scalars in one stretch, for columns of depth 1. */
LOOM_MUST_USE loom_status *builder_scalars(builder *b, int64_t n, char **room);
LOOM_MUST_USE loom_status *builder_end(builder *b, column **made);

/* The same for all columns of an array of `element`. */
typedef struct array_builder {
    heap *heap;
    const type_info *element;
    builder *leaves;
    builder one;  /* where one leaf is enough */
    buffer *many; /* else */
} array_builder;

LOOM_MUST_USE loom_status *array_builder_start(array_builder *b, heap *h, const type_info *element, int64_t expected);
LOOM_MUST_USE loom_status *array_builder_add(array_builder *b, slot value); /* borrows */
LOOM_MUST_USE loom_status *array_builder_repeat(array_builder *b, slot value, int64_t n);
LOOM_MUST_USE loom_status *array_builder_end(array_builder *b, array **made);

#endif
