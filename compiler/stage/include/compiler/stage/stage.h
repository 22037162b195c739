/* From a program with sequences to a DAG of stages whose functions know arrays only.
 *
 * Passes, in order (see stage.c for the list):
 *   simplify   inline CALLs, fold constants (including scalar arguments that are known), common subexpressions, dead
 *              code
 *   normalise  group_seq becomes permute_seq / fold with the group as the outermost index, in batches where memory asks
 *              for them; conditions and loops around traversals become loops over stages
 *   split      sequences are cut into traversals; each becomes functions over arrays (docs/plan.md)
 * A program whose sequences cannot be split so (scan_seq, a group body that is not made of folds and permutes) becomes
 * one stage of kind WHOLE, with a remark that names rule and line.
 */
#ifndef LOOM_COMPILER_STAGE_STAGE_H
#define LOOM_COMPILER_STAGE_STAGE_H

#include "common/value.h"
#include "compiler/ir/core.h"
#include "compiler/plan/graph.h"

/* What is known when a job starts. `arguments[i]` is the value of the entry's i-th parameter, or NULL (a stream, or not
 * known); scalars among them are substituted as constants ("specialised") when `specialise`. */
typedef struct loom_stage_request {
    const loom_program *program;
    const char *entry;
    loom_value *const *arguments;
    bool specialise;
    uint64_t memory;    /* bytes a worker may use: groups that do not fit are taken in batches; 0: all are resident */
    uint64_t traversal; /* bytes that a traversal reads, about: batches are worth a traversal; 0: as large as fit */
} loom_stage_request;

/* Result: a program of stage functions plus the graph that names them, both in `arena`, checked. */
LOOM_MUST_USE loom_status *loom_stage_split(loom_arena *arena, const loom_stage_request *request, loom_program **staged,
                                            loom_graph **graph);
/* Simplifies one program (all functions) into a new one: the `simplified` stage of `explain`. */
LOOM_MUST_USE loom_status *loom_simplify(loom_arena *arena, const loom_program *program, loom_program **simplified);
/* Function f alone, as the only one of a program without calls. */
LOOM_MUST_USE loom_status *loom_simplify_one(loom_arena *arena, const loom_program *program, uint32_t f,
                                             loom_program **simplified);

#endif
