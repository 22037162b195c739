/* Rule. Inside of a LOOP let a COMPUTE make values that are a state, or another value of the turn, but at some places
 * (changes.c). Then nothing else need be touched where the code generator gives both the same memory. The values at the
 * places are computed first, by the body with the places' indices, while the old ones are there; then each place is a
 * PERMUTE of its values onto what it changes, one after the other. Which of them is first does not matter: where two
 * are the same point, both write what the body gives there. The PERMUTEs stand as late as possible, at the end of the
 * turn, or before the first that looks at the new values: what else the turn asks of the old ones it asks before.
 *
 * Where there is one place, and nothing that is read at others, one PERMUTE computes and writes.
 *
 * A PERMUTE onto a state, to distinct places, is done alike where what it puts there is the state but at some of its
 * points: rows of elements that turn, each of which changes in few places. Any other PERMUTE whose body looks at what
 * it goes onto is made in two as well: what goes where is computed first. One that does not stands late too, if what
 * it goes onto is looked at behind it.
 *
 * Example: loop xs for i < n do (xs with [i] = xs[i + 1]) with [i + 1] = xs[i]
 *     a = xs[i], b = xs[i + 1]; next[j] = select(j == i + 1, a, select(j == i, b, xs[j])) over [n]
 *  -> p1 = i + 1, v1 = body(p1), p2 = i, v2 = body(p2) over []; ys = xs with v1 at p1; next = ys with v2 at p2
 * Cost: linear in the operations, and in each body for each of its places. */
#include "updates.h"
#include "changes.h"
#include "clone.h"
#include "compiler/schedule/reads.h"
#include "insert.h"
#include <string.h>

typedef loom_inserts pass;

typedef struct update {
    pass *p;
    loom_lifted *l;
    loom_arena *arena;
    loom_changes c;
    loom_lop_id id;
    const loom_change *at;                     /* the place that is made */
    loom_lexpr_id place[LOOM_LIFTED_MAX_AXES]; /* its indices, or those along the axes that are left */
    loom_lexpr_id point;                       /* whether that is a point, where it is asked for; or LOOM_NONE */
    loom_lvalue_id *now;                       /* per result: what the places so far have made */
} update;

/* ---- bodies ---- */

static loom_lexpr_id make(update *u, loom_lexpr e, const loom_lexpr_id *args, uint32_t n) {
    return loom_lifted_expr(u->l, e, args, n);
}

static loom_lexpr_id constant(update *u, loom_dtype dtype) {
    return make(u, (loom_lexpr){.kind = LOOM_LX_CONST, .dtype = dtype, .site = LOOM_NONE}, NULL, 0);
}

static loom_lexpr_id prim(update *u, loom_prim p, loom_lexpr_id a, loom_lexpr_id b) {
    loom_lexpr e = {.kind = LOOM_LX_PRIM, .dtype = LOOM_BOOL, .prim = p, .site = LOOM_NONE};
    return make(u, e, (loom_lexpr_id[]){a, b}, 2);
}

/* A load that gives 0 outside. */
static loom_lexpr_id default_load(update *u, loom_lexpr e, const loom_lexpr_id *args, uint32_t n) {
    loom_lexpr_id all[LOOM_LIFTED_MAX_AXES + 1];
    memcpy(all, args, n * sizeof *all);
    all[n] = constant(u, e.dtype);
    e.mode = LOOM_LOAD_DEFAULT;
    e.site = LOOM_NONE;
    return make(u, e, all, n + 1);
}

/* Or 1 */
static loom_lexpr_id not_zero(update *u, loom_lexpr_id divisor) {
    loom_lexpr choice = {.kind = LOOM_LX_PRIM, .dtype = LOOM_I64, .prim = LOOM_PRIM_SELECT, .site = LOOM_NONE};
    loom_lexpr one = {.kind = LOOM_LX_CONST, .dtype = LOOM_I64, .imm.i = 1, .site = LOOM_NONE};
    loom_lexpr_id zero = prim(u, LOOM_PRIM_EQ, divisor, constant(u, LOOM_I64));
    return make(u, choice, (loom_lexpr_id[]){zero, make(u, one, NULL, 0), divisor}, 3);
}

