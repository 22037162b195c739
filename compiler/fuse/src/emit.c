/* Emitting expressions: equal ones of a scope are shared, constants folded, what can be decided is decided. */
#include "rewrite.h"

loom_lexpr fuse_blank_expr(loom_lexpr_kind kind, loom_dtype t) {
    return (loom_lexpr){
        .kind = (uint8_t)kind, .dtype = t, .blocks = {LOOM_NONE, LOOM_NONE}, .site = LOOM_NONE, .aux = LOOM_NONE};
}

static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 31;
}

static bool same(const rewrite *r, const loom_lexpr *a, const loom_lexpr *b, const loom_lexpr_id *args, uint32_t n) {
    if (a->kind != b->kind || a->mode != b->mode || a->dtype != b->dtype || a->prim != b->prim || a->aux != b->aux ||
        a->n_args != n || (a->site == LOOM_NONE) != (b->site == LOOM_NONE)) {
        return false;
    }
    if (a->kind == LOOM_LX_CONST && !loom_lifted_same_scalar(a->dtype, &a->imm, &b->imm)) return false;
    for (uint32_t i = 0; i < n; i++) {
        if (loom_lifted_arg(r->l, a, i) != args[i]) return false;
    }
    return true;
}

static bool has_blocks(const loom_lexpr *e) {
    return e->kind == LOOM_LX_IF || e->kind == LOOM_LX_FOR || e->kind == LOOM_LX_WHILE;
}

loom_lexpr_id fuse_emit(rewrite *r, loom_lexpr e, const loom_lexpr_id *args, uint32_t n) {
    if (has_blocks(&e)) return loom_lifted_expr(r->l, e, args, n);
    uint32_t params = e.kind == LOOM_LX_PARAM ? r->params : 0;
    uint64_t h = mix((uint64_t)e.kind << 40 ^ (uint64_t)e.mode << 32 ^ (uint64_t)e.prim << 8 ^ e.dtype, e.aux);
    h = mix(h, params);
    if (e.kind == LOOM_LX_CONST) h = mix(h, loom_lifted_hash_scalar(e.dtype, &e.imm));
    for (uint32_t i = 0; i < n; i++) h = mix(h, args[i]);
    for (uint32_t i = r->heads[h & 1023]; i; i = r->cells.at[i - 1].next) {
        const cell *c = &r->cells.at[i - 1];
        if (c->hash == h && c->params == params && same(r, &r->l->exprs[c->expr], &e, args, n)) return c->expr;
    }
    loom_lexpr_id id = loom_lifted_expr(r->l, e, args, n);
    cell c = {id, r->heads[h & 1023], h, params};
    LOOM_PUSH(r->scratch, r->cells, c);
    r->heads[h & 1023] = (uint32_t)r->cells.count;
    r->body_size++;
    return id;
}

scope fuse_open_scope(rewrite *r, bool params) {
    scope s = {r->cells.count, r->inlined.count, r->n_facts, r->n_conditions, r->params, r->l->n_exprs};
    if (params) r->params = ++r->serial;
    return s;
}

void fuse_close_scope(rewrite *r, scope s) {
    while (r->cells.count > s.n_cells) {
        const cell *c = &r->cells.at[--r->cells.count];
        r->heads[c->hash & 1023] = c->next;
    }
    r->inlined.count = s.n_inlined;
    r->n_facts = s.n_facts;
    r->n_conditions = s.n_conditions;
    r->params = s.params;
}

void fuse_undo_scope(rewrite *r, scope s, uint32_t n_args, uint32_t n_blocks) {
    fuse_close_scope(r, s);
    r->l->n_exprs = s.first;
    r->l->n_args = n_args;
    r->l->n_blocks = n_blocks;
}

loom_lexpr_id fuse_emit_const(rewrite *r, loom_dtype t, loom_scalar s) {
    loom_lexpr e = fuse_blank_expr(LOOM_LX_CONST, t);
    e.imm = s;
    return fuse_emit(r, e, NULL, 0);
}

loom_lexpr_id fuse_emit_int(rewrite *r, int64_t i) {
    return fuse_emit_const(r, LOOM_I64, (loom_scalar){.i = i});
}

static loom_lexpr_id emit_bool(rewrite *r, bool b) {
    return fuse_emit_const(r, LOOM_BOOL, (loom_scalar){.b = b});
}

loom_lexpr_id fuse_emit_extent(rewrite *r, loom_axis_id axis) {
    const loom_axis *a = &r->l->axes[axis];
    if (a->kind == LOOM_AXIS_CONST) return fuse_emit_int(r, a->extent);
    loom_lexpr e = fuse_blank_expr(LOOM_LX_EXTENT, LOOM_I64);
    e.aux = axis;
    return fuse_emit(r, e, NULL, 0);
}

