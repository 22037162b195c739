/* Types as written to types as terms, with the size claims beside them. Abbreviations are expanded, their sizes
 * replaced by what was given to them. */
#include "elab.h"
#include <string.h>

typedef struct resolver {
    syn_elab *e;
    const syn_dimenv *dims; /* sizes of the abbreviation being expanded */
    bool abbreviation;
} resolver;

static syn_rt *resolve(const resolver *r, const syn_te *t, syn_env *env);

static syn_rt *new_rt(syn_elab *e, int kind, loom_span span) {
    loom_syn_step(e);
    syn_rt *rt = LOOM_NEW(e->arena, syn_rt);
    rt->kind = kind;
    rt->span = span;
    return rt;
}

static syn_rt *plain(syn_elab *e, syn_ty *ty, loom_span span) {
    syn_rt *rt = new_rt(e, RT_PLAIN, span);
    rt->ty = ty;
    return rt;
}

/* A type that stands inside another: no function, no sequence. */
static syn_rt *resolve_part(const resolver *r, const syn_te *t, syn_env *env, const char *where) {
    syn_rt *rt = resolve(r, t, env);
    if (rt->kind == RT_FUNCTION) {
        loom_syn_error(r->e, LOOM_W_FUNCTION_AS_VALUE, t->span, "functions are parameters and results of a def",
                       "a function cannot be in %s", where);
        return plain(r->e, r->e->poison, t->span);
    }
    if (!loom_syn_forbid_seq(r->e, rt->ty)) {
        loom_syn_error(r->e, LOOM_W_SEQ_PART, t->span, "sequences are parameters or results of their own",
                       "a sequence cannot be in %s", where);
        return plain(r->e, r->e->poison, t->span);
    }
    return rt;
}

static void take_items(const resolver *r, syn_rt *rt, const syn_te *t, syn_env *env, const char *where) {
    rt->n_items = t->n_items;
    rt->items = LOOM_NEW_ARRAY(r->e->arena, syn_rt *, t->n_items ? t->n_items : 1);
    for (uint32_t i = 0; i < t->n_items; i++) {
        rt->items[i] = resolve_part(r, t->items[i], env, where);
        rt->has_dims = rt->has_dims || rt->items[i]->has_dims;
    }
}

static syn_rt *resolve_tuple(const resolver *r, const syn_te *t, syn_env *env) {
    syn_rt *rt = new_rt(r->e, RT_TUPLE, t->span);
    take_items(r, rt, t, env, t->names ? "a record" : "a tuple");
    syn_ty **types = LOOM_NEW_ARRAY(r->e->arena, syn_ty *, t->n_items ? t->n_items : 1);
    for (uint32_t i = 0; i < t->n_items; i++) types[i] = rt->items[i]->ty;
    if (!t->names) {
        rt->ty = loom_syn_ty_tuple(r->e, t->n_items, types);
        return rt;
    }
    uint32_t *place = LOOM_NEW_ARRAY(r->e->arena, uint32_t, t->n_items ? t->n_items : 1);
    rt->ty = loom_syn_ty_record(r->e, t->n_items, t->names, types, place);
    syn_rt **ordered = LOOM_NEW_ARRAY(r->e->arena, syn_rt *, t->n_items ? t->n_items : 1);
    for (uint32_t i = 0; i < t->n_items; i++) ordered[place[i]] = rt->items[i];
    rt->items = ordered;
    return rt;
}

static syn_rt *resolve_array(const resolver *r, const syn_te *t, syn_env *env) {
    syn_rt *rt = new_rt(r->e, t->kind == TE_SEQ ? RT_SEQ : RT_ARRAY, t->span);
    take_items(r, rt, t, env, t->kind == TE_SEQ ? "a sequence" : "an array");
    if (t->kind == TE_SEQ) {
        rt->ty = loom_syn_ty_seq(r->e, rt->items[0]->ty);
        return rt;
    }
    rt->ty = loom_syn_ty_array(r->e, rt->items[0]->ty);
    rt->dim = (syn_dim){.exp = t->dims[0], .env = r->dims, .abbreviation = r->abbreviation};
    rt->has_dims = rt->has_dims || t->dims[0];
    return rt;
}

static syn_rt *resolve_function(const resolver *r, const syn_te *t, syn_env *env) {
    syn_rt *rt = new_rt(r->e, RT_FUNCTION, t->span);
    rt->n_items = 2;
    rt->items = LOOM_NEW_ARRAY(r->e->arena, syn_rt *, 2);
    rt->items[0] = resolve(r, t->items[0], env);
    rt->items[1] = resolve(r, t->items[1], env);
    return rt;
}

/* ---- names ---- */

/* Does the type, as written, have this name in it? There is none where it could not be read. */
static bool mentions(const syn_te *t, const syn_name *name) {
    if (!t) return false;
    if (t->kind == TE_NAME && t->name == name) return true;
    for (uint32_t i = 0; i < t->n_items; i++) {
        if (mentions(t->items[i], name)) return true;
    }
    return false;
}

