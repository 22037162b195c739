#!/usr/bin/python3
"""Arguments, streams and results of `eval` and `run`, by the rules of the command line, and what is said of wrong ones."""
# timeout: 600
# sanitize: asan
import os
import shutil
import subprocess
import sys

import numpy as np

BIN = os.environ["GRIDLOOM_BIN"]
TMP = os.path.join(os.environ["LOOM_TMP"], "cli_eval")
PROGRAM = """
type vis [c] = {u: f64, freq: [c]f64, z: [c]c64}
entry scalars (p: {n: i64, z: c128, on: bool}) (t: (f32, u8)) : (i64, c128, bool, f32, u8) = (p.n + 1, p.z, p.on, t.0, t.1)
entry stream [c] (s: seq (vis [c])) : f64 = fold_seq (+) 0 (map_seq (\\v -> v.u * sum v.freq + f64.f32 (sum (map (\\z -> c64.abs z) v.z))) s)
entry means (xss: seq ([]f32)) : []f32 = from_seq (map_seq (\\xs -> sum xs / f32.i64 (length xs)) xss)
entry ragged (xss: [][]i64) : {same: [][]i64, n: i64} = {same = map (map (+ 1)) xss, n = length xss}
entry sums (xs: seq f64) : seq f64 = scan_seq (+) 0 xs
entry sums_of (xs: []f64) : seq f64 = scan_seq (+) 0 (rows xs)
entry dot (a: seq f64) (b: seq f64) : f64 = fold_seq (+) 0 (zip_with_seq (*) a b)
entry broken (xs: []i64) (i: i64) : i64 = xs[i]
"""
failed = []


def gridloom(command, *arguments):
    return subprocess.run([os.path.join(BIN, "gridloom"), command] + list(arguments), cwd=TMP, capture_output=True, text=True,
                          timeout=100)


def expect(what, p, stdout=None, code=0, stderr=()):
    why = []
    if p.returncode != code:
        why.append("exit code %d, expected %d" % (p.returncode, code))
    if stdout is not None and p.stdout != stdout:
        why.append("printed %r, expected %r" % (p.stdout, stdout))
    why += ["no '%s' in what was said" % w for w in stderr if w not in p.stderr]
    if why:
        failed.append(what)
        print("%s: %s\n  %s" % (what, "; ".join(why), p.stderr.strip()))


def good(command):
    def run(what, stdout, *arguments):
        expect("%s %s" % (command, what), gridloom(command, "p.weft", *arguments), stdout)
    run("scalars", "0 = 8\n1 = 1+2i\n2 = true\n3 = 0.5\n4 = 255\n", "--entry", "scalars", "--arg", "p.n=7", "--arg", "p.z=1+2i", "--arg",
        "p.on=true", "--arg", "t.0=0.5", "--arg", "t.1=0xff")
    run("stream", "180\n", "--entry", "stream", "--stream", "s.u=u.npy", "--stream", "s.z=z.npy", "--const", "s.freq=freq.npy")
    run("irregular stream", "[1.5, 3, 5]\n", "--entry", "means", "--stream", "xss=flat.npy,n.npy")
    run("irregular result", "n = 3\n", "--entry", "ragged", "--arg", "xss=ints.npy,n.npy", "-o", "same=out.npy")
    run("sequence", "[1, 3, 6, 10]\n", "--entry", "sums", "--stream", "xs=u.npy")
    run("sequence of rows", "[1, 3, 6, 10]\n", "--entry", "sums_of", "--arg", "xs=u.npy")
    run("empty sequence", "[]\n", "--entry", "sums", "--stream", "xs=empty.npy")
    run("empty sequence of rows", "[]\n", "--entry", "sums_of", "--arg", "xs=empty.npy")
    assert list(np.load(os.path.join(TMP, "out.npy"))) == [2, 3, 4, 5, 6, 7]
    assert list(np.load(os.path.join(TMP, "out.lengths.npy"))) == [2, 1, 3]


