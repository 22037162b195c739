#include "sky.h"
#include "common/buffer.h"
#include "common/file.h"
#include "common/option.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LIGHT_SPEED 299792458.0
#define ARCSEC      (M_PI / 648000)

/* A list of sources: 64 bytes a line for a million of them. */
#define MAX_SKY_BYTES ((uint64_t)64 << 20)

/* ---- random numbers ---- */

static uint64_t next(sky_random *random) {
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

double sky_uniform(sky_random *random) {
    return (double)(next(random) >> 11) * 0x1p-53;
}

double sky_gaussian(sky_random *random) {
    double r = sqrt(-2 * log(1 - sky_uniform(random)));
    return r * cos(2 * M_PI * sky_uniform(random));
}

/* ---- lists of sources ---- */

static void add(sky *s, sky_source source) {
    if ((s->n & (s->n - 1)) == 0) s->sources = loom_xrealloc(s->sources, (s->n ? 2 * s->n : 1) * sizeof *s->sources);
    s->sources[s->n++] = source;
}

/* "-12:34:56.7" in units of its first part. */
static bool sexagesimal(const char *text, double *value) {
    double part[3] = {0};
    char *end;
    bool negative = *text == '-';
    const char *at = text + (*text == '-' || *text == '+');
    for (int i = 0; i < 3; i++) {
        if (*at < '0' || *at > '9') return false;
        part[i] = strtod(at, &end);
        if (i > 0 && part[i] >= 60) return false;
        at = end;
        if (i < 2 && *at++ != ':') return false;
    }
    *value = (part[0] + part[1] / 60 + part[2] / 3600) * (negative ? -1 : 1);
    return *at == '\0';
}

/* Direction cosines of a place in the sky; false if it is behind. */
static bool project(double ra, double dec, double ra0, double dec0, sky_source *s) {
    s->l = cos(dec) * sin(ra - ra0);
    s->m = sin(dec) * cos(dec0) - cos(dec) * sin(dec0) * cos(ra - ra0);
    return sin(dec) * sin(dec0) + cos(dec) * cos(dec0) * cos(ra - ra0) > 0;
}

#define FORM "expected L M FLUX (arcsec east and north, Jy) or HH:MM:SS +DD:MM:SS FLUX"

static const char *read_line(char *line, double ra0, double dec0, sky_source *s) {
    char *words[4], *save = NULL;
    int n = 0;
    for (char *w = strtok_r(line, " \t\r,", &save); w && n < 4; w = strtok_r(NULL, " \t\r,", &save)) words[n++] = w;
    if (n != 3) return FORM;
    double a, b;
    if (strchr(words[0], ':')) {
        if (!sexagesimal(words[0], &a) || !sexagesimal(words[1], &b) || a < 0 || a >= 24 || fabs(b) > 90)
            return "expected HH:MM:SS +DD:MM:SS FLUX, of hours below 24 and degrees of at most 90";
        if (!project(a * M_PI / 12, b * M_PI / 180, ra0, dec0, s))
            return "the source is below the horizon of the field";
    } else {
        loom_status *status = loom_parse_real(words[0], &a);
        if (!status) status = loom_parse_real(words[1], &b);
        bool bad = status != NULL;
        loom_status_free(status);
        if (bad) return FORM;
        s->l = a * ARCSEC;
        s->m = b * ARCSEC;
    }
    loom_status *status = loom_parse_real(words[2], &s->flux);
    bool bad = status != NULL;
    loom_status_free(status);
    if (bad) return FORM;
    if (fabs(s->flux) > (double)FLT_MAX)
        return "expected a flux that single precision holds, as visibilities are stored";
    return s->l * s->l + s->m * s->m < 1 ? NULL : "the source is beyond the horizon of the field";
}

loom_status *sky_read(const char *path, double ra, double dec, sky *to) {
    char *text, *save = NULL;
    size_t length;
    LOOM_TRY(loom_file_read(path, MAX_SKY_BYTES, &text, &length));
    sky made = {0};
    loom_status *status = NULL;
    int number = 0;
    for (char *line = text; line && !status; line = save) {
        number++;
        save = strchr(line, '\n');
        if (save) *save++ = '\0';
        line[strcspn(line, "#")] = '\0';
        if (line[strspn(line, " \t\r")] == '\0') continue;
        sky_source source = {0};
        char *kept = loom_xstrdup(line + strspn(line, " \t"));
        kept[strcspn(kept, "\r")] = '\0';
        const char *why = read_line(line, ra, dec, &source);
        if (why)
            status = loom_error(LOOM_E_DATA, "%s:%d: %s, found '%.60s'", path, number, why, kept);
        else
            add(&made, source);
        free(kept);
    }
    free(text);
    if (!status && made.n == 0) status = loom_error(LOOM_E_DATA, "%s has no sources in it", path);
    if (status) {
        sky_free(&made);
        return status;
    }
    *to = made;
    return NULL;
}

void sky_make(int64_t n, double radius, sky_random *random, sky *to) {
    sky made = {0};
    for (int64_t i = 0; i < n; i++) {
        double r = radius * sqrt(sky_uniform(random)), angle = 2 * M_PI * sky_uniform(random);
        add(&made, (sky_source){r * cos(angle), r * sin(angle), 0.5 * pow(10, sky_uniform(random))});
    }
    *to = made;
}

loom_status *sky_hold(const char *path, const sky *from, loom_file_set *files) {
    loom_buffer b = {0};
    loom_buffer_text(&b, "# offsets from the phase centre as direction cosines (arcsec, east and north), and Jy\n"
                         "# l  m  flux\n");
    for (size_t i = 0; i < from->n; i++) {
        const sky_source *s = &from->sources[i];
        loom_buffer_printf(&b, "%.9g %.9g %.9g\n", s->l / ARCSEC, s->m / ARCSEC, s->flux);
    }
    loom_status *status = loom_file_set_put(files, path, b.data, b.length);
    loom_buffer_free(&b);
    return status;
}

void sky_free(sky *s) {
    free(s->sources);
    *s = (sky){0};
}

/* ---- the array ---- */

/* Radii grow so that station density falls slowly outwards: all lengths of baselines are there, the short ones not in
 * excess, and the sidelobes stay low. */
void sky_layout(int64_t n, double extent, double longitude, double latitude, sky_random *random,
                loom_ms_antenna *antennas) {
    double earth = 6378137.0, flat = 0.0066943799901; /* WGS 84: equator, eccentricity squared */
    double sin_lat = sin(latitude), cos_lat = cos(latitude), sin_lon = sin(longitude), cos_lon = cos(longitude);
    double curve = earth / sqrt(1 - flat * sin_lat * sin_lat);
    double origin[3] = {curve * cos_lat * cos_lon, curve * cos_lat * sin_lon, curve * (1 - flat) * sin_lat};
    for (int64_t i = 0; i < n; i++) {
        double t = ((double)i + 0.5 * sky_uniform(random)) / (double)(n > 1 ? n - 1 : 1);
        double r = 0.5 * extent * pow(t < 1 ? t : 1, 0.8);
        double angle = 2 * M_PI * ((double)(i % 3) / 3 + 0.6 * t) + 0.5 * (sky_uniform(random) - 0.5);
        double east = r * cos(angle), north = r * sin(angle);
        antennas[i] = (loom_ms_antenna){0};
        snprintf(antennas[i].name, sizeof antennas[i].name, "S%03" PRId64, i);
        antennas[i].position[0] = origin[0] - sin_lon * east - sin_lat * cos_lon * north;
        antennas[i].position[1] = origin[1] + cos_lon * east - sin_lat * sin_lon * north;
        antennas[i].position[2] = origin[2] + cos_lat * north;
    }
}

double sky_sidereal(double mjd_seconds) {
    double days = mjd_seconds / 86400 - 51544.5;
    double turns = 0.7790572732640 + 1.00273781191135448 * days;
    return 2 * M_PI * (turns - floor(turns));
}

void sky_uvw(const double position[3], double hour_angle, double dec, double uvw[3]) {
    double s = sin(hour_angle), c = cos(hour_angle);
    double x = position[0], y = position[1], z = position[2];
    uvw[0] = s * x + c * y;
    uvw[1] = -sin(dec) * (c * x - s * y) + cos(dec) * z;
    uvw[2] = cos(dec) * (c * x - s * y) + sin(dec) * z;
}

void sky_predict(const sky *s, const double uvw[3], const double *frequencies, int64_t n, double *re_im) {
    memset(re_im, 0, 2 * (size_t)n * sizeof *re_im);
    for (size_t k = 0; k < s->n; k++) {
        double l = s->sources[k].l, m = s->sources[k].m, r2 = l * l + m * m;
        /* n - 1 without cancellation. */
        double path = uvw[0] * l + uvw[1] * m - uvw[2] * r2 / (1 + sqrt(1 - r2));
        for (int64_t c = 0; c < n; c++) {
            double turns = path * frequencies[c] / LIGHT_SPEED;
            double phase = 2 * M_PI * (turns - round(turns));
            re_im[2 * c] += s->sources[k].flux * cos(phase);
            re_im[2 * c + 1] += s->sources[k].flux * sin(phase);
        }
    }
}
