/* Messages as frames: one protobuf header (control.proto), then attachments: blobs and one raw little-endian frame per
 * column of a value, sent and received without copying.
 *
 * A packet is a list of frames on its way out; a loom_incoming is one that came in, with its header unpacked.
 * Threads: a packet belongs to one thread at a time; a value whose columns are in frames may be released on any thread
 * (ZeroMQ releases sent ones on its I/O thread).
 */
#ifndef LOOM_PROTO_PACKET_H
#define LOOM_PROTO_PACKET_H

#include "common/arena.h"
#include "common/value.h"
#include "control.pb-c.h"
#include <zmq.h>

/* Raised with any change of control.proto. */
#define LOOM_PROTO_VERSION 5u

/* Frames of one message: a header and, per leaf (LOOM_MAX_VALUE_LEAVES), data and a column of lengths or two. */
#define LOOM_MAX_FRAMES 16384u

/* The host that both sides must be: columns travel as they stand in memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "columns travel little-endian, in place");

typedef struct loom_packet {
    size_t n, capacity;
    zmq_msg_t *frames;
    uint64_t bytes;
} loom_packet;

/* A packet that begins with `message`, whose `body_case` and body are set; version is filled in. */
loom_packet *loom_packet_create(Wire__Message *message);
void loom_packet_add_copy(loom_packet *packet, const void *data, size_t length);
/* The columns of a value in the order of Wire__Value; takes a reference until they have left. */
void loom_packet_add_columns(loom_packet *packet, loom_value *value);
/* Whether the receiver will take it: header and number of frames within its limits. A sender whose message grows with a
 * job asks before it sends, and says LOOM_E_LIMIT to whom it concerns: what the receiver refuses is lost without a
 * word.
 */
LOOM_MUST_USE loom_status *loom_packet_check(const loom_packet *packet);
void loom_packet_destroy(loom_packet *packet); /* NULL is fine */

typedef struct loom_incoming {
    unsigned char *identity; /* of the sender, at a ROUTER; else NULL */
    size_t identity_length;
    loom_arena *arena; /* of `message` */
    Wire__Message *message;
    size_t n_frames; /* attachments */
    zmq_msg_t *frames;
    uint64_t bytes;
} loom_incoming;

/* Unpacks the header frame after scanning it; refuses other versions. Takes the frames over (the caller closes them no
 * more), also on failure. */
LOOM_MUST_USE loom_status *loom_incoming_create(zmq_msg_t *frames, size_t n, bool identity, loom_incoming **incoming);
void loom_incoming_destroy(loom_incoming *incoming); /* NULL is fine */

#endif
