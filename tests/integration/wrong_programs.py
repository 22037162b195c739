#!/usr/bin/python3
"""Wrong programs and what is said of them. tests/programs/wrong has a program NAME.weft and, in NAME.expected, the golden message:
all that `gridloom check` writes to standard error. Every code of docs/errors.md that a text can cause is among them, or among the
texts that are made here because they are too long, or no text, to be kept.

usage: wrong_programs.py [--accept]    --accept writes the .expected files anew; read the difference before you commit it
"""
# timeout: 300
# sanitize: asan
import concurrent.futures
import difflib
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "tests/programs/wrong")
GRIDLOOM = os.path.join(os.environ["GRIDLOOM_BIN"], "gridloom")
TMP = os.path.join(os.environ["LOOM_TMP"], "wrong_programs")
# Caused by no text: memory that is out (compiler/syntax/test/limits.c), a defect of ours.
NO_TEXT = {"W0914", "W0999"}
# Not shown: it depends on a worker's memory; no text that is short has it. Looked for by the interpreter alone.
UNSHOWN, INTERPRETED = {"W1016", "W1019"}, {"W1018"}
# Streams of arrays are arrays to the compiler.
ALIKE = {"W1010": "W1009"}
failed = []


def fail(what, detail):
    failed.append(what)
    print("%s: %s" % (what, detail))


def check(path):
    """What is said, and with which exit code."""
    p = subprocess.run([GRIDLOOM, "check", "--quiet", os.path.basename(path)], cwd=os.path.dirname(path), capture_output=True, timeout=120)
    return p.returncode, p.stdout + p.stderr


def codes(said):
    told = re.findall(r"(?:error|warning): .* \[(W\d{4})\]$", said, re.M)
    return set(told + re.findall(r"^  gridloom help (W\d{4}) tells more$", said, re.M))  # of what is not even read


def golden(name, accept):
    status, said = check(os.path.join(FOLDER, name))
    said = said.decode()
    path = os.path.join(FOLDER, name[:-len(".weft")] + ".expected")
    if accept:
        with open(path, "w") as f:
            f.write(said)
    if not os.path.exists(path):
        return name, codes(said), "has no .expected; it says\n" + said
    with open(path) as f:
        expected = f.read()
    if said != expected:
        lines = difflib.unified_diff(expected.splitlines(True), said.splitlines(True), "expected", "found")
        return name, codes(said), "another message\n" + "".join(lines)
    wanted = 65 if ": error: " in said else 0
    if status != wanted:
        return name, codes(said), "exit code %d, expected %d" % (status, wanted)
    if not codes(said):
        return name, codes(said), "no code in what is said: " + said
    return name, codes(said), None


def made():
    """Texts with the code that they give."""
    instances = "".join("def f%d (x: i64) : i64 = x + %d\n" % (i, i) for i in range(10001))
    calls = "".join("  let x = f%d x\n" % i for i in range(10001))
    return {"W0102": "entry main (x: f64) : f64 = x -- \0\n",
            "W0901": "entry main (x: f64) : f64 = x\n" + " " * (16 << 20),
            "W0909": instances + "entry main (x: i64) : i64 =\n" + calls + "  in x\n"}


def running(listed):
    """The examples of errors that only a running program has: interpreted and compiled each gives its own, and the right one none."""
    pages = re.findall(r"^### (W\d{4}): .*?(?=^##|\Z)", listed, re.M | re.S)
    texts = dict(re.findall(r"^### (W\d{4}): (.*?)(?=^##|\Z)", listed, re.M | re.S))
    for code in sorted(c for c in pages if c >= "W1000"):
        examples = re.findall(r"^(Wrong|Right):\n\n((?:    .*\n)+)", texts[code] + "\n", re.M)
        if not examples and code not in UNSHOWN:
            fail(code, "has no example")
        for word, text in examples:
            path = os.path.join(TMP, "running.weft")
            with open(path, "w") as f:
                f.write(re.sub("^    ", "", text, flags=re.M))
            for way in ("eval", "run"):
                more = ["--laws"] if way == "eval" else []
                p = subprocess.run([GRIDLOOM, way, path, "-o", os.path.join(TMP, "out.npy"), *more], capture_output=True, text=True, timeout=120)
                told = re.findall(r"^error: .* \[(W\d{4})\]$", p.stderr, re.M)
                good = p.returncode == 0 if word == "Right" else told in ([code], [ALIKE.get(code)]) or (way == "run" and code in INTERPRETED)
                if not good:
                    fail("%s, %s, %s" % (code, word, way), "exit code %d: %s" % (p.returncode, p.stderr))


def main():
    os.makedirs(TMP, exist_ok=True)
    seen = set()
    names = sorted(n for n in os.listdir(FOLDER) if n.endswith(".weft"))
    if len(names) < 80:
        fail("programs", "only %d" % len(names))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, found, wrong in pool.map(lambda n: golden(n, "--accept" in sys.argv), names):
            seen |= found
            if wrong:
                fail(name, wrong)
    for name in os.listdir(FOLDER):
        if name.endswith(".expected") and name[:-len("expected")] + "weft" not in names:
            fail(name, "there is no such program")
    for code, text in made().items():
        path = os.path.join(TMP, code + ".weft")
        with open(path, "w") as f:
            f.write(text)
        status, said = check(path)
        os.remove(path)
        if status != 65 or codes(said.decode()) != {code}:
            fail(code, "exit code %d: %s" % (status, said[:1000].decode()))
        seen |= codes(said.decode())
    with open(os.path.join(ROOT, "docs/errors.md")) as f:
        page = f.read()
    running(page)
    listed = {c for c in re.findall(r"^### (W\d{4}): ", page, re.M) if c < "W1000"}
    if listed - seen - NO_TEXT:
        fail("codes without a program", " ".join(sorted(listed - seen - NO_TEXT)))
    if seen - listed:
        fail("codes that docs/errors.md does not have", " ".join(sorted(seen - listed)))
    print("failed: " + ", ".join(failed) if failed else "ok")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
