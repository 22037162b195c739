/* Rule. In a LOOP let a COMPUTE over axes A make the next value of a state s of these axes, and let it be s itself but
 * where the indices along some axes P have given values x: each result is the load of s at the own point, or a choice
 * whose other side is, by a condition that asks for index = x along all of P. Then the points that change are those
 * over the other axes alone, and the operation becomes a PERMUTE of these points onto s, whose body is that of the
 * COMPUTE with x in place of the indices. Points are distinct, and nothing else of s is touched where the code
 * generator gives both the same memory. What x is must be known without what may trap; where it is outside, no point
 * is.
 *
 * Example: loop xs for i < n do xs with [i] = i * i
 *     next[j] = select(j == i, i * i, xs[j]) over [n]     ->    permute onto xs: place i, value i * i, over []
 * One of both of a condition around it may leave all as it is. Cost: linear in the operations and their bodies. */
#include "updates.h"
#include "clone.h"
#include "compiler/schedule/reads.h"
#include <string.h>

/* Indices are counters, sums and remainders of such. */
#define DEEPEST_INDEX 8

typedef struct update {
    loom_lifted *l;
    loom_arena *arena;
    const loom_lop *op;
    const loom_lop *loop;
    loom_lvalue_id *state;                     /* by result */
    bool fixed[LOOM_LIFTED_MAX_AXES];          /* by position: of P */
    loom_lexpr_id index[LOOM_LIFTED_MAX_AXES]; /* x, in the body that is there */
    loom_lexpr_id place[LOOM_LIFTED_MAX_AXES]; /* in the new one: x, or the index along the axis */
} update;

static const loom_lexpr *expr(const update *u, loom_lexpr_id id) {
    return &u->l->exprs[id];
}

static loom_lexpr_id arg(const update *u, loom_lexpr_id id, uint32_t i) {
    return loom_lifted_arg(u->l, expr(u, id), i);
}

/* ---- what is there ---- */

static bool is_own_point(const update *u, const loom_lexpr *e, loom_lvalue_id state) {
    if (e->kind != LOOM_LX_LOAD || e->aux != state) return false;
    for (uint32_t i = 0; i < u->op->n_axes; i++) {
        const loom_lexpr *index = expr(u, loom_lifted_arg(u->l, e, i));
        if (index->kind != LOOM_LX_AXIS || index->aux != i) return false;
    }
    return true;
}

static bool is_state_of(const update *u, const loom_lexpr *e) {
    for (uint32_t j = 0; j < u->op->n_results; j++) {
        if (is_own_point(u, e, u->state[j])) return true;
    }
    return false;
}

static bool same(const update *u, loom_lexpr_id a, loom_lexpr_id b) {
    const loom_lexpr *x = expr(u, a), *y = expr(u, b);
    if (a == b) return true;
    if (x->kind != y->kind || x->dtype != y->dtype || x->prim != y->prim || x->aux != y->aux || x->n_args != y->n_args)
        return false;
    if (x->kind == LOOM_LX_CONST) return loom_lifted_same_scalar(x->dtype, &x->imm, &y->imm);
    for (uint32_t i = 0; i < x->n_args; i++) {
        if (!same(u, arg(u, a, i), arg(u, b, i))) return false;
    }
    return true;
}

/* Found at any place, without what may trap. */
static bool is_simple(const update *u, loom_lexpr_id id, uint32_t depth) {
    const loom_lexpr *e = expr(u, id);
    bool kind = e->kind == LOOM_LX_CONST || e->kind == LOOM_LX_AXIS || e->kind == LOOM_LX_EXTENT ||
                e->kind == LOOM_LX_CONVERT || (e->kind == LOOM_LX_PRIM && !loom_prim_table[e->prim].can_trap) ||
                (e->kind == LOOM_LX_LOAD && e->mode == LOOM_LOAD_PROVEN);
    if (!kind || depth == 0) return false;
    for (uint32_t i = 0; i < e->n_args; i++) {
        if (!is_simple(u, arg(u, id, i), depth - 1)) return false;
    }
    return true;
}

