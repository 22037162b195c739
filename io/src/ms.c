/* Opening a MeasurementSet: everything that can be wrong with it is found here, before a job starts, so that messages
 * can say what there is to choose from. Order: the file, the main table and its columns, the subtables, the selection,
 * then one look at the ids of all rows. */
#include "common/buffer.h"
#include "common/file.h"
#include "ms_impl.h"
#include "rows.h"
#include "source_impl.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Rows looked through at a time: 2 MiB of ids and times. */
#define SCAN_ROWS 65536

typedef struct opening {
    const char *path; /* as the user gave it */
    loom_ms_selection want;
    loom_casa *main, *descriptions, *windows, *polarizations, *fields, *antennas, *observations;
    int32_t *window_of, *polarization_of; /* by data description */
    int64_t n_descriptions;
    uint32_t *segment_of; /* by data description; UINT32_MAX: none yet */
    loom_ms_state *state;
    loom_ms_info *info;
} opening;

/* ---- the file and its tables ---- */

/* A file: perhaps an observation in another format. */
static loom_status *not_a_directory(const char *path) {
    char start[9] = {0};
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(start, 1, 8, f) : 0;
    if (f) fclose(f);
    if (n == 8 && strcmp(start, "SIMPLE  ") == 0) {
        return loom_status_note(loom_error(LOOM_E_DATA, "%s is a FITS file, not a MeasurementSet", path),
                                "hint: convert it, for example by casa's importuvfits");
    }
    return loom_error(LOOM_E_DATA, "%s is not a MeasurementSet (which is a directory) and not a FITS file%s", path,
                      n ? "" : ": it is empty");
}

static loom_status *check_path(const char *path) {
    struct stat info;
    if (stat(path, &info) < 0) {
        return errno == ENOENT ? loom_error(LOOM_E_NOINPUT, "%s: no such file or directory", *path ? path : "\"\"")
                               : loom_error_errno(LOOM_E_NOINPUT, errno, "cannot read %s", path);
    }
    LOOM_TRY(loom_file_check_stored(path));
    if (!S_ISDIR(info.st_mode)) return not_a_directory(path);
    char *table = loom_xprintf("%s/table.dat", path);
    int found = stat(table, &info), why = errno;
    free(table);
    if (found < 0 && why == ENOENT) {
        return loom_status_note(
            loom_error(LOOM_E_DATA, "%s is not a MeasurementSet: the directory has no table.dat", path),
            "hint: a MeasurementSet is a directory of tables; is it unpacked, and copied whole?");
    }
    return found < 0 ? loom_error_errno(LOOM_E_NOINPUT, why, "cannot read %s/table.dat", path) : NULL;
}

static loom_status *open_tables(opening *o) {
    struct {
        const char *name;
        loom_casa **to;
    } tables[] = {
        {"DATA_DESCRIPTION", &o->descriptions},
        {"SPECTRAL_WINDOW", &o->windows},
        {"POLARIZATION", &o->polarizations},
        {"FIELD", &o->fields},
        {"ANTENNA", &o->antennas},
        {"OBSERVATION", &o->observations},
    };
    LOOM_TRY(loom_casa_open(o->path, &o->main));
    bool description = loom_casa_describe(o->main, "DATA_DESC_ID").exists,
         uvw = loom_casa_describe(o->main, "UVW").exists;
    if (!description || !uvw) {
        return loom_error(LOOM_E_DATA, "%s is not a MeasurementSet: it is a table without %s%s%s", o->path,
                          description ? "" : "DATA_DESC_ID", description || uvw ? "" : " and ", uvw ? "" : "UVW");
    }
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        LOOM_TRY(loom_casa_subtable(o->main, tables[i].name, tables[i].to));
    }
    return NULL;
}

static bool holds_visibilities(const loom_casa *table, const char *column) {
    loom_casa_column c = loom_casa_describe(table, column);
    return c.exists && c.is_array && loom_dtype_is_complex(c.dtype);
}

