/* bench: how long a program takes, over several runs in one session.
 *
 * The first run compiles the program; in a session of the command's own, its cache of object code is empty before it,
 * and gone afterwards. That run is not measured: workers set up threads, buffers and plans of FFTs in it. */
#include "common/buffer.h"
#include "entry_run.h"
#include <inttypes.h>
#include <stdlib.h>

typedef struct bench {
    cli_entry_run run;
    int64_t runs;
    bool json;
    double *seconds, *compile; /* of each measured run */
    double cold;               /* compiling, in the first run */
    int64_t elements;          /* of streams, in one run */
    uint64_t bytes;            /* read and written by actions, in one run */
} bench;

typedef struct spread {
    double median, least, most;
} spread;

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Sorts them. */
static spread spread_of(double *x, int64_t n) {
    qsort(x, (size_t)n, sizeof *x, by_size);
    double middle = n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
    return (spread){.median = middle, .least = x[0], .most = x[n - 1]};
}

static uint64_t bytes_of(const loom_job_result *job) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < job->n_times; i++) bytes += job->times[i].bytes;
    return bytes;
}

/* Run 0 is the first one. */
static loom_status *run_once(bench *b, loom_session *session, int64_t i) {
    loom_job_result *job = NULL;
    LOOM_TRY(cli_entry_submit(&b->run, session, &job));
    if (i == 0) {
        cli_warn_of_program(&b->run.where, job, "run --remarks");
        b->cold = job->seconds.compile;
    } else {
        b->seconds[i - 1] = job->seconds.total;
        b->compile[i - 1] = job->seconds.compile;
        b->elements = job->elements;
        b->bytes = bytes_of(job);
    }
    loom_job_result_free(job);
    return NULL;
}

static loom_status *run_all(bench *b) {
    loom_session *session;
    LOOM_TRY(cli_open_own_session(&b->run.where, &session));
    loom_status *status = NULL;
    for (int64_t i = 0; i <= b->runs && !status; i++) status = run_once(b, session, i);
    loom_session_close(session);
    return status;
}

static double rate(double amount, double seconds) {
    return seconds > 0 ? amount / seconds : 0;
}

/* Of a running daemon nobody knows what it had compiled before. */
static bool was_cold(const bench *b) {
    return !b->run.where.connect;
}

static void print_json(const bench *b, const spread *s, const spread *c) {
    printf("{\"entry\": \"%s\", \"runs\": %" PRId64 ", \"seconds\": {\"median\": %.6f, \"min\": %.6f, \"max\": %.6f, ",
           b->run.program->program->functions[b->run.function].name, b->runs, s->median, s->least, s->most);
    printf("\"spread\": %.4f},\n \"compile\": {\"first\": %.6f, \"cold\": %s, \"cached\": %.6f},\n",
           rate(s->most - s->least, s->median), b->cold, was_cold(b) ? "true" : "false", c->median);
    printf(" \"elements\": %" PRId64 ", \"bytes\": %" PRIu64
           ", \"elements_per_second\": %.6g, \"bytes_per_second\": %.6g}\n",
           b->elements, b->bytes, rate((double)b->elements, s->median), rate((double)b->bytes, s->median));
}

static void print_text(const bench *b, const spread *s, const spread *c) {
    printf("%" PRId64 " run%s: median %.6f s, min %.6f s, max %.6f s, spread %.1f %%\n", b->runs,
           b->runs == 1 ? "" : "s", s->median, s->least, s->most, 100 * rate(s->most - s->least, s->median));
    printf("compiling: %.6f s %s, %.6f s from the cache\n", b->cold, was_cold(b) ? "cold" : "in the first run",
           c->median);
    if (b->elements) {
        printf("elements of streams: %" PRId64 ", %.4g/s\n", b->elements, rate((double)b->elements, s->median));
    }
    printf("bytes read and written: %" PRIu64 ", %.4g/s\n", b->bytes, rate((double)b->bytes, s->median));
}

static loom_status *measure(bench *b) {
    b->seconds = loom_xcalloc((size_t)b->runs, sizeof *b->seconds);
    b->compile = loom_xcalloc((size_t)b->runs, sizeof *b->compile);
    LOOM_TRY(run_all(b));
    spread s = spread_of(b->seconds, b->runs), c = spread_of(b->compile, b->runs);
    (b->json ? print_json : print_text)(b, &s, &c);
    return NULL;
}

loom_status *cli_bench(const cli_call *call) {
    static const loom_command_text text = {
        "gridloom bench", "PROG.weft... [options]",
        "Runs an entry of a Weft program several times on the same workers and tells the median, least and largest "
        "time from submitting to the result, the time to compile it (cold: nothing of it was in a cache) and when it "
        "comes from the cache, and how many elements of its streams and bytes of arrays go by in a second. A first "
        "run, which compiles, is not measured. Results go nowhere. " CLI_ABOUT_ARGUMENTS,
        "  gridloom bench examples/dotp.weft --stream xs=x.npy --stream ys=y.npy --runs 20 --json"};
    bench b = {.run = CLI_ENTRY_RUN, .runs = 10};
    loom_option options[] = {
        CLI_ENTRY_OPTIONS(b.run),
        CLI_BLOCK_OPTION(b.run),
        {"runs", 0, LOOM_OPT_INT, &b.runs, "N", "Runs that are measured; default 10.", 1, 1e6},
        {"json", 0, LOOM_OPT_FLAG, &b.json, NULL, "Print it as JSON.", 0, 0},
        CLI_SESSION_OPTIONS(b.run.where),
        {"quiet", 0, LOOM_OPT_FLAG, &b.run.where.quiet, NULL, "Show no progress and no warnings.", 0, 0},
        {0}};
    const char **rest;
    int n;
    bool done;
    loom_status *status = cli_options(call, &text, options, &rest, &n, &done);
    if (!status && !done) status = cli_entry_prepare(&b.run, rest, n);
    if (!status && !done) status = measure(&b);
    cli_entry_free(&b.run);
    free(b.seconds);
    free(b.compile);
    return status;
}
