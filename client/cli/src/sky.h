/* Skies and arrays for `gridloom simulate`. */
#ifndef LOOM_CLI_SKY_H
#define LOOM_CLI_SKY_H

#include "common/file.h"
#include "io/ms.h"

/* A point source: direction cosines from the phase centre (l to the east, m to the north) and flux density in Jy. */
typedef struct sky_source {
    double l, m, flux;
} sky_source;

typedef struct sky {
    sky_source *sources;
    size_t n;
} sky;

/* Random numbers that are the same on every machine (splitmix64). */
typedef struct sky_random {
    uint64_t state;
} sky_random;
double sky_uniform(sky_random *random);  /* [0, 1) */
double sky_gaussian(sky_random *random); /* mean 0, deviation 1 */

/* Lines of "L M FLUX", offsets as direction cosines in arcsec; or "HH:MM:SS.s +DD:MM:SS.s FLUX", a place in the sky
 * (J2000).
 * '#' begins a comment. Errors name file and line. */
LOOM_MUST_USE loom_status *sky_read(const char *path, double ra, double dec, sky *to);
/* n sources within `radius` radians of the phase centre, 0.5 to 5 Jy. */
void sky_make(int64_t n, double radius, sky_random *random, sky *to);
/* Writes a list that sky_read reads; in place with the other files of the set. */
LOOM_MUST_USE loom_status *sky_hold(const char *path, const sky *from, loom_file_set *files);
void sky_free(sky *s);

/* Stations on a spiral of three arms within `extent` metres, jittered; ITRF positions around a site. */
void sky_layout(int64_t n, double extent, double longitude, double latitude, sky_random *random,
                loom_ms_antenna *antennas);
/* Greenwich mean sidereal time in radians at a time in MJD seconds (UT1 taken for UTC). */
double sky_sidereal(double mjd_seconds);
/* uvw of a position in metres for a phase centre: u to the east, v to the north, w to the centre. */
void sky_uvw(const double position[3], double hour_angle, double dec, double uvw[3]);
/* Sum of S exp(+2 pi i f/c (u l + v m + w (n - 1))) (DESIGN 8), one complex number per frequency. */
void sky_predict(const sky *s, const double uvw[3], const double *frequencies, int64_t n, double *re_im);

#endif
