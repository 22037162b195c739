/* Values to buffers, axes to extents.
 *
 * Rules. Each value that is not local to a strip has one buffer. Values share one where the later makes the earlier
 * useless: the result of an FFT with its argument (the transform is then in place), that of a permute with the
 * destination it starts from, if the older is a temporary, dies there, and both belong to the same block and phase; the
 * results of a LOOP with its states, and these with the values of a turn (share.c). An output takes over the buffer of
 * its value, unless that is an input, belongs to another output already, or outlives the chunk: then actions.c copies.
 */
#include "compiler/schedule/reads.h"
#include "gen.h"
#include <string.h>

uint32_t loom_gen_extent(loom_gen *g, loom_plan_extent extent) {
    for (uint32_t e = 0; e < g->extents.count; e++) {
        const loom_plan_extent *x = &g->extents.at[e];
        if (x->kind == extent.kind && x->value == extent.value && x->buffer == extent.buffer &&
            x->level == extent.level && x->lengths == extent.lengths)
            return e;
    }
    LOOM_PUSH(g->arena, g->extents, extent);
    return (uint32_t)g->extents.count - 1;
}

uint32_t loom_gen_kernel(loom_gen *g, const char *prefix) {
    loom_plan_kernel kernel = {.symbol = loom_arena_printf(g->arena, "loom_%s_%zu", prefix, g->kernels.count)};
    LOOM_PUSH(g->arena, g->kernels, kernel);
    return (uint32_t)g->kernels.count - 1;
}

const char *loom_gen_label(const loom_gen *g, loom_lop_id id) {
    static const char *const kinds[] = {"compute", "reduce", "scan",  "permute", "fft",
                                        "loop",    "if",     "check", "offsets", "sort"};
    const loom_lop *op = &g->l->ops[id];
    const loom_program *p = g->l->program;
    const char *what = g->tested ? ", rows of one length" : "";
    if (!op->span.line || !p || op->span.file >= p->n_files)
        return loom_arena_printf(g->arena, "%s%s", kinds[op->kind], what);
    return loom_arena_printf(g->arena, "%s%s (%s:%u)", kinds[op->kind], what, p->files[op->span.file].name,
                             op->span.line);
}

/* ---- who reads what ---- */

loom_lop_id loom_gen_ancestor(const loom_gen *g, loom_lop_id op, loom_lop_id parent) {
    while (op != LOOM_NONE && g->parent[op] != parent) op = g->parent[op];
    return op;
}

static void find_phases(loom_gen *g) {
    const loom_lifted *l = g->l;
    g->per_chunk = LOOM_NEW_ARRAY(g->arena, bool, (size_t)l->n_ops + 1);
    for (loom_lop_id i = 0; i < l->n_ops; i++) g->per_chunk[i] = l->n_regions == 0;
    for (uint32_t r = 0; r < l->n_regions; r++) {
        for (loom_lop_id i = l->regions[r].first; i < l->regions[r].end; i++) g->per_chunk[i] = l->regions[r].per_chunk;
    }
}

typedef struct reader {
    loom_gen *g;
    loom_lop_id op;
} reader;

static void note_read(void *context, loom_lvalue_id value) {
    reader *r = context;
    const loom_lvalue *v = &r->g->l->values[value];
    if (v->source != LOOM_LV_OP) return;
    loom_lop_id at = loom_gen_ancestor(r->g, r->op, r->g->parent[v->op]);
    if (at == LOOM_NONE)
        at = r->g->parent[r->op] == v->op ? v->op : r->g->l->n_ops; /* read outside of its block: never reused */
    loom_lop_id *last = &r->g->last_use[value];
    if (*last == LOOM_NONE || *last < at) *last = at;
}

static void find_last_uses(loom_gen *g) {
    const loom_lifted *l = g->l;
    g->last_use = LOOM_NEW_ARRAY(g->arena, loom_lop_id, (size_t)l->n_values + 1);
    g->in_axis = LOOM_NEW_ARRAY(g->arena, bool, (size_t)l->n_values + 1);
    memset(g->last_use, 0xff, l->n_values * sizeof *g->last_use);
    for (loom_lop_id i = 0; i < l->n_ops; i++) loom_lifted_reads(l, i, note_read, &(reader){g, i});
    /* An axis whose extent is a value is read by whoever loops over it; such scalars are never worth reusing. */
    for (loom_axis_id a = 0; a < l->n_axes; a++) {
        loom_lvalue_id needs[3];
        uint32_t n = loom_axis_needs(l, a, needs);
        for (uint32_t i = 0; i < n; i++) {
            g->last_use[needs[i]] = l->n_ops;
            g->in_axis[needs[i]] = true;
        }
    }
}

