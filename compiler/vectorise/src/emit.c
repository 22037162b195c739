/* Expressions, and the operations that hold them.
 *
 * An operation is built by evaluating its body once, with AXIS expressions naming levels of the context; the levels
 * that were named are its index space, so a body that does not depend on a level never gets its axis (avoidance). Then
 * levels are replaced by positions.
 *
 * GUARD. A body that can trap or fail to end, built under a level that it does not name, would run even where that
 * level is empty and the source program runs nothing. Such a body is wrapped: if the level has points, then body, else
 * zero. Fusion drops the test again where the body ends up inside a nest that has the level.
 *
 * SHARING. An operation equal to an earlier one in scope is not made again: so equal extents get equal axes.
 */
#include "vec.h"

loom_lexpr vec_plain_expr(loom_lexpr_kind kind, loom_dtype t) {
    return (loom_lexpr){
        .kind = (uint8_t)kind, .dtype = t, .blocks = {LOOM_NONE, LOOM_NONE}, .site = LOOM_NONE, .aux = LOOM_NONE};
}

loom_lexpr_id vec_x_const(vec *v, loom_dtype t, loom_scalar s) {
    loom_lexpr e = vec_plain_expr(LOOM_LX_CONST, t);
    e.imm = s;
    return loom_lifted_expr(v->l, e, NULL, 0);
}

loom_lexpr_id vec_x_int(vec *v, int64_t i) {
    return vec_x_const(v, LOOM_I64, (loom_scalar){.i = i});
}

loom_lexpr_id vec_x_axis(vec *v, uint32_t level) {
    loom_lexpr e = vec_plain_expr(LOOM_LX_AXIS, LOOM_I64);
    e.aux = level;
    return loom_lifted_expr(v->l, e, NULL, 0);
}

loom_lexpr_id vec_x_param(vec *v, loom_dtype t, uint32_t position) {
    loom_lexpr e = vec_plain_expr(LOOM_LX_PARAM, t);
    e.aux = position;
    return loom_lifted_expr(v->l, e, NULL, 0);
}

loom_lexpr_id vec_x_prim(vec *v, loom_prim prim, loom_dtype t, const loom_lexpr_id *args, loom_lsite_id site) {
    loom_lexpr e = vec_plain_expr(LOOM_LX_PRIM, t);
    e.prim = (uint16_t)prim;
    e.site = site;
    return loom_lifted_expr(v->l, e, args, (uint32_t)loom_prim_table[prim].arity);
}

loom_lexpr_id vec_x_prim2(vec *v, loom_prim prim, loom_lexpr_id a, loom_lexpr_id b) {
    loom_dtype types[2] = {v->l->exprs[a].dtype, v->l->exprs[b].dtype};
    return vec_x_prim(v, prim, loom_prim_result(prim, types), (loom_lexpr_id[]){a, b}, LOOM_NONE);
}

/* Where a load stands that is in range there, and not everywhere: it is not moved, and raises nothing. */
static loom_lsite_id only_here(vec *v) {
    return loom_lifted_site(v->l, (loom_span){0}, "index {a} is out of range for an array of length {b}", NULL);
}

/* Of all indices of a load. */
static source_range worst_range(const source *s, uint32_t n) {
    source_range worst = IN_RANGE;
    for (uint32_t i = 0; i < n; i++) {
        if (s[i].kind == FROM_EXPR && s[i].range > worst) worst = s[i].range;
    }
    return worst;
}

/* What stands at the sources. Without a site it is the length of a row: where an index may be out of range there are no
 * rows, and whatever indexes has said so. */
static loom_lexpr_id load_at(vec *v, loom_lvalue_id id, const source *sources, loom_lsite_id site) {
    const loom_lvalue *value = &v->l->values[id];
    loom_lexpr_id args[MAX_LEVELS + 1];
    loom_lexpr e = vec_plain_expr(LOOM_LX_LOAD, value->dtype);
    uint32_t n = value->n_axes;
    e.aux = id;
    e.mode = LOOM_LOAD_PROVEN;
    for (uint32_t i = 0; i < n; i++) {
        const source *s = &sources[i];
        bool nowhere = s->kind == FROM_OWN || (s->kind == FROM_EXPR && s->at == LOOM_NONE);
        v->lost = v->lost || nowhere;
        args[i] = nowhere ? vec_x_int(v, 0) : s->kind == FROM_LEVEL ? vec_x_axis(v, s->at) : s->at;
    }
    source_range range = worst_range(sources, n);
    if (range == IN_RANGE_HERE) e.site = only_here(v);
    if (range == ANY_RANGE && site != LOOM_NONE) {
        e.mode = LOOM_LOAD_CHECKED;
        e.site = site;
    } else if (range == ANY_RANGE) {
        e.mode = LOOM_LOAD_DEFAULT;
        args[n++] = vec_x_const(v, value->dtype, vec_zero_scalar());
    }
    return loom_lifted_expr(v->l, e, args, n);
}

