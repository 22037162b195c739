/* Writing one column of visibilities of a MeasurementSet, from one value per row and channel.
 *
 * The values belong to the rows and channels that a loom_ms_selection chose. Correlations that see the total intensity
 * (I, RR, LL, XX, YY) get the value, the others 0; with `subtract` the column becomes the column read minus these.
 *
 * A column that does not exist is made, with cells of the shape of the column read, and stored in tiles. Rows and
 * channels that were not chosen are 0 in it (with `subtract`: the column read as it is); in a column that exists they
 * stay. A new column is written under a passing name, which a process that is killed leaves behind and the next call
 * removes. A copy is made beside its name and takes it at the end. In a column that exists cells are replaced in place.
 * The table HISTORY gets a row.
 *
 * Threads: one at a time; casacore's lock is held during each call to it, and the table's own lock while writing.
 * Errors: CANTCREATE for what cannot be written, before anything is; IO for what failed on the way.
 */
#ifndef LOOM_IO_MS_COLUMN_H
#define LOOM_IO_MS_COLUMN_H

#include "io/ms.h"

typedef struct loom_ms_column_request {
    const char *path; /* the MeasurementSet */
    const char *name; /* the column to write */
    const char *copy; /* where a copy with the column goes; NULL: into `path` itself */
    bool subtract;
    const char *command; /* for the table HISTORY: what was asked for, as typed */
} loom_ms_column_request;

/* Whether the column could be written. Before a source of the same MeasurementSet is opened. */
LOOM_MUST_USE loom_status *loom_ms_column_check(const loom_ms_column_request *request);

typedef struct loom_ms_column loom_ms_column;
/* Where the elements of a source opened by loom_ms_open lie in their table. Nothing of `source` is needed later.
 * LOOM_E_IO where the disk has no room for the column, or the copy. */
LOOM_MUST_USE loom_status *loom_ms_column_create(const loom_ms_column_request *request, const loom_source *source,
                                                 loom_ms_column **column);
/* The next n values as pairs of real and imaginary part, in the order of loom_ms_places. */
typedef loom_status *(*loom_ms_values)(void *context, int64_t n, double *re_im);
/* No source of the same MeasurementSet may be open. Where the column is written, but no row of HISTORY tells of it
 * (there is no such table, or none to write to), *remark is why, and the caller's; else NULL. */
LOOM_MUST_USE loom_status *loom_ms_column_write(const loom_ms_column *column, loom_ms_values next, void *context,
                                                char **remark);
void loom_ms_column_free(loom_ms_column *column); /* NULL is fine */

/* A stream over the rows and channels of a source opened by loom_ms_open, which must stay open: an element
 * {u: f64, v: f64, w: f64, freq: f64} (metres, Hz) for each channel of each row, in the order of the source's elements.
 * One segment. Memory: 32 bytes an element of a block. Threads: one at a time for both sources together. */
LOOM_MUST_USE loom_status *loom_ms_places(loom_source *source, loom_source **places);

#endif
