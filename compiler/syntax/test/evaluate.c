/* What programs mean, told by the interpreter: each text has an entry `main` that must be true. Covers the prelude, and
 * whatever of the language the front end says with simpler operations. */
#include "compiler/interp/interp.h"
#include "support.h"

static void check_true(const char *text) {
    compiled c = compile_good(text);
    const loom_function *f = loom_program_entry(c.program, "main");
    LOOM_CHECK(f);
    loom_interp_options options = {0};
    loom_value *result = NULL;
    loom_status *status =
        loom_interp_call(c.program, (uint32_t)(f - c.program->functions), NULL, &options, &result, NULL);
    if (status) loom_test_fail(__FILE__, __LINE__, "%s\nfails: %s", text, loom_status_text(status));
    if (!*(const bool *)result->leaves[0].data) loom_test_fail(__FILE__, __LINE__, "not true: %s", text);
    loom_value_unref(result);
    compiled_free(&c);
}

/* Must end with an error at this line of the text. */
static void check_fails(const char *text, unsigned line) {
    compiled c = compile_good(text);
    const loom_function *f = loom_program_entry(c.program, "main");
    loom_interp_options options = {0};
    loom_value *result = NULL;
    loom_status *status =
        loom_interp_call(c.program, (uint32_t)(f - c.program->functions), NULL, &options, &result, NULL);
    if (!status) loom_test_fail(__FILE__, __LINE__, "does not fail: %s", text);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_RUNTIME);
    LOOM_CHECK_EQ_INT(loom_status_span(status).line, line);
    loom_status_free(status);
    compiled_free(&c);
}

#define TRUE(expression)      check_true("entry main = " expression)
#define IS(expression, value) TRUE("(" expression ") == " value)

LOOM_TEST(syntax_evaluate, ranges) {
    IS("0..<4", "[0, 1, 2, 3]");
    IS("0i64..<4", "[0, 1, 2, 3]");
    IS("2...5", "[2, 3, 4, 5]");
    IS("5..>2", "[5, 4, 3]");
    IS("0..3..<10", "[0, 3, 6, 9]");
    IS("0..3..<9", "[0, 3, 6]");
    IS("0..3...9", "[0, 3, 6, 9]");
    IS("9..7...0", "[9, 7, 5, 3, 1]");
    IS("9..7..>1", "[9, 7, 5, 3]");
    IS("250u8..<255", "[250, 251, 252, 253, 254]");
    IS("3...2", "([]: []i32)");
    check_fails("entry main = length (3...1) == 0", 1);
    check_fails("entry main = length (1..1..<3) == 0", 1);
}

LOOM_TEST(syntax_evaluate, prelude) {
    TRUE("sum [1, 2, 3] == 6 && product [1, 2, 3] == 6");
    TRUE("minimum [3, 1, 2] == 1 && maximum [3f32, 1, 2] == 3");
    TRUE("maximum ([]: []f32) == -inf && minimum ([]: []i8) == 127");
    TRUE("all (> 0) [1, 2] && any (> 1) [1, 2] && !(any (> 2) [1, 2]) && and [true] && !(or [false])");
    TRUE("count (> 1) [1, 2, 3] == 2");
    TRUE("head [1, 2] == 1 && last [1, 2] == 2 && null ([]: []f32)");
    IS("init [1, 2, 3]", "[1, 2]");
    IS("tail [1, 2, 3]", "[2, 3]");
    IS("take 2 [1, 2, 3]", "[1, 2]");
    IS("drop 2 [1, 2, 3]", "[3]");
    IS("(split 1 [1, 2, 3]).1", "[2, 3]");
    IS("imap (\\i x -> i * x) [1, 2, 3]", "[0, 2, 6]");
    IS("reduce_by_index [1, 1, 1] (+) 0 [0, 2, 2, 9] [1, 2, 3, 4]", "[2, 1, 6]");
    IS("hist (+) 0 3 [0, 2, 2, -1] [1, 2, 3, 4]", "[1, 0, 5]");
    TRUE("clamp 0 10 11 == 10 && clamp 0 10 (-1) == 0 && clamp 0 10 5 == 5");
    TRUE("iterate 3 (* 2) 1 == 8 && iterate_while (< 100) (* 3) 1 == 243");
    TRUE("(id >-> (+ 1)) 1 == 2 && ((+ 1) <-< (* 2)) 3 == 7 && flip (-) 1 3 == 2 && uncurry (+) (1, 2) == 3");
    TRUE("is_inf (1f32 / 0) && !(is_inf 1f64) && is_nan (0f32 / 0)");
}

