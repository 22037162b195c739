/* Loops whose elements differ in the number of turns, with states or bodies that need memory of their own.
 *
 *     map (\xs -> loop ys = xs while c ys do f ys) xss
 *     ->  elements are numbered (part.c); a LOOP whose states are k, how many still turn, their numbers and their ys:
 *             while k > 0
 *             flags = c ys; those where it is false are collected, with their numbers; k' = how many others there are
 *             ys' = f of the others' ys
 *         what was collected, put in the order of the numbers
 * Every turn has those elements only that still turn: one that has ended costs nothing, and cannot fail. States keep
 * their shape: the rows of each element are as long as they were at the start, so their lengths are found by its
 * number. A state whose rows differ in length is kept flat between turns. What the loop has from around is gathered for
 * the elements of a turn. Cost of a turn: the states and what is gathered, of those that still turn.
 */
#include "vec.h"

typedef struct turns {
    const loom_node *node;
    frame *frame;
    const loom_body *body, *test; /* no test: counted */
    const frame *for_body, *for_test;
    val initial, count;
    points all;
    loom_lvalue_id *before, *state, *next;
    uint32_t n_states;
    /* Numbers of states: how many turn; of leaf i: how many elements its rows have, or LOOM_NONE; the numbers of the
     * elements; the first leaf. */
    uint32_t *rows, numbers, leaves;
    loom_lvalue_id *collected, *results, counter, go_on;
    loom_lop_id first;
    extent turning; /* inside: as many as turn */
    leaf number;
    /* Of a turn: states as arrays of its elements; the places in it of those that end and of those that go on. */
    val states, ended, others, ended_numbers, other_numbers;
    extent n_others;
} turns;

static extent scalar_extent(vec *v, loom_lvalue_id value) {
    return (extent){loom_lifted_axis(v->l, (loom_axis){.kind = LOOM_AXIS_SCALAR, .value = value}), LOOM_NONE, NULL};
}

static leaf value_leaf(vec *v, loom_lvalue_id id, uint32_t n_own, const extent *own) {
    const loom_lvalue *value = &v->l->values[id];
    source *s = LOOM_NEW_ARRAY(v->scratch, source, (size_t)value->n_axes + 1);
    for (uint32_t i = 0; i < value->n_axes; i++) s[i] = (source){FROM_OWN, false, i};
    return (leaf){.kind = LEAF_VALUE,
                  .dtype = value->dtype,
                  .id = id,
                  .sources = s,
                  .site = LOOM_NONE,
                  .n_own = n_own,
                  .own = own};
}

/* An array of i64 along one axis. */
static leaf list_leaf(vec *v, loom_lvalue_id id, extent e) {
    extent *own = LOOM_NEW(v->scratch, extent);
    *own = e;
    return value_leaf(v, id, 1, own);
}

static uint32_t index_of_leaf(const turns *t, uint32_t i) {
    return t->leaves + i;
}

/* ---- leaves between turns ---- */

/* The leaf, over the level, as a state has it: with its own axes, or flat. `rows`: how many elements it has then. */
static bool store(vec *v, const turns *t, const leaf *x, uint32_t level, uint32_t i, loom_lvalue_id *rows,
                  loom_lvalue_id *value) {
    uint64_t mask = UINT64_C(1) << level;
    if (t->rows[i] == LOOM_NONE) return vec_copy_value(v, t->node, x, mask, value);
    leaf count;
    op_axes axes;
    if (!vec_value_axes(v, t->node, mask, x->n_own, x->own, &axes)) return false;
    if (!vec_count_points(v, t->node, axes.n, axes.axis, &count)) return false;
    if (!vec_copy_value(v, t->node, &count, 0, rows)) return false;
    op_axes flat = {.n = 1, .axis = {scalar_extent(v, *rows).axis}};
    return vec_dense_value(v, t->node, x, mask, &flat, value);
}

