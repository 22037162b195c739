#!/usr/bin/python3
"""Every example: `run` equals `eval` (floats to 1e-5 of the largest magnitude, integers exactly) and numpy; `explain` shows
every stage of each."""
# timeout: 900
import os, subprocess, sys
import numpy as np

BIN, ROOT = os.environ["GRIDLOOM_BIN"], os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TMP = os.path.join(os.environ["LOOM_TMP"], "examples")
os.makedirs(TMP, exist_ok=True)
failed = []
rng = np.random.default_rng(3)


def path(name):
    return os.path.join(TMP, name + ".npy")


def gridloom(*words):
    return subprocess.run([os.path.join(BIN, "gridloom")] + list(words), capture_output=True, text=True, timeout=300)


def compare(what, want, got, tolerance=1e-5):
    want, got = np.asarray(want), np.asarray(got)
    if want.shape != got.shape:
        failed.append("%s: shape %s, expected %s" % (what, got.shape, want.shape))
    elif want.dtype.kind in "ib":
        if not np.array_equal(want, got):
            failed.append("%s: differs" % what)
    elif want.size and not np.abs(want - got).max() <= tolerance * np.abs(want).max():
        failed.append("%s: off by %.3g of the largest" % (what, np.abs(want - got).max() / np.abs(want).max()))


def case(program, inputs, expected, scalars=(), outputs=(None,), blocks=("7", "100000")):
    """inputs: (kind, name, array or (values, lengths)); expected: one array per output."""
    words = []
    for kind, name, value in inputs:
        files = path(name)
        if isinstance(value, tuple):
            np.save(path(name), value[0])
            np.save(path(name + ".lengths"), value[1])
            files += "," + path(name + ".lengths")
        else:
            np.save(path(name), value)
        words += ["--" + kind, "%s=%s" % (name, files)]
    for s in scalars:
        words += ["--arg", s]
    results = {}
    for command, more in [("eval", [])] + [("run", ["--block", b, "--workers", w]) for b in blocks for w in ("1", "2")]:
        out = []
        for i, key in enumerate(outputs):
            out += ["-o", ("" if key is None else key + "=") + path("out%d" % i)]
        p = gridloom(command, os.path.join(ROOT, "examples", program + ".weft"), *words, *out, *more)
        if p.returncode:
            failed.append("%s %s %s: exit %d: %s" % (program, command, more, p.returncode, p.stderr.strip()))
            continue
        got = [np.load(path("out%d" % i)) for i in range(len(outputs))]
        for i, (g, e) in enumerate(zip(got, expected)):
            compare("%s %s %s output %d against numpy" % (program, command, more, i), e, g)
            if command == "eval":
                results[i] = g
            elif i in results:
                compare("%s run %s against eval" % (program, more), results[i], g)


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
    case("awgrid", inputs, [want[100:100 + g, 100:100 + g]], scalars=["g=%d" % g], blocks=("50", "100000"))


x, y = rng.normal(size=1000).astype(np.float32), rng.normal(size=1000).astype(np.float32)
case("dotp", [("stream", "xs", x), ("stream", "ys", y)], [x.astype(float) @ y])
case("max_sum", [("stream", "xs", x)], [x.astype(float).sum(), x.max()], outputs=("0", "1"))
m, v = rng.normal(size=(40, 23)).astype(np.float32), rng.normal(size=23).astype(np.float32)
case("mvm", [("stream", "mat", m), ("arg", "x", v)], [m.astype(float) @ v])
lengths = rng.integers(1, 9, 50)
flat = rng.normal(size=lengths.sum()).astype(np.float32)
case("averages", [("stream", "xss", (flat, lengths))], [[s.mean() for s in np.split(flat.astype(float), lengths.cumsum()[:-1])]])
case("averages", [("stream", "xss", m)], [m.astype(float).mean(1)])
n = 300
gcf = (rng.normal(size=(7, 7)) + 1j * rng.normal(size=(7, 7))).astype(np.complex64)
grid = (rng.normal(size=(60, 50)) + 0j).astype(np.complex64)
cx, cy, vis = rng.integers(-5, 55, n), rng.integers(-5, 65, n), rng.normal(size=n).astype(np.complex64)
want = np.zeros((260, 250), complex)
want[100:160, 100:150] = grid
for i in range(n):
    want[100 + cy[i] - 3:100 + cy[i] + 4, 100 + cx[i] - 3:100 + cx[i] + 4] += vis[i] * gcf
case("convgrid", [("arg", "gcf", gcf), ("arg", "grid", grid), ("stream", "s.x", cx), ("stream", "s.y", cy), ("stream", "s.vis", vis)],
     [want[100:160, 100:150]])
awgrid(200, 120)
lengths, rows, counts = np.array([40, 1, 7, 30]), rng.integers(0, 4, 60), rng.integers(0, 9, 60)
for sizes in (lengths, np.full(4, 20)):  # rows that differ in length, and a matrix
    table = rng.normal(size=sizes.sum())
    xss = np.split(table, sizes.cumsum()[:-1])
    iss = [rng.integers(0, len(xss[r]), k) for r, k in zip(rows, counts)]
    inputs = [("arg", "table", (table, sizes)), ("arg", "rows", rows), ("arg", "iss", (np.concatenate(iss), counts))]
    case("retrieve", inputs, [np.concatenate([xss[r][i] for r, i in zip(rows, iss)])])
    case("retsum", inputs, [np.concatenate([xss[r][i] + xss[r].sum() for r, i in zip(rows, iss)])])
px, py = rng.normal(size=300).astype(np.float32), rng.normal(size=300).astype(np.float32)
case("furthest", [("arg", "ps.0", px), ("arg", "ps.1", py)],
     [np.hypot(px[:, None].astype(float) - px, py[:, None].astype(float) - py).max()])

stages = ["ast", "core", "simplified", "stages", "shapes", "lifted", "fused", "schedule", "llvm", "plan"]
for program in ["examples/" + p for p in sorted(os.listdir(os.path.join(ROOT, "examples"))) if p.endswith(".weft")] + ["client/programs/image.weft"]:
    for stage in stages:
        entry = ["--entry", "image_f32"] if program.endswith("image.weft") else []
        p = gridloom("explain", os.path.join(ROOT, program), "--stage", stage, *entry)
        if p.returncode or len(p.stdout) < 20:
            failed.append("explain --stage %s %s: exit %d, %d characters: %s" % (stage, program, p.returncode, len(p.stdout), p.stderr.strip()))
for f in failed:
    print("failed:", f)
if failed:
    sys.exit(1)
print("ok")
