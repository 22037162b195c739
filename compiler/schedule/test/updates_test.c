/* States of loops of which a turn changes few elements: which operations become permutes, and onto what. What the code
 * computes is tested by tests/programs/loops_update_in_place.weft. */
#include "builder.h"
#include "compiler/schedule/schedule.h"
#include "loom_test.h"

typedef struct turning {
    builder b;
    loom_axis_id n, m;
    loom_lvalue_id count, state, next, counter;
    loom_lop_id inner;
} turning;

/* A loop over a state [n, m] whose turn is to be built: indices i, j and x, the counter, or an input. */
static turning open_turn(loom_lexpr_id *i, loom_lexpr_id *j, loom_lexpr_id *x) {
    turning t = {.b = b_open(LOOM_STAGE_ARRAY)};
    t.n = b_const(&t.b, 5);
    t.m = b_const(&t.b, 7);
    t.count = b_input(&t.b, 0, LOOM_I64, NO_AXES);
    t.state = b_value(&t.b, LOOM_LV_STATE, 0, LOOM_I64, "state", AXES(t.n, t.m));
    t.counter = b_value(&t.b, LOOM_LV_STATE, 0, LOOM_I64, "counter", NO_AXES);
    t.next = b_made(&t.b, LOOM_I64, "next", AXES(t.n, t.m));
    t.inner = t.b.l->n_ops;
    b_begin(&t.b);
    *i = b_axis(&t.b, 0);
    *j = b_axis(&t.b, 1);
    *x = LOAD0(&t.b, t.counter);
    return t;
}

static loom_lexpr_id choose(turning *t, loom_lexpr_id c, loom_lexpr_id a, loom_lexpr_id b) {
    loom_lexpr e = {.kind = LOOM_LX_PRIM, .dtype = LOOM_I64, .prim = LOOM_PRIM_SELECT, .site = LOOM_NONE};
    return loom_lifted_expr(t->b.l, e, (loom_lexpr_id[]){c, a, b}, 3);
}

/* Ends the turn with this as the next value of the state. */
static const loom_lop *close_turn(turning *t, loom_lexpr_id value) {
    builder *b = &t->b;
    loom_lop_id op = b_compute(b, AXES(t->n, t->m), b_end(b, 0, NULL, RESULTS(value)), 1, &t->next);
    loom_lvalue_id initial = b_input(b, 1, LOOM_I64, AXES(t->n, t->m)),
                   result = b_made(b, LOOM_I64, "result", AXES(t->n, t->m));
    loom_lop loop = loom_lifted_empty(LOOM_LO_LOOP);
    b->l->ops[op].inner = true;
    loop.n_args = loop.n_states = loop.n_results = 1;
    loop.args = &t->count;
    loop.results = &result;
    loop.inner_first = t->inner;
    loop.inner_end = op + 1;
    loop.initial = &initial;
    loop.state = &t->state;
    loop.next = &t->next;
    loop.counter = t->counter;
    loom_lifted_op(b->l, loop);
    b_output(b, LOOM_OUT_VALUE, result, LOOM_NONE);
    LOOM_OK(loom_lifted_check(b->l));
    LOOM_OK(loom_schedule(b->l));
    LOOM_OK(loom_lifted_check(b->l));
    return &b->l->ops[b->l->values[t->next].op];
}

/* m with [x, x + 1] = 3: a point. */
LOOM_TEST(updates, an_element) {
    loom_lexpr_id i, j, x;
    turning t = open_turn(&i, &j, &x);
    builder *b = &t.b;
    loom_lexpr_id beside = b_prim(b, LOOM_PRIM_ADD, x, b_i64(b, 1));
    loom_lexpr_id here = b_prim(b, LOOM_PRIM_AND, b_prim(b, LOOM_PRIM_EQ, i, x), b_prim(b, LOOM_PRIM_EQ, beside, j));
    const loom_lop *op = close_turn(&t, choose(&t, here, b_i64(b, 3), LOAD(b, t.state, i, j)));
    LOOM_CHECK(op->kind == LOOM_LO_PERMUTE && op->distinct && op->n_axes == 0 && op->rank == 2);
    LOOM_CHECK(op->dest[0] == t.state);
    loom_arena_destroy(b->arena);
}

