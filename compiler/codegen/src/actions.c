/* Operations to actions.
 *
 * A tree of nodes is built first: one node per action, with the buffers that it touches; loops and branches have
 * children. Then every temporary gets its ALLOC before the first and its FREE after the last node that touches it, in
 * the innermost block that holds all of them; what is made once a segment and used by chunks is kept. At last the tree
 * is flattened into the plan's list. */
#include "actions.h"
#include "compiler/schedule/reads.h"
#include <assert.h>
#include <string.h>

static node *new_node(planner *p, loom_action_kind kind) {
    loom_gen *g = p->g;
    node *n = LOOM_NEW(g->arena, node);
    n->action.kind = kind;
    n->action.extent = n->action.buffer = n->action.buffer2 = LOOM_NO_EXTENT;
    n->touched = LOOM_NEW_ARRAY(g->arena, bool, g->buffers.count + 1);
    n->per_chunk = p->per_chunk;
    n->op = LOOM_NONE;
    return n;
}

static node *append(planner *p, node_list *list, loom_action_kind kind, loom_lop_id op) {
    node *n = new_node(p, kind);
    if (op != LOOM_NONE) n->action.label = loom_gen_label(p->g, op);
    LOOM_PUSH(p->g->arena, *list, n);
    return n;
}

static void append_pair(planner *p, node_list *list, loom_action_kind kind, uint32_t from, uint32_t to) {
    if (from == to) return;
    node *n = append(p, list, kind, LOOM_NONE);
    n->action.buffer = from;
    n->action.buffer2 = to;
    n->touched[from] = n->touched[to] = true;
}

/* ---- outputs ---- */

static uint32_t accumulator(planner *p, uint32_t o, uint32_t leaf) {
    const loom_loutput *out = &p->g->l->outputs[o];
    loom_plan_buffer buffer = {.name = loom_arena_printf(p->g->arena, "out%u.%s", o, out->names[leaf]),
                               .dtype = out->dtypes[leaf],
                               .storage = LOOM_STORE_ACCUMULATOR,
                               .source = o,
                               .leaf = leaf};
    return loom_gen_buffer(p->g, buffer, out->n_axes, out->axes);
}

/* Lengths are looked at again when rows go out. */
static bool stands_in_axis(const loom_gen *g, loom_lvalue_id id) {
    for (loom_axis_id a = 0; a < g->l->n_axes; a++) {
        const loom_axis *axis = &g->l->axes[a];
        if (axis->kind == LOOM_AXIS_SEGMENTED && (axis->lengths == id || axis->total == id)) return true;
    }
    return false;
}

/* Lengths of a result's rows are there at the end. */
static void keep_lengths(planner *p, loom_lvalue_id id) {
    const loom_lifted *l = p->g->l;
    for (uint32_t i = 0; id != LOOM_NONE && i < l->values[id].n_axes; i++) {
        const loom_axis *axis = &l->axes[l->values[id].axes[i]];
        if (axis->kind == LOOM_AXIS_SEGMENTED) p->kept[p->g->value_buffer[axis->lengths]] = true;
    }
}

/* The buffer that output o hands over for a leaf; a copy is noted where the value's own cannot be given away. */
static uint32_t output_buffer(planner *p, uint32_t o, uint32_t leaf, bool *claimed) {
    loom_gen *g = p->g;
    const loom_loutput *out = &g->l->outputs[o];
    loom_lvalue_id id = out->values[leaf];
    const loom_lvalue *v = &g->l->values[id];
    uint32_t b = g->value_buffer[id];
    if (b == LOOM_NONE) {
        loom_gen_fail(g, "output %u leaf %u has no memory", o, leaf);
        return 0;
    }
    if (v->source == LOOM_LV_INPUT && out->kind == LOOM_OUT_VALUE) return b;
    bool own = v->source == LOOM_LV_OP && g->per_chunk[v->op] && !claimed[b] &&
               g->buffers.at[b].storage == LOOM_STORE_TEMP && !stands_in_axis(g, id);
    if (own) {
        claimed[b] = true;
        g->buffers.at[b].storage = LOOM_STORE_RESULT;
        return b;
    }
    loom_plan_buffer buffer = {.name = loom_arena_printf(g->arena, "out%u.%s", o, out->names[leaf]),
                               .dtype = v->dtype,
                               .storage = LOOM_STORE_RESULT};
    return loom_gen_buffer(g, buffer, v->n_axes, v->axes);
}

