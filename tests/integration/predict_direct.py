#!/usr/bin/python3
"""gridloom predict against direct sums over the pixels and sources: observed and simulated data, several windows, correlation
sets and fields, selections, subtraction, copies; and what it refuses."""
# timeout: 900
import hashlib, json, os, sys
import numpy as np
from astropy.io import fits
from casacore.tables import table

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/lib"))
import checks, given, ms_files
from checks import expect, failed, gridloom, here

C = 299792458.0
PARALLEL = {1, 5, 8, 9, 12}
TMP = checks.begin("predict_direct")


def predict(*arguments):
    p = gridloom("predict", *arguments, "--json")
    if p.returncode:
        failed.append("predict %s: exit code %d: %s" % (" ".join(map(str, arguments)), p.returncode, p.stderr))
        return None
    return json.loads(p.stdout)


def make_model(ms, name, nx, ny, arcsec, seed=3, double=False):
    """An image of `ms` by gridloom image, with pixels of our own."""
    path = here(name)
    p = gridloom("image", ms, "-o", path, "--size", "%dx%d" % (nx, ny), "--scale", "%gasec" % arcsec, "--epsilon", 1e-6 if double else 1e-3, "--quiet")
    assert p.returncode == 0, p.stderr
    pixels = np.random.default_rng(seed).normal(size=(ny, nx)).astype(np.float64 if double else np.float32)
    with fits.open(path, mode="update") as f:
        f[0].data[:] = pixels
        f[0].header["BUNIT"] = "JY/PIXEL"
    return path, pixels.astype(float)


