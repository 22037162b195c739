-- An error in a loop ends it, though what the turns after it go on with would let it turn for ever.

-- ==
-- entry: cut
-- input { [1i64, 2, 3] } error: W1002
entry cut (xs: []i64) : []i64 = loop q = xs while length q < 100 do q[1:]

-- ==
-- entry: cut_beside
-- input { [1i64, 2, 3] } error: W100
entry cut_beside (xs: []i64) : ([]i64, i64) = loop (q, s) = (xs, 0) while length q < 100 do (q[1:], s + length q)

-- ==
-- entry: cut_inside
-- input { [1i64, 2, 3] } error: W1002
entry cut_inside (xs: []i64) : []i64 =
  map (\k -> (loop (q, s) = (xs, k) while length q + s < 100 do (q[1:], s)).1) xs

-- ==
-- entry: read
-- input { [1i64, 2, 3] } error: W1001
-- input { [10i64] } output { 10i64 }
entry read (xs: []i64) : i64 = loop i = 0 while i >= 0 && i < 10 || i > 10 do if i < 10 then i + xs[i] else i
