/* What programs become: types, instances, claims, laziness, defaults. */
#include "support.h"

LOOM_TEST(syntax_elaborate, literals_take_the_type_they_are_needed_at) {
    check_type("entry main = 1", "i32");
    check_type("entry main = 1.5", "f64");
    check_type("entry main (x: f32) = x * 2 + 0.5", "f32");
    check_type("entry main (x: c64) = 2 * x + 1.5", "c64");
    check_type("entry main (x: u8) = (x + 1, -128i8)", "(u8, i8)");
    check_type("entry main = sqrt 2", "f64");
    check_type("entry main = i64 3000000000", "i64");
    check_type("entry main = [1, 2.5]", "[]f64");
    check_type("entry main (xs: []i16) = fold (+) 0 xs", "i16");
    check_core("entry main (x: f32) = x + 3e38", "const 3.0");
}

LOOM_TEST(syntax_elaborate, indices_and_sizes_are_i64) {
    check_type("entry main (xs: []f32) = let i = 1 in (xs[i], i)", "(f32, i64)");
    check_type("entry main = let n = 3 in (iota n, n)", "([]i64, i64)");
    check_type("entry main = loop s = 0.5f32 for i < 10 do s * f32 i", "f32");
    check_type("entry main (n: u8) = loop s = 0 for i < n do s + i", "u8");
}

LOOM_TEST(syntax_elaborate, defs_are_checked_anew_at_each_use) {
    check_type("def twice x = x + x entry main (a: f32) (b: i64) = (twice a, twice b)", "(f32, i64)");
    check_type("def zero = 0 entry main (a: f32) (b: c64) = (a + zero, b + zero)", "(f32, c64)");
    check_type("def get r = r.x entry main (a: {x: f32}) (b: {x: i8, y: f32}) = (get a, get b)", "(f32, i8)");
    check_type("entry main (a: f32) = let f x = x * 2 in (f a, f 1i32)", "(f32, i32)");
    check_type("def one 't (x: t) : t = 1 entry main (a: f32) (b: u16) = (one a, one b)", "(f32, u16)");
    check_type("def half x = x * like x 0.5 entry main (a: f32) (b: f64) = (half a, half b)", "(f32, f64)");
    /* one instance for each set of argument types, called */
    check_core("def f x = x + x entry main (a: f32) (b: f32) (c: i64) = (f a, f b, f c)", "def f.2 (");
    check_no_core("def f x = x + x entry main (a: f32) (b: f32) (c: i64) = (f a, f b, f c)", "f.3");
}

LOOM_TEST(syntax_elaborate, functions_are_values_of_compile_time) {
    check_type("def twice f x = f (f x) entry main (a: f32) = twice (+ 1) a", "f32");
    check_no_core("def twice f x = f (f x) entry main (a: f32) = twice (+ 1) a", "call");
    check_type("def adder n = \\x -> x + n entry main (a: f32) = (adder a) 2", "f32");
    check_type("def compose f g x = f (g x) entry main = map (compose (f32.i64) (* 2)) (iota 3)", "[]f32");
    check_type("entry main (xs: []f32) = xs |> map (2 -) |> filter (> 0) |> length", "i64");
    check_type("entry main (x: f32) = (sqrt >-> (+ 1)) x", "f32");
    check_type("def pair = (sin, 2f32) entry main (x: f32) = let (f, y) = pair in f x + y", "f32");
    check_type("entry main (rs: [](f32, i8)) = (map (.1) rs, map (\\(a, _) -> a) rs)", "([]i8, []f32)");
    check_type("entry main (xss: [][]f32) = map (.[0]) xss", "[]f32");
    check_type("def apply (f: f32 -> i64 -> f32) = f 1 2 entry main = apply (\\a b -> a * f32 b)", "f32");
}

LOOM_TEST(syntax_elaborate, operators_by_type) {
    check_core("entry main (a: i32) (b: i32) = a / b", "= idiv");
    check_core("entry main (a: f32) (b: f32) = a / b", "= / ");
    check_core("entry main (a: f32) (b: f32) = a % b", "fmod");
    check_core("entry main (z: c64) = abs z", "cabs");
    check_core("entry main (z: c64) = exp z", "cexp");
    check_core("entry main (b: bool) = !b", "= ! ");
    check_core("entry main (b: i8) = !b", "= ~ ");
    check_type("entry main (z: c64) = (re z, abs z, arg z, conj z)", "(f32, f32, f32, c64)");
    check_type("entry main (x: f32) = (complex x 1, cis x, scale x (complex 1 2))", "(c64, c64, c64)");
    check_type("entry main (x: f32) = f64.sqrt (f64.f32 x) + f64.pi", "f64");
    check_type("entry main (x: i32) = i32.max x i32.lowest + i32 (popc 5u8)", "i32");
    check_type("def (+++) a b = a + 2 * b entry main (x: f32) = x +++ x", "f32");
    check_type("entry main (x: f32) = x `max` 2", "f32");
    check_type("entry main (xs: []f32) = reduce (f32.+) 0 xs", "f32");
}

