-- A sorting network for lengths that are no powers of two either: an operator as parameter, a loop in a loop, rows that are padded.
-- ==
-- entry: up
-- input { [[5i32, 4i32, 3i32, 2i32, 1i32], [1i32, 5i32, 2i32, 4i32, 3i32]] }
-- output { [[1i32, 2i32, 3i32, 4i32, 5i32], [1i32, 2i32, 3i32, 4i32, 5i32]] }
-- input { [[2i32, 1i32], [1i32, 2i32]] }
-- output { [[1i32, 2i32], [1i32, 2i32]] }
-- input { [[3i32]] }
-- output { [[3i32]] }
-- input { empty([0][0]i32) }
-- output { empty([0][0]i32) }
-- random input { [6][37]i32 } auto output
def network [n] 'a ((<=): a -> a -> bool) (bits: i64) (xs: [n]a) : [n]a =
  loop xs for p < bits do
    loop xs for q < p + 1 do
      let d = 1 << (p - q)
      in tabulate n (\i ->
           let (x, y) = (xs[i], xs[i ^ d])
           let upward = (i >> (p + 1)) & 1 == 0
           in if (i & d == 0) == upward then (if y <= x then y else x) else (if x <= y then y else x))

def sort_with [n] 'a ((<=): a -> a -> bool) (last: a) (xs: [n]a) : [n]a =
  let bits = loop b = 0 while 1 << b < n do b + 1
  let padded = xs ++ replicate ((1 << bits) - n) last
  in (network (<=) bits padded)[:n] :> [n]a

entry up [n][m] (xss: [n][m]i32) : [n][m]i32 = map (sort_with (<) i32.highest) xss
entry down [n][m] (xss: [n][m]i32) (k: [n]i64) : [n]i32 =
  map2 (\xs k -> i32.sum (map2 (*) (map i32.i64 (iota k)) (sort_with (>) i32.lowest xs[:k]))) xss k

-- ==
-- entry: down
-- input { [[5i32, 1i32, 4i32, 2i32, 3i32], [1i32, 2i32, 3i32, 4i32, 5i32], [9i32, 9i32, 1i32, 1i32, 7i32], [3i32, 2i32, 1i32, 0i32, 0i32]] [5i64, 3i64, 0i64, 1i64] }
-- output { [20i32, 4i32, 0i32, 0i32] }
