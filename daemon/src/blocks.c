#include "blocks.h"
#include "common/buffer.h"
#include "common/hash.h"
#include "common/value.h"
#include "compiler/ir/trap.h"
#include <stdlib.h>
#include <string.h>

/* -2, the chunk, first and there alone, unless the leaf is constant; -1, irregular; else a length. */
static bool possible_extents(const Wire__StreamLeaf *leaf) {
    uint64_t elements = 1;
    if (!leaf->constant && (leaf->n_extents == 0 || leaf->extents[0] != -2)) return false;
    for (size_t i = leaf->constant ? 0 : 1; i < leaf->n_extents; i++) {
        if (leaf->extents[i] < -1) return false;
        if (leaf->extents[i] > 0 && __builtin_mul_overflow(elements, (uint64_t)leaf->extents[i], &elements))
            return false;
    }
    return elements <= INT64_MAX;
}

loom_status *loom_stream_check(const Wire__Stream *s) {
    if (s->n_elements > INT64_MAX) return loom_error(LOOM_E_PROTOCOL, "a stream has more than 2^63 elements");
    if (s->n_elements && (!s->n_segments || s->segments[0]->first != 0)) {
        return loom_error(LOOM_E_PROTOCOL, "the first segment of a stream does not begin at 0");
    }
    for (size_t i = 0; i < s->n_segments; i++) {
        const Wire__Segment *g = s->segments[i];
        if (g->shape >= s->n_shapes) return loom_error(LOOM_E_PROTOCOL, "a segment has no shape");
        if (g->first >= s->n_elements) return loom_error(LOOM_E_PROTOCOL, "a segment begins behind its stream");
        if (i && g->first <= s->segments[i - 1]->first) {
            return loom_error(LOOM_E_PROTOCOL, "the segments of a stream are out of order");
        }
    }
    for (size_t i = 0; i < s->n_shapes; i++) {
        for (size_t k = 0; k < s->shapes[i]->n_leaves; k++) {
            const Wire__StreamLeaf *leaf = s->shapes[i]->leaves[k];
            if (leaf->dtype >= LOOM_DTYPES || leaf->n_extents > LOOM_MAX_DEPTH) {
                return loom_error(LOOM_E_PROTOCOL, "column '%.64s' of a stream has an impossible type", leaf->name);
            }
            if (!possible_extents(leaf)) {
                return loom_error(LOOM_E_PROTOCOL, "column '%.64s' of a stream has impossible extents", leaf->name);
            }
        }
    }
    return NULL;
}

static bool same_segment(const Wire__Segment *a, const Wire__Segment *b) {
    if (a->shape != b->shape || !a->constants != !b->constants) return false;
    return !a->constants || strcmp(a->constants, b->constants) == 0;
}

/* Classes by content: a table of their numbers with open addressing, less than half full. */
typedef struct class_table {
    uint32_t *at; /* number + 1; 0: none */
    size_t size;  /* a power of two */
    size_t capacity;
} class_table;

static size_t place_of(const loom_blocks *b, const uint32_t *segments, size_t size) {
    loom_hasher *hasher = loom_hasher_create();
    for (uint32_t s = 0; s < b->n_streams; s++) {
        const Wire__Segment *g = b->streams[s]->segments[segments[s]];
        loom_hasher_add(hasher, &g->shape, sizeof g->shape);
        const char *constants = g->constants ? g->constants : "";
        loom_hasher_add(hasher, constants, strlen(constants) + 1);
    }
    return (size_t)loom_hasher_end(hasher).low & (size - 1);
}

static bool same_class(const loom_blocks *b, const uint32_t *x, const uint32_t *y) {
    for (uint32_t s = 0; s < b->n_streams; s++) {
        if (!same_segment(b->streams[s]->segments[x[s]], b->streams[s]->segments[y[s]])) return false;
    }
    return true;
}

static void grow_table(class_table *t, const loom_blocks *b) {
    free(t->at);
    t->size = t->size ? 2 * t->size : 16;
    t->at = loom_xcalloc(t->size, sizeof *t->at);
    for (uint32_t c = 0; c < b->n_classes; c++) {
        size_t i = place_of(b, b->classes[c].segments, t->size);
        while (t->at[i]) i = (i + 1) & (t->size - 1);
        t->at[i] = c + 1;
    }
}

