/* Tests in comments: blocks, values, and what differs. */
#include "client/program.h"
#include "client/testing.h"
#include "common/buffer.h"
#include "loom_test.h"

/* ---- blocks ---- */

static loom_testing_blocks parse(loom_arena *arena, const char *text) {
    loom_testing_blocks blocks = {0};
    LOOM_OK(loom_testing_parse(arena, "t.weft", text, strlen(text), &blocks));
    return blocks;
}

static void refuses(const char *text, const char *part, unsigned line, unsigned column) {
    loom_arena *arena = loom_arena_create(0);
    loom_testing_blocks blocks;
    loom_status *status = loom_testing_parse(arena, "t.weft", text, strlen(text), &blocks);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_DATA);
    LOOM_CHECK_HAS(loom_status_message(status), part);
    LOOM_CHECK_EQ_INT(loom_status_span(status).line, line);
    LOOM_CHECK_EQ_INT(loom_status_span(status).column, column);
    loom_status_free(status);
    loom_arena_destroy(arena);
}

LOOM_TEST(testing_blocks, what_is_expected_of_the_compiler) {
    loom_arena *arena = loom_arena_create(0);
    loom_testing_blocks b = parse(arena, "-- ==\n-- steps: unlifted 13\n-- steps: irregular <= 39 at 1024\n"
                                         "-- representation: regular\n-- input { 1 }\n-- representation: interpreted");
    const loom_testing_claim *c = b.at[0].claims;
    LOOM_CHECK(b.count == 1 && b.at[0].n_claims == 4 && b.at[0].n_cases == 1);
    LOOM_CHECK(c[0].verdict == LOOM_TESTING_STEPS && c[0].lift == LOOM_LIFT_NOT && !c[0].at_most && c[0].steps == 13 &&
               c[0].size == LOOM_TESTING_SIZE && c[0].span.line == 2 && c[0].span.column == 4);
    LOOM_CHECK(c[1].lift == LOOM_LIFT_IRREGULAR && c[1].at_most && c[1].steps == 39 && c[1].size == 1024);
    LOOM_CHECK(c[2].verdict == LOOM_TESTING_REGULAR && c[3].verdict == LOOM_TESTING_INTERPRETED);
    loom_testing_free(&b);
    loom_arena_destroy(arena);
    refuses("-- ==\n-- steps: 13\n", "expected `unlifted`, `regular` or `irregular` after `steps:`, found `13`", 2, 11);
    refuses("-- ==\n-- steps: regular few\n", "expected a number of steps, found `few`", 2, 19);
    refuses("-- ==\n-- steps: regular < 3\n", "expected `<=`", 2, 21);
    refuses("-- ==\n-- steps: regular 99999999999999999999\n", "of at most 1000000000", 2, 19);
    refuses("-- ==\n-- steps: regular 3 at\n", "expected a size", 2, 23);
    refuses("-- ==\n-- representation: round\n",
            "expected `regular`, `irregular`, `tested`, `compiled` or `interpreted`", 2, 20);
    refuses("-- ==\n-- error: x\n-- steps: regular 1", "no steps and no representation", 3, 4);
}

