/* Expressions. The bodies of lets are walked in a loop, so a long chain of them costs no stack. */
#include "elab.h"
#include <string.h>

syn_node *loom_syn_elab_node(syn_elab *e, const syn_exp *exp, syn_env *env, const char *where) {
    return loom_syn_need_node(e, loom_syn_elab(e, exp, env), exp->span, where);
}

syn_node *loom_syn_i64_of(syn_elab *e, loom_weft_error error, syn_node *n, loom_span span, const char *what) {
    if (!loom_syn_need_type(e, error, n->type, e->scalars[LOOM_I64], span, "%s", what)) return loom_syn_poison(e, span);
    return n;
}

/* ---- literals and functions ---- */

static syn_node *literal(syn_elab *e, const syn_exp *x) {
    bool integer = x->kind == E_INT;
    syn_ty *type = x->suffix != LOOM_DTYPES ? e->scalars[x->suffix]
                   : integer                ? loom_syn_ty_var(e, SYN_NUMBERS)
                                            : loom_syn_ty_var(e, SYN_FLOATS | SYN_COMPLEX);
    if (x->suffix == LOOM_DTYPES) type->literal = integer ? 1 : 2;
    return loom_syn_literal(e, integer ? LIT_INT : LIT_FLOAT, x->integer, x->real, x->flag, type, x->span);
}

static syn_value *closure(syn_elab *e, const syn_function *f, syn_env *env) {
    syn_value *v = loom_syn_value(e, V_FUNCTION);
    v->function = f;
    v->env = env;
    v->limit_decl = e->limit_decl;
    return v;
}

static syn_value *operator_value(syn_elab *e, syn_name *op, bool backtick, syn_env *env, loom_span span) {
    syn_value *f = loom_syn_lookup(e, env, op);
    if (!f && !backtick && !loom_syn_top_level(e, op)) f = loom_syn_operator(e, op);
    return f ? f : loom_syn_name(e, op, env, span);
}

static syn_value *operator_reference(syn_elab *e, const syn_exp *x, syn_env *env) {
    syn_value *f = operator_value(e, x->name, false, env, x->name_span);
    if (!x->qualifier) return f;
    if (x->qualifier->dtype == LOOM_DTYPES || f->kind != V_PRIM) {
        loom_syn_error(e, LOOM_W_NO_QUALIFIED, x->span, "as in (f32.+)", "there is no (%s.%s)", x->qualifier->text,
                       x->name->text);
        return loom_syn_node_value(e, loom_syn_poison(e, x->span));
    }
    syn_value *at = loom_syn_value(e, V_PRIM);
    *at = *f;
    at->at = x->qualifier->dtype;
    return at;
}

/* A value that knows where it is given. A copy: it may be what a name stands for elsewhere too. */
static syn_value *argument(syn_elab *e, const syn_exp *x, syn_env *env) {
    syn_value *v = loom_syn_value(e, V_NODE);
    *v = *loom_syn_elab(e, x, env);
    v->place = x->span;
    return v;
}

/* `i32.max`, in backticks. */
static syn_value *qualified(syn_elab *e, const syn_exp *x, loom_span span) {
    if (x->qualifier->dtype != LOOM_DTYPES) return loom_syn_qualified(e, x->qualifier->dtype, x->name, span);
    loom_syn_error(e, LOOM_W_NO_QUALIFIED, span, "as in `i32.max`", "there is no `%s.%s`", x->qualifier->text,
                   x->name->text);
    return loom_syn_node_value(e, loom_syn_poison(e, span));
}

static syn_value *section(syn_elab *e, const syn_exp *x, syn_env *env) {
    syn_value *v = loom_syn_value(e, x->kind == E_LEFT ? V_LEFT : V_RIGHT);
    v->n_args = 2;
    v->args = LOOM_NEW_ARRAY(e->arena, syn_value *, 2);
    v->args[1] = argument(e, x->a, env);
    loom_span at = x->name_span.line ? x->name_span : x->span;
    v->args[0] = x->qualifier ? qualified(e, x, at) : operator_value(e, x->name, x->flag, env, at);
    return v;
}

static syn_value *projection(syn_elab *e, const syn_exp *x, syn_env *env) {
    syn_value *v = loom_syn_value(e, x->kind == E_FIELDS ? V_FIELDS : V_INDEXER);
    v->exp = x;
    if (x->kind == E_INDEXER) v->places = loom_syn_index_places(e, x, env);
    return v;
}

/* ---- fields ---- */

