/* Extents: from scalars to axes, equality, sums and differences. */
#include "vec.h"

/* Avoided scalars may be known in this specialisation; an op that fails has no known value. */
bool vec_evaluate_prim(loom_prim prim, const leaf *args, uint32_t n, loom_scalar *result) {
    loom_dtype types[3];
    loom_scalar values[3];
    for (uint32_t i = 0; i < n; i++) {
        if (!args[i].known || args[i].n_own) return false;
        types[i] = args[i].dtype;
        values[i] = args[i].imm;
    }
    loom_status *s = loom_interp_prim((uint16_t)prim, types, values, result);
    bool ok = !s;
    loom_status_free(s);
    return ok;
}

/* ---- scalar arithmetic on leaves, in either mode ---- */

typedef struct scalar_call {
    loom_prim prim;
    loom_dtype dtype;
    uint32_t n;
    leaf args[3];
} scalar_call;

static bool build_scalar(vec *v, void *argument, val *result) {
    scalar_call *c = argument;
    loom_lexpr_id e[3];
    leaf *at;
    for (uint32_t i = 0; i < c->n; i++) {
        if (!vec_to_expr(v, &c->args[i], &e[i])) return false;
    }
    *result = vec_leaves_of(v, 1, &at);
    at[0] = vec_expr_leaf(v, vec_x_prim(v, c->prim, c->dtype, e, LOOM_NONE));
    at[0].known = vec_evaluate_prim(c->prim, c->args, c->n, &at[0].imm);
    return true;
}

static bool scalar_call_of(vec *v, const loom_node *n, scalar_call *c, leaf *result) {
    loom_dtype types[3];
    bool constant = true;
    for (uint32_t i = 0; i < c->n; i++) {
        types[i] = c->args[i].dtype;
        constant = constant && c->args[i].kind == LEAF_CONST;
    }
    c->dtype = loom_prim_result(c->prim, types);
    loom_scalar s;
    if (constant && vec_evaluate_prim(c->prim, c->args, c->n, &s)) {
        *result = vec_const_leaf(c->dtype, s);
        return true;
    }
    val made;
    if (v->in_op) {
        if (!build_scalar(v, c, &made)) return false;
    } else if (!vec_emit_compute(v, n, build_scalar, c, &made)) {
        return false;
    }
    *result = made.at[0];
    return true;
}

bool vec_scalar_prim(vec *v, const loom_node *n, loom_prim prim, const leaf *a, const leaf *b, leaf *result) {
    scalar_call c = {.prim = prim, .n = 2, .args = {*a, *b}};
    return scalar_call_of(v, n, &c, result);
}

static bool select_leaf(vec *v, const loom_node *n, const leaf *condition, const leaf *a, const leaf *b, leaf *result) {
    scalar_call c = {.prim = LOOM_PRIM_SELECT, .n = 3, .args = {*condition, *a, *b}};
    return scalar_call_of(v, n, &c, result);
}

/* ---- linear forms: what a scalar is, a sum of other scalars ---- */

enum {
    MAX_TERMS = 8
};
typedef struct linear {
    int64_t constant;
    uint32_t n;
    leaf atom[MAX_TERMS];
    int64_t factor[MAX_TERMS];
} linear;

static bool same_atom(const vec *v, const leaf *a, const leaf *b) {
    if (a->kind != b->kind || a->id != b->id) return false;
    if (a->kind == LEAF_AXIS) return a->at.kind == b->at.kind && a->at.at == b->at.at;
    if (a->kind != LEAF_VALUE) return true;
    for (uint32_t i = 0; i < v->l->values[a->id].n_axes; i++) {
        if (a->sources[i].kind != b->sources[i].kind || a->sources[i].at != b->sources[i].at) return false;
    }
    return true;
}

static bool add_term(const vec *v, linear *l, const leaf *x, int64_t factor) {
    for (uint32_t i = 0; i < l->n; i++) {
        if (!same_atom(v, &l->atom[i], x)) continue;
        return !__builtin_add_overflow(l->factor[i], factor, &l->factor[i]);
    }
    if (l->n == MAX_TERMS) return false;
    l->atom[l->n] = *x;
    l->factor[l->n++] = factor;
    return true;
}

