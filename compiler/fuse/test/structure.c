/* What is left after fusion: how many operations, where the work stands, what is proven. */
#include "../../vectorise/test/weft.h"
#include <time.h>

static bool names_prim(const loom_lifted *l, const loom_lop *o, loom_prim prim) {
    if (o->body == LOOM_NONE) return false;
    const loom_lblock *b = &l->blocks[o->body];
    for (loom_lexpr_id i = b->first; i < b->end; i++) {
        if (l->exprs[i].kind == LOOM_LX_PRIM && l->exprs[i].prim == prim) return true;
    }
    return false;
}

static const loom_lop *only(const loom_lifted *l, loom_lop_kind kind) {
    const loom_lop *found = NULL;
    for (uint32_t i = 0; i < l->n_ops; i++) {
        if (l->ops[i].kind != kind) continue;
        LOOM_CHECK(!found);
        found = &l->ops[i];
    }
    LOOM_CHECK(found);
    return found;
}

static uint32_t count_loads(const loom_lifted *l, const loom_lop *o, loom_load_mode mode) {
    const loom_lblock *b = &l->blocks[o->body];
    uint32_t n = 0;
    for (loom_lexpr_id i = b->first; i < b->end; i++) n += l->exprs[i].kind == LOOM_LX_LOAD && l->exprs[i].mode == mode;
    return n;
}

LOOM_TEST(structure, dotp_is_one_reduction) {
    loom_arena *arena;
    loom_lifted *l = weft_lifted(
        &(weft_case){.name = "dotp",
                     .text = "entry main (xs: seq f64) (ys: seq f64) : f64 = fold_seq (+) 0 (zip_with_seq (*) xs ys)",
                     .arguments = {"f64 30", "f64 30"},
                     .tolerance = 1e-12},
        &arena);
    LOOM_CHECK_EQ_INT(l->n_ops, 1);
    LOOM_CHECK(names_prim(l, only(l, LOOM_LO_REDUCE), LOOM_PRIM_MUL));
    loom_arena_destroy(arena);
}

static const char awgrid[] =
    "type sample = {y: i64, x: i64, wbin: i64, a1: i64, a2: i64, vis: c128}\n"
    "def pad8 (k: [3][3]c128) = backpermute (replicate 8 (replicate 8 0)) (\\(i, j) -> (i, j)) k\n"
    "def crop3 (f: [8][8]c128) = generate (3, 3) (\\i j -> f[i + 1, j + 1])\n"
    "def convolve a b = crop3 (ifft (zip_with (zip_with (*)) (fft (pad8 a)) (fft (pad8 b))))\n"
    "entry main [na][nw] (akern: [na][3][3]c128) (wkern: [nw][3][3]c128) (g: i64) (s: seq sample) : [][]c128 =\n"
    "  let patch (v: sample) = map (map (* v.vis)) (convolve wkern[v.wbin] (convolve akern[v.a1] akern[v.a2]))\n"
    "  let place (v: sample) = generate (3, 3) (\\i j -> (v.y + i - 1, v.x + j - 1))\n"
    "  in permute_seq (+) (replicate g (replicate g 0)) (map_seq place s) (map_seq patch s)";

/* Four padded kernels and two products stay, as inputs of transforms; cropping, scaling and places are in the permute.
 */
LOOM_TEST(structure, awgrid) {
    loom_arena *arena;
    loom_lifted *l = weft_lifted(
        &(weft_case){
            .name = "awgrid",
            .text = awgrid,
            .arguments =
                {"c128 2x3x3", "c128 2x3x3", "i64 = 12",
                 "i64 4 = 0 5 11 13; i64 4 = 7 11 0 4; i64 4 = 0 1 0 1; i64 4 = 1 1 0 0; i64 4 = 0 1 0 1; c128 4"},
            .tolerance = 1e-9},
        &arena);
    LOOM_CHECK_EQ_INT(weft_count(l, LOOM_LO_FFT), 6);
    uint32_t large = 0;
    for (uint32_t i = 0; i < l->n_ops; i++) large += l->ops[i].kind == LOOM_LO_COMPUTE && l->ops[i].n_axes == 3;
    LOOM_CHECK_EQ_INT(large, 6);
    const loom_lop *permute = only(l, LOOM_LO_PERMUTE);
    LOOM_CHECK_EQ_INT(permute->n_axes, 3);
    LOOM_CHECK_EQ_INT(count_loads(l, permute, LOOM_LOAD_PROVEN), 4); /* y, x, transform, visibility */
    LOOM_CHECK_EQ_INT(count_loads(l, permute, LOOM_LOAD_CHECKED), 0);
    loom_arena_destroy(arena);
}

