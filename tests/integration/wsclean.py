#!/usr/bin/python3
"""Images, PSFs and beams against WSClean's, where it is installed: natural, uniform and Briggs weights on LOFAR's and OSKAR's
observations and on our wide.ms; bands. Images within the sum of both accuracies,
beams within one percent."""
# timeout: 1200
import os, shutil, subprocess, sys
import numpy as np
from astropy.io import fits

BIN, ROOT = os.environ["GRIDLOOM_BIN"], os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TMP = os.path.join(os.environ["LOOM_TMP"], "wsclean")
sys.path.insert(0, os.path.join(ROOT, "tests/lib"))
import given

os.makedirs(TMP, exist_ok=True)
if not shutil.which("wsclean"):
    print("skipped: no wsclean here")
    sys.exit(0)
failed = []


def run(*words):
    p = subprocess.run([str(w) for w in words], cwd=TMP, capture_output=True, text=True, timeout=600)
    if p.returncode:
        raise SystemExit("%s: %s" % (" ".join(map(str, words)), p.stderr or p.stdout[-500:]))


def theirs(ms, size, scale, weight, epsilon, *more):
    run("wsclean", "-name", "their", "-size", size, size, "-scale", "%gasec" % scale, "-weight", *weight.replace(":", " ").split(),
        "-use-wgridder", "-wgridder-accuracy", epsilon, "-no-small-inversion", "-padding", 1,
        "-weighting-rank-filter", 0,  # which lowers the weights of cells that have few samples among cells that have many
        "-data-column", "DATA", "-make-psf", "-j", 2, *more, ms)


def ours(ms, size, scale, weight, epsilon, *more):
    run(os.path.join(BIN, "gridloom"), "image", ms, "-o", "our.fits", "--psf", "psf.fits", "--size", size, "--scale", "%gasec" % scale,
        "--weight", weight, "--epsilon", epsilon, "--quiet", *more)


def compare(name, a, b, epsilon):
    a, b = np.squeeze(a).astype(float), np.squeeze(b).astype(float)
    off = np.abs(a - b).max() / max(np.abs(b).max(), 1e-30)
    print("%-40s differs by %.2g of the peak" % (name, off))
    if not off <= epsilon:
        failed.append("%s: differs by %.3g" % (name, off))


def beam(name, mine, their):
    off = max(abs(mine[k] / their[k] - 1) for k in ("BMAJ", "BMIN"))
    print("%-40s %.5g x %.5g at %.2f, differs by %.2g" % (name + " beam", mine["BMAJ"], mine["BMIN"], mine["BPA"], off))
    if not off <= 0.01:
        failed.append("%s: beam %.5g x %.5g, expected %.5g x %.5g" % (name, mine["BMAJ"], mine["BMIN"], their["BMAJ"], their["BMIN"]))


def check(ms, size, scale, weight, epsilon="1e-6"):
    theirs(ms, size, scale, weight, epsilon)
    ours(ms, size, scale, weight, epsilon)
    read = lambda name: fits.open(os.path.join(TMP, name))[0]
    name = "%s %s" % (ms, weight)
    # Our bound is of the mean amplitude where that is above the peak: the images here have their peak at half of it.
    most = 6 * float(epsilon)
    compare(name, read("our.fits").data, read("their-image.fits").data, most)
    compare(name + " PSF", read("psf.fits").data, read("their-psf.fits").data, most)
    # LOFAR's few baselines, weighted alike, leave no main lobe: WSClean's fit stops after 500 steps, and so does ours.
    beam(name, read("psf.fits").header, read("their-psf.fits").header)


def planes(ms, size, scale):
    theirs(ms, size, scale, "uniform", "1e-6", "-channels-out", 3)
    ours(ms, size, scale, "uniform", "1e-6", "--channels-out", "3")
    with fits.open(os.path.join(TMP, "our.fits")) as h:
        cube, table = h[0].data, h["PLANES"].data
    for k in range(3):
        with fits.open(os.path.join(TMP, "their-%04d-image.fits" % k)) as h:
            compare("%s band %d" % (ms, k), cube[0, k], h[0].data, 6e-6)
            if abs(h[0].header["CRVAL3"] - table["FREQ"][k]) > 1 or abs(h[0].header["CDELT3"] - table["BANDWIDTH"][k]) > 1:
                failed.append("%s band %d: frequency %g, expected %g" % (ms, k, table["FREQ"][k], h[0].header["CRVAL3"]))


for ms, size, scale in (("wide.ms", 300, 90), ("lofar.ms", 512, 5), ("oskar.ms", 512, 120)):
    if not given.unpack(ms, TMP):
        continue
    for weight in ("natural", "uniform", "briggs:0.5"):
        check(ms, size, scale, weight)
if given.find("lofar.ms.tgz"):
    planes("lofar.ms", 256, 10)
given.end(failed)