/* The leaf that an expression of the operation that made `x` stands for, if it is one. */
static bool expr_as_leaf(vec *v, const leaf *x, loom_lexpr_id id, leaf *out) {
    const loom_lexpr *e = &v->l->exprs[id];
    const loom_lop *op = &v->l->ops[v->l->values[x->id].op];
    if (e->kind == LOOM_LX_CONST) {
        *out = vec_const_leaf(e->dtype, e->imm);
        return true;
    }
    if (e->kind == LOOM_LX_EXTENT) {
        *out = vec_extent_leaf(v, (extent){.axis = e->aux, .expr = LOOM_NONE});
        return true;
    }
    if (e->kind == LOOM_LX_AXIS) {
        *out = vec_axis_leaf(op->axes[e->aux], x->sources[e->aux].at);
        return x->sources[e->aux].kind == FROM_LEVEL;
    }
    if (e->kind != LOOM_LX_LOAD || e->mode != LOOM_LOAD_PROVEN) return false;
    uint32_t n = v->l->values[e->aux].n_axes;
    source *s = LOOM_NEW_ARRAY(v->scratch, source, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) {
        const loom_lexpr *index = &v->l->exprs[loom_lifted_arg(v->l, e, i)];
        if (index->kind != LOOM_LX_AXIS) return false;
        s[i] = x->sources[index->aux];
    }
    *out = (leaf){.kind = LEAF_VALUE, .dtype = e->dtype, .id = e->aux, .sources = s, .site = LOOM_NONE};
    return true;
}

static bool decompose(vec *v, const leaf *x, int64_t factor, uint32_t depth, linear *l) {
    int64_t c;
    if (vec_is_int(x, &c)) {
        return !__builtin_mul_overflow(c, factor, &c) && !__builtin_add_overflow(l->constant, c, &l->constant);
    }
    const loom_lvalue *value = x->kind == LEAF_VALUE ? &v->l->values[x->id] : NULL;
    if (!value || value->source != LOOM_LV_OP || v->l->ops[value->op].kind != LOOM_LO_COMPUTE || depth == 0) {
        return add_term(v, l, x, factor);
    }
    const loom_lop *op = &v->l->ops[value->op];
    const loom_lexpr *e = &v->l->exprs[v->l->blocks[op->body].results[0]];
    bool sum = e->kind == LOOM_LX_PRIM && (e->prim == LOOM_PRIM_ADD || e->prim == LOOM_PRIM_SUB);
    leaf a, b;
    if (op->n_results != 1 || !sum || !expr_as_leaf(v, x, loom_lifted_arg(v->l, e, 0), &a) ||
        !expr_as_leaf(v, x, loom_lifted_arg(v->l, e, 1), &b)) {
        return add_term(v, l, x, factor);
    }
    bool minus = e->prim == LOOM_PRIM_SUB;
    return decompose(v, &a, factor, depth - 1, l) && decompose(v, &b, minus ? -factor : factor, depth - 1, l);
}

/* to - from, simplified: `xs[i:i+n]` has n elements wherever it begins. */
static bool difference(vec *v, const loom_node *n, const leaf *to, const leaf *from, leaf *result) {
    linear l = {.constant = 0};
    if (!v->in_op && decompose(v, to, 1, 16, &l) && decompose(v, from, -1, 16, &l)) {
        leaf sum = vec_int_leaf(l.constant);
        bool plain = true;
        for (uint32_t i = 0; i < l.n && plain; i++) {
            if (l.factor[i] == 0) continue;
            plain = l.factor[i] == 1 || l.factor[i] == -1;
            loom_prim prim = l.factor[i] == 1 ? LOOM_PRIM_ADD : LOOM_PRIM_SUB;
            int64_t zero;
            if (plain && prim == LOOM_PRIM_ADD && vec_is_int(&sum, &zero) && zero == 0) {
                sum = l.atom[i];
            } else if (plain && !vec_scalar_prim(v, n, prim, &sum, &l.atom[i], &sum)) {
                return false;
            }
        }
        if (plain) {
            *result = sum;
            return true;
        }
    }
    return vec_scalar_prim(v, n, LOOM_PRIM_SUB, to, from, result);
}

