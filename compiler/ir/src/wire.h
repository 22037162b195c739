/* What encoder, decoder and scanner of the wire form agree on. Private to compiler/ir. */
#ifndef LOOM_IR_WIRE_H
#define LOOM_IR_WIRE_H

#include "program_impl.h"

#define LOOM_WIRE_VERSION 1
/* Names and source texts: a field name or parameter name each, twice the longest tuple times a thousand types. */
#define LOOM_MAX_WIRE_STRINGS (1u << 20)
#define LOOM_MAX_WIRE_TYPES   (1u << 20) /* one in four nodes may have a type of its own */
#define LOOM_MAX_WIRE_FILES   (1u << 16)

/* Does `aux` of this operation (or `prim`, for PRIM) travel? PARAM's and CONST's follow from where they stand. */
static inline bool loom_wire_has_detail(uint32_t op) {
    switch ((loom_op)op) {
    case LOOM_OP_PRIM:
    case LOOM_OP_PROJECT:
    case LOOM_OP_CALL:
    case LOOM_OP_ASSERT:
    case LOOM_OP_CLAIM:
    case LOOM_OP_DIM:
    case LOOM_OP_SLICE:
    case LOOM_OP_SCAN:
    case LOOM_OP_PERMUTE:
    case LOOM_OP_SCATTER:
    case LOOM_OP_BACKPERMUTE:
    case LOOM_OP_UNFLATTEN:
    case LOOM_OP_FFT:
    case LOOM_OP_SEQ_PERMUTE:
    case LOOM_OP_SEQ_GROUP: return true;
    default: return false;
    }
}

/* The encoder without its check of the program, for a program that has just been checked. */
LOOM_MUST_USE loom_status *loom_program_wire_encode(const loom_program *p, char **bytes, size_t *length);

#endif
