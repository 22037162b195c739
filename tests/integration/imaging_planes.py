#!/usr/bin/python3
"""Planes of an image: Stokes parameters and hands from linear, circular and Stokes data, channels divided among planes, the
point spread function and its beam, gridded samples; headers; awkward sizes and places; values beyond single precision."""
# timeout: 1200
import json, os, subprocess, sys
import numpy as np
from astropy.io import fits
from astropy.wcs import WCS

BIN, ROOT = os.environ["GRIDLOOM_BIN"], os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TMP = os.path.join(os.environ["LOOM_TMP"], "imaging_planes")
sys.path[:0] = [os.path.join(ROOT, "tests/lib"), os.path.join(ROOT, "tests/oracle")]
import dft_image, given
from uvfits_files import C, File, STOKES, frequencies

os.makedirs(TMP, exist_ok=True)
DATA, failed = 65, []
I, Q, U, V = 1, 2, 3, 4
RR, RL, LR, LL, XX, XY, YX, YY = range(5, 13)
NAMES = dict(I=1, Q=2, U=3, V=4, RR=5, RL=6, LR=7, LL=8, XX=9, XY=10, YX=11, YY=12)
LINEAR = {I: {XX: .5, YY: .5}, Q: {XX: .5, YY: -.5}, U: {XY: .5, YX: .5}, V: {XY: -.5j, YX: .5j}}
CIRCULAR = {I: {RR: .5, LL: .5}, Q: {RL: .5, LR: .5}, U: {RL: -.5j, LR: .5j}, V: {RR: .5, LL: -.5}}
AXIS = {1: 1, 2: 2, 3: 3, 4: 4, 5: -1, 6: -3, 7: -4, 8: -2, 9: -5, 10: -7, 11: -8, 12: -6}


def expect(what, good, said=""):
    if not good:
        failed.append("%s %s" % (what, said))


def made(name, **changes):
    f = File(**changes)
    path = os.path.join(TMP, name + ".uvfits")
    f.write(path)
    return f, path


def image(path, size, scale, *more, epsilon="1e-6"):
    out = os.path.join(TMP, "out.fits")
    if os.path.exists(out):
        os.remove(out)
    words = [os.path.join(BIN, "gridloom"), "image", path, "-o", out, "--size", size, "--scale", "%gasec" % scale, "--epsilon",
             epsilon, "--json"] + list(more)
    p = subprocess.run(words, capture_output=True, text=True, timeout=300)
    return p, out


def samples(f, product, low=-np.inf, high=np.inf):
    """u, v, w, V, W of what is used: flat arrays; frequencies between low and high only."""
    _, _, raw = f.kept
    codes = [STOKES[s] for s in f.stokes]
    recipe = {product: 1} if product in codes else (LINEAR if XX in codes else CIRCULAR)[product]
    data = raw.astype(float)
    freq = np.array([[f.f0 + f.df * c + (f.offsets[i] if f.offsets is not None else 0) for c in range(f.n_channels)] for i in range(data.shape[1])])
    vis = sum(x * (data[..., codes.index(h), 0] + 1j * data[..., codes.index(h), 1]) for h, x in recipe.items())
    weight = np.stack([data[..., codes.index(h), 2] for h in recipe]).min(0)
    uvw = np.stack([p[1] for p in f.parameters()[:3]], 1) * C
    good = (weight > 0) & (f.a != f.b)[:, None, None] & ((freq >= low) & (freq <= high))[None]
    u, v, w = (uvw[:, k][:, None, None] * freq[None] / C for k in range(3))
    return [np.broadcast_to(x, vis.shape)[good] for x in (u, v, w, vis, weight)]


def direct(s, l, m):
    u, v, w, vis, weight = s
    n1 = -(l * l + m * m) / (1 + np.sqrt(1 - l * l - m * m))
    D = np.array([(weight * (vis * np.exp(-2j * np.pi * (u * a + v * b + w * c))).real).sum() for a, b, c in zip(l, m, n1)])
    return D / weight.sum(), (weight * abs(vis)).sum() / weight.sum()


def weighted(s, kind, nx, ny, scale, density=None):
    """Weights by the density of `density`, or of the samples themselves."""
    u, v, w, vis, weight = s
    cells = [(x[0], x[1], x[4]) for x in (density or s, s)]
    if density is None:
        return (u, v, w, vis, dft_image.imaging_weights(cells[:1], nx, ny, scale, kind)[0])
    both = dft_image.imaging_weights([cells[0], (u, v, 0 * weight)], nx, ny, scale, kind)
    at = {(a, b): x / y for a, b, x, y in zip(density[0], density[1], both[0], density[4])}
    return (u, v, w, vis, weight * np.array([at[a, b] for a, b in zip(u, v)]))


