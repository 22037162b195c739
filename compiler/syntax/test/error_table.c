/* The table of errors: its numbers, its examples, and what is printed of it. */
#include "common/buffer.h"
#include "compiler/syntax/errors.h"
#include "support.h"
#include <string.h>

/* Of all diagnostics each is this error. */
static void has_error(const loom_weft_entry *e, loom_weft_error error) {
    compiled c = compile_text(e->wrong);
    if (c.diagnostics.count == 0) {
        loom_test_fail(__FILE__, __LINE__, "W%04u: its wrong example has no errors:\n%s", e->number, e->wrong);
    }
    for (size_t i = 0; i < c.diagnostics.count; i++) {
        if (c.diagnostics.at[i].error == error) continue;
        loom_test_fail(__FILE__, __LINE__, "W%04u: its wrong example gives\n%s", e->number, c.errors);
    }
    LOOM_CHECK_STR(loom_code_name(c.code), loom_code_name(e->code));
    compiled_free(&c);
}

static void has_none(const loom_weft_entry *e, const char *text) {
    compiled c = compile_text(text);
    if (!c.program || c.diagnostics.count) {
        loom_test_fail(__FILE__, __LINE__, "W%04u: its example gives\n%s\n%s", e->number, text, c.errors);
    }
    compiled_free(&c);
}

LOOM_TEST(syntax_error_table, examples) {
    for (loom_weft_error i = 0; i < LOOM_WEFT_ERROR_COUNT; i++) {
        const loom_weft_entry *e = loom_weft_error_entry(i);
        LOOM_CHECK((e->wrong == NULL) == (e->right == NULL));
        /* What is found when it runs is for tests/integration/wrong_programs.py. */
        if (e->wrong && e->code == LOOM_E_RUNTIME) has_none(e, e->wrong);
        if (e->wrong && e->code != LOOM_E_RUNTIME) has_error(e, i);
        if (e->right) has_none(e, e->right);
    }
}

/* Ascending, so each is there once; in a group that the index has. */
LOOM_TEST(syntax_error_table, numbers) {
    unsigned last = 100;
    for (loom_weft_error i = 0; i < LOOM_WEFT_ERROR_COUNT; i++) {
        const loom_weft_entry *e = loom_weft_error_entry(i);
        LOOM_CHECK(e->number > last && e->number < 1100);
        LOOM_CHECK(*e->title && *e->text && e->text[strlen(e->text) - 1] == '.');
        last = e->number;
    }
}

LOOM_TEST(syntax_error_table, found_by_code) {
    const loom_weft_entry *e = loom_weft_error_find("W0301");
    LOOM_CHECK(e == loom_weft_error_entry(LOOM_W_UNKNOWN_NAME));
    LOOM_CHECK(loom_weft_error_find("w301") == e);
    LOOM_CHECK(loom_weft_error_find("301") == e);
    LOOM_CHECK(!loom_weft_error_find("W0000"));
    LOOM_CHECK(!loom_weft_error_find("W"));
    LOOM_CHECK(!loom_weft_error_find("W0301x"));
    LOOM_CHECK(!loom_weft_error_find("W99999999999999999999"));
}

LOOM_TEST(syntax_error_table, index_has_all) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    loom_weft_error_index(to);
    fclose(to);
    for (loom_weft_error i = 0; i < LOOM_WEFT_ERROR_COUNT; i++) {
        const loom_weft_entry *e = loom_weft_error_entry(i);
        char *head = loom_xprintf("\n### W%04u: %s\n", e->number, e->title);
        LOOM_CHECK_HAS(text, head);
        free(head);
    }
    free(text);
}
