/* Copying bodies, with loads replaced by what makes the value.
 *
 * A body is gone through in order; only what its results and its effects (CHECK) need is emitted. The source is a block
 * of the old tables, or, for a producer that is inlined, one of the new ones with its axes replaced by the load's
 * indices.
 *
 * IF: a known condition leaves the taken block; blocks that cannot trap and cost little become SELECTs (both run, and
 * the nest stays free of branches); else the condition is a fact inside the blocks. LOAD: in range by proof; where the
 * proof leans on conditions around, the site stays, so that the load is not moved out from under them.
 */
#include "rewrite.h"

typedef struct origin {
    bool old;
    loom_lexpr_id base;
    loom_lexpr_id *map;
    loom_lexpr_id **many;
    bool *needed;
    const loom_lexpr_id *axes; /* in place of AXIS, or NULL */
    bool conditional;          /* the point is in range under conditions only, and so may be what is proven of it */
} origin;

static loom_lexpr expr_of(const rewrite *r, const origin *s, loom_lexpr_id id) {
    return s->old ? r->old.exprs[id] : r->l->exprs[id];
}

static loom_lexpr_id arg_of(const rewrite *r, const origin *s, const loom_lexpr *e, uint32_t i) {
    return s->old ? r->old.args[e->first_arg + i] : r->l->args[e->first_arg + i];
}

static loom_lblock block_of(const rewrite *r, const origin *s, loom_lblock_id id) {
    return s->old ? r->old.blocks[id] : r->l->blocks[id];
}

static bool has_blocks(const loom_lexpr *e) {
    return e->kind == LOOM_LX_IF || e->kind == LOOM_LX_FOR || e->kind == LOOM_LX_WHILE;
}

static uint32_t n_blocks_of(const loom_lexpr *e) {
    return e->kind == LOOM_LX_FOR ? 1 : 2;
}

/* ---- what is needed ---- */

static void need(const origin *s, loom_lexpr_id id) {
    if (id >= s->base) s->needed[id - s->base] = true;
}

static void mark_effects(const rewrite *r, const origin *s, loom_lexpr_id first, loom_lexpr_id end) {
    uint32_t *effects = LOOM_NEW_ARRAY(r->scratch, uint32_t, (size_t)(end - first) + 1);
    for (loom_lexpr_id i = first; i < end; i++) {
        loom_lexpr e = expr_of(r, s, i);
        bool effect = e.kind == LOOM_LX_CHECK;
        if (has_blocks(&e)) {
            loom_lblock b = block_of(r, s, e.blocks[0]);
            effect = effects[i - first] > effects[b.first - first];
        }
        effects[i - first + 1] = effects[i - first] + effect;
        if (effect) need(s, i);
    }
}

static void mark_needed(const rewrite *r, const origin *s, loom_lexpr_id first, loom_lexpr_id end) {
    mark_effects(r, s, first, end);
    for (loom_lexpr_id i = end; i > first;) {
        if (!s->needed[--i - s->base]) continue;
        loom_lexpr e = expr_of(r, s, i);
        for (uint32_t k = 0; k < e.n_args; k++) need(s, arg_of(r, s, &e, k));
        for (uint32_t k = 0; has_blocks(&e) && k < n_blocks_of(&e); k++) {
            loom_lblock b = block_of(r, s, e.blocks[k]);
            for (uint32_t j = 0; j < b.n_results; j++) need(s, b.results[j]);
        }
    }
}

/* ---- costs ---- */

/* In halves of a floating-point addition. */
static uint64_t prim_work(const loom_lexpr *e) {
    uint64_t work = 2 * (uint64_t)loom_prim_table[e->prim].work;
    if (loom_dtype_is_complex(e->dtype)) return work * (e->prim == LOOM_PRIM_MUL ? 4 : 2);
    bool light = loom_dtype_is_integer(e->dtype) || e->dtype == LOOM_BOOL || e->prim == LOOM_PRIM_SELECT;
    return light && work == 2 ? 1 : work;
}

