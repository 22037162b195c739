-- Loops whose elements differ in the number of turns, and turns that change few elements of a row: rows of one length, rows of several.
-- ==
-- entry: sorted inserted
-- input { [[5i64, 3i64, 9i64, 1i64], [7i64], [], [2i64, 2i64, 8i64, 0i64, 1i64, 6i64], [4i64, 3i64]] }
-- output { [[1i64, 3i64, 5i64, 9i64], [7i64], [], [0i64, 1i64, 2i64, 2i64, 6i64, 8i64], [3i64, 4i64]] }
-- input { [[5i64, 3i64, 9i64, 1i64], [7i64, 8i64, 6i64, 2i64], [1i64, 1i64, 0i64, 4i64]] }
-- output { [[1i64, 3i64, 5i64, 9i64], [2i64, 6i64, 7i64, 8i64], [0i64, 1i64, 1i64, 4i64]] }

-- ==
-- entry: crossed
-- input { [[5i64, 3i64, 9i64, 1i64], [7i64], [2i64, 2i64, 8i64, 0i64, 1i64, 6i64], [4i64, 3i64]] [3i64, 0i64, 7i64, 5i64] }
-- output { [[10i64, 0i64, -4i64, 1i64], [7i64], [2i64, 0i64, 4i64, 9i64, -7i64, -2i64], [-8i64, 8i64]] [[10i64, 5i64, 3i64, 9i64], [14i64], [6i64, 4i64, 2i64, 8i64, 0i64, 1i64], [0i64, -2i64]] [-1i64, 0i64, -6i64, -10i64] }
-- input { [[5i64, 3i64, 9i64, 1i64], [7i64, 8i64, 6i64, 2i64], [1i64, 1i64, 0i64, 4i64]] [6i64, 1i64, 9i64] }
-- output { [[-8i64, 10i64, -4i64, 8i64], [14i64, 8i64, 6i64, 2i64], [-6i64, 2i64, -2i64, -2i64]] [[1i64, 10i64, 0i64, 9i64], [14i64, 7i64, 12i64, 4i64], [-2i64, 6i64, 0i64, 0i64]] [-10i64, -7i64, 4i64] }

-- ==
-- entry: scattered
-- input { [[5i64, 3i64, 9i64, 1i64], [7i64], [2i64, 2i64, 8i64, 0i64, 1i64, 6i64], [4i64, 3i64]] [3i64, 0i64, 7i64, 5i64] }
-- output { [[6i64, 1i64, 7i64, 7i64], [7i64], [6i64, 1i64, 2i64, 6i64, 4i64, 5i64], [7i64, 7i64]] [[10i64, 4i64, 21i64, 11i64], [7i64], [38i64, 3i64, 10i64, 31i64, 5i64, 11i64], [40i64, 33i64]] }
-- input { [[5i64, 3i64, 9i64, 1i64], [7i64, 8i64, 6i64, 2i64], [1i64, 1i64, 0i64, 4i64]] [6i64, 1i64, 9i64] }
-- output { [[7i64, 5i64, 7i64, 8i64], [8i64, 8i64, 6i64, 2i64], [4i64, 4i64, 4i64, 7i64]] [[24i64, 19i64, 21i64, 38i64], [14i64, 8i64, 6i64, 2i64], [24i64, 17i64, 18i64, 24i64]] }

-- ==
-- entry: inside
-- input { [[5i64, 3i64, 9i64, 1i64], [7i64], [2i64, 2i64, 8i64, 0i64, 1i64, 6i64], [4i64, 3i64]] [3i64, 0i64, 7i64, 5i64] }
-- output { [[4i64, 3i64, 2i64, 1i64], [7i64], [1i64, 2i64, 1i64, 0i64, 0i64, 6i64], [3i64, 3i64]] }
-- input { [[5i64, 3i64, 9i64, 1i64], [7i64, 8i64, 6i64, 2i64], [1i64, 1i64, 0i64, 4i64]] [6i64, 1i64, 9i64] }
-- output { [[4i64, 3i64, 2i64, 1i64], [6i64, 8i64, 6i64, 2i64], [0i64, 1i64, 0i64, 4i64]] }

