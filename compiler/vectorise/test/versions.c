/* Where the versions of lifted functions take the place of a map. The versions here are wrong on purpose: they mark
 * what they make, so that the result tells where they were used. */
#include "compiler/vectorise/versions.h"
#include "common/buffer.h"
#include "compiler/interp/interp.h"
#include "compiler/stage/stage.h"
#include "compiler/syntax/syntax.h"
#include "loom_test.h"

#define F "def f (x: f64) = x + 1 def fs (xs: []f64) = map (+ 100) xs lifted regular f = fs\n"
/* Of rows: f takes the first element, the versions mark it by 100 for equal rows, by 200 for any. */
#define ROWS                                                                                                           \
    "def f (xs: []f64) = xs[0] "                                                                                       \
    "def fs [k][n] (xss: [k][n]f64) = map (\\xs -> xs[0] + 100) xss lifted regular f = fs\n"
#define BOTH   ROWS "def fr (xss: [][]f64) = map (\\xs -> xs[0] + 200) xss lifted irregular f = fr\n"
#define RAGGED "map (\\i -> map (\\j -> f64 (i + j)) (iota (i + 1))) (iota n)"
#define SQUARE "map (\\i -> map (\\j -> f64 (i + j)) (iota 2)) (iota n)"

typedef struct chosen {
    loom_arena *arena;
    loom_program *program;
    loom_version_notes notes;
} chosen;

static chosen choose(const char *text, bool versions) {
    chosen c = {.arena = loom_arena_create(0)};
    loom_source_file *file = LOOM_NEW(c.arena, loom_source_file);
    *file = (loom_source_file){"test.weft", loom_arena_strdup(c.arena, text), strlen(text)};
    loom_diagnostics d = {0};
    loom_program *program, *simple;
    loom_status *status = loom_syntax_compile(c.arena, file, 1, &d, &program);
    if (status) loom_diagnostics_print(&d, file, 1, stderr);
    LOOM_OK(status);
    LOOM_OK(loom_simplify_one(c.arena, program, (uint32_t)(loom_program_entry(program, NULL) - program->functions),
                              &simple));
    LOOM_OK(loom_versions_choose(c.arena, simple, 0, NULL, versions, &c.program, &c.notes));
    for (loom_node_id id = 0; id < c.program->n_nodes; id++) LOOM_CHECK(c.program->nodes[id].op != LOOM_OP_LIFTED);
    return c;
}

static loom_value *two(void) {
    loom_value *n;
    LOOM_OK(loom_value_create(1, &n));
    LOOM_OK(loom_leaf_init(&n->leaves[0], "", LOOM_I64, 0, NULL, 64));
    loom_scalar_store(LOOM_I64, (loom_scalar){.i = 2}, n->leaves[0].data);
    return n;
}

/* entry main (n: i64) : f64 gives this for n = 2. */
static void gives(const char *text, double expected, uint32_t used, const char *noted) {
    chosen c = choose(text, true);
    loom_value *n = two(), *result;
    loom_interp_options options = {0};
    LOOM_OK(loom_interp_call(c.program, 0, &n, &options, &result, NULL));
    double found = loom_scalar_load(LOOM_F64, result->leaves[0].data).f;
    if (found != expected || c.notes.used != used) {
        loom_test_fail(__FILE__, __LINE__, "%s\n%g, expected %g; %u used", text, found, expected, c.notes.used);
    }
    bool there = !noted;
    for (size_t i = 0; i < c.notes.count; i++) there = there || strstr(c.notes.at[i], noted);
    if (!there) loom_test_fail(__FILE__, __LINE__, "%s\nnothing is said of \"%s\"", text, noted);
    loom_value_unref(n);
    loom_value_unref(result);
    loom_arena_destroy(c.arena);
}

