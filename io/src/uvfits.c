/* Opening UVFITS: the file and its header, the tables, the selection, then one look at the parameters of all groups.
 * Everything that can be wrong is found here, before a job starts, so that messages can say what there is. */
#include "io/uvfits.h"
#include "common/buffer.h"
#include "rows.h"
#include "source_impl.h"
#include "uv_impl.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct opening {
    const char *path;
    loom_ms_selection want;
    loom_uv_state *state;
    loom_uv_source *sources;
    int64_t n_sources;
    double source_id, setup_id; /* of the first group, where no table says what they mean */
    bool has_setup;
    int32_t last_antenna; /* largest number in any group */
    loom_ms_info *info;
} opening;

/* ---- selection ---- */

static loom_status *check_column(const opening *o) {
    if (strcmp(o->want.column, "DATA") == 0) return NULL;
    return loom_status_note(loom_error(LOOM_E_DATA, "no column %s in %s", o->want.column, o->path),
                            "hint: UVFITS has one set of visibilities, called DATA here");
}

static loom_status *check_field(const opening *o) {
    int64_t n = o->n_sources ? o->n_sources : 1;
    if (o->want.field >= 0 && o->want.field < n) return NULL;
    loom_buffer names = {0};
    for (int64_t i = 0; i < o->n_sources && i < 20; i++) {
        loom_buffer_printf(&names, "%s%" PRId64 " '%s'", i ? ", " : "", i, o->sources[i].name);
    }
    loom_status *status = loom_status_note(
        loom_error(LOOM_E_DATA, "no field %" PRId64 " in %s", o->want.field, o->path),
        "hint: the fields there are %s%s", o->n_sources ? names.data : "one, number 0", n > 20 ? ", ..." : "");
    loom_buffer_free(&names);
    return status;
}

static loom_status *check_window(const opening *o) {
    int64_t n = o->state->n_setups * o->state->header.axes[UV_IF].n;
    if (o->want.spw == LOOM_MS_ALL || (o->want.spw >= 0 && o->want.spw < n)) return NULL;
    return loom_status_note(
        loom_error(LOOM_E_DATA, "no spectral window (spw, IF) %" PRId64 " in %s", o->want.spw, o->path),
        n == 1 ? "hint: there is one, number 0" : "hint: there are %" PRId64 ", counted from 0", n);
}

static loom_status *check_channels(opening *o) {
    int64_t n = o->state->header.axes[UV_FREQ].n;
    if (o->want.channel_to == LOOM_MS_ALL) o->want.channel_to = n;
    int64_t from = o->want.channel_from, to = o->want.channel_to;
    o->state->channel_from = from;
    if (from >= 0 && from < to && to <= n) return NULL;
    return loom_status_note(loom_error(LOOM_E_DATA,
                                       "channels %" PRId64 ":%" PRId64 " are out of range: each spectral window of %s "
                                       "has %" PRId64 " channels",
                                       from, to, o->path, n),
                            "hint: --channels A:B counts from 0 and leaves B out; at most 0:%" PRId64, n);
}

/* ---- groups ---- */

/* The setup of a group: by its id, or the only one there is. */
static loom_status *setup_of(opening *o, const loom_uv_group *g, int64_t group, loom_uv_setup **setup) {
    loom_uv_state *st = o->state;
    *setup = &st->setups[0];
    if (!st->header.has[UV_FREQSEL]) return NULL;
    if (st->n_setups == 1) {
        if (!o->has_setup) o->setup_id = g->setup; /* of the first group that is wanted */
        o->has_setup = true;
        if (g->setup == o->setup_id) return NULL;
        return loom_error(LOOM_E_DATA,
                          "%s: group %" PRId64 " has FREQSEL %g, the first one %g, but there is one frequency setup",
                          o->path, group, g->setup, o->setup_id);
    }
    for (int64_t i = 0; i < st->n_setups; i++) {
        *setup = &st->setups[i];
        if ((double)st->setups[i].id == g->setup) return NULL;
    }
    return loom_error(LOOM_E_DATA, "%s: group %" PRId64 " has FREQSEL %g, which the table AIPS FQ does not have",
                      o->path, group, g->setup);
}

