/* Counts, JSON, summary, FITS and PNG of an image. */
#include "common/buffer.h"
#include "image.h"
#include "io/png.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- counts ---- */

static loom_status *take_i64(const loom_value *result, const char *name, int64_t *to) {
    const loom_leaf *leaf = loom_value_find(result, name);
    if (!leaf || leaf->dtype != LOOM_I64 || leaf->depth != 0) {
        return loom_error(LOOM_E_INTERNAL, "the imaging program gives no %s", name);
    }
    *to = *(const int64_t *)leaf->data;
    return NULL;
}

loom_status *image_read_counts(const loom_value *result, image_counts *counts) {
    image_counts c = {0};
    LOOM_TRY(take_i64(result, "counts.autocorrelation", &c.autocorrelation));
    LOOM_TRY(take_i64(result, "counts.flagged", &c.flagged));
    LOOM_TRY(take_i64(result, "counts.nonfinite", &c.nonfinite));
    LOOM_TRY(take_i64(result, "counts.zero_weight", &c.zero_weight));
    LOOM_TRY(take_i64(result, "counts.uv_range", &c.uv_range));
    LOOM_TRY(take_i64(result, "counts.out_of_grid", &c.out_of_grid));
    LOOM_TRY(take_i64(result, "counts.gridded", &c.gridded));
    LOOM_TRY(take_i64(result, "counts.zero_uvw", &c.zero_uvw));
    LOOM_TRY(take_i64(result, "planes", &c.planes));
    const loom_leaf *sum = loom_value_find(result, "sum_weights");
    if (sum && sum->dtype == LOOM_F64 && sum->depth == 0) c.sum_weights = *(const double *)sum->data;
    *counts = c;
    return NULL;
}

int64_t image_counts_sum(const image_counts *c) {
    return c->autocorrelation + c->flagged + c->nonfinite + c->zero_weight + c->uv_range + c->out_of_grid + c->gridded +
           c->lost;
}

static void counts_text(const image_counts *c, loom_buffer *b) {
    const struct {
        const char *name;
        int64_t n;
    } parts[] = {{"autocorrelations", c->autocorrelation},
                 {"flagged", c->flagged},
                 {"not finite", c->nonfinite},
                 {"of weight zero", c->zero_weight},
                 {"outside the uv range", c->uv_range},
                 {"out of the grid", c->out_of_grid},
                 {"lost", c->lost}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].n) loom_buffer_printf(b, "%s%" PRId64 " %s", b->length ? ", " : "", parts[i].n, parts[i].name);
    }
}

loom_status *image_check_counts(const image_request *request, const loom_ms_info *info, const image_counts *counts) {
    int64_t read = 0, sum = image_counts_sum(counts);
    for (uint32_t i = 0; i < info->n_segments; i++) read += info->segments[i].n_rows * info->segments[i].n_channels;
    if (sum != read) {
        return loom_error(LOOM_E_INTERNAL, "of %" PRId64 " visibilities of %s %" PRId64 " are accounted for", read,
                          request->data, sum);
    }
    if (counts->gridded > 0) return NULL;
    if (counts->flagged == sum) {
        return loom_error(LOOM_E_DATA, "no usable visibility in %s: all %" PRId64 " visibilities are flagged",
                          request->data, sum);
    }
    loom_buffer text = {0};
    counts_text(counts, &text);
    loom_status *status = loom_error(LOOM_E_DATA, "no usable visibility in %s: of %" PRId64 " there are %s",
                                     request->data, sum, text.data);
    if (counts->out_of_grid) {
        loom_status_note(status, "hint: a baseline is out of the grid where it is longer than half a wavelength per "
                                 "--scale; smaller pixels let it in");
    }
    loom_buffer_free(&text);
    return status;
}

/* ---- JSON ---- */

static void json_text(const char *text) {
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') {
            printf("\\%c", *text);
        } else if ((unsigned char)*text < ' ') {
            printf("\\u%04x", (unsigned)*text);
        } else {
            putchar(*text);
        }
    }
    putchar('"');
}

void image_print_json(const image_request *request, const image_counts *c, const loom_job_result *job,
                      const image_seconds *seconds) {
    printf("{\"visibilities\": {\"read\": %" PRId64 ", \"autocorrelation\": %" PRId64 ", \"flagged\": %" PRId64
           ", \"nonfinite\": %" PRId64 ", \"zero_weight\": %" PRId64 ", \"uv_range\": %" PRId64
           ", \"out_of_grid\": %" PRId64 ", \"lost\": %" PRId64 ", \"gridded\": %" PRId64 "}",
           image_counts_sum(c), c->autocorrelation, c->flagged, c->nonfinite, c->zero_weight, c->uv_range,
           c->out_of_grid, c->lost, c->gridded);
    printf(", \"zero_uvw\": %" PRId64 ", \"sum_weights\": %.17g, \"w_planes\": %" PRId64, c->zero_uvw, c->sum_weights,
           c->planes);
    printf(", \"releases\": %" PRId64 ", \"blocks_lost\": %" PRId64 ", \"traversals\": %" PRIu32, job->releases,
           job->blocks_lost, job->traversals);
    printf(", \"seconds\": {\"traversal\": %.6f, \"array_stages\": %.6f, \"read\": %.6f, \"write\": %.6f"
           ", \"handover\": %.6f, \"wait\": %.6f, \"compile\": %.6f, \"open\": %.6f, \"total\": %.6f}",
           job->seconds.traversal, job->seconds.array, job->seconds.read, seconds->write, job->seconds.handover,
           job->seconds.wait, job->seconds.compile, seconds->open, seconds->total);
    printf(", \"size\": [%" PRId64 ", %" PRId64 "], \"scale_rad\": %.17g, \"epsilon\": %.6g, \"output\": ", request->nx,
           request->ny, request->scale, request->epsilon);
    json_text(request->output);
    if (request->png) {
        printf(", \"png\": ");
        json_text(request->png);
    }
    printf("}\n");
}

