/* What jobs of one command were together. */
#include "common/buffer.h"
#include "session/session.h"
#include <stdlib.h>
#include <string.h>

static void add_text(char ***texts, size_t *n, const char *text) {
    for (size_t i = 0; i < *n; i++)
        if (strcmp((*texts)[i], text) == 0) return;
    *texts = loom_xrealloc(*texts, (*n + 1) * sizeof **texts);
    (*texts)[(*n)++] = loom_xstrdup(text);
}

static void add_time(loom_job_result *t, const loom_job_time *more) {
    for (size_t i = 0; i < t->n_times; i++) {
        if (strcmp(t->times[i].label, more->label) != 0) continue;
        t->times[i].seconds += more->seconds;
        t->times[i].calls += more->calls;
        t->times[i].bytes += more->bytes;
        t->times[i].evaluations += more->evaluations;
        t->times[i].moved += more->moved;
        t->times[i].descriptors += more->descriptors;
        return;
    }
    t->times = loom_xrealloc(t->times, (t->n_times + 1) * sizeof *t->times);
    t->times[t->n_times] = *more;
    t->times[t->n_times++].label = loom_xstrdup(more->label);
}

static void add_interpreted(loom_job_result *t, const loom_job_interpreted *more) {
    for (size_t i = 0; i < t->n_interpreted; i++) {
        if (strcmp(t->interpreted[i].why, more->why) != 0) continue;
        t->interpreted[i].seconds += more->seconds;
        return;
    }
    t->interpreted = loom_xrealloc(t->interpreted, (t->n_interpreted + 1) * sizeof *t->interpreted);
    t->interpreted[t->n_interpreted++] = (loom_job_interpreted){loom_xstrdup(more->why), more->seconds};
}

void loom_job_result_add(loom_job_result *t, const loom_job_result *job) {
    t->releases += job->releases;
    t->blocks_lost += job->blocks_lost;
    t->elements += job->elements;
    t->served += job->served;
    t->traversals += job->traversals;
    t->seconds.traversal += job->seconds.traversal;
    t->seconds.array += job->seconds.array;
    t->seconds.handover += job->seconds.handover;
    t->seconds.wait += job->seconds.wait;
    t->seconds.read += job->seconds.read;
    t->seconds.compile += job->seconds.compile;
    t->seconds.total += job->seconds.total;
    if (job->peak_bytes > t->peak_bytes) t->peak_bytes = job->peak_bytes;
    for (size_t i = 0; i < job->n_times; i++) add_time(t, &job->times[i]);
    for (size_t i = 0; i < job->n_remarks; i++) add_text(&t->remarks, &t->n_remarks, job->remarks[i]);
    for (size_t i = 0; i < job->n_warnings; i++) add_text(&t->warnings, &t->n_warnings, job->warnings[i]);
    for (size_t i = 0; i < job->n_interpreted; i++) add_interpreted(t, &job->interpreted[i]);
}
