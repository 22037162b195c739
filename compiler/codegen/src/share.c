/* States of loops that are changed in place.
 *
 * Rule. The next value of a state takes the state's own memory if what makes it of the old one can do so in place: a
 * COMPUTE that reads the old value at the very point it computes; a PERMUTE onto the old value, or onto another that is
 * in place already; a LOOP that starts with it, whose state then has this memory, too; an IF, of whose branches each
 * leaves it, changes it in place, or else is copied to it at its end. Whoever writes there must be the last to look at
 * what is overwritten, but for operations of the other branch of an IF, which do not run then.
 *
 * Example: loop xs for i < n do if c then (loop xs for j < i do xs with [j] = a) with [i] = b else xs
 *     all in the memory of the outer xs. Cost: for each state the readers of the values that it goes through. */
#include "compiler/schedule/reads.h"
#include "gen.h"
#include <string.h>

typedef struct sharer {
    loom_gen *g;
    uint32_t *begin; /* per value: where its readers begin */
    loom_lop_id *readers;
    loom_lvalue_id *owner; /* per value: the state whose memory it has, or LOOM_NONE */
    loom_lop_id loop;
    loom_lvalue_id state;
    bool apply; /* or only find out */
} sharer;

/* ---- who reads what ---- */

typedef struct noting {
    sharer *s;
    loom_lop_id op;
    uint32_t *at;
} noting;

static void count_reader(void *context, loom_lvalue_id value) {
    noting *n = context;
    n->s->begin[value + 1]++;
}

static void note_reader(void *context, loom_lvalue_id value) {
    noting *n = context;
    n->s->readers[n->at[value]++] = n->op;
}

static void find_readers(sharer *s) {
    loom_gen *g = s->g;
    const loom_lifted *l = g->l;
    noting n = {.s = s};
    s->begin = LOOM_NEW_ARRAY(g->arena, uint32_t, (size_t)l->n_values + 2);
    for (loom_lop_id i = 0; i < l->n_ops; i++) loom_lifted_reads(l, i, count_reader, &n);
    for (loom_lvalue_id v = 0; v < l->n_values; v++) s->begin[v + 1] += s->begin[v];
    s->readers = LOOM_NEW_ARRAY(g->arena, loom_lop_id, (size_t)s->begin[l->n_values] + 1);
    n.at = LOOM_NEW_ARRAY(g->arena, uint32_t, (size_t)l->n_values + 1);
    memcpy(n.at, s->begin, l->n_values * sizeof *n.at);
    for (n.op = 0; n.op < l->n_ops; n.op++) loom_lifted_reads(l, n.op, note_reader, &n);
}

/* Whether the two stand in different branches of an IF. */
static bool exclude_each_other(const loom_gen *g, loom_lop_id a, loom_lop_id b) {
    for (; g->parent[a] != LOOM_NONE; a = g->parent[a]) {
        const loom_lop *p = &g->l->ops[g->parent[a]];
        if (p->kind != LOOM_LO_IF || b < p->inner_first || b >= p->else_end) continue;
        if ((a < p->inner_end) != (b < p->inner_end)) return true;
    }
    return false;
}

/* Whether nothing looks at the value once operations from `from` on have begun, but for `by`. */
static bool is_dead(const sharer *s, loom_lvalue_id value, loom_lop_id from, loom_lop_id by) {
    for (uint32_t i = s->begin[value]; i < s->begin[value + 1]; i++) {
        loom_lop_id r = s->readers[i];
        if (r != by && r >= from && !exclude_each_other(s->g, from, r)) return false;
    }
    return true;
}

/* ---- one value after the other ---- */

/* Whether the operation reads the value only at the very point it computes. */
static bool reads_own_point(const loom_lifted *l, const loom_lop *op, loom_lvalue_id value) {
    for (loom_lexpr_id e = l->blocks[op->body].first; e < l->blocks[op->body].end; e++) {
        const loom_lexpr *x = &l->exprs[e];
        if (x->kind != LOOM_LX_LOAD || x->aux != value) continue;
        for (uint32_t i = 0; i < l->values[value].n_axes; i++) {
            const loom_lexpr *index = &l->exprs[loom_lifted_arg(l, x, i)];
            if (index->kind != LOOM_LX_AXIS || index->aux != i) return false;
        }
    }
    return true;
}

/* The same of a permute onto the value: points that go to distinct places may read their own; one point alone reads
 * before it writes; others may not read it at all. */