-- ==
-- entry: fails
-- input { [[5i64, 3i64, 9i64, 1i64], [7i64], [2i64, 2i64, 8i64, 0i64, 1i64, 6i64], [4i64, 3i64]] [4i64, 1i64, 6i64, 2i64] }
-- output { [[6i64, 7i64, 7i64, 7i64], [8i64], [3i64, 4i64, 4i64, 4i64, 4i64, 4i64], [5i64, 6i64]] }
-- input { [[5i64, 3i64, 9i64, 1i64], [7i64], [2i64, 2i64, 8i64, 0i64, 1i64, 6i64], [4i64, 3i64]] [4i64, 2i64, 6i64, 2i64] } error: index 1
-- input { [[5i64, 3i64, 9i64, 1i64], [7i64, 8i64, 6i64, 2i64], [1i64, 1i64, 0i64, 4i64]] [4i64, 0i64, 2i64] }
-- output { [[6i64, 7i64, 7i64, 7i64], [7i64, 8i64, 6i64, 2i64], [2i64, 3i64, 0i64, 4i64]] }
-- input { [[5i64, 3i64, 9i64, 1i64], [7i64, 8i64, 6i64, 2i64], [1i64, 1i64, 0i64, 4i64]] [4i64, 5i64, 2i64] } error: index 4

-- ==
-- entry: matrices
-- input { [2i64, 0i64, 3i64, 1i64] }
-- output { [[1i64, 2i64, 3i64, 6i64, 4i64, 5i64], [], [1i64, 2i64, 3i64, 2i64, 4i64, 5i64, 5i64, 6i64, 10i64], [1i64, 2i64, 3i64]] }
-- input { [2i64, 2i64] }
-- output { [[1i64, 2i64, 3i64, 6i64, 4i64, 5i64], [1i64, 2i64, 3i64, 6i64, 4i64, 5i64]] }

-- ==
-- entry: nested
-- input { [[[1i64, 2i64, 3i64], [4i64]], [], [[5i64, 6i64], [], [7i64, 8i64, 9i64, 10i64]]] [2i64, 3i64, 5i64] }
-- output { [[[4i64, 3i64, 4i64], [8i64]], [], [[11i64, 11i64], [], [13i64, 11i64, 15i64, 13i64]]] }
-- input { [[[1i64, 2i64, 3i64], [4i64, 0i64, 1i64]], [[5i64, 6i64, 2i64], [7i64, 8i64, 9i64]]] [2i64, 5i64] }
-- output { [[[4i64, 3i64, 4i64], [2i64, 1i64, 2i64]], [[4i64, 3i64, 4i64], [11i64, 10i64, 11i64]]] }

-- ==
-- entry: followed
-- input { [[5i64, 3i64, 9i64, 1i64], [7i64], [2i64, 2i64, 8i64, 0i64, 1i64, 6i64], [4i64, 3i64]] [[2i64, 0i64, 3i64, 1i64], [0i64], [5i64, 4i64, 3i64, 0i64, 1i64, 2i64], [1i64, 0i64]] [9i64, 9i64, 0i64, 4i64] }
-- output { [[56i64, 25i64, 43i64, 14i64], [123i64], [2i64, 2i64, 8i64, 0i64, 1i64, 6i64], [18i64, 17i64]] [2i64, 0i64, 0i64, 0i64] }

