/* Rule. Inside of a LOOP let a PERMUTE put rows X [t, j] into a state W, at the places (number(t), j), each of which is
 * one row's. If X comes of rows that were taken from there, x = W[number(t), j], by changes alone: operations over all
 * of [t, j] that read their own point, permutes onto them, LOOPs that start with them, IFs between them; then all of
 * these have their home in W. Each becomes the state with these rows in it: X' = W but at (number(t), j), where it is
 * X. What read X at (t, j) reads X' at (number(t), j); what was taken from W is W; and what was to be put there is
 * there.
 *
 *     loop W for i < n:  x = W[number(t), j];  y = x with a at (t, p);  W' = W with y at (number(t), j)
 *     ->                 W' = W with a at (number(t), p)
 * So a turn that changes little of each row does not touch the others (updates.c), and memory is the state's all the
 * while (codegen/src/share.c). That holds if each one is read no more when the next one has been; else it would be kept
 * apart, with the rows of all elements, and nothing is done.
 *
 * A choice between rows that some t have in a value of their own, Y [s, j] with t = from[s], and others is put in two:
 * first Y, at (number(from[s]), j), then the others. So the rows of those that take a branch have their home in W too.
 *
 *     W' = W with (if c[t] then Y[place[t], j] else x) at (number(t), j)
 *     ->  V = W with Y at (number(from[s]), j);  W' = V with (if c[t] then V[number(t), j] else x) at (number(t), j)
 * where from is made by a permute of all t that puts each with c[t] at its place[t], and all places are taken.
 *
 * X may have fewer rows than W, but its rows are as long: axes are the same, or lengths are those of W's rows, by the
 * number. Cost: for each such PERMUTE the operations of the loop times the values that have their home there. */
#include "homes_impl.h"

/* ---- which values ---- */

static bool add(home *x, loom_lvalue_id value);

/* The one value at its own point that the operation changes, if it is one that has its home there. */
loom_lvalue_id home_changed_by(home *x, const loom_lop *op) {
    const loom_lblock b = x->l->blocks[op->body];
    loom_lvalue_id found = LOOM_NONE;
    for (loom_lexpr_id id = b.first; id < b.end; id++) {
        const loom_lexpr *e = expr(x, id);
        bool own = e->kind == LOOM_LX_LOAD && e->mode == LOOM_LOAD_PROVEN && e->n_args == op->n_axes &&
                   home_has_rows(x, x->l->values[e->aux].n_axes, x->l->values[e->aux].axes) && is_own(x, e, 0);
        loom_lvalue_id value = own ? e->aux : home_is_taken(x, id) ? x->whole : LOOM_NONE;
        if (value == LOOM_NONE || value == found) continue;
        if (found != LOOM_NONE) return LOOM_NONE;
        found = value;
    }
    return found == LOOM_NONE || found == x->whole || add(x, found) ? found : LOOM_NONE;
}

static bool add_compute(home *x, const loom_lop *op, loom_lvalue_id value) {
    uint32_t j = number_of(op, value);
    if (op->dense || op->sliced || op->blank || j == op->n_results || !home_has_rows(x, op->n_axes, op->axes))
        return false;
    x->taken[value] = home_is_taken(x, result_of_body(x, op, j)) && !home_may_fail(x, op);
    return x->taken[value] || home_changed_by(x, op) != LOOM_NONE;
}

static bool add_permute(home *x, const loom_lop *op, uint32_t j) {
    if (!op->dest || j == op->n_results || op->n_context > 1 || op->rank + op->n_context != op->n_target_axes)
        return false;
    if (op->n_results > 1 && !loom_schedule_replaces(x->l, op->combine)) return false; /* made of each other */
    if (op->n_context && !home_same_count(x, op->axes[0], x->axis)) return false;
    const loom_lvalue *w = &x->l->values[x->whole];
    bool ordered = !op->n_context && !op->distinct && !op->n_apart; /* of all points, by number: not in rows */
    if (ordered && loom_lifted_any_segmented(x->l, w->n_axes, w->axes)) return false;
    return add(x, op->dest[j]);
}

static bool add_loop(home *x, const loom_lop *op, uint32_t j) {
    if (j >= op->n_states) return false;
    x->member[op->state[j]] = true; /* what leads to itself is so */
    LOOM_PUSH(x->arena, x->members, op->state[j]);
    if (j < op->n_results && !x->member[op->results[j]]) {
        x->member[op->results[j]] = true;
        LOOM_PUSH(x->arena, x->members, op->results[j]);
    }
    return add(x, op->initial[j]) && (op->next[j] == op->state[j] || add(x, op->next[j]));
}

