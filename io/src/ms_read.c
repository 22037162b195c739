/* Reading blocks of a MeasurementSet. casacore hands arrays over with the correlation fastest, which is C order
 * [row][channel][correlation], so visibilities and flags are read straight into the columns of a block. */
#include "common/buffer.h"
#include "ms_impl.h"
#include "rows.h"
#include "source_impl.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Rows of a block, or of a stretch of one. */
typedef struct part {
    loom_run *runs;
    int64_t n;
} part;

typedef struct block {
    const loom_ms_state *st;
    const loom_ms_rows_of *rows;
    const loom_ms_segment *segment;
    int64_t first, count; /* inside the segment */
    part part;
    loom_casa_slice cells; /* [channels][correlations] of DATA, FLAG, WEIGHT_SPECTRUM */
    loom_value *value;
} block;

static loom_status *read_scalars(const block *b, const char *column, loom_dtype dtype, int leaf) {
    char *to = b->value->leaves[leaf].data;
    for (int64_t r = 0; r < b->part.n; r++) {
        LOOM_TRY(loom_casa_scalars(b->st->main, column, dtype, b->part.runs[r].row, b->part.runs[r].count, to));
        to += (size_t)b->part.runs[r].count * loom_dtype_size(dtype);
    }
    return NULL;
}

static loom_status *read_uvw(const block *b) {
    double *uvw = malloc((size_t)b->count * 3 * sizeof *uvw + 1);
    if (!uvw) return loom_error(LOOM_E_MEMORY, "no memory for %" PRId64 " rows of UVW", b->count);
    loom_casa_slice slice = {.rank = 1, .shape = {3}, .from = 0, .n = 3};
    loom_status *status = loom_casa_arrays(b->st->main, "UVW", LOOM_F64, b->part.runs, b->part.n, &slice, uvw);
    for (int k = 0; k < 3 && !status; k++) {
        double *to = b->value->leaves[COL_U + k].data;
        for (int64_t i = 0; i < b->count; i++) to[i] = uvw[3 * i + k];
    }
    free(uvw);
    return status;
}

/* FLAG_ROW flags everything in its row. */
static loom_status *read_flags(const block *b) {
    LOOM_TRY(loom_casa_arrays(b->st->main, "FLAG", LOOM_BOOL, b->part.runs, b->part.n, &b->cells,
                              b->value->leaves[COL_FLAG].data));
    bool *row = malloc((size_t)b->count + 1), *flags = b->value->leaves[COL_FLAG].data;
    if (!row) return loom_error(LOOM_E_MEMORY, "no memory for %" PRId64 " flags", b->count);
    loom_status *status = NULL;
    for (int64_t r = 0, at = 0; r < b->part.n && !status; r++) {
        status =
            loom_casa_scalars(b->st->main, "FLAG_ROW", LOOM_BOOL, b->part.runs[r].row, b->part.runs[r].count, row + at);
        at += b->part.runs[r].count;
    }
    size_t cells = (size_t)(b->segment->n_channels * b->segment->n_correlations);
    for (int64_t i = 0; i < b->count && !status; i++) {
        if (row[i]) memset(flags + (size_t)i * cells, 1, cells);
    }
    free(row);
    return status;
}

/* WEIGHT of rows [from, from + n) of the block, the same in each channel. */
static loom_status *spread_weight(const block *b, const part *rows, int64_t from, int64_t n) {
    int64_t h = b->segment->n_correlations, c = b->segment->n_channels;
    float *weight = malloc((size_t)(n * h) * sizeof *weight + 1);
    if (!weight) return loom_error(LOOM_E_MEMORY, "no memory for %" PRId64 " weights", n * h);
    loom_casa_slice slice = {.rank = 1, .shape = {h}, .from = 0, .n = h};
    loom_status *status = loom_casa_arrays(b->st->main, "WEIGHT", LOOM_F32, rows->runs, rows->n, &slice, weight);
    float *to = (float *)b->value->leaves[COL_WT].data + from * c * h;
    for (int64_t i = 0; i < n && !status; i++) {
        const float *cell = weight + i * h;
        for (int64_t k = 0; k < c; k++) {
            for (int64_t j = 0; j < h; j++) *to++ = cell[j];
        }
    }
    free(weight);
    return status;
}

