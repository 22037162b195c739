/* Normal form of a program with sequences, from which `split` cuts stages:
 *  - group_seq is gone: the group is the outermost index of a permute's target, and where not all groups fit into
 *    memory, a loop takes a batch of them each turn (batch.c); so is group_map_seq (group_map_batch.c);
 *  - a condition or loop with traversals inside is a LOOP_WHILE whose state is a tuple, made by TUPLE, used by PROJECT,
 *    with the test in field 0 (loops.c);
 *  - the destination of every permute_seq is filled with its operator's neutral element; a destination with content of
 *    its own is combined in afterwards, by array operations.
 */
#ifndef LOOM_STAGE_NORMALISE_H
#define LOOM_STAGE_NORMALISE_H

#include "compiler/ir/core.h"

/* Remarks on a normal form there is. */
typedef struct loom_notes {
    uint32_t n;
    const char *const *at;
} loom_notes;

/* `p` is simplified: one function. memory: bytes a worker may use; 0: as many as it takes. traversal:
 * bytes that a traversal reads; 0: not known. On success *to is the normal form, or NULL with a remark where there is
 * none. */
LOOM_MUST_USE loom_status *loom_normalise(loom_arena *arena, const loom_program *p, uint64_t memory, uint64_t traversal,
                                          loom_program **to, const char **remark, loom_notes *notes);

#endif
