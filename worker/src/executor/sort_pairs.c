/* Few pairs: short runs by insertion, merged from below. Many: by the bytes of their words, from the lowest on, bytes
 * that are the same in all left out; of 16384 random words a third of the time. What is in order already is seen first.
 */
#include "executor/sort_pairs.h"
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define SHORT_RUN 12
/* From so many pairs on counting bytes costs less than merging. */
#define BY_BYTES 200

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static void copy(const loom_pair *from, int64_t n, loom_pair *to) {
    if (n > 0) memcpy(to, from, (size_t)n * sizeof *to);
}

/* ---- merging ---- */

typedef struct merging {
    const loom_pair *a, *end_a, *b, *end_b;
    loom_pair *to;
} merging;

static bool has_both(const merging *m) {
    return m->a < m->end_a && m->b < m->end_b;
}

/* No branch depends on the words. */
static void step(merging *m) {
    bool second = m->b->word < m->a->word;
    *m->to++ = *(second ? m->b : m->a);
    m->a += !second;
    m->b += second;
}

static void finish(merging *m) {
    while (has_both(m)) step(m);
    copy(m->a, m->end_a - m->a, m->to);
    copy(m->b, m->end_b - m->b, m->to + (m->end_a - m->a));
}

/* How many of the first `n` pairs of a and b merged are of a. */
static int64_t share_of(const loom_pair *a, int64_t n_a, const loom_pair *b, int64_t n_b, int64_t n) {
    int64_t low = n > n_b ? n - n_b : 0, high = least(n, n_a);
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (a[middle].word <= b[n - middle - 1].word) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* In two halves, turn by turn: each step waits for the one before, so that two in hand take little more than one. */
void loom_merge_pairs(const loom_pair *a, int64_t n_a, const loom_pair *b, int64_t n_b, int64_t from, int64_t to,
                      loom_pair *into) {
    int64_t half = from + (to - from) / 2;
    int64_t x = share_of(a, n_a, b, n_b, from), y = share_of(a, n_a, b, n_b, half), z = share_of(a, n_a, b, n_b, to);
    merging first = {a + x, a + y, b + (from - x), b + (half - y), into};
    merging second = {a + y, a + z, b + (half - y), b + (to - z), into + (half - from)};
    while (has_both(&first) && has_both(&second)) {
        step(&first);
        step(&second);
    }
    finish(&first);
    finish(&second);
}

/* ---- few pairs ---- */

static void insert_run(loom_pair *at, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        loom_pair p = at[i];
        int64_t j = i;
        for (; j > 0 && p.word < at[j - 1].word; j--) at[j] = at[j - 1];
        at[j] = p;
    }
}

static loom_pair *sort_few(loom_pair *from, loom_pair *to, int64_t n) {
    for (int64_t i = 0; i < n; i += SHORT_RUN) insert_run(from + i, least(SHORT_RUN, n - i));
    for (int64_t width = SHORT_RUN; width < n; width *= 2) {
        for (int64_t i = 0; i < n; i += 2 * width) {
            int64_t n_a = least(width, n - i), n_b = least(width, n - i - n_a);
            merging m = {from + i, from + i + n_a, from + i + n_a, from + i + n_a + n_b, to + i};
            finish(&m);
        }
        loom_pair *swapped = from;
        from = to;
        to = swapped;
    }
    return from;
}

/* ---- many pairs ---- */

static void by_byte(const loom_pair *from, loom_pair *to, int64_t n, unsigned shift) {
    int64_t begin[256] = {0}, sum = 0;
    for (int64_t i = 0; i < n; i++) begin[from[i].word >> shift & 255]++;
    for (int k = 0; k < 256; k++) {
        int64_t count = begin[k];
        begin[k] = sum;
        sum += count;
    }
    for (int64_t i = 0; i < n; i++) to[begin[from[i].word >> shift & 255]++] = from[i];
}

static loom_pair *sort_many(loom_pair *from, loom_pair *to, int64_t n) {
    uint64_t differ = 0;
    for (int64_t i = 1; i < n; i++) differ |= from[i].word ^ from[0].word;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if (!(differ >> shift & 255)) continue;
        by_byte(from, to, n, shift);
        loom_pair *swapped = from;
        from = to;
        to = swapped;
    }
    return from;
}

static bool is_in_order(const loom_pair *at, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        if (at[i].word < at[i - 1].word) return false;
    }
    return true;
}

void loom_sort_pairs(loom_pair *at, loom_pair *spare, int64_t n) {
    if (is_in_order(at, n)) return;
    const loom_pair *sorted = n < BY_BYTES ? sort_few(at, spare, n) : sort_many(at, spare, n);
    if (sorted != at) copy(sorted, n, at);
}