/* Nothing is known of conditions around it here. */
static loom_lexpr_id copy_simple(update *u, loom_lexpr_id id) {
    loom_lexpr e = u->l->exprs[id];
    if (e.kind == LOOM_LX_AXIS) return u->place[e.aux];
    loom_lexpr_id *args = LOOM_NEW_ARRAY(u->arena, loom_lexpr_id, (size_t)e.n_args + 1);
    for (uint32_t i = 0; i < e.n_args; i++) args[i] = copy_simple(u, loom_lifted_arg(u->l, &e, i));
    if (loom_schedule_divides(&e)) args[1] = not_zero(u, args[1]);
    bool outside = e.kind == LOOM_LX_LOAD && e.mode != LOOM_LOAD_DEFAULT && e.site != LOOM_NONE;
    return outside ? default_load(u, e, args, e.n_args) : make(u, e, args, e.n_args);
}

static bool is_fixed(const update *u, uint32_t position) {
    return u->at->fixed >> position & 1;
}

static loom_lexpr_id axis(update *u, uint32_t position) {
    return make(u, (loom_lexpr){.kind = LOOM_LX_AXIS, .dtype = LOOM_I64, .aux = position, .site = LOOM_NONE}, NULL, 0);
}

/* Indices that are left first: those of the place may stand on them. */
static void make_places(update *u) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < u->c.op->n_axes; i++) {
        if (!is_fixed(u, i)) u->place[i] = axis(u, left++);
    }
    for (uint32_t i = 0; i < u->c.op->n_axes; i++) {
        if (is_fixed(u, i)) u->place[i] = copy_simple(u, u->at->index[i]);
    }
}

static loom_lexpr_id both(update *u, loom_lexpr_id a, loom_lexpr_id b) {
    return a == LOOM_NONE ? b : prim(u, LOOM_PRIM_AND, a, b);
}

/* The extent of the operation's axis at the place; of rows that differ in length that of the row, if there is one. */
static loom_lexpr_id extent_at(update *u, uint32_t position) {
    const loom_axis *a = &u->l->axes[u->c.op->axes[position]];
    if (a->kind != LOOM_AXIS_SEGMENTED) {
        loom_lexpr extent = {
            .kind = LOOM_LX_EXTENT, .dtype = LOOM_I64, .aux = u->c.op->axes[position], .site = LOOM_NONE};
        return make(u, extent, NULL, 0);
    }
    loom_lexpr length = {.kind = LOOM_LX_LOAD, .dtype = LOOM_I64, .aux = a->lengths, .site = LOOM_NONE};
    return default_load(u, length, u->place, position);
}

/* Whether the place is inside along the operation's axis. */
static loom_lexpr_id is_inside(update *u, uint32_t position) {
    loom_lexpr_id below = prim(u, LOOM_PRIM_LT, u->place[position], extent_at(u, position));
    return both(u, prim(u, LOOM_PRIM_GE, u->place[position], constant(u, LOOM_I64)), below);
}

/* The place may be outside: then nothing comes of it, loads there have nothing to load, and what only points look at is
 * not looked at. */
static loom_lexpr_id moved(void *context, loom_lexpr_id id, loom_lexpr e, loom_lexpr_id *args, uint32_t n) {
    update *u = context;
    if (e.kind == LOOM_LX_AXIS) return u->place[e.aux];
    bool outside = e.kind == LOOM_LX_LOAD && e.mode == LOOM_LOAD_PROVEN && n && e.site != LOOM_NONE;
    for (uint32_t i = 0; e.kind == LOOM_LX_LOAD && e.mode == LOOM_LOAD_PROVEN && i < n; i++)
        outside |= loom_schedule_differs(&u->c, loom_lifted_arg(u->l, &e, i));
    loom_lexpr_id made = outside ? default_load(u, e, args, n) : make(u, e, args, n);
    bool asks = u->point != LOOM_NONE && loom_schedule_is_condition(&u->c, id);
    return asks ? prim(u, LOOM_PRIM_AND, u->point, made) : made;
}

