/* Arrays as closures from an index to an element.
 *
 * A PULL leaf is one leaf of what a closure gives; pulling at an index takes one level off. A step may be `checked`:
 * its index may be out of range (an error has been or will be raised by the loads that it reaches, which are checked
 * then). An element is pulled once for all leaves: the closure remembers its last one while the block of expressions in
 * which it was made is open.
 *
 *     reverse xs @ i            = xs @ (n - 1 - i)
 *     xs[a:b:s] @ i             = xs @ (a + i s)
 *     rotate r xs @ i           = xs @ ((i + r) mod n)
 *     flatten xs @ i            = xs @ (i / m) @ (i mod m)
 *     unflatten n m xs @ i @ j  = xs @ (i m + j)
 *     (xs ++ ys) @ i            = if i < n then xs @ i else ys @ (i - n)
 *     gather xs is @ i          = xs[is @ i]
 *     (xs with [k] = x) @ i     = if i == k then x else xs @ i
 *     backpermute d f xs @ i    = if f i inside then xs @ (f i) else d @ i
 */
#include "delayed.h"

index_step vec_at_expr(loom_lexpr_id e) {
    return (index_step){.at = e, .site = LOOM_NONE};
}

static leaf pull_value(vec *v, const leaf *x, index_step at) {
    leaf y = vec_drop_own(v, x, at);
    uint32_t n = v->l->values[x->id].n_axes;
    for (uint32_t i = 0; i < n && at.checked && y.site == LOOM_NONE; i++) {
        if (x->sources[i].kind == FROM_OWN && x->sources[i].at == 0) y.site = at.site;
    }
    return y;
}

static leaf pull_axis(vec *v, const leaf *x, index_step at) {
    leaf y = vec_drop_own(v, x, at);
    if (x->at.kind != FROM_OWN || x->at.at > 0) return y;
    loom_lexpr_id e = at.at;
    if (x->dtype != LOOM_I64) e = loom_lifted_expr(v->l, vec_plain_expr(LOOM_LX_CONVERT, x->dtype), &e, 1);
    leaf z = vec_expr_leaf(v, e);
    z.n_own = y.n_own;
    z.own = y.own;
    return z;
}

static bool memo_holds(const vec *v, const closure *c, index_step at) {
    return c->memo_serial && c->memo_at.at == at.at && c->memo_at.checked == at.checked &&
           c->memo_block < v->open.count && v->open.at[c->memo_block] == c->memo_serial;
}

static bool pull_memo(vec *v, closure *c, index_step at, val *element) {
    if (!memo_holds(v, c, at)) {
        if (!vec_count_step(v, c->node)) return false;
        val made;
        if (!vec_pull_closure(v, c, at, &made)) return false;
        c->memo_at = at;
        c->memo_block = (uint32_t)v->open.count - 1;
        c->memo_serial = v->open.at[c->memo_block];
        c->memo = made;
    }
    *element = c->memo;
    return true;
}

static bool pull_leaf(vec *v, const loom_node *n, const leaf *x, index_step at, leaf *out) {
    val element;
    switch ((leaf_kind)x->kind) {
    case LEAF_CONST:
    case LEAF_EXTENT:
    case LEAF_EXPR: *out = vec_drop_own(v, x, at); return true;
    case LEAF_VALUE: *out = pull_value(v, x, at); return true;
    case LEAF_AXIS: *out = pull_axis(v, x, at); return true;
    case LEAF_PULL:
        if (!pull_memo(v, x->closure, at, &element)) return false;
        *out = element.at[x->id];
        return true;
    case LEAF_ELEM:
        if (x->at.at >= v->n_point || v->point[x->at.at] != at.at) {
            return vec_refuse(v, n, "an operator on arrays that is not elementwise");
        }
        *out = vec_drop_own(v, x, at);
        out->at.at++;
        return true;
    case LEAF_BAD: return vec_refuse(v, n, "%s", x->why);
    }
    return false;
}

