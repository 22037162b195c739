/* SORT: for each list along the last extent, the places of its elements in ascending order of their keys; stable.
 *
 * What is moved are pairs of a word (common/order.h) and a place, so that comparing needs neither the keys' type nor
 * the keys. Keys of several scalars are sorted once for each, the last one first: as every sort is stable, what was in
 * order by the later ones stays so among those that are equal in the earlier ones.
 *
 * A list of up to PIECE elements is sorted by one thread in its own scratch; lists are spread over threads. A longer
 * list is sorted by all threads: its pieces as such lists, then rounds of merges over the whole list, each round cut
 * into pieces of what it makes. Cost: n log n for each scalar; two pairs of memory for each element of the longest
 * list. Neither threads nor ranges have an influence on the result.
 */
#include "common/order.h"
#include "executor/engine.h"
#include "executor/sort_pairs.h"

/* Elements that one thread sorts: two areas of pairs in a second-level cache of today. */
#define PIECE ((int64_t)1 << 15)

typedef struct sort_job {
    loom_engine *engine;
    const loom_plan_action *action;
    int64_t *places;
    const int64_t *offsets;  /* of rows that differ in length, else NULL */
    int64_t n_lists, length; /* length: of each list, where there are no offsets */
    int64_t longest, shortest;
    loom_pair *scratch; /* of thread t: from 2 * t * scratch_pairs on */
    int64_t scratch_pairs;
    /* The long list at hand. */
    int64_t begin, n, width;
    uint32_t key;
    loom_pair *from, *to;
} sort_job;

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t list_begin(const sort_job *s, int64_t list) {
    return s->offsets ? s->offsets[list] : list * s->length;
}

/* ---- words ---- */

#define READ_WORDS(type, order)                                                                                        \
    do {                                                                                                               \
        const type *values = (const type *)data + begin;                                                               \
        for (int64_t i = 0; i < n; i++) at[i].word = order(values[at[i].place]);                                       \
    } while (0)
#define AS_IT_IS(value) ((uint64_t)(value))

/* The words of the pairs' places in the list that begins at `begin`. */
static void read_words(loom_dtype type, const void *data, int64_t begin, loom_pair *at, int64_t n) {
    switch (type) {
    case LOOM_BOOL:
    case LOOM_U8: READ_WORDS(uint8_t, AS_IT_IS); break;
    case LOOM_U16: READ_WORDS(uint16_t, AS_IT_IS); break;
    case LOOM_U32: READ_WORDS(uint32_t, AS_IT_IS); break;
    case LOOM_U64: READ_WORDS(uint64_t, AS_IT_IS); break;
    case LOOM_I8: READ_WORDS(int8_t, loom_order_signed); break;
    case LOOM_I16: READ_WORDS(int16_t, loom_order_signed); break;
    case LOOM_I32: READ_WORDS(int32_t, loom_order_signed); break;
    case LOOM_I64: READ_WORDS(int64_t, loom_order_signed); break;
    case LOOM_F32: READ_WORDS(float, loom_order_float); break;
    case LOOM_F64: READ_WORDS(double, loom_order_float); break;
    default: break; /* loom_plan_check refuses the others */
    }
}

static void read_key(const sort_job *s, uint32_t key, int64_t begin, loom_pair *at, int64_t n) {
    uint32_t buffer = s->action->buffers[key];
    read_words(s->engine->plan->buffers[buffer].dtype, s->engine->data[buffer], begin, at, n);
}

/* ---- what one thread sorts ---- */

static void sort_list(const sort_job *s, int64_t begin, int64_t n, loom_pair *at, loom_pair *spare) {
    for (int64_t i = 0; i < n; i++) at[i].place = i;
    for (uint32_t key = s->action->n_buffers; key-- > 0;) {
        read_key(s, key, begin, at, n);
        loom_sort_pairs(at, spare, n);
    }
    for (int64_t i = 0; i < n; i++) s->places[begin + i] = at[i].place;
}

static void lists_body(void *context, int thread, int64_t from, int64_t to) {
    const sort_job *s = context;
    loom_pair *at = s->scratch + 2 * thread * s->scratch_pairs;
    for (int64_t list = from; list < to; list++) {
        int64_t begin = list_begin(s, list), n = list_begin(s, list + 1) - begin;
        if (n <= PIECE) sort_list(s, begin, n, at, at + s->scratch_pairs);
    }
}

/* ---- what all threads sort ---- */

static void number_body(void *context, int thread, int64_t from, int64_t to) {
    const sort_job *s = context;
    (void)thread;
    for (int64_t i = from; i < to; i++) s->from[i].place = i;
}

static void pieces_body(void *context, int thread, int64_t from, int64_t to) {
    const sort_job *s = context;
    (void)thread;
    for (int64_t i = from; i < to; i += PIECE) {
        int64_t n = least(PIECE, to - i);
        read_key(s, s->key, s->begin, s->from + i, n);
        loom_sort_pairs(s->from + i, s->to + i, n);
    }
}

