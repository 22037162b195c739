/* Inside of split: regions, levels and needs, which `split` finds and `assemble` makes stages of. */
#ifndef LOOM_STAGE_SPLITTER_H
#define LOOM_STAGE_SPLITTER_H

#include "compiler/plan/graph.h"
#include "scope.h"

/* The entry's body, or the step of a loop with traversals inside (normal form: normalise.h). */
typedef struct split_region {
    loom_body_id body;
    loom_node_id loop; /* node of the parent region; LOOM_NONE for the entry */
    uint32_t parent;
    uint32_t max_level;
    uint32_t n_state;
    uint32_t *current, *result; /* slots */
    bool demanded;
} split_region;

typedef struct stage_need {
    loom_stage_kind kind;
    uint32_t region;
    uint32_t level;
    uint32_t index;                /* of the graph's stage made of it */
    uint32_t streams;              /* TRAVERSAL: representative of its connected streams */
    LOOM_VEC(loom_node_id) roots;  /* nodes of the region that it makes: consumers, or heavy array values */
    uint32_t n_leaves;             /* of these: they are one tuple, which has a limit */
    bool *needed;                  /* by node: computed in this stage */
    bool *boundary;                /* by node: comes in through a slot */
    loom_node_id spilled;          /* TRAVERSAL: the SEQ_SPILLED that it reads; LOOM_NONE */
    LOOM_VEC(loom_node_id) chains; /* TRAVERSAL: scan_seq and chain_seq in it, whose states it carries */
} stage_need;

typedef struct splitter {
    loom_arena *arena;
    const loom_program *p;
    loom_scope *scope;
    loom_body_id entry;
    LOOM_VEC(split_region) regions;
    uint32_t *region_of; /* by node: the region it is a node of, LOOM_NONE inside other bodies */
    uint32_t *level;     /* within its region */
    loom_node_id **deps; /* by node of a region: other such nodes it uses, directly or from its bodies */
    uint32_t *n_deps;
    bool *stream;         /* sequence that comes from a stream parameter */
    loom_node_id *filter; /* by sequence: the filter_seq that decides where its elements stand, LOOM_NONE: the stream */
    uint32_t *root;       /* union-find over stream parameters (by node) */
    LOOM_VEC(stage_need) stages;
    uint32_t n_scans, scan_leaves; /* scan_seq of streams: each state is an output of each stage that has the scan */
    const char *remark;
} splitter;

/* PROJECT of a loop's result or of the state that its step begins with. */
typedef struct split_field {
    uint32_t region; /* the loop's */
    uint32_t index;
    bool result;
} split_field;
bool split_is_field(const splitter *s, loom_node_id n, split_field *field);
/* The i-th field before the first turn, and for the next one. */
loom_node_id split_init(const splitter *s, uint32_t region, uint32_t i);
loom_node_id split_next(const splitter *s, uint32_t region, uint32_t i);

/* From what was found to functions and graph. */
void loom_split_assemble(splitter *s, const loom_function *f, loom_program **staged, loom_graph **graph);

#endif