uint64_t fuse_work_of(const loom_lexpr *e) {
    switch ((loom_lexpr_kind)e->kind) {
    case LOOM_LX_LOAD: return e->mode == LOOM_LOAD_PROVEN ? 4 : e->mode == LOOM_LOAD_DEFAULT ? 6 : 10;
    case LOOM_LX_PRIM: return prim_work(e);
    case LOOM_LX_CONVERT:
    case LOOM_LX_IF: return 1;
    case LOOM_LX_CHECK: return 4;
    case LOOM_LX_FOR: return 64;
    case LOOM_LX_WHILE: return 128;
    default: return 0;
    }
}

const bool *fuse_needed(const rewrite *r, loom_lblock_id block, uint32_t result) {
    const loom_lblock b = r->l->blocks[block];
    origin s = {.base = b.first, .needed = LOOM_NEW_ARRAY(r->scratch, bool, (size_t)(b.end - b.first) + 1)};
    need(&s, b.results[result]);
    mark_needed(r, &s, b.first, b.end);
    return s.needed;
}

uint64_t fuse_result_work(const rewrite *r, loom_lblock_id block, uint32_t result) {
    const loom_lblock b = r->l->blocks[block];
    const bool *needed = fuse_needed(r, block, result);
    uint64_t work = 0;
    for (loom_lexpr_id i = b.first; i < b.end; i++) {
        if (needed[i - b.first]) work += fuse_work_of(&r->l->exprs[i]);
    }
    return work;
}

/* ---- copying ---- */

static void copy_range(rewrite *r, origin *s, const loom_lblock *b, loom_lexpr_id count);

static loom_lexpr_id mapped(const origin *s, loom_lexpr_id id) {
    assert(id >= s->base && s->map[id - s->base] != LOOM_NONE);
    return s->map[id - s->base];
}

static loom_lexpr_id *block_results(rewrite *r, const origin *s, const loom_lblock *b) {
    loom_lexpr_id *results = LOOM_NEW_ARRAY(r->scratch, loom_lexpr_id, (size_t)b->n_results + 1);
    for (uint32_t i = 0; i < b->n_results; i++) results[i] = mapped(s, b->results[i]);
    return results;
}

/* Takes the body of a producer at a point. The same producer at the same point is taken once in a scope. */
static loom_lexpr_id inline_at(rewrite *r, loom_lop_id maker, uint32_t result, const loom_lexpr_id *index,
                               bool conditional) {
    const loom_lop *o = &r->l->ops[maker];
    const loom_lblock b = r->l->blocks[o->body];
    uint32_t n = o->n_axes, size = b.end - b.first;
    inlined *found = NULL;
    for (size_t i = r->inlined.count; i > 0 && !found; i--) {
        inlined *m = &r->inlined.at[i - 1];
        if (m->op == maker && m->conditional == conditional && memcmp(m->index, index, n * sizeof *index) == 0)
            found = m;
    }
    inlined m = {.op = maker, .n = n, .conditional = conditional};
    if (found) {
        m = *found;
    } else {
        m.map = LOOM_NEW_ARRAY(r->scratch, loom_lexpr_id, (size_t)size + 1);
        m.many = LOOM_NEW_ARRAY(r->scratch, loom_lexpr_id *, (size_t)size + 1);
        memset(m.map, 0xff, size * sizeof *m.map);
        if (n) memcpy(m.index, index, n * sizeof *index);
        LOOM_PUSH(r->scratch, r->inlined, m);
    }
    loom_lexpr_id *axes = LOOM_NEW_ARRAY(r->scratch, loom_lexpr_id, (size_t)n + 1);
    if (n) memcpy(axes, index, n * sizeof *axes);
    origin s = {.old = false, .base = b.first, .map = m.map, .many = m.many, .axes = axes, .conditional = conditional};
    s.needed = LOOM_NEW_ARRAY(r->scratch, bool, (size_t)size + 1);
    need(&s, b.results[result]);
    mark_needed(r, &s, b.first, b.end);
    copy_range(r, &s, &b, LOOM_NONE);
    r->changed = true;
    return mapped(&s, b.results[result]);
}

