#!/usr/bin/python3
"""`gridloom test`: tests in comments, interpreted and compiled; what passes, what fails and where, and the exit code."""
# timeout: 300
# sanitize: asan
import os
import shutil
import signal
import subprocess
import sys
import time

BIN = os.environ["GRIDLOOM_BIN"]
TMP = os.path.join(os.environ["LOOM_TMP"], "cli_test")
failed = []

GOOD = """-- Folds of streams, with all outcomes.
-- ==
-- entry: dotp
-- input { [1f32, 2] [3f32, 4] } output { 11f32 }
-- "big" compiled random input { [1000]f32 [1000]f32 } auto output
-- input { [1f32] empty([0]f32) } error: length
-- input { [1f32] [2f32] }
-- notest input { what this is } output { 0 }
-- structure { Map 1 }
entry dotp (xs: seq f32) (ys: seq f32) : f32 = fold_seq (+) 0 (zip_with_seq (*) xs ys)

-- Arrays, tuples and ragged rows; floats within two thousandths.
-- ==
-- entry: parts again
-- tags { no_opencl }
-- input { [[3, 1],
--          [2]] 1.0 [true, false] [1u8, 2u8] }
-- output { [[1, 3], [2]] 1.001 [2u8, 1u8]
--   3i64 }
entry parts (xss: [][]i32) (x: f64) (ts: [](bool, u8)) : ([][]i32, f64, []u8, i64) =
  (map sort xss, x, map (.1) (sort_by (.0) ts), sum (map length xss))
entry again (xss: [][]i32) (x: f64) (ts: [](bool, u8)) : ([][]i32, f64, []u8, i64) =
  (map sort xss, x, map (.1) (sort_by (.0) ts), sum (map length xss))

-- ==
-- entry: at
-- input { [1, 2] 1i64 } output { 2 }
-- input { [1, 2] 2i64 } error: index 2 is outside
entry at (xs: []i32) (i: i64) : i32 = xs[i]
"""
BAD = """-- ==
-- input { 1 } output { 2 }
-- input { [1] } output { 2 }
-- input { 1 } output { 1 } output { 2 }
entry main (x: i32) : i32 = x
"""
WRONG = """-- ==
-- input { 1 } output { 2 }
-- input { 1i64 } output { 1 }
-- input { 2 } error: nothing
-- input { 0 } error: unlike
-- input { 3 } output { 3 }

-- ==
-- entry: nobody
-- input { 1 }
entry main (x: i32) : i32 = 3 / (x / x)  * x // 3
"""


def test(*arguments, **more):
    return subprocess.run([os.path.join(BIN, "gridloom"), "test"] + list(arguments), cwd=TMP, capture_output=True, text=True, timeout=100, **more)


def expect(what, p, stdout, code=0, stderr=()):
    why = []
    if p.returncode != code:
        why.append("exit code %d, expected %d" % (p.returncode, code))
    if p.stdout != stdout:
        why.append("printed %r, expected %r" % (p.stdout, stdout))
    why += ["no '%s' in what was said" % w for w in stderr if w not in p.stderr]
    if not stderr and p.stderr:
        why.append("something was said")
    if why:
        failed.append(what)
        print("%s: %s\n  %s" % (what, "; ".join(why), p.stderr.strip()))


