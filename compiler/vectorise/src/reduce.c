/* Folds and scans.
 *
 *     fold op ne xs  ->  REDUCE over (context axes, the reduced axis, element axes): body = the element at the point,
 *                        combine = op on scalars, start = ne
 * An operator on arrays qualifies where it is elementwise: its result at a point depends on its operands at that point
 * only. It is evaluated once, at a symbolic point: an array operand is an ELEM leaf that may be indexed by the point's
 * own indices and by nothing else, and the block made must be closed. So nests of maps and zips of scalar operators,
 * and tuples of them, are recognised however they are written.
 *
 * fold1 has no neutral element. Where the operator is built in, its own serves; else each state gets a flag "there is
 * an element", false at the start, and combine joins what is there.
 */
#include "vec.h"

/* ---- the operator as a block over scalars ---- */

typedef struct operator_build {
    const loom_node *node;
    const loom_body *op;
    frame *up;
    const leaf *like; /* states: dtype and own axes, all of them */
    uint32_t n_like;
    const uint32_t *group; /* those of this block */
    uint32_t n_group;
    bool flagged;
    const val *inputs; /* parameters before the two operands */
    uint32_t n_inputs;
} operator_build;

/* Parameters of the block as leaves of one operand; leaves of other groups cannot be used. */
static val operand_leaves(vec *v, const operator_build *b, uint32_t first_param) {
    leaf *at;
    val x = vec_leaves_of(v, b->n_like, &at);
    for (uint32_t i = 0; i < b->n_like; i++) {
        at[i] = (leaf){.kind = LEAF_BAD, .dtype = b->like[i].dtype, .n_own = b->like[i].n_own, .own = b->like[i].own};
        at[i].why = "an operator that joins arrays of different shapes";
    }
    for (uint32_t g = 0; g < b->n_group; g++) {
        leaf *y = &at[b->group[g]];
        leaf param = vec_expr_leaf(v, vec_x_param(v, y->dtype, first_param + g));
        param.kind = y->n_own ? LEAF_ELEM : LEAF_EXPR;
        param.n_own = y->n_own;
        param.own = y->own;
        *y = param;
    }
    return x;
}

/* The element at the point of what the operator gives. States have the shape that it was given: an extent is compared
 * once those before it are indexed, since it may not be known earlier. */
static bool element_at_point(vec *v, const operator_build *b, val x, val *element) {
    leaf like = b->n_group ? b->like[b->group[0]] : (leaf){0}; /* all of the group have these axes */
    for (uint32_t k = 0; k <= v->n_point; k++) {
        for (uint32_t g = 0; g < b->n_group; g++) {
            bool same = x.at[g].n_own == v->n_point - k && like.n_own == x.at[g].n_own;
            if (same && k < v->n_point) same = vec_known_equal(v, x.at[g].own[0], like.own[0]);
            if (!same) return vec_refuse(v, b->node, "an operator whose result may differ in shape from its operands");
        }
        if (k == v->n_point) break;
        index_step step = vec_at_expr(v->point[k]);
        like = vec_drop_own(v, &like, step);
        if (!vec_pull_path(v, b->node, x, &step, 1, &x)) return false;
    }
    *element = x;
    return true;
}

static bool operator_results(vec *v, const operator_build *b, const val *a, const val *x, loom_lexpr_id *results) {
    val joined, element;
    leaf *at;
    val *args = LOOM_NEW_ARRAY(v->scratch, val, (size_t)b->n_inputs + 2);
    if (b->n_inputs) memcpy(args, b->inputs, b->n_inputs * sizeof *args);
    args[b->n_inputs] = *a;
    args[b->n_inputs + 1] = *x;
    if (!vec_expr_body(v, b->op, args, b->up, &joined)) return false;
    val mine = vec_leaves_of(v, b->n_group, &at);
    for (uint32_t g = 0; g < b->n_group; g++) at[g] = joined.at[b->group[g]];
    if (!element_at_point(v, b, mine, &element)) return false;
    for (uint32_t g = 0; g < b->n_group; g++) {
        if (!vec_to_expr(v, &element.at[g], &results[g])) return false;
    }
    return true;
}

