/* Rows in rows, and operators on rows that differ in length, as lifted IR against the interpreter. */
#include "weft.h"

#define WEFT_SUITE rows

/* flatten of rows in rows. */
SAME(flattened_none, "entry main (a: [][][]f64) : [][]f64 = flatten a", "f64 0x[]x[]")
SAME(flattened_in_map, "entry main (a: [][][][]f64) : [][][]f64 = map flatten a", "f64 2x[2 1]x[1 0 3]x[2 0 1 3]")
SAME(flattened_deeper, "entry main (a: [][][][]f64) : [][][]f64 = flatten a", "f64 2x[2 1]x[1 0 3]x[2 0 1 3]")
SAME(flattened_twice, "entry main (a: [][][]f64) : []f64 = flatten (flatten a)", "f64 3x[2 0 3]x[1 4 0 2 2]")
SAME(flattened_around_regular, "entry main (a: [][][][]f64) : [][][]f64 = flatten a", "f64 2x[2 1]x2x[1 0 3 2 2 1]")
SAME(flattened_with_rows,
     "entry main (a: [][](f64, []f64)) : ([]f64, [][]f64) = let b = flatten a in (map (.0) b, map (.1) b)",
     "f64 3x[2 0 3]; f64 3x[2 0 3]x[1 4 0 2 2]")
SAME(flattened_made, "entry main (n: []i64) : [][]i64 = flatten (map (\\k -> generate k (\\i -> iota (k + i))) n)",
     "i64 4 = 2 0 3 1")
SAME(flattened_outer_rows, "entry main (a: [][]f64) (k: []f64) : [][]f64 = flatten (map (\\x -> map (map (* x)) a) k)",
     "f64 3x[2 0 3]", "f64 2")
SAME(histogram_of_rows_of_rows,
     "entry main (is: [][][]i64) : []i64 = permute (+) (replicate 13 0) is (map (map (map (* 2))) is)",
     "i64 3x[2 0 3]x[1 4 0 2 2]")
SAME(histograms_of_rows_of_rows,
     "entry main (is: [][][]i64) : [][]i64 = map (\\r -> permute (+) (replicate 13 0) r (map (map (* 2)) r)) is",
     "i64 3x[2 0 3]x[1 4 0 2 2]")

/* Transforms. */
SAME(fft_of_rows, "entry main (a: [][]c128) : [][]c128 = map fft a", "c128 4x[2 0 5 1]")
SAME(fft_and_back, "entry main (a: [][]c128) : [][]c128 = map (\\r -> ifft (map (* 2) (fft r))) a", "c128 4x[3 3 0 8]")
SAME(fft_of_rows_of_rows, "entry main (a: [][][]c128) : [][][]c128 = map (map fft) a", "c128 3x[2 0 3]x[1 4 0 2 2]")
SAME(fft_of_unlike_matrices,
     "entry main (n: []i64) : [][][]c128 = map (\\k -> fft (generate (k, k + 1) (\\i j -> c128 (f64 (i * j + k))))) n",
     "i64 4 = 2 0 3 1")
SAME(fft_of_unlike_cubes,
     "entry main (n: []i64) : [][][][]c128 = map (\\k -> ifft (generate (2, k + 1, k) "
     "(\\i j l -> c128 (f64 (i * j - l * k))))) n",
     "i64 4 = 2 0 3 1")

/* Operators on rows. */
SAME(rows_added, "entry main (a: [][]f64) (z: []f64) : []f64 = fold (zip_with (+)) z a", "f64 3x[2 2 2]", "f64 2")
SAME(cut_rows_added,
     "entry main (a: [][]f64) (z: []f64) : []f64 = fold (zip_with (+)) z (map (\\r -> if length r > 2 then r[:2] else "
     "r) a)",
     "f64 3x[2 4 3]", "f64 2")
FAILS(unlike_rows_added, "entry main (a: [][]f64) (z: []f64) : []f64 = fold (zip_with (+)) z a", "f64 3x[2 1 2]",
      "f64 2")
SAME(no_rows_added, "entry main (a: [][]f64) (z: []f64) : []f64 = fold (zip_with (+)) z a", "f64 0x[]", "f64 2")
SAME(rows_added_in_map,
     "entry main (a: [][]f64) : [][]f64 = map (\\r -> fold (zip_with (+)) r (map (\\x -> map (* x) r) r)) a",
     "f64 4x[2 0 5 1]")