/* A declaration of this name that is not visible yet: the type's own, one made of it, or just a later one. */
static const char *later_hint(syn_elab *e, const syn_decl *later) {
    const syn_decl *here = e->limit_decl < e->decls->count ? e->decls->at[e->limit_decl] : NULL;
    bool circular = here && here->kind == D_TYPE && (later == here || mentions(later->type, here->name));
    if (circular) return "a type cannot be made of itself";
    return loom_arena_printf(e->arena, "it is defined later, in line %u: move it up", later->span.line);
}

static syn_rt *unknown_type(syn_elab *e, const syn_te *t) {
    static const struct {
        const char *name, *hint;
    } hints[] = {{"int", "integers are i8 i16 i32 i64, u8 u16 u32 u64"},
                 {"float", "floats are f32 and f64"},
                 {"double", "f64 is the double"},
                 {"complex", "complex numbers are c64 and c128"},
                 {"f16", "floats are f32 and f64"},
                 {"usize", "sizes are i64"}};
    const char *hint = NULL;
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        if (strcmp(t->name->text, hints[i].name) == 0) hint = hints[i].hint;
    }
    if (!hint && t->name->type) hint = later_hint(e, t->name->type);
    if (!hint)
        hint = loom_arena_printf(e->arena, "a type parameter is declared '%s after the def's name", t->name->text);
    loom_syn_error(e, LOOM_W_UNKNOWN_TYPE, t->span, hint, "unknown type `%s`", t->name->text);
    return plain(e, e->poison, t->span);
}

/* The sizes given to an abbreviation, by its names for them. Left out: no claim. */
static const syn_dimenv *bind_dims(const resolver *r, const syn_te *t, const syn_function *params) {
    const syn_dimenv *dims = NULL;
    for (uint32_t i = 0; i < params->n_sizes; i++) {
        syn_dimenv *entry = LOOM_NEW(r->e->arena, syn_dimenv);
        entry->name = params->sizes[i];
        entry->dim = LOOM_NEW(r->e->arena, syn_dim);
        if (i < t->n_dims) *entry->dim = (syn_dim){.exp = t->dims[i], .env = r->dims, .abbreviation = r->abbreviation};
        entry->next = dims;
        dims = entry;
    }
    return dims;
}

static syn_rt *expand(const resolver *r, const syn_te *t, syn_env *env, const syn_decl *d) {
    syn_elab *e = r->e;
    const syn_function *params = d->function;
    if (t->n_dims > params->n_sizes || t->n_items != params->n_type_params) {
        loom_syn_error(e, LOOM_W_TYPE_ARGUMENTS, t->span,
                       loom_arena_printf(e->arena, "it is defined in line %u", d->span.line),
                       "`%s` takes %u sizes and %u types, found %u and %u", t->name->text, params->n_sizes,
                       params->n_type_params, t->n_dims, t->n_items);
        return plain(e, e->poison, t->span);
    }
    syn_env *inner = NULL;
    for (uint32_t i = 0; i < t->n_items; i++) {
        const syn_rt *argument = resolve_part(r, t->items[i], env, "a type's arguments");
        inner = loom_syn_bind_type(e, inner, params->type_params[i], argument->ty);
    }
    resolver deeper = {.e = e, .dims = bind_dims(r, t, params), .abbreviation = true};
    uint32_t limit = e->limit_decl;
    e->limit_decl = d->index;
    syn_rt *rt = resolve(&deeper, d->type, inner);
    e->limit_decl = limit;
    return rt;
}

static syn_rt *resolve_name(const resolver *r, const syn_te *t, syn_env *env) {
    syn_elab *e = r->e;
    if (t->name->dtype != LOOM_DTYPES) return plain(e, e->scalars[t->name->dtype], t->span);
    for (const syn_env *entry = env; entry; entry = entry->next) {
        loom_syn_step(e);
        if (entry->name == t->name && entry->type) return plain(e, entry->type, t->span);
    }
    const syn_decl *d = t->name->type;
    while (d && d->index >= e->limit_decl) d = d->shadowed;
    if (d && d->broken) return plain(e, e->poison, t->span);
    return d ? expand(r, t, env, d) : unknown_type(e, t);
}

static syn_rt *resolve(const resolver *r, const syn_te *t, syn_env *env) {
    syn_elab *e = r->e;
    if (++e->depth > LOOM_SYN_MAX_RECURSION)
        loom_syn_limit(e, LOOM_W_RECURSION, t->span, "a record of named parts nests less",
                       "types nested more than %u levels deep", LOOM_SYN_MAX_RECURSION);
    r->e->at = t->span;
    syn_rt *rt = NULL;
    switch (t->kind) {
    case TE_NAME: rt = resolve_name(r, t, env); break;
    case TE_TUPLE:
    case TE_RECORD: rt = resolve_tuple(r, t, env); break;
    case TE_ARRAY:
    case TE_SEQ: rt = resolve_array(r, t, env); break;
    case TE_FUN: rt = resolve_function(r, t, env); break;
    }
    e->depth--;
    return rt;
}

syn_rt *loom_syn_resolve(syn_elab *e, const syn_te *t, syn_env *env) {
    return resolve(&(resolver){.e = e}, t, env);
}