/* And back: over the level, with these own axes. */
static bool restore(vec *v, const turns *t, loom_lvalue_id id, loom_lvalue_id rows, uint32_t level, const extent *own,
                    uint32_t i, leaf *x) {
    uint32_t n_own = t->initial.at[i].n_own;
    op_axes axes;
    loom_lvalue_id value = id;
    if (!vec_value_axes(v, t->node, UINT64_C(1) << level, n_own, own, &axes)) return false;
    if (t->rows[i] != LOOM_NONE) {
        leaf flat = list_leaf(v, id, scalar_extent(v, rows));
        if (!vec_dense_value(v, t->node, &flat, 0, &axes, &value)) return false;
    }
    *x = vec_result_leaf(v, value, &axes, n_own, own);
    return true;
}

/* ---- before the loop ---- */

static uint64_t levels_of(const vec *v, const frame *f) {
    uint64_t mask = 0;
    for (uint32_t i = 0; f && i < f->n_nodes; i++) {
        for (uint32_t k = 0; k < f->vals[i].n; k++) mask |= vec_level_mask(v, &f->vals[i].at[k]);
    }
    return mask;
}

/* Levels that the loop has anything to do with: all elements of them are told apart. */
static bool find_points(vec *v, turns *t) {
    uint64_t mask = levels_of(v, t->for_body) | levels_of(v, t->for_test);
    for (uint32_t i = 0; i < t->initial.n; i++) mask |= vec_level_mask(v, &t->initial.at[i]);
    for (uint32_t i = 0; i < t->count.n; i++) mask |= vec_level_mask(v, &t->count.at[i]);
    if (!mask) return vec_refuse(v, t->node, "a loop whose state may change its shape");
    return vec_all_points(v, t->node, mask, &t->all);
}

static bool has_rows(const vec *v, const extent *own, uint32_t n) {
    for (uint32_t k = 0; k < n; k++) {
        if (vec_is_segmented(v, own[k])) return true;
    }
    return false;
}

static void number_states(vec *v, turns *t) {
    uint32_t n = t->initial.n, at = 1;
    t->rows = LOOM_NEW_ARRAY(v->scratch, uint32_t, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) {
        const leaf *x = &t->initial.at[i];
        t->rows[i] = has_rows(v, x->own, x->n_own) ? at++ : LOOM_NONE;
    }
    t->numbers = at++;
    t->leaves = at;
    t->n_states = at + n;
    t->before = LOOM_NEW_ARRAY(v->scratch, loom_lvalue_id, t->n_states);
    t->state = LOOM_NEW_ARRAY(v->scratch, loom_lvalue_id, t->n_states);
    t->next = LOOM_NEW_ARRAY(v->scratch, loom_lvalue_id, t->n_states);
    t->collected = LOOM_NEW_ARRAY(v->scratch, loom_lvalue_id, (size_t)n + 1);
}

static loom_lvalue_id *rows_at(const turns *t, loom_lvalue_id *values, uint32_t i) {
    return t->rows[i] == LOOM_NONE ? NULL : &values[t->rows[i]];
}

static bool store_initial(vec *v, turns *t, part *p) {
    val seen;
    leaf number = vec_axis_leaf(v->levels[p->level].axis, p->level);
    if (!vec_copy_value(v, t->node, &number, UINT64_C(1) << p->level, &t->before[t->numbers])) return false;
    if (!vec_part_see(v, t->node, p, &t->initial, &seen)) return false;
    for (uint32_t i = 0; i < seen.n; i++) {
        if (seen.at[i].kind == LEAF_BAD) return vec_refuse(v, t->node, "%s", seen.at[i].why);
        if (has_rows(v, seen.at[i].own, seen.at[i].n_own) != (t->rows[i] != LOOM_NONE)) {
            return vec_refuse(v, t->node, "a loop whose state may change its shape");
        }
        loom_lvalue_id *value = &t->before[index_of_leaf(t, i)];
        if (!store(v, t, &seen.at[i], p->level, i, rows_at(t, t->before, i), value)) return false;
    }
    return true;
}

