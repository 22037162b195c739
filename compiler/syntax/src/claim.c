/* Size claims: sizes get their values from the parameters that name them first, and everything else that names a size
 * becomes a CLAIM node.
 *
 *     entry mvm [m] (mat: seq ([m]f32)) (x: [m]f32)     m := length x; mat := map_seq (\row -> claim row m) mat
 *     def f [n][m] (a: [n][m]f32) (b: [m][3]f32)        n := length a; m := dim 1 a; a := claim {1: m} a;
 *                                                       b := claim {0: m, 1: 3} b
 * The outermost level that binds a name needs no claim; an inner one does, because rows may differ. A name that occurs
 * only in the element type of one sequence is bound anew for every element.
 */
#include "elab.h"
#include <string.h>

/* ---- dimensions ---- */

static const syn_dim *given_dim(const syn_dim *dim, const syn_name *name) {
    for (const syn_dimenv *d = dim->env; d; d = d->next) {
        if (d->name == name) return d->dim;
    }
    return NULL;
}

syn_size *loom_syn_dim_size(syn_elab *e, const syn_dim *dim, syn_env *scope) {
    while (dim && dim->exp && dim->exp->kind == E_NAME) {
        loom_syn_step(e);
        const syn_dim *given = given_dim(dim, dim->exp->name);
        if (!given) {
            const syn_value *v = dim->abbreviation ? NULL : loom_syn_lookup(e, scope, dim->exp->name);
            return v && v->kind == V_SIZE ? v->size : NULL;
        }
        dim = given;
    }
    return NULL;
}

static syn_node *dim_value(syn_elab *e, const syn_dim *dim, const syn_exp *exp, syn_env *scope) {
    if (++e->depth > LOOM_SYN_MAX_RECURSION)
        loom_syn_limit(e, LOOM_W_SIZE_PARTS, exp->span, "name it first: `let n = ...`", "a size of too many parts");
    syn_node *n = NULL;
    bool sum = exp->kind == E_BINARY && !exp->flag && (strchr("+-*", exp->name->text[0]) && exp->name->length == 1);
    if (exp->kind == E_NAME) {
        const syn_dim *given = given_dim(dim, exp->name);
        if (given)
            n = given->exp ? dim_value(e, given, given->exp, scope) : NULL;
        else
            n = loom_syn_i64_of(
                e, LOOM_W_SIZE_FORM,
                loom_syn_need_node(e, loom_syn_name(e, exp->name, dim->abbreviation ? NULL : scope, exp->span),
                                   exp->span, "a size"),
                exp->span, "a size");
    } else if (exp->kind == E_INT && !exp->flag) {
        if (exp->integer > INT64_MAX) loom_syn_error(e, LOOM_W_SIZE_FORM, exp->span, NULL, "a size beyond 63 bits");
        n = loom_syn_i64(e, (int64_t)(exp->integer & INT64_MAX), exp->span);
    } else if (sum) {
        syn_node *a = dim_value(e, dim, exp->a, scope), *b = dim_value(e, dim, exp->b, scope);
        loom_prim prim = exp->name->text[0] == '+'   ? LOOM_PRIM_ADD
                         : exp->name->text[0] == '-' ? LOOM_PRIM_SUB
                                                     : LOOM_PRIM_MUL;
        n = a && b ? loom_syn_prim(e, prim, e->scalars[LOOM_I64], 2, (syn_node *[]){a, b}, exp->span) : NULL;
    } else {
        loom_syn_error(e, LOOM_W_SIZE_FORM, exp->span, "name it first: `let n = ...`",
                       "a size is a name, a number, or + - * of those");
    }
    e->depth--;
    return n;
}

/* NULL where nothing is claimed. */
syn_node *loom_syn_dim_node(syn_elab *e, const syn_dim *dim, syn_env *scope) {
    return dim->exp ? dim_value(e, dim, dim->exp, scope) : NULL;
}

/* ---- size names: declaring ---- */

static syn_env *declare_size(syn_elab *e, syn_env *env, syn_name *name, loom_span span) {
    syn_value *v = loom_syn_value(e, V_SIZE);
    v->size = LOOM_NEW(e->arena, syn_size);
    v->size->name = name;
    v->size->span = span;
    return loom_syn_bind(e, env, name, v);
}

static syn_env *declare_in_dim(syn_elab *e, const syn_exp *dim, syn_env *env) {
    loom_syn_step(e);
    if (dim->kind == E_BINARY) return declare_in_dim(e, dim->b, declare_in_dim(e, dim->a, env));
    if (dim->kind != E_NAME) return env;
    const syn_value *v = loom_syn_lookup(e, env, dim->name);
    const syn_decl *d = v ? NULL : loom_syn_top_level(e, dim->name);
    bool constant = d && !d->prelude && d->function->n_params == 0;
    return v || constant ? env : declare_size(e, env, dim->name, dim->span);
}

