#include "common/hash.h"
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

struct loom_hasher {
    XXH3_state_t *state;
};

static loom_hash from_xxh(XXH128_hash_t h) {
    return (loom_hash){.high = h.high64, .low = h.low64};
}

loom_hash loom_hash_bytes(const void *bytes, size_t n) {
    return from_xxh(XXH3_128bits(bytes, n));
}

loom_hasher *loom_hasher_create(void) {
    loom_hasher *hasher = malloc(sizeof *hasher);
    if (hasher) hasher->state = XXH3_createState();
    if (!hasher || !hasher->state) {
        fprintf(stderr, "out of memory: no room for a hasher\n");
        abort();
    }
    XXH3_128bits_reset(hasher->state);
    return hasher;
}

void loom_hasher_add(loom_hasher *hasher, const void *bytes, size_t n) {
    if (n) XXH3_128bits_update(hasher->state, bytes, n);
}

loom_hash loom_hasher_end(loom_hasher *hasher) {
    loom_hash hash = from_xxh(XXH3_128bits_digest(hasher->state));
    XXH3_freeState(hasher->state);
    free(hasher);
    return hash;
}

void loom_hash_text(loom_hash hash, char text[33]) {
    snprintf(text, 33, "%016llx%016llx", (unsigned long long)hash.high, (unsigned long long)hash.low);
}
