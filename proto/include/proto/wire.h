/* Protobuf from outside: scanned iteratively before it is unpacked, unpacked into an arena.
 *
 * protobuf-c 1.4.1 recurses without limit, allocates without budget and mishandles unknown fields. So the bytes are
 * walked first, by the message's descriptor, without recursion or allocation: every tag known and of the wire type that
 * the schema says, lengths inside their parents, depth and number of fields within limits, strings free of NULs, no
 * field twice that may stand once, one member of a oneof. What passes cannot surprise the unpacker.
 *
 * Threads: any. Errors: PROTOCOL for bytes that break the rules, LIMIT for too much of it.
 */
#ifndef LOOM_PROTO_WIRE_H
#define LOOM_PROTO_WIRE_H

#include "common/arena.h"
#include "common/status.h"
#include <protobuf-c/protobuf-c.h>

typedef struct loom_wire_limits {
    size_t bytes;  /* of the whole message */
    size_t fields; /* tags and packed elements, all levels */
    size_t depth;  /* of submessages; at most LOOM_WIRE_MAX_DEPTH */
    size_t budget; /* bytes the unpacked message may take */
} loom_wire_limits;

/* Submessages within submessages. Control messages have 6 levels, plans and programs are flat; the scan keeps one small
 * record a level on the stack. */
#define LOOM_WIRE_MAX_DEPTH 32

/* Header frames (LOOM_MAX_HEADER_BYTES): a tag and its value are two bytes at least, an unpacked field costs up to some
 * 100 bytes, so fields are bounded too. */
extern const loom_wire_limits loom_wire_header_limits;

LOOM_MUST_USE loom_status *loom_wire_scan(const ProtobufCMessageDescriptor *type, const void *bytes, size_t length,
                                          const loom_wire_limits *limits);
/* Scans and unpacks. The message lives in `arena`; never call its free_unpacked. */
LOOM_MUST_USE loom_status *loom_wire_unpack(const ProtobufCMessageDescriptor *type, loom_arena *arena,
                                            const void *bytes, size_t length, const loom_wire_limits *limits,
                                            ProtobufCMessage **message);

/* Where a daemon takes a job with it, said by whichever side is there to tell. */
#define LOOM_RUN_AGAIN "hint: what the job had done is lost; it can be run again as soon as a daemon answers"

/* A status as a message and back. The message lives in `arena` and points into `status`. */
struct Wire__Status;
struct Wire__Status *loom_wire_status(loom_arena *arena, const loom_status *status);
loom_status *loom_wire_status_restore(
    const struct Wire__Status *wire); /* NULL stays NULL; codes out of range: INTERNAL */

#endif
