/* Sequences as lists, and the laws. */
#include "helper.h"
#include "loom_test.h"

LOOM_TEST(interp_seq, dot_product) {
    built b = START("seq f64", "seq f64");
    loom_node_id products =
        NODE1(&b, SEQ_MAP, "seq f64", 0, operator_body(&b, LOOM_PRIM_MUL, "f64"), param(&b, 0), param(&b, 1));
    finish(&b, NODE1(&b, SEQ_FOLD, "f64", 0, operator_body(&b, LOOM_PRIM_ADD, "f64"), f64(&b, 0), products));
    EXPECT(&b, "32", "f64 [1, 2, 3]", "f64 [4, 5, 6]");
    EXPECT(&b, "0", "f64^1 []", "f64^1 []");
    done(&b);
}

LOOM_TEST(interp_seq, filter_enumerate_scan_from) {
    built b = START("[]i64");
    loom_node_id s = NODE(&b, SEQ_ROWS, "seq i64", 0, param(&b, 0));
    loom_body_id odd = BODY(&b, "i64");
    loom_build_close(b.p, odd,
                     PRIM(&b, EQ, "bool", PRIM(&b, FLOORMOD, "i64", arg(&b, odd, 0), i64(&b, 2)), i64(&b, 1)));
    loom_node_id kept = NODE1(&b, SEQ_FILTER, "seq i64", 0, odd, s);
    loom_node_id numbered = NODE(&b, SEQ_ENUMERATE, "seq (i64, i64)", 0, kept);
    loom_node_id sums = NODE1(&b, SEQ_SCAN, "seq i64", 0, operator_body(&b, LOOM_PRIM_ADD, "i64"), i64(&b, 0), kept);
    loom_node_id a = NODE(&b, SEQ_FROM, "[](i64, i64)", 0, numbered), c = NODE(&b, SEQ_FROM, "[]i64", 0, sums);
    finish(&b, NODE(&b, TUPLE, "([](i64, i64), []i64)", 0, a, c));
    EXPECT(&b, "[0, 1, 2]; [1, 3, 5]; [1, 4, 9]", "i64 [1, 2, 3, 4, 5]");
    EXPECT(&b, "[]; []; []", "i64 [2]");
    done(&b);
}

LOOM_TEST(interp_seq, permute) {
    built b = START("[]i64", "seq []i64", "seq []i64");
    loom_body_id op = operator_body(&b, LOOM_PRIM_ADD, "i64");
    finish(&b, NODE1(&b, SEQ_PERMUTE, "[]i64", 1, op, param(&b, 0), param(&b, 1), param(&b, 2)));
    EXPECT(&b, "[4, 10]", "i64 [0, 0]", "i64 [[0, 1], [1, 1, 0]]", "i64 [[1, 2], [3, 5, 3]]");
    done(&b);
    b = START("[]i64", "seq i64", "seq i64");
    op = operator_body(&b, LOOM_PRIM_MAX, "i64");
    finish(&b, NODE1(&b, SEQ_PERMUTE, "[]i64", 1, op, param(&b, 0), param(&b, 1), param(&b, 2)));
    EXPECT(&b, "[1, 7]", "i64 [0, 0]", "i64 [0, 1, 1]", "i64 [1, 7, 3]");
    done(&b);
}

/* reduce_seq 0 (\acc xs -> acc + sum xs) (+) */
static built summing(loom_prim merge) {
    built b = START("seq i64");
    loom_body_id step = BODY(&b, "i64", "[]i64");
    loom_node_id sum = NODE1(&b, FOLD, "i64", 0, operator_body(&b, LOOM_PRIM_ADD, "i64"), i64(&b, 0), arg(&b, step, 1));
    loom_build_close(b.p, step, PRIM(&b, ADD, "i64", arg(&b, step, 0), sum));
    loom_body_id merging = operator_body(&b, merge, "i64");
    finish(&b, NODE2(&b, SEQ_REDUCE, "i64", 0, step, merging, i64(&b, 0), param(&b, 0)));
    return b;
}

