-- Forward substitution for many right-hand sides: slices that grow with the turn of the loop, and updates.
-- ==
-- input { [[2f64, 0f64, 0f64], [1f64, 4f64, 0f64], [3f64, 1f64, 5f64]] [[2f64, 9f64, 10f64], [0f64, 4f64, 6f64], [4f64, 2f64, 16f64]] }
-- output { [[1f64, 2f64, 1f64], [0f64, 1f64, 1f64], [2f64, 0f64, 2f64]] }
-- input { [[4f64]] [[1f64], [2f64]] }
-- output { [[0.25f64], [0.5f64]] }
-- input { empty([0][0]f64) empty([0][0]f64) }
-- output { empty([0][0]f64) }
def solve [n] (a: [n][n]f64) (b: [n]f64) : [n]f64 =
  loop x = replicate n 0.0 for i < n do
    let known = f64.sum (map2 (*) a[i, :i] x[:i])
    in x with [i] = (b[i] - known) / a[i, i]

def main [n][k] (a: [n][n]f64) (bs: [k][n]f64) : [k][n]f64 = map (solve a) bs
