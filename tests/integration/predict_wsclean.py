#!/usr/bin/python3
"""Predictions of an image against those of WSClean, where that is installed: equal to the sum of both accuracies."""
# timeout: 600
import os, shutil, subprocess, sys
import numpy as np
from astropy.io import fits
from casacore.tables import table

if not shutil.which("wsclean"):
    print("skipped: wsclean is not installed")
    sys.exit(0)
BIN, ROOT = os.environ["GRIDLOOM_BIN"], os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TMP = os.path.join(os.environ["LOOM_TMP"], "predict_wsclean")
sys.path.insert(0, os.path.join(ROOT, "tests/lib"))
import given

shutil.rmtree(TMP, ignore_errors=True)
os.makedirs(TMP)
model, failed = os.path.join(TMP, "m-model.fits"), []


def run(*command):
    p = subprocess.run([str(x) for x in command], capture_output=True, text=True, timeout=300, cwd=TMP)
    assert p.returncode == 0, (command, p.stdout[-2000:], p.stderr)


for name, size, arcsec in (("lofar", 512, 20.0), ("oskar", 256, 120.0), ("wide", 256, 300.0)):
    ms, scale = given.unpack(name + ".ms", TMP), "%gasec" % arcsec
    if not ms:
        continue
    run(os.path.join(BIN, "gridloom"), "image", ms, "-o", model, "--size", size, "--scale", scale, "--quiet")
    r, pixels = np.random.default_rng(5), np.zeros((size, size), np.float32)
    pixels[tuple(r.integers(size // 8, 7 * size // 8, (2, 300)))] = r.exponential(size=300)
    with fits.open(model, mode="update") as f:
        f[0].data[:] = pixels
        f[0].header["BUNIT"] = "JY/PIXEL"
    for epsilon in (1e-3, 1e-5):
        run(os.path.join(BIN, "gridloom"), "predict", ms, "--model", model, "--epsilon", epsilon, "--column", "OURS", "--quiet")
        run("wsclean", "-quiet", "-predict", "-use-wgridder", "-wgridder-accuracy", epsilon, "-padding", 1, "-no-small-inversion", "-no-reorder",
            "-name", "m", "-size", size, size, "-scale", scale, "-pol", "I", ms)
        with table(ms, ack=False) as t, table(ms + "/SPECTRAL_WINDOW", ack=False) as w:
            far = np.abs(t.getcol("UVW")[:, :2]).max(axis=1)[:, None] * w.getcell("CHAN_FREQ", 0) / 299792458.0 * np.radians(arcsec / 3600) > 0.5
            off = np.abs(t.getcol("OURS") - t.getcol("MODEL_DATA"))[~far].max() / pixels.sum()
        print("%-6s %g: off by %.2g of the sum of the fluxes" % (name, epsilon, off), flush=True)
        if not off <= 2 * epsilon:
            failed.append("%s %g: off by %.3g" % (name, epsilon, off))
given.end(failed)