bool vec_pull(vec *v, const loom_node *n, const val *x, index_step at, val *element) {
    leaf *out;
    val made = vec_leaves_of(v, x->n, &out);
    assert(v->in_op);
    for (uint32_t i = 0; i < x->n; i++) {
        if (!pull_leaf(v, n, &x->at[i], at, &out[i])) return false;
    }
    *element = made; /* which may be where x is */
    return true;
}

bool vec_pull_path(vec *v, const loom_node *n, val x, const index_step *path, uint32_t n_path, val *element) {
    for (uint32_t i = 0; i < n_path; i++) {
        if (!vec_pull(v, n, &x, path[i], &x)) return false;
    }
    *element = x;
    return true;
}

closure *vec_new_closure(vec *v, closure_kind kind, const loom_node *n, frame *f, const val *ops, uint32_t n_ops) {
    closure *c = LOOM_NEW(v->scratch, closure);
    *c = (closure){.kind = kind,
                   .node = n,
                   .frame = f,
                   .operands = ops,
                   .n_operands = n_ops,
                   .loop_depth = v->loop_depth,
                   .site = LOOM_NONE};
    return c;
}

/* An extent whose leaf gets n_new own axes in place of the first `drop`. What depends on these is known only when the
 * closure has been indexed. */
static extent moved_extent(vec *v, extent e, uint32_t drop, uint32_t n_new) {
    if (!vec_is_segmented(v, e)) return e;
    if (vec_depends_on_own(v, e, drop)) return (extent){.axis = LOOM_NONE, .expr = LOOM_NONE};
    uint32_t n = vec_n_sources(v, e);
    source *s = LOOM_NEW_ARRAY(v->scratch, source, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) {
        s[i] = e.sources[i];
        if (s[i].kind == FROM_OWN) s[i].at = s[i].at - drop + n_new;
    }
    e.sources = s;
    return e;
}

/* PULL leaves of a closure, shaped like `like` with `drop` own axes gone and n_new put before them. */
val vec_closure_leaves(vec *v, closure *c, const val *like, uint32_t drop, const extent *new_own, uint32_t n_new) {
    leaf *out;
    val x = vec_leaves_of(v, like->n, &out);
    for (uint32_t i = 0; i < like->n; i++) {
        const leaf *y = &like->at[i];
        extent *own = LOOM_NEW_ARRAY(v->scratch, extent, (size_t)y->n_own + n_new + 1);
        uint32_t rest = y->n_own - drop;
        if (n_new) memcpy(own, new_own, n_new * sizeof *own);
        for (uint32_t k = 0; k < rest; k++) own[n_new + k] = moved_extent(v, y->own[drop + k], drop, n_new);
        out[i] = (leaf){.kind = LEAF_PULL,
                        .dtype = y->dtype,
                        .id = i,
                        .site = LOOM_NONE,
                        .n_own = rest + n_new,
                        .own = own,
                        .closure = c};
    }
    return x;
}

/* The closure with one more index bound, and its leaves. */
static val bind_more(vec *v, const closure *c, const val *shape, index_step at) {
    closure *d = LOOM_NEW(v->scratch, closure);
    *d = *c;
    d->memo_serial = 0;
    index_step *bound = LOOM_NEW_ARRAY(v->scratch, index_step, (size_t)c->n_bound + 1);
    if (c->n_bound) memcpy(bound, c->bound, c->n_bound * sizeof *bound);
    bound[d->n_bound++] = at;
    d->bound = bound;
    return vec_closure_leaves(v, d, shape, c->n_bound + 1, NULL, 0);
}

/* ---- one of two ---- */

static val picked(vec *v, const val *x, const uint32_t *pick, uint32_t n) {
    leaf *out;
    val y = vec_leaves_of(v, n, &out);
    for (uint32_t i = 0; i < n; i++) out[i] = x->at[pick[i]];
    return y;
}

