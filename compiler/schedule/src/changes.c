/* Rule. A result of a COMPUTE is a value u but for some points if it is the load of u at the own point, or a choice
 * between two such, or a choice whose other side is, by a condition that asks for index = x along some axes: then the
 * points with these indices may be others. What asks for more besides (`and`) changes no more points. x is found
 * anywhere, without failing. Of a PERMUTE to distinct places, which puts its values in place of what is there, the same
 * holds with the place in the target for the own point, and the target for u.
 *
 * Axes along which rows differ in length may be asked for as any other; those that are left must not depend on them.
 *
 * The body is evaluated at those points then, and nowhere else. So what may fail in it must not depend on the point,
 * nor be looked at by points of some indices alone, unless these are of a place: what stands behind the question for it
 * is looked at there alone. As the place may be none of the points, it is asked for that besides.
 *
 * Example: select(j == i + 1, a, select(j == i, b, u[j])) changes u at i + 1 and at i; put at (n[k], j),
 * select(j == i[k], a[k], u[n[k], j]) changes u at (n[k], i[k]). Cost: the body times the number of places. */
#include "changes.h"
#include <string.h>

/* Indices are counters, sums and remainders of such; places are numbers of elements, by their numbers. */
#define DEEPEST_INDEX 8
/* The body is made once for each place, and asks for all of them. */
#define MOST_PLACES 16

static const loom_lexpr *expr(const loom_changes *c, loom_lexpr_id id) {
    return &c->l->exprs[id];
}

static loom_lexpr_id arg(const loom_changes *c, loom_lexpr_id id, uint32_t i) {
    return loom_lifted_arg(c->l, expr(c, id), i);
}

bool loom_schedule_same(const loom_lifted *l, loom_lexpr_id a, loom_lexpr_id b) {
    const loom_lexpr *x = &l->exprs[a], *y = &l->exprs[b];
    if (a == b) return true;
    if (x->kind != y->kind || x->dtype != y->dtype || x->prim != y->prim || x->aux != y->aux || x->n_args != y->n_args)
        return false;
    if (x->kind == LOOM_LX_CONST) return loom_lifted_same_scalar(x->dtype, &x->imm, &y->imm);
    for (uint32_t i = 0; i < x->n_args; i++) {
        if (!loom_schedule_same(l, loom_lifted_arg(l, x, i), loom_lifted_arg(l, y, i))) return false;
    }
    return true;
}

static bool is_target_place(const loom_changes *c, const loom_lexpr *e) {
    if (e->kind != LOOM_LX_LOAD || e->mode != LOOM_LOAD_PROVEN || e->n_args != c->op->rank) return false;
    for (uint32_t i = 0; i < e->n_args; i++) {
        if (!loom_schedule_same(c->l, loom_lifted_arg(c->l, e, i), c->l->blocks[c->op->body].results[i])) return false;
    }
    return true;
}

static bool is_own_point(const loom_changes *c, const loom_lexpr *e) {
    if (loom_schedule_is_put(c->op)) return is_target_place(c, e);
    if (e->kind != LOOM_LX_LOAD || e->n_args != c->op->n_axes) return false;
    for (uint32_t i = 0; i < e->n_args; i++) {
        const loom_lexpr *index = expr(c, loom_lifted_arg(c->l, e, i));
        if (index->kind != LOOM_LX_AXIS || index->aux != i) return false;
    }
    return true;
}

bool loom_schedule_divides(const loom_lexpr *e) {
    if (e->kind != LOOM_LX_PRIM || e->dtype != LOOM_I64) return false;
    return e->prim == LOOM_PRIM_FLOORDIV || e->prim == LOOM_PRIM_FLOORMOD || e->prim == LOOM_PRIM_QUOT ||
           e->prim == LOOM_PRIM_REM;
}

bool loom_schedule_is_simple(const loom_lifted *l, loom_lexpr_id id, uint32_t depth, bool divides) {
    const loom_lexpr *e = &l->exprs[id];
    bool kind = e->kind == LOOM_LX_CONST || e->kind == LOOM_LX_AXIS || e->kind == LOOM_LX_EXTENT ||
                e->kind == LOOM_LX_CONVERT || e->kind == LOOM_LX_LOAD ||
                (e->kind == LOOM_LX_PRIM && !loom_prim_table[e->prim].can_trap) ||
                (divides && loom_schedule_divides(e));
    if (!kind || depth == 0) return false;
    for (uint32_t i = 0; i < e->n_args; i++) {
        if (!loom_schedule_is_simple(l, loom_lifted_arg(l, e, i), depth - 1, divides)) return false;
    }
    return true;
}