static bool start(vec *v, turns *t) {
    leaf size = vec_extent_leaf(v, t->all.all), *at;
    val all = vec_leaves_of(v, 1, &at);
    part p;
    if (!vec_copy_value(v, t->node, &size, 0, &t->before[0])) return false;
    extent *own = LOOM_NEW(v->scratch, extent);
    *own = scalar_extent(v, t->before[0]);
    at[0] = vec_axis_leaf(own->axis, 0);
    at[0].at = (source){FROM_OWN, false, 0};
    at[0].n_own = 1;
    at[0].own = own;
    if (!vec_part_enter(v, t->node, &t->all, &all, &p)) return false;
    bool ok = store_initial(v, t, &p);
    vec_part_leave(v, &p);
    return ok;
}

/* A value of the form of `like`, whose extents are `values` where those of `like` are `from`. */
static loom_lvalue_id value_like(vec *v, const turns *t, uint32_t s, const loom_lvalue_id *from,
                                 const loom_lvalue_id *values, loom_lsource source) {
    loom_lvalue like = v->l->values[from[s]];
    loom_axis_id axes[LOOM_MAX_DEPTH + 1];
    for (uint32_t k = 0; k < like.n_axes; k++) {
        axes[k] = like.axes[k];
        const loom_axis *a = &v->l->axes[axes[k]];
        for (uint32_t i = 0; i < t->numbers && a->kind == LOOM_AXIS_SCALAR; i++) {
            if (a->value != from[i]) continue;
            axes[k] = scalar_extent(v, values[i]).axis;
            break;
        }
    }
    like.axes = axes;
    like.source = source;
    like.op = source == LOOM_LV_OP ? v->l->n_ops : LOOM_NONE;
    return loom_lifted_value(v->l, like);
}

/* ---- a turn ---- */

static bool build_some(vec *v, void *argument, val *result) {
    loom_lexpr_id e;
    leaf *at;
    if (!vec_to_expr(v, argument, &e)) return false;
    *result = vec_leaves_of(v, 1, &at);
    at[0] = vec_expr_leaf(v, vec_x_prim2(v, LOOM_PRIM_GT, e, vec_x_int(v, 0)));
    return true;
}

static bool any_turns(vec *v, turns *t) {
    leaf k = value_leaf(v, t->state[0], 0, NULL);
    val some;
    return vec_emit_compute(v, t->node, build_some, &k, &some) && vec_canonical(v, t->node, &some.at[0], 0, &t->go_on);
}

typedef struct countdown {
    leaf turn, count;
} countdown;

static bool build_below(vec *v, void *argument, val *result) {
    countdown *c = argument;
    loom_lexpr_id a, b;
    leaf *at;
    if (!vec_to_expr(v, &c->turn, &a) || !vec_to_expr(v, &c->count, &b)) return false;
    *result = vec_leaves_of(v, 1, &at);
    at[0] = vec_expr_leaf(v, vec_x_prim2(v, LOOM_PRIM_LT, a, b));
    return true;
}

/* Whether the element goes on. */
static bool lift_test(vec *v, turns *t, part *p, const val *states, val *flag) {
    frame *inside;
    if (!t->test) {
        val count;
        if (!vec_part_see(v, t->node, p, &t->count, &count)) return false;
        countdown c = {value_leaf(v, t->counter, 0, NULL), count.at[0]};
        return vec_emit_compute(v, t->node, build_below, &c, flag);
    }
    return vec_part_frame(v, t->node, p, t->for_test, &inside) && vec_lift_body(v, t->test, states, inside, flag);
}

typedef struct guarded_flag {
    leaf flag;
    uint64_t guard;
    uint32_t level;
} guarded_flag;

static bool build_guarded(vec *v, void *argument, val *result) {
    guarded_flag *g = argument;
    loom_lexpr_id e;
    leaf *at;
    if (!vec_to_expr(v, &g->flag, &e)) return false;
    loom_lexpr_id some = vec_guard_condition(v, g->guard, UINT64_C(1) << g->level);
    *result = vec_leaves_of(v, 1, &at);
    at[0] = vec_expr_leaf(v, vec_x_prim2(v, LOOM_PRIM_AND, some, e));
    return true;
}

