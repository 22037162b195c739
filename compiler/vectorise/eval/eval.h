/* Inside the evaluator of lifted IR. */
#ifndef LOOM_LIFTED_EVAL_IMPL_H
#define LOOM_LIFTED_EVAL_IMPL_H

#include "common/buffer.h"
#include "compiler/interp/interp.h"
#include "compiler/vectorise/eval.h"
#include <inttypes.h>
#include <string.h>

typedef struct buffer {
    loom_scalar *at; /* NULL: not made yet */
    int64_t n;
    const loom_axis_id *axes;
    int64_t extents[LOOM_LIFTED_MAX_AXES]; /* 0: segmented */
} buffer;

typedef struct block_list {
    uint32_t n;
    loom_lexpr_id *own; /* expressions of the block itself, in order */
} block_list;

typedef struct eval {
    const loom_lifted *l;
    const loom_lifted_arguments *arguments;
    loom_arena *arena;
    buffer *values;
    loom_scalar **exprs; /* results of each expression */
    block_list *blocks;
    int64_t point[LOOM_LIFTED_MAX_AXES];
    buffer *targets; /* accumulators of PERMUTE outputs, leaf by leaf */
    uint32_t *first_target;
    uint32_t idle;      /* blocks around that are not taken: nothing in them raises an error */
    loom_status *error; /* the first that was raised */
    loom_status *defect;
} eval;

int64_t leval_axis_extent(eval *v, loom_axis_id axis);
int64_t leval_offset_of(const eval *v, const buffer *b, const int64_t *index, uint32_t n, bool *inside);
/* Evaluates a block; its results are read with block_result. */
void leval_run_block(eval *v, loom_lblock_id id, const loom_scalar *params);
loom_scalar leval_block_result(const eval *v, loom_lblock_id id, uint32_t i);
void leval_raise_site(eval *v, loom_lsite_id site, int64_t a, int64_t b);

#endif