syn_value *loom_syn_field(syn_elab *e, syn_value *v, syn_name *name, loom_span span) {
    if (v->kind == V_TUPLE) {
        for (uint32_t i = 0; i < v->n_args; i++) {
            const char *own = v->shape ? v->shape->names[i]->text : loom_arena_printf(e->arena, "%u", i);
            if (strcmp(own, name->text) == 0) return v->args[i];
        }
        loom_syn_error(e, LOOM_W_NO_FIELD, span, NULL, "no field `%s` here", name->text);
        return loom_syn_node_value(e, loom_syn_poison(e, span));
    }
    syn_node *node = loom_syn_need_node(e, v, span, "a record");
    syn_ty *t = loom_syn_ty(node->type);
    int place = loom_syn_find_field(t, name);
    if (place >= 0) return loom_syn_node_value(e, loom_syn_project(e, node, (uint32_t)place, span));
    syn_node *part = loom_syn_node1(e, LOOM_OP_PROJECT, loom_syn_ty_var(e, 0), node, span);
    part->field = name;
    loom_syn_constrain(e, C_FIELD, node->type, part->type, name, span);
    return loom_syn_node_value(e, part);
}

static syn_value *field(syn_elab *e, const syn_exp *x, syn_env *env) {
    if (x->a->kind == E_NAME && x->a->name->dtype != LOOM_DTYPES && !loom_syn_lookup(e, env, x->a->name)) {
        return loom_syn_qualified(e, x->a->name->dtype, x->name, x->span);
    }
    return loom_syn_field(e, loom_syn_elab(e, x->a, env), x->name, x->name_span);
}

/* ---- application ---- */

static syn_value *application(syn_elab *e, const syn_exp *x, syn_env *env, const syn_rt *expected) {
    syn_value *f = loom_syn_elab(e, x->a, env);
    syn_value **args = LOOM_NEW_ARRAY(e->arena, syn_value *, x->n_items);
    for (uint32_t i = 0; i < x->n_items; i++) args[i] = argument(e, x->items[i], env);
    /* i64 3000000000: the literal is meant to have the wide type. */
    bool wide = f->kind == V_CONVERT && f->at == LOOM_DTYPES && (f->to == LOOM_I64 || f->to == LOOM_U64);
    const syn_exp *first = x->items[0];
    if (wide && first->kind == E_INT && first->suffix == LOOM_DTYPES && !(first->flag && f->to == LOOM_U64)) {
        loom_syn_unify(e, args[0]->node->type, e->scalars[f->to]);
    }
    syn_value *v = loom_syn_apply(e, f, x->n_items, args, x->span);
    return loom_syn_complete_unflatten(e, v, expected, env, x->span);
}

/* `a && b` is `if a then b else false`, `a || b` is `if a then true else b`. */
static syn_value *lazy(syn_elab *e, const syn_exp *x, syn_env *env, bool and) {
    syn_ty *boolean = e->scalars[LOOM_BOOL];
    const char *op = and ? "&&" : "||";
    syn_node *a = loom_syn_elab_node(e, x->a, env, "an operand");
    loom_syn_need_type(e, LOOM_W_CONDITION, a->type, boolean, x->a->span, "left of `%s`", op);
    syn_body *other = loom_syn_open(e, B_BRANCH, 0, NULL, x->b->span);
    syn_node *b = loom_syn_elab_node(e, x->b, env, "an operand");
    loom_syn_need_type(e, LOOM_W_CONDITION, b->type, boolean, x->b->span, "right of `%s`", op);
    loom_syn_close(e, other, b);
    syn_body *decided = loom_syn_open(e, B_BRANCH, 0, NULL, x->span);
    loom_syn_close(e, decided, loom_syn_bool(e, !and, x->span));
    syn_node *n = loom_syn_node1(e, LOOM_OP_IF, boolean, a, x->span);
    loom_syn_set_bodies(e, n, and? other : decided, and? decided : other);
    return loom_syn_node_value(e, n);
}

static syn_value *binary(syn_elab *e, const syn_exp *x, syn_env *env, const syn_rt *expected) {
    if (!x->flag && !loom_syn_top_level(e, x->name)) {
        bool and = strcmp(x->name->text, "&&") == 0;
        if (and|| strcmp(x->name->text, "||") == 0) return lazy(e, x, env, and);
    }
    syn_value *a = argument(e, x->a, env), *b = argument(e, x->b, env);
    if (x->qualifier) return loom_syn_apply(e, qualified(e, x, x->name_span), 2, (syn_value *[]){a, b}, x->span);
    syn_value *v =
        loom_syn_binary(e, x->name, a, b, env, x->name_span.line ? loom_syn_join(x->a->span, x->b->span) : x->span);
    return loom_syn_complete_unflatten(e, v, expected, env, x->span);
}

