/* What all sources share: dispatch with its checks, cutting of blocks, and the source over a value in memory. */
#include "io/source.h"
#include "runs.h"
#include "source_impl.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

uint32_t loom_source_segment_at(const loom_source *source, int64_t first) {
    return (uint32_t)loom_last_begin(source->segment_first, source->n_segments, first);
}

loom_status *loom_source_read(loom_source *source, int64_t first, int64_t count, loom_value **elements) {
    if (first < 0 || count < 0 || first > source->n_elements || count > source->n_elements - first) {
        return loom_error(LOOM_E_PROTOCOL,
                          "%" PRId64 " elements from number %" PRId64 " on were asked of a stream of %" PRId64, count,
                          first, source->n_elements);
    }
    uint32_t s = loom_source_segment_at(source, first);
    if (first < source->n_elements && count > source->segment_first[s + 1] - first) {
        return loom_error(LOOM_E_PROTOCOL, "elements %" PRId64 " to %" PRId64 " cross the end of segment %" PRIu32,
                          first, first + count, s);
    }
    return source->kind->read(source, first, count, elements);
}

loom_status *loom_source_constants(loom_source *source, uint32_t segment, loom_value **constants) {
    if (segment >= source->n_segments) {
        return loom_error(LOOM_E_PROTOCOL, "segment %" PRIu32 " was asked of a stream of %" PRIu32, segment,
                          source->n_segments);
    }
    return source->kind->constants(source, segment, constants);
}

void loom_source_destroy(loom_source *source) {
    if (!source) return;
    source->kind->destroy(source);
    free(source->segment_first);
    free(source->description);
    free(source);
}

loom_status *loom_source_make(const loom_source_kind *kind, int64_t n_elements, uint32_t n_segments,
                              loom_source **source) {
    loom_source *made = calloc(1, sizeof *made);
    int64_t *bounds = calloc((size_t)n_segments + 1, sizeof *bounds);
    if (!made || !bounds) {
        free(made);
        free(bounds);
        return loom_error(LOOM_E_MEMORY, "out of memory");
    }
    *made = (loom_source){.kind = kind, .n_elements = n_elements, .n_segments = n_segments, .segment_first = bounds};
    bounds[n_segments] = n_elements;
    *source = made;
    return NULL;
}

loom_status *loom_source_open(const char *description, loom_source **source) {
    if (strncmp(description, LOOM_NPY_DESCRIPTION, strlen(LOOM_NPY_DESCRIPTION)) == 0) {
        return loom_source_npy_open(description, source);
    }
    return loom_error(LOOM_E_PROTOCOL, "a stream described as '%.60s' cannot be opened here", description);
}

/* Elements read of each segment to see their size. */
#define PROBED 8

static double bytes_of(const loom_value *value) {
    double bytes = 0;
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        const loom_leaf *leaf = &value->leaves[i];
        bytes += (double)leaf->n_data * (double)loom_dtype_size(leaf->dtype);
        for (uint32_t k = 0; k < leaf->depth; k++)
            if (leaf->extents[k] == LOOM_IRREGULAR) bytes += (double)leaf->n_lengths[k] * (double)sizeof(int64_t);
    }
    return bytes;
}

loom_status *loom_source_element_bytes(loom_source *source, double *bytes) {
    double most = 0;
    for (uint32_t s = 0; s < source->n_segments; s++) {
        int64_t first = source->segment_first[s], count = source->segment_first[s + 1] - first;
        int64_t probed = count < PROBED ? count : PROBED;
        if (count == 0) continue;
        loom_value *elements;
        LOOM_TRY(loom_source_read(source, first, probed, &elements));
        double each = bytes_of(elements) / (double)probed;
        loom_value_unref(elements);
        if (each > most) most = each;
    }
    *bytes = most;
    return NULL;
}

/* ---- blocks ---- */

/* The smallest bound of any stream's segments that lies beyond `at`, and the segment of the first stream at `at`. */
static int64_t next_bound(loom_source *const *sources, uint32_t n_sources, int64_t at, uint32_t *segment) {
    int64_t bound = sources[0]->n_elements;
    for (uint32_t i = 0; i < n_sources; i++) {
        for (uint32_t s = 0; s < sources[i]->n_segments; s++) {
            int64_t first = sources[i]->segment_first[s], end = sources[i]->segment_first[s + 1];
            if (end > at && end < bound) bound = end;
            if (i == 0 && first <= at && at < end) *segment = s;
        }
    }
    return bound;
}