def interrupted(name):
    """Once a session is open, while a case is interpreted."""
    p = subprocess.Popen([os.path.join(BIN, "gridloom"), "test", name], cwd=TMP, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    began = time.time()
    while not children(p.pid) and time.time() < began + 30:
        time.sleep(0.05)
    time.sleep(2)  # it interprets what does not end
    p.send_signal(signal.SIGINT)
    began = time.time()
    try:
        _, said = p.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        p.kill()
        _, said = p.communicate()
    if time.time() > began + 5 or p.returncode not in (130, -signal.SIGINT) and "interrupted" not in said:
        failed.append("interrupted")
        print("interrupted: exit code %d after %.1f s: %s" % (p.returncode, time.time() - began, said))


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return f.read().split()


def write(name, text):
    path = os.path.join(TMP, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)


def main():
    shutil.rmtree(TMP, ignore_errors=True)
    os.makedirs(TMP)
    write("good.weft", GOOD)
    write("bad.weft", BAD)
    write("wrong.weft", WRONG)
    write("d/a.weft", "entry main (x: i32) : i32 = x\n")
    write("d/b.fut", "-- ==\n-- input { 1 } output { 2 }\nentry main (x: i32) = x + 1\n")
    write("d/e/c.weft", "-- ==\n-- error: expected i32, found .*bool\nentry main (x: i32) : i32 = true\n")
    write("d/e/words.txt", "not a program")
    write("f/broken.weft", "entry main (x: i32) : i32 = y\n")
    write("f/compiles.weft", "-- ==\n-- error: type\nentry main (x: i32) : i32 = x\n")
    write("g/path.weft", "-- ==\n-- input { 0 } error: path\\.weft\nentry main (x: i32) : i32 = 3 / x\n")
    write("g/quoted.weft", "-- ==\n-- error: some_name_x\nentry main (some_name_x: i32) : bool = some_name_x\n")
    write("warnings.weft", "-- ==\n-- warning: never reached\n-- warning: nothing of this\n-- input { 1 } output { 1 }\n"
          "entry main (x: i32) : i32 = match x case _ -> 1 case 2 -> 2\n")
    write("loops.weft", "-- ==\n-- compiled input { 1 } output { 1 }\n-- input { 1 } output { 1 }\n-- input { 0 } output { 0 }\n-- input { 2 } output { 1 }\n"
          "entry main (x: i32) : i32 = loop y = x while y < 1 do y * 2\n")
    write("unneeded.weft", "-- ==\n-- input { [1, 0] } error: division by zero\n-- compiled input { [1, 0] } output { 2i64 }\n"
          "entry main (xs: []i32) : i64 = length (map (3 /) xs)\n")
    write("exact.weft", "-- ==\n-- input { 1 } output { 1.0000001 }\nentry main (x: f64) : f64 = x\n")

    expect("all outcomes", test("good.weft"), "good.weft: 8 passed, 1 skipped\n1 file: 8 passed, 1 skipped\n")
    expect("interpreted", test("--interpreted", "good.weft"), "good.weft: 8 passed, 1 skipped\n1 file: 8 passed, 1 skipped\n")
    expect("folder", test("d", "--threads", "2"), "d/a.weft: 0 passed\nd/b.fut: 1 passed\nd/e/c.weft: 1 passed\n3 files: 2 passed\n")
    expect("test that cannot be read", test("bad.weft", "d/b.fut"), "bad.weft: 0 passed, 1 failed\nd/b.fut: 1 passed\n2 files: 1 passed, 1 failed\n", 1,
           ["bad.weft:4:29: an output without an input of its own", "error: 1 test did not pass"])
    expect("failures", test("wrong.weft"), "wrong.weft: 1 passed, 5 failed\n1 file: 1 passed, 5 failed\n", 1,
           ["wrong.weft:2:4: entry main, interpreted: expected 2, found 1\n", "wrong.weft:2:4: entry main, compiled: expected 2, found 1\n",
            "wrong.weft:3:12: expected a value of type i32, found `1i64`, of type i64\n",
            "wrong.weft:4:4: entry main, interpreted: expected an error with `nothing`, found a value\n",
            "wrong.weft:4:4: entry main, compiled: expected an error with `nothing`, found a value\n",
            "wrong.weft:5:4: entry main, interpreted: expected an error with `unlike`, found: ",
            "wrong.weft:5:4: entry main, compiled: expected an error with `unlike`, found: ", "division by zero",
            "wrong.weft:9:11: ", "nobody", "error: 5 tests did not pass"])
    expect("does not compile, or does", test("f"), "f/broken.weft: 0 passed, 1 failed\nf/compiles.weft: 0 passed, 1 failed\n2 files: 0 passed, 2 failed\n", 1,
           ["f/broken.weft:1:29: error: unknown name `y`", "f/compiles.weft:1:1: expected an error with `type`, but the program compiles"])
    expect("paths and quoted text fit nothing", test("g"), "g/path.weft: 0 passed, 1 failed\ng/quoted.weft: 0 passed, 1 failed\n2 files: 0 passed, 2 failed\n", 1,
           ["expected an error with `path\\.weft`, found: ", "expected an error with `some_name_x`, found:"])
    write("claims.weft", """-- ==
-- entry: conditional
-- steps: unlifted 1
-- steps: regular <= 8
-- steps: irregular <= 24
-- representation: regular
-- steps: regular 7 at 1000
-- representation: irregular
entry conditional [n] (xs: [n]f64) : [n]f64 = if xs[0] > 1 then map (+ 1) xs else xs
-- ==
-- entry: evens
-- representation: irregular
-- input { [1i64, 2] } output { [2i64] }
entry evens (xs: []i64) : []i64 = filter (\\x -> x % 2 == 0) xs
""")
    p = test("claims.weft", "--interpreted")
    expect("steps and representations", p, "claims.weft: 6 passed, 2 failed\n1 file: 6 passed, 2 failed\n", 1,
           ["claims.weft:7:4: entry conditional, regular: expected 7 steps, found 1", "claims.weft:8:4: entry conditional, expected irregular values, found all regular"])
    p = test("warnings.weft")
    expect("warnings", p, "warnings.weft: 2 passed, 1 failed\n1 file: 2 passed, 1 failed\n", 1,
           ["warnings.weft:3:13: expected a warning with `nothing of this`, found none", "warning: this case is never reached"])
    expect("a loop without end", test("loops.weft", "--timeout", "0.3"), "loops.weft: 2 passed, 2 failed\n1 file: 2 passed, 2 failed\n", 1,
           ["loops.weft:4:4: entry main, interpreted: fails: took more than 0.3 s\n", "loops.weft:5:4: entry main, compiled: expected 1, found 2"])
    expect("compiled input", test("loops.weft", "--timeout", "0.3", "--interpreted"),
           "loops.weft: 1 passed, 2 failed, 1 skipped\n1 file: 1 passed, 2 failed, 1 skipped\n", 1, ["took more than"])
    expect("errors of what nothing needs", test("unneeded.weft"), "unneeded.weft: 2 passed\n1 file: 2 passed\n")
    interrupted("loops.weft")
    expect("tolerance", test("--interpreted", "exact.weft"), "exact.weft: 1 passed\n1 file: 1 passed\n")
    expect("exact", test("--interpreted", "--exact", "exact.weft"), "exact.weft: 0 passed, 1 failed\n1 file: 0 passed, 1 failed\n", 1,
           ["exact.weft:2:4: entry main, interpreted: expected 1.0000001000000001, found 1"])
    expect("nothing given", test(), "", 64, ["expected a program or a folder"])
    expect("not there", test("nowhere"), "", 66, ["cannot read nowhere"])
    os.makedirs(os.path.join(TMP, "none/below"))
    expect("nothing there", test("none"), "", 66, ["no programs in none", "hint: programs have names that end with .weft or .fut"])
    expect("no daemon", test("good.weft", "--connect", "ipc:///nowhere/at/all"), "", 69, ["nowhere"])
    print("failed: " + ", ".join(failed) if failed else "ok")
    sys.exit(1 if failed else 0)


main()
