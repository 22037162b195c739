/* Rows that differ in length, as lifted IR against the interpreter. */
#include "weft.h"

#define WEFT_SUITE irregular

/* Arguments. */
SAME(sum_rows, "entry main (a: [][]f64) : []f64 = map (\\r -> reduce (+) 0.0 r) a", "f64 4x[2 0 5 1]")
SAME(sum_no_rows, "entry main (a: [][]f64) : []f64 = map (\\r -> reduce (+) 0.0 r) a", "f64 0x[]")
SAME(sum_empty_rows, "entry main (a: [][]f64) : []f64 = map (\\r -> reduce (+) 0.0 r) a", "f64 3x[0 0 0]")
SAME(sum_equal_rows, "entry main (a: [][]f64) : []f64 = map (\\r -> reduce (+) 0.0 r) a", "f64 3x[2 2 2]")
SAME(averages, "entry main (a: [][]f64) : []f64 = map (\\r -> sum r / f64 (length r)) a", "f64 4x[2 1 5 3]")
SAME(least, "entry main (a: [][]f64) : []f64 = map (\\r -> reduce min 100.0 r) a", "f64 4x[2 0 5 1]")
SAME(lengths, "entry main (a: [][]f64) : []i64 = map length a", "f64 4x[2 0 5 1]")
SAME(row_of_stream, "entry main (s: seq ([]f64)) : []f64 = from_seq (map_seq (\\r -> sum r) s)", "f64 5x[3 0 1 1 4]")
SAME(total_of_stream, "entry main (s: seq ([]f64)) : f64 = fold_seq (+) 0.0 (map_seq (\\r -> sum r) s)",
     "f64 5x[3 0 1 1 4]")
SAME(doubled_stream, "entry main (s: seq ([]f64)) : [][]f64 = from_seq (map_seq (map (* 2.0)) s)", "f64 5x[3 0 1 1 4]")
SAME(pairs, "entry main (a: []([](f64, i64))) : []f64 = map (\\r -> sum (map (\\(x, k) -> x * f64 k) r)) a",
     "f64 3x[2 0 3]; i64 3x[2 0 3]")
SAME(two_arguments, "entry main (a: [][]f64) (b: [][]f64) : []f64 = map2 (\\r s -> sum (map2 (*) r s)) a b",
     "f64 3x[2 0 3]", "f64 3x[2 0 3]")
FAILS(two_lengths, "entry main (a: [][]f64) (b: [][]f64) : []f64 = map2 (\\r s -> sum (map2 (*) r s)) a b",
      "f64 3x[2 0 3]", "f64 3x[2 1 3]")
SAME(free_row, "entry main (a: [][]f64) (k: []f64) : []f64 = map2 (\\r x -> sum (map (* x) r)) a k", "f64 3x[2 0 3]",
     "f64 3")
SAME(three_levels, "entry main (a: [][][]f64) : [][]f64 = map (map sum) a", "f64 3x[2 0 3]x[1 4 0 2 2]")
SAME(three_levels_whole, "entry main (a: [][][]f64) : [][][]f64 = map (map (map (+ 1.0))) a",
     "f64 3x[2 0 3]x[1 4 0 2 2]")
SAME(regular_inside, "entry main (a: [][][]f64) : [][][]f64 = map (map (map (+ 1.0))) a", "f64 3x[2 0 3]x4")
SAME(regular_around, "entry main (a: [][][]f64) : [][]f64 = map (map sum) a", "f64 2x3x[2 0 3 1 1 0]")
SAME(regular_between, "entry main (a: [][][][]f64) : [][][]f64 = map (map (map sum)) a", "f64 2x[2 1]x2x[1 0 3 2 2 1]")

/* Results. */
SAME(doubled, "entry main (a: [][]f64) : [][]f64 = map (map (* 2.0)) a", "f64 4x[2 0 5 1]")
SAME(as_they_are, "entry main (a: [][]f64) : [][]f64 = a", "f64 4x[2 0 5 1]")
SAME(outer_map, "entry main (a: [][]f64) (k: []f64) : [][][]f64 = map (\\x -> map (map (* x)) a) k", "f64 3x[2 0 3]",
     "f64 2")