/* index = x along an axis: the position, and x. */
static bool is_test(const update *u, loom_lexpr_id id, uint32_t *position, loom_lexpr_id *x) {
    const loom_lexpr *e = expr(u, id);
    if (e->kind != LOOM_LX_PRIM || e->prim != LOOM_PRIM_EQ) return false;
    for (uint32_t i = 0; i < 2; i++) {
        const loom_lexpr *axis = expr(u, arg(u, id, i));
        *position = axis->aux;
        *x = arg(u, id, 1 - i);
        if (axis->kind == LOOM_LX_AXIS && expr(u, *x)->dtype == LOOM_I64 && is_simple(u, *x, DEEPEST_INDEX))
            return true;
    }
    return false;
}

/* Whether the condition holds only where all of P have their values; the first one that has such tests says what P is.
 */
static uint64_t tests_in(update *u, loom_lexpr_id id, bool found) {
    const loom_lexpr *e = expr(u, id);
    uint32_t p;
    loom_lexpr_id x;
    if (e->kind == LOOM_LX_PRIM && e->prim == LOOM_PRIM_AND)
        return tests_in(u, arg(u, id, 0), found) | tests_in(u, arg(u, id, 1), found);
    if (!is_test(u, id, &p, &x) || (found && (!u->fixed[p] || !same(u, x, u->index[p])))) return 0;
    if (!found) {
        u->fixed[p] = true;
        u->index[p] = x;
    }
    return UINT64_C(1) << p;
}

static uint64_t fixed_mask(const update *u) {
    uint64_t mask = 0;
    for (uint32_t i = 0; i < u->op->n_axes; i++) mask |= u->fixed[i] ? UINT64_C(1) << i : 0;
    return mask;
}

static bool asks_for_all(update *u, loom_lexpr_id condition) {
    uint64_t mask = fixed_mask(u), tests = tests_in(u, condition, mask != 0);
    return tests && (!mask || tests == mask);
}

/* Whether result `result` of the expression is the state at the own point, but where P have their values. */
static bool keeps(update *u, loom_lexpr_id id, uint32_t result, loom_lvalue_id state) {
    const loom_lexpr *e = expr(u, id);
    if (e->kind == LOOM_LX_RESULT) return keeps(u, arg(u, id, 0), e->aux, state);
    if (is_own_point(u, e, state)) return true;
    loom_lexpr_id yes, no;
    if (e->kind == LOOM_LX_PRIM && e->prim == LOOM_PRIM_SELECT) {
        yes = arg(u, id, 1);
        no = arg(u, id, 2);
    } else if (e->kind == LOOM_LX_IF) {
        yes = u->l->blocks[e->blocks[0]].results[result];
        no = u->l->blocks[e->blocks[1]].results[result];
    } else {
        return false;
    }
    return keeps(u, no, 0, state) && (asks_for_all(u, arg(u, id, 0)) || keeps(u, yes, 0, state));
}

static bool is_fixed_axis(const update *u, loom_lexpr_id id) {
    return expr(u, id)->kind == LOOM_LX_AXIS && u->fixed[expr(u, id)->aux];
}

/* The indices along P stand in their tests and in loads of the own point, and nowhere else. */
static bool nothing_else_looks(const update *u) {
    const loom_lblock *b = &u->l->blocks[u->op->body];
    for (loom_lexpr_id id = b->first; id < b->end; id++) {
        const loom_lexpr *e = expr(u, id);
        uint32_t p;
        loom_lexpr_id x;
        bool may = is_state_of(u, e) || (is_test(u, id, &p, &x) && u->fixed[p] && same(u, x, u->index[p]));
        for (uint32_t i = 0; i < e->n_args && !may; i++) {
            if (is_fixed_axis(u, arg(u, id, i))) return false;
        }
        for (uint32_t k = 0; e->kind == LOOM_LX_IF && k < 2; k++) {
            const loom_lblock *x_block = &u->l->blocks[e->blocks[k]];
            for (uint32_t r = 0; r < x_block->n_results; r++) {
                if (is_fixed_axis(u, x_block->results[r])) return false;
            }
        }
        if (e->kind == LOOM_LX_FOR || e->kind == LOOM_LX_WHILE) return false; /* not looked into */
    }
    return true;
}

