#include "io/fits_read.h"
#include "common/buffer.h"
#include "common/file.h"
#include "fits_error.h"
#include <errno.h>
#include <fitsio.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <wcslib/wcs.h>
#include <wcslib/wcsfix.h>
#include <wcslib/wcshdr.h>

/* Farthest that a pixel may lie from where it is taken to be, in pixels. */
#define TOLERANCE 0.01
/* The axes of an image that is read. */
#define MAX_AXES 4
#define CARD     80 /* characters of a header's card */
#define DEGREE   (M_PI / 180)

typedef struct reading {
    const char *path;
    fitsfile *file;
    int n_axes;
    LONGLONG extents[MAX_AXES];
    struct wcsprm *wcs; /* wcslib's array of representations */
    int n_wcs;
    double ra, dec;
    const char *frame;
    loom_fits_model model;
} reading;

loom_status *loom_fits_is_image(const char *path, bool *is) {
    char start[8] = {0};
    LOOM_TRY(loom_file_check_stored(path));
    FILE *f = fopen(path, "rb");
    if (!f) return loom_error_errno(LOOM_E_NOINPUT, errno, "cannot read %s", path);
    *is = fread(start, 1, sizeof start, f) == sizeof start && memcmp(start, "SIMPLE  ", sizeof start) == 0;
    fclose(f);
    return NULL;
}

/* ---- axes ---- */

static loom_status *open_image(reading *r) {
    int code = 0, bitpix = 0;
    /* As a plain name: cfitsio gives brackets and the like a meaning of their own. */
    if (fits_open_diskfile(&r->file, r->path, READONLY, &code)) return loom_fits_error(r->path, code, "cannot read");
    if (fits_get_img_type(r->file, &bitpix, &code) || fits_get_img_dim(r->file, &r->n_axes, &code)) {
        return loom_fits_error(r->path, code, "cannot read");
    }
    if (bitpix != FLOAT_IMG && bitpix != DOUBLE_IMG) {
        return loom_error(LOOM_E_DATA, "%s: pixels of BITPIX %d; a model has -32 or -64", r->path, bitpix);
    }
    if (r->n_axes < 2 || r->n_axes > MAX_AXES) {
        return loom_error(LOOM_E_DATA,
                          "%s: an image of %d axes; a model has right ascension, declination and at most "
                          "a frequency and a Stokes parameter",
                          r->path, r->n_axes);
    }
    if (fits_get_img_sizell(r->file, MAX_AXES, r->extents, &code)) return loom_fits_error(r->path, code, "cannot read");
    r->model.dtype = bitpix == FLOAT_IMG ? LOOM_F32 : LOOM_F64;
    r->model.nx = r->extents[0];
    r->model.ny = r->extents[1];
    if (fits_read_key(r->file, TSTRING, "BUNIT", r->model.unit, NULL, &code)) fits_clear_errmsg();
    return NULL;
}

/* Whether the card's value is a string that does not end in it (FITS 4.0, 4.2.1: a quote within is written twice). */
static bool is_endless(const char *card) {
    if (strncmp(card + 8, "= ", 2) != 0) return false;
    int at = 10;
    while (at < CARD && card[at] == ' ') at++;
    if (at == CARD || card[at] != '\'') return false;
    for (at++; at < CARD; at++) {
        if (card[at] != '\'') continue;
        if (at + 1 == CARD || card[at + 1] != '\'') return false;
        at++;
    }
    return true;
}

/* wcslib copies such a string together with what follows, beyond its own buffer. */
static loom_status *check_cards(const reading *r, const char *header, int cards) {
    for (int i = 0; i < cards; i++) {
        const char *card = header + (size_t)i * CARD;
        if (is_endless(card))
            return loom_error(LOOM_E_DATA, "%s: the string of %.*s has no end", r->path, (int)strcspn(card, " ="),
                              card);
    }
    return NULL;
}

static loom_status *read_wcs(reading *r) {
    char *header = NULL;
    int cards = 0, code = 0, rejected = 0;
    if (fits_hdr2str(r->file, 1, NULL, 0, &header, &cards, &code)) return loom_fits_error(r->path, code, "cannot read");
    loom_status *status = check_cards(r, header, cards);
    int failed = status ? 0 : wcspih(header, cards, WCSHDR_all, 0, &rejected, &r->n_wcs, &r->wcs);
    fits_free_memory(header, &code);
    if (status) return status;
    if (failed || r->n_wcs < 1) {
        return loom_error(LOOM_E_DATA, "%s: no world coordinates in its header", r->path);
    }
    int fixed[NWCSFIX];
    wcsfix(0, NULL, r->wcs, fixed); /* spells old keywords anew; what it cannot mend wcsset refuses */
    failed = wcsset(r->wcs);
    return failed ? loom_error(LOOM_E_DATA, "%s: its world coordinates make no sense (%s)", r->path, wcs_errmsg[failed])
                  : NULL;
}