/* m with [x] = iota 7: points along the row. */
LOOM_TEST(updates, a_row) {
    loom_lexpr_id i, j, x;
    turning t = open_turn(&i, &j, &x);
    builder *b = &t.b;
    const loom_lop *op = close_turn(&t, choose(&t, b_prim(b, LOOM_PRIM_EQ, i, x), j, LOAD(b, t.state, i, j)));
    LOOM_CHECK(op->kind == LOOM_LO_PERMUTE && op->n_axes == 1 && op->axes[0] == t.m && op->rank == 2);
    loom_arena_destroy(b->arena);
}

/* m with [x, x] = a with [x + 1, x] = b: the values first, then one after the other. */
LOOM_TEST(updates, two_elements) {
    loom_lexpr_id i, j, x;
    turning t = open_turn(&i, &j, &x);
    builder *b = &t.b;
    loom_lexpr_id beside = b_prim(b, LOOM_PRIM_ADD, x, b_i64(b, 1)), column = b_prim(b, LOOM_PRIM_EQ, j, x);
    loom_lexpr_id one = b_prim(b, LOOM_PRIM_AND, b_prim(b, LOOM_PRIM_EQ, i, x), column),
                  two = b_prim(b, LOOM_PRIM_AND, b_prim(b, LOOM_PRIM_EQ, i, beside), column);
    loom_lexpr_id first = choose(&t, one, LOAD(b, t.state, beside, x), LOAD(b, t.state, i, j));
    const loom_lop *op = close_turn(&t, choose(&t, two, LOAD(b, t.state, x, x), first));
    LOOM_CHECK(op->kind == LOOM_LO_PERMUTE && op->n_axes == 0);
    const loom_lop *before = &b->l->ops[b->l->values[op->dest[0]].op];
    LOOM_CHECK(before == op - 1 && before->kind == LOOM_LO_PERMUTE && before->dest[0] == t.state);
    for (const loom_lop *o = b->l->ops + b->l->values[t.next].op - 2; o >= b->l->ops + t.inner; o--)
        LOOM_CHECK(o->kind == LOOM_LO_COMPUTE && o->n_axes == 0);
    for (loom_lexpr_id e = b->l->blocks[op->body].first; e < b->l->blocks[op->body].end; e++)
        LOOM_CHECK(b->l->exprs[e].kind != LOOM_LX_LOAD || b->l->exprs[e].aux != t.state);
    loom_arena_destroy(b->arena);
}

/* What changes more than the points, may fail at some of them alone, or does not keep the state, stays. */
LOOM_TEST(updates, what_stays) {
    for (int way = 0; way < 5; way++) {
        loom_lexpr_id i, j, x, value = LOOM_NONE;
        turning t = open_turn(&i, &j, &x);
        builder *b = &t.b;
        loom_lexpr_id here = b_prim(b, LOOM_PRIM_EQ, i, x), own = LOAD(b, t.state, i, j);
        if (way == 0) { /* it fails by the index */
            loom_lexpr e = {.kind = LOOM_LX_CHECK, .dtype = LOOM_I64, .site = b_site(b, "no")};
            value = choose(&t, here, loom_lifted_expr(b->l, e, (loom_lexpr_id[]){here, x}, 2), own);
        }
        if (way == 1) value = choose(&t, here, own, b_i64(b, 0));                /* all others change */
        if (way == 2) value = choose(&t, b_prim(b, LOOM_PRIM_LE, i, x), j, own); /* more than one row */
        if (way == 3) value = choose(&t, here, j, b_prim(b, LOOM_PRIM_ADD, own, x));
        if (way == 4) value = choose(&t, b_prim(b, LOOM_PRIM_OR, here, b_prim(b, LOOM_PRIM_EQ, j, x)), x, own);
        LOOM_CHECK_EQ_INT(close_turn(&t, value)->kind, LOOM_LO_COMPUTE);
        loom_arena_destroy(b->arena);
    }
}
