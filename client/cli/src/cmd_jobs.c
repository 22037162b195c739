/* status, workers, cancel: what a daemon is doing. */
#include "cli.h"
#include "common/buffer.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct question {
    const char *connect;
    bool insecure, json;
} question;

#define QUESTION_OPTIONS(q)                                                                                            \
    {"connect",                                                                                                        \
     0,                                                                                                                \
     LOOM_OPT_TEXT,                                                                                                    \
     &(q).connect,                                                                                                     \
     "ENDPOINT",                                                                                                       \
     "The daemon, for example ipc:///run/gridloom/control; default: $GRIDLOOM_CONNECT.",                               \
     0,                                                                                                                \
     0},                                                                                                               \
        {"insecure", 0, LOOM_OPT_FLAG, &(q).insecure, NULL, "Allow a tcp:// endpoint without keys.", 0, 0}

static loom_status *ask(question *q, loom_session **session) {
    if (!q->connect) {
        return loom_status_note(loom_error(LOOM_E_USAGE, "no daemon given"),
                                "hint: --connect ENDPOINT, or set GRIDLOOM_CONNECT; commands without --connect start a "
                                "daemon of their own that nobody else sees");
    }
    loom_session_options options = {.connect = q->connect, .insecure = q->insecure, .waiting = cli_tell_waiting};
    return loom_session_open(&options, session);
}

static loom_status *ask_status(question *q, loom_daemon_info **info) {
    loom_session *session;
    LOOM_TRY(ask(q, &session));
    loom_status *status = loom_session_status(session, info);
    loom_session_close(session);
    return status;
}

static void json_text(const char *name, const char *text) {
    printf("\"%s\": \"", name);
    for (const char *c = text ? text : ""; *c; c++) {
        if (*c == '"' || *c == '\\') putchar('\\');
        if ((unsigned char)*c >= ' ') putchar(*c);
    }
    putchar('"');
}

/* ---- status ---- */

static void status_json(const loom_daemon_info *info) {
    printf("{\"incarnation\": %" PRIu64 ", \"seconds\": %.3f, \"workers\": %zu, \"jobs\": [", info->incarnation,
           info->seconds, info->n_workers);
    for (size_t i = 0; i < info->n_jobs; i++) {
        const loom_job_info *j = &info->jobs[i];
        printf("%s{\"job\": %" PRIu64 ", ", i ? ", " : "", j->job);
        json_text("name", j->name);
        printf(", ");
        json_text("state", loom_job_state_name(j->state));
        printf(", ");
        json_text("stage", j->stage);
        printf(", \"blocks_done\": %" PRId64 ", \"blocks_total\": %" PRId64 ", \"elements_done\": %" PRId64
               ", \"elements_total\": %" PRId64 ", \"releases\": %" PRId64 ", \"seconds\": %.3f}",
               j->blocks_done, j->blocks_total, j->elements_done, j->elements_total, j->releases, j->seconds);
    }
    printf("]}\n");
}

static void status_table(const loom_daemon_info *info) {
    printf("up %.0f s, %zu workers, %zu jobs\n", info->seconds, info->n_workers, info->n_jobs);
    if (info->n_jobs) printf("%8s  %-10s %8s %6s  %-24s %s\n", "job", "state", "seconds", "done", "name", "stage");
    for (size_t i = 0; i < info->n_jobs; i++) {
        const loom_job_info *j = &info->jobs[i];
        double part = j->elements_total > 0 ? 100.0 * (double)j->elements_done / (double)j->elements_total : 0;
        printf("%8" PRIu64 "  %-10s %8.1f %5.0f%%  %-24s %s\n", j->job, loom_job_state_name(j->state), j->seconds, part,
               j->name ? j->name : "", j->stage ? j->stage : "");
    }
}

