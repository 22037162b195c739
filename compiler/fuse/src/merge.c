/* COMPUTE operations over the same points become one with several results, where the later one loads the earlier one's
 * at its own point: what a diamond of scalar steps needs together is then computed together, and passes between them in
 * registers. (Taking a producer into each of its consumers would repeat it; leaving it alone costs a pass over memory.)
 *
 * Operations are gone through in order. For each index space and scope one group is open; an operation joins it if
 *   - all that it reads is made before the group stands, or by the group, at the same point;
 *   - it reads something of the group;
 *   - both are free of branches and of what can fail, or neither is (branches keep a nest from being vectorised);
 *   - the whole stays small.
 * Else it opens a new group. A CHECK closes all groups: what follows may rely on it. Bodies of loops with a test are
 * left alone, since what makes the test must stand before the rest. The group takes the place of its first member.
 * Rounds of rewriting follow, which drop results that nobody else reads. */
#include "rewrite.h"

enum {
    GROUP_SIZE = 256,   /* expressions: beyond, registers spill */
    GROUP_RESULTS = 64, /* each is an array that a strip may hold */
};

typedef struct group {
    loom_lop_id first;
    loom_lop_id scope;
    bool branches;
    uint32_t size, n_results;
    LOOM_VEC(loom_lop_id) members;
    uint32_t next; /* of the same hash, + 1 */
} group;

typedef struct merger {
    loom_lifted *l;
    loom_arena *scratch;
    const loom_lop_id *scope_of;
    uint32_t *group_of;  /* per operation: + 1 */
    loom_lop_id *placed; /* per operation: where its results are made */
    LOOM_VEC(group) groups;
    uint32_t heads[256]; /* open groups by hash of axes */
    uint32_t closed;     /* groups before this one are closed */
} merger;

static bool has_branches(const loom_lifted *l, const loom_lblock *b) {
    for (loom_lexpr_id i = b->first; i < b->end; i++) {
        const loom_lexpr *e = &l->exprs[i];
        bool control =
            e->kind == LOOM_LX_IF || e->kind == LOOM_LX_FOR || e->kind == LOOM_LX_WHILE || e->kind == LOOM_LX_CHECK;
        if (control || (e->site != LOOM_NONE && !(e->kind == LOOM_LX_LOAD && e->mode == LOOM_LOAD_PROVEN))) return true;
    }
    return false;
}

static uint32_t hash_axes(const loom_lop *o, loom_lop_id scope) {
    uint32_t h = scope * 31u + o->n_axes;
    for (uint32_t i = 0; i < o->n_axes; i++) h = h * 131u + o->axes[i];
    return (h ^ h >> 8) & 255;
}

static bool same_space(const loom_lop *a, const loom_lop *b) {
    return a->n_axes == b->n_axes && (a->n_axes == 0 || memcmp(a->axes, b->axes, a->n_axes * sizeof *a->axes) == 0);
}

static group *open_group(merger *m, const loom_lop *o, loom_lop_id scope) {
    for (uint32_t i = m->heads[hash_axes(o, scope)]; i > m->closed; i = m->groups.at[i - 1].next) {
        group *g = &m->groups.at[i - 1];
        if (g->scope == scope && same_space(&m->l->ops[g->first], o)) return g;
    }
    return NULL;
}

/* Every index is the axis of its own position. */
static bool at_own_point(const loom_lifted *l, const loom_lexpr *e, uint32_t n_axes) {
    if (e->n_args != n_axes) return false;
    for (uint32_t i = 0; i < n_axes; i++) {
        const loom_lexpr *index = &l->exprs[loom_lifted_arg(l, e, i)];
        if (index->kind != LOOM_LX_AXIS || index->aux != i) return false;
    }
    return true;
}

static bool made_before(const merger *m, loom_lvalue_id v, loom_lop_id place) {
    const loom_lvalue *value = &m->l->values[v];
    return value->source != LOOM_LV_OP || m->placed[value->op] < place;
}

