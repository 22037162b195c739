#!/usr/bin/python3
"""Sums over small boxes of an array larger than a cache: the next slice's rows are asked for early (also behind the array's end),
the sums are numpy's, and a box that sticks out is an error with its index."""
import os, subprocess, sys
import numpy as np

BIN = os.environ["GRIDLOOM_BIN"]
TMP = os.path.join(os.environ["LOOM_TMP"], "boxes")
os.makedirs(TMP, exist_ok=True)
PROGRAM = """entry main [a][b][c] (cells: [a][b][c]f64) (s: seq {k: i64, y: i64, x: i64}) : []f64 =
  from_seq (map_seq (\\e ->
    sum (generate 4 (\\k ->
      if e.k < 0 then 0 else sum (generate 3 (\\i -> sum (generate 5 (\\j -> cells[e.k + k, e.y + i, e.x + j]))))))) s)
"""
SHAPE, BOX = (20, 200, 210), (4, 3, 5)


def gridloom(*words):
    return subprocess.run([os.path.join(BIN, "gridloom"), *words], cwd=TMP, capture_output=True, text=True, timeout=100)


def run(corners):
    for name, column in zip("kyx", corners.T):
        np.save(os.path.join(TMP, name + ".npy"), np.ascontiguousarray(column))
    return gridloom("run", "boxes.weft", "--arg", "cells=cells.npy", "--stream", "s.k=k.npy", "--stream", "s.y=y.npy", "--stream", "s.x=x.npy", "-o", "sums.npy")


open(os.path.join(TMP, "boxes.weft"), "w").write(PROGRAM)
r = np.random.default_rng(1)
cells = r.integers(-1000, 1000, SHAPE).astype(float)  # sums are exact in any order
np.save(os.path.join(TMP, "cells.npy"), cells)
last = np.array(SHAPE) - BOX
corners = np.concatenate([r.integers(0, last + 1, (20000, 3)), [last, [0, 0, 0]]])
text = gridloom("explain", "boxes.weft", "--stage", "llvm").stdout
assert "@llvm.prefetch" in text
p = run(corners)
assert p.returncode == 0, p.stderr
windows = np.lib.stride_tricks.sliding_window_view(cells, BOX)
want = windows[tuple(corners.T)].sum((1, 2, 3))
assert (np.load(os.path.join(TMP, "sums.npy")) == want).all()
for axis in range(3):
    out = last.copy()
    out[axis] += 1
    p = run(np.concatenate([corners[:100], [out]]))
    assert p.returncode not in (0, 139) and "index %d" % SHAPE[axis] in p.stderr, (p.returncode, p.stderr)
print("ok")
