/* A plan that uses every table of the format: reduces a column, permutes into an accumulator, and makes the offsets of
 * rows that differ in length. */
#ifndef LOOM_PLAN_SAMPLE_H
#define LOOM_PLAN_SAMPLE_H

#include "compiler/plan/plan.h"

static inline loom_plan *sample_plan(loom_arena *arena) {
    static const loom_plan_extent extents[] = {{LOOM_EXTENT_CHUNK, 0, 0, 0, 0},
                                               {LOOM_EXTENT_CONST, 32, 0, 0, 0},
                                               {LOOM_EXTENT_INPUT, 0, 0, 1, 0},
                                               {LOOM_EXTENT_SEGMENTED, 0, 6, 0, 4}};
    static const uint32_t column_extents[] = {0, 2}, grid_extents[] = {1, 1}, transform_extents[] = {0, 1};
    static const uint32_t row_extents[] = {0, 3};
    static const loom_plan_buffer buffers[] = {
        {"xs", LOOM_F32, LOOM_STORE_COLUMN, 0, 0, 2, column_extents, 0, false},
        {"sum", LOOM_F32, LOOM_STORE_RESULT, 0, 0, 0, NULL, 0, false},
        {"grid", LOOM_C64, LOOM_STORE_ACCUMULATOR, 1, 0, 2, grid_extents, 0, false},
        {"k", LOOM_C64, LOOM_STORE_TEMP, 0, 0, 2, transform_extents, 0, false},
        {"lengths", LOOM_I64, LOOM_STORE_COLUMN, 0, 1, 1, row_extents, 1, false},
        {"offsets", LOOM_I64, LOOM_STORE_TEMP, 0, 0, 1, row_extents, 0, true},
        {"total", LOOM_I64, LOOM_STORE_TEMP, 0, 0, 0, NULL, 0, false},
        {"rows", LOOM_F32, LOOM_STORE_COLUMN, 0, 1, 2, row_extents, 0, false}};
    static const loom_plan_kernel kernels[] = {
        {"k0", 0, 0, 0, 0}, {"k1", 0, 0, 0, 0}, {"k2", 1, 64, 128, 2}, {"k3", 0, 4096, 0, 0}, {"k4", 0, 0, 0, 0}};
    static const uint32_t fft_extents[] = {1};
    static const loom_plan_fft ffts[] = {{LOOM_C64, true, 1, fft_extents}};
    static const uint32_t sum[] = {1}, grid[] = {2}, units[] = {0}, total[] = {6};
    static const int64_t lower[] = {-7, 0}, upper[] = {8, 15};
    static const loom_plan_action actions[] = {
        {.kind = LOOM_ACT_ALLOC, .buffer = 1},
        {.kind = LOOM_ACT_REDUCE,
         .kernel = 0,
         .kernel2 = 1,
         .extent = 0,
         .n_buffers = 1,
         .buffers = sum,
         .label = "sum"},
        {.kind = LOOM_ACT_ALLOC, .buffer = 3},
        {.kind = LOOM_ACT_KERNEL, .kernel = 2, .extent = 0, .cost = 12.5},
        {.kind = LOOM_ACT_FFT, .fft = 0, .buffer = 3, .buffer2 = 3},
        {.kind = LOOM_ACT_PERMUTE,
         .kernel = 2,
         .kernel2 = 3,
         .n_buffers = 1,
         .buffers = grid,
         .n_units = 1,
         .unit_extents = units,
         .rank = 2,
         .lower = lower,
         .upper = upper},
        {.kind = LOOM_ACT_FREE, .buffer = 3},
        {.kind = LOOM_ACT_ALLOC, .buffer = 5},
        {.kind = LOOM_ACT_ALLOC, .buffer = 6},
        {.kind = LOOM_ACT_OFFSETS, .buffer = 4, .buffer2 = 5, .n_buffers = 1, .buffers = total},
        {.kind = LOOM_ACT_KERNEL, .kernel = 2, .extent = 3},
        {.kind = LOOM_ACT_FREE, .buffer = 5},
        {.kind = LOOM_ACT_FREE, .buffer = 6}};
    static const char *const names[] = {""};
    static const loom_scalar neutral[] = {{.c = {0, 0}}};
    static const loom_plan_output outputs[] = {{LOOM_OUT_FOLD, LOOM_ORDER_ANY, 1, names, sum, neutral, 1},
                                               {LOOM_OUT_PERMUTE, LOOM_ORDER_ANY, 1, names, grid, neutral, 4}};
    static const loom_plan_site sites[] = {{"a.weft", {0, 3, 5, 3, 9}, "index {a} of {b}", NULL}};
    loom_plan *p = LOOM_NEW(arena, loom_plan);
    *p = (loom_plan){LOOM_STAGE_TRAVERSAL,
                     "x86_64-pc-linux-gnu;generic;",
                     4,
                     extents,
                     8,
                     buffers,
                     5,
                     kernels,
                     1,
                     ffts,
                     13,
                     actions,
                     0,
                     2,
                     outputs,
                     1,
                     sites,
                     8,
                     1.5,
                     "other plan",
                     10,
                     "code",
                     4};
    return p;
}

#endif
