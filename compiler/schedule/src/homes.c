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
#include "homes.h"
#include "changes.h"
#include "clone.h"
#include "compiler/schedule/reads.h"
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
    uint8_t *makes;       /* per operation that makes some: COMPUTES, PERMUTES */
} home;

enum {
    COMPUTES = 1,
    PERMUTES = 2
};

/* ---- expressions ---- */

static const loom_lexpr *expr(const home *x, loom_lexpr_id id) {
    return &x->l->exprs[id];
}

static loom_lexpr_id result_of_body(const home *x, const loom_lop *op, uint32_t i) {
    return x->l->blocks[op->body].results[i];
}

static bool is_axis(const home *x, loom_lexpr_id id, uint32_t position) {
    return expr(x, id)->kind == LOOM_LX_AXIS && expr(x, id)->aux == position;
}

/* Whether arguments from `from` on are the operation's own indices. */
static bool is_own(const home *x, const loom_lexpr *e, uint32_t from) {
    for (uint32_t i = from; i < x->l->values[e->aux].n_axes; i++) {
        if (!is_axis(x, loom_lifted_arg(x->l, e, i), i)) return false;
    }
    return true;
}

static bool stands_on_axis_0(const home *x, loom_lexpr_id id) {
    const loom_lexpr *e = expr(x, id);
    if (e->kind == LOOM_LX_AXIS) return e->aux == 0;
    for (uint32_t i = 0; i < e->n_args; i++) {
        if (!stands_on_axis_0(x, loom_lifted_arg(x->l, e, i))) return false;
    }
    return true;
}

/* ---- which values ---- */

static uint32_t number_of(const loom_lop *op, loom_lvalue_id value) {
    uint32_t j = 0;
    while (j < op->n_results && op->results[j] != value) j++;
    return j;
}

static bool is_inside(const home *x, loom_lop_id id) {
    const loom_lop *loop = &x->l->ops[x->loop];
    return id >= loop->inner_first && id < loop->inner_end;
}

static const loom_lop *maker(const home *x, loom_lvalue_id id) {
    const loom_lvalue *v = &x->l->values[id];
    return v->source == LOOM_LV_OP && is_inside(x, v->op) ? &x->l->ops[v->op] : NULL;
}

/* Axes of as many points: a count that was copied is the same. */
static bool same_count(const home *x, loom_axis_id a, loom_axis_id b) {
    const loom_axis *axis = &x->l->axes[a];
    if (a == b) return true;
    if (axis->kind != LOOM_AXIS_SCALAR || x->l->values[axis->value].source != LOOM_LV_OP) return false;
    const loom_lop *op = &x->l->ops[x->l->values[axis->value].op];
    if (op->kind != LOOM_LO_COMPUTE || op->n_axes) return false;
    const loom_lexpr *e = expr(x, result_of_body(x, op, number_of(op, axis->value)));
    return e->kind == LOOM_LX_EXTENT && same_count(x, e->aux, b);
}

/* An expression in whose place of axis 0 another stands; NULL: the axis itself. */
typedef struct term {
    loom_lexpr_id id;
    const struct term *at;
} term;

static term head(const home *x, term t) {
    while (t.at && expr(x, t.id)->kind == LOOM_LX_AXIS && expr(x, t.id)->aux == 0) t = *t.at;
    return t;
}

/* What the COMPUTE along one axis, whose result is loaded, has there. */
static bool expand(const home *x, const term *index, loom_lvalue_id value, term *t) {
    const loom_lvalue *v = &x->l->values[value];
    if (v->source != LOOM_LV_OP || v->n_axes != 1) return false;
    const loom_lop *op = &x->l->ops[v->op];
    uint32_t j = number_of(op, value);
    if (op->kind != LOOM_LO_COMPUTE || op->dense || op->sliced || op->blank || j == op->n_results) return false;
    *t = (term){result_of_body(x, op, j), index};
    return true;
}

static bool same_number(const home *x, term a, term b, uint32_t depth);

static bool same_arguments(const home *x, term a, term b, uint32_t depth) {
    const loom_lexpr *p = expr(x, a.id), *q = expr(x, b.id);
    if (p->n_args != q->n_args) return false;
    for (uint32_t i = 0; i < p->n_args; i++) {
        term m = {loom_lifted_arg(x->l, p, i), a.at}, n = {loom_lifted_arg(x->l, q, i), b.at};
        if (!same_number(x, m, n, depth - 1)) return false;
    }
    return true;
}