/* if a is there then (if x is there then op a x else a) else x */
static bool flagged_results(vec *v, const operator_build *b, const val *a, const val *x, loom_lexpr_id *results) {
    uint32_t n = b->n_group;
    loom_lexpr outer = vec_plain_expr(LOOM_LX_IF, b->like[b->group[0]].dtype), inner = outer;
    loom_lexpr_id has_a = vec_x_param(v, LOOM_BOOL, 0), has_x = vec_x_param(v, LOOM_BOOL, n + 1);
    loom_lexpr_id *mine = LOOM_NEW_ARRAY(v->scratch, loom_lexpr_id, (size_t)n + 1);
    loom_lexpr_id *params = LOOM_NEW_ARRAY(v->scratch, loom_lexpr_id, 2 * (size_t)n + 1);
    for (uint32_t g = 0; g < n; g++) {
        params[g] = a->at[b->group[g]].id;
        params[n + g] = x->at[b->group[g]].id;
    }
    open_block first = vec_block_open(v);
    open_block both = vec_block_open(v);
    bool ok = operator_results(v, b, a, x, mine);
    inner.blocks[0] = vec_block_close(v, both, 0, NULL, n, mine);
    both = vec_block_open(v);
    inner.blocks[1] = vec_block_close(v, both, 0, NULL, n, params);
    loom_lexpr_id e = loom_lifted_expr(v->l, inner, &has_x, 1);
    for (uint32_t g = 0; g < n; g++) mine[g] = vec_x_result(v, e, b->like[b->group[g]].dtype, g, n);
    outer.blocks[0] = vec_block_close(v, first, 0, NULL, n, mine);
    both = vec_block_open(v);
    outer.blocks[1] = vec_block_close(v, both, 0, NULL, n, params + n);
    e = loom_lifted_expr(v->l, outer, &has_a, 1);
    results[0] = vec_x_prim2(v, LOOM_PRIM_OR, has_a, has_x);
    for (uint32_t g = 0; g < n; g++) results[1 + g] = vec_x_result(v, e, b->like[b->group[g]].dtype, g, n);
    return ok;
}

/* What an operator that was built from `first` on has beside the elements it is given; NULL: nothing. Extents are those
 * of rows, as `if length a > length b then a else b` has them. */
static const char *beside_elements(const vec *v, loom_lexpr_id first) {
    const char *what = NULL;
    for (loom_lexpr_id i = first; i < v->l->n_exprs; i++) {
        const loom_lexpr *e = &v->l->exprs[i];
        bool around = e->kind == LOOM_LX_LOAD || e->kind == LOOM_LX_AXIS;
        for (uint32_t k = 0; k < e->n_args && !around; k++) around = loom_lifted_arg(v->l, e, k) < first;
        if (around) return "an operator that uses values from around it";
        if (e->kind == LOOM_LX_EXTENT) what = "an operator that asks for the lengths of rows";
    }
    return what;
}

static bool build_operator(vec *v, const operator_build *b, loom_lblock_id *block) {
    uint32_t n = b->n_group + (b->flagged ? 1 : 0);
    loom_dtype *types = LOOM_NEW_ARRAY(v->scratch, loom_dtype, 2 * (size_t)n + 1);
    loom_lexpr_id *results = LOOM_NEW_ARRAY(v->scratch, loom_lexpr_id, (size_t)n + 1);
    for (uint32_t g = 0; g < b->n_group; g++) {
        types[n - b->n_group + g] = types[2 * n - b->n_group + g] = b->like[b->group[g]].dtype;
    }
    if (b->flagged) types[0] = types[n] = LOOM_BOOL;
    loom_lexpr_id point[LOOM_MAX_DEPTH];
    uint32_t n_point = b->n_group ? b->like[b->group[0]].n_own : 0;
    for (uint32_t k = 0; k < n_point; k++) point[k] = vec_x_int(v, k);
    v->point = point;
    v->n_point = n_point;
    open_block open = vec_block_open(v);
    val a = operand_leaves(v, b, n - b->n_group), x = operand_leaves(v, b, 2 * n - b->n_group);
    bool ok = b->flagged ? flagged_results(v, b, &a, &x, results) : operator_results(v, b, &a, &x, results);
    if (ok && v->lost) ok = vec_refuse(v, b->node, "the extent of rows that may differ in length");
    const char *beside = ok ? beside_elements(v, open.first) : NULL;
    if (beside) ok = vec_refuse(v, b->node, "%s", beside);
    *block = vec_block_close(v, open, 2 * n, types, n, results);
    return ok;
}

