-- Branches that give arrays of different lengths, one of them with a division that fails for the others.
-- ==
-- input { [0i64, 5i64, 2i64, 9i64, -3i64, 4i64, 0i64] }
-- output { [0i64, 10i64, 6i64, 36i64, 0i64, 12i64, 0i64] [-1i64, 6i64, 8i64, 9i64, -1i64, 7i64, -1i64] }
-- input { [1i64] }
-- output { [3i64] [13i64] }
-- input { [6i64, 6i64] }
-- output { [15i64, 15i64] [7i64, 7i64] }
-- input { empty([0]i64) }
-- output { empty([0]i64) empty([0]i64) }
def list (x: i64) : []i64 =
  if x > 4 then iota x
  else if x > 0 then replicate 3 x
  else []

def main (xs: []i64) : ([]i64, []i64) =
  (map (\x -> reduce (+) 0 (list x)) xs,
   map (\x -> let ys = list x in if length ys == 0 then -1 else 12 / x + ys[length ys - 1]) xs)
