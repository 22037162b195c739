/* What the table of errors says, for the command line and as a page. */
#include "compiler/syntax/errors.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const loom_weft_entry entries[LOOM_WEFT_ERROR_COUNT] = {
#define LOOM_WEFT_ENTRY(name, number, class, title, text, wrong, right)                                                \
    [LOOM_W_##name] = {number, class, title, text, wrong, right},
#define SYNTAX  LOOM_E_SYNTAX
#define TYPE    LOOM_E_TYPE
#define LIMIT   LOOM_E_LIMIT
#define OK      LOOM_OK
#define RUNTIME LOOM_E_RUNTIME
    LOOM_WEFT_ERRORS(LOOM_WEFT_ENTRY)};
#undef SYNTAX
#undef TYPE
#undef LIMIT
#undef OK
#undef RUNTIME

const loom_weft_entry *loom_weft_error_entry(loom_weft_error error) {
    return &entries[error];
}

bool loom_weft_error_is_code(const char *text) {
    if (*text == 'W' || *text == 'w') text++;
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && text[digits] == '\0';
}

const loom_weft_entry *loom_weft_error_find(const char *code) {
    if (!loom_weft_error_is_code(code)) return NULL;
    unsigned long number = strtoul(code + (isdigit((unsigned char)*code) ? 0 : 1), NULL, 10);
    for (size_t i = 0; i < LOOM_WEFT_ERROR_COUNT; i++) {
        if (entries[i].number == number) return &entries[i];
    }
    return NULL;
}

/* Words, in lines of at most 100 columns. */
static void print_filled(const char *text, FILE *to) {
    enum {
        WIDEST = 100
    };
    size_t column = 0;
    while (*text) {
        size_t n = strcspn(text, " ");
        if (column && column + 1 + n > WIDEST) {
            fputc('\n', to);
            column = 0;
        }
        if (column) column += (size_t)fprintf(to, " ");
        column += (size_t)fprintf(to, "%.*s", (int)n, text);
        text += n;
        text += strspn(text, " ");
    }
    fputc('\n', to);
}

/* A program, each line behind four blanks: so it is shown as code in Markdown too. */
static void print_program(const char *what, const char *text, FILE *to) {
    fprintf(to, "\n%s:\n\n", what);
    while (*text) {
        size_t n = strcspn(text, "\n");
        fprintf(to, "    %.*s\n", (int)n, text);
        text += n;
        if (*text) text++;
    }
}

static void print_body(const loom_weft_entry *e, FILE *to) {
    print_filled(e->text, to);
    if (e->wrong) print_program("Wrong", e->wrong, to);
    if (e->right) print_program("Right", e->right, to);
}

void loom_weft_error_print(const loom_weft_entry *e, FILE *to) {
    fprintf(to, "W%04u: %s\n\n", e->number, e->title);
    print_body(e, to);
}

void loom_weft_error_index(FILE *to) {
    static const struct {
        unsigned hundred;
        const char *title;
    } groups[] = {{1, "Characters"},     {2, "Grammar"},
                  {3, "Names"},          {4, "Types"},
                  {5, "Sequences"},      {6, "Sizes"},
                  {7, "Match and loop"}, {8, "Stencils and permutes"},
                  {9, "Limits"},         {10, "Programs that run"}};
    fputs("# Errors\n\n"
          "What `gridloom` says of a wrong Weft program ends with a code in brackets. Here is what each of them means, "
          "with a\nprogram that has the error and one that has not; `gridloom help W0301` shows one of them. Codes do "
          "not "
          "change\ntheir meaning. This page is written by `gridloom help --errors`.\n",
          to);
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        fprintf(to, "\n## %s\n", groups[g].title);
        for (size_t i = 0; i < LOOM_WEFT_ERROR_COUNT; i++) {
            const loom_weft_entry *e = &entries[i];
            if (e->number / 100 != groups[g].hundred) continue;
            fprintf(to, "\n### W%04u: %s\n\n", e->number, e->title);
            print_body(e, to);
        }
    }
}
