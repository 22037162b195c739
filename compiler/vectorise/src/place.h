/* Shared by permute.c and place.c: what is put where. */
#ifndef LOOM_VECTORISE_PLACE_H
#define LOOM_VECTORISE_PLACE_H

#include "vec.h"

/* The index space of a permute: units, each with a place, and the axes of the elements that they put there. */
typedef struct space {
    uint32_t depth;   /* of the context */
    uint32_t n_units; /* own axes of `is` */
    uint32_t n_inner; /* axes of the target's elements */
    bool loose;       /* elements may differ in shape from those of the target */
    extent units[LOOM_MAX_DEPTH];
} space;

typedef struct placing {
    const loom_node *node;
    const val *dest, *is, *xs;
    uint32_t rank;
    loom_lblock_id combine;
    uint16_t builtin;
    bool zips;                  /* the operator fails where its operands differ in shape */
    uint32_t output;            /* or LOOM_NONE */
    bool distinct, covers;      /* see loom_lop */
    const loom_lvalue_id *onto; /* dest values, made by the caller where there is no output */
    uint64_t context;           /* levels of the target */
} placing;

/* permute.c: the values that come of it, one leaf for each of dest; its places in whatever rows. */
bool vec_permute_values(vec *v, placing *p, leaf *out);

/* place.c: rows that differ in length */
/* Each element that goes somewhere has the shape of what is there. */
bool vec_check_placed_rows(vec *v, const placing *p, const space *s);
/* The target as one axis, and for each scalar its place there, or -1. */
bool vec_flat_places(vec *v, const placing *p, const space *s, val *dest, val *is, val *xs);
/* Leaves over that axis and the context as the target is. */
bool vec_unflatten_places(vec *v, const placing *p, uint64_t context, leaf *out);
bool vec_scatter_rows(vec *v, const placing *p, val *result);

#endif