/* A command that shows what a daemon says of itself. */
static loom_status *show(const cli_call *call, const loom_command_text *text, void (*json)(const loom_daemon_info *),
                         void (*table)(const loom_daemon_info *)) {
    question q = {0};
    loom_option options[] = {
        QUESTION_OPTIONS(q), {"json", 0, LOOM_OPT_FLAG, &q.json, NULL, "Print one line of JSON.", 0, 0}, {0}};
    const char **rest;
    int n;
    bool done;
    LOOM_TRY(cli_options(call, text, options, &rest, &n, &done));
    if (done) return NULL;
    loom_daemon_info *info;
    LOOM_TRY(ask_status(&q, &info));
    q.json ? json(info) : table(info);
    loom_daemon_info_free(info);
    return NULL;
}

loom_status *cli_status(const cli_call *call) {
    static const loom_command_text text = {"gridloom status", "[options]", "Lists the jobs of a daemon.",
                                           "  gridloom status --connect ipc:///run/gridloom/control"};
    return show(call, &text, status_json, status_table);
}

/* ---- workers ---- */

static void workers_json(const loom_daemon_info *info) {
    printf("{\"workers\": [");
    for (size_t i = 0; i < info->n_workers; i++) {
        const loom_worker_info *w = &info->workers[i];
        printf("%s{\"worker\": %" PRIu64 ", \"pid\": %" PRId64 ", ", i ? ", " : "", w->worker, w->pid);
        json_text("host", w->host);
        printf(", ");
        json_text("target", w->target);
        printf(", \"threads\": %" PRIu32 ", \"memory\": %" PRIu64 ", \"busy\": %s, \"blocks\": %" PRId64
               ", \"seconds\": %.3f}",
               w->threads, w->memory, w->busy ? "true" : "false", w->blocks, w->seconds);
    }
    printf("]}\n");
}

/* "triple cpu" of "triple;cpu;features": the features fill pages, and are in the JSON. */
static char *machine_text(const char *target) {
    size_t triple = target ? strcspn(target, ";") : 0;
    const char *cpu = target && target[triple] ? target + triple + 1 : "";
    return loom_xprintf("%.*s %.*s", (int)triple, target ? target : "", (int)strcspn(cpu, ";"), cpu);
}

static void workers_table(const loom_daemon_info *info) {
    printf("%8s  %8s %8s %10s %-5s %8s  %-16s %s\n", "worker", "pid", "threads", "memory", "state", "blocks", "host",
           "target");
    for (size_t i = 0; i < info->n_workers; i++) {
        const loom_worker_info *w = &info->workers[i];
        char *machine = machine_text(w->target);
        printf("%8" PRIu64 "  %8" PRId64 " %8" PRIu32 " %6.1f GiB %-5s %8" PRId64 "  %-16s %s\n", w->worker, w->pid,
               w->threads, (double)w->memory / 0x1p30, w->busy ? "busy" : "idle", w->blocks, w->host ? w->host : "",
               machine);
        free(machine);
    }
}

loom_status *cli_workers(const cli_call *call) {
    static const loom_command_text text = {"gridloom workers", "[options]", "Lists the workers of a daemon.",
                                           "  gridloom workers --connect ipc:///run/gridloom/control"};
    return show(call, &text, workers_json, workers_table);
}

/* ---- cancel ---- */

loom_status *cli_cancel(const cli_call *call) {
    static const loom_command_text text = {"gridloom cancel", "JOB... [options]",
                                           "Cancels jobs by their numbers, as gridloom status lists them.",
                                           "  gridloom cancel 3 --connect ipc:///run/gridloom/control"};
    question q = {0};
    loom_option options[] = {QUESTION_OPTIONS(q), {0}};
    const char **rest;
    int n;
    bool done;
    LOOM_TRY(cli_options(call, &text, options, &rest, &n, &done));
    if (done) return NULL;
    if (n < 1) return loom_error(LOOM_E_USAGE, "no job given: expected its number");
    loom_session *session = NULL;
    loom_status *status = ask(&q, &session);
    for (int i = 0; i < n && !status; i++) {
        int64_t job;
        status = loom_parse_int(rest[i], &job);
        if (!status && job < 0) status = loom_error(LOOM_E_USAGE, "'%s' is not the number of a job", rest[i]);
        if (!status) status = loom_session_cancel(session, (uint64_t)job);
    }
    loom_session_close(session);
    return status;
}
