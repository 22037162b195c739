/* Programs over endless sequences, by stretches and windows, with the interpreter for jobs: whatever the stretches, the
 * results are those of the whole. And what cannot be done so is refused. */
#include "../src/held.h"
#include "common/buffer.h"
#include "compiler/interp/interp.h"
#include "compiler/stage/endless.h"
#include "compiler/syntax/syntax.h"
#include "loom_test.h"
#include <stdlib.h>
#include <string.h>

static loom_program *compile(loom_arena *arena, const char *text, int64_t lag) {
    loom_source_file file = {"test.weft", text, strlen(text)};
    loom_diagnostics d = {0};
    loom_program *p;
    loom_status *status = loom_syntax_compile(arena, &file, 1, &d, &p);
    if (status) loom_diagnostics_print(&d, &file, 1, stderr);
    LOOM_OK(status);
    loom_program_set_lag(p, lag);
    return p;
}

static loom_value *integers(const int64_t *from, int64_t n) {
    loom_value *v;
    LOOM_OK(loom_value_create(1, &v));
    LOOM_OK(loom_leaf_init(&v->leaves[0], "", LOOM_I64, 1, &n, UINT64_MAX));
    if (n) memcpy(v->leaves[0].data, from, (size_t)n * sizeof *from);
    return v;
}

static loom_value *call(const loom_program *p, loom_value *stream, int64_t a, int64_t b) {
    loom_value *at = integers((int64_t[]){a, b}, 2), *arguments[] = {stream, at}, *result;
    LOOM_OK(loom_interp_call(p, 0, arguments, NULL, &result, NULL));
    loom_value_unref(at);
    return result;
}

typedef struct parts {
    loom_value **at;
    size_t n, capacity;
} parts;

static void keep(parts *p, loom_value *value) {
    if (p->n == p->capacity) {
        p->capacity = p->capacity ? 2 * p->capacity : 16;
        p->at = loom_xrealloc(p->at, p->capacity * sizeof *p->at);
    }
    p->at[p->n++] = value;
}

static void close_groups(const loom_endless *e, cli_held *held, int64_t *out, int64_t closed, parts *results) {
    while (*out < closed) {
        int64_t to = *out + 1 + closed % 3 < closed ? *out + 1 + closed % 3 : closed;
        loom_value *elements;
        LOOM_OK(cli_held_pick(held, *out, to, &elements));
        LOOM_OK(loom_value_check(elements));
        keep(results, call(e->finish, elements, *out, to - *out));
        loom_value_unref(elements);
        *out = to;
    }
    LOOM_OK(cli_held_drop(held, *out));
}

/* By stretches of `each` elements. *held_most: how many were kept between two of them. */
static loom_value *by_stretches(const loom_endless *e, loom_value *stream, int64_t each, loom_windows *windows,
                                int64_t *held_most) {
    cli_held *held = cli_held_create();
    *windows = loom_windows_begin(e->lag);
    parts results = {0};
    *held_most = 0;
    int64_t n = stream->leaves[0].extents[0], out = 0;
    for (int64_t from = 0; from < n; from += each) {
        loom_value *stretch;
        LOOM_OK(loom_value_slice(stream, from, from + each < n ? from + each : n, &stretch));
        loom_value *made = call(e->prepare, stretch, from, 0);
        loom_value_unref(stretch);
        if (!e->finish) {
            keep(&results, made);
            continue;
        }
        LOOM_OK(cli_held_add(held, made, windows));
        loom_value_unref(made);
        close_groups(e, held, &out, loom_windows_closed(windows), &results);
        LOOM_CHECK(cli_held_open(held, out) <= cli_held_count(held));
        if (cli_held_count(held) > *held_most) *held_most = cli_held_count(held);
    }
    close_groups(e, held, &out, loom_windows_total(windows), &results);
    LOOM_CHECK_EQ_INT(cli_held_count(held), 0);
    cli_held_free(held);
    loom_value *all;
    LOOM_OK(loom_value_concat(results.at, results.n, &all));
    for (size_t i = 0; i < results.n; i++) loom_value_unref(results.at[i]);
    free(results.at);
    return all;
}

