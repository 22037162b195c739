#include "io/fits.h"
#include "common/buffer.h"
#include "common/file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wcslib/wcs.h>
#include <wcslib/wcshdr.h>

/* FITS files are made of blocks of 2880 bytes; a header card has 80. */
enum {
    BLOCK = 2880,
    CARD = 80
};

/* ---- cards ---- */

static void put_card(loom_buffer *b, const char *text) {
    char card[CARD + 1];
    snprintf(card, sizeof card, "%-*s", CARD, text);
    loom_buffer_append(b, card, CARD);
}

static void put_number(loom_buffer *b, const char *key, double value, const char *comment) {
    char text[CARD + 1], number[32];
    snprintf(number, sizeof number, "%.15G", value);
    /* A real number in a header has a point. */
    const char *point = strpbrk(number, ".EN") ? "" : ".0";
    snprintf(text, sizeof text, "%-8s= %*s%s / %s", key, 20 - (int)strlen(point), number, point, comment);
    put_card(b, text);
}

static void put_integer(loom_buffer *b, const char *key, int64_t value, const char *comment) {
    char text[CARD + 1];
    snprintf(text, sizeof text, "%-8s= %20lld / %s", key, (long long)value, comment);
    put_card(b, text);
}

/* Only printable ASCII may stand in a header; quotes are doubled. A card holds 68 characters. */
static void put_string(loom_buffer *b, const char *key, const char *value) {
    if (!value || !*value) return;
    char text[CARD + 1], quoted[69];
    size_t n = 0;
    for (; *value && n < sizeof quoted - 2; value++) {
        char c = *value >= ' ' && *value <= '~' ? *value : '?';
        if (c == '\'') quoted[n++] = c;
        quoted[n++] = c;
    }
    quoted[n] = '\0';
    snprintf(text, sizeof text, "%-8s= '%-8s'", key, quoted);
    put_card(b, text);
}

static void put_history(loom_buffer *b, const char *line) {
    char text[CARD + 1];
    size_t room = CARD - strlen("HISTORY ");
    do {
        snprintf(text, sizeof text, "HISTORY %.*s", (int)room, line);
        for (char *c = text; *c; c++) {
            if (*c < ' ' || *c > '~') *c = '?';
        }
        put_card(b, text);
        line += strlen(line) < room ? strlen(line) : room;
    } while (*line);
}

/* "2017-04-11T03:04:05.600" of seconds since MJD 0. */
static void date_text(double mjd_seconds, char text[32]) {
    double unix_seconds = mjd_seconds - 40587.0 * 86400.0;
    time_t whole = (time_t)floor(unix_seconds);
    int millis = (int)((unix_seconds - floor(unix_seconds)) * 1000);
    struct tm parts;
    gmtime_r(&whole, &parts);
    size_t n = strftime(text, 20, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text + n, 32 - n, ".%03d", millis);
}

/* ---- world coordinates ---- */

static void describe_axes(struct wcsprm *wcs, const loom_fits_image *image) {
    static const char *const types[4] = {"RA---SIN", "DEC--SIN", "FREQ", "STOKES"};
    static const char *const units[4] = {"deg", "deg", "Hz", ""};
    double degrees = 180 / M_PI, ra = fmod(image->ra * degrees, 360);
    double value[4] = {ra < 0 ? ra + 360 : ra, image->dec * degrees, image->frequency, 1};
    int64_t centre_x = image->nx / 2 + 1, centre_y = image->ny / 2 + 1;
    double pixel[4] = {(double)centre_x, (double)centre_y, 1, 1};
    double step[4] = {-image->scale * degrees, image->scale * degrees, image->bandwidth > 0 ? image->bandwidth : 1, 1};
    for (int i = 0; i < 4; i++) {
        snprintf(wcs->ctype[i], sizeof wcs->ctype[i], "%s", types[i]);
        snprintf(wcs->cunit[i], sizeof wcs->cunit[i], "%s", units[i]);
        wcs->crval[i] = value[i];
        wcs->crpix[i] = pixel[i];
        wcs->cdelt[i] = step[i];
    }
    /* Straight up is north everywhere, at the poles too. */
    wcs->lonpole = 180;
    wcs->latpole = value[1];
    bool icrs = image->frame && strcmp(image->frame, "ICRS") == 0;
    bool old = image->frame && strcmp(image->frame, "B1950") == 0;
    snprintf(wcs->radesys, sizeof wcs->radesys, "%s", icrs ? "ICRS" : old ? "FK4" : "FK5");
    if (!icrs) wcs->equinox = old ? 1950 : 2000;
    if (image->frequency_frame) snprintf(wcs->specsys, sizeof wcs->specsys, "%s", image->frequency_frame);
}

