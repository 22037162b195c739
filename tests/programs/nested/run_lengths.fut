-- The longest run of equal numbers in each row, and how many runs there are: flags, a scan and a filter in a map.
-- ==
-- input { [[1i32, 1i32, 2i32, 2i32, 2i32, 3i32], [4i32, 4i32, 4i32, 4i32, 4i32, 4i32], [1i32, 2i32, 1i32, 2i32, 1i32, 2i32], [0i32, 0i32, 0i32, 1i32, 1i32, 0i32]] }
-- output { [3i64, 1i64, 6i64, 3i64] [3i64, 6i64, 1i64, 3i64] }
-- input { [[7i32]] }
-- output { [1i64] [1i64] }
-- input { empty([0][0]i32) }
-- output { empty([0]i64) empty([0]i64) }
-- random input { [20][30]i32 } auto output
def runs [n] (xs: [n]i32) : (i64, i64) =
  let starts = map (\i -> i == 0 || xs[i] != xs[i - 1]) (iota n)
  let at = map (.1) (filter (.0) (zip starts (iota n)))
  let lengths = map2 (-) (map (\k -> if k + 1 < length at then at[k + 1] else n) (indices at)) at
  in (length at, reduce i64.max 0 lengths)

def main [n][m] (xss: [n][m]i32) : ([n]i64, [n]i64) = unzip (map runs xss)