/* Under a map that may be empty, a loop that has nothing to do with it must not turn. */
static bool guard_flag(vec *v, turns *t, const part *p, val *flag) {
    uint64_t here = UINT64_C(1) << p->level;
    guarded_flag g = {flag->at[0], vec_unguarded(v, here), p->level};
    if (!g.guard) return true;
    if (!vec_guard_is_exact(v, g.guard, here)) return vec_refuse(v, t->node, VEC_UNLIKE_ROWS);
    return vec_emit_compute(v, t->node, build_guarded, &g, flag);
}

static bool look_at_states(vec *v, turns *t, part *p, leaf *flags) {
    leaf *at, *arrays;
    val here = vec_leaves_of(v, t->initial.n, &at), flag;
    t->states = vec_leaves_of(v, t->initial.n, &arrays);
    for (uint32_t i = 0; i < here.n; i++) {
        const extent *own;
        loom_lvalue_id rows = t->rows[i] == LOOM_NONE ? LOOM_NONE : t->state[t->rows[i]];
        if (!vec_part_extents(v, t->node, p, &t->initial.at[i], &own)) return false;
        if (!restore(v, t, t->state[index_of_leaf(t, i)], rows, p->level, own, i, &at[i])) return false;
        arrays[i] = vec_unbind_level(v, &at[i], p->level, t->turning);
    }
    if (!lift_test(v, t, p, &here, &flag)) return false;
    if (flag.at[0].kind == LEAF_BAD) return vec_refuse(v, t->node, "%s", flag.at[0].why);
    if (!guard_flag(v, t, p, &flag)) return false;
    *flags = vec_unbind_level(v, &flag.at[0], p->level, t->turning);
    return true;
}

/* Which elements end here, and which go on. */
static bool tell_apart(vec *v, turns *t) {
    val numbers = {1, &t->number};
    part p;
    leaf flags, place, count, rest, turning = vec_extent_leaf(v, t->turning);
    if (!vec_part_enter(v, t->node, &t->all, &numbers, &p)) return false;
    bool ok = look_at_states(v, t, &p, &flags);
    vec_part_leave(v, &p);
    if (!ok || !vec_lift_places(v, t->node, &flags, t->turning, &place, &count)) return false;
    if (!vec_copy_value(v, t->node, &count, 0, &t->next[0])) return false;
    t->n_others = scalar_extent(v, t->next[0]);
    if (!vec_scalar_prim(v, t->node, LOOM_PRIM_SUB, &turning, &count, &rest)) return false;
    return vec_lift_chosen(v, t->node, &flags, &place, true, t->turning, t->n_others, &t->others) &&
           vec_lift_chosen(v, t->node, &flags, &place, false, t->turning, vec_count_extent(v, &rest), &t->ended) &&
           vec_lift_choice(v, t->node, &numbers, &t->others, &t->other_numbers) &&
           vec_lift_choice(v, t->node, &numbers, &t->ended, &t->ended_numbers);
}

typedef struct row_read {
    leaf array, row;
    const extent *own;
} row_read;

static bool build_row(vec *v, void *argument, val *result) {
    row_read *r = argument;
    loom_lexpr_id e;
    leaf *at;
    if (!vec_to_expr(v, &r->row, &e)) return false;
    *result = vec_leaves_of(v, 1, &at);
    at[0] = vec_drop_own(v, &r->array, (index_step){e, false, LOOM_NONE});
    at[0].own = r->own;
    return true;
}

/* States of the elements of the part, which stand at `places` of the turn's. */
static bool states_at(vec *v, turns *t, part *p, const val *places, val *states) {
    leaf *at;
    val made = vec_leaves_of(v, t->initial.n, &at), one;
    for (uint32_t i = 0; i < made.n; i++) {
        row_read r = {.array = t->states.at[i], .row = vec_bind_level(v, &places->at[0], p->level)};
        if (!vec_part_extents(v, t->node, p, &t->initial.at[i], &r.own)) return false;
        if (!vec_emit_compute(v, t->node, build_row, &r, &one)) return false;
        at[i] = one.at[0];
    }
    *states = made;
    return true;
}

