/* Reading groups and blocks of UVFITS. Groups stand side by side behind the header, big-endian numbers of one type,
 * parameters first: they are read from where cfitsio says that they begin, without its buffers of one FITS block, since
 * a segment wants a stretch of each group only, and without its lock. */
#include "rows.h"
#include "source_impl.h"
#include "uv_impl.h"
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes read in one go, unless one group is larger. */
#define BATCH_BYTES (1 << 20)
/* Groups are read with the parts that nobody wants where those are shorter than this: a seek costs more. */
#define SKIP_BYTES    4096

#define MJD_OF_JULIAN 2400000.5

/* ---- numbers ---- */

static uint32_t word_at(const unsigned char *at) {
    uint32_t x;
    memcpy(&x, at, sizeof x);
    return be32toh(x);
}

static uint64_t big_endian(const unsigned char *at, int bytes) {
    uint64_t x = 0;
    for (int i = 0; i < bytes; i++) x = x << 8 | at[i];
    return x;
}

static float f32_at(const unsigned char *at) {
    uint32_t bits = word_at(at);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double f64_at(const unsigned char *at) {
    uint64_t bits = big_endian(at, 8);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static int64_t integer_at(const unsigned char *at, int bitpix) {
    switch (bitpix) {
    case 8: return at[0];
    case 16: return (int16_t)big_endian(at, 2);
    case 32: return (int32_t)word_at(at);
    default: return (int64_t)big_endian(at, 8);
    }
}

static double number_at(const loom_uv_header *h, const unsigned char *at) {
    if (h->bitpix == -32) return (double)f32_at(at);
    if (h->bitpix == -64) return f64_at(at);
    return (double)integer_at(at, h->bitpix);
}

/* ---- stretches of groups ---- */

loom_status *loom_uv_reader_open(loom_uv_reader *reader, const loom_uv_state *state, int64_t cell_from,
                                 int64_t cell_to) {
    const loom_uv_header *h = &state->header;
    loom_uv_reader r = {.state = state, .from = cell_from * h->item, .to = cell_to * h->item};
    int64_t wanted = h->parameter_bytes + r.to - r.from;
    r.whole = h->group_bytes - wanted < SKIP_BYTES;
    r.pitch = r.whole ? h->group_bytes : wanted;
    r.batch = r.pitch < BATCH_BYTES ? BATCH_BYTES / r.pitch : 1;
    if (r.batch > h->n_groups) r.batch = h->n_groups;
    r.raw = malloc((size_t)(r.batch * r.pitch) + 1);
    if (!r.raw) {
        return loom_error(LOOM_E_MEMORY, "no memory for a group of %s, which has %" PRId64 " bytes", state->path,
                          r.pitch);
    }
    *reader = r;
    return NULL;
}

static loom_status *read_bytes(const loom_uv_state *st, int64_t group, int64_t from, int64_t n, unsigned char *to) {
    int64_t at = st->header.start + group * st->header.group_bytes + from;
    while (n > 0) {
        ssize_t got = pread(st->fd, to, (size_t)n, at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return loom_error_errno(LOOM_E_IO, errno, "cannot read %s", st->path);
        if (got == 0) return loom_error(LOOM_E_IO, "%s has become shorter while it was read", st->path);
        to += got;
        at += got;
        n -= got;
    }
    return NULL;
}

loom_status *loom_uv_reader_fill(loom_uv_reader *reader, int64_t group, int64_t n) {
    const loom_uv_state *st = reader->state;
    const loom_uv_header *h = &st->header;
    if (reader->whole) return read_bytes(st, group, 0, n * reader->pitch, reader->raw);
    for (int64_t i = 0; i < n; i++) {
        unsigned char *to = reader->raw + i * reader->pitch;
        LOOM_TRY(read_bytes(st, group + i, 0, h->parameter_bytes, to));
        LOOM_TRY(read_bytes(st, group + i, h->parameter_bytes + reader->from, reader->to - reader->from,
                            to + h->parameter_bytes));
    }
    return NULL;
}

/* Up to 2^16 - 1 a baseline is 256 a + b, above it 2^16 + 2048 a + b, from 2^16 + 2^22 on that and 2^31 a + b; the
 * fraction is the subarray, and rounding may have taken a little off. */
static void split_baseline(double baseline, int32_t *antenna1, int32_t *antenna2) {
    const int64_t first = 65536, second = first + 4194304;
    *antenna1 = *antenna2 = -1;
    if (!(baseline >= 0 && baseline < 0x1p62)) return;
    int64_t b = (int64_t)floor(baseline + 1e-3);
    int64_t base = b >= second ? INT64_C(1) << 31 : b >= first ? 2048 : 256;
    int64_t rest = b - (b >= second ? second : b >= first ? first : 0);
    *antenna1 = (int32_t)(rest / base);
    *antenna2 = (int32_t)(rest % base);
}

static int32_t antenna_of(double x) {
    return x >= 0 && x < 0x1p31 ? (int32_t)floor(x + 1e-3) : -1;
}

loom_uv_group loom_uv_reader_group(const loom_uv_reader *reader, int64_t i) {
    const loom_uv_header *h = &reader->state->header;
    const unsigned char *at = reader->raw + i * reader->pitch;
    double sums[UV_ROLES] = {[UV_DATE] = -MJD_OF_JULIAN};
    for (int64_t p = 0; p < h->n_parameters; p++, at += h->item) {
        const loom_uv_parameter *parameter = &h->parameters[p];
        double x = number_at(h, at) * parameter->scale;
        /* The zero point of a date is a large part of it: taken off first, the sum keeps microseconds. */
        sums[parameter->role] += parameter->zero;
        sums[parameter->role] += x;
    }
    loom_uv_group g = {.u = sums[UV_U] * LOOM_LIGHT_SPEED,
                       .v = sums[UV_V] * LOOM_LIGHT_SPEED,
                       .w = sums[UV_W] * LOOM_LIGHT_SPEED,
                       .time = h->has[UV_DATE] ? sums[UV_DATE] * 86400 : (double)NAN,
                       .source = sums[UV_SOURCE],
                       .setup = sums[UV_FREQSEL]};
    if (h->has[UV_BASELINE]) {
        split_baseline(sums[UV_BASELINE], &g.antenna1, &g.antenna2);
    } else {
        g.antenna1 = antenna_of(sums[UV_ANTENNA1]);
        g.antenna2 = antenna_of(sums[UV_ANTENNA2]);
    }
    return g;
}

void loom_uv_reader_cells(const loom_uv_reader *reader, int64_t i, double *to) {
    const loom_uv_header *h = &reader->state->header;
    const unsigned char *at = reader->raw + i * reader->pitch + h->parameter_bytes + (reader->whole ? reader->from : 0);
    int64_t n = (reader->to - reader->from) / h->item;
    if (h->bitpix == -32) {
        for (int64_t k = 0; k < n; k++) to[k] = (double)f32_at(at + 4 * k) * h->scale + h->zero;
        return;
    }
    for (int64_t k = 0; k < n; k++, at += h->item) {
        bool blank = h->has_blank && integer_at(at, h->bitpix) == h->blank;
        to[k] = blank ? (double)NAN : number_at(h, at) * h->scale + h->zero;
    }
}

void loom_uv_reader_close(loom_uv_reader *reader) {
    free(reader->raw);
    reader->raw = NULL;
}

/* ---- blocks ---- */

typedef struct block {
    const loom_uv_state *st;
    const loom_ms_segment *segment;
    int64_t base; /* cell of the first channel selected of this IF */
    int64_t first, count;
    loom_run *runs;
    int64_t n_runs;
    loom_uv_reader reader;
    double *cells; /* of one group, from the reader's first on */
    loom_value *value;
} block;

/* The stretch of cells that this block's channels, correlations and parts lie in, whatever the order of the axes. */
static loom_status *open_reader(block *b) {
    const loom_uv_axis *axes = b->st->header.axes;
    int64_t last = b->base + (b->segment->n_channels - 1) * axes[UV_FREQ].stride +
                   (axes[UV_STOKES].n - 1) * axes[UV_STOKES].stride +
                   (axes[UV_COMPLEX].n - 1) * axes[UV_COMPLEX].stride;
    LOOM_TRY(loom_uv_reader_open(&b->reader, b->st, b->base, last + 1));
    b->cells = malloc((size_t)(last + 1 - b->base) * sizeof *b->cells);
    if (!b->cells) return loom_error(LOOM_E_MEMORY, "no memory for a group of %s", b->st->path);
    return NULL;
}

static void put_parameters(block *b, int64_t row, int64_t i) {
    loom_uv_group g = loom_uv_reader_group(&b->reader, i);
    const loom_leaf *leaves = b->value->leaves;
    ((double *)leaves[COL_U].data)[row] = g.u;
    ((double *)leaves[COL_V].data)[row] = g.v;
    ((double *)leaves[COL_W].data)[row] = g.w;
    ((double *)leaves[COL_TIME].data)[row] = g.time;
    ((int32_t *)leaves[COL_ANTENNA1].data)[row] = g.antenna1;
    ((int32_t *)leaves[COL_ANTENNA2].data)[row] = g.antenna2;
}

static void put_cells(block *b, int64_t row, int64_t i) {
    const loom_uv_axis *frequency = &b->st->header.axes[UV_FREQ], *stokes = &b->st->header.axes[UV_STOKES];
    const loom_uv_axis *parts = &b->st->header.axes[UV_COMPLEX];
    int64_t c = b->segment->n_channels, h = b->segment->n_correlations;
    float *vis = (float *)b->value->leaves[COL_VIS].data + row * c * h * 2;
    float *weight = (float *)b->value->leaves[COL_WT].data + row * c * h;
    bool *flag = (bool *)b->value->leaves[COL_FLAG].data + row * c * h;
    loom_uv_reader_cells(&b->reader, i, b->cells);
    for (int64_t channel = 0, k = 0; channel < c; channel++) {
        const double *at = b->cells + channel * frequency->stride;
        for (int64_t hand = 0; hand < h; hand++, k++, at += stokes->stride) {
            double w = parts->n == 3 ? at[2 * parts->stride] : 1;
            vis[2 * k] = (float)at[0];
            vis[2 * k + 1] = (float)at[parts->stride];
            weight[k] = (float)fabs(w);
            flag[k] = w <= 0;
        }
    }
}

static loom_status *read_rows(block *b) {
    int64_t row = 0;
    for (int64_t r = 0; r < b->n_runs; r++) {
        for (int64_t at = 0; at < b->runs[r].count; at += b->reader.batch) {
            int64_t left = b->runs[r].count - at, n = left < b->reader.batch ? left : b->reader.batch;
            LOOM_TRY(loom_uv_reader_fill(&b->reader, b->runs[r].row + at, n));
            for (int64_t i = 0; i < n; i++, row++) {
                put_parameters(b, row, i);
                put_cells(b, row, i);
            }
        }
    }
    return NULL;
}

static loom_status *read_block(block *b, const loom_runs *runs) {
    LOOM_TRY(loom_runs_cut(runs, b->first, b->count, &b->runs, &b->n_runs));
    LOOM_TRY(loom_rows_create(b->segment, b->count, &b->value));
    if (b->count == 0) return NULL;
    LOOM_TRY(open_reader(b));
    return read_rows(b);
}

static loom_status *uv_read(loom_source *source, int64_t first, int64_t count, loom_value **elements) {
    const loom_uv_state *st = source->state;
    uint32_t s = loom_source_segment_at(source, first);
    const loom_uv_segment *segment = &st->uv_segments[s];
    block b = {.st = st, .segment = &st->segments[s], .first = first - source->segment_first[s], .count = count};
    b.base = segment->window * st->header.axes[UV_IF].stride + st->channel_from * st->header.axes[UV_FREQ].stride;
    loom_status *status = read_block(&b, &st->setups[segment->setup].runs);
    loom_uv_reader_close(&b.reader);
    free(b.cells);
    free(b.runs);
    if (status) {
        loom_value_unref(b.value);
        return status;
    }
    *elements = b.value;
    return NULL;
}

static loom_status *uv_constants(loom_source *source, uint32_t segment, loom_value **constants) {
    const loom_uv_state *st = source->state;
    return loom_rows_constants(&st->segments[segment], constants);
}

void loom_uv_state_free(loom_uv_state *state) {
    if (!state) return;
    if (state->fd >= 0) close(state->fd);
    for (int64_t i = 0; i < state->n_setups; i++) {
        free(state->setups[i].offsets);
        free(state->setups[i].increment);
        loom_runs_free(&state->setups[i].runs);
    }
    loom_rows_free_segments(state->segments, state->n_segments);
    free(state->setups);
    free(state->uv_segments);
    loom_uv_header_free(&state->header);
    free(state->path);
    free(state);
}

static void uv_destroy(loom_source *source) {
    loom_uv_state_free(source->state);
}

const loom_source_kind loom_uv_kind = {"uvfits", uv_read, uv_constants, uv_destroy};
