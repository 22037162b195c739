#include "rows.h"
#include "common/buffer.h"
#include "io/observation.h"
#include <stdlib.h>
#include <string.h>

enum {
    FREQ = COLUMNS,
    CORR,
    FIELDS
};

static const loom_source_field fields[FIELDS] = {
    [COL_U] = {"u", LOOM_F64, 0, false},
    [COL_V] = {"v", LOOM_F64, 0, false},
    [COL_W] = {"w", LOOM_F64, 0, false},
    [COL_TIME] = {"time", LOOM_F64, 0, false},
    [COL_ANTENNA1] = {"antenna1", LOOM_I32, 0, false},
    [COL_ANTENNA2] = {"antenna2", LOOM_I32, 0, false},
    [COL_VIS] = {"vis", LOOM_C64, 2, false},
    [COL_WT] = {"wt", LOOM_F32, 2, false},
    [COL_FLAG] = {"flag", LOOM_BOOL, 2, false},
    [FREQ] = {"freq", LOOM_F64, 1, true},
    [CORR] = {"corr", LOOM_I32, 1, true},
};

const loom_source_field *loom_observation_fields(uint32_t *n) {
    *n = FIELDS;
    return fields;
}

/* The leaf of a field, with `levels` around those of an element. */
static loom_status *make_leaf(loom_leaf *leaf, int field, uint32_t levels, const int64_t *extents) {
    const loom_source_field *f = &fields[field];
    return loom_leaf_init(leaf, f->name, f->dtype, levels + f->depth, extents, INT64_MAX);
}

loom_status *loom_rows_create(const loom_ms_segment *segment, int64_t count, loom_value **rows) {
    int64_t extents[3] = {count, segment->n_channels, segment->n_correlations};
    loom_value *made;
    LOOM_TRY(loom_value_create(COLUMNS, &made));
    loom_status *status = NULL;
    for (int i = 0; i < COLUMNS && !status; i++) status = make_leaf(&made->leaves[i], i, 1, extents);
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
    loom_status *status = make_leaf(&made->leaves[0], FREQ, 0, &s->n_channels);
    if (!status) status = make_leaf(&made->leaves[1], CORR, 0, &s->n_correlations);
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