LOOM_TEST(syntax_evaluate, operators_as_parameters) {
    check_true("def most 'a ((<=): a -> a -> bool) (x: a) (y: a) = if x <= y then y else x\n"
               "entry main = most (<=) 1 2 == 2 && most (>=) 1 2 == 1 && 1 <= 2");
    check_true("def all_of (+) ne xs = reduce (+) ne xs + foldl (+) ne xs + (+ 1) ne + (1 +) ne\n"
               "entry main = all_of (*) 1 [2, 3] == 36");
    TRUE("(\\(-) x -> x - 1) (+) 2 == 3 && (let (f, (**)) = (1, (+)) in f ** 2) == 3");
}

LOOM_TEST(syntax_evaluate, indexing) {
    IS("[1, 2, 3, 4][1:3]", "[2, 3]");
    IS("[1, 2, 3, 4][::2]", "[1, 3]");
    IS("[1, 2, 3][::-1]", "[3, 2, 1]");
    IS("[[1, 2], [3, 4], [5, 6]][1:, 0]", "[3, 5]");
    IS("flatten ([[1, 2], [3, 4], [5, 6]][:2, ::-1])", "[2, 1, 4, 3]");
    IS("[1, 2, 3] with [1] = 5", "[1, 5, 3]");
    IS("[1, 2, 3] with [1:] = [5, 6]", "[1, 5, 6]");
    IS("[1, 2, 3] with [:0] = []", "[1, 2, 3]");
    IS("flatten ([[1, 2], [3, 4]] with [0, 1] = 9)", "[1, 9, 3, 4]");
    IS("[1, 2, 3, 4] with [::2] = [5, 6]", "[5, 2, 6, 4]");
    IS("[1, 2, 3] with [::-1] = [5, 6, 7]", "[7, 6, 5]");
    IS("flatten ([[1, 2], [3, 4]] with [1, :] = [5, 6])", "[1, 2, 5, 6]");
    IS("flatten ([[1, 2], [3, 4]] with [:, 0] = [5, 6])", "[5, 2, 6, 4]");
    IS("flatten (flatten ([[[1, 2], [3, 4]], [[5, 6], [7, 8]]] with [:, 1, 1:] = [[9], [0]]))",
       "[1, 2, 3, 9, 5, 6, 7, 0]");
    check_fails("entry main =\n  [1, 2][2] == 0", 2);
    check_fails("entry main =\n  length ([1, 2, 3] with [::2] = [1]) == 0", 2);
    check_fails("entry main =\n  length ([[1, 2], [3]] with [:, 1] = [1, 2]) == 0", 2);
    check_fails("entry main =\n  length ([[1, 2], [3]] with [:, 0] = [1]) == 0", 2);
    check_fails("entry main =\n  length ([1, 2] with [1:3] = [1, 2]) == 0", 2);
    check_fails("entry main =\n  length ([1, 2] with [0:2] = [1]) == 0", 2);
}

LOOM_TEST(syntax_evaluate, arithmetic) {
    TRUE("-7 / 2 == -4 && -7 % 2 == 1 && -7 // 2 == -3 && -7 %% 2 == -1");
    TRUE("-5.5 % 2.0 == 0.5 && 2 ** 10 == 1024 && 2.0 ** 0.5 == sqrt 2");
    TRUE("(1 << 4 | 3) ^ 1 == 18 && !0i8 == -1 && -8 >> 1 == -4 && popc 7u8 == 3");
    TRUE("complex 1 2 * complex 3 4 == complex (-5) 10 && abs (complex 3 4) == 5 && conj (complex 1 2) == complex 1 "
         "(-2)");
    TRUE("re (scale 2 (complex 1 3)) == 2 && im (cis 0.0) == 0");
    TRUE("f32 (i64 3000000000) == 3e9 && i8 300 == 44 && i32 2.9 == 2 && i32 (-2.9) == -2 && u8 (-1) == 255");
    TRUE("like 1u8 300 == 44 && i32.highest + 1 == i32.lowest && f64.pi > 3");
    TRUE("1 + 2 * 3 == 7 && (2 -) 1 == 1 && (- 1) == -1 && (/ 2) 6 == 3");
    check_fails("entry main =\n  let z = 0 in 1 / z == 0", 2);
}

