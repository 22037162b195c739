/* run and eval: the same command line, on workers or here. */
#include "cli.h"
#include "client/binding.h"
#include "client/output.h"
#include "common/buffer.h"
#include "common/file.h"
#include "common/machine.h"
#include "compiler/analysis/claims.h"
#include "compiler/interp/interp.h"
#include "compiler/stage/stage.h"
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

typedef struct run {
    const char *entry;
    loom_client_given given;
    loom_option_list outputs;
    int64_t block;
    cli_where where;
    bool remarks;
    const char *claims;
    double timeout;
    loom_client_program *program;
    uint32_t function;
    loom_client_outputs *out;
    loom_client_binding *binding;
} run;

#define PROGRAM_OPTIONS(r)                                                                                             \
    {"entry", 0, LOOM_OPT_TEXT, &(r).entry, "NAME", "The entry to run; default main, or the only one.", 0, 0},         \
        {"timeout",    0,         LOOM_OPT_REAL,                                                                       \
         &(r).timeout, "SECONDS", "What takes longer is given up, and is an error; default: it may take for ever.",    \
         0.001,        1e9},                                                                                           \
        {"arg",                                                                                                        \
         0,                                                                                                            \
         LOOM_OPT_LIST,                                                                                                \
         &(r).given.arguments,                                                                                         \
         "NAME[.field]=VALUE|FILE.npy",                                                                                \
         "A parameter, or one field of it: a scalar, or an array from a file.",                                        \
         0,                                                                                                            \
         0},                                                                                                           \
        {"stream",                                                                                                     \
         0,                                                                                                            \
         LOOM_OPT_LIST,                                                                                                \
         &(r).given.streams,                                                                                           \
         "NAME[.field]=FILE.npy[,LENGTHS.npy]",                                                                        \
         "A column of a stream, over the first axis of the file; with a file of lengths its elements are arrays of "   \
         "different lengths.",                                                                                         \
         0,                                                                                                            \
         0},                                                                                                           \
        {"const",                                                                                                      \
         0,                                                                                                            \
         LOOM_OPT_LIST,                                                                                                \
         &(r).given.constants,                                                                                         \
         "NAME.field=FILE.npy",                                                                                        \
         "A field of a stream that is the same in all of its elements.",                                               \
         0,                                                                                                            \
         0},                                                                                                           \
        {"output",                                                                                                     \
         'o',                                                                                                          \
         LOOM_OPT_LIST,                                                                                                \
         &(r).outputs,                                                                                                 \
         "[PART=]FILE.npy",                                                                                            \
         "Where the result goes, or one part of it; lengths of irregular ones go to FILE.lengths.npy.",                \
         0,                                                                                                            \
         0}

#define ABOUT_ARGUMENTS                                                                                                \
    "Every parameter must be given. Scalars of the result print; arrays go to files.\n\nComplex numbers are written "  \
    "1+2i. Fields of records and tuples are named NAME.field and NAME.0."

static void free_run(run *r) {
    loom_client_outputs_free(r->out);
    loom_client_binding_free(r->binding);
    loom_client_program_free(r->program);
    free(r->given.arguments.at);
    free(r->given.streams.at);
    free(r->given.constants.at);
    free(r->outputs.at);
}

static loom_status *prepare(run *r, const char **paths, int n) {
    LOOM_TRY(cli_load(paths, n, &r->program));
    LOOM_TRY(loom_client_entry(r->program, r->entry, &r->function));
    LOOM_TRY(loom_client_outputs_create(r->program->program, r->function, &r->outputs, &r->out));
    LOOM_TRY(loom_client_bind(r->program->program, r->function, &r->given, &r->binding));
    loom_paths *files = r->binding->files;
    for (int i = 0; i < n; i++) loom_paths_read(files, paths[i]);
    loom_client_outputs_list(r->out, files);
    loom_paths_write(files, r->where.stats);
    loom_paths_write(files, r->claims);
    return cli_check_paths(files);
}

/* The node that visits streams together, where there is only one. */
static const loom_node *only_zip(const loom_program *p) {
    const loom_node *found = NULL;
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        if (p->nodes[i].op != LOOM_OP_SEQ_MAP || p->nodes[i].n_operands < 2) continue;
        if (found) return NULL;
        found = &p->nodes[i];
    }
    return found;
}

/* The daemon compares lengths before anything runs, and does not know where the program asks for it. */
static loom_status *with_place(const loom_program *p, loom_status *status) {
    const loom_node *n = loom_status_span(status).line == 0 ? only_zip(p) : NULL;
    if (!n || n->span.line == 0 || n->span.file >= p->n_files) return status;
    loom_status *placed = loom_error_at(loom_status_code(status), p->files[n->span.file].name, n->span, "%s",
                                        loom_status_message(status));
    for (size_t i = 0; i < loom_status_notes(status); i++)
        loom_status_note(placed, "%s", loom_status_note_at(status, i));
    loom_status_free(status);
    return placed;
}