LOOM_TEST(testing_blocks, cases_and_outcomes) {
    loom_arena *arena = loom_arena_create(0);
    loom_testing_blocks b =
        parse(arena, "-- Says something.\n--\n-- ==\n-- entry: f  g -- of many\n-- tags { no_x }\n"
                     "-- input { 1\n--   2 } output { 3 }\n"
                     "--\"first\" compiled random input { [10]i32 }\n-- auto output\n"
                     "-- nobench input { \"}\" }\n-- error: index [0-9]+ \n"
                     "-- input @ data/x.in output @ data/x.out\n-- notest input { 1 }\n"
                     "-- script input { gen 1 } output { 2 }\n-- structure gpu { Map 1 }\n-- input { }\n"
                     "def f = 1\n-- words\n  -- ==\r\n-- input { }\nentry main = 2");
    LOOM_CHECK_EQ_INT(b.count, 2);
    const loom_testing_block *one = &b.at[0], *two = &b.at[1];
    LOOM_CHECK(one->n_entries == 2 && one->n_cases == 7 && !one->error);
    LOOM_CHECK_STR(one->entries[0].name, "f");
    LOOM_CHECK_STR(one->entries[1].name, "g");
    LOOM_CHECK(one->entries[1].span.line == 4 && one->entries[1].span.column == 14 &&
               one->entries[1].span.end_column == 15);
    const loom_testing_case *c = one->cases;
    LOOM_CHECK(c[0].outcome == LOOM_TESTING_VALUES && c[0].span.line == 6 && c[0].span.column == 4 && !c[0].random);
    LOOM_CHECK(c[1].outcome == LOOM_TESTING_AUTO && c[1].random && c[1].compiled && !c[1].skipped);
    LOOM_CHECK(!c[0].compiled && !c[2].compiled && !c[2].random);
    LOOM_CHECK_STR(c[1].name, "first");
    LOOM_CHECK(c[2].outcome == LOOM_TESTING_ERROR && !c[2].name);
    LOOM_CHECK_STR(loom_testing_regex_text(c[2].error), "index [0-9]+");
    LOOM_CHECK(loom_testing_fits(c[2].error, "an index 12") && !loom_testing_fits(c[2].error, "index of"));
    LOOM_CHECK(loom_testing_regex_span(c[2].error).line == 11 && loom_testing_regex_span(c[2].error).column == 11);
    LOOM_CHECK(c[3].skipped && c[4].skipped && c[5].skipped && !c[6].skipped);
    LOOM_CHECK(c[6].outcome == LOOM_TESTING_RUNS);
    LOOM_CHECK(two->n_cases == 1 && two->n_entries == 1 && two->span.line == 19);
    LOOM_CHECK_STR(two->entries[0].name, "main");
    loom_testing_free(&b);
    LOOM_CHECK_EQ_INT(parse(arena, "-- == 1\n-- input { 1 }\nentry main = 1 == 1\n==\n").count, 0);
    loom_arena_destroy(arena);
}

/* What regcomp would take minutes, gigabytes or the stack for. */
LOOM_TEST(testing_blocks, regular_expressions) {
    static const char *const costly[] = {"((((a{1,255}){1,255}){1,255}){1,255})",
                                         "((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)",
                                         "a{30}{30}{30}",
                                         "(a){32767}",
                                         "(((x{10,}){10,}){9,})",
                                         "[^]a[:alpha:]]{1001}"};
    for (size_t i = 0; i < sizeof costly / sizeof *costly; i++) {
        char text[200];
        snprintf(text, sizeof text, "-- ==\n-- input { } error: %s\n", costly[i]);
        refuses(text, "its repetitions, written out, are too long", 2, 21);
    }
    refuses("-- ==\n--   error: (", "the regular expression: Unmatched ( or", 2, 13);
    refuses("-- ==\n-- error: ))a??????.???????????+++++b)????", "a repetition of what may be empty", 2, 11);
    refuses("-- ==\n-- error: (a*|b)+", "a repetition of what may be empty", 2, 11);
    refuses("-- ==\n-- error: (a{0,3})*", "a repetition of what may be empty", 2, 11);
    refuses("-- ==\n-- error: (a*)\\1", "references back", 2, 11);
    loom_buffer text = {0};
    loom_buffer_text(&text, "-- ==\n-- error: ");
    for (int i = 0; i < 51; i++) loom_buffer_text(&text, "(");
    refuses(text.data, "brackets in each other are too deep", 2, 11);
    for (int i = 0; i < 50000; i++) loom_buffer_text(&text, "(");
    refuses(text.data, "it is too long", 2, 11);
    loom_buffer_free(&text);
    loom_arena *arena = loom_arena_create(0);
    loom_testing_blocks b = parse(arena, "-- ==\n-- error: ^(a|[]x{[.].]]{9,20}|\\({3}){1,9}+$");
    LOOM_CHECK(loom_testing_fits(b.at[0].error, "a(((]{]]x]]]]]]]") && !loom_testing_fits(b.at[0].error, "a(("));
    loom_testing_free(&b);
    loom_arena_destroy(arena);
}

