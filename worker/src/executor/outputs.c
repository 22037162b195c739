/* Values out of an engine's buffers and of an interpreter's results. */
#include "common/buffer.h"
#include "executor/run.h"
#include <stdlib.h>
#include <string.h>

bool loom_output_ordered(const loom_run_output *output) {
    return loom_merges_in_order(output->kind, output->order);
}

/* Blocks of an executor's memory that a value holds: given back when the value goes, wherever that is. */
typedef struct held {
    loom_memory *memory;
    uint32_t n;
    loom_block blocks[];
} held;

static void release_held(loom_value *value) {
    held *h = value->owner;
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        free(value->leaves[i].name);
        for (uint32_t k = 0; k < LOOM_MAX_DEPTH; k++) free(value->leaves[i].lengths[k]);
    }
    for (uint32_t i = 0; i < h->n; i++) loom_memory_give(h->memory, &h->blocks[i]);
    loom_memory_unref(h->memory);
    free(h);
}

bool loom_value_is_ours(const loom_value *value) {
    return __atomic_load_n(&value->references, __ATOMIC_ACQUIRE) == 1 &&
           (value->release == NULL || value->release == release_held);
}

uint64_t loom_value_bytes(const loom_value *value) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        const loom_leaf *leaf = &value->leaves[i];
        bytes += (uint64_t)leaf->n_data * loom_dtype_size(leaf->dtype);
        for (uint32_t k = 0; k < leaf->depth; k++) {
            if (leaf->lengths[k]) bytes += (uint64_t)leaf->n_lengths[k] * sizeof(int64_t);
        }
    }
    return bytes;
}

/* A value whose leaves will have memory of the executor. */
static loom_status *create_held(loom_run *run, uint32_t n_leaves, loom_value **value, held **blocks) {
    LOOM_TRY(loom_value_create(n_leaves, value));
    held *h = loom_xcalloc(1, sizeof *h + n_leaves * sizeof *h->blocks);
    h->memory = loom_memory_ref(run->executor->memory);
    h->n = n_leaves;
    (*value)->owner = h;
    (*value)->release = release_held;
    *blocks = h;
    return NULL;
}

/* The lengths of a level go out with the leaf, unless they are all the same: a value has one form. They are looked at
 * once more: what reads the leaf relies on them. */
static loom_status *take_lengths(const loom_run *run, const loom_plan_extent *extent, uint32_t k, int64_t total,
                                 loom_leaf *leaf) {
    const int64_t *from = run->engine->data[extent->lengths];
    int64_t n = leaf->n_lengths[k], sum = 0;
    uint64_t bytes;
    bool comes = run->engine->plan->buffers[extent->lengths].lengths_of > 0;
    if (!from || (comes && run->engine->lists[extent->lengths] != n)) {
        return loom_error(LOOM_E_INTERNAL, "plan ends without lengths of '%s'", leaf->name);
    }
    LOOM_TRY(loom_bytes_of(LOOM_I64, 1, &n, &bytes));
    bool regular = true;
    for (int64_t i = 0; i < n && sum >= 0; i++) {
        regular = regular && from[i] == from[0];
        if (from[i] < 0 || __builtin_add_overflow(sum, from[i], &sum)) sum = -1;
    }
    if (sum != total) {
        return loom_error(LOOM_E_INTERNAL, "plan ends with other lengths of '%s' than it has elements", leaf->name);
    }
    leaf->extents[k] = regular ? (n ? from[0] : 0) : LOOM_IRREGULAR;
    if (regular) return NULL;
    leaf->lengths[k] = malloc(bytes);
    if (!leaf->lengths[k]) return loom_error(LOOM_E_MEMORY, "no memory for the lengths of '%s'", leaf->name);
    memcpy(leaf->lengths[k], from, bytes);
    return NULL;
}

/* Everything about a leaf but its data, as buffer `b` stands. Inside an extent of 0 there is nothing. */
static loom_status *describe_leaf(const loom_run *run, uint32_t output, uint32_t i, loom_leaf *leaf) {
    const loom_plan *plan = run->engine->plan;
    const loom_plan_output *o = &plan->outputs[output];
    const loom_plan_buffer *b = &plan->buffers[o->buffers[i]];
    const loom_graph_slot *slot = &run->graph->slots[run->stage->outputs[output].slot];
    leaf->name = loom_xstrdup(i < slot->n_leaves ? slot->leaves[i].name : o->names[i]);
    leaf->dtype = b->dtype;
    leaf->depth = b->n_extents;
    int64_t lists = 1;
    for (uint32_t k = 0; k < b->n_extents; k++) {
        const loom_plan_extent *extent = &plan->extents[b->extents[k]];
        int64_t value = run->engine->extents[b->extents[k]];
        leaf->n_lengths[k] = lists;
        if (extent->kind == LOOM_EXTENT_SEGMENTED) {
            LOOM_TRY(take_lengths(run, extent, k, value, leaf));
            lists = value;
            continue;
        }
        leaf->extents[k] = lists ? value : 0;
        lists *= leaf->extents[k];
    }
    leaf->n_data = lists;
    return NULL;
}