/* ---- extents ---- */

static bool is_avoided(const vec *v, const leaf *x) {
    return x->kind == LEAF_VALUE && v->l->values[x->id].n_axes == 0;
}

typedef struct count_check {
    const loom_node *node;
    leaf count;
} count_check;

static bool build_count(vec *v, void *argument, val *result) {
    count_check *c = argument;
    loom_lexpr_id e;
    leaf *at;
    if (!vec_to_expr(v, &c->count, &e)) return false;
    loom_lsite_id site = vec_site(v, c->node, LOOM_TRAP_COUNT, 0);
    loom_lexpr_id ok = vec_x_prim2(v, LOOM_PRIM_GE, e, vec_x_int(v, 0));
    *result = vec_leaves_of(v, 1, &at);
    at[0] = vec_expr_leaf(v, vec_x_check(v, ok, e, &e, 1, site));
    at[0].known = c->count.known && c->count.imm.i >= 0; /* else it is never read */
    at[0].imm = c->count.imm;
    return true;
}

/* product / a = b: what has wrapped around lacks 2^64 or more, which is more than a once. */
static loom_lexpr_id is_product(vec *v, loom_lexpr_id a, loom_lexpr_id b, loom_lexpr_id product) {
    loom_lexpr_id most = vec_x_prim2(v, LOOM_PRIM_MAX, a, vec_x_int(v, 1));
    loom_lexpr_id divided = vec_x_prim2(v, LOOM_PRIM_FLOORDIV, product, most);
    loom_lexpr_id none = vec_x_prim2(v, LOOM_PRIM_EQ, a, vec_x_int(v, 0));
    return vec_x_prim2(v, LOOM_PRIM_OR, none, vec_x_prim2(v, LOOM_PRIM_EQ, divided, b));
}

/* a + b <= 2^63 - 1, said so that it cannot be taken for a sum of what is not negative. */
static loom_lexpr_id is_sum(vec *v, loom_lexpr_id a, loom_lexpr_id b) {
    return vec_x_prim2(v, LOOM_PRIM_LE, a, vec_x_prim2(v, LOOM_PRIM_SUB, vec_x_int(v, INT64_MAX), b));
}

typedef struct joined_extents {
    const loom_node *node;
    loom_prim prim; /* ADD, MUL */
    bool points;
    leaf a, b;
} joined_extents;

static bool build_joined(vec *v, void *argument, val *result) {
    const joined_extents *c = argument;
    loom_lexpr_id numbers[2];
    if (!vec_to_expr(v, &c->a, &numbers[0]) || !vec_to_expr(v, &c->b, &numbers[1])) return false;
    loom_lexpr_id both = vec_x_prim2(v, c->prim, numbers[0], numbers[1]);
    loom_lexpr_id whole =
        c->prim == LOOM_PRIM_ADD ? is_sum(v, numbers[0], numbers[1]) : is_product(v, numbers[0], numbers[1], both);
    if (c->points) {
        loom_lexpr_id args[3] = {whole, both, vec_x_int(v, INT64_MAX)};
        *result = vec_one(v, vec_x_prim(v, LOOM_PRIM_SELECT, LOOM_I64, args, LOOM_NONE));
        return true;
    }
    loom_lsite_id site = vec_site(v, c->node, LOOM_TRAP_TOO_MANY, 0);
    *result = vec_one(v, vec_x_check(v, whole, both, numbers, 2, site));
    return true;
}

/* The number that the leaf is known to be. */
static bool known_number(const leaf *x, int64_t *number) {
    if (vec_is_int(x, number)) return true;
    if (!x->known || x->n_own) return false;
    *number = x->imm.i;
    return true;
}

