/* Every operation of typed core against plain expectations. */
#include "helper.h"
#include "loom_test.h"

/* x -> x + k, on i64 */
static loom_body_id plus_body(built *b, int64_t k) {
    loom_body_id body = BODY(b, "i64");
    loom_build_close(b->p, body, PRIM(b, ADD, "i64", arg(b, body, 0), i64(b, k)));
    return body;
}

LOOM_TEST(interp_control, scalars_tuples_calls) {
    built b = START("(i64, f64)", "bool");
    loom_node_id n = NODE(&b, PROJECT, "i64", 0, param(&b, 0)), x = NODE(&b, PROJECT, "f64", 1, param(&b, 0));
    loom_node_id as_float = NODE(&b, CONVERT, "f64", 0, n), sum = PRIM(&b, ADD, "f64", as_float, x);
    finish(&b, NODE(&b, TUPLE, "(f64, bool)", 0, sum, param(&b, 1)));
    EXPECT(&b, "3.5; true", "i64 2; f64 1.5", "bool true");
    done(&b);
}

LOOM_TEST(interp_control, if_runs_one_branch) {
    built b = START("bool", "i64");
    loom_body_id yes = loom_build_open(b.p, 0, NULL, AT(1));
    loom_build_close(b.p, yes, PRIM(&b, FLOORDIV, "i64", i64(&b, 10), param(&b, 1)));
    loom_body_id no = loom_build_open(b.p, 0, NULL, AT(1));
    loom_build_close(b.p, no, param(&b, 1));
    finish(&b, NODE2(&b, IF, "i64", 0, yes, no, param(&b, 0)));
    EXPECT(&b, "5", "bool true", "i64 2");
    EXPECT(&b, "0", "bool false", "i64 0");
    EXPECT_ERROR(&b, "division by zero", "bool true", "i64 0");
    done(&b);
}

LOOM_TEST(interp_control, for_loop) {
    built b = START("i64");
    loom_body_id turn = BODY(&b, "i64", "i64");
    loom_build_close(b.p, turn, PRIM(&b, ADD, "i64", arg(&b, turn, 0), arg(&b, turn, 1)));
    finish(&b, NODE1(&b, LOOP_FOR, "i64", 0, turn, param(&b, 0), i64(&b, 100)));
    EXPECT(&b, "145", "i64 10");
    EXPECT(&b, "100", "i64 0");
    EXPECT(&b, "100", "i64 -5");
    done(&b);
}

/* Collatz: a state that grows, with its length as the answer. */
LOOM_TEST(interp_control, while_loop_with_growing_state) {
    built b = START("i64");
    loom_node_id first = NODE(&b, ARRAY, "[]i64", 0, param(&b, 0));
    loom_body_id test = BODY(&b, "[]i64");
    loom_node_id last = NODE(&b, INDEX, "i64", 0, arg(&b, test, 0), i64(&b, 0));
    loom_build_close(b.p, test, PRIM(&b, NE, "bool", last, i64(&b, 1)));
    loom_body_id step = BODY(&b, "[]i64");
    loom_node_id x = NODE(&b, INDEX, "i64", 0, arg(&b, step, 0), i64(&b, 0));
    loom_node_id odd = PRIM(&b, EQ, "bool", PRIM(&b, FLOORMOD, "i64", x, i64(&b, 2)), i64(&b, 1));
    loom_node_id up = PRIM(&b, ADD, "i64", PRIM(&b, MUL, "i64", x, i64(&b, 3)), i64(&b, 1));
    loom_node_id next = PRIM(&b, SELECT, "i64", odd, up, PRIM(&b, FLOORDIV, "i64", x, i64(&b, 2)));
    loom_node_id head = NODE(&b, ARRAY, "[]i64", 0, next);
    loom_build_close(b.p, step, NODE(&b, CONCAT, "[]i64", 0, head, arg(&b, step, 0)));
    finish(&b, NODE2(&b, LOOP_WHILE, "[]i64", 0, test, step, first));
    EXPECT(&b, "[1, 2, 4, 8, 16, 5, 10, 3, 6]", "i64 6");
    done(&b);
}

LOOM_TEST(interp_control, work_limit_ends_a_loop) {
    built b = START("i64");
    loom_body_id test = BODY(&b, "i64"), step;
    loom_build_close(b.p, test, PRIM(&b, EQ, "bool", arg(&b, test, 0), arg(&b, test, 0)));
    step = plus_body(&b, 0);
    finish(&b, NODE2(&b, LOOP_WHILE, "i64", 0, test, step, param(&b, 0)));
    loom_interp_options options = {.work_limit = 100000};
    loom_value *result = NULL, *one = value_from("i64 1");
    loom_status *status = loom_interp_call(b.p, 0, &one, &options, &result, NULL);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_LIMIT);
    loom_status_free(status);
    loom_value_unref(one);
    done(&b);
}

LOOM_TEST(interp_control, memory_limit) {
    built b = START("i64");
    finish(&b, NODE(&b, IOTA, "[]i64", 0, param(&b, 0)));
    loom_interp_options options = {.memory_limit = 1 << 20};
    loom_value *result = NULL, *n = value_from("i64 1000000000000");
    loom_status *status = loom_interp_call(b.p, 0, &n, &options, &result, NULL);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_MEMORY);
    LOOM_CHECK(loom_status_span(status).line > 0);
    loom_status_free(status);
    loom_value_unref(n);
    expect_with(&b, "[0, 1, 2]", &options, 1, (const char *[]){"i64 3"}, NULL);
    done(&b);
}

LOOM_TEST(interp_control, assertion) {
    built b = START("bool", "i64");
    finish(&b, NODE(&b, ASSERT, "i64", 0, param(&b, 0), param(&b, 1)));
    EXPECT(&b, "7", "bool true", "i64 7");
    EXPECT_ERROR(&b, "assertion failed", "bool false", "i64 7");
    done(&b);
}

LOOM_TEST(interp_arrays, claims) {
    built b = START("[][]f64", "i64", "i64");
    finish(&b, NODE(&b, CLAIM, "[][]f64", 3, param(&b, 0), param(&b, 1), param(&b, 2)));
    EXPECT(&b, "[[1, 2], [3, 4]]", "f64 [[1, 2], [3, 4]]", "i64 2", "i64 2");
    EXPECT(&b, "[]", "f64^2 []", "i64 0", "i64 17"); /* no rows: any claim about them holds */
    EXPECT_ERROR(&b, "a length of 3 is claimed at level 0 (test.weft:1:1), found 2", "f64 [[1, 2], [3, 4]]", "i64 3",
                 "i64 2");
    EXPECT_ERROR(&b, "a length of 2 is claimed at level 1 (test.weft:1:1), found 1", "f64 [[1, 2], [3]]", "i64 2",
                 "i64 2");
    done(&b);
    b = START("[][]f64", "i64");
    finish(&b, NODE(&b, CLAIM, "[][]f64", 2, param(&b, 0), param(&b, 1)));
    EXPECT(&b, "[[1], [2], [3]]", "f64 [[1], [2], [3]]", "i64 1");
    done(&b);
}

