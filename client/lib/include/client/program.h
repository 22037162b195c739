/* Weft programs as commands use them: read from files, compiled, with their diagnostics at hand.
 * Threads: one at a time. Ownership: a loom_client_program owns its texts and its arena, and everything in them. */
#ifndef LOOM_CLIENT_PROGRAM_H
#define LOOM_CLIENT_PROGRAM_H

#include "common/limits.h"
#include "compiler/syntax/syntax.h"

/* What compiling a text may take: a hundred times the nodes of the largest program that ships. */
#define LOOM_CLIENT_COMPILE_BYTES ((size_t)4 << 30)

typedef struct loom_client_program {
    loom_arena *arena;
    loom_source_file *files;
    char **texts; /* of the files that were read */
    size_t n_files;
    loom_diagnostics diagnostics;
    loom_program *program; /* NULL if it did not compile */
} loom_client_program;

/* Reads the files ("-" is standard input). */
LOOM_MUST_USE loom_status *loom_client_read(const char *const *paths, size_t n, loom_client_program **program);
/* A text that is linked in. */
LOOM_MUST_USE loom_status *loom_client_embedded(const char *name, const char *text, size_t length,
                                                loom_client_program **program);
/* Several, as one program; they outlive it. */
LOOM_MUST_USE loom_status *loom_client_embedded_files(const loom_source_file *files, size_t n,
                                                      loom_client_program **program);
/* Compiles what was read. On failure `diagnostics` says more, as loom_syntax_compile does. */
LOOM_MUST_USE loom_status *loom_client_compile(loom_client_program *program);
void loom_client_program_free(loom_client_program *program); /* NULL is fine */

/* The entry of that name; NULL: main, or the only one. The error lists what there is. */
LOOM_MUST_USE loom_status *loom_client_entry(const loom_client_program *program, const char *name, uint32_t *function);

/* A function's parameters and result. */
uint32_t loom_client_n_params(const loom_program *p, uint32_t function);
const char *loom_client_param_name(const loom_program *p, uint32_t function, uint32_t i);
loom_type_id loom_client_param_type(const loom_program *p, uint32_t function, uint32_t i);
loom_type_id loom_client_result_type(const loom_program *p, uint32_t function);
/* "dotp (xs: seq f32) (ys: seq f32) : f32". malloc'ed. */
char *loom_client_signature(const loom_program *p, uint32_t function);

#endif