SAME(rows_scanned_in_map,
     "entry main (a: [][]f64) : [][][]f64 = map (\\r -> scan (zip_with (+)) r (map (\\x -> map (* x) r) r[1:])) a",
     "f64 4x[2 1 5 1]")
SAME(rows_summed_with_totals,
     "entry main (a: [][]f64) : []([][]f64, []f64) = map (\\r -> scan_total (zip_with (+)) r (map (\\x -> map (* x) r) "
     "r)) a",
     "f64 4x[2 0 5 1]")
SAME(matrices_added,
     "entry main (n: []i64) : [][][]i64 = map (\\k -> fold (zip_with (zip_with (+))) (generate k (\\i -> iota i)) "
     "(generate 3 (\\l -> generate k (\\i -> map (* l) (iota i))))) n",
     "i64 4 = 3 0 2 5")
FAILS(unlike_rows_in_map,
      "entry main (a: [][]f64) : [][]f64 = map (\\r -> fold (zip_with (+)) r (map (\\x -> map (* x) r[1:]) r)) a",
      "f64 4x[2 1 5 1]")

/* Operators that change the shape of rows, or choose between them. */
SAME(rows_joined, "entry main (a: [][]f64) : []f64 = fold (++) [] a", "f64 5x[2 0 5 1 3]")
SAME(rows_joined_none, "entry main (a: [][]f64) : []f64 = fold (++) [7] a", "f64 0x[]")
SAME(rows_joined_to_one, "entry main (a: [][]f64) : []f64 = fold (++) [7] a", "f64 1x[3]")
SAME(rows_joined_in_map, "entry main (a: [][][]f64) : [][]f64 = map (fold (++) []) a", "f64 4x[2 0 3 1]x[1 4 0 2 2 3]")
SAME(rows_joined_first, "entry main (a: [][][]f64) : [][]f64 = map (fold1 (++)) a", "f64 3x[2 1 3]x[1 4 0 2 2 3]")
FAILS(rows_joined_no_first, "entry main (a: [][][]f64) : [][]f64 = map (fold1 (++)) a", "f64 3x[2 0 3]x[1 4 0 2 2]")
SAME(longest_row, "entry main (a: [][]f64) : []f64 = fold (\\x y -> if length x > length y then x else y) [] a",
     "f64 5x[2 0 5 1 3]")
SAME(longest_rows,
     "entry main (a: [][][]f64) : [][]f64 = map (fold (\\x y -> if length x > length y then x else y) []) a",
     "f64 4x[2 0 3 1]x[1 4 0 2 2 3]")
SAME(operator_from_around,
     "entry main (a: [][][]f64) (k: []f64) : [][]f64 = map2 (\\r c -> fold (\\x y -> x ++ [c] ++ y) [] r) a k",
     "f64 4x[2 0 2 1]x[1 4 2 2 3]", "f64 4")
SAME(matrix_products,
     "entry main (a: [][][][]f64) : [][][]f64 = map (fold1 (\\x y -> map (\\r -> map (\\c -> sum (map2 (*) r c)) "
     "(transpose y)) x)) a",
     "f64 3x4x2x2")
SAME(rows_and_numbers,
     "entry main (a: [][]f64) : ([]f64, i64) = fold (\\(x, i) (y, j) -> if sum x > sum y then (x, i) else (y, j)) "
     "([], -1) (imap (\\i r -> (r, i)) a)",
     "f64 5x[2 0 5 1 3]")
/* What is chosen by (winner.c): keys of either, found beforehand; keys that may fail; both operands at once. */
#define BEST(test) "fold (\\x y -> if " test " then x else y) []"
#define GREATER_ROW                                                                                                    \
    "(\\x y -> let n = min (length x) (length y) let i = loop i = 0 while i < n && x[i] == y[i] do i + 1 "             \
    "in if i < n then (if x[i] > y[i] then x else y) else if length x >= length y then x else y)"
SAME(best_by_two_keys,
     "entry main (a: [][]f64) : []f64 = " BEST(
         "length x % 3 > length y % 3 || (length x % 3 == length y % 3 && sum x > sum y)") " a",
     "f64 7x[2 0 5 1 3 2 4]")