/* x does not depend on the indices that it is compared with. */
static bool depends_on_fixed(const update *u, loom_lexpr_id id) {
    if (is_fixed_axis(u, id)) return true;
    for (uint32_t i = 0; i < expr(u, id)->n_args; i++) {
        if (depends_on_fixed(u, arg(u, id, i))) return true;
    }
    return false;
}

static loom_lvalue_id state_of(const loom_lop *loop, loom_lvalue_id next) {
    loom_lvalue_id found = LOOM_NONE;
    for (uint32_t s = 0; s < loop->n_states; s++) {
        if (loop->next[s] == next) found = found == LOOM_NONE ? loop->state[s] : LOOM_NONE;
    }
    return found;
}

static bool same_axes(const loom_lifted *l, loom_lvalue_id value, const loom_lop *op) {
    const loom_lvalue *v = &l->values[value];
    return v->n_axes == op->n_axes && memcmp(v->axes, op->axes, op->n_axes * sizeof *op->axes) == 0;
}

static bool applies(update *u) {
    const loom_lop *op = u->op;
    if (op->kind != LOOM_LO_COMPUTE || op->dense || op->sliced || op->blank || op->n_axes == 0 || op->n_results == 0 ||
        loom_lifted_any_segmented(u->l, op->n_axes, op->axes))
        return false;
    u->state = LOOM_NEW_ARRAY(u->arena, loom_lvalue_id, op->n_results);
    for (uint32_t j = 0; j < op->n_results; j++) {
        u->state[j] = state_of(u->loop, op->results[j]);
        if (u->state[j] == LOOM_NONE || !same_axes(u->l, u->state[j], op) || !same_axes(u->l, op->results[j], op))
            return false;
    }
    for (uint32_t j = 0; j < op->n_results; j++) {
        if (!keeps(u, u->l->blocks[op->body].results[j], 0, u->state[j])) return false;
    }
    if (!fixed_mask(u) || !nothing_else_looks(u)) return false;
    for (uint32_t i = 0; i < op->n_axes; i++) {
        if (u->fixed[i] && depends_on_fixed(u, u->index[i])) return false;
    }
    return true;
}

/* ---- what becomes of it ---- */

static loom_lexpr_id copy_simple(update *u, loom_lexpr_id id) {
    loom_lexpr e = *expr(u, id);
    if (e.kind == LOOM_LX_AXIS) return u->place[e.aux];
    loom_lexpr_id *args = LOOM_NEW_ARRAY(u->arena, loom_lexpr_id, (size_t)e.n_args + 1);
    for (uint32_t i = 0; i < e.n_args; i++) args[i] = copy_simple(u, loom_lifted_arg(u->l, &e, i));
    return loom_lifted_expr(u->l, e, args, e.n_args);
}

/* Indices that are not of P first: x may depend on them. */
static void make_places(update *u) {
    uint32_t position = 0;
    for (uint32_t i = 0; i < u->op->n_axes; i++) {
        if (u->fixed[i]) continue;
        loom_lexpr axis = {.kind = LOOM_LX_AXIS, .dtype = LOOM_I64, .aux = position++, .site = LOOM_NONE};
        u->place[i] = loom_lifted_expr(u->l, axis, NULL, 0);
    }
    for (uint32_t i = 0; i < u->op->n_axes; i++) {
        if (u->fixed[i]) u->place[i] = copy_simple(u, u->index[i]);
    }
}

