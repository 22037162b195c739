/* Results to files and to the terminal: `-o [K=]FILE.npy` names a leaf of the result and a file for it; scalars print.
 */
#ifndef LOOM_CLIENT_OUTPUT_H
#define LOOM_CLIENT_OUTPUT_H

#include "common/file.h"
#include "common/option.h"
#include "common/paths.h"
#include "common/value.h"
#include "compiler/ir/core.h"
#include <stdio.h>

typedef struct loom_client_outputs loom_client_outputs;

/* Before anything runs: every K is a leaf of the result, and every file can be written. */
LOOM_MUST_USE loom_status *loom_client_outputs_create(const loom_program *p, uint32_t function,
                                                      const loom_option_list *given, loom_client_outputs **outputs);
void loom_client_outputs_free(loom_client_outputs *outputs); /* NULL is fine */
/* Adds all files that may be written. */
void loom_client_outputs_list(const loom_client_outputs *outputs, loom_paths *paths);
/* Writes the files, held in `files`, and prints what has none: scalars, short arrays in full, long ones by their shape.
 * The caller flushes `to` and commits. */
LOOM_MUST_USE loom_status *loom_client_outputs_hold(const loom_client_outputs *outputs, const loom_value *result,
                                                    FILE *to, loom_file_set *files);
/* The elements of a stream's result, one on a line: its parts with blanks between them. */
void loom_client_print_elements(const loom_value *elements, FILE *to);
/* "3", "0.25", "1+2i", "true": reads back as the same value. */
void loom_client_print_scalar(loom_dtype dtype, const void *at, FILE *to);

/* Whether a file of `bytes` bytes can be made at `path`: the folder takes it, and the disk has room. Leaves nothing,
 * signals of common/signals.h included. */
LOOM_MUST_USE loom_status *loom_client_check_writable(const char *path, uint64_t bytes);

#endif
