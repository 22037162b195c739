"""A daemon and a worker of one's own, programs run on them and interpreted, results compared."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import numpy as np


class Farm:
    """`call` runs one gridloom command; a worker or daemon that died is said and started again."""
    def __init__(self, bin, workers=(2, 1)):
        self.bin, self.workers = bin, workers  # threads of each
        self.folder = tempfile.mkdtemp(prefix="fuzz-weft-")
        self.endpoint = "ipc://%s/control" % self.folder
        self.processes, self.known_choices = {}, None
        self.start()

    def start(self):
        env = dict(os.environ, GRIDLOOM_LOG="error")
        words = {"gridloomd": ["gridloomd", "--listen", self.endpoint, "--store", self.folder + "/store"]}
        for i, threads in enumerate(self.workers):
            words["worker %d" % i] = ["gridloom-worker", "--connect", self.endpoint, "--threads", str(threads), "--memory", "1GiB"]
        for name, (program, *options) in words.items():
            if name not in self.processes:
                log = open(os.path.join(self.folder, name + ".log"), "ab")
                self.processes[name] = subprocess.Popen([os.path.join(self.bin, program)] + options, env=env, stdout=log, stderr=log)

    def died(self):
        """What died since the last look, or None."""
        for name, p in list(self.processes.items()):
            if p.poll() is not None:
                del self.processes[name]
                self.start()
                said = open(os.path.join(self.folder, name + ".log"), errors="replace").read()[-400:]
                return "%s died: %d %s" % (name, p.returncode, said)
        return None

    def stop(self):
        for p in reversed(list(self.processes.values())):
            p.send_signal(signal.SIGTERM)
        for p in self.processes.values():
            try:
                p.wait(10)
            except subprocess.TimeoutExpired:
                p.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, words, timeout=180):  # a machine may have much else to do
        """Exit status (negative: by a signal; 124: no end) and what was said."""
        p = subprocess.Popen([os.path.join(self.bin, "gridloom")] + words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, errors="replace")
        end = time.time() + timeout
        while True:
            try:
                out, err = p.communicate(timeout=2)
                return p.returncode, err + out
            except subprocess.TimeoutExpired:
                died = self.died()
                if died or time.time() > end:
                    p.terminate()
                    try:
                        p.communicate(timeout=5)
                    except subprocess.TimeoutExpired:
                        p.kill()
                        p.communicate()
                    return 124, died or "no end after %d s" % timeout

    def choices(self):
        """What `run --force` takes: by key the values."""
        if self.known_choices:
            return self.known_choices
        _, said = self.call(["run", "--help"])
        found = {}
        for key, value in re.findall(r"(\w+)=(\w+)", said[said.index("--force"):].split(" of", 1)[1].split(".")[0]):
            found.setdefault(key, []).append(value)
        self.known_choices = found
        return found

    def run(self, words, block, force=""):
        forced = ["--force", force] if force else []
        code, said = self.call(["run"] + words + forced + ["--block", str(block), "--connect", self.endpoint, "--remarks"])
        died = self.died()
        return (139, died) if died else (code, said)


def difference(want, got, tolerance, loose=False):
    """None, or how the arrays differ: integers exactly, floats to a part of the largest magnitude; `loose`, of what transforms
    give: or of 1, as what is left where numbers of that size cancel is anything, and anything where some are not finite."""
    if want.shape != got.shape or want.dtype != got.dtype:
        return "shape or type %s %s, expected %s %s" % (got.shape, got.dtype, want.shape, want.dtype)
    if want.dtype.kind in "iub":
        return None if np.array_equal(want, got) else "differs: %s, expected %s" % first_difference(want, got)
    if want.dtype.kind == "c":
        part = want.real.dtype
        return difference(np.ascontiguousarray(want).view(part), np.ascontiguousarray(got).view(part), tolerance, loose)
    if loose and not np.isfinite(want).all():
        return None
    if not np.array_equal(np.isnan(want), np.isnan(got)):
        return "NaN at other places: %s, expected %s" % first_difference(want, got)
    ok = np.isfinite(want)
    if not np.array_equal(want[~ok & ~np.isnan(want)], got[~ok & ~np.isnan(want)]):
        return "infinities differ: %s, expected %s" % first_difference(want, got)
    if not ok.any():
        return None
    w, g = want[ok].astype(float), got[ok].astype(float)
    scale = max(1.0 if loose else 1e-300, np.abs(w).max())
    err = np.abs(w / scale - g / scale).max()
    return None if err <= tolerance else "off by %.3g of the largest: %s, expected %s" % ((err,) + first_difference(want, got))


def first_difference(want, got):
    w, g = want.reshape(-1), got.reshape(-1)
    at = np.nonzero((w != g) & ~((w != w) & (g != g)))[0]
    i = at[0] if len(at) else 0
    return (g[i], "%s at %d of %d" % (w[i], i, len(w)))
