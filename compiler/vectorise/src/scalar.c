/* Expression mode: core nodes as expressions of the operation under construction.
 *
 * Scalars become expressions, arrays closures (delayed.c), conditionals and loops the IF, FOR and WHILE of lifted IR,
 * whose blocks are evaluated only where taken: so a test may differ between elements, and what is not taken cannot
 * trap. A fold becomes a FOR. What needs a place in memory of its own (fft, permute, scan, a loop whose state has
 * arrays) is refused.
 */
#include "vec.h"

/* ---- views, alike in both modes ---- */

static val one_leaf(vec *v, leaf x) {
    leaf *at;
    val y = vec_leaves_of(v, 1, &at);
    at[0] = x;
    return y;
}

static val tuple_of(vec *v, frame *f, const loom_node *n) {
    leaf *at;
    uint32_t count = 0;
    for (uint32_t i = 0; i < n->n_operands; i++) count += vec_slot(f, loom_operand(v->p, n, i))->n;
    val x = vec_leaves_of(v, count, &at);
    for (uint32_t i = 0, k = 0; i < n->n_operands; i++) {
        const val *y = vec_slot(f, loom_operand(v->p, n, i));
        if (y->n) memcpy(at + k, y->at, y->n * sizeof *at);
        k += y->n;
    }
    return x;
}

static val field_of(vec *v, frame *f, const loom_node *n) {
    loom_node_id tuple = loom_operand(v->p, n, 0);
    const loom_type *t = &v->p->types[v->p->nodes[tuple].type];
    uint32_t skip = 0;
    for (uint32_t i = 0; i < n->aux; i++) skip += vec_leaf_count(v, t->fields[i]);
    return (val){vec_leaf_count(v, t->fields[n->aux]), vec_slot(f, tuple)->at + skip};
}

static bool zipped(vec *v, frame *f, const loom_node *n, val *result) {
    val *ops;
    extent e;
    leaf *at;
    if (!vec_operands(v, f, n, &ops) || !vec_common_length(v, n, ops, n->n_operands, &e)) return false;
    val all = tuple_of(v, f, n);
    *result = vec_leaves_of(v, all.n, &at);
    for (uint32_t i = 0; i < all.n; i++) {
        /* Inside an operation a failed check goes on: the leaf keeps its own length there. */
        at[i] = v->in_op ? all.at[i] : vec_with_own(v, &all.at[i], 0, e);
    }
    return true;
}

static bool iota(vec *v, frame *f, const loom_node *n, val *result) {
    val count;
    extent *e = LOOM_NEW(v->scratch, extent);
    if (!vec_operand(v, f, n, 0, &count) || !vec_as_extent(v, n, &count.at[0], e)) return false;
    leaf x = vec_axis_leaf(e->axis, 0);
    x.at = (source){FROM_OWN, IN_RANGE, 0};
    x.dtype = v->p->types[v->p->types[n->type].element].dtype;
    x.n_own = 1;
    x.own = e;
    *result = one_leaf(v, x);
    return true;
}

bool vec_simple_node(vec *v, frame *f, const loom_node *n, val *result, bool *done) {
    val x;
    leaf d;
    *done = true;
    switch ((loom_op)n->op) {
    case LOOM_OP_CONST:
        *result = one_leaf(v, vec_const_leaf(v->p->types[n->type].dtype, v->p->constants[n->aux]));
        return true;
    case LOOM_OP_TUPLE: *result = tuple_of(v, f, n); return true;
    case LOOM_OP_PROJECT: *result = field_of(v, f, n); return true;
    case LOOM_OP_UNZIP: *result = *vec_slot(f, loom_operand(v->p, n, 0)); return true;
    case LOOM_OP_ZIP: return zipped(v, f, n, result);
    case LOOM_OP_IOTA: return iota(v, f, n, result);
    case LOOM_OP_LENGTH:
    case LOOM_OP_DIM:
        if (!vec_operand(v, f, n, 0, &x)) return false;
        if (x.n == 0) return vec_refuse(v, n, "the length of an array of empty tuples");
        if (!vec_dim_leaf(v, n, &x.at[0], n->op == LOOM_OP_DIM ? n->aux : 0, &d)) return false;
        *result = one_leaf(v, d);
        return true;
    default: *done = false; return true;
    }
}

