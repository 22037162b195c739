#!/usr/bin/python3
"""Accuracy over a covering set: weights, epsilons, fields and sizes of image so that each pair of values occurs, each image
against the direct sum, its error as DESIGN 8 defines it at most epsilon. With `--all`, and in tests/run --long, every combination (432: 15 minutes). Observations are drawn at random for each field, with baselines that fill the grid of the image."""
# timeout: 3000
# tier: ci
import itertools, json, os, subprocess, sys, time
import numpy as np
from astropy.io import fits

BIN, ROOT = os.environ["GRIDLOOM_BIN"], os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TMP = os.path.join(os.environ["LOOM_TMP"], "imaging_cover")
sys.path[:0] = [os.path.join(ROOT, "tests/lib"), os.path.join(ROOT, "tests/oracle")]
import dft_image
from uvfits_files import C, File

WEIGHTS = ("natural", "uniform", "briggs:0.5")
EPSILONS = ("1e-2", "1e-4", "1e-5", "1e-6", "1e-8", "1e-12")
FIELDS = (0.1, 2.0, 15.0, 60.0)  # degrees across
SIZES = ("1", "2", "63", "300x500", "1024", "2187")
AXES = (WEIGHTS, EPSILONS, FIELDS, SIZES)
os.makedirs(TMP, exist_ok=True)
failed = []


def pairs_of(combination):
    return {(i, j, combination[i], combination[j]) for i, j in itertools.combinations(range(4), 2)}


def cover():
    """Combinations, each the one with most pairs that are still missing."""
    every = list(itertools.product(*AXES))
    missing = set().union(*(pairs_of(c) for c in every))
    chosen = []
    while missing:
        best = max(every, key=lambda c: len(pairs_of(c) & missing))
        missing -= pairs_of(best)
        chosen.append(best)
    return chosen


def sides(size):
    return tuple(int(q) for q in (size.split("x") * 2)[:2])


def observation(field, size, factor):
    """Baselines out to 0.55 cycles a pixel (some out of the grid), at most 20 km; w as large as u and v, where that is no more
    than some forty planes (the time that more of them take says nothing new). u and v are multiplied by `factor`."""
    nx, ny = sides(size)
    scale = np.radians(field) / max(nx, ny)
    longest = min(0.55 / scale, 20e3 * 150e6 / C)
    shortest = 2.0 if longest > 20 else longest / 100
    l, m = (q / 2 * scale for q in (nx, ny))
    highest = 20 / (1 - np.sqrt(max(0, 1 - l * l - m * m))) * C / 150e6

    def spoil(uvw, data):
        r = np.random.default_rng(int(field * 10) + nx)
        n = len(uvw)
        length = np.exp(r.uniform(np.log(shortest), np.log(longest), n)) * C / 150e6
        angle = r.uniform(0, 2 * np.pi, n)
        uvw[:, 0], uvw[:, 1] = length * np.cos(angle) * factor, length * np.sin(angle) * factor
        uvw[:, 2] = r.uniform(-1, 1, n) * np.minimum(length, highest)
        # Three sources and noise, so that the image is not all noise.
        l, m = r.uniform(-0.4, 0.4, (2, 3)) * np.sin(np.radians(min(field, 60))) / 1.5
        f = 150e6 + 1e6 * np.arange(data.shape[2])
        n1 = np.sqrt(1 - l * l - m * m) - 1
        turns = (uvw @ np.stack([l, m, n1]))[:, None, :] * f[None, :, None] / C
        vis = np.exp(2j * np.pi * turns).sum(-1) + r.normal(size=(n, len(f))) * 0.3
        data[..., 0], data[..., 1] = vis.real[:, None, :, None], vis.imag[:, None, :, None]

    path = os.path.join(TMP, "%g-%s.uvfits" % (field, size))
    f = File(f0=150e6, df=1e6, n_channels=2, n_times=60, spoil=spoil, bitpix=-64)
    return path, f.write(path), np.degrees(scale) * 3600


def check(weight, epsilon, field, size, factor=1):
    nx, ny = sides(size)
    path, parts, scale = observation(field, size, factor)
    name = "%-10s %-6s %5g deg %-8s" % (weight, epsilon, field, size)
    out = os.path.join(TMP, "out.fits")
    if os.path.exists(out):
        os.remove(out)
    began = time.time()
    p = subprocess.run([os.path.join(BIN, "gridloom"), "image", path, "-o", out, "--size", size, "--scale", "%.17gasec" % scale,
                        "--epsilon", epsilon, "--weight", weight, "--json"], capture_output=True, text=True, timeout=1200)
    took = time.time() - began
    rad = np.radians(scale / 3600)
    r = np.random.default_rng(5)
    x, y = np.r_[r.integers(0, nx, 40), 0, nx - 1, 0, nx - 1, nx // 2], np.r_[r.integers(0, ny, 40), 0, 0, ny - 1, ny - 1, ny // 2]
    l, m = (nx // 2 - x) * rad, (y - ny // 2) * rad
    D, W, A, counts = dft_image.direct(parts, l, m, rad, weight=weight, NX=nx, NY=ny)
    if counts["gridded"] == 0:
        good = factor > 1 and p.returncode == 65 and "out of the grid" in p.stderr and not os.path.exists(out)
        print("%s refused: %s" % (name, good))
        return good or failed.append("%s: no sample in the grid, but %s" % (name, p.stderr or "an image"))
    if p.returncode:
        return failed.append("%s: %s" % (name, p.stderr))
    got = json.loads(p.stdout)["visibilities"]
    off = np.abs(np.squeeze(fits.getdata(out)).astype(float).reshape(ny, nx)[y, x] - D / W).max() / max(np.abs(D / W).max(), A / W)
    wrong = {k: (got[k], v) for k, v in counts.items() if got[k] != v}
    print("%s %5d gridded, off by %.2g of %s, %.1f s" % (name, counts["gridded"], off, epsilon, took), flush=True)
    if not off <= float(epsilon):
        failed.append("%s: off by %.3g" % (name, off))
    if wrong:
        failed.append("%s: counts (got, expected) %s" % (name, wrong))


every = "--all" in sys.argv or os.environ.get("LOOM_TIER") == "long"
combinations = list(itertools.product(*AXES)) if every else cover()
print(len(combinations), "combinations")
for c in combinations:
    check(*c)
for size, epsilon in (("1", "1e-4"), ("2", "1e-12"), ("63", "1e-5")):
    check("uniform", epsilon, 60.0, size, 1000)
for f in failed:
    print("failed:", f)
if failed:
    sys.exit(1)
print("ok")