static bool join(vec *v, const joined_extents *c, leaf *joined) {
    const loom_node *n = c->node;
    const leaf *a = &c->a, *b = &c->b;
    loom_prim prim = c->prim;
    joined_extents argument = *c;
    int64_t x, y, both, neutral = prim == LOOM_PRIM_MUL;
    bool is_x = known_number(a, &x), is_y = known_number(b, &y);
    if (is_x && is_y) {
        bool over = prim == LOOM_PRIM_MUL ? __builtin_mul_overflow(x, y, &both) : __builtin_add_overflow(x, y, &both);
        if (over) return vec_refuse(v, n, "an array of more than 2^63 elements");
    }
    if ((is_x && is_y) || (is_x && x == neutral) || (is_y && y == neutral))
        return vec_scalar_prim(v, n, prim, a, b, joined);
    val made;
    if (v->in_op ? !build_joined(v, &argument, &made) : !vec_emit_compute(v, n, build_joined, &argument, &made))
        return false;
    *joined = made.at[0];
    return true;
}

bool vec_join_extents(vec *v, const loom_node *n, loom_prim prim, const leaf *a, const leaf *b, leaf *joined) {
    return join(v, &(joined_extents){n, prim, false, *a, *b}, joined);
}

bool vec_multiply_points(vec *v, const loom_node *n, const leaf *a, const leaf *b, leaf *product) {
    return join(v, &(joined_extents){n, LOOM_PRIM_MUL, true, *a, *b}, product);
}

/* Lengths of an axis that is there: nothing is to be checked. */
static bool are_lengths(const vec *v, const leaf *x) {
    bool found = false;
    for (size_t i = 0; x->kind == LEAF_VALUE && i < v->segments.count && !found; i++) {
        found = v->l->axes[v->segments.at[i]].lengths == x->id;
    }
    return found;
}

extent vec_count_extent(vec *v, const leaf *x) {
    extent e = {.axis = LOOM_NONE, .expr = LOOM_NONE};
    int64_t c;
    if (vec_is_int(x, &c) && c >= 0) {
        e.axis = loom_lifted_const_axis(v->l, c);
    } else if (x->known && x->imm.i >= 0 && x->imm.i <= vec_most_constant(v)) {
        e.axis = loom_lifted_const_axis(v->l, x->imm.i);
    } else if (x->kind == LEAF_EXTENT) {
        e.axis = x->id;
    } else if (is_avoided(v, x)) {
        e.axis = loom_lifted_axis(v->l, (loom_axis){.kind = LOOM_AXIS_SCALAR, .value = x->id});
    } else {
        e = vec_segments(v, x);
    }
    return e;
}

/* Forced: lengths of its own for each row, though all are the same. Of the innermost level that is one of the present
 * part's: a loop knows nothing of what it has nothing to do with. */
static bool spread_extent(vec *v, const loom_node *n, const leaf *x, extent *e) {
    uint64_t mask = vec_close_mask(v, UINT64_C(1) << (v->mapped - 1));
    op_axes axes;
    loom_lvalue_id lengths;
    if (!vec_copy_value(v, n, x, mask, &lengths) || !vec_value_axes(v, n, mask, 0, NULL, &axes)) return false;
    leaf over = vec_result_leaf(v, lengths, &axes, 0, NULL);
    *e = vec_segments(v, &over);
    return true;
}

bool vec_as_extent(vec *v, const loom_node *n, const leaf *x, extent *e) {
    int64_t c = -1;
    val checked;
    assert(x->n_own == 0);
    *e = (extent){.axis = LOOM_NONE, .expr = LOOM_NONE};
    /* A negative one is an error where it is reached, which may be nowhere. */
    if (!vec_is_int(x, &c) && x->known && x->imm.i <= vec_most_constant(v)) c = x->imm.i;
    if (c >= 0) {
        e->axis = loom_lifted_const_axis(v->l, c);
        return true;
    }
    bool spread = vec_forces(v, LOOM_FORCE_IRREGULAR) && v->mapped && !v->in_op;
    if (x->kind == LEAF_EXTENT) {
        e->axis = x->id;
        return v->l->axes[x->id].kind == LOOM_AXIS_CONST || !spread || spread_extent(v, n, x, e);
    }
    if (are_lengths(v, x)) {
        *e = vec_segments_of(v, x);
        return true;
    }
    if (vec_tested_extent(v, x, e)) return true;
    if (v->in_op) {
        if (is_avoided(v, x)) {
            e->axis = loom_lifted_axis(v->l, (loom_axis){.kind = LOOM_AXIS_SCALAR, .value = x->id});
            return true;
        }
        count_check here = {n, *x};
        if (!build_count(v, &here, &checked)) return false;
        e->expr = checked.at[0].id;
        return true;
    }
    count_check c2 = {n, *x};
    if (!vec_emit_compute(v, n, build_count, &c2, &checked)) return false;
    if (spread && is_avoided(v, &checked.at[0])) return spread_extent(v, n, &checked.at[0], e);
    return vec_row_extent(v, n, &checked.at[0], e);
}

