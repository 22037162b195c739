-- Each row sorted bit by bit: scans and a scatter in a loop in a map, then rows cut to different lengths and sorted too.
-- ==
-- entry: whole
-- input { [[3u32, 1u32, 4294967295u32, 0u32], [7u32, 7u32, 6u32, 2147483648u32]] }
-- output { [[0u32, 1u32, 3u32, 4294967295u32], [6u32, 7u32, 7u32, 2147483648u32]] }
-- input { [[9u32]] }
-- output { [[9u32]] }
-- input { empty([0][0]u32) }
-- output { empty([0][0]u32) }
-- random input { [4][100]u32 } auto output
def by_bit [n] (xs: [n]u32) (b: i32) : [n]u32 =
  let ones = map (\x -> i64.u32 ((x >> u32.i32 b) & 1)) xs
  let zeros = map (1 -) ones
  let before = scan (+) 0 zeros
  let count = reduce (+) 0 zeros
  let after = scan (+) 0 ones
  let places = map3 (\one i j -> if one == 1 then count + j - 1 else i - 1) ones before after
  in scatter (copy xs) places xs

def sorted [n] (xs: [n]u32) : [n]u32 = loop xs for b < 32 do by_bit xs b

entry whole [n][m] (xss: [n][m]u32) : [n][m]u32 = map sorted xss
entry cut [n][m] (xss: [n][m]u32) (ks: [n]i64) : [n]u32 =
  map2 (\xs k -> let ys = sorted xs[:k] in reduce (+) 0 (map2 (*) ys (map u32.i64 (iota k)))) xss ks

-- ==
-- entry: cut
-- input { [[3u32, 1u32, 2u32], [9u32, 8u32, 7u32], [5u32, 4u32, 3u32]] [3i64, 0i64, 2i64] } output { [8u32, 0u32, 5u32] }
-- input { [[1u32], [2u32]] [1i64, 2i64] } error: slice
