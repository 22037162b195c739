/* Array operations: maps, folds, scans, permutes. */
#include "ops.h"

/* ---- helpers ---- */

syn_node *loom_syn_arg(const syn_call *c, uint32_t i) {
    return loom_syn_need_node(c->e, c->args[i], c->span,
                              loom_arena_printf(c->e->arena, "argument %u of `%s`", i + 1, c->name));
}

bool loom_syn_arg_type(const syn_call *c, syn_node *node, syn_ty *type, uint32_t i) {
    return loom_syn_need_type(c->e, LOOM_W_ARGUMENT, node->type, type,
                              loom_syn_argument_place(c->e, c->args[i], c->span), "argument %u of `%s`", i + 1,
                              c->name);
}

syn_ty *loom_syn_arg_array(const syn_call *c, syn_node *node, uint32_t i) {
    syn_ty *t = loom_syn_ty(node->type);
    if (t->kind == TY_ARRAY) return t->element;
    if (t->kind == TY_POISON) return t;
    syn_ty *element = loom_syn_ty_var(c->e, 0);
    element->no_seq = true;
    if (t->kind == TY_VAR && loom_syn_arg_type(c, node, loom_syn_ty_array(c->e, element), i)) return element;
    if (t->kind != TY_VAR) {
        loom_span place = loom_syn_argument_place(c->e, c->args[i], c->span);
        const char *form = loom_syn_builtin_form(c->name);
        if (t->kind == TY_SEQ) {
            loom_syn_found_seq(c->e, place, c->name, i, t);
        } else {
            loom_syn_found_no_array(c->e, place, form, c->name, i, t);
        }
    }
    return c->e->poison;
}

syn_node *loom_syn_arg_i64(const syn_call *c, uint32_t i) {
    syn_node *n = loom_syn_arg(c, i);
    return loom_syn_arg_type(c, n, c->e->scalars[LOOM_I64], i) ? n : loom_syn_op_poison(c);
}

void loom_syn_close_arg_body(const syn_call *c, syn_body *body, syn_node *result) {
    if (!loom_syn_forbid_seq(c->e, result->type)) {
        loom_syn_error(c->e, LOOM_W_SEQ_RETURNED, c->span,
                       "let it fold the sequence, or collect it into an array: `from_seq xs`",
                       "the function given to `%s` cannot return a sequence", c->name);
        result = loom_syn_poison(c->e, c->span);
    }
    loom_syn_close(c->e, body, result);
}

syn_body *loom_syn_arg_body(const syn_call *c, syn_body_kind kind, uint32_t i, uint32_t n, syn_ty *const *types) {
    syn_body *body = loom_syn_open(c->e, kind, n, types, c->span);
    loom_syn_close_arg_body(c, body, loom_syn_apply_nodes(c->e, c->args[i], n, body->params, c->span));
    return body;
}

syn_body *loom_syn_arg_operator(const syn_call *c, syn_body_kind kind, uint32_t i, syn_ty *type) {
    syn_ty *types[2] = {type, type};
    syn_body *body = loom_syn_arg_body(c, kind, i, 2, types);
    loom_syn_need_type(c->e, LOOM_W_OPERATOR, body->result->type, type,
                       loom_syn_argument_place(c->e, c->args[i], c->span),
                       "the operator of `%s` must return what it takes", c->name);
    return body;
}

/* ---- map, zip ---- */