static bool make_operator(vec *v, const operator_build *b, loom_lblock_id *block) {
    mark m = vec_mark_here(v);
    vec_op_begin(v);
    v->elementwise = true;
    bool ok = build_operator(v, b, block);
    v->elementwise = false;
    v->n_point = 0;
    vec_op_end(v);
    if (!ok) vec_forget_exprs(v, m);
    return ok;
}

bool vec_combine_block(vec *v, const loom_node *n, const loom_body *op, frame *up, const leaf *like, uint32_t n_like,
                       const uint32_t *group, uint32_t n_group, loom_lblock_id *block) {
    operator_build b = {n, op, up, like, n_like, group, n_group, false, NULL, 0};
    return make_operator(v, &b, block);
}

/* merge(inputs..., a, b): the inputs are those of the stage; only constants among them can be used. */
bool vec_combine_merge(vec *v, const loom_node *n, const loom_body *merge, const val *inputs, uint32_t n_inputs,
                       const leaf *like, uint32_t n_like, const uint32_t *group, loom_lblock_id *block) {
    operator_build b = {n, merge, NULL, like, n_like, group, n_like, false, inputs, n_inputs};
    return make_operator(v, &b, block);
}

uint16_t vec_builtin_of(const vec *v, loom_lblock_id combine) {
    const loom_lblock *b = &v->l->blocks[combine];
    uint16_t prim = LOOM_PRIM_COUNT;
    for (uint32_t i = 0; i < b->n_results; i++) {
        const loom_lexpr *e = &v->l->exprs[b->results[i]];
        loom_scalar neutral;
        if (e->kind != LOOM_LX_PRIM || e->n_args != 2 || (i && e->prim != prim)) return LOOM_PRIM_COUNT;
        const loom_lexpr *x = &v->l->exprs[loom_lifted_arg(v->l, e, 0)], *y = &v->l->exprs[loom_lifted_arg(v->l, e, 1)];
        bool straight =
            x->kind == LOOM_LX_PARAM && y->kind == LOOM_LX_PARAM && x->aux == i && y->aux == b->n_results + i;
        bool swapped =
            x->kind == LOOM_LX_PARAM && y->kind == LOOM_LX_PARAM && y->aux == i && x->aux == b->n_results + i;
        if ((!straight && !swapped) || !loom_prim_neutral((loom_prim)e->prim, e->dtype, &neutral))
            return LOOM_PRIM_COUNT;
        prim = e->prim;
    }
    return prim;
}

/* ---- the operation ---- */

typedef struct reduction {
    const loom_node *node;
    loom_lop_kind kind;
    loom_scan_kind scan;
    extent reduced;
    const val *array;
    const leaf *like; /* states */
    const val *start; /* or NULL: neutral */
    const uint32_t *group;
    uint32_t n_group;
    loom_lblock_id combine;
    bool flagged;
    uint16_t builtin;
    /* While the operation is made: the level of the reduced axis, and the first of those of the states. Where states
     * have rows that differ in length the reduced axis is the innermost: segmented ones stand behind their own only. */
    uint32_t level, base;
} reduction;