LOOM_TEST(interp_arrays, extents) {
    built b = START("[][][]i64");
    loom_node_id length = NODE(&b, LENGTH, "i64", 0, param(&b, 0));
    loom_node_id d1 = NODE(&b, DIM, "i64", 1, param(&b, 0)), d2 = NODE(&b, DIM, "i64", 2, param(&b, 0));
    finish(&b, NODE(&b, TUPLE, "(i64, i64, i64)", 0, length, d1, d2));
    EXPECT(&b, "2; 1; 3", "i64 [[[1, 2, 3]], [[4, 5, 6]]]");
    EXPECT(&b, "2; 2; 1", "i64 [[[1], [2, 3]], [[4]]]");
    EXPECT(&b, "0; 0; 0", "i64^3 []");
    done(&b);
}

LOOM_TEST(interp_arrays, literal_iota_replicate) {
    built b = START("i64");
    loom_node_id literal = NODE(&b, ARRAY, "[]i64", 0, param(&b, 0), i64(&b, 2), i64(&b, 3));
    loom_node_id iota = NODE(&b, IOTA, "[]i16", 0, param(&b, 0));
    loom_node_id rows = NODE(&b, REPLICATE, "[][]i16", 0, i64(&b, 2), iota);
    finish(&b, NODE(&b, TUPLE, "([]i64, [][]i16)", 0, literal, rows));
    EXPECT(&b, "[4, 2, 3]; [[0, 1, 2, 3], [0, 1, 2, 3]]", "i64 4");
    EXPECT(&b, "[0, 2, 3]; [[], []]", "i64 0");
    EXPECT_ERROR(&b, "an array of -1 elements", "i64 -1");
    done(&b);
}

LOOM_TEST(interp_arrays, literals_of_rows_may_be_irregular) {
    built b = START("[]i64", "[]i64");
    finish(&b, NODE(&b, ARRAY, "[][]i64", 0, param(&b, 0), param(&b, 1), param(&b, 0)));
    EXPECT(&b, "[[1, 2], [3], [1, 2]]", "i64 [1, 2]", "i64 [3]");
    EXPECT(&b, "[[1, 2], [3, 4], [1, 2]]", "i64 [1, 2]", "i64 [3, 4]");
    EXPECT(&b, "[[], [3], []]", "i64^1 []", "i64 [3]");
    done(&b);
}

LOOM_TEST(interp_arrays, index) {
    built b = START("[][]i64", "i64", "i64");
    loom_node_id x = NODE(&b, INDEX, "i64", 0, param(&b, 0), param(&b, 1), param(&b, 2));
    loom_node_id row = NODE(&b, INDEX, "[]i64", 0, param(&b, 0), param(&b, 1));
    finish(&b, NODE(&b, TUPLE, "(i64, []i64)", 0, x, row));
    EXPECT(&b, "6; [4, 5, 6]", "i64 [[1, 2, 3], [4, 5, 6]]", "i64 1", "i64 2");
    EXPECT(&b, "3; [2, 3]", "i64 [[1], [2, 3]]", "i64 1", "i64 1");
    EXPECT_ERROR(&b, "index 2 is outside an array of length 2", "i64 [[1, 2, 3], [4, 5, 6]]", "i64 2", "i64 0");
    EXPECT_ERROR(&b, "index -1 is outside an array of length 3", "i64 [[1, 2, 3], [4, 5, 6]]", "i64 0", "i64 -1");
    EXPECT_ERROR(&b, "index 1 is outside an array of length 1", "i64 [[1], [2, 3]]", "i64 0", "i64 1");
    EXPECT_ERROR(&b, "index 0 is outside an array of length 0", "i64^2 []", "i64 0", "i64 1");
    done(&b);
}

LOOM_TEST(interp_arrays, index_of_records) {
    built b = START("[](i64, []f64)", "i64");
    finish(&b, NODE(&b, INDEX, "(i64, []f64)", 0, param(&b, 0), param(&b, 1)));
    EXPECT(&b, "2; [3, 4]", "i64 [1, 2]; f64 [[1], [3, 4]]", "i64 1");
    done(&b);
}

LOOM_TEST(interp_arrays, slices) {
    built b = START("[]i64", "i64", "i64", "i64");
    finish(&b, NODE(&b, SLICE, "[]i64", 7, param(&b, 0), param(&b, 1), param(&b, 2), param(&b, 3)));
    const char *xs = "i64 [0, 1, 2, 3, 4, 5, 6]";
    EXPECT(&b, "[1, 2, 3]", xs, "i64 1", "i64 4", "i64 1");
    EXPECT(&b, "[1, 3, 5]", xs, "i64 1", "i64 6", "i64 2");
    EXPECT(&b, "[0, 3, 6]", xs, "i64 0", "i64 7", "i64 3");
    EXPECT(&b, "[6, 4, 2]", xs, "i64 6", "i64 1", "i64 -2");
    EXPECT(&b, "[]", xs, "i64 3", "i64 3", "i64 1");
    EXPECT(&b, "[]", xs, "i64 7", "i64 7", "i64 1");
    EXPECT_ERROR(&b, "slice from 5 to 2", xs, "i64 5", "i64 2", "i64 1");
    EXPECT_ERROR(&b, "slice up to 8 of an array of length 7", xs, "i64 0", "i64 8", "i64 1");
    EXPECT_ERROR(&b, "slice from -1 to 3", xs, "i64 -1", "i64 3", "i64 1");
    EXPECT_ERROR(&b, "step 0", xs, "i64 0", "i64 3", "i64 0");
    done(&b);
    b = START("[][]i64");
    loom_node_id backwards = NODE(&b, SLICE, "[][]i64", 4, param(&b, 0), i64(&b, -1));
    loom_node_id tail = NODE(&b, SLICE, "[][]i64", 1, param(&b, 0), i64(&b, 1));
    loom_node_id head = NODE(&b, SLICE, "[][]i64", 2, param(&b, 0), i64(&b, 1));
    finish(&b, NODE(&b, TUPLE, "([][]i64, [][]i64, [][]i64)", 0, backwards, tail, head));
    EXPECT(&b, "[[3], [1, 2]]; [[3]]; [[1, 2]]", "i64 [[1, 2], [3]]");
    EXPECT(&b, "[[3, 4], [1, 2]]; [[3, 4]]; [[1, 2]]", "i64 [[1, 2], [3, 4]]");
    done(&b);
}