LOOM_TEST(testing_blocks, wrong_ones) {
    refuses("-- ==\n-- input 1 }\n", "expected `{` and values, found `1`", 2, 10);
    refuses("-- ==\n-- input { 1\nentry main = 1\n-- }\n", "expected `}` at the end of what begins here", 2, 11);
    refuses("-- ==\n-- output { 1 }", "an output without an input of its own", 2, 4);
    refuses("-- ==\n-- input { 1 } output { 2 } output { 3 }", "an output without an input", 2, 29);
    refuses("-- ==\n-- input { 1 } auto input { 2 }", "expected `output` after `auto`, found `input`", 2, 21);
    refuses("-- ==\n-- entry:\n-- input { 1 }", "names of entries", 2, 10);
    refuses("-- ==\n-- compiled\n", "found `compiled`", 2, 4);
    refuses("-- ==\n-- what: x\n", "`steps:` or `representation:`, found `what`", 2, 4);
    refuses("-- ==\n-- \"name\n-- input { }", "expected `\"` at the end of the name", 2, 4);
    refuses("-- ==\n-- error: x\n-- input { 1 }", "a program that must not compile has no input", 3, 4);
    refuses("-- ==\n-- error: x\n-- warning: y", "has no warnings that count", 3, 13);
    refuses("-- ==\n-- entry: f\n-- entry: g\n-- input { }", "`entry:` stands once", 3, 4);
    refuses("-- ==\n-- input { }\n-- entry: g", "`entry:` stands once", 3, 4);
    refuses("-- ==\n-- entry: f g f", "the entry `f` is there twice", 2, 15);
    refuses("-- ==\n-- entry: -- f", "names of entries", 2, 15);
    refuses("-- ==\n-- error: x\n\n-- ==\n-- input { }", "in a program that must not compile (line 1)", 4, 1);
    refuses("-- ==\n-- input { }\n\n-- ==\n-- error: x", "in a program that must not compile (line 4)", 1, 1);
    refuses("-- ==\n-- error: x\n\n-- ==\n-- error: y", "in a program that must not compile (line 1)", 4, 1);
    refuses("-- ==\n-- ?\n", "expected `input`, `output`, `entry:` or `error:`, found `?`", 2, 4);
}

/* ---- values ---- */

typedef struct entry {
    loom_client_program *program;
    uint32_t n;
    loom_type_id types[8];
} entry;

static entry compile(const char *parameters) {
    char text[300];
    snprintf(text, sizeof text, "entry main %s : i64 = 0", parameters);
    entry e = {0};
    LOOM_OK(loom_client_embedded("t.weft", text, strlen(text), &e.program));
    LOOM_OK(loom_client_compile(e.program));
    e.n = loom_client_n_params(e.program->program, 0);
    for (uint32_t i = 0; i < e.n; i++) e.types[i] = loom_client_param_type(e.program->program, 0, i);
    return e;
}

static loom_testing_text values_text(const char *values) {
    return (loom_testing_text){"t.weft", values, strlen(values), 0, 1, 1};
}

static void cannot_read(const char *parameters, const char *values, const char *part, unsigned column) {
    entry e = compile(parameters);
    loom_value *made[8] = {NULL};
    loom_status *status = loom_testing_read(values_text(values), e.program->program, e.n, e.types, NULL, 1 << 20, made);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_DATA);
    LOOM_CHECK_HAS(loom_status_message(status), part);
    LOOM_CHECK_EQ_INT(loom_status_span(status).column, column);
    loom_status_free(status);
    loom_client_program_free(e.program);
}

/* Two texts for the same values. */
static void reads_alike(const char *parameters, const char *values, const char *other) {
    entry e = compile(parameters);
    loom_value *a[8], *b[8];
    LOOM_OK(loom_testing_read(values_text(values), e.program->program, e.n, e.types, NULL, 1 << 20, a));
    LOOM_OK(loom_testing_read(values_text(other), e.program->program, e.n, e.types, NULL, 1 << 20, b));
    for (uint32_t i = 0; i < e.n; i++) {
        char *why = loom_testing_difference(a[i], b[i], 0);
        if (why) loom_test_fail(__FILE__, __LINE__, "%s and %s: %s", values, other, why);
        loom_value_unref(a[i]);
        loom_value_unref(b[i]);
    }
    loom_client_program_free(e.program);
}

LOOM_TEST(testing_values, forms) {
    entry e = compile("(a: [][]i32) (t: (bool, f32)) (s: seq u8)");
    loom_value *v[8];
    LOOM_OK(loom_testing_read(values_text(" [[1, -2i32],\n--[3]] true 2.5 [7u8,8]}"), e.program->program, e.n, e.types,
                              NULL, 1 << 20, v));
    const loom_leaf *a = &v[0]->leaves[0];
    LOOM_CHECK(a->depth == 2 && a->extents[0] == 2 && a->extents[1] == LOOM_IRREGULAR && a->n_data == 3);
    LOOM_CHECK(a->lengths[1][0] == 2 && a->lengths[1][1] == 1 && ((const int32_t *)a->data)[1] == -2);
    LOOM_CHECK(v[1]->n_leaves == 2 && *(const bool *)v[1]->leaves[0].data &&
               *(const float *)v[1]->leaves[1].data == 2.5f);
    LOOM_CHECK(v[2]->leaves[0].extents[0] == 2 && ((const uint8_t *)v[2]->leaves[0].data)[1] == 8);
    for (uint32_t i = 0; i < 3; i++) loom_value_unref(v[i]);
    loom_client_program_free(e.program);
    reads_alike("(a: i64)", "0x1f}", "0_031i64 }");
    reads_alike("(a: i64)", "0b101}", "5}");
    reads_alike("(a: i8)", "-128i8}", "-0x80}");
    reads_alike("(a: f64) (b: f64)", "f64.nan -f64.inf}", "nan -inf}");
    reads_alike("(a: f32)", "1e3f32}", "1000}");
    reads_alike("(a: c64)", "1.5-2i}", "1.5-2ic64}");
    reads_alike("(a: []u8)", "\"ab\\\"\"}", "[97, 98, 34]}");
    reads_alike("(a: [][]f32)", "empty([0][3]f32)}", "[]}");
    reads_alike("(a: [][]f32)", "empty([2][0]f32)}", "[[], []]}");
    reads_alike("(a: [](i32, bool))", "[1, 2] [true, false]}", "[1,2][true,false]}");
}

