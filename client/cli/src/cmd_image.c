/* image: an observation in, images out. Everything that can be refused is refused before the first job starts; the
 * program (client/programs/image.weft) does the rest, counts included, a plane of the image at a time. */
#include "client/output.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "image_job.h"
#include "io/observation.h"
#include "io/png.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct imaging {
    image_request request;
    image_job job;
    loom_ms_info *info;
    image_planes planes;
    loom_job_result *grid;
    loom_job_result *total; /* of all jobs */
    image_seconds seconds;
    double started;
} imaging;

/* ---- the request ---- */

static loom_status *check_files(const image_request *r) {
    const char *reads[] = {r->data, r->aterm}, *writes[] = {r->output, r->psf, r->png, r->grid, r->where.stats};
    return cli_check_files(reads, sizeof reads / sizeof *reads, writes, sizeof writes / sizeof *writes);
}

static loom_status *check_grid(const image_request *r) {
    if (!r->grid) return NULL;
    LOOM_TRY(image_check_grid(r));
    if (r->n_products * r->channels_out > 1) return loom_error(LOOM_E_USAGE, "--grid: of one plane only");
    return loom_client_check_writable(r->grid, (uint64_t)(r->ny / 2 + 1) * (uint64_t)r->nx * 24);
}

static loom_status *check_outputs(const image_request *r) {
    if (!r->output) {
        return loom_status_note(loom_error(LOOM_E_USAGE, "no output given"),
                                "hint: -o OUT.fits says where the image goes");
    }
    if (strcmp(r->colours, "grey") != 0 && strcmp(r->colours, "inferno") != 0) {
        return loom_error(LOOM_E_USAGE, "--colours %s: grey or inferno", r->colours);
    }
    LOOM_TRY(check_files(r));
    if (r->png && (r->nx > LOOM_MAX_PNG_SIDE || r->ny > LOOM_MAX_PNG_SIDE)) {
        return loom_error(LOOM_E_USAGE, "--png: a picture's sides have at most %d pixels", LOOM_MAX_PNG_SIDE);
    }
    loom_fits_image shape = {.dtype = r->epsilon >= 1e-5 ? LOOM_F32 : LOOM_F64,
                             .nx = r->nx,
                             .ny = r->ny,
                             .n_frequencies = r->channels_out,
                             .n_stokes = r->n_products};
    LOOM_TRY(loom_client_check_writable(r->output, loom_fits_bytes(&shape)));
    shape.n_stokes = 1;
    if (r->psf) LOOM_TRY(loom_client_check_writable(r->psf, loom_fits_bytes(&shape)));
    LOOM_TRY(check_grid(r));
    if (r->png) LOOM_TRY(loom_client_check_writable(r->png, 0));
    return cli_check_stats(&r->where);
}

static loom_status *check_request(image_request *r, const char **rest, int n) {
    LOOM_TRY(cli_check_observation(rest, n, "a MeasurementSet or a UVFITS file"));
    r->data = rest[0];
    LOOM_TRY(image_parse_size(r->size_text, &r->nx, &r->ny));
    LOOM_TRY(image_parse_scale(r->scale_text, &r->scale));
    LOOM_TRY(cli_selection_parse(&r->selection));
    if (!(r->min_uv <= r->max_uv)) return loom_error(LOOM_E_USAGE, "--min-uv is larger than --max-uv");
    LOOM_TRY(image_parse_weight(r));
    LOOM_TRY(image_parse_stokes(r));
    LOOM_TRY(image_check_memory(r));
    if (r->aterm && access(r->aterm, R_OK) != 0) {
        return loom_error_errno(LOOM_E_NOINPUT, errno, "--aterm: cannot read %s", r->aterm);
    }
    return check_outputs(r);
}

/* ---- the jobs ---- */

static loom_status *open_observation(imaging *m) {
    double start = loom_seconds();
    LOOM_TRY(loom_observation_open(m->request.data, &m->request.selection.rows, &m->job.source, &m->info));
    m->seconds.open = loom_seconds() - start;
    LOOM_TRY(image_check_observation(&m->request, m->info));
    if (m->request.aterm) {
        LOOM_TRY(image_read_aterm(&m->request, &m->job.kernels));
        LOOM_TRY(image_check_aterm(&m->request, m->job.kernels, m->info));
    }
    return image_divide(&m->request, m->info, &m->planes);
}

