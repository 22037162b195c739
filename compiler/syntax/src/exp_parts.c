/* Larger expressions: indexing and slicing, updates, loops, ranges. */
#include "elab.h"
#include <string.h>

/* ---- indexing ---- */

/* An index may be of any signed integer type, as in Futhark; it is an i64 from here on. Bounds of slices are sizes. */
static syn_node *widened(syn_elab *e, syn_node *n) {
    const syn_ty *t = loom_syn_ty(n->type);
    if (t->kind != TY_SCALAR || !(SYN_BIT(t->dtype) & (SYN_BIT(LOOM_I8) | SYN_BIT(LOOM_I16) | SYN_BIT(LOOM_I32))))
        return n;
    return loom_syn_node1(e, LOOM_OP_CONVERT, e->scalars[LOOM_I64], n, n->span);
}

/* Three nodes for each place: at (or from), to, step; NULL where left out. */
syn_value **loom_syn_index_places(syn_elab *e, const syn_exp *x, syn_env *env) {
    syn_value **places = LOOM_NEW_ARRAY(e->arena, syn_value *, 3 * (size_t)x->n_index);
    for (uint32_t i = 0; i < x->n_index; i++) {
        const syn_exp *parts[3] = {x->index[i].at, x->index[i].to, x->index[i].step};
        for (int k = 0; k < 3; k++) {
            if (!parts[k]) continue;
            syn_node *n = loom_syn_elab_node(e, parts[k], env, "an index");
            if (!x->index[i].slice) n = widened(e, n);
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

/* ---- updates ----
 *
 * Indices up to the first slice are those of an element, whose update is an update of the array:
 *   xs with [i, a:b] = v    is    xs with [i] = (xs[i] with [a:b] = v)
 * What follows a slice is done for each row of it:
 *   xs with [a:b, j] = v    is    xs with [a:b] = map2 (\r y -> r with [j] = y) xs[a:b] v
 * A slice is updated by the prelude: as a range, or, where it has a step, by the places that it goes over.
 * Steps that follow each other, through arrays and records, are updates in updates:
 *   xs with [i].x = v    is    xs with [i] = (xs[i] with x = v) */

/* An update as it is written, of which an inner one is a part. */
typedef struct updating {
    const syn_exp *exp;
    syn_value *const *places;
    loom_span value; /* where the new value is written */
} updating;

static syn_node *update_of(syn_elab *e, const updating *u, syn_node *array, uint32_t at, syn_node *value);

static syn_node *update_elements(syn_elab *e, const updating *u, syn_node *array, uint32_t at, uint32_t plain,
                                 syn_node *value) {
    syn_ty *element = element_of(e, array, plain, u->exp->span);
    if (element == e->poison) return loom_syn_poison(e, u->exp->span);
    if (at + plain < u->exp->n_index) {
        syn_node *old = loom_syn_index(e, array, plain, u->places + 3 * (size_t)at, u->exp->index + at, u->exp->span);
        value = update_of(e, u, old, at + plain, value);
    }
    if (!loom_syn_need_type(e, LOOM_W_UPDATE_VALUE, value->type, element, u->value, "new element")) {
        return loom_syn_poison(e, u->exp->span);
    }
    syn_node **operands = LOOM_NEW_ARRAY(e->arena, syn_node *, (size_t)plain + 2);
    operands[0] = array;
    operands[1] = value;
    for (uint32_t i = 0; i < plain; i++) operands[i + 2] = u->places[3 * (size_t)(at + i)]->node;
    return loom_syn_node(e, LOOM_OP_UPDATE, array->type, plain + 2, operands, u->exp->span);
}

static syn_node *update_rows(syn_elab *e, const updating *u, syn_node *rows, uint32_t at, syn_node *values) {
    loom_span span = u->exp->span;
    syn_ty *elements[2] = {element_of(e, rows, 1, span), element_of(e, values, 1, u->value)};
    if (elements[0] == e->poison || elements[1] == e->poison) return loom_syn_poison(e, span);
    syn_body *body = loom_syn_open(e, B_ARRAY, 2, elements, span);
    loom_syn_close(e, body, update_of(e, u, body->params[0], at, body->params[1]));
    syn_node *map = loom_syn_node2(e, LOOM_OP_MAP, loom_syn_ty_array(e, body->result->type), rows, values, span);
    loom_syn_set_bodies(e, map, body, NULL);
    return map;
}

static syn_node *update_slice(syn_elab *e, const updating *u, syn_node *array, uint32_t at, syn_node *value) {
    loom_span span = u->exp->span;
    if (element_of(e, array, 1, span) == e->poison) return loom_syn_poison(e, span);
    syn_value *const *place = u->places + 3 * (size_t)at;
    if (at + 1 < u->exp->n_index) {
        value = update_rows(e, u, slice(e, array, place, span), at + 1, value);
    }
    if (!loom_syn_need_type(e, LOOM_W_UPDATE_VALUE, value->type, array->type, u->value, "new elements of the slice")) {
        return loom_syn_poison(e, span);
    }
    if (loom_syn_is_poison(value->type)) return value;
    syn_ty *i64 = e->scalars[LOOM_I64];
    syn_node *length = loom_syn_node1(e, LOOM_OP_LENGTH, i64, array, span);
    if (place[2]) {
        syn_node *all = loom_syn_node1(e, LOOM_OP_IOTA, loom_syn_ty_array(e, i64), length, span);
        syn_node *operands[3] = {array, slice(e, all, place, span), value};
        return loom_syn_need_node(e, loom_syn_call_named(e, "update_places", 3, operands, span), span, "updated");
    }
    syn_node *from = place[0] ? place[0]->node : loom_syn_i64(e, 0, span);
    syn_node *operands[4] = {array, from, place[1] ? place[1]->node : length, value};
    return loom_syn_need_node(e, loom_syn_call_named(e, "update_slice", 4, operands, span), span, "updated");
}

static syn_node *update_of(syn_elab *e, const updating *u, syn_node *array, uint32_t at, syn_node *value) {
    loom_syn_step(e);
    uint32_t plain = 0;
    while (at + plain < u->exp->n_index && !u->exp->index[at + plain].slice) plain++;
    return plain ? update_elements(e, u, array, at, plain, value) : update_slice(e, u, array, at, value);
}

static syn_node *updated(syn_elab *e, const syn_exp *step, syn_node *old, const syn_exp *value, syn_env *env);

static syn_node *with_field(syn_elab *e, const syn_exp *x, syn_node *record, uint32_t at, const syn_exp *value,
                            syn_env *env) {
    if (at == x->n_names) {
        syn_node *v = x->c ? updated(e, x->c, record, value, env) : loom_syn_elab_node(e, value, env, "a field");
        loom_syn_need_type(e, LOOM_W_UPDATE_VALUE, v->type, record->type, value->span, "new value of the field");
        return v;
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
    parts[place] = with_field(e, x, parts[place], at + 1, value, env);
    return loom_syn_tuple_of(e, t, parts, x->span);
}

static syn_node *with_element(syn_elab *e, const syn_exp *x, syn_node *array, const syn_exp *value, syn_env *env) {
    const updating u = {x, loom_syn_index_places(e, x, env), value->span};
    syn_node *v = NULL;
    if (x->c) {
        syn_node *old = loom_syn_index(e, array, x->n_index, u.places, x->index, x->span);
        v = updated(e, x->c, old, value, env);
    } else {
        v = loom_syn_elab_node(e, value, env, "an element of an array");
    }
    return update_of(e, &u, array, 0, v);
}

static syn_node *updated(syn_elab *e, const syn_exp *step, syn_node *old, const syn_exp *value, syn_env *env) {
    return step->kind == E_UPDATE ? with_element(e, step, old, value, env) : with_field(e, step, old, 0, value, env);
}

syn_value *loom_syn_elab_update(syn_elab *e, const syn_exp *x, syn_env *env) {
    syn_node *old = loom_syn_elab_node(e, x->a, env, "updated");
    return loom_syn_node_value(e, updated(e, x, old, x->b, env));
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
