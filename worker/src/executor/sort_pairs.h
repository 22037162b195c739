/* Sorting pairs of a word and a place by their words, stably. Private to the executor.
 *
 * Threads: any; all functions work in what they are given.
 */
#ifndef LOOM_WORKER_SORT_PAIRS_H
#define LOOM_WORKER_SORT_PAIRS_H

#include <stdint.h>

typedef struct loom_pair {
    uint64_t word;
    int64_t place;
} loom_pair;

/* Sorts `at`, with `spare` for as many. Meant for what a second-level cache holds. */
void loom_sort_pairs(loom_pair *at, loom_pair *spare, int64_t n);

/* Outputs [from, to) of what a and b, each in order, are when merged; of equal words those of a come first. */
void loom_merge_pairs(const loom_pair *a, int64_t n_a, const loom_pair *b, int64_t n_b, int64_t from, int64_t to,
                      loom_pair *into);

#endif
