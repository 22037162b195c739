/* Codec of stage plans: message Plan of plan.proto. */
#include "compiler/plan/plan.h"
#include "tables.h"

static const loom_wire_field loom_wire_span_fields[] = {
    LOOM_WIRE(1, U32, loom_span, file),       LOOM_WIRE(2, U32, loom_span, line),
    LOOM_WIRE(3, U32, loom_span, column),     LOOM_WIRE(4, U32, loom_span, end_line),
    LOOM_WIRE(5, U32, loom_span, end_column),
};
LOOM_WIRE_TABLE(loom_wire_span, loom_span);

static const loom_wire_field extent_fields[] = {
    LOOM_WIRE_ENUM(1, loom_plan_extent, kind, LOOM_EXTENT_SEGMENTED + 1),
    LOOM_WIRE(2, I64, loom_plan_extent, value),
    LOOM_WIRE(3, U32, loom_plan_extent, buffer),
    LOOM_WIRE(4, U32, loom_plan_extent, level),
    LOOM_WIRE(5, U32, loom_plan_extent, lengths),
};
static LOOM_WIRE_TABLE(extent, loom_plan_extent);

static const loom_wire_field buffer_fields[] = {
    LOOM_WIRE(1, TEXT, loom_plan_buffer, name),
    LOOM_WIRE_ENUM(2, loom_plan_buffer, dtype, LOOM_DTYPES),
    LOOM_WIRE_ENUM(3, loom_plan_buffer, storage, LOOM_STORE_RESULT + 1),
    LOOM_WIRE(4, U32, loom_plan_buffer, source),
    LOOM_WIRE(5, U32, loom_plan_buffer, leaf),
    LOOM_WIRE_N(6, U32S, loom_plan_buffer, extents, n_extents),
    LOOM_WIRE(7, U32, loom_plan_buffer, lengths_of),
    LOOM_WIRE(8, BOOL, loom_plan_buffer, offsets),
};
static LOOM_WIRE_TABLE(buffer, loom_plan_buffer);

static const loom_wire_field kernel_fields[] = {
    LOOM_WIRE(1, TEXT, loom_plan_kernel, symbol),        LOOM_WIRE_ENUM(2, loom_plan_kernel, scratch_kind, 2),
    LOOM_WIRE(3, U64, loom_plan_kernel, scratch),        LOOM_WIRE(4, U64, loom_plan_kernel, scratch_per),
    LOOM_WIRE(5, U32, loom_plan_kernel, scratch_extent),
};
static LOOM_WIRE_TABLE(kernel, loom_plan_kernel);

static const loom_wire_field fft_fields[] = {
    LOOM_WIRE_ENUM(1, loom_plan_fft, dtype, LOOM_DTYPES),
    LOOM_WIRE(2, BOOL, loom_plan_fft, inverse),
    LOOM_WIRE_N(3, U32S, loom_plan_fft, extents, rank),
};
static LOOM_WIRE_TABLE(fft, loom_plan_fft);

static const loom_wire_field action_fields[] = {
    LOOM_WIRE_ENUM(1, loom_plan_action, kind, LOOM_ACT_SORT + 1),
    LOOM_WIRE(2, U32, loom_plan_action, kernel),
    LOOM_WIRE(3, U32, loom_plan_action, kernel2),
    LOOM_WIRE(4, U32, loom_plan_action, fft),
    LOOM_WIRE(5, U32, loom_plan_action, extent),
    LOOM_WIRE(6, U32, loom_plan_action, buffer),
    LOOM_WIRE(7, U32, loom_plan_action, buffer2),
    LOOM_WIRE_N(8, U32S, loom_plan_action, buffers, n_buffers),
    LOOM_WIRE(9, U32, loom_plan_action, n_inner),
    LOOM_WIRE(10, U32, loom_plan_action, n_else),
    LOOM_WIRE(11, SCALAR, loom_plan_action, value),
    LOOM_WIRE_N(12, U32S, loom_plan_action, unit_extents, n_units),
    LOOM_WIRE_N(13, I64S, loom_plan_action, lower, rank),
    LOOM_WIRE_N(14, I64S, loom_plan_action, upper, rank),
    LOOM_WIRE(15, DOUBLE, loom_plan_action, cost),
    LOOM_WIRE(16, TEXT, loom_plan_action, label),
    LOOM_WIRE_N(17, U32S, loom_plan_action, touched, n_touched),
};
static LOOM_WIRE_TABLE(action, loom_plan_action);

