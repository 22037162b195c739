/* Stages that write elements out by batch, and those that read a batch.
 *
 * Such a stage may run, or not, or be given up: its readers then read all of the stream, and nothing that they make of
 * elements of other batches counts. So a spill decides what is read, not what is made of it, but for the order in which
 * sums of floats are made.
 */
#include "common/clock.h"
#include "common/log.h"
#include "daemon.h"
#include <inttypes.h>
#include <sys/statvfs.h>

bool loom_stage_spills(const loom_job_stage *stage) {
    return stage->graph->saves != 0;
}

/* A number in a slot. */
static loom_status *number_in(const loom_job *job, uint32_t slot, loom_dtype dtype, loom_scalar *number) {
    loom_value *value;
    LOOM_TRY(loom_held_object_small_value(job->slots[slot], &value));
    bool is_one = value && value->n_leaves == 1 && value->leaves[0].dtype == dtype && value->leaves[0].n_data == 1;
    if (is_one) *number = loom_scalar_load(dtype, value->leaves[0].data);
    loom_value_unref(value);
    return is_one ? NULL : loom_error(LOOM_E_PROTOCOL, "what says how a stream is spilled is no number");
}

static loom_status *traversals_saved(const loom_job_stage *stage, double *saves) {
    loom_scalar number = {0};
    LOOM_TRY(number_in(stage->job, stage->graph->saves, LOOM_F64, &number));
    *saves = number.f;
    return NULL;
}

loom_status *loom_spill_is_wanted(const loom_job_stage *stage, bool *wanted) {
    double saves;
    LOOM_TRY(traversals_saved(stage, &saves));
    *wanted = saves > 0 && stage->job->daemon->options.spill != LOOM_SPILL_NEVER;
    return NULL;
}

static void close_seats(const loom_job_stage *stage) {
    for (size_t i = 0; i < stage->seats.n; i++) ((loom_seat *)stage->seats.at[i])->open = false;
}

void loom_spill_give_up(loom_job_stage *stage, const char *why) {
    loom_job_drop_tasks(stage);
    close_seats(stage);
    loom_list *pieces = &stage->outputs[0].pieces;
    for (size_t i = 0; i < pieces->n; i++) loom_piece_free(pieces->at[i]);
    loom_list_free(pieces);
    if (why) loom_log(LOOM_LOG_INFO, "job %" PRIu64 ": the stream is not spilled: %s", stage->job->id, why);
    loom_stage_set_slot(stage, 0, loom_spill_create(stage->graph, false, 0, NULL, 0));
    loom_job_stage_done(stage);
}

/* What has been seen of a spill. */
typedef struct spill_costs {
    double bytes;         /* of files */
    double read, written; /* elements of the stream, and how often these were written */
    double reading;       /* seconds of a worker for an element: to read it and tell its batches */
    double writing;       /* the same: to write it as often as it is to be */
} spill_costs;

static spill_costs costs_of(const loom_job_stage *stage) {
    spill_costs c = {0};
    const loom_list *pieces = &stage->outputs[0].pieces;
    for (size_t i = 0; i < pieces->n; i++) {
        const loom_piece *piece = pieces->at[i];
        for (size_t k = 0; k < piece->spilled.n_batches; k++) c.written += (double)piece->spilled.counts[k];
        c.read += (double)loom_blocks_count(stage->blocks, piece->stretch);
        c.bytes += (double)piece->object->bytes;
    }
    double reading = 0, writing = 0, rates = 0;
    for (size_t i = 0; i < stage->seats.n; i++) {
        const loom_seat *seat = stage->seats.at[i];
        writing += seat->handover;
        if (!(seat->rate > 0)) continue;
        reading += 1 / seat->rate;
        rates++;
    }
    c.reading = rates > 0 ? reading / rates : 0;
    c.writing = c.read > 0 ? writing / c.read : 0;
    return c;
}

/* Whether `bytes` more leave half of what is free: partial results want room too, and so do others. */
static bool is_room_for(const loom_daemon *d, double bytes) {
    struct statvfs fs;
    if (!d->n_spools || statvfs(d->spools[d->n_spools - 1], &fs)) return true;
    return bytes <= (double)fs.f_bavail * (double)fs.f_frsize / 2;
}

