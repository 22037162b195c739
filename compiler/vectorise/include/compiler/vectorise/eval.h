/* Runs lifted IR directly on values: the judge of vectoriser, fusion and code generation in tests. Naive on purpose:
 * every value is manifest, every operation runs point by point in the order of its axes.
 *
 * Threads: a call uses only its own memory. Errors: LOOM_E_RUNTIME for a site that was raised (with its line);
 * LOOM_E_INTERNAL where the IR breaks a promise (a PROVEN load out of range). */
#ifndef LOOM_COMPILER_VECTORISE_EVAL_H
#define LOOM_COMPILER_VECTORISE_EVAL_H

#include "common/value.h"
#include "compiler/ir/lifted.h"

typedef struct loom_lifted_arguments {
    loom_value *const *inputs;  /* by stage input; leaves in order */
    loom_value *const *columns; /* by stream: every leaf with the chunk's level first, constant ones too */
    int64_t first, count;       /* stream position of the first element, elements */
} loom_lifted_arguments;

/* outputs[j] (room for l->n_outputs, one reference each): PERMUTE: the neutral target with the chunk combined in; else
 * the values. */
LOOM_MUST_USE loom_status *loom_lifted_eval(const loom_lifted *l, const loom_lifted_arguments *arguments,
                                            loom_value **outputs);

#endif
