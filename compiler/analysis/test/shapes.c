/* Shapes and representations of small programs. */
#include "compiler/analysis/shapes.h"
#include "compiler/syntax/syntax.h"
#include "loom_test.h"

typedef struct fixture {
    loom_arena *arena;
    loom_program *program;
    loom_shapes *shapes;
} fixture;

static fixture analyse(const char *text) {
    fixture f = {.arena = loom_arena_create(0)};
    loom_source_file file = {"test.weft", text, strlen(text)};
    loom_diagnostics d = {0};
    loom_status *status = loom_syntax_compile(f.arena, &file, 1, &d, &f.program);
    if (status) loom_diagnostics_print(&d, &file, 1, stderr);
    LOOM_OK(status);
    const loom_function *entry = loom_program_entry(f.program, NULL);
    f.shapes = loom_shapes_analyse(f.arena, f.program, (uint32_t)(entry - f.program->functions));
    if (getenv("LOOM_SHOW")) loom_shapes_print(f.shapes, stdout);
    return f;
}

/* The last node of this operation inside the entry. */
static loom_node_id last(const fixture *f, loom_op op) {
    const loom_body *b = &f->program->bodies[loom_program_entry(f->program, NULL)->body];
    for (loom_node_id id = b->end; id > b->first; id--) {
        if (f->program->nodes[id - 1].op == op) return id - 1;
    }
    loom_test_fail(__FILE__, __LINE__, "no %s", loom_op_table[op].name);
}

static loom_node_id result(const fixture *f) {
    return f->program->bodies[loom_program_entry(f->program, NULL)->body].result;
}

static void expect(const char *text, loom_op op, loom_shape_rep rep, bool uniform) {
    fixture f = analyse(text);
    loom_node_id n = last(&f, op);
    if (loom_shapes_rep(f.shapes, n) != rep || loom_shapes_uniform(f.shapes, n) != uniform) {
        loom_shapes_print(f.shapes, stderr);
        loom_test_fail(__FILE__, __LINE__, "%s: representation %d, uniform %d", text, loom_shapes_rep(f.shapes, n),
                       loom_shapes_uniform(f.shapes, n));
    }
    loom_arena_destroy(f.arena);
}

/* Same descriptors for the results' two parts: the shapes are known to be equal. */
static void expect_equal(const char *text, bool equal) {
    fixture f = analyse(text);
    const char *shape = loom_shapes_text(f.shapes, result(&f));
    char a[200], b[200];
    LOOM_CHECK(sscanf(shape, "(%199[^,], %199[^)])", a, b) == 2);
    if ((strcmp(a, b) == 0) != equal) loom_test_fail(__FILE__, __LINE__, "%s: %s", text, shape);
    loom_arena_destroy(f.arena);
}

/* FIELD-NOTES: the three programs that the published rules judge wrongly. */
LOOM_TEST(shapes, test_depends_after_two_turns) {
    expect("entry main (a: []f64) : []f64 = map (\\e -> (loop (x, y) = (0.0, 0.0) while x < 10.0 do (y, e)).0) a",
           LOOM_OP_LOOP_WHILE, LOOM_SHAPE_REGULAR, false);
}

LOOM_TEST(shapes, test_depends_after_one_turn) {
    expect("entry main (a: []f64) : []f64 = map (\\e -> loop x = 0.0 while x < 10.0 do x + e) a", LOOM_OP_LOOP_WHILE,
           LOOM_SHAPE_REGULAR, false);
}

LOOM_TEST(shapes, growing_state_against_initial_shape) {
    expect("entry main [n][m] (a: [n][m]f64) : [][]f64 =\n"
           "  map (\\r -> loop x = r for _i < 3 do let y = if x[0] > 0.0 then x else r in y ++ y) a",
           LOOM_OP_IF, LOOM_SHAPE_IRREGULAR, false);
}

