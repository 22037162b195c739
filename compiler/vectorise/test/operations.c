/* Each operation, outside and inside of maps, as lifted IR against the interpreter. */
#include "weft.h"

#define WEFT_SUITE operations

SAME(map_nested, "entry main (a: [][]f64) : [][]f64 = map (map (\\x -> 2.0 * x + 1.0)) a", "f64 3x4")
SAME(map_free_row, "entry main [n] (a: [][n]f64) (b: [n]f64) : [][n]f64 = map (\\r -> map2 (+) r b) a", "f64 3x70",
     "f64 70")
SAME(generate_2d, "entry main (n: i64) (m: i64) : [][]i64 = generate (n, m) (\\i j -> i * 10 + j)", "i64 = 3",
     "i64 = 4")
SAME(iota_sum, "entry main (n: i64) : i64 = sum (iota n)", "i64 = 100")
SAME(iota_i32, "entry main (n: i64) : []i32 = map (+ 1i32) (map i32.i64 (iota n))", "i64 = 7")
SAME(replicate_rows, "entry main (n: i64) (r: []f64) : [][]f64 = replicate n r", "i64 = 3", "f64 5")
SAME(transpose_map, "entry main (a: [][]f64) : [][]f64 = map (map (+ 1.0)) (transpose a)", "f64 3x4")
SAME(transpose_large, "entry main (a: [][]f64) : [][]f64 = transpose a", "f64 70x90")
SAME(flatten, "entry main (a: [][]f64) : []f64 = flatten a", "f64 3x4")
SAME(flatten_large, "entry main (a: [][]f64) : f64 = sum (flatten (map (map (* 2.0)) a))", "f64 80x70")
SAME(unflatten, "entry main (a: []f64) : [][]f64 = unflatten 3 4 a", "f64 12")
SAME(unflatten_dynamic, "entry main (n: i64) (a: []f64) : [][]f64 = unflatten n 4 a", "i64 = 3", "f64 12")
FAILS(unflatten_wrong, "entry main (n: i64) (a: []f64) : [][]f64 = unflatten n 4 a", "i64 = 2", "f64 12")
SAME(concat, "entry main (a: []f64) (b: []f64) : []f64 = a ++ map (* 2.0) b ++ a", "f64 5", "f64 3")
SAME(concat_large, "entry main (a: []f64) (b: []f64) : []f64 = a ++ b", "f64 70", "f64 80")
SAME(concat_in_map, "entry main (a: [][]f64) : [][]f64 = map (\\r -> r ++ map (* 2.0) r) a", "f64 3x4")
SAME(reverse, "entry main (a: [][]f64) : [][]f64 = map reverse (reverse a)", "f64 3x4")
SAME(rotate, "entry main (k: i64) (a: [][]f64) : [][]f64 = map (rotate k) (rotate (-1) a)", "i64 = 2", "f64 3x4")
SAME(slice, "entry main (a: []f64) : []f64 = a[1:4]", "f64 6")
SAME(slice_step, "entry main (a: []f64) : ([]f64, []f64) = (a[0:6:2], a[::-1])", "f64 6")
SAME(slice_dynamic, "entry main (i: i64) (a: []f64) : []f64 = a[i:i + 3]", "i64 = 2", "f64 90")
SAME(slice_moving, "entry main (is: []i64) (a: []f64) : [][]f64 = map (\\i -> a[i:i + 3]) is", "i64 4 = 0 2 5 87",
     "f64 90")
FAILS(slice_outside, "entry main (i: i64) (a: []f64) : []f64 = a[i:i + 3]", "i64 = 4", "f64 6")
FAILS(slice_moving_outside, "entry main (is: []i64) (a: []f64) : [][]f64 = map (\\i -> a[i:i + 3]) is", "i64 2 = 0 88",
      "f64 90")
