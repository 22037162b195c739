/* Steps, reasons and pages of small programs. */
#include "compiler/explain/explain.h"
#include "compiler/syntax/syntax.h"
#include "loom_test.h"

typedef struct fixture {
    loom_arena *arena;
    loom_program *program;
} fixture;

static fixture compile(const char *text) {
    fixture f = {.arena = loom_arena_create(0)};
    loom_source_file *file = LOOM_NEW(f.arena, loom_source_file);
    *file = (loom_source_file){"test<1>.weft", loom_arena_strdup(f.arena, text), strlen(text)};
    loom_diagnostics d = {0};
    loom_status *status = loom_syntax_compile(f.arena, file, 1, &d, &f.program);
    if (status) loom_diagnostics_print(&d, file, 1, stderr);
    LOOM_OK(status);
    return f;
}

/* ---- steps ---- */

static loom_steps steps_of(const fixture *f, loom_lift lift, int64_t extent) {
    loom_steps steps;
    LOOM_OK(loom_steps_count(f->arena, f->program, NULL, lift, extent, &steps));
    return steps;
}

static void expect_steps(const char *text, uint64_t unlifted, uint64_t regular, uint64_t irregular) {
    fixture f = compile(text);
    uint64_t expected[LOOM_LIFTS] = {unlifted, regular, irregular};
    for (int i = 0; i < LOOM_LIFTS; i++) {
        loom_steps s = steps_of(&f, (loom_lift)i, 100);
        if (s.remark || s.steps != expected[i]) {
            loom_test_fail(__FILE__, __LINE__, "%s: %s: %llu steps, expected %llu%s%s", text, loom_lift_names[i],
                           (unsigned long long)s.steps, (unsigned long long)expected[i], s.remark ? "; " : "",
                           s.remark ? s.remark : "");
        }
    }
    loom_arena_destroy(f.arena);
}

LOOM_TEST(explain, steps_of_small_programs) {
    /* Rows that differ in length: one step more, for their offsets. */
    expect_steps("entry main (xs: []f64) : []f64 = map (+ 1) xs", 1, 1, 2);
    /* papers/000, section 6.3.1: 8 in the regular case and 46 in the irregular one. */
    expect_steps("entry main [n] (xs: [n]f64) : [n]f64 = if xs[0] > 1 then map (+ 1) xs else xs", 1, 1, 2);
    expect_steps("entry main (x: f64) : f64 = x + 1", 0, 1, 1);
    expect_steps("entry main (xss: seq ([]f64)) : []f64 = from_seq (map_seq (\\xs -> sum xs) xss)", 1, 1, 2);
    expect_steps("entry main : []i64 = iota 10", 1, 1, 1);
}

/* A loop counts as one turn of it, whatever the number of turns. */
LOOM_TEST(explain, bodies_of_loops_count_once) {
    const char *text = "entry main (xs: []f64) : []f64 = loop x = xs for _i < 7 do scan (+) 0 x";
    expect_steps(text, 1, 1, 1 + 1);
    fixture f = compile(text);
    LOOM_CHECK(steps_of(&f, LOOM_LIFT_REGULAR, 5).steps == steps_of(&f, LOOM_LIFT_REGULAR, 500).steps);
    loom_arena_destroy(f.arena);
}

/* The longer branch: a scan of a scan, not one scan more. */
LOOM_TEST(explain, the_longer_branch_counts) {
    fixture f = compile("entry main (c: bool) (xs: []f64) : []f64 =\n"
                        "  if c then scan (+) 0 (scan (*) 1 xs) else scan (+) 0 xs");
    LOOM_CHECK(steps_of(&f, LOOM_LIFT_NOT, 100).steps == 2);
    loom_arena_destroy(f.arena);
}

/* The Fourier transform of Stockham: all states stay regular. What does not depend on the element, numbers of places
 * here, is computed once for all of them, in two steps of its own. */