SAME(best_by_a_key_of_one, "entry main (a: [][]f64) : []f64 = " BEST("length x > 2") " a", "f64 5x[2 0 5 1 3]")
SAME(best_by_what_is_around,
     "entry main (a: [][][]f64) (k: []i64) : [][]f64 = map2 (\\r c -> " BEST("length x % c >= length y % c") " r) a k",
     "f64 4x[2 0 2 1]x[1 4 2 2 3]", "i64 4 = 2 3 4 1")
SAME(best_first, "entry main (a: [][][]f64) : [][]f64 = map (fold1 (\\x y -> if x[0] <= y[0] then x else y)) a",
     "f64 3x[2 1 3]x[1 4 3 2 2 3]")
SAME(best_of_one_has_no_key, "entry main (a: [][]f64) : []f64 = fold1 (\\x y -> if x[9] <= y[9] then x else y) a",
     "f64 1x[3]")
SAME(best_of_none_has_no_key, "entry main (a: [][]f64) : []f64 = " BEST("x[9] <= y[9]") " a", "f64 0x[]")
FAILS(best_of_two_has_no_key, "entry main (a: [][]f64) : []f64 = fold1 (\\x y -> if x[9] <= y[9] then x else y) a",
      "f64 2x[3 2]")
FAILS(best_without_a_key, "entry main (a: [][]f64) : []f64 = fold (\\x y -> if x[0] <= y[0] then x else y) [] a",
      "f64 2x[3 2]")
SAME(best_keeps_a_key_from_failing,
     "entry main (a: [][]f64) : []f64 = " BEST("length x > 0 && (length y == 0 || x[0] >= y[0])") " a",
     "f64 5x[2 0 5 0 3]")
SAME(best_by_a_key_that_the_neutral_one_lacks,
     "entry main (a: [][]f64) : []f64 = fold (\\x y -> if y[0] > 3 then y else x) [] a", "f64 5x[2 1 5 1 3]")
SAME(best_neutral, "entry main (a: [][]f64) : []f64 = fold (\\x y -> if length x > length y then x else y) [1, 2, 3] a",
     "f64 4x[2 0 3 1]")
SAME(best_of_regular, "entry main (a: [][]f64) : []f64 = fold1 (\\x y -> if sum x < sum y then x else y) a", "f64 6x4")
SAME(greatest_row, "entry main (a: [][]f64) : []f64 = fold " GREATER_ROW " [] a", "f64 5x[2 0 5 1 3]")
SAME(greatest_rows, "entry main (a: [][][]f64) : [][]f64 = map (fold " GREATER_ROW " []) a",
     "f64 4x[2 0 3 1]x[1 4 0 2 2 3]")
SAME(greatest_so_far, "entry main (a: [][][]f64) : [][][]f64 = map (scan " GREATER_ROW " []) a",
     "f64 4x[2 0 3 5]x[1 4 0 2 2 1 0 3 1 2]")
SAME(greatest_from_right, "entry main (a: [][]f64) : [][]f64 = scan_right " GREATER_ROW " [] a", "f64 5x[2 0 5 1 3]")
SAME(greatest_after_sorting,
     "entry main (a: [][]f64) : []f64 = " BEST("length x > 0 && (length y == 0 || (sort x)[0] >= (sort y)[0])") " a",
     "f64 5x[2 0 5 0 3]")
SAME(best_first_by_sum, "entry main (a: [][]f64) : []f64 = fold1 (\\x y -> if sum x >= sum y then x else y) a",
     "f64 5x[2 0 5 1 3]")
SAME(best_first_by_one_sum, "entry main (a: [][]f64) : []f64 = fold1 (\\x y -> if sum x >= 3 then x else y) a",
     "f64 5x[2 0 5 1 3]")
SAME(best_of_records,
     "entry main (a: [][]f64) : (i64, []f64, [][]f64) = let r = fold (\\x y -> if x.0 > y.0 || (x.0 == y.0 && length "
     "x.1 > length y.1) then x else y) (-1, [], []) (imap (\\i r -> (i % 2, r, [r, r])) a) in (r.0, r.1, r.2)",
     "f64 5x[2 0 5 1 3]")
