#include "cli.h"
#include "client/output.h"
#include "common/buffer.h"
#include "common/machine.h"
#include "common/signals.h"
#include "io/ms.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* $GRIDLOOM_CONNECT counts for every command that has --connect; an empty one means a daemon of the command's own. */
static void default_daemon(const char **connect) {
    if (!*connect) *connect = getenv("GRIDLOOM_CONNECT");
    if (*connect && !**connect) *connect = NULL;
}

/* An empty name of a file to write, as from a variable that is not set. */
static loom_status *check_names(const loom_option *o) {
    bool empty = false;
    if (o->kind == LOOM_OPT_TEXT) {
        const char *name = *(const char *const *)o->to;
        empty = name && !*name;
    } else if (o->kind == LOOM_OPT_LIST) {
        const loom_option_list *list = o->to;
        for (size_t i = 0; i < list->count; i++) empty = empty || !*list->at[i];
    }
    return empty ? loom_error(LOOM_E_USAGE, "--%s: the name of the file is empty", o->name) : NULL;
}

loom_status *cli_options(const cli_call *call, const loom_command_text *text, loom_option *options, const char ***rest,
                         int *n_rest, bool *done) {
    if (call->man) {
        loom_options_man(text, options, call->man);
        *done = true;
        return NULL;
    }
    LOOM_TRY(loom_options_parse(text, options, call->argc, call->argv, rest, n_rest, done));
    for (loom_option *o = options; o->name; o++) {
        if (strcmp(o->name, "connect") == 0) default_daemon(o->to);
        if (strcmp(o->name, "quiet") == 0 && *(const bool *)o->to) loom_ms_quiet();
    }
    for (loom_option *o = options; o->name && !*done; o++) {
        bool file = strcmp(o->name, "output") == 0 || strcmp(o->name, "png") == 0 || strcmp(o->name, "stats") == 0 ||
                    strcmp(o->name, "html") == 0;
        if (file) LOOM_TRY(check_names(o));
        if (strcmp(o->name, "workers") == 0) LOOM_TRY(loom_machine_check_limits());
    }
    return NULL;
}

loom_status *cli_compile(loom_client_program *program) {
    loom_status *status = loom_client_compile(program);
    loom_diagnostics_print(&program->diagnostics, program->files, program->n_files, stderr);
    if (!status || program->diagnostics.count == 0) return status;
    unsigned number = loom_weft_error_entry(program->diagnostics.at[0].error)->number;
    return loom_status_note(status, "gridloom help W%04u tells more about the first", number);
}

loom_status *cli_load(const char *const *paths, int n, loom_client_program **program) {
    loom_client_program *made;
    if (n < 1) return loom_error(LOOM_E_USAGE, "no program given: expected PROG.weft");
    LOOM_TRY(loom_client_read(paths, (size_t)n, &made));
    loom_status *status = cli_compile(made);
    if (status) {
        loom_client_program_free(made);
        return status;
    }
    *program = made;
    return NULL;
}

void cli_tell_waiting(const char *endpoint, double seconds) {
    fprintf(stderr, "waiting for a daemon at %s, %.0f s at most\n", endpoint, seconds);
}

static loom_status *open_session(const cli_where *where, bool own_cache, loom_session **session) {
    loom_session_options options = {.own_cache = own_cache,
                                    .connect = where->connect,
                                    .workers = (int)where->workers,
                                    .threads = (int)where->threads,
                                    .memory = where->memory,
                                    .spill = where->spill,
                                    .waiting = where->quiet ? NULL : cli_tell_waiting,
                                    .insecure = where->insecure};
    return loom_session_open(&options, session);
}

loom_status *cli_open_session(const cli_where *where, loom_session **session) {
    return open_session(where, false, session);
}

loom_status *cli_open_own_session(const cli_where *where, loom_session **session) {
    return open_session(where, true, session);
}

/* ---- signals ---- */

static volatile sig_atomic_t came;

static void on_signal(int number) {
    came = number;
}

void cli_catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < LOOM_STOP_SIGNALS; i++) {
        if (!loom_signal_is_ignored(loom_stop_signals[i])) sigaction(loom_stop_signals[i], &action, NULL);
    }
}

loom_status *cli_check_signals(void) {
    return came ? loom_error(LOOM_E_CANCELLED, "interrupted; nothing is left behind") : NULL;
}

void cli_hold_signals(bool hold) {
    static sigset_t before;
    hold ? loom_signals_hold(&before) : loom_signals_restore(&before);
}

/* ---- outputs ---- */

void cli_warn(const cli_where *where, const loom_job_result *job) {
    for (size_t i = 0; i < job->n_warnings && !where->quiet; i++) fprintf(stderr, "warning: %s\n", job->warnings[i]);
}

/* Seconds of workers in the interpreter of which nobody would know. */
#define NOTEWORTHY_SECONDS 0.25

/* The stage that took longest stands for all. */
static void note_interpreted(const loom_job_result *job, const char *lists) {
    const loom_job_interpreted *most = NULL;
    double seconds = 0;
    for (size_t i = 0; i < job->n_interpreted; i++) {
        const loom_job_interpreted *stage = &job->interpreted[i];
        seconds += stage->seconds;
        if (!most || stage->seconds > most->seconds) most = stage;
    }
    if (!most || seconds < NOTEWORTHY_SECONDS) return;
    fprintf(stderr, "note: %s (%.2g s in the interpreter", most->why, seconds);
    if (job->n_interpreted > 1) fprintf(stderr, ", with %zu more, see %s", job->n_interpreted - 1, lists);
    fputs(")\n", stderr);
}

void cli_warn_of_program(const cli_where *where, const loom_job_result *job, const char *lists) {
    cli_warn(where, job);
    if (!where->quiet) note_interpreted(job, lists);
}

loom_status *cli_check_paths(const loom_paths *paths) {
    if (loom_paths_has_open(paths, STDOUT_FILENO)) stdout = stderr;
    return loom_paths_check(paths);
}

loom_status *cli_check_files(const char *const *reads, size_t n_reads, const char *const *writes, size_t n_writes) {
    loom_paths *paths = loom_paths_create();
    for (size_t i = 0; i < n_reads; i++) loom_paths_read(paths, reads[i]);
    for (size_t i = 0; i < n_writes; i++) loom_paths_write(paths, writes[i]);
    loom_status *status = cli_check_paths(paths);
    loom_paths_free(paths);
    return status;
}

char *cli_command_line(const cli_call *call) {
    loom_buffer b = {0};
    loom_buffer_text(&b, "gridloom");
    for (int i = 0; i < call->argc; i++) {
        bool quote = strpbrk(call->argv[i], " \t\n") != NULL;
        loom_buffer_printf(&b, quote ? " '%s'" : " %s", call->argv[i]);
    }
    return loom_buffer_take(&b);
}

loom_status *cli_commit(loom_file_set *files) {
    LOOM_TRY(loom_stream_flush(stdout, "standard output"));
    return loom_file_set_commit(files);
}
