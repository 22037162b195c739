/* Patterns against values. Two walks: the first unifies annotations and lists them (sizes are bound from the list, over
 * all parameters of a function), the second claims and binds names. */
#include "elab.h"

syn_value *loom_syn_part_of(syn_elab *e, const syn_pat *pat, syn_value *value, uint32_t i) {
    syn_name *name = pat->names ? pat->names[i] : NULL;
    if (name) return loom_syn_field(e, value, name, pat->items[i]->span);
    if (value->kind == V_TUPLE) return value->args[i];
    return loom_syn_node_value(e, loom_syn_project(e, value->node, i, pat->items[i]->span));
}

bool loom_syn_takes_apart(syn_elab *e, const syn_pat *pat, syn_value *value) {
    if (pat->kind == P_RECORD) {
        if (value->kind == V_NODE || value->kind == V_TUPLE) return true;
    } else if (value->kind == V_TUPLE) {
        if (!value->shape && value->n_args == pat->n_items) return true;
    } else if (value->kind == V_NODE) {
        syn_ty *t = loom_syn_ty(value->node->type);
        if (t->kind == TY_POISON) return false;
        if (t->kind == TY_VAR) {
            syn_ty **parts = LOOM_NEW_ARRAY(e->arena, syn_ty *, pat->n_items ? pat->n_items : 1);
            for (uint32_t i = 0; i < pat->n_items; i++) parts[i] = loom_syn_ty_var(e, 0);
            if (loom_syn_unify(e, t, loom_syn_ty_tuple(e, pat->n_items, parts))) return true;
        }
        t = loom_syn_ty(t);
        if (t->kind == TY_TUPLE && !t->shape && t->n == pat->n_items) return true;
        const char *hint = t->kind != TY_TUPLE ? NULL
                           : t->shape
                               ? "take a record apart with {x, y} or .x"
                               : loom_arena_printf(e->arena, "name all %u, or write `_` for those not needed", t->n);
        loom_syn_error(e, LOOM_W_PATTERN_PARTS, pat->span, hint, "a pattern of %u components for %s", pat->n_items,
                       loom_syn_ty_text(e, t));
        return false;
    }
    loom_syn_error(e, LOOM_W_PATTERN_PARTS, pat->span, NULL, "this pattern does not fit a function");
    return false;
}

/* False where a value has not the type it is said to have. */
static bool check_annotation(syn_elab *e, const syn_pat *pat, const syn_rt *rt, syn_value *value) {
    if (rt->kind == RT_FUNCTION) {
        if (value->kind == V_NODE && !loom_syn_is_poison(value->node->type) && !e->frame->open) {
            bool entry = loom_syn_ty(value->node->type)->kind == TY_VAR && e->frame->decl->kind == D_ENTRY;
            if (entry) {
                loom_syn_error(e, LOOM_W_ENTRY_FUNCTION, pat->span,
                               "an entry is given data; functions are parameters of `def`",
                               "a parameter of an entry cannot be a function");
                loom_syn_unify(e, value->node->type, e->poison);
            } else {
                loom_syn_error(e, LOOM_W_FUNCTION_NEEDED, pat->span, NULL, "a function is needed here, found %s",
                               loom_syn_ty_text(e, value->node->type));
            }
        }
        return true;
    }
    syn_node *node = loom_syn_need_node(e, value, pat->span, "a value of this type");
    return loom_syn_need_type(e, LOOM_W_ANNOTATION, node->type, rt->ty, pat->span, "`%s`",
                              pat->items[0]->kind == P_NAME ? pat->items[0]->name->text : "pattern");
}

void loom_syn_annotations(syn_elab *e, const syn_pat *pat, syn_value *value, syn_env *env, syn_annotations *list) {
    loom_syn_step(e);
    if (pat->kind == P_TYPED) {
        syn_annotation a = {.pat = pat, .rt = loom_syn_resolve(e, pat->type, env), .value = value};
        a.differs = !check_annotation(e, pat, a.rt, value);
        LOOM_PUSH(e->arena, *list, a);
        loom_syn_annotations(e, pat->items[0], value, env, list);
    } else if (pat->kind == P_TUPLE || pat->kind == P_RECORD) {
        bool fits = loom_syn_takes_apart(e, pat, value);
        for (uint32_t i = 0; i < pat->n_items; i++) {
            syn_value *part =
                fits ? loom_syn_part_of(e, pat, value, i) : loom_syn_node_value(e, loom_syn_poison(e, pat->span));
            loom_syn_annotations(e, pat->items[i], part, env, list);
        }
    }
}