LOOM_TEST(testing_values, wrong_ones) {
    cannot_read("(a: i32)", "5i64}", "expected a value of type i32, found `5i64`, of type i64", 1);
    cannot_read("(a: i32)", "1.5}", "expected a value of type i32, found `1.5`", 1);
    cannot_read("(a: u8)", " 256}", "expected a value of type u8, found `256`", 2);
    cannot_read("(a: bool)", "1}", "expected a value of type bool, found `1`", 1);
    cannot_read("(a: []i32)", "1}", "expected `[` of a value of type []i32, found `1`", 1);
    cannot_read("(a: []i32)", "[[1]]}", "expected a value of type i32, found `[`", 2);
    cannot_read("(a: []i32)", "[1 2]}", "expected `,` or `]` after an element, found `2`", 4);
    cannot_read("(a: []i32)", "[1, 2", "found the end of the test", 6);
    cannot_read("(a: i32)", "1 2}", "expected `}` after the last value, found `2`", 3);
    cannot_read("(a: i32) (b: i32)", "1}", "expected a value of type i32, found `}`", 2);
    cannot_read("(a: []i32)", "empty([1]i32)}", "is not empty", 1);
    cannot_read("(a: []i32)", "empty([0]i64)}", "expected a value of type []i32", 7);
    cannot_read("(a: []i32)", "empty([0][0]i32)}", "found one of 2 levels", 7);
    cannot_read("(a: []i32)", "empty([-1]i32)}", "expected a length", 8);
    char deep[5001];
    memset(deep, '[', 5000);
    deep[5000] = '\0';
    cannot_read("(a: []i32)", deep, "expected a value of type i32, found `[`", 2);
    char word[500];
    memset(word, '1', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    cannot_read("(a: i32)", word, "a word of more than 200 characters", 1);
}

LOOM_TEST(testing_values, at_random) {
    entry e = compile("(a: [][]i16) (n: i64) (x: []f32) (s: seq (bool, f64))");
    const loom_program *p = e.program->program;
    loom_value *v[8], *w[8], *other[8];
    const char *types = "*[3][4]i16 7i64 [1000i64]f32 [10]bool [10]f64}";
    LOOM_OK(loom_testing_random(values_text(types), p, e.n, e.types, NULL, 1 << 20, 1, v));
    LOOM_OK(loom_testing_random(values_text(types), p, e.n, e.types, NULL, 1 << 20, 1, w));
    LOOM_OK(loom_testing_random(values_text(types), p, e.n, e.types, NULL, 1 << 20, 2, other));
    LOOM_CHECK(v[0]->leaves[0].n_data == 12 && *(const int64_t *)v[1]->leaves[0].data == 7);
    for (int i = 0; i < 1000; i++) {
        float x = ((const float *)v[2]->leaves[0].data)[i];
        LOOM_CHECK(x >= 0 && x < 1);
    }
    for (uint32_t i = 0; i < e.n; i++) {
        LOOM_CHECK(!loom_testing_difference(v[i], w[i], 0));
        if (i == 0) {
            char *why = loom_testing_difference(v[i], other[i], 0);
            LOOM_CHECK(why);
            free(why);
        }
        loom_value_unref(v[i]);
        loom_value_unref(w[i]);
        loom_value_unref(other[i]);
    }
    loom_status *status = loom_testing_random(values_text("[9000000000000000000][9]i16 1 [1]f32 [1]bool [1]f64}"), p,
                                              e.n, e.types, NULL, 1 << 20, 1, v);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_DATA);
    loom_status_free(status);
    /* Of all together: the second array is one too many. */
    static const char *const names[] = {"a", "n", "x", "s"};
    status =
        loom_testing_random(values_text("[100][10]i16 1 [500]f32 [1]bool [1]f64}"), p, e.n, e.types, names, 4000, 1, v);
    LOOM_CHECK_HAS(loom_status_note_at(status, 0), "in the value of parameter `x`");
    loom_status_free(status);
    status = loom_testing_read(values_text("[[1, 2]] 1 [1, 2]"), p, e.n, e.types, names, 19, v);
    LOOM_CHECK_HAS(loom_status_message(status), "there are 7 bytes left for this one");
    loom_status_free(status);
    loom_client_program_free(e.program);
}

