/* Functions: running a body on arguments, expanding defs in place, and specialising them. */
#include "compiler/ir/foreign.h"
#include "elab.h"
#include <string.h>

/* ---- running a body ---- */

static syn_value *check_result(syn_elab *e, const syn_function *f, const syn_rt *rt, syn_value *v, syn_env *scope) {
    if (rt->kind == RT_FUNCTION) {
        if (!loom_syn_has_function(v)) return v;
        syn_value *promised = loom_syn_value(e, v->kind);
        *promised = *v;
        promised->signature = rt;
        return promised;
    }
    syn_node *node = loom_syn_need_node(e, v, f->body->span, "a result of this type");
    const char *name =
        f->name ? loom_arena_printf(e->arena, "result of `%s`", f->name->text) : "result of the function";
    const syn_exp *last = f->body;
    while (last->kind == E_LET || last->kind == E_LET_FUN) last = last->b;
    if (!loom_syn_need_type(e, LOOM_W_RESULT, node->type, rt->ty, last->span, "%s", name)) {
        return loom_syn_node_value(e, loom_syn_poison(e, last->span));
    }
    return loom_syn_node_value(e, loom_syn_claim(e, rt, node, scope));
}

syn_value *loom_syn_enter_function(syn_elab *e, const syn_function *f, syn_env *env, syn_value *const *args) {
    syn_env *scope = env;
    for (uint32_t i = 0; i < f->n_type_params; i++) {
        scope = loom_syn_bind_type(e, scope, f->type_params[i], loom_syn_ty_var(e, 0));
    }
    scope = loom_syn_declare_sizes(e, f, true, scope);
    syn_annotations list = {0};
    for (uint32_t i = 0; i < f->n_params; i++) loom_syn_annotations(e, f->params[i], args[i], scope, &list);
    /* Parameters may be named in the sizes of other parameters' types: names first, claims after. */
    syn_env *named = scope;
    for (uint32_t i = 0; i < f->n_params; i++) {
        named = loom_syn_bind_pattern(e, f->params[i], args[i], named, named, NULL, NULL);
    }
    loom_syn_bind_sizes(e, &list, named);
    syn_env *inner = named;
    size_t next = 0;
    if (list.count) {
        inner = scope;
        for (uint32_t i = 0; i < f->n_params; i++) {
            inner = loom_syn_bind_pattern(e, f->params[i], args[i], inner, named, &list, &next);
        }
    }
    if (!f->result) return loom_syn_elab(e, f->body, inner);
    const syn_rt *rt = loom_syn_resolve(e, f->result, inner);
    e->expected = rt->kind == RT_FUNCTION ? NULL : rt;
    return check_result(e, f, rt, loom_syn_elab(e, f->body, inner), inner);
}

/* ---- where we are ---- */

typedef struct place {
    syn_frame *frame;
    syn_body *body;
    syn_site *site;
    const syn_rt *expected;
    uint32_t limit_decl;
} place;

static place leave(syn_elab *e) {
    return (place){e->frame, e->body, e->site, e->expected, e->limit_decl};
}

static void come_back(syn_elab *e, place p) {
    e->frame = p.frame;
    e->body = p.body;
    e->site = p.site;
    e->expected = p.expected;
    e->limit_decl = p.limit_decl;
}

static void go_to(syn_elab *e, syn_decl *decl, loom_span call, bool instance) {
    syn_site *site = LOOM_NEW(e->arena, syn_site);
    *site = (syn_site){.decl = decl, .call = call, .outer = e->site, .instance = instance};
    site->depth = e->site ? e->site->depth + 1 : 1;
    if (site->depth > LOOM_SYN_MAX_EXPANSION) {
        loom_syn_limit(e, LOOM_W_EXPANSION, call, "use `loop` in place of functions that call each other",
                       "defs used inside each other more than %u levels deep", LOOM_SYN_MAX_EXPANSION);
    }
    e->site = site;
    e->limit_decl = decl->index;
    e->expected = NULL;
}

static syn_value *expand(syn_elab *e, syn_decl *decl, syn_value *const *args, loom_span span) {
    place back = leave(e);
    go_to(e, decl, span, false);
    syn_value *v = loom_syn_enter_function(e, decl->function, NULL, args);
    come_back(e, back);
    return v;
}

/* ---- instances ---- */

