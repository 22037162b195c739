/* Values at the borders of the system: arguments, results, blocks of a stream, deltas.
 *
 * A Weft value of any type is flattened into its scalar leaves, one column each (tuples and records vanish into dotted
 * names such as `p.n` or `t.0`; arrays of tuples are stored column-wise). A leaf lies under `depth` array levels,
 * outermost first. Level k is regular (every list at this level has extents[k] elements) or irregular (extents[k] ==
 * LOOM_IRREGULAR and lengths[k] holds one length for each list of that level, in order). Data is row-major, contiguous,
 * without gaps; bool is one byte.
 *
 * Lists with no rows: where a regular level has extent 0 the inner extents are 0.
 * Threads: immutable once built, so may be read from many threads. Sizes and counts are 64 bits.
 * Ownership: a loom_value is reference-counted; loom_value_unref frees leaves by their `release`.
 */
#ifndef LOOM_COMMON_VALUE_H
#define LOOM_COMMON_VALUE_H

#include "common/dtype.h"
#include "common/status.h"
#include <stdbool.h>

#define LOOM_IRREGULAR (-1)
/* Array levels above a scalar. 16 is twice what any program we know of uses; index arithmetic is generated per level,
 * so a limit keeps hostile types from exploding code. Test: common/test/value_test.c. */
#define LOOM_MAX_DEPTH 16

typedef struct loom_leaf {
    char *name; /* dotted path below the value, "" for a plain scalar or array */
    loom_dtype dtype;
    uint32_t depth;
    int64_t extents[LOOM_MAX_DEPTH];
    int64_t *lengths[LOOM_MAX_DEPTH];  /* NULL where the level is regular */
    int64_t n_lengths[LOOM_MAX_DEPTH]; /* number of lists at level k: 1 for k = 0. Where regular: not relied upon */
    void *data;
    int64_t n_data; /* scalars in data */
} loom_leaf;

typedef struct loom_value {
    uint32_t n_leaves;
    loom_leaf *leaves;
    /* Frees what the leaves point to, names included; NULL: each pointer is malloc'ed. The leaves themselves and the
     * value are freed by loom_value_unref. */
    void (*release)(struct loom_value *value);
    void *owner;         /* for release: a mapping, a message */
    uint32_t references; /* by loom_value_ref only */
} loom_value;

/* A value with n_leaves empty leaves, one reference. */
LOOM_MUST_USE loom_status *loom_value_create(uint32_t n_leaves, loom_value **value);
loom_value *loom_value_ref(loom_value *value);
void loom_value_unref(loom_value *value);           /* NULL is fine */
bool loom_value_is_shared(const loom_value *value); /* there are other references than the caller's */

/* Fills a leaf with a regular array: allocates data (zeroed) after checking the product of extents against `limit`
 * bytes (LOOM_E_LIMIT). name is copied. Extents inside one of 0 become 0. */
LOOM_MUST_USE loom_status *loom_leaf_init(loom_leaf *leaf, const char *name, loom_dtype dtype, uint32_t depth,
                                          const int64_t *extents, uint64_t limit);
/* Product of extents times element size, or an error if negative or above INT64_MAX. */
LOOM_MUST_USE loom_status *loom_bytes_of(loom_dtype dtype, uint32_t depth, const int64_t *extents, uint64_t *bytes);
bool loom_leaf_is_regular(const loom_leaf *leaf);
/* Of list `list` of a level; of list 0 of level 0: how many elements the leaf has. */
int64_t loom_leaf_length(const loom_leaf *leaf, uint32_t level, int64_t list);
/* How many lists, or scalars, are in the first `lists` lists of a level. */
int64_t loom_leaf_count_within(const loom_leaf *leaf, uint32_t level, int64_t lists);
/* Checks all invariants above (counts agree with lengths and data); for values that came from outside. */
LOOM_MUST_USE loom_status *loom_value_check(const loom_value *value);
const loom_leaf *loom_value_find(const loom_value *value, const char *name);
/* Elements [from, to) of the outermost level of every leaf, copied. All leaves must have depth >= 1. The outermost
 * level of a slice is regular. */
LOOM_MUST_USE loom_status *loom_value_slice(const loom_value *value, int64_t from, int64_t to, loom_value **slice);
/* The same elements without a copy: the view points into `value`, of which it holds a reference. */
LOOM_MUST_USE loom_status *loom_value_view(loom_value *value, int64_t from, int64_t to, loom_value **view);
/* Elements rows[0], rows[1], ... of the outermost level of every leaf, copied; an element may come more than once. */
LOOM_MUST_USE loom_status *loom_value_gather(const loom_value *value, const int64_t *rows, int64_t n,
                                             loom_value **gathered);
/* Joins along the outermost level. Irregular where extents differ; a part without lists at a level does not count
 * there, so that an empty part changes nothing. */
LOOM_MUST_USE loom_status *loom_value_concat(loom_value *const *parts, size_t n, loom_value **joined);

#endif