/* ---- buffers ---- */

static uint32_t axis_extent(loom_gen *g, loom_axis_id id) {
    const loom_axis *axis = &g->l->axes[id];
    if (g->axis_extent[id] != LOOM_NONE) return g->axis_extent[id];
    loom_plan_extent extent = {.kind = LOOM_EXTENT_CONST};
    switch (axis->kind) {
    case LOOM_AXIS_CHUNK: extent.kind = LOOM_EXTENT_CHUNK; break;
    case LOOM_AXIS_CONST: extent.value = axis->extent; break;
    case LOOM_AXIS_INPUT: {
        /* Levels of a plan are those of the bound leaf, which for a column has the chunk outermost. */
        bool column = g->l->values[axis->value].source == LOOM_LV_COLUMN;
        extent = (loom_plan_extent){
            .kind = LOOM_EXTENT_INPUT, .buffer = g->value_buffer[axis->value], .level = axis->level + column};
        break;
    }
    case LOOM_AXIS_SCALAR:
        extent = (loom_plan_extent){.kind = LOOM_EXTENT_SCALAR, .buffer = g->value_buffer[axis->value]};
        break;
    case LOOM_AXIS_SEGMENTED:
        extent = (loom_plan_extent){.kind = LOOM_EXTENT_SEGMENTED,
                                    .buffer = g->value_buffer[axis->total],
                                    .lengths = g->value_buffer[axis->lengths]};
        if (extent.lengths == LOOM_NONE) loom_gen_fail(g, "axis %u has lengths without memory", id);
        break;
    }
    if (extent.buffer == LOOM_NONE) loom_gen_fail(g, "axis %u has the extent of a value without memory", id);
    return g->axis_extent[id] = loom_gen_extent(g, extent);
}

uint32_t loom_gen_buffer(loom_gen *g, loom_plan_buffer buffer, uint32_t n_axes, const loom_axis_id *axes) {
    uint32_t *extents = LOOM_NEW_ARRAY(g->arena, uint32_t, (size_t)n_axes + 1);
    buffer.n_extents = n_axes;
    buffer.extents = extents;
    LOOM_PUSH(g->arena, g->buffers, buffer);
    uint32_t b = (uint32_t)g->buffers.count - 1;
    for (uint32_t i = 0; i < n_axes; i++) extents[i] = axis_extent(g, axes[i]);
    return b;
}

static void value_buffer(loom_gen *g, loom_lvalue_id id, loom_storage storage) {
    const loom_lvalue *v = &g->l->values[id];
    loom_plan_buffer buffer = {.name = v->name ? v->name : loom_arena_printf(g->arena, "v%u", id),
                               .dtype = v->dtype,
                               .storage = storage,
                               .source = v->index,
                               .leaf = v->leaf,
                               .lengths_of = v->lengths_of};
    if (v->lengths_of) buffer.name = loom_arena_printf(g->arena, "lengths of %s", buffer.name);
    if (storage == LOOM_STORE_TEMP) buffer.source = buffer.leaf = 0;
    if (v->source == LOOM_LV_OP && g->l->ops[v->op].kind == LOOM_LO_OFFSETS) buffer.offsets = v->n_axes > 0;
    /* Known before the extents, which may be those of this very buffer. */
    g->value_buffer[id] = (uint32_t)g->buffers.count;
    loom_gen_buffer(g, buffer, v->n_axes, v->axes);
}

static bool same_axes(const loom_lvalue *a, const loom_lvalue *b) {
    return a->n_axes == b->n_axes && (!a->n_axes || memcmp(a->axes, b->axes, a->n_axes * sizeof *a->axes) == 0);
}

