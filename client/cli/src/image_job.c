/* Jobs of an image: one a plane, all on one session and of one program, whose parameters say which plane is wanted. */
#include "image_job.h"
#include "embedded.h"
#include <stdlib.h>
#include <string.h>

typedef struct field {
    const char *name;
    loom_dtype dtype;
    double value;
} field;

/* A record of parameters; where `array`, an array of one such record. */
static loom_status *make_record(const loom_program *p, uint32_t function, uint32_t param, const field *fields,
                                size_t n_fields, bool array, loom_value **record) {
    loom_arena *arena = loom_arena_create(0);
    loom_type_leaf *leaves;
    uint32_t n = loom_type_leaves(p, arena, loom_client_param_type(p, function, param), &leaves);
    loom_value *made = NULL;
    loom_status *status = loom_value_create(n, &made);
    const int64_t one = 1;
    for (uint32_t i = 0; i < n && !status; i++) {
        const field *f = fields;
        while (f < fields + n_fields && (strcmp(f->name, leaves[i].name) != 0 || f->dtype != leaves[i].dtype)) f++;
        if (f == fields + n_fields || leaves[i].depth != array) {
            status = loom_error(LOOM_E_INTERNAL, "the imaging program has a parameter '%s' that is not known here",
                                leaves[i].name);
            break;
        }
        status = loom_leaf_init(&made->leaves[i], leaves[i].name, leaves[i].dtype, leaves[i].depth, &one, 64);
        loom_scalar x = {0};
        if (f->dtype == LOOM_F64) {
            x.f = f->value;
        } else {
            x.i = (int64_t)f->value;
        }
        if (!status) loom_scalar_store(f->dtype, x, made->leaves[i].data);
    }
    loom_arena_destroy(arena);
    if (status) {
        loom_value_unref(made);
        return status;
    }
    *record = made;
    return NULL;
}

/* What entries with kernels take besides. */
static loom_status *make_aterm_arguments(const image_job *job, uint32_t function, loom_value **arguments) {
    const field schedule[] = {{"from", LOOM_F64, job->info->time_from},
                              {"to", LOOM_F64, job->info->time_to},
                              {"first", LOOM_I64, (double)job->info->antenna_first}};
    arguments[4] = loom_value_ref(job->kernels);
    return make_record(job->program->program, function, 3, schedule, sizeof schedule / sizeof *schedule, true,
                       &arguments[3]);
}

static loom_status *make_arguments(const image_job *job, uint32_t function, const image_plane *plane, bool psf,
                                   loom_value *arguments[IMAGE_JOB_PARAMS]) {
    const image_request *r = job->request;
    const image_weights *w = &r->weights;
    const field params[] = {{"nx", LOOM_I64, (double)r->nx}, {"ny", LOOM_I64, (double)r->ny},
                            {"scale", LOOM_F64, r->scale},   {"epsilon", LOOM_F64, r->epsilon},
                            {"min_uv", LOOM_F64, r->min_uv}, {"max_uv", LOOM_F64, r->max_uv}};
    const field weights[] = {{"kind", LOOM_I64, (double)w->kind},
                             {"robust", LOOM_F64, w->robust},
                             {"taper", LOOM_F64, w->taper},
                             {"together", LOOM_BOOL, w->together}};
    const field output[] = {{"product", LOOM_I64, plane->product},
                            {"psf", LOOM_BOOL, psf},
                            {"low", LOOM_F64, plane->low},
                            {"high", LOOM_F64, plane->high}};
    const loom_program *p = job->program->program;
    LOOM_TRY(make_record(p, function, 0, params, sizeof params / sizeof *params, false, &arguments[0]));
    LOOM_TRY(make_record(p, function, 1, weights, sizeof weights / sizeof *weights, false, &arguments[1]));
    LOOM_TRY(make_record(p, function, 2, output, sizeof output / sizeof *output, true, &arguments[2]));
    return loom_client_n_params(p, function) == IMAGE_JOB_PARAMS ? make_aterm_arguments(job, function, arguments)
                                                                 : NULL;
}

/* The stream is the last of n parameters. */
static loom_status *submit(image_job *job, const char *entry, loom_value *const *arguments, uint32_t n,
                           loom_job_result **result) {
    const image_request *r = job->request;
    loom_source *sources[IMAGE_JOB_PARAMS] = {0};
    sources[n - 1] = job->source;
    cli_progress progress = cli_progress_start(r->where.quiet || r->json, "rows");
    if (!r->where.quiet) progress.daemon = r->where.connect;
    progress.n_jobs = job->n_jobs;
    progress.job = ++job->done;
    loom_job_description description = {.name = r->data,
                                        .program = job->bytes,
                                        .program_length = job->length,
                                        .entry = entry,
                                        .n_params = n,
                                        .arguments = arguments,
                                        .sources = sources,
                                        .block = r->block,
                                        .progress = cli_progress_update,
                                        .context = &progress};
    loom_status *status = loom_session_run(job->session, &description, result);
    cli_progress_end(&progress);
    if (loom_status_code(status) == LOOM_E_MEMORY) image_note_memory(r, status);
    return status;
}

loom_status *image_job_run(image_job *job, const char *entry, const image_plane *plane, bool psf,
                           loom_job_result **result) {
    uint32_t function;
    LOOM_TRY(loom_client_entry(job->program, entry, &function));
    loom_value *arguments[IMAGE_JOB_PARAMS] = {0};
    loom_status *status = make_arguments(job, function, plane, psf, arguments);
    uint32_t n = loom_client_n_params(job->program->program, function);
    if (!status) status = submit(job, entry, arguments, n, result);
    for (int i = 0; i < IMAGE_JOB_PARAMS; i++) loom_value_unref(arguments[i]);
    return status;
}

loom_status *image_job_open(image_job *job) {
    const loom_source_file files[] = {{"image.weft", cli_image_weft, cli_image_weft_length},
                                      {"aterm.weft", cli_aterm_weft, cli_aterm_weft_length}};
    LOOM_TRY(loom_client_embedded_files(files, job->kernels ? 2 : 1, &job->program));
    LOOM_TRY(cli_compile(job->program));
    LOOM_TRY(loom_program_encode(job->program->program, &job->bytes, &job->length));
    return cli_open_session(&job->request->where, &job->session);
}

void image_job_close(image_job *job) {
    loom_session_close(job->session);
    loom_client_program_free(job->program);
    free(job->bytes);
    job->session = NULL;
    job->program = NULL;
    job->bytes = NULL;
}