LOOM_TEST(syntax_evaluate, lazy_and_conditional) {
    TRUE("let xs = [1] in !(length xs > 1 && xs[1] == 0)");
    TRUE("let xs = [1] in length xs == 1 || xs[1] == 0");
    TRUE("let z = 0 in if z == 0 then true else 1 / z == 0");
    check_true("def table = assert false [1, 2]\nentry main = let n = 0 in if n > 0 then table[0] == 1 else true");
    check_fails("entry main =\n  assert (1 > 2) true", 2);
}

LOOM_TEST(syntax_evaluate, loops) {
    TRUE("(loop s = 0 for i < 5 do s + i) == 10");
    TRUE("(loop s = 0u8 for i < 5 do s + i) == 10u8 && (loop s = 0 for i < 5 do i + i64.highest) < 0");
    TRUE("let n = 3 in (loop s = 0i32 for i < n do s + i * n) == 9i32");
    TRUE("(loop (a, b) = (0, 1) for _ < 10 do (b, a + b)).0 == 55");
    TRUE("(loop s = 0 for x in [1, 2, 3] do s * 10 + x) == 123");
    TRUE("(loop (n, k) = (27, 0) while n != 1 do (if n % 2 == 0 then n / 2 else 3 * n + 1, k + 1)).1 == 111");
    IS("loop xs = [1] for i < 3 do xs ++ xs", "(replicate 8 1)");
    check_fails("entry main =\n  length (loop xs: [1]i32 = [1] for i < 2 do\n  xs ++ xs) == 4", 2);
}

LOOM_TEST(syntax_evaluate, claims) {
    check_true("def f [n] (xs: [n]f32) (ys: [n]f32) = n entry main = f [1, 2] [3, 4] == 2");
    check_fails("def f [n] (xs: [n]f32)\n  (ys: [n]f32) = n\nentry main = f [1, 2] [3] == 2", 2);
    check_true("def f [n][m] (xs: [n][m]f32) : [m][n]f32 = transpose xs entry main = length (f [[1, 2]]) == 2");
    check_fails("def f [n] (xs: [n]f32) :\n  [n]f32 = xs ++ xs\nentry main = length (f [1]) == 2", 2);
    check_fails("def f [m] (xs: [][m]f32) = m\nentry main = f [[1], [2, 3]] == 2", 1);
    check_true("def f [m] (xs: [][m]f32) = m entry main = f [] == 0");
    check_true("type r [k] = {a: [k]f32, b: [k]i32}\n"
               "def f [k] (rs: [](r [k])) = k entry main = f [{a = [1, 2], b = [3, 4]}] == 2");
    check_fails("type r [k] = {a: [k]f32, b: [k]i32}\n"
                "def f [k] (rs: [](r [k])) = k entry main = f [{a = [1, 2], b = [3]}] == 2",
                1);
    check_true("entry main = length ((unflatten (iota 6) : [2][3]i64)[0]) == 3");
    check_fails("entry main =\n  length (unflatten (iota 6) : [2][4]i64) == 2", 2);
    check_true("def f [k] (s: seq {a: [k]i64, b: [k]i64}) = fold_seq (+) 0 (map_seq (\\e -> sum e.a) s)\n"
               "entry main = f (rows [{a = [1], b = [2]}, {a = [1, 2], b = [3, 4]}]) == 4");
    check_fails("def f [k] (s: seq {a: [k]i64,\n  b: [k]i64}) = fold_seq (+) 0 (map_seq (\\e -> sum e.a) s)\n"
                "entry main = f (rows [{a = [1], b = [2, 3]}]) == 1",
                2);
}