SAME(gather, "entry main (a: []f64) (is: [][]i64) : [][]f64 = gather a is", "f64 14", "i64 2x3")
SAME(gather_rows, "entry main (a: [][]f64) (is: []i64) : [][]f64 = gather a is", "f64 14x2", "i64 3")
FAILS(gather_outside, "entry main (a: []f64) (is: []i64) : []f64 = gather a is", "f64 3", "i64 3 = 0 3 1")
SAME(backpermute, "entry main (a: []f64) (k: []f64) : []f64 = backpermute a (\\i -> i - 2) k", "f64 9", "f64 4")
SAME(backpermute_2d, "entry main (a: [][]f64) (k: [][]f64) : [][]f64 = backpermute a (\\(i, j) -> (j, i)) k", "f64 5x4",
     "f64 3x4")
SAME(update, "entry main (i: i64) (a: []f64) : []f64 = a with [i] = 7.0", "i64 = 2", "f64 5")
SAME(update_in_map, "entry main (a: [][]f64) : [][]f64 = map (\\r -> r with [1] = r[0]) a", "f64 3x4")
FAILS(update_outside, "entry main (i: i64) (a: []f64) : []f64 = a with [i] = 7.0", "i64 = 5", "f64 5")
SAME(array_literal, "entry main (x: f64) (i: i64) : (f64, []f64) = let t = [1.0, x, x * 2.0, 4.0, 5.0] in (t[i], t)",
     "f64 = 3", "i64 = 2")
SAME(array_of_rows, "entry main (a: []f64) : [][]f64 = [a, map (+ 1.0) a, reverse a]", "f64 4")
SAME(zip_unzip,
     "entry main (a: []f64) (b: []i64) : ([]f64, []i64) = unzip (map (\\(x, y) -> (x + 1.0, y * 2)) (zip a b))",
     "f64 5", "i64 5")
FAILS(zip_lengths, "entry main (a: []f64) (b: []f64) : f64 = sum (map2 (*) a b)", "f64 5", "f64 6")
FAILS(zip_lengths_large, "entry main (a: []f64) (b: []f64) : f64 = sum (map2 (*) a b)", "f64 75", "f64 86")
SAME(index_dynamic, "entry main (a: [][]f64) (i: i64) (j: i64) : f64 = a[i, j]", "f64 4x5", "i64 = 3", "i64 = 1")
FAILS(index_outside, "entry main (a: [][]f64) (i: i64) : []f64 = a[i]", "f64 4x5", "i64 = 4")
SAME(index_shifted, "entry main (a: [70]f64) : []f64 = generate 68 (\\i -> a[i] + a[i + 1] + a[i + 2])", "f64 70")
SAME(lengths, "entry main (a: [][]f64) : (i64, i64) = (length a, length (transpose a))", "f64 3x80")

SAME(fold_plain, "entry main (a: []f64) : f64 = fold (\\x y -> x + y) 0.0 a", "f64 9")
SAME(fold_rows, "entry main (a: [][]f64) : []f64 = map sum a", "f64 3x9")
SAME(fold_columns, "entry main [m] (a: [][m]f64) : []f64 = fold (map2 (+)) (replicate m 0.0) a", "f64 3x9")
SAME(fold_matrices, "entry main (a: [][][]f64) : [][]f64 = fold (map2 (map2 (+))) (replicate 2 (replicate 3 0.0)) a",
     "f64 4x2x3")
SAME(fold_tuple,
     "entry main (a: []f64) : (f64, f64) = fold (\\(s, m) (x, y) -> (s + x, f64.max m y)) (0.0, -f64.inf) (map (\\x -> "
     "(x, x)) a)",
     "f64 9")
SAME(fold_empty, "entry main (a: []f64) : f64 = fold (+) 0.0 a[0:0]", "f64 3")
SAME(fold_argmax,
     "entry main (a: []f64) : (f64, i64) = fold (\\(x, i) (y, j) -> if y > x then (y, j) else (x, i)) (-f64.inf, -1) "
     "(zip a (iota (length a)))",
     "f64 20")
