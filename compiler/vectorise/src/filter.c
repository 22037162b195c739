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

bool vec_lift_filter(vec *v, frame *f, loom_node_id id, val *result) {
    sieve s = {.node = &v->p->nodes[id]};
    val from;
    leaf place, count;
    if (!vec_operand(v, f, s.node, 0, &s.array)) return false;
    if (!vec_common_length(v, s.node, &s.array, 1, &s.length) || !find_flags(v, f, &s)) return false;
    if (!vec_lift_places(v, s.node, &s.flag, s.length, &place, &count)) return false;
    if (!vec_lift_chosen(v, s.node, &s.flag, &place, true, s.length, vec_count_extent(v, &count), &from)) return false;
    return vec_lift_choice(v, s.node, &s.array, &from, result);
}