static uint32_t result_number(const rewrite *r, loom_lop_id maker, loom_lvalue_id value) {
    const loom_lop *o = &r->l->ops[maker];
    for (uint32_t i = 0; i < o->n_results; i++) {
        if (o->results[i] == value) return i;
    }
    assert(false && "a value is among the results of its producer");
    return 0;
}

static loom_lexpr_id inside_condition(rewrite *r, loom_lvalue_id value, const loom_lexpr_id *index) {
    const loom_lvalue *v = &r->l->values[value];
    loom_lexpr_id all = fuse_emit_const(r, LOOM_BOOL, (loom_scalar){.b = true});
    for (uint32_t i = 0; i < v->n_axes; i++) {
        loom_lexpr_id low = fuse_emit_prim2(r, LOOM_PRIM_GE, index[i], fuse_emit_int(r, 0));
        loom_lexpr_id high = fuse_emit_prim2(r, LOOM_PRIM_LT, index[i], fuse_emit_extent_at(r, value, i, index));
        all = fuse_emit_prim2(r, LOOM_PRIM_AND, all, fuse_emit_prim2(r, LOOM_PRIM_AND, low, high));
    }
    return all;
}

/* What a load gives out of range: its default, or zero after an error that names the first index that is outside. */
static loom_lexpr_id outside_value(rewrite *r, const loom_lexpr *e, const loom_lexpr_id *args) {
    const loom_lvalue *v = &r->l->values[e->aux];
    if (e->mode == LOOM_LOAD_DEFAULT) return args[v->n_axes];
    loom_lexpr check = fuse_blank_expr(LOOM_LX_CHECK, e->dtype);
    check.site = e->site;
    loom_lexpr_id zero = fuse_emit_const(r, e->dtype, (loom_scalar){.c = {0, 0}});
    for (uint32_t i = 0; i < v->n_axes; i++) {
        loom_lexpr_id extent = fuse_emit_extent_at(r, e->aux, i, args);
        loom_lexpr_id low = fuse_emit_prim2(r, LOOM_PRIM_GE, args[i], fuse_emit_int(r, 0));
        loom_lexpr_id ok = fuse_emit_prim2(r, LOOM_PRIM_AND, low, fuse_emit_prim2(r, LOOM_PRIM_LT, args[i], extent));
        loom_scalar known;
        if (fuse_const_of(r, ok, &known) && known.b) continue;
        zero = fuse_emit(r, check, (loom_lexpr_id[]){ok, zero, args[i], extent}, 4);
    }
    return zero;
}

static loom_lexpr_id inline_or(rewrite *r, const loom_lexpr *e, const loom_lexpr_id *args, loom_lop_id maker) {
    uint32_t result = result_number(r, maker, e->aux);
    loom_lexpr_id condition = inside_condition(r, e->aux, args), one;
    loom_lexpr both = fuse_blank_expr(LOOM_LX_IF, e->dtype);
    scope s = fuse_open_scope(r, false);
    fuse_assume(r, condition, true);
    one = inline_at(r, maker, result, args, true);
    both.blocks[0] = loom_lifted_block(r->l, s.first, 0, NULL, 1, &one);
    fuse_close_scope(r, s);
    s = fuse_open_scope(r, false);
    one = outside_value(r, e, args);
    both.blocks[1] = loom_lifted_block(r->l, s.first, 0, NULL, 1, &one);
    fuse_close_scope(r, s);
    return fuse_emit(r, both, &condition, 1);
}