/* What fails for streams of unequal length knows them by number, or as arrays: here they have names. */
static loom_status *with_lengths(const run *r, loom_status *status) {
    if (!status || (loom_status_code(status) != LOOM_E_DATA && loom_status_code(status) != LOOM_E_RUNTIME))
        return status;
    loom_buffer text = {0};
    int64_t first = -1;
    bool differ = false;
    for (uint32_t i = 0; i < r->binding->n_params; i++) {
        const loom_source *s = r->binding->sources[i];
        if (!s) continue;
        loom_buffer_printf(&text, "%s%s has %" PRId64, text.length ? ", " : "",
                           loom_client_param_name(r->program->program, r->function, i), s->n_elements);
        differ = differ || (first >= 0 && first != s->n_elements);
        first = s->n_elements;
    }
    if (differ && strstr(loom_status_message(status), "unequal lengths"))
        status = with_place(r->program->program, status);
    if (differ) loom_status_note(status, "elements of the streams: %s", text.data);
    loom_buffer_free(&text);
    return status;
}

/* ---- eval ---- */

static void print_claims(const loom_program *p, const loom_claims *claims, loom_buffer *to) {
    loom_buffer_printf(to, "{\"values\": %" PRIu64 ", \"broken\": [", claims->values);
    for (uint32_t i = 0; i < claims->n_broken; i++) {
        const loom_claim_broken *b = &claims->broken[i];
        loom_buffer_printf(to, "%s{\"node\": %" PRIu32 ", \"line\": %" PRIu32 ", \"claim\": \"%s\"}", i ? ", " : "",
                           b->node, p->nodes[b->node].span.line, b->claim);
    }
    loom_buffer_text(to, "], \"irregular\": [");
    for (uint32_t i = 0; i < claims->n_irregular; i++) {
        loom_buffer_printf(to, "%s{\"node\": %" PRIu32 ", \"line\": %" PRIu32 ", \"regular\": %s}", i ? ", " : "",
                           claims->irregular[i], p->nodes[claims->irregular[i]].span.line,
                           claims->were_regular[i] ? "true" : "false");
    }
    loom_buffer_text(to, "]}\n");
}

/* Evaluates the program without calls, and holds shape analysis against what happens; that is written also where the
 * evaluation fails. */
static loom_status *check_claims(const run *r, loom_value **result) {
    loom_arena *arena = loom_arena_create(0);
    loom_program *p;
    loom_claims claims = {0};
    loom_status *status = loom_simplify_one(arena, r->program->program, r->function, &p);
    if (!status) {
        loom_buffer text = {0};
        status = loom_claims_check(arena, p, 0, r->binding->arguments, result, &claims);
        print_claims(p, &claims, &text);
        loom_status *written = loom_file_write(r->claims, text.data, text.length, false);
        loom_buffer_free(&text);
        if (status)
            loom_status_free(written);
        else
            status = written;
    }
    loom_arena_destroy(arena);
    return status;
}

/* All outputs or none: files, what is printed, and statistics of the job, if it was one. */
static loom_status *deliver(const run *r, const loom_value *result, const loom_job_result *job) {
    loom_file_set *files = loom_file_set_create();
    cli_hold_signals(true);
    loom_status *status = loom_client_outputs_hold(r->out, result, stdout, files);
    if (!status && job) status = cli_hold_stats(&r->where, job, files);
    if (!status) status = cli_commit(files);
    loom_file_set_destroy(files);
    cli_hold_signals(false);
    return status;
}

/* The time of an evaluation is over. */
static atomic_bool late;

static void on_alarm(int number) {
    (void)number;
    atomic_store(&late, true);
}

