#include "common/dtype.h"
#include "loom_test.h"

/* Values of the enum travel in files and messages: pinned. */
LOOM_TEST(dtype, table_is_pinned) {
    static const struct {
        loom_dtype type;
        int value;
        const char *name;
        size_t size;
        loom_dtype real;
    } pinned[] = {
        {LOOM_BOOL, 0, "bool", 1, LOOM_BOOL},  {LOOM_I8, 1, "i8", 1, LOOM_I8},     {LOOM_I16, 2, "i16", 2, LOOM_I16},
        {LOOM_I32, 3, "i32", 4, LOOM_I32},     {LOOM_I64, 4, "i64", 8, LOOM_I64},  {LOOM_U8, 5, "u8", 1, LOOM_U8},
        {LOOM_U16, 6, "u16", 2, LOOM_U16},     {LOOM_U32, 7, "u32", 4, LOOM_U32},  {LOOM_U64, 8, "u64", 8, LOOM_U64},
        {LOOM_F32, 9, "f32", 4, LOOM_F32},     {LOOM_F64, 10, "f64", 8, LOOM_F64}, {LOOM_C64, 11, "c64", 8, LOOM_F32},
        {LOOM_C128, 12, "c128", 16, LOOM_F64},
    };
    LOOM_CHECK_EQ_INT(sizeof pinned / sizeof *pinned, LOOM_DTYPES);
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++) {
        loom_dtype parsed = LOOM_DTYPES;
        LOOM_CHECK_EQ_INT(pinned[i].type, pinned[i].value);
        LOOM_CHECK_STR(loom_dtype_name(pinned[i].type), pinned[i].name);
        LOOM_CHECK_EQ_INT(loom_dtype_size(pinned[i].type), pinned[i].size);
        LOOM_CHECK_EQ_INT(loom_dtype_real(pinned[i].type), pinned[i].real);
        LOOM_CHECK(loom_dtype_parse(pinned[i].name, &parsed));
        LOOM_CHECK_EQ_INT(parsed, pinned[i].type);
    }
}

LOOM_TEST(dtype, unknown_types_are_harmless) {
    loom_dtype parsed = LOOM_I8;
    LOOM_CHECK(!loom_dtype_parse("f16", &parsed));
    LOOM_CHECK_EQ_INT(parsed, LOOM_I8);
    LOOM_CHECK_EQ_INT(loom_dtype_size((loom_dtype)99), 0);
    LOOM_CHECK_STR(loom_dtype_name((loom_dtype)99), "unknown");
}

/* Stores at an odd address and reads back. */
static loom_scalar round_trip(loom_dtype type, loom_scalar value) {
    unsigned char room[24];
    memset(room, 0xa5, sizeof room);
    loom_scalar_store(type, value, room + 1);
    LOOM_CHECK_EQ_INT(room[0], 0xa5);
    LOOM_CHECK_EQ_INT(room[1 + loom_dtype_size(type)], 0xa5);
    return loom_scalar_load(type, room + 1);
}

LOOM_TEST(dtype, integers_extend_by_their_sign) {
    LOOM_CHECK_EQ_INT(round_trip(LOOM_I8, (loom_scalar){.i = -1}).i, -1);
    LOOM_CHECK_EQ_INT(round_trip(LOOM_I16, (loom_scalar){.i = INT16_MIN}).i, INT16_MIN);
    LOOM_CHECK_EQ_INT(round_trip(LOOM_I32, (loom_scalar){.i = INT32_MIN}).i, INT32_MIN);
    LOOM_CHECK_EQ_INT(round_trip(LOOM_I64, (loom_scalar){.i = INT64_MIN}).i, INT64_MIN);
    LOOM_CHECK_EQ_INT(round_trip(LOOM_U8, (loom_scalar){.u = 255}).u, 255);
    LOOM_CHECK_EQ_INT(round_trip(LOOM_U16, (loom_scalar){.u = 65535}).u, 65535);
    LOOM_CHECK_EQ_INT(round_trip(LOOM_U32, (loom_scalar){.u = UINT32_MAX}).u, UINT32_MAX);
    LOOM_CHECK(round_trip(LOOM_U64, (loom_scalar){.u = UINT64_MAX}).u == UINT64_MAX);
    LOOM_CHECK_EQ_INT(round_trip(LOOM_I8, (loom_scalar){.i = 300}).i, 44);
    LOOM_CHECK_EQ_INT(round_trip(LOOM_U8, (loom_scalar){.u = 300}).u, 44);
}

LOOM_TEST(dtype, floats_round_once) {
    LOOM_CHECK(round_trip(LOOM_F64, (loom_scalar){.f = 0.1}).f == 0.1);
    LOOM_CHECK(round_trip(LOOM_F32, (loom_scalar){.f = 0.1}).f == (double)0.1f);
    LOOM_CHECK(isnan(round_trip(LOOM_F32, (loom_scalar){.f = NAN}).f));
    loom_scalar c = round_trip(LOOM_C64, (loom_scalar){.c = {0.1, -2.5}});
    LOOM_CHECK(c.c[0] == (double)0.1f && c.c[1] == -2.5);
    c = round_trip(LOOM_C128, (loom_scalar){.c = {0.1, -0.3}});
    LOOM_CHECK(c.c[0] == 0.1 && c.c[1] == -0.3);
}

LOOM_TEST(dtype, bool_is_zero_or_one) {
    unsigned char byte = 7;
    LOOM_CHECK(loom_scalar_load(LOOM_BOOL, &byte).b == true);
    loom_scalar_store(LOOM_BOOL, (loom_scalar){.b = true}, &byte);
    LOOM_CHECK_EQ_INT(byte, 1);
    loom_scalar_store(LOOM_BOOL, (loom_scalar){.b = false}, &byte);
    LOOM_CHECK_EQ_INT(byte, 0);
}
