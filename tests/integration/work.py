#!/usr/bin/python3
"""Work and space of compiled code, counted, against the interpreter's (docs/architecture.md): where vectorising is known to cost more than
it should. An element that turns a thousand times as often as the others, rows of very different lengths, many references to one long row,
all pairs of points, transforms, branches that few take, and programs of examples/."""
# timeout: 600
import os, sys
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from weftgen import work
from weftgen.farm import Farm

TMP = os.path.join(os.environ["LOOM_TMP"], "work")
os.makedirs(TMP, exist_ok=True)
farm = Farm(os.environ["GRIDLOOM_BIN"], workers=(2,))
rng = np.random.default_rng(3)
failed = []


def path(name):
    return os.path.join(TMP, name)


def given(inputs):
    """Words for arrays, rows of them (a list), and scalars."""
    words = []
    for name, value in inputs.items():
        option, name = ("--stream", name[1:]) if name.startswith("*") else ("--arg", name)
        if isinstance(value, list):
            np.save(path(name + ".npy"), np.concatenate(value))
            np.save(path(name + ".lengths.npy"), np.array([len(v) for v in value], np.int64))
            value = "%s,%s" % (path(name + ".npy"), path(name + ".lengths.npy"))
        elif isinstance(value, np.ndarray):
            np.save(path(name + ".npy"), value)
            value = path(name + ".npy")
        words += [option, "%s=%s" % (name, value)]
    return words


def named(program, entry):
    return os.path.basename(program)[:-5] if entry == "main" else entry


def counts(command, program, entry, inputs, outputs):
    """What was counted, or None; the results are in out.*.npy."""
    words = [command, program, "--entry", entry, "--count-work", path(command + ".json")] + given(inputs)
    for o in outputs:
        words += ["-o", (o + "=" if o else "") + path("out.%s.npy" % o)]
    code, said = farm.call(words + (["--connect", farm.endpoint, "--remarks"] if command == "run" else []), timeout=300)
    if code or "interpreted" in said:
        failed.append("%s of %s, %s: exit %d: %s" % (command, program, entry, code, said[-500:]))
        return None
    return work.read(path(command + ".json"))


def compare(program, entry, inputs, outputs=("",), overhead=1000):
    """The two counts, if both ran."""
    want, got = counts("eval", program, entry, inputs, outputs), counts("run", program, entry, inputs, outputs)
    if not want or not got:
        return None
    why = work.exceeds(want, got, overhead)
    print("%-24s work %9d to %9d, %4.2f times; bytes %9d to %9d" %
          (named(program, entry), work.total(want), work.total(got), work.total(got) / max(1, work.total(want)), want["peak_bytes"], got["peak_bytes"]))
    if why:
        failed.append("%s: %s" % (named(program, entry), why))
    return want, got


def at_most(entry, inputs, most_work, most_bytes, program, outputs=("",)):
    """What the interpreter would take too long for is held against what is known of it."""
    got = counts("run", program, entry, inputs, outputs)
    if not got:
        return None
    print("%-24s work %9d of %9d, bytes %9d of %9d" % (named(program, entry), work.total(got), most_work, got["peak_bytes"], most_bytes))
    if work.total(got) > most_work or got["peak_bytes"] > most_bytes:
        failed.append("%s: work %s, bytes %d" % (named(program, entry), work.told(got), got["peak_bytes"]))
    return got


def example(name):
    return os.path.join(ROOT, "examples", name + ".weft")