syn_node *loom_syn_op_map(const syn_call *c) {
    syn_elab *e = c->e;
    uint32_t k = c->n - 1;
    syn_node **arrays = LOOM_NEW_ARRAY(e->arena, syn_node *, k);
    syn_ty **elements = LOOM_NEW_ARRAY(e->arena, syn_ty *, k);
    uint32_t missing = loom_syn_arity(e, c->args[0]);
    if (missing > k) {
        loom_syn_error(e, LOOM_W_ARITY, c->span,
                       "`zip_with f xs ys` gives a function of two arguments one from each array",
                       "the function given to `%s` takes %u arguments, not %u", c->name, missing, k);
        return loom_syn_op_poison(c);
    }
    for (uint32_t i = 0; i < k; i++) {
        arrays[i] = loom_syn_arg(c, i + 1);
        elements[i] = loom_syn_arg_array(c, arrays[i], i + 1);
        syn_ty_kind kind = loom_syn_ty(arrays[i]->type)->kind;
        if (kind != TY_ARRAY && kind != TY_POISON) return loom_syn_op_poison(c); /* told; it has no elements */
    }
    syn_body *body = loom_syn_arg_body(c, B_ARRAY, 0, k, elements);
    syn_node *n = loom_syn_node(e, LOOM_OP_MAP, loom_syn_ty_array(e, body->result->type), k, arrays, c->span);
    loom_syn_set_bodies(e, n, body, NULL);
    return n;
}

syn_node *loom_syn_op_zip(const syn_call *c) {
    syn_elab *e = c->e;
    syn_node **arrays = LOOM_NEW_ARRAY(e->arena, syn_node *, c->n);
    syn_ty **elements = LOOM_NEW_ARRAY(e->arena, syn_ty *, c->n);
    for (uint32_t i = 0; i < c->n; i++) {
        arrays[i] = loom_syn_arg(c, i);
        elements[i] = loom_syn_arg_array(c, arrays[i], i);
    }
    syn_ty *type = loom_syn_ty_array(e, loom_syn_ty_tuple(e, c->n, elements));
    return loom_syn_node(e, LOOM_OP_ZIP, type, c->n, arrays, c->span);
}

/* The number of components is that of the elements' type; where it is open, two, or what the name says. */
syn_node *loom_syn_op_unzip(const syn_call *c) {
    syn_elab *e = c->e;
    syn_node *array = loom_syn_arg(c, 0);
    syn_ty *t = loom_syn_ty(loom_syn_arg_array(c, array, 0));
    uint32_t n = t->kind == TY_TUPLE && !c->variant ? t->n : c->variant ? c->variant : 2;
    if (t->kind == TY_POISON) return loom_syn_op_poison(c);
    if (t->kind == TY_VAR) {
        syn_ty **parts = LOOM_NEW_ARRAY(e->arena, syn_ty *, n);
        for (uint32_t i = 0; i < n; i++) parts[i] = loom_syn_ty_var(e, 0);
        if (loom_syn_unify(e, t, loom_syn_ty_tuple(e, n, parts))) t = loom_syn_ty(t);
    }
    if (t->kind != TY_TUPLE || t->n != n) {
        loom_syn_error(e, LOOM_W_NOT_TUPLES, c->span, "`zip xs ys` makes one",
                       "`%s` needs an array of tuples, found %s", c->name, loom_syn_ty_text(e, array->type));
        return loom_syn_op_poison(c);
    }
    syn_ty **columns = LOOM_NEW_ARRAY(e->arena, syn_ty *, n ? n : 1);
    for (uint32_t i = 0; i < n; i++) columns[i] = loom_syn_ty_array(e, t->fields[i]);
    syn_ty *type = loom_syn_ty_tuple(e, n, columns);
    type->shape = t->shape;
    return loom_syn_node1(e, LOOM_OP_UNZIP, type, array, c->span);
}

/* flatmap f xs: the arrays that f makes, one behind the other, with their lengths, flags and offsets before them (the
 * prelude finds those); of an f that makes a tuple its other components follow, as arrays. */
