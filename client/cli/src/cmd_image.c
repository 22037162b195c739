/* image: an observation in, a dirty image out. Everything that can be refused is refused before the job starts; the
 * program (client/programs/image.weft) does the rest, counts included. */
#include "client/output.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "embedded.h"
#include "image.h"
#include "io/observation.h"
#include "io/png.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct image_job {
    image_request request;
    loom_source *source;
    loom_ms_info *info;
    loom_client_program *program;
    loom_job_result *result;
    image_counts counts;
    image_seconds seconds;
    double started;
} image_job;

/* ---- the request ---- */

static loom_status *check_weight(const char *weight) {
    if (strcmp(weight, "natural") == 0) return NULL;
    return loom_status_note(
        loom_error(LOOM_E_USAGE, "--weight %s: this version images with natural weights only", weight),
        "hint: --weight natural");
}

static loom_status *check_outputs(const image_request *r) {
    if (!r->output) {
        return loom_status_note(loom_error(LOOM_E_USAGE, "no output given"),
                                "hint: -o OUT.fits says where the image goes");
    }
    if (strcmp(r->colours, "grey") != 0 && strcmp(r->colours, "inferno") != 0) {
        return loom_error(LOOM_E_USAGE, "--colours %s: grey or inferno", r->colours);
    }
    if (r->png && strcmp(r->png, r->output) == 0) {
        return loom_error(LOOM_E_USAGE, "FITS and PNG cannot both be written to %s", r->png);
    }
    if (r->png && (r->nx > LOOM_MAX_PNG_SIDE || r->ny > LOOM_MAX_PNG_SIDE)) {
        return loom_error(LOOM_E_USAGE, "--png: a picture's sides have at most %d pixels", LOOM_MAX_PNG_SIDE);
    }
    loom_fits_image shape = {.dtype = r->epsilon >= 1e-5 ? LOOM_F32 : LOOM_F64, .nx = r->nx, .ny = r->ny};
    LOOM_TRY(loom_client_check_writable(r->output, loom_fits_bytes(&shape)));
    if (r->png) LOOM_TRY(loom_client_check_writable(r->png, 0));
    return cli_check_stats(&r->where);
}

static loom_status *check_request(image_request *r, const char **rest, int n) {
    if (n == 0) return loom_error(LOOM_E_USAGE, "no observation given: expected a MeasurementSet or a UVFITS file");
    if (n > 1) return loom_error(LOOM_E_USAGE, "one observation at a time: '%s' is too many", rest[1]);
    r->data = rest[0];
    LOOM_TRY(image_parse_size(r->size_text, &r->nx, &r->ny));
    LOOM_TRY(image_parse_scale(r->scale_text, &r->scale));
    LOOM_TRY(image_parse_channels(r->channels_text, &r->selection));
    if (r->time_text) LOOM_TRY(image_parse_time(r->time_text, &r->selection));
    if (!(r->min_uv <= r->max_uv)) return loom_error(LOOM_E_USAGE, "--min-uv is larger than --max-uv");
    r->selection.by_scan = r->scan != LOOM_MS_ALL;
    r->selection.scan = r->scan;
    LOOM_TRY(check_weight(r->weight));
    LOOM_TRY(image_check_memory(r));
    return check_outputs(r);
}

/* As typed, for the header; words with blanks are quoted. */
static char *command_line(const cli_call *call) {
    loom_buffer b = {0};
    loom_buffer_text(&b, "gridloom");
    for (int i = 0; i < call->argc; i++) {
        bool quote = strpbrk(call->argv[i], " \t\n") != NULL;
        loom_buffer_printf(&b, quote ? " '%s'" : " %s", call->argv[i]);
    }
    return loom_buffer_take(&b);
}

/* ---- the job ---- */

static loom_status *open_observation(image_job *job) {
    double start = loom_seconds();
    LOOM_TRY(loom_observation_open(job->request.data, &job->request.selection, &job->source, &job->info));
    job->seconds.open = loom_seconds() - start;
    return image_check_observation(job->info);
}

static loom_status *set_field(const image_request *r, const char *name, loom_leaf *leaf) {
    loom_scalar x = {0};
    if (strcmp(name, "nx") == 0 && leaf->dtype == LOOM_I64) {
        x.i = r->nx;
    } else if (strcmp(name, "ny") == 0 && leaf->dtype == LOOM_I64) {
        x.i = r->ny;
    } else if (strcmp(name, "scale") == 0 && leaf->dtype == LOOM_F64) {
        x.f = r->scale;
    } else if (strcmp(name, "epsilon") == 0 && leaf->dtype == LOOM_F64) {
        x.f = r->epsilon;
    } else if (strcmp(name, "min_uv") == 0 && leaf->dtype == LOOM_F64) {
        x.f = r->min_uv;
    } else if (strcmp(name, "max_uv") == 0 && leaf->dtype == LOOM_F64) {
        x.f = r->max_uv;
    } else {
        return loom_error(LOOM_E_INTERNAL, "the imaging program has a parameter '%s' that this command does not know",
                          name);
    }
    loom_scalar_store(leaf->dtype, x, leaf->data);
    return NULL;
}