/* To go on costs what is left to be read and written, then reading what was written; to stop, all traversals. */
static bool is_dearer(const loom_job_stage *stage, const spill_costs *costs, double saves) {
    spill_costs c = *costs;
    if (c.reading <= 0) return false; /* nothing is known of it */
    double all = (double)stage->blocks->n_elements;
    double left = 1 - c.read / all, copies = c.written / c.read;
    double on = left * (c.reading + c.writing) + copies * c.reading, stop = (saves + 1) * c.reading;
    loom_log(LOOM_LOG_DEBUG, "job %" PRIu64 ": spilled %.0f of %.0f elements %.2f times: %.3g s to go on, %.3g to stop",
             stage->job->id, c.read, all, copies, on * all, stop * all);
    return on > stop;
}

void loom_spill_judge(loom_job_stage *stage) {
    double saves, all = (double)stage->blocks->n_elements;
    spill_costs c = costs_of(stage);
    if (c.read <= 0 || stage->state != LOOM_STAGE_RUNNING) return;
    loom_status *status = traversals_saved(stage, &saves);
    if (status) {
        loom_job_fail(stage->job, status);
        return;
    }
    const loom_daemon *d = stage->job->daemon;
    if (is_dearer(stage, &c, saves) && d->options.spill == LOOM_SPILL_AUTO) {
        loom_spill_give_up(stage, "it costs more than it saves");
    } else if (!is_room_for(d, c.bytes / c.read * (all - c.read))) {
        loom_spill_give_up(stage, "it would take more than half of the room on the disk");
    }
}

void loom_spill_finish(loom_job_stage *stage) {
    loom_list *pieces = &stage->outputs[0].pieces;
    uint32_t n_streams = stage->graph->n_streams;
    loom_spilled *at = loom_xcalloc(pieces->n + 1, sizeof *at);
    size_t n = 0;
    for (size_t i = 0; i < pieces->n; i++) {
        loom_piece *piece = pieces->at[i];
        const loom_cut *cut = loom_blocks_cut_of(stage->blocks, piece->stretch.first);
        if (piece->spilled.n_batches) {
            at[n] = piece->spilled;
            piece->spilled = (loom_spilled){0};
            at[n].object = loom_held_object_ref(piece->object);
            at[n].class = cut->class;
            at[n].segments = loom_xcalloc((size_t)n_streams + 1, sizeof *at[n].segments);
            memcpy(at[n++].segments, stage->blocks->classes[cut->class].segments, n_streams * sizeof *at->segments);
        }
        loom_piece_free(piece);
    }
    loom_list_free(pieces);
    /* Where no element is for any batch, who reads the stream still learns its shapes. */
    loom_stage_set_slot(stage, 0, loom_spill_create(stage->graph, n > 0, stage->blocks->n_classes, at, n));
    loom_job_stage_done(stage);
}

const loom_spill *loom_spill_of(const loom_job_stage *stage) {
    if (!stage->graph->spilled || stage->reads_all) return NULL;
    const loom_held_object *object = stage->job->slots[stage->graph->spilled];
    return object && object->spill && object->spill->made ? object->spill : NULL;
}

loom_status *loom_spill_batch(const loom_job_stage *stage, uint64_t *batch) {
    loom_scalar number = {0};
    LOOM_TRY(number_in(stage->job, stage->graph->batch, LOOM_I64, &number));
    if (number.i < 0) return loom_error(LOOM_E_PROTOCOL, "a batch of spilled elements with a negative number");
    *batch = (uint64_t)number.i;
    return NULL;
}

void loom_spill_read_all(loom_job_stage *stage) {
    loom_log(LOOM_LOG_INFO, "job %" PRIu64 ": stage %u reads the whole stream, to find the least error", stage->job->id,
             stage->index);
    for (size_t i = 0; i < stage->plans.n; i++) loom_plan_close(stage->plans.at[i]);
    loom_job_stage_reset(stage);
    stage->reads_all = true;
    loom_job_advance(stage->job);
}
