/* Stands in for the executor behind the worker's control loop: the stages of fake.h, in plain loops. */
#include "common/buffer.h"
#include "fake.h"
#include "worker/executor.h"
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct loom_executor {
    atomic_bool cancelled;
    long delay;
};

typedef struct piece {
    int64_t first, n;
    uint64_t a, b;
    loom_value *collected;
} piece;

struct loom_run {
    loom_executor *executor;
    const loom_graph_stage *stage;
    double scale;
    loom_value *inputs[3];
    uint64_t sum;
    int64_t blocks, first_block;
    piece *pieces; /* in order of blocks */
    size_t n_pieces;
    loom_run_time time;
};

loom_status *loom_executor_create(const loom_executor_options *options, loom_executor **executor) {
    (void)options;
    loom_executor *e = loom_xcalloc(1, sizeof *e);
    const char *delay = getenv("GRIDLOOM_FAKE_DELAY");
    e->delay = delay ? atol(delay) : 0;
    *executor = e;
    return NULL;
}

void loom_executor_destroy(loom_executor *executor) {
    free(executor);
}

uint64_t loom_executor_used(const loom_executor *executor) {
    (void)executor;
    return 0;
}

bool loom_executor_lend(loom_executor *executor, uint64_t bytes) {
    (void)executor;
    (void)bytes;
    return true;
}

void loom_executor_return(loom_executor *executor, uint64_t bytes) {
    (void)executor;
    (void)bytes;
}

void loom_executor_cancel(loom_executor *executor) {
    atomic_store(&executor->cancelled, true);
}

const char *loom_worker_target(void) {
    return "none;fake;";
}

loom_status *loom_run_create(loom_executor *executor, const loom_run_description *d, loom_run **run) {
    loom_run *r = loom_xcalloc(1, sizeof *r);
    r->executor = executor;
    r->stage = &d->graph->stages[d->stage];
    r->first_block = INT64_MAX;
    r->time.label = loom_xstrdup(r->stage->label);
    for (uint32_t i = 0; i < r->stage->n_inputs; i++) r->inputs[i] = loom_value_ref(d->inputs[i]);
    if (r->stage->n_inputs) r->scale = *(double *)r->inputs[0]->leaves[0].data;
    *run = r;
    return NULL;
}

static void clear(loom_run *r) {
    for (size_t i = 0; i < r->n_pieces; i++) loom_value_unref(r->pieces[i].collected);
    free(r->pieces);
    r->pieces = NULL;
    r->n_pieces = 0;
    r->sum = 0;
    r->blocks = 0;
    r->first_block = INT64_MAX;
}

void loom_run_destroy(loom_run *r) {
    if (!r) return;
    clear(r);
    for (int i = 0; i < 3; i++) loom_value_unref(r->inputs[i]);
    free((char *)r->time.label);
    free(r);
}

static loom_value *scalar(loom_dtype dtype, const char *name, uint64_t value) {
    loom_value *v;
    if (loom_value_create(1, &v) || loom_leaf_init(&v->leaves[0], name, dtype, 0, NULL, 64)) abort();
    memcpy(v->leaves[0].data, &value, sizeof value);
    return v;
}

static loom_value *pair(uint64_t a, uint64_t b) {
    loom_value *v;
    if (loom_value_create(2, &v) || loom_leaf_init(&v->leaves[0], "a", LOOM_U64, 0, NULL, 64) ||
        loom_leaf_init(&v->leaves[1], "b", LOOM_U64, 0, NULL, 64)) {
        abort();
    }
    *(uint64_t *)v->leaves[0].data = a;
    *(uint64_t *)v->leaves[1].data = b;
    return v;
}

static loom_value *list(loom_dtype dtype, int64_t n) {
    loom_value *v;
    if (loom_value_create(1, &v) || loom_leaf_init(&v->leaves[0], "", dtype, 1, &n, UINT64_MAX)) abort();
    return v;
}

static loom_status *rest(loom_run *r, int64_t blocks) {
    for (int64_t i = 0; i < blocks * r->executor->delay; i += 1000) {
        usleep((useconds_t)(r->executor->delay < 1000 ? r->executor->delay : 1000));
        if (atomic_load(&r->executor->cancelled)) return loom_error(LOOM_E_CANCELLED, "cancelled");
    }
    return NULL;
}

