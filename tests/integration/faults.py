#!/usr/bin/python3
"""Workers that die or fall silent in mid-run: the image is the same, the counts are whole, and `releases` says that work was lost.

Workers are stopped (SIGSTOP) in the middle of a traversal, and the fault comes only once the daemon has said that blocks are
still out: it cannot be too early or too late, however quick the machine is. Where a job's only worker dies, the job waits for
another."""
# timeout: 600
# sanitize: asan tsan
import glob, json, os, signal, subprocess, sys, time
import numpy as np
from astropy.io import fits
from casacore.tables import table

BIN = os.environ["GRIDLOOM_BIN"]
TMP = os.path.join(os.environ["LOOM_TMP"], "f")
os.makedirs(TMP, exist_ok=True)
MS = os.path.join(TMP, "sim.ms")
COUNTING, GRIDDING = "fold_seq", "permute_seq"  # traversals of the imaging program, by what their labels say
IMAGE = ["--size", "256", "--scale", "60asec", "--epsilon", "1e-4", "--block", "400", "--json"]
failed = []


class Failed(Exception):
    pass


def exe(name):
    return os.path.join(BIN, name)


def start(out, *more):
    return subprocess.Popen([exe("gridloom"), "image", MS, "-o", os.path.join(TMP, out)] + IMAGE + list(more), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=dict(os.environ, TMPDIR=TMP))


def finish(p, timeout=200):
    try:
        out, err = p.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise Failed("no end")
    if p.returncode:
        raise Failed("exit %d: %s" % (p.returncode, err))
    return json.loads(out)


def ask(command, endpoint):
    """What the daemon says; None where it does not answer."""
    q = subprocess.run([exe("gridloom"), command, "--json", "--connect", endpoint], capture_output=True, text=True)
    return json.loads(q.stdout) if q.returncode == 0 else None


def job_of(p, endpoint):
    """The job as the daemon sees it while p runs; endpoint None: of the daemon that p has started."""
    if endpoint is None:
        there = glob.glob(os.path.join(TMP, "gridloom-*", "control"))
        endpoint = "ipc://" + there[0] if there else None
    status = ask("status", endpoint) if endpoint else None
    return endpoint, status["jobs"][0] if status and status["jobs"] else None


def at_work(job, traversal):
    return job and job["state"] == "running" and job["stage"].startswith("traversal ") and traversal in job["stage"] and \
        job["blocks_done"] < job["blocks_total"]


def freeze_midway(p, endpoint, traversal, delay):
    """Stops all workers `delay` seconds into the traversal, when they have blocks. Returns (endpoint, their pids), or None where
    the traversal was over by then."""
    limit = time.monotonic() + 200
    while time.monotonic() < limit and p.poll() is None:
        at, job = job_of(p, endpoint)
        if not at_work(job, traversal):
            continue
        time.sleep(delay)
        pids = [w["pid"] for w in ask("workers", at)["workers"]]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        in_time = at_work(job_of(p, at)[1], traversal)
        if in_time and all(w["busy"] for w in ask("workers", at)["workers"]):
            return at, pids
        resume(pids)
        if not in_time:
            return None
        delay = 0.02
    return None


def midway(traversal, part, out, fault, endpoint=None):
    """Runs an image with two workers, its own or those of a daemon, and calls fault(endpoint, pids) when about `part` of the
    traversal is done."""
    where = ["--connect", endpoint] if endpoint else ["--workers", "2", "--threads", "1"]
    delay = part * quick["seconds"]["traversal"] / 2
    for _ in range(8):
        p = start(out, *where)
        try:
            frozen = freeze_midway(p, endpoint, traversal, delay)
            if frozen:
                fault(*frozen)
                same(out, finish(p))
                return
            finish(p)  # was too quick
        finally:
            p.kill()
        delay /= 2
    raise Failed("the traversal is too short to be stopped in")


