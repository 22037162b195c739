#include "common/dtype.h"
#include <string.h>

static const struct {
    const char *name;
    size_t size;
    loom_dtype real;
} types[LOOM_DTYPES] = {
    [LOOM_BOOL] = {"bool", 1, LOOM_BOOL}, [LOOM_I8] = {"i8", 1, LOOM_I8},    [LOOM_I16] = {"i16", 2, LOOM_I16},
    [LOOM_I32] = {"i32", 4, LOOM_I32},    [LOOM_I64] = {"i64", 8, LOOM_I64}, [LOOM_U8] = {"u8", 1, LOOM_U8},
    [LOOM_U16] = {"u16", 2, LOOM_U16},    [LOOM_U32] = {"u32", 4, LOOM_U32}, [LOOM_U64] = {"u64", 8, LOOM_U64},
    [LOOM_F32] = {"f32", 4, LOOM_F32},    [LOOM_F64] = {"f64", 8, LOOM_F64}, [LOOM_C64] = {"c64", 8, LOOM_F32},
    [LOOM_C128] = {"c128", 16, LOOM_F64},
};

static bool known(loom_dtype type) {
    return (unsigned)type < LOOM_DTYPES;
}

size_t loom_dtype_size(loom_dtype type) {
    return known(type) ? types[type].size : 0;
}

const char *loom_dtype_name(loom_dtype type) {
    return known(type) ? types[type].name : "unknown";
}

bool loom_dtype_parse(const char *name, loom_dtype *type) {
    for (int i = 0; i < LOOM_DTYPES; i++) {
        if (strcmp(name, types[i].name) == 0) {
            *type = (loom_dtype)i;
            return true;
        }
    }
    return false;
}

loom_dtype loom_dtype_real(loom_dtype type) {
    return known(type) ? types[type].real : type;
}

/* memcpy throughout: data from files and messages need not be aligned. */
#define LOAD(ctype, to)                                                                                                \
    do {                                                                                                               \
        ctype x;                                                                                                       \
        memcpy(&x, from, sizeof x);                                                                                    \
        (to) = x;                                                                                                      \
    } while (0)

loom_scalar loom_scalar_load(loom_dtype type, const void *from) {
    loom_scalar s = {.c = {0, 0}};
    float pair[2];
    switch (type) {
    case LOOM_BOOL: s.b = *(const unsigned char *)from != 0; break;
    case LOOM_I8: LOAD(int8_t, s.i); break;
    case LOOM_I16: LOAD(int16_t, s.i); break;
    case LOOM_I32: LOAD(int32_t, s.i); break;
    case LOOM_I64: LOAD(int64_t, s.i); break;
    case LOOM_U8: LOAD(uint8_t, s.u); break;
    case LOOM_U16: LOAD(uint16_t, s.u); break;
    case LOOM_U32: LOAD(uint32_t, s.u); break;
    case LOOM_U64: LOAD(uint64_t, s.u); break;
    case LOOM_F32: memcpy(pair, from, sizeof *pair), s.f = (double)pair[0]; break;
    case LOOM_F64: LOAD(double, s.f); break;
    case LOOM_C64:
        memcpy(pair, from, sizeof pair);
        s.c[0] = (double)pair[0];
        s.c[1] = (double)pair[1];
        break;
    case LOOM_C128: memcpy(s.c, from, sizeof s.c); break;
    case LOOM_DTYPES: break;
    }
    return s;
}

#define STORE(ctype, value)                                                                                            \
    do {                                                                                                               \
        ctype x = (ctype)(value);                                                                                      \
        memcpy(to, &x, sizeof x);                                                                                      \
    } while (0)

void loom_scalar_store(loom_dtype type, loom_scalar value, void *to) {
    switch (type) {
    case LOOM_BOOL: *(unsigned char *)to = value.b ? 1 : 0; break;
    case LOOM_I8: STORE(int8_t, value.i); break;
    case LOOM_I16: STORE(int16_t, value.i); break;
    case LOOM_I32: STORE(int32_t, value.i); break;
    case LOOM_I64: STORE(int64_t, value.i); break;
    case LOOM_U8: STORE(uint8_t, value.u); break;
    case LOOM_U16: STORE(uint16_t, value.u); break;
    case LOOM_U32: STORE(uint32_t, value.u); break;
    case LOOM_U64: STORE(uint64_t, value.u); break;
    case LOOM_F32: STORE(float, value.f); break;
    case LOOM_F64: STORE(double, value.f); break;
    case LOOM_C64: {
        float pair[2] = {(float)value.c[0], (float)value.c[1]};
        memcpy(to, pair, sizeof pair);
        break;
    }
    case LOOM_C128: memcpy(to, value.c, sizeof value.c); break;
    case LOOM_DTYPES: break;
    }
}