static loom_status *check_columns(const opening *o) {
    static const char *const needed[] = {"UVW",      "TIME",   "ANTENNA1", "ANTENNA2", "DATA_DESC_ID",
                                         "FIELD_ID", "WEIGHT", "FLAG",     "FLAG_ROW"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (loom_casa_describe(o->main, needed[i]).exists) continue;
        return loom_error(LOOM_E_DATA, "%s has no column %s, which every MeasurementSet must have", o->path, needed[i]);
    }
    if (o->want.by_scan && !loom_casa_describe(o->main, "SCAN_NUMBER").exists) {
        return loom_error(LOOM_E_DATA, "%s has no column SCAN_NUMBER to choose rows by", o->path);
    }
    if (holds_visibilities(o->main, o->want.column)) return NULL;
    bool exists = loom_casa_describe(o->main, o->want.column).exists;
    char *there = loom_casa_columns(o->main, true);
    loom_status *status =
        loom_error(LOOM_E_DATA, exists ? "column %s of %s does not hold visibilities" : "no column %s in %s",
                   *o->want.column ? o->want.column : "\"\"", o->path);
    status = *there ? loom_status_note(status, "hint: columns of visibilities there: %s; choose with --column", there)
                    : loom_status_note(status, "it has no column of visibilities at all");
    free(there);
    return status;
}

/* ---- selection ---- */

static loom_status *check_field(const opening *o) {
    int64_t n = loom_casa_rows(o->fields);
    if (o->want.field >= 0 && o->want.field < n) return NULL;
    loom_buffer names = {0};
    for (int64_t i = 0; i < n && i < 20; i++) {
        char *name;
        loom_status *status = loom_casa_text(o->fields, "NAME", i, &name);
        loom_buffer_printf(&names, "%s%" PRId64 " '%s'", i ? ", " : "", i, status ? "?" : name);
        if (!status) free(name);
        loom_status_free(status);
    }
    loom_status *status =
        loom_status_note(loom_error(LOOM_E_DATA, "no field %" PRId64 " in %s", o->want.field, o->path),
                         "hint: the fields there are %s%s", n ? names.data : "none", n > 20 ? ", ..." : "");
    loom_buffer_free(&names);
    return status;
}

static loom_status *read_descriptions(opening *o) {
    o->n_descriptions = loom_casa_rows(o->descriptions);
    size_t n = (size_t)o->n_descriptions;
    o->window_of = loom_xcalloc(n + 1, sizeof *o->window_of);
    o->polarization_of = loom_xcalloc(n + 1, sizeof *o->polarization_of);
    o->segment_of = loom_xcalloc(n + 1, sizeof *o->segment_of);
    for (size_t i = 0; i < n; i++) o->segment_of[i] = UINT32_MAX;
    if (n == 0) return loom_error(LOOM_E_DATA, "the table DATA_DESCRIPTION of %s is empty", o->path);
    LOOM_TRY(loom_casa_scalars(o->descriptions, "SPECTRAL_WINDOW_ID", LOOM_I32, 0, o->n_descriptions, o->window_of));
    LOOM_TRY(loom_casa_scalars(o->descriptions, "POLARIZATION_ID", LOOM_I32, 0, o->n_descriptions, o->polarization_of));
    int64_t n_windows = loom_casa_rows(o->windows);
    if (o->want.spw != LOOM_MS_ALL && (o->want.spw < 0 || o->want.spw >= n_windows)) {
        return loom_status_note(
            loom_error(LOOM_E_DATA, "no spectral window (spw) %" PRId64 " in %s", o->want.spw, o->path),
            n_windows == 1 ? "hint: there is one, number 0" : "hint: there are %" PRId64 ", counted from 0", n_windows);
    }
    return NULL;
}

/* ---- segments ---- */

/* The channels asked for that this window has; none where it is narrower than others. */
static void take_channels(const opening *o, loom_ms_segment *s, loom_ms_rows_of *rows) {
    int64_t from = o->want.channel_from, to = s->n_channels;
    if (o->want.channel_to != LOOM_MS_ALL && o->want.channel_to < to) to = o->want.channel_to;
    rows->file_channels = s->n_channels;
    rows->channel_from = from;
    s->n_channels = from < to ? to - from : 0;
    memmove(s->frequencies, s->frequencies + (from < to ? from : 0), (size_t)s->n_channels * sizeof(double));
}

/* Outer edges of the channels: half a width beyond each centre. */
static void band_edges(loom_ms_segment *s, const double *widths) {
    s->low = INFINITY;
    s->high = -INFINITY;
    for (int64_t c = 0; c < s->n_channels; c++) {
        double half = fabs(widths[c]) / 2;
        s->low = fmin(s->low, s->frequencies[c] - half);
        s->high = fmax(s->high, s->frequencies[c] + half);
    }
}