LOOM_TEST(syntax_evaluate, arrays) {
    IS("filter (> 1) [1, 2, 3]", "[2, 3]");
    IS("scan (+) 0 [1, 2, 3]", "[1, 3, 6]");
    IS("scan_ex (+) 0 [1, 2, 3]", "[0, 1, 3]");
    IS("scan_right (+) 0 [1, 2, 3]", "[6, 5, 3]");
    TRUE("(scan_total (+) 0 [1, 2, 3]).1 == 6");
    IS("scatter [0, 0, 0] [2, 0, 2, 5] [1, 2, 3, 4]", "[2, 0, 3]");
    IS("gather [5, 6, 7] [2, 0]", "[7, 5]");
    IS("backpermute [0, 0, 0] (\\i -> i - 1) [7, 8]", "[0, 7, 8]");
    IS("flatten (backpermute (replicate 2 (replicate 3 0)) (\\(i, j) -> (i, j)) [[1, 2]])", "[1, 2, 0, 0, 0, 0]");
    IS("flatten (backpermute (replicate 2 [0]) (\\(i: i64) -> 1 - i) [[1], [2]])", "[2, 1]");
    IS("flatten (permute (map2 (+)) [[0, 0], [1, 1]] [1, 1] [[1, 2], [3, 4]])", "[0, 0, 5, 7]");
    IS("permute (+) [0, 0] [[0, 1], [1]] [[1, 2], [3]]", "[1, 5]");
    IS("flatten (permute (+) [[0, 0], [0, 0]] [(0, 1), (1, 0), (1, 0)] [1, 2, 3])", "[0, 1, 5, 0]");
    IS("rotate 1 [1, 2, 3]", "[2, 3, 1]");
    IS("reverse [1, 2, 3] ++ [4]", "[3, 2, 1, 4]");
    IS("flatten (transpose [[1, 2], [3, 4]])", "[1, 3, 2, 4]");
    TRUE("let (n, m) = extent [[1, 2, 3], [4, 5, 6]] in n == 2 && m == 3");
    check_fails("entry main =\n  (extent [[1, 2], [3]]).1 == 2", 2);
    IS("(unzip (map (\\x -> (x, x + 1)) [1, 2])).1", "[2, 3]");
    IS("map (.y) [{x = 1, y = 2}, {y = 3, x = 4}]", "[2, 3]");
    IS("reshape 4 [[1, 2], [3, 4]]", "[1, 2, 3, 4]");
    TRUE("(reshape (2, 1, 2) [1, 2, 3, 4])[1, 0, 1] == 4");
    TRUE("abs (re (sum (ifft (fft (map c128 [1, 2, 3])))) - 6) < 1e-12");
    TRUE("fold1 max [1, 5, 2] == 5 && reduce_comm (+) 0 [1, 2] == 3");
    TRUE("length (map3 (\\a b c -> a + b + c) [1] [2] [3]) == 1 && (zip3 [1] [2] [3])[0].2 == 3");
    check_fails("entry main =\n  length (zip [1] [2, 3]) == 1", 2);
}

/* What is evaluated of a foreign function is the body that the program gives it. */
LOOM_TEST(syntax_evaluate, foreign_functions) {
    check_true("foreign def dft [n] (xs: [n]c128) : [n]c128 = map (* 2) xs\n"
               "entry main = re (dft [1, 3])[1] == 6 && re (sum (map (\\x -> (dft [x])[0]) [1, 2])) == 6");
}

LOOM_TEST(syntax_evaluate, sequences) {
    TRUE("fold_seq (+) 0 (map_seq (* 2) (rows [1, 2, 3])) == 12");
    IS("from_seq (filter_seq (> 1) (rows [1, 2, 3]))", "[2, 3]");
    IS("from_seq (scan_seq (+) 0 (rows [1, 2, 3]))", "[1, 3, 6]");
    IS("from_seq (map_seq (\\(i, x) -> i * x) (enumerate_seq (rows [1, 2, 3])))", "[0, 2, 6]");
    IS("from_seq (zip_with_seq (-) (rows [5, 6]) (rows [1, 2]))", "[4, 4]");
    IS("permute_seq (+) [1, 1] (rows [0, 1, 1]) (rows [1, 2, 3])", "[2, 6]");
    TRUE("reduce_seq 0 (\\z xs -> z + sum xs) (+) (rows [1, 2, 3]) == 6");
    TRUE("chain_seq 0 (\\state x -> 10 * state + x) (rows [1, 2, 3]) == 123 && chain_seq 7 (+) (rows (take 0 [1])) == "
         "7");
    IS("chain_seq [0] (\\seen (x, keep) -> if keep then seen ++ [x] else seen) (rows [(4, true), (5, false), (6, "
       "true)])",
       "[0, 4, 6]");
    check_fails("entry main = chain_seq 1 (\\state x -> state +\n  6 / x) (rows [1, 0, 2])", 2);
    IS("from_seq (group_seq 3 (\\x -> [x, x + 1]) (rows [0, 1, 1]) (\\k ys -> k * 10 + fold_seq (+) 0 ys))",
       "[0, 12, 22]");
    /* 2 closes 0 and 1, before the last element comes; group 1 is empty */
    IS("from_seq (group_seq forever (\\(k, _) -> [k]) (rows [(0, 1), (2, 5), (2, 6), (0, 9)]) (\\k ys -> (k, fold_seq "
       "(+) "
       "0 (map_seq (.1) ys))))",
       "[(0, 1), (1, 0), (2, 11)]");
    IS("from_seq (group_seq forever (\\k -> [k, k + 1]) (rows [1, 1, -7]) (\\k ys -> fold_seq (+) 0 ys))", "[0, 1, 2]");
    IS("from_seq (group_seq forever (\\k -> [k]) (rows (take 0 [1])) (\\k ys -> k))", "take 0 [1]");
    check_true("def counted n s = group_seq n (\\x -> [x]) s (\\k ys -> fold_seq (+) 0 ys)\n"
               "entry main = from_seq (counted forever (rows [1, 1])) == from_seq (counted 2 (rows [1, 1]))");
    check_fails("entry main = from_seq (group_seq forever (\\k -> [k * 1048576])\n (rows [1]) (\\k ys -> k))", 1);
    check_true("def total s = fold_seq (+) 0 s\nentry main = total (rows [1, 2]) == 3 && total (rows [1.5]) == 1.5");
}

