/* The ledger against a naive model: one state and owner a block. */
#include "ledger/ledger.h"
#include "loom_test.h"

static loom_epoch epoch(uint64_t counter) {
    return (loom_epoch){1, counter};
}

/* As the daemon does it. */
static loom_status *accept(loom_ledger *l, loom_epoch epoch, const loom_stretch *stretches, size_t n, uint64_t delta) {
    LOOM_TRY(loom_ledger_check_delta(l, epoch, stretches, n));
    loom_ledger_accept(l, epoch, stretches, n, delta);
    return NULL;
}

static loom_stretch stretch(int64_t first, int64_t n) {
    return (loom_stretch){first, n};
}

LOOM_TEST(ledger, life_of_a_block) {
    loom_ledger *l = loom_ledger_create(10);
    LOOM_OK(loom_ledger_open(l, epoch(1)));
    LOOM_OK(loom_ledger_lease(l, epoch(1), stretch(0, 10)));
    LOOM_OK(loom_ledger_folded(l, epoch(1), stretch(0, 10)));
    loom_stretch all[] = {{0, 10}};
    LOOM_CHECK(!loom_ledger_complete(l));
    LOOM_OK(accept(l, epoch(1), all, 1, 77));
    LOOM_CHECK(loom_ledger_complete(l));
    LOOM_CHECK_EQ_INT(loom_ledger_count(l, LOOM_BLOCK_MERGED), 10);
    loom_ledger_verify(l);
    loom_ledger_destroy(l);
}

LOOM_TEST(ledger, a_repeated_delta_is_refused) {
    loom_ledger *l = loom_ledger_create(4);
    LOOM_OK(loom_ledger_open(l, epoch(1)));
    LOOM_OK(loom_ledger_lease(l, epoch(1), stretch(0, 2)));
    LOOM_OK(loom_ledger_folded(l, epoch(1), stretch(0, 2)));
    loom_stretch blocks[] = {{0, 2}};
    LOOM_OK(accept(l, epoch(1), blocks, 1, 1));
    LOOM_FAILS(accept(l, epoch(1), blocks, 1, 2), LOOM_E_DENIED);
    LOOM_CHECK_EQ_INT(loom_ledger_count(l, LOOM_BLOCK_MERGED), 2);
    loom_ledger_destroy(l);
}

/* A worker falls silent, its blocks are done by another one, and then it comes back with its result. */
LOOM_TEST(ledger, a_revived_worker_changes_nothing) {
    loom_ledger *l = loom_ledger_create(4);
    LOOM_OK(loom_ledger_open(l, epoch(1)));
    LOOM_OK(loom_ledger_lease(l, epoch(1), stretch(0, 4)));
    LOOM_OK(loom_ledger_folded(l, epoch(1), stretch(0, 3)));
    int64_t freed;
    loom_ledger_fence(l, epoch(1), &freed);
    LOOM_CHECK_EQ_INT(freed, 4);
    LOOM_CHECK_EQ_INT(loom_ledger_released(l), 4);
    loom_stretch blocks[] = {{0, 3}};
    LOOM_FAILS(accept(l, epoch(1), blocks, 1, 1), LOOM_E_DENIED);
    LOOM_OK(loom_ledger_open(l, epoch(2)));
    LOOM_OK(loom_ledger_lease(l, epoch(2), stretch(0, 4)));
    LOOM_FAILS(loom_ledger_folded(l, epoch(1), stretch(0, 3)), LOOM_E_DENIED);
    LOOM_FAILS(accept(l, epoch(1), blocks, 1, 1), LOOM_E_DENIED);
    LOOM_OK(loom_ledger_folded(l, epoch(2), stretch(0, 4)));
    loom_stretch all[] = {{0, 4}};
    LOOM_OK(accept(l, epoch(2), all, 1, 2));
    LOOM_CHECK(loom_ledger_complete(l));
    loom_ledger_fence(l, epoch(1), &freed);
    LOOM_CHECK_EQ_INT(freed, 0);
    loom_ledger_destroy(l);
}

