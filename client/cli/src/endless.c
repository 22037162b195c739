#include "endless.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "common/file.h"
#include "compiler/stage/endless.h"
#include "held.h"
#include "shape.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a stretch, about: what comes meanwhile waits in the pipe. Few enough that a slow program gives results soon,
 * enough that a job is worth its overhead. */
#define STRETCH_BYTES ((size_t)16 << 20)
/* How long to wait for input between two looks at whether the run was interrupted. */
#define WAIT_MS 100
/* Groups of one job: each has its accumulators in memory there. Halved where they do not fit. */
#define MOST_GROUPS ((int64_t)1 << 16)

/* A program as jobs take it. */
typedef struct encoded {
    char *bytes;
    size_t length;
} encoded;

typedef struct live {
    const cli_entry_run *r;
    loom_arena *arena;
    loom_session *session;
    uint32_t param;
    loom_endless programs;
    encoded prepare, finish;
    loom_windows windows;
    cli_held *held;
    cli_shape *coming, *picked; /* elements of the stream; those of groups */
    int64_t taken;              /* elements of the stream */
    int64_t out;                /* groups that have come out */
    int64_t most_groups;
    /* Where results go; takes no reference. */
    loom_status *(*deliver)(struct live *live, loom_value *elements);
    loom_job_result *totals;
    loom_value **parts; /* of a run over files */
    size_t n_parts, parts_capacity;
} live;

/* ---- jobs ---- */

static loom_status *two_numbers(int64_t a, int64_t b, loom_value **value) {
    loom_value *made;
    LOOM_TRY(loom_value_create(1, &made));
    loom_status *status = loom_leaf_init(&made->leaves[0], "", LOOM_I64, 1, (int64_t[]){2}, 64);
    if (status) {
        loom_value_unref(made);
        return status;
    }
    memcpy(made->leaves[0].data, (int64_t[]){a, b}, 2 * sizeof a);
    *value = made;
    return NULL;
}

/* One of the two programs over `source`, with at = [a, b]; *value is its result. */
static loom_status *run_job(live *l, const encoded *program, loom_source *source, int64_t a, int64_t b,
                            loom_value **value) {
    const loom_client_binding *binding = l->r->binding;
    uint32_t n = binding->n_params;
    loom_value **arguments = loom_xcalloc((size_t)n + 1, sizeof *arguments);
    loom_source **sources = loom_xcalloc((size_t)n + 1, sizeof *sources);
    for (uint32_t i = 0; i < n; i++) {
        arguments[i] = binding->arguments[i];
        sources[i] = i == l->param ? source : binding->sources[i];
    }
    loom_job_description job = {.name = l->r->program->program->functions[l->r->function].name,
                                .program = program->bytes,
                                .program_length = program->length,
                                .n_params = n + 1,
                                .arguments = arguments,
                                .sources = sources,
                                .block = l->r->block,
                                .force = l->r->forced,
                                .debug = l->r->forced != 0,
                                .count_work = l->r->work,
                                .timeout = l->r->timeout};
    loom_job_result *result = NULL;
    loom_status *status = two_numbers(a, b, &arguments[n]);
    if (!status) status = loom_session_run(l->session, &job, &result);
    if (!status) {
        loom_job_result_add(l->totals, result);
        *value = loom_value_ref(result->value);
    }
    loom_job_result_free(result);
    loom_value_unref(arguments[n]);
    free(arguments);
    free(sources);
    return status;
}

static loom_status *source_of(cli_shape *shape, loom_value *elements, loom_source **source) {
    loom_value *settled;
    LOOM_TRY(cli_shape_settle(shape, elements, &settled));
    loom_status *status = loom_source_value(settled, source);
    loom_value_unref(settled);
    return status;
}

static loom_status *run_groups(live *l, int64_t from, int64_t to, loom_value **value) {
    loom_value *elements;
    LOOM_TRY(cli_held_pick(l->held, from, to, &elements));
    loom_source *source;
    loom_status *status = source_of(l->picked, elements, &source);
    loom_value_unref(elements);
    LOOM_TRY(status);
    status = run_job(l, &l->finish, source, from, to - from, value);
    loom_source_destroy(source);
    return status;
}

/* Groups below `closed` come out. Those that do not fit into a worker's memory together go by fewer. */
static loom_status *close_groups(live *l, int64_t closed) {
    while (l->out < closed) {
        int64_t to = closed - l->out > l->most_groups ? l->out + l->most_groups : closed;
        loom_value *value = NULL;
        loom_status *status = run_groups(l, l->out, to, &value);
        if (loom_status_code(status) == LOOM_E_MEMORY && to - l->out > 1) {
            loom_status_free(status);
            l->most_groups = (to - l->out) / 2;
            continue;
        }
        if (status)
            return loom_status_note(status, "in groups %" PRId64 " to %" PRId64 " of group_seq forever", l->out,
                                    to - 1);
        status = l->deliver(l, value);
        loom_value_unref(value);
        LOOM_TRY(status);
        l->out = to;
    }
    return cli_held_drop(l->held, l->out);
}