static bool thunk_value(vec *v, const loom_node *n, const thunk *t, val *x) {
    val base = t->base;
    if (t->body && !vec_expr_body(v, t->body, NULL, t->frame, &base)) return false;
    if (t->pick) base = picked(v, &base, t->pick, t->n_pick);
    return vec_pull_path(v, n, base, t->path, t->n_path, x);
}

static bool branch(vec *v, const loom_node *n, const thunk *t, const val *like, loom_lblock_id *block, uint32_t *count,
                   loom_dtype *first) {
    val x;
    open_block b = vec_block_open(v);
    if (!thunk_value(v, n, t, &x)) return false;
    loom_lexpr_id *results = LOOM_NEW_ARRAY(v->scratch, loom_lexpr_id, (size_t)x.n + 1);
    *count = 0;
    for (uint32_t i = 0; i < x.n; i++) {
        if (like->at[i].n_own) continue;
        if (*count == 0) *first = x.at[i].dtype;
        if (!vec_to_expr(v, &x.at[i], &results[(*count)++])) return false;
    }
    *block = vec_block_close(v, b, 0, NULL, *count, results);
    return true;
}

static bool lacks_length(const leaf *x) {
    return x->n_own && vec_is_unknown(x->own[0]);
}

/* How many elements each array has whose length the two do not agree on; and the leaves that tell of it. */
static bool branch_lengths(vec *v, const loom_node *n, const thunk *t, const val *like, loom_lblock_id *block,
                           uint32_t *count, val *x) {
    open_block b = vec_block_open(v);
    if (!thunk_value(v, n, t, x)) return false;
    loom_lexpr_id *results = LOOM_NEW_ARRAY(v->scratch, loom_lexpr_id, (size_t)x->n + 1);
    *count = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        if (!lacks_length(&like->at[i])) continue;
        if (vec_is_unknown(x->at[i].own[0])) return vec_refuse(v, n, "an inner extent that is not known here");
        results[(*count)++] = vec_x_extent(v, x->at[i].own[0]);
    }
    *block = vec_block_close(v, b, 0, NULL, *count, results);
    return true;
}

static bool same_length(const vec *v, const val *x, uint32_t i, uint32_t k) {
    return vec_known_equal(v, x->at[i].own[0], x->at[k].own[0]);
}

static bool shape_either(vec *v, const loom_node *n, loom_lexpr_id condition, const thunk *a, const thunk *b,
                         const val *like, val *shaped) {
    uint32_t count = 0, at = 0;
    leaf *out;
    val x, y;
    *shaped = *like;
    for (uint32_t i = 0; i < like->n; i++) count += lacks_length(&like->at[i]);
    if (!count) return true;
    if (v->elementwise) return vec_refuse(v, n, "branches whose arrays may differ in shape");
    loom_lexpr e = vec_plain_expr(LOOM_LX_IF, LOOM_I64);
    if (!branch_lengths(v, n, a, like, &e.blocks[0], &count, &x)) return false;
    if (!branch_lengths(v, n, b, like, &e.blocks[1], &count, &y)) return false;
    loom_lexpr_id both = loom_lifted_expr(v->l, e, &condition, 1);
    *shaped = vec_leaves_of(v, like->n, &out);
    for (uint32_t i = 0; i < like->n; i++) {
        uint32_t k = 0;
        out[i] = like->at[i];
        if (!lacks_length(&like->at[i])) continue;
        while (k < i && !(lacks_length(&like->at[k]) && same_length(v, &x, k, i) && same_length(v, &y, k, i))) k++;
        extent own = {.axis = LOOM_NONE, .expr = vec_x_result(v, both, LOOM_I64, at++, count)};
        out[i] = vec_with_own(v, &out[i], 0, k < i ? out[k].own[0] : own);
    }
    return true;
}

