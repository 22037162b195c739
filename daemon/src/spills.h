/* Elements of a stream by batch, which a stage has written out for later ones (compiler/plan/graph.h, "SPILLS").
 *
 *   stage that spills --< delta --< object: elements in order of batches, how many of each
 *
 * A stage that reads a batch has a cut of blocks (blocks.h) for each object that has elements of it, of the class that
 * the object's elements are of. Nothing is written where it is not worth it; then, or where it turned out not to be,
 * the slot has a spill that was not made, and who reads a batch traverses the stream.
 * Threads: the loop's.
 */
#ifndef LOOM_DAEMON_SPILLS_H
#define LOOM_DAEMON_SPILLS_H

#include "blocks.h"
#include "compiler/plan/graph.h"
#include "objects.h"

/* Elements of one class, those of a batch together. */
typedef struct loom_spilled {
    loom_held_object *object;
    uint32_t class;     /* of the stage that spilled */
    uint32_t *segments; /* by stream of that stage: one of the class */
    size_t n_batches;
    uint64_t *batches, *counts; /* ascending; elements of each */
} loom_spilled;

typedef struct loom_spill {
    bool made;
    const loom_graph_stage *stage; /* that spilled */
    uint32_t n_classes;            /* of it */
    size_t n;
    loom_spilled *at;
} loom_spill;

/* What a delta's part says of its object: batches in order, and no more elements than there are. */
LOOM_MUST_USE loom_status *loom_spilled_check(const Wire__TaskPart *part);
void loom_spilled_clear(loom_spilled *spilled);
/* A slot's value. Takes at[0..n), which is malloc'ed; none where it was not made. One reference. */
loom_held_object *loom_spill_create(const loom_graph_stage *stage, bool made, uint32_t n_classes, loom_spilled *at,
                                    size_t n);
void loom_spill_destroy(loom_spill *spill); /* NULL is fine */
/* The blocks of one batch for a stage over `params`, whose streams these are. */
LOOM_MUST_USE loom_status *loom_spill_blocks(loom_arena *arena, const loom_spill *spill, uint64_t batch,
                                             const uint32_t *params, const Wire__Stream *const *streams,
                                             uint32_t n_streams, int64_t block, loom_blocks **blocks);

#endif