syn_node *loom_syn_op_flatmap(const syn_call *c) {
    syn_elab *e = c->e;
    syn_node *made = loom_syn_op_map(c);
    if (loom_syn_is_poison(made->type)) return made;
    syn_ty *element = loom_syn_ty(loom_syn_ty(made->type)->element);
    bool tuple = element->kind == TY_TUPLE && !element->shape && element->n > 0;
    uint32_t others = tuple ? element->n - 1 : 0;
    syn_node *columns = made, *rows = made;
    if (tuple) {
        syn_call unzip = *c;
        unzip.n = 1;
        unzip.variant = element->n;
        unzip.args = LOOM_NEW_ARRAY(e->arena, syn_value *, 1);
        unzip.args[0] = loom_syn_node_value(e, made);
        columns = loom_syn_op_unzip(&unzip);
        rows = loom_syn_project(e, columns, 0, c->span);
    }
    syn_value *joined = loom_syn_call_named(e, "join_rows", 1, &rows, c->span);
    syn_node *parts = loom_syn_need_node(e, joined, c->span, "a result");
    if (loom_syn_is_poison(parts->type) || others == 0) return parts;
    enum {
        JOINED = 4
    };
    syn_node **all = LOOM_NEW_ARRAY(e->arena, syn_node *, (size_t)JOINED + others);
    for (uint32_t i = 0; i < JOINED; i++) all[i] = loom_syn_project(e, parts, i, c->span);
    for (uint32_t i = 0; i < others; i++) all[JOINED + i] = loom_syn_project(e, columns, i + 1, c->span);
    return loom_syn_tuple(e, JOINED + others, all, c->span);
}

/* ---- making arrays ---- */

syn_node *loom_syn_op_iota(const syn_call *c) {
    syn_elab *e = c->e;
    return loom_syn_node1(e, LOOM_OP_IOTA, loom_syn_ty_array(e, e->scalars[LOOM_I64]), loom_syn_arg_i64(c, 0), c->span);
}

syn_node *loom_syn_op_replicate(const syn_call *c) {
    syn_elab *e = c->e;
    syn_node *n = loom_syn_arg_i64(c, 0), *x = loom_syn_arg(c, 1);
    if (!loom_syn_forbid_seq(e, x->type)) {
        loom_syn_error(e, LOOM_W_SEQ_PART, c->span, NULL, "a sequence cannot be an element of an array");
        return loom_syn_op_poison(c);
    }
    return loom_syn_node2(e, LOOM_OP_REPLICATE, loom_syn_ty_array(e, x->type), n, x, c->span);
}

static syn_node *generate(const syn_call *c, uint32_t k, syn_node *const *extents, uint32_t function) {
    syn_elab *e = c->e;
    syn_ty *i64 = e->scalars[LOOM_I64];
    syn_ty *types[3] = {i64, i64, i64};
    syn_body *body = loom_syn_arg_body(c, B_ARRAY, function, k, types);
    syn_node *n = loom_syn_node(e, LOOM_OP_GENERATE, loom_syn_ty_arrays(e, body->result->type, k), k, extents, c->span);
    loom_syn_set_bodies(e, n, body, NULL);
    return n;
}

/* `generate n f` and `generate (n, m) f`: the shape is one size or a tuple of up to three. */
syn_node *loom_syn_op_generate(const syn_call *c) {
    syn_elab *e = c->e;
    syn_node *shape = loom_syn_arg(c, 0);
    syn_ty *t = loom_syn_ty(shape->type);
    if (t->kind != TY_TUPLE) return generate(c, 1, (syn_node *[]){loom_syn_arg_i64(c, 0)}, 1);
    if (t->n < 1 || t->n > 3) {
        loom_syn_error(e, LOOM_W_RANK, c->span, "nest `generate` for more", "`%s` takes one to three sizes, found %u",
                       c->name, t->n);
        return loom_syn_op_poison(c);
    }
    syn_node *extents[3];
    for (uint32_t i = 0; i < t->n; i++) {
        extents[i] = loom_syn_project(e, shape, i, c->span);
        if (!loom_syn_arg_type(c, extents[i], e->scalars[LOOM_I64], 0)) return loom_syn_op_poison(c);
    }
    return generate(c, t->n, extents, 1);
}

syn_node *loom_syn_op_tabulate(const syn_call *c) {
    syn_node *extents[3];
    for (uint32_t i = 0; i < c->variant; i++) extents[i] = loom_syn_arg_i64(c, i);
    return generate(c, c->variant, extents, c->variant);
}

/* ---- folds, scans, filter ---- */

