/* Where regularity is lost, each place once. Private to explain. */
#ifndef LOOM_EXPLAIN_LOSSES_H
#define LOOM_EXPLAIN_LOSSES_H

#include "compiler/explain/explain.h"

typedef struct explain_loss {
    loom_shape_reason reason;
    const char *input; /* the reason's node is this input; else "" */
    uint32_t values;   /* how many are irregular for it; 0: it is about turns or branches */
    bool tested;       /* at run time it is found out whether it is so */
} explain_loss;

/* Of a stage, by node; how many. */
uint32_t explain_losses(loom_arena *arena, const loom_account *account, const loom_account_stage *stage,
                        explain_loss **losses);

extern const char *const explain_regularities[]; /* by loom_shape_rep */

#endif