def judge(name, plane, s, scale, epsilon=1e-6, pixels=30):
    ny, nx = plane.shape
    rad = np.radians(scale / 3600)
    y, x = np.mgrid[0:ny, 0:nx]
    y, x = y.ravel(), x.ravel()
    l, m = (nx // 2 - x) * rad, (y - ny // 2) * rad
    dark = l * l + m * m >= 1
    expect(name, np.isnan(plane.ravel()[dark]).all() and np.isfinite(plane.ravel()[~dark]).all(), "blank pixels are elsewhere")
    some = np.flatnonzero(~dark)
    some = some if len(some) <= pixels else np.random.default_rng(3).choice(some, pixels, replace=False)
    D, unit = direct(s, l[some], m[some])
    off = np.abs(plane.ravel()[some] - D).max() / max(np.abs(D).max(), unit)
    print("%-44s off by %.2g" % (name, off))
    expect(name, off <= epsilon, "off by %.3g" % off)


# ---- products ----

def products(name, stokes, wanted):
    f, path = made(name, stokes=stokes, n_times=8)
    p, out = image(path, "40", 60, "--stokes", wanted)
    if p.returncode:
        return failed.append("%s %s: %s" % (name, wanted, p.stderr))
    with fits.open(out) as h:
        k, data = h[0].header, h[0].data.astype(float)
    codes = sorted((NAMES[x] for x in (wanted.split(",") if "," in wanted or wanted in NAMES else wanted)), key=lambda c: abs(AXIS[c]))
    axis = [k["CRVAL4"] + i * k["CDELT4"] for i in range(k["NAXIS4"])]
    expect(name, axis == [AXIS[c] for c in codes], "STOKES axis %s" % axis)
    for i, c in enumerate(codes):
        judge("%s %s: %d" % (name, wanted, AXIS[c]), data[i, 0], samples(f, c), 60)


# ---- bands ----

def bands():
    f, path = made("bands", n_channels=7, offsets=(0.0, 10e6), n_times=6, tables=(frequencies([((0.0, 10e6), (0.5e6, 0.5e6))]),))
    p, out = image(path, "40", 60, "--channels-out", "4", "--psf", os.path.join(TMP, "psf.fits"))
    if p.returncode:
        return failed.append("bands: %s" % p.stderr)
    j = json.loads(p.stdout)
    all_ = sorted(set(f.f0 + f.df * c + o for c in range(7) for o in f.offsets))
    runs = [all_[14 * k // 4:14 * (k + 1) // 4] for k in range(4)]
    with fits.open(out) as h:
        data, table, k = h[0].data.astype(float), h["PLANES"].data, h[0].header
    with fits.open(os.path.join(TMP, "psf.fits")) as h:
        psf, kp = h[0].data.astype(float), h[0].header
    expect("bands", k["NAXIS3"] == 4 and kp["NAXIS3"] == 4 and kp["BTYPE"].strip() == "Beam")
    line = np.polyfit(np.arange(4), table["FREQ"], 1)
    expect("bands", abs(k["CDELT3"] / line[0] - 1) < 1e-9 and abs(k["CRVAL3"] / line[1] - 1) < 1e-9, "FREQ axis")
    expect("bands", sum(x["gridded"] for x in j["planes"]) == j["visibilities"]["gridded"], "counts")
    for i, run in enumerate(runs):
        s = samples(f, I, run[0], run[-1])
        centre, width = (run[0] + run[-1]) / 2, run[-1] - run[0] + f.df
        expect("bands", abs(table["FREQ"][i] - centre) < 1 and abs(table["BANDWIDTH"][i] - width) < 1, "frequency of plane %d" % i)
        expect("bands", table["GRIDDED"][i] == len(s[0]) and abs(table["WEIGHT"][i] / s[4].sum() - 1) < 1e-6, "numbers of plane %d" % i)
        judge("bands: plane %d" % i, data[0, i], s, 60)
        judge("bands: PSF %d" % i, psf[0, i], (s[0], s[1], s[2], np.ones(len(s[0]), complex), s[4]), 60)
    rad = np.radians(60 / 3600)
    for more, whole in (([], None), (["--mf-weighting"], samples(f, I))):
        p, out = image(path, "40", 60, "--channels-out", "3", "--weight", "uniform", *more)
        if p.returncode:
            return failed.append("bands: %s" % p.stderr)
        data = fits.getdata(out).astype(float)
        for i in range(3):
            run = all_[14 * i // 3:14 * (i + 1) // 3]
            judge("bands: uniform %s plane %d" % (more, i), data[0, i],
                  weighted(samples(f, I, run[0], run[-1]), "uniform", 40, 40, rad, whole), 60)


def flagged_band():
    def spoil(uvw, data):
        data[:, :, 2, :, 2] = -1
    f, path = made("flagged_band", n_times=4, spoil=spoil)
    p, out = image(path, "30", 60, "--channels-out", "4")
    if p.returncode:
        return failed.append("flagged band: %s" % p.stderr)
    with fits.open(out) as h:
        data, table = h[0].data.astype(float), h["PLANES"].data
    expect("flagged band", np.isnan(data[0, 2]).all() and table["WEIGHT"][2] == 0 and table["GRIDDED"][2] == 0)
    expect("flagged band", all(np.isfinite(data[0, i]).all() for i in (0, 1, 3)), "others are blank")


# ---- one plane ----

def gridded():
    f, path = made("gridded", n_times=6)
    nx, ny, scale = 24, 33, 90
    rad = np.radians(scale / 3600)
    for kind in ("natural", "uniform"):
        s = weighted(samples(f, I), kind, nx, ny, rad)
        u, v, _, vis, weight = s
        want = np.zeros((3, ny // 2 + 1, nx))
        back = v < 0
        u, v, vis = np.where(back, -u, u), np.where(back, -v, v), np.where(back, vis.conj(), vis)
        y, x = np.clip(np.floor(v * ny * rad), 0, ny // 2).astype(int), np.clip(np.floor(u * nx * rad) + nx // 2, 0, nx - 1).astype(int)
        for k, q in enumerate((weight * vis.real, weight * vis.imag, weight)):
            np.add.at(want[k], (y, x), q)
        for name in ("grid.npy", "grid.fits"):
            to = os.path.join(TMP, name)
            p, _ = image(path, "%dx%d" % (nx, ny), scale, "--grid", to, "--weight", kind)
            if p.returncode:
                failed.append("%s: %s" % (name, p.stderr))
                continue
            got = np.load(to) if name.endswith("npy") else fits.getdata(to).astype(float)
            off = np.abs(got - want).max() / np.abs(want).max() if got.shape == want.shape else np.inf
            print("%-44s off by %.2g" % ("%s %s" % (name, kind), off))
            expect(name, off < 1e-6, "off by %.3g" % off)


def beams():
    """Cells filled by a Gaussian: the beam is the one that goes with it."""
    def spoil(uvw, data):
        n = len(uvw)
        r = np.random.default_rng(8)
        t = np.radians(25)
        along, across = r.normal(size=n) * 300, r.normal(size=n) * 600
        uvw[:, 0], uvw[:, 1], uvw[:, 2] = across * np.cos(t) - along * -np.sin(t), along * np.cos(t) - across * np.sin(t), 0
        data[..., 2] = 1
    f, path = made("beams", n_times=400, n_channels=1, spoil=spoil, autocorrelations=False)
    p, out = image(path, "200", 20, "--psf", os.path.join(TMP, "psf.fits"))
    if p.returncode:
        return failed.append("beams: %s" % p.stderr)
    uvw = f.uvw * f.f0 / C
    cov = np.linalg.inv((2 * np.pi) ** 2 * np.cov(uvw[:, :2].T))
    e, v = np.linalg.eigh(cov)
    major, minor = np.degrees(np.sqrt(e[::-1] * 8 * np.log(2)))
    angle = np.degrees(np.arctan2(v[0, 1], v[1, 1])) % 180
    k = fits.getheader(out)
    print("%-44s %.4g x %.4g at %.1f, expected %.4g x %.4g at %.1f" % ("beams", k["BMAJ"], k["BMIN"], k["BPA"] % 180, major, minor, angle))
    expect("beams", abs(k["BMAJ"] / major - 1) < 0.03 and abs(k["BMIN"] / minor - 1) < 0.03, "size")
    expect("beams", abs((k["BPA"] - angle + 90) % 180 - 90) < 3, "angle")
    kp = fits.getheader(os.path.join(TMP, "psf.fits"))
    expect("beams", all(kp[x] == k[x] for x in ("BMAJ", "BMIN", "BPA")), "headers differ")


def sizes():
    def near(uvw, data):
        uvw /= 60
    close = made("close", n_times=6, spoil=near)
    for size, scale in (("1", 60), ("2", 60), ("3x1", 60), ("1x4", 60), ("33x20", 60), ("20x33", 60), ("31", 60), ("50x40", 9000), ("7", 60000), ("12x7", 40000)):
        f, path = close if scale > 1000 else made("sizes", n_times=6)
        for weight in ("natural", "briggs:0"):
            p, out = image(path, size, scale, "--weight", weight)
            nx, ny = (int(q) for q in (size.split("x") * 2)[:2])
            rad = np.radians(scale / 3600)
            s = samples(f, I)
            inside = np.maximum(abs(s[0]), abs(s[1])) * rad <= 0.5
            if not inside.any():
                expect("size %s of %g" % (size, scale), p.returncode == DATA and "out of the grid" in p.stderr, p.stderr)
                continue
            if p.returncode:
                failed.append("size %s of %g: %s" % (size, scale, p.stderr))
                continue
            expect("warning of size %s of %g" % (size, scale), ("most visibilities" in p.stderr) == (2 * inside.sum() < len(inside)), p.stderr)
            s = [q[inside] for q in s]
            image_ = fits.getdata(out).astype(float).reshape(ny, nx)
            judge("size %s of %g asec, %s" % (size, scale, weight), image_, weighted(s, weight, nx, ny, rad), scale)


def places():
    """Where a pixel lies, by the header alone, against l and m."""
    for ra, dec in ((40.0, -90.0), (40.0, 90.0), (0.0, 30.0), (359.999, -20.0), (180.0, 0.0)):
        _, path = made("places", n_times=2, keys=(("CRVAL5", ra), ("CRVAL6", dec)))
        p, out = image(path, "31x20", 600)
        if p.returncode:
            failed.append("place %g %g: %s" % (ra, dec, p.stderr))
            continue
        wcs = WCS(fits.getheader(out)).celestial
        x, y = np.array([0, 30, 15, 7]), np.array([0, 19, 10, 3])
        rad = np.radians(600 / 3600)
        l, m = (15 - x) * rad, (y - 10) * rad
        n = np.sqrt(1 - l * l - m * m)
        r0, d0 = np.radians(ra), np.radians(dec)
        d = np.arcsin(m * np.cos(d0) + n * np.sin(d0))
        r = r0 + np.arctan2(l, n * np.cos(d0) - m * np.sin(d0))
        want = np.stack([np.cos(d) * np.cos(r), np.cos(d) * np.sin(r), np.sin(d)])
        gr, gd = np.radians(wcs.wcs_pix2world(x, y, 0))
        got = np.stack([np.cos(gd) * np.cos(gr), np.cos(gd) * np.sin(gr), np.sin(gd)])
        expect("place %g %g" % (ra, dec), np.abs(got - want).max() < 1e-9, "off by %.3g" % np.abs(got - want).max())


# ---- values ----

def large_values():
    f, path = made("large", n_times=4, spoil=lambda uvw, data: data.__setitem__((..., slice(0, 2)), data[..., :2] * 6e37))
    p, out = image(path, "40", 60, epsilon="1e-5")
    if p.returncode:
        return failed.append("large values: %s" % p.stderr)
    judge("amplitudes of 3e38", np.squeeze(fits.getdata(out)).astype(float), samples(f, I), 60, 1e-5)

    def peak(uvw, data):
        data[..., 0], data[..., 1] = 3.4e38, 3.4e38
        uvw[:, :2] = 0
        uvw[:, 2] = 0.25 * C / 140e6
    _, path = made("larger", n_times=2, n_channels=1, spoil=peak)
    p, _ = image(path, "4", 60, epsilon="1e-5")
    expect("values beyond single precision", p.returncode == 0 or "epsilon" in p.stderr, p.stderr)

    def far(uvw, data):
        uvw[3, 2] = 1e290
    _, path = made("far", n_times=2, bitpix=-64, spoil=far)
    for epsilon in ("1e-4", "1e-9"):
        p, out = image(path, "40", 60, epsilon=epsilon)
        expect("w of 1e290", p.returncode == DATA and "w-planes" in p.stderr and not os.path.exists(out), p.stderr)


for wanted in ("I", "IQUV", "XX,YY", "XX,YY,XY,YX", "V", "Q,U"):
    products("linear", (-5, -6, -7, -8), wanted)
for wanted in ("IQUV", "RR,LL,RL,LR", "U"):
    products("circular", (-1, -2, -3, -4), wanted)
products("stokes", (1, 2, 3, 4), "IQUV")
products("pair", (-5, -6), "IQ")
for test in (bands, flagged_band, gridded, beams, sizes, places, large_values):
    test()
given.end(failed)
