/* The primary header of a UVFITS file: axes of a group in any order, parameters by name. Everything is checked here
 * that a header can say wrongly; nothing of a claimed size is allocated before the file's length has been seen to hold
 * it. */
#include "common/buffer.h"
#include "uv_impl.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- cfitsio ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void loom_uv_lock(void) {
    pthread_mutex_lock(&lock);
}

void loom_uv_unlock(void) {
    pthread_mutex_unlock(&lock);
}

bool loom_uv_number(fitsfile *file, const char *key, double *value) {
    int code = 0;
    double x;
    fits_write_errmark();
    fits_read_key(file, TDOUBLE, key, &x, NULL, &code);
    fits_clear_errmark();
    if (code) return false;
    *value = x;
    return true;
}

bool loom_uv_whole(fitsfile *file, const char *key, int64_t *value) {
    int code = 0;
    LONGLONG x;
    fits_write_errmark();
    fits_read_key(file, TLONGLONG, key, &x, NULL, &code);
    fits_clear_errmark();
    if (code) return false;
    *value = x;
    return true;
}

bool loom_uv_text(fitsfile *file, const char *key, char text[FLEN_VALUE]) {
    int code = 0;
    fits_write_errmark();
    fits_read_key(file, TSTRING, key, text, NULL, &code);
    fits_clear_errmark();
    if (code) return false;
    size_t n = strlen(text);
    while (n && text[n - 1] == ' ') text[--n] = 0;
    return true;
}

/* "CTYPE" with a number, in one of four static buffers: all calls are under the lock. */
static const char *numbered(const char *key, int64_t number) {
    static char room[4][FLEN_KEYWORD];
    static unsigned next;
    char *text = room[next++ % 4];
    snprintf(text, FLEN_KEYWORD, "%s%d", key, (int)number);
    return text;
}

/* Whether `text` is `name`, alone or followed by '-' and a suffix or by blanks. */
static bool is_called(const char *text, const char *name) {
    size_t n = strlen(name);
    return strncasecmp(text, name, n) == 0 && (!text[n] || text[n] == '-' || text[n] == ' ');
}

/* ---- shape ---- */

static loom_status *damaged(const char *path, const char *key) {
    return loom_error(LOOM_E_DATA, "%s: the keyword %s is missing or makes no sense", path, key);
}

static loom_status *check_kind(fitsfile *file, const char *path, int64_t *n_axes) {
    int64_t first = -1;
    int groups = 0, code = 0;
    if (!loom_uv_whole(file, "NAXIS", n_axes) || *n_axes < 0 || *n_axes > LOOM_MAX_UVFITS_KEYS) {
        return damaged(path, "NAXIS");
    }
    fits_write_errmark();
    fits_read_key(file, TLOGICAL, "GROUPS", &groups, NULL, &code);
    fits_clear_errmark();
    if (*n_axes >= 2 && loom_uv_whole(file, "NAXIS1", &first) && first == 0 && !code && groups) return NULL;
    return loom_status_note(
        loom_error(LOOM_E_DATA, "%s is a FITS file, but not UVFITS: its primary data are not random groups", path),
        "hint: an observation is a MeasurementSet or a UVFITS file; FITS-IDI can be converted to either");
}

static loom_status *unknown_axis(const char *path, const char *name, int64_t n) {
    return loom_error(LOOM_E_DATA, "%s: an axis '%s' of %" PRId64 " in its visibilities is not known here", path, name,
                      n);
}

static loom_status *take_axis(fitsfile *file, const char *path, int64_t number, loom_uv_header *h) {
    static const char *const names[UV_AXES] = {"COMPLEX", "STOKES", "FREQ", "IF", "RA", "DEC"};
    loom_uv_axis a = {.exists = true, .stride = h->n_cells, .increment = 1, .reference = 1};
    if (!loom_uv_whole(file, numbered("NAXIS", number), &a.n) || a.n < 1) {
        return damaged(path, numbered("NAXIS", number));
    }
    if (__builtin_mul_overflow(h->n_cells, a.n, &h->n_cells)) {
        return loom_error(LOOM_E_DATA, "%s: the header claims groups of more than 2^63 numbers", path);
    }
    loom_uv_text(file, numbered("CTYPE", number), a.name);
    loom_uv_number(file, numbered("CRVAL", number), &a.value);
    loom_uv_number(file, numbered("CDELT", number), &a.increment);
    loom_uv_number(file, numbered("CRPIX", number), &a.reference);
    for (int i = 0; i < UV_AXES; i++) {
        if (!is_called(a.name, names[i])) continue;
        if (h->axes[i].exists) return loom_error(LOOM_E_DATA, "%s has two axes %s", path, names[i]);
        if ((i == UV_RA || i == UV_DEC) && a.n != 1) return unknown_axis(path, a.name, a.n);
        h->axes[i] = a;
        return NULL;
    }
    return a.n == 1 ? NULL : unknown_axis(path, a.name, a.n);
}