/* A site that is never raised: "proven under the conditions around". */
static loom_lsite_id under_conditions(rewrite *r) {
    if (r->condition_site == LOOM_NONE) {
        r->condition_site =
            loom_lifted_site(r->l, (loom_span){0}, "index {a} is out of range for an array of length {b}", NULL);
    }
    return r->condition_site;
}

static void prove_load(rewrite *r, const origin *s, loom_lexpr *e, const loom_lexpr_id *args) {
    uint32_t facts = r->n_facts;
    if (e->mode == LOOM_LOAD_PROVEN && e->site == LOOM_NONE && !s->conditional) return;
    r->n_facts = 0;
    bool always = fuse_load_in_range(r, e->aux, args);
    r->n_facts = facts;
    if (always) {
        e->mode = LOOM_LOAD_PROVEN;
        e->site = LOOM_NONE;
    } else if (e->mode == LOOM_LOAD_PROVEN) {
        if (e->site == LOOM_NONE) e->site = under_conditions(r);
    } else if (fuse_load_in_range(r, e->aux, args)) {
        e->mode = LOOM_LOAD_PROVEN;
        if (e->site == LOOM_NONE) e->site = under_conditions(r);
    }
}

static loom_lexpr_id copy_load(rewrite *r, const origin *s, loom_lexpr e, const loom_lexpr_id *args) {
    e.aux = r->alias[e.aux];
    uint32_t n = r->l->values[e.aux].n_axes;
    loom_lop_id maker = r->maker[e.aux];
    loom_lexpr_id element = n == 1 ? fuse_own_number(r, e.aux, args[0]) : LOOM_NONE;
    if (element != LOOM_NONE) {
        r->changed = true;
        return element;
    }
    prove_load(r, s, &e, args);
    if (maker != LOOM_NONE && fuse_may_inline(r, e.aux, maker, args)) {
        if (e.mode != LOOM_LOAD_PROVEN) return inline_or(r, &e, args, maker);
        return inline_at(r, maker, result_number(r, maker, e.aux), args, e.site != LOOM_NONE);
    }
    return fuse_emit(r, e, args, e.mode == LOOM_LOAD_DEFAULT ? n + 1 : n);
}

/* ---- control ---- */

/* May run where it is not taken: cannot trap, ends, costs little. */
static bool can_speculate(const rewrite *r, const origin *s, loom_lblock_id id) {
    loom_lblock b = block_of(r, s, id);
    uint64_t work = 0;
    for (loom_lexpr_id i = b.first; i < b.end; i++) {
        loom_lexpr e = expr_of(r, s, i);
        if (!s->needed[i - s->base]) continue;
        if (e.site != LOOM_NONE || e.kind == LOOM_LX_FOR || e.kind == LOOM_LX_WHILE || e.kind == LOOM_LX_CHECK)
            return false;
        work += fuse_work_of(&e);
    }
    return work <= SPECULATE;
}

static void set_results(origin *s, loom_lexpr_id id, loom_lexpr_id *results, uint32_t n, loom_lexpr_id otherwise) {
    s->many[id - s->base] = results;
    s->map[id - s->base] = n ? results[0] : otherwise;
}

/* The load's indices, if they are known before its block is opened. */
static bool outer_indices(rewrite *r, const origin *s, const loom_lexpr *e, loom_lexpr_id *args) {
    for (uint32_t i = 0; i < e->n_args; i++) {
        loom_lexpr_id id = arg_of(r, s, e, i);
        loom_lexpr x = expr_of(r, s, id);
        if (s->map[id - s->base] != LOOM_NONE) {
            args[i] = s->map[id - s->base];
        } else if (x.kind == LOOM_LX_AXIS) {
            args[i] = s->axes ? s->axes[x.aux] : fuse_emit(r, x, NULL, 0);
        } else if (x.kind == LOOM_LX_CONST) {
            args[i] = fuse_emit(r, x, NULL, 0);
        } else {
            return false;
        }
    }
    return true;
}