def bad():
    def refused(what, code, words, *arguments):
        expect(what, gridloom("eval", "p.weft", *arguments), None, code, ("error: ",) + words)
    refused("no entry chosen", 64, ("several entries", "--entry"))
    refused("no such entry", 64, ("no entry 'x'", "scalars"), "--entry", "x")
    refused("missing", 64, ("--arg xs=FILE.npy ([]i64)", "--arg i=VALUE (i64)"), "--entry", "broken")
    refused("wrong type", 65, ("holds f64", "[]i64"), "--entry", "broken", "--arg", "xs=u.npy", "--arg", "i=0")
    refused("not a number", 64, ("not a value of type i64",), "--entry", "broken", "--arg", "xs=ints.npy", "--arg", "i=1.5")
    refused("no such file", 66, ("none.npy",), "--entry", "broken", "--arg", "xs=none.npy", "--arg", "i=0")
    refused("not npy", 65, ("not a .npy file",), "--entry", "broken", "--arg", "xs=text.npy", "--arg", "i=0")
    refused("index", 65, ("p.weft:10",), "--entry", "broken", "--arg", "xs=ints.npy", "--arg", "i=99")
    refused("part", 64, ("no part 'b'", "same, n"), "--entry", "ragged", "--arg", "xss=ints.npy,n.npy", "-o", "b=x.npy")
    refused("lengths", 65, ("adds up to",), "--entry", "ragged", "--arg", "xss=ints.npy,short.npy")
    refused("unequal", 65, ("elements",), "--entry", "stream", "--stream", "s.u=u3.npy", "--stream", "s.z=z.npy", "--const",
            "s.freq=freq.npy")
    refused("unequal streams", 65, ("a has 4", "b has 3"), "--entry", "dot", "--stream", "a=u.npy", "--stream", "b=u3.npy")
    refused("output folder", 73, ("nowhere/x.npy",), "--entry", "ragged", "--arg", "xss=ints.npy,n.npy", "-o", "same=nowhere/x.npy")
    with open(os.path.join(TMP, "wrong.weft"), "w") as f:
        f.write("entry a : i64 = nothing\nentry b : i64 = 1 + true\n")
    expect("check", gridloom("check", "wrong.weft"), "", 65, ("wrong.weft:1:17: error", "wrong.weft:2"))
    expect("not a text", gridloom("check", "u.npy"), "", 65, ("u.npy is not a text file",))
    expect("entries to explain", gridloom("explain", "p.weft"), "", 64, ("several entries", "scalars"))
    p = gridloom("run", "p.weft", "--entry", "dot", "--stream", "a=u.npy", "--stream", "b=u3.npy")
    expect("unequal streams of run", p, "", 65, ("a has 4", "b has 3"))
    expect("no file", gridloom("check", "none.weft"), "", 66, ("none.weft",))
    expect("check of a good one", gridloom("check", "p.weft", "--quiet"), "")


def main():
    shutil.rmtree(TMP, ignore_errors=True)
    os.makedirs(TMP)
    with open(os.path.join(TMP, "p.weft"), "w") as f:
        f.write(PROGRAM)
    with open(os.path.join(TMP, "text.npy"), "w") as f:
        f.write("1 2 3\n")
    save = lambda name, x: np.save(os.path.join(TMP, name + ".npy"), x)
    save("u", np.array([1., 2, 3, 4]))
    save("empty", np.zeros(0))
    save("u3", np.array([1., 2, 3]))
    save("z", np.full((4, 2), 3 + 4j, np.complex64))
    save("freq", np.array([4., 10]))
    save("flat", np.array([1, 2, 3, 4, 5, 6], np.float32))
    save("ints", np.array([1, 2, 3, 4, 5, 6]))
    save("n", np.array([2, 1, 3]))
    save("short", np.array([2, 1, 2]))
    good("eval")
    good("run")
    bad()
    shutil.rmtree(TMP)
    print("failed: " + ", ".join(failed) if failed else "ok")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
