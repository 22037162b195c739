-- A scan by an operator on pairs, in a map; and the list of numbers that flags and counts expand to.
-- ==
-- entry: scans
-- input { [[false, true, false, false, true], [false, false, false, false, false], [true, true, true, true, true]] [[1i32, 2i32, 3i32, 4i32, 5i32], [1i32, 2i32, 3i32, 4i32, 5i32], [1i32, 2i32, 3i32, 4i32, 5i32]] }
-- output { [[1i32, 2i32, 5i32, 9i32, 5i32], [1i32, 3i32, 6i32, 10i32, 15i32], [1i32, 2i32, 3i32, 4i32, 5i32]] }
-- input { empty([0][0]bool) empty([0][0]i32) }
-- output { empty([0][0]i32) }
-- random input { [9][40]bool [9][40]i32 } auto output
def segmented [n] (flags: [n]bool) (xs: [n]i32) : [n]i32 =
  scan (\(f, x) (g, y) -> (f || g, if g then y else x + y)) (false, 0) (zip flags xs) |> unzip |> (.1)

-- Each x as often as its count, by a scatter of flags and a scan.
def expanded [n] (counts: [n]i64) (xs: [n]i32) : []i32 =
  let ends = scan (+) 0 counts
  let total = if n == 0 then 0 else ends[n - 1]
  let places = map3 (\e c i -> if c > 0 then (e - c, i) else (-1, i)) ends counts (iota n) |> unzip
  let owner = scan i64.max 0 (scatter (replicate total 0) places.0 places.1)
  in map (\i -> xs[i]) owner

entry scans [n][m] (flags: [n][m]bool) (xss: [n][m]i32) : [n][m]i32 = map2 segmented flags xss
entry sums [n][m] (counts: [n][m]i64) (xss: [n][m]i32) : [n]i32 =
  map2 (\cs xs -> let ys = expanded cs xs in reduce (+) 0 (map2 (*) ys (map i32.i64 (indices ys)))) counts xss

-- ==
-- entry: sums
-- input { [[2i64, 0i64, 3i64], [0i64, 0i64, 0i64], [1i64, 1i64, 1i64], [0i64, 5i64, 0i64]] [[1i32, 2i32, 3i32], [4i32, 5i32, 6i32], [7i32, 8i32, 9i32], [1i32, 2i32, 3i32]] }
-- output { [28i32, 0i32, 26i32, 20i32] }