/* The same of some of its leaves. */
static thunk pick_of(vec *v, const thunk *t, const uint32_t *pick, uint32_t n) {
    thunk u = *t;
    uint32_t *from = LOOM_NEW_ARRAY(v->scratch, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) from[i] = t->pick ? t->pick[pick[i]] : pick[i];
    u.pick = from;
    u.n_pick = n;
    return u;
}

/* The arrays of the two: those of one length by one closure. An element is pulled of all that a closure gives, and what
 * is in range of one array may not be of another. */
static void arrays_either(vec *v, const closure *either, const val *like, leaf *out) {
    bool *done = LOOM_NEW_ARRAY(v->scratch, bool, (size_t)like->n + 1);
    uint32_t *pick = LOOM_NEW_ARRAY(v->scratch, uint32_t, (size_t)like->n + 1);
    for (uint32_t i = 0; i < like->n; i++) {
        if (!like->at[i].n_own || done[i]) continue;
        uint32_t n = 0;
        for (uint32_t k = i; k < like->n; k++) {
            if (!like->at[k].n_own || done[k] || (k > i && !same_length(v, like, i, k))) continue;
            done[k] = true;
            pick[n++] = k;
        }
        closure *c = LOOM_NEW(v->scratch, closure);
        val *shape = LOOM_NEW(v->scratch, val);
        *shape = picked(v, like, pick, n);
        *c = *either;
        c->operands = shape;
        for (uint32_t k = 0; k < 2; k++) c->either[k] = pick_of(v, &either->either[k], pick, n);
        val arrays = vec_closure_leaves(v, c, shape, 0, NULL, 0);
        for (uint32_t k = 0; k < n; k++) out[pick[k]] = arrays.at[k];
    }
}

bool vec_either(vec *v, const loom_node *n, loom_lexpr_id condition, const thunk *a, const thunk *b,
                const val *unshaped, val *result) {
    val shaped, *like = &shaped;
    if (!shape_either(v, n, condition, a, b, unshaped, like)) return false;
    leaf *out;
    uint32_t scalars = 0, at = 0, count;
    *result = vec_leaves_of(v, like->n, &out);
    for (uint32_t i = 0; i < like->n; i++) scalars += like->at[i].n_own == 0;
    if (scalars < like->n) {
        closure *c = vec_new_closure(v, PULL_EITHER, n, NULL, NULL, 0);
        c->condition = condition;
        c->either[0] = *a;
        c->either[1] = *b;
        c->beside_scalars = scalars > 0 && (a->body || b->body);
        arrays_either(v, c, like, out);
    }
    loom_lexpr_id both = LOOM_NONE;
    if (scalars || like->n == 0) {
        loom_lexpr e = vec_plain_expr(LOOM_LX_IF, LOOM_BOOL);
        if (!branch(v, n, a, like, &e.blocks[0], &count, &e.dtype)) return false;
        if (!branch(v, n, b, like, &e.blocks[1], &count, &e.dtype)) return false;
        both = loom_lifted_expr(v->l, e, &condition, 1);
    }
    for (uint32_t i = 0; i < like->n; i++) {
        if (like->at[i].n_own) continue;
        out[i] = vec_expr_leaf(v, vec_x_result(v, both, like->at[i].dtype, at++, scalars));
    }
    return true;
}

static thunk thunk_of(val base) {
    return (thunk){.base = base};
}

static thunk extend(vec *v, const thunk *t, index_step at) {
    thunk u = *t;
    index_step *path = LOOM_NEW_ARRAY(v->scratch, index_step, (size_t)t->n_path + 1);
    if (t->n_path) memcpy(path, t->path, t->n_path * sizeof *path);
    path[u.n_path++] = at;
    u.path = path;
    return u;
}

static val drop_level(vec *v, const val *like, index_step at) {
    leaf *out;
    val x = vec_leaves_of(v, like->n, &out);
    for (uint32_t i = 0; i < like->n; i++) {
        out[i] = like->at[i];
        if (out[i].n_own) out[i] = vec_drop_own(v, &out[i], at);
    }
    return x;
}

