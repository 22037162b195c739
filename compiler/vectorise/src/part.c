/* A part of the context's points, under a level of its own: the elements that take a branch, or that still turn.
 *
 *     levels i, j; a condition on both; from: the numbers of the points where it holds, in order
 *     ->  levels (i, j), t; i and j are hidden; i = index_i[t], j = index_j[t]
 * What the part has from around is gathered: x [i, j, m] becomes x' [t, m], m gathered too where rows differ in length.
 * What does not depend on the points stays as it is. A level whose rows depend on hidden ones gets another in its
 * place. Nothing runs for points outside of the part: they are not there. What depends on no level that the part has
 * may not run either where it is empty: its level is guarded as any other (emit.c).
 *
 * Numbers of points run over all levels of the mask; where that is more than one level, arrays over all points are made
 * by dense operations, which change axes and nothing else. Cost: the sizes of what is seen.
 */
#include "vec.h"
#include <stdlib.h>

/* ---- all points under one axis ---- */

/* How many there are: the last total, times the extents behind it. */
bool vec_count_points(vec *v, const loom_node *n, uint32_t n_axes, const loom_axis_id *axes, leaf *count) {
    *count = vec_int_leaf(1);
    for (uint32_t i = 0; i < n_axes; i++) {
        const loom_axis *a = &v->l->axes[axes[i]];
        if (a->kind == LOOM_AXIS_SEGMENTED) {
            *count = (leaf){.kind = LEAF_VALUE, .dtype = LOOM_I64, .id = a->total, .site = LOOM_NONE};
            continue;
        }
        leaf extent = vec_extent_leaf(v, (struct extent){.axis = axes[i], .expr = LOOM_NONE});
        if (!vec_multiply_points(v, n, count, &extent, count)) return false;
    }
    return true;
}

bool vec_all_points(vec *v, const loom_node *n, uint64_t mask, points *p) {
    leaf count;
    p->mask = vec_close_mask(v, mask);
    p->axes = vec_order_axes(v, p->mask, v->depth);
    if (p->axes.n == 1) {
        p->all = vec_level_extent(v, p->axes.level[0]);
        return true;
    }
    if (!vec_count_points(v, n, p->axes.n, p->axes.axis, &count)) return false;
    p->all = vec_count_extent(v, &count);
    for (uint32_t i = 0; i < p->axes.n; i++) {
        leaf index = vec_axis_leaf(p->axes.axis[i], p->axes.level[i]);
        if (!vec_points_array(v, n, p, &index, &p->index[p->axes.level[i]])) return false;
    }
    return true;
}

bool vec_dense_value(vec *v, const loom_node *n, const leaf *x, uint64_t mask, const op_axes *to,
                     loom_lvalue_id *value) {
    loom_lop op;
    op_axes from;
    if (!vec_read_all(v, n, x, mask, &op, &from)) return false;
    *value = vec_new_value(v, n, x->dtype, to);
    op.n_results = 1;
    op.results = value;
    op.dense = true;
    loom_lifted_op(v->l, op);
    return true;
}

bool vec_points_array(vec *v, const loom_node *n, const points *p, const leaf *x, leaf *array) {
    extent *own = LOOM_NEW(v->scratch, extent);
    *own = p->all;
    if (p->axes.n == 1) {
        *array = vec_unbind_level(v, x, p->axes.level[0], p->all);
        return true;
    }
    if (p->axes.n == 0) {
        *array = vec_replicate_leaf(v, x, p->all);
        return true;
    }
    loom_lvalue_id value;
    op_axes to = {.n = 1, .level = {v->depth}, .axis = {p->all.axis}};
    if (!vec_dense_value(v, n, x, p->mask, &to, &value)) return false;
    *array = vec_result_leaf(v, value, &to, 1, own);
    return true;
}

