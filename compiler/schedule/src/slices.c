/* Rules. In an array stage, operations over [A, ...] that hand each other whole slices (transform the planes, turn
 * them, add them up) need one slice of each value at a time, if what leaves them is reduced along A, or is all slices
 * of one operation's results. Such a group becomes a LOOP over A: operation over [A, rest]            -> operation over
 * [rest], with A's index read from the loop's counter value [A, rest] inside the group    -> value [rest] REDUCE along
 * A                      -> a state [rest] that starts from the neutral element and takes one slice a turn COMPUTE
 * whose results leave         -> a state [A, rest] of which each turn writes its slice, in place The group is what can
 * be reached from a transform over operations with A outermost; an operation leaves it if its results are needed
 * elsewhere (but for the last kind), or if it reads another slice than its own. It pays where slices are large: memory
 * falls from all slices to one, which then stays in cache between operations, and every operation is still divided
 * among threads inside a slice.
 *
 * Example: p = fft f(k) over [k, y, x]; image = reduce + over k of g(k, p) becomes
 *     image = 0; loop k: p = fft f(k) over [y, x]; image = image + g(k, p)
 * and crop(p) over [k, y, x], an output, becomes out, blank; loop k: p = fft f(k) over [y, x]; out[k] = crop(p).
 * Cost: linear in the operations for each transform. */
#include "slices.h"
#include "clone.h"
#include "compiler/plan/graph.h"
#include "compiler/schedule/reads.h"
#include "hoist.h"
#include <string.h>

/* Elements of a slice from which on a loop's turn is worth its overhead, some ten microseconds an operation. */
#define LOOM_LARGE_SLICE 65536

typedef struct slicer {
    loom_lifted *l;
    loom_arena *arena;
    loom_lop_id *parent;
    bool *member; /* per operation: of the group */
    bool *keeper; /* per operation: a member whose results leave the group, slice by slice */
    loom_axis_id axis;
    /* while rewriting */
    loom_lvalue_id *slice; /* per value: what it becomes inside the loop, or LOOM_NONE */
    loom_lvalue_id counter;
    uint32_t n_old; /* operations before rewriting */
    LOOM_VEC(loom_lvalue_id) initial;
    LOOM_VEC(loom_lvalue_id) state;
    LOOM_VEC(loom_lvalue_id) next;
    LOOM_VEC(loom_lvalue_id) result;
} slicer;

static bool is_sum(const slicer *s, loom_lop_id id) {
    return s->l->ops[id].kind == LOOM_LO_REDUCE && s->l->ops[id].reduce == 0;
}

/* What leaves the loop as one of its states. */
static bool is_sink(const slicer *s, loom_lop_id id) {
    return is_sum(s, id) || s->keeper[id];
}

static bool may_belong(const slicer *s, loom_lop_id id) {
    const loom_lop *op = &s->l->ops[id];
    if (s->parent[id] != LOOM_NONE || op->n_axes < 1 || op->axes[0] != s->axis) return false;
    if (loom_lifted_any_segmented(s->l, op->n_axes, op->axes)) return false;
    switch (op->kind) {
    case LOOM_LO_COMPUTE:
    case LOOM_LO_REDUCE: return true;
    case LOOM_LO_FFT: return op->n_axes > op->fft_rank;
    default: return false;
    }
}

/* ---- the group ---- */

typedef struct visit {
    slicer *s;
    loom_lop_id op;
    bool changed, other_slice;
} visit;

static loom_lop_id maker(const slicer *s, loom_lvalue_id id) {
    const loom_lvalue *v = &s->l->values[id];
    return v->source == LOOM_LV_OP ? v->op : LOOM_NONE;
}

/* Joins neighbours: makers of what a member reads, readers of what it makes. */
static void join_neighbour(void *context, loom_lvalue_id value) {
    visit *v = context;
    slicer *s = v->s;
    loom_lop_id m = maker(s, value);
    if (m == LOOM_NONE || !may_belong(s, m) || !may_belong(s, v->op) || is_sink(s, m)) return;
    if (s->member[m] == s->member[v->op]) return;
    s->member[m] = s->member[v->op] = true;
    v->changed = true;
}

