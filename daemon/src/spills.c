#include "spills.h"
#include "common/buffer.h"
#include <stdlib.h>
#include <string.h>

loom_status *loom_spilled_check(const Wire__TaskPart *part) {
    const Wire__Value *value = part->object->value;
    uint64_t elements = 0;
    int64_t have = 0;
    if (value->n_leaves && value->leaves[0]->n_extents) have = value->leaves[0]->extents[0];
    if (part->n_batches != part->n_counts || have < 0)
        return loom_error(LOOM_E_PROTOCOL, "a part of spilled elements that does not say how many there are");
    for (size_t i = 0; i < part->n_batches; i++) {
        bool ordered = part->batches[i] <= INT64_MAX && (i == 0 || part->batches[i] > part->batches[i - 1]);
        bool fits = part->counts[i] && part->counts[i] <= (uint64_t)have - elements;
        if (!ordered || !fits)
            return loom_error(LOOM_E_PROTOCOL, "a part of spilled elements whose batches make no sense");
        elements += part->counts[i];
    }
    if (elements == (uint64_t)have) return NULL;
    return loom_error(LOOM_E_PROTOCOL, "a part of spilled elements, of which some are of no batch");
}

void loom_spilled_clear(loom_spilled *s) {
    loom_held_object_unref(s->object);
    free(s->segments);
    free(s->batches);
    free(s->counts);
    *s = (loom_spilled){0};
}

loom_held_object *loom_spill_create(const loom_graph_stage *stage, bool made, uint32_t n_classes, loom_spilled *at,
                                    size_t n) {
    loom_held_object *object = loom_xcalloc(1, sizeof *object);
    object->references = 1;
    object->spill = loom_xcalloc(1, sizeof *object->spill);
    *object->spill = (loom_spill){made, stage, n_classes, n, at};
    for (size_t i = 0; i < n; i++) object->bytes += at[i].object->bytes;
    return object;
}

void loom_spill_destroy(loom_spill *spill) {
    if (!spill) return;
    for (size_t i = 0; i < spill->n; i++) loom_spilled_clear(&spill->at[i]);
    free(spill->at);
    free(spill);
}

/* Number of the element at which a batch begins in the object, and how many it has. */
static int64_t find_batch(const loom_spilled *s, uint64_t batch, int64_t *count) {
    int64_t first = 0;
    for (size_t i = 0; i < s->n_batches && s->batches[i] <= batch; i++) {
        *count = (int64_t)s->counts[i];
        if (s->batches[i] == batch) return first;
        first += (int64_t)s->counts[i];
    }
    *count = 0;
    return first;
}

static uint32_t position_of(const loom_graph_stage *stage, uint32_t param) {
    uint32_t i = 0;
    while (i < stage->n_streams && stage->streams[i] != param) i++;
    return i;
}

/* The class of an object's elements among the reader's: each of the stage that spilled is one. `known`: by these, one
 * more; 0: not met yet. */
static loom_status *class_of(loom_arena *arena, loom_blocks *b, const loom_spill *spill, const loom_spilled *s,
                             const uint32_t *params, uint32_t *known, uint32_t *class) {
    if (!known[s->class]) {
        uint32_t *segments = LOOM_NEW_ARRAY(arena, uint32_t, b->n_streams);
        for (uint32_t k = 0; k < b->n_streams; k++) {
            uint32_t at = position_of(spill->stage, params[k]);
            if (at == spill->stage->n_streams)
                return loom_error(LOOM_E_INTERNAL, "a stage reads a stream that was not spilled");
            segments[k] = s->segments[at];
        }
        b->classes[b->n_classes++].segments = segments;
        known[s->class] = b->n_classes;
    }
    *class = known[s->class] - 1;
    return NULL;
}

loom_status *loom_spill_blocks(loom_arena *arena, const loom_spill *spill, uint64_t batch, const uint32_t *params,
                               const Wire__Stream *const *streams, uint32_t n_streams, int64_t block,
                               loom_blocks **blocks) {
    loom_blocks *b = LOOM_NEW(arena, loom_blocks);
    *b = (loom_blocks){.n_streams = n_streams, .block = block};
    b->streams = LOOM_NEW_ARRAY(arena, const Wire__Stream *, n_streams);
    if (n_streams) memcpy(b->streams, streams, n_streams * sizeof *streams);
    b->cuts = LOOM_NEW_ARRAY(arena, loom_cut, spill->n);
    b->classes = LOOM_NEW_ARRAY(arena, loom_class, spill->n_classes);
    uint32_t *known = LOOM_NEW_ARRAY(arena, uint32_t, spill->n_classes);
    for (size_t i = 0; i < spill->n; i++) {
        const loom_spilled *s = &spill->at[i];
        uint32_t class;
        /* Of a batch without elements too: a plan tells what is made of none. */
        LOOM_TRY(class_of(arena, b, spill, s, params, known, &class));
        int64_t count, row = find_batch(s, batch, &count);
        if (count == 0) continue;
        int64_t n_blocks = (count - 1) / block + 1;
        b->cuts[b->n_cuts++] = (loom_cut){.first = b->n_elements,
                                          .count = count,
                                          .first_block = b->n_blocks,
                                          .n_blocks = n_blocks,
                                          .class = class,
                                          .object = s->object,
                                          .row = row};
        b->n_elements += count;
        b->n_blocks += n_blocks;
    }
    *blocks = b;
    return NULL;
}
