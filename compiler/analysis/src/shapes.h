/* Inside shape analysis: abstract values.
 *
 * A value is one abstract leaf per scalar leaf of its type. `elements` and each level's `levels` are sets of context
 * levels (one bit per map or generate around) that the leaf's scalars, or that level's extent, may depend on. `own` is
 * the set of array levels around a level, within the same value, that its extent may depend on: not empty means rows
 * differ.
 *
 * DESCRIPTORS are interned: CONST n; NODE %n (the i64 that %n gives); INPUT (level of a leaf of a parameter); LABEL
 * (fresh, equal to itself only); AT(d, t): the extent d at element t, t a scalar's descriptor or a map's own token.
 * Mapping over an array turns a level's d into AT(d, token), and leaving the map turns AT(d, token) back into d:
 * papers/001, S4. */
#ifndef LOOM_ANALYSIS_SHAPES_IMPL_H
#define LOOM_ANALYSIS_SHAPES_IMPL_H

#include "common/value.h"
#include "compiler/analysis/shapes.h"
#include <inttypes.h>
#include <string.h>

typedef enum desc_kind {
    DESC_CONST,
    DESC_NODE,
    DESC_INPUT,
    DESC_LABEL,
    DESC_AT,
    DESC_TOKEN
} desc_kind;
typedef struct desc {
    desc_kind kind;
    int64_t a, b, c;
} desc;
typedef uint32_t desc_id;

typedef struct dim {
    desc_id desc;
    uint64_t levels;
    uint32_t own;
} dim;

typedef struct aleaf {
    loom_dtype dtype;
    uint64_t elements;
    uint32_t depth;
    const dim *dims;
    desc_id value; /* of a scalar */
} aleaf;

typedef struct aval {
    uint32_t n;
    const aleaf *at;
} aval;

typedef struct aframe {
    loom_node_id first, end;
    aval *vals;
    struct aframe *up;
} aframe;

struct loom_shapes {
    loom_arena *arena;
    const loom_program *p;
    uint32_t function;
    desc *descs;
    uint32_t n_descs, cap_descs;
    uint32_t *desc_heads, *desc_next;
    uint32_t depth; /* maps around */
    uint64_t steps, max_steps;
    int64_t labels;
    bool regular_inputs;       /* rows of parameters have one length */
    const bool *regular_input; /* by parameter, or NULL */
    bool record;               /* not inside a CALL: results stand for the node */
    aval *of_node;
    uint32_t *depth_of;
    bool *differs;       /* loops and conditionals: not uniform */
    loom_body_id *owner; /* by node */
};

/* value.c */
desc_id shapes_desc(loom_shapes *s, desc_kind kind, int64_t a, int64_t b, int64_t c);
desc_id shapes_label(loom_shapes *s);
bool shapes_is_label(const loom_shapes *s, desc_id d);
uint64_t shapes_level(uint32_t depth); /* as a set */
uint32_t shapes_count(loom_shapes *s, loom_type_id type);
aval shapes_make(loom_shapes *s, loom_type_id type, aleaf **at); /* leaves typed, dims labelled */
aleaf *shapes_copy(loom_shapes *s, const aval *x, aval *to);
dim *shapes_dims(loom_shapes *s, aleaf *x);                                     /* own copy */
aval shapes_bind(loom_shapes *s, const aval *x, desc_id token, uint64_t level); /* the element */
aval shapes_unbind(loom_shapes *s, const aval *x, desc_id token, uint64_t level, dim outer);
/* What is either: equal levels stay, others become labels that depend on `chooser` and on what both depended on. */
aval shapes_join(loom_shapes *s, const aval *a, const aval *b, uint64_t chooser);
bool shapes_same(const aval *a, const aval *b);
uint64_t shapes_all(const aval *x); /* everything that elements or extents depend on */
aval shapes_unknown(loom_shapes *s, loom_type_id type, uint64_t levels);

#endif