/* Whether the two are the same number, seen through what finds it. */
static bool same_number(const home *x, term a, term b, uint32_t depth) {
    a = head(x, a);
    b = head(x, b);
    const loom_lexpr *p = expr(x, a.id), *q = expr(x, b.id);
    if (depth == 0) return false;
    bool load_a = p->kind == LOOM_LX_LOAD && p->mode == LOOM_LOAD_PROVEN,
         load_b = q->kind == LOOM_LX_LOAD && q->mode == LOOM_LOAD_PROVEN;
    if (load_a && load_b && p->aux == q->aux) return same_arguments(x, a, b, depth);
    if (load_a && p->n_args == 1) {
        term index = {loom_lifted_arg(x->l, p, 0), a.at}, t;
        if (expand(x, &index, p->aux, &t)) return same_number(x, t, b, depth - 1);
    }
    if (load_b && q->n_args == 1) {
        term index = {loom_lifted_arg(x->l, q, 0), b.at}, t;
        if (expand(x, &index, q->aux, &t)) return same_number(x, a, t, depth - 1);
    }
    if (p->kind != q->kind || p->dtype != q->dtype) return false;
    if (p->kind == LOOM_LX_AXIS) return !a.at && !b.at && p->aux == q->aux;
    if (p->kind == LOOM_LX_CONST) return loom_lifted_same_scalar(p->dtype, &p->imm, &q->imm);
    return p->kind == LOOM_LX_PRIM && p->prim == q->prim && same_arguments(x, a, b, depth);
}

static bool is_number(const home *x, loom_lexpr_id a, loom_lexpr_id b) {
    return same_number(x, (term){a, NULL}, (term){b, NULL}, 24);
}

/* Whether the expression is the state at (number(t), j). */
static bool is_taken(const home *x, loom_lexpr_id id) {
    const loom_lexpr *e = expr(x, id);
    return e->kind == LOOM_LX_LOAD && e->mode == LOOM_LOAD_PROVEN && e->aux == x->whole &&
           is_number(x, loom_lifted_arg(x->l, e, 0), x->number) && is_own(x, e, 1);
}

/* Whether i64 over t are the lengths of the state's rows, by the number. */
static bool same_lengths(const home *x, loom_lvalue_id lengths, loom_lvalue_id of_whole) {
    term row = {x->number, NULL}, a, b;
    return expand(x, NULL, lengths, &a) && expand(x, &row, of_whole, &b) && same_number(x, a, b, 24);
}

/* Whether values over these axes have the state's rows, of t. */
static bool has_rows(const home *x, uint32_t n, const loom_axis_id *axes) {
    const loom_lvalue *w = &x->l->values[x->whole];
    if (n != w->n_axes || !same_count(x, axes[0], x->axis)) return false;
    for (uint32_t i = 1; i < n; i++) {
        const loom_axis *a = &x->l->axes[axes[i]], *b = &x->l->axes[w->axes[i]];
        if (axes[i] == w->axes[i] && a->kind != LOOM_AXIS_SEGMENTED) continue;
        bool rows = i == 1 && a->kind == LOOM_AXIS_SEGMENTED && b->kind == LOOM_AXIS_SEGMENTED;
        if (!rows || !same_lengths(x, a->lengths, b->lengths)) return false;
    }
    return true;
}

static bool add(home *x, loom_lvalue_id value);

/* The one value at its own point that the operation changes, if it is one that has its home there. */
static loom_lvalue_id changed_by(home *x, const loom_lop *op) {
    const loom_lblock b = x->l->blocks[op->body];
    loom_lvalue_id found = LOOM_NONE;
    for (loom_lexpr_id id = b.first; id < b.end; id++) {
        const loom_lexpr *e = expr(x, id);
        bool own = e->kind == LOOM_LX_LOAD && e->mode == LOOM_LOAD_PROVEN && e->n_args == op->n_axes &&
                   has_rows(x, x->l->values[e->aux].n_axes, x->l->values[e->aux].axes) && is_own(x, e, 0);
        loom_lvalue_id value = own ? e->aux : is_taken(x, id) ? x->whole : LOOM_NONE;
        if (value == LOOM_NONE || value == found) continue;
        if (found != LOOM_NONE) return LOOM_NONE;
        found = value;
    }
    return found == LOOM_NONE || found == x->whole || add(x, found) ? found : LOOM_NONE;
}

