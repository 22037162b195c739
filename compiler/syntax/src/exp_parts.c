/* Larger expressions: indexing and slicing, updates, loops, ranges. */
#include "elab.h"
#include <string.h>

/* ---- indexing ---- */

/* Three nodes for each place: at (or from), to, step; NULL where left out. */
syn_value **loom_syn_index_places(syn_elab *e, const syn_exp *x, syn_env *env) {
    syn_value **places = LOOM_NEW_ARRAY(e->arena, syn_value *, 3 * (size_t)x->n_index);
    for (uint32_t i = 0; i < x->n_index; i++) {
        const syn_exp *parts[3] = {x->index[i].at, x->index[i].to, x->index[i].step};
        for (int k = 0; k < 3; k++) {
            if (!parts[k]) continue;
            syn_node *n = loom_syn_elab_node(e, parts[k], env, "an index");
            n = loom_syn_i64_of(e, LOOM_W_INDEX_TYPE, n, parts[k]->span, x->index[i].slice ? "slice" : "index");
            places[3 * i + (uint32_t)k] = loom_syn_node_value(e, n);
        }
    }
    return places;
}

syn_node *loom_syn_index_of(syn_elab *e, syn_value *v, uint32_t n, syn_value *const *places, const syn_index *index,
                            loom_span span) {
    if (v->kind == V_WINDOW) return loom_syn_window_read(e, v->window, n, places, index, span);
    return loom_syn_index(e, loom_syn_need_node(e, v, span, "indexed"), n, places, index, span);
}

static syn_ty *element_of(syn_elab *e, syn_node *array, uint32_t levels, loom_span span) {
    syn_ty *element = loom_syn_ty_var(e, 0);
    element->no_seq = true;
    syn_ty *t = loom_syn_ty(array->type);
    if (t->kind == TY_SEQ) {
        loom_syn_error(e, LOOM_W_SEQ_INDEXED, span, "`from_seq` makes an array of it", "a sequence cannot be indexed");
        return e->poison;
    }
    if (loom_syn_unify(e, t, loom_syn_ty_arrays(e, element, levels))) return element;
    uint32_t rank = loom_syn_rank(t, NULL);
    const char *hint = rank == 0 ? "`f [x]` with a space gives an array to a function"
                                 : loom_arena_printf(e->arena, "it has %u level%s", rank, rank == 1 ? "" : "s");
    loom_syn_error(e, LOOM_W_INDEX_DEPTH, span, hint, "%u ind%s need%s an array of that depth, found %s", levels,
                   levels == 1 ? "ex" : "ices", levels == 1 ? "s" : "", loom_syn_ty_text(e, t));
    return e->poison;
}

static syn_node *slice(syn_elab *e, syn_node *array, syn_value *const *place, loom_span span) {
    if (element_of(e, array, 1, span) == e->poison) return loom_syn_poison(e, span);
    syn_node *operands[4] = {array};
    uint32_t n = 1, present = 0;
    for (uint32_t k = 0; k < 3; k++) {
        if (!place[k]) continue;
        operands[n++] = place[k]->node;
        present |= 1u << k;
    }
    syn_node *s = loom_syn_node(e, LOOM_OP_SLICE, array->type, n, operands, span);
    s->aux = present;
    return s;
}

/* xs[i, j] is one INDEX; what follows a slice is done for each row: xs[a:b, j] = map (\r -> r[j]) xs[a:b]. */
syn_node *loom_syn_index(syn_elab *e, syn_node *array, uint32_t n, syn_value *const *places, const syn_index *index,
                         loom_span span) {
    uint32_t plain = 0;
    while (plain < n && !index[plain].slice) plain++;
    if (plain) {
        syn_node **operands = LOOM_NEW_ARRAY(e->arena, syn_node *, (size_t)plain + 1);
        operands[0] = array;
        for (uint32_t i = 0; i < plain; i++) operands[i + 1] = places[3 * i]->node;
        syn_ty *element = element_of(e, array, plain, span);
        if (element == e->poison) return loom_syn_poison(e, span);
        array = loom_syn_node(e, LOOM_OP_INDEX, element, plain + 1, operands, span);
    }
    if (plain == n) return array;
    array = slice(e, array, places + 3 * plain, span);
    uint32_t rest = n - plain - 1;
    if (rest == 0 || loom_syn_is_poison(array->type)) return array;
    syn_ty *row = element_of(e, array, 1, span);
    syn_body *body = loom_syn_open(e, B_ARRAY, 1, &row, span);
    loom_syn_close(e, body,
                   loom_syn_index(e, body->params[0], rest, places + 3 * (plain + 1), index + plain + 1, span));
    syn_node *map = loom_syn_node1(e, LOOM_OP_MAP, loom_syn_ty_array(e, body->result->type), array, span);
    loom_syn_set_bodies(e, map, body, NULL);
    return map;
}

/* ---- updates ---- */

static syn_value *update_slice(syn_elab *e, const syn_exp *x, syn_node *array, syn_value *const *places,
                               syn_node *value) {
    if (x->n_index != 1 || places[2]) {
        loom_syn_error(e, LOOM_W_UPDATE_FORM, x->name_span, "update row by row with `map`",
                       "an update takes indices, or one slice without a step");
        return loom_syn_node_value(e, loom_syn_poison(e, x->span));
    }
    syn_node *from = places[0] ? places[0]->node : loom_syn_i64(e, 0, x->span);
    syn_node *to =
        places[1] ? places[1]->node : loom_syn_node1(e, LOOM_OP_LENGTH, e->scalars[LOOM_I64], array, x->span);
    return loom_syn_call_named(e, "update_slice", 4, (syn_node *[]){array, from, to, value}, x->span);
}