LOOM_TEST(syntax_elaborate, and_and_or_are_lazy) {
    check_core("entry main (n: i64) (xs: []f32) = n < length xs && xs[n] > 0", "if ");
    check_no_core("entry main (bs: []bool) = fold (&&) true bs", "if ");
}

LOOM_TEST(syntax_elaborate, precedence_as_futhark) {
    check_core("entry main (x: i64) = 1 + x * 2 == 3 && x < 4", "b");
    compiled c = compile_good("entry main (x: f64) = -x ** 2.0");
    char *core = core_text(&c);
    LOOM_CHECK(strstr(core, "neg") < strstr(core, "**")); /* the minus binds tighter */
    free(core);
    compiled_free(&c);
    check_type("entry main (xs: []f32) = xs with [0] = 1 with [1] = 2", "[]f32");
    check_type("entry main = 0i64..<2 + 3", "[]i64");
    check_type("entry main (x: f32) = (\\y -> y + 1) <| x * 2", "f32");
}

LOOM_TEST(syntax_elaborate, claims) {
    check_core("entry main [n] (xs: [n]f32) (ys: [n]f32) = n", "claim.1");
    check_no_core("entry main [n] (xs: [n]f32) = n", "claim");
    check_core("entry main [n][m] (xs: [n][m]f32) = m", "claim.2");
    check_core("entry main [n][m] (xs: [n][m]f32) = m", "dim.1");
    check_core("entry main (xs: [3][]f32) = xs", "claim.1");
    check_core("entry main (n: i64) (xs: [n + 1]f32) = xs", "claim.1");
    check_core("entry main [n] (xs: [n]f32) : [n]f32 = map (+ 1) xs", "claim.1");
    check_core("entry main (n: i64) = let xs: [n]f32 = [1, 2] in xs", "claim.1");
    check_core("entry main (n: i64) (x: [n]f32) = loop x: [n]f32 = x for i < 3 do x ++ x", "claim.1");
    check_type("entry main (xs: []f32) = let [n] (ys: [n]f32) = xs in n + length ys", "i64");
    /* in elements of arrays of records, and in elements of sequences */
    check_core("entry main [k] (rs: []{a: [k]f32, b: [k]i8}) = k", "unzip");
    check_core("entry main [k] (s: seq {a: [k]f32, b: [k]i8}) = from_seq (map_seq (\\e -> sum e.a) s)", "map_seq");
    check_core("type row [c] = {f: [c]f32, g: [c]i8} entry main [c] (r: row [c]) = c", "claim");
    /* an abbreviation's sizes are not those of the place where it is used */
    check_type("type v [n] = [n]f32 entry main (n: f32) (xs: v [3]) = n", "f32");
}

LOOM_TEST(syntax_elaborate, records_do_not_depend_on_order) {
    check_type("type p = {x: f32, y: i8} entry main = {y = 1, x = 2} : p", "{x: f32, y: i8}");
    check_type("entry main (a: {x: f32, y: i8}) (b: {y: i8, x: f32}) = if true then a else b", "{x: f32, y: i8}");
    check_type("entry main (p: {a: {b: f32, c: i8}}) = (p with a.b = 2).a", "{b: f32, c: i8}");
    check_type("entry main (p: {a: f32, b: i8}) = let {a, b = c} = p in (a, c)", "(f32, i8)");
}

