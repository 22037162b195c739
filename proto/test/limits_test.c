/* One beyond each limit of messages. */
#include "common/limits.h"
#include "loom_test.h"
#include "proto/packet.h"
#include "proto/value_codec.h"

static loom_packet *a_packet(Wire__Bye *bye, Wire__Message *message) {
    wire__bye__init(bye);
    bye->reason = (char *)"";
    wire__message__init(message);
    message->body_case = WIRE__MESSAGE__BODY_BYE;
    message->bye = bye;
    return loom_packet_create(message);
}

LOOM_TEST(proto_limits, frames_of_a_message) {
    Wire__Bye bye;
    Wire__Message message;
    loom_packet *packet = a_packet(&bye, &message);
    while (packet->n < LOOM_MAX_FRAMES - 1) loom_packet_add_copy(packet, "", 0);
    LOOM_OK(loom_packet_check(packet));
    loom_packet_add_copy(packet, "", 0);
    LOOM_FAILS(loom_packet_check(packet), LOOM_E_LIMIT);
    loom_packet_destroy(packet);
}

LOOM_TEST(proto_limits, name_of_a_column) {
    for (size_t n = LOOM_MAX_NAME; n <= LOOM_MAX_NAME + 1; n++) {
        char name[LOOM_MAX_NAME + 2] = {0};
        memset(name, 'x', n);
        Wire__Leaf leaf = WIRE__LEAF__INIT, *leaves = &leaf;
        leaf.name = name;
        leaf.dtype = LOOM_I64;
        uint64_t bytes = 8;
        Wire__Value wire = WIRE__VALUE__INIT;
        wire.n_leaves = 1;
        wire.leaves = &leaves;
        wire.n_column_bytes = 1;
        wire.column_bytes = &bytes;
        size_t columns;
        uint64_t total;
        loom_status *status = loom_wire_value_check(&wire, &columns, &total);
        LOOM_CHECK_EQ_INT(loom_status_code(status), n > LOOM_MAX_NAME ? LOOM_E_LIMIT : LOOM_OK);
        loom_status_free(status);
    }
}