/* The record `p` of the imaging program. */
static loom_status *make_params(const image_job *job, uint32_t function, loom_value **params) {
    const loom_program *p = job->program->program;
    loom_arena *arena = loom_arena_create(0);
    loom_type_leaf *leaves;
    uint32_t n = loom_type_leaves(p, arena, loom_client_param_type(p, function, 0), &leaves);
    loom_value *made = NULL;
    loom_status *status = loom_value_create(n, &made);
    for (uint32_t i = 0; i < n && !status; i++) {
        status = loom_leaf_init(&made->leaves[i], leaves[i].name, leaves[i].dtype, leaves[i].depth, NULL, 64);
        if (!status) status = set_field(&job->request, leaves[i].name, &made->leaves[i]);
    }
    loom_arena_destroy(arena);
    if (status) {
        loom_value_unref(made);
        return status;
    }
    *params = made;
    return NULL;
}

static loom_status *submit(image_job *job, loom_session *session, const char *entry, loom_value *params) {
    char *bytes;
    size_t length;
    LOOM_TRY(loom_program_encode(job->program->program, &bytes, &length));
    cli_progress progress = cli_progress_start(job->request.where.quiet || job->request.json, "rows");
    if (!job->request.where.quiet) progress.daemon = job->request.where.connect;
    loom_job_description description = {.name = job->request.data,
                                        .program = bytes,
                                        .program_length = length,
                                        .entry = entry,
                                        .n_params = 2,
                                        .arguments = (loom_value *[]){params, NULL},
                                        .sources = (loom_source *[]){NULL, job->source},
                                        .block = job->request.block,
                                        .progress = cli_progress_update,
                                        .context = &progress};
    loom_status *status = loom_session_run(session, &description, &job->result);
    cli_progress_end(&progress);
    free(bytes);
    if (loom_status_code(status) == LOOM_E_MEMORY) {
        loom_status_note(status, "hint: all w-planes are kept in memory at once; a smaller image, larger pixels or a "
                                 "larger --epsilon need fewer and smaller ones");
    }
    return status;
}

static loom_status *run_job(image_job *job) {
    const char *entry = job->request.epsilon >= 1e-5 ? "image_f32" : "image_f64";
    LOOM_TRY(loom_client_embedded("image.weft", cli_image_weft, cli_image_weft_length, &job->program));
    LOOM_TRY(cli_compile(job->program));
    uint32_t function;
    LOOM_TRY(loom_client_entry(job->program, entry, &function));
    loom_value *params;
    LOOM_TRY(make_params(job, function, &params));
    loom_session *session = NULL;
    loom_status *status = cli_open_session(&job->request.where, &session);
    if (!status) status = submit(job, session, entry, params);
    loom_session_close(session);
    loom_value_unref(params);
    return status;
}

static void warn(const image_job *job) {
    if (job->counts.zero_uvw && !job->request.where.quiet) {
        fprintf(stderr,
                "warning: %" PRId64 " visibilities of baselines of zero length are in the image; they raise all "
                "of it\n",
                job->counts.zero_uvw);
    }
}

static loom_status *make_image(image_job *job) {
    LOOM_TRY(open_observation(job));
    LOOM_TRY(run_job(job));
    LOOM_TRY(image_read_counts(job->result->value, &job->counts));
    LOOM_TRY(image_check_counts(&job->request, job->info, &job->counts));
    double start = loom_seconds();
    cli_hold_signals(true);
    loom_status *status = image_write(&job->request, job->info, &job->counts, job->result->value);
    cli_hold_signals(false);
    LOOM_TRY(status);
    job->seconds.write = loom_seconds() - start;
    job->seconds.total = loom_seconds() - job->started;
    warn(job);
    LOOM_TRY(cli_write_stats(&job->request.where, job->result));
    if (job->request.json) {
        image_print_json(&job->request, &job->counts, job->result, &job->seconds);
    } else if (!job->request.where.quiet) {
        image_print_summary(&job->request, job->info, &job->counts, job->result->value, &job->seconds);
    }
    return NULL;
}

static void free_job(image_job *job) {
    loom_source_destroy(job->source);
    loom_ms_info_free(job->info);
    loom_client_program_free(job->program);
    loom_job_result_free(job->result);
    free(job->request.command);
}