/* ---- scalars ---- */

static loom_lsite_id site_of(vec *v, const loom_node *n, const leaf *args) {
    if (!loom_prim_table[n->prim].can_trap) return LOOM_NONE;
    bool shift = n->prim == LOOM_PRIM_SHL || n->prim == LOOM_PRIM_SHR || n->prim == LOOM_PRIM_LSHR;
    int64_t by;
    if (vec_is_int(&args[1], &by) && (shift ? by >= 0 : by != 0)) return LOOM_NONE;
    if (loom_dtype_is_unsigned(args[1].dtype) && shift) return LOOM_NONE;
    return vec_site(v, n, LOOM_TRAP_PRIM, 0);
}

static bool expr_prim(vec *v, frame *f, const loom_node *n, val *result) {
    loom_lexpr_id e[3];
    leaf args[3], *at;
    bool constant = true;
    for (uint32_t i = 0; i < n->n_operands; i++) {
        val x;
        if (!vec_operand(v, f, n, i, &x)) return false;
        args[i] = x.at[0];
        constant = constant && args[i].kind == LEAF_CONST;
    }
    loom_scalar s = vec_zero_scalar();
    bool known = vec_evaluate_prim((loom_prim)n->prim, args, n->n_operands, &s);
    *result = vec_leaves_of(v, 1, &at);
    if (known && constant) {
        at[0] = vec_const_leaf(v->p->types[n->type].dtype, s);
        return true;
    }
    for (uint32_t i = 0; i < n->n_operands; i++) {
        if (!vec_to_expr(v, &args[i], &e[i])) return false;
    }
    loom_lsite_id site = site_of(v, n, args);
    at[0] = vec_expr_leaf(v, vec_x_prim(v, (loom_prim)n->prim, v->p->types[n->type].dtype, e, site));
    at[0].known = known;
    at[0].imm = s;
    return true;
}

static bool expr_convert(vec *v, frame *f, const loom_node *n, val *result) {
    val x;
    leaf *at;
    loom_lexpr_id e;
    loom_dtype t = v->p->types[n->type].dtype;
    loom_scalar s = vec_zero_scalar();
    if (!vec_operand(v, f, n, 0, &x)) return false;
    *result = vec_leaves_of(v, 1, &at);
    if (x.at[0].dtype == t) {
        at[0] = x.at[0];
        return true;
    }
    bool known = false;
    if (x.at[0].known) {
        loom_status *failed = loom_interp_convert(x.at[0].dtype, x.at[0].imm, t, &s);
        known = !failed;
        loom_status_free(failed);
    }
    if (known && x.at[0].kind == LEAF_CONST) {
        at[0] = vec_const_leaf(t, s);
        return true;
    }
    if (!vec_to_expr(v, &x.at[0], &e)) return false;
    at[0] = vec_expr_leaf(v, loom_lifted_expr(v->l, vec_plain_expr(LOOM_LX_CONVERT, t), &e, 1));
    at[0].known = known;
    at[0].imm = s;
    return true;
}

/* ---- conditionals ---- */

bool vec_probe_body(vec *v, const loom_body *b, frame *f, val *x) {
    mark m = vec_mark_here(v);
    open_block open = vec_block_open(v);
    bool ok = vec_expr_body(v, b, NULL, f, x);
    vec_block_close(v, open, 0, NULL, 0, NULL);
    vec_forget_exprs(v, m);
    return ok;
}

