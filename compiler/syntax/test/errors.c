/* Wrong programs under tests/programs/errors: each carries, at its end, one line `-- expect error LINE: text` for every
 * error it must give; `LINE:COLUMN: text | hint` also says where the caret is, and what is in the hint. All of them
 * must come, in one go, and no other. */
#include "common/buffer.h"
#include "common/file.h"
#include "support.h"
#include <dirent.h>

#define FOLDER "tests/programs/errors"

typedef struct expectation {
    unsigned line, column; /* column 0: any */
    char text[512];
    const char *hint; /* in text; NULL: any */
    bool met;
} expectation;

static size_t read_expectations(const char *text, expectation *list, size_t capacity) {
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, "-- expect error ")) && n < capacity; n++) {
        at += strlen("-- expect error ");
        char *colon;
        list[n] = (expectation){.line = (unsigned)strtoul(at, &colon, 10)};
        if (colon[1] >= '0' && colon[1] <= '9') list[n].column = (unsigned)strtoul(colon + 1, &colon, 10);
        size_t length = strcspn(colon + 2, "\n");
        if (length >= sizeof list[n].text) length = sizeof list[n].text - 1;
        memcpy(list[n].text, colon + 2, length);
        list[n].text[length] = '\0';
        char *bar = strstr(list[n].text, " | ");
        if (!bar) continue;
        *bar = '\0';
        list[n].hint = bar + 3;
    }
    return n;
}

static bool meets(const loom_diagnostic *d, const expectation *e) {
    if (d->span.line != e->line || !strstr(d->message, e->text)) return false;
    if (e->column && d->span.column != e->column) return false;
    return !e->hint || (d->hint && strstr(d->hint, e->hint));
}

static void check_file(const char *path) {
    static expectation list[200];
    char *text;
    size_t length;
    LOOM_OK(loom_file_read(path, 1 << 20, &text, &length));
    size_t n = read_expectations(text, list, 200);
    if (n == 0) loom_test_fail(path, 1, "expects no error");
    compiled c = compile_bytes(text, length);
    for (size_t i = 0; i < c.diagnostics.count; i++) {
        const loom_diagnostic *d = &c.diagnostics.at[i];
        bool expected = false;
        for (size_t k = 0; k < n && !expected; k++) {
            expected = !list[k].met && meets(d, &list[k]);
            if (expected) list[k].met = true;
        }
        if (!expected)
            loom_test_fail(path, (int)d->span.line, "unexpected, in column %u: %s (%s)", d->span.column, d->message,
                           d->hint ? d->hint : "no hint");
        LOOM_CHECK(d->span.column > 0);
    }
    for (size_t k = 0; k < n; k++) {
        if (!list[k].met)
            loom_test_fail(path, (int)list[k].line, "missing, in column %u: %s (%s)", list[k].column, list[k].text,
                           list[k].hint ? list[k].hint : "any hint");
    }
    compiled_free(&c);
    free(text);
}

LOOM_TEST(syntax_errors, files) {
    DIR *folder = opendir(FOLDER);
    LOOM_CHECK(folder);
    unsigned files = 0;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        size_t n = strlen(entry->d_name);
        if (n < 5 || strcmp(entry->d_name + n - 5, ".weft") != 0) continue;
        char *path = loom_xprintf(FOLDER "/%s", entry->d_name);
        check_file(path);
        free(path);
        files++;
    }
    closedir(folder);
    LOOM_CHECK(files >= 8);
}

LOOM_TEST(syntax_errors, are_printed_with_line_caret_and_hint) {
    compiled c = compile_text("-- \xc3\xa9\nentry main (x: i32) (y: i64) = x + y\n");
    LOOM_CHECK_HAS(c.errors, "test.weft:2:32: error: both sides of `+` must have one type, found i32 and i64 [W0410]\n"
                             "    entry main (x: i32) (y: i64) = x + y\n"
                             "                                   ^~~~~\n"
                             "    hint: nothing is converted by itself: write `i64 x`\n");
    compiled_free(&c);
}