/* Reads of the operation against the group: true if it may join. */
static bool may_join(const merger *m, const group *g, uint32_t number, const loom_lop *o) {
    const loom_lifted *l = m->l;
    const loom_lblock *b = &l->blocks[o->body];
    bool reads = false;
    for (loom_lexpr_id i = b->first; i < b->end; i++) {
        const loom_lexpr *e = &l->exprs[i];
        if (e->kind == LOOM_LX_EXTENT && l->axes[e->aux].kind == LOOM_AXIS_SCALAR) {
            if (!made_before(m, l->axes[e->aux].value, g->first)) return false;
        }
        if (e->kind != LOOM_LX_LOAD) continue;
        const loom_lvalue *value = &l->values[e->aux];
        bool of_group = value->source == LOOM_LV_OP && m->group_of[value->op] == number + 1;
        if (of_group && (e->mode != LOOM_LOAD_PROVEN || !at_own_point(l, e, o->n_axes))) return false;
        if (!of_group && !made_before(m, e->aux, g->first)) return false;
        reads = reads || of_group;
    }
    return reads;
}

static void visit(merger *m, loom_lop_id id) {
    const loom_lop *o = &m->l->ops[id];
    loom_lop_id scope = m->scope_of[id];
    m->placed[id] = id;
    if (o->kind == LOOM_LO_CHECK) m->closed = (uint32_t)m->groups.count;
    if (o->kind != LOOM_LO_COMPUTE || o->dense) return;
    if (scope != LOOM_NONE && m->l->ops[scope / 2].test != LOOM_NONE) return;
    const loom_lblock *b = &m->l->blocks[o->body];
    bool branches = has_branches(m->l, b);
    uint32_t size = b->end - b->first;
    group *g = open_group(m, o, scope);
    bool fits =
        g && g->branches == branches && g->size + size <= GROUP_SIZE && g->n_results + o->n_results <= GROUP_RESULTS;
    if (fits && may_join(m, g, (uint32_t)(g - m->groups.at), o)) {
        m->placed[id] = g->first;
    } else {
        uint32_t *head = &m->heads[hash_axes(o, scope)];
        group fresh = {.first = id, .scope = scope, .branches = branches, .next = *head};
        LOOM_PUSH(m->scratch, m->groups, fresh);
        *head = (uint32_t)m->groups.count;
        g = &m->groups.at[m->groups.count - 1];
    }
    LOOM_PUSH(m->scratch, g->members, id);
    g->size += size;
    g->n_results += o->n_results;
    m->group_of[id] = (uint32_t)(g - m->groups.at) + 1;
}

/* ---- making the merged body ---- */

typedef struct joiner {
    merger *m;
    uint32_t number;
    loom_lexpr_id *map;    /* of the table as it was */
    loom_lexpr_id *result; /* per value of the group: its expression */
} joiner;

static loom_lblock_id append_block(joiner *j, loom_lblock_id id);

static bool has_blocks(const loom_lexpr *e) {
    return e->kind == LOOM_LX_IF || e->kind == LOOM_LX_FOR || e->kind == LOOM_LX_WHILE;
}

static void append_expr(joiner *j, loom_lexpr_id id) {
    loom_lifted *l = j->m->l;
    loom_lexpr e = l->exprs[id];
    const loom_lvalue *value = e.kind == LOOM_LX_LOAD ? &l->values[e.aux] : NULL;
    if (value && value->source == LOOM_LV_OP && j->m->group_of[value->op] == j->number + 1) {
        j->map[id] = j->result[e.aux];
        return;
    }
    for (uint32_t k = 0; has_blocks(&e) && k < 2; k++) {
        if (e.blocks[k] != LOOM_NONE) e.blocks[k] = append_block(j, e.blocks[k]);
    }
    loom_lexpr_id *args = LOOM_NEW_ARRAY(j->m->scratch, loom_lexpr_id, (size_t)e.n_args + 1);
    for (uint32_t k = 0; k < e.n_args; k++) args[k] = j->map[loom_lifted_arg(l, &e, k)];
    j->map[id] = loom_lifted_expr(l, e, args, e.n_args);
}

