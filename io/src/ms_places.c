/* Rows and channels of a MeasurementSet as a stream of places: baselines and frequencies without the data. */
#include "common/buffer.h"
#include "io/ms_column.h"
#include "ms_impl.h"
#include "source_impl.h"
#include <inttypes.h>
#include <stdlib.h>

typedef struct places {
    const loom_ms_state *ms;
    int64_t *first; /* element at which each segment begins, and the end */
} places;

enum {
    U,
    V,
    W,
    FREQ,
    LEAVES
};

/* Elements [first, first + count) of segment s, which may begin and end inside a row, from element `at` of the block
 * on.
 */
static loom_status *read_segment(const places *p, uint32_t s, int64_t first, int64_t count, loom_value *to,
                                 int64_t at) {
    const loom_ms_segment *segment = &p->ms->segments[s];
    int64_t c = segment->n_channels, row = first / c, rows = (first + count - 1) / c + 1 - row;
    double *uvw = malloc((size_t)rows * 3 * sizeof *uvw);
    if (!uvw) return loom_error(LOOM_E_MEMORY, "no memory for %" PRId64 " rows of UVW", rows);
    loom_run *runs = NULL;
    int64_t n_runs;
    loom_casa_slice slice = {.rank = 1, .shape = {3}, .from = 0, .n = 3};
    loom_status *status = loom_runs_cut(&p->ms->rows[s].runs, row, rows, &runs, &n_runs);
    if (!status) status = loom_casa_arrays(p->ms->main, "UVW", LOOM_F64, runs, n_runs, &slice, uvw);
    free(runs);
    double *leaf[LEAVES];
    for (int k = 0; k < LEAVES; k++) leaf[k] = to->leaves[k].data;
    for (int64_t i = first; i < first + count && !status; i++, at++) {
        for (int k = 0; k < 3; k++) leaf[k][at] = uvw[3 * (i / c - row) + k];
        leaf[FREQ][at] = segment->frequencies[i % c];
    }
    free(uvw);
    return status;
}

static loom_status *places_read(loom_source *source, int64_t first, int64_t count, loom_value **elements) {
    static const char *const names[LEAVES] = {"u", "v", "w", "freq"};
    const places *p = source->state;
    loom_value *made;
    LOOM_TRY(loom_value_create(LEAVES, &made));
    loom_status *status = NULL;
    for (int k = 0; k < LEAVES && !status; k++) {
        status = loom_leaf_init(&made->leaves[k], names[k], LOOM_F64, 1, &count, INT64_MAX);
    }
    int64_t end = first + count;
    for (uint32_t s = 0; s < p->ms->n_segments && !status; s++) {
        int64_t from = first > p->first[s] ? first : p->first[s], to = end < p->first[s + 1] ? end : p->first[s + 1];
        if (from < to) status = read_segment(p, s, from - p->first[s], to - from, made, from - first);
    }
    if (status) {
        loom_value_unref(made);
        return status;
    }
    *elements = made;
    return NULL;
}

static loom_status *no_constants(loom_source *source, uint32_t segment, loom_value **constants) {
    (void)source;
    (void)segment;
    *constants = NULL;
    return NULL;
}

static void places_destroy(loom_source *source) {
    places *p = source->state;
    free(p->first);
    free(p);
}

static const loom_source_kind places_kind = {"places", places_read, no_constants, places_destroy};

loom_status *loom_ms_places(loom_source *source, loom_source **to) {
    if (source->kind != &loom_ms_kind) return loom_error(LOOM_E_INTERNAL, "places of what is not a MeasurementSet");
    const loom_ms_state *ms = source->state;
    places *p = loom_xcalloc(1, sizeof *p);
    p->ms = ms;
    p->first = loom_xcalloc((size_t)ms->n_segments + 1, sizeof *p->first);
    bool fits = true;
    for (uint32_t s = 0; s < ms->n_segments; s++) {
        int64_t n;
        fits = fits && !__builtin_mul_overflow(ms->rows[s].runs.n_rows, ms->segments[s].n_channels, &n) &&
               !__builtin_add_overflow(p->first[s], n, &p->first[s + 1]);
    }
    loom_source *made = NULL;
    loom_status *status = fits ? loom_source_make(&places_kind, p->first[ms->n_segments], 1, &made)
                               : loom_error(LOOM_E_LIMIT, "too many visibilities");
    if (status) {
        free(p->first);
        free(p);
        return status;
    }
    made->state = p;
    *to = made;
    return NULL;
}
