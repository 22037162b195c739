#include "insert.h"
#include "compiler/schedule/reads.h"
#include "hoist.h"
#include <string.h>

void loom_inserts_open(loom_inserts *p, loom_lifted *l, loom_arena *scratch) {
    size_t n = (size_t)l->n_ops + 1;
    *p = (loom_inserts){.l = l, .arena = scratch, .parent = loom_lifted_parents(l, scratch)};
    p->first = LOOM_NEW_ARRAY(scratch, uint32_t, n);
    p->last = LOOM_NEW_ARRAY(scratch, uint32_t, n);
    p->gone = LOOM_NEW_ARRAY(scratch, bool, n);
    p->inner = LOOM_NEW_ARRAY(scratch, uint32_t, n);
    p->other = LOOM_NEW_ARRAY(scratch, uint32_t, n);
    memset(p->first, 0xff, n * sizeof *p->first);
    memset(p->last, 0xff, n * sizeof *p->last);
}

void loom_insert(loom_inserts *p, loom_lop_id before, loom_lop op) {
    loom_insertion made = {op, LOOM_NONE};
    LOOM_PUSH(p->arena, p->made, made);
    uint32_t at = (uint32_t)p->made.count - 1;
    if (p->first[before] == LOOM_NONE) p->first[before] = at;
    if (p->last[before] != LOOM_NONE) p->made.at[p->last[before]].next = at;
    p->last[before] = at;
}

void loom_inserts_grow(loom_inserts *p, loom_lop_id id, int32_t n) {
    for (loom_lop_id a = id; p->parent[a] != LOOM_NONE; a = p->parent[a]) {
        const loom_lop *around = &p->l->ops[p->parent[a]];
        bool inner = a >= around->inner_first && a < around->inner_end;
        (inner ? p->inner : p->other)[p->parent[a]] += (uint32_t)n;
    }
}

static void append(loom_lop *ops, uint32_t *n, const loom_inserts *p, loom_lop_id before) {
    for (uint32_t i = p->first[before]; i != LOOM_NONE; i = p->made.at[i].next) ops[(*n)++] = p->made.at[i].op;
}

void loom_inserts_close(loom_inserts *p) {
    loom_lop *ops = LOOM_NEW_ARRAY(p->arena, loom_lop, (size_t)p->l->n_ops + p->made.count + 1);
    uint32_t n = 0;
    for (loom_lop_id id = 0; id < p->l->n_ops; id++) {
        append(ops, &n, p, id);
        if (p->gone[id]) continue;
        loom_lop op = p->l->ops[id];
        op.inner_end += p->inner[id]; /* only how many there are counts */
        op.else_end += p->other[id];
        ops[n++] = op;
    }
    append(ops, &n, p, p->l->n_ops);
    loom_schedule_set_ops(p->l, ops, n);
}