-- ==
-- entry: branches
-- input { [[5i64, 3i64, 9i64, 1i64], [7i64], [2i64, 2i64, 8i64, 0i64, 1i64, 6i64], [4i64, 3i64]] [3i64, 0i64, 7i64, 5i64] }
-- output { [[3i64, 6i64, 0i64, 1i64], [7i64], [0i64, 1i64, -3i64, 7i64, -10i64, 12i64], [5i64, -11i64]] [[6i64, 7i64, 7i64, 1i64], [7i64], [4i64, 3i64, 8i64, 0i64, 3i64, 3i64], [8i64, 9i64]] [[2i64, 3i64, 0i64, 1i64], [7i64], [0i64, 1i64, 2i64, 7i64, 0i64, 7i64], [0i64, 5i64]] }
-- input { [[5i64, 3i64, 9i64, 1i64], [7i64, 8i64, 6i64, 2i64], [1i64, 1i64, 0i64, 4i64]] [6i64, 1i64, 9i64] }
-- output { [[0i64, -6i64, 0i64, 9i64], [6i64, 8i64, 6i64, 2i64], [-9i64, -9i64, 9i64, 0i64]] [[6i64, 7i64, 7i64, 7i64], [8i64, 9i64, 6i64, 2i64], [2i64, 3i64, 0i64, 4i64]] [[6i64, 0i64, 1i64, 0i64], [0i64, 8i64, 6i64, 2i64], [0i64, 9i64, 0i64, 9i64]] }
-- input { [[5i64, 3i64, 9i64, 1i64], [7i64], [2i64, 2i64, 8i64, 0i64, 1i64, 6i64], [4i64, 3i64]] [8i64, 3i64, 2i64, 9i64] }
-- output { [[8i64, 8i64, 0i64, 15i64], [-3i64], [0i64, 1i64, 8i64, 2i64, 1i64, 6i64], [0i64, 0i64]] [[13i64, 8i64, 7i64, 9i64], [8i64], [2i64, 2i64, 8i64, 0i64, 1i64, 6i64], [4i64, 5i64]] [[8i64, 3i64, 8i64, 1i64], [2i64], [2i64, 0i64, 1i64, 0i64, 1i64, 6i64], [0i64, 9i64]] }

-- ==
-- entry: pairs
-- input { [[5i64, 3i64, 9i64, 1i64], [7i64], [2i64, 2i64, 8i64, 0i64, 1i64, 6i64], [4i64, 3i64]] [3i64, 0i64, 7i64, 5i64] }
-- output { [[-5i64, 5i64, -9i64, -3i64], [7i64], [4i64, 2i64, 10i64, -6i64, 3i64, 13i64], [2i64, 1i64]] [[0i64, 0i64, 2i64, 1i64], [-7i64], [6i64, 0i64, 0i64, 5i64, 2i64, 4i64], [4i64, 3i64]] }
-- input { [[5i64, 3i64, 9i64, 1i64], [7i64, 8i64, 6i64, 2i64], [1i64, 1i64, 0i64, 4i64]] [6i64, 1i64, 9i64] }
-- output { [[0i64, -5i64, -9i64, 3i64], [-7i64, 8i64, 6i64, 2i64], [4i64, 5i64, 2i64, -1i64]] [[4i64, 4i64, 2i64, 5i64], [0i64, -8i64, -6i64, -2i64], [8i64, 7i64, 6i64, 4i64]] }

-- Rows sorted by exchanges: what a turn looks at and writes are two elements.
entry sorted (xss: [][]i64) : [][]i64 =
  map (\xs ->
    loop xs for i < length xs do
      loop xs for j < length xs - 1 - i do
        if xs[j] > xs[j + 1] then (let a = xs[j] in (xs with [j] = xs[j + 1]) with [j + 1] = a) else xs) xss

-- Elements inserted one after the other, as far down as each has to go.
entry inserted (xss: [][]i64) : [][]i64 =
  map (\xs ->
    loop xs for i < length xs do
      (loop (j, xs) = (i, xs) while j > 0 && xs[max 0 (j - 1)] > xs[j] do
        (j - 1, (xs with [j - 1] = xs[j]) with [j] = xs[j - 1])).1) xss

-- Two rows of an element, each made of the other as it was, and a sum of both.
entry crossed (xss: [][]i64) (ns: []i64) : ([][]i64, [][]i64, []i64) =
  unzip3 (map2 (\xs n ->
    loop (ys, zs, s) = (xs, map (* 2) xs, 0) for i < n do
      let j = i % length xs
      in (ys with [j] = zs[j] + s, zs with [(j + 1) % length xs] = ys[j], s + ys[(j * 5) % length xs] - zs[j])) xss ns)