bool vec_points_scalar(vec *v, const loom_node *n, const points *p, const leaf *array, leaf *x) {
    if (p->axes.n == 1) {
        *x = vec_bind_level(v, array, p->axes.level[0]);
        return true;
    }
    loom_lvalue_id value;
    if (!vec_dense_value(v, n, array, 0, &p->axes, &value)) return false;
    *x = vec_result_leaf(v, value, &p->axes, 0, NULL);
    return true;
}

/* ---- inside ---- */

static bool level_index(vec *v, const loom_node *n, const points *all, uint32_t level, const val *from, leaf *index) {
    val whole = {1, &all->index[level]}, chosen;
    if (all->axes.n == 1) {
        *index = from->at[0];
        return true;
    }
    if (!vec_lift_choice(v, n, &whole, from, &chosen)) return false;
    *index = chosen.at[0];
    return true;
}

static void hide(vec *v, part *p, uint32_t level) {
    if (v->levels[level].hidden) return;
    v->levels[level].hidden = true;
    p->hidden |= UINT64_C(1) << level;
}

/* The rows of this level depend on points: those of the part have a level of their own. */
static bool move_level(vec *v, const loom_node *n, part *p, uint32_t level) {
    seen_extent e = {.before = vec_level_extent(v, level)};
    leaf *at, lengths = vec_extent_leaf(v, e.before);
    val before = vec_leaves_of(v, 1, &at), here;
    at[0] = lengths;
    if (!vec_part_see(v, n, p, &before, &here)) return false;
    e.here = vec_count_extent(v, &here.at[0]);
    LOOM_PUSH(v->scratch, p->extents, e);
    p->renamed[level] = v->depth;
    p->moved |= UINT64_C(1) << level;
    hide(v, p, level);
    return vec_push_level(v, n, e.here);
}

bool vec_part_enter(vec *v, const loom_node *n, const points *all, const val *from, part *p) {
    *p = (part){.mask = all->mask, .depth = v->depth, .mapped = v->mapped, .level = v->depth};
    leaf index[MAX_LEVELS];
    for (uint32_t i = 0; i < all->axes.n; i++) {
        if (!level_index(v, n, all, all->axes.level[i], from, &index[i])) return false;
    }
    if (!vec_push_level(v, n, from->at[0].own[0])) return false;
    v->mapped = 0;
    loom_axis *axis = &v->l->axes[v->levels[p->level].axis];
    axis->part = axis->kind == LOOM_AXIS_SCALAR;
    for (uint32_t i = 0; i < all->axes.n; i++) {
        uint32_t level = all->axes.level[i];
        p->index[level] = vec_bind_level(v, &index[i], p->level);
        hide(v, p, level);
    }
    for (uint32_t i = 0; i < p->depth; i++) {
        if ((p->mask >> i & 1) || !(vec_parent_mask(v, i) & (p->mask | p->moved))) continue;
        if (!move_level(v, n, p, i)) {
            vec_part_leave(v, p);
            return false;
        }
    }
    return true;
}

void vec_part_leave(vec *v, const part *p) {
    v->depth = p->depth;
    v->mapped = p->mapped;
    for (uint32_t i = 0; i < p->depth; i++) {
        if (p->hidden >> i & 1) v->levels[i].hidden = false;
    }
}

typedef struct sight {
    vec *v;
    const part *part;
    const leaf *x;
    loom_lexpr_id index[MAX_LEVELS];
    bool ok;
} sight;

static source seen_source(void *argument, uint32_t level) {
    sight *s = argument;
    uint64_t bit = UINT64_C(1) << level;
    if (s->part->moved & bit) return (source){FROM_LEVEL, IN_RANGE, s->part->renamed[level]};
    if (!(s->part->mask & bit)) return (source){FROM_LEVEL, IN_RANGE, level};
    if (s->index[level] == LOOM_NONE) s->ok = s->ok && vec_to_expr(s->v, &s->part->index[level], &s->index[level]);
    return (source){FROM_EXPR, IN_RANGE, s->index[level]};
}

