/* Application: arguments are gathered one by one; when none is missing the function is expanded, called or translated.
 */
#include "elab.h"
#include <string.h>

uint32_t loom_syn_arity(syn_elab *e, const syn_value *v) {
    switch (v->kind) {
    case V_NODE:
    case V_TUPLE:
    case V_SIZE:
    case V_WINDOW:
    case V_FOREVER: return 0;
    case V_BOUNDARY: return (v->boundary == SYN_CONSTANT ? 1 : 0) - v->n_args;
    case V_FUNCTION: return v->function->n_params - v->n_args;
    case V_DEF: return v->decl->function->n_params - v->n_args;
    case V_PRIM: return (uint32_t)loom_prim_table[v->prim].arity - v->n_args;
    case V_CONVERT:
    case V_FIELDS:
    case V_INDEXER: return 1 - v->n_args;
    case V_LEFT:
    case V_RIGHT: return 3 - v->n_args; /* function and operand are there */
    case V_BUILTIN: break;
    }
    int arity = loom_syn_builtin(v->builtin)->arity;
    if (arity >= 0) return (uint32_t)arity - v->n_args;
    /* zip_with f: as many arrays as f takes arguments. */
    if (v->n_args == 0) return 2;
    uint32_t arrays = loom_syn_arity(e, v->args[0]);
    return 1 + (arrays ? arrays : 2) - v->n_args;
}

static syn_value *with_argument(syn_elab *e, const syn_value *f, syn_value *argument) {
    syn_value *v = loom_syn_value(e, f->kind);
    *v = *f;
    v->args = LOOM_NEW_ARRAY(e->arena, syn_value *, (size_t)f->n_args + 1);
    if (f->n_args) memcpy(v->args, f->args, f->n_args * sizeof *f->args);
    v->args[v->n_args++] = argument;
    return v;
}

static syn_node **argument_nodes(syn_elab *e, const syn_value *v, loom_span span) {
    syn_node **nodes = LOOM_NEW_ARRAY(e->arena, syn_node *, v->n_args ? v->n_args : 1);
    for (uint32_t i = 0; i < v->n_args; i++) {
        nodes[i] = loom_syn_need_node(e, v->args[i], span, "an operand");
    }
    return nodes;
}

static syn_value *run_builtin(syn_elab *e, const syn_value *v, loom_span span) {
    const syn_builtin *b = loom_syn_builtin(v->builtin);
    syn_call call = {
        .e = e, .name = b->name, .n = v->n_args, .args = v->args, .span = span, .variant = b->variant, .at = v->at};
    return loom_syn_node_value(e, b->run(&call));
}

static syn_value *run_local(syn_elab *e, const syn_value *v) {
    uint32_t limit = e->limit_decl;
    e->limit_decl = v->limit_decl;
    syn_value *result = loom_syn_enter_function(e, v->function, v->env, v->args);
    e->limit_decl = limit;
    return result;
}

static syn_value *run_def(syn_elab *e, const syn_value *v, loom_span span) {
    syn_value *result = loom_syn_call_def(e, v->decl, v->args, span);
    if (v->at == LOOM_DTYPES || result->kind != V_NODE) return result;
    /* i64.sum says what its result is; f64.is_inf, a question, what is asked about. */
    syn_ty *t = loom_syn_ty(result->node->type);
    bool question = t->kind == TY_SCALAR && t->dtype == LOOM_BOOL && v->args[v->n_args - 1]->kind == V_NODE;
    if (question) loom_syn_rank(v->args[v->n_args - 1]->node->type, &t);
    loom_syn_need_type(e, LOOM_W_AT_TYPE, t, e->scalars[v->at], span, "`%s.%s`", loom_dtype_name(v->at),
                       v->decl->name->text);
    return result;
}

static syn_value *run(syn_elab *e, syn_value *v, loom_span span) {
    switch (v->kind) {
    case V_FUNCTION: return run_local(e, v);
    case V_DEF: return run_def(e, v, span);
    case V_BUILTIN: return run_builtin(e, v, span);
    case V_PRIM:
        return loom_syn_node_value(
            e, loom_syn_prim_call(e, v->prim, v->at, v->n_args, argument_nodes(e, v, span), NULL, span));
    case V_CONVERT:
        return loom_syn_node_value(e, loom_syn_convert(e, v->to, v->at, argument_nodes(e, v, span)[0], span));
    case V_LEFT: return loom_syn_apply(e, v->args[0], 2, (syn_value *[]){v->args[1], v->args[2]}, span);
    case V_RIGHT: return loom_syn_apply(e, v->args[0], 2, (syn_value *[]){v->args[2], v->args[1]}, span);
    case V_FIELDS: {
        syn_value *result = v->args[0];
        for (uint32_t i = 0; i < v->exp->n_names; i++)
            result = loom_syn_field(e, result, v->exp->names[i], v->exp->span);
        return result;
    }
    case V_INDEXER:
        return loom_syn_node_value(
            e, loom_syn_index_of(e, v->args[0], v->exp->n_index, v->places, v->exp->index, v->exp->span));
    default: return v;
    }
}

/* `x and y`, which other languages have between their operands. */
static bool is_in_words(const syn_value *argument) {
    return argument->kind == V_DEF && argument->decl->prelude &&
           (strcmp(argument->decl->name->text, "and") == 0 || strcmp(argument->decl->name->text, "or") == 0);
}