/* Arguments 1 and 2: neutral element and array of one type, which is returned. */
static syn_ty *neutral_and_array(const syn_call *c, syn_node **ne, syn_node **xs) {
    *ne = loom_syn_arg(c, 1);
    *xs = loom_syn_arg(c, 2);
    syn_ty *element = loom_syn_arg_array(c, *xs, 2);
    if (!loom_syn_need_type(c->e, LOOM_W_NEUTRAL, (*ne)->type, element,
                            loom_syn_argument_place(c->e, c->args[1], c->span),
                            "neutral element of `%s`, against the array's elements", c->name)) {
        return c->e->poison;
    }
    return element;
}

syn_node *loom_syn_op_fold(const syn_call *c) {
    syn_node *ne, *xs;
    syn_ty *t = neutral_and_array(c, &ne, &xs);
    syn_body *body = loom_syn_arg_operator(c, B_ARRAY, 0, t);
    syn_node *n = loom_syn_node2(c->e, LOOM_OP_FOLD, t, ne, xs, c->span);
    loom_syn_set_bodies(c->e, n, body, NULL);
    return n;
}

syn_node *loom_syn_op_fold1(const syn_call *c) {
    syn_node *xs = loom_syn_arg(c, 1);
    syn_ty *t = loom_syn_arg_array(c, xs, 1);
    syn_body *body = loom_syn_arg_operator(c, B_ARRAY, 0, t);
    syn_node *n = loom_syn_node1(c->e, LOOM_OP_FOLD1, t, xs, c->span);
    loom_syn_set_bodies(c->e, n, body, NULL);
    return n;
}

syn_node *loom_syn_op_scan(const syn_call *c) {
    syn_elab *e = c->e;
    syn_node *ne, *xs;
    syn_ty *t = neutral_and_array(c, &ne, &xs);
    syn_body *body = loom_syn_arg_operator(c, B_ARRAY, 0, t);
    syn_ty *array = loom_syn_ty_array(e, t);
    syn_ty *type = c->variant == LOOM_SCAN_TOTAL ? loom_syn_ty_tuple(e, 2, (syn_ty *[]){array, t}) : array;
    syn_node *n = loom_syn_node2(e, LOOM_OP_SCAN, type, ne, xs, c->span);
    n->aux = c->variant;
    loom_syn_set_bodies(e, n, body, NULL);
    return n;
}

static syn_body *predicate(const syn_call *c, syn_body_kind kind, syn_ty *element) {
    syn_body *body = loom_syn_arg_body(c, kind, 0, 1, &element);
    loom_syn_need_type(c->e, LOOM_W_CONDITION, body->result->type, c->e->scalars[LOOM_BOOL],
                       loom_syn_argument_place(c->e, c->args[0], c->span), "result of the function given to `%s`",
                       c->name);
    return body;
}

syn_node *loom_syn_op_filter(const syn_call *c) {
    syn_node *xs = loom_syn_arg(c, 1);
    syn_body *body = predicate(c, B_ARRAY, loom_syn_arg_array(c, xs, 1));
    syn_node *n = loom_syn_node1(c->e, LOOM_OP_FILTER, xs->type, xs, c->span);
    loom_syn_set_bodies(c->e, n, body, NULL);
    return n;
}

/* ---- permute, scatter ---- */

static bool is_target(const syn_call *c, uint32_t first, const syn_node *dest, syn_ty *expected, uint32_t rank) {
    syn_elab *e = c->e;
    loom_span place = loom_syn_argument_place(e, c->args[first], c->span);
    const char *hint = "`replicate n 0` makes one";
    if (rank > 1) hint = "`replicate n (replicate m 0)` makes one of two";
    if (loom_syn_ty(dest->type)->kind != TY_ARRAY && loom_syn_ty(dest->type)->kind != TY_VAR && rank == 1) {
        loom_syn_error(e, LOOM_W_TARGET, place, hint,
                       "argument %u of `%s`, of which an axis is indexed: expected an array, found %s", first + 1,
                       c->name, loom_syn_ty_text(e, dest->type));
        return false;
    }
    return loom_syn_need_type_hint(e, LOOM_W_TARGET, dest->type, expected, place, hint,
                                   "argument %u of `%s`, whose %u outer axes are indexed", first + 1, c->name, rank);
}