SAME(fold_mixed,
     "entry main [m] (a: [][m]f64) : ([]f64, i64) = fold (\\(r, n) (x, k) -> (map2 (+) r x, n + k)) (replicate m 0.0, "
     "0) (map (\\r -> (r, 1)) a)",
     "f64 3x9")
SAME(fold_free, "entry main (k: f64) (a: []f64) : f64 = fold (\\x y -> x + y * k) 0.0 a", "f64 = 2", "f64 9")
SAME(maxima, "entry main (a: [][]f64) : ([]f64, []f64) = (map maximum a, map minimum a)", "f64 3x9")
SAME(fold1_custom, "entry main (a: []f64) : f64 = fold1 (\\x y -> if x < y then x else y) a", "f64 9")
SAME(fold1_rows, "entry main (a: [][]i64) : []i64 = map (fold1 (\\x y -> x * 10 + y)) a", "i64 3x4")
FAILS(fold1_empty, "entry main (a: []f64) : f64 = fold1 (\\x y -> if x < y then x else y) a[0:0]", "f64 9")
SAME(scans, "entry main (a: []f64) : ([]f64, []f64, []f64) = (scan (+) 0.0 a, scan_ex (+) 0.0 a, scan_right (+) 0.0 a)",
     "f64 9")
SAME(scan_rows, "entry main (a: [][]f64) : [][]f64 = map (scan (+) 0.0) a", "f64 3x5")
SAME(scan_totals, "entry main (a: []f64) : ([]f64, f64) = scan_total (+) 0.0 a", "f64 9")
SAME(scan_columns, "entry main [m] (a: [][m]f64) : [][]f64 = scan (map2 (+)) (replicate m 0.0) a", "f64 4x3")
SAME(all_any, "entry main (a: [][]f64) : ([]bool, []bool) = (map (all (> 0.0)) a, map (any (> 4.0)) a)", "f64 4x3")

SAME(permute_hist, "entry main (n: i64) (is: []i64) : []i64 = permute (+) (replicate n 0) is (map (\\_ -> 1) is)",
     "i64 = 7", "i64 40")
SAME(permute_dest, "entry main (d: []f64) (is: []i64) (xs: []f64) : []f64 = permute (+) d is xs", "f64 7", "i64 20",
     "f64 20")
SAME(permute_2d, "entry main (d: [][]f64) (is: [](i64, i64)) (xs: []f64) : [][]f64 = permute (+) d is xs", "f64 7x9",
     "i64 20; i64 20", "f64 20")
SAME(permute_rows, "entry main (d: [][]f64) (is: []i64) (xs: [][]f64) : [][]f64 = permute (map2 (+)) d is xs",
     "f64 7x4", "i64 20", "f64 20x4")
SAME(permute_in_map,
     "entry main (iss: [][]i64) : [][]i64 = map (\\is -> permute (+) (replicate 5 0) is (map (\\_ -> 1) is)) iss",
     "i64 4x9")
SAME(permute_nested, "entry main (d: []f64) (iss: [][]i64) (xss: [][]f64) : []f64 = permute f64.max d iss xss", "f64 7",
     "i64 4x5", "f64 4x5")
SAME(scatter, "entry main (d: []f64) (is: []i64) (xs: []f64) : []f64 = scatter d is xs", "f64 7", "i64 20", "f64 20")
SAME(scatter_in_map, "entry main (d: []f64) (iss: [][]i64) (xs: []f64) : [][]f64 = map (\\is -> scatter d is xs) iss",
     "f64 7", "i64 3x20", "f64 20")

SAME(fft_1d, "entry main (a: [][]c128) : [][]c128 = map (\\r -> ifft (map (* 2) (fft r))) a", "c128 3x8")
SAME(fft_2d, "entry main (a: [][]c128) : [][]c128 = fft (transpose a)", "c128 4x6")

