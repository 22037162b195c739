#!/usr/bin/python3
"""UVFITS with awkward features, each written here with what it says: images against direct sums, counts, and refusals with
their exit codes and words."""
# timeout: 900
import json, os, subprocess, sys
import numpy as np
from astropy.io import fits

BIN, ROOT = os.environ["GRIDLOOM_BIN"], os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TMP = os.path.join(os.environ["LOOM_TMP"], "uvfits")
sys.path[:0] = [os.path.join(ROOT, "tests/lib"), os.path.join(ROOT, "tests/oracle")]
import dft_image
from uvfits_files import File, frequencies, sources

os.makedirs(TMP, exist_ok=True)
SIZE, SCALE = 40, 60.0
DATA, failed, done = 65, [], 0


def command(path, *more):
    out = os.path.join(TMP, "out.fits")
    if os.path.exists(out):
        os.remove(out)
    p = subprocess.run([os.path.join(BIN, "gridloom"), "image", path, "-o", out, "--size", str(SIZE), "--scale", "%gasec" % SCALE,
                        "--epsilon", "1e-6", "--json"] + list(more), capture_output=True, text=True, timeout=300)
    return p, out


def judge(name, path, parts, *more):
    """The image at some pixels and the counts."""
    global done
    done += 1
    p, out = command(path, *more)
    if p.returncode:
        return failed.append("%s: exit code %d: %s" % (name, p.returncode, p.stderr))
    image = np.squeeze(fits.getdata(out))
    x, y = np.random.default_rng(2).integers(0, SIZE, (2, 30))
    s = np.radians(SCALE / 3600)
    D, W, A, counts = dft_image.direct(parts, (SIZE // 2 - x) * s, (y - SIZE // 2) * s, s)
    off = np.abs(image[y, x] - D / W).max() / max(np.abs(D / W).max(), A / W)
    if not off <= 1e-6:
        failed.append("%s: off by %.3g" % (name, off))
    got = json.loads(p.stdout)["visibilities"]
    bad = {k: (got.get(k), v) for k, v in counts.items() if got.get(k) != v}
    if bad:
        failed.append("%s: counts (got, expected) %s" % (name, bad))
    print("%-24s off by %.2g, %d gridded of %d" % (name, off, counts["gridded"], counts["read"]))
    return fits.getheader(out)


def made(name, **changes):
    f = File(**changes)
    path = os.path.join(TMP, name + ".uvfits")
    return f, path, f.write(path)


def image(name, **changes):
    f, path, parts = made(name, **changes)
    return f, path, judge(name, path, parts)


def refused(name, path, code, *words, options=()):
    global done
    done += 1
    p, out = command(path, *options)
    low = p.stderr.lower()
    why = [] if p.returncode == code else ["exit code %d, expected %d" % (p.returncode, code)]
    why += ["no word '%s'" % w for w in words if w.lower() not in low]
    if os.path.exists(out):
        why.append("left an image")
    if why:
        failed.append("%s: %s: %s" % (name, "; ".join(why), p.stderr.strip()))
    print("%-24s refused: %s" % (name, p.stderr.splitlines()[0] if p.stderr else ""))


def refuse(name, *words, **changes):
    refused(name, made(name, **changes)[1], DATA, *words)


def spoil(uvw, data):
    uvw[3, 0], uvw[8] = np.nan, np.inf
    data[10:14, 0, 1, 0, 0] = np.nan
    data[14, 0, 2, 1, 2] = np.nan
    data[15, 0, :, 0, 2] = 0
    data[16, 0, :, 1, 2] = -0.0


# ---- numbers, axes, parameters ----
_, plain, head = image("plain")
if head and (abs(head["CRVAL1"] - 40) > 1e-9 or abs(head["CRVAL2"] + 30) > 1e-9 or not head["DATE-OBS"].startswith("2020-05-31")
             or abs(head["CRVAL3"] - 140.75e6) > 1 or abs(head["CDELT3"] - 2e6) > 1):
    failed.append("plain: header %r" % head)
image("f64", bitpix=-64)
image("i32", bitpix=32, scale=1e-8, zero=0.25, split=("UU---SIN", "DATE"), scales={k: (1e-14, 1e-8) for k in ("VV---SIN", "WW---SIN")} |
      {"UU---SIN": (1e-9, 0.0), "DATE": (1e-3, 2459000.0)})
i16 = {"UU---SIN": (1e-9, 0.0), "VV---SIN": (2e-10, 0.0), "WW---SIN": (3e-10, 1e-9), "BASELINE": (0.25, 0.0),
       "DATE": (1e-3, 2459000.0), "INTTIM": (0.5, 0.0)}
image("i16", bitpix=16, scale=5e-4, zero=1.0, scales=i16, split=("UU---SIN", "VV---SIN", "WW---SIN", "DATE"))
image("i64", bitpix=64, scale=1e-12, scales={k: (1e-20, 0.0) for k in File.names} | {"DATE": (1e-9, 0.0)})
image("scaled", scales={"UU---SIN": (7e-9, 1e-7), "VV---SIN": (-3e-9, -2e-7), "WW---SIN": (2.5e-9, 0.0), "BASELINE": (0.01, 3.0)})
image("bscale", scale=0.125, zero=-0.5)
image("split", split=("UU---SIN", "VV---SIN", "WW---SIN", "BASELINE", "DATE"))
image("yy_xx", stokes=(-6, -5))
image("pixel_2", stokes_pixel=2, f_pixel=3.5)
image("circular", stokes=(-1, -2, -3, -4))
image("circular_up", stokes=(-4, -3, -2, -1))
image("iquv", stokes=(1, 2, 3, 4))
image("vuqi", stokes=(4, 3, 2, 1))
image("yy_only", stokes=(-6,))
image("rr_rl", stokes=(-1, -3))
image("descending", df=-0.5e6)
image("one_channel_no_width", n_channels=1, df=0.0)
for i, order in enumerate((("FREQ", "STOKES", "COMPLEX", "RA", "DEC"), ("STOKES", "COMPLEX", "FREQ", "DEC", "RA"),
                           ("RA", "FREQ", "COMPLEX", "DEC", "STOKES"))):
    image("order_%d" % i, order=order)
image("no_weight", n_complex=2)
image("names_short", names=("UU", "VV", "WW"))
image("names_other", names=("UU-L-SIN", "VV-L-SIN", "WW-L-SIN"))
image("subarray", subarray=0.04)
image("subarray_99", subarray=0.99)
image("antennas_2048", first_antenna=250, step=60)
image("antennas_2048_split", first_antenna=250, step=60, subarray=0.25, split=("BASELINE",))
image("antennas_2_31", bitpix=-64, first_antenna=2000, step=50)
image("antennas_from_0", first_antenna=0)
image("antenna_params", antennas="ANTENNA1", first_antenna=250, step=999)
image("unpadded", pad=False)
image("not_finite", spoil=spoil)
image("more_parameters", extra=(("TAU1", [0.5] * 252), ("GATEID", [1.0] * 252)))
image("no_date", without_parameters=("DATE",))
image("blank", bitpix=16, scale=5e-4, zero=1.0, scales=i16, split=("UU---SIN", "VV---SIN", "WW---SIN"), keys=(("BLANK", 32767),))
f = File(keys=(("CRVAL3", -5), ("EQUINOX", "J2000"), ("SPECSYS", "LSRK")))
head = judge("equinox_text", os.path.join(TMP, "x.uvfits"), f.write(os.path.join(TMP, "x.uvfits")))
if head and head.get("SPECSYS") != "LSRK":
    failed.append("equinox_text: SPECSYS is %s" % head.get("SPECSYS"))
with open(plain, "ab") as out:
    out.write(b"junk behind the end" * 400)
judge("junk_behind", plain, made("again")[2])

# ---- IFs, setups, sources ----
two = dict(offsets=(0.0, 7.25e6), tables=(frequencies([((0.0, 7.25e6), (5e5, 5e5))]),))
f, path, _ = image("two_ifs", **two)
judge("two_ifs_spw_1", path, f.some(windows=[1]), "--spw", "1")
judge("two_ifs_channels", path, f.some(channels=slice(1, 3)), "--channels", "1:3")
judge("two_ifs_1_channels", path, f.some(windows=[1], channels=slice(3, 4)), "--channels", "3:", "--spw", "1", "--block", "7")
refused("two_ifs_spw_2", path, DATA, "spectral window", options=("--spw", "2"))
refused("two_ifs_channels_4", path, DATA, "channels", options=("--channels", "2:5"))
refused("two_ifs_field_1", path, DATA, "field", options=("--field", "1"))
image("if_descending", offsets=(5e6, -3e6, 0.0), df=-0.25e6, tables=(frequencies([((5e6, -3e6, 0.0), (2.5e5,) * 3)]),))
image("if_fastest", **(two | {"order": ("IF", "STOKES", "FREQ", "COMPLEX", "RA", "DEC")}))
image("if_wide", **(two | {"n_channels": 1500, "df": 1e3, "stokes": (-1, -2, -3, -4), "n_times": 1}))
image("one_if", offsets=(3e6,), tables=(frequencies([((3e6,), (5e5,))]),))
image("if_without_table", offsets=(0.0,))
image("table_without_if", tables=(frequencies([((0.0,), (5e5,))]),))
f, path, _ = made("setups", extra=(("FREQSEL", lambda f: 1 + np.arange(len(f.a)) // 5 % 2),),
                  tables=(frequencies([((0.0,), (5e5,)), ((9e6,), (2.5e5,))]),))
odd = np.arange(len(f.a)) // 5 % 2
both = f.some(groups=odd == 0) + f.some(groups=odd == 1, offsets=(9e6,), df=0.25e6)
judge("setups", path, both)
judge("setups_spw_1", path, both[1:], "--spw", "1")
f, path, _ = made("sources", extra=(("SOURCE", lambda f: np.where(np.arange(len(f.a)) % 3 == 0, 4, 9)),),
                  tables=(sources([(4, "first", 10.0, 20.0), (9, "second", 11.0, -21.0)]),))
third = np.arange(len(f.a)) % 3
head = judge("sources", path, f.some(groups=third == 0))
if head and (abs(head["CRVAL1"] - 10) > 1e-9 or head["OBJECT"] != "first"):
    failed.append("sources: header %s %s" % (head["CRVAL1"], head["OBJECT"]))
head = judge("sources_1", path, f.some(groups=third != 0), "--field", "1")
if head and (abs(head["CRVAL2"] + 21) > 1e-9 or head["OBJECT"] != "second"):
    failed.append("sources_1: header %s %s" % (head["CRVAL2"], head["OBJECT"]))
refused("sources_2", path, DATA, "field", "first", "second", options=("--field", "2"))

f, path, _ = made("times")
judge("time", path, f.some(groups=f.time < 2459000.545), "--time", "/2020-05-31T01:04:48")
judge("time_mjd", path, f.some(groups=f.time > 2459000.545), "--time", "59000.045/")
refused("time_after", path, DATA, "time", options=("--time", "2020-06-01/"))
refused("scan", path, DATA, "scan", options=("--scan", "1"))

# ---- refusals ----
f, path, _ = made("cut", pad=False)
with open(path, "r+b") as out:
    out.truncate(os.path.getsize(path) - 1)
refused("cut_by_one", path, DATA, "truncated")
for n in (3, 100, 2880, 5000):
    with open(path, "r+b") as out:
        out.truncate(n)
    refused("cut_to_%d" % n, path, DATA, "not a FITS" if n < 6 else "truncated")
    made("cut", pad=False)
refuse("no_groups", "no groups", keys=(("GCOUNT", 0),))
refuse("huge_count", "truncated", keys=(("GCOUNT", 2 ** 62),))
refuse("huge_axis", "truncated", keys=(("NAXIS4", 2 ** 40),))
refuse("overflowing_axes", keys=(("NAXIS4", 2 ** 62), ("NAXIS5", 2 ** 40)))
refuse("negative_axis", "NAXIS", keys=(("NAXIS4", -4),))
refuse("negative_count", keys=(("GCOUNT", -5),))
refuse("many_parameters", "PCOUNT", keys=(("PCOUNT", 10 ** 9),))
refuse("no_w", "WW", without_parameters=("WW---SIN",))
refuse("no_baseline", "BASELINE", without_parameters=("BASELINE",))
refuse("no_freq", "FREQ", keys=(("CTYPE4", "NOISE"),))
refuse("strange_axis", "BEAM", offsets=(0.0, 0.0), keys=(("CTYPE5", "BEAM"),))
refuse("two_freq", "FREQ", keys=(("CTYPE5", "FREQ"),))
refuse("ifs_without_table", "AIPS FQ", offsets=(0.0, 1e6))
refuse("few_frequencies", "AIPS FQ", offsets=(0.0, 1e6, 2e6), tables=(frequencies([((0.0, 1e6), (1.0, 1.0))]),))
refuse("bad_baseline", "group", baseline=lambda a, b: np.where(np.arange(len(a)) == 40, np.nan, 256.0 * a + b))
refuse("negative_baseline", "group", baseline=lambda a, b: np.where(np.arange(len(a)) == 40, -3.0, 256.0 * a + b))
refuse("no_frequency", "frequency", f0=0.0)
refuse("q_only", "correlation", stokes=(2,))
refuse("strange_stokes", "correlation", stokes=(-20,))
refuse("no_direction", "direction", keys=(("CRVAL6", 200.0),))
refuse("sources_without_table", "sources", extra=(("SOURCE", lambda f: np.arange(len(f.a)) % 3),))
refuse("setup_not_in_table", "FREQSEL", extra=(("FREQSEL", lambda f: np.full(len(f.a), 7)),),
       tables=(frequencies([((0.0,), (5e5,)), ((9e6,), (2.5e5,))]),))
refused("column", made("again")[1], DATA, "column", "CORRECTED_DATA", options=("--column", "CORRECTED_DATA"))
fits.PrimaryHDU(np.zeros((4, 4))).writeto(os.path.join(TMP, "picture.fits"), overwrite=True)
refused("picture", os.path.join(TMP, "picture.fits"), DATA, "not UVFITS")
os.chdir(TMP)
os.rename("again.uvfits", "again.uvfits[1]")
judge("odd_name", os.path.join(TMP, "again.uvfits[1]"), File().write(os.path.join(TMP, "same.uvfits")))

print("%d checks" % done)
for f in failed:
    print("failed:", f)
print("failed" if failed else "ok")
sys.exit(1 if failed else 0)
