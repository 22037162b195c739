#!/usr/bin/python3
"""What a command leaves when it fails, or is ended by a signal, while it writes: all of its outputs or none of them, and no
temporary file; what it cannot print is an error of every command."""
# timeout: 300
# sanitize: asan
import glob
import hashlib
import io
import json
import os
import platform
import resource
import shutil
import signal
import subprocess
import sys
import time

import numpy as np

BIN = os.environ["GRIDLOOM_BIN"]
TMP = os.path.join(os.environ["LOOM_TMP"], "cli_outputs")
SLOW = 5 if "asan" in BIN or "tsan" in BIN else 1
GRIDLOOM = os.path.join(BIN, "gridloom")
STOP = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGXCPU"]
PROGRAM = """entry main (n: i64) : ([]f64, []f64) = (replicate n 1, replicate n 2)
entry scalar (n: i64) : (i64, []f64) = (n, replicate n 3)
"""
failed = []


def path(name):
    return os.path.join(TMP, name)


def check(holds, what):
    if not holds:
        failed.append(what)
        print("failed: " + what)


def gridloom(*arguments, **more):
    more.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([GRIDLOOM] + list(arguments), cwd=TMP, stderr=subprocess.PIPE, text=True, timeout=120, **more)


# ---- standard output ----

def printing():
    """Everything that prints, to a device that takes nothing and to a descriptor that is closed."""
    stages = ["nodes", "steps", "html", "ast", "core", "simplified", "stages", "shapes", "lifted", "fused", "schedule", "llvm", "plan"]
    commands = [["explain", "p.weft", "--entry", "main", "--stage", s] for s in stages]
    commands += [["check", "p.weft"], ["fmt", "p.weft"], ["eval", "p.weft", "--entry", "scalar", "--arg", "n=3"],
                 ["run", "p.weft", "--entry", "scalar", "--arg", "n=3"], ["--help"], ["--version"], ["help", "run"], ["run", "--help"],
                 ["help", "--man", "run"]]
    for c in commands:
        with open("/dev/full", "w") as full:
            p = gridloom(*c, stdout=full)
        check(p.returncode == 74 and "standard output" in p.stderr, "%s > /dev/full: exit %d: %s" % (" ".join(c), p.returncode, p.stderr))
        p = gridloom(*c, stdout=None, preexec_fn=lambda: os.close(1))
        check(p.returncode == 74, "%s >&-: exit %d: %s" % (" ".join(c), p.returncode, p.stderr))
    for program in ("gridloomd", "gridloom-worker", "gridloom-compile"):
        with open("/dev/full", "w") as full:
            p = subprocess.run([os.path.join(BIN, program), "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
        check(p.returncode == 74, "%s --help > /dev/full: exit %d: %s" % (program, p.returncode, p.stderr))


def output_on_stdout():
    """What else would be printed goes to standard error: the output alone is in the pipe, or in the file."""
    for more in ([], ["--json"]):
        command = ["image", "o.ms", "--size", "32", "-o"]
        p = gridloom(*command, "plain.fits", *more)
        check(p.returncode == 0 and "read" in p.stdout, "image: exit %d: %s" % (p.returncode, p.stderr))
        size = os.path.getsize(path("plain.fits"))
        q = subprocess.run([GRIDLOOM, *command, "/dev/stdout", *more], cwd=TMP, capture_output=True)
        check(q.returncode == 0 and len(q.stdout) == size and q.stdout.startswith(b"SIMPLE") and b"read" in q.stderr,
              "image -o /dev/stdout %s | : exit %d, %d bytes: %s" % (more, q.returncode, len(q.stdout), q.stderr))
        with open(path("out.fits"), "wb") as f:
            q = subprocess.run([GRIDLOOM, *command, "/dev/stdout", *more], cwd=TMP, stdout=f, stderr=subprocess.PIPE)
        check(q.returncode == 0 and os.path.getsize(path("out.fits")) == size and b"read" in q.stderr,
              "image -o /dev/stdout %s > file: exit %d, %d bytes" % (more, q.returncode, os.path.getsize(path("out.fits"))))
    p = gridloom("predict", "o.ms", "--model", "sky.txt", "-o", "predicted.ms", "--stats", "/dev/stdout")
    check(p.returncode == 0 and isinstance(json.loads(p.stdout), dict) and "predicted" in p.stderr, "predict --stats /dev/stdout: " + p.stdout)
    os.symlink("/dev/stdout", path("stdout.npy"))
    for command in ("run", "eval"):
        q = subprocess.run([GRIDLOOM, command, "p.weft", "--entry", "scalar", "--arg", "n=3", "-o", "1=stdout.npy"], cwd=TMP, capture_output=True)
        check(q.returncode == 0 and np.array_equal(np.load(io.BytesIO(q.stdout)), [3, 3, 3]) and q.stderr == b"0 = 3\n" and
              q.stdout[-8:] == np.float64(3).tobytes(), "%s -o stdout.npy: exit %d: %s" % (command, q.returncode, q.stderr))
    os.remove(path("stdout.npy"))


# ---- all or none ----

def left(folder):
    return sorted(os.listdir(path(folder)))


def outputs_without_stdout():
    """What was to be printed is an output too."""
    os.makedirs(path("none"))
    for command in ("eval", "run"):
        with open("/dev/full", "w") as full:
            p = gridloom(command, "p.weft", "--entry", "scalar", "--arg", "n=3", "-o", "1=none/a.npy", stdout=full)
        check(p.returncode == 74 and left("none") == [], "%s > /dev/full: exit %d, left %s" % (command, p.returncode, left("none")))
    with open("/dev/full", "w") as full:
        p = gridloom("simulate", "-o", "none/s.ms", "--stations", "3", "--times", "2", stdout=full)
    check(p.returncode == 74 and left("none") == [], "simulate > /dev/full: exit %d, left %s" % (p.returncode, left("none")))
    p = gridloom("eval", "p.weft", "--entry", "main", "--arg", "n=3", "-o", "0=none/a.npy", "-o", "1=./none/a.npy")
    check(p.returncode == 64 and left("none") == [], "two outputs in one file: exit %d: %s" % (p.returncode, p.stderr))


def outputs_on_a_small_disk():
    """The first output fits, the second does not; one that was there is as it was."""
    small = path("small")
    os.makedirs(small)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "t", small], capture_output=True).returncode:
        print("a small disk: no file system can be mounted here")
        return
    try:
        for command in ("eval", "run"):
            for before in ([], ["a.npy"]):
                for name in before:
                    np.save(path("small/" + name), np.zeros(2))
                p = gridloom(command, "p.weft", "--entry", "main", "--arg", "n=16000", "-o", "0=small/a.npy", "-o", "1=small/b.npy")
                check(p.returncode == 74 and "b.npy" in p.stderr, "%s on a small disk: exit %d: %s" % (command, p.returncode, p.stderr))
                check(left("small") == before, "%s on a small disk leaves %s" % (command, left("small")))
                check(not before or np.load(path("small/a.npy")).size == 2, "%s replaces the output that fits" % command)
                for name in left("small"):
                    os.remove(path("small/" + name))
            p = gridloom(command, "p.weft", "--entry", "main", "--arg", "n=10000", "-o", "0=small/a.npy", "-o", "1=small/b.npy")
            check(p.returncode == 0 and left("small") == ["a.npy", "b.npy"], "%s that fits: exit %d: %s" % (command, p.returncode, p.stderr))
            for name in left("small"):
                os.remove(path("small/" + name))
        p = gridloom("run", "p.weft", "--entry", "main", "--arg", "n=11000", "-o", "0=small/a.npy", "-o", "1=small/b.npy", "--stats",
                     "small/no/stats.json")
        check(p.returncode == 73 and left("small") == [], "statistics nowhere: exit %d: %s" % (p.returncode, p.stderr))
        observations_on_a_small_disk()
    finally:
        subprocess.run(["umount", small], check=True)


