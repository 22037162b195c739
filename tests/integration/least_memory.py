#!/usr/bin/python3
"""The least memory that a refusal of `gridloom image` names is enough for data that reach few cells, what its hint names is
enough for data that fill the grid; and what an error of the job names is too."""
# timeout: 600
import os, re, subprocess, sys
import numpy as np

BIN, ROOT = os.environ["GRIDLOOM_BIN"], os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TMP = os.path.join(os.environ["LOOM_TMP"], "least_memory")
sys.path.insert(0, os.path.join(ROOT, "tests/lib"))
from uvfits_files import C, File

os.makedirs(TMP, exist_ok=True)
failed, refused = [], 0


def reaching(part):
    """A file whose baselines reach this part of the padded grid of an image with pixels of 60 arcsec, in u and in v."""
    def spoil(uvw, data):
        uvw[:, :2] *= part * 0.5 / np.radians(60 / 3600) / (150e6 / C) / abs(uvw[:, :2]).max(0)
    path = os.path.join(TMP, "reach_%g.uvfits" % part)
    File(n_times=4, n_channels=2, spoil=spoil).write(path)
    return path


def bounded(data, epsilon, memory):
    return subprocess.run([os.path.join(BIN, "gridloom"), "image", data, "-o", os.path.join(TMP, "bounded.fits"), "--size", "420x400", "--scale", "60asec",
                           "--epsilon", epsilon, "--memory", memory, "--threads", "2", "--json"], capture_output=True, text=True)


def least_memory(epsilon):
    global refused
    few, full = reaching(0.001), reaching(0.998)
    p = bounded(few, epsilon, "1MiB")
    found = re.search(r"at least (\d+) MiB of memory, --memory(?s:.*)hint: --memory (\d+)MiB is enough", p.stderr)
    if p.returncode != 71 or not found:
        return failed.append("epsilon %s, 1 MiB: exit %d, %s" % (epsilon, p.returncode, p.stderr))
    least, enough = map(int, found.groups())
    print("epsilon %s: at least %d MiB, %d are enough" % (epsilon, least, enough))
    p = bounded(few, epsilon, "%dMiB" % (least - 1))
    if p.returncode != 71 or "at least %d MiB" % least not in p.stderr:
        failed.append("epsilon %s, %d MiB: exit %d, %s" % (epsilon, least - 1, p.returncode, p.stderr))
    p = bounded(few, epsilon, "%dMiB" % least)
    if p.returncode:
        failed.append("epsilon %s, the least memory: %s" % (epsilon, p.stderr))
    p = bounded(full, epsilon, "%dMiB" % least)  # says at the first array that does not fit, if one does not, what would be enough
    refused += p.returncode == 71
    if p.returncode and (p.returncode != 71 or "--memory %dMiB is enough" % enough not in p.stderr):
        failed.append("epsilon %s, a full grid in the least memory: exit %d, %s" % (epsilon, p.returncode, p.stderr))
    p = bounded(full, epsilon, "%dMiB" % enough)
    if p.returncode:
        failed.append("epsilon %s, a full grid in what is enough: %s" % (epsilon, p.stderr))


for epsilon in ("1e-4", "1e-7"):
    least_memory(epsilon)
if not refused:
    failed.append("no grid was too large for the least memory")
for f in failed:
    print("failed:", f)
if failed:
    sys.exit(1)
print("ok")