LOOM_TEST(shapes, loops) {
    expect("entry main [n][m] (a: [n][m]f64) : [][]f64 = map (\\r -> loop x = r for _i < 3 do map (* 2.0) x) a",
           LOOM_OP_LOOP_FOR, LOOM_SHAPE_REGULAR, true);
    expect("entry main [n][m] (a: [n][m]f64) : [][]f64 = map (\\r -> loop x = r while x[0] < 9.0 do map (* 2.0) x) a",
           LOOM_OP_LOOP_WHILE, LOOM_SHAPE_REGULAR, false);
    expect("entry main [n][m] (a: [n][m]f64) : [][]f64 = map (\\r -> loop x = r while x[0] < 9.0 do x ++ x) a",
           LOOM_OP_LOOP_WHILE, LOOM_SHAPE_IRREGULAR, false);
    expect("entry main [n][m] (a: [n][m]f64) : [][]f64 = map (\\r -> loop x = r for _i < 3 do x ++ x) a",
           LOOM_OP_LOOP_FOR, LOOM_SHAPE_REGULAR, true);
    expect("entry main (n: i64) : []f64 = map (\\_ -> loop x = 0.0 while x < f64.i64 n do x + 1.0) (iota 5)",
           LOOM_OP_LOOP_WHILE, LOOM_SHAPE_AVOIDED, true);
}

LOOM_TEST(shapes, maps) {
    expect("entry main (n: i64) (a: []f64) : []f64 = map (\\x -> x + f64.i64 (n * n)) a", LOOM_OP_CONVERT,
           LOOM_SHAPE_AVOIDED, true);
    expect("entry main [n][m] (a: [n][m]f64) : []i64 = map (\\r -> length r) a", LOOM_OP_MAP, LOOM_SHAPE_AVOIDED, true);
    expect("entry main (a: [][]f64) : []i64 = map (\\r -> sum (iota (length r))) a", LOOM_OP_IOTA, LOOM_SHAPE_IRREGULAR,
           true);
    expect("entry main (n: i64) : [][]i64 = generate n (\\i -> iota i)", LOOM_OP_IOTA, LOOM_SHAPE_IRREGULAR, true);
    expect("entry main (n: i64) : [][]i64 = generate n (\\i -> map (+ i) (iota n))", LOOM_OP_IOTA, LOOM_SHAPE_AVOIDED,
           true);
    expect("entry main (a: [][]f64) : [][]f64 = map (\\r -> filter (> 0.0) r) a", LOOM_OP_FILTER, LOOM_SHAPE_IRREGULAR,
           true);
}

/* Sorting keeps lengths, and what is sorted depends on all of it. */
LOOM_TEST(shapes, sorts) {
    expect("entry main [n][m] (a: [n][m]f64) : [][]f64 = map (\\r -> sort r) a", LOOM_OP_SORT, LOOM_SHAPE_REGULAR,
           true);
    expect("entry main (a: [][]f64) : [][]f64 = map (\\r -> sort_by (\\x -> -x) r) a", LOOM_OP_SORT,
           LOOM_SHAPE_IRREGULAR, true);
    expect("entry main (a: []f64) (b: []f64) : []f64 = map (\\x -> x + (sort b)[0]) a", LOOM_OP_SORT,
           LOOM_SHAPE_AVOIDED, true);
    expect("entry main (a: [][]f64) : [][]f64 = map (\\r -> iota (i64 (sort r)[0]) |> map f64) a", LOOM_OP_IOTA,
           LOOM_SHAPE_IRREGULAR, true);
    expect_equal("entry main (a: []f64) : ([]f64, []f64) = (a, sort a)", true);
    expect_equal("entry main (a: [][]f64) : ([][]f64, [][]f64) = (a, map sort a)", true);
    expect_equal("entry main (a: [][]f64) : ([][]f64, [][]f64) = (a, sort_by (\\r -> r[0]) a)", false);
}

/* A stencil keeps the shape, whatever its boundary; a claim makes rows agree where it has several axes. */
LOOM_TEST(shapes, stencils) {
    expect("entry main [n][m] (a: [n][m]f64) : [][]f64 = map (\\r -> stencil #wrap (\\w -> w[-1] + w[1]) r) a",
           LOOM_OP_GENERATE, LOOM_SHAPE_REGULAR, true);
    expect("entry main (a: [][]f64) : [][]f64 = map (\\r -> stencil #clamp (\\w -> w[-1] + w[1]) r) a",
           LOOM_OP_GENERATE, LOOM_SHAPE_IRREGULAR, true);
    expect_equal("entry main (a: []f64) : ([]f64, []f64) = (a, stencil (#constant 0) (\\w -> w[-1] + w[1]) a)", true);
}

