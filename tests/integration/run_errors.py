#!/usr/bin/python3
"""An error of a running program is told alike by `eval` and by `run`: file, line and column, what was expected and found, where
both sizes of a mismatch come from, the element and a hint. Only `run` also names the block; and it need not name the first element
where the error does not depend on the element: that is computed before any of them."""
# timeout: 300
# sanitize: asan
import os
import re
import shutil
import subprocess
import sys

import numpy as np

BIN = os.environ["GRIDLOOM_BIN"]
TMP = os.path.join(os.environ["LOOM_TMP"], "run_errors")
MORE = re.compile(r"^  (in block \d+|they are parameters \d+ and \d+ of the entry)$")
FIRST = "  at element 0 of the stream"
failed = []

# name, program, inputs, what both must say
CASES = [
    ("unequal streams", "(a: seq f64) (b: seq f64) : f64 = fold_seq (+) 0 (zip_with_seq (*) a b)", "--stream a=f4 --stream b=f3",
     ["e.weft:1:", "unequal lengths: 4 and 3", "a has 4, b has 3"]),
    ("claim of a number", "(x: [4]f64) (s: seq f64) : f64 = fold_seq (+) 0 (map_seq (\\v -> v * sum x) s)", "--arg x=f5 --stream s=f4",
     ["a length of 4 is claimed at level 0 (e.weft:1:14), found 5 (e.weft:1:10)", "hint: level 0 is the outermost"]),
    ("claim of a name", "[n] (x: [n]f64) (y: [n]f64) (s: seq f64) : f64 = fold_seq (+) 0 (map_seq (\\v -> v * sum x * sum y) s)",
     "--arg x=f5 --arg y=f4 --stream s=f4", ["a length of 5 is claimed at level 0 (e.weft:1:17), found 4 (e.weft:1:26)"]),
    ("claim of the second level", "[n] (x: [n]f64) (y: [][n]f64) (s: seq f64) : f64 = fold_seq (+) 0 "
     "(map_seq (\\v -> v * sum x * sum (map sum y)) s)", "--arg x=f5 --arg y=m --stream s=f4",
     ["a length of 5 is claimed at level 1 (e.weft:1:17), found 3 (e.weft:1:26)"]),
    ("claim about elements", "[n] (x: [n]f64) (s: seq ([n]f64)) : f64 = fold_seq (+) 0 (map_seq (\\v -> sum v * sum x) s)",
     "--arg x=f5 --stream s=m", ["a length of 5 is claimed at level 0 (e.weft:1:17), found 3 (e.weft:1:29)"]),
    ("claim on the result", "(n: i64) (s: seq i64) : [n]i64 = from_seq s", "--arg n=3 --stream s=i8",
     ["a length of 3 is claimed at level 0 (e.weft:1:10), found 8 (e.weft:1:"]),
    ("index", "(x: []f64) (s: seq i64) : f64 = fold_seq (+) 0 (map_seq (\\i -> x[i]) s)", "--arg x=f5 --stream s=i8",
     ["index 5 is outside an array of length 5", "hint: indices go from 0", "at element 5 of the stream"]),
    ("division in a map", "(s: seq i64) : i64 = fold_seq (+) 0 (map_seq (\\i -> 6 / (i - 2)) s)", "--stream s=i8",
     ["division by zero in `/`", "hint: test for it before", "at element 2 of the stream"]),
    ("division in an operator", "(s: seq i64) : i64 = fold_seq (\\a b -> a + 6 / b) 0 s", "--stream s=i8",
     ["division by zero in `/`", "at element 0 of the stream"]),
    ("remainder", "(s: seq i64) : i64 = fold_seq (+) 0 (map_seq (\\i -> 6 %% (i - 2)) s)", "--stream s=i8", ["division by zero in `%%`"]),
    ("division after the stream", "(s: seq i64) : i64 = let t = fold_seq (+) 0 s in 5 / (t - 28)", "--stream s=i8",
     ["division by zero in `/`", "hint: test"]),
    ("shift", "(s: seq i64) : i64 = fold_seq (+) 0 (map_seq (\\i -> 1 << (2 - i)) s)", "--stream s=i8",
     ["shift by -1 in `<<`, which is negative", "at element 3 of the stream"]),
    ("update", "(x: []f64) (s: seq i64) : f64 = fold_seq (+) 0 (map_seq (\\i -> sum (x with [i] = 1)) s)", "--arg x=f5 --stream s=i8",
     ["index 5 is outside an array of length 5", "at element 5 of the stream"]),
    ("slice that ends outside", "(x: []f64) (n: i64) (s: seq f64) : f64 = fold_seq (+) 0 (map_seq (\\v -> v * sum x[1:n]) s)",
     "--arg x=f5 --arg n=6 --stream s=f4", ["slice up to 6 of an array of length 5", "hint: expected 0 <= from <= to <= length"]),
    ("slice the wrong way", "(x: []f64) (n: i64) (s: seq f64) : f64 = fold_seq (+) 0 (map_seq (\\v -> v * sum x[3:n]) s)",
     "--arg x=f5 --arg n=1 --stream s=f4", ["slice from 3 to 1"]),
    ("slice downwards", "(x: []f64) (n: i64) (s: seq f64) : f64 = fold_seq (+) 0 (map_seq (\\v -> v * sum x[n:1:-1]) s)",
     "--arg x=f5 --arg n=5 --stream s=f4", ["slice from 5 of an array of length 5", "hint: with a negative step"]),
    ("slice by the element", "(x: []f64) (s: seq i64) : f64 = fold_seq (+) 0 (map_seq (\\i -> sum x[1:i]) s)", "--arg x=f5 --stream s=i8",
     ["slice from 1 to 0", "at element 0 of the stream"]),
    ("arrays of two lengths", "(x: []f64) (y: []f64) (s: seq f64) : f64 = fold_seq (+) 0 (map_seq (\\v -> v * sum (zip_with (*) x y)) s)",
     "--arg x=f5 --arg y=f4 --stream s=f4", ["zip_with over arrays of lengths 5 and 4", "hint: lengths must agree"]),
    ("assertion", "(s: seq i64) : i64 = fold_seq (+) 0 (map_seq (\\i -> assert (i < 3) i) s)", "--stream s=i8",
     ["assertion failed", "at element 3 of the stream"]),
    ("unflatten", "(x: []f64) (n: i64) (s: seq f64) : f64 = fold_seq (+) 0 (map_seq (\\v -> v * sum (flatten (unflatten n 2 x))) s)",
     "--arg x=f5 --arg n=2 --stream s=f4", ["unflatten to 4 elements, but the array has 5", "hint: rows times"]),
    ("reshape", "(n: i64) (s: seq f64) : f64 = fold_seq (+) 0 (map_seq (\\v -> sum (flatten (reshape (n, 2) [v, v, v]))) s)",
     "--arg n=2 --stream s=f4", ["reshape to 4 elements, but the array has 3", "hint: rows times"]),
    ("range", "(n: i64) (s: seq i64) : i64 = fold_seq (+) 0 (map_seq (\\v -> v + sum (2..<n)) s)", "--arg n=1 --stream s=i8",
     ["a range that ends before it begins", "hint: `..<` and `...` go up"]),
    ("step of a range", "(n: i64) (s: seq i64) : i64 = fold_seq (+) 0 (map_seq (\\v -> v + sum (2..n..<9)) s)", "--arg n=1 --stream s=i8",
     ["second element does not lie beyond its first"]),
    ("groups", "(n: i64) (s: seq i64) : []i64 = from_seq (group_seq n (\\x -> [x]) s (\\k ys -> fold_seq (+) 0 ys))",
     "--arg n=-3 --stream s=i8", ["group_seq with -3 groups, expected 0 or more", "hint: groups are numbered"]),
    ("groups of an element", "(n: i64) (s: seq i64) : []i64 = from_seq (group_map_seq n (\\x -> [x]) (+) 0 s (\\k ys -> map_seq (+ k) ys))",
     "--arg n=-3 --stream s=i8", ["group_map_seq with -3 groups, expected 0 or more"]),
    ("empty minimum", "(n: i64) (s: seq f64) : f64 = fold_seq (+) 0 (map_seq (\\v -> v + fold1 f64.min (map (+ v) (replicate n 1))) s)",
     "--arg n=0 --stream s=f4", ["fold1 of an empty array", "hint: `fold` with a neutral element"]),
    ("interpreted, in a later block", "(s: seq i64) : i64 = fold_seq (+) 0 (map_seq (\\i -> if i < 9 then "
     "sum (map (\\k -> 10 / k) (((map (\\k -> iota (k + 1)) (iota 3)) with [2, 0] = i)[2])) else 0) s)",
     "--stream s=i8", ["division by zero in `/`", "at element 0 of the stream", "there at element [0]"]),
    ("interpreted, the fourth element", "(s: seq i64) : i64 = fold_seq (+) 0 (map_seq (\\i -> if i < 9 then "
     "sum (((map (\\k -> iota (k + 1)) (iota 3)) with [2, 0] = 10 / (i - 3))[2]) else 0) s)",
     "--stream s=i8", ["division by zero in `/`", "at element 3 of the stream"]),
]