static const char *frequency_frame(const opening *o, int64_t spw) {
    /* casacore's MFrequency types as FITS names them in SPECSYS. */
    static const char *const names[] = {"SOURCE",   "LSRK",     "LSRD",     "BARYCENT", "GEOCENTR",
                                        "TOPOCENT", "GALACTOC", "LOCALGRP", "CMBDIPOL"};
    int32_t code = -1;
    loom_status *status = loom_casa_scalars(o->windows, "MEAS_FREQ_REF", LOOM_I32, spw, 1, &code);
    loom_status_free(status); /* a frame that is not told is no error: the keyword is left out */
    return code >= 0 && (size_t)code < sizeof names / sizeof *names ? names[code] : "";
}

static loom_status *read_window(const opening *o, loom_ms_segment *s, loom_ms_rows_of *rows) {
    double *widths = NULL;
    int64_t n_widths;
    LOOM_TRY(loom_casa_cell(o->windows, "CHAN_FREQ", s->spw, LOOM_F64, (void **)&s->frequencies, &s->n_channels));
    int64_t n_file = s->n_channels;
    for (int64_t c = 0; c < n_file; c++) {
        if (isfinite(s->frequencies[c]) && s->frequencies[c] > 0) continue;
        return loom_error(LOOM_E_DATA, "%s: channel %" PRId64 " of spectral window %" PRId64 " has the frequency %g Hz",
                          o->path, c, s->spw, s->frequencies[c]);
    }
    take_channels(o, s, rows);
    LOOM_TRY(loom_casa_cell(o->windows, "CHAN_WIDTH", s->spw, LOOM_F64, (void **)&widths, &n_widths));
    if (n_widths == n_file) band_edges(s, widths + rows->channel_from);
    free(widths);
    if (n_widths != n_file) {
        return loom_error(LOOM_E_DATA,
                          "%s: spectral window %" PRId64 " has %" PRId64 " frequencies and %" PRId64 " widths", o->path,
                          s->spw, n_file, n_widths);
    }
    s->frequency_frame = frequency_frame(o, s->spw);
    return NULL;
}

static loom_status *add_segment(opening *o, int64_t description) {
    loom_ms_state *st = o->state;
    int64_t spw = o->window_of[description], pol = o->polarization_of[description];
    if (spw < 0 || spw >= loom_casa_rows(o->windows) || pol < 0 || pol >= loom_casa_rows(o->polarizations)) {
        return loom_error(LOOM_E_DATA,
                          "%s: data description %" PRId64 " names spectral window %" PRId64 " and polarisation %" PRId64
                          ", but there are %" PRId64 " and %" PRId64,
                          o->path, description, spw, pol, loom_casa_rows(o->windows), loom_casa_rows(o->polarizations));
    }
    for (uint32_t i = 0; i < st->n_segments; i++) {
        /* Two descriptions that say the same make one segment. */
        if (st->segments[i].spw != spw || st->rows[i].polarization != pol) continue;
        o->segment_of[description] = i;
        return NULL;
    }
    st->rows = loom_xrealloc(st->rows, (st->n_segments + 1) * sizeof *st->rows);
    st->segments = loom_xrealloc(st->segments, (st->n_segments + 1) * sizeof *st->segments);
    loom_ms_rows_of *rows = &st->rows[st->n_segments];
    loom_ms_segment *s = &st->segments[st->n_segments];
    *rows = (loom_ms_rows_of){.data_description = description, .polarization = pol};
    *s = (loom_ms_segment){.spw = spw, .frequency_frame = ""};
    o->segment_of[description] = st->n_segments++;
    LOOM_TRY(read_window(o, s, rows));
    LOOM_TRY(
        loom_casa_cell(o->polarizations, "CORR_TYPE", pol, LOOM_I32, (void **)&s->correlations, &s->n_correlations));
    if (s->n_correlations == 0) {
        return loom_error(LOOM_E_DATA, "%s: polarisation setup %" PRId64 " has no correlations", o->path, pol);
    }
    uint64_t seen = 0; /* of codes that mean anything here: 1 to 12 */
    for (int64_t i = 0; i < s->n_correlations; i++) {
        uint32_t code = (uint32_t)s->correlations[i];
        if (code < 1 || code > 12) continue;
        if (seen >> code & 1) {
            return loom_error(LOOM_E_DATA, "%s: polarisation setup %" PRId64 " has the correlation %s (%u) twice",
                              o->path, pol, loom_ms_correlation_name((int32_t)code), code);
        }
        seen |= (uint64_t)1 << code;
    }
    int64_t cells, bytes;
    if (__builtin_mul_overflow(rows->file_channels, s->n_correlations, &cells) ||
        __builtin_mul_overflow(cells, (int64_t)sizeof(float) * 4, &bytes)) {
        return loom_error(LOOM_E_LIMIT, "%s: rows of spectral window %" PRId64 " are too large", o->path, spw);
    }
    return NULL;
}

