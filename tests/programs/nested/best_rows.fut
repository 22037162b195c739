-- Operators that choose one of two rows: by a number that each has, by both at once, by a record's key; and rows that are joined.
-- ==
-- input { [3i64, 0i64, 4i64, 2i64, 4i64] }
-- output { [4i64, 2i64, 0i64, 3i64] [15i64, 15i64, 30i64, 30i64, 30i64] 2i64 4i64 [3i64, 1i64, 4i64, 2i64] [50i64, 110i64, 301i64, 517i64, 912i64] [35i64, 35i64, 35i64, 35i64, 35i64] }
-- input { empty([0]i64) }
-- output { empty([0]i64) empty([0]i64) -1i64 0i64 empty([0]i64) empty([0]i64) empty([0]i64) }
-- input { [0i64, 0i64] }
-- output { empty([0]i64) [0i64, 0i64] 0i64 1i64 empty([0]i64) [21i64, 51i64] [0i64, 0i64] }
-- input { [1i64] }
-- output { [0i64] [1i64] 0i64 0i64 [0i64] [24i64] [1i64] }
-- input { [2i64, 6i64, 6i64, 1i64, 0i64, 6i64, 3i64, 3i64] }
-- output { [2i64, 0i64, 3i64, 1i64, 4i64, 2i64] [9i64, 68i64, 70i64, 70i64, 70i64, 70i64, 70i64, 70i64] 3i64 0i64 [0i64, 3i64] [40i64, 248i64, 678i64, 908i64, 1118i64, 1746i64, 2285i64, 2926i64] [56i64, 56i64, 56i64, 56i64, 56i64, 56i64, 14i64, 14i64] }
def longer (a: []i64) (b: []i64) : []i64 = if length a >= length b then a else b

-- In lexicographic order.
def greater (a: []i64) (b: []i64) : []i64 =
  let n = i64.min (length a) (length b)
  let i = loop i = 0 while i < n && a[i] == b[i] do i + 1
  in if i < n then (if a[i] > b[i] then a else b) else (if length a >= length b then a else b)

def number (r: []i64) : i64 = i64.sum (map2 (\i x -> (i + 1) * (x + 1)) (iota (length r)) r)

def main [n] (lengths: [n]i64) : ([]i64, [n]i64, i64, i64, []i64, [n]i64, [n]i64) =
  let rows = map2 (\i l -> map (\j -> (i * 7 + j * 3) % 5) (iota l)) (iota n) lengths
  let (key, place, best) =
    reduce (\(k, i, a) (l, j, b) -> if k > l || (k == l && length a < length b) then (k, i, a) else (l, j, b))
           (-1, 0, []) (zip3 (map (\r -> i64.sum r % 4) rows) (iota n) rows)
  let joined = scan (\a b -> a ++ [9] ++ b) [0] rows
  let behind = scan_right (\b a -> if length b > length a then b else a) [] rows
  in (reduce longer [] rows, map number (scan greater [] rows), key, place, best, map number joined, map number behind)
