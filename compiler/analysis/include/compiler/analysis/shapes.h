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
/* The same where all rows of each parameter are known to have one length, as those of an array without lengths have. */
loom_shapes *loom_shapes_analyse_regular(loom_arena *arena, const loom_program *program, uint32_t f);
/* The same where this is known of some parameters: one truth value for each. */
loom_shapes *loom_shapes_analyse_inputs(loom_arena *arena, const loom_program *program, uint32_t f,
                                        const bool *regular);
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
/* The values that `node` has for all elements of the innermost map around `at` are known to have the same extents. */
bool loom_shapes_equal_rows(const loom_shapes *shapes, loom_node_id node, loom_node_id at);
/* How many maps are around the node. */
uint32_t loom_shapes_depth(const loom_shapes *shapes, loom_node_id node);

/* Why a node is not regular: where, on the way to it, the first extent came in that differs between elements or
 * within a value, and by which rule. */
typedef struct loom_shape_reason {
    const char *rule;  /* "Filter"; docs/language.md lists them */
    const char *text;  /* the rule in words */
    loom_node_id node; /* which applies it: its span is the line to look at */
} loom_shape_reason;
/* Reasons of all nodes together take time linear in the program. */
typedef struct loom_shape_reasons loom_shape_reasons;
loom_shape_reasons *loom_shapes_reasons(const loom_shapes *shapes, loom_arena *arena);
/* False: every extent of the node is the same for all elements, and rows have one length. */
bool loom_shapes_irregular_because(loom_shape_reasons *reasons, loom_node_id node, loom_shape_reason *reason);
/* False: loom_shapes_uniform. Else the node that decides how many turns a loop takes, or which branch is taken. */
bool loom_shapes_differs_because(const loom_shapes *shapes, loom_node_id node, loom_shape_reason *reason);
/* "[14][%3]f64": constants, the node that gives an extent, "?n" for an unknown one, "*" where rows differ; a tuple as
 * "(leaf, leaf)". In the arena. */
const char *loom_shapes_text(const loom_shapes *shapes, loom_node_id node);
/* One line per node: number, operation, shape, representation (`explain --stage shapes`). */
void loom_shapes_print(const loom_shapes *shapes, FILE *to);

#endif
