/* 128-bit content hashes (XXH3): cache keys, constants of a segment. Not a defence against an adversary who may
 * write into the store: folders of the store are private (0700). */
#ifndef LOOM_COMMON_HASH_H
#define LOOM_COMMON_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct loom_hash {
    uint64_t high, low;
} loom_hash;
typedef struct loom_hasher loom_hasher;

loom_hash loom_hash_bytes(const void *bytes, size_t n);
loom_hasher *loom_hasher_create(void);
void loom_hasher_add(loom_hasher *hasher, const void *bytes, size_t n);
loom_hash loom_hasher_end(loom_hasher *hasher);     /* frees the hasher */
void loom_hash_text(loom_hash hash, char text[33]); /* 32 hex digits and NUL */

#endif
