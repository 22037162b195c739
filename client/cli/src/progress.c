/* One line on standard error, drawn over itself. Shown only on a terminal, and only for work that takes longer than a
 * moment: a command that ends at once leaves no trace. */
#include "cli.h"
#include <math.h>
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

void cli_progress_update(void *progress, const loom_job_progress *state) {
    cli_progress *p = progress;
    if (p->daemon && !p->shown && state->workers == 0 && state->seconds >= PATIENCE) tell_no_worker(p);
    if (!p->shown || state->seconds < PATIENCE) return;
    char text[256], rate[16], left[32];
    size_t n = 0;
    if (state->workers == 0) {
        draw(p, "waiting for a worker");
        return;
    }
    if (state->n_stages == 0 || !state->stage || !*state->stage) {
        draw(p, state->n_stages ? "starting" : "compiling");
        return;
    }
    n += (size_t)snprintf(text, sizeof text, "[%u/%u] %.60s", state->stage_index + 1, state->n_stages, state->stage);
    if (state->elements_total > 0 && n < sizeof text) {
        n += (size_t)snprintf(text + n, sizeof text - n, "  %3.0f %%",
                              100.0 * (double)state->elements_done / (double)state->elements_total);
    }
    if (state->elements_per_second > 0 && n < sizeof text) {
        count_text(state->elements_per_second, rate);
        n += (size_t)snprintf(text + n, sizeof text - n, "  %s %s/s", rate, p->unit);
    }
    if (state->seconds_left >= 0 && state->elements_total > 0 && n < sizeof text) {
        time_text(state->seconds_left, left);
        n += (size_t)snprintf(text + n, sizeof text - n, "  %s left", left);
    }
    if (state->releases > 0 && n < sizeof text) {
        snprintf(text + n, sizeof text - n, "  %lld blocks again", (long long)state->releases);
    }
    draw(p, text);
}

void cli_progress_end(cli_progress *progress) {
    if (progress->drawn) fputs("\r\033[K", stderr);
    progress->drawn = false;
}