loom_status *loom_run_fold(loom_run *r, loom_value *const *streams, int64_t block, int64_t n_blocks, int64_t first) {
    atomic_store(&r->executor->cancelled, false);
    const loom_leaf *leaf = &streams[0]->leaves[0];
    const uint64_t *x = leaf->data;
    int64_t n = leaf->n_data;
    LOOM_TRY(rest(r, n_blocks));
    for (int64_t i = 0; i < n; i++) {
        if (x[i] == FAKE_DEADLY) raise(SIGKILL);
        if (x[i] == FAKE_DAMAGED) _exit(loom_code_exit(LOOM_E_DATA));
        if (x[i] == FAKE_BAD) return loom_error(LOOM_E_RUNTIME, "element %" PRId64 " is bad", first + i);
    }
    bool streams_out = r->stage->outputs[0].kind == LOOM_OUT_STREAM;
    piece p = {block, n_blocks, 1, 0, list(streams_out ? LOOM_U64 : LOOM_F64, n)};
    for (int64_t i = 0; i < n; i++) {
        r->sum += x[i];
        p.a *= 2 * x[i] + 1;
        p.b = (2 * x[i] + 1) * p.b + x[i];
        if (streams_out) {
            ((uint64_t *)p.collected->leaves[0].data)[i] = x[i] + 1;
        } else {
            ((double *)p.collected->leaves[0].data)[i] = (double)x[i] * r->scale;
        }
    }
    r->pieces = loom_xrealloc(r->pieces, (r->n_pieces + 1) * sizeof *r->pieces);
    size_t at = r->n_pieces++;
    for (; at > 0 && r->pieces[at - 1].first > block; at--) r->pieces[at] = r->pieces[at - 1];
    r->pieces[at] = p;
    r->blocks += n_blocks;
    if (block < r->first_block) r->first_block = block;
    r->time.calls++;
    return NULL;
}

loom_status *loom_run_begin(loom_run *r, int64_t block, loom_value *const *states) {
    (void)r, (void)block, (void)states;
    return NULL;
}

bool loom_run_is_spoilt(const loom_run *r) {
    (void)r; /* a block here is inside or not */
    return false;
}

loom_status *loom_run_move_inputs(loom_run *r, loom_value *const *inputs) {
    for (size_t i = 0; inputs && i < r->stage->n_inputs && i < sizeof r->inputs / sizeof *r->inputs; i++) {
        loom_value_unref(r->inputs[i]);
        r->inputs[i] = loom_value_ref(inputs[i]);
    }
    return NULL;
}

void loom_run_drop(loom_run *r) {
    clear(r);
}

static void join(piece *a, piece *b) {
    loom_value *parts[] = {a->collected, b->collected}, *joined;
    if (loom_value_concat(parts, 2, &joined)) abort();
    loom_value_unref(a->collected);
    loom_value_unref(b->collected);
    *a = (piece){a->first, a->n + b->n, a->a * b->a, b->a * a->b + b->b, joined};
}

loom_status *loom_run_take_delta(loom_run *r, loom_delta **delta) {
    size_t n = 0;
    for (size_t i = 0; i < r->n_pieces; i++) {
        if (n && r->pieces[n - 1].first + r->pieces[n - 1].n == r->pieces[i].first) {
            join(&r->pieces[n - 1], &r->pieces[i]);
        } else {
            r->pieces[n++] = r->pieces[i];
        }
    }
    r->n_pieces = n;
    loom_delta *d = loom_xcalloc(1, sizeof *d);
    d->n_outputs = r->stage->n_outputs;
    d->n_parts = n;
    d->parts = loom_xcalloc(n + 1, sizeof *d->parts);
    for (size_t i = 0; i < n; i++) {
        piece *p = &r->pieces[i];
        d->parts[i] = (loom_delta_part){p->first, p->n, loom_xcalloc(3, sizeof(loom_value *))};
        if (d->n_outputs == 1) {
            d->parts[i].outputs[0] = loom_value_ref(p->collected);
            continue;
        }
        if (i == 0) d->parts[i].outputs[0] = scalar(LOOM_U64, "", r->sum);
        d->parts[i].outputs[1] = pair(p->a, p->b);
        d->parts[i].outputs[2] = loom_value_ref(p->collected);
    }
    clear(r);
    *delta = d;
    return NULL;
}