LOOM_TEST(interp_seq, reduce_and_its_laws) {
    built b = summing(LOOM_PRIM_ADD);
    EXPECT(&b, "21", "i64 [1, 2, 3, 4, 5, 6]");
    for (uint64_t seed = 1; seed < 50; seed++) {
        loom_interp_options options = {.random_split_seed = seed};
        expect_with(&b, "21", &options, 1, (const char *[]){"i64 [1, 2, 3, 4, 5, 6]"}, NULL);
    }
    done(&b);
    b = summing(LOOM_PRIM_MAX); /* not a merge of sums */
    EXPECT(&b, "21", "i64 [1, 2, 3, 4, 5, 6]");
    int broken = 0;
    for (uint64_t seed = 1; seed < 50; seed++) {
        loom_interp_options options = {.random_split_seed = seed * 0x9E3779B97F4A7C15u};
        loom_value *result = NULL, *xs = value_from("i64 [1, 2, 3, 4, 5, 6]");
        loom_status *status = loom_interp_call(b.p, 0, &xs, &options, &result, NULL);
        broken += status != NULL;
        if (status) LOOM_CHECK_HAS(loom_status_message(status), "depends on how the stream is cut");
        loom_status_free(status);
        loom_value_unref(result);
        loom_value_unref(xs);
    }
    LOOM_CHECK(broken > 20);
    done(&b);
}

LOOM_TEST(interp_seq, fold_of_a_non_associative_operator_is_found) {
    built b = START("seq i64");
    finish(&b, NODE1(&b, SEQ_FOLD, "i64", 0, operator_body(&b, LOOM_PRIM_SUB, "i64"), i64(&b, 0), param(&b, 0)));
    EXPECT(&b, "-15", "i64 [1, 2, 3, 4, 5]");
    int broken = 0;
    for (uint64_t seed = 1; seed < 20; seed++) {
        loom_interp_options options = {.random_split_seed = seed * 0x9E3779B97F4A7C15u};
        loom_value *result = NULL, *xs = value_from("i64 [1, 2, 3, 4, 5]");
        loom_status *status = loom_interp_call(b.p, 0, &xs, &options, &result, NULL);
        broken += status != NULL;
        loom_status_free(status);
        loom_value_unref(result);
        loom_value_unref(xs);
    }
    LOOM_CHECK(broken > 10);
    done(&b);
}

/* chain_seq init (\x y -> x - 0.5 * y), of no elements, some, and more than folds of floats take one after the other.
 */
LOOM_TEST(interp_seq, chain_keeps_the_order) {
    built b = START("f64", "seq f64");
    loom_body_id step = BODY(&b, "f64", "f64");
    loom_node_id half = PRIM(&b, MUL, "f64", f64(&b, 0.5), arg(&b, step, 0));
    loom_build_close(b.p, step, PRIM(&b, SUB, "f64", half, arg(&b, step, 1)));
    finish(&b, NODE1(&b, SEQ_CHAIN, "f64", 0, step, param(&b, 0), param(&b, 1)));
    EXPECT(&b, "3", "f64 3", "f64^1 []");
    EXPECT(&b, "-2.5", "f64 4", "f64 [1, 3]");
    for (uint64_t seed = 1; seed < 20; seed++) { /* no law says that the stream may be cut */
        loom_interp_options options = {.random_split_seed = seed * 0x9E3779B97F4A7C15u};
        expect_with(&b, "-2.296875", &options, 2, (const char *[]){"f64 1", "f64 [1, 1, 2, 3, 1.9375, 0.25]"}, NULL);
    }
    loom_value *arguments[2] = {value_from("f64 0"), NULL}, *result = NULL;
    LOOM_OK(loom_value_create(1, &arguments[1]));
    LOOM_OK(loom_leaf_init(&arguments[1]->leaves[0], "", LOOM_F64, 1, (const int64_t[]){2000}, 1 << 20));
    double state = 0;
    for (int64_t i = 0; i < 2000; i++) {
        double x = (double)(i * 7 % 11);
        ((double *)arguments[1]->leaves[0].data)[i] = x;
        state = 0.5 * state - x;
    }
    LOOM_OK(loom_interp_call(b.p, 0, arguments, NULL, &result, NULL));
    LOOM_CHECK(*(const double *)result->leaves[0].data == state);
    loom_value_unref(result);
    loom_value_unref(arguments[0]);
    loom_value_unref(arguments[1]);
    done(&b);
}