LOOM_TEST(versions, in_maps) {
    gives(F "entry main (n: i64) : f64 = f (f64 n)", 3, 0, NULL);
    gives(F "entry main (n: i64) : f64 = sum (map f [f64 n, 1f64])", 203, 1,
          "test.weft:2: f: lifted by fs, its version for regular");
    gives(F "entry main (n: i64) : f64 = sum (map (\\x -> 2 * f (x * x) + x) [f64 n, 1f64])", 2 * 205 + 3, 1, NULL);
    gives(F "entry main (n: i64) : f64 = sum (map (\\x -> f x - f (2 * x)) [f64 n])", -2, 2, NULL);
    gives(F "entry main (n: i64) : f64 = sum (map (\\x -> f (f (f x))) [f64 n])", 302, 3, NULL);
    gives(F "entry main (n: i64) : f64 = sum (map (\\x -> x + f (f64 n)) (replicate 3 1))", 309, 1, NULL);
    gives(F "entry main (n: i64) : f64 = sum (map (\\x -> x + f 5) (replicate 3 1))", 318, 1, NULL);
    gives(F "entry main (n: i64) : f64 = sum (generate n (\\i -> f (f64 i)))", 201, 1, NULL);
    gives(F "entry main (n: i64) : f64 = sum (map2 (\\x y -> f (x - y)) [f64 n] [1f64])", 101, 1, NULL);
    /* In the body of a version and of a function with one. */
    gives(F "def g (x: f64) = f x def gs (xs: []f64) = map f xs lifted regular g = gs\n"
            "entry main (n: i64) : f64 = g 1 + sum (map g [f64 n])",
          2 + 102, 2, NULL);
}

LOOM_TEST(versions, in_maps_in_maps) {
    const char *all = "once for all elements of the maps around";
    gives(F "entry main (n: i64) : f64 = sum (flatten (map (\\i -> map (\\j -> f (f64 (i * j))) (iota 3)) (iota n)))",
          603, 2, all);
    gives(F "entry main (n: i64) : f64 = sum (flatten (generate (n, 3) (\\i j -> f (f64 (i * j)))))", 603, 2, all);
    gives(F "entry main (n: i64) : f64 = sum (flatten (flatten (generate (n, 3, 2) (\\i j k -> f (f64 (i * j * k))))))",
          1203, 3, all);
    /* Rows of the outer map differ: the version is called for each. */
    gives(F "entry main (n: i64) : f64 = sum (flatten (map (\\i -> map f (map f64 (iota (i + 1)))) (iota n)))", 301, 1,
          "for each element of the map around by itself: argument 1");
}

LOOM_TEST(versions, by_shapes) {
    gives(ROWS "entry main (n: i64) : f64 = sum (map f (" SQUARE "))", 201, 1, NULL);
    gives(ROWS "entry main (n: i64) : f64 = sum (map f (" RAGGED "))", 1, 0,
          "f: not lifted by fs: argument 1: the extent is a number that depends on the element (line 2)");
    gives(BOTH "entry main (n: i64) : f64 = sum (map f (" SQUARE "))", 201, 1, NULL);
    gives(BOTH "entry main (n: i64) : f64 = sum (map f (" RAGGED "))", 401, 1,
          "f: lifted by fr, its version for irregular");
    /* What is claimed of a parameter counts; of another one nothing is known. */
    gives(ROWS
          "entry main (n: i64) : f64 = sum (map f (map (\\i -> map f64 (iota (2 + i / n))) (iota n) :> [n][2]f64))",
          200, 1, NULL);
}

/* More calls than are looked at in one round; more values than a tuple has fields, with the call in a branch too. */
LOOM_TEST(versions, many) {
    for (int way = 0; way < 3; way++) {
        bool more = way > 0;
        loom_buffer text = {0};
        int n = more ? LOOM_MAX_TUPLE + 1 : 150;
        loom_buffer_text(&text, F "entry main (n: i64) : f64 = sum (map (\\x -> let y0 = x\n");
        if (more) loom_buffer_text(&text, "let s = x + 1\n");
        for (int i = 1; i <= n; i++) {
            if (more) {
                loom_buffer_printf(&text, "let a%d = x * %d let s = s + a%d\n", i, i, i);
            } else {
                loom_buffer_printf(&text, "let y%d = y%d + f (%d * x)\n", i, i - 1, i);
            }
        }
        if (more) {
            loom_buffer_text(&text, way == 2 ? "let y = if x > 0 then f s else s\n" : "let y = f s\n");
            for (int i = 1; i <= n; i++) loom_buffer_printf(&text, "let y = y - a%d\n", i);
            loom_buffer_text(&text, "in y) [f64 n])");
        } else {
            loom_buffer_printf(&text, "in y%d) [f64 n])", n);
        }
        loom_buffer_printf(&text, "%c", 0);
        double all = n * (n + 1); /* 2 * sum of 1 .. n */
        gives(text.data, more ? 2 + 1 + 1 : 2 + all + 100 * n, more ? 0 : (uint32_t)n, more ? "too many values" : NULL);
        loom_buffer_free(&text);
    }
}