LOOM_TEST(explain, steps_of_a_regular_transform) {
    fixture f = compile("entry main [n] (xs: [n]c128) : [n]c128 =\n"
                        "  let (ys, _) = loop (ys, stride) = (xs, 1) while stride < n do\n"
                        "    (generate n (\\i -> let (p, q) = (i / (2 * stride), i % stride)\n"
                        "      let (a, b) = (ys[q + stride * p], ys[q + stride * p + n / 2])\n"
                        "      in if i / stride % 2 == 0 then a + b else a - b), 2 * stride)\n"
                        "  in ys");
    loom_steps alone = steps_of(&f, LOOM_LIFT_NOT, 1024), regular = steps_of(&f, LOOM_LIFT_REGULAR, 1024);
    LOOM_CHECK(!alone.remark && !regular.remark && alone.steps == 1 && regular.steps == 3);
    LOOM_CHECK(alone.avoided == 0 && regular.avoided == 2);
    LOOM_CHECK(regular.rep == LOOM_SHAPE_REGULAR);
    loom_arena_destroy(f.arena);
}

/* ---- nodes and reasons ---- */

static const loom_account *account_of(const fixture *f, bool irregular) {
    loom_account *account;
    loom_lifting_sizes sizes = {.extent = 100, .irregular = irregular};
    LOOM_OK(loom_account_make(f->arena, f->program, NULL, &sizes, &account));
    return account;
}

static const loom_account_node *find(const loom_account_stage *s, const char *what) {
    for (uint32_t i = s->n_nodes; i > 0; i--) {
        if (strcmp(s->nodes[i - 1].what, what) == 0) return &s->nodes[i - 1];
    }
    loom_test_fail(__FILE__, __LINE__, "no %s", what);
}

/* In an entry over `xss`, the result is irregular by this rule of the node on this line. */
static void expect_reason(const char *text, bool irregular, const char *rule, uint32_t line) {
    fixture f = compile(text);
    const loom_account *a = account_of(&f, irregular);
    const loom_account_node *n = &a->stages[0].nodes[a->stages[0].n_nodes - 1];
    bool fits =
        n->irregular && strcmp(n->reason.rule, rule) == 0 && a->program->nodes[n->reason.node].span.line == line;
    if (!fits) {
        loom_account_print(a, stderr);
        loom_test_fail(__FILE__, __LINE__, "%s: expected [%s] on line %u", text, rule, line);
    }
    loom_arena_destroy(f.arena);
}

LOOM_TEST(explain, each_loss_has_its_rule) {
    expect_reason("entry main [n][m] (xss: [n][m]f64) : [n][]f64 =\n  map (\\xs -> map (* 2)\n  (filter (> 0) xs)) xss",
                  false, "Filter", 3);
    expect_reason("entry main (ns: []i64) : [][]i64 =\n  map (\\n ->\n  iota n) ns", false, "Generate", 3);
    expect_reason("entry main (ns: []i64) : [][]i64 = map (\\n ->\n  replicate n n) ns", false, "Generate", 2);
    expect_reason("entry main [n] (ns: []i64) (xs: [n]f64) : [][]f64 = map (\\n ->\n  map (+ 1)\n  xs[0:n]) ns", false,
                  "Slice", 3);
    expect_reason("entry main [n] (xs: [n]f64) : [][]f64 =\n  map (\\x ->\n  if x > 0 then xs else [x]) xs", false,
                  "If-Shape", 3);
    expect_reason("entry main [n] (xs: [n]f64) : [][]f64 =\n  map (\\x ->\n"
                  "  loop y = xs while y[0] < x do y ++ y) xs",
                  false, "Loop-Shape", 3);
    expect_reason("entry main (xss: [][]f64) : [][]f64 = map (map (+ 1)) xss", true, "Input", 1);
}

LOOM_TEST(explain, regular_programs_have_no_reasons) {
    fixture f = compile("entry main (xss: [][]f64) : [][]f64 = map (\\xs -> scan (+) 0 (map (* 2) xs)) xss");
    const loom_account_stage *s = &account_of(&f, false)->stages[0];
    for (uint32_t i = 0; i < s->n_nodes; i++) LOOM_CHECK(!s->nodes[i].irregular && !s->nodes[i].differs);
    loom_arena_destroy(f.arena);
}

LOOM_TEST(explain, turns_that_differ_are_told) {
    fixture f = compile("entry main (xs: []f64) : []f64 = map (\\x -> loop y = x while y < 10 do y + x) xs");
    const loom_account_node *n = find(&account_of(&f, false)->stages[0], "while");
    LOOM_CHECK(n->differs && strcmp(n->chooser.rule, "While") == 0 && !n->irregular);
    loom_arena_destroy(f.arena);
}

