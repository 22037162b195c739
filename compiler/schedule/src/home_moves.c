/* Operations and values as they are when rows have their home in a state: see homes.c. */
#include "homes_impl.h"

uint32_t home_loads_in(const home *x, loom_lblock_id block) {
    uint32_t n = 0;
    if (block == LOOM_NONE) return 0;
    for (loom_lexpr_id e = x->l->blocks[block].first; e < x->l->blocks[block].end; e++) {
        n += expr(x, e)->kind == LOOM_LX_LOAD && x->member[expr(x, e)->aux];
    }
    return n;
}

/* The number of the element that is t of the rows. `anywhere`: t may be none, and then the number is -1. */
loom_lexpr_id home_numbered(home *x, loom_lexpr_id id, loom_lexpr_id t, bool anywhere, loom_lsite_id site) {
    loom_lexpr e = *expr(x, id);
    if (e.kind == LOOM_LX_AXIS) return t;
    loom_lexpr_id args[LOOM_LIFTED_MAX_AXES + 1];
    uint32_t n = e.n_args;
    for (uint32_t i = 0; i < n; i++) args[i] = home_numbered(x, loom_lifted_arg(x->l, &e, i), t, anywhere, site);
    if (e.kind == LOOM_LX_LOAD && anywhere) {
        loom_lexpr none = {.kind = LOOM_LX_CONST, .dtype = e.dtype, .imm.i = -1, .site = LOOM_NONE};
        e.mode = LOOM_LOAD_DEFAULT;
        args[n++] = loom_lifted_expr(x->l, none, NULL, 0);
    } else if (e.kind == LOOM_LX_LOAD && site != LOOM_NONE) {
        e.site = site; /* in range where the load is that asks for it */
    }
    return loom_lifted_expr(x->l, e, args, n);
}

static loom_lexpr_id moved(void *context, loom_lexpr_id id, loom_lexpr e, loom_lexpr_id *args, uint32_t n) {
    home *x = context;
    (void)id;
    if (e.kind == LOOM_LX_LOAD && x->member[e.aux]) {
        args[0] = home_numbered(x, x->number, args[0], e.mode != LOOM_LOAD_PROVEN, e.site);
        if (x->taken[e.aux]) e.aux = x->whole;
    }
    return loom_lifted_expr(x->l, e, args, n);
}

static loom_lblock_id copy_block(home *x, loom_lblock_id block) {
    const loom_lblock b = x->l->blocks[block];
    loom_lexpr_id *results = LOOM_NEW_ARRAY(x->arena, loom_lexpr_id, (size_t)b.n_results + 1), first = x->l->n_exprs;
    loom_clone_block(&(loom_clone){.l = x->l, .scratch = x->arena, .replace = moved, .context = x}, block, results);
    return loom_lifted_block(x->l, first, b.n_params, b.params, b.n_results, results);
}

/* Whether a load says that the index along t is in range. */
static bool is_known_inside(const home *x, const loom_lblock *b, loom_lexpr_id index) {
    for (loom_lexpr_id id = b->first; id < b->end; id++) {
        const loom_lexpr *e = expr(x, id);
        if (e->kind == LOOM_LX_LOAD && x->member[e->aux] && e->mode == LOOM_LOAD_PROVEN && e->site == LOOM_NONE &&
            loom_schedule_same(x->l, loom_lifted_arg(x->l, e, 0), index))
            return true;
    }
    return false;
}

static void onto_state(const home *x, loom_lop *op) {
    const loom_lvalue *w = &x->l->values[x->whole];
    op->kind = LOOM_LO_PERMUTE;
    op->n_context = 0;
    op->rank = op->n_target_axes = w->n_axes;
    op->target_axes = w->axes;
}

loom_lexpr_id home_axis(home *x, uint32_t position) {
    loom_lexpr e = {.kind = LOOM_LX_AXIS, .dtype = LOOM_I64, .aux = position, .site = LOOM_NONE};
    return loom_lifted_expr(x->l, e, NULL, 0);
}

static loom_lvalue_id renamed(const home *x, loom_lvalue_id value) {
    return x->taken[value] ? x->whole : value;
}

/* Result j of the COMPUTE as a PERMUTE onto what it changes. */
static loom_lop put_of_compute(home *x, const loom_lop *op, uint32_t j, loom_lvalue_id of) {
    loom_lop made = *op;
    uint32_t n = op->n_axes;
    loom_lvalue_id *dest = LOOM_NEW_ARRAY(x->l->arena, loom_lvalue_id, 1),
                   *results = LOOM_NEW_ARRAY(x->l->arena, loom_lvalue_id, 1);
    loom_lexpr_id *all = LOOM_NEW_ARRAY(x->arena, loom_lexpr_id, (size_t)op->n_results + n + 2),
                  *out = LOOM_NEW_ARRAY(x->arena, loom_lexpr_id, (size_t)n + 2);
    made.combine = loom_schedule_replacing(x->l, x->arena, 1, &op->results[j]);
    loom_lexpr_id first = x->l->n_exprs;
    loom_clone_block(&(loom_clone){.l = x->l, .scratch = x->arena, .replace = moved, .context = x}, op->body, all);
    out[0] = home_numbered(x, x->number, home_axis(x, 0), false, LOOM_NONE);
    for (uint32_t i = 1; i < n; i++) out[i] = home_axis(x, i);
    out[n] = all[j];
    made.body = loom_lifted_block(x->l, first, 0, NULL, n + 1, out);
    *dest = renamed(x, of);
    *results = op->results[j];
    made.n_results = 1;
    made.results = results;
    made.dest = dest;
    made.distinct = true;
    onto_state(x, &made);
    return made;
}