static void plan_outputs(planner *p) {
    loom_gen *g = p->g;
    const loom_lifted *l = g->l;
    size_t most = g->buffers.count + 1;
    for (uint32_t o = 0; o < l->n_outputs; o++) most += l->outputs[o].n_leaves;
    bool *claimed = LOOM_NEW_ARRAY(g->arena, bool, most);
    p->kept = LOOM_NEW_ARRAY(g->arena, bool, most);
    p->outputs = LOOM_NEW_ARRAY(g->arena, loom_plan_output, (size_t)l->n_outputs + 1);
    for (uint32_t o = 0; o < l->n_outputs; o++) {
        const loom_loutput *out = &l->outputs[o];
        uint32_t *buffers = LOOM_NEW_ARRAY(g->arena, uint32_t, (size_t)out->n_leaves + 1);
        for (uint32_t i = 0; i < out->n_leaves; i++) {
            buffers[i] = out->kind == LOOM_OUT_PERMUTE ? accumulator(p, o, i) : output_buffer(p, o, i, claimed);
            p->kept[buffers[i]] = true;
            keep_lengths(p, out->values[i]);
        }
        p->outputs[o] = (loom_plan_output){.kind = (loom_output_kind)out->kind,
                                           .order = (loom_merge_order)out->order,
                                           .n_leaves = out->n_leaves,
                                           .names = out->names,
                                           .buffers = buffers,
                                           .neutral = out->neutral,
                                           .combine = LOOM_NO_KERNEL};
    }
}

static void finish_outputs(planner *p, node_list *list) {
    const loom_lifted *l = p->g->l;
    p->per_chunk = true;
    for (uint32_t o = 0; o < l->n_outputs; o++) {
        const loom_loutput *out = &l->outputs[o];
        for (uint32_t i = 0; out->kind != LOOM_OUT_PERMUTE && i < out->n_leaves; i++) {
            append_pair(p, list, LOOM_ACT_COPY, p->g->value_buffer[out->values[i]], p->outputs[o].buffers[i]);
        }
        if (out->combine != LOOM_NONE && out->n_leaves) p->outputs[o].combine = loom_gen_combine(p->g, out->combine);
    }
}

/* ---- kernels ---- */

static uint32_t extent_number(const loom_gen *g, loom_lop_id id, uint32_t position) {
    return position == LOOM_NONE ? LOOM_NO_EXTENT : g->axis_extent[g->l->ops[id].axes[position]];
}

/* Divided as it may be; neutral: of a reduction, what it starts with. */
static node *divided_kernel(planner *p, node_list *list, loom_lop_id id, bool neutral) {
    loom_gen *g = p->g;
    uint32_t position = loom_nest_divided(g, id);
    node *n = append(p, list, LOOM_ACT_KERNEL, id);
    n->action.kernel = loom_gen_kernel(g, neutral ? "neutral" : "range");
    n->action.extent = extent_number(g, id, position);
    loom_fn fn;
    LLVMTypeRef parameters[] = {g->i64, g->i64};
    loom_fn_open(g, &fn, g->kernels.at[n->action.kernel].symbol, parameters, 2);
    loom_bounds bounds = {
        .position = position, .from = loom_fn_param(&fn, 1), .to = loom_fn_param(&fn, 2), .neutral = neutral};
    loom_nest(&fn, id, &bounds);
    loom_fn_close(&fn);
    loom_fn_add_touched(&fn, n->touched);
    return n;
}

static void lower_range(planner *p, node_list *list, loom_lop_id id) {
    loom_gen *g = p->g;
    const loom_lop *op = &g->l->ops[id];
    uint32_t position = loom_nest_divided(g, id);
    node *n = divided_kernel(p, list, id, false);
    n->action.cost = loom_gen_cost(g, id, position);
    if (position == 0 && !loom_lifted_any_segmented(g->l, op->n_axes, op->axes)) n->op = id;
}

/* A PERMUTE of one point onto what is there already. */
static bool is_write(const loom_gen *g, const loom_lop *op) {
    if (op->kind != LOOM_LO_PERMUTE || !op->distinct || op->output != LOOM_NONE || op->n_context) return false;
    for (uint32_t j = 0; j < op->n_results; j++) {
        if (g->value_buffer[op->dest[j]] != g->value_buffer[op->results[j]]) return false;
    }
    return true;
}

/* Operations without axes follow one another in one kernel. */
static bool is_scalar(const loom_gen *g, loom_lop_id id) {
    const loom_lop *op = &g->l->ops[id];
    return op->n_axes == 0 && (op->kind == LOOM_LO_COMPUTE || op->kind == LOOM_LO_CHECK || is_write(g, op));
}

typedef struct extent_use {
    const loom_gen *g;
    loom_lop_id first, end; /* operations of the kernel so far */
    bool found;
} extent_use;

static void uses_axis(extent_use *use, loom_axis_id id) {
    const loom_axis *axis = &use->g->l->axes[id];
    if (axis->kind != LOOM_AXIS_SCALAR) return;
    const loom_lvalue *v = &use->g->l->values[axis->value];
    if (v->source == LOOM_LV_OP && v->op >= use->first && v->op < use->end) use->found = true;
}