LOOM_TEST(syntax_evaluate, equality) {
    TRUE("(1, true) == (1, true) && (1, true) != (2, true) && {x = 1, y = 2} == {y = 2, x = 1} && () == ()");
    TRUE("[1, 2] == [1, 2] && [1, 2] != [1] && [[1], [2, 3]] == [[1], [2, 3]] && [[1]] != [[2]]");
    TRUE("[(1, [2])] == [(1, [2])] && ([]: []f32) == []");
}

LOOM_TEST(syntax_evaluate, genericity) {
    check_true("def scaled x = x * like x 0.5\nentry main = scaled 3f32 == 1.5 && scaled 3f64 == 1.5");
    check_true("def poly 'a (c: []a) (x: a) = loop acc = c[0] for k in drop 1 c do acc * x + k\n"
               "entry main = poly [1, 2, 3] 2 == 11 && poly [1, 2, 3] 2f32 == 11 && poly [1] (complex 0 1) == 1");
    check_true("def twice f = f >-> f\nentry main = twice (+ 3) 1 == 7 && (twice (map (* 2)) [1, 2] |> sum) == 12");
}

/* The first case that fits, whatever the number of cases; the subject is evaluated once. */
LOOM_TEST(syntax_evaluate, match) {
    IS("map (\\x -> match x case 0 -> 10 case -1 -> 20 case n -> n + 1) [0, -1, 7]", "[10, 20, 8]");
    IS("map (\\x -> match x case 0 -> 1 case 1 -> 2 case 2 -> 3 case 3 -> 4 case 4 -> 5 case _ -> 6) [4, 3, 2, 1, 0, "
       "-1]",
       "[5, 4, 3, 2, 1, 6]");
    IS("map2 (\\x b -> match (x, b) case (0, true) -> 1 case (_, false) -> 2 case (1, _) -> 3 case (n, _) -> n)"
       " [0, 5, 1, 9] [true, false, true, true]",
       "[1, 2, 3, 9]");
    IS("map (\\x -> match {a = x, b = (x > 2, x)} case {a = 1} -> 10 case {b = (true, y), a = _} -> y case {a} -> -a)"
       " [1, 2, 3]",
       "[10, -2, 3]");
    IS("map (\\x -> match x case true -> 1 case false -> 2) [true, false]", "[1, 2]");
    IS("map (\\x -> match x case 0.5 -> 1 case -0 -> 2 case 1e3 -> 3 case _ -> 4) [0.5, 0, 1000, f64.nan]",
       "[1, 2, 3, 4]");
    IS("map (\\x -> match x case 0 -> (match x + 1 case 1 -> 5 case _ -> 6) case _ -> 7) [0, 1]", "[5, 7]");
    /* More than FEW. */
    IS("map (\\(x: i64) -> match x case 9 -> 1 case -5 -> 2 case 100 -> 3 case 0 -> 4 case 7 -> 5 case 8 -> 6 case 1 "
       "-> 7"
       " case 2 -> 8 case -9 -> 9 case n -> n * 2) [9, -5, 100, 0, 7, 8, 1, 2, -9, 3, -10, 101, 50]",
       "[1, 2, 3, 4, 5, 6, 7, 8, 9, 6, -20, 202, 100]");
    IS("map (\\(x: f32) -> match x case 0.5 -> 1 case 0.25 -> 2 case -1 -> 3 case 3 -> 4 case 5 -> 5 case 6 -> 6 case "
       "7 -> 7"
       " case 8 -> 8 case 9 -> 9 case _ -> 10) [0.5, 0.25, -1, 3, 9, f32.nan, -f32.inf, f32.inf, 0]",
       "[1, 2, 3, 4, 9, 10, 10, 10, 10]");
    IS("map (\\(x: u64) -> match x case 18446744073709551615 -> 1 case 9223372036854775808 -> 2 case 0 -> 3 case 1 -> 4"
       " case 2 -> 5 case 3 -> 6 case 4 -> 7 case 5 -> 8 case _ -> 9) [18446744073709551615, 9223372036854775808, 0, "
       "5, "
       "18446744073709551614]",
       "[1, 2, 3, 8, 9]");
    IS("map (\\x -> match (x / 3, x % 3 == 0) case (0, true) -> 0 case (0, _) -> 1 case (1, true) -> 2 case (1, false) "
       "-> 3"
       " case (2, true) -> 4 case (_, true) -> 5 case (3, _) -> 6 case (4, _) -> 7 case (5, _) -> 8 case (n, _) -> n)"
       " [0, 1, 3, 5, 6, 7, 9, 10, 13, 17, 19]",
       "[0, 1, 2, 3, 4, 2, 5, 6, 7, 8, 6]");
    IS("match 3 case (x: i32) -> x + 1", "4");
    IS("match ([1, 2], 0) case (xs, 0) -> xs case (xs, n) -> map (+ n) xs", "[1, 2]");
    TRUE("match complex 1 0 case 1 -> true case _ -> false");
    /* A branch that is not taken does not fail. */
    TRUE("(match 0 case 0 -> 1 case n -> 1 / (n - n)) == 1");
    check_fails("entry main =\n  let zero = 0\n  in match 1 / zero case _ -> true", 3);
}