/* Makes [from, to) of what a round makes; within one pair of runs, as widths are whole pieces. */
static void merge_body(void *context, int thread, int64_t from, int64_t to) {
    const sort_job *s = context;
    (void)thread;
    int64_t left = from / (2 * s->width) * (2 * s->width);
    int64_t n_a = least(s->width, s->n - left), n_b = least(s->width, s->n - left - n_a);
    const loom_pair *a = s->from + left;
    loom_merge_pairs(a, n_a, a + n_a, n_b, from - left, to - left, s->to + from);
}

static void places_body(void *context, int thread, int64_t from, int64_t to) {
    const sort_job *s = context;
    (void)thread;
    for (int64_t i = from; i < to; i++) s->places[s->begin + i] = s->from[i].place;
}

static loom_status *by_pieces(sort_job *s, loom_pool_body body) {
    loom_executor *executor = s->engine->executor;
    loom_pool_for(executor->pool, s->n, PIECE, &executor->cancelled, body, s);
    return loom_engine_cancelled(s->engine);
}

static loom_status *sort_long_list(sort_job *s) {
    LOOM_TRY(by_pieces(s, number_body));
    for (s->key = s->action->n_buffers; s->key-- > 0;) {
        LOOM_TRY(by_pieces(s, pieces_body));
        for (s->width = PIECE; s->width < s->n; s->width *= 2) {
            LOOM_TRY(by_pieces(s, merge_body));
            loom_pair *swapped = s->from;
            s->from = s->to;
            s->to = swapped;
        }
    }
    return by_pieces(s, places_body);
}

static loom_status *sort_long_lists(sort_job *s) {
    loom_memory *memory = s->engine->executor->memory;
    loom_block block = {0};
    loom_status *status =
        loom_memory_take(memory, 2 * (uint64_t)s->longest * sizeof(loom_pair), "sorting an array", &block);
    for (int64_t list = 0; list < s->n_lists && !status; list++) {
        s->begin = list_begin(s, list);
        s->n = list_begin(s, list + 1) - s->begin;
        if (s->n <= PIECE) continue;
        s->from = block.data;
        s->to = s->from + s->longest;
        status = sort_long_list(s);
    }
    loom_memory_give(memory, &block);
    return status;
}

/* ---- the action ---- */

static loom_status *sort_short_lists(sort_job *s, int64_t n) {
    loom_executor *executor = s->engine->executor;
    s->scratch_pairs = least(PIECE, s->longest);
    uint64_t bytes = 2 * (uint64_t)s->engine->n_threads * (uint64_t)s->scratch_pairs * sizeof(loom_pair);
    loom_block block = {0};
    LOOM_TRY(loom_memory_take(executor->memory, bytes, "sorting arrays", &block));
    s->scratch = block.data;
    int64_t grain = PIECE / (n / s->n_lists + 1) + 1;
    loom_pool_for(executor->pool, s->n_lists, grain, &executor->cancelled, lists_body, s);
    loom_memory_give(executor->memory, &block);
    return loom_engine_cancelled(s->engine);
}

static void find_lists(sort_job *s, int64_t n) {
    const loom_plan_buffer *to = &s->engine->plan->buffers[s->action->buffer];
    uint32_t last = to->extents[to->n_extents - 1];
    if (s->engine->plan->extents[last].kind != LOOM_EXTENT_SEGMENTED) {
        s->length = s->longest = s->shortest = s->engine->extents[last];
        s->n_lists = n / s->length;
        return;
    }
    s->offsets = s->engine->data[s->action->buffer2];
    s->n_lists = loom_engine_elements(s->engine, s->action->buffer2);
    s->shortest = n;
    for (int64_t i = 0; i < s->n_lists; i++) {
        int64_t length = s->offsets[i + 1] - s->offsets[i];
        if (length > s->longest) s->longest = length;
        s->shortest = least(s->shortest, length);
    }
}

loom_status *loom_engine_sort(loom_engine *engine, const loom_plan_action *action) {
    int64_t n = loom_engine_elements(engine, action->buffer);
    if (n == 0) return NULL;
    sort_job s = {.engine = engine, .action = action, .places = engine->data[action->buffer]};
    find_lists(&s, n);
    if (s.shortest <= PIECE) LOOM_TRY(sort_short_lists(&s, n));
    return s.longest > PIECE ? sort_long_lists(&s) : NULL;
}

/* Of rows that differ in length the mean counts: which is the longest is not known before they are there. */
uint64_t loom_engine_sort_bytes(const loom_engine *engine, const loom_plan_action *action) {
    const loom_plan_buffer *to = &engine->plan->buffers[action->buffer];
    const loom_plan_extent *last = &engine->plan->extents[to->extents[to->n_extents - 1]];
    int64_t length = engine->extents[to->extents[to->n_extents - 1]];
    if (last->kind == LOOM_EXTENT_SEGMENTED) {
        int64_t lists = loom_engine_elements(engine, action->buffer2);
        length = lists > 0 ? length / lists : 0;
    }
    if (length <= 0) return 0;
    uint64_t pairs = (uint64_t)length;
    if (length <= PIECE) pairs *= (uint64_t)engine->n_threads;
    return pairs < UINT64_MAX / (2 * sizeof(loom_pair)) ? 2 * pairs * sizeof(loom_pair) : UINT64_MAX;
}