static void uses_value(void *context, loom_lvalue_id id) {
    extent_use *use = context;
    const loom_lvalue *v = &use->g->l->values[id];
    for (uint32_t i = 0; i < v->n_axes; i++) uses_axis(use, v->axes[i]);
}

/* Whether the operation reads an extent that one of the kernel's operations computes: the runtime sets it between two
 * actions. */
static bool needs_new_extent(const loom_gen *g, loom_lop_id first, loom_lop_id id) {
    extent_use use = {g, first, id, false};
    loom_lifted_reads(g->l, id, uses_value, &use);
    const loom_lblock *body = &g->l->blocks[g->l->ops[id].body];
    for (loom_lexpr_id e = body->first; e < body->end; e++) {
        if (g->l->exprs[e].kind == LOOM_LX_EXTENT) uses_axis(&use, g->l->exprs[e].aux);
    }
    return use.found;
}

static loom_lop_id lower_scalars(planner *p, node_list *list, loom_lop_id first, loom_lop_id end) {
    loom_gen *g = p->g;
    node *n = append(p, list, LOOM_ACT_KERNEL, first);
    n->action.kernel = loom_gen_kernel(g, "scalar");
    loom_fn fn;
    LLVMTypeRef parameters[] = {g->i64, g->i64};
    loom_fn_open(g, &fn, g->kernels.at[n->action.kernel].symbol, parameters, 2);
    fn.rare = true;
    loom_lop_id id = first;
    for (; id < end && is_scalar(g, id) && g->parent[id] == g->parent[first] && !needs_new_extent(g, first, id); id++) {
        loom_nest(&fn, id, &(loom_bounds){.position = LOOM_NONE});
        n->action.cost += loom_gen_cost(g, id, LOOM_NONE);
        if (g->l->ops[id].kind == LOOM_LO_CHECK) loom_fn_end_if_raised(&fn);
    }
    loom_fn_close(&fn);
    loom_fn_add_touched(&fn, n->touched);
    return id;
}

/* Partial results of pieces, combined by the runtime. Of rows that differ in length, which are reduced along the last
 * axis: pieces are of elements, and what is partial is the end of a row that has begun in a piece before. */
static void lower_partial_reduce(planner *p, node_list *list, loom_lop_id id) {
    loom_gen *g = p->g;
    const loom_lop *op = &g->l->ops[id];
    const loom_axis *axis = &g->l->axes[op->axes[op->reduce]];
    bool rows = axis->kind == LOOM_AXIS_SEGMENTED;
    if (rows) divided_kernel(p, list, id, true);
    node *n = append(p, list, LOOM_ACT_REDUCE, id);
    n->action.kernel = loom_gen_kernel(g, "reduce");
    n->action.extent = extent_number(g, id, op->reduce);
    n->action.cost = loom_gen_cost(g, id, op->reduce);
    uint32_t *buffers = LOOM_NEW_ARRAY(g->arena, uint32_t, (size_t)op->n_results + 1);
    loom_place *partial = LOOM_NEW_ARRAY(g->arena, loom_place, (size_t)op->n_results + 1);
    loom_fn fn;
    LLVMTypeRef parameters[] = {g->i64, g->i64, g->ptr};
    loom_fn_open(g, &fn, g->kernels.at[n->action.kernel].symbol, parameters, 3);
    for (uint32_t j = 0; j < op->n_results; j++) {
        LLVMValueRef index = loom_fn_i64(&fn, j);
        LLVMValueRef address = LLVMBuildInBoundsGEP2(fn.entry, g->ptr, loom_fn_param(&fn, 3), &index, 1, "");
        partial[j] =
            (loom_place){.base = LLVMBuildLoad2(fn.entry, g->ptr, address, ""), .scope = loom_fn_new_scope(&fn)};
        buffers[j] = g->value_buffer[op->results[j]];
        n->touched[buffers[j]] = true;
    }
    loom_bounds bounds = {.position = op->reduce, .from = loom_fn_param(&fn, 1), .to = loom_fn_param(&fn, 2)};
    if (rows) bounds.head = partial;
    if (!rows) bounds.partial = partial;
    loom_nest(&fn, id, &bounds);
    loom_fn_close(&fn);
    loom_fn_add_touched(&fn, n->touched);
    n->action.kernel2 = loom_gen_combine(g, op->combine);
    n->action.n_buffers = op->n_results;
    n->action.buffers = buffers;
    if (!rows) return;
    n->action.buffer = g->value_buffer[axis->offsets];
    n->touched[n->action.buffer] = true;
}

/* Partial results are worth their memory where no other axis can be divided: elements of one array at most this large.
 */
