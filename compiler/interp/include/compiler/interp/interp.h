/* Interpreter of typed core: the judge of compiled code, `gridloom eval`, and the last rung of the ladder.
 *
 * Naive on purpose: evaluates a function of a program on values. Sequences are evaluated as finite lists: a `seq t`
 * parameter is given as a value of type []t. Scalar functions are those of compiler/interp/math (one set; generated
 * code inlines the same). Threads: an evaluation uses only its own memory; several may run at once on one program.
 * Errors: LOOM_E_RUNTIME with the span of the node and, inside maps, the element index path in a note.
 */
#ifndef LOOM_COMPILER_INTERP_INTERP_H
#define LOOM_COMPILER_INTERP_INTERP_H

#include "common/value.h"
#include "compiler/ir/core.h"
#include "compiler/ir/windows.h"
#include <stdatomic.h>

/* Shown what happens: a body that begins, each value that is made in it (not parameters), and its end, unless it fails.
 * Bodies that are one primitive, given to folds and the like, are not shown, nor are bodies that run on many elements
 * at once (one_by_one). */
typedef struct loom_interp_observer {
    void *user;
    void (*enter)(void *user, loom_body_id body);
    void (*value)(void *user, loom_node_id node, const loom_value *value);
    void (*leave)(void *user, loom_body_id body);
} loom_interp_observer;

/* A random_split_seed for those who do not care which. */
#define LOOM_INTERP_SPLITS 0x9E3779B97F4A7C15u
typedef struct loom_interp_options {
    uint64_t memory_limit;      /* bytes of values alive; 0: none */
    uint64_t work_limit;        /* evaluations; 0: none */
    const atomic_bool *cancel;  /* looked at once a node and a turn: LOOM_E_CANCELLED when true; NULL: never */
    uint64_t random_split_seed; /* not 0: reduce_seq and fold_seq are evaluated over random splits (law testing) */
    /* Of a stage's function over a chunk: position of its first element in the stream, and their number (0: not one).
     * For errors: an outermost index into arrays of that length is told as a place in the stream. */
    int64_t stream_first, stream_count;
    bool one_by_one; /* no body is run on many elements at once: for tests that hold the quick path against the plain
                        one */
    const loom_interp_observer *observer; /* NULL: none */
} loom_interp_options;

/* Counters of work: compiled code is held against these. scalar_evaluations: primitives and conversions, weighted as in
 * the table of primitives, 5 n log2 n for a transform, n log2 n for each scalar of the keys of a sort. elements_moved:
 * scalars written into arrays. steps: of a parallel machine; one for each operation on whole arrays, those of a map's
 * deepest element and one more for a map, those of the operator times log2 n for a fold or scan. All are the same
 * however the evaluation goes about it. */
typedef struct loom_interp_counters {
    uint64_t scalar_evaluations, elements_moved, steps;
    loom_window_counts windows; /* elements of `group_seq forever` */
} loom_interp_counters;

/* Evaluates function `f` (index into program->functions). arguments[i] is the i-th parameter's value, flattened with
 * leaf names below the parameter ("" for an array or scalar). *result has one reference. counters may be NULL. */
LOOM_MUST_USE loom_status *loom_interp_call(const loom_program *program, uint32_t f, loom_value *const *arguments,
                                            const loom_interp_options *options, loom_value **result,
                                            loom_interp_counters *counters);
/* One scalar primitive; the rule for constants folded by the compiler and for the interpreter. Error for division by
 * zero etc. (message without span). */
LOOM_MUST_USE loom_status *loom_interp_prim(uint16_t prim, const loom_dtype *types, const loom_scalar *operands,
                                            loom_scalar *result);
LOOM_MUST_USE loom_status *loom_interp_convert(loom_dtype from, loom_scalar value, loom_dtype to, loom_scalar *result);

#endif