static uint32_t hash_key(const syn_decl *decl, const loom_type_id *types, uint32_t n) {
    uint32_t hash = decl->index * 0x9E3779B1u;
    for (uint32_t i = 0; i < n; i++) hash = (hash ^ types[i]) * 16777619u;
    return hash;
}

static syn_instance *find_instance(syn_elab *e, const syn_decl *decl, const loom_type_id *types, uint32_t n) {
    uint32_t hash = hash_key(decl, types, n);
    for (syn_instance *i = e->instances[hash % 1024]; i; i = i->next) {
        loom_syn_step(e);
        if (i->hash == hash && i->decl == decl && i->n_params == n &&
            (n == 0 || memcmp(i->params, types, n * sizeof *types) == 0)) {
            return i;
        }
    }
    return NULL;
}

static syn_instance *add_instance(syn_elab *e, syn_decl *decl, loom_type_id *types, uint32_t n) {
    if (++e->n_instances > LOOM_SYN_MAX_INSTANCES) {
        loom_syn_limit(e, LOOM_W_INSTANCES, decl->span, "call it with values of fewer types",
                       "more than %u specialised functions", LOOM_SYN_MAX_INSTANCES);
    }
    syn_instance *i = LOOM_NEW(e->arena, syn_instance);
    *i = (syn_instance){.decl = decl, .n_params = n, .params = types, .hash = hash_key(decl, types, n)};
    i->next = e->instances[i->hash % 1024];
    e->instances[i->hash % 1024] = i;
    return i;
}

/* Of a parameter that has no name, in a pattern or because the entry is a function of more than it names: its number.
 */
static const char *param_name(syn_elab *e, const syn_function *f, uint32_t i) {
    const syn_pat *pat = i < f->n_params ? f->params[i] : NULL;
    while (pat && pat->kind == P_TYPED) pat = pat->items[0];
    return pat && pat->kind == P_NAME ? pat->name->text : loom_arena_printf(e->arena, "arg%u", i);
}

/* Names of functions in the program are unique: the second instance of f is f.2. */
static const char *instance_name(syn_elab *e, syn_decl *decl) {
    uint32_t n = ++decl->n_instances;
    return n == 1 ? decl->name->text : loom_arena_printf(e->arena, "%s.%u", decl->name->text, n);
}

static void build(syn_elab *e, syn_instance *inst, syn_body *body, bool entry) {
    const syn_function *f = inst->decl->function;
    const char **names = LOOM_NEW_ARRAY(e->arena, const char *, body->n_params ? body->n_params : 1);
    for (uint32_t i = 0; i < body->n_params; i++) names[i] = param_name(e, f, i);
    loom_body_id id = loom_syn_emit(e, body);
    if (id == LOOM_NONE) return;
    inst->function = loom_build_function(e->program, instance_name(e, inst->decl), id, entry, names);
    e->program->functions[inst->function].foreign = inst->decl->foreign;
}

/* Of a foreign function: are its types those of the system's version? */
static bool check_foreign(syn_elab *e, const syn_decl *decl, const syn_body *body, syn_ty *result) {
    if (!decl->foreign) return true;
    loom_type_id *types = LOOM_NEW_ARRAY(e->arena, loom_type_id, body->n_params + 1);
    bool fits = loom_syn_ground(e, result);
    for (uint32_t i = 0; fits && i < body->n_params; i++) {
        fits = loom_syn_ground(e, body->params[i]->type);
        if (fits) types[i] = loom_syn_core_type(e, body->params[i]->type);
    }
    fits = fits && loom_foreign_fits(e->program, (loom_foreign)decl->foreign, body->n_params, types,
                                     loom_syn_core_type(e, result));
    if (fits) return true;
    const loom_foreign_info *known = &loom_foreign_table[decl->foreign];
    const char *found = "";
    for (uint32_t i = 0; i < body->n_params; i++) {
        found = loom_arena_printf(e->arena, "%s%s -> ", found, loom_syn_ty_text(e, body->params[i]->type));
    }
    loom_syn_error(e, LOOM_W_FOREIGN_TYPE, decl->span, "without `foreign` it is a def",
                   "foreign function `%s`: expected %s, found %s%s", known->name, known->types, found,
                   loom_syn_ty_text(e, result));
    return false;
}

static bool any_seq(syn_elab *e, const syn_body *body) {
    for (uint32_t i = 0; i < body->n_params; i++) {
        if (loom_syn_has_seq(e, body->params[i]->type)) return true;
    }
    return false;
}

