/* Whether a result is the expected one, and what is not. */
#include "client/output.h"
#include "client/testing.h"
#include "common/buffer.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Level by level; *level is where they first differ, or the depth. A level without lists is like any other. */
static bool same_shape(const loom_leaf *a, const loom_leaf *b, uint32_t *level, int64_t *list) {
    int64_t lists = 1;
    for (*level = 0; *level < a->depth; ++*level) {
        int64_t below = 0;
        if (a->extents[*level] != LOOM_IRREGULAR && b->extents[*level] != LOOM_IRREGULAR) {
            *list = 0;
            if (lists && a->extents[*level] != b->extents[*level]) return false;
            lists *= a->extents[*level];
            continue;
        }
        for (*list = 0; *list < lists; ++*list) {
            if (loom_leaf_length(a, *level, *list) != loom_leaf_length(b, *level, *list)) return false;
            below += loom_leaf_length(a, *level, *list);
        }
        lists = below;
    }
    return true;
}

static double magnitude(loom_dtype dtype, loom_scalar s) {
    if (loom_dtype_is_complex(dtype)) return hypot(s.c[0], s.c[1]);
    return fabs(s.f);
}

static loom_scalar scalar_at(const loom_leaf *leaf, int64_t i) {
    return loom_scalar_load(leaf->dtype, (const char *)leaf->data + (size_t)i * loom_dtype_size(leaf->dtype));
}

/* How far a float of this leaf may be off. */
static double allowed(const loom_leaf *expected, double tolerance) {
    double largest = 1;
    for (int64_t i = 0; i < expected->n_data; i++) {
        double m = magnitude(expected->dtype, scalar_at(expected, i));
        if (isfinite(m) && m > largest) largest = m;
    }
    return tolerance * largest;
}

/* Nothing allowed: bit by bit, but for NaNs, of which there are many. */
static bool close_to(double expected, double found, double allowed) {
    if (isnan(expected) || isnan(found)) return isnan(expected) && isnan(found);
    if (allowed == 0 && !signbit(expected) != !signbit(found)) return false;
    return expected == found || fabs(expected - found) <= allowed;
}

static bool same_scalar(loom_dtype dtype, loom_scalar x, loom_scalar y, double allowed) {
    if (dtype == LOOM_BOOL) return x.b == y.b;
    if (loom_dtype_is_integer(dtype)) return x.u == y.u;
    if (!loom_dtype_is_complex(dtype)) return close_to(x.f, y.f, allowed);
    return close_to(x.c[0], y.c[0], allowed) && close_to(x.c[1], y.c[1], allowed);
}

/* "[1, 0]" of scalar i in a regular leaf, " 5 in order" in another. */
static void put_place(loom_buffer *to, const loom_leaf *leaf, int64_t i) {
    if (leaf->depth == 0) return;
    if (!loom_leaf_is_regular(leaf)) {
        loom_buffer_printf(to, " at scalar %" PRId64 " in order", i);
        return;
    }
    int64_t at[LOOM_MAX_DEPTH];
    for (uint32_t k = leaf->depth; k-- > 0; i /= leaf->extents[k]) at[k] = i % leaf->extents[k];
    for (uint32_t k = 0; k < leaf->depth; k++) loom_buffer_printf(to, "%s%" PRId64, k ? ", " : " at [", at[k]);
    loom_buffer_text(to, "]");
}

static void put_scalar(loom_buffer *to, const loom_leaf *leaf, int64_t i) {
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    if (!f) return;
    loom_client_print_scalar(leaf->dtype, (const char *)leaf->data + (size_t)i * loom_dtype_size(leaf->dtype), f);
    fclose(f);
    loom_buffer_append(to, text, length);
    free(text);
}

static bool leaf_differs(const loom_leaf *expected, const loom_leaf *found, double tolerance, loom_buffer *why) {
    uint32_t level;
    int64_t list;
    if (expected->dtype != found->dtype || expected->depth != found->depth) {
        loom_buffer_printf(why, "expected %u levels of %s, found %u of %s", expected->depth,
                           loom_dtype_name(expected->dtype), found->depth, loom_dtype_name(found->dtype));
        return true;
    }
    if (!same_shape(expected, found, &level, &list)) {
        loom_buffer_printf(why, "expected length %" PRId64 ", found %" PRId64, loom_leaf_length(expected, level, list),
                           loom_leaf_length(found, level, list));
        if (level) loom_buffer_printf(why, ", in list %" PRId64 " of level %u", list, level + 1);
        return true;
    }
    double off =
        loom_dtype_is_integer(expected->dtype) || expected->dtype == LOOM_BOOL ? 0 : allowed(expected, tolerance);
    for (int64_t i = 0; i < expected->n_data; i++) {
        if (same_scalar(expected->dtype, scalar_at(expected, i), scalar_at(found, i), off)) continue;
        loom_buffer_text(why, "expected ");
        put_scalar(why, expected, i);
        loom_buffer_text(why, ", found ");
        put_scalar(why, found, i);
        put_place(why, expected, i);
        return true;
    }
    return false;
}

char *loom_testing_difference(const loom_value *expected, const loom_value *found, double tolerance) {
    if (expected->n_leaves != found->n_leaves) {
        return loom_xprintf("expected %u values, found %u", expected->n_leaves, found->n_leaves);
    }
    for (uint32_t i = 0; i < expected->n_leaves; i++) {
        loom_buffer why = {0};
        if (expected->n_leaves > 1) loom_buffer_printf(&why, "value %u: ", i + 1);
        if (leaf_differs(&expected->leaves[i], &found->leaves[i], tolerance, &why)) return loom_buffer_take(&why);
        loom_buffer_free(&why);
    }
    return NULL;
}
