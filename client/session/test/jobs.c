#include "jobs.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "compiler/ir/core.h"
#include "loom_test.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- jobs ---- */

char *binaries(void) {
    const char *bin = getenv("GRIDLOOM_BIN");
    return loom_xprintf("%s/fake", bin ? bin : ".");
}

/* Any program that passes the scan: the stand-in looks at the entry's name alone. */
static char *program_bytes(size_t *length) {
    loom_arena *arena = loom_arena_create(0);
    loom_program *p = loom_program_create(arena);
    loom_span span = {0};
    loom_body_id body = loom_build_open(p, 0, NULL, span);
    loom_build_close(p, body, loom_build_i64(p, 1, span));
    loom_build_function(p, "main", body, true, NULL);
    char *bytes;
    LOOM_OK(loom_program_encode(p, &bytes, length));
    loom_arena_destroy(arena);
    return bytes;
}

static void on_progress(void *context, const loom_job_progress *p) {
    job *j = context;
    j->progressed++;
    j->last = *p;
    j->last.stage = NULL;
    if (j->n_victims && p->blocks_done > 0 && p->blocks_done < p->blocks_total) {
        kill((pid_t)j->victims[--j->n_victims], SIGKILL);
    }
}

loom_status *on_stream(void *context, loom_value *elements) {
    job *j = context;
    if (j->refuse) return loom_error(LOOM_E_IO, "the sink is full");
    const uint64_t *y = elements->leaves[0].data;
    for (int64_t i = 0; i < elements->leaves[0].n_data; i++) {
        LOOM_CHECK(j->streamed < j->n && y[i] == j->x[j->streamed] + 1);
        j->streamed++;
    }
    return NULL;
}

static loom_value *list_of(const uint64_t *x, int64_t n) {
    loom_value *v;
    LOOM_OK(loom_value_create(1, &v));
    LOOM_OK(loom_leaf_init(&v->leaves[0], "", LOOM_U64, 1, &n, UINT64_MAX));
    if (n) memcpy(v->leaves[0].data, x, (size_t)n * sizeof *x);
    return v;
}

void make_job(job *j, const char *entry, int64_t n, int64_t block, const int64_t *bad, uint64_t what) {
    memset(j, 0, sizeof *j);
    j->n = n;
    j->x = loom_xcalloc((size_t)n + 1, sizeof *j->x);
    uint64_t seed = 88172645463325252u;
    for (int64_t i = 0; i < n; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        j->x[i] = seed >> 20;
    }
    for (; bad && *bad >= 0; bad++) j->x[*bad] = what;
    bool all = strcmp(entry, "stream") != 0 && strcmp(entry, "whole") != 0;
    uint32_t stream = all ? 1 : 0;
    if (all) {
        LOOM_OK(loom_value_create(1, &j->arguments[0]));
        LOOM_OK(loom_leaf_init(&j->arguments[0]->leaves[0], "", LOOM_F64, 0, NULL, 64));
        *(double *)j->arguments[0]->leaves[0].data = 1.5;
    }
    loom_value *v = list_of(j->x, n);
    LOOM_OK(loom_source_value(v, &j->sources[stream]));
    loom_value_unref(v);
    size_t length;
    j->program = program_bytes(&length);
    j->d = (loom_job_description){.name = "test",
                                  .program = j->program,
                                  .program_length = length,
                                  .entry = entry,
                                  .n_params = all ? 2 : 1,
                                  .arguments = j->arguments,
                                  .sources = j->sources,
                                  .block = block,
                                  .progress = on_progress,
                                  .context = j};
}

void free_job(job *j) {
    for (int i = 0; i < 2; i++) {
        loom_value_unref(j->arguments[i]);
        loom_source_destroy(j->sources[i]);
    }
    free(j->program);
    free(j->x);
}

static uint64_t u64_at(const loom_value *v, const char *name) {
    const loom_leaf *leaf = loom_value_find(v, name);
    LOOM_CHECK(leaf);
    return *(uint64_t *)leaf->data;
}

void check_all(const job *j, const loom_job_result *r) {
    uint64_t sum = 0, a = 1, b = 0;
    for (int64_t i = 0; i < j->n; i++) {
        sum += j->x[i];
        a *= 2 * j->x[i] + 1;
        b = (2 * j->x[i] + 1) * b + j->x[i];
    }
    LOOM_CHECK(r->value);
    LOOM_CHECK(u64_at(r->value, "0") == sum);
    LOOM_CHECK(u64_at(r->value, "1.a") == a);
    LOOM_CHECK(u64_at(r->value, "1.b") == b);
    const loom_leaf *list = loom_value_find(r->value, "2");
    LOOM_CHECK_EQ_INT(list->n_data, j->n);
    for (int64_t i = 0; i < j->n; i++) LOOM_CHECK_NEAR(((double *)list->data)[i], (double)j->x[i] * 3, 0);
    LOOM_CHECK_EQ_INT(r->elements, j->n);
    LOOM_CHECK_EQ_INT(r->traversals, 1);
    LOOM_CHECK_EQ_INT(r->blocks_lost, 0);
}

/* ---- sessions ---- */

loom_session *open_session(int workers, const char *delay) {
    setenv("GRIDLOOM_FAKE_DELAY", delay, 1);
    char *bin = binaries();
    loom_session_options options = {.workers = workers, .threads = 1, .memory = 1 << 28, .binaries = bin};
    loom_session *s;
    LOOM_OK(loom_session_open(&options, &s));
    free(bin);
    return s;
}

loom_session *connect_session(const char *endpoint) {
    loom_session_options options = {.connect = endpoint, .no_signals = true};
    loom_session *s;
    LOOM_OK(loom_session_open(&options, &s));
    return s;
}

int64_t a_worker(loom_session *s, size_t index) {
    double until = loom_seconds() + 20;
    while (loom_seconds() < until) {
        loom_daemon_info *info;
        LOOM_OK(loom_session_status(s, &info));
        int64_t pid = info->n_workers > index ? info->workers[index].pid : 0;
        loom_daemon_info_free(info);
        if (pid) return pid;
        usleep(20000);
    }
    LOOM_CHECK(!"a worker registers");
    return 0;
}

void *kill_later(void *argument) {
    killer *k = argument;
    usleep((useconds_t)(k->after * 1e6));
    kill((pid_t)k->pid, k->signal);
    return NULL;
}

int end_process(pid_t pid, int number) {
    kill(pid, number);
    double until = loom_seconds() + (getenv("LOOM_SLOW") ? 10 : 2);
    int how;
    while (waitpid(pid, &how, WNOHANG) == 0) {
        LOOM_CHECK(loom_seconds() < until);
        usleep(2000);
    }
    return how;
}