LOOM_TEST(syntax_evaluate, partition) {
    TRUE("partition (> 2) [1, 3, 2, 4, 0] == ([3, 4], [1, 2, 0])");
    TRUE("partition (> 2) [] == ([], [])");
    TRUE("partition (\\(x, y) -> x > y) [(1, 2), (2, 1)] == ([(2, 1)], [(1, 2)])");
    TRUE("partition (\\r -> length r > 1) [[1], [2, 3], []] == ([[2, 3]], [[1], []])");
    check_fails("entry main =\n  let z = 0\n  in (partition (\\x -> 1 / z > x) [1]).0 == []", 3);
}

LOOM_TEST(syntax_evaluate, sort) {
    IS("sort [3, 1, 2]", "[1, 2, 3]");
    IS("sort [true, false, true]", "[false, true, true]");
    IS("sort [2u8, 255, 0]", "[0, 2, 255]");
    TRUE("let xs = sort [f32.nan, 1, -f32.inf, f32.inf] in xs[0] == -f32.inf && xs[2] == f32.inf && is_nan xs[3]");
    IS("sort_by (\\(x, y) -> (y, -x)) [(1, true), (2, false), (3, true), (4, false)]",
       "[(4, false), (2, false), (3, true), (1, true)]");
    IS("sort_by (\\x -> x / 10) [31, 12, 11, 30, 2]", "[2, 12, 11, 31, 30]");
    IS("sort_by length [[1, 2, 3], [], [4], [5, 6], [7]]", "[[], [4], [7], [5, 6], [1, 2, 3]]");
    IS("sort_by (\\r -> {k = r.b, j = 0}) [{a = 1, b = 2}, {a = 2, b = 1}]", "[{a = 2, b = 1}, {a = 1, b = 2}]");
    IS("map sort [[2, 1], [3], []]", "[[1, 2], [3], []]");
    TRUE("i32.sort [2, 1] == [1, 2]");
    check_true("def descending 'a (xs: []a) : []a = reverse (sort xs)\n"
               "entry main = descending [1, 3, 2] == [3, 2, 1] && descending [0.5, 1] == [1, 0.5]");
}

