/* SORT: the places of an array's elements in ascending order of their keys, stable.
 *
 * Every scalar of a key becomes a word (common/order.h), so a comparison is the same for all types; keys of several
 * scalars are compared one after the other. Merging from below, a run that is in order already being copied: n log n
 * comparisons at most, n for what is sorted.
 */
#include "common/order.h"
#include "eval.h"
#include <string.h>

typedef struct sorting {
    uint32_t n_leaves;
    int64_t n;
    const uint64_t *words; /* leaf by leaf */
} sorting;

static void load_words(const column *c, uint64_t *to) {
    size_t size = scalar_size(c);
    for (int64_t i = 0; i < c->length; i++) {
        to[i] = loom_order_word(c->dtype, loom_scalar_load(c->dtype, c->data + (size_t)i * size));
    }
}

static bool is_before(const sorting *s, int64_t a, int64_t b) {
    for (uint32_t k = 0; k < s->n_leaves; k++) {
        uint64_t x = s->words[k * s->n + a], y = s->words[k * s->n + b];
        if (x != y) return x < y;
    }
    return false;
}

/* Two neighbouring runs of `from` into one of `to`; of equal keys the left one first. */
static void merge(const sorting *s, const int64_t *from, int64_t left, int64_t middle, int64_t right, int64_t *to) {
    if (middle >= right || !is_before(s, from[middle], from[middle - 1])) {
        memcpy(to + left, from + left, (size_t)(right - left) * sizeof *to);
        return;
    }
    int64_t i = left, j = middle;
    for (int64_t k = left; k < right; k++) {
        bool second = i == middle || (j < right && is_before(s, from[j], from[i]));
        to[k] = second ? from[j++] : from[i++];
    }
}

/* Returns which of the two areas has the result. */
static int64_t *merge_all(const sorting *s, int64_t *a, int64_t *b) {
    for (int64_t i = 0; i < s->n; i++) a[i] = i;
    for (int64_t width = 1; width < s->n; width *= 2) {
        for (int64_t left = 0; left < s->n; left += 2 * width) {
            int64_t middle = left + width < s->n ? left + width : s->n;
            int64_t right = middle + width < s->n ? middle + width : s->n;
            merge(s, a, left, middle, right, b);
        }
        int64_t *swapped = a;
        a = b;
        b = swapped;
    }
    return a;
}

/* Before anything is sorted: the limit on work is looked at between operations otherwise. */
static loom_status *count_work(evaluation *ev, const loom_node *n, const sorting *s) {
    uint64_t length = (uint64_t)s->n;
    ev->work += length * s->n_leaves * (length > 1 ? 64 - (uint64_t)__builtin_clzll(length - 1) : 1);
    ev->heap.moved += length;
    return check_effort(ev, n);
}

loom_status *eval_sort(evaluation *ev, loom_node_id id, slot *result) {
    const loom_node *n = &ev->program->nodes[id];
    const array *keys = operand(ev, n, 0).array;
    sorting s = {.n_leaves = keys->n_leaves, .n = keys->length};
    LOOM_TRY(count_work(ev, n, &s));
    column *made;
    buffer *words, *spare;
    LOOM_TRY(column_fresh(&ev->heap, LOOM_I64, 1, &s.n, &made));
    LOOM_TRY(buffer_create(&ev->heap, (uint64_t)s.n * s.n_leaves * sizeof *s.words, &words));
    LOOM_TRY(buffer_create(&ev->heap, (uint64_t)s.n * sizeof(int64_t), &spare));
    s.words = (const uint64_t *)(const void *)words->data;
    for (uint32_t k = 0; k < s.n_leaves; k++) {
        load_words(keys->leaves[k], (uint64_t *)(void *)words->data + (int64_t)k * s.n);
    }
    int64_t *places = (int64_t *)(void *)made->data;
    const int64_t *sorted = merge_all(&s, places, (int64_t *)(void *)spare->data);
    if (sorted != places && s.n > 0) memcpy(places, sorted, (size_t)s.n * sizeof *places);
    object_unref(&ev->heap, &words->head);
    object_unref(&ev->heap, &spare->head);
    result->array = array_make(&ev->heap, type_of_id(ev, n->type)->element);
    result->array->leaves[0] = made;
    array_seal(result->array);
    return NULL;
}
