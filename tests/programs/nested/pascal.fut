-- A loop whose array grows by one each turn, for different numbers of turns.
-- ==
-- input { [0i64, 1i64, 2i64, 7i64, 30i64, 3i64] }
-- output { [1i64, 1i64, 2i64, 35i64, 155117520i64, 3i64] [0i64, 1i64, 4i64, 448i64, 16106127360i64, 12i64] }
-- input { [5i64, 5i64] }
-- output { [10i64, 10i64] [80i64, 80i64] }
-- input { empty([0]i64) }
-- output { empty([0]i64) empty([0]i64) }
def row (n: i64) : []i64 =
  loop xs = [1] for i < n do map2 (+) ([0] ++ xs) (xs ++ [0])

def main (ns: []i64) : ([]i64, []i64) =
  unzip (map (\n -> let r = row n in (reduce i64.max 0 r, reduce (+) 0 (map2 (*) r (iota (n + 1))))) ns)
