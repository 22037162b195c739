/* filter: which elements stay is found first, then each leaf is gathered once.
 *
 *     filter p xs  ->  flags = p xs (under the map over xs);  places, count = exclusive sums of the flags and their
 * total; the result's axis is count, segmented where it depends on rows around; from[places[i]] = i where flags[i];
 * result = gather xs from
 */
#include "vec.h"

typedef struct sieve {
    const loom_node *node;
    val array;
    extent length; /* of the array */
    leaf flag;     /* bool, own axis: the array's */
    leaf place, count;
} sieve;

static bool find_flags(vec *v, frame *f, sieve *s) {
    uint32_t level = v->depth;
    leaf *at;
    val args = vec_leaves_of(v, s->array.n, &at), flag;
    if (!vec_push_level(v, s->node, s->length)) return false;
    for (uint32_t k = 0; k < s->array.n; k++) at[k] = vec_bind_level(v, &s->array.at[k], level);
    bool ok = vec_lift_body(v, loom_node_body(v->p, s->node, 0), &args, f, &flag);
    v->depth = level;
    if (ok) s->flag = vec_unbind_level(v, &flag.at[0], level, s->length);
    return ok;
}

static bool build_number(vec *v, void *argument, val *result) {
    const sieve *s = argument;
    loom_lexpr_id e, args[3];
    leaf flag = s->flag, *at;
    flag = vec_bind_level(v, &flag, v->depth - 1);
    if (!vec_to_expr(v, &flag, &e)) return false;
    args[0] = e;
    args[1] = vec_x_int(v, 1);
    args[2] = vec_x_int(v, 0);
    *result = vec_leaves_of(v, 1, &at);
    at[0] = vec_expr_leaf(v, vec_x_prim(v, LOOM_PRIM_SELECT, LOOM_I64, args, LOOM_NONE));
    return true;
}

/* Made under the level of the array's elements. */
static bool under_length(vec *v, sieve *s, builder build, val *result) {
    uint32_t level = v->depth;
    leaf *at;
    val made;
    bool ok = vec_push_level(v, s->node, s->length) && vec_emit_compute(v, s->node, build, s, &made);
    v->depth = level;
    if (!ok) return false;
    *result = vec_leaves_of(v, made.n, &at);
    for (uint32_t i = 0; i < made.n; i++) at[i] = vec_unbind_level(v, &made.at[i], level, s->length);
    return true;
}

/* Where the element goes: its place, or nowhere. */
static bool build_target(vec *v, void *argument, val *result) {
    const sieve *s = argument;
    loom_lexpr_id args[3];
    leaf *at, flag = vec_bind_level(v, &s->flag, v->depth - 1), place = vec_bind_level(v, &s->place, v->depth - 1);
    if (!vec_to_expr(v, &flag, &args[0]) || !vec_to_expr(v, &place, &args[1])) return false;
    args[2] = vec_x_int(v, -1);
    *result = vec_leaves_of(v, 1, &at);
    at[0] = vec_expr_leaf(v, vec_x_prim(v, LOOM_PRIM_SELECT, LOOM_I64, args, LOOM_NONE));
    return true;
}

bool vec_lift_filter(vec *v, frame *f, loom_node_id id, val *result) {
    sieve s = {.node = &v->p->nodes[id]};
    val numbers, targets, from;
    if (!vec_operand(v, f, s.node, 0, &s.array)) return false;
    if (!vec_common_length(v, s.node, &s.array, 1, &s.length) || !find_flags(v, f, &s)) return false;
    if (!under_length(v, &s, build_number, &numbers)) return false;
    if (!vec_lift_sums(v, s.node, &numbers, s.length, &s.place, &s.count)) return false;
    if (!under_length(v, &s, build_target, &targets)) return false;
    if (!vec_lift_compaction(v, s.node, &targets, s.length, vec_count_extent(v, &s.count), &from)) return false;
    return vec_lift_choice(v, s.node, &s.array, &from, result);
}