/* Gridding with a separable kernel: exponentials stand over (element, cell), never over (element, cell, cell). */
LOOM_TEST(structure, separable_kernel) {
    loom_arena *arena;
    loom_lifted *l = weft_lifted(
        &(weft_case){
            .name = "separable",
            .text =
                "type sample = {u: f64, v: f64, vis: f64}\n"
                "def taps (x: f64) = generate 6 (\\i -> let t = f64.i64 i - (x - f64.floor x) in f64.exp (-t * t))\n"
                "entry main (g: i64) (s: seq sample) : [][]f64 =\n"
                "  let patch (v: sample) = let ku = taps v.u let kv = taps v.v in generate (6, 6) (\\i j -> v.vis * "
                "kv[i] * ku[j])\n"
                "  let place (v: sample) = let y = i64.f64 (f64.floor v.v) let x = i64.f64 (f64.floor v.u)\n"
                "    in generate (6, 6) (\\i j -> (y + i, x + j))\n"
                "  in permute_seq (+) (replicate g (replicate g 0.0)) (map_seq place s) (map_seq patch s)",
            .arguments = {"i64 = 20", "f64 9; f64 9; f64 9"},
            .tolerance = 1e-9},
        &arena);
    const loom_lop *permute = only(l, LOOM_LO_PERMUTE);
    LOOM_CHECK(!names_prim(l, permute, LOOM_PRIM_EXP));
    LOOM_CHECK_EQ_INT(count_loads(l, permute, LOOM_LOAD_PROVEN), 4); /* y, x, vis * kv, ku */
    for (uint32_t i = 0; i < l->n_ops; i++) {
        if (names_prim(l, &l->ops[i], LOOM_PRIM_EXP)) LOOM_CHECK_EQ_INT(l->ops[i].n_axes, 2);
    }
    loom_arena_destroy(arena);
}

/* Both consumers of an exponential over the same points: one operation with two results. */
LOOM_TEST(structure, several_consumers) {
    loom_arena *arena;
    loom_lifted *l = weft_lifted(
        &(weft_case){
            .name = "consumers",
            .text = "entry main (a: []f64) : ([]f64, []f64) = let e = map f64.exp a in (map (+ 1.0) e, map (* 2.0) e)",
            .arguments = {"f64 9"},
            .tolerance = 1e-12},
        &arena);
    LOOM_CHECK_EQ_INT(l->n_ops, 1);
    LOOM_CHECK_EQ_INT(l->ops[0].n_results, 2);
    loom_arena_destroy(arena);
}

/* Squares are products, of floats and integers; other powers are not. */
LOOM_TEST(structure, squares) {
    loom_arena *arena;
    loom_lifted *l =
        weft_lifted(&(weft_case){.name = "squares",
                                 .text = "entry main (a: []f64) (b: []f32) (c: []i32) : ([]f64, []f32, []i32) =\n"
                                         "  (map (** 2) a, map (** 2) b, map (** 2) c)",
                                 .arguments = {"f64 9", "f32 9", "i32 9"},
                                 .tolerance = 1e-12},
                    &arena);
    for (uint32_t i = 0; i < l->n_ops; i++) LOOM_CHECK(!names_prim(l, &l->ops[i], LOOM_PRIM_POW));
    loom_arena_destroy(arena);
    l = weft_lifted(
        &(weft_case){.name = "cubes",
                     .text = "entry main (a: []f64) (k: f64) : ([]f64, []f64) = (map (** 3) a, map (** k) a)",
                     .arguments = {"f64 9", "f64 = 2"},
                     .tolerance = 1e-12},
        &arena);
    LOOM_CHECK(names_prim(l, &l->ops[0], LOOM_PRIM_POW));
    loom_arena_destroy(arena);
}

/* Equal computations, far apart in the text, are one. */
LOOM_TEST(structure, equal_operations) {
    loom_arena *arena;
    loom_lifted *l = weft_lifted(
        &(weft_case){
            .name = "equal",
            .text =
                "entry main (a: [][]f64) : ([]f64, []f64) = (map (\\r -> sum r + 1.0) a, map (\\r -> sum r * 2.0) a)",
            .arguments = {"f64 3x9"},
            .tolerance = 1e-12},
        &arena);
    LOOM_CHECK_EQ_INT(weft_count(l, LOOM_LO_REDUCE), 1);
    loom_arena_destroy(arena);
}

static uint32_t largest_result(const loom_lifted *l) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < l->n_ops; i++) {
        for (uint32_t k = 0; k < l->ops[i].n_results; k++) {
            uint32_t n = l->values[l->ops[i].results[k]].n_axes;
            if (n > most) most = n;
        }
    }
    return most;
}