/* What an operator meets depends on the places too. Found by tests/claims. */
LOOM_TEST(shapes, places_of_a_permute) {
    expect(
        "entry main (a: [][]i64) (d: []i64) (x: []i64) : [][]i64 = map (\\is -> permute (\\p q -> p * 3 + q) d is x) a",
        LOOM_OP_PRIM, LOOM_SHAPE_REGULAR, true);
}

/* papers/001 section 4.2: mapping over a nest keeps its shape, however it is written. */
LOOM_TEST(shapes, equal_shapes) {
    expect_equal("entry main (a: [][]f64) : ([][]f64, [][]f64) = (a, map (map (+ 1.0)) a)", true);
    expect_equal("entry main (a: [][]f64) : ([][]f64, [][]f64) =\n"
                 "  (a, generate (length a) (\\i -> generate (length a[i]) (\\j -> a[i][j] + 1.0)))",
                 true);
    expect_equal("entry main (a: [][]f64) : ([][]f64, [][]f64) = (a, map (\\r -> r ++ r) a)", false);
    expect_equal("entry main (a: []f64) : ([]f64, []f64) = (a, filter (> 0.0) a)", false);
    expect_equal(
        "entry main (a: [][]f64) : ([][]f64, [][]f64) = (a, map (\\r -> if r[0] > 0.0 then r else map (* 2.0) r) a)",
        true);
    expect_equal("entry main (a: [][]f64) : ([][]f64, [][]f64) = (a, reverse a)", false);
    /* A number that loops and folds change is not what it was at first, when it is an extent. */
    expect_equal("entry main (n: i64) : ([]i64, []i64) = (iota 1, iota (loop m = 1 while m < n do 2 * m))", false);
    expect_equal("entry main (n: i64) : ([]i64, []i64) = (iota 1, iota (loop m = 1 for i < n do m + i))", false);
    expect_equal("entry main (n: i64) : ([]i64, []i64) = (iota 1, iota (loop (m, k) = (1, 2) for i < n do (k, m)).0)",
                 false);
    expect_equal("entry main (n: []i64) : ([]i64, []i64) = (iota 1, iota (fold max 1 n))", false);
    /* Of a foreign function the table is believed, not the body. */
    expect_equal("foreign def dft (xs: []c64) : []c64 = filter (\\x -> re x > 0) xs\n"
                 "entry main (a: []c64) : ([]c64, []c64) = (a, dft a)",
                 true);
    /* Nor is an extent without a name, which is not the other's any more. */
    expect_equal("entry main (a: []f64) (n: i64) : ([]f64, []f64) = (a, loop b = a for i < n do b ++ [1.0])", false);
    expect_equal("entry main (a: []f64) (n: i64) : ([]f64, []f64) = (a, loop b = a for i < n do map (* 2.0) b)", true);
    expect_equal("entry main (a: []f64) (x: [][]f64) : ([]f64, []f64) = (a, fold (++) a x)", false);
    /* So does chain_seq, of whose state nothing is known but what no element changes. */
    expect_equal("entry main (s: seq i64) : ([]i64, []i64) = (iota 1, iota (chain_seq 1 max s))", false);
    expect_equal("entry main (a: []f64) (s: seq f64) : ([]f64, []f64) = (a, chain_seq a (\\b x -> map (* x) b) s)",
                 true);
    expect_equal("entry main (a: []f64) (s: seq f64) : ([]f64, []f64) = (a, chain_seq a (\\b x -> b ++ [x]) s)", false);
    expect_equal(
        "entry main (n: i64) : ([]i64, []i64) = (iota n, iota (loop (m, k) = (n, 2) for i < n do (m, k + 1)).0)", true);
}

/* Rows that are replaced, or joined by what may give others, are not those that were there; an array without rows has
 * no columns. Found by tests/claims. */
