/* The tables beside the groups: AIPS FQ (frequencies of IFs), AIPS SU (sources), AIPS AN (antennas). */
#include "common/buffer.h"
#include "uv_impl.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Moves to the first table of this name; rows and bytes of a row. False where there is none, or none that can be read.
 */
static bool find_table(fitsfile *file, const char *name, int64_t *rows, int64_t *row_bytes) {
    int code = 0;
    LONGLONG n = 0;
    fits_write_errmark();
    fits_movnam_hdu(file, BINARY_TBL, (char *)name, 0, &code);
    if (!code) fits_get_num_rowsll(file, &n, &code);
    fits_clear_errmark();
    return !code && loom_uv_whole(file, "NAXIS1", row_bytes) && *row_bytes > 0 && (*rows = n) >= 0;
}

typedef struct column {
    int number, type;
    int64_t n; /* values in a row */
} column;

static bool find_column(fitsfile *file, const char *name, column *c) {
    int code = 0;
    LONGLONG n = 0;
    fits_write_errmark();
    fits_get_colnum(file, CASEINSEN, (char *)name, &c->number, &code);
    if (!code) fits_get_coltypell(file, c->number, &c->type, &n, NULL, &code);
    fits_clear_errmark();
    c->n = n;
    return !code;
}

static loom_status *read_numbers(fitsfile *file, const char *path, const column *c, int64_t row, int64_t n,
                                 double *to) {
    int code = 0;
    double none = NAN;
    fits_read_col(file, TDOUBLE, c->number, row + 1, 1, n, &none, to, NULL, &code);
    return code ? loom_fits_error(path, code, "cannot read a table of") : NULL;
}

/* ---- AIPS FQ ---- */

static loom_status *setup_init(loom_uv_setup *setup, const char *path, int64_t n_if, double increment) {
    setup->offsets = calloc((size_t)n_if, sizeof *setup->offsets);
    setup->increment = calloc((size_t)n_if, sizeof *setup->increment);
    if (!setup->offsets || !setup->increment) {
        return loom_error(LOOM_E_MEMORY, "no memory for the %" PRId64 " IFs of %s", n_if, path);
    }
    for (int64_t i = 0; i < n_if; i++) setup->increment[i] = increment;
    return NULL;
}

typedef struct frequency_table {
    column id, offset, width;
    bool has_id, has_width;
    int64_t n_rows;
} frequency_table;

/* Widths of channels differ between setups, which the header, being one, cannot say. */
static loom_status *read_widths(fitsfile *file, loom_uv_state *st, const frequency_table *t, int64_t row) {
    int64_t n_if = st->header.axes[UV_IF].n;
    if (t->n_rows < 2 || !t->has_width || t->width.n < n_if) return NULL;
    double *widths = loom_xcalloc((size_t)n_if, sizeof *widths);
    loom_status *status = read_numbers(file, st->path, &t->width, row, n_if, widths);
    for (int64_t i = 0; i < n_if && !status; i++) {
        double width = fabs(widths[i]);
        if (isfinite(width) && width > 0) st->setups[row].increment[i] = copysign(width, st->setups[row].increment[i]);
    }
    free(widths);
    return status;
}

static loom_status *read_setup(fitsfile *file, loom_uv_state *st, const frequency_table *t, int64_t row) {
    int64_t n_if = st->header.axes[UV_IF].n;
    loom_uv_setup *setup = &st->setups[row];
    double id = (double)row + 1;
    LOOM_TRY(setup_init(setup, st->path, n_if, st->header.axes[UV_FREQ].increment));
    LOOM_TRY(read_numbers(file, st->path, &t->offset, row, n_if, setup->offsets));
    if (t->has_id) LOOM_TRY(read_numbers(file, st->path, &t->id, row, 1, &id));
    setup->id = id >= -1e9 && id <= 1e9 ? (int64_t)id : row + 1;
    return read_widths(file, st, t, row);
}

static loom_status *check_segments(const loom_uv_state *st, int64_t n_setups) {
    int64_t n_if = st->header.axes[UV_IF].n;
    if (n_if <= LOOM_MAX_UVFITS_SEGMENTS && n_setups <= LOOM_MAX_UVFITS_SEGMENTS / n_if) return NULL;
    return loom_error(LOOM_E_LIMIT,
                      "%s has %" PRId64 " frequency setups of %" PRId64 " IFs; at most %d in all are read", st->path,
                      n_setups, n_if, LOOM_MAX_UVFITS_SEGMENTS);
}