LOOM_TEST(interp_arrays, updates_copy_what_is_shared) {
    built b = START("[][]i64", "i64", "i64", "[]i64");
    loom_node_id cell = NODE(&b, UPDATE, "[][]i64", 0, param(&b, 0), i64(&b, 99), param(&b, 1), param(&b, 2));
    loom_node_id row = NODE(&b, UPDATE, "[][]i64", 0, param(&b, 0), param(&b, 3), param(&b, 1));
    finish(&b, NODE(&b, TUPLE, "([][]i64, [][]i64, [][]i64)", 0, param(&b, 0), cell, row));
    EXPECT(&b, "[[1, 2], [3, 4]]; [[1, 2], [3, 99]]; [[1, 2], [7, 8]]", "i64 [[1, 2], [3, 4]]", "i64 1", "i64 1",
           "i64 [7, 8]");
    EXPECT(&b, "[[1, 2], [3, 4]]; [[99, 2], [3, 4]]; [[7], [3, 4]]", "i64 [[1, 2], [3, 4]]", "i64 0", "i64 0",
           "i64 [7]");
    EXPECT(&b, "[[1], [3, 4]]; [[1], [3, 99]]; [[1], [5, 6, 7]]", "i64 [[1], [3, 4]]", "i64 1", "i64 1",
           "i64 [5, 6, 7]");
    EXPECT_ERROR(&b, "index 2 is outside an array of length 2", "i64 [[1, 2], [3, 4]]", "i64 1", "i64 2", "i64 [7]");
    EXPECT_ERROR(&b, "index 5 is outside an array of length 2", "i64 [[1, 2], [3, 4]]", "i64 5", "i64 0", "i64 [7]");
    done(&b);
}

LOOM_TEST(interp_arrays, update_of_records) {
    built b = START("[](i64, []f64)", "(i64, []f64)");
    finish(&b, NODE(&b, UPDATE, "[](i64, []f64)", 0, param(&b, 0), param(&b, 1), i64(&b, 1)));
    EXPECT(&b, "[1, 9]; [[1, 2], [5]]", "i64 [1, 2]; f64 [[1, 2], [3, 4]]", "i64 9; f64 [5]");
    done(&b);
}

/* loop xs for i < n do xs with [i] = i: in place, or it would move n * n elements. */
LOOM_TEST(interp_arrays, updates_in_a_loop_are_in_place) {
    built b = START("i64");
    loom_node_id xs = NODE(&b, REPLICATE, "[]i64", 0, param(&b, 0), i64(&b, 0));
    loom_body_id turn = BODY(&b, "i64", "[]i64");
    loom_node_id set = NODE(&b, UPDATE, "[]i64", 0, arg(&b, turn, 1), arg(&b, turn, 0), arg(&b, turn, 0));
    loom_build_close(b.p, turn, set);
    loom_node_id looped = NODE1(&b, LOOP_FOR, "[]i64", 0, turn, param(&b, 0), xs);
    finish(&b, NODE(&b, SLICE, "[]i64", 2, looped, i64(&b, 3)));
    loom_interp_counters counters;
    expect_with(&b, "[0, 1, 2]", NULL, 1, (const char *[]){"i64 1000"}, &counters);
    LOOM_CHECK(counters.elements_moved < 3000);
    done(&b);
}

/* The same where only one branch updates. */
LOOM_TEST(interp_arrays, updates_in_a_branch_are_in_place) {
    built b = START("i64");
    loom_node_id xs = NODE(&b, REPLICATE, "[]i64", 0, param(&b, 0), i64(&b, 0));
    loom_body_id turn = BODY(&b, "i64", "[]i64");
    loom_node_id odd = PRIM(&b, EQ, "bool", PRIM(&b, FLOORMOD, "i64", arg(&b, turn, 0), i64(&b, 2)), i64(&b, 1));
    loom_body_id yes = loom_build_open(b.p, 0, NULL, AT(1));
    loom_build_close(b.p, yes, NODE(&b, UPDATE, "[]i64", 0, arg(&b, turn, 1), arg(&b, turn, 0), arg(&b, turn, 0)));
    loom_body_id no = loom_build_open(b.p, 0, NULL, AT(1));
    loom_build_close(b.p, no, arg(&b, turn, 1));
    loom_build_close(b.p, turn, NODE2(&b, IF, "[]i64", 0, yes, no, odd));
    loom_node_id looped = NODE1(&b, LOOP_FOR, "[]i64", 0, turn, param(&b, 0), xs);
    finish(&b, NODE(&b, SLICE, "[]i64", 2, looped, i64(&b, 4)));
    loom_interp_counters counters;
    expect_with(&b, "[0, 1, 0, 3]", NULL, 1, (const char *[]){"i64 1000"}, &counters);
    LOOM_CHECK(counters.elements_moved < 3000);
    done(&b);
}

LOOM_TEST(interp_arrays, zip_and_unzip) {
    built b = START("[]i64", "[][]f64");
    loom_node_id zipped = NODE(&b, ZIP, "[](i64, []f64)", 0, param(&b, 0), param(&b, 1));
    loom_node_id back = NODE(&b, UNZIP, "([]i64, [][]f64)", 0, zipped);
    loom_node_id first = NODE(&b, PROJECT, "[]i64", 0, back);
    finish(&b, NODE(&b, TUPLE, "([](i64, []f64), []i64)", 0, zipped, first));
    EXPECT(&b, "[1, 2]; [[1], [2, 3]]; [1, 2]", "i64 [1, 2]", "f64 [[1], [2, 3]]");
    EXPECT_ERROR(&b, "zip of arrays of lengths 3 and 2", "i64 [1, 2, 3]", "f64 [[1], [2, 3]]");
    done(&b);
}

LOOM_TEST(interp_map, scalars_and_lengths) {
    built b = START("[]i64", "[]i64");
    loom_body_id body = operator_body(&b, LOOM_PRIM_MUL, "i64");
    finish(&b, NODE1(&b, MAP, "[]i64", 0, body, param(&b, 0), param(&b, 1)));
    EXPECT(&b, "[4, 10, 18]", "i64 [1, 2, 3]", "i64 [4, 5, 6]");
    EXPECT(&b, "[2, 2, 2, 2, 2, 2]", "i64 [1, 1, 1, 1, 1, 1]", "i64 [2, 2, 2, 2, 2, 2]");
    EXPECT(&b, "[]", "i64^1 []", "i64^1 []");
    EXPECT_ERROR(&b, "zip_with over arrays of lengths 1 and 2", "i64 [1]", "i64 [1, 2]");
    done(&b);
}