static void append_range(joiner *j, const loom_lblock *b) {
    const loom_lifted *l = j->m->l;
    loom_lexpr_id *own = LOOM_NEW_ARRAY(j->m->scratch, loom_lexpr_id, (size_t)(b->end - b->first) + 1);
    uint32_t n = 0;
    for (loom_lexpr_id i = b->end; i > b->first;) {
        const loom_lexpr *e = &l->exprs[--i];
        own[n++] = i;
        if (has_blocks(e)) i = l->blocks[e->blocks[0]].first;
    }
    while (n--) append_expr(j, own[n]);
}

static loom_lblock_id append_block(joiner *j, loom_lblock_id id) {
    const loom_lblock b = j->m->l->blocks[id];
    loom_lexpr_id first = j->m->l->n_exprs;
    append_range(j, &b);
    loom_lexpr_id *results = LOOM_NEW_ARRAY(j->m->scratch, loom_lexpr_id, (size_t)b.n_results + 1);
    for (uint32_t i = 0; i < b.n_results; i++) results[i] = j->map[b.results[i]];
    return loom_lifted_block(j->m->l, first, b.n_params, b.params, b.n_results, results);
}

static void join_group(merger *m, uint32_t number, loom_lexpr_id *map, loom_lexpr_id *result) {
    const group *g = &m->groups.at[number];
    loom_lifted *l = m->l;
    joiner j = {m, number, map, result};
    loom_lexpr_id first = l->n_exprs, *results = LOOM_NEW_ARRAY(m->scratch, loom_lexpr_id, (size_t)g->n_results + 1);
    loom_lvalue_id *values = LOOM_NEW_ARRAY(l->arena, loom_lvalue_id, (size_t)g->n_results + 1);
    uint32_t n = 0;
    for (size_t i = 0; i < g->members.count; i++) {
        loom_lop *o = &l->ops[g->members.at[i]];
        const loom_lblock b = l->blocks[o->body];
        append_range(&j, &b);
        for (uint32_t k = 0; k < o->n_results; k++) {
            values[n] = o->results[k];
            results[n] = result[o->results[k]] = map[b.results[k]];
            l->values[o->results[k]].op = g->first;
            n++;
        }
        o->n_results = 0; /* of no use to anybody: the next round leaves it out */
    }
    loom_lop *o = &l->ops[g->first];
    o->results = values;
    o->n_results = n;
    o->body = loom_lifted_block(l, first, 0, NULL, n, results);
}

bool fuse_merge_operations(loom_lifted *l) {
    merger m = {.l = l, .scratch = loom_arena_create(0)};
    bool any = false;
    m.scope_of = fuse_find_scopes(l, m.scratch);
    m.group_of = LOOM_NEW_ARRAY(m.scratch, uint32_t, (size_t)l->n_ops + 1);
    m.placed = LOOM_NEW_ARRAY(m.scratch, loom_lop_id, (size_t)l->n_ops + 1);
    for (loom_lop_id id = 0; id < l->n_ops; id++) visit(&m, id);
    loom_lexpr_id *map = LOOM_NEW_ARRAY(m.scratch, loom_lexpr_id, (size_t)l->n_exprs + 1);
    loom_lexpr_id *result = LOOM_NEW_ARRAY(m.scratch, loom_lexpr_id, (size_t)l->n_values + 1);
    for (uint32_t i = 0; i < m.groups.count; i++) {
        if (m.groups.at[i].members.count < 2) continue;
        join_group(&m, i, map, result);
        any = true;
    }
    loom_arena_destroy(m.scratch);
    return any;
}
