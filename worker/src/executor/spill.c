/* Elements of a traversal's streams, written out by batch (compiler/plan/graph.h, "SPILLS").
 *
 * While blocks are folded, an output of kind SPILL keeps what they had: the columns as they came, and for each element
 * the batches that it is for. When it is handed over the elements are put in order of their batches, those of one batch
 * in stream order; an element for several batches is there several times, one for none is not. What is handed over has
 * a column "batch" and those of the streams, as <slot>/<column>.
 */
#include "common/buffer.h"
#include "executor/run.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- what blocks had ---- */

/* A value of others' leaves, under names of its own. */
typedef struct lenders {
    uint64_t bytes; /* that it and what is made of it take */
    uint32_t n;
    loom_value *values[];
} lenders;

static void release_borrowed(loom_value *value) {
    lenders *from = value->owner;
    for (uint32_t i = 0; i < value->n_leaves; i++) free(value->leaves[i].name);
    for (uint32_t i = 0; i < from->n; i++) loom_value_unref(from->values[i]);
    free(from);
}

static void borrow(loom_value *to, uint32_t *at, loom_value *from, char *(*name)(const loom_leaf *leaf, uint32_t slot),
                   uint32_t slot) {
    lenders *l = to->owner;
    l->values[l->n++] = loom_value_ref(from);
    for (uint32_t i = 0; i < from->n_leaves; i++) {
        loom_leaf *leaf = &to->leaves[(*at)++];
        *leaf = from->leaves[i];
        leaf->name = name(&from->leaves[i], slot);
    }
}

static char *batch_name(const loom_leaf *leaf, uint32_t slot) {
    (void)leaf, (void)slot;
    return loom_xstrdup("batch");
}

static char *column_name(const loom_leaf *leaf, uint32_t slot) {
    return loom_xprintf("%" PRIu32 "/%s", slot, leaf->name);
}

/* Elements, and how often they are written. */
static void count_places(const loom_leaf *lists, double *rows, double *written);

/* All of it, and the columns as often again as an element is for a batch. */
static uint64_t bytes_with_copies(const loom_value *kept) {
    const loom_value columns = {.n_leaves = kept->n_leaves - 1, .leaves = kept->leaves + 1};
    double rows, written, bytes = (double)loom_value_bytes(kept);
    count_places(&kept->leaves[0], &rows, &written);
    if (rows > 0) bytes += (double)loom_value_bytes(&columns) * written / rows;
    return bytes < 0x1p63 ? (uint64_t)bytes : UINT64_MAX / 2;
}

uint64_t loom_run_spilled_bytes(const loom_value *kept) {
    return kept->release == release_borrowed ? ((const lenders *)kept->owner)->bytes : loom_value_bytes(kept);
}

static loom_status *check_lists(const loom_value *value) {
    if (value->n_leaves && value->leaves[0].dtype == LOOM_I64 && value->leaves[0].depth == 2) return NULL;
    return loom_error(LOOM_E_INTERNAL, "spilled elements without a list of batches each");
}

loom_status *loom_run_spill(const loom_run *run, loom_value *const *streams, loom_value **batches) {
    LOOM_TRY(check_lists(*batches));
    uint32_t n_streams = run->stage->n_streams, n_leaves = (*batches)->n_leaves, at = 0;
    for (uint32_t s = 0; s < n_streams; s++) n_leaves += streams[s]->n_leaves;
    loom_value *made;
    LOOM_TRY(loom_value_create(n_leaves, &made));
    lenders *l = loom_xcalloc(1, sizeof *l + ((size_t)n_streams + 1) * sizeof *l->values);
    made->owner = l;
    made->release = release_borrowed;
    borrow(made, &at, *batches, batch_name, 0);
    for (uint32_t s = 0; s < n_streams; s++) borrow(made, &at, streams[s], column_name, run->stage->streams[s]);
    loom_value_unref(*batches);
    *batches = made;
    l->bytes = bytes_with_copies(made);
    return NULL;
}

/* ---- in order of batches ---- */

