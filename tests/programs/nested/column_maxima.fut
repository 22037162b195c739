-- Scans and reductions by operators on whole rows, in a map.
-- ==
-- input { [[[1i32, 5i32], [3i32, 2i32], [2i32, 9i32]], [[-1i32, -2i32], [-3i32, 0i32], [7i32, -9i32]]] }
-- output { [[[1i32, 5i32], [3i32, 5i32], [3i32, 9i32]], [[-1i32, -2i32], [-1i32, 0i32], [7i32, 0i32]]] [[6i32, 16i32], [3i32, -11i32]] }
-- input { [[[4i32]]] }
-- output { [[[4i32]]] [[4i32]] }
-- input { empty([0][0][0]i32) }
-- output { empty([0][0][0]i32) empty([0][0]i32) }
-- random input { [3][8][5]i32 } auto output
def largest [m] (a: [m]i32) (b: [m]i32) : [m]i32 = map2 i32.max a b

def main [k][n][m] (xsss: [k][n][m]i32) : ([k][n][m]i32, [k][m]i32) =
  unzip (map (\xss -> (scan largest (replicate m i32.lowest) xss, reduce (map2 (+)) (replicate m 0) xss)) xsss)