LOOM_TEST(ledger, a_delta_holds_all_that_was_folded_and_nothing_else) {
    loom_ledger *l = loom_ledger_create(10);
    LOOM_OK(loom_ledger_open(l, epoch(1)));
    LOOM_OK(loom_ledger_open(l, epoch(2)));
    LOOM_OK(loom_ledger_lease(l, epoch(1), stretch(0, 5)));
    LOOM_OK(loom_ledger_lease(l, epoch(2), stretch(5, 2)));
    LOOM_OK(loom_ledger_folded(l, epoch(1), stretch(0, 4)));
    loom_stretch less[] = {{0, 3}}, other[] = {{0, 4}, {5, 1}}, beyond[] = {{0, 11}}, twice[] = {{0, 3}, {2, 2}},
                 free_one[] = {{0, 4}, {8, 1}};
    LOOM_FAILS(accept(l, epoch(1), less, 1, 1), LOOM_E_DENIED);
    LOOM_FAILS(accept(l, epoch(1), other, 2, 1), LOOM_E_DENIED);
    LOOM_FAILS(accept(l, epoch(1), beyond, 1, 1), LOOM_E_DENIED);
    LOOM_FAILS(accept(l, epoch(1), twice, 2, 1), LOOM_E_DENIED);
    LOOM_FAILS(accept(l, epoch(1), free_one, 2, 1), LOOM_E_DENIED);
    /* More than is known to be folded is fine as long as it was leased: the last beat is older than the delta. */
    loom_stretch all[] = {{3, 2}, {0, 3}};
    LOOM_OK(accept(l, epoch(1), all, 2, 1));
    LOOM_CHECK_EQ_INT(loom_ledger_count(l, LOOM_BLOCK_MERGED), 5);
    loom_ledger_verify(l);
    loom_ledger_destroy(l);
}

LOOM_TEST(ledger, what_was_leased_and_not_folded_is_free_after_the_delta) {
    loom_ledger *l = loom_ledger_create(6);
    LOOM_OK(loom_ledger_open(l, epoch(1)));
    LOOM_OK(loom_ledger_lease(l, epoch(1), stretch(0, 6)));
    LOOM_OK(loom_ledger_folded(l, epoch(1), stretch(0, 2)));
    loom_stretch blocks[] = {{0, 2}};
    LOOM_OK(accept(l, epoch(1), blocks, 1, 1));
    LOOM_CHECK_EQ_INT(loom_ledger_count(l, LOOM_BLOCK_FREE), 4);
    LOOM_CHECK_EQ_INT(loom_ledger_released(l), 0);
    loom_ledger_destroy(l);
}

LOOM_TEST(ledger, leases_do_not_overlap) {
    loom_ledger *l = loom_ledger_create(10);
    LOOM_OK(loom_ledger_open(l, epoch(1)));
    LOOM_OK(loom_ledger_open(l, epoch(2)));
    LOOM_OK(loom_ledger_lease(l, epoch(1), stretch(3, 3)));
    LOOM_FAILS(loom_ledger_lease(l, epoch(2), stretch(5, 1)), LOOM_E_DENIED);
    LOOM_FAILS(loom_ledger_lease(l, epoch(1), stretch(3, 1)), LOOM_E_DENIED);
    LOOM_FAILS(loom_ledger_lease(l, epoch(3), stretch(0, 1)), LOOM_E_DENIED);
    LOOM_FAILS(loom_ledger_lease(l, epoch(1), stretch(-1, 1)), LOOM_E_DENIED);
    LOOM_FAILS(loom_ledger_lease(l, epoch(1), stretch(9, 2)), LOOM_E_DENIED);
    LOOM_FAILS(loom_ledger_lease(l, epoch(1), stretch(9, INT64_MAX)), LOOM_E_DENIED);
    loom_ledger_destroy(l);
}

LOOM_TEST(ledger, an_epoch_comes_once) {
    loom_ledger *l = loom_ledger_create(1);
    LOOM_OK(loom_ledger_open(l, epoch(2)));
    LOOM_FAILS(loom_ledger_open(l, epoch(2)), LOOM_E_INTERNAL);
    LOOM_FAILS(loom_ledger_open(l, epoch(1)), LOOM_E_INTERNAL);
    LOOM_FAILS(loom_ledger_open(l, (loom_epoch){2, 0}), LOOM_E_INTERNAL);
    LOOM_OK(loom_ledger_open(l, (loom_epoch){2, 1}));
    loom_ledger_destroy(l);
}

LOOM_TEST(ledger, finds_free_stretches) {
    loom_ledger *l = loom_ledger_create(100);
    loom_stretch s;
    LOOM_OK(loom_ledger_open(l, epoch(1)));
    LOOM_OK(loom_ledger_lease(l, epoch(1), stretch(0, 10)));
    LOOM_OK(loom_ledger_lease(l, epoch(1), stretch(30, 10)));
    LOOM_CHECK(loom_ledger_free_from(l, 0, 100, &s));
    LOOM_CHECK_EQ_INT(s.first, 10);
    LOOM_CHECK_EQ_INT(s.n, 20);
    LOOM_CHECK(loom_ledger_free_from(l, 15, 20, &s));
    LOOM_CHECK_EQ_INT(s.first, 15);
    LOOM_CHECK_EQ_INT(s.n, 5);
    LOOM_CHECK(!loom_ledger_free_from(l, 30, 40, &s));
    LOOM_CHECK(loom_ledger_longest_free(l, 100, &s));
    LOOM_CHECK_EQ_INT(s.first, 40);
    LOOM_CHECK_EQ_INT(s.n, 60);
    LOOM_CHECK(loom_ledger_longest_free(l, 35, &s));
    LOOM_CHECK_EQ_INT(s.first, 10);
    LOOM_CHECK(!loom_ledger_longest_free(l, 10, &s));
    loom_ledger_destroy(l);
}