/* Whether every load of members' values takes the operation's own slice. */
static bool reads_own_slice(const slicer *s, loom_lop_id id) {
    const loom_lifted *l = s->l;
    const loom_lop *op = &l->ops[id];
    if (op->body == LOOM_NONE) return true;
    for (loom_lexpr_id e = l->blocks[op->body].first; e < l->blocks[op->body].end; e++) {
        const loom_lexpr *x = &l->exprs[e];
        if (x->kind != LOOM_LX_LOAD) continue;
        loom_lop_id m = maker(s, x->aux);
        if (m == LOOM_NONE || !s->member[m] || is_sink(s, m)) continue;
        const loom_lexpr *index = &l->exprs[loom_lifted_arg(l, x, 0)];
        if (index->kind != LOOM_LX_AXIS || index->aux != 0) return false;
    }
    return true;
}

static bool is_output(const loom_lifted *l, loom_lvalue_id id) {
    for (uint32_t o = 0; o < l->n_outputs; o++) {
        for (uint32_t i = 0; l->outputs[o].values && i < l->outputs[o].n_leaves; i++) {
            if (l->outputs[o].values[i] == id) return true;
        }
    }
    return false;
}

static void note_reader(void *context, loom_lvalue_id value) {
    visit *v = context;
    loom_lop_id m = maker(v->s, value);
    if (m == v->op) v->other_slice = true;
}

static bool read_by_members(slicer *s, loom_lop_id id) {
    visit v = {.s = s, .op = id};
    for (loom_lop_id reader = 0; reader < s->l->n_ops; reader++) {
        if (s->member[reader]) loom_lifted_reads(s->l, reader, note_reader, &v);
    }
    return v.other_slice;
}

/* A member whose results are needed whole: it keeps them, slice by slice, or leaves. */
static void keep_or_leave(slicer *s, loom_lop_id id) {
    const loom_lop *op = &s->l->ops[id];
    if (op->kind == LOOM_LO_COMPUTE && op->n_axes > 1 && !read_by_members(s, id)) {
        s->keeper[id] = true;
    } else {
        s->member[id] = false;
    }
}

/* A reader outside of the group needs the whole value; and a member that reads a sum over all slices comes after the
 * loop. */
static void part_outsiders(void *context, loom_lvalue_id value) {
    visit *v = context;
    slicer *s = v->s;
    loom_lop_id m = maker(s, value);
    if (m == LOOM_NONE || !s->member[m] || is_sink(s, m) != s->member[v->op]) return;
    if (s->member[v->op]) {
        s->member[v->op] = s->keeper[v->op] = false;
    } else {
        keep_or_leave(s, m);
    }
    v->changed = true;
}

static bool prune(slicer *s) {
    visit v = {.s = s};
    for (loom_lop_id id = 0; id < s->l->n_ops; id++) {
        v.op = id;
        loom_lifted_reads(s->l, id, part_outsiders, &v);
        if (!s->member[id]) continue;
        bool whole = false, own = reads_own_slice(s, id);
        for (uint32_t j = 0; j < s->l->ops[id].n_results && !is_sink(s, id); j++)
            whole |= is_output(s->l, s->l->ops[id].results[j]);
        if (own && !whole) continue;
        if (own) {
            keep_or_leave(s, id);
        } else {
            s->member[id] = s->keeper[id] = false;
        }
        v.changed = true;
    }
    return v.changed;
}

/* Marks operations outside that depend on a sum of the group; true if the group depends on one of them. */
typedef struct after {
    const slicer *s;
    bool *late;
    bool found;
} after;

static void depends_on_sum(void *context, loom_lvalue_id value) {
    after *a = context;
    loom_lop_id m = maker(a->s, value);
    if (m != LOOM_NONE) a->found |= a->late[m] || (a->s->member[m] && is_sink(a->s, m));
}