loom_lexpr_id fuse_emit_extent_at(rewrite *r, loom_lvalue_id value, uint32_t i, const loom_lexpr_id *index) {
    loom_axis_id axis = r->l->values[value].axes[i];
    const loom_axis *a = &r->l->axes[axis];
    if (a->kind != LOOM_AXIS_SEGMENTED) return fuse_emit_extent(r, axis);
    loom_lexpr e = fuse_blank_expr(LOOM_LX_LOAD, LOOM_I64);
    loom_lexpr_id args[LOOM_LIFTED_MAX_AXES + 1];
    uint32_t facts = r->n_facts;
    e.aux = r->alias[a->lengths];
    if (i) memcpy(args, index, i * sizeof *args);
    r->n_facts = 0; /* conditions around may fail to hold where this is moved to */
    bool always = fuse_load_in_range(r, e.aux, args);
    r->n_facts = facts;
    e.mode = always ? LOOM_LOAD_PROVEN : LOOM_LOAD_DEFAULT;
    if (!always) args[i] = fuse_emit_int(r, 0);
    return fuse_emit(r, e, args, always ? i : i + 1);
}

bool fuse_const_of(const rewrite *r, loom_lexpr_id id, loom_scalar *s) {
    const loom_lexpr *e = &r->l->exprs[id];
    if (e->kind != LOOM_LX_CONST) return false;
    *s = e->imm;
    return true;
}

static bool fold(rewrite *r, loom_prim prim, const loom_lexpr_id *args, uint32_t n, loom_scalar *s) {
    loom_dtype types[3];
    loom_scalar values[3];
    for (uint32_t i = 0; i < n; i++) {
        if (!fuse_const_of(r, args[i], &values[i])) return false;
        types[i] = r->l->exprs[args[i]].dtype;
    }
    loom_status *failed = loom_interp_prim((uint16_t)prim, types, values, s);
    loom_status_free(failed);
    return !failed;
}

static bool is_int(const rewrite *r, loom_lexpr_id e, int64_t value) {
    loom_scalar s;
    return loom_dtype_is_integer(r->l->exprs[e].dtype) && fuse_const_of(r, e, &s) && s.i == value;
}

/* Identities that hold for every operand, floats left alone. */
static bool identity(rewrite *r, loom_prim prim, const loom_lexpr_id *args, loom_lexpr_id *same_as) {
    loom_scalar s;
    switch (prim) {
    case LOOM_PRIM_ADD:
        if (is_int(r, args[0], 0)) return *same_as = args[1], true;
        return *same_as = args[0], is_int(r, args[1], 0);
    case LOOM_PRIM_SUB: return *same_as = args[0], is_int(r, args[1], 0);
    case LOOM_PRIM_MUL:
        if (is_int(r, args[0], 1)) return *same_as = args[1], true;
        return *same_as = args[0], is_int(r, args[1], 1);
    case LOOM_PRIM_AND:
    case LOOM_PRIM_OR:
        for (uint32_t i = 0; i < 2; i++) {
            if (!fuse_const_of(r, args[i], &s)) continue;
            *same_as = s.b == (prim == LOOM_PRIM_AND) ? args[1 - i] : args[i];
            return true;
        }
        return *same_as = args[0], args[0] == args[1];
    case LOOM_PRIM_SELECT:
        if (fuse_const_of(r, args[0], &s)) return *same_as = s.b ? args[1] : args[2], true;
        return *same_as = args[1], args[1] == args[2];
    default: return false;
    }
}

static bool is_prim(const rewrite *r, loom_lexpr_id id, loom_prim prim, loom_lexpr_id parts[2]) {
    const loom_lexpr *e = &r->l->exprs[id];
    if (e->kind != LOOM_LX_PRIM || e->prim != prim) return false;
    for (uint32_t i = 0; i < 2; i++) parts[i] = loom_lifted_arg(r->l, e, i);
    return true;
}

/* Is `m` the extent of the axis that `j` is? */
static bool is_extent_of(const rewrite *r, loom_lexpr_id m, loom_lexpr_id j) {
    const loom_lexpr *e = &r->l->exprs[m], *axis = &r->l->exprs[j];
    if (!r->op || axis->kind != LOOM_LX_AXIS || axis->aux >= r->op->n_axes) return false;
    const loom_axis *a = &r->l->axes[r->op->axes[axis->aux]];
    if (a->kind == LOOM_AXIS_CONST) return is_int(r, m, a->extent);
    return a->kind != LOOM_AXIS_SEGMENTED && e->kind == LOOM_LX_EXTENT && e->aux == r->op->axes[axis->aux];
}

/* Of (i * m + j) / m and the remainder, i and j axes and m the extent of j's: i and j, where an array is flattened and
 * taken apart again. Both are axes of what is computed, so there is a point for each pair and nothing overflows. */
