/* Copies of blocks of lifted IR with substitutions. Private. */
#ifndef LOOM_SCHEDULE_CLONE_H
#define LOOM_SCHEDULE_CLONE_H

#include "compiler/ir/lifted.h"

typedef struct loom_clone {
    loom_lifted *l;
    loom_arena *scratch;
    /* Makes the copy of expression `id`, whose arguments are copied already; NULL: as it is. May return an expression
     * that is there. */
    loom_lexpr_id (*replace)(void *context, loom_lexpr_id id, loom_lexpr expr, loom_lexpr_id *args, uint32_t n_args);
    void *context;
    const loom_lexpr_id *params; /* what the block's own parameters become; NULL: parameters */
} loom_clone;

/* Appends copies of the expressions of a block; results[i] is the copy of its i-th result. The caller makes the block.
 */
void loom_clone_block(const loom_clone *clone, loom_lblock_id block, loom_lexpr_id *results);

#endif
