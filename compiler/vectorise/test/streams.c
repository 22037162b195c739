/* Traversals: chunk functions over columns. */
#include "weft.h"

#define WEFT_SUITE streams

SAME(dotp, "entry main (xs: seq f64) (ys: seq f64) : f64 = fold_seq (+) 0 (zip_with_seq (*) xs ys)", "f64 30", "f64 30")
SAME(max_sum, "entry main (xs: seq f64) : (f64, f64) = (fold_seq (+) 0 xs, fold_seq f64.max (-f64.inf) xs)", "f64 30")
SAME(mvm,
     "entry main [m] (mat: seq ([m]f64)) (x: [m]f64) : []f64 = from_seq (map_seq (\\row -> sum (zip_with (*) row x)) "
     "mat)",
     "f64 9x70", "f64 70")
SAME(averages, "entry main (xss: seq ([]f64)) : []f64 = from_seq (map_seq (\\xs -> sum xs / f64.i64 (length xs)) xss)",
     "f64 9x7")
SAME(histogram,
     "entry main (n: i64) (ks: seq i64) : []i64 = permute_seq (+) (replicate n 0) ks (map_seq (\\_ -> 1) ks)",
     "i64 = 9", "i64 40")
SAME(image_sum,
     "entry main (xs: seq ([][]f64)) : [][]f64 = fold_seq (zip_with (zip_with (+))) (replicate 3 (replicate 4 0.0)) xs",
     "f64 9x3x4")
SAME(constants,
     "type row [c] = {x: f64, freq: [c]f64}\nentry main [c] (s: seq (row [c])) : f64 = fold_seq (+) 0 (map_seq (\\r -> "
     "sum (map (* r.x) r.freq)) s)",
     "f64 9; !f64 9x5")
SAME(convgrid,
     "type sample = {x: i64, y: i64, vis: c128}\n"
     "entry main [gh][gw] (gcf: [gh][gw]c128) (grid: [][]c128) (s: seq sample) : [][]c128 =\n"
     "  let place (v: sample) = generate (gh, gw) (\\i j -> (v.y - gh / 2 + i, v.x - gw / 2 + j))\n"
     "  let patch (v: sample) = map (map (* v.vis)) gcf\n"
     "  in permute_seq (+) grid (map_seq place s) (map_seq patch s)",
     "c128 3x4", "c128 12x14", "i64 20; i64 20; c128 20")
SAME(awgrid,
     "type sample = {y: i64, x: i64, wbin: i64, a1: i64, a2: i64, vis: c128}\n"
     "def pad8 (k: [3][3]c128) = backpermute (replicate 8 (replicate 8 0)) (\\(i, j) -> (i, j)) k\n"
     "def crop3 (f: [8][8]c128) = generate (3, 3) (\\i j -> f[i + 1, j + 1])\n"
     "def convolve a b = crop3 (ifft (zip_with (zip_with (*)) (fft (pad8 a)) (fft (pad8 b))))\n"
     "entry main [na][nw] (akern: [na][3][3]c128) (wkern: [nw][3][3]c128) (g: i64) (s: seq sample) : [][]c128 =\n"
     "  let patch (v: sample) = map (map (* v.vis)) (convolve wkern[v.wbin] (convolve akern[v.a1] akern[v.a2]))\n"
     "  let place (v: sample) = generate (3, 3) (\\i j -> (v.y + i - 1, v.x + j - 1))\n"
     "  in permute_seq (+) (replicate g (replicate g 0)) (map_seq place s) (map_seq patch s)",
     "c128 2x3x3", "c128 2x3x3", "i64 = 12",
     "i64 4 = 0 5 11 13; i64 4 = 7 11 0 4; i64 4 = 0 1 0 1; i64 4 = 1 1 0 0; i64 4 = 0 1 0 1; c128 4")