PROGRAM = path("p.weft")
with open(PROGRAM, "w") as f:
    f.write("""
-- Scalars, and rows, that turn as often as an element says.
entry turns (ns: []i64) : []i64 = map (\\n -> loop x = 0 for i < n do (x * 7 + i) % 1000) ns
entry turns_of_rows (ns: []i64) (xs: []f64) : [][]f64 =
  map (\\n -> (loop (i, ys) = (0, xs) while i < n do (i + 1, map (\\y -> y * 0.5 + 1) (reverse ys))).1) ns
entry changed (n: i64) : []i64 = loop xs = replicate n 0 for i < n do xs with [i] = i * i
entry changed_at_times (n: i64) : []i64 = loop xs = replicate n 0 for i < n do (if i % 3 == 0 then xs with [i] = i else xs)
entry changed_by_itself (n: i64) : []i64 = loop xs = replicate n 1 for i < n - 1 do xs with [i + 1] = (xs[i] * 3 + 1) % 1001
entry diagonal (n: i64) : [][]i64 = loop m = replicate n (replicate n 0) for i < n do m with [i, i] = 1
entry rows_in_turn (n: i64) : [][]i64 = loop m = replicate n (replicate n 0) for i < n do m with [i] = iota n
entry counted (n: i64) : []i64 = loop h = replicate n 0 for i < n do reduce_by_index h (+) 0 [i % 10] [i]
entry two_at_once (n: i64) : []i64 = loop xs = replicate n 0 for i < n do (xs with [i] = i * i) with [n - 1 - i] = i
entry swapped (n: i64) : []i64 =
  loop xs = map (\\i -> (i * 7919) % 1000) (iota n) for i < n - 1 do
    if xs[i] > xs[i + 1] then (xs with [i] = xs[i + 1]) with [i + 1] = xs[i] else xs
entry one_of_two (n: i64) : ([]i64, []i64) =
  loop (xs, ys) = (replicate n 0, replicate n 1) for i < n do
    if i % 3 == 0 then (xs with [i] = i, ys) else (xs, ys with [n - 1 - i] = i)
entry from_each_other (n: i64) : ([]i64, []i64) =
  loop (xs, ys) = (replicate n 0, replicate n 1) for i < n do (xs with [i] = ys[i] + 1, ys with [n - 1 - i] = xs[i] + 2)
entry scattered (n: i64) : []i64 = loop xs = replicate n 0 for i < n do scatter xs [i, (i * 3) % n] [xs[i], i + 1]
entry swapped_rows (n: i64) : [][]i64 =
  loop m = map (\\i -> map (+ i) (iota 5)) (iota n) for i < n - 1 do (let r = m[i] in (m with [i] = m[i + 1]) with [i + 1] = r)
entry bubble (n: i64) : []i64 =
  loop xs = map (\\i -> (i * 7919) % 1000) (iota n) for i < n do
    loop xs for j < n - 1 - i do
      if xs[j] > xs[j + 1] then (let a = xs[j] in (xs with [j] = xs[j + 1]) with [j + 1] = a) else xs
entry insertion (n: i64) : []i64 =
  loop xs = map (\\i -> i * 1000 - (i * 7919) % 3000) (iota n) for i < n - 1 do
    (loop (j, xs) = (i + 1, xs) while j > 0 && xs[max 0 (j - 1)] > xs[j] do
      (j - 1, (xs with [j - 1] = xs[j]) with [j] = xs[j - 1])).1
entry sieve (n: i64) : []bool =
  loop ps = replicate n true for i < n do
    if i >= 2 && i * i < n && ps[i] then (loop ps for k < (n - i * i + i - 1) / i do ps with [i * i + k * i] = false) else ps
entry united (n: i64) : []i64 =
  loop ps = iota n for i < n do
    let find = \\a -> loop r = a while ps[r] != r do ps[r]
    let (a, b) = (find ((i * 17) % n), find ((i * 31 + 5) % n)) in if a == b then ps else ps with [a] = b
entry searched (n: i64) : ([]i64, []bool) =
  let (q, _, _, seen) =
    loop (q, head, end, seen) = (replicate n 0, 0, 1, replicate n false with [0] = true) while head < end do
      let a = (q[head] * 3 + 1) % n
      in if seen[a] then (q, head + 1, end, seen) else (q with [end] = a, head + 1, end + 1, seen with [a] = true)
  in (q, seen)
-- What loses its first elements, or its last ones; and what gains some at its end for it.
entry tails (xs: []i64) : i64 = (loop (q, s) = (xs, 0) while length q > 0 do (tail q, s + q[0])).1
entry drops (xs: []i64) : i64 = (loop (q, s) = (xs, 0) while length q > 3 do (drop 3 q, s + q[0] * q[2])).1
entry inits (xs: []i64) : i64 = (loop (q, s) = (xs, 0) while length q > 0 do (init q, s + sum q)).1
entry cut_in_two (xs: []i64) : ([]i64, i64) =
  loop (q, s) = (xs, 0) while length q > 1 do (if s % 2 == 0 then take (length q / 2) q else drop (length q / 2) q, s + q[0])
entry tails_in_map (xs: []i64) : []i64 =
  map (\\k -> (loop (q, s) = (xs, 0) while length q > k do (tail q, s + q[0])).1) (iota 10)
entry tails_beside (xs: []i64) : []i64 =
  (loop (q, h) = (xs, replicate 1000 0) while length q > 0 do (tail q, h with [q[0]] = length q)).1
entry queue (n: i64) : i64 = (loop (q, s) = (iota 100, 0) for _i < n do (tail q ++ [q[0] * 3 % 1001], s + q[0])).1
entry queued (n: i64) : (i64, []bool) =
  let (_, s, seen) =
    loop (q, s, seen) = ([0], 0, replicate n false with [0] = true) while length q > 0 do
      let x = q[0]
      let (a, b) = ((x * 3 + 1) % n, (x * 5 + 2) % n)
      in if seen[a] then (if seen[b] then (tail q, s + x, seen) else (tail q ++ [b], s + x, seen with [b] = true))
         else (tail q ++ [a], s + x, seen with [a] = true)
  in (s, seen)
entry queued_thrice (n: i64) : (i64, []bool) =
  let (_, s, seen) =
    loop (q, s, seen) = ([0], 0, replicate n false with [0] = true) while length q > 0 do
      let x = q[0]
      let (a, b, c) = ((x * 3 + 1) % n, (x * 5 + 2) % n, (x * 7 + 3) % n)
      let q = tail q
      let (q, seen) = if seen[a] then (q, seen) else (q ++ [a], seen with [a] = true)
      let (q, seen) = if seen[b] then (q, seen) else (q ++ [b], seen with [b] = true)
      let (q, seen) = if seen[c] then (q, seen) else (q ++ [c], seen with [c] = true)
      in (q, s + x, seen)
  in (s, seen)
entry queued_in_map (ns: []i64) : []i64 = map (\\n -> (queued n).0) ns
-- The same inside of a map, where elements differ in the number of turns: m is how long rows are at least.
entry apart (xss: [][]i64) (ns: []i64) (m: i64) : [][]i64 = map2 (\\xs n -> loop ys = xs for i < n do ys with [i % m] = i) xss ns
entry apart_while (xss: [][]i64) (ns: []i64) (m: i64) : [][]i64 =
  map2 (\\xs n -> (loop (ys, i) = (xs, 0) while i < n do (ys with [i % m] = i * i, i + 1)).0) xss ns
entry apart_swapped (xss: [][]i64) (ns: []i64) (m: i64) : [][]i64 =
  map2 (\\xs n -> loop ys = xs for i < n do
    let j = i % (m - 1) in if ys[j] > ys[j + 1] then (let a = ys[j] in (ys with [j] = ys[j + 1]) with [j + 1] = a) else ys) xss ns
entry apart_two (xss: [][]i64) (ns: []i64) (m: i64) : ([][]i64, [][]i64) =
  unzip (map2 (\\xs n -> loop (ys, zs) = (xs, map (* 2) xs) for i < n do
    (ys with [i % m] = zs[i * 3 % m], zs with [i * 5 % m] = ys[i % m] + 1)) xss ns)
entry apart_scattered (xss: [][]i64) (ns: []i64) (m: i64) : [][]i64 =
  map2 (\\xs n -> loop ys = xs for i < n do scatter ys [i % m, i * 3 % m] [i, n]) xss ns
entry apart_inside (xss: [][]i64) (ns: []i64) (m: i64) : [][]i64 =
  map2 (\\xs n -> loop ys = xs for i < n do loop zs = ys for k < 1 + (i + n) % 3 do zs with [(i + k) % m] = i) xss ns
entry apart_branches (xss: [][]i64) (ns: []i64) (m: i64) : [][]i64 =
  map2 (\\xs n -> loop ys = xs for i < n do if (i + n) % 3 == 0 then scatter ys [i % m, i * 3 % m] [i, n] else ys with [i % m] = n) xss ns
entry apart_loops (xss: [][]i64) (ns: []i64) (m: i64) : [][]i64 =
  map2 (\\xs n -> loop ys = xs for i < n do if (i + n) % 3 == 0 then (loop ys for k < n % 4 do ys with [(i + k) % m] = k) else ys) xss ns
entry apart_records (xss: [][]i64) (ns: []i64) (m: i64) : [][]i64 =
  map2 (\\xs n -> map (.0) (loop ps = zip xs xs for i < n do ps with [i % m] = (i, n))) xss ns
entry growing (ns: []i64) : []i64 =
  map (\\n -> length (loop xs = [1i64] while length xs < n do xs ++ [sum xs])) ns

-- What only few elements need, as numbers and as arrays of their own.
entry rare (xs: []f64) : []f64 =
  map (\\x -> if x > 0.99 then (loop y = x for _i < 1000 do sin y + y) else x * 2) xs
entry rare_rows (xs: []f64) (ws: []f64) : []f64 =
  map (\\x -> if x > 0.99 then sum (scan (+) 0 (map (\\w -> exp (w * x)) ws)) else x * 2) xs
entry rare_sort (xss: [][]f64) : [][]f64 =
  map (\\xs -> if length xs > 100 then sort (map exp xs) else xs) xss

-- Rows of very different lengths.
entry sums (xss: [][]f64) : []f64 = map (\\xs -> sum (map (\\x -> x * x) xs) / f64 (max 1 (length xs))) xss
entry filtered (xss: [][]f64) : [][]f64 = map (\\xs -> scan (+) 0 (filter (> 0) xs)) xss
entry flattened (xss: [][]f64) : []f64 = reverse (flatten (map (\\xs -> xs ++ reverse xs) xss))
entry twice (xss: [][]f64) : ([]f64, [][]f64) =
  let yss = map (\\xs -> map exp xs) xss in (map maximum yss, map (\\ys -> map (\\y -> y / sum ys) ys) yss)

-- Operators that give one of their operands, and that join them.
def greater (a: []f64) (b: []f64) : []f64 =
  let n = min (length a) (length b)
  let i = loop i = 0 while i < n && a[i] == b[i] do i + 1
  in if i < n then (if a[i] > b[i] then a else b) else if length a >= length b then a else b
entry longest (xss: [][]f64) : []f64 = fold (\\a b -> if length a >= length b then a else b) [] xss
entry largest (xss: [][]f64) : []f64 = fold1 (\\a b -> if sum a >= sum b then a else b) xss
entry greatest (xss: [][]f64) : []f64 = fold greater [] xss
entry best (ks: []i64) (xss: [][]f64) : (i64, []f64) =
  fold (\\(k, a) (l, b) -> if k > l || (k == l && length a > length b) then (k, a) else (l, b)) (-1, []) (zip ks xss)
entry best_of_each (xss: [][]f64) : [][]f64 =
  map (\\k -> fold (\\a b -> if length a % k >= length b % k then a else b) [] xss) (map (+ 2) (iota 20))
entry longest_so_far (xss: [][]f64) : [][]f64 = scan (\\a b -> if length a >= length b then a else b) [] xss
entry joined (xss: [][]f64) : []f64 = fold (++) [] xss
entry joined_so_far (xss: [][]f64) : [][]f64 = scan (++) [] xss

-- Streams: folds and a histogram in one traversal.
entry stream [n] (counts: [n]i64) (s: seq f64) : (f64, f64, []i64) =
  (fold_seq (+) 0 (map_seq exp s), fold_seq max (-f64.inf) s,
   permute_seq (+) counts (map_seq (\\x -> i64 (x * 10) % n) s) (map_seq (\\_ -> 1) s))
entry planes (n: i64) (s: seq {k: i64, x: f64}) : []f64 =
  from_seq (group_seq n (\\e -> [e.k]) s (\\_ ys -> fold_seq (+) 0 (map_seq (\\e -> e.x) ys)))
""")