static syn_env *declare_in_type(syn_elab *e, const syn_te *t, syn_env *env) {
    loom_syn_step(e);
    for (uint32_t i = 0; i < t->n_dims; i++) {
        if (t->dims[i]) env = declare_in_dim(e, t->dims[i], env);
    }
    for (uint32_t i = 0; i < t->n_items; i++) env = declare_in_type(e, t->items[i], env);
    return env;
}

static syn_env *declare_in_pattern(syn_elab *e, const syn_pat *pat, syn_env *env) {
    if (pat->kind == P_NAME && loom_syn_lookup(e, env, pat->name)) return env;
    if (pat->type) env = declare_in_type(e, pat->type, env);
    for (uint32_t i = 0; i < pat->n_items; i++) env = declare_in_pattern(e, pat->items[i], env);
    return env;
}

syn_env *loom_syn_declare_sizes(syn_elab *e, const syn_function *f, bool implicit, syn_env *env) {
    for (uint32_t i = 0; i < f->n_sizes; i++) env = declare_size(e, env, f->sizes[i], f->size_spans[i]);
    for (uint32_t i = 0; i < f->n_params && implicit; i++) env = declare_in_pattern(e, f->params[i], env);
    return env;
}

/* ---- size names: binding ---- */

static void bind_in(syn_elab *e, const syn_rt *rt, syn_node *node, syn_env *scope);

/* Arrays of tuples: the columns, with the array levels above made one. */
static void bind_in_columns(syn_elab *e, const syn_rt *tuple, syn_node *node, uint32_t levels, syn_env *scope) {
    for (; levels > 1; levels--)
        node = loom_syn_node1(e, LOOM_OP_FLATTEN, loom_syn_ty(node->type)->element, node, node->span);
    syn_ty **columns = LOOM_NEW_ARRAY(e->arena, syn_ty *, tuple->n_items ? tuple->n_items : 1);
    for (uint32_t i = 0; i < tuple->n_items; i++) columns[i] = loom_syn_ty_array(e, tuple->items[i]->ty);
    syn_ty *type = loom_syn_ty_tuple(e, tuple->n_items, columns);
    type->shape = loom_syn_ty(tuple->ty)->shape;
    syn_node *unzipped = loom_syn_node1(e, LOOM_OP_UNZIP, type, node, node->span);
    for (uint32_t i = 0; i < tuple->n_items; i++) {
        if (!tuple->items[i]->has_dims) continue;
        syn_rt *column = LOOM_NEW(e->arena, syn_rt);
        *column = (syn_rt){.kind = RT_ARRAY, .ty = columns[i], .n_items = 1, .has_dims = true, .span = tuple->span};
        column->items = LOOM_NEW_ARRAY(e->arena, syn_rt *, 1);
        column->items[0] = tuple->items[i];
        bind_in(e, column, loom_syn_project(e, unzipped, i, node->span), scope);
    }
}

static void bind_level(syn_elab *e, const syn_rt *level, uint32_t depth, syn_node *node, syn_env *scope) {
    syn_size *size = loom_syn_dim_size(e, &level->dim, scope);
    if (!size || size->node) return;
    syn_ty *i64 = e->scalars[LOOM_I64];
    size->node = loom_syn_node1(e, depth ? LOOM_OP_DIM : LOOM_OP_LENGTH, i64, node, level->span);
    size->node->aux = depth;
    size->binder = level;
    if (size->per_element) LOOM_PUSH(e->arena, e->body->of_element, size);
}

/* What would give the sizes their values has been complained about: their uses are not. */
static void bind_poison(syn_elab *e, const syn_rt *rt, syn_env *scope) {
    loom_syn_step(e);
    if (!rt->has_dims || rt->kind == RT_FUNCTION) return;
    syn_size *size = rt->kind == RT_ARRAY ? loom_syn_dim_size(e, &rt->dim, scope) : NULL;
    if (size && !size->node) size->node = loom_syn_poison(e, rt->span);
    for (uint32_t i = 0; i < rt->n_items; i++) bind_poison(e, rt->items[i], scope);
}

static void bind_in(syn_elab *e, const syn_rt *rt, syn_node *node, syn_env *scope) {
    loom_syn_step(e);
    if (!rt->has_dims) return;
    if (loom_syn_is_poison(node->type)) {
        bind_poison(e, rt, scope);
        return;
    }
    if (rt->kind == RT_TUPLE) {
        for (uint32_t i = 0; i < rt->n_items; i++) {
            if (rt->items[i]->has_dims) bind_in(e, rt->items[i], loom_syn_project(e, node, i, node->span), scope);
        }
        return;
    }
    uint32_t depth = 0;
    for (; rt->kind == RT_ARRAY; rt = rt->items[0]) bind_level(e, rt, depth++, node, scope);
    if (rt->kind == RT_TUPLE && rt->has_dims && depth) bind_in_columns(e, rt, node, depth, scope);
}

