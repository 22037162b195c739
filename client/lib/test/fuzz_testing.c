/* Tests in comments, from any text: blocks are read, then their values against a few types. What is read is a value
 * without broken invariants, and equal to itself. */
#include "client/program.h"
#include "client/testing.h"
#include <stdlib.h>
#include <string.h>

enum {
    PARAMETERS = 4
};

static loom_client_program *types(void) {
    static const char text[] = "entry main (a: [][]i32) (t: (bool, f32)) (s: seq u8) (z: c128) : i64 = 0";
    static loom_client_program *p;
    if (p) return p;
    loom_status *status = loom_client_embedded("types.weft", text, sizeof text - 1, &p);
    if (!status) status = loom_client_compile(p);
    if (status) abort();
    return p;
}

static void check(loom_status *status, loom_value **values) {
    for (uint32_t i = 0; i < PARAMETERS && !status; i++) {
        loom_status *broken = loom_value_check(values[i]);
        if (broken || loom_testing_difference(values[i], values[i], 0)) abort();
        loom_value_unref(values[i]);
    }
    loom_status_free(status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const loom_program *p = types()->program;
    loom_type_id wanted[PARAMETERS];
    for (uint32_t i = 0; i < PARAMETERS; i++) wanted[i] = loom_client_param_type(p, 0, i);
    loom_arena *arena = loom_arena_create((size_t)1 << 28);
    loom_testing_blocks blocks = {0};
    loom_status *status = loom_testing_parse(arena, "fuzz", (const char *)data, size, &blocks);
    for (uint32_t b = 0; b < blocks.count && !status; b++) {
        for (uint32_t c = 0; c < blocks.at[b].n_cases; c++) {
            const loom_testing_case *one = &blocks.at[b].cases[c];
            loom_value *values[PARAMETERS] = {NULL};
            if (one->error) loom_testing_fits(one->error, "index 3 is outside an array of 2 elements");
            if (one->skipped) continue;
            check(one->random ? loom_testing_random(one->input, p, PARAMETERS, wanted, NULL, 4096, 1, values)
                              : loom_testing_read(one->input, p, PARAMETERS, wanted, NULL, 4096, values),
                  values);
        }
    }
    loom_testing_free(&blocks);
    loom_status_free(status);
    loom_arena_destroy(arena);
    return 0;
}