/* Of the elements that take the branch. */
LOOM_TEST(versions, in_branches) {
    gives(F "entry main (n: i64) : f64 = sum (map (\\x -> if x > 1 then f x else x) [f64 n, 1f64])", 103, 1, NULL);
    gives(F "entry main (n: i64) : f64 = sum (map (\\x -> if x > 1 then 1 else f x) [f64 n, 1f64, 0, 3])", 203, 1,
          NULL);
    gives(F
          "entry main (n: i64) : f64 = sum (map (\\x -> (if x > 1 then f (x + 1) else 2 * f x) - x) [f64 n, 1f64, 3])",
          103 + 202 + 104 - 6, 2, NULL);
    gives(F "entry main (n: i64) : f64 = sum (map (\\x -> if x > 9 then f x else x) [f64 n])", 2, 1, NULL);
    gives(F "entry main (n: i64) : f64 = "
            "sum (map (\\x -> if x > 1 then (let y = x * x in if y > 5 then f y else y) else f x) [f64 n, 1f64, 3])",
          4 + 101 + 109, 2, NULL);
    gives(F "entry main (n: i64) : f64 = sum (map (\\x -> let y = f x in if y > 102 then f y else x) [f64 n, 3, 1])",
          2 + 203 + 1, 2, NULL);
    gives(F "entry main (n: i64) : f64 = sum (generate n (\\i -> if i > 0 then f (f64 i) else 0))", 101, 1, NULL);
    gives(BOTH "entry main (n: i64) : f64 = sum (map (\\r -> if length r > 1 then f r else 0) (" RAGGED "))", 201, 1,
          NULL);
    gives(ROWS "entry main (n: i64) : f64 = sum (map (\\r -> if r[0] > 0 then f r else 0) (" SQUARE "))", 101, 1, NULL);
    gives(ROWS "entry main (n: i64) : f64 = sum (map (\\r -> if length r > 1 then f r else 0) (" RAGGED "))", 1, 0,
          "not lifted by fs: argument 1");
    gives(F "entry main (n: i64) : f64 = if n > 1 then sum (map f [f64 n]) else 0", 102, 1, NULL);
}

/* Its elements are not all those of the map. */
LOOM_TEST(versions, not_in_loops) {
    gives(F "entry main (n: i64) : f64 = sum (map (\\x -> loop x for i < n do f x) [f64 n, 1f64])", 7, 0, "in a loop");
    gives(F
          "entry main (n: i64) : f64 = sum (map (\\x -> loop x for i < n do (if i > 0 then f x else x)) [f64 n, 1f64])",
          5, 0, "in a branch");
    gives(F "entry main (n: i64) : f64 = reduce (\\a b -> a + f b) 0 [f64 n, 1f64]", 5, 0, "in fold");
}

LOOM_TEST(versions, rows_of_the_result_are_counted) {
    chosen c = choose("def f (x: f64) = x def fs (xs: []f64) = [1f64] lifted regular f = fs\n"
                      "entry main (n: i64) : []f64 = map f (map f64 (iota n))",
                      true);
    loom_value *n = two(), *result;
    loom_interp_options options = {0};
    LOOM_FAILS(loom_interp_call(c.program, 0, &n, &options, &result, NULL), LOOM_E_RUNTIME);
    loom_value_unref(n);
    loom_arena_destroy(c.arena);
}

LOOM_TEST(versions, none_are_taken_where_none_are_asked_for) {
    chosen c = choose(F "entry main (n: i64) : f64 = sum (map f [f64 n, 1f64])", false);
    LOOM_CHECK_EQ_INT(c.notes.used, 0);
    loom_arena_destroy(c.arena);
}
