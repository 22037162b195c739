/* Declarations `lifted regular f = f_rows`: which def is meant, and calls of one that has versions.
 *
 * A call of f with arguments of the types t, ... becomes
 *     lifted x ...  (\x ... -> f x ...)  (\xs ... -> f_rows xs ...)        xs : []t
 * so f_rows is checked for these types where f is used, as any def is. With both versions the one for irregular rows
 * is the body of the other. That a version calls its own function, through others or not, is found as an instance that
 * is asked for while it is being made.
 */
#include "elab.h"
#include <string.h>

const char *const loom_syn_lift_names[SYN_LIFTS] = {"regular", "irregular"};

/* ---- which defs ---- */

/* The def that a name of a declaration stands for; NULL after an error. */
static syn_decl *find_def(syn_elab *e, const syn_lift *lift, const syn_name *name, loom_span span) {
    e->limit_decl = lift->index;
    syn_decl *d = loom_syn_top_level(e, name);
    if (d && d->broken) return NULL;
    const syn_decl *later = name->value;
    const char *hint = "it stands before: `def f xs = ...`";
    if (d && !d->prelude) {
        if (d->function->n_params) return d;
        hint = "it has no parameters, so there is nothing to lift";
    } else if (later && !later->prelude) {
        hint = loom_arena_printf(e->arena, "it is defined later, in line %u: move it up", later->span.line);
    }
    loom_syn_error(e, LOOM_W_LIFTED_NAME, span, hint, "`lifted` needs a function of this program, found `%s`",
                   name->text);
    return NULL;
}

static void bind(syn_elab *e, syn_lift *lift) {
    syn_decl *f = find_def(e, lift, lift->name, lift->name_span);
    syn_decl *version = find_def(e, lift, lift->version_name, lift->version_span);
    if (!f || !version) return;
    if (f->lifts[lift->kind]) {
        loom_syn_error(e, LOOM_W_DEFINED_TWICE, lift->name_span,
                       loom_arena_printf(e->arena, "the first one is in line %u", f->lifts[lift->kind]->name_span.line),
                       "the %s version of `%s` is declared twice", loom_syn_lift_names[lift->kind], f->name->text);
        return;
    }
    if (f->function->n_params != version->function->n_params) {
        loom_syn_error(e, LOOM_W_LIFTED_TYPE, lift->version_span, "it takes each of them with one more level",
                       "the %s version of `%s`: expected %u arguments, `%s` takes %u", loom_syn_lift_names[lift->kind],
                       f->name->text, f->function->n_params, version->name->text, version->function->n_params);
        return;
    }
    lift->version = version;
    f->lifts[lift->kind] = lift;
}

void loom_syn_bind_lifts(syn_elab *e) {
    for (size_t i = 0; i < e->decls->lifts.count; i++) bind(e, e->decls->lifts.at[i]);
}

/* ---- types ---- */

/* What the version says of its parameters, against what it gets. */
static bool parameters_fit(syn_elab *e, const syn_lift *lift, const syn_decl *f, syn_body *body) {
    const syn_function *version = lift->version->function;
    uint32_t errors = e->errors, limit = e->limit_decl;
    e->limit_decl = lift->version->index;
    syn_env *scope = NULL;
    for (uint32_t i = 0; i < version->n_type_params; i++) {
        scope = loom_syn_bind_type(e, scope, version->type_params[i], loom_syn_ty_var(e, 0));
    }
    for (uint32_t i = 0; i < version->n_params && e->errors == errors; i++) {
        if (version->params[i]->kind != P_TYPED) continue;
        const syn_rt *rt = loom_syn_resolve(e, version->params[i]->type, scope);
        const char *hint = "it takes each argument with one more level: one for all elements";
        if (rt->kind == RT_FUNCTION) {
            loom_syn_error(e, LOOM_W_LIFTED_TYPE, lift->version_span, hint,
                           "parameter %u of the %s version of `%s`: expected %s, found a function", i + 1,
                           loom_syn_lift_names[lift->kind], f->name->text, loom_syn_ty_text(e, body->params[i]->type));
        } else {
            loom_syn_need_type_hint(e, LOOM_W_LIFTED_TYPE, rt->ty, body->params[i]->type, lift->version_span, hint,
                                    "parameter %u of `%s`, the %s version of `%s`", i + 1, lift->version->name->text,
                                    loom_syn_lift_names[lift->kind], f->name->text);
        }
    }
    e->limit_decl = limit;
    return e->errors == errors;
}