-- Places that come twice in a turn: the last one stays, or all are added; what is put looks at the row as it was.
entry scattered (xss: [][]i64) (ns: []i64) : ([][]i64, [][]i64) =
  unzip (map2 (\xs n ->
    let l = length xs in
    (loop ys = xs for i < n do scatter ys [i % l, i * 3 % l, l + i] [i, ys[0] + 1, 9],
     loop ys = xs for i < n do reduce_by_index ys (+) 0 [i % l, i * 3 % l, -1] [i, ys[0], 9])) xss ns)

-- A place that may be outside of the row is asked for, and nothing is put there.
entry inside (xss: [][]i64) (ns: []i64) : [][]i64 =
  map2 (\xs n -> loop ys = xs for i < n do if i * 2 < length ys then ys with [i * 2] = ys[i] - 1 else ys) xss ns

-- An index that is outside in the last turn of one element.
entry fails (xss: [][]i64) (ns: []i64) : [][]i64 =
  map2 (\xs n -> loop ys = xs for i < n do ys with [i] = ys[0] + 1) xss ns

-- Rows and elements of a matrix of each element, which differ in their number of rows.
entry matrices (ns: []i64) : [][]i64 =
  map (\n -> flatten (loop m = replicate n [1, 2, 3] for i < 2 * n do
    if i % 2 == 0 then m with [i / 2] = map (+ i) (m[(i + 1) % n]) else m with [i / 2, i % 3] = m[i % n, 0] * 2)) ns

-- A loop inside of a loop inside of two maps, over rows of rows.
entry nested (xsss: [][][]i64) (ns: []i64) : [][][]i64 =
  map2 (\xss n -> map (\xs ->
    loop ys = xs for i < (if length xs == 0 then 0 else n) do
      let zs = loop ys for k < 1 + (i + length xs) % 3 do ys with [(i + k) % length xs] = ys[k % length xs] + k
      in zs with [0] = zs[length xs - 1]) xss) xsss ns

-- Where an element is told by another row, which stays as it is.
entry followed (xss: [][]i64) (ps: [][]i64) (ns: []i64) : ([][]i64, []i64) =
  unzip (map3 (\xs ps n ->
    let (ys, at, _) = loop (ys, at, i) = (xs, 0, 0) while i < n && ys[at] < 100 do (ys with [at] = ys[at] * 2 + i, ps[at], i + 1)
    in (ys, at)) xss ps ns)

-- Branches that some elements take, with memory of their own, and others that change an element or nothing.
entry branches (xss: [][]i64) (ns: []i64) : ([][]i64, [][]i64, [][]i64) =
  unzip3 (map2 (\xs n ->
    let l = length xs in
    (loop ys = xs for i < n do
       if (i + n) % 3 == 0 then scatter ys [i % l, i * 3 % l] [ys[0] + i, n] else ys with [i % l] = ys[i * 2 % l] - n,
     loop ys = xs for i < n do
       if ys[i % l] % 2 == 0 then ys else loop ys for k < 1 + n % 3 do ys with [(i + k) % l] = ys[k % l] + 1,
     loop ys = xs for i < n do
       if i % 2 == n % 2 then scatter ys [i % l] [n] else loop ys for k < n % 4 do ys with [(i + k) % l] = k)) xss ns)

-- Pairs, and a number that is counted beside them.
entry pairs (xss: [][]i64) (ns: []i64) : ([][]i64, [][]i64) =
  unzip (map2 (\xs n ->
    let l = length xs
    let (ps, _) = loop (ps, s) = (map (\x -> (x, -x)) xs, 0) for i < n do
      (scatter (ps with [i % l] = (s, ps[0].1)) [i * 3 % l] [(ps[i % l].1, i)], s + ps[i * 2 % l].0)
    in unzip ps) xss ns)