def one_long_row(n, long):
    lengths = rng.integers(0, 5, n)
    lengths[n // 3] = long
    return [rng.normal(size=k) for k in lengths]


def loops():
    ns = np.full(2000, 10)
    ns[77] = 10000  # a thousand times as often: the sum is one and a half of all the others, not two thousand times the longest
    compare(PROGRAM, "turns", {"ns": ns})
    compare(PROGRAM, "turns_of_rows", {"ns": ns, "xs": rng.normal(size=20)})
    ns = np.full(300, 3)
    ns[7] = 300
    compare(PROGRAM, "growing", {"ns": ns})
    for n in (300, 3000):
        xs = rng.integers(0, 1000, n)
        for entry in ("tails", "drops", "inits", "tails_in_map", "tails_beside"):
            compare(PROGRAM, entry, {"xs": xs})
        compare(PROGRAM, "cut_in_two", {"xs": xs}, ("0", "1"))
        compare(PROGRAM, "queue", {"n": n})
        compare(PROGRAM, "queued", {"n": n}, ("0", "1"))
        compare(PROGRAM, "queued_thrice", {"n": n}, ("0", "1"))
        compare(PROGRAM, "queued_in_map", {"ns": np.array([n, 5, n // 3, 40])})
    # A turn that changes one element does not touch the others.
    for entry in ("changed", "changed_at_times", "changed_by_itself", "diagonal", "rows_in_turn", "counted"):
        compare(PROGRAM, entry, {"n": 500})
    for entry in ("two_at_once", "swapped", "scattered", "swapped_rows", "bubble", "insertion", "sieve", "united"):
        compare(PROGRAM, entry, {"n": 500})
    for entry in ("one_of_two", "from_each_other", "searched"):
        compare(PROGRAM, entry, {"n": 500}, ("0", "1"))


def turns_apart():
    """What a turn changes inside of a map costs the same however long rows are, of one length or of several."""
    names = ("apart", "apart_while", "apart_swapped", "apart_scattered", "apart_inside", "apart_branches", "apart_loops", "apart_records", "apart_two")
    first = {}
    for m in (200, 2000):
        ns = rng.integers(0, 2 * m, 100)
        for kind, lengths in (("one length", np.full(100, m)), ("several", rng.integers(m, m + m // 4, 100))):
            xss = [rng.integers(0, 1000, k) for k in lengths]
            for entry in names:
                rows = np.array(xss) if kind == "one length" else xss
                both = compare(PROGRAM, entry, {"xss": rows, "ns": ns, "m": m}, ("0", "1") if entry == "apart_two" else ("",))
                got = work.total(both[1]) if both else 0
                if got > 12 * first.setdefault((entry, kind), got):  # ten times the turns, and ten times the length
                    failed.append("%s, rows of %s: work grows with the length of rows" % (entry, kind))


def branches():
    xs = rng.random(20000)
    compare(PROGRAM, "rare", {"xs": xs})
    compare(PROGRAM, "rare_rows", {"xs": xs, "ws": rng.random(300)})
    compare(PROGRAM, "rare_sort", {"xss": one_long_row(3000, 2000)})


def rows():
    xss = one_long_row(3000, 20000)
    for entry in ("sums", "filtered", "flattened"):
        compare(PROGRAM, entry, {"xss": xss})
    compare(PROGRAM, "twice", {"xss": xss}, ("0", "1"))
    few = one_long_row(300, 120)
    compare(example("sort_rows"), "bubble_sort_all", {"xss": few})
    compare(example("sort_rows"), "quicksort_all", {"xss": one_long_row(300, 3000)})


def operators():
    for n in (300, 3000):
        xss = [rng.normal(size=k) for k in rng.integers(1, 9, n)]
        for entry in ("longest", "largest", "greatest", "best_of_each", "longest_so_far"):
            compare(PROGRAM, entry, {"xss": xss})
        few = [rng.normal(size=k) for k in rng.integers(0, 3, n // 3)]
        compare(PROGRAM, "joined", {"xss": few})
        compare(PROGRAM, "joined_so_far", {"xss": few})
        compare(PROGRAM, "best", {"ks": rng.integers(0, 50, n), "xss": xss}, ("0", "1"))


def streams():
    s = rng.random(50000)
    compare(PROGRAM, "stream", {"counts": np.zeros(10, np.int64), "*s": s}, ("0", "1", "2"))
    compare(PROGRAM, "planes", {"n": 20, "*s.k": rng.integers(0, 20, 20000), "*s.x": rng.random(20000)})


def references():
    """Two elements of the one row for each of a hundred thousand: linear in what comes out."""
    n, row = 100000, rng.random(1000000)
    places = rng.integers(0, len(row), 2 * n)
    inputs = {"table": [row, row[:1]], "rows": np.zeros(n, np.int64), "iss": [places[2 * i:2 * i + 2] for i in range(n)]}
    at_most("main", inputs, 4 * 2 * n * 2 + 4 * 3 * n, 100 * n, example("retrieve"))
    if not np.array_equal(np.load(path("out..npy")).reshape(-1), row[places]):
        failed.append("retrieve: other elements than numpy's")
    few = {"table": [rng.random(1000), rng.random(3)], "rows": np.zeros(200, np.int64), "iss": [rng.integers(0, 1000, 5) for _ in range(200)]}
    compare(example("retrieve"), "main", few)
    compare(example("retsum"), "main", few)


def pairs():
    x, y = (rng.normal(size=1000).astype(np.float32) for _ in "xy")
    compare(example("furthest"), "furthest", {"ps.0": x, "ps.1": y})
    x, y = (rng.normal(size=5000).astype(np.float32) for _ in "xy")
    at_most("furthest", {"ps.0": x, "ps.1": y}, 4 * 5000 * 5000 * 28, 4 << 20, example("furthest"))


def transforms():
    for way in ("split_radix", "stockham", "bluestein", "library"):
        z = rng.normal(size=(20, 64)) + 1j * rng.normal(size=(20, 64))
        compare(example("fft"), way + "_all", {"xss": z})
        both = compare(example("fft"), way + "_rows", {"xss": [rng.normal(size=1 << k) + 0j for k in (3, 0, 8, 5, 1, 6)]})
        if way == "library" and both and both[1]["evaluations"] < both[0]["evaluations"]:  # what the executor does itself
            failed.append("%s_rows: counts less than is done: %d evaluations, interpreted %d" % (way, both[1]["evaluations"], both[0]["evaluations"]))


def examples():
    compare(example("matmul"), "matmul", {"a": rng.random((30, 40)), "b": rng.random((40, 20))})
    compare(example("mandelbrot"), "main", {"width": 60, "height": 40, "low": "-2-1i", "high": "0.5+1i", "limit": 100})
    compare(example("primes"), "main", {"n": 3000})
    compare(example("life"), "main", {"cells": rng.random((40, 30)) < 0.4, "generations": 5})
    compare(example("kmeans"), "main", {"points": rng.normal(size=(200, 3)), "k": 6, "turns": 10}, ("0", "1"))
    links = [rng.integers(0, 200, k) for k in rng.integers(0, 9, 200)]
    compare(example("bfs"), "main", {"links": links, "start": 3}, ("0", "1"))
    compare(example("pagerank"), "main", {"links": links, "damping": 0.85, "turns": 10})
    compare(example("md5"), "main", {"*words": [rng.integers(0, 256, k).astype(np.uint8) for k in (0, 3, 55, 56, 64, 1000)]})
    compare(example("histogram"), "of_lists", {"xss": one_long_row(200, 3000), "low": -1.0, "high": 2.0, "bins": 12})


try:
    for part in (loops, turns_apart, branches, rows, operators, streams, references, pairs, transforms, examples):
        if len(sys.argv) < 2 or part.__name__ in sys.argv[1:]:
            part()
            died = farm.died()
            if died:
                failed.append("%s: %s" % (part.__name__, died))
finally:
    farm.stop()
if failed:
    sys.exit("\n".join("failed: " + f for f in failed))
print("ok")