static syn_value *prefix(syn_elab *e, const syn_exp *x, syn_env *env) {
    syn_node *a = loom_syn_elab_node(e, x->a, env, "an operand");
    bool minus = x->kind == E_NEGATE;
    return loom_syn_node_value(e, loom_syn_prim_call(e, minus ? LOOM_PRIM_NEG : LOOM_PRIM_NOT, LOOM_DTYPES, 1, &a,
                                                     minus ? "-" : "!", x->span));
}

/* ---- if ---- */

static syn_value *conditional(syn_elab *e, const syn_exp *x, syn_env *env, const syn_rt *expected) {
    syn_node *condition = loom_syn_elab_node(e, x->a, env, "a condition");
    loom_syn_need_type(e, LOOM_W_CONDITION, condition->type, e->scalars[LOOM_BOOL], x->a->span, "condition of `if`");
    const syn_exp *branches[2] = {x->b, x->c};
    syn_body *bodies[2];
    for (int i = 0; i < 2; i++) {
        bodies[i] = loom_syn_open(e, B_BRANCH, 0, NULL, branches[i]->span);
        e->expected = expected;
        loom_syn_close(e, bodies[i], loom_syn_elab_node(e, branches[i], env, "the result of `if`"));
    }
    syn_ty *type = bodies[0]->result->type;
    loom_syn_need_type(e, LOOM_W_BRANCHES, bodies[1]->result->type, type, x->c->span,
                       "`else` branch, against the `then` branch");
    if (!loom_syn_forbid_seq(e, type)) {
        loom_syn_error(e, LOOM_W_SEQ_BRANCH, x->span,
                       "put the `if` inside the function given to map_seq, or around a consumer",
                       "a sequence cannot be the result of `if`");
    }
    syn_node *n = loom_syn_node1(e, LOOM_OP_IF, type, condition, x->span);
    loom_syn_set_bodies(e, n, bodies[0], bodies[1]);
    return loom_syn_node_value(e, n);
}

/* ---- tuples, records, arrays ---- */

static bool any_function(syn_value *const *values, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (loom_syn_has_function(values[i])) return true;
    }
    return false;
}

static syn_value *tuple(syn_elab *e, const syn_exp *x, syn_env *env) {
    syn_value **values = LOOM_NEW_ARRAY(e->arena, syn_value *, x->n_items ? x->n_items : 1);
    uint32_t *place = LOOM_NEW_ARRAY(e->arena, uint32_t, x->n_items ? x->n_items : 1);
    for (uint32_t i = 0; i < x->n_items; i++) place[i] = i;
    const syn_shape *shape = x->n_names ? loom_syn_shape(e, x->n_names, x->names, place) : NULL;
    for (uint32_t i = 0; i < x->n_items; i++) values[place[i]] = loom_syn_elab(e, x->items[i], env);
    if (any_function(values, x->n_items)) {
        syn_value *v = loom_syn_value(e, V_TUPLE);
        v->args = values;
        v->n_args = x->n_items;
        v->shape = shape;
        return v;
    }
    syn_node **parts = LOOM_NEW_ARRAY(e->arena, syn_node *, x->n_items ? x->n_items : 1);
    syn_ty **types = LOOM_NEW_ARRAY(e->arena, syn_ty *, x->n_items ? x->n_items : 1);
    for (uint32_t i = 0; i < x->n_items; i++) {
        parts[i] = loom_syn_need_node(e, values[i], x->span, "a component");
        types[i] = parts[i]->type;
    }
    syn_ty *type = loom_syn_ty_tuple(e, x->n_items, types);
    type->shape = shape;
    return loom_syn_node_value(e, loom_syn_tuple_of(e, type, parts, x->span));
}

static syn_value *array(syn_elab *e, const syn_exp *x, syn_env *env) {
    syn_ty *element = loom_syn_ty_var(e, 0);
    element->no_seq = true;
    syn_node **items = LOOM_NEW_ARRAY(e->arena, syn_node *, x->n_items ? x->n_items : 1);
    for (uint32_t i = 0; i < x->n_items; i++) {
        items[i] = loom_syn_elab_node(e, x->items[i], env, "an element of an array");
        if (loom_syn_ty(items[i]->type)->kind == TY_SEQ) {
            loom_syn_error(e, LOOM_W_SEQ_PART, x->items[i]->span, "`from_seq` makes an array of it",
                           "a sequence cannot be an element of an array");
            items[i] = loom_syn_poison(e, x->items[i]->span);
        }
        loom_syn_need_type(e, LOOM_W_ELEMENTS, items[i]->type, element, x->items[i]->span,
                           i ? "element, against the first one" : "element");
    }
    syn_ty *type = loom_syn_ty_array(e, element);
    return loom_syn_node_value(e, loom_syn_node(e, LOOM_OP_ARRAY, type, x->n_items, items, x->span));
}

