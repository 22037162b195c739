#!/usr/bin/python3
"""Rows longer than what one thread reduces: against numpy, and the same bits for a row in whatever blocks it comes, beside whatever other
rows, by any number of threads."""
# timeout: 120
import os
import subprocess
import sys
import numpy as np

BIN = os.environ["GRIDLOOM_BIN"]
TMP = os.path.join(os.environ["LOOM_TMP"], "long_rows")
os.makedirs(TMP, exist_ok=True)
rng = np.random.default_rng(1)


def path(name):
    return os.path.join(TMP, name)


def sums(lengths, xs, block, threads):
    np.save(path("x.npy"), xs)
    np.save(path("n.npy"), np.array(lengths))
    p = subprocess.run([os.path.join(BIN, "gridloom"), "run", path("sums.weft"), "--stream", "s=%s,%s" % (path("x.npy"), path("n.npy")),
                        "--block", str(block), "--threads", str(threads), "--remarks", "-o", path("sums.npy")],
                       capture_output=True, text=True, timeout=100)
    if p.returncode or "remark:" in p.stderr:
        sys.exit("block %d, %d threads: exit code %d: %s" % (block, threads, p.returncode, p.stderr))
    return np.load(path("sums.npy"))


with open(path("sums.weft"), "w") as f:
    f.write("entry main (s: seq ([]f64)) : []f64 = from_seq (map_seq (\\r -> sum r) s)\n")
lengths = [0, 5, 1200000, 3, 0, 70000, 900000, 1] + list(rng.integers(0, 50, 3000)) + [2000000, 0]
ends = np.cumsum(lengths)
xs = rng.normal(size=ends[-1])
want = np.array([xs[end - n:end].sum() for n, end in zip(lengths, ends)])
first = sums(lengths, xs, 1, 2)
if np.abs(first - want).max() > 1e-9:
    sys.exit("sums differ from numpy's by %g" % np.abs(first - want).max())
for block, threads in ((3, 1), (500, 3), (100000, 1), (100000, 2)):
    if not np.array_equal(sums(lengths, xs, block, threads), first):
        sys.exit("in blocks of %d, by %d threads, sums have other bits" % (block, threads))
if not np.array_equal(sums(lengths[6:], xs[ends[5]:], 100000, 2), first[6:]):
    sys.exit("beside other rows sums have other bits")
print("ok")