def observations_on_a_small_disk():
    """Of casacore too, wherever in its work the disk is full; and where the limit is a file's, not the disk's."""
    simulate = ["simulate", "-o", "small/s.ms", "--stations", "20", "--times", "100", "--channels", "4", "--quiet"]
    predict = ["predict", "o.ms", "--model", "o.ms.sources.txt", "-o", "small/p.ms", "--quiet"]
    for taken in (190, 150, 120, 90, 60, 0):
        with open(path("small/taken"), "wb") as f:
            f.write(bytes(taken << 10))
        for command in (simulate, predict):
            p = gridloom(*command)
            told = "No space left" in p.stderr or command == predict and "has room for" in p.stderr and "cp:" not in p.stderr
            check(p.returncode == 74 and told and "small" in p.stderr,
                  "%s on a disk with %d KiB: exit %d: %s" % (command[0], 200 - taken, p.returncode, p.stderr))
            check(left("small") == ["taken"], "%s on a full disk leaves %s" % (command[0], left("small")))
        os.remove(path("small/taken"))
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100 << 10, 100 << 10))
    p = gridloom("simulate", "-o", "big.ms", *simulate[3:], preexec_fn=limit)
    check(p.returncode == 74 and "ulimit -f" in p.stderr and not glob.glob(path("big.ms*")),
          "simulate with ulimit -f: exit %d: %s" % (p.returncode, p.stderr))


