#!/usr/bin/python3
"""Rows whose lengths are computed: how much a chunk takes is known only when it has been tried. With little memory and blocks of any
length the result is that of numpy."""
# timeout: 120
import os, subprocess, sys
import numpy as np

BIN, TMP = os.environ["GRIDLOOM_BIN"], os.path.join(os.environ["LOOM_TMP"], "irregular_memory")
os.makedirs(TMP, exist_ok=True)
PROGRAM = """
entry main (k: seq i64) : i64 = fold_seq (+) 0 (map_seq (\\k -> sum (scan (+) 0 (filter (> 2) (generate k (\\i -> i * k))))) k)
"""
with open(os.path.join(TMP, "p.weft"), "w") as f:
    f.write(PROGRAM)
failed = []


def one(k):
    x = np.arange(k, dtype=np.int64) * k
    return int(np.cumsum(x[x > 2]).sum())


def check(name, k, memory, block):
    path = os.path.join(TMP, name + ".npy")
    np.save(path, k)
    p = subprocess.run([os.path.join(BIN, "gridloom"), "run", os.path.join(TMP, "p.weft"), "--stream", "k=" + path, "--memory", memory,
                        "--block", str(block), "--quiet"], capture_output=True, text=True)
    want = sum(one(int(v)) * int(n) for v, n in zip(*np.unique(k, return_counts=True)))
    if p.returncode or int(p.stdout) != want:
        failed.append("%s, %s, blocks of %d: %s%s, expected %d" % (name, memory, block, p.stdout, p.stderr, want))
    print("%s, %s, blocks of %d: %s" % (name, memory, block, p.stdout.strip()))


alike = np.full(30000, 300)  # 300 MB at once
for block in (1000, 30000):
    check("alike", alike, "64MiB", block)
last = np.concatenate([np.zeros(190000, int), np.full(1000, 2000)])
for block in (500, 2000, 200000):
    check("last", last, "20MiB", block)
first = np.concatenate([np.full(1000, 2000), np.zeros(190000, int)])  # blocks without any rows after long ones
check("first", first, "20MiB", 20000)
if failed:
    sys.exit("\n".join(failed))
print("ok")
