/* Short forms for building lifted IR by hand in tests. */
#ifndef LOOM_CODEGEN_TEST_BUILDER_H
#define LOOM_CODEGEN_TEST_BUILDER_H

#include "compiler/ir/lifted.h"
#include "compiler/plan/graph.h"

typedef struct builder {
    loom_arena *arena;
    loom_lifted *l;
    loom_lexpr_id block_first;
} builder;

builder b_open(uint32_t stage_kind);
loom_axis_id b_chunk(builder *b);
loom_axis_id b_const(builder *b, int64_t extent);
loom_axis_id b_input_axis(builder *b, loom_lvalue_id value, uint32_t level);

/* Values; axes are given as a list ended by LOOM_NONE. */
#define AXES(...) ((const loom_axis_id[]){__VA_ARGS__, LOOM_NONE})
#define NO_AXES   ((const loom_axis_id[]){LOOM_NONE})
loom_lvalue_id b_value(builder *b, loom_lsource source, uint32_t index, loom_dtype dtype, const char *name,
                       const loom_axis_id *axes);
static inline loom_lvalue_id b_column(builder *b, uint32_t index, loom_dtype dtype, const loom_axis_id *axes) {
    return b_value(b, LOOM_LV_COLUMN, index, dtype, "col", axes);
}
static inline loom_lvalue_id b_input(builder *b, uint32_t index, loom_dtype dtype, const loom_axis_id *axes) {
    return b_value(b, LOOM_LV_INPUT, index, dtype, "in", axes);
}
static inline loom_lvalue_id b_made(builder *b, loom_dtype dtype, const char *name, const loom_axis_id *axes) {
    return b_value(b, LOOM_LV_OP, 0, dtype, name, axes);
}

/* Expressions go to the open block. */
void b_begin(builder *b);
loom_lblock_id b_end(builder *b, uint32_t n_params, const loom_dtype *params, uint32_t n_results,
                     const loom_lexpr_id *results);
#define RESULTS(...)                                                                                                   \
    (sizeof((loom_lexpr_id[]){__VA_ARGS__}) / sizeof(loom_lexpr_id)), ((const loom_lexpr_id[]){__VA_ARGS__})
loom_lexpr_id b_axis(builder *b, uint32_t position);
loom_lexpr_id b_param(builder *b, loom_dtype dtype, uint32_t n);
loom_lexpr_id b_i64(builder *b, int64_t value);
loom_lexpr_id b_real(builder *b, loom_dtype dtype, double value);
loom_lexpr_id b_extent(builder *b, loom_axis_id axis);
loom_lexpr_id b_prim(builder *b, loom_prim prim, loom_lexpr_id x, loom_lexpr_id y); /* y LOOM_NONE: unary */
loom_lexpr_id b_convert(builder *b, loom_dtype to, loom_lexpr_id x);
loom_lexpr_id b_load(builder *b, loom_lvalue_id value, loom_load_mode mode, loom_lsite_id site,
                     const loom_lexpr_id *indices /* LOOM_NONE ends */);
#define LOAD(b, v, ...) b_load((b), (v), LOOM_LOAD_PROVEN, LOOM_NONE, (const loom_lexpr_id[]){__VA_ARGS__, LOOM_NONE})
#define LOAD0(b, v)     b_load((b), (v), LOOM_LOAD_PROVEN, LOOM_NONE, (const loom_lexpr_id[]){LOOM_NONE})
loom_lsite_id b_site(builder *b, const char *format);

/* The closed block (a, x) -> prim(a, x). */
loom_lblock_id b_operator(builder *b, loom_prim prim, loom_dtype dtype);
/* A block without parameters that gives a constant. */
loom_lblock_id b_neutral(builder *b, loom_dtype dtype, double value);

/* The axis of rows of these lengths, which run over `axes`. */
loom_axis_id b_segments(builder *b, loom_lvalue_id lengths, const loom_axis_id *axes);
loom_lop_id b_compute(builder *b, const loom_axis_id *axes, loom_lblock_id body, uint32_t n,
                      const loom_lvalue_id *results);
loom_lop_id b_reduce(builder *b, const loom_axis_id *axes, uint32_t position, loom_lblock_id body,
                     loom_lblock_id combine, loom_lblock_id ne, uint32_t n, const loom_lvalue_id *results);
loom_lop_id b_fft(builder *b, loom_lvalue_id from, loom_lvalue_id to, uint32_t rank, bool inverse);
/* Output of one leaf. */
void b_output(builder *b, loom_output_kind kind, loom_lvalue_id value, loom_lblock_id combine);
uint32_t b_accumulator(builder *b, loom_dtype dtype, const loom_axis_id *axes, loom_lblock_id combine);

#endif
