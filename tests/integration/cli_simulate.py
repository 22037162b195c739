#!/usr/bin/python3
"""`gridloom simulate`: what it writes is what its documentation says, by independent formulas, and wrong input is told."""
# timeout: 120
# sanitize: asan
import os
import shutil
import subprocess
import sys

import numpy as np

BIN = os.environ["GRIDLOOM_BIN"]
TMP = os.path.join(os.environ["LOOM_TMP"], "cli_simulate")
C = 299792458.0
ASEC = np.pi / 180 / 3600


def run(*arguments, code=0):
    p = subprocess.run([os.path.join(BIN, "gridloom"), "simulate"] + list(arguments), cwd=TMP, capture_output=True, text=True,
                       timeout=100)
    assert p.returncode == code, (arguments, p.returncode, p.stderr)
    return p


def load(name):
    from casacore.tables import table
    t = table(os.path.join(TMP, name), ack=False)
    sub = {k: table(os.path.join(TMP, name, k), ack=False) for k in ("ANTENNA", "SPECTRAL_WINDOW", "FIELD", "POLARIZATION")}
    return t, sub


def check_visibilities():
    with open(os.path.join(TMP, "list.txt"), "w") as f:
        f.write("# three sources\n 0 0 1.5\n3600 -1800.5 2 # here\n04:02:00 -44:30:00, 0.5\n\n")
    run("-o", "a.ms", "--stations", "5", "--times", "3", "--channels", "2", "--sources", "list.txt", "--extent", "1000")
    t, sub = load("a.ms")
    sources = np.loadtxt(os.path.join(TMP, "a.ms.sources.txt"))
    assert sources.shape == (3, 3)
    ra0, dec0 = sub["FIELD"].getcol("PHASE_DIR")[0, 0]
    ra, dec = np.radians((4 + 2 / 60) * 15), np.radians(-44.5)
    l, m = np.cos(dec) * np.sin(ra - ra0), np.sin(dec) * np.cos(dec0) - np.cos(dec) * np.sin(dec0) * np.cos(ra - ra0)
    assert np.allclose(sources[2, :2], np.array([l, m]) / ASEC, rtol=1e-8)
    uvw, f = t.getcol("UVW"), sub["SPECTRAL_WINDOW"].getcol("CHAN_FREQ")[0]
    assert uvw.shape == (30, 3) and np.isclose(f.mean(), 150e6)
    want = np.zeros((30, 2), complex)
    for x, y, flux in sources:
        x, y = x * ASEC, y * ASEC
        path = uvw @ np.array([x, y, np.sqrt(1 - x * x - y * y) - 1])
        want += flux * np.exp(2j * np.pi * path[:, None] * f[None] / C)
    got = t.getcol("DATA")
    assert got.shape == (30, 2, 2) and np.abs(got - want[:, :, None]).max() < 1e-5
    assert list(sub["POLARIZATION"].getcol("CORR_TYPE")[0]) == [9, 12]


def check_tracks():
    """Baselines keep their length, turn with the sky, and w is 0 on average neither; transit is in the middle."""
    t, sub = load("a.ms")
    p = sub["ANTENNA"].getcol("POSITION")
    a1, a2, uvw = t.getcol("ANTENNA1"), t.getcol("ANTENNA2"), t.getcol("UVW")
    length = np.linalg.norm(p[a2] - p[a1], axis=1)
    assert np.allclose(np.linalg.norm(uvw, axis=1), length, rtol=1e-9) and length.max() <= 1000.001
    # From the formulas of the hour angle, with the sidereal time from the middle of the track: the site's transit.
    time = t.getcol("TIME")
    middle = (time.min() + time.max()) / 2
    longitude = np.arctan2(p[0, 1], p[0, 0])
    hour = (time - middle) * 7.2921150e-5 - longitude
    dec = sub["FIELD"].getcol("PHASE_DIR")[0, 0, 1]
    x, y, z = (p[a2] - p[a1]).T
    u = np.sin(hour) * x + np.cos(hour) * y
    v = -np.sin(dec) * (np.cos(hour) * x - np.sin(hour) * y) + np.cos(dec) * z
    assert np.abs(u - uvw[:, 0]).max() < 1.0 and np.abs(v - uvw[:, 1]).max() < 1.0


def check_seeds():
    for name, seed in (("b.ms", 7), ("c.ms", 7), ("d.ms", 8)):
        run("-o", name, "--stations", "4", "--times", "2", "--seed", str(seed), "--noise", "0.1", "--n-sources", "3", "--quiet")
    data = [load(name)[0].getcol("DATA") for name in ("b.ms", "c.ms", "d.ms")]
    assert (data[0] == data[1]).all() and not np.allclose(data[0], data[2])
    deviation = (data[0][..., 0] - data[0][..., 1]).std() / 2
    assert 0.05 < deviation < 0.2, deviation


def check_errors():
    def refused(code, word, *arguments):
        before = sorted(os.listdir(TMP))
        p = run(*arguments, code=code)
        assert p.stderr.startswith("error: ") and word in p.stderr, p.stderr
        assert sorted(os.listdir(TMP)) == before
    with open(os.path.join(TMP, "bad.txt"), "w") as f:
        f.write("0 0 1\n5 x 1\n")
    with open(os.path.join(TMP, "far.txt"), "w") as f:
        f.write("900000 0 1\n")
    open(os.path.join(TMP, "none.txt"), "w").close()
    refused(64, "no output")
    refused(73, "exists", "-o", "a.ms")
    refused(73, "nowhere", "-o", "nowhere/a.ms")
    refused(64, "stations", "-o", "x.ms", "--stations", "1")
    refused(66, "nothing.txt", "-o", "x.ms", "--sources", "nothing.txt")
    refused(65, "bad.txt:2", "-o", "x.ms", "--sources", "bad.txt")
    refused(65, "horizon", "-o", "x.ms", "--sources", "far.txt")
    refused(65, "no sources", "-o", "x.ms", "--sources", "none.txt")
    refused(64, "below 0 Hz", "-o", "x.ms", "--channels", "1000", "--channel-width", "1e6")


def check_full_disk():
    """Wherever the disk fills up: an error, and nothing left. Skipped where nothing can be mounted."""
    small = os.path.join(TMP, "small")
    os.makedirs(small)
    for size in ("100k", "300k", "600k", "1000k", "2000k"):
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + size, "t", small], capture_output=True).returncode:
            return
        try:
            p = run("-o", "small/x.ms", "--quiet", code=74)
            assert p.stderr.startswith("error: ") and "x.ms" in p.stderr, p.stderr
            assert os.listdir(small) == [], os.listdir(small)
        finally:
            subprocess.run(["umount", small], check=True)


def main():
    shutil.rmtree(TMP, ignore_errors=True)
    os.makedirs(TMP)
    check_visibilities()
    check_tracks()
    check_seeds()
    check_errors()
    check_full_disk()
    shutil.rmtree(TMP)
    print("ok")


if __name__ == "__main__":
    sys.exit(main())