/* What both branches load from the same place is taken before them, once: a producer's body in each would double with
 * every conditional in a chain. It is no more than was computed before, at each point. */
static void share_loads(rewrite *r, const origin *s, const loom_lblock *a, const loom_lblock *b) {
    enum {
        MOST = 16
    };
    loom_lexpr_id args[LOOM_LIFTED_MAX_AXES + 1], other[LOOM_LIFTED_MAX_AXES + 1];
    uint32_t found = 0;
    for (loom_lexpr_id i = a->first; i < a->end && found < MOST; i++) {
        loom_lexpr e = expr_of(r, s, i);
        if (e.kind != LOOM_LX_LOAD || !s->needed[i - s->base] || e.mode != LOOM_LOAD_PROVEN || e.site != LOOM_NONE)
            continue;
        e.aux = r->alias[e.aux];
        if (r->maker[e.aux] == LOOM_NONE || r->work[e.aux] <= TRIVIAL || !outer_indices(r, s, &e, args)) continue;
        if (!fuse_may_inline(r, e.aux, r->maker[e.aux], args)) continue;
        for (loom_lexpr_id k = b->first; k < b->end; k++) {
            loom_lexpr x = expr_of(r, s, k);
            if (x.kind != LOOM_LX_LOAD || r->alias[x.aux] != e.aux || !outer_indices(r, s, &x, other)) continue;
            if (memcmp(args, other, e.n_args * sizeof *args) != 0) continue;
            found++;
            inline_at(r, r->maker[e.aux], result_number(r, r->maker[e.aux], e.aux), args, s->conditional);
            break;
        }
    }
}

static void copy_if(rewrite *r, origin *s, loom_lexpr_id id, loom_lexpr e, loom_lexpr_id condition) {
    loom_scalar known;
    loom_lblock b[2] = {block_of(r, s, e.blocks[0]), block_of(r, s, e.blocks[1])};
    uint32_t n = b[0].n_results;
    if (fuse_const_of(r, condition, &known)) {
        const loom_lblock *taken = &b[known.b ? 0 : 1];
        copy_range(r, s, taken, LOOM_NONE);
        set_results(s, id, block_results(r, s, taken), n, condition);
        return;
    }
    if (can_speculate(r, s, e.blocks[0]) && can_speculate(r, s, e.blocks[1])) {
        loom_lexpr_id *yes, *no;
        copy_range(r, s, &b[0], LOOM_NONE);
        copy_range(r, s, &b[1], LOOM_NONE);
        yes = block_results(r, s, &b[0]);
        no = block_results(r, s, &b[1]);
        for (uint32_t i = 0; i < n; i++) {
            loom_lexpr_id args[3] = {condition, yes[i], no[i]};
            yes[i] = fuse_emit_prim(r, LOOM_PRIM_SELECT, r->l->exprs[yes[i]].dtype, args, LOOM_NONE, e.span);
        }
        set_results(s, id, yes, n, condition);
        return;
    }
    share_loads(r, s, &b[0], &b[1]);
    loom_lexpr both = fuse_blank_expr(LOOM_LX_IF, e.dtype);
    both.span = e.span;
    for (uint32_t k = 0; k < 2; k++) {
        scope sc = fuse_open_scope(r, false);
        fuse_assume(r, condition, k == 0);
        copy_range(r, s, &b[k], LOOM_NONE);
        both.blocks[k] = loom_lifted_block(r->l, sc.first, 0, NULL, n, block_results(r, s, &b[k]));
        fuse_close_scope(r, sc);
    }
    loom_lexpr_id *results = LOOM_NEW_ARRAY(r->scratch, loom_lexpr_id, (size_t)n + 1);
    loom_lexpr_id made = fuse_emit(r, both, &condition, 1);
    for (uint32_t i = 0; i < n; i++) results[i] = LOOM_NONE;
    if (n) results[0] = made;
    set_results(s, id, results, n, made);
    s->map[id - s->base] = made;
}