/* Each boundary near and far, against what it stands for. */
LOOM_TEST(syntax_evaluate, stencil) {
#define NEAR(boundary, xs) "stencil " boundary " (\\w -> 100 * w[-1] + 10 * w[0] + w[1]) " xs
    IS(NEAR("#clamp", "[1, 2, 3]"), "[112, 123, 233]");
    IS(NEAR("#mirror", "[1, 2, 3]"), "[212, 123, 232]");
    IS(NEAR("#wrap", "[1, 2, 3]"), "[312, 123, 231]");
    IS(NEAR("(#constant 9)", "[1, 2, 3]"), "[912, 123, 239]");
    IS(NEAR("#clamp", "[1]"), "[111]");
    IS(NEAR("#mirror", "[1]"), "[111]");
    IS(NEAR("#wrap", "[1]"), "[111]");
    IS(NEAR("(#constant 9)", "[1]"), "[919]");
    IS(NEAR("#mirror", "([]: []i32)"), "[]");
    IS("map (\\d -> (stencil #clamp (\\w -> w[d]) [1, 2, 3])[1]) [-5, -1, 0, 1, 7]", "[1, 1, 2, 3, 3]");
    IS("map (\\d -> (stencil #mirror (\\w -> w[d]) [1, 2, 3])[0]) (-5...5)", "[2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2]");
    IS("map (\\d -> (stencil #wrap (\\w -> w[d]) [1, 2, 3])[0]) (-5...5)", "[2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3]");
    IS("map (\\d -> (stencil (#constant 0) (\\w -> w[d]) [1, 2, 3])[1]) [-5, -2, -1, 0, 1, 2]", "[0, 0, 1, 2, 3, 0]");
    /* Offsets beyond any array do not wrap around. */
    IS("map (\\d -> (stencil #clamp (\\w -> w[d]) [1, 2, 3])[2]) [i64.highest, i64.lowest]", "[3, 1]");
    IS("map (\\d -> (stencil (#constant 7) (\\w -> w[d]) [1, 2, 3])[2]) [i64.highest, i64.lowest]", "[7, 7]");
    IS("map (\\d -> (stencil #wrap (\\w -> w[d]) [1, 2, 3])[2]) [i64.highest, i64.lowest]",
       "[[1, 2, 3][(2 + i64.highest % 3) % 3], [1, 2, 3][(2 + i64.lowest % 3) % 3]]");
    /* Ranks by the number of indices. */
    IS("stencil (#constant 0) (\\w -> w[-1, 0] + w[1, 0] + w[0, -1] + w[0, 1]) [[1, 2], [3, 4], [5, 6]]",
       "[[5, 5], [10, 11], [9, 9]]");
    IS("stencil #wrap (\\w -> zip_with (+) w[-1] w[0]) [[1, 2], [3, 4], [5, 6]]", "[[6, 8], [4, 6], [8, 10]]");
    IS("stencil #clamp (\\w -> w[0][1] - w[1][0]) [[1, 2], [3, 4]]", "[-1, 1]");
    IS("stencil #clamp (\\w -> w[1, -1, 0] + w[0, 0, 1]) [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]",
       "[[[7, 8], [9, 10]], [[11, 12], [13, 14]]]");
    IS("stencil #clamp (\\_ -> 1) [[0, 0], [0, 0]]", "[[1, 1], [1, 1]]");
    /* Several inputs, windows given on, read in loops, by sections, from inside another stencil. */
    IS("stencil #clamp (\\w -> w[-1].0 * w[1].1) (zip [1, 2, 3] [4, 5, 6])", "[5, 6, 12]");
    check_true("def blur w = (w[-1] + w[0] + w[1]) / 3\n"
               "def smooth boundary xs = stencil boundary blur xs\n"
               "entry main = smooth #clamp [3, 6, 9] == [4, 6, 8] && smooth (#constant 0) [3.0, 6, 9] == [3, 6, 5]");
    IS("stencil #clamp (\\w -> loop s = 0 for d < 3 do s + w[d]) [1, 2, 3]", "[6, 8, 9]");
    IS("stencil #clamp (.[1]) [1, 2, 3]", "[2, 3, 3]");
    IS("stencil #clamp (\\w -> sum (stencil #clamp (\\v -> w[1] * v[0]) [1, 2])) [1, 2]", "[6, 6]");
    check_fails("entry main =\n  length (stencil #clamp (\\w -> w[0, 1]) [[1, 2], [3]]) == 0", 2);
#undef NEAR
}
