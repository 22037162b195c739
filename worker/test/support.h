/* Hand-made plans and values for tests. Everything a builder holds is freed by plan_free. */
#ifndef LOOM_WORKER_TEST_SUPPORT_H
#define LOOM_WORKER_TEST_SUPPORT_H

#include "compiler/plan/plan.h"
#include "loom_test.h"
#include "worker/executor.h"

typedef struct plan_builder {
    loom_arena *arena;
    loom_plan plan;
    loom_graph graph;
    loom_graph_stage stage;
    loom_plan_extent *extents;
    loom_plan_buffer *buffers;
    loom_plan_kernel *kernels;
    loom_plan_fft *ffts;
    loom_plan_action *actions;
    loom_plan_output *outputs;
    loom_plan_site *sites;
    loom_graph_slot *slots;
    loom_graph_output *graph_outputs;
    uint32_t *inputs, *streams;
} plan_builder;

plan_builder *plan_new(loom_stage_kind kind);
void plan_free(plan_builder *b);

uint32_t plan_extent(plan_builder *b, loom_extent_kind kind, int64_t value);                      /* CONST, CHUNK */
uint32_t plan_extent_of(plan_builder *b, loom_extent_kind kind, uint32_t buffer, uint32_t level); /* INPUT, SCALAR */
/* n_extents extents follow. */
uint32_t plan_buffer(plan_builder *b, const char *name, loom_dtype dtype, loom_storage storage, uint32_t source,
                     uint32_t leaf, uint32_t n_extents, const uint32_t *extents);
uint32_t plan_kernel(plan_builder *b, const char *symbol);
/* An action to fill in. */
loom_plan_action *plan_act(plan_builder *b, loom_action_kind kind, const char *label);
void plan_alloc(plan_builder *b, uint32_t buffer);
loom_plan_action *plan_run(plan_builder *b, const char *symbol, uint32_t extent); /* KERNEL */
void plan_chunk_begins(plan_builder *b);
/* A stream or input parameter; leaves by name "a,b,..." all of one dtype and depth. Returns its number among its kind.
 */
uint32_t plan_param(plan_builder *b, bool stream, const char *name, uint32_t n_leaves, const char *const *leaves,
                    const loom_dtype *dtypes, const uint32_t *depths);
/* An output made of buffers; slot and graph output go with it. */
uint32_t plan_output(plan_builder *b, loom_output_kind kind, loom_merge_order order, uint32_t n,
                     const uint32_t *buffers, uint32_t combine, const loom_scalar *neutral);
uint32_t plan_site(plan_builder *b, const char *format, uint32_t line);

loom_executor *executor_of(int threads, uint64_t memory);
/* Encodes and links the plan with the tests' kernels. */
loom_status *plan_create(plan_builder *b, loom_executor *executor, loom_value *const *inputs,
                         loom_value *const *constants, loom_run **run);
char *kernels_object(size_t *length);
char *named_object(const char *name, size_t *length); /* a file beside the test programs */

/* A value of one leaf per (name, dtype, data); copied. */
loom_value *value_of(const char *name, loom_dtype dtype, uint32_t depth, const int64_t *extents, const void *data);
loom_value *value_add(loom_value *value, const char *name, loom_dtype dtype, uint32_t depth, const int64_t *extents,
                      const void *data);
loom_value *column_of(const char *name, loom_dtype dtype, int64_t n, const void *data);
/* Numbers from a seed. */
uint64_t random_next(uint64_t *state);
double random_unit(uint64_t *state);

#endif