/* Where the values are among the body's results. */
static uint32_t first_value(const update *u) {
    return loom_schedule_is_put(u->c.op) ? u->c.op->rank : 0;
}

static void clone_body(update *u, loom_lexpr_id *values) {
    uint32_t n = u->l->blocks[u->c.op->body].n_results;
    u->point = LOOM_NONE;
    for (uint32_t i = 0; u->c.traps_there && i < u->c.op->n_axes; i++) {
        if (is_fixed(u, i)) u->point = both(u, u->point, is_inside(u, i));
    }
    loom_lexpr_id *all = LOOM_NEW_ARRAY(u->arena, loom_lexpr_id, (size_t)n + 1);
    loom_clone_block(&(loom_clone){.l = u->l, .scratch = u->arena, .replace = moved, .context = u}, u->c.op->body, all);
    memcpy(values, all + first_value(u), u->c.op->n_results * sizeof *values);
}

/* Where there are no points, nothing fails. */
static loom_lexpr_id any_points(update *u) {
    loom_lexpr_id all = LOOM_NONE;
    for (uint32_t i = 0; i < u->c.op->n_axes; i++) {
        if (is_fixed(u, i)) all = both(u, all, prim(u, LOOM_PRIM_GT, extent_at(u, i), constant(u, LOOM_I64)));
    }
    return all;
}

/* What the body gives at the place. */
static void make_values(update *u, loom_lexpr_id *values) {
    uint32_t k = u->c.op->n_results;
    if (!u->c.traps) {
        clone_body(u, values);
        return;
    }
    loom_lexpr choice = {.kind = LOOM_LX_IF, .site = LOOM_NONE};
    loom_lexpr_id any = any_points(u), first = u->l->n_exprs;
    choice.dtype = u->l->values[u->c.op->results[0]].dtype;
    clone_body(u, values);
    choice.blocks[0] = loom_lifted_block(u->l, first, 0, NULL, k, values);
    first = u->l->n_exprs;
    for (uint32_t j = 0; j < k; j++) values[j] = constant(u, u->l->values[u->c.op->results[j]].dtype);
    choice.blocks[1] = loom_lifted_block(u->l, first, 0, NULL, k, values);
    loom_lexpr_id chosen = make(u, choice, &any, 1);
    for (uint32_t j = 0; j < k; j++) {
        loom_lexpr result = {
            .kind = LOOM_LX_RESULT, .dtype = u->l->values[u->c.op->results[j]].dtype, .aux = j, .site = LOOM_NONE};
        values[j] = j ? make(u, result, &chosen, 1) : chosen;
    }
}

/* ---- operations ---- */

/* The axes that the place leaves. */
static uint32_t axes_left(const update *u, const loom_axis_id **axes) {
    loom_axis_id *left = LOOM_NEW_ARRAY(u->l->arena, loom_axis_id, (size_t)u->c.op->n_axes + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < u->c.op->n_axes; i++) {
        if (!is_fixed(u, i)) left[n++] = u->c.op->axes[i];
    }
    *axes = left;
    return n;
}

static loom_lop permute(update *u, loom_lblock_id body, uint32_t k, const loom_lvalue_id *dest,
                        const loom_lvalue_id *results) {
    loom_lop made = *u->c.op;
    made.kind = LOOM_LO_PERMUTE;
    made.distinct = true;
    made.n_apart = 0;
    made.body = body;
    made.combine = loom_schedule_replacing(u->l, u->arena, k, results);
    if (!loom_schedule_is_put(u->c.op)) {
        made.rank = made.n_target_axes = u->c.op->n_axes;
        made.target_axes = u->c.op->axes;
    }
    made.n_axes = axes_left(u, &made.axes);
    made.n_results = k;
    made.results = results;
    made.dest = dest;
    return made;
}