LOOM_TEST(shapes, replaced_rows) {
    const char *scattered = "entry main (a: [][]f64) (b: [][]f64) : ([][]f64, [][]f64) = (a, scatter a [0i64] b)";
    expect_equal(scattered, false);
    expect_equal("entry main (a: [][]f64) (b: [][]f64) : ([][]f64, [][]f64) = (a, permute (\\_ y -> y) a [0i64] b)",
                 false);
    expect_equal("entry main [n][m] (a: [n][m]f64) (b: [n][m]f64) : ([][]f64, [][]f64) = (a, scatter a [0i64] b)",
                 true);
    expect_equal("entry main (a: []f64) (b: []f64) : ([]f64, []f64) = (a, scatter a [0i64] b)", true);
    expect_equal("entry main [n] (a: [n][4]f64) : ([]i64, []i64) = (iota 4, map (\\_ -> 1) (transpose a))", false);
    expect_equal("entry main [n] (a: [3][n]f64) : ([]i64, []i64) = (iota n, map (\\_ -> 1) (transpose a))", true);
}

/* The keys of a group are asked of one element after the other. Found by tests/claims. */
LOOM_TEST(shapes, keys_of_groups) {
    expect("entry main (s: seq ([]i64)) : []i64 =\n"
           "  from_seq (group_seq 3 (\\x -> [loop a = 0 for i < length x do a + i]) s (\\k ys -> fold_seq (+) 0 "
           "(map_seq sum ys)))",
           LOOM_OP_LOOP_FOR, LOOM_SHAPE_REGULAR, false);
}

/* ---- the papers' examples, with their verdicts ---- */

/* papers/001 section 4.3: a number made of literals, the length of rows that agree, and a conditional whose branches
 * have one shape. */
LOOM_TEST(shapes, paper_001_regularity) {
    expect("entry main (a: []i64) : []i64 = map (\\x -> x + (6 * (length a * 7))) a", LOOM_OP_PRIM, LOOM_SHAPE_REGULAR,
           true);
    expect("entry main [n][m] (a: [n][m]i64) : [][]i64 = map (\\r -> map (\\_ -> 1) (iota (length r))) a", LOOM_OP_IOTA,
           LOOM_SHAPE_AVOIDED, true);
    expect("entry main [n][m] (a: [n][m]i64) : [][]i64 =\n"
           "  generate n (\\i -> let c = a[i][0] > 10 in generate (length a[i]) (\\j -> if c then a[i][j] + 1 else 0))",
           LOOM_OP_GENERATE, LOOM_SHAPE_AVOIDED, true);
}

#define BUBBLE                                                                                                         \
    "def sorted [m] (r: [m]f64) = and (map (\\i -> r[i] <= r[i + 1]) (iota (i64.max 0 (m - 1))))\n"                    \
    "def bubble [m] (r: [m]f64) : [m]f64 = generate m (\\i -> if i > 0 && r[i - 1] > r[i] then r[i - 1] else r[i])\n"

/* papers/001 sections 2 and 3: bubble keeps the shape; double does not, and keeps regularity where the number of turns
 * is the same for all rows. */
LOOM_TEST(shapes, paper_001_bubble_sort_all) {
    expect(BUBBLE
           "entry main [n][m] (a: [n][m]f64) : [][]f64 = map (\\r -> loop x = r while !(sorted x) do bubble x) a",
           LOOM_OP_LOOP_WHILE, LOOM_SHAPE_REGULAR, false);
    expect(BUBBLE "entry main (a: [][]f64) : [][]f64 = map (\\r -> loop x = r while !(sorted x) do bubble x) a",
           LOOM_OP_LOOP_WHILE, LOOM_SHAPE_IRREGULAR, false);
    expect(BUBBLE "entry main [n][m] (a: [n][m]f64) : [][]f64 = map (\\r -> loop x = r while !(sorted x) do x ++ x) a",
           LOOM_OP_LOOP_WHILE, LOOM_SHAPE_IRREGULAR, false);
    expect("entry main [n][m] (a: [n][m]f64) : [][]f64 = map (\\r -> loop x = r while length x < 100 do x ++ x) a",
           LOOM_OP_LOOP_WHILE, LOOM_SHAPE_REGULAR, true);
}