static bool reads_own_place(const loom_lifted *l, const loom_lop *op, loom_lvalue_id value) {
    const loom_lblock *b = &l->blocks[op->body];
    for (loom_lexpr_id e = b->first; e < b->end && (op->n_axes || !op->distinct); e++) {
        const loom_lexpr *x = &l->exprs[e];
        if (x->kind != LOOM_LX_LOAD || x->aux != value) continue;
        for (uint32_t i = 0; i < op->rank; i++) {
            if (!op->distinct || loom_lifted_arg(l, x, i) != b->results[i]) return false;
        }
    }
    return true;
}

static uint32_t result_of(const loom_lop *op, loom_lvalue_id value) {
    uint32_t j = 0;
    while (j < op->n_results && op->results[j] != value) j++;
    return j;
}

static uint32_t count(uint32_t n, const loom_lvalue_id *values, loom_lvalue_id value) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++) found += values[i] == value;
    return found;
}

/* All that has the one memory gets the other. */
static void move_all(loom_gen *g, uint32_t from, uint32_t to) {
    for (loom_lvalue_id v = 0; from != to && v < g->l->n_values; v++) {
        if (g->value_buffer[v] == from) g->value_buffer[v] = to;
    }
}

static bool fits(const sharer *s, loom_lvalue_id value) {
    const loom_gen *g = s->g;
    const loom_lvalue *v = &g->l->values[value], *state = &g->l->values[s->state];
    if (v->source != LOOM_LV_OP || v->strip || g->value_buffer[value] == LOOM_NONE || g->in_axis[value]) return false;
    if (v->dtype != state->dtype || v->n_axes != state->n_axes ||
        (s->owner[value] != LOOM_NONE && s->owner[value] != s->state))
        return false;
    return (!v->n_axes || memcmp(v->axes, state->axes, v->n_axes * sizeof *v->axes) == 0) &&
           loom_gen_ancestor(g, v->op, s->loop) != LOOM_NONE;
}

static bool settle(sharer *s, loom_lvalue_id value, loom_lvalue_id base);

/* What the value is made of by changes, inside of operation `inside`; LOOM_NONE: of nothing. */
static loom_lvalue_id origin(const loom_gen *g, loom_lvalue_id value, loom_lop_id inside) {
    while (g->l->values[value].source == LOOM_LV_OP &&
           loom_gen_ancestor(g, g->l->values[value].op, inside) != LOOM_NONE) {
        const loom_lop *op = &g->l->ops[g->l->values[value].op];
        uint32_t j = result_of(op, value);
        if (op->kind == LOOM_LO_PERMUTE && op->dest) {
            value = op->dest[j];
        } else if (op->kind == LOOM_LO_LOOP && j < op->n_states) {
            value = op->initial[j];
        } else if (op->kind == LOOM_LO_IF) {
            loom_lvalue_id of = origin(g, op->then_results[j], g->l->values[value].op);
            value = of != LOOM_NONE ? of : origin(g, op->else_results[j], g->l->values[value].op);
            if (value == LOOM_NONE) return value;
        } else {
            return LOOM_NONE;
        }
    }
    return value;
}

static void settle_branch(sharer *s, loom_lvalue_id value, loom_lvalue_id base) {
    s->apply = false;
    bool can = settle(s, value, base);
    s->apply = true;
    if (can) settle(s, value, base);
}

static bool settle_if(sharer *s, loom_lop_id id, loom_lvalue_id value, loom_lvalue_id base) {
    const loom_lop *op = &s->g->l->ops[id];
    uint32_t j = result_of(op, value);
    loom_lvalue_id of = origin(s->g, op->then_results[j], id);
    if (of == LOOM_NONE) of = origin(s->g, op->else_results[j], id);
    if (of == LOOM_NONE) of = base;
    uint32_t own = (op->then_results[j] == of) + (op->else_results[j] == of);
    if (!settle(s, of, base) || loom_gen_reads_of(s->g, id, of) != own || !is_dead(s, of, id, id)) return false;
    if (!s->apply) return true;
    settle_branch(s, op->then_results[j], of);
    settle_branch(s, op->else_results[j], of);
    return true;
}

static bool settle_loop(sharer *s, loom_lop_id id, loom_lvalue_id value, loom_lvalue_id base) {
    const loom_lop *op = &s->g->l->ops[id];
    uint32_t j = result_of(op, value);
    if (j >= op->n_states || s->g->in_axis[op->state[j]]) return false;
    const loom_lvalue *v = &s->g->l->values[value], *inner = &s->g->l->values[op->state[j]];
    if (v->n_axes != inner->n_axes || (v->n_axes && memcmp(v->axes, inner->axes, v->n_axes * sizeof *v->axes) != 0))
        return false;
    return settle(s, op->initial[j], base) && loom_gen_reads_of(s->g, id, op->initial[j]) == 1 &&
           is_dead(s, op->initial[j], op->inner_first, id);
}

