/* Rows that may turn out to be of one length: a plan that is made for such rows is tried first.
 *
 * A run has two engines then. The one for rows of one length is asked for each chunk, or for the array: where rows that
 * come in are of several lengths it ends before anything ran, where lengths that it computes are, at the check of them.
 * Until something is in an accumulator all that it did can be forgotten, so whatever ends it before, an error of the
 * program too, the other engine does the chunk from the start, and its error is the one that is told: errors do not
 * depend on what was tried. Results of both are joined as those of any two chunks.
 *
 * Its actions before chunk_begin are run when first it is asked. */
#include "executor/run.h"

/* Where that fails it is not asked again: the other one does without. */
static loom_status *prepare(loom_run *run) {
    if (run->tested_prepared) return NULL;
    loom_status *status = loom_run_start_engine(run);
    run->tested_prepared = !status;
    run->tested_lost = status != NULL;
    return status;
}

loom_status *loom_run_try_tested(loom_run *run, loom_run_execute execute, void *context, bool *done) {
    *done = false;
    if (!run->tested || run->tested_lost) return NULL;
    loom_engine *other = run->engine;
    bool begun = false;
    run->engine = run->tested;
    loom_status *status = prepare(run);
    if (!status) status = execute(run, context, &begun);
    run->engine = other;
    if (!status) {
        *done = true;
        return NULL;
    }
    if (begun || loom_status_code(status) == LOOM_E_CANCELLED) return status;
    loom_status_free(status);
    return NULL;
}

loom_status *loom_run_bind_moved(loom_run *run) {
    LOOM_TRY(loom_run_bind_fixed(run));
    if (!run->tested_prepared) return NULL;
    loom_engine *other = run->engine;
    run->engine = run->tested;
    loom_status *status = loom_run_bind_fixed(run);
    run->engine = other;
    return status;
}

/* ---- columns ---- */

static loom_status *unlike(const loom_leaf *leaf) {
    return loom_error(LOOM_E_DATA, "rows of '%s' differ in length", leaf->name ? leaf->name : "");
}

/* Elements of the leaf as a leaf whose levels are regular: one look at the lengths of each level. The data is that of
 * the leaf. */
static loom_status *as_regular(const loom_leaf *leaf, int64_t from, int64_t count, loom_leaf *regular) {
    loom_lists lists;
    LOOM_TRY(loom_leaf_lists(leaf, from, count, &lists));
    *regular = *leaf;
    for (uint32_t k = 0; k < leaf->depth; k++) {
        regular->lengths[k] = NULL;
        regular->n_lengths[k] = lists.count[k];
        if (k == 0) regular->extents[k] = count;
        if (k == 0 || leaf->extents[k] != LOOM_IRREGULAR) continue;
        const int64_t *own = leaf->lengths[k] + lists.begin[k];
        regular->extents[k] = lists.count[k] ? own[0] : 0;
        for (int64_t i = 1; i < lists.count[k]; i++) {
            if (own[i] != own[0]) return unlike(leaf);
        }
    }
    regular->n_data = lists.count[leaf->depth];
    int64_t begin = lists.begin[leaf->depth] * (int64_t)loom_dtype_size(leaf->dtype);
    if (regular->n_data) regular->data = (char *)leaf->data + begin;
    return NULL;
}

loom_status *loom_run_bind_tested(loom_run *run, uint32_t buffer, const loom_leaf *leaf, int64_t from, int64_t count) {
    loom_leaf regular;
    if (loom_leaf_is_regular(leaf)) return loom_engine_bind(run->engine, buffer, leaf, from, count);
    LOOM_TRY(as_regular(leaf, from, count, &regular));
    return loom_engine_bind(run->engine, buffer, &regular, 0, count);
}
