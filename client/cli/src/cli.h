/* What the commands of `gridloom` share. A command is a function from its arguments to a status; main prints the status
 * and turns its code into the exit code. Threads: main only. */
#ifndef LOOM_CLI_CLI_H
#define LOOM_CLI_CLI_H

#include "client/program.h"
#include "common/file.h"
#include "common/option.h"
#include "common/paths.h"
#include "compiler/ir/windows.h"
#include "session/session.h"

typedef struct cli_call {
    int argc;
    char **argv; /* argv[0] is the command's name */
    FILE *man;   /* not NULL: the command's manual page is wanted, nothing else */
} cli_call;

typedef struct cli_command {
    const char *name;
    loom_status *(*run)(const cli_call *call);
    const char *summary;
} cli_command;

/* All commands, ended by a NULL name. */
extern const cli_command cli_commands[];

loom_status *cli_image(const cli_call *call);
loom_status *cli_predict(const cli_call *call);
loom_status *cli_simulate(const cli_call *call);
loom_status *cli_run(const cli_call *call);
loom_status *cli_eval(const cli_call *call);
loom_status *cli_profile(const cli_call *call);
loom_status *cli_bench(const cli_call *call);
loom_status *cli_check(const cli_call *call);
loom_status *cli_test(const cli_call *call);
loom_status *cli_fmt(const cli_call *call);
loom_status *cli_explain(const cli_call *call);
loom_status *cli_status(const cli_call *call);
loom_status *cli_cache(const cli_call *call);
loom_status *cli_cancel(const cli_call *call);
loom_status *cli_workers(const cli_call *call);

/* loom_options_parse, or the manual page where that is wanted; *done: there is nothing more to do. --connect defaults
 * to $GRIDLOOM_CONNECT. */
LOOM_MUST_USE loom_status *cli_options(const cli_call *call, const loom_command_text *text, loom_option *options,
                                       const char ***rest, int *n_rest, bool *done);
/* Compiles what was read and prints all diagnostics to standard error. */
LOOM_MUST_USE loom_status *cli_compile(loom_client_program *program);
/* loom_client_read and cli_compile. */
LOOM_MUST_USE loom_status *cli_load(const char *const *paths, int n, loom_client_program **program);

/* Options about where a job runs, alike in image and run. */
typedef struct cli_where {
    int64_t workers, threads;
    uint64_t memory;
    const char *connect, *spill;
    const char *stats;
    bool insecure, quiet;
} cli_where;
/* For commands that run many jobs and say themselves what is to be said. */
#define CLI_SESSION_OPTIONS(w)                                                                                         \
    {"workers", 0, LOOM_OPT_INT, &(w).workers, "N", "Worker processes to start; default 1.", 1, 1024},                 \
        {"threads",                                                                                                    \
         0,                                                                                                            \
         LOOM_OPT_INT,                                                                                                 \
         &(w).threads,                                                                                                 \
         "N",                                                                                                          \
         "Threads of each worker; default: all cores, shared evenly.",                                                 \
         1,                                                                                                            \
         LOOM_MAX_THREADS},                                                                                            \
        {"memory",                                                                                                     \
         0,                                                                                                            \
         LOOM_OPT_BYTES,                                                                                               \
         &(w).memory,                                                                                                  \
         "BYTES",                                                                                                      \
         "Memory for the buffers of each worker, for example 8GiB; default: three quarters of the machine's, shared "  \
         "evenly.",                                                                                                    \
         1 << 20,                                                                                                      \
         1e18},                                                                                                        \
        {"spill",                                                                                                      \
         0,                                                                                                            \
         LOOM_OPT_WORD,                                                                                                \
         &(w).spill,                                                                                                   \
         "auto|always|never",                                                                                          \
         "Whether a stream is written to $TMPDIR by batch of groups, where these do not all fit into memory, or read " \
         "again for each batch; default: auto, what is seen to take less time. Of a running gridloomd: its --spill.",  \
         0,                                                                                                            \
         0},                                                                                                           \
        {"connect",                                                                                                    \
         0,                                                                                                            \
         LOOM_OPT_TEXT,                                                                                                \
         &(w).connect,                                                                                                 \
         "ENDPOINT",                                                                                                   \
         "Use a running gridloomd, for example ipc:///run/gridloom/control; default: $GRIDLOOM_CONNECT, or else "      \
         "start "                                                                                                      \
         "one for this command.",                                                                                      \
         0,                                                                                                            \
         0},                                                                                                           \
        {"insecure", 0, LOOM_OPT_FLAG, &(w).insecure, NULL, "Allow a tcp:// endpoint without keys.", 0, 0}
