#!/usr/bin/python3
"""Sums of a few numbers go in vectors: every number of turns up to a vector's and one more, all types, against numpy (whole numbers,
so that sums are exact in any order); what sticks out of the array is an error with its index; loops written as such keep their order."""
import os, re, subprocess
import numpy as np

BIN = os.environ["GRIDLOOM_BIN"]
TMP = os.path.join(os.environ["LOOM_TMP"], "sums")
os.makedirs(TMP, exist_ok=True)
TYPES = {"f32": np.float32, "f64": np.float64, "c64": np.complex64, "c128": np.complex128}
REAL = {"f32": "f32", "f64": "f64", "c64": "f32", "c128": "f64"}
r = np.random.default_rng(3)


def gridloom(*words):
    return subprocess.run([os.path.join(BIN, "gridloom"), *words], cwd=TMP, capture_output=True, text=True, timeout=100)


def save(name, a):
    np.save(os.path.join(TMP, name + ".npy"), np.ascontiguousarray(a))


def compile(program):
    open(os.path.join(TMP, "sums.weft"), "w").write(program)
    p = gridloom("explain", "sums.weft", "--stage", "llvm")
    assert p.returncode == 0, p.stderr
    return set(re.findall(r"load (<\d+ x \w+>)", p.stdout))


def vectors(kind, n):
    """Those that n elements are cut into, each a power of two that a register of 64 bytes holds."""
    parts, number = (2, "f32" if kind == "c64" else "f64") if kind[0] == "c" else (1, kind)
    name, most = {"f32": ("float", 16), "f64": ("double", 8)}[number]
    found, width = set(), most // parts
    while n:
        while width > n:
            width //= 2
        found.add("<%d x %s>" % (width * parts, name))
        n -= width
    return found


def run(corners, *more):
    save("y", corners[:, 0])
    save("x", corners[:, 1])
    return gridloom("run", "sums.weft", "--arg", "cells=cells.npy", "--arg", "u=u.npy", "--arg", "v=v.npy", "--stream", "s.y=y.npy", "--stream",
                    "s.x=x.npy", "-o", "out.npy", *more)


def program(cells, real, n, body):
    times = "scale" if cells[0] == "c" else "(\\a b -> a * b)"
    return ("entry main [a][b][n][m] (cells: [a][b]%s) (u: [n]%s) (v: [m]%s) (s: seq {y: i64, x: i64}) =\n  let times = %s\n  in from_seq (map_seq (\\e -> %s) s)\n"
            % (cells, real, real, times, body % {"n": n}))


# Of what is not computed for every element the sums are expressions, not arrays.
BOX = "if e.y < -5 then 0 else sum (generate 3 (\\i -> times v[i] (sum (generate %(n)d (\\j -> times u[j] cells[e.y + i, e.x + j])))))"
made = 0
for kind, dtype in TYPES.items():
    for n in list(range(1, 18)):
        cells = r.integers(-9, 10, (40, 50)) + (1j * r.integers(-9, 10, (40, 50)) if kind[0] == "c" else 0)
        u, v = r.integers(-9, 10, n), r.integers(-9, 10, 3)
        save("cells", cells.astype(dtype))
        save("u", u.astype(REAL[kind].replace("f", "float")))
        save("v", v.astype(REAL[kind].replace("f", "float")))
        there = compile(program(kind, REAL[kind], n, BOX))
        assert n > 16 or vectors(kind, n) <= there, (kind, n, there)
        corners = np.concatenate([r.integers(0, (38, 51 - n), (700, 2)), [[0, 0], [37, 50 - n]]])
        p = run(corners)
        assert p.returncode == 0, p.stderr
        windows = np.lib.stride_tricks.sliding_window_view(cells, (3, n))[tuple(corners.T)]
        want = np.einsum("eij,i,j->e", windows, v, u)
        got = np.load(os.path.join(TMP, "out.npy"))
        assert got.dtype == dtype and (got == want).all(), (kind, n)
        made += 1
    for corner, index in (([38, 0], 40), ([0, 51 - n], 50), ([-1, 0], -1)):
        p = run(np.concatenate([corners, [corner]]))
        assert p.returncode not in (0, 139) and "index %d" % index in p.stderr, (p.returncode, p.stderr)

