#include "proto/packet.h"
#include "common/buffer.h"
#include "common/limits.h"
#include "proto/value_codec.h"
#include "proto/wire.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Memory of an unpacked header: the wire limits bound it further. */
#define HEADER_ARENA ((size_t)64 << 20)

/* Headers up to this size are within all limits: fields have two bytes at least and cost some hundred unpacked. */
#define SMALL_HEADER ((size_t)64 << 10)

static void out_of_memory(void) {
    fprintf(stderr, "out of memory: no room for a message\n");
    abort();
}

static zmq_msg_t *add_frame(loom_packet *packet) {
    if (packet->n == packet->capacity) {
        packet->capacity = packet->capacity ? 2 * packet->capacity : 8;
        packet->frames = loom_xrealloc(packet->frames, packet->capacity * sizeof *packet->frames);
    }
    return &packet->frames[packet->n++];
}

loom_packet *loom_packet_create(Wire__Message *message) {
    loom_packet *packet = loom_xcalloc(1, sizeof *packet);
    message->version = LOOM_PROTO_VERSION;
    size_t length = wire__message__get_packed_size(message);
    zmq_msg_t *frame = add_frame(packet);
    if (zmq_msg_init_size(frame, length)) out_of_memory();
    wire__message__pack(message, zmq_msg_data(frame));
    packet->bytes = length;
    return packet;
}

void loom_packet_add_copy(loom_packet *packet, const void *data, size_t length) {
    zmq_msg_t *frame = add_frame(packet);
    if (zmq_msg_init_size(frame, length)) out_of_memory();
    if (length) memcpy(zmq_msg_data(frame), data, length);
    packet->bytes += length;
}

/* Runs on ZeroMQ's I/O thread; the count of references is atomic. */
static void release_column(void *data, void *hint) {
    (void)data;
    loom_value_unref(hint);
}

static void add_column(loom_packet *packet, loom_value *value, const void *data, uint64_t length) {
    /* A small one is cheaper copied than counted. */
    if (length < 1024) {
        loom_packet_add_copy(packet, data, length);
        return;
    }
    zmq_msg_t *frame = add_frame(packet);
    if (zmq_msg_init_data(frame, (void *)data, length, release_column, loom_value_ref(value))) out_of_memory();
    packet->bytes += length;
}

void loom_packet_add_columns(loom_packet *packet, loom_value *value) {
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        const loom_leaf *leaf = &value->leaves[i];
        for (uint32_t k = 0; k < leaf->depth; k++) {
            if (leaf->extents[k] != LOOM_IRREGULAR) continue;
            add_column(packet, value, leaf->lengths[k], (uint64_t)leaf->n_lengths[k] * sizeof(int64_t));
        }
        add_column(packet, value, leaf->data, (uint64_t)leaf->n_data * loom_dtype_size(leaf->dtype));
    }
}

loom_status *loom_packet_check(const loom_packet *packet) {
    /* The identity is one frame more where it arrives. */
    if (packet->n >= LOOM_MAX_FRAMES) {
        return loom_error(LOOM_E_LIMIT, "a message of %zu frames; %u are possible", packet->n, LOOM_MAX_FRAMES - 1);
    }
    zmq_msg_t *header = &packet->frames[0];
    if (zmq_msg_size(header) <= SMALL_HEADER) return NULL;
    /* By what the receiver does, so that both cannot differ. */
    loom_arena *arena = loom_arena_create(HEADER_ARENA);
    ProtobufCMessage *message;
    loom_status *status = loom_wire_unpack(&wire__message__descriptor, arena, zmq_msg_data(header),
                                           zmq_msg_size(header), &loom_wire_header_limits, &message);
    loom_arena_destroy(arena);
    return status;
}

void loom_packet_destroy(loom_packet *packet) {
    if (!packet) return;
    for (size_t i = 0; i < packet->n; i++) zmq_msg_close(&packet->frames[i]);
    free(packet->frames);
    free(packet);
}

static loom_status *unpack(loom_incoming *in, zmq_msg_t *header) {
    ProtobufCMessage *message;
    LOOM_TRY(loom_wire_unpack(&wire__message__descriptor, in->arena, zmq_msg_data(header), zmq_msg_size(header),
                              &loom_wire_header_limits, &message));
    in->message = (Wire__Message *)message;
    if (in->message->version != LOOM_PROTO_VERSION) {
        return loom_status_note(loom_error(LOOM_E_PROTOCOL,
                                           "a peer speaks version %u of the protocol, this is version %u",
                                           in->message->version, LOOM_PROTO_VERSION),
                                "hint: install the same release of gridloom, gridloomd and gridloom-worker");
    }
    if (in->message->body_case == WIRE__MESSAGE__BODY__NOT_SET) {
        return loom_error(LOOM_E_PROTOCOL, "a message without content");
    }
    return NULL;
}

loom_status *loom_incoming_create(zmq_msg_t *frames, size_t n, bool identity, loom_incoming **incoming) {
    size_t header = identity ? 1 : 0;
    loom_incoming *in = loom_xcalloc(1, sizeof *in);
    in->arena = loom_arena_create(HEADER_ARENA);
    if (identity && n > 0) {
        in->identity_length = zmq_msg_size(&frames[0]);
        in->identity = loom_xmalloc(in->identity_length + 1);
        memcpy(in->identity, zmq_msg_data(&frames[0]), in->identity_length);
    }
    for (size_t i = 0; i < n; i++) in->bytes += zmq_msg_size(&frames[i]);
    loom_status *status =
        n > header ? unpack(in, &frames[header]) : loom_error(LOOM_E_PROTOCOL, "a message without a header");
    if (!status && n > header + 1) {
        in->frames = loom_xmalloc((n - header - 1) * sizeof *in->frames);
        for (size_t i = header + 1; i < n; i++) {
            zmq_msg_init(&in->frames[in->n_frames]);
            zmq_msg_move(&in->frames[in->n_frames++], &frames[i]);
        }
    }
    for (size_t i = 0; i < n; i++) zmq_msg_close(&frames[i]);
    if (status) {
        loom_incoming_destroy(in);
        return status;
    }
    *incoming = in;
    return NULL;
}

void loom_incoming_destroy(loom_incoming *in) {
    if (!in) return;
    for (size_t i = 0; i < in->n_frames; i++) zmq_msg_close(&in->frames[i]);
    free(in->frames);
    free(in->identity);
    loom_arena_destroy(in->arena);
    free(in);
}
