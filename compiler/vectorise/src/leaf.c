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

bool vec_same_extent(extent a, extent b) {
    if (a.axis != LOOM_NONE || b.axis != LOOM_NONE) return a.axis == b.axis;
    return a.expr != LOOM_NONE && a.expr == b.expr;
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

uint64_t vec_level_mask(const vec *v, const leaf *x) {
    uint64_t mask = 0;
    const source *s = x->kind == LEAF_VALUE ? x->sources : &x->at;
    for (uint32_t i = 0; i < n_sources(v, x); i++) {
        if (s[i].kind == FROM_LEVEL) mask |= UINT64_C(1) << s[i].at;
    }
    return mask;
}

/* A copy whose sources may be changed. */
static leaf renamed(vec *v, const leaf *x, source **sources) {
    leaf y = *x;
    uint32_t n = n_sources(v, x);
    *sources = LOOM_NEW_ARRAY(v->scratch, source, (size_t)n + 1);
    if (x->kind == LEAF_VALUE) {
        if (n) memcpy(*sources, x->sources, n * sizeof **sources);
        y.sources = *sources;
    } else if (x->kind == LEAF_AXIS) {
        (*sources)[0] = x->at;
    }
    return y;
}

static void settle(leaf *x, const source *sources) {
    if (x->kind == LEAF_AXIS) x->at = sources[0];
}

leaf vec_bind_level(vec *v, const leaf *x, uint32_t level) {
    source *s;
    leaf y = renamed(v, x, &s);
    for (uint32_t i = 0; i < n_sources(v, x); i++) {
        if (s[i].kind != FROM_OWN) continue;
        if (s[i].at == 0) {
            s[i] = (source){FROM_LEVEL, false, level};
        } else {
            s[i].at--;
        }
    }
    settle(&y, s);
    y.n_own--;
    y.own++;
    return y;
}

leaf vec_unbind_level(vec *v, const leaf *x, uint32_t level, loom_axis_id axis) {
    source *s;
    leaf y = renamed(v, x, &s);
    for (uint32_t i = 0; i < n_sources(v, x); i++) {
        if (s[i].kind == FROM_OWN) {
            s[i].at++;
        } else if (s[i].kind == FROM_LEVEL && s[i].at == level) {
            s[i] = (source){FROM_OWN, false, 0};
        }
    }
    settle(&y, s);
    extent *own = LOOM_NEW_ARRAY(v->scratch, extent, (size_t)x->n_own + 1);
    own[0] = (extent){axis, LOOM_NONE};
    if (x->n_own) memcpy(own + 1, x->own, x->n_own * sizeof *own);
    y.own = own;
    y.n_own++;
    return y;
}

leaf vec_replicate_leaf(vec *v, const leaf *x, extent e) {
    leaf y = vec_unbind_level(v, x, MAX_LEVELS, e.axis);
    extent *own = LOOM_NEW_ARRAY(v->scratch, extent, y.n_own);
    memcpy(own, y.own, y.n_own * sizeof *own);
    own[0] = e;
    y.own = own;
    return y;
}

leaf vec_transpose_leaf(vec *v, const leaf *x, extent outer) {
    source *s;
    leaf y = renamed(v, x, &s);
    for (uint32_t i = 0; i < n_sources(v, x); i++) {
        if (s[i].kind == FROM_OWN && s[i].at < 2) s[i].at = 1 - s[i].at;
    }
    settle(&y, s);
    extent *own = LOOM_NEW_ARRAY(v->scratch, extent, x->n_own);
    memcpy(own, x->own, x->n_own * sizeof *own);
    own[1] = x->own[0];
    own[0] = outer;
    y.own = own;
    return y;
}

leaf vec_with_own(vec *v, const leaf *x, uint32_t k, extent e) {
    if (vec_same_extent(x->own[k], e)) return *x;
    leaf y = *x;
    extent *own = LOOM_NEW_ARRAY(v->scratch, extent, x->n_own);
    memcpy(own, x->own, x->n_own * sizeof *own);
    own[k] = e;
    y.own = own;
    return y;
}
