-- Loops whose test looks at an array that is larger each turn, and whose body looks at the same one.
-- ==
-- input { [919i64, 838i64, 757i64, 676i64, 595i64, 514i64, 433i64, 352i64, 271i64, 190i64, 109i64, 28i64, 947i64, 866i64, 785i64, 704i64, 623i64, 542i64, 461i64, 380i64, 299i64, 218i64, 137i64, 56i64, 975i64, 894i64, 813i64, 732i64, 651i64, 570i64, 489i64, 408i64, 327i64, 246i64, 165i64, 84i64, 3i64, 922i64, 841i64, 760i64, 679i64, 598i64, 517i64, 436i64, 355i64, 274i64, 193i64, 112i64, 31i64, 950i64, 869i64, 788i64, 707i64, 626i64, 545i64, 464i64, 383i64, 302i64, 221i64] [0i64, 500i64, 5000i64, 20000i64] }
-- output { [10340i64, 9312i64, 9826i64] [[0i64, 0i64, 0i64], [0i64, 0i64, 0i64], [4327i64, 4436i64, 4056i64], [10340i64, 9312i64, 9826i64]] }
-- input { [5i64] [5i64] }
-- output { [0i64, 0i64, 0i64] [[0i64, 0i64, 0i64]] }
def until [n] (xs: [n]i64) (limit: i64) : [3]i64 =
  let (_, ys) =
    loop (i, ys) = (1, replicate 3 0) while i64.sum (sort xs[:i]) < limit do
      let q = sort xs[:i]
      in (i + 1, ys with [i % 3] = q[i / 2] + i64.sum (map (\j -> q[j / 2]) (iota i)))
  in ys

def main [n][k] (xs: [n]i64) (limits: [k]i64) : ([3]i64, [k][3]i64) =
  (until xs limits[k - 1], map (until xs) limits)
