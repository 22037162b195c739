-- Scatter in a map: each row sorted by counting how many are before, and the permutation that does it turned round.
-- ==
-- input { [[3i32, 1i32, 2i32, 1i32], [0i32, 0i32, 0i32, 0i32], [-1i32, 5i32, -7i32, 2i32]] }
-- output { [[1i32, 1i32, 2i32, 3i32], [0i32, 0i32, 0i32, 0i32], [-7i32, -1i32, 2i32, 5i32]] [[1i64, 3i64, 2i64, 0i64], [0i64, 1i64, 2i64, 3i64], [2i64, 0i64, 3i64, 1i64]] }
-- input { [[4i32]] }
-- output { [[4i32]] [[0i64]] }
-- input { empty([0][0]i32) }
-- output { empty([0][0]i32) empty([0][0]i64) }
-- random input { [7][25]i32 } auto output
def ranks [n] (xs: [n]i32) : [n]i64 =
  map2 (\i x -> reduce (+) 0 (map2 (\j y -> i64.bool (y < x || (y == x && j < i))) (iota n) xs)) (iota n) xs

def main [n][m] (xss: [n][m]i32) : ([n][m]i32, [n][m]i64) =
  unzip (map (\xs -> let r = ranks xs in (scatter (replicate m 0) r xs, scatter (replicate m (-1)) r (iota m))) xss)