static bool element_body(vec *v, const reduction *r, loom_lexpr_id *results) {
    uint32_t at = 0;
    if (r->flagged) results[at++] = vec_x_const(v, LOOM_BOOL, (loom_scalar){.b = true});
    for (uint32_t g = 0; g < r->n_group; g++) {
        leaf x = vec_bind_level(v, &r->array->at[r->group[g]], r->level);
        for (uint32_t k = 0; x.n_own; k++) x = vec_bind_level(v, &x, r->base + k);
        if (!vec_to_expr(v, &x, &results[at++])) return false;
    }
    return true;
}

static bool start_body(vec *v, const reduction *r, loom_lexpr_id *results) {
    uint32_t at = 0;
    if (r->flagged) results[at++] = vec_x_const(v, LOOM_BOOL, (loom_scalar){.b = false});
    for (uint32_t g = 0; g < r->n_group; g++) {
        loom_dtype t = r->like[r->group[g]].dtype;
        if (!r->start) {
            loom_scalar s = vec_zero_scalar();
            if (!r->flagged) loom_prim_neutral((loom_prim)r->builtin, t, &s);
            results[at++] = vec_x_const(v, t, s);
            continue;
        }
        leaf x = r->start->at[r->group[g]];
        for (uint32_t k = 0; x.n_own; k++) x = vec_bind_level(v, &x, r->base + k);
        if (!vec_to_expr(v, &x, &results[at++])) return false;
    }
    return true;
}

/* Axes of the result: those of the operation without the reduced one. */
static op_axes without(const op_axes *all, uint32_t level, uint32_t *position) {
    op_axes a = {.n = 0};
    for (uint32_t i = 0; i < all->n; i++) {
        if (all->level[i] == level) {
            *position = i;
            continue;
        }
        a.axis[a.n] = all->axis[i];
        a.level[a.n++] = all->level[i];
    }
    return a;
}

/* A result over these axes, the reduced one among them or not. */
static leaf result_leaf(vec *v, const reduction *r, const leaf *like, const op_axes *axes, loom_lvalue_id value) {
    source *s = LOOM_NEW_ARRAY(v->scratch, source, (size_t)axes->n + 1);
    bool reduced = false;
    for (uint32_t i = 0; i < axes->n; i++) {
        uint32_t level = axes->level[i];
        bool own = level >= v->depth && level != r->level;
        s[i] = (source){own ? FROM_OWN : FROM_LEVEL, IN_RANGE, own ? level - r->base : level};
        reduced = reduced || level == r->level;
    }
    leaf x = {.kind = LEAF_VALUE,
              .dtype = like->dtype,
              .id = value,
              .sources = s,
              .site = LOOM_NONE,
              .n_own = like->n_own,
              .own = like->own};
    return reduced ? vec_unbind_level(v, &x, r->level, r->reduced) : x;
}

static void add_results(vec *v, const reduction *r, const op_axes *axes, uint32_t offset, loom_lvalue_id *values,
                        leaf *out) {
    uint32_t at = offset;
    if (r->flagged) values[at++] = vec_new_value(v, r->node, LOOM_BOOL, axes);
    for (uint32_t g = 0; g < r->n_group; g++) {
        const leaf *like = &r->like[r->group[g]];
        values[at] = vec_new_value(v, r->node, like->dtype, axes);
        out[r->group[g]] = result_leaf(v, r, like, axes, values[at++]);
    }
}

/* The levels of the states and of the reduced axis. */
static bool push_levels(vec *v, reduction *r, uint64_t *own) {
    const leaf *like = &r->like[r->group[0]];
    uint32_t depth = v->depth;
    bool last = vec_any_segmented(v, like->own, like->n_own);
    for (uint32_t k = 0; k < like->n_own; k++) {
        if (!vec_is_settled(v, like->own[k])) {
            return vec_refuse(v, r->node, "an operator on rows that may differ in length, without a neutral element");
        }
    }
    r->level = last ? depth + like->n_own : depth;
    r->base = last ? depth : depth + 1;
    if (!last && !vec_push_level(v, r->node, r->reduced)) return false;
    for (uint32_t k = 0; k < like->n_own; k++) {
        if (!vec_push_level(v, r->node, vec_own_as_level(v, like->own[k], r->base))) return false;
    }
    if (last && !vec_push_level(v, r->node, r->reduced)) return false;
    for (uint32_t i = depth; i < v->depth; i++) *own |= UINT64_C(1) << i;
    return true;
}