/* map (\row -> map (+ 1) row): rows of any lengths. */
LOOM_TEST(interp_map, nested) {
    built b = START("[][]i64");
    loom_body_id outer = BODY(&b, "[]i64"), inner = plus_body(&b, 1);
    loom_build_close(b.p, outer, NODE1(&b, MAP, "[]i64", 0, inner, arg(&b, outer, 0)));
    finish(&b, NODE1(&b, MAP, "[][]i64", 0, outer, param(&b, 0)));
    EXPECT(&b, "[[2, 3], [4, 5]]", "i64 [[1, 2], [3, 4]]");
    EXPECT(&b, "[[2], [], [4, 5, 6]]", "i64 [[1], [], [3, 4, 5]]");
    EXPECT(&b, "[[], []]", "i64 [[], []]");
    EXPECT(&b, "[]", "i64^2 []");
    done(&b);
}

LOOM_TEST(interp_map, element_of_an_error_is_named) {
    built b = START("[][]i64", "i64");
    loom_body_id outer = BODY(&b, "[]i64"), inner = BODY(&b, "i64");
    loom_build_close(b.p, inner, PRIM(&b, QUOT, "i64", param(&b, 1), arg(&b, inner, 0)));
    loom_build_close(b.p, outer, NODE1(&b, MAP, "[]i64", 0, inner, arg(&b, outer, 0)));
    finish(&b, NODE1(&b, MAP, "[][]i64", 0, outer, param(&b, 0)));
    EXPECT(&b, "[[6, 3, 2, 1, 1], [1]]", "i64 [[1, 2, 3, 4, 5], [6]]", "i64 6");
    EXPECT_ERROR(&b, "at element [1, 3]", "i64 [[1], [1, 2, 3, 0, 5, 0]]", "i64 6");
    EXPECT_ERROR(&b, "at element [0, 0]", "i64 [[0], [1, 2, 3, 0, 5, 0]]", "i64 6");
    done(&b);
}

/* Records through a map that runs by strips: projections, tuples, a conditional, an outer array. */
LOOM_TEST(interp_map, strips_of_records) {
    built b = START("[]{u: f64, n: i64}", "[]f64", "f64");
    loom_body_id body = BODY(&b, "{u: f64, n: i64}");
    loom_node_id u = NODE(&b, PROJECT, "f64", 0, arg(&b, body, 0)), n = NODE(&b, PROJECT, "i64", 1, arg(&b, body, 0));
    loom_node_id table = NODE(&b, INDEX, "f64", 0, param(&b, 1), n);
    loom_node_id small = PRIM(&b, LT, "bool", u, param(&b, 2));
    loom_body_id yes = loom_build_open(b.p, 0, NULL, AT(1));
    loom_build_close(b.p, yes, PRIM(&b, MUL, "f64", u, table));
    loom_body_id no = loom_build_open(b.p, 0, NULL, AT(1));
    loom_build_close(b.p, no, table);
    loom_node_id v = NODE2(&b, IF, "f64", 0, yes, no, small);
    loom_build_close(b.p, body, NODE(&b, TUPLE, "(i64, f64)", 0, n, v));
    finish(&b, NODE1(&b, MAP, "[](i64, f64)", 0, body, param(&b, 0)));
    loom_interp_counters strips, plain;
    expect_with(&b, "[0, 1, 0, 1, 0]; [10, 40, 10, 20, 10]", NULL, 3,
                (const char *[]){"f64 [1, 2, 3, 4, 5]; i64 [0, 1, 0, 1, 0]", "f64 [10, 20]", "f64 2.5"}, &strips);
    LOOM_CHECK_EQ_INT(strips.scalar_evaluations, 5 + 2);
    expect_with(&b, "[0, 1, 0]; [10, 40, 10]", NULL, 3,
                (const char *[]){"f64 [1, 2, 3]; i64 [0, 1, 0]", "f64 [10, 20]", "f64 2.5"}, &plain);
    LOOM_CHECK_EQ_INT(plain.scalar_evaluations, 3 + 2);
    EXPECT_ERROR(&b, "at element [3]", "f64 [1, 2, 3, 4, 5]; i64 [0, 1, 0, 2, 0]", "f64 [10, 20]", "f64 2.5");
    done(&b);
}

LOOM_TEST(interp_map, rows_of_irregular_arrays_are_indexed) {
    built b = START("[][]i64", "[]i64");
    loom_body_id body = BODY(&b, "[]i64", "i64");
    loom_build_close(b.p, body, NODE(&b, INDEX, "i64", 0, arg(&b, body, 0), arg(&b, body, 1)));
    finish(&b, NODE1(&b, MAP, "[]i64", 0, body, param(&b, 0), param(&b, 1)));
    EXPECT(&b, "[2, 3, 6, 8, 9]", "i64 [[1, 2], [3, 4], [5, 6], [7, 8], [9, 9]]", "i64 [1, 0, 1, 1, 0]");
    EXPECT(&b, "[2, 3, 6, 8, 9]", "i64 [[1, 2], [3], [5, 6], [7, 8], [9, 9]]", "i64 [1, 0, 1, 1, 0]");
    EXPECT_ERROR(&b, "at element [4]", "i64 [[1, 2], [3, 4], [5, 6], [7, 8], [9, 9]]", "i64 [1, 0, 1, 1, 2]");
    done(&b);
}

LOOM_TEST(interp_generate, ranks) {
    built b = START("i64", "i64");
    loom_body_id body = BODY(&b, "i64", "i64");
    loom_node_id tens = PRIM(&b, MUL, "i64", arg(&b, body, 0), i64(&b, 10));
    loom_build_close(b.p, body, PRIM(&b, ADD, "i64", tens, arg(&b, body, 1)));
    finish(&b, NODE1(&b, GENERATE, "[][]i64", 0, body, param(&b, 0), param(&b, 1)));
    EXPECT(&b, "[[0, 1, 2], [10, 11, 12]]", "i64 2", "i64 3");
    EXPECT(&b, "[[0]]", "i64 1", "i64 1");
    EXPECT(&b, "[[], [], []]", "i64 3", "i64 0");
    EXPECT(&b, "[]", "i64 0", "i64 3");
    EXPECT_ERROR(&b, "an array of -1 elements", "i64 -1", "i64 3");
    done(&b);
}

