#include "control/kept.h"
#include "common/buffer.h"
#include "common/log.h"
#include "proto/value_codec.h"
#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>

/* Elements of one stream. Of a stream no two overlap. */
struct loom_kept {
    struct loom_kept *next; /* the one that came after it */
    const loom_work_job *job;
    uint32_t param;
    int64_t first, count;
    uint64_t bytes;
    loom_value *value;
};

/* Stages stand in the order in which they run, and a loop may come to the same one again. */
static bool is_read_again(const loom_work_run *run, uint32_t param) {
    const loom_graph *graph = run->job->graph;
    for (uint32_t l = 0; l < graph->n_loops; l++) {
        if (graph->loops[l].first <= run->stage && run->stage < graph->loops[l].end) return true;
    }
    for (uint32_t s = run->stage + 1; s < graph->n_stages; s++) {
        for (uint32_t i = 0; i < graph->stages[s].n_streams; i++) {
            if (graph->stages[s].streams[i] == param) return true;
        }
    }
    return false;
}

static bool overlaps(const loom_kept *k, int64_t first, int64_t count) {
    return k->first < first + count && first < k->first + k->count;
}

static bool has_any(const loom_control *c, const loom_work_job *job, uint32_t param, int64_t first, int64_t count) {
    for (const loom_kept *k = c->kept; k; k = k->next) {
        if (k->job == job && k->param == param && overlaps(k, first, count)) return true;
    }
    return false;
}

/* Who serves a stream is not trusted to have sent what was asked for; what it has not is refused when it is used. */
static bool has_all(const loom_value *value, int64_t count) {
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        const loom_leaf *leaf = &value->leaves[i];
        if (leaf->depth == 0 || loom_leaf_length(leaf, 0, 0) != count) return false;
    }
    return true;
}

static void keep(loom_control *c, const loom_work_job *job, uint32_t param, int64_t first, int64_t count,
                 loom_value *value) {
    uint64_t bytes = loom_value_wire_bytes(value);
    if (!has_all(value, count)) return;
    if (bytes > c->memory / LOOM_KEPT_SHARE || c->kept_bytes > c->memory / LOOM_KEPT_SHARE - bytes) return;
    if (has_any(c, job, param, first, count) || !loom_executor_lend(c->executor, bytes)) return;
    c->kept_bytes += bytes;
    loom_kept *k = loom_xmalloc(sizeof *k);
    *k = (loom_kept){.job = job, .param = param, .first = first, .count = count, .bytes = bytes};
    k->value = loom_value_ref(value);
    loom_kept **end = &c->kept;
    while (*end) end = &(*end)->next;
    *end = k;
}

void loom_kept_add(loom_control *c, const loom_work_run *run, int64_t first, int64_t count, loom_value *const *values) {
    for (uint32_t i = 0; i < run->n_streams; i++) {
        uint32_t param = loom_run_param(run, i);
        if (values[i] && is_read_again(run, param)) keep(c, run->job, param, first, count, values[i]);
    }
}

static const loom_kept *find(const loom_control *c, const loom_work_run *run, uint32_t stream, int64_t element) {
    uint32_t param = loom_run_param(run, stream);
    for (const loom_kept *k = c->kept; k; k = k->next) {
        if (k->job == run->job && k->param == param && overlaps(k, element, 1)) return k;
    }
    return NULL;
}

int64_t loom_kept_reach(const loom_control *c, const loom_work_run *run, int64_t first) {
    int64_t reach = INT64_MAX;
    for (uint32_t i = 0; i < run->n_streams; i++) {
        if (!loom_run_is_served(run, i)) continue;
        const loom_kept *k = find(c, run, i, first);
        int64_t its = k ? k->first + k->count - first : 0;
        if (its < reach) reach = its;
    }
    return reach == INT64_MAX ? 0 : reach;
}

void loom_kept_get(const loom_control *c, const loom_work_run *run, int64_t first, int64_t count, loom_value **values,
                   loom_status **status) {
    *status = NULL;
    for (uint32_t i = 0; i < run->n_streams; i++) {
        if (!loom_run_is_served(run, i)) continue;
        const loom_kept *k = find(c, run, i, first);
        *status = loom_value_view(k->value, first - k->first, first - k->first + count, &values[i]);
        if (*status) return;
    }
}

/* ---- giving up ---- */

static loom_kept *take_out(loom_control *c, loom_kept **at) {
    loom_kept *k = *at;
    *at = k->next;
    k->next = NULL;
    c->kept_bytes -= k->bytes;
    return k;
}

/* Outside of the lock: to give back gigabytes takes time. What is still computed on goes when that is done: three
 * pieces at most, as many as are on their way anyhow. */
static void destroy_all(loom_control *c, loom_kept *list) {
    while (list) {
        loom_kept *k = list;
        list = k->next;
        loom_value_unref(k->value);
        loom_executor_return(c->executor, k->bytes);
        free(k);
    }
}

void loom_kept_forget(loom_control *c, const loom_work_job *job) {
    loom_kept *taken = NULL;
    pthread_mutex_lock(&c->lock);
    for (loom_kept **at = &c->kept; *at;) {
        if ((*at)->job != job) {
            at = &(*at)->next;
            continue;
        }
        loom_kept *k = take_out(c, at);
        k->next = taken;
        taken = k;
    }
    pthread_mutex_unlock(&c->lock);
    destroy_all(c, taken);
}

/* Those that came last, so many bytes or more. */
static loom_kept *take_last(loom_control *c, uint64_t bytes) {
    loom_kept **at = &c->kept;
    for (uint64_t stays = c->kept_bytes > bytes ? c->kept_bytes - bytes : 0; *at && (*at)->bytes <= stays;) {
        stays -= (*at)->bytes;
        at = &(*at)->next;
    }
    loom_kept *taken = NULL;
    while (*at) {
        loom_kept *k = take_out(c, at);
        k->next = taken;
        taken = k;
    }
    return taken;
}

void loom_kept_reclaim(void *control, uint64_t bytes) {
    loom_control *c = control;
    pthread_mutex_lock(&c->lock);
    uint64_t before = c->kept_bytes;
    loom_kept *taken = take_last(c, bytes);
    uint64_t given = before - c->kept_bytes;
    pthread_mutex_unlock(&c->lock);
    destroy_all(c, taken);
    /* What has been freed may lie between what is in use. */
    malloc_trim(0);
    loom_log(LOOM_LOG_DEBUG, "%" PRIu64 " bytes of blocks that were kept make way for what needs %" PRIu64, given,
             bytes);
}
