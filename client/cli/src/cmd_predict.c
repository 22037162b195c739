/* predict: what an observation would have seen of a sky, into a column of it. Everything that can be refused is refused
 * before the job starts; the program (client/programs/predict.weft) predicts; the column is written when all of it is
 * there. */
#include "client/output.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "embedded.h"
#include "image.h"
#include "predict.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct prediction {
    predict_request request;
    loom_source *rows, *places;
    loom_ms_info *info;
    loom_ms_column *column;
    predict_model model;
    predict_spool *spool;
    loom_client_program *program;
    loom_value *arguments[PREDICT_ARGUMENTS];
    loom_job_result *result;
    cli_progress progress;
    double started, write;
} prediction;

/* ---- the request ---- */

static loom_status *check_request(predict_request *r, const char **rest, int n) {
    LOOM_TRY(cli_check_observation(rest, n, "a MeasurementSet"));
    if (!r->model) {
        return loom_status_note(loom_error(LOOM_E_USAGE, "no model given"),
                                "hint: --model IMAGE.fits, or --model SOURCES.txt");
    }
    r->data = rest[0];
    r->column_given = r->column != NULL;
    if (!r->column) r->column = r->subtract ? "CORRECTED_DATA" : "MODEL_DATA";
    LOOM_TRY(cli_selection_parse(&r->selection));
    if (!r->output && strcmp(r->column, r->selection.rows.column) == 0) {
        return loom_status_note(loom_error(LOOM_E_USAGE, "--column %s: what was observed would be lost", r->column),
                                "hint: -o OUT.ms writes a copy");
    }
    const char *reads[] = {r->data, r->model}, *writes[] = {r->output, r->where.stats};
    LOOM_TRY(cli_check_files(reads, 2, writes, 2));
    return cli_check_stats(&r->where);
}

/* ---- what is there ---- */

/* Whether the column can be written, while no reader holds the table. What is no table at all the reader tells. */
static loom_status *check_column(const loom_ms_column_request *column) {
    struct stat info;
    if (stat(column->path, &info) == 0 && !S_ISDIR(info.st_mode)) {
        return loom_status_note(
            loom_error(LOOM_E_DATA, "%s is not a MeasurementSet, and predictions go to a column of one", column->path),
            "hint: of a UVFITS file CASA's importuvfits makes a MeasurementSet, and exportuvfits "
            "(datacolumn='model' or 'corrected') writes the column back");
    }
    char *table = loom_xprintf("%s/table.dat", column->path);
    bool there = stat(table, &info) == 0;
    free(table);
    return there ? loom_ms_column_check(column) : NULL;
}

static loom_status *check_correlations(const loom_ms_info *info) {
    for (uint32_t i = 0; i < info->n_segments; i++) {
        const loom_ms_segment *s = &info->segments[i];
        bool sees = false;
        for (int64_t h = 0; h < s->n_correlations; h++) {
            int32_t c = s->correlations[h];
            sees = sees || c == 1 || c == 5 || c == 8 || c == 9 || c == 12;
        }
        if (sees) continue;
        return loom_status_note(loom_error(LOOM_E_DATA,
                                           "%s: spectral window %" PRId64 " has no correlation that sees Stokes I",
                                           info->path, s->spw),
                                "hint: I, or a parallel hand (XX, YY, RR, LL), is needed; choose with --spw");
    }
    return NULL;
}

static loom_status *open_all(prediction *p) {
    predict_request *r = &p->request;
    loom_ms_column_request column = {
        .path = r->data, .name = r->column, .copy = r->output, .subtract = r->subtract, .command = r->command};
    LOOM_TRY(check_column(&column));
    if (access(r->model, R_OK) < 0) return loom_error(LOOM_E_NOINPUT, "cannot read the model %s", r->model);
    LOOM_TRY(loom_ms_open(r->data, &r->selection.rows, &p->rows, &p->info));
    LOOM_TRY(check_correlations(p->info));
    LOOM_TRY(predict_read_model(r, p->info, &p->model));
    LOOM_TRY(loom_ms_column_create(&column, p->rows, &p->column));
    LOOM_TRY(loom_ms_places(p->rows, &p->places));
    return predict_spool_create(r->output ? r->output : r->data, &p->spool);
}

