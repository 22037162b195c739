#!/usr/bin/python3
"""Which column was imaged is told, with a hint where another one was probably meant."""
import json, os, shutil, subprocess, sys

BIN, ROOT = os.environ["GRIDLOOM_BIN"], os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TMP = os.path.join(os.environ["LOOM_TMP"], "provenance")
sys.path.insert(0, os.path.join(ROOT, "tests/lib"))
from uvfits_files import File

failed = []
shutil.rmtree(TMP, ignore_errors=True)
os.makedirs(TMP)


def here(name):
    return os.path.join(TMP, name)


def gridloom(*arguments):
    p = subprocess.run([os.path.join(BIN, "gridloom"), *arguments], capture_output=True, text=True, timeout=600)
    if p.returncode:
        raise SystemExit("%s: exit %d: %s" % (arguments, p.returncode, p.stderr))
    return p


def expect(what, good, said=""):
    if not good:
        failed.append("%s %s" % (what, said))


def image(data, *more):
    return gridloom("image", here(data), "-o", here("out.fits"), "--size", "16", "--scale", "60asec", *more)


def columns():
    p = image("one.ms", "--json")
    expect("DATA alone", json.loads(p.stdout)["column"] == "DATA" and "hint" not in p.stderr, p.stderr)
    gridloom("predict", here("one.ms"), "--model", here("one.ms.sources.txt"), "--subtract", "-o", here("two.ms"), "--quiet")
    p = image("two.ms", "--json")
    expect("two columns", json.loads(p.stdout)["column"] == "DATA" and "--column CORRECTED_DATA" in p.stderr, p.stderr)
    p = image("two.ms")
    expect("two columns", "column DATA" in p.stdout and "--column CORRECTED_DATA" in p.stderr, p.stdout + p.stderr)
    expect("two columns, quiet", not image("two.ms", "--quiet").stderr)
    for column in ("DATA", "CORRECTED_DATA"):
        p = image("two.ms", "--json", "--column", column)
        expect("column %s named" % column, json.loads(p.stdout)["column"] == column and "hint" not in p.stderr, p.stderr)
    File(n_times=2).write(here("groups.uvfits"))
    p = image("groups.uvfits", "--json")
    expect("UVFITS", json.loads(p.stdout)["column"] == "DATA" and "hint" not in p.stderr, p.stderr)


gridloom("simulate", "-o", here("one.ms"), "--stations", "5", "--times", "3", "--channels", "2", "--n-sources", "1", "--quiet")
columns()
for f in failed:
    print("failed:", f)
if failed:
    sys.exit(1)
print("ok")
