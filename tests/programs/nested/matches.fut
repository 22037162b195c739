-- How often patterns, cut to different lengths, occur in a text: slices at every place of it.
-- ==
-- input { [1u8, 2u8, 1u8, 2u8, 1u8, 1u8, 2u8] [[1u8, 2u8, 1u8], [2u8, 2u8, 2u8], [1u8, 1u8, 2u8], [1u8, 2u8, 1u8]] [3i64, 1i64, 2i64, 0i64] }
-- output { [2i64, 3i64, 1i64, 8i64] }
-- input { empty([0]u8) [[1u8], [2u8]] [1i64, 0i64] }
-- output { [0i64, 1i64] }
-- input { [5u8] empty([0][0]u8) empty([0]i64) }
-- output { empty([0]i64) }
def occurrences [n][m] (text: [n]u8) (pattern: [m]u8) : i64 =
  map (\i -> and (map2 (==) text[i:i + m] pattern)) (iota (i64.max 0 (n - m + 1))) |> map i64.bool |> i64.sum

def main [n][k][m] (text: [n]u8) (patterns: [k][m]u8) (lengths: [k]i64) : [k]i64 =
  map2 (\p l -> occurrences text p[:l]) patterns lengths
