-- Elements put in place one at a time by updates: a loop in a loop in a map, with slices that grow.
-- ==
-- input { [[3i32, 1i32, 2i32], [9i32, 8i32, 7i32], [1i32, 2i32, 3i32]] }
-- output { [[1i32, 2i32, 3i32], [7i32, 8i32, 9i32], [1i32, 2i32, 3i32]] }
-- input { [[5i32]] }
-- output { [[5i32]] }
-- input { empty([0][0]i32) }
-- output { empty([0][0]i32) }
-- random input { [5][17]i32 } auto output
def insert [n] (xs: *[n]i32) (k: i64) : *[n]i32 =
  let x = xs[k]
  let (xs, i) =
    loop (xs, i) = (xs, k) while i > 0 && xs[i - 1] > x do
      (xs with [i] = xs[i - 1], i - 1)
  in xs with [i] = x

def main [n][m] (xss: [n][m]i32) : [n][m]i32 =
  map (\xs -> loop ys = copy xs for k < m do insert ys k) xss