static void copy_loop(rewrite *r, origin *s, loom_lexpr_id id, loom_lexpr e, const loom_lexpr_id *args) {
    loom_lexpr made = fuse_blank_expr((loom_lexpr_kind)e.kind, e.dtype);
    made.mode = e.mode;
    made.span = e.span;
    r->loops++;
    for (uint32_t k = 0; k < n_blocks_of(&e); k++) {
        loom_lblock b = block_of(r, s, e.blocks[k]);
        scope sc = fuse_open_scope(r, true);
        copy_range(r, s, &b, e.kind == LOOM_LX_FOR ? args[0] : LOOM_NONE);
        made.blocks[k] = loom_lifted_block(r->l, sc.first, b.n_params, b.params, b.n_results, block_results(r, s, &b));
        fuse_close_scope(r, sc);
    }
    r->loops--;
    loom_lexpr_id loop = fuse_emit(r, made, args, e.n_args);
    uint32_t n = e.kind == LOOM_LX_FOR ? e.n_args - 1 : e.n_args;
    loom_lexpr_id *results = LOOM_NEW_ARRAY(r->scratch, loom_lexpr_id, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) results[i] = LOOM_NONE;
    if (n) results[0] = loop;
    set_results(s, id, results, n, loop);
}

static loom_lexpr_id copy_result(rewrite *r, const origin *s, const loom_lexpr *e, loom_lexpr_id of) {
    loom_lexpr_id *results = s->many[of - s->base];
    if (results[e->aux] == LOOM_NONE) {
        loom_lexpr x = fuse_blank_expr(LOOM_LX_RESULT, e->dtype);
        x.aux = e->aux;
        loom_lexpr_id control = mapped(s, of);
        return fuse_emit(r, x, &control, 1); /* not kept: it belongs to the scope of this use */
    }
    return results[e->aux];
}

static loom_lexpr_id copy_convert(rewrite *r, const loom_lexpr *e, loom_lexpr_id arg) {
    loom_scalar s, t;
    loom_dtype from = r->l->exprs[arg].dtype;
    if (from == e->dtype) return arg;
    if (fuse_const_of(r, arg, &s)) {
        loom_status *failed = loom_interp_convert(from, s, e->dtype, &t);
        loom_status_free(failed);
        if (!failed) return fuse_emit_const(r, e->dtype, t);
    }
    loom_lexpr x = fuse_blank_expr(LOOM_LX_CONVERT, e->dtype);
    x.span = e->span;
    return fuse_emit(r, x, &arg, 1);
}

static loom_lexpr_id copy_check(rewrite *r, loom_lexpr e, const loom_lexpr_id *args) {
    loom_scalar s;
    if (fuse_const_of(r, args[0], &s) && s.b) return args[1];
    return fuse_emit(r, e, args, e.n_args);
}

static void copy_expr(rewrite *r, origin *s, loom_lexpr_id id) {
    loom_lexpr e = expr_of(r, s, id);
    loom_lexpr_id *to = &s->map[id - s->base];
    loom_lexpr_id *args = LOOM_NEW_ARRAY(r->scratch, loom_lexpr_id, (size_t)e.n_args + 1);
    for (uint32_t i = 0; i < e.n_args && e.kind != LOOM_LX_RESULT; i++) args[i] = mapped(s, arg_of(r, s, &e, i));
    switch ((loom_lexpr_kind)e.kind) {
    case LOOM_LX_AXIS: *to = s->axes ? s->axes[e.aux] : fuse_emit(r, e, NULL, 0); return;
    case LOOM_LX_CONST:
    case LOOM_LX_PARAM: *to = fuse_emit(r, e, NULL, 0); return;
    case LOOM_LX_EXTENT: *to = fuse_emit_extent(r, e.aux); return;
    case LOOM_LX_LOAD: *to = copy_load(r, s, e, args); return;
    case LOOM_LX_PRIM: *to = fuse_emit_prim(r, (loom_prim)e.prim, e.dtype, args, e.site, e.span); return;
    case LOOM_LX_CONVERT: *to = copy_convert(r, &e, args[0]); return;
    case LOOM_LX_IF: copy_if(r, s, id, e, args[0]); return;
    case LOOM_LX_FOR:
    case LOOM_LX_WHILE: copy_loop(r, s, id, e, args); return;
    case LOOM_LX_RESULT: *to = copy_result(r, s, &e, arg_of(r, s, &e, 0)); return;
    case LOOM_LX_CHECK: *to = copy_check(r, e, args); return;
    }
}

