-- Arrays that a function makes of elements, one behind the other, with their lengths, flags and offsets.
-- ==
-- entry: counted
-- input { [2i64, 0, 3] [10, 20, 30] }
-- output { [2i64, 0, 3] [true, false, true, false, false] [0i64, 2, 2] [10, 11, 30, 31, 32] }
-- input { empty([0]i64) empty([0]i32) }
-- output { empty([0]i64) empty([0]bool) empty([0]i64) empty([0]i32) }
-- input { [2i64, -1] [1, 2] } error: array of -1 elements

-- ==
-- entry: beside
-- input { [[1i64, 0], [2, 3]] } output { [1i64, 13] [1i64, 2] [[2i64, 1], [3, 4]] }

-- ==
-- entry: inside
-- input { [1i64, 3, 2] } output { [0i64, 3, 1] [0i64, 0, 1, 0] }

entry counted ns (xs: []i32) = flatmap (\n x -> map (+ x) (map i32.i64 (iota n))) ns xs

-- In each row; what is made beside the arrays comes behind them.
entry beside (nss: [][]i64) =
  map (\ns ->
         let (_, _, offsets, xs, ends) = flatmap (\n -> (replicate n n, 1 + n)) ns
         in (i64.sum xs, i64.sum offsets, ends)) nss
  |> unzip3

-- One inside of another.
entry inside (ns: []i64) =
  let (lengths, _, _, xs) =
    flatmap (\n ->
               let (_, _, _, xs) = flatmap iota (iota n)
               in sized (n * (n - 1) / 2) xs) ns
  in (lengths, xs)
