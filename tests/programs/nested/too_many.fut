-- Numbers of elements that are products and sums of others do not wrap around, nor are they negative: arrays that are never
-- in memory, of which something is asked.

-- ==
-- entry: unflattened
-- input { 4611686018427387905i64 4i64 [0i64, 1i64, 2i64, 3i64] 1000000i64 2i64 } error: more than 2\^63 elements
-- input { 4294967296i64 4294967296i64 empty([0]i64) 5i64 5i64 } error: more than 2\^63 elements
-- input { 2i64 3i64 [0i64, 1i64, 2i64, 3i64] 0i64 0i64 } error: unflatten to 6 elements, but the array has 4
-- input { -2i64 -2i64 [0i64, 1i64, 2i64, 3i64] 0i64 0i64 } error: array of -2 elements
-- input { 2i64 2i64 [0i64, 1i64, 2i64, 3i64] 1i64 0i64 } output { 2i64 }
entry unflattened (n: i64) (m: i64) (xs: []i64) (i: i64) (j: i64) : i64 = (unflatten n m xs)[i, j]

-- ==
-- entry: rows_of
-- input { 4611686018427387905i64 [0i64, 1i64, 2i64, 3i64] } error: more than 2\^63 elements
entry rows_of (n: i64) (xs: []i64) : i64 = fold_seq (+) 0 (map_seq sum (rows (unflatten n 4 xs)))

-- ==
-- entry: joined
-- input { 9223372036854775807i64 } error: 
-- input { 3i64 } output { 9i64 }
entry joined (n: i64) : i64 = length (replicate n 1i8 ++ replicate n 2 ++ replicate n 3)

-- ==
-- entry: lengths
-- input { [3i64, -1i64, 2i64] } error: W1012
entry lengths (ns: []i64) : []i64 = map (\n -> length (map (+ 1) (iota n))) ns

-- ==
-- entry: made
-- input { [3i64, 12i64, 2i64] } output { [[3i64, 3i64, 3i64], [], [2i64, 2i64]] }
-- input { [3i64, -1i64] } error: W1012
entry made (ns: []i64) : [][]i64 = map (\n -> if n > 10 then [] else replicate n n) ns

-- A known length of -1 stands in a branch that is not taken.
-- ==
-- entry: stack
-- input { [[1i64, 2i64, -1i64, 3i64], [-1i64, -1i64, 5i64, -1i64]] } output { [2i64, 0i64] }
entry stack (xss: [][]i64) : []i64 =
  map (\xs -> length (loop v = [] for x in xs do if x >= 0 then v ++ [x] else if length v > 0 then init v else v)) xss
