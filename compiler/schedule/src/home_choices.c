/* Choices between rows of a branch, which has them for those t that take it, and others: see homes.c. */
#include "homes_impl.h"

/* A side of a choice: element j of row `place` of a value that has rows for some t alone. */
typedef struct branch {
    loom_lblock_id block, other;
    loom_lexpr_id result, condition, place;
    loom_lvalue_id rows, from;
    loom_lvalue_id apart; /* the state with these rows in it */
} branch;

static bool is_minus_1(const home *x, loom_lexpr_id id) {
    return expr(x, id)->kind == LOOM_LX_CONST && expr(x, id)->imm.i == -1;
}

/* Whether the PERMUTE puts each t that has the condition, or has not, at its place among those, and no other. */
static bool tells_rows(const home *x, const loom_lop *op, loom_lexpr_id condition, loom_lexpr_id at, bool holds) {
    if (op->kind != LOOM_LO_PERMUTE || !op->covers || op->n_axes != 1 || op->n_context || op->rank != 1 ||
        op->n_results != 1 || !loom_schedule_replaces(x->l, op->combine))
        return false;
    const loom_lexpr *place = expr(x, result_of_body(x, op, 0));
    if (!home_same_count(x, op->axes[0], x->axis) || !is_axis(x, result_of_body(x, op, 1), 0)) return false;
    return place->kind == LOOM_LX_PRIM && place->prim == LOOM_PRIM_SELECT &&
           home_is_number(x, loom_lifted_arg(x->l, place, 0), condition) &&
           home_is_number(x, loom_lifted_arg(x->l, place, holds ? 1 : 2), at) &&
           is_minus_1(x, loom_lifted_arg(x->l, place, holds ? 2 : 1));
}

static bool find_from(const home *x, branch *b, bool holds) {
    for (loom_lop_id id = x->l->ops[x->loop].inner_first; id < x->put; id++) {
        const loom_lop *op = &x->l->ops[id];
        if (x->inserts->parent[id] != x->loop || !tells_rows(x, op, b->condition, b->place, holds)) continue;
        if (!home_same_count(x, x->l->values[b->rows].axes[0], op->target_axes[0])) continue;
        b->from = x->l->ops[id].results[0];
        return true;
    }
    return false;
}

static bool block_may_fail(const home *x, loom_lblock_id block) {
    loom_lop op = {.body = block};
    return home_may_fail(x, &op);
}

/* Whether the body looks at the state in the other block alone, at the rows that are put: these are as they were when
 * the branch has changed its own. */
static bool looks_there_alone(const home *x, const branch *b) {
    const loom_lblock *body = &x->l->blocks[x->l->ops[x->put].body], *other = &x->l->blocks[b->other];
    for (loom_lexpr_id id = body->first; id < body->end; id++) {
        const loom_lexpr *e = expr(x, id);
        if (e->kind != LOOM_LX_LOAD || e->aux != x->whole) continue;
        if (id < other->first || id >= other->end || !home_is_number(x, loom_lifted_arg(x->l, e, 0), x->number))
            return false;
    }
    return true;
}

/* In a block of a choice by what its rows are told: the t of a place, which is t again. */
static bool is_t_again(const home *x, loom_lexpr_id id) {
    const loom_lop *put = &x->l->ops[x->put];
    const loom_lexpr *choice = expr(x, result_of_body(x, put, put->rank)), *e = expr(x, id);
    if (choice->kind != LOOM_LX_IF || e->kind != LOOM_LX_LOAD || e->mode != LOOM_LOAD_PROVEN || e->n_args != 1)
        return false;
    const loom_lop *op = maker(x, e->aux);
    loom_lexpr_id condition = loom_lifted_arg(x->l, choice, 0), at = loom_lifted_arg(x->l, e, 0);
    for (uint32_t k = 0; op && k < 2; k++) {
        const loom_lblock *b = &x->l->blocks[choice->blocks[k]];
        if (id >= b->first && id < b->end) return tells_rows(x, op, condition, at, k == 0);
    }
    return false;
}

static loom_lexpr_id shortened(void *context, loom_lexpr_id id, loom_lexpr e, loom_lexpr_id *args, uint32_t n) {
    home *x = context;
    return is_t_again(x, id) ? home_axis(x, 0) : loom_lifted_expr(x->l, e, args, n);
}

void home_shorten_choice(home *x) {
    const loom_lblock b = x->l->blocks[x->l->ops[x->put].body];
    bool any = false;
    for (loom_lexpr_id id = b.first; id < b.end && !any; id++) any = is_t_again(x, id);
    if (!any) return;
    loom_lexpr_id first = x->l->n_exprs, *results = LOOM_NEW_ARRAY(x->arena, loom_lexpr_id, (size_t)b.n_results + 1);
    loom_clone_block(&(loom_clone){.l = x->l, .scratch = x->arena, .replace = shortened, .context = x},
                     x->l->ops[x->put].body, results);
    x->l->ops[x->put].body = loom_lifted_block(x->l, first, 0, NULL, b.n_results, results);
    x->number = results[0];
}