loom_lexpr_id vec_x_extent(vec *v, extent e) {
    if (e.axis == LOOM_NONE) return e.expr;
    if (vec_is_segmented(v, e)) return load_at(v, v->l->axes[e.axis].lengths, e.sources, LOOM_NONE);
    const loom_axis *a = &v->l->axes[e.axis];
    if (a->kind == LOOM_AXIS_CONST) return vec_x_int(v, a->extent);
    loom_lexpr x = vec_plain_expr(LOOM_LX_EXTENT, LOOM_I64);
    x.aux = e.axis;
    return loom_lifted_expr(v->l, x, NULL, 0);
}

loom_lexpr_id vec_x_check(vec *v, loom_lexpr_id condition, loom_lexpr_id value, const loom_lexpr_id *numbers,
                          uint32_t n_numbers, loom_lsite_id site) {
    loom_lexpr e = vec_plain_expr(LOOM_LX_CHECK, v->l->exprs[value].dtype);
    e.site = site;
    loom_lexpr_id args[4] = {condition, value, n_numbers > 0 ? numbers[0] : 0, n_numbers > 1 ? numbers[1] : 0};
    return loom_lifted_expr(v->l, e, args, 2 + n_numbers);
}

loom_lexpr_id vec_x_result(vec *v, loom_lexpr_id of, loom_dtype t, uint32_t i, uint32_t n) {
    if (n == 1) return of;
    loom_lexpr e = vec_plain_expr(LOOM_LX_RESULT, t);
    e.aux = i;
    return loom_lifted_expr(v->l, e, &of, 1);
}

leaf vec_expr_leaf(const vec *v, loom_lexpr_id e) {
    return (leaf){.kind = LEAF_EXPR, .dtype = v->l->exprs[e].dtype, .id = e, .site = LOOM_NONE};
}

val vec_one(vec *v, loom_lexpr_id e) {
    leaf *at;
    val x = vec_leaves_of(v, 1, &at);
    at[0] = vec_expr_leaf(v, e);
    return x;
}

static loom_lexpr_id axis_value(vec *v, const leaf *x) {
    assert(x->at.kind == FROM_LEVEL);
    loom_lexpr_id e = vec_x_axis(v, x->at.at);
    if (x->dtype == LOOM_I64) return e;
    return loom_lifted_expr(v->l, vec_plain_expr(LOOM_LX_CONVERT, x->dtype), &e, 1);
}

bool vec_to_expr(vec *v, const leaf *x, loom_lexpr_id *e) {
    assert(v->in_op && x->n_own == 0);
    if (v->elementwise && (x->kind == LEAF_VALUE || x->kind == LEAF_AXIS)) {
        return vec_refuse(v, NULL, "an operator on elements uses values from around it");
    }
    switch ((leaf_kind)x->kind) {
    case LEAF_CONST: *e = vec_x_const(v, x->dtype, x->imm); return true;
    case LEAF_VALUE:
        *e = load_at(v, x->id, x->sources, x->site);
        return !v->lost || vec_refuse(v, NULL, "the extent of rows that may differ in length");
    case LEAF_AXIS: *e = axis_value(v, x); return true;
    case LEAF_EXTENT: *e = vec_x_extent(v, (extent){.axis = x->id, .expr = LOOM_NONE}); return true;
    case LEAF_EXPR:
    case LEAF_ELEM: *e = x->id; return true;
    case LEAF_BAD: return vec_refuse(v, NULL, "%s", x->why);
    case LEAF_PULL: break;
    }
    assert(false && "a delayed leaf has own axes");
    return false;
}

loom_lexpr_id vec_default_load(vec *v, loom_lexpr_id id, loom_lexpr_id otherwise) {
    loom_lexpr_id args[MAX_LEVELS + 1];
    loom_lexpr load = v->l->exprs[id];
    assert(load.kind == LOOM_LX_LOAD && id + 1 == v->l->n_exprs);
    uint32_t n = load.n_args - (load.mode == LOOM_LOAD_DEFAULT);
    for (uint32_t i = 0; i < n; i++) args[i] = loom_lifted_arg(v->l, &load, i);
    args[n] = otherwise;
    load.mode = LOOM_LOAD_DEFAULT;
    load.site = LOOM_NONE;
    v->l->n_exprs = id; /* taken back: nothing refers to it */
    return loom_lifted_expr(v->l, load, args, n + 1);
}

