-- Errors inside of nests: what fails for one element fails, and only if it is needed.
-- ==
-- entry: index
-- input { [2i64, 3i64] [5, 6, 7] } output { [6, 7] }
-- input { [2i64, 4i64] [5, 6, 7] } error: index
-- input { [0i64] [5] } error: Error: index -1 is outside
entry index [n][m] (ks: [n]i64) (xs: [m]i32) : [n]i32 = map (\k -> last (map (\i -> xs[i]) (iota k))) ks

-- ==
-- entry: guarded
-- input { [2, 0, 5] } output { [[6, 0, 2], [6, 0, 2], [6, 0, 2]] }
entry guarded [n] (xs: [n]i32) : [n][n]i32 = map (\_ -> map (\x -> if x == 0 then 0 else 12 / x) xs) xs

-- ==
-- entry: unequal
-- input { [1i64, 2i64] [1i64, 2i64] } output { [0i64, 2i64] }
-- input { [1i64, 2i64] [1i64, 3i64] } error: length
entry unequal [n] (as: [n]i64) (bs: [n]i64) : [n]i64 = map2 (\a b -> i64.sum (map2 (+) (iota a) (iota b))) as bs

-- ==
-- entry: asserted
-- input { [[1, 2], [3, 4]] } output { [3, 7] }
-- input { [[1, 2], [3, -4]] } error: assert
entry asserted [n][m] (xss: [n][m]i32) : [n]i32 = map (\xs -> i32.sum (map (\x -> assert (x > 0) x) xs)) xss

-- ==
-- entry: claimed
-- input { [[1, 2, 3, 4]] [2i64] } output { [[[1, 2], [3, 4]]] }
-- input { [[1, 2, 3, 4]] [3i64] } error:
entry claimed [n][m] (xss: [n][m]i32) (ks: [n]i64) : [n][2][]i32 = map2 (\xs k -> [xs[:k], xs[k:]] :> [2][k]i32) xss ks