/* out: leaves of the result (REDUCE) or of the scanned array; totals: of TOTAL. */
static bool make_reduction(vec *v, reduction *r, leaf *out, leaf *totals) {
    uint32_t depth = v->depth, n = r->n_group + (r->flagged ? 1 : 0);
    loom_lexpr_id first = v->l->n_exprs, middle;
    loom_lexpr_id *results = LOOM_NEW_ARRAY(v->scratch, loom_lexpr_id, (size_t)n + 1);
    loom_lvalue_id *values = LOOM_NEW_ARRAY(v->scratch, loom_lvalue_id, 2 * (size_t)n + 1);
    uint64_t own = 0;
    if (!push_levels(v, r, &own)) {
        v->depth = depth;
        return false;
    }
    vec_op_begin(v);
    bool ok = element_body(v, r, results);
    middle = v->l->n_exprs;
    loom_lblock_id body = loom_lifted_block(v->l, first, 0, NULL, n, results);
    ok = ok && start_body(v, r, results);
    loom_lblock_id ne = loom_lifted_block(v->l, middle, 0, NULL, n, results);
    vec_op_end(v);
    loom_lexpr_id end = v->l->n_exprs;
    op_axes axes = vec_order_axes(v, vec_used_levels(v, first) | own, MAX_LEVELS), rest;
    v->depth = depth;
    if (!ok) return false;
    vec_place_axes(v, first, end, &axes);
    loom_lop op = vec_plain_op(v, r->node, r->kind, &axes);
    rest = without(&axes, r->level, &op.reduce);
    if (loom_lifted_any_segmented(v->l, axes.n - op.reduce - 1, axes.axis + op.reduce + 1)) {
        return vec_refuse(v, r->node, "a fold along the stream around rows that may differ in length");
    }
    op.body = body;
    op.ne = ne;
    op.combine = r->combine;
    op.scan = r->scan;
    op.n_results = n;
    op.builtin = r->builtin;
    bool total = r->kind == LOOM_LO_SCAN && r->scan == LOOM_SCAN_TOTAL;
    add_results(v, r, r->kind == LOOM_LO_SCAN ? &axes : &rest, 0, values, out);
    if (total) {
        add_results(v, r, &rest, n, values, totals);
        op.n_results = 2 * n;
    }
    op.results = values;
    loom_lifted_op(v->l, op);
    return true;
}

/* ---- shapes of states and elements ---- */

typedef struct shape_check {
    extent rows, a, b;
    const extent *around; /* a's: where one of them is 0 there is no row whose extents would differ */
    uint32_t n_around;
} shape_check;

static bool build_shape(vec *v, void *argument, val *result) {
    shape_check *c = argument;
    leaf *at;
    *result = vec_leaves_of(v, 3, &at);
    loom_lexpr_id a = vec_x_extent(v, c->a), b = vec_x_extent(v, c->b);
    loom_lexpr_id none = vec_x_prim2(v, LOOM_PRIM_EQ, vec_x_extent(v, c->rows), vec_x_int(v, 0));
    for (uint32_t k = 0; k < c->n_around; k++) {
        loom_lexpr_id empty = vec_x_prim2(v, LOOM_PRIM_EQ, vec_x_extent(v, c->around[k]), vec_x_int(v, 0));
        none = vec_x_prim2(v, LOOM_PRIM_OR, none, empty);
    }
    at[0] = vec_expr_leaf(v, vec_x_prim2(v, LOOM_PRIM_OR, none, vec_x_prim2(v, LOOM_PRIM_EQ, a, b)));
    at[1] = vec_expr_leaf(v, a);
    at[2] = vec_expr_leaf(v, b);
    return true;
}

