#!/usr/bin/python3
"""MeasurementSets of several spectral windows, correlation sets and fields at once: images and counts against direct sums, with
any number of workers and any block length."""
# timeout: 900
import json, os, subprocess, sys
import numpy as np
from astropy.io import fits

BIN, ROOT = os.environ["GRIDLOOM_BIN"], os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TMP = os.path.join(os.environ["LOOM_TMP"], "segments")
sys.path[:0] = [os.path.join(ROOT, "tests/lib"), os.path.join(ROOT, "tests/oracle")]
import dft_image
import ms_files

os.makedirs(TMP, exist_ok=True)
SIZE, SCALE, failed, done = 40, 60.0, [], 0


def command(path, *more):
    out = os.path.join(TMP, "out.fits")
    if os.path.exists(out):
        os.remove(out)
    p = subprocess.run([os.path.join(BIN, "gridloom"), "image", path, "-o", out, "--size", str(SIZE), "--scale", "%gasec" % SCALE,
                        "--epsilon", "1e-6", "--json"] + list(more), capture_output=True, text=True, timeout=300)
    return p, out


def outside(parts, least, most):
    """The parts with what lies outside a range of sqrt(u^2 + v^2) in wavelengths flagged."""
    out = []
    for uvw, f, v, flag, w, auto in parts:
        distance = np.hypot(uvw[:, 0], uvw[:, 1])[:, None] * f / dft_image.C
        out.append((uvw, f, v, flag | ((distance < least) | (distance > most))[..., None], w, auto))
    return out