bool loom_schedule_depends_on(const loom_changes *c, loom_lexpr_id id, uint64_t positions) {
    const loom_lexpr *e = expr(c, id);
    if (e->kind == LOOM_LX_AXIS) return positions >> e->aux & 1;
    for (uint32_t i = 0; i < e->n_args; i++) {
        if (loom_schedule_depends_on(c, arg(c, id, i), positions)) return true;
    }
    return false;
}

/* ---- which points ---- */

/* index = x along an axis. */
static bool is_test(const loom_changes *c, loom_lexpr_id id, uint32_t *position, loom_lexpr_id *x) {
    const loom_lexpr *e = expr(c, id);
    if (e->kind != LOOM_LX_PRIM || e->prim != LOOM_PRIM_EQ) return false;
    for (uint32_t i = 0; i < 2; i++) {
        const loom_lexpr *axis = expr(c, arg(c, id, i));
        *position = axis->aux;
        *x = arg(c, id, 1 - i);
        if (axis->kind == LOOM_LX_AXIS && expr(c, *x)->dtype == LOOM_I64 &&
            loom_schedule_is_simple(c->l, *x, DEEPEST_INDEX, true))
            return true;
    }
    return false;
}

/* Where notes of an expression are; what is not of the body, has none. */
static uint32_t *note_of(const loom_changes *c, uint32_t *notes, loom_lexpr_id id) {
    const loom_lblock *b = &c->l->blocks[c->op->body];
    return id >= b->first && id < b->end ? &notes[id - b->first] : NULL;
}

static uint64_t tests_in(const loom_changes *c, loom_lexpr_id id, loom_lexpr_id *index) {
    const loom_lexpr *e = expr(c, id);
    uint32_t p, *asked = note_of(c, c->asked, id);
    loom_lexpr_id x;
    if (asked && *asked == c->n_asked) return 0; /* its tests are there */
    if (asked) *asked = c->n_asked;
    if (e->kind == LOOM_LX_PRIM && e->prim == LOOM_PRIM_AND)
        return tests_in(c, arg(c, id, 0), index) | tests_in(c, arg(c, id, 1), index);
    if (!is_test(c, id, &p, &x)) return 0;
    index[p] = x; /* of several, any will do: the points are those that all of them hold for */
    return UINT64_C(1) << p;
}

static bool is_at(const loom_changes *c, const loom_change *place, uint64_t fixed, const loom_lexpr_id *index) {
    bool equal = place->fixed == fixed;
    for (uint32_t i = 0; i < c->op->n_axes && equal; i++)
        equal = !(fixed >> i & 1) || loom_schedule_same(c->l, index[i], place->index[i]);
    return equal;
}

static loom_change *find_place(loom_changes *c, uint64_t fixed, const loom_lexpr_id *index) {
    for (size_t k = 0; k < c->places.count; k++) {
        if (is_at(c, &c->places.at[k], fixed, index)) return &c->places.at[k];
    }
    if (c->places.count == MOST_PLACES) return NULL;
    loom_change place = {fixed, index, LOOM_NEW_ARRAY(c->arena, bool, (size_t)c->op->n_results + 1)};
    LOOM_PUSH(c->arena, c->places, place);
    return &c->places.at[c->places.count - 1];
}

static bool asks_for_place(loom_changes *c, loom_lexpr_id condition, uint32_t result) {
    loom_lexpr_id *index = LOOM_NEW_ARRAY(c->arena, loom_lexpr_id, (size_t)c->op->n_axes + 1);
    c->n_asked++;
    uint64_t fixed = tests_in(c, condition, index);
    loom_change *place = fixed ? find_place(c, fixed, index) : NULL;
    if (place) place->of[result] = true;
    return place != NULL;
}

static bool keeps(loom_changes *c, loom_lexpr_id id, uint32_t number, uint32_t result, loom_lvalue_id *base);

/* Looked at once: what does not keep it ends the search. */
static bool keeps_it(loom_changes *c, loom_lexpr_id id, uint32_t result, loom_lvalue_id *base) {
    uint32_t *kept = note_of(c, c->kept, id);
    if (kept && *kept == result + 1) return true;
    bool yes = keeps(c, id, 0, result, base);
    if (kept && yes) *kept = result + 1;
    return yes;
}

/* Whether value `number` of the expression is `base` at the own point but where a place is. */
static bool keeps(loom_changes *c, loom_lexpr_id id, uint32_t number, uint32_t result, loom_lvalue_id *base) {
    const loom_lexpr *e = expr(c, id);
    if (e->kind == LOOM_LX_RESULT) return keeps(c, arg(c, id, 0), e->aux, result, base);
    if (is_own_point(c, e)) {
        if (*base == LOOM_NONE) *base = e->aux;
        return *base == e->aux;
    }
    loom_lexpr_id yes, no;
    if (e->kind == LOOM_LX_PRIM && e->prim == LOOM_PRIM_SELECT) {
        yes = arg(c, id, 1);
        no = arg(c, id, 2);
    } else if (e->kind == LOOM_LX_IF) {
        yes = c->l->blocks[e->blocks[0]].results[number];
        no = c->l->blocks[e->blocks[1]].results[number];
    } else {
        return false;
    }
    return keeps_it(c, no, result, base) &&
           (asks_for_place(c, arg(c, id, 0), result) || keeps_it(c, yes, result, base));
}

