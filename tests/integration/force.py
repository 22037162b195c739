#!/usr/bin/python3
"""`--force` makes the compiler choose what it would not: explain shows each choice, run gives the same with all of them, and words
that are no choice are refused before anything runs."""
# timeout: 300
import os
import re
import shutil
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from weftgen.farm import Farm

BIN = os.environ["GRIDLOOM_BIN"]
TMP = os.path.join(os.environ["LOOM_TMP"], "force")
failed = []

ROWS = """entry main [m] (s: seq ([m]f64)) : ([]f64, []f64) =
  (from_seq (map_seq (\\r -> sum (map (* 2) r)) s), from_seq (map_seq (\\r -> r[0] + f64 (length r)) s))"""
BRANCHES = """entry main (s: seq i64) : []i64 =
  from_seq (map_seq (\\x -> if x % 3 == 0 then x + 1 else 2 * x) s)"""
TURNS = """entry main (s: seq i64) : []i64 =
  from_seq (map_seq (\\x -> loop a = x while a < 100 do 3 * a + 1) s)"""
STRIPS = """entry main [n] (s: seq ([n]c128)) (k: [8]c128) : []f64 =
  from_seq (map_seq (\\r -> sum (map re (ifft (map (* 2) (fft (map2 (*) (take 8 (r ++ k)) k)))))) s)"""
CHOSEN = """entry main (a: [][]f64) (at: []i64) : [](f64, f64) =
  let rows = map (\\i -> a[i % length a]) at
  in map (\\r -> (sum r, maximum r)) rows"""
# The first thing that is made has an extent that is a number of the input.
GIVEN = """entry main [m] [n] (ns: [n]i64) (ms: [m]i64) (h: i64) : [][]c128 =
  if n == 0 then replicate m (replicate h (complex 1f64 0f64)) else (replicate n (replicate m (replicate h (complex 1f64 0f64))))[sum (iota n) % n]"""

# choice, program, what only the forced plan has, what only the other one has; of `explain --stage schedule --size 6`
EFFECTS = [
    ("schedule=flat", STRIPS, None, r"strip of"),
    ("representation=irregular", ROWS, r"offsets", None),
    ("conditionals=split", BRANCHES, r"permute", r"-> v4: i64 \[chunk\]"),
    ("loops=compact", TURNS, r"loop ->.*(\n.*)+collects", None),
    ("fusion=none", BRANCHES, r"compute.*\n(.*\n)*.*compute", None),
    ("sizes=symbolic", ROWS, r"extent", None),
]


def gridloom(*words, code=0):
    p = subprocess.run([os.path.join(BIN, "gridloom")] + list(words), cwd=TMP, capture_output=True, text=True, timeout=100)
    if p.returncode != code:
        failed.append("gridloom %s: exit %d, expected %d: %s" % (" ".join(words), p.returncode, code, p.stderr[-400:]))
    return p.stdout + p.stderr


def write(program):
    with open(os.path.join(TMP, "p.weft"), "w") as f:
        f.write(program)


def effects():
    for choice, program, has, other in EFFECTS:
        write(program)
        words = ["explain", "p.weft", "--stage", "schedule", "--size", "6"]
        plain, forced = gridloom(*words), gridloom(*words, "--force", choice)
        if plain == forced:
            failed.append("%s changes nothing" % choice)
        if has and (not re.search(has, forced)):
            failed.append("%s: no %s in\n%s" % (choice, has, forced))
        if other and (re.search(other, forced) or not re.search(other, plain)):
            failed.append("%s: %s in\n%s\nbut in\n%s" % (choice, other, forced, plain))


def inputs(program):
    r = np.random.default_rng(3)
    made = {"s": r.normal(0, 1, (37, 6)) if "[m]f64)" in program else r.integers(-9, 60, 37)}
    if program == STRIPS:
        made = {"s": r.normal(0, 1, (37, 6)) + 1j, "k": r.normal(0, 1, 8) + 1j}
    if program == CHOSEN:
        made = {"a": r.normal(0, 1, (5, 6)), "at": r.integers(0, 50, 30)}
    if program == GIVEN:
        made = {"ns": np.array([1, 1, 1]), "ms": np.zeros(8, np.int64)}
    words = ["--arg", "h=9"] if program == GIVEN else []
    for name, v in made.items():
        np.save(os.path.join(TMP, name + ".npy"), v)
        words += ["--stream" if name == "s" else "--arg", "%s=%s.npy" % (name, name)]
    return words


def same_results(farm):
    every = ["%s=%s" % (k, v) for k, values in farm.choices().items() for v in values]
    if len(every) < 9:
        failed.append("help names %s" % every)
    for program in (ROWS, BRANCHES, TURNS, STRIPS, CHOSEN, GIVEN):
        write(program)
        words = inputs(program)
        parts = 2 if program in (ROWS, CHOSEN) else 1
        outs = lambda which: [w for i in range(parts) for w in ("-o", ("%d=" % i if parts > 1 else "") + "%s%d.npy" % (which, i))]
        gridloom("eval", "p.weft", *words, *outs("want"))
        for choice in every + ["representation=irregular,conditionals=split,loops=compact,fusion=none,schedule=flat,sizes=symbolic,references=copy"]:
            code, said = farm.run([os.path.join(TMP, w) if w == "p.weft" else w for w in ["p.weft", *words, *outs("got")]], 8, choice)
            if code or "interpreted" in said:
                failed.append("%s: exit %d, or not compiled: %s" % (choice, code, said))
                continue
            for i in range(parts):
                want, got = (np.load(os.path.join(TMP, "%s%d.npy" % (w, i))) for w in ("want", "got"))
                if want.shape != got.shape or not np.allclose(want, got, 1e-12):
                    failed.append("%s: %s, expected %s" % (choice, got, want))


def refused():
    write(ROWS)
    for words, part in ((["schedule=fast"], "expected schedule=, and one of flat, strip, rows"), (["speed=high"], "expected one of schedule, representation"),
                        (["schedule=flat,schedule=rows"], "two values of schedule"), (["schedule"], "cannot be forced")):
        for command in (["run", "p.weft", *inputs(ROWS)], ["explain", "p.weft"]):
            said = gridloom(*command, "--force", *words, code=64)
            if part not in said:
                failed.append("%s --force %s: %s" % (command[0], words[0], said))


shutil.rmtree(TMP, ignore_errors=True)
os.makedirs(TMP)
effects()
os.chdir(TMP)
farm = Farm(BIN)
try:
    same_results(farm)
finally:
    farm.stop()
refused()
print("\n".join(failed) or "ok")
sys.exit(1 if failed else 0)