typedef struct place {
    int64_t batch, row;
} place;

typedef struct places {
    place *at;
    size_t n, capacity;
} places;

static void add_place(places *p, int64_t batch, int64_t row) {
    /* Keys of neighbouring groups are mostly of one batch. */
    if (p->n && p->at[p->n - 1].row == row && p->at[p->n - 1].batch == batch) return;
    if (p->n == p->capacity) {
        p->capacity = p->capacity ? 2 * p->capacity : 1024;
        p->at = loom_xrealloc(p->at, p->capacity * sizeof *p->at);
    }
    p->at[p->n++] = (place){batch, row};
}

/* In order of byte `byte` of the batch, those of one value as they stood. */
static void sort_by_byte(const places *p, unsigned byte, place *to) {
    size_t first[257] = {0};
    for (size_t i = 0; i < p->n; i++) first[((uint64_t)p->at[i].batch >> 8 * byte & 255) + 1]++;
    for (int b = 0; b < 256; b++) first[b + 1] += first[b];
    for (size_t i = 0; i < p->n; i++) to[first[(uint64_t)p->at[i].batch >> 8 * byte & 255]++] = p->at[i];
}

/* By batch; rows of a batch, which came in order, stay so. Byte by byte, the lowest first. */
static void sort_places(places *p) {
    uint64_t largest = 0;
    for (size_t i = 0; i < p->n; i++) largest |= (uint64_t)p->at[i].batch;
    place *other = loom_xcalloc(p->n + 1, sizeof *other);
    for (unsigned byte = 0; byte < 8 && largest >> 8 * byte; byte++) {
        sort_by_byte(p, byte, other);
        place *sorted = other;
        other = p->at;
        p->at = sorted;
    }
    free(other);
}

/* Neighbours that are alike count once; others that are would be few. */
static void count_places(const loom_leaf *lists, double *rows, double *written) {
    const int64_t *batch = lists->data;
    *rows = (double)loom_leaf_length(lists, 0, 0);
    *written = 0;
    for (int64_t row = 0; row < loom_leaf_length(lists, 0, 0); row++) {
        int64_t n = loom_leaf_length(lists, 1, row);
        for (int64_t i = 0; i < n; i++, batch++) *written += *batch >= 0 && (i == 0 || *batch != batch[-1]);
    }
}

/* Of each element the batches that are none (-1) are dropped, and each other one counts once. */
static void find_places(const loom_leaf *lists, places *p) {
    const int64_t *batch = lists->data;
    for (int64_t row = 0; row < loom_leaf_length(lists, 0, 0); row++) {
        int64_t n = loom_leaf_length(lists, 1, row);
        for (int64_t i = 0; i < n; i++, batch++) {
            if (*batch >= 0) add_place(p, *batch, row);
        }
    }
    sort_places(p);
    size_t kept = 0;
    for (size_t i = 0; i < p->n; i++) {
        bool again = kept && p->at[kept - 1].batch == p->at[i].batch && p->at[kept - 1].row == p->at[i].row;
        if (!again) p->at[kept++] = p->at[i];
    }
    p->n = kept;
}

static loom_status *batch_column(const places *p, loom_leaf *leaf) {
    LOOM_TRY(loom_leaf_init(leaf, "batch", LOOM_I64, 1, (const int64_t[]){(int64_t)p->n}, UINT64_MAX));
    for (size_t i = 0; i < p->n; i++) ((int64_t *)leaf->data)[i] = p->at[i].batch;
    return NULL;
}