LOOM_TEST(syntax_elaborate, arrays) {
    check_type("entry main = tabulate_2d 2 3 (\\i j -> i * j)", "[][]i64");
    check_type("entry main = generate (2, 3, 4) (\\i j k -> f32 (i + j + k))", "[][][]f32");
    check_type("entry main (m: [][]f32) = (m[0, 1], m[0], m[:, 1], m[1:, ::2], extent m)",
               "(f32, []f32, []f32, [][]f32, (i64, i64))");
    check_type("entry main (xs: []f32) = unzip (map (\\x -> (x, x > 0)) xs)", "([]f32, []bool)");
    check_type("entry main (xs: []f32) = scan_total (+) 0 xs", "([]f32, f32)");
    check_type("entry main = permute (+) (replicate 3 0f32) [[0, 1], [2]] [[1, 2], [3]]", "[]f32");
    check_type("entry main (g: [][]f32) = permute (+) g [(0, 1)] [2]", "[][]f32");
    check_type("entry main (g: [][]f32) = permute (map2 (+)) g [0] [[2]]", "[][]f32");
    check_core("entry main (d: [][]f32) (x: []f32) = backpermute d (\\(i, j) -> i + j) x", "backpermute.2");
    check_core("entry main (d: [][]f32) (x: [][]f32) = backpermute d (\\(i: i64) -> 1 - i) x", "backpermute.1");
    check_core("def f (i: i64) = 2 - i entry main (d: []f32) (x: []f32) = backpermute d f x", "backpermute.1");
    check_type("entry main (x: []f32) = unflatten x : [2][3]f32", "[][]f32");
    check_type("entry main (x: []f32) = reshape (2, 3, 4) x", "[][][]f32");
    check_type("entry main (x: [][]c64) = ifft (fft x)", "[][]c64");
    check_type("entry main = [[]] ++ [[1f32]]", "[][]f32");
    check_core("entry main = [] : []f32", "replicate");
    check_type("entry main = (1...3, 10..8..>0i8, 0..2..<9u16)", "([]i32, []i8, []u16)");
    check_core("entry main (n: i64) = 0..<n", "iota");
    check_type("entry main (xs: []f32) = xs with [1:3] = [1, 2]", "[]f32");
    check_type("entry main (xs: []f32) = let xs[0] = 5 in xs", "[]f32");
}

LOOM_TEST(syntax_elaborate, loops) {
    check_type("entry main = loop (i, acc) = (0, 1.0) while i < 10 do (i + 1, acc * 2)", "(i32, f64)");
    check_type("entry main (xs: []f32) = loop s = 0 for x in xs do s + x", "f32");
    check_type("entry main (xs: [](f32, f32)) = loop s = 0 for (x, y) in xs do s + x * y", "f32");
    check_type("entry main (s: f32) = loop s for i < 3 do s * 2", "f32");
    check_core("entry main = loop xs = [1f32] for i < 3 do xs ++ xs", "for ");
}

LOOM_TEST(syntax_elaborate, foreign_functions) {
    check_core("foreign def dft [n] (xs: [n]c64) : [n]c64 = fft xs entry main (xs: []c64) = dft xs", "foreign def dft");
    check_type("foreign def dft [n] (xs: [n]c64) : [n]c64 = fft xs entry main (xs: [][]c64) = map dft xs", "[][]c64");
    const char *types = "foreign function `dft`: expected [n]c64 -> [n]c64, or [n]c128 -> [n]c128, found ";
    check_error("foreign def dft (xs: []f64) : []f64 = xs entry main (xs: []f64) = dft xs", LOOM_E_TYPE, types);
    check_error("foreign def dft (xs: [][]c64) : [][]c64 = xs", LOOM_E_TYPE, types); /* though nobody calls it */
    check_error("foreign def dft (xs: []c64) (n: i64) : []c64 = xs", LOOM_E_TYPE, "found []c64 -> i64 -> []c64");
    check_error("foreign def dft (xs: []c64) = xs", LOOM_E_TYPE, "the result of the foreign function `dft` need types");
    check_error("foreign def dft xs : []c64 = xs", LOOM_E_TYPE, "the result of the foreign function `dft` need types");
    check_error("foreign def dft 'a (xs: []a) : []a = xs", LOOM_E_TYPE,
                "the result of the foreign function `dft` need types");
    check_error("foreign def dct (xs: []c64) : []c64 = xs", LOOM_E_TYPE, "the system has no function `dct`");
    check_error("foreign entry dft (xs: []c64) : []c64 = xs", LOOM_E_SYNTAX, "`def` after `foreign`");
}

#define TOTAL  "def f (xs: []f64) : f64 = sum xs "
#define TOTALS "def fs (xss: [][]f64) : []f64 = map sum xss "

