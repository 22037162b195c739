/* Loops. State is what the pattern says; `for x in xs` counts through xs. Claims of an annotated state are made on the
 * initial state and on each turn's result, so that they hold wherever the state can be seen. */
#include "elab.h"

typedef struct looping {
    syn_elab *e;
    const syn_exp *exp;
    const syn_loop *loop;
    syn_env *env;
    syn_annotations list;
    syn_ty *state;
    bool differs; /* the body's type; has been told */
} looping;

/* `loop (x, y) while ...`: the initial state is what these names stand for. */
static syn_node *state_by_names(syn_elab *e, const syn_pat *pat, syn_env *env) {
    if (pat->kind == P_TYPED) return state_by_names(e, pat->items[0], env);
    if (pat->kind == P_NAME) {
        return loom_syn_need_node(e, loom_syn_name(e, pat->name, env, pat->span), pat->span, "loop state");
    }
    if (pat->kind != P_TUPLE) {
        loom_syn_error(e, LOOM_W_LOOP_START, pat->span, "write `loop pattern = start while ...`",
                       "this loop state needs a start value");
        return loom_syn_poison(e, pat->span);
    }
    syn_node **parts = LOOM_NEW_ARRAY(e->arena, syn_node *, pat->n_items ? pat->n_items : 1);
    for (uint32_t i = 0; i < pat->n_items; i++) parts[i] = state_by_names(e, pat->items[i], env);
    return loom_syn_tuple(e, pat->n_items, parts, pat->span);
}

static syn_node *claim_state(looping *l, syn_node *state) {
    size_t next = 0;
    return loom_syn_claim_pattern(l->e, l->loop->state, state, l->env, &l->list, &next);
}

static syn_env *bind_state(looping *l, syn_node *state, syn_env *env) {
    return loom_syn_bind_pattern(l->e, l->loop->state, loom_syn_node_value(l->e, state), env, env, NULL, NULL);
}

static syn_node *initial_state(looping *l) {
    syn_elab *e = l->e;
    const syn_loop *loop = l->loop;
    syn_node *initial = loop->initial ? loom_syn_elab_node(e, loop->initial, l->env, "loop state")
                                      : state_by_names(e, loop->state, l->env);
    if (!loom_syn_forbid_seq(e, initial->type)) {
        loom_syn_error(e, LOOM_W_SEQ_PART, initial->span, "`from_seq` makes an array of it",
                       "a sequence cannot be loop state");
        initial = loom_syn_poison(e, l->exp->span);
    }
    loom_syn_annotations(e, loop->state, loom_syn_node_value(e, initial), l->env, &l->list);
    l->state = initial->type;
    return claim_state(l, initial);
}

/* The turn: elaborated with the state bound, its result claimed and of the state's type. */
static syn_node *turn(looping *l, syn_env *env) {
    syn_node *result = loom_syn_elab_node(l->e, l->loop->body, env, "loop state");
    syn_ty *found = loom_syn_ty(result->type), *start = loom_syn_ty(l->state);
    bool scalars = found->kind == TY_SCALAR && start->kind == TY_SCALAR;
    bool same = loom_syn_need_type_hint(l->e, LOOM_W_LOOP_STATE, result->type, l->state, l->loop->body->span,
                                        scalars ? NULL : "the state has one type in all turns: that of its start value",
                                        "loop body, against the loop's start value");
    if (!same) {
        l->differs = true;
        return loom_syn_poison(l->e, l->loop->body->span);
    }
    return claim_state(l, result);
}

static syn_node *loop_while(looping *l, syn_node *initial) {
    syn_elab *e = l->e;
    syn_body *test = loom_syn_open(e, B_LOOP, 1, &l->state, l->loop->limit->span);
    syn_node *condition = loom_syn_elab_node(e, l->loop->limit, bind_state(l, test->params[0], l->env), "a condition");
    loom_syn_need_type(e, LOOM_W_CONDITION, condition->type, e->scalars[LOOM_BOOL], l->loop->limit->span,
                       "condition of `while`");
    loom_syn_close(e, test, condition);
    syn_body *step = loom_syn_open(e, B_LOOP, 1, &l->state, l->loop->body->span);
    loom_syn_close(e, step, turn(l, bind_state(l, step->params[0], l->env)));
    syn_node *n = loom_syn_node1(e, LOOM_OP_LOOP_WHILE, l->state, initial, l->exp->span);
    loom_syn_set_bodies(e, n, test, step);
    return n;
}