def said(command, inputs, more=()):
    words = [re.sub(r"=([a-z]\d?)$", r"=\1.npy", w) for w in inputs.split()]
    p = subprocess.run([os.path.join(BIN, "gridloom"), command, "e.weft"] + words + list(more), cwd=TMP, capture_output=True, text=True,
                       timeout=100)
    return p.returncode, [line for line in p.stderr.splitlines() if not MORE.match(line)]


def check(name, program, inputs, words):
    with open(os.path.join(TMP, "e.weft"), "w") as f:
        f.write("entry m " + program + "\n")
    code, want = said("eval", inputs)
    text = "\n".join(want)
    why = ["eval exits with %d" % code] if code != 65 else []
    why += ["eval does not say '%s'" % w for w in words if w not in text]
    for block in "1", "2", "1000":
        code, got = said("run", inputs, ["--block", block])
        if code != 65 or got not in (want, [line for line in want if line != FIRST]):
            why.append("run --block %s exits with %d and says\n    %s" % (block, code, "\n    ".join(got)))
    if why:
        failed.append(name)
        print("%s: %s\n  eval says\n    %s" % (name, "; ".join(why), "\n    ".join(want)))


def too_many_groups():
    """Refused at once: their results would not fit into memory."""
    with open(os.path.join(TMP, "e.weft"), "w") as f:
        f.write("entry m (n: i64) (s: seq i64) : []i64 = from_seq (group_seq n (\\x -> [x]) s (\\k ys -> fold_seq (+) 0 ys))\n")
    for command, status, words in ("run", 65, "group_seq with 1000000000000 groups"), ("eval", 71, "memory of the evaluation"):
        code, got = said(command, "--arg n=1000000000000 --stream s=i8")
        if code != status or words not in "\n".join(got):
            failed.append("too many groups")
            print("too many groups: %s exits with %d and says\n    %s" % (command, code, "\n    ".join(got)))