/* ---- differences ---- */

static void differs(const char *parameter, const char *expected, const char *found, double tolerance, const char *why) {
    entry e = compile(parameter);
    loom_value *a, *b;
    LOOM_OK(loom_testing_read(values_text(expected), e.program->program, 1, e.types, NULL, 1 << 20, &a));
    LOOM_OK(loom_testing_read(values_text(found), e.program->program, 1, e.types, NULL, 1 << 20, &b));
    char *said = loom_testing_difference(a, b, tolerance);
    if (!why) {
        if (said) loom_test_fail(__FILE__, __LINE__, "%s and %s: %s", expected, found, said);
    } else {
        LOOM_CHECK_STR(said ? said : "nothing", why);
    }
    free(said);
    loom_value_unref(a);
    loom_value_unref(b);
    loom_client_program_free(e.program);
}

LOOM_TEST(testing_difference, shapes_and_scalars) {
    differs("(a: []i32)", "[1, 2]}", "[1, 3]}", 0.002, "expected 2, found 3 at [1]");
    differs("(a: [][]i32)", "[[1, 2], [3, 4]]}", "[[1, 2], [5, 4]]}", 0.002, "expected 3, found 5 at [1, 0]");
    differs("(a: [][]i32)", "[[1], [3, 4]]}", "[[1], [3, 5]]}", 0, "expected 4, found 5 at scalar 2 in order");
    differs("(a: []i32)", "[1, 2]}", "[1]}", 0, "expected length 2, found 1");
    differs("(a: [][]i32)", "[[1], [2, 3]]}", "[[1, 2], [3]]}", 0, "expected length 1, found 2, in list 0 of level 2");
    differs("(a: [][]i32)", "[[1], [2]]}", "[[1], []]}", 0, "expected length 1, found 0, in list 1 of level 2");
    differs("(a: [][]i32)", "[]}", "empty([0][5]i32)}", 0, NULL);
    differs("(a: (bool, i8))", "true 1}", "true 2}", 0, "value 2: expected 1, found 2");
    differs("(a: (bool, i8))", "true 1}", "false 1}", 0, "value 1: expected true, found false");
}

/* 0.002 of the largest magnitude, of 1 at least. */
LOOM_TEST(testing_difference, floats) {
    differs("(a: f64)", "1}", "1.0019}", 0.002, NULL);
    differs("(a: f64)", "1}", "1.0021}", 0.002, "expected 1, found 1.0021");
    differs("(a: f64)", "0}", "0.0019}", 0.002, NULL);
    differs("(a: []f64)", "[1000, 0]}", "[1000, 1.9]}", 0.002, NULL);
    differs("(a: []f64)", "[1000, 0]}", "[1000, 2.1]}", 0.002, "expected 0, found 2.1000000000000001 at [1]");
    differs("(a: []f64)", "[inf, 0]}", "[inf, 1]}", 0.002, "expected 0, found 1 at [1]");
    differs("(a: f64)", "nan}", "nan}", 0, NULL);
    differs("(a: f64)", "nan}", "-nan}", 0, NULL);
    differs("(a: f64)", "0}", "-0}", 0.002, NULL);
    differs("(a: f64)", "0}", "-0}", 0, "expected 0, found -0");
    differs("(a: []f32)", "[0, -0]}", "[0, 0]}", 0, "expected -0, found 0 at [1]");
    differs("(a: c64)", "1+0i}", "1-0i}", 0, "expected 1+0i, found 1-0i");
    differs("(a: f64)", "nan}", "1}", 0.002, "expected nan, found 1");
    differs("(a: f64)", "inf}", "-inf}", 0.002, "expected inf, found -inf");
    differs("(a: f32)", "1}", "1.0000001}", 0, "expected 1, found 1.00000012");
    differs("(a: c128)", "3+4i}", "3+4.009i}", 0.002, NULL);
    differs("(a: c128)", "3+4i}", "3+4.011i}", 0.002, "expected 3+4i, found 3+4.0110000000000001i");
}
