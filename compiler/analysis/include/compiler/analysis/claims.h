/* What shape analysis claims, held against an evaluation.
 *
 * The interpreter runs a program once and shows every value that is made; what the analysis says of it must hold:
 *   avoided      the same for all elements that the maps around are at (in one and the same turn of loops around);
 *   not irregular   the extents are;
 *   a level whose rows do not differ   has one extent;
 *   a constant extent   is that;
 *   equal descriptors   of two values of one run of a body: these levels have equal extents;
 *   uniform      all elements take as many turns, or the same branch.
 * What turns out sharper than claimed is counted, no violation.
 *
 * Threads: a call uses only its own memory. Cost: as interpreting element by element, with a hash of every value. */
#ifndef LOOM_COMPILER_ANALYSIS_CLAIMS_H
#define LOOM_COMPILER_ANALYSIS_CLAIMS_H

#include "common/arena.h"
#include "common/value.h"
#include "compiler/ir/core.h"

typedef struct loom_claim_broken {
    loom_node_id node;
    const char *claim;  /* "avoided", "regular", "rows", "constant", "equal", "uniform" */
    loom_node_id other; /* of "equal" */
} loom_claim_broken;

typedef struct loom_claims {
    uint64_t values; /* looked at */
    uint32_t n_broken;
    const loom_claim_broken *broken; /* the first of each kind for a node */
    uint32_t n_met;
    const loom_node_id *met; /* nodes that had elements to compare; the following are among them */
    uint32_t n_irregular;
    const loom_node_id *irregular; /* nodes that are called irregular and had elements to compare, */
    const bool *were_regular;      /* and whether all their extents were equal all the same */
} loom_claims;

/* Evaluates function f, in which there are no calls (compiler/stage/stage.h: loom_simplify), as loom_interp_call does.
 * *claims, in the arena, holds what was seen, also where the evaluation fails. */
LOOM_MUST_USE loom_status *loom_claims_check(loom_arena *arena, const loom_program *program, uint32_t f,
                                             loom_value *const *arguments, loom_value **result, loom_claims *claims);

#endif