# Starts, factors that differ from row to row, and numbers of another precision are part of the sum; nothing is lost where rows are none.
save("cells", cells.real.astype(np.float32))
for body, sums in (
        ("if e.y < -5 then 0 else fold (+) 7.0 (generate 3 (\\i -> v[i] * (sum (generate %(n)d (\\j -> f64 cells[e.y + i, e.x + j] * u[j])))))", lambda w, u, v: 7 + np.einsum("eij,i,j->e", w, v, u)),
        ("if e.y < -5 then 0 else sum (generate 3 (\\i -> v[i] * (fold (+) 1.0 (generate %(n)d (\\j -> u[j] * f64 cells[e.y + i, e.x + j])))))", lambda w, u, v: np.einsum("eij,i,j->e", w, v, u) + v.sum()),
        ("if e.y < -5 then 0 else sum (generate (e.y - e.y) (\\i -> v[i] * (sum (generate %(n)d (\\j -> u[j] * f64 cells[e.y + i, e.x + j])))))", lambda w, u, v: 0 * w[:, 0, 0]),
        ("if e.y < -5 then 0 else sum (generate 3 (\\i -> (sum (generate %(n)d (\\j -> u[j] - f64 cells[e.y + i, e.x + j]))) * v[i] * v[2 - i]))", lambda w, u, v: ((u - w).sum(2) * v * v[::-1]).sum(1))):
    for n in (4, 7, 10):
        u, v = r.integers(-9, 10, n).astype(float), r.integers(-9, 10, 3).astype(float)
        save("u", u)
        save("v", v)
        compile(program("f32", "f64", n, body))
        corners = r.integers(0, (38, 51 - n), (300, 2))
        p = run(corners)
        assert p.returncode == 0, p.stderr
        windows = np.lib.stride_tricks.sliding_window_view(cells.real, (3, n))[tuple(corners.T)]
        assert (np.load(os.path.join(TMP, "out.npy")) == sums(windows, u, v)).all(), (body, n)

# Where a row begins follows from its number: what is in range is looked at row by row, and the last row may stick out alone.
n, body = 6, "if e.y < -5 then 0 else sum (generate 3 (\\i -> v[i] * (sum (generate %(n)d (\\j -> u[j] * cells[e.y + i, e.x + i * i + j])))))"
u, v = r.integers(-9, 10, n).astype(float), r.integers(-9, 10, 3).astype(float)
cells = r.integers(-9, 10, (40, 50)).astype(float)
for name, array in (("cells", cells), ("u", u), ("v", v)):
    save(name, array)
compile(program("f64", "f64", n, body))
corners = np.concatenate([r.integers(0, (38, 41), (700, 2)), [[37, 40]]])
p = run(corners)
assert p.returncode == 0, p.stderr
rows = np.lib.stride_tricks.sliding_window_view(cells, (1, n))[:, :, 0]
want = sum(v[i] * (rows[corners[:, 0] + i, corners[:, 1] + i * i] @ u) for i in range(3))
assert (np.load(os.path.join(TMP, "out.npy")) == want).all()
for corner, index in (([5, 41], 50), ([38, 3], 40), ([5, -1], -1)):
    p = run(np.concatenate([corners, [corner]]))
    assert p.returncode not in (0, 139) and "index %d" % index in p.stderr, (p.returncode, p.stderr)

# 1e17 + 1 - 1e17 is 0 from left to right: a loop is done as it is written.
cells = np.zeros((40, 50))
cells[:, ::3], cells[:, 1::3], cells[:, 2::3] = 1e17, 1, -1e17
save("cells", cells)
save("u", np.ones(9))
save("v", np.ones(3))
loop = "if e.y < -5 then 0 else loop t = 0.0 for i < 3 do t + v[i] * (loop z = 0.0 for j < %(n)d do z + u[j] * cells[e.y + i, e.x + j])"
compile(program("f64", "f64", 9, loop))
p = run(np.zeros((5, 2), int))
assert p.returncode == 0 and (np.load(os.path.join(TMP, "out.npy")) == 0).all(), p.stderr
print("%d sums" % made)
print("ok")
