/* Shared by turns.c and stay.c: loops whose elements differ in the number of turns. */
#ifndef LOOM_VECTORISE_TURNS_H
#define LOOM_VECTORISE_TURNS_H

#include "vec.h"

/* What a body makes the next value of a state's leaf of. */
typedef enum vec_root {
    ROOT_OTHER,   /* of something else */
    ROOT_SAME,    /* it is the state's own */
    ROOT_CHANGED, /* the state's own, but for what updates put there */
} vec_root;

/* Something that an element has between turns: the elements of leaf `leaf` of the state, or (`lengths`) how many
 * elements it has along own axis `level`. */
typedef struct slot {
    uint32_t leaf, level;
    bool lengths;
    bool flat;          /* its rows may differ in length */
    bool changes;       /* and from turn to turn */
    bool stays;         /* where it is, over all elements (stay.c): neither flat nor collected */
    uint32_t at;        /* among those that are collected */
    leaf whole;         /* stays: the elements' rows, an array; of the state, before and inside of the loop */
    uint32_t rows, sum; /* states: how many elements all turning elements have; have been collected */
} slot;

typedef struct turns {
    const loom_node *node;
    const loom_body *body, *test; /* no test: counted */
    const frame *for_body, *for_test;
    val initial, count;
    points all;
    bool *changes; /* own axis k of leaf i, at i * LOOM_MAX_DEPTH + k, may change */
    /* The leaf that has the same lengths along that axis, always; the leaf itself where there is none. */
    uint32_t *owner;
    bool grown;            /* what was taken to be so is not */
    const vec_root *roots; /* by leaf: what the body makes its next value of */
    slot *slots;
    uint32_t n_slots;
    loom_lvalue_id *before, *state, *next;
    uint32_t n_states, n_collected; /* without numbers, which are collected where anything is */
    uint32_t numbers, first_slot;   /* states: the numbers of the elements; slots */
    loom_lvalue_id *collected, *results, counter, go_on;
    loom_lop_id first;
    extent turning; /* inside: as many as turn */
    leaf number;
    val arrays;                                      /* of a turn: slots as arrays of its elements */
    val ended, others, ended_numbers, other_numbers; /* places in it */
    extent n_others;
} turns;

/* turns.c */
extent vec_scalar_extent(vec *v, loom_lvalue_id value);
leaf vec_list_leaf(vec *v, loom_lvalue_id id, extent e); /* an array of i64 along one axis */
/* Row `row` of an array, which is there, under levels of the context, as an array with these own axes. */
bool vec_row_of(vec *v, const loom_node *n, const leaf *array, const leaf *row, const extent *own, leaf *x);

/* ---- stay.c ---- */

/* For each leaf of the state what the next one is made of, as far as operations show it. */
const vec_root *vec_state_roots(vec *v, const loom_body *body, uint32_t state, uint32_t n_leaves);
/* The leaf over the level of the part that all elements are, as a state that stays. */
bool vec_stay_start(vec *v, const turns *t, slot *s, const leaf *x, uint32_t level, loom_lvalue_id *value);
/* The state's rows, as value `id` has them. */
leaf vec_stay_whole(const slot *s, loom_lvalue_id id);
/* x over the level of the part of those that turn, `number`: of the element there. Puts it in the state's place. */
bool vec_stay_next(vec *v, const turns *t, const slot *s, loom_lvalue_id state, const leaf *x, const leaf *number,
                   uint32_t level, loom_lvalue_id *next);

#endif