static bool find_branch(const home *x, branch *b) {
    const loom_lop *put = &x->l->ops[x->put];
    const loom_lexpr *choice = expr(x, result_of_body(x, put, put->rank));
    if (choice->kind != LOOM_LX_IF || !home_has_rows(x, put->n_axes, put->axes)) return false;
    for (uint32_t k = 0; k < 2; k++) {
        *b = (branch){.block = choice->blocks[k], .other = choice->blocks[1 - k]};
        b->condition = loom_lifted_arg(x->l, choice, 0);
        b->result = x->l->blocks[b->block].results[0];
        const loom_lexpr *e = expr(x, b->result);
        if (e->kind != LOOM_LX_LOAD || e->mode != LOOM_LOAD_PROVEN || e->n_args != put->n_axes || !is_own(x, e, 1))
            continue;
        b->rows = e->aux;
        b->place = loom_lifted_arg(x->l, e, 0);
        if (!maker(x, b->rows) || x->l->values[b->rows].dtype != x->l->values[x->whole].dtype) continue;
        bool here = b->result >= x->l->blocks[b->block].first && b->result < x->l->blocks[b->block].end;
        if (here && !block_may_fail(x, b->block) && find_from(x, b, k == 0) && looks_there_alone(x, b)) return true;
    }
    return false;
}

/* number(from[s]) */
static loom_lexpr_id number_in_branch(home *x, const branch *b) {
    loom_lexpr load = {.kind = LOOM_LX_LOAD, .mode = LOOM_LOAD_PROVEN, .dtype = LOOM_I64, .aux = b->from};
    loom_lexpr_id s = home_axis(x, 0);
    load.site = LOOM_NONE;
    return home_numbered(x, x->number, loom_lifted_expr(x->l, load, &s, 1), false, LOOM_NONE);
}

/* The PERMUTE of the branch's rows, if they are as long as the state's. */
static bool put_of_branch(home *x, const branch *b, loom_lop *made) {
    const loom_lvalue v = x->l->values[b->rows];
    loom_lexpr_id first = x->l->n_exprs, out[LOOM_LIFTED_MAX_AXES + 2], number = number_in_branch(x, b);
    home rows = *x;
    rows.number = number;
    rows.axis = v.axes[0];
    if (!home_has_rows(&rows, v.n_axes, v.axes)) return false;
    *made = x->l->ops[x->put];
    for (uint32_t i = 0; i < v.n_axes; i++) out[i] = home_axis(x, i);
    loom_lexpr load = {.kind = LOOM_LX_LOAD, .mode = LOOM_LOAD_PROVEN, .dtype = v.dtype, .aux = b->rows};
    load.site = LOOM_NONE;
    out[v.n_axes] = loom_lifted_expr(x->l, load, out, v.n_axes);
    out[0] = number;
    made->body = loom_lifted_block(x->l, first, 0, NULL, v.n_axes + 1, out);
    made->n_axes = v.n_axes;
    made->axes = v.axes;
    return true;
}

typedef struct splitting {
    home *x;
    const branch *b;
} splitting;

static loom_lexpr_id split_expr(void *context, loom_lexpr_id id, loom_lexpr e, loom_lexpr_id *args, uint32_t n) {
    splitting *s = context;
    const loom_lblock other = s->x->l->blocks[s->b->other];
    if (id == s->b->result) {
        e.aux = s->b->apart;
        e.site = LOOM_NONE;
        args[0] = home_numbered(s->x, s->x->number, home_axis(s->x, 0), false, LOOM_NONE);
    } else if (e.kind == LOOM_LX_LOAD && e.aux == s->x->whole && id >= other.first && id < other.end) {
        e.aux = s->b->apart;
    }
    return loom_lifted_expr(s->x->l, e, args, n);
}

/* The others' rows, onto what has the branch's. */
static void put_others(home *x, const branch *b) {
    splitting s = {x, b};
    loom_lop *put = &x->l->ops[x->put];
    const loom_lblock body = x->l->blocks[put->body];
    loom_lexpr_id first = x->l->n_exprs, *results = LOOM_NEW_ARRAY(x->arena, loom_lexpr_id, (size_t)body.n_results + 1);
    loom_lvalue_id *dest = LOOM_NEW_ARRAY(x->l->arena, loom_lvalue_id, 1);
    loom_clone_block(&(loom_clone){.l = x->l, .scratch = x->arena, .replace = split_expr, .context = &s}, put->body,
                     results);
    put = &x->l->ops[x->put];
    put->body = loom_lifted_block(x->l, first, 0, NULL, body.n_results, results);
    *dest = b->apart;
    put->dest = dest;
}

bool home_split_choice(home *x) {
    branch b;
    loom_lop made;
    if (!find_branch(x, &b) || !put_of_branch(x, &b, &made)) return false;
    loom_lop *put = &x->l->ops[x->put];
    if (home_is_taken(x, x->l->blocks[b.other].results[0]) &&
        !home_may_fail(x, put)) { /* the others stay as they are */
        *put = made;
        return true;
    }
    loom_lvalue v = x->l->values[put->results[0]];
    loom_lvalue_id *results = LOOM_NEW_ARRAY(x->l->arena, loom_lvalue_id, 1);
    *results = b.apart = loom_lifted_value(x->l, v);
    made.results = results;
    loom_insert(x->inserts, x->put, made);
    loom_inserts_grow(x->inserts, x->put, 1);
    put_others(x, &b);
    return true;
}
