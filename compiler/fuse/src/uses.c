/* What is used, and at how many places: operations that matter, values that must be manifest, points at which a
 * producer's results are loaded. A *point* is an operation together with one vector of indices; loads at the same point
 * share one evaluation after inlining. */
#include "rewrite.h"

typedef struct walk {
    const loom_lifted *l;
    loom_arena *arena;
    uses u;
    bool *axis_seen;
    uint64_t *hashes; /* of expressions, by structure */
    struct point {
        uint64_t hash;
        loom_lop_id producer, consumer;
    } *table;
    uint32_t capacity, count;
} walk;

static void use_axis(walk *w, loom_axis_id id);

static void use_value(walk *w, loom_lvalue_id v, bool held) {
    if (v == LOOM_NONE) return;
    w->u.held[v] = w->u.held[v] || held;
    if (w->u.value[v]) return;
    w->u.value[v] = true;
    for (uint32_t i = 0; i < w->l->values[v].n_axes; i++) use_axis(w, w->l->values[v].axes[i]);
}

static void use_axis(walk *w, loom_axis_id id) {
    if (w->axis_seen[id]) return;
    w->axis_seen[id] = true;
    const loom_axis *a = &w->l->axes[id];
    if (a->kind == LOOM_AXIS_SCALAR) use_value(w, a->value, true);
    if (a->kind == LOOM_AXIS_SEGMENTED) {
        use_value(w, a->lengths, true);
        use_value(w, a->offsets, true);
        use_value(w, a->total, true);
    }
}

static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

static void hash_expr(walk *w, loom_lexpr_id id) {
    const loom_lexpr *e = &w->l->exprs[id];
    uint64_t h = mix((uint64_t)e->kind << 40 ^ (uint64_t)e->prim << 16 ^ e->dtype, e->aux);
    if (e->kind == LOOM_LX_CONST) h = mix(h, loom_lifted_hash_scalar(e->dtype, &e->imm));
    if (e->kind == LOOM_LX_IF || e->kind == LOOM_LX_FOR || e->kind == LOOM_LX_WHILE || e->kind == LOOM_LX_PARAM)
        h = mix(h, id);
    for (uint32_t i = 0; i < e->n_args; i++) h = mix(h, w->hashes[loom_lifted_arg(w->l, e, i)]);
    w->hashes[id] = h;
}

static void grow_table(walk *w) {
    struct point *old = w->table;
    uint32_t n = w->capacity;
    w->capacity = n ? 2 * n : 256;
    w->table = LOOM_NEW_ARRAY(w->arena, struct point, w->capacity);
    for (uint32_t i = 0; i < n; i++) {
        if (!old[i].hash) continue;
        uint32_t at = (uint32_t)old[i].hash & (w->capacity - 1);
        while (w->table[at].hash) at = (at + 1) & (w->capacity - 1);
        w->table[at] = old[i];
    }
}

static void count_point(walk *w, loom_lop_id producer, loom_lop_id consumer, uint64_t index) {
    uint64_t h = mix(mix(index, producer), consumer) | 1;
    if (2 * (w->count + 1) > w->capacity) grow_table(w);
    uint32_t at = (uint32_t)h & (w->capacity - 1);
    for (; w->table[at].hash; at = (at + 1) & (w->capacity - 1)) {
        const struct point *p = &w->table[at];
        if (p->hash == h && p->producer == producer && p->consumer == consumer) return;
    }
    w->table[at] = (struct point){h, producer, consumer};
    w->count++;
    w->u.points[producer]++;
}

static void use_block(walk *w, loom_lop_id op, loom_lblock_id id) {
    if (id == LOOM_NONE) return;
    const loom_lblock *b = &w->l->blocks[id];
    for (loom_lexpr_id i = b->first; i < b->end; i++) {
        const loom_lexpr *e = &w->l->exprs[i];
        hash_expr(w, i);
        if (e->kind == LOOM_LX_EXTENT) use_axis(w, e->aux);
        if (e->kind != LOOM_LX_LOAD) continue;
        const loom_lvalue *v = &w->l->values[e->aux];
        use_value(w, e->aux, false);
        if (v->source != LOOM_LV_OP) continue;
        uint64_t h = 1;
        for (uint32_t k = 0; k < v->n_axes; k++) h = mix(h, w->hashes[loom_lifted_arg(w->l, e, k)]);
        count_point(w, v->op, op, h);
    }
}