static loom_status *is_wanted(opening *o, const loom_uv_group *g, int64_t group, bool *wanted) {
    *wanted = true;
    if (!o->state->header.has[UV_SOURCE] || o->n_sources == 1) return NULL;
    if (o->n_sources) {
        *wanted = (double)o->sources[o->want.field].id == g->source;
        return NULL;
    }
    if (group == 0) o->source_id = g->source;
    if (g->source == o->source_id) return NULL;
    return loom_error(LOOM_E_DATA,
                      "%s has several sources (group %" PRId64 ": number %g), but no table AIPS SU that lists them",
                      o->path, group, g->source);
}

/* What is known of all groups, wanted or not. */
static void look_at(opening *o, const loom_uv_group *g) {
    if (isfinite(g->time)) {
        o->info->time_from = fmin(o->info->time_from, g->time);
        o->info->time_to = fmax(o->info->time_to, g->time);
    }
    int32_t low = g->antenna1 < g->antenna2 ? g->antenna1 : g->antenna2;
    int32_t high = g->antenna1 < g->antenna2 ? g->antenna2 : g->antenna1;
    if (low < 0) return;
    if (low == 0) o->info->antenna_first = 0;
    if (high > o->last_antenna) o->last_antenna = high;
}

static loom_status *take_group(opening *o, const loom_uv_group *g, int64_t group) {
    bool wanted;
    loom_uv_setup *setup;
    look_at(o, g);
    LOOM_TRY(is_wanted(o, g, group, &wanted));
    if (!wanted || (o->want.by_time && !(g->time >= o->want.time_from && g->time < o->want.time_to))) return NULL;
    if (g->antenna1 < 0 || g->antenna2 < 0) {
        return loom_error(LOOM_E_DATA, "%s: group %" PRId64 ": its %s no two antenna numbers", o->path, group,
                          o->state->header.has[UV_BASELINE] ? "BASELINE says" : "ANTENNA1 and ANTENNA2 say");
    }
    LOOM_TRY(setup_of(o, g, group, &setup));
    if (isfinite(g->time)) {
        o->info->time_first = fmin(o->info->time_first, g->time);
        o->info->time_last = fmax(o->info->time_last, g->time);
    }
    return loom_runs_add(&setup->runs, group, 1);
}

static loom_status *scan_with(opening *o, loom_uv_reader *reader) {
    int64_t n_groups = o->state->header.n_groups;
    for (int64_t at = 0; at < n_groups; at += reader->batch) {
        int64_t n = n_groups - at < reader->batch ? n_groups - at : reader->batch;
        LOOM_TRY(loom_uv_reader_fill(reader, at, n));
        for (int64_t i = 0; i < n; i++) {
            loom_uv_group g = loom_uv_reader_group(reader, i);
            LOOM_TRY(take_group(o, &g, at + i));
        }
    }
    return NULL;
}

static loom_status *scan_groups(opening *o) {
    loom_uv_reader reader;
    LOOM_TRY(loom_uv_reader_open(&reader, o->state, 0, 0));
    o->info->time_first = o->info->time_from = INFINITY;
    o->info->time_last = o->info->time_to = -INFINITY;
    o->info->antenna_first = 1;
    loom_status *status = scan_with(o, &reader);
    loom_uv_reader_close(&reader);
    if (!(o->info->time_from <= o->info->time_to)) o->info->time_from = o->info->time_to = 0;
    int64_t numbers = o->last_antenna - o->info->antenna_first + 1;
    if (numbers > o->info->n_antennas) o->info->n_antennas = numbers;
    return status;
}

/* ---- segments ---- */