static syn_value *not_a_function(syn_elab *e, const syn_value *f, const syn_value *argument, loom_span span) {
    if (f->kind == V_NODE) {
        syn_ty *t = loom_syn_ty(f->node->type);
        /* A def that nobody calls is checked without its arguments: what it applies may be a function. */
        bool may_be = t->kind == TY_POISON || (t->kind == TY_VAR && !t->mask && e->frame->open);
        bool told = argument->kind == V_NODE && loom_syn_is_poison(argument->node->type);
        if (!may_be && !told) {
            bool indexes = t->kind == TY_ARRAY && argument->kind == V_NODE && argument->node->op == LOOM_OP_ARRAY;
            loom_syn_error(e, LOOM_W_NOT_A_FUNCTION, span,
                           indexes ? "an index is written without the space: `xs[i]`"
                           : is_in_words(argument)
                               ? "truth values are joined by `&&` and `||`; `and` and `or` take arrays"
                               : "is an operator or a comma missing?",
                           "%s is not a function, but is given an argument", loom_syn_ty_text(e, t));
        }
    } else {
        loom_syn_error(e, LOOM_W_NOT_A_FUNCTION, span, NULL,
                       "a tuple or record is not a function, but is given an argument");
    }
    return loom_syn_node_value(e, loom_syn_poison(e, span));
}

/* An argument against a function type it was promised for. */
static syn_value *sign_argument(syn_elab *e, const syn_rt *signature, syn_value *argument, loom_span span) {
    const syn_rt *domain = signature->items[0];
    if (domain->kind == RT_FUNCTION) {
        if (!loom_syn_has_function(argument)) return argument;
        syn_value *signed_argument = loom_syn_value(e, argument->kind);
        *signed_argument = *argument;
        signed_argument->signature = domain;
        return signed_argument;
    }
    if (argument->kind == V_NODE) {
        loom_syn_need_type(e, LOOM_W_ARGUMENT, argument->node->type, domain->ty, span,
                           "argument of a function parameter");
    }
    return argument;
}

static syn_value *sign_result(syn_elab *e, const syn_rt *signature, syn_value *result, loom_span span) {
    if (signature->kind == RT_FUNCTION) {
        if (loom_syn_arity(e, result) == 0) return result;
        syn_value *signed_result = loom_syn_value(e, result->kind);
        *signed_result = *result;
        signed_result->signature = signature;
        return signed_result;
    }
    if (result->kind == V_NODE) {
        loom_syn_need_type(e, LOOM_W_RESULT, result->node->type, signature->ty, span, "result of a function parameter");
    }
    return result;
}

static syn_value *apply_one(syn_elab *e, syn_value *f, syn_value *argument, loom_span span) {
    if (loom_syn_arity(e, f) == 0) return not_a_function(e, f, argument, span);
    const syn_rt *signature = f->signature;
    if (signature) argument = sign_argument(e, signature, argument, span);
    syn_value *v = with_argument(e, f, argument);
    v->signature = NULL;
    if (loom_syn_arity(e, v) == 0) v = run(e, v, span);
    return signature ? sign_result(e, signature->items[1], v, span) : v;
}

syn_value *loom_syn_apply(syn_elab *e, syn_value *f, uint32_t n, syn_value *const *args, loom_span span) {
    for (uint32_t i = 0; i < n; i++) f = apply_one(e, f, args[i], span);
    return f;
}

syn_node *loom_syn_apply_nodes(syn_elab *e, syn_value *f, uint32_t n, syn_node *const *args, loom_span span) {
    syn_value **values = LOOM_NEW_ARRAY(e->arena, syn_value *, n ? n : 1);
    for (uint32_t i = 0; i < n; i++) values[i] = loom_syn_node_value(e, args[i]);
    return loom_syn_need_node(e, loom_syn_apply(e, f, n, values, span), span,
                              "the result of a function given to an operation");
}

/* `a op b`. Operators that the text defines come first; the pipes apply. */
syn_value *loom_syn_binary(syn_elab *e, syn_name *op, syn_value *a, syn_value *b, syn_env *env, loom_span span) {
    if (strcmp(op->text, "|>") == 0) return loom_syn_apply(e, b, 1, &a, span);
    if (strcmp(op->text, "<|") == 0) return loom_syn_apply(e, a, 1, &b, span);
    syn_value *f = loom_syn_lookup(e, env, op);
    syn_decl *d = f ? NULL : loom_syn_top_level(e, op);
    if (!f && !d) f = loom_syn_operator(e, op);
    if (!f) f = loom_syn_name(e, op, env, span); /* `f` in backticks, a def, or the error */
    return loom_syn_apply(e, f, 2, (syn_value *[]){a, b}, span);
}

/* A def of the prelude, by name: what ranges and updates are written in. */
syn_value *loom_syn_call_named(syn_elab *e, const char *name, uint32_t n, syn_node *const *args, loom_span span) {
    syn_decl *d = loom_syn_intern(e->c, name, strlen(name))->value;
    while (d && !d->prelude) d = d->shadowed;
    if (!d || d->function->n_params != n) {
        loom_syn_error(e, LOOM_W_PRELUDE, span, NULL, "the prelude has no `%s`", name);
        return loom_syn_node_value(e, loom_syn_poison(e, span));
    }
    syn_value **values = LOOM_NEW_ARRAY(e->arena, syn_value *, n ? n : 1);
    for (uint32_t i = 0; i < n; i++) values[i] = loom_syn_node_value(e, args[i]);
    return loom_syn_call_def(e, d, values, span);
}