SAME(if_scalar,
     "entry main (a: []f64) : []f64 = map (\\x -> if x > 0.0 then f64.sqrt x else if x < -3.0 then 1.0 else -x) a",
     "f64 30")
SAME(if_division, "entry main (a: []i64) : []i64 = map (\\x -> if x == 0 then -1 else 100 / x) a", "i64 30")
FAILS(division, "entry main (a: []i64) : []i64 = map (\\x -> 100 / x) a", "i64 30")
SAME(if_index,
     "entry main (a: []f64) (is: []i64) : []f64 = map (\\i -> if i >= 0 && i < length a then a[i] else 0.0) is",
     "f64 5", "i64 30")
SAME(if_array, "entry main (a: [][]f64) : [][]f64 = map (\\r -> if r[0] > 0.0 then r else map (* 2.0) r) a", "f64 9x4")
SAME(if_array_sum,
     "entry main (a: [][]f64) : []f64 = map (\\r -> if r[0] > 0.0 then sum r else maximum (map (+ 1.0) r)) a",
     "f64 9x4")
SAME(if_uniform, "entry main (c: bool) (a: [][]f64) : [][]f64 = map (\\r -> if c then map (+ sum r) r else r) a",
     "bool = 1", "f64 9x4")
SAME(if_uniform_false, "entry main (c: bool) (a: [][]f64) : [][]f64 = map (\\r -> if c then map (+ sum r) r else r) a",
     "bool = 0", "f64 9x4")
SAME(if_uniform_fft, "entry main (c: bool) (a: [][]c128) : [][]c128 = map (\\r -> if c then fft r else r) a",
     "bool = 1", "c128 3x4")
SAME(if_shapes, "entry main (a: [][]f64) : [][]f64 = map (\\r -> if r[0] > 0.0 then r else r ++ r) a", "f64 9x4")

SAME(loop_scalar,
     "entry main (a: []f64) : []f64 = map (\\x -> loop y = x while y < 100.0 do y * 2.0 + 1.0) (map f64.abs a)",
     "f64 12")
SAME(loop_for, "entry main (n: i64) : i64 = (loop (a, b) = (0i64, 1i64) for _i < n do (b, a + b)).0", "i64 = 30")
SAME(loop_for_each,
     "entry main (ns: []i64) : []i64 = map (\\n -> (loop (a, b) = (0i64, 1i64) for _i < n do (b, a + b)).0) ns",
     "i64 9")
SAME(loop_loads, "entry main (a: []f64) (ns: []i64) : []f64 = map (\\n -> loop s = 0.0 for i < n do s + a[i]) ns",
     "f64 14", "i64 9")
FAILS(loop_loads_outside,
      "entry main (a: []f64) (ns: []i64) : []f64 = map (\\n -> loop s = 0.0 for i < n do s + a[i]) ns", "f64 9",
      "i64 9")
SAME(loop_array, "entry main (a: []f64) : []f64 = loop x = a for _i < 3 do map2 (+) x (reverse x)", "f64 6")
SAME(loop_array_rows, "entry main (a: [][]f64) : [][]f64 = map (\\r -> loop x = r for i < 4 do map (* f64.i64 i) x) a",
     "f64 6x4")
SAME(loop_while_array,
     "entry main (a: []f64) : []f64 = loop x = a while sum x < 1000.0 do map (\\y -> f64.abs y + 1.0) x", "f64 6")
SAME(loop_swap, "entry main (a: []f64) (b: []f64) : ([]f64, []f64) = loop (x, y) = (a, b) for _i < 3 do (y, x)",
     "f64 6", "f64 6")
SAME(loop_gains_axis, "entry main (a: []f64) : []f64 = map (\\x -> loop y = 0.0 for _i < 3 do y + x) a", "f64 6")
SAME(loop_gains_array_axis,
     "entry main (a: []f64) (r: []f64) : [][]f64 = map (\\x -> loop y = r for _i < 3 do map (+ x) y) a", "f64 6",
     "f64 4")