static bool collect(vec *v, turns *t, part *p) {
    val states;
    if (!states_at(v, t, p, &t->ended, &states)) return false;
    for (uint32_t i = 0; i < states.n; i++) {
        loom_lvalue_id rows;
        if (!store(v, t, &states.at[i], p->level, i, &rows, &t->collected[i + 1])) return false;
    }
    return true;
}

/* The next state has the shape of the one before. */
static bool next_leaf(vec *v, turns *t, part *p, const leaf *x, const leaf *before, uint32_t i) {
    leaf y = *x;
    if (x->kind == LEAF_BAD) return vec_refuse(v, t->node, "%s", x->why);
    for (uint32_t k = 0; k < x->n_own; k++) {
        if (vec_is_unknown(x->own[k]) || !vec_known_equal(v, x->own[k], before->own[k])) {
            return vec_refuse(v, t->node,
                              "a loop whose state may change its shape, where elements differ in the "
                              "number of turns");
        }
        y = vec_with_own(v, &y, k, before->own[k]);
    }
    return store(v, t, &y, p->level, i, rows_at(t, t->next, i), &t->next[index_of_leaf(t, i)]);
}

static bool turn_others(vec *v, turns *t, part *p) {
    val args[2], next;
    leaf *at;
    frame *inside;
    args[0] = vec_leaves_of(v, 1, &at);
    if (!t->test) at[0] = value_leaf(v, t->counter, 0, NULL);
    if (!states_at(v, t, p, &t->others, &args[1])) return false;
    if (!vec_part_frame(v, t->node, p, t->for_body, &inside)) return false;
    if (!vec_lift_body(v, t->body, t->test ? &args[1] : args, inside, &next)) return false;
    for (uint32_t i = 0; i < next.n; i++) {
        if (!next_leaf(v, t, p, &next.at[i], &args[1].at[i], i)) return false;
    }
    return true;
}

static bool in_part(vec *v, turns *t, const val *numbers, bool (*f)(vec *v, turns *t, part *p)) {
    part p;
    if (!vec_part_enter(v, t->node, &t->all, numbers, &p)) return false;
    bool ok = f(v, t, &p);
    vec_part_leave(v, &p);
    return ok;
}

static bool make_turn(vec *v, turns *t) {
    if (!any_turns(v, t) || !tell_apart(v, t)) return false;
    return in_part(v, t, &t->ended_numbers, collect) && in_part(v, t, &t->other_numbers, turn_others) &&
           vec_copy_value(v, t->node, &t->ended_numbers.at[0], 0, &t->collected[0]) &&
           vec_copy_value(v, t->node, &t->other_numbers.at[0], 0, &t->next[t->numbers]);
}

static bool make_turns(vec *v, turns *t) {
    mark m = vec_mark_here(v);
    t->first = v->l->n_ops;
    t->counter = LOOM_NONE;
    vec_open_inner(v);
    for (uint32_t s = 0; s < t->n_states; s++) t->state[s] = value_like(v, t, s, t->before, t->state, LOOM_LV_STATE);
    if (!t->test) {
        t->counter =
            loom_lifted_value(v->l, (loom_lvalue){.dtype = LOOM_I64, .source = LOOM_LV_STATE, .op = LOOM_NONE});
    }
    t->turning = scalar_extent(v, t->state[0]);
    t->number = list_leaf(v, t->state[t->numbers], t->turning);
    bool ok = make_turn(v, t);
    vec_close_inner(v, m);
    return ok;
}

