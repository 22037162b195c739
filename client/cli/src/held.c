/* A list of stretches as they came. A stretch goes when none of its elements is open any more; one of which less than
 * half are open is copied without the others. */
#include "held.h"
#include "common/buffer.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct stretch {
    struct stretch *next;
    loom_value *elements; /* with what was open to each as the last leaf, "1" */
    int64_t n, n_open;
    int64_t *open;  /* by element: groups from this one on */
    int64_t *begin; /* n + 1: its keys */
    int64_t *keys;
    int64_t *last; /* by element: its greatest key, -1: none that counts */
    int64_t greatest;
} stretch;

struct cli_held {
    stretch *first, **end;
    loom_value *none; /* no elements, of the right shape */
};

static void free_stretch(stretch *s) {
    if (!s) return;
    loom_value_unref(s->elements);
    free(s->open);
    free(s->begin);
    free(s->keys);
    free(s->last);
    free(s);
}

cli_held *cli_held_create(void) {
    cli_held *h = loom_xcalloc(1, sizeof *h);
    h->end = &h->first;
    return h;
}

void cli_held_free(cli_held *h) {
    if (!h) return;
    while (h->first) {
        stretch *s = h->first;
        h->first = s->next;
        free_stretch(s);
    }
    loom_value_unref(h->none);
    free(h);
}

int64_t cli_held_count(const cli_held *h) {
    int64_t n = 0;
    for (const stretch *s = h->first; s; s = s->next) n += s->n;
    return n;
}

static int64_t count_open(const stretch *s, int64_t before) {
    int64_t n = 0;
    for (int64_t i = 0; i < s->n; i++) n += s->last[i] >= before;
    return n;
}

int64_t cli_held_open(const cli_held *h, int64_t before) {
    int64_t n = 0;
    for (const stretch *s = h->first; s; s = s->next) n += count_open(s, before);
    return n;
}

/* ---- a stretch ---- */

static loom_status *make_room(int64_t n, int64_t n_keys, stretch **made) {
    stretch *s = loom_xcalloc(1, sizeof *s);
    size_t count = (size_t)n + 1;
    s->open = calloc(count, sizeof *s->open);
    s->begin = calloc(count, sizeof *s->begin);
    s->last = calloc(count, sizeof *s->last);
    s->keys = calloc((size_t)n_keys + 1, sizeof *s->keys);
    if (!s->open || !s->begin || !s->last || !s->keys) {
        free_stretch(s);
        return loom_error(LOOM_E_MEMORY, "no memory for the keys of %" PRId64 " elements", n);
    }
    s->n = n;
    s->greatest = -1;
    *made = s;
    return NULL;
}

/* Keys and what was open of the next element, which number `i` is. */
static void put_element(stretch *s, int64_t i, const int64_t *keys, int64_t n, int64_t open) {
    s->open[i] = open;
    s->last[i] = -1;
    if (n) memcpy(s->keys + s->begin[i], keys, (size_t)n * sizeof *keys);
    s->begin[i + 1] = s->begin[i] + n;
    for (int64_t k = 0; k < n; k++)
        if (keys[k] >= open && keys[k] > s->last[i]) s->last[i] = keys[k];
    if (s->last[i] > s->greatest) s->greatest = s->last[i];
    s->n_open += s->last[i] >= 0;
}

typedef struct lent {
    loom_value *from;
    int64_t *open;
} lent;

static void release_lent(loom_value *value) {
    lent *l = value->owner;
    loom_value_unref(l->from);
    free(l->open);
    free(l);
}

/* The leaves of `from`, but for the last, in place of which stands `open`. */
static loom_status *with_open(loom_value *from, const int64_t *open, int64_t n, loom_value **made) {
    static char name[] = "1";
    loom_value *v;
    LOOM_TRY(loom_value_create(from->n_leaves, &v));
    lent *l = loom_xcalloc(1, sizeof *l);
    *l = (lent){loom_value_ref(from), malloc((size_t)(n + 1) * sizeof *open)};
    v->owner = l;
    v->release = release_lent;
    if (!l->open) {
        loom_value_unref(v);
        return loom_error(LOOM_E_MEMORY, "out of memory");
    }
    if (n) memcpy(l->open, open, (size_t)n * sizeof *open);
    memcpy(v->leaves, from->leaves, from->n_leaves * sizeof *v->leaves);
    v->leaves[from->n_leaves - 1] = (loom_leaf){
        .name = name, .dtype = LOOM_I64, .depth = 1, .extents = {n}, .n_lengths = {1}, .data = l->open, .n_data = n};
    *made = v;
    return NULL;
}

static loom_status *read_keys(const loom_leaf *keys, loom_windows *windows, stretch *s) {
    const int64_t *at = keys->data;
    for (int64_t i = 0; i < s->n; i++) {
        int64_t n = loom_leaf_length(keys, 1, i), open;
        LOOM_TRY(loom_windows_take(windows, at, n, &open));
        put_element(s, i, at, n, open);
        at += n;
    }
    return NULL;
}

