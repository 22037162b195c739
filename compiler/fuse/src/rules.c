/* When a producer's body takes the place of a load.
 *
 * Let w be the work of the body for that result. Taking it is free where it leaves no more evaluations than the
 * producer's own points: its results are loaded at one point only, and that point runs over the producer's space once
 * (*covered*: each axis of the consumer moves an index). Else it repeats work, which pays where w is small:
 *
 *  - always, if there is nothing but constants and axes;
 *  - needed in memory anyway: if w is that of one load (a view);
 *  - one point, covered: always, up to a limit in size;
 *  - rows that are referred to: if w is that of finding an element;
 *  - across an added axis, a loop, a gather: if w is trivial;
 *  - several points, each covered: if w is cheap.
 *
 * So an exponential is never repeated over the footprint of a patch, while views, index arithmetic and fills vanish.
 *
 * REFERENCES. Rows chosen by an index, slices and repeated rows may be much larger than what they are made of: a
 * hundred thousand rows that are one row of a million elements. Where they are not copied the indices stay, one for
 * each row (the starts of papers/003, section 7), and an element is found when it is used:
 *
 *     yss = map (\i -> xss[i]) is;  map (\ys -> ys[0] + sum ys) yss   ->   xss[is[i], 0] and xss[is[i], j]
 *
 * They are made dense in memory only for those who need that: a result, a transform, the state of a loop.
 */
#include "rewrite.h"

static uint64_t bit(uint32_t i) {
    return UINT64_C(1) << i;
}

/* Axes that an expression depends on; all of them where it is not looked into. */
static uint64_t axes_in(const rewrite *r, loom_lexpr_id id, uint32_t depth) {
    const loom_lexpr *e = &r->l->exprs[id];
    if (e->kind == LOOM_LX_AXIS) return bit(e->aux);
    if (e->kind == LOOM_LX_CONST || e->kind == LOOM_LX_EXTENT) return 0;
    if (depth == 0 || (e->kind != LOOM_LX_PRIM && e->kind != LOOM_LX_LOAD && e->kind != LOOM_LX_CONVERT))
        return UINT64_MAX;
    uint64_t mask = 0;
    for (uint32_t i = 0; i < e->n_args; i++) mask |= axes_in(r, loom_lifted_arg(r->l, e, i), depth - 1);
    return mask;
}

static bool is_scaled(const rewrite *r, loom_lexpr_id id) {
    const loom_lexpr *e = &r->l->exprs[id];
    return e->kind == LOOM_LX_PRIM && e->prim == LOOM_PRIM_MUL;
}

/* Axes that an index runs along without meeting a place twice. */
static uint64_t covers(const rewrite *r, loom_lexpr_id id, uint32_t depth) {
    const loom_lexpr *e = &r->l->exprs[id];
    if (e->kind == LOOM_LX_AXIS) return bit(e->aux);
    if (depth == 0 || e->kind != LOOM_LX_PRIM || e->n_args < 2) return 0;
    loom_lexpr_id a = loom_lifted_arg(r->l, e, 0), b = loom_lifted_arg(r->l, e, 1);
    uint64_t in_a = axes_in(r, a, 8), in_b = axes_in(r, b, 8);
    switch ((loom_prim)e->prim) {
    case LOOM_PRIM_ADD:
    case LOOM_PRIM_SUB:
        if (!in_b) return covers(r, a, depth - 1);
        if (!in_a) return covers(r, b, depth - 1);
        /* row * width + column */
        if ((is_scaled(r, a) || is_scaled(r, b)) && !(in_a & in_b))
            return covers(r, a, depth - 1) | covers(r, b, depth - 1);
        return 0;
    case LOOM_PRIM_MUL:
        if (!in_b) return covers(r, a, depth - 1);
        return !in_a ? covers(r, b, depth - 1) : 0;
    case LOOM_PRIM_FLOORMOD: return !in_b ? covers(r, a, depth - 1) : 0; /* rotation */
    case LOOM_PRIM_SELECT: return covers(r, b, depth - 1) & covers(r, loom_lifted_arg(r->l, e, 2), depth - 1);
    default: return 0;
    }
}

/* i / m and i mod m together run along i. */
static uint64_t covers_split(const rewrite *r, loom_lexpr_id x, loom_lexpr_id y) {
    const loom_lexpr *a = &r->l->exprs[x], *b = &r->l->exprs[y];
    if (a->kind != LOOM_LX_PRIM || b->kind != LOOM_LX_PRIM || a->prim != LOOM_PRIM_QUOT || b->prim != LOOM_PRIM_REM)
        return 0;
    if (loom_lifted_arg(r->l, a, 0) != loom_lifted_arg(r->l, b, 0)) return 0;
    return loom_lifted_arg(r->l, a, 1) == loom_lifted_arg(r->l, b, 1) ? covers(r, loom_lifted_arg(r->l, a, 0), 8) : 0;
}

