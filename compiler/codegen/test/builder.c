#include "builder.h"

builder b_open(uint32_t stage_kind) {
    builder b = {.arena = loom_arena_create(0)};
    b.l = loom_lifted_create(b.arena, NULL);
    b.l->stage_kind = stage_kind;
    return b;
}

loom_axis_id b_chunk(builder *b) {
    return loom_lifted_axis(b->l, (loom_axis){.kind = LOOM_AXIS_CHUNK, .value = LOOM_NONE});
}

loom_axis_id b_const(builder *b, int64_t extent) {
    return loom_lifted_const_axis(b->l, extent);
}

loom_axis_id b_input_axis(builder *b, loom_lvalue_id value, uint32_t level) {
    return loom_lifted_axis(b->l, (loom_axis){.kind = LOOM_AXIS_INPUT, .value = value, .level = level});
}

static uint32_t length(const uint32_t *list) {
    uint32_t n = 0;
    while (list[n] != LOOM_NONE) n++;
    return n;
}

loom_lvalue_id b_value(builder *b, loom_lsource source, uint32_t index, loom_dtype dtype, const char *name,
                       const loom_axis_id *axes) {
    return loom_lifted_value(b->l, (loom_lvalue){.dtype = dtype,
                                                 .source = source,
                                                 .index = index,
                                                 .n_axes = length(axes),
                                                 .axes = axes,
                                                 .op = LOOM_NONE,
                                                 .name = name});
}

void b_begin(builder *b) {
    b->block_first = b->l->n_exprs;
}

loom_lblock_id b_end(builder *b, uint32_t n_params, const loom_dtype *params, uint32_t n_results,
                     const loom_lexpr_id *results) {
    return loom_lifted_block(b->l, b->block_first, n_params, params, n_results, results);
}

static loom_lexpr_id without_blocks(builder *b, loom_lexpr e, const loom_lexpr_id *args, uint32_t n) {
    e.blocks[0] = e.blocks[1] = LOOM_NONE;
    return loom_lifted_expr(b->l, e, args, n);
}

loom_lexpr_id b_axis(builder *b, uint32_t position) {
    return without_blocks(b, (loom_lexpr){.kind = LOOM_LX_AXIS, .dtype = LOOM_I64, .aux = position, .site = LOOM_NONE},
                          NULL, 0);
}

loom_lexpr_id b_param(builder *b, loom_dtype dtype, uint32_t n) {
    return without_blocks(b, (loom_lexpr){.kind = LOOM_LX_PARAM, .dtype = dtype, .aux = n, .site = LOOM_NONE}, NULL, 0);
}

static loom_lexpr_id constant(builder *b, loom_dtype dtype, loom_scalar imm) {
    return without_blocks(b, (loom_lexpr){.kind = LOOM_LX_CONST, .dtype = dtype, .imm = imm, .site = LOOM_NONE}, NULL,
                          0);
}

loom_lexpr_id b_i64(builder *b, int64_t value) {
    return constant(b, LOOM_I64, (loom_scalar){.i = value});
}

loom_lexpr_id b_real(builder *b, loom_dtype dtype, double value) {
    return constant(b, dtype,
                    loom_dtype_is_complex(dtype) ? (loom_scalar){.c = {value, 0}} : (loom_scalar){.f = value});
}

loom_lexpr_id b_extent(builder *b, loom_axis_id axis) {
    return without_blocks(b, (loom_lexpr){.kind = LOOM_LX_EXTENT, .dtype = LOOM_I64, .aux = axis, .site = LOOM_NONE},
                          NULL, 0);
}

loom_lexpr_id b_prim(builder *b, loom_prim prim, loom_lexpr_id x, loom_lexpr_id y) {
    loom_lexpr_id args[2] = {x, y};
    loom_dtype types[3] = {b->l->exprs[x].dtype, y == LOOM_NONE ? LOOM_BOOL : b->l->exprs[y].dtype, LOOM_BOOL};
    loom_lexpr e = {
        .kind = LOOM_LX_PRIM, .prim = (uint16_t)prim, .dtype = loom_prim_result(prim, types), .site = LOOM_NONE};
    return without_blocks(b, e, args, y == LOOM_NONE ? 1 : 2);
}

loom_lexpr_id b_convert(builder *b, loom_dtype to, loom_lexpr_id x) {
    return without_blocks(b, (loom_lexpr){.kind = LOOM_LX_CONVERT, .dtype = to, .site = LOOM_NONE}, &x, 1);
}

loom_lexpr_id b_load(builder *b, loom_lvalue_id value, loom_load_mode mode, loom_lsite_id site,
                     const loom_lexpr_id *indices) {
    loom_lexpr e = {.kind = LOOM_LX_LOAD, .mode = mode, .dtype = b->l->values[value].dtype, .aux = value, .site = site};
    return without_blocks(b, e, indices, length(indices));
}

loom_lsite_id b_site(builder *b, const char *format) {
    return loom_lifted_site(b->l, (loom_span){0}, format, NULL);
}

