-- Lengths of shortest ways between all pairs, for several graphs: a loop over a matrix in a map.
-- ==
-- input { [[[0i32, 3i32, 99i32], [99i32, 0i32, 1i32], [2i32, 99i32, 0i32]], [[0i32, 1i32, 50i32], [1i32, 0i32, 1i32], [50i32, 1i32, 0i32]]] }
-- output { [[[0i32, 3i32, 4i32], [3i32, 0i32, 1i32], [2i32, 5i32, 0i32]], [[0i32, 1i32, 2i32], [1i32, 0i32, 1i32], [2i32, 1i32, 0i32]]] }
-- input { [[[0i32]]] }
-- output { [[[0i32]]] }
-- input { empty([0][0][0]i32) }
-- output { empty([0][0][0]i32) }
def ways [n] (d: [n][n]i32) : [n][n]i32 =
  loop d for k < n do map (\row -> map2 (\direct onward -> i32.min direct (row[k] + onward)) row d[k]) d

def main [g][n] (ds: [g][n][n]i32) : [g][n][n]i32 = map ways ds