static loom_status *check_axes(const reading *r) {
    const struct wcsprm *w = r->wcs;
    if (w->naxis != r->n_axes || w->lng != 0 || w->lat != 1 || strcmp(w->lngtyp, "RA") != 0) {
        return loom_error(LOOM_E_DATA, "%s: its first two axes are '%.8s' and '%.8s', not RA---SIN and DEC--SIN",
                          r->path, w->naxis > 0 ? w->ctype[0] : "", w->naxis > 1 ? w->ctype[1] : "");
    }
    if (strcmp(w->cel.prj.code, "SIN") != 0) {
        return loom_error(LOOM_E_DATA, "%s: its projection is %s; a model is in SIN, the orthographic projection",
                          r->path, w->cel.prj.code);
    }
    for (int i = 2; i < r->n_axes; i++) {
        bool stokes = strncmp(w->ctype[i], "STOKES", 6) == 0;
        if (r->extents[i] != 1) {
            return loom_status_note(
                loom_error(LOOM_E_DATA, "%s: its axis %.8s has %lld pixels; a model has one", r->path, w->ctype[i],
                           (long long)r->extents[i]),
                stokes ? "hint: cut out the plane of Stokes I"
                       : "hint: cut out its planes, and predict each with --channels into the same column");
        }
        double value = w->crval[i] + (1 - w->crpix[i]) * w->cdelt[i];
        if (stokes && fabs(value - 1) > 1e-6) {
            return loom_error(LOOM_E_DATA, "%s: it shows the Stokes parameter of code %g; a model shows I (code 1)",
                              r->path, value);
        }
    }
    return NULL;
}

static loom_status *check_frame(const reading *r) {
    const struct wcsprm *w = r->wcs;
    bool old = strncmp(w->radesys, "FK4", 3) == 0 || (!*w->radesys && w->equinox > 0 && w->equinox < 1984);
    bool wanted = strcmp(r->frame, "B1950") == 0;
    if (old == wanted) return NULL;
    return loom_error(LOOM_E_DATA, "%s: its coordinates are of %s, those of the observation of %s", r->path,
                      old ? "B1950" : "J2000", r->frame);
}

/* ---- where the pixels lie ---- */

/* Direction cosines of pixel (x, y) from 0, about the phase centre; false if wcslib knows no such place. */
static bool place(const reading *r, double x, double y, double *l, double *m, bool *in_front) {
    double pixel[MAX_AXES] = {x + 1, y + 1, 1, 1}, imaged[MAX_AXES], world[MAX_AXES], phi, theta;
    int bad;
    if (wcsp2s(r->wcs, 1, MAX_AXES, pixel, imaged, &phi, &theta, world, &bad)) return false;
    double ra = world[0] * DEGREE - r->ra, dec = world[1] * DEGREE;
    *l = cos(dec) * sin(ra);
    /* sin(dec - dec0) and a part without cancellation for small fields. */
    double half = sin(ra / 2);
    *m = sin(dec - r->dec) + 2 * cos(dec) * sin(r->dec) * half * half;
    *in_front = sin(dec) * sin(r->dec) + cos(dec) * cos(r->dec) * cos(ra) > 0;
    return true;
}

static loom_status *elsewhere(const reading *r, double dx, double dy) {
    return loom_status_note(loom_error(LOOM_E_DATA,
                                       "%s: its centre (pixel %" PRId64 ", %" PRId64
                                       ", counted from 1) lies %.6g pixels east and %.6g "
                                       "pixels north of the phase centre of the observation",
                                       r->path, r->model.nx / 2 + 1, r->model.ny / 2 + 1, dx, dy),
                            "a model must have that pixel at the phase centre, %.10g %.10g degrees (%s)",
                            r->ra / DEGREE, r->dec / DEGREE, r->frame);
}

/* The pixel that an image has at its phase centre. */
static int64_t middle(int64_t n) {
    return n / 2;
}

