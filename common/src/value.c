#include "common/value.h"
#include <stdlib.h>
#include <string.h>

loom_status *loom_value_create(uint32_t n_leaves, loom_value **value) {
    loom_value *made = calloc(1, sizeof *made);
    loom_leaf *leaves = made ? calloc(n_leaves ? n_leaves : 1, sizeof *leaves) : NULL;
    if (!leaves) {
        free(made);
        return loom_error(LOOM_E_MEMORY, "no memory for a value of %u columns", n_leaves);
    }
    *made = (loom_value){.n_leaves = n_leaves, .leaves = leaves, .references = 1};
    *value = made;
    return NULL;
}

loom_value *loom_value_ref(loom_value *value) {
    __atomic_fetch_add(&value->references, 1, __ATOMIC_RELAXED);
    return value;
}

bool loom_value_is_shared(const loom_value *value) {
    return __atomic_load_n(&value->references, __ATOMIC_ACQUIRE) > 1;
}

static void release_malloced(loom_value *value) {
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        loom_leaf *leaf = &value->leaves[i];
        for (uint32_t k = 0; k < LOOM_MAX_DEPTH; k++) free(leaf->lengths[k]);
        free(leaf->data);
        free(leaf->name);
    }
}

void loom_value_unref(loom_value *value) {
    if (!value || __atomic_sub_fetch(&value->references, 1, __ATOMIC_ACQ_REL) > 0) return;
    if (value->release) {
        value->release(value);
    } else {
        release_malloced(value);
    }
    free(value->leaves);
    free(value);
}

static loom_status *check_type(loom_dtype dtype, uint32_t depth) {
    if ((unsigned)dtype >= LOOM_DTYPES) return loom_error(LOOM_E_DATA, "unknown element type %d", (int)dtype);
    if (depth > LOOM_MAX_DEPTH) {
        return loom_error(LOOM_E_LIMIT, "%u array levels, the limit is %d", depth, LOOM_MAX_DEPTH);
    }
    return NULL;
}

loom_status *loom_bytes_of(loom_dtype dtype, uint32_t depth, const int64_t *extents, uint64_t *bytes) {
    LOOM_TRY(check_type(dtype, depth));
    bool empty = false;
    for (uint32_t k = 0; k < depth; k++) {
        if (extents[k] < 0) return loom_error(LOOM_E_DATA, "negative extent %lld", (long long)extents[k]);
        empty = empty || extents[k] == 0;
    }
    int64_t product = (int64_t)loom_dtype_size(dtype);
    for (uint32_t k = 0; k < depth && !empty; k++) {
        if (__builtin_mul_overflow(product, extents[k], &product)) {
            return loom_error(LOOM_E_LIMIT, "an array of %u levels is larger than 2^63 bytes", depth);
        }
    }
    *bytes = empty ? 0 : (uint64_t)product;
    return NULL;
}

loom_status *loom_leaf_init(loom_leaf *leaf, const char *name, loom_dtype dtype, uint32_t depth, const int64_t *extents,
                            uint64_t limit) {
    uint64_t bytes;
    LOOM_TRY(loom_bytes_of(dtype, depth, extents, &bytes));
    if (bytes > limit) {
        return loom_error(LOOM_E_LIMIT, "'%s' needs %llu bytes, the limit is %llu", name, (unsigned long long)bytes,
                          (unsigned long long)limit);
    }
    char *copy = strdup(name);
    void *data = calloc(1, bytes ? bytes : 1);
    if (!copy || !data) {
        free(copy);
        free(data);
        return loom_error(LOOM_E_MEMORY, "no memory for '%s': %llu bytes", name, (unsigned long long)bytes);
    }
    *leaf = (loom_leaf){.name = copy, .dtype = dtype, .depth = depth, .data = data};
    leaf->n_data = (int64_t)(bytes / loom_dtype_size(dtype));
    int64_t lists = 1;
    for (uint32_t k = 0; k < depth; k++) {
        leaf->n_lengths[k] = lists;
        /* The invariant on lists without rows: inner extents of nothing are 0. */
        leaf->extents[k] = lists ? extents[k] : 0;
        lists *= leaf->extents[k];
    }
    return NULL;
}

bool loom_leaf_is_regular(const loom_leaf *leaf) {
    for (uint32_t k = 0; k < leaf->depth; k++) {
        if (leaf->extents[k] == LOOM_IRREGULAR) return false;
    }
    return true;
}

