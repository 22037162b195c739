-- Loops that take elements off the ends of arrays: two sorted arrays merged, an array peeled from both ends, binary search by cutting in two.
-- ==
-- input { [1i64, 3i64, 3i64, 9i64] [2i64, 3i64, 11i64] [0i64, 2i64, 2i64, 8i64, 3i64, 4i64, 12i64] }
-- output { [1i64, 2i64, 3i64, 3i64, 3i64, 9i64, 11i64] [9i64, 1i64, 3i64, 3i64] [1i64, 5i64, 346i64] [1i64, 2i64, 2i64, 3i64, 3i64, 3i64, 11i64] }
-- input { empty([0]i64) [4i64] [5i64] }
-- output { [4i64] empty([0]i64) [14i64] [4i64] }
-- input { [5i64] empty([0]i64) [4i64] }
-- output { [5i64] [5i64] empty([0]i64) [5i64] }
-- input { [0i64, 2i64, 4i64, 6i64, 8i64, 10i64, 12i64] [1i64, 1i64, 1i64, 7i64, 20i64] [-1i64, 1i64, 3i64, 5i64, 7i64, 9i64, 11i64, 2i64, 2i64, 2i64, 8i64, 21i64] }
-- output { [0i64, 1i64, 1i64, 1i64, 2i64, 4i64, 6i64, 7i64, 8i64, 10i64, 12i64, 20i64] [12i64, 0i64, 2i64, 10i64, 4i64, 6i64, 8i64] [0i64, 0i64, 0i64, 85i64, 2149i64] [0i64, 1i64, 2i64, 4i64, 7i64, 8i64, 10i64, 2i64, 2i64, 2i64, 8i64, 20i64] }
def merged (xs: []i64) (ys: []i64) : []i64 =
  let (a, b, c) =
    loop (a, b, c) = (xs, ys, []) while length a > 0 && length b > 0 do
      if a[0] <= b[0] then (tail a, b, c ++ [a[0]]) else (a, tail b, c ++ [b[0]])
  in c ++ a ++ b

def peeled (xs: []i64) : []i64 =
  let (_, _, c) =
    loop (q, i, c) = (xs, 0, []) while length q > 0 do
      let (p, x) = if i % 3 == 0 then (init q, last q) else (tail q, q[0])
      in (p, i + 1, c ++ [x])
  in c

def weight (xs: []i64) : i64 =
  let (_, _, _, s) =
    loop (q, i, k, s) = (xs, 0, 1, 0) while length q > 0 do
      if i % 3 == 0 then (init q, i + 1, k + 1, s + k * last q) else (tail q, i + 1, k + 1, s + k * head q)
  in s

-- The last of those that are not greater, or the first.
def searched (xs: []i64) (k: i64) : i64 =
  let q = loop q = xs while length q > 1 do (let h = length q / 2 in if k < q[h] then take h q else drop h q)
  in q[0]

def main [n] (xs: []i64) (ys: [n]i64) (ks: []i64) : ([]i64, []i64, [n]i64, []i64) =
  let all = merged xs ys
  in (all, peeled xs, map (\y -> weight (iota y)) ys, map (searched all) ks)
