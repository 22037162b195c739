/* Shape and regularity analysis on typed core (papers/001 sections 4.2 and 4.3, with the repairs of FIELD-NOTES).
 *
 * For each node: a shape, one descriptor for each array level, and a representation with respect to the maps around it:
 *   avoided    neither elements nor extents depend on the element that a map around is at: one copy serves all
 *   regular    elements depend on it, extents do not
 *   irregular  some extent does
 * Two levels with the same descriptor have the same extent whenever they stand in the same context; different ones may
 * be equal all the same. For loops the analysis also tells whether all elements take the same number of turns.
 *
 * Without knowledge of data: parameters claim nothing by themselves; what a size claims is a CLAIM node.
 * Threads: a call uses only its arena. Cost: linear in the program for each level of loop nesting, bounded by a budget
 * beyond which shapes become unknown (sound, not sharp). */
#ifndef LOOM_COMPILER_ANALYSIS_SHAPES_H
#define LOOM_COMPILER_ANALYSIS_SHAPES_H

#include "compiler/ir/core.h"

typedef enum loom_shape_rep {
    LOOM_SHAPE_AVOIDED,
    LOOM_SHAPE_REGULAR,
    LOOM_SHAPE_IRREGULAR
} loom_shape_rep;
typedef struct loom_shapes loom_shapes;

/* Analyses function `f` of a checked program as if called from outside. */
loom_shapes *loom_shapes_analyse(loom_arena *arena, const loom_program *program, uint32_t f);
loom_shape_rep loom_shapes_rep(const loom_shapes *shapes, loom_node_id node);
/* Loops: every element takes the same number of turns; IF: every element takes the same branch. True for other nodes.
 */
bool loom_shapes_uniform(const loom_shapes *shapes, loom_node_id node);
#define LOOM_NO_DESCRIPTOR UINT32_MAX
/* What is claimed of a level of one leaf. Equal descriptors: see above. */
typedef struct loom_shape_level {
    uint32_t descriptor; /* LOOM_NO_DESCRIPTOR: nothing is known */
    int64_t constant;    /* the extent; -1: it is none */
    bool rows_differ;    /* lists of this level may have different lengths within one value */
} loom_shape_level;
loom_shape_level loom_shapes_level(const loom_shapes *shapes, loom_node_id node, uint32_t leaf, uint32_t level);
/* "[14][%3]f64": constants, the node that gives an extent, "?n" for an unknown one, "*" where rows differ; a tuple as
 * "(leaf, leaf)". In the arena. */
const char *loom_shapes_text(const loom_shapes *shapes, loom_node_id node);
/* One line per node: number, operation, shape, representation (`explain --stage shapes`). */
void loom_shapes_print(const loom_shapes *shapes, FILE *to);

#endif
