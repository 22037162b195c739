-- A nest in a nest: each number gives a list, each element of it a list again.
-- ==
-- input { [0i64, 1i64, 5i64, 2i64, 9i64] }
-- output { [0i64, 0i64, 65i64, 1i64, 750i64] }
-- input { [4i64, 4i64, 4i64] }
-- output { [25i64, 25i64, 25i64] }
-- input { empty([0]i64) }
-- output { empty([0]i64) }
-- input { [3i64, -1i64] } error:
def main [n] (ns: [n]i64) : [n]i64 =
  map (\k -> reduce (+) 0 (map (\i -> reduce (+) 0 (map (* i) (iota (i + 1)))) (iota k))) ns