/* Frequencies and edges of the channels selected. */
static loom_status *tune(const opening *o, const loom_uv_setup *setup, int64_t window, loom_ms_segment *s) {
    const loom_uv_axis *a = &o->state->header.axes[UV_FREQ];
    double half = fabs(setup->increment[window]) / 2;
    s->low = INFINITY;
    s->high = -INFINITY;
    for (int64_t c = 0; c < s->n_channels; c++) {
        double number = (double)(o->want.channel_from + c) + 1 - a->reference;
        double f = a->value + number * setup->increment[window] + setup->offsets[window];
        if (!isfinite(f) || f <= 0) {
            return loom_error(LOOM_E_DATA,
                              "%s: channel %" PRId64 " of spectral window %" PRId64 " has the frequency %g Hz", o->path,
                              o->want.channel_from + c, s->spw, f);
        }
        s->frequencies[c] = f;
        s->low = fmin(s->low, f - half);
        s->high = fmax(s->high, f + half);
    }
    return NULL;
}

/* What the suffix of the axis FREQ, or SPECSYS, says. */
static const char *frequency_frame(const opening *o) {
    static const char *const frames[][2] = {
        {"LSR", "LSRK"},  {"HEL", "BARYCENT"},      {"OBS", "TOPOCENT"},      {"GEO", "GEOCENTR"},     {"LSRK", "LSRK"},
        {"LSRD", "LSRD"}, {"BARYCENT", "BARYCENT"}, {"TOPOCENT", "TOPOCENT"}, {"GEOCENTR", "GEOCENTR"}};
    char told[FLEN_VALUE];
    if (!loom_uv_text(o->state->file, "SPECSYS", told)) {
        const char *suffix = strchr(o->state->header.axes[UV_FREQ].name, '-');
        while (suffix && *suffix == '-') suffix++;
        snprintf(told, sizeof told, "%s", suffix ? suffix : "");
    }
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        if (strcmp(told, frames[i][0]) == 0) return frames[i][1];
    }
    return "";
}

static loom_status *add_segment(opening *o, int64_t setup, int64_t window) {
    loom_uv_state *st = o->state;
    loom_ms_segment *s = &st->segments[st->n_segments];
    *s = (loom_ms_segment){.spw = setup * st->header.axes[UV_IF].n + window,
                           .n_channels = o->want.channel_to - o->want.channel_from,
                           .n_correlations = st->header.axes[UV_STOKES].n,
                           .n_rows = st->setups[setup].runs.n_rows,
                           .frequency_frame = frequency_frame(o)};
    st->uv_segments[st->n_segments++] = (loom_uv_segment){setup, window};
    s->frequencies = calloc((size_t)s->n_channels, sizeof *s->frequencies);
    s->correlations = calloc((size_t)s->n_correlations, sizeof *s->correlations);
    if (!s->frequencies || !s->correlations) {
        return loom_error(LOOM_E_MEMORY, "no memory for the %" PRId64 " channels of %s", s->n_channels, o->path);
    }
    memcpy(s->correlations, st->header.correlations, (size_t)s->n_correlations * sizeof *s->correlations);
    return tune(o, &st->setups[setup], window, s);
}

static loom_status *make_segments(opening *o) {
    loom_uv_state *st = o->state;
    int64_t n_if = st->header.axes[UV_IF].n;
    st->segments = loom_xcalloc((size_t)(st->n_setups * n_if), sizeof *st->segments);
    st->uv_segments = loom_xcalloc((size_t)(st->n_setups * n_if), sizeof *st->uv_segments);
    for (int64_t i = 0; i < st->n_setups; i++) {
        for (int64_t k = 0; k < n_if && st->setups[i].runs.n_rows; k++) {
            if (o->want.spw != LOOM_MS_ALL && o->want.spw != i * n_if + k) continue;
            LOOM_TRY(add_segment(o, i, k));
        }
    }
    if (st->n_segments) return NULL;
    char *spw = o->want.spw == LOOM_MS_ALL ? loom_xstrdup("") : loom_xprintf(", spectral window %" PRId64, o->want.spw);
    loom_status *status = loom_status_note(
        loom_error(LOOM_E_DATA, "no visibilities: none of the %" PRId64 " groups of %s has field %" PRId64 "%s%s",
                   st->header.n_groups, o->path, o->want.field, spw, o->want.by_time ? " and a time in the range" : ""),
        "hint: choose with --field, --spw and --time");
    free(spw);
    return status;
}

