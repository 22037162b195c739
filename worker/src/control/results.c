#include "control/results.h"
#include "common/buffer.h"
#include "common/log.h"
#include "proto/value_codec.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Results that take more than this part of the memory together go to a disk: mapped there, they can be taken from
 * memory again. */
#define LOOM_OBJECT_SHARE 4
/* Smaller values are written at once: the daemon may want to look at them, and a file of them costs nothing. */
#define LOOM_LEAST_RESIDENT ((uint64_t)1 << 20)

struct loom_resident {
    loom_resident *next;
    uint64_t number;
    const loom_work_job *job;
    loom_value *value; /* NULL: it was written, */
    char *path;        /* here, */
    loom_status *lost; /* or could not be */
};

/* ---- objects ---- */

/* Folders for results, in order of preference, as they are now. */
static char **spools_now(loom_control *c, size_t *n) {
    pthread_mutex_lock(&c->lock);
    *n = c->n_spools;
    char **spools = loom_xcalloc(*n + 1, sizeof *spools);
    for (size_t i = 0; i < *n; i++) spools[i] = loom_xstrdup(c->spools[i]);
    pthread_mutex_unlock(&c->lock);
    return spools;
}

/* What `values` are one after another: one value, unless they are collected; in memory where the results that are there
 * then take no more than `most` bytes. *shape is like what was written. */
static loom_status *write_object(loom_control *c, loom_value *const *values, size_t n_values, uint64_t most,
                                 loom_object *object, loom_value **shape) {
    size_t n_spools;
    char **spools = spools_now(c, &n_spools);
    loom_status *status = NULL;
    if (n_values == 1) {
        status = loom_object_write((const char *const *)spools, n_spools, most, values[0], object);
        if (!status) *shape = loom_value_ref(values[0]);
    } else {
        status = loom_object_join((const char *const *)spools, n_spools, most, values, n_values, object, shape);
    }
    for (size_t i = 0; i < n_spools; i++) free(spools[i]);
    free(spools);
    return status;
}

/* ---- parts of an answer ---- */

/* An object that is like `shape`, without a path. */
static Wire__Object *note_part(loom_outcome *o, uint32_t output, int64_t first, int64_t n, const loom_value *shape,
                               uint64_t bytes) {
    Wire__Object *wire = LOOM_NEW(o->arena, Wire__Object);
    wire__object__init(wire);
    wire->path = (char *)"";
    wire->bytes = bytes;
    wire->value = loom_wire_value(o->arena, shape);
    /* The header points into the value, which may go before the message is packed. */
    for (size_t i = 0; i < wire->value->n_leaves; i++) {
        Wire__Leaf *leaf = wire->value->leaves[i];
        int64_t *extents = LOOM_NEW_ARRAY(o->arena, int64_t, leaf->n_extents);
        if (leaf->n_extents) memcpy(extents, leaf->extents, leaf->n_extents * sizeof *extents);
        leaf->extents = extents;
        leaf->name = loom_arena_strdup(o->arena, leaf->name);
    }
    Wire__TaskPart *part = LOOM_NEW(o->arena, Wire__TaskPart);
    wire__task_part__init(part);
    part->output = output;
    part->first_block = (uint64_t)first;
    part->n_blocks = (uint64_t)n;
    part->object = wire;
    LOOM_PUSH(o->arena, o->parts, part);
    return wire;
}

static loom_status *add_object(loom_control *c, loom_outcome *o, uint32_t output, int64_t first, int64_t n,
                               loom_value *const *values, size_t n_values, uint64_t most) {
    loom_object object;
    loom_value *shape;
    LOOM_TRY(write_object(c, values, n_values, most, &object, &shape));
    note_part(o, output, first, n, shape, object.bytes)->path = loom_arena_strdup(o->arena, object.path);
    free(object.path);
    loom_value_unref(shape);
    return NULL;
}

static uint64_t most_in_memory(const loom_control *c) {
    return c->memory / LOOM_OBJECT_SHARE;
}

loom_status *loom_results_join(loom_control *c, loom_outcome *o, uint32_t output, int64_t first, int64_t n,
                               loom_value *const *values, size_t n_values) {
    return add_object(c, o, output, first, n, values, n_values, most_in_memory(c));
}

loom_status *loom_results_add_on_disk(loom_control *c, loom_outcome *o, uint32_t output, int64_t first, int64_t n,
                                      loom_value *value) {
    return add_object(c, o, output, first, n, &value, 1, 0);
}