/* The own point may be outside now: then nothing comes of it. */
static loom_lexpr_id moved(void *context, loom_lexpr e, loom_lexpr_id *args, uint32_t n) {
    update *u = context;
    if (e.kind == LOOM_LX_AXIS) return u->place[e.aux];
    bool own = e.kind == LOOM_LX_LOAD && n == u->op->n_axes && e.mode != LOOM_LOAD_DEFAULT;
    for (uint32_t i = 0; own && i < n; i++) own = args[i] == u->place[i];
    if (!own) return loom_lifted_expr(u->l, e, args, n);
    loom_lexpr zero = {.kind = LOOM_LX_CONST, .dtype = e.dtype, .site = LOOM_NONE};
    loom_lexpr_id all[LOOM_LIFTED_MAX_AXES + 1];
    for (uint32_t i = 0; i < n; i++) all[i] = args[i];
    all[n] = loom_lifted_expr(u->l, zero, NULL, 0);
    e.mode = LOOM_LOAD_DEFAULT;
    e.site = LOOM_NONE;
    return loom_lifted_expr(u->l, e, all, n + 1);
}

static loom_lblock_id make_body(update *u) {
    uint32_t n = u->op->n_axes, k = u->op->n_results;
    loom_lexpr_id first = u->l->n_exprs,
                  *results = LOOM_NEW_ARRAY(u->arena, loom_lexpr_id, (size_t)n + k + LOOM_LIFTED_MAX_AXES);
    make_places(u);
    for (uint32_t i = 0; i < n; i++) results[i] = u->place[i];
    loom_clone_block(&(loom_clone){.l = u->l, .scratch = u->arena, .replace = moved, .context = u}, u->op->body,
                     results + n);
    return loom_lifted_block(u->l, first, 0, NULL, n + k, results);
}

/* (a..., x...) -> x... */
static loom_lblock_id replaced(update *u) {
    uint32_t k = u->op->n_results;
    loom_dtype *types = LOOM_NEW_ARRAY(u->arena, loom_dtype, 2 * (size_t)k);
    loom_lexpr_id first = u->l->n_exprs, *results = LOOM_NEW_ARRAY(u->arena, loom_lexpr_id, k);
    for (uint32_t j = 0; j < 2 * k; j++) types[j] = u->l->values[u->op->results[j % k]].dtype;
    for (uint32_t j = 0; j < k; j++) {
        loom_lexpr param = {.kind = LOOM_LX_PARAM, .dtype = types[j], .aux = k + j, .site = LOOM_NONE};
        results[j] = loom_lifted_expr(u->l, param, NULL, 0);
    }
    return loom_lifted_block(u->l, first, 2 * k, types, k, results);
}

static void rewrite(update *u, loom_lop *to) {
    loom_axis_id *axes = LOOM_NEW_ARRAY(u->l->arena, loom_axis_id, (size_t)u->op->n_axes + 1);
    loom_lvalue_id *dest = LOOM_NEW_ARRAY(u->l->arena, loom_lvalue_id, u->op->n_results);
    loom_lop made = *u->op;
    made.kind = LOOM_LO_PERMUTE;
    made.distinct = true;
    made.body = make_body(u);
    made.combine = replaced(u);
    made.rank = made.n_target_axes = u->op->n_axes;
    made.target_axes = u->op->axes;
    made.n_axes = 0;
    for (uint32_t i = 0; i < u->op->n_axes; i++) {
        if (!u->fixed[i]) axes[made.n_axes++] = u->op->axes[i];
    }
    made.axes = axes;
    memcpy(dest, u->state, u->op->n_results * sizeof *dest);
    made.dest = dest;
    *to = made;
}

void loom_schedule_updates(loom_lifted *l, loom_arena *scratch) {
    const loom_lop_id *parent = loom_lifted_parents(l, scratch);
    for (loom_lop_id id = 0; id < l->n_ops; id++) {
        if (parent[id] == LOOM_NONE || l->ops[parent[id]].kind != LOOM_LO_LOOP) continue;
        update u = {.l = l, .arena = scratch, .op = &l->ops[id], .loop = &l->ops[parent[id]]};
        if (applies(&u)) rewrite(&u, &l->ops[id]);
    }
}