static index_step under_condition(vec *v, const loom_node *n, loom_lexpr_id e);

/* What a branch gives besides, scalars or their work, would be evaluated again for each element. */
static bool pull_either(vec *v, const closure *c, index_step at, val *element) {
    if (c->beside_scalars) return vec_refuse(v, c->node, "a conditional that gives scalars and arrays together");
    for (uint32_t i = 0; i < c->operands[0].n && !at.checked; i++) {
        /* The two differ in length: what is in range of the one that is taken may not be of the other. */
        if (c->operands[0].at[i].own[0].axis == LOOM_NONE) at = under_condition(v, c->node, at.at);
    }
    thunk a = extend(v, &c->either[0], at), b = extend(v, &c->either[1], at);
    val like = drop_level(v, &c->operands[0], at);
    return vec_either(v, c->node, c->condition, &a, &b, &like, element);
}

/* ---- the operations ---- */

static loom_lexpr_id offset(vec *v, loom_prim prim, loom_lexpr_id a, loom_lexpr_id b) {
    return vec_x_prim2(v, prim, a, b);
}

static bool pull_body(vec *v, closure *c, index_step at, val *element) {
    const loom_body *body = loom_node_body(v->p, c->node, 0);
    uint32_t n = c->node->op == LOOM_OP_GENERATE ? c->n_wanted : c->n_operands;
    val *args = LOOM_NEW_ARRAY(v->scratch, val, (size_t)n + 1);
    if (c->node->op == LOOM_OP_GENERATE) {
        for (uint32_t i = 0; i < n; i++) {
            leaf *x;
            args[i] = vec_leaves_of(v, 1, &x);
            x[0] = vec_expr_leaf(v, i < c->n_bound ? c->bound[i].at : at.at);
        }
    } else {
        if (c->checked && !at.checked) at = (index_step){.at = at.at, .checked = true, .site = c->site};
        for (uint32_t i = 0; i < n; i++) {
            if (!vec_pull(v, c->node, &c->operands[i], at, &args[i])) return false;
        }
    }
    return vec_expr_body(v, body, args, c->frame, element);
}

static loom_lexpr_id length_of(vec *v, const val *x) {
    return vec_x_extent(v, x->at[0].own[0]);
}

/* A step to another place: as uncertain as the step that it follows from, or as the closure's own check. */
static index_step moved(const closure *c, index_step at, loom_lexpr_id place) {
    if (at.checked) return (index_step){.at = place, .checked = true, .site = at.site};
    return (index_step){.at = place, .checked = c->checked, .site = c->checked ? c->site : LOOM_NONE};
}

static bool pull_slice(vec *v, const closure *c, index_step at, val *element) {
    loom_lexpr_id from, i = at.at;
    int64_t step = 1;
    vec_is_int(&c->operands[2].at[0], &step);
    if (!vec_to_expr(v, &c->operands[1].at[0], &from)) return false;
    if (step != 1) i = offset(v, LOOM_PRIM_MUL, i, vec_x_int(v, step));
    i = offset(v, LOOM_PRIM_ADD, from, i);
    return vec_pull(v, c->node, &c->operands[0], moved(c, at, i), element);
}

static bool pull_reverse(vec *v, const closure *c, index_step at, val *element) {
    loom_lexpr_id last = offset(v, LOOM_PRIM_SUB, length_of(v, &c->operands[0]), vec_x_int(v, 1));
    at.at = offset(v, LOOM_PRIM_SUB, last, at.at);
    return vec_pull(v, c->node, &c->operands[0], at, element);
}