#define LOOM_MAX_PARTIAL 65536

static bool wants_partials(const loom_gen *g, loom_lop_id id) {
    const loom_lop *op = &g->l->ops[id];
    if (op->reduce + 1 == op->n_axes && loom_gen_is_segmented(g, op->axes[op->reduce])) return true;
    if (op->reduce != 0) return false;
    double others = 1;
    bool chunk = g->l->axes[op->axes[0]].kind == LOOM_AXIS_CHUNK;
    for (uint32_t i = 1; i < op->n_axes; i++) {
        const loom_axis *axis = &g->l->axes[op->axes[i]];
        if (axis->kind != LOOM_AXIS_CONST && !chunk) return false;
        others *= axis->kind == LOOM_AXIS_CONST ? (double)axis->extent : 64;
    }
    return others <= (chunk ? LOOM_MAX_PARTIAL : 16);
}

/* ---- permute, fft, offsets and sort ---- */

static void lower_permute(planner *p, node_list *list, loom_lop_id id) {
    loom_gen *g = p->g;
    const loom_lop *op = &g->l->ops[id];
    bool own = op->output == LOOM_NONE;
    if (op->n_context) {
        lower_range(p, list, id);
        return;
    }
    uint32_t k = g->l->blocks[op->body].n_results - op->rank;
    uint32_t *targets = LOOM_NEW_ARRAY(g->arena, uint32_t, (size_t)k + 1);
    for (uint32_t j = 0; j < k; j++) {
        targets[j] = own ? g->value_buffer[op->results[j]] : p->outputs[op->output].buffers[j];
        if (own) append_pair(p, list, LOOM_ACT_COPY, g->value_buffer[op->dest[j]], targets[j]);
    }
    if (own && (op->distinct || op->n_apart)) {
        lower_range(p, list, id);
        return;
    }
    loom_patch patch;
    loom_permute_analyse(g, id, &patch);
    node *n = append(p, list, LOOM_ACT_PERMUTE, id);
    loom_plan_action *a = &n->action;
    a->kernel = loom_gen_inspect(g, id, &patch, n->touched);
    a->kernel2 = loom_gen_execute(g, id, &patch, targets, n->touched);
    a->n_buffers = k;
    a->buffers = targets;
    a->n_units = patch.n_units;
    uint32_t *units = LOOM_NEW_ARRAY(g->arena, uint32_t, (size_t)patch.n_units + 1);
    double n_units = 1;
    for (uint32_t i = 0; i < patch.n_units; i++) {
        units[i] = g->axis_extent[op->axes[i]];
        if (i) n_units *= g->l->axes[op->axes[i]].kind == LOOM_AXIS_CONST ? (double)g->l->axes[op->axes[i]].extent : 64;
    }
    a->unit_extents = units;
    a->rank = patch.rank;
    a->lower = patch.lower;
    a->upper = patch.upper;
    a->cost = loom_gen_cost(g, id, patch.n_units ? 0 : LOOM_NONE) / (n_units > 0 ? n_units : 1);
}

static void lower_fft(planner *p, node_list *list, loom_lop_id id) {
    loom_gen *g = p->g;
    const loom_lop *op = &g->l->ops[id];
    node *n = append(p, list, LOOM_ACT_FFT, id);
    n->action.fft = loom_gen_fft(g, id);
    n->action.buffer = g->value_buffer[op->args[0]];
    n->action.buffer2 = g->value_buffer[op->results[0]];
    n->action.cost = loom_gen_cost(g, id, 0);
    if (!loom_lifted_any_segmented(g->l, op->n_axes, op->axes)) n->op = id;
    n->touched[n->action.buffer] = n->touched[n->action.buffer2] = true;
    const loom_axis *last = &g->l->axes[op->axes[op->n_axes - 1]];
    if (last->kind != LOOM_AXIS_SEGMENTED) return;
    uint32_t *offsets = LOOM_NEW_ARRAY(g->arena, uint32_t, 1);
    *offsets = g->value_buffer[last->offsets];
    n->action.n_buffers = 1;
    n->action.buffers = offsets;
    n->touched[*offsets] = true;
}

static void lower_offsets(planner *p, node_list *list, loom_lop_id id) {
    loom_gen *g = p->g;
    const loom_lop *op = &g->l->ops[id];
    node *n = append(p, list, LOOM_ACT_OFFSETS, id);
    uint32_t *total = LOOM_NEW_ARRAY(g->arena, uint32_t, 1);
    *total = g->value_buffer[op->results[1]];
    n->action.buffer = g->value_buffer[op->args[0]];
    n->action.buffer2 = g->value_buffer[op->results[0]];
    n->action.n_buffers = 1;
    n->action.buffers = total;
    n->touched[n->action.buffer] = n->touched[n->action.buffer2] = n->touched[*total] = true;
}