/* Rows that are chosen, cut, joined and repeated are referred to by each of those who use them: nothing with an axis
 * for the elements of such rows is left. */
LOOM_TEST(structure, rows_are_referred_to) {
    static const char *const texts[] = {
        "let yss = map (\\i -> xss[i]) is in map (\\ys -> ys[0] + sum ys) yss",
        "let yss = gather (gather xss is) (reverse (iota (length is))) in map (\\ys -> ys[0] * maximum ys) yss",
        "let yss = map (\\i -> if i > 0 then xss[i] else xss[1]) is in map (\\ys -> ys[0] * maximum ys) yss",
        "let yss = map (\\i -> xss[1][i:]) is in map (\\ys -> if length ys > 0 then ys[0] + sum ys else 0) yss",
        "let yss = gather xss is ++ replicate 3 xss[1] in map (\\ys -> ys[0] + sum ys) yss",
        "map (\\i -> let ys = xss[i] in loop s = 0 for k < length ys do s + ys[k] * ys[0]) is",
        "let yss = map reverse (gather xss is) in map (\\ys -> ys[0] + sum ys) yss",
    };
    for (uint32_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        for (uint32_t irregular = 0; irregular < 2; irregular++) {
            loom_arena *arena;
            char *text = NULL;
            LOOM_CHECK(asprintf(&text, "entry main (xss: [][]f64) (is: []i64) : []f64 = %s", texts[k]) > 0);
            loom_lifted *l = weft_lifted(
                &(weft_case){.name = "references",
                             .text = text,
                             .arguments = {irregular ? "f64 3x[12 14 13]" : "f64 3x14", "i64 9 = 0 1 2 2 1 0 0 2 1"},
                             .tolerance = 1e-12},
                &arena);
            if (largest_result(l) > 1) loom_test_fail(__FILE__, __LINE__, "rows are copied: %s", texts[k]);
            loom_arena_destroy(arena);
            free(text);
        }
    }
}

/* What is computed is no row of another: it is computed once, and not for each of those who read it again and again. */
LOOM_TEST(structure, tables_are_kept) {
    loom_arena *arena;
    loom_lifted *l = weft_lifted(
        &(weft_case){.name = "tables",
                     .text =
                         "entry main (n: i64) (is: []i64) : []i64 = let t = generate (n, 20) (\\i j -> (i * 7919 + j "
                         "* 104729) % 1009 / (1 + (i * j) % 7)) in map (\\q -> loop s = 0 for i < n do s + sum (map (* "
                         "q) t[i])) is",
                     .arguments = {"i64 = 9", "i64 9 = 0 1 2 2 1 0 0 2 1"}},
        &arena);
    LOOM_CHECK_EQ_INT(largest_result(l), 2);
    loom_arena_destroy(arena);
}

/* Elements are taken from where a sort says that they are, without a look at bounds. */
static uint32_t checked_loads_of(const char *text, const char *argument) {
    loom_arena *arena;
    loom_lifted *l = weft_lifted(&(weft_case){.name = "sorts", .text = text, .arguments = {argument}}, &arena);
    uint32_t n = 0;
    only(l, LOOM_LO_SORT);
    for (uint32_t i = 0; i < l->n_ops; i++) {
        if (l->ops[i].body != LOOM_NONE) n += count_loads(l, &l->ops[i], LOOM_LOAD_CHECKED);
    }
    loom_arena_destroy(arena);
    return n;
}

LOOM_TEST(structure, places_of_sorts_are_in_range) {
    LOOM_CHECK_EQ_INT(checked_loads_of("entry main (a: []f64) : []f64 = sort a", "f64 9"), 0);
    LOOM_CHECK_EQ_INT(checked_loads_of("entry main (a: [][]f64) : [][]f64 = map sort a", "f64 3x4"), 0);
    LOOM_CHECK_EQ_INT(checked_loads_of("entry main (a: [][]f64) : [][]f64 = sort_by (\\r -> r[0:1][0]) a", "f64 3x4"),
                      0);
    LOOM_CHECK_EQ_INT(checked_loads_of("entry main (a: [][]f64) : []f64 = map (\\r -> fold (\\x y -> x - y) 0 (sort "
                                       "(filter (> 0) r))) a",
                                       "f64 3x4"),
                      0);
    /* Next to it. */
    LOOM_CHECK(
        checked_loads_of("entry main (a: [][]f64) : [][]f64 = map (\\r -> let p = map (.1) (sort_by (.0) (zip a[0] "
                         "(iota (length a[0])))) in map (\\i -> r[max 0 (i - 1)]) p) a",
                         "f64 3x4") > 0);
}