/* Checks level k, of which there are `lists` lists, and counts the lists one level further in. */
static loom_status *check_level(const loom_leaf *leaf, uint32_t k, int64_t lists, int64_t *inner) {
    int64_t extent = leaf->extents[k];
    if (extent != LOOM_IRREGULAR) {
        if (extent < 0) {
            return loom_error(LOOM_E_DATA, "column '%s', level %u: negative extent %lld", leaf->name, k,
                              (long long)extent);
        }
        if (leaf->lengths[k]) {
            return loom_error(LOOM_E_DATA, "column '%s', level %u is regular and has lengths", leaf->name, k);
        }
        if (k > 0 && leaf->extents[k - 1] == 0 && extent != 0) {
            return loom_error(LOOM_E_DATA, "column '%s', level %u: extent %lld inside an extent of 0", leaf->name, k,
                              (long long)extent);
        }
        if (__builtin_mul_overflow(lists, extent, inner)) {
            return loom_error(LOOM_E_LIMIT, "column '%s' has more than 2^63 elements", leaf->name);
        }
        return NULL;
    }
    if (leaf->n_lengths[k] != lists || (lists && !leaf->lengths[k])) {
        return loom_error(LOOM_E_DATA, "column '%s', level %u: %lld lengths for %lld lists", leaf->name, k,
                          (long long)leaf->n_lengths[k], (long long)lists);
    }
    int64_t sum = 0;
    for (int64_t i = 0; i < lists; i++) {
        if (leaf->lengths[k][i] < 0) {
            return loom_error(LOOM_E_DATA, "column '%s', level %u: negative length", leaf->name, k);
        }
        if (__builtin_add_overflow(sum, leaf->lengths[k][i], &sum)) {
            return loom_error(LOOM_E_LIMIT, "column '%s' has more than 2^63 elements", leaf->name);
        }
    }
    *inner = sum;
    return NULL;
}

static loom_status *check_data(const loom_leaf *leaf, int64_t elements) {
    int64_t bytes;
    if (__builtin_mul_overflow(elements, (int64_t)loom_dtype_size(leaf->dtype), &bytes)) {
        return loom_error(LOOM_E_LIMIT, "column '%s' is larger than 2^63 bytes", leaf->name);
    }
    if (leaf->n_data != elements || (elements && !leaf->data)) {
        return loom_error(LOOM_E_DATA, "column '%s' has %lld elements of data, its extents say %lld", leaf->name,
                          (long long)leaf->n_data, (long long)elements);
    }
    if (leaf->dtype == LOOM_BOOL) {
        const unsigned char *b = leaf->data;
        for (int64_t i = 0; i < elements; i++) {
            if (b[i] > 1) return loom_error(LOOM_E_DATA, "column '%s': a bool of value %u", leaf->name, b[i]);
        }
    }
    return NULL;
}

loom_status *loom_value_check(const loom_value *value) {
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        const loom_leaf *leaf = &value->leaves[i];
        if (!leaf->name) return loom_error(LOOM_E_DATA, "column %u has no name", i);
        LOOM_TRY(check_type(leaf->dtype, leaf->depth));
        int64_t lists = 1;
        for (uint32_t k = 0; k < leaf->depth; k++) LOOM_TRY(check_level(leaf, k, lists, &lists));
        LOOM_TRY(check_data(leaf, lists));
    }
    return NULL;
}

int64_t loom_leaf_length(const loom_leaf *leaf, uint32_t level, int64_t list) {
    return leaf->extents[level] == LOOM_IRREGULAR ? leaf->lengths[level][list] : leaf->extents[level];
}

int64_t loom_leaf_count_within(const loom_leaf *leaf, uint32_t level, int64_t lists) {
    if (leaf->extents[level] != LOOM_IRREGULAR) return lists * leaf->extents[level];
    int64_t sum = 0;
    for (int64_t i = 0; i < lists; i++) sum += leaf->lengths[level][i];
    return sum;
}

const loom_leaf *loom_value_find(const loom_value *value, const char *name) {
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        if (strcmp(value->leaves[i].name, name) == 0) return &value->leaves[i];
    }
    return NULL;
}

/* ---- slice ---- */

static loom_status *copy_range(const void *from, int64_t first, int64_t count, size_t size, const char *what,
                               void **to) {
    void *copy = malloc(count ? (size_t)count * size : 1);
    if (!copy) return loom_error(LOOM_E_MEMORY, "no memory for column '%s'", what);
    if (count) memcpy(copy, (const char *)from + (size_t)first * size, (size_t)count * size);
    *to = copy;
    return NULL;
}

/* Where the scalars of a stretch of elements are. */
typedef struct stretch {
    int64_t first, count;
} stretch;

