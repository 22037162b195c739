/* Schedules of regions.
 *
 * Rules. A region of two or more diagonal operations of which one makes a value for the others alone is worth a STRIP:
 * such values live in scratch memory for a strip of elements at a time and never reach the memory of the chunk. A value
 * can be local to the strip if only the region reads it, no output has it and its size per element is known. The strip
 * is as long as its values fill half of a core's second-level cache, and no longer than keeps vector loops busy. A
 * region whose single element does not fit stays FLAT, and so does everything that is not diagonal. Example: fft,
 * product, inverse fft, crop over kernels of 32 x 32 c128 (16 KiB): two slots of scratch, 16 elements a strip. */
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/reads.h"
#include "hoist.h"
#include "homes.h"
#include "order.h"
#include "slices.h"
#include "updates.h"
#include <string.h>

/* Second-level caches of servers are 1 to 2 MiB; half of the smaller is for the strip, the rest for what passes
 * through. */
#define LOOM_STRIP_BYTES (512.0 * 1024)
/* Vector loops over scalars gain nothing from longer strips. */
#define LOOM_LONGEST_STRIP 256

typedef struct scheduler {
    loom_lifted *l;
    loom_lop_id *parent;
    uint32_t *region_of; /* per operation */
    bool *shared;        /* per value: read outside of the region that makes it, or an output */
} scheduler;

typedef struct reader {
    scheduler *s;
    loom_lop_id op;
} reader;

static void note_read(void *context, loom_lvalue_id value) {
    reader *r = context;
    const loom_lvalue *v = &r->s->l->values[value];
    if (v->source != LOOM_LV_OP) return;
    bool inside = r->s->region_of[v->op] == r->s->region_of[r->op] && r->s->parent[r->op] == LOOM_NONE;
    if (!inside) r->s->shared[value] = true;
}

static void find_shared(scheduler *s) {
    const loom_lifted *l = s->l;
    for (loom_lop_id i = 0; i < l->n_ops; i++) loom_lifted_reads(l, i, note_read, &(reader){s, i});
    for (uint32_t o = 0; o < l->n_outputs; o++) {
        for (uint32_t i = 0; l->outputs[o].values && i < l->outputs[o].n_leaves; i++) {
            if (l->outputs[o].values[i] != LOOM_NONE) s->shared[l->outputs[o].values[i]] = true;
        }
    }
    for (loom_axis_id a = 0; a < l->n_axes; a++) {
        loom_lvalue_id needs[3];
        uint32_t n = loom_axis_needs(l, a, needs);
        for (uint32_t i = 0; i < n; i++) s->shared[needs[i]] = true;
    }
}

/* Bytes of a value per element of the chunk, or -1 where the code generator cannot know. */
static double element_bytes(const loom_lifted *l, loom_lvalue_id id) {
    const loom_lvalue *v = &l->values[id];
    double bytes = (double)loom_dtype_size(v->dtype);
    if (!v->n_axes || l->axes[v->axes[0]].kind != LOOM_AXIS_CHUNK) return -1;
    for (uint32_t i = 1; i < v->n_axes; i++) {
        if (l->axes[v->axes[i]].kind != LOOM_AXIS_CONST) return -1;
        bytes *= (double)l->axes[v->axes[i]].extent;
    }
    return bytes;
}

static void schedule_region(scheduler *s, loom_region *region) {
    loom_lifted *l = s->l;
    double bytes = 0;
    uint32_t local = 0;
    if (region->end - region->first < 2 || s->parent[region->first] != LOOM_NONE ||
        !loom_schedule_diagonal(l, region->first))
        return;
    for (loom_lop_id id = region->first; id < region->end; id++) {
        for (uint32_t j = 0; j < l->ops[id].n_results; j++) {
            loom_lvalue_id r = l->ops[id].results[j];
            double own = s->shared[r] ? -1 : element_bytes(l, r);
            if (own < 0) continue;
            bytes += own;
            local++;
        }
    }
    if (!local || (l->force & (LOOM_FORCE_FLAT | LOOM_FORCE_ROWS))) return;
    if (bytes > 2 * LOOM_STRIP_BYTES && !(l->force & LOOM_FORCE_STRIP)) return;
    region->schedule = LOOM_SCHEDULE_STRIP;
    double length = bytes > 0 ? LOOM_STRIP_BYTES / bytes : LOOM_LONGEST_STRIP;
    region->strip = length < 1 ? 1 : length > LOOM_LONGEST_STRIP ? LOOM_LONGEST_STRIP : (int64_t)length;
    if (region->strip > 8) region->strip -= region->strip % 8;
    for (loom_lop_id id = region->first; id < region->end; id++) {
        for (uint32_t j = 0; j < l->ops[id].n_results; j++) {
            loom_lvalue_id r = l->ops[id].results[j];
            l->values[r].strip = !s->shared[r] && element_bytes(l, r) >= 0;
        }
    }
}

loom_status *loom_schedule(loom_lifted *l) {
    loom_arena *scratch = loom_arena_create(0);
    if (!(l->force & LOOM_FORCE_FLAT)) {
        loom_schedule_hoist(l, scratch);
        loom_schedule_slices(l, scratch, l->force & (LOOM_FORCE_STRIP | LOOM_FORCE_ROWS));
    }
    loom_schedule_homes(l, scratch);
    loom_schedule_updates(l, scratch);
    loom_schedule_order(l, scratch);
    scheduler s = {.l = l,
                   .parent = loom_lifted_parents(l, scratch),
                   .region_of = LOOM_NEW_ARRAY(scratch, uint32_t, (size_t)l->n_ops + 1),
                   .shared = LOOM_NEW_ARRAY(scratch, bool, (size_t)l->n_values + 1)};
    for (uint32_t r = 0; r < l->n_regions; r++) {
        for (loom_lop_id i = l->regions[r].first; i < l->regions[r].end; i++) s.region_of[i] = r;
    }
    find_shared(&s);
    for (uint32_t r = 0; r < l->n_regions; r++) {
        if (l->regions[r].per_chunk) schedule_region(&s, &l->regions[r]);
    }
    loom_arena_destroy(scratch);
    return NULL;
}