static bool comes_before_itself(const slicer *s, bool *late) {
    const loom_lifted *l = s->l;
    for (loom_lop_id id = 0; id < l->n_ops; id++) {
        after a = {s, late, false};
        loom_lifted_reads(l, id, depends_on_sum, &a);
        const loom_lop *op = &l->ops[id];
        for (uint32_t i = 0; i < op->n_axes; i++) {
            loom_lvalue_id needs[3];
            uint32_t n = loom_axis_needs(l, op->axes[i], needs);
            for (uint32_t k = 0; k < n; k++) depends_on_sum(&a, needs[k]);
        }
        if (a.found && s->member[id]) return true;
        late[id] = a.found;
        /* What stands in a late loop or branch is late with it; and a loop is late if something in it is. */
        for (loom_lop_id i = 0; i < id; i++) {
            if (s->parent[i] == id) late[id] |= late[i];
        }
    }
    for (loom_lop_id id = l->n_ops; id-- > 0;) {
        if (s->parent[id] != LOOM_NONE) late[id] |= late[s->parent[id]];
    }
    return false;
}

static bool is_large(const slicer *s, loom_lvalue_id id) {
    const loom_lvalue *v = &s->l->values[id];
    double known = 1;
    uint32_t unknown = 0;
    for (uint32_t i = 1; i < v->n_axes; i++) {
        const loom_axis *axis = &s->l->axes[v->axes[i]];
        if (axis->kind == LOOM_AXIS_CONST) {
            known *= (double)axis->extent;
        } else {
            unknown++;
        }
    }
    return unknown >= 2 || known >= LOOM_LARGE_SLICE;
}

/* The group around a transform; false if there is none worth a loop. */
static bool find_group(slicer *s, loom_lop_id seed, bool always) {
    const loom_lifted *l = s->l;
    memset(s->member, 0, l->n_ops);
    memset(s->keeper, 0, l->n_ops);
    s->axis = l->ops[seed].axes[0];
    if (l->axes[s->axis].kind == LOOM_AXIS_CHUNK || !may_belong(s, seed)) return false;
    s->member[seed] = true;
    visit v = {.s = s, .changed = true};
    while (v.changed) {
        v.changed = false;
        for (v.op = 0; v.op < l->n_ops; v.op++) loom_lifted_reads(l, v.op, join_neighbour, &v);
    }
    while (prune(s)) {}
    bool sink = false, large = always;
    for (loom_lop_id id = 0; id < l->n_ops; id++) {
        if (!s->member[id]) continue;
        sink |= is_sink(s, id);
        for (uint32_t j = 0; j < l->ops[id].n_results && !is_sink(s, id); j++)
            large |= is_large(s, l->ops[id].results[j]);
    }
    return s->member[seed] && sink && large;
}

/* ---- rewriting ---- */

static loom_lexpr_id slice_expr(void *context, loom_lexpr_id id, loom_lexpr e, loom_lexpr_id *args, uint32_t n) {
    slicer *s = context;
    (void)id;
    if (e.kind == LOOM_LX_AXIS && e.aux == 0) {
        loom_lexpr load = {.kind = LOOM_LX_LOAD,
                           .mode = LOOM_LOAD_PROVEN,
                           .dtype = LOOM_I64,
                           .aux = s->counter,
                           .site = LOOM_NONE,
                           .span = e.span};
        return loom_lifted_expr(s->l, load, NULL, 0);
    }
    if (e.kind == LOOM_LX_AXIS) e.aux--;
    if (e.kind == LOOM_LX_LOAD && s->slice[e.aux] != LOOM_NONE) {
        e.aux = s->slice[e.aux];
        return loom_lifted_expr(s->l, e, args + 1, n - 1);
    }
    return loom_lifted_expr(s->l, e, args, n);
}

static loom_lblock_id slice_block(slicer *s, loom_lblock_id block) {
    const loom_lblock *b = &s->l->blocks[block];
    uint32_t n = b->n_results;
    loom_lexpr_id first = s->l->n_exprs, *results = LOOM_NEW_ARRAY(s->arena, loom_lexpr_id, (size_t)n + 1);
    loom_clone_block(&(loom_clone){.l = s->l, .scratch = s->arena, .replace = slice_expr, .context = s}, block,
                     results);
    return loom_lifted_block(s->l, first, 0, NULL, n, results);
}

