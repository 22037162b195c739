/* Leaves: views by renaming sources. */
#include "vec.h"

leaf vec_const_leaf(loom_dtype t, loom_scalar s) {
    return (leaf){.kind = LEAF_CONST, .dtype = t, .known = true, .imm = s, .id = LOOM_NONE, .site = LOOM_NONE};
}

leaf vec_int_leaf(int64_t i) {
    return vec_const_leaf(LOOM_I64, (loom_scalar){.i = i});
}

leaf vec_axis_leaf(loom_axis_id axis, uint32_t level) {
    return (leaf){
        .kind = LEAF_AXIS, .dtype = LOOM_I64, .id = axis, .at = {FROM_LEVEL, false, level}, .site = LOOM_NONE};
}

leaf vec_extent_leaf(const vec *v, extent e) {
    if (e.axis == LOOM_NONE) return vec_expr_leaf(v, e.expr);
    const loom_axis *a = &v->l->axes[e.axis];
    if (a->kind == LOOM_AXIS_SEGMENTED) {
        return (leaf){.kind = LEAF_VALUE, .dtype = LOOM_I64, .id = a->lengths, .sources = e.sources, .site = LOOM_NONE};
    }
    if (a->kind == LOOM_AXIS_CONST) return vec_int_leaf(a->extent);
    return (leaf){.kind = LEAF_EXTENT, .dtype = LOOM_I64, .id = e.axis, .site = LOOM_NONE};
}

bool vec_is_view(const leaf *x) {
    switch (x->kind) {
    case LEAF_CONST:
    case LEAF_VALUE:
    case LEAF_AXIS:
    case LEAF_EXTENT:
    case LEAF_BAD: return true;
    default: return false;
    }
}

bool vec_is_scalar(const val *x) {
    for (uint32_t i = 0; i < x->n; i++) {
        if (x->at[i].n_own) return false;
    }
    return true;
}

bool vec_is_int(const leaf *x, int64_t *value) {
    if (x->kind != LEAF_CONST || !loom_dtype_is_integer(x->dtype) || x->n_own) return false;
    *value = x->imm.i;
    return true;
}

bool vec_is_unknown(extent e) {
    return e.axis == LOOM_NONE && e.expr == LOOM_NONE;
}

bool vec_same_extent(const vec *v, extent a, extent b) {
    if (a.axis == LOOM_NONE && b.axis == LOOM_NONE) return a.expr != LOOM_NONE && a.expr == b.expr;
    return a.axis == b.axis && vec_same_rows(v, a, b);
}

/* The chunk of a traversal is never empty: a plan runs only where there are elements. */
bool vec_maybe_empty(const vec *v, loom_axis_id axis) {
    const loom_axis *a = &v->l->axes[axis];
    if (a->kind == LOOM_AXIS_CHUNK) return false;
    return a->kind != LOOM_AXIS_CONST || a->extent == 0;
}

static uint32_t n_sources(const vec *v, const leaf *x) {
    return x->kind == LEAF_VALUE ? v->l->values[x->id].n_axes : x->kind == LEAF_AXIS ? 1 : 0;
}

static uint64_t levels_among(const source *s, uint32_t n) {
    uint64_t mask = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (s[i].kind == FROM_LEVEL) mask |= UINT64_C(1) << s[i].at;
    }
    return mask;
}

/* Levels on which the elements depend, or how many there are. */
uint64_t vec_level_mask(const vec *v, const leaf *x) {
    uint64_t mask = levels_among(x->kind == LEAF_VALUE ? x->sources : &x->at, n_sources(v, x));
    for (uint32_t k = 0; k < x->n_own; k++) mask |= levels_among(x->own[k].sources, vec_n_sources(v, x->own[k]));
    return vec_close_mask(v, mask);
}

/* ---- renaming ---- */

/* What becomes of sources. drop: own axis 0 becomes `first`; add: `level` becomes own axis 0; swap: of own axes 0, 1.
 */
typedef struct renaming {
    bool drop, add, swap;
    source first;
    uint32_t level;
} renaming;

static source renamed_source(const renaming *r, source s) {
    if (r->add) {
        if (s.kind == FROM_OWN) {
            s.at++;
        } else if (s.kind == FROM_LEVEL && s.at == r->level) {
            s = (source){FROM_OWN, IN_RANGE, 0};
        }
    } else if (s.kind == FROM_OWN && r->drop) {
        if (s.at == 0) return r->first;
        s.at--;
    } else if (s.kind == FROM_OWN && r->swap && s.at < 2) {
        s.at = 1 - s.at;
    }
    return s;
}

static const source *renamed_sources(vec *v, const renaming *r, const source *from, uint32_t n) {
    source *to = LOOM_NEW_ARRAY(v->scratch, source, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) to[i] = renamed_source(r, from[i]);
    return to;
}