LOOM_TEST(ledger, an_empty_stream_is_complete) {
    loom_ledger *l = loom_ledger_create(0);
    loom_stretch s;
    LOOM_CHECK(loom_ledger_complete(l));
    LOOM_CHECK(!loom_ledger_free_from(l, 0, 10, &s));
    LOOM_OK(loom_ledger_open(l, epoch(1)));
    LOOM_OK(accept(l, epoch(1), NULL, 0, 1));
    loom_ledger_verify(l);
    loom_ledger_destroy(l);
}

/* ---- random operations ---- */

#define BLOCKS 60
#define EPOCHS 400

typedef struct model {
    loom_block_state state[BLOCKS];
    uint64_t owner[BLOCKS];
    bool current[EPOCHS];
    uint64_t newest;
    int64_t released;
    int accepted[BLOCKS]; /* how many accepted deltas hold the block: never more than one */
} model;

static uint64_t seed;
static uint64_t draw(uint64_t below) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

static bool in(loom_stretch s, int64_t b) {
    return b >= s.first && b < s.first + s.n;
}

static bool held(const model *m, int64_t b, uint64_t e) {
    return (m->state[b] == LOOM_BLOCK_LEASED || m->state[b] == LOOM_BLOCK_FOLDED) && m->owner[b] == e;
}

static loom_stretch random_stretch(void) {
    int64_t first = (int64_t)draw(BLOCKS);
    return stretch(first, (int64_t)draw((uint64_t)(BLOCKS - first) + 1) % 12);
}

static void compare(const model *m, const loom_ledger *l) {
    loom_ledger_verify(l);
    loom_ledger_run run;
    for (size_t i = 0; loom_ledger_run_at(l, i, &run); i++) {
        for (int64_t b = run.stretch.first; b < run.stretch.first + run.stretch.n; b++) {
            LOOM_CHECK_EQ_INT(run.state, m->state[b]);
            LOOM_CHECK_EQ_INT(run.owner, m->owner[b]);
            LOOM_CHECK(m->accepted[b] <= 1);
        }
    }
    LOOM_CHECK_EQ_INT(loom_ledger_released(l), m->released);
}

static void model_free(model *m, uint64_t e, loom_stretch s, bool folded, bool count) {
    for (int64_t b = 0; b < BLOCKS; b++) {
        if (!in(s, b) || !held(m, b, e) || (m->state[b] == LOOM_BLOCK_FOLDED && !folded)) continue;
        m->state[b] = LOOM_BLOCK_FREE;
        m->owner[b] = 0;
        m->released += count;
    }
}

static bool model_accept(model *m, uint64_t e, const loom_stretch *s, size_t n, uint64_t delta) {
    int times[BLOCKS] = {0};
    for (size_t i = 0; i < n; i++) {
        for (int64_t b = s[i].first; b < s[i].first + s[i].n; b++) times[b]++;
    }
    bool ok = m->current[e];
    for (int64_t b = 0; b < BLOCKS; b++) {
        if (times[b] > 1 || (times[b] && !held(m, b, e))) ok = false;
        if (!times[b] && held(m, b, e) && m->state[b] == LOOM_BLOCK_FOLDED) ok = false;
    }
    if (!ok) return false;
    for (int64_t b = 0; b < BLOCKS; b++) {
        if (!times[b]) continue;
        m->state[b] = LOOM_BLOCK_MERGED;
        m->owner[b] = delta;
        m->accepted[b]++;
    }
    model_free(m, e, stretch(0, BLOCKS), true, false);
    m->current[e] = false;
    return true;
}

static void check_same(bool model_ok, loom_status *status) {
    if (model_ok != !status) {
        loom_test_fail(__FILE__, __LINE__, "the model %s, the ledger says %s", model_ok ? "accepts" : "refuses",
                       status ? loom_status_message(status) : "yes");
    }
    loom_status_free(status);
}

