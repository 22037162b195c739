/* The files of an image: FITS of the image and of the PSF, PNG, gridded samples. All of them are put in place together.
 */
#include "common/buffer.h"
#include "image.h"
#include "io/npy.h"
#include "io/png.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const loom_leaf *image_leaf(const loom_job_result *result) {
    return loom_value_find(result->value, "image");
}

loom_status *image_check_result(const image_request *r, const loom_job_result *result) {
    const loom_leaf *image = image_leaf(result);
    if (!image || image->depth != 2 || image->extents[0] != r->ny || image->extents[1] != r->nx) {
        return loom_error(LOOM_E_INTERNAL, "the imaging program gives no image of %" PRId64 " x %" PRId64, r->nx,
                          r->ny);
    }
    if (image->dtype != LOOM_F32) return NULL;
    for (int64_t i = 0; i < image->n_data; i++) {
        if (!isinf(((const float *)image->data)[i])) continue;
        return loom_status_note(
            loom_error(LOOM_E_DATA, "%s: the image has values that single precision cannot hold", r->data),
            "hint: an --epsilon below 1e-5 images in double precision");
    }
    return NULL;
}

/* ---- history ---- */

typedef struct history {
    char *lines[4];
} history;

static history make_history(const image_request *r, const loom_ms_info *info, const image_planes *planes) {
    image_counts c = image_total(planes);
    char weights[64];
    history h = {0};
    h.lines[0] = loom_xprintf("gridloom %s", loom_version());
    h.lines[1] = loom_xstrdup(r->command);
    h.lines[2] = loom_xprintf("visibilities%s%s: read %" PRId64 ", gridded %" PRId64 ", autocorrelation %" PRId64
                              ", flagged %" PRId64 ", nonfinite %" PRId64 ", zero weight %" PRId64
                              ", outside the uv range %" PRId64 ", out of grid %" PRId64 ", lost %" PRId64,
                              planes->n_products > 1 ? " of " : "",
                              planes->n_products > 1 ? image_product_name(planes->at->product) : "",
                              image_counts_sum(&c), c.gridded, c.autocorrelation, c.flagged, c.nonfinite, c.zero_weight,
                              c.uv_range, c.out_of_grid, c.lost);
    h.lines[3] = loom_xprintf("%s, sum %.9g; epsilon %g; column %s", image_weights_text(&r->weights, weights),
                              c.sum_weights, r->epsilon, info->column);
    return h;
}

static void free_history(history *h) {
    for (size_t i = 0; i < sizeof h->lines / sizeof *h->lines; i++) free(h->lines[i]);
}

/* ---- FITS ---- */

/* Frame of the frequencies, where all segments agree on it. */
static const char *frame_of(const loom_ms_info *info) {
    const char *frame = info->segments[0].frequency_frame;
    for (uint32_t i = 1; i < info->n_segments; i++) {
        if (strcmp(frame, info->segments[i].frequency_frame) != 0) return "";
    }
    return frame;
}

/* The straight line nearest to the bands' centres, which a FITS axis can say; the centres themselves go to a table. */
static void fit_axis(const image_planes *planes, double *first, double *step) {
    double n = (double)planes->n_bands, mean = 0, xy = 0, xx = 0;
    for (int64_t b = 0; b < planes->n_bands; b++) mean += planes->at[b].frequency / n;
    for (int64_t b = 0; b < planes->n_bands; b++) {
        double x = (double)b - (n - 1) / 2;
        xy += x * (planes->at[b].frequency - mean);
        xx += x * x;
    }
    *step = planes->n_bands > 1 ? xy / xx : planes->at[0].width;
    *first = mean - *step * (n - 1) / 2;
}

static loom_fits_plane *make_table(const image_planes *planes, int64_t n) {
    loom_fits_plane *table = loom_xcalloc((size_t)n, sizeof *table);
    for (int64_t i = 0; i < n; i++) {
        const image_plane *p = &planes->at[i];
        table[i] = (loom_fits_plane){.stokes = image_fits_stokes(p->product),
                                     .frequency = p->frequency,
                                     .bandwidth = p->width,
                                     .sum_weights = p->counts.sum_weights,
                                     .gridded = p->counts.gridded,
                                     .beam_major = p->beam.major,
                                     .beam_minor = p->beam.minor,
                                     .beam_angle = p->beam.angle};
    }
    return table;
}

