-- Entries without types: what they leave out become parameters, whose types the body decides. Literals decide where nothing else does.
-- ==
-- entry: rank_sums
-- input { [[[1.5f64, 2], [3, 4]], [[5, 6], [7, 8]]] } output { [10.5f64, 26] }
-- input { empty([0][2][2]f64) } output { empty([0]f64) }

-- ==
-- entry: pick
-- input { [3i64, 1] [[4i32, 5], [7, 9]] } output { [12i32, 7] }

-- ==
-- entry: window
-- input { [1i64, 2, 3, 4, 5] [10i64, 20] [0i64, 3] [2i64, 5] } output { [23i64, 49] }
-- input { [1i64, 2, 3, 4, 5] [10i64] [0i64] [6i64] } error: slice

-- ==
-- entry: grown
-- input { [1, 2, 3] } output { [2, 3, 4] }

entry rank_sums = map (map f64.sum) >-> map f64.sum
entry pick = map2 (\n xs -> (replicate n xs |> map i32.sum)[0] + xs[0] * i32.i64 (n / 3 - 1) - (if n == 1 then 2 else -3))
entry window xs = map3 (\x from to -> i64.sum (map (+ x) xs[from:to]))
entry grown xs = map (+ 1) xs

-- The last argument without parentheses, where others have types.
-- ==
-- entry: last_places
-- input { [0i64, 2, 1, 3] [7i32, 8, 9, 6] [1i64, 3, 4] [1i64, 2, 4] } output { [7i32, 8, 6] }
-- input { [0i64, 2] [7i32, 8] [3i64] [3i64] } error: out of bounds
entry last_places (is: []i64) vs = map2 \n m -> last (scatter (replicate n 0i32) is[:m] (take m vs))
