#!/usr/bin/python3
"""A pipe given as an input: where a file is needed it is refused and said what it is; a program or a list of sources is read from it,
and where nobody writes to it that is told. Outputs that are pipes: cli_outputs.py."""
# timeout: 120
# sanitize: asan
import os, subprocess, sys, threading

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import checks
from checks import expect, gridloom, here

PROGRAM = "entry main (xs: seq f64) : f64 = fold_seq (+) 0 xs\n"
GRIDLOOM = os.path.join(os.environ["GRIDLOOM_BIN"], "gridloom")


def refused(*command):
    p = gridloom(*command)
    expect(" ".join(map(str, command)), p.returncode == 66 and "pipe" in p.stderr and "hint: " in p.stderr, "exit %d: %s" % (p.returncode, p.stderr))


def written_late(command, text):
    """The writer comes when the command has said that it waits for one."""
    p = subprocess.Popen([GRIDLOOM] + command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    timer = threading.Timer(60, p.kill)  # where nothing is said
    timer.start()
    said = p.stderr.readline()
    expect("%s waits" % command[0], "is a pipe; waiting" in said, said)
    if said:
        with open(here("pipe"), "w") as f:
            f.write(text)
    out, err = p.communicate()
    timer.cancel()
    expect("%s from a pipe" % command[0], p.returncode == 0, err)
    return out


checks.begin("cli_pipes")
for name in ("pipe", "pipe.npy", "pipe.fits"):
    os.mkfifo(here(name))
np.save(here("x.npy"), np.arange(5.0))
with open(here("p.weft"), "w") as f:
    f.write(PROGRAM)
made = gridloom("simulate", "-o", here("o.ms"), "--stations", 3, "--times", 2, "--quiet")
expect("simulate", made.returncode == 0, made.stderr)
refused("image", here("pipe.fits"), "-o", here("o.fits"))
refused("image", here("o.ms"), "-o", here("o.fits"), "--aterm", here("pipe.npy"))
refused("predict", here("o.ms"), "--model", here("pipe"))
for command in ("run", "eval"):
    refused(command, here("p.weft"), "--stream", "xs=" + here("pipe.npy"))
    out = written_late([command, here("pipe"), "--stream", "xs=" + here("x.npy")], PROGRAM)
    expect("%s a program from a pipe" % command, out == "10\n", out)
written_late(["check", here("pipe")], PROGRAM)
written_late(["simulate", "--sources", here("pipe"), "-o", here("s.ms"), "--stations", "3", "--times", "2", "--quiet"], "0 0 1\n")
q = subprocess.run([GRIDLOOM, "eval", "/dev/stdin", "--stream", "xs=" + here("x.npy")], input=PROGRAM, capture_output=True, text=True)
expect("a program on standard input", q.returncode == 0 and q.stdout == "10\n", q.stderr)
checks.end()