def judge(name, path, *more, field=0, spw=-1, channels=slice(None), same_as=None, uv=None):
    global done
    done += 1
    p, out = command(path, *more)
    if p.returncode:
        failed.append("%s: exit code %d: %s" % (name, p.returncode, p.stderr))
        return None
    image = np.squeeze(fits.getdata(out))
    x, y = np.random.default_rng(2).integers(0, SIZE, (2, 30))
    s = np.radians(SCALE / 3600)
    parts = dft_image.load_ms(same_as or path, "DATA", field, spw, channels)
    if uv:
        parts = outside(parts, *uv)
    D, W, A, counts = dft_image.direct(parts, (SIZE // 2 - x) * s, (y - SIZE // 2) * s, s)
    off = np.abs(image[y, x] - D / W).max() / max(np.abs(D / W).max(), A / W)
    if not off <= 1e-6:
        failed.append("%s: off by %.3g" % (name, off))
    got = json.loads(p.stdout)["visibilities"]
    if uv:
        if got["uv_range"] == 0 or got["read"] != sum(v for k, v in got.items() if k != "read"):
            failed.append("%s: counts %s" % (name, got))
        counts = {k: counts[k] for k in ("read", "gridded")}
    bad = {k: (got.get(k), v) for k, v in counts.items() if got.get(k) != v}
    if bad:
        failed.append("%s: counts (got, expected) %s" % (name, bad))
    print("%-24s off by %.2g, %d gridded of %d" % (name, off, counts["gridded"], counts["read"]))
    return fits.getheader(out)


def refused(name, path, *words, options=()):
    global done
    done += 1
    p, out = command(path, *options)
    missing = [w for w in words if w.lower() not in p.stderr.lower()]
    if p.returncode != 65 or missing or os.path.exists(out):
        failed.append("%s: exit code %d, words missing %s: %s" % (name, p.returncode, missing, p.stderr))
    print("%-24s refused: %s" % (name, p.stderr.splitlines()[0] if p.stderr else ""))


def close(name, head, **keys):
    for k, v in keys.items():
        if head is not None and not abs(head[k] - v) <= 1e-9 * max(1, abs(v)):
            failed.append("%s: %s is %r, expected %r" % (name, k, head[k], v))


up = lambda f0, df, n: (f0 + df * np.arange(n), np.full(n, df))
fields = [("first", 1.0, -0.5), ("second", 1.1, 0.3)]
everything = os.path.join(TMP, "everything.ms")
# Three windows of 4, 7 and 1 channels, the second descending; four sets of correlations; two fields; rows in no order.
descriptions = [(0, 0), (1, 1), (2, 2), (1, 3), (0, 4)]
ms_files.write(everything, [up(140e6, 5e5, 4), up(160e6, -3e5, 7), up(120e6, 1e6, 1)],
               [[9, 12], [9, 10, 11, 12], [12], [5, 8], [1, 2, 3, 4]], descriptions, fields,
               [(i * 7 % 5, i % 4 // 3) for i in range(300)], weight_spectrum=True, spectrum_of=lambda i: i % 3 != 1)
head = judge("everything", everything)
close("everything", head, CRVAL1=np.degrees(1.0), CRVAL2=np.degrees(-0.5), CRVAL3=(119.5e6 + 160.15e6) / 2, CDELT3=160.15e6 - 119.5e6)
judge("everything_blocks", everything, "--block", "1")
judge("everything_workers", everything, "--workers", "3", "--threads", "1", "--block", "5")
head = judge("everything_field_1", everything, "--field", "1", field=1)
close("everything_field_1", head, CRVAL1=np.degrees(1.1), CRVAL2=np.degrees(0.3))
for spw in range(3):
    judge("everything_spw_%d" % spw, everything, "--spw", str(spw), spw=spw)
judge("everything_channel_0", everything, "--channels", "0:1", channels=slice(0, 1))
judge("everything_1_channels", everything, "--spw", "1", "--channels", "2:", spw=1, channels=slice(2, None))
judge("everything_channels_2", everything, "--channels", "2:6", channels=slice(2, 6))
judge("everything_channels_5", everything, "--channels", "5:", channels=slice(5, None))
refused("everything_channel_7", everything, "channels", "range", options=("--channels", "3:8"))
refused("everything_channels_9", everything, "channels", "range", options=("--channels", "9:"))
refused("channels_of_spw_2", everything, "channels", "range", options=("--channels", "0:2", "--spw", "2"))
refused("everything_field_2", everything, "field", "second", options=("--field", "2"))

# Rows chosen by scan and time, samples by the length of their baseline.
some = os.path.join(TMP, "some.ms")
ms_files.select(everything, some, "SCAN_NUMBER == 3")
judge("scan_3", everything, "--scan", "3", same_as=some)
refused("scan_9", everything, "no visibilities", "scan", options=("--scan", "9"))
ms_files.select(everything, some, "TIME >= 4.8e9 + 40 && TIME < 4.8e9 + 100 && SCAN_NUMBER == 2")
days = ["%.9f" % ((4.8e9 + s - 0.5) / 86400) for s in (40, 100)]
judge("time_and_scan", everything, "--time", "/".join(days), "--scan", "2", same_as=some)
ms_files.select(everything, some, "TIME >= 4.8e9 + 40")
judge("time_from", everything, "--time", "2010-12-25T13:20:40/", same_as=some)
refused("time_before", everything, "no visibilities", "time", options=("--time", "/2010-12-25"))
judge("min_uv", everything, "--min-uv", "150", uv=(150, np.inf))
judge("min_max_uv", everything, "--min-uv", "100", "--max-uv", "200.5", uv=(100, 200.5))
refused("max_uv", everything, "uv range", options=("--max-uv", "1e-3"))

# As many windows as a telescope has, of one shape: compiled once.
many = os.path.join(TMP, "many.ms")
ms_files.write(many, [up(100e6 + 2e6 * k, 1e5, 3) for k in range(40)], [[9, 12]], [(k, 0) for k in range(40)], fields[:1],
               [(i % 40, 0) for i in range(400)])
judge("many_windows", many)

# The same window twice, with descriptions of their own; a window without rows; one whose hands make no Stokes I.
twice = os.path.join(TMP, "twice.ms")
ms_files.write(twice, [up(140e6, 5e5, 4), up(150e6, 5e5, 2), up(140e6, 5e5, 4)], [[9, 12], [10, 11]],
               [(0, 0), (0, 0), (2, 0), (1, 0)], fields[:1], [(i % 3, 0) for i in range(90)])
judge("twice", twice)
refused("window_without_rows", twice, "no visibilities", options=("--spw", "1"))
cross = os.path.join(TMP, "cross.ms")
ms_files.write(cross, [up(140e6, 5e5, 4), up(150e6, 5e5, 2)], [[9, 12], [10, 11]], [(0, 0), (1, 1)], fields[:1], [(i % 2, 0) for i in range(60)])
refused("cross_hands", cross, "correlation", "--spw")
judge("cross_hands_spw_0", cross, "--spw", "0", spw=0)
late = os.path.join(TMP, "late.ms")
ms_files.write(late, [up(140e6, 5e5, 4)], [[9, 12]], [(0, 0)], fields, [(0, 1)] * 60)
refused("field_0_without_rows", late, "field 0", "--field")
judge("field_1_of_two", late, "--field", "1", field=1)

print("%d checks" % done)
for f in failed:
    print("failed:", f)
print("failed" if failed else "ok")
sys.exit(1 if failed else 0)