/* A stretch with an element that is an error is not taken. */
static loom_status *hold_stretch(live *l, loom_value *value) {
    loom_windows before = l->windows;
    loom_status *status = cli_held_add(l->held, value, &l->windows);
    if (status) l->windows = before;
    return status;
}

/* The next stretch of the sequence. */
static loom_status *take_stretch(live *l, loom_source *source) {
    loom_value *value = NULL;
    loom_status *status = run_job(l, &l->prepare, source, l->taken, 0, &value);
    if (status && l->taken)
        return loom_status_note(status, "counted from element %" PRId64 " of the stream on", l->taken);
    if (status) return status;
    status = l->programs.finish ? hold_stretch(l, value) : l->deliver(l, value);
    loom_value_unref(value);
    LOOM_TRY(status);
    l->taken += source->n_elements;
    if (l->programs.finish) return close_groups(l, loom_windows_closed(&l->windows));
    l->windows.counts.received = l->windows.counts.used = l->taken;
    return NULL;
}

/* ---- life ---- */

static loom_status *split(const cli_entry_run *r, uint32_t param, loom_arena *arena, loom_endless *programs) {
    return loom_endless_split(arena, r->program->program, r->function, param, programs);
}

static loom_status *begin(live *l) {
    l->totals = loom_xcalloc(1, sizeof *l->totals);
    l->windows = loom_windows_begin(l->programs.lag);
    l->held = cli_held_create();
    l->coming = cli_shape_create();
    l->picked = cli_shape_create();
    l->most_groups = MOST_GROUPS;
    LOOM_TRY(loom_program_encode(l->programs.prepare, &l->prepare.bytes, &l->prepare.length));
    if (l->programs.finish) LOOM_TRY(loom_program_encode(l->programs.finish, &l->finish.bytes, &l->finish.length));
    return cli_open_session(&l->r->where, &l->session);
}

static void end(live *l) {
    loom_session_close(l->session);
    cli_held_free(l->held);
    cli_shape_free(l->coming);
    cli_shape_free(l->picked);
    for (size_t i = 0; i < l->n_parts; i++) loom_value_unref(l->parts[i]);
    free(l->parts);
    free(l->prepare.bytes);
    free(l->finish.bytes);
    loom_job_result_free(l->totals);
    loom_arena_destroy(l->arena);
}

void cli_endless_account(const loom_window_counts *c) {
    fprintf(stderr, "elements: %" PRId64 " received = %" PRId64 " used + %" PRId64 " late + %" PRId64 " in no group",
            c->received, c->used, c->late, c->outside);
    if (c->partly) fprintf(stderr, "; %" PRId64 " of those used were late for others of their groups", c->partly);
    fputc('\n', stderr);
}

static void account(const live *l) {
    if (l->r->where.quiet) return;
    cli_endless_account(&l->windows.counts);
    int64_t open = cli_held_open(l->held, l->out);
    if (open)
        fprintf(stderr, "%" PRId64 " of the elements used were in groups that had not come out when the run ended\n",
                open);
}

static loom_status *write_numbers(const live *l) {
    cli_work work = {0};
    cli_add_work(&work, l->totals);
    loom_file_set *files = loom_file_set_create();
    loom_status *status = cli_hold_stats(&l->r->where, l->totals, &l->windows.counts, files);
    if (!status) status = cli_hold_work(l->r->work, &work, l->totals, files);
    if (!status) status = loom_file_set_commit(files);
    loom_file_set_destroy(files);
    return status;
}

/* However a run ends, an interrupt being the usual way, what became of the elements is told. Takes how it ended. */
static loom_status *tell(const live *l, loom_status *ended) {
    account(l);
    cli_entry_remarks(l->r, l->totals);
    loom_status *status = write_numbers(l);
    if (!ended) return status;
    loom_status_free(status);
    return ended;
}

/* ---- standard input ---- */

static loom_status *deliver_at_once(live *l, loom_value *elements) {
    if (l->r->frames_out) {
        LOOM_TRY(loom_frames_write(elements, stdout));
    } else {
        loom_client_print_elements(elements, stdout);
    }
    return loom_stream_flush(stdout, "standard output");
}

/* A stretch is gathered for as long as the one before was worked on, so that none is behind for longer than twice that.
 */
