/* Shared by the two halves of the reader: ms.c opens and validates, ms_read.c reads blocks. */
#ifndef LOOM_IO_MS_IMPL_H
#define LOOM_IO_MS_IMPL_H

#include "casa.h"
#include "io/ms.h"
#include "runs.h"

/* Rows of one spectral window and polarisation setup, as runs in the order of the file. */
typedef struct loom_ms_rows_of {
    int64_t data_description; /* the first that named this window and setup */
    int64_t polarization;
    int64_t file_channels; /* in the file, of which [channel_from, channel_from + n_channels) are read */
    int64_t channel_from;
    loom_runs runs;
} loom_ms_rows_of;

typedef struct loom_ms_state {
    loom_casa *main;
    bool has_spectrum;
    char *column;
    uint32_t n_segments;
    loom_ms_rows_of *rows;     /* one a segment */
    loom_ms_segment *segments; /* frequencies and correlations; the source's own copy */
} loom_ms_state;

extern const loom_source_kind loom_ms_kind;
void loom_ms_state_free(loom_ms_state *state);

#endif