static bool undoes_flatten(const rewrite *r, loom_prim prim, const loom_lexpr_id *args, loom_lexpr_id *same_as) {
    loom_lexpr_id m = args[1], most[2], sum[2], product[2];
    if (prim != LOOM_PRIM_QUOT && prim != LOOM_PRIM_REM) return false;
    if (is_prim(r, m, LOOM_PRIM_MAX, most) && is_int(r, most[1], 1)) m = most[0]; /* of no points nothing is asked */
    if (!is_prim(r, args[0], LOOM_PRIM_ADD, sum)) return false;
    for (uint32_t k = 0; k < 2; k++) {
        loom_lexpr_id j = sum[1 - k];
        if (!is_extent_of(r, m, j) || !is_prim(r, sum[k], LOOM_PRIM_MUL, product)) continue;
        for (uint32_t i = 0; i < 2; i++) {
            loom_lexpr_id by = product[1 - i];
            bool fits = is_extent_of(r, by, j) && r->l->exprs[product[i]].kind == LOOM_LX_AXIS;
            if (fits) return *same_as = prim == LOOM_PRIM_QUOT ? product[i] : j, true;
        }
    }
    return false;
}

/* x ** 2 is x * x: a square is rounded once, as any power ought to be. */
static bool is_square(const rewrite *r, loom_prim prim, loom_dtype t, const loom_lexpr_id *args) {
    loom_scalar s;
    if (prim != LOOM_PRIM_POW || !fuse_const_of(r, args[1], &s)) return false;
    return loom_dtype_is_integer(t) ? s.i == 2 : loom_dtype_is_float(t) && s.f == 2;
}

/* Constants to the right, sums of constants together: so that equal indices look equal. */
static loom_lexpr_id emit_sum(rewrite *r, loom_prim prim, const loom_lexpr_id *args) {
    loom_scalar c, d;
    loom_lexpr_id a = args[0], b = args[1];
    if (prim == LOOM_PRIM_ADD && fuse_const_of(r, a, &c)) {
        loom_lexpr_id swap = a;
        a = b;
        b = swap;
    }
    if (fuse_const_of(r, b, &c)) {
        if (prim == LOOM_PRIM_SUB) c.u = -c.u;
        const loom_lexpr *e = &r->l->exprs[a];
        if (e->kind == LOOM_LX_PRIM && e->prim == LOOM_PRIM_ADD && fuse_const_of(r, loom_lifted_arg(r->l, e, 1), &d)) {
            a = loom_lifted_arg(r->l, e, 0);
            c.u += d.u;
        }
        if (c.i == 0) return a;
        prim = LOOM_PRIM_ADD;
        b = fuse_emit_int(r, c.i);
    }
    loom_lexpr e = fuse_blank_expr(LOOM_LX_PRIM, LOOM_I64);
    e.prim = (uint16_t)prim;
    return fuse_emit(r, e, (loom_lexpr_id[]){a, b}, 2);
}

loom_lexpr_id fuse_emit_prim(rewrite *r, loom_prim prim, loom_dtype t, const loom_lexpr_id *args, loom_lsite_id site,
                             loom_span span) {
    uint32_t n = (uint32_t)loom_prim_table[prim].arity;
    loom_scalar s;
    loom_lexpr_id same_as;
    if (fold(r, prim, args, n, &s)) return fuse_emit_const(r, t, s);
    if (identity(r, prim, args, &same_as)) return same_as;
    if (t == LOOM_I64 && undoes_flatten(r, prim, args, &same_as)) return same_as;
    if (is_square(r, prim, t, args)) {
        return fuse_emit_prim(r, LOOM_PRIM_MUL, t, (loom_lexpr_id[]){args[0], args[0]}, LOOM_NONE, span);
    }
    if (t == LOOM_I64 && (prim == LOOM_PRIM_ADD || prim == LOOM_PRIM_SUB)) return emit_sum(r, prim, args);
    if (t == LOOM_BOOL && n == 2) {
        int known = fuse_decide(r, prim, args[0], args[1]);
        if (known >= 0) return emit_bool(r, known);
    }
    loom_lexpr e = fuse_blank_expr(LOOM_LX_PRIM, t);
    e.prim = (uint16_t)prim;
    e.site = site;
    e.span = span;
    return fuse_emit(r, e, args, n);
}

loom_lexpr_id fuse_emit_prim2(rewrite *r, loom_prim prim, loom_lexpr_id a, loom_lexpr_id b) {
    loom_dtype types[2] = {r->l->exprs[a].dtype, r->l->exprs[b].dtype};
    return fuse_emit_prim(r, prim, loom_prim_result(prim, types), (loom_lexpr_id[]){a, b}, LOOM_NONE, (loom_span){0});
}