/* The operation without its result j. */
static void drop_result(home *x, loom_lop *op, uint32_t j) {
    const loom_lblock b = x->l->blocks[op->body];
    bool permute = op->kind == LOOM_LO_PERMUTE;
    uint32_t before = permute ? op->rank : 0, n = 0;
    loom_lexpr_id *results = LOOM_NEW_ARRAY(x->arena, loom_lexpr_id, (size_t)b.n_results + 1);
    loom_lvalue_id *values = LOOM_NEW_ARRAY(x->l->arena, loom_lvalue_id, (size_t)op->n_results + 1),
                   *dest = LOOM_NEW_ARRAY(x->l->arena, loom_lvalue_id, (size_t)op->n_results + 1);
    memcpy(results, b.results, before * sizeof *results);
    for (uint32_t i = 0; i < op->n_results; i++) {
        if (i == j) continue;
        values[n] = op->results[i];
        if (permute) dest[n] = op->dest[i];
        results[before + n++] = b.results[before + i];
    }
    op->body = loom_lifted_block(x->l, b.first, b.n_params, b.params, before + n, results);
    x->l->blocks[op->body].end = b.end;
    op->results = values;
    op->n_results = n;
    if (permute) op->dest = dest;
    if (permute) op->combine = loom_schedule_replacing(x->l, x->arena, n, values);
}

/* The operation makes result j as `made` does; what else it makes it makes still. */
static void replace_result(home *x, loom_lop_id id, uint32_t j, const loom_lop *made) {
    loom_lop *op = &x->l->ops[id];
    if (op->n_results == 1) {
        *op = *made;
        x->makes[id] = MOVED;
        return;
    }
    loom_insert(x->inserts, id + 1, *made);
    loom_inserts_grow(x->inserts, id, 1);
    drop_result(x, op, j);
}

static void move_compute(home *x, loom_lop_id id, loom_lvalue_id value) {
    loom_lop *op = &x->l->ops[id];
    uint32_t j = number_of(op, value);
    if (!x->taken[value]) {
        loom_lop made = put_of_compute(x, op, j, home_changed_by(x, op));
        replace_result(x, id, j, &made);
    } else if (op->n_results > 1) {
        drop_result(x, op, j);
    } else {
        x->inserts->gone[id] = true;
        loom_inserts_grow(x->inserts, id, -1);
    }
}

static void move_permute(home *x, loom_lop_id id, loom_lvalue_id value) {
    loom_lop made = x->l->ops[id];
    const loom_lblock b = x->l->blocks[made.body];
    uint32_t j = number_of(&made, value), context = made.n_context ? 1 : 0;
    loom_lexpr_id *all = LOOM_NEW_ARRAY(x->arena, loom_lexpr_id, (size_t)b.n_results + 2), *out = all + context;
    bool inside = context || is_known_inside(x, &b, b.results[0]);
    loom_lvalue_id *dest = LOOM_NEW_ARRAY(x->l->arena, loom_lvalue_id, 1),
                   *result = LOOM_NEW_ARRAY(x->l->arena, loom_lvalue_id, 1);
    if (made.n_results > 1) made.combine = loom_schedule_replacing(x->l, x->arena, 1, &value);
    loom_lexpr_id first = x->l->n_exprs;
    loom_clone_block(&(loom_clone){.l = x->l, .scratch = x->arena, .replace = moved, .context = x}, made.body, out);
    all[0] = home_numbered(x, x->number, context ? home_axis(x, 0) : all[0], !inside, LOOM_NONE);
    out[made.rank] = out[made.rank + j];
    *dest = renamed(x, made.dest[j]);
    *result = value;
    if (context) made.n_apart = 1;
    made.body = loom_lifted_block(x->l, first, 0, NULL, context + made.rank + 1, all);
    made.n_results = 1;
    made.results = result;
    made.dest = dest;
    onto_state(x, &made);
    replace_result(x, id, j, &made);
}

static loom_lvalue_id *renamed_all(home *x, uint32_t n, const loom_lvalue_id *values) {
    loom_lvalue_id *to = LOOM_NEW_ARRAY(x->l->arena, loom_lvalue_id, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) to[i] = renamed(x, values[i]);
    return to;
}