/* Whether something in the body may fail, or need not end: then it is evaluated, whoever uses what it gives. */
static bool may_fail(const home *x, const loom_lop *op) {
    const loom_lblock *b = &x->l->blocks[op->body];
    for (loom_lexpr_id id = b->first; id < b->end; id++) {
        const loom_lexpr *e = expr(x, id);
        if (e->kind == LOOM_LX_CHECK || e->kind == LOOM_LX_WHILE) return true;
        if (e->kind == LOOM_LX_LOAD && e->mode == LOOM_LOAD_CHECKED) return true;
        if (e->kind == LOOM_LX_PRIM && loom_prim_table[e->prim].can_trap) return true;
    }
    return false;
}

static bool add_compute(home *x, const loom_lop *op, loom_lvalue_id value) {
    uint32_t j = number_of(op, value);
    if (op->dense || op->sliced || op->blank || j == op->n_results || !has_rows(x, op->n_axes, op->axes)) return false;
    x->taken[value] = is_taken(x, result_of_body(x, op, j)) && !may_fail(x, op);
    return x->taken[value] || changed_by(x, op) != LOOM_NONE;
}

static bool add_permute(home *x, const loom_lop *op) {
    if (!op->dest || op->n_results != 1 || op->n_context > 1 || op->rank + op->n_context != op->n_target_axes)
        return false;
    if (op->n_context && !same_count(x, op->axes[0], x->axis)) return false;
    const loom_lvalue *w = &x->l->values[x->whole];
    bool ordered = !op->n_context && !op->distinct && !op->n_apart; /* of all points, by number: not in rows */
    if (ordered && loom_lifted_any_segmented(x->l, w->n_axes, w->axes)) return false;
    return add(x, op->dest[0]);
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
    if (!op || !has_rows(x, v->n_axes, v->axes) || v->dtype != x->l->values[x->whole].dtype) return false;
    uint32_t j = number_of(op, value);
    x->member[value] = true;
    LOOM_PUSH(x->arena, x->members, value);
    switch (op->kind) {
    case LOOM_LO_COMPUTE: return add_compute(x, op, value);
    case LOOM_LO_PERMUTE: return add_permute(x, op);
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

static uint32_t loads_in(const home *x, loom_lblock_id block) {
    uint32_t n = 0;
    if (block == LOOM_NONE) return 0;
    for (loom_lexpr_id e = x->l->blocks[block].first; e < x->l->blocks[block].end; e++) {
        n += expr(x, e)->kind == LOOM_LX_LOAD && x->member[expr(x, e)->aux];
    }
    return n;
}

/* Whether the operation asks for members only where that is known to be told otherwise: loads, and what makes another
 * of them. */
static bool reads_well(const home *x, loom_lop_id id) {
    const loom_lop *op = &x->l->ops[id];
    reading r = {.x = x};
    loom_lifted_reads(x->l, id, count_member, &r);
    uint32_t known = loads_in(x, op->body);
    if (op->kind == LOOM_LO_REDUCE || op->kind == LOOM_LO_SCAN) known += loads_in(x, op->ne);
    if (op->kind == LOOM_LO_PERMUTE && op->n_results == 1 && x->member[op->results[0]]) known++;
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
    case LOOM_LO_COMPUTE: of = changed_by(x, op); break;
    case LOOM_LO_PERMUTE: of = op->dest[0]; break;
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

/* ---- writing ---- */

/* The number of the element that is t of the rows. `anywhere`: t may be none, and then the number is -1. */
static loom_lexpr_id numbered(home *x, loom_lexpr_id id, loom_lexpr_id t, bool anywhere, loom_lsite_id site) {
    loom_lexpr e = *expr(x, id);
    if (e.kind == LOOM_LX_AXIS) return t;
    loom_lexpr_id args[LOOM_LIFTED_MAX_AXES + 1];
    uint32_t n = e.n_args;
    for (uint32_t i = 0; i < n; i++) args[i] = numbered(x, loom_lifted_arg(x->l, &e, i), t, anywhere, site);
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
        args[0] = numbered(x, x->number, args[0], e.mode != LOOM_LOAD_PROVEN, e.site);
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

/* (a, x) -> x */
static loom_lblock_id replaced(home *x) {
    loom_dtype t = x->l->values[x->whole].dtype;
    loom_lexpr param = {.kind = LOOM_LX_PARAM, .dtype = t, .aux = 1, .site = LOOM_NONE};
    loom_lexpr_id first = x->l->n_exprs, e = loom_lifted_expr(x->l, param, NULL, 0);
    return loom_lifted_block(x->l, first, 2, (loom_dtype[]){t, t}, 1, &e);
}

static loom_lexpr_id axis(home *x, uint32_t position) {
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
    made.combine = replaced(x);
    loom_lexpr_id first = x->l->n_exprs;
    loom_clone_block(&(loom_clone){.l = x->l, .scratch = x->arena, .replace = moved, .context = x}, op->body, all);
    out[0] = numbered(x, x->number, axis(x, 0), false, LOOM_NONE);
    for (uint32_t i = 1; i < n; i++) out[i] = axis(x, i);
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

/* The COMPUTE without its result j. */
static void drop_result(home *x, loom_lop *op, uint32_t j) {
    const loom_lblock b = x->l->blocks[op->body];
    loom_lexpr_id *results = LOOM_NEW_ARRAY(x->arena, loom_lexpr_id, (size_t)b.n_results + 1);
    loom_lvalue_id *values = LOOM_NEW_ARRAY(x->l->arena, loom_lvalue_id, (size_t)op->n_results + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < op->n_results; i++) {
        if (i == j) continue;
        values[n] = op->results[i];
        results[n++] = b.results[i];
    }
    op->body = loom_lifted_block(x->l, b.first, b.n_params, b.params, n, results);
    x->l->blocks[op->body].end = b.end;
    op->results = values;
    op->n_results = n;
}

static void move_compute(home *x, loom_lop_id id, loom_lvalue_id value) {
    loom_lop *op = &x->l->ops[id];
    uint32_t j = number_of(op, value);
    loom_inserts *p = x->inserts;
    if (!x->taken[value]) {
        loom_lop made = put_of_compute(x, op, j, changed_by(x, op));
        op = &x->l->ops[id];
        if (op->n_results == 1) {
            *op = made;
            return;
        }
        loom_insert(p, id + 1, made);
        loom_inserts_grow(p, id, 1);
    }
    if (op->n_results > 1) {
        drop_result(x, op, j);
        return;
    }
    p->gone[id] = true;
    loom_inserts_grow(p, id, -1);
}

static void move_permute(home *x, loom_lop_id id) {
    loom_lop *op = &x->l->ops[id];
    const loom_lblock b = x->l->blocks[op->body];
    loom_lexpr_id *all = LOOM_NEW_ARRAY(x->arena, loom_lexpr_id, (size_t)b.n_results + 2), *out = all;
    bool inside = op->n_context || is_known_inside(x, &b, b.results[0]);
    loom_lvalue_id *dest = LOOM_NEW_ARRAY(x->l->arena, loom_lvalue_id, 1);
    loom_lexpr_id first = x->l->n_exprs;
    if (op->n_context) out++;
    loom_clone_block(&(loom_clone){.l = x->l, .scratch = x->arena, .replace = moved, .context = x}, op->body, out);
    all[0] = numbered(x, x->number, op->n_context ? axis(x, 0) : all[0], !inside, LOOM_NONE);
    uint32_t n = b.n_results + (op->n_context ? 1 : 0);
    *dest = renamed(x, op->dest[0]);
    op->n_apart = op->n_context ? 1 : op->n_apart;
    op->body = loom_lifted_block(x->l, first, 0, NULL, n, all);
    op->dest = dest;
    onto_state(x, op);
}

static loom_lvalue_id *renamed_all(home *x, uint32_t n, const loom_lvalue_id *values) {
    loom_lvalue_id *to = LOOM_NEW_ARRAY(x->l->arena, loom_lvalue_id, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) to[i] = renamed(x, values[i]);
    return to;
}

static void move_others(home *x, loom_lop_id id) {
    loom_lop *op = &x->l->ops[id];
    loom_lblock_id body = op->body, ne = op->ne;
    if (loads_in(x, body)) body = copy_block(x, body);
    if (loads_in(x, ne)) ne = copy_block(x, ne);
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
    }
    for (loom_lop_id id = loop.inner_first; id < loop.inner_end; id++) {
        if (x->inserts->gone[id] || id == x->put) continue;
        if (x->makes[id] == PERMUTES) move_permute(x, id);
        bool put = x->makes[id] == COMPUTES && x->l->ops[id].kind == LOOM_LO_PERMUTE; /* made of moved loads */
        if (x->makes[id] != PERMUTES && !put) move_others(x, id);
    }
}

/* Whether the PERMUTE puts what has its home there, and nothing else. */
static bool puts_home(const home *x, loom_lvalue_id of) {
    const loom_lop *put = &x->l->ops[x->put];
    const loom_lexpr *e = expr(x, result_of_body(x, put, put->rank));
    return e->kind == LOOM_LX_LOAD && e->aux == of && is_own(x, e, 0) && !may_fail(x, put);
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

/* ---- where it applies ---- */

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
    return state && loom_schedule_is_simple(x->l, number, DEEPEST_PLACE) && stands_on_axis_0(x, number);
}

/* ---- choices ---- */

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
    if (!same_count(x, op->axes[0], x->axis) || !is_axis(x, result_of_body(x, op, 1), 0)) return false;
    return place->kind == LOOM_LX_PRIM && place->prim == LOOM_PRIM_SELECT &&
           is_number(x, loom_lifted_arg(x->l, place, 0), condition) &&
           is_number(x, loom_lifted_arg(x->l, place, holds ? 1 : 2), at) &&
           is_minus_1(x, loom_lifted_arg(x->l, place, holds ? 2 : 1));
}

static bool find_from(const home *x, branch *b, bool holds) {
    for (loom_lop_id id = x->l->ops[x->loop].inner_first; id < x->put; id++) {
        const loom_lop *op = &x->l->ops[id];
        if (x->inserts->parent[id] != x->loop || !tells_rows(x, op, b->condition, b->place, holds)) continue;
        if (!same_count(x, x->l->values[b->rows].axes[0], op->target_axes[0])) continue;
        b->from = x->l->ops[id].results[0];
        return true;
    }
    return false;
}

static bool block_may_fail(const home *x, loom_lblock_id block) {
    loom_lop op = {.body = block};
    return may_fail(x, &op);
}

/* Whether the body looks at the state in the other block alone, at the rows that are put: these are as they were when
 * the branch has changed its own. */
static bool looks_there_alone(const home *x, const branch *b) {
    const loom_lblock *body = &x->l->blocks[x->l->ops[x->put].body], *other = &x->l->blocks[b->other];
    for (loom_lexpr_id id = body->first; id < body->end; id++) {
        const loom_lexpr *e = expr(x, id);
        if (e->kind != LOOM_LX_LOAD || e->aux != x->whole) continue;
        if (id < other->first || id >= other->end || !is_number(x, loom_lifted_arg(x->l, e, 0), x->number))
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
    return is_t_again(x, id) ? axis(x, 0) : loom_lifted_expr(x->l, e, args, n);
}

static void shorten_choice(home *x) {
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
    if (choice->kind != LOOM_LX_IF || !has_rows(x, put->n_axes, put->axes)) return false;
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
    loom_lexpr_id s = axis(x, 0);
    load.site = LOOM_NONE;
    return numbered(x, x->number, loom_lifted_expr(x->l, load, &s, 1), false, LOOM_NONE);
}

/* The PERMUTE of the branch's rows, if they are as long as the state's. */
static bool put_of_branch(home *x, const branch *b, loom_lop *made) {
    const loom_lvalue v = x->l->values[b->rows];
    loom_lexpr_id first = x->l->n_exprs, out[LOOM_LIFTED_MAX_AXES + 2], number = number_in_branch(x, b);
    home rows = *x;
    rows.number = number;
    rows.axis = v.axes[0];
    if (!has_rows(&rows, v.n_axes, v.axes)) return false;
    *made = x->l->ops[x->put];
    for (uint32_t i = 0; i < v.n_axes; i++) out[i] = axis(x, i);
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
        args[0] = numbered(s->x, s->x->number, axis(s->x, 0), false, LOOM_NONE);
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

static bool split_choice(home *x) {
    branch b;
    loom_lop made;
    if (!find_branch(x, &b) || !put_of_branch(x, &b, &made)) return false;
    loom_lop *put = &x->l->ops[x->put];
    if (is_taken(x, x->l->blocks[b.other].results[0]) && !may_fail(x, put)) { /* the others stay as they are */
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
    shorten_choice(&x);
    if (split_choice(&x)) return true;
    op = &l->ops[id];
    loom_lvalue_id of = changed_by(&x, op);
    if (of == LOOM_NONE || of == x.whole || !may_move(&x)) return false;
    move_operations(&x);
    move_put(&x, of);
    move_values(&x);
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