/* Columns of visibilities are complex numbers of two floats. */
#define COLUMN_EPSILON 1e-7

static void warn(const prediction *p) {
    const loom_fits_model *image = &p->model.image;
    if (!p->model.is_image || p->request.where.quiet) return;
    if (p->request.epsilon < COLUMN_EPSILON) {
        fprintf(stderr,
                "warning: --epsilon %g: a column holds single precision, so that what is written is rounded to 6e-8 of "
                "itself\n",
                p->request.epsilon);
    }
    if (strcasestr(image->unit, "beam")) {
        fprintf(stderr, "warning: %s is in %s; its pixels are taken as fluxes in Jy\n", p->request.model, image->unit);
    }
}

/* Of a calibration, unless the column was named. */
static void warn_of_loss(const prediction *p) {
    const predict_request *r = &p->request;
    if (r->output || !r->subtract || r->column_given || !p->info->has_corrected || r->where.quiet) return;
    fprintf(stderr,
            "warning: what CORRECTED_DATA of %s holds is replaced by DATA less the prediction; -o OUT.ms or --column "
            "NAME would keep it\n",
            r->data);
}

/* A column of zeros is what was asked for then, but hardly what was meant. */
static void warn_of_nothing(const prediction *p) {
    if (p->request.where.quiet) return;
    if (predict_spool_counts(p->spool).predicted == 0) {
        fprintf(stderr, "warning: no visibility is predicted: all are %s\n",
                predict_spool_counts(p->spool).out_of_grid
                    ? "out of the grid of the model, of which the pixels are too large"
                    : "at places that are not finite");
    } else if (p->model.is_image && !(p->model.image.sum_moduli > 0)) {
        fprintf(stderr, "warning: %s is dark: all that is predicted is 0\n", p->request.model);
    }
}

/* ---- the job ---- */

static void show(void *context, const loom_job_progress *state) {
    cli_progress_update(&((prediction *)context)->progress, state);
}

static loom_status *keep(void *context, loom_value *elements) {
    return predict_spool_put(((prediction *)context)->spool, elements);
}

static loom_status *submit(prediction *p, loom_session *session, const char *entry) {
    char *bytes;
    size_t length;
    LOOM_TRY(loom_program_encode(p->program->program, &bytes, &length));
    const predict_request *r = &p->request;
    p->progress = cli_progress_start(r->where.quiet || r->json, "visibilities");
    if (!r->where.quiet) p->progress.daemon = r->where.connect;
    loom_value *arguments[PREDICT_ARGUMENTS + 1] = {p->arguments[0], p->arguments[1], p->arguments[2], NULL};
    loom_job_description description = {.name = r->data,
                                        .program = bytes,
                                        .program_length = length,
                                        .entry = entry,
                                        .n_params = PREDICT_ARGUMENTS + 1,
                                        .arguments = arguments,
                                        .sources = (loom_source *[]){NULL, NULL, NULL, p->places},
                                        .block = r->block,
                                        .progress = show,
                                        .stream = keep,
                                        .context = p};
    loom_status *status = loom_session_run(session, &description, &p->result);
    cli_progress_end(&p->progress);
    free(bytes);
    /* The program asserts one thing, and knows nothing of observations. */
    if (status && strstr(loom_status_message(status), "assertion failed")) {
        loom_status_free(status);
        return loom_status_note(loom_error(LOOM_E_DATA,
                                           "%s: w goes so far that more than a million w-planes are needed at "
                                           "this size and accuracy",
                                           r->data),
                                "hint: leave such rows out by --scan or --time; no real baseline is so long");
    }
    if (loom_status_code(status) == LOOM_E_MEMORY) {
        loom_status_note(status,
                         "hint: w-planes that do not fit at once are taken in batches, but one must fit; a larger "
                         "--memory, a smaller model or a larger --epsilon helps");
    }
    return status;
}

static loom_status *run_job(prediction *p) {
    const loom_source_file files[] = {{"image.weft", cli_image_weft, cli_image_weft_length},
                                      {"predict.weft", cli_predict_weft, cli_predict_weft_length}};
    LOOM_TRY(loom_client_embedded_files(files, sizeof files / sizeof *files, &p->program));
    LOOM_TRY(cli_compile(p->program));
    const char *entry;
    LOOM_TRY(predict_arguments(&p->request, &p->model, &entry, p->arguments));
    loom_session *session = NULL;
    loom_status *status = cli_open_session(&p->request.where, &session);
    if (!status) status = submit(p, session, entry);
    loom_session_close(session);
    return status;
}

