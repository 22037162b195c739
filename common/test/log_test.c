#include "common/log.h"
#include "loom_test.h"
#include <errno.h>
#include <unistd.h>

/* What `say` writes to standard error. */
static char *said(void (*say)(void)) {
    FILE *file = tmpfile();
    fflush(stderr);
    int saved = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    say();
    dup2(saved, STDERR_FILENO);
    close(saved);
    static char room[4096];
    rewind(file);
    size_t n = fread(room, 1, sizeof room - 1, file);
    room[n] = '\0';
    fclose(file);
    return room;
}

static void say_levels(void) {
    loom_log(LOOM_LOG_ERROR, "an error");
    loom_log(LOOM_LOG_WARN, "a warning");
    loom_log(LOOM_LOG_INFO, "a remark");
    loom_log(LOOM_LOG_DEBUG, "a detail");
}

LOOM_TEST(log, level_decides) {
    loom_log_init("testprogram");
    loom_log_set_level(LOOM_LOG_WARN);
    char *text = said(say_levels);
    LOOM_CHECK_HAS(text, "testprogram[");
    LOOM_CHECK_HAS(text, "error: an error\n");
    LOOM_CHECK_HAS(text, "warn: a warning\n");
    LOOM_CHECK(!strstr(text, "remark") && !strstr(text, "detail"));
    loom_log_set_level(LOOM_LOG_DEBUG);
    LOOM_CHECK_HAS(said(say_levels), "debug: a detail\n");
    LOOM_CHECK(loom_log_enabled(LOOM_LOG_DEBUG));
}

LOOM_TEST(log, level_from_environment) {
    setenv("GRIDLOOM_LOG", "info", 1);
    loom_log_init("testprogram");
    LOOM_CHECK(loom_log_enabled(LOOM_LOG_INFO));
    LOOM_CHECK(!loom_log_enabled(LOOM_LOG_DEBUG));
    setenv("GRIDLOOM_LOG", "error", 1);
    loom_log_init("testprogram");
    LOOM_CHECK(!loom_log_enabled(LOOM_LOG_WARN));
    unsetenv("GRIDLOOM_LOG");
    loom_log_set_level(LOOM_LOG_WARN);
}

static void say_lines(void) {
    errno = ENOSPC;
    loom_log(LOOM_LOG_ERROR, "one\ntwo\rthree");
    LOOM_CHECK_EQ_INT(errno, ENOSPC);
    loom_log_status(LOOM_LOG_ERROR, loom_status_note(loom_error(LOOM_E_IO, "disk"), "note"));
    loom_log_status(LOOM_LOG_DEBUG, loom_error(LOOM_E_IO, "not shown"));
    loom_log_status(LOOM_LOG_ERROR, NULL);
}

LOOM_TEST(log, one_line_a_message) {
    loom_log_init("testprogram");
    loom_log_set_level(LOOM_LOG_WARN);
    char *text = said(say_lines);
    LOOM_CHECK_HAS(text, "one two three\n");
    LOOM_CHECK_HAS(text, "error: disk; note\n");
    int lines = 0;
    for (const char *c = text; *c; c++) lines += *c == '\n';
    LOOM_CHECK_EQ_INT(lines, 2);
}