SAME(best_is_looked_at,
     "entry main (a: [][]f64) : []f64 = fold (\\x y -> let z = if length x > length y then x else y in if length z > 3 "
     "then z else if sum z > 0 then z else y) [] a",
     "f64 4x[2 0 3 1]")
SAME(last_row, "entry main (a: [][]f64) : []f64 = fold1 (\\_ y -> y) a", "f64 5x[2 0 5 1 3]")
SAME(best_with_fold_of_rows,
     "entry main (a: [][][]f64) : [][]f64 = fold (\\x y -> if length (fold (++) [] x) > length (fold (++) [] y) then x "
     "else y) [] a",
     "f64 4x[2 0 3 1]x[1 4 0 2 2 3]")
SAME(longest_rows_so_far,
     "entry main (a: [][]f64) : ([][]f64, []f64) = scan_total (\\x y -> if length x > length y then x else y) [7] a",
     "f64 4x[2 0 5 1]")
SAME(longest_rows_before,
     "entry main (a: [][]f64) : [][]f64 = scan_ex (\\x y -> if length x > length y then x else y) [7] a",
     "f64 6x[2 0 5 1 3 1]")
SAME(longest_rows_behind,
     "entry main (a: [][][]f64) : [][][]f64 = map (scan_right (\\x y -> if length x > length y then x else y) []) a",
     "f64 4x[2 0 3 5]x[1 4 0 2 2 1 0 3 1 2]")
SAME(rows_in_rows_joined, "entry main (a: [][][]f64) : [][]f64 = fold (++) [] a", "f64 4x[2 0 3 1]x[1 4 0 2 2 3]")
SAME(operator_with_fold,
     "entry main (a: [][]f64) : []f64 = fold (\\x y -> [fold (+) 0 x + fold (+) 0 y] ++ fold1 (++) [x, y]) [] a",
     "f64 1x[3]")

/* Rows that are put somewhere. */
SAME(put_into_rows,
     "entry main (a: [][]f64) (is: [](i64, i64)) : [][]f64 = permute (+) a is (map (\\(i, j) -> f64 (10 * i + j)) is)",
     "f64 3x[2 0 3]", "i64 6 = 0 2 1 2 3 -1; i64 6 = 1 2 0 2 0 0")
SAME(put_into_rows_in_map,
     "entry main (a: [][][]f64) (is: [](i64, i64)) : [][][]f64 = map (\\r -> permute max r is (map (\\(i, j) -> f64 "
     "(10 * "
     "i + j)) is)) a",
     "f64 3x[2 0 3]x[1 4 0 2 2]", "i64 6 = 0 1 1 2 3 -1; i64 6 = 1 2 0 1 0 0")
SAME(rows_put,
     "entry main (a: [][]f64) (is: []i64) : [][]f64 = permute (zip_with (+)) a is (map (\\i -> if i >= 0 && i < length "
     "a "
     "then map (* 2) a[i] else [1]) is)",
     "f64 3x[2 0 3]", "i64 6 = 0 2 2 3 -1 1")
FAILS(unlike_rows_put, "entry main (a: [][]f64) (is: []i64) (b: [][]f64) : [][]f64 = permute (zip_with (+)) a is b",
      "f64 3x[2 0 3]", "i64 2 = 0 2", "f64 2x[2 2]")
SAME(rows_put_nowhere, "entry main (a: [][]f64) (is: []i64) (b: [][]f64) : [][]f64 = permute (zip_with (+)) a is b",
     "f64 3x[2 0 3]", "i64 3 = 0 3 2", "f64 3x[2 5 3]")
SAME(rows_put_onto_regular,
     "entry main (a: [][]f64) (is: []i64) (b: [][]f64) : [][]f64 = permute (zip_with (+)) a is b", "f64 3x2",
     "i64 4 = 0 3 2 -1", "f64 4x[2 5 2 0]")
FAILS(rows_put_onto_regular_unlike,
      "entry main (a: [][]f64) (is: []i64) (b: [][]f64) : [][]f64 = permute (zip_with (+)) a is b", "f64 3x2",
      "i64 4 = 0 3 2 1", "f64 4x[2 5 2 0]")