static void lower_sort(planner *p, node_list *list, loom_lop_id id) {
    loom_gen *g = p->g;
    const loom_lop *op = &g->l->ops[id];
    const loom_axis *last = &g->l->axes[op->axes[op->n_axes - 1]];
    node *n = append(p, list, LOOM_ACT_SORT, id);
    uint32_t *keys = LOOM_NEW_ARRAY(g->arena, uint32_t, op->n_args);
    for (uint32_t i = 0; i < op->n_args; i++) {
        keys[i] = g->value_buffer[op->args[i]];
        n->touched[keys[i]] = true;
    }
    n->action.n_buffers = op->n_args;
    n->action.buffers = keys;
    n->action.buffer = g->value_buffer[op->results[0]];
    n->touched[n->action.buffer] = true;
    if (last->kind == LOOM_AXIS_SEGMENTED) {
        n->action.buffer2 = g->value_buffer[last->offsets];
        n->touched[n->action.buffer2] = true;
    }
    n->action.cost = loom_gen_cost(g, id, LOOM_NONE);
}

/* ---- loops and branches ---- */

static void lower_ops(planner *p, node_list *list, loom_lop_id first, loom_lop_id end, loom_lop_id parent);

static void add_child_touches(node *n, size_t n_buffers) {
    for (int side = 0; side < 2; side++) {
        node_list *list = side ? &n->otherwise : &n->inner;
        for (size_t i = 0; i < list->count; i++) {
            for (size_t b = 0; b < n_buffers; b++) n->touched[b] |= list->at[i]->touched[b];
        }
    }
}

/* Whether state s of the loop can take over the storage of its next value: it is there already, or a fresh result of
 * the turn that no other state takes or has. */
static bool takes_over(const loom_gen *g, loom_lop_id id, uint32_t s) {
    const loom_lop *op = &g->l->ops[id];
    const loom_lvalue *v = &g->l->values[op->next[s]];
    uint32_t memory = g->value_buffer[op->next[s]];
    for (uint32_t t = 0; t < op->n_states; t++) {
        if (t != s && (g->value_buffer[op->next[t]] == memory || g->value_buffer[op->state[t]] == memory)) return false;
    }
    if (memory == g->value_buffer[op->state[s]]) return true;
    if (v->source != LOOM_LV_OP || g->parent[v->op] != id || g->l->ops[v->op].kind == LOOM_LO_LOOP) return false;
    return true;
}

/* All next states are computed from the old ones: what is not taken over (another state, a value from outside) is
 * copied before any state changes; then each state takes its new storage. */
static void next_states(planner *p, node_list *list, loom_lop_id id) {
    loom_gen *g = p->g;
    const loom_lop *op = &g->l->ops[id];
    for (uint32_t s = 0; s < op->n_states; s++) {
        uint32_t copy = p->state_copy[op->state[s]];
        if (copy != LOOM_NONE) append_pair(p, list, LOOM_ACT_COPY, g->value_buffer[op->next[s]], copy);
    }
    for (uint32_t s = 0; s < op->n_states; s++) {
        uint32_t copy = p->state_copy[op->state[s]];
        append_pair(p, list, LOOM_ACT_SWAP, g->value_buffer[op->state[s]],
                    copy != LOOM_NONE ? copy : g->value_buffer[op->next[s]]);
    }
}

static void lower_break(planner *p, node_list *list, loom_lvalue_id test) {
    node *n = append(p, list, LOOM_ACT_BREAK, LOOM_NONE);
    n->action.buffer = p->g->value_buffer[test];
    n->touched[n->action.buffer] = true;
}

static void lower_loop(planner *p, node_list *list, loom_lop_id id) {
    loom_gen *g = p->g;
    const loom_lop *op = &g->l->ops[id];
    for (uint32_t s = 0; s < op->n_states; s++) {
        append_pair(p, list, LOOM_ACT_COPY, g->value_buffer[op->initial[s]], g->value_buffer[op->state[s]]);
    }
    node *n = append(p, list, LOOM_ACT_LOOP, id);
    if (op->n_args) {
        uint32_t count = g->value_buffer[op->args[0]];
        n->action.extent = loom_gen_extent(g, (loom_plan_extent){.kind = LOOM_EXTENT_SCALAR, .buffer = count});
        n->touched[count] = true;
    }
    if (op->counter != LOOM_NONE) {
        n->action.buffer = g->value_buffer[op->counter];
        n->touched[n->action.buffer] = true;
    }
    loom_lop_id test_end = op->inner_first;
    if (op->test != LOOM_NONE) {
        const loom_lvalue *v = &g->l->values[op->test];
        loom_lop_id maker = v->source == LOOM_LV_OP ? loom_gen_ancestor(g, v->op, id) : LOOM_NONE;
        if (maker != LOOM_NONE) test_end = maker + 1;
        lower_ops(p, &n->inner, op->inner_first, test_end, id);
        lower_break(p, &n->inner, op->test);
    }
    lower_ops(p, &n->inner, test_end, op->inner_end, id);
    for (uint32_t i = 0; i < op->n_collected; i++) {
        append_pair(p, &n->inner, LOOM_ACT_APPEND, g->value_buffer[op->collected[i]],
                    g->value_buffer[op->results[op->n_states + i]]);
    }
    next_states(p, &n->inner, id);
    add_child_touches(n, g->buffers.count);
}