static void warn_of_beam(const image_request *r, const image_beam *beam) {
    double side = r->scale * (double)(r->nx > r->ny ? r->nx : r->ny);
    const char *what = NULL;
    if (!(beam->major > 0)) {
        what = "the image of the PSF does not tell the beam: no main lobe in it, or one far wider";
    } else if (beam->major > side) {
        what = "the beam fitted to the PSF is wider than its image: short baselines have most of the weight; "
               "a larger image, other weights or --min-uv may be meant";
    } else if (beam->unfinished) {
        what = "the fit of the beam did not come to an end: the PSF has no main lobe that a Gaussian is like";
    }
    if (what && !r->where.quiet) fprintf(stderr, "warning: %s\n", what);
}

static loom_status *run_plane(imaging *m, image_plane *plane) {
    const char *entry = m->request.epsilon >= 1e-5 ? "image_f32" : "image_f64";
    const char *with_kernels = m->request.epsilon >= 1e-5 ? "aterm_f32" : "aterm_f64";
    LOOM_TRY(image_job_run(&m->job, m->job.kernels ? with_kernels : entry, plane, false, &plane->result));
    cli_warn(&m->request.where, plane->result);
    loom_job_result_add(m->total, plane->result);
    LOOM_TRY(image_read_counts(&m->request, plane->result->value, &plane->counts));
    LOOM_TRY(image_check_result(&m->request, plane->result));
    bool first = plane < m->planes.at + m->planes.n_bands;
    if (!first) {
        plane->beam = m->planes.at[(plane - m->planes.at) % m->planes.n_bands].beam;
        return NULL;
    }
    if (!m->request.psf) return NULL;
    LOOM_TRY(image_job_run(&m->job, entry, plane, true, &plane->psf));
    loom_job_result_add(m->total, plane->psf);
    LOOM_TRY(image_check_result(&m->request, plane->psf));
    if (!image_has_weight(&plane->counts)) return NULL;
    plane->beam =
        image_fit_beam(loom_value_find(plane->psf->value, "image"), 1 / plane->counts.longest, m->request.scale);
    warn_of_beam(&m->request, &plane->beam);
    return NULL;
}

/* Planes whose samples are all flagged, or whose weights are nothing, are blank; an image without others is refused. */
static loom_status *run_planes(imaging *m) {
    int64_t bands = m->planes.n_bands;
    for (int64_t i = 0; i < m->planes.n_products * bands; i++) {
        LOOM_TRY(run_plane(m, &m->planes.at[i]));
        if (i != bands - 1) continue;
        image_counts total = image_total(&m->planes);
        LOOM_TRY(image_check_counts(&m->request, m->info, &total));
    }
    if (!m->request.grid) return NULL;
    LOOM_TRY(image_job_run(&m->job, "grid", m->planes.at, false, &m->grid));
    loom_job_result_add(m->total, m->grid);
    return NULL;
}

static loom_status *run_jobs(imaging *m) {
    m->job.request = &m->request;
    m->job.n_jobs = m->planes.n_bands * (m->planes.n_products + (m->request.psf != NULL)) + (m->request.grid != NULL);
    m->job.info = m->info;
    loom_status *status = image_job_open(&m->job);
    if (!status) status = run_planes(m);
    image_job_close(&m->job);
    return status;
}

/* ---- what comes of it ---- */

/* After calibration the column that is meant is mostly the other one. */
static void hint_at_column(const imaging *m) {
    if (m->request.selection.rows.column || !m->info->has_corrected || m->request.where.quiet) return;
    fprintf(stderr, "hint: the column imaged is %s; there is CORRECTED_DATA too: --column CORRECTED_DATA\n",
            m->info->column);
}

static void warn(const imaging *m) {
    image_counts total = image_total(&m->planes);
    if (m->request.where.quiet) return;
    if (total.out_of_grid > total.gridded) {
        fprintf(stderr,
                "warning: most visibilities, %" PRId64 " of %" PRId64
                ", are out of the grid: their baselines are longer "
                "than half a wavelength per --scale; smaller pixels let them in\n",
                total.out_of_grid, total.out_of_grid + total.gridded);
    }
    if (total.zero_uvw) {
        fprintf(stderr,
                "warning: %" PRId64 " visibilities of baselines of zero length are in the image; they raise all "
                "of it\n",
                total.zero_uvw);
    }
}