/* ---- what comes of it ---- */

static int64_t n_visibilities(const loom_ms_info *info) {
    int64_t n = 0;
    for (uint32_t i = 0; i < info->n_segments; i++) n += info->segments[i].n_rows * info->segments[i].n_channels;
    return n;
}

static loom_status *write_column(prediction *p) {
    predict_counts c = predict_spool_counts(p->spool);
    int64_t sum = c.predicted + c.out_of_grid + c.nonfinite;
    if (sum != n_visibilities(p->info)) {
        return loom_error(LOOM_E_INTERNAL, "of %" PRId64 " visibilities of %s %" PRId64 " were predicted",
                          n_visibilities(p->info), p->request.data, sum);
    }
    double start = loom_seconds();
    loom_source_destroy(p->places);
    loom_source_destroy(p->rows);
    p->places = p->rows = NULL;
    cli_hold_signals(true);
    char *remark = NULL;
    loom_status *status = loom_ms_column_write(p->column, predict_spool_take, p->spool, &remark);
    cli_hold_signals(false);
    if (remark && !p->request.where.quiet) fprintf(stderr, "remark: the column is not in the HISTORY: %s\n", remark);
    free(remark);
    p->write = loom_seconds() - start;
    return status;
}

static void print_json(const prediction *p) {
    predict_counts c = predict_spool_counts(p->spool);
    const loom_job_result *job = p->result;
    printf("{\"visibilities\": {\"read\": %" PRId64 ", \"predicted\": %" PRId64 ", \"out_of_grid\": %" PRId64
           ", \"nonfinite\": %" PRId64 "}",
           n_visibilities(p->info), c.predicted, c.out_of_grid, c.nonfinite);
    if (p->model.is_image) {
        const loom_fits_model *image = &p->model.image;
        printf(", \"size\": [%" PRId64 ", %" PRId64 "], \"scale_rad\": %.17g, \"epsilon\": %.6g, \"flux\": %.17g"
               ", \"sum_moduli\": %.17g, \"blank\": %" PRId64,
               image->nx, image->ny, image->scale, p->request.epsilon, image->sum, image->sum_moduli, image->blank);
    } else {
        printf(", \"sources\": %zu", p->model.sky.n);
    }
    printf(", \"column\": \"%s\", \"releases\": %" PRId64 ", \"traversals\": %" PRIu32, p->request.column,
           job->releases, job->traversals);
    printf(", \"seconds\": {\"traversal\": %.6f, \"array_stages\": %.6f, \"read\": %.6f, \"write\": %.6f"
           ", \"handover\": %.6f, \"wait\": %.6f, \"compile\": %.6f, \"total\": %.6f}}\n",
           job->seconds.traversal, job->seconds.array, job->seconds.read, p->write, job->seconds.handover,
           job->seconds.wait, job->seconds.compile, loom_seconds() - p->started);
}

static void print_summary(const prediction *p) {
    predict_counts c = predict_spool_counts(p->spool);
    const predict_request *r = &p->request;
    if (p->model.is_image) {
        const loom_fits_model *image = &p->model.image;
        printf("%s: %" PRId64 " x %" PRId64 " pixels of %.6g arcsec, %.6g Jy", r->model, image->nx, image->ny,
               image->scale * 648000 / M_PI, image->sum);
        if (image->blank) printf(", %" PRId64 " blank (0)", image->blank);
        printf("\n");
    } else {
        printf("%s: %zu sources\n", r->model, p->model.sky.n);
    }
    printf("visibilities: %" PRId64 " read, %" PRId64 " predicted", n_visibilities(p->info), c.predicted);
    if (c.out_of_grid) printf(", %" PRId64 " out of the grid (0)", c.out_of_grid);
    if (c.nonfinite) printf(", %" PRId64 " not finite (0)", c.nonfinite);
    printf("\n%s: column %s%s, %.1f s\n", r->output ? r->output : r->data, r->column,
           r->subtract ? ", what was observed less the prediction" : "", loom_seconds() - p->started);
}