/* generate n iota: a triangle */
LOOM_TEST(interp_generate, irregular) {
    built b = START("i64");
    loom_body_id body = BODY(&b, "i64");
    loom_build_close(b.p, body, NODE(&b, IOTA, "[]i64", 0, arg(&b, body, 0)));
    finish(&b, NODE1(&b, GENERATE, "[][]i64", 0, body, param(&b, 0)));
    EXPECT(&b, "[[], [0], [0, 1], [0, 1, 2]]", "i64 4");
    done(&b);
    b = START("i64");
    body = BODY(&b, "i64", "i64", "i64");
    loom_node_id n = PRIM(&b, FLOORMOD, "i64", PRIM(&b, ADD, "i64", arg(&b, body, 0), arg(&b, body, 2)), i64(&b, 3));
    loom_build_close(b.p, body, NODE(&b, IOTA, "[]i64", 0, n));
    finish(&b, NODE1(&b, GENERATE, "[][][][]i64", 0, body, i64(&b, 2), i64(&b, 1), param(&b, 0)));
    EXPECT(&b, "[[[[], [0]]], [[[0], [0, 1]]]]", "i64 2");
    done(&b);
}

LOOM_TEST(interp_fold, folds) {
    built b = START("[]i64");
    loom_node_id sum = NODE1(&b, FOLD, "i64", 0, operator_body(&b, LOOM_PRIM_ADD, "i64"), i64(&b, 0), param(&b, 0));
    loom_node_id least = NODE1(&b, FOLD1, "i64", 0, operator_body(&b, LOOM_PRIM_MIN, "i64"), param(&b, 0));
    finish(&b, NODE(&b, TUPLE, "(i64, i64)", 0, sum, least));
    EXPECT(&b, "6; 1", "i64 [3, 1, 2]");
    EXPECT_ERROR(&b, "fold1 of an empty array", "i64^1 []");
    done(&b);
}

/* Added up one by one, a million tenths in single precision would be off by one in a hundred. */
LOOM_TEST(interp_fold, long_sums_of_floats) {
    built b = START("[]f32");
    loom_node_id zero = NODE(&b, CONVERT, "f32", 0, i64(&b, 0));
    finish(&b, NODE1(&b, FOLD, "f32", 0, operator_body(&b, LOOM_PRIM_ADD, "f32"), zero, param(&b, 0)));
    for (int64_t n = 511; n < 2000000; n = n * 7 / 2 + 1) {
        int64_t extents[1] = {n};
        loom_value *tenths, *sum;
        LOOM_OK(loom_value_create(1, &tenths));
        LOOM_OK(loom_leaf_init(&tenths->leaves[0], "", LOOM_F32, 1, extents, INT64_MAX));
        for (int64_t i = 0; i < n; i++) ((float *)tenths->leaves[0].data)[i] = 0.1f;
        LOOM_OK(loom_interp_call(b.p, 0, &tenths, NULL, &sum, NULL));
        LOOM_CHECK_NEAR(*(const float *)sum->leaves[0].data / ((double)n * (double)0.1f), 1, 1e-5);
        loom_value_unref(tenths);
        loom_value_unref(sum);
    }
    done(&b);
}

LOOM_TEST(interp_fold, order_and_rows) {
    built b = START("[][]i64", "[]i64");
    loom_body_id op = BODY(&b, "[]i64", "[]i64");
    loom_build_close(b.p, op, NODE(&b, CONCAT, "[]i64", 0, arg(&b, op, 0), arg(&b, op, 1)));
    finish(&b, NODE1(&b, FOLD, "[]i64", 0, op, param(&b, 1), param(&b, 0)));
    EXPECT(&b, "[0, 1, 2, 3]", "i64 [[1], [2, 3]]", "i64 [0]");
    EXPECT(&b, "[9]", "i64^2 []", "i64 [9]");
    done(&b);
}

LOOM_TEST(interp_fold, scans) {
    static const char *const expected[] = {"[1, 3, 6]", "[0, 1, 3]", "[6, 5, 3]"};
    for (uint32_t kind = LOOM_SCAN_INCLUSIVE; kind <= LOOM_SCAN_RIGHT; kind++) {
        built b = START("[]i64");
        finish(&b, NODE1(&b, SCAN, "[]i64", kind, operator_body(&b, LOOM_PRIM_ADD, "i64"), i64(&b, 0), param(&b, 0)));
        EXPECT(&b, expected[kind], "i64 [1, 2, 3]");
        EXPECT(&b, "[]", "i64^1 []");
        done(&b);
    }
    built b = START("[]i64");
    loom_body_id op = operator_body(&b, LOOM_PRIM_ADD, "i64");
    finish(&b, NODE1(&b, SCAN, "([]i64, i64)", LOOM_SCAN_TOTAL, op, i64(&b, 10), param(&b, 0)));
    EXPECT(&b, "[10, 11, 13]; 16", "i64 [1, 2, 3]");
    EXPECT(&b, "[]; 10", "i64^1 []");
    done(&b);
}

/* From the right the operator still gets the earlier element on the left. */
LOOM_TEST(interp_fold, scan_right_keeps_the_order) {
    built b = START("[][]i64", "[]i64");
    loom_body_id op = BODY(&b, "[]i64", "[]i64");
    loom_build_close(b.p, op, NODE(&b, CONCAT, "[]i64", 0, arg(&b, op, 0), arg(&b, op, 1)));
    finish(&b, NODE1(&b, SCAN, "[][]i64", LOOM_SCAN_RIGHT, op, param(&b, 1), param(&b, 0)));
    EXPECT(&b, "[[1, 2, 9], [2, 9]]", "i64 [[1], [2]]", "i64 [9]");
    done(&b);
}

LOOM_TEST(interp_filter, scalars_and_rows) {
    built b = START("[]i64");
    loom_body_id body = BODY(&b, "i64");
    loom_build_close(b.p, body, PRIM(&b, GT, "bool", arg(&b, body, 0), i64(&b, 2)));
    finish(&b, NODE1(&b, FILTER, "[]i64", 0, body, param(&b, 0)));
    EXPECT(&b, "[3, 4, 5]", "i64 [3, 1, 4, 2, 5]");
    EXPECT(&b, "[]", "i64 [1]");
    done(&b);
    b = START("[][]i64");
    body = BODY(&b, "[]i64");
    loom_node_id n = NODE(&b, LENGTH, "i64", 0, arg(&b, body, 0));
    loom_build_close(b.p, body, PRIM(&b, GT, "bool", n, i64(&b, 1)));
    finish(&b, NODE1(&b, FILTER, "[][]i64", 0, body, param(&b, 0)));
    EXPECT(&b, "[[1, 2], [4, 5]]", "i64 [[1, 2], [3], [4, 5]]");
    done(&b);
}