static bool names_param(const vec *v, loom_lblock_id block, uint32_t param) {
    const loom_lblock *b = &v->l->blocks[block];
    for (loom_lexpr_id i = b->first; i < b->end; i++) {
        if (v->l->exprs[i].kind == LOOM_LX_PARAM && v->l->exprs[i].aux == param) return true;
    }
    return false;
}

static bool has_array(const loom_program *p, loom_type_id type) {
    const loom_type *t = &p->types[type];
    if (t->kind == LOOM_T_ARRAY) return true;
    for (uint32_t i = 0; t->kind == LOOM_T_TUPLE && i < t->n_fields; i++)
        if (has_array(p, t->fields[i])) return true;
    return false;
}

/* Maps of scalar work alone, with nothing that asks for an extent or chooses between arrays: of operands that differ in
 * shape it can make nothing but an error. */
static bool only_zips(const vec *v, const loom_body *op) {
    for (loom_node_id i = op->first; i < op->end; i++) {
        const loom_node *n = &v->p->nodes[i];
        if (n->op == LOOM_OP_PARAM || n->op == LOOM_OP_MAP || n->op == LOOM_OP_TUPLE || n->op == LOOM_OP_PROJECT)
            continue;
        if (has_array(v->p, n->type)) return false;
        for (uint32_t k = 0; k < n->n_operands; k++)
            if (has_array(v->p, v->p->nodes[loom_operand(v->p, n, k)].type)) return false;
    }
    return true;
}

bool vec_zips(const vec *v, const loom_body *op, loom_lblock_id combine) {
    for (uint32_t i = 0; i < v->l->blocks[combine].n_params; i++) {
        if (!names_param(v, combine, i)) return false;
    }
    return only_zips(v, op);
}

/* Extents of state and element, as they are under the levels of the elements and of the states' axes around. */
static void row_extents(vec *v, const leaf *s, const leaf *x, uint32_t k, extent *a, extent *b) {
    *a = vec_own_as_level(v, s->own[k], v->depth + 1);
    *b = vec_own_as_level(v, x->own[k + 1], v->depth);
}

/* Each row is compared. Where that is skipped so must be what relies on it. */
static bool check_rows(vec *v, const reduction *r, const leaf *s, extent a, extent b, uint32_t k) {
    uint32_t depth = v->depth;
    const extent own[2] = {a, b};
    leaf both = {.kind = LEAF_CONST, .n_own = 2, .own = own};
    extent e;
    bool ok = vec_push_level(v, r->node, r->reduced);
    for (uint32_t i = 0; ok && i < k; i++) {
        ok = vec_push_level(v, r->node, vec_own_as_level(v, s->own[i], depth + 1));
    }
    if (ok && (vec_unguarded(v, vec_level_mask(v, &both)) & ((UINT64_C(1) << depth) - 1))) {
        ok = vec_refuse(v, r->node, "an operator on rows that may differ in length, under a map that may be empty");
    }
    ok = ok && vec_unify(v, r->node, a, b, vec_trap(v, r->node, LOOM_TRAP_LENGTHS, 0), &e);
    v->depth = depth;
    return ok;
}

/* States have the shape of ne. Elements of another one are an error of the program where the operator zips both. */
static bool check_shapes(vec *v, const reduction *r) {
    for (uint32_t g = 0; g < r->n_group; g++) {
        const leaf *s = &r->like[r->group[g]], *x = &r->array->at[r->group[g]];
        for (uint32_t k = 0; k < s->n_own; k++) {
            extent a, b;
            row_extents(v, s, x, k, &a, &b);
            if (vec_known_equal(v, a, b)) continue;
            if (!vec_zips(v, loom_node_body(v->p, r->node, 0), r->combine)) {
                return vec_refuse(v, r->node, "elements that may differ in shape from the neutral element");
            }
            if (vec_is_segmented(v, a) || vec_is_segmented(v, b)) {
                if (!check_rows(v, r, s, a, b, k)) return false;
                continue;
            }
            if (vec_unguarded(v, 0)) {
                return vec_refuse(
                    v, r->node,
                    "elements that may differ in shape from the neutral element, under a map that may be empty");
            }
            shape_check c = {r->reduced, s->own[k], x->own[k + 1], s->own, k};
            if (!vec_emit_check(v, r->node, build_shape, &c, vec_trap(v, r->node, LOOM_TRAP_LENGTHS, 0))) return false;
        }
    }
    return true;
}

