#!/usr/bin/python3
"""Images of observations against direct sums: our wide.ms, and LOFAR's, OSKAR's and the EHT's where they are at hand; the
same image from any number of workers, threads and any block length."""
# timeout: 900
import json, os, subprocess, sys
import numpy as np
from astropy.io import fits

BIN, ROOT = os.environ["GRIDLOOM_BIN"], os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TMP = os.path.join(os.environ["LOOM_TMP"], "observations")
sys.path.insert(0, os.path.join(ROOT, "tests/lib"))
import given

ORACLE = os.path.join(ROOT, "tests/oracle/dft_image.py")
os.makedirs(TMP, exist_ok=True)
failed, done = [], 0


def image(ms, out, size, scale, *more):
    p = subprocess.run([os.path.join(BIN, "gridloom"), "image", os.path.join(TMP, ms), "-o", os.path.join(TMP, out), "--size", str(size),
                        "--scale", "%gasec" % scale, "--json"] + list(more), capture_output=True, text=True, timeout=300)
    if p.returncode:
        raise SystemExit("%s: exit %d: %s" % (ms, p.returncode, p.stderr))
    j = json.loads(p.stdout)
    v = dict(j["visibilities"])
    if v.pop("read") != sum(v.values()):
        failed.append("%s: read is not the sum of the others: %s" % (ms, j["visibilities"]))
    return j


def check(ms, size, scale, epsilon):
    global done
    image(ms, "out.fits", size, scale, "--epsilon", epsilon)
    p = subprocess.run(["/usr/bin/python3", ORACLE, os.path.join(TMP, ms), "--size", str(size), "--scale", "%g" % scale, "--check",
                        os.path.join(TMP, "out.fits"), "--tol", epsilon, "--pixels", "60"], capture_output=True, text=True)
    print(ms, epsilon, p.stdout.strip() or p.stderr.strip())
    done += 1
    if p.returncode:
        failed.append("%s at %s" % (ms, epsilon))


def same(ms, size, scale):
    """Must-show 3: within 1e-6 of the peak."""
    global done
    def pixels(*more):
        image(ms, "same.fits", size, scale, "--epsilon", "1e-4", *more)
        return fits.getdata(os.path.join(TMP, "same.fits")).astype(float)
    want = pixels("--workers", "1", "--threads", "1")
    for more in (["--threads", "2"], ["--workers", "3", "--threads", "1"], ["--block", "1000"], ["--workers", "3", "--threads", "2", "--block", "77"]):
        off = np.abs(pixels(*more) - want).max() / np.abs(want).max()
        print(ms, " ".join(more), "differs by %.2g of the peak" % off)
        done += 1
        if not off <= 1e-6:
            failed.append("%s %s: %.3g of the peak" % (ms, more, off))


def check_all(ms, size, scale):
    for epsilon in ("1e-3", "1e-5"):
        check(ms, size, scale, epsilon)


m87 = given.find("m87.uvfits")
if m87:
    check_all(m87, 256, 1e-6)
for ms, size, scale in (("wide.ms", 900, 30), ("lofar.ms", 512, 5), ("oskar.ms", 512, 120)):
    if given.unpack(ms, TMP):
        check_all(ms, size, scale)
same("wide.ms", 300, 90)
given.end(failed)