static loom_status *put_wcs(loom_buffer *b, const loom_fits_image *image) {
    struct wcsprm wcs = {.flag = -1};
    if (wcsini(1, 4, &wcs)) return loom_error(LOOM_E_MEMORY, "out of memory");
    describe_axes(&wcs, image);
    int cards = 0, failed = wcsset(&wcs);
    char *text = NULL;
    if (!failed) failed = wcshdo(WCSHDO_safe, &wcs, &cards, &text);
    if (!failed) loom_buffer_append(b, text, (size_t)cards * CARD);
    loom_status *status =
        failed ? loom_error(LOOM_E_INTERNAL, "wcslib refuses the image's coordinates (%s)", wcs_errmsg[failed]) : NULL;
    free(text);
    wcsfree(&wcs);
    return status;
}

static loom_status *make_header(const loom_fits_image *image, loom_buffer *b) {
    char date[32];
    put_card(b, "SIMPLE  =                    T / FITS standard");
    put_integer(b, "BITPIX", image->dtype == LOOM_F32 ? -32 : -64, "IEEE floating point");
    put_integer(b, "NAXIS", 4, "");
    put_integer(b, "NAXIS1", image->nx, "right ascension");
    put_integer(b, "NAXIS2", image->ny, "declination");
    put_integer(b, "NAXIS3", 1, "frequency");
    put_integer(b, "NAXIS4", 1, "Stokes");
    put_string(b, "BUNIT", image->unit);
    put_string(b, "BTYPE", "Intensity");
    put_string(b, "OBJECT", image->object);
    put_string(b, "TELESCOP", image->telescope);
    put_string(b, "OBSERVER", image->observer);
    if (image->date_obs > 0) {
        date_text(image->date_obs, date);
        put_string(b, "DATE-OBS", date);
        put_number(b, "MJD-OBS", image->date_obs / 86400, "[d]");
        put_string(b, "TIMESYS", "UTC");
    }
    put_string(b, "ORIGIN", "Gridloom");
    LOOM_TRY(put_wcs(b, image));
    if (image->frequency > 0) put_number(b, "RESTFRQ", image->frequency, "[Hz] band centre");
    for (uint32_t i = 0; i < image->n_history; i++) put_history(b, image->history[i]);
    put_card(b, "END");
    while (b->length % BLOCK) put_card(b, "");
    return NULL;
}

/* ---- data ---- */

static void swap_bytes(loom_dtype dtype, const void *from, void *to, size_t n) {
    if (dtype == LOOM_F32) {
        const uint32_t *x = from;
        for (size_t i = 0; i < n; i++) ((uint32_t *)to)[i] = __builtin_bswap32(x[i]);
    } else {
        const uint64_t *x = from;
        for (size_t i = 0; i < n; i++) ((uint64_t *)to)[i] = __builtin_bswap64(x[i]);
    }
}

static loom_status *put_data(loom_writer *writer, const loom_fits_image *image) {
    enum {
        PIECE = 1 << 16
    };
    static const char zeros[BLOCK];
    size_t size = loom_dtype_size(image->dtype), n = (size_t)image->nx * (size_t)image->ny;
    uint64_t *piece = loom_xmalloc(PIECE * sizeof *piece);
    loom_status *status = NULL;
    for (size_t at = 0; at < n && !status; at += PIECE) {
        size_t count = n - at < PIECE ? n - at : PIECE;
        swap_bytes(image->dtype, (const char *)image->pixels + at * size, piece, count);
        status = loom_writer_put(writer, piece, count * size);
    }
    free(piece);
    size_t rest = n * size % BLOCK;
    if (!status && rest) status = loom_writer_put(writer, zeros, BLOCK - rest);
    return status;
}

uint64_t loom_fits_bytes(const loom_fits_image *image) {
    uint64_t data = (uint64_t)image->nx * (uint64_t)image->ny * loom_dtype_size(image->dtype);
    return (data + BLOCK - 1) / BLOCK * BLOCK + 2 * (uint64_t)BLOCK;
}

loom_status *loom_fits_write(const char *path, const loom_fits_image *image) {
    if (image->dtype != LOOM_F32 && image->dtype != LOOM_F64) {
        return loom_error(LOOM_E_INTERNAL, "an image of %s", loom_dtype_name(image->dtype));
    }
    loom_buffer header = {0};
    loom_writer *writer = NULL;
    loom_status *status = make_header(image, &header);
    if (!status) status = loom_writer_open(path, &writer);
    if (!status) status = loom_writer_put(writer, header.data, header.length);
    loom_buffer_free(&header);
    if (!status) status = put_data(writer, image);
    if (status) {
        loom_writer_abort(writer);
        return status;
    }
    return loom_writer_commit(writer, true);
}
