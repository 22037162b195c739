#!/usr/bin/python3
"""Sequences as papers/002 has them: all divisions of its 2x3 matrix; sums of the rows of a matrix that nobody ever holds, written as an array
operation before the sequence or as one on its elements; a sum and a maximum in one traversal."""
# timeout: 300
import os, sys
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/lib"))
from checks import begin, end, expect, gridloom, here

begin("sequences_of_papers")
np.save(here("a.npy"), np.array([[1, 2, 3], [10, 11, 12]]))
with open(here("divisions.weft"), "w") as f:
    f.write("entry whole (a: [][]i64) : seq ([][]i64) = rows [a]\n"
            "entry columns (a: [][]i64) : seq ([]i64) = rows (transpose a)\n"
            "entry by_rows (a: [][]i64) : seq ([]i64) = rows a\n"
            "entry elements (a: [][]i64) : seq i64 = rows (flatten a)\n")
for entry, want in (("whole", [[[1, 2, 3], [10, 11, 12]]]), ("columns", [[1, 10], [2, 11], [3, 12]]), ("by_rows", [[1, 2, 3], [10, 11, 12]]),
                    ("elements", [1, 2, 3, 10, 11, 12])):
    for way in ("eval", "run"):
        p = gridloom(way, here("divisions.weft"), "--entry", entry, "--arg", "a=" + here("a.npy"), "-o", here("out.npy"))
        expect("%s, %s" % (entry, way), p.returncode == 0 and np.load(here("out.npy")).tolist() == want, p.stderr)

# 16 GB where they stood in memory; a worker has 64 MiB.
N, M = 100000, 20000
with open(here("sums.weft"), "w") as f:
    f.write("entry late (n: i64) (m: i64) : seq i64 = rows (map i64.sum (generate (n, m) (\\i j -> i * j)))\n"
            "entry early (n: i64) (m: i64) : seq i64 = map_seq i64.sum (rows (generate (n, m) (\\i j -> i * j)))\n"
            "entry total (n: i64) (m: i64) : i64 = fold_seq (+) 0 (rows (map i64.sum (generate (n, m) (\\i j -> i * j))))\n")
for entry in ("late", "early"):
    p = gridloom("run", here("sums.weft"), "--entry", entry, "--arg", "n=%d" % N, "--arg", "m=%d" % M, "--memory", "64MiB", "-o", here("out.npy"))
    good = p.returncode == 0 and (np.load(here("out.npy")) == np.arange(N) * (M * (M - 1) // 2)).all()
    expect("sums of rows, %s" % entry, good, p.stderr)
p = gridloom("run", here("sums.weft"), "--entry", "total", "--arg", "n=%d" % N, "--arg", "m=%d" % M, "--memory", "64MiB")
expect("sums of rows, total", p.stdout.strip() == str(N * (N - 1) // 2 * (M * (M - 1) // 2)), p.stdout + p.stderr)

p = gridloom("explain", os.path.join(ROOT, "examples/max_sum.weft"), "--stage", "stages")
expect("one traversal", p.returncode == 0 and p.stdout.count(": traversal ") == 1, p.stdout + p.stderr)
end()
