#!/usr/bin/python3
"""Daemon, workers and commands as processes: several jobs at once, status and cancel from another command, signals, deaths.
Nothing takes longer than two seconds to end, and nothing is left."""
# timeout: 400
# sanitize: asan tsan
import json, os, shutil, signal, subprocess, sys, time
import numpy as np

BIN = os.environ["GRIDLOOM_BIN"]
TMP = os.path.join(os.environ["LOOM_TMP"], "processes")
SLOW = 5 if "asan" in BIN or "tsan" in BIN else 1
os.makedirs(TMP, exist_ok=True)
os.environ["TMPDIR"] = TMP
ENDPOINT = "ipc://" + os.path.join(TMP, "control")
failed = []


def exe(name):
    return os.path.join(BIN, name)


def path(name):
    return os.path.join(TMP, name)


def check(holds, what):
    if not holds:
        failed.append(what)


def start(*command, **more):
    return subprocess.Popen([exe(command[0])] + list(command[1:]), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def finish(p, timeout=120):
    try:
        out, err = p.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        p.kill()
        out, err = p.communicate()
        failed.append("no end of %s: %s" % (" ".join(p.args), err))
    return p.returncode, out, err


def ends(p, number, seconds, what):
    began = time.time()
    p.send_signal(number)
    code, out, err = finish(p, 60)
    check(time.time() - began < seconds * SLOW, "%s took %.1f s to end" % (what, time.time() - began))
    return code, err


def processes():
    """Gridloom's processes that have our folder in their command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = open("/proc/%s/cmdline" % pid).read()
        except OSError:
            continue
        if TMP in line and "gridloom" in line.split("\0")[0] and int(pid) != os.getpid():
            found.append(line.replace("\0", " "))
    return found


def nothing_left(what):
    until = time.time() + 10 * SLOW
    while time.time() < until and (processes() or [f for f in os.listdir(TMP) if f.startswith("gridloom-")]):
        time.sleep(0.05)
    left = processes() + [f for f in os.listdir(TMP) if f.startswith("gridloom-")]
    check(not left, "%s leaves %s" % (what, left))


def status():
    code, out, err = finish(start("gridloom", "status", "--connect", ENDPOINT, "--json"))
    check(code == 0, "status: " + err)
    return json.loads(out) if code == 0 else {"jobs": []}


def wait_for(condition, what):
    until = time.time() + 60 * SLOW
    while time.time() < until:
        got = condition()
        if got:
            return got
        time.sleep(0.05)
    failed.append("waited in vain for " + what)
    return None


with open(path("slow.weft"), "w") as f:
    f.write("entry slow (xs: seq f64) : f64 =\n"
            "  fold_seq (+) 0 (map_seq (\\x -> loop y = x for i < 400000 do f64.sin (y + f64 i)) xs)\n")
with open(path("total.weft"), "w") as f:
    f.write("entry total (xs: seq f64) (k: f64) : (f64, f64) = (fold_seq (+) 0 (map_seq (* k) xs), fold_seq f64.max 0 xs)\n")
xs = np.random.default_rng(1).random(400000)
np.save(path("x.npy"), xs)
np.save(path("long.npy"), xs[:100000])
SLOW_JOB = ["run", path("slow.weft"), "--stream", "xs=" + path("long.npy"), "--block", "100", "-o", path("never.npy")]

# Embedded: a signal, twice a signal, the client's death.
for number, what in ((signal.SIGINT, "SIGINT"), (signal.SIGTERM, "SIGTERM")):
    p = start("gridloom", *SLOW_JOB, "--workers", "2", "--threads", "1")
    wait_for(lambda: len(processes()) >= 4, "workers")
    time.sleep(1)
    code, err = ends(p, number, 3, what)
    check(code == 130, "%s: exit %d: %s" % (what, code, err))
    nothing_left(what)
QUICK_JOB = ["run", path("total.weft"), "--stream", "xs=" + path("x.npy"), "--arg", "k=1", "-o", "0=" + path("t.npy"), "-o", "1=" + path("m.npy")]
began = time.time()
finish(start("gridloom", *QUICK_JOB))
took = time.time() - began
for i in range(30):
    p = start("gridloom", *QUICK_JOB)
    time.sleep(took * i / 28)
    p.send_signal(signal.SIGTERM)
    finish(p)
    nothing_left("a signal after %.3f of %.3f s" % (took * i / 28, took))
p = start("gridloom", *SLOW_JOB)
wait_for(lambda: len(processes()) >= 3, "a worker")
time.sleep(0.5)
p.kill()
finish(p)
nothing_left("a client killed outright")
p = start("gridloom", *SLOW_JOB)
wait_for(lambda: [q for q in processes() if "gridloom-worker" in q], "a worker")
time.sleep(0.5)
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        command = open("/proc/%s/cmdline" % pid).read()
    except OSError:
        continue
    if "gridloom-worker" in command.split("\0")[0] and TMP in command:
        os.kill(int(pid), signal.SIGSTOP)
p.kill()
finish(p)
nothing_left("a client killed outright whose worker is stopped")
check(not os.path.exists(path("never.npy")), "an output of a job that was cancelled")

# A daemon with two workers, four jobs at once.
daemon = start("gridloomd", "--listen", ENDPOINT, "--store", path("store"))
workers = [start("gridloom-worker", "--connect", ENDPOINT, "--threads", "1") for i in range(2)]
while not os.path.exists(path("control")) and daemon.poll() is None:
    time.sleep(0.05)
code, out, err = finish(start("gridloomd", "--listen", ENDPOINT, "--store", path("store2")))
check(code == 69 and "another daemon listens on" in err, "second daemon: %d %s" % (code, err))
wait_for(lambda: status().get("workers") == 2, "two workers")
jobs = [start("gridloom", "run", path("total.weft"), "--stream", "xs=" + path("x.npy"), "--arg", "k=%d" % k, "--connect", ENDPOINT,
              "-o", "0=" + path("total%d.npy" % k), "-o", "1=" + path("max%d.npy" % k)) for k in range(1, 5)]
for k, p in enumerate(jobs, 1):
    code, out, err = finish(p)
    check(code == 0, "job %d of four: exit %d: %s" % (k, code, err))
    if code == 0:
        check(abs(np.load(path("total%d.npy" % k)) - k * xs.sum()) < 1e-9 * k * xs.sum(), "job %d of four: wrong sum" % k)
        check(np.load(path("max%d.npy" % k)) == xs.max(), "job %d of four: wrong maximum" % k)

# Status and cancel.
p = start("gridloom", *SLOW_JOB, "--connect", ENDPOINT)
job = wait_for(lambda: [j for j in status()["jobs"] if j["state"] == "running"], "a running job")
if job:
    code, out, err = finish(start("gridloom", "cancel", str(job[0]["job"]), "--connect", ENDPOINT))
    check(code == 0, "cancel: exit %d: %s" % (code, err))
began = time.time()
code, out, err = finish(p)
check(code == 130 and time.time() - began < 3 * SLOW, "a cancelled job: exit %d after %.1f s: %s" % (code, time.time() - began, err))
code, out, err = finish(start("gridloom", "cancel", "4711", "--connect", ENDPOINT))
check(code == 66, "cancel of no job: exit %d: %s" % (code, err))

# The end, with traffic in flight.
p = start("gridloom", *SLOW_JOB, "--connect", ENDPOINT)
wait_for(lambda: [j for j in status()["jobs"] if j["state"] == "running"], "a running job")
time.sleep(0.5)
code, err = ends(workers[0], signal.SIGTERM, 2, "a worker")
check(code == 0, "a worker at SIGTERM: exit %d: %s" % (code, err))
code, err = ends(daemon, signal.SIGTERM, 2, "the daemon")
check(code == 0, "the daemon at SIGTERM: exit %d: %s" % (code, err))
code, out, err = finish(p)
check(code == 69, "a job whose daemon stops: exit %d: %s" % (code, err))
code, err = ends(workers[1], signal.SIGTERM, 2, "a worker without a daemon")
check(code == 0, "a worker without a daemon: exit %d: %s" % (code, err))
nothing_left("the end")

# Refusals.
for command, want in ((["gridloomd", "--listen", "tcp://127.0.0.1:4711", "--store", path("store")], 77),
                      (["gridloomd", "--listen", "ipc://" + path("x" * 120), "--store", path("store")], 78),
                      (["gridloomd", "--listen", ENDPOINT], 64),
                      (["gridloom-worker", "--connect", "tcp://127.0.0.1:4711"], 77),
                      (["gridloom", "status", "--connect", "ipc://" + path("nobody")], 69)):
    code, out, err = finish(start(*command), 60)
    check(code == want and "error: " in err, "%s: exit %d, not %d: %s" % (" ".join(command), code, want, err))

for folder, kept in (("new", False), ("old", True)):
    shutil.rmtree(path(folder), ignore_errors=True)
    if kept:
        os.makedirs(path(folder))
    code, out, err = finish(start("gridloomd", "--listen", "ipc://" + path("nowhere/control"), "--store", path(folder)), 60)
    check(code != 0 and os.path.exists(path(folder)) == kept, "a daemon that cannot listen: exit %d, its store %s" % (code, folder))
p = start("gridloom-worker", "--connect", "ipc://" + path("nobody"))
time.sleep(4 * SLOW)
code, err = ends(p, signal.SIGTERM, 2, "a worker that waits")
check("waiting for a daemon at ipc://" + path("nobody") in err, "a worker that waits says: " + err)

for f in failed:
    print("failed:", f)
if failed:
    sys.exit(1)
print("ok")
