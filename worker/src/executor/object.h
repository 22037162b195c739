/* A relocatable object linked into this process by LLVM ORC.
 *
 * The object sees the symbols of an allow-list and nothing else of the process: a bare dynamic library with absolute
 * symbols, no search of the process. What it needs beyond the list is an error that names it. Code is checked by its
 * maker and not sandboxed.
 *
 * Threads: linking and destroying one at a time per object; the code may run on any thread while the object lives.
 */
#ifndef LOOM_WORKER_OBJECT_H
#define LOOM_WORKER_OBJECT_H

#include "common/status.h"

typedef struct loom_object loom_object;

/* Links `bytes` (ELF, relocatable, position independent; copied) and finds `n` symbols, whose addresses go to
 * addresses[0..n). All are found now, so that a missing one is an error before anything runs. */
LOOM_MUST_USE loom_status *loom_object_link(const void *bytes, size_t length, const char *const *symbols, uint32_t n,
                                            void **addresses, loom_object **object);
void loom_object_destroy(loom_object *object); /* NULL is fine */

#endif
