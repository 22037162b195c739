/* Counts, JSON and summary of an image. */
#include "common/buffer.h"
#include "image.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- counts ---- */

/* An array of n numbers of 8 bytes. */
static loom_status *take(const loom_value *result, const char *name, loom_dtype dtype, int64_t n, void *to) {
    const loom_leaf *leaf = loom_value_find(result, name);
    if (!leaf || leaf->dtype != dtype || leaf->n_data != n) {
        return loom_error(LOOM_E_INTERNAL, "the imaging program gives no %s", name);
    }
    memcpy(to, leaf->data, (size_t)n * 8);
    return NULL;
}

loom_status *image_read_counts(const image_request *request, const loom_value *result, image_counts *counts) {
    int64_t n[8], planes = 0;
    double sums[2], longest = 0, needed = 0;
    LOOM_TRY(take(result, "counts", LOOM_I64, 8, n));
    LOOM_TRY(take(result, "sums", LOOM_F64, 2, sums));
    if (loom_value_find(result, "image")) {
        LOOM_TRY(take(result, "planes", LOOM_I64, 1, &planes));
        LOOM_TRY(take(result, "needed", LOOM_F64, 1, &needed));
        LOOM_TRY(take(result, "longest", LOOM_F64, 1, &longest));
    }
    if (!(needed <= 1e6)) {
        return loom_status_note(loom_error(LOOM_E_DATA,
                                           "%s: w goes as far as %.3g wavelengths, which needs %.3g w-planes at this "
                                           "size and accuracy",
                                           request->data, longest, needed),
                                "hint: flag such rows, or leave them out by --max-uv, --scan or --time; no real "
                                "baseline is so long");
    }
    *counts = (image_counts){.autocorrelation = n[0],
                             .flagged = n[1],
                             .nonfinite = n[2],
                             .zero_weight = n[3],
                             .uv_range = n[4],
                             .out_of_grid = n[5],
                             .gridded = n[6],
                             .zero_uvw = n[7],
                             .sum_weights = sums[0],
                             .planes = planes,
                             .longest = longest};
    return NULL;
}

image_counts image_total(const image_planes *planes) {
    image_counts t = {0};
    for (int64_t b = 0; b < planes->n_bands; b++) {
        const image_counts *c = &planes->at[b].counts;
        t.autocorrelation += c->autocorrelation;
        t.flagged += c->flagged;
        t.nonfinite += c->nonfinite;
        t.zero_weight += c->zero_weight;
        t.uv_range += c->uv_range;
        t.out_of_grid += c->out_of_grid;
        t.gridded += c->gridded;
        t.zero_uvw += c->zero_uvw;
        t.lost += c->lost;
        t.sum_weights += c->sum_weights;
        if (c->planes > t.planes) t.planes = c->planes;
        t.longest = fmax(t.longest, c->longest);
    }
    return t;
}

int64_t image_counts_sum(const image_counts *c) {
    return c->autocorrelation + c->flagged + c->nonfinite + c->zero_weight + c->uv_range + c->out_of_grid + c->gridded +
           c->lost;
}

bool image_has_weight(const image_counts *c) {
    return c->gridded > 0 && c->sum_weights > 0;
}

