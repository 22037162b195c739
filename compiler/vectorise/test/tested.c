/* Code for rows that a test finds to be of one length. That it gives what the interpreter gives, or fails, is looked at
 * for each program of all suites (weft.c); here, where there is such code. */
#include "weft.h"

#define TESTED(id, how, text_, ...)                                                                                    \
    WEFT_TEST(tested, id, .text = text_, .arguments = {__VA_ARGS__}, .tested = how, .tolerance = 1e-9)

TESTED(column, WEFT_TESTED, "entry main (s: seq ([]f64)) : []f64 = from_seq (map_seq (\\r -> sum r) s)",
       "f64 3x[2 2 2]")
TESTED(column_of_several, WEFT_TESTED_IN_VAIN,
       "entry main (s: seq ([]f64)) : []f64 = from_seq (map_seq (\\r -> sum r) s)", "f64 3x[2 2 1]")
TESTED(column_without_rows, WEFT_TESTED, "entry main (s: seq ([]f64)) : []f64 = from_seq (map_seq (\\r -> sum r) s)",
       "f64 3x[0 0 0]")
TESTED(column_of_pairs, WEFT_TESTED,
       "entry main (s: seq ([](f64, i64))) : []f64 = from_seq (map_seq (\\r -> sum (map (\\(x, k) -> x * f64 k) r)) s)",
       "f64 3x[2 2 2]; i64 3x[2 2 2]")
TESTED(column_of_columns, WEFT_TESTED,
       "entry main (s: seq ([][]f64)) : [][]f64 = from_seq (map_seq (map (\\r -> sum r)) s)", "f64 2x[2 2]x[1 1 1 1]")
TESTED(regular_column, WEFT_NOT_TESTED, "entry main (s: seq ([]f64)) : []f64 = from_seq (map_seq (\\r -> sum r) s)",
       "f64 3x2")
/* An argument has one form: where it is irregular, its rows differ. */
TESTED(argument, WEFT_NOT_TESTED, "entry main (a: [][]f64) : []f64 = map (\\r -> sum r) a", "f64 3x[2 0 2]")

TESTED(counts, WEFT_TESTED, "entry main (n: []i64) : []i64 = map (\\k -> sum (map (* k) (iota k))) n", "i64 3 = 4 4 4")
TESTED(counts_unlike, WEFT_TESTED_IN_VAIN, "entry main (n: []i64) : []i64 = map (\\k -> sum (iota k)) n",
       "i64 3 = 4 4 5")
TESTED(no_counts, WEFT_TESTED, "entry main (n: []i64) : []i64 = map (\\k -> sum (iota k)) n", "i64 0")
TESTED(counts_of_pairs, WEFT_TESTED,
       "entry main (a: []i64) (b: []i64) : [][]i64 = map (\\x -> map (\\y -> sum (iota (x * y))) b) a", "i64 2 = 2 2",
       "i64 3 = 3 3 3")
TESTED(rows_in_rows, WEFT_TESTED,
       "entry main (n: []i64) : [][][]i64 = map (\\i -> generate i (\\j -> generate (i + 1) (\\k -> i * j + k))) n",
       "i64 3 = 2 2 2")
TESTED(rows_in_unlike_rows, WEFT_TESTED_IN_VAIN,
       "entry main (n: []i64) : [][][]i64 = map (\\i -> generate i (\\j -> generate (j + 1) (\\k -> i * j + k))) n",
       "i64 3 = 2 2 2")
TESTED(slices, WEFT_TESTED,
       "entry main (xs: []f64) (from: []i64) (n: []i64) : []f64 = map2 (\\i k -> sum xs[i:i + k]) from n", "f64 9",
       "i64 3 = 0 4 2", "i64 3 = 3 3 3")
TESTED(counts_and_rows, WEFT_TESTED,
       "entry main (s: seq ([]f64)) : []f64 = from_seq (map_seq (\\r -> sum (map f64 (iota (i64 r[0]))) + sum r) s)",
       "f64 2x[2 2] = 3 1 3 2")
TESTED(negative, WEFT_MAYBE_TESTED, "entry main (n: []i64) : [][]i64 = map (\\k -> iota (k - k)) n", "i64 2 = 1 1")
/* What is left by a filter, or by a turn of a loop, is known too late. */
TESTED(filtered, WEFT_NOT_TESTED,
       "entry main (n: i64) : []i64 = map (\\k -> sum (filter (\\x -> x % 2 == 0) (map (+ k) (iota n)))) (iota n)",
       "i64 = 6")
/* A partial result has one size for all chunks. */
TESTED(folded_columns, WEFT_MAYBE_TESTED,
       "entry main (s: seq ([]f64)) : f64 = fold_seq (+) 0.0 (map_seq (\\r -> sum r) s)", "f64 3x[2 2 2]")
