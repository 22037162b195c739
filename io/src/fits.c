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
    double value[4] = {ra < 0 ? ra + 360 : ra, image->dec * degrees, image->frequency,
                       image->stokes ? image->stokes : 1};
    int64_t centre_x = image->nx / 2 + 1, centre_y = image->ny / 2 + 1;
    double pixel[4] = {(double)centre_x, (double)centre_y, 1, 1};
    double step[4] = {-image->scale * degrees, image->scale * degrees, image->bandwidth > 0 ? image->bandwidth : 1,
                      image->stokes_step ? image->stokes_step : 1};
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

static int64_t frequencies_of(const loom_fits_image *image) {
    return image->n_frequencies ? image->n_frequencies : 1;
}
static int64_t stokes_of(const loom_fits_image *image) {
    return image->n_stokes ? image->n_stokes : 1;
}
static int64_t planes_of(const loom_fits_image *image) {
    return frequencies_of(image) * stokes_of(image);
}

static void put_history_and_end(loom_buffer *b, const char *const *history, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) put_history(b, history[i]);
    put_card(b, "END");
    while (b->length % BLOCK) put_card(b, "");
}

static loom_status *make_header(const loom_fits_image *image, loom_buffer *b) {
    char date[32];
    double degrees = 180 / M_PI, middle = image->frequency;
    if (frequencies_of(image) > 1) middle += image->bandwidth * (double)(frequencies_of(image) - 1) / 2;
    put_card(b, "SIMPLE  =                    T / FITS standard");
    put_integer(b, "BITPIX", image->dtype == LOOM_F32 ? -32 : -64, "IEEE floating point");
    put_integer(b, "NAXIS", 4, "");
    put_integer(b, "NAXIS1", image->nx, "right ascension");
    put_integer(b, "NAXIS2", image->ny, "declination");
    put_integer(b, "NAXIS3", frequencies_of(image), "frequency");
    put_integer(b, "NAXIS4", stokes_of(image), "Stokes");
    if (image->table) put_card(b, "EXTEND  =                    T / table PLANES follows");
    put_string(b, "BUNIT", image->unit);
    put_string(b, "BTYPE", image->type ? image->type : "Intensity");
    if (image->beam_major > 0) {
        put_number(b, "BMAJ", image->beam_major * degrees, "[deg] fitted beam, full width at half maximum");
        put_number(b, "BMIN", image->beam_minor * degrees, "[deg]");
        put_number(b, "BPA", image->beam_angle * degrees, "[deg] north through east");
    }
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
    if (middle > 0) put_number(b, "RESTFRQ", middle, "[Hz] band centre");
    put_history_and_end(b, image->history, image->n_history);
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

static loom_status *put_values(loom_writer *writer, loom_dtype dtype, const void *values, size_t n) {
    enum {
        PIECE = 1 << 16
    };
    size_t size = loom_dtype_size(dtype);
    uint64_t *piece = loom_xmalloc(PIECE * sizeof *piece);
    loom_status *status = NULL;
    for (size_t at = 0; at < n && !status; at += PIECE) {
        size_t count = n - at < PIECE ? n - at : PIECE;
        swap_bytes(dtype, (const char *)values + at * size, piece, count);
        status = loom_writer_put(writer, piece, count * size);
    }
    free(piece);
    return status;
}

static loom_status *put_zeros(loom_writer *writer, uint64_t bytes) {
    static const char zeros[BLOCK];
    size_t rest = (size_t)(bytes % BLOCK);
    return rest ? loom_writer_put(writer, zeros, BLOCK - rest) : NULL;
}

static uint64_t data_bytes(const loom_fits_image *image) {
    return (uint64_t)planes_of(image) * (uint64_t)image->nx * (uint64_t)image->ny * loom_dtype_size(image->dtype);
}

static loom_status *put_data(loom_writer *writer, const loom_fits_image *image) {
    size_t n = (size_t)image->nx * (size_t)image->ny;
    for (int64_t i = 0; i < planes_of(image); i++) {
        LOOM_TRY(put_values(writer, image->dtype, image->planes ? image->planes[i] : image->pixels, n));
    }
    return put_zeros(writer, data_bytes(image));
}

/* ---- the table PLANES ---- */

enum {
    COLUMNS = 8,
    ROW = 4 + 7 * 8
};

static void put_column(loom_buffer *b, int column, const char *name, const char *form, const char *unit) {
    char key[16];
    snprintf(key, sizeof key, "TTYPE%d", column);
    put_string(b, key, name);
    snprintf(key, sizeof key, "TFORM%d", column);
    put_string(b, key, form);
    snprintf(key, sizeof key, "TUNIT%d", column);
    put_string(b, key, unit);
}

static void make_table_header(const loom_fits_image *image, loom_buffer *b) {
    static const char *const columns[COLUMNS][3] = {
        {"STOKES", "1J", ""},  {"FREQ", "1D", "Hz"},  {"BANDWIDTH", "1D", "Hz"}, {"WEIGHT", "1D", ""},
        {"GRIDDED", "1K", ""}, {"BMAJ", "1D", "deg"}, {"BMIN", "1D", "deg"},     {"BPA", "1D", "deg"}};
    put_card(b, "XTENSION= 'BINTABLE'           / a row a plane");
    put_integer(b, "BITPIX", 8, "");
    put_integer(b, "NAXIS", 2, "");
    put_integer(b, "NAXIS1", ROW, "bytes a row");
    put_integer(b, "NAXIS2", planes_of(image), "planes, frequencies fastest");
    put_integer(b, "PCOUNT", 0, "");
    put_integer(b, "GCOUNT", 1, "");
    put_integer(b, "TFIELDS", COLUMNS, "");
    for (int i = 0; i < COLUMNS; i++) put_column(b, i + 1, columns[i][0], columns[i][1], columns[i][2]);
    put_string(b, "EXTNAME", "PLANES");
    put_history_and_end(b, NULL, 0);
}

static void put_big_endian(loom_buffer *b, const void *value) {
    uint64_t bits;
    memcpy(&bits, value, sizeof bits);
    bits = __builtin_bswap64(bits);
    loom_buffer_append(b, &bits, sizeof bits);
}

static loom_status *put_table(loom_writer *writer, const loom_fits_image *image) {
    loom_buffer b = {0};
    double degrees = 180 / M_PI;
    make_table_header(image, &b);
    for (int64_t i = 0; i < planes_of(image); i++) {
        const loom_fits_plane *p = &image->table[i];
        uint32_t stokes = __builtin_bswap32((uint32_t)p->stokes);
        double before[] = {p->frequency, p->bandwidth, p->sum_weights};
        double after[] = {p->beam_major * degrees, p->beam_minor * degrees, p->beam_angle * degrees};
        loom_buffer_append(&b, &stokes, sizeof stokes);
        for (int k = 0; k < 3; k++) put_big_endian(&b, &before[k]);
        put_big_endian(&b, &p->gridded);
        for (int k = 0; k < 3; k++) put_big_endian(&b, &after[k]);
    }
    loom_status *status = loom_writer_put(writer, b.data, b.length);
    if (!status) status = put_zeros(writer, b.length);
    loom_buffer_free(&b);
    return status;
}

/* ---- files ---- */

uint64_t loom_fits_bytes(const loom_fits_image *image) {
    uint64_t table = image->table || planes_of(image) > 1 ? (uint64_t)planes_of(image) * ROW + 3 * (uint64_t)BLOCK : 0;
    return (data_bytes(image) + BLOCK - 1) / BLOCK * BLOCK + 2 * (uint64_t)BLOCK + table;
}

loom_status *loom_fits_hold(const char *path, const loom_fits_image *image, loom_file_set *set) {
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
    if (!status && image->table) status = put_table(writer, image);
    if (status) {
        loom_writer_abort(writer);
        return status;
    }
    return loom_writer_hold(writer, true, set);
}

loom_status *loom_fits_write(const char *path, const loom_fits_image *image) {
    return loom_fits_hold(path, image, NULL);
}

loom_status *loom_fits_hold_grid(const char *path, const loom_fits_grid *grid, loom_file_set *set) {
    loom_buffer b = {0};
    loom_writer *writer = NULL;
    size_t n = (size_t)grid->nx * (size_t)grid->rows * (size_t)grid->planes;
    put_card(&b, "SIMPLE  =                    T / FITS standard");
    put_integer(&b, "BITPIX", -64, "IEEE floating point");
    put_integer(&b, "NAXIS", 3, "");
    put_integer(&b, "NAXIS1", grid->nx, "u");
    put_integer(&b, "NAXIS2", grid->rows, "v >= 0");
    put_integer(&b, "NAXIS3", grid->planes, "real, imaginary, weight");
    put_string(&b, "CTYPE1", "UU");
    const int64_t zero = grid->nx / 2 + 1;
    put_number(&b, "CRPIX1", (double)zero, "the cell of u from 0");
    put_number(&b, "CRVAL1", grid->cell_u / 2, "[wavelengths] its centre");
    put_number(&b, "CDELT1", grid->cell_u, "[wavelengths]");
    put_string(&b, "CTYPE2", "VV");
    put_number(&b, "CRPIX2", 1, "the cell of v from 0");
    put_number(&b, "CRVAL2", grid->cell_v / 2, "[wavelengths] its centre");
    put_number(&b, "CDELT2", grid->cell_v, "[wavelengths]");
    put_string(&b, "ORIGIN", "Gridloom");
    put_history_and_end(&b, grid->history, grid->n_history);
    loom_status *status = loom_writer_open(path, &writer);
    if (!status) status = loom_writer_put(writer, b.data, b.length);
    loom_buffer_free(&b);
    if (!status) status = put_values(writer, LOOM_F64, grid->cells, n);
    if (!status) status = put_zeros(writer, n * sizeof(double));
    if (status) {
        loom_writer_abort(writer);
        return status;
    }
    return loom_writer_hold(writer, true, set);
}
