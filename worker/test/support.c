#include "support.h"
#include "common/buffer.h"
#include "common/file.h"
#include <string.h>

enum {
    MANY = 64 /* more of anything than a test's plan has */
};

plan_builder *plan_new(loom_stage_kind kind) {
    plan_builder *b = loom_xcalloc(1, sizeof *b);
    b->arena = loom_arena_create(0);
    b->extents = LOOM_NEW_ARRAY(b->arena, loom_plan_extent, MANY);
    b->buffers = LOOM_NEW_ARRAY(b->arena, loom_plan_buffer, MANY);
    b->kernels = LOOM_NEW_ARRAY(b->arena, loom_plan_kernel, MANY);
    b->ffts = LOOM_NEW_ARRAY(b->arena, loom_plan_fft, MANY);
    b->actions = LOOM_NEW_ARRAY(b->arena, loom_plan_action, MANY);
    b->outputs = LOOM_NEW_ARRAY(b->arena, loom_plan_output, MANY);
    b->sites = LOOM_NEW_ARRAY(b->arena, loom_plan_site, MANY);
    b->slots = LOOM_NEW_ARRAY(b->arena, loom_graph_slot, MANY);
    b->graph_outputs = LOOM_NEW_ARRAY(b->arena, loom_graph_output, MANY);
    b->inputs = LOOM_NEW_ARRAY(b->arena, uint32_t, MANY);
    b->streams = LOOM_NEW_ARRAY(b->arena, uint32_t, MANY);
    b->plan = (loom_plan){.kind = kind, .target = loom_worker_target()};
    b->plan.extents = b->extents;
    b->plan.buffers = b->buffers;
    b->plan.kernels = b->kernels;
    b->plan.ffts = b->ffts;
    b->plan.actions = b->actions;
    b->plan.outputs = b->outputs;
    b->plan.sites = b->sites;
    b->stage = (loom_graph_stage){.kind = kind, .label = "test stage", .inputs = b->inputs, .streams = b->streams};
    b->stage.outputs = b->graph_outputs;
    b->graph.slots = b->slots;
    b->graph.stages = &b->stage;
    b->graph.n_stages = 1;
    return b;
}

void plan_free(plan_builder *b) {
    loom_arena_destroy(b->arena);
    free(b);
}

uint32_t plan_extent(plan_builder *b, loom_extent_kind kind, int64_t value) {
    b->extents[b->plan.n_extents] = (loom_plan_extent){.kind = kind, .value = value};
    return b->plan.n_extents++;
}

uint32_t plan_extent_of(plan_builder *b, loom_extent_kind kind, uint32_t buffer, uint32_t level) {
    b->extents[b->plan.n_extents] = (loom_plan_extent){.kind = kind, .buffer = buffer, .level = level};
    return b->plan.n_extents++;
}

uint32_t plan_buffer(plan_builder *b, const char *name, loom_dtype dtype, loom_storage storage, uint32_t source,
                     uint32_t leaf, uint32_t n_extents, const uint32_t *extents) {
    uint32_t *copy = LOOM_NEW_ARRAY(b->arena, uint32_t, n_extents + 1);
    for (uint32_t i = 0; i < n_extents; i++) copy[i] = extents[i];
    b->buffers[b->plan.n_buffers] = (loom_plan_buffer){name, dtype, storage, source, leaf, n_extents, copy, 0, false};
    return b->plan.n_buffers++;
}

uint32_t plan_kernel(plan_builder *b, const char *symbol) {
    b->kernels[b->plan.n_kernels] = (loom_plan_kernel){.symbol = symbol, .scratch = 64};
    return b->plan.n_kernels++;
}

loom_plan_action *plan_act(plan_builder *b, loom_action_kind kind, const char *label) {
    loom_plan_action *a = &b->actions[b->plan.n_actions++];
    *a = (loom_plan_action){.kind = kind, .label = label, .extent = LOOM_NO_EXTENT, .buffer = LOOM_NO_EXTENT};
    a->buffer2 = LOOM_NO_EXTENT;
    return a;
}

void plan_alloc(plan_builder *b, uint32_t buffer) {
    plan_act(b, LOOM_ACT_ALLOC, "alloc")->buffer = buffer;
}

loom_plan_action *plan_run(plan_builder *b, const char *symbol, uint32_t extent) {
    loom_plan_action *a = plan_act(b, LOOM_ACT_KERNEL, symbol);
    a->kernel = plan_kernel(b, symbol);
    a->extent = extent;
    return a;
}

void plan_chunk_begins(plan_builder *b) {
    b->plan.chunk_begin = b->plan.n_actions;
}