# ---- outputs that are inputs ----

def digest(name):
    """Of a file, or of all files of a folder."""
    h = hashlib.sha256()
    files = [path(name)] if os.path.isfile(path(name)) else sorted(glob.glob(path(name) + "/**", recursive=True))
    for f in files:
        h.update(f.encode())
        if os.path.isfile(f):
            with open(f, "rb") as content:
                h.update(content.read())
    return h.digest()


def outputs_that_are_inputs():
    """Refused before anything runs, however the file is called; what was there stays as it was."""
    p = gridloom("simulate", "-o", "o.ms", "--stations", "4", "--times", "3", "--quiet")
    check(p.returncode == 0, "simulate: " + p.stderr)
    os.symlink("o.ms", path("link.ms"))
    shutil.copy(path("o.ms.sources.txt"), path("sky.txt"))
    np.save(path("in.npy"), np.arange(8.0))
    np.save(path("n.npy"), np.array([3, 5]))
    np.save(path("out.lengths.npy"), np.array([3, 5]))
    os.symlink("in.npy", path("soft.npy"))
    os.link(path("in.npy"), path("hard.npy"))
    inputs = ["o.ms", "sky.txt", "in.npy", "n.npy", "out.lengths.npy", "q.weft", "o.ms.sources.txt"]
    before = {name: digest(name) for name in inputs}
    image, out = ["image", "o.ms", "--size", "32"], ["-o", "x.fits"]
    q = ["q.weft", "--entry", "one", "--stream", "xs=in.npy"]
    r = ["q.weft", "--entry", "ragged", "--arg"]
    refused = [image + ["-o", "o.ms/table.dat"], image + ["-o", "link.ms/x.fits"], image + ["-o", "./o.ms/ANTENNA/table.dat"], image + ["-o", "o.ms"]]
    refused += [image + out + ["--psf", "o.ms/table.f1"], image + out + ["--png", "o.ms/x.png"], image + out + ["--grid", "o.ms/x.npy"],
                image + out + ["--stats", "o.ms/stats"], image + out + ["--psf", "./x.fits"], image + out + ["--stats", ".//x.fits"],
                ["image", "link.ms", "--size", "32", "-o", "o.ms/new.fits"], ["image", "sky.txt", "-o", "./sky.txt"]]
    for command in ("run", "eval"):
        refused += [[command] + q + ["-o", name] for name in ("in.npy", "./in.npy", "soft.npy", "hard.npy", path("in.npy"))]
        refused += [[command] + r + ["xss=in.npy,n.npy", "-o", "n.npy"], [command] + r + ["xss=in.npy,out.lengths.npy", "-o", "out.npy"]]
    refused += [["run"] + q + ["--stats", "q.weft"], ["run"] + q + ["--stats", "in.npy"], ["run"] + q + ["-o", "new.npy", "--stats", "./new.npy"]]
    predict = ["predict", "o.ms", "--model", "sky.txt"]
    refused += [predict + ["-o", "sky.txt"], predict + ["-o", "o.ms/copy.ms"], predict + ["-o", "o.ms"], predict + ["--stats", "sky.txt"],
                predict + ["--stats", "o.ms/table.dat"], ["predict", "o.ms", "--model", "o.ms/x", "-o", "link.ms/../sky.txt", "--stats", "./sky.txt"]]
    refused += [["simulate", "--sources", "sky.txt", "-o", "./sky.txt"], ["simulate", "--sources", "o.ms.sources.txt", "-o", "./o.ms"]]
    names = left(".")
    for command in refused:
        p = gridloom(*command)
        check(p.returncode == 64 and "cannot" in p.stderr, "%s: exit %d: %s" % (" ".join(command), p.returncode, p.stderr))
    for name in inputs:
        check(digest(name) == before[name], name + " is not as it was")
    check(left(".") == names, "outputs that are inputs leave %s" % sorted(set(left(".")) ^ set(names)))
    for device in ("/dev/null", "/dev/stdout"):
        p = gridloom("run", *q, "--stats", device)
        check(p.returncode == 0, "--stats %s: exit %d: %s" % (device, p.returncode, p.stderr))