/* A fresh value like another, without its outermost axes. */
static loom_lvalue_id value_like(slicer *s, loom_lvalue_id id, loom_lsource source, uint32_t without) {
    loom_lvalue v = s->l->values[id];
    v.n_axes -= without;
    if (without) v.axes += without;
    v.source = source;
    v.op = LOOM_NONE;
    v.strip = false;
    return loom_lifted_value(s->l, v);
}

static loom_lop compute_over(const loom_lop *like, uint32_t without, loom_lblock_id body, uint32_t n,
                             const loom_lvalue_id *results) {
    loom_lop op = loom_lifted_empty(LOOM_LO_COMPUTE);
    op.n_axes = like->n_axes - without;
    op.axes = without ? like->axes + without : like->axes;
    op.body = body;
    op.n_results = n;
    op.results = results;
    op.span = like->span;
    return op;
}

/* A transform's argument from outside of the group: its slice is copied, for a transform takes whole values. */
static loom_lvalue_id copy_slice(slicer *s, const loom_lop *fft) {
    loom_lifted *l = s->l;
    loom_lvalue_id from = fft->args[0], to = value_like(s, from, LOOM_LV_OP, 1);
    uint32_t n = l->values[from].n_axes;
    loom_lexpr_id first = l->n_exprs, *indices = LOOM_NEW_ARRAY(s->arena, loom_lexpr_id, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) {
        indices[i] = slice_expr(
            s, LOOM_NONE, (loom_lexpr){.kind = LOOM_LX_AXIS, .dtype = LOOM_I64, .aux = i, .site = LOOM_NONE}, NULL, 0);
    }
    loom_lexpr load = {
        .kind = LOOM_LX_LOAD, .mode = LOOM_LOAD_PROVEN, .dtype = l->values[from].dtype, .aux = from, .site = LOOM_NONE};
    loom_lexpr_id result = loom_lifted_expr(l, load, indices, n);
    loom_lop op = compute_over(fft, 1, loom_lifted_block(l, first, 0, NULL, 1, &result), 1, &to);
    op.inner = true;
    loom_lifted_op(l, op);
    return to;
}

/* An operation whose values are slices. */
static void slice_op(slicer *s, loom_lop_id id) {
    loom_lop op = s->l->ops[id];
    loom_lvalue_id *results = LOOM_NEW_ARRAY(s->arena, loom_lvalue_id, (size_t)op.n_results + 1), argument;
    for (uint32_t j = 0; j < op.n_results; j++) {
        results[j] = s->slice[op.results[j]] = value_like(s, op.results[j], LOOM_LV_OP, 1);
    }
    if (op.body != LOOM_NONE) op.body = slice_block(s, op.body);
    if (op.ne != LOOM_NONE) op.ne = slice_block(s, op.ne);
    if (op.kind == LOOM_LO_FFT) {
        argument = s->slice[op.args[0]] != LOOM_NONE ? s->slice[op.args[0]] : copy_slice(s, &op);
        op.args = &argument;
    }
    op.axes++;
    op.n_axes--;
    op.reduce -= op.kind == LOOM_LO_REDUCE;
    op.results = results;
    op.inner = true;
    loom_lifted_op(s->l, op);
}

static loom_lexpr_id load_state(slicer *s, loom_lvalue_id state) {
    loom_lvalue v = s->l->values[state];
    loom_lexpr_id *indices = LOOM_NEW_ARRAY(s->arena, loom_lexpr_id, (size_t)v.n_axes + 1);
    for (uint32_t i = 0; i < v.n_axes; i++) {
        indices[i] = loom_lifted_expr(
            s->l, (loom_lexpr){.kind = LOOM_LX_AXIS, .dtype = LOOM_I64, .aux = i, .site = LOOM_NONE}, NULL, 0);
    }
    loom_lexpr load = {.kind = LOOM_LX_LOAD,
                       .mode = LOOM_LOAD_PROVEN,
                       .dtype = v.dtype,
                       .aux = state,
                       .site = LOOM_NONE,
                       .span = v.span};
    return loom_lifted_expr(s->l, load, indices, v.n_axes);
}

