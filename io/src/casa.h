/* The one door to casacore, which is C++: tables and MeasurementSets as this folder needs them.
 *
 * Threads: casacore's tables are not thread-safe; every call takes one lock of the process.
 * Errors: casacore's exceptions end here and become a loom_status whose message names table and column.
 * Ownership: what is returned through a pointer is malloc'ed and the caller's.
 */
#ifndef LOOM_IO_CASA_H
#define LOOM_IO_CASA_H

#include "common/dtype.h"
#include "common/status.h"
#include "runs.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct loom_casa loom_casa; /* an open table, read only, without locks on the file */

LOOM_MUST_USE loom_status *loom_casa_open(const char *path, loom_casa **table);
/* A table that a keyword of another one names. */
LOOM_MUST_USE loom_status *loom_casa_subtable(const loom_casa *table, const char *keyword, loom_casa **subtable);
void loom_casa_close(loom_casa *table); /* NULL is fine */
int64_t loom_casa_rows(const loom_casa *table);
const char *loom_casa_name(const loom_casa *table);
/* Names of the columns that hold arrays of complex numbers, or all, joined by ", ". */
char *loom_casa_columns(const loom_casa *table, bool complex_only);

typedef struct loom_casa_column {
    bool exists, is_array;
    bool fixed_shape; /* every cell has the shape of the column */
    loom_dtype dtype; /* LOOM_DTYPES for text and records */
} loom_casa_column;
loom_casa_column loom_casa_describe(const loom_casa *table, const char *column);

/* Scalar columns, rows [first, first + count). i32, f64 and bool, converted from what is stored. */
LOOM_MUST_USE loom_status *loom_casa_scalars(const loom_casa *table, const char *column, loom_dtype dtype,
                                             int64_t first, int64_t count, void *to);
/* One cell of any shape, flattened, as i32 or f64. */
LOOM_MUST_USE loom_status *loom_casa_cell(const loom_casa *table, const char *column, int64_t row, loom_dtype dtype,
                                          void **to, int64_t *n);
LOOM_MUST_USE loom_status *loom_casa_text(const loom_casa *table, const char *column, int64_t row, char **text);
/* A measured direction, brought to J2000 unless it is given as ICRS or B1950. `frame` is one of the three names. */
LOOM_MUST_USE loom_status *loom_casa_direction(const loom_casa *table, const char *column, int64_t row,
                                               double radians[2], const char **frame);

/* Cells of an array column in row order, of `rank` axes with the fastest one first. `shape` is what each cell must
 * have; of its last axis only [from, from + n) is read. Types: f64, f32, c64, bool, converted from the double or single
 * precision that is stored. */
typedef struct loom_casa_slice {
    int rank;
    int64_t shape[2];
    int64_t from, n;
} loom_casa_slice;
LOOM_MUST_USE loom_status *loom_casa_arrays(const loom_casa *table, const char *column, loom_dtype dtype,
                                            const loom_run *runs, int64_t n_runs, const loom_casa_slice *slice,
                                            void *to);
/* Whether each cell is there and has `shape`; one byte a row. */
LOOM_MUST_USE loom_status *loom_casa_has_shape(const loom_casa *table, const char *column, const loom_run *runs,
                                               int64_t n_runs, int rank, const int64_t *shape, bool *has);

/* ---- writing columns of a table that exists ---- */

/* Opened for update, with the table's lock; no other loom_casa of the same table may be open. is_new: it was made by
 * loom_casa_copy, and goes where casacore ends the process. */
LOOM_MUST_USE loom_status *loom_casa_update(const char *path, bool is_new, loom_casa **table);
LOOM_MUST_USE loom_status *loom_casa_flush(loom_casa *table);
/* Frees the table in any case. */
LOOM_MUST_USE loom_status *loom_casa_end_update(loom_casa *table);
bool loom_casa_is_writable(const loom_casa *table, const char *column);
/* A new table with all that the old one and its subtables hold. */
LOOM_MUST_USE loom_status *loom_casa_copy(const char *from, const char *to);
/* A column of complex matrices, in tiles that suit cells of [channels][hands]; it is to be renamed to `later`. */
LOOM_MUST_USE loom_status *loom_casa_add_column(loom_casa *table, const char *column, const char *later, int64_t hands,
                                                int64_t channels);
LOOM_MUST_USE loom_status *loom_casa_rename_column(loom_casa *table, const char *from, const char *to);
LOOM_MUST_USE loom_status *loom_casa_remove_column(loom_casa *table, const char *column);
/* Gives each cell the shape of that of the column `like`, and its values or zeros; cells that `like` has not stay
 * undefined. */
LOOM_MUST_USE loom_status *loom_casa_fill_column(loom_casa *table, const char *column, const char *like, bool copy);
/* The converse of loom_casa_arrays for complex cells, from pairs of doubles. Cells that are not there or have another
 * shape are made anew, 0 outside the slice. */
LOOM_MUST_USE loom_status *loom_casa_put(loom_casa *table, const char *column, const loom_run *runs, int64_t n_runs,
                                         const loom_casa_slice *slice, const double *from);

/* A row of the subtable HISTORY: gridloom did this now. */
LOOM_MUST_USE loom_status *loom_casa_add_history(loom_casa *table, const char *origin, const char *command);

/* ---- writing a MeasurementSet ---- */

typedef struct loom_casa_ms loom_casa_ms;

typedef struct loom_ms_layout loom_ms_layout; /* io/ms.h */
typedef struct loom_ms_rows loom_ms_rows;

LOOM_MUST_USE loom_status *loom_casa_ms_create(const char *path, const loom_ms_layout *layout, loom_casa_ms **ms);
LOOM_MUST_USE loom_status *loom_casa_ms_put(loom_casa_ms *ms, const loom_ms_rows *rows);
LOOM_MUST_USE loom_status *loom_casa_ms_close(loom_casa_ms *ms); /* frees it in any case */

#ifdef __cplusplus
}
#endif

#endif