/* Sizes that only elements of sequences name. */
static void mark_in_seq(syn_elab *e, const syn_rt *rt, const void *sequence, syn_env *scope) {
    loom_syn_step(e);
    if (!rt->has_dims) return;
    if (rt->kind == RT_SEQ) sequence = rt;
    syn_size *size = rt->kind == RT_ARRAY && sequence ? loom_syn_dim_size(e, &rt->dim, scope) : NULL;
    if (size && !size->node) {
        if (size->sequence && size->sequence != sequence && !size->in_two) {
            size->in_two = true;
            loom_syn_error(e, LOOM_W_SIZE_OF_STREAMS, rt->span,
                           "give the size as a parameter, `(n: i64)`, or leave it out of one of the types",
                           "size `%s` is named by the elements of two sequences and by no array", size->name->text);
        }
        size->sequence = sequence;
        size->per_element = true;
    }
    for (uint32_t i = 0; i < rt->n_items; i++) mark_in_seq(e, rt->items[i], sequence, scope);
}

void loom_syn_bind_sizes(syn_elab *e, const syn_annotations *list, syn_env *scope) {
    for (size_t i = 0; i < list->count; i++) {
        const syn_annotation *a = &list->at[i];
        if (a->value->kind == V_NODE && a->rt->kind != RT_FUNCTION) bind_in(e, a->rt, a->value->node, scope);
    }
    for (size_t i = 0; i < list->count; i++) {
        if (list->at[i].rt->kind != RT_FUNCTION) mark_in_seq(e, list->at[i].rt, NULL, scope);
    }
}

/* ---- claiming ---- */

static syn_node *claim_tuple(syn_elab *e, const syn_rt *rt, syn_node *node, syn_env *scope) {
    syn_node **parts = LOOM_NEW_ARRAY(e->arena, syn_node *, rt->n_items ? rt->n_items : 1);
    bool changed = false;
    for (uint32_t i = 0; i < rt->n_items; i++) {
        syn_node *part = loom_syn_project(e, node, i, node->span);
        parts[i] = loom_syn_claim(e, rt->items[i], part, scope);
        changed = changed || parts[i] != part;
    }
    return changed ? loom_syn_tuple_of(e, loom_syn_ty(node->type), parts, node->span) : node;
}

/* Claims about what is inside the elements of an array. */
static syn_node *claim_elements(syn_elab *e, const syn_rt *rt, syn_node *node, syn_env *scope) {
    if (rt->kind != RT_ARRAY) return loom_syn_claim(e, rt, node, scope);
    syn_body *body = loom_syn_open(e, B_ARRAY, 1, &rt->items[0]->ty, rt->span);
    loom_syn_close(e, body, claim_elements(e, rt->items[0], body->params[0], scope));
    if (body->result == body->params[0]) return node;
    syn_node *map = loom_syn_node1(e, LOOM_OP_MAP, rt->ty, node, rt->span);
    loom_syn_set_bodies(e, map, body, NULL);
    return map;
}

static syn_node *claim_array(syn_elab *e, const syn_rt *rt, syn_node *node, syn_env *scope) {
    syn_node *operands[33] = {node};
    uint32_t n = 1, mask = 0, depth = 0;
    const syn_rt *level = rt;
    for (; level->kind == RT_ARRAY && depth < 32; level = level->items[0], depth++) {
        const syn_size *size = loom_syn_dim_size(e, &level->dim, scope);
        if (size && size->binder == level && depth == 0) continue;
        if (size && size->in_two) continue; /* has been reported */
        syn_node *dim = loom_syn_dim_node(e, &level->dim, scope);
        if (!dim) continue;
        operands[n++] = dim;
        mask |= 1u << depth;
    }
    if (mask) {
        node = loom_syn_node(e, LOOM_OP_CLAIM, node->type, n, operands, rt->span);
        node->aux = mask;
    }
    return level->has_dims ? claim_elements(e, rt, node, scope) : node;
}

static syn_node *claim_seq(syn_elab *e, const syn_rt *rt, syn_node *node, syn_env *scope) {
    syn_body *body = loom_syn_open(e, B_STREAM, 1, &rt->items[0]->ty, rt->span);
    bind_in(e, rt->items[0], body->params[0], scope);
    loom_syn_close(e, body, loom_syn_claim(e, rt->items[0], body->params[0], scope));
    if (body->result == body->params[0]) return node;
    syn_node *map = loom_syn_node1(e, LOOM_OP_SEQ_MAP, rt->ty, node, rt->span);
    loom_syn_set_bodies(e, map, body, NULL);
    return map;
}

syn_node *loom_syn_claim(syn_elab *e, const syn_rt *rt, syn_node *node, syn_env *scope) {
    loom_syn_step(e);
    if (!rt->has_dims || loom_syn_is_poison(node->type)) return node;
    switch (rt->kind) {
    case RT_TUPLE: return claim_tuple(e, rt, node, scope);
    case RT_ARRAY: return claim_array(e, rt, node, scope);
    case RT_SEQ: return claim_seq(e, rt, node, scope);
    default: return node;
    }
}