static void add_loop(vec *v, turns *t) {
    uint32_t n = t->initial.n;
    op_axes none = {.n = 0};
    loom_lop op = vec_plain_op(v, t->node, LOOM_LO_LOOP, &none);
    t->results = LOOM_NEW_ARRAY(v->scratch, loom_lvalue_id, (size_t)t->n_states + n + 1);
    for (uint32_t s = 0; s < t->n_states; s++) t->results[s] = value_like(v, t, s, t->before, t->results, LOOM_LV_OP);
    for (uint32_t i = 0; i <= n; i++) { /* all of them end: numbers, then leaves, as they were before in size */
        t->results[t->n_states + i] = value_like(v, t, t->numbers + i, t->before, t->before, LOOM_LV_OP);
    }
    op.n_results = t->n_states + n + 1;
    op.results = t->results;
    op.n_states = t->n_states;
    op.initial = t->before;
    op.state = t->state;
    op.next = t->next;
    op.n_collected = n + 1;
    op.collected = t->collected;
    op.counter = t->counter;
    op.test = t->go_on;
    op.inner_first = t->first;
    op.inner_end = v->l->n_ops;
    loom_lifted_op(v->l, op);
}

/* ---- after the loop ---- */

typedef struct return_to {
    turns *turns;
    part part;
    leaf place;
    val ends; /* over the elements in the order in which they ended */
} return_to;

static bool look_at_ends(vec *v, turns *t, part *p, val *ends) {
    leaf *at;
    *ends = vec_leaves_of(v, t->initial.n, &at);
    for (uint32_t i = 0; i < ends->n; i++) {
        const extent *own;
        loom_lvalue_id rows = t->rows[i] == LOOM_NONE ? LOOM_NONE : t->before[t->rows[i]];
        if (!vec_part_extents(v, t->node, p, &t->initial.at[i], &own)) return false;
        if (!restore(v, t, t->results[t->n_states + 1 + i], rows, p->level, own, i, &at[i])) return false;
    }
    return true;
}

static bool build_ends(vec *v, void *argument, val *result) {
    return_to *r = argument;
    loom_lexpr_id place;
    leaf *at;
    if (!vec_to_expr(v, &r->place, &place)) return false;
    *result = vec_leaves_of(v, r->ends.n, &at);
    for (uint32_t i = 0; i < r->ends.n; i++) {
        at[i] = vec_part_leaf(v, &r->part, &r->ends.at[i], place);
        at[i].own = r->turns->initial.at[i].own;
    }
    return true;
}

static bool put_in_order(vec *v, turns *t, val *result) {
    extent size = scalar_extent(v, t->before[0]);
    leaf *at;
    val numbers = vec_leaves_of(v, 1, &at), places;
    return_to r = {.turns = t};
    at[0] = list_leaf(v, t->results[t->n_states], size);
    if (!vec_lift_compaction(v, t->node, &numbers, size, size, &places)) return false;
    if (!vec_points_scalar(v, t->node, &t->all, &places.at[0], &r.place)) return false;
    if (!vec_part_enter(v, t->node, &t->all, &numbers, &r.part)) return false;
    bool ok = look_at_ends(v, t, &r.part, &r.ends);
    vec_part_leave(v, &r.part);
    return ok && vec_emit_compute(v, t->node, build_ends, &r, result);
}

bool vec_lift_turns(vec *v, frame *f, const loom_node *n, const val *initial, val *result) {
    bool counted = n->op == LOOM_OP_LOOP_FOR;
    turns t = {.node = n, .frame = f, .initial = *initial};
    t.body = loom_node_body(v->p, n, counted ? 0 : 1);
    t.for_body = vec_outer_values(v, t.body, f);
    if (counted) {
        if (!vec_operand(v, f, n, 0, &t.count)) return false;
    } else {
        t.test = loom_node_body(v->p, n, 0);
        t.for_test = vec_outer_values(v, t.test, f);
    }
    for (uint32_t i = 0; i < initial->n; i++) {
        for (uint32_t k = 0; k < initial->at[i].n_own; k++) {
            if (!vec_is_settled(v, initial->at[i].own[k])) {
                return vec_refuse(v, n, "an inner extent that is not known here");
            }
        }
    }
    if (!find_points(v, &t)) return false;
    number_states(v, &t);
    if (!start(v, &t) || !make_turns(v, &t)) return false;
    add_loop(v, &t);
    return put_in_order(v, &t, result);
}
