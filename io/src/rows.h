/* Blocks of `row` elements (io/ms.h), as every reader of observations makes them. */
#ifndef LOOM_IO_ROWS_H
#define LOOM_IO_ROWS_H

#include "io/ms.h"

/* Leaves of a block, in this order. */
enum {
    COL_U,
    COL_V,
    COL_W,
    COL_TIME,
    COL_ANTENNA1,
    COL_ANTENNA2,
    COL_VIS,
    COL_WT,
    COL_FLAG,
    COLUMNS
};

/* `count` rows of the segment, zeroed. */
LOOM_MUST_USE loom_status *loom_rows_create(const loom_ms_segment *segment, int64_t count, loom_value **rows);
/* freq and corr of the segment. */
LOOM_MUST_USE loom_status *loom_rows_constants(const loom_ms_segment *segment, loom_value **constants);
/* The segment's frequencies and correlations in memory of their own. */
loom_ms_segment loom_rows_copy_segment(const loom_ms_segment *segment);
void loom_rows_free_segments(loom_ms_segment *segments, uint32_t n);

#endif
