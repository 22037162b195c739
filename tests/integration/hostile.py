#!/usr/bin/python3
"""Programs meant to break the compiler or to occupy it: each gets its error within a limit of time and memory, in check, eval and
run, and a daemon that is given them serves others meanwhile. (What is wrong before anything runs is checked in the same place by all three, so
that one of these texts stands for the others in eval and run.)"""
# timeout: 600
# tier: ci
import os, subprocess, sys, tempfile, threading, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import a_daemon, checks
from checks import expect, here

GRIDLOOM = os.path.join(os.environ["GRIDLOOM_BIN"], "gridloom")
SECONDS, MEBIBYTES = 60, 2048  # of processor time, and at once
X = "entry main (x: i64) : i64 = "


def many(n, text):
    return "".join(text % {"i": i, "j": i - 1} for i in range(1, n))


# Wrong before anything runs: name, text, what is said.
WRONG = [
    ("a million operations", X + "let x=x+1\n" * 600000 + "in x", "W0911"),
    ("a million cases", X + "match x " + many(100000, "case %(i)d -> 0 ") + "case _ -> 1", "W0910"),
    ("two hundred thousand defs", many(200000, "def f%(i)d (x: i64) : i64 = x + %(i)d\n") + X + "x", "W0911"),
    ("a hundred thousand errors", many(100000, "entry e%(i)d (x: i64) : i64 = fnord%(i)d\n"), "W0301"),
    ("a def two hundred thousand times", "def f (x: i64) : i64 = x\n" * 200000 + X + "x", "W0303"),
    ("unknown among much alike", X + many(5000, "let abcdefgh%(i)d = x\n") + "in " + many(900, "abcdexgh%(i)dz + ") + "x", "W0301"),
    ("parentheses", X + "(" * 10000 + "x" + ")" * 10000, "W0902"),
    ("conditions", X + "if x > 0 then " * 10000 + "1" + " else 0" * 10000, "W0902"),
    ("conditions in a chain", X + "if x > 5 then 1 else " * 10000 + "0", "W0902"),
    ("lambdas", X + "(\\y -> " * 10000 + "x" + ") x" * 10000, "W0902"),
    ("signs", X + "- " * 10000 + "x", "W0902"),
    ("operators", X + "x" + " + x" * 10000, "W0903"),
    ("pipes", X + "x " + " |> (+ 1)" * 10000, "W0903"),
    ("fields", X + "x" + ".0" * 10000, "W0903"),
    ("indices", X + "x" + "[0]" * 10000, "W0903"),
    ("arguments", X + "x " + "x " * 10000, "W0412"),
    ("patterns", X + "let " + "(" * 10000 + "x" + ")" * 10000 + " = x in x", "W0902"),
    ("types in parentheses", "entry main (x: " + "(" * 10000 + "i64" + ")" * 10000 + ") : i64 = 1", "W0902"),
    ("types of functions", "def f (g: " + "i64 -> " * 10000 + "i64) = 1i64\n" + X + "x", "W0902"),
    ("types of arrays", "entry main (x: " + "[]" * 10000 + "i64) : i64 = 1", "W0902"),
    ("levels of an array", "entry main (x: " + "[]" * 17 + "i64) : i64 = 1", "W0906"),
    ("an attribute that does not end", "#[" * 10000, "W0207"),
    ("types that double", "type t0 = i64\n" + many(60, "type t%(i)d = (t%(j)d, t%(j)d)\n") + "entry main (x: t59) : i64 = 1", "W0905"),
    ("specialisation by types that double", "def f0 x = x\n" + many(60, "def f%(i)d x = let y = f%(j)d (x, x) in x\n") + X + "f59 x", "W0905"),
    ("functions that double", "def f0 g x = g x\n" + many(60, "def f%(i)d g x = let y = f%(j)d g x in f%(j)d g y\n") + X + "f59 (+ 1) x", "W091"),
    ("a tuple of 100 000", "entry main (x: i64) = (" + "x, " * 100000 + "x)", "W0904"),
    ("a record of 100 000", "entry main (x: i64) = {" + many(100000, "f%(i)d = x, ") + "g = x}", "W0904"),
    ("a tuple type of 100 000", "entry main (x: (" + "i64, " * 100000 + "i64)) : i64 = 1", "W0905"),
    ("a tuple of nothing 100 000 times", "entry main (x: (" + "(), " * 100000 + "())) : i64 = 1", "W0905"),
    ("a long name", X + "y" * 10000000, "W0915"),
    ("a large integer", X + "1" * 10000000, "W0105"),
    ("a large float", "entry main : f64 = " + "1" * 10000000 + ".0", "W0417"),
    ("a large exponent", "entry main : f64 = 1e" + "9" * 10000000, "W0417"),
    ("a NUL byte", X + "x\0", "W0102"),
    ("no UTF-8", (X + "x ").encode() + b"\xff\xfe\xc3 \xc2\x9b31m", "W0101"),
    ("a terminal's codes", X + "x \x1b[31m \x7f", "W0101"),
    ("five million characters without meaning", X + "$ " * 5000000, "W0101"),
]
# Right, and too much for a machine: all of it at once, or growing (not in eval: its limit is the machine's memory).
LARGE = [
    ("replicate 2^62", "entry main (x: i64) : []i64 = replicate (x * 4611686018427387904) x"),
    ("generate 2^31 by 2^31", "entry main (x: i64) : [][]i64 = generate (x * 2147483648, x * 2147483648) (\\i j -> i + j)"),
    ("generate 2^40", "entry main (x: i64) : []i64 = generate (x * 1099511627776) (\\i -> i)"),
    ("rows of 2^40", "entry main (x: i64) : [][]i64 = map (\\i -> iota (x * 1099511627776 + i)) (iota 3)"),
]
GROWING = ("a loop that doubles an array", "entry main (x: i64) : []i64 = loop xs = [x] while length xs > 0 do xs ++ xs")
# Name, text, and what else may be said than that the time is over: a compiler that is fast enough comes to its own limit first.
ENDLESS = [
    ("a loop without end", X + "loop y = x while y > 0 do (y * 7 + 3) % 1000003 + 1", None),
    ("calls that double", "def f0 (x: i64) : i64 = (x * 7) % 13\n" + many(40, "def f%(i)d (x: i64) : i64 = f%(j)d (f%(j)d x)\n") + X + "f39 x", "the compiler's memory"),
]