/* ---- let ---- */

static syn_env *let(syn_elab *e, const syn_exp *x, syn_env *env) {
    syn_env *scope = x->function ? loom_syn_declare_sizes(e, x->function, false, env) : env;
    if (x->pat->kind == P_TYPED && !x->function) e->expected = loom_syn_resolve(e, x->pat->type, env);
    syn_value *value = loom_syn_elab(e, x->a, env);
    if (!x->function) return loom_syn_match(e, x->pat, value, env);
    syn_annotations list = {0};
    size_t next = 0;
    loom_syn_annotations(e, x->pat, value, scope, &list);
    loom_syn_bind_sizes(e, &list, scope);
    return loom_syn_bind_pattern(e, x->pat, value, scope, scope, &list, &next);
}

/* ---- ascription ---- */

static syn_value *typed(syn_elab *e, const syn_exp *x, syn_env *env) {
    const syn_rt *rt = loom_syn_resolve(e, x->type, env);
    e->expected = rt->kind == RT_FUNCTION ? NULL : rt;
    syn_value *v = loom_syn_elab(e, x->a, env);
    if (rt->kind == RT_FUNCTION) {
        if (!loom_syn_has_function(v)) return v;
        syn_value *promised = loom_syn_value(e, v->kind);
        *promised = *v;
        promised->signature = rt;
        return promised;
    }
    syn_node *node = loom_syn_need_node(e, v, x->span, "a value of this type");
    if (!loom_syn_need_type(e, LOOM_W_ANNOTATION, node->type, rt->ty, x->span, "annotated expression")) {
        return loom_syn_node_value(e, loom_syn_poison(e, x->span));
    }
    return loom_syn_node_value(e, loom_syn_claim(e, rt, node, env));
}

/* ---- all of them ---- */

static syn_value *elab_one(syn_elab *e, const syn_exp *x, syn_env *env, const syn_rt *expected) {
    switch (x->kind) {
    case E_INT:
    case E_FLOAT: return loom_syn_node_value(e, literal(e, x));
    case E_BOOL: return loom_syn_node_value(e, loom_syn_bool(e, x->flag, x->span));
    case E_NAME: return loom_syn_name(e, x->name, env, x->span);
    case E_APPLY: return application(e, x, env, expected);
    case E_BINARY: return binary(e, x, env, expected);
    case E_NEGATE:
    case E_NOT: return prefix(e, x, env);
    case E_OPERATOR: return operator_reference(e, x, env);
    case E_LEFT:
    case E_RIGHT: return section(e, x, env);
    case E_FIELDS:
    case E_INDEXER: return projection(e, x, env);
    case E_LAMBDA: return closure(e, x->function, env);
    case E_IF: return conditional(e, x, env, expected);
    case E_LOOP: return loom_syn_elab_loop(e, x, env);
    case E_TUPLE:
    case E_RECORD: return tuple(e, x, env);
    case E_ARRAY: return array(e, x, env);
    case E_RANGE: return loom_syn_elab_range(e, x, env);
    case E_INDEX: {
        syn_value *a = loom_syn_elab(e, x->a, env);
        syn_value **places = loom_syn_index_places(e, x, env);
        return loom_syn_node_value(e, loom_syn_index_of(e, a, x->n_index, places, x->index, x->span));
    }
    case E_FIELD: return field(e, x, env);
    case E_UPDATE:
    case E_UPDATE_FIELD: return loom_syn_elab_update(e, x, env);
    case E_TYPED: return typed(e, x, env);
    case E_BOUNDARY: return loom_syn_boundary(e, x);
    case E_MATCH: return loom_syn_elab_match(e, x, env, expected);
    default: return loom_syn_node_value(e, loom_syn_poison(e, x->span));
    }
}

syn_value *loom_syn_elab(syn_elab *e, const syn_exp *x, syn_env *env) {
    const syn_rt *expected = e->expected;
    e->expected = NULL;
    if (++e->depth > LOOM_SYN_MAX_RECURSION) {
        loom_syn_limit(e, LOOM_W_RECURSION, x->span, "functions that wrap each other many times: use `loop`",
                       "expressions nested more than %u levels deep, with all that is expanded",
                       LOOM_SYN_MAX_RECURSION);
    }
    for (;; x = x->b) {
        loom_syn_step(e);
        if (x->kind == E_LET)
            env = let(e, x, env);
        else if (x->kind == E_LET_FUN)
            env = loom_syn_bind(e, env, x->name, closure(e, x->function, env));
        else
            break;
        e->expected = NULL;
    }
    e->at = x->span;
    syn_value *v = elab_one(e, x, env, expected);
    e->at = x->span;
    e->depth--;
    return v;
}
