-- Updates in updates, through arrays and records, and indices of shorter types.
-- ==
-- entry: deep
-- input { [[1, 2], [3, 4]] [[5, 6], [7, 8]] }
-- output { [[1, 20], [3, 4]] [[5, 60], [7, 8]] [[9, 2], [3, 4]] [[1, 2], [7, 10]] }

-- ==
-- entry: shorter
-- input { [[1, 2], [3, 4]] [1i8, 0] } output { [2, 3] [[1, 12], [13, 4]] }
-- input { [[1, 2], [3, 4]] [1i8, -1] } error: index -1

-- ==
-- entry: chosen
-- input { [[1i64, 2, 3], [4, 5], [6]] [2i32, 0, 0] } output { [[1i64, 2, 6], [8, 5], [12]] }
-- input { [[1i64, 2, 3], [4, 5], [6]] [2i32, 2, 0] } error: index 2

entry deep (xss: [2][2]i32) (yss: [2][2]i32) =
  let r = {pairs = map2 zip xss yss, b = {c = xss, d = (1, yss)}}
  let r.pairs[0][1] = (20, 60)
  let r = r with b.c[0][0] = 9
  let r.b.d = (2, r.b.d.1 with [1, 1] = 10 with [0] = xss[0])
  let (as, bs) = unzip (map unzip r.pairs)
  in (as, bs, r.b.c, r.b.d.1)

entry shorter (xss: [][]i32) (is: []i8) =
  (map2 (\xs i -> xs[i]) xss is, map2 (\xs i -> xs with [i] = xs[i] + 10) xss is)

-- A part of an element, which each row chooses for itself, in rows of many lengths.
entry chosen (xss: [][]i64) (is: []i32) : [][]i64 =
  map2 (\xs i -> {xs, n = (0, i)}) xss is
  |> map (\r -> r with xs[r.n.1] = 2 * r.xs[r.n.1])
  |> map (.xs)