# ---- signals ----

def interrupt(what, number, command, folder, ready):
    """Sends the signal as soon as `ready` holds, which it does only while something is being written. Where this test was given
    no time while it held, the command has ended and is run again."""
    for _ in range(20):
        os.makedirs(path(folder))
        p = subprocess.Popen([GRIDLOOM] + command, cwd=TMP, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until = time.time() + 60
        while time.time() < until and p.poll() is None and not ready():
            time.sleep(0.001)
        in_time = p.poll() is None
        p.send_signal(number)
        err = p.communicate(timeout=60 * SLOW)[1]
        complete = left(folder)
        shutil.rmtree(path(folder))
        if in_time:
            break
    check(in_time, "%s ended before the signal" % what)
    temporary = [f for f in complete if ".tmp-" in f]
    check(not temporary, "%s leaves %s" % (what, temporary))
    return p.returncode, err, complete


def being_written(folder, name, bytes):
    """Whether a temporary file of an output exists and holds more than so many bytes."""
    for f in left(folder):
        try:
            if name + ".tmp-" in f and os.path.getsize(path(os.path.join(folder, f))) > bytes:
                return True
        except FileNotFoundError:  # it got its name since it was listed
            pass
    return False


def signals():
    for name in STOP:
        number = getattr(signal, name)
        simulate = ["simulate", "-o", "s/s.ms", "--stations", "40", "--times", "4000", "--channels", "8", "--quiet"]
        code, err, kept = interrupt("simulate at " + name, number, simulate, "s", lambda: left("s") and time.sleep(0.3) is None)
        check(code == 130 and not kept, "simulate at %s: exit %s, left %s: %s" % (name, code, kept, err))
        evaluate = ["eval", "big.weft", "--arg", "xs=big.npy", "-o", "0=e/a.npy", "-o", "1=e/b.npy"]
        code, err, kept = interrupt("eval at " + name, number, evaluate, "e", lambda: being_written("e", "a.npy", 4096))
        check(code in (-number, 130) and kept in ([], ["a.npy", "b.npy"]), "eval at %s: exit %s, left %s" % (name, code, kept))
    for name in ("SIGHUP", "SIGUSR1"):
        p = start_slow()
        p.send_signal(getattr(signal, name))
        err = p.communicate(timeout=60 * SLOW)[1]
        check(p.returncode == 130 and left("t") == [], "run at %s: exit %s, left %s: %s" % (name, p.returncode, left("t"), err))


def start_slow():
    os.makedirs(path("t"), exist_ok=True)
    p = subprocess.Popen([GRIDLOOM, "run", "slow.weft", "--stream", "xs=x.npy", "--block", "100"], cwd=TMP, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, env=dict(os.environ, TMPDIR=path("t")))
    time.sleep(1.5 * SLOW)
    return p


def ignored():
    """As nohup starts a command."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        code, err, kept = interrupt("simulate under nohup", signal.SIGHUP, ["simulate", "-o", "s/s.ms", "--stations", "20", "--times", "400"],
                                    "s", lambda: left("s"))
        check(code == 0 and "s.ms" in kept, "simulate under nohup: exit %s, left %s: %s" % (code, kept, err))
        p = start_slow()
        p.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        check(p.poll() is None, "run under nohup is ended by SIGHUP")
        p.terminate()
        p.communicate(timeout=60 * SLOW)
        check(p.returncode == 130, "run under nohup at SIGTERM: exit %s" % p.returncode)
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


# ---- pipes ----

def until_waiting(p, what):
    """Until the command sleeps in poll, having nobody to write to: other waits of it are shorter."""
    if platform.machine() != "x86_64":  # where poll has another number
        time.sleep(2 * SLOW)
        return
    asleep, until = 0, time.time() + 60 * SLOW
    while asleep < 20 and time.time() < until and p.poll() is None:
        try:
            with open("/proc/%d/syscall" % p.pid) as f:
                words = f.read().split()
            asleep = asleep + 1 if words[0] == "7" and int(words[3], 16) == 100 else 0
        except (OSError, IndexError):  # not to be seen here: then time has to do
            time.sleep(2 * SLOW)
            return
        time.sleep(0.02)
    check(asleep == 20, "%s does not come to wait for its reader" % what)


def ended_while_waiting(what, command, number, **more):
    p = subprocess.Popen([GRIDLOOM] + command, cwd=TMP, stderr=subprocess.PIPE, text=True, **more)
    until_waiting(p, what)
    p.send_signal(number)
    try:
        err = p.communicate(timeout=60 * SLOW)[1]
    except subprocess.TimeoutExpired:
        p.kill()
        err = p.communicate()[1]
        check(False, "%s does not end at a signal" % what)
    check(p.returncode == 130 and "interrupted" in err,
          "%s: exit %d: %s" % (what, p.returncode, err))


def pipes():
    """A pipe that nobody reads, one whose reader stops, and one whose reader is slow."""
    os.mkfifo(path("fifo.npy"))
    evaluate = ["eval", "big.weft", "--arg", "xs=big.npy", "-o", "0="]
    run = ["run", "p.weft", "--entry", "scalar", "--arg", "n=1000000", "-o", "1="]
    image = ["image", "o.ms", "--size", "512", "-o"]
    for name in ("SIGTERM", "SIGINT"):
        number = getattr(signal, name)
        for command in (evaluate, run, image):
            whole = command[:-1] + [command[-1] + "fifo.npy"] if command != image else command + ["fifo.npy"]
            ended_while_waiting("%s into a pipe without a reader, at %s" % (command[0], name), whole, number, stdout=subprocess.DEVNULL)
        out, into = os.pipe()
        ended_while_waiting("image into a reader that sleeps, at " + name, image + ["/dev/stdout"], number, stdout=into)
        os.close(out)
        os.close(into)
    for command in evaluate[:-1] + ["0=fifo.npy"], image + ["fifo.npy"]:
        early = subprocess.Popen(["cat", path("fifo.npy")], stdout=subprocess.PIPE)
        p = subprocess.Popen([GRIDLOOM] + command, cwd=TMP, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        n = len(early.communicate()[0])
        if not n:
            p.kill()
        err = p.communicate()[1]
        check(p.returncode == 0 and n > 1 << 20, "%s to a reader that is there before: %d bytes, exit %d: %s" % (command[0], n, p.returncode, err))
    check(not glob.glob(path("*.tmp-*")), "commands at pipes leave " + " ".join(glob.glob(path("*.tmp-*"))))
    reader = os.open(path("fifo.npy"), os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    p = subprocess.Popen([GRIDLOOM] + evaluate[:-1] + ["0=fifo.npy"], cwd=TMP, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    h, n = hashlib.sha256(), 0
    while p.poll() is None or n == 0:
        piece = os.read(reader, 1 << 16)
        h.update(piece)
        n += len(piece)
        if not piece and p.poll() is not None:
            break
        time.sleep((0.3 if n < 1 << 19 else 0) if piece else 0.05)
    while piece:
        piece = os.read(reader, 1 << 16)
        h.update(piece)
    os.close(reader)
    err = p.communicate()[1]
    check(p.returncode == 0 and h.digest() == digest_of("big.npy"), "a slow reader gets %d bytes: exit %d: %s" % (n, p.returncode, err))
    os.remove(path("fifo.npy"))


def digest_of(name):
    with open(path(name), "rb") as f:
        return hashlib.sha256(f.read()).digest()


def main():
    shutil.rmtree(TMP, ignore_errors=True)
    os.makedirs(TMP)
    for name, text in (("p", PROGRAM), ("big", "entry main (xs: []f64) : ([]f64, []f64) = (xs, xs)\n"),
                       ("q", "entry one (xs: seq f64) : []f64 = [fold_seq (+) 0 xs]\nentry ragged (xss: [][]f64) : [][]f64 = xss\n"),
                       ("slow", "entry slow (xs: seq f64) : f64 =\n"
                        "  fold_seq (+) 0 (map_seq (\\x -> loop y = x for i < 400000 do f64.sin (y + f64 i)) xs)\n")):
        with open(path(name + ".weft"), "w") as f:
            f.write(text)
    np.save(path("big.npy"), np.zeros(1 << 24))
    np.save(path("x.npy"), np.zeros(100000))
    printing()
    outputs_without_stdout()
    outputs_that_are_inputs()
    output_on_stdout()
    outputs_on_a_small_disk()
    signals()
    ignored()
    pipes()
    shutil.rmtree(TMP)
    print("failed: %d" % len(failed) if failed else "ok")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
