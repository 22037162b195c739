#!/usr/bin/python3
"""What is not compiled says so, with the rule and the line of the program: in `run --remarks`, in the statistics, and where it
does not depend on the data in `explain` too. Where that took long, `run` and `bench` say it unasked, in one line."""
# timeout: 240
import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np

BIN = os.environ["GRIDLOOM_BIN"]
TMP = os.path.join(os.environ["LOOM_TMP"], "cli_run_remarks")
failed = []

# name, program, words of the remark, whether explain can know
CASES = [
    ("irregular rows", """entry main (xss: seq ([]f64)) : [][]f64 =
  from_seq (map_seq (\\xs ->
    map sum ([[xs, map (+ 1) xs], [[]]] with [0, 1] = xs[:])[0]) xss)""", r"interpreted: p\.weft:3: an inner extent that is not known here", False),
    ("rows of an extent of the element", """entry main (s: seq i64) : []i64 =
  from_seq (map_seq (\\i ->
    sum ([[iota i, iota 2], [[]]] with [0, 1] = [7])[0][1]) s)""", r"interpreted: p\.weft:3: an inner extent", True),
    ("under a condition", """entry main (s: seq i64) : []i64 =
  from_seq (map_seq (\\i ->
    if i > 2
    then sum (map length ([[iota i, iota 2], [[]]] with [0, 1] = iota i)[0])
    else 0) s)""", r"interpreted: p\.weft:4: an inner extent", True),
    ("fold of a stream of rows", """entry main (s: seq i64) : []i64 =
  fold_seq (++) []
    (map_seq (\\k -> [k, k]) s)""", r"interpreted: an operator whose result may differ in shape", True),
    ("a chain in a group", """entry main (s: seq i64) : []i64 =
  from_seq (group_seq 3 (\\x -> [x % 3]) s (\\k ys ->
    chain_seq k (-) ys))""", r"interpreted by one worker: p\.weft:3: chain_seq: inside group_seq", True),
    ("a state that grows", """entry main (s: seq i64) : []i64 =
  chain_seq [] (\\a x -> a ++ [x]) s""", r"interpreted: p\.weft:2: a state that may change its shape from chunk to chunk", True),
]


def gridloom(*words):
    return subprocess.run([os.path.join(BIN, "gridloom")] + list(words), cwd=TMP, capture_output=True, text=True, timeout=100)


def check(name, program, rule, explained):
    with open(os.path.join(TMP, "p.weft"), "w") as f:
        f.write(program + "\n")
    words = ["--stream", "s=i.npy"]
    if "xss" in program:
        words = ["--stream", "xss=r.npy,n.npy"]
    if "a: i64" in program:
        words = ["--stream", "s.a=three.npy", "--stream", "s.b=r.npy,n.npy"]
    p = gridloom("run", "p.weft", "--remarks", "--stats", "stats.json", *words)
    if p.returncode or not re.search("^remark: .*" + rule, p.stderr, re.M):
        failed.append(name)
        print("%s: run exits with %d and says %s" % (name, p.returncode, p.stderr.strip()))
        return
    with open(os.path.join(TMP, "stats.json")) as f:
        remarks = json.load(f)["remarks"]
    if len(remarks) != 1 or not re.search(rule, remarks[0]):
        failed.append(name)
        print("%s: statistics hold %s" % (name, remarks))
    p = gridloom("explain", "p.weft", "--stage", "plan")
    if explained and not re.search("remark: .*" + rule, p.stdout):
        failed.append(name)
        print("%s: explain says %s" % (name, p.stdout.strip()))


