/* A folder of compiled stages, for who keeps it: what is in it, whether it is sound, and emptying it.
 *
 * Compilers may use the folder meanwhile: an entry that is being written is not there yet, one that is removed is
 * compiled again. Threads: any. Errors: the folder cannot be read, or is not a folder of ours alone.
 */
#ifndef LOOM_DRIVER_CACHE_FOLDER_H
#define LOOM_DRIVER_CACHE_FOLDER_H

#include "common/status.h"

typedef struct loom_cache_stat {
    uint64_t entries, bytes;
    uint64_t most;      /* bytes: beyond that, what was not used for longest goes */
    int64_t used_first; /* seconds since 1970 of the entry that was not used for longest, and of the one used last; 0:
                           none */
    int64_t used_last;
    uint64_t broken; /* verify: entries that are cut short or changed */
} loom_cache_stat;

/* A folder that is not there has no entries. */
LOOM_MUST_USE loom_status *loom_cache_look(const char *folder, loom_cache_stat *stat);
/* The same, reading every entry; those that are broken are removed. */
LOOM_MUST_USE loom_status *loom_cache_verify(const char *folder, loom_cache_stat *stat);
/* All entries; *stat is what was there. */
LOOM_MUST_USE loom_status *loom_cache_clear(const char *folder, loom_cache_stat *stat);

#endif