SAME(loop_fft, "entry main (a: [][]c128) : [][]c128 = map (\\r -> loop x = r for _i < 2 do fft x) a", "c128 3x4")
SAME(loop_inner_sum, "entry main (a: [][]f64) : f64 = loop s = 0.0 for i < length a do s + sum a[i]", "f64 9x4")
SAME(loop_grows, "entry main (a: []f64) : []f64 = loop x = a for _i < 3 do x ++ x", "f64 6")
SAME(loop_halves,
     "entry main (a: [][]f64) : []f64 = map (\\r -> (loop x = r for _i < 3 do map2 (+) x[0:length x / 2] x[length x / "
     "2:])[0]) a",
     "f64 3x8")
SAME(loop_grows_unknown, "entry main (n: i64) (a: []f64) : []f64 = loop x = a for _i < n do x ++ x", "i64 = 3", "f64 6")
SAME(loop_rows_differ,
     "entry main (a: [][]f64) : [][]f64 = map (\\r -> loop x = r while x[0] < 100.0 do map (\\y -> f64.abs y + 1.0) "
     "x) a",
     "f64 9x4")

/* FIELD-NOTES: predicates that only look uniform. */
SAME(unsound_two_turns,
     "entry main (a: [](f64, f64)) : [][]f64 = map (\\(e, _) -> (loop (x, y, z) = (0.0, 0.0, [e, e]) while x < 10.0 "
     "do (y + 1.0, e, map (+ 1.0) z)).2) (map (\\(e, f) -> (if e < 3.0 then 30.0 - e else 12.0, f)) a)",
     "f64 5; f64 5")
SAME(unsound_two_turns_scalar,
     "entry main (a: []f64) : []f64 = map (\\e -> (loop (x, y) = (0.0, 0.0) while x < 10.0 do (y, e)).0) (map (+ 20.0) "
     "a)",
     "f64 5")
SAME(unsound_one_turn,
     "entry main (a: []f64) : []f64 = map (\\e -> loop x = 0.0 while x < 10.0 do x + e) (map (+ 20.0) a)", "f64 5")
SAME(unsound_growing,
     "entry main (a: [][]f64) : [][]f64 = map (\\r -> loop x = r for _i < 2 do if x[0] > 0.0 then x ++ x else r) a",
     "f64 5x2")

SAME(assert_holds, "entry main (a: []f64) : []f64 = map (\\x -> assert (x > -10.0) (x * 2.0)) a", "f64 9")
FAILS(assert_fails, "entry main (a: []f64) : []f64 = map (\\x -> assert (x > 0.0) (x * 2.0)) a", "f64 9")
SAME(assert_in_branch, "entry main (a: []f64) : []f64 = map (\\x -> if x > 0.0 then assert (x > 0.0) x else 0.0) a",
     "f64 9")
SAME(claims,
     "entry main [n][m] (a: [n][m]f64) (b: [m][n]f64) : [n][n]f64 = map (\\r -> map (\\c -> sum (map2 (*) r c)) "
     "(transpose b)) a",
     "f64 3x70", "f64 70x3")
FAILS(no_constant_is_there, "entry main (a: []f64) : f64 = let z : []f64 = [] in z[0]", "f64 3")
FAILS(no_constant_is_there_if, "entry main (a: []f64) : f64 = let z : []f64 = [] in (if length a > 2 then z[0] else 0)",
      "f64 3")
FAILS(no_constant_is_there_to_add, "entry main (a: []f64) : f64 = a[0] + (replicate 2 7)[i64 (length a)]", "f64 3")
FAILS(claim_fails, "entry main [n] (a: [n]f64) (b: [n]f64) : []f64 = a ++ b", "f64 3", "f64 4")
FAILS(claim_fails_large, "entry main [n] (a: [n]f64) (b: [n]f64) : []f64 = a ++ b", "f64 73", "f64 84")