static loom_status *read_axes(fitsfile *file, const char *path, loom_uv_header *h) {
    int64_t n_axes;
    LOOM_TRY(check_kind(file, path, &n_axes));
    for (int i = 0; i < UV_AXES; i++) h->axes[i] = (loom_uv_axis){.n = 1};
    h->n_cells = 1;
    for (int64_t i = 2; i <= n_axes; i++) LOOM_TRY(take_axis(file, path, i, h));
    static const struct {
        loom_uv_axis_role role;
        const char *name;
    } needed[] = {{UV_COMPLEX, "COMPLEX"}, {UV_STOKES, "STOKES"}, {UV_FREQ, "FREQ"}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (h->axes[needed[i].role].exists) continue;
        return loom_error(LOOM_E_DATA, "%s is not UVFITS: its groups have no axis %s", path, needed[i].name);
    }
    int64_t n = h->axes[UV_COMPLEX].n;
    if (n != 2 && n != 3) {
        return loom_error(LOOM_E_DATA,
                          "%s: the axis COMPLEX has %" PRId64
                          " numbers; they should be 3, a real and an imaginary part "
                          "and a weight, or 2 without it",
                          path, n);
    }
    return NULL;
}

/* Bytes of everything, held against the length of the file. */
static loom_status *check_length(fitsfile *file, const char *path, loom_uv_header *h) {
    struct stat info;
    LONGLONG start;
    int code = 0;
    fits_get_hduaddrll(file, NULL, &start, NULL, &code);
    if (code) return loom_fits_error(path, code, "cannot read");
    if (stat(path, &info) < 0) return loom_error_errno(LOOM_E_NOINPUT, errno, "cannot read %s", path);
    int64_t numbers, total, end;
    if (__builtin_add_overflow(h->n_cells, h->n_parameters, &numbers) ||
        __builtin_mul_overflow(numbers, h->item, &h->group_bytes) ||
        __builtin_mul_overflow(h->group_bytes, h->n_groups, &total) || __builtin_add_overflow(total, start, &end)) {
        return loom_error(LOOM_E_DATA, "%s is truncated: the header claims more than 2^63 bytes", path);
    }
    h->start = start;
    h->parameter_bytes = h->n_parameters * h->item;
    if (info.st_size >= end) return NULL;
    return loom_status_note(loom_error(LOOM_E_DATA,
                                       "%s is truncated: %" PRId64 " groups of %" PRId64 " bytes end at byte %" PRId64
                                       ", the file at %" PRId64,
                                       path, h->n_groups, h->group_bytes, end, (int64_t)info.st_size),
                            "hint: was it copied whole?");
}

static loom_status *read_counts(fitsfile *file, const char *path, loom_uv_header *h) {
    int64_t bitpix;
    if (!loom_uv_whole(file, "BITPIX", &bitpix) ||
        (bitpix != 8 && bitpix != 16 && bitpix != 32 && bitpix != 64 && bitpix != -32 && bitpix != -64)) {
        return damaged(path, "BITPIX");
    }
    h->bitpix = (int)bitpix;
    h->item = (bitpix < 0 ? -bitpix : bitpix) / 8;
    if (!loom_uv_whole(file, "PCOUNT", &h->n_parameters) || h->n_parameters < 0 ||
        h->n_parameters > LOOM_MAX_UVFITS_KEYS) {
        return damaged(path, "PCOUNT");
    }
    if (!loom_uv_whole(file, "GCOUNT", &h->n_groups) || h->n_groups < 0) return damaged(path, "GCOUNT");
    if (h->n_groups == 0) return loom_error(LOOM_E_DATA, "%s has no groups: there are no visibilities in it", path);
    h->scale = 1;
    loom_uv_number(file, "BSCALE", &h->scale);
    loom_uv_number(file, "BZERO", &h->zero);
    h->has_blank = bitpix > 0 && loom_uv_whole(file, "BLANK", &h->blank);
    return NULL;
}

