-- Powers of matrices by squaring: loops of different lengths whose state are matrices of one size.
-- ==
-- input { [[[1i64, 1i64], [1i64, 0i64]], [[1i64, 1i64], [1i64, 0i64]], [[1i64, 1i64], [1i64, 0i64]], [[1i64, 1i64], [1i64, 0i64]]] [0i64, 1i64, 10i64, 37i64] }
-- output { [[[1i64, 0i64], [0i64, 1i64]], [[1i64, 1i64], [1i64, 0i64]], [[89i64, 55i64], [55i64, 34i64]], [[39088169i64, 24157817i64], [24157817i64, 14930352i64]]] }
-- input { [[[2i64, 1i64], [0i64, 1i64]], [[0i64, -1i64], [1i64, 0i64]]] [5i64, 6i64] }
-- output { [[[32i64, 31i64], [0i64, 1i64]], [[-1i64, 0i64], [0i64, -1i64]]] }
-- input { [[[3i64]]] [4i64] }
-- output { [[[81i64]]] }
-- input { empty([0][0][0]i64) empty([0]i64) }
-- output { empty([0][0][0]i64) }
def product [n] (a: [n][n]i64) (b: [n][n]i64) : [n][n]i64 =
  map (\r -> map (\c -> reduce (+) 0 (map2 (*) r c)) (transpose b)) a

def power [n] (m: [n][n]i64) (k: i64) : [n][n]i64 =
  let one = tabulate_2d n n (\i j -> i64.bool (i == j))
  let (r, _, _) =
    loop (r, m, k) = (one, m, k) while k > 0 do
      (if k % 2 == 1 then product r m else r, product m m, k / 2)
  in r

def main [k][n] (ms: [k][n][n]i64) (es: [k]i64) : [k][n][n]i64 = map2 power ms es
