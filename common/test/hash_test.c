#include "common/hash.h"
#include "loom_test.h"

static const char *text_of(loom_hash hash, char room[33]) {
    loom_hash_text(hash, room);
    return room;
}

/* Names of objects on disk: the function may not change. XXH3 128 of "" and "a", seed 0. */
LOOM_TEST(hash, known_values) {
    char room[33];
    LOOM_CHECK_STR(text_of(loom_hash_bytes("", 0), room), "99aa06d3014798d86001c324468d497f");
    LOOM_CHECK_STR(text_of(loom_hash_bytes("a", 1), room), "a96faf705af16834e6c632b61e964e1f");
}

LOOM_TEST(hash, pieces_equal_the_whole) {
    unsigned char bytes[5000];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * 31 + i / 256);
    loom_hash whole = loom_hash_bytes(bytes, sizeof bytes);
    for (size_t cut = 0; cut <= sizeof bytes; cut += 613) {
        loom_hasher *hasher = loom_hasher_create();
        loom_hasher_add(hasher, bytes, cut);
        loom_hasher_add(hasher, NULL, 0);
        loom_hasher_add(hasher, bytes + cut, sizeof bytes - cut);
        loom_hash pieces = loom_hasher_end(hasher);
        LOOM_CHECK(pieces.high == whole.high && pieces.low == whole.low);
    }
    bytes[4321] ^= 1;
    loom_hash other = loom_hash_bytes(bytes, sizeof bytes);
    LOOM_CHECK(other.high != whole.high && other.low != whole.low);
}