/* Type and levels of a slice of `leaf`, lengths left where they are in it; and which of its scalars these are. */
static stretch cut_leaf(const loom_leaf *leaf, int64_t from, int64_t to, loom_leaf *slice) {
    slice->dtype = leaf->dtype;
    slice->depth = leaf->depth;
    slice->extents[0] = to - from;
    slice->n_lengths[0] = 1;
    int64_t first = from, count = to - from; /* of the lists at level k, then of the scalars */
    for (uint32_t k = 1; k < leaf->depth; k++) {
        slice->n_lengths[k] = count;
        if (leaf->extents[k] != LOOM_IRREGULAR) {
            slice->extents[k] = count ? leaf->extents[k] : 0;
            first *= leaf->extents[k];
            count *= leaf->extents[k];
            continue;
        }
        slice->extents[k] = LOOM_IRREGULAR;
        slice->lengths[k] = leaf->lengths[k] + first;
        int64_t before = 0, inside = 0;
        for (int64_t i = 0; i < first; i++) before += leaf->lengths[k][i];
        for (int64_t i = 0; i < count; i++) inside += slice->lengths[k][i];
        first = before;
        count = inside;
    }
    slice->n_data = count;
    return (stretch){first, count};
}

static loom_status *slice_leaf(const loom_leaf *leaf, int64_t from, int64_t to, loom_leaf *slice) {
    loom_leaf cut = {0};
    stretch scalars = cut_leaf(leaf, from, to, &cut);
    *slice = cut;
    memset(slice->lengths, 0, sizeof slice->lengths);
    slice->name = strdup(leaf->name);
    if (!slice->name) return loom_error(LOOM_E_MEMORY, "no memory for column '%s'", leaf->name);
    for (uint32_t k = 1; k < leaf->depth; k++) {
        if (!cut.lengths[k]) continue;
        LOOM_TRY(
            copy_range(cut.lengths[k], 0, cut.n_lengths[k], sizeof(int64_t), leaf->name, (void **)&slice->lengths[k]));
    }
    return copy_range(leaf->data, scalars.first, scalars.count, loom_dtype_size(leaf->dtype), leaf->name, &slice->data);
}

static loom_status *check_cut(const loom_value *value, int64_t from, int64_t to) {
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        const loom_leaf *leaf = &value->leaves[i];
        if (leaf->depth == 0) return loom_error(LOOM_E_INTERNAL, "slice of scalar '%s'", leaf->name);
        if (from < 0 || to < from || to > loom_leaf_length(leaf, 0, 0)) {
            return loom_error(LOOM_E_INTERNAL, "slice [%lld, %lld) of '%s', which has %lld elements", (long long)from,
                              (long long)to, leaf->name, (long long)loom_leaf_length(leaf, 0, 0));
        }
    }
    return NULL;
}

loom_status *loom_value_slice(const loom_value *value, int64_t from, int64_t to, loom_value **slice) {
    LOOM_TRY(check_cut(value, from, to));
    loom_value *made;
    LOOM_TRY(loom_value_create(value->n_leaves, &made));
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        loom_status *status = slice_leaf(&value->leaves[i], from, to, &made->leaves[i]);
        if (status) {
            loom_value_unref(made);
            return status;
        }
    }
    *slice = made;
    return NULL;
}

static void release_view(loom_value *view) {
    loom_value_unref(view->owner);
}

loom_status *loom_value_view(loom_value *value, int64_t from, int64_t to, loom_value **view) {
    LOOM_TRY(check_cut(value, from, to));
    loom_value *made;
    LOOM_TRY(loom_value_create(value->n_leaves, &made));
    made->owner = loom_value_ref(value);
    made->release = release_view;
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        const loom_leaf *leaf = &value->leaves[i];
        stretch scalars = cut_leaf(leaf, from, to, &made->leaves[i]);
        made->leaves[i].name = leaf->name;
        made->leaves[i].data =
            scalars.count ? (char *)leaf->data + (size_t)scalars.first * loom_dtype_size(leaf->dtype) : leaf->data;
    }
    *view = made;
    return NULL;
}

/* ---- concat ---- */

/* What leaf `index` of the joined value looks like at one level, given how many lists each part has there (`lists`).
 * A part without lists there says nothing about their extent. */
static int64_t joined_extent(loom_value *const *parts, size_t n, uint32_t index, uint32_t k, const int64_t *lists) {
    int64_t extent = 0;
    bool seen = false, irregular = false;
    for (size_t p = 0; p < n; p++) {
        int64_t e = parts[p]->leaves[index].extents[k];
        if (e == LOOM_IRREGULAR || (lists[p] && seen && e != extent)) irregular = true;
        if (lists[p] && !seen) {
            extent = e;
            seen = true;
        }
    }
    return irregular ? LOOM_IRREGULAR : extent;
}

