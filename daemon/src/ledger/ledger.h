/* Ledger: which blocks of a stage instance are where. The state machine of docs/protocol.md.
 *
 *     free --lease--> leased --folded--> folded --accept--> merged
 *       ^               |                  |
 *       +---- give back +------ fence -----+
 *
 * A block that is leased or folded belongs to an epoch: one life of one worker's accumulator. An epoch is current from
 * open until it is fenced or its delta is accepted; nothing is taken from an epoch that is not current. So a late, a
 * repeated or a revived worker's result changes nothing, and every block is inside exactly one accepted delta.
 *
 * Blocks are kept as runs of equal state and owner: a ledger of a billion blocks is as large as the disorder in it.
 * Threads: one at a time. Functions that return a status change nothing when they refuse.
 */
#ifndef LOOM_DAEMON_LEDGER_H
#define LOOM_DAEMON_LEDGER_H

#include "common/status.h"
#include <stdbool.h>

typedef struct loom_epoch {
    uint64_t incarnation; /* of the daemon: raised at each start */
    uint64_t counter;     /* within the incarnation, never 0 */
} loom_epoch;

static inline bool loom_epoch_equal(loom_epoch a, loom_epoch b) {
    return a.incarnation == b.incarnation && a.counter == b.counter;
}

typedef enum loom_block_state {
    LOOM_BLOCK_FREE,
    LOOM_BLOCK_LEASED,
    LOOM_BLOCK_FOLDED,
    LOOM_BLOCK_MERGED,
    LOOM_BLOCK_STATES
} loom_block_state;
const char *loom_block_state_name(loom_block_state state);

/* Blocks [first, first + n). */
typedef struct loom_stretch {
    int64_t first, n;
} loom_stretch;

typedef struct loom_ledger loom_ledger;

loom_ledger *loom_ledger_create(int64_t n_blocks); /* all free */
void loom_ledger_destroy(loom_ledger *ledger);     /* NULL is fine */

int64_t loom_ledger_count(const loom_ledger *ledger, loom_block_state state);
int64_t loom_ledger_released(const loom_ledger *ledger); /* blocks that fences have set free, each time counted */
loom_block_state loom_ledger_state(const loom_ledger *ledger, int64_t block);

/* The first free stretch that begins at or after `from` (in the middle of a free run: there) and below `limit`. */
bool loom_ledger_free_from(const loom_ledger *ledger, int64_t from, int64_t limit, loom_stretch *stretch);
/* The longest free stretch below `limit`, the first of several. */
bool loom_ledger_longest_free(const loom_ledger *ledger, int64_t limit, loom_stretch *stretch);

/* A new current epoch. LOOM_E_INTERNAL if it is one already or was one before. Counters of an incarnation must grow. */
LOOM_MUST_USE loom_status *loom_ledger_open(loom_ledger *ledger, loom_epoch epoch);
bool loom_ledger_is_current(const loom_ledger *ledger, loom_epoch epoch);
/* Blocks of an epoch that are leased or folded. */
int64_t loom_ledger_held(const loom_ledger *ledger, loom_epoch epoch);

/* free -> leased. All must be free, the epoch current. */
LOOM_MUST_USE loom_status *loom_ledger_lease(loom_ledger *ledger, loom_epoch epoch, loom_stretch stretch);
/* leased -> folded. All must be leased by, or already folded in, this epoch. */
LOOM_MUST_USE loom_status *loom_ledger_folded(loom_ledger *ledger, loom_epoch epoch, loom_stretch stretch);
/* leased -> free: a lease that was not worked on. Blocks of the stretch in other states stay as they are. */
LOOM_MUST_USE loom_status *loom_ledger_give_back(loom_ledger *ledger, loom_epoch epoch, loom_stretch stretch);
/* All that the epoch holds becomes free; it is current no more. *freed: how many blocks. Not current: nothing, 0. */
void loom_ledger_fence(loom_ledger *ledger, loom_epoch epoch, int64_t *freed);
/* Whether a delta with these blocks inside may be accepted: all must be held by this epoch, and be all that it has
 * folded. Stretches may come in any order, but not overlap. LOOM_E_DENIED: late, repeated, revived or overlapping. */
LOOM_MUST_USE loom_status *loom_ledger_check_delta(const loom_ledger *ledger, loom_epoch epoch,
                                                   const loom_stretch *stretches, size_t n);
/* Accepts what loom_ledger_check_delta has found right. The blocks become merged, under `delta`; what the epoch still
 * holds as leased becomes free; the epoch is current no more. */
void loom_ledger_accept(loom_ledger *ledger, loom_epoch epoch, const loom_stretch *stretches, size_t n, uint64_t delta);
/* Every block is merged. */
bool loom_ledger_complete(const loom_ledger *ledger);

/* Runs in order, for tests, printing and the store. Returns false beyond the last. */
typedef struct loom_ledger_run {
    loom_stretch stretch;
    loom_block_state state;
    uint64_t owner; /* counter of the epoch, number of the delta, 0 for free blocks */
} loom_ledger_run;
bool loom_ledger_run_at(const loom_ledger *ledger, size_t index, loom_ledger_run *run);
/* Everything the comments above promise about the representation: aborts where it does not hold. For tests. */
void loom_ledger_verify(const loom_ledger *ledger);

#endif
