#include "loom_test.h"
#include <errno.h>

static char *printed(const loom_status *status) {
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    loom_status_print(status, to);
    fclose(to);
    return text;
}

LOOM_TEST(status, carries_code_and_message) {
    loom_status *s = loom_error(LOOM_E_DATA, "column %s has %d rows", "UVW", 3);
    LOOM_CHECK_EQ_INT(loom_status_code(s), LOOM_E_DATA);
    LOOM_CHECK_STR(loom_status_message(s), "column UVW has 3 rows");
    LOOM_CHECK(loom_status_file(s) == NULL);
    LOOM_CHECK_EQ_INT(loom_status_span(s).line, 0);
    loom_status_free(s);
}

LOOM_TEST(status, null_is_success) {
    LOOM_CHECK_EQ_INT(loom_status_code(NULL), LOOM_OK);
    LOOM_CHECK_STR(loom_status_message(NULL), "");
    LOOM_CHECK_EQ_INT(loom_status_notes(NULL), 0);
    LOOM_CHECK(loom_status_note(NULL, "unused") == NULL);
    char *text = loom_status_text(NULL);
    LOOM_CHECK_STR(text, "");
    free(text);
    loom_status_free(NULL);
}

LOOM_TEST(status, errno_is_spelled_out) {
    loom_status *s = loom_error_errno(LOOM_E_NOINPUT, 2, "cannot read %s", "a.ms");
    LOOM_CHECK_STR(loom_status_message(s), "cannot read a.ms: No such file or directory");
    loom_status_free(s);
}

/* Limits of the system are not the fault of a file. */
LOOM_TEST(status, errno_of_limits) {
    const struct {
        int errnum;
        loom_code code;
        const char *hint;
    } known[] = {{EMFILE, LOOM_E_OS, "ulimit -n"},
                 {ENOMEM, LOOM_E_MEMORY, "ulimit -v"},
                 {EFBIG, LOOM_E_NOINPUT, "ulimit -f"},
                 {ENOSPC, LOOM_E_NOINPUT, "full"},
                 {EACCES, LOOM_E_NOINPUT, NULL}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        loom_status *s = loom_error_errno(LOOM_E_NOINPUT, known[i].errnum, "cannot read a.ms");
        LOOM_CHECK_EQ_INT(loom_status_code(s), known[i].code);
        LOOM_CHECK_EQ_INT(loom_status_notes(s), known[i].hint != NULL);
        if (known[i].hint) LOOM_CHECK_HAS(loom_status_note_at(s, 0), known[i].hint);
        loom_status_free(s);
    }
}

LOOM_TEST(status, prints_place_and_notes) {
    loom_span span = {.file = 0, .line = 7, .column = 12, .end_line = 7, .end_column = 15};
    loom_status *s = loom_error_at(LOOM_E_TYPE, "p.weft", span, "expected %s", "f32");
    s = loom_status_note(s, "hint: write %s", "f32(x)");
    s = loom_status_note(s, "while checking main");
    LOOM_CHECK_EQ_INT(loom_status_notes(s), 2);
    LOOM_CHECK_STR(loom_status_note_at(s, 0), "hint: write f32(x)");
    LOOM_CHECK(loom_status_note_at(s, 2) == NULL);
    char *text = printed(s);
    LOOM_CHECK_STR(text, "error: p.weft:7:12: expected f32\n  hint: write f32(x)\n  while checking main\n");
    free(text);
    text = loom_status_text(s);
    LOOM_CHECK_STR(text, "p.weft:7:12: expected f32; hint: write f32(x); while checking main");
    free(text);
    loom_status_free(s);
}

/* What a file calls itself cannot clear the screen; letters of any language stay. */
LOOM_TEST(status, control_characters) {
    loom_status *s = loom_error(LOOM_E_DATA, "field '%s'", "\x1b[2Jname\r\x7f\xc2\x9b");
    s = loom_status_note(s, "hint: %s", "Å\t\n\b");
    LOOM_CHECK_STR(loom_status_message(s), "field '?[2Jname\?\?\?\?'");
    LOOM_CHECK_STR(loom_status_note_at(s, 0), "hint: Å\t\n?");
    loom_status_free(s);
}

LOOM_TEST(status, place_without_line) {
    loom_status *s = loom_error_at(LOOM_E_DATA, "x.npy", (loom_span){0}, "truncated");
    char *text = printed(s);
    LOOM_CHECK_STR(text, "error: x.npy: truncated\n");
    free(text);
    loom_status_free(s);
}

/* Names and exit codes are part of the interface: pinned here, one by one. */
LOOM_TEST(status, codes_are_pinned) {
    static const struct {
        loom_code code;
        const char *name;
        int exit;
    } pinned[] = {
        {LOOM_OK, "ok", 0},
        {LOOM_E_USAGE, "usage", 64},
        {LOOM_E_SYNTAX, "syntax", 65},
        {LOOM_E_TYPE, "type", 65},
        {LOOM_E_DATA, "data", 65},
        {LOOM_E_RUNTIME, "runtime", 65},
        {LOOM_E_NOINPUT, "noinput", 66},
        {LOOM_E_UNAVAILABLE, "unavailable", 69},
        {LOOM_E_INTERNAL, "internal", 70},
        {LOOM_E_OS, "os", 71},
        {LOOM_E_CANTCREATE, "cantcreate", 73},
        {LOOM_E_IO, "io", 74},
        {LOOM_E_TEMPFAIL, "tempfail", 75},
        {LOOM_E_PROTOCOL, "protocol", 76},
        {LOOM_E_DENIED, "denied", 77},
        {LOOM_E_CONFIG, "config", 78},
        {LOOM_E_LIMIT, "limit", 65},
        {LOOM_E_MEMORY, "memory", 71},
        {LOOM_E_CANCELLED, "cancelled", 130},
        {LOOM_E_FAILED, "failed", 1},
    };
    LOOM_CHECK_EQ_INT(sizeof pinned / sizeof *pinned, LOOM_E_LAST);
    for (int i = 0; i < LOOM_E_LAST; i++) {
        LOOM_CHECK_EQ_INT(pinned[i].code, i);
        LOOM_CHECK_STR(loom_code_name(pinned[i].code), pinned[i].name);
        LOOM_CHECK_EQ_INT(loom_code_exit(pinned[i].code), pinned[i].exit);
    }
    LOOM_CHECK_STR(loom_code_name((loom_code)4711), "unknown");
    LOOM_CHECK_EQ_INT(loom_code_exit((loom_code)4711), 70);
}

LOOM_TEST(status, exits_have_a_meaning) {
    int last = 0, exit = 0;
    bool known[256] = {[0] = true};
    for (size_t i = 0; loom_exit_meaning(i, &exit); i++) {
        LOOM_CHECK(exit > last && exit < 256);
        known[last = exit] = true;
    }
    for (int i = 0; i < LOOM_E_LAST; i++) LOOM_CHECK(known[loom_code_exit((loom_code)i)]);
}

static loom_status *passes_up(bool fail, int *reached) {
    LOOM_TRY(fail ? loom_error(LOOM_E_IO, "no") : NULL);
    *reached = 1;
    return NULL;
}

LOOM_TEST(status, try_returns_the_error) {
    int reached = 0;
    LOOM_FAILS(passes_up(true, &reached), LOOM_E_IO);
    LOOM_CHECK_EQ_INT(reached, 0);
    LOOM_OK(passes_up(false, &reached));
    LOOM_CHECK_EQ_INT(reached, 1);
}