void loom_delta_destroy(loom_delta *delta) {
    if (!delta) return;
    for (size_t i = 0; i < delta->n_parts; i++) {
        for (uint32_t k = 0; k < delta->n_outputs; k++) loom_value_unref(delta->parts[i].outputs[k]);
        free(delta->parts[i].outputs);
    }
    free(delta->parts);
    free(delta);
}

uint64_t loom_run_collected_bytes(const loom_run *run) {
    return (uint64_t)run->blocks;
}

static uint64_t u64_of(const loom_value *v, uint32_t leaf) {
    return *(uint64_t *)v->leaves[leaf].data;
}

loom_status *loom_run_merge(loom_run *r, uint32_t output, loom_value *a, loom_value *b, loom_value **merged) {
    (void)r;
    if (output == 0) *merged = scalar(LOOM_U64, "", u64_of(a, 0) + u64_of(b, 0));
    if (output == 1) *merged = pair(u64_of(a, 0) * u64_of(b, 0), u64_of(b, 0) * u64_of(a, 1) + u64_of(b, 1));
    if (output < 2) return NULL;
    loom_value *parts[] = {a, b};
    return loom_value_concat(parts, 2, merged);
}

loom_status *loom_run_empty(loom_run *r, uint32_t output, loom_value **value) {
    if (r->stage->n_outputs == 1) {
        *value = list(LOOM_U64, 0);
    } else if (output == 0) {
        *value = scalar(LOOM_U64, "", 0);
    } else {
        *value = output == 1 ? pair(1, 0) : list(LOOM_F64, 0);
    }
    return NULL;
}

static loom_status *pull_all(loom_run *r, loom_pull pull, void *context, loom_value **outputs) {
    uint64_t sum = 0;
    bool end = false;
    for (int64_t block = 0; !end; block++) {
        loom_value *stream = NULL;
        LOOM_TRY(pull(context, block, &stream, &end));
        if (end) break;
        for (int64_t i = 0; i < stream->leaves[0].n_data; i++) sum += ((uint64_t *)stream->leaves[0].data)[i];
        loom_value_unref(stream);
        LOOM_TRY(rest(r, 1));
    }
    outputs[0] = scalar(LOOM_U64, "", sum);
    return NULL;
}

loom_status *loom_run_array(loom_run *r, loom_pull pull, void *context, loom_value **outputs) {
    if (r->stage->kind == LOOM_STAGE_WHOLE) return pull_all(r, pull, context, outputs);
    if (r->stage->n_inputs == 1) {
        double doubled = 2 * r->scale;
        outputs[0] = scalar(LOOM_F64, "", 0);
        *(double *)outputs[0]->leaves[0].data = doubled;
        return NULL;
    }
    loom_value *v;
    int64_t n = r->inputs[2]->leaves[0].n_data;
    LOOM_TRY(loom_value_create(4, &v));
    static const char *const names[] = {"0", "1.a", "1.b"};
    uint64_t numbers[] = {u64_of(r->inputs[0], 0), u64_of(r->inputs[1], 0), u64_of(r->inputs[1], 1)};
    for (int i = 0; i < 3; i++) {
        LOOM_TRY(loom_leaf_init(&v->leaves[i], names[i], LOOM_U64, 0, NULL, 64));
        *(uint64_t *)v->leaves[i].data = numbers[i];
    }
    LOOM_TRY(loom_leaf_init(&v->leaves[3], "2", LOOM_F64, 1, &n, UINT64_MAX));
    if (n) memcpy(v->leaves[3].data, r->inputs[2]->leaves[0].data, (size_t)n * sizeof(double));
    outputs[0] = v;
    return NULL;
}

size_t loom_run_times(const loom_run *run, const loom_run_time **times) {
    *times = &run->time;
    return 1;
}

uint64_t loom_run_peak(const loom_run *run) {
    (void)run;
    return 0;
}

loom_status *loom_spill_read(const loom_value *spilled, int64_t from, int64_t count, const uint32_t *slots,
                             uint32_t n_streams, loom_value **streams) {
    (void)spilled, (void)from, (void)count, (void)slots, (void)n_streams, (void)streams;
    return loom_error(LOOM_E_INTERNAL, "nothing is spilled here");
}

/* What is told is of the last run alone: the tests have one class of segments. */
void loom_run_take_content(loom_run *run, loom_run *from) {
    (void)run, (void)from;
}