LOOM_TEST(interp_shapes, transpose) {
    built b = START("[][]i64");
    finish(&b, NODE(&b, TRANSPOSE, "[][]i64", 0, param(&b, 0)));
    EXPECT(&b, "[[1, 4], [2, 5], [3, 6]]", "i64 [[1, 2, 3], [4, 5, 6]]");
    EXPECT(&b, "[]", "i64^2 []");
    EXPECT(&b, "[]", "i64 [[], []]");
    EXPECT_ERROR(&b, "row 0 has 1 elements, row 1 has 2", "i64 [[1], [2, 3]]");
    done(&b);
    b = START("[][][]i64");
    finish(&b, NODE(&b, TRANSPOSE, "[][][]i64", 0, param(&b, 0)));
    EXPECT(&b, "[[[1], [3, 4]], [[2], []]]", "i64 [[[1], [2]], [[3, 4], []]]");
    EXPECT(&b, "[[[1, 1], [3, 3]], [[2, 2], [4, 4]]]", "i64 [[[1, 1], [2, 2]], [[3, 3], [4, 4]]]");
    done(&b);
}

LOOM_TEST(interp_shapes, flatten_and_unflatten) {
    built b = START("[][]i64", "i64", "i64");
    loom_node_id flat = NODE(&b, FLATTEN, "[]i64", 0, param(&b, 0));
    finish(&b, NODE(&b, TUPLE, "([]i64, [][]i64)", 0, flat,
                    NODE(&b, UNFLATTEN, "[][]i64", 0, param(&b, 1), param(&b, 2), flat)));
    EXPECT(&b, "[1, 2, 3, 4, 5, 6]; [[1, 2, 3], [4, 5, 6]]", "i64 [[1, 2], [3, 4], [5, 6]]", "i64 2", "i64 3");
    EXPECT(&b, "[1, 2, 3]; [[1], [2], [3]]", "i64 [[1], [], [2, 3]]", "i64 3", "i64 1");
    EXPECT(&b, "[]; [[], []]", "i64^2 []", "i64 2", "i64 0");
    EXPECT_ERROR(&b, "unflatten to", "i64 [[1], [], [2, 3]]", "i64 2", "i64 2");
    EXPECT_ERROR(&b, "an array of -1 elements", "i64 [[1], [], [2, 3]]", "i64 -1", "i64 -3");
    EXPECT_ERROR(&b, "more than 2^63 elements", "i64 [[1], [], [2, 3]]", "i64 4611686018427387905", "i64 4");
    done(&b);
}

LOOM_TEST(interp_shapes, concat_reverse_rotate) {
    built b = START("[]i64", "[]i64", "i64");
    loom_node_id joined = NODE(&b, CONCAT, "[]i64", 0, param(&b, 0), param(&b, 1), param(&b, 0));
    loom_node_id reversed = NODE(&b, REVERSE, "[]i64", 0, joined);
    finish(&b, NODE(&b, TUPLE, "([]i64, []i64, []i64)", 0, joined, reversed,
                    NODE(&b, ROTATE, "[]i64", 0, param(&b, 2), joined)));
    EXPECT(&b, "[1, 2, 3, 1, 2]; [2, 1, 3, 2, 1]; [2, 3, 1, 2, 1]", "i64 [1, 2]", "i64 [3]", "i64 1");
    EXPECT(&b, "[1, 2, 3, 1, 2]; [2, 1, 3, 2, 1]; [2, 1, 2, 3, 1]", "i64 [1, 2]", "i64 [3]", "i64 -6");
    EXPECT(&b, "[]; []; []", "i64^1 []", "i64^1 []", "i64 7");
    done(&b);
}

static loom_node_id histogram(built *b, loom_prim op, const char *type, uint32_t rank) {
    return NODE1(b, PERMUTE, type, rank, operator_body(b, op, "i64"), param(b, 0), param(b, 1), param(b, 2));
}

LOOM_TEST(interp_permute, histogram) {
    built b = START("[]i64", "[]i64", "[]i64");
    finish(&b, histogram(&b, LOOM_PRIM_ADD, "[]i64", 1));
    EXPECT(&b, "[11, 20, 33]", "i64 [10, 20, 30]", "i64 [0, 2, 2, -1, 3]", "i64 [1, 1, 2, 7, 7]");
    EXPECT(&b, "[10]", "i64 [10]", "i64^1 []", "i64^1 []");
    EXPECT_ERROR(&b, "indices and values differ in shape: 2 and 1 elements", "i64 [1]", "i64 [0, 0]", "i64 [1]");
    done(&b);
}

LOOM_TEST(interp_permute, nested_indices_of_rank_two) {
    built b = START("[][]i64", "[][](i64, i64)", "[][]i64");
    finish(&b, histogram(&b, LOOM_PRIM_ADD, "[][]i64", 2));
    EXPECT(&b, "[[1, 0], [5, 4]]", "i64 [[0, 0], [0, 0]]", "i64 [[0, 1], [1, 9]]; i64 [[0, 0], [1, 0]]",
           "i64 [[1, 5], [4, 8]]");
    EXPECT(&b, "[[1, 0], [5, 4]]", "i64 [[0, 0], [0, 0]]", "i64 [[0, 1, 1], [9]]; i64 [[0, 0, 1], [0]]",
           "i64 [[1, 5, 4], [8]]");
    EXPECT(&b, "[[1], [5, 4]]", "i64 [[0], [0, 0]]", "i64 [[0, 1, 1], [0]]; i64 [[0, 0, 1], [1]]",
           "i64 [[1, 5, 4], [8]]");
    done(&b);
}

LOOM_TEST(interp_permute, elements_that_are_rows_or_tuples) {
    built b = START("[][]i64", "[]i64", "[][]i64");
    loom_body_id op = BODY(&b, "[]i64", "[]i64"), plus = operator_body(&b, LOOM_PRIM_ADD, "i64");
    loom_build_close(b.p, op, NODE1(&b, MAP, "[]i64", 0, plus, arg(&b, op, 0), arg(&b, op, 1)));
    finish(&b, NODE1(&b, PERMUTE, "[][]i64", 1, op, param(&b, 0), param(&b, 1), param(&b, 2)));
    EXPECT(&b, "[[0, 0], [4, 6]]", "i64 [[0, 0], [0, 0]]", "i64 [1, 1]", "i64 [[1, 2], [3, 4]]");
    done(&b);
    b = START("[](i64, i64)", "[]i64", "[](i64, i64)");
    op = BODY(&b, "(i64, i64)", "(i64, i64)");
    loom_node_id s =
        PRIM(&b, ADD, "i64", NODE(&b, PROJECT, "i64", 0, arg(&b, op, 0)), NODE(&b, PROJECT, "i64", 0, arg(&b, op, 1)));
    loom_node_id m =
        PRIM(&b, MAX, "i64", NODE(&b, PROJECT, "i64", 1, arg(&b, op, 0)), NODE(&b, PROJECT, "i64", 1, arg(&b, op, 1)));
    loom_build_close(b.p, op, NODE(&b, TUPLE, "(i64, i64)", 0, s, m));
    finish(&b, NODE1(&b, PERMUTE, "[](i64, i64)", 1, op, param(&b, 0), param(&b, 1), param(&b, 2)));
    EXPECT(&b, "[4, 0]; [3, 0]", "i64 [0, 0]; i64 [0, 0]", "i64 [0, 0]", "i64 [1, 3]; i64 [3, 2]");
    done(&b);
}