LOOM_TEST(syntax_elaborate, lifted_functions) {
    check_core(TOTAL TOTALS "lifted regular f = fs entry main (xss: [][]f64) = map f xss", "lifted.0 ");
    check_core(TOTAL TOTALS "lifted irregular f = fs entry main (xss: [][]f64) = map f xss", "lifted.1 ");
    check_core(TOTAL TOTALS "lifted regular f = fs entry main (xss: [][]f64) = map f xss", "call fs ");
    check_type(TOTAL TOTALS "lifted regular f = fs lifted irregular f = fs entry main (xss: [][]f64) = map f xss",
               "[]f64");
    /* The two words are ones only there. */
    check_type("def regular lifted1 = lifted1 + 1 entry main (irregular: i64) = regular irregular", "i64");
    /* A template has versions for each of its types. */
    check_type("def g xs = (xs[0], xs) def gs xss = map (\\xs -> (xs[0], xs)) xss lifted regular g = gs "
               "entry main (a: [][]f64) (b: [][]bool) = (map g a, map g b)",
               "([](f64, []f64), [](bool, []bool))");
    const char *of = "of `fs`, the regular version of `f`: expected ";
    char text[200];
    snprintf(text, sizeof text, "parameter 1 %s[][]f64, found [][]f32", of);
    check_error(TOTAL "def fs (xss: [][]f32) : []f64 = [] lifted regular f = fs", LOOM_E_TYPE,
                text); /* nobody calls it */
    check_error("def f xs = f64.sum xs def fs (xss: [][]f32) : []f64 = [] lifted regular f = fs "
                "entry main (xss: [][]f64) = map f xss",
                LOOM_E_TYPE, text);
    snprintf(text, sizeof text, "result %s[]f64, found f64", of);
    check_error(TOTAL "def fs (xss: [][]f64) = sum (flatten xss) lifted regular f = fs", LOOM_E_TYPE, text);
    check_error(TOTAL "def fs (xss: [][]f64) (n: i64) = [f64 n] lifted regular f = fs", LOOM_E_TYPE,
                "the regular version of `f`: expected 1 arguments, `fs` takes 2");
    check_error(TOTAL "def fs (g: f64 -> f64) = [1f64] lifted regular f = fs", LOOM_E_TYPE,
                "parameter 1 of the regular version of `f`: expected [][]f64, found a function");
    check_error(TOTAL "def fs xss = [] lifted regular f = fs entry main (xss: [][]f64) = map f xss", LOOM_E_TYPE,
                "the type of the result of `fs`, the regular version of `f`, is open");
    check_error(
        "def f (s: seq f64) : f64 = fold_seq (+) 0 s def fs (s: [](seq f64)) : []f64 = [] lifted regular f = fs",
        LOOM_E_TYPE, "sequence");
    check_error("def f (n: i64) : i64 = fold_seq (+) 0 (rows (iota n)) def fs (n: []i64) = n lifted regular f = fs",
                LOOM_E_TYPE, "`f` works on sequences");
    check_error(TOTALS TOTAL "lifted regular f = fs lifted regular f = fs", LOOM_E_TYPE,
                "the regular version of `f` is declared twice");
    check_error(TOTALS "lifted regular f = fs", LOOM_E_TYPE, "`lifted` needs a function of this program, found `f`");
    check_error(TOTAL "lifted regular f = fs " TOTALS, LOOM_E_TYPE, "it is defined later");
    check_error("def z = 1f64 " TOTALS "lifted regular z = fs", LOOM_E_TYPE, "it has no parameters");
    check_error(TOTALS "lifted regular sum = fs", LOOM_E_TYPE,
                "`lifted` needs a function of this program, found `sum`");
    check_error("lifted regulary f = fs", LOOM_E_SYNTAX, "expected `regular` or `irregular` after `lifted`");
    check_error("lifted regular f fs", LOOM_E_SYNTAX, "expected `=` before its version");
}

LOOM_TEST(syntax_elaborate, lifted_functions_do_not_use_themselves) {
    const char *cycle = "`fs` uses `f`, which it is the lifted version of";
    check_error(TOTAL "def fs (xss: [][]f64) : []f64 = map f xss lifted regular f = fs", LOOM_E_TYPE, cycle);
    check_error(TOTAL "def g xss = map f xss def fs (xss: [][]f64) : []f64 = g xss lifted irregular f = fs "
                      "entry main (xss: [][]f64) = fs xss",
                LOOM_E_TYPE, cycle);
    /* Two that stand for each other's. */
    check_error("def f (x: f64) = x def g (x: f64) = x def fs xs = map g xs def gs xs = map f xs lifted regular f = fs "
                "lifted regular g = gs entry main (x: f64) = f x",
                LOOM_E_TYPE, cycle);
    check_error("def f (x: f64) = x def g (x: f64) = x def fs (xs: []f64) = map g xs def gs (xs: []f64) = fs xs "
                "lifted regular f = fs lifted regular g = gs entry main (x: f64) = f x",
                LOOM_E_TYPE, "`fs` is used by the lifted version of a function that it uses");
    check_type(TOTALS
               "def f (xs: []f64) : f64 = (fs [xs])[0] lifted regular f = fs entry main (xss: [][]f64) = map f xss",
               "[]f64");
}