/* A turn waits for the one before: steps add up, as those of a loop. */
LOOM_TEST(interp_seq, chain_counts_steps_one_after_the_other) {
    built b = START("seq i64");
    loom_body_id step = BODY(&b, "i64", "i64");
    loom_node_id numbers = NODE(&b, IOTA, "[]i64", 0, arg(&b, step, 1));
    loom_build_close(b.p, step, PRIM(&b, ADD, "i64", arg(&b, step, 0), NODE(&b, LENGTH, "i64", 0, numbers)));
    finish(&b, NODE1(&b, SEQ_CHAIN, "i64", 0, step, i64(&b, 0), param(&b, 0)));
    loom_interp_counters few, many;
    expect_with(&b, "2", NULL, 1, (const char *[]){"i64 [1, 1]"}, &few);
    expect_with(&b, "8", NULL, 1, (const char *[]){"i64 [1, 1, 1, 1, 1, 1, 1, 1]"}, &many);
    LOOM_CHECK_EQ_INT(many.steps - few.steps, 6);
    done(&b);
}

/* Sums per group of values that may be in several; keys repeat and leave the range. */
LOOM_TEST(interp_seq, groups) {
    built b = START("i64", "seq ([]i64, i64)");
    loom_body_id keys = BODY(&b, "([]i64, i64)");
    loom_build_close(b.p, keys, NODE(&b, PROJECT, "[]i64", 0, arg(&b, keys, 0)));
    loom_body_id group = BODY(&b, "i64", "seq ([]i64, i64)"), second = BODY(&b, "([]i64, i64)");
    loom_build_close(b.p, second, NODE(&b, PROJECT, "i64", 1, arg(&b, second, 0)));
    loom_node_id values = NODE1(&b, SEQ_MAP, "seq i64", 0, second, arg(&b, group, 1));
    loom_node_id listed = NODE(&b, SEQ_FROM, "[]i64", 0, values);
    loom_build_close(b.p, group, NODE(&b, TUPLE, "(i64, []i64)", 0, arg(&b, group, 0), listed));
    finish(&b, NODE2(&b, SEQ_GROUP, "seq (i64, []i64)", 0, keys, group, param(&b, 0), param(&b, 1)));
    EXPECT(&b, "[0, 1, 2]; [[10, 30], [10], []]", "i64 3", "i64 [[0, 1], [], [0, 0, 5, -1]]; i64 [10, 20, 30]");
    EXPECT(&b, "[]; []", "i64 0", "i64 [[0]]; i64 [1]");
    done(&b);
}

LOOM_TEST(interp_seq, steps_and_work_are_counted) {
    built b = START("[][]i64");
    loom_body_id outer = BODY(&b, "[]i64");
    loom_node_id sum =
        NODE1(&b, FOLD, "i64", 0, operator_body(&b, LOOM_PRIM_ADD, "i64"), i64(&b, 0), arg(&b, outer, 0));
    loom_build_close(b.p, outer, sum);
    finish(&b, NODE1(&b, MAP, "[]i64", 0, outer, param(&b, 0)));
    loom_interp_counters few, many;
    expect_with(&b, "[3, 7]", NULL, 1, (const char *[]){"i64 [[1, 2], [3, 4]]"}, &few);
    expect_with(&b, "[3, 7, 0, 5]", NULL, 1, (const char *[]){"i64 [[1, 2], [3, 4], [], [5]]"}, &many);
    LOOM_CHECK_EQ_INT(few.scalar_evaluations, 4);
    LOOM_CHECK_EQ_INT(many.scalar_evaluations, 5);
    LOOM_CHECK_EQ_INT(few.steps, 2); /* one for the map, one for all the folds together */
    LOOM_CHECK_EQ_INT(many.steps, 2);
    LOOM_CHECK_EQ_INT(few.elements_moved, 2);
    done(&b);
}