static void check_same(const loom_value *a, const loom_value *b) {
    LOOM_CHECK_EQ_INT(a->n_leaves, b->n_leaves);
    for (uint32_t i = 0; i < a->n_leaves; i++) {
        const loom_leaf *x = &a->leaves[i], *y = &b->leaves[i];
        LOOM_CHECK_STR(x->name, y->name);
        LOOM_CHECK_EQ_INT(x->extents[0], y->extents[0]);
        LOOM_CHECK_EQ_INT(x->n_data, y->n_data);
        LOOM_CHECK(memcmp(x->data, y->data, (size_t)x->n_data * loom_dtype_size(x->dtype)) == 0);
    }
}

/* Three of each forwards, with some that are late, and some that are negative. */
static loom_value *keys_of(int64_t n) {
    int64_t *keys = loom_xcalloc((size_t)n, sizeof *keys);
    uint64_t random = 88172645463325252u;
    for (int64_t i = 0; i < n; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        keys[i] = i / 3 - (random % 5 == 0 ? (int64_t)(random >> 8 & 7) : 0);
    }
    loom_value *stream = integers(keys, n);
    free(keys);
    return stream;
}

static void judge(const char *text, int64_t lag) {
    loom_arena *arena = loom_arena_create(0);
    loom_program *p = compile(arena, text, lag);
    loom_endless e;
    uint32_t entry = (uint32_t)(loom_program_entry(p, NULL) - p->functions);
    LOOM_OK(loom_endless_split(arena, p, entry, 0, &e));
    loom_value *stream = keys_of(60), *whole;
    loom_interp_counters counters;
    LOOM_OK(loom_interp_call(p, entry, &stream, NULL, &whole, &counters));
    for (int64_t each = 1; each <= 60; each += 1 + each / 3) {
        loom_windows windows;
        int64_t held_most;
        loom_value *made = by_stretches(&e, stream, each, &windows, &held_most);
        check_same(made, whole);
        loom_value_unref(made);
        if (e.finish) LOOM_CHECK(memcmp(&windows.counts, &counters.windows, sizeof windows.counts) == 0);
    }
    loom_value_unref(whole);
    loom_value_unref(stream);
    loom_arena_destroy(arena);
}

LOOM_TEST(endless, windows) {
    for (int64_t lag = 0; lag < 9; lag += 2) {
        judge(
            "entry main (s: seq i64) : seq (i64, i64) = group_seq forever (\\x -> [x]) s (\\k ys -> (k, fold_seq (+) 0 "
            "ys))",
            lag);
        judge("entry main (s: seq i64) : seq i64 = group_seq forever (\\x -> [x, x - 2, x]) s (\\k ys -> chain_seq k "
              "(\\a "
              "x -> 3 * a + x) ys)",
              lag);
    }
}

/* Twice what is open at most: three elements of each key that is not older than the lag, and of the few keys that are
 * there before the newest one for good, as late elements have come last. Not what has come in all, nor a stretch. */
LOOM_TEST(endless, what_is_kept_is_bounded_by_the_lag) {
    const char *text = "entry main (s: seq i64) : seq (i64, i64) =\n"
                       "  group_seq forever (\\x -> [x]) s (\\k ys -> (k, fold_seq (+) 0 ys))";
    for (int64_t lag = 0; lag <= 20; lag += 5) {
        loom_arena *arena = loom_arena_create(0);
        loom_endless e;
        LOOM_OK(loom_endless_split(arena, compile(arena, text, lag), 0, 0, &e));
        loom_value *stream = keys_of(6000);
        for (int64_t each = 7; each < 6000; each *= 10) {
            loom_windows windows;
            int64_t held_most;
            loom_value_unref(by_stretches(&e, stream, each, &windows, &held_most));
            LOOM_CHECK_EQ_INT(windows.counts.received, 6000);
            LOOM_CHECK(held_most >= 3 * lag);
            LOOM_CHECK(held_most <= 2 * 3 * (lag + 4));
        }
        loom_value_unref(stream);
        loom_arena_destroy(arena);
    }
}