/* Per element of the stream: 100 numbers of 8 bytes, of which each costs an addition and a multiplication. */
LOOM_TEST(explain, costs_are_those_of_one_element) {
    fixture f = compile("entry main (xss: seq ([]f64)) : []f64 = from_seq (map_seq (\\xs -> sum (map (* 2) xs)) xss)");
    const loom_account_stage *s = &account_of(&f, false)->stages[0];
    const loom_account_node *map = NULL, *fold = find(s, "fold");
    for (uint32_t i = 0; i < s->n_nodes && !map; i++) {
        if (strcmp(s->nodes[i].what, "map") == 0) map = &s->nodes[i];
    }
    LOOM_CHECK(s->per_element && s->flops == 200 && s->steps == 1);
    LOOM_CHECK(map->bytes == 800 && map->flops == 100 && map->level == 1 && fold->flops == 100 && fold->bytes == 8);
    LOOM_CHECK(strcmp(fold->kept, "regular") == 0 && strcmp(map->kept, "") == 0);
    loom_arena_destroy(f.arena);
}

/* Of arrays of 100 rows of 100, and what follows; a flattened or joined array is as long as what it is made of. */
LOOM_TEST(explain, made_arrays_have_the_size_of_their_parts) {
    static const struct {
        const char *text, *what;
        double bytes, flops;
    } cases[] = {
        {"entry main (xss: [][]f64) : []f64 = map (* 2) (flatten xss)", "flatten", 80000, 10000},
        {"entry main (xss: [10][20]f64) : []f64 = map (* 2) (flatten xss)", "flatten", 1600, 200},
        {"entry main (xsss: [][][]f64) : [][]f64 = map (\\xss -> map (* 2) (flatten xss)) xsss", "flatten", 8e6, 1e6},
        {"entry main (xs: []f64) (ys: [7]f64) : []f64 = map (* 2) (xs ++ flatten [ys, ys])", "concat", 912, 114},
        {"entry main (xss: seq ([][]f64)) : []f64 = from_seq (map_seq (\\xs -> sum (flatten xs)) xss)", "flatten",
         80000, 10000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f = compile(cases[i].text);
        const loom_account_stage *s = &account_of(&f, false)->stages[0];
        const loom_account_node *n = find(s, cases[i].what);
        LOOM_CHECK_NEAR(n->bytes, cases[i].bytes, 0);
        LOOM_CHECK_NEAR(s->flops, cases[i].flops, 0);
        loom_arena_destroy(f.arena);
    }
}

/* ---- pages ---- */

static char *page_of(const fixture *f) {
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    loom_lifting_sizes sizes = {.extent = 100};
    LOOM_OK(loom_account_page(f->arena, f->program, NULL, &sizes, to));
    fclose(to);
    return text;
}

LOOM_TEST(explain, pages_escape_what_comes_from_programs) {
    fixture f = compile("-- <script>alert('1') & \"2\"</script>\n"
                        "entry main (ns: []i64) : [][]i64 = map (\\n -> iota n) ns");
    char *page = page_of(&f);
    LOOM_CHECK(!strstr(page, "<script") && strstr(page, "&lt;script&gt;alert(&#39;1&#39;) &amp; &quot;2&quot;"));
    LOOM_CHECK(!strstr(page, "test<1>") && strstr(page, "test&lt;1&gt;.weft"));
    LOOM_CHECK(strstr(page, "[Generate] the extent is a number that depends on the element") != NULL);
    LOOM_CHECK(strstr(page, "id=\"f0l2\" class=\"irregular\"") != NULL);
    free(page);
    loom_arena_destroy(f.arena);
}

/* ---- limits ---- */

LOOM_TEST(explain, memory_is_bounded) {
    fixture f = compile("entry main (xs: []f64) : []f64 = map (+ 1) xs");
    loom_arena *small = loom_arena_create(20000);
    loom_steps steps;
    loom_status *status = loom_steps_count(small, f.program, NULL, LOOM_LIFT_REGULAR, 100, &steps);
    LOOM_CHECK(loom_status_code(status) == LOOM_E_LIMIT);
    loom_status_free(status);
    loom_arena_destroy(small);
    loom_arena_destroy(f.arena);
}