loom_lblock_id b_operator(builder *b, loom_prim prim, loom_dtype dtype) {
    b_begin(b);
    loom_lexpr_id a = b_param(b, dtype, 0), x = b_param(b, dtype, 1);
    return b_end(b, 2, (const loom_dtype[]){dtype, dtype}, RESULTS(b_prim(b, prim, a, x)));
}

loom_lblock_id b_neutral(builder *b, loom_dtype dtype, double value) {
    b_begin(b);
    return b_end(b, 0, NULL, RESULTS(b_real(b, dtype, value)));
}

static loom_lop empty_op(loom_lop_kind kind, const loom_axis_id *axes) {
    loom_lop op = loom_lifted_empty(kind);
    op.n_axes = length(axes);
    op.axes = axes;
    return op;
}

loom_axis_id b_segments(builder *b, loom_lvalue_id lengths, const loom_axis_id *axes) {
    loom_axis a = {.kind = LOOM_AXIS_SEGMENTED, .lengths = lengths};
    a.offsets = b_made(b, LOOM_I64, "offsets", axes);
    a.total = b_made(b, LOOM_I64, "total", NO_AXES);
    loom_lop op = empty_op(LOOM_LO_OFFSETS, axes);
    op.n_args = 1;
    op.args = &lengths;
    op.n_results = 2;
    op.results = (loom_lvalue_id[]){a.offsets, a.total};
    loom_lifted_op(b->l, op);
    return loom_lifted_axis(b->l, a);
}

loom_lop_id b_compute(builder *b, const loom_axis_id *axes, loom_lblock_id body, uint32_t n,
                      const loom_lvalue_id *results) {
    loom_lop op = empty_op(LOOM_LO_COMPUTE, axes);
    op.body = body;
    op.n_results = n;
    op.results = results;
    return loom_lifted_op(b->l, op);
}

loom_lop_id b_reduce(builder *b, const loom_axis_id *axes, uint32_t position, loom_lblock_id body,
                     loom_lblock_id combine, loom_lblock_id ne, uint32_t n, const loom_lvalue_id *results) {
    loom_lop op = empty_op(LOOM_LO_REDUCE, axes);
    op.body = body;
    op.combine = combine;
    op.ne = ne;
    op.reduce = position;
    op.n_results = n;
    op.results = results;
    return loom_lifted_op(b->l, op);
}

loom_lop_id b_fft(builder *b, loom_lvalue_id from, loom_lvalue_id to, uint32_t rank, bool inverse) {
    loom_axis_id axes[LOOM_LIFTED_MAX_AXES + 1];
    const loom_lvalue *v = &b->l->values[to];
    for (uint32_t i = 0; i < v->n_axes; i++) axes[i] = v->axes[i];
    axes[v->n_axes] = LOOM_NONE;
    loom_lop op = empty_op(LOOM_LO_FFT, axes);
    op.n_args = op.n_results = 1;
    op.args = &from;
    op.results = &to;
    op.fft_rank = rank;
    op.inverse = inverse;
    return loom_lifted_op(b->l, op);
}

static loom_loutput *new_output(builder *b, loom_output_kind kind) {
    static const char *const names[] = {""};
    b->l->outputs =
        loom_arena_grow(b->arena, b->l->outputs, b->l->n_outputs, b->l->n_outputs + 1, sizeof *b->l->outputs);
    loom_loutput *out = &b->l->outputs[b->l->n_outputs++];
    *out = (loom_loutput){.kind = kind, .n_leaves = 1, .names = names, .combine = LOOM_NONE};
    return out;
}

void b_output(builder *b, loom_output_kind kind, loom_lvalue_id value, loom_lblock_id combine) {
    loom_loutput *out = new_output(b, kind);
    const loom_lvalue *v = &b->l->values[value];
    loom_lvalue_id *values = LOOM_NEW(b->arena, loom_lvalue_id);
    loom_dtype *dtypes = LOOM_NEW(b->arena, loom_dtype);
    *values = value;
    *dtypes = v->dtype;
    out->values = values;
    out->dtypes = dtypes;
    out->neutral = LOOM_NEW(b->arena, loom_scalar);
    out->n_axes = v->n_axes;
    out->axes = v->axes;
    out->combine = combine;
}

uint32_t b_accumulator(builder *b, loom_dtype dtype, const loom_axis_id *axes, loom_lblock_id combine) {
    loom_loutput *out = new_output(b, LOOM_OUT_PERMUTE);
    loom_lvalue_id *values = LOOM_NEW(b->arena, loom_lvalue_id);
    loom_dtype *dtypes = LOOM_NEW(b->arena, loom_dtype);
    *values = LOOM_NONE;
    *dtypes = dtype;
    out->values = values;
    out->dtypes = dtypes;
    out->neutral = LOOM_NEW(b->arena, loom_scalar);
    out->n_axes = length(axes);
    loom_axis_id *copy = LOOM_NEW_ARRAY(b->arena, loom_axis_id, (size_t)out->n_axes + 1);
    for (uint32_t i = 0; i < out->n_axes; i++) copy[i] = axes[i];
    out->axes = copy;
    out->combine = combine;
    return b->l->n_outputs - 1;
}