SAME(rows_put_in_map,
     "entry main (a: [][][]f64) (is: []i64) : [][][]f64 = map (\\r -> permute (zip_with (+)) r is (map (\\i -> if i < "
     "length r then r[i] else []) is)) a",
     "f64 3x[2 0 3]x[1 4 0 2 2]", "i64 4 = 0 1 1 2")
SAME(
    rows_of_rows_put,
    "entry main (a: [][][]f64) (is: []i64) : [][][]f64 = permute (zip_with (zip_with (+))) a is (map (\\i -> a[i]) is)",
    "f64 3x[2 0 3]x[1 4 0 2 2]", "i64 4 = 0 1 0 2")
SAME(put_from_rows, "entry main (a: [][]i64) (b: []i64) : []i64 = scatter b a (map (map (* 2)) a)", "i64 3x[2 0 6]",
     "i64 5")
SAME(rows_replaced, "entry main (a: [][]f64) (is: []i64) (b: [][]f64) : [][]f64 = scatter a is b", "f64 4x[2 0 3 1]",
     "i64 5 = 0 3 5 0 -1", "f64 5x[3 0 2 1 7]")
SAME(rows_replaced_from_rows,
     "entry main (a: [][]f64) (is: [][]i64) : [][]f64 = scatter a is (map (map (\\i -> map f64 (iota i))) is)",
     "f64 5x[2 0 3 1 1]", "i64 3x[2 0 3]")
SAME(rows_replaced_in_map,
     "entry main (a: [][][]f64) (is: []i64) : [][][]f64 = map (\\r -> scatter r is (map (\\i -> map f64 (iota i)) is)) "
     "a",
     "f64 3x[2 0 3]x[1 4 0 2 2]", "i64 4 = 0 1 7 2")
SAME(replaced_in_rows,
     "entry main (a: [][]f64) (is: [](i64, i64)) : [][]f64 = scatter a is (map (\\(i, j) -> f64 (10 * i + j)) is)",
     "f64 3x[2 0 3]", "i64 6 = 0 2 1 2 3 -1; i64 6 = 1 2 0 2 0 0")
SAME(pairs_replaced,
     "entry main (a: []([]f64, i64)) (is: []i64) : []([]f64, i64) = scatter a is (map (\\i -> (map f64 (iota i), i)) "
     "is)",
     "f64 4x[2 0 3 1]; i64 4", "i64 5 = 0 3 5 2 4")
SAME(put_from_stream, "entry main (s: seq ([]i64)) : []i64 = permute_seq (+) (replicate 9 0) s (map_seq (map (* 2)) s)",
     "i64 5x[2 0 3 1 1]")
SAME(put_from_stream_of_rows,
     "entry main (s: seq ([][]i64)) : []i64 = permute_seq (+) (replicate 9 0) s (map_seq (map (map (* 2))) s)",
     "i64 3x[2 0 3]x[1 4 0 2 2]")
SAME(rows_put_from_stream,
     "entry main (s: seq ([]i64)) (is: seq i64) : [][]i64 = permute_seq (zip_with (+)) (replicate 4 (replicate 2 0)) "
     "is s",
     "i64 5x[2 2 3 2 0]", "i64 5 = 1 3 5 1 -1")

/* Rows in place of others. */
SAME(row_updated, "entry main (a: [][]f64) (x: []f64) : [][]f64 = a with [1] = x", "f64 4x[2 0 5 1]", "f64 3")
FAILS(no_row_updated, "entry main (a: [][]f64) (x: []f64) : [][]f64 = a with [4] = x", "f64 4x[2 0 5 1]", "f64 3")
SAME(rows_updated_in_map, "entry main (a: [][][]f64) : [][][]f64 = map (\\r -> r with [length r - 1] = r[0] ++ r[0]) a",
     "f64 3x[2 1 3]x[1 4 0 2 2 3]")
REFUSED(row_of_rows_updated, "an inner extent that is not known here",
        "entry main (a: [][][]f64) (x: []f64) : [][][]f64 = a with [0, 1] = x", "f64 3x[2 0 3]x[1 4 0 2 2]", "f64 3")
SAME(pair_updated, "entry main (a: []([]f64, f64)) (x: []f64) : []([]f64, f64) = a with [1] = (x, 7)",
     "f64 3x[2 0 3]; f64 3", "f64 4")