static loom_status *predict(prediction *p) {
    LOOM_TRY(open_all(p));
    warn(p);
    warn_of_loss(p);
    LOOM_TRY(run_job(p));
    cli_warn(&p->request.where, p->result);
    warn_of_nothing(p);
    LOOM_TRY(write_column(p));
    if (p->request.json) {
        print_json(p);
    } else if (!p->request.where.quiet) {
        print_summary(p);
    }
    return cli_write_stats(&p->request.where, p->result, NULL);
}

static void free_prediction(prediction *p) {
    loom_source_destroy(p->places);
    loom_source_destroy(p->rows);
    loom_ms_info_free(p->info);
    loom_ms_column_free(p->column);
    predict_model_free(&p->model);
    predict_spool_free(p->spool);
    loom_client_program_free(p->program);
    for (int i = 0; i < PREDICT_ARGUMENTS; i++) loom_value_unref(p->arguments[i]);
    loom_job_result_free(p->result);
    free(p->request.command);
}

loom_status *cli_predict(const cli_call *call) {
    static const loom_command_text text = {
        "gridloom predict", "DATA.ms --model IMAGE.fits|SOURCES.txt [options]",
        "Predicts what an observation would have seen of a sky, V = sum S exp(+2 pi i f/c (u l + v m + w (n - 1))): "
        "of the pixels of an image to the accuracy asked for, wide fields included, or of point sources exactly. The "
        "prediction goes to a column of the MeasurementSet, or of a copy: to the correlations that see the total "
        "intensity (I, XX, YY, RR, LL); the others become 0.\n\nAn image is as gridloom image writes it: an "
        "orthographic (SIN) projection about the phase centre, which lies on pixel N/2 + 1, of one frequency and "
        "Stokes I; a pixel is a flux in Jy. Blank pixels count as 0. A list of sources is as gridloom simulate takes "
        "it.\n\nA column that does not exist is made; rows and channels that are not selected are 0 in it, with "
        "--subtract as observed. In a column that exists they stay as they are. Flags do not matter. Visibilities out "
        "of the grid of the image (|u| or |v| times the size of a pixel above 1/2) are 0, and counted.",
        "  gridloom predict obs.ms --model model.fits\n"
        "  gridloom predict obs.ms --model sources.txt --subtract -o residual.ms"};
    prediction p = {.request = {.epsilon = 1e-4, .selection = CLI_SELECTION}, .started = loom_seconds()};
    predict_request *r = &p.request;
    r->selection.rows.column = "DATA";
    loom_option options[] = {
        {"model", 0, LOOM_OPT_TEXT, &r->model, "FILE", "The sky: a FITS image, or a list of point sources.", 0, 0},
        {"column", 0, LOOM_OPT_TEXT, &r->column, "NAME",
         "The column to write; default MODEL_DATA, with --subtract CORRECTED_DATA.", 0, 0},
        {"output", 'o', LOOM_OPT_TEXT, &r->output, "OUT.ms",
         "Write a copy of the observation with the column; must not exist.", 0, 0},
        {"subtract", 0, LOOM_OPT_FLAG, &r->subtract, NULL, "Write DATA less the prediction.", 0, 0},
        {"epsilon", 0, LOOM_OPT_REAL, &r->epsilon, "E",
         "Largest error of a visibility against the direct sum over the pixels, as a part of the sum of their absolute "
         "values; below 1e-5 in double precision; default 1e-4.",
         1e-12, 0.1},
        CLI_SELECTION_OPTIONS(r->selection),
        {"block", 0, LOOM_OPT_INT, &r->block, "N", "Visibilities in a block; default: by their size.", 1, 1e15},
        {"json", 0, LOOM_OPT_FLAG, &r->json, NULL, "Print counts and times as one line of JSON.", 0, 0},
        CLI_WHERE_OPTIONS(r->where),
        {0}};
    r->command = cli_command_line(call);
    const char **rest;
    int n;
    bool done;
    loom_status *status = cli_options(call, &text, options, &rest, &n, &done);
    if (!status && !done) status = check_request(r, rest, n);
    if (!status && !done) status = predict(&p);
    free_prediction(&p);
    return status;
}