static bool add(home *x, loom_lvalue_id value) {
    const loom_lvalue *v = &x->l->values[value];
    if (x->member[value]) return true;
    const loom_lop *op = maker(x, value);
    if (!op || !home_has_rows(x, v->n_axes, v->axes) || v->dtype != x->l->values[x->whole].dtype) return false;
    uint32_t j = number_of(op, value);
    x->member[value] = true;
    LOOM_PUSH(x->arena, x->members, value);
    switch (op->kind) {
    case LOOM_LO_COMPUTE: return add_compute(x, op, value);
    case LOOM_LO_PERMUTE: return add_permute(x, op, j);
    case LOOM_LO_LOOP: return add_loop(x, op, j);
    case LOOM_LO_IF: return add(x, op->then_results[j]) && add(x, op->else_results[j]);
    default: return false;
    }
}

/* ---- who reads them ---- */

typedef struct reading {
    const home *x;
    loom_lvalue_id value; /* or what was taken from the state, which is the state's value */
    uint32_t times;
} reading;

static void note_read(void *context, loom_lvalue_id value) {
    reading *r = context;
    r->times += value == r->value || (r->value == r->x->whole && r->x->taken[value]);
}

static uint32_t reads(const home *x, loom_lop_id id, loom_lvalue_id value) {
    reading r = {x, value, 0};
    loom_lifted_reads(x->l, id, note_read, &r);
    return r.times;
}

static void count_member(void *context, loom_lvalue_id value) {
    reading *r = context;
    r->times += r->x->member[value];
}

/* Whether the operation asks for members only where that is known to be told otherwise: loads, and what makes another
 * of them. */
static bool reads_well(const home *x, loom_lop_id id) {
    const loom_lop *op = &x->l->ops[id];
    reading r = {.x = x};
    loom_lifted_reads(x->l, id, count_member, &r);
    uint32_t known = home_loads_in(x, op->body);
    if (op->kind == LOOM_LO_REDUCE || op->kind == LOOM_LO_SCAN) known += home_loads_in(x, op->ne);
    for (uint32_t j = 0; op->kind == LOOM_LO_PERMUTE && j < op->n_results; j++) known += x->member[op->results[j]];
    for (uint32_t j = 0; op->kind == LOOM_LO_LOOP && j < op->n_states; j++) {
        if (x->member[op->state[j]]) known += 1 + x->member[op->next[j]];
    }
    for (uint32_t j = 0; op->kind == LOOM_LO_IF && j < op->n_results; j++) {
        if (x->member[op->results[j]]) known += 2;
    }
    return r.times == known;
}

static bool is_needed_by_axis(const home *x) {
    for (loom_axis_id a = 0; a < x->l->n_axes; a++) {
        loom_lvalue_id needs[3];
        uint32_t k = loom_axis_needs(x->l, a, needs);
        while (k) {
            if (x->member[needs[--k]]) return true;
        }
    }
    return false;
}

/* Where in its block the first reader of the value begins; the block's end if there is none. */
static loom_lop_id first_reader(const home *x, loom_lvalue_id value) {
    loom_lop_id by = x->l->values[value].op, around = x->inserts->parent[by];
    const loom_lop *block = &x->l->ops[around];
    loom_lop_id end = by < block->inner_end ? block->inner_end : block->else_end;
    for (loom_lop_id id = by + 1; id < end; id++) {
        if (!reads(x, id, value)) continue;
        while (x->inserts->parent[id] != around) id = x->inserts->parent[id];
        const loom_lop *op = &x->l->ops[id];
        return op->kind == LOOM_LO_LOOP || op->kind == LOOM_LO_IF ? op->inner_first : id;
    }
    return end;
}

/* Whether nothing but `by` reads the value from there on. */
static bool is_last_reader(const home *x, loom_lvalue_id value, loom_lop_id by, loom_lop_id from) {
    loom_lop_id end = x->l->ops[x->loop].inner_end;
    if (x->taken[value]) value = x->whole;
    for (loom_lop_id id = from; id < end; id++) {
        uint32_t onto = id == x->put && value == x->whole; /* what the PERMUTE goes onto is not looked at there */
        if (id != by && reads(x, id, value) > onto) return false;
    }
    return true;
}

/* Of what a member is made by changes, nothing is read once it is there; nor, of what a LOOP begins with, in turns. */
static bool is_changed_last(home *x, loom_lvalue_id value) {
    const loom_lvalue *v = &x->l->values[value];
    if (v->source != LOOM_LV_OP || x->taken[value]) return true; /* a state comes with its loop's result */
    const loom_lop *op = &x->l->ops[v->op];
    loom_lvalue_id of;
    switch (op->kind) {
    case LOOM_LO_COMPUTE: of = home_changed_by(x, op); break;
    case LOOM_LO_PERMUTE: of = op->dest[number_of(op, value)]; break;
    case LOOM_LO_LOOP: return is_last_reader(x, op->initial[number_of(op, value)], v->op, op->inner_first);
    default: return true;
    }
    return is_last_reader(x, of, v->op, first_reader(x, value));
}