static syn_value *claimed_value(syn_elab *e, const syn_annotation *a, syn_value *value, syn_env *scope) {
    if (a->differs) return loom_syn_node_value(e, loom_syn_poison(e, a->pat->span));
    if (a->rt->kind != RT_FUNCTION) {
        if (value->kind != V_NODE) return value;
        syn_node *node = loom_syn_claim(e, a->rt, value->node, scope);
        return node == value->node ? value : loom_syn_node_value(e, node);
    }
    if (value->kind == V_NODE) return value;
    syn_value *promised = loom_syn_value(e, value->kind);
    *promised = *value;
    promised->signature = a->rt;
    return promised;
}

syn_env *loom_syn_bind_pattern(syn_elab *e, const syn_pat *pat, syn_value *value, syn_env *env, syn_env *scope,
                               const syn_annotations *list, size_t *next) {
    loom_syn_step(e);
    switch (pat->kind) {
    case P_NAME: return loom_syn_bind(e, env, pat->name, value);
    case P_WILD:
    case P_LITERAL: return env;
    case P_TYPED:
        if (list) value = claimed_value(e, &list->at[(*next)++], value, scope);
        return loom_syn_bind_pattern(e, pat->items[0], value, env, scope, list, next);
    default: break;
    }
    bool poisoned = value->kind == V_NODE && loom_syn_ty(value->node->type)->kind != TY_TUPLE && pat->kind == P_TUPLE;
    bool misfit =
        value->kind != V_NODE && !(value->kind == V_TUPLE && (pat->kind == P_RECORD || value->n_args == pat->n_items));
    bool other =
        value->kind == V_NODE && pat->kind == P_TUPLE && !poisoned && loom_syn_ty(value->node->type)->n != pat->n_items;
    for (uint32_t i = 0; i < pat->n_items; i++) {
        syn_value *part = poisoned || misfit || other ? loom_syn_node_value(e, loom_syn_poison(e, pat->span))
                                                      : loom_syn_part_of(e, pat, value, i);
        env = loom_syn_bind_pattern(e, pat->items[i], part, env, scope, list, next);
    }
    return env;
}

syn_env *loom_syn_match(syn_elab *e, const syn_pat *pat, syn_value *value, syn_env *env) {
    if (pat->kind == P_NAME) return loom_syn_bind(e, env, pat->name, value);
    syn_annotations list = {0};
    size_t next = 0;
    loom_syn_annotations(e, pat, value, env, &list);
    return loom_syn_bind_pattern(e, pat, value, env, env, &list, &next);
}

syn_node *loom_syn_claim_pattern(syn_elab *e, const syn_pat *pat, syn_node *node, syn_env *scope,
                                 const syn_annotations *list, size_t *next) {
    loom_syn_step(e);
    if (pat->kind == P_TYPED) {
        node = loom_syn_claim(e, list->at[(*next)++].rt, node, scope);
        return loom_syn_claim_pattern(e, pat->items[0], node, scope, list, next);
    }
    syn_ty *t = loom_syn_ty(node->type);
    if (pat->n_items == 0 || t->kind != TY_TUPLE || t->n < pat->n_items) return node;
    syn_node **parts = LOOM_NEW_ARRAY(e->arena, syn_node *, t->n);
    bool changed = false;
    for (uint32_t i = 0; i < t->n; i++) parts[i] = loom_syn_project(e, node, i, node->span);
    for (uint32_t i = 0; i < pat->n_items; i++) {
        int place = pat->names ? loom_syn_find_field(t, pat->names[i]) : (int)i;
        if (place < 0) continue;
        syn_node *part = loom_syn_claim_pattern(e, pat->items[i], parts[place], scope, list, next);
        changed = changed || part != parts[place];
        parts[place] = part;
    }
    return changed ? loom_syn_tuple_of(e, t, parts, node->span) : node;
}