/* A sum over the slices: state = op(state, this slice's). Its start is made before the loop, by `start_state`. */
static void slice_sum(slicer *s, loom_lop_id id, uint32_t first_state) {
    loom_lop op = s->l->ops[id];
    uint32_t k = op.n_results;
    loom_lexpr_id first = s->l->n_exprs;
    loom_lexpr_id *params = LOOM_NEW_ARRAY(s->arena, loom_lexpr_id, 2 * (size_t)k + 1),
                  *results = LOOM_NEW_ARRAY(s->arena, loom_lexpr_id, (size_t)k + 1);
    for (uint32_t j = 0; j < k; j++) params[j] = load_state(s, s->state.at[first_state + j]);
    loom_clone_block(&(loom_clone){.l = s->l, .scratch = s->arena, .replace = slice_expr, .context = s}, op.body,
                     params + k);
    loom_clone_block(&(loom_clone){.l = s->l, .scratch = s->arena, .params = params}, op.combine, results);
    loom_lop sum =
        compute_over(&op, 1, loom_lifted_block(s->l, first, 0, NULL, k, results), k, s->next.at + first_state);
    sum.inner = true;
    loom_lifted_op(s->l, sum);
}

/* What a blank state would be if anybody looked. */
static loom_lblock_id zero_block(slicer *s, const loom_lop *op) {
    loom_lexpr_id first = s->l->n_exprs, *results = LOOM_NEW_ARRAY(s->arena, loom_lexpr_id, (size_t)op->n_results + 1);
    for (uint32_t j = 0; j < op->n_results; j++) {
        loom_lexpr zero = {.kind = LOOM_LX_CONST, .dtype = s->l->values[op->results[j]].dtype, .site = LOOM_NONE};
        results[j] = loom_lifted_expr(s->l, zero, NULL, 0);
    }
    return loom_lifted_block(s->l, first, 0, NULL, op->n_results, results);
}

/* All results but the slice of this turn are as the state has them. */
static void slice_keeper(slicer *s, loom_lop_id id, uint32_t first_state) {
    loom_lop op = s->l->ops[id];
    op.body = slice_block(s, op.body);
    op.axes++;
    op.n_axes--;
    op.results = s->next.at + first_state;
    op.dest = s->state.at + first_state;
    op.sliced = op.inner = true;
    op.into = s->counter;
    loom_lifted_op(s->l, op);
}

static void start_state(slicer *s, loom_lop_id id) {
    loom_lop op = s->l->ops[id];
    uint32_t first = (uint32_t)s->initial.count;
    for (uint32_t j = 0; j < op.n_results; j++) {
        loom_lvalue_id initial = value_like(s, op.results[j], LOOM_LV_OP, 0),
                       state = value_like(s, op.results[j], LOOM_LV_STATE, 0);
        loom_lvalue_id next = value_like(s, op.results[j], LOOM_LV_OP, 0);
        LOOM_PUSH(s->arena, s->initial, initial);
        LOOM_PUSH(s->arena, s->state, state);
        LOOM_PUSH(s->arena, s->next, next);
        LOOM_PUSH(s->arena, s->result, op.results[j]);
    }
    bool sum = is_sum(s, id);
    loom_lblock_id body = sum ? slice_block(s, op.ne) : zero_block(s, &op);
    loom_lop start = compute_over(&op, sum, body, op.n_results, s->initial.at + first);
    start.blank = !sum; /* each turn sets a slice, wholly, and there are as many turns as slices */
    loom_lifted_op(s->l, start);
}

static loom_lvalue_id count_slices(slicer *s, loom_span span) {
    loom_lifted *l = s->l;
    loom_lexpr_id first = l->n_exprs;
    loom_lexpr_id extent = loom_lifted_expr(
        l, (loom_lexpr){.kind = LOOM_LX_EXTENT, .dtype = LOOM_I64, .aux = s->axis, .site = LOOM_NONE}, NULL, 0);
    loom_lvalue_id count = loom_lifted_value(
        l, (loom_lvalue){.dtype = LOOM_I64, .source = LOOM_LV_OP, .op = LOOM_NONE, .name = "slices", .span = span});
    loom_lop nowhere = {.span = span, .node = LOOM_NONE};
    loom_lop op = compute_over(&nowhere, 0, loom_lifted_block(l, first, 0, NULL, 1, &extent), 1, &count);
    loom_lifted_op(l, op);
    return count;
}

