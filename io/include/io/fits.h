/* FITS images: one plane of a sky image with its world coordinates, never half written.
 *
 * Axes: RA---SIN, DEC--SIN, FREQ, STOKES. Pixel (x, y) from 0 lies at l = (nx/2 - x) scale, m = (y - ny/2) scale
 * (integer division), so CRPIX is n/2 + 1; pixels are square. The FREQ axis has one pixel: the centre and the width of
 * the band. The header is composed by wcslib, which knows the corner cases (LONPOLE at a pole); the data is big-endian,
 * BITPIX -32 or -64. Values that are NaN are blank pixels. Threads: any.
 */
#ifndef LOOM_IO_FITS_H
#define LOOM_IO_FITS_H

#include "common/dtype.h"
#include "common/status.h"

typedef struct loom_fits_image {
    loom_dtype dtype; /* LOOM_F32 or LOOM_F64 */
    int64_t nx, ny;
    const void *pixels;                               /* [ny][nx] */
    double scale;                                     /* radians a pixel */
    double ra, dec;                                   /* of the centre, radians */
    const char *frame;                                /* "J2000", "ICRS" or "B1950" */
    double frequency, bandwidth;                      /* Hz */
    const char *frequency_frame;                      /* SPECSYS; NULL or "": not told */
    const char *unit, *object, *telescope, *observer; /* NULL or "": not told */
    double date_obs;                                  /* MJD seconds (UTC); 0: not told */
    const char *const *history;                       /* lines of any length */
    uint32_t n_history;
} loom_fits_image;

LOOM_MUST_USE loom_status *loom_fits_write(const char *path, const loom_fits_image *image);
/* Bytes that the file will have, for a look at the disk beforehand. */
uint64_t loom_fits_bytes(const loom_fits_image *image);

#endif