/* Extents as far as both branches agree on them; only axes outlive the probe. */
static bool shape_of_branches(vec *v, frame *f, const loom_node *n, val *like) {
    val a, b;
    leaf *at;
    const leaf_type *types = vec_leaf_types(v, n->type);
    uint32_t count = vec_leaf_count(v, n->type);
    bool arrays = false;
    for (uint32_t i = 0; i < count; i++) arrays = arrays || types[i].depth;
    if (arrays && (!vec_probe_body(v, loom_node_body(v->p, n, 0), f, &a) ||
                   !vec_probe_body(v, loom_node_body(v->p, n, 1), f, &b))) {
        return false;
    }
    *like = vec_leaves_of(v, count, &at);
    for (uint32_t i = 0; i < count; i++) {
        at[i] = (leaf){.kind = LEAF_PULL, .dtype = types[i].dtype, .n_own = types[i].depth, .site = LOOM_NONE};
        if (!types[i].depth) continue;
        extent *own = LOOM_NEW_ARRAY(v->scratch, extent, types[i].depth);
        for (uint32_t k = 0; k < types[i].depth; k++) {
            own[k] = a.at[i].own[k];
            bool same = vec_is_settled(v, own[k]) && vec_same_extent(v, own[k], b.at[i].own[k]);
            if (!same) own[k] = (extent){.axis = LOOM_NONE, .expr = LOOM_NONE};
        }
        at[i].own = own;
    }
    return true;
}

static bool expr_if(vec *v, frame *f, const loom_node *n, val *result) {
    val condition, like;
    loom_lexpr_id e;
    if (!vec_operand(v, f, n, 0, &condition)) return false;
    if (condition.at[0].known) {
        return vec_expr_body(v, loom_node_body(v->p, n, condition.at[0].imm.b ? 0 : 1), NULL, f, result);
    }
    if (!shape_of_branches(v, f, n, &like) || !vec_to_expr(v, &condition.at[0], &e)) return false;
    thunk a = {.body = loom_node_body(v->p, n, 0), .frame = f}, b = {.body = loom_node_body(v->p, n, 1), .frame = f};
    return vec_either(v, n, e, &a, &b, &like, result);
}

/* ---- loops ---- */

typedef struct states {
    uint32_t n;
    loom_dtype *types;
    loom_lexpr_id *args; /* [0] left free for the count of a FOR */
} states;

static bool initial_states(vec *v, const loom_node *n, const val *x, states *s) {
    if (!vec_is_scalar(x))
        return vec_refuse(v, n, "a loop whose state has arrays, where elements differ in the number of turns");
    s->n = x->n;
    s->types = LOOM_NEW_ARRAY(v->scratch, loom_dtype, (size_t)x->n + 1);
    s->args = LOOM_NEW_ARRAY(v->scratch, loom_lexpr_id, (size_t)x->n + 1);
    for (uint32_t i = 0; i < x->n; i++) {
        s->types[i + 1] = x->at[i].dtype;
        if (!vec_to_expr(v, &x->at[i], &s->args[i + 1])) return false;
    }
    s->types[0] = LOOM_I64;
    return true;
}

static val params(vec *v, const loom_dtype *types, uint32_t from, uint32_t n) {
    leaf *at;
    val x = vec_leaves_of(v, n, &at);
    for (uint32_t i = 0; i < n; i++) at[i] = vec_expr_leaf(v, vec_x_param(v, types[i], from + i));
    return x;
}

static bool scalar_results(vec *v, const loom_node *n, const val *x, loom_lexpr_id *results) {
    for (uint32_t i = 0; i < x->n; i++) {
        if (x->at[i].n_own) return vec_refuse(v, n, "an array in the state of a loop");
        if (!vec_to_expr(v, &x->at[i], &results[i])) return false;
    }
    return true;
}

static val loop_results(vec *v, loom_lexpr_id loop, const states *s) {
    leaf *at;
    val x = vec_leaves_of(v, s->n, &at);
    for (uint32_t i = 0; i < s->n; i++) at[i] = vec_expr_leaf(v, vec_x_result(v, loop, s->types[i + 1], i, s->n));
    return x;
}

/* The body of one turn: (i, state) -> state. */
typedef bool (*turn)(vec *v, void *argument, const leaf *i, const val *state, val *next);

