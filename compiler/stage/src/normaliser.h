/* Inside of normalise: what its files share. */
#ifndef LOOM_STAGE_NORMALISER_H
#define LOOM_STAGE_NORMALISER_H

#include "compiler/ir/core.h"
#include "compiler/ir/prim.h"
#include "scope.h"

typedef struct normaliser {
    loom_arena *arena;
    const loom_program *from;
    loom_program *to;
    const loom_scope *scope;
    loom_node_id *map;            /* node of from -> node of to, LOOM_NONE: not there yet */
    uint64_t memory;              /* bytes that the groups resident at one time may take; 0: all of them are */
    uint64_t traversal;           /* bytes that a traversal reads, about; 0: not known */
    const char *remark;           /* why there is no normal form */
    LOOM_VEC(const char *) notes; /* what is less than one might expect */
} normaliser;

/* Where there is no normal form: keeps the first reason and returns LOOM_NONE. */
loom_node_id normalise_refuse(normaliser *z, const loom_node *n, const char *why);
loom_node_id normalise_build(loom_program *p, loom_op op, loom_type_id type, const loom_node_id *operands, uint32_t n,
                             const loom_body_id *bodies, uint32_t n_bodies, uint32_t aux, loom_span span);
/* A primitive of two operands on i64, or a comparison of them. */
loom_node_id normalise_prim(loom_program *p, loom_prim prim, loom_node_id a, loom_node_id b, loom_span span);
/* Node `n` of the body that is being copied, and what it needs of that body; LOOM_NONE where there is no normal form.
 */
loom_node_id normalise_node(normaliser *z, loom_node_id n);
/* A body's nodes into the innermost open one, its parameters replaced. */
loom_node_id normalise_inline(normaliser *z, loom_body_id body, const loom_node_id *arguments);
/* zip_with^r op a b, over r array levels. */
loom_node_id normalise_combine(normaliser *z, loom_body_id op, uint32_t r, loom_node_id a, loom_node_id b,
                               loom_span span);

/* loops.c */
typedef struct normal_loop {
    loom_type_id type;        /* tuple: the test, then the other fields */
    loom_node_id state, node; /* the step's parameter; the loop (until it is closed, what it begins with) */
    loom_body_id test, step;
} normal_loop;
/* while state.0 { step }: opens the step, whose state is then to be read by PROJECT; closes it with the next fields. */
normal_loop normalise_open_loop(normaliser *z, const loom_node_id *init, uint32_t n, loom_span span);
void normalise_close_loop(normaliser *z, normal_loop *loop, const loom_node_id *next, loom_span span);
loom_node_id normalise_field(normaliser *z, const normal_loop *loop, loom_node_id of, uint32_t i, loom_span span);
/* A value of a type without rows or meaning. */
loom_node_id normalise_nothing(normaliser *z, loom_type_id type, loom_span span);
/* Whether a type has array levels. */
bool normalise_has_arrays(const loom_program *p, loom_type_id type);
/* An if, for or while with traversals inside. */
loom_node_id normalise_control(normaliser *z, loom_node_id n);

/* group.c: groups [first, first + count) of a group_seq as a sequence; first LOOM_NONE: from 0. */
loom_node_id normalise_group(normaliser *z, const loom_node *n, loom_node_id first, loom_node_id count);
/* Bytes that the accumulators of one group take, as a node; LOOM_NONE where they cannot be told. */
loom_node_id normalise_group_bytes(normaliser *z, const loom_node *n);

/* Bytes of a value of `to`, as a node; LOOM_NONE where arrays stand in tuples in arrays. */
loom_node_id normalise_value_bytes(normaliser *z, loom_node_id x, loom_span span);
/* Of one element below all array levels of a type (0 where it has arrays in it). */
int64_t normalise_element_bytes(const loom_program *p, loom_type_id type);

/* group_map_batch.c: a group_map_seq as a map_seq over the elements, what it makes of each group as tables; in batches
 * of groups whose tables fit into memory. */
loom_node_id normalise_group_map(normaliser *z, loom_node_id n);

/* batch.c: a group_seq in batches of groups that fit into memory, with its consumers. False where its shape is another
 * one: then all groups are resident. */
bool normalise_batches(normaliser *z, loom_node_id group, bool *failed);
/* Groups a batch of n, of `bytes` each: as many as there is memory for and as are worth it, evenly spread. */
loom_node_id normalise_batch_size(normaliser *z, loom_node_id n, loom_node_id bytes, loom_span span);
/* A traversal costs as much as so many bytes more of the stream, however short that is. */
#define TRAVERSAL_BYTES 64e6
loom_node_id normalise_ceil_div(loom_program *p, loom_node_id a, loom_node_id b, loom_span span); /* b: 1 at least */

/* spill.c: the stream of a group_seq, partitioned by batch. */
bool normalise_can_spill(const normaliser *z, loom_node_id group);
/* Before the loop: the elements of its stream, by batch. n: groups; size: of a batch. */
loom_node_id normalise_spill(normaliser *z, const loom_node *group, loom_node_id n, loom_node_id size);
/* In a turn: what the groups of one batch are made of. */
loom_node_id normalise_spilled(const normaliser *z, const loom_node *group, loom_node_id spill, loom_node_id batch);

/* Notes why the groups of a node are in memory all at once. */
void normalise_note_resident(normaliser *z, loom_node_id group, const char *why);

#endif
