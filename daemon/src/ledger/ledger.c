/* Representation: runs in order of blocks, without gaps, neighbours differing in state or owner, which makes it unique
 * for a given content. An operation first looks at what it wants to change (and may refuse), then sets stretches, which
 * cannot fail. Current epochs are a short list: one for each worker and class of segments. */
#include "ledger/ledger.h"
#include "common/buffer.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct loom_ledger {
    int64_t n_blocks;
    loom_ledger_run *runs;
    size_t n_runs, capacity;
    int64_t counts[LOOM_BLOCK_STATES];
    int64_t released;
    loom_epoch *current;
    size_t n_current, current_capacity;
    loom_epoch newest; /* so that none comes twice */
};

const char *loom_block_state_name(loom_block_state state) {
    static const char *const names[] = {"free", "leased", "folded", "merged"};
    return (unsigned)state < LOOM_BLOCK_STATES ? names[state] : "unknown";
}

loom_ledger *loom_ledger_create(int64_t n_blocks) {
    assert(n_blocks >= 0);
    loom_ledger *l = loom_xcalloc(1, sizeof *l);
    l->n_blocks = n_blocks;
    l->counts[LOOM_BLOCK_FREE] = n_blocks;
    l->capacity = 8;
    l->runs = loom_xcalloc(l->capacity, sizeof *l->runs);
    if (n_blocks) l->runs[l->n_runs++] = (loom_ledger_run){.stretch = {0, n_blocks}};
    return l;
}

void loom_ledger_destroy(loom_ledger *l) {
    if (!l) return;
    free(l->runs);
    free(l->current);
    free(l);
}

/* ---- looking ---- */