/* The memory of a RESULT buffer goes to the value; what is an input, or has been taken already by another output, is
 * copied. */
static loom_status *take_buffer(loom_run *run, uint32_t buffer, loom_leaf *leaf, loom_block *block) {
    loom_engine *engine = run->engine;
    uint64_t bytes = (uint64_t)leaf->n_data * loom_dtype_size(leaf->dtype);
    bool ours = engine->blocks[buffer].data && engine->blocks[buffer].data == engine->data[buffer] &&
                engine->plan->buffers[buffer].storage == LOOM_STORE_RESULT && engine->of_chunk[buffer];
    if (ours) {
        /* The data stays readable through the buffer table until the chunk ends, for another output that names it. */
        *block = engine->blocks[buffer];
        engine->blocks[buffer] = (loom_block){0};
    } else {
        LOOM_TRY(loom_memory_take(run->executor->memory, bytes, "a result", block));
        if (bytes) loom_engine_copy(run->executor, engine->data[buffer], block->data, bytes);
    }
    leaf->data = block->data;
    return NULL;
}

loom_status *loom_run_take_output(loom_run *run, uint32_t output, loom_value **value) {
    const loom_plan_output *o = &run->engine->plan->outputs[output];
    loom_value *made;
    held *h;
    LOOM_TRY(create_held(run, o->n_leaves, &made, &h));
    for (uint32_t i = 0; i < o->n_leaves; i++) {
        loom_status *status = describe_leaf(run, output, i, &made->leaves[i]);
        if (status) {
            /* said already */
        } else if (!run->engine->data[o->buffers[i]]) {
            status = loom_error(LOOM_E_INTERNAL, "plan ends without result %u", output);
        } else {
            status = take_buffer(run, o->buffers[i], &made->leaves[i], &h->blocks[i]);
        }
        if (status) {
            loom_value_unref(made);
            return status;
        }
    }
    *value = made;
    return NULL;
}

/* ---- accumulators ---- */

static bool is_zero(loom_dtype dtype, loom_scalar value) {
    unsigned char bytes[16] = {0};
    loom_scalar_store(dtype, value, bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        if (bytes[i]) return false;
    }
    return true;
}

static loom_status *new_leaf(loom_run *run, const loom_plan_output *o, uint32_t i, loom_leaf *leaf, loom_block *block) {
    uint64_t bytes;
    LOOM_TRY(loom_engine_size(run->engine, o->buffers[i], &bytes));
    bool zero = is_zero(leaf->dtype, o->neutral[i]);
    LOOM_TRY(loom_memory_take(run->executor->memory, bytes, "the accumulator", block));
    leaf->data = block->data;
    if (!zero || !block->fresh) loom_engine_fill(run->executor, leaf->dtype, o->neutral[i], block->data, leaf->n_data);
    return NULL;
}

loom_status *loom_run_new_accumulator(loom_run *run, uint32_t output, loom_value **value) {
    const loom_plan_output *o = &run->engine->plan->outputs[output];
    loom_value *made;
    held *h;
    LOOM_TRY(create_held(run, o->n_leaves, &made, &h));
    for (uint32_t i = 0; i < o->n_leaves; i++) {
        loom_status *status = describe_leaf(run, output, i, &made->leaves[i]);
        if (!status) status = new_leaf(run, o, i, &made->leaves[i], &h->blocks[i]);
        if (status) {
            loom_value_unref(made);
            return status;
        }
    }
    *value = made;
    return NULL;
}

static bool may_accumulate(const loom_value *value) {
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        if (!loom_leaf_is_regular(&value->leaves[i]) || !loom_engine_is_aligned(value->leaves[i].data)) return false;
    }
    return loom_value_is_ours(value);
}

/* What another run of the stage has added up, maybe by the interpreter, as an accumulator that kernels can write. */
static loom_status *fit_accumulator(loom_run *run, uint32_t output, loom_value **content) {
    const loom_plan_output *o = &run->engine->plan->outputs[output];
    loom_value *made, *have = *content;
    bool same = have->n_leaves == o->n_leaves;
    for (uint32_t i = 0; same && i < o->n_leaves; i++) {
        uint64_t bytes;
        LOOM_TRY(loom_engine_size(run->engine, o->buffers[i], &bytes));
        same = bytes == (uint64_t)have->leaves[i].n_data * loom_dtype_size(have->leaves[i].dtype) &&
               have->leaves[i].dtype == run->engine->plan->buffers[o->buffers[i]].dtype;
    }
    if (!same)
        return loom_error(LOOM_E_DATA, "%s adds up arrays of different sizes for segments of different shapes",
                          run->stage->label ? run->stage->label : "the stage");
    if (may_accumulate(have)) return NULL;
    LOOM_TRY(loom_run_new_accumulator(run, output, &made));
    for (uint32_t i = 0; i < o->n_leaves; i++) {
        const loom_leaf *from = &have->leaves[i];
        loom_engine_copy(run->executor, from->data, made->leaves[i].data,
                         (uint64_t)from->n_data * loom_dtype_size(from->dtype));
    }
    loom_value_unref(have);
    *content = made;
    return NULL;
}