/* ---- rows ---- */

typedef struct ids {
    int32_t *description, *field, *antenna1, *antenna2, *scan; /* scan: only where rows are chosen by it */
    double *time;
} ids;

static loom_status *take_row(opening *o, const ids *x, int64_t i, int64_t row) {
    int32_t d = x->description[i];
    if (d < 0 || d >= o->n_descriptions) {
        return loom_error(
            LOOM_E_DATA, "%s: row %" PRId64 " has DATA_DESC_ID %d, but the table DATA_DESCRIPTION has %" PRId64 " rows",
            o->path, row, d, o->n_descriptions);
    }
    if (isfinite(x->time[i])) {
        o->info->time_from = fmin(o->info->time_from, x->time[i]);
        o->info->time_to = fmax(o->info->time_to, x->time[i]);
    }
    if (x->field[i] != o->want.field) return NULL;
    if (o->want.spw != LOOM_MS_ALL && o->window_of[d] != o->want.spw) return NULL;
    if (o->want.by_time && !(x->time[i] >= o->want.time_from && x->time[i] < o->want.time_to)) return NULL;
    if (o->want.by_scan && x->scan[i] != o->want.scan) return NULL;
    int32_t high = x->antenna1[i] > x->antenna2[i] ? x->antenna1[i] : x->antenna2[i];
    int32_t low = x->antenna1[i] < x->antenna2[i] ? x->antenna1[i] : x->antenna2[i];
    if (low < 0 || high >= o->info->n_antennas) {
        return loom_error(LOOM_E_DATA,
                          "%s: row %" PRId64 " names antenna %d, but the table ANTENNA has %" PRId64 " rows", o->path,
                          row, low < 0 ? low : high, o->info->n_antennas);
    }
    if (o->segment_of[d] == UINT32_MAX) LOOM_TRY(add_segment(o, d));
    if (isfinite(x->time[i])) {
        o->info->time_first = fmin(o->info->time_first, x->time[i]);
        o->info->time_last = fmax(o->info->time_last, x->time[i]);
    }
    return loom_runs_add(&o->state->rows[o->segment_of[d]].runs, row, 1);
}

static loom_status *scan_chunk(opening *o, const ids *x, int64_t first, int64_t n) {
    LOOM_TRY(loom_casa_scalars(o->main, "DATA_DESC_ID", LOOM_I32, first, n, x->description));
    LOOM_TRY(loom_casa_scalars(o->main, "FIELD_ID", LOOM_I32, first, n, x->field));
    LOOM_TRY(loom_casa_scalars(o->main, "ANTENNA1", LOOM_I32, first, n, x->antenna1));
    LOOM_TRY(loom_casa_scalars(o->main, "ANTENNA2", LOOM_I32, first, n, x->antenna2));
    LOOM_TRY(loom_casa_scalars(o->main, "TIME", LOOM_F64, first, n, x->time));
    if (o->want.by_scan) LOOM_TRY(loom_casa_scalars(o->main, "SCAN_NUMBER", LOOM_I32, first, n, x->scan));
    for (int64_t i = 0; i < n; i++) LOOM_TRY(take_row(o, x, i, first + i));
    return NULL;
}