/* Rows of a few numbers are copied, like numbers. */
LOOM_TEST(structure, short_rows_are_copied) {
    loom_arena *arena;
    loom_lifted *l = weft_lifted(
        &(weft_case){.name = "short",
                     .text = "entry main (xss: [][]f64) (is: []i64) : []f64 =\n"
                             "  let yss = gather (gather xss is) is in map (\\ys -> ys[0] * ys[1] + maximum ys) yss",
                     .arguments = {"f64 3x3", "i64 9 = 0 1 2 2 1 0 0 2 1"},
                     .tolerance = 1e-12},
        &arena);
    LOOM_CHECK_EQ_INT(largest_result(l), 2);
    loom_arena_destroy(arena);
}

/* What costs more than finding an element is computed once for each, and kept: here over (i, j). */
LOOM_TEST(structure, results_are_kept) {
    static const char *const texts[] = {
        "let yss = map (\\x -> map (\\y -> f64.exp (x * y)) xs) xs in map (\\ys -> ys[0] + sum ys) yss",
        "let yss = map (\\y -> map (\\x -> f64.exp (x + y)) xs) xs in map2 (\\ys i -> ys[i] * maximum ys) yss is",
    };
    for (uint32_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        loom_arena *arena;
        char *text = NULL;
        LOOM_CHECK(asprintf(&text, "entry main (xs: []f64) (is: []i64) : []f64 = %s", texts[k]) > 0);
        loom_lifted *l = weft_lifted(
            &(weft_case){
                .name = "kept", .text = text, .arguments = {"f64 9", "i64 9 = 0 1 2 2 1 0 0 2 1"}, .tolerance = 1e-12},
            &arena);
        LOOM_CHECK_EQ_INT(largest_result(l), 2);
        loom_arena_destroy(arena);
        free(text);
    }
}

static char *long_program(uint32_t n, const char *step) {
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    fputs("entry main (a: []f64) : []f64 = map (\\x0 -> let x1 = x0 + 1.0\n", to);
    for (uint32_t i = 2; i < n; i++) fprintf(to, step, i, i - 1, i - 2, i - 1);
    fprintf(to, " in x%u) a", n - 1);
    fclose(to);
    return text;
}

static double processor_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* 10 000 scalar steps: time grows with their number, bodies stay below their limit. */
LOOM_TEST(structure, long_programs) {
    static const char *const steps[] = {
        "let x%u = x%u * 0.5 + x%u + 0.0 * x%u\n",
        "let x%u = f64.exp (0.001 * x%u) - 0.1 * x%u + x%u\n",
        "let x%u = if x%u > 1.0 then 0.5 * x%u else 1.0 + x%u\n",
    };
    for (uint32_t k = 0; k < 3; k++) {
        char *text = long_program(5000, steps[k]);
        loom_arena *arena;
        double begin = processor_seconds();
        loom_lifted *l =
            weft_lifted(&(weft_case){.name = "long", .text = text, .arguments = {"f64 3"}, .tolerance = 1e-6}, &arena);
        double took = processor_seconds() - begin;
        for (uint32_t i = 0; i < l->n_ops; i++) {
            const loom_lblock *b = &l->blocks[l->ops[i].body];
            LOOM_CHECK(b->end - b->first <= 1200);
        }
        /* A second on a slow machine; quadratic behaviour would take minutes. Sanitizers are given room. */
        if (took > 60) loom_test_fail(__FILE__, __LINE__, "%.1f s", took);
        loom_arena_destroy(arena);
        free(text);
    }
}

/* Flattened and taken apart again: no division is left, of constant extents and of others. */
LOOM_TEST(structure, flattened_and_back) {
    static const char *const shapes[] = {"f64 3x4", "f64 70x80"};
    for (int i = 0; i < 2; i++) {
        loom_arena *arena;
        loom_lifted *l = weft_lifted(&(weft_case){.name = "flattened_and_back",
                                                  .text = "entry main [n][m] (xss: [n][m]f64) : [n][m]f64 =\n"
                                                          "  unflatten n m (map (+ 1) (flatten xss))",
                                                  .arguments = {shapes[i]}},
                                     &arena);
        for (uint32_t o = 0; o < l->n_ops; o++) {
            LOOM_CHECK(!names_prim(l, &l->ops[o], LOOM_PRIM_QUOT) && !names_prim(l, &l->ops[o], LOOM_PRIM_REM));
        }
        loom_arena_destroy(arena);
    }
}