bool vec_load_or_const(vec *v, const leaf *x, loom_scalar otherwise, loom_lexpr_id *e) {
    loom_lexpr_id fallback = vec_x_const(v, x->dtype, otherwise);
    if (!vec_to_expr(v, x, e)) return false;
    const loom_lexpr *load = &v->l->exprs[*e];
    if (load->kind != LOOM_LX_LOAD) return true;
    /* A load of this leaf, not one that some expression has made: see load_at. */
    bool without = x->kind == LEAF_VALUE && load->mode == LOOM_LOAD_DEFAULT;
    if (load->mode == LOOM_LOAD_CHECKED || without) *e = vec_default_load(v, *e, fallback);
    return true;
}

/* ---- blocks and operations under construction ---- */

open_block vec_block_open(vec *v) {
    LOOM_PUSH(v->scratch, v->open, ++v->serial);
    return (open_block){v->l->n_exprs};
}

loom_lblock_id vec_block_close(vec *v, open_block b, uint32_t n_params, const loom_dtype *params, uint32_t n,
                               const loom_lexpr_id *results) {
    v->open.count--;
    return loom_lifted_block(v->l, b.first, n_params, params, n, results);
}

void vec_op_begin(vec *v) {
    assert(!v->in_op);
    v->in_op = true;
    v->loop_depth = 0;
    v->open.count = 0;
    LOOM_PUSH(v->scratch, v->open, ++v->serial);
}

void vec_op_end(vec *v) {
    v->in_op = false;
    v->open.count = 0;
}

void vec_forget_exprs(vec *v, mark m) {
    m.n_axes = v->l->n_axes;
    m.n_values = v->l->n_values;
    m.n_ops = v->l->n_ops;
    m.n_shared = (uint32_t)v->shared.count;
    m.n_equal = (uint32_t)v->equal.count;
    m.n_segments = (uint32_t)v->segments.count;
    m.n_tests = (uint32_t)v->tests.count;
    bool lost = v->lost; /* an equal operation may stand in for what is forgotten here */
    vec_roll_back(v, m);
    v->lost = lost;
}

bool vec_is_free(const vec *v, const leaf *x) {
    if (!vec_is_view(x)) return false;
    if (x->kind == LEAF_VALUE) {
        for (uint32_t i = 0; i < v->l->values[x->id].n_axes; i++) {
            if (x->sources[i].kind == FROM_EXPR) return false;
        }
    }
    for (uint32_t i = 0; i < x->n_own; i++) {
        if (!vec_is_settled(v, x->own[i])) return false;
    }
    return true;
}

uint64_t vec_used_levels(const vec *v, loom_lexpr_id first) {
    uint64_t mask = 0;
    for (loom_lexpr_id i = first; i < v->l->n_exprs; i++) {
        if (v->l->exprs[i].kind == LOOM_LX_AXIS) mask |= UINT64_C(1) << v->l->exprs[i].aux;
    }
    return mask;
}

void vec_place_axes(vec *v, loom_lexpr_id first, loom_lexpr_id end, const op_axes *axes) {
    uint32_t position[MAX_LEVELS] = {0};
    for (uint32_t i = 0; i < axes->n; i++) position[axes->level[i]] = i;
    for (loom_lexpr_id i = first; i < end; i++) {
        loom_lexpr *e = &v->l->exprs[i];
        if (e->kind == LOOM_LX_AXIS) e->aux = position[e->aux];
    }
}

leaf vec_result_leaf(vec *v, loom_lvalue_id value, const op_axes *axes, uint32_t n_own, const extent *own) {
    source *s = LOOM_NEW_ARRAY(v->scratch, source, (size_t)axes->n + 1);
    for (uint32_t i = 0; i < axes->n; i++) {
        bool outer = axes->level[i] < v->depth;
        s[i] = (source){outer ? FROM_LEVEL : FROM_OWN, IN_RANGE, outer ? axes->level[i] : axes->level[i] - v->depth};
    }
    return (leaf){.kind = LEAF_VALUE,
                  .dtype = v->l->values[value].dtype,
                  .id = value,
                  .sources = s,
                  .site = LOOM_NONE,
                  .n_own = n_own,
                  .own = own};
}

/* ---- sharing ---- */

static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

static uint64_t hash_op(const loom_lifted *l, const loom_lop *o) {
    uint64_t h = o->kind;
    for (uint32_t i = 0; i < o->n_axes; i++) h = mix(h, o->axes[i]);
    return loom_lifted_hash_block(l, o->body, h);
}

