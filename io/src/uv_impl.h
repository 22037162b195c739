/* Shared by the parts of the reader of UVFITS: uv_header.c parses the primary header, uv_tables.c the tables beside it,
 * uvfits.c selects and makes the source, uv_read.c reads groups and blocks. */
#ifndef LOOM_IO_UV_IMPL_H
#define LOOM_IO_UV_IMPL_H

#include "fits_error.h"
#include "io/uvfits.h"
#include "runs.h"
#include <fitsio.h>

#define LOOM_LIGHT_SPEED 299792458.0

typedef enum loom_uv_role {
    UV_OTHER,
    UV_U,
    UV_V,
    UV_W,
    UV_BASELINE,
    UV_ANTENNA1,
    UV_ANTENNA2,
    UV_DATE,
    UV_SOURCE,
    UV_FREQSEL,
    UV_ROLES
} loom_uv_role;

typedef struct loom_uv_parameter {
    loom_uv_role role;
    double scale, zero;
} loom_uv_parameter;

/* An axis that is not there has extent 1 and stride 0. */
typedef struct loom_uv_axis {
    bool exists;
    int64_t n, stride; /* stride in cells of a group */
    double value, increment, reference;
    char name[FLEN_VALUE]; /* with its suffix: "FREQ-LSR" */
} loom_uv_axis;

typedef enum loom_uv_axis_role {
    UV_COMPLEX,
    UV_STOKES,
    UV_FREQ,
    UV_IF,
    UV_RA,
    UV_DEC,
    UV_AXES
} loom_uv_axis_role;

typedef struct loom_uv_header {
    int bitpix;
    int64_t item; /* bytes of a number */
    double scale, zero;
    bool has_blank;
    int64_t blank;
    int64_t start; /* of the groups, in bytes */
    int64_t n_groups, n_parameters, n_cells;
    int64_t parameter_bytes, group_bytes;
    loom_uv_parameter *parameters;
    bool has[UV_ROLES];
    loom_uv_axis axes[UV_AXES];
    int32_t *correlations; /* codes as in io/ms.h, 0 for one that has no name */
} loom_uv_header;

/* One row of AIPS FQ: what a value of FREQSEL means. */
typedef struct loom_uv_setup {
    int64_t id;
    double *offsets;   /* [n_if] Hz */
    double *increment; /* [n_if] Hz, signed */
    loom_runs runs;    /* the selected groups of this setup */
} loom_uv_setup;

typedef struct loom_uv_segment {
    int64_t setup, window; /* indices */
} loom_uv_segment;

typedef struct loom_uv_state {
    char *path;     /* for messages */
    fitsfile *file; /* while it is being opened */
    int fd;         /* -1: none */
    loom_uv_header header;
    int64_t n_setups;
    loom_uv_setup *setups;
    int64_t channel_from;
    uint32_t n_segments;
    loom_uv_segment *uv_segments;
    loom_ms_segment *segments; /* the source's own copy */
} loom_uv_state;

/* ---- cfitsio ---- */

/* All calls of cfitsio are made with this lock held. */
void loom_uv_lock(void);
void loom_uv_unlock(void);
/* Keywords of the current HDU; false where there is none, or none that can be read so. */
bool loom_uv_number(fitsfile *file, const char *key, double *value);
bool loom_uv_whole(fitsfile *file, const char *key, int64_t *value);
bool loom_uv_text(fitsfile *file, const char *key, char text[FLEN_VALUE]); /* without blanks at its end */

/* ---- parts ---- */

/* Parses and validates the primary header; the file's length must hold all groups. */
LOOM_MUST_USE loom_status *loom_uv_read_header(fitsfile *file, const char *path, loom_uv_header *header);
void loom_uv_header_free(loom_uv_header *header);
LOOM_MUST_USE loom_status *loom_uv_read_setups(loom_uv_state *state);

/* A row of AIPS SU. */
typedef struct loom_uv_source {
    int64_t id;
    double ra, dec, equinox; /* degrees; NaN: not told */
    char name[FLEN_VALUE];
} loom_uv_source;
/* None where there is no such table. malloc'ed. */
LOOM_MUST_USE loom_status *loom_uv_read_sources(fitsfile *file, const char *path, loom_uv_source **sources, int64_t *n);
int64_t loom_uv_count_antennas(fitsfile *file); /* of the first table AIPS AN; 0: none */

/* ---- groups ---- */

/* What a group's parameters say. Antennas are -1 where they are no numbers. */
typedef struct loom_uv_group {
    double u, v, w, time; /* metres, MJD seconds */
    int32_t antenna1, antenna2;
    double source, setup; /* 0 where there is none */
} loom_uv_group;

/* Reads stretches of groups: their parameters and bytes [from, to) of their cells, in batches of bounded memory. */
typedef struct loom_uv_reader {
    const loom_uv_state *state;
    int64_t from, to; /* bytes of the cells */
    unsigned char *raw;
    bool whole;    /* groups are read as they stand, gaps included */
    int64_t pitch; /* from group to group in `raw` */
    int64_t batch; /* groups that fit */
} loom_uv_reader;

LOOM_MUST_USE loom_status *loom_uv_reader_open(loom_uv_reader *reader, const loom_uv_state *state, int64_t cell_from,
                                               int64_t cell_to);
/* At most `batch` groups from `group` (from 0) on. */
LOOM_MUST_USE loom_status *loom_uv_reader_fill(loom_uv_reader *reader, int64_t group, int64_t n);
loom_uv_group loom_uv_reader_group(const loom_uv_reader *reader, int64_t i);
/* The cells of group i of the batch, scaled. */
void loom_uv_reader_cells(const loom_uv_reader *reader, int64_t i, double *to);
void loom_uv_reader_close(loom_uv_reader *reader);

extern const loom_source_kind loom_uv_kind;
void loom_uv_state_free(loom_uv_state *state);

#endif