/* Index of the run that holds `block`, which must exist. */
static size_t find(const loom_ledger *l, int64_t block) {
    size_t low = 0, high = l->n_runs;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (l->runs[middle].stretch.first <= block) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static int64_t end_of(loom_stretch s) {
    return s.first + s.n;
}

int64_t loom_ledger_count(const loom_ledger *l, loom_block_state state) {
    return l->counts[state];
}

int64_t loom_ledger_released(const loom_ledger *l) {
    return l->released;
}

loom_block_state loom_ledger_state(const loom_ledger *l, int64_t block) {
    return l->runs[find(l, block)].state;
}

bool loom_ledger_complete(const loom_ledger *l) {
    return l->counts[LOOM_BLOCK_MERGED] == l->n_blocks;
}

bool loom_ledger_run_at(const loom_ledger *l, size_t index, loom_ledger_run *run) {
    if (index >= l->n_runs) return false;
    *run = l->runs[index];
    return true;
}

static loom_stretch clip(loom_stretch s, int64_t from, int64_t limit) {
    int64_t first = s.first > from ? s.first : from;
    int64_t end = end_of(s) < limit ? end_of(s) : limit;
    return (loom_stretch){first, end > first ? end - first : 0};
}

bool loom_ledger_free_from(const loom_ledger *l, int64_t from, int64_t limit, loom_stretch *stretch) {
    if (from < 0) from = 0;
    if (limit > l->n_blocks) limit = l->n_blocks;
    if (from >= limit) return false;
    for (size_t i = find(l, from); i < l->n_runs && l->runs[i].stretch.first < limit; i++) {
        loom_stretch s = clip(l->runs[i].stretch, from, limit);
        if (l->runs[i].state == LOOM_BLOCK_FREE && s.n) {
            *stretch = s;
            return true;
        }
    }
    return false;
}

bool loom_ledger_longest_free(const loom_ledger *l, int64_t limit, loom_stretch *stretch) {
    loom_stretch best = {0, 0};
    for (size_t i = 0; i < l->n_runs && l->runs[i].stretch.first < limit; i++) {
        loom_stretch s = clip(l->runs[i].stretch, 0, limit);
        if (l->runs[i].state == LOOM_BLOCK_FREE && s.n > best.n) best = s;
    }
    if (!best.n) return false;
    *stretch = best;
    return true;
}

/* ---- changing ---- */

static void insert(loom_ledger *l, size_t at, loom_ledger_run run) {
    if (l->n_runs == l->capacity) {
        l->capacity *= 2;
        l->runs = loom_xrealloc(l->runs, l->capacity * sizeof *l->runs);
    }
    memmove(&l->runs[at + 1], &l->runs[at], (l->n_runs - at) * sizeof *l->runs);
    l->runs[at] = run;
    l->n_runs++;
}

static void erase(loom_ledger *l, size_t at, size_t n) {
    memmove(&l->runs[at], &l->runs[at + n], (l->n_runs - at - n) * sizeof *l->runs);
    l->n_runs -= n;
}

/* Makes `block` the first of a run; returns its index (n_runs for the end of the ledger). */
static size_t cut(loom_ledger *l, int64_t block) {
    if (block == l->n_blocks) return l->n_runs;
    size_t i = find(l, block);
    int64_t before = block - l->runs[i].stretch.first;
    if (before == 0) return i;
    loom_ledger_run rest = l->runs[i];
    rest.stretch = (loom_stretch){block, rest.stretch.n - before};
    l->runs[i].stretch.n = before;
    insert(l, i + 1, rest);
    return i + 1;
}

static void join_with_next(loom_ledger *l, size_t i) {
    if (i + 1 >= l->n_runs) return;
    loom_ledger_run *a = &l->runs[i], *b = &l->runs[i + 1];
    if (a->state != b->state || a->owner != b->owner) return;
    a->stretch.n += b->stretch.n;
    erase(l, i + 1, 1);
}

static void set(loom_ledger *l, loom_stretch s, loom_block_state state, uint64_t owner) {
    if (s.n == 0) return;
    cut(l, s.first);
    size_t end = cut(l, end_of(s)); /* after the first cut: it may move the second, not the other way round */
    size_t begin = find(l, s.first);
    for (size_t i = begin; i < end; i++) l->counts[l->runs[i].state] -= l->runs[i].stretch.n;
    l->counts[state] += s.n;
    l->runs[begin] = (loom_ledger_run){s, state, owner};
    erase(l, begin + 1, end - begin - 1);
    join_with_next(l, begin);
    if (begin > 0) join_with_next(l, begin - 1);
}

/* ---- epochs ---- */

static loom_epoch *find_current(const loom_ledger *l, loom_epoch epoch) {
    for (size_t i = 0; i < l->n_current; i++) {
        if (loom_epoch_equal(l->current[i], epoch)) return &l->current[i];
    }
    return NULL;
}

bool loom_ledger_is_current(const loom_ledger *l, loom_epoch epoch) {
    return find_current(l, epoch) != NULL;
}

loom_status *loom_ledger_open(loom_ledger *l, loom_epoch epoch) {
    bool newer = epoch.incarnation > l->newest.incarnation ||
                 (epoch.incarnation == l->newest.incarnation && epoch.counter > l->newest.counter);
    if (epoch.counter == 0 || !newer) {
        return loom_error(LOOM_E_INTERNAL, "epoch %llu.%llu was there before", (unsigned long long)epoch.incarnation,
                          (unsigned long long)epoch.counter);
    }
    if (l->n_current == l->current_capacity) {
        l->current_capacity = l->current_capacity ? 2 * l->current_capacity : 8;
        l->current = loom_xrealloc(l->current, l->current_capacity * sizeof *l->current);
    }
    l->current[l->n_current++] = epoch;
    l->newest = epoch;
    return NULL;
}

static void end_epoch(loom_ledger *l, loom_epoch epoch) {
    loom_epoch *at = find_current(l, epoch);
    if (at) *at = l->current[--l->n_current];
}

static bool held_by(const loom_ledger_run *run, loom_epoch epoch) {
    return (run->state == LOOM_BLOCK_LEASED || run->state == LOOM_BLOCK_FOLDED) && run->owner == epoch.counter;
}

int64_t loom_ledger_held(const loom_ledger *l, loom_epoch epoch) {
    int64_t n = 0;
    if (!loom_ledger_is_current(l, epoch)) return 0;
    for (size_t i = 0; i < l->n_runs; i++) n += held_by(&l->runs[i], epoch) ? l->runs[i].stretch.n : 0;
    return n;
}

/* ---- checks that come before a change ---- */

static loom_status *check_epoch(const loom_ledger *l, loom_epoch epoch) {
    if (loom_ledger_is_current(l, epoch)) return NULL;
    return loom_error(LOOM_E_DENIED, "epoch %llu.%llu is not current", (unsigned long long)epoch.incarnation,
                      (unsigned long long)epoch.counter);
}

static loom_status *check_range(const loom_ledger *l, loom_stretch s) {
    if (s.first >= 0 && s.n >= 0 && s.first <= l->n_blocks && s.n <= l->n_blocks - s.first) return NULL;
    return loom_error(LOOM_E_DENIED, "%lld blocks from number %lld on are not there: the stream has %lld",
                      (long long)s.n, (long long)s.first, (long long)l->n_blocks);
}

typedef bool (*allowed)(const loom_ledger_run *run, loom_epoch epoch);

static bool is_free(const loom_ledger_run *run, loom_epoch epoch) {
    (void)epoch;
    return run->state == LOOM_BLOCK_FREE;
}

static loom_status *check_states(const loom_ledger *l, loom_epoch epoch, loom_stretch s, allowed ok, const char *what) {
    LOOM_TRY(check_range(l, s));
    if (s.n == 0) return NULL;
    for (size_t i = find(l, s.first); i < l->n_runs && l->runs[i].stretch.first < end_of(s); i++) {
        if (ok(&l->runs[i], epoch)) continue;
        loom_stretch at = clip(l->runs[i].stretch, s.first, end_of(s));
        return loom_error(LOOM_E_DENIED, "block %lld is %s, so it cannot be %s", (long long)at.first,
                          loom_block_state_name(l->runs[i].state), what);
    }
    return NULL;
}

/* ---- the operations ---- */

loom_status *loom_ledger_lease(loom_ledger *l, loom_epoch epoch, loom_stretch s) {
    LOOM_TRY(check_epoch(l, epoch));
    LOOM_TRY(check_states(l, epoch, s, is_free, "leased"));
    set(l, s, LOOM_BLOCK_LEASED, epoch.counter);
    return NULL;
}

loom_status *loom_ledger_folded(loom_ledger *l, loom_epoch epoch, loom_stretch s) {
    LOOM_TRY(check_epoch(l, epoch));
    LOOM_TRY(check_states(l, epoch, s, held_by, "folded by this worker"));
    set(l, s, LOOM_BLOCK_FOLDED, epoch.counter);
    return NULL;
}

/* Sets every part of [s) that is in `from` and owned by the epoch free. */
static int64_t free_parts(loom_ledger *l, loom_epoch epoch, loom_stretch s, bool folded_too) {
    int64_t freed = 0;
    for (int64_t at = s.first; at < end_of(s);) {
        loom_ledger_run run = l->runs[find(l, at)];
        loom_stretch part = clip(run.stretch, at, end_of(s));
        at = end_of(part);
        if (!held_by(&run, epoch) || (run.state == LOOM_BLOCK_FOLDED && !folded_too)) continue;
        set(l, part, LOOM_BLOCK_FREE, 0);
        freed += part.n;
    }
    return freed;
}

loom_status *loom_ledger_give_back(loom_ledger *l, loom_epoch epoch, loom_stretch s) {
    LOOM_TRY(check_epoch(l, epoch));
    LOOM_TRY(check_range(l, s));
    free_parts(l, epoch, s, false);
    return NULL;
}

void loom_ledger_fence(loom_ledger *l, loom_epoch epoch, int64_t *freed) {
    *freed = 0;
    if (!loom_ledger_is_current(l, epoch)) return;
    *freed = free_parts(l, epoch, (loom_stretch){0, l->n_blocks}, true);
    l->released += *freed;
    end_epoch(l, epoch);
}

static int by_first(const void *a, const void *b) {
    const loom_stretch *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* In order, without overlap, every block held by the epoch, none that it has folded missing. */
static loom_status *check_sorted(const loom_ledger *l, loom_epoch epoch, const loom_stretch *sorted, size_t n) {
    for (size_t i = 0; i < n; i++) {
        LOOM_TRY(check_states(l, epoch, sorted[i], held_by, "in this delta"));
        if (i > 0 && end_of(sorted[i - 1]) > sorted[i].first) {
            return loom_error(LOOM_E_DENIED, "block %lld is twice in a delta", (long long)sorted[i].first);
        }
    }
    int64_t inside = 0, folded = 0; /* of what the epoch has folded */
    for (size_t i = 0; i < l->n_runs; i++) {
        if (!held_by(&l->runs[i], epoch) || l->runs[i].state != LOOM_BLOCK_FOLDED) continue;
        folded += l->runs[i].stretch.n;
        for (size_t k = 0; k < n; k++) {
            inside += clip(l->runs[i].stretch, sorted[k].first, end_of(sorted[k])).n;
        }
    }
    if (inside == folded) return NULL;
    return loom_error(LOOM_E_DENIED, "a delta holds %lld of the %lld blocks that its epoch has folded",
                      (long long)inside, (long long)folded);
}

loom_status *loom_ledger_check_delta(const loom_ledger *l, loom_epoch epoch, const loom_stretch *stretches, size_t n) {
    LOOM_TRY(check_epoch(l, epoch));
    loom_stretch *sorted = loom_xmalloc((n + 1) * sizeof *sorted);
    if (n) {
        memcpy(sorted, stretches, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, by_first);
    }
    loom_status *status = check_sorted(l, epoch, sorted, n);
    free(sorted);
    return status;
}

void loom_ledger_accept(loom_ledger *l, loom_epoch epoch, const loom_stretch *stretches, size_t n, uint64_t delta) {
    assert(loom_ledger_is_current(l, epoch));
    for (size_t i = 0; i < n; i++) set(l, stretches[i], LOOM_BLOCK_MERGED, delta);
    free_parts(l, epoch, (loom_stretch){0, l->n_blocks}, true);
    end_epoch(l, epoch);
}

static void demand(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "the ledger is inconsistent: %s\n", what);
    abort();
}

void loom_ledger_verify(const loom_ledger *l) {
    int64_t at = 0, counts[LOOM_BLOCK_STATES] = {0};
    for (size_t i = 0; i < l->n_runs; i++) {
        const loom_ledger_run *run = &l->runs[i];
        demand(run->stretch.first == at && run->stretch.n > 0, "runs have gaps");
        demand((run->state == LOOM_BLOCK_FREE) == (run->owner == 0), "a block has an owner or none against its state");
        if (i) demand(run[-1].state != run->state || run[-1].owner != run->owner, "neighbouring runs are alike");
        if (run->state == LOOM_BLOCK_LEASED || run->state == LOOM_BLOCK_FOLDED) {
            bool found = false;
            for (size_t k = 0; k < l->n_current; k++) found = found || l->current[k].counter == run->owner;
            demand(found, "a block belongs to an epoch that is not current");
        }
        counts[run->state] += run->stretch.n;
        at = end_of(run->stretch);
    }
    demand(at == l->n_blocks, "runs do not cover the stream");
    for (int s = 0; s < LOOM_BLOCK_STATES; s++) demand(counts[s] == l->counts[s], "counts are wrong");
}