static bool same_ops(const loom_lifted *l, const loom_lop *a, const loom_lop *b) {
    if (a->kind != b->kind || a->n_axes != b->n_axes || a->n_results != b->n_results) return false;
    for (uint32_t i = 0; i < a->n_axes; i++) {
        if (a->axes[i] != b->axes[i]) return false;
    }
    return loom_lifted_same_block(l, a->body, b->body);
}

/* Adds the operation, or rolls back to `m` and gives the equal one that is there. */
static const loom_lop *share_op(vec *v, mark m, const loom_lop *op) {
    uint64_t h = hash_op(v->l, op);
    for (uint32_t i = v->shared_heads[h & 4095]; i; i = v->shared.at[i - 1].next) {
        const shared *s = &v->shared.at[i - 1];
        if (s->hash != h || !same_ops(v->l, &v->l->ops[s->op], op)) continue;
        const loom_lop *old = &v->l->ops[s->op];
        if (v->l->n_ops == m.n_ops) { /* nothing else was made since */
            vec_forget_exprs(v, m);
            v->l->n_values = m.n_values;
        }
        return old;
    }
    loom_lop_id id = loom_lifted_op(v->l, *op);
    shared s = {h, id, v->shared_heads[h & 4095]};
    LOOM_PUSH(v->scratch, v->shared, s);
    v->shared_heads[h & 4095] = (uint32_t)v->shared.count;
    return &v->l->ops[id];
}

/* ---- operations ---- */

static bool can_trap(const vec *v, loom_lexpr_id first) {
    for (loom_lexpr_id i = first; i < v->l->n_exprs; i++) {
        if (v->l->exprs[i].site != LOOM_NONE || v->l->exprs[i].kind == LOOM_LX_WHILE) return true;
    }
    return false;
}

loom_lvalue_id vec_share_compute(vec *v, loom_lexpr_id first, const op_axes *axes, loom_lexpr_id e) {
    mark m = vec_mark_here(v);
    m.n_exprs = first;
    m.n_args = v->l->exprs[first].first_arg;
    loom_lop op = vec_plain_op(v, NULL, LOOM_LO_COMPUTE, axes);
    op.n_results = 1;
    op.body = loom_lifted_block(v->l, first, 0, NULL, 1, &e);
    loom_lvalue_id value = vec_new_value(v, NULL, LOOM_I64, axes);
    op.results = &value;
    return share_op(v, m, &op)->results[0];
}

/* Levels that the body does not name and that may be empty. */
uint64_t vec_unguarded(const vec *v, uint64_t used) {
    uint64_t mask = 0;
    used = vec_close_mask(v, used);
    for (uint32_t i = 0; i < v->depth; i++) {
        if (v->levels[i].hidden) continue; /* it has points where the level that stands for it has */
        if (!(used >> i & 1) && vec_maybe_empty(v, v->levels[i].axis)) mask |= UINT64_C(1) << i;
    }
    return mask;
}

/* Whether what is asked of a level is if any of its rows has points. */
static bool asks_any_row(vec *v, uint32_t i, uint64_t used) {
    return vec_is_segmented(v, vec_level_extent(v, i)) && !(vec_close_mask(v, used) & vec_parent_mask(v, i));
}

/* A segmented level has points for those that are used if the row has; or, if they have nothing to do with the rows, if
 * any row has. */
static loom_lexpr_id points_of_level(vec *v, uint32_t i, uint64_t used) {
    extent e = vec_level_extent(v, i);
    return asks_any_row(v, i, used) ? vec_x_total(v, e.axis) : vec_x_extent(v, e);
}

/* Two levels over the same outer one may both have rows with points, and no row where both have: then the condition
 * says that the body runs though it never does. */
bool vec_guard_is_exact(vec *v, uint64_t mask, uint64_t used) {
    for (uint32_t i = 0; i < MAX_LEVELS; i++) {
        if (!(mask >> i & 1) || !asks_any_row(v, i, used)) continue;
        for (uint32_t j = i + 1; j < MAX_LEVELS; j++) {
            if (!(mask >> j & 1) || !asks_any_row(v, j, used)) continue;
            uint64_t of_i = vec_parent_mask(v, i), of_j = vec_parent_mask(v, j);
            if ((of_i & of_j) && !(of_j >> i & 1)) return false;
        }
    }
    return true;
}

loom_lexpr_id vec_guard_condition(vec *v, uint64_t mask, uint64_t used) {
    loom_lexpr_id all = LOOM_NONE;
    for (uint32_t i = 0; i < MAX_LEVELS; i++) {
        if (!(mask >> i & 1)) continue;
        loom_lexpr_id e = vec_x_prim2(v, LOOM_PRIM_GT, points_of_level(v, i, used), vec_x_int(v, 0));
        all = all == LOOM_NONE ? e : vec_x_prim2(v, LOOM_PRIM_AND, all, e);
    }
    return all;
}