static void move_others(home *x, loom_lop_id id) {
    loom_lop *op = &x->l->ops[id];
    loom_lblock_id body = op->body, ne = op->ne;
    if (home_loads_in(x, body)) body = copy_block(x, body);
    if (home_loads_in(x, ne)) ne = copy_block(x, ne);
    op = &x->l->ops[id];
    op->body = body;
    op->ne = ne;
    if (op->kind == LOOM_LO_LOOP) op->initial = renamed_all(x, op->n_states, op->initial);
    if (op->kind == LOOM_LO_LOOP) op->next = renamed_all(x, op->n_states, op->next);
    if (op->kind == LOOM_LO_IF) op->then_results = renamed_all(x, op->n_results, op->then_results);
    if (op->kind == LOOM_LO_IF) op->else_results = renamed_all(x, op->n_results, op->else_results);
}

static const loom_lvalue_id *with(home *x, uint32_t n, const loom_lvalue_id *values, loom_lvalue_id from,
                                  loom_lvalue_id to) {
    if (!values || !n) return values;
    loom_lvalue_id *made = LOOM_NEW_ARRAY(x->l->arena, loom_lvalue_id, n);
    for (uint32_t i = 0; i < n; i++) made[i] = values[i] == from ? to : values[i];
    return made;
}

/* One value in place of another that is no more. */
static void replace(home *x, loom_lvalue_id from, loom_lvalue_id to) {
    loom_lifted *l = x->l;
    for (loom_lexpr_id e = 0; e < l->n_exprs; e++) {
        if (l->exprs[e].kind == LOOM_LX_LOAD && l->exprs[e].aux == from) l->exprs[e].aux = to;
    }
    for (loom_lop_id id = l->ops[x->loop].inner_first; id <= x->loop; id++) {
        loom_lop *op = &l->ops[id];
        op->args = with(x, op->n_args, op->args, from, to);
        op->dest = with(x, op->n_results, op->dest, from, to);
        op->initial = with(x, op->n_states, op->initial, from, to);
        op->next = with(x, op->n_states, op->next, from, to);
        op->collected = with(x, op->n_collected, op->collected, from, to);
        op->then_results = with(x, op->n_results, op->then_results, from, to);
        op->else_results = with(x, op->n_results, op->else_results, from, to);
    }
}

static void move_values(home *x) {
    const loom_lvalue w = x->l->values[x->whole];
    for (size_t i = 0; i < x->members.count; i++) {
        loom_lvalue *v = &x->l->values[x->members.at[i]];
        v->n_axes = w.n_axes;
        v->axes = w.axes;
        v->rep = w.rep;
    }
}

/* All that makes members, then all that reads them. */
static void move_operations(home *x) {
    const loom_lop loop = x->l->ops[x->loop];
    for (size_t i = 0; i < x->members.count; i++) {
        const loom_lvalue *v = &x->l->values[x->members.at[i]];
        if (v->source == LOOM_LV_OP && x->l->ops[v->op].kind == LOOM_LO_COMPUTE) x->makes[v->op] = COMPUTES;
        if (v->source == LOOM_LV_OP && x->l->ops[v->op].kind == LOOM_LO_PERMUTE) x->makes[v->op] = PERMUTES;
    }
    for (size_t i = 0; i < x->members.count; i++) {
        loom_lvalue_id value = x->members.at[i];
        const loom_lvalue *v = &x->l->values[value];
        if (v->source == LOOM_LV_OP && x->makes[v->op] == COMPUTES) move_compute(x, v->op, value);
        if (v->source == LOOM_LV_OP && x->makes[v->op] == PERMUTES) move_permute(x, v->op, value);
    }
    for (loom_lop_id id = loop.inner_first; id < loop.inner_end; id++) {
        if (!x->inserts->gone[id] && id != x->put && x->makes[id] != MOVED) move_others(x, id);
    }
}

/* Whether the PERMUTE puts what has its home there, and nothing else. */
static bool puts_home(const home *x, loom_lvalue_id of) {
    const loom_lop *put = &x->l->ops[x->put];
    const loom_lexpr *e = expr(x, result_of_body(x, put, put->rank));
    return e->kind == LOOM_LX_LOAD && e->aux == of && is_own(x, e, 0) && !home_may_fail(x, put);
}

/* The rows are there, or become what they are there. */
static void move_put(home *x, loom_lvalue_id of) {
    loom_lop *put = &x->l->ops[x->put];
    if (puts_home(x, of)) {
        loom_lvalue_id result = put->results[0];
        x->inserts->gone[x->put] = true;
        loom_inserts_grow(x->inserts, x->put, -1);
        replace(x, result, renamed(x, of));
        return;
    }
    loom_lvalue_id *dest = LOOM_NEW_ARRAY(x->l->arena, loom_lvalue_id, 1);
    *dest = renamed(x, of);
    loom_lblock_id body = copy_block(x, put->body);
    put = &x->l->ops[x->put];
    put->body = body;
    put->dest = dest;
}

void home_move(home *x, loom_lvalue_id of) {
    move_operations(x);
    move_put(x, of);
    move_values(x);
}