typedef struct equality {
    extent a, b;
} equality;

static uint64_t extent_levels(const vec *v, extent e) {
    leaf x = {.kind = LEAF_CONST, .n_own = 1, .own = &e};
    return vec_level_mask(v, &x);
}

static bool build_equality(vec *v, void *argument, val *result) {
    equality *q = argument;
    leaf *at;
    *result = vec_leaves_of(v, 3, &at);
    loom_lexpr_id a = vec_x_extent(v, q->a), b = vec_x_extent(v, q->b);
    at[0] = vec_expr_leaf(v, vec_x_prim2(v, LOOM_PRIM_EQ, a, b));
    at[1] = vec_expr_leaf(v, a);
    at[2] = vec_expr_leaf(v, b);
    return true;
}

bool vec_known_equal(const vec *v, extent a, extent b) {
    if (vec_same_extent(v, a, b)) return true;
    if ((vec_is_segmented(v, a) || vec_is_segmented(v, b)) && !vec_same_rows(v, a, b)) return false;
    if (vec_forces(v, LOOM_FORCE_IRREGULAR)) return false;
    for (size_t i = 0; i < v->equal.count; i++) {
        const equal_axes *q = &v->equal.at[i];
        if ((q->a == a.axis && q->b == b.axis) || (q->a == b.axis && q->b == a.axis)) return true;
    }
    return false;
}

/* The inner extent is 0 wherever the outer one is, as values from outside are. */
static bool falls_with(const vec *v, loom_axis_id outer, loom_axis_id inner) {
    const loom_axis *a = &v->l->axes[outer], *b = &v->l->axes[inner];
    if (b->kind == LOOM_AXIS_CONST && b->extent == 0) return true;
    if (b->kind == LOOM_AXIS_SEGMENTED) { /* no rows, no lengths */
        const loom_lvalue *lengths = &v->l->values[b->lengths];
        for (uint32_t i = 0; i < lengths->n_axes; i++) {
            if (lengths->axes[i] == outer) return true;
        }
        return false;
    }
    return a->kind == LOOM_AXIS_INPUT && b->kind == LOOM_AXIS_INPUT && a->value == b->value && a->level < b->level;
}

/* 0 wherever one of the levels is empty: then nothing is visited that a skipped check would have forbidden. */
static bool falls_with_levels(const vec *v, uint64_t levels, loom_axis_id axis) {
    for (uint32_t i = 0; i < v->depth; i++) {
        if ((levels >> i & 1) && !falls_with(v, v->levels[i].axis, axis)) return false;
    }
    return true;
}

/* Under a map that may be empty the check of two extents is skipped where the map is, and operations that do not depend
 * on the map run all the same: they may rely on the extent only as far as both arrays reach. */
static bool shared_extent(vec *v, const loom_node *n, extent a, extent b, extent *e) {
    uint64_t levels = vec_unguarded(v, 0);
    bool plain = !vec_is_segmented(v, a) && !vec_is_segmented(v, b);
    if (plain && (falls_with_levels(v, levels, a.axis) || falls_with_levels(v, levels, b.axis))) {
        *e = falls_with_levels(v, levels, a.axis) ? a : b;
        return true;
    }
    leaf x = vec_extent_leaf(v, a), y = vec_extent_leaf(v, b), least;
    return vec_scalar_prim(v, n, LOOM_PRIM_MIN, &x, &y, &least) && vec_as_extent(v, n, &least, e);
}