/* ---- band ---- */

/* The outer edges of all segments; a frame only where all agree on it. */
typedef struct band {
    double low, high;
    int64_t rows;
    const char *frame;
} band;

static band whole_band(const loom_ms_info *info) {
    band b = {.low = INFINITY, .high = -INFINITY, .frame = info->segments[0].frequency_frame};
    for (uint32_t i = 0; i < info->n_segments; i++) {
        const loom_ms_segment *s = &info->segments[i];
        b.low = fmin(b.low, s->low);
        b.high = fmax(b.high, s->high);
        b.rows += s->n_rows;
        if (strcmp(b.frame, s->frequency_frame) != 0) b.frame = "";
    }
    return b;
}

/* ---- summary ---- */

typedef struct peak {
    double value;
    int64_t x, y;
    double rms;
} peak;

static peak find_peak(const loom_leaf *image, int64_t nx) {
    peak p = {.value = -INFINITY};
    double squares = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < image->n_data; i++) {
        double v =
            image->dtype == LOOM_F32 ? (double)((const float *)image->data)[i] : ((const double *)image->data)[i];
        if (!isfinite(v)) continue;
        squares += v * v;
        n++;
        if (v > p.value) p = (peak){v, i % nx, i / nx, 0};
    }
    p.rms = n ? sqrt(squares / (double)n) : 0;
    return p;
}

void image_print_summary(const image_request *request, const loom_ms_info *info, const image_counts *counts,
                         const loom_value *result, const image_seconds *seconds) {
    band all = whole_band(info);
    peak p = find_peak(loom_value_find(result, "image"), request->nx);
    loom_buffer left_out = {0};
    counts_text(counts, &left_out);
    printf("%s: %s, ", request->data, *info->field_name ? info->field_name : "field");
    if (info->n_segments == 1) {
        printf("%" PRId64 " rows of %" PRId64 " channels", all.rows, info->segments[0].n_channels);
    } else {
        printf("%" PRId64 " rows of %" PRIu32 " spectral windows and correlation sets", all.rows, info->n_segments);
    }
    printf(" at %.6g MHz\n", (all.low + all.high) / 2e6);
    printf("visibilities: %" PRId64 " read, %" PRId64 " gridded%s%s\n", image_counts_sum(counts), counts->gridded,
           left_out.length ? ", " : "", left_out.length ? left_out.data : "");
    printf("peak %.6g Jy/beam at pixel (%" PRId64 ", %" PRId64 "), rms %.3g\n", p.value, p.x, p.y, p.rms);
    printf("%s: %" PRId64 " x %" PRId64 " pixels of %.6g arcsec, %" PRId64 " w-planes, %.1f s\n", request->output,
           request->nx, request->ny, request->scale * 648000 / M_PI, counts->planes, seconds->total);
    if (request->png) printf("%s\n", request->png);
    loom_buffer_free(&left_out);
}

/* ---- files ---- */

static loom_status *write_fits(const image_request *request, const loom_ms_info *info, const image_counts *c,
                               const loom_leaf *image) {
    band all = whole_band(info);
    char *counts = loom_xprintf("visibilities: read %" PRId64 ", gridded %" PRId64 ", autocorrelation %" PRId64
                                ", flagged %" PRId64 ", nonfinite %" PRId64 ", zero weight %" PRId64
                                ", outside the uv range %" PRId64 ", out of grid %" PRId64 ", lost %" PRId64,
                                image_counts_sum(c), c->gridded, c->autocorrelation, c->flagged, c->nonfinite,
                                c->zero_weight, c->uv_range, c->out_of_grid, c->lost);
    char *how = loom_xprintf("natural weights, sum %.9g; epsilon %g; column %s", c->sum_weights, request->epsilon,
                             info->column);
    const char *const history[] = {"gridloom " GRIDLOOM_VERSION, request->command, counts, how};
    loom_fits_image fits = {.dtype = image->dtype,
                            .nx = request->nx,
                            .ny = request->ny,
                            .pixels = image->data,
                            .scale = request->scale,
                            .ra = info->ra,
                            .dec = info->dec,
                            .frame = info->frame,
                            .frequency = (all.low + all.high) / 2,
                            .bandwidth = all.high - all.low,
                            .frequency_frame = all.frame,
                            .unit = "JY/BEAM",
                            .object = info->field_name,
                            .telescope = info->telescope,
                            .observer = info->observer,
                            .date_obs = isfinite(info->time_first) ? info->time_first : 0,
                            .history = history,
                            .n_history = sizeof history / sizeof *history};
    loom_status *status = loom_fits_write(request->output, &fits);
    free(counts);
    free(how);
    return status;
}

loom_status *image_write(const image_request *request, const loom_ms_info *info, const image_counts *counts,
                         const loom_value *result) {
    const loom_leaf *image = loom_value_find(result, "image");
    if (!image || image->depth != 2 || image->extents[0] != request->ny || image->extents[1] != request->nx) {
        return loom_error(LOOM_E_INTERNAL, "the imaging program gives no image of %" PRId64 " x %" PRId64, request->nx,
                          request->ny);
    }
    LOOM_TRY(write_fits(request, info, counts, image));
    if (!request->png) return NULL;
    bool grey = strcmp(request->colours, "grey") == 0;
    loom_png_picture picture = {.dtype = image->dtype,
                                .nx = request->nx,
                                .ny = request->ny,
                                .pixels = image->data,
                                .colours = grey ? LOOM_PNG_GREY : LOOM_PNG_INFERNO};
    return loom_png_write(request->png, &picture);
}
