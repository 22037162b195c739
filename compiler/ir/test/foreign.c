/* Foreign functions: their table, the checker, printer and wire form. */
#include "compiler/ir/foreign.h"
#include "loom_test.h"
#include "samples.h"

/* foreign def dft (xs: [levels]of) = xs */
static loom_program *declared(loom_arena *arena, loom_dtype of, uint32_t levels, uint32_t foreign) {
    loom_program *p = loom_program_create(arena);
    loom_type_id t = loom_type_scalar(p, of);
    for (uint32_t i = 0; i < levels; i++) t = loom_type_array(p, t);
    loom_body_id b = loom_build_open(p, 1, &t, NOWHERE);
    loom_build_close(p, b, loom_build_param(p, b, 0));
    uint32_t f = loom_build_function(p, "dft", b, false, (const char *[]){"xs"});
    p->functions[f].foreign = foreign;
    return p;
}

static void refused(const loom_program *p, const char *part) {
    loom_status *status = loom_program_check(p);
    LOOM_CHECK_HAS(loom_status_message(status), part);
    loom_status_free(status);
}

LOOM_TEST(ir_foreign, names) {
    LOOM_CHECK_EQ_INT(loom_foreign_find("dft"), LOOM_FOREIGN_DFT);
    LOOM_CHECK_EQ_INT(loom_foreign_find("df"), LOOM_FOREIGN_NONE);
    LOOM_CHECK_EQ_INT(loom_foreign_find(""), LOOM_FOREIGN_NONE);
}

LOOM_TEST(ir_foreign, types) {
    loom_arena *arena = loom_arena_create(0);
    LOOM_OK(loom_program_check(declared(arena, LOOM_C64, 1, LOOM_FOREIGN_DFT)));
    LOOM_OK(loom_program_check(declared(arena, LOOM_C128, 1, LOOM_FOREIGN_DFT)));
    refused(declared(arena, LOOM_F64, 1, LOOM_FOREIGN_DFT), "the foreign function `dft` is [n]c64");
    refused(declared(arena, LOOM_C64, 2, LOOM_FOREIGN_DFT), "the foreign function `dft` is [n]c64");
    refused(declared(arena, LOOM_C64, 0, LOOM_FOREIGN_DFT), "the foreign function `dft` is [n]c64");
    refused(declared(arena, LOOM_C64, 1, LOOM_FOREIGNS), "does not exist");
    loom_arena_destroy(arena);
}

LOOM_TEST(ir_foreign, travels) {
    loom_arena *arena = loom_arena_create(0);
    char *bytes;
    size_t length;
    loom_program *back;
    LOOM_OK(loom_program_encode(declared(arena, LOOM_C64, 1, LOOM_FOREIGN_DFT), &bytes, &length));
    LOOM_OK(loom_program_decode(arena, bytes, length, &back));
    LOOM_CHECK_EQ_INT(back->functions[0].foreign, LOOM_FOREIGN_DFT);
    LOOM_CHECK(!back->functions[0].entry);
    free(bytes);
    loom_arena_destroy(arena);
}
