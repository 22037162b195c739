/* The pool of compile children, with children that are shell scripts. */
#include "common/buffer.h"
#include "common/clock.h"
#include "common/file.h"
#include "compile_pool.h"
#include "loom_test.h"
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct rig {
    uv_loop_t loop;
    char *folder, *program;
    loom_compile_pool *pool;
    int answers, errors;
    loom_code code;
    char text[256];
} rig;

static void set_up(rig *r, const char *script, loom_compile_limits limits) {
    memset(r, 0, sizeof *r);
    signal(SIGPIPE, SIG_IGN);
    uv_loop_init(&r->loop);
    r->folder = loom_xstrdup("/tmp/loom-pool-XXXXXX");
    LOOM_CHECK(mkdtemp(r->folder));
    r->program = loom_xprintf("%s/child", r->folder);
    char *text = loom_xprintf("#!/bin/sh\n%s\n", script);
    LOOM_OK(loom_file_write(r->program, text, strlen(text), false));
    chmod(r->program, 0700);
    free(text);
    r->pool = loom_compile_pool_create(&r->loop, r->program, &limits, 2);
}

static void tear_down(rig *r) {
    loom_compile_pool_destroy(r->pool);
    uv_run(&r->loop, UV_RUN_DEFAULT);
    LOOM_CHECK_EQ_INT(uv_loop_close(&r->loop), 0);
    loom_remove_tree(r->folder);
    free(r->folder);
    free(r->program);
}

static void done(void *user, loom_status *error, const void *reply, size_t length) {
    rig *r = user;
    if (error) {
        r->errors++;
        r->code = loom_status_code(error);
        char *text = loom_status_text(error);
        snprintf(r->text, sizeof r->text, "%s", text);
        free(text);
        loom_status_free(error);
    } else {
        r->answers++;
        snprintf(r->text, sizeof r->text, "%.*s", (int)length, (const char *)reply);
    }
}

static void run_until(rig *r, int events) {
    double until = loom_seconds() + 30;
    while (r->answers + r->errors < events && loom_seconds() < until) {
        uv_run(&r->loop, UV_RUN_NOWAIT);
        usleep(500);
    }
    LOOM_CHECK_EQ_INT(r->answers + r->errors, events);
}

static loom_compile_job *submit(rig *r) {
    return loom_compile_pool_submit(r->pool, loom_xstrdup("hello"), 5, done, r);
}

LOOM_TEST(pool, answers_come_back) {
    rig r;
    /* Reads length and text; answers with the text. */
    set_up(&r,
           "head -c 8 >/dev/null; t=$(head -c 5); printf '\\005\\000\\000\\000\\000\\000\\000\\000'; printf %s \"$t\"",
           loom_compile_default_limits);
    for (int i = 0; i < 7; i++) submit(&r);
    run_until(&r, 7);
    LOOM_CHECK_EQ_INT(r.answers, 7);
    LOOM_CHECK_STR(r.text, "hello");
    tear_down(&r);
}

LOOM_TEST(pool, a_crash_is_an_error) {
    rig r;
    set_up(&r, "head -c 13 >/dev/null; kill -SEGV $$", loom_compile_default_limits);
    submit(&r);
    run_until(&r, 1);
    LOOM_CHECK_EQ_INT(r.code, LOOM_E_INTERNAL);
    LOOM_CHECK_HAS(r.text, "signal 11");
    tear_down(&r);
}

/* How often a program that reads its request has begun with it. */
#define COUNTED "head -c 8 >/dev/null; t=$(head -c 5); echo x >>$0.tries; n=$(wc -l <$0.tries); "

static long long tries(const rig *r) {
    char *path = loom_xprintf("%s.tries", r->program), *text;
    size_t length;
    LOOM_OK(loom_file_read(path, 1 << 20, &text, &length));
    free(text);
    free(path);
    return (long long)length / 2;
}

LOOM_TEST(pool, a_child_that_is_killed_is_tried_again) {
    rig r;
    set_up(&r,
           COUNTED "test $n -lt 3 && kill -KILL $$; "
                   "printf '\\005\\000\\000\\000\\000\\000\\000\\000'; printf %s \"$t\"",
           loom_compile_default_limits);
    submit(&r);
    run_until(&r, 1);
    LOOM_CHECK_EQ_INT(r.answers, 1);
    LOOM_CHECK_STR(r.text, "hello");
    LOOM_CHECK_EQ_INT(tries(&r), 3);
    tear_down(&r);
}