static void make_loop(slicer *s, loom_lvalue_id count, loom_lop_id inner_first, loom_span span) {
    loom_lop loop = {.kind = LOOM_LO_LOOP,
                     .node = LOOM_NONE,
                     .body = LOOM_NONE,
                     .combine = LOOM_NONE,
                     .ne = LOOM_NONE,
                     .n_args = 1,
                     .args = &count,
                     .n_results = (uint32_t)s->result.count,
                     .results = s->result.at,
                     .inner_first = inner_first,
                     .inner_end = s->l->n_ops,
                     .n_states = (uint32_t)s->state.count,
                     .initial = s->initial.at,
                     .state = s->state.at,
                     .next = s->next.at,
                     .counter = s->counter,
                     .test = LOOM_NONE,
                     .output = LOOM_NONE,
                     .builtin = LOOM_PRIM_COUNT,
                     .site = LOOM_NONE,
                     .span = span};
    loom_lifted_op(s->l, loop);
}

/* What does not depend on the sums, the starts, the loop, the rest. New operations are appended behind the old ones,
 * which are then dropped. */
static void rewrite(slicer *s, const bool *late, loom_span span) {
    loom_lifted *l = s->l;
    uint32_t old = l->n_ops, sum = 0;
    s->slice = LOOM_NEW_ARRAY(s->arena, loom_lvalue_id, (size_t)l->n_values + 1);
    memset(s->slice, 0xff, l->n_values * sizeof *s->slice);
    for (loom_lop_id id = 0; id < old; id++) {
        if (!s->member[id] && !late[id]) loom_lifted_op(l, l->ops[id]);
    }
    loom_lvalue_id count = count_slices(s, span);
    s->counter = loom_lifted_value(
        l, (loom_lvalue){.dtype = LOOM_I64, .source = LOOM_LV_STATE, .op = LOOM_NONE, .name = "slice", .span = span});
    for (loom_lop_id id = 0; id < old; id++) {
        if (s->member[id] && is_sink(s, id)) start_state(s, id);
    }
    loom_lop_id inner_first = l->n_ops;
    for (loom_lop_id id = 0; id < old; id++) {
        if (!s->member[id]) continue;
        if (is_sink(s, id)) {
            is_sum(s, id) ? slice_sum(s, id, sum) : slice_keeper(s, id, sum);
            sum += l->ops[id].n_results;
        } else {
            slice_op(s, id);
        }
    }
    make_loop(s, count, inner_first, span);
    for (loom_lop_id id = 0; id < old; id++) {
        if (!s->member[id] && late[id]) loom_lifted_op(l, l->ops[id]);
    }
    loom_schedule_set_ops(l, l->ops + old, l->n_ops - old);
}

void loom_schedule_slices(loom_lifted *l, loom_arena *scratch, bool always) {
    if (l->stage_kind != LOOM_STAGE_ARRAY) return;
    for (loom_lop_id seed = 0; seed < l->n_ops; seed++) {
        slicer s = {.l = l,
                    .arena = scratch,
                    .parent = loom_lifted_parents(l, scratch),
                    .member = LOOM_NEW_ARRAY(scratch, bool, (size_t)l->n_ops + 1),
                    .keeper = LOOM_NEW_ARRAY(scratch, bool, (size_t)l->n_ops + 1)};
        bool *late = LOOM_NEW_ARRAY(scratch, bool, (size_t)l->n_ops + 1);
        if (l->ops[seed].kind != LOOM_LO_FFT || s.parent[seed] != LOOM_NONE) continue;
        if (!find_group(&s, seed, always) || comes_before_itself(&s, late)) continue;
        rewrite(&s, late, l->ops[seed].span);
        seed = LOOM_NONE; /* numbers have changed: from the start; the group's transforms stand in a loop now */
    }
}