static loom_status *take_input(live *l) {
    double worked = 0;
    for (bool last = false; !last;) {
        loom_value *elements;
        if (loom_session_interrupted(l->session)) return loom_error(LOOM_E_CANCELLED, "interrupted");
        LOOM_TRY(loom_frames_read(l->r->binding->frames, WAIT_MS, worked, STRETCH_BYTES, &elements, &last));
        if (!elements) continue;
        double before = loom_seconds();
        loom_source *source;
        loom_status *status = source_of(l->coming, elements, &source);
        loom_value_unref(elements);
        LOOM_TRY(status);
        status = take_stretch(l, source);
        loom_source_destroy(source);
        LOOM_TRY(status);
        worked = loom_seconds() - before;
    }
    return l->programs.finish ? close_groups(l, loom_windows_total(&l->windows)) : NULL;
}

static loom_status *check_outputs(const cli_entry_run *r) {
    if (!r->outputs.count || r->frames_out) return NULL;
    return loom_status_note(loom_error(LOOM_E_USAGE,
                                       "-o %s: the result of an endless stream has no end, and a file would",
                                       r->outputs.at[0]),
                            "hint: without -o elements print, one on a line; -o - writes them as raw frames");
}

loom_status *cli_endless_check(const cli_entry_run *r) {
    loom_arena *arena = loom_arena_create(0);
    loom_endless programs;
    loom_status *status = split(r, r->binding->endless, arena, &programs);
    loom_arena_destroy(arena);
    return status;
}

loom_status *cli_endless_run(const cli_entry_run *r) {
    LOOM_TRY(check_outputs(r));
    live l = {.r = r, .arena = loom_arena_create(0), .param = r->binding->endless, .deliver = deliver_at_once};
    loom_status *status = split(r, l.param, l.arena, &l.programs);
    if (!status) status = begin(&l);
    if (!status) status = tell(&l, take_input(&l));
    end(&l);
    return status;
}

/* ---- files ---- */

static loom_status *keep_part(live *l, loom_value *elements) {
    if (l->n_parts == l->parts_capacity) {
        l->parts_capacity = l->parts_capacity ? 2 * l->parts_capacity : 16;
        l->parts = loom_xrealloc(l->parts, l->parts_capacity * sizeof *l->parts);
    }
    l->parts[l->n_parts++] = loom_value_ref(elements);
    return NULL;
}

static loom_status *stretch_elements(loom_source *whole, int64_t *n) {
    double bytes;
    LOOM_TRY(loom_source_element_bytes(whole, &bytes));
    int64_t fit = (int64_t)((double)STRETCH_BYTES / (bytes > 1 ? bytes : 1));
    *n = fit > 1 ? fit : 1;
    return NULL;
}

static loom_status *take_file(live *l) {
    loom_source *whole = l->r->binding->sources[l->param];
    int64_t each;
    LOOM_TRY(stretch_elements(whole, &each));
    do { /* once for a stream without elements too: it tells their shape */
        int64_t left = whole->n_elements - l->taken;
        loom_source *part;
        LOOM_TRY(loom_source_part(whole, l->taken, left < each ? left : each, &part));
        loom_status *status = take_stretch(l, part);
        loom_source_destroy(part);
        LOOM_TRY(status);
    } while (l->taken < whole->n_elements);
    LOOM_TRY(close_groups(l, loom_windows_total(&l->windows)));
    if (l->n_parts) return NULL;
    loom_value *value;
    LOOM_TRY(run_groups(l, 0, 0, &value));
    loom_status *status = keep_part(l, value);
    loom_value_unref(value);
    return status;
}

static loom_status *run_files(live *l, loom_job_result **result) {
    LOOM_TRY(begin(l));
    loom_status *status = take_file(l);
    if (!status) status = loom_value_concat(l->parts, l->n_parts, &l->totals->value);
    if (status) return tell(l, status);
    account(l);
    *result = l->totals;
    l->totals = NULL;
    return NULL;
}

bool cli_endless_goes_on(const loom_program *p) {
    for (uint32_t i = 0; i < p->n_nodes; i++)
        if (loom_group_is_forever(&p->nodes[i])) return true;
    return false;
}

loom_status *cli_endless_run_files(const cli_entry_run *r, bool *done, loom_job_result **result,
                                   loom_window_counts *counts) {
    *done = false;
    for (uint32_t i = 0; i < r->binding->n_params && !*done && cli_endless_goes_on(r->program->program); i++) {
        if (!r->binding->sources[i]) continue;
        live l = {.r = r, .arena = loom_arena_create(0), .param = i, .deliver = keep_part};
        loom_status *status = split(r, i, l.arena, &l.programs);
        *done = !status && l.programs.finish;
        if (*done) {
            status = run_files(&l, result);
            *counts = l.windows.counts;
        } else {
            loom_status_free(status); /* run as a whole */
            status = NULL;
        }
        end(&l);
        LOOM_TRY(status);
    }
    return NULL;
}