static void ends_by_a_signal(const char *program, const char *signal, int expected_tries, loom_code code) {
    rig r;
    set_up(&r, program, loom_compile_default_limits);
    submit(&r);
    run_until(&r, 1);
    LOOM_CHECK_EQ_INT(r.code, code);
    LOOM_CHECK_HAS(r.text, signal);
    LOOM_CHECK_EQ_INT(strstr(r.text, "hint: ") != NULL && strstr(r.text, "memory") != NULL, code == LOOM_E_OS);
    LOOM_CHECK_EQ_INT(tries(&r), expected_tries);
    tear_down(&r);
}

LOOM_TEST(pool, one_that_is_always_killed_is_an_error) {
    ends_by_a_signal(COUNTED "kill -KILL $$", "signal 9", 3, LOOM_E_OS);
}

LOOM_TEST(pool, one_that_ends_itself_is_not_tried_again) {
    ends_by_a_signal(COUNTED "kill -ABRT $$", "signal 6", 1, LOOM_E_INTERNAL);
}

LOOM_TEST(pool, an_end_without_an_answer_is_an_error) {
    rig r;
    set_up(&r, "head -c 13 >/dev/null; printf abc; exit 3", loom_compile_default_limits);
    submit(&r);
    run_until(&r, 1);
    LOOM_CHECK_EQ_INT(r.code, LOOM_E_INTERNAL);
    tear_down(&r);
}

LOOM_TEST(pool, time_is_limited) {
    rig r;
    loom_compile_limits limits = loom_compile_default_limits;
    limits.seconds = 0.3;
    set_up(&r, "head -c 13 >/dev/null; exec sleep 60", limits);
    submit(&r);
    run_until(&r, 1);
    LOOM_CHECK_EQ_INT(r.code, LOOM_E_LIMIT);
    tear_down(&r);
}

LOOM_TEST(pool, the_length_of_an_answer_is_limited) {
    rig r;
    set_up(&r, "head -c 13 >/dev/null; printf '\\377\\377\\377\\377\\377\\000\\000\\000'; exec sleep 60",
           loom_compile_default_limits);
    submit(&r);
    run_until(&r, 1);
    LOOM_CHECK_EQ_INT(r.code, LOOM_E_INTERNAL);
    tear_down(&r);
}

LOOM_TEST(pool, cancelled_jobs_are_silent) {
    rig r;
    set_up(&r, "head -c 13 >/dev/null; exec sleep 60", loom_compile_default_limits);
    loom_compile_job *jobs[5];
    for (int i = 0; i < 5; i++) jobs[i] = submit(&r);
    for (int i = 0; i < 20; i++) {
        uv_run(&r.loop, UV_RUN_NOWAIT);
        usleep(1000);
    }
    for (int i = 0; i < 5; i++) loom_compile_pool_cancel(jobs[i]);
    double until = loom_seconds() + 0.2;
    while (loom_seconds() < until) uv_run(&r.loop, UV_RUN_NOWAIT);
    LOOM_CHECK_EQ_INT(r.answers + r.errors, 0);
    tear_down(&r);
}

LOOM_TEST(pool, a_program_that_is_not_there_is_an_error) {
    rig r;
    set_up(&r, "exit 0", loom_compile_default_limits);
    unlink(r.program);
    submit(&r);
    run_until(&r, 1);
    LOOM_CHECK_EQ_INT(r.errors, 1);
    tear_down(&r);
}

LOOM_TEST(pool, destroyed_in_the_middle) {
    rig r;
    set_up(&r, "head -c 13 >/dev/null; exec sleep 60", loom_compile_default_limits);
    for (int i = 0; i < 4; i++) submit(&r);
    for (int i = 0; i < 20; i++) uv_run(&r.loop, UV_RUN_NOWAIT);
    tear_down(&r);
    LOOM_CHECK_EQ_INT(r.answers + r.errors, 0);
}