static const loom_wire_field output_fields[] = {
    LOOM_WIRE_ENUM(1, loom_plan_output, kind, LOOM_OUT_CHAIN + 1),
    LOOM_WIRE_ENUM(2, loom_plan_output, order, LOOM_ORDER_ADJACENT + 1),
    LOOM_WIRE_N(3, TEXTS, loom_plan_output, names, n_leaves),
    LOOM_WIRE_N(4, U32S, loom_plan_output, buffers, n_leaves),
    LOOM_WIRE_N(5, SCALARS, loom_plan_output, neutral, n_leaves),
    LOOM_WIRE(6, U32, loom_plan_output, combine),
};
static LOOM_WIRE_TABLE(output, loom_plan_output);

static const loom_wire_field site_fields[] = {
    LOOM_WIRE(1, TEXT, loom_plan_site, file),
    LOOM_WIRE_M(2, loom_plan_site, span, loom_wire_span),
    LOOM_WIRE(3, TEXT, loom_plan_site, format),
    LOOM_WIRE(4, TEXT, loom_plan_site, hint),
};
static LOOM_WIRE_TABLE(site, loom_plan_site);

static const loom_wire_field plan_fields[] = {
    LOOM_WIRE_ENUM(1, loom_plan, kind, LOOM_STAGE_WHOLE + 1),
    LOOM_WIRE(2, TEXT, loom_plan, target),
    LOOM_WIRE_MS(3, loom_plan, extents, n_extents, extent),
    LOOM_WIRE_MS(4, loom_plan, buffers, n_buffers, buffer),
    LOOM_WIRE_MS(5, loom_plan, kernels, n_kernels, kernel),
    LOOM_WIRE_MS(6, loom_plan, ffts, n_ffts, fft),
    LOOM_WIRE_MS(7, loom_plan, actions, n_actions, action),
    LOOM_WIRE(8, U32, loom_plan, chunk_begin),
    LOOM_WIRE_MS(9, loom_plan, outputs, n_outputs, output),
    LOOM_WIRE_MS(10, loom_plan, sites, n_sites, site),
    LOOM_WIRE(11, DOUBLE, loom_plan, bytes_per_element),
    LOOM_WIRE(12, DOUBLE, loom_plan, cost_per_element),
    LOOM_WIRE_N(13, BYTES, loom_plan, tested, tested_length),
    LOOM_WIRE_N(14, BYTES, loom_plan, tested_object, tested_object_length),
};
static LOOM_WIRE_TABLE(plan, loom_plan);

loom_status *loom_plan_encode(const loom_plan *p, char **bytes, size_t *length) {
    LOOM_TRY(loom_plan_check(p));
    loom_buffer out = {0};
    loom_wire_encode(&plan, p, &out);
    *length = out.length;
    *bytes = loom_buffer_take(&out);
    return NULL;
}

loom_status *loom_plan_decode(loom_arena *arena, const void *bytes, size_t length, loom_plan **out) {
    if (length > LOOM_MAX_PLAN_BYTES) {
        return loom_error(LOOM_E_LIMIT, "a plan of %zu bytes: at most %zu are read", length, LOOM_MAX_PLAN_BYTES);
    }
    loom_plan *p = LOOM_NEW(arena, loom_plan);
    LOOM_TRY(loom_wire_decode(&plan, arena, bytes, length, p));
    LOOM_TRY(loom_plan_check(p));
    *out = p;
    return NULL;
}
