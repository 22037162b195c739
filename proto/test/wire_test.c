/* The scan that stands before every unpacking. */
#include "common/limits.h"
#include "control.pb-c.h"
#include "loom_test.h"
#include "proto/packet.h"
#include "proto/wire.h"

static size_t pack(Wire__Message *message, uint8_t *bytes, size_t room) {
    message->version = LOOM_PROTO_VERSION;
    size_t n = wire__message__get_packed_size(message);
    LOOM_CHECK(n <= room);
    return wire__message__pack(message, bytes);
}

static size_t a_progress(uint8_t *bytes, size_t room) {
    Wire__Progress p = WIRE__PROGRESS__INIT;
    p.job = 7;
    p.stage = (char *)"traversal 1";
    p.name = (char *)"image";
    p.elements_total = INT64_MAX;
    p.seconds = 0.5;
    Wire__Message m = WIRE__MESSAGE__INIT;
    m.body_case = WIRE__MESSAGE__BODY_PROGRESS;
    m.progress = &p;
    return pack(&m, bytes, room);
}

static loom_status *unpack(const void *bytes, size_t n, const loom_wire_limits *limits, Wire__Message **message,
                           loom_arena *arena) {
    ProtobufCMessage *made;
    LOOM_TRY(loom_wire_unpack(&wire__message__descriptor, arena, bytes, n, limits, &made));
    *message = (Wire__Message *)made;
    return NULL;
}

static loom_status *scan(const void *bytes, size_t n) {
    return loom_wire_scan(&wire__message__descriptor, bytes, n, &loom_wire_header_limits);
}

LOOM_TEST(wire, round_trip) {
    uint8_t bytes[512];
    size_t n = a_progress(bytes, sizeof bytes);
    loom_arena *arena = loom_arena_create(1 << 20);
    Wire__Message *m;
    LOOM_OK(unpack(bytes, n, &loom_wire_header_limits, &m, arena));
    LOOM_CHECK_EQ_INT(m->body_case, WIRE__MESSAGE__BODY_PROGRESS);
    LOOM_CHECK_STR(m->progress->stage, "traversal 1");
    LOOM_CHECK_EQ_INT(m->progress->elements_total, INT64_MAX);
    loom_arena_destroy(arena);
}

LOOM_TEST(wire, every_cut_is_refused_or_lacks_fields) {
    uint8_t bytes[512];
    size_t n = a_progress(bytes, sizeof bytes);
    for (size_t cut = 0; cut < n; cut++) {
        loom_arena *arena = loom_arena_create(1 << 20);
        Wire__Message *m;
        loom_status *status = unpack(bytes, cut, &loom_wire_header_limits, &m, arena);
        /* After the version alone the message is whole: a message without a body, which the packet refuses. */
        if (!status) LOOM_CHECK_EQ_INT(m->body_case, WIRE__MESSAGE__BODY__NOT_SET);
        loom_status_free(status);
        loom_arena_destroy(arena);
    }
}

LOOM_TEST(wire, unknown_field) {
    /* Field 1000, varint. */
    LOOM_FAILS(scan("\x08\x01\xc0\x3e\x05", 5), LOOM_E_PROTOCOL);
}

LOOM_TEST(wire, field_twice) {
    LOOM_FAILS(scan("\x08\x01\x08\x01", 4), LOOM_E_PROTOCOL);
}

LOOM_TEST(wire, two_members_of_a_choice) {
    /* beat (4) {sequence 1}, bye (6) {reason ""} */
    LOOM_OK(scan("\x08\x01\x22\x02\x08\x01", 6));
    LOOM_FAILS(scan("\x08\x01\x22\x02\x08\x01\x32\x02\x0a\x00", 10), LOOM_E_PROTOCOL);
}

LOOM_TEST(wire, wrong_wire_type) {
    LOOM_FAILS(scan("\x0d\x01\x00\x00\x00", 5), LOOM_E_PROTOCOL); /* version as fixed32 */
}

