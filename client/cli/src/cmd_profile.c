/* profile: where in the program's text the time of a run goes.
 *
 * Workers tell seconds and bytes by label of action (worker/executor.h), and a label ends with the place that the
 * action was made for: "fft (awgrid.weft:12)". What was fused into one action counts for its first line. Actions
 * without a place move data between others. */
#include "common/buffer.h"
#include "entry_run.h"
#include "json.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct profile_line {
    const char *file; /* in the labels, not ended; with line 0 there is no place, and it is the label */
    size_t length;
    uint32_t line;
    double seconds;
    uint64_t calls, bytes;
} profile_line;

typedef struct profile {
    profile_line *lines;
    size_t n;
    double seconds; /* of all */
    uint64_t bytes;
} profile;

/* The place at the end of a label, "what (file:line)". */
static profile_line place_of(const char *label) {
    size_t n = strlen(label), at;
    profile_line none = {.file = label, .length = n};
    uint64_t line = 0, unit = 1;
    if (n < 2 || label[n - 1] != ')') return none;
    for (at = n - 1; at > 0 && label[at - 1] >= '0' && label[at - 1] <= '9' && unit < UINT32_MAX; at--) {
        line += unit * (uint64_t)(label[at - 1] - '0');
        unit *= 10;
    }
    if (unit == 1 || at < 2 || label[at - 1] != ':' || line > UINT32_MAX) return none;
    size_t end = at - 1, from = 0;
    for (size_t i = 0; i + 1 < end; i++) {
        if (label[i] == ' ' && label[i + 1] == '(') {
            from = i + 2; /* names of files may have brackets, kinds of actions have none */
            break;
        }
    }
    return from ? (profile_line){.file = label + from, .length = end - from, .line = (uint32_t)line} : none;
}

static profile_line *find_line(profile *p, profile_line place) {
    for (size_t i = 0; i < p->n; i++) {
        profile_line *l = &p->lines[i];
        if (l->line == place.line && l->length == place.length && memcmp(l->file, place.file, place.length) == 0)
            return l;
    }
    p->lines[p->n] = place;
    return &p->lines[p->n++];
}

