#!/usr/bin/python3
"""Every example: `run` equals `eval` (floats to 1e-5 of the largest magnitude, integers exactly) and numpy; `explain` shows
every stage of each."""
# timeout: 900
import os, sys
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/lib"))
from example_case import begin, case, end, failed, gridloom, source

rng = np.random.default_rng(3)
begin("examples")


def ways(*blocks):
    """In blocks of so many elements, on one worker and on two."""
    return [["--block", b, "--workers", w] for b in blocks for w in ("1", "2")]


def convolve(a, b):
    p = lambda k: np.pad(k, ((0, 17), (0, 17)))
    return np.fft.ifft2(np.fft.fft2(p(a)) * np.fft.fft2(p(b)))[7:22, 7:22]


def awgrid(n, g):
    c = lambda *s: rng.normal(size=s) + 1j * rng.normal(size=s)
    ak, wk, vis = c(5, 15, 15), c(4, 15, 15), c(n)
    y, x = rng.integers(-9, g + 9, n), rng.integers(-9, g + 9, n)
    wbin, a1, a2 = rng.integers(0, 4, n), rng.integers(0, 5, n), rng.integers(0, 5, n)
    want = np.zeros((g + 200, g + 200), complex)
    for i in range(n):
        k = convolve(wk[wbin[i]], convolve(ak[a1[i]], ak[a2[i]]))
        want[100 + y[i] - 7:100 + y[i] + 8, 100 + x[i] - 7:100 + x[i] + 8] += vis[i] * k
    inputs = [("arg", "akern", ak), ("arg", "wkern", wk)] + [("stream", "s." + k, v) for k, v in
              (("y", y), ("x", x), ("wbin", wbin), ("a1", a1), ("a2", a2), ("vis", vis))]
    case("awgrid", inputs, [want[100:100 + g, 100:100 + g]], scalars=["g=%d" % g], ways=ways("50", "100000"))


W = ways("7", "100000")
x, y = rng.normal(size=1000).astype(np.float32), rng.normal(size=1000).astype(np.float32)
case("dotp", [("stream", "xs", x), ("stream", "ys", y)], [x.astype(float) @ y], ways=W)
case("max_sum", [("stream", "xs", x)], [x.astype(float).sum(), x.max()], outputs=("0", "1"), ways=W)
m, v = rng.normal(size=(40, 23)).astype(np.float32), rng.normal(size=23).astype(np.float32)
case("mvm", [("stream", "mat", m), ("arg", "x", v)], [m.astype(float) @ v], ways=W)
lengths = rng.integers(1, 9, 50)
flat = rng.normal(size=lengths.sum()).astype(np.float32)
case("averages", [("stream", "xss", (flat, lengths))], [[s.mean() for s in np.split(flat.astype(float), lengths.cumsum()[:-1])]], ways=W)
case("averages", [("stream", "xss", m)], [m.astype(float).mean(1)], ways=W)
n = 300
gcf = (rng.normal(size=(7, 7)) + 1j * rng.normal(size=(7, 7))).astype(np.complex64)
grid = (rng.normal(size=(60, 50)) + 0j).astype(np.complex64)
cx, cy, vis = rng.integers(-5, 55, n), rng.integers(-5, 65, n), rng.normal(size=n).astype(np.complex64)
want = np.zeros((260, 250), complex)
want[100:160, 100:150] = grid
for i in range(n):
    want[100 + cy[i] - 3:100 + cy[i] + 4, 100 + cx[i] - 3:100 + cx[i] + 4] += vis[i] * gcf
case("convgrid", [("arg", "gcf", gcf), ("arg", "grid", grid), ("stream", "s.x", cx), ("stream", "s.y", cy), ("stream", "s.vis", vis)],
     [want[100:160, 100:150]], ways=W)
awgrid(200, 120)
lengths, rows, counts = np.array([40, 1, 7, 30]), rng.integers(0, 4, 60), rng.integers(0, 9, 60)
for sizes in (lengths, np.full(4, 20)):  # rows that differ in length, and a matrix
    table = rng.normal(size=sizes.sum())
    xss = np.split(table, sizes.cumsum()[:-1])
    iss = [rng.integers(0, len(xss[r]), k) for r, k in zip(rows, counts)]
    inputs = [("arg", "table", (table, sizes)), ("arg", "rows", rows), ("arg", "iss", (np.concatenate(iss), counts))]
    case("retrieve", inputs, [np.concatenate([xss[r][i] for r, i in zip(rows, iss)])], blocks=("100000",))
    case("retsum", inputs, [np.concatenate([xss[r][i] + xss[r].sum() for r, i in zip(rows, iss)])], blocks=("100000",))
px, py = rng.normal(size=300).astype(np.float32), rng.normal(size=300).astype(np.float32)
case("furthest", [("arg", "ps.0", px), ("arg", "ps.1", py)],
     [np.hypot(px[:, None].astype(float) - px, py[:, None].astype(float) - py).max()], blocks=("100000",))

stages = ["nodes", "steps", "html", "ast", "core", "simplified", "stages", "shapes", "lifted", "fused", "schedule", "llvm", "plan"]
programs = [source(p[:-5]) for p in sorted(os.listdir(os.path.join(ROOT, "examples"))) if p.endswith(".weft")]
for program in programs + [os.path.join(ROOT, "client/programs/image.weft")]:
    entries = [line.split()[1] for line in gridloom("check", program).stdout.splitlines() if line.startswith("entry ")]
    for stage in stages:
        for entry in ["image_f32"] if program.endswith("image.weft") else entries:
            p = gridloom("explain", program, "--stage", stage, "--entry", entry)
            if p.returncode or len(p.stdout) < 20:
                failed.append("explain --stage %s --entry %s %s: exit %d, %d characters: %s" % (stage, entry, program, p.returncode, len(p.stdout), p.stderr.strip()))
end()