LOOM_TEST(wire, number_too_long) {
    LOOM_FAILS(scan("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12), LOOM_E_PROTOCOL);
    LOOM_FAILS(scan("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11), LOOM_E_PROTOCOL);
    LOOM_FAILS(scan("\x08\xff\xff\xff\xff\x1f", 6), LOOM_E_PROTOCOL); /* a uint32 of more than 32 bits */
}

LOOM_TEST(wire, text_with_nul) {
    LOOM_FAILS(scan("\x08\x01\x32\x05\x0a\x03\x61\x00\x62", 9), LOOM_E_PROTOCOL);
}

LOOM_TEST(wire, longer_than_what_holds_it) {
    LOOM_FAILS(scan("\x08\x01\x32\x04\x0a\x03\x61\x62", 8), LOOM_E_PROTOCOL);
    LOOM_FAILS(scan("\x08\x01\x32\x03\x0a\x03\x61\x62\x63", 9), LOOM_E_PROTOCOL);
}

LOOM_TEST(wire, unknown_enumeration_value) {
    /* hello (2) {role 9} */
    LOOM_FAILS(scan("\x08\x01\x12\x02\x08\x09", 6), LOOM_E_PROTOCOL);
}

LOOM_TEST(wire, missing_required_field) {
    loom_arena *arena = loom_arena_create(1 << 20);
    Wire__Message *m;
    LOOM_FAILS(unpack("\x08\x01\x22\x00", 4, &loom_wire_header_limits, &m, arena), LOOM_E_PROTOCOL);
    loom_arena_destroy(arena);
}

LOOM_TEST(wire, limits) {
    uint8_t bytes[512];
    size_t n = a_progress(bytes, sizeof bytes);
    loom_arena *arena = loom_arena_create(1 << 20);
    Wire__Message *m;
    loom_wire_limits l = loom_wire_header_limits;
    l.bytes = n - 1;
    LOOM_FAILS(unpack(bytes, n, &l, &m, arena), LOOM_E_LIMIT);
    l = loom_wire_header_limits;
    l.fields = 5;
    LOOM_FAILS(unpack(bytes, n, &l, &m, arena), LOOM_E_LIMIT);
    l = loom_wire_header_limits;
    l.depth = 0;
    LOOM_FAILS(unpack(bytes, n, &l, &m, arena), LOOM_E_LIMIT);
    l = loom_wire_header_limits;
    l.budget = 64;
    LOOM_FAILS(unpack(bytes, n, &l, &m, arena), LOOM_E_LIMIT);
    LOOM_OK(unpack(bytes, n, &loom_wire_header_limits, &m, arena));
    loom_arena_destroy(arena);
}

LOOM_TEST(wire, header_larger_than_the_limit) {
    size_t n = LOOM_MAX_HEADER_BYTES + 1;
    char *bytes = calloc(1, n);
    LOOM_FAILS(scan(bytes, n), LOOM_E_LIMIT);
    free(bytes);
}

LOOM_TEST(wire, packed_numbers) {
    int64_t extents[] = {-1, 0, INT64_MAX, INT64_MIN};
    Wire__Leaf leaf = WIRE__LEAF__INIT, *leaves[] = {&leaf};
    leaf.name = (char *)"x";
    leaf.n_extents = 4;
    leaf.extents = extents;
    Wire__Value value = WIRE__VALUE__INIT;
    value.n_leaves = 1;
    value.leaves = leaves;
    uint8_t bytes[256];
    size_t n = wire__value__pack(&value, bytes);
    loom_arena *arena = loom_arena_create(1 << 20);
    ProtobufCMessage *m;
    LOOM_OK(loom_wire_unpack(&wire__value__descriptor, arena, bytes, n, &loom_wire_header_limits, &m));
    LOOM_CHECK_EQ_INT(((Wire__Value *)m)->leaves[0]->extents[3], INT64_MIN);
    loom_arena_destroy(arena);
}

LOOM_TEST(wire, every_changed_byte_is_survived) {
    uint8_t bytes[512];
    size_t n = a_progress(bytes, sizeof bytes);
    for (size_t i = 0; i < n; i++) {
        uint8_t before = bytes[i];
        for (unsigned v = 0; v < 256; v++) {
            bytes[i] = (uint8_t)v;
            loom_arena *arena = loom_arena_create(1 << 20);
            Wire__Message *m;
            loom_status_free(unpack(bytes, n, &loom_wire_header_limits, &m, arena));
            loom_arena_destroy(arena);
        }
        bytes[i] = before;
    }
}

LOOM_TEST(wire, statuses_travel_whole) {
    loom_span span = {0, 3, 4, 3, 9};
    loom_status *status = loom_error_at(LOOM_E_RUNTIME, "a.weft", span, "index %d", 7);
    loom_status_note(status, "hint: look");
    loom_arena *arena = loom_arena_create(1 << 20);
    loom_status *back = loom_wire_status_restore(loom_wire_status(arena, status));
    LOOM_CHECK_EQ_INT(loom_status_code(back), LOOM_E_RUNTIME);
    LOOM_CHECK_STR(loom_status_message(back), "index 7");
    LOOM_CHECK_STR(loom_status_file(back), "a.weft");
    LOOM_CHECK_EQ_INT(loom_status_span(back).end_column, 9);
    LOOM_CHECK_STR(loom_status_note_at(back, 0), "hint: look");
    LOOM_CHECK(loom_wire_status(arena, NULL) == NULL && loom_wire_status_restore(NULL) == NULL);
    Wire__Status strange = WIRE__STATUS__INIT;
    strange.code = 4711;
    strange.message = (char *)"?";
    loom_status *restored = loom_wire_status_restore(&strange);
    LOOM_CHECK_EQ_INT(loom_status_code(restored), LOOM_E_INTERNAL);
    loom_status_free(restored);
    loom_status_free(back);
    loom_status_free(status);
    loom_arena_destroy(arena);
}