/* The amount is brought into 0..n-1 once, so that an index needs a comparison only. */
static bool pull_rotate(vec *v, const closure *c, index_step at, val *element) {
    loom_lexpr_id r, n = length_of(v, &c->operands[0]);
    if (!vec_to_expr(v, &c->operands[1].at[0], &r)) return false;
    r = offset(v, LOOM_PRIM_FLOORMOD, r, offset(v, LOOM_PRIM_MAX, n, vec_x_int(v, 1)));
    loom_lexpr_id i = offset(v, LOOM_PRIM_ADD, at.at, r);
    loom_lexpr_id wrapped = offset(v, LOOM_PRIM_SUB, i, n);
    loom_lexpr_id inside = offset(v, LOOM_PRIM_LT, i, n);
    at.at = vec_x_prim(v, LOOM_PRIM_SELECT, LOOM_I64, (loom_lexpr_id[]){inside, i, wrapped}, LOOM_NONE);
    return vec_pull(v, c->node, &c->operands[0], at, element);
}

static bool pull_gather(vec *v, const closure *c, index_step at, val *element) {
    val index;
    if (!vec_pull(v, c->node, &c->operands[1], at, &index)) return false;
    if (vec_is_scalar(&index) && c->proven) {
        loom_lexpr_id e;
        return vec_to_expr(v, &index.at[0], &e) && vec_pull(v, c->node, &c->operands[0], vec_at_expr(e), element);
    }
    if (vec_is_scalar(&index)) return vec_index_value(v, c->node, &c->operands[0], &index.at[0], element);
    val *ops = LOOM_NEW_ARRAY(v->scratch, val, 2);
    ops[0] = c->operands[0];
    ops[1] = index;
    closure *d = vec_new_closure(v, PULL_GATHER, c->node, c->frame, ops, 2);
    *element = vec_closure_leaves(v, d, &c->operands[0], 1, index.at[0].own, index.at[0].n_own);
    return true;
}

/* In range where the condition around holds; fusion proves it there. */
static index_step under_condition(vec *v, const loom_node *n, loom_lexpr_id e) {
    return (index_step){.at = e, .checked = true, .site = vec_site(v, n, LOOM_TRAP_INDEX, 0)};
}

static bool inside(vec *v, const closure *c, const val *index, index_step *path, loom_lexpr_id *all) {
    const leaf *shape = &c->operands[1].at[0];
    *all = LOOM_NONE;
    for (uint32_t i = 0; i < index->n; i++) {
        loom_lexpr_id e;
        if (!vec_to_expr(v, &index->at[i], &e)) return false;
        extent extent_i = shape->own[i];
        if (vec_is_unknown(extent_i) || vec_depends_on_own(v, extent_i, i)) {
            return vec_refuse(v, c->node, "an inner extent that is not known here");
        }
        loom_lexpr_id low = offset(v, LOOM_PRIM_GE, e, vec_x_int(v, 0));
        loom_lexpr_id high = offset(v, LOOM_PRIM_LT, e, vec_x_extent(v, extent_i));
        loom_lexpr_id in = offset(v, LOOM_PRIM_AND, low, high);
        *all = *all == LOOM_NONE ? in : offset(v, LOOM_PRIM_AND, *all, in);
        path[i] = under_condition(v, c->node, e);
    }
    return true;
}

static bool has_checked(const vec *v, const leaf *x) {
    for (uint32_t i = 0; x->kind == LEAF_VALUE && i < v->l->values[x->id].n_axes; i++) {
        if (x->sources[i].kind == FROM_EXPR && x->sources[i].range == ANY_RANGE) return true;
    }
    return false;
}

/* A manifest source of scalars: one load that knows its own edge. Not where the source is replicated along an index: no
 * load would then look at that one. */
static bool load_or(vec *v, const leaf *x, const index_step *path, uint32_t n_path, const leaf *otherwise, leaf *out) {
    if (x->kind != LEAF_VALUE || x->n_own || v->elementwise) return false;
    loom_lexpr_id value, fallback;
    if (!vec_to_expr(v, otherwise, &fallback) || !vec_to_expr(v, x, &value)) return false;
    const loom_lexpr *e = &v->l->exprs[value];
    for (uint32_t k = 0; k < n_path; k++) {
        bool looked_at = false;
        for (uint32_t i = 0; i < e->n_args; i++) looked_at |= loom_lifted_arg(v->l, e, i) == path[k].at;
        if (!looked_at) return false;
    }
    *out = vec_expr_leaf(v, vec_default_load(v, value, fallback));
    return true;
}