typedef struct guarded_flag {
    leaf flag;
    uint64_t guard, here;
} guarded_flag;

static bool build_guarded_flag(vec *v, void *argument, val *result) {
    guarded_flag *g = argument;
    loom_lexpr_id e;
    if (!vec_to_expr(v, &g->flag, &e)) return false;
    *result = vec_one(v, vec_x_prim2(v, LOOM_PRIM_AND, vec_guard_condition(v, g->guard, g->here), e));
    return true;
}

bool vec_guard_flag(vec *v, const loom_node *n, uint64_t used, uint64_t here, leaf *flag) {
    guarded_flag g = {*flag, vec_unguarded(v, used), here};
    val guarded;
    if (!g.guard) return true;
    if (!vec_guard_is_exact(v, g.guard, here)) return vec_refuse(v, n, VEC_UNLIKE_ROWS);
    if (!vec_emit_compute(v, n, build_guarded_flag, &g, &guarded)) return false;
    *flag = guarded.at[0];
    return true;
}

typedef struct piece {
    builder build;
    void *argument;
    const loom_node *node;
    const extent *own; /* of the leaves that this operation makes */
    uint32_t n_own;
    const bool *mine; /* per leaf that `build` gives */
    leaf *elements;   /* scalar leaves, as made */
    uint32_t n;
    loom_lexpr_id *results;
    bool length; /* not the element, but how many there are below it */
} piece;

static bool same_own(const vec *v, uint32_t n_own, const extent *own, uint32_t n_other, const extent *other) {
    if (n_other != n_own) return false;
    for (uint32_t i = 0; i < n_own; i++) {
        if (!vec_same_extent(v, other[i], own[i])) return false;
    }
    return true;
}

static bool length_below(vec *v, const piece *p, val *element) {
    extent e = element->at[0].own[0];
    if (vec_is_unknown(e)) return vec_refuse(v, p->node, "an inner extent that is not known here");
    *element = vec_one(v, vec_x_extent(v, e));
    return true;
}

/* Evaluates the body at the point given by the levels; own axes are pushed as levels. */
static bool build_piece(vec *v, piece *p) {
    val all, mine, element;
    leaf *at;
    if (!p->build(v, p->argument, &all)) return false;
    mine = vec_leaves_of(v, all.n, &at);
    mine.n = 0;
    for (uint32_t i = 0; i < all.n; i++) {
        if (p->mine[i]) at[mine.n++] = all.at[i];
    }
    index_step path[MAX_LEVELS];
    uint32_t base = v->depth;
    if (!vec_push_own(v, p->node, p->own, p->n_own)) return false;
    for (uint32_t k = 0; k < p->n_own; k++) path[k] = vec_at_expr(vec_x_axis(v, base + k));
    if (!vec_pull_path(v, p->node, mine, path, p->n_own, &element)) return false;
    if (p->length && !length_below(v, p, &element)) return false;
    p->n = element.n;
    p->elements = LOOM_NEW_ARRAY(v->scratch, leaf, (size_t)element.n + 1);
    p->results = LOOM_NEW_ARRAY(v->scratch, loom_lexpr_id, (size_t)element.n + 1);
    for (uint32_t i = 0; i < element.n; i++) {
        p->elements[i] = element.at[i];
        if (!vec_to_expr(v, &element.at[i], &p->results[i])) return false;
    }
    return true;
}

static bool build_guarded(vec *v, piece *p, uint64_t guard, uint64_t used) {
    loom_lexpr_id condition = vec_guard_condition(v, guard, used);
    loom_lexpr e = vec_plain_expr(LOOM_LX_IF, LOOM_BOOL);
    open_block b = vec_block_open(v);
    if (!build_piece(v, p)) return false;
    e.blocks[0] = vec_block_close(v, b, 0, NULL, p->n, p->results);
    b = vec_block_open(v);
    loom_lexpr_id *zeros = LOOM_NEW_ARRAY(v->scratch, loom_lexpr_id, (size_t)p->n + 1);
    for (uint32_t i = 0; i < p->n; i++) zeros[i] = vec_x_const(v, v->l->exprs[p->results[i]].dtype, vec_zero_scalar());
    e.blocks[1] = vec_block_close(v, b, 0, NULL, p->n, zeros);
    if (p->n) e.dtype = v->l->exprs[p->results[0]].dtype;
    loom_lexpr_id both = loom_lifted_expr(v->l, e, &condition, 1);
    for (uint32_t i = 0; i < p->n; i++) {
        p->results[i] = vec_x_result(v, both, v->l->exprs[p->results[i]].dtype, i, p->n);
    }
    return true;
}

