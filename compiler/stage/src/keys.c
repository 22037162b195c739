/* Keys of groups: as sets, in order, and as places. */
#include "group.h"

bool group_keys_ascend(const loom_scope *s, loom_body_id keys) {
    const loom_program *p = s->program;
    const loom_node *n = &p->nodes[p->bodies[keys].result];
    if (n->op != LOOM_OP_GENERATE || n->n_operands != 1) return false;
    const loom_body *b = loom_node_body(p, n, 0);
    const loom_node *r = &p->nodes[b->result];
    if (r->op != LOOM_OP_PRIM || r->prim != LOOM_PRIM_ADD) return false;
    loom_node_id x = loom_operand(p, r, 0), y = loom_operand(p, r, 1);
    return (x == b->first && y < b->first) || (y == b->first && x < b->first);
}

/* keys with repeats replaced by -1: imap (\j k -> if any earlier equals k then -1 else k). */
loom_node_id group_without_repeats(normaliser *z, loom_node_id keys, loom_span span) {
    loom_program *p = z->to;
    loom_type_id i64 = loom_type_scalar(p, LOOM_I64), boolean = loom_type_scalar(p, LOOM_BOOL);
    loom_type_id array = loom_type_array(p, i64);
    loom_node_id m = normalise_build(p, LOOM_OP_LENGTH, i64, &keys, 1, NULL, 0, 0, span);
    loom_body_id body = loom_build_open(p, 1, &i64, span);
    loom_node_id j = loom_build_param(p, body, 0), at[2] = {keys, j};
    loom_node_id k = normalise_build(p, LOOM_OP_INDEX, i64, at, 2, NULL, 0, 0, span);
    loom_node_id start = loom_build_const(p, LOOM_BOOL, (loom_scalar){.b = false}, span);
    loom_type_id types[2] = {i64, boolean};
    loom_body_id turn = loom_build_open(p, 2, types, span);
    loom_node_id earlier_at[2] = {keys, loom_build_param(p, turn, 0)};
    loom_node_id earlier = normalise_build(p, LOOM_OP_INDEX, i64, earlier_at, 2, NULL, 0, 0, span);
    loom_node_id same_operands[2] = {earlier, k};
    loom_node_id same = loom_build_node(p, LOOM_OP_PRIM, LOOM_PRIM_EQ, boolean, same_operands, 2, NULL, 0, 0, span);
    loom_node_id or_operands[2] = {loom_build_param(p, turn, 1), same};
    loom_node_id either = loom_build_node(p, LOOM_OP_PRIM, LOOM_PRIM_OR, boolean, or_operands, 2, NULL, 0, 0, span);
    loom_build_close(p, turn, either);
    loom_node_id loop_operands[2] = {j, start};
    loom_node_id repeated = normalise_build(p, LOOM_OP_LOOP_FOR, boolean, loop_operands, 2, &turn, 1, 0, span);
    loom_node_id select[3] = {repeated, loom_build_i64(p, -1, span), k};
    loom_node_id kept = loom_build_node(p, LOOM_OP_PRIM, LOOM_PRIM_SELECT, i64, select, 3, NULL, 0, 0, span);
    loom_build_close(p, body, kept);
    return normalise_build(p, LOOM_OP_GENERATE, array, &m, 1, &body, 1, 0, span);
}

