-- Updates, scatters and reductions by index in two dimensions, in a map.
-- ==
-- input { [[0i64, 1i64, 0i64], [1i64, 2i64, -1i64]] [[1i64, 1i64, 1i64], [0i64, 0i64, 0i64]] [[1i32, 2i32, 3i32], [4i32, 5i32, 6i32]] [[10i32, 20i32], [30i32, 40i32]] }
-- output { [[[10i32, 24i32], [30i32, 42i32]], [[10i32, 20i32], [34i32, 40i32]]] [[[1i32, 1i32], [30i32, 2i32]], [[4i32, 4i32], [4i32, 40i32]]] }
-- input { empty([0][0]i64) empty([0][0]i64) empty([0][0]i32) [[1i32]] }
-- output { empty([0][0][0]i32) empty([0][0][0]i32) }
def main [n][m][k] (is: [n][k](i64, i64)) (vs: [n][k]i32) (grid: [m][m]i32) : ([n][m][m]i32, [n][m][m]i32) =
  unzip (map2 (\is vs ->
           let counted = reduce_by_index_2d (copy grid) (+) 0 is vs
           let written = scatter_2d (copy grid) is vs
           in (counted, if k > 0 then written with [0, 0:m] = replicate m vs[0] else written)) is vs)