/* Builds the body, with a guard if it turns out to need one; gives the levels that it names. */
static bool build_body(vec *v, piece *p, uint64_t *used) {
    mark m = vec_mark_here(v);
    uint32_t depth = v->depth;
    vec_op_begin(v);
    bool ok = build_piece(v, p);
    *used = vec_close_mask(v, vec_used_levels(v, m.n_exprs));
    uint64_t guard = ok && can_trap(v, m.n_exprs) ? vec_unguarded(v, *used) : 0;
    v->depth = depth;
    if (guard && !vec_guard_is_exact(v, guard, *used)) {
        ok = vec_refuse(v, p->node, VEC_UNLIKE_ROWS);
    } else if (guard) {
        vec_op_end(v);
        vec_forget_exprs(v, m);
        vec_op_begin(v);
        ok = build_guarded(v, p, guard, *used);
        *used = vec_close_mask(v, vec_used_levels(v, m.n_exprs));
        v->depth = depth;
    }
    vec_op_end(v);
    if (!ok) vec_forget_exprs(v, m);
    return ok;
}

/* Nodes that stand in no table are made up on the way. */
static loom_node_id number_of(const vec *v, const loom_node *n) {
    uintptr_t at = (uintptr_t)n, first = (uintptr_t)v->p->nodes;
    bool in_table = at >= first && at < first + v->request->program->n_nodes * sizeof *n;
    return in_table ? (loom_node_id)(n - v->p->nodes) : LOOM_NONE;
}

loom_lop vec_plain_op(const vec *v, const loom_node *n, loom_lop_kind kind, const op_axes *axes) {
    loom_lop op = loom_lifted_empty(kind);
    op.n_axes = axes->n;
    op.axes = axes->axis;
    op.span = n ? n->span : (loom_span){0};
    op.node = number_of(v, n);
    op.inner = v->inner_depth > 0;
    return op;
}

loom_lvalue_id vec_new_value(vec *v, const loom_node *n, loom_dtype t, const op_axes *axes) {
    return loom_lifted_value(v->l, (loom_lvalue){.dtype = t,
                                                 .source = LOOM_LV_OP,
                                                 .n_axes = axes->n,
                                                 .axes = axes->axis,
                                                 .op = v->l->n_ops,
                                                 .span = n ? n->span : (loom_span){0}});
}

static void make_compute(vec *v, const piece *p, mark m, uint64_t used, leaf *results) {
    loom_lblock_id body = loom_lifted_block(v->l, m.n_exprs, 0, NULL, p->n, p->results);
    loom_lexpr_id end = v->l->n_exprs;
    uint32_t depth = v->depth;
    vec_push_own(v, p->node, p->own, p->n_own); /* once more: it went well when the body was built */
    op_axes axes = vec_order_axes(v, used, MAX_LEVELS);
    v->depth = depth;
    vec_place_axes(v, m.n_exprs, end, &axes);
    loom_lop op = vec_plain_op(v, p->node, LOOM_LO_COMPUTE, &axes);
    op.n_results = p->n;
    op.body = body;
    loom_lvalue_id *values = LOOM_NEW_ARRAY(v->scratch, loom_lvalue_id, (size_t)p->n + 1);
    for (uint32_t i = 0; i < p->n; i++) values[i] = vec_new_value(v, p->node, v->l->exprs[p->results[i]].dtype, &axes);
    op.results = values;
    const loom_lop *made = share_op(v, m, &op);
    for (uint32_t i = 0; i < p->n; i++) {
        results[i] = vec_result_leaf(v, made->results[i], &axes, p->n_own, p->own);
        results[i].known = p->elements[i].known && p->n_own == 0;
        results[i].imm = p->elements[i].imm;
    }
}

/* ---- extents that are found when the body is there ---- */

/* How many elements leaf i has below its own axes [0, k), by an operation over these; then that is an axis. */
static bool length_of_own(vec *v, const piece *like, uint32_t i, uint32_t n_leaves, const extent *own, uint32_t k,
                          extent *e) {
    piece p = *like;
    bool *mine = LOOM_NEW_ARRAY(v->scratch, bool, (size_t)n_leaves + 1);
    mine[i] = true;
    p.mine = mine;
    p.own = own;
    p.n_own = k;
    p.length = true;
    mark m = vec_mark_here(v);
    uint64_t used;
    leaf length;
    if (!build_body(v, &p, &used)) return false;
    make_compute(v, &p, m, used, &length);
    return vec_row_extent(v, p.node, &length, e);
}