static loom_status *read_stretch(const block *b, int64_t from, int64_t n, bool spectrum) {
    part rows;
    LOOM_TRY(loom_runs_cut(&b->rows->runs, b->first + from, n, &rows.runs, &rows.n));
    float *to = (float *)b->value->leaves[COL_WT].data + from * b->segment->n_channels * b->segment->n_correlations;
    loom_status *status =
        spectrum ? loom_casa_arrays(b->st->main, "WEIGHT_SPECTRUM", LOOM_F32, rows.runs, rows.n, &b->cells, to)
                 : spread_weight(b, &rows, from, n);
    free(rows.runs);
    return status;
}

/* Row by row WEIGHT_SPECTRUM where there is one, in as few reads as stretches of like rows. */
static loom_status *read_weights(const block *b) {
    bool *has = calloc((size_t)b->count + 1, sizeof *has);
    if (!has) return loom_error(LOOM_E_MEMORY, "out of memory");
    loom_status *status = NULL;
    if (b->st->has_spectrum) {
        status = loom_casa_has_shape(b->st->main, "WEIGHT_SPECTRUM", b->part.runs, b->part.n, 2, b->cells.shape, has);
    }
    for (int64_t i = 0, end; i < b->count && !status; i = end) {
        for (end = i; end < b->count && has[end] == has[i]; end++) {}
        status = read_stretch(b, i, end - i, has[i]);
    }
    free(has);
    return status;
}

static loom_status *read_block(block *b) {
    LOOM_TRY(loom_runs_cut(&b->rows->runs, b->first, b->count, &b->part.runs, &b->part.n));
    LOOM_TRY(loom_rows_create(b->segment, b->count, &b->value));
    if (b->count == 0) return NULL;
    LOOM_TRY(read_uvw(b));
    LOOM_TRY(read_scalars(b, "TIME", LOOM_F64, COL_TIME));
    LOOM_TRY(read_scalars(b, "ANTENNA1", LOOM_I32, COL_ANTENNA1));
    LOOM_TRY(read_scalars(b, "ANTENNA2", LOOM_I32, COL_ANTENNA2));
    LOOM_TRY(loom_casa_arrays(b->st->main, b->st->column, LOOM_C64, b->part.runs, b->part.n, &b->cells,
                              b->value->leaves[COL_VIS].data));
    LOOM_TRY(read_flags(b));
    return read_weights(b);
}

static loom_status *ms_read(loom_source *source, int64_t first, int64_t count, loom_value **elements) {
    const loom_ms_state *st = source->state;
    uint32_t s = loom_source_segment_at(source, first);
    block b = {.st = st, .rows = &st->rows[s], .segment = &st->segments[s], .count = count};
    b.first = first - source->segment_first[s];
    b.cells = (loom_casa_slice){.rank = 2,
                                .shape = {b.segment->n_correlations, b.rows->file_channels},
                                .from = b.rows->channel_from,
                                .n = b.segment->n_channels};
    loom_status *status = read_block(&b);
    free(b.part.runs);
    if (status) {
        loom_value_unref(b.value);
        return status;
    }
    *elements = b.value;
    return NULL;
}

static loom_status *ms_constants(loom_source *source, uint32_t segment, loom_value **constants) {
    const loom_ms_state *st = source->state;
    return loom_rows_constants(&st->segments[segment], constants);
}

void loom_ms_state_free(loom_ms_state *state) {
    if (!state) return;
    loom_casa_close(state->main);
    for (uint32_t i = 0; i < state->n_segments; i++) loom_runs_free(&state->rows[i].runs);
    free(state->rows);
    loom_rows_free_segments(state->segments, state->n_segments);
    free(state->column);
    free(state);
}

static void ms_destroy(loom_source *source) {
    loom_ms_state_free(source->state);
}

const loom_source_kind loom_ms_kind = {"ms", ms_read, ms_constants, ms_destroy};
