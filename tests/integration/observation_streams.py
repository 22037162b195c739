#!/usr/bin/python3
"""Programs of one's own over observations: `--observation` gives rows of a MeasurementSet or UVFITS file with the fields that a program
names, held against casacore and astropy; windows of unlike shapes; selections; and what is refused."""
# timeout: 300
# sanitize: asan
import os, sys
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests/lib"), os.path.join(ROOT, "tests/oracle")]
import dft_image
import given
import ms_files
from checks import begin, end, expect, gridloom, here

begin("observation_streams")
PROGRAM = os.path.join(ROOT, "examples/amplitudes.weft")
wide, windows = given.unpack("wide.ms", here("")), here("windows.ms")
up = lambda f0, df, n: (f0 + df * np.arange(n), np.full(n, df))
# Samples are all of the correlations of the oracle, so these have two or fewer.
ms_files.write(windows, [up(140e6, 5e5, 4), up(160e6, -3e5, 7), up(120e6, 1e6, 1)], [[9, 12], [9, 12], [9]], [(0, 0), (1, 1), (2, 2)],
               [("first", 1.0, -0.5), ("second", 1.1, 0.3)], [(i * 7 % 3, i % 4 // 3) for i in range(300)])


def numbers(parts):
    rows = samples = total = longest = 0
    for uvw, freq, vis, flag, _, _ in parts:
        used = ~flag & np.isfinite(vis)
        rows += len(uvw)
        samples += used.sum()
        total += np.abs(vis[used].astype(complex)).sum()
        longest = max(longest, np.hypot(uvw[:, 0], uvw[:, 1]).max() * freq.max() / 299792458)
    return {"rows": rows, "samples": samples, "mean": total / samples, "longest": longest}


def printed(p):
    return dict((k, float(v)) for k, v in (line.split(" = ") for line in p.stdout.splitlines()))


def judge(name, path, want, *more, ways=("run",)):
    for way in ways:
        p = gridloom(way, PROGRAM, "--observation", "rows=" + path, *more)
        got = printed(p) if p.returncode == 0 else {}
        good = got.keys() == want.keys() and all(abs(got[k] - want[k]) <= 1e-9 * abs(want[k]) for k in want)
        expect("%s, %s" % (name, way), good, "got %s, expected %s: %s" % (got, want, p.stderr))


def refused(name, words, *arguments):
    p = gridloom("run", *arguments)
    missing = [w for w in words if w not in p.stderr]
    expect(name, p.returncode != 0 and not missing, "not seen: %s in: %s" % (missing, p.stderr))


both = ("run", "eval")
of = lambda path, field=0, spw=-1, channels=slice(None): numbers(dft_image.load_ms(path, "DATA", field, spw, channels))
judge("wide", wide, of(wide), ways=both)
judge("wide by blocks", wide, of(wide), "--block", "7", "--workers", "2")
judge("windows", windows, of(windows))
judge("field", windows, of(windows, field=1), "--field", "1")
judge("window", windows, of(windows, spw=1), "--spw", "1", ways=both)
judge("channels", windows, of(windows, spw=0, channels=slice(1, 3)), "--spw", "0", "--channels", "1:3", ways=both)

program = here("all.weft")
with open(program, "w") as f:
    f.write("""type row [c][h] = {freq: [c]f64, wt: [c][h]f32, antenna2: i32, w: f64, corr: [h]i32, time: f64, antenna1: i32}
entry main [c][h] (s: seq (row [c][h])) : {weight: f64, antennas: i64, w: f64, corr: i64, time: f64} =
  {weight = fold_seq (+) 0 (map_seq (\\r -> f64.f32 (sum (flatten r.wt))) s),
   antennas = fold_seq (+) 0 (map_seq (\\r -> i64.i32 (10 * r.antenna1 + r.antenna2)) s),
   w = fold_seq max (-inf) (map_seq (\\r -> r.w) s),
   corr = fold_seq max 0 (map_seq (\\r -> i64.i32 (sum r.corr)) s),
   time = fold_seq min inf (map_seq (\\r -> r.time) s)}
""")
from casacore.tables import table
with table(wide, ack=False) as t:
    corr = table(wide + "/POLARIZATION", ack=False).getcell("CORR_TYPE", 0)
    weights = np.repeat(t.getcol("WEIGHT")[:, None], t.getcell("DATA", 0).shape[0], 1)
    if "WEIGHT_SPECTRUM" in t.colnames() and t.iscelldefined("WEIGHT_SPECTRUM", 0):
        weights = t.getcol("WEIGHT_SPECTRUM")
    want = {"weight": weights.astype(float).sum(), "antennas": (10 * t.getcol("ANTENNA1").astype(int) + t.getcol("ANTENNA2")).sum(),
            "w": t.getcol("UVW")[:, 2].max(), "corr": corr.sum(), "time": t.getcol("TIME").min()}
p = gridloom("run", program, "--observation", "s=" + wide)
got = printed(p) if p.returncode == 0 else {}
expect("all fields", all(k in got and abs(got[k] - want[k]) <= 1e-6 * abs(want[k]) for k in want), "got %s, expected %s: %s" % (got, want, p.stderr))

m87 = given.find("m87.uvfits")
if m87:
    from astropy.io import fits
    groups = fits.open(m87)[0].data
    data = groups.data.reshape(len(groups), -1, groups.data.shape[-1]).astype(np.float64)
    used = (data[..., 2] > 0) & np.isfinite(data).all(-1)
    p = gridloom("run", PROGRAM, "--observation", "rows=" + m87)
    got = printed(p) if p.returncode == 0 else {}
    mean = np.hypot(data[..., 0], data[..., 1])[used].mean()
    expect("uvfits", got.get("rows") == len(groups) and got.get("samples") == used.sum() and abs(got["mean"] - mean) < 1e-9 * mean,
           "%s: %s" % (got, p.stderr))

other = here("other.weft")
with open(other, "w") as f:
    f.write("entry a (s: seq {u: f32}) : f32 = fold_seq (+) 0 (map_seq (\\r -> r.u) s)\n"
            "entry b (s: seq {u: f64, uu: f64}) : f64 = fold_seq (+) 0 (map_seq (\\r -> r.u) s)\n"
            "entry c [k] (s: seq {freq: [k]f64}) : f64 = fold_seq (+) 0 (map_seq (\\r -> sum r.freq) s)\n"
            "entry d (s: seq f64) : f64 = fold_seq (+) 0 s\n"
            "entry e (x: f64) : f64 = x\n")
refused("type of a field", ("u: f32", "f64 in an observation"), other, "--entry", "a", "--observation", "s=" + wide)
refused("unknown field", ("'uu'", "vis: [][]c64"), other, "--entry", "b", "--observation", "s=" + wide)
refused("constants only", ("not constant",), other, "--entry", "c", "--observation", "s=" + wide)
refused("no record", ("records",), other, "--entry", "d", "--observation", "s=" + wide)
refused("no stream", ("not a stream",), other, "--entry", "e", "--observation", "x=" + wide)
refused("twice", ("given before",), PROGRAM, "--observation", "rows=" + wide, "--observation", "rows=" + wide)
refused("no file", ("no such file",), PROGRAM, "--observation", "rows=" + here("none.ms"))
refused("no name", ("NAME=FILE",), PROGRAM, "--observation", wide)
refused("selection of nothing", ("--observation",), other, "--entry", "e", "--arg", "x=1", "--spw", "1")
refused("a stream's file", ("--observation",), PROGRAM, "--stream", "rows=" + wide)
p = gridloom("eval", PROGRAM, "--observation", "rows=" + windows)
expect("segments in eval", p.returncode != 0 and "--spw" in p.stderr, p.stderr)
end()
