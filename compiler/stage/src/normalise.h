/* Normal form of a program with sequences, from which `split` cuts stages:
 *  - group_seq is gone (resident form: the group is the outermost index of a permute's target);
 *  - the destination of every permute_seq is filled with its operator's neutral element; a destination with content of
 *    its own is combined in afterwards, by array operations.
 */
#ifndef LOOM_STAGE_NORMALISE_H
#define LOOM_STAGE_NORMALISE_H

#include "compiler/ir/core.h"

/* `p` is simplified: one function. On success *to is the normal form, or NULL with a remark where there is none. */
LOOM_MUST_USE loom_status *loom_normalise(loom_arena *arena, const loom_program *p, loom_program **to,
                                          const char **remark);

#endif
