/* run and eval: the same command line, on workers or here. */
#include "common/buffer.h"
#include "common/file.h"
#include "common/machine.h"
#include "compiler/analysis/claims.h"
#include "compiler/interp/interp.h"
#include "compiler/stage/stage.h"
#include "endless.h"
#include "entry_run.h"
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

/* ---- eval ---- */

static void print_claims(const loom_program *p, const loom_claims *claims, loom_buffer *to) {
    loom_buffer_printf(to, "{\"values\": %" PRIu64 ", \"broken\": [", claims->values);
    for (uint32_t i = 0; i < claims->n_broken; i++) {
        const loom_claim_broken *b = &claims->broken[i];
        loom_buffer_printf(to, "%s{\"node\": %" PRIu32 ", \"line\": %" PRIu32 ", \"claim\": \"%s\"}", i ? ", " : "",
                           b->node, p->nodes[b->node].span.line, b->claim);
    }
    loom_buffer_text(to, "], \"met\": [");
    for (uint32_t i = 0; i < claims->n_met; i++) loom_buffer_printf(to, "%s%" PRIu32, i ? ", " : "", claims->met[i]);
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
static loom_status *check_claims(const cli_entry_run *r, loom_value **result) {
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

/* All outputs or none: files, what is printed, what was counted, and statistics of the job, if it was one. */
static loom_status *deliver(const cli_entry_run *r, const loom_value *result, const cli_work *work,
                            const loom_job_result *job, const loom_window_counts *windows) {
    loom_file_set *files = loom_file_set_create();
    cli_hold_signals(true);
    loom_status *status =
        r->frames_out ? loom_frames_write(result, stdout) : loom_client_outputs_hold(r->out, result, stdout, files);
    if (!status) status = cli_hold_work(r->work, work, job, files);
    if (!status && job) status = cli_hold_stats(&r->where, job, windows, files);
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

/* Of an endless sequence without groups, all elements are used. */
static void account(const cli_entry_run *r, const loom_window_counts *windows) {
    uint32_t endless = r->binding->endless;
    if (cli_endless_goes_on(r->program->program)) {
        cli_endless_account(windows);
    } else if (endless != LOOM_CLIENT_NOT_ENDLESS) {
        const loom_leaf *any = &r->binding->arguments[endless]->leaves[0];
        int64_t n = loom_leaf_length(any, 0, 0);
        cli_endless_account(&(loom_window_counts){.received = n, .used = n});
    }
}

static loom_status *interpret(const cli_entry_run *r, loom_value **result, cli_work *work) {
    loom_interp_counters counters = {0};
    loom_interp_options options = {.memory_limit = loom_machine_worker_memory(1),
                                   .random_split_seed = r->laws ? LOOM_INTERP_SPLITS : 0};
    if (r->timeout > 0) {
        options.cancel = &late;
        set_alarm(r->timeout);
    }
    loom_status *status =
        loom_interp_call(r->program->program, r->function, r->binding->arguments, &options, result, &counters);
    *work = (cli_work){counters.scalar_evaluations, counters.elements_moved, counters.descriptors, counters.peak_bytes};
    if (!status) cli_add_result(work, *result);
    if (r->timeout > 0) set_alarm(0);
    if (!status) account(r, &counters.windows);
    if (loom_status_code(status) != LOOM_E_CANCELLED) return status;
    loom_status_free(status);
    return loom_error(LOOM_E_LIMIT, "took more than %g s", r->timeout);
}

/* Errors carry the place in the text but know files by number only. */
static loom_status *evaluate(const cli_entry_run *r) {
    const loom_program *p = r->program->program;
    loom_client_binding *b = r->binding;
    loom_status *status = NULL;
    if (b->endless != LOOM_CLIENT_NOT_ENDLESS) {
        LOOM_TRY(cli_endless_check(r));
        LOOM_TRY(loom_frames_read_all(b->frames, cli_check_signals, &b->arguments[b->endless]));
    }
    for (uint32_t i = 0; i < b->n_params && !status; i++) {
        if (b->arguments[i]) continue;
        status = loom_client_collect(p, loom_client_param_type(p, r->function, i), b->sources[i], &b->arguments[i]);
    }
    loom_value *result = NULL;
    cli_work work = {0};
    if (!status) status = r->claims ? check_claims(r, &result) : interpret(r, &result, &work);
    status = cli_entry_with_lengths(r, status);
    if (!status) status = deliver(r, result, &work, NULL, NULL);
    loom_value_unref(result);
    return status;
}

loom_status *cli_eval(const cli_call *call) {
    static const loom_command_text text = {
        "gridloom eval", "PROG.weft... [options]",
        "Evaluates an entry of a Weft program here, with the interpreter: slow, simple, and the judge of what the "
        "compiler makes. "
        "Scalars of the result print; arrays go to files. " CLI_ABOUT_ARGUMENTS,
        "  gridloom eval examples/dotp.weft --stream xs=x.npy --stream ys=y.npy"};
    cli_entry_run r = CLI_ENTRY_RUN;
    r.takes_frames = true;
    loom_option options[] = {
        CLI_ENTRY_OPTIONS(r),
        CLI_OUTPUT_OPTION(r),
        CLI_WORK_OPTION(r),
        {"laws", 0, LOOM_OPT_FLAG, &r.laws, NULL,
         "Evaluate fold_seq and reduce_seq over streams cut at random places too, and lifted functions by their "
         "versions, and fail where that gives something else: they do not keep the laws that workers rely on.",
         0, 0},
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
    if (!status && !done && r.claims && r.work)
        status = loom_error(LOOM_E_USAGE, "--claims evaluates another form of the program: no --count-work with it");
    if (!status && !done) status = cli_entry_prepare(&r, rest, n);
    if (!status && !done) status = evaluate(&r);
    cli_entry_free(&r);
    return status;
}

/* ---- run ---- */

static loom_status *run_job(const cli_entry_run *r, loom_job_result **result) {
    loom_session *session;
    LOOM_TRY(cli_open_session(&r->where, &session));
    loom_status *status = cli_entry_submit(r, session, result);
    loom_session_close(session);
    return status;
}

static loom_status *run_on_workers(const cli_entry_run *r) {
    if (r->binding->endless != LOOM_CLIENT_NOT_ENDLESS) return cli_endless_run(r);
    loom_job_result *result = NULL;
    loom_window_counts counts;
    bool done;
    loom_status *status = cli_endless_run_files(r, &done, &result, &counts);
    if (!status && !done) status = run_job(r, &result);
    if (!status) {
        cli_entry_remarks(r, result);
        cli_work work = {0};
        cli_add_work(&work, result);
        status = deliver(r, result->value, &work, result, done ? &counts : NULL);
    }
    loom_job_result_free(result);
    return status;
}

loom_status *cli_run(const cli_call *call) {
    static const loom_command_text text = {
        "gridloom run", "PROG.weft... [options]",
        "Runs an entry of a Weft program on workers: compiled, by blocks of its streams. "
        "Scalars of the result print; arrays go to files. " CLI_ABOUT_ARGUMENTS,
        "  gridloom run examples/dotp.weft --stream xs=x.npy --stream ys=y.npy --threads 2"};
    cli_entry_run r = CLI_ENTRY_RUN;
    r.takes_frames = true;
    loom_option options[] = {
        CLI_ENTRY_OPTIONS(r),
        CLI_OUTPUT_OPTION(r),
        CLI_BLOCK_OPTION(r),
        CLI_WORK_OPTION(r),
        {"remarks", 0, LOOM_OPT_FLAG, &r.remarks, NULL, "Print what the compiler did not vectorise, and why.", 0, 0},
        CLI_FORCE_OPTION(r.force),
        CLI_WHERE_OPTIONS(r.where),
        {0}};
    const char **rest;
    int n;
    bool done;
    loom_status *status = cli_options(call, &text, options, &rest, &n, &done);
    if (!status && !done) status = cli_entry_prepare(&r, rest, n);
    if (!status && !done) status = cli_check_stats(&r.where);
    if (!status && !done) status = run_on_workers(&r);
    cli_entry_free(&r);
    return status;
}
