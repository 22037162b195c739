/* One column of a MeasurementSet, written block by block: what io/ms_column.h says. */
#include "io/ms_column.h"
#include "common/buffer.h"
#include "common/file.h"
#include "ms_impl.h"
#include "rows.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Values held at a time, each 16 bytes and up to a few times that with all hands. */
#define BATCH (1 << 18)

typedef struct chosen {
    loom_runs runs;
    int64_t channels, hands, file_channels, channel_from;
    int32_t *correlations;
} chosen;

struct loom_ms_column {
    char *path, *name, *copy, *command;
    char *read; /* the column the selection named */
    bool subtract;
    uint32_t n;
    chosen *at;
};

/* ---- what can be refused at once ---- */

static loom_status *check_target(const char *copy) {
    struct stat info;
    if (lstat(copy, &info) == 0) {
        return loom_status_note(loom_error(LOOM_E_CANTCREATE, "cannot write %s: it exists", copy),
                                "hint: remove it, or choose another name");
    }
    if (errno != ENOENT) return loom_error_errno(LOOM_E_CANTCREATE, errno, "cannot write %s", copy);
    char *folder = loom_xprintf("%s.tmp-%d", copy, (int)getpid());
    loom_status *status =
        mkdir(folder, 0777) < 0 ? loom_error_errno(LOOM_E_CANTCREATE, errno, "cannot write %s", copy) : NULL;
    if (!status) rmdir(folder);
    free(folder);
    return status;
}

static loom_status *check_column(const loom_casa *table, const loom_ms_column_request *r) {
    loom_casa_column c = loom_casa_describe(table, r->name);
    if (!c.exists || (c.is_array && loom_dtype_is_complex(c.dtype))) return NULL;
    return loom_error(LOOM_E_CANTCREATE, "column %s of %s exists and does not hold visibilities", r->name, r->path);
}

static bool is_name(const char *name) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    return *name && (*name < '0' || *name > '9') && name[strspn(name, letters)] == '\0';
}

loom_status *loom_ms_column_check(const loom_ms_column_request *r) {
    if (!is_name(r->name)) {
        return loom_error(LOOM_E_CANTCREATE, "'%s' is no name of a column: letters, digits and _", r->name);
    }
    if (r->copy) LOOM_TRY(check_target(r->copy));
    loom_casa *table;
    LOOM_TRY(r->copy ? loom_casa_open(r->path, &table) : loom_casa_update(r->path, false, &table));
    loom_status *status = check_column(table, r);
    if (!status && !r->copy && loom_casa_describe(table, r->name).exists && !loom_casa_is_writable(table, r->name)) {
        status = loom_error(LOOM_E_CANTCREATE, "column %s of %s is stored in a way that cannot be written to", r->name,
                            r->path);
    }
    loom_casa_close(table);
    return status;
}

/* ---- what was chosen ---- */

static loom_status *copy_runs(const loom_runs *from, loom_runs *to) {
    for (int64_t i = 0; i < from->n; i++) LOOM_TRY(loom_runs_add(to, from->at[i].row, from->at[i].count));
    return NULL;
}

void loom_ms_column_free(loom_ms_column *column) {
    if (!column) return;
    for (uint32_t s = 0; s < column->n; s++) {
        loom_runs_free(&column->at[s].runs);
        free(column->at[s].correlations);
    }
    free(column->at);
    free(column->path);
    free(column->name);
    free(column->copy);
    free(column->command);
    free(column->read);
    free(column);
}

static char *without_slashes(const char *path) {
    char *copy = loom_xstrdup(path);
    for (size_t n = strlen(copy); n > 1 && copy[n - 1] == '/'; n--) copy[n - 1] = '\0';
    return copy;
}

/* A disk that fills while casacore writes leaves its files behind. */
static loom_status *check_room(const loom_ms_column *c, const loom_casa *table) {
    char *inside = loom_xprintf("%s/.", c->path); /* it may be a link itself */
    uint64_t bytes = c->copy ? loom_tree_bytes(inside) : 0, least = UINT64_MAX;
    int64_t rest = loom_casa_rows(table);
    free(inside);
    for (uint32_t s = 0; s < c->n && !loom_casa_describe(table, c->name).exists; s++) {
        uint64_t row = (uint64_t)(c->at[s].hands * c->at[s].file_channels) * 2 * sizeof(float);
        bytes += (uint64_t)c->at[s].runs.n_rows * row;
        rest -= c->at[s].runs.n_rows;
        least = row < least ? row : least;
    }
    /* Rows that were not chosen have cells too. */
    if (least != UINT64_MAX && rest > 0) bytes += (uint64_t)rest * least;
    if (!c->copy) return loom_file_check_room(c->path, c->path, bytes);
    char *folder = loom_file_folder(c->copy);
    loom_status *status = loom_file_check_room(folder, c->copy, bytes);
    free(folder);
    return status;
}

