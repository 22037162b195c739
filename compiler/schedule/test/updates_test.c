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

/* The operation made last is the turn's last, and makes the state's next value. */
static const loom_lop *close_loop(turning *t) {
    builder *b = &t->b;
    loom_lop_id op = b->l->n_ops - 1;
    loom_lvalue_id initial = b_input(b, 1, LOOM_I64, AXES(t->n, t->m)),
                   result = b_made(b, LOOM_I64, "result", AXES(t->n, t->m));
    loom_lop loop = loom_lifted_empty(LOOM_LO_LOOP);
    for (loom_lop_id id = t->inner; id <= op; id++) b->l->ops[id].inner = true;
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

/* Ends the turn with this as the next value of the state. */
static const loom_lop *close_turn(turning *t, loom_lexpr_id value) {
    b_compute(&t->b, AXES(t->n, t->m), b_end(&t->b, 0, NULL, RESULTS(value)), 1, &t->next);
    return close_loop(t);
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

/* ---- rows of elements ---- */

/* (a, x) -> x */
static loom_lblock_id replaced(builder *b) {
    b_begin(b);
    return b_end(b, 2, (loom_dtype[]){LOOM_I64, LOOM_I64}, RESULTS(b_param(b, LOOM_I64, 1)));
}

/* A permute over the axes, of which the first `context` are the target's, onto a value. */
static void add_permute(turning *t, loom_lblock_id combine, uint32_t n, const loom_axis_id *axes, uint32_t context,
                        loom_lblock_id body, loom_lvalue_id dest, loom_lvalue_id result) {
    loom_lop op = loom_lifted_empty(LOOM_LO_PERMUTE);
    const loom_lvalue *v = &t->b.l->values[dest];
    op.n_axes = n;
    op.axes = axes;
    op.body = body;
    op.combine = combine;
    op.n_context = context;
    op.distinct = !context;
    op.n_target_axes = v->n_axes;
    op.target_axes = v->axes;
    op.rank = v->n_axes - context;
    op.dest = &dest;
    op.n_results = 1;
    op.results = &result;
    loom_lifted_op(t->b.l, op);
}

/* Rows by number, in which the element at x changes: it alone is written, for each of the rows. */
LOOM_TEST(updates, an_element_of_each_row) {
    loom_lexpr_id i, j, x;
    turning t = open_turn(&i, &j, &x);
    builder *b = &t.b;
    loom_axis_id k = b_const(b, 3);
    loom_lvalue_id numbers = b_input(b, 2, LOOM_I64, AXES(k));
    loom_lblock_id combine = replaced(b);
    b_begin(b);
    loom_lexpr_id row = LOAD(b, numbers, b_axis(b, 0)), column = b_axis(b, 1);
    loom_lexpr_id own = LOAD(b, t.state, row, column), turn = LOAD0(b, t.counter);
    loom_lexpr_id value = choose(&t, b_prim(b, LOOM_PRIM_EQ, column, turn), LOAD(b, t.state, row, b_i64(b, 2)), own);
    loom_lblock_id body = b_end(b, 0, NULL, RESULTS(row, column, value));
    add_permute(&t, combine, 2, AXES(k, t.m), 0, body, t.state, t.next);
    const loom_lop *op = close_loop(&t);
    LOOM_CHECK(op->kind == LOOM_LO_PERMUTE && op->distinct && op->n_axes == 1 && op->axes[0] == k && op->rank == 2);
    LOOM_CHECK(op->dest[0] == t.state);
    for (loom_lexpr_id e = b->l->blocks[op->body].first; e < b->l->blocks[op->body].end; e++)
        LOOM_CHECK(b->l->exprs[e].kind != LOOM_LX_LOAD || b->l->exprs[e].aux != t.state);
    loom_arena_destroy(b->arena);
}

/* Rows that are taken, scattered into and put back: units go straight into the state; unless the old rows are looked
 * at afterwards, or rows are put where others are. */
LOOM_TEST(updates, rows_at_home) {
    for (int way = 0; way < 3; way++) {
        loom_lexpr_id i, j, x;
        turning t = open_turn(&i, &j, &x);
        builder *b = &t.b;
        loom_axis_id k = b_const(b, 3), units = b_const(b, 2);
        loom_lvalue_id numbers = b_input(b, 2, LOOM_I64, AXES(k)), others = b_input(b, 3, LOOM_I64, AXES(k)),
                       taken = b_made(b, LOOM_I64, "taken", AXES(k, t.m)),
                       put = b_made(b, LOOM_I64, "put", AXES(k, t.m));
        loom_lblock_id combine = replaced(b);
        b_begin(b);
        loom_lexpr_id own = LOAD(b, t.state, LOAD(b, numbers, b_axis(b, 0)), b_axis(b, 1));
        b_compute(b, AXES(k, t.m), b_end(b, 0, NULL, RESULTS(own)), 1, &taken);
        b_begin(b);
        loom_lexpr_id unit = b_axis(b, 1), old = LOAD(b, taken, b_axis(b, 0), b_i64(b, 4));
        loom_lblock_id body = b_end(b, 0, NULL, RESULTS(unit, old));
        add_permute(&t, combine, 2, AXES(k, units), 1, body, taken, put);
        combine = replaced(b);
        b_begin(b);
        loom_lexpr_id row = LOAD(b, way == 1 ? others : numbers, b_axis(b, 0)), column = b_axis(b, 1);
        loom_lexpr_id value = LOAD(b, put, b_axis(b, 0), column);
        if (way == 2) value = b_prim(b, LOOM_PRIM_ADD, value, LOAD(b, taken, b_axis(b, 0), b_i64(b, 1)));
        body = b_end(b, 0, NULL, RESULTS(row, column, value));
        add_permute(&t, combine, 2, AXES(k, t.m), 0, body, t.state, t.next);
        close_loop(&t);
        bool at_home = false;
        for (loom_lop_id id = t.inner; id < b->l->n_ops; id++) {
            const loom_lop *op = &b->l->ops[id];
            if (op->kind != LOOM_LO_PERMUTE) continue;
            at_home |=
                op->n_apart == 1 && !op->n_context && op->rank == 2 && op->axes[1] == units && op->dest[0] == t.state;
        }
        LOOM_CHECK_EQ_INT(at_home, way == 0);
        loom_arena_destroy(b->arena);
    }
}

/* Rows that some of the elements have made, put together with those of the others by a choice: the former alone are
 * put; unless what tells which they are is another condition, or may leave some out. */
LOOM_TEST(updates, rows_of_a_branch) {
    for (int way = 0; way < 3; way++) {
        loom_lexpr_id i, j, x;
        turning t = open_turn(&i, &j, &x);
        builder *b = &t.b;
        loom_axis_id k = b_const(b, 3), few = b_const(b, 2);
        loom_lvalue_id numbers = b_input(b, 2, LOOM_I64, AXES(k)), place = b_input(b, 3, LOOM_I64, AXES(k)),
                       flags = b_input(b, 4, LOOM_BOOL, AXES(k)), others = b_input(b, 5, LOOM_BOOL, AXES(k)),
                       none = b_made(b, LOOM_I64, "none", AXES(few)), from = b_made(b, LOOM_I64, "from", AXES(few)),
                       rows = b_made(b, LOOM_I64, "rows", AXES(few, t.m));
        b_begin(b);
        b_compute(b, AXES(few), b_end(b, 0, NULL, RESULTS(b_i64(b, 0))), 1, &none);
        loom_lblock_id combine = replaced(b);
        b_begin(b);
        loom_lexpr_id at = b_axis(b, 0), flag = LOAD(b, way == 1 ? others : flags, at);
        loom_lblock_id body = b_end(b, 0, NULL, RESULTS(choose(&t, flag, LOAD(b, place, at), b_i64(b, -1)), at));
        add_permute(&t, combine, 1, AXES(k), 0, body, none, from);
        b->l->ops[b->l->n_ops - 1].covers = way != 2;
        b_begin(b);
        loom_lexpr_id number = LOAD(b, numbers, LOAD(b, from, b_axis(b, 0)));
        loom_lexpr_id own = LOAD(b, t.state, number, b_axis(b, 1));
        b_compute(b, AXES(few, t.m), b_end(b, 0, NULL, RESULTS(b_prim(b, LOOM_PRIM_ADD, own, own))), 1, &rows);
        combine = replaced(b);
        b_begin(b);
        loom_lexpr_id row = LOAD(b, numbers, b_axis(b, 0)), column = b_axis(b, 1);
        loom_lexpr_id condition = LOAD(b, flags, b_axis(b, 0)), there = LOAD(b, place, b_axis(b, 0));
        loom_lexpr choice = {.kind = LOOM_LX_IF, .dtype = LOOM_I64, .site = LOOM_NONE};
        loom_lexpr_id first = b->l->n_exprs, value = LOAD(b, rows, there, column);
        b->l->exprs[value].site = b_site(b, "here alone");
        choice.blocks[0] = loom_lifted_block(b->l, first, 0, NULL, 1, &value);
        first = b->l->n_exprs;
        value = LOAD(b, t.state, row, column);
        choice.blocks[1] = loom_lifted_block(b->l, first, 0, NULL, 1, &value);
        value = loom_lifted_expr(b->l, choice, &condition, 1);
        body = b_end(b, 0, NULL, RESULTS(row, column, value));
        add_permute(&t, combine, 2, AXES(k, t.m), 0, body, t.state, t.next);
        const loom_lop *op = close_loop(&t);
        LOOM_CHECK(op->kind == LOOM_LO_PERMUTE && op->dest[0] == t.state && op->n_axes == 2);
        LOOM_CHECK_EQ_INT(op->axes[0] == few, way == 0);
        loom_arena_destroy(b->arena);
    }
}