static loom_status *hold_files(imaging *m, loom_file_set *files) {
    const image_request *r = &m->request;
    LOOM_TRY(image_hold_fits(r, m->info, &m->planes, false, files));
    if (r->psf) LOOM_TRY(image_hold_fits(r, m->info, &m->planes, true, files));
    if (r->png) LOOM_TRY(image_hold_png(r, &m->planes, files));
    if (r->grid) LOOM_TRY(image_hold_grid(r, m->info, &m->planes, m->grid, files));
    return cli_hold_stats(&r->where, m->total, NULL, files);
}

static loom_status *finish(imaging *m, loom_file_set *files) {
    double start = loom_seconds();
    LOOM_TRY(hold_files(m, files));
    m->seconds.write = loom_seconds() - start;
    m->seconds.total = loom_seconds() - m->started;
    warn(m);
    if (m->request.json) {
        image_print_json(&m->request, m->info, &m->planes, m->total, &m->seconds);
    } else if (!m->request.where.quiet) {
        image_print_summary(&m->request, m->info, &m->planes, &m->seconds);
    }
    return cli_commit(files);
}

static loom_status *make_image(imaging *m) {
    LOOM_TRY(open_observation(m));
    hint_at_column(m);
    LOOM_TRY(run_jobs(m));
    loom_file_set *files = loom_file_set_create();
    cli_hold_signals(true);
    loom_status *status = finish(m, files);
    loom_file_set_destroy(files);
    cli_hold_signals(false);
    return status;
}

static void free_imaging(imaging *m) {
    loom_source_destroy(m->job.source);
    loom_value_unref(m->job.kernels);
    loom_ms_info_free(m->info);
    image_planes_free(&m->planes);
    loom_job_result_free(m->grid);
    loom_job_result_free(m->total);
    free(m->request.command);
}

