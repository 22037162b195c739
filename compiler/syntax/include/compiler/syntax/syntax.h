/* Front end: Weft text to typed core.
 *
 * Lexing, parsing, checking and specialising in one call; as many errors as the text has are reported in one go (up to
 * LOOM_MAX_DIAGNOSTICS), each with file, line, column, what was expected, what was found, and one hint, and printed
 * with the source line and a caret. Threads: a call uses only its arena. The prelude (the .weft files of
 * compiler/prelude, linked in as text) is read before the user's files.
 */
#ifndef LOOM_COMPILER_SYNTAX_SYNTAX_H
#define LOOM_COMPILER_SYNTAX_SYNTAX_H

#include "compiler/ir/core.h"
#include "compiler/syntax/errors.h"

#define LOOM_MAX_DIAGNOSTICS 100 /* more help nobody, and a hostile text could make millions */

typedef struct loom_diagnostic {
    loom_weft_error error;
    bool warning;
    loom_span span;
    const char *message;
    const char *hint; /* or NULL */
} loom_diagnostic;

typedef struct loom_diagnostics {
    loom_diagnostic *at;
    size_t count, capacity;
    bool any_error;
    loom_arena *own; /* of what calls without an arena report; see loom_diagnostics_free */
} loom_diagnostics;

/* Compiles all entries of the text (several files are one text). On success *program holds checked core with every
 * entry as a function marked `entry`. On failure an error status (count of errors) is returned and diagnostics tell
 * more. Prints nothing. */
LOOM_MUST_USE loom_status *loom_syntax_compile(loom_arena *arena, const loom_source_file *files, size_t n_files,
                                               loom_diagnostics *diagnostics, loom_program **program);
/* "file:line:col: error: message [W0123]", source line, caret, hint. */
void loom_diagnostics_print(const loom_diagnostics *diagnostics, const loom_source_file *files, size_t n_files,
                            FILE *to);
/* Frees what loom_syntax_format and loom_syntax_print_ast reported (loom_syntax_compile reports into its arena). */
void loom_diagnostics_free(loom_diagnostics *diagnostics);
/* Canonical layout of a text (`gridloom fmt`); comments kept. malloc'ed. */
LOOM_MUST_USE loom_status *loom_syntax_format(const loom_source_file *file, loom_diagnostics *diagnostics, char **text);
/* `explain --stage ast`: prints the syntax tree. */
LOOM_MUST_USE loom_status *loom_syntax_print_ast(const loom_source_file *file, loom_diagnostics *diagnostics, FILE *to);

#endif
