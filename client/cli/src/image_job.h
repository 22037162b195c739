/* Jobs of `gridloom image`. Open, run as often as there are planes, close; one thread. */
#ifndef LOOM_CLI_IMAGE_JOB_H
#define LOOM_CLI_IMAGE_JOB_H

#include "image.h"

/* Parameters of an entry: up to five, and the stream. */
#define IMAGE_JOB_PARAMS 6

typedef struct image_job {
    const image_request *request; /* these four are the caller's */
    const loom_ms_info *info;
    loom_value *kernels; /* of --aterm; NULL: none */
    loom_source *source;
    loom_session *session;
    loom_client_program *program;
    char *bytes; /* the program as it is sent */
    size_t length;
    int64_t n_jobs, done; /* of all planes, for progress */
} image_job;

LOOM_MUST_USE loom_status *image_job_open(image_job *job);
/* The entry ("image_f32", "image_f64", "grid"; with kernels "aterm_f32", "aterm_f64") for one plane; the caller owns
 * the result. */
LOOM_MUST_USE loom_status *image_job_run(image_job *job, const char *entry, const image_plane *plane, bool psf,
                                         loom_job_result **result);
void image_job_close(image_job *job); /* also one that was never opened */

#endif