loom_status *loom_ms_column_create(const loom_ms_column_request *r, const loom_source *source,
                                   loom_ms_column **column) {
    if (source->kind != &loom_ms_kind) return loom_error(LOOM_E_INTERNAL, "a column of what is not a MeasurementSet");
    const loom_ms_state *ms = source->state;
    loom_ms_column *c = loom_xcalloc(1, sizeof *c);
    *c = (loom_ms_column){.path = loom_xstrdup(r->path),
                          .name = loom_xstrdup(r->name),
                          .copy = r->copy ? without_slashes(r->copy) : NULL,
                          .command = loom_xstrdup(r->command),
                          .read = loom_xstrdup(ms->column),
                          .subtract = r->subtract,
                          .n = ms->n_segments,
                          .at = loom_xcalloc((size_t)ms->n_segments + 1, sizeof *c->at)};
    loom_status *status = NULL;
    for (uint32_t s = 0; s < c->n && !status; s++) {
        const loom_ms_segment *segment = &ms->segments[s];
        loom_ms_segment own = loom_rows_copy_segment(segment);
        free(own.frequencies);
        c->at[s] = (chosen){.channels = segment->n_channels,
                            .hands = segment->n_correlations,
                            .file_channels = ms->rows[s].file_channels,
                            .channel_from = ms->rows[s].channel_from,
                            .correlations = own.correlations};
        status = copy_runs(&ms->rows[s].runs, &c->at[s].runs);
    }
    if (!status) status = check_room(c, ms->main);
    if (status) {
        loom_ms_column_free(c);
        return status;
    }
    *column = c;
    return NULL;
}

/* ---- writing ---- */

typedef struct writing {
    const loom_ms_column *c;
    loom_casa *table;
    const char *name; /* of the column while it is written */
    loom_ms_values next;
    void *context;
    double *values, *cells; /* BATCH values; the cells of as many */
    float *before;
} writing;

static bool sees_intensity(int32_t code) {
    return code == 1 || code == 5 || code == 8 || code == 9 || code == 12;
}

/* values [n] to cells [n][hands]; with `subtract`, taken from what was there. */
static void fill_cells(writing *w, const chosen *s, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        for (int64_t h = 0; h < s->hands; h++) {
            for (int k = 0; k < 2; k++) {
                int64_t at = 2 * (i * s->hands + h) + k;
                double value = sees_intensity(s->correlations[h]) ? w->values[2 * i + k] : 0;
                w->cells[at] = w->c->subtract ? (double)w->before[at] - value : value;
            }
        }
    }
}

static loom_status *write_rows(writing *w, const chosen *s, int64_t first, int64_t rows) {
    loom_casa_slice slice = {
        .rank = 2, .shape = {s->hands, s->file_channels}, .from = s->channel_from, .n = s->channels};
    loom_run *runs;
    int64_t n_runs, n = rows * s->channels;
    LOOM_TRY(w->next(w->context, n, w->values));
    LOOM_TRY(loom_runs_cut(&s->runs, first, rows, &runs, &n_runs));
    loom_status *status = NULL;
    if (w->c->subtract) status = loom_casa_arrays(w->table, w->c->read, LOOM_C64, runs, n_runs, &slice, w->before);
    if (!status) {
        fill_cells(w, s, n);
        status = loom_casa_put(w->table, w->name, runs, n_runs, &slice, w->cells);
    }
    free(runs);
    return status;
}