static void step(model *m, loom_ledger *l, uint64_t *delta) {
    uint64_t e = m->newest ? 1 + draw(m->newest) : 0; /* mostly not current any more: late and revived ones */
    if (m->newest && draw(2)) e = m->newest - draw(m->newest < 4 ? m->newest : 4);
    loom_stretch s = random_stretch();
    switch (draw(8)) {
    case 0:
        if (m->newest + 1 >= EPOCHS) break;
        m->newest++;
        m->current[m->newest] = true;
        LOOM_OK(loom_ledger_open(l, epoch(m->newest)));
        break;
    case 1:
    case 2: {
        bool ok = e && m->current[e];
        for (int64_t b = s.first; b < s.first + s.n; b++) ok = ok && m->state[b] == LOOM_BLOCK_FREE;
        if (!e) break;
        check_same(ok, loom_ledger_lease(l, epoch(e), s));
        for (int64_t b = s.first; ok && b < s.first + s.n; b++) {
            m->state[b] = LOOM_BLOCK_LEASED;
            m->owner[b] = e;
        }
        break;
    }
    case 3:
    case 4: {
        bool ok = e && m->current[e];
        for (int64_t b = s.first; b < s.first + s.n; b++) ok = ok && held(m, b, e);
        if (!e) break;
        check_same(ok, loom_ledger_folded(l, epoch(e), s));
        for (int64_t b = s.first; ok && b < s.first + s.n; b++) m->state[b] = LOOM_BLOCK_FOLDED;
        break;
    }
    case 5:
        if (!e) break;
        check_same(m->current[e], loom_ledger_give_back(l, epoch(e), s));
        if (m->current[e]) model_free(m, e, s, false, false);
        break;
    case 6: {
        if (!e || draw(3)) break;
        int64_t freed;
        loom_ledger_fence(l, epoch(e), &freed);
        if (m->current[e]) model_free(m, e, stretch(0, BLOCKS), true, true);
        m->current[e] = false;
        break;
    }
    case 7: { /* a delta of what is folded, sometimes spoilt */
        if (!e) break;
        loom_stretch blocks[BLOCKS + 1];
        size_t n = 0;
        for (int64_t b = 0; b < BLOCKS; b++) {
            if (held(m, b, e) && m->state[b] == LOOM_BLOCK_FOLDED && (draw(40) || n == 0)) blocks[n++] = stretch(b, 1);
        }
        if (draw(6) == 0) blocks[n++] = s;
        for (size_t i = n; i > 1; i--) {
            size_t k = draw(i);
            loom_stretch t = blocks[i - 1];
            blocks[i - 1] = blocks[k];
            blocks[k] = t;
        }
        ++*delta;
        bool ok = model_accept(m, e, blocks, n, *delta);
        check_same(ok, accept(l, epoch(e), blocks, n, *delta));
        break;
    }
    }
}

LOOM_TEST(ledger, random_operations_against_the_model) {
    for (uint64_t round = 1; round <= 300; round++) {
        seed = round * 0x9e3779b97f4a7c15u;
        model *m = calloc(1, sizeof *m);
        loom_ledger *l = loom_ledger_create(BLOCKS);
        uint64_t delta = 0;
        for (int i = 0; i < 400; i++) {
            step(m, l, &delta);
            compare(m, l);
        }
        loom_ledger_destroy(l);
        free(m);
    }
}

/* Workers that die at random, deltas that come twice: in the end each block is in exactly one accepted delta. */
LOOM_TEST(ledger, every_block_exactly_once_through_deaths) {
    for (uint64_t round = 1; round <= 200; round++) {
        seed = round * 0xbf58476d1ce4e5b9u;
        loom_ledger *l = loom_ledger_create(BLOCKS);
        int inside[BLOCKS] = {0};
        uint64_t next = 0;
        int64_t freed, steps = 0;
        while (!loom_ledger_complete(l)) {
            LOOM_CHECK(steps++ < 100000);
            loom_epoch e = epoch(++next);
            LOOM_OK(loom_ledger_open(l, e));
            loom_stretch got[8];
            size_t n = 0;
            while (n < 8 && loom_ledger_free_from(l, 0, BLOCKS, &got[n])) {
                if (got[n].n > 3) got[n].n = 1 + (int64_t)draw(3);
                LOOM_OK(loom_ledger_lease(l, e, got[n]));
                LOOM_OK(loom_ledger_folded(l, e, got[n]));
                n++;
                if (draw(4) == 0) break;
            }
            if (draw(3) == 0) loom_ledger_fence(l, e, &freed);
            loom_status *status = accept(l, e, got, n, next);
            for (size_t i = 0; i < n && !status; i++) {
                for (int64_t b = got[i].first; b < got[i].first + got[i].n; b++) inside[b]++;
            }
            loom_status_free(status);
            LOOM_FAILS(accept(l, e, got, n, next + 1000), LOOM_E_DENIED);
        }
        for (int b = 0; b < BLOCKS; b++) LOOM_CHECK_EQ_INT(inside[b], 1);
        loom_ledger_destroy(l);
    }
}