/* Whether `later`, made by the operation, may overwrite the memory of `earlier`. */
static bool may_reuse(const loom_gen *g, loom_lvalue_id earlier, loom_lvalue_id later, loom_lop_id op) {
    const loom_lvalue *a = &g->l->values[earlier], *b = &g->l->values[later];
    if (a->source != LOOM_LV_OP || a->strip || b->strip || g->is_output[earlier] || g->last_use[earlier] != op)
        return false;
    if (g->l->ops[a->op].kind == LOOM_LO_LOOP || g->parent[a->op] != g->parent[op] ||
        g->per_chunk[a->op] != g->per_chunk[op])
        return false;
    return a->dtype == b->dtype && same_axes(a, b);
}

typedef struct use_count {
    loom_lvalue_id value;
    uint32_t n;
} use_count;

static void count_read(void *context, loom_lvalue_id value) {
    use_count *use = context;
    use->n += value == use->value;
}

uint32_t loom_gen_reads_of(const loom_gen *g, loom_lop_id op, loom_lvalue_id value) {
    use_count use = {value, 0};
    loom_lifted_reads(g->l, op, count_read, &use);
    return use.n;
}

static void op_buffers(loom_gen *g, loom_lop_id id) {
    const loom_lifted *l = g->l;
    const loom_lop *op = &l->ops[id];
    for (uint32_t j = 0; j < op->n_results; j++) {
        loom_lvalue_id r = op->results[j], old = LOOM_NONE;
        if (l->values[r].strip) continue;
        if (op->kind == LOOM_LO_LOOP && j < op->n_states) {
            g->value_buffer[r] = g->value_buffer[op->state[j]];
            continue;
        }
        if (op->kind == LOOM_LO_FFT) old = op->args[0];
        if (op->kind == LOOM_LO_PERMUTE && op->dest) old = op->dest[j];
        if (old != LOOM_NONE && may_reuse(g, old, r, id) && loom_gen_reads_of(g, id, old) == 1) {
            g->value_buffer[r] = g->value_buffer[old];
        } else {
            value_buffer(g, r, LOOM_STORE_TEMP);
        }
    }
}

/* Whether all axes of the value have what their extents stand on. */
static bool has_extents(const loom_gen *g, const loom_lvalue *v) {
    for (uint32_t i = 0; i < v->n_axes; i++) {
        loom_lvalue_id needs[3];
        uint32_t n = loom_axis_needs(g->l, v->axes[i], needs);
        while (n) {
            if (g->value_buffer[needs[--n]] == LOOM_NONE) return false;
        }
    }
    return true;
}

/* What comes in has memory before there are operations, but for segmented values, whose totals these make. */
static void segmented_inputs(loom_gen *g) {
    for (loom_lvalue_id v = 0; v < g->l->n_values; v++) {
        const loom_lvalue *x = &g->l->values[v];
        if (x->source >= LOOM_LV_FIRST || g->value_buffer[v] != LOOM_NONE || !has_extents(g, x)) continue;
        value_buffer(g, v, x->source == LOOM_LV_INPUT ? LOOM_STORE_INPUT : LOOM_STORE_COLUMN);
    }
}

/* ---- all of them ---- */

static void input_buffers(loom_gen *g) {
    for (loom_lvalue_id v = 0; v < g->l->n_values; v++) {
        if (g->l->values[v].rep == LOOM_REP_IRREGULAR) continue;
        switch (g->l->values[v].source) {
        case LOOM_LV_INPUT: value_buffer(g, v, LOOM_STORE_INPUT); break;
        case LOOM_LV_COLUMN: value_buffer(g, v, LOOM_STORE_COLUMN); break;
        case LOOM_LV_CONSTANT: value_buffer(g, v, LOOM_STORE_CONSTANT); break;
        case LOOM_LV_FIRST: value_buffer(g, v, LOOM_STORE_FIRST); break;
        default: break;
        }
    }
}

/* States and counters have memory before the operations inside their loops, which may have the extents of states;
 * extents of scalars before the axes that have them. Per operation: the loops that begin with it, outer ones first. */
