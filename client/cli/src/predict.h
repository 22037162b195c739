/* The parts of `gridloom predict`. */
#ifndef LOOM_CLI_PREDICT_H
#define LOOM_CLI_PREDICT_H

#include "cli.h"
#include "io/fits_read.h"
#include "io/ms_column.h"
#include "selection.h"
#include "sky.h"

typedef struct predict_request {
    const char *data, *model, *column, *output;
    double epsilon;
    cli_selection selection;
    int64_t block;
    bool subtract, json, column_given;
    cli_where where;
    char *command; /* as typed, for HISTORY */
} predict_request;

/* An image or a list of point sources. */
typedef struct predict_model {
    bool is_image;
    loom_fits_model image;
    sky sky;
} predict_model;

LOOM_MUST_USE loom_status *predict_read_model(const predict_request *request, const loom_ms_info *info,
                                              predict_model *model);
void predict_model_free(predict_model *model);
/* The entry of the program, and its arguments before the stream; `arguments` has room for 3 and is the caller's. */
#define PREDICT_ARGUMENTS 3
LOOM_MUST_USE loom_status *predict_arguments(const predict_request *request, predict_model *model, const char **entry,
                                             loom_value *arguments[PREDICT_ARGUMENTS]);

/* Visibilities, each counted once. */
typedef struct predict_counts {
    int64_t predicted, out_of_grid, nonfinite;
} predict_counts;

/* Predictions between the job that makes them and the table they go to: a file without a name beside the table, so that
 * nothing is written to the table before all are there, and nothing is left behind whatever happens. */
typedef struct predict_spool predict_spool;
LOOM_MUST_USE loom_status *predict_spool_create(const char *beside, predict_spool **spool);
/* Of a loom_job_description with the spool as its context: appends the elements {vis, class} of the result. */
loom_status *predict_spool_put(void *spool, loom_value *elements);
/* The values, from the first one on, for loom_ms_column_write. */
loom_status *predict_spool_take(void *spool, int64_t n, double *re_im);
predict_counts predict_spool_counts(const predict_spool *spool);
void predict_spool_free(predict_spool *spool); /* NULL is fine */

#endif