def resume(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass


def wait_for(what, condition, seconds=60):
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            raise Failed("waited in vain for: " + what)
        time.sleep(0.05)


def spoil_samples():
    """So that there is something of every kind to be counted."""
    r = np.random.default_rng(3)
    ms = table(MS, readonly=False, ack=False)
    flags, data, weights = ms.getcol("FLAG"), ms.getcol("DATA"), ms.getcol("WEIGHT")
    flags |= (r.random(flags.shape[:2]) < 0.05)[:, :, None]
    data[r.random(data.shape) < 0.01] = np.nan
    weights[r.random(len(weights)) < 0.02] = 0
    for name, column in (("FLAG", flags), ("DATA", data), ("WEIGHT", weights), ("FLAG_ROW", r.random(len(flags)) < 0.03)):
        ms.putcol(name, column)
    ms.close()


def samples_of_ms():
    """Counts by what the MeasurementSet itself says: every sample under the first that applies."""
    ms = table(MS, ack=False)
    flags, data = ms.getcol("FLAG").any(axis=2), ms.getcol("DATA")
    auto = np.broadcast_to((ms.getcol("ANTENNA1") == ms.getcol("ANTENNA2"))[:, None], flags.shape)
    flagged = ~auto & (flags | ms.getcol("FLAG_ROW")[:, None])
    good = ~auto & ~flagged
    nonfinite = good & ~np.isfinite(data).all(axis=2)
    zero = good & ~nonfinite & (ms.getcol("WEIGHT").min(axis=1) <= 0)[:, None]
    return {"read": flags.size, "autocorrelation": int(auto.sum()), "flagged": int(flagged.sum()),
            "nonfinite": int(nonfinite.sum()), "zero_weight": int(zero.sum()),
            "rest": int((good & ~nonfinite & ~zero).sum())}


def check_counts(v):
    v = dict(v)
    rest = sum(v.pop(name, 0) for name in ("gridded", "out_of_grid", "uv_range"))
    if v.pop("lost") or dict(v, rest=rest) != samples:
        raise Failed("counts %s, gridded and out of grid %d; the MeasurementSet has %s" % (v, rest, samples))


def same(out, j):
    got = fits.getdata(os.path.join(TMP, out)).astype(float)
    off = np.abs(got - want).max() / np.abs(want).max()
    if not off <= 1e-6:
        raise Failed("image differs by %.3g of the peak" % off)
    check_counts(j["visibilities"])
    if j["releases"] < 1:
        raise Failed("no work was lost: nothing was tested")
    print("  %d blocks again, image differs by %.2g of the peak" % (j["releases"], off))


def kill_one(_, pids):
    os.kill(pids[0], signal.SIGKILL)
    resume(pids[1:])


def kill_all(_, pids):
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def silence_all(endpoint, pids):
    """Those of a command are ended, and started again as if they had died."""
    wait_for("other workers in place of silent ones",
             lambda: {w["pid"] for w in (ask("workers", endpoint) or {"workers": []})["workers"]} - set(pids), 120)
    wait_for("the end of silent workers", lambda: not any(os.path.exists("/proc/%d" % pid) for pid in pids))


def silence_one(endpoint, pids):
    """Of a daemon that others start workers of: it comes back when its work has been given to the other: what it still holds must not be counted twice."""
    resume(pids[1:])
    wait_for("a worker taken for dead", lambda: len(ask("workers", endpoint)["workers"]) < 2, 120)
    resume(pids)


def spawn_worker(endpoint):
    return subprocess.Popen([exe("gridloom-worker"), "--connect", endpoint, "--threads", "1"])


def one_comes_back():
    endpoint = "ipc://" + os.path.join(TMP, "control")
    started = [subprocess.Popen([exe("gridloomd"), "--listen", endpoint, "--store", os.path.join(TMP, "store")])]
    try:
        wait_for("the daemon", lambda: ask("status", endpoint) is not None)
        started += [spawn_worker(endpoint), spawn_worker(endpoint)]
        wait_for("two workers", lambda: len(ask("workers", endpoint)["workers"]) == 2)
        midway(GRIDDING, 0.2, "silent.fits", silence_one, endpoint)
    finally:
        for q in reversed(started):
            q.kill()
            q.wait()


def the_only_one_is_killed():
    endpoint = "ipc://" + os.path.join(TMP, "control")
    daemon = subprocess.Popen([exe("gridloomd"), "--listen", endpoint, "--store", os.path.join(TMP, "store")])
    started = [daemon]
    try:
        wait_for("the daemon", lambda: ask("status", endpoint) is not None)
        worker = spawn_worker(endpoint)
        started.append(worker)
        p = start("waits.fits", "--connect", endpoint)
        started.append(p)
        if not freeze_midway(p, endpoint, GRIDDING, 0.1 * quick["seconds"]["traversal"]):
            raise Failed("the traversal is too short to be stopped in")
        worker.kill()
        worker.wait()
        wait_for("the worker's end to be seen", lambda: not ask("workers", endpoint)["workers"])
        time.sleep(2)
        if p.poll() is not None or not job_of(p, endpoint)[1]:
            raise Failed("a job without workers must wait")
        worker = spawn_worker(endpoint)
        started.append(worker)
        same("waits.fits", finish(p))
        for q in (worker, daemon):
            q.send_signal(signal.SIGTERM)
            try:
                q.wait(20)
            except subprocess.TimeoutExpired:
                raise Failed("a process does not end at SIGTERM: %s" % q.args[0])
    finally:
        for q in started:
            q.kill()
            q.wait()


subprocess.run([exe("gridloom"), "simulate", "-o", MS, "--stations", "40", "--times", "300", "--channels", "4", "--seed", "5"], check=True)
spoil_samples()
samples = samples_of_ms()
if not all(samples[k] for k in ("flagged", "nonfinite", "zero_weight", "rest")):
    sys.exit("nothing to count: %s" % samples)
reference = finish(start("ref.fits"))  # also leaves all object code in the cache
want = fits.getdata(os.path.join(TMP, "ref.fits")).astype(float)
check_counts(reference["visibilities"])
quick = finish(start("quick.fits", "--workers", "2", "--threads", "1"))
tests = [("one of two is killed, %s at %g" % w, lambda w=w: midway(*w, "killed.fits", kill_one))
         for w in ((COUNTING, 0.1), (GRIDDING, 0), (GRIDDING, 0.3), (GRIDDING, 0.6))]
tests.append(("all are killed", lambda: midway(GRIDDING, 0.3, "killed.fits", kill_all)))
tests.append(("all fall silent", lambda: midway(GRIDDING, 0.2, "silent.fits", silence_all)))
tests.append(("one falls silent and comes back", one_comes_back))
tests.append(("the only one is killed", the_only_one_is_killed))
for what, test in tests:
    began = time.monotonic()
    print(what, flush=True)
    try:
        test()
    except Failed as e:
        print("  failed: %s" % e)
        failed.append(what)
    print("  %.1f s" % (time.monotonic() - began), flush=True)
if failed:
    sys.exit("failed: " + "; ".join(failed))
print("ok")