static loom_status *scan_rows(opening *o) {
    int64_t n_rows = loom_casa_rows(o->main);
    if (n_rows == 0) return loom_error(LOOM_E_DATA, "%s has no rows: there are no visibilities in it", o->path);
    int32_t *room = loom_xmalloc((size_t)5 * SCAN_ROWS * sizeof *room);
    double *times = loom_xmalloc(SCAN_ROWS * sizeof *times);
    ids x = {room, room + SCAN_ROWS, room + 2 * SCAN_ROWS, room + 3 * SCAN_ROWS, room + 4 * SCAN_ROWS, times};
    o->info->time_first = o->info->time_from = INFINITY;
    o->info->time_last = o->info->time_to = -INFINITY;
    loom_status *status = NULL;
    for (int64_t first = 0; first < n_rows && !status; first += SCAN_ROWS) {
        status = scan_chunk(o, &x, first, n_rows - first < SCAN_ROWS ? n_rows - first : SCAN_ROWS);
    }
    free(room);
    free(times);
    if (!(o->info->time_from <= o->info->time_to)) o->info->time_from = o->info->time_to = 0;
    if (status || o->state->n_segments) return status;
    char *spw = o->want.spw == LOOM_MS_ALL ? loom_xstrdup("") : loom_xprintf(", spectral window %" PRId64, o->want.spw);
    status = loom_status_note(
        loom_error(LOOM_E_DATA, "no visibilities: none of the %" PRId64 " rows of %s has field %" PRId64 "%s%s%s",
                   n_rows, o->path, o->want.field, spw, o->want.by_time ? " and a time in the range" : "",
                   o->want.by_scan ? " and the scan asked for" : ""),
        "hint: choose with --field, --spw, --time and --scan");
    if (o->want.by_time && o->info->time_from < o->info->time_to) {
        status = loom_status_note(status, "its rows are from MJD %.8f to %.8f", o->info->time_from / 86400,
                                  o->info->time_to / 86400);
    }
    free(spw);
    return status;
}

/* Channels that no window has are an error; windows that are narrower than others give what they have. */
static loom_status *check_channels(const opening *o) {
    const loom_ms_state *st = o->state;
    int64_t widest = 0, spw = 0;
    for (uint32_t i = 0; i < st->n_segments; i++) {
        if (st->rows[i].file_channels <= widest) continue;
        widest = st->rows[i].file_channels;
        spw = st->segments[i].spw;
    }
    int64_t from = o->want.channel_from, to = o->want.channel_to == LOOM_MS_ALL ? widest : o->want.channel_to;
    if (from >= 0 && from < to && to <= widest) return NULL;
    char *end = o->want.channel_to == LOOM_MS_ALL ? loom_xstrdup("") : loom_xprintf("%" PRId64, to);
    loom_status *status = loom_error(
        LOOM_E_DATA,
        "channels %" PRId64 ":%s are out of range: spectral window %" PRId64 " of %s has %" PRId64 " channel%s%s", from,
        end, spw, o->path, widest, widest == 1 ? "" : "s", st->n_segments > 1 ? ", the others no more" : "");
    free(end);
    return loom_status_note(status, "hint: --channels A:B counts from 0 and leaves B out; at most 0:%" PRId64, widest);
}

static void drop_segments_without_channels(loom_ms_state *st) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < st->n_segments; i++) {
        if (st->segments[i].n_channels) {
            st->segments[kept] = st->segments[i];
            st->rows[kept++] = st->rows[i];
            continue;
        }
        free(st->segments[i].frequencies);
        free(st->segments[i].correlations);
        loom_runs_free(&st->rows[i].runs);
    }
    st->n_segments = kept;
}

/* Segments come in the order of data descriptions, whichever the file mentions first. */
static void sort_segments(loom_ms_state *st) {
    for (uint32_t i = 1; i < st->n_segments; i++) {
        for (uint32_t k = i; k > 0 && st->rows[k - 1].data_description > st->rows[k].data_description; k--) {
            loom_ms_rows_of rows = st->rows[k];
            loom_ms_segment segment = st->segments[k];
            st->rows[k] = st->rows[k - 1];
            st->segments[k] = st->segments[k - 1];
            st->rows[k - 1] = rows;
            st->segments[k - 1] = segment;
        }
    }
}

/* ---- what is told about the observation ---- */

static char *text_or_empty(loom_casa *table, const char *column, int64_t row) {
    char *text = NULL;
    loom_status *status = loom_casa_rows(table) > row ? loom_casa_text(table, column, row, &text) : NULL;
    loom_status_free(status); /* names are for headers only */
    return text ? loom_printable(text) : loom_xstrdup("");
}

