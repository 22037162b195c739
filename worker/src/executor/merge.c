/* Joining and neutral values. */
#include "common/buffer.h"
#include "executor/run.h"
#include <stdlib.h>
#include <string.h>

static bool same_form(const loom_value *a, const loom_value *b) {
    if (a->n_leaves != b->n_leaves) return false;
    for (uint32_t i = 0; i < a->n_leaves; i++) {
        const loom_leaf *x = &a->leaves[i], *y = &b->leaves[i];
        if (x->dtype != y->dtype || x->depth != y->depth || x->n_data != y->n_data || !loom_leaf_is_regular(x) ||
            !loom_leaf_is_regular(y)) {
            return false;
        }
        if (x->depth && memcmp(x->extents, y->extents, x->depth * sizeof *x->extents) != 0) return false;
    }
    return true;
}

/* A copy whose data may be overwritten. */
static loom_status *copy_value(loom_run *run, const loom_value *value, loom_value **copy) {
    loom_value *made;
    LOOM_TRY(loom_value_create(value->n_leaves, &made));
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        const loom_leaf *leaf = &value->leaves[i];
        loom_status *status =
            loom_leaf_init(&made->leaves[i], leaf->name, leaf->dtype, leaf->depth, leaf->extents, UINT64_MAX);
        if (status) {
            loom_value_unref(made);
            return status;
        }
        loom_engine_copy(run->executor, leaf->data, made->leaves[i].data,
                         (uint64_t)leaf->n_data * loom_dtype_size(leaf->dtype));
    }
    *copy = made;
    return NULL;
}

/* By the plan's kernel, elementwise, into a. */
static loom_status *combine(loom_run *run, uint32_t kernel, loom_value *a, loom_value *b, loom_value **joined) {
    loom_value *into = a;
    if (!loom_value_is_ours(a)) {
        LOOM_TRY(copy_value(run, a, &into));
        loom_value_unref(a);
    }
    void **x = loom_xcalloc((size_t)into->n_leaves + 1, sizeof *x),
         **y = loom_xcalloc((size_t)into->n_leaves + 1, sizeof *y);
    for (uint32_t i = 0; i < into->n_leaves; i++) {
        x[i] = into->leaves[i].data;
        y[i] = b->leaves[i].data;
    }
    loom_engine_combine(run->engine, kernel, x, y, into->n_leaves ? into->leaves[0].n_data : 0);
    loom_engine_take_work(run->engine, &(loom_kernel_work){0});
    free(x);
    free(y);
    loom_value_unref(b);
    *joined = into;
    return NULL;
}

static loom_status *concatenate(loom_value *a, loom_value *b, loom_value **joined) {
    loom_value *parts[2] = {a, b};
    LOOM_TRY(loom_value_concat(parts, 2, joined));
    loom_value_unref(a);
    loom_value_unref(b);
    return NULL;
}

static loom_status *join_values(loom_run *run, uint32_t output, loom_value *a, loom_value *b, loom_value **joined) {
    const loom_graph_output *o = &run->stage->outputs[output];
    if (loom_is_collected(o->kind)) return concatenate(a, b, joined);
    if (o->kind == LOOM_OUT_CHAIN) { /* the later state */
        loom_value_unref(a);
        *joined = b;
        return NULL;
    }
    if (run->engine) {
        uint32_t kernel = run->engine->plan->outputs[output].combine;
        if (kernel != LOOM_NO_KERNEL && same_form(a, b)) return combine(run, kernel, a, b, joined);
    }
    if (o->merge == LOOM_NONE_FUNCTION) {
        return loom_error(LOOM_E_INTERNAL, "output %u of %s has nothing to merge by", output,
                          run->stage->label ? run->stage->label : "the stage");
    }
    loom_value *two[2] = {a, b};
    loom_kernel_work before = run->interpreted.work;
    LOOM_TRY(loom_run_call(run, o->merge, two, 2, joined));
    run->interpreted.work = before;
    loom_value_unref(a);
    loom_value_unref(b);
    return NULL;
}

loom_status *loom_run_join(loom_run *run, uint32_t output, loom_value *a, loom_value *b, loom_value **joined) {
    loom_status *status = join_values(run, output, a, b, joined);
    if (status) {
        loom_value_unref(a);
        loom_value_unref(b);
    }
    return status;
}

static loom_status *check_output(const loom_run *run, uint32_t output) {
    if (output < run->stage->n_outputs) return NULL;
    return loom_error(LOOM_E_INTERNAL, "output %u of a stage that has %u", output, run->stage->n_outputs);
}

static void begin(loom_run *run) {
    atomic_store_explicit(&run->executor->cancelled, false, memory_order_relaxed);
}

loom_status *loom_run_merge(loom_run *run, uint32_t output, loom_value *a, loom_value *b, loom_value **merged) {
    begin(run);
    LOOM_TRY(check_output(run, output));
    if (run->engine) LOOM_TRY(loom_run_prepare(run));
    /* The caller keeps its references, so `a` is ours to overwrite if the caller's is the only one. */
    bool reuse = loom_value_is_ours(a) && a != b;
    const loom_graph_output *o = &run->stage->outputs[output];
    uint32_t kernel = run->engine ? run->engine->plan->outputs[output].combine : LOOM_NO_KERNEL;
    if (reuse && kernel != LOOM_NO_KERNEL && !loom_is_collected(o->kind) && same_form(a, b)) {
        LOOM_TRY(combine(run, kernel, a, loom_value_ref(b), merged));
        loom_value_ref(a);
        return NULL;
    }
    return loom_run_join(run, output, loom_value_ref(a), loom_value_ref(b), merged);
}

/* ---- empty ---- */

/* The chunk function on columns without elements gives every output's neutral partial result. */
static loom_status *empty_chunk(loom_run *run, loom_value **outputs) {
    uint32_t n = run->stage->n_streams;
    loom_value **columns = loom_xcalloc((size_t)n + 1, sizeof *columns);
    loom_status *status = NULL;
    for (uint32_t s = 0; s < n && !status; s++) status = loom_run_empty_column(run, s, &columns[s]);
    if (!status) {
        status = run->engine ? loom_run_compiled(run, columns, 0, 0, outputs)
                             : loom_run_interpret_chunk(run, columns, 0, outputs);
    }
    for (uint32_t s = 0; s < n; s++) loom_value_unref(columns[s]);
    free(columns);
    return status;
}

void loom_run_forget_empties(loom_run *run) {
    for (uint32_t j = 0; run->empties && j < run->stage->n_outputs; j++) {
        loom_value_unref(run->empties[j]);
        run->empties[j] = NULL;
    }
}

loom_status *loom_run_empty(loom_run *run, uint32_t output, loom_value **value) {
    begin(run);
    LOOM_TRY(check_output(run, output));
    if (run->engine) LOOM_TRY(loom_run_prepare(run));
    if (run->outputs[output].in_place) return loom_run_new_accumulator(run, output, value);
    /* All outputs come of one evaluation: the others are kept until they are asked for. */
    if (!run->empties) run->empties = loom_xcalloc((size_t)run->stage->n_outputs + 1, sizeof *run->empties);
    if (!run->empties[output]) {
        loom_run_forget_empties(run);
        loom_status *status = empty_chunk(run, run->empties);
        if (status) loom_run_forget_empties(run);
        LOOM_TRY(status);
    }
    *value = run->empties[output];
    run->empties[output] = NULL;
    return NULL;
}