/* The next group of states with equal axes; empty when all are done. */
static uint32_t next_group(vec *v, const leaf *like, uint32_t n, bool *done, uint32_t *group) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (done[i]) continue;
        bool same = true;
        if (count) {
            const leaf *a = &like[group[0]];
            same = a->n_own == like[i].n_own;
            for (uint32_t k = 0; same && k < a->n_own; k++) same = vec_same_extent(v, a->own[k], like[i].own[k]);
        }
        if (!same) continue;
        done[i] = true;
        group[count++] = i;
    }
    return count;
}

static const leaf *element_shapes(vec *v, const val *array) {
    leaf *at = LOOM_NEW_ARRAY(v->scratch, leaf, (size_t)array->n + 1);
    for (uint32_t i = 0; i < array->n; i++) {
        at[i] = vec_drop_own(v, &array->at[i], (index_step){.at = LOOM_NONE, .site = LOOM_NONE});
    }
    return at;
}

static bool can_trap_in(const vec *v, loom_lblock_id block) {
    const loom_lblock *b = &v->l->blocks[block];
    for (loom_lexpr_id i = b->first; i < b->end; i++) {
        if (v->l->exprs[i].site != LOOM_NONE || v->l->exprs[i].kind == LOOM_LX_WHILE) return true;
    }
    return false;
}

static bool reduce_groups(vec *v, frame *f, reduction *r, leaf *out, leaf *totals) {
    const loom_body *op = loom_node_body(v->p, r->node, 0);
    uint32_t n = r->array->n;
    bool *done = LOOM_NEW_ARRAY(v->scratch, bool, (size_t)n + 1);
    bool first = r->node->op == LOOM_OP_FOLD1;
    for (;;) {
        uint32_t *group = LOOM_NEW_ARRAY(v->scratch, uint32_t, (size_t)n + 1);
        r->group = group;
        r->n_group = next_group(v, r->like, n, done, group);
        if (r->n_group == 0) return true;
        operator_build b = {r->node, op, f, r->like, n, group, r->n_group, false, NULL, 0};
        if (!make_operator(v, &b, &r->combine)) return false;
        r->builtin = vec_builtin_of(v, r->combine);
        r->flagged = first && r->builtin == LOOM_PRIM_COUNT;
        b.flagged = r->flagged;
        if (r->flagged && !make_operator(v, &b, &r->combine)) return false;
        for (uint32_t i = 0; i < v->depth; i++) {
            if (!v->levels[i].hidden && can_trap_in(v, r->combine) && vec_maybe_empty(v, v->levels[i].axis)) {
                return vec_refuse(v, r->node, "an operator that can fail under a map that may be empty");
            }
        }
        if (!first && !check_shapes(v, r)) return false;
        if (!make_reduction(v, r, out, totals)) return false;
    }
}

static bool build_some(vec *v, void *argument, val *result) {
    *result = vec_one(v, vec_x_prim2(v, LOOM_PRIM_GT, vec_x_extent(v, *(extent *)argument), vec_x_int(v, 0)));
    return true;
}

static bool check_some(vec *v, const loom_node *n, extent length) {
    return !vec_maybe_empty(v, length.axis) ||
           vec_emit_check(v, n, build_some, &length, vec_trap(v, n, LOOM_TRAP_EMPTY, 0));
}

static bool fold_by_reduction(vec *v, frame *f, const loom_node *n, val *result) {
    bool first = n->op == LOOM_OP_FOLD1;
    val array, start;
    leaf *out;
    reduction r = {.node = n, .kind = LOOM_LO_REDUCE, .array = &array};
    if (!vec_operand(v, f, n, first ? 0 : 1, &array) || !vec_common_length(v, n, &array, 1, &r.reduced)) return false;
    if (first) {
        r.like = element_shapes(v, &array);
        if (!check_some(v, n, r.reduced)) return false;
    } else {
        if (!vec_operand(v, f, n, 0, &start)) return false;
        r.start = &start;
        r.like = start.at;
    }
    *result = vec_leaves_of(v, array.n, &out);
    return reduce_groups(v, f, &r, out, NULL);
}