static loom_status *keep_rows(const stretch *s, const int64_t *rows, int64_t n, stretch **kept) {
    int64_t n_keys = 0;
    for (int64_t i = 0; i < n; i++) n_keys += s->begin[rows[i] + 1] - s->begin[rows[i]];
    stretch *made;
    LOOM_TRY(make_room(n, n_keys, &made));
    for (int64_t i = 0; i < n; i++) {
        const int64_t *keys = s->keys + s->begin[rows[i]];
        put_element(made, i, keys, s->begin[rows[i] + 1] - s->begin[rows[i]], s->open[rows[i]]);
    }
    loom_status *status = loom_value_gather(s->elements, rows, n, &made->elements);
    if (status) {
        free_stretch(made);
        return status;
    }
    *kept = made;
    return NULL;
}

/* Those elements that are open, where less than half are; takes `s` where it gives another one. */
static loom_status *compact(stretch *s, int64_t before, stretch **compacted) {
    *compacted = s;
    if (s->n_open > s->n / 2 || s->n_open == 0) return NULL;
    int64_t *rows = malloc((size_t)s->n_open * sizeof *rows), n = 0;
    if (!rows) return loom_error(LOOM_E_MEMORY, "out of memory");
    for (int64_t i = 0; i < s->n; i++)
        if (s->last[i] >= before) rows[n++] = i;
    stretch *kept;
    loom_status *status = keep_rows(s, rows, n, &kept);
    free(rows);
    if (status) return status;
    kept->next = s->next;
    free_stretch(s);
    *compacted = kept;
    return NULL;
}

/* ---- all of them ---- */

static loom_status *check_stretch(const loom_value *v) {
    const loom_leaf *keys = v->n_leaves > 1 ? &v->leaves[v->n_leaves - 1] : NULL;
    if (keys && keys->dtype == LOOM_I64 && keys->depth == 2) return NULL;
    return loom_error(LOOM_E_INTERNAL, "elements of windows come without their keys");
}

loom_status *cli_held_add(cli_held *h, loom_value *value, loom_windows *windows) {
    LOOM_TRY(check_stretch(value));
    const loom_leaf *keys = &value->leaves[value->n_leaves - 1];
    stretch *s;
    LOOM_TRY(make_room(loom_leaf_length(keys, 0, 0), keys->n_data, &s));
    loom_status *status = read_keys(keys, windows, s);
    if (!status) status = with_open(value, s->open, s->n, &s->elements);
    if (!status && !h->none) status = loom_value_gather(s->elements, NULL, 0, &h->none);
    if (status || s->n_open == 0) {
        free_stretch(s);
        return status;
    }
    *h->end = s;
    h->end = &s->next;
    return NULL;
}

/* Whether an element is in a group of [from, to). */
static bool is_in(const stretch *s, int64_t i, int64_t from, int64_t to) {
    int64_t least = s->open[i] > from ? s->open[i] : from;
    for (int64_t k = s->begin[i]; k < s->begin[i + 1]; k++)
        if (s->keys[k] >= least && s->keys[k] < to) return true;
    return false;
}

static loom_status *pick_of(const stretch *s, int64_t from, int64_t to, loom_value **elements) {
    int64_t *rows = malloc((size_t)(s->n + 1) * sizeof *rows), n = 0;
    if (!rows) return loom_error(LOOM_E_MEMORY, "out of memory");
    for (int64_t i = 0; i < s->n; i++)
        if (s->last[i] >= from && is_in(s, i, from, to)) rows[n++] = i;
    *elements = NULL;
    loom_status *status = n ? loom_value_gather(s->elements, rows, n, elements) : NULL;
    free(rows);
    return status;
}

loom_status *cli_held_pick(const cli_held *h, int64_t from, int64_t to, loom_value **elements) {
    size_t most = 0, n = 0;
    for (const stretch *s = h->first; s; s = s->next) most++;
    loom_value **parts = loom_xcalloc(most + 1, sizeof *parts);
    loom_status *status = NULL;
    for (const stretch *s = h->first; s && !status; s = s->next) {
        if (s->greatest < from) continue;
        status = pick_of(s, from, to, &parts[n]);
        n += parts[n] != NULL;
    }
    if (!status && !h->none) status = loom_error(LOOM_E_INTERNAL, "windows before the first element");
    if (!status && n > 1) {
        status = loom_value_concat(parts, n, elements);
    } else if (!status) {
        *elements = loom_value_ref(n ? parts[0] : h->none);
    }
    for (size_t i = 0; i < n; i++) loom_value_unref(parts[i]);
    free(parts);
    return status;
}

loom_status *cli_held_drop(cli_held *h, int64_t before) {
    for (stretch **at = &h->first; *at;) {
        stretch *s = *at;
        if (s->greatest < before) {
            *at = s->next;
            free_stretch(s);
            continue;
        }
        s->n_open = count_open(s, before);
        LOOM_TRY(compact(s, before, at));
        at = &(*at)->next;
    }
    h->end = &h->first;
    while (*h->end) h->end = &(*h->end)->next;
    return NULL;
}
