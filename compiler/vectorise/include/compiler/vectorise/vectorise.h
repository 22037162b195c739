/* Vectoriser: a stage's function over arrays -> lifted IR. Values that no element matters to are avoided, others
 * regular or, where rows differ in length, over segmented axes.
 *
 * Opens with: rules in vectorise.c. What it has no rule for (an operator on arrays that is not elementwise, an fft of
 * rows that may differ in length) gives a remark and *lifted = NULL with success: the stage is then interpreted. */
#ifndef LOOM_COMPILER_VECTORISE_VECTORISE_H
#define LOOM_COMPILER_VECTORISE_VECTORISE_H

#include "compiler/ir/lifted.h"
#include "compiler/plan/compile.h"

typedef struct loom_vectorise_request {
    const loom_program *program; /* staged program */
    const loom_graph *graph;
    uint32_t stage;
    /* Per leaf of each input slot, then of each stream (docs in compile.h). */
    const loom_leaf_shape *shapes;
    uint32_t n_shapes;
    /* Values of inputs that are known (scalars): extents that depend on them alone and come out at 64 or less become
     * constants (specialisation); others stay symbolic. NULL entries: not known. */
    loom_value *const *known;
    uint32_t force; /* LOOM_FORCE_*: what tests choose; a part that cannot be made so is made as always */
    /* Take rows of streams, and rows whose lengths scalars give, to be of one length where nothing proves that: the
     * code for chunks of which a test finds it true. Axes tell (`tested`); without any the code is what it is anyway.
     */
    bool tested;
} loom_vectorise_request;

LOOM_MUST_USE loom_status *loom_vectorise(loom_arena *arena, const loom_vectorise_request *request,
                                          loom_lifted **lifted, const char **remark);

#endif