static bool build_seen(vec *v, void *argument, val *result) {
    sight *s = argument;
    leaf *at;
    for (uint32_t i = 0; i < MAX_LEVELS; i++) s->index[i] = LOOM_NONE;
    *result = vec_leaves_of(v, 1, &at);
    at[0] = vec_with_levels(v, s->x, seen_source, s);
    return s->ok;
}

static void note_extents(vec *v, part *p, const extent *before, const extent *here, uint32_t n) {
    for (uint32_t k = 0; k < n; k++) {
        seen_extent e = {before[k], here[k]};
        if (vec_is_segmented(v, e.here)) LOOM_PUSH(v->scratch, p->extents, e);
    }
}

/* Over the level of the part, though it does not depend on it: where the part is empty there is nothing to see, and
 * nothing is made of it. */
static bool see_alone(vec *v, const loom_node *n, const part *p, const leaf *x, leaf *seen) {
    uint64_t mask = vec_level_mask(v, x) | UINT64_C(1) << p->level;
    loom_lvalue_id value;
    op_axes axes;
    if (!vec_value_axes(v, n, mask, x->n_own, x->own, &axes) || !vec_copy_value(v, n, x, mask, &value)) return false;
    *seen = vec_result_leaf(v, value, &axes, x->n_own, x->own);
    return true;
}

static bool see_leaf(vec *v, const loom_node *n, part *p, const leaf *x, leaf *seen) {
    *seen = *x;
    if (p->alone && x->kind == LEAF_VALUE) return see_alone(v, n, p, x, seen);
    if (x->kind == LEAF_BAD || !(vec_level_mask(v, x) & (p->mask | p->moved))) return true;
    if (x->kind == LEAF_AXIS && x->at.kind == FROM_LEVEL && x->dtype == LOOM_I64 && !x->n_own &&
        (p->mask >> x->at.at & 1)) {
        *seen = p->index[x->at.at];
        return true;
    }
    sight s = {.v = v, .part = p, .x = x, .ok = true};
    val made;
    if (!vec_emit_compute(v, n, build_seen, &s, &made)) return false;
    *seen = made.at[0];
    note_extents(v, p, x->own, seen->own, x->n_own);
    return true;
}

bool vec_part_see(vec *v, const loom_node *n, part *p, const val *x, val *seen) {
    leaf *at;
    val made = vec_leaves_of(v, x->n, &at);
    for (uint32_t i = 0; i < x->n; i++) {
        if (!see_leaf(v, n, p, &x->at[i], &at[i])) return false;
    }
    *seen = made;
    return true;
}

typedef struct sight_of_extents {
    sight sight;
    const extent *own;
    uint32_t n_own;
} sight_of_extents;

/* The element does not matter. */
static bool build_extents(vec *v, void *argument, val *result) {
    sight_of_extents *s = argument;
    leaf x = vec_int_leaf(0);
    x.n_own = s->n_own;
    x.own = s->own;
    s->sight.x = &x;
    return build_seen(v, &s->sight, result);
}

bool vec_part_extents(vec *v, const loom_node *n, part *p, const leaf *x, const extent **own) {
    sight_of_extents s = {.sight = {.v = v, .part = p, .ok = true}, .own = x->own, .n_own = x->n_own};
    if (!vec_emit_extents(v, n, build_extents, &s, own)) return false;
    note_extents(v, p, x->own, *own, x->n_own);
    return true;
}

/* ---- what bodies have from around ---- */

typedef LOOM_VEC(loom_node_id) node_ids;

static void add_outer(vec *v, const loom_body *b, loom_node_id id, node_ids *ids) {
    if (id < b->first || id >= b->end) LOOM_PUSH(v->scratch, *ids, id);
}

static int by_number(const void *a, const void *b) {
    loom_node_id x = *(const loom_node_id *)a, y = *(const loom_node_id *)b;
    return x < y ? -1 : x > y;
}