/* Fills `blocks` where it is not NULL; returns how many there are. */
static int64_t cut(loom_source *const *sources, uint32_t n_sources, int64_t length, loom_block_info *blocks) {
    int64_t n = 0, total = sources[0]->n_elements;
    for (int64_t at = 0; at < total;) {
        uint32_t segment = 0;
        int64_t bound = next_bound(sources, n_sources, at, &segment);
        if (!blocks) {
            n += (bound - at) / length + ((bound - at) % length != 0);
            at = bound;
            continue;
        }
        while (at < bound) {
            int64_t count = bound - at < length ? bound - at : length;
            blocks[n++] = (loom_block_info){at, count, segment};
            at += count;
        }
    }
    return n;
}

loom_status *loom_source_blocks(loom_source *const *sources, uint32_t n_sources, int64_t length,
                                loom_block_info **blocks, int64_t *n_blocks) {
    if (n_sources == 0 || length < 1) {
        return loom_error(LOOM_E_USAGE, "blocks of %" PRId64 " elements of %" PRIu32 " streams", length, n_sources);
    }
    for (uint32_t i = 1; i < n_sources; i++) {
        if (sources[i]->n_elements == sources[0]->n_elements) continue;
        return loom_status_note(loom_error(LOOM_E_DATA,
                                           "the streams differ in length: the first has %" PRId64
                                           " elements, number %" PRIu32 " has %" PRId64,
                                           sources[0]->n_elements, i + 1, sources[i]->n_elements),
                                "hint: streams that are visited together must be equally long");
    }
    int64_t n = cut(sources, n_sources, length, NULL);
    loom_block_info *made = calloc(n ? (size_t)n : 1, sizeof *made);
    if (!made) return loom_error(LOOM_E_MEMORY, "no memory for a list of %" PRId64 " blocks", n);
    cut(sources, n_sources, length, made);
    *blocks = made;
    *n_blocks = n;
    return NULL;
}

/* ---- a value in memory ---- */

static loom_status *value_read(loom_source *source, int64_t first, int64_t count, loom_value **elements) {
    return loom_value_slice(source->state, first, first + count, elements);
}

static loom_status *no_constants(loom_source *source, uint32_t segment, loom_value **constants) {
    (void)source;
    (void)segment;
    *constants = NULL;
    return NULL;
}

static void value_destroy(loom_source *source) {
    loom_value_unref(source->state);
}

loom_status *loom_source_value(loom_value *value, loom_source **source) {
    static const loom_source_kind kind = {"value", value_read, no_constants, value_destroy};
    int64_t n = -1;
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        const loom_leaf *leaf = &value->leaves[i];
        if (leaf->depth == 0 || leaf->extents[0] == LOOM_IRREGULAR) {
            return loom_error(LOOM_E_DATA, "column '%s' has no outermost level to stream over", leaf->name);
        }
        if (n >= 0 && leaf->extents[0] != n) {
            return loom_error(LOOM_E_DATA, "column '%s' has %" PRId64 " elements, the others %" PRId64, leaf->name,
                              leaf->extents[0], n);
        }
        n = leaf->extents[0];
    }
    loom_source *made;
    LOOM_TRY(loom_source_make(&kind, n < 0 ? 0 : n, 1, &made));
    made->state = loom_value_ref(value);
    made->concurrent = true;
    *source = made;
    return NULL;
}

/* ---- a part of another source ---- */

typedef struct part {
    loom_source *whole;
    int64_t first;
    uint32_t segment; /* of the whole: the part's first one */
} part;

static loom_status *part_read(loom_source *source, int64_t first, int64_t count, loom_value **elements) {
    const part *p = source->state;
    return loom_source_read(p->whole, p->first + first, count, elements);
}

static loom_status *part_constants(loom_source *source, uint32_t segment, loom_value **constants) {
    const part *p = source->state;
    return loom_source_constants(p->whole, p->segment + segment, constants);
}

static void part_destroy(loom_source *source) {
    free(source->state);
}

loom_status *loom_source_part(loom_source *whole, int64_t first, int64_t count, loom_source **source) {
    static const loom_source_kind kind = {"part", part_read, part_constants, part_destroy};
    if (first < 0 || count < 0 || first > whole->n_elements || count > whole->n_elements - first)
        return loom_error(LOOM_E_INTERNAL, "a part beyond its stream");
    uint32_t at = first < whole->n_elements ? loom_source_segment_at(whole, first) : 0, n = 0;
    while (at + n < whole->n_segments && whole->segment_first[at + n] < first + count) n++;
    if (n == 0) n = whole->n_segments ? 1 : 0; /* shapes and constants of nothing are those of a segment */
    part *p = calloc(1, sizeof *p);
    if (!p) return loom_error(LOOM_E_MEMORY, "out of memory");
    *p = (part){whole, first, at};
    loom_source *made;
    loom_status *status = loom_source_make(&kind, count, n, &made);
    if (status) {
        free(p);
        return status;
    }
    for (uint32_t s = 1; s < n; s++) made->segment_first[s] = whole->segment_first[at + s] - first;
    made->concurrent = whole->concurrent;
    made->state = p;
    *source = made;
    return NULL;
}