static bool fold_by_halves(vec *v, frame *f, loom_node_id id, val *result) {
    const loom_node *n = &v->p->nodes[id];
    val array;
    extent length;
    if (n->op == LOOM_OP_FOLD1) {
        if (!vec_operand(v, f, n, 0, &array) || !vec_common_length(v, n, &array, 1, &length)) return false;
        if (!check_some(v, n, length)) return false;
    }
    return vec_lift_halves(v, f, id, result);
}

bool vec_lift_fold(vec *v, frame *f, loom_node_id id, val *result) {
    const loom_node *n = &v->p->nodes[id];
    mark m = vec_mark_here(v);
    if (fold_by_reduction(v, f, n, result)) return true;
    /* One element after the other, where states are scalars; or by halves, where they are arrays. */
    const char *remark = v->remark;
    vec_roll_back(v, m);
    if (vec_by_expressions(v, f, id, result)) return true;
    vec_roll_back(v, m);
    if (fold_by_halves(v, f, id, result)) return true;
    v->remark = remark;
    return false;
}

loom_lblock_id vec_prim_block(vec *v, loom_prim prim) {
    loom_dtype types[2] = {LOOM_I64, LOOM_I64};
    vec_op_begin(v);
    open_block b = vec_block_open(v);
    loom_lexpr_id args[2] = {vec_x_param(v, LOOM_I64, 0), vec_x_param(v, LOOM_I64, 1)};
    loom_lexpr_id result = vec_x_prim(v, prim, LOOM_I64, args, LOOM_NONE);
    loom_lblock_id block = vec_block_close(v, b, 2, types, 1, &result);
    vec_op_end(v);
    return block;
}

bool vec_lift_sums(vec *v, const loom_node *n, const val *numbers, extent length, leaf *sums, leaf *total) {
    leaf *zero;
    val start = vec_leaves_of(v, 1, &zero);
    uint32_t group = 0;
    zero[0] = vec_int_leaf(0);
    reduction r = {.node = n,
                   .kind = sums ? LOOM_LO_SCAN : LOOM_LO_REDUCE,
                   .scan = LOOM_SCAN_TOTAL,
                   .reduced = length,
                   .array = numbers,
                   .like = start.at,
                   .start = &start,
                   .group = &group,
                   .n_group = 1};
    r.combine = vec_prim_block(v, LOOM_PRIM_ADD);
    r.builtin = vec_builtin_of(v, r.combine);
    return sums ? make_reduction(v, &r, sums, total) : make_reduction(v, &r, total, NULL);
}

static bool scan_by_reduction(vec *v, frame *f, const loom_node *n, val *result) {
    val array, start;
    leaf *out;
    reduction r = {.node = n, .kind = LOOM_LO_SCAN, .scan = (loom_scan_kind)n->aux, .array = &array, .start = &start};
    if (!vec_operand(v, f, n, 0, &start) || !vec_operand(v, f, n, 1, &array)) return false;
    if (!vec_common_length(v, n, &array, 1, &r.reduced)) return false;
    r.like = start.at;
    bool total = n->aux == LOOM_SCAN_TOTAL;
    *result = vec_leaves_of(v, array.n * (total ? 2 : 1), &out);
    return reduce_groups(v, f, &r, out, out + array.n);
}

bool vec_lift_scan(vec *v, frame *f, loom_node_id id, val *result) {
    mark m = vec_mark_here(v);
    if (scan_by_reduction(v, f, &v->p->nodes[id], result)) return true;
    const char *remark = v->remark;
    vec_roll_back(v, m);
    if (vec_lift_halves(v, f, id, result)) return true;
    v->remark = remark;
    return false;
}
