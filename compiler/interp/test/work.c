/* Counters of work: what the program says counts, however it is evaluated and whatever forms values have. */
#include "helper.h"
#include "loom_test.h"

static loom_interp_counters counted(const built *b, const char *expected, const char *argument) {
    loom_interp_counters c;
    expect_with(b, expected, NULL, 1, (const char *[]){argument}, &c);
    return c;
}

/* map (\x -> replicate x 7): rows of one length or not. */
LOOM_TEST(interp_work, rows_count_the_same_in_any_form) {
    built b = START("[]i64");
    loom_body_id body = BODY(&b, "i64");
    loom_build_close(b.p, body, NODE(&b, REPLICATE, "[]i64", 0, arg(&b, body, 0), i64(&b, 7)));
    finish(&b, NODE1(&b, MAP, "[][]i64", 0, body, param(&b, 0)));
    loom_interp_counters alike = counted(&b, "[[7, 7], [7, 7], [7, 7]]", "i64 [2, 2, 2]");
    loom_interp_counters unlike = counted(&b, "[[7], [], [7, 7, 7, 7, 7]]", "i64 [1, 0, 5]");
    LOOM_CHECK_EQ_INT(alike.elements_moved, 6 + 6);
    LOOM_CHECK_EQ_INT(unlike.elements_moved, 6 + 6);
    LOOM_CHECK_EQ_INT(alike.descriptors, 3);
    LOOM_CHECK_EQ_INT(unlike.descriptors, 3);
    done(&b);
}

/* Lists of lists: entries at both levels, those of lists without elements too. */
LOOM_TEST(interp_work, lists_at_all_levels) {
    built b = START("[][][]i64");
    finish(&b, NODE(&b, REVERSE, "[][][]i64", 0, param(&b, 0)));
    loom_interp_counters alike = counted(&b, "[[[3], [4]], [[1], [2]]]", "i64 [[[1], [2]], [[3], [4]]]");
    loom_interp_counters unlike = counted(&b, "[[[1], [2, 3], []], [[4]]]", "i64 [[[4]], [[1], [2, 3], []]]");
    LOOM_CHECK_EQ_INT(alike.elements_moved, 4);
    LOOM_CHECK_EQ_INT(unlike.elements_moved, 4);
    LOOM_CHECK_EQ_INT(alike.descriptors, 2 + 4);
    LOOM_CHECK_EQ_INT(unlike.descriptors, 2 + 4);
    done(&b);
}

/* What is only looked at in another way here moves all the same. */
LOOM_TEST(interp_work, views_count_as_moves) {
    built b = START("[][]i64");
    finish(&b, NODE(&b, SLICE, "[][]i64", 1, param(&b, 0), i64(&b, 1)));
    loom_interp_counters alike = counted(&b, "[[3, 4], [5, 6]]", "i64 [[1, 2], [3, 4], [5, 6]]");
    loom_interp_counters unlike = counted(&b, "[[3], [5, 6, 7]]", "i64 [[1, 2], [3], [5, 6, 7]]");
    LOOM_CHECK_EQ_INT(alike.elements_moved, 4);
    LOOM_CHECK_EQ_INT(unlike.elements_moved, 4);
    LOOM_CHECK_EQ_INT(alike.descriptors, 2);
    LOOM_CHECK_EQ_INT(unlike.descriptors, 2);
    done(&b);
    b = START("[][]i64");
    finish(&b, NODE(&b, FLATTEN, "[]i64", 0, param(&b, 0)));
    LOOM_CHECK_EQ_INT(counted(&b, "[1, 2, 3, 4]", "i64 [[1, 2], [3, 4]]").elements_moved, 4);
    LOOM_CHECK_EQ_INT(counted(&b, "[1, 2, 3, 4]", "i64 [[1], [2, 3, 4]]").elements_moved, 4);
    done(&b);
    b = START("[][][]i64");
    finish(&b, NODE(&b, TRANSPOSE, "[][][]i64", 0, param(&b, 0)));
    alike = counted(&b, "[[[1], [3]], [[2], [4]]]", "i64 [[[1], [2]], [[3], [4]]]");
    unlike = counted(&b, "[[[1], [3, 4]], [[2], []]]", "i64 [[[1], [2]], [[3, 4], []]]");
    LOOM_CHECK_EQ_INT(alike.elements_moved, 4);
    LOOM_CHECK_EQ_INT(unlike.elements_moved, 4);
    LOOM_CHECK_EQ_INT(alike.descriptors, 2 + 4);
    LOOM_CHECK_EQ_INT(unlike.descriptors, 2 + 4);
    done(&b);
}

/* Of arrays that are made and dropped one after the other the largest is what it takes. */
LOOM_TEST(interp_work, peak_is_of_what_is_alive) {
    built b = START("i64");
    loom_body_id turn = BODY(&b, "i64", "i64");
    loom_node_id xs = NODE(&b, REPLICATE, "[]i64", 0, i64(&b, 1000), arg(&b, turn, 1));
    loom_build_close(b.p, turn, NODE(&b, LENGTH, "i64", 0, xs));
    finish(&b, NODE1(&b, LOOP_FOR, "i64", 0, turn, param(&b, 0), i64(&b, 0)));
    loom_interp_counters c = counted(&b, "1000", "i64 50");
    LOOM_CHECK_EQ_INT(c.elements_moved, 50 * 1000);
    LOOM_CHECK(c.peak_bytes >= 8000 && c.peak_bytes < 9000);
    done(&b);
}
