/* A group_seq or group_map_seq that is being rewritten: what group.c, group_map.c and keys.c share. */
#ifndef LOOM_STAGE_GROUP_H
#define LOOM_STAGE_GROUP_H

#include "normaliser.h"

typedef struct group {
    const loom_node *node;
    loom_body_id keys, body;       /* of from */
    loom_node_id first, n, source; /* of to; first: LOOM_NONE for 0 */
    loom_node_id *copy;            /* private map for nodes of the group body that are copied several times */
    const bool *independent;       /* by node of the group body: see independent_nodes */
} group;

/* By node of the group's body: array (not stream) nodes that depend on no stream; they may depend on k. */
bool *group_independent_nodes(normaliser *z, const group *g);
/* Emits, in the open body, the value that stream node `x` of the group body has for element `e` and group `k`. */
loom_node_id group_element(normaliser *z, group *g, loom_node_id x, loom_node_id e, loom_node_id k);

/* group_map.c: what a group_map_seq makes of each group, as tables over the groups resident. */
typedef struct group_tables {
    normaliser *z;
    group g;
    const bool *used;    /* by node of the group body: chains' bodies use it */
    loom_node_id *table; /* by node of the group body: T_i, or what is the same for all groups; else LOOM_NONE */
    bool *depends;       /* by node of the group body: on k */
} group_tables;

/* All groups resident, until g.first and g.n are set to others. */
group_tables group_open_tables(normaliser *z, const loom_node *n);
/* Whether a node of the group body becomes a table, or what is the same for all groups. */
bool group_is_table(const group_tables *t, loom_node_id n);
/* The sequence of what the groups resident give to each element. before: what groups before them gave, one row an
 * element (before the first, one row of the neutral element); LOOM_NONE: there are none before. */
loom_node_id group_map_elements(group_tables *t, loom_node_id before);

/* keys.c */
/* Whether the keys surely ascend without repeats: generate m (\j -> x + j), x from outside. */
bool group_keys_ascend(const loom_scope *s, loom_body_id keys);
/* Keys with repeats replaced by -1. */
loom_node_id group_without_repeats(normaliser *z, loom_node_id keys, loom_span span);
/* Keys in [0, n) in ascending order, then -1 for each of the others; repeats are -1 already. */
loom_node_id group_sorted_keys(normaliser *z, loom_node_id keys, loom_span span);
/* Place of group k in the accumulators or tables, and the group at a place. */
loom_node_id group_place(normaliser *z, const group *g, loom_node_id k, loom_span span);
loom_node_id group_at(normaliser *z, const group *g, loom_node_id j, loom_span span);
/* Whether a place is one of those. */
loom_node_id group_is_resident(normaliser *z, const group *g, loom_node_id place, loom_span span);

#endif