/* Nothing that an empty map does not do may fail. */
SAME(empty_division, "entry main (n: i64) (m: i64) (a: []f64) : []f64 = map (\\x -> x + f64.i64 (n / m)) a[0:m]",
     "i64 = 3", "i64 = 0", "f64 9")
SAME(empty_index, "entry main (m: i64) (a: []f64) (b: []f64) : []f64 = map (\\x -> x + b[7]) a[0:m]", "i64 = 0",
     "f64 9", "f64 2")
SAME(empty_assert, "entry main (m: i64) (a: []f64) : []f64 = map (\\x -> assert (m > 0) x) a[0:m]", "i64 = 0", "f64 9")
SAME(empty_inner, "entry main (m: i64) (k: i64) : i64 = sum (generate m (\\_ -> sum (iota (10 / k))))", "i64 = 0",
     "i64 = 0")
SAME(empty_rows, "entry main (a: [][]f64) : (i64, [][]f64) = (length (transpose a), transpose a)", "f64 0x5")

SAME(known_extent, "entry main (n: i64) : [][]f64 = generate (n, n) (\\i j -> if i == j then 1.0 else 0.0)", "i64 = 5")
SAME(matmul,
     "entry main (a: [][]f64) (b: [][]f64) : [][]f64 = map (\\r -> map (\\c -> sum (map2 (*) r c)) (transpose b)) a",
     "f64 3x4", "f64 4x5")
SAME(power_iteration,
     "entry main (a: [][]f64) (x: []f64) : []f64 = loop x = x for _i < 5 do let y = map (\\r -> sum (map2 (*) r x)) a "
     "let n = f64.sqrt (sum (map (\\v -> v * v) y)) in map (/ n) y",
     "f64 5x5", "f64 5")
SAME(min_max_nan, "entry main (a: []f64) : (f64, f64) = (minimum (map (\\x -> x / 0.0) a), maximum a)", "f64 5")
SAME(complex_numbers, "entry main (a: []c128) : ([]f64, []c128) = (map abs a, map (\\z -> conj z * z + scale 2.0 z) a)",
     "c128 5")
SAME(integers, "entry main (a: []i32) : []i32 = map (\\x -> (x << 3) ^ (x % 5) + i32.popc x) a", "i32 20")
SAME(imap, "entry main (a: []f64) : []f64 = imap (\\i x -> f64.i64 i * x) a", "f64 8")
SAME(irregular, "entry main (n: i64) : [][]i64 = generate n (\\i -> iota i)", "i64 = 4")
SAME(irregular_summed,
     "entry main (n: i64) : []i64 = generate n (\\i -> let s = if i > 1 then sum (iota i) else 0 in s)", "i64 = 4")
SAME(filtered, "entry main (a: []f64) : []f64 = filter (> 0.0) a", "f64 9")

/* What is said with other operations is compiled as they are: windows of every boundary, alone and in maps. */
SAME(stencil_clamp, "entry main (a: []f64) : []f64 = stencil #clamp (\\w -> w[-2] + 2.0 * w[0] - w[1]) a", "f64 9")
SAME(stencil_mirror, "entry main (a: []f64) : []f64 = stencil #mirror (\\w -> w[-2] + 2.0 * w[0] - w[4]) a", "f64 3")
SAME(stencil_wrap, "entry main (a: []f64) : []f64 = stencil #wrap (\\w -> w[-2] + 2.0 * w[0] - w[1]) a", "f64 90")
SAME(stencil_constant, "entry main (a: []f64) : []f64 = stencil (#constant 7) (\\w -> w[-2] + 2.0 * w[0] - w[1]) a",
     "f64 9")
SAME(stencil_2d,
     "entry main (a: [][]f64) : [][]f64 = stencil (#constant 0) (\\w -> w[-1, 0] + w[1, 0] + w[0, -1] + w[0, 1]) a",
     "f64 6x70")