/* One PERMUTE that computes and writes. */
static loom_lop whole(update *u) {
    uint32_t n = u->c.op->n_axes, k = u->c.op->n_results;
    loom_lexpr_id first = u->l->n_exprs, *results = LOOM_NEW_ARRAY(u->arena, loom_lexpr_id, (size_t)n + k + 1);
    loom_lvalue_id *dest = LOOM_NEW_ARRAY(u->l->arena, loom_lvalue_id, k);
    u->at = &u->c.places.at[0];
    make_places(u);
    memcpy(results, u->place, n * sizeof *results);
    make_values(u, results + n);
    memcpy(dest, u->c.base, k * sizeof *dest);
    return permute(u, loom_lifted_block(u->l, first, 0, NULL, n + k, results), k, dest, u->c.op->results);
}

static loom_lvalue_id value_over(update *u, uint32_t n, const loom_axis_id *axes, loom_dtype dtype) {
    loom_lvalue v = u->l->values[u->c.op->results[0]];
    v.dtype = dtype;
    v.source = LOOM_LV_OP;
    v.op = LOOM_NONE;
    v.n_axes = n;
    v.axes = axes;
    v.name = NULL;
    return loom_lifted_value(u->l, v);
}

/* A COMPUTE before the operation, over the axes that the place leaves or over none; its results. */
static const loom_lvalue_id *computed(update *u, bool over, loom_lexpr_id first, uint32_t k,
                                      const loom_lexpr_id *results) {
    loom_lop made = loom_lifted_empty(LOOM_LO_COMPUTE);
    loom_lvalue_id *values = LOOM_NEW_ARRAY(u->l->arena, loom_lvalue_id, (size_t)k + 1);
    if (over) made.n_axes = axes_left(u, &made.axes);
    for (uint32_t i = 0; i < k; i++) values[i] = value_over(u, made.n_axes, made.axes, u->l->exprs[results[i]].dtype);
    made.n_results = k;
    made.results = values;
    made.body = loom_lifted_block(u->l, first, 0, NULL, k, results);
    made.span = u->c.op->span;
    made.node = u->c.op->node;
    made.inner = true;
    loom_insert(u->p, u->id, made);
    return values;
}

static loom_lexpr_id load(update *u, loom_lvalue_id value) {
    loom_lexpr_id indices[LOOM_LIFTED_MAX_AXES];
    uint32_t n = u->l->values[value].n_axes;
    for (uint32_t i = 0; i < n; i++) indices[i] = axis(u, i);
    loom_lexpr e = {.kind = LOOM_LX_LOAD,
                    .dtype = u->l->values[value].dtype,
                    .mode = LOOM_LOAD_PROVEN,
                    .aux = value,
                    .site = LOOM_NONE};
    return make(u, e, indices, n);
}

/* The place's index along a fixed axis, as a value: over no axis, unless it stands on those that are left. */
static loom_lvalue_id index_value(update *u, uint32_t position) {
    loom_lexpr_id first = u->l->n_exprs;
    bool over = loom_schedule_depends_on(&u->c, u->at->index[position], ~u->at->fixed);
    uint32_t left = 0;
    for (uint32_t i = 0; over && i < u->c.op->n_axes; i++) {
        if (!is_fixed(u, i)) u->place[i] = axis(u, left++);
    }
    loom_lexpr_id x = copy_simple(u, u->at->index[position]);
    return computed(u, over, first, 1, &x)[0];
}

/* ---- places in targets ---- */

static loom_lexpr_id target_index(const update *u, uint32_t d) {
    return u->l->blocks[u->c.op->body].results[d];
}

/* Whether index d is that of the point along an axis that the target has there too: then it is inside where the point
 * is. */