/* After the walk: is the result a value of known type, then defaults and emission. */
static void finish_instance(syn_elab *e, syn_instance *inst, syn_frame *frame, syn_body *body, syn_value *v,
                            uint32_t errors) {
    inst->state = INSTANCE_FAILED;
    if (e->errors != errors) return;
    if (loom_syn_has_function(v) || !loom_syn_ground(e, v->node->type)) {
        inst->state = INSTANCE_INLINE;
        return;
    }
    loom_syn_defaults(e, frame);
    if (!check_foreign(e, inst->decl, body, v->node->type)) return;
    loom_syn_close(e, body, v->node);
    inst->result = v->node->type;
    inst->uses_seq = frame->uses_seq || any_seq(e, body);
    bool constant = v->node->op == LOOM_OP_CONST && body->n_params == 0;
    if (constant)
        inst->constant = v->node;
    else if (e->errors == errors)
        build(e, inst, body, false);
    if (e->errors == errors) inst->state = INSTANCE_CALL;
}

static void make_instance(syn_elab *e, syn_instance *inst, syn_value *const *args, loom_span span) {
    syn_decl *decl = inst->decl;
    const syn_function *f = decl->function;
    place back = leave(e);
    syn_frame *frame = LOOM_NEW(e->arena, syn_frame);
    *frame = (syn_frame){.decl = decl};
    syn_ty **types = LOOM_NEW_ARRAY(e->arena, syn_ty *, f->n_params ? f->n_params : 1);
    for (uint32_t i = 0; i < f->n_params; i++) types[i] = args[i]->node->type;
    e->frame = frame;
    go_to(e, decl, span, true);
    syn_body *body = loom_syn_open(e, B_FUNCTION, f->n_params, types, decl->span);
    syn_value **params = LOOM_NEW_ARRAY(e->arena, syn_value *, f->n_params ? f->n_params : 1);
    for (uint32_t i = 0; i < f->n_params; i++) params[i] = loom_syn_node_value(e, body->params[i]);
    uint32_t errors = e->errors;
    syn_value *v = loom_syn_enter_function(e, f, NULL, params);
    finish_instance(e, inst, frame, body, v, errors);
    come_back(e, back);
}

/* ---- calls ---- */

/* Where not even the forms agree (an array, a number), arguments have changed places: how the call is written. */
static const char *order_hint(syn_elab *e, const syn_decl *decl, const syn_value *argument, const syn_rt *wanted) {
    if (loom_syn_ty(argument->node->type)->kind == loom_syn_ty(wanted->ty)->kind) return NULL;
    const syn_function *f = decl->function;
    const char *form = loom_arena_printf(e->arena, "`%s", decl->name->text);
    for (uint32_t i = 0; i < f->n_params; i++) {
        form = loom_arena_printf(e->arena, "%s %s", form, param_name(e, f, i));
    }
    return loom_arena_printf(e->arena, "%s` is the order", form);
}

/* Unifies arguments with the annotations of the parameters, so that literals take their types before the question is
 * asked whether all types are known. */
static bool check_arguments(syn_elab *e, const syn_decl *decl, syn_value *const *args, loom_span span) {
    const syn_function *f = decl->function;
    place back = leave(e);
    uint32_t errors = e->errors;
    e->limit_decl = decl->index;
    syn_env *scope = NULL;
    for (uint32_t i = 0; i < f->n_type_params; i++) {
        scope = loom_syn_bind_type(e, scope, f->type_params[i], loom_syn_ty_var(e, 0));
    }
    for (uint32_t i = 0; i < f->n_params; i++) {
        if (f->params[i]->kind != P_TYPED || args[i]->kind != V_NODE) continue;
        const syn_rt *rt = loom_syn_resolve(e, f->params[i]->type, scope);
        loom_span at = loom_syn_argument_place(e, args[i], span);
        if (rt->kind == RT_FUNCTION) {
            if (e->frame->open || loom_syn_is_poison(args[i]->node->type)) continue;
            loom_syn_error(e, LOOM_W_FUNCTION_NEEDED, at,
                           "a function is a name, such as `sqrt`, `(+ 1)`, or `\\x -> x + 1`",
                           "argument %u (`%s`) of `%s`: expected a function, found %s", i + 1, param_name(e, f, i),
                           decl->name->text, loom_syn_ty_text(e, args[i]->node->type));
            continue;
        }
        loom_syn_need_type_hint(e, LOOM_W_ARGUMENT, args[i]->node->type, rt->ty, at, order_hint(e, decl, args[i], rt),
                                "argument %u (`%s`) of `%s`", i + 1, param_name(e, f, i), decl->name->text);
    }
    come_back(e, back);
    return e->errors == errors;
}

