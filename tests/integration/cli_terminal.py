#!/usr/bin/python3
"""What `run` draws on a terminal: a label in every line, no estimate before something is done, and one that counts down."""
# timeout: 200
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time

import numpy as np

BIN = os.environ["GRIDLOOM_BIN"]
TMP = os.path.join(os.environ["LOOM_TMP"], "cli_terminal")
PROGRAM = """
def slow (x: f64) : f64 = loop y = x for i < 40000 do f64.sin (y + f64 i)
entry main (xs: seq f64) : f64 =
  let mean = fold_seq (+) 0 (map_seq slow xs)
  let more = fold_seq (+) 0 (map_seq (\\x -> slow (x - mean)) xs)
  in fold_seq f64.max 0 (map_seq (\\x -> slow (x - more)) xs)
"""


def draw(*arguments):
    """The lines drawn over each other, with the time of each."""
    master, slave = pty.openpty()
    p = subprocess.Popen([os.path.join(BIN, "gridloom")] + list(arguments), cwd=TMP, stdout=subprocess.DEVNULL, stderr=slave)
    os.close(slave)
    text, lines, until = "", [], time.time() + 150
    while time.time() < until:
        if not select.select([master], [], [], 0.1)[0]:
            if p.poll() is not None:
                break
            continue
        try:
            got = os.read(master, 65536).decode()
        except OSError:
            break
        text += got
        lines += [(time.time(), line) for line in got.replace("\r", "").split("\033[K") if line]
    code = p.wait(60)
    assert code == 0, (code, text)
    assert text.endswith("\r\033[K"), repr(text[-200:])
    return lines


def seconds(line):
    m = re.search(r"(?:(\d+) min )?(\d+) s left", line)
    return int(m[1] or 0) * 60 + int(m[2]) if m else None


def main():
    shutil.rmtree(TMP, ignore_errors=True)
    os.makedirs(TMP)
    with open(os.path.join(TMP, "p.weft"), "w") as f:
        f.write(PROGRAM)
    np.save(os.path.join(TMP, "x.npy"), np.random.default_rng(1).random(8000))
    lines = draw("run", "p.weft", "--stream", "xs=x.npy", "--block", "1000", "--threads", "1")
    assert len(lines) > 5, lines
    before = {}
    for when, line in lines:
        assert line in ("compiling", "starting", "waiting for a worker") or re.match(r"\[\d+/\d+\] [^ ]", line), line
        if re.search(r"\s0 %", line):
            assert "left" not in line, line
        stage, left, part = line.split()[0], seconds(line), re.search(r"\d+ %", line)
        if left is not None:
            if before.get("part") == (stage, part[0]):
                # Between two jumps: time passes, and the estimate with it (in whole seconds).
                assert left <= before["left"], (before, line)
            before = {"part": (stage, part[0]), "left": left}
    indices = [int(m[1]) for m in (re.match(r"\[(\d+)/", line) for _, line in lines) if m]
    assert indices == sorted(indices), indices
    shutil.rmtree(TMP)
    print("ok")


if __name__ == "__main__":
    sys.exit(main())
