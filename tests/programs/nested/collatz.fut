-- Loops over scalars that end after very different numbers of turns, alone and as what an outer loop looks for.
-- ==
-- input { [1i64, 27i64, 6i64, 97i64, 0i64, 1024i64] }
-- output { [0i64, 111i64, 8i64, 118i64, 0i64, 10i64] [7i64, 27i64, 7i64, 97i64, 7i64, 1025i64] }
-- input { [3i64] }
-- output { [7i64] [7i64] }
-- input { empty([0]i64) }
-- output { empty([0]i64) empty([0]i64) }
def steps (n: i64) : i64 =
  let (_, count) =
    loop (n, count) = (n, 0) while n > 1 do
      (if n % 2 == 0 then n / 2 else 3 * n + 1, count + 1)
  in count

def main (ns: []i64) : ([]i64, []i64) =
  (map steps ns, map (\n -> loop k = n while steps k <= 10 do k + 1) ns)