static bool all_ground(syn_elab *e, syn_value *const *args, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (loom_syn_has_function(args[i]) || !loom_syn_ground(e, args[i]->node->type)) return false;
    }
    return true;
}

static syn_node *call_node(syn_elab *e, const syn_instance *inst, syn_value *const *args, loom_span span) {
    uint32_t n = inst->n_params;
    if (inst->uses_seq) {
        e->frame->uses_seq = true;
        if (loom_syn_inside_operation(e)) {
            loom_syn_error(e, LOOM_W_SEQ_INSIDE, span, "work on sequences outside of it and use the result",
                           "`%s` works on sequences, so a function given to an operation cannot call it",
                           inst->decl->name->text);
        }
    }
    syn_node **operands = LOOM_NEW_ARRAY(e->arena, syn_node *, n ? n : 1);
    for (uint32_t i = 0; i < n; i++) operands[i] = args[i]->node;
    syn_node *call = loom_syn_node(e, LOOM_OP_CALL, inst->result, n, operands, span);
    call->aux = inst->function;
    return call;
}

/* A def without parameters is evaluated once for each function that uses it: outside of loops and of the bodies of
 * operations, but not outside of the branch of an `if`, which may be what keeps it from being evaluated. */
static syn_node *nullary_call(syn_elab *e, const syn_instance *inst, loom_span span) {
    if (inst->constant) {
        const syn_node *c = inst->constant;
        syn_node *copy = loom_syn_literal(e, (syn_literal)c->literal, c->integer, c->real, c->negative, c->type, span);
        copy->field = c->field;
        return copy;
    }
    for (const syn_nullary *known = e->frame->nullary; known; known = known->next) {
        if (known->decl != inst->decl) continue;
        for (const syn_body *b = e->body; b; b = b->outer) {
            if (b == known->body) return known->node;
        }
    }
    syn_body *here = e->body, *home = here;
    while (home->kind != B_FUNCTION && home->kind != B_BRANCH) home = home->outer;
    e->body = home;
    syn_nullary *entry = LOOM_NEW(e->arena, syn_nullary);
    *entry = (syn_nullary){
        .decl = inst->decl, .node = call_node(e, inst, NULL, span), .body = home, .next = e->frame->nullary};
    e->frame->nullary = entry;
    e->body = here;
    return entry->node;
}

syn_value *loom_syn_call_def(syn_elab *e, syn_decl *decl, syn_value *const *args, loom_span span) {
    uint32_t n = decl->function->n_params;
    decl->used = true;
    if (!check_arguments(e, decl, args, span)) return loom_syn_node_value(e, loom_syn_poison(e, span));
    /* Prelude functions are always expanded: they are small, and what fails in one is then placed where the user called
     * it. */
    if (decl->prelude || !all_ground(e, args, n)) return expand(e, decl, args, span);
    loom_type_id *types = LOOM_NEW_ARRAY(e->arena, loom_type_id, n ? n : 1);
    for (uint32_t i = 0; i < n; i++) types[i] = loom_syn_core_type(e, args[i]->node->type);
    syn_instance *inst = find_instance(e, decl, types, n);
    if (!inst) {
        inst = add_instance(e, decl, types, n);
        make_instance(e, inst, args, span);
    }
    if (inst->state == INSTANCE_INLINE) return expand(e, decl, args, span);
    if (inst->state == INSTANCE_FAILED) return loom_syn_node_value(e, loom_syn_poison(e, span));
    return loom_syn_node_value(e, n ? call_node(e, inst, args, span) : nullary_call(e, inst, span));
}

/* ---- entries and defs nobody calls ---- */

static syn_body *open_params(syn_elab *e, const syn_decl *decl, syn_value ***args) {
    uint32_t n = decl->function->n_params;
    syn_ty **types = LOOM_NEW_ARRAY(e->arena, syn_ty *, n ? n : 1);
    for (uint32_t i = 0; i < n; i++) types[i] = loom_syn_ty_var(e, 0);
    syn_body *body = loom_syn_open(e, B_FUNCTION, n, types, decl->span);
    *args = LOOM_NEW_ARRAY(e->arena, syn_value *, n ? n : 1);
    for (uint32_t i = 0; i < n; i++) {
        body->params[i]->span = decl->function->params[i]->span; /* where a size may come from, for messages */
        (*args)[i] = loom_syn_node_value(e, body->params[i]);
    }
    return body;
}