static loom_status *join_lengths(loom_value *const *parts, size_t n, uint32_t index, uint32_t k, const int64_t *lists,
                                 loom_leaf *joined) {
    int64_t total = joined->n_lengths[k];
    size_t bytes;
    if (__builtin_mul_overflow(total, sizeof *joined->lengths[k], &bytes)) {
        return loom_error(LOOM_E_LIMIT, "joined column '%s' has more than 2^60 lists", joined->name);
    }
    int64_t *at = malloc(bytes ? bytes : 1);
    if (!at) return loom_error(LOOM_E_MEMORY, "no memory for column '%s'", joined->name);
    joined->lengths[k] = at;
    for (size_t p = 0; p < n; p++) {
        const loom_leaf *leaf = &parts[p]->leaves[index];
        for (int64_t i = 0; i < lists[p]; i++) {
            *at++ = loom_leaf_length(leaf, k, i);
        }
    }
    return NULL;
}

static loom_status *join_leaf(loom_value *const *parts, size_t n, uint32_t index, int64_t *lists, loom_leaf *joined) {
    const loom_leaf *like = &parts[0]->leaves[index];
    joined->name = strdup(like->name);
    if (!joined->name) return loom_error(LOOM_E_MEMORY, "no memory for column '%s'", like->name);
    joined->dtype = like->dtype;
    joined->depth = like->depth;
    joined->n_lengths[0] = 1;
    for (size_t p = 0; p < n; p++) {
        lists[p] = loom_leaf_length(&parts[p]->leaves[index], 0, 0);
        if (__builtin_add_overflow(joined->extents[0], lists[p], &joined->extents[0])) {
            return loom_error(LOOM_E_LIMIT, "joined column '%s' has more than 2^63 elements", like->name);
        }
    }
    for (uint32_t k = 1; k < like->depth; k++) {
        for (size_t p = 0; p < n; p++) {
            if (!__builtin_add_overflow(joined->n_lengths[k], lists[p], &joined->n_lengths[k])) continue;
            return loom_error(LOOM_E_LIMIT, "joined column '%s' has more than 2^63 lists", like->name);
        }
        joined->extents[k] = joined_extent(parts, n, index, k, lists);
        if (joined->extents[k] == LOOM_IRREGULAR) LOOM_TRY(join_lengths(parts, n, index, k, lists, joined));
        for (size_t p = 0; p < n; p++) lists[p] = loom_leaf_count_within(&parts[p]->leaves[index], k, lists[p]);
    }
    size_t size = loom_dtype_size(like->dtype);
    int64_t bytes = 0;
    for (size_t p = 0; p < n; p++) {
        int64_t more;
        if (__builtin_mul_overflow(parts[p]->leaves[index].n_data, (int64_t)size, &more) ||
            __builtin_add_overflow(bytes, more, &bytes)) {
            return loom_error(LOOM_E_LIMIT, "joined column '%s' is larger than 2^63 bytes", like->name);
        }
    }
    joined->data = malloc(bytes ? (size_t)bytes : 1);
    if (!joined->data) return loom_error(LOOM_E_MEMORY, "no memory for column '%s'", like->name);
    joined->n_data = bytes / (int64_t)size;
    char *at = joined->data;
    for (size_t p = 0; p < n; p++) {
        size_t more = (size_t)parts[p]->leaves[index].n_data * size;
        if (more) memcpy(at, parts[p]->leaves[index].data, more);
        at += more;
    }
    return NULL;
}

static loom_status *check_alike(const loom_value *a, const loom_value *b) {
    if (a->n_leaves != b->n_leaves) {
        return loom_error(LOOM_E_INTERNAL, "joining values of %u and %u columns", a->n_leaves, b->n_leaves);
    }
    for (uint32_t i = 0; i < a->n_leaves; i++) {
        const loom_leaf *x = &a->leaves[i], *y = &b->leaves[i];
        if (x->depth == 0) return loom_error(LOOM_E_INTERNAL, "joining scalars '%s'", x->name);
        if (x->dtype != y->dtype || x->depth != y->depth || strcmp(x->name, y->name) != 0) {
            return loom_error(LOOM_E_INTERNAL, "joining columns '%s' (%s, %u levels) and '%s' (%s, %u levels)", x->name,
                              loom_dtype_name(x->dtype), x->depth, y->name, loom_dtype_name(y->dtype), y->depth);
        }
    }
    return NULL;
}

loom_status *loom_value_concat(loom_value *const *parts, size_t n, loom_value **joined) {
    if (n == 0) return loom_error(LOOM_E_INTERNAL, "joining no values");
    for (size_t p = 0; p < n; p++) LOOM_TRY(check_alike(parts[0], parts[p]));
    int64_t *lists = calloc(n, sizeof *lists);
    if (!lists) return loom_error(LOOM_E_MEMORY, "no memory to join %zu values", n);
    loom_value *made = NULL;
    loom_status *status = loom_value_create(parts[0]->n_leaves, &made);
    for (uint32_t i = 0; !status && i < parts[0]->n_leaves; i++) {
        status = join_leaf(parts, n, i, lists, &made->leaves[i]);
    }
    free(lists);
    if (status) {
        loom_value_unref(made);
        return status;
    }
    *joined = made;
    return NULL;
}