static bool make_for(vec *v, const loom_node *n, loom_for_mode mode, loom_lexpr_id count, states *s, turn body,
                     void *argument, val *result) {
    loom_lexpr e = vec_plain_expr(LOOM_LX_FOR, s->n ? s->types[1] : LOOM_BOOL);
    e.mode = mode;
    loom_lexpr_id *results = LOOM_NEW_ARRAY(v->scratch, loom_lexpr_id, (size_t)s->n + 1);
    s->args[0] = count;
    open_block b = vec_block_open(v);
    v->loop_depth++;
    val i = params(v, s->types, 0, 1), state = params(v, s->types + 1, 1, s->n), next;
    bool ok = body(v, argument, &i.at[0], &state, &next) && scalar_results(v, n, &next, results);
    v->loop_depth--;
    e.blocks[0] = vec_block_close(v, b, s->n + 1, s->types, s->n, results);
    if (!ok) return false;
    *result = loop_results(v, loom_lifted_expr(v->l, e, s->args, s->n + 1), s);
    return true;
}

typedef struct body_turn {
    const loom_body *body;
    frame *frame;
} body_turn;

static bool run_turn(vec *v, void *argument, const leaf *i, const val *state, val *next) {
    body_turn *t = argument;
    return vec_expr_body(v, t->body, (val[]){{1, i}, *state}, t->frame, next);
}

static bool expr_for(vec *v, frame *f, const loom_node *n, val *result) {
    val count, initial;
    states s;
    loom_lexpr_id e;
    if (!vec_operand(v, f, n, 0, &count) || !vec_operand(v, f, n, 1, &initial)) return false;
    if (!initial_states(v, n, &initial, &s)) return false;
    leaf c = count.at[0];
    if (c.known && c.imm.i <= vec_most_constant(v)) c = vec_const_leaf(LOOM_I64, c.imm);
    if (!vec_to_expr(v, &c, &e)) return false;
    body_turn t = {loom_node_body(v->p, n, 0), f};
    return make_for(v, n, LOOM_FOR_LOOP, e, &s, run_turn, &t, result);
}

static bool expr_while(vec *v, frame *f, const loom_node *n, val *result) {
    val initial, x;
    states s;
    loom_lexpr e = vec_plain_expr(LOOM_LX_WHILE, LOOM_BOOL);
    if (!vec_operand(v, f, n, 0, &initial) || !initial_states(v, n, &initial, &s)) return false;
    loom_lexpr_id *results = LOOM_NEW_ARRAY(v->scratch, loom_lexpr_id, (size_t)s.n + 1);
    if (s.n) e.dtype = s.types[1];
    v->loop_depth++;
    bool ok = true;
    for (uint32_t k = 0; ok && k < 2; k++) {
        open_block b = vec_block_open(v);
        val state = params(v, s.types + 1, 0, s.n);
        ok = vec_expr_body(v, loom_node_body(v->p, n, k), &state, f, &x) && scalar_results(v, n, &x, results);
        e.blocks[k] = vec_block_close(v, b, s.n, s.types + 1, k ? s.n : 1, results);
    }
    v->loop_depth--;
    if (!ok) return false;
    *result = loop_results(v, loom_lifted_expr(v->l, e, s.args + 1, s.n), &s);
    return true;
}

/* ---- folds ---- */

typedef struct fold_turn {
    const loom_node *node;
    const loom_body *op;
    frame *frame;
    const val *array;
    bool from_second, checked;
    loom_lsite_id site;
} fold_turn;

static bool run_fold(vec *v, void *argument, const leaf *i, const val *state, val *next) {
    fold_turn *t = argument;
    loom_lexpr_id at = i->id;
    val x;
    if (t->from_second) at = vec_x_prim2(v, LOOM_PRIM_ADD, at, vec_x_int(v, 1));
    index_step step = {.at = at, .checked = t->checked, .site = t->site};
    return vec_pull(v, t->node, t->array, step, &x) && vec_expr_body(v, t->op, (val[]){*state, x}, t->frame, next);
}