LOOM_TEST(endless, before_and_after_windows) {
    judge("def seen x = x % 7 != 3\n"
          "entry main (s: seq i64) : seq (i64, i64) =\n"
          "  enumerate_seq s |> filter_seq (\\(_, x) -> seen x) |> map_seq (\\(i, x) -> (x, i * i))\n"
          "  |> (\\t -> group_seq forever (\\(x, _) -> [x // 2]) t (\\k ys -> fold_seq (+) k (map_seq (.1) ys)))\n"
          "  |> enumerate_seq |> filter_seq (\\(k, _) -> k % 3 != 1)",
          1);
    judge("entry main (s: seq i64) : seq (i64, i64) =\n"
          "  let g = group_seq forever (\\x -> [x // 4]) s (\\k ys -> fold_seq i64.max k ys)\n"
          "  in zip_with_seq (\\a (i, b) -> (a + i, b)) g (enumerate_seq (map_seq (* 2) g))",
          3);
}

LOOM_TEST(endless, elements_one_by_one) {
    judge("entry main (s: seq i64) : seq i64 = filter_seq (> 3) (map_seq (* 2) s)", 0);
    judge("entry main (s: seq i64) : seq (i64, i64) = zip_with_seq (\\(i, x) y -> (i + x, y)) (enumerate_seq s) "
          "(map_seq (+ "
          "1) s)",
          0);
}

static void refused(const char *text, const char *part) {
    loom_arena *arena = loom_arena_create(0);
    loom_endless e;
    loom_status *status = loom_endless_split(arena, compile(arena, text, 0), 0, 0, &e);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_DATA);
    LOOM_CHECK_HAS(loom_status_message(status), part);
    LOOM_CHECK(loom_status_notes(status) == 1);
    loom_status_free(status);
    loom_arena_destroy(arena);
}

LOOM_TEST(endless, consumers_without_windows_are_refused) {
    refused("entry main (s: seq i64) : i64 = fold_seq (+) 0 s", "fold_seq reads an endless sequence to its end");
    refused("entry main (s: seq i64) : []i64 = from_seq s", "from_seq reads an endless sequence");
    refused("entry main (s: seq i64) : i64 = chain_seq 0 (-) s", "chain_seq reads an endless sequence");
    refused("entry main (s: seq i64) : i64 = if true then fold_seq (+) 0 s else 1", "fold_seq reads an endless");
    refused("entry main (s: seq i64) : i64 = loop x = 0 for i < 3 do x + fold_seq (+) 0 s", "for reads an endless");
    refused("entry main (s: seq i64) : seq i64 = let m = fold_seq (+) 0 s in map_seq (+ m) s", "fold_seq reads");
    refused("entry main (s: seq i64) : seq i64 = group_seq 4 (\\x -> [x]) s (\\k ys -> k)", "has a number of groups");
    refused("entry main (s: seq i64) : seq i64 = group_map_seq 4 (\\x -> [x]) (+) 0 s (\\k ys -> ys)",
            "group_map_seq reads an endless");
    refused("entry main (s: seq i64) : i64 = fold_seq (+) 0 (group_seq forever (\\x -> [x]) s (\\k ys -> k))",
            "fold_seq reads an endless");
    refused("entry main (s: seq i64) : seq i64 = group_seq forever (\\x -> [x]) s (\\k ys -> fold_seq (+) 0 s)",
            "group_seq reads an endless");
}

LOOM_TEST(endless, what_is_not_at_equal_places_is_refused) {
    refused("entry main (s: seq i64) (t: seq i64) : seq i64 = zip_with_seq (+) s t",
            "together with one that need not be");
    refused("entry main (s: seq i64) : seq i64 = zip_with_seq (+) s (filter_seq (> 1) s)",
            "together with one that need");
    refused("entry main (s: seq i64) : seq (i64, i64) = enumerate_seq (filter_seq (> 1) s)", "counts the elements");
    refused("entry main (s: seq i64) : seq i64 = scan_seq (+) 0 s", "scan_seq over an endless sequence");
    refused("entry main (s: seq i64) : seq i64 =\n"
            "  let g = group_seq forever (\\x -> [x]) s (\\k ys -> k)\n"
            "  in group_seq forever (\\x -> [x]) g (\\k ys -> k)",
            "second grouping");
    refused("entry main (s: seq i64) (t: seq i64) : seq i64 = map_seq (+ 1) t", "not made of its endless sequence");
}
