/* MeasurementSets, version 2: reading one as a stream of Weft `row` elements, and writing a simulated one.
 *
 * READING. An element is one row of the main table:
 *     u, v, w: f64 (metres, as stored)   time: f64 (MJD seconds)   antenna1, antenna2: i32
 *     vis: [c][h]c64   wt: [c][h]f32   flag: [c][h]bool        with the constants of its segment freq: [c]f64, corr:
 * [h]i32 c channels in the order of the file, h correlations ("hands"), corr their codes (casacore's Stokes types: 1 I,
 * 5 to 8 RR RL LR LL, 9 to 12 XX XY YX YY). A segment is one pair of spectral window and polarisation setup;
 * rows come in the order of segments, inside one in the order of the file. Weights are WEIGHT_SPECTRUM where a row's
 * cell is there and has the right shape, else WEIGHT. FLAG_ROW flags all of its row. Nothing is left out or counted
 * here: that is the business of the program that reads the stream.
 *
 * The whole of DATA_DESC_ID, FIELD_ID, ANTENNA1, ANTENNA2 and TIME is looked through once when the MS is opened; the
 * data is read by blocks. Memory: a block, and 24 bytes for each run of adjacent rows that belong to one segment.
 * Threads: one at a time per source; all sources share one lock, because casacore is not thread-safe.
 * Not rewritten, not locked: an MS that is being written meanwhile gives undefined values, never a crash of ours.
 */
#ifndef LOOM_IO_MS_H
#define LOOM_IO_MS_H

#include "io/source.h"

#define LOOM_MS_ALL (-1)

typedef struct loom_ms_selection {
    const char *column; /* NULL: DATA */
    int64_t field;      /* FIELD_ID */
    int64_t spw;        /* SPECTRAL_WINDOW_ID, or LOOM_MS_ALL */
    /* Half open, inside each spectral window; to: LOOM_MS_ALL is the last one. A window with fewer channels gives those
     * it has; channels that none has are an error. */
    int64_t channel_from, channel_to;
    bool by_time; /* rows of time_from <= TIME < time_to, MJD seconds */
    double time_from, time_to;
    bool by_scan; /* rows of this SCAN_NUMBER */
    int64_t scan;
} loom_ms_selection;

typedef struct loom_ms_segment {
    int64_t spw, n_channels, n_correlations, n_rows;
    double *frequencies; /* Hz, of the channels selected */
    int32_t *correlations;
    double low, high;            /* Hz, outer edges of the selected channels */
    const char *frequency_frame; /* "TOPOCENT", "LSRK", ... as FITS calls it; "" if unknown */
} loom_ms_segment;

typedef struct loom_ms_info {
    char *path;
    int64_t n_rows; /* of the main table */
    uint32_t n_segments;
    loom_ms_segment *segments;
    /* Antenna numbers are antenna_first to antenna_first + n_antennas - 1: the rows of ANTENNA; in UVFITS from 1 on
     * (from 0 where a group says 0), as many as AIPS AN lists or groups say. */
    int64_t antenna_first, n_antennas;
    double ra, dec;    /* phase centre, radians */
    const char *frame; /* "J2000", "ICRS" or "B1950" */
    char *field_name, *telescope, *observer;
    double time_first, time_last; /* MJD seconds, of the selected rows */
    double time_from, time_to;    /* of all rows, of any field; 0, 0 where none has a time */
    char *column;
    bool has_corrected; /* there is a column CORRECTED_DATA of visibilities, whichever was chosen */
} loom_ms_info;

/* From now on casacore's own warnings are not printed. */
void loom_ms_quiet(void);
/* Opens and validates. Errors name what is wrong and what there is to choose from: no such file, not a MeasurementSet,
 * a missing table or column, no such field, spectral window or channels, no rows, ids out of range. */
LOOM_MUST_USE loom_status *loom_ms_open(const char *path, const loom_ms_selection *selection, loom_source **source,
                                        loom_ms_info **info);
void loom_ms_info_free(loom_ms_info *info); /* NULL is fine */
/* "XX", "RL", "I", ...; "?" for a code that has no name. */
const char *loom_ms_correlation_name(int32_t code);

/* ---- writing ---- */

typedef struct loom_ms_antenna {
    char name[32];
    double position[3]; /* ITRF, metres */
} loom_ms_antenna;

/* What is constant in the written MS: one field, one spectral window, one polarisation setup. */
typedef struct loom_ms_layout {
    const char *telescope, *field, *observer;
    const loom_ms_antenna *antennas;
    int64_t n_antennas;
    double dish_diameter;
    const double *frequencies;
    int64_t n_channels;
    double channel_width;
    const int32_t *correlations;
    int64_t n_correlations;
    double ra, dec; /* J2000, radians */
    double time_first, time_last, interval;
    const char *history; /* the command that made it */
} loom_ms_layout;

typedef struct loom_ms_rows {
    int64_t n;
    const double *uvw;  /* [n][3] metres */
    const double *time; /* MJD seconds */
    const int32_t *antenna1, *antenna2;
    const float *data;   /* [n][channels][correlations][2] */
    const float *weight; /* [n][correlations] */
} loom_ms_rows;

typedef struct loom_ms_writer loom_ms_writer;

/* Writes path.tmp-PID and renames at the end; refuses a path that exists. */
LOOM_MUST_USE loom_status *loom_ms_create(const char *path, const loom_ms_layout *layout, loom_ms_writer **writer);
LOOM_MUST_USE loom_status *loom_ms_put(loom_ms_writer *writer, const loom_ms_rows *rows);
/* After the last put: everything is on the disk, and commit only renames. It may be left out. */
LOOM_MUST_USE loom_status *loom_ms_flush(loom_ms_writer *writer);
LOOM_MUST_USE loom_status *loom_ms_commit(loom_ms_writer *writer); /* frees the writer, also on failure */
void loom_ms_abort(loom_ms_writer *writer);                        /* NULL is fine */

#endif