/* Of a line too long to be shown, the part around the place of the error. */
LOOM_TEST(syntax_errors, far_to_the_right) {
    loom_buffer text = {0};
    loom_buffer_printf(&text, "entry main (x: i64) = x");
    for (int i = 0; i < 100; i++) loom_buffer_printf(&text, " + x");
    loom_buffer_printf(&text, " + fnord");
    for (int i = 0; i < 100; i++) loom_buffer_printf(&text, " + x");
    compiled c = compile_bytes(text.data, text.length);
    const char *line = strstr(c.errors, "\n    ..."), *caret = strstr(c.errors, "^~~~~\n");
    LOOM_CHECK(line && caret && strlen(c.errors) < 500);
    LOOM_CHECK_HAS(c.errors, "test.weft:1:427: error: unknown name `fnord` [W0301]\n    ...");
    const char *end = line ? strchr(line + 1, '\n') : NULL;
    LOOM_CHECK(end && strncmp(end - 3, "...", 3) == 0);
    LOOM_CHECK(end && caret && strncmp(line + (caret - end), "fnord", 5) == 0);
    compiled_free(&c);
    loom_buffer_free(&text);
}

LOOM_TEST(syntax_errors, no_more_than_the_limit) {
    loom_buffer text = {0};
    for (int i = 0; i < 300; i++) loom_buffer_printf(&text, "entry e%d = fnord%d\n", i, i);
    compiled c = compile_bytes(text.data, text.length);
    LOOM_CHECK_EQ_INT(c.diagnostics.count, LOOM_MAX_DIAGNOSTICS);
    compiled_free(&c);
    loom_buffer_free(&text);
}

/* Several files are one text; places name the right one. */
LOOM_TEST(syntax_errors, in_the_second_file) {
    loom_arena *arena = loom_arena_create(0);
    const char *one = "def double x = x * 2\n", *two = "entry main (x: f32) = double x + fnord\n";
    loom_source_file files[2] = {{"one.weft", one, strlen(one)}, {"two.weft", two, strlen(two)}};
    loom_diagnostics d = {0};
    loom_program *program = NULL;
    LOOM_FAILS(loom_syntax_compile(arena, files, 2, &d, &program), LOOM_E_TYPE);
    LOOM_CHECK_EQ_INT(d.count, 1);
    LOOM_CHECK_EQ_INT(d.at[0].span.file, 1);
    LOOM_CHECK_EQ_INT(d.at[0].span.line, 1);
    loom_arena_destroy(arena);
}

LOOM_TEST(syntax_errors, byte_order_mark_is_skipped) {
    compiled c = compile_good("\xef\xbb\xbf"
                              "entry main (x: i64) : i64 = x\n");
    compiled_free(&c);
    c = compile_text("\xef\xbb\xbf"
                     "entry main (x: i64) : i64 = y\n");
    LOOM_CHECK_HAS(c.errors, "test.weft:1:29: error: unknown name `y` [W0301]\n"
                             "    entry main (x: i64) : i64 = y\n"
                             "                                ^\n");
    compiled_free(&c);
    check_error("entry main (x: i64) : i64 = x \xef\xbb\xbf\n", LOOM_E_SYNTAX, "no meaning here");
}

/* Through both doors: an unfinished text ends before its declarations do. */
LOOM_TEST(syntax_errors, a_let_without_a_value) {
    compiled c = compile_text("entry main (x: i64) : i64 =\n  let y = x + 1 in\n");
    LOOM_CHECK_HAS(c.errors, "test.weft:2:19: error: expected an expression, found the end of the");
    LOOM_CHECK_HAS(c.errors, "hint: after `in` comes the value, made with what the `let` names");
    compiled_free(&c);
    c = compile_text("entry main (x: i64) : i64 =\n");
    LOOM_CHECK_HAS(c.errors, "hint: a value belongs here, such as `1`, `x + 1` or `f x`");
    compiled_free(&c);
}