/* ---- what is told about the observation ---- */

static char *text_or_empty(const opening *o, const char *key) {
    char text[FLEN_VALUE];
    return loom_printable(loom_xstrdup(loom_uv_text(o->state->file, key, text) ? text : ""));
}

/* EQUINOX or EPOCH, as a number or as J2000, B1950; 2000 where neither is told. */
static double equinox_of(const opening *o) {
    static const char *const keys[] = {"EQUINOX", "EPOCH"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char text[FLEN_VALUE];
        if (!loom_uv_text(o->state->file, keys[i], text)) continue;
        double x = strtod(text + (*text == 'J' || *text == 'B'), NULL);
        if (x > 0) return x;
    }
    return 2000;
}

static loom_status *set_direction(opening *o, double ra, double dec, double equinox) {
    char frame[FLEN_VALUE] = "";
    loom_ms_info *info = o->info;
    if (!isfinite(ra) || !isfinite(dec) || fabs(dec) > 90) {
        return loom_error(LOOM_E_DATA, "%s: the phase centre of field %" PRId64 " is not a direction", o->path,
                          o->want.field);
    }
    if (equinox != 2000 && equinox != 1950) {
        return loom_error(LOOM_E_DATA, "%s: directions of equinox %g; 2000 and 1950 are known here", o->path, equinox);
    }
    if (!loom_uv_text(o->state->file, "RADESYS", frame)) loom_uv_text(o->state->file, "RADECSYS", frame);
    info->ra = ra * M_PI / 180;
    info->dec = dec * M_PI / 180;
    info->frame = equinox == 1950 ? "B1950" : strcmp(frame, "ICRS") == 0 ? "ICRS" : "J2000";
    return NULL;
}

/* The phase centre: of the source where a table lists it, else of the axes RA and DEC, else OBSRA and OBSDEC. */
static loom_status *find_direction(opening *o) {
    const loom_uv_axis *axes = o->state->header.axes;
    double equinox = equinox_of(o), ra = NAN, dec = NAN;
    if (axes[UV_RA].exists && axes[UV_DEC].exists) {
        ra = axes[UV_RA].value;
        dec = axes[UV_DEC].value;
    } else {
        loom_uv_number(o->state->file, "OBSRA", &ra);
        loom_uv_number(o->state->file, "OBSDEC", &dec);
    }
    const loom_uv_source *s = o->n_sources ? &o->sources[o->want.field] : NULL;
    if (s && isfinite(s->ra) && isfinite(s->dec) && o->state->header.has[UV_SOURCE]) {
        ra = s->ra;
        dec = s->dec;
        if (s->equinox > 0) equinox = s->equinox;
    }
    return set_direction(o, ra, dec, equinox);
}

static loom_status *fill_info(opening *o) {
    loom_ms_info *info = o->info;
    LOOM_TRY(find_direction(o));
    info->path = loom_xstrdup(o->path);
    info->column = loom_xstrdup("DATA");
    info->n_rows = o->state->header.n_groups;
    bool listed = o->n_sources && *o->sources[o->want.field].name;
    info->field_name = listed ? loom_xstrdup(o->sources[o->want.field].name) : text_or_empty(o, "OBJECT");
    info->telescope = text_or_empty(o, "TELESCOP");
    info->observer = text_or_empty(o, "OBSERVER");
    info->n_segments = o->state->n_segments;
    info->segments = loom_xcalloc(info->n_segments, sizeof *info->segments);
    for (uint32_t i = 0; i < info->n_segments; i++) {
        info->segments[i] = loom_rows_copy_segment(&o->state->segments[i]);
    }
    return NULL;
}