SAME(rows_updated_in_turns,
     "entry main (a: [][]f64) : [][]f64 = loop b = a for i < length a do b with [i] = b[i] ++ b[0]", "f64 4x[2 0 5 1]")
SAME(read_of_updated, "entry main (a: [][]f64) (x: []f64) : []f64 = map sum (a with [2] = x)", "f64 4x[2 0 5 1]",
     "f64 3")

/* States that lose elements at their ends (window.c). */
SAME(tails, "entry main (a: []f64) : f64 = (loop (q, s) = (a, 0) while length q > 0 do (tail q, s * 2 + q[0])).1",
     "f64 7")
SAME(tail_is_left, "entry main (a: []f64) (n: i64) : []f64 = loop q = a for _i < n do tail q", "f64 7", "i64 = 3")
SAME(tails_in_map,
     "entry main (a: [][]f64) : []f64 = map (\\r -> (loop (q, s) = (r, 0) while length q > 0 do (tail q, s * 2 + "
     "q[0])).1) a",
     "f64 5x[2 0 5 1 3]")
SAME(tails_of_rows, "entry main (a: [][]f64) : [][]f64 = loop q = a while length q > 0 && length q[0] != 5 do tail q",
     "f64 5x[2 0 5 1 3]")
SAME(both_ends,
     "entry main (a: [][]f64) : [][]f64 = map (\\r -> loop q = r while length q > 2 do if q[0] > 3 then init q else "
     "q[1: "
     "length q - 1]) a",
     "f64 5x[2 0 5 1 3]")
SAME(states_in_branches,
     "entry main (a: [][]f64) : [](f64, []f64) = map (\\r -> let (q, s, i) = loop (q, s, i) = (r, 0, 0) while length q "
     "> "
     "1 do if i % 2 == 0 then (tail q, s + q[0], i + 1) else if i % 3 == 0 then (q, s, i + 1) else (init q, s * 2, i + "
     "1) "
     "in (s, q)) a",
     "f64 5x[2 0 5 1 3]")
SAME(two_windows,
     "entry main (a: []f64) (b: []f64) : []f64 = (loop (p, q, r) = (a, b, []) while length p > 0 && length q > 0 do if "
     "p[0] <= q[0] then (tail p, q, r ++ [p[0]]) else (p, tail q, r ++ [q[0]])).2",
     "f64 7", "f64 4")
SAME(
    window_beside_an_array,
    "entry main (a: []f64) : []f64 = (loop (q, h) = (a, replicate 9 0.0) while length q > 0 do (tail q, h with [length "
    "q] = q[0])).1",
    "f64 7")
SAME(window_is_used,
     "entry main (a: [][]f64) : []f64 = map (\\r -> (loop (q, s) = (r, 0) while length q > 1 do (let p = if s > 9 then "
     "tail q else init q in (p, s + sum p + f64 (length (filter (> 2) q))))).1) a",
     "f64 5x[2 0 5 1 3]")
SAME(
    window_starts_anew,
    "entry main (a: []f64) : f64 = (loop (q, s, n) = (a, 0, 0) while n < 9 do (if length q > 1 then tail q else a, s + "
    "q[0], n + 1)).1",
    "f64 4")
SAME(windows_in_windows,
     "entry main (a: []f64) : f64 = (loop (q, s) = (a, 0) while length q > 0 do (tail q, (loop (p, t) = (q, s) while "
     "length p > 1 do (drop 2 p, t + p[0] * p[1])).1)).1",
     "f64 7")
FAILS(tail_of_none, "entry main (a: []f64) (n: i64) : []f64 = loop q = a for _i < n do tail q", "f64 2", "i64 = 3")
FAILS(tail_of_none_in_map,
      "entry main (a: [][]f64) : []f64 = map (\\r -> (loop (q, s) = (r, 0) while s < 3 do (tail q, s + 1)).1) a",
      "f64 3x[3 2 5]")
FAILS(drop_of_less_than_none, "entry main (a: []f64) (n: i64) : []f64 = loop q = a while length q > 1 do q[n:]",
      "f64 3", "i64 = -1")
