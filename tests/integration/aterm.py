#!/usr/bin/python3
"""gridloom image --aterm against direct sums with A-terms: kernels of one cell, shifted ones, random ones of several sizes,
in one and in several intervals of time; MeasurementSets of several windows, UVFITS, selections, weights, planes, workers; and
the files it refuses."""
# timeout: 1800
import json, os, shutil, sys
import numpy as np
from astropy.io import fits
from casacore.tables import table

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests/lib"), os.path.join(ROOT, "tests/oracle")]
import checks, dft_image, ms_files, uvfits_files
from checks import expect, gridloom, here

C = dft_image.C
checks.begin("aterm")


def image(name, data, size, arcsec, epsilon, kernels=None, *more):
    """-> pixels [..., y, x], what --json says; or None."""
    out = here("out.fits")
    words = ["-o", out, "--size", "%dx%d" % size, "--scale", "%gasec" % arcsec, "--epsilon", epsilon, "--json", *more]
    if kernels is not None:
        np.save(here("kernels.npy"), kernels)
        words += ["--aterm", here("kernels.npy")]
    p = gridloom("image", data, *words)
    if p.returncode:
        expect(name, False, "exit code %d: %s" % (p.returncode, p.stderr))
        return None, None
    said = json.loads(p.stdout)
    v = said["visibilities"]
    expect(name, v["read"] == sum(n for k, n in v.items() if k != "read"), "counts do not add up: %s" % v)
    pixels = fits.getdata(out).astype(float)
    return pixels.reshape([n for n in pixels.shape[:2] if n > 1] + list(pixels.shape[2:])), said


# ---- the direct sum ----


def responses(kernels, l, m, size, scale):
    """A [intervals][stations][pixels] by the definition."""
    nx, ny = size
    i, j = np.arange(kernels.shape[3]), np.arange(kernels.shape[2])
    eu = np.exp(-2j * np.pi * np.outer(i, l / (nx * scale)))
    ev = np.exp(-2j * np.pi * np.outer(j, m / (ny * scale)))
    return np.einsum("tsji,ip,jp->tsp", kernels, eu, ev)


def intervals(time, first, last, n):
    return np.clip(np.floor(n * ((time - first) / (last - first))).astype(int), 0, n - 1)


def direct(parts, l, m, size, scale, kernels, span, weight):
    """parts: what dft_image.load_ms gives, with the times and the stations of rows. D/W, and what |V| adds up to."""
    A = responses(kernels, l, m, size, scale)
    dense = responses(kernels, *(x.ravel() for x in np.meshgrid(np.arange(64) / 64 * size[0] * scale, np.arange(64) / 64 * size[1] * scale)), size, scale)
    n1 = -(l * l + m * m) / (1 + np.sqrt(1 - l * l - m * m))
    kept, cells = [], []
    for (uvw, f, v, flag, w, auto), time, p, q in parts:
        u, vv, ww = (uvw[:, k:k + 1] * f / C for k in range(3))
        good = ~auto[:, None] & ~flag.any(-1) & np.isfinite(v).all(-1) & (w > 0).all(-1) & (np.maximum(abs(u), abs(vv)) * scale <= 0.5)
        kept.append((u, vv, ww, np.where(good, v.astype(complex).mean(-1), 0), intervals(time, *span, len(kernels)), p, q))
        cells.append((u, vv, np.where(good, w.min(-1).astype(float), 0)))
    D, W, most = np.zeros(len(l)), 0.0, 0.0
    for (u, v, w, vis, t, p, q), wt in zip(kept, dft_image.imaging_weights(cells, *size, scale, weight)):
        W += wt.sum()
        most += (wt * abs(vis) * abs(dense[t, p] * dense[t, q]).max(-1)[:, None]).sum()
        for k in range(len(l)):
            part = (wt * vis * np.exp(-2j * np.pi * (u * l[k] + v * m[k] + w * n1[k]))).sum(1)
            D[k] += (np.conj(A[t, p, k]) * A[t, q, k] * part).real.sum()
    return D / W, most / W


def ms_parts(path, condition=None):
    """The direct sum's parts of field 0; rows by data description, as dft_image.load_ms has them."""
    where = path
    if condition:
        where = here("some.ms")
        ms_files.select(path, where, condition)
    parts = dft_image.load_ms(where, "DATA", 0, -1, slice(None))
    with table(where, ack=False) as t:
        d, field, time, p, q = (t.getcol(c) for c in ("DATA_DESC_ID", "FIELD_ID", "TIME", "ANTENNA1", "ANTENNA2"))
    rows = [(d == k) & (field == 0) for k in sorted(set(d))]
    return list(zip(parts, *([x[r] for r in rows if r.any()] for x in (time, p, q))))