static loom_lop_id *loops_from(loom_gen *g, loom_lop_id **next) {
    loom_lop_id *first = LOOM_NEW_ARRAY(g->arena, loom_lop_id, (size_t)g->l->n_ops + 1);
    *next = LOOM_NEW_ARRAY(g->arena, loom_lop_id, (size_t)g->l->n_ops + 1);
    memset(first, 0xff, g->l->n_ops * sizeof *first);
    for (loom_lop_id i = 0; i < g->l->n_ops; i++) {
        const loom_lop *op = &g->l->ops[i];
        if (op->kind != LOOM_LO_LOOP) continue;
        (*next)[i] = first[op->inner_first];
        first[op->inner_first] = i;
    }
    return first;
}

static void state_buffers(loom_gen *g, const loom_lop *loop) {
    for (uint32_t s = 0; s < loop->n_states; s++) {
        if (g->value_buffer[loop->state[s]] == LOOM_NONE) value_buffer(g, loop->state[s], LOOM_STORE_TEMP);
    }
    if (loop->counter != LOOM_NONE) value_buffer(g, loop->counter, LOOM_STORE_TEMP);
}

void loom_gen_lower(loom_gen *g) {
    const loom_lifted *l = g->l;
    g->axis_extent = LOOM_NEW_ARRAY(g->arena, uint32_t, (size_t)l->n_axes + 1);
    g->value_buffer = LOOM_NEW_ARRAY(g->arena, uint32_t, (size_t)l->n_values + 1);
    g->is_output = LOOM_NEW_ARRAY(g->arena, bool, (size_t)l->n_values + 1);
    g->combine_kernel = LOOM_NEW_ARRAY(g->arena, uint32_t, (size_t)l->n_blocks + 1);
    memset(g->axis_extent, 0xff, l->n_axes * sizeof *g->axis_extent);
    memset(g->value_buffer, 0xff, l->n_values * sizeof *g->value_buffer);
    memset(g->combine_kernel, 0xff, l->n_blocks * sizeof *g->combine_kernel);
    for (uint32_t o = 0; o < l->n_outputs; o++) {
        for (uint32_t i = 0; l->outputs[o].values && i < l->outputs[o].n_leaves; i++) {
            if (l->outputs[o].values[i] != LOOM_NONE) g->is_output[l->outputs[o].values[i]] = true;
        }
    }
    g->parent = loom_lifted_parents(l, g->arena);
    g->tested = loom_lifted_is_tested(l);
    find_phases(g);
    find_last_uses(g);
    input_buffers(g);
    loom_lop_id *next, *loops = loops_from(g, &next);
    for (loom_lop_id i = 0; i < l->n_ops; i++) {
        const loom_lop *op = &l->ops[i];
        for (loom_lop_id loop = loops[i]; loop != LOOM_NONE; loop = next[loop]) state_buffers(g, &l->ops[loop]);
        op_buffers(g, i);
        if (op->kind == LOOM_LO_OFFSETS) segmented_inputs(g);
    }
    loom_gen_share_states(g);
    for (loom_axis_id a = 0; a < l->n_axes; a++) {
        const loom_axis *axis = &l->axes[a];
        bool known = axis->kind == LOOM_AXIS_CONST || axis->kind == LOOM_AXIS_CHUNK ||
                     g->value_buffer[axis->kind == LOOM_AXIS_SEGMENTED ? axis->total : axis->value] != LOOM_NONE;
        if (known) axis_extent(g, a);
    }
}

uint32_t loom_gen_fft(loom_gen *g, loom_lop_id id) {
    const loom_lop *op = &g->l->ops[id];
    const loom_lvalue *v = &g->l->values[op->results[0]];
    uint32_t *extents = LOOM_NEW_ARRAY(g->arena, uint32_t, (size_t)op->fft_rank + 1);
    for (uint32_t i = 0; i < op->fft_rank; i++) extents[i] = axis_extent(g, v->axes[v->n_axes - op->fft_rank + i]);
    for (uint32_t f = 0; f < g->ffts.count; f++) {
        const loom_plan_fft *x = &g->ffts.at[f];
        if (x->dtype == v->dtype && x->inverse == op->inverse && x->rank == op->fft_rank &&
            memcmp(x->extents, extents, x->rank * sizeof *extents) == 0) {
            return f;
        }
    }
    loom_plan_fft fft = {.dtype = v->dtype, .inverse = op->inverse, .rank = op->fft_rank, .extents = extents};
    LOOM_PUSH(g->arena, g->ffts, fft);
    return (uint32_t)g->ffts.count - 1;
}