bool vec_unify(vec *v, const loom_node *n, extent a, extent b, loom_trap_text text, extent *e) {
    if (vec_is_unknown(a)) return vec_refuse(v, n, "an inner extent that is not known here");
    if (vec_is_unknown(b)) return vec_refuse(v, n, "an inner extent that is not known here");
    bool constant = b.axis != LOOM_NONE && v->l->axes[b.axis].kind == LOOM_AXIS_CONST;
    *e = a.axis == LOOM_NONE || constant ? b : a;
    if (vec_known_equal(v, a, b)) return true;
    if (v->in_op) {
        *e = a;
        loom_lexpr_id x = vec_x_extent(v, a), y = vec_x_extent(v, b);
        loom_lsite_id site = loom_lifted_site(v->l, n->span, text.format, text.hint);
        vec_x_check(v, vec_x_prim2(v, LOOM_PRIM_EQ, x, y), x, (loom_lexpr_id[]){x, y}, 2, site);
        return true;
    }
    equality q = {a, b};
    if (!vec_emit_check(v, n, build_equality, &q, text)) return false;
    uint64_t rows = vec_is_segmented(v, a) || vec_is_segmented(v, b) ? extent_levels(v, a) | extent_levels(v, b) : 0;
    if (vec_unguarded(v, rows)) return shared_extent(v, n, a, b, e);
    if (rows && !vec_same_rows(v, a, b)) return true; /* *e is as long: of these rows it is known, not of all */
    equal_axes pair = {a.axis, b.axis};
    LOOM_PUSH(v->scratch, v->equal, pair);
    return true;
}

bool vec_common_length(vec *v, const loom_node *n, const val *xs, uint32_t n_xs, extent *e) {
    bool any = false;
    for (uint32_t i = 0; i < n_xs; i++) {
        for (uint32_t k = 0; k < xs[i].n; k++) {
            if (!any) *e = xs[i].at[k].own[0];
            if (any && !vec_unify(v, n, *e, xs[i].at[k].own[0], vec_trap(v, n, LOOM_TRAP_LENGTHS, 0), e)) return false;
            any = true;
        }
    }
    if (any && vec_is_unknown(*e)) return vec_refuse(v, n, "an inner extent that is not known here");
    return any || vec_refuse(v, n, "an array of empty tuples");
}

/* The extent of a level is that of its first row, and 0 where there is no row. */
bool vec_dim_leaf(vec *v, const loom_node *n, const leaf *x, uint32_t level, leaf *result) {
    extent e = x->own[level];
    if (vec_is_unknown(e)) return vec_refuse(v, n, "an inner extent that is not known here");
    if (vec_depends_on_own(v, e, level)) return vec_refuse(v, n, "the extent of rows that may differ in length");
    *result = vec_extent_leaf(v, e);
    for (uint32_t k = 0; k < level; k++) {
        extent outer = x->own[k];
        if (vec_is_unknown(outer)) return vec_refuse(v, n, "an inner extent that is not known here");
        if (outer.axis != LOOM_NONE && !vec_maybe_empty(v, outer.axis)) continue;
        if (outer.axis != LOOM_NONE && e.axis != LOOM_NONE && falls_with(v, outer.axis, e.axis)) continue;
        leaf rows = vec_extent_leaf(v, outer), zero = vec_int_leaf(0), any;
        if (!vec_scalar_prim(v, n, LOOM_PRIM_GT, &rows, &zero, &any)) return false;
        if (!select_leaf(v, n, &any, result, &zero, result)) return false;
    }
    return true;
}

/* Number of steps from `from` towards `to`: (to - from + step -+ 1) // step. */
bool vec_slice_extent(vec *v, const loom_node *n, const leaf *from, const leaf *to, int64_t step, extent *e) {
    leaf length, slack = vec_int_leaf(step > 0 ? step - 1 : step + 1), by = vec_int_leaf(step);
    if (!difference(v, n, to, from, &length)) return false;
    if (step != 1) {
        if (!vec_scalar_prim(v, n, LOOM_PRIM_ADD, &length, &slack, &length)) return false;
        if (!vec_scalar_prim(v, n, LOOM_PRIM_QUOT, &length, &by, &length)) return false;
    }
    return vec_as_extent(v, n, &length, e);
}