FAILS(first_of_none,
      "entry main (a: []f64) : f64 = (loop (q, s) = (a, 0) while s < 100 do (if length q > 0 then tail q else q, s + "
      "q[0])).1",
      "f64 3")

/* Scans with operators that change the shape of rows. */
SAME(rows_scanned, "entry main (a: [][]f64) : [][]f64 = scan (++) [] a", "f64 5x[2 0 5 1 3]")
SAME(rows_scanned_before, "entry main (a: [][]f64) : [][]f64 = scan_ex (++) [7] a", "f64 6x[2 0 5 1 3 1]")
SAME(rows_scanned_from_right, "entry main (a: [][]f64) : [][]f64 = scan_right (++) [7] a", "f64 7x[2 0 5 1 3 1 2]")
SAME(rows_scanned_and_joined, "entry main (a: [][]f64) : ([][]f64, []f64) = scan_total (++) [7] a", "f64 4x[2 0 5 1]")
SAME(one_row_scanned, "entry main (a: [][]f64) : [][]f64 = scan (++) [7] a", "f64 1x[2]")
SAME(no_rows_scanned, "entry main (a: [][]f64) : [][]f64 = scan (++) [7] a", "f64 0x[]")
SAME(no_rows_scanned_and_joined, "entry main (a: [][]f64) : ([][]f64, []f64) = scan_total (++) [7] a", "f64 0x[]")
SAME(rows_scanned_in_maps, "entry main (a: [][][]f64) : [][][]f64 = map (scan (++) []) a",
     "f64 4x[2 0 3 5]x[1 4 0 2 2 1 0 3 1 2]")
/* With something between the rows; the other way round; rows of records (joined.c). */
SAME(rows_joined_with_between, "entry main (a: [][]f64) : []f64 = fold (\\x y -> x ++ [0, 1] ++ y) [7] a",
     "f64 5x[2 0 5 1 3]")
SAME(rows_joined_first_with_between,
     "entry main (a: [][][]f64) (k: []f64) : [][]f64 = map2 (\\r c -> fold1 (\\x y -> x ++ [c, c + 1] ++ y) r) a k",
     "f64 3x[2 1 3]x[1 4 0 2 2 3]", "f64 3")
SAME(rows_joined_backwards, "entry main (a: [][]f64) : []f64 = fold (\\x y -> y ++ x) [7] a", "f64 5x[2 0 5 1 3]")
SAME(rows_scanned_with_between, "entry main (a: [][]f64) : [][]f64 = scan (\\x y -> x ++ [0] ++ y) [7] a",
     "f64 5x[2 0 5 1 3]")
SAME(rows_scanned_from_right_with_between,
     "entry main (a: [][][]f64) : [][][]f64 = map (scan_right (\\x y -> x ++ [0] ++ y) [7]) a",
     "f64 4x[2 0 3 5]x[1 4 0 2 2 1 0 3 1 2]")
SAME(rows_scanned_and_joined_in_map,
     "entry main (a: [][][]f64) : [](([][]f64, []f64)) = map (scan_total (\\x y -> x ++ [0] ++ y) [7]) a",
     "f64 4x[2 0 3 5]x[1 4 0 2 2 1 0 3 1 2]")
SAME(rows_scanned_before_in_map, "entry main (a: [][][]f64) : [][][]f64 = map (scan_ex (++) [7]) a",
     "f64 4x[2 0 3 5]x[1 4 0 2 2 1 0 3 1 2]")
SAME(records_joined, "entry main (a: [][]f64) : [](f64, i64) = fold (++) [] (imap (\\i r -> map (\\x -> (x, i)) r) a)",
     "f64 5x[2 0 5 1 3]")
SAME(rows_of_rows_scanned, "entry main (a: [][][]f64) : [][][]f64 = scan (++) [] a", "f64 4x[2 0 3 1]x[1 4 0 2 2 3]")
SAME(scanned_rows_summed, "entry main (a: [][]f64) : []f64 = map sum (scan (++) [] a)", "f64 5x[2 0 5 1 3]")
SAME(longest_so_far,
     "entry main (a: [][][]f64) : [][][]f64 = map (scan (\\x y -> if length x > length y then x else y) []) a",
     "f64 4x[2 0 3 5]x[1 4 0 2 2 1 0 3 1 2]")