def run(*arguments):
    """Exit code, what is said, seconds of processor time, MiB."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        p = subprocess.Popen([GRIDLOOM, *arguments], stdout=out, stderr=err)
        timer = threading.Timer(120, p.kill)
        timer.start()
        _, status, usage = os.wait4(p.pid, 0)
        timer.cancel()
        p.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        return p.returncode, err.read(), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def judged(what, codes, words, *arguments):
    """words: any of them is said."""
    code, said, seconds, memory = run(*arguments)
    good = code in codes and any(w.encode() in said for w in words)
    expect("%s: %s: exit code %d: %s" % (what, arguments[0], code, said[:300]), good)
    expect("%s: %s: %.1f s, %d MiB" % (what, arguments[0], seconds, memory), seconds < SECONDS and memory < MEBIBYTES)
    expect("%s: %s: says %d bytes" % (what, arguments[0], len(said)), len(said) < 100000)
    plain = all(c >= 32 and c != 127 or c == 10 for c in said)
    expect("%s: %s: control characters in what is said" % (what, arguments[0]), plain)


def program(text):
    path = here("p.weft")
    with open(path, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    return path


class Others:
    """A user with a harmless program, again and again, on the same daemon."""

    def __init__(self, endpoint):
        self.endpoint, self.over, self.slowest, self.done, self.failed = endpoint, False, 0, 0, False
        self.path = here("harmless.weft")
        with open(self.path, "w") as f:
            f.write("entry main (n: i64) : i64 = sum (map (* 2) (iota n))\n")
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self):
        while not self.over:
            began = time.monotonic()
            n = 10 + self.done
            p = subprocess.run([GRIDLOOM, "run", self.path, "--arg", "n=%d" % n, "--connect", self.endpoint, "--timeout", "100"],
                               capture_output=True, text=True)
            self.failed = self.failed or p.returncode != 0
            expect("others: exit code %d: %s%s" % (p.returncode, p.stdout, p.stderr[:300]), p.returncode == 0 and p.stdout == "%d\n" % (n * (n - 1)))
            self.slowest = max(self.slowest, time.monotonic() - began)
            self.done += 1

    def end(self):
        self.over = True
        self.thread.join()
        expect("others: %d jobs, the slowest took %.1f s" % (self.done, self.slowest), self.done > 3 and self.slowest < 60)


def main():
    folder = checks.begin("hostile")
    with a_daemon.Daemon(folder, "--memory", "1G") as daemon:
        daemon.worker("--memory", "1G")
        others = Others(daemon.endpoint)
        where = ("--connect", daemon.endpoint)
        try:
            for what, text, code in WRONG:
                path = program(text)
                judged(what, (65,), (code,), "check", path)
            judged(what, (65,), (code,), "eval", path)
            judged(what, (65,), (code,), "run", path, *where)
            for what, text in LARGE:
                path = program(text)
                for command in (("eval", path), ("run", path, *where)):
                    judged(what, (65, 71), ("p.weft:",), *command, "--arg", "x=1", "--timeout", "30")
            judged(GROWING[0], (65, 71), ("p.weft:",), "run", program(GROWING[1]), *where, "--arg", "x=1", "--timeout", "60")
            for what, text, limit in ENDLESS:
                path = program(text)
                for command in (("eval", path), ("run", path, "--workers", "1", "--threads", "1")):
                    said = ["took more than 3 s"] + ([limit] if limit and command[0] == "run" else [])
                    judged(what, (65,), said, *command, "--arg", "x=1", "--timeout", "3")
            # More of them than there are workers. These leave such a loop when nobody waits for it any more.
            what, text, _ = ENDLESS[0]
            path = program(text)
            for _ in range(3):
                judged(what, (65,), ("took more than 5 s",), "run", path, *where, "--arg", "x=1", "--timeout", "5")
            done = others.done
            a_daemon.wait_for("others, after an endless job", lambda: others.failed or others.done > done + 2, 60)
            expect("workers leave endless loops", "beginning anew" not in daemon.said())
        finally:
            others.end()
    checks.end()


if __name__ == "__main__":
    main()
