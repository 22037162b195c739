/* Reading a FITS image of the sky as a model: pixels that stand for flux in Jy at known directions.
 *
 * What is read is what io/fits.h writes, and what other imagers write alike: BITPIX -32 or -64, two axes RA---SIN and
 * DEC--SIN, perhaps FREQ and STOKES of one pixel, in any order. Where the pixels lie is asked of wcslib, whatever
 * keywords say it: pixel (x, y) from 0 must lie at l = (nx/2 - x) scale, m = (y - ny/2) scale (integer division) from
 * the phase centre, to within a hundredth of a pixel; else the image is refused, and the error says how it lies.
 * Threads: any. Ownership: pixels are malloc'ed.
 */
#ifndef LOOM_IO_FITS_READ_H
#define LOOM_IO_FITS_READ_H

#include "common/dtype.h"
#include "common/status.h"
#include <stdbool.h>

typedef struct loom_fits_model {
    int64_t nx, ny;
    double scale;      /* radians a pixel */
    loom_dtype dtype;  /* of the pixels in the file: LOOM_F32 or LOOM_F64 */
    double *pixels;    /* [ny][nx]; blank ones are NaN */
    double sum;        /* of the pixels that are not blank */
    double sum_moduli; /* of their absolute values */
    char unit[72];     /* BUNIT, "" if not told */
    int64_t blank;     /* pixels that are NaN */
} loom_fits_model;

/* Whether the file begins as FITS does. */
LOOM_MUST_USE loom_status *loom_fits_is_image(const char *path, bool *is);
/* ra, dec: the phase centre, radians; frame: "J2000", "ICRS" or "B1950". Errors: NOINPUT, DATA (no such image, another
 * place, another projection, more than one frequency or Stokes parameter, infinite pixels), MEMORY. */
LOOM_MUST_USE loom_status *loom_fits_read_model(const char *path, double ra, double dec, const char *frame,
                                                loom_fits_model *model);
void loom_fits_model_free(loom_fits_model *model);

#endif