static bool pull_backpermute(vec *v, const closure *c, index_step at, val *element) {
    const loom_body *body = loom_node_body(v->p, c->node, 0);
    val args[LOOM_MAX_DEPTH], index, source, rest = c->operands[0];
    index_step path[MAX_LEVELS];
    loom_lexpr_id all;
    for (uint32_t i = 0; i <= c->n_bound; i++) {
        leaf *x;
        index_step step = i < c->n_bound ? c->bound[i] : at;
        args[i] = vec_leaves_of(v, 1, &x);
        x[0] = vec_expr_leaf(v, step.at);
        if (!vec_pull(v, c->node, &rest, step, &rest)) return false;
    }
    if (!vec_expr_body(v, body, args, c->frame, &index) || !inside(v, c, &index, path, &all)) return false;
    if (!vec_pull_path(v, c->node, c->operands[1], path, index.n, &source)) return false;
    bool simple = true;
    leaf *out;
    *element = vec_leaves_of(v, source.n, &out);
    for (uint32_t i = 0; i < source.n && simple; i++) {
        simple = rest.at[i].kind == LEAF_CONST && !has_checked(v, &c->operands[1].at[i]) &&
                 load_or(v, &source.at[i], path, index.n, &rest.at[i], &out[i]);
    }
    if (simple) return true;
    thunk a = thunk_of(c->operands[1]), b = thunk_of(rest);
    for (uint32_t i = 0; i < index.n; i++) a = extend(v, &a, path[i]);
    return vec_either(v, c->node, all, &a, &b, &rest, element);
}

/* Array literals and concatenations: halves by comparison, down to one part. */
static val sub_parts(vec *v, const closure *c, uint32_t from, uint32_t n) {
    closure *d = vec_new_closure(v, c->kind, c->node, c->frame, c->operands + from, n);
    d->n_wanted = c->n_wanted + from; /* number of the first part */
    d->extents = c->extents;
    d->shape = c->shape;
    return vec_closure_leaves(v, d, c->shape, c->kind == PULL_CONCAT ? 1 : 0, c->extents, 1);
}

static loom_lexpr_id part_begin(vec *v, const closure *c, uint32_t part) {
    if (c->kind == PULL_ARRAY) return vec_x_int(v, part);
    loom_lexpr_id sum = vec_x_int(v, 0);
    for (uint32_t i = 0; i < part; i++) sum = offset(v, LOOM_PRIM_ADD, sum, vec_x_extent(v, c->extents[i + 1]));
    return sum;
}

static bool pull_parts(vec *v, const closure *c, index_step at, val *element) {
    if (c->n_operands == 1) {
        *element = c->operands[0];
        if (c->kind == PULL_ARRAY) return true;
        if (c->n_wanted) at.at = offset(v, LOOM_PRIM_SUB, at.at, part_begin(v, c, c->n_wanted));
        at = under_condition(v, c->node, at.at);
        return vec_pull(v, c->node, &c->operands[0], at, element);
    }
    uint32_t half = c->n_operands / 2;
    loom_lexpr_id first = offset(v, LOOM_PRIM_LT, at.at, part_begin(v, c, c->n_wanted + half));
    thunk a = thunk_of(sub_parts(v, c, 0, half)), b = thunk_of(sub_parts(v, c, half, c->n_operands - half));
    a = extend(v, &a, at);
    b = extend(v, &b, at);
    val like = c->kind == PULL_CONCAT ? drop_level(v, c->shape, at) : *c->shape;
    return vec_either(v, c->node, first, &a, &b, &like, element);
}

