/* The parts of `gridloom image`. */
#ifndef LOOM_CLI_IMAGE_H
#define LOOM_CLI_IMAGE_H

#include "cli.h"
#include "io/fits.h"
#include "io/ms.h"
#include "selection.h"

/* A side that no memory holds, and whose square times 8 bytes still fits into 63 bits. */
#define CLI_MAX_IMAGE_SIDE 1000000000

/* How samples are weighted (DESIGN 8), as the imaging program takes it. */
typedef struct image_weights {
    int64_t kind; /* 0 natural, 1 uniform, 2 Briggs */
    double robust;
    double taper;  /* radians; 0: none */
    bool together; /* density over all planes */
} image_weights;

typedef struct image_request {
    const char *data, *output, *png, *psf, *grid, *weight, *taper_text, *size_text, *scale_text, *stokes_text, *colours,
        *aterm;
    double robust; /* NAN: not given */
    image_weights weights;
    int32_t products[4]; /* codes of casacore's Stokes types, in the order of the FITS axis */
    int64_t n_products, channels_out;
    int64_t nx, ny;
    double scale, epsilon; /* radians a pixel; largest error */
    double min_uv, max_uv; /* wavelengths */
    cli_selection selection;
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
    double longest; /* baseline gridded, wavelengths */
} image_counts;

/* Full width at half maximum, radians; position angle from north through east. major 0: none. */
typedef struct image_beam {
    double major, minor, angle;
    bool unfinished; /* the fit had not come to an end after the steps that it may take */
} image_beam;

/* One plane of the image: a product of a range of frequencies, and what became of it. */
typedef struct image_plane {
    int32_t product;
    double low, high;        /* least and largest frequency of its channels, Hz */
    double frequency, width; /* of the band, to the outer edges */
    image_counts counts;
    image_beam beam;               /* of the PSF of its frequencies, where one was asked for */
    loom_job_result *result, *psf; /* owned */
} image_plane;

/* Planes in the order of the file: products, in each the frequencies. */
typedef struct image_planes {
    int64_t n_products, n_bands;
    image_plane *at; /* [n_products][n_bands] */
} image_planes;

typedef struct image_seconds {
    double open, write, total;
} image_seconds;

/* "512", "512x256"; "5asec", "0.5arcmin", "1e-5rad" */
LOOM_MUST_USE loom_status *image_parse_size(const char *text, int64_t *nx, int64_t *ny);
LOOM_MUST_USE loom_status *image_parse_scale(const char *text, double *radians);
/* Whether the image can fit at all; the error says what it needs. What is needed beyond that depends on the data, so a
 * job may still find memory out: its error gets a note of how much is enough. */
LOOM_MUST_USE loom_status *image_check_memory(const image_request *request);
loom_status *image_note_memory(const image_request *request, loom_status *status);

/* The same as image_parse_scale for another option, named in errors. */
LOOM_MUST_USE loom_status *image_parse_angle(const char *option, const char *text, double *radians);

/* --weight, --robust and --taper into `weights`; --stokes into `products`. */
LOOM_MUST_USE loom_status *image_parse_weight(image_request *request);
const char *image_weights_text(const image_weights *weights, char text[64]);
LOOM_MUST_USE loom_status *image_parse_stokes(image_request *request);
int image_fits_stokes(int32_t product);
const char *image_product_name(int32_t product);

/* The kernels of --aterm, c128 [intervals][stations][v][u], and whether they are of this observation. */
LOOM_MUST_USE loom_status *image_read_aterm(const image_request *request, loom_value **kernels);
LOOM_MUST_USE loom_status *image_check_aterm(const image_request *request, const loom_value *kernels,
                                             const loom_ms_info *info);

/* Whether all products can be made of each segment's hands. */
LOOM_MUST_USE loom_status *image_check_observation(const image_request *request, const loom_ms_info *info);
LOOM_MUST_USE loom_status *image_divide(const image_request *request, const loom_ms_info *info, image_planes *planes);
void image_planes_free(image_planes *planes);

/* What a job says of its plane. An error where w is beyond all reason. */
LOOM_MUST_USE loom_status *image_read_counts(const image_request *request, const loom_value *result,
                                             image_counts *counts);
/* Else the plane is blank: nothing was gridded, or with weights that are nothing, as under a taper. */
bool image_has_weight(const image_counts *counts);
int64_t image_counts_sum(const image_counts *counts);
/* Over the bands of the first product. */
image_counts image_total(const image_planes *planes);
/* An error where nothing was gridded, or where a row-channel is unaccounted for. */
LOOM_MUST_USE loom_status *image_check_counts(const image_request *request, const loom_ms_info *info,
                                              const image_counts *counts);
void image_print_json(const image_request *request, const loom_ms_info *info, const image_planes *planes,
                      const loom_job_result *total, const image_seconds *seconds);
void image_print_summary(const image_request *request, const loom_ms_info *info, const image_planes *planes,
                         const image_seconds *seconds);

/* The Gaussian that fits the main lobe of a PSF best; resolution, that of the longest baseline, and scale, of a pixel,
 * in radians. major 0 where there is none. */
image_beam image_fit_beam(const loom_leaf *psf, double resolution, double scale);

/* Shape and values of a job's image. */
LOOM_MUST_USE loom_status *image_check_result(const image_request *request, const loom_job_result *result);
LOOM_MUST_USE loom_status *image_check_grid(const image_request *request);
/* Files, held to be put in place together. */
LOOM_MUST_USE loom_status *image_hold_fits(const image_request *request, const loom_ms_info *info,
                                           const image_planes *planes, bool psf, loom_file_set *files);
LOOM_MUST_USE loom_status *image_hold_png(const image_request *request, const image_planes *planes,
                                          loom_file_set *files);
LOOM_MUST_USE loom_status *image_hold_grid(const image_request *request, const loom_ms_info *info,
                                           const image_planes *planes, const loom_job_result *grid,
                                           loom_file_set *files);

#endif