static uint64_t covered_axes(const rewrite *r, const loom_lexpr_id *index, uint32_t n) {
    uint64_t covered = 0;
    for (uint32_t i = 0; i < n; i++) {
        covered |= covers(r, index[i], 8);
        if (i + 1 < n) covered |= covers_split(r, index[i], index[i + 1]);
    }
    return covered;
}

/* Axes with more than one point. */
static uint64_t long_axes(const rewrite *r, const loom_lop *o, uint32_t skipped) {
    uint64_t mask = 0;
    for (uint32_t i = 0; i < o->n_axes; i++) {
        const loom_axis *a = &r->l->axes[o->axes[i]];
        if (i != skipped && (a->kind != LOOM_AXIS_CONST || a->extent != 1)) mask |= bit(i);
    }
    return mask;
}

static bool is_covered(const rewrite *r, const loom_lexpr_id *index, uint32_t n) {
    return !(long_axes(r, r->op, r->skipped_axis) & ~covered_axes(r, index, n));
}

static bool is_arithmetic(const loom_lexpr *e) {
    return e->kind == LOOM_LX_PRIM && e->prim != LOOM_PRIM_SELECT &&
           (loom_dtype_is_float(e->dtype) || loom_dtype_is_complex(e->dtype));
}

/* The axes without those of short rows, whose copies are bounded by the number of rows. */
static uint64_t without_short_rows(const rewrite *r, const loom_lop *o, uint64_t axes) {
    int64_t elements = 1;
    for (uint32_t i = o->n_axes; i > 0; i--) {
        const loom_axis *a = &r->l->axes[o->axes[i - 1]];
        if (a->kind != LOOM_AXIS_CONST || a->extent > SHORT_ROW / elements) break;
        axes &= ~bit(i - 1);
        elements *= a->extent > 0 ? a->extent : 1;
    }
    return axes;
}

bool fuse_refers(const rewrite *r, const loom_lop *o, uint32_t result) {
    if (r->l->force & (LOOM_FORCE_COPY | LOOM_FORCE_UNFUSED)) return false;
    const loom_lblock b = r->l->blocks[o->body];
    const bool *needed = fuse_needed(r, o->body, result);
    uint64_t axes = without_short_rows(r, o, long_axes(r, o, LOOM_NONE)), work = 0, arithmetic = 0;
    bool loads = false; /* a table that is computed refers to nothing */
    for (loom_lexpr_id i = b.first; i < b.end; i++) {
        const loom_lexpr *e = &r->l->exprs[i];
        if (!needed[i - b.first]) continue;
        work += fuse_work_of(e);
        if (is_arithmetic(e)) arithmetic += fuse_work_of(e);
        if (e->kind != LOOM_LX_LOAD) continue;
        loads = true;
        uint32_t n = r->l->values[e->aux].n_axes;
        const loom_lexpr_id *index = n ? &r->l->args[e->first_arg] : NULL;
        if (!(axes & ~covered_axes(r, index, n))) return false;
    }
    return loads && (axes & (axes - 1)) && work <= REFERENCE && arithmetic <= TRIVIAL;
}

static bool any_held(const rewrite *r, const loom_lop *p) {
    for (uint32_t i = 0; i < p->n_results; i++) {
        if (r->held[p->results[i]]) return true;
    }
    return false;
}

bool fuse_may_inline(const rewrite *r, loom_lvalue_id value, loom_lop_id maker, const loom_lexpr_id *index) {
    const loom_lop *p = &r->l->ops[maker];
    const loom_lblock *b = &r->l->blocks[p->body];
    uint64_t work = r->work[value];
    if (work == 0) return true;
    if (r->l->force & LOOM_FORCE_UNFUSED) return false;
    if (r->held[value]) return work <= VIEW;
    if (r->body_size + (b->end - b->first) > MAX_BODY) return false;
    if (r->refers[value]) return true;
    bool other_loop = r->loop_of_old[r->op_id] != r->loop_of_new[maker];
    bool once = r->loops == 0 && !other_loop && is_covered(r, index, p->n_axes);
    if (once && r->points[r->old_number[maker]] == 1 && !any_held(r, p)) return true;
    return work <= (once ? CHEAP : TRIVIAL);
}