LOOM_TEST(interp_permute, dest_is_not_changed) {
    built b = START("[]i64", "[]i64", "[]i64");
    loom_node_id h = histogram(&b, LOOM_PRIM_ADD, "[]i64", 1);
    finish(&b, NODE(&b, TUPLE, "([]i64, []i64)", 0, param(&b, 0), h));
    EXPECT(&b, "[1, 2]; [6, 2]", "i64 [1, 2]", "i64 [0]", "i64 [5]");
    done(&b);
}

LOOM_TEST(interp_permute, scatter_last_writer_wins) {
    built b = START("[]i64", "[]i64", "[]i64");
    finish(&b, NODE(&b, SCATTER, "[]i64", 1, param(&b, 0), param(&b, 1), param(&b, 2)));
    EXPECT(&b, "[3, 0, 2]", "i64 [0, 0, 0]", "i64 [0, 2, 0, 7, -1]", "i64 [1, 2, 3, 4, 5]");
    done(&b);
    b = START("[][]i64", "[]i64", "[][]i64");
    finish(&b, NODE(&b, SCATTER, "[][]i64", 1, param(&b, 0), param(&b, 1), param(&b, 2)));
    EXPECT(&b, "[[0], [1, 2]]", "i64 [[0], [0]]", "i64 [1]", "i64 [[1, 2]]");
    done(&b);
}

LOOM_TEST(interp_permute, gather) {
    built b = START("[]i64", "[][]i64");
    finish(&b, NODE(&b, GATHER, "[][]i64", 0, param(&b, 0), param(&b, 1)));
    EXPECT(&b, "[[30, 10], [20, 20]]", "i64 [10, 20, 30]", "i64 [[2, 0], [1, 1]]");
    EXPECT(&b, "[[30], [], [20, 20]]", "i64 [10, 20, 30]", "i64 [[2], [], [1, 1]]");
    EXPECT(&b, "[[], []]", "i64 [10]", "i64 [[], []]");
    EXPECT_ERROR(&b, "index 3 is outside an array of length 3", "i64 [10, 20, 30]", "i64 [[2], [], [1, 3]]");
    done(&b);
    b = START("[][]i64", "[]i64");
    finish(&b, NODE(&b, GATHER, "[][]i64", 0, param(&b, 0), param(&b, 1)));
    EXPECT(&b, "[[2, 3], [1], [1]]", "i64 [[1], [2, 3]]", "i64 [1, 0, 0]");
    done(&b);
}

/* Padding: a 2x2 kernel into 3x3, the rest stays. */
LOOM_TEST(interp_permute, backpermute_pads) {
    built b = START("[][]i64", "[][]i64");
    loom_body_id body = BODY(&b, "i64", "i64");
    loom_node_id i = PRIM(&b, SUB, "i64", arg(&b, body, 0), i64(&b, 1));
    loom_build_close(b.p, body, NODE(&b, TUPLE, "(i64, i64)", 0, i, arg(&b, body, 1)));
    finish(&b, NODE1(&b, BACKPERMUTE, "[][]i64", 2, body, param(&b, 0), param(&b, 1)));
    EXPECT(&b, "[[9, 9, 9], [1, 2, 9], [3, 4, 9]]", "i64 [[9, 9, 9], [9, 9, 9], [9, 9, 9]]", "i64 [[1, 2], [3, 4]]");
    EXPECT(&b, "[[9], [1, 2], [3, 4, 9]]", "i64 [[9], [9, 9], [9, 9, 9]]", "i64 [[1, 2], [3, 4]]");
    EXPECT(&b, "[[9], [1, 9]]", "i64 [[9], [9, 9]]", "i64 [[1], [3, 4]]");
    EXPECT(&b, "[]", "i64^2 []", "i64 [[1], [3, 4]]");
    done(&b);
}

LOOM_TEST(interp_permute, backpermute_between_ranks) {
    built b = START("[]i64", "[][]i64");
    loom_body_id body = BODY(&b, "i64");
    loom_node_id row = PRIM(&b, QUOT, "i64", arg(&b, body, 0), i64(&b, 2)),
                 column = PRIM(&b, REM, "i64", arg(&b, body, 0), i64(&b, 2));
    loom_build_close(b.p, body, NODE(&b, TUPLE, "(i64, i64)", 0, row, column));
    finish(&b, NODE1(&b, BACKPERMUTE, "[]i64", 1, body, param(&b, 0), param(&b, 1)));
    EXPECT(&b, "[1, 2, 3, 4, 9]", "i64 [9, 9, 9, 9, 9]", "i64 [[1, 2], [3, 4]]");
    done(&b);
    b = START("[][]i64", "[][]i64");
    body = BODY(&b, "i64");
    loom_build_close(b.p, body, PRIM(&b, SUB, "i64", i64(&b, 2), arg(&b, body, 0)));
    finish(&b, NODE1(&b, BACKPERMUTE, "[][]i64", 1, body, param(&b, 0), param(&b, 1)));
    EXPECT(&b, "[[0, 0], [3], [1, 2]]", "i64 [[0, 0], [0, 0], [0, 0]]", "i64 [[1, 2], [3]]");
    done(&b);
}

LOOM_TEST(interp_values, arguments_are_checked) {
    built b = START("[](i64, f64)");
    finish(&b, NODE(&b, LENGTH, "i64", 0, param(&b, 0)));
    EXPECT(&b, "2", "i64 [1, 2]; f64 [1, 2]");
    EXPECT_ERROR(&b, "differ in length", "i64 [1, 2]; f64 [1, 2, 3]");
    EXPECT_ERROR(&b, "more are expected", "i64 [1, 2]");
    EXPECT_ERROR(&b, "expected f64 under 1", "i64 [1, 2]; i64 [1, 2]");
    EXPECT_ERROR(&b, "expected i64 under 1", "i64 [[1, 2]]; f64 [1, 2]");
    EXPECT_ERROR(&b, "has 3 columns, expected 2", "i64 [1, 2]; f64 [1, 2]; f64 [1, 2]");
    done(&b);
}