static bool same_axes(const loom_lifted *l, loom_lvalue_id value, const loom_lop *op) {
    const loom_lvalue *v = &l->values[value];
    return v->n_axes == op->n_axes && memcmp(v->axes, op->axes, op->n_axes * sizeof *op->axes) == 0;
}

/* ---- what fails ---- */

/* Per expression of the body: whether it is another at other indices of the places; whether points of some of these
 * alone look at it; whether those of one place alone do. */
enum {
    DEPENDS = 1,
    GUARDED = 2,
    TESTED = 4,
    CONDITION = 8 /* whether blocks are looked at by it, and it is another at other indices */
};

static uint32_t inner_blocks(const loom_lexpr *e) {
    return e->kind == LOOM_LX_IF || e->kind == LOOM_LX_WHILE ? 2 : e->kind == LOOM_LX_FOR ? 1 : 0;
}

static bool depends(const loom_lblock *b, const uint8_t *class, loom_lexpr_id id) {
    return id >= b->first && id < b->end && class[id - b->first] & DEPENDS;
}

/* Whether the condition holds at points of one of the places alone. */
static bool is_of_place(loom_changes *c, loom_lexpr_id condition) {
    loom_lexpr_id index[LOOM_LIFTED_MAX_AXES];
    c->n_asked++;
    uint64_t fixed = tests_in(c, condition, index);
    for (size_t k = 0; fixed && k < c->places.count; k++) {
        if (is_at(c, &c->places.at[k], fixed, index)) return true;
    }
    return false;
}

static void mark(const loom_changes *c, loom_lblock_id block, uint8_t *class, uint8_t bit) {
    const loom_lblock *b = &c->l->blocks[c->op->body], *x = &c->l->blocks[block];
    for (loom_lexpr_id i = x->first; i < x->end; i++) class[i - b->first] |= bit;
}

static void classify(loom_changes *c, uint64_t fixed, uint8_t *class) {
    const loom_lblock *b = &c->l->blocks[c->op->body];
    for (loom_lexpr_id id = b->first; id < b->end; id++) {
        const loom_lexpr *e = expr(c, id);
        bool own = e->kind == LOOM_LX_AXIS && fixed >> e->aux & 1;
        for (uint32_t i = 0; i < e->n_args; i++) own |= depends(b, class, arg(c, id, i));
        for (uint32_t k = 0; k < inner_blocks(e); k++) {
            const loom_lblock *x = &c->l->blocks[e->blocks[k]];
            bool loops = e->kind != LOOM_LX_IF;
            for (uint32_t r = 0; r < x->n_results; r++) own |= depends(b, class, x->results[r]);
            for (loom_lexpr_id i = x->first; i < x->end && loops; i++) own |= depends(b, class, i);
        }
        for (uint32_t k = 0; k < inner_blocks(e); k++) {
            bool condition = e->kind == LOOM_LX_IF && depends(b, class, arg(c, id, 0));
            if (own && (e->kind != LOOM_LX_IF || condition)) mark(c, e->blocks[k], class, GUARDED);
            if (condition) class[arg(c, id, 0) - b->first] |= CONDITION;
            if (condition && k == 0 && is_of_place(c, arg(c, id, 0))) mark(c, e->blocks[k], class, TESTED);
        }
        if (own) class[id - b->first] |= DEPENDS;
    }
}

/* Inner blocks stand before what guards them, so all is known when this is asked. */
static bool fails_alike(loom_changes *c, uint64_t fixed) {
    const loom_lblock *b = &c->l->blocks[c->op->body];
    uint8_t *class = LOOM_NEW_ARRAY(c->arena, uint8_t, (size_t)(b->end - b->first) + 1);
    classify(c, fixed, class);
    c->class = class;
    for (loom_lexpr_id id = b->first; id < b->end; id++) {
        const loom_lexpr *e = expr(c, id);
        bool loops = e->kind == LOOM_LX_FOR || e->kind == LOOM_LX_WHILE;
        bool tested = class[id - b->first] & TESTED, apart = class[id - b->first] & (DEPENDS | GUARDED);
        if (loops && apart && !tested) return false;
        bool may_fail = e->kind == LOOM_LX_CHECK || (e->kind == LOOM_LX_LOAD && e->mode == LOOM_LOAD_CHECKED) ||
                        (e->kind == LOOM_LX_PRIM && loom_prim_table[e->prim].can_trap);
        if (!may_fail) continue;
        if (apart && !tested) return false;
        *(tested ? &c->traps_there : &c->traps) = true;
    }
    return true;
}