loom_status *cli_image(const cli_call *call) {
    static const loom_command_text text = {
        "gridloom image", "DATA -o OUT.fits [options]",
        "Makes a dirty image (Stokes I, natural weights) of an observation, a MeasurementSet or a UVFITS file, by "
        "w-gridding: wide "
        "fields "
        "are right to the accuracy asked for, up to the horizon.\n\nUsed are Stokes I if it is recorded, else the mean "
        "of "
        "both parallel hands, else the one there is; where both are recorded and one is flagged, the visibility counts "
        "as flagged. Each visibility (row and channel) is counted "
        "once, under the first name that applies: autocorrelation, flagged, not finite, of weight zero, outside the uv "
        "range, out of the "
        "grid, "
        "gridded; the numbers are always printed.",
        "  gridloom image obs.ms -o dirty.fits --size 2048 --scale 5asec --png dirty.png\n"
        "  gridloom image obs.ms -o dirty.fits --spw 1 --channels 10:20 --json"};
    image_job job = {.request = {.weight = "natural",
                                 .size_text = "512",
                                 .scale_text = "5asec",
                                 .channels_text = ":",
                                 .colours = "inferno",
                                 .epsilon = 1e-4,
                                 .max_uv = INFINITY,
                                 .scan = LOOM_MS_ALL,
                                 .selection = {.column = "DATA", .spw = LOOM_MS_ALL, .channel_to = LOOM_MS_ALL}},
                     .started = loom_seconds()};
    image_request *r = &job.request;
    loom_option options[] = {
        {"output", 'o', LOOM_OPT_TEXT, &r->output, "FILE", "The FITS file to write.", 0, 0},
        {"size", 0, LOOM_OPT_TEXT, &r->size_text, "N|NXxNY", "Pixels a side; default 512.", 0, 0},
        {"scale", 0, LOOM_OPT_TEXT, &r->scale_text, "ANGLE",
         "Size of a pixel: 5asec, 0.5amin, 0.01deg, 2e-5rad, 20mas, 10uas; default 5asec.", 0, 0},
        {"weight", 0, LOOM_OPT_TEXT, &r->weight, "KIND", "Weighting; natural, the default, is the one there is.", 0, 0},
        {"epsilon", 0, LOOM_OPT_REAL, &r->epsilon, "E",
         "Largest error of the image against the direct sum, as a part of its peak; below 1e-5 in double precision; "
         "default 1e-4.",
         1e-12, 0.1},
        {"column", 0, LOOM_OPT_TEXT, &r->selection.column, "NAME", "Column of the visibilities; default DATA.", 0, 0},
        {"field", 0, LOOM_OPT_INT, &r->selection.field, "N",
         "Field to use: FIELD_ID, or the row of a UVFITS file's table AIPS SU; default 0.", 0, 0},
        {"spw", 0, LOOM_OPT_INT, &r->selection.spw, "N",
         "Spectral window to use (UVFITS: IF), counted from 0; default: all.", 0, 0},
        {"channels", 0, LOOM_OPT_TEXT, &r->channels_text, "A:B",
         "Channels to use of each spectral window, counted from 0, B left out; default all.", 0, 0},
        {"time", 0, LOOM_OPT_TEXT, &r->time_text, "FROM/TO",
         "Times to use, UTC as 2020-05-31T12:00:00 or as MJD days; TO is left out; either end may be open.", 0, 0},
        {"scan", 0, LOOM_OPT_INT, &r->scan, "N", "SCAN_NUMBER of the rows to use (MeasurementSets); default all.", 0,
         0},
        {"min-uv", 0, LOOM_OPT_REAL, &r->min_uv, "WAVELENGTHS", "Leave out shorter baselines, sqrt(u^2 + v^2).", 0,
         1e300},
        {"max-uv", 0, LOOM_OPT_REAL, &r->max_uv, "WAVELENGTHS", "Leave out longer baselines.", 0, 1e300},
        {"png", 0, LOOM_OPT_TEXT, &r->png, "FILE", "Also write a picture.", 0, 0},
        {"colours", 0, LOOM_OPT_TEXT, &r->colours, "MAP", "Colours of the picture: inferno (default) or grey.", 0, 0},
        {"block", 0, LOOM_OPT_INT, &r->block, "N", "Rows in a block; default: by their size.", 1, 1e15},
        {"json", 0, LOOM_OPT_FLAG, &r->json, NULL, "Print counts and times as one line of JSON.", 0, 0},
        CLI_WHERE_OPTIONS(r->where),
        {0}};
    r->command = command_line(call);
    const char **rest;
    int n;
    bool done;
    loom_status *status = cli_options(call, &text, options, &rest, &n, &done);
    if (!status && !done) status = check_request(r, rest, n);
    if (!status && !done) status = make_image(&job);
    free_job(&job);
    return status;
}