LOOM_TEST(interp_values, irregular_values_come_back_as_they_were) {
    built b = START("[][][]i64");
    finish(&b, param(&b, 0));
    static const char *const values[] = {"[[[1], [2, 3]], [], [[4, 5, 6]]]", "[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]",
                                         "[[[], []], [[]]]", "[[], [], []]"};
    for (int i = 0; i < 4; i++) {
        char text[100];
        snprintf(text, sizeof text, "i64^3 %s", values[i]);
        EXPECT(&b, values[i], text);
    }
    done(&b);
}

/* As deep as the checker allows: the evaluation recurses once a body. */
LOOM_TEST(interp_control, deepest_nesting) {
    built b = START("i64");
    loom_body_id bodies[LOOM_MAX_BODY_NESTING];
    for (int k = 1; k < LOOM_MAX_BODY_NESTING; k++) bodies[k] = BODY(&b, "i64", "i64");
    loom_node_id inner = arg(&b, bodies[LOOM_MAX_BODY_NESTING - 1], 1);
    for (int k = LOOM_MAX_BODY_NESTING - 1; k > 0; k--) {
        loom_build_close(b.p, bodies[k], PRIM(&b, ADD, "i64", inner, i64(&b, 1)));
        loom_node_id state = k > 1 ? arg(&b, bodies[k - 1], 1) : param(&b, 0);
        inner = NODE1(&b, LOOP_FOR, "i64", 0, bodies[k], i64(&b, 1), state);
    }
    finish(&b, inner);
    EXPECT(&b, "256", "i64 1");
    done(&b);
}

/* Places in ascending order: stable, both zeros equal, NaN last; tuples by the first field that differs. */
LOOM_TEST(interp_sort, orders_every_type) {
    built b = START("[]f64");
    finish(&b, NODE(&b, SORT, "[]i64", 0, param(&b, 0)));
    EXPECT(&b, "[5, 2, 3, 6, 0, 4, 1, 7]", "f64 [3, nan, -1, 0, inf, -inf, -0, nan]");
    EXPECT(&b, "[1, 0]", "f64 [0, -0.5]");
    EXPECT(&b, "[]", "f64 []");
    EXPECT(&b, "[0]", "f64 [nan]");
    done(&b);
    b = START("[]f32");
    finish(&b, NODE(&b, SORT, "[]i64", 0, param(&b, 0)));
    EXPECT(&b, "[2, 3, 0, 1]", "f32 [3, nan, -1, 0.5]");
    done(&b);
    b = START("[]i8");
    finish(&b, NODE(&b, SORT, "[]i64", 0, param(&b, 0)));
    EXPECT(&b, "[1, 3, 2, 4, 0]", "i8 [127, -128, 0, -1, 0]");
    done(&b);
    b = START("[]u64");
    finish(&b, NODE(&b, SORT, "[]i64", 0, param(&b, 0)));
    EXPECT(&b, "[1, 2, 0]", "u64 [9223372036854775808, 0, 1]");
    done(&b);
    b = START("[]bool");
    finish(&b, NODE(&b, SORT, "[]i64", 0, param(&b, 0)));
    EXPECT(&b, "[1, 3, 0, 2]", "bool [true, false, true, false]");
    done(&b);
    b = START("[](bool, (i32, f32))");
    finish(&b, NODE(&b, SORT, "[]i64", 0, param(&b, 0)));
    EXPECT(&b, "[3, 1, 2, 0, 4]", "bool [true, false, false, false, true]; i32 [1, 2, 2, 1, 1]; f32 [0, 1, 1, 9, 0]");
    done(&b);
}

/* Lengths around powers of two, against the definition. */
LOOM_TEST(interp_sort, many) {
    built b = START("[]i64");
    loom_node_id order = NODE(&b, SORT, "[]i64", 0, param(&b, 0));
    finish(&b, NODE(&b, TUPLE, "([]i64, []i64)", 0, order, NODE(&b, GATHER, "[]i64", 0, param(&b, 0), order)));
    for (int64_t n = 0; n < 70; n++) {
        loom_value *keys;
        LOOM_OK(loom_value_create(1, &keys));
        LOOM_OK(loom_leaf_init(&keys->leaves[0], "", LOOM_I64, 1, &n, 1 << 20));
        int64_t *at = keys->leaves[0].data;
        for (int64_t i = 0; i < n; i++) at[i] = (i * 37 + n) % 11;
        loom_interp_options options = {0};
        loom_value *result = NULL;
        LOOM_OK(loom_interp_call(b.p, 0, &keys, &options, &result, NULL));
        const int64_t *places = result->leaves[0].data, *sorted = result->leaves[1].data;
        LOOM_CHECK_EQ_INT(result->leaves[0].n_data, n);
        for (int64_t i = 1; i < n; i++) {
            LOOM_CHECK(sorted[i - 1] < sorted[i] || (sorted[i - 1] == sorted[i] && places[i - 1] < places[i]));
        }
        loom_value_unref(result);
        loom_value_unref(keys);
    }
    done(&b);
}

LOOM_TEST(interp_sort, is_counted) {
    built b = START("[](i64, bool)");
    finish(&b, NODE(&b, SORT, "[]i64", 0, param(&b, 0)));
    loom_interp_options options = {0};
    loom_interp_counters c;
    expect_with(&b, "[3, 1, 2, 0, 4]", &options, 1,
                (const char *[]){"i64 [2, 1, 1, 0, 3]; bool [true, false, true, true, true]"}, &c);
    LOOM_CHECK_EQ_INT(c.scalar_evaluations, 5 * 2 * 3);
    LOOM_CHECK_EQ_INT(c.elements_moved, 5);
    LOOM_CHECK_EQ_INT(c.steps, 1);
    done(&b);
}

/* What sorting takes is asked for before it is done. */
LOOM_TEST(interp_sort, limits) {
    built b = START("[]i64");
    finish(&b, NODE(&b, SORT, "[]i64", 0, param(&b, 0)));
    loom_value *keys, *result = NULL;
    LOOM_OK(loom_value_create(1, &keys));
    LOOM_OK(loom_leaf_init(&keys->leaves[0], "", LOOM_I64, 1, &(int64_t){100000}, 1 << 20));
    loom_interp_options work = {.work_limit = 1000000}, memory = {.memory_limit = 1 << 20};
    LOOM_FAILS(loom_interp_call(b.p, 0, &keys, &work, &result, NULL), LOOM_E_LIMIT);
    LOOM_FAILS(loom_interp_call(b.p, 0, &keys, &memory, &result, NULL), LOOM_E_MEMORY);
    loom_value_unref(keys);
    done(&b);
}