LOOM_TEST(syntax_elaborate, sequences) {
    check_type("entry main (s: seq f32) = fold_seq (+) 0 (filter_seq (> 0) s)", "f32");
    check_type("entry main (s: seq f32) : seq f32 = scan_seq (+) 0 s", "seq f32");
    check_type("entry main (xs: [][]f32) = from_seq (map_seq sum (rows xs))", "[]f32");
    check_type("entry main (s: seq f32) = enumerate_seq s", "seq (i64, f32)");
    check_type("entry main (s: seq f32) = reduce_seq 0 (\\z xs -> z + sum xs) (+) s", "f32");
    check_type("entry main (s: seq f32) = chain_seq ([1i64], true) (\\(n, ok) x -> (n ++ [i64 x], ok && x > 0)) s",
               "([]i64, bool)");
    check_core("entry main (s: seq f32) = chain_seq 0 (-) s", "chain_seq");
    check_error("entry main (s: seq f32) = chain_seq 0i64 (\\n x -> x) s", LOOM_E_TYPE,
                "result of the step of `chain_seq`, against its initial state: expected i64, found f32");
    check_error("entry main (s: seq f32) = chain_seq s (\\t x -> t) s", LOOM_E_TYPE,
                "an accumulator cannot be a sequence");
    check_error("entry main (s: seq f32) = chain_seq 0 (+) [1f32]", LOOM_E_TYPE, "`chain_seq init step s`");
    check_error("entry main (s: seq f32) = map (\\x -> x + chain_seq 0 (+) s) [1]", LOOM_E_TYPE,
                "`chain_seq` cannot stand in a function given to an operation");
    check_type("def total s = fold_seq (+) 0 s entry main (s: seq f32) = total s", "f32");
    check_type("entry main (s: seq (i64, f32)) = group_seq 3 (\\e -> [e.0]) s (\\k ys -> f32 k * fold_seq (+) 0 "
               "(map_seq (.1) ys)) |> from_seq",
               "[]f32");
    check_type("entry main (s: seq f32) (t: seq f32) = zip_with_seq (\\a b -> (a, b)) s t", "seq (f32, f32)");
    check_core("entry main (s: seq i64) = permute_seq (+) (replicate 4 0i32) s (map_seq (const 1) s)", "permute_seq.1");
    check_error("def total s = fold_seq (+) 0 s entry main (s: seq f32) = map (\\x -> x + total s) [1]", LOOM_E_TYPE,
                "`total` works on sequences");
}

/* A def without parameters is evaluated once in a function, and not before an `if` that guards it. */
LOOM_TEST(syntax_elaborate, constants) {
    check_core("def n = 15i64 entry main = iota n", "const 15");
    check_no_core("def n = 15i64 entry main = iota n", "call");
    const char *text = "def table = map f32 (iota 9) entry main (xs: []i64) = map (\\i -> table[i] + table[0]) xs";
    compiled c = compile_good(text);
    char *core = core_text(&c);
    LOOM_CHECK(strstr(core, "call table") < strstr(core, "b3 ("));
    LOOM_CHECK(!strstr(strstr(core, "call table") + 1, "call table"));
    free(core);
    compiled_free(&c);
}

LOOM_TEST(syntax_elaborate, entries) {
    compiled c = compile_good("entry a (x: f32) = x entry b (y: i8) (_: f32) = a (f32 y) def main = 1");
    LOOM_CHECK(loom_program_entry(c.program, "a"));
    const loom_function *b = loom_program_entry(c.program, "b");
    LOOM_CHECK(b && b->entry);
    LOOM_CHECK_STR(b->param_names[0], "y");
    LOOM_CHECK(loom_program_entry(c.program, NULL)->entry);
    LOOM_CHECK_STR(loom_program_entry(c.program, NULL)->name, "main");
    compiled_free(&c);
    compiled library = compile_good("def only_a_library x = x + 1");
    LOOM_CHECK_EQ_INT(library.program->n_functions, 0);
    compiled_free(&library);
    check_error("def never_called (x: f32) = x + true", LOOM_E_TYPE, "`+` needs a number");
}