/* Without a table there is one setup, without offsets. */
static loom_status *no_table(loom_uv_state *st) {
    int64_t n_if = st->header.axes[UV_IF].n;
    if (n_if > 1) {
        return loom_error(LOOM_E_DATA,
                          "%s has %" PRId64 " IFs, but no table AIPS FQ with their frequencies (column IF FREQ)",
                          st->path, n_if);
    }
    st->setups = loom_xcalloc(1, sizeof *st->setups);
    st->n_setups = 1;
    st->setups[0].id = 1;
    return setup_init(&st->setups[0], st->path, n_if, st->header.axes[UV_FREQ].increment);
}

loom_status *loom_uv_read_setups(loom_uv_state *state) {
    fitsfile *file = state->file;
    frequency_table t = {0};
    int64_t row_bytes = 0, n_if = state->header.axes[UV_IF].n;
    LOOM_TRY(check_segments(state, 1));
    if (!find_table(file, "AIPS FQ", &t.n_rows, &row_bytes) || t.n_rows == 0 ||
        !find_column(file, "IF FREQ", &t.offset)) {
        return no_table(state);
    }
    if (t.offset.n < n_if) {
        return loom_error(LOOM_E_DATA,
                          "%s: its table AIPS FQ has frequencies of %" PRId64 " IFs, the groups have %" PRId64,
                          state->path, t.offset.n, n_if);
    }
    LOOM_TRY(check_segments(state, t.n_rows));
    t.has_id = find_column(file, "FRQSEL", &t.id) && t.id.n > 0;
    t.has_width = find_column(file, "CH WIDTH", &t.width);
    state->setups = loom_xcalloc((size_t)t.n_rows, sizeof *state->setups);
    state->n_setups = t.n_rows;
    for (int64_t i = 0; i < t.n_rows; i++) LOOM_TRY(read_setup(file, state, &t, i));
    return NULL;
}

/* ---- AIPS SU ---- */

typedef struct source_table {
    column id, name, ra, dec, equinox;
    bool has_name, has_ra, has_dec, has_equinox;
} source_table;

static loom_status *read_source(fitsfile *file, const char *path, const source_table *t, int64_t row,
                                loom_uv_source *s) {
    double id = (double)row + 1;
    *s = (loom_uv_source){.ra = NAN, .dec = NAN, .equinox = NAN};
    LOOM_TRY(read_numbers(file, path, &t->id, row, 1, &id));
    s->id = fabs(id) <= 1e9 ? (int64_t)id : row + 1;
    if (t->has_ra) LOOM_TRY(read_numbers(file, path, &t->ra, row, 1, &s->ra));
    if (t->has_dec) LOOM_TRY(read_numbers(file, path, &t->dec, row, 1, &s->dec));
    if (t->has_equinox) LOOM_TRY(read_numbers(file, path, &t->equinox, row, 1, &s->equinox));
    if (!t->has_name || t->name.type != TSTRING || t->name.n < 1 || t->name.n >= FLEN_VALUE) return NULL;
    char none[] = "";
    int code = 0;
    fits_read_col(file, TSTRING, t->name.number, row + 1, 1, 1, none, &(char *){s->name}, NULL, &code);
    for (size_t n = strlen(s->name); n && s->name[n - 1] == ' ';) s->name[--n] = 0;
    loom_printable(s->name);
    return code ? loom_fits_error(path, code, "cannot read the table AIPS SU of") : NULL;
}

loom_status *loom_uv_read_sources(fitsfile *file, const char *path, loom_uv_source **sources, int64_t *n) {
    source_table t;
    int64_t n_rows, row_bytes;
    *sources = NULL;
    *n = 0;
    if (!find_table(file, "AIPS SU", &n_rows, &row_bytes) || n_rows == 0) return NULL;
    if (!find_column(file, "ID. NO.", &t.id) && !find_column(file, "ID_NO.", &t.id)) return NULL;
    t.has_name = find_column(file, "SOURCE", &t.name);
    t.has_ra = find_column(file, "RAEPO", &t.ra);
    t.has_dec = find_column(file, "DECEPO", &t.dec);
    t.has_equinox = find_column(file, "EPOCH", &t.equinox);
    loom_uv_source *made = calloc((size_t)n_rows, sizeof *made);
    if (!made) return loom_error(LOOM_E_MEMORY, "no memory for the %" PRId64 " sources of %s", n_rows, path);
    loom_status *status = NULL;
    for (int64_t i = 0; i < n_rows && !status; i++) status = read_source(file, path, &t, i, &made[i]);
    if (status) {
        free(made);
        return status;
    }
    *sources = made;
    *n = n_rows;
    return NULL;
}

int64_t loom_uv_count_antennas(fitsfile *file) {
    int64_t rows = 0, row_bytes;
    return find_table(file, "AIPS AN", &rows, &row_bytes) ? rows : 0;
}