static bool is_along(const update *u, uint32_t d, uint32_t position) {
    const loom_lexpr *e = &u->l->exprs[target_index(u, d)];
    return e->kind == LOOM_LX_AXIS && e->aux == position && u->c.op->target_axes[d] == u->c.op->axes[position];
}

/* Whether the place is one of the operation's points, as far as the target does not tell; LOOM_NONE: it does. */
static loom_lexpr_id is_point(update *u) {
    loom_lexpr_id all = LOOM_NONE;
    for (uint32_t i = 0; i < u->c.op->n_axes; i++) {
        bool told = !is_fixed(u, i);
        for (uint32_t d = 0; d < u->c.op->rank && !told; d++) told = is_along(u, d, i);
        if (told) continue;
        all = both(u, all, is_inside(u, i));
    }
    return all;
}

/* What changes no more before the place is written: it need not be kept for that. */
static bool is_still(const update *u, loom_lexpr_id id) {
    const loom_lexpr *e = &u->l->exprs[id];
    bool load = e->kind == LOOM_LX_LOAD && u->l->values[e->aux].n_axes <= 1;
    if (e->kind != LOOM_LX_AXIS && e->kind != LOOM_LX_CONST && e->kind != LOOM_LX_EXTENT && !load) return false;
    for (uint32_t j = 0; load && j < u->c.op->n_results; j++) load = u->c.base[j] != e->aux;
    for (uint32_t i = 0; i < e->n_args; i++) {
        if (!is_still(u, loom_lifted_arg(u->l, e, i))) return false;
    }
    return load || e->kind != LOOM_LX_LOAD;
}

/* Whether target index d is found as well when the place is written. */
static bool is_written_there(const update *u, uint32_t d) {
    const loom_lexpr *e = &u->l->exprs[target_index(u, d)];
    if (e->kind == LOOM_LX_AXIS && is_fixed(u, e->aux)) return is_still(u, u->at->index[e->aux]);
    return !loom_schedule_depends_on(&u->c, target_index(u, d), u->at->fixed) && is_still(u, target_index(u, d));
}

/* The indices of the place in the target that are computed before, each in its turn; -1 where it is no point. */
static uint32_t add_indices(update *u, loom_lexpr_id *results, loom_lexpr_id point) {
    uint32_t n = 0;
    for (uint32_t d = 0; d < u->c.op->rank; d++) {
        bool guarded = d == 0 && point != LOOM_NONE;
        if (!guarded && is_written_there(u, d)) continue;
        loom_lexpr_id x = copy_simple(u, target_index(u, d));
        if (guarded) {
            loom_lexpr none = {.kind = LOOM_LX_CONST, .dtype = LOOM_I64, .imm.i = -1, .site = LOOM_NONE};
            loom_lexpr choice = {.kind = LOOM_LX_PRIM, .dtype = LOOM_I64, .prim = LOOM_PRIM_SELECT, .site = LOOM_NONE};
            x = make(u, choice, (loom_lexpr_id[]){point, x, make(u, none, NULL, 0)}, 3);
        }
        results[n++] = x;
    }
    return n;
}

/* What the place changes: results of the body there, as values, in order of the results; of a PERMUTE also its indices
 * in the target. `guarded`: the first one is among these. */
static const loom_lvalue_id *changed_values(update *u, uint32_t *k, bool *guarded) {
    size_t most = (size_t)u->c.op->n_results + LOOM_LIFTED_MAX_AXES + 1;
    loom_lexpr_id first = u->l->n_exprs, *values = LOOM_NEW_ARRAY(u->arena, loom_lexpr_id, most);
    make_places(u);
    make_values(u, values);
    *k = 0;
    for (uint32_t j = 0; j < u->c.op->n_results; j++) {
        if (u->at->of[j]) values[(*k)++] = values[j];
    }
    uint32_t n = *k;
    if (loom_schedule_is_put(u->c.op)) {
        loom_lexpr_id point = is_point(u);
        *guarded = point != LOOM_NONE;
        n += add_indices(u, values + n, point);
    }
    return computed(u, true, first, n, values);
}

