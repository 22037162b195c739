-- One definition with functions and types as parameters, used in nests of different depth and element types.
-- ==
-- input { [[1.5f32, 3f32, 3f32], [-2f32, -7.5f32, -2f32]] }
-- output { [3f32, -2f32] [1i64, 0i64] [63i32, -99i32] 16i64 }
-- input { [[4f32]] }
-- output { [4f32] [0i64] [36i32] 2i64 }
-- input { empty([0][0]f32) }
-- output { empty([0]f32) empty([0]i64) empty([0]i32) 0i64 }
def segmented 'a 'b [n][m] (op: b -> b -> b) (ne: b) (f: a -> b) (xss: [n][m]a) : [n]b =
  map (\xs -> reduce op ne (map f xs)) xss

def twice 'a (f: a -> a) = f >-> f
def pair_max ((x, i): (f32, i64)) ((y, j): (f32, i64)) : (f32, i64) =
  if y > x || (y == x && j < i) then (y, j) else (x, i)

entry main [n][m] (xss: [n][m]f32) : ([n]f32, [n]i64, [n]i32, i64) =
  let (largest, place) = unzip (segmented pair_max (-f32.inf, i64.highest) (uncurry (flip (\i x -> (x, i)))) (map (\xs -> zip xs (iota m)) xss))
  in (largest, place, segmented (+) 0 (\x -> twice (* 3) (i32.f32 x)) xss, i64.sum (segmented (*) 1 (const 2) xss))
