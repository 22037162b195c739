-- How many primes are below each number: a sieve whose arrays differ in length, with scatters in a loop in a map.
-- ==
-- input { [0i64, 1i64, 2i64, 3i64, 10i64, 100i64, 50i64, 4i64] }
-- output { [0i64, 0i64, 0i64, 1i64, 4i64, 25i64, 15i64, 2i64] }
-- input { empty([0]i64) }
-- output { empty([0]i64) }
def below (n: i64) : i64 =
  let (flags, _) =
    loop (flags, p) = (map (> 1) (iota n), 2) while p * p < n do
      let multiples = map (\i -> (i + 2) * p) (iota (i64.max 0 ((n - 1) / p - 1)))
      in (if flags[p] then scatter flags multiples (map (\_ -> false) multiples) else flags, p + 1)
  in i64.sum (map i64.bool flags)

def main (ns: []i64) : []i64 = map below ns
