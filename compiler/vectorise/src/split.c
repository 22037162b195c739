/* Conditionals that differ between elements, with branches that need memory of their own.
 *
 *     map (\xs -> if c xs then filter f xs else map g xs) xss
 *     ->  flags = map c xss; the numbers of the rows where it holds, and of the others;
 *         the rows of each (part.c), filter under the first level, map under the other one;
 *         result[i] = if flags[i] then filtered[place[i]] else mapped[i - place[i]]
 * place: how many flags before are true. The last step is one operation, which looks at one of the two only; where both
 * give arrays that are not known to be of one shape, the lengths are found by the same rule first. A branch without
 * array operations is evaluated in that operation, and not split. A condition that is the same for all, whose branches
 * give arrays of different shapes, is one of a single element.
 */
#include "vec.h"

typedef struct side {
    const loom_body *body;
    bool split;
    part part;
    leaf place; /* of each point of the context in the part */
    val result; /* inside of it */
} side;

typedef struct split {
    const loom_node *node;
    frame *frame;
    leaf condition;
    side sides[2];
} split;

/* Places of the points that the flags do not choose. */
static bool other_places(vec *v, const loom_node *n, extent all, const leaf *place, leaf *other) {
    uint32_t level = v->depth;
    leaf made;
    bool ok = vec_push_level(v, n, all);
    if (ok) {
        leaf here = vec_bind_level(v, place, level), index = vec_axis_leaf(v->levels[level].axis, level);
        ok = vec_scalar_prim(v, n, LOOM_PRIM_SUB, &index, &here, &made);
    }
    v->depth = level;
    if (ok) *other = vec_unbind_level(v, &made, level, all);
    return ok;
}

/* What the branch gives, over the points that take it. */
static bool lift_side(vec *v, split *s, const points *all, const leaf *flags, const leaf *place, bool which,
                      const leaf *count) {
    side *x = &s->sides[which ? 0 : 1];
    val from;
    frame *inside;
    if (!vec_lift_chosen(v, s->node, flags, place, which, all->all, vec_count_extent(v, count), &from)) return false;
    if (!vec_part_enter(v, s->node, all, &from, &x->part)) return false;
    x->part.alone = all->axes.n == 0;
    bool ok = vec_part_frame(v, s->node, &x->part, vec_outer_values(v, x->body, s->frame), &inside) &&
              vec_lift_body(v, x->body, NULL, inside, &x->result);
    vec_part_leave(v, &x->part);
    for (uint32_t i = 0; ok && i < x->result.n; i++) {
        if (x->result.at[i].kind == LEAF_BAD) ok = vec_refuse(v, s->node, "%s", x->result.at[i].why);
    }
    return ok;
}

static bool lift_sides(vec *v, split *s) {
    points all;
    leaf flags, place, count, other;
    if (!vec_all_points(v, s->node, vec_level_mask(v, &s->condition), &all)) return false;
    if (!vec_points_array(v, s->node, &all, &s->condition, &flags)) return false;
    if (!vec_lift_places(v, s->node, &flags, all.all, &place, &count)) return false;
    if (s->sides[0].split) {
        if (!vec_points_scalar(v, s->node, &all, &place, &s->sides[0].place)) return false;
        if (!lift_side(v, s, &all, &flags, &place, true, &count)) return false;
    }
    if (s->sides[1].split) {
        leaf size = vec_extent_leaf(v, all.all), rest;
        if (!vec_scalar_prim(v, s->node, LOOM_PRIM_SUB, &size, &count, &rest)) return false;
        if (!other_places(v, s->node, all.all, &place, &other)) return false;
        if (!vec_points_scalar(v, s->node, &all, &other, &s->sides[1].place)) return false;
        if (!lift_side(v, s, &all, &flags, &place, false, &rest)) return false;
    }
    return true;
}

/* ---- put together ---- */