static syn_node *call_version(syn_elab *e, const syn_lift *lift, const syn_decl *f, syn_body *body, syn_ty *result) {
    uint32_t n = body->n_params;
    syn_value **args = LOOM_NEW_ARRAY(e->arena, syn_value *, n);
    for (uint32_t i = 0; i < n; i++) args[i] = loom_syn_node_value(e, body->params[i]);
    if (!parameters_fit(e, lift, f, body)) return NULL;
    uint32_t errors = e->errors;
    syn_node *called = loom_syn_call_version(e, f, lift->version, args, lift->version_span);
    if (called && called->op == LOOM_OP_CALL) {
        const char *hint = "it gives the results of all elements, one row for each";
        bool fits = loom_syn_need_type_hint(e, LOOM_W_LIFTED_TYPE, called->type, loom_syn_ty_array(e, result),
                                            lift->version_span, hint, "result of `%s`, the %s version of `%s`",
                                            lift->version->name->text, loom_syn_lift_names[lift->kind], f->name->text);
        return fits ? called : NULL;
    }
    if (e->errors == errors) {
        loom_syn_error(e, LOOM_W_LIFTED_TYPE, lift->version_span, "annotate its result",
                       "the type of the result of `%s`, the %s version of `%s`, is open", lift->version->name->text,
                       loom_syn_lift_names[lift->kind], f->name->text);
    }
    return NULL;
}

/* ---- calls ---- */

/* The call of `f`, inside of its versions from `kind` on. */
static syn_node *with_versions(syn_elab *e, syn_decl *f, syn_node *call, uint32_t kind, syn_node *const *args) {
    uint32_t n = call->n_operands;
    while (kind < SYN_LIFTS && (!f->lifts[kind] || f->lifts[kind]->refused)) kind++;
    if (kind == SYN_LIFTS) {
        syn_node *again = loom_syn_node(e, LOOM_OP_CALL, call->type, n, args, call->span);
        again->aux = call->aux;
        return again;
    }
    syn_lift *lift = f->lifts[kind];
    lift->checked = true;
    syn_ty **types = LOOM_NEW_ARRAY(e->arena, syn_ty *, n), **rows = LOOM_NEW_ARRAY(e->arena, syn_ty *, n);
    for (uint32_t i = 0; i < n; i++) {
        types[i] = call->operands[i]->type;
        rows[i] = loom_syn_ty_array(e, types[i]);
    }
    /* Where the parameters stand tells the names: of the function, and of its version. */
    syn_body *version = loom_syn_open(e, B_ARRAY, n, rows, lift->version_span);
    syn_node *result = call_version(e, lift, f, version, call->type);
    loom_syn_close(e, version, result);
    if (!result) {
        lift->refused = true; /* told once */
        return with_versions(e, f, call, kind + 1, args);
    }
    syn_body *body = loom_syn_open(e, B_ARRAY, n, types, lift->name_span);
    loom_syn_close(e, body, with_versions(e, f, call, kind + 1, body->params));
    syn_node *node = loom_syn_node(e, LOOM_OP_LIFTED, call->type, n, args, call->span);
    node->aux = kind == SYN_LIFT_REGULAR ? LOOM_VERSION_REGULAR : LOOM_VERSION_IRREGULAR;
    loom_syn_set_bodies(e, node, body, version);
    return node;
}

static void refuse_all(syn_decl *f) {
    for (uint32_t kind = 0; kind < SYN_LIFTS; kind++) {
        if (f->lifts[kind]) f->lifts[kind]->refused = f->lifts[kind]->checked = true;
    }
}

syn_node *loom_syn_lifted_call(syn_elab *e, syn_decl *f, syn_node *call, bool uses_seq) {
    bool any = false;
    for (uint32_t kind = 0; kind < SYN_LIFTS; kind++) any = any || (f->lifts[kind] && !f->lifts[kind]->refused);
    if (!any) return call;
    if (uses_seq) {
        loom_syn_error(e, LOOM_W_LIFTED_TYPE, f->span, "lift the function that is given to `map_seq`",
                       "`%s` works on sequences, so no operation is given it and it has no lifted version",
                       f->name->text);
        refuse_all(f);
        return call;
    }
    return with_versions(e, f, call, 0, call->operands);
}

void loom_syn_lifted_cycle(syn_elab *e, const syn_decl *decl, const syn_decl *of, loom_span span) {
    const char *hint = "a version is written without the function that it stands for; the function may use its version";
    if (of) {
        loom_syn_error(e, LOOM_W_LIFTED_CYCLE, span, hint, "`%s` uses `%s`, which it is the lifted version of",
                       decl->name->text, of->name->text);
    } else {
        loom_syn_error(e, LOOM_W_LIFTED_CYCLE, span, hint,
                       "`%s` is used by the lifted version of a function that it uses", decl->name->text);
    }
}