/* What finds numbers is there before anything is made. */
static bool is_there(const home *x, loom_lexpr_id id, loom_lop_id before) {
    const loom_lexpr *e = expr(x, id);
    if (e->kind == LOOM_LX_LOAD) {
        const loom_lvalue *v = &x->l->values[e->aux];
        if (v->source == LOOM_LV_OP && v->op >= before) return false;
        if (x->member[e->aux] || e->mode != LOOM_LOAD_PROVEN) return false;
    }
    for (uint32_t i = 0; i < e->n_args; i++) {
        if (!is_there(x, loom_lifted_arg(x->l, e, i), before)) return false;
    }
    return true;
}

static bool may_move(home *x) {
    const loom_lop *loop = &x->l->ops[x->loop];
    loom_lop_id first = x->put;
    for (size_t i = 0; i < x->members.count; i++) {
        loom_lvalue_id value = x->members.at[i];
        const loom_lvalue *v = &x->l->values[value];
        loom_lop_id op = v->source == LOOM_LV_OP ? v->op : first;
        if (v->source == LOOM_LV_OP && x->l->ops[op].kind == LOOM_LO_LOOP) op = x->l->ops[op].inner_first;
        first = op < first ? op : first;
        if (!is_changed_last(x, value)) return false;
    }
    if (is_needed_by_axis(x) || !is_there(x, x->number, first)) return false;
    for (loom_lop_id id = loop->inner_first; id <= x->loop; id++) {
        if (!reads_well(x, id)) return false;
    }
    return true;
}

/* ---- where it applies ---- */

static bool stands_on_axis_0(const home *x, loom_lexpr_id id) {
    const loom_lexpr *e = expr(x, id);
    if (e->kind == LOOM_LX_AXIS) return e->aux == 0;
    for (uint32_t i = 0; i < e->n_args; i++) {
        if (!stands_on_axis_0(x, loom_lifted_arg(x->l, e, i))) return false;
    }
    return true;
}

/* Whether the operation puts rows into a state of the LOOP around it. */
static bool is_put(const home *x) {
    const loom_lop *op = &x->l->ops[x->put];
    if (op->kind != LOOM_LO_PERMUTE || !op->dest || op->output != LOOM_NONE || op->n_context || !op->distinct ||
        op->n_results != 1 || op->n_axes < 2 || op->rank != op->n_axes || !loom_schedule_replaces(x->l, op->combine) ||
        x->loop == LOOM_NONE || x->l->ops[x->loop].kind != LOOM_LO_LOOP)
        return false;
    const loom_lop *loop = &x->l->ops[x->loop];
    bool state = false;
    for (uint32_t j = 0; j < loop->n_states; j++) state |= loop->state[j] == op->dest[0];
    for (uint32_t i = 1; i < op->rank; i++) state &= is_axis(x, result_of_body(x, op, i), i);
    loom_lexpr_id number = result_of_body(x, op, 0);
    return state && loom_schedule_is_simple(x->l, number, DEEPEST_PLACE, false) && stands_on_axis_0(x, number);
}

static bool move_home(loom_lifted *l, loom_arena *scratch, loom_inserts *inserts, loom_lop_id id) {
    home x = {.l = l, .arena = scratch, .inserts = inserts, .put = id, .loop = inserts->parent[id]};
    if (!is_put(&x)) return false;
    const loom_lop *op = &l->ops[id];
    x.whole = op->dest[0];
    x.number = result_of_body(&x, op, 0);
    x.axis = op->axes[0];
    x.member = LOOM_NEW_ARRAY(scratch, bool, (size_t)l->n_values + 1);
    x.taken = LOOM_NEW_ARRAY(scratch, bool, (size_t)l->n_values + 1);
    x.makes = LOOM_NEW_ARRAY(scratch, uint8_t, (size_t)l->n_ops + 1);
    home_shorten_choice(&x);
    if (home_split_choice(&x)) return true;
    op = &l->ops[id];
    loom_lvalue_id of = home_changed_by(&x, op);
    if (of == LOOM_NONE || of == x.whole || !may_move(&x)) return false;
    home_move(&x, of);
    return true;
}

void loom_schedule_homes(loom_lifted *l, loom_arena *scratch) {
    loom_inserts inserts;
    loom_inserts_open(&inserts, l, scratch);
    for (loom_lop_id id = l->n_ops; id-- > 0;) {
        if (!move_home(l, scratch, &inserts, id)) continue;
        loom_inserts_close(&inserts);
        loom_inserts_open(&inserts, l, scratch);
        id = l->n_ops;
    }
}