bool loom_syn_targets(const syn_call *c, uint32_t first, syn_node *dest, syn_ty *is, syn_ty *xs, syn_targets *targets) {
    syn_elab *e = c->e;
    syn_ty *leaf = NULL, *i64 = e->scalars[LOOM_I64];
    uint32_t nesting = loom_syn_rank(is, &leaf);
    uint32_t rank = leaf->kind == TY_TUPLE ? leaf->n : 1;
    bool integers = leaf->kind == TY_TUPLE ? leaf->n >= 1 : loom_syn_unify(e, leaf, i64);
    for (uint32_t i = 0; leaf->kind == TY_TUPLE && i < leaf->n; i++)
        integers = integers && loom_syn_unify(e, leaf->fields[i], i64);
    if (leaf->kind == TY_POISON || loom_syn_is_poison(dest->type)) return false;
    if (!integers) {
        loom_syn_error(e, LOOM_W_INDICES, loom_syn_argument_place(e, c->args[first + 1], c->span),
                       "convert them: `i64 i`", "argument %u of `%s`: indices are i64 or tuples of i64, found %s",
                       first + 2, c->name, loom_syn_ty_text(e, is));
        return false;
    }
    syn_ty *element = loom_syn_ty_var(e, 0);
    element->no_seq = true;
    if (!is_target(c, first, dest, loom_syn_ty_arrays(e, element, rank), rank)) return false;
    if (!loom_syn_need_type(e, LOOM_W_CONTRIBUTIONS, xs, loom_syn_ty_arrays(e, element, nesting),
                            loom_syn_argument_place(e, c->args[first + 2], c->span),
                            "argument %u of `%s`, nested as the indices, with elements of the target", first + 3,
                            c->name)) {
        return false;
    }
    *targets = (syn_targets){.rank = rank, .element = element};
    return true;
}

static bool is_array(const syn_call *c, syn_node *node, uint32_t i) {
    return !loom_syn_is_poison(loom_syn_arg_array(c, node, i));
}

syn_node *loom_syn_op_permute(const syn_call *c) {
    syn_node *dest = loom_syn_arg(c, 1), *is = loom_syn_arg(c, 2), *xs = loom_syn_arg(c, 3);
    syn_targets targets;
    if (!is_array(c, is, 2) || !loom_syn_targets(c, 1, dest, is->type, xs->type, &targets))
        return loom_syn_op_poison(c);
    syn_body *body = loom_syn_arg_operator(c, B_ARRAY, 0, targets.element);
    syn_node *n = loom_syn_node3(c->e, LOOM_OP_PERMUTE, dest->type, dest, is, xs, c->span);
    n->aux = targets.rank;
    loom_syn_set_bodies(c->e, n, body, NULL);
    return n;
}

syn_node *loom_syn_op_scatter(const syn_call *c) {
    syn_node *dest = loom_syn_arg(c, 0), *is = loom_syn_arg(c, 1), *xs = loom_syn_arg(c, 2);
    syn_targets targets;
    if (!is_array(c, is, 1) || !loom_syn_targets(c, 0, dest, is->type, xs->type, &targets))
        return loom_syn_op_poison(c);
    syn_node *n = loom_syn_node3(c->e, LOOM_OP_SCATTER, dest->type, dest, is, xs, c->span);
    n->aux = targets.rank;
    return n;
}

/* ---- gather, backpermute ---- */

syn_node *loom_syn_op_gather(const syn_call *c) {
    syn_elab *e = c->e;
    syn_node *xs = loom_syn_arg(c, 0), *is = loom_syn_arg(c, 1);
    syn_ty *element = loom_syn_arg_array(c, xs, 0), *leaf = NULL;
    if (!is_array(c, is, 1)) return loom_syn_op_poison(c);
    uint32_t nesting = loom_syn_rank(is->type, &leaf);
    if (!loom_syn_need_type(e, LOOM_W_INDICES, leaf, e->scalars[LOOM_I64], c->span, "indices of `%s`", c->name))
        return loom_syn_op_poison(c);
    return loom_syn_node2(e, LOOM_OP_GATHER, loom_syn_ty_arrays(e, element, nesting), xs, is, c->span);
}