loom_status *image_hold_fits(const image_request *r, const loom_ms_info *info, const image_planes *planes, bool psf,
                             loom_file_set *files) {
    int64_t products = psf ? 1 : planes->n_products, n = products * planes->n_bands;
    const void **pixels = loom_xcalloc((size_t)n, sizeof *pixels);
    const image_plane *first = planes->at;
    for (int64_t i = 0; i < n; i++) pixels[i] = image_leaf(psf ? planes->at[i].psf : planes->at[i].result)->data;
    history h = make_history(r, info, planes);
    loom_fits_plane *table = make_table(planes, n);
    int stokes = image_fits_stokes(first->product);
    loom_fits_image fits = {.dtype = image_leaf(first->result)->dtype,
                            .nx = r->nx,
                            .ny = r->ny,
                            .n_frequencies = planes->n_bands,
                            .n_stokes = products,
                            .planes = pixels,
                            .table = n > 1 ? table : NULL,
                            .scale = r->scale,
                            .ra = info->ra,
                            .dec = info->dec,
                            .frame = info->frame,
                            .frequency_frame = frame_of(info),
                            .stokes = stokes,
                            .stokes_step = products > 1 ? image_fits_stokes(r->products[1]) - stokes : 1,
                            .beam_major = first->beam.major,
                            .beam_minor = first->beam.minor,
                            .beam_angle = first->beam.angle,
                            .unit = "JY/BEAM",
                            .type = psf ? "Beam" : "Intensity",
                            .object = info->field_name,
                            .telescope = info->telescope,
                            .observer = info->observer,
                            .date_obs = isfinite(info->time_first) ? info->time_first : 0,
                            .history = (const char *const *)h.lines,
                            .n_history = sizeof h.lines / sizeof *h.lines};
    fit_axis(planes, &fits.frequency, &fits.bandwidth);
    loom_status *status = loom_fits_hold(psf ? r->psf : r->output, &fits, files);
    free_history(&h);
    free(table);
    free(pixels);
    return status;
}

/* ---- PNG ---- */

/* The first plane. */
loom_status *image_hold_png(const image_request *r, const image_planes *planes, loom_file_set *files) {
    const loom_leaf *image = image_leaf(planes->at[0].result);
    bool grey = strcmp(r->colours, "grey") == 0;
    loom_png_picture picture = {.dtype = image->dtype,
                                .nx = r->nx,
                                .ny = r->ny,
                                .pixels = image->data,
                                .colours = grey ? LOOM_PNG_GREY : LOOM_PNG_INFERNO};
    return loom_png_hold(r->png, &picture, files);
}

/* ---- gridded samples ---- */

static bool has_suffix(const char *path, const char *suffix) {
    size_t n = strlen(path), m = strlen(suffix);
    return n >= m && strcmp(path + n - m, suffix) == 0;
}

loom_status *image_check_grid(const image_request *r) {
    if (has_suffix(r->grid, ".npy") || has_suffix(r->grid, ".fits")) return NULL;
    return loom_error(LOOM_E_USAGE, "--grid %s: the name ends in .npy or .fits, which says the format", r->grid);
}

/* Real parts, imaginary parts, weights: [3][ny/2 + 1][nx]. */
static loom_status *stack_grid(const image_request *r, const loom_job_result *grid, double **values) {
    const loom_leaf *vis = loom_value_find(grid->value, "vis"), *weight = loom_value_find(grid->value, "weight");
    int64_t n = (r->ny / 2 + 1) * r->nx;
    if (!vis || !weight || vis->dtype != LOOM_C128 || weight->dtype != LOOM_F64 || vis->n_data != n ||
        weight->n_data != n) {
        return loom_error(LOOM_E_INTERNAL, "the imaging program gives no grid of %" PRId64 " cells", n);
    }
    double *all = malloc((size_t)n * 3 * sizeof *all);
    if (!all) return loom_error(LOOM_E_MEMORY, "no memory for %" PRId64 " cells of --grid", n);
    for (int64_t i = 0; i < n; i++) {
        all[i] = ((const double *)vis->data)[2 * i];
        all[n + i] = ((const double *)vis->data)[2 * i + 1];
        all[2 * n + i] = ((const double *)weight->data)[i];
    }
    *values = all;
    return NULL;
}

loom_status *image_hold_grid(const image_request *r, const loom_ms_info *info, const image_planes *planes,
                             const loom_job_result *grid, loom_file_set *files) {
    double *values;
    LOOM_TRY(stack_grid(r, grid, &values));
    int64_t rows = r->ny / 2 + 1, n = rows * r->nx;
    loom_status *status;
    if (has_suffix(r->grid, ".npy")) {
        loom_leaf leaf = {.dtype = LOOM_F64, .depth = 3, .extents = {3, rows, r->nx}, .data = values, .n_data = 3 * n};
        status = loom_npy_hold_leaf(r->grid, &leaf, files);
    } else {
        history h = make_history(r, info, planes);
        loom_fits_grid fits = {.nx = r->nx,
                               .rows = rows,
                               .planes = 3,
                               .cells = values,
                               .cell_u = 1 / ((double)r->nx * r->scale),
                               .cell_v = 1 / ((double)r->ny * r->scale),
                               .history = (const char *const *)h.lines,
                               .n_history = sizeof h.lines / sizeof *h.lines};
        status = loom_fits_hold_grid(r->grid, &fits, files);
        free_history(&h);
    }
    free(values);
    return status;
}