static bool pull_update(vec *v, const closure *c, index_step at, val *element) {
    loom_lexpr_id all = LOOM_NONE, e;
    thunk a = thunk_of(c->operands[1]), b = thunk_of(c->operands[0]);
    val like = *c->shape;
    for (uint32_t i = 0; i <= c->n_bound; i++) {
        index_step step = i < c->n_bound ? c->bound[i] : at;
        if (!vec_to_expr(v, &c->operands[2 + i].at[0], &e)) return false;
        loom_lexpr_id here = offset(v, LOOM_PRIM_EQ, step.at, e);
        all = all == LOOM_NONE ? here : offset(v, LOOM_PRIM_AND, all, here);
        b = extend(v, &b, step);
        like = drop_level(v, &like, step);
    }
    return vec_either(v, c->node, all, &a, &b, &like, element);
}

static bool pull_flatten(vec *v, const closure *c, index_step at, val *element) {
    extent e = c->operands[0].at[0].own[1];
    loom_lexpr_id m = vec_x_extent(v, e);
    if (e.axis == LOOM_NONE || vec_maybe_empty(v, e.axis)) m = offset(v, LOOM_PRIM_MAX, m, vec_x_int(v, 1));
    index_step path[2] = {at, at};
    path[0].at = offset(v, LOOM_PRIM_QUOT, at.at, m);
    path[1].at = offset(v, LOOM_PRIM_REM, at.at, m);
    return vec_pull_path(v, c->node, c->operands[0], path, 2, element);
}

static bool pull_unflatten(vec *v, const closure *c, index_step at, val *element) {
    loom_lexpr_id column = at.at;
    loom_lexpr_id row = offset(v, LOOM_PRIM_MUL, c->bound[0].at, vec_x_extent(v, c->extents[1]));
    if (c->bound[0].checked && !at.checked) at = c->bound[0];
    loom_lexpr_id place = offset(v, LOOM_PRIM_ADD, row, column);
    return vec_pull(v, c->node, &c->operands[0], moved(c, at, place), element);
}

static bool pull_transpose(vec *v, const closure *c, index_step at, val *element) {
    index_step path[2] = {at, c->bound[0]};
    return vec_pull_path(v, c->node, c->operands[0], path, 2, element);
}

/* What the closure's leaves looked like before any index was bound. */
static val unbound_shape(vec *v, const closure *c) {
    const val *like = &c->operands[0];
    switch (c->kind) {
    case PULL_UNFLATTEN: return vec_closure_leaves(v, NULL, like, 1, c->extents, 2);
    case PULL_TRANSPOSE: return vec_closure_leaves(v, NULL, like, 2, c->extents, 2);
    case PULL_UPDATE: return *c->shape;
    default: return *like;
    }
}

bool vec_pull_closure(vec *v, closure *c, index_step at, val *element) {
    if (c->n_bound + 1 < c->n_wanted && c->kind != PULL_ARRAY && c->kind != PULL_CONCAT) {
        val shape = unbound_shape(v, c);
        *element = bind_more(v, c, &shape, at);
        return true;
    }
    switch (c->kind) {
    case PULL_BODY: return pull_body(v, c, at, element);
    case PULL_SLICE: return pull_slice(v, c, at, element);
    case PULL_REVERSE: return pull_reverse(v, c, at, element);
    case PULL_ROTATE: return pull_rotate(v, c, at, element);
    case PULL_GATHER: return pull_gather(v, c, at, element);
    case PULL_BACKPERMUTE: return pull_backpermute(v, c, at, element);
    case PULL_ARRAY:
    case PULL_CONCAT: return pull_parts(v, c, at, element);
    case PULL_UPDATE: return pull_update(v, c, at, element);
    case PULL_TRANSPOSE: return pull_transpose(v, c, at, element);
    case PULL_FLATTEN: return pull_flatten(v, c, at, element);
    case PULL_UNFLATTEN: return pull_unflatten(v, c, at, element);
    case PULL_CONSTANT: *element = c->operands[0]; return true;
    case PULL_EITHER: return pull_either(v, c, at, element);
    }
    return false;
}
