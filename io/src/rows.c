#include "rows.h"
#include "common/buffer.h"
#include <stdlib.h>
#include <string.h>

loom_status *loom_rows_create(const loom_ms_segment *segment, int64_t count, loom_value **rows) {
    static const struct {
        const char *name;
        loom_dtype dtype;
        uint32_t depth;
    } columns[COLUMNS] = {
        [COL_U] = {"u", LOOM_F64, 1},
        [COL_V] = {"v", LOOM_F64, 1},
        [COL_W] = {"w", LOOM_F64, 1},
        [COL_TIME] = {"time", LOOM_F64, 1},
        [COL_ANTENNA1] = {"antenna1", LOOM_I32, 1},
        [COL_ANTENNA2] = {"antenna2", LOOM_I32, 1},
        [COL_VIS] = {"vis", LOOM_C64, 3},
        [COL_WT] = {"wt", LOOM_F32, 3},
        [COL_FLAG] = {"flag", LOOM_BOOL, 3},
    };
    int64_t extents[3] = {count, segment->n_channels, segment->n_correlations};
    loom_value *made;
    LOOM_TRY(loom_value_create(COLUMNS, &made));
    loom_status *status = NULL;
    for (int i = 0; i < COLUMNS && !status; i++) {
        status =
            loom_leaf_init(&made->leaves[i], columns[i].name, columns[i].dtype, columns[i].depth, extents, INT64_MAX);
    }
    if (status) {
        loom_value_unref(made);
        return status;
    }
    *rows = made;
    return NULL;
}

loom_status *loom_rows_constants(const loom_ms_segment *s, loom_value **constants) {
    loom_value *made;
    LOOM_TRY(loom_value_create(2, &made));
    loom_status *status = loom_leaf_init(&made->leaves[0], "freq", LOOM_F64, 1, &s->n_channels, INT64_MAX);
    if (!status) status = loom_leaf_init(&made->leaves[1], "corr", LOOM_I32, 1, &s->n_correlations, INT64_MAX);
    if (status) {
        loom_value_unref(made);
        return status;
    }
    memcpy(made->leaves[0].data, s->frequencies, (size_t)s->n_channels * sizeof *s->frequencies);
    memcpy(made->leaves[1].data, s->correlations, (size_t)s->n_correlations * sizeof *s->correlations);
    *constants = made;
    return NULL;
}

loom_ms_segment loom_rows_copy_segment(const loom_ms_segment *segment) {
    loom_ms_segment s = *segment;
    s.frequencies = loom_xmalloc((size_t)s.n_channels * sizeof *s.frequencies);
    s.correlations = loom_xmalloc((size_t)s.n_correlations * sizeof *s.correlations);
    memcpy(s.frequencies, segment->frequencies, (size_t)s.n_channels * sizeof *s.frequencies);
    memcpy(s.correlations, segment->correlations, (size_t)s.n_correlations * sizeof *s.correlations);
    return s;
}

void loom_rows_free_segments(loom_ms_segment *segments, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        free(segments[i].frequencies);
        free(segments[i].correlations);
    }
    free(segments);
}
