/* Fusion: rounds of rewriting, until none takes a producer into a consumer any more.
 *
 * A round goes through the operations in order. Dead ones are left out. Each other one gets new bodies (copy.c) in
 * which loads of COMPUTE results may have become the producer's body (rules.c): producers come first, so what is taken
 * is fused already. Bodies of COMPUTE, REDUCE, SCAN, PERMUTE and CHECK take part alike, so producers vanish into
 * reductions, permutes and across nests.
 *
 * Example, the crop and pad between two transforms of AW-gridding:
 *     c = compute [chunk, 15, 15]  load f[k, i + 7, j + 7] checked
 *     p = compute [chunk, 32, 32]  load c[k, i, j] default 0
 * becomes one compute [chunk, 32, 32]: if i < 15 && j < 15 then load f[k, i + 7, j + 7] (proven) else 0.
 *
 * What is left over the same points and needed together is merged (merge.c), and rounds follow that tidy up.
 *
 * Cost: linear in the size of the IR for each round; bodies are limited to MAX_BODY expressions.
 */
#include "rewrite.h"

static const bool *wanted_results(rewrite *r, const loom_lop *o, const uses *u, loom_lvalue_id *results, uint32_t *n) {
    bool *wanted = LOOM_NEW_ARRAY(r->scratch, bool, (size_t)o->n_results + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < o->n_results; i++) {
        wanted[i] = u->value[o->results[i]];
        if (wanted[i]) results[count++] = o->results[i];
    }
    *n = count;
    return wanted;
}

static bool check_holds(const rewrite *r, const loom_lop *o) {
    loom_scalar s;
    return o->kind == LOOM_LO_CHECK && fuse_const_of(r, r->l->blocks[o->body].results[0], &s) && s.b;
}

static const loom_lvalue_id *renamed(rewrite *r, const loom_lvalue_id *values, uint32_t n) {
    if (!values || !n) return values;
    loom_lvalue_id *to = LOOM_NEW_ARRAY(r->scratch, loom_lvalue_id, n);
    for (uint32_t i = 0; i < n; i++) to[i] = r->alias[values[i]];
    return to;
}

static void rename_values(rewrite *r, loom_lop *o) {
    o->args = renamed(r, o->args, o->n_args);
    o->dest = renamed(r, o->dest, o->n_results);
    o->initial = renamed(r, o->initial, o->n_states);
    o->next = renamed(r, o->next, o->n_states);
    o->collected = renamed(r, o->collected, o->n_collected);
    o->then_results = renamed(r, o->then_results, o->n_results);
    o->else_results = renamed(r, o->else_results, o->n_results);
    if (o->test != LOOM_NONE) o->test = r->alias[o->test];
}

static void add_op(rewrite *r, const loom_lop *o, loom_lop_id id, uint64_t hash) {
    loom_lop_id made = loom_lifted_op(r->l, *o);
    r->loop_of_new[made] = r->loop_of_old[id];
    r->old_number[made] = id;
    r->op_hash[made] = hash;
    r->next_equal[made] = r->heads_equal[hash & 1023];
    r->heads_equal[hash & 1023] = made + 1;
    for (uint32_t i = 0; i < o->n_results && o->kind == LOOM_LO_COMPUTE && !o->dense; i++) {
        r->maker[o->results[i]] = made;
        r->work[o->results[i]] = fuse_result_work(r, o->body, i);
        r->refers[o->results[i]] = fuse_refers(r, o, i);
    }
}

static void rewrite_op(rewrite *r, const uses *u, loom_lop_id id, const loom_lop_id *new_number) {
    loom_lop o = r->old.ops[id];
    loom_lvalue_id *results = LOOM_NEW_ARRAY(r->scratch, loom_lvalue_id, (size_t)o.n_results + 1);
    const bool *wanted = NULL;
    r->op = &r->old.ops[id];
    r->op_id = id;
    r->skipped_axis = LOOM_NONE;
    if (o.kind == LOOM_LO_COMPUTE) {
        wanted = wanted_results(r, &o, u, results, &o.n_results);
        o.results = results;
    }
    fuse_copy_body(r, r->op->body, wanted, &o.body);
    r->skipped_axis = r->op->reduce;
    fuse_copy_body(r, r->op->ne, NULL, &o.ne);
    fuse_copy_body(r, r->op->combine, NULL, &o.combine);
    if (check_holds(r, &o)) return;
    rename_values(r, &o);
    if (o.kind == LOOM_LO_LOOP || o.kind == LOOM_LO_IF) {
        o.inner_first = new_number[o.inner_first];
        o.inner_end = new_number[o.inner_end];
        o.else_first = o.kind == LOOM_LO_IF ? new_number[o.else_first] : 0;
        o.else_end = o.kind == LOOM_LO_IF ? new_number[o.else_end] : 0;
    }
    uint64_t hash = fuse_hash_op(r, &o);
    loom_lop_id equal = fuse_find_equal(r, &o, r->scope_of[id], hash);
    for (uint32_t i = 0; equal != LOOM_NONE && i < o.n_results; i++)
        r->alias[o.results[i]] = r->l->ops[equal].results[i];
    if (equal == LOOM_NONE) add_op(r, &o, id, hash);
}