SAME(middle_map, "entry main (a: [][]f64) (k: []f64) : [][][]f64 = map (\\r -> map (\\x -> map (* x) r) k) a",
     "f64 3x[2 0 3]", "f64 2")
SAME(middle_of_three,
     "entry main (a: [][][]f64) : [][][][]f64 = map (\\r -> map (\\x -> map (map (* x)) r) [1.0, 2.0]) a",
     "f64 2x[2 1]x[1 0 3]")
SAME(same_twice, "entry main (a: [][]f64) : [][][]f64 = map (\\r -> map (\\s -> map (+ sum r) s) a) a", "f64 3x[2 0 3]")
SAME(with_index, "entry main (a: [][]f64) : [][]f64 = imap (\\i r -> imap (\\j x -> x + f64 (10 * i + j)) r) a",
     "f64 3x[2 0 3]")
SAME(index_alone, "entry main (a: [][]f64) : [][]i64 = map (\\r -> iota (length r)) a", "f64 3x[2 0 3]")

/* Extents that are computed. */
SAME(triangle, "entry main (n: i64) : [][]i64 = generate n (\\i -> iota i)", "i64 = 4")
SAME(triangle_of_triangles,
     "entry main (n: i64) : [][][]i64 = generate n (\\i -> generate i (\\j -> generate j (\\k -> i + 10 * j + 100 * "
     "k)))",
     "i64 = 5")
SAME(triangle_summed, "entry main (n: i64) : []i64 = generate n (\\i -> sum (generate (2 * i) (\\j -> j * i)))",
     "i64 = 70")
SAME(replicated, "entry main (n: []i64) : [][]i64 = map (\\k -> replicate k (k * 2)) n", "i64 4 = 2 0 3 1")
SAME(replicated_rows, "entry main (a: [][]f64) (n: i64) : [][][]f64 = map (\\r -> replicate n r) a", "f64 3x[2 0 3]",
     "i64 = 2")
SAME(replicated_unlike, "entry main (a: [][]f64) (n: []i64) : [][][]f64 = map2 (\\r k -> replicate k r) a n",
     "f64 3x[2 0 3]", "i64 3 = 1 2 0")
FAILS(negative, "entry main (n: []i64) : [][]i64 = map (\\k -> iota k) n", "i64 4 = 2 0 -3 1")
SAME(claimed, "entry main (a: [][]f64) : [][]f64 = map (\\r -> let s : []f64 = map (+ 1.0) r in s) a", "f64 3x[2 0 3]")
FAILS(claimed_wrongly, "entry main (a: [][]f64) : []f64 = map (\\r -> let s : [3]f64 = map (+ 1.0) r in sum s) a",
      "f64 3x[2 0 3]")

/* Moved elements. */
SAME(reversed, "entry main (a: [][]f64) : [][]f64 = map reverse a", "f64 4x[2 0 5 1]")
SAME(reversed_rows, "entry main (a: [][]f64) : [][]f64 = reverse a", "f64 4x[2 0 5 1]")
SAME(rotated, "entry main (a: [][]f64) : [][]f64 = map (rotate 1) a", "f64 4x[2 0 5 1]")
SAME(tails, "entry main (a: [][]f64) : [][]f64 = map (\\r -> r[1:]) a", "f64 3x[2 1 5]")
FAILS(no_tail, "entry main (a: [][]f64) : [][]f64 = map (\\r -> r[1:]) a", "f64 3x[2 0 5]")
SAME(every_other, "entry main (a: [][]f64) : [][]f64 = map (\\r -> r[::2]) a", "f64 4x[2 0 5 1]")
SAME(slices, "entry main (k: []i64) (a: []f64) : [][]f64 = map (\\i -> a[0:i]) k", "i64 4 = 0 3 1 5", "f64 6")
SAME(some_rows, "entry main (a: [][]f64) : [][]f64 = a[1:3]", "f64 4x[2 0 5 1]")
SAME(firsts, "entry main (a: [][]f64) : []f64 = map (\\r -> r[0]) a", "f64 3x[2 1 5]")
FAILS(no_first, "entry main (a: [][]f64) : []f64 = map (\\r -> r[0]) a", "f64 3x[2 0 5]")
SAME(lasts, "entry main (a: [][]f64) : []f64 = map (\\r -> r[length r - 1]) a", "f64 3x[2 1 5]")
SAME(chosen_rows, "entry main (a: [][]f64) (is: []i64) : [][]f64 = gather a is", "f64 4x[2 0 5 1]", "i64 5 = 2 0 3 2 1")
SAME(chosen_sums, "entry main (a: [][]f64) (is: []i64) : []f64 = map (\\i -> sum a[i]) is", "f64 4x[2 0 5 1]",
     "i64 5 = 2 0 3 2 1")