static bool expr_fold(vec *v, frame *f, const loom_node *n, val *result) {
    bool first = n->op == LOOM_OP_FOLD1;
    val array, initial;
    extent e;
    states s;
    if (!vec_operand(v, f, n, first ? 0 : 1, &array) || !vec_common_length(v, n, &array, 1, &e)) return false;
    loom_lexpr_id count = vec_x_extent(v, e);
    fold_turn t = {n, loom_node_body(v->p, n, 0), f, &array, first, false, LOOM_NONE};
    for (uint32_t i = 0; i < array.n; i++) t.checked = t.checked || !vec_known_equal(v, e, array.at[i].own[0]);
    if (first) {
        t.site = vec_site(v, n, LOOM_TRAP_EMPTY, 0);
        loom_lexpr_id zero = vec_x_int(v, 0);
        vec_x_check(v, vec_x_prim2(v, LOOM_PRIM_GT, count, zero), count, NULL, 0, t.site);
        if (!vec_pull(v, n, &array, (index_step){.at = zero, .checked = true, .site = t.site}, &initial)) return false;
        count = vec_x_prim2(v, LOOM_PRIM_SUB, count, vec_x_int(v, 1));
    } else if (!vec_operand(v, f, n, 0, &initial)) {
        return false;
    }
    if (t.checked) t.site = vec_site(v, n, LOOM_TRAP_INDEX, 0);
    return initial_states(v, n, &initial, &s) && make_for(v, n, LOOM_FOR_FOLD, count, &s, run_fold, &t, result);
}

/* ---- assert and claim ---- */

static bool expr_assert(vec *v, frame *f, const loom_node *n, val *result) {
    val condition, x;
    loom_lexpr_id c, e;
    leaf *at;
    if (!vec_operand(v, f, n, 0, &condition) || !vec_operand(v, f, n, 1, &x)) return false;
    *result = x;
    if (condition.at[0].kind == LEAF_CONST && condition.at[0].imm.b) return true;
    if (!vec_to_expr(v, &condition.at[0], &c)) return false;
    loom_lsite_id site = vec_site(v, n, LOOM_TRAP_ASSERT, 0);
    bool counts = loom_assertion_counts(n->aux);
    if (counts && !vec_to_expr(v, &x.at[0], &e)) return false;
    vec_x_check(v, c, c, counts ? &e : NULL, counts ? 1 : 0, site);
    *result = vec_leaves_of(v, x.n, &at);
    for (uint32_t i = 0; i < x.n; i++) {
        at[i] = x.at[i];
        if (at[i].n_own || at[i].kind == LEAF_CONST) continue;
        if (!vec_to_expr(v, &x.at[i], &e)) return false;
        at[i] = vec_expr_leaf(v, e);
    }
    return true;
}

/* The claim is checked; the array keeps its own extents, since evaluation goes on after a failed check. */
static bool expr_claim(vec *v, frame *f, const loom_node *n, val *result) {
    val size, x;
    if (!vec_operand(v, f, n, 0, &x)) return false;
    *result = x;
    if (x.n == 0) return true;
    for (uint32_t k = 0, i = 1; i < n->n_operands; k++) {
        if (!(n->aux >> k & 1)) continue;
        loom_lexpr_id e, d;
        leaf dim;
        extent claimed;
        uint32_t claim = i++ - 1;
        if (!vec_operand(v, f, n, claim + 1, &size)) return false;
        if (size.at[0].kind == LEAF_EXTENT || size.at[0].kind == LEAF_CONST) {
            if (!vec_as_extent(v, n, &size.at[0], &claimed)) return false;
            if (vec_known_equal(v, claimed, x.at[0].own[k])) continue;
        }
        if (!vec_dim_leaf(v, n, &x.at[0], k, &dim)) return false;
        if (!vec_to_expr(v, &dim, &d) || !vec_to_expr(v, &size.at[0], &e)) return false;
        loom_lexpr_id ok = vec_x_prim2(v, LOOM_PRIM_EQ, d, e);
        for (uint32_t j = 0; j < k; j++) {
            extent outer = x.at[0].own[j];
            if (outer.axis != LOOM_NONE && !vec_maybe_empty(v, outer.axis)) continue;
            ok =
                vec_x_prim2(v, LOOM_PRIM_OR, ok, vec_x_prim2(v, LOOM_PRIM_EQ, vec_x_extent(v, outer), vec_x_int(v, 0)));
        }
        loom_lsite_id site = vec_site(v, n, LOOM_TRAP_CLAIM, claim);
        vec_x_check(v, ok, d, (loom_lexpr_id[]){d, e}, 2, site);
    }
    return true;
}

