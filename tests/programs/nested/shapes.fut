-- Match on tuples and literals inside a map, with arms that hold loops and arrays.
-- ==
-- input { [0i32, 1i32, 2i32, 3i32, 0i32, 1i32, 2i32, 9i32] [5i64, 5i64, 10i64, 7i64, 0i64, 1i64, 1i64, 0i64] }
-- output { [10i64, 120i64, 55i64, -7i64, 0i64, 1i64, 1i64, 0i64] }
-- input { [2i32] [2i64] }
-- output { [1i64] }
-- input { empty([0]i32) empty([0]i64) }
-- output { empty([0]i64) }
def measure (kind: i32, size: i64) : i64 =
  match (kind, size)
  case (_, 0) -> 0
  case (0, n) -> i64.sum (iota n)
  case (1, n) -> loop p = 1 for i < n do p * (i + 1)
  case (2, n) -> let (a, _) = loop (a, b) = (0, 1) for _i < n do (b, a + b) in a
  case (_, n) -> -n

def main [n] (kinds: [n]i32) (sizes: [n]i64) : [n]i64 = map measure (zip kinds sizes)
