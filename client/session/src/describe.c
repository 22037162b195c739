/* What the daemon has to know of a stream: its length, its segments, their shapes and constants. */
#include "common/buffer.h"
#include "common/hash.h"
#include "common/limits.h"
#include "impl.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Elements read of each segment to see their shapes and size. */
#define PROBED 8
/* A block's message should cost nothing beside its data, and a stream should have some blocks for each worker. */
#define WANTED_BLOCK_BYTES   ((double)(4 << 20))
#define SMALLEST_BLOCK_BYTES ((double)(64 << 10))
#define WANTED_BLOCKS        32

static Wire__StreamLeaf *describe_leaf(loom_arena *arena, const loom_leaf *leaf, bool constant) {
    Wire__StreamLeaf *wire = LOOM_NEW(arena, Wire__StreamLeaf);
    wire__stream_leaf__init(wire);
    wire->name = loom_arena_strdup(arena, leaf->name);
    wire->dtype = (uint32_t)leaf->dtype;
    wire->constant = constant;
    wire->n_extents = leaf->depth;
    wire->extents = LOOM_NEW_ARRAY(arena, int64_t, leaf->depth);
    for (uint32_t k = 0; k < leaf->depth; k++) wire->extents[k] = k == 0 && !constant ? -2 : leaf->extents[k];
    return wire;
}

static Wire__StreamShape *describe_shape(loom_arena *arena, const loom_value *elements, const loom_value *constants) {
    Wire__StreamShape *shape = LOOM_NEW(arena, Wire__StreamShape);
    wire__stream_shape__init(shape);
    uint32_t n = elements->n_leaves + (constants ? constants->n_leaves : 0);
    shape->leaves = LOOM_NEW_ARRAY(arena, Wire__StreamLeaf *, n);
    for (uint32_t i = 0; i < elements->n_leaves; i++) {
        shape->leaves[shape->n_leaves++] = describe_leaf(arena, &elements->leaves[i], false);
    }
    for (uint32_t i = 0; constants && i < constants->n_leaves; i++) {
        shape->leaves[shape->n_leaves++] = describe_leaf(arena, &constants->leaves[i], true);
    }
    return shape;
}

static bool same_shape(const Wire__StreamShape *a, const Wire__StreamShape *b) {
    if (a->n_leaves != b->n_leaves) return false;
    for (size_t i = 0; i < a->n_leaves; i++) {
        const Wire__StreamLeaf *x = a->leaves[i], *y = b->leaves[i];
        if (x->dtype != y->dtype || x->constant != y->constant || x->n_extents != y->n_extents ||
            strcmp(x->name, y->name) != 0 ||
            (x->n_extents && memcmp(x->extents, y->extents, x->n_extents * sizeof *x->extents) != 0)) {
            return false;
        }
    }
    return true;
}

static char *hash_constants(loom_arena *arena, const loom_value *value) {
    loom_hasher *hasher = loom_hasher_create();
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        const loom_leaf *leaf = &value->leaves[i];
        loom_hasher_add(hasher, leaf->name, strlen(leaf->name) + 1);
        loom_hasher_add(hasher, &leaf->dtype, sizeof leaf->dtype);
        loom_hasher_add(hasher, leaf->extents, leaf->depth * sizeof *leaf->extents);
        for (uint32_t k = 0; k < leaf->depth; k++) {
            if (leaf->extents[k] != LOOM_IRREGULAR) continue;
            loom_hasher_add(hasher, leaf->lengths[k], (size_t)leaf->n_lengths[k] * sizeof(int64_t));
        }
        loom_hasher_add(hasher, leaf->data, (size_t)leaf->n_data * loom_dtype_size(leaf->dtype));
    }
    char text[33];
    loom_hash_text(loom_hasher_end(hasher), text);
    return loom_arena_strdup(arena, text);
}

static double bytes_of(const loom_value *value) {
    double bytes = 0;
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        const loom_leaf *leaf = &value->leaves[i];
        bytes += (double)leaf->n_data * (double)loom_dtype_size(leaf->dtype);
    }
    return bytes;
}

typedef struct describing {
    loom_arena *arena;
    Wire__Stream *stream;
    size_t shape_capacity;
    double bytes_per_element; /* the largest of any segment */
} describing;

static uint32_t enter_shape(describing *d, Wire__StreamShape *shape) {
    Wire__Stream *s = d->stream;
    for (size_t i = 0; i < s->n_shapes; i++) {
        if (same_shape(s->shapes[i], shape)) return (uint32_t)i;
    }
    if (s->n_shapes == d->shape_capacity) {
        size_t grown = d->shape_capacity ? 2 * d->shape_capacity : 4;
        s->shapes = loom_arena_grow(d->arena, s->shapes, s->n_shapes, grown, sizeof *s->shapes);
        d->shape_capacity = grown;
    }
    s->shapes[s->n_shapes] = shape;
    return (uint32_t)s->n_shapes++;
}

static loom_status *describe_segment(describing *d, loom_source *source, uint32_t index) {
    int64_t first = source->segment_first[index], count = source->segment_first[index + 1] - first;
    if (count == 0) return NULL;
    int64_t probed = count < PROBED ? count : PROBED;
    loom_value *elements = NULL, *constants = NULL;
    LOOM_TRY(loom_source_read(source, first, probed, &elements));
    loom_status *status = loom_source_constants(source, index, &constants);
    if (!status) {
        Wire__Segment *segment = LOOM_NEW(d->arena, Wire__Segment);
        wire__segment__init(segment);
        segment->first = (uint64_t)first;
        segment->shape = enter_shape(d, describe_shape(d->arena, elements, constants));
        if (constants && constants->n_leaves) segment->constants = hash_constants(d->arena, constants);
        d->stream->segments[d->stream->n_segments++] = segment;
        double each = bytes_of(elements) / (double)probed;
        if (each > d->bytes_per_element) d->bytes_per_element = each;
    }
    loom_value_unref(elements);
    loom_value_unref(constants);
    return status;
}

loom_status *loom_describe_source(loom_arena *arena, loom_source *source, uint32_t param, Wire__Stream **stream,
                                  double *bytes_per_element) {
    describing d = {.arena = arena, .stream = LOOM_NEW(arena, Wire__Stream)};
    wire__stream__init(d.stream);
    d.stream->param = param;
    d.stream->n_elements = (uint64_t)source->n_elements;
    if (source->worker_can_open && source->description) {
        d.stream->description = loom_arena_strdup(arena, source->description);
    }
    d.stream->segments = LOOM_NEW_ARRAY(arena, Wire__Segment *, source->n_segments);
    for (uint32_t i = 0; i < source->n_segments; i++) LOOM_TRY(describe_segment(&d, source, i));
    *stream = d.stream;
    *bytes_per_element = d.bytes_per_element;
    return NULL;
}

int64_t loom_choose_block(int64_t wanted, double bytes_per_element, int64_t n_elements) {
    double each = bytes_per_element > 1 ? bytes_per_element : 1;
    int64_t most = (int64_t)((double)LOOM_MAX_BLOCK_BYTES / each);
    int64_t block = wanted;
    if (block <= 0) {
        block = (int64_t)(WANTED_BLOCK_BYTES / each);
        int64_t share = (n_elements + WANTED_BLOCKS - 1) / WANTED_BLOCKS;
        int64_t least = (int64_t)(SMALLEST_BLOCK_BYTES / each);
        if (share < block) block = share > least ? share : least;
    }
    if (block > most) block = most;
    return block < 1 ? 1 : block;
}