static loom_status *weightless(const image_request *request, const image_counts *counts) {
    loom_status *status = loom_error(LOOM_E_DATA,
                                     "no usable visibility in %s: the weights of the %" PRId64
                                     " gridded ones are nothing (their sum is %g)",
                                     request->data, counts->gridded, counts->sum_weights);
    return request->weights.taper > 0
               ? loom_status_note(status, "hint: --taper leaves nothing of baselines that resolve far less than it")
               : status;
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
    if (image_has_weight(counts)) return NULL;
    if (counts->gridded > 0) return weightless(request, counts);
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

static void json_beam(const image_beam *b) {
    double degrees = 180 / M_PI;
    printf(", \"beam_deg\": [%.9g, %.9g, %.9g]", b->major * degrees, b->minor * degrees, b->angle * degrees);
}

static void json_planes(const image_planes *planes) {
    printf(", \"planes\": [");
    for (int64_t i = 0; i < planes->n_products * planes->n_bands; i++) {
        const image_plane *p = &planes->at[i];
        printf("%s{\"stokes\": \"%s\", \"frequency\": %.17g, \"bandwidth\": %.17g, \"gridded\": %" PRId64
               ", \"sum_weights\": %.17g",
               i ? ", " : "", image_product_name(p->product), p->frequency, p->width, p->counts.gridded,
               p->counts.sum_weights);
        if (p->beam.major > 0) json_beam(&p->beam);
        printf("}");
    }
    printf("]");
}

static void json_file(const char *name, const char *path) {
    if (!path) return;
    printf(", \"%s\": ", name);
    json_text(path);
}

void image_print_json(const image_request *request, const loom_ms_info *info, const image_planes *planes,
                      const loom_job_result *job, const image_seconds *seconds) {
    image_counts total = image_total(planes), *c = &total;
    char weights[64];
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
    printf(", \"size\": [%" PRId64 ", %" PRId64 "], \"scale_rad\": %.17g, \"epsilon\": %.6g, \"weight\": ", request->nx,
           request->ny, request->scale, request->epsilon);
    json_text(image_weights_text(&request->weights, weights));
    printf(", \"column\": ");
    json_text(info->column);
    if (planes->at->beam.major > 0) json_beam(&planes->at->beam);
    if (planes->n_products * planes->n_bands > 1) json_planes(planes);
    json_file("aterm", request->aterm);
    json_file("output", request->output);
    json_file("psf", request->psf);
    json_file("png", request->png);
    json_file("grid", request->grid);
    printf("}\n");
}

/* ---- band ---- */

/* The outer edges of all segments. */
typedef struct band {
    double low, high;
    int64_t rows;
} band;

static band whole_band(const loom_ms_info *info) {
    band b = {.low = INFINITY, .high = -INFINITY};
    for (uint32_t i = 0; i < info->n_segments; i++) {
        const loom_ms_segment *s = &info->segments[i];
        b.low = fmin(b.low, s->low);
        b.high = fmax(b.high, s->high);
        b.rows += s->n_rows;
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

static void print_plane(const image_plane *p, int64_t nx, bool named) {
    peak top = find_peak(loom_value_find(p->result->value, "image"), nx);
    if (named) printf("%s at %.6g MHz: ", image_product_name(p->product), p->frequency / 1e6);
    if (!image_has_weight(&p->counts)) {
        printf("%s, blank\n", p->counts.gridded ? "weights that are nothing" : "no usable visibility");
        return;
    }
    printf("peak %.6g Jy/beam at pixel (%" PRId64 ", %" PRId64 "), rms %.3g\n", top.value, top.x, top.y, top.rms);
}

typedef struct angle_unit {
    const char *name;
    double radians;
} angle_unit;

/* Arcseconds, but for angles that only very long baselines see. */
static angle_unit unit_of(double angle) {
    const double arcsec = M_PI / 648000;
    if (angle >= 1e-2 * arcsec) return (angle_unit){"arcsec", arcsec};
    return angle >= 1e-4 * arcsec ? (angle_unit){"mas", 1e-3 * arcsec} : (angle_unit){"uas", 1e-6 * arcsec};
}

void image_print_summary(const image_request *request, const loom_ms_info *info, const image_planes *planes,
                         const image_seconds *seconds) {
    band all = whole_band(info);
    image_counts counts = image_total(planes);
    int64_t n = planes->n_products * planes->n_bands;
    const image_beam *beam = &planes->at->beam;
    loom_buffer left_out = {0};
    counts_text(&counts, &left_out);
    printf("%s: %s, ", request->data, *info->field_name ? info->field_name : "field");
    if (info->n_segments == 1) {
        printf("%" PRId64 " rows of %" PRId64 " channels", all.rows, info->segments[0].n_channels);
    } else {
        printf("%" PRId64 " rows of %" PRIu32 " spectral windows and correlation sets", all.rows, info->n_segments);
    }
    printf(" at %.6g MHz, column %s\n", (all.low + all.high) / 2e6, info->column);
    printf("visibilities: %" PRId64 " read, %" PRId64 " gridded%s%s\n", image_counts_sum(&counts), counts.gridded,
           left_out.length ? ", " : "", left_out.length ? left_out.data : "");
    for (int64_t i = 0; i < n; i++) print_plane(&planes->at[i], request->nx, n > 1);
    if (beam->major > 0) {
        angle_unit unit = unit_of(beam->minor);
        printf("beam %.4g x %.4g %s at %.1f degrees (%s)\n", beam->major / unit.radians, beam->minor / unit.radians,
               unit.name, beam->angle * 180 / M_PI, request->psf);
    }
    angle_unit unit = unit_of(request->scale);
    printf("%s: %" PRId64 " x %" PRId64 " pixels of %.6g %s, %" PRId64 " w-planes, %.1f s\n", request->output,
           request->nx, request->ny, request->scale / unit.radians, unit.name, counts.planes, seconds->total);
    if (request->png) printf("%s\n", request->png);
    if (request->grid) printf("%s\n", request->grid);
    loom_buffer_free(&left_out);
}
