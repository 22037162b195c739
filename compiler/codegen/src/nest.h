/* A loop nest under construction: nest.c, and tile.c for those that go in tiles. */
#ifndef LOOM_CODEGEN_NEST_H
#define LOOM_CODEGEN_NEST_H

#include "gen.h"

/* Part of an axis that the nest is about, instead of all of it. */
typedef struct loom_cut {
    uint32_t position;
    LLVMValueRef from, to;
} loom_cut;

typedef struct nest {
    loom_fn *fn;
    const loom_lop *op;
    const loom_bounds *bounds;
    uint32_t order[LOOM_LIFTED_MAX_AXES]; /* positions, outermost first */
    uint32_t n;
    loom_lblock_id body; /* built level by level, or LOOM_NONE */
    bool rows; /* the inner code goes along a segmented axis, and builds what is needed where it has elements */
    loom_cut cuts[2];
    uint32_t n_cuts;
} nest;

typedef void (*loom_nest_code)(nest *N, uint64_t known);

/* The bounds of the loop over an axis. */
LLVMValueRef loom_nest_lower(const nest *N, uint32_t position);
LLVMValueRef loom_nest_upper(const nest *N, uint32_t position);
/* Loops of levels [level, end), then the inner code. `known`: positions whose index is fixed. */
void loom_nest_loops(nest *N, uint32_t level, uint32_t end, uint64_t known, loom_nest_code inner);
/* Stores the results of a COMPUTE at the point that the loops have come to. */
void loom_nest_point(nest *N, uint64_t known);

/* ---- tile.c ---- */
/* Whether the last two axes of a COMPUTE are better gone through in tiles. */
bool loom_tile_fits(const nest *N);
/* The loops over them; those around are open, and none is empty. */
void loom_tile(nest *N, uint64_t known);

#endif
