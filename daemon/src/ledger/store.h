/* The store: SQLite under the ledger. Holds the daemon's incarnation, jobs, accepted deltas with their block sets, the
 * pieces made of them, merges and finished values. `free`, `leased` and `folded` live in memory only.
 *
 * What the next daemon reads of it are incarnation and numbers of jobs, which are never used twice; jobs end with their
 * daemon. The rest is the second guard of the ledger (a block, an epoch or a piece cannot be in there twice) and tells
 * an operator who opens the database how far running jobs are.
 *
 * With `lasting` the raised incarnation is synced before the daemon does anything, so that not even a crash of the
 * machine brings an old one back to workers of other hosts; the other commits are not waited for, and the last of them
 * may be lost then. Without (embedded: the store goes with the daemon) nothing is synced.
 * Threads: the loop's. Every call is one transaction: it happened or it did not.
 */
#ifndef LOOM_DAEMON_STORE_H
#define LOOM_DAEMON_STORE_H

#include "ledger/ledger.h"

typedef struct loom_store loom_store;

typedef struct loom_stored_piece {
    uint32_t output;
    loom_stretch stretch;
    const char *path;
} loom_stored_piece;

/* Opens or makes <folder>/ledger.db, raises the incarnation. A store of a later version is refused. */
LOOM_MUST_USE loom_status *loom_store_open(const char *folder, bool lasting, loom_store **store, uint64_t *incarnation);
void loom_store_close(loom_store *store); /* NULL is fine */

/* The highest number a job ever had; 0: none. Numbers are not used twice. */
LOOM_MUST_USE loom_status *loom_store_last_job(loom_store *store, uint64_t *job);
LOOM_MUST_USE loom_status *loom_store_job(loom_store *store, uint64_t job, const char *name);
/* An accepted delta: its blocks and pieces. */
LOOM_MUST_USE loom_status *loom_store_delta(loom_store *store, uint64_t job, uint32_t stage, loom_epoch epoch,
                                            uint64_t delta, const loom_stretch *blocks, size_t n_blocks,
                                            const loom_stored_piece *pieces, size_t n_pieces);
/* A merge swaps two pieces for one. */
LOOM_MUST_USE loom_status *loom_store_merge(loom_store *store, uint64_t job, uint32_t stage, const char *a,
                                            const char *b, const loom_stored_piece *made);
/* A slot of the graph has its value. */
LOOM_MUST_USE loom_status *loom_store_slot(loom_store *store, uint64_t job, uint32_t slot, const char *path);
/* The job has ended: what is stored of it goes. */
LOOM_MUST_USE loom_status *loom_store_end(loom_store *store, uint64_t job, const char *how);
/* Jobs that had not ended when the last daemon stopped are marked as such; how many there were. */
LOOM_MUST_USE loom_status *loom_store_abandon(loom_store *store, int64_t *n_jobs);

#endif