def check_not_compiled():
    """The compiler is killed whenever it works on a stage: three times, then the stage is interpreted, and its user is told."""
    folder = os.path.join(TMP, "bin")
    os.makedirs(folder)
    for name in ("gridloomd", "gridloom-worker"):
        shutil.copy(os.path.join(BIN, name), os.path.join(folder, name))  # links would lead it to its own compiler
    compiler = os.path.join(folder, "gridloom-compile")
    with open(compiler, "w") as f:
        f.write("#!/bin/sh\nmkdir %s/graph 2>/dev/null && exec %s/gridloom-compile\ntest $(head -c 8 | wc -c) = 8 || exit 0\necho x >>%s/killed\nkill -KILL $$\n"
                % (TMP, BIN, TMP))
    os.chmod(compiler, 0o755)
    with open(os.path.join(TMP, "p.weft"), "w") as f:
        f.write("entry main (s: seq i64) : i64 = fold_seq (+) 0 s\n")
    for more, told in ([], True), (["--remarks"], True), (["--quiet"], False):
        for left in ("graph", "killed"):
            path = os.path.join(TMP, left)
            os.rmdir(path) if os.path.isdir(path) else os.path.exists(path) and os.remove(path)
        p = subprocess.run([os.path.join(BIN, "gridloom"), "run", "p.weft", "--stream", "s=i.npy"] + more, cwd=TMP, capture_output=True, text=True,
                           timeout=100, env=dict(os.environ, GRIDLOOM_BIN=folder, XDG_CACHE_HOME=os.path.join(TMP, "cache")))
        with open(os.path.join(TMP, "killed")) as f:
            killed = len(f.readlines())
        said = len(re.findall("interpreted, because it could not be compiled: .*signal 9", p.stderr))
        if p.returncode or killed != 3 or said != told or not told and p.stderr:
            failed.append("not compiled")
            print("a compiler that is killed: %d times, exit %d: %s" % (killed, p.returncode, p.stderr))


LONG = 300000  # turns of a loop for each element: about a second for all
NOTED = [  # name, program, the note where elements turn so often
    ("a fold", """entry main (turns: i64) (s: seq i64) : []i64 =
  fold_seq (++) [] (map_seq (\\k -> [loop a = k for i < turns do a ^ (i + k)]) s)""",
     r"traversal 0: fold_seq \(p\.weft:2\): interpreted: an operator whose result may differ in shape.*"),
    ("a whole program", """entry main (turns: i64) (s: seq i64) : i64 =
  sum (from_seq (group_seq 1 (\\_ -> [0]) s (\\k ys -> chain_seq k (\\a x -> loop b = a for i < turns do b ^ (i + x)) ys)))""",
     r"interpreted by one worker: p\.weft:2: chain_seq: inside group_seq.*"),
    ("two stages", """entry main (turns: i64) (s: seq i64) : []i64 =
  let a = fold_seq (++) [] (map_seq (\\k -> [k]) s)
  in fold_seq (++) [] (map_seq (\\k -> [loop b = k + length a for i < turns do b ^ (i + k)]) s)""",
     r"traversal 1: fold_seq \(p\.weft:3\): interpreted: an operator .*with 1 more, see (run )?--remarks"),
    ("a compiled program", """entry main (turns: i64) (s: seq i64) : i64 =
  fold_seq (+) 0 (map_seq (\\k -> loop a = k for i < turns do a ^ (i + k)) s)""", None),
]


def check_noted(name, program, note):
    with open(os.path.join(TMP, "p.weft"), "w") as f:
        f.write(program + "\n")
    for command, turns, more, told in [("run", LONG, [], True), ("run", LONG, ["--quiet"], False), ("run", LONG, ["--remarks"], False),
                                       ("run", 1, [], False), ("eval", LONG, [], False), ("bench", LONG, ["--runs", "1"], True)]:
        p = gridloom(command, "p.weft", "--arg", "turns=%d" % turns, "--stream", "s=some.npy", *more, *(["-o", "o.npy"] if "[]i64 =" in program and command != "bench" else []))
        lines = [line for line in p.stderr.splitlines() if not line.startswith("remark: ")]
        right = not lines
        if told and note:
            right = len(lines) == 1 and re.fullmatch(r"note: " + note + r"\)", lines[0]) and re.search(r"\([0-9.e+]+ s in the interpreter", lines[0])
        if p.returncode or not right:
            failed.append(name)
            print("%s: %s, %d turns, %s: exits with %d and says %s" % (name, command, turns, more, p.returncode, p.stderr.strip()))


def main():
    shutil.rmtree(TMP, ignore_errors=True)
    os.makedirs(TMP)
    for name, x in [("i", np.arange(8)), ("r", np.arange(6.)), ("n", np.array([1, 2, 3])), ("three", np.arange(3)), ("some", np.arange(100))]:
        np.save(os.path.join(TMP, name), x)
    for case in CASES:
        check(*case)
    for case in NOTED:
        check_noted(*case)
    check_not_compiled()
    shutil.rmtree(TMP)
    print("failed: " + ", ".join(failed) if failed else "ok")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
