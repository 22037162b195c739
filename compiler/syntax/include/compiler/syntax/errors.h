/* The codes of the front end's errors: what each is, at length, with an example (`gridloom help W0301`), and the index
 * of them all (docs/errors.md). The table is error_table.h. Threads: any.
 */
#ifndef LOOM_COMPILER_SYNTAX_ERRORS_H
#define LOOM_COMPILER_SYNTAX_ERRORS_H

#include "common/status.h"
#include "compiler/syntax/error_table.h"
#include <stdbool.h>
#include <stdio.h>

typedef enum loom_weft_error {
#define LOOM_WEFT_ENUM(name, number, class, title, text, wrong, right) LOOM_W_##name,
    LOOM_WEFT_ERRORS(LOOM_WEFT_ENUM)
#undef LOOM_WEFT_ENUM
    LOOM_WEFT_ERROR_COUNT
} loom_weft_error;

typedef struct loom_weft_entry {
    unsigned number; /* shown as W and four digits */
    loom_code code;  /* of a program that has it; LOOM_OK: a warning, such a program runs */
    const char *title, *text;
    const char *wrong, *right; /* whole programs; NULL: none */
} loom_weft_entry;

const loom_weft_entry *loom_weft_error_entry(loom_weft_error error);
/* By what users see: "W0301", "w301", "301". NULL: none of ours. */
const loom_weft_entry *loom_weft_error_find(const char *code);
/* Looks as if it were meant as a code: W and digits. */
bool loom_weft_error_is_code(const char *text);
/* One entry, as `gridloom help W0301` shows it. */
void loom_weft_error_print(const loom_weft_entry *entry, FILE *to);
/* All of them: docs/errors.md. */
void loom_weft_error_index(FILE *to);

#endif
