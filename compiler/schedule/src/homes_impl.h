/* Shared by homes.c, home_numbers.c, home_moves.c and home_choices.c: rows that have their home in a state. */
#ifndef LOOM_SCHEDULE_HOMES_IMPL_H
#define LOOM_SCHEDULE_HOMES_IMPL_H

#include "changes.h"
#include "clone.h"
#include "compiler/schedule/reads.h"
#include "homes.h"
#include "insert.h"
#include <string.h>

/* What is looked at for one PERMUTE. */
typedef struct home {
    loom_lifted *l;
    loom_arena *arena;
    loom_inserts *inserts;
    loom_lop_id put, loop; /* the PERMUTE; the LOOP of the state */
    loom_lexpr_id number;  /* in its body, of axis 0 */
    loom_axis_id axis;     /* t */
    loom_lvalue_id whole;  /* the state */
    LOOM_VEC(loom_lvalue_id) members;
    bool *member, *taken; /* per value; taken: and it is what was taken from the state */
    uint8_t *makes;       /* per operation that makes some */
} home;

enum {
    COMPUTES = 1,
    PERMUTES = 2,
    MOVED = 3 /* it has done so, and makes nothing else */
};

static inline const loom_lexpr *expr(const home *x, loom_lexpr_id id) {
    return &x->l->exprs[id];
}

static inline loom_lexpr_id result_of_body(const home *x, const loom_lop *op, uint32_t i) {
    return x->l->blocks[op->body].results[i];
}

static inline bool is_axis(const home *x, loom_lexpr_id id, uint32_t position) {
    return expr(x, id)->kind == LOOM_LX_AXIS && expr(x, id)->aux == position;
}

/* Whether arguments from `from` on are the operation's own indices. */
static inline bool is_own(const home *x, const loom_lexpr *e, uint32_t from) {
    for (uint32_t i = from; i < x->l->values[e->aux].n_axes; i++) {
        if (!is_axis(x, loom_lifted_arg(x->l, e, i), i)) return false;
    }
    return true;
}

static inline uint32_t number_of(const loom_lop *op, loom_lvalue_id value) {
    uint32_t j = 0;
    while (j < op->n_results && op->results[j] != value) j++;
    return j;
}

static inline bool is_inside(const home *x, loom_lop_id id) {
    const loom_lop *loop = &x->l->ops[x->loop];
    return id >= loop->inner_first && id < loop->inner_end;
}

static inline const loom_lop *maker(const home *x, loom_lvalue_id id) {
    const loom_lvalue *v = &x->l->values[id];
    return v->source == LOOM_LV_OP && is_inside(x, v->op) ? &x->l->ops[v->op] : NULL;
}

/* ---- home_numbers.c ---- */

/* Axes of as many points: a count that was copied is the same. */
bool home_same_count(const home *x, loom_axis_id a, loom_axis_id b);
/* Whether the two are the same number, seen through what finds it. */
bool home_is_number(const home *x, loom_lexpr_id a, loom_lexpr_id b);
/* Whether the expression is the state at (number(t), j). */
bool home_is_taken(const home *x, loom_lexpr_id id);
/* Whether values over these axes have the state's rows, of t. */
bool home_has_rows(const home *x, uint32_t n, const loom_axis_id *axes);
/* Whether something in the body may fail, or need not end: then it is evaluated, whoever uses what it gives. */
bool home_may_fail(const home *x, const loom_lop *op);

/* ---- homes.c ---- */

/* The one value at its own point that the operation changes, if it is one that has its home there; or LOOM_NONE. */
loom_lvalue_id home_changed_by(home *x, const loom_lop *op);

/* ---- home_moves.c ---- */

/* How often the block loads members. */
uint32_t home_loads_in(const home *x, loom_lblock_id block);
/* Makes members the state with their rows in it. `of`: what the PERMUTE puts there, or changes of that. */
void home_move(home *x, loom_lvalue_id of);
loom_lexpr_id home_axis(home *x, uint32_t position);
/* The number of the element that is t of the rows. `anywhere`: t may be none, and then the number is -1. */
loom_lexpr_id home_numbered(home *x, loom_lexpr_id id, loom_lexpr_id t, bool anywhere, loom_lsite_id site);

/* ---- home_choices.c: rows that some elements make, and others ---- */

/* What is found by a place and is at that place is not looked for. */
void home_shorten_choice(home *x);
/* Makes one PERMUTE of a branch's rows and one of the others. False: it is no such choice. */
bool home_split_choice(home *x);

#endif
