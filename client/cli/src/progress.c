/* One line on standard error, drawn over itself. Shown only on a terminal, and only for work that takes longer than a
 * moment: a command that ends at once leaves no trace. */
#include "cli.h"
#include "common/buffer.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Seconds before the line appears. */
#define PATIENCE 0.5

cli_progress cli_progress_start(bool quiet, const char *unit) {
    return (cli_progress){.shown = !quiet && isatty(STDERR_FILENO), .unit = unit};
}

static void time_text(double seconds, char text[32]) {
    long s = lround(seconds < 0 ? 0 : seconds > 1e8 ? 1e8 : seconds);
    if (s >= 3600) {
        snprintf(text, 32, "%ld h %02ld min", s / 3600, s / 60 % 60);
    } else if (s >= 60) {
        snprintf(text, 32, "%ld min %02ld s", s / 60, s % 60);
    } else {
        snprintf(text, 32, "%ld s", s);
    }
}

static void count_text(double n, char text[16]) {
    static const char *const units[] = {"", " k", " M", " G", " T"};
    int u = 0;
    for (; n >= 1000 && u < 4; u++) n /= 1000;
    snprintf(text, 16, u && n < 100 ? "%.1f%s" : "%.0f%s", n, units[u]);
}

static void draw(cli_progress *p, const char *text) {
    fprintf(stderr, "\r\033[K%.120s", text);
    fflush(stderr);
    p->drawn = true;
}

void cli_progress_text(cli_progress *progress, const char *what, double part, double seconds_left) {
    if (!progress->shown) return;
    char text[256], left[32];
    int n = snprintf(text, sizeof text, "%s %3.0f %%", what, 100 * part);
    if (seconds_left >= 0) {
        time_text(seconds_left, left);
        snprintf(text + n, sizeof text - (size_t)n, ", %s left", left);
    }
    draw(progress, text);
}

static void tell_no_worker(cli_progress *p) {
    if (p->waited) return;
    fprintf(stderr, "warning: waiting for a worker: none is registered at %s\n", p->daemon);
    p->waited = true;
}

/* Notes the stage that runs, and its part that is done. Blocks of a lost worker are done again: until then the old
 * figure stands. */
static void follow(cli_progress *p, const loom_job_progress *state) {
    if (state->stage_index >= p->n_passes) {
        uint32_t n = state->stage_index + 1 > state->n_stages ? state->stage_index + 1 : state->n_stages;
        p->passes = loom_xrealloc(p->passes, n * sizeof *p->passes);
        memset(p->passes + p->n_passes, 0, (n - p->n_passes) * sizeof *p->passes);
        p->n_passes = n;
    }
    bool back = state->elements_done < p->elements && state->releases == p->releases;
    if (p->passes[state->stage_index] == 0 || p->at != state->stage_index || back) {
        p->passes[state->stage_index]++;
        p->percent = 0;
    }
    p->at = state->stage_index;
    if (p->at > p->furthest) p->furthest = p->at;
    p->elements = state->elements_done;
    p->releases = state->releases;
    if (state->elements_total <= 0) return;
    int percent = (int)lround(100.0 * (double)state->elements_done / (double)state->elements_total);
    if (percent > p->percent) p->percent = percent;
}

/* Appends to a text of which n bytes are there. */
static size_t append(char text[256], size_t n, const char *format, ...) LOOM_PRINTF(3, 4);
static size_t append(char text[256], size_t n, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(text + n, 256 - n, format, arguments);
    va_end(arguments);
    n += more > 0 ? (size_t)more : 0;
    return n < 256 ? n : 255;
}

void cli_progress_line(cli_progress *p, const loom_job_progress *state, char text[256]) {
    char rate[16], left[32];
    size_t n = 0;
    *text = '\0';
    if (p->n_jobs > 1) n = append(text, n, "%" PRId64 " of %" PRId64 ": ", p->job, p->n_jobs);
    if (state->workers == 0) {
        append(text, n, "waiting for a worker");
        return;
    }
    if (state->n_stages == 0 || !state->stage || !*state->stage) {
        append(text, n, state->n_stages ? "starting" : "compiling");
        return;
    }
    follow(p, state);
    n = append(text, n, "[%u/%u] %.60s", p->furthest + 1, state->n_stages, state->stage);
    if (p->passes[p->at] > 1) n = append(text, n, ", pass %u", p->passes[p->at]);
    if (state->elements_total > 0) n = append(text, n, "  %3d %%", p->percent);
    if (state->elements_per_second > 0) {
        count_text(state->elements_per_second, rate);
        n = append(text, n, "  %s %s/s", rate, p->unit);
    }
    if (state->seconds_left >= 0 && state->elements_total > 0) {
        time_text(state->seconds_left, left);
        n = append(text, n, "  %s left", left);
    }
    if (state->releases > 0) append(text, n, "  %" PRId64 " blocks again", state->releases);
}

void cli_progress_update(void *progress, const loom_job_progress *state) {
    cli_progress *p = progress;
    char text[256];
    if (p->daemon && !p->shown && state->workers == 0 && state->seconds >= PATIENCE) tell_no_worker(p);
    if (!p->shown || state->seconds < PATIENCE) return;
    cli_progress_line(p, state, text);
    draw(p, text);
}

void cli_progress_end(cli_progress *progress) {
    if (progress->drawn) fputs("\r\033[K", stderr);
    progress->drawn = false;
    free(progress->passes);
    progress->passes = NULL;
    progress->n_passes = 0;
}