static void lower_if(planner *p, node_list *list, loom_lop_id id) {
    loom_gen *g = p->g;
    const loom_lop *op = &g->l->ops[id];
    node *n = append(p, list, LOOM_ACT_IF, id);
    n->action.buffer = g->value_buffer[op->args[0]];
    n->touched[n->action.buffer] = true;
    lower_ops(p, &n->inner, op->inner_first, op->inner_end, id);
    lower_ops(p, &n->otherwise, op->else_first, op->else_end, id);
    for (uint32_t j = 0; j < op->n_results; j++) {
        uint32_t result = g->value_buffer[op->results[j]];
        append_pair(p, &n->inner, LOOM_ACT_COPY, g->value_buffer[op->then_results[j]], result);
        append_pair(p, &n->otherwise, LOOM_ACT_COPY, g->value_buffer[op->else_results[j]], result);
        n->touched[result] = true; /* allocated outside of both branches */
    }
    add_child_touches(n, g->buffers.count);
}

static void lower_ops(planner *p, node_list *list, loom_lop_id first, loom_lop_id end, loom_lop_id parent) {
    loom_gen *g = p->g;
    for (loom_lop_id id = first; id < end;) {
        loom_lop_id next = id + 1;
        if (g->parent[id] != parent) {
            id = next;
            continue;
        }
        p->per_chunk = g->per_chunk[id];
        switch (g->l->ops[id].kind) {
        case LOOM_LO_COMPUTE:
        case LOOM_LO_CHECK:
            if (g->l->ops[id].blank) break;
            if (is_scalar(g, id)) {
                next = lower_scalars(p, list, id, end);
                break;
            }
            lower_range(p, list, id);
            break;
        case LOOM_LO_SCAN: lower_range(p, list, id); break;
        case LOOM_LO_REDUCE: (wants_partials(g, id) ? lower_partial_reduce : lower_range)(p, list, id); break;
        case LOOM_LO_PERMUTE:
            if (is_scalar(g, id)) {
                next = lower_scalars(p, list, id, end);
                break;
            }
            lower_permute(p, list, id);
            break;
        case LOOM_LO_FFT: lower_fft(p, list, id); break;
        case LOOM_LO_LOOP: lower_loop(p, list, id); break;
        case LOOM_LO_IF: lower_if(p, list, id); break;
        case LOOM_LO_OFFSETS: lower_offsets(p, list, id); break;
        case LOOM_LO_SORT: lower_sort(p, list, id); break;
        }
        id = next;
    }
}

static void lower_strip(planner *p, node_list *list, const loom_region *region) {
    loom_gen *g = p->g;
    p->per_chunk = region->per_chunk;
    node *n = append(p, list, LOOM_ACT_KERNEL, region->first);
    n->action.label = loom_arena_printf(g->arena, "strip of %u operations, %s", region->end - region->first,
                                        loom_gen_label(g, region->first));
    n->action.kernel = loom_gen_strip(g, region, n->touched);
    n->action.extent = g->axis_extent[g->l->ops[region->first].axes[0]];
    for (loom_lop_id id = region->first; id < region->end; id++) n->action.cost += loom_gen_cost(g, id, 0);
}

/* ---- life of buffers ---- */

static bool is_temporary(const loom_gen *g, size_t b) {
    return g->buffers.at[b].storage == LOOM_STORE_TEMP || g->buffers.at[b].storage == LOOM_STORE_RESULT;
}

/* The one child block of `n` that holds all uses of b, if the node itself does not use it. */
static node_list *only_child(const node *n, size_t b) {
    const loom_plan_action *a = &n->action;
    if (a->kind != LOOM_ACT_LOOP && a->kind != LOOM_ACT_IF) return NULL;
    if (a->buffer == b) return NULL;
    bool inner = false, otherwise = false;
    for (size_t i = 0; i < n->inner.count; i++) inner |= n->inner.at[i]->touched[b];
    for (size_t i = 0; i < n->otherwise.count; i++) otherwise |= n->otherwise.at[i]->touched[b];
    if (inner == otherwise) return NULL;
    return (node_list *)(inner ? &n->inner : &n->otherwise);
}