uint32_t plan_param(plan_builder *b, bool stream, const char *name, uint32_t n_leaves, const char *const *leaves,
                    const loom_dtype *dtypes, const uint32_t *depths) {
    loom_graph_leaf *l = LOOM_NEW_ARRAY(b->arena, loom_graph_leaf, n_leaves + 1);
    for (uint32_t i = 0; i < n_leaves; i++) l[i] = (loom_graph_leaf){leaves[i], dtypes[i], depths[i]};
    b->slots[b->graph.n_slots] = (loom_graph_slot){name, stream, n_leaves, l};
    uint32_t slot = b->graph.n_slots++;
    b->graph.n_params++;
    if (stream) {
        b->streams[b->stage.n_streams] = slot;
        return b->stage.n_streams++;
    }
    b->inputs[b->stage.n_inputs] = slot;
    return b->stage.n_inputs++;
}

uint32_t plan_output(plan_builder *b, loom_output_kind kind, loom_merge_order order, uint32_t n,
                     const uint32_t *buffers, uint32_t combine, const loom_scalar *neutral) {
    static const char *const several[] = {"0", "1", "2", "3"}, *const one[] = {""};
    const char *const *names = n == 1 ? one : several;
    uint32_t *copy = LOOM_NEW_ARRAY(b->arena, uint32_t, n);
    loom_scalar *zero = LOOM_NEW_ARRAY(b->arena, loom_scalar, n);
    loom_graph_leaf *leaves = LOOM_NEW_ARRAY(b->arena, loom_graph_leaf, n);
    for (uint32_t i = 0; i < n; i++) {
        const loom_plan_buffer *buffer = &b->buffers[buffers[i]];
        copy[i] = buffers[i];
        if (neutral) zero[i] = neutral[i];
        leaves[i] = (loom_graph_leaf){names[i], buffer->dtype, buffer->n_extents};
    }
    b->outputs[b->plan.n_outputs] = (loom_plan_output){kind, order, n, names, copy, zero, combine};
    b->slots[b->graph.n_slots] = (loom_graph_slot){"result", false, n, leaves};
    b->graph_outputs[b->stage.n_outputs++] = (loom_graph_output){kind, order, b->graph.n_slots++, LOOM_NONE_FUNCTION};
    return b->plan.n_outputs++;
}

uint32_t plan_site(plan_builder *b, const char *format, uint32_t line) {
    b->sites[b->plan.n_sites] = (loom_plan_site){"test.weft", {.line = line, .column = 1}, format, "look closer"};
    return b->plan.n_sites++;
}

loom_executor *executor_of(int threads, uint64_t memory) {
    loom_executor *executor;
    LOOM_OK(loom_executor_create(&(loom_executor_options){.threads = threads, .memory = memory}, &executor));
    return executor;
}

char *kernels_object(size_t *length) {
    return named_object("worker_kernels.o", length);
}

char *named_object(const char *name, size_t *length) {
    const char *bin = getenv("GRIDLOOM_BIN");
    if (!bin) LOOM_SKIP("GRIDLOOM_BIN does not say where the kernels are");
    char *path = loom_xprintf("%s/unit/%s", bin, name);
    char *object;
    LOOM_OK(loom_file_read(path, 1 << 24, &object, length));
    free(path);
    return object;
}

loom_status *plan_create(plan_builder *b, loom_executor *executor, loom_value *const *inputs,
                         loom_value *const *constants, loom_run **run) {
    size_t object_length, plan_length;
    char *object = kernels_object(&object_length), *plan;
    LOOM_OK(loom_plan_encode(&b->plan, &plan, &plan_length));
    loom_run_description d = {.graph = &b->graph,
                              .plan = plan,
                              .plan_length = plan_length,
                              .object = object,
                              .object_length = object_length,
                              .inputs = inputs,
                              .n_constants = constants ? b->stage.n_streams : 0,
                              .constants = constants};
    loom_status *status = loom_run_create(executor, &d, run);
    free(plan);
    free(object);
    return status;
}

static void fill_leaf(loom_leaf *leaf, const char *name, loom_dtype dtype, uint32_t depth, const int64_t *extents,
                      const void *data) {
    LOOM_OK(loom_leaf_init(leaf, name, dtype, depth, extents, UINT64_MAX));
    if (data && leaf->n_data) memcpy(leaf->data, data, (size_t)leaf->n_data * loom_dtype_size(dtype));
}

loom_value *value_of(const char *name, loom_dtype dtype, uint32_t depth, const int64_t *extents, const void *data) {
    loom_value *value;
    LOOM_OK(loom_value_create(1, &value));
    fill_leaf(&value->leaves[0], name, dtype, depth, extents, data);
    return value;
}

loom_value *value_add(loom_value *value, const char *name, loom_dtype dtype, uint32_t depth, const int64_t *extents,
                      const void *data) {
    value->leaves = loom_xrealloc(value->leaves, (value->n_leaves + 1) * sizeof *value->leaves);
    fill_leaf(&value->leaves[value->n_leaves], name, dtype, depth, extents, data);
    value->n_leaves++;
    return value;
}

loom_value *column_of(const char *name, loom_dtype dtype, int64_t n, const void *data) {
    return value_of(name, dtype, 1, &n, data);
}

uint64_t random_next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

double random_unit(uint64_t *state) {
    return (double)(random_next(state) >> 11) * 0x1p-53;
}