static void rename_extents(vec *v, const renaming *r, const extent *from, uint32_t n, extent *to) {
    for (uint32_t k = 0; k < n; k++) {
        to[k] = from[k];
        uint32_t m = vec_n_sources(v, from[k]);
        if (m) to[k].sources = renamed_sources(v, r, from[k].sources, m);
    }
}

static leaf renamed(vec *v, const leaf *x, const renaming *r) {
    leaf y = *x;
    if (x->kind == LEAF_VALUE) y.sources = renamed_sources(v, r, x->sources, v->l->values[x->id].n_axes);
    if (x->kind == LEAF_AXIS) y.at = renamed_source(r, x->at);
    return y;
}

static leaf without_first(vec *v, const leaf *x, const renaming *r) {
    leaf y = renamed(v, x, r);
    extent *own = LOOM_NEW_ARRAY(v->scratch, extent, (size_t)x->n_own);
    y.n_own--;
    rename_extents(v, r, x->own + 1, y.n_own, own);
    y.own = own;
    return y;
}

leaf vec_bind_level(vec *v, const leaf *x, uint32_t level) {
    renaming r = {.drop = true, .first = {FROM_LEVEL, false, level}};
    return without_first(v, x, &r);
}

leaf vec_drop_own(vec *v, const leaf *x, index_step at) {
    source_range range = at.checked ? ANY_RANGE : at.here ? IN_RANGE_HERE : IN_RANGE;
    renaming r = {.drop = true, .first = {FROM_EXPR, (uint8_t)range, at.at}};
    return without_first(v, x, &r);
}

leaf vec_unbind_level(vec *v, const leaf *x, uint32_t level, extent e) {
    renaming r = {.add = true, .level = level};
    leaf y = renamed(v, x, &r);
    extent *own = LOOM_NEW_ARRAY(v->scratch, extent, (size_t)x->n_own + 1);
    own[0] = e;
    rename_extents(v, &r, x->own, x->n_own, own + 1);
    y.own = own;
    y.n_own++;
    return y;
}

leaf vec_replicate_leaf(vec *v, const leaf *x, extent e) {
    return vec_unbind_level(v, x, MAX_LEVELS, e);
}

leaf vec_transpose_leaf(vec *v, const leaf *x, extent outer) {
    renaming r = {.swap = true};
    leaf y = renamed(v, x, &r);
    extent *own = LOOM_NEW_ARRAY(v->scratch, extent, x->n_own);
    rename_extents(v, &r, x->own, x->n_own, own);
    own[1] = x->own[0];
    own[0] = outer;
    y.own = own;
    return y;
}

leaf vec_with_own(vec *v, const leaf *x, uint32_t k, extent e) {
    if (!vec_is_unknown(e) && vec_same_extent(v, x->own[k], e)) return *x;
    leaf y = *x;
    extent *own = LOOM_NEW_ARRAY(v->scratch, extent, x->n_own);
    memcpy(own, x->own, x->n_own * sizeof *own);
    own[k] = e;
    y.own = own;
    return y;
}

static const source *sources_with_levels(vec *v, const source *from, uint32_t n, level_source to, void *argument) {
    source *made = LOOM_NEW_ARRAY(v->scratch, source, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) made[i] = from[i].kind == FROM_LEVEL ? to(argument, from[i].at) : from[i];
    return made;
}

/* The index along a level may become that of any expression. */
static leaf axis_with_level(vec *v, const leaf *x, level_source to, void *argument) {
    leaf y = *x;
    if (x->at.kind != FROM_LEVEL) return y;
    y.at = to(argument, x->at.at);
    if (y.at.kind != FROM_EXPR) {
        if (y.at.kind == FROM_LEVEL) y.id = v->levels[y.at.at].axis;
        return y;
    }
    y.kind = LEAF_EXPR;
    y.id = y.at.at;
    if (x->dtype != LOOM_I64) y.id = loom_lifted_expr(v->l, vec_plain_expr(LOOM_LX_CONVERT, x->dtype), &y.id, 1);
    return y;
}

leaf vec_with_levels(vec *v, const leaf *x, level_source to, void *argument) {
    leaf y = x->kind == LEAF_AXIS ? axis_with_level(v, x, to, argument) : *x;
    if (x->kind == LEAF_VALUE) y.sources = sources_with_levels(v, x->sources, n_sources(v, x), to, argument);
    extent *own = LOOM_NEW_ARRAY(v->scratch, extent, (size_t)x->n_own + 1);
    for (uint32_t k = 0; k < x->n_own; k++) {
        own[k] = x->own[k];
        own[k].sources = sources_with_levels(v, own[k].sources, vec_n_sources(v, own[k]), to, argument);
    }
    y.own = own;
    return y;
}
