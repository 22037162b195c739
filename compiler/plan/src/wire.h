/* Tables that map C structures to protobuf messages, and the one codec that follows them.
 *
 * The messages are those of plan.proto. A table row says where in the structure a field stands, so that a structure is
 * described once and encoding, size checks and decoding cannot drift apart. Decoding is strict: what the table does not
 * know, a field out of ascending order, a varint that is not minimal or an array that is not packed is refused, so
 * every accepted message is the canonical encoding of its content and may be hashed.
 *
 * Nesting follows the tables, which do not recurse, so depth is bounded by them and not by the bytes. Memory: elements
 * of an array are counted on the wire before they are allocated; a message of n bytes needs at most
 * LOOM_WIRE_AMPLIFICATION * n. Threads: none are shared; the tables are constant.
 */
#ifndef LOOM_PLAN_WIRE_H
#define LOOM_PLAN_WIRE_H

#include "common/arena.h"
#include "common/buffer.h"
#include "common/dtype.h"

typedef enum loom_wire_kind {
    LOOM_WIRE_U32,     /* uint32_t or an enum */
    LOOM_WIRE_I64,     /* int64_t, zigzag */
    LOOM_WIRE_U64,     /* uint64_t */
    LOOM_WIRE_U8,      /* uint8_t */
    LOOM_WIRE_BOOL,    /* bool */
    LOOM_WIRE_DOUBLE,  /* double, its bits as fixed64 */
    LOOM_WIRE_SCALAR,  /* loom_scalar: 16 bytes */
    LOOM_WIRE_TEXT,    /* const char *, NULL: absent; no NUL inside */
    LOOM_WIRE_BYTES,   /* const void * with a size_t at `count` */
    LOOM_WIRE_MESSAGE, /* structure in place */
    LOOM_WIRE_U32S,
    LOOM_WIRE_I64S,
    LOOM_WIRE_SCALARS,
    LOOM_WIRE_TEXTS,
    LOOM_WIRE_MESSAGES, /* pointer, count uint32_t */
} loom_wire_kind;

struct loom_wire_table;
typedef struct loom_wire_field {
    uint32_t id; /* ascending in a table */
    loom_wire_kind kind;
    size_t offset;
    size_t count;  /* offset of the count; arrays may share one: then they have equal counts or are absent (NULL) */
    uint32_t most; /* limit of a U32 (its values are below `most`) where not 0 */
    const struct loom_wire_table *table;
} loom_wire_field;

typedef struct loom_wire_table {
    const char *name;
    size_t size; /* of the structure */
    uint32_t n_fields;
    const loom_wire_field *fields;
} loom_wire_table;

/* Largest structure of a table over the two bytes its empty message takes. */
#define LOOM_WIRE_AMPLIFICATION 160

void loom_wire_encode(const loom_wire_table *table, const void *from, loom_buffer *to);
/* Fills the zeroed structure `to`; texts, bytes and arrays are copied into the arena. LOOM_E_DATA names message and
 * field. Sets an arena guard of its own: LOOM_E_LIMIT when the arena's budget is out. */
LOOM_MUST_USE loom_status *loom_wire_decode(const loom_wire_table *table, loom_arena *arena, const void *bytes,
                                            size_t length, void *to);

#define LOOM_WIRE_TABLE(name, type)                                                                                    \
    const loom_wire_table name = {#type, sizeof(type), sizeof name##_fields / sizeof name##_fields[0], name##_fields}
#define LOOM_WIRE(id_, kind_, type, member) {.id = (id_), .kind = LOOM_WIRE_##kind_, .offset = offsetof(type, member)}
#define LOOM_WIRE_ENUM(id_, type, member, most_)                                                                       \
    {.id = (id_), .kind = LOOM_WIRE_U32, .offset = offsetof(type, member), .most = (most_)}
#define LOOM_WIRE_N(id_, kind_, type, member, count_)                                                                  \
    {.id = (id_), .kind = LOOM_WIRE_##kind_, .offset = offsetof(type, member), .count = offsetof(type, count_)}
#define LOOM_WIRE_M(id_, type, member, table_)                                                                         \
    {.id = (id_), .kind = LOOM_WIRE_MESSAGE, .offset = offsetof(type, member), .table = &(table_)}
#define LOOM_WIRE_MS(id_, type, member, count_, table_)                                                                \
    {.id = (id_),                                                                                                      \
     .kind = LOOM_WIRE_MESSAGES,                                                                                       \
     .offset = offsetof(type, member),                                                                                 \
     .count = offsetof(type, count_),                                                                                  \
     .table = &(table_)}

#endif