static void sort_once(node_ids *ids) {
    size_t n = 0;
    if (ids->count) qsort(ids->at, ids->count, sizeof *ids->at, by_number);
    for (size_t i = 0; i < ids->count; i++) {
        if (n == 0 || ids->at[n - 1] != ids->at[i]) ids->at[n++] = ids->at[i];
    }
    ids->count = n;
}

/* Bodies inside of it are part of it, their results too. One that stands elsewhere is another fold's (halves.c): what
 * it has from around counts as well, and nothing of it is from here. */
static void outer_ids(vec *v, const loom_body *b, node_ids *ids) {
    for (loom_node_id i = b->first + b->n_params; i < b->end; i++) {
        const loom_node *n = &v->p->nodes[i];
        for (uint32_t j = 0; j < n->n_operands; j++) add_outer(v, b, loom_operand(v->p, n, j), ids);
        for (uint32_t j = 0; j < n->n_bodies; j++) {
            const loom_body *inner = loom_node_body(v->p, n, j);
            bool inside = inner->first >= b->first && inner->end <= b->end;
            if (inside) add_outer(v, b, inner->result, ids);
            if (!inside) outer_ids(v, inner, ids);
        }
    }
    add_outer(v, b, b->result, ids);
}

frame *vec_outer_values(vec *v, const loom_body *b, frame *f) {
    node_ids ids = {0};
    outer_ids(v, b, &ids);
    sort_once(&ids);
    frame *made = LOOM_NEW(v->scratch, frame);
    *made = (frame){.n_nodes = (uint32_t)ids.count, .nodes = ids.at};
    made->vals = LOOM_NEW_ARRAY(v->scratch, val, ids.count + 1);
    for (uint32_t i = 0; i < made->n_nodes; i++) made->vals[i] = *vec_slot(f, ids.at[i]);
    return made;
}

bool vec_part_frame(vec *v, const loom_node *n, part *p, const frame *outer, frame **inside) {
    frame *made = LOOM_NEW(v->scratch, frame);
    *made = *outer;
    made->vals = LOOM_NEW_ARRAY(v->scratch, val, (size_t)outer->n_nodes + 1);
    for (uint32_t i = 0; i < made->n_nodes; i++) {
        if (!vec_part_see(v, n, p, &outer->vals[i], &made->vals[i])) return false;
    }
    *inside = made;
    return true;
}

/* ---- and back ---- */

typedef struct way_back {
    const part *part;
    loom_lexpr_id place;
    source_range range;
} way_back;

static source outer_source(void *argument, uint32_t level) {
    const way_back *w = argument;
    const part *p = w->part;
    if (level == p->level) return (source){FROM_EXPR, (uint8_t)w->range, w->place};
    for (uint32_t i = 0; i < p->depth; i++) {
        if ((p->moved >> i & 1) && p->renamed[i] == level) return (source){FROM_LEVEL, IN_RANGE, i};
    }
    return (source){FROM_LEVEL, IN_RANGE, level};
}

leaf vec_part_leaf(vec *v, const part *p, const leaf *x, loom_lexpr_id place, source_range range) {
    way_back w = {p, place, range};
    return vec_with_levels(v, x, outer_source, &w);
}

extent vec_part_extent(const vec *v, const part *p, extent e) {
    extent unknown = {.axis = LOOM_NONE, .expr = LOOM_NONE};
    if (!vec_is_settled(v, e)) return unknown;
    for (size_t i = 0; i < p->extents.count; i++) {
        const seen_extent *s = &p->extents.at[i];
        if (s->here.axis == e.axis && vec_same_rows(v, s->here, e)) return s->before;
    }
    for (uint32_t i = 0; i < vec_n_sources(v, e); i++) {
        if (e.sources[i].kind == FROM_LEVEL && e.sources[i].at >= p->depth) return unknown;
    }
    return e;
}
