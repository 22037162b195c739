-- A loop between two levels of map, with turns and inner arrays that differ, and an outer array that all share.
-- ==
-- input { [[1i64, 2i64, 3i64], [4i64, 0i64, 6i64]] [13i64, 11i64, 6i64] }
-- output { [[0i64, 0i64, 0i64], [120i64, 30i64, 345i64]] }
-- input { [[2i64], [5i64], [0i64]] [1i64] }
-- output { [[0i64], [61i64], [2i64]] }
-- input { [[3i64, 1i64], [2i64, 2i64]] empty([0]i64) }
-- output { [[0i64, 0i64], [0i64, 0i64]] }
-- input { empty([0][0]i64) [1i64, 2i64] }
-- output { empty([0][0]i64) }
def main [n][m][k] (xss: [n][m]i64) (ys: [k]i64) : [n][m]i64 =
  map2 (\xs t ->
    map (\x ->
      let zs = iota x
      let (acc, _) =
        loop (acc, zs) = (ys, zs) for i < x do
          (map (\a -> a + i64.sum zs + i) acc, rotate 1 zs)
      in t * i64.sum acc) xs)
    xss (iota n)
