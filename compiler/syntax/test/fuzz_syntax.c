/* Any bytes as a program: no crash, no hang, errors have places, and a program that compiles passes the checker
 * (compile itself sees to that). What parses is formatted; the result must format to itself. */
#include "compiler/syntax/syntax.h"
#include <stdlib.h>
#include <string.h>

static void compile(const loom_source_file *file) {
    loom_arena *arena = loom_arena_create((size_t)1 << 30);
    loom_diagnostics diagnostics = {0};
    loom_program *program = NULL;
    loom_status *status = loom_syntax_compile(arena, file, 1, &diagnostics, &program);
    if (loom_status_code(status) == LOOM_E_INTERNAL) abort();
    if (!status && !program) abort();
    if (status && !diagnostics.any_error && loom_status_code(status) != LOOM_E_LIMIT) abort();
    loom_status_free(status);
    loom_arena_destroy(arena);
}

static void format(const loom_source_file *file) {
    loom_diagnostics diagnostics = {0};
    char *once = NULL, *twice = NULL;
    loom_status *status = loom_syntax_format(file, &diagnostics, &once);
    if (loom_status_code(status) == LOOM_E_INTERNAL) abort();
    if (!status) {
        loom_source_file again = {"fuzz.weft", once, strlen(once)};
        status = loom_syntax_format(&again, &diagnostics, &twice);
        if (status || strcmp(once, twice) != 0) abort();
    }
    loom_status_free(status);
    free(once);
    free(twice);
    loom_diagnostics_free(&diagnostics);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    loom_source_file file = {"fuzz.weft", (const char *)data, size};
    compile(&file);
    format(&file);
    return 0;
}
