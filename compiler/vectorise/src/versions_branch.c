/* A conditional with calls in its branches, taken out of the map around; rules in versions.c. */
#include "compiler/ir/prim.h"
#include "versions_impl.h"

/* ---- conditionals ---- */

/* The numbers of the elements whose flag is `wanted`. */
static loom_node_id places_where(splitting *s, loom_node_id flags, bool wanted) {
    chooser *c = s->c;
    loom_type_id number = versions_i64(c), flag = loom_type_scalar(c->to, LOOM_BOOL);
    loom_type_id types[2] = {number, flag}, numbers = loom_type_array(c->to, number);
    loom_type_id columns[2] = {numbers, loom_type_array(c->to, flag)}, pair = loom_type_tuple(c->to, 2, types, NULL);
    loom_node_id parts[2] = {versions_make1(c, LOOM_OP_IOTA, numbers, s->length, 0, s->span), flags};
    loom_node_id all = versions_make(c, LOOM_OP_ZIP, loom_type_array(c->to, pair), parts, 2, NULL, 0, 0, s->span);
    loom_body_id test = loom_build_open(c->to, 1, &pair, s->span);
    loom_node_id is = versions_make1(c, LOOM_OP_PROJECT, flag, loom_build_param(c->to, test, 0), 1, s->span);
    if (!wanted) is = loom_build_node(c->to, LOOM_OP_PRIM, LOOM_PRIM_NOT, flag, &is, 1, NULL, 0, 0, s->span);
    loom_build_close(c->to, test, is);
    all = versions_make(c, LOOM_OP_FILTER, loom_type_array(c->to, pair), &all, 1, &test, 1, 0, s->span);
    all = versions_make1(c, LOOM_OP_UNZIP, loom_type_tuple(c->to, 2, columns, NULL), all, 0, s->span);
    return versions_make1(c, LOOM_OP_PROJECT, numbers, all, 0, s->span);
}

typedef struct branch {
    splitting *s;
    loom_node_id place;
    bool *seen; /* by node of the range */
} branch;

/* What a branch has of the element: a row of what all have. */
static void read_own(void *to, loom_node_id id) {
    branch *b = to;
    splitting *s = b->s;
    chooser *c = s->c;
    if (b->seen[id - s->first]) return;
    b->seen[id - s->first] = true;
    const loom_node *n = &c->from->nodes[id];
    if (n->op == LOOM_OP_CONST) {
        c->map[id] = versions_emit_node(c, id);
        return;
    }
    loom_node_id array = n->op == LOOM_OP_PARAM ? s->arrays[id - s->first] : s->given[s->field_of[id - s->first] - 1];
    loom_node_id operands[2] = {array, b->place};
    c->map[id] = versions_make(c, LOOM_OP_INDEX, versions_copied_type(c, id), operands, 2, NULL, 0, 0, s->span);
}

/* A branch for the elements at these places. */
static loom_node_id one_branch(splitting *s, loom_node_id id, uint32_t which, loom_node_id places) {
    chooser *c = s->c;
    const loom_node *n = &c->from->nodes[id];
    loom_type_id number = versions_i64(c);
    loom_body_id open = loom_build_open(c->to, 1, &number, n->span);
    branch b = {s, loom_build_param(c->to, open, 0), NULL};
    b.seen = LOOM_NEW_ARRAY(c->arena, bool, (size_t)(c->from->bodies[s->body].end - s->first) + 1);
    versions_for_uses(c, id, s->body, read_own, &b);
    loom_build_close(c->to, open, versions_inlined(c, c->from->body_refs[n->first_body + which], NULL));
    return versions_make(c, LOOM_OP_MAP, loom_type_array(c->to, versions_copied_type(c, id)), &places, 1, &open, 1, 0,
                         n->span);
}

/* As many of the flags before each element are set, as numbers. */
static loom_node_id set_before(splitting *s, loom_node_id flags) {
    chooser *c = s->c;
    loom_type_id number = versions_i64(c), numbers = loom_type_array(c->to, number);
    loom_type_id flag = loom_type_scalar(c->to, LOOM_BOOL), two[2] = {number, number};
    loom_body_id convert = loom_build_open(c->to, 1, &flag, s->span);
    loom_node_id x = loom_build_param(c->to, convert, 0);
    loom_node_id of[3] = {x, loom_build_i64(c->to, 1, s->span), loom_build_i64(c->to, 0, s->span)};
    loom_build_close(c->to, convert,
                     loom_build_node(c->to, LOOM_OP_PRIM, LOOM_PRIM_SELECT, number, of, 3, NULL, 0, 0, s->span));
    loom_node_id ones = versions_make(c, LOOM_OP_MAP, numbers, &flags, 1, &convert, 1, 0, s->span);
    loom_node_id operands[2] = {loom_build_i64(c->to, 0, s->span), ones};
    loom_body_id add = loom_build_open(c->to, 2, two, s->span);
    loom_node_id ab[2] = {loom_build_param(c->to, add, 0), loom_build_param(c->to, add, 1)};
    loom_build_close(c->to, add,
                     loom_build_node(c->to, LOOM_OP_PRIM, LOOM_PRIM_ADD, number, ab, 2, NULL, 0, 0, s->span));
    return versions_make(c, LOOM_OP_SCAN, numbers, operands, 2, &add, 1, LOOM_SCAN_EXCLUSIVE, s->span);
}

/* The results of a conditional for all elements: each from where its branch has it. */
loom_node_id versions_by_branches(splitting *s, loom_node_id id) {
    chooser *c = s->c;
    const loom_node *n = &c->from->nodes[id];
    loom_node_id flags = versions_all_of(s, loom_operand(c->from, n, 0)), made[2];
    for (uint32_t which = 0; which < 2; which++) made[which] = one_branch(s, id, which, places_where(s, flags, !which));
    loom_type_id number = versions_i64(c), types[3] = {loom_type_scalar(c->to, LOOM_BOOL), number, number};
    loom_node_id arrays[3] = {flags, set_before(s, flags), LOOM_NONE};
    arrays[2] = versions_make1(c, LOOM_OP_IOTA, loom_type_array(c->to, number), s->length, 0, n->span);
    loom_body_id open = loom_build_open(c->to, 3, types, n->span), sides[2];
    loom_node_id *params = versions_params_of(c, open, 3), result;
    loom_type_id type = versions_copied_type(c, id);
    loom_node_id before[2] = {params[2], params[1]}, at[2] = {params[1], LOOM_NONE};
    at[1] = loom_build_node(c->to, LOOM_OP_PRIM, LOOM_PRIM_SUB, number, before, 2, NULL, 0, 0, n->span);
    for (uint32_t which = 0; which < 2; which++) {
        sides[which] = loom_build_open(c->to, 0, NULL, n->span);
        loom_node_id operands[2] = {made[which], at[which]};
        loom_build_close(c->to, sides[which], versions_make(c, LOOM_OP_INDEX, type, operands, 2, NULL, 0, 0, n->span));
    }
    result = versions_make(c, LOOM_OP_IF, type, &params[0], 1, sides, 2, 0, n->span);
    loom_build_close(c->to, open, result);
    c->open = true;
    return versions_make(c, LOOM_OP_MAP, loom_type_array(c->to, type), arrays, 3, &open, 1, 0, n->span);
}
