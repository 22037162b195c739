#!/usr/bin/python3
"""One beyond the limits that the command line meets: the message names the limit, nothing is left behind."""
# timeout: 120
import os
import shutil
import subprocess
import sys

BIN = os.environ["GRIDLOOM_BIN"]
TMP = os.path.join(os.environ["LOOM_TMP"], "limits")
PROGRAM = "entry %s (a: i64) : i64 = a + 1\n"
failed = []


def refused(what, words, code, *arguments):
    p = subprocess.run([os.path.join(BIN, arguments[0])] + list(arguments[1:]), cwd=TMP, capture_output=True, text=True, timeout=60)
    if p.returncode != code or not all(w in p.stderr for w in words):
        failed.append(what)
        print("%s: exit code %d, expected %d: %s" % (what, p.returncode, code, p.stderr.strip()[:400]))


def write(name, text):
    with open(os.path.join(TMP, name), "w") as f:
        f.write(text)


def main():
    shutil.rmtree(TMP, ignore_errors=True)
    os.makedirs(TMP)
    write("p.weft", PROGRAM % "main")
    write("long.weft", PROGRAM % "main" + " " * (16 << 20))  # LOOM_MAX_SOURCE_BYTES
    write("name.weft", PROGRAM % ("n" * 256))  # LOOM_MAX_NAME
    refused("source", ("long.weft", "16777216"), 65, "gridloom", "check", "long.weft")
    refused("source to run", ("long.weft", "16777216"), 65, "gridloom", "run", "long.weft", "--arg", "a=1")
    refused("source to explain", ("long.weft", "16777216"), 65, "gridloom-compile", "--explain", "core", "long.weft")
    refused("name of an entry", ("255",), 65, "gridloom", "run", "name.weft", "--arg", "a=1")
    refused("threads of run", ("--threads", "4096"), 64, "gridloom", "run", "p.weft", "--arg", "a=1", "--threads", "4097")
    refused("threads of a worker", ("--threads", "4096"), 64, "gridloom-worker", "--threads", "4097")
    # Rows of unlike lengths, more than can be counted in bytes.
    write("rows.weft", "entry main (n: i64) = generate n (\\i -> generate (i % 3) (\\j -> i + j))\n")
    for n in (2**61 - 1, 2**61, 2**62 + 1, 2**63 - 1):
        refused("%d rows" % n, ("memory",), 71, "gridloom", "eval", "rows.weft", "--arg", "n=%d" % n)
    shutil.rmtree(TMP)
    print("failed: " + ", ".join(failed) if failed else "ok")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
