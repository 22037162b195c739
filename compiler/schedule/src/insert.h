/* Operations that a pass puts between others, or takes away. Private. */
#ifndef LOOM_SCHEDULE_INSERT_H
#define LOOM_SCHEDULE_INSERT_H

#include "compiler/ir/lifted.h"

/* An operation to stand before the one of some number. */
typedef struct loom_insertion {
    loom_lop op;
    uint32_t next; /* the next one there, or LOOM_NONE */
} loom_insertion;

typedef struct loom_inserts {
    loom_lifted *l;
    loom_arena *arena;
    const loom_lop_id *parent;
    LOOM_VEC(loom_insertion) made;
    uint32_t *first, *last;  /* per place between operations */
    bool *gone;              /* per operation: taken away */
    uint32_t *inner, *other; /* per LOOP and IF: how many operations its blocks have more */
} loom_inserts;

void loom_inserts_open(loom_inserts *p, loom_lifted *l, loom_arena *scratch);
/* Behind what was put there before. Whose blocks grow by that is said by loom_inserts_grow. */
void loom_insert(loom_inserts *p, loom_lop_id before, loom_lop op);
/* The operation's LOOPs and IFs have n operations more; n may be negative. */
void loom_inserts_grow(loom_inserts *p, loom_lop_id id, int32_t n);
/* Makes it so, and numbers operations anew. */
void loom_inserts_close(loom_inserts *p);

#endif