static int by_seconds(const void *a, const void *b) {
    const profile_line *x = a, *y = b;
    if (x->seconds != y->seconds) return x->seconds < y->seconds ? 1 : -1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static profile make_profile(const loom_job_result *job) {
    profile p = {.lines = loom_xcalloc(job->n_times + 1, sizeof *p.lines)};
    for (size_t i = 0; i < job->n_times; i++) {
        const loom_job_time *t = &job->times[i];
        profile_line *l = find_line(&p, place_of(t->label));
        l->seconds += t->seconds;
        l->calls += t->calls;
        l->bytes += t->bytes;
        p.seconds += t->seconds;
        p.bytes += t->bytes;
    }
    qsort(p.lines, p.n, sizeof *p.lines, by_seconds);
    return p;
}

static double share(double part, double all) {
    return all > 0 ? 100 * part / all : 0;
}

/* The text of a line without what is indented, malloc'ed; "" where it is not there. */
static char *text_of(const loom_client_program *p, const profile_line *l) {
    for (size_t f = 0; f < p->n_files; f++) {
        const loom_source_file *file = &p->files[f];
        if (strlen(file->name) != l->length || memcmp(file->name, l->file, l->length) != 0) continue;
        const char *at = file->text, *end = at + file->length;
        for (uint32_t line = 1; at && line < l->line; line++) {
            at = memchr(at, '\n', (size_t)(end - at));
            if (at) at++;
        }
        if (!at || !l->line) continue;
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        while (at < (stop ? stop : end) && (*at == ' ' || *at == '\t')) at++;
        return loom_printable(loom_xprintf("%.*s", (int)((stop ? stop : end) - at), at));
    }
    return loom_xstrdup("");
}

static void print_table(const loom_client_program *program, const profile *p, const loom_job_result *job) {
    printf("%10s  %6s  %8s  %11s  %13s  %s\n", "seconds", "share", "calls", "bytes", "bytes/s", "line");
    for (size_t i = 0; i < p->n; i++) {
        const profile_line *l = &p->lines[i];
        char *text = text_of(program, l), bytes[32], rate[32];
        loom_bytes_text((double)l->bytes, bytes);
        loom_bytes_text(l->seconds > 0 ? (double)l->bytes / l->seconds : 0, rate);
        printf("%10.6f  %4.1f %%  %8" PRIu64 "  %11s  %11s", l->seconds, share(l->seconds, p->seconds), l->calls, bytes,
               rate);
        if (l->line)
            printf("/s  %.*s:%" PRIu32 "  %s\n", (int)l->length, l->file, l->line, text);
        else
            printf("/s  -  %s\n", l->length ? l->file : "copies and memory");
        free(text);
    }
    printf("%10.6f s in all actions; the run took %.6f s, of which %.6f s compiling and %.6f s reading\n", p->seconds,
           job->seconds.total, job->seconds.compile, job->seconds.read);
}

static void print_json(const loom_client_program *program, const profile *p, const loom_job_result *job) {
    loom_buffer b = {0};
    loom_buffer_printf(&b, "{\"seconds\": %.6f, \"bytes\": %" PRIu64 ", \"total\": %.6f, \"lines\": [", p->seconds,
                       p->bytes, job->seconds.total);
    for (size_t i = 0; i < p->n; i++) {
        const profile_line *l = &p->lines[i];
        char *file = loom_xprintf("%.*s", l->line ? (int)l->length : 0, l->file);
        char *text = l->line ? text_of(program, l) : loom_xstrdup(l->file);
        loom_buffer_text(&b, i ? ",\n  {\"file\": " : "\n  {\"file\": ");
        cli_json_text(&b, file);
        loom_buffer_printf(&b,
                           ", \"line\": %" PRIu32 ", \"seconds\": %.6f, \"calls\": %" PRIu64 ", \"bytes\": %" PRIu64
                           ", \"text\": ",
                           l->line, l->seconds, l->calls, l->bytes);
        cli_json_text(&b, text);
        loom_buffer_text(&b, "}");
        free(file);
        free(text);
    }
    loom_buffer_text(&b, "]}\n");
    fwrite(b.data, 1, b.length, stdout);
    loom_buffer_free(&b);
}

static loom_status *run_and_print(const cli_entry_run *r, bool json) {
    loom_session *session;
    LOOM_TRY(cli_open_session(&r->where, &session));
    loom_job_result *result = NULL;
    loom_status *status = cli_entry_submit(r, session, &result);
    loom_session_close(session);
    if (!status) {
        cli_warn(&r->where, result);
        profile p = make_profile(result);
        (json ? print_json : print_table)(r->program, &p, result);
        free(p.lines);
        if (r->where.stats) status = cli_write_stats(&r->where, result, NULL);
    }
    loom_job_result_free(result);
    return status;
}

loom_status *cli_profile(const cli_call *call) {
    static const loom_command_text text = {
        "gridloom profile", "PROG.weft... [options]",
        "Runs an entry of a Weft program on workers, as run does, and tells the time and the bytes of each line of its "
        "text, the longest first. Times are those of workers, all threads at work, summed over workers; bytes are the "
        "sizes of the arrays that were read and written, each once for each time. What the compiler has put together "
        "counts for its first line. " CLI_ABOUT_ARGUMENTS,
        "  gridloom profile examples/dotp.weft --stream xs=x.npy --stream ys=y.npy"};
    cli_entry_run r = CLI_ENTRY_RUN;
    bool json = false;
    loom_option options[] = {CLI_ENTRY_OPTIONS(r),
                             CLI_BLOCK_OPTION(r),
                             {"json", 0, LOOM_OPT_FLAG, &json, NULL, "Print it as JSON.", 0, 0},
                             CLI_WHERE_OPTIONS(r.where),
                             {0}};
    const char **rest;
    int n;
    bool done;
    loom_status *status = cli_options(call, &text, options, &rest, &n, &done);
    if (!status && !done) status = cli_entry_prepare(&r, rest, n);
    if (!status && !done) status = cli_check_stats(&r.where);
    if (!status && !done) status = run_and_print(&r, json);
    cli_entry_free(&r);
    return status;
}
