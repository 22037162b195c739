/* How the streams of a traversal are cut: classes of segments and blocks.
 *
 * Streams that are traversed together are cut at equal places: where any of them begins a new segment, and every
 * `block` elements from there. Segments in which all streams have equal shapes and equal constants are one class: one
 * plan serves them all. Blocks are numbered without being listed.
 */
#ifndef LOOM_DAEMON_BLOCKS_H
#define LOOM_DAEMON_BLOCKS_H

#include "common/arena.h"
#include "common/status.h"
#include "control.pb-c.h"
#include "ledger/ledger.h"

typedef struct loom_cut {
    int64_t first, count; /* elements */
    int64_t first_block, n_blocks;
    uint32_t class;
    struct loom_held_object *object; /* that has the elements, from number `row` on; NULL: whoever serves the streams */
    int64_t row;
} loom_cut;

typedef struct loom_class {
    uint32_t *segments; /* per stream: one of its segments in this class */
} loom_class;

typedef struct loom_blocks {
    uint32_t n_streams;
    const Wire__Stream **streams;
    int64_t block; /* elements */
    int64_t n_elements, n_blocks;
    size_t n_cuts;
    loom_cut *cuts; /* in order */
    uint32_t n_classes;
    loom_class *classes;
} loom_blocks;

/* In `arena`; keeps the pointers to the streams. Streams of unequal length are an error that names both. */
LOOM_MUST_USE loom_status *loom_blocks_create(loom_arena *arena, const Wire__Stream *const *streams, uint32_t n_streams,
                                              int64_t block, loom_blocks **blocks);
const loom_cut *loom_blocks_cut_of(const loom_blocks *blocks, int64_t block);
/* Elements of a stretch of blocks inside one cut. */
void loom_blocks_elements(const loom_blocks *blocks, loom_stretch stretch, int64_t *first, int64_t *count);
/* Elements in a stretch of blocks that may span cuts. */
int64_t loom_blocks_count(const loom_blocks *blocks, loom_stretch stretch);
/* A stream's own description: counts, order of segments, shapes. For messages from outside. */
LOOM_MUST_USE loom_status *loom_stream_check(const Wire__Stream *stream);

#endif