def too_large():
    """Arrays that no memory holds, of up to three levels and of more than 2^63 bytes: the place, and what would help."""
    program = "entry m (n: i64) : %s = %s\n"
    levels = [("[]f64", "map (+ 1) (generate n f64.i64)"), ("[][]f64", "generate n (\\i -> generate n (\\j -> f64 i + f64 j))"),
              ("[][][]f64", "generate n (\\i -> generate n (\\j -> generate n (\\k -> f64 i + f64 j * f64 k)))")]
    for (kind, body), sizes in zip(levels, [(10 ** 13,), (10 ** 6, 10 ** 10), (10 ** 6, 10 ** 10)]):
        with open(os.path.join(TMP, "e.weft"), "w") as f:
            f.write(program % (kind, body))
        for n in sizes:
            for command in "run", "eval":
                code, got = said(command, "--arg n=%d" % n)
                text = "\n".join(got)
                if code != 71 or "e.weft:1" not in text or "hint: " not in text or "--memory" not in text:
                    failed.append("too large")
                    print("%s of %d: %s exits with %d and says\n    %s" % (kind, n, command, code, "\n    ".join(got)))


def main():
    shutil.rmtree(TMP, ignore_errors=True)
    os.makedirs(TMP)
    for name, x in [("f3", np.arange(3.)), ("f4", np.arange(4.)), ("f5", np.arange(5.)), ("i8", np.arange(8)), ("m", np.ones((6, 3)))]:
        np.save(os.path.join(TMP, name), x)
    for case in CASES:
        check(*case)
    too_many_groups()
    too_large()
    shutil.rmtree(TMP)
    print("failed: " + ", ".join(failed) if failed else "ok")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