static syn_node *loop_for(looping *l, syn_node *count, syn_node *initial, syn_node *array, syn_ty *counter) {
    syn_elab *e = l->e;
    const syn_loop *loop = l->loop;
    syn_ty *types[2] = {e->scalars[LOOM_I64], l->state};
    syn_body *step = loom_syn_open(e, B_LOOP, 2, types, loop->body->span);
    syn_node *i = step->params[0];
    if (array) {
        i = loom_syn_node2(e, LOOM_OP_INDEX, loom_syn_ty(array->type)->element, array, i, loop->limit->span);
    } else if (counter != e->scalars[LOOM_I64]) {
        i = loom_syn_node1(e, LOOM_OP_CONVERT, counter, i, loop->limit->span);
    }
    syn_env *env = loom_syn_match(e, loop->variable, loom_syn_node_value(e, i), l->env);
    loom_syn_close(e, step, turn(l, bind_state(l, step->params[1], env)));
    syn_node *n = loom_syn_node2(e, LOOM_OP_LOOP_FOR, l->state, count, initial, l->exp->span);
    loom_syn_set_bodies(e, n, step, NULL);
    return n;
}

/* The counter has the type of its bound: of a literal that is decided later, by what the counter is used for. */
static syn_node *counted(looping *l) {
    syn_elab *e = l->e;
    syn_node *bound = loom_syn_elab_node(e, l->loop->limit, l->env, "the bound of a loop");
    syn_ty *t = loom_syn_ty(bound->type);
    bool other = t->kind == TY_SCALAR && t->dtype != LOOM_I64 && loom_dtype_is_integer(t->dtype);
    if (t->kind == TY_VAR && t->literal == 1) {
        other = loom_syn_restrict(e, t, SYN_INTEGERS);
        t->counter = true;
    }
    if (!other) bound = loom_syn_i64_of(e, LOOM_W_INDEX_TYPE, bound, l->loop->limit->span, "bound of the loop");
    syn_node *count = other ? loom_syn_node1(e, LOOM_OP_CONVERT, e->scalars[LOOM_I64], bound, bound->span) : bound;
    return loop_for(l, count, initial_state(l), NULL, other ? t : e->scalars[LOOM_I64]);
}

static syn_node *over_array(looping *l) {
    syn_elab *e = l->e;
    syn_node *array = loom_syn_elab_node(e, l->loop->limit, l->env, "what a loop goes through");
    syn_ty *element = loom_syn_ty_var(e, 0);
    element->no_seq = true;
    if (!loom_syn_need_type(e, LOOM_W_NOT_AN_ARRAY, array->type, loom_syn_ty_array(e, element), l->loop->limit->span,
                            "`for ... in`") ||
        loom_syn_is_poison(array->type)) {
        return loom_syn_poison(e, l->exp->span);
    }
    syn_node *count = loom_syn_node1(e, LOOM_OP_LENGTH, e->scalars[LOOM_I64], array, array->span);
    return loop_for(l, count, initial_state(l), array, NULL);
}

syn_value *loom_syn_elab_loop(syn_elab *e, const syn_exp *x, syn_env *env) {
    looping l = {.e = e, .exp = x, .loop = x->loop, .env = env};
    syn_node *n = NULL;
    switch (x->loop->kind) {
    case LOOP_WHILE: n = loop_while(&l, initial_state(&l)); break;
    case LOOP_FOR: n = counted(&l); break;
    case LOOP_IN: n = over_array(&l); break;
    }
    return loom_syn_node_value(e, l.differs ? loom_syn_poison(e, x->span) : n);
}