static void index_facts(rewrite *r, loom_lexpr_id index, loom_lexpr_id count) {
    loom_lexpr e = fuse_blank_expr(LOOM_LX_PRIM, LOOM_BOOL);
    /* As conditions, so that one place knows how facts are made; nothing refers to these afterwards. */
    e.prim = LOOM_PRIM_GE;
    fuse_assume(r, fuse_emit(r, e, (loom_lexpr_id[]){index, fuse_emit_int(r, 0)}, 2), true);
    e.prim = LOOM_PRIM_LT;
    fuse_assume(r, fuse_emit(r, e, (loom_lexpr_id[]){index, count}, 2), true);
}

/* count: of the FOR whose block this is. */
static void copy_range(rewrite *r, origin *s, const loom_lblock *b, loom_lexpr_id count) {
    loom_lexpr_id *own = LOOM_NEW_ARRAY(r->scratch, loom_lexpr_id, (size_t)(b->end - b->first) + 1);
    uint32_t n = 0;
    for (loom_lexpr_id i = b->end; i > b->first;) {
        loom_lexpr e = expr_of(r, s, --i);
        if (s->needed[i - s->base]) own[n++] = i;
        if (has_blocks(&e)) i = block_of(r, s, e.blocks[0]).first;
    }
    while (n--) {
        loom_lexpr_id *to = &s->map[own[n] - s->base];
        if (*to != LOOM_NONE) continue;
        copy_expr(r, s, own[n]);
        loom_lexpr e = expr_of(r, s, own[n]);
        if (count != LOOM_NONE && e.kind == LOOM_LX_PARAM && e.aux == 0) index_facts(r, *to, count);
    }
}

void fuse_copy_body(rewrite *r, loom_lblock_id block, const bool *wanted, loom_lblock_id *made) {
    if (block == LOOM_NONE) {
        *made = LOOM_NONE;
        return;
    }
    loom_lblock b = r->old.blocks[block];
    uint32_t size = b.end - b.first;
    origin s = {.old = true, .base = b.first};
    s.map = LOOM_NEW_ARRAY(r->scratch, loom_lexpr_id, (size_t)size + 1);
    s.many = LOOM_NEW_ARRAY(r->scratch, loom_lexpr_id *, (size_t)size + 1);
    s.needed = LOOM_NEW_ARRAY(r->scratch, bool, (size_t)size + 1);
    memset(s.map, 0xff, size * sizeof *s.map);
    loom_lexpr_id *results = LOOM_NEW_ARRAY(r->scratch, loom_lexpr_id, (size_t)b.n_results + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < b.n_results; i++) {
        if (!wanted || wanted[i]) need(&s, b.results[i]);
    }
    mark_needed(r, &s, b.first, b.end);
    r->body_size = 0;
    scope sc = fuse_open_scope(r, true);
    copy_range(r, &s, &b, LOOM_NONE);
    for (uint32_t i = 0; i < b.n_results; i++) {
        if (!wanted || wanted[i]) results[n++] = mapped(&s, b.results[i]);
    }
    *made = loom_lifted_block(r->l, sc.first, b.n_params, b.params, n, results);
    fuse_close_scope(r, sc);
}