static loom_status *write_segment(writing *w, const chosen *s) {
    int64_t step = BATCH / s->channels > 0 ? BATCH / s->channels : 1, most = step * s->channels, cells;
    if (__builtin_mul_overflow(most, s->hands * 16, &cells)) return loom_error(LOOM_E_LIMIT, "rows are too large");
    w->values = malloc((size_t)most * 16);
    w->cells = malloc((size_t)cells);
    w->before = w->c->subtract ? malloc((size_t)cells / 2) : NULL;
    loom_status *status = NULL;
    if (!w->values || !w->cells || (w->c->subtract && !w->before)) {
        status = loom_error(LOOM_E_MEMORY, "no memory for %" PRId64 " visibilities", most * s->hands);
    }
    for (int64_t first = 0; first < s->runs.n_rows && !status; first += step) {
        int64_t left = s->runs.n_rows - first;
        status = write_rows(w, s, first, left < step ? left : step);
    }
    free(w->values);
    free(w->cells);
    free(w->before);
    return status;
}

/* Whether all of each cell is written anyway. */
static bool covers_all(const loom_ms_column *c, int64_t rows) {
    int64_t n = 0;
    for (uint32_t s = 0; s < c->n; s++) {
        if (c->at[s].channels != c->at[s].file_channels) return false;
        n += c->at[s].runs.n_rows;
    }
    return n == rows;
}

static loom_status *write_column(writing *w, bool is_new) {
    const loom_ms_column *c = w->c;
    if (is_new) {
        const chosen *s = &c->at[0];
        LOOM_TRY(loom_casa_add_column(w->table, w->name, c->name, s->hands, s->file_channels));
        if (!covers_all(c, loom_casa_rows(w->table))) {
            LOOM_TRY(loom_casa_fill_column(w->table, w->name, c->read, c->subtract));
        }
    }
    for (uint32_t s = 0; s < c->n; s++) LOOM_TRY(write_segment(w, &c->at[s]));
    if (is_new) LOOM_TRY(loom_casa_rename_column(w->table, w->name, c->name));
    return loom_casa_flush(w->table);
}

/* The column is what counts: it stays though this fails. */
static char *write_history(writing *w) {
    loom_status *status = loom_casa_add_history(w->table, "gridloom predict", w->c->command);
    char *remark = status ? loom_status_text(status) : NULL;
    loom_status_free(status);
    return remark;
}

/* Into the table at `path`. */
static loom_status *write_into(const char *path, const loom_ms_column *c, loom_ms_values next, void *context,
                               char **remark) {
    writing w = {.c = c, .next = next, .context = context};
    LOOM_TRY(loom_casa_update(path, c->copy != NULL, &w.table));
    char *passing = loom_xprintf("%s_INCOMPLETE", c->name);
    bool is_new = !loom_casa_describe(w.table, c->name).exists;
    w.name = is_new ? passing : c->name;
    loom_status *status = NULL;
    if (loom_casa_describe(w.table, passing).exists) status = loom_casa_remove_column(w.table, passing);
    if (!status) status = write_column(&w, is_new);
    if (status && is_new && loom_casa_describe(w.table, passing).exists) {
        loom_status *removed = loom_casa_remove_column(w.table, passing);
        if (removed) loom_status_note(status, "the column %s stays in %s", passing, path);
        loom_status_free(removed);
    } else if (status && !is_new && !c->copy) {
        loom_status_note(status, "the column %s of %s is written in part", c->name, path);
    }
    free(passing);
    char *said = status ? NULL : write_history(&w);
    loom_status *closed = loom_casa_end_update(w.table);
    if (!status) {
        status = closed;
    } else {
        loom_status_free(closed);
    }
    if (status) {
        free(said);
    } else {
        *remark = said;
    }
    return status;
}

loom_status *loom_ms_column_write(const loom_ms_column *c, loom_ms_values next, void *context, char **remark) {
    *remark = NULL;
    if (!c->copy) return write_into(c->path, c, next, context, remark);
    char *temporary = loom_xprintf("%s.tmp-%d", c->copy, (int)getpid());
    loom_status *status = loom_casa_copy(c->path, temporary);
    if (!status) status = write_into(temporary, c, next, context, remark);
    if (!status && rename(temporary, c->copy) < 0) {
        status = loom_error_errno(LOOM_E_CANTCREATE, errno, "cannot write %s", c->copy);
    }
    if (status) {
        free(*remark);
        *remark = NULL;
        loom_remove_tree(temporary);
        loom_status_note(status, "nothing is left at %s", c->copy);
    }
    free(temporary);
    return status;
}