/* Whether b is in use where the loop may be left: then it is allocated outside, if its size is known there. */
static bool lives_at_break(const node_list *list, size_t b) {
    bool before = false;
    for (size_t i = 0, at = list->count; i < list->count; i++) {
        if (list->at[i]->action.kind == LOOM_ACT_BREAK) at = i;
        before |= i <= at && list->at[i]->touched[b];
        if (at < list->count && before && i >= at && list->at[i]->touched[b]) return true;
    }
    return false;
}

/* Whether an extent of b is something that the block makes or changes. */
static bool sized_inside(const loom_gen *g, const node_list *list, uint32_t b) {
    const loom_plan_buffer *buffer = &g->buffers.at[b];
    for (uint32_t k = 0; k < buffer->n_extents; k++) {
        const loom_plan_extent *e = &g->extents.at[buffer->extents[k]];
        if (e->kind != LOOM_EXTENT_SCALAR && e->kind != LOOM_EXTENT_SEGMENTED) continue;
        for (size_t i = 0; i < list->count; i++) {
            if (list->at[i]->touched[e->buffer]) return true;
            if (e->kind == LOOM_EXTENT_SEGMENTED && list->at[i]->touched[e->lengths]) return true;
        }
    }
    return false;
}

/* Allocated turn by turn, though it lives where the loop may be left: it is freed there too. */
static void free_at_break(planner *p, const node_list *list, uint32_t b) {
    for (size_t i = 0; i < list->count; i++) {
        if (list->at[i]->action.kind == LOOM_ACT_BREAK) LOOM_PUSH(p->g->arena, list->at[i]->left, b);
    }
}

static void place_buffer(planner *p, node_list *list, uint32_t b) {
    size_t begin = list->count, end = 0, uses = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (!list->at[i]->touched[b]) continue;
        if (begin == list->count) begin = i;
        end = i;
        uses++;
    }
    if (!uses) return;
    node_list *child = uses == 1 && !p->kept[b] ? only_child(list->at[begin], b) : NULL;
    bool at_break = child && lives_at_break(child, b);
    if (child && (!at_break || sized_inside(p->g, child, b))) {
        if (at_break) free_at_break(p, child, b);
        place_buffer(p, child, b);
        return;
    }
    bool outlives = p->kept[b] || (!list->at[begin]->per_chunk && list->at[end]->per_chunk);
    LOOM_PUSH(p->g->arena, list->at[begin]->made, b);
    if (!outlives) LOOM_PUSH(p->g->arena, list->at[end]->freed, b);
}

typedef struct flat {
    planner *p;
    LOOM_VEC(loom_plan_action) actions;
    bool chunk_begun;
} flat;

static void emit_life(flat *f, const uint32_t *buffers, size_t n, loom_action_kind kind) {
    for (size_t i = 0; i < n; i++) {
        loom_plan_action a = {.kind = kind, .buffer = buffers[i]};
        LOOM_PUSH(f->p->g->arena, f->actions, a);
    }
}

static void list_touched(const flat *f, const node *n, loom_plan_action *a) {
    loom_gen *g = f->p->g;
    if (a->kind == LOOM_ACT_LOOP || a->kind == LOOM_ACT_IF) return;
    LOOM_VEC(uint32_t) touched = {0};
    for (uint32_t b = 0; b < g->buffers.count; b++) {
        if (n->touched[b] && !(a->kind == LOOM_ACT_ROWS && f->p->in_rows[b])) LOOM_PUSH(g->arena, touched, b);
    }
    a->n_touched = (uint32_t)touched.count;
    a->touched = touched.at;
}

static void flatten(flat *f, const node_list *list, bool top) {
    loom_gen *g = f->p->g;
    for (size_t i = 0; i < list->count; i++) {
        const node *n = list->at[i];
        if (top && n->per_chunk && !f->chunk_begun) {
            f->chunk_begun = true;
            f->p->plan->chunk_begin = (uint32_t)f->actions.count;
        }
        emit_life(f, n->made.at, n->made.count, LOOM_ACT_ALLOC);
        size_t at = f->actions.count;
        LOOM_PUSH(g->arena, f->actions, n->action);
        if (n->left.count) {
            f->actions.at[at].n_buffers = (uint32_t)n->left.count;
            f->actions.at[at].buffers = n->left.at;
        }
        list_touched(f, n, &f->actions.at[at]);
        flatten(f, &n->inner, false);
        f->actions.at[at].n_inner = (uint32_t)(f->actions.count - at - 1);
        size_t middle = f->actions.count;
        flatten(f, &n->otherwise, false);
        f->actions.at[at].n_else = (uint32_t)(f->actions.count - middle);
        emit_life(f, n->freed.at, n->freed.count, LOOM_ACT_FREE);
    }
}