/* ---- opening ---- */

static loom_status *make_source(opening *o, loom_source **source) {
    loom_uv_state *st = o->state;
    int64_t n = 0;
    for (uint32_t i = 0; i < st->n_segments; i++) {
        if (__builtin_add_overflow(n, st->segments[i].n_rows, &n)) {
            return loom_error(LOOM_E_LIMIT, "%s has more than 2^63 rows", o->path);
        }
    }
    loom_source *made;
    LOOM_TRY(loom_source_make(&loom_uv_kind, n, st->n_segments, &made));
    for (uint32_t i = 1; i < st->n_segments; i++) {
        made->segment_first[i] = made->segment_first[i - 1] + st->segments[i - 1].n_rows;
    }
    made->state = st;
    made->concurrent = true;
    o->state = NULL;
    *source = made;
    return NULL;
}

static loom_status *to_primary(const opening *o) {
    int code = 0;
    fits_movabs_hdu(o->state->file, 1, NULL, &code);
    return code ? loom_fits_error(o->path, code, "cannot read") : NULL;
}

static loom_status *open_file(const opening *o) {
    int code = 0;
    o->state->fd = open(o->path, O_RDONLY | O_CLOEXEC);
    if (o->state->fd < 0) return loom_error_errno(LOOM_E_NOINPUT, errno, "cannot read %s", o->path);
    fits_open_diskfile(&o->state->file, o->path, READONLY, &code);
    if (!code) return NULL;
    o->state->file = NULL;
    return loom_fits_error(o->path, code, "cannot read");
}

static void close_file(loom_uv_state *st) {
    int code = 0;
    if (st->file) fits_close_file(st->file, &code);
    if (code) fits_clear_errmsg();
    st->file = NULL;
}

static loom_status *open_all(opening *o, loom_source **source) {
    loom_uv_state *st = o->state;
    LOOM_TRY(open_file(o));
    LOOM_TRY(check_column(o));
    if (o->want.by_scan) {
        return loom_status_note(loom_error(LOOM_E_DATA, "%s: UVFITS has no scan numbers to choose by", o->path),
                                "hint: choose by --time");
    }
    LOOM_TRY(loom_uv_read_header(st->file, o->path, &st->header));
    LOOM_TRY(loom_uv_read_setups(st));
    LOOM_TRY(loom_uv_read_sources(st->file, o->path, &o->sources, &o->n_sources));
    o->info->n_antennas = loom_uv_count_antennas(st->file);
    LOOM_TRY(to_primary(o));
    LOOM_TRY(check_field(o));
    LOOM_TRY(check_window(o));
    LOOM_TRY(check_channels(o));
    LOOM_TRY(scan_groups(o));
    LOOM_TRY(make_segments(o));
    LOOM_TRY(fill_info(o));
    return make_source(o, source);
}

loom_status *loom_uvfits_open(const char *path, const loom_ms_selection *selection, loom_source **source,
                              loom_ms_info **info) {
    opening o = {.path = path, .want = *selection};
    if (!o.want.column) o.want.column = "DATA";
    o.state = loom_xcalloc(1, sizeof *o.state);
    o.state->path = loom_xstrdup(path);
    o.state->fd = -1;
    o.info = loom_xcalloc(1, sizeof *o.info);
    loom_uv_lock();
    loom_uv_state *state = o.state; /* the source takes it over */
    loom_status *status = open_all(&o, source);
    close_file(state);
    loom_uv_unlock();
    free(o.sources);
    loom_uv_state_free(o.state);
    if (status) {
        loom_ms_info_free(o.info);
    } else {
        *info = o.info;
    }
    return status;
}