static uint32_t class_of(loom_arena *arena, loom_blocks *b, const uint32_t *at, class_table *t) {
    if (2 * ((size_t)b->n_classes + 1) > t->size) grow_table(t, b);
    size_t i = place_of(b, at, t->size);
    for (; t->at[i]; i = (i + 1) & (t->size - 1)) {
        if (same_class(b, at, b->classes[t->at[i] - 1].segments)) return t->at[i] - 1;
    }
    if (b->n_classes == t->capacity) {
        size_t grown = t->capacity ? 2 * t->capacity : 4;
        b->classes = loom_arena_grow(arena, b->classes, t->capacity, grown, sizeof *b->classes);
        t->capacity = grown;
    }
    uint32_t *segments = LOOM_NEW_ARRAY(arena, uint32_t, b->n_streams);
    memcpy(segments, at, b->n_streams * sizeof *segments);
    b->classes[b->n_classes].segments = segments;
    t->at[i] = b->n_classes + 1;
    return b->n_classes++;
}

static int64_t segment_end(const Wire__Stream *s, uint32_t segment) {
    return (int64_t)(segment + 1 < s->n_segments ? s->segments[segment + 1]->first : s->n_elements);
}

static loom_status *check_lengths(const loom_blocks *b) {
    for (uint32_t s = 1; s < b->n_streams; s++) {
        if (b->streams[s]->n_elements == b->streams[0]->n_elements) continue;
        char *message = loom_trap_message(LOOM_TRAP_STREAMS_FORMAT, (int64_t)b->streams[0]->n_elements,
                                          (int64_t)b->streams[s]->n_elements);
        loom_status *status = loom_error(LOOM_E_DATA, "%s", message);
        free(message);
        return loom_status_note(status, "they are parameters %u and %u of the entry", b->streams[0]->param + 1,
                                b->streams[s]->param + 1);
    }
    return NULL;
}

loom_status *loom_blocks_create(loom_arena *arena, const Wire__Stream *const *streams, uint32_t n_streams,
                                int64_t block, loom_blocks **blocks) {
    loom_blocks *b = LOOM_NEW(arena, loom_blocks);
    b->n_streams = n_streams;
    b->streams = LOOM_NEW_ARRAY(arena, const Wire__Stream *, n_streams);
    memcpy(b->streams, streams, n_streams * sizeof *streams);
    b->block = block;
    LOOM_TRY(check_lengths(b));
    b->n_elements = n_streams ? (int64_t)streams[0]->n_elements : 0;
    uint32_t *at = LOOM_NEW_ARRAY(arena, uint32_t, n_streams);
    size_t cut_capacity = 0;
    class_table classes = {0};
    for (int64_t first = 0; first < b->n_elements;) {
        int64_t end = b->n_elements;
        for (uint32_t s = 0; s < n_streams; s++) {
            if (segment_end(streams[s], at[s]) <= first) at[s]++;
            int64_t e = segment_end(streams[s], at[s]);
            if (e < end) end = e;
        }
        if (b->n_cuts == cut_capacity) {
            size_t grown = cut_capacity ? 2 * cut_capacity : 4;
            b->cuts = loom_arena_grow(arena, b->cuts, cut_capacity, grown, sizeof *b->cuts);
            cut_capacity = grown;
        }
        int64_t n_blocks = (end - first - 1) / block + 1;
        b->cuts[b->n_cuts++] = (loom_cut){.first = first,
                                          .count = end - first,
                                          .first_block = b->n_blocks,
                                          .n_blocks = n_blocks,
                                          .class = class_of(arena, b, at, &classes)};
        b->n_blocks += n_blocks;
        first = end;
    }
    free(classes.at);
    *blocks = b;
    return NULL;
}

const loom_cut *loom_blocks_cut_of(const loom_blocks *b, int64_t block) {
    size_t low = 0, high = b->n_cuts;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (b->cuts[middle].first_block <= block) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &b->cuts[low];
}

/* First element of a block, or the end of the stream for the block behind the last. */
static int64_t element_of(const loom_blocks *b, int64_t block) {
    if (block >= b->n_blocks) return b->n_elements;
    const loom_cut *cut = loom_blocks_cut_of(b, block);
    return cut->first + (block - cut->first_block) * b->block;
}

void loom_blocks_elements(const loom_blocks *b, loom_stretch stretch, int64_t *first, int64_t *count) {
    *first = element_of(b, stretch.first);
    *count = element_of(b, stretch.first + stretch.n) - *first;
}

int64_t loom_blocks_count(const loom_blocks *b, loom_stretch stretch) {
    int64_t first, count;
    loom_blocks_elements(b, stretch, &first, &count);
    return count;
}