/* `columns`: without the lists of batches. */
static loom_status *gather(const places *p, const loom_value *columns, loom_value **sorted) {
    int64_t *rows = malloc((p->n + 1) * sizeof *rows);
    loom_value *gathered = NULL, *made = NULL;
    loom_status *status = rows ? NULL : loom_error(LOOM_E_MEMORY, "no memory for the places of spilled elements");
    for (size_t i = 0; i < p->n && !status; i++) rows[i] = p->at[i].row;
    if (!status) status = loom_value_gather(columns, rows, (int64_t)p->n, &gathered);
    free(rows);
    if (!status) status = loom_value_create(columns->n_leaves + 1, &made);
    if (!status) status = batch_column(p, &made->leaves[0]);
    for (uint32_t i = 0; !status && i < columns->n_leaves; i++) {
        made->leaves[i + 1] = gathered->leaves[i];
        gathered->leaves[i] = (loom_leaf){0};
    }
    loom_value_unref(gathered);
    if (status) {
        loom_value_unref(made);
        return status;
    }
    *sorted = made;
    return NULL;
}

loom_status *loom_run_sort_spilled(const loom_value *kept, uint64_t most, loom_value **sorted) {
    LOOM_TRY(check_lists(kept));
    uint64_t bytes = bytes_with_copies(kept);
    if (bytes > most) {
        return loom_error(LOOM_E_LIMIT, "elements written once for each of their batches take %llu bytes, at most %llu",
                          (unsigned long long)bytes, (unsigned long long)most);
    }
    places p = {0};
    find_places(&kept->leaves[0], &p);
    loom_value columns = {.n_leaves = kept->n_leaves - 1, .leaves = kept->leaves + 1};
    loom_status *status = gather(&p, &columns, sorted);
    free(p.at);
    return status;
}

/* ---- reading ---- */

/* Whether a column is of the slot; *name: what it is called there. */
static bool is_of(const char *column, uint32_t slot, const char **name) {
    char *end;
    unsigned long number = strtoul(column, &end, 10);
    *name = end + 1;
    return end != column && *end == '/' && number == slot;
}

/* Columns of the slots, as they stand in `spilled`; the leaves are borrowed, names too. */
static loom_status *columns_of(const loom_value *spilled, const uint32_t *slots, uint32_t n_slots, loom_value *some) {
    const char *name;
    *some = (loom_value){.leaves = calloc((size_t)spilled->n_leaves + 1, sizeof *some->leaves)};
    if (!some->leaves) return loom_error(LOOM_E_MEMORY, "no memory for spilled elements");
    for (uint32_t i = 0; i < spilled->n_leaves; i++) {
        bool wanted = false;
        for (uint32_t s = 0; s < n_slots; s++) wanted = wanted || is_of(spilled->leaves[i].name, slots[s], &name);
        if (wanted) some->leaves[some->n_leaves++] = spilled->leaves[i];
    }
    return NULL;
}

static loom_status *take_stream(loom_value *from, uint32_t slot, loom_value **stream) {
    const char *name;
    uint32_t n = 0;
    for (uint32_t i = 0; i < from->n_leaves; i++) n += from->leaves[i].name && is_of(from->leaves[i].name, slot, &name);
    loom_value *made;
    LOOM_TRY(loom_value_create(n, &made));
    n = 0;
    for (uint32_t i = 0; i < from->n_leaves; i++) {
        loom_leaf *leaf = &from->leaves[i];
        if (!leaf->name || !is_of(leaf->name, slot, &name)) continue;
        char *old = leaf->name;
        made->leaves[n] = *leaf;
        made->leaves[n++].name = loom_xstrdup(name);
        *leaf = (loom_leaf){0};
        free(old);
    }
    *stream = made;
    return NULL;
}

loom_status *loom_spill_read(const loom_value *spilled, int64_t from, int64_t count, const uint32_t *slots,
                             uint32_t n_streams, loom_value **streams) {
    loom_value some, *slice = NULL;
    if (from < 0 || count < 0 || from > INT64_MAX - count)
        return loom_error(LOOM_E_PROTOCOL, "a task over spilled elements that are not there");
    LOOM_TRY(columns_of(spilled, slots, n_streams, &some));
    loom_status *status = loom_value_slice(&some, from, from + count, &slice);
    free(some.leaves);
    for (uint32_t s = 0; s < n_streams && !status; s++) status = take_stream(slice, slots[s], &streams[s]);
    loom_value_unref(slice);
    return status;
}