static bool known_parameters(syn_elab *e, const syn_decl *decl, const syn_body *body) {
    bool known = true;
    for (uint32_t i = 0; i < body->n_params; i++) {
        if (loom_syn_ground(e, body->params[i]->type)) continue;
        known = false;
        if (loom_syn_has_poison(e, body->params[i]->type)) continue; /* of a declaration that was complained about */
        const syn_function *f = decl->function;
        const char *name = param_name(e, f, i);
        syn_ty *t = loom_syn_ty(body->params[i]->type);
        const char *such = t->kind == TY_ARRAY ? "[]f32" : t->kind == TY_SEQ ? "seq f32" : "f32";
        const char *hint = loom_arena_printf(e->arena, "annotate it: (%s: %s)", name, such);
        const char *far =
            t->kind == TY_VAR && !t->mask ? "" : loom_arena_printf(e->arena, ": %s", loom_syn_ty_text(e, t));
        loom_syn_error(e, LOOM_W_OPEN_ENTRY, i < f->n_params ? f->params[i]->span : decl->span, hint,
                       "entry `%s`: the type of parameter `%s` is open%s", decl->name->text, name, far);
    }
    return known;
}

/* An entry may be a function of more than it names, as `entry f = map g`: what is missing become parameters, whose
 * types the body decides. */
static syn_value *complete_entry(syn_elab *e, const syn_decl *decl, syn_body *body, syn_value *v) {
    while (loom_syn_arity(e, v) > 0) {
        syn_value *next = loom_syn_node_value(e, loom_syn_add_param(e, body, loom_syn_ty_var(e, 0)));
        v = loom_syn_apply(e, v, 1, &next, decl->span);
    }
    return v;
}

static void finish_entry(syn_elab *e, syn_decl *decl, syn_frame *frame, syn_body *body, syn_value *v, uint32_t errors) {
    if (e->errors != errors) return;
    loom_syn_defaults(e, frame); /* of parameters too, whose types literals decide */
    if (!known_parameters(e, decl, body)) return;
    syn_node *result = loom_syn_need_node(e, v, decl->span, "the result of an entry");
    if (loom_syn_has_poison(e, result->type)) return;
    if (e->errors == errors && !loom_syn_ground(e, result->type)) {
        loom_syn_error(e, LOOM_W_OPEN_ENTRY, decl->span, "annotate it", "entry `%s`: the result's type is open: %s",
                       decl->name->text, loom_syn_ty_text(e, result->type));
    }
    if (e->errors != errors) return;
    loom_syn_close(e, body, result);
    loom_type_id *types = LOOM_NEW_ARRAY(e->arena, loom_type_id, body->n_params ? body->n_params : 1);
    for (uint32_t i = 0; i < body->n_params; i++) {
        e->at = body->params[i]->span;
        types[i] = loom_syn_core_type(e, body->params[i]->type);
    }
    syn_instance *inst = add_instance(e, decl, types, body->n_params);
    build(e, inst, body, true);
    inst->result = result->type;
    inst->uses_seq = frame->uses_seq || any_seq(e, body);
    inst->state = e->errors == errors ? INSTANCE_CALL : INSTANCE_FAILED;
}

static void elab_whole(syn_elab *e, syn_decl *decl, bool open) {
    place back = leave(e);
    syn_frame frame = {.decl = decl, .open = open};
    e->frame = &frame;
    decl->used = true;
    go_to(e, decl, loom_syn_no_span(), true);
    syn_value **args = NULL;
    syn_body *body = open_params(e, decl, &args);
    uint32_t errors = e->errors;
    syn_value *v = loom_syn_enter_function(e, decl->function, NULL, args);
    if (!open) finish_entry(e, decl, &frame, body, complete_entry(e, decl, body, v), errors);
    if (open && decl->foreign && e->errors == errors) {
        (void)check_foreign(e, decl, body,
                            loom_syn_need_node(e, v, decl->span, "the result of a foreign function")->type);
    }
    come_back(e, back);
}

void loom_syn_elab_entry(syn_elab *e, syn_decl *decl) {
    elab_whole(e, decl, false);
}

void loom_syn_check_unused(syn_elab *e, syn_decl *decl) {
    elab_whole(e, decl, true);
}
