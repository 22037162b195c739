#!/usr/bin/python3
"""Where the system gives a command too little (open files, address space, room for files), the command says what, and what helps:
never a hang, a signal, or words of a library alone."""
# timeout: 300
import os, resource, subprocess, sys, tarfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import checks, given
from checks import expect, here

GRIDLOOM = os.path.join(os.environ["GRIDLOOM_BIN"], "gridloom")
SYSTEM, IO = 71, 74


def commands():
    return {"run": ["run", here("p.weft"), "--stream", "xs=" + here("x.npy")],
            "image": ["image", here("base.ms"), "-o", here("o.fits"), "--size", "512", "--quiet"]}


def limited(what, limit, value, names, codes, *words):
    for name in names:
        p = subprocess.run([GRIDLOOM] + commands()[name], capture_output=True, text=True, timeout=120,
                           preexec_fn=lambda: resource.setrlimit(limit, (value, value)))
        good = p.returncode in codes and all(w in p.stderr for w in words) and "hint: " in p.stderr
        expect("%s of %d: %s: exit %d: %s" % (what, value, name, p.returncode, p.stderr), good)
        expect("%s of %d: %s leaves an output" % (what, value, name), not os.path.exists(here("o.fits")))


def raised():
    """A soft limit is this user's to raise."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    for name, command in commands().items():
        p = subprocess.run([GRIDLOOM] + command, capture_output=True, text=True, timeout=120,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (20, hard)))
        expect("a soft limit of 20 files: %s: exit %d: %s" % (name, p.returncode, p.stderr), p.returncode == 0)
    os.remove(here("o.fits"))


def small_folder():
    """The folder of temporary files is full from the beginning, or soon."""
    small = here("small")
    os.makedirs(small)
    for size in ("4k", "32k", "64k", "96k"):
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + size, "t", small], capture_output=True).returncode:
            print("a small folder: no file system can be mounted here")
            return
        try:
            for name, command in commands().items():
                p = subprocess.run([GRIDLOOM] + command, capture_output=True, text=True, timeout=120, env=dict(os.environ, TMPDIR=small))
                good = p.returncode == IO and "No space left" in p.stderr and small in p.stderr and "TMPDIR" in p.stderr
                expect("TMPDIR of %s: %s: exit %d: %s" % (size, name, p.returncode, p.stderr), good)
                expect("TMPDIR of %s: %s leaves %s" % (size, name, os.listdir(small)), not os.listdir(small))
        finally:
            subprocess.run(["umount", small], check=True)


checks.begin("system_limits")
with tarfile.open(given.find("cases/base.tgz")) as f:
    f.extractall(here("."))
with open(here("p.weft"), "w") as f:
    f.write("entry main (xs: seq f64) : f64 = fold_seq (+) 0 xs\n")
np.save(here("x.npy"), np.ones(1000))
for files in (8, 20, 40):
    limited("open files", resource.RLIMIT_NOFILE, files, commands() if files > 10 else ["run"], (SYSTEM,), "ulimit -n")
for mebibytes in (150, 250, 380):
    limited("address space", resource.RLIMIT_AS, mebibytes << 20, commands(), (SYSTEM,), "ulimit -v")
for kibibytes in (1, 16, 64):
    limited("file size", resource.RLIMIT_FSIZE, kibibytes << 10, commands() if kibibytes > 10 else ["run"], (IO,), "File too large", "ulimit -f")
raised()
small_folder()
checks.end()