FAILS(chosen_outside, "entry main (a: [][]f64) (is: []i64) : []f64 = map (\\i -> sum a[i]) is", "f64 4x[2 0 5 1]",
      "i64 5 = 2 0 4 2 1")
SAME(chosen_elements, "entry main (a: [][]f64) (is: [](i64, i64)) : []f64 = map (\\(i, j) -> a[i, j]) is",
     "f64 4x[2 0 5 1]", "i64 4 = 2 0 3 2; i64 4 = 4 1 0 0")
FAILS(chosen_beyond, "entry main (a: [][]f64) (is: [](i64, i64)) : []f64 = map (\\(i, j) -> a[i, j]) is",
      "f64 4x[2 0 5 1]", "i64 4 = 2 0 3 2; i64 4 = 4 2 0 0")
FAILS(chosen_none, "entry main (a: [][]f64) (is: [](i64, i64)) : []f64 = map (\\(i, j) -> a[i, j]) is", "f64 0x[]",
      "i64 1 = 0; i64 1 = 0")
SAME(appended, "entry main (a: [][]f64) : [][]f64 = map (\\r -> r ++ r) a", "f64 4x[2 0 5 1]")
SAME(appended_other, "entry main (a: [][]f64) (b: [][]f64) : [][]f64 = map2 (\\r s -> r ++ map (* 2.0) s) a b",
     "f64 4x[2 0 5 1]", "f64 4x[1 0 2 3]")
SAME(gathered, "entry main (a: []f64) (is: [][]i64) : [][]f64 = map (\\r -> gather a r) is", "f64 14", "i64 3x[2 0 4]")
SAME(updated, "entry main (a: [][]f64) : [][]f64 = map (\\r -> r with [0] = 7.0) a", "f64 3x[2 1 5]")

/* Scans and permutes inside of rows. */
SAME(running, "entry main (a: [][]f64) : [][]f64 = map (scan (+) 0.0) a", "f64 4x[2 0 5 1]")
SAME(running_right, "entry main (a: [][]f64) : [][]f64 = map (scan_right (+) 0.0) a", "f64 4x[2 0 5 1]")
SAME(running_total, "entry main (a: [][]f64) : [](([]f64), f64) = map (scan_total (+) 0.0) a", "f64 4x[2 0 5 1]")
SAME(histograms,
     "entry main (is: [][]i64) : [][]i64 = map (\\r -> permute (+) (replicate 13 0) r (map (\\_ -> 1) r)) is",
     "i64 3x[2 0 6]")
SAME(scattered, "entry main (is: [][]i64) : [][]i64 = map (\\r -> scatter (map (\\_ -> -1) r) r (iota (length r))) is",
     "i64 3x[2 0 6]")
SAME(one_histogram, "entry main (is: [][]i64) : []i64 = permute (+) (replicate 13 0) is (map (map (\\_ -> 1)) is)",
     "i64 3x[2 0 6]")
FAILS(one_histogram_unlike, "entry main (is: [][]i64) (xs: [][]i64) : []i64 = permute (+) (replicate 13 0) is xs",
      "i64 3x[2 0 6]", "i64 3x[2 1 5]")
SAME(flattened, "entry main (a: [][]f64) : []f64 = flatten a", "f64 4x[2 0 5 1]")
SAME(flattened_none, "entry main (a: [][]f64) : []f64 = flatten a", "f64 0x[]")
SAME(flattened_in_map, "entry main (a: [][][]f64) : [][]f64 = map flatten a", "f64 3x[2 0 3]x[1 4 0 2 2]")
SAME(flattened_pairs, "entry main (a: [][](f64, i64)) : []f64 = map (\\(x, k) -> x * f64 k) (flatten a)",
     "f64 3x[2 0 3]; i64 3x[2 0 3]")
