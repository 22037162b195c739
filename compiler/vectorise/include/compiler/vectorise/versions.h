/* Versions of functions that the user wrote for arrays of arguments (`lifted regular f = f_rows`): core to core, before
 * vectorising. Where a map evaluates f for its elements, f_rows takes the place of that:
 *
 *     map (\x -> g (f (h x))) xs   =>   map g (f_rows (map h xs))
 *
 * The one for regular rows where shape analysis proves that the arguments of all elements have the same extents; else
 * the one for irregular rows, if there is one; else f stays what its body says. Opens with: rules in versions.c.
 *
 * Threads: a call uses only its arena. Cost: an analysis and a copy of the function for each round; a round decides all
 * calls that need no other one's result. */
#ifndef LOOM_COMPILER_VECTORISE_VERSIONS_H
#define LOOM_COMPILER_VECTORISE_VERSIONS_H

#include "compiler/ir/core.h"

/* What was done with a call, and why: "a.weft:10: smooth: ...". */
typedef struct loom_version_notes {
    size_t count, capacity;
    const char **at;
    uint32_t used; /* calls that a version took the place of */
} loom_version_notes;

/* The program with the calls in function `f` decided: there are no LIFTED nodes in it. `regular`: of each parameter,
 * are all its rows known to have one length? `versions` false: all calls are what their bodies say. *to is `program`
 * where there is nothing to decide. Other functions stay as they are, at the same places. */
LOOM_MUST_USE loom_status *loom_versions_choose(loom_arena *arena, const loom_program *program, uint32_t f,
                                                const bool *regular, bool versions, loom_program **to,
                                                loom_version_notes *notes);

#endif
