"""Programs of a chosen size, in families: what one writes again and again, so that a compiler's time can be held against the size."""


def numbered(n, text):
    return "".join(text % {"i": i, "j": i - 1} for i in range(1, n + 1))


def chain_of_maps(n):
    """Each map works on what the one before it made: all of them become one loop."""
    return "entry main (x0: []f64) : []f64 =\n" + numbered(n, "let x%(i)d = map (\\v -> v * %(i)d.5 + 1) x%(j)d\n") + "in x%d\n" % n


def steps_of_arrays(n):
    """Each step sorts what the one before it made, and works on it: none of them becomes one with another."""
    return "entry main (x0: []f64) : []f64 =\n" + numbered(n, "let x%(i)d = scan (+) 0 (map (* %(i)d.5) x%(j)d)\n") + "in x%d\n" % n


def independent_lets(n):
    """Results that have nothing to do with each other, added up."""
    return "entry main (xs: []f64) : []f64 =\n" + numbered(n, "let y%(i)d = map (\\v -> f64.sqrt (v + %(i)d.25)) xs\n") + \
        "in map (\\i -> 0f64" + numbered(n, " + y%(i)d[i]") + ") (iota (length xs))\n"


def scalars(n):
    return "entry main (x0: f64) : f64 =\n" + numbered(n, "let x%(i)d = x%(j)d * 1.5 + %(i)d.25\n") + "in x%d\n" % n


def reductions(n):
    """Each needs the one before it."""
    return "entry main (xs: []f64) : f64 =\nlet s0 = 1f64\n" + numbered(n, "let s%(i)d = sum (map (\\v -> v * s%(j)d) xs)\n") + "in s%d\n" % n


def independent_reductions(n):
    return "entry main (xs: []f64) : f64 =\n" + numbered(n, "let s%(i)d = sum (map (\\v -> v * %(i)d.5) xs)\n") + \
        "in 0" + numbered(n, " + s%(i)d") + "\n"


def nested_maps(n):
    return "entry main (x0: [][]f64) : [][]f64 =\n" + \
        numbered(n, "let x%(i)d = map (\\row -> let s = sum row in map (\\v -> v + s * %(i)d.5) row) x%(j)d\n") + "in x%d\n" % n


def cases_of_a_match(n):
    return "entry main (xs: []i64) : []i64 = map (\\x -> match x\n" + numbered(n, "case %(i)d -> x * %(i)d + 1\n") + "case _ -> 0) xs\n"


def loops(n):
    return "entry main (x0: []f64) : []f64 =\n" + \
        numbered(n, "let x%(i)d = map (\\x -> loop v = x while v < 10 do v * %(i)d.5 + 1) x%(j)d\n") + "in x%d\n" % n


def uniform_loops(n):
    return "entry main (x0: []f64) (k: i64) : []f64 =\n" + \
        numbered(n, "let x%(i)d = loop v = x%(j)d for _i < k do scan (+) 0 (map (* %(i)d.5) v)\n") + "in x%d\n" % n


def conditions(n):
    return "entry main (xs: [][]f64) : []f64 =\n" + \
        numbered(n, "let y%(i)d = map (\\x -> if length x > %(i)d then sum x else 1) xs\n") + "in map (\\i -> 0f64" + numbered(n, " + y%(i)d[i]") + ") (iota (length xs))\n"


def filters(n):
    return "entry main (x0: []f64) : []f64 =\n" + numbered(n, "let x%(i)d = filter (> %(i)d.5) x%(j)d\n") + "in x%d\n" % n


def permutes(n):
    return "entry main (x0: []i64) : []i64 =\n" + numbered(n, "let x%(i)d = hist (+) 0 100 x%(j)d (map (+ %(i)d) x%(j)d)\n") + "in x%d\n" % n


def folds_of_a_stream(n):
    return "entry main (xs: seq f64) : f64 =\n" + numbered(n, "let s%(i)d = fold_seq (+) 0 (map_seq (\\v -> v * %(i)d.5) xs)\n") + \
        "in 0" + numbered(n, " + s%(i)d") + "\n"


def traversals(n):
    """Each needs what the one before it made: as many stages."""
    return "entry main (xs: seq f64) : f64 =\nlet s0 = 1f64\n" + \
        numbered(n, "let s%(i)d = fold_seq (+) 0 (map_seq (\\v -> v * s%(j)d) xs)\n") + "in s%d\n" % n


def consumers_of_a_group(n):
    return "entry main (xs: seq (i64, f64)) : [][]f64 =\nfrom_seq (group_seq 10 (\\(k, _) -> [k]) xs (\\k ys ->\n" + \
        numbered(n, "let s%(i)d = fold_seq (+) 0 (map_seq (\\(_, v) -> v * %(i)d.5) ys)\n") + "in [0f64" + numbered(n, ", s%(i)d") + "]))\n"


def defs(n):
    return "def f0 (x: f64) : f64 = x\n" + numbered(n, "def f%(i)d (x: f64) : f64 = f%(j)d x * 1.5 + %(i)d\n") + "entry main (x: f64) : f64 = f%d x\n" % n


FAMILIES = [chain_of_maps, steps_of_arrays, independent_lets, scalars, reductions, independent_reductions, nested_maps, cases_of_a_match,
            loops, uniform_loops, conditions, filters, permutes, folds_of_a_stream, traversals, consumers_of_a_group, defs]
