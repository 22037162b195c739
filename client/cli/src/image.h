/* The parts of `gridloom image`. */
#ifndef LOOM_CLI_IMAGE_H
#define LOOM_CLI_IMAGE_H

#include "cli.h"
#include "io/fits.h"
#include "io/ms.h"

/* A side that no memory holds, and whose square times 8 bytes still fits into 63 bits. */
#define CLI_MAX_IMAGE_SIDE 1000000000

typedef struct image_request {
    const char *data, *output, *png, *weight, *size_text, *scale_text, *channels_text, *time_text, *colours;
    int64_t nx, ny;
    double scale, epsilon; /* radians a pixel; largest error */
    double min_uv, max_uv; /* wavelengths */
    int64_t scan;          /* LOOM_MS_ALL: all */
    loom_ms_selection selection;
    int64_t block;
    bool json;
    cli_where where;
    char *command; /* as typed, for the header */
} image_request;

/* Row-channels, each counted once (DESIGN 8). */
typedef struct image_counts {
    int64_t autocorrelation, flagged, nonfinite, zero_weight, uv_range, out_of_grid, gridded, zero_uvw, lost;
    double sum_weights;
    int64_t planes;
} image_counts;

typedef struct image_seconds {
    double open, write, total;
} image_seconds;

/* "512", "512x256"; "5asec", "0.5arcmin", "1e-5rad"; "2:6", ":6", "2:" */
LOOM_MUST_USE loom_status *image_parse_size(const char *text, int64_t *nx, int64_t *ny);
LOOM_MUST_USE loom_status *image_parse_scale(const char *text, double *radians);
LOOM_MUST_USE loom_status *image_parse_channels(const char *text, loom_ms_selection *selection);
/* "2020-05-31T12:00:00/2020-05-31T13:00", "59000.5/", "/59000.5": UTC, the end left out. */
LOOM_MUST_USE loom_status *image_parse_time(const char *text, loom_ms_selection *selection);
/* Whether the grids can fit at all; the error says what they need. */
LOOM_MUST_USE loom_status *image_check_memory(const image_request *request);
/* "24.0 GiB"; in one of eight static buffers. */
const char *image_bytes_text(double bytes);

/* What this command can make an image of. */
LOOM_MUST_USE loom_status *image_check_observation(const loom_ms_info *info);

LOOM_MUST_USE loom_status *image_read_counts(const loom_value *result, image_counts *counts);
int64_t image_counts_sum(const image_counts *counts);
/* An error where nothing was gridded, or where a row-channel is unaccounted for. */
LOOM_MUST_USE loom_status *image_check_counts(const image_request *request, const loom_ms_info *info,
                                              const image_counts *counts);
void image_print_json(const image_request *request, const image_counts *counts, const loom_job_result *job,
                      const image_seconds *seconds);
void image_print_summary(const image_request *request, const loom_ms_info *info, const image_counts *counts,
                         const loom_value *result, const image_seconds *seconds);
LOOM_MUST_USE loom_status *image_write(const image_request *request, const loom_ms_info *info,
                                       const image_counts *counts, const loom_value *result);

#endif