static bool settle_permute(sharer *s, loom_lop_id id, loom_lvalue_id value, loom_lvalue_id base) {
    const loom_lop *op = &s->g->l->ops[id];
    if (op->n_context || !op->dest) return false;
    loom_lvalue_id of = op->dest[result_of(op, value)];
    return settle(s, of, base) && count(op->n_results, op->dest, of) == 1 && is_dead(s, of, id, id) &&
           reads_own_place(s->g->l, op, of);
}

static bool settle_compute(sharer *s, loom_lop_id id, loom_lvalue_id value, loom_lvalue_id base) {
    const loom_lop *op = &s->g->l->ops[id];
    if (op->dense) return false;
    if (op->sliced) return base == s->state && op->dest[result_of(op, value)] == base;
    return is_dead(s, base, id, id) && reads_own_point(s->g->l, op, base);
}

/* Gives the value the state's memory, if it can be made there of `base`, which is there. */
static bool settle(sharer *s, loom_lvalue_id value, loom_lvalue_id base) {
    if (value == base) return true;
    if (!fits(s, value)) return false;
    loom_lop_id id = s->g->l->values[value].op;
    bool can = false;
    switch (s->g->l->ops[id].kind) {
    case LOOM_LO_COMPUTE: can = settle_compute(s, id, value, base); break;
    case LOOM_LO_PERMUTE: can = settle_permute(s, id, value, base); break;
    case LOOM_LO_IF: can = settle_if(s, id, value, base); break;
    case LOOM_LO_LOOP: can = settle_loop(s, id, value, base); break;
    default: break;
    }
    if (can && s->apply) {
        s->owner[value] = s->state;
        move_all(s->g, s->g->value_buffer[value], s->g->value_buffer[s->state]);
    }
    return can;
}

static void share_state(sharer *s, loom_lop_id loop, uint32_t number) {
    const loom_lop *op = &s->g->l->ops[loop];
    s->loop = loop;
    s->state = op->state[number];
    /* Extents of this turn and of the next one are told apart. */
    if (s->g->in_axis[s->state] || op->next[number] == s->state) return;
    settle_branch(s, op->next[number], s->state);
}

/* ---- what a loop starts with ---- */

static bool is_read_inside(const loom_gen *g, const loom_lop *loop, loom_lvalue_id value) {
    for (loom_lop_id op = loop->inner_first; op < loop->inner_end; op++) {
        if (loom_gen_reads_of(g, op, value)) return true;
    }
    return false;
}

/* A fresh value that only starts a loop is made where the loop keeps its state. The turns must not read it: from the
 * second one on something else is there. */
static void share_initial(loom_gen *g, loom_lop_id loop, uint32_t s) {
    const loom_lifted *l = g->l;
    const loom_lop *op = &l->ops[loop];
    loom_lvalue_id initial = op->initial[s];
    const loom_lvalue *v = &l->values[initial], *state = &l->values[op->state[s]];
    if (v->n_axes != state->n_axes || (v->n_axes && memcmp(v->axes, state->axes, v->n_axes * sizeof *v->axes) != 0))
        return;
    if (v->source != LOOM_LV_OP || g->is_output[initial] || g->last_use[initial] != loop ||
        g->parent[v->op] != g->parent[loop])
        return;
    if (l->ops[v->op].kind != LOOM_LO_COMPUTE || g->per_chunk[v->op] != g->per_chunk[loop] ||
        loom_gen_reads_of(g, loop, initial) != 1 || is_read_inside(g, op, initial))
        return;
    g->value_buffer[initial] = g->value_buffer[op->state[s]];
}

void loom_gen_share_states(loom_gen *g) {
    const loom_lifted *l = g->l;
    sharer s = {.g = g, .owner = LOOM_NEW_ARRAY(g->arena, loom_lvalue_id, (size_t)l->n_values + 1)};
    memset(s.owner, 0xff, l->n_values * sizeof *s.owner);
    find_readers(&s);
    for (loom_lop_id i = 0; i < l->n_ops; i++) {
        for (uint32_t n = 0; l->ops[i].kind == LOOM_LO_LOOP && n < l->ops[i].n_states; n++) share_state(&s, i, n);
    }
    for (loom_lop_id i = 0; i < l->n_ops; i++) {
        for (uint32_t n = 0; l->ops[i].kind == LOOM_LO_LOOP && n < l->ops[i].n_states; n++) share_initial(g, i, n);
    }
}
