-- Filter and partition in a map; what comes of them is used again, and differs in length.
-- ==
-- input { [[3i32, 1i32, 4i32, 1i32, 5i32], [9i32, 2i32, 6i32, 5i32, 3i32], [5i32, 8i32, 9i32, 7i32, 9i32]] [4i32, 6i32, 0i32] }
-- output { [3i64, 1i64, 0i64] [13i32, 24i32, 107i32] [4i32, 10i32, -2147483648i32] }
-- input { [[1i32], [2i32]] [2i32, 2i32] }
-- output { [1i64, 0i64] [0i32, 2i32] [2i32, -2147483648i32] }
-- input { empty([0][0]i32) empty([0]i32) }
-- output { empty([0]i64) empty([0]i32) empty([0]i32) }
-- random input { [10][40]i32 [10]i32 } auto output
def main [n][m] (xss: [n][m]i32) (pivots: [n]i32) : ([n]i64, [n]i32, [n]i32) =
  map2 (\xs p ->
    let (low, high) = partition (< p) xs
    let kept = filter (\x -> x % 2 == 0) (map2 (+) low (reverse low))
    in (length kept, reduce (+) 0 (scan (+) 0 high), reduce i32.max i32.lowest (low ++ kept)))
    xss pivots
  |> unzip3
