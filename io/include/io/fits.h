/* FITS images: planes of a sky image with their world coordinates, never half written.
 *
 * Axes: RA---SIN, DEC--SIN, FREQ, STOKES. Pixel (x, y) from 0 lies at l = (nx/2 - x) scale, m = (y - ny/2) scale
 * (integer division), so CRPIX is n/2 + 1; pixels are square. A FREQ axis of one pixel says the centre and the width of
 * the band; one of several is the straight line nearest to their centres. What each plane is, exactly, is then in a
 * binary table PLANES behind the image, a row a plane: STOKES, FREQ, BANDWIDTH (Hz), WEIGHT (sum), GRIDDED, BMAJ, BMIN,
 * BPA (degrees; 0: not known). The header is composed by wcslib, which knows the corner cases (LONPOLE at a pole); the
 * data is big-endian, BITPIX -32 or -64. Values that are NaN are blank pixels. Threads: any.
 */
#ifndef LOOM_IO_FITS_H
#define LOOM_IO_FITS_H

#include "common/dtype.h"
#include "common/file.h"

typedef struct loom_fits_plane {
    int stokes;                  /* code of the STOKES axis */
    double frequency, bandwidth; /* Hz */
    double sum_weights;
    int64_t gridded;                           /* visibilities */
    double beam_major, beam_minor, beam_angle; /* radians; 0: not known */
} loom_fits_plane;

typedef struct loom_fits_image {
    loom_dtype dtype; /* LOOM_F32 or LOOM_F64 */
    int64_t nx, ny;
    const void *pixels;                               /* [ny][nx], where there is one plane and `planes` is NULL */
    int64_t n_frequencies, n_stokes;                  /* 0: 1 */
    const void *const *planes;                        /* [n_stokes][n_frequencies] of [ny][nx] */
    const loom_fits_plane *table;                     /* [n_stokes][n_frequencies]; NULL: no table */
    double scale;                                     /* radians a pixel */
    double ra, dec;                                   /* of the centre, radians */
    const char *frame;                                /* "J2000", "ICRS" or "B1950" */
    double frequency, bandwidth;                      /* of the FREQ axis: first pixel, step; Hz */
    int stokes, stokes_step;                          /* of the STOKES axis; 0: 1, which is I */
    double beam_major, beam_minor, beam_angle;        /* radians, full width at half maximum; 0: not told */
    const char *type;                                 /* BTYPE; NULL: Intensity */
    const char *frequency_frame;                      /* SPECSYS; NULL or "": not told */
    const char *unit, *object, *telescope, *observer; /* NULL or "": not told */
    double date_obs;                                  /* MJD seconds (UTC); 0: not told */
    const char *const *history;                       /* lines of any length */
    uint32_t n_history;
} loom_fits_image;

LOOM_MUST_USE loom_status *loom_fits_write(const char *path, const loom_fits_image *image);
/* The same, put in place with the other files of `set`. */
LOOM_MUST_USE loom_status *loom_fits_hold(const char *path, const loom_fits_image *image, loom_file_set *set);
/* Bytes that the file will have, for a look at the disk beforehand. */
uint64_t loom_fits_bytes(const loom_fits_image *image);

/* Cells of a grid over u and v: f64, [planes][rows][nx]; CTYPE UU and VV in wavelengths. Column nx/2 is u from 0 to
 * cell_u, row 0 is v from 0 to cell_v. */
typedef struct loom_fits_grid {
    int64_t nx, rows, planes;
    const double *cells;
    double cell_u, cell_v;
    const char *const *history;
    uint32_t n_history;
} loom_fits_grid;
LOOM_MUST_USE loom_status *loom_fits_hold_grid(const char *path, const loom_fits_grid *grid, loom_file_set *set);

#endif