def span_of(path):
    with table(path, ack=False) as t:
        return t.getcol("TIME").min(), t.getcol("TIME").max()


def check(name, data, parts, span, size, arcsec, epsilon, kernels, *more, weight="natural"):
    got, said = image(name, data, size, arcsec, epsilon, kernels, *more, "--weight", weight)
    if got is None:
        return None
    nx, ny = size
    r = np.random.default_rng(5)
    x, y = np.r_[r.integers(0, nx, 40), 0, nx - 1, 0, nx // 2], np.r_[r.integers(0, ny, 40), 0, ny - 1, ny - 1, ny // 2]
    scale = np.radians(arcsec / 3600)
    l, m = (nx // 2 - x) * scale, (y - ny // 2) * scale
    inside = l * l + m * m < 1
    want, most = direct(parts, l[inside], m[inside], size, scale, kernels, span, weight)
    off = np.abs(got[y, x][inside] - want).max() / max(np.abs(want).max(), most)
    print("%-30s %dx%d kernels, %d intervals, %d planes: off by %.2g, %g allowed" % (name, *kernels.shape[:1:-1], len(kernels), said["w_planes"], off, epsilon), flush=True)
    expect(name, off <= epsilon and np.abs(want).max() > 0.01 * most, "off by %.3g" % off)
    expect(name, np.isnan(got[y, x][~inside]).all(), "is not blank beyond the horizon")
    return got


# ---- kernels ----


def identity(n_intervals, stations, rows, columns):
    k = np.zeros((n_intervals, stations, rows, columns), complex)
    k[:, :, rows // 2, columns // 2] = 1
    return k


def shifted(n_intervals, stations, side, seed):
    """A phase gradient for each station and interval."""
    r, k = np.random.default_rng(seed), np.zeros((n_intervals, stations, side, side), complex)
    for t in range(n_intervals):
        for s in range(stations):
            k[t, s, r.integers(side), r.integers(side)] = np.exp(2j * np.pi * r.random())
    return k


def smooth(n_intervals, stations, rows, columns, seed):
    """Near one in the middle, with random complex tails."""
    r = np.random.default_rng(seed)
    y, x = np.mgrid[:rows, :columns]
    fall = np.exp(-((y - rows // 2) ** 2 / (rows / 4) ** 2 + (x - columns // 2) ** 2 / (columns / 4) ** 2))
    k = (r.normal(size=(n_intervals, stations, rows, columns)) + 1j * r.normal(size=(n_intervals, stations, rows, columns))) * fall * 0.3
    k[:, :, rows // 2, columns // 2] += 1
    return k


# ---- direct sums ----

up = lambda f0, df, n: (f0 + df * np.arange(n), np.full(n, df))
many = here("many.ms")
ms_files.write(many, [up(140e6, 5e5, 3), up(160e6, -3e5, 2)], [[9, 12], [12]], [(0, 0), (1, 1)],
               [("first", 1.0, -0.5), ("second", 1.1, 0.3)], [(i * 7 % 3 % 2, i % 9 // 8) for i in range(400)])
whole = (ms_parts(many), span_of(many))
check("phase gradients", many, *whole, (96, 80), 240, 1e-4, shifted(3, 6, 5, 1))
check("smooth", many, *whole, (96, 80), 240, 1e-4, smooth(4, 6, 5, 5, 2))
check("smooth, accurate", many, *whole, (63, 75), 900, 1e-5, smooth(7, 6, 9, 9, 3))
check("smooth, double", many, *whole, (96, 80), 240, 1e-9, smooth(2, 6, 7, 9, 4))
check("smooth, most accurate", many, *whole, (60, 50), 240, 1e-12, smooth(1, 6, 5, 5, 5))
check("even sides", many, *whole, (40, 44), 600, 1e-4, smooth(5, 6, 4, 8, 6))
check("to the horizon", many, *whole, (120, 124), 3600, 1e-3, smooth(2, 6, 5, 5, 7))
# Kernels of the largest side, and samples at the edges of the grid in u and v: those pass it.
check("at the edges", many, *whole, (37, 28), 330, 1e-5, smooth(2, 6, 7, 9, 8))
check("one row of pixels", many, *whole, (32, 1), 300, 1e-4, smooth(2, 6, 1, 8, 9))
check("uniform weights", many, *whole, (96, 80), 240, 1e-4, smooth(4, 6, 5, 5, 10), weight="uniform")
for size in (1e-30, 1e30):
    check("kernels times %g" % size, many, *whole, (48, 40), 480, 1e-4, size ** 0.25 * smooth(1, 6, 3, 3, 11))
# A selection does not change which kernel a row has.
some = "TIME > 4800000099.5 and TIME < 4800000229.5"
check("a part of the time", many, ms_parts(many, some), whole[1], (48, 40), 480, 1e-4, smooth(5, 6, 5, 5, 12), "--time",
      "%.17g/%.17g" % (4800000099.5 / 86400, 4800000229.5 / 86400))

# UVFITS: antenna numbers from 1 on.
f = uvfits_files.File()
parts = f.write(here("a.uvfits"))
k = smooth(3, 6, 5, 5, 13)
time = (f.time - 2400000.5) * 86400
check("UVFITS", here("a.uvfits"), [(parts[0], time, f.a - 1, f.b - 1)], (time.min(), time.max()), (48, 40), 480, 1e-4, k)

# ---- what needs no sum ----

plain, _ = image("without", many, (96, 80), 240, 1e-5)
for rows, columns in ((1, 1), (5, 3), (20, 24)):
    got, said = image("identity", many, (96, 80), 240, 1e-5, identity(2, 6, rows, columns))
    if got is not None:
        off = np.abs(got - plain).max() / np.abs(plain).max()
        print("identity of %dx%d: off by %.2g" % (rows, columns, off))
        expect("identity of %dx%d" % (rows, columns), off < 1e-5, "off by %.3g" % off)
        expect("identity", said["aterm"] == here("kernels.npy"))

k = smooth(3, 6, 5, 7, 14)
whole, _ = image("whole", many, (48, 40), 480, 1e-5, k, "--stokes", "YY", "--channels-out", 2, "--psf", here("psf.fits"))
pieces, _ = image("three workers", many, (48, 40), 480, 1e-5, k, "--stokes", "YY", "--channels-out", 2, "--workers", 3, "--threads", 1, "--block", 7)
expect("workers", whole is not None and pieces is not None and (whole == pieces).all(), "change the image")
psf, _ = image("PSF alone", many, (48, 40), 480, 1e-5, None, "--stokes", "YY", "--channels-out", 2, "--psf", here("psf1.fits"))
expect("PSF", (fits.getdata(here("psf.fits")) == fits.getdata(here("psf1.fits"))).all(), "changes with kernels")
# Planes of w in batches that fit.
roomy, said = image("planes at once", many, (320, 300), 180, 1e-4, k)
tight, less = image("planes in batches", many, (320, 300), 180, 1e-4, k, "--memory", "64MiB")
expect("memory", roomy is not None and tight is not None and np.abs(roomy - tight).max() < 1e-6 * np.abs(roomy).max(), "changes the image")
expect("memory", said and less and less["traversals"] > said["traversals"], "there was one batch")

# Antennas swapped, uvw negated, data conjugated: the same rows.
copy = here("swapped.ms")
shutil.copytree(many, copy)
with table(copy, ack=False, readonly=False) as t:
    for i in range(0, t.nrows(), 3):
        a, b = t.getcell("ANTENNA1", i), t.getcell("ANTENNA2", i)
        t.putcell("ANTENNA1", i, b)
        t.putcell("ANTENNA2", i, a)
        t.putcell("UVW", i, -t.getcell("UVW", i))
        t.putcell("DATA", i, np.conj(t.getcell("DATA", i)))
once, _ = image("rows as they are", many, (48, 40), 480, 1e-6, k)
again, _ = image("rows swapped", copy, (48, 40), 480, 1e-6, k)
expect("swapped antennas", again is not None and np.abs(once - again).max() < 1e-12 * np.abs(once).max(), "change the image")

# A source seen through phase gradients is back at its place with its flux; the kernels are made of A as docs/imaging.md says.
sky = here("sky.ms")
arcsec, n = 60.0, 64
scale = np.radians(arcsec / 3600)
open(here("one.txt"), "w").write("%.17g %.17g 2.5\n" % (10 * arcsec, -7 * arcsec))
assert gridloom("simulate", "-o", sky, "--stations", 6, "--times", 12, "--sources", here("one.txt"), "--quiet").returncode == 0
y, x = np.mgrid[:n, :n]
l, m = (n // 2 - x) * scale, (y - n // 2) * scale
gradient = np.random.default_rng(15).integers(-2, 3, (3, 6, 2))
A = np.exp(2j * np.pi * (gradient[..., 0, None, None] * l + gradient[..., 1, None, None] * m) / (n * scale))


def kernels_of(A, height, width):
    """The text of docs/imaging.md."""
    ny, nx = A.shape[-2:]
    ordered = A[..., (np.arange(ny) + ny // 2) % ny, :][..., (nx // 2 - np.arange(nx)) % nx]
    K = np.fft.fftshift(np.fft.ifft2(ordered), axes=(-2, -1))
    return K[..., ny // 2 - height // 2:ny // 2 + (height + 1) // 2, nx // 2 - width // 2:nx // 2 + (width + 1) // 2]


with table(sky, ack=False, readonly=False) as t:
    time, p, q, data = (t.getcol(c) for c in ("TIME", "ANTENNA1", "ANTENNA2", "DATA"))
    i = intervals(time, *span_of(sky), 3)
    at = (n // 2 - 7, n // 2 - 10)
    t.putcol("DATA", data * (A[i, p] * np.conj(A[i, q]))[:, at[0], at[1]][:, None, None])
bad, _ = image("source without kernels", sky, (n, n), arcsec, 1e-4)
good, _ = image("source", sky, (n, n), arcsec, 1e-4, kernels_of(A, 5, 5))
print("source of 2.5 Jy: %.6g without kernels, %.6g with them" % (bad[at], good[at]))
expect("source", abs(good[at] - 2.5) < 2.5e-4 and bad[at] < 2 and np.unravel_index(good.argmax(), good.shape) == at)

# ---- refusals, before anything is written ----


def refused(name, code, words, kernels, *more, data=many):
    path = here("bad.npy")
    if isinstance(kernels, np.ndarray):
        np.save(path, kernels)
    elif kernels is not None:
        open(path, "wb").write(kernels)
    else:
        path = here("nothing.npy")
    p = gridloom("image", data, "-o", here("refused.fits"), "--size", 48, "--scale", "480asec", "--aterm", path, *more)
    print("%-24s refused: %s" % (name, p.stderr.splitlines()[0] if p.stderr else ""))
    missing = [w for w in words if w.lower() not in p.stderr.lower()]
    expect(name, p.returncode == code and not missing and not os.path.exists(here("refused.fits")), "exit code %d, %s: %s" % (p.returncode, missing, p.stderr))


k = smooth(2, 6, 5, 5, 16)
spoilt = k.copy()
spoilt[1, 3, 2, 4] = np.nan
endless = k.astype(np.complex64)
endless[0, 5, 0, 1] = 1j * np.inf
refused("no file", 66, ["nothing.npy"], None)
refused("no npy", 65, ["npy"], b"SIMPLE  =                    T")
refused("cut off", 65, ["bad.npy"], open(here("kernels.npy"), "rb").read()[:900])
refused("three axes", 65, ["3 axes", "four"], k[0])
refused("five axes", 65, ["5 axes", "four"], k[None])
refused("no intervals", 65, ["without elements"], k[:0])
refused("real numbers", 65, ["f64", "complex"], k.real.copy())
refused("integers", 65, ["i64", "complex"], k.real.astype(int))
refused("five stations", 65, ["5 stations", "has 6", "0 to 5"], k[:, :5])
refused("seven stations", 65, ["7 stations", "has 6"], k[:, [0, 1, 2, 3, 4, 5, 5]])
refused("not a number", 65, ["[1, 3, 2, 4]", "not finite"], spoilt)
refused("infinite", 65, ["[0, 5, 0, 1]", "not finite"], endless)
refused("large kernels", 65, ["13 x 5", "48 x 48", "quarter"], smooth(1, 6, 13, 5, 17))
dateless = uvfits_files.File(without_parameters=("DATE",))
dateless.write(here("dateless.uvfits"))
refused("no times", 65, ["2 intervals", "no times"], k, data=here("dateless.uvfits"))
refused("numbers from 1", 65, ["5 stations", "has 6", "1 to 6"], k[:, :5], data=here("a.uvfits"))

checks.end()
