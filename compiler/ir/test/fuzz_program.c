/* Serialised programs: scan, decode, check, print and encode again. What decodes must encode to the same bytes. */
#include "compiler/ir/core.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    loom_arena *arena = loom_arena_create(64u << 20);
    loom_program *p = NULL;
    loom_status *status = loom_program_decode(arena, data, size, &p);
    if (!status) {
        char *bytes = NULL;
        size_t length = 0;
        static FILE *nowhere;
        if (!nowhere) nowhere = fopen("/dev/null", "w");
        loom_program_print(p, nowhere);
        status = loom_program_encode(p, &bytes, &length);
        if (status || length != size || memcmp(bytes, data, size) != 0) abort();
        free(bytes);
    }
    loom_status_free(status);
    loom_arena_destroy(arena);
    return 0;
}