static loom_status *fill_info(opening *o) {
    loom_ms_info *info = o->info;
    double direction[2];
    LOOM_TRY(loom_casa_direction(o->fields, "PHASE_DIR", o->want.field, direction, &info->frame));
    info->ra = direction[0];
    info->dec = direction[1];
    if (!isfinite(info->ra) || !isfinite(info->dec)) {
        return loom_error(LOOM_E_DATA, "%s: the phase centre of field %" PRId64 " is not a direction", o->path,
                          o->want.field);
    }
    info->path = loom_xstrdup(o->path);
    info->column = loom_xstrdup(o->want.column);
    info->has_corrected = holds_visibilities(o->main, "CORRECTED_DATA");
    info->n_rows = loom_casa_rows(o->main);
    info->field_name = text_or_empty(o->fields, "NAME", o->want.field);
    info->telescope = text_or_empty(o->observations, "TELESCOPE_NAME", 0);
    info->observer = text_or_empty(o->observations, "OBSERVER", 0);
    return NULL;
}

static void copy_segments(opening *o) {
    loom_ms_state *st = o->state;
    o->info->segments = loom_xcalloc(st->n_segments, sizeof *o->info->segments);
    for (uint32_t i = 0; i < st->n_segments; i++) {
        st->segments[i].n_rows = st->rows[i].runs.n_rows;
        o->info->segments[i] = loom_rows_copy_segment(&st->segments[i]);
    }
    o->info->n_segments = st->n_segments;
}

static loom_status *make_source(opening *o, loom_source **source) {
    loom_ms_state *st = o->state;
    int64_t n = 0;
    for (uint32_t i = 0; i < st->n_segments; i++) n += st->rows[i].runs.n_rows;
    loom_source *made;
    LOOM_TRY(loom_source_make(&loom_ms_kind, n, st->n_segments, &made));
    int64_t at = 0;
    for (uint32_t i = 0; i < st->n_segments; i++) {
        made->segment_first[i] = at;
        at += st->rows[i].runs.n_rows;
    }
    st->column = loom_xstrdup(o->want.column);
    st->has_spectrum = loom_casa_describe(o->main, "WEIGHT_SPECTRUM").is_array;
    st->main = o->main;
    o->main = NULL;
    made->state = st;
    o->state = NULL;
    *source = made;
    return NULL;
}

static loom_status *open_all(opening *o, loom_source **source) {
    LOOM_TRY(check_path(o->path));
    LOOM_TRY(open_tables(o));
    LOOM_TRY(check_columns(o));
    LOOM_TRY(check_field(o));
    LOOM_TRY(read_descriptions(o));
    o->info->n_antennas = loom_casa_rows(o->antennas);
    LOOM_TRY(scan_rows(o));
    LOOM_TRY(check_channels(o));
    drop_segments_without_channels(o->state);
    sort_segments(o->state);
    LOOM_TRY(fill_info(o));
    copy_segments(o);
    return make_source(o, source);
}

loom_status *loom_ms_open(const char *path, const loom_ms_selection *selection, loom_source **source,
                          loom_ms_info **info) {
    opening o = {.path = path, .want = *selection};
    if (!o.want.column) o.want.column = "DATA";
    o.state = loom_xcalloc(1, sizeof *o.state);
    o.info = loom_xcalloc(1, sizeof *o.info);
    loom_status *status = open_all(&o, source);
    loom_casa *tables[] = {o.main, o.descriptions, o.windows, o.polarizations, o.fields, o.antennas, o.observations};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) loom_casa_close(tables[i]);
    free(o.window_of);
    free(o.polarization_of);
    free(o.segment_of);
    loom_ms_state_free(o.state);
    if (status) {
        loom_ms_info_free(o.info);
    } else {
        *info = o.info;
    }
    return status;
}

void loom_ms_info_free(loom_ms_info *info) {
    if (!info) return;
    loom_rows_free_segments(info->segments, info->n_segments);
    free(info->path);
    free(info->column);
    free(info->field_name);
    free(info->telescope);
    free(info->observer);
    free(info);
}

const char *loom_ms_correlation_name(int32_t code) {
    static const char *const names[] = {"?", "I", "Q", "U", "V", "RR", "RL", "LR", "LL", "XX", "XY", "YX", "YY"};
    return code > 0 && (size_t)code < sizeof names / sizeof *names ? names[code] : "?";
}