/* How many axes of dest f takes: what its parameter's pattern says, else all that dest has where the body takes the
 * index apart, else one. */
static uint32_t axes_by_pattern(syn_elab *e, const syn_value *f) {
    const syn_function *fn = f->kind == V_FUNCTION ? f->function : f->kind == V_DEF ? f->decl->function : NULL;
    if (!fn || f->n_args >= fn->n_params) return 0;
    const syn_pat *pat = fn->params[f->n_args];
    for (; pat->kind == P_TYPED; pat = pat->items[0]) {
        if (pat->type->kind == TE_TUPLE) return pat->type->n_items;
        if (pat->type->kind == TE_NAME && pat->type->name == e->i64_name) return 1;
    }
    return pat->kind == P_TUPLE ? pat->n_items : 0;
}

typedef struct index_map {
    syn_body *body;
    uint32_t from, to; /* axes of dest, axes of xs */
} index_map;

/* The body with k i64 parameters, given to f as one index. */
static bool index_body(const syn_call *c, uint32_t k, index_map *map) {
    syn_elab *e = c->e;
    syn_ty *i64 = e->scalars[LOOM_I64];
    syn_ty *types[3] = {i64, i64, i64};
    if (k < 1 || k > 3) {
        loom_syn_error(e, LOOM_W_RANK, c->span, NULL, "`%s` works on one to three axes, not %u", c->name, k);
        return false;
    }
    syn_body *body = loom_syn_open(e, B_ARRAY, k, types, c->span);
    syn_node *index = k == 1 ? body->params[0] : loom_syn_tuple(e, k, body->params, c->span);
    syn_node *result = loom_syn_apply_nodes(e, c->args[1], 1, &index, c->span);
    loom_syn_close(e, body, result);
    syn_ty *t = loom_syn_ty(result->type);
    bool good = t->kind == TY_TUPLE ? t->n >= 1 : loom_syn_unify(e, t, i64);
    for (uint32_t i = 0; t->kind == TY_TUPLE && i < t->n; i++) good = good && loom_syn_unify(e, t->fields[i], i64);
    if (!good) {
        loom_syn_error(e, LOOM_W_INDICES, c->span, NULL,
                       "the function given to `%s` must return an index, i64 or a tuple of i64, found %s", c->name,
                       loom_syn_ty_text(e, t));
        return false;
    }
    *map = (index_map){.body = body, .from = k, .to = t->kind == TY_TUPLE ? t->n : 1};
    return t->kind != TY_POISON;
}

syn_node *loom_syn_op_backpermute(const syn_call *c) {
    syn_elab *e = c->e;
    syn_node *dest = loom_syn_arg(c, 0), *xs = loom_syn_arg(c, 2);
    if (!is_array(c, dest, 0) || !is_array(c, xs, 2)) return loom_syn_op_poison(c);
    uint32_t k = axes_by_pattern(e, c->args[1]);
    uint32_t rank = loom_syn_rank(dest->type, NULL);
    index_map map;
    if (!index_body(c, k ? k : rank > 3 ? 3 : rank, &map)) return loom_syn_op_poison(c);
    syn_ty *element = loom_syn_ty_var(e, 0);
    element->no_seq = true;
    if (!loom_syn_arg_type(c, dest, loom_syn_ty_arrays(e, element, map.from), 0) ||
        !loom_syn_arg_type(c, xs, loom_syn_ty_arrays(e, element, map.to), 2)) {
        return loom_syn_op_poison(c);
    }
    syn_node *n = loom_syn_node2(e, LOOM_OP_BACKPERMUTE, dest->type, dest, xs, c->span);
    n->aux = map.from;
    loom_syn_set_bodies(e, n, map.body, NULL);
    return n;
}
