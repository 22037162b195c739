#!/usr/bin/python3
"""Weights, tapers and ranges of uv against direct sums: natural, uniform and Briggs, on our wide.ms, and LOFAR's and OSKAR's
where they are at hand; square and oblong images."""
# timeout: 1200
import json, os, subprocess, sys
import numpy as np
from astropy.io import fits

BIN, ROOT = os.environ["GRIDLOOM_BIN"], os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TMP = os.path.join(os.environ["LOOM_TMP"], "weights")
sys.path[:0] = [os.path.join(ROOT, "tests/lib"), os.path.join(ROOT, "tests/oracle")]
import dft_image
import given

os.makedirs(TMP, exist_ok=True)
failed = []


def spelled(weight):
    """The three ways of saying it."""
    kind, _, robust = weight.partition(":")
    if not robust:
        return ["--weight", kind]
    return ["--weight", "briggs", "--robust", robust] if robust == "0" else ["--weight", weight]


def check(ms, size, scale, weight, epsilon, taper=0.0, most=np.inf):
    """At forty pixels; the weights are those of the direct sum, times the taper."""
    nx, ny = size
    out = os.path.join(TMP, "out.fits")
    words = ["--size", "%dx%d" % size, "--scale", "%gasec" % scale, "--epsilon", epsilon, "--json"] + spelled(weight)
    words += ["--taper", "%gasec" % taper] if taper else []
    words += ["--max-uv", "%g" % most] if np.isfinite(most) else []
    p = subprocess.run([os.path.join(BIN, "gridloom"), "image", os.path.join(TMP, ms), "-o", out] + words, capture_output=True, text=True)
    name = "%s %s %s %s" % (ms, weight, epsilon, "taper" if taper else "")
    if p.returncode:
        return failed.append("%s: %s" % (name, p.stderr.strip()))
    j = json.loads(p.stdout)
    rad = np.radians(scale / 3600)
    parts = dft_image.load_ms(os.path.join(TMP, ms), "DATA", 0, -1, slice(None))
    rng = np.random.default_rng(4)
    x, y = np.r_[rng.integers(0, nx, 40), 0, nx - 1, nx // 2], np.r_[rng.integers(0, ny, 40), 0, ny - 1, ny // 2]
    D, W, A = direct(parts, (nx // 2 - x) * rad, (y - ny // 2) * rad, rad, weight, nx, ny, np.radians(taper / 3600), most)
    image = np.squeeze(fits.getdata(out)).astype(float).reshape(ny, nx)
    off = np.abs(image[y, x] - D / W).max() / max(np.abs(D / W).max(), A / W)
    sums = abs(j["sum_weights"] / W - 1)
    print("%-36s off by %.2g, sum of weights by %.2g" % (name, off, sums))
    if not off <= float(epsilon) or not sums < 1e-9:
        failed.append("%s: off by %.3g, sum of weights by %.3g" % (name, off, sums))


def direct(parts, l, m, scale, weight, nx, ny, taper, most):
    usable, cells = [], []
    for uvw, f, v, flag, w, auto in parts:
        u, vv, ww = (uvw[:, k:k + 1] * f / dft_image.C for k in range(3))
        good = ~auto[:, None] & ~flag.any(-1) & np.isfinite(v).all(-1) & (w > 0).all(-1)
        good = good & (np.maximum(abs(u), abs(vv)) * scale <= 0.5) & (np.hypot(u, vv) <= most)
        usable.append((u, vv, ww, np.where(good, v.astype(complex).mean(-1), 0)))
        cells.append((u, vv, np.where(good, w.min(-1).astype(float), 0)))
    weights = dft_image.imaging_weights(cells, nx, ny, scale, weight)
    n1 = -(l * l + m * m) / (1 + np.sqrt(1 - l * l - m * m))
    D, W, A = np.zeros(len(l)), 0.0, 0.0
    for (u, v, w, vis), wt in zip(usable, weights):
        wt = wt * np.exp(-np.pi ** 2 * taper ** 2 * (u * u + v * v) / (4 * np.log(2)))
        W, A = W + wt.sum(), A + (wt * abs(vis)).sum()
        for k in range(len(l)):
            D[k] += (wt * (vis * np.exp(-2j * np.pi * (u * l[k] + v * m[k] + w * n1[k]))).real).sum()
    return D, W, A


for ms, size, scale in (("wide.ms", (300, 300), 90), ("lofar.ms", (512, 512), 5), ("oskar.ms", (512, 512), 120)):
    if not given.unpack(ms, TMP):
        continue
    for weight in ("natural", "uniform", "briggs:0.5", "briggs:0"):
        for epsilon in ("1e-3", "1e-5", "1e-9"):
            check(ms, size, scale, weight, epsilon)
check("wide.ms", (301, 160), 90, "uniform", "1e-7")
check("wide.ms", (160, 301), 90, "briggs:-1", "1e-7")
for weight in ("natural", "uniform", "briggs:0.5"):
    check("wide.ms", (300, 300), 90, weight, "1e-7", taper=300)
    check("wide.ms", (300, 300), 90, weight, "1e-7", most=500)
given.end(failed)