/* papers/000 section 4.3: the predicate of a loop over rows that are regular, irregular, or not lifted at all. */
LOOM_TEST(shapes, paper_000_predicates) {
    expect("entry main [n][m] (a: [n][m]i64) : [][]i64 = map (\\r -> loop x = r while length x > 1 do x[1:]) a",
           LOOM_OP_LOOP_WHILE, LOOM_SHAPE_REGULAR, true);
    expect("entry main (a: [][]i64) : [][]i64 = map (\\r -> loop x = r while length x > 1 do x[1:]) a",
           LOOM_OP_LOOP_WHILE, LOOM_SHAPE_IRREGULAR, false);
    expect("entry main (b: []i64) (a: []i64) : [][]i64 = map (\\_ -> loop x = b while length x > 1 do x[1:]) a",
           LOOM_OP_LOOP_WHILE, LOOM_SHAPE_AVOIDED, true);
    /* generateEx: constants alone */
    expect("entry main [n][m] (a: [n][m]i64) : [][]i64 =\n"
           "  map (\\r -> loop x = r while sum (generate 10 (\\i -> i)) > 10 + length x do x ++ x) a",
           LOOM_OP_LOOP_WHILE, LOOM_SHAPE_REGULAR, true);
}

/* openF: ys is not lifted, regular, or irregular. */
LOOM_TEST(shapes, paper_000_open_function) {
    expect("entry main [n][m] (ys: []i64) (a: [n][m]i64) : [][]i64 =\n"
           "  map (\\r -> loop x = r while length x > ys[0] do x[1:]) a",
           LOOM_OP_LOOP_WHILE, LOOM_SHAPE_REGULAR, true);
    expect("entry main [n][m][k] (ys: [n][k]i64) (a: [n][m]i64) : [][]i64 =\n"
           "  map2 (\\y r -> loop x = r while length x > y[0] do x[1:]) ys a",
           LOOM_OP_LOOP_WHILE, LOOM_SHAPE_IRREGULAR, false);
    expect("entry main [n][m] (ys: [n][]i64) (a: [n][m]i64) : [][]i64 =\n"
           "  map2 (\\y r -> loop x = r while length x > y[0] do x[1:]) ys a",
           LOOM_OP_LOOP_WHILE, LOOM_SHAPE_IRREGULAR, false);
}

/* indexing: a counter in a tuple, whose start and step are the same for all; and where one of them is not. The paper's
 * analysis cannot tell the first. */
LOOM_TEST(shapes, paper_000_indexing) {
    expect("entry main [n][m] (a: [n][m]i64) : [][]i64 =\n"
           "  map (\\r -> (loop (i, x) = (0i64, r) while i < 10 do (i + 1, x ++ [i])).1) a",
           LOOM_OP_LOOP_WHILE, LOOM_SHAPE_REGULAR, true);
    expect("entry main [n][m] (a: [n][m]i64) : [][]i64 =\n"
           "  map (\\r -> (loop (i, x) = (r[0], r) while i < 10 do (i + 1, x ++ [i])).1) a",
           LOOM_OP_LOOP_WHILE, LOOM_SHAPE_IRREGULAR, false);
    expect("entry main [n][m] (a: [n][m]i64) : [][]i64 =\n"
           "  map (\\r -> (loop (i, x) = (0i64, r) while i < 10 do (i + r[0], x ++ [i])).1) a",
           LOOM_OP_LOOP_WHILE, LOOM_SHAPE_IRREGULAR, false);
}

/* papers/000 listing 1 and section 6.3.1. */
LOOM_TEST(shapes, paper_000_average_and_conditional) {
    expect("entry main [n][m] (a: [n][m]f64) : []f64 = map (\\r -> sum r / f64 (length r)) a", LOOM_OP_CONVERT,
           LOOM_SHAPE_AVOIDED, true);
    expect("entry main (a: [][]f64) : []f64 = map (\\r -> sum r / f64 (length r)) a", LOOM_OP_CONVERT,
           LOOM_SHAPE_REGULAR, true);
    expect("entry main [n][m] (a: [n][m]f64) : [][]f64 = map (\\r -> if r[0] > 1 then map (+ 1) r else r) a",
           LOOM_OP_IF, LOOM_SHAPE_REGULAR, false);
    expect("entry main [n][m] (a: [n][m]f64) : [][]f64 = map (\\r -> if r[0] > 1 then r ++ r else r) a", LOOM_OP_IF,
           LOOM_SHAPE_IRREGULAR, false);
    expect("entry main [n][m] (a: [n][m]f64) : [][]f64 = map (\\r -> if length r > 1 then r ++ r else r) a", LOOM_OP_IF,
           LOOM_SHAPE_REGULAR, true);
}
