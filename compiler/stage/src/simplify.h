/* Simplification of one function into another program. */
#ifndef LOOM_STAGE_SIMPLIFY_H
#define LOOM_STAGE_SIMPLIFY_H

#include "common/value.h"
#include "compiler/ir/core.h"

/* Copies function `f` of `from` into a new program as its only function, all calls inlined, constants folded, common
 * subexpressions merged, dead nodes left out. arguments (or NULL) as in loom_stage_request: small integers and booleans
 * in them become constants. Repeats until nothing changes. */
LOOM_MUST_USE loom_status *loom_simplify_function(loom_arena *arena, const loom_program *from, uint32_t f,
                                                  loom_value *const *arguments, loom_program **to);

#endif
