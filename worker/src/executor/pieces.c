/* Which blocks are inside, and the partial results of runs of blocks. */
#include "common/buffer.h"
#include "executor/run.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Index of the first piece that begins at or after `first`. */
static size_t place_of(const loom_pieces *pieces, int64_t first) {
    size_t low = 0, high = pieces->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pieces->at[middle].first < first) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void insert(loom_pieces *pieces, size_t at, loom_piece piece) {
    if (pieces->count == pieces->capacity) {
        pieces->capacity = pieces->capacity ? 2 * pieces->capacity : 8;
        pieces->at = loom_xrealloc(pieces->at, pieces->capacity * sizeof *pieces->at);
    }
    memmove(&pieces->at[at + 1], &pieces->at[at], (pieces->count - at) * sizeof *pieces->at);
    pieces->at[at] = piece;
    pieces->count++;
}

static void take_out(loom_pieces *pieces, size_t at) {
    memmove(&pieces->at[at], &pieces->at[at + 1], (pieces->count - at - 1) * sizeof *pieces->at);
    pieces->count--;
}

void loom_pieces_clear(loom_pieces *pieces) {
    for (size_t i = 0; i < pieces->count; i++) loom_value_unref(pieces->at[i].value);
    free(pieces->at);
    *pieces = (loom_pieces){0};
}

bool loom_run_has_blocks(const loom_run *run, int64_t first, int64_t n) {
    const loom_pieces *p = &run->blocks;
    size_t at = place_of(p, first);
    if (at < p->count && p->at[at].first < first + n) return true;
    return at > 0 && p->at[at - 1].first + p->at[at - 1].n > first;
}

/* Joins the piece at `at` with the one after it if they touch. */
static loom_status *join_next(loom_run *run, uint32_t output, loom_pieces *pieces, size_t at, bool values) {
    if (at + 1 >= pieces->count || pieces->at[at].first + pieces->at[at].n != pieces->at[at + 1].first) return NULL;
    loom_piece next = pieces->at[at + 1];
    take_out(pieces, at + 1);
    loom_piece *piece = &pieces->at[at];
    piece->n += next.n;
    if (!values) return NULL;
    loom_value *a = piece->value;
    piece->value = NULL;
    return loom_run_join(run, output, a, next.value, &piece->value);
}

loom_status *loom_run_add_blocks(loom_run *run, int64_t first, int64_t n) {
    size_t at = place_of(&run->blocks, first);
    insert(&run->blocks, at, (loom_piece){.first = first, .n = n});
    LOOM_TRY(join_next(run, 0, &run->blocks, at, false));
    return at > 0 ? join_next(run, 0, &run->blocks, at - 1, false) : NULL;
}

/* One piece for everything: where blocks merge in any order, `first` is the least and `n` the number of blocks. */
static loom_status *add_anywhere(loom_run *run, uint32_t output, int64_t first, int64_t n, loom_value *value) {
    loom_pieces *pieces = &run->outputs[output].pieces;
    if (pieces->count == 0) {
        insert(pieces, 0, (loom_piece){.first = first, .n = n, .value = value});
        return NULL;
    }
    loom_piece *piece = &pieces->at[0];
    if (first < piece->first) piece->first = first;
    piece->n += n;
    if (!value) return NULL;
    loom_value *a = piece->value;
    piece->value = NULL;
    return loom_run_join(run, output, a, value, &piece->value);
}

loom_status *loom_run_add(loom_run *run, uint32_t output, int64_t first, int64_t n, loom_value *value) {
    loom_run_output *o = &run->outputs[output];
    if (!loom_output_ordered(o)) return add_anywhere(run, output, first, n, value);
    size_t at = place_of(&o->pieces, first);
    insert(&o->pieces, at, (loom_piece){.first = first, .n = n, .value = value});
    /* What is collected is joined when it is handed over: joining again and again would copy it as often. */
    if (loom_is_collected(o->kind)) return NULL;
    LOOM_TRY(join_next(run, output, &o->pieces, at, true));
    return at > 0 ? join_next(run, output, &o->pieces, at - 1, true) : NULL;
}
