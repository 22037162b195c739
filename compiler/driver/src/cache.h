/* Cache of compiled stages: a folder of replies, each named by the hash of everything that determines it.
 *
 * A cache is code: the folder must be ours alone (0700, our user), else it is not used. Entries carry their own hash;
 * one that is cut short, changed or foreign is a miss and is removed, never an error. Written under a temporary name
 * and renamed, so several processes may share it. What is not used for longest goes when the folder exceeds
 * LOOM_CACHE_BYTES.
 */
#ifndef LOOM_DRIVER_CACHE_H
#define LOOM_DRIVER_CACHE_H

#include "common/hash.h"
#include "compiler/plan/compile.h"

/* Objects of a stage are some ten kilobytes to a megabyte; a busy site has thousands. */
#define LOOM_CACHE_BYTES ((uint64_t)512 << 20)

typedef struct loom_cache loom_cache; /* one entry, locked while it is held: one compile per key however many ask */

/* NULL where there is no usable folder (not an error). Waits while another process compiles the same key. */
loom_cache *loom_cache_open(const char *folder, loom_hash key);
/* True and a decoded reply (in the arena) if the entry is there and sound. */
bool loom_cache_get(loom_cache *cache, loom_arena *arena, loom_compile_reply **reply);
/* Best effort. */
void loom_cache_put(loom_cache *cache, const loom_compile_reply *reply);
void loom_cache_close(loom_cache *cache); /* NULL is fine */
/* Hash of this program's own file: an entry made by another version of the compiler never fits. */
LOOM_MUST_USE loom_status *loom_cache_version(loom_hash *hash);

#endif