syn_value *loom_syn_elab_update(syn_elab *e, const syn_exp *x, syn_env *env) {
    syn_node *array = loom_syn_elab_node(e, x->a, env, "updated");
    syn_value **places = loom_syn_index_places(e, x, env);
    syn_node *value = loom_syn_elab_node(e, x->b, env, "an element of an array");
    for (uint32_t i = 0; i < x->n_index; i++) {
        if (x->index[i].slice) return update_slice(e, x, array, places, value);
    }
    syn_ty *element = element_of(e, array, x->n_index, x->span);
    if (element == e->poison ||
        !loom_syn_need_type(e, LOOM_W_UPDATE_VALUE, value->type, element, x->b->span, "new element")) {
        return loom_syn_node_value(e, loom_syn_poison(e, x->span));
    }
    syn_node **operands = LOOM_NEW_ARRAY(e->arena, syn_node *, (size_t)x->n_index + 2);
    operands[0] = array;
    operands[1] = value;
    for (uint32_t i = 0; i < x->n_index; i++) operands[i + 2] = places[3 * i]->node;
    return loom_syn_node_value(e, loom_syn_node(e, LOOM_OP_UPDATE, array->type, x->n_index + 2, operands, x->span));
}

static syn_node *with_field(syn_elab *e, const syn_exp *x, syn_node *record, uint32_t at, syn_node *value) {
    if (at == x->n_names) {
        loom_syn_need_type(e, LOOM_W_UPDATE_VALUE, value->type, record->type, x->b->span, "new value of the field");
        return value;
    }
    syn_ty *t = loom_syn_ty(record->type);
    int place = loom_syn_find_field(t, x->names[at]);
    if (place < 0) {
        if (t->kind != TY_POISON) {
            const char *hint = t->kind == TY_VAR ? "annotate it with its record type" : NULL;
            loom_syn_error(e, LOOM_W_NO_FIELD, x->name_span, hint, "no field `%s` in %s", x->names[at]->text,
                           loom_syn_ty_text(e, t));
        }
        return loom_syn_poison(e, x->span);
    }
    syn_node **parts = LOOM_NEW_ARRAY(e->arena, syn_node *, t->n);
    for (uint32_t i = 0; i < t->n; i++) parts[i] = loom_syn_project(e, record, i, x->span);
    parts[place] = with_field(e, x, parts[place], at + 1, value);
    return loom_syn_tuple_of(e, t, parts, x->span);
}

syn_value *loom_syn_elab_update_field(syn_elab *e, const syn_exp *x, syn_env *env) {
    syn_node *record = loom_syn_elab_node(e, x->a, env, "updated");
    syn_node *value = loom_syn_elab_node(e, x->b, env, "a field");
    if (x->n_names > LOOM_MAX_TYPE_NESTING) {
        loom_syn_error(e, LOOM_W_UPDATE_FORM, x->name_span, NULL, "a path of %u fields", x->n_names);
        return loom_syn_node_value(e, loom_syn_poison(e, x->span));
    }
    return loom_syn_node_value(e, with_field(e, x, record, 0, value));
}

/* ---- ranges ---- */

/* Ranges are prelude functions, but 0..<n of i64 is iota. */
syn_value *loom_syn_elab_range(syn_elab *e, const syn_exp *x, syn_env *env) {
    syn_node *from = loom_syn_elab_node(e, x->a, env, "the start of a range");
    syn_node *step = x->b ? loom_syn_elab_node(e, x->b, env, "in a range") : NULL;
    syn_node *to = loom_syn_elab_node(e, x->c, env, "the end of a range");
    syn_node *parts[3] = {from, step ? step : to, to};
    for (uint32_t i = 0; i < 3; i++) {
        if (!loom_syn_need_mask(e, LOOM_W_RANGE_TYPE, parts[i]->type, SYN_INTEGERS, x->span, "a range"))
            return loom_syn_node_value(e, loom_syn_poison(e, x->span));
        if (!loom_syn_need_type(e, LOOM_W_RANGE_TYPE, parts[i]->type, from->type, x->span, "parts of a range"))
            return loom_syn_node_value(e, loom_syn_poison(e, x->span));
    }
    syn_ty *t = loom_syn_ty(from->type);
    bool zero = x->a->kind == E_INT && x->a->integer == 0;
    if (zero && !step && x->range == T_DOTS_LESS && t->kind == TY_SCALAR && t->dtype == LOOM_I64) {
        return loom_syn_node_value(e, loom_syn_node1(e, LOOM_OP_IOTA, loom_syn_ty_array(e, t), to, x->span));
    }
    const char *name = x->range == T_DOTS_TO ? "range_to" : x->range == T_DOTS_LESS ? "range_below" : "range_above";
    if (step) name = loom_arena_printf(e->arena, "%s_step", name);
    return loom_syn_call_named(e, name, step ? 3 : 2, parts, x->span);
}

/* ---- unflatten under an annotation ---- */

syn_value *loom_syn_complete_unflatten(syn_elab *e, syn_value *v, const syn_rt *expected, syn_env *env,
                                       loom_span span) {
    if (!expected || v->kind != V_BUILTIN || v->n_args != 1) return v;
    if (strcmp(loom_syn_builtin(v->builtin)->name, "unflatten") != 0) return v;
    if (expected->kind != RT_ARRAY || expected->items[0]->kind != RT_ARRAY) return v;
    syn_node *n = loom_syn_dim_node(e, &expected->dim, env), *m = loom_syn_dim_node(e, &expected->items[0]->dim, env);
    if (!n || !m) return v;
    syn_value *f = loom_syn_value(e, V_BUILTIN);
    f->builtin = v->builtin;
    return loom_syn_apply(e, f, 3, (syn_value *[]){loom_syn_node_value(e, n), loom_syn_node_value(e, m), v->args[0]},
                          span);
}