SAME(stencil_of_rows, "entry main (a: [][]f64) : [][]f64 = stencil #wrap (\\w -> zip_with (+) w[-1] w[1]) a", "f64 5x4")
SAME(stencil_in_map,
     "entry main (a: [][]f64) (d: i64) : [][]f64 = map (stencil #mirror (\\w -> w[d] + w[-d] * w[0])) a", "f64 4x7",
     "i64 = 9")
SAME(stencil_in_loop,
     "entry main (a: [][]f64) : [][]f64 = loop a = a for _ < 3 do stencil #clamp (\\w -> 0.5 * (w[0, 1] + w[1, 0])) a",
     "f64 5x6")
SAME(stencil_empty, "entry main (a: []f64) : []f64 = stencil #wrap (\\w -> w[1]) a", "f64 0")
SAME(match_numbers,
     "entry main (a: []i64) : []i64 = map (\\x -> match x % 7 case 0 -> 10 case 3 -> x case 5 -> 1 / x case _ -> -1) a",
     "i64 90")
SAME(match_tuples,
     "entry main (a: []f64) : []f64 = imap (\\i x -> match (i % 3, x > 0.5) case (0, true) -> x case (_, false) -> 1.0 "
     "case (n, _) -> f64.i64 n) a",
     "f64 50")
SAME(sorted, "entry main (a: []f64) : []f64 = sort a", "f64 19")
SAME(sorted_nothing, "entry main (a: []f64) : []f64 = sort a[0:0]", "f64 9")
SAME(sorted_nan, "entry main (a: []f64) : []f64 = map (\\x -> if f64.is_nan x then 7 else x) (sort (map f64.sqrt a))",
     "f64 30")
SAME(sorted_ties, "entry main (a: []i64) : []i64 = map (.1) (sort_by (\\(x, _) -> x % 3) (zip a (iota (length a))))",
     "i64 40")
SAME(sorted_rows, "entry main (a: [][]f64) : [][]f64 = map (sort_by (\\x -> -x)) a", "f64 3x4")
SAME(sorted_of_rows, "entry main (a: [][]i64) : [][]i64 = sort_by (\\r -> (r[0] % 2, r[1])) a", "i64 9x3")
SAME(sorted_tuples, "entry main (a: [](i64, f64)) : [](i64, f64) = sort_by (\\(i, x) -> (x > 0.0, i % 4, x)) a",
     "i64 30; f64 30")
SAME(sorted_elsewhere, "entry main (a: [][]f64) (k: []f64) : [][]f64 = map (\\r -> map2 (+) r (sort k)) a", "f64 3x4",
     "f64 4")
SAME(sorted_mixed_levels,
     "entry main (a: [][]i64) (k: []i64) : [][]i64 = map (\\r -> map (.0) (sort_by (\\(x, y) -> (y % 2, x)) (zip r "
     "k))) a",
     "i64 5x6", "i64 6")
SAME(sorted_under_levels, "entry main (a: [][]f64) : [][][]f64 = map (\\r -> map (\\x -> sort (map (* x) r)) r) a",
     "f64 3x4")
SAME(sorted_in_part, "entry main (a: [][]f64) : [][]f64 = map (\\r -> if r[0] > 0.5 then sort r else r) a", "f64 7x4")
SAME(sorted_ragged,
     "entry main (a: []i64) : []i64 = map (\\n -> sum (imap (*) (sort (map (\\i -> i * 7 % 5) (iota (i64.abs n)))))) a",
     "i64 12")
SAME(sorted_filtered,
     "entry main (a: [][]f64) : []f64 = map (\\r -> fold (+) 0 (imap (\\i x -> f64.i64 i * x) (sort "
     "(filter (> 0) r)))) a",
     "f64 6x7")
SAME(sorted_in_loop,
     "entry main (a: [][]i64) : [][]i64 = map (\\r -> loop x = r for i < 3 do sort (map (\\y -> y * 3 % (7 + i)) x)) a",
     "i64 4x6")
SAME(parted, "entry main (a: []f64) : ([]f64, []f64) = partition (> 0.5) a", "f64 9")