static double bytes_of(const loom_gen *g, const loom_plan_buffer *b) {
    double bytes = (double)loom_dtype_size(b->dtype);
    for (uint32_t i = 0; i < b->n_extents; i++) {
        const loom_plan_extent *e = &g->extents.at[b->extents[i]];
        bytes *= e->kind == LOOM_EXTENT_CONST ? (double)e->value : e->kind == LOOM_EXTENT_CHUNK ? 1 : 64;
    }
    return bytes;
}

/* Most bytes alive at once per element of the chunk, and the time that its actions take. */
static void estimate(planner *p, const flat *f) {
    loom_gen *g = p->g;
    double alive = 0, most = 0;
    for (size_t b = 0; b < g->buffers.count; b++) {
        if (g->buffers.at[b].storage == LOOM_STORE_COLUMN) alive += bytes_of(g, &g->buffers.at[b]);
    }
    most = alive;
    for (size_t i = 0; i < f->actions.count; i++) {
        const loom_plan_action *a = &f->actions.at[i];
        if (a->kind == LOOM_ACT_ALLOC || a->kind == LOOM_ACT_FREE) {
            const loom_plan_buffer *b = &g->buffers.at[a->buffer];
            bool over_chunk = b->n_extents && g->extents.at[b->extents[0]].kind == LOOM_EXTENT_CHUNK;
            if (over_chunk) alive += a->kind == LOOM_ACT_ALLOC ? bytes_of(g, b) : -bytes_of(g, b);
            most = alive > most ? alive : most;
        } else if (i >= p->plan->chunk_begin) {
            p->plan->cost_per_element += a->cost;
        }
    }
    p->plan->bytes_per_element = most;
}

/* Buffers for states that are copied, made before any node so that nodes know how many buffers there are. */
static void plan_state_copies(planner *p) {
    loom_gen *g = p->g;
    p->state_copy = LOOM_NEW_ARRAY(g->arena, uint32_t, (size_t)g->l->n_values + 1);
    memset(p->state_copy, 0xff, g->l->n_values * sizeof *p->state_copy);
    for (loom_lop_id i = 0; i < g->l->n_ops; i++) {
        const loom_lop *op = &g->l->ops[i];
        for (uint32_t s = 0; op->kind == LOOM_LO_LOOP && s < op->n_states; s++) {
            if (op->next[s] == op->state[s] || takes_over(g, i, s)) continue;
            const loom_lvalue *v = &g->l->values[op->next[s]];
            loom_plan_buffer buffer = {
                .name = v->name ? v->name : "state", .dtype = v->dtype, .storage = LOOM_STORE_TEMP};
            p->state_copy[op->state[s]] = loom_gen_buffer(g, buffer, v->n_axes, v->axes);
        }
    }
}

void loom_gen_plan(loom_gen *g, loom_plan *plan) {
    planner p = {.g = g, .plan = plan};
    plan_outputs(&p);
    plan_state_copies(&p);
    node_list top = {0};
    if (!g->l->n_regions) lower_ops(&p, &top, 0, g->l->n_ops, LOOM_NONE);
    for (uint32_t r = 0; r < g->l->n_regions; r++) {
        const loom_region *region = &g->l->regions[r];
        if (region->schedule == LOOM_SCHEDULE_STRIP) {
            lower_strip(&p, &top, region);
        } else {
            lower_ops(&p, &top, region->first, region->end, LOOM_NONE);
        }
    }
    finish_outputs(&p, &top);
    p.in_rows = LOOM_NEW_ARRAY(g->arena, bool, g->buffers.count + 1);
    loom_gen_rows(&p, &top);
    flat f = {.p = &p};
    for (uint32_t b = 0; b < g->buffers.count; b++) {
        if (is_temporary(g, b) && !p.in_rows[b]) place_buffer(&p, &top, b);
    }
    flatten(&f, &top, true);
    if (!f.chunk_begun) plan->chunk_begin = (uint32_t)f.actions.count;
    if (plan->kind != LOOM_STAGE_TRAVERSAL) plan->chunk_begin = 0;
    estimate(&p, &f);
    plan->n_extents = (uint32_t)g->extents.count;
    plan->extents = g->extents.at;
    plan->n_buffers = (uint32_t)g->buffers.count;
    plan->buffers = g->buffers.at;
    plan->n_kernels = (uint32_t)g->kernels.count;
    plan->kernels = g->kernels.at;
    plan->n_ffts = (uint32_t)g->ffts.count;
    plan->ffts = g->ffts.at;
    plan->n_actions = (uint32_t)f.actions.count;
    plan->actions = f.actions.at;
    plan->n_outputs = g->l->n_outputs;
    plan->outputs = p.outputs;
}
