#!/usr/bin/python3
"""Imaging and prediction in bounded memory: w-planes that do not fit at once are taken in batches, the worker stays within
--memory (and a tenth more for what is not its buffers), the image is the same, the prediction to the last bit, counts too. So it does where more
is collected of a stream than it may use."""
# timeout: 1200
import json, os, shutil, subprocess, sys, time
import numpy as np
from astropy.io import fits
from casacore.tables import table

BIN = os.environ["GRIDLOOM_BIN"]
TMP = os.path.join(os.environ["LOOM_TMP"], "memory")
os.makedirs(TMP, exist_ok=True)
GRIDLOOM = os.path.join(BIN, "gridloom")
SANITIZED = any(s in BIN for s in ("asan", "tsan"))
SIZE, LIMIT = (300, 64) if SANITIZED else (1000, 256)  # pixels, MiB
ELEMENTS = 1000000 if SANITIZED else 16000000
SHARED = ("--epsilon", "1e-4", "--json")


def children(pid):
    found = [pid]
    for child in subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split():
        found += children(int(child))
    return found


def resident(pid):
    """Name, and anonymous and shared memory in MiB."""
    with open("/proc/%d/status" % pid) as f:
        fields = dict(line.rstrip("\n").split(":", 1) for line in f)
    return fields["Name"].strip(), sum(int(fields.get(k, "0 kB").split()[0]) for k in ("RssAnon", "RssShmem")) / 1024


def watched(name, *command):
    """What it printed, and the most memory that each process had."""
    p = subprocess.Popen([GRIDLOOM, *command, "--threads", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    peaks = {}
    while p.poll() is None:
        for pid in children(p.pid):
            try:
                process, mib = resident(pid)
                peaks[process] = max(peaks.get(process, 0), mib)
            except (OSError, KeyError, ValueError, IndexError):
                pass  # it has just ended
        time.sleep(0.02)
    text, errors = p.communicate()
    if p.returncode:
        sys.exit("%s: exit %d: %s" % (name, p.returncode, errors))
    return text, peaks


def image(name, memory, *more):
    out = os.path.join(TMP, name + ".fits")
    if os.path.exists(out):
        os.remove(out)
    text, peaks = watched(name, "image", ms, "-o", out, "--size", str(SIZE), "--scale", "40asec", "--memory", "%dMiB" % memory,
                          *SHARED, *more)
    return fits.getdata(out).squeeze().astype(float), json.loads(text), peaks


def prediction(name, memory, *more):
    out = os.path.join(TMP, name + ".ms")
    shutil.rmtree(out, ignore_errors=True)
    text, peaks = watched(name, "predict", ms, "--model", os.path.join(TMP, "whole.fits"), "-o", out, "--memory", "%dMiB" % memory,
                          *SHARED, *more)
    with table(out, ack=False) as t:
        return t.getcol("MODEL_DATA"), json.loads(text), peaks


COLLECTED = """
entry main (s: seq i32) : f64 =
  fold_seq (+) 0 (group_map_seq 6 (\\x -> [i64.i32 x % 6]) (+) 0 s
    (\\k ys -> let table = generate 131072 (\\i -> f64 (i * k)) in map_seq (\\y -> table[i64.i32 y % 131072]) ys))
"""


def collected(memory):
    """Sums what groups give to the elements of a stream: in batches, 8 bytes an element are collected. Also the most memory."""
    with open(os.path.join(TMP, "collected.weft"), "w") as f:
        f.write(COLLECTED)
    stream = os.path.join(TMP, "stream.npy")
    np.save(stream, np.arange(ELEMENTS, dtype=np.int32))
    return watched("collected", "run", f.name, "--stream", "s=" + stream, "--memory", memory, "--quiet")


ms = os.path.join(TMP, "sky.ms")
if not os.path.exists(ms):
    subprocess.run([GRIDLOOM, "simulate", "-o", ms, "--stations", "30", "--times", "20", "--channels", "4", "--extent", "6000",
                    "--n-sources", "3", "--seed", "5", "--quiet"], check=True)
whole, w, _ = image("whole", 16000)
parts, p, peaks = image("parts", LIMIT)
shared, s, _ = image("shared", LIMIT, "--workers", "2", "--block", "777")
failed = []
if p["traversals"] < w["traversals"] + 2:
    failed.append("%d traversals with little memory, %d with much: no batches" % (p["traversals"], w["traversals"]))
for name, other, report in (("in batches", parts, p), ("in batches, by two workers", shared, s)):
    difference = np.nanmax(abs(other - whole)) / np.nanmax(abs(whole))
    if not difference < 1e-6:
        failed.append("%s: %.1e of the peak off" % (name, difference))
    if report["visibilities"] != w["visibilities"]:
        failed.append("%s: %s, not %s" % (name, report["visibilities"], w["visibilities"]))
most = peaks["gridloom-worker"]
if not SANITIZED and most > 1.1 * LIMIT + 32:
    failed.append("the worker had %.0f MiB, of %d" % (most, LIMIT))
whole, w, _ = prediction("predict_whole", 16000)
parts, q, predicting = prediction("predict_parts", LIMIT)
shared, _, _ = prediction("predict_shared", LIMIT, "--workers", "2", "--block", "777")
if q["traversals"] < w["traversals"] + 2:
    failed.append("%d traversals to predict with little memory, %d with much: no batches" % (q["traversals"], w["traversals"]))
for name, other in (("in batches", parts), ("in batches, by two workers", shared)):
    if other.tobytes() != whole.tobytes():
        failed.append("prediction %s: %.1e off" % (name, abs(other - whole).max()))
if not abs(whole).max() > 0:
    failed.append("the prediction is empty")
if not SANITIZED and predicting["gridloom-worker"] > 1.1 * LIMIT + 32:
    failed.append("the worker had %.0f MiB of %d while predicting" % (predicting["gridloom-worker"], LIMIT))
whole, _ = collected("1GiB")
parts, p2 = collected("6MiB")
if parts != whole:
    failed.append("collected in parts: %s, not %s" % (parts, whole))
if not SANITIZED and p2["gridloom-worker"] > 6 + 48:
    failed.append("the worker had %.0f MiB, of 6, while it collected %.0f" % (p2["gridloom-worker"], 8 * ELEMENTS / 2**20))
print("collected: worker %.0f MiB" % p2["gridloom-worker"])
print("prediction: %d traversals; worker %.0f MiB" % (q["traversals"], predicting["gridloom-worker"]))
print("%d planes, %d traversals; worker %.0f MiB of %d" % (p["w_planes"], p["traversals"], most, LIMIT))
for f in failed:
    print("failed:", f)
if failed:
    sys.exit(1)
print("ok")
