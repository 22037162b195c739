/* The stream of a group_seq that goes by batches, partitioned by batch.
 *
 *   before the loop:   t = spill saves (map_seq (\e -> map (batch of k) (keys e)) s)
 *   in a turn:         the groups are made of   spilled s t (number of the turn)   instead of s
 *
 * Each turn looks at all elements of s otherwise. With b batches, and each element in d of them on average, that is b
 * traversals, against one to find the batches, the elements written d times, and d times as many read and looked at as
 * the stream has. What writing costs, and d, shows when that is done, and the coordinator gives up where it is too much
 * (graph.h, "SPILLS"). `saves` is b - 1, or 0 where that is not worth one more stage.
 */
#include "group.h"

/* Elements of a sequence that is made of streams of the program's own element by element can be told apart by where
 * they stand in these; not those of arrays, and nobody may ask for their numbers, which are lost. */
bool normalise_can_spill(const normaliser *z, loom_node_id group) {
    const loom_program *p = z->from;
    const loom_body *entry = &p->bodies[p->functions[0].body];
    bool *asked = LOOM_NEW_ARRAY(z->arena, bool, group + 1);
    asked[loom_operand(p, &p->nodes[group], 1)] = true;
    for (loom_node_id n = group; n-- > 0;) {
        if (!asked[n]) continue;
        const loom_node *node = &p->nodes[n];
        if (node->op == LOOM_OP_PARAM && n < entry->first + entry->n_params) continue;
        if (node->op != LOOM_OP_SEQ_MAP && node->op != LOOM_OP_SEQ_FILTER) return false;
        for (uint32_t i = 0; i < node->n_operands; i++) asked[loom_operand(p, node, i)] = true;
    }
    return true;
}

/* More batches are not told apart: what a worker hands over lists those that are in it, in a message. */
#define MOST_BATCHES 10000
/* Traversals: an element is read again once for each batch that it is for, one mostly, and has to be written. */
#define LEAST_SAVED 1.5

static loom_node_id traversals_saved(const normaliser *z, loom_node_id batches, loom_span span) {
    loom_program *p = z->to;
    loom_type_id f64 = loom_type_scalar(p, LOOM_F64), boolean = loom_type_scalar(p, LOOM_BOOL);
    double least = TRAVERSAL_BYTES / (double)z->traversal;
    if (least < LEAST_SAVED) least = LEAST_SAVED;
    loom_node_id pair[2] = {normalise_build(p, LOOM_OP_CONVERT, f64, &batches, 1, NULL, 0, 0, span),
                            loom_build_const(p, LOOM_F64, (loom_scalar){.f = 1}, span)};
    loom_node_id saved = loom_build_node(p, LOOM_OP_PRIM, LOOM_PRIM_SUB, f64, pair, 2, NULL, 0, 0, span);
    loom_node_id enough[2] = {loom_build_const(p, LOOM_F64, (loom_scalar){.f = least}, span), saved};
    loom_node_id both[2] = {normalise_prim(p, LOOM_PRIM_LT, batches, loom_build_i64(p, MOST_BATCHES, span), span),
                            loom_build_node(p, LOOM_OP_PRIM, LOOM_PRIM_LT, boolean, enough, 2, NULL, 0, 0, span)};
    loom_node_id select[3] = {loom_build_node(p, LOOM_OP_PRIM, LOOM_PRIM_AND, boolean, both, 2, NULL, 0, 0, span),
                              saved, loom_build_const(p, LOOM_F64, (loom_scalar){.f = 0}, span)};
    return loom_build_node(p, LOOM_OP_PRIM, LOOM_PRIM_SELECT, f64, select, 3, NULL, 0, 0, span);
}

/* Of group k, -1 where it is none of the n. */
static loom_node_id batch_of(loom_program *p, loom_node_id k, loom_node_id n, loom_node_id size, loom_span span) {
    loom_node_id minus = loom_build_i64(p, -1, span);
    loom_node_id both[2] = {normalise_prim(p, LOOM_PRIM_LT, minus, k, span),
                            normalise_prim(p, LOOM_PRIM_LT, k, n, span)};
    loom_node_id select[3] = {0, normalise_prim(p, LOOM_PRIM_FLOORDIV, k, size, span), minus};
    select[0] =
        loom_build_node(p, LOOM_OP_PRIM, LOOM_PRIM_AND, loom_type_scalar(p, LOOM_BOOL), both, 2, NULL, 0, 0, span);
    return loom_build_node(p, LOOM_OP_PRIM, LOOM_PRIM_SELECT, loom_type_scalar(p, LOOM_I64), select, 3, NULL, 0, 0,
                           span);
}

loom_node_id normalise_spill(normaliser *z, const loom_node *group, loom_node_id n, loom_node_id size) {
    const loom_program *from = z->from;
    loom_program *p = z->to;
    loom_span span = group->span;
    loom_node_id source = z->map[loom_operand(from, group, 1)];
    loom_type_id i64 = loom_type_scalar(p, LOOM_I64), list = loom_type_array(p, i64);
    loom_type_id element = p->types[p->nodes[source].type].element;
    size = normalise_prim(p, LOOM_PRIM_MAX, size, loom_build_i64(p, 1, span), span);
    loom_node_id batches = normalise_ceil_div(p, n, size, span);
    loom_body_id of_element = loom_build_open(p, 1, &element, span);
    loom_node_id e = loom_build_param(p, of_element, 0);
    loom_node_id keys = loom_copy_body(p, from, from->body_refs[group->first_body], &e, z->map);
    loom_body_id of_key = loom_build_open(p, 1, &i64, span);
    loom_build_close(p, of_key, batch_of(p, loom_build_param(p, of_key, 0), n, size, span));
    loom_build_close(p, of_element, normalise_build(p, LOOM_OP_MAP, list, &keys, 1, &of_key, 1, 0, span));
    loom_node_id operands[2] = {
        traversals_saved(z, batches, span),
        normalise_build(p, LOOM_OP_SEQ_MAP, loom_type_seq(p, list), &source, 1, &of_element, 1, 0, span)};
    return normalise_build(p, LOOM_OP_SEQ_SPILL, loom_type_array(p, list), operands, 2, NULL, 0, 0, span);
}

loom_node_id normalise_spilled(const normaliser *z, const loom_node *group, loom_node_id spill, loom_node_id batch) {
    loom_node_id source = z->map[loom_operand(z->from, group, 1)];
    loom_node_id operands[3] = {source, spill, batch};
    return normalise_build(z->to, LOOM_OP_SEQ_SPILLED, z->to->nodes[source].type, operands, 3, NULL, 0, 0, group->span);
}