/* The leaf's own axes as axes: what stands in expressions of the operation becomes operations before it. */
static bool settle_own(vec *v, const piece *like, const val *shape, uint32_t i, const extent **settled) {
    const leaf *x = &shape->at[i];
    extent *own = LOOM_NEW_ARRAY(v->scratch, extent, (size_t)x->n_own + 1);
    for (uint32_t k = 0; k < x->n_own; k++) {
        own[k] = x->own[k];
        if (!vec_is_settled(v, own[k]) && !length_of_own(v, like, i, shape->n, own, k, &own[k])) return false;
    }
    *settled = own;
    return true;
}

static bool has_check(const vec *v, loom_lexpr_id first) {
    for (loom_lexpr_id i = first; i < v->l->n_exprs; i++) {
        if (v->l->exprs[i].kind == LOOM_LX_CHECK) return true;
    }
    return false;
}

bool vec_emit_compute(vec *v, const loom_node *n, builder build, void *argument, val *result) {
    mark m = vec_mark_here(v);
    val shape;
    leaf *out;
    vec_op_begin(v);
    bool ok = build(v, argument, &shape);
    bool checked = has_check(v, m.n_exprs);
    vec_op_end(v);
    vec_forget_exprs(v, m);
    if (!ok) return false;
    val made_all = vec_leaves_of(v, shape.n, &out);
    bool *done = LOOM_NEW_ARRAY(v->scratch, bool, (size_t)shape.n + 1);
    const extent **own = LOOM_NEW_ARRAY(v->scratch, const extent *, (size_t)shape.n + 1);
    piece like = {.build = build, .argument = argument, .node = n};
    for (uint32_t i = 0; i < shape.n; i++) {
        /* A number that stands there without it would pass over the check: an index into an array of constants. */
        done[i] = vec_is_free(v, &shape.at[i]) && !(checked && shape.at[i].n_own == 0);
        if (done[i]) out[i] = shape.at[i];
        if (!done[i] && !settle_own(v, &like, &shape, i, &own[i])) return false;
    }
    for (uint32_t i = 0; i < shape.n; i++) {
        if (done[i]) continue;
        bool *mine = LOOM_NEW_ARRAY(v->scratch, bool, (size_t)shape.n + 1);
        for (uint32_t k = i; k < shape.n; k++) {
            mine[k] = !done[k] && same_own(v, shape.at[i].n_own, own[i], shape.at[k].n_own, own[k]);
        }
        piece p = like;
        p.own = own[i];
        p.n_own = shape.at[i].n_own;
        p.mine = mine;
        mark here = vec_mark_here(v);
        uint64_t used;
        if (!build_body(v, &p, &used)) return false;
        leaf *made = LOOM_NEW_ARRAY(v->scratch, leaf, (size_t)p.n + 1);
        make_compute(v, &p, here, used, made);
        for (uint32_t k = i, j = 0; k < shape.n; k++) {
            if (!mine[k]) continue;
            out[k] = made[j++];
            done[k] = true;
        }
    }
    *result = made_all;
    return true;
}

bool vec_emit_extents(vec *v, const loom_node *n, builder build, void *argument, const extent **own) {
    mark m = vec_mark_here(v);
    piece like = {.build = build, .argument = argument, .node = n};
    val shape;
    vec_op_begin(v);
    bool ok = build(v, argument, &shape);
    vec_op_end(v);
    vec_forget_exprs(v, m);
    return ok && settle_own(v, &like, &shape, 0, own);
}

static bool give_value(vec *v, void *argument, val *result) {
    (void)v;
    *result = *(val *)argument;
    return true;
}

bool vec_materialise(vec *v, const loom_node *n, val *x) {
    val delayed = *x;
    assert(!v->in_op);
    for (uint32_t i = 0; i < x->n; i++) {
        if (!vec_is_free(v, &x->at[i])) return vec_emit_compute(v, n, give_value, &delayed, x);
    }
    return true;
}

/* ---- canonical values and checks ---- */

bool vec_read_all(vec *v, const loom_node *n, const leaf *x, uint64_t mask, loom_lop *op, op_axes *axes) {
    uint32_t depth = v->depth;
    loom_lexpr_id first = v->l->n_exprs, e = LOOM_NONE;
    leaf y = *x;
    bool ok = vec_push_own(v, n, x->own, x->n_own);
    for (uint32_t k = 0; ok && k < x->n_own; k++) {
        y = vec_bind_level(v, &y, depth + k);
        mask |= UINT64_C(1) << (depth + k);
    }
    if (ok) {
        vec_op_begin(v);
        ok = vec_to_expr(v, &y, &e);
        vec_op_end(v);
    }
    if (!ok) {
        v->depth = depth;
        return false;
    }
    loom_lblock_id body = loom_lifted_block(v->l, first, 0, NULL, 1, &e);
    loom_lexpr_id end = v->l->n_exprs;
    *axes = vec_order_axes(v, mask, depth);
    v->depth = depth;
    vec_place_axes(v, first, end, axes);
    *op = vec_plain_op(v, n, LOOM_LO_COMPUTE, axes);
    op->body = body;
    return true;
}