loom_status *cli_image(const cli_call *call) {
    static const loom_command_text text = {
        "gridloom image", "DATA -o OUT.fits [options]",
        "Makes dirty images of an observation, a MeasurementSet or a UVFITS file, by w-gridding: wide fields are right "
        "to the accuracy asked for, up to the horizon.\n\nStokes I is I if it is recorded, else the mean of both "
        "parallel hands, else the one there is. Where one of the hands used is flagged, the visibility counts as "
        "flagged.\n\nEach visibility (row and channel) is counted once, under the first name that applies: "
        "autocorrelation, flagged, not finite, of weight zero, outside the uv range, out of the grid, lost (with a "
        "block that never came back), gridded. How many were read and how many gridded is always printed, the other "
        "numbers where they are not 0; --json has all of them, and --quiet leaves the summary out.\n\nThe peak "
        "printed is the largest value of a plane, rms the root of the mean of the squares of all its pixels that are "
        "not blank: sources count in it, so that it is the noise only of an empty field.",
        "  gridloom image obs.ms -o dirty.fits --size 2048 --scale 5asec --png dirty.png\n"
        "  gridloom image obs.ms -o dirty.fits --psf psf.fits --weight briggs:0.5\n"
        "  gridloom image obs.ms -o cube.fits --stokes IQUV --channels-out 8\n"
        "  gridloom image obs.ms -o dirty.fits --spw 1 --channels 10:20 --json"};
    imaging m = {.request = {.weight = "natural",
                             .robust = NAN,
                             .stokes_text = "I",
                             .channels_out = 1,
                             .size_text = "512",
                             .scale_text = "5asec",
                             .colours = "inferno",
                             .epsilon = 1e-4,
                             .max_uv = INFINITY,
                             .selection = CLI_SELECTION},
                 .total = loom_xcalloc(1, sizeof(loom_job_result)),
                 .started = loom_seconds()};
    image_request *r = &m.request;
    loom_option options[] = {
        {"output", 'o', LOOM_OPT_TEXT, &r->output, "FILE", "The FITS file to write.", 0, 0},
        {"size", 0, LOOM_OPT_TEXT, &r->size_text, "N|NXxNY", "Pixels a side; default 512.", 0, 0},
        {"scale", 0, LOOM_OPT_TEXT, &r->scale_text, "ANGLE",
         "Size of a pixel: 5asec, 0.5amin, 0.01deg, 2e-5rad, 20mas, 10uas; default 5asec.", 0, 0},
        {"weight", 0, LOOM_OPT_TEXT, &r->weight, "KIND", "natural (default), uniform, or briggs:R.", 0, 0},
        {"robust", 0, LOOM_OPT_REAL, &r->robust, "R",
         "With --weight briggs: from -2, nearly uniform, to 2, nearly natural; default 0.", -10, 10},
        {"mf-weighting", 0, LOOM_OPT_FLAG, &r->weights.together, NULL,
         "Count the density of samples over all planes of --channels-out together.", 0, 0},
        {"taper", 0, LOOM_OPT_TEXT, &r->taper_text, "ANGLE",
         "Taper the weights by a Gaussian whose own beam has this full width at half maximum.", 0, 0},
        {"psf", 0, LOOM_OPT_TEXT, &r->psf, "FILE",
         "Also write the point spread function (FITS) and fit the beam to it.", 0, 0},
        {"stokes", 0, LOOM_OPT_TEXT, &r->stokes_text, "LIST",
         "What to image: I (default), IQUV, or hands as XX,YY; a plane each.", 0, 0},
        {"channels-out", 0, LOOM_OPT_INT, &r->channels_out, "N",
         "Divide the channels, by frequency, into N planes; default 1.", 1, 1e9},
        {"grid", 0, LOOM_OPT_TEXT, &r->grid, "FILE",
         "Also write the gridded samples and weights, to FILE.npy or FILE.fits.", 0, 0},
        {"aterm", 0, LOOM_OPT_TEXT, &r->aterm, "FILE.npy",
         "Correct for the response of stations: a convolution kernel in u and v for each interval of time and station.",
         0, 0},
        {"epsilon", 0, LOOM_OPT_REAL, &r->epsilon, "E",
         "Bounds max |image - D| / max(max |D|, sum W|V| / sum W), D the direct sum over the visibilities V with their "
         "weights W; below 1e-5 in double precision; default 1e-4.",
         1e-12, 0.1},
        {"column", 0, LOOM_OPT_TEXT, &r->selection.rows.column, "NAME",
         "Column of the visibilities; default DATA, also where there is CORRECTED_DATA (a hint says so).", 0, 0},
        CLI_SELECTION_OPTIONS(r->selection),
        {"min-uv", 0, LOOM_OPT_REAL, &r->min_uv, "WAVELENGTHS", "Leave out shorter baselines, sqrt(u^2 + v^2).", 0,
         1e300},
        {"max-uv", 0, LOOM_OPT_REAL, &r->max_uv, "WAVELENGTHS", "Leave out longer baselines.", 0, 1e300},
        {"png", 0, LOOM_OPT_TEXT, &r->png, "FILE",
         "Also write a picture of the first plane, north up, of at most 65535 pixels a side. What lies below the 0.5th "
         "percentile of the pixels is as dark as that, the largest value is the brightest; between them asinh, linear "
         "up to about a fifth of the range, then logarithmic. Blank pixels are transparent.",
         0, 0},
        {"colours", 0, LOOM_OPT_TEXT, &r->colours, "MAP", "Colours of the picture: inferno (default) or grey.", 0, 0},
        {"block", 0, LOOM_OPT_INT, &r->block, "N", "Rows in a block; default: by their size.", 1, 1e15},
        {"json", 0, LOOM_OPT_FLAG, &r->json, NULL, "Print counts and times as one line of JSON.", 0, 0},
        CLI_WHERE_OPTIONS(r->where),
        {0}};
    r->command = cli_command_line(call);
    const char **rest;
    int n;
    bool done;
    loom_status *status = cli_options(call, &text, options, &rest, &n, &done);
    if (!status && !done) status = check_request(r, rest, n);
    if (!status && !done) status = make_image(&m);
    free_imaging(&m);
    return status;
}
