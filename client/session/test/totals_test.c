/* What several jobs were together: sums, the largest peak, times by their label, texts once. */
#include "common/buffer.h"
#include "loom_test.h"
#include "session/session.h"
#include <stdlib.h>

static loom_job_result sample(double by, loom_job_time *times, size_t n_times, char **texts, size_t n_texts) {
    uint64_t whole = (uint64_t)by;
    for (size_t i = 0; i < n_times; i++) {
        const char *label = times[i].label;
        times[i] = (loom_job_time){label, by, whole, whole, whole, whole, whole};
    }
    return (loom_job_result){.releases = (int64_t)by,
                             .blocks_lost = (int64_t)by,
                             .elements = (int64_t)by,
                             .served = (int64_t)by,
                             .traversals = (uint32_t)by,
                             .seconds = {by, by, by, by, by, by, by},
                             .peak_bytes = whole,
                             .times = times,
                             .n_times = n_times,
                             .remarks = texts,
                             .n_remarks = n_texts,
                             .warnings = texts,
                             .n_warnings = n_texts};
}

LOOM_TEST(totals, of_jobs_with_some_in_common) {
    loom_job_result *t = loom_xcalloc(1, sizeof *t);
    loom_job_time of_a[] = {{.label = "read"}, {.label = "fold"}}, of_b[] = {{.label = "fold"}, {.label = "write"}};
    char *texts_a[] = {(char *)"slow", (char *)"slower"}, *texts_b[] = {(char *)"slower"};
    loom_job_interpreted slow_a[] = {{texts_a[0], 1}, {texts_a[1], 2}}, slow_b[] = {{texts_b[0], 4}};
    loom_job_result a = sample(5, of_a, 2, texts_a, 2), b = sample(3, of_b, 2, texts_b, 1);
    a.interpreted = slow_a;
    a.n_interpreted = 2;
    b.interpreted = slow_b;
    b.n_interpreted = 1;
    loom_job_result_add(t, &a);
    loom_job_result_add(t, &b);
    int64_t sums[] = {t->releases, t->blocks_lost, t->elements, t->served, t->traversals};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) LOOM_CHECK_EQ_INT(sums[i], 8);
    double seconds[] = {t->seconds.traversal, t->seconds.array,   t->seconds.handover, t->seconds.wait,
                        t->seconds.read,      t->seconds.compile, t->seconds.total};
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) LOOM_CHECK_NEAR(seconds[i], 8, 0);
    LOOM_CHECK_EQ_INT(t->peak_bytes, 5);
    LOOM_CHECK_EQ_INT(t->n_times, 3);
    const uint64_t each[] = {5, 8, 3}; /* read, fold, write */
    for (size_t i = 0; i < 3; i++) {
        const loom_job_time *x = &t->times[i];
        const uint64_t numbers[] = {x->calls, x->bytes, x->evaluations, x->moved, x->descriptors};
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) LOOM_CHECK_EQ_INT(numbers[k], each[i]);
        LOOM_CHECK_NEAR(x->seconds, (double)each[i], 0);
    }
    LOOM_CHECK_STR(t->times[2].label, "write");
    LOOM_CHECK_EQ_INT(t->n_remarks, 2);
    LOOM_CHECK_EQ_INT(t->n_warnings, 2);
    LOOM_CHECK_EQ_INT(t->n_interpreted, 2);
    LOOM_CHECK_STR(t->interpreted[1].why, "slower");
    LOOM_CHECK_NEAR(t->interpreted[0].seconds, 1, 0);
    LOOM_CHECK_NEAR(t->interpreted[1].seconds, 6, 0);
    loom_job_result_free(t);
}