/* How many of the keys are less than k, and not -1. */
static loom_node_id rank(normaliser *z, loom_node_id keys, loom_node_id k, loom_span span) {
    loom_program *p = z->to;
    loom_type_id i64 = loom_type_scalar(p, LOOM_I64), boolean = loom_type_scalar(p, LOOM_BOOL);
    loom_node_id zero = loom_build_i64(p, 0, span), one = loom_build_i64(p, 1, span);
    loom_body_id each = loom_build_open(p, 1, &i64, span);
    loom_node_id other = loom_build_param(p, each, 0), below = normalise_prim(p, LOOM_PRIM_LT, other, k, span);
    loom_node_id minus = normalise_prim(p, LOOM_PRIM_LT, other, zero, span);
    loom_node_id valid = loom_build_node(p, LOOM_OP_PRIM, LOOM_PRIM_NOT, boolean, &minus, 1, NULL, 0, 0, span);
    loom_node_id both[2] = {below, valid};
    loom_node_id counts = loom_build_node(p, LOOM_OP_PRIM, LOOM_PRIM_AND, boolean, both, 2, NULL, 0, 0, span);
    loom_node_id select[3] = {counts, one, zero};
    loom_build_close(p, each, loom_build_node(p, LOOM_OP_PRIM, LOOM_PRIM_SELECT, i64, select, 3, NULL, 0, 0, span));
    loom_node_id ones = normalise_build(p, LOOM_OP_MAP, loom_type_array(p, i64), &keys, 1, &each, 1, 0, span);
    loom_type_id pair[2] = {i64, i64};
    loom_body_id add = loom_build_open(p, 2, pair, span);
    loom_build_close(p, add,
                     normalise_prim(p, LOOM_PRIM_ADD, loom_build_param(p, add, 0), loom_build_param(p, add, 1), span));
    loom_node_id operands[2] = {zero, ones};
    return normalise_build(p, LOOM_OP_FOLD, i64, operands, 2, &add, 1, 0, span);
}

loom_node_id group_sorted_keys(normaliser *z, loom_node_id keys, loom_span span) {
    loom_program *p = z->to;
    loom_type_id i64 = loom_type_scalar(p, LOOM_I64), ints = loom_type_array(p, i64);
    loom_node_id minus = loom_build_i64(p, -1, span), zero = loom_build_i64(p, 0, span);
    loom_body_id each = loom_build_open(p, 1, &i64, span);
    loom_node_id k = loom_build_param(p, each, 0), none = normalise_prim(p, LOOM_PRIM_LT, k, zero, span);
    loom_node_id select[3] = {none, minus, rank(z, keys, k, span)};
    loom_build_close(p, each, loom_build_node(p, LOOM_OP_PRIM, LOOM_PRIM_SELECT, i64, select, 3, NULL, 0, 0, span));
    loom_node_id ranks = normalise_build(p, LOOM_OP_MAP, ints, &keys, 1, &each, 1, 0, span);
    loom_node_id fill[2] = {normalise_build(p, LOOM_OP_LENGTH, i64, &keys, 1, NULL, 0, 0, span), minus};
    loom_node_id operands[3] = {normalise_build(p, LOOM_OP_REPLICATE, ints, fill, 2, NULL, 0, 0, span), ranks, keys};
    return normalise_build(p, LOOM_OP_SCATTER, ints, operands, 3, NULL, 0, 1, span);
}

loom_node_id group_place(normaliser *z, const group *g, loom_node_id k, loom_span span) {
    return g->first == LOOM_NONE ? k : normalise_prim(z->to, LOOM_PRIM_SUB, k, g->first, span);
}

loom_node_id group_at(normaliser *z, const group *g, loom_node_id j, loom_span span) {
    return g->first == LOOM_NONE ? j : normalise_prim(z->to, LOOM_PRIM_ADD, g->first, j, span);
}

loom_node_id group_is_resident(normaliser *z, const group *g, loom_node_id place, loom_span span) {
    loom_program *p = z->to;
    loom_type_id boolean = loom_type_scalar(p, LOOM_BOOL);
    loom_node_id minus = normalise_prim(p, LOOM_PRIM_LT, place, loom_build_i64(p, 0, span), span);
    loom_node_id both[2] = {loom_build_node(p, LOOM_OP_PRIM, LOOM_PRIM_NOT, boolean, &minus, 1, NULL, 0, 0, span),
                            normalise_prim(p, LOOM_PRIM_LT, place, g->n, span)};
    return loom_build_node(p, LOOM_OP_PRIM, LOOM_PRIM_AND, boolean, both, 2, NULL, 0, 0, span);
}
