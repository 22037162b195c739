/* Inside of versions.c: the program at hand, and what its files call of each other. */
#ifndef LOOM_VECTORISE_VERSIONS_IMPL_H
#define LOOM_VECTORISE_VERSIONS_IMPL_H

#include "common/value.h"
#include "compiler/analysis/shapes.h"
#include "compiler/vectorise/versions.h"

typedef enum verdict {
    LATER,   /* inside of another one, or it needs another one's result */
    BODY,    /* what the body says */
    VERSION, /* in the map around it; of an IF: taken apart there, for the calls in its branches */
} verdict;

typedef struct chooser {
    loom_arena *arena;
    const loom_program *from;
    loom_program *to;
    uint32_t function;
    bool versions; /* else all are what their bodies say */
    const loom_shapes *shapes;
    loom_shape_reasons *reasons;
    loom_version_notes *notes;
    loom_body_id *owner; /* by node: the body around it */
    loom_node_id *user;  /* by body: the node that uses it, or LOOM_NONE */
    uint32_t *first_own; /* by body: into `own`, which lists the nodes of each body without those of inner ones */
    loom_node_id *own;
    bool *live;        /* by node */
    uint8_t *verdict;  /* by node: of LIFTED and IF */
    bool *splits;      /* by node: a map with calls that a version takes the place of */
    bool *becomes_map; /* by node: a generate with such calls */
    loom_node_id *map; /* node of from -> node of to */
    bool open;         /* something is left for another round */
} chooser;

static inline bool is_lifted(const chooser *c, loom_node_id id) {
    return c->from->nodes[id].op == LOOM_OP_LIFTED;
}

static inline bool is_map(loom_op op) {
    return op == LOOM_OP_MAP || op == LOOM_OP_GENERATE;
}

/* A map that is taken apart at the calls in its body. */
typedef struct splitting {
    chooser *c;
    loom_node_id id; /* the map */
    loom_body_id body;
    loom_span span;
    loom_node_id *arrays; /* that it goes over */
    uint32_t n_arrays;
    loom_node_id length;
    bool *before; /* by node of the body's range, from `first`: the arguments of calls need it */
    loom_node_id first;
    LOOM_VEC(loom_node_id) calls;  /* that a version takes the place of */
    uint32_t n_kept;               /* the first fields: those that the second half needs */
    LOOM_VEC(loom_node_id) fields; /* what the first half gives */
    uint32_t *field_of;            /* by node of the range: its number + 1 */
    loom_node_id *given;           /* the arrays of it */
} splitting;

/* ---- versions.c ---- */
/* Nodes of body `b` that node `id` of that body uses, itself or in its bodies. */
void versions_for_uses(const chooser *c, loom_node_id id, loom_body_id b, void (*use)(void *, loom_node_id), void *to);
/* Where the declaration names the function (body 0) and its version (1). */
loom_span versions_declared(const chooser *c, const loom_node *call, uint32_t body);
void versions_note(chooser *c, loom_node_id id, const char *what);
void versions_note_version(chooser *c, loom_node_id id);

/* ---- versions_emit.c: nodes of `from` into the innermost open body of `to` ---- */
loom_node_id versions_make(chooser *c, loom_op op, loom_type_id type, const loom_node_id *operands, uint32_t n,
                           const loom_body_id *bodies, uint32_t n_bodies, uint32_t aux, loom_span span);
loom_node_id versions_make1(chooser *c, loom_op op, loom_type_id type, loom_node_id x, uint32_t aux, loom_span span);
loom_type_id versions_type_of(const chooser *c, loom_node_id id); /* of a node of `to` */
loom_type_id versions_copied_type(chooser *c, loom_node_id id);   /* of one of `from`, in `to` */
loom_type_id versions_i64(chooser *c);
loom_node_id versions_length_of(chooser *c, loom_node_id x, loom_span span);
loom_node_id *versions_params_of(chooser *c, loom_body_id open, uint32_t n);
/* Opens a body with the parameters of one of `from`. */
loom_body_id versions_open_like(chooser *c, loom_body_id body, loom_node_id **params);
loom_node_id versions_emit_node(chooser *c, loom_node_id id);
/* The live nodes of a body, its parameters replaced. */
loom_node_id versions_inlined(chooser *c, loom_body_id body, const loom_node_id *args);
/* A function's body, as decided. */
loom_body_id versions_emit_decided(chooser *c, loom_body_id from);

/* ---- versions_split.c ---- */
loom_node_id versions_split_map(chooser *c, loom_node_id id);
/* The values of an argument for all elements. */
loom_node_id versions_all_of(splitting *s, loom_node_id id);

/* ---- versions_branch.c ---- */
/* The results of a conditional for all elements. */
loom_node_id versions_by_branches(splitting *s, loom_node_id id);

#endif