static void use_op(walk *w, loom_lop_id id) {
    const loom_lop *o = &w->l->ops[id];
    w->u.op[id] = true;
    for (uint32_t i = 0; i < o->n_axes; i++) use_axis(w, o->axes[i]);
    for (uint32_t i = 0; i < o->n_target_axes; i++) use_axis(w, o->target_axes[i]);
    for (uint32_t i = 0; i < o->n_args; i++) use_value(w, o->args[i], true);
    for (uint32_t i = 0; i < o->n_results && o->dest; i++) use_value(w, o->dest[i], true);
    for (uint32_t i = 0; i < o->n_results && o->then_results; i++) {
        use_value(w, o->then_results[i], true);
        use_value(w, o->else_results[i], true);
    }
    for (uint32_t i = 0; i < o->n_states; i++) {
        use_value(w, o->initial[i], true);
        use_value(w, o->next[i], true);
    }
    for (uint32_t i = 0; i < o->n_collected; i++) use_value(w, o->collected[i], true);
    if (o->test != LOOM_NONE) use_value(w, o->test, true);
    use_block(w, id, o->body);
    use_block(w, id, o->ne);
}

static bool has_results_used(const walk *w, const loom_lop *o) {
    for (uint32_t i = 0; i < o->n_results; i++) {
        if (w->u.value[o->results[i]]) return true;
    }
    return false;
}

uses fuse_find_uses(const loom_lifted *l, loom_arena *arena) {
    walk w = {.l = l, .arena = arena};
    w.u.points = LOOM_NEW_ARRAY(arena, uint32_t, (size_t)l->n_ops + 1);
    w.u.held = LOOM_NEW_ARRAY(arena, bool, (size_t)l->n_values + 1);
    w.u.value = LOOM_NEW_ARRAY(arena, bool, (size_t)l->n_values + 1);
    w.u.op = LOOM_NEW_ARRAY(arena, bool, (size_t)l->n_ops + 1);
    w.axis_seen = LOOM_NEW_ARRAY(arena, bool, (size_t)l->n_axes + 1);
    w.hashes = LOOM_NEW_ARRAY(arena, uint64_t, (size_t)l->n_exprs + 1);
    uint32_t *checks = LOOM_NEW_ARRAY(arena, uint32_t, (size_t)l->n_ops + 1);
    for (uint32_t i = 0; i < l->n_ops; i++) checks[i + 1] = checks[i] + (l->ops[i].kind == LOOM_LO_CHECK);
    for (uint32_t j = 0; j < l->n_outputs; j++) {
        for (uint32_t i = 0; i < l->outputs[j].n_leaves; i++) use_value(&w, l->outputs[j].values[i], true);
        for (uint32_t i = 0; i < l->outputs[j].n_axes; i++) use_axis(&w, l->outputs[j].axes[i]);
    }
    for (loom_lop_id id = l->n_ops; id > 0; id--) {
        const loom_lop *o = &l->ops[id - 1];
        bool holds_check = (o->kind == LOOM_LO_LOOP || o->kind == LOOM_LO_IF) && checks[id] > checks[o->inner_first];
        /* What comes in is bound whether or not it is used, and so are its rows. */
        bool rows = o->kind == LOOM_LO_OFFSETS && l->values[o->args[0]].source < LOOM_LV_OP;
        bool root =
            rows || o->kind == LOOM_LO_CHECK || holds_check || (o->kind == LOOM_LO_PERMUTE && o->output != LOOM_NONE);
        if (root || has_results_used(&w, o)) use_op(&w, id - 1);
    }
    return w.u;
}

loom_lop_id *fuse_find_loops(const loom_lifted *l, loom_arena *arena) {
    loom_lop_id *loop = LOOM_NEW_ARRAY(arena, loom_lop_id, (size_t)l->n_ops + 1);
    for (uint32_t i = 0; i < l->n_ops; i++) loop[i] = LOOM_NONE;
    for (loom_lop_id id = l->n_ops; id > 0; id--) { /* outer ones stand behind inner ones: inner ones overwrite */
        const loom_lop *o = &l->ops[id - 1];
        if (o->kind != LOOM_LO_LOOP) continue;
        for (loom_lop_id i = o->inner_first; i < o->inner_end; i++) loop[i] = id - 1;
    }
    return loop;
}