/* The last place that changes the result makes it. */
static bool is_last(const update *u, uint32_t result) {
    for (const loom_change *p = u->at + 1; p < u->c.places.at + u->c.places.count; p++) {
        if (p->of[result]) return false;
    }
    return true;
}

/* Indices of the point that a COMPUTE changes. */
static void write_point(update *u, const loom_lvalue_id *index, loom_lexpr_id *results) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < u->c.op->n_axes; i++) results[i] = is_fixed(u, i) ? load(u, index[i]) : axis(u, left++);
}

/* Indices of the place that a PERMUTE changes; `index`: those that are computed before. */
static void write_target(update *u, bool guarded, const loom_lvalue_id *index, loom_lexpr_id *results) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < u->c.op->n_axes; i++) {
        if (!is_fixed(u, i)) u->place[i] = axis(u, left++);
    }
    for (uint32_t d = 0; d < u->c.op->rank; d++) {
        const loom_lexpr *e = &u->l->exprs[target_index(u, d)];
        bool fixed = e->kind == LOOM_LX_AXIS && is_fixed(u, e->aux), before = (d == 0 && guarded);
        loom_lexpr_id x = fixed ? u->at->index[e->aux] : target_index(u, d);
        results[d] = before || !is_written_there(u, d) ? load(u, *index++) : copy_simple(u, x);
    }
}

/* Computes what the place changes before the operation, and writes it behind. */
static void make_place(update *u, loom_lop_id behind) {
    const loom_lop *op = u->c.op;
    loom_lvalue_id index[LOOM_LIFTED_MAX_AXES];
    bool put = loom_schedule_is_put(op), guarded = false;
    uint32_t k, at = 0, rank = put ? op->rank : op->n_axes;
    for (uint32_t i = 0; i < op->n_axes && !put; i++) {
        if (is_fixed(u, i)) index[i] = index_value(u, i);
    }
    const loom_lvalue_id *values = changed_values(u, &k, &guarded);
    loom_lvalue_id *dest = LOOM_NEW_ARRAY(u->l->arena, loom_lvalue_id, (size_t)k + 1),
                   *made = LOOM_NEW_ARRAY(u->l->arena, loom_lvalue_id, (size_t)k + 1);
    for (uint32_t j = 0; j < op->n_results; j++) {
        if (!u->at->of[j]) continue;
        const loom_lvalue *v = &u->l->values[op->results[j]];
        dest[at] = u->now[j];
        u->now[j] = made[at++] = is_last(u, j) ? op->results[j] : value_over(u, v->n_axes, v->axes, v->dtype);
    }
    loom_lexpr_id first = u->l->n_exprs, *results = LOOM_NEW_ARRAY(u->arena, loom_lexpr_id, (size_t)rank + k + 1);
    if (put) write_target(u, guarded, values + k, results);
    if (!put) write_point(u, index, results);
    for (uint32_t j = 0; j < k; j++) results[rank + j] = load(u, values[j]);
    loom_insert(u->p, behind, permute(u, loom_lifted_block(u->l, first, 0, NULL, rank + k, results), k, dest, made));
}

/* ---- where it applies ---- */

typedef struct reading {
    const loom_lvalue_id *values;
    uint32_t n;
    bool found;
} reading;

static void note_read(void *context, loom_lvalue_id value) {
    reading *r = context;
    for (uint32_t j = 0; j < r->n; j++) r->found |= r->values[j] == value;
}

static bool reads_any(const loom_lifted *l, loom_lop_id id, uint32_t n, const loom_lvalue_id *values) {
    reading r = {values, n, false};
    loom_lifted_reads(l, id, note_read, &r);
    return r.found;
}

static bool is_in_loop(const pass *p, loom_lop_id id) {
    for (id = p->parent[id]; id != LOOM_NONE; id = p->parent[id]) {
        if (p->l->ops[id].kind == LOOM_LO_LOOP) return true;
    }
    return false;
}