#define CLI_WHERE_OPTIONS(w)                                                                                           \
    CLI_SESSION_OPTIONS(w),                                                                                            \
        {"stats", 0, LOOM_OPT_TEXT, &(w).stats, "FILE", "Write there, as JSON, where the time went.", 0, 0},           \
        {"quiet", 0, LOOM_OPT_FLAG, &(w).quiet, NULL, "Show no progress, no summary and no warnings.", 0, 0}
/* After it: its warnings, unless --quiet. */
void cli_warn(const cli_where *where, const loom_job_result *job);
/* cli_warn, and a line of what was interpreted, where that took long enough to be worth it: a program that is some
 * hundred times slower than it might be does not say so by itself. `lists`: how the other such stages are listed. */
void cli_warn_of_program(const cli_where *where, const loom_job_result *job, const char *lists);
/* Before the run: loom_paths_check. Where standard output is itself an output (-o /dev/stdout), what the command would
 * print there goes to standard error. */
LOOM_MUST_USE loom_status *cli_check_paths(const loom_paths *paths);
/* The same: no output is an input or lies inside one, no two are one file. NULLs are none. */
LOOM_MUST_USE loom_status *cli_check_files(const char *const *reads, size_t n_reads, const char *const *writes,
                                           size_t n_writes);
/* Before the run: whether the file of --stats, if one is wanted, can be written. */
LOOM_MUST_USE loom_status *cli_check_stats(const cli_where *where);
/* Holds the file of --stats, if one is wanted, with the other outputs. windows: of a run by windows, or NULL. */
LOOM_MUST_USE loom_status *cli_hold_stats(const cli_where *where, const loom_job_result *job,
                                          const loom_window_counts *windows, loom_file_set *files);
/* cli_hold_stats alone, put in place. */
LOOM_MUST_USE loom_status *cli_write_stats(const cli_where *where, const loom_job_result *job,
                                           const loom_window_counts *windows);
/* What a program took: docs/architecture.md, "Work and space". */
typedef struct cli_work {
    uint64_t evaluations, moved, descriptors, peak_bytes;
} cli_work;
void cli_add_work(cli_work *work, const loom_job_result *job);
/* Of an evaluation: what goes out is moved once more, as a job has to, though it may be what came in. */
void cli_add_result(cli_work *work, const loom_value *result);
/* Holds the file of --count-work, if one is wanted, with the other outputs; with a job, its actions too. */
LOOM_MUST_USE loom_status *cli_hold_work(const char *path, const cli_work *work, const loom_job_result *job,
                                         loom_file_set *files);
/* For loom_session_options: says on standard error what is waited for. */
void cli_tell_waiting(const char *endpoint, double seconds);
LOOM_MUST_USE loom_status *cli_open_session(const cli_where *where, loom_session **session);
/* The same with an empty cache of object code, unless a daemon is named. */
LOOM_MUST_USE loom_status *cli_open_own_session(const cli_where *where, loom_session **session);

/* The command as typed, words with blanks quoted, for what tells where a file comes from; the caller frees. */
char *cli_command_line(const cli_call *call);

/* The end of a command that has outputs: all of its files are held, all it says is printed. Standard output first:
 * where that takes it, the files are put in place; where anything fails, none of them is. */
LOOM_MUST_USE loom_status *cli_commit(loom_file_set *files);

/* For work outside a session: from now on the signals of common/signals.h are remembered, and cli_check_signals is
 * LOOM_E_CANCELLED. */
void cli_catch_signals(void);
LOOM_MUST_USE loom_status *cli_check_signals(void);
/* While files are written signals wait, so that no temporary file stays. */
void cli_hold_signals(bool hold);

/* Progress of a job on a terminal. Elsewhere only that there is no worker is told, once. */
typedef struct cli_progress {
    bool shown, drawn, waited;
    const char *daemon;    /* NULL: that it has no worker is not told */
    const char *unit;      /* of elements: "rows" */
    int64_t job, n_jobs;   /* where a command runs several: which one this is, from 1 */
    uint32_t *passes;      /* of each stage: how often it has begun; a loop runs its stages again */
    uint32_t n_passes;     /* 0: nothing has run yet */
    uint32_t at, furthest; /* the stage shown last, the latest one of all */
    int64_t elements, releases;
    int percent;
} cli_progress;
cli_progress cli_progress_start(bool quiet, const char *unit);
void cli_progress_update(void *progress, const loom_job_progress *state); /* for loom_job_description */
/* The line that cli_progress_update draws. Neither stage nor percentage of one pass through it ever goes back. */
void cli_progress_line(cli_progress *progress, const loom_job_progress *state, char text[256]);
void cli_progress_text(cli_progress *progress, const char *what, double part, double seconds_left);
void cli_progress_end(cli_progress *progress);

#endif