static loom_status *find_scale(reading *r) {
    double l, m, l0 = 0, m0 = 0, x = (double)middle(r->model.nx), y = (double)middle(r->model.ny);
    bool front;
    double cdelt = fabs(r->wcs->cdelt[1] * r->wcs->pc[r->n_axes + 1]) * DEGREE; /* of y along north, if straight */
    if (!(cdelt > 0) || !isfinite(cdelt)) {
        return loom_error(LOOM_E_DATA, "%s: its pixels have no size", r->path);
    }
    if (!place(r, x, y, &l0, &m0, &front) || !front || hypot(l0, m0) > TOLERANCE * cdelt) {
        return elsewhere(r, l0 / cdelt, m0 / cdelt);
    }
    /* By one pixel to the west and to the north: turned, mirrored and oblong pixels show. */
    double west[2] = {0}, north[2] = {0};
    bool known = place(r, x + 1, y, &west[0], &west[1], &front) && place(r, x, y + 1, &north[0], &north[1], &front);
    l = (west[0] - l0) / cdelt;
    m = (north[1] - m0) / cdelt;
    if (!known || fabs(l + 1) > 1e-3 || fabs(m - 1) > 1e-3 || fabs(west[1] - m0) > 1e-3 * cdelt ||
        fabs(north[0] - l0) > 1e-3 * cdelt) {
        return loom_error(LOOM_E_DATA,
                          "%s: its pixels are not square, or turned: a step along the first axis leads (%.6g, %.6g) "
                          "pixels east and north, along the second (%.6g, %.6g)",
                          r->path, l, (west[1] - m0) / cdelt, (north[0] - l0) / cdelt, m);
    }
    r->model.scale = cdelt;
    return NULL;
}

/* Eight places on the edge of the image, or as far out as half way to the horizon. */
static loom_status *check_places(const reading *r) {
    const loom_fits_model *d = &r->model;
    double far = 0.5 / d->scale;
    const int64_t cx = middle(d->nx), cy = middle(d->ny);
    double west = fmin((double)(d->nx - 1 - cx), far), east = fmin((double)cx, far);
    double north = fmin((double)(d->ny - 1 - cy), far), south = fmin((double)cy, far);
    for (int i = 0; i < 9; i++) {
        double x = i % 3 == 0 ? -east : i % 3 == 1 ? 0 : west, y = i / 3 == 0 ? -south : i / 3 == 1 ? 0 : north;
        double l = NAN, m = NAN;
        bool front;
        if (place(r, (double)cx + x, (double)cy + y, &l, &m, &front) &&
            hypot(l / d->scale + x, m / d->scale - y) <= TOLERANCE) {
            continue;
        }
        return loom_error(LOOM_E_DATA,
                          "%s: pixel (%.0f, %.0f), counted from its centre, lies %.6g pixels east and "
                          "%.6g north: its coordinates are not those of an orthographic image of the "
                          "phase centre",
                          r->path, x, y, l / d->scale, m / d->scale);
    }
    return NULL;
}

/* ---- pixels ---- */

static loom_status *read_pixels(reading *r) {
    loom_fits_model *d = &r->model;
    int64_t n, bytes;
    if (__builtin_mul_overflow(d->nx, d->ny, &n) || __builtin_mul_overflow(n, (int64_t)sizeof(double), &bytes)) {
        return loom_error(LOOM_E_LIMIT, "%s: too many pixels", r->path);
    }
    d->pixels = malloc((size_t)bytes + 1);
    if (!d->pixels) return loom_error(LOOM_E_MEMORY, "no memory for %" PRId64 " pixels of %s", n, r->path);
    LONGLONG first[MAX_AXES] = {1, 1, 1, 1};
    int code = 0, any;
    if (n && fits_read_pixll(r->file, TDOUBLE, first, n, NULL, d->pixels, &any, &code))
        return loom_fits_error(r->path, code, "cannot read");
    for (int64_t i = 0; i < n; i++) {
        if (isinf(d->pixels[i])) {
            return loom_error(LOOM_E_DATA, "%s: pixel (%" PRId64 ", %" PRId64 "), counted from 1, is infinite", r->path,
                              i % d->nx + 1, i / d->nx + 1);
        }
        d->blank += isnan(d->pixels[i]);
        d->sum += isnan(d->pixels[i]) ? 0 : d->pixels[i];
        d->sum_moduli += isnan(d->pixels[i]) ? 0 : fabs(d->pixels[i]);
    }
    return NULL;
}

static loom_status *read_all(reading *r) {
    LOOM_TRY(open_image(r));
    LOOM_TRY(read_wcs(r));
    LOOM_TRY(check_axes(r));
    LOOM_TRY(check_frame(r));
    LOOM_TRY(find_scale(r));
    LOOM_TRY(check_places(r));
    return read_pixels(r);
}

loom_status *loom_fits_read_model(const char *path, double ra, double dec, const char *frame, loom_fits_model *model) {
    reading r = {.path = path, .ra = ra, .dec = dec, .frame = frame};
    loom_status *status = read_all(&r);
    int code = 0;
    if (r.file) fits_close_file(r.file, &code);
    if (r.wcs) wcsvfree(&r.n_wcs, &r.wcs);
    if (status) {
        loom_fits_model_free(&r.model);
        return status;
    }
    *model = r.model;
    return NULL;
}

void loom_fits_model_free(loom_fits_model *model) {
    free(model->pixels);
    model->pixels = NULL;
}