/* The branch's leaves at the point, and their extents as far as the context has them. */
static bool outside(vec *v, split *s, uint32_t which, thunk *t, val *shape) {
    side *x = &s->sides[which];
    loom_lexpr_id place;
    leaf *at, *like;
    if (!x->split) {
        *t = (thunk){.body = x->body, .frame = s->frame};
        return vec_probe_body(v, x->body, s->frame, shape);
    }
    if (!vec_to_expr(v, &x->place, &place)) return false;
    *t = (thunk){.base = vec_leaves_of(v, x->result.n, &at)};
    *shape = vec_leaves_of(v, x->result.n, &like);
    for (uint32_t i = 0; i < x->result.n; i++) {
        const leaf *y = &x->result.at[i];
        extent *own = LOOM_NEW_ARRAY(v->scratch, extent, (size_t)y->n_own + 1);
        at[i] = vec_part_leaf(v, &x->part, y, place, IN_RANGE_HERE);
        for (uint32_t k = 0; k < y->n_own; k++) own[k] = vec_part_extent(v, &x->part, y->own[k]);
        like[i] = (leaf){.kind = LEAF_PULL, .dtype = y->dtype, .n_own = y->n_own, .own = own, .site = LOOM_NONE};
    }
    return true;
}

static leaf common_leaf(vec *v, const leaf *a, const leaf *b) {
    leaf like = {.kind = LEAF_PULL, .dtype = a->dtype, .n_own = a->n_own, .site = LOOM_NONE};
    extent *own = LOOM_NEW_ARRAY(v->scratch, extent, (size_t)a->n_own + 1);
    for (uint32_t k = 0; k < a->n_own; k++) {
        bool same = vec_is_settled(v, a->own[k]) && vec_same_extent(v, a->own[k], b->own[k]);
        own[k] = same ? a->own[k] : (extent){.axis = LOOM_NONE, .expr = LOOM_NONE};
    }
    like.own = own;
    return like;
}

static bool build_either(vec *v, void *argument, val *result) {
    split *s = argument;
    loom_lexpr_id condition;
    thunk t[2];
    val shape[2], like;
    leaf *common;
    if (!vec_to_expr(v, &s->condition, &condition)) return false;
    for (uint32_t i = 0; i < 2; i++) {
        if (!outside(v, s, i, &t[i], &shape[i])) return false;
    }
    like = vec_leaves_of(v, shape[0].n, &common);
    for (uint32_t i = 0; i < like.n; i++) common[i] = common_leaf(v, &shape[0].at[i], &shape[1].at[i]);
    return vec_either(v, s->node, condition, &t[0], &t[1], &like, result);
}

static bool split_sides(vec *v, frame *f, const loom_node *n, const leaf *condition, bool first, bool second,
                        val *result) {
    split s = {.node = n, .frame = f, .condition = *condition};
    s.sides[0] = (side){.body = loom_node_body(v->p, n, 0), .split = first};
    s.sides[1] = (side){.body = loom_node_body(v->p, n, 1), .split = second};
    return lift_sides(v, &s) && vec_emit_compute(v, n, build_either, &s, result);
}

bool vec_split_if(vec *v, frame *f, const loom_node *n, const leaf *condition, val *result) {
    bool heavy[2], mixed = false;
    const leaf_type *types = vec_leaf_types(v, n->type);
    for (uint32_t i = 0; i < 2; i++) heavy[i] = vec_has_arrays(v, loom_node_body(v->p, n, i));
    for (uint32_t i = 1; i < vec_leaf_count(v, n->type); i++) mixed = mixed || types[i].depth != types[0].depth;
    mark m = vec_mark_here(v);
    if (!mixed && heavy[0] != heavy[1]) {
        if (split_sides(v, f, n, condition, heavy[0], heavy[1], result)) return true;
        vec_roll_back(v, m);
    }
    return split_sides(v, f, n, condition, true, true, result);
}