/* ---- parameters ---- */

static loom_uv_role role_of(const char *name) {
    static const struct {
        const char *name;
        loom_uv_role role;
    } names[] = {{"UU", UV_U},
                 {"VV", UV_V},
                 {"WW", UV_W},
                 {"BASELINE", UV_BASELINE},
                 {"ANTENNA1", UV_ANTENNA1},
                 {"ANTENNA2", UV_ANTENNA2},
                 {"DATE", UV_DATE},
                 {"_DATE", UV_DATE},
                 {"SOURCE", UV_SOURCE},
                 {"FREQSEL", UV_FREQSEL}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (is_called(name, names[i].name)) return names[i].role;
    }
    return UV_OTHER;
}

static loom_status *check_parameters(const char *path, const loom_uv_header *h, const char *names) {
    const char *missing = !h->has[UV_U]   ? "UU"
                          : !h->has[UV_V] ? "VV"
                          : !h->has[UV_W] ? "WW"
                          : !h->has[UV_BASELINE] && !(h->has[UV_ANTENNA1] && h->has[UV_ANTENNA2])
                              ? "BASELINE (and not ANTENNA1 and ANTENNA2 either)"
                              : NULL;
    if (!missing) return NULL;
    return loom_status_note(loom_error(LOOM_E_DATA, "%s: its groups have no parameter %s", path, missing),
                            "the parameters there: %s", *names ? names : "none");
}

static loom_status *read_parameters(fitsfile *file, const char *path, loom_uv_header *h) {
    loom_buffer names = {0};
    loom_buffer_text(&names, "");
    h->parameters = loom_xcalloc((size_t)h->n_parameters + 1, sizeof *h->parameters);
    for (int64_t i = 0; i < h->n_parameters; i++) {
        loom_uv_parameter *p = &h->parameters[i];
        char name[FLEN_VALUE] = "";
        *p = (loom_uv_parameter){.scale = 1};
        loom_uv_text(file, numbered("PTYPE", i + 1), name);
        loom_uv_number(file, numbered("PSCAL", i + 1), &p->scale);
        loom_uv_number(file, numbered("PZERO", i + 1), &p->zero);
        p->role = role_of(name);
        h->has[p->role] = true;
        loom_buffer_printf(&names, "%s%s", i ? ", " : "", name);
    }
    loom_status *status = check_parameters(path, h, names.data);
    loom_buffer_free(&names);
    return status;
}

/* FITS counts -1 RR, -2 LL, -3 RL, -4 LR, -5 XX, -6 YY, -7 XY, -8 YX, and 1 to 4 I, Q, U, V. */
static loom_status *read_correlations(const char *path, loom_uv_header *h) {
    static const int32_t linear_and_circular[] = {5, 8, 6, 7, 9, 12, 10, 11};
    const loom_uv_axis *a = &h->axes[UV_STOKES];
    h->correlations = calloc((size_t)a->n, sizeof *h->correlations);
    if (!h->correlations)
        return loom_error(LOOM_E_MEMORY, "no memory for the %" PRId64 " correlations of %s", a->n, path);
    for (int64_t i = 0; i < a->n; i++) {
        double code = nearbyint(a->value + ((double)i + 1 - a->reference) * a->increment);
        if (code >= 1 && code <= 4) h->correlations[i] = (int32_t)code;
        if (code <= -1 && code >= -8) h->correlations[i] = linear_and_circular[(int)-code - 1];
    }
    return NULL;
}

loom_status *loom_uv_read_header(fitsfile *file, const char *path, loom_uv_header *header) {
    LOOM_TRY(read_axes(file, path, header));
    LOOM_TRY(read_counts(file, path, header));
    LOOM_TRY(check_length(file, path, header));
    LOOM_TRY(read_parameters(file, path, header));
    return read_correlations(path, header);
}

void loom_uv_header_free(loom_uv_header *header) {
    free(header->parameters);
    free(header->correlations);
}
