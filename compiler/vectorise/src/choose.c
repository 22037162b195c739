/* Elements that a flag chooses: where they go, and from where they come.
 *
 *     place, count = exclusive sums of the flags and their total;  from[place[i]] = i where the flag is as wanted
 * Places of the elements that are not chosen follow: i - place[i].
 */
#include "vec.h"

typedef struct choosing {
    const loom_node *node;
    leaf flag, place; /* own axis: `length` */
    extent length;
    bool which;
} choosing;

static bool at_element(vec *v, const leaf *x, loom_lexpr_id *e) {
    leaf y = vec_bind_level(v, x, v->depth - 1);
    return vec_to_expr(v, &y, e);
}

static bool selected(vec *v, loom_lexpr_id args[3], val *result) {
    *result = vec_one(v, vec_x_prim(v, LOOM_PRIM_SELECT, LOOM_I64, args, LOOM_NONE));
    return true;
}

static bool build_number(vec *v, void *argument, val *result) {
    const choosing *c = argument;
    loom_lexpr_id args[3];
    if (!at_element(v, &c->flag, &args[0])) return false;
    args[1] = vec_x_int(v, 1);
    args[2] = vec_x_int(v, 0);
    return selected(v, args, result);
}

/* Where the element goes: its place, or nowhere. */
static bool build_target(vec *v, void *argument, val *result) {
    const choosing *c = argument;
    loom_lexpr_id args[3], place;
    if (!at_element(v, &c->flag, &args[0]) || !at_element(v, &c->place, &place)) return false;
    args[1] = c->which ? place : vec_x_int(v, -1);
    args[2] = c->which ? vec_x_int(v, -1) : vec_x_prim2(v, LOOM_PRIM_SUB, vec_x_axis(v, v->depth - 1), place);
    return selected(v, args, result);
}

/* Made under the level of the elements. */
static bool under_length(vec *v, choosing *c, builder build, val *result) {
    uint32_t level = v->depth;
    leaf *at;
    val made;
    bool ok = vec_push_level(v, c->node, c->length) && vec_emit_compute(v, c->node, build, c, &made);
    v->depth = level;
    if (!ok) return false;
    *result = vec_leaves_of(v, made.n, &at);
    for (uint32_t i = 0; i < made.n; i++) at[i] = vec_unbind_level(v, &made.at[i], level, c->length);
    return true;
}

bool vec_lift_places(vec *v, const loom_node *n, const leaf *flag, extent length, leaf *place, leaf *count) {
    choosing c = {.node = n, .flag = *flag, .length = length};
    val numbers;
    return under_length(v, &c, build_number, &numbers) && vec_lift_sums(v, n, &numbers, length, place, count);
}

bool vec_lift_chosen(vec *v, const loom_node *n, const leaf *flag, const leaf *place, bool which, extent length,
                     extent count, val *from) {
    choosing c = {.node = n, .flag = *flag, .place = *place, .length = length, .which = which};
    val targets;
    return under_length(v, &c, build_target, &targets) && vec_lift_compaction(v, n, &targets, length, count, from);
}