loom_status *loom_results_add(loom_control *c, loom_outcome *o, uint32_t output, int64_t first, int64_t n,
                              loom_value *value) {
    return loom_results_join(c, o, output, first, n, &value, 1);
}

loom_status *loom_results_keep(loom_control *c, loom_outcome *o, const loom_work_job *job, uint32_t output,
                               int64_t first, int64_t n, loom_value *value) {
    uint64_t bytes = loom_value_wire_bytes(value);
    if (bytes < LOOM_LEAST_RESIDENT) return loom_results_add(c, o, output, first, n, value);
    loom_resident *r = loom_xcalloc(1, sizeof *r);
    *r = (loom_resident){.number = ++c->last_resident, .job = job, .value = loom_value_ref(value)};
    r->next = c->residents;
    c->residents = r;
    loom_log(LOOM_LOG_DEBUG, "%" PRIu64 " bytes stay in memory as value %" PRIu64, bytes, r->number);
    Wire__Object *wire = note_part(o, output, first, n, value, bytes);
    wire->has_resident = true;
    wire->resident = r->number;
    o->kept = true;
    return NULL;
}

/* ---- values that stay ---- */

static loom_resident **find(loom_control *c, uint64_t number) {
    loom_resident **at = &c->residents;
    while (*at && (*at)->number != number) at = &(*at)->next;
    return at;
}

static void take_out(loom_resident **at) {
    loom_resident *r = *at;
    *at = r->next;
    loom_value_unref(r->value);
    if (r->path) unlink(r->path);
    free(r->path);
    loom_status_free(r->lost);
    free(r);
}

void loom_results_take_back(loom_control *c, loom_outcome *o) {
    for (size_t i = 0; i < o->parts.count; i++) {
        const Wire__Object *object = o->parts.at[i]->object;
        if (object->has_resident) {
            take_out(find(c, object->resident));
        } else {
            unlink(object->path);
        }
    }
    o->parts.count = o->blocks.count = 0;
    o->done.n_times = 0;
    o->kept = false;
}

bool loom_is_input(const loom_work_run *run, uint64_t number) {
    for (uint32_t i = 0; i < run->n_inputs; i++) {
        if (run->inputs[i].resident == number) return true;
    }
    return false;
}

static void write_resident(loom_control *c, loom_resident *r) {
    loom_log(LOOM_LOG_DEBUG, "value %" PRIu64 " is written: memory or the worker is wanted for something else",
             r->number);
    loom_object object;
    loom_value *shape;
    r->lost = write_object(c, &r->value, 1, most_in_memory(c), &object, &shape);
    if (!r->lost) {
        r->path = object.path;
        loom_value_unref(shape);
    }
    loom_value_unref(r->value);
    r->value = NULL;
    loom_work_move_inputs(c, r->number);
}

static bool is_wanted(loom_control *c, const loom_resident *r) {
    pthread_mutex_lock(&c->lock);
    bool closed = c->stopping || r->job->closed;
    pthread_mutex_unlock(&c->lock);
    return !closed;
}

bool loom_residents_write(loom_control *c, const loom_work_run *run, bool inputs) {
    bool any = false;
    for (loom_resident *r = c->residents; r; r = r->next) {
        if (!r->value || loom_is_input(run, r->number) != inputs || !is_wanted(c, r)) continue;
        write_resident(c, r);
        any = true;
    }
    return any;
}

bool loom_inputs_stay(loom_control *c, const loom_work_run *run) {
    for (const loom_resident *r = c->residents; r; r = r->next) {
        if (r->value && loom_is_input(run, r->number)) return true;
    }
    return false;
}

bool loom_residents_read(loom_control *c, const loom_work_run *run) {
    bool any = false;
    for (uint32_t i = 0; i < run->n_inputs; i++) {
        loom_resident **at = find(c, run->inputs[i].resident);
        if (!*at) continue;
        take_out(at);
        any = true;
    }
    return any;
}

void loom_residents_forget(loom_control *c, const loom_work_job *job) {
    for (loom_resident **at = &c->residents; *at;) {
        if ((*at)->job == job) {
            take_out(at);
        } else {
            at = &(*at)->next;
        }
    }
}

loom_status *loom_input_open(loom_control *c, const loom_work_input *input, loom_value **value) {
    if (!input->resident) return loom_object_map(input->path, value);
    const loom_resident *r = *find(c, input->resident);
    if (!r) return loom_error(LOOM_E_INTERNAL, "a stage reads what has not stayed with this worker");
    if (r->lost) return loom_status_copy(r->lost);
    if (!r->value) return loom_object_map(r->path, value);
    *value = loom_value_ref(r->value);
    return NULL;
}