static void set_alarm(double seconds) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    struct itimerval timer = {.it_value = {(time_t)seconds, (suseconds_t)((seconds - floor(seconds)) * 1e6)}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static loom_status *interpret(const run *r, loom_value **result) {
    loom_interp_options options = {.memory_limit = loom_machine_worker_memory(1)};
    if (r->timeout > 0) {
        options.cancel = &late;
        set_alarm(r->timeout);
    }
    loom_status *status =
        loom_interp_call(r->program->program, r->function, r->binding->arguments, &options, result, NULL);
    if (r->timeout > 0) set_alarm(0);
    if (loom_status_code(status) != LOOM_E_CANCELLED) return status;
    loom_status_free(status);
    return loom_error(LOOM_E_LIMIT, "took more than %g s", r->timeout);
}

/* Errors carry the place in the text but know files by number only. */
static loom_status *evaluate(const run *r) {
    const loom_program *p = r->program->program;
    loom_client_binding *b = r->binding;
    loom_status *status = NULL;
    for (uint32_t i = 0; i < b->n_params && !status; i++) {
        if (b->arguments[i]) continue;
        status = loom_client_collect(p, loom_client_param_type(p, r->function, i), b->sources[i], &b->arguments[i]);
    }
    loom_value *result = NULL;
    if (!status) status = r->claims ? check_claims(r, &result) : interpret(r, &result);
    status = with_lengths(r, status);
    if (!status) status = deliver(r, result, NULL);
    loom_value_unref(result);
    return status;
}

loom_status *cli_eval(const cli_call *call) {
    static const loom_command_text text = {
        "gridloom eval", "PROG.weft... [options]",
        "Evaluates an entry of a Weft program here, with the interpreter: slow, simple, and the judge of what the "
        "compiler makes. " ABOUT_ARGUMENTS,
        "  gridloom eval examples/dotp.weft --stream xs=x.npy --stream ys=y.npy"};
    run r = {0};
    loom_option options[] = {
        PROGRAM_OPTIONS(r),
        {"claims", 0, LOOM_OPT_TEXT, &r.claims, "FILE",
         "Write there, as JSON, what shape analysis claims of values and does not hold here, and what is "
         "called irregular and is not.",
         0, 0},
        {0}};
    const char **rest;
    int n;
    bool done;
    loom_status *status = cli_options(call, &text, options, &rest, &n, &done);
    if (!status && !done && r.claims && r.timeout > 0) {
        status =
            loom_error(LOOM_E_USAGE, "--claims looks at every value, however long that takes: no --timeout with it");
    }
    if (!status && !done) status = prepare(&r, rest, n);
    if (!status && !done) status = evaluate(&r);
    free_run(&r);
    return status;
}

/* ---- run ---- */

static loom_status *submit(const run *r, loom_session *session, loom_job_result **result) {
    char *bytes;
    size_t length;
    LOOM_TRY(loom_program_encode(r->program->program, &bytes, &length));
    cli_progress progress = cli_progress_start(r->where.quiet, "elements");
    if (!r->where.quiet) progress.daemon = r->where.connect;
    loom_job_description job = {.program = bytes,
                                .program_length = length,
                                .entry = r->program->program->functions[r->function].name,
                                .n_params = r->binding->n_params,
                                .arguments = r->binding->arguments,
                                .sources = r->binding->sources,
                                .block = r->block,
                                .timeout = r->timeout,
                                .progress = cli_progress_update,
                                .context = &progress};
    loom_status *status = loom_session_run(session, &job, result);
    cli_progress_end(&progress);
    free(bytes);
    return status;
}

static void print_remarks(const loom_job_result *result) {
    for (size_t i = 0; i < result->n_remarks; i++) fprintf(stderr, "remark: %s\n", result->remarks[i]);
}

static loom_status *run_on_workers(const run *r) {
    loom_session *session;
    LOOM_TRY(cli_open_session(&r->where, &session));
    loom_job_result *result = NULL;
    loom_status *status = with_lengths(r, submit(r, session, &result));
    loom_session_close(session);
    if (!status) {
        r->remarks ? print_remarks(result) : cli_warn(&r->where, result);
        status = deliver(r, result->value, result);
    }
    loom_job_result_free(result);
    return status;
}

loom_status *cli_run(const cli_call *call) {
    static const loom_command_text text = {
        "gridloom run", "PROG.weft... [options]",
        "Runs an entry of a Weft program on workers: compiled, by blocks of its streams. " ABOUT_ARGUMENTS,
        "  gridloom run examples/dotp.weft --stream xs=x.npy --stream ys=y.npy --threads 2"};
    run r = {0};
    loom_option options[] = {
        PROGRAM_OPTIONS(r),
        {"block", 0, LOOM_OPT_INT, &r.block, "N", "Elements of the streams in a block; default: by their size.", 1,
         1e15},
        {"remarks", 0, LOOM_OPT_FLAG, &r.remarks, NULL, "Print what the compiler did not vectorise, and why.", 0, 0},
        CLI_WHERE_OPTIONS(r.where),
        {0}};
    const char **rest;
    int n;
    bool done;
    loom_status *status = cli_options(call, &text, options, &rest, &n, &done);
    if (!status && !done) status = prepare(&r, rest, n);
    if (!status && !done) status = cli_check_stats(&r.where);
    if (!status && !done) status = run_on_workers(&r);
    free_run(&r);
    return status;
}