loom_status *loom_run_bind_accumulators(loom_run *run) {
    for (uint32_t j = 0; j < run->stage->n_outputs; j++) {
        loom_run_output *output = &run->outputs[j];
        if (!output->in_place) continue;
        if (output->pieces.count == 0) {
            loom_value *value;
            LOOM_TRY(loom_run_new_accumulator(run, j, &value));
            /* n = 0: nothing is inside yet. */
            loom_status *status = loom_run_add(run, j, INT64_MAX, 0, value);
            if (status) return status;
        } else {
            LOOM_TRY(fit_accumulator(run, j, &output->pieces.at[0].value));
        }
        const loom_plan_output *o = &run->engine->plan->outputs[j];
        loom_value *value = output->pieces.at[0].value;
        for (uint32_t i = 0; i < o->n_leaves; i++) run->engine->data[o->buffers[i]] = value->leaves[i].data;
    }
    return NULL;
}

/* ---- results of the interpreter ---- */

/* Moves leaf i of a malloc'ed value, under another name. */
static loom_status *move_leaf(loom_leaf *from, const char *name, loom_leaf *to) {
    char *copy = strdup(name);
    if (!copy) return loom_error(LOOM_E_MEMORY, "no memory for column '%s'", name);
    *to = *from;
    to->name = copy;
    from->data = NULL;
    for (uint32_t k = 0; k < LOOM_MAX_DEPTH; k++) from->lengths[k] = NULL;
    return NULL;
}

static loom_status *copy_leaf(const loom_leaf *from, const char *name, loom_leaf *to) {
    to->name = strdup(name);
    to->dtype = from->dtype;
    to->depth = from->depth;
    uint64_t bytes = (uint64_t)from->n_data * loom_dtype_size(from->dtype);
    to->data = malloc(bytes ? bytes : 1);
    if (!to->name || !to->data) return loom_error(LOOM_E_MEMORY, "no memory for column '%s'", name);
    if (bytes) memcpy(to->data, from->data, bytes);
    to->n_data = from->n_data;
    for (uint32_t k = 0; k < from->depth; k++) {
        to->extents[k] = from->extents[k];
        to->n_lengths[k] = from->n_lengths[k];
        if (!from->lengths[k]) continue;
        size_t size = (size_t)from->n_lengths[k] * sizeof(int64_t);
        to->lengths[k] = malloc(size ? size : 1);
        if (!to->lengths[k]) return loom_error(LOOM_E_MEMORY, "no memory for column '%s'", name);
        if (size) memcpy(to->lengths[k], from->lengths[k], size);
    }
    return NULL;
}

static loom_status *split_one(const loom_graph_slot *slot, loom_value *result, uint32_t first, bool movable,
                              loom_value **value) {
    loom_value *made;
    LOOM_TRY(loom_value_create(slot->n_leaves, &made));
    for (uint32_t i = 0; i < slot->n_leaves; i++) {
        loom_leaf *from = &result->leaves[first + i];
        const char *name = slot->leaves[i].name;
        loom_status *status =
            movable ? move_leaf(from, name, &made->leaves[i]) : copy_leaf(from, name, &made->leaves[i]);
        if (status) {
            loom_value_unref(made);
            return status;
        }
    }
    *value = made;
    return NULL;
}

loom_status *loom_run_split(loom_run *run, loom_value *result, loom_value **outputs) {
    bool movable = result->release == NULL && __atomic_load_n(&result->references, __ATOMIC_ACQUIRE) == 1;
    loom_status *status = NULL;
    uint32_t leaves = 0, n = run->stage->n_outputs, done = 0;
    for (uint32_t j = 0; j < n; j++) leaves += run->graph->slots[run->stage->outputs[j].slot].n_leaves;
    if (leaves != result->n_leaves) {
        status =
            loom_error(LOOM_E_INTERNAL, "the stage gave %u columns, its outputs have %u", result->n_leaves, leaves);
    }
    uint32_t first = 0;
    for (; !status && done < n; done++) {
        const loom_graph_slot *slot = &run->graph->slots[run->stage->outputs[done].slot];
        status = split_one(slot, result, first, movable, &outputs[done]);
        if (status) break;
        first += slot->n_leaves;
    }
    loom_value_unref(result);
    if (!status) return NULL;
    for (uint32_t j = 0; j < done; j++) {
        loom_value_unref(outputs[j]);
        outputs[j] = NULL;
    }
    return status;
}