/* ---- nodes ---- */

/* In an operator whose states are treated in groups: what depends on another group's state is not known here, and only
 * matters if this group's result depends on it. */
static bool is_unknown(vec *v, frame *f, const loom_node *n, val *result) {
    bool bad = false;
    leaf *at;
    for (uint32_t i = 0; v->elementwise && i < n->n_operands && !bad; i++) {
        const val *x = vec_slot(f, loom_operand(v->p, n, i));
        for (uint32_t k = 0; k < x->n && !bad; k++) bad = x->at[k].kind == LEAF_BAD;
    }
    if (!bad) return false;
    const leaf_type *types = vec_leaf_types(v, n->type);
    *result = vec_leaves_of(v, vec_leaf_count(v, n->type), &at);
    for (uint32_t i = 0; i < result->n; i++) {
        extent *own = LOOM_NEW_ARRAY(v->scratch, extent, (size_t)types[i].depth + 1);
        for (uint32_t k = 0; k < types[i].depth; k++) own[k] = (extent){.axis = LOOM_NONE, .expr = LOOM_NONE};
        at[i] = (leaf){.kind = LEAF_BAD, .dtype = types[i].dtype, .n_own = types[i].depth, .own = own};
        at[i].why = "an operator that joins arrays of different shapes";
    }
    return true;
}

bool vec_expr_node(vec *v, frame *f, loom_node_id id, val *result) {
    const loom_node *n = &v->p->nodes[id];
    bool done;
    val *ops;
    if (!vec_count_step(v, n) || !vec_simple_node(v, f, n, result, &done)) return false;
    if (done || is_unknown(v, f, n, result)) return true;
    switch ((loom_op)n->op) {
    case LOOM_OP_PRIM: return expr_prim(v, f, n, result);
    case LOOM_OP_CONVERT: return expr_convert(v, f, n, result);
    case LOOM_OP_IF: return expr_if(v, f, n, result);
    case LOOM_OP_LOOP_FOR: return vec_expr_window(v, f, id, result) || expr_for(v, f, n, result);
    case LOOM_OP_LOOP_WHILE: return vec_expr_window(v, f, id, result) || expr_while(v, f, n, result);
    case LOOM_OP_FOLD:
    case LOOM_OP_FOLD1: return expr_fold(v, f, n, result);
    case LOOM_OP_ASSERT: return expr_assert(v, f, n, result);
    case LOOM_OP_CLAIM: return expr_claim(v, f, n, result);
    case LOOM_OP_MAP:
    case LOOM_OP_GENERATE: return vec_operands(v, f, n, &ops) && vec_delay_body(v, f, n, ops, n->n_operands, result);
    case LOOM_OP_CALL:
        return vec_operands(v, f, n, &ops) &&
               vec_expr_body(v, &v->p->bodies[v->p->functions[n->aux].body], ops, NULL, result);
    case LOOM_OP_LIFTED:
        return vec_operands(v, f, n, &ops) && vec_expr_body(v, loom_node_body(v->p, n, 0), ops, NULL, result);
    default: break;
    }
    if (vec_is_delayed((loom_op)n->op)) return vec_delay(v, f, n, result);
    return vec_refuse(v, n, "%s under a condition, in a loop or in an operator that differs between elements",
                      loom_op_table[n->op].name);
}

bool vec_expr_body(vec *v, const loom_body *b, const val *args, frame *up, val *result) {
    frame *f = vec_new_frame(v, b, up);
    const own_nodes *own = &v->own[b - v->p->bodies];
    for (uint32_t i = 0; i < b->n_params; i++) f->vals[i] = args[i];
    for (uint32_t i = 0; i < own->count; i++) {
        loom_node_id id = v->own_list[own->first + i];
        if (!vec_expr_node(v, f, id, &f->vals[id - b->first])) return false;
    }
    *result = *vec_slot(f, b->result);
    return true;
}
