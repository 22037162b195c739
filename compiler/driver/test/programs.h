/* Small Weft programs that together use every operation the compiler turns to code. Every inner extent, and every
 * number that may be an index or a size, is the same when they run, so that claims and indices fit. */
#ifndef LOOM_DRIVER_TEST_PROGRAMS_H
#define LOOM_DRIVER_TEST_PROGRAMS_H

static const char *const programs[][2] = {
    {"dotp", "entry main (xs: seq f32) (ys: seq f32) : f32 = fold_seq (+) 0 (zip_with_seq (*) xs ys)"},
    {"extremes", "entry main (xs: seq f64) : (f64, f64) = (fold_seq min inf xs, fold_seq max (-inf) xs)"},
    {"mvm", "entry main [m] (mat: seq ([m]f32)) (x: [m]f32) : []f32 = from_seq (map_seq (\\row -> sum (zip_with (*) "
            "row x)) mat)"},
    {"averages", "entry main (xss: seq ([]f32)) : []f32 = from_seq (map_seq (\\xs -> sum xs / f32 (length xs)) xss)"},
    {"columns", "entry main (xss: seq ([][]f64)) : [][]f64 = from_seq (map_seq (\\xs -> map sum (transpose xs)) xss)"},
    {"fold_arrays",
     "entry main [n] (zero: [n]f64) (xss: seq ([n]f64)) : [n]f64 = fold_seq (zip_with (+)) (map (\\_ -> 0) zero) xss"},
    {"grid", "type s = {x: i64, y: i64, vis: c64}\n"
             "entry main [h][w] (k: [h][w]c64) (grid: [][]c64) (s: seq s) : [][]c64 =\n"
             "  let place (v: s) = generate (h, w) (\\i j -> (v.y - h / 2 + i, v.x - w / 2 + j))\n"
             "  let patch (v: s) = map (map (* v.vis)) k\n"
             "  in permute_seq (+) grid (map_seq place s) (map_seq patch s)"},
    {"histogram", "entry main (keys: seq i64) (ws: seq f64) : []f64 = permute_seq (+) (replicate 3 0) keys ws"},
    {"spectra", "entry main (xs: seq ([]c128)) : [][]c128 = from_seq (map_seq (\\x -> ifft (zip_with (*) (fft x) (fft "
                "(reverse x)))) xs)"},
    {"pad",
     "entry main (xs: seq ([][]c64)) : [][][]c64 =\n"
     "  from_seq (map_seq (\\x -> fft (backpermute (replicate 8 (replicate 8 0)) (\\(i, j) -> (i - 2, j - 1)) x)) xs)"},
    {"scans", "entry main (xs: seq ([]i64)) : ([][]i64, [][]i64, [][]i64) =\n"
              "  (from_seq (map_seq (scan (+) 0) xs), from_seq (map_seq (scan_ex (+) 0) xs), from_seq (map_seq "
              "(scan_right max 0) xs))"},
    {"gathers",
     "entry main (table: [][]f32) (is: seq ([]i64)) : [][][]f32 = from_seq (map_seq (\\i -> gather table i) is)"},
    {"branches", "entry main (xs: seq f64) : []f64 = from_seq (map_seq (\\x -> if x > 0 then sqrt x else if x < -1 "
                 "then exp x else x * x) xs)"},
    {"loops",
     "entry main (xs: seq f64) : []f64 = from_seq (map_seq (\\x -> loop a = x for i < 5 do a * 0.5 + f64 i) xs)"},
    {"whiles",
     "entry main (xs: seq i64) : []i64 = from_seq (map_seq (\\x -> loop a = x + 1 while a < 50 do a * 3) xs)"},
    {"array_loop", "entry main (xs: seq ([]f64)) : [][]f64 = from_seq (map_seq (\\x -> loop a = x for i < 3 do map "
                   "(\\v -> v * v - 1) (reverse a)) xs)"},
    {"integers",
     "entry main (a: seq i32) (b: seq i32) : ([]i32, []i32, []i32) =\n"
     "  (from_seq (zip_with_seq (\\x y -> x / (y + 7)) a b), from_seq (zip_with_seq (\\x y -> x % (y + 9)) a b),\n"
     "   from_seq (zip_with_seq (\\x y -> (x << 3) ^ y) a b))"},
    {"complex", "entry main (z: seq c64) : ([]f32, []c64) = (from_seq (map_seq (\\z -> abs (z * conj z)) z), from_seq "
                "(map_seq (\\z -> z / (z + 9)) z))"},
    {"array_stage", "entry main (g: [][]c64) : [][]f32 = map (map re) (ifft (fft g))"},
    {"sums", "entry main (g: [][]f64) : (f64, []f64, []f64) = (sum (map sum g), map sum g, map sum (transpose g))"},
    {"scatter", "entry main (d: []f64) (is: []i64) (xs: []f64) : []f64 = scatter d is xs"},
    {"reduce_by", "entry main (d: []i64) (is: [][]i64) (xs: [][]i64) : []i64 = permute (+) d is xs"},
    {"nested_hist", "entry main (keys: seq ([]i64)) : [][]i64 = from_seq (map_seq (\\k -> permute (+) (replicate 4 0) "
                    "k (map (\\_ -> 1) k)) keys)"},
    {"rotate", "entry main (xs: seq ([]f32)) : [][]f32 = from_seq (map_seq (\\x -> rotate 1 x ++ take 2 x) xs)"},
    {"updates", "entry main (xs: seq ([]f32)) : [][]f32 = from_seq (map_seq (\\x -> x with [1] = 7) xs)"},
    {"polymorph",
     "entry main (xs: seq (f64, i64)) : (f64, i64) = fold_seq (\\(a, b) (c, d) -> (a + c, max b d)) (0, 0) xs"},
    {"avoided", "entry main (table: []f64) (xs: seq f64) : []f64 =\n"
                "  let t = map (\\x -> exp (-x * x)) table in from_seq (map_seq (\\x -> sum (map (* x) t)) xs)"},
    {"group", "entry main (xs: seq (i64, f64)) : f64 =\n"
              "  fold_seq (+) 0 (group_seq 4 (\\(k, _) -> [k, k + 1]) xs (\\k ys -> f64 k * fold_seq (+) 0 (map_seq "
              "(\\(_, x) -> x) ys)))"},
    {"planes", "entry main (g: [][][]c64) : [][]f32 =\n"
               "  fold (zip_with (zip_with (+))) (replicate 4 (replicate 4 0)) (map (\\p -> map (map re) (fft p)) (g "
               "++ g ++ g ++ g ++ g))"},
    {"screens", "entry main (g: [][][]c64) (w: []f32) : ([][]f32, f32) =\n"
                "  let g = g ++ g ++ g ++ g ++ g\n"
                "  let ps = imap (\\k p -> map (map (\\z -> re (z * cis (w[k % 4] * 0.5)))) (ifft (map (map (scale "
                "(f32 k))) p))) g\n"
                "  let total = fold (zip_with (zip_with (+))) (replicate 4 (replicate 4 0)) ps\n"
                "  in (total, sum (map (\\p -> sum (map sum p)) ps) + sum (map sum total))"},
    {"gathered",
     "def pad (k: [][]c128) = backpermute (replicate 8 (replicate 8 0)) (\\(i, j) -> (i, j)) k\n"
     "entry main (k: [][][]c128) (s: seq {a: i64, b: i64}) : [][][]c128 =\n"
     "  from_seq (map_seq (\\v -> ifft (zip_with (zip_with (*)) (fft (pad k[v.a])) (fft (pad k[v.b])))) s)"},
    {"gathered_badly", "entry main (k: [][]c128) (s: seq i64) : [][]c128 = from_seq (map_seq (\\i -> fft k[i + 1]) s)"},
};

#endif