static loom_lop_id block_end(const pass *p, loom_lop_id id) {
    const loom_lop *around = &p->l->ops[p->parent[id]];
    return id < around->inner_end ? around->inner_end : around->else_end;
}

/* The first operation of the LOOP or IF, or the operation itself. */
static loom_lop_id begin_of(const loom_lifted *l, loom_lop_id id) {
    const loom_lop *op = &l->ops[id];
    if (op->kind == LOOM_LO_LOOP) return op->inner_first;
    return op->kind == LOOM_LO_IF ? op->inner_first : id;
}

/* Before which operation of its block the new values are there at the latest. */
static loom_lop_id latest(const update *u) {
    const pass *p = u->p;
    loom_lop_id end = block_end(p, u->id);
    for (loom_lop_id id = u->id + 1; id < end; id++) {
        if (!reads_any(u->l, id, u->c.op->n_results, u->c.op->results)) continue;
        while (p->parent[id] != p->parent[u->id]) id = p->parent[id];
        return begin_of(u->l, id);
    }
    return end;
}

/* ---- permutes ---- */

static bool is_onto_values(const update *u) {
    const loom_lop *op = u->c.op;
    return op->kind == LOOM_LO_PERMUTE && op->output == LOOM_NONE && !op->n_context && op->n_axes;
}

/* Whether the PERMUTE's body looks at what it goes onto. */
static bool reads_targets(const update *u) {
    const loom_lop *op = u->c.op;
    const loom_lblock *b = &u->l->blocks[op->body];
    reading r = {op->dest, op->n_results, false};
    for (loom_lexpr_id id = b->first; id < b->end; id++) {
        if (u->l->exprs[id].kind == LOOM_LX_LOAD) note_read(&r, u->l->exprs[id].aux);
    }
    return r.found;
}

/* What it places, and where, is computed while all is as it was. */
static void compute_first(update *u) {
    loom_lop op = *u->c.op, compute = op;
    const loom_lblock b = u->l->blocks[op.body];
    loom_lexpr_id *results = LOOM_NEW_ARRAY(u->arena, loom_lexpr_id, (size_t)b.n_results + 1);
    loom_lvalue_id *values = LOOM_NEW_ARRAY(u->l->arena, loom_lvalue_id, (size_t)b.n_results + 1);
    for (uint32_t i = 0; i < b.n_results; i++)
        values[i] = value_over(u, op.n_axes, op.axes, u->l->exprs[b.results[i]].dtype);
    compute.kind = LOOM_LO_COMPUTE;
    compute.combine = LOOM_NONE;
    compute.n_results = b.n_results;
    compute.results = values;
    compute.dest = NULL;
    compute.distinct = false;
    compute.n_apart = 0;
    compute.rank = compute.n_target_axes = 0;
    compute.builtin = LOOM_PRIM_COUNT;
    loom_lexpr_id first = u->l->n_exprs;
    for (uint32_t i = 0; i < b.n_results; i++) results[i] = load(u, values[i]);
    op.body = loom_lifted_block(u->l, first, 0, NULL, b.n_results, results);
    loom_insert(u->p, u->id, compute);
    loom_insert(u->p, latest(u), op);
    loom_inserts_grow(u->p, u->id, 1);
    u->p->gone[u->id] = true;
}

/* Whether what it goes onto is looked at behind it, and it can stand there. */
static bool is_early(const update *u) {
    const loom_lop *op = u->c.op;
    loom_lop_id end = latest(u);
    for (loom_lop_id id = u->id + 1; id < end; id++) {
        if (reads_any(u->l, id, op->n_results, op->dest)) return true;
    }
    return false;
}

static void move_behind(update *u) {
    loom_insert(u->p, latest(u), *u->c.op);
    u->p->gone[u->id] = true;
}

/* ---- computes ---- */