bool loom_schedule_differs(const loom_changes *c, loom_lexpr_id id) {
    return depends(&c->l->blocks[c->op->body], c->class, id);
}

bool loom_schedule_replaces(const loom_lifted *l, loom_lblock_id combine) {
    const loom_lblock *b = &l->blocks[combine];
    for (uint32_t j = 0; j < b->n_results; j++) {
        const loom_lexpr *e = &l->exprs[b->results[j]];
        if (e->kind != LOOM_LX_PARAM || e->aux != b->n_results + j) return false;
    }
    return true;
}

loom_lblock_id loom_schedule_replacing(loom_lifted *l, loom_arena *scratch, uint32_t n, const loom_lvalue_id *values) {
    loom_dtype *types = LOOM_NEW_ARRAY(scratch, loom_dtype, 2 * (size_t)n + 1);
    loom_lexpr_id first = l->n_exprs, *results = LOOM_NEW_ARRAY(scratch, loom_lexpr_id, (size_t)n + 1);
    for (uint32_t j = 0; j < 2 * n; j++) types[j] = l->values[values[j % n]].dtype;
    for (uint32_t j = 0; j < n; j++) {
        loom_lexpr param = {.kind = LOOM_LX_PARAM, .dtype = types[j], .aux = n + j, .site = LOOM_NONE};
        results[j] = loom_lifted_expr(l, param, NULL, 0);
    }
    return loom_lifted_block(l, first, 2 * n, types, n, results);
}

static bool simple_places(const loom_changes *c) {
    for (uint32_t d = 0; d < c->op->rank; d++) {
        if (!loom_schedule_is_simple(c->l, c->l->blocks[c->op->body].results[d], DEEPEST_PLACE, false)) return false;
    }
    return true;
}

/* Whether the axes that are not fixed are axes by themselves: lengths run over all axes before. */
static bool leaves_axes(const loom_changes *c, uint64_t fixed) {
    for (uint32_t i = 0; i < c->op->n_axes; i++) {
        bool rows = c->l->axes[c->op->axes[i]].kind == LOOM_AXIS_SEGMENTED;
        if (rows && !(fixed >> i & 1) && fixed & ((UINT64_C(1) << i) - 1)) return false;
    }
    return true;
}

static bool may_change_few(const loom_changes *c) {
    const loom_lop *op = c->op;
    if (op->n_axes == 0 || op->n_results == 0) return false;
    if (op->kind == LOOM_LO_COMPUTE) return !op->dense && !op->sliced && !op->blank;
    return op->kind == LOOM_LO_PERMUTE && op->dest && op->output == LOOM_NONE && op->distinct && !op->n_context &&
           loom_schedule_replaces(c->l, op->combine);
}

bool loom_schedule_is_condition(const loom_changes *c, loom_lexpr_id id) {
    const loom_lblock *b = &c->l->blocks[c->op->body];
    return id >= b->first && id < b->end && c->class[id - b->first] & CONDITION;
}

bool loom_schedule_finds_changes(loom_changes *c) {
    const loom_lop *op = c->op;
    if (!may_change_few(c)) return false;
    loom_lvalue_id *base = LOOM_NEW_ARRAY(c->arena, loom_lvalue_id, op->n_results);
    const loom_lblock *b = &c->l->blocks[op->body];
    c->kept = LOOM_NEW_ARRAY(c->arena, uint32_t, (size_t)(b->end - b->first) + 1);
    c->asked = LOOM_NEW_ARRAY(c->arena, uint32_t, (size_t)(b->end - b->first) + 1);
    uint64_t fixed = 0;
    bool put = loom_schedule_is_put(op);
    if (put && !simple_places(c)) return false;
    for (uint32_t j = 0; j < op->n_results; j++) {
        base[j] = put ? op->dest[j] : LOOM_NONE;
        if (!keeps_it(c, b->results[put ? op->rank + j : j], j, &base[j])) return false;
        if (!put && (!same_axes(c->l, op->results[j], op) || !same_axes(c->l, base[j], op))) return false;
    }
    c->base = base;
    for (size_t k = 0; k < c->places.count; k++) {
        if (!leaves_axes(c, c->places.at[k].fixed)) return false;
        fixed |= c->places.at[k].fixed;
    }
    for (size_t k = 0; k < c->places.count; k++) {
        const loom_change *place = &c->places.at[k];
        for (uint32_t i = 0; i < op->n_axes; i++) {
            if (place->fixed >> i & 1 && loom_schedule_depends_on(c, place->index[i], fixed)) return false;
        }
    }
    return fixed != 0 && fails_alike(c, fixed);
}