def direct(uvw, freq, pixels, arcsec):
    """[rows][channels] by the sum itself; samples out of the grid are 0."""
    ny, nx = pixels.shape
    scale = np.radians(arcsec / 3600)
    y, x = np.nonzero(np.nan_to_num(pixels))
    l, m = (nx // 2 - x) * scale, (y - ny // 2) * scale
    r2 = l * l + m * m
    seen = r2 < 1
    l, m, s, r2 = l[seen], m[seen], pixels[y, x][seen], r2[seen]
    path = uvw @ np.array([l, m, -r2 / (1 + np.sqrt(1 - r2))])
    out = np.stack([np.exp(2j * np.pi * (path * (f / C) % 1)) @ s for f in freq], axis=1)
    far = np.abs(uvw[:, :2]).max(axis=1)[:, None] * freq / C * scale > 0.5
    return np.where(far, 0, out)


def check_rows(name, ms, column, pixels, arcsec, epsilon, rows=60):
    """Some rows of one window and field; parallel hands are the sum, the others 0."""
    with table(ms, ack=False) as t, table(ms + "/SPECTRAL_WINDOW", ack=False) as w, table(ms + "/POLARIZATION", ack=False) as p:
        freq, codes = w.getcell("CHAN_FREQ", 0), p.getcell("CORR_TYPE", 0)
        chosen = np.sort(np.random.default_rng(1).choice(t.nrows(), min(rows, t.nrows()), replace=False))
        uvw = np.array([t.getcell("UVW", int(i)) for i in chosen])
        got = np.array([t.getcell(column, int(i)) for i in chosen])
    want = direct(uvw, freq, pixels, arcsec)
    norm = np.nansum(np.abs(pixels))
    off = 0.0
    for h, code in enumerate(codes):
        off = max(off, np.abs(got[:, :, h] - (want if code in PARALLEL else 0)).max() / norm)
    print("%-24s off by %.2g of the sum of |S|, of %g allowed" % (name, off, epsilon), flush=True)
    expect(name, off <= epsilon + 1.2e-7 and np.abs(want).max() > 0, "off by %.3g" % off)


def tables_hash(path):
    total = hashlib.sha256()
    for folder, _, files in sorted(os.walk(path)):
        for f in sorted(files):
            if f != "table.lock":
                total.update(f.encode() + open(os.path.join(folder, f), "rb").read())
    return total.hexdigest()


# ---- observations, fields up to the horizon, accuracies ----

for name, nx, ny, arcsec in (("lofar", 96, 80, 20.0), ("oskar", 90, 91, 300.0), ("wide", 120, 100, 1500.0)):
    ms = given.unpack(name + ".ms", TMP)
    if not ms:
        continue
    model, pixels = make_model(ms, name + ".fits", nx, ny, arcsec)
    for epsilon in (1e-3, 1e-5):
        if predict(ms, "--model", model, "--epsilon", epsilon):
            check_rows("%s %g" % (name, epsilon), ms, "MODEL_DATA", pixels, arcsec, epsilon)
    # One source in the corner, where the kernel's transform is least: nothing averages out.
    corner = np.zeros_like(pixels)
    corner[0, 0] = 1
    with fits.open(model) as f:
        f[0].data[:] = corner
        f.writeto(here(name + "_corner.fits"))
    for epsilon in (1e-2, 1e-4, 1e-5, 1e-6):
        if predict(ms, "--model", here(name + "_corner.fits"), "--epsilon", epsilon, "--column", "CORNER"):
            check_rows("%s corner %g" % (name, epsilon), ms, "CORNER", corner, arcsec, epsilon, rows=300)
    # Below single precision the program itself: a column holds seven digits.
    with table(ms, ack=False) as t, table(ms + "/SPECTRAL_WINDOW", ack=False) as w:
        freq, uvw = w.getcell("CHAN_FREQ", 0), t.getcol("UVW", nrow=400, rowincr=max(1, t.nrows() // 400))[:400]
    columns = dict(zip(("u", "v", "w"), np.repeat(uvw, len(freq), axis=0).T), freq=np.tile(freq, len(uvw)), image=pixels)
    for k, x in columns.items():
        np.save(here(k + ".npy"), np.ascontiguousarray(x))
    p = gridloom("run", os.path.join(ROOT, "client/programs/image.weft"), os.path.join(ROOT, "client/programs/predict.weft"), "--entry",
                 "predict_f64", "--arg", "scale=%r" % float(np.radians(arcsec / 3600)), "--arg", "epsilon=1e-9", "--arg", "image=" + here("image.npy"),
                 *(x for k in ("u", "v", "w", "freq") for x in ("--stream", "s.%s=%s" % (k, here(k + ".npy")))), "-o", "vis=" + here("vis.npy"),
                 "-o", "class=" + here("class.npy"))
    expect(name + " 1e-9", p.returncode == 0, p.stderr)
    off = np.abs(np.load(here("vis.npy")) - direct(uvw, freq, pixels, arcsec).ravel()).max() / np.abs(pixels).sum()
    print("%-24s off by %.2g" % (name + " 1e-9", off))
    expect(name + " 1e-9", off <= 1e-9, "off by %.3g" % off)

# ---- point sources, and what simulate made of them ----

sky = here("sky.ms")
assert gridloom("simulate", "-o", sky, "--stations", 8, "--times", 20, "--n-sources", 5, "--quiet").returncode == 0
before = tables_hash(sky)
copy = here("copy.ms")
answer = predict(sky, "--model", sky + ".sources.txt", "--subtract", "-o", copy)
expect("copy", tables_hash(sky) == before, "changed the original")
with table(copy, ack=False) as t:
    expect("sources", np.abs(t.getcol("CORRECTED_DATA")).max() < 1e-6 * np.abs(t.getcol("DATA")).max(), "are not subtracted")
    expect("copy", "MODEL_DATA" not in t.colnames())
with table(sky, ack=False) as t:
    n = t.getcol("DATA")[:, :, 0].size
expect("sources", answer and answer["visibilities"] == {"read": n, "predicted": n, "out_of_grid": 0, "nonfinite": 0}, answer)

# ---- windows, correlation sets, fields, selections, old and new columns ----

up = lambda f0, df, n: (f0 + df * np.arange(n), np.full(n, df))
many = here("many.ms")
descriptions = [(0, 0), (1, 1), (2, 2), (1, 3), (0, 4)]
ms_files.write(many, [up(140e6, 5e5, 4), up(160e6, -3e5, 7), up(120e6, 1e6, 1)], [[9, 12], [9, 10, 11, 12], [12], [5, 8], [1, 2, 3, 4]],
               descriptions, [("first", 1.0, -0.5), ("second", 1.1, 0.3)], [(i * 7 % 5, i % 4 // 3) for i in range(300)])
model, pixels = make_model(many, "many.fits", 30, 40, 60.0)


def check_many(name, column, field=0, channels=slice(None), spw=None, subtract=False, old=None, tolerance=1e-4):
    """Every cell of the column: the prediction where selected; else what was there before, or 0, or as observed."""
    windows, sets = table(many + "/SPECTRAL_WINDOW", ack=False), table(many + "/POLARIZATION", ack=False)
    norm, worst = np.abs(pixels).sum(), 0.0
    with table(many, ack=False) as t:
        for i in range(t.nrows()):
            window, codes = descriptions[t.getcell("DATA_DESC_ID", i)]
            codes, data, got = sets.getcell("CORR_TYPE", codes), t.getcell("DATA", i), t.getcell(column, i)
            want = old[i].copy() if old else data.copy() if subtract else np.zeros_like(data)
            if t.getcell("FIELD_ID", i) == field and spw in (None, window):
                v = direct(t.getcell("UVW", i)[None], windows.getcell("CHAN_FREQ", window), pixels, 60.0)[0]
                value = np.where([c in PARALLEL for c in codes], v[:, None], 0)
                want[channels] = (data - value if subtract else value)[channels]
            worst = max(worst, np.abs(got - want).max())
    expect(name, worst <= tolerance * norm + 1e-5, "off by %.3g" % (worst / norm))


def cells(column):
    with table(many, ack=False) as t:
        return [t.getcell(column, i) for i in range(t.nrows())]


answer = predict(many, "--model", model)
check_many("all of field 0", "MODEL_DATA")
old = cells("MODEL_DATA")
predict(many, "--model", model, "--channels", "2:5", "--spw", 1, "--column", "SOME")
check_many("channels 2 to 4 of window 1", "SOME", channels=slice(2, 5), spw=1)
predict(many, "--model", model, "--subtract", "--channels", "0:1")
check_many("subtracted, channel 0", "CORRECTED_DATA", channels=slice(0, 1), subtract=True)
# Cells that are not selected stay.
with table(many, ack=False, readonly=False) as t:
    for i in range(t.nrows()):
        t.putcell("MODEL_DATA", i, np.full_like(old[i], 5 + i))
old = cells("MODEL_DATA")
predict(many, "--model", model, "--channels", "1:3")
check_many("old column", "MODEL_DATA", channels=slice(1, 3), old=old)
predict(many, "--model", model, "--column", "BLOCKS", "--workers", 3, "--threads", 1, "--block", 17)
predict(many, "--model", model, "--column", "WHOLE")
expect("blocks", all((a == b).all() for a, b in zip(cells("BLOCKS"), cells("WHOLE"))), "and workers change the result")
expect("wrong field", gridloom("predict", many, "--model", model, "--field", 1).returncode == 65, "is not refused")

# ---- blank pixels, samples out of the grid or without a place ----

with fits.open(model) as f:
    f[0].data[..., 3:9, 5:20] = np.nan
    f.writeto(here("blank.fits"))
dark = pixels.copy()
dark[3:9, 5:20] = 0
with table(many, ack=False, readonly=False) as t:
    t.putcell("UVW", 0, np.array([1e5, 0, 0]))
    unplaced = [i for i in range(5, 40) if descriptions[t.getcell("DATA_DESC_ID", i)][0] == 0 and t.getcell("FIELD_ID", i) == 0 and i != 10][:3]
    for i, k in zip(unplaced, range(3)):
        t.putcell("UVW", i, np.insert([3.0, -4.0], k, [np.nan, np.inf, np.nan][k]))
answer = predict(many, "--model", here("blank.fits"), "--column", "BLANK", "--spw", 0)
with table(many, ack=False) as t:
    channels = sum(t.getcell("DATA", i).shape[0] for i in range(t.nrows()) if descriptions[t.getcell("DATA_DESC_ID", i)][0] == 0 and t.getcell("FIELD_ID", i) == 0)
    expect("out of grid", not t.getcell("BLANK", 0).any() and not any(t.getcell("BLANK", i).any() for i in unplaced), "is not 0")
    v = direct(t.getcell("UVW", 10)[None], up(140e6, 5e5, 4)[0], dark, 60.0)[0]
    expect("blank pixels", np.abs(t.getcell("BLANK", 10)[:, 0] - v).max() < 1e-4 * np.abs(pixels).sum(), "are not dark")
expect("counts", answer and answer["visibilities"] == {"read": channels, "predicted": channels - 16, "out_of_grid": 4, "nonfinite": 12}, answer)
with table(many, ack=False, readonly=False) as t:
    t.putcell("UVW", unplaced[0], np.array([0, 0, 1e30]))
p = gridloom("predict", many, "--model", here("blank.fits"), "--column", "FAR", "--spw", 0)
expect("w beyond reason", p.returncode == 65 and "w-planes" in p.stderr and "--scan" in p.stderr, p.stderr)

# ---- refusals: nothing changes ----


def refused(name, code, words, *arguments):
    state = tables_hash(sky)
    p = gridloom("predict", *arguments)
    print("%-24s refused: %s" % (name, p.stderr.splitlines()[0] if p.stderr else ""))
    missing = [w for w in words if w.lower() not in p.stderr.lower()]
    expect(name, p.returncode == code and not missing and tables_hash(sky) == state, "exit code %d, %s: %s" % (p.returncode, missing, p.stderr))


own, _ = make_model(sky, "own.fits", 32, 32, 60.0)


def variant(name, change):
    with fits.open(own) as f:
        change(f[0])
        f.writeto(here(name))
    return here(name)


def keys(**values):
    return lambda hdu: hdu.header.update({k.replace("_", "-"): v for k, v in values.items()})


def two_frequencies(hdu):
    hdu.data = np.concatenate([hdu.data, hdu.data], axis=1)


head = fits.getheader(own)
refused("another place", 65, ["phase centre", "pixels"], sky, "--model", variant("moved.fits", keys(CRVAL1=head["CRVAL1"] + 1)))
refused("another pixel", 65, ["phase centre"], sky, "--model", variant("pixel.fits", keys(CRPIX1=head["CRPIX1"] + 0.5)))
refused("oblong pixels", 65, ["square"], sky, "--model", variant("oblong.fits", keys(CDELT1=head["CDELT1"] * 1.01)))
refused("mirrored", 65, ["square"], sky, "--model", variant("mirrored.fits", keys(CDELT1=-head["CDELT1"])))
refused("turned", 65, ["turned"], sky, "--model", variant("turned.fits", keys(CROTA2=1.0)))
refused("tangent", 65, ["projection", "TAN"], sky, "--model", variant("tan.fits", keys(CTYPE1="RA---TAN", CTYPE2="DEC--TAN")))
refused("Stokes Q", 65, ["Stokes"], sky, "--model", variant("q.fits", keys(CRVAL4=2.0)))
refused("two frequencies", 65, ["FREQ", "2"], sky, "--model", variant("two.fits", two_frequencies))
refused("integers", 65, ["BITPIX"], sky, "--model", variant("int.fits", lambda hdu: setattr(hdu, "data", hdu.data.astype(np.int16))))
refused("infinite", 65, ["infinite"], sky, "--model", variant("inf.fits", lambda hdu: hdu.data.__setitem__((0, 0, 3, 4), np.inf)))
bright = variant("bright.fits", lambda hdu: hdu.data.__setitem__((0, 0, slice(3, 5), 4), 3e38))
refused("bright", 65, ["single precision", "fluxes"], sky, "--model", bright, "--epsilon", 1e-4)
refused("bright, in double", 65, ["single precision", "fluxes"], sky, "--model", bright, "--epsilon", 1e-6)
too_bright = variant("too_bright.fits", lambda hdu: (setattr(hdu, "data", hdu.data.astype(np.float64)), hdu.data.__setitem__((0, 0, 3, 4), 1e300)))
refused("a pixel too bright", 65, ["pixel", "single precision"], sky, "--model", too_bright, "--epsilon", 1e-6)
refused("no model", 64, ["model"], sky)
refused("missing model", 66, ["nix.fits"], sky, "--model", here("nix.fits"))
refused("no sources", 65, ["expected"], sky, "--model", os.path.join(ROOT, "README.md"))
refused("DATA itself", 64, ["lost"], sky, "--model", own, "--column", "DATA")
refused("no visibilities", 73, ["UVW"], sky, "--model", own, "--column", "UVW")
refused("copy exists", 73, ["exists"], sky, "--model", own, "-o", copy)
refused("a file", 65, ["MeasurementSet"], own, "--model", own)
refused("no such field", 65, ["field"], sky, "--model", own, "--field", 7)
refused("no memory", 71, ["memory"], sky, "--model", make_model(sky, "large.fits", 900, 900, 10.0)[0], "--memory", "8MiB")
for name, model, words in (("nothing in the grid", variant("coarse.fits", keys(CDELT1=-2.0, CDELT2=2.0)), "no visibility is predicted"),
                           ("dark", variant("dark.fits", lambda hdu: hdu.data.__setitem__(Ellipsis, 0)), "is dark")):
    p = gridloom("predict", sky, "--model", model, "--column", "NOTHING", "--json")
    expect(name, p.returncode == 0 and words in p.stderr, "exit code %d: %s" % (p.returncode, p.stderr))
left = [f for f in os.listdir(TMP) if "tmp" in f or "predict-" in f]
expect("leavings", not left, left)

checks.end()