bool vec_copy_value(vec *v, const loom_node *n, const leaf *x, uint64_t mask, loom_lvalue_id *value) {
    loom_lop op;
    op_axes axes;
    if (!vec_read_all(v, n, x, mask, &op, &axes)) return false;
    *value = vec_new_value(v, n, x->dtype, &axes);
    op.n_results = 1;
    op.results = value;
    loom_lifted_op(v->l, op);
    return true;
}

static bool is_canonical(vec *v, const loom_node *n, const leaf *x, uint64_t mask) {
    op_axes axes;
    if (x->kind != LEAF_VALUE || !vec_value_axes(v, n, mask, x->n_own, x->own, &axes)) return false;
    const loom_lvalue *value = &v->l->values[x->id];
    if (value->n_axes != axes.n) return false;
    for (uint32_t i = 0; i < value->n_axes; i++) {
        const source *s = &x->sources[i];
        bool outer = axes.level[i] < v->depth;
        if (s->kind != (outer ? FROM_LEVEL : FROM_OWN) || s->at != axes.level[i] - (outer ? 0 : v->depth)) return false;
        if (value->axes[i] != axes.axis[i]) return false;
    }
    return true;
}

bool vec_chunk_among(const vec *v, const extent *own, uint32_t n) {
    for (uint32_t k = 0; k < n; k++) {
        if (own[k].axis != LOOM_NONE && v->l->axes[own[k].axis].kind == LOOM_AXIS_CHUNK) return true;
    }
    return false;
}

bool vec_canonical(vec *v, const loom_node *n, const leaf *x, uint64_t mask, loom_lvalue_id *value) {
    uint32_t first = mask ? 0 : 1; /* the chunk may be the outermost axis only */
    if (x->n_own > first && vec_chunk_among(v, x->own + first, x->n_own - first)) {
        return vec_refuse(v, n, "an array whose inner axis runs over the stream's elements");
    }
    if (is_canonical(v, n, x, mask)) {
        *value = x->id;
        return true;
    }
    return vec_copy_value(v, n, x, mask, value);
}

static bool check_body(vec *v, builder build, void *argument, uint32_t *n, loom_lexpr_id *results) {
    val shape;
    if (!build(v, argument, &shape)) return false;
    assert(shape.n <= 3);
    for (uint32_t i = 0; i < shape.n; i++) {
        if (!vec_to_expr(v, &shape.at[i], &results[i])) return false;
    }
    *n = shape.at[0].kind == LEAF_CONST && shape.at[0].imm.b ? 0 : shape.n;
    return true;
}

bool vec_emit_check(vec *v, const loom_node *n, builder build, void *argument, loom_trap_text text) {
    mark m = vec_mark_here(v);
    loom_lexpr_id results[3];
    uint32_t n_results = 0;
    vec_op_begin(v);
    bool ok = check_body(v, build, argument, &n_results, results);
    uint64_t used = vec_used_levels(v, m.n_exprs);
    uint64_t guard = ok ? vec_unguarded(v, used) : 0;
    if (guard && !vec_guard_is_exact(v, guard, used)) ok = vec_refuse(v, n, VEC_UNLIKE_ROWS);
    if (guard && ok) {
        loom_lexpr_id filled = vec_guard_condition(v, guard, used);
        loom_lexpr_id empty = vec_x_prim(v, LOOM_PRIM_NOT, LOOM_BOOL, &filled, LOOM_NONE);
        if (n_results) results[0] = vec_x_prim2(v, LOOM_PRIM_OR, empty, results[0]);
        used = vec_used_levels(v, m.n_exprs);
    }
    vec_op_end(v);
    if (!ok || !n_results) { /* refused, or true whatever happens */
        vec_forget_exprs(v, m);
        return ok;
    }
    loom_lblock_id body = loom_lifted_block(v->l, m.n_exprs, 0, NULL, n_results, results);
    loom_lexpr_id end = v->l->n_exprs;
    op_axes axes = vec_order_axes(v, used, MAX_LEVELS);
    vec_place_axes(v, m.n_exprs, end, &axes);
    loom_lop op = vec_plain_op(v, n, LOOM_LO_CHECK, &axes);
    op.body = body;
    op.site = loom_lifted_site(v->l, n->span, text.format, text.hint);
    share_op(v, m, &op);
    return true;
}
