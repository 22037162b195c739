/* Scalar element types. Values of this enum travel in files and messages: append only. */
#ifndef LOOM_COMMON_DTYPE_H
#define LOOM_COMMON_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum loom_dtype {
    LOOM_BOOL = 0, /* one byte, 0 or 1 */
    LOOM_I8,
    LOOM_I16,
    LOOM_I32,
    LOOM_I64,
    LOOM_U8,
    LOOM_U16,
    LOOM_U32,
    LOOM_U64,
    LOOM_F32,
    LOOM_F64,
    LOOM_C64,
    LOOM_C128, /* (re, im) pairs of f32, f64 */
    LOOM_DTYPES
} loom_dtype;

size_t loom_dtype_size(loom_dtype type);      /* bytes; bool is 1 */
const char *loom_dtype_name(loom_dtype type); /* "bool", "i8", ... */
bool loom_dtype_parse(const char *name, loom_dtype *type);
static inline bool loom_dtype_is_signed(loom_dtype t) {
    return t >= LOOM_I8 && t <= LOOM_I64;
}
static inline bool loom_dtype_is_unsigned(loom_dtype t) {
    return t >= LOOM_U8 && t <= LOOM_U64;
}
static inline bool loom_dtype_is_integer(loom_dtype t) {
    return t >= LOOM_I8 && t <= LOOM_U64;
}
static inline bool loom_dtype_is_float(loom_dtype t) {
    return t == LOOM_F32 || t == LOOM_F64;
}
static inline bool loom_dtype_is_complex(loom_dtype t) {
    return t == LOOM_C64 || t == LOOM_C128;
}
/* f32 of c64, f64 of c128, else the type itself. */
loom_dtype loom_dtype_real(loom_dtype type);

/* One scalar of any type. */
typedef union loom_scalar {
    bool b;
    int64_t i;   /* signed integers, sign-extended */
    uint64_t u;  /* unsigned integers, zero-extended */
    double f;    /* f32 (held exactly) and f64 */
    double c[2]; /* re, im */
} loom_scalar;

loom_scalar loom_scalar_load(loom_dtype type, const void *from);
void loom_scalar_store(loom_dtype type, loom_scalar value, void *to);

#endif
