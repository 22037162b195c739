-- The best that fits into bags of different sizes: loops over arrays whose lengths differ between elements.
-- ==
-- input { [2i64, 3i64, 4i64, 5i64] [3i64, 4i64, 5i64, 6i64] [0i64, 1i64, 5i64, 9i64, 14i64, 100i64] }
-- output { [0i64, 0i64, 7i64, 12i64, 18i64, 18i64] }
-- input { [1i64] [10i64] [0i64, 1i64] }
-- output { [0i64, 10i64] }
-- input { empty([0]i64) empty([0]i64) [3i64, 0i64] }
-- output { [0i64, 0i64] }
-- input { [4i64] [1i64] empty([0]i64) }
-- output { empty([0]i64) }
def best [n] (weights: [n]i64) (values: [n]i64) (capacity: i64) : i64 =
  let table =
    loop table = replicate (capacity + 1) 0 for (w, v) in zip weights values do
      map (\c -> if c >= w then i64.max table[c] (table[c - w] + v) else table[c]) (iota (capacity + 1))
  in table[capacity]

def main [n][k] (weights: [n]i64) (values: [n]i64) (capacities: [k]i64) : [k]i64 = map (best weights values) capacities
