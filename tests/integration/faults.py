#!/usr/bin/python3
"""A worker is killed in mid-run: the image is the same and the counts are whole. A job whose only worker is killed waits and
ends when another attaches. A fault counts only if it has bitten: `releases` says so."""
# timeout: 600
import json, os, signal, subprocess, sys, time
import numpy as np
from astropy.io import fits

BIN = os.environ["GRIDLOOM_BIN"]
TMP = os.path.join(os.environ["LOOM_TMP"], "faults")
os.makedirs(TMP, exist_ok=True)
MS = os.path.join(TMP, "sim.ms")
COMMON = ["--size", "256", "--scale", "60asec", "--epsilon", "1e-4", "--json"]
failed = []


def exe(name):
    return os.path.join(BIN, name)


def workers_of(pid):
    """Processes named gridloom-worker below pid."""
    out, todo = [], [pid]
    while todo:
        p = todo.pop()
        kids = []
        try:
            for thread in os.listdir("/proc/%d/task" % p):  # a child belongs to the thread that started it
                kids += open("/proc/%d/task/%s/children" % (p, thread)).read().split()
        except OSError:
            pass
        for k in map(int, kids):
            todo.append(k)
            try:
                if "gridloom-worker" in os.readlink("/proc/%d/exe" % k):
                    out.append(k)
            except OSError:
                pass
    return out


def start(out, *more):
    return subprocess.Popen([exe("gridloom"), "image", MS, "-o", os.path.join(TMP, out)] + COMMON + list(more), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def finish(p, what, timeout=120):
    try:
        out, err = p.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        p.kill()
        failed.append("%s: no end" % what)
        return None
    if p.returncode:
        failed.append("%s: exit %d: %s" % (what, p.returncode, err))
        return None
    return json.loads(out)


def same(what, out, j, want):
    got = fits.getdata(os.path.join(TMP, out)).astype(float)
    off = np.abs(got - want).max() / np.abs(want).max()
    if not off <= 1e-6:
        failed.append("%s: image differs by %.3g of the peak" % (what, off))
    v = dict(j["visibilities"])
    if v.pop("read") != sum(v.values()) or v["gridded"] != reference["visibilities"]["gridded"]:
        failed.append("%s: counts %s" % (what, j["visibilities"]))


subprocess.run([exe("gridloom"), "simulate", "-o", MS, "--stations", "24", "--times", "300", "--channels", "4", "--seed", "5"], check=True)
reference = finish(start("ref.fits"), "reference")
if reference is None:
    sys.exit("\n".join(failed))
want = fits.getdata(os.path.join(TMP, "ref.fits")).astype(float)

bitten = 0
for attempt in range(12):
    p = start("killed.fits", "--workers", "2", "--threads", "1", "--block", "200")
    time.sleep(0.3 + 0.15 * attempt)
    w = workers_of(p.pid)
    if w:
        os.kill(w[0], signal.SIGKILL)
    j = finish(p, "killed worker, attempt %d" % attempt)
    if j is None:
        break
    same("killed worker", "killed.fits", j, want)
    bitten += j["releases"] >= 1
    if bitten >= 2:
        break
print("kills that cost leases: %d" % bitten)
if not bitten:
    failed.append("no kill cost a lease: nothing was tested")

endpoint = "ipc://" + os.path.join(TMP, "control")
daemon = subprocess.Popen([exe("gridloomd"), "--listen", endpoint, "--store", os.path.join(TMP, "store")])
worker = subprocess.Popen([exe("gridloom-worker"), "--connect", endpoint, "--threads", "1"])
p = start("waits.fits", "--connect", endpoint, "--block", "100")
time.sleep(1.2)
worker.kill()
worker.wait()
time.sleep(3)
if p.poll() is not None:
    out, err = p.communicate()
    print("the job had ended before the kill" if p.returncode == 0 else "the job failed instead of waiting: %s" % err)
    if p.returncode:
        failed.append("a job without workers must wait")
else:
    worker = subprocess.Popen([exe("gridloom-worker"), "--connect", endpoint, "--threads", "1"])
    j = finish(p, "job that waits")
    if j:
        same("job that waits", "waits.fits", j, want)
for q in (worker, daemon):
    q.send_signal(signal.SIGTERM)
    start_wait = time.time()
    try:
        q.wait(10)
    except subprocess.TimeoutExpired:
        q.kill()
        failed.append("a process does not end at SIGTERM")
for f in failed:
    print("failed:", f)
if failed:
    sys.exit(1)
print("ok")