SAME(flattened_rows, "entry main (a: [][][]f64) : [][]f64 = flatten a", "f64 3x[2 0 3]x2")
SAME(flattened_filtered, "entry main (a: [][]f64) : f64 = sum (flatten (map (filter (> 0.0)) (map (map (+ 1.0)) a)))",
     "f64 4x[2 0 5 1]")
SAME(flattened_deep, "entry main (a: [][][]f64) : [][]f64 = flatten a", "f64 3x[2 0 3]x[1 4 0 2 2]")

/* filter. */
SAME(kept, "entry main (a: []f64) : []f64 = filter (> 0.0) a", "f64 9")
SAME(kept_none, "entry main (a: []f64) : []f64 = filter (> 1000.0) a", "f64 9")
SAME(kept_nothing, "entry main (a: []f64) : []f64 = filter (> 0.0) a", "f64 0")
SAME(kept_in_rows, "entry main (a: [][]f64) : [][]f64 = map (filter (> 0.0)) a", "f64 3x5")
SAME(kept_in_unlike_rows, "entry main (a: [][]f64) : [][]f64 = map (filter (> 0.0)) a", "f64 4x[2 0 5 1]")
SAME(kept_rows, "entry main (a: [][]f64) : [][]f64 = filter (\\r -> length r > 1) a", "f64 4x[2 0 5 1]")
SAME(kept_pairs, "entry main (a: [](f64, i64)) : []f64 = map (\\(x, k) -> x * f64 k) (filter (\\(x, _) -> x > 0.0) a)",
     "f64 9; i64 9")
SAME(kept_twice, "entry main (a: [][]f64) : []f64 = map (\\r -> sum (filter (< 3.0) (filter (> 0.0) r))) a",
     "f64 4x[2 0 5 7]")
SAME(kept_of_stream, "entry main (s: seq f64) : []f64 = from_seq (filter_seq (> 0.0) s)", "f64 9")
SAME(summed_of_stream, "entry main (s: seq f64) : f64 = fold_seq (+) 0.0 (filter_seq (> 0.0) s)", "f64 9")
SAME(summed_none, "entry main (s: seq f64) : f64 = fold_seq (+) 0.0 (filter_seq (> 1000.0) s)", "f64 9")
SAME(kept_rows_of_stream, "entry main (s: seq ([]f64)) : [][]f64 = from_seq (filter_seq (\\r -> length r > 1) s)",
     "f64 5x[3 0 1 1 4]")

/* What is not reached does not fail. */
SAME(nothing_divides, "entry main (a: [][]i64) (k: i64) : [][]i64 = map (\\r -> map (\\x -> x + 10 / k) r) a",
     "i64 3x[0 0 0]", "i64 = 0")
FAILS(something_divides, "entry main (a: [][]i64) (k: i64) : [][]i64 = map (\\r -> map (\\x -> x + 10 / k) r) a",
      "i64 3x[0 1 0]", "i64 = 0")
SAME(no_row_divides, "entry main (a: [][]i64) (ks: []i64) : [][]i64 = map2 (\\r k -> map (\\x -> x + 10 / k) r) a ks",
     "i64 3x[2 0 1]", "i64 3 = 1 0 2")
SAME(branches, "entry main (a: [][]f64) : []f64 = map (\\r -> if length r > 1 then r[1] else 0.0) a", "f64 4x[2 0 5 1]")
SAME(loops, "entry main (a: [][]f64) : []f64 = map (\\r -> loop s = 0.0 for i < length r do s * 0.5 + r[i]) a",
     "f64 4x[2 0 5 1]")

/* One of two, or several, that differ in shape. */
SAME(joined_rows, "entry main (a: [][]f64) (b: [][]f64) : [][]f64 = a ++ map (map (* 2.0)) b ++ a", "f64 3x[2 0 3]",
     "f64 2x[1 4]")
SAME(joined_regular, "entry main (a: [][]f64) (b: [][]f64) : [][]f64 = a ++ b", "f64 3x[2 0 3]", "f64 2x4")
SAME(joined_levels, "entry main (a: [][][]f64) (b: [][][]f64) : [][][]f64 = a ++ b", "f64 2x[2 1]x[2 0 3]",
     "f64 1x2x[1 0]")