/* Whether all that is read of the old values is at the place itself: then what a thread changes no other looks at. */
static bool reads_places_alone(const update *u) {
    const loom_lop *op = u->c.op;
    const loom_lblock *b = &u->l->blocks[op->body];
    for (loom_lexpr_id id = b->first; id < b->end; id++) {
        const loom_lexpr *e = &u->l->exprs[id];
        reading r = {u->c.base, op->n_results, false};
        if (e->kind != LOOM_LX_LOAD) continue;
        note_read(&r, e->aux);
        for (uint32_t i = 0; r.found && i < e->n_args; i++) {
            const loom_lexpr *index = &u->l->exprs[loom_lifted_arg(u->l, e, i)];
            if (index->kind != LOOM_LX_AXIS || index->aux != i) return false;
        }
    }
    return true;
}

static bool is_whole(const update *u, loom_lop_id end) {
    const loom_lop *op = u->c.op;
    if (u->c.places.count != 1 || loom_schedule_is_put(op)) return false;
    for (uint32_t j = 0; j < op->n_results; j++) {
        if (!u->c.places.at[0].of[j]) return false;
    }
    for (loom_lop_id id = u->id + 1; id < end; id++) {
        if (reads_any(u->l, id, op->n_results, u->c.base)) return false;
    }
    bool point = true;
    for (uint32_t i = 0; i < op->n_axes; i++) point &= u->c.places.at[0].fixed >> i & 1;
    return point || reads_places_alone(u);
}

/* What is changed is of this turn: it may die here. */
static bool is_of_turn(const update *u, const loom_lvalue_id *changed) {
    for (uint32_t j = 0; j < u->c.op->n_results; j++) {
        const loom_lvalue *v = &u->l->values[changed[j]];
        if (v->source != LOOM_LV_STATE && (v->source != LOOM_LV_OP || !is_in_loop(u->p, v->op))) return false;
    }
    return true;
}

/* What changes nowhere is changed to what it is, at some place. */
static void change_all(update *u) {
    for (uint32_t j = 0; j < u->c.op->n_results; j++) {
        bool changed = false;
        for (size_t k = 0; k < u->c.places.count; k++) changed |= u->c.places.at[k].of[j];
        if (!changed) u->c.places.at[0].of[j] = true;
    }
}

static void rewrite(update *u) {
    loom_lop_id end = block_end(u->p, u->id), behind = latest(u);
    change_all(u);
    if (is_whole(u, end)) {
        loom_lop made = whole(u);
        u->l->ops[u->id] = made;
        return;
    }
    size_t before = u->p->made.count;
    u->now = LOOM_NEW_ARRAY(u->arena, loom_lvalue_id, (size_t)u->c.op->n_results + 1);
    memcpy(u->now, u->c.base, u->c.op->n_results * sizeof *u->now);
    for (size_t k = 0; k < u->c.places.count; k++) {
        u->at = &u->c.places.at[k];
        make_place(u, behind);
    }
    loom_inserts_grow(u->p, u->id, (int32_t)(u->p->made.count - before) - 1);
    u->p->gone[u->id] = true;
}

void loom_schedule_updates(loom_lifted *l, loom_arena *scratch) {
    pass p;
    loom_inserts_open(&p, l, scratch);
    for (loom_lop_id id = 0; id < l->n_ops; id++) {
        if (!is_in_loop(&p, id)) continue;
        loom_lop op = l->ops[id];
        update u = {.p = &p, .l = l, .arena = scratch, .c = {.l = l, .arena = scratch, .op = &op}, .id = id};
        if (loom_schedule_finds_changes(&u.c)) {
            if (is_of_turn(&u, u.c.base)) rewrite(&u);
        } else if (is_onto_values(&u) && is_of_turn(&u, op.dest)) {
            if (reads_targets(&u)) {
                compute_first(&u);
            } else if (is_early(&u)) {
                move_behind(&u);
            }
        }
    }
    if (p.made.count) loom_inserts_close(&p);
}
