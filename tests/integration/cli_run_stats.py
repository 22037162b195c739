#!/usr/bin/python3
"""What `run --stats` tells of time: compiling takes no longer than the run, however many stages compile side by side."""
# timeout: 200
import json
import os
import shutil
import subprocess
import sys

import numpy as np

BIN = os.environ["GRIDLOOM_BIN"]
TMP = os.path.join(os.environ["LOOM_TMP"], "cli_run_stats")
STREAMS = 6


def main():
    shutil.rmtree(TMP, ignore_errors=True)
    os.makedirs(TMP)
    params = " ".join("(s%d: seq c64)" % i for i in range(STREAMS))
    sums = ", ".join("fold_seq (+) 0 (map_seq (\\v -> sum (map (\\k -> c64.exp (ifft (fft (replicate (8 + %d) v)))[k %% 8]) (iota 16))) s%d)" % (i, i)
                     for i in range(STREAMS))
    with open(os.path.join(TMP, "p.weft"), "w") as f:
        f.write("entry main %s : (%s) = (%s)\n" % (params, ", ".join(["c64"] * STREAMS), sums))
    np.save(os.path.join(TMP, "s.npy"), np.ones(4, np.complex64))
    words = ["--stats", "stats.json"]
    for i in range(STREAMS):
        words += ["--stream", "s%d=s.npy" % i]
    p = subprocess.run([os.path.join(BIN, "gridloom"), "run", "p.weft"] + words, cwd=TMP, capture_output=True, text=True, timeout=150,
                       env=dict(os.environ, XDG_CACHE_HOME=os.path.join(TMP, "cache")))
    if p.returncode:
        sys.exit("run: exit %d: %s" % (p.returncode, p.stderr))
    with open(os.path.join(TMP, "stats.json")) as f:
        seconds = json.load(f)["seconds"]
    shutil.rmtree(TMP)
    if not 0 < seconds["compile"] <= seconds["total"]:
        sys.exit("compile %g s of a total of %g s" % (seconds["compile"], seconds["total"]))
    print("ok")


if __name__ == "__main__":
    main()