SAME(literal_rows, "entry main (a: []f64) (b: []f64) : [][]f64 = [a, b, a ++ b, []]", "f64 3", "f64 2")
SAME(literal_in_map, "entry main (a: [][]f64) : [][][]f64 = map (\\r -> [r, r[1:], [sum r]]) a", "f64 3x[2 1 3]")
SAME(either_row,
     "entry main (a: [][]f64) (b: [][]f64) : [][]f64 = map2 (\\r s -> if sum r > sum s then r else map (* 2.0) s) a b",
     "f64 4x[2 0 5 1]", "f64 4x[1 0 2 3]")
SAME(either_slice, "entry main (a: [][]f64) : [][]f64 = map (\\r -> if length r > 2 then r[1:] else r) a",
     "f64 4x[2 0 5 1]")
SAME(either_of_one, "entry main (a: []f64) (k: i64) : []f64 = if k > 2 then a[1:] else a", "f64 5", "i64 = 3")
SAME(either_rows, "entry main (a: [][]f64) (k: []i64) : [][][]f64 = map (\\i -> if i > 1 then a[1:] else a) k",
     "f64 3x[2 0 3]", "i64 3 = 0 2 1")
/* Each of a tuple within its own length. */
SAME(
    either_first,
    "entry main (a: [][]f64) (b: [][]f64) : [][]f64 = map2 (\\r s -> (if sum r > sum s then (r, s) else (s, r)).0) a b",
    "f64 4x[2 0 5 1]", "f64 4x[1 0 2 3]")
SAME(
    either_second,
    "entry main (a: [][]f64) (b: [][]f64) : [][]f64 = map2 (\\r s -> (if sum r > sum s then (r, s) else (s, r)).1) a b",
    "f64 4x[2 0 5 1]", "f64 4x[1 0 2 3]")
SAME(either_pair,
     "entry main (a: [][]f64) : [][]f64 = map (\\r -> let (x, y) = if length r > 2 then (r[1:], r) else (r, []) in x "
     "++ y)"
     " a",
     "f64 4x[2 0 5 1]")
SAME(either_of_pairs,
     "entry main (a: [][]f64) : [][]f64 = map (\\r -> let ps = if length r > 2 then map (\\x -> (x, x + 1.0)) r else "
     "map (\\x -> (2.0, x)) (r ++ r) in map (\\(x, y) -> x * y) ps) a",
     "f64 4x[2 0 5 1]")
/* The last element has no place among those that take the other branch. */
SAME(either_filtered,
     "entry main (a: [][]f64) : [][]f64 = map (\\r -> if length r > 1 then [] else filter (> 0.0) r) a",
     "f64 4x[2 0 1 5]")
SAME(either_looped,
     "entry main (a: []i64) : [][]i64 = map (\\x -> if x > 5 then [] else (loop w = [x] while length w < 3 do w ++ "
     "[x])) a",
     "i64 4 = 1 7 2 9")
SAME(either_sum,
     "entry main (a: [][]f64) : []f64 = map (\\r -> if length r > 1 then 0.0 else sum (filter (> 0.0) r)) a",
     "f64 4x[2 0 1 5]")
FAILS(either_fails, "entry main (a: [][]f64) : [][]f64 = map (\\r -> if length r < 2 then r[2:] else r) a",
      "f64 4x[2 0 5 1]")

/* The index along a row is not in range of another. */
SAME(other_row, "entry main (a: [][]f64) (is: []i64) : [][]f64 = map2 (\\r i -> imap (\\j x -> x + a[i, j]) r) a is",
     "f64 4x[2 0 5 1]", "i64 4 = 2 0 2 0")
FAILS(other_row_short,
      "entry main (a: [][]f64) (is: []i64) : [][]f64 = map2 (\\r i -> imap (\\j x -> x + a[i, j]) r) a is",
      "f64 4x[2 0 5 1]", "i64 4 = 2 0 0 0")

SAME(first_row, "entry main (a: [][]f64) : [][]f64 = map (\\r -> imap (\\j x -> x + a[0, j]) r) a", "f64 4x[5 0 2 1]")
FAILS(first_row_short, "entry main (a: [][]f64) : [][]f64 = map (\\r -> imap (\\j x -> x + a[0, j]) r) a",
      "f64 4x[2 0 5 1]")