/* Values that are told apart by who holds them. */
static bool *find_pinned(const loom_lifted *l, loom_arena *arena) {
    bool *pinned = LOOM_NEW_ARRAY(arena, bool, (size_t)l->n_values + 1);
    for (uint32_t j = 0; j < l->n_outputs; j++) {
        for (uint32_t i = 0; i < l->outputs[j].n_leaves; i++) {
            if (l->outputs[j].values[i] != LOOM_NONE) pinned[l->outputs[j].values[i]] = true;
        }
    }
    for (uint32_t id = 0; id < l->n_ops; id++) {
        for (uint32_t i = 0; i < l->ops[id].n_states; i++) pinned[l->ops[id].next[i]] = true;
    }
    return pinned;
}

/* True if something was taken into something. */
static bool run_round(loom_lifted *l) {
    rewrite r = {.old = *l, .l = l, .scratch = loom_arena_create(0), .condition_site = LOOM_NONE};
    uses u = fuse_find_uses(l, r.scratch);
    uint32_t n_ops = l->n_ops;
    loom_lop_id *new_number = LOOM_NEW_ARRAY(r.scratch, loom_lop_id, (size_t)n_ops + 1);
    r.points = u.points;
    r.held = u.held;
    r.maker = LOOM_NEW_ARRAY(r.scratch, loom_lop_id, (size_t)l->n_values + 1);
    r.work = LOOM_NEW_ARRAY(r.scratch, uint64_t, (size_t)l->n_values + 1);
    r.refers = LOOM_NEW_ARRAY(r.scratch, bool, (size_t)l->n_values + 1);
    memset(r.maker, 0xff, l->n_values * sizeof *r.maker);
    r.loop_of_old = fuse_find_loops(l, r.scratch);
    r.loop_of_new = LOOM_NEW_ARRAY(r.scratch, loom_lop_id, (size_t)n_ops + 1);
    r.old_number = LOOM_NEW_ARRAY(r.scratch, uint32_t, (size_t)n_ops + 1);
    r.scope_of = fuse_find_scopes(l, r.scratch);
    r.pinned = find_pinned(l, r.scratch);
    r.alias = LOOM_NEW_ARRAY(r.scratch, loom_lvalue_id, (size_t)l->n_values + 1);
    for (uint32_t i = 0; i < l->n_values; i++) r.alias[i] = i;
    r.op_hash = LOOM_NEW_ARRAY(r.scratch, uint64_t, (size_t)n_ops + 1);
    r.next_equal = LOOM_NEW_ARRAY(r.scratch, uint32_t, (size_t)n_ops + 1);
    r.heads_equal = LOOM_NEW_ARRAY(r.scratch, uint32_t, 1024);
    l->exprs = NULL;
    l->args = NULL;
    l->blocks = NULL;
    l->ops = NULL;
    l->n_exprs = l->cap_exprs = l->n_args = l->cap_args = l->n_blocks = l->cap_blocks = l->n_ops = l->cap_ops = 0;
    for (uint32_t i = 0; i < l->n_values; i++) l->values[i].op = LOOM_NONE;
    for (loom_lop_id id = 0; id < n_ops; id++) {
        new_number[id] = l->n_ops;
        if (u.op[id]) rewrite_op(&r, &u, id, new_number);
    }
    r.op = NULL;
    r.skipped_axis = LOOM_NONE;
    for (uint32_t j = 0; j < l->n_outputs; j++) fuse_copy_body(&r, l->outputs[j].combine, NULL, &l->outputs[j].combine);
    for (uint32_t i = 0; i < l->n_axes; i++) {
        if (l->axes[i].kind == LOOM_AXIS_SCALAR) l->axes[i].value = r.alias[l->axes[i].value];
        if (l->axes[i].kind == LOOM_AXIS_SEGMENTED) l->axes[i].lengths = r.alias[l->axes[i].lengths];
    }
    loom_arena_destroy(r.scratch);
    return r.changed;
}

loom_status *loom_fuse(loom_lifted *lifted) {
    fuse_unroll(lifted);
    for (uint32_t rounds = 0; run_round(lifted) && rounds < MAX_ROUNDS; rounds++) {}
    if (!(lifted->force & LOOM_FORCE_UNFUSED) && fuse_merge_operations(lifted)) {
        for (uint32_t rounds = 0; run_round(lifted) && rounds < MAX_ROUNDS; rounds++) {}
    }
#ifdef LOOM_DEBUG_CHECKS
    return loom_lifted_check(lifted);
#else
    return NULL;
#endif
}
